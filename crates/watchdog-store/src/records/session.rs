//! The last session of a spec in a worktree: whom a probe resumes, and what is still running. Earlier ones are in the journal.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use watchdog_core::decision::survivor_quiet::QuietPeriod;
use watchdog_facts::agent_source::AgentSource;
use watchdog_facts::evidence::ProcessExit;
use watchdog_facts::session_exit::{EndedBy, SessionExit};

use super::row::{self, RecordType, RowsByWorktree};
use crate::codec::{path_from_text, path_to_text};
use crate::engine::LocalStore;
use crate::error::StoreError;

/// A session as it is recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionRecord {
    /// The agent's own name for it, once known.
    pub session_id: Option<String>,
    /// The agent that ran it, by the name or path of its preset; `None` where that is unknown.
    pub agent: Option<String>,
    /// How that agent, or the id, is known; `None` where nothing named either, and in old records.
    pub agent_source: Option<AgentSource>,
    /// The preset whose rules its output is read by as well, by name or path, where no command line named the agent.
    pub read_as: Option<String>,
    /// Its first process. Alone no proof that it still runs: numbers are used again.
    pub pid: Option<u32>,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended; `None` while it runs, or when watchdog was killed before it could know.
    pub ended_at: Option<Timestamp>,
    /// How its process ended, where watchdog ran it.
    pub exit: Option<SessionExit>,
    /// The log of its output.
    pub log: Option<PathBuf>,
    /// How long it may be silent before it counts as stalled, where watchdog ran it with such a limit.
    pub idle_limit: Option<Duration>,
    /// The processes that outlived it, by pid and name.
    pub survivors: Vec<(u32, String)>,
    /// Since when nothing was seen of that.
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

#[derive(Serialize, Deserialize)]
pub(super) struct SessionV1 {
    session_id: Option<String>,
    /// Not written down by the first watchdogs that had this version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent_source: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    read_as: Option<String>,
    pid: Option<u32>,
    started_at: Timestamp,
    ended_at: Option<Timestamp>,
    /// The exit code, the signal, and what ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exit: Option<(Option<i32>, Option<i32>, String)>,
    log: Option<String>,
    #[serde(default)]
    idle_limit_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    survivors: Vec<(u32, String)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    quiet: Option<(Timestamp, u64)>,
}

/// A word that is not known must not count for more than one that is.
fn read_source(word: &str) -> Result<AgentSource, String> {
    AgentSource::from_word(word).ok_or_else(|| format!("unknown source of an agent: {word:?}"))
}

/// An end that this version does not know is none.
fn read_exit((code, signal, by): (Option<i32>, Option<i32>, String)) -> Option<SessionExit> {
    let exit = code
        .map(ProcessExit::Code)
        .or(signal.map(ProcessExit::Signal))?;
    let by = EndedBy::ALL
        .into_iter()
        .find(|ended_by| ended_by.as_str() == by)?;
    Some(SessionExit { exit, by })
}

impl RecordType for SessionRecord {
    type Disk = SessionV1;
    const VERSION: u64 = 1;
    const KIND: &'static str = "session";

    fn to_disk(&self) -> SessionV1 {
        SessionV1 {
            session_id: self.session_id.clone(),
            agent: self.agent.clone(),
            agent_source: self.agent_source.map(|source| source.as_str().to_owned()),
            read_as: self.read_as.clone(),
            pid: self.pid,
            started_at: self.started_at,
            ended_at: self.ended_at,
            exit: self
                .exit
                .map(|exit| (exit.exit_code(), exit.signal(), exit.by.as_str().to_owned())),
            log: self.log.as_deref().map(path_to_text),
            idle_limit_ms: self
                .idle_limit
                .map(|limit| u64::try_from(limit.as_millis()).unwrap_or(u64::MAX)),
            survivors: self.survivors.clone(),
            quiet: self.quiet.map(|quiet| {
                (
                    quiet.since,
                    u64::try_from(quiet.used.as_millis()).unwrap_or(u64::MAX),
                )
            }),
        }
    }

    fn from_disk(disk: SessionV1) -> Result<Self, String> {
        Ok(SessionRecord {
            session_id: disk.session_id,
            agent: disk.agent,
            agent_source: disk
                .agent_source
                .map(|word| read_source(&word))
                .transpose()?,
            read_as: disk.read_as,
            pid: disk.pid,
            started_at: disk.started_at,
            ended_at: disk.ended_at,
            exit: disk.exit.and_then(read_exit),
            log: disk.log.as_deref().map(path_from_text),
            idle_limit: disk.idle_limit_ms.map(Duration::from_millis),
            survivors: disk.survivors,
            quiet: disk.quiet.map(|(since, used)| QuietPeriod {
                since,
                used: Duration::from_millis(used),
            }),
        })
    }
}

/// The worktrees for which a session is recorded.
pub fn worktrees(store: &dyn LocalStore) -> Result<HashSet<String>, StoreError> {
    row::worktrees::<SessionRecord>(store)
}

/// Records a session in place of the former one.
pub fn record(
    store: &dyn LocalStore,
    worktree_id: &str,
    spec: &str,
    session: &SessionRecord,
) -> Result<(), StoreError> {
    row::overwrite(
        store,
        &row::key::<SessionRecord>(worktree_id, spec),
        session,
    )
}

/// Withdraws the record of a session that failed to start, and restores the former record, if there was one.
pub fn put_back(
    store: &dyn LocalStore,
    (worktree_id, spec): (&str, &str),
    former: Option<&SessionRecord>,
) -> Result<(), StoreError> {
    match former {
        Some(former) => record(store, worktree_id, spec, former),
        None => row::remove::<SessionRecord>(store, &row::key::<SessionRecord>(worktree_id, spec)),
    }
}

/// The last session of a spec, if any is recorded.
pub fn read_session(
    store: &dyn LocalStore,
    worktree_id: &str,
    spec: &str,
) -> Result<Option<SessionRecord>, StoreError> {
    row::load(store, &row::key::<SessionRecord>(worktree_id, spec))
}

/// The readable sessions of a worktree, with their specs.
pub fn of_worktree(
    store: &dyn LocalStore,
    worktree_id: &str,
) -> Result<Vec<(String, SessionRecord)>, StoreError> {
    let mut sessions = Vec::new();
    row::each::<SessionRecord>(store, &[worktree_id], |key, row| {
        sessions.extend(row.ok().map(|session| (key.last_part(), session)))
    })?;
    Ok(sessions)
}

/// The session of a worktree that began last, with its spec.
pub fn latest(
    store: &dyn LocalStore,
    worktree_id: &str,
) -> Result<Option<(String, SessionRecord)>, StoreError> {
    Ok(of_worktree(store, worktree_id)?
        .into_iter()
        .max_by_key(|(_, session)| session.started_at))
}

/// Changes the recorded session of a spec atomically, and says whether there was one; `change` may run several times.
pub fn update(
    store: &dyn LocalStore,
    worktree_id: &str,
    spec: &str,
    change: impl Fn(&mut SessionRecord),
) -> Result<bool, StoreError> {
    if read_session(store, worktree_id, spec)?.is_none() {
        return Ok(false);
    }
    row::update(
        store,
        &row::key::<SessionRecord>(worktree_id, spec),
        |row: Option<SessionRecord>| {
            let existed = row.is_some();
            // Deleted in between: an end without a beginning would be noise, but losing it would be worse.
            let mut session = row.unwrap_or_default();
            change(&mut session);
            (session, existed)
        },
    )
}

/// Every recorded session, of all worktrees and specs.
pub fn everywhere(store: &dyn LocalStore) -> Result<RowsByWorktree<SessionRecord>, StoreError> {
    row::everywhere(store)
}
