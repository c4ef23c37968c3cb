//! Pages that are made from the program: where they differ, `UPDATE_EXPECT=1` writes them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use expect_test::expect_file;
use watchdog_facts::verdict::{Reason, Status};

use crate::support::TestEnv;

const HEAD: &str = "\
# Commands

What `watchdog help COMMAND` prints, made from the program. Options for every command are under [watchdog](#watchdog) alone;
[exit codes](exit-codes.md) are the same for all that judge.
";

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

/// Without the part about options that every command has.
fn own_part(help: &str) -> String {
    let mut global = false;
    let kept = help.lines().filter(|line| {
        global =
            *line == "Global options:" || (global && (line.is_empty() || line.starts_with(' ')));
        !global
    });
    kept.collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

/// The commands that a help lists below these headings; two that belong together stand on one line, `trust, untrust`.
fn listed(help: &str, is_heading: impl Fn(&str) -> bool) -> Vec<String> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in help.lines() {
        match line.strip_prefix("  ") {
            Some(entry) if inside && !entry.starts_with(' ') => {
                let names = entry.split_once("  ").map_or(entry, |(names, _)| names);
                found.extend(
                    names
                        .split(", ")
                        .filter_map(|name| name.split_whitespace().next())
                        .map(str::to_owned),
                );
            }
            _ => inside = is_heading(line),
        }
    }
    found
}

fn section(page: &mut String, name: &str, help: &str) {
    write!(page, "\n## {name}\n\n```text\n{}\n```\n", own_part(help))
        .expect("a String takes everything");
}

#[test]
fn the_page_about_commands_is_what_the_program_prints() {
    let env = TestEnv::new();
    let mut page = HEAD.to_owned();
    let whole = help(&env, &[]);
    section(&mut page, "watchdog", &whole);
    let groups = ["Judge:", "Work:", "Rescue:", "Look:", "Set up:"];
    let commands = listed(&whole, |line| groups.contains(&line));
    assert!(commands.len() > 20, "the commands are found: {commands:?}");
    for command in &commands {
        let about = help(&env, &[command]);
        section(&mut page, &format!("watchdog {command}"), &about);
        for sub in listed(&about, |line| line == "Commands:") {
            section(
                &mut page,
                &format!("watchdog {command} {sub}"),
                &help(&env, &[command, &sub]),
            );
        }
    }
    expect_file!["../../docs/commands.md"].assert_eq(&page);
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
