//! Records about worktrees, as typed, versioned rows over any [`LocalStore`](super::Store).
//!
//! A type of this room whose fields are stored unchanged is its own disk format, until there is a second version. Other types, and those of
//! `decision`, have a separate disk type, and their file converts between the two.

pub mod account;
pub mod anchor;
pub mod answer;
pub mod baseline;
pub mod before;
pub mod breaker;
pub mod check_cache;
pub mod conversation;
pub mod copied;
pub mod expiry;
pub mod figures;
pub mod hook_session;
pub mod left_rows;
pub mod looped;
pub mod notice_record;
pub(crate) mod old_rows;
pub mod outbox;
pub mod progress;
pub mod rebuilt;
pub mod refs;
pub mod rescued;
pub mod seen_machines;
pub mod session;
pub mod still_work;
pub mod sweep_cache;
pub mod task;
pub mod uncommitted;
pub mod verdict_parts;

mod row;
#[cfg(test)]
mod row_bytes_tests;

pub use row::{RowsByWorktree, rows_of_worktrees};
