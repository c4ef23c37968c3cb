//! Agents as JSON: the output of `watchdog agent list` and `agent show`.

use serde::{Serialize, Serializer};
use serde_json::Value;

/// An agent that watchdog knows, on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ListedAgent<'a> {
    /// Its word.
    pub name: &'a str,
    /// Its name for people.
    pub title: &'a str,
    /// The program of its preset.
    pub program: &'a str,
    /// The path of that in `PATH`; without it, the program is not there.
    #[serde(rename = "found")]
    pub program_path: Option<String>,
    /// The version that the preset was tried with; `None` = untested.
    pub tested: Option<&'a str>,
    /// The file of its preset; `None` = built in.
    pub file: Option<String>,
    /// Its capabilities by name, and whether it has them.
    #[serde(serialize_with = "write_by_name")]
    pub capabilities: Vec<(&'static str, bool)>,
}

/// An agent with what more is known of it. Braces mark the parts of a command line that are filled
/// in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ShownAgent<'a> {
    /// The agent.
    #[serde(flatten)]
    pub listed: ListedAgent<'a>,
    /// The hooks that are installed for it.
    pub hooks: Vec<&'static str>,
    /// The command line of a new session, word by word.
    pub session: Vec<String>,
    /// Of one that goes on; `None` = it cannot.
    pub resumed: Option<Vec<String>>,
    /// Of a question about its state; `None` = it is not asked.
    pub question: Option<Vec<String>>,
    /// The inputs of a repository that it reads or runs, as its preset names them.
    pub repository: Value,
    /// The option that allows more tools, as its preset names it.
    pub refusals: Value,
    /// How one logs in, as its preset says.
    pub login: Value,
}

/// `watchdog agent list --json`.
#[derive(Serialize)]
pub struct AgentList<'a> {
    /// The agents, in the order of their presets.
    pub agents: &'a [ListedAgent<'a>],
    /// The presets that cannot be read.
    pub problems: &'a [String],
}

fn write_by_name<S: Serializer>(words: &[(&str, bool)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(words.iter().copied())
}
