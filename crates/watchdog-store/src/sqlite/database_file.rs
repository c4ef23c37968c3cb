//! A database file in its place: opened, created, migrated, checked after a crash, put aside when
//! damaged.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::faults::{is_damage, store_error};
use crate::access_lock::{AccessGuard, AccessLock};
use crate::clock::wall_micros;
use crate::error::StoreError;
use crate::file::open_private;
use crate::lock_patience::{PATIENCE, try_again};
use crate::notes::StoreNotes;
use crate::state_dir::StateDir;
use watchdog_facts::evidence::{Degradation, WarningCode};
use watchdog_system::is_missing;

/// "wdog" in the file's header: identifies our databases.
const APPLICATION_ID: i32 = 0x7764_6f67;

/// The migrations, in order; the number of those applied is the file's `user_version`. Only ever appended to.
const MIGRATIONS: &[&str] = &[
    include_str!("schema_1.sql"),
    include_str!("schema_2.sql"),
    include_str!("schema_3.sql"),
    include_str!("schema_4.sql"),
];

/// The format of the records that this program writes. A newer one is refused.
pub const STORE_FORMAT: usize = MIGRATIONS.len();

/// A log of fewer bytes than this may stay behind.
const SHORT_LOG: u64 = 256 << 10;

/// The files that SQLite keeps beside a database.
pub(super) const COMPANIONS: [&str; 3] = ["-wal", "-shm", "-journal"];

/// How changes are made safe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JournalMode {
    /// Write-ahead log: readers and a writer side by side.
    Ahead,
    /// Rollback journal, for file systems on which processes cannot share memory.
    Rollback,
}

/// The database file, the connection to it, and who else is there.
pub(super) struct DatabaseFile {
    /// First, so that it is closed before `presence` says that we are gone.
    connected: Option<OpenConnection>,
    pub(super) database: PathBuf,
    pub(super) access_lock: AccessLock,
    /// Held shared while we may be connected: a process that gets it exclusively knows that no other is connected.
    presence: AccessLock,
    journal: JournalMode,
    notes: StoreNotes,
    /// Whether the directory takes no writes: what was written before can be read.
    is_read_only: bool,
    /// Another process moves the log, however long it is.
    leaves_log: bool,
}

pub(super) struct OpenConnection {
    pub(super) connection: Connection,
    pub(super) identity: (u64, u64),
}

/// The state of the database file.
enum DatabaseState {
    Ready,
    /// Missing, empty, of an older format, or in the other journal mode.
    NeedsSetup,
}

/// Why a connection could not be made usable.
pub(super) enum ConnectionFault {
    Sqlite(rusqlite::Error),
    Refused(StoreError),
}

impl From<rusqlite::Error> for ConnectionFault {
    fn from(error: rusqlite::Error) -> Self {
        ConnectionFault::Sqlite(error)
    }
}

impl Drop for DatabaseFile {
    /// A process that writes one verdict and ends must not pay for moving the log into the database each time. A short log
    /// stays where it is, and the next process reads it once; a longer one is moved, as SQLite does by itself.
    fn drop(&mut self) {
        if let Some(connected) = self.connected.take() {
            let short = self.leaves_log
                || fs::metadata(self.companion("-wal")).is_ok_and(|meta| meta.len() < SHORT_LOG);
            // A refusal changes nothing for us: then the log is moved now.
            let _ = connected
                .connection
                .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, short);
        }
        if let Some(_guard) = self.presence.try_alone() {
            self.presence.say_left_in_order(true);
        }
    }
}

impl DatabaseFile {
    pub(super) fn open(dir: &StateDir) -> Result<Self, StoreError> {
        let journal = journal_for(dir.root());
        let mut file = DatabaseFile::at(dir, journal)?;
        if journal == JournalMode::Rollback {
            file.note(
                WarningCode::StateOnNetworkFs,
                format!(
                    "{} is on a network file system: slower, and less safe",
                    dir.root().display()
                ),
            );
        }
        file.connect()?;
        Ok(file)
    }

    /// A site that is not connected yet.
    pub(super) fn at(dir: &StateDir, journal: JournalMode) -> Result<Self, StoreError> {
        Ok(DatabaseFile {
            database: dir.database(),
            access_lock: AccessLock::open(&dir.locks().join("store.gate"))?,
            presence: AccessLock::open(&dir.locks().join("store.presence"))?,
            journal,
            connected: None,
            notes: StoreNotes::default(),
            is_read_only: false,
            leaves_log: false,
        })
    }

    /// Opens a database that takes no writes, which `refusal` says.
    pub(super) fn open_read_only(dir: &StateDir, refusal: &StoreError) -> Result<Self, StoreError> {
        let mut file = DatabaseFile {
            database: dir.database(),
            access_lock: AccessLock::open_read_only(&dir.locks().join("store.gate"))?,
            presence: AccessLock::open_read_only(&dir.locks().join("store.presence"))?,
            journal: journal_for(dir.root()),
            connected: None,
            notes: StoreNotes::default(),
            is_read_only: true,
            leaves_log: true,
        };
        file.connect()?;
        file.note(
            WarningCode::JournalUnwritable,
            format!("{refusal}; the records are shown as they were written last"),
        );
        Ok(file)
    }

    pub(super) fn database(&self) -> &Path {
        &self.database
    }

    pub(super) fn leave_log(&mut self) {
        self.leaves_log = true;
    }

    pub(super) fn take_notes(&mut self) -> StoreNotes {
        std::mem::take(&mut self.notes)
    }

    /// Runs one operation. Returns `None` after putting a damaged database aside.
    ///
    /// SQLite calls a database malformed also where the disk failed to read it once. So it is damaged only if it is on a new connection,
    /// too; the operation is a transaction that was rolled back.
    pub(super) fn attempt<T>(
        &mut self,
        doing: &'static str,
        op: &impl Fn(&mut Connection) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        let mut is_second = false;
        loop {
            let Some((guard, mut connected)) = self.enter()? else {
                return Ok(None);
            };
            let result = op(&mut connected.connection);
            drop(guard);
            match result {
                Ok(done) => {
                    self.connected = Some(connected);
                    return Ok(Some(done));
                }
                Err(error) if is_damage(&error) && is_second => {
                    self.put_aside(Some(connected), &error.to_string())?;
                    return Ok(None);
                }
                Err(error) if is_damage(&error) => {
                    leave_log(&connected.connection);
                    is_second = true;
                }
                Err(error) => {
                    let failure = store_error(
                        doing,
                        &self.database,
                        PATIENCE.as_secs(),
                        &error,
                        Some(&connected.connection),
                    );
                    self.connected = Some(connected);
                    return Err(failure);
                }
            }
        }
    }

    /// Takes the connection with the access lock, under which no process replaces the file; `None`
    /// if the file was put aside before that.
    fn enter(&mut self) -> Result<Option<(AccessGuard, OpenConnection)>, StoreError> {
        for _ in 0..2 {
            if let Some(connected) = &self.connected {
                let (guard, expected) = (
                    self.access_lock.lock_shared(&self.database)?,
                    connected.identity,
                );
                if read_identity(&self.database)? == Some(expected) {
                    return Ok(self.connected.take().map(|connected| (guard, connected)));
                }
            }
            self.connect()?;
        }
        Ok(None)
    }

    /// Sees to it that we are connected to the file that is in place now.
    fn connect(&mut self) -> Result<(), StoreError> {
        if let Some(connected) = &self.connected {
            if read_identity(&self.database)? == Some(connected.identity) {
                return Ok(());
            }
            self.connected = None;
            self.note(
                WarningCode::StoreReplaced,
                format!(
                    "{} was moved or deleted while in use; what is there now is used instead",
                    self.database.display()
                ),
            );
        }
        // The last process may have been killed: then no process holds `presence`, and the log is not empty.
        let unclean = match self.presence.try_alone() {
            Some(_guard) => {
                // An unreadable file may be there.
                let is_left = |suffix| {
                    fs::metadata(self.companion(suffix))
                        .map_or_else(|e| !is_missing(&e), |meta| meta.len() > 0)
                };
                let has_log = ["-wal", "-journal"].into_iter().any(is_left);
                let unclean = has_log && !self.presence.was_left_in_order();
                self.presence.say_left_in_order(false);
                unclean
            }
            None => false,
        };
        self.presence.stay(&self.database)?;
        // Each turn either succeeds, fails, or puts one damaged file aside.
        for _ in 0..3 {
            match self.try_connect(unclean) {
                Ok(connected) => {
                    self.connected = Some(connected);
                    return Ok(());
                }
                Err(ConnectionFault::Refused(error)) => return Err(error),
                Err(ConnectionFault::Sqlite(error)) if is_damage(&error) => {
                    self.put_aside(None, &error.to_string())?
                }
                Err(ConnectionFault::Sqlite(error)) => return Err(self.open_failure(&error)),
            }
        }
        Err(StoreError::Damaged {
            path: self.database.clone(),
            why: "every fresh database was damaged at once, as by a failing disk".into(),
        })
    }

    fn try_connect(&mut self, unclean: bool) -> Result<OpenConnection, ConnectionFault> {
        {
            let _guard = self
                .access_lock
                .lock_shared(&self.database)
                .map_err(ConnectionFault::Refused)?;
            if let Some(identity) =
                read_identity(&self.database).map_err(ConnectionFault::Refused)?
            {
                let connection = self.connection()?;
                if let DatabaseState::Ready = self.state(&connection, unclean)? {
                    return Ok(OpenConnection {
                        connection,
                        identity,
                    });
                }
            }
        }
        if self.is_read_only {
            let why = "there are no records in it".to_owned();
            return Err(ConnectionFault::Refused(StoreError::ReadOnly {
                doing: "create",
                path: self.database.clone(),
                why,
            }));
        }
        let _guard = self
            .access_lock
            .alone(&self.database)
            .map_err(ConnectionFault::Refused)?;
        let fresh = read_identity(&self.database)
            .map_err(ConnectionFault::Refused)?
            .is_none();
        if fresh {
            // A log without its database would be taken for that of the new one.
            self.move_companions(&self.name_for_damaged())
                .map_err(ConnectionFault::Refused)?;
            drop(open_private(&self.database).map_err(ConnectionFault::Refused)?);
        }
        let mut connection = self.connection()?;
        if let DatabaseState::NeedsSetup = self.state(&connection, false)? {
            let done = set_up(&mut connection).and_then(|()| self.choose_journal(&connection));
            if !done.map_err(|error| self.explain(&connection, error.into()))? {
                self.note(
                    WarningCode::StoreJournalMode,
                    format!(
                        "{} stays in its old journal mode while others have it open",
                        self.database.display()
                    ),
                );
            }
        }
        let identity = read_identity(&self.database)
            .map_err(ConnectionFault::Refused)?
            .ok_or_else(|| {
                ConnectionFault::Refused(StoreError::Io {
                    doing: "open",
                    path: self.database.clone(),
                    why: "it vanished".into(),
                })
            })?;
        Ok(OpenConnection {
            connection,
            identity,
        })
    }

    pub(super) fn connection(&self) -> Result<Connection, ConnectionFault> {
        let mut connection = match self.is_read_only {
            false => Connection::open_with_flags(
                &self.database,
                OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
            )?,
            true => Connection::open_with_flags(
                self.read_only_uri(),
                OpenFlags::SQLITE_OPEN_READ_ONLY
                    | OpenFlags::SQLITE_OPEN_NO_MUTEX
                    | OpenFlags::SQLITE_OPEN_URI,
            )?,
        };
        configure_connection(&mut connection)
            .map_err(|error| self.explain(&connection, error.into()))?;
        Ok(connection)
    }

    /// Without a log SQLite would make one, where it may not: then it is to take the file as one that does not change.
    fn read_only_uri(&self) -> String {
        let encoded: String = self
            .database
            .as_os_str()
            .as_bytes()
            .iter()
            .map(|byte| format!("%{byte:02x}"))
            .collect();
        let has_log = fs::metadata(self.companion("-wal")).is_ok_and(|meta| meta.len() > 0);
        format!("file:{encoded}?immutable={}", if has_log { 0 } else { 1 })
    }

    pub(super) fn open_failure(&self, error: &rusqlite::Error) -> StoreError {
        store_error(
            "open the database",
            &self.database,
            PATIENCE.as_secs(),
            error,
            None,
        )
    }

    /// The fault with the system's own error, which only the connection that met it has.
    pub(super) fn explain(
        &self,
        connection: &Connection,
        fault: ConnectionFault,
    ) -> ConnectionFault {
        match fault {
            ConnectionFault::Sqlite(error) if !is_damage(&error) => {
                let explained = store_error(
                    "open the database",
                    &self.database,
                    PATIENCE.as_secs(),
                    &error,
                    Some(connection),
                );
                ConnectionFault::Refused(explained)
            }
            fault => fault,
        }
    }

    /// Reads only, so that a refused database stays untouched; all of the file where it may have been left in the middle of a write.
    fn state(
        &self,
        connection: &Connection,
        unclean: bool,
    ) -> Result<DatabaseState, ConnectionFault> {
        let state = self.header_state(connection).and_then(|state| match state {
            DatabaseState::Ready if unclean => Ok(check_database(connection).map(|()| state)?),
            state => Ok(state),
        });
        state.map_err(|fault| self.explain(connection, fault))
    }

    fn header_state(&self, connection: &Connection) -> Result<DatabaseState, ConnectionFault> {
        // Writers of these hold the access lock exclusively, so that both values are of one moment.
        let application: i32 =
            connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
        let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        let newest_version = MIGRATIONS.len() as i64;
        let path = || self.database.clone();
        if application != APPLICATION_ID {
            let tables: i64 =
                connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
            let empty = application == 0 && version == 0 && tables == 0;
            return if empty {
                Ok(DatabaseState::NeedsSetup)
            } else {
                Err(ConnectionFault::Refused(StoreError::Foreign {
                    path: path(),
                }))
            };
        }
        if version > newest_version {
            return Err(ConnectionFault::Refused(StoreError::Newer {
                path: path(),
                file_format: version,
                newest_format: newest_version,
            }));
        }
        if self.is_read_only {
            let why = "it is of an older format, which this watchdog reads only once it may write"
                .to_owned();
            let migrate = || {
                ConnectionFault::Refused(StoreError::ReadOnly {
                    doing: "migrate",
                    path: path(),
                    why,
                })
            };
            return if version == newest_version {
                Ok(DatabaseState::Ready)
            } else {
                Err(migrate())
            };
        }
        let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
        Ok(
            if version == newest_version && mode == self.journal.word() {
                DatabaseState::Ready
            } else {
                DatabaseState::NeedsSetup
            },
        )
    }

    /// Returns whether the mode is the wanted one now.
    fn choose_journal(&self, connection: &Connection) -> rusqlite::Result<bool> {
        let mode: String = connection.pragma_update_and_check(
            None,
            "journal_mode",
            self.journal.word(),
            |row| row.get(0),
        )?;
        Ok(mode == self.journal.word())
    }

    pub(super) fn companion(&self, suffix: &str) -> PathBuf {
        with_suffix(&self.database, suffix)
    }

    pub(super) fn note(&mut self, code: WarningCode, detail: String) {
        self.notes.push(Degradation { code, detail });
    }
}

impl JournalMode {
    fn word(self) -> &'static str {
        match self {
            JournalMode::Ahead => "wal",
            JournalMode::Rollback => "delete",
        }
    }
}

pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

fn configure_connection(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.busy_handler(Some(try_again))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "mmap_size", 0)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    // Stops SQLite from planning a statement again for other values: ours are written for one plan.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "journal_size_limit", 4 << 20)?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(())
}

/// Tells one file from its successor of the same name; `None` where there is none. Never opens it: closing it would drop SQLite's locks.
///
/// # Errors
/// If the system does not say whether it is there: taken for absent, it would be begun anew, and
/// its log, with the newest records, put aside.
pub(super) fn read_identity(path: &Path) -> Result<Option<(u64, u64)>, StoreError> {
    match fs::metadata(path) {
        Ok(meta) => Ok(Some((meta.dev(), meta.ino()))),
        Err(e) if is_missing(&e) => Ok(None),
        Err(e) => Err(StoreError::io("look at", path, &e)),
    }
}

/// Creates what is missing up to the newest format, all or nothing.
fn set_up(connection: &mut Connection) -> rusqlite::Result<()> {
    let tx = connection.transaction_with_behavior(TransactionBehavior::Exclusive)?;
    let version: i64 = tx.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let applied = usize::try_from(version).unwrap_or(0);
    for migration in &MIGRATIONS[applied.min(MIGRATIONS.len())..] {
        tx.execute_batch(migration)?;
    }
    if applied == 0 {
        // Revisions, fences and cursors count on from the clock, so that those of a database that was lost never come back.
        let origin = wall_micros();
        tx.execute("INSERT INTO counter (value) VALUES (?1)", [origin])?;
        tx.execute(
            "INSERT INTO sqlite_sequence (name, seq) VALUES ('event', ?1)",
            [origin],
        )?;
        tx.pragma_update(None, "application_id", APPLICATION_ID)?;
    }
    tx.pragma_update(None, "user_version", MIGRATIONS.len() as i64)?;
    tx.commit()
}

/// Closing must not write the log into a damaged file, which is evidence. A refusal changes nothing for us.
pub(super) fn leave_log(connection: &Connection) {
    let _ = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
}

/// SQLite's own check of the whole file; an error that counts as damage where it finds fault.
pub(super) fn check_database(connection: &Connection) -> rusqlite::Result<()> {
    let verdict: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if verdict == "ok" {
        return Ok(());
    }
    Err(rusqlite::Error::SqliteFailure(
        rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT),
        Some(verdict),
    ))
}

fn journal_for(dir: &Path) -> JournalMode {
    // If the kind is not known, assume a local file system: SQLite itself refuses a log that it
    // cannot share.
    watchdog_system::file_system_kind(dir).map_or(JournalMode::Ahead, journal_on)
}

/// The journal mode for a file system, by its magic number from `statfs(2)`.
pub(super) fn journal_on(magic: u32) -> JournalMode {
    match magic {
        // nfs, smb, smb2, cifs, fuse (sshfs and the like), 9p, afs (two of them), ceph, coda, ncp, lustre, gfs2, ocfs2, vboxsf
        0x6969 | 0x517b | 0xfe53_4d42 | 0xff53_4d42 | 0x6573_5546 | 0x0102_1997 | 0x5346_414f
        | 0x6b41_4653 | 0x00c3_6400 | 0x7375_7245 | 0x564c | 0x0bd0_0bd0 | 0x0116_1970
        | 0x7461_636f | 0x786f_4256 => JournalMode::Rollback,
        _ => JournalMode::Ahead,
    }
}
