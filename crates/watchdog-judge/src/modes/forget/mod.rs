//! `watchdog forget`: finds what watchdog left of worktrees, then removes it.

mod find;
mod leftovers;
mod remove;

pub use find::find_leftovers;
pub use leftovers::{ForgetOptions, KeepReason, LeftoverCount, LeftoverKind, Leftovers};
pub use remove::remove_leftovers;
