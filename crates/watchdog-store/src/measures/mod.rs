//! Measures several events of one spec together: judgements of sessions told apart from looks,
//! aborts with what came of them, questions, strikes, completions. Pure: the size of batches does
//! not change the sums.
//!
//! [`WorkState`] is what must be known of earlier events to measure the next one; docs/report.md defines each measure.

mod counter_names;
mod gains;
mod recorded_verdict;
mod summary;
#[cfg(test)]
mod tests;
mod work_state;

pub use counter_names::{ABORT_WINDOW, CHECKS, VerdictClass, measure};
pub use gains::{CompletedSpec, MeasureGains};
pub use summary::{AbortCounts, MeasureSummary, Spread};
pub use work_state::WorkState;
