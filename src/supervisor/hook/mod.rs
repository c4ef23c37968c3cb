//! `watchdog hook …`: answers Claude Code's command hooks. Whatever happens here, the host gets an answer, and in time.

mod answer;
mod begin;
mod finish;
mod judged;
mod scene;
mod tally;

pub use answer::answer_hook;
pub use scene::{HookHost, HookRequest};
