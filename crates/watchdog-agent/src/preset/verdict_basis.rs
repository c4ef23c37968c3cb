//! The basis of a verdict, and the missing capabilities that make it weaker. Pure.

use super::capability::AgentCapability;
use super::definition::AgentPreset;
use watchdog_core::config::settings::Limits;
use watchdog_facts::evidence::Commits;
use watchdog_facts::verdict::{Reason, Status, Verdict};

/// The basis of a verdict, as far as capabilities of the agent matter to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct VerdictBasis {
    /// The agent was probed.
    pub probed: bool,
    /// Its session left nothing, and nothing says why.
    pub nothing_done: bool,
    /// Its session was ended for silence or time.
    pub was_silent: bool,
    /// It met a usage limit whose end is unknown.
    pub limit_without_end: bool,
}

impl VerdictBasis {
    /// That of a verdict about a session of an agent.
    pub fn from_verdict(verdict: &Verdict) -> Self {
        let made = verdict
            .commits
            .as_ref()
            .is_some_and(|commits: &Commits| commits.new_commits > 0);
        let changed = verdict
            .changes
            .as_ref()
            .is_some_and(|changes| changes.any());
        let is_open = matches!(
            verdict.status(),
            Status::Incomplete | Status::Review | Status::Timeout
        );
        VerdictBasis {
            probed: !verdict.probes.is_empty(),
            nothing_done: is_open
                && verdict.commits.is_some()
                && !made
                && !changed
                && verdict.rescue_commits == 0,
            was_silent: matches!(verdict.reason, Reason::SessionTimeout | Reason::SessionIdle),
            limit_without_end: verdict.reason == Reason::RateLimited && verdict.retry_at.is_none(),
        }
    }

    /// Describes, as one text, the facts that the verdict lacks for want of a capability; `None` if
    /// it lacks none.
    pub fn weakened_by(self, preset: &AgentPreset) -> Option<String> {
        let gaps = [
            (self.nothing_done, AgentCapability::ReportsRefusals),
            (self.was_silent, AgentCapability::ReportsLimits),
            (self.was_silent, AgentCapability::ReportsOverload),
            (self.limit_without_end, AgentCapability::ReportsLimitEnd),
        ];
        let missing = gaps
            .into_iter()
            .filter(|(rests, capability)| *rests && !preset.can(*capability));
        let mut gap_sentences: Vec<&str> = missing
            .map(|(_, capability)| capability.sentence(false))
            .collect();
        let question = preset.question_gaps();
        gap_sentences.extend(question.into_iter().filter(|_| self.probed));
        (!gap_sentences.is_empty())
            .then(|| format!("{}: {}", preset.title, gap_sentences.join("; ")))
    }
}

/// Which limits cannot be held against an agent that does not report what they limit, for a person before its session starts.
pub fn unheld_limits(preset: &AgentPreset, limits: &Limits, agents_own: bool) -> Option<String> {
    let named = [
        (
            limits.max_cost_usd.is_some(),
            AgentCapability::ReportsCost,
            "max_cost_usd",
        ),
        (
            agents_own,
            AgentCapability::ReportsCost,
            "agents[].max_cost_usd",
        ),
        (
            limits.max_total_tokens.is_some(),
            AgentCapability::ReportsUsage,
            "max_total_tokens",
        ),
    ];
    let unheld: Vec<&str> = named
        .into_iter()
        .filter(|(set, capability, _)| *set && !preset.can(*capability))
        .map(|(_, _, name)| name)
        .collect();
    (!unheld.is_empty()).then(|| {
        format!(
            "{} does not report what {} limits: nothing holds it to that",
            preset.title,
            unheld.join(" and ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset::PresetCatalog;
    use watchdog_core::config::settings::ConfigSettings;

    fn preset(name: &str) -> std::sync::Arc<AgentPreset> {
        PresetCatalog::built_in_named(name).expect("it is built in")
    }

    #[test]
    fn verdict_names_facts_its_agent_cannot_report() {
        let nothing = VerdictBasis {
            nothing_done: true,
            ..VerdictBasis::default()
        };
        let silent = VerdictBasis {
            was_silent: true,
            ..VerdictBasis::default()
        };
        let limited = VerdictBasis {
            limit_without_end: true,
            ..VerdictBasis::default()
        };
        let probed = VerdictBasis {
            probed: true,
            ..VerdictBasis::default()
        };
        for (agent, basis, said) in [
            ("claude", nothing, None),
            ("codex", nothing, Some("a refused tool may go unreported")),
            ("gemini", nothing, None),
            ("amp", nothing, Some("a refused tool may go unreported")),
            ("claude", silent, None),
            (
                "opencode",
                silent,
                Some("a usage limit may look like silence"),
            ),
            (
                "gemini",
                silent,
                Some("a service without room may look like silence"),
            ),
            ("codex", silent, None),
            ("codex", limited, None),
            (
                "copilot",
                limited,
                Some("when a usage limit ends is not reported"),
            ),
            ("claude", probed, None),
            ("gemini", probed, None),
            (
                "opencode",
                probed,
                Some("no question about its state leaves the session"),
            ),
            ("qwen", probed, Some("some tools stay available")),
            ("opencode", VerdictBasis::default(), None),
        ] {
            let weakened = basis.weakened_by(&preset(agent));
            assert_eq!(
                weakened.is_some(),
                said.is_some(),
                "{agent} {basis:?} {weakened:?}"
            );
            let (weakened, said) = (weakened.unwrap_or_default(), said.unwrap_or_default());
            assert!(weakened.contains(said), "{agent} {basis:?}\n{weakened}");
        }
    }

    #[test]
    fn unenforceable_limit_is_reported_before_the_session() {
        let cost = Limits {
            max_cost_usd: Some(1.0),
            ..ConfigSettings::default().limits
        };
        let tokens = Limits {
            max_total_tokens: Some(1),
            ..ConfigSettings::default().limits
        };
        for (agent, limits, own, said) in [
            ("claude", &cost, true, None),
            ("opencode", &cost, true, None),
            ("codex", &cost, false, Some("what max_cost_usd limits")),
            (
                "codex",
                &ConfigSettings::default().limits,
                true,
                Some("what agents[].max_cost_usd limits"),
            ),
            ("codex", &tokens, false, None),
            (
                "copilot",
                &tokens,
                false,
                Some("what max_total_tokens limits"),
            ),
            ("codex", &ConfigSettings::default().limits, false, None),
        ] {
            let unheld_note = unheld_limits(&preset(agent), limits, own);
            assert_eq!(
                unheld_note.is_some(),
                said.is_some(),
                "{agent} {unheld_note:?}"
            );
            assert!(
                unheld_note
                    .unwrap_or_default()
                    .contains(said.unwrap_or_default()),
                "{agent}"
            );
        }
    }
}
