//! The configuration as users write it.

use std::path::Path;

use expect_test::expect_file;
use watchdog_core::config::settings::{CheckKind, CheckSpec, GitCriterion, Mode};
use watchdog_core::config::{key_tables, parse_config};
use watchdog_facts::verdict::{Reason, Status};
use watchdog_store::journal::kind;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn own_configuration_requires_tests_and_a_commit() {
    let text = std::fs::read_to_string(root().join("completion.json")).unwrap();
    let parsed = parse_config(&text, Path::new("completion.json")).unwrap();
    assert!(parsed.notes.is_empty(), "{:?}", parsed.notes);
    assert_eq!(parsed.settings.mode, Mode::All);
    let kinds: Vec<&str> = parsed
        .settings
        .checks
        .iter()
        .map(|check| match check {
            CheckSpec::Single { criterion, .. } => criterion.kind(),
            CheckSpec::Group { .. } => "group",
        })
        .collect();
    assert_eq!(kinds, ["command", "git"]);
    assert!(matches!(
        parsed.settings.checks[1],
        CheckSpec::Single {
            criterion: CheckKind::Git(GitCriterion { min_commits: 1, .. }),
            ..
        }
    ));
}

#[test]
fn every_status_reason_and_event_can_be_notified() {
    let reasons = Reason::ALL.iter().map(|reason| reason.as_str());
    let statuses = Reason::ALL.iter().map(|reason| reason.status().as_str());
    // Told about being told, a rule would set itself off.
    let kinds = kind::ALL
        .iter()
        .copied()
        .filter(|word| ![kind::HOOK, kind::NOTIFY].contains(word));
    for word in reasons
        .chain(statuses)
        .chain([Status::Complete.as_str()])
        .chain(kinds)
    {
        let text = format!(r#"{{"notify": [{{"on": ["{word}"], "command": ["x"]}}]}}"#);
        parse_config(&text, Path::new("completion.json")).unwrap();
    }
}

/// Every example of the pages for users is read, so that no page can drift from the program.
#[test]
fn every_configuration_page_example_is_accepted() {
    for name in ["docs/configuration.md", "docs/notifications.md"] {
        let page = std::fs::read_to_string(root().join(name)).unwrap();
        let examples: Vec<&str> = page
            .split("```json\n")
            .skip(1)
            .map(|rest| rest.split("```").next().unwrap())
            .collect();
        assert!(examples.len() >= 5, "{name}: {}", examples.len());
        for example in examples {
            if let Err(error) = parse_config(example, Path::new(name)) {
                panic!("{example}\n{error}");
            }
        }
    }
}

/// Where they differ, `UPDATE_EXPECT=1 cargo test` writes the tables into the page.
#[test]
fn configuration_tables_match_the_keys_read() {
    let page = std::fs::read_to_string(root().join("docs/configuration.md")).unwrap();
    let tables = key_tables();
    let heads = page
        .lines()
        .filter(|line| line.starts_with("| key "))
        .count();
    assert_eq!(
        heads,
        tables.len(),
        "the page has each table once and no table of keys by hand"
    );
    let wanted = tables.iter().fold(page, |page, table| {
        let head = table.lines().next().unwrap();
        let at = page
            .find(head)
            .unwrap_or_else(|| panic!("the page has no line {head}"));
        let (before, rest) = page.split_at(at);
        let after = rest.find("\n\n").map_or("", |end| &rest[end + 1..]);
        format!("{before}{table}{after}")
    });
    expect_file!["../../docs/configuration.md"].assert_eq(&wanted);
}

#[test]
fn documented_errors_are_those_of_the_program() {
    let page = std::fs::read_to_string(root().join("docs/configuration.md")).unwrap();
    let shown = page
        .split("```text\n")
        .nth(1)
        .unwrap()
        .split("\n```")
        .next()
        .unwrap();
    let text = std::fs::read_to_string(root().join("tests/fixtures/config/wrong.json")).unwrap();
    assert_eq!(
        parse_config(&text, Path::new("completion.json"))
            .unwrap_err()
            .to_string(),
        shown
    );
}
