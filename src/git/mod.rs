//! Only gix. Reads HEAD, history and changes, makes and restores snapshots. Never starts a process.

mod open;

pub use open::{Error, Worktree};
