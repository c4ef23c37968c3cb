//! Rows in columns that fit the terminal, and the colours of statuses.

use std::io::{IsTerminal as _, stdout};
use std::path::Path;

use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthStr as _;

use watchdog_facts::display::escape_to_one_line;
use watchdog_facts::verdict::Status;
use watchdog_view::wrapped_text::{below_home, cut_path};

/// Wider columns than this are not aligned to, so that one long name does not push all others away.
const WIDEST: usize = 40;

/// A last column is not cut to less than this; a line of a narrower terminal wraps.
const NARROWEST: usize = 12;

/// The lines of a table, that of the heads first; its texts are fit for a terminal already. `right` are the columns of numbers, `style` is that of
/// the first cell of a row. Where there is a `room`, the last column loses the middle of what is too long for it.
pub fn table_lines<const N: usize>(
    heads: [&str; N],
    right: &[usize],
    rows: &[[String; N]],
    room: Option<usize>,
    style: impl Fn(usize) -> Style,
) -> Vec<String> {
    let heads = heads.map(str::to_owned);
    let all = || std::iter::once(&heads).chain(rows);
    let widths: [usize; N] = std::array::from_fn(|column| {
        let widest = all().map(|row| row[column].width()).max();
        widest.unwrap_or(0).min(WIDEST)
    });
    let line = |(at, row): (usize, &[String; N])| {
        let mut line = String::new();
        let mut taken = 0;
        for (column, cell) in row.iter().enumerate() {
            let cell = match room.filter(|_| column == N - 1) {
                Some(room) => &cut_path(cell, "", room.saturating_sub(taken).max(NARROWEST)),
                None => cell,
            };
            let pad = " ".repeat(widths[column].saturating_sub(cell.width()));
            // Cells that are wider than their columns push the last one to the right.
            taken += cell.width() + pad.len() + 2;
            let first = match (column, at) {
                (0, 0) => Style::new().dimmed(),
                (0, at) => style(at - 1),
                _ => Style::new(),
            };
            line.push_str(&match right.contains(&column) {
                true => format!("{first}{pad}{cell}{first:#}  "),
                false => format!("{first}{cell}{first:#}{pad}  "),
            });
        }
        line.truncate(line.trim_end().len());
        line
    };
    all().enumerate().map(line).collect()
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

    fn plain_lines<const N: usize>(
        heads: [&str; N],
        right: &[usize],
        rows: &[[String; N]],
        room: Option<usize>,
    ) -> Vec<String> {
        table_lines(heads, right, rows, room, |_| Style::new())
            .iter()
            .map(|line| anstream::adapter::strip_str(line).to_string())
            .collect()
    }

    #[test]
    fn columns_align_with_numbers_to_the_right() {
        let rows = [["a", "7", "x"], ["long", "1000", ""]].map(|row| row.map(str::to_owned));
        let lines = plain_lines(["NAME", "N", "REST"], &[1], &rows, None);
        assert_eq!(lines, ["NAME     N  REST", "a        7  x", "long  1000"]);
    }

    #[test]
    fn wide_characters_count_as_two_columns() {
        let rows =
            [["日本", "x"], ["e\u{301}t", "y"], ["plain", "z"]].map(|row| row.map(str::to_owned));
        let lines = plain_lines(["", ""], &[], &rows, None);
        assert_eq!(lines[1..], ["日本   x", "e\u{301}t     y", "plain  z"]);
    }

    #[test]
    fn narrow_terminal_shortens_middle_of_last_column() {
        let rows = [
            ["complete", "/home/me/projects/shop/worktrees/checkout"],
            ["error", "/日本日本日本日本日本/shop"],
        ]
        .map(|row| row.map(str::to_owned));
        let said = |room| plain_lines(["STATUS", "WORKTREE"], &[], &rows, room).split_off(1);
        assert_eq!(
            said(None)[0],
            "complete  /home/me/projects/shop/worktrees/checkout"
        );
        assert_eq!(said(Some(80)), said(None));
        assert_eq!(
            said(Some(30)),
            [
                "complete  /home/me/p…/checkout",
                "error     /日本日本日本…/shop"
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
}
