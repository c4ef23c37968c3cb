//! Recognises agents by what runs: from a command line, and from the processes of a session. Pure.
//!
//! A name counts only as a whole: `claude-notes.py` and `my-codex-viewer` are no agents. A command line that names two agents names
//! none, because the question is whom to ask.

mod agents_inside;
mod known_agents;
mod launched_program;
mod named_agents;
#[cfg(test)]
mod tests;

pub use agents_inside::{AgentInside, ListedSession, ListedState, agents_inside};
pub use known_agents::{agents_named_in, known_agents};
pub use launched_program::plain_commands;
pub use named_agents::{
    AgentWords, NamedAgents, ProcessCommand, agents_in_command, agents_in_processes, single_program,
};
