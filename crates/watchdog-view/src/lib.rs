//! Reports from the records, for people and programs. Only reads records: judges, probes and changes nothing.
//!
//! - [`attention`]: whether a worktree needs a person, why, and what to type.
//! - [`overview`]: the present state, worktree by worktree.
//! - [`git_counts`]: what git shows beside a session that runs.
//! - [`fleet_overview`]: the machines of a fleet, and which of them are silent.
//! - [`same_faults`]: rows that cannot be read for the same reason.
//! - [`figures`]: the figures of a period; [`page`]: the same as a page for a browser.
//! - [`metrics`]: both for Prometheus.
//! - [`explained`]: why a verdict is as it is; [`verdict_choice`]: which one is meant.
//! - [`diff_summary`]: the files that a snapshot changes; [`task_lines`]: tasks by urgency; [`show_failure`]: why something cannot be shown.

pub mod attention;
mod below;
pub mod diff_summary;
pub mod explained;
pub mod figures;
pub mod fleet_overview;
pub mod git_counts;
mod last_judgements;
pub mod metrics;
pub mod overview;
pub mod page;
pub mod same_faults;
pub mod show_failure;
pub mod task_lines;
pub mod verdict_choice;

pub use below::PathFilter;
