//! Reading, writing and updating one versioned JSON row, by compare-and-swap alone.

use std::collections::HashSet;
use std::thread::sleep;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use watchdog_core::decision::breaker::Breaker;

use crate::engine::{ExpectedRevision, LocalStore, RowRevision, SharedStore, SwapOutcome};
use crate::error::StoreError;
use crate::key::RowKey;

/// How often an update is tried before we call it contended. Each lost round is a won one for somebody else.
const ATTEMPTS: u32 = 300;
/// How many answers to one change may be lost before the failure behind the last of them ends it.
const LOST_ANSWERS: u32 = 10;

/// How one try of a change ended.
enum ChangeAttempt<T> {
    Done(T),
    /// Another process changed the row first.
    Overtaken,
    /// Whether it was written is unknown, for this reason.
    Unanswered(StoreError),
}

/// A record as a row: its serialized form is the newest version that we know. The functions are for rows of one spec in one worktree,
/// or of another such pair.
pub trait RecordType: Serialize + DeserializeOwned {
    /// The name of the kind in keys and messages.
    const KIND: &'static str;
    /// The newest version that we know. Raise it only together with a reader of the older ones.
    const VERSION: u64 = 1;

    /// The row of a spec, if there is one.
    fn read_row(
        store: &dyn SharedStore,
        worktree: &str,
        spec: &str,
    ) -> Result<Option<Self>, StoreError> {
        load_row(store, &spec_key::<Self>(worktree, spec))
    }

    /// The same; a missing row counts as the default.
    fn read_or_default(
        store: &dyn SharedStore,
        worktree: &str,
        spec: &str,
    ) -> Result<Self, StoreError>
    where
        Self: Default,
    {
        Ok(Self::read_row(store, worktree, spec)?.unwrap_or_default())
    }

    /// Writes the row of a spec over a former one, unreadable or not; a later version stays.
    fn write_row(
        &self,
        store: &dyn SharedStore,
        worktree: &str,
        spec: &str,
    ) -> Result<(), StoreError> {
        overwrite_row(store, &spec_key::<Self>(worktree, spec), self)
    }

    /// Writes the row of a spec where there is none, and says whether it did.
    fn write_if_absent(
        &self,
        store: &dyn SharedStore,
        worktree: &str,
        spec: &str,
    ) -> Result<bool, StoreError> {
        create_row(store, &spec_key::<Self>(worktree, spec), self)
    }

    /// Changes the row of a spec by compare and swap; `change` may run several times.
    fn change_row<T>(
        store: &dyn SharedStore,
        worktree: &str,
        spec: &str,
        change: impl Fn(Option<Self>) -> (Self, T),
    ) -> Result<T, StoreError> {
        update_row(store, &spec_key::<Self>(worktree, spec), change)
    }

    /// Changes the row by compare and swap, a missing one as the default; `change` may run several times.
    fn update_row<T>(
        store: &dyn SharedStore,
        worktree: &str,
        spec: &str,
        change: impl Fn(&mut Self) -> T,
    ) -> Result<T, StoreError>
    where
        Self: Default,
    {
        update_default(store, &spec_key::<Self>(worktree, spec), change)
    }

    /// Forgets the row of a spec.
    fn forget_row(store: &dyn SharedStore, worktree: &str, spec: &str) -> Result<(), StoreError> {
        remove_row::<Self>(store, &spec_key::<Self>(worktree, spec))
    }

    /// Every row, of all worktrees and specs.
    fn list_rows(store: &dyn SharedStore) -> Result<RowsByWorktree<Self>, StoreError> {
        let mut rows = Vec::new();
        visit_rows(store, &[], |key, row| {
            rows.push((key.first_part(), key.last_part(), row))
        })?;
        Ok(rows)
    }

    /// Every row of a worktree, each with its spec. An unreadable one is an error: it may be the latest, or the strictest.
    fn list_rows_of(
        store: &dyn SharedStore,
        worktree: &str,
    ) -> Result<Vec<(String, Self)>, StoreError> {
        let (mut rows, mut failed) = (Vec::new(), None);
        visit_rows(store, &[worktree], |key, read| match read {
            Ok(row) => rows.push((key.last_part(), row)),
            Err(error) => failed = Some(error),
        })?;
        failed.map_or(Ok(rows), Err)
    }

    /// The worktrees that have a row; no row is read for it.
    fn list_worktrees(store: &dyn LocalStore) -> Result<HashSet<String>, StoreError> {
        let rows = store.revisions(&RowKey::prefix(Self::KIND, &[]))?;
        Ok(rows.iter().map(|(key, _)| key.first_part()).collect())
    }
}

impl RecordType for Breaker {
    const KIND: &'static str = "breaker";
}

#[derive(Serialize)]
pub(crate) struct VersionedRow<'a, R> {
    pub(crate) v: u64,
    #[serde(flatten)]
    pub(crate) record: &'a R,
}

#[derive(serde::Deserialize)]
struct VersionOnly {
    v: u64,
}

/// The key of the row of one spec in one worktree.
pub(super) fn spec_key<R: RecordType>(worktree_id: &str, spec: &str) -> RowKey {
    RowKey::new(R::KIND, &[worktree_id, spec])
}

fn describe_row<R: RecordType>(key: &RowKey) -> String {
    format!("{} of '{}'", R::KIND, key.last_part())
}

pub(super) fn encode_row<R: RecordType>(row: &R) -> Vec<u8> {
    serde_json::to_vec(&VersionedRow {
        v: R::VERSION,
        record: row,
    })
    .expect("records hold nothing that JSON cannot")
}

/// Turns stored bytes into a row, and refuses what a later version wrote.
pub(super) fn decode_row<R: RecordType>(key: &RowKey, bytes: &[u8]) -> Result<R, StoreError> {
    let bad = |why: String| StoreError::BadRecord {
        what: describe_row::<R>(key),
        why,
    };
    let VersionOnly { v } = serde_json::from_slice(bytes).map_err(|e| bad(e.to_string()))?;
    if v > R::VERSION {
        return Err(StoreError::NewerRecord {
            what: describe_row::<R>(key),
            row_format: v,
            newest_format: R::VERSION,
        });
    }
    // Not as `VersionedRow`: serde gathers what it flattens in memory first, and a row may be large. The version is an unknown field here.
    serde_json::from_slice(bytes).map_err(|e| bad(e.to_string()))
}

/// The row, or `None` where there is none.
pub(super) fn load_row<R: RecordType>(
    store: &dyn SharedStore,
    key: &RowKey,
) -> Result<Option<R>, StoreError> {
    store
        .get(key)?
        .map(|(_, bytes)| decode_row(key, &bytes))
        .transpose()
}

/// Repeats `round` until it is done, with growing pauses.
fn retry_until_done<R: RecordType, T>(
    key: &RowKey,
    mut round: impl FnMut() -> Result<ChangeAttempt<T>, StoreError>,
) -> Result<T, StoreError> {
    let mut unanswered = 0;
    for attempt in 0..ATTEMPTS {
        match round()? {
            ChangeAttempt::Done(done) => return Ok(done),
            ChangeAttempt::Overtaken => {}
            ChangeAttempt::Unanswered(failure) => {
                unanswered += 1;
                if unanswered == LOST_ANSWERS {
                    return Err(failure);
                }
            }
        }
        if attempt > 3 {
            // Processes that collided once differ in their ids, and so do their pauses.
            sleep(Duration::from_micros(
                u64::from(attempt.min(40)) * (100 + u64::from(std::process::id() % 97)),
            ));
        }
    }
    Err(StoreError::Contended {
        what: describe_row::<R>(key),
        attempts: ATTEMPTS,
    })
}

/// Changes a row by `change`, which may run several times; a missing row is given as `None`.
/// Leaves a row as it is if `change` does, and never changes it twice: if an answer was lost and
/// others wrote since, the caller gets [`StoreError::Unsure`].
pub(super) fn update_row<R: RecordType, T>(
    store: &dyn SharedStore,
    key: &RowKey,
    change: impl Fn(Option<R>) -> (R, T),
) -> Result<T, StoreError> {
    update_by(store, key, change, |expect, bytes| {
        store.cas(key, expect, bytes)
    })
}

/// The same without waiting for the disk, for a change whose loss in a power cut only makes later judgements stricter.
pub(super) fn update_without_flush<R: RecordType, T>(
    store: &dyn LocalStore,
    key: &RowKey,
    change: impl Fn(Option<R>) -> (R, T),
) -> Result<T, StoreError> {
    update_by(store, key, change, |expect, bytes| {
        store.cas_without_flush(key, expect, bytes)
    })
}

/// As [`update_row`]; a missing row counts as the default.
pub(super) fn update_default<R: RecordType + Default, T>(
    store: &dyn SharedStore,
    key: &RowKey,
    change: impl Fn(&mut R) -> T,
) -> Result<T, StoreError> {
    update_row(store, key, |row: Option<R>| {
        let mut record = row.unwrap_or_default();
        let outcome = change(&mut record);
        (record, outcome)
    })
}

fn update_by<R: RecordType, T, S: SharedStore + ?Sized>(
    store: &S,
    key: &RowKey,
    change: impl Fn(Option<R>) -> (R, T),
    write: impl Fn(ExpectedRevision, &[u8]) -> Result<SwapOutcome, StoreError>,
) -> Result<T, StoreError> {
    // A write whose answer was lost: the revision before it, its bytes and its outcome.
    let mut lost: Option<(Option<RowRevision>, Vec<u8>, T)> = None;
    retry_until_done::<R, T>(key, || {
        let row = store.get(key)?;
        let rev = row.as_ref().map(|(rev, _)| *rev);
        // If the row is unchanged, the write was not done, or will meet our next one.
        if let Some((_, bytes, outcome)) = lost.take_if(|(before, ..)| *before != rev) {
            let is_done = row.is_some_and(|(_, there)| there == bytes);
            return if is_done {
                Ok(ChangeAttempt::Done(outcome))
            } else {
                Err(StoreError::Unsure {
                    what: describe_row::<R>(key),
                })
            };
        }
        let before = row
            .as_ref()
            .map(|(_, bytes)| decode_row(key, bytes))
            .transpose()?;
        let (after, outcome) = change(before);
        let bytes = encode_row(&after);
        if row.as_ref().is_some_and(|(_, before)| *before == bytes) {
            return Ok(ChangeAttempt::Done(outcome));
        }
        match write(rev.into(), &bytes)? {
            SwapOutcome::Ok(_) => Ok(ChangeAttempt::Done(outcome)),
            SwapOutcome::Conflict => Ok(ChangeAttempt::Overtaken),
            SwapOutcome::Unknown(failure) => {
                lost = Some((rev, bytes, outcome));
                Ok(ChangeAttempt::Unanswered(failure))
            }
        }
    })
}

/// Writes a row over whatever is there, unreadable rows included; only one of a later version is refused.
pub(super) fn overwrite_row<R: RecordType>(
    store: &dyn SharedStore,
    key: &RowKey,
    row: &R,
) -> Result<(), StoreError> {
    overwrite_by(store, key, row, |expect, bytes| {
        store.cas(key, expect, bytes)
    })
}

/// The same without waiting for the disk, under the condition of [`update_without_flush`].
pub(super) fn overwrite_without_flush<R: RecordType>(
    store: &dyn LocalStore,
    key: &RowKey,
    row: &R,
) -> Result<(), StoreError> {
    overwrite_by(store, key, row, |expect, bytes| {
        store.cas_without_flush(key, expect, bytes)
    })
}

fn overwrite_by<R: RecordType, S: SharedStore + ?Sized>(
    store: &S,
    key: &RowKey,
    row: &R,
    write: impl Fn(ExpectedRevision, &[u8]) -> Result<SwapOutcome, StoreError>,
) -> Result<(), StoreError> {
    let bytes = encode_row(row);
    retry_until_done::<R, ()>(key, || {
        let row_before = store.get(key)?;
        if let Some((_, before)) = &row_before
            && let Err(newer @ StoreError::NewerRecord { .. }) = decode_row::<R>(key, before)
        {
            return Err(newer);
        }
        let revision = row_before.map(|(rev, _)| rev);
        Ok(match write(revision.into(), &bytes)? {
            SwapOutcome::Ok(_) => ChangeAttempt::Done(()),
            SwapOutcome::Conflict => ChangeAttempt::Overtaken,
            // It is written if what is there now is what we wrote; otherwise the next round decides.
            SwapOutcome::Unknown(failure) => match store.get(key)? {
                Some((rev, there)) if Some(rev) != revision && there == bytes => {
                    ChangeAttempt::Done(())
                }
                Some(_) | None => ChangeAttempt::Unanswered(failure),
            },
        })
    })
}

/// Writes a row where there is none, and says whether it did. If an answer was lost and others
/// wrote since, the caller gets [`StoreError::Unsure`].
pub(super) fn create_row<R: RecordType>(
    store: &dyn SharedStore,
    key: &RowKey,
    row: &R,
) -> Result<bool, StoreError> {
    let bytes = encode_row(row);
    let mut is_lost = false;
    retry_until_done::<R, bool>(key, || match store.get(key)? {
        Some((_, there)) if is_lost && there == bytes => Ok(ChangeAttempt::Done(true)),
        Some(_) if is_lost => Err(StoreError::Unsure {
            what: describe_row::<R>(key),
        }),
        Some(_) => Ok(ChangeAttempt::Done(false)),
        None => match store.cas(key, ExpectedRevision::Absent, &bytes)? {
            SwapOutcome::Ok(_) => Ok(ChangeAttempt::Done(true)),
            SwapOutcome::Conflict => Ok(ChangeAttempt::Overtaken),
            SwapOutcome::Unknown(failure) => {
                is_lost = true;
                Ok(ChangeAttempt::Unanswered(failure))
            }
        },
    })
}

/// Removes a row, if it is there.
pub(super) fn remove_row<R: RecordType>(
    store: &dyn SharedStore,
    key: &RowKey,
) -> Result<(), StoreError> {
    retry_until_done::<R, ()>(key, || {
        let Some((rev, _)) = store.get(key)? else {
            return Ok(ChangeAttempt::Done(()));
        };
        Ok(match store.delete(key, rev)? {
            SwapOutcome::Ok(_) => ChangeAttempt::Done(()),
            SwapOutcome::Conflict => ChangeAttempt::Overtaken,
            SwapOutcome::Unknown(failure) => ChangeAttempt::Unanswered(failure),
        })
    })
}

/// Every row of a kind below the given first parts, with its key, page by page.
pub(super) fn visit_rows<R: RecordType>(
    store: &dyn SharedStore,
    parts: &[&str],
    mut visit: impl FnMut(&RowKey, Result<R, StoreError>),
) -> Result<(), StoreError> {
    const PAGE: usize = 32;
    let prefix = RowKey::prefix(R::KIND, parts);
    let mut after: Option<RowKey> = None;
    loop {
        let page = store.list(&prefix, after.as_ref(), PAGE)?;
        for entry in &page {
            visit(&entry.key, decode_row(&entry.key, &entry.value));
        }
        if page.len() < PAGE {
            return Ok(());
        }
        after = page.into_iter().next_back().map(|entry| entry.key);
    }
}

/// The rows of a kind that belong to a worktree and a spec, each with both.
pub type RowsByWorktree<R> = Vec<(String, String, Result<R, StoreError>)>;

#[cfg(test)]
#[path = "row_tests.rs"]
mod tests;
