//! The last session of a spec in a worktree: whom a probe resumes, and what is still running. Earlier ones are in the journal.

use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use watchdog_core::decision::survivor_quiet::QuietPeriod;
use watchdog_facts::agent_source::AgentSource;
use watchdog_facts::evidence::read_if_known;
use watchdog_facts::session_exit::SessionExit;

use super::row::{self, RecordType};
use crate::engine::LocalStore;
use crate::error::StoreError;

/// A session as it is recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRecord {
    /// The agent's own name for it, once known.
    pub session_id: Option<String>,
    /// The agent that ran it, by the name or path of its preset; `None` where that is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// How that agent, or the id, is known; `None` where nothing named either, and in old records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_source: Option<AgentSource>,
    /// The preset whose rules its output is read by as well, by name or path, where no command line named the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_as: Option<String>,
    /// Its first process. Alone no proof that it still runs: numbers are used again.
    pub pid: Option<u32>,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended; `None` while it runs, or when watchdog was killed before it could know.
    pub ended_at: Option<Timestamp>,
    /// How its process ended, where watchdog ran it. An end that this version does not know is none.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "read_if_known"
    )]
    pub exit: Option<SessionExit>,
    /// The log of its output.
    #[serde(with = "crate::codec::optional_path_form")]
    pub log: Option<PathBuf>,
    /// The folder that it began in, where that is not the top of the worktree: its agent keeps its conversation by that name.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "crate::codec::optional_path_form"
    )]
    pub folder: Option<PathBuf>,
    /// How long it may be silent before it counts as stalled, where watchdog ran it with such a limit.
    #[serde(
        default,
        rename = "idle_limit_ms",
        with = "watchdog_facts::millis::optional"
    )]
    pub idle_limit: Option<Duration>,
    /// The processes that outlived it, by pid and name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub survivors: Vec<(u32, String)>,
    /// Since when nothing was seen of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet: Option<QuietPeriod>,
}

impl SessionRecord {
    /// A session that runs since `started_at`, and of which nothing else is known.
    pub fn began(started_at: Timestamp) -> Self {
        SessionRecord {
            started_at,
            ..SessionRecord::default()
        }
    }
}

impl RecordType for SessionRecord {
    const KIND: &'static str = "session";
}

/// Withdraws the record of a session that failed to start, and restores the former record, if there was one.
pub fn put_back(
    store: &dyn LocalStore,
    (worktree_id, spec): (&str, &str),
    former: Option<&SessionRecord>,
) -> Result<(), StoreError> {
    match former {
        Some(former) => former.write_row(store, worktree_id, spec),
        None => SessionRecord::forget_row(store, worktree_id, spec),
    }
}

/// The readable sessions of a worktree, with their specs.
pub fn of_worktree(
    store: &dyn LocalStore,
    worktree_id: &str,
) -> Result<Vec<(String, SessionRecord)>, StoreError> {
    let mut sessions = Vec::new();
    row::visit_rows::<SessionRecord>(store, &[worktree_id], |key, row| {
        sessions.extend(row.ok().map(|session| (key.last_part(), session)))
    })?;
    Ok(sessions)
}

/// The session of a worktree that began last, with its spec.
pub fn read_latest_session(
    store: &dyn LocalStore,
    worktree_id: &str,
) -> Result<Option<(String, SessionRecord)>, StoreError> {
    Ok(of_worktree(store, worktree_id)?
        .into_iter()
        .max_by_key(|(_, session)| session.started_at))
}

/// Changes the recorded session of a spec atomically, and says whether there was one; `change` may run several times.
pub fn update_session(
    store: &dyn LocalStore,
    worktree_id: &str,
    spec: &str,
    change: impl Fn(&mut SessionRecord),
) -> Result<bool, StoreError> {
    if SessionRecord::read_row(store, worktree_id, spec)?.is_none() {
        return Ok(false);
    }
    SessionRecord::change_row(store, worktree_id, spec, |row| {
        let existed = row.is_some();
        // Deleted in between: an end without a beginning would be noise, but losing it would be worse.
        let mut session = row.unwrap_or_default();
        change(&mut session);
        (session, existed)
    })
}
