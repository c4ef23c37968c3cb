//! The agents of a loop: those that the command line or the configuration names, in the order of
//! preference. A loop starts no other agent.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use crate::judge::agent_preset::MissingPreset;
use crate::judge::command_env::CommandEnv;
use crate::judge::session_agent::agent_of_command;
use watchdog_agent::preset::AgentPreset;
use watchdog_agent::{ConversationChoice, SessionAgent, SessionCommand};
use watchdog_core::config::settings::{AgentEntry, ConfigSettings};
use watchdog_core::config::{PresetName, nearest_first, unknown_preset};
use watchdog_core::decision::iteration::agent_order::RankedAgent;
use watchdog_process::StdinSource;

/// An agent of a loop.
#[derive(Debug, Clone)]
pub struct LoopAgent {
    /// Unique in the loop.
    pub name: String,
    /// How it is started.
    pub worker: SessionAgent,
    /// US dollars that its sessions of one loop may cost.
    pub max_cost_usd: Option<f64>,
    /// The model that its entry names.
    pub model: Option<String>,
}

/// Finds the preset of a name; the error says why there is none.
pub type PresetLookup<'a> = &'a dyn Fn(&PresetName) -> Result<Arc<AgentPreset>, MissingPreset>;

/// How the agents of a loop were named.
#[derive(Debug, Clone)]
pub enum AgentSelection {
    /// A program of the user's.
    Program {
        /// The program and its arguments.
        argv: Vec<OsString>,
        /// The agents that take over at a limit, by name.
        fallback: Vec<String>,
    },
    /// An entry of `agents`, or else a preset.
    Named {
        /// Its name.
        name: String,
        /// Further arguments for it.
        args: Vec<OsString>,
        /// Another file than its own program in `PATH`.
        program: Option<OsString>,
        /// The agents that take over at a limit, by name, in place of the entry's own `fallback`.
        fallback: Vec<String>,
    },
    /// The agent of `completion.json`.
    Configured {
        /// Further arguments for it.
        args: Vec<OsString>,
        /// Another file than its own program in `PATH`.
        program: Option<OsString>,
        /// The agents that take over at a limit, by name.
        fallback: Vec<String>,
    },
    /// These.
    Given(Vec<LoopAgent>),
}

impl AgentSelection {
    /// The agents in their order, the preferred one first.
    ///
    /// # Errors
    /// A name that neither `agents` nor a preset has, or one that stands twice.
    pub fn resolve(
        &self,
        settings: &ConfigSettings,
        presets: PresetLookup<'_>,
    ) -> Result<Vec<LoopAgent>, String> {
        let (first, fallback) = match self {
            AgentSelection::Given(agents) => return Ok(agents.clone()),
            AgentSelection::Program { argv, fallback } => {
                (LoopAgent::program(argv.clone()), fallback.clone())
            }
            AgentSelection::Configured {
                args,
                program,
                fallback,
            } => {
                let model = settings.agent.model.iter();
                let model = model.flat_map(|model| ["--model".into(), model.as_str().into()]);
                let args = model.chain(args.iter().cloned()).collect();
                (
                    LoopAgent::preset(&settings.agent.preset, presets, args, program.clone())?,
                    fallback.clone(),
                )
            }
            AgentSelection::Named {
                name,
                args,
                program,
                fallback,
            } => {
                let own = find_entry(settings, name)
                    .map(|entry| entry.fallback.clone())
                    .unwrap_or_default();
                (
                    by_name(settings, presets, name, args, program.as_ref())?,
                    if fallback.is_empty() {
                        own
                    } else {
                        fallback.clone()
                    },
                )
            }
        };
        let mut agents = vec![first];
        for name in fallback {
            if agents.iter().any(|agent| agent.name == name) {
                return Err(format!(
                    "the agent '{name}' is named twice; every agent of a loop is named once"
                ));
            }
            agents.push(by_name(settings, presets, &name, &[], None)?);
        }
        Ok(agents)
    }
}

impl LoopAgent {
    /// A program of the user's, by the name of its file.
    pub fn program(argv: Vec<OsString>) -> Self {
        let name = argv
            .first()
            .and_then(|program| Path::new(program).file_name())
            .unwrap_or_default();
        LoopAgent {
            name: name.to_string_lossy().into_owned(),
            worker: SessionAgent::Program(argv),
            max_cost_usd: None,
            model: None,
        }
    }

    /// A known agent with further arguments.
    ///
    /// # Errors
    /// Fails if there is no such preset.
    pub fn preset(
        name: &PresetName,
        presets: PresetLookup<'_>,
        args: Vec<OsString>,
        program: Option<OsString>,
    ) -> Result<Self, String> {
        let worker = SessionAgent::Agent {
            name: name.clone(),
            preset: presets(name).map_err(|missing| missing.to_string())?,
            program,
            args,
        };
        Ok(LoopAgent {
            name: name.as_str().to_owned(),
            worker,
            max_cost_usd: None,
            model: None,
        })
    }

    /// The command of a session with this prompt, which the file has from then on. `Err` is the reason why it cannot have it.
    pub fn prompted_command(
        &self,
        prompt: &str,
        file: &Path,
        conversation: ConversationChoice<'_>,
    ) -> Result<SessionCommand, String> {
        write_prompt(file, prompt)
            .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        let mut command = (self.worker)
            .command(prompt, file, conversation)
            .map_err(|error| error.to_string())?;
        (command.env).push(("WATCHDOG_PROMPT_FILE".into(), file.into()));
        if command.stdin == StdinSource::Bytes(Vec::new()) {
            command.stdin = StdinSource::Null;
        }
        Ok(command)
    }

    /// An entry of `agents`, with further arguments for its preset.
    ///
    /// # Errors
    /// Fails if there is no such preset.
    pub fn entry(
        entry: &AgentEntry,
        presets: PresetLookup<'_>,
        args: &[OsString],
        program: Option<&OsString>,
    ) -> Result<Self, String> {
        let model = entry
            .model
            .iter()
            .flat_map(|model| ["--model".into(), model.as_str().into()]);
        let worker = match &entry.command {
            Some(argv) => SessionAgent::Program(
                argv.iter()
                    .map(OsString::from)
                    .chain(args.iter().cloned())
                    .collect(),
            ),
            None => SessionAgent::Agent {
                name: entry.preset.clone(),
                preset: presets(&entry.preset).map_err(|missing| missing.to_string())?,
                program: program.cloned(),
                args: model.chain(args.iter().cloned()).collect(),
            },
        };
        Ok(LoopAgent {
            name: entry.name.clone(),
            worker,
            max_cost_usd: entry.max_cost_usd,
            model: entry.model.clone(),
        })
    }

    /// An entry of `agents` with those that take over for it at a limit, in their order.
    ///
    /// # Errors
    /// A name in its `fallback` that no entry has.
    pub fn entry_with_fallback(
        agent_entry: &AgentEntry,
        (settings, presets): (&ConfigSettings, PresetLookup<'_>),
        args: &[OsString],
        program: Option<&OsString>,
    ) -> Result<Vec<LoopAgent>, String> {
        let first = LoopAgent::entry(agent_entry, presets, args, program);
        let others = agent_entry
            .fallback
            .iter()
            .map(|name| by_name(settings, presets, name, &[], None));
        std::iter::once(first).chain(others).collect()
    }

    /// The agent with this name: an entry of `agents`, or else a preset.
    ///
    /// # Errors
    /// Fails if there is no such agent, or its preset cannot be read.
    pub fn from_name(
        settings: &ConfigSettings,
        presets: PresetLookup<'_>,
        name: &str,
    ) -> Result<Self, String> {
        by_name(settings, presets, name, &[], None)
    }

    /// Its place in the order of a loop.
    pub fn to_ranked(&self) -> RankedAgent {
        RankedAgent {
            name: self.name.clone(),
            max_cost_usd: self.max_cost_usd,
        }
    }

    /// Whom a usage limit of its sessions belongs to, among the machines of an account; `None` where that is unclear.
    pub fn account_agent(&self, command_env: &CommandEnv) -> Option<String> {
        match &self.worker {
            SessionAgent::Agent { name, .. } => Some(match &self.model {
                Some(model) => format!("{} {model}", name.as_str()),
                None => name.as_str().to_owned(),
            }),
            SessionAgent::Program(argv) => agent_of_command(command_env, argv),
        }
    }

    /// The name or path of its preset, where it has one: whom to ask about its sessions.
    pub fn preset_name(&self) -> Option<String> {
        match &self.worker {
            SessionAgent::Agent { name, .. } => Some(name.as_str().to_owned()),
            SessionAgent::Program(_) => None,
        }
    }
}

fn find_entry<'a>(settings: &'a ConfigSettings, name: &str) -> Option<&'a AgentEntry> {
    settings.agents.iter().find(|entry| entry.name == name)
}

/// The agent with this name: an entry of `agents`, or else a preset.
fn by_name(
    settings: &ConfigSettings,
    presets: PresetLookup<'_>,
    name: &str,
    args: &[OsString],
    program: Option<&OsString>,
) -> Result<LoopAgent, String> {
    if let Some(entry) = find_entry(settings, name) {
        return LoopAgent::entry(entry, presets, args, program);
    }
    let unknown = |presets: &[&str], own: &str| {
        let entries = settings.agents.iter().map(|entry| entry.name.as_str());
        let nearest = nearest_first(name, entries.chain(presets.iter().copied()));
        format!(
            "no entry of `agents` and no preset has this name: {}{own}",
            unknown_preset(name, nearest.iter().copied())
        )
    };
    let Some(preset) = PresetName::parse(name) else {
        return Err(unknown(
            &PresetName::BUILT_IN.each_ref().map(PresetName::as_str),
            "",
        ));
    };
    match presets(&preset) {
        Err(MissingPreset::Unknown {
            known_names: known,
            own,
            ..
        }) => Err(unknown(
            &known.iter().map(String::as_str).collect::<Vec<_>>(),
            &own,
        )),
        _ => LoopAgent::preset(&preset, presets, args.to_vec(), program.cloned()),
    }
}

fn write_prompt(path: &Path, prompt: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, prompt)
}

#[cfg(test)]
mod tests {
    use super::*;
    use watchdog_agent::preset::PresetCatalog;

    fn settings() -> ConfigSettings {
        let text = r#"{"agents": [
            {"name": "main", "preset": "claude", "model": "opus", "fallback": ["second", "own"], "max_cost_usd": 2.5},
            {"name": "second", "preset": "codex", "fallback": ["main"]},
            {"name": "own", "command": ["my-agent", "{prompt}"]}]}"#;
        watchdog_core::config::parse_config(text, Path::new("completion.json"))
            .expect("a good file")
            .settings
    }

    fn resolve_named(name: &str, fallback: &[&str]) -> Result<Vec<LoopAgent>, String> {
        AgentSelection::Named {
            name: name.into(),
            args: vec!["--yes".into()],
            program: Some("/opt/agent".into()),
            fallback: fallback.iter().map(|name| (*name).to_owned()).collect(),
        }
        .resolve(&settings(), &built_in)
    }

    fn built_in(name: &PresetName) -> Result<Arc<AgentPreset>, MissingPreset> {
        let names = || {
            PresetName::BUILT_IN
                .iter()
                .map(ToString::to_string)
                .collect()
        };
        let unknown = || MissingPreset::Unknown {
            name: name.to_string(),
            known_names: names(),
            own: "; and so on".into(),
        };
        PresetCatalog::built_in_named(name.as_str()).ok_or_else(unknown)
    }

    fn names(agents: &[LoopAgent]) -> Vec<&str> {
        agents.iter().map(|agent| agent.name.as_str()).collect()
    }

    #[test]
    fn only_the_started_entry_brings_its_fallback() {
        let agents = resolve_named("main", &[]).expect("known names");
        assert_eq!(names(&agents), ["main", "second", "own"]);
        let shown: Vec<String> = agents
            .iter()
            .map(|agent| format!("{:?}", agent.worker))
            .collect();
        assert!(
            shown[0].contains("opus")
                && shown[0].contains("--yes")
                && shown[0].contains("/opt/agent"),
            "{shown:?}"
        );
        assert!(
            shown[1].contains("codex")
                && !shown[1].contains("--yes")
                && !shown[1].contains("/opt/agent"),
            "{shown:?}"
        );
        assert!(shown[2].contains("my-agent"), "{shown:?}");
        let (first, second) = (&agents[0], &agents[1]);
        assert_eq!(
            (
                first.to_ranked().max_cost_usd,
                first.preset_name().as_deref()
            ),
            (Some(2.5), Some("claude"))
        );
        assert_eq!(
            (second.preset_name().as_deref(), agents[2].preset_name()),
            (Some("codex"), None)
        );
    }

    #[test]
    fn command_line_agents_override_and_invalid_names_fail() {
        assert_eq!(
            names(&resolve_named("main", &["gemini"]).expect("a preset")),
            ["main", "gemini"],
            "in place of the entry's own"
        );
        assert_eq!(
            names(&resolve_named("claude", &[]).expect("a preset")),
            ["claude"],
            "nobody is inferred"
        );
        for (name, near) in [
            ("mian", "main"),
            ("seconds", "second"),
            ("codx", "codex"),
            ("Main2", "main"),
        ] {
            let why = resolve_named(name, &[]).expect_err("nobody has the name");
            assert!(why.contains(&format!("did you mean `{near}`?")), "{why}");
            assert!(
                why.contains(&format!("must be one of `{near}`, ")),
                "the nearest is listed first: {why}"
            );
            assert!(
                why.contains("`own`") && why.contains("`opencode`"),
                "entries and presets are listed: {why}"
            );
        }
        assert!(
            resolve_named("Nobody", &[])
                .is_err_and(|why| why.contains("`main`") && why.contains("`codex`"))
        );
        assert!(
            resolve_named("main", &["main"])
                .is_err_and(|why| why.contains("'main' is named twice"))
        );
        let program = AgentSelection::Program {
            argv: vec!["/bin/agent".into()],
            fallback: vec!["second".into()],
        };
        assert_eq!(
            names(
                &program
                    .resolve(&settings(), &built_in)
                    .expect("known names")
            ),
            ["agent", "second"]
        );
    }
}
