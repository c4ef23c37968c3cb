//! Reports from the records, for people and programs. Judges nothing, asks nobody and changes no record.
//!
//! - [`attention`]: whether a worktree needs a person, why, and what to type.
//! - [`overview`]: the present state, worktree by worktree.
//! - [`git_counts`]: what git shows beside a session that runs.
//! - [`fleet_overview`]: the machines of a fleet, and which of them are silent.
//! - [`same_faults`]: rows that cannot be read for the same reason.
//! - [`figures`]: the figures of a period; [`page`]: the same as a page for a browser.
//! - [`metrics`]: both for Prometheus.
//! - [`explained`]: why a verdict is as it is; [`verdict_choice`]: which one is meant.
//! - [`live`]: the view that stays.
//! - [`amounts`], [`progress_text`], [`wrapped_text`]: ages, figures and lines in words; [`held_back`]: words that wait for the terminal.
//! - [`logs_choice`]: which log is meant; [`log_view`]: a session's events as lines; [`event_order`]: events as a person reads them.
//! - [`diff_summary`]: the files that a snapshot changes; [`task_lines`]: tasks by urgency; [`show_failure`]: why something cannot be shown.

pub mod amounts;
pub mod attention;
mod below;
pub mod diff_summary;
pub mod event_order;
pub mod explained;
pub mod figures;
pub mod fleet_overview;
pub mod git_counts;
pub mod held_back;
mod last_judgements;
pub mod live;
pub mod log_view;
pub mod logs_choice;
pub mod metrics;
pub mod overview;
pub mod page;
pub mod progress_text;
pub mod same_faults;
pub mod show_failure;
pub mod task_lines;
pub mod verdict_choice;
pub mod wrapped_text;

pub use below::PathFilter;
