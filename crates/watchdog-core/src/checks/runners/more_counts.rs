//! The figures of runners whose closing lines depend on other lines.

use serde_json::Value;

use watchdog_facts::evidence::TestCounts;

use super::counts::{NONE, RunnerCounts, pattern, read_figures, sum_test_counts};

/// The runners of this file.
pub(super) const READERS: &[fn(&[&str]) -> RunnerCounts] = &[
    count_cargo_tests,
    count_go_tests,
    count_gradle_tasks,
    count_ctest_tests,
    count_swift_tests,
    count_tap_points,
    count_make_targets,
];

/// `cargo test`: each program announces how many tests it has, and ends with its result. Output of
/// tests in between is not the result.
fn count_cargo_tests(lines: &[&str]) -> RunnerCounts {
    let (mut all, mut last, mut begun) = (None, None, false);
    let add = |all: Option<TestCounts>, last: Option<TestCounts>| match (all, last) {
        (Some(all), Some(last)) => Some(sum_test_counts(all, last)),
        (all, last) => all.or(last),
    };
    for line in lines {
        if pattern!(r"^running \d+ tests?$").is_match(line) {
            all = add(all, last.take());
            begun = true;
        } else if begun
            && pattern!(r"^test result: \w+\. \d+ passed; \d+ failed; \d+ ignored; \d+ measured; \d+ filtered out").is_match(line)
        {
            last = Some(read_figures(line));
        }
    }
    begun.then(|| add(all, last))
}

/// `go test` counts nothing itself: with `-json` or `-v` each test has an event or a line, without them each package has one.
fn count_go_tests(lines: &[&str]) -> RunnerCounts {
    let events: Vec<Value> = lines
        .iter()
        .filter(|line| line.starts_with("{\"") && line.contains("\"Action\":"))
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    if !events.is_empty() {
        let of_tests = events
            .iter()
            .filter(|event| event["Test"].is_string() && event["Package"].is_string());
        let counts = of_tests
            .filter_map(|event| count_test_result(event["Action"].as_str()?))
            .fold(NONE, sum_test_counts);
        return Some(Some(counts));
    }
    let package = |line: &&&str| pattern!(r"^(?:ok  |FAIL|\?   |---)\t\S+|^FAIL\t").is_match(line);
    let packages: Vec<&&str> = lines.iter().filter(package).collect();
    if packages.is_empty() {
        return None;
    }
    if lines.iter().any(|line| line.starts_with("=== RUN ")) {
        let ended = |line: &&str| {
            count_test_result(
                pattern!(r"^\s*--- (PASS|FAIL|SKIP): \S+ \(")
                    .captures(line)?
                    .get(1)?
                    .as_str(),
            )
        };
        return Some(Some(
            lines.iter().filter_map(ended).fold(NONE, sum_test_counts),
        ));
    }
    let ran_none =
        |line: &&str| line.contains("[no test files]") || line.contains("[no tests to run]");
    Some(packages.iter().all(|line| ran_none(line)).then_some(NONE))
}

/// A test of `go test` that ended so.
fn count_test_result(how: &str) -> Option<TestCounts> {
    match how {
        "pass" | "PASS" => Some(TestCounts { ran: 1, ..NONE }),
        "fail" | "FAIL" => Some(TestCounts {
            ran: 1,
            failed: 1,
            skipped: 0,
        }),
        "skip" | "SKIP" => Some(TestCounts { skipped: 1, ..NONE }),
        _ => None,
    }
}

/// Gradle counts only where tests fail, or where a plugin does; that there was nothing to test it always says.
fn count_gradle_tasks(lines: &[&str]) -> RunnerCounts {
    let task = pattern!(r"^> Task (?::\S+)*:(?:test|test[A-Z]\w*)(?: (.*))?$");
    let tasks = lines.iter().filter_map(|line| task.captures(line));
    let mut tests = tasks
        .filter(|task| !task[0].contains(":testClasses"))
        .peekable();
    tests.peek()?;
    let is_idle = tests.all(|task| {
        let how = task.get(1).map(|how| how.as_str());
        how.is_some_and(|how| ["NO-SOURCE", "SKIPPED"].contains(&how))
    });
    let is_counted = || {
        let counted = pattern!(r"^\d+ tests? completed, |^(?:SUCCESS|FAILURE): Executed \d");
        lines.iter().any(|line| counted.is_match(line))
    };
    Some((is_idle || is_counted()).then_some(NONE))
}

fn count_ctest_tests(lines: &[&str]) -> RunnerCounts {
    let count = |how: &str| {
        let test = pattern!(r"^\s*\d+/\d+ Test\s+#\d+: ");
        let tests = lines.iter().filter(|line| test.is_match(line));
        tests.filter(|line| line.contains(how)).count() as u64
    };
    let closing = pattern!(r"^\d+% tests passed, \d+ tests? failed out of \d+$");
    let closing: Vec<&str> = (lines.iter().copied())
        .filter(|line| closing.is_match(line))
        .collect();
    (!closing.is_empty()).then(|| {
        let run = read_figures(&closing.join(", "));
        let skipped = count("***Skipped");
        Some(TestCounts {
            ran: run.ran.saturating_sub(skipped),
            skipped: skipped + count("***Not Run (Disabled)"),
            ..run
        })
    })
}

/// `XCTest` prints a line per suite, the outermost last; Swift Testing has a line of its own beside it, which counts skipped tests.
fn count_swift_tests(lines: &[&str]) -> RunnerCounts {
    let last = |pattern: &regex::Regex| lines.iter().rev().find(|line| pattern.is_match(line));
    let by_xctest = last(pattern!(
        r"^\s*Executed \d+ tests?, with .*\d+ failures? \("
    ));
    let by_testing = last(pattern!(
        r"^\S+\s+Test run with \d+ tests?\b.* (?:passed|failed) after "
    ))
    .map(|line| {
        let skips = pattern!(r#"^\S+\s+Test (?:\S+\(.*\)|".*") skipped(?:\.|: ".*)$"#);
        let skipped = lines.iter().filter(|line| skips.is_match(line)).count() as u64;
        TestCounts {
            ran: read_figures(line).ran.saturating_sub(skipped),
            failed: u64::from(line.contains(" failed after ")),
            skipped,
        }
    });
    let runs = by_xctest.map(|line| read_figures(line)).into_iter();
    runs.chain(by_testing).reduce(sum_test_counts).map(Some)
}

/// TAP, as Bats, tap, tape, `QUnit` and `prove -v` print it: a point that has points of its own before or below it is a suite.
fn count_tap_points(lines: &[&str]) -> RunnerCounts {
    if lines
        .iter()
        .any(|line| pattern!(r"^# cancelled \d+$").is_match(line))
    {
        return None;
    }
    let (mut counts, mut suite_failed, mut depth) = (NONE, false, 0);
    let (mut plan_of_none, mut has_plan, mut has_points) = (false, false, false);
    for line in lines {
        if let Some(plan) = pattern!(r"^\s*1\.\.(\d+)\b").captures(line) {
            has_plan = true;
            plan_of_none |= &plan[1] == "0";
        } else if line.trim() == "}" {
            depth = line.len() - 1;
        } else if let Some(groups) = pattern!(r"^(\s*)(not )?ok \d+\b(.*)$").captures(line) {
            has_points = true;
            let (indent, failed) = (groups[1].len(), groups.get(2).is_some());
            if pattern!(r"(?i)# *(?:skip|todo)\b").is_match(&groups[3]) && !line.ends_with('{') {
                counts.skipped += 1;
            } else if depth > indent || line.ends_with('{') {
                suite_failed |= failed;
            } else {
                counts.ran += 1;
                counts.failed += u64::from(failed);
            }
            depth = indent;
        }
    }
    counts.failed = counts.failed.max(u64::from(suite_failed));
    (plan_of_none || has_plan && has_points).then_some(Some(counts))
}

/// Make, in any language, where a target of tests has nothing to do and no other line was printed.
fn count_make_targets(lines: &[&str]) -> RunnerCounts {
    // A folder that it enters begins with a slash, a file of an odd time has a dot.
    let idle = pattern!(
        r#"^\S*make(?:\[\d+\])?: [^*]*?['‘`„“"«]\s?[^\s/.'’“”"»]*(?:test|check|spec)[^\s/.'’“”"»]*\s?['’“”"»]"#
    );
    let all_make = (lines.iter())
        .all(|line| line.trim().is_empty() || pattern!(r"^\S*make(?:\[\d+\])?: ").is_match(line));
    (all_make && lines.iter().any(|line| idle.is_match(line))).then_some(Some(NONE))
}
