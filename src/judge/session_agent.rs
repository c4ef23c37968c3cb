//! The agent that ran a session: whom a probe asks, and whom a rescue asks for its plan.

use std::path::Path;

use jiff::Timestamp;

use watchdog_core::config::settings::{AgentSettings, PresetName};
use watchdog_facts::agent_source::AgentSource;
use watchdog_store::{LocalStore, session};

use super::command_env::CommandEnv;
use super::session_cost::earlier_tokens;
use crate::session::find_agent_since;
use watchdog_agent::probe::ProbeSubject;

/// The agent of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SightedAgent {
    /// The name or path of its preset; `None` = the one that the configuration names is asked.
    pub agent: Option<String>,
    /// How it is known, or the id of its session; `None` where nothing names either.
    pub source: Option<AgentSource>,
}

impl SightedAgent {
    /// The recorded agent of the last session of a spec; `None` where no session is recorded since the baseline: an earlier one was about
    /// other work. Records that cannot be read are reported by the functions that write.
    pub fn recorded(
        store: &dyn LocalStore,
        (worktree_id, spec): (&str, &str),
        baseline_at: Option<Timestamp>,
    ) -> Option<Self> {
        let record = session::read_session(store, worktree_id, spec).ok()??;
        (baseline_at? <= record.started_at).then_some(SightedAgent {
            agent: record.agent,
            source: record.agent_source,
        })
    }

    /// The recorded agent, or for a session by hand the one that transcripts or processes show since the baseline, where `sights`.
    pub fn find(
        command_env: &CommandEnv,
        store: &dyn LocalStore,
        work: (&str, &str),
        root: &Path,
        (baseline_at, sights): (Option<Timestamp>, bool),
    ) -> Self {
        Self::recorded(store, work, baseline_at).unwrap_or_else(|| {
            let by_hand = baseline_at.filter(|_| sights).and_then(|at| {
                let sources = command_env.transcript_sources();
                find_agent_since(store, work, (root, &sources), at).ok()?
            });
            by_hand.map_or_else(SightedAgent::default, |(agent, source)| SightedAgent {
                agent: Some(agent),
                source,
            })
        })
    }

    /// Why its word proves nothing; `None` where a person named this agent, in the session's command line or as the `configured` one.
    pub fn doubt(&self, configured: Option<&AgentSettings>) -> Option<String> {
        let doubt = self.source?.doubt()?;
        let is_named = configured.is_some_and(|settings| {
            settings.probe.is_some()
                || self
                    .agent
                    .as_deref()
                    .is_none_or(|agent| agent == settings.preset.as_str())
        });
        (!is_named).then(|| {
            format!(
                "{doubt}; name it with agent.preset in completion.json, or start it by its own name"
            )
        })
    }
}

impl CommandEnv {
    /// Whether a person named whom to ask: in the configuration (`names_agent`, or a program of its own), or by `--agent-program`.
    pub fn is_agent_named(&self, names_agent: bool, settings: &AgentSettings) -> bool {
        names_agent || settings.probe.is_some() || self.agent_program.is_some()
    }

    /// What is known of a session before it is asked: its transcript, which it could write itself and which says nothing but where a
    /// question goes; and its tokens, as its output reported them at the last end that watchdog saw.
    pub fn probed_session(
        &self,
        store: Option<&dyn LocalStore>,
        worktree_id: &str,
        (root, agent): (&Path, &AgentSettings),
        id: Option<&str>,
    ) -> ProbeSubject {
        let Some(id) = id else {
            return ProbeSubject::default();
        };
        let transcript = self
            .transcripts_of(root, agent)
            .and_then(|source| source.session(root, id))
            .map(|found| found.path);
        let tokens = store.and_then(|store| earlier_tokens(store, worktree_id).remove(id));
        ProbeSubject { transcript, tokens }
    }
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
        let claude = AgentSettings {
            preset: PresetName::CLAUDE,
            model: Some("sonnet".into()),
            probe: None,
        };
        let codex = AgentSettings {
            preset: PresetName::CODEX,
            model: Some("o".into()),
            probe: None,
        };
        let own = AgentSettings {
            probe: Some(vec!["ask".into()]),
            ..claude.clone()
        };
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
            assert_eq!(
                (asked.preset.as_str(), asked.model.as_deref()),
                (preset, model),
                "{configured:?} {ran:?}"
            );
            assert_eq!(asked.probe, configured.probe);
        }
    }

    #[test]
    fn the_word_of_an_agent_that_no_person_named_is_doubted() {
        let configured = |preset: PresetName| AgentSettings {
            preset,
            model: None,
            probe: None,
        };
        let own = AgentSettings {
            probe: Some(vec!["ask".into()]),
            ..configured(PresetName::CLAUDE)
        };
        let (claude, codex) = (
            configured(PresetName::CLAUDE),
            configured(PresetName::CODEX),
        );
        for (agent, source, settings, doubted) in [
            (Some("codex"), Some(AgentSource::Named), None, false),
            (Some("codex"), None, None, false),
            (None, None, None, false),
            (Some("codex"), Some(AgentSource::Processes), None, true),
            (
                Some("codex"),
                Some(AgentSource::Processes),
                Some(&claude),
                true,
            ),
            (
                Some("codex"),
                Some(AgentSource::Processes),
                Some(&codex),
                false,
            ),
            (
                Some("codex"),
                Some(AgentSource::Output),
                Some(&codex),
                false,
            ),
            (Some("codex"), Some(AgentSource::Output), Some(&own), false),
            (None, Some(AgentSource::Output), None, true),
            (None, Some(AgentSource::Output), Some(&claude), false),
        ] {
            let sighted = SightedAgent {
                agent: agent.map(str::to_owned),
                source,
            };
            assert_eq!(
                sighted.doubt(settings).is_some(),
                doubted,
                "{sighted:?} {settings:?}"
            );
        }
    }
}
