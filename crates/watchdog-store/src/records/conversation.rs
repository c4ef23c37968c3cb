//! Which conversations a worktree had when its baseline was recorded, and which of them its questions go to.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::baseline;
use super::row::RecordType;
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
    /// The agents that were seen at work since then, by their processes or own lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seen: Vec<String>,
}

impl RecordType for SpecConversations {
    const KIND: &'static str = "conversation";
}

/// Records that an agent was seen at work since the latest baseline of a worktree.
pub fn note_agent(
    store: &dyn LocalStore,
    worktree_id: &str,
    agent: &str,
) -> Result<(), StoreError> {
    let Some((spec, _)) = baseline::read_latest_baseline(store, worktree_id)? else {
        return Ok(());
    };
    let Some(mut conversation) = SpecConversations::read_row(store, worktree_id, &spec)? else {
        return Ok(());
    };
    if conversation.seen.iter().any(|seen| seen == agent) {
        return Ok(());
    }
    conversation.seen.push(agent.to_owned());
    conversation.write_row(store, worktree_id, &spec)
}
