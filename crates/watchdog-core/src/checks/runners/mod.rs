//! Reads the output of test runners: how many tests ran, failed and were skipped, and which failed first.
//!
//! Pure: text in, figures out. Only the runner's own summary at a run's end counts. Several runs in one output (a workspace, two
//! commands) add up.

mod command_line;
mod counts;
mod failing;
mod junit;
mod more_counts;
mod output;
#[cfg(test)]
mod samples;

pub(super) use command_line::{named_runner, runs_no_test};
pub use junit::MAX_REPORT_BYTES;
pub(super) use junit::counts_in_report;
pub(super) use output::{TestRun, read_reports};
