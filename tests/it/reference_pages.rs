//! Pages that are made from the program: where they differ, `UPDATE_EXPECT=1` writes them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use expect_test::expect_file;
use watchdog_facts::verdict::{Reason, Status};

use crate::support::TestEnv;

/// The help about a command, as it is printed where there is no terminal.
fn help(env: &TestEnv, command: &[&str]) -> String {
    let text = env
        .watchdog(&env.root(), &[&["help"], command].concat())
        .expect(0)
        .stdout;
    text.lines()
        .map(str::trim_end)
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn the_page_about_exit_codes_shows_what_the_program_prints() {
    let env = TestEnv::new();
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/exit-codes.md"))
        .expect("a page");
    let (before, rest) = page.split_once("```text\n").expect("a block");
    let (_, after) = rest.split_once("```\n").expect("the block ends");
    expect_file!["../../docs/exit-codes.md"].assert_eq(&format!(
        "{before}```text\n{}\n```\n{after}",
        help(&env, &["exit-codes"])
    ));
}

#[test]
fn the_table_of_exit_codes_in_the_readme_has_every_status() {
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
fn the_table_of_verdicts_names_every_reason_beside_its_status_and_exit_code() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/verdict.md"))
        .expect("a page");
    let row = |status: Status| {
        let head = format!("| `{}` | {} | ", status.as_str(), status.exit_code());
        page.lines()
            .find(|line| line.starts_with(&head))
            .unwrap_or_else(|| panic!("docs/verdict.md has no row {head}"))
    };
    let missing = Reason::ALL
        .iter()
        .filter(|reason| !row(reason.status()).contains(&format!("`{}`", reason.as_str())));
    let missing: Vec<&str> = missing.map(|reason| reason.as_str()).collect();
    assert!(
        missing.is_empty(),
        "docs/verdict.md does not name {missing:?}"
    );
}
