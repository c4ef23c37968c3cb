//! State of an agent's session between two hook calls: its worktree, and how often in a row it was kept from stopping.

use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::row::{self, RecordType};
use crate::codec::path_form;
use crate::engine::LocalStore;
use crate::error::StoreError;

/// A session that was not heard of for so long is forgotten; it may have been killed before it could say that it ends.
const KEPT: Duration = Duration::from_secs(30 * 86_400);

/// The record of one agent of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookedAgent {
    /// The top folder of the worktree that it works in.
    #[serde(with = "path_form")]
    pub worktree: PathBuf,
    /// The name of the work; `None` where the caller named none.
    pub spec: Option<String>,
    /// The agent's process. Alone no proof that it still runs: numbers are used again.
    pub pid: Option<u32>,
    /// The prompt that the counts belong to.
    pub prompt_id: Option<String>,
    /// How often in a row it was kept from stopping.
    pub held: u32,
    /// How often in a row its structured output was refused.
    pub denied: u32,
    /// The prompt and the call whose structured output was let pass.
    pub accepted: Option<(String, String)>,
    /// When it was last heard of.
    #[serde(rename = "heard_at")]
    pub last_event_at: Timestamp,
    /// When its last turn ended, as its stop hook reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_over_at: Option<Timestamp>,
    /// The facts about its claims that it, or the person, heard.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answered_facts: Vec<String>,
    /// The lines that it heard from turn to turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<TurnRecord>,
}

/// The lines of facts that a session heard, and the place in its transcript up to which they go.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TurnRecord {
    /// The facts of the last line that may call for another one.
    pub facts: String,
    /// The count of lines.
    pub lines: u32,
    /// The bytes of the transcript that were read.
    pub read_to: u64,
    /// The last test command in them, in words.
    pub test: Option<String>,
}

impl HookedAgent {
    /// An agent that was never held.
    pub fn new(worktree: PathBuf, spec: Option<String>, at: Timestamp) -> Self {
        HookedAgent {
            worktree,
            spec,
            last_event_at: at,
            ..HookedAgent::default()
        }
    }
}

impl RecordType for HookedAgent {
    const KIND: &'static str = "hook_session";
}

/// The name of the row of the agent that a person talks to; those of sub-agents have their ids.
pub const MAIN: &str = "-";
/// The name of the row of what a session heard, which outlives its end: a resumed session hears no fact twice.
pub const CLAIMS: &str = "claims";
/// The name of a repository's row of the snapshots of removed worktrees that were named.
pub const REMOVED: &str = "removed";

/// Records that the turn of a known session ended.
pub fn end_turn(store: &dyn LocalStore, session_id: &str, at: Timestamp) -> Result<(), StoreError> {
    let Some(session) = HookedAgent::read_row(store, session_id, MAIN)? else {
        return Ok(());
    };
    let session = HookedAgent {
        last_event_at: at,
        turn_over_at: Some(at),
        ..session
    };
    session.write_row(store, session_id, MAIN)
}

/// Forgets a session with its sub-agents, but for the facts that it heard.
pub fn forget_session(store: &dyn LocalStore, session_id: &str) -> Result<(), StoreError> {
    let mut keys = Vec::new();
    row::visit_rows::<HookedAgent>(store, &[session_id], |key, _| {
        if key.last_part() != CLAIMS {
            keys.push(key.clone());
        }
    })?;
    keys.iter()
        .try_for_each(|key| row::remove_row::<HookedAgent>(store, key))
}

/// Forgets the sessions that were not heard of for a month. For the beginning of another.
pub fn expire_sessions(store: &dyn LocalStore, now: Timestamp) -> Result<(), StoreError> {
    let mut old = Vec::new();
    row::visit_rows::<HookedAgent>(store, &[], |key, row| {
        if row.is_ok_and(|agent| now.duration_since(agent.last_event_at).unsigned_abs() > KEPT) {
            old.push(key.clone());
        }
    })?;
    old.iter()
        .try_for_each(|key| row::remove_row::<HookedAgent>(store, key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SqliteStore, StateDir};

    #[test]
    fn hook_sessions_are_separate_per_agent_and_expire() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::resolve(Some(folder.path().join("state")), None, None).unwrap();
        state.ensure().unwrap();
        let store = SqliteStore::open(&state).unwrap();
        let now: Timestamp = "2026-03-04T05:06:07Z".parse().unwrap();
        let session = |stops_held, last_event_at| HookedAgent {
            pid: Some(7),
            prompt_id: Some("p".into()),
            held: stops_held,
            denied: 1,
            accepted: Some(("p".into(), "t".into())),
            ..HookedAgent::new("/w".into(), None, last_event_at)
        };
        session(1, now).write_row(&store, "a", MAIN).unwrap();
        session(2, now).write_row(&store, "a", "sub").unwrap();
        session(3, now).write_row(&store, "a/b", MAIN).unwrap();
        assert_eq!(
            HookedAgent::read_row(&store, "a", MAIN).unwrap(),
            Some(session(1, now))
        );
        assert_eq!(
            HookedAgent::read_row(&store, "a", "sub")
                .unwrap()
                .map(|hooked_agent| hooked_agent.held),
            Some(2)
        );
        forget_session(&store, "a").unwrap();
        assert_eq!(
            (
                HookedAgent::read_row(&store, "a", MAIN).unwrap(),
                HookedAgent::read_row(&store, "a", "sub").unwrap()
            ),
            (None, None)
        );
        session(4, now - jiff::SignedDuration::from_hours(31 * 24))
            .write_row(&store, "old", MAIN)
            .unwrap();
        expire_sessions(&store, now).unwrap();
        assert_eq!(HookedAgent::read_row(&store, "old", MAIN).unwrap(), None);
        assert_eq!(
            HookedAgent::read_row(&store, "a/b", MAIN)
                .unwrap()
                .map(|hooked_agent| hooked_agent.held),
            Some(3)
        );
    }
}
