//! `watchdog check`: judges what happened since a baseline.

use std::time::Duration;

use jiff::Timestamp;
use tokio::runtime::Handle;

use watchdog_facts::evidence::{Degradation, WarningCode};
use watchdog_facts::verdict::{Reason, Verdict};
use watchdog_process::{CommandLineReader, PidWaitOutcome};
use watchdog_store::lock::WorktreeLock;

use super::pid_wait;
use crate::clock::now;
use crate::judge::admission::PreparedJudgement;
use crate::judge::command_env::CommandEnv;
use crate::judge::input_assembly::SourceOfBaseline;
use crate::judge::judgement_input::Overrides;
use crate::judge::judgement_run::ObservedSession;
use crate::judge::live_session::{RunningSession, SessionActivity};
use crate::judge::open_worktree::OpenWorktree;
use crate::judge::refusal::{Refusal, about};
use crate::judge::session_agent::SightedAgent;
use crate::judge::session_life::WorktreeLife;
use crate::judge::signals::SignalState;
use crate::judge::spawn_io::spawn_io;
use crate::modes::run::session_recognition::SessionRecognition;
use crate::modes::run::sighted_agent::OutputDialect;
use crate::wire::verdict_json::Judgement;

/// The options of a check.
#[derive(Debug, Clone, Default)]
pub struct CheckRequest {
    /// Any git revision; by default the recorded baseline.
    pub baseline: Option<String>,
    /// The name of the work; by default that of the recorded baseline, or the branch.
    pub spec: Option<String>,
    /// A process to wait for first.
    pub pid: Option<u32>,
    /// The agent that its processes showed.
    pub sighted: SightedAgent,
    /// The overrides of the command line.
    pub overrides: Overrides,
}

/// Judges what happened since the baseline.
pub async fn judge_since_baseline(
    command_env: &CommandEnv,
    request: CheckRequest,
    signals: &SignalState,
) -> Judgement {
    let begun = now();
    try_check(command_env, request, signals, begun)
        .await
        .unwrap_or_else(|refusal| refusal.into_judgement(command_env, begun))
}

/// The same; `Err` says why nothing was judged.
pub async fn try_check(
    command_env: &CommandEnv,
    request: CheckRequest,
    signals: &SignalState,
    begun: Timestamp,
) -> Result<Judgement, Refusal> {
    let (command_env, signals) = (command_env.clone(), signals.clone());
    spawn_io(move || check_here(&command_env, request, &signals, begun)).await
}

/// The steps of a check: open, lock, wait, then those of [`judge_worktree`].
fn check_here(
    command_env: &CommandEnv,
    mut request: CheckRequest,
    signals: &SignalState,
    begun: Timestamp,
) -> Result<Judgement, Refusal> {
    let open = OpenWorktree::open(command_env)?;
    if request.overrides.from_inside || is_from_inside(command_env, &open)? {
        request.overrides = Overrides {
            from_inside: true,
            no_probe: true,
            no_rescue: true,
            ..request.overrides
        };
        // Its own session holds the lock, and would be waited for without end.
        return as_judgement(judge_worktree(command_env, open, &request, signals, begun));
    }
    let mut lock = open
        .lock(command_env, "watchdog check", false)
        .map_err(|refusal| with_its_session(command_env, &open, refusal, begun))?;
    wait_for_process(command_env, &mut request, &mut lock, signals)?;
    let stalled = stalled_session(command_env, &open);
    let mut judgement = as_judgement(judge_worktree(command_env, open, &request, signals, begun))?;
    judgement.verdict.degraded.extend(stalled);
    drop(lock);
    Ok(judgement)
}

/// A refusal that knows spec and baseline is a judgement like any other.
fn as_judgement(judged: Result<Judgement, Refusal>) -> Result<Judgement, Refusal> {
    judged.or_else(|refusal| match refusal {
        Refusal::Judgement(judgement) => Ok(*judgement),
        other => Err(other),
    })
}

/// The steps under the lock that the caller holds: input, admit, judge.
pub fn judge_worktree(
    command_env: &CommandEnv,
    open: OpenWorktree,
    request: &CheckRequest,
    signals: &SignalState,
    begun: Timestamp,
) -> Result<Judgement, Refusal> {
    let source = SourceOfBaseline::Recorded(request.baseline.as_deref());
    let work = (source, request.spec.as_deref());
    let mut prepared = PreparedJudgement::open(command_env, open, work, &request.overrides, begun)?;
    if !request.overrides.from_inside {
        prepared.note_open_breaker()?;
    }
    // The record rests on more than the processes of a moment.
    let input = &prepared.input;
    let recorded = SightedAgent::from_record(
        prepared.store.as_ref(),
        (&input.worktree_id, &input.spec),
        input.record_at,
    );
    let is_named = recorded.is_some_and(|recorded| recorded.agent.is_some());
    let SightedAgent { agent, source } = if is_named {
        SightedAgent::default()
    } else {
        request.sighted.clone()
    };
    Ok(prepared.judge_here(
        ObservedSession {
            agent,
            agent_source: source,
            ..ObservedSession::default()
        },
        signals,
    ))
}

/// Whether a session of this worktree calls, so that no record may move.
fn is_from_inside(command_env: &CommandEnv, open: &OpenWorktree) -> Result<bool, Refusal> {
    let life = WorktreeLife::read_sessions(
        command_env,
        open.store.as_ref(),
        (&open.worktree_id, open.root()),
        Duration::ZERO,
    )?;
    Ok(life.from_inside)
}

/// A recorded session, such as a hook's, without a lock on its worktree: the judgement of its work should mention that it has stalled.
fn stalled_session(command_env: &CommandEnv, open: &OpenWorktree) -> Option<Degradation> {
    let running = RunningSession::find_running(command_env, open, None).ok()??;
    (running.live.doing == SessionActivity::Stalled)
        .then(|| Degradation::new(WarningCode::SessionStalled, running.in_words()))
}

/// Adds to a verdict that a live session caused how that session is doing.
fn with_its_session(
    command_env: &CommandEnv,
    open: &OpenWorktree,
    refusal: Refusal,
    begun: Timestamp,
) -> Refusal {
    let Refusal::Verdict(verdict) = refusal else {
        return refusal;
    };
    if verdict.reason != Reason::SessionActive {
        return Refusal::Verdict(verdict);
    }
    let running = RunningSession::find_running(command_env, open, None);
    // If that cannot be read, the holder of the worktree is known all the same.
    let Some(running) = running.ok().flatten() else {
        return Refusal::Verdict(verdict);
    };
    let message = format!("{}{}", verdict.message, running.live.in_words());
    let judgement = about(
        command_env,
        None,
        Verdict {
            message,
            ..*verdict
        },
        begun,
    );
    Refusal::Judgement(Box::new(Judgement {
        session: Some(running.to_session()),
        ..judgement
    }))
}

/// Waits for a process that was named. Meanwhile the lock says that a session is active.
fn wait_for_process(
    command_env: &CommandEnv,
    request: &mut CheckRequest,
    lock: &mut WorktreeLock,
    signals: &SignalState,
) -> Result<(), Refusal> {
    let Some(pid) = request.pid else {
        return Ok(());
    };
    let marked = lock.set_session_active(true);
    command_env.tell(&format!("waiting for process {pid} to end"));
    let mut recognition = SessionRecognition::of_command(command_env, None, &[]);
    recognition.watch(CommandLineReader::below(pid), command_env);
    match Handle::current().block_on(pid_wait::end_of(pid, None, &mut signals.clone())) {
        Ok(PidWaitOutcome::Ended) => {}
        Ok(PidWaitOutcome::NotRunning) => {
            command_env.tell(&format!("process {pid} is not running (any more)"))
        }
        Ok(PidWaitOutcome::Cancelled | PidWaitOutcome::TimedOut) => {
            let message =
                format!("interrupted while waiting for process {pid}; nothing was judged");
            return Err(Verdict::new(Reason::Interrupted, message).into());
        }
        Err(error) => return Err(Verdict::new(Reason::ProbeError, error.to_string()).into()),
    }
    if marked
        .and_then(|()| lock.set_session_active(false))
        .is_err()
    {
        command_env.tell("could not update the lock file");
    }
    request.sighted = recognition.finish(OutputDialect::None, false);
    request.overrides.session_over = true;
    Ok(())
}
