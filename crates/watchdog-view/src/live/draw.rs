//! The cells of a frame. Pure: a model in, a buffer out.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::draw_detail::draw_detail;
use super::draw_list::draw_list;
use super::draw_overlay::draw_overlay;
use super::model::LiveModel;
use super::paper::{PLAIN, draw_line};

/// Draws all of the view.
pub fn draw_view(model: &LiveModel, area: Rect, buffer: &mut Buffer) {
    if area.width < 12 || area.height < 3 {
        return draw_line(buffer, area, 0, &[("too small", PLAIN)]);
    }
    match &model.detail {
        Some(page) => draw_detail(model, page, area, buffer),
        None => draw_list(model, area, buffer),
    }
    draw_overlay(model, area, buffer);
    if !model.colour {
        // The words and signs say all that a style says, too.
        buffer.set_style(area, Style::reset());
    }
}
