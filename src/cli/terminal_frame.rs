//! Lines of our own at the lower end of the terminal on stderr: drawn, erased, and drawn anew below whatever else is written there.
//!
//! Plain escape sequences do: lines are cut to the terminal's width, so that nothing ever wraps, and erased before anything else is shown.

use std::io::{IsTerminal as _, Write as _, stderr};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use rustix::process::getpgrp;
use rustix::termios::{LocalModes, tcgetattr, tcgetpgrp, tcgetwinsize};
use unicode_width::UnicodeWidthStr as _;

use watchdog_view::wrapped_text::cut;

/// The width for a terminal that does not tell its own.
const WIDTH: usize = 80;
/// Columns at the end of a line that stay free: for the `^C` that a terminal writes there, and so that nothing wraps.
const MARGIN: usize = 3;

/// The lines drawn at the lower end.
#[derive(Debug, Default)]
pub struct TerminalFrame {
    /// The widths of the lines that are drawn.
    drawn: Vec<usize>,
}

impl TerminalFrame {
    /// Whether stderr is a terminal that understands these sequences.
    pub fn can_be_drawn() -> bool {
        !is_dumb_terminal() && stderr().is_terminal()
    }

    /// Whether the terminal is ours at the moment: we are not in the background, and no program has it in a mode of its own, such as for a
    /// password.
    pub fn may_be_drawn() -> bool {
        // A terminal that is not the controlling one has no foreground.
        let foreground = tcgetpgrp(stderr()).map_or(true, |group| group == getpgrp());
        let shared = LocalModes::ICANON | LocalModes::ECHO;
        foreground && tcgetattr(stderr()).is_ok_and(|modes| modes.local_modes.contains(shared))
    }

    /// Takes away what is drawn. A terminal that hung up is no fault of ours.
    pub fn erase(&mut self) {
        let rows = count_wrapped_rows(&self.drawn, read_terminal_width());
        if rows > 0 {
            let up = if rows > 1 {
                format!("\x1b[{}A", rows - 1)
            } else {
                String::new()
            };
            let _ = write!(stderr(), "\r{up}\x1b[J");
        }
        self.drawn.clear();
    }

    /// Draws these lines, each cut to the width, where nothing is drawn. The lines must hold no
    /// terminal control sequence.
    pub fn draw(&mut self, lines: &[String]) {
        let lines: Vec<String> = lines
            .iter()
            .map(|line| cut(line, read_terminal_width().saturating_sub(MARGIN)))
            .collect();
        self.drawn = lines.iter().map(|line| line.width()).collect();
        let style = match AutoStream::choice(&stderr()) {
            ColorChoice::Never => Style::new(),
            _ => AnsiColor::Cyan.on_default(),
        };
        let _ = write!(stderr(), "{style}{}{style:#}", lines.join("\r\n"));
        let _ = stderr().flush();
    }
}

fn read_terminal_width() -> usize {
    let width = tcgetwinsize(stderr()).map_or(0, |size| usize::from(size.ws_col));
    if width == 0 { WIDTH } else { width }
}

/// The rows of lines that were drawn at another width: a terminal that became narrower has wrapped them.
fn count_wrapped_rows(drawn: &[usize], width: usize) -> usize {
    drawn.iter().map(|line| line.div_ceil(width).max(1)).sum()
}

/// Whether the terminal understands no sequences.
pub fn is_dumb_terminal() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapped_lines_take_more_rows() {
        for (drawn, width, expected) in [
            (&[][..], 80, 0),
            (&[77], 80, 1),
            (&[0], 80, 1),
            (&[77], 40, 2),
            (&[77, 10], 20, 5),
        ] {
            assert_eq!(
                count_wrapped_rows(drawn, width),
                expected,
                "{drawn:?} {width}"
            );
        }
    }
}
