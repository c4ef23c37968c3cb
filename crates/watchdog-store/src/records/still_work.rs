//! The work of a spec as it was last seen where the end of its session is unknown: it may be committed only once it stood still.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use watchdog_core::decision::session_life::{ClockReading, RecordedState};

use super::row::{self, RecordType};
use crate::engine::LocalStore;
use crate::error::StoreError;

/// The work as it was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StillWork {
    /// When the baseline was recorded that this belongs to.
    pub baseline_at: Timestamp,
    /// Its state, and when that state was first seen.
    pub recorded: RecordedState,
}

#[derive(Serialize, Deserialize)]
pub(super) struct StillWorkV1 {
    baseline_at: Timestamp,
    state: String,
    at: Timestamp,
    boot: Option<String>,
    awake_ms: u64,
    since_boot_ms: u64,
    moved: bool,
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl RecordType for StillWork {
    type Disk = StillWorkV1;
    const VERSION: u64 = 1;
    const KIND: &'static str = "still_work";

    fn to_disk(&self) -> StillWorkV1 {
        let ClockReading {
            wall,
            boot,
            awake,
            since_boot,
        } = self.recorded.seen.clone();
        StillWorkV1 {
            baseline_at: self.baseline_at,
            state: self.recorded.state.clone(),
            at: wall,
            boot,
            awake_ms: millis(awake),
            since_boot_ms: millis(since_boot),
            moved: self.recorded.moved,
        }
    }

    fn from_disk(disk: StillWorkV1) -> Result<Self, String> {
        let seen = ClockReading {
            wall: disk.at,
            boot: disk.boot,
            awake: Duration::from_millis(disk.awake_ms),
            since_boot: Duration::from_millis(disk.since_boot_ms),
        };
        Ok(StillWork {
            baseline_at: disk.baseline_at,
            recorded: RecordedState {
                state: disk.state,
                seen,
                moved: disk.moved,
            },
        })
    }
}

/// Records it in place of the former one.
pub fn record(
    store: &dyn LocalStore,
    worktree_id: &str,
    spec: &str,
    work: &StillWork,
) -> Result<(), StoreError> {
    row::overwrite(store, &row::key::<StillWork>(worktree_id, spec), work)
}

/// The recorded state of a spec's work since this baseline, if there is one.
pub fn since(
    store: &dyn LocalStore,
    worktree_id: &str,
    spec: &str,
    baseline_at: Timestamp,
) -> Result<Option<RecordedState>, StoreError> {
    let work: Option<StillWork> = row::load(store, &row::key::<StillWork>(worktree_id, spec))?;
    Ok(work
        .filter(|work| work.baseline_at == baseline_at)
        .map(|work| work.recorded))
}

/// Forgets it.
pub fn forget(store: &dyn LocalStore, worktree_id: &str, spec: &str) -> Result<(), StoreError> {
    row::remove::<StillWork>(store, &row::key::<StillWork>(worktree_id, spec))
}
