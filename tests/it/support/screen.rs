//! What stands on a terminal once a program has written to it: lines of text, as a person sees them.

use unicode_width::UnicodeWidthChar as _;

/// The lines on a terminal of so many columns, without blanks at their ends and without empty lines below the last.
///
/// Knows the sequences that watchdog writes: up, erase to the end of the line and of the screen, and colours, which are left out.
pub fn screen(shown: &str, columns: usize) -> Vec<String> {
    let mut screen = TerminalScreen {
        rows: vec![Vec::new()],
        row: 0,
        column: 0,
        columns,
    };
    let mut rest = shown.chars();
    while let Some(c) = rest.next() {
        match c {
            '\r' => screen.column = 0,
            '\n' => screen.down(),
            '\x1b' => match rest.next() {
                Some('[') => {
                    let mut parameters = String::new();
                    let end = rest.by_ref().find(|c| {
                        let ends = ('@'..='~').contains(c);
                        if !ends {
                            parameters.push(*c);
                        }
                        ends
                    });
                    screen.control(end.unwrap_or_default(), &parameters);
                }
                other => panic!("a sequence that this screen does not know: ESC {other:?}"),
            },
            c if c.is_control() => {}
            c => screen.put(c),
        }
    }
    let mut lines: Vec<String> = screen
        .rows
        .iter()
        .map(|row| row.concat().trim_end().to_owned())
        .collect();
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

struct TerminalScreen {
    /// The characters of each row; one that takes two columns is followed by an empty one.
    rows: Vec<Vec<String>>,
    row: usize,
    column: usize,
    columns: usize,
}

impl TerminalScreen {
    fn down(&mut self) {
        self.row += 1;
        if self.row == self.rows.len() {
            self.rows.push(Vec::new());
        }
    }

    fn put(&mut self, c: char) {
        let width = c.width().unwrap_or(0);
        if self.column + width > self.columns {
            self.column = 0;
            self.down();
        }
        let row = &mut self.rows[self.row];
        if width == 0 {
            if let Some(before) = row[..self.column]
                .iter_mut()
                .rev()
                .find(|cell| !cell.is_empty())
            {
                before.push(c);
            }
            return;
        }
        row.resize(row.len().max(self.column + width), " ".into());
        row[self.column] = c.into();
        row[self.column + 1..self.column + width].fill(String::new());
        self.column += width;
    }

    fn control(&mut self, end: char, parameters: &str) {
        let rest = self.column.min(self.rows[self.row].len());
        match (end, parameters) {
            ('m', _) => {}
            ('A', count) => self.row -= count.parse::<usize>().unwrap_or(1).min(self.row),
            ('K', "" | "0") => self.rows[self.row].truncate(rest),
            ('J', "" | "0") => {
                self.rows[self.row].truncate(rest);
                self.rows.truncate(self.row + 1);
            }
            _ => panic!("a sequence that this screen does not know: ESC [ {parameters} {end}"),
        }
    }
}
