//! Tables of pages that must have a row for each word of the program.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use watchdog_facts::verdict::{Reason, Status};

#[test]
fn readme_exit_code_table_has_every_status() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md"))
        .expect("README.md");
    let (_, table) = page
        .split_once("| exit | status | meaning |\n|---|---|---|\n")
        .expect("the table");
    let rows: Vec<String> = table
        .lines()
        .map_while(|line| line.rsplit_once("` | ").map(|(row, _)| format!("{row}`")))
        .collect();
    let statuses: BTreeMap<u8, Status> = Reason::ALL
        .iter()
        .map(|reason| (reason.status().exit_code(), reason.status()))
        .collect();
    let wanted: Vec<String> = statuses
        .iter()
        .map(|(code, status)| format!("| {code} | `{}`", status.as_str()))
        .collect();
    assert_eq!(rows, wanted);
}

#[test]
fn verdict_page_has_one_row_a_reason() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/verdict.md"))
        .expect("a page");
    let row = |reason: &Reason| {
        let status = reason.status();
        let (word, code) = (status.as_str(), status.exit_code());
        format!("| `{}` | `{word}` | {code} | ", reason.as_str())
    };
    let rows: Vec<String> = Reason::ALL.iter().map(row).collect();
    let missing: Vec<&String> = rows
        .iter()
        .filter(|row| !page.lines().any(|line| line.starts_with(*row)))
        .collect();
    assert!(missing.is_empty(), "docs/verdict.md lacks {missing:#?}");
}
