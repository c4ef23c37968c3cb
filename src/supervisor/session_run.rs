//! One session under watch: started, shown, logged, kept in snapshots, waited for with its children, written down. Judges nothing.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;

use crate::agent::envelope::session_id_in;
use crate::agent::{Cancel, Mirror, Session, SessionOutcome, SessionSpec, StartError, Stdin};
use crate::decision::evidence::{Degraded, SessionEnd};
use crate::session::{describe_end, log_path};
use crate::store::Store;
use crate::store::journal::kind;
use crate::store::session::{self, SessionRecord};

use super::case::Case;
use super::journal::Journal;
use super::judge::SessionSeen;
use super::periodic::{Periodic, Subject};
use super::signals::{Signals, Urgency};
use super::surroundings::{Surroundings, now};

/// A session to run.
#[derive(Debug, Clone)]
pub struct SessionOrder {
    /// A program and its arguments.
    pub command: Vec<OsString>,
    /// Variables to set (`Some`) or to remove (`None`).
    pub env: BTreeMap<OsString, Option<OsString>>,
    /// What it reads.
    pub stdin: Stdin,
    /// When it is ended; by default what the configuration says.
    pub timeout: Option<Duration>,
    /// Between TERM and KILL.
    pub grace: Duration,
    /// How long children that outlive it are waited for.
    pub child_wait: Duration,
    /// Where its output is shown.
    pub mirror: Mirror,
}

/// Runs one session in the worktree of a case to its end. What is uncommitted before it starts is kept first.
pub async fn run_session(
    surroundings: &Surroundings,
    case: &Case,
    store: &Arc<dyn Store>,
    journal: &Journal,
    order: SessionOrder,
    signals: &mut Signals,
) -> SessionSeen {
    let begun = now();
    let root = case.worktree.lock().expect("no panic while it was held").root().to_owned();
    let log = log_path(&surroundings.state.logs(), &case.worktree_id, begun);
    let spec = SessionSpec {
        env: order.env,
        stdin: order.stdin,
        log: Some(log.clone()),
        mirror: order.mirror,
        child_wait: order.child_wait,
        ..SessionSpec::new(order.command.clone(), root.clone())
    };
    let subject = Subject {
        root,
        worktree_id: case.worktree_id.clone(),
        spec: case.spec.clone(),
        settings: case.settings.rescue.clone(),
        store: Arc::clone(store),
        narrate: Arc::clone(&surroundings.narrate),
    };
    let snapshots = tokio::task::spawn_blocking(move || Periodic::start(subject)).await.unwrap_or_default();
    let session = match Session::start(&spec) {
        Ok(session) => session,
        Err(error) => {
            stop(snapshots);
            return SessionSeen { end: Some(not_started(error)), ..SessionSeen::default() };
        }
    };
    let started = SessionRecord { session_id: None, pid: Some(session.pid()), started_at: begun, ended_at: None, log: Some(log) };
    journal.write(kind::SESSION_STARTED, json!({"pid": session.pid(), "argv": shown(&order.command)}));
    let mut notes = Vec::new();
    if let Err(error) = session::record(store.as_ref(), &case.worktree_id, &case.spec, &started) {
        notes.push(Degraded { code: "store_unwritable", detail: error.to_string() });
    }
    let timeout = order.timeout.or(case.settings.limits.session_timeout);
    let outcome = wait(session, timeout, order.grace, signals).await;
    stop(snapshots);
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

/// A snapshot that is under way is let finish: the judgement would only begin the same.
fn stop(snapshots: Option<Periodic>) {
    if let Some(snapshots) = snapshots {
        snapshots.stop();
    }
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
