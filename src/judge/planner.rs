//! Asks the agent to plan the commits of a rescue, and decides after a failed question whether to ask again.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::rescue::PlanError;
use watchdog_agent::probe::{ProbeRequest, ProbeSubject, ask_for_plan};
use watchdog_core::config::settings::AgentSettings;
use watchdog_facts::evidence::ProbeOutcome;
use watchdog_facts::verdict::ProbeUsage;
use watchdog_process::CancelFlag;

use super::command_env::CommandEnv;
use crate::clock::{now, since};

/// Which agent to ask for a plan, and for how long.
pub struct PlannerAgent<'a> {
    /// Where watchdog works.
    pub command_env: &'a CommandEnv,
    /// The agent to ask.
    pub agent: &'a AgentSettings,
    /// Another file than the agent's own program in `PATH`.
    pub program: Option<OsString>,
    /// The top of the worktree.
    pub root: &'a Path,
    /// The session that worked here, where it is known.
    pub session_id: Option<&'a str>,
    /// The latest session recorded for the worktree.
    pub expected_session: Option<String>,
    /// What is known of that session.
    pub probed: ProbeSubject,
    /// How long all questions together may take.
    pub timeout: Duration,
    /// When that time began.
    pub begun: Timestamp,
    /// The cost of its questions so far.
    pub spent: Mutex<ProbeUsage>,
}

impl PlannerAgent<'_> {
    /// Puts one question; blocks until it is answered, failed, out of time or cancelled.
    ///
    /// # Errors
    /// Why there is no plan in the answer, and whether asking again may help.
    pub fn ask(
        &self,
        prompt: &str,
        attempt: u32,
        cancel: &CancelFlag,
    ) -> Result<Map<String, Value>, PlanError> {
        if cancel.is_cancelled() {
            return Err(PlanError::Interrupted);
        }
        let timeout = self.timeout.saturating_sub(since(self.begun));
        if timeout.is_zero() {
            return Err(PlanError::Unavailable {
                why: "no time was left to ask again".into(),
            });
        }
        self.command_env.tell(match attempt {
            1 => "asking the agent how to divide the work into commits",
            _ => "the plan cannot be used; asking once more",
        });
        let request = ProbeRequest {
            settings: self.agent,
            preset: self.command_env.agent_preset(self.root, &self.agent.preset),
            program: self.program.clone(),
            worktree: self.root,
            session_id: self.session_id,
            expected_session: self.expected_session.clone(),
            probed: self.probed.clone(),
            number: attempt,
            prompt: prompt.to_owned(),
            timeout,
            now: now(),
        };
        let mut spent = self.spent.lock().expect("mutex poisoned");
        let outcome = ask_for_plan(
            &request,
            &|program| program.run_cancellable(cancel),
            &mut spent,
        );
        drop(spent);
        if cancel.is_cancelled() {
            return Err(PlanError::Interrupted);
        }
        outcome.map_err(|outcome| refused(&outcome, self.agent.probe.is_some()))
    }
}

/// A configured program that answers something else knows only the other question; the known agents may do better.
fn refused(outcome: &ProbeOutcome, own_program: bool) -> PlanError {
    let why = outcome.failure();
    match outcome {
        ProbeOutcome::Unreadable { .. } | ProbeOutcome::Empty if !own_program => {
            PlanError::Unusable { why }
        }
        ProbeOutcome::Unreadable { .. }
        | ProbeOutcome::Empty
        | ProbeOutcome::Reply(_)
        | ProbeOutcome::TimedOut
        | ProbeOutcome::NoConversation { .. }
        | ProbeOutcome::NotInstalled { .. }
        | ProbeOutcome::NotLoggedIn { .. }
        | ProbeOutcome::Overloaded { .. }
        | ProbeOutcome::RateLimited { .. }
        | ProbeOutcome::Failed { .. } => PlanError::Unavailable { why },
    }
}
