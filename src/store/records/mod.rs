//! What is kept about worktrees, as typed, versioned rows over any [`Store`](super::Store).
//!
//! The types that callers see are not those on disk: each file has its own disk form with a version, and turns one into the other.

pub mod anchor;
pub mod answer;
pub mod baseline;
pub mod before;
pub mod breaker;
pub mod conversation;
pub mod expiry;
pub mod figures;
pub mod hook_session;
pub mod look;
pub mod looped;
pub mod outbox;
pub mod passed;
pub mod progress;
pub mod refs;
pub mod rescued;
pub mod session;
pub mod task;
pub mod told;
pub mod uncommitted;

mod row;

pub use row::{OfWorktrees, rows_of_worktrees};
