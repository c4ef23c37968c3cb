//! The circuit breaker of a spec in a worktree, as it survives crashes and reboots.

use super::row::RecordType;
use crate::engine::LocalStore;
use crate::error::StoreError;
use watchdog_core::decision::breaker::Breaker;

impl RecordType for Breaker {
    const KIND: &'static str = "breaker";
}

/// The breaker of a spec; a closed one where nothing is recorded.
pub fn read_breaker(
    store: &dyn LocalStore,
    worktree_id: &str,
    spec: &str,
) -> Result<Breaker, StoreError> {
    Ok(Breaker::read_row(store, worktree_id, spec)?.unwrap_or_default())
}

/// Changes the breaker of a spec, atomically with regard to every other process, and returns what `change` returned.
/// `change` may run several times, each time on what is recorded then.
pub fn update_breaker<T>(
    store: &dyn LocalStore,
    worktree_id: &str,
    spec: &str,
    change: impl Fn(&mut Breaker) -> T,
) -> Result<T, StoreError> {
    Breaker::change_row(store, worktree_id, spec, |row| {
        let mut breaker = row.unwrap_or_default();
        let outcome = change(&mut breaker);
        (breaker, outcome)
    })
}

/// Closes the breaker of a spec and clears its count, also where the recorded one cannot be read.
pub fn reset_breaker(
    store: &dyn LocalStore,
    worktree_id: &str,
    spec: &str,
) -> Result<(), StoreError> {
    Breaker::default().write_row(store, worktree_id, spec)
}
