//! The cells of a frame. Pure: a model in, a buffer out.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::draw_detail::draw_detail;
use super::draw_list::draw_list;
use super::draw_overlay::draw_overlay;
use super::model::LiveModel;
use super::paper::{Ink, LivePaper};

/// Draws all of the view.
pub fn draw(model: &LiveModel, area: Rect, buffer: &mut Buffer) {
    let mut paper = LivePaper::new(model, area, buffer);
    if area.width < 12 || area.height < 3 {
        paper.line(0, &[("too small", Ink::Plain)]);
        return;
    }
    if model.detail.is_some() {
        draw_detail(&mut paper)
    } else {
        draw_list(&mut paper)
    }
    draw_overlay(&mut paper);
}
