//! SQLite's errors, sorted by what they mean for us.

use std::path::Path;

use rusqlite::{Error, ErrorCode};

use crate::error::StoreError;

/// Less free space than this counts as a full disk when SQLite can only say that input or output failed.
const NO_SPACE: u64 = 64 * 1024;

/// Whether the file itself is damaged, as opposed to an operation on it that failed.
///
/// Tables are strict, nothing in them may be null, and they are never dropped: a row or a schema that says otherwise is damage too.
pub(super) fn is_damage(error: &Error) -> bool {
    match error {
        Error::InvalidColumnType(..) | Error::FromSqlConversionFailure(..) | Error::QueryReturnedNoRows => true,
        Error::SqliteFailure(_, Some(why)) | Error::SqlInputError { msg: why, .. }
            if why.starts_with("no such table") || why.starts_with("no such column") =>
        {
            true
        }
        _ => matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)),
    }
}

/// Whether the disk failed, so that the fate of the commit is unknown.
pub(super) fn is_io_failure(error: &Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::SystemIoFailure)
}

/// An error for people. `doing` is an infinitive.
pub(super) fn store_error(doing: &'static str, database: &Path, patience_seconds: u64, error: &Error) -> StoreError {
    let path = database.to_owned();
    let why = error.to_string();
    let dir = database.parent().unwrap_or(database);
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed) => {
            StoreError::Busy { path, seconds: patience_seconds }
        }
        Some(ErrorCode::DiskFull) => StoreError::Full { doing, path, why },
        Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) if disk_is_full(dir) => StoreError::Full { doing, path, why },
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => StoreError::ReadOnly { doing, path, why },
        Some(ErrorCode::CannotOpen | ErrorCode::SystemIoFailure) if !is_writable(dir) => StoreError::ReadOnly { doing, path, why },
        Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) => StoreError::Io { doing, path, why },
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreError::Damaged { path, why },
        _ => StoreError::Engine { doing, path, why },
    }
}

fn disk_is_full(dir: &Path) -> bool {
    rustix::fs::statvfs(dir).is_ok_and(|fs| fs.f_bavail.saturating_mul(fs.f_frsize) < NO_SPACE)
}

fn is_writable(dir: &Path) -> bool {
    rustix::fs::access(dir, rustix::fs::Access::WRITE_OK).is_ok()
}
