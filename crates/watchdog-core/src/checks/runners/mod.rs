//! The test runners that are known, as one table, and their output: how many tests ran, failed and were skipped, and which.
//!
//! Pure: text in, figures out. Only the runner's own summary at a run's end counts. Several runs in one output (a workspace, two
//! commands) add up.

mod command_line;
mod counts;
mod failing;
mod gate_part;
mod junit;
mod more_counts;
mod output;
#[cfg(test)]
mod samples;
mod table;
mod whole;

pub use command_line::named_runner;
pub(super) use command_line::{
    list_all_test_globs, list_runners, list_test_globs, runs_examples, runs_no_test,
};
pub use gate_part::GateFilePart;
pub use junit::MAX_REPORT_BYTES;
pub(super) use junit::counts_in_report;
pub(super) use output::{TestRun, read_reports};
pub(super) use table::{RUNNER_TABLE, RunnerGroup, TestFile, TestForm};
pub(super) use whole::find_unnamed_failure;
