//! Watches the processes of a session for agents, in a thread of its own: a wrapper script is recognised by what it starts.

use std::collections::BTreeSet;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

use watchdog_agent::recognition::{AgentWords, NamedAgents, ProcessCommand, agents_in_processes};
use watchdog_process::{CommandLineReader, ProcessCommandLine};

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
        known: Vec<AgentWords>,
        tell: impl Fn(&AgentWords) + Send + 'static,
    ) -> Option<Self> {
        let seen = Arc::new(Mutex::new(BTreeSet::new()));
        let (stop, stopped) = channel::<()>();
        let found = Arc::clone(&seen);
        let watch = move || {
            let begun = Instant::now();
            let mut pause = FIRST;
            while matches!(stopped.recv_timeout(pause), Err(RecvTimeoutError::Timeout)) {
                let scan_start = Instant::now();
                let lines: Vec<ProcessCommand> =
                    processes.read_all().into_iter().map(as_command).collect();
                let agents = agents_in_processes(&lines, &known);
                let mut new = Vec::new();
                let has_seen = {
                    let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                    new.extend(
                        names(agents)
                            .into_iter()
                            .filter(|name| found.insert(name.clone())),
                    );
                    !found.is_empty()
                };
                known
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
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
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
