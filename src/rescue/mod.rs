//! Uncommitted work into commits: snapshot, commit by mode, proof that nothing was lost.
//!
//! The snapshot is taken by [`crate::git::Worktree::take_snapshot`] before a rescue is asked for; a rescue cannot
//! be asked for without one. What is left out of a commit stays in the work tree and in the snapshot.

mod carry_out;
mod choice;
mod elsewhere;

mod fixed;
mod grouping;
mod half_made;
mod index_lock;
mod index_mending;
mod keep_apart;
mod linked_worktree;
mod message;
mod outlast;
mod own_commits;
mod plan;
mod plan_diff;
mod preview;
mod secrets;
mod selection;
mod single;
mod smuggled;
mod task_list;
mod tick;
mod user_command;

pub use carry_out::{NO_OTHERS, RescueRequest, rescue, rescue_asking};
pub use grouping::{AskPlanner, NoPlan};
pub use keep_apart::private_rule;
pub use linked_worktree::{RestoreIntoError, restore_into_worktree};
pub use preview::{RescuePreview, preview};
pub use secrets::looks_secret;
