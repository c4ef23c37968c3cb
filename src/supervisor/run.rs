//! `watchdog run`: wraps one session. Baseline, session, its end and that of its children, judgement.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;

use crate::agent::envelope::session_id_in;
use crate::agent::{Cancel, Mirror, Session, SessionOutcome, SessionSpec, StartError};
use crate::decision::evidence::{Degraded, SessionEnd, Unreadable};
use crate::decision::verdict::Verdict;
use crate::session::{describe_end, log_path, record};
use crate::store::journal::kind;
use crate::store::session::{self, SessionRecord};

use super::case::{Asked, Case};
use super::configuration::governing;
use super::journal::Journal;
use super::judge::{SessionSeen, early, judge, refused};
use super::periodic::{Periodic, Subject};
use super::place::{Claim, Place};
use super::signals::{Signals, Urgency};
use super::surroundings::{Surroundings, now};
use super::verdict_json::Judgement;

/// What to run.
#[derive(Debug, Clone)]
pub struct RunRequest {
    /// The name of the work; by default the branch.
    pub spec: Option<String>,
    /// The session: a program and its arguments.
    pub command: Vec<OsString>,
    /// When it is ended; by default what the configuration says.
    pub timeout: Option<Duration>,
    /// Between TERM and KILL.
    pub grace: Duration,
    /// How long children that outlive it are waited for.
    pub child_wait: Duration,
    /// Whether stdout belongs to the verdict, so that the session's output goes to stderr.
    pub output_to_stderr: bool,
    /// What the command line asks for.
    pub asked: Asked,
}

/// Runs one session and judges it.
pub async fn run(surroundings: &Surroundings, request: RunRequest, signals: &mut Signals) -> Judgement {
    let begun = now();
    let place = match Place::open(surroundings) {
        Ok(place) => place,
        Err(unreadable) => return early(surroundings, None, Verdict::unreadable(unreadable), begun),
    };
    let mut lock = match place.claim(surroundings, "watchdog run", true) {
        Ok(Claim::Ours(lock)) => lock,
        Ok(Claim::Taken(verdict)) => return early(surroundings, None, *verdict, begun),
        Err(unreadable) => return early(surroundings, None, Verdict::unreadable(unreadable), begun),
    };
    let store = Arc::clone(&place.store);
    let root = place.root().to_owned();
    let case = match open_case(surroundings, place, &request, begun) {
        Ok(case) => case,
        Err(unreadable) => return early(surroundings, None, Verdict::unreadable(unreadable), begun),
    };
    let journal = Arc::new(Journal::new(Arc::clone(&store), &case.worktree_id, &case.spec));
    match case.admit(store.as_ref()) {
        Err(unreadable) => return early(surroundings, Some(&case), Verdict::unreadable(unreadable), begun),
        Ok(Some(verdict)) => return refused(surroundings, &case, store.as_ref(), &journal, verdict, begun),
        Ok(None) => {}
    }
    journal.note(kind::BASELINE, json!({"baseline": case.baseline.as_str()}));

    let log = log_path(&surroundings.state.logs(), &case.worktree_id, begun);
    let spec = SessionSpec {
        log: Some(log.clone()),
        mirror: if request.output_to_stderr { Mirror::ToStderr } else { Mirror::Through },
        child_wait: request.child_wait,
        ..SessionSpec::new(request.command.clone(), root.clone())
    };
    let subject = Subject {
        root,
        worktree_id: case.worktree_id.clone(),
        spec: case.spec.clone(),
        settings: case.settings.rescue.clone(),
        store: Arc::clone(&store),
        narrate: Arc::clone(&surroundings.narrate),
    };
    let snapshots = tokio::task::spawn_blocking(move || Periodic::start(subject)).await.unwrap_or_default();
    let seen = match Session::start(&spec) {
        Ok(session) => {
            let started = SessionRecord { session_id: None, pid: Some(session.pid()), started_at: begun, ended_at: None, log: Some(log) };
            journal.write(kind::SESSION_STARTED, json!({"pid": session.pid(), "argv": shown(&request.command)}));
            let mut notes = Vec::new();
            if let Err(error) = session::record(store.as_ref(), &case.worktree_id, &case.spec, &started) {
                notes.push(Degraded { code: "store_unwritable", detail: error.to_string() });
            }
            let timeout = request.timeout.or(case.settings.limits.session_timeout);
            let outcome = wait(session, timeout, request.grace, signals).await;
            // One that is under way is let finish: the judgement would only begin the same.
            if let Some(snapshots) = snapshots {
                snapshots.stop();
            }
            let seen = see(outcome, notes, now());
            journal.write(
                kind::SESSION_ENDED,
                json!({"end": end_word(seen.end.as_ref()), "session_id": seen.session_id, "survivors": seen.survivors.len()}),
            );
            let ended = SessionRecord { session_id: seen.session_id.clone(), ended_at: Some(now()), ..started };
            if session::record(store.as_ref(), &case.worktree_id, &case.spec, &ended).is_err() {
                surroundings.tell("the session's end could not be recorded");
            }
            seen
        }
        Err(error) => SessionSeen { end: Some(not_started(error)), ..SessionSeen::default() },
    };
    if lock.set_session_active(false).is_err() {
        surroundings.tell("others could not be told that the session ended");
    }
    let judgement = judge(case, store, journal, seen, surroundings, signals, begun).await;
    drop(lock);
    judgement
}

fn open_case(surroundings: &Surroundings, place: Place, request: &RunRequest, begun: Timestamp) -> Result<Case, Unreadable> {
    // The configuration is read before anything is recorded: a mistake in it leaves no trace.
    let head = place.worktree.head()?;
    let governing = governing(surroundings, &place.worktree, Some(&head))?;
    let recorded = record(place.store.as_ref(), &place.worktree, request.spec.as_deref(), begun)?;
    Ok(Case::new(place, recorded, true, governing, request.asked.clone()))
}

/// Waits for the session in a thread of its own. A first signal ends it with its grace period, a second one at once.
async fn wait(session: Session, timeout: Option<Duration>, grace: Duration, signals: &mut Signals) -> SessionOutcome {
    let cancel = Cancel::new();
    let waiting = {
        let cancel = cancel.clone();
        tokio::task::spawn_blocking(move || session.wait(timeout, grace, &cancel))
    };
    tokio::pin!(waiting);
    let mut next = Urgency::Interrupted;
    let outcome = loop {
        tokio::select! {
            outcome = &mut waiting => break outcome,
            () = signals.reached(next), if next <= Urgency::Hurry => {
                if next == Urgency::Hurry {
                    cancel.cancel_now();
                    break waiting.await;
                }
                cancel.cancel();
                next = Urgency::Hurry;
            }
        }
    };
    match outcome {
        Ok(outcome) => outcome,
        Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
    }
}

fn see(outcome: SessionOutcome, mut notes: Vec<Degraded>, at: Timestamp) -> SessionSeen {
    if let Some(why) = &outcome.log_note {
        notes.push(Degraded { code: "log_incomplete", detail: why.clone() });
    }
    if !outcome.survivors.is_empty() {
        let detail = format!("{} processes of the session still run", outcome.survivors.len());
        notes.push(Degraded { code: "processes_left", detail });
    }
    SessionSeen {
        end: Some(describe_end(&outcome, at)),
        session_id: session_id_in(&outcome.tail_stdout),
        survivors: outcome.survivors,
        log: outcome.log,
        notes,
    }
}

fn not_started(error: StartError) -> SessionEnd {
    SessionEnd::NotStarted { why: format!("the session could not be started: {error}") }
}

fn end_word(end: Option<&SessionEnd>) -> String {
    match end {
        Some(SessionEnd::Ended { exit }) => exit.to_string(),
        Some(SessionEnd::TimedOut { .. }) => "timed out".into(),
        Some(SessionEnd::RateLimited { .. }) => "usage limit".into(),
        Some(SessionEnd::NotStarted { .. }) | None => "not started".into(),
    }
}

/// The command line for the journal, each word cut: prompts are long, and their place is not the journal.
fn shown(command: &[OsString]) -> Vec<String> {
    command.iter().take(20).map(|word| word.to_string_lossy().chars().take(200).collect()).collect()
}
