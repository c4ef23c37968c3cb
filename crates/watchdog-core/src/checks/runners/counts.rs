//! The figures of a run: runners whose closing lines carry all of them are rows of tables here, the others are functions beside it.

use regex::Regex;
use std::sync::LazyLock;

use watchdog_facts::evidence::TestCounts;

use super::more_counts::READERS;

/// The report of one runner: figures, or that it ran something without counting it (the inner `None`). The outer `None`: it did not run.
pub(super) type RunnerCounts = Option<Option<TestCounts>>;

pub(super) const NONE: TestCounts = TestCounts {
    ran: 0,
    failed: 0,
    skipped: 0,
};

/// A regular expression that is compiled once, for the whole life of the program.
macro_rules! pattern {
    ($text:expr) => {{
        static PATTERN: watchdog_facts::patterns::FixedPattern =
            watchdog_facts::patterns::FixedPattern::new($text);
        &*PATTERN
    }};
}
pub(super) use pattern;

/// Runners that end with lines of figures: a line that only they print, empty where the figures are one, and the lines with figures.
const CLOSING_LINES: &[(&str, &str)] = &[
    // nextest
    (
        "",
        r"\s*Summary \[\s*[\d.]+s\]\s+\d+(?:/\d+)? tests? run: .*",
    ),
    // pytest
    (
        "",
        r"[= ]*(?:\d+ (?:failed|passed|skipped|deselected|xfailed|xpassed|warnings?|errors?|rerun|subtests passed)(?:, )?)+ in \d[\d.]*s(?: \([\d:]+\))?[= ]*",
    ),
    // unittest
    (
        r"Ran \d+ tests? in [\d.]+s",
        r"Ran \d+ tests? in .*|(?:OK|FAILED) \((?:[a-z ]+=\d+(?:, )?)+\)",
    ),
    // Jest
    (
        "",
        r"Tests:\s+(?:\d+ (?:failed|skipped|todo|passed), )*\d+ total",
    ),
    // Vitest
    (
        "",
        r"\s*Tests  \d+ (?:failed|passed|skipped|todo|expected fail).*\(\d+\)",
    ),
    // Mocha, and Cypress with it
    (
        r"  \d+ passing \([\dhms. ]+\)",
        r"  \d+ (?:passing \(.*|pending|failing)",
    ),
    // node --test
    (
        r"(?:#|ℹ) cancelled \d+",
        r"(?:#|ℹ) (?:pass|fail|cancelled|skipped|todo) \d+",
    ),
    // AVA
    (
        "  ─",
        r"  \d+ (?:tests? (?:passed|failed|skipped|todo)|uncaught exceptions?)",
    ),
    // Jasmine
    ("", r"\d+ specs?, \d+ failures?(?:, \d+ pending specs?)?"),
    // uvu
    (r"  Passed:    \d+", r"  Total:     \d+"),
    // RSpec
    (
        "",
        r"\d+ examples?, \d+ failures?(?:, \d+ pending)?(?:, \d+ errors? occurred outside of examples)?",
    ),
    // Surefire: a line per class has its time, the one per module has not.
    (
        "",
        r"(?:\[\w+\]\s*)?Tests run: \d+, Failures: \d+, Errors: \d+, Skipped: \d+\s*",
    ),
    // Gradle, where tests fail, or by a plugin
    (
        "",
        r"\d+ tests? completed, \d+ failed(?:, \d+ skipped)?|(?:SUCCESS|FAILURE): Executed \d+ tests? in .*",
    ),
    // dotnet test, by version and logger
    (
        "",
        r"\s*\w+!\s+- Failed:\s*\d+, Passed:\s*\d+, Skipped:\s*\d+, Total:\s*\d+.*",
    ),
    ("", r"\s*Test summary: total: \d+, failed: \d+, .*"),
    (
        r"Total tests: \d+",
        r"Total tests: \d+| +(?:Failed|Skipped): \d+",
    ),
    // Deno
    ("", r"(?:ok|FAILED) \| \d+ passed.*"),
    // Bun
    (
        r"Ran \d+ tests? across \d+ files?\..*",
        " \\d+ (?:pass|fail|skip|todo)",
    ),
    // Playwright
    (
        r"Running \d+ tests? using \d+ workers?",
        r"  \d+ (?:passed|failed|flaky|skipped|did not run)(?: \(.*\))?",
    ),
    // PHPUnit
    (
        "",
        r"OK \(\d+ tests?, \d+ assertions?\)|Tests: \d+, Assertions: \d+.*\.",
    ),
    // Pest, and `artisan test` with it
    ("", r"\s+Tests:\s+(?:\d+ \w+, )*\d+ \w+ \(\d+ assertions?\)"),
    // minitest and test-unit
    (
        "",
        r"\d+ (?:runs|tests), \d+ assertions, \d+ failures, \d+ errors, \d+ (?:skips|pendings).*",
    ),
    // ExUnit, and Bats where it is pretty
    (
        "",
        r"(?:\d+ doctests?, |\d+ (?:property|properties), )*\d+ tests?, \d+ failures?(?:, \d+ (?:excluded|invalid|skipped))*(?: \(\d+ excluded\))?",
    ),
];

/// Lines of a program that ran nothing.
const NOTHING_RAN: &[&str] = &[
    // pytest, Jest, Vitest, Mocha, tap
    r"[= ]*no tests ran in [\d.]+s[= ]*",
    r"No tests found, exiting with code \d+",
    r"No tests found related to files changed since .*",
    r"\s*Tests  no tests",
    r"(?:Error: )?No test files found\b.*",
    // ctest, Surefire, dotnet
    r"No tests were found!!!",
    r"(?:\[\w+\]\s*)?(?:No tests to run|There are no tests to run|Tests are skipped)\.?\s*",
    r"No test (?:is available in |matches the given testcase filter).*",
    // Deno, Bun, Playwright, PHPUnit, Pest, ExUnit, SwiftPM, Ginkgo
    r"error: No test modules found",
    r"No tests found!",
    r"Error: No tests found",
    r"No tests executed!",
    r"\s*INFO\s+No tests found\.?",
    r"All tests have been excluded\.?",
    r".*No matching test cases were run.*",
    r"Ran 0 of \d+ Specs in .*",
    // Turborepo, Nx, pnpm, moon, Rush, Nox, AVA, Cypress
    r"\s*(?:WARNING\s+)?No tasks were executed as part of this run.*",
    r"\s*Tasks:\s+0 successful, 0 total",
    r"\s*(?:>\s+)?NX\s+No (?:tasks|projects)\b.*\brun\b.*",
    r#"\s*None of the (?:selected )?packages has a "?test.*"#,
    r"\s*No projects (?:matched the filters|found in ).*",
    r"\W*No tasks (?:found|affected by changed files)\. Unable to execute action pipeline\.",
    r"The command line selection parameters did not match any projects\.",
    r"nox > No sessions (?:found|selected).*",
    r"\s*[✖✘×] Couldn['’]t find any files to test",
    r"Can't run because no spec files were found\.",
];

/// Lines of further programs, whose figures are not read: they ran nothing where no other line counts something.
const IDLE: &[&str] = &[
    r#"task: Task "[^"]*(?:test|check|spec)[^"]*" is up to date"#,
    r"lerna (?:info|success run) No packages found with the lifecycle script '?test",
    r"\[info\] No tests (?:to run for |were executed)",
    r"Ran 0 tests containing 0 assertions",
    r"(?:INFO: )?No test targets were found",
    r"No tests ran\.?$",
    r"Files=\d+, Tests=0,",
    r".*Executed 0 of 0 SUCCESS",
    r"0 successes / 0 failures",
    r"0 scenarios(?: passed, 0 failed.*)?$",
    r"0 tests, 0 passed, 0 failed",
    r"All 0 tests passed",
    r"\[  PASSED  \] 0 tests\.",
    r"No specs found",
    r#""?Error: no test specified"#,
];

/// Programs that end each of their parts with a line: the line, and that of a part which ran nothing.
const PARTS: &[(&str, &str)] = &[
    // tox 4 adds the time of its commands where an environment has some.
    (
        r"\s+\S+: (?:OK|SKIP|FAIL)\b.*|SKIPPED:\s+\S+: .*",
        r"SKIPPED:.*|.*: SKIP\b.*|.*: OK \([\d.]+ seconds\)",
    ),
    (
        r"nox > Session \S+ (?:was|skipped|failed|aborted)\b.*",
        r".* skipped\b.*",
    ),
    // moon
    (r"▮▮▮▮ \S+:\S+ \(.*", r".*\(no op\b.*"),
    // Rush
    (r"==\[ [A-Z ]+: \d+ operations? \]=+", r"==\[ NO OP: .*"),
];

/// A pattern of whole lines, of any of these forms.
fn line_pattern(forms: &[&str]) -> Regex {
    Regex::new(&format!("^(?:{})$", forms.join("|"))).expect("it is tested")
}

/// All tables, compiled.
struct Tables {
    closing: Vec<(Option<Regex>, Regex)>,
    nothing_ran: Regex,
    idle: Regex,
    parts: Vec<(Regex, Regex)>,
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| Tables {
    closing: (CLOSING_LINES.iter())
        .map(|(sign, figures)| {
            let sign = (!sign.is_empty()).then(|| line_pattern(&[sign]));
            (sign, line_pattern(&[figures]))
        })
        .collect(),
    nothing_ran: line_pattern(NOTHING_RAN),
    idle: Regex::new(&format!(r"^\s*(?:{})", IDLE.join("|"))).expect("it is tested"),
    parts: (PARTS.iter())
        .map(|(part, idle)| (line_pattern(&[part]), line_pattern(&[idle])))
        .collect(),
});

/// Both figures together.
pub(super) fn sum_test_counts(a: TestCounts, b: TestCounts) -> TestCounts {
    TestCounts {
        ran: a.ran.saturating_add(b.ran),
        failed: a.failed.saturating_add(b.failed),
        skipped: a.skipped.saturating_add(b.skipped),
    }
}

/// The figures of all runs in these lines.
pub(super) fn sum_runs(lines: &[&str]) -> RunnerCounts {
    let has_line = |pattern: &Regex| lines.iter().any(|line| pattern.is_match(line));
    let closing = TABLES.closing.iter().filter_map(|(sign, figures)| {
        let mut shown = lines
            .iter()
            .filter(|line| figures.is_match(line))
            .peekable();
        let is_there = sign
            .as_ref()
            .map_or_else(|| shown.peek().is_some(), has_line);
        is_there.then(|| Some(read_figures(&shown.copied().collect::<Vec<_>>().join(", "))))
    });
    let is_idle_part = |(part, idle): &(Regex, Regex)| {
        let mut parts = lines.iter().filter(|line| part.is_match(line)).peekable();
        parts.peek().is_some() && parts.all(|line| idle.is_match(line))
    };
    let counts = pattern!(
        r"(?i)\b[1-9]\d* (?:\w+ )?(?:tests?|pass\w*|scenarios|examples|specs?|successe?s?)\b|\b(?:all tests passed|total [1-9]|executed [1-9]|tests=[1-9])"
    );
    let ran_nothing = has_line(&TABLES.nothing_ran)
        || TABLES.parts.iter().any(is_idle_part)
        || has_line(&TABLES.idle) && !has_line(counts);
    let readings = closing
        .chain(READERS.iter().filter_map(|read| read(lines)))
        .chain(ran_nothing.then_some(Some(NONE)));
    readings.reduce(|all, next| Some(sum_test_counts(all?, next?)))
}

/// The figures beside the words that runners have for them: `3 passed`, `Failures: 1`, `skipped=2`. A total counts the skipped ones, too.
pub(super) fn read_figures(text: &str) -> TestCounts {
    let pairs = pattern!(
        r"\d+ tests? run\b|((?:expected |unexpected )?[A-Za-z]+)[:= ] *(\d+)(?:[,.;)]|$)|(\(?)(\d+) (?:tests? (passed|failed|skipped|todo)\b|([a-z]+))"
    );
    let (mut total, mut passed, mut counts, mut excluded) = (None, 0_u64, NONE, 0_u64);
    for groups in pairs.captures_iter(text) {
        let word = [1, 5, 6].into_iter().find_map(|group| groups.get(group));
        let number = groups.get(2).or(groups.get(4));
        let (Some(word), Some(number)) = (word, number) else {
            continue;
        };
        let number = number.as_str().parse().unwrap_or(0);
        let in_parentheses = groups.get(3).is_some_and(|sign| !sign.is_empty());
        let sum = match word.as_str().to_ascii_lowercase().as_str() {
            "test" | "tests" | "run" | "runs" | "example" | "examples" | "spec" | "specs"
            | "doctest" | "doctests" | "property" | "properties" | "total" | "of" => {
                total.get_or_insert(0)
            }
            "warning" | "warnings" if !text.contains("assertion") => continue,
            "pass" | "passed" | "passing" | "succeeded" | "xfailed" | "xpassed" | "expected"
            | "flaky" | "measured" | "risky" | "deprecated" | "notice" | "warning" | "warnings"
                if !in_parentheses =>
            {
                &mut passed
            }
            "fail" | "failed" | "failing" | "failure" | "failures" | "error" | "errors"
            | "invalid" | "timed" | "exec" | "cancelled" | "uncaught" => &mut counts.failed,
            "excluded" if in_parentheses => &mut excluded,
            "skip" | "skips" | "skipped" | "ignored" | "pending" | "pendings" | "todo"
            | "todos" | "incomplete" | "excluded" | "omissions" | "did" => &mut counts.skipped,
            _ => continue,
        };
        *sum = sum.saturating_add(number);
    }
    let ran = total.map_or(passed.saturating_add(counts.failed), |total| {
        total.saturating_sub(counts.skipped)
    });
    let skipped = counts.skipped.saturating_add(excluded);
    TestCounts {
        ran,
        skipped,
        ..counts
    }
}
