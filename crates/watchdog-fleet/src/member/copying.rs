//! Copies the journal of this machine to the store of the fleet, in order. The journal itself is the outbox: an event is sent after it was
//! written, as often as it takes, and its id makes a second copy none.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;
use watchdog_store::engine::EventCursor;
use watchdog_store::{
    LocalStore, RecordType, SharedStore, StoreError, baseline::BaselineRecord, copied,
};

use crate::wire::fleet_copy::{CopyOrigin, fleet_copy};

/// How many events of the journal are looked at in one go, and sent in one transaction.
const AT_ONCE: usize = 200;

/// How long the right to copy lasts: longer than the server may take for a batch. A lease that ends
/// too early makes no copy twice and none out of order; it spares two processes the same work.
const LEASE: Duration = Duration::from_secs(20);

/// The machine that copies, and its fleet.
#[derive(Debug, Clone)]
pub struct CopyIdentity {
    /// The fleet's own id: that of its schema on the server.
    pub fleet: String,
    /// This machine's name in it.
    pub machine: String,
}

/// The work of a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CopiedEvents {
    /// Events that the server has now and did not have for us before.
    pub sent: u64,
    /// Events that were deleted for their age before they could be sent; at most so many of them were to be shared.
    pub missed: u64,
    /// Events that were looked at: those that stay on this machine, too.
    pub read: u64,
    /// Another process of this machine copies at the moment: nothing was done.
    pub busy: bool,
}

/// Sends everything that the journal has and the fleet has not, at most `batches` batches. An error of the server leaves everything to the
/// next call.
pub(super) fn copy_events(
    local: &dyn LocalStore,
    shared: &dyn SharedStore,
    identity: &CopyIdentity,
    batches: usize,
) -> Result<CopiedEvents, StoreError> {
    if !copied::is_due(local, &identity.fleet)? {
        return Ok(CopiedEvents::default());
    }
    let Some(lease) = copied::acquire_copy_lease(local, &identity.fleet, LEASE)? else {
        return Ok(CopiedEvents {
            busy: true,
            ..CopiedEvents::default()
        });
    };
    let done = copy_batches(local, shared, identity, batches);
    // A right that is not given back ends by itself.
    let _ = local.release(&lease);
    done
}

fn copy_batches(
    local: &dyn LocalStore,
    shared: &dyn SharedStore,
    identity: &CopyIdentity,
    batches: usize,
) -> Result<CopiedEvents, StoreError> {
    let mut done = CopiedEvents::default();
    let mut folders = None;
    let progress = copied::read_progress(local, &identity.fleet)?.unwrap_or_default();
    let mut through = progress.through();
    for _ in 0..batches {
        let missed = deleted_after(local, through)?;
        let (events, next) = local.read_events(through, AT_ONCE)?;
        if events.is_empty() {
            if progress.failing_since.is_some() && done.read == 0 {
                copied::advance_copying(local, &identity.fleet, through, 0)?;
            }
            break;
        }
        let folders: &HashMap<String, String> = folders.get_or_insert_with(|| folders_of(local));
        let copies: Vec<_> = events
            .iter()
            .filter_map(|event| {
                let folder = folders.get(&event.worktree).map(String::as_str);
                fleet_copy(
                    event,
                    CopyOrigin {
                        machine: &identity.machine,
                        folder,
                    },
                )
            })
            .collect();
        if !copies.is_empty() {
            // This append has no guarding lease, so it cannot be fenced.
            let _ = shared.append(&copies, None)?;
        }
        copied::advance_copying(local, &identity.fleet, next, missed)?;
        done.read += events.len() as u64;
        done.sent += copies.len() as u64;
        done.missed += missed;
        through = next;
    }
    Ok(done)
}

/// How many events behind this place were deleted already: the journal begins further on. At most so many, as numbers may be left out. A
/// journal of which nothing was copied yet is new, and lost nothing.
fn deleted_after(local: &dyn LocalStore, through: EventCursor) -> Result<u64, StoreError> {
    if through == EventCursor::START {
        return Ok(0);
    }
    let begins = local.cursor_at(Timestamp::MIN)?;
    Ok(u64::try_from(begins.0.saturating_sub(through.0)).unwrap_or(0))
}

/// How many events wait: those of the journal behind what was copied, shared or not, at most `most`.
pub(super) fn count_waiting_events(
    local: &dyn LocalStore,
    fleet: &str,
    most: usize,
) -> Result<usize, StoreError> {
    let through = copied::read_progress(local, fleet)?
        .unwrap_or_default()
        .through();
    Ok(local.read_events(through, most)?.0.len())
}

/// The folders of the worktrees, by their names in the journal.
fn folders_of(local: &dyn LocalStore) -> HashMap<String, String> {
    let recorded = BaselineRecord::list_rows(local).unwrap_or_default();
    recorded
        .into_iter()
        .filter_map(|(worktree, _, record)| {
            Some((worktree, record.ok()?.worktree.display().to_string()))
        })
        .collect()
}

#[cfg(test)]
#[path = "copying_tests.rs"]
mod tests;
