//! `watchdog hook …`: answers agents' command hooks. In every case the host gets an answer, and in time.

mod answer;
mod begin;
mod finish;
mod hold_tally;
mod hook_worktree;
mod judged;
mod removal;
mod turns;

pub use answer::{answer_hook, reply_with_failure};
pub use hook_worktree::{HookHost, HookRequest};
pub use removal::list_removed;
