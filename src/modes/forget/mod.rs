//! `watchdog forget`: what watchdog left of worktrees, found, then removed.

mod find;
mod leftovers;
mod remove;

pub use find::find_leftovers;
pub use leftovers::{ForgetOrder, KeptKind, LeftoverCount, LeftoverKind, Leftovers};
pub use remove::forget;
