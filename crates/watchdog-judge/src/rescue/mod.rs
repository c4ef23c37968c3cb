//! Turns uncommitted work into commits: snapshot, commits by mode, proof that nothing was lost.
//!
//! A rescue needs a snapshot, which [`watchdog_git::Worktree::take_snapshot`] takes first.
//! Files that are left out of a commit stay in the work tree and in the snapshot.

mod carry_out;
mod choice;
mod copied_secrets;
mod fallback_branch;

mod checkboxes;
mod fixed;
mod grouping;
mod half_made;
mod index_lock;
mod index_mending;
mod linked_worktree;
mod message;
mod own_commits;
mod plan;
mod plan_diff;
mod preview;
mod private_rule;
mod request;
mod retry;
#[cfg(test)]
mod scratch_work;
mod secrets;
mod selection;
mod single;
mod smuggled;
mod task_list;
mod user_command;

pub use carry_out::rescue_snapshot;
pub use grouping::{PlanError, PlanSource};
pub use index_lock::lock_owner;
#[doc(hidden)]
pub use plan::{PlannedCommit, check_plan};
#[doc(hidden)]
pub use task_list::{UncheckedBox, open_tasks};

pub use linked_worktree::{RestoreIntoError, restore_into_worktree};
pub use preview::{RescuePreview, preview_rescue};
pub use private_rule::{BEFORE_REMOVAL, BEFORE_SESSION, private_rule, take_snapshot};
pub use request::{NO_OTHERS, RescueRequest};
pub use secrets::looks_secret;
pub(crate) use selection::PathPatterns;
