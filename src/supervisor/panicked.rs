//! A bug that the work on one worktree meets, as the verdict on that worktree alone.

use std::any::Any;

use crate::decision::verdict::{Reason, Verdict};

/// The verdict on a worktree whose look panicked with this.
pub fn verdict_of_panic(panic: &(dyn Any + Send)) -> Verdict {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    let why = format!("watchdog itself failed here, which is a bug: {}", text.unwrap_or("it left no message"));
    Verdict::new(Reason::GitError, why)
}
