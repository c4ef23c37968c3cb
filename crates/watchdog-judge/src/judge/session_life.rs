//! Reads whether a session lives in a worktree: by recorded sessions, by agents' processes and own lists, and by transcripts. Finds the
//! processes that a session left running, and decides whether they still hold the verdict back.

use std::path::Path;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;

use super::command_env::CommandEnv;
use super::judgement_input::JudgementInput;
use super::live_session::RunningSession;
use super::seen_session::{SeenSession, turn_of_agent};
use crate::clock::local_time::local_time;
use crate::clock::{local_now, measure_since};
use crate::watch::last_change;
use crate::wire::verdict_json::JudgedSession;
use watchdog_agent::recognition::{AgentInside, ListedSession};
use watchdog_agent::transcript::TranscriptFile;
use watchdog_agent::transcript_turn::read_turn;
use watchdog_core::decision::machine::SurvivorFacts;
use watchdog_core::decision::session_life::{LiveSession, SessionLife, SessionTurn, deciding_turn};
use watchdog_core::decision::survivor_quiet::{ActivitySample, after_sample, is_verdict_held};
use watchdog_facts::evidence::{Degradation, WarningCode};
use watchdog_process::session_meter::processes_below;
use watchdog_process::{ProcessAncestry, still_runs};
use watchdog_store::hook_session::{HookedAgent, MAIN};
use watchdog_store::session::SessionRecord;
use watchdog_store::{LocalStore, RecordType, StoreError, conversation, session};

/// The agent of a record that names none.
const CLAUDE: &str = "claude";

/// An agent writes its transcript for so long after its stop hook.
const LAST_LINES: Duration = Duration::from_secs(2);

/// The life in a worktree at one moment.
#[derive(Debug, Default)]
pub struct WorktreeLife {
    /// The state that a judgement goes by.
    pub life: SessionLife,
    /// The session that decides, where one lives.
    pub alive: Option<LiveSession>,
    /// The same for a verdict.
    pub session: Option<JudgedSession>,
    /// Whether a session of this worktree runs this very process.
    pub from_inside: bool,
}

/// A session that lives.
enum LivingSession {
    Recorded {
        spec: String,
        record: Box<SessionRecord>,
    },
    Agent(AgentInside),
}

impl WorktreeLife {
    /// Reads it. A hook's session without a process lives until its transcript was still for `quiet`.
    ///
    /// # Errors
    /// Fails if the recorded sessions cannot be read.
    pub fn read_sessions(
        command_env: &CommandEnv,
        store: &dyn LocalStore,
        (worktree_id, root): (&str, &Path),
        quiet: Duration,
    ) -> Result<Self, StoreError> {
        let mut living: Vec<(LivingSession, SessionTurn)> = Vec::new();
        let mut from_inside = false;
        let agents = command_env.agents_inside(root);
        for (spec, record) in session::of_worktree(store, worktree_id)? {
            if !is_alive(command_env, root, &record, quiet) {
                continue;
            }
            // A hook may name a shell or a test runner, which is no session itself.
            from_inside |= record.log.is_some()
                && record
                    .pid
                    .is_some_and(|pid| ProcessAncestry::of_this_process().is_inside(pid, true));
            let agent = agents.iter().find(|agent| Some(agent.pid) == record.pid);
            let listed = agent.and_then(|agent| agent.listed.as_ref());
            let listed = listed.map(ListedSession::turn);
            let turn = turn_of_record(command_env, store, (root, &record), listed);
            living.push((
                LivingSession::Recorded {
                    spec,
                    record: Box::new(record),
                },
                turn,
            ));
        }
        let is_recorded = |pid: u32, living: &[(LivingSession, SessionTurn)]| {
            living.iter().any(|(session, _)| matches!(session, LivingSession::Recorded { record, .. } if record.pid == Some(pid)))
        };
        for agent in agents {
            from_inside |= agent.is_above;
            if !is_recorded(agent.pid, &living) {
                let turn = turn_of_agent(command_env, &agent);
                living.push((LivingSession::Agent(agent), turn));
            }
        }
        // A call from inside a session moves no record. Without this one, the agent is not known after its end.
        for (session, _) in living.iter().filter(|_| !from_inside) {
            if let LivingSession::Agent(AgentInside { agent, .. }) = session {
                let _ = conversation::note_agent(store, worktree_id, agent);
            }
        }
        let turns: Vec<SessionTurn> = living.iter().map(|(_, turn)| *turn).collect();
        let Some(at) = deciding_turn(&turns) else {
            return Ok(WorktreeLife {
                from_inside,
                ..WorktreeLife::default()
            });
        };
        let (session, turn) = living.swap_remove(at);
        Ok(WorktreeLife {
            from_inside,
            ..build_life(command_env, root, session, turn)
        })
    }
}

fn build_life(
    command_env: &CommandEnv,
    root: &Path,
    session: LivingSession,
    turn: SessionTurn,
) -> WorktreeLife {
    let (name, words, judged) = match session {
        LivingSession::Recorded { spec, record } => {
            let name = match record.pid {
                Some(pid) => format!("a session of '{spec}' (process {pid})"),
                None => format!("a session of '{spec}'"),
            };
            let running = RunningSession::of_record(command_env, root, spec, *record);
            let mut judged = running.to_session();
            let words = match turn {
                SessionTurn::Busy => running.in_words(),
                SessionTurn::Over { since } => {
                    judged.idle_seconds = Some(measure_since(since).as_secs());
                    format!("{name} is idle since {}", time_of_day(since))
                }
            };
            (name, words, judged)
        }
        LivingSession::Agent(agent) => {
            let seen = SeenSession::read_agent(command_env, agent, turn);
            (seen.name(), seen.in_words(&time_of_day), seen.to_session())
        }
    };
    let life = match turn {
        SessionTurn::Busy => SessionLife::Busy { words },
        SessionTurn::Over { .. } => SessionLife::Idle { words },
    };
    WorktreeLife {
        life,
        alive: Some(LiveSession { name, turn }),
        session: Some(judged),
        from_inside: false,
    }
}

/// The hour and minute here, with the day where that is another one.
pub(crate) fn time_of_day(at: Timestamp) -> String {
    local_time(at, &local_now())
}

fn is_alive(
    command_env: &CommandEnv,
    root: &Path,
    record: &SessionRecord,
    quiet: Duration,
) -> bool {
    match record.pid {
        _ if record.ended_at.is_some() => false,
        Some(pid) => still_runs(pid, record.started_at),
        None if record.session_id.is_none() => false,
        None => {
            let transcript = transcript_of_record(command_env, root, record);
            let written = transcript
                .and_then(|file| Timestamp::try_from(file.modified).ok())
                .unwrap_or(record.started_at);
            measure_since(written) < quiet
        }
    }
}

/// The turn of a session by its agent's list (`listed`), its stop hook, or its transcript. A
/// session that watchdog runs has its output for that.
fn turn_of_record(
    command_env: &CommandEnv,
    store: &dyn LocalStore,
    (root, record): (&Path, &SessionRecord),
    listed: Option<SessionTurn>,
) -> SessionTurn {
    if record.log.is_some() {
        return SessionTurn::Busy;
    }
    let by_transcript = || {
        let transcript = transcript_of_record(command_env, root, record)?;
        let hooked = record
            .session_id
            .as_ref()
            .and_then(|id| HookedAgent::read_row(store, id, MAIN).ok()?);
        let stopped_at = hooked.and_then(|session| session.turn_over_at);
        // A transcript that grows after the stop hook shows another turn.
        let is_last = |at: &Timestamp| transcript.modified <= SystemTime::from(*at) + LAST_LINES;
        Some(match stopped_at.filter(is_last) {
            Some(since) => SessionTurn::Over { since },
            None => read_turn(&transcript.path),
        })
    };
    listed.or_else(by_transcript).unwrap_or(SessionTurn::Busy)
}

fn transcript_of_record(
    command_env: &CommandEnv,
    root: &Path,
    record: &SessionRecord,
) -> Option<TranscriptFile> {
    let source = command_env.transcripts_of(root, record.agent.as_deref().unwrap_or(CLAUDE))?;
    let begun_before = |file: &TranscriptFile| file.modified < SystemTime::from(record.started_at);
    match &record.session_id {
        Some(id) => source.session(root, id),
        None => source.latest(root).filter(|file| !begun_before(file)),
    }
}

/// Finds the processes that the session left running. Records since when they are idle, for the next call.
pub fn find_survivors(
    input: &JudgementInput,
    store: &dyn LocalStore,
    at: Timestamp,
) -> SurvivorFacts {
    let unknown = SurvivorFacts {
        session_over: input.overrides.session_over,
        ..SurvivorFacts::default()
    };
    let Some(record) = input.last_session(store) else {
        return unknown;
    };
    let gone = record
        .pid
        .is_some_and(|pid| !still_runs(pid, record.started_at));
    let ended = input.overrides.session_over || record.ended_at.is_some() || gone;
    let seen_until = record.ended_at.unwrap_or(record.started_at);
    let running: Vec<(u32, String)> = record
        .survivors
        .iter()
        .filter(|(pid, _)| still_runs(*pid, seen_until))
        .cloned()
        .collect();
    let named: Vec<String> = running
        .iter()
        .map(|(pid, name)| format!("{name} (process {pid})"))
        .collect();
    if running.is_empty() {
        return SurvivorFacts {
            session_over: ended,
            ..SurvivorFacts::default()
        };
    }
    let sample = ActivitySample {
        at,
        used: used(&running),
        written: written(input),
    };
    let quiet = after_sample(record.quiet, sample);
    // If the sample is not saved, the next one only starts the count again.
    if record.quiet != Some(quiet) {
        let same = |stored: &SessionRecord| stored.started_at == record.started_at;
        let _ = session::update_session(store, &input.worktree_id, &input.spec, |stored| {
            if same(stored) {
                stored.quiet = Some(quiet);
            }
        });
    }
    if is_verdict_held(
        record.ended_at.unwrap_or(at),
        input.settings.limits.background,
        quiet,
        at,
    ) {
        return SurvivorFacts {
            holding: named,
            session_over: false,
            released: None,
        };
    }
    let detail = format!(
        "the session left this running, and it no longer holds the verdict: {}",
        named.join(", ")
    );
    SurvivorFacts {
        released: Some(Degradation::new(WarningCode::Survivors, detail)),
        ..SurvivorFacts::default()
    }
}

/// The warning about so many processes of a session that still run; `None` where none does.
pub fn processes_left(count: usize) -> Option<Degradation> {
    let detail = match count {
        0 => return None,
        1 => "1 process of the session still runs".to_owned(),
        count => format!("{count} processes of the session still run"),
    };
    Some(Degradation::new(WarningCode::ProcessesLeft, detail))
}

/// Processor time of all of them; `None` where one cannot be read.
fn used(running: &[(u32, String)]) -> Option<Duration> {
    running
        .iter()
        .map(|(pid, _)| processes_below(*pid).map(|sample| sample.used))
        .sum()
}

fn written(input: &JudgementInput) -> Option<Timestamp> {
    let (root, git_dir) = {
        let worktree = input.worktree();
        (worktree.root().to_owned(), worktree.git_dir().to_owned())
    };
    let except: [&Path; 0] = [];
    Timestamp::try_from(last_change(&root, &git_dir, &except.map(Path::to_path_buf))?.at).ok()
}
