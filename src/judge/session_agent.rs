//! The agent that ran a session: whom a probe asks, and whom a rescue asks for its plan.

use jiff::Timestamp;

use watchdog_core::config::settings::{AgentSettings, PresetName};
use watchdog_store::{LocalStore, session};

/// The recorded agent of the last session of a spec, by the name or path of its preset. `None` where that is unknown, and where the
/// session began before the baseline: then it was about other work. Records that cannot be read are reported by the functions that write.
pub fn session_agent(store: &dyn LocalStore, worktree_id: &str, spec: &str, baseline_at: Option<Timestamp>) -> Option<String> {
    let at = baseline_at?;
    session::of(store, worktree_id, spec).ok()??.agent_since(at)
}

/// Whom to ask about a session that this agent ran. A name that is no preset's leaves the configured agent.
pub fn settings_for(configured: &AgentSettings, ran: Option<&str>) -> AgentSettings {
    configured.about_session(ran.and_then(PresetName::parse).as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agent_that_ran_the_session_is_asked_and_a_configured_program_answers_for_each() {
        let claude = AgentSettings { preset: PresetName::CLAUDE, model: Some("sonnet".into()), probe: None };
        let codex = AgentSettings { preset: PresetName::CODEX, model: Some("o".into()), probe: None };
        let own = AgentSettings { probe: Some(vec!["ask".into()]), ..claude.clone() };
        for (configured, ran, preset, model) in [
            (&claude, None, "claude", Some("sonnet")),
            (&claude, Some("claude"), "claude", Some("sonnet")),
            (&claude, Some("codex"), "codex", None),
            (&claude, Some("agents/mine.json"), "agents/mine.json", None),
            (&claude, Some("No Preset"), "claude", Some("sonnet")),
            (&codex, Some("codex"), "codex", Some("o")),
            (&codex, Some("claude"), "claude", Some("sonnet")),
            (&own, Some("codex"), "claude", Some("sonnet")),
        ] {
            let asked = settings_for(configured, ran);
            assert_eq!((asked.preset.as_str(), asked.model.as_deref()), (preset, model), "{configured:?} {ran:?}");
            assert_eq!(asked.probe, configured.probe);
        }
    }
}
