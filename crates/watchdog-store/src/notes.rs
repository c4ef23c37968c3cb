//! Faults of the store that a person must read: each is said once, by the caller that reads it or at the end of the command.

use std::sync::Mutex;
use std::vec::IntoIter;

use watchdog_facts::evidence::Degradation;
use watchdog_facts::warning_code::WarningCode;

use super::engine::{ExpectedRevision, SharedStore, SwapOutcome};
use super::error::StoreError;
use super::key::RowKey;
use watchdog_system::lock_mutex;

/// The notes that this process dropped without reading them.
static UNREAD: Mutex<Vec<Degradation>> = Mutex::new(Vec::new());

/// Notes of a store. Those that are dropped unread wait for [`take_unread_notes`].
#[derive(Debug, Default)]
pub struct StoreNotes(Vec<Degradation>);

impl StoreNotes {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn push(&mut self, note: Degradation) {
        self.0.push(note);
    }
}

impl IntoIterator for StoreNotes {
    type Item = Degradation;
    type IntoIter = IntoIter<Degradation>;

    fn into_iter(mut self) -> IntoIter<Degradation> {
        std::mem::take(&mut self.0).into_iter()
    }
}

impl Drop for StoreNotes {
    fn drop(&mut self) {
        if !self.0.is_empty() {
            lock_mutex(&UNREAD).append(&mut self.0);
        }
    }
}

/// Whether this store meets a note about `subject` for the first time. Only the first caller gets `true`.
///
/// # Errors
/// If the store cannot be written.
pub fn is_first_note(
    store: &dyn SharedStore,
    code: WarningCode,
    subject: &str,
) -> Result<bool, StoreError> {
    let key = RowKey::new("note_shown", &[code.as_str(), subject]);
    let outcome = store.cas(&key, ExpectedRevision::Absent, br#"{"v":1}"#)?;
    Ok(matches!(outcome, SwapOutcome::Ok(_)))
}

/// The notes that no caller read, of all stores that this process closed, each once.
pub fn take_unread_notes() -> Vec<Degradation> {
    std::mem::take(&mut *lock_mutex(&UNREAD))
}
