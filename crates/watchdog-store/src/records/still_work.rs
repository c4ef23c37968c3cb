//! The work of a spec as it was last seen where the end of its session is unknown: it may be committed only once it stood still.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use watchdog_core::decision::session_life::RecordedState;

use super::row::RecordType;
use crate::engine::LocalStore;
use crate::error::StoreError;

/// The work as it was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StillWork {
    /// When the baseline was recorded that this belongs to.
    pub baseline_at: Timestamp,
    /// Its state, and when that state was first seen.
    #[serde(flatten)]
    pub recorded: RecordedState,
}

impl RecordType for StillWork {
    const KIND: &'static str = "still_work";
}

/// The recorded state of a spec's work since this baseline, if there is one.
pub fn read_state_since(
    store: &dyn LocalStore,
    worktree_id: &str,
    spec: &str,
    baseline_at: Timestamp,
) -> Result<Option<RecordedState>, StoreError> {
    let work: Option<StillWork> = StillWork::read_row(store, worktree_id, spec)?;
    Ok(work
        .filter(|work| work.baseline_at == baseline_at)
        .map(|work| work.recorded))
}
