//! Tests of SQLite's own properties: its file, its modes, other programs' files, and damage.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use watchdog_facts::evidence::WarningCode;

use rusqlite::Connection;
use rusqlite::types::{Value as ColumnValue, ValueRef};
use serde_json::{Value, json};

use super::database_file::{DatabaseFile, JournalMode, journal_on};
use super::{SqliteStore, packed_data, read_data};
use crate::engine::{
    AppendOutcome, EventCursor, ExpectedRevision, LocalStore, SharedStore, SwapOutcome,
};
use crate::error::StoreError;
use crate::journal::{kind, new_event};
use crate::key::RowKey;
use crate::state_dir::StateDir;

/// A state directory that is gone when dropped.
pub(crate) struct Scratch {
    _tmp: tempfile::TempDir,
    pub dir: StateDir,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        let tmp = tempfile::tempdir().unwrap();
        let dir = StateDir::resolve(Some(tmp.path().join("state")), None, None).unwrap();
        dir.ensure().unwrap();
        Scratch { _tmp: tmp, dir }
    }

    fn damaged(&self) -> Vec<PathBuf> {
        let mut found: Vec<_> = fs::read_dir(self.dir.root())
            .unwrap()
            .map(|e| e.unwrap().path())
            .collect();
        found.retain(|p| p.to_string_lossy().contains(".corrupt-"));
        found.sort();
        found
    }
}

/// A store in the mode for network file systems.
pub(crate) fn rollback_store(dir: &StateDir) -> SqliteStore {
    SqliteStore {
        file: std::sync::Mutex::new(DatabaseFile::at(dir, JournalMode::Rollback).unwrap()),
    }
}

fn key() -> RowKey {
    RowKey::new("test", &["a"])
}

/// Moves the log into the database, as happens by itself once it has grown.
fn settle(scratch: &Scratch) {
    let connection = rusqlite::Connection::open(scratch.dir.database()).unwrap();
    connection
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .unwrap();
}

/// An event at a second after 1970.
fn event(second: i64) -> crate::engine::NewEvent {
    let at = jiff::Timestamp::from_second(second).unwrap();
    new_event(at, "wt", None, kind::PROBE, serde_json::Value::Null)
}

/// A database with a row and some events, closed in order.
fn filled(scratch: &Scratch) {
    let store = SqliteStore::open(&scratch.dir).unwrap();
    assert!(matches!(
        store
            .cas(&key(), ExpectedRevision::Absent, &[7; 3000])
            .unwrap(),
        SwapOutcome::Ok(_)
    ));
    let events: Vec<_> = (0..200)
        .map(|n| {
            new_event(
                jiff::Timestamp::from_second(n).unwrap(),
                "wt",
                None,
                kind::PROBE,
                serde_json::json!({ "n": n, "pad": "x".repeat(200) }),
            )
        })
        .collect();
    assert_eq!(store.append(&events, None).unwrap(), AppendOutcome::Done);
    settle(scratch);
}

/// Uses everything once and gives back the notes.
fn use_all(scratch: &Scratch) -> Result<Vec<&'static str>, StoreError> {
    let store = SqliteStore::open(&scratch.dir)?;
    store.get(&key())?;
    store.list("", None, 100)?;
    store.read_events(EventCursor::START, 1000)?;
    store.newest(1000)?;
    let new = event(0);
    assert_eq!(
        store.append(std::slice::from_ref(&new), None)?,
        AppendOutcome::Done
    );
    assert_eq!(store.newest(1)?, [new], "what was acknowledged is there");
    Ok(store
        .notes()
        .into_iter()
        .map(|note| note.code.as_str())
        .collect())
}

#[test]
fn new_database_is_private_and_in_safe_modes() {
    let scratch = Scratch::new();
    let store = SqliteStore::open(&scratch.dir).unwrap();
    assert!(matches!(
        store.cas(&key(), ExpectedRevision::Absent, b"1").unwrap(),
        SwapOutcome::Ok(_)
    ));
    for entry in fs::read_dir(scratch.dir.root())
        .unwrap()
        .map(Result::unwrap)
        .filter(|e| e.file_type().unwrap().is_file())
    {
        assert_eq!(
            entry.metadata().unwrap().permissions().mode() & 0o777,
            0o600,
            "{:?}",
            entry.path()
        );
    }
    let mode = |pragma: &str| {
        store
            .with("look", |c| {
                c.pragma_query_value(None, pragma, |row| row.get::<_, rusqlite::types::Value>(0))
            })
            .unwrap()
    };
    assert_eq!(
        mode("journal_mode"),
        rusqlite::types::Value::Text("wal".into())
    );
    assert_eq!(mode("synchronous"), rusqlite::types::Value::Integer(2));
    assert_eq!(mode("mmap_size"), rusqlite::types::Value::Integer(0));
    assert!(
        rusqlite::version_number() >= 3_051_003,
        "older ones have a bug that damages databases used as we do"
    );
}

#[test]
fn network_file_system_gets_a_rollback_journal() {
    for (magic, journal) in [
        (0x6969, JournalMode::Rollback),
        (0xff53_4d42, JournalMode::Rollback),
        (0x0102_1997, JournalMode::Rollback),
        (0xef53, JournalMode::Ahead),
        (0x0102_1994, JournalMode::Ahead),
    ] {
        assert_eq!(journal_on(magic), journal, "{magic:#x}");
    }
    let scratch = Scratch::new();
    filled(&scratch);
    let store = rollback_store(&scratch.dir);
    assert!(store.get(&key()).unwrap().is_some());
    let mode: String = store
        .with("look", |c| {
            c.pragma_query_value(None, "journal_mode", |row| row.get(0))
        })
        .unwrap();
    assert_eq!(mode, "delete");
}

#[test]
fn write_blocked_by_reader_leaves_database_unchanged() {
    let scratch = Scratch::new();
    filled(&scratch);
    let store = rollback_store(&scratch.dir);
    let (rev, value) = store.get(&key()).unwrap().expect("it is there");
    store
        .with("wait for nobody", |connection| {
            connection.busy_timeout(std::time::Duration::ZERO)
        })
        .unwrap();
    let reader = Connection::open(scratch.dir.database()).unwrap();
    reader
        .execute_batch("BEGIN; SELECT count(*) FROM record")
        .unwrap();
    // Without a log, readers keep a writer from its commit, and not from what comes before it.
    assert!(matches!(
        store.cas(&key(), ExpectedRevision::Rev(rev), b"new"),
        Err(StoreError::Busy { .. })
    ));
    assert!(matches!(
        store.delete(&key(), rev),
        Err(StoreError::Busy { .. })
    ));
    reader.execute_batch("COMMIT").unwrap();
    assert_eq!(store.get(&key()).unwrap(), Some((rev, value)));
    assert_eq!(store.delete(&key(), rev).unwrap(), SwapOutcome::Ok(rev));
}

#[test]
fn newer_format_is_refused_without_changing_a_byte() {
    let scratch = Scratch::new();
    filled(&scratch);
    Connection::open(scratch.dir.database())
        .unwrap()
        .pragma_update(None, "user_version", 99)
        .unwrap();
    let before = fs::read(scratch.dir.database()).unwrap();
    let error = SqliteStore::open(&scratch.dir).err().unwrap();
    assert!(
        matches!(
            error,
            StoreError::Newer {
                file_format: 99,
                newest_format: 4,
                ..
            }
        ),
        "{error}"
    );
    assert!(error.hint().contains("newer watchdog"));
    assert!(fs::read(scratch.dir.database()).unwrap() == before);
}

#[test]
fn first_format_migrates_without_losing_data() {
    let scratch = Scratch::new();
    filled(&scratch);
    let old = Connection::open(scratch.dir.database()).unwrap();
    old.execute_batch("DROP INDEX event_worktree; PRAGMA user_version = 1")
        .unwrap();
    let sequence = "SELECT seq FROM sqlite_sequence WHERE name = 'event'";
    let before: i64 = old.query_row(sequence, [], |row| row.get(0)).unwrap();
    drop(old);
    let store = SqliteStore::open(&scratch.dir).unwrap();
    assert!(store.get(&key()).unwrap().is_some());
    let plan: String = store
        .with("look", |c| {
            c.query_row(
                "EXPLAIN QUERY PLAN SELECT data FROM event WHERE worktree = '' ORDER BY seq DESC",
                [],
                |row| row.get(3),
            )
        })
        .unwrap();
    assert!(plan.contains("event_worktree"), "{plan}");
    let after: Vec<i64> = store
        .with("look", |c| {
            c.prepare(sequence)?
                .query_map([], |row| row.get(0))?
                .collect()
        })
        .unwrap();
    assert_eq!(after, [before], "no number of an event comes back");
}

#[test]
fn long_data_are_deflated_and_read_back() {
    let column = |data: &Value| packed_data(data);
    let short = json!({"ref": "refs/watchdog/rescue/1"});
    let long = json!({"paths": vec!["src/parser/part.rs"; 200]});
    assert_eq!(column(&short), ColumnValue::Text(short.to_string()));
    let ColumnValue::Blob(packed) = column(&long) else {
        panic!("it is long")
    };
    assert!(packed.len() < 200, "{} bytes", packed.len());
    for data in [short, long] {
        assert_eq!(read_data((&column(&data)).into()), data);
    }
    let mut garbled = packed.clone();
    garbled[20] ^= 1;
    let mut endless = packed.clone();
    endless[3] = 0xff;
    for bytes in [&garbled[..], &endless, &packed[..40], &packed[..2], b""] {
        let data = read_data(ValueRef::Blob(bytes));
        assert!(data["unreadable"].is_string(), "{data}");
    }
}

#[test]
fn foreign_database_is_refused_without_changing_a_byte() {
    for sql in [
        "CREATE TABLE mail (body TEXT)",
        "PRAGMA application_id = 5",
        "PRAGMA user_version = 3",
    ] {
        let scratch = Scratch::new();
        Connection::open(scratch.dir.database())
            .unwrap()
            .execute_batch(sql)
            .unwrap();
        let before = fs::read(scratch.dir.database()).unwrap();
        let error = SqliteStore::open(&scratch.dir).err().unwrap();
        assert!(
            matches!(error, StoreError::Foreign { .. }),
            "{sql}: {error}"
        );
        assert!(fs::read(scratch.dir.database()).unwrap() == before);
    }
}

#[test]
fn invalid_database_is_set_aside_and_replaced() {
    let scratch = Scratch::new();
    fs::write(
        scratch.dir.database(),
        "a letter to a friend, longer than a header. ".repeat(99),
    )
    .unwrap();
    assert_eq!(use_all(&scratch).unwrap(), ["store_damaged"]);
    assert!(
        fs::read_to_string(&scratch.damaged()[0])
            .unwrap()
            .starts_with("a letter")
    );
    assert_eq!(
        use_all(&scratch).unwrap(),
        [""; 0],
        "said once, then healthy"
    );
}

#[test]
fn unreadable_database_is_not_absent_and_keeps_log() {
    let scratch = Scratch::new();
    let database = scratch.dir.database();
    let log = database.with_file_name("watchdog.db-wal");
    // A link to itself: the system does not say what is there.
    std::os::unix::fs::symlink(&database, &database).unwrap();
    fs::write(&log, "the newest records").unwrap();
    let error = SqliteStore::open(&scratch.dir)
        .err()
        .expect("nobody knows whether there is a database");
    assert!(matches!(error, StoreError::Io { .. }), "{error}");
    assert_eq!(fs::read_to_string(&log).unwrap(), "the newest records");
}

#[test]
fn damage_during_work_costs_only_a_note() {
    let scratch = Scratch::new();
    filled(&scratch);
    let mut bytes = fs::read(scratch.dir.database()).unwrap();
    for page in bytes.chunks_mut(4096).skip(1) {
        page.fill(0);
    }
    let store = SqliteStore::open(&scratch.dir).unwrap();
    fs::write(scratch.dir.database(), &bytes).unwrap();
    let new = event(0);
    assert_eq!(store.append(&[new], None).unwrap(), AppendOutcome::Done);
    let notes: Vec<_> = store.notes().into_iter().collect();
    assert_eq!(
        notes.iter().map(|n| n.code.as_str()).collect::<Vec<_>>(),
        ["store_damaged"],
        "{notes:?}"
    );
    assert_eq!(store.newest(9).unwrap().len(), 1);
    assert!(store.notes().is_empty(), "told once");
}

#[test]
fn temporarily_unreadable_database_is_not_damaged() {
    let scratch = Scratch::new();
    filled(&scratch);
    let mut file = DatabaseFile::at(&scratch.dir, JournalMode::Ahead).unwrap();
    let tries = std::cell::Cell::new(0);
    // SQLite's word for a read that the disk failed.
    let malformed = || {
        rusqlite::Error::SqliteFailure(
            rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT),
            None,
        )
    };
    let fails = |times: u32| {
        let tries = &tries;
        tries.set(0);
        move |connection: &mut Connection| {
            tries.set(tries.get() + 1);
            if tries.get() <= times {
                return Err(malformed());
            }
            connection.query_row("SELECT count(*) FROM event", [], |row| row.get::<_, i64>(0))
        }
    };
    assert_eq!(file.attempt("count", &fails(1)).unwrap(), Some(200));
    assert_eq!((scratch.damaged().len(), file.take_notes().len()), (0, 0));
    assert_eq!(
        file.attempt("count", &fails(2)).unwrap(),
        None,
        "it is so on a new connection, too"
    );
    assert_eq!(
        file.take_notes().into_iter().next().map(|note| note.code),
        Some(WarningCode::StoreDamaged)
    );
    assert!(!scratch.damaged().is_empty());
}

#[test]
fn numbers_of_a_lost_database_never_come_back() {
    let scratch = Scratch::new();
    let store = SqliteStore::open(&scratch.dir).unwrap();
    let hour = std::time::Duration::from_secs(3600);
    let old = store.acquire(&key(), "a", hour).unwrap().unwrap();
    assert_eq!(
        store.append(&[event(1)], None).unwrap(),
        AppendOutcome::Done
    );
    let cursor = store.read_events(EventCursor::START, 9).unwrap().1;
    fs::remove_file(scratch.dir.database()).unwrap();
    assert_eq!(
        store.append(&[event(2)], None).unwrap(),
        AppendOutcome::Done
    );
    assert_eq!(
        store.notes().into_iter().next().map(|note| note.code),
        Some(WarningCode::StoreReplaced)
    );
    assert_eq!(
        store.read_events(cursor, 9).unwrap().0,
        [event(2)].map(|e| super::StoredEvent {
            id: store.newest(1).unwrap()[0].id.clone(),
            ..e
        })
    );
    let new = store.acquire(&key(), "b", hour).unwrap().unwrap();
    assert!(new.fence > old.fence);
    assert_eq!(
        store.append(&[event(3)], Some(&old)).unwrap(),
        AppendOutcome::Fenced
    );
}

#[test]
fn only_the_newest_damaged_databases_are_kept() {
    let scratch = Scratch::new();
    for n in 0..6 {
        fs::write(scratch.dir.database(), format!("garbage {n} ").repeat(999)).unwrap();
        assert_eq!(use_all(&scratch).unwrap(), ["store_damaged"]);
        settle(&scratch);
    }
    let damaged = scratch.damaged();
    assert_eq!(damaged.len(), 3, "{damaged:?}");
    assert!(
        fs::read_to_string(&damaged[2])
            .unwrap()
            .starts_with("garbage 5")
    );
}

/// A step of a small generator of reproducible numbers (Knuth's constants); a dependency would be too much for it.
fn next(state: &mut u64) -> u64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// 200 damaged variants: each gives a working store or an error with a remedy, and never a panic.
#[test]
fn two_hundred_kinds_of_damage_never_panic() {
    let sound = Scratch::new();
    filled(&sound);
    let sound = fs::read(sound.dir.database()).unwrap();
    let mut seed = 42;
    let (mut aside, mut refused, mut unnoticed) = (0, 0, 0);
    for variant in 0..200 {
        let mut bytes = sound.clone();
        let len = bytes.len() as u64;
        match variant % 5 {
            0 => bytes.truncate((next(&mut seed) % len) as usize),
            1 => {
                let pages = len / 4096;
                let page = (next(&mut seed) % pages) as usize;
                bytes[page * 4096..(page + 1) * 4096].fill(0);
            }
            2 => bytes[(next(&mut seed) % len) as usize] ^= 1 << (next(&mut seed) % 8),
            // The header and the schema, where a single bit changes most.
            3 => bytes[(next(&mut seed) % 1024) as usize] ^= 1 << (next(&mut seed) % 8),
            _ => {
                for _ in 0..50 {
                    bytes[(next(&mut seed) % len) as usize] = next(&mut seed) as u8;
                }
            }
        }
        let scratch = Scratch::new();
        fs::write(scratch.dir.database(), &bytes).unwrap();
        match use_all(&scratch) {
            Ok(notes) if notes.contains(&"store_damaged") => {
                aside += 1;
                assert!(!scratch.damaged().is_empty());
                assert_eq!(
                    use_all(&scratch).unwrap(),
                    [""; 0],
                    "variant {variant} is not healed"
                );
            }
            Ok(_) => unnoticed += 1,
            Err(StoreError::Foreign { .. } | StoreError::Newer { .. }) => refused += 1,
            Err(error) => panic!("variant {variant}: {error:?}"),
        }
    }
    assert!(
        aside > 90,
        "aside {aside}, refused {refused}, unnoticed {unnoticed}"
    );
}

#[test]
fn empty_file_and_lost_or_foreign_log_recover() {
    let scratch = Scratch::new();
    fs::write(scratch.dir.database(), "").unwrap();
    assert_eq!(use_all(&scratch).unwrap(), [""; 0]);

    // Killed in the middle: the log exists, and is then lost or belongs to another database.
    let copy = |from: &Scratch, companions: &[&str]| {
        let to = Scratch::new();
        for suffix in [&[""], companions].concat() {
            let name =
                |s: &Scratch| PathBuf::from(format!("{}{suffix}", s.dir.database().display()));
            fs::copy(name(from), name(&to)).unwrap();
        }
        to
    };
    filled(&scratch);
    let store = SqliteStore::open(&scratch.dir).unwrap();
    assert_eq!(
        store.append(&[event(1000)], None).unwrap(),
        AppendOutcome::Done
    );
    let last = |s: &Scratch| {
        SqliteStore::open(&s.dir).unwrap().newest(1).unwrap()[0]
            .at
            .as_second()
    };
    assert_eq!(last(&copy(&scratch, &["-wal", "-shm"])), 1000);
    assert_eq!(
        last(&copy(&scratch, &["-wal"])),
        1000,
        "the index of the log is made anew"
    );
    assert_eq!(
        last(&copy(&scratch, &[])),
        199,
        "without its log, the state of the last checkpoint"
    );

    let orphan = Scratch::new();
    let wal = |s: &Scratch| PathBuf::from(format!("{}-wal", s.dir.database().display()));
    fs::copy(wal(&scratch), wal(&orphan)).unwrap();
    assert_eq!(
        use_all(&orphan).unwrap(),
        [""; 0],
        "a log without a database is not taken for the new one's"
    );
    assert_eq!(orphan.damaged().len(), 1, "and is kept");
}

#[test]
fn log_left_to_another_process_loses_no_write() {
    let length = |scratch: &Scratch| {
        fs::metadata(format!("{}-wal", scratch.dir.database().display())).map_or(0, |log| log.len())
    };
    let left = |leaves_log: bool| {
        let scratch = Scratch::new();
        let store = SqliteStore::open(&scratch.dir).unwrap();
        for n in 0..10 {
            let value = vec![n; 100_000];
            assert!(matches!(
                store.cas(
                    &RowKey::new("test", &[&n.to_string()]),
                    ExpectedRevision::Absent,
                    &value
                ),
                Ok(SwapOutcome::Ok(_))
            ));
        }
        if leaves_log {
            store.leave_log();
        }
        drop(store);
        scratch
    };
    let (moved, kept) = (left(false), left(true));
    assert!(
        length(&moved) == 0 && length(&kept) > 1_000_000,
        "{} {}",
        length(&moved),
        length(&kept)
    );
    let again = SqliteStore::open(&kept.dir).unwrap();
    assert_eq!(
        (again.revisions("").unwrap().len(), again.notes().len()),
        (10, 0)
    );
    drop(again);
    assert_eq!(length(&kept), 0, "the next one moves it");
}

#[test]
fn database_is_fully_checked_after_a_kill() {
    let live = Scratch::new();
    filled(&live);
    let store = SqliteStore::open(&live.dir).unwrap();
    assert!(matches!(
        store
            .cas(&RowKey::new("test", &["b"]), ExpectedRevision::Absent, b"1")
            .unwrap(),
        SwapOutcome::Ok(_)
    ));
    let killed = |with_log: bool| {
        let copy = Scratch::new();
        let mut bytes = fs::read(live.dir.database()).unwrap();
        // A page in the middle of the journal, which neither the open nor the read below touches.
        let middle = bytes.len() / 2 / 4096 * 4096;
        bytes[middle..middle + 4096].fill(0);
        fs::write(copy.dir.database(), bytes).unwrap();
        if with_log {
            let wal = |s: &Scratch| PathBuf::from(format!("{}-wal", s.dir.database().display()));
            fs::copy(wal(&live), wal(&copy)).unwrap();
        }
        let store = SqliteStore::open(&copy.dir).unwrap();
        store.get(&key()).unwrap();
        store.notes().len()
    };
    assert_eq!(killed(true), 1);
    assert_eq!(
        killed(false),
        0,
        "a file that was closed in order is believed: the check would cost every start"
    );
}

#[test]
fn a_closed_store_leaves_no_open_file_behind() {
    let scratch = Scratch::new();
    drop(SqliteStore::open(&scratch.dir).unwrap());
    let root = scratch.dir.root().to_owned();
    let open = fs::read_dir("/proc/self/fd").unwrap().filter(|fd| {
        fs::read_link(fd.as_ref().unwrap().path()).is_ok_and(|to| to.starts_with(&root))
    });
    assert_eq!(open.count(), 0);
}
