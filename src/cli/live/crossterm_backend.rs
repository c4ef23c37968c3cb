//! Writes the cells of a frame to a terminal, with the sequences that `crossterm` has for them.

use std::io::{self, Write};

use crossterm::style::{
    Attribute, Color as TerminalColor, Print, ResetColor, SetAttribute, SetForegroundColor,
};
use crossterm::{cursor, queue, terminal};
use ratatui::backend::{Backend, ClearType, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};
use ratatui::style::{Color, Modifier};
use rustix::termios::tcgetwinsize;

/// Where a terminal does not tell its size.
const USUAL: Size = Size {
    width: 80,
    height: 24,
};

/// A terminal on stdout.
#[derive(Debug)]
pub struct CrosstermBackend {
    /// Bytes of the frame that is being written: it goes out in one piece.
    frame: Vec<u8>,
}

impl CrosstermBackend {
    /// Writes to stdout.
    pub fn new() -> Self {
        CrosstermBackend { frame: Vec::new() }
    }
}

/// The size of the terminal on stdout. Asked of stdout itself, as the controlling terminal may be another.
pub fn terminal_size() -> Size {
    match tcgetwinsize(io::stdout()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => Size {
            width: size.ws_col,
            height: size.ws_row,
        },
        _ => USUAL,
    }
}

impl Backend for CrosstermBackend {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let mut at: Option<(u16, u16)> = None;
        let mut style = (Color::Reset, Modifier::empty());
        for (x, y, cell) in content {
            // Behind a character that takes two columns the place is said anew.
            if at != Some((x, y)) {
                queue!(self.frame, cursor::MoveTo(x, y))?;
            }
            if style != (cell.fg, cell.modifier) {
                self.restyle(cell)?;
                style = (cell.fg, cell.modifier);
            }
            queue!(self.frame, Print(cell.symbol()))?;
            at = cell.symbol().is_ascii().then_some((x + 1, y));
        }
        if style != (Color::Reset, Modifier::empty()) {
            queue!(self.frame, SetAttribute(Attribute::Reset), ResetColor)?;
        }
        Ok(())
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        queue!(self.frame, cursor::Hide)
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        queue!(self.frame, cursor::Show)
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        // Only frames that do not take the whole screen need to know.
        Ok(Position::ORIGIN)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        let Position { x, y } = position.into();
        queue!(self.frame, cursor::MoveTo(x, y))
    }

    fn clear(&mut self) -> io::Result<()> {
        self.clear_region(ClearType::All)
    }

    fn clear_region(&mut self, region: ClearType) -> io::Result<()> {
        let region = match region {
            ClearType::All => terminal::ClearType::All,
            ClearType::AfterCursor => terminal::ClearType::FromCursorDown,
            ClearType::BeforeCursor => terminal::ClearType::FromCursorUp,
            ClearType::CurrentLine => terminal::ClearType::CurrentLine,
            ClearType::UntilNewLine => terminal::ClearType::UntilNewLine,
        };
        queue!(self.frame, terminal::Clear(region))
    }

    fn size(&self) -> io::Result<Size> {
        Ok(terminal_size())
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize {
            columns_rows: terminal_size(),
            pixels: Size {
                width: 0,
                height: 0,
            },
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut out = io::stdout().lock();
        let written = out.write_all(&self.frame).and_then(|()| out.flush());
        self.frame.clear();
        written
    }
}

impl CrosstermBackend {
    fn restyle(&mut self, cell: &Cell) -> io::Result<()> {
        queue!(self.frame, SetAttribute(Attribute::Reset))?;
        let colour = match cell.fg {
            Color::Red => Some(TerminalColor::DarkRed),
            Color::Green => Some(TerminalColor::DarkGreen),
            Color::Yellow => Some(TerminalColor::DarkYellow),
            Color::Cyan => Some(TerminalColor::DarkCyan),
            // The view has no other inks.
            _ => None,
        };
        if let Some(colour) = colour {
            queue!(self.frame, SetForegroundColor(colour))?;
        }
        for (modifier, attribute) in [
            (Modifier::BOLD, Attribute::Bold),
            (Modifier::DIM, Attribute::Dim),
            (Modifier::REVERSED, Attribute::Reverse),
        ] {
            if cell.modifier.contains(modifier) {
                queue!(self.frame, SetAttribute(attribute))?;
            }
        }
        Ok(())
    }
}
