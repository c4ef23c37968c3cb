//! Which conversations a worktree had when its baseline was recorded, and which of them its questions go to.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::row::{self, SingleVersionRecord};
use crate::engine::LocalStore;
use crate::error::StoreError;

/// The conversations of a spec since a baseline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpecConversations {
    /// The instant of the baseline that this belongs to.
    pub baseline_at: Timestamp,
    /// The sessions whose transcripts were there by then, each with its size in bytes.
    pub before: Vec<(String, u64)>,
    /// The session that questions go to, once it is known, with how it is known.
    #[serde(default)]
    pub pinned: Option<(String, String)>,
}

impl SingleVersionRecord for SpecConversations {
    const NAME: &'static str = "conversation";
}

/// Records the conversations in place of the former ones.
pub fn record(
    store: &dyn LocalStore,
    worktree_id: &str,
    spec: &str,
    conversation: &SpecConversations,
) -> Result<(), StoreError> {
    row::overwrite(
        store,
        &row::key::<SpecConversations>(worktree_id, spec),
        conversation,
    )
}

/// The conversations of a spec, if any are recorded.
pub fn of(
    store: &dyn LocalStore,
    worktree_id: &str,
    spec: &str,
) -> Result<Option<SpecConversations>, StoreError> {
    row::load(store, &row::key::<SpecConversations>(worktree_id, spec))
}
