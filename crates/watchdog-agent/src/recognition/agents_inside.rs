//! Finds the agents that work in a worktree, by the processes of this user. Pure.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::launched_program::only_starts_others;
use super::named_agents::{AgentWords, NamedAgents, ProcessCommand, agents_in_processes};
use watchdog_core::decision::session_life::SessionTurn;
use watchdog_process::WorkingProcess;

/// An agent that works in a worktree, itself or by a process below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentInside {
    /// The name of its preset.
    pub agent: String,
    /// Its process.
    pub pid: u32,
    /// The folder of that process.
    pub folder: PathBuf,
    /// Whether it is an ancestor of this very process.
    pub is_above: bool,
    /// Its entry in the agent's own list of sessions.
    pub listed: Option<ListedSession>,
}

/// An entry of an agent's own list of sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedSession {
    /// The agent's own name for it.
    pub session_id: Option<String>,
    /// The state that it is in.
    pub state: ListedState,
    /// Since when.
    pub since: Timestamp,
}

/// The state of a listed session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListedState {
    /// It works on its turn, or that is unknown.
    Busy,
    /// Its turn waits for a person.
    Waiting,
    /// Its turn is over.
    Idle,
}

impl ListedSession {
    /// The state of its turn: one that waits for a person is not over.
    pub fn turn(&self) -> SessionTurn {
        match self.state {
            ListedState::Busy | ListedState::Waiting => SessionTurn::Busy,
            ListedState::Idle => SessionTurn::Over { since: self.since },
        }
    }
}

/// The agents that work inside, of these processes with all above them: each in a folder of the worktree, and each above a process there. An
/// ancestor of this process counts only where it is an agent that itself works inside.
pub fn agents_inside(
    processes: &[WorkingProcess],
    agent_words: &[AgentWords],
    is_above: &dyn Fn(u32) -> bool,
    is_inside: &dyn Fn(&Path) -> bool,
) -> Vec<AgentInside> {
    let by_pid: HashMap<u32, (&WorkingProcess, Option<String>)> = processes
        .iter()
        .map(|process| (process.pid, (process, agent_of(process, agent_words))))
        .collect();
    let nearest_agent = |process: &WorkingProcess| {
        let mut pid = process.pid;
        // A circle cannot be, but processes are read one after the other while pids come again.
        for _ in 0..processes.len() {
            match by_pid.get(&pid)? {
                (process, Some(agent)) => return Some((*process, agent)),
                (process, None) => pid = process.parent,
            }
        }
        None
    };
    let mut inside: Vec<AgentInside> = Vec::new();
    for process in processes
        .iter()
        .filter(|process| is_inside(&process.folder))
    {
        let Some((agent, name)) = nearest_agent(process) else {
            continue;
        };
        let (own, above) = (agent.pid == process.pid, is_above(agent.pid));
        // A shell between an agent and this process is no life of its own; below an agent that calls from elsewhere, nothing is.
        if !own && (is_above(process.pid) || above && !is_inside(&agent.folder)) {
            continue;
        }
        if !inside.iter().any(|listed| listed.pid == agent.pid) {
            inside.push(AgentInside {
                agent: name.clone(),
                pid: agent.pid,
                folder: agent.folder.clone(),
                is_above: above,
                listed: None,
            });
        }
    }
    inside
}

fn agent_of(process: &WorkingProcess, agent_words: &[AgentWords]) -> Option<String> {
    let program = process.argv.first()?.to_string_lossy();
    if only_starts_others(program.split(' ').next()?) {
        return None;
    }
    let command = ProcessCommand {
        pid: process.pid,
        parent: process.parent,
        argv: process.argv.clone(),
    };
    match agents_in_processes(&[command], agent_words) {
        NamedAgents::None => None,
        NamedAgents::One(agent) => Some(agent),
        NamedAgents::Several(agents) => agents.into_iter().next(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset::PresetCatalog;

    fn new_process(pid: u32, parent: u32, line: &str, folder: &str) -> WorkingProcess {
        let argv = line.split(' ').map(Into::into).collect();
        WorkingProcess {
            pid,
            parent,
            argv,
            folder: folder.into(),
        }
    }

    /// The pids of the agents that work in `/w`, seen by a process below `above`.
    fn pids(processes: &[WorkingProcess], above: &[u32]) -> Vec<u32> {
        let known_agents = super::super::known_agents(&PresetCatalog::default());
        let is_above = |pid| above.contains(&pid);
        let is_inside = |folder: &Path| folder.starts_with("/w");
        let inside = agents_inside(processes, &known_agents, &is_above, &is_inside);
        inside.iter().map(|agent| agent.pid).collect()
    }

    #[test]
    fn only_agents_and_what_they_started_are_alive() {
        let agent = |folder| new_process(7, 1, "claude --resume x", folder);
        let none: &[u32] = &[];
        for (name, processes, above, expected) in [
            ("an agent", vec![agent("/w/src")], vec![], &[7][..]),
            ("an agent elsewhere", vec![agent("/home")], vec![], none),
            (
                "an agent by its runtime",
                vec![new_process(
                    7,
                    1,
                    "node /x/node_modules/@openai/codex/bin/codex.js",
                    "/w",
                )],
                vec![],
                &[7],
            ),
            (
                "a shell",
                vec![new_process(7, 1, "bash -l", "/w")],
                vec![],
                none,
            ),
            (
                "a login shell",
                vec![new_process(7, 1, "-zsh", "/w")],
                vec![],
                none,
            ),
            (
                "an editor",
                vec![new_process(7, 1, "vim claude.md", "/w")],
                vec![],
                none,
            ),
            (
                "a dev server",
                vec![new_process(7, 1, "node server.js", "/w")],
                vec![],
                none,
            ),
            (
                "a script that starts an agent later",
                vec![new_process(7, 1, "sh -c claude -p x; watchdog check", "/w")],
                vec![],
                none,
            ),
            (
                "watchdog that runs one",
                vec![new_process(7, 1, "/bin/watchdog run -- claude -p x", "/w")],
                vec![],
                none,
            ),
            (
                "a launcher, whose agent is a process of its own",
                vec![new_process(7, 1, "timeout 60 claude", "/w")],
                vec![],
                none,
            ),
            (
                "a build below an agent elsewhere",
                vec![agent("/home"), new_process(8, 7, "make", "/w")],
                vec![],
                &[7],
            ),
            (
                "a build below its shell",
                vec![
                    agent("/w"),
                    new_process(8, 7, "sh -c make", "/w"),
                    new_process(9, 8, "make", "/w"),
                ],
                vec![],
                &[7],
            ),
            (
                "an agent that calls from inside",
                vec![agent("/w"), new_process(8, 7, "sh -c x", "/w")],
                vec![7, 8],
                &[7],
            ),
            (
                "an agent that calls from elsewhere",
                vec![agent("/home"), new_process(8, 7, "sh -c x", "/w")],
                vec![7, 8],
                none,
            ),
            (
                "what that one runs beside",
                vec![agent("/home"), new_process(8, 7, "make", "/w")],
                vec![7],
                none,
            ),
            (
                "another agent that it runs",
                vec![agent("/home"), new_process(8, 7, "codex exec x", "/w")],
                vec![7],
                &[8],
            ),
        ] {
            assert_eq!(pids(&processes, &above), expected, "{name}");
        }
    }
}
