//! Whether a runner named every failure of a run, and ran every test: only then can each failure be compared by its name.

use std::collections::HashMap;

use watchdog_facts::evidence::{ProcessExit, TestCounts};

use super::command_line::named_runner;
use super::counts::pattern;

/// Runners whose names are unique: the exit code that tells of failed tests, the option that the line needs, and those that end a run early
/// or leave out tests.
const NAMING: [(&str, i32, &str, &str); 6] = [
    (
        "pytest",
        1,
        "",
        r"\s-\w*x|--(?:exitfirst|maxfail|lf|last-failed|sw|stepwise)",
    ),
    ("unittest", 1, "", r"\s-\w*f|--failfast"),
    ("go test", 1, "-v", r"-failfast"),
    ("cargo test", 101, "--no-fail-fast", r"\s--\s.*--format"),
    ("cargo nextest run", 100, "", ""),
    ("node --test", 1, "", "--test-(?:reporter|only)"),
];

/// Why the names of a run's failed tests may not be all that failed, by its command line and its end; `None` where they are.
pub(in super::super) fn find_unnamed_failure(
    line: &str,
    exit: ProcessExit,
    (names, counts): (&[String], Option<TestCounts>),
) -> Option<String> {
    let runner = named_runner(line).unwrap_or_default();
    // Another command on the line may hide how the runner ended.
    let is_alone = !pattern!(r"[;|\n`]|&&.*&&|\$\(").is_match(line)
        && line
            .split_once("&&")
            .is_none_or(|(first, _)| first.trim_start().starts_with("cd "));
    let row = (NAMING.iter()).find(|(name, ..)| is_alone && *name == runner);
    let Some((_, code, option, early)) = row else {
        return Some(
            "name one runner alone: pytest, unittest, `go test -v`, `node --test`, `cargo test --no-fail-fast` or nextest".to_owned(),
        );
    };
    let has_option = |option: &str| line.split_whitespace().any(|word| word == option);
    if !option.is_empty() && !has_option(option) {
        return Some(format!(
            "without {option} not every failed test is named; add it to the command"
        ));
    }
    if !early.is_empty() && regex::Regex::new(early).is_ok_and(|early| early.is_match(line)) {
        return Some("an option of its command leaves out tests; take it out".to_owned());
    }
    if exit != ProcessExit::Code(*code) {
        return Some("it ended in another way than with failed tests".to_owned());
    }
    match counts {
        None => Some("its closing lines are missing".to_owned()),
        Some(counts) if counts.failed != names.len() as u64 => Some(format!(
            "it names {} of {} failures",
            names.len(),
            counts.failed
        )),
        Some(_) => None,
    }
}

/// Why the lines of a run do not name each of its failures; `None` where nothing shows that.
pub(super) fn find_gap(lines: &[&str], names: &[String]) -> Option<&'static str> {
    let is_cut = pattern!(concat!(
        r"^!{3,} |^SUBFAIL|(?i)unexpected success|^ERROR: (?:setUp|tearDown)(?:Class|Module) ",
        r"|^panic: |\[(?:build|setup) failed\]|^\s*Summary \[.*\] +\d+/\d+ tests? run"
    ));
    if lines.iter().any(|line| is_cut.is_match(line)) {
        return Some("the run ended early, or a failure is none of a test");
    }
    let (mut announced, mut ended, mut has_failed) = (0_u64, 0_u64, false);
    let mut results: HashMap<&str, u64> = HashMap::new();
    let result = pattern!(concat!(
        r"^(?:test (.+?)(?: - should panic)? \.\.\. |\s*--- (?:PASS|FAIL|SKIP): (\S+) \(",
        r"|\s*(?:not )?ok \d+ (?:- )?(.+)$|\s*[✔✖] (.+) \([\d.]+ms\)$)"
    ));
    // node repeats those that failed below this line.
    for line in lines.iter().take_while(|line| **line != "✖ failing tests:") {
        if let Some(count) = pattern!(r"^running (\d+) tests?$").captures(line) {
            announced += count[1].parse().unwrap_or(u64::MAX / 2);
        } else if line.starts_with("=== RUN ") {
            announced += 1;
        } else if pattern!(r"^(?:ok  |FAIL|\?   )\t").is_match(line) {
            if line.starts_with("FAIL") && !has_failed {
                return Some("a package failed without a test");
            }
            has_failed = false;
        }
        if let Some(groups) = result.captures(line) {
            has_failed |= line.contains("--- FAIL");
            ended += u64::from(groups.get(1).is_some() || groups.get(2).is_some());
            let name = (1..5)
                .find_map(|n| groups.get(n))
                .map_or("", |name| name.as_str());
            *results.entry(name.trim()).or_default() += 1;
        }
    }
    if announced != ended {
        return Some("tests began that did not end");
    }
    let is_unclear = |name: &String| {
        // The id of a case may hold the sign that ends a name.
        name.contains('[') && name.contains(".py::") && !name.ends_with(']')
            || results.get(name.as_str()).is_some_and(|count| *count > 1)
    };
    (names.iter().any(is_unclear)).then_some("several tests have the name of one that failed")
}
