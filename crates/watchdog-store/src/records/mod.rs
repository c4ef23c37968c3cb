//! What is kept about worktrees, as typed, versioned rows over any [`Store`](super::Store).
//!
//! The types that callers see are not those on disk: each file has its own disk form with a version, and turns one into the other.

pub mod anchor;
pub mod answer;
pub mod baseline;
pub mod before;
pub mod breaker;
pub mod check_cache;
pub mod conversation;
pub mod expiry;
pub mod figures;
pub mod hook_session;
pub mod left_rows;
pub mod looped;
pub mod notice_record;
pub mod outbox;
pub mod progress;
pub mod refs;
pub mod rescued;
pub mod session;
pub mod sweep_cache;
pub mod task;
pub mod uncommitted;

mod row;

pub use row::{OfWorktrees, rows_of_worktrees};
