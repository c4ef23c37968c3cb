//! The files that a snapshot changes, each in a line, and all of them in one. Pure.

use unicode_width::UnicodeWidthStr as _;

use watchdog_facts::display::{escape_to_one_line, format_size, plural};
use watchdog_git::SnapshotDiff;
use watchdog_judge::wire::snapshot_json::change_word;

/// Files that a summary for people names.
const NAMED: usize = 500;

/// Rows with their columns under each other.
fn align_rows<const N: usize>(rows: &[[String; N]]) -> Vec<String> {
    let widths: [usize; N] = std::array::from_fn(|column| {
        rows.iter()
            .map(|row| row[column].width())
            .max()
            .unwrap_or(0)
    });
    let line = |row: &[String; N]| {
        let cells = row
            .iter()
            .zip(widths)
            .map(|(cell, width)| format!("{cell}{}", " ".repeat(width - cell.width())));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// Summarizes each file in a line, and all of them in one.
pub fn summarize_diff(diff: &SnapshotDiff) -> Vec<String> {
    let (mut added, mut removed) = (0, 0);
    let mut rows = Vec::new();
    for file in &diff.files {
        let lines = match (&file.private, file.lines) {
            (Some(why), _) => format!("kept apart: {}", escape_to_one_line(why)),
            (None, Some((plus, minus))) => {
                (added, removed) = (added + plus, removed + minus);
                format!("+{plus} -{minus}")
            }
            (None, None) => format_size(file.bytes),
        };
        rows.push([
            format!("  {}", change_word(file)),
            lines,
            escape_to_one_line(&file.path),
        ]);
    }
    let more = rows.len().saturating_sub(NAMED);
    rows.truncate(NAMED);
    let mut lines = align_rows(&rows);
    if more > 0 {
        lines.push(format!("  and {} more", plural(more as u64, "file")));
    }
    if diff.incomplete {
        lines.push("  its private files are not in this repository any more".into());
    }
    lines.push(format!(
        "  {} changed, {added} lines added, {removed} removed",
        plural(diff.files.len() as u64, "file")
    ));
    lines
}
