//! The figures of further runners, and of programs that start others and say in their own words that they started none.

use watchdog_facts::evidence::TestCounts;

use super::counts::{
    NONE, RunnerCounts, number_of_group, pattern, read_before, read_number_after, sum_line_counts,
    sum_test_counts,
};

/// The runners of this file.
pub(super) const MORE: &[fn(&[&str]) -> RunnerCounts] = &[
    count_deno_tests,
    count_bun_tests,
    count_playwright_tests,
    count_phpunit_tests,
    count_pest_tests,
    count_minitest_tests,
    count_exunit_tests,
    count_swift_tests,
    count_starters,
    count_tox_tests,
    count_make_tests,
    count_idle_runs,
];

fn counts_without_skipped(all: u64, failed: u64, skipped: u64) -> TestCounts {
    TestCounts {
        ran: all.saturating_sub(skipped),
        failed,
        skipped,
    }
}

fn count_deno_tests(lines: &[&str]) -> RunnerCounts {
    sum_line_counts(lines, |line| {
        if *line == *"error: No test modules found" {
            return Some(NONE);
        }
        let figures = pattern!(r"^(?:ok|FAILED) \| (\d+ passed.*)$").captures(line)?;
        let (figures, failed) = (&figures[1], read_before(&figures[1], "failed"));
        Some(TestCounts {
            ran: failed + read_before(figures, "passed"),
            failed,
            skipped: read_before(figures, "ignored"),
        })
    })
}

/// Bun prints one figure per line, and then how many tests it ran.
fn count_bun_tests(lines: &[&str]) -> RunnerCounts {
    let runs = lines.iter().enumerate().filter_map(|(n, line)| {
        if *line == "No tests found!" {
            return Some(NONE);
        }
        pattern!(r"^Ran \d+ tests? across \d+ files?\.").captures(line)?;
        let figures = lines[n.saturating_sub(8)..n].iter().rev();
        let figures = figures.take_while(|line| line.starts_with(' ')).copied();
        let figures = figures.collect::<Vec<_>>().join(",");
        let failed = read_before(&figures, "fail");
        Some(TestCounts {
            ran: failed + read_before(&figures, "pass"),
            failed,
            skipped: read_before(&figures, "skip") + read_before(&figures, "todo"),
        })
    });
    runs.reduce(sum_test_counts).map(Some)
}

fn count_playwright_tests(lines: &[&str]) -> RunnerCounts {
    if lines.contains(&"Error: No tests found") {
        return Some(Some(NONE));
    }
    let begins = (lines.iter())
        .position(|line| pattern!(r"^Running \d+ tests? using \d+ workers?").is_match(line))?;
    let figure = pattern!(r"^  \d+ (?:passed|failed|flaky|skipped|did not run)(?: \(.*\))?$");
    let figures = lines[begins..].iter().filter(|line| figure.is_match(line));
    let figures = figures.copied().collect::<Vec<_>>().join(",");
    let failed = read_before(&figures, "failed");
    Some(Some(TestCounts {
        ran: failed + read_before(&figures, "passed") + read_before(&figures, "flaky"),
        failed,
        skipped: read_before(&figures, "skipped") + read_before(&figures, "did"),
    }))
}

fn count_phpunit_tests(lines: &[&str]) -> RunnerCounts {
    sum_line_counts(lines, |line| {
        if *line == *"No tests executed!" {
            return Some(NONE);
        }
        if let Some(groups) = pattern!(r"^OK \((\d+) tests?, \d+ assertions?\)$").captures(line) {
            return Some(counts_without_skipped(number_of_group(&groups, 1), 0, 0));
        }
        let groups = pattern!(r"^Tests: (\d+), Assertions: \d+(.*)\.$").captures(line)?;
        let figure = |word| read_number_after(&groups[2], word);
        let skipped = figure("Skipped") + figure("Incomplete");
        let failed = figure("Errors") + figure("Failures");
        Some(counts_without_skipped(
            number_of_group(&groups, 1),
            failed,
            skipped,
        ))
    })
}

/// Pest, and `artisan test` with it.
fn count_pest_tests(lines: &[&str]) -> RunnerCounts {
    sum_line_counts(lines, |line| {
        if pattern!(r"^\s*INFO\s+No tests found\.?$").is_match(line) {
            return Some(NONE);
        }
        let figures = pattern!(r"^\s+Tests:\s+((?:\d+ \w+, )*\d+ \w+) \(\d+ assertions?\)$")
            .captures(line)?;
        let sum = |words: &[&str]| {
            words
                .iter()
                .map(|word| read_before(&figures[1], word))
                .sum()
        };
        let failed = read_before(&figures[1], "failed");
        let ran: u64 = sum(&[
            "passed",
            "risky",
            "warning",
            "warnings",
            "deprecated",
            "notice",
        ]);
        let skipped = sum(&["skipped", "todo", "todos", "incomplete"]);
        Some(TestCounts {
            ran: failed + ran,
            failed,
            skipped,
        })
    })
}

/// Minitest and test-unit.
fn count_minitest_tests(lines: &[&str]) -> RunnerCounts {
    sum_line_counts(lines, |line| {
        let groups = pattern!(
            r"^(\d+) (?:runs|tests), \d+ assertions, (\d+) failures, (\d+) errors, (\d+) (?:skips|pendings)"
        )
        .captures(line)?;
        let number = |group| number_of_group(&groups, group);
        Some(counts_without_skipped(
            number(1),
            number(2) + number(3),
            number(4),
        ))
    })
}

/// `ExUnit` counts the skipped ones among all, and excluded ones unless it has them in parentheses.
fn count_exunit_tests(lines: &[&str]) -> RunnerCounts {
    sum_line_counts(lines, |line| {
        if ["There are no tests to run", "All tests have been excluded"]
            .contains(&line.trim_end_matches('.'))
        {
            return Some(NONE);
        }
        let figures = pattern!(
            r"^(?:\d+ doctests?, |\d+ (?:property|properties), )*\d+ tests?, \d+ failures?(?:, \d+ (?:excluded|invalid|skipped))*( \(\d+ excluded\))?$"
        );
        figures.captures(line).map(|groups| {
            let excluded = groups.get(1).map_or("", |parentheses| parentheses.as_str());
            let line = line.strip_suffix(excluded).unwrap_or(line);
            let sum = |words: &[&str]| {
                words
                    .iter()
                    .map(|word| read_before(line, word))
                    .sum::<u64>()
            };
            let all = sum(&[
                "doctest",
                "doctests",
                "property",
                "properties",
                "test",
                "tests",
            ]);
            let failed = sum(&["failure", "failures", "invalid"]);
            let counts = counts_without_skipped(all, failed, sum(&["excluded", "skipped"]));
            let skipped = counts.skipped + read_before(excluded, "excluded");
            TestCounts { skipped, ..counts }
        })
    })
}

/// `XCTest` prints a line per suite, the outermost last; Swift Testing has a line of its own beside it.
fn count_swift_tests(lines: &[&str]) -> RunnerCounts {
    let executed = pattern!(
        r"^\s*Executed (\d+) tests?, with (?:(\d+) tests? skipped and )?(\d+) failures? \("
    );
    let outermost = lines.iter().rev().find_map(|line| executed.captures(line));
    let by_xctest = outermost.map(|groups| {
        let number = |group| number_of_group(&groups, group);
        counts_without_skipped(number(1), number(3), number(2))
    });
    let by_testing = lines.iter().rev().find_map(|line| {
        let groups = pattern!(r"^\S+\s+Test run with (\d+) tests?\b.* (passed|failed) after ")
            .captures(line)?;
        let failed = u64::from(&groups[2] == "failed");
        Some(counts_without_skipped(
            number_of_group(&groups, 1),
            failed,
            0,
        ))
    });
    let without = (lines.iter()).any(|line| line.contains("No matching test cases were run"));
    let runs = by_xctest.into_iter().chain(by_testing);
    let runs = runs.reduce(sum_test_counts);
    runs.or(without.then_some(NONE)).map(Some)
}

/// Turborepo, Nx and pnpm, where no package has such a script.
fn count_starters(lines: &[&str]) -> RunnerCounts {
    let words = pattern!(
        r#"^\s*(?:(?:WARNING\s+)?No tasks were executed as part of this run|Tasks:\s+0 successful, 0 total$|(?:>\s+)?NX\s+No (?:tasks|projects)\b.*\brun\b|None of the (?:selected )?packages has a "?test|No projects (?:matched the filters|found in ))"#
    );
    lines
        .iter()
        .any(|line| words.is_match(line))
        .then_some(Some(NONE))
}

/// Tox, where it skipped every environment; what ran in another one has a runner of its own.
fn count_tox_tests(lines: &[&str]) -> RunnerCounts {
    let environment = pattern!(r"^\s+\S+: (OK|SKIP|FAIL)\b|^(SKIPPED):\s+\S+: ");
    let mut states = lines
        .iter()
        .filter_map(|line| environment.captures(line))
        .peekable();
    states.peek()?;
    states
        .all(|groups| groups.get(1).is_none_or(|state| state.as_str() == "SKIP"))
        .then_some(Some(NONE))
}

/// Make, in any language, where a target of tests has nothing to do and no other line was printed.
fn count_make_tests(lines: &[&str]) -> RunnerCounts {
    // A folder that it enters begins with a slash, a file of an odd time has a dot.
    let idle = pattern!(
        r#"^\S*make(?:\[\d+\])?: [^*]*?['‘`„“"«]\s?[^\s/.'’“”"»]*(?:test|check|spec)[^\s/.'’“”"»]*\s?['’“”"»]"#
    );
    let all_make = (lines.iter())
        .all(|line| line.trim().is_empty() || pattern!(r"^\S*make(?:\[\d+\])?: ").is_match(line));
    (all_make && lines.iter().any(|line| idle.is_match(line))).then_some(Some(NONE))
}

/// Further programs, whose figures are not read, where no other line counts something.
fn count_idle_runs(lines: &[&str]) -> RunnerCounts {
    let idle = pattern!(
        r#"^\s*(?:task: Task "[^"]*(?:test|check|spec)[^"]*" is up to date|lerna info No packages found with the lifecycle script '?test|\[info\] No tests to run for |Ran 0 tests containing 0 assertions|(?:INFO: )?No test targets were found|No tests ran\.|Files=0, Tests=0,|✖ Couldn't find any files to test|.*Executed 0 of 0 SUCCESS|0 successes / 0 failures|0 scenarios(?: passed, 0 failed.*)?$|0 tests, 0 passed, 0 failed)"#
    );
    let counts = pattern!(
        r"(?i)\b[1-9]\d* (?:\w+ )?(?:tests?|pass\w*|scenarios|examples|specs?|successe?s?)\b|\b(?:all tests passed|total [1-9]|executed [1-9]|tests=[1-9])"
    );
    let is_idle = lines.iter().any(|line| idle.is_match(line));
    (is_idle && !lines.iter().any(|line| counts.is_match(line))).then_some(Some(NONE))
}
