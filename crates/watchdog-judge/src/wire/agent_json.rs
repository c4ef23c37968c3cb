//! Agents as JSON: the output of `watchdog agent list` and `agent show`.

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

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
    /// What it reads or runs of a repository.
    pub repository: Vec<ShownInput<'a>>,
    /// The option that allows more tools.
    pub refusals: Option<ShownRefusals<'a>>,
    /// How one logs in.
    pub login: Option<ShownLogin<'a>>,
}

/// Something of a repository that an agent reads or runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ShownInput<'a> {
    /// The path.
    pub path: &'a str,
    /// What it does.
    pub does: &'a str,
    /// What turns it off in a question.
    pub off_in_question: Option<&'a str>,
}

/// The option that allows more tools, and what it allows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ShownRefusals<'a> {
    pub option: &'a str,
    pub allows: &'a str,
}

/// The command that logs in, and variables that do as well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ShownLogin<'a> {
    pub command: &'a str,
    pub variables: &'a [String],
}

/// `watchdog agent list --json`. `problems` are the presets that cannot be read.
pub fn agents_json(agents: &[ListedAgent<'_>], problems: &[String]) -> Value {
    json!({"schema": 1, "agents": agents, "problems": problems})
}

fn write_by_name<S: Serializer>(words: &[(&str, bool)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(words.iter().copied())
}
