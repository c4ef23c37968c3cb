//! Which conversations a worktree had when its baseline was recorded, and which of them its questions go to.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::row::{self, RecordType};
use crate::engine::Store;
use crate::error::StoreError;

/// The conversations of a spec since a baseline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationRecord {
    /// The instant of the baseline that this belongs to.
    pub baseline_at: Timestamp,
    /// The sessions whose transcripts were there by then, each with its size in bytes.
    pub before: Vec<(String, u64)>,
    /// The session that questions go to, once it is known, with how it is known.
    pub pinned: Option<(String, String)>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct ConversationV1 {
    baseline_at: Timestamp,
    before: Vec<(String, u64)>,
    #[serde(default)]
    pinned: Option<(String, String)>,
}

impl RecordType for ConversationRecord {
    type Disk = ConversationV1;
    const VERSION: u64 = 1;
    const KIND: &'static str = "conversation";

    fn to_disk(&self) -> ConversationV1 {
        ConversationV1 { baseline_at: self.baseline_at, before: self.before.clone(), pinned: self.pinned.clone() }
    }

    fn from_disk(disk: ConversationV1) -> Result<Self, String> {
        Ok(ConversationRecord { baseline_at: disk.baseline_at, before: disk.before, pinned: disk.pinned })
    }
}

/// Records the conversations in place of the former ones.
pub fn record(store: &dyn Store, worktree_id: &str, spec: &str, conversation: &ConversationRecord) -> Result<(), StoreError> {
    row::overwrite(store, &row::key::<ConversationRecord>(worktree_id, spec), conversation)
}

/// The conversations of a spec, if any are recorded.
pub fn of(store: &dyn Store, worktree_id: &str, spec: &str) -> Result<Option<ConversationRecord>, StoreError> {
    row::load(store, &row::key::<ConversationRecord>(worktree_id, spec))
}
