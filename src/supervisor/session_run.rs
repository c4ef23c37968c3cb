//! One session under watch: started, shown, logged, kept in snapshots, waited for with its children, written down. Judges nothing.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::agent::envelope::session_id_in;
use crate::agent::stream::{Tap, Told};
use crate::agent::unrunnable;
use crate::agent::{Cancel, Mirror, Session, SessionOutcome, SessionSpec, StartError, Stdin};
use crate::decision::context::{Context, Usage};
use crate::decision::display::plural;
use crate::decision::evidence::{Degraded, Exit, SessionEnd};
use crate::decision::termination::{Spent, Stop};
use crate::session::{describe_end, log_path};
use crate::store::Store;
use crate::store::journal::kind;
use crate::store::session::{self, SessionRecord};

use super::budget::Budget;
use super::case::Case;
use super::journal::Journal;
use super::judge::{SessionSeen, TOOLS_REFUSED};
use super::periodic::{Periodic, Subject};
use super::session_cost::own_cost;
use super::settle_anchor;
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
    /// Looks at its output while it runs, for whoever wants to show it.
    pub tap: Tap,
    /// What earlier sessions of the same undertaking spent of its budgets.
    pub before: Spent,
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
        tap: Some(order.tap.clone()),
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
    let budget = Budget { limits: &case.settings.limits, before: order.before, tap: &order.tap };
    let (timeout, at_timeout) = budget.timeout(order.timeout.or(case.settings.limits.session_timeout), now());
    let outcome = wait(session, timeout, order.grace, &budget, signals).await;
    stop(snapshots);
    let mut told = order.tap.finish();
    told.usage.cost_usd = own_cost(store.as_ref(), &case.worktree_id, &told);
    let stop = at_timeout.filter(|_| outcome.timed_out);
    let mut seen = see(outcome, &told, notes, &budget, stop, now());
    if seen.session_id.is_none() {
        // An agent that prints nothing about itself may have told its name by a hook.
        let recorded = session::of(store.as_ref(), &case.worktree_id, &case.spec).ok().flatten();
        seen.session_id = recorded.filter(|recorded| recorded.started_at == started.started_at).and_then(|recorded| recorded.session_id);
    }
    journal.write(
        kind::SESSION_ENDED,
        json!({"end": end_word(seen.end.as_ref()), "session_id": seen.session_id, "survivors": seen.survivors.len(),
               "usage": usage_json(&told, seen.told.usage.wall_seconds), "ended": told.ended, "retries": told.retries}),
    );
    if let Some(met) = limit_met(seen.end.as_ref()) {
        journal.write(kind::LIMIT, met);
    }
    let ended = SessionRecord { session_id: seen.session_id.clone(), ended_at: Some(now()), ..started };
    if session::record(store.as_ref(), &case.worktree_id, &case.spec, &ended).is_err() {
        surroundings.tell("the session's end could not be recorded");
    }
    let worktree = case.worktree.lock().expect("no panic while it was held");
    seen.notes.extend(settle_anchor::session_ended(store.as_ref(), &worktree, &case.spec));
    drop(worktree);
    seen
}

/// A snapshot that is under way is let finish: the judgement would only begin the same.
fn stop(snapshots: Option<Periodic>) {
    if let Some(snapshots) = snapshots {
        snapshots.stop();
    }
}

/// Waits for the session in a thread of its own. A first signal ends it with its grace period, a second one at once. So does a budget
/// that is spent while it runs, unless it ends by itself first.
async fn wait(session: Session, timeout: Option<Duration>, grace: Duration, budget: &Budget<'_>, signals: &mut Signals) -> SessionOutcome {
    let cancel = Cancel::new();
    let waiting = {
        let cancel = cancel.clone();
        tokio::task::spawn_blocking(move || session.wait(timeout, grace, &cancel))
    };
    tokio::pin!(waiting);
    let mut next = Urgency::Interrupted;
    let spent = budget.spent_while_it_runs();
    tokio::pin!(spent);
    let mut over = false;
    let outcome = loop {
        tokio::select! {
            outcome = &mut waiting => break outcome,
            () = &mut spent, if !over => {
                over = true;
                cancel.cancel();
            }
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

fn see(
    outcome: SessionOutcome,
    told: &Told,
    mut notes: Vec<Degraded>,
    budget: &Budget<'_>,
    stopped: Option<Stop>,
    at: Timestamp,
) -> SessionSeen {
    if let Some(why) = &outcome.log_note {
        notes.push(Degraded { code: "log_incomplete", detail: why.clone() });
    }
    if !outcome.survivors.is_empty() {
        let detail = format!("{} processes of the session still run", outcome.survivors.len());
        notes.push(Degraded { code: "processes_left", detail });
    }
    let usage = Usage { wall_seconds: Some(outcome.duration.as_secs_f64()), ..told.usage };
    let spent = Spent::of(&usage);
    notes.extend(budget.unknown(spent));
    notes.extend(limit_of_its_own(told));
    notes.extend(refused_tools(told));
    let end = match stopped.or_else(|| budget.stop(spent, at)) {
        Some(stop) => SessionEnd::OverLimit { stop },
        None => told_end(describe_end(&outcome, at), told, &outcome),
    };
    SessionSeen {
        end: Some(end),
        session_id: told.session_id.clone().or_else(|| session_id_in(&outcome.tail_stdout)),
        survivors: outcome.survivors,
        tail: outcome.tail_stdout,
        log: outcome.log,
        notes,
        told: Context { usage, ..told.context() },
    }
}

/// What the events of a session add to what its process told.
fn told_end(end: SessionEnd, told: &Told, outcome: &SessionOutcome) -> SessionEnd {
    let survivors = !outcome.survivors.is_empty();
    match end {
        SessionEnd::Ended { exit } if let Some(why) = cannot_work(told, outcome, exit) => SessionEnd::Unrunnable { why },
        SessionEnd::RateLimited { why, retry_at } => SessionEnd::RateLimited { why, retry_at: retry_at.or(told.limit_ends) },
        // Work that died with the session is for the agent to tell about.
        SessionEnd::Ended { exit } if survivors && !told.background_tasks.is_empty() => {
            let named = told.background_tasks.iter().filter_map(|task| task.get("description")?.as_str());
            let what = named.filter(|name| !name.is_empty()).take(3).collect::<Vec<_>>().join(", ");
            let count = plural(told.background_tasks.len() as u64, "background task");
            SessionEnd::LeftWork { exit, what: if what.is_empty() { count } else { format!("{count} ({what})") } }
        }
        end => end,
    }
}

/// Why the agent's program cannot work, where that is how its session ended.
fn cannot_work(told: &Told, outcome: &SessionOutcome, exit: Exit) -> Option<String> {
    match (told.structured, &told.error) {
        (true, Some(error)) => unrunnable::in_error(error),
        (true, None) => None,
        (false, _) => unrunnable::in_last_lines(&outcome.tail_stdout, exit),
    }
}

/// Tools that the agent was refused, with the option that allows them.
fn refused_tools(told: &Told) -> Option<Degraded> {
    let tools = (!told.refused_tools.is_empty()).then(|| told.refused_tools.join(" "))?;
    let detail = format!("the agent was refused tools; allow them with --allowedTools {tools}");
    Some(Degraded { code: TOOLS_REFUSED, detail })
}

/// The agent's program has limits of its own; one that ended the session is no end of the work.
fn limit_of_its_own(told: &Told) -> Option<Degraded> {
    let ended = told.ended.as_deref().filter(|ended| ended.starts_with("error_max"))?;
    let why = told.error.as_deref().unwrap_or(ended);
    Some(Degraded { code: "session_cut_short", detail: format!("the agent's program ended the session at a limit of its own: {why}") })
}

/// The limit that ended a session, as an event has it.
fn limit_met(end: Option<&SessionEnd>) -> Option<Value> {
    match end? {
        SessionEnd::OverLimit { stop } => Some(json!({"reason": stop.reason.as_str(), "why": stop.why, "retry_at": null})),
        SessionEnd::RateLimited { why, retry_at } => {
            Some(json!({"reason": "rate_limited", "why": why, "retry_at": retry_at.map(|at| at.to_string())}))
        }
        _ => None,
    }
}

/// What a session spent, as events and reports have it. `null` is unknown.
fn usage_json(told: &Told, wall_seconds: Option<f64>) -> Value {
    json!({"turns": told.usage.turns, "input_tokens": told.usage.input_tokens, "output_tokens": told.usage.output_tokens,
           "cost_usd": told.usage.cost_usd, "session_cost_usd": told.session_cost_usd, "wall_seconds": wall_seconds})
}

fn not_started(error: StartError) -> SessionEnd {
    SessionEnd::NotStarted { why: format!("the session could not be started: {error}") }
}

fn end_word(end: Option<&SessionEnd>) -> String {
    match end {
        Some(SessionEnd::Ended { exit }) => exit.to_string(),
        Some(SessionEnd::TimedOut { .. }) => "timed out".into(),
        Some(SessionEnd::Idle { .. }) => "silent".into(),
        Some(SessionEnd::RateLimited { .. }) => "usage limit".into(),
        Some(SessionEnd::OverLimit { stop }) => stop.reason.as_str().into(),
        Some(SessionEnd::LeftWork { exit, .. }) => exit.to_string(),
        Some(SessionEnd::Unrunnable { .. }) => "agent unrunnable".into(),
        Some(SessionEnd::NotStarted { .. }) | None => "not started".into(),
    }
}

/// The command line for the journal, each word cut: prompts are long, and their place is not the journal.
fn shown(command: &[OsString]) -> Vec<String> {
    command.iter().take(20).map(|word| word.to_string_lossy().chars().take(200).collect()).collect()
}
