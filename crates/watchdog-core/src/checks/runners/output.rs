//! Reads the output of one command, with any of the known runners.

use watchdog_facts::evidence::TestCounts;

use super::super::answers::{CapturedStream, CommandOutput};
use super::counts::{self, sum_test_counts};
use super::{failing, whole};

/// The report of a known test runner.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in super::super) struct TestRun {
    /// Figures of all runs together; `None` where the runner prints none, or not all of them were kept.
    pub(in super::super) counts: Option<TestCounts>,
    /// The first failed test, with its message.
    pub(in super::super) failure: Option<TestFailure>,
    /// The names of all that failed, sorted.
    pub(in super::super) failing: Vec<String>,
    /// Why these may not be all.
    pub(in super::super) gap: Option<&'static str>,
}

/// A test that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct TestFailure {
    /// As the runner names it.
    pub(in super::super) name: String,
    /// Why, where the runner says it; may be empty.
    pub(in super::super) message: String,
}

/// The reports of known test runners; `None` where none is recognised.
pub(in super::super) fn read_reports(output: &CommandOutput) -> Option<TestRun> {
    let runs: Vec<TestRun> = [&output.stdout, &output.stderr]
        .into_iter()
        .filter_map(parse_test_run)
        .collect();
    runs.into_iter().reduce(|all, next| TestRun {
        counts: match (all.counts, next.counts) {
            (Some(a), Some(b)) => Some(sum_test_counts(a, b)),
            _ => None,
        },
        failure: all.failure.or(next.failure),
        failing: [all.failing, next.failing].concat(),
        gap: all.gap.or(next.gap),
    })
}

fn parse_test_run(captured: &CapturedStream) -> Option<TestRun> {
    let stretches = captured.stretches();
    let text = String::from_utf8_lossy(stretches.last()?);
    let plain = anstream::adapter::strip_str(&text).to_string();
    let lines: Vec<&str> = plain
        .lines()
        .map(|line| line.trim_end_matches('\r'))
        .collect();
    let counted = counts::sum_runs(&lines)?;
    // With a gap in the output, runs may be missing from the sum.
    let counts = if captured.dropped == 0 { counted } else { None };
    let failing = failing::list_failing_tests(&lines);
    Some(TestRun {
        counts,
        failure: failing::find_first_failure(&lines),
        gap: whole::find_gap(&lines, &failing),
        failing,
    })
}
