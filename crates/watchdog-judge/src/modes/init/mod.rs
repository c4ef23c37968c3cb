//! `watchdog init`: looks at a project and proposes a first configuration.
//!
//! Reading order: `build_table` (the data: build files with their checks, lists, guarded files,
//! files of other programs), `project_checks` (the lines that fit a worktree, by the files that
//! `project_reader` finds), [`ConfigProposal`] (what is chosen, and the text of the file),
//! `first_run` (its checks, once each).

mod build_table;
mod first_run;
mod project_checks;
mod project_reader;
mod proposal;

pub use first_run::{FirstRun, first_run, list_runnable_commands};
pub use project_checks::{CRON_PATH, is_in_path, propose_config};
pub use proposal::{ConfigProposal, ProposedEntry};
