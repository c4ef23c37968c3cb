//! `watchdog init`: looks at a project and proposes a first configuration.
//!
//! Reading order: `build_table` (the data: build files and their checks, lists, guarded files, files
//! of other programs), `read_project` (the look at a worktree), [`ConfigProposal`] (the offers, and
//! the file as the configuration's parser reads it), `first_run` (its commands, once each).

mod build_table;
mod first_run;
mod project_checks;
mod project_reader;
mod proposal;

pub use first_run::{FirstRun, first_run, runnable};
pub use project_checks::{CRON_PATH, is_in_path, propose_config};
pub use proposal::{ConfigProposal, ProposedEntry};
