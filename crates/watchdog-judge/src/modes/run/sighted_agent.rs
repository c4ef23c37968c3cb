//! Decides which agent a session is of, from everything that names one, and how well that is known. Pure.

use crate::judge::session_agent::SightedAgent;
use watchdog_agent::recognition::{AgentWords, NamedAgents};
use watchdog_facts::agent_source::AgentSource;

/// Whose events an output was.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OutputDialect<'a> {
    /// Plain text, or nobody's that is known.
    #[default]
    None,
    /// This dialect's.
    Dialect(&'a str),
    /// Those that the rules of this preset speak of, by its name or path.
    RulesOf(&'a str),
}

/// Everything that may name the agent of a session.
#[derive(Debug, Clone, Default)]
pub struct AgentSigns<'a> {
    /// The agent that watchdog itself was told to start.
    pub chosen: Option<&'a str>,
    /// The command line that a person typed.
    pub by_command: NamedAgents,
    /// The processes that ran.
    pub by_processes: NamedAgents,
    /// Whose events its output was.
    pub output_dialect: OutputDialect<'a>,
    /// Whether its output told an id.
    pub names_itself: bool,
}

impl AgentSigns<'_> {
    /// The agent. A person's word decides; what the session could make up comes
    /// after it, and where two of these signs disagree none of them counts.
    pub fn agent(&self, agent_words: &[AgentWords]) -> SightedAgent {
        let named = |agent: &str, source| SightedAgent {
            agent: Some(agent.to_owned()),
            source: Some(source),
        };
        let is_plain = self.output_dialect == OutputDialect::None;
        let speaks = |agent: &str| match self.output_dialect {
            OutputDialect::None => false,
            OutputDialect::RulesOf(preset) => preset == agent,
            OutputDialect::Dialect(dialect) => agent_words
                .iter()
                .any(|words| words.agent == agent && words.dialect.as_deref() == Some(dialect)),
        };
        if let Some(agent) = self.chosen {
            return named(agent, AgentSource::Named);
        }
        if let Some(agent) = self.by_command.one() {
            // The id came from the output of another program, so that it may not be the named
            // agent's.
            let is_its_own = is_plain || speaks(agent);
            return named(
                agent,
                if is_its_own {
                    AgentSource::Named
                } else {
                    AgentSource::Output
                },
            );
        }
        let unknown = SightedAgent {
            agent: None,
            source: (self.names_itself || !is_plain).then_some(AgentSource::Output),
        };
        match (&self.by_command, &self.by_processes) {
            (NamedAgents::Several(agents), _)
            | (NamedAgents::None, NamedAgents::Several(agents)) => {
                let mut speaking = agents.iter().filter(|agent| speaks(agent));
                match (speaking.next(), speaking.next()) {
                    (Some(agent), None) => named(agent, AgentSource::Output),
                    _ => unknown,
                }
            }
            (_, NamedAgents::One(agent)) if is_plain || speaks(agent) => {
                named(agent, AgentSource::Processes)
            }
            (_, NamedAgents::One(_)) => unknown,
            _ => match self.output_dialect {
                // The first agent with that dialect is the one that it is named after.
                OutputDialect::Dialect(dialect) => agent_words
                    .iter()
                    .find(|words| words.dialect.as_deref() == Some(dialect))
                    .map_or(unknown, |words| named(&words.agent, AgentSource::Output)),
                OutputDialect::RulesOf(preset) => named(preset, AgentSource::Output),
                OutputDialect::None => unknown,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::AgentSource::{Named, Output, Processes};
    use super::*;
    use watchdog_agent::preset::PresetCatalog;
    use watchdog_agent::recognition::known_agents;

    /// The agents of a list with a space between them.
    fn named(agents: &str) -> NamedAgents {
        match agents.split_whitespace().collect::<Vec<_>>()[..] {
            [] => NamedAgents::None,
            [agent] => NamedAgents::One(agent.into()),
            _ => NamedAgents::Several(agents.split(' ').map(Into::into).collect()),
        }
    }

    #[test]
    fn named_agent_wins_and_session_signs_must_agree() {
        let output = |dialect| (OutputDialect::Dialect(dialect), true);
        let (plain, unread) = ((OutputDialect::None, false), (OutputDialect::None, true));
        let [codex, gemini, antigravity] = ["codex", "gemini", "antigravity"].map(output);
        let own = (OutputDialect::RulesOf("agents/mine.json"), true);
        let word = |text: &'static str| (!text.is_empty()).then_some(text);
        for (chosen, command, processes, (output_dialect, names_itself), agent, source) in [
            ("gemini", "codex", "claude", codex, "gemini", Some(Named)),
            ("", "gemini", "claude", codex, "gemini", Some(Output)),
            ("", "gemini", "claude", plain, "gemini", Some(Named)),
            ("", "gemini", "", gemini, "gemini", Some(Named)),
            ("", "", "codex", plain, "codex", Some(Processes)),
            ("", "", "codex", codex, "codex", Some(Processes)),
            ("", "", "claude", codex, "", Some(Output)),
            ("", "", "", codex, "codex", Some(Output)),
            ("", "", "", antigravity, "", Some(Output)),
            ("", "", "", unread, "", Some(Output)),
            ("", "", "", plain, "", None),
            ("", "claude codex", "claude", codex, "codex", Some(Output)),
            ("", "claude codex", "", plain, "", None),
            ("", "", "claude codex", codex, "codex", Some(Output)),
            ("", "", "claude codex", gemini, "", Some(Output)),
            ("", "", "", own, "agents/mine.json", Some(Output)),
            ("", "", "codex", own, "", Some(Output)),
            ("", "codex", "", own, "codex", Some(Output)),
        ] {
            let signs = AgentSigns {
                chosen: word(chosen),
                by_command: named(command),
                by_processes: named(processes),
                output_dialect,
                names_itself,
            };
            let expected = SightedAgent {
                agent: word(agent).map(str::to_owned),
                source,
            };
            assert_eq!(
                signs.agent(&known_agents(&PresetCatalog::default())),
                expected,
                "{signs:?}"
            );
        }
    }
}
