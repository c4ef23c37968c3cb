//! An agent's own description file (`agent.json`), in which watchdog reads what completes the work and notes the rest.

use std::cell::RefCell;

use super::super::problem::quote_text;
use super::super::reader::{ConfigNode, ConfigSection};
use super::agent_verdict::{DescribedAgent, LoweredVerdict, lower_verdict, note_ignored};
use super::{TOP, behavior, flat_keys};

/// Keys that such a file has and a configuration has not.
const MARKS: &[&str] = &[
    "name",
    "displayName",
    "description",
    "parameters",
    "prompts",
    "logging",
    "github",
    "worktree",
    "actions",
    "$schema",
];

/// Keys of the first form of the file; one that has two of them is to be whole.
const WHOLE: &[&str] = &["displayName", "prompts", "logging"];

/// Keys that are read here.
const KNOWN: &[&str] = &[
    "version",
    "name",
    "displayName",
    "description",
    "parameters",
    "behavior",
    "runner",
];

/// The state of a closed issue, if the description names its end.
const CLOSURES: &[(&str, bool)] = &[
    ("close", true),
    ("label-only", false),
    ("label-and-close", true),
];

/// Whether the file describes a whole agent.
pub(in super::super) fn is_agent_file(top: &ConfigNode<'_>) -> bool {
    top.has("runner") || (top.has("behavior") && MARKS.iter().any(|key| top.has(key)))
}

/// Reads the file for what completes the work. Everything else in it is named in one note.
pub(in super::super) fn read_file(top: &ConfigNode<'_>) -> LoweredVerdict {
    let mut around = DescribedAgent {
        ignored: Some(RefCell::default()),
        definition: top.json.to_value(),
        ..DescribedAgent::default()
    };
    let Some(section) = around.section(top, KNOWN) else {
        return LoweredVerdict::default();
    };
    refuse_own_keys(top);
    if section.has("behavior") && WHOLE.iter().filter(|key| section.has(key)).count() > 1 {
        must_be_whole(&section);
    }
    let is_runner = section.has("runner");
    if let Some(name) = section.get("name").and_then(|node| agent_name(&node)) {
        around.handlers = format!(".agent/{name}/");
    }
    around.issue = issue_of_parameters(&section);
    let lowered = match (section.get("runner"), section.get("behavior")) {
        (Some(runner), None) => of_runner(&runner, &mut around),
        (None, Some(behavior)) => behavior::read_within(&behavior, &around),
        _ => {
            section.wrong("`runner` and `behavior` both say what completes the work; keep one");
            LoweredVerdict::default()
        }
    };
    let of_agent = ["parameters"]
        .iter()
        .filter(|key| section.has(key) && is_runner)
        .map(|key| (*key).to_owned());
    let ignored = around
        .ignored
        .take()
        .map(RefCell::into_inner)
        .unwrap_or_default();
    note_ignored(&section, &of_agent.chain(ignored).collect::<Vec<_>>());
    lowered
}

/// A criterion of ours in such a file would be a criterion that nobody asks.
fn refuse_own_keys(top: &ConfigNode<'_>) {
    let ours = [TOP.names(), flat_keys::BLOCK.names(), vec!["completion"]].concat();
    for member in top
        .members()
        .unwrap_or_default()
        .iter()
        .filter(|member| member.name != "version" && ours.contains(&member.name.as_ref()))
    {
        top.report.problem(member.at, &member.name, || {
            "a key of completion.json in the description of an agent; move it into a completion.json, with `behavior` beside it".into()
        });
    }
}

/// The parts that the first form of the file has beside `behavior`.
fn must_be_whole(top: &ConfigSection<'_>) {
    for key in ["version", "displayName", "description"] {
        top.get_required(key, "an agent's description names it")
            .map(|n| n.text());
    }
    for key in ["prompts", "logging"] {
        top.get_required(key, "an agent's description has it")
            .map(|n| n.open_section().is_some());
    }
    top.get_required("name", "an agent's description names it");
}

/// The name, which is that of a folder.
fn agent_name(node: &ConfigNode<'_>) -> Option<String> {
    let name = node.text()?;
    let kebab = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    if !kebab {
        node.wrong(format!(
            "must be in kebab-case, such as `my-agent`, found {}",
            quote_text(&name)
        ));
        return None;
    }
    Some(name)
}

/// The number of the issue where the agent's own command line need not name it.
fn issue_of_parameters(top: &ConfigSection<'_>) -> Option<u64> {
    let given = top.get("parameters")?.peek("issue")?.peek("default")?;
    given.whole(1..=u64::from(u32::MAX))
}

/// Today's form: `runner.verdict`, and of `runner.integrations` how an issue ends.
fn of_runner(runner: &ConfigNode<'_>, around: &mut DescribedAgent) -> LoweredVerdict {
    let Some(section) = around.section(runner, &["verdict", "integrations"]) else {
        return LoweredVerdict::default();
    };
    if let Some(github) = section
        .get("integrations")
        .and_then(|node| node.peek("github"))
    {
        read_closure(&github, around);
    }
    let Some(verdict) = section.get_required("verdict", "it says what completes the work") else {
        return LoweredVerdict::default();
    };
    let Some(verdict) = around.section(&verdict, &["type", "config"]) else {
        return LoweredVerdict::default();
    };
    let Some(kind) = verdict.get_required("type", "it says what completes the work") else {
        return LoweredVerdict::default();
    };
    lower_verdict(&verdict, &kind, ("config", verdict.get("config")), around)
}

/// The labels that an issue gets when its work is done, and whether it is closed then.
fn read_closure(github: &ConfigNode<'_>, around: &mut DescribedAgent) {
    if github
        .peek("enabled")
        .is_some_and(|node| node.flag() == Some(false))
    {
        return;
    }
    let Some(action) = github.peek("defaultClosureAction") else {
        return;
    };
    let Some(closes) = action.word(CLOSURES) else {
        return;
    };
    around.closes = closes;
    let labelled = action
        .known_word(&[("label-only", ()), ("label-and-close", ())])
        .is_some();
    let added = github
        .peek("labels")
        .and_then(|labels| labels.peek("completion"))
        .and_then(|labels| labels.peek("add"));
    if let Some(added) = added.filter(|_| labelled) {
        around.labels = added.list(ConfigNode::text).unwrap_or_default();
    }
}

#[cfg(test)]
#[path = "agent_description_tests.rs"]
mod tests;
