//! Recognises the agent of a session: by its command line before it starts, by its processes while it runs, by its output at its end.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::Builder;
use std::time::{Duration, Instant};

use super::sighted_agent::{AgentSigns, OutputDialect};
use crate::judge::command_env::CommandEnv;
use crate::judge::session_agent::SightedAgent;
use watchdog_agent::recognition::{
    AgentWords, NamedAgents, ProcessCommand, agents_in_command, agents_in_processes, known_agents,
};
use watchdog_agent::stream::{StreamFormat, StreamTap};
use watchdog_core::config::PresetName;
use watchdog_core::config::settings::AgentSettings;
use watchdog_process::{CommandLineReader, ProcessCommandLine};
use watchdog_system::lock_mutex;

/// The signs of a session's agent.
pub struct SessionRecognition {
    agent_words: Vec<AgentWords>,
    chosen: Option<String>,
    by_command: NamedAgents,
    watch: Option<AgentWatch>,
}

impl SessionRecognition {
    /// Of a session with this command line. `chosen` is the agent that watchdog was told to start.
    pub fn of_command(
        command_env: &CommandEnv,
        chosen: Option<&str>,
        command: &[OsString],
    ) -> Self {
        let agent_words = known_agents(&command_env.presets);
        SessionRecognition {
            by_command: agents_in_command(command, &agent_words),
            agent_words,
            chosen: chosen.map(str::to_owned),
            watch: None,
        }
    }

    /// The agent that a person named.
    pub fn get_named_agent(&self) -> Option<&str> {
        self.chosen.as_deref().or(self.by_command.one())
    }

    /// Begins to look at its processes, unless a person named the agent.
    pub fn watch(&mut self, processes: CommandLineReader, command_env: &CommandEnv) {
        if self.get_named_agent().is_none() {
            let narrate = command_env.narrate.clone();
            let tell = move |words: &AgentWords| {
                narrate(&format!(
                    "{} runs in the session, as its processes show",
                    words.title
                ))
            };
            self.watch = AgentWatch::begin(processes, self.agent_words.clone(), tell);
        }
    }

    /// The agent, once the session has ended. `names_itself` = its output told an id.
    pub fn finish(self, output_dialect: OutputDialect<'_>, names_itself: bool) -> SightedAgent {
        let by_processes = self.watch.map(|watch| watch.seen()).unwrap_or_default();
        let signs = AgentSigns {
            chosen: self.chosen.as_deref(),
            by_command: self.by_command,
            by_processes,
            output_dialect,
            names_itself,
        };
        signs.agent(&self.agent_words)
    }

    /// Chooses the reader of the session's output: the `stream` block of the named agent, or else
    /// every dialect and the rules of the configured preset. With it the preset whose rules are
    /// read without its being named.
    pub fn reading(
        &self,
        command_env: &CommandEnv,
        root: &Path,
        configured: &AgentSettings,
    ) -> (StreamTap, Option<String>) {
        // A preset that cannot be read or is not trusted does not describe an output.
        let preset = |name: &PresetName| {
            command_env
                .find_preset(root, name)
                .ok()
                .map(|found_preset| found_preset.preset)
        };
        if let Some(named) = self.get_named_agent().and_then(PresetName::parse) {
            return (
                StreamTap::of_preset(
                    preset(&named)
                        .and_then(|preset| preset.stream.clone())
                        .as_ref(),
                ),
                None,
            );
        }
        let stream = preset(&configured.preset).and_then(|preset| preset.stream.clone());
        let ruled_by = matches!(stream, Some(StreamFormat::Rules(_)))
            .then(|| configured.preset.as_str().to_owned());
        (StreamTap::of_anyone(stream.as_ref()), ruled_by)
    }

    /// Returns the notice to a person before the session begins; `None` if its command line names
    /// no agent. `names_agent` = the configuration names the agent of these settings.
    pub fn clause(&self, settings: &AgentSettings, names_agent: bool) -> Option<String> {
        let title = |agent: &str| {
            self.words(agent)
                .map_or_else(|| agent.to_owned(), |words| words.title.clone())
        };
        let configured = settings.preset.as_str();
        match &self.by_command {
            NamedAgents::None => None,
            NamedAgents::One(agent) => {
                let differs = names_agent && settings.probe.is_none() && configured != agent;
                let aside = if differs {
                    format!(" (agent.preset names {configured}, which did not run it)")
                } else {
                    String::new()
                };
                Some(format!(
                    "session of {}, as its command line says{aside}",
                    title(agent)
                ))
            }
            NamedAgents::Several(agents) => {
                let titles = agents
                    .iter()
                    .map(|agent| title(agent))
                    .collect::<Vec<_>>()
                    .join(" and ");
                Some(format!(
                    "its command line names {titles}, so none of them is taken for the session's agent"
                ))
            }
        }
    }

    fn words(&self, agent: &str) -> Option<&AgentWords> {
        self.agent_words.iter().find(|words| words.agent == agent)
    }
}

/// The pause before the first look. Each further one is twice as long: what lives long is seen however late it begins.
const FIRST: Duration = Duration::from_millis(20);
/// The longest pause, while no agent was seen.
const LONGEST: Duration = Duration::from_secs(2);
/// The pause once one was seen, or none for so long.
const SELDOM: Duration = Duration::from_secs(30);
/// How long looks are frequent.
const FREQUENT: Duration = Duration::from_secs(120);
/// Looking may take one part in so many of the time.
const COST: u32 = 50;

/// The thread. Dropped, it stops.
pub struct AgentWatch {
    seen: Arc<Mutex<BTreeSet<String>>>,
    _stop: Sender<()>,
}

impl AgentWatch {
    /// Begins to watch; `tell` gets each agent once. `None` where no thread can be had: then the session is not recognised by its processes.
    pub fn begin(
        processes: CommandLineReader,
        agent_words: Vec<AgentWords>,
        tell: impl Fn(&AgentWords) + Send + 'static,
    ) -> Option<Self> {
        let seen = Arc::new(Mutex::new(BTreeSet::new()));
        let (stop, stopped) = channel::<()>();
        let seen_by_thread = Arc::clone(&seen);
        let watch = move || {
            let begun = Instant::now();
            let mut pause = FIRST;
            while matches!(stopped.recv_timeout(pause), Err(RecvTimeoutError::Timeout)) {
                let scan_start = Instant::now();
                let lines: Vec<ProcessCommand> =
                    processes.read_all().into_iter().map(as_command).collect();
                let agents = agents_in_processes(&lines, &agent_words);
                let mut new = Vec::new();
                let has_seen = {
                    let mut names_seen = lock_mutex(&seen_by_thread);
                    new.extend(
                        names(agents)
                            .into_iter()
                            .filter(|name| names_seen.insert(name.clone())),
                    );
                    !names_seen.is_empty()
                };
                agent_words
                    .iter()
                    .filter(|words| new.contains(&words.agent))
                    .for_each(&tell);
                let next = if has_seen || begun.elapsed() > FREQUENT {
                    SELDOM
                } else {
                    (pause * 2).min(LONGEST)
                };
                pause = next.max(scan_start.elapsed() * COST);
            }
        };
        Builder::new().name("agents".into()).spawn(watch).ok()?;
        Some(AgentWatch { seen, _stop: stop })
    }

    /// The agents that were seen so far.
    pub fn seen(&self) -> NamedAgents {
        let seen = lock_mutex(&self.seen);
        let mut names: Vec<String> = seen.iter().cloned().collect();
        match names.len() {
            0 => NamedAgents::None,
            1 => NamedAgents::One(names.remove(0)),
            _ => NamedAgents::Several(names),
        }
    }
}

fn as_command(line: ProcessCommandLine) -> ProcessCommand {
    ProcessCommand {
        pid: line.pid,
        parent: line.parent,
        argv: line.argv,
    }
}

fn names(agents: NamedAgents) -> Vec<String> {
    match agents {
        NamedAgents::None => Vec::new(),
        NamedAgents::One(agent) => vec![agent],
        NamedAgents::Several(agents) => agents,
    }
}
