//! Describes a session that watchdog did not start: by its agent's own list, its process and its transcript. All of these are hints: they
//! make a worktree count as worked in, and are shown.

use std::path::Path;

use jiff::Timestamp;

use super::command_env::CommandEnv;
use super::live_session::{SessionActivity, SessionLiveness};
use crate::clock::measure_since;
use crate::wire::verdict_json::JudgedSession;
use watchdog_agent::recognition::{AgentInside, ListedState};
use watchdog_agent::transcript_read::read_transcript;
use watchdog_agent::transcript_turn::read_turn;
use watchdog_agent::work_claims::read_work_claims;
use watchdog_core::decision::session_life::{SessionTurn, deciding_turn};
use watchdog_facts::display::{escape_to_one_line, shorten_text};
use watchdog_store::session::SessionRecord;
use watchdog_system::{ProcessLife, process_life};

/// Bytes of a transcript that are read for its last words, from its end.
const WINDOW: u64 = 256 << 10;
/// Characters of the last words.
const QUOTED: usize = 60;

/// A session that watchdog did not start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenSession {
    /// The name of its agent's preset.
    pub agent: String,
    /// Its process.
    pub pid: u32,
    /// The agent's own name for it, where its list says it.
    pub session_id: Option<String>,
    /// The state that it is in.
    pub live: SessionLiveness,
    /// Since when, where that is known.
    pub since: Option<Timestamp>,
    /// The claim in its last words, or their beginning, once its turn is over. Fit for a terminal.
    pub says: Option<String>,
}

impl SeenSession {
    /// The agent that works in the worktree `root`; of several a busy one, else the one whose turn ended last.
    pub fn find_inside(command_env: &CommandEnv, root: &Path) -> Option<Self> {
        let mut agents = command_env.agents_inside(root);
        let turns: Vec<SessionTurn> = (agents.iter())
            .map(|agent| turn_of_agent(command_env, agent))
            .collect();
        let at = deciding_turn(&turns)?;
        Some(Self::read_agent(
            command_env,
            agents.swap_remove(at),
            turns[at],
        ))
    }

    pub(super) fn read_agent(
        command_env: &CommandEnv,
        agent: AgentInside,
        turn: SessionTurn,
    ) -> Self {
        let listed = agent.listed.as_ref();
        let session_id = listed.and_then(|listed| listed.session_id.clone());
        let state = listed.map(|listed| listed.state);
        let (doing, since) = match turn {
            SessionTurn::Over { since } => (SessionActivity::Idle, Some(since)),
            SessionTurn::Busy => {
                let doing = match state {
                    Some(ListedState::Waiting) => SessionActivity::Waiting,
                    Some(_) => SessionActivity::Busy,
                    None => SessionActivity::Running,
                };
                (doing, listed.map(|listed| listed.since))
            }
        };
        let rests = matches!(doing, SessionActivity::Idle | SessionActivity::Waiting);
        let idle = since.filter(|_| rests).map(measure_since);
        let is_over = doing == SessionActivity::Idle;
        let says = is_over.then(|| read_last_words(command_env, &agent, session_id.as_deref()));
        SeenSession {
            agent: agent.agent,
            pid: agent.pid,
            session_id,
            live: SessionLiveness { doing, idle },
            since,
            says: says.flatten(),
        }
    }

    pub(super) fn name(&self) -> String {
        format!("{} (process {})", self.agent, self.pid)
    }

    /// A clause about it.
    pub fn in_words(&self, time: &dyn Fn(Timestamp) -> String) -> String {
        let name = self.name();
        let does = match self.live.doing {
            SessionActivity::Idle => "is idle",
            SessionActivity::Waiting => "waits for a person",
            _ => return format!("{name} works in this worktree"),
        };
        let since = self.since.map(|since| format!(" since {}", time(since)));
        let says = self.says.as_ref().map(|says| format!(", says \"{says}\""));
        let [since, says] = [since, says].map(Option::unwrap_or_default);
        format!("{name} {does}{since}{says}")
    }

    /// The same for a verdict.
    pub(super) fn to_session(&self) -> JudgedSession {
        JudgedSession {
            id: self.session_id.clone(),
            agent: Some(self.agent.clone()),
            known_by: "process",
            idle_seconds: self.live.idle.map(|idle| idle.as_secs()),
            pid: Some(self.pid),
            state: Some(self.live.doing.as_str()),
            ..JudgedSession::unknown()
        }
    }

    /// The same as a record that is not stored.
    pub fn to_record(&self) -> SessionRecord {
        let began = match process_life(self.pid) {
            ProcessLife::Running { began } => began,
            ProcessLife::Gone => None,
        };
        let began = began.and_then(|began| Timestamp::UNIX_EPOCH.checked_add(began).ok());
        SessionRecord {
            session_id: self.session_id.clone(),
            agent: Some(self.agent.clone()),
            pid: Some(self.pid),
            ..SessionRecord::began(began.or(self.since).unwrap_or_else(crate::clock::now))
        }
    }
}

fn read_last_words(
    command_env: &CommandEnv,
    agent: &AgentInside,
    session_id: Option<&str>,
) -> Option<String> {
    let source = command_env.transcripts_of(&agent.folder, &agent.agent)?;
    let transcript = match session_id {
        Some(id) => source.session(&agent.folder, id),
        None => source.latest(&agent.folder),
    }?;
    let output = read_transcript(&transcript.path, WINDOW).ok()?.output?;
    let claims = read_work_claims(&output).into_iter().next();
    let words = claims.map(|stated| stated.quote);
    let words = words.or_else(|| {
        output
            .lines()
            .find(|line| !line.trim().is_empty())
            .map(Into::into)
    })?;
    Some(shorten_text(&escape_to_one_line(words.trim()), QUOTED))
}

pub(super) fn turn_of_agent(command_env: &CommandEnv, agent: &AgentInside) -> SessionTurn {
    if let Some(listed) = &agent.listed {
        return listed.turn();
    }
    let source = command_env.transcripts_of(&agent.folder, &agent.agent);
    source
        .and_then(|source| source.latest(&agent.folder))
        .map_or(SessionTurn::Busy, |transcript| read_turn(&transcript.path))
}
