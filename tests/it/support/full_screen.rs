//! What stands on the alternate screen of a terminal once a program has drawn on it: lines of text, as a person sees them.

use unicode_width::UnicodeWidthChar as _;

/// The lines of the alternate screen, of this size, without blanks at their ends; `None` while the program does not have it.
///
/// Knows the sequences that the live view writes: places, erasing, modes of the screen; colours are left out.
pub fn full_screen(shown: &str, (columns, rows): (usize, usize)) -> Option<Vec<String>> {
    let begin = shown.rfind("\x1b[?1049h")?;
    if shown[begin..].contains("\x1b[?1049l") {
        return None;
    }
    let mut cells = vec![vec![" ".to_owned(); columns]; rows];
    let (mut row, mut column) = (0, 0);
    let mut rest = shown[begin..].chars();
    while let Some(c) = rest.next() {
        match c {
            '\x1b' => {
                // A sequence that is cut off here goes on in the next reading.
                if rest.next() != Some('[') {
                    continue;
                }
                let mut parameters = String::new();
                let end = rest.by_ref().find(|c| {
                    let ends = ('@'..='~').contains(c);
                    if !ends {
                        parameters.push(*c);
                    }
                    ends
                });
                match (end, parameters.as_str()) {
                    (Some('H'), place) => {
                        let mut numbers = place
                            .split(';')
                            .map(|number| number.parse::<usize>().unwrap_or(1));
                        (row, column) = (
                            numbers.next().unwrap_or(1) - 1,
                            numbers.next().unwrap_or(1) - 1,
                        );
                    }
                    (Some('J'), "2") => cells = vec![vec![" ".to_owned(); columns]; rows],
                    (Some('m' | 'h' | 'l') | None, _) => {}
                    (Some(end), parameters) => panic!(
                        "a sequence that this screen does not know: ESC [ {parameters} {end}"
                    ),
                }
            }
            c if c.is_control() => {}
            c => {
                let width = c.width().unwrap_or(0);
                // A terminal that became smaller is drawn anew; what was beyond its edge is not seen.
                if row < rows && column + width <= columns {
                    if width == 0 {
                        cells[row][column.saturating_sub(1)].push(c);
                        continue;
                    }
                    cells[row][column] = c.into();
                    cells[row][column + 1..column + width].fill(String::new());
                }
                column += width;
            }
        }
    }
    Some(
        cells
            .iter()
            .map(|row| row.concat().trim_end().to_owned())
            .collect(),
    )
}
