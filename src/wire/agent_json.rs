//! Agents as JSON: the output of `watchdog agent list` and `agent show`.

use serde_json::{Map, Value, json};

/// An agent that watchdog knows, on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedAgent<'a> {
    /// Its word.
    pub name: &'a str,
    /// Its name for people.
    pub title: &'a str,
    /// The program of its preset.
    pub program: &'a str,
    /// Where `PATH` leads to that; `None` = it is not there.
    pub found: Option<String>,
    /// The version that the preset was tried with; `None` = untested.
    pub tested: Option<&'a str>,
    /// The file of its preset; `None` = built in.
    pub file: Option<String>,
    /// Its capabilities by name, and whether it has them.
    pub capabilities: Vec<(&'static str, bool)>,
}

/// What more is known of an agent. What is filled in on a command line stands in braces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownAgent<'a> {
    /// The command line of a new session, word by word.
    pub session: Vec<String>,
    /// Of one that goes on; `None` = it cannot.
    pub resumed: Option<Vec<String>>,
    /// Of a question about its state; `None` = it is not asked.
    pub question: Option<Vec<String>>,
    /// What it reads or runs of a repository: the path, what it does, and what turns it off in a question.
    pub repository: Vec<(&'a str, &'a str, Option<&'a str>)>,
    /// The option that allows more tools, and what it allows.
    pub refusals: Option<(&'a str, &'a str)>,
    /// The command that logs in, and variables that do as well.
    pub login: Option<(&'a str, &'a [String])>,
}

/// `watchdog agent list --json`. `problems` are the presets that cannot be read.
pub fn agents_json(agents: &[ListedAgent<'_>], problems: &[String]) -> Value {
    json!({"schema": 1, "agents": agents.iter().map(listed).collect::<Vec<_>>(), "problems": problems})
}

/// `watchdog agent show --json`.
pub fn agent_json(agent: &ListedAgent<'_>, more: &ShownAgent<'_>) -> Value {
    let mut shown = listed(agent);
    shown["schema"] = json!(1);
    shown["session"] = json!(more.session);
    shown["resumed"] = json!(more.resumed);
    shown["question"] = json!(more.question);
    let inputs = more.repository.iter();
    shown["repository"] = inputs
        .map(|(path, does, off)| json!({"path": path, "does": does, "off_in_question": off}))
        .collect();
    shown["refusals"] = more.refusals.map_or(
        Value::Null,
        |(option, allows)| json!({"option": option, "allows": allows}),
    );
    shown["login"] = more.login.map_or(
        Value::Null,
        |(command, variables)| json!({"command": command, "variables": variables}),
    );
    shown
}

fn listed(agent: &ListedAgent<'_>) -> Value {
    let capabilities: Map<String, Value> = agent
        .capabilities
        .iter()
        .map(|(word, has)| ((*word).to_owned(), json!(has)))
        .collect();
    json!({
        "name": agent.name,
        "title": agent.title,
        "program": agent.program,
        "found": agent.found,
        "tested": agent.tested,
        "file": agent.file,
        "capabilities": capabilities,
    })
}
