//! The one place where the records of this machine are opened, whatever engine keeps them.

use std::sync::Arc;

use crate::engine::LocalStore;
use crate::error::StoreError;
use crate::sqlite::SqliteStore;
use crate::state_dir::StateDir;

/// Opens the records in the state directory; makes them where there are none.
///
/// # Errors
/// If the database cannot be opened, is of a later version, or is damaged and cannot be put aside.
pub fn open_store(state: &StateDir) -> Result<Arc<dyn LocalStore>, StoreError> {
    Ok(Arc::new(SqliteStore::open(state)?))
}

/// Opens the records for a command that only reads, also where the state directory takes no writes.
///
/// # Errors
/// As [`open_store`], and where they cannot be read either.
pub fn open_store_to_read(state: &StateDir) -> Result<Arc<dyn LocalStore>, StoreError> {
    Ok(Arc::new(SqliteStore::open_to_read(state)?))
}
