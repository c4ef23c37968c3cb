//! Waits for the session that a killed watchdog left behind: it may still work, and two at once would spoil each other's work.

use std::sync::Arc;
use std::time::Duration;

use crate::judge::command_env::CommandEnv;
use crate::judge::signals::SignalState;
use crate::modes::pid_wait;
use watchdog_facts::verdict::{Reason, Verdict};
use watchdog_process::{PidWaitOutcome, started_by_a_watchdog};
use watchdog_store::LocalStore;
use watchdog_store::session;

/// Waits until the recorded session of a spec has ended, if it still runs. The verdict to end with where it does not end in time.
pub async fn wait_for_its_end(
    command_env: &CommandEnv,
    store: &Arc<dyn LocalStore>,
    worktree_id: &str,
    spec: &str,
    timeout: Option<Duration>,
    signals: &mut SignalState,
) -> Result<(), Box<Verdict>> {
    let recorded = session::read_session(store.as_ref(), worktree_id, spec)
        .ok()
        .flatten();
    let Some(pid) = recorded
        .filter(|session| session.ended_at.is_none())
        .and_then(|session| session.pid)
    else {
        return Ok(());
    };
    // The system reuses pids: a process without a watchdog's mark is not that session.
    if !started_by_a_watchdog(pid) {
        return Ok(());
    }
    command_env.tell(&format!(
        "the session of a watchdog that was killed still runs (process {pid}): waiting for its end"
    ));
    match pid_wait::end_of(pid, timeout, signals).await {
        Ok(PidWaitOutcome::Ended | PidWaitOutcome::NotRunning) => Ok(()),
        Ok(PidWaitOutcome::Cancelled) => Err(Box::new(Verdict::new(
            Reason::Interrupted,
            format!(
                "interrupted while an earlier session still runs (process {pid}); nothing was started"
            ),
        ))),
        Ok(PidWaitOutcome::TimedOut) | Err(_) => Err(Box::new(Verdict::new(
            Reason::SessionActive,
            format!(
                "the session of a watchdog that was killed still runs (process {pid}); end it, then start the loop again"
            ),
        ))),
    }
}
