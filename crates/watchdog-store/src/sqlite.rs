//! SQLite as the engine: one file, many processes, any of which may die at any moment.
//!
//! Write-ahead log with full synchronisation, every write in an immediate transaction, no memory-mapped file.
//! A damaged database is put aside as `watchdog.db.corrupt-<time>` and a fresh one is begun; the caller learns it by [`LocalStore::notes`].

mod damaged;
mod database_file;
mod faults;
mod local;
mod newest;
mod shared;

use std::cell::Cell;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use rusqlite::types::{Value as ColumnValue, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};
use serde_json::Value;
use zlib_rs::{
    DeflateConfig, InflateConfig, ReturnCode, compress_bound, compress_slice, decompress_slice,
};

use watchdog_facts::display::log_millis;

pub use damaged::{GONE, damaged_databases};
pub use database_file::STORE_FORMAT;

use super::clock::boot_time;
use super::engine::{
    AppendOutcome, EngineTime, EventCursor, EventRetention, ExpectedRevision, Lease, LeaseRenewal,
    LocalStore, NewEvent, PRUNED_AT_ONCE, RowRevision, SharedStore, StoredEvent, StoredRow,
    SwapOutcome,
};
use super::error::StoreError;
use super::key::RowKey;
use super::lock_patience::got_it;
use super::notes::StoreNotes;
use super::records::old_rows;
use super::state_dir::StateDir;
use database_file::DatabaseFile;
use faults::is_io_failure;
use watchdog_system::lock_mutex;

/// Reads that take this long are logged.
const SLOW_READ: Duration = Duration::from_millis(10);

/// The database of one state directory.
pub struct SqliteStore {
    file: Mutex<DatabaseFile>,
}

impl SqliteStore {
    /// Opens the database of an [ensured](StateDir::ensure) directory, creates or migrates it if need be.
    ///
    /// A database of a newer watchdog or of another program is refused and not touched. A damaged one is put aside; see [`LocalStore::notes`].
    pub fn open(dir: &StateDir) -> Result<Self, StoreError> {
        Ok(SqliteStore {
            file: Mutex::new(DatabaseFile::open(dir)?),
        })
    }

    /// The same for a command that only reads: a database that takes no writes is read as it is, which [`LocalStore::notes`] says.
    ///
    /// # Errors
    /// As [`SqliteStore::open`], and where it cannot be read either.
    pub fn open_to_read(dir: &StateDir) -> Result<Self, StoreError> {
        match DatabaseFile::open(dir) {
            Ok(file) => Ok(SqliteStore {
                file: Mutex::new(file),
            }),
            Err(refusal @ (StoreError::ReadOnly { .. } | StoreError::Full { .. })) => {
                let file = DatabaseFile::open_read_only(dir, &refusal).map_err(|_| refusal)?;
                Ok(SqliteStore {
                    file: Mutex::new(file),
                })
            }
            Err(error) => Err(error),
        }
    }

    /// Runs one operation against the database, puts a damaged one aside and tries once more with a fresh one.
    fn with<T>(
        &self,
        doing: &'static str,
        op: impl Fn(&mut Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let begun = Instant::now();
        let done = self.with_database(doing, op);
        let duration = begun.elapsed();
        // Quick reads are frequent and delay nothing.
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

    fn with_database<T>(
        &self,
        doing: &'static str,
        op: impl Fn(&mut Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        // A panic in another thread cannot have left a transaction open: transactions roll back when dropped.
        let mut file = lock_mutex(&self.file);
        match file.attempt(doing, &op)? {
            Some(done) => Ok(done),
            None => file
                .attempt(doing, &op)?
                .ok_or_else(|| StoreError::Damaged {
                    path: file.database().to_owned(),
                    why: "a fresh database was damaged at once, as by a failing disk".into(),
                }),
        }
    }
}

/// Commits, and notes in `is_unknown` whether the disk failed meanwhile, so that the write may be done or not.
fn commit_transaction(tx: Transaction<'_>, is_unknown: &Cell<bool>) -> rusqlite::Result<()> {
    tx.commit()
        .inspect_err(|error| is_unknown.set(is_io_failure(error)))
}

/// The answer to a write: one whose commit the disk failed is unknown, and carries that failure.
fn resolve_swap_outcome(
    written: Result<SwapOutcome, StoreError>,
    is_unknown: &Cell<bool>,
) -> Result<SwapOutcome, StoreError> {
    match written {
        Err(failure) if is_unknown.get() => Ok(SwapOutcome::Unknown(failure)),
        written => written,
    }
}

/// Begins a transaction of the journal. Its last events may be lost in a power cut, as git and the records are the truth;
/// never in the death of a process.
fn begin_journal_transaction(connection: &mut Connection) -> rusqlite::Result<Transaction<'_>> {
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    begin_immediate(connection)
}

/// Begins a transaction that has the right to write from its first statement on, and survives a power cut once it is committed.
fn begin_durable_transaction(connection: &mut Connection) -> rusqlite::Result<Transaction<'_>> {
    connection.pragma_update(None, "synchronous", "FULL")?;
    begin_immediate(connection)
}

fn begin_immediate(connection: &mut Connection) -> rusqlite::Result<Transaction<'_>> {
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    got_it();
    Ok(tx)
}

/// Draws the next number of the counter that revisions and fences share. Numbers never come back.
fn next_number(tx: &Transaction<'_>) -> rusqlite::Result<i64> {
    next_numbers(tx, 1)
}

/// Draws so many numbers, and returns the last of them.
fn next_numbers(tx: &Transaction<'_>, count: usize) -> rusqlite::Result<i64> {
    tx.prepare_cached("UPDATE counter SET value = value + ?1 RETURNING value")?
        .query_row([to_sql_limit(count)], |row| row.get(0))
}

fn current_rev(tx: &Transaction<'_>, key: &RowKey) -> rusqlite::Result<Option<RowRevision>> {
    tx.prepare_cached("SELECT rev FROM record WHERE key = ?1")?
        .query_row([key.as_str()], |row| row.get(0).map(RowRevision))
        .optional()
}

/// Whether this very lease is still valid, by the engine's clock.
fn is_lease_valid(tx: &Transaction<'_>, lease: &Lease) -> rusqlite::Result<bool> {
    let now = boot_time();
    tx.prepare_cached("SELECT 1 FROM lease WHERE key = ?1 AND fence = ?2 AND holder = ?3 AND boot = ?4 AND until > ?5")?.exists(params![
        lease.key.as_str(),
        lease.fence,
        lease.holder,
        now.boot,
        now.at.0
    ])
}

fn add_ttl(now: EngineTime, ttl: Duration) -> EngineTime {
    EngineTime(
        now.0
            .saturating_add(i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX)),
    )
}

/// Reads text that a damaged disk may have garbled, so that one row cannot make a whole listing unreadable.
fn read_lossy_text(row: &Row<'_>, index: usize) -> rusqlite::Result<String> {
    Ok(String::from_utf8_lossy(row.get_ref(index)?.as_bytes()?).into_owned())
}

fn read_event(row: &Row<'_>) -> rusqlite::Result<(i64, StoredEvent)> {
    let micros: i64 = row.get(2)?;
    let spec = row
        .get_ref(4)?
        .as_bytes_or_null()?
        .map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let event = StoredEvent {
        id: read_lossy_text(row, 1)?,
        at: Timestamp::from_microsecond(micros).unwrap_or(Timestamp::UNIX_EPOCH),
        worktree: read_lossy_text(row, 3)?,
        spec,
        kind: read_lossy_text(row, 5)?,
        data: read_data(row.get_ref(6)?),
    };
    Ok((row.get(0)?, event))
}

/// Data of fewer bytes than this are worth no deflating.
const DEFLATED_FROM: usize = 512;
/// No row inflates to more bytes than this.
const INFLATED_AT_MOST: usize = 64 << 20;

/// The data of an event as its row holds them: long ones deflated, behind the length that they have.
fn packed_data(data: &Value) -> ColumnValue {
    let text = data.to_string();
    let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
    if text.len() < DEFLATED_FROM || text.len() > INFLATED_AT_MOST {
        return text.into();
    }
    let mut packed = vec![0; 4 + compress_bound(text.len())];
    let (head, body) = packed.split_at_mut(4);
    head.copy_from_slice(&length.to_le_bytes());
    match compress_slice(body, text.as_bytes(), DeflateConfig::default()) {
        (deflated, ReturnCode::Ok) => {
            let length = 4 + deflated.len();
            packed.truncate(length);
            packed.into()
        }
        _ => text.into(),
    }
}

/// Reads [`packed_data`] back. A row that a damaged disk garbled says so, and is not taken for an empty one.
fn read_data(column: ValueRef<'_>) -> Value {
    let inflated = match column {
        ValueRef::Blob(packed) => inflate_data(packed),
        column => column.as_bytes().ok().map(<[u8]>::to_vec),
    };
    let data = inflated
        .as_ref()
        .and_then(|text| serde_json::from_slice(text).ok());
    data.unwrap_or_else(|| {
        let garbled = column.as_bytes().unwrap_or_default();
        serde_json::json!({ "unreadable": String::from_utf8_lossy(garbled) })
    })
}

fn inflate_data(packed: &[u8]) -> Option<Vec<u8>> {
    let (length, deflated) = packed.split_first_chunk()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    if length > INFLATED_AT_MOST {
        return None;
    }
    let mut text = vec![0; length];
    let (inflated, code) = decompress_slice(&mut text, deflated, InflateConfig::default());
    (code == ReturnCode::Ok && inflated.len() == length).then_some(text)
}

/// Gives readers what was written, where a row of format 3 holds it in a shorter form or names other rows. Such a row that cannot be read is
/// as one that is gone.
fn put_together(
    connection: &Connection,
    mut rows: Vec<(i64, StoredEvent)>,
) -> Vec<(i64, StoredEvent)> {
    let data_of = |id: &str| {
        let mut read = connection
            .prepare_cached("SELECT data FROM event WHERE id = ?1")
            .ok()?;
        read.query_row([id], |row| Ok(read_data(row.get_ref(0)?)))
            .ok()
    };
    rows.iter_mut()
        .for_each(|(_, event)| old_rows::upgrade_event(event, data_of));
    rows
}

fn to_sql_limit(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

#[cfg(test)]
#[path = "sqlite/tests.rs"]
pub(super) mod tests;
