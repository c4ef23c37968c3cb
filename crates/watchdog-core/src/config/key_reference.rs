//! The tables of the documentation, generated from the tables of keys: `docs/configuration.md` has them below its headings.

use super::elements::{
    TOP, agent, breaker, check_list, completion_check, limits, notification, rescue, tasks,
};
use super::key_row::KeyRow;

/// Every table of keys as markdown. The first line of each names its block, so that a page can be searched for it.
pub fn key_tables() -> Vec<String> {
    let blocks = [
        ("at the top", TOP.rows()),
        ("of `completion_check`", completion_check::BLOCK.rows()),
        ("of `agent`", agent::BLOCK.rows()),
        ("of `rescue`", rescue::BLOCK.rows()),
        ("of `breaker`", breaker::BLOCK.rows()),
        ("of `limits`", limits::BLOCK.rows()),
        ("of `tasks`", tasks::BLOCK.rows()),
        ("of `agents[]`", agent::ENTRY.rows()),
        ("of `notify[]`", notification::BLOCK.rows()),
    ];
    let checks = check_list::TYPES
        .iter()
        .map(|kind| (kind.type_word(), kind.build_doc_rows()))
        .filter(|(_, rows)| !rows.is_empty());
    let checks = checks.map(|(word, rows)| format_key_table(&format!("of `{word}`"), &rows));
    blocks
        .into_iter()
        .map(|(column, rows)| format_key_table(column, &rows))
        .chain(checks)
        .collect()
}

fn format_key_table(column: &str, rows: &[KeyRow]) -> String {
    let head = format!("| key {column} | value | meaning | default |\n|---|---|---|---|\n");
    let rows = rows.iter().map(|row| {
        format!(
            "| `{}` | {} | {} | {} |\n",
            row.key, row.value, row.meaning, row.default
        )
    });
    head + &rows
        .map(|row| row.replace("|  |", "| |"))
        .collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_breaks_out_of_its_table() {
        for table in key_tables() {
            for line in table.lines() {
                assert_eq!(line.matches('|').count(), 5, "{line}");
            }
        }
    }
}
