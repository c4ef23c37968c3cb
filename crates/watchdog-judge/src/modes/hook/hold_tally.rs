//! Counts how often an agent was held in a row, from call to call.

use jiff::Timestamp;

use crate::hooks::{HoldCountChange, HoldPoint, HoldStreak, HookEvent, HookInput};
use watchdog_facts::evidence::UnreadableFact;
use watchdog_store::hook_session::{HookedAgent, MAIN};
use watchdog_store::{LocalStore, RecordType};

/// The count of one agent of one session.
pub struct HoldTally<'a> {
    store: &'a dyn LocalStore,
    session_id: String,
    agent_id: Option<String>,
    /// The stored count, or the first one.
    hooked_agent: HookedAgent,
    /// Whether it was there already.
    was_stored: bool,
    output: bool,
}

impl<'a> HoldTally<'a> {
    /// Reads the count. `fallback` names the worktree where the host does not name a session.
    pub fn read_count(
        store: &'a dyn LocalStore,
        event: HookEvent,
        input: &HookInput,
        fallback: &str,
        fresh: HookedAgent,
    ) -> Result<Self, UnreadableFact> {
        let session_id = input
            .session_id
            .clone()
            .unwrap_or_else(|| format!("none in {fallback}"));
        let agent_id = if event == HookEvent::SubagentStop {
            input.agent_id.clone()
        } else {
            None
        };
        let stored =
            HookedAgent::read_row(store, &session_id, agent_id.as_deref().unwrap_or(MAIN))?;
        let was_stored = stored.is_some();
        let output = matches!(event, HookEvent::PreToolUse | HookEvent::PostToolUse);
        let mut hooked_agent = stored.unwrap_or(fresh);
        if row_ended(hooked_agent.prompt_id.as_deref(), input, output) {
            hooked_agent = HookedAgent {
                held: 0,
                denied: 0,
                accepted: None,
                ..hooked_agent
            };
        }
        hooked_agent.prompt_id = input.prompt_id.clone().or(hooked_agent.prompt_id);
        Ok(HoldTally {
            store,
            session_id,
            agent_id,
            hooked_agent,
            was_stored,
            output,
        })
    }

    /// So often, out of at most `most`.
    pub fn get_streak(&self, most: u32) -> HoldStreak {
        HoldStreak {
            times: Some(if self.output {
                self.hooked_agent.denied
            } else {
                self.hooked_agent.held
            }),
            most,
        }
    }

    /// Whether this very structured output, or the one that ended this turn, was let pass already.
    pub fn has_accepted_output(&self, event: HookEvent, input: &HookInput) -> bool {
        let Some((prompt, call)) = &self.hooked_agent.accepted else {
            return false;
        };
        match event {
            HookEvent::PostToolUse => input.tool_use_id.as_ref() == Some(call),
            // A turn that ends with structured output has no last words.
            HookEvent::Stop => {
                input.prompt_id.as_ref() == Some(prompt) && input.last_message.is_none()
            }
            _ => false,
        }
    }

    /// Stores the new count.
    pub fn count(
        mut self,
        counted: HoldCountChange,
        holding: HoldPoint,
        input: &HookInput,
        now: Timestamp,
    ) -> Result<(), UnreadableFact> {
        let before = self.hooked_agent.clone();
        match counted {
            HoldCountChange::Same => return Ok(()),
            HoldCountChange::OneMore if self.output => {
                self.hooked_agent.denied = self.hooked_agent.denied.saturating_add(1)
            }
            HoldCountChange::OneMore => {
                self.hooked_agent.held = self.hooked_agent.held.saturating_add(1)
            }
            HoldCountChange::Over => (self.hooked_agent.held, self.hooked_agent.denied) = (0, 0),
        }
        if let (HoldCountChange::Over, HoldPoint::Output, Some(prompt), Some(call)) =
            (counted, holding, &input.prompt_id, &input.tool_use_id)
        {
            self.hooked_agent.accepted = Some((prompt.clone(), call.clone()));
        }
        // An agent that was never held leaves nothing behind when it passes: most calls end without a write.
        if self.hooked_agent == before
            || (!self.was_stored
                && counted == HoldCountChange::Over
                && self.hooked_agent.accepted.is_none())
        {
            return Ok(());
        }
        self.hooked_agent.last_event_at = now;
        let row = self.agent_id.as_deref().unwrap_or(MAIN);
        (self.hooked_agent)
            .write_row(self.store, &self.session_id, row)
            .map_err(UnreadableFact::from)
    }
}

/// Whether the count belongs to an earlier turn.
fn row_ended(counted_for: Option<&str>, input: &HookInput, output: bool) -> bool {
    match (counted_for, input.prompt_id.as_deref()) {
        (Some(counted), Some(now)) => counted != now,
        // Without names of turns, the host says whether this is a turn that a stop hook made longer.
        _ => !output && !input.stop_hook_active,
    }
}

#[cfg(test)]
mod tests {
    use super::super::hold_tally::*;

    #[test]
    fn hold_streak_ends_with_prompt_or_host_report() {
        for (counted, prompt, active, output, ended) in [
            (Some("p"), Some("p"), false, false, false),
            (Some("p"), Some("p"), true, false, false),
            (Some("p"), Some("q"), true, false, true),
            (Some("p"), Some("q"), false, true, true),
            (Some("p"), None, true, false, false),
            (Some("p"), None, false, false, true),
            (None, None, false, false, true),
            (None, None, false, true, false),
            (None, Some("q"), true, false, false),
        ] {
            let input = HookInput {
                prompt_id: prompt.map(str::to_owned),
                stop_hook_active: active,
                ..HookInput::default()
            };
            assert_eq!(
                row_ended(counted, &input, output),
                ended,
                "{counted:?} {prompt:?} {active} {output}"
            );
        }
    }
}
