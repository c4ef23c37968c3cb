//! The uncommitted files of a worktree at the start and the end of a spec's session, and the files that watchdog itself wrote there.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::row::{self, RecordType};
use crate::engine::LocalStore;
use crate::error::StoreError;
use crate::key::RowKey;
use watchdog_facts::gate_hooks::GateHooks;
use watchdog_facts::session_work::{ContentIds, SessionEdgeFiles};

/// The uncommitted work recorded with a baseline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UncommittedRecord {
    /// When the baseline was recorded that this belongs to.
    pub baseline_at: Timestamp,
    /// The uncommitted files at the start and at the end.
    #[serde(flatten)]
    pub work: SessionEdgeFiles,
    /// Whether the work of this baseline was judged complete.
    #[serde(default)]
    pub completed: bool,
}

impl RecordType for UncommittedRecord {
    const KIND: &'static str = "uncommitted";
}

/// Files that watchdog wrote into a worktree, by content: they do not count as work.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct WatchdogWrittenFiles {
    files: ContentIds,
}

impl RecordType for WatchdogWrittenFiles {
    const KIND: &'static str = "written";
}

/// Records what is uncommitted, and the gates, at the end of a session that began at this baseline.
/// Skips a record of another baseline.
pub fn record_session_end(
    store: &dyn LocalStore,
    worktree_id: &str,
    spec: &str,
    baseline_at: Timestamp,
    (end, gates): (&ContentIds, GateHooks),
) -> Result<(), StoreError> {
    change_work(store, worktree_id, spec, baseline_at, |work| {
        work.end = Some(end.clone());
        work.gates_at_end = Some(gates.clone());
    })
}

/// Changes what is recorded of the session with this baseline. Skips a record of another one.
pub fn change_work(
    store: &dyn LocalStore,
    worktree_id: &str,
    spec: &str,
    baseline_at: Timestamp,
    change: impl Fn(&mut SessionEdgeFiles),
) -> Result<(), StoreError> {
    let change = |record: &mut UncommittedRecord| change(&mut record.work);
    if is_changed_by(store, worktree_id, spec, baseline_at, change)? {
        UncommittedRecord::change_row(store, worktree_id, spec, |row| {
            (changed_row(row, baseline_at, change), ())
        })?;
    }
    Ok(())
}

/// Records that the work of a baseline is complete: later changes belong to no session until a new baseline. Does not wait for the disk: if a
/// power cut loses it, later changes count as work of the session.
pub fn record_completion(
    store: &dyn LocalStore,
    worktree_id: &str,
    spec: &str,
    baseline_at: Timestamp,
    leftover_files: Option<&ContentIds>,
) -> Result<(), StoreError> {
    let changed = |record: &mut UncommittedRecord| {
        record.completed = true;
        if let Some(files) = leftover_files {
            record.work.end = Some(files.clone());
        }
    };
    if is_changed_by(store, worktree_id, spec, baseline_at, changed)? {
        let key = row::spec_key::<UncommittedRecord>(worktree_id, spec);
        row::update_without_flush(store, &key, |row| {
            (changed_row(row, baseline_at, changed), ())
        })?;
    }
    Ok(())
}

/// Whether the record is of this baseline and a change makes a difference. Mostly it makes none, and nothing is written.
fn is_changed_by(
    store: &dyn LocalStore,
    worktree_id: &str,
    spec: &str,
    baseline_at: Timestamp,
    change: impl Fn(&mut UncommittedRecord),
) -> Result<bool, StoreError> {
    let Some(mut record) = UncommittedRecord::read_row(store, worktree_id, spec)?
        .filter(|record| record.baseline_at == baseline_at)
    else {
        return Ok(false);
    };
    let before = record.clone();
    change(&mut record);
    Ok(record != before)
}

fn changed_row(
    row: Option<UncommittedRecord>,
    baseline_at: Timestamp,
    change: impl Fn(&mut UncommittedRecord),
) -> UncommittedRecord {
    let mut record = row.unwrap_or(UncommittedRecord {
        baseline_at,
        work: SessionEdgeFiles::default(),
        completed: false,
    });
    if record.baseline_at == baseline_at {
        change(&mut record);
    }
    record
}

/// Notes that watchdog itself wrote a file into the worktree.
pub fn record_written_file(
    store: &dyn LocalStore,
    worktree_id: &str,
    path: &str,
    id: &str,
) -> Result<(), StoreError> {
    let key = RowKey::new(WatchdogWrittenFiles::KIND, &[worktree_id]);
    row::update_default(store, &key, |written: &mut WatchdogWrittenFiles| {
        written.files.insert(path.to_owned(), id.to_owned());
    })
}

/// The files that watchdog itself wrote into the worktree, as it wrote them.
pub fn read_written_files(
    store: &dyn LocalStore,
    worktree_id: &str,
) -> Result<ContentIds, StoreError> {
    Ok(row::load_row::<WatchdogWrittenFiles>(
        store,
        &RowKey::new(WatchdogWrittenFiles::KIND, &[worktree_id]),
    )?
    .map(|written| written.files)
    .unwrap_or_default())
}
