//! Rows in columns that fit the terminal, and the colours of statuses.

use std::io::{IsTerminal as _, stdout};
use std::path::Path;

use anstyle::{AnsiColor, Style};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use watchdog_facts::display::escape_to_one_line;
use watchdog_facts::verdict::Status;

/// Wider columns than this are not aligned to, so that one long name does not push all others away.
const WIDEST: usize = 40;

/// A last column is not cut to less than this; a line of a narrower terminal wraps.
const NARROWEST: usize = 12;

/// The columns of a table; the last one takes what is left.
pub struct TableColumns<const N: usize> {
    heads: [String; N],
    /// Columns of numbers.
    right: &'static [usize],
    widths: [usize; N],
    /// How wide a line may be.
    room: Option<usize>,
}

impl<const N: usize> TableColumns<N> {
    /// A table for these rows, whose texts are fit for a terminal already.
    pub fn new(heads: [&str; N], right: &'static [usize], rows: &[[String; N]]) -> Self {
        let heads = heads.map(str::to_owned);
        let width = |at: usize| {
            rows.iter()
                .chain([&heads])
                .map(|row| row[at].width())
                .max()
                .unwrap_or(0)
                .min(WIDEST)
        };
        let widths = std::array::from_fn(width);
        TableColumns {
            heads,
            right,
            widths,
            room: None,
        }
    }

    /// The same table for lines of at most this width: the last column loses the middle of what is too long. `None` cuts nothing.
    pub fn within(self, room: Option<usize>) -> Self {
        TableColumns { room, ..self }
    }

    /// The line of the columns' names.
    pub fn head(&self) -> String {
        self.line(&self.heads, Style::new().dimmed())
    }

    /// One row, its first cell in a style.
    pub fn line(&self, row: &[String; N], first: Style) -> String {
        let mut line = String::new();
        // Cells that are wider than their columns push the last one to the right.
        let before: usize = row
            .iter()
            .zip(self.widths)
            .take(N - 1)
            .map(|(cell, width)| cell.width().max(width) + 2)
            .sum();
        for (at, cell) in row.iter().enumerate() {
            let cell = match self.room {
                Some(room) if at == N - 1 => {
                    &without_middle(cell, room.saturating_sub(before).max(NARROWEST))
                }
                _ => cell,
            };
            let pad = " ".repeat(self.widths[at].saturating_sub(cell.width()));
            let (before, after) = if self.right.contains(&at) {
                (pad.as_str(), "")
            } else {
                ("", pad.as_str())
            };
            match at {
                0 => line.push_str(&format!("{first}{before}{cell}{first:#}{after}")),
                _ => line.push_str(&format!("  {before}{cell}{after}")),
            }
        }
        line.truncate(line.trim_end().len());
        line
    }
}

/// The width of the terminal on stdout; `None` in a pipe or a file, where whatever reads the lines wants them whole.
pub fn terminal_width() -> Option<usize> {
    let width = usize::from(rustix::termios::tcgetwinsize(stdout()).ok()?.ws_col);
    (width > 0).then_some(width)
}

/// A path for a person: in a terminal the home folder is `~`.
pub fn shown_path(path: &str) -> String {
    let home = std::env::var_os("HOME").filter(|home| stdout().is_terminal() && !home.is_empty());
    escape_to_one_line(
        &home
            .and_then(|home| below_home(path, Path::new(&home)))
            .unwrap_or_else(|| path.to_owned()),
    )
}

/// A path below the home folder, with `~` for that.
pub fn below_home(path: &str, home: &Path) -> Option<String> {
    let rest = Path::new(path)
        .strip_prefix(home)
        .ok()?
        .display()
        .to_string();
    Some(if rest.is_empty() {
        "~".into()
    } else {
        format!("~/{rest}")
    })
}

/// A text of at most `room` columns: where it is longer, an ellipsis stands for its middle, since paths differ at their ends.
pub fn without_middle(text: &str, room: usize) -> String {
    if text.width() <= room {
        return text.to_owned();
    }
    let room = room.max(1);
    let (front, back) = ((room - 1) / 2, room - 1 - (room - 1) / 2);
    let fitting = |chars: &mut dyn Iterator<Item = char>, room: usize| {
        let mut left = room;
        chars
            .map_while(|c| {
                left = left.checked_sub(c.width().unwrap_or(0))?;
                Some(c)
            })
            .collect::<Vec<char>>()
    };
    let end: String = fitting(&mut text.chars().rev(), back)
        .into_iter()
        .rev()
        .collect();
    format!(
        "{}…{end}",
        fitting(&mut text.chars(), front)
            .into_iter()
            .collect::<String>()
    )
}

/// How a status is shown; dimmed where there is none.
pub fn style_of(status: Option<Status>) -> Style {
    let colour = match status {
        None => return Style::new().dimmed(),
        Some(Status::Complete) => AnsiColor::Green,
        Some(Status::Incomplete | Status::Waiting) => AnsiColor::Yellow,
        Some(
            Status::Review | Status::Timeout | Status::Stopped | Status::Failed | Status::Error,
        ) => AnsiColor::Red,
    };
    Style::new().bold().fg_color(Some(colour.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_below_each_other_and_numbers_to_the_right() {
        let rows = [["a", "7", "x"], ["long", "1000", ""]].map(|row| row.map(str::to_owned));
        let table = TableColumns::new(["NAME", "N", "REST"], &[1], &rows);
        let lines: Vec<String> = rows
            .iter()
            .map(|row| table.line(row, Style::new()))
            .collect();
        assert_eq!(lines, ["a        7  x", "long  1000"]);
    }

    #[test]
    fn characters_that_take_two_columns_are_counted_as_two() {
        let rows =
            [["日本", "x"], ["e\u{301}t", "y"], ["plain", "z"]].map(|row| row.map(str::to_owned));
        let table = TableColumns::new(["", ""], &[], &rows);
        let lines: Vec<String> = rows
            .iter()
            .map(|row| table.line(row, Style::new()))
            .collect();
        assert_eq!(lines, ["日本   x", "e\u{301}t     y", "plain  z"]);
    }

    #[test]
    fn the_last_column_loses_its_middle_where_the_terminal_has_no_room() {
        let rows = [
            ["complete", "/home/me/projects/shop/worktrees/checkout"],
            ["error", "/日本日本日本日本日本/shop"],
        ]
        .map(|row| row.map(str::to_owned));
        let said = |room| {
            let table = TableColumns::new(["STATUS", "WORKTREE"], &[], &rows).within(room);
            rows.iter()
                .map(|row| table.line(row, Style::new()))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            said(None)[0],
            "complete  /home/me/projects/shop/worktrees/checkout"
        );
        assert_eq!(said(Some(80)), said(None));
        assert_eq!(
            said(Some(30)),
            [
                "complete  /home/me/…s/checkout",
                "error     /日本日本…日本/shop"
            ]
        );
        assert_eq!(
            said(Some(30)).iter().map(|line| line.width()).max(),
            Some(30)
        );
        assert_eq!(
            said(Some(3))[0].width(),
            10 + NARROWEST,
            "something of a path is always shown"
        );
    }

    #[test]
    fn the_home_folder_is_shortened_and_nothing_that_merely_begins_like_it() {
        let of = |path| below_home(path, Path::new("/home/me"));
        assert_eq!(of("/home/me/shop").as_deref(), Some("~/shop"));
        assert_eq!(of("/home/me").as_deref(), Some("~"));
        assert_eq!(of("/home/meadow/shop"), None);
    }
}
