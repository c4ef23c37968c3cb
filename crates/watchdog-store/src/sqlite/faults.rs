//! SQLite's errors, sorted by what they mean for us.

use std::fs::File;
use std::io;
use std::path::Path;

use rusqlite::{Connection, Error, ErrorCode};
use rustix::fs::Access;
use rustix::io::Errno;

use crate::error::StoreError;

/// Less free space than this counts as a full disk when SQLite can only say that input or output failed.
const NO_SPACE: u64 = 64 * 1024;

/// Whether the file itself is damaged, as opposed to an operation on it that failed.
///
/// Tables are strict, nothing in them may be null, and they are never dropped: a row or a schema that says otherwise is damage too.
pub(super) fn is_damage(error: &Error) -> bool {
    match error {
        Error::InvalidColumnType(..)
        | Error::FromSqlConversionFailure(..)
        | Error::QueryReturnedNoRows => true,
        Error::SqliteFailure(_, Some(why)) | Error::SqlInputError { msg: why, .. }
            if why.starts_with("no such table") || why.starts_with("no such column") =>
        {
            true
        }
        _ => matches!(
            error.sqlite_error_code(),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
        ),
    }
}

/// Whether the disk failed, so that the fate of the commit is unknown.
pub(super) fn is_io_failure(error: &Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::SystemIoFailure)
}

/// An error for people, with the system's own words where `connection` has them. `doing` is an infinitive.
pub(super) fn store_error(
    doing: &'static str,
    database: &Path,
    patience_seconds: u64,
    error: &Error,
    connection: Option<&Connection>,
) -> StoreError {
    let path = database.to_owned();
    match error.sqlite_error_code() {
        Some(
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::FileLockingProtocolFailed,
        ) => StoreError::Busy {
            path,
            seconds: patience_seconds,
        },
        Some(ErrorCode::DiskFull) => StoreError::Full {
            doing,
            path,
            why: error.to_string(),
        },
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            let why = rights_error(database)
                .map_or(error.to_string(), |refusal| format!("{error}: {refusal}"));
            StoreError::ReadOnly { doing, path, why }
        }
        Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) => {
            match connection
                .and_then(system_error)
                .or_else(|| rights_error(database))
            {
                Some(refusal) => StoreError::io(
                    doing,
                    database,
                    &io::Error::new(refusal.kind(), format!("{error}: {refusal}")),
                ),
                None if disk_is_full(database) => StoreError::Full {
                    doing,
                    path,
                    why: error.to_string(),
                },
                None => StoreError::Io {
                    doing,
                    path,
                    why: error.to_string(),
                },
            }
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreError::Damaged {
            path,
            why: error.to_string(),
        },
        _ => StoreError::Engine {
            doing,
            path,
            why: error.to_string(),
        },
    }
}

/// The system's error behind the last failed input or output of a connection. SQLite itself says "disk I/O error" for all of them.
fn system_error(connection: &Connection) -> Option<io::Error> {
    // SAFETY: the handle is that of a connection that stays open for this call, which reads one number and keeps nothing.
    let number = unsafe { rusqlite::ffi::sqlite3_system_errno(connection.handle()) };
    const TELLING: [Errno; 10] = [
        Errno::NOSPC,
        Errno::DQUOT,
        Errno::IO,
        Errno::ACCESS,
        Errno::PERM,
        Errno::ROFS,
        Errno::FBIG,
        Errno::MFILE,
        Errno::NOMEM,
        Errno::STALE,
    ];
    TELLING
        .into_iter()
        .find(|telling| telling.raw_os_error() == number)
        .map(io::Error::from)
}

/// Why this user may not use the database or its directory. Opens the directory alone: to close the database would drop SQLite's locks.
fn rights_error(database: &Path) -> Option<io::Error> {
    let dir = database.parent().unwrap_or(database);
    let access = |path: &Path, wanted| rustix::fs::access(path, wanted).map_err(io::Error::from);
    let opened = File::open(dir)
        .map(drop)
        .and_then(|()| access(dir, Access::WRITE_OK | Access::EXEC_OK));
    match opened.and_then(|()| access(database, Access::READ_OK | Access::WRITE_OK)) {
        Err(refusal) if refusal.kind() != io::ErrorKind::NotFound => Some(refusal),
        Err(_) | Ok(()) => None,
    }
}

fn disk_is_full(database: &Path) -> bool {
    let dir = database.parent().unwrap_or(database);
    rustix::fs::statvfs(dir).is_ok_and(|fs| fs.f_bavail.saturating_mul(fs.f_frsize) < NO_SPACE)
}
