//! The figures of a run, by runner.

use regex::Captures;
use serde_json::Value;

use watchdog_facts::evidence::TestCounts;

/// The report of one runner: figures, or that it ran something without counting it (the inner `None`). The outer `None`: it did not run.
pub(super) type RunnerCounts = Option<Option<TestCounts>>;

pub(super) const NONE: TestCounts = TestCounts {
    ran: 0,
    failed: 0,
    skipped: 0,
};

/// Every runner that is known.
const RUNNERS: &[fn(&[&str]) -> RunnerCounts] = &[
    count_cargo_tests,
    count_nextest_tests,
    count_pytest_tests,
    count_unittest_tests,
    count_go_tests,
    count_jest_tests,
    count_vitest_tests,
    count_mocha_tests,
    count_node_tests,
    count_rspec_tests,
    count_surefire_tests,
    count_gradle_tests,
    count_ctest_tests,
    count_dotnet_tests,
];

/// Both figures together.
pub(super) fn sum_test_counts(a: TestCounts, b: TestCounts) -> TestCounts {
    TestCounts {
        ran: a.ran.saturating_add(b.ran),
        failed: a.failed.saturating_add(b.failed),
        skipped: a.skipped.saturating_add(b.skipped),
    }
}

/// The figures of all runs in these lines, by the runners here and `more` of them.
pub(super) fn sum_runs(lines: &[&str], more: &[fn(&[&str]) -> RunnerCounts]) -> RunnerCounts {
    let readings: Vec<Option<TestCounts>> = (RUNNERS.iter().chain(more))
        .filter_map(|runner| runner(lines))
        .collect();
    let is_recognised = !readings.is_empty();
    is_recognised.then(|| {
        readings
            .into_iter()
            .try_fold(NONE, |all, next| Some(sum_test_counts(all, next?)))
    })
}

/// A regular expression that is compiled once, for the whole life of the program.
macro_rules! pattern {
    ($text:expr) => {{
        static PATTERN: std::sync::LazyLock<regex::Regex> =
            std::sync::LazyLock::new(|| regex::Regex::new($text).expect("it is tested"));
        &*PATTERN
    }};
}
pub(super) use pattern;

/// The number in a group; zero where it is missing or no number of ours.
pub(super) fn number_of_group(groups: &Captures<'_>, group: usize) -> u64 {
    groups
        .get(group)
        .and_then(|text| text.as_str().parse().ok())
        .unwrap_or(0)
}

/// The number right before a word, as in `3 passed`; zero where there is none.
pub(super) fn read_before(line: &str, word: &str) -> u64 {
    let words: Vec<&str> = line
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    words
        .windows(2)
        .find(|pair| pair[1] == word)
        .and_then(|pair| pair[0].parse().ok())
        .unwrap_or(0)
}

/// The number after a word and a sign, as in `skipped=3`; zero where there is none.
pub(super) fn read_number_after(line: &str, word: &str) -> u64 {
    let after_word = line
        .split_once(word)
        .map_or("", |(_, after)| after)
        .trim_start_matches([':', '=', ' ']);
    after_word
        .split(|c: char| !c.is_ascii_digit())
        .next()
        .and_then(|digits| digits.parse().ok())
        .unwrap_or(0)
}

/// The sum over the lines that a runner ends its runs with.
pub(super) fn sum_line_counts(
    lines: &[&str],
    read: impl Fn(&str) -> Option<TestCounts>,
) -> RunnerCounts {
    lines
        .iter()
        .filter_map(|line| read(line))
        .reduce(sum_test_counts)
        .map(Some)
}

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
            && let Some(groups) =
                pattern!(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored; (\d+) measured; \d+ filtered out").captures(line)
        {
            let (passed, failed, ignored, measured) = (number_of_group(&groups, 1), number_of_group(&groups, 2), number_of_group(&groups, 3), number_of_group(&groups, 4));
            last = Some(TestCounts { ran: passed + failed + measured, failed, skipped: ignored });
        }
    }
    begun.then(|| add(all, last))
}

fn count_nextest_tests(lines: &[&str]) -> RunnerCounts {
    sum_line_counts(lines, |line| {
        let summary_groups =
            pattern!(r"^\s*Summary \[\s*[\d.]+s\]\s+(\d+)(?:/\d+)? tests? run: (.*)$")
                .captures(line)?;
        let figures = summary_groups.get(2)?.as_str();
        let failed = read_before(figures, "failed")
            + pattern!(r"(\d+) timed out")
                .captures(figures)
                .map_or(0, |groups| number_of_group(&groups, 1));
        Some(TestCounts {
            ran: number_of_group(&summary_groups, 1),
            failed,
            skipped: read_before(figures, "skipped"),
        })
    })
}

fn count_pytest_tests(lines: &[&str]) -> RunnerCounts {
    sum_line_counts(lines, |line| {
        let line = line.trim_matches(['=', ' ']);
        let (figures, _) = line
            .rsplit_once(" in ")
            .filter(|(_, time)| pattern!(r"^\d[\d.]*s(?: \([\d:]+\))?$").is_match(time))?;
        if figures == "no tests ran" {
            return Some(NONE);
        }
        let figure_pattern = pattern!(
            r"^\d+ (?:failed|passed|skipped|deselected|xfailed|xpassed|warnings?|errors?|rerun|subtests passed)$"
        );
        if !figures
            .split(", ")
            .all(|figure| figure_pattern.is_match(figure))
        {
            return None;
        }
        let failed = read_before(figures, "failed")
            + read_before(figures, "error")
            + read_before(figures, "errors");
        let ran = failed
            + read_before(figures, "passed")
            + read_before(figures, "xfailed")
            + read_before(figures, "xpassed");
        Some(TestCounts {
            ran,
            failed,
            skipped: read_before(figures, "skipped"),
        })
    })
}

/// `unittest` counts the skipped ones among those that it ran.
fn count_unittest_tests(lines: &[&str]) -> RunnerCounts {
    let runs = lines.iter().enumerate().filter_map(|(n, line)| {
        let ran = number_of_group(
            &pattern!(r"^Ran (\d+) tests? in [\d.]+s$").captures(line)?,
            1,
        );
        let result = lines[n + 1..].iter().find(|line| !line.trim().is_empty())?;
        if !["OK", "FAILED", "NO TESTS RAN"]
            .iter()
            .any(|word| result.starts_with(word))
        {
            return None;
        }
        let skipped = read_number_after(result, "skipped");
        let failed = read_number_after(result, "failures") + read_number_after(result, "errors");
        Some(TestCounts {
            ran: ran.saturating_sub(skipped),
            failed,
            skipped,
        })
    });
    runs.reduce(sum_test_counts).map(Some)
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

fn count_jest_tests(lines: &[&str]) -> RunnerCounts {
    sum_line_counts(lines, |line| {
        if line.starts_with("No tests found, exiting with code") {
            return Some(NONE);
        }
        let figures = pattern!(r"^Tests:\s+((?:\d+ (?:failed|skipped|todo|passed), )*\d+ total)$")
            .captures(line)?
            .get(1)?
            .as_str();
        let failed = read_before(figures, "failed");
        Some(TestCounts {
            ran: failed + read_before(figures, "passed"),
            failed,
            skipped: read_before(figures, "skipped") + read_before(figures, "todo"),
        })
    })
}

fn count_vitest_tests(lines: &[&str]) -> RunnerCounts {
    sum_line_counts(lines, |line| {
        if line.starts_with("No test files found, exiting with code") {
            return Some(NONE);
        }
        let figures = pattern!(
            r"^\s*Tests  (no tests|\d+ (?:failed|passed|skipped|todo|expected fail).*\(\d+\))$"
        )
        .captures(line)?
        .get(1)?;
        let figures = figures.as_str();
        let failed = read_before(figures, "failed");
        let ran = failed + read_before(figures, "passed") + read_before(figures, "expected");
        Some(TestCounts {
            ran,
            failed,
            skipped: read_before(figures, "skipped") + read_before(figures, "todo"),
        })
    })
}

/// Mocha prints the passed tests first, then the pending and the failed ones.
fn count_mocha_tests(lines: &[&str]) -> RunnerCounts {
    let mut all: Option<TestCounts> = None;
    for line in lines {
        if let Some(groups) = pattern!(r"^  (\d+) passing \([\dhms. ]+\)$").captures(line) {
            all = Some(sum_test_counts(
                all.unwrap_or(NONE),
                TestCounts {
                    ran: number_of_group(&groups, 1),
                    ..NONE
                },
            ));
        } else if let Some(all) = &mut all
            && let Some(groups) = pattern!(r"^  (\d+) (pending|failing)$").captures(line)
        {
            let count = number_of_group(&groups, 1);
            let more = match &groups[2] {
                "failing" => TestCounts {
                    ran: count,
                    failed: count,
                    skipped: 0,
                },
                _ => TestCounts {
                    skipped: count,
                    ..NONE
                },
            };
            *all = sum_test_counts(*all, more);
        }
    }
    all.map(Some)
}

/// `node --test` ends with one figure per line.
fn count_node_tests(lines: &[&str]) -> RunnerCounts {
    let figure = |line: &&str| {
        let groups =
            pattern!(r"^(?:#|ℹ) (tests|pass|fail|cancelled|skipped|todo) (\d+)$").captures(line)?;
        Some((groups[1].to_owned(), number_of_group(&groups, 2)))
    };
    let figures: Vec<(String, u64)> = lines.iter().filter_map(figure).collect();
    figures.iter().any(|(what, _)| what == "tests").then(|| {
        let counts = figures.iter().map(|(what, count)| match what.as_str() {
            "pass" => TestCounts {
                ran: *count,
                ..NONE
            },
            "fail" | "cancelled" => TestCounts {
                ran: *count,
                failed: *count,
                skipped: 0,
            },
            "skipped" | "todo" => TestCounts {
                skipped: *count,
                ..NONE
            },
            _ => NONE,
        });
        Some(counts.fold(NONE, sum_test_counts))
    })
}

fn count_rspec_tests(lines: &[&str]) -> RunnerCounts {
    sum_line_counts(lines, |line| {
        let pattern = pattern!(
            r"^(\d+) examples?, (\d+) failures?(?:, (\d+) pending)?(?:, (\d+) errors? occurred outside of examples)?$"
        );
        let groups = pattern.captures(line)?;
        let (examples, pending) = (number_of_group(&groups, 1), number_of_group(&groups, 3));
        let failed = number_of_group(&groups, 2) + number_of_group(&groups, 4);
        Some(TestCounts {
            ran: examples.saturating_sub(pending),
            failed,
            skipped: pending,
        })
    })
}

/// Surefire prints a line per class, with its time, and one per module without.
fn count_surefire_tests(lines: &[&str]) -> RunnerCounts {
    sum_line_counts(lines, |line| {
        let line = pattern!(r"^\[\w+\]\s*").replace(line, "");
        if [
            "No tests to run.",
            "There are no tests to run.",
            "Tests are skipped.",
        ]
        .contains(&line.trim())
        {
            return Some(NONE);
        }
        let groups =
            pattern!(r"^Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+)$")
                .captures(line.trim_end())?;
        let skipped = number_of_group(&groups, 4);
        Some(TestCounts {
            ran: number_of_group(&groups, 1).saturating_sub(skipped),
            failed: number_of_group(&groups, 2) + number_of_group(&groups, 3),
            skipped,
        })
    })
}

/// Gradle counts only where tests fail, or where a plugin does; that there was nothing to test it always says.
fn count_gradle_tests(lines: &[&str]) -> RunnerCounts {
    let counted = sum_line_counts(lines, |line| {
        if let Some(groups) =
            pattern!(r"^(\d+) tests? completed, (\d+) failed(?:, (\d+) skipped)?$").captures(line)
        {
            let skipped = number_of_group(&groups, 3);
            return Some(TestCounts {
                ran: number_of_group(&groups, 1).saturating_sub(skipped),
                failed: number_of_group(&groups, 2),
                skipped,
            });
        }
        let groups = pattern!(r"^(?:SUCCESS|FAILURE): Executed (\d+) tests? in [^(]*(\(.*\))?$")
            .captures(line)?;
        let details = groups.get(2).map_or("", |group| group.as_str());
        let skipped = read_before(details, "skipped");
        Some(TestCounts {
            ran: number_of_group(&groups, 1).saturating_sub(skipped),
            failed: read_before(details, "failed"),
            skipped,
        })
    });
    let tasks = || {
        lines.iter().filter_map(|line| {
            pattern!(r"^> Task (?::\S+)*:(test[A-Z]\w*|test)(?: (.*))?$").captures(line)
        })
    };
    let mut tests = tasks().filter(|task| &task[1] != "testClasses").peekable();
    tests.peek()?;
    counted.or_else(|| {
        Some(
            tests
                .all(|task| task.get(2).is_some_and(|how| how.as_str() == "NO-SOURCE"))
                .then_some(NONE),
        )
    })
}

fn count_ctest_tests(lines: &[&str]) -> RunnerCounts {
    let skipped = lines
        .iter()
        .filter(|line| pattern!(r"^\s*\d+/\d+ Test\s+#\d+: .*\*\*\*Skipped").is_match(line))
        .count() as u64;
    let disabled = lines
        .iter()
        .filter(|line| {
            pattern!(r"^\s*\d+/\d+ Test\s+#\d+: .*\*\*\*Not Run \(Disabled\)").is_match(line)
        })
        .count();
    let run = sum_line_counts(lines, |line| {
        if *line == *"No tests were found!!!" {
            return Some(NONE);
        }
        let groups =
            pattern!(r"^\d+% tests passed, (\d+) tests? failed out of (\d+)$").captures(line)?;
        Some(TestCounts {
            ran: number_of_group(&groups, 2),
            failed: number_of_group(&groups, 1),
            skipped: 0,
        })
    })?;
    run.map(|run| {
        Some(TestCounts {
            ran: run.ran.saturating_sub(skipped),
            skipped: skipped + disabled as u64,
            ..run
        })
    })
}

/// `dotnet test` has three ways to say it, by its version and logger.
fn count_dotnet_tests(lines: &[&str]) -> RunnerCounts {
    let by_project = sum_line_counts(lines, |line| {
        if line.starts_with("No test is available in ")
            || line.starts_with("No test matches the given testcase filter")
        {
            return Some(NONE);
        }
        let groups = pattern!(
            r"^\s*\w+!\s+- Failed:\s*(\d+), Passed:\s*(\d+), Skipped:\s*(\d+), Total:\s*\d+"
        )
        .captures(line)?;
        let failed = number_of_group(&groups, 1);
        Some(TestCounts {
            ran: failed + number_of_group(&groups, 2),
            failed,
            skipped: number_of_group(&groups, 3),
        })
    });
    let summary = || {
        sum_line_counts(lines, |line| {
            let groups = pattern!(
                r"^\s*Test summary: total: (\d+), failed: (\d+), succeeded: (\d+), skipped: (\d+)"
            )
            .captures(line)?;
            Some(TestCounts {
                ran: number_of_group(&groups, 2) + number_of_group(&groups, 3),
                failed: number_of_group(&groups, 2),
                skipped: number_of_group(&groups, 4),
            })
        })
    };
    let old = || {
        let begins = lines
            .iter()
            .rposition(|line| pattern!(r"^Total tests: \d+").is_match(line))?;
        let figure = |what: &str| {
            lines[begins..]
                .iter()
                .take(5)
                .find(|line| line.trim_start().starts_with(what))
                .map_or(0, |l| read_number_after(l, what))
        };
        let failed = figure("Failed");
        Some(Some(TestCounts {
            ran: failed + figure("Passed"),
            failed,
            skipped: figure("Skipped"),
        }))
    };
    by_project.or_else(summary).or_else(old)
}
