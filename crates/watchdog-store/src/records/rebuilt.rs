//! Up to which damaged database the records of a repository were brought back from git.

use serde::{Deserialize, Serialize};

use super::row::{self, RecordType};
use crate::engine::LocalStore;
use crate::error::StoreError;
use crate::key::RowKey;

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct RebuiltRecord {
    through: String,
}

impl RecordType for RebuiltRecord {
    const KIND: &'static str = "rebuilt";
}

pub(super) fn rebuilt_key(repository_id: &str) -> RowKey {
    RowKey::new(RebuiltRecord::KIND, &[repository_id])
}

/// Records that the records of a repository were brought back after this damaged database, named by its file.
pub fn record_rebuilt(
    store: &dyn LocalStore,
    repository_id: &str,
    damaged: &str,
) -> Result<(), StoreError> {
    row::overwrite_row(
        store,
        &rebuilt_key(repository_id),
        &RebuiltRecord {
            through: damaged.to_owned(),
        },
    )
}

/// Whether they were brought back since this damaged database was put aside.
pub fn is_rebuilt(
    store: &dyn LocalStore,
    repository_id: &str,
    damaged: &str,
) -> Result<bool, StoreError> {
    // The names of damaged databases are in the order of their times.
    Ok(
        row::load_row::<RebuiltRecord>(store, &rebuilt_key(repository_id))?
            .is_some_and(|rebuilt| *rebuilt.through >= *damaged),
    )
}
