//! How a frame is written: styles, and lines that end where the frame ends.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget as _;
use unicode_width::UnicodeWidthStr as _;

use crate::attention::AttentionRank;
use crate::wrapped_text::cut;

/// As the terminal has it.
pub const PLAIN: Style = Style::new();
/// For what matters less.
pub const DIM: Style = Style::new().add_modifier(Modifier::DIM);
/// For what matters more.
pub const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
/// For what is chosen.
pub const CHOSEN: Style = Style::new().add_modifier(Modifier::REVERSED);

/// The style of a row of this rank.
pub fn rank_style(rank: AttentionRank) -> Style {
    match rank {
        AttentionRank::Person => BOLD.fg(Color::Red),
        AttentionRank::Resume | AttentionRank::Next => PLAIN.fg(Color::Yellow),
        AttentionRank::Running => PLAIN.fg(Color::Cyan),
        AttentionRank::NotJudged | AttentionRank::Gone => DIM,
        AttentionRank::Complete => PLAIN.fg(Color::Green),
    }
}

/// Draws parts one behind the other on a row of an area, with an ellipsis where they do not fit.
pub fn draw_line(buffer: &mut Buffer, area: Rect, row: usize, parts: &[(&str, Style)]) {
    let Some(area) = area.rows().nth(row) else {
        return;
    };
    let mut room = usize::from(area.width);
    let mut line = Line::default();
    for (text, style) in parts.iter().filter(|(text, _)| !text.is_empty()) {
        if room > 0 {
            let text = cut(text, room);
            room = room.saturating_sub(text.width());
            line.push_span(Span::styled(text, *style));
        }
    }
    line.render(area, buffer);
}
