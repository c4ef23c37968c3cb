//! The agent that ran a session: whom a probe asks, what its sessions cost before, and which usage limit of its account holds it.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::Path;

use jiff::Timestamp;

use super::command_env::CommandEnv;
use crate::clock::now;
use crate::session::find_agent_since;
use crate::wire::session_events::session_tokens_of;
use watchdog_agent::probe::ProbeSubject;
use watchdog_agent::recognition::{NamedAgents, agents_in_command, known_agents, single_program};
use watchdog_agent::stream::{SessionSummary, TokenCounts};
use watchdog_core::config::settings::{AgentSettings, PresetName};
use watchdog_facts::agent_source::AgentSource;
use watchdog_store::account::AccountLimit;
use watchdog_store::engine::{EventCursor, StoredEvent};
use watchdog_store::journal::kind;
use watchdog_store::{LocalStore, RecordType, account, session::SessionRecord};

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
    pub fn from_record(
        store: &dyn LocalStore,
        (worktree_id, spec): (&str, &str),
        baseline_at: Option<Timestamp>,
    ) -> Option<Self> {
        let record = SessionRecord::read_row(store, worktree_id, spec).ok()??;
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
        Self::from_record(store, work, baseline_at).unwrap_or_else(|| {
            let by_hand = baseline_at.filter(|_| sights).and_then(|at| {
                let sources = command_env.transcript_sources(&PresetName::BUILT_IN);
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

    /// Reads the known facts of a session before it is asked: its transcript, which it could write
    /// itself and which only says where a question goes; and its tokens, as its output reported
    /// them at the last end that watchdog saw.
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
            .transcripts_of(root, agent.preset.as_str())
            .and_then(|source| source.session(root, id))
            .map(|file| file.path);
        let tokens = store.and_then(|store| earlier_tokens(store, worktree_id).remove(id));
        ProbeSubject { transcript, tokens }
    }
}

/// Whom to ask about a session that this agent ran. A name that is no preset's leaves the configured agent.
pub fn settings_for(configured: &AgentSettings, ran: Option<&str>) -> AgentSettings {
    configured.about_session(ran.and_then(PresetName::parse).as_ref())
}

/// How many events of a worktree are searched for the run before.
const HISTORY: usize = 100;

/// The cost of this run in US dollars: the session's cost, less its cost at the last end that watchdog saw. The total cost if watchdog saw
/// no end: a budget should rather overcount than undercount.
pub fn own_cost(
    store: &dyn LocalStore,
    worktree_id: &str,
    summary: &SessionSummary,
) -> Option<f64> {
    let (true, Some(whole), Some(id)) = (
        summary.cost_is_of_the_session,
        summary.session_cost_usd,
        &summary.session_id,
    ) else {
        return summary.usage.cost_usd;
    };
    Some(cost_beyond_the_last_end(store, worktree_id, id, whole).unwrap_or(whole))
}

/// The cost of a session since the last end that watchdog saw; `None` where no recorded end has a cost.
pub fn cost_beyond_the_last_end(
    store: &dyn LocalStore,
    worktree_id: &str,
    session_id: &str,
    whole: f64,
) -> Option<f64> {
    let events = list_ends(store, worktree_id);
    let before = (events.iter().rev())
        .filter(|event| event.data["session_id"] == session_id)
        .find_map(|event| event.data["usage"]["session_cost_usd"].as_f64());
    // A lower total than before means that the agent started its count again.
    before
        .filter(|before| *before <= whole)
        .map(|before| whole - before)
}

/// The newest ends of sessions in a worktree, oldest first.
fn list_ends(store: &dyn LocalStore, worktree_id: &str) -> Vec<StoredEvent> {
    let newest = store.read_back(EventCursor::END, Some(worktree_id), HISTORY);
    let mut events = newest.map_or_else(|_| Vec::new(), |(events, _)| events);
    events.retain(|event| event.kind == kind::SESSION_ENDED);
    events
}

/// Tokens of the sessions whose ends watchdog saw in this worktree, by their ids: what a session that is resumed had spent before.
pub fn earlier_tokens(store: &dyn LocalStore, worktree_id: &str) -> HashMap<String, TokenCounts> {
    let ends = list_ends(store, worktree_id);
    let tokens = ends.iter().filter_map(|event| {
        let (input, output) = session_tokens_of(&event.data)?;
        Some((
            event.data["session_id"].as_str()?.to_owned(),
            TokenCounts { input, output },
        ))
    });
    // The last end of a session wins.
    tokens.collect()
}

/// Whom the limit of a session belongs to that a command line starts: the agent that it names, else its one program. `None` where it names
/// several. What the session prints or runs later does not count: it could name another.
pub fn agent_of_command(command_env: &CommandEnv, argv: &[OsString]) -> Option<String> {
    match agents_in_command(argv, &known_agents(&command_env.presets)) {
        NamedAgents::One(agent) => Some(agent),
        NamedAgents::Several(_) => None,
        NamedAgents::None => single_program(argv),
    }
}

/// Whom the limit of a question belongs to.
pub fn agent_of_question(agent: &AgentSettings) -> Option<String> {
    match &agent.probe {
        Some(argv) => single_program(&argv.iter().map(OsString::from).collect::<Vec<_>>()),
        None => Some(agent.preset.as_str().to_owned()),
    }
}

/// The limit that another machine of the account met and that holds this agent now. Records that cannot be read hold nobody.
pub fn held(store: &dyn LocalStore, agent: Option<&str>) -> Option<AccountLimit> {
    account::read_account(store).ok()??.holds(agent?, now())
}

/// Whether a limit of another machine keeps this agent from being asked.
pub fn is_held(store: &dyn LocalStore, agent: &AgentSettings) -> bool {
    held(store, agent_of_question(agent).as_deref()).is_some()
}

/// A limit was met here: the other machines of the account are told of it later. One whose end was not told is shared with nobody.
pub fn limit_met(store: &dyn LocalStore, agent: Option<&str>, until: Option<Timestamp>) {
    if let Some((agent, until)) = agent.zip(until) {
        // One that cannot be written down holds this machine all the same; the others will meet it themselves.
        let _ = account::limit_met(store, agent, until, now());
    }
}

/// What a person is told of such a limit.
pub fn in_words(limit: &AccountLimit) -> String {
    let AccountLimit {
        agent,
        until,
        machine,
    } = limit;
    format!(
        "{agent} met its limit on {machine}, which shares the account, and is held until {until:.0} (watchdog fleet account --clear-limit)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_agent_answers_unless_a_program_is_set() {
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
    fn guessed_agents_answer_is_doubted() {
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
