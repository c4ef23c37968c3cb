//! `watchdog run`: records a baseline, runs one session, waits for it and its children, and judges.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;

use crate::agent::stream::StreamTap;
use crate::session::{note_conversations, record, spec_of_new_session};
use watchdog_core::decision::termination::{SpentUsage, termination};
use watchdog_facts::evidence::{UnreadableFact, WarningCode};
use watchdog_facts::verdict::Verdict;
use watchdog_git::Worktree;
use watchdog_process::{OutputMirror, StdinSource};
use watchdog_store::LocalStore;
use watchdog_store::journal::kind;

use super::first_failure::refuse_what_passes;
use super::session_run::{SessionOrder, run_session};
use crate::clock::now;
use crate::judge::admission::PreparedJudgement;
use crate::judge::admission::half_done_before;
use crate::judge::command_env::CommandEnv;
use crate::judge::configuration::effective;
use crate::judge::judgement_input::{JudgementInput, Overrides};
use crate::judge::open_worktree::OpenWorktree;
use crate::judge::refusal::Refusal;
use crate::judge::settle_anchor;
use crate::judge::signals::SignalState;
use crate::modes::live_session::RunningSession;
use crate::wire::verdict_json::Judgement;

/// What to run.
#[derive(Debug, Clone)]
pub struct RunRequest {
    /// The name of the work; by default the branch.
    pub spec: Option<String>,
    /// The session: a program and its arguments.
    pub command: Vec<OsString>,
    /// When it is ended; by default what the configuration says.
    pub timeout: Option<Duration>,
    /// How long it may be silent; zero = for ever, by default what the configuration says.
    pub idle_timeout: Option<Duration>,
    /// Between TERM and KILL.
    pub grace: Duration,
    /// How long children that outlive it are waited for.
    pub child_wait: Duration,
    /// Whether those that outlive even that are ended.
    pub end_survivors: bool,
    /// Whether stdout belongs to the verdict, so that the session's output goes to stderr.
    pub output_to_stderr: bool,
    /// The overrides of the command line.
    pub overrides: Overrides,
}

/// Runs one session and judges it.
pub async fn run(command_env: &CommandEnv, request: RunRequest, signals: &mut SignalState) -> Judgement {
    let begun = now();
    try_run(command_env, request, signals, begun).await.unwrap_or_else(|refusal| refusal.into_judgement(command_env, begun))
}

/// The same; `Err` says why no session started.
async fn try_run(command_env: &CommandEnv, request: RunRequest, signals: &mut SignalState, begun: Timestamp) -> Result<Judgement, Refusal> {
    let open = OpenWorktree::open(command_env)?;
    let mut lock = open.lock(command_env, "watchdog run", true)?;
    if let Some(verdict) = half_done_before(&open.worktree, &request.overrides) {
        return Err(verdict.into());
    }
    if let Some(verdict) = beside_a_live_session(command_env, &open, request.spec.as_deref())? {
        return Err(verdict.into());
    }
    let store = Arc::clone(&open.store);
    let prepared = PreparedJudgement::new(command_env, open_input(command_env, open, &request, begun)?, Arc::clone(&store), begun);
    prepared.admit()?;
    if let Some(stop) = termination(&prepared.input.settings.limits, &SpentUsage::default(), begun) {
        return Err(prepared.refuse(Verdict::new(stop.reason, format!("{}; the session was not started", stop.why))));
    }
    let idle_timeout = request.idle_timeout.or(prepared.input.settings.limits.idle_timeout).filter(|limit| !limit.is_zero());
    command_env.tell(&first_line(&prepared.input, idle_timeout.is_some()));
    let (input, found) = refuse_what_passes(prepared.input, command_env, &store, signals).await;
    let mut prepared = PreparedJudgement { input, ..prepared };
    prepared.unless(found)?;
    prepared.journal.note(kind::BASELINE, json!({"baseline": prepared.input.baseline.as_str()}));

    let order = SessionOrder {
        command: request.command.clone(),
        env: BTreeMap::new(),
        stdin: StdinSource::Inherit,
        timeout: request.timeout,
        idle_timeout,
        grace: request.grace,
        child_wait: request.child_wait,
        end_survivors: request.end_survivors,
        tap: StreamTap::default(),
        before: SpentUsage::default(),
        mirror: if request.output_to_stderr { OutputMirror::ToStderr } else { OutputMirror::Through },
    };
    let seen = run_session(command_env, &prepared.input, &store, &prepared.journal, order, signals).await;
    if lock.set_session_active(false).is_err() {
        command_env.tell("others could not be told that the session ended");
    }
    note_changed_criteria(&mut prepared.input, command_env, &store);
    let judgement = prepared.judge(seen, signals).await;
    drop(lock);
    Ok(judgement)
}

/// Adds a warning about what the session did to the file in force to those from before it.
fn note_changed_criteria(input: &mut JudgementInput, command_env: &CommandEnv, store: &Arc<dyn LocalStore>) {
    let Ok(worktree) = Worktree::open(input.worktree.get_mut().expect("mutex poisoned").root()) else { return };
    let open = OpenWorktree { worktree_id: input.worktree_id.clone(), worktree, store: Arc::clone(store), notes: Vec::new() };
    // One that does not even parse any more does not count.
    let Ok(found) = effective(command_env, &open, Some(&input.spec), Some(&input.baseline)) else { return };
    let new = found.notes.into_iter().filter(|note| note.code == WarningCode::CriteriaChanged && !input.notes.contains(note));
    let new: Vec<_> = new.collect();
    input.notes.extend(new);
}

/// The verdict to give where a session of the same spec runs that a hook reported or a killed watchdog left: its baseline stays.
fn beside_a_live_session(command_env: &CommandEnv, open: &OpenWorktree, named: Option<&str>) -> Result<Option<Verdict>, UnreadableFact> {
    let spec = spec_of_new_session(open.store.as_ref(), &open.worktree, named)?;
    let running = RunningSession::of(command_env, open.store.as_ref(), (&open.worktree_id, open.root()), Some(&spec))?;
    Ok(running.map(|running| running.not_beside_it()))
}

fn open_input(
    command_env: &CommandEnv,
    open: OpenWorktree,
    request: &RunRequest,
    begun: Timestamp,
) -> Result<JudgementInput, UnreadableFact> {
    // The configuration is read before anything is recorded: a mistake in it leaves no trace.
    let head = open.worktree.head()?;
    let spec = spec_of_new_session(open.store.as_ref(), &open.worktree, request.spec.as_deref())?;
    settle_anchor::between_sessions(&open, Some(&spec), begun)?;
    let effective = effective(command_env, &open, Some(&spec), Some(&head))?;
    let recorded = record(open.store.as_ref(), &open.worktree, Some(&spec), request.overrides.uncommitted, begun)?;
    let effective = settle_anchor::session_begins(&open, &recorded, effective)?;
    note_conversations(open.store.as_ref(), (&open.worktree_id, &recorded.spec), (open.root(), &command_env.claude_home), recorded.at)?;
    Ok(JudgementInput::new(open, recorded, true, effective, request.overrides.clone()))
}

/// One line for a person before the session begins: whose the uncommitted files are, and what silence leads to.
fn first_line(input: &JudgementInput, ends_silence: bool) -> String {
    match ends_silence {
        true => input.whose_work(),
        false => format!("{}; no idle timeout: a session that falls silent is not ended (--idle-timeout 30m ends it)", input.whose_work()),
    }
}
