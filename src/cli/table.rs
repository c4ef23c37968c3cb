//! Rows in columns, and the colours of statuses. Pure.

use anstyle::{AnsiColor, Style};

use watchdog_facts::verdict::Status;

/// Wider columns than this are not aligned to, so that one long name does not push all others away.
const WIDEST: usize = 40;

/// The columns of a table; the last one takes what is left.
pub struct TableColumns<const N: usize> {
    heads: [String; N],
    /// Columns of numbers.
    right: &'static [usize],
    widths: [usize; N],
}

impl<const N: usize> TableColumns<N> {
    /// A table for these rows, whose texts are fit for a terminal already.
    pub fn new(heads: [&str; N], right: &'static [usize], rows: &[[String; N]]) -> Self {
        let heads = heads.map(str::to_owned);
        let width = |at: usize| rows.iter().chain([&heads]).map(|row| row[at].chars().count()).max().unwrap_or(0).min(WIDEST);
        let widths = std::array::from_fn(width);
        TableColumns { heads, right, widths }
    }

    /// The line of the columns' names.
    pub fn head(&self) -> String {
        self.line(&self.heads, Style::new().dimmed())
    }

    /// One row, its first cell in a style.
    pub fn line(&self, row: &[String; N], first: Style) -> String {
        let mut line = String::new();
        for (at, cell) in row.iter().enumerate() {
            let pad = " ".repeat(self.widths[at].saturating_sub(cell.chars().count()));
            let (before, after) = if self.right.contains(&at) { (pad.as_str(), "") } else { ("", pad.as_str()) };
            match at {
                0 => line.push_str(&format!("{first}{before}{cell}{first:#}{after}")),
                _ => line.push_str(&format!("  {before}{cell}{after}")),
            }
        }
        line.truncate(line.trim_end().len());
        line
    }
}

/// How a status is shown; dimmed where there is none.
pub fn style_of(status: Option<Status>) -> Style {
    let colour = match status {
        None => return Style::new().dimmed(),
        Some(Status::Complete) => AnsiColor::Green,
        Some(Status::Incomplete | Status::Waiting) => AnsiColor::Yellow,
        Some(Status::Review | Status::Timeout | Status::Stopped | Status::Failed | Status::Error) => AnsiColor::Red,
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
        let lines: Vec<String> = rows.iter().map(|row| table.line(row, Style::new())).collect();
        assert_eq!(lines, ["a        7  x", "long  1000"]);
    }
}
