//! Asks the agent to plan the commits of a rescue, and decides after a failed question whether to ask again.

use std::sync::Mutex;

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::rescue::PlanError;
use watchdog_agent::probe::{ProbeRequest, ask_for_plan};
use watchdog_facts::evidence::ProbeOutcome;
use watchdog_facts::verdict::ProbeUsage;
use watchdog_process::CancelFlag;

use super::command_env::CommandEnv;
use crate::clock::{measure_since, now};

/// Which agent to ask for a plan, and for how long.
pub struct PlannerAgent<'a> {
    command_env: &'a CommandEnv,
    /// What its questions have in common. Its timeout is that of all of them together.
    question: ProbeRequest<'a>,
    /// When that time began.
    begun: Timestamp,
    spent: Mutex<ProbeUsage>,
}

impl<'a> PlannerAgent<'a> {
    /// Asks as this question does.
    pub fn new(command_env: &'a CommandEnv, question: ProbeRequest<'a>) -> Self {
        PlannerAgent {
            command_env,
            question,
            begun: now(),
            spent: Mutex::default(),
        }
    }

    /// The cost of its questions so far.
    pub fn cost_so_far(&self) -> ProbeUsage {
        *self.spent.lock().expect("mutex poisoned")
    }

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
        let timeout = self
            .question
            .timeout
            .saturating_sub(measure_since(self.begun));
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
            number: attempt,
            prompt: prompt.to_owned(),
            timeout,
            now: now(),
            ..self.question.clone()
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
        outcome.map_err(|outcome| {
            outcome_to_plan_error(&outcome, self.question.settings.probe.is_some())
        })
    }
}

/// A configured program that answers something else knows only the other question; the known agents may do better.
fn outcome_to_plan_error(outcome: &ProbeOutcome, own_program: bool) -> PlanError {
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
