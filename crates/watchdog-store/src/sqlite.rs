//! SQLite as the engine: one file, many processes, any of which may die at any moment.
//!
//! Write-ahead log with full synchronisation, every write in an immediate transaction, no memory-mapped file.
//! A damaged database is put aside as `watchdog.db.corrupt-<time>` and a fresh one is begun; the caller learns it by [`Store::notes`].

mod database_file;
mod faults;
mod newest;

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};

use watchdog_facts::display::log_millis;
use watchdog_facts::evidence::Degradation;

pub use database_file::STORE_FORMAT;

use super::clock::boot_time;
use super::engine::{
    AppendOutcome, EventCursor, EventRetention, ExpectedRevision, Lease, LeaseHold, NewEvent, PRUNED_AT_ONCE, RowRevision, Store,
    StoreTime, StoredEvent, StoredRow, SwapOutcome,
};
use super::error::StoreError;
use super::key::RowKey;
use super::state_dir::StateDir;
use database_file::DatabaseFile;
use faults::is_io_failure;

/// Reads that take this long are logged.
const SLOW_READ: Duration = Duration::from_millis(10);

/// The database of one state directory.
pub struct SqliteStore {
    site: Mutex<DatabaseFile>,
}

impl SqliteStore {
    /// Opens the database of an [ensured](StateDir::ensure) directory, creates or migrates it if need be.
    ///
    /// A database of a newer watchdog or of another program is refused and not touched. A damaged one is put aside; see [`Store::notes`].
    pub fn open(dir: &StateDir) -> Result<Self, StoreError> {
        Ok(SqliteStore { site: Mutex::new(DatabaseFile::open(dir)?) })
    }

    /// Runs one operation against the database, puts a damaged one aside and tries once more with a fresh one.
    fn with<T>(&self, doing: &'static str, op: impl Fn(&mut Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let begun = Instant::now();
        let done = self.with_database(doing, op);
        let duration = begun.elapsed();
        // Quick reads are many, and nobody waits for them.
        if duration >= SLOW_READ || !(doing.starts_with("read") || doing.starts_with("list")) {
            tracing::trace!(
                target: "watchdog::store",
                action = doing,
                failed = done.is_err(),
                duration_ms = log_millis(duration),
                "called the store"
            );
        }
        done
    }

    fn with_database<T>(&self, doing: &'static str, op: impl Fn(&mut Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        // A panic elsewhere cannot have left the connection within a transaction: transactions roll back when dropped.
        let mut site = self.site.lock().unwrap_or_else(PoisonError::into_inner);
        match site.attempt(doing, &op)? {
            Some(done) => Ok(done),
            None => site.attempt(doing, &op)?.ok_or_else(|| StoreError::Damaged {
                path: site.database().to_owned(),
                why: "a fresh database was damaged at once, as by a failing disk".into(),
            }),
        }
    }
}

/// Begins a transaction of the journal. Its last events may be lost in a power cut, as git and the records are the truth;
/// never in the death of a process.
fn noting(connection: &mut Connection) -> rusqlite::Result<Transaction<'_>> {
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.transaction_with_behavior(TransactionBehavior::Immediate)
}

/// Begins a transaction that has the right to write from its first statement on, and survives a power cut once it is committed.
fn writing(connection: &mut Connection) -> rusqlite::Result<Transaction<'_>> {
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.transaction_with_behavior(TransactionBehavior::Immediate)
}

/// Draws the next number of the counter that revisions and fences share. Numbers never come back.
fn next_number(tx: &Transaction<'_>) -> rusqlite::Result<i64> {
    next_numbers(tx, 1)
}

/// Draws so many numbers, and returns the last of them.
fn next_numbers(tx: &Transaction<'_>, count: usize) -> rusqlite::Result<i64> {
    tx.prepare_cached("UPDATE counter SET value = value + ?1 RETURNING value")?.query_row([limit(count)], |row| row.get(0))
}

fn current_rev(tx: &Transaction<'_>, key: &RowKey) -> rusqlite::Result<Option<RowRevision>> {
    tx.prepare_cached("SELECT rev FROM record WHERE key = ?1")?.query_row([key.as_str()], |row| row.get(0).map(RowRevision)).optional()
}

/// Whether this very lease still stands, by the engine's clock.
fn stands(tx: &Transaction<'_>, lease: &Lease) -> rusqlite::Result<bool> {
    let now = boot_time();
    tx.prepare_cached("SELECT 1 FROM lease WHERE key = ?1 AND fence = ?2 AND holder = ?3 AND boot = ?4 AND until > ?5")?.exists(params![
        lease.key.as_str(),
        lease.fence,
        lease.holder,
        now.boot,
        now.at.0
    ])
}

fn after(now: StoreTime, ttl: Duration) -> StoreTime {
    StoreTime(now.0.saturating_add(i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX)))
}

/// Text that a damaged disk may have garbled must not make a whole listing unreadable.
fn text(row: &Row<'_>, index: usize) -> rusqlite::Result<String> {
    Ok(String::from_utf8_lossy(row.get_ref(index)?.as_bytes()?).into_owned())
}

fn event(row: &Row<'_>) -> rusqlite::Result<(i64, StoredEvent)> {
    let micros: i64 = row.get(2)?;
    let spec = row.get_ref(4)?.as_bytes_or_null()?.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let data = text(row, 6)?;
    let event = StoredEvent {
        id: text(row, 1)?,
        at: Timestamp::from_microsecond(micros).unwrap_or(Timestamp::UNIX_EPOCH),
        worktree: text(row, 3)?,
        spec,
        kind: text(row, 5)?,
        data: serde_json::from_str(&data).unwrap_or_else(|_| serde_json::json!({ "unreadable": data })),
    };
    Ok((row.get(0)?, event))
}

fn limit(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

impl Store for SqliteStore {
    fn now(&self) -> Result<StoreTime, StoreError> {
        Ok(boot_time().at)
    }

    fn get(&self, key: &RowKey) -> Result<Option<(RowRevision, Vec<u8>)>, StoreError> {
        self.with("read a row", |connection| {
            connection
                .prepare_cached("SELECT rev, value FROM record WHERE key = ?1")?
                .query_row([key.as_str()], |row| Ok((RowRevision(row.get(0)?), row.get(1)?)))
                .optional()
        })
    }

    fn cas_all(&self, writes: &[(RowKey, ExpectedRevision, Vec<u8>)]) -> Result<SwapOutcome, StoreError> {
        self.with("write a row", |connection| {
            let tx = writing(connection)?;
            let mut last = RowRevision(0);
            for (key, expect, value) in writes {
                let expected = match expect {
                    ExpectedRevision::Absent => None,
                    ExpectedRevision::Rev(rev) => Some(*rev),
                };
                if current_rev(&tx, key)? != expected {
                    return Ok(SwapOutcome::Conflict);
                }
                last = RowRevision(next_number(&tx)?);
                tx.prepare_cached("INSERT OR REPLACE INTO record (key, rev, value) VALUES (?1, ?2, ?3)")?.execute(params![
                    key.as_str(),
                    last.0,
                    value
                ])?;
            }
            match tx.commit() {
                Ok(()) => Ok(SwapOutcome::Ok(last)),
                Err(error) if is_io_failure(&error) => Ok(SwapOutcome::Unknown),
                Err(error) => Err(error),
            }
        })
    }

    fn delete(&self, key: &RowKey, expect: RowRevision) -> Result<SwapOutcome, StoreError> {
        self.with("delete a row", |connection| {
            let tx = writing(connection)?;
            let deleted = tx.prepare_cached("DELETE FROM record WHERE key = ?1 AND rev = ?2")?.execute(params![key.as_str(), expect.0])?;
            match tx.commit() {
                Ok(()) if deleted == 0 => Ok(SwapOutcome::Conflict),
                Ok(()) => Ok(SwapOutcome::Ok(expect)),
                Err(error) if is_io_failure(&error) => Ok(SwapOutcome::Unknown),
                Err(error) => Err(error),
            }
        })
    }

    fn list(&self, prefix: &str, after: Option<&RowKey>, n: usize) -> Result<Vec<StoredRow>, StoreError> {
        // Keys are printable ASCII, so DEL sorts behind all that begin with the prefix.
        let end = format!("{prefix}\u{7f}");
        let after = after.map_or("", RowKey::as_str);
        self.with("list rows", |connection| {
            connection
                .prepare_cached("SELECT key, rev, value FROM record WHERE key >= ?1 AND key < ?2 AND key > ?3 ORDER BY key LIMIT ?4")?
                .query_map(params![prefix, end, after, limit(n)], |row| {
                    Ok(StoredRow { key: RowKey::from_stored(text(row, 0)?), rev: RowRevision(row.get(1)?), value: row.get(2)? })
                })?
                .collect()
        })
    }

    fn revisions(&self, prefix: &str) -> Result<Vec<(RowKey, RowRevision)>, StoreError> {
        let end = format!("{prefix}\u{7f}");
        self.with("list rows", |connection| {
            connection
                .prepare_cached("SELECT key, rev FROM record WHERE key >= ?1 AND key < ?2 ORDER BY key")?
                .query_map(params![prefix, end], |row| Ok((RowKey::from_stored(text(row, 0)?), RowRevision(row.get(1)?))))?
                .collect()
        })
    }

    fn keep_hints(&self, hints: &[(RowKey, Vec<u8>)]) -> Result<(), StoreError> {
        self.with("write rows", |connection| {
            let tx = noting(connection)?;
            let last = next_numbers(&tx, hints.len())?;
            for ((key, value), rev) in hints.iter().rev().zip((0..=last).rev()) {
                tx.prepare_cached("INSERT OR REPLACE INTO record (key, rev, value) VALUES (?1, ?2, ?3)")?.execute(params![
                    key.as_str(),
                    rev,
                    value
                ])?;
            }
            tx.commit()
        })
    }

    fn acquire(&self, key: &RowKey, holder: &str, ttl: Duration) -> Result<Option<Lease>, StoreError> {
        self.with("take a lease", |connection| {
            let tx = writing(connection)?;
            let now = boot_time();
            let taken = tx.prepare_cached("SELECT 1 FROM lease WHERE key = ?1 AND boot = ?2 AND until > ?3")?.exists(params![
                key.as_str(),
                now.boot,
                now.at.0
            ])?;
            if taken {
                return Ok(None);
            }
            let lease = Lease { key: key.clone(), holder: holder.to_string(), fence: next_number(&tx)?, until: after(now.at, ttl) };
            tx.prepare_cached("INSERT OR REPLACE INTO lease (key, holder, fence, boot, until) VALUES (?1, ?2, ?3, ?4, ?5)")?
                .execute(params![key.as_str(), holder, lease.fence, now.boot, lease.until.0])?;
            tx.commit()?;
            Ok(Some(lease))
        })
    }

    fn renew(&self, lease: &Lease, ttl: Duration) -> Result<LeaseHold, StoreError> {
        self.with("renew a lease", |connection| {
            let tx = writing(connection)?;
            if !stands(&tx, lease)? {
                return Ok(LeaseHold::Lost);
            }
            let until = after(boot_time().at, ttl);
            tx.prepare_cached("UPDATE lease SET until = ?2 WHERE key = ?1")?.execute(params![lease.key.as_str(), until.0])?;
            tx.commit()?;
            Ok(LeaseHold::Held(Lease { until, ..lease.clone() }))
        })
    }

    fn release(&self, lease: &Lease) -> Result<bool, StoreError> {
        self.with("release a lease", |connection| {
            let tx = writing(connection)?;
            if !stands(&tx, lease)? {
                return Ok(false);
            }
            tx.prepare_cached("DELETE FROM lease WHERE key = ?1")?.execute([lease.key.as_str()])?;
            tx.commit()?;
            Ok(true)
        })
    }

    fn append(&self, events: &[NewEvent], guard: Option<&Lease>) -> Result<AppendOutcome, StoreError> {
        self.with("write the journal", |connection| {
            let tx = noting(connection)?;
            if let Some(lease) = guard
                && !stands(&tx, lease)?
            {
                return Ok(AppendOutcome::Fenced);
            }
            for event in events {
                tx.prepare_cached(
                    "INSERT INTO event (id, at, worktree, spec, kind, data) VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (id) DO NOTHING",
                )?
                .execute(params![
                    event.id,
                    event.at.as_microsecond(),
                    event.worktree,
                    event.spec,
                    event.kind,
                    event.data.to_string()
                ])?;
            }
            tx.commit()?;
            Ok(AppendOutcome::Done)
        })
    }

    fn read(&self, after: EventCursor, n: usize) -> Result<(Vec<StoredEvent>, EventCursor), StoreError> {
        let rows: Vec<(i64, StoredEvent)> = self.with("read the journal", |connection| {
            connection
                .prepare_cached("SELECT seq, id, at, worktree, spec, kind, data FROM event WHERE seq > ?1 ORDER BY seq LIMIT ?2")?
                .query_map(params![after.0, limit(n)], event)?
                .collect()
        })?;
        let cursor = rows.last().map_or(after, |(seq, _)| EventCursor(*seq));
        Ok((rows.into_iter().map(|(_, event)| event).collect(), cursor))
    }

    fn cursor_at(&self, at: Timestamp) -> Result<EventCursor, StoreError> {
        self.with("read the journal", |connection| {
            // Left to itself, SQLite walks through the events in their order, all of a long journal where the time is a recent one.
            // A time that is kept to the microsecond must not look later than the event that happened then.
            let first: Option<i64> = connection
                .prepare_cached("SELECT min(seq) FROM event INDEXED BY event_at WHERE at >= ?1")?
                .query_row([at.as_microsecond()], |row| row.get(0))?;
            let after = match first {
                Some(first) => first - 1,
                None => connection.prepare_cached("SELECT coalesce(max(seq), 0) FROM event")?.query_row([], |row| row.get(0))?,
            };
            Ok(EventCursor(after))
        })
    }

    fn read_back(&self, end: EventCursor, worktree: Option<&str>, n: usize) -> Result<(Vec<StoredEvent>, EventCursor), StoreError> {
        const ALL: &str = "SELECT seq, id, at, worktree, spec, kind, data FROM event WHERE seq <= ?1 ORDER BY seq DESC LIMIT ?2";
        const OF_ONE: &str =
            "SELECT seq, id, at, worktree, spec, kind, data FROM event WHERE worktree = ?3 AND seq <= ?1 ORDER BY seq DESC LIMIT ?2";
        let mut rows: Vec<(i64, StoredEvent)> = self.with("read the journal", |connection| match worktree {
            None => connection.prepare_cached(ALL)?.query_map(params![end.0, limit(n)], event)?.collect(),
            Some(worktree) => connection.prepare_cached(OF_ONE)?.query_map(params![end.0, limit(n), worktree], event)?.collect(),
        })?;
        rows.reverse();
        let before = rows.first().map_or(end, |(seq, _)| EventCursor(seq - 1));
        Ok((rows.into_iter().map(|(_, event)| event).collect(), before))
    }

    fn newest_of(&self, of: &[(String, String)], kinds: &[&str], within: usize) -> Result<Vec<Option<StoredEvent>>, StoreError> {
        self.with("read the journal", |connection| newest::newest_of(connection, of, kinds, within))
    }

    fn newest(&self, n: usize) -> Result<Vec<StoredEvent>, StoreError> {
        self.read_back(EventCursor(i64::MAX), None, n).map(|(events, _)| events)
    }

    fn prune(&self, retention: &EventRetention) -> Result<u64, StoreError> {
        const FIRST: &str = "DELETE FROM event WHERE seq IN (SELECT seq FROM event ORDER BY seq LIMIT ?1)";
        // Whatever is beyond the newest `at_least`, found by its time without a look at what is not old.
        const OLD: &str = "DELETE FROM event WHERE seq IN (SELECT seq FROM event WHERE at < ?1
            AND seq <= coalesce((SELECT seq FROM event ORDER BY seq DESC LIMIT 1 OFFSET ?2), -1) ORDER BY at LIMIT ?3)";
        let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let (at_most, at_least) = (number(retention.at_most), number(retention.at_least.min(retention.at_most)));
        self.with("prune the journal", |connection| {
            // What a power cut brings back is forgotten the next time.
            let tx = noting(connection)?;
            // Counts in the smallest index, and no further than one batch can take away.
            let far_enough = at_most.saturating_add(number(PRUNED_AT_ONCE));
            let count: i64 =
                tx.prepare_cached("SELECT count(*) FROM (SELECT 1 FROM event LIMIT ?1)")?.query_row([far_enough], |row| row.get(0))?;
            let too_many = (count - at_most).clamp(0, number(PRUNED_AT_ONCE));
            let mut forgotten = tx.prepare_cached(FIRST)?.execute([too_many])?;
            let rest = number(PRUNED_AT_ONCE) - too_many;
            forgotten += tx.prepare_cached(OLD)?.execute(params![retention.older_than.as_microsecond(), at_least, rest])?;
            tx.commit()?;
            Ok(forgotten as u64)
        })
    }

    fn events_of(&self, worktree: &str) -> Result<(u64, u64), StoreError> {
        self.with("read the journal", |connection| {
            connection
                .prepare_cached("SELECT count(*), coalesce(sum(octet_length(data)), 0) FROM event WHERE worktree = ?1")?
                .query_row([worktree], |row| Ok((row.get::<_, i64>(0)?.unsigned_abs(), row.get::<_, i64>(1)?.unsigned_abs())))
        })
    }

    fn remove_events(&self, worktree: &str) -> Result<u64, StoreError> {
        const OF_ONE: &str = "DELETE FROM event WHERE seq IN (SELECT seq FROM event WHERE worktree = ?1 ORDER BY seq LIMIT ?2)";
        self.with("remove events", |connection| {
            let tx = writing(connection)?;
            let at_once = i64::try_from(PRUNED_AT_ONCE).unwrap_or(i64::MAX);
            let removed = tx.prepare_cached(OF_ONE)?.execute(params![worktree, at_once])?;
            tx.commit()?;
            Ok(removed as u64)
        })
    }

    fn notes(&self) -> Vec<Degradation> {
        self.site.lock().unwrap_or_else(PoisonError::into_inner).take_notes()
    }
}

#[cfg(test)]
#[path = "conformance.rs"]
mod conformance;

#[cfg(test)]
#[path = "sqlite/tests.rs"]
pub(super) mod tests;
