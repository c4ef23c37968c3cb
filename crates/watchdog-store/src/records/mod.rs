//! Records about worktrees, as typed, versioned rows over any [`LocalStore`](super::Store).
//!
//! A record is its own disk format: what serde derives on it is what its rows hold. Only a type whose older rows look otherwise has a separate
//! one, and converts by `From`.

pub mod account;
pub mod anchor;
pub mod answer;
pub mod baseline;
pub mod before;
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

pub(crate) use row::VersionedRow;
pub use row::{RecordType, RowsByWorktree};
