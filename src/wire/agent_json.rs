//! Agents as JSON: the output of `watchdog agent list` and `agent show`.

use serde_json::{Value, json};

use crate::agent::preset::{AgentCapability, AgentPreset};

/// An agent that watchdog knows, on this machine.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedAgent<'a> {
    /// What is known of it.
    pub preset: &'a AgentPreset,
    /// The file of its preset; `None` = built in.
    pub file: Option<String>,
    /// Its program, as `PATH` leads to it; `None` = it is not there.
    pub program: Option<String>,
}

/// The command lines of an agent, word by word. What is filled in stands in braces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentCommandLines {
    /// Of a new session.
    pub session: Vec<String>,
    /// Of one that goes on; `None` = it cannot.
    pub resumed: Option<Vec<String>>,
    /// Of a question about its state; `None` = it is not asked.
    pub question: Option<Vec<String>>,
}

/// `watchdog agent list --json`. `problems` are the presets that cannot be read.
pub fn agents_json(agents: &[ListedAgent<'_>], problems: &[String]) -> Value {
    json!({"schema": 1, "agents": agents.iter().map(listed).collect::<Vec<_>>(), "problems": problems})
}

/// `watchdog agent show --json`.
pub fn agent_json(agent: &ListedAgent<'_>, lines: &AgentCommandLines) -> Value {
    let mut shown = listed(agent);
    let preset = agent.preset;
    shown["schema"] = json!(1);
    shown["session"] = json!(lines.session);
    shown["resumed"] = json!(lines.resumed);
    shown["question"] = json!(lines.question);
    let inputs = preset.repository.iter();
    shown["repository"] =
        inputs.map(|input| json!({"path": input.path, "does": input.does, "off_in_question": input.off_in_question})).collect();
    shown["refusals"] = preset.refusals.as_ref().map_or(Value::Null, |advice| json!({"option": advice.option, "allows": advice.allows}));
    shown["login"] = preset.login.as_ref().map_or(Value::Null, |login| json!({"command": login.command, "variables": login.variables}));
    shown
}

fn listed(agent: &ListedAgent<'_>) -> Value {
    let preset = agent.preset;
    let capabilities: serde_json::Map<String, Value> =
        AgentCapability::ALL.into_iter().map(|capability| (capability.as_str().to_owned(), json!(preset.can(capability)))).collect();
    json!({
        "name": preset.name,
        "title": preset.title,
        "program": preset.program,
        "found": agent.program,
        "tested": preset.tested,
        "file": agent.file,
        "capabilities": capabilities,
    })
}
