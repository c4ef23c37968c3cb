//! Which log `watchdog logs` is about, and what is known of its session.

use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::show_failure::{ShowFailure, refuse_home};
use watchdog_agent::stream::OutputEvents;
use watchdog_agent::transcript;
use watchdog_core::config::nearest_hint;
use watchdog_facts::display::escape_to_one_line;
use watchdog_facts::evidence::FaultKind;
use watchdog_judge::judge::command_env::CommandEnv;
use watchdog_judge::judge::open_worktree::OpenWorktree;
use watchdog_judge::session::{LogReader, SessionLog, logs_of, record_lives};
use watchdog_judge::wire::log_event_json::ListedLog;
use watchdog_judge::wire::session_events::ran_by;
use watchdog_store::RecordType;
use watchdog_store::engine::{EventCursor, StoredEvent};
use watchdog_store::journal::kind;
use watchdog_store::session::{self, SessionRecord};

/// How many events of the worktree are looked through, the newest first.
const EVENTS: usize = 20_000;
const BATCH: usize = 1_000;

/// The spec and the status of a session, as far as they are known.
type SessionFacts = (Option<String>, Option<String>);

/// A session's output.
pub struct ChosenLog {
    /// The name of the work, where it is known.
    pub spec: Option<String>,
    /// When the session began.
    pub began: Option<Timestamp>,
    /// The record of the session, where it is the last one of its spec.
    pub record: Option<SessionRecord>,
    /// The file.
    pub path: PathBuf,
    /// The agent that ran the session, by the name or path of its preset, where that is known.
    pub agent: Option<String>,
    /// Whether it is the agent's own transcript, since watchdog did not start the session.
    pub is_transcript: bool,
}

/// The phase of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionPhase {
    /// Its process lives.
    Runs,
    /// Its process is gone and its end not recorded: what it left behind is waited for, or its watchdog was killed.
    Gone,
    /// Its end is recorded, and its log complete.
    Ended,
}

impl ChosenLog {
    /// Returns the session's present phase.
    pub fn phase(&self, open: &OpenWorktree) -> SessionPhase {
        let (Some(spec), Some(begun)) = (&self.spec, &self.record) else {
            return SessionPhase::Ended;
        };
        // A record that cannot be read now says nothing; its process does.
        let now = SessionRecord::read_row(open.store.as_ref(), &open.worktree_id, spec)
            .ok()
            .flatten()
            .unwrap_or_else(|| begun.clone());
        match now.ended_at {
            None if now.started_at != begun.started_at => SessionPhase::Ended,
            None if record_lives(&now) => SessionPhase::Runs,
            None => SessionPhase::Gone,
            Some(_) => SessionPhase::Ended,
        }
    }

    /// Opens its output.
    ///
    /// # Errors
    /// Fails if the file is not there, or is no plain file of the folder of logs.
    pub fn open_reader(&self, logs: &Path) -> io::Result<LogReader> {
        if self.is_transcript {
            LogReader::open_alone(&self.path)
        } else {
            LogReader::open(logs, &self.path)
        }
    }

    /// A reader of its output.
    pub fn events(&self, command_env: &CommandEnv, open: &OpenWorktree) -> OutputEvents {
        if self.is_transcript {
            return OutputEvents::of_events();
        }
        let read_as = self
            .record
            .as_ref()
            .and_then(|record| record.read_as.as_deref());
        OutputEvents::of_anyone(
            command_env
                .stream_of_session(open.root(), self.agent.as_deref(), read_as)
                .as_ref(),
        )
    }

    /// Describes it in a line, for people.
    pub fn in_words(&self, runs: bool) -> String {
        let spec = self
            .spec
            .as_ref()
            .map(|spec| format!("'{spec}', "))
            .unwrap_or_default();
        let began = self
            .began
            .map(|began| format!("began {began:.0}, "))
            .unwrap_or_default();
        let ended = self
            .record
            .as_ref()
            .and_then(|record| record.ended_at)
            .map(|at| format!("ended {at:.0}"));
        let state = if runs {
            "running".into()
        } else {
            ended.unwrap_or_else(|| "not running".into())
        };
        let what = if self.is_transcript {
            "the agent's transcript"
        } else {
            "log"
        };
        format!("{spec}{began}{state}; {what}: {}", self.path.display())
    }
}

/// The log that a word names; without one, that of the last session.
pub fn choose_log(
    command_env: &CommandEnv,
    open: &OpenWorktree,
    name: Option<&str>,
) -> Result<ChosenLog, ShowFailure> {
    let store = open.store.as_ref();
    let logs = read_logs(command_env, open)?;
    let Some(name) = name else {
        if let Some((spec, record)) = session::read_latest_session(store, &open.worktree_id)? {
            return of_record(command_env, open, spec, record);
        }
        let Some(newest) = logs.first().cloned() else {
            return Err(refuse_home(command_env).unwrap_or_else(|| {
                ShowFailure::from_text("no session was seen in this worktree yet").with_hint(
                    format!("run one with: {}", open.commands.watchdog("run -- CMD")),
                )
            }));
        };
        return of_log(open, &logs, newest);
    };
    if let Some(record) = SessionRecord::read_row(store, &open.worktree_id, name)? {
        return of_record(command_env, open, name.to_owned(), record);
    }
    let stem = name.rsplit('/').next().unwrap_or(name);
    let stem = stem.strip_suffix(".log").unwrap_or(stem);
    if let Some(log) = logs.iter().find(|log| log.id == stem) {
        return of_log(open, &logs, log.clone());
    }
    let records = load_session_records(open)?;
    if let Some((spec, record)) = records
        .iter()
        .find(|(_, record)| record.session_id.as_deref() == Some(name))
    {
        return of_record(command_env, open, spec.clone(), record.clone());
    }
    if let Some(transcript_file) =
        transcript::find_session(open.root(), &command_env.claude_home, name)
    {
        let began = transcript_file
            .begun
            .and_then(|begun| Timestamp::try_from(begun).ok());
        return Ok(ChosenLog {
            spec: None,
            began,
            record: None,
            path: transcript_file.path,
            agent: None,
            is_transcript: true,
        });
    }
    let specs: Vec<&str> = records.iter().map(|(spec, _)| spec.as_str()).collect();
    let near = nearest_hint(
        name,
        specs
            .iter()
            .copied()
            .chain(logs.iter().map(|log| log.id.as_str())),
    );
    Err(ShowFailure::from_text(format!(
        "no session of this worktree is called '{}'{near}",
        escape_to_one_line(name)
    ))
    .with_hint(format!(
        "list them with: {}",
        open.commands.watchdog("logs --list")
    )))
}

fn of_record(
    command_env: &CommandEnv,
    open: &OpenWorktree,
    spec: String,
    record: SessionRecord,
) -> Result<ChosenLog, ShowFailure> {
    let (began, agent) = (Some(record.started_at), record.agent.clone());
    if let Some(path) = record.log.clone() {
        return Ok(ChosenLog {
            spec: Some(spec),
            began,
            record: Some(record),
            path,
            agent,
            is_transcript: false,
        });
    }
    let id = record.session_id.clone();
    let transcript_file = id
        .as_ref()
        .and_then(|id| transcript::find_session(open.root(), &command_env.claude_home, id));
    match transcript_file {
        Some(session_file) => Ok(ChosenLog {
            spec: Some(spec),
            began,
            record: Some(record),
            path: session_file.path,
            agent,
            is_transcript: true,
        }),
        None => {
            let id = id
                .map(|id| format!(" ({})", escape_to_one_line(&id)))
                .unwrap_or_default();
            let spec = escape_to_one_line(&spec);
            Err(ShowFailure::from_text(format!(
                "watchdog has no log of the last session of '{spec}'{id}: a hook reported it, and its transcript is not where Claude Code keeps them"
            ))
            .with_hint(format!("list the logs with: {}", open.commands.watchdog("logs --list"))))
        }
    }
}

fn of_log(
    open: &OpenWorktree,
    logs: &[SessionLog],
    log: SessionLog,
) -> Result<ChosenLog, ShowFailure> {
    let record = load_session_records(open)?
        .into_iter()
        .find(|(_, record)| has_log(record, &log));
    let (spec, agent) = match &record {
        Some((spec, record)) => (Some(spec.clone()), record.agent.clone()),
        None => {
            let spec = facts_of(open, std::slice::from_ref(&log))?
                .into_iter()
                .next()
                .and_then(|(spec, _)| spec);
            (spec, agent_of(open, logs, &log)?)
        }
    };
    Ok(ChosenLog {
        spec,
        began: log.began,
        record: record.map(|(_, record)| record),
        path: log.path,
        agent,
        is_transcript: false,
    })
}

fn has_log(record: &SessionRecord, log: &SessionLog) -> bool {
    record
        .log
        .as_ref()
        .is_some_and(|path| path.file_name() == log.path.file_name())
}

/// The last session of every spec of the worktree.
fn load_session_records(open: &OpenWorktree) -> Result<Vec<(String, SessionRecord)>, ShowFailure> {
    let all = SessionRecord::list_rows(open.store.as_ref())?;
    let of_here = all
        .into_iter()
        .filter(|(worktree_id, ..)| *worktree_id == open.worktree_id);
    Ok(of_here
        .filter_map(|(_, spec, record)| Some((spec, record.ok()?)))
        .collect())
}

/// The events of the worktree until `wanted` has what it needs, the newest first.
fn each_event(
    open: &OpenWorktree,
    mut wanted: impl FnMut(&StoredEvent) -> bool,
) -> Result<(), ShowFailure> {
    let mut end = open.store.cursor_at(Timestamp::MAX)?;
    for _ in 0..EVENTS / BATCH {
        let (events, before) = open.store.read_back(end, Some(&open.worktree_id), BATCH)?;
        if events.is_empty() || events.iter().rev().any(&mut wanted) || before == EventCursor::START
        {
            break;
        }
        end = before;
    }
    Ok(())
}

/// The spec and the end of the sessions of these logs, by the events that name them.
fn facts_of(open: &OpenWorktree, logs: &[SessionLog]) -> Result<Vec<SessionFacts>, ShowFailure> {
    let mut facts = vec![(None, None); logs.len()];
    each_event(open, |event| {
        let Some(path) = event.data.get("log").and_then(|log| log.as_str()) else {
            return false;
        };
        if let Some(at) = logs
            .iter()
            .position(|log| path.ends_with(&format!("/{}.log", log.id)))
        {
            let (spec, end): &mut SessionFacts = &mut facts[at];
            spec.get_or_insert_with(|| event.spec.clone().unwrap_or_default());
            if let Some(status) = event.data.get("status").and_then(|status| status.as_str()) {
                end.get_or_insert_with(|| status.to_owned());
            }
        }
        facts.iter().all(|(_, end)| end.is_some())
    })?;
    Ok(facts)
}

/// The agent of the session of a log, by the event of its end: the log is the one that began last before it.
fn agent_of(
    open: &OpenWorktree,
    logs: &[SessionLog],
    log: &SessionLog,
) -> Result<Option<String>, ShowFailure> {
    let mut agent_name = None;
    each_event(open, |event| {
        let last = logs
            .iter()
            .find(|log| log.began.is_some_and(|began| began <= event.at));
        if event.kind == kind::SESSION_ENDED && last.is_some_and(|last| last.id == log.id) {
            agent_name = ran_by(&event.data);
        }
        agent_name.is_some() || log.began.is_none_or(|began| event.at < began)
    })?;
    Ok(agent_name)
}

fn read_logs(
    command_env: &CommandEnv,
    open: &OpenWorktree,
) -> Result<Vec<SessionLog>, ShowFailure> {
    let folder = command_env.state.logs();
    logs_of(&folder, &open.worktree_id).map_err(|error| {
        let folder = folder.join(&open.worktree_id);
        let why = format!("cannot list the logs in {}: {error}", folder.display());
        ShowFailure {
            fault: Some(FaultKind::Store),
            ..ShowFailure::from_text(why)
        }
        .with_hint("make it readable for you, or name another state directory with --state-dir")
    })
}

/// The logs of the worktree, the newest first.
pub fn list_logs(
    command_env: &CommandEnv,
    open: &OpenWorktree,
) -> Result<Vec<ListedLog>, ShowFailure> {
    let logs = read_logs(command_env, open)?;
    let records = load_session_records(open)?;
    let facts = facts_of(open, &logs)?;
    let listed = logs.into_iter().zip(facts).map(|(log, (spec, end))| {
        let record = records.iter().find(|(_, record)| has_log(record, &log));
        let running = record.is_some_and(|(_, record)| record_lives(record));
        ListedLog {
            spec: record.map(|(spec, _)| spec.clone()).or(spec),
            end: if running { Some("running".into()) } else { end },
            began: log.began,
            size: log.size,
            path: log.path.display().to_string(),
            id: log.id,
        }
    });
    Ok(listed.collect())
}
