//! When the old snapshots of a repository were last looked for, so that it is done once a day and not with every command.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::row::{self, RecordType};
use crate::engine::LocalStore;
use crate::error::StoreError;
use crate::key::RowKey;

/// The interval between two expiry runs.
const EVERY: Duration = Duration::from_secs(86_400);

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct LastExpiry {
    at: Timestamp,
}

impl RecordType for LastExpiry {
    const KIND: &'static str = "expiry";
}

/// Whether an expiry run is due. Several processes that ask at the same moment may all get `true`, and running twice does no harm: a sweep
/// of a thousand repositories must not wait a thousand times for a synchronised write.
///
/// A timestamp in the future comes from a wrong clock and is ignored.
pub fn is_expiry_due(
    store: &dyn LocalStore,
    repository_id: &str,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let key = RowKey::new(LastExpiry::KIND, &[repository_id]);
    let fresh = |at: Timestamp| now.duration_since(at).unsigned_abs() < EVERY;
    // Most calls end here, without a write.
    if row::load_row::<LastExpiry>(store, &key)?.is_some_and(|last| fresh(last.at)) {
        return Ok(false);
    }
    store.keep_hints(&[(key, row::encode_row(&LastExpiry { at: now }))])?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SqliteStore, StateDir};

    #[test]
    fn expiry_is_due_daily_per_repository() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::resolve(Some(folder.path().join("state")), None, None).unwrap();
        state.ensure().unwrap();
        let store = SqliteStore::open(&state).unwrap();
        let start: Timestamp = "2026-03-04T05:06:07Z".parse().unwrap();
        let hours = |n: i64| start + jiff::SignedDuration::from_hours(n);
        assert!(is_expiry_due(&store, "a", start).unwrap());
        assert!(!is_expiry_due(&store, "a", hours(23)).unwrap());
        assert!(is_expiry_due(&store, "b", start).unwrap());
        assert!(is_expiry_due(&store, "a", hours(24)).unwrap());
        assert!(!is_expiry_due(&store, "a", hours(25)).unwrap());
        assert!(
            is_expiry_due(&store, "a", hours(-100)).unwrap(),
            "a clock that was set back must not end expiry for ever"
        );
    }
}
