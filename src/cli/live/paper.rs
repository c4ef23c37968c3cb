//! What a frame is drawn on: lines of words in inks, cut where the frame ends.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use unicode_width::UnicodeWidthStr as _;

use super::model::LiveModel;
use crate::cli::wrapped_text::cut;
use crate::report::attention::AttentionRank;

/// How words are shown. Without colours all are alike: what they say is in the words and signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    /// As the terminal has it.
    Plain,
    /// What matters less.
    Dim,
    /// What matters more.
    Bold,
    /// What is chosen.
    Chosen,
    /// As a row of this rank.
    Ranked(AttentionRank),
    /// What was added.
    Added,
    /// What was removed, or failed.
    Removed,
}

impl Ink {
    fn style(self, colour: bool) -> Style {
        let style = Style::new();
        if !colour {
            return style;
        }
        match self {
            Ink::Plain => style,
            Ink::Dim => style.add_modifier(Modifier::DIM),
            Ink::Bold => style.add_modifier(Modifier::BOLD),
            Ink::Chosen => style.add_modifier(Modifier::REVERSED),
            Ink::Ranked(AttentionRank::Person) => style.fg(Color::Red).add_modifier(Modifier::BOLD),
            Ink::Ranked(AttentionRank::Resume | AttentionRank::Next) => style.fg(Color::Yellow),
            Ink::Ranked(AttentionRank::Running) => style.fg(Color::Cyan),
            Ink::Ranked(AttentionRank::NotJudged | AttentionRank::Gone) => {
                style.add_modifier(Modifier::DIM)
            }
            Ink::Ranked(AttentionRank::Complete) | Ink::Added => style.fg(Color::Green),
            Ink::Removed => style.fg(Color::Red),
        }
    }
}

/// What is drawn on: a model and the cells of its frame.
pub struct LivePaper<'a> {
    /// What is shown.
    pub model: &'a LiveModel,
    /// The whole frame.
    pub area: Rect,
    buffer: &'a mut Buffer,
}

impl<'a> LivePaper<'a> {
    /// An empty frame.
    pub fn new(model: &'a LiveModel, area: Rect, buffer: &'a mut Buffer) -> Self {
        LivePaper {
            model,
            area,
            buffer,
        }
    }

    /// Columns of the frame.
    pub fn width(&self) -> usize {
        self.area.width.into()
    }

    /// Rows of the frame.
    pub fn height(&self) -> usize {
        self.area.height.into()
    }

    /// Writes parts one behind the other on a line, cut where the frame ends.
    pub fn line(&mut self, row: usize, parts: &[(&str, Ink)]) {
        self.line_within(self.area.x, row, self.width(), parts);
    }

    /// The same from a column on, within so many columns.
    pub fn line_within(&mut self, mut x: u16, row: usize, room: usize, parts: &[(&str, Ink)]) {
        let Some(y) = self.row(row) else { return };
        let mut left = room;
        for (text, ink) in parts {
            if left == 0 || x >= self.area.right() {
                return;
            }
            let text = cut(text, left.min(usize::from(self.area.right() - x)));
            self.buffer
                .set_stringn(x, y, &text, left, ink.style(self.model.colour));
            let taken = text.width().min(left);
            x = x.saturating_add(u16::try_from(taken).unwrap_or(u16::MAX));
            left -= taken;
        }
    }

    /// Shows a whole line as chosen.
    pub fn choose(&mut self, row: usize) {
        if let Some(y) = self.row(row) {
            let style = Ink::Chosen.style(self.model.colour);
            self.buffer.set_style(
                Rect {
                    y,
                    height: 1,
                    ..self.area
                },
                style,
            );
        }
    }

    /// Empties a rectangle, so that what is drawn there next stands above everything else.
    pub fn clear(&mut self, area: Rect) {
        let area = area.intersection(self.area);
        for y in area.top()..area.bottom() {
            for x in area.left()..area.right() {
                self.buffer[(x, y)].reset();
            }
            // Half of a character that takes two columns cannot stay.
            if area.left() > self.area.left()
                && self.buffer[(area.left() - 1, y)].symbol().width() > 1
            {
                self.buffer[(area.left() - 1, y)].reset();
            }
        }
    }

    fn row(&self, row: usize) -> Option<u16> {
        let row = u16::try_from(row)
            .ok()
            .filter(|row| *row < self.area.height)?;
        Some(self.area.y + row)
    }
}
