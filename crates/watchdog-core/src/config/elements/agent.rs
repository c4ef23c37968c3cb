//! `agent`: whom a probe asks; and `agents`: those that work on tasks.

use std::collections::HashSet;

use super::super::problem::shown;
use super::super::reader::{ConfigNode, put};
use super::super::settings::{AgentEntry, AgentSettings, Preset};

pub(in super::super) const KEYS: &[&str] = &["preset", "model", "probe"];

pub(in super::super) const ENTRY_KEYS: &[&str] = &["name", "role", "preset", "model", "command", "worktree"];

const PRESETS: &[(&str, Preset)] =
    &[("claude", Preset::Claude), ("codex", Preset::Codex), ("gemini", Preset::Gemini), ("opencode", Preset::Opencode)];

pub(in super::super) fn read(node: &ConfigNode<'_>, into: &mut AgentSettings) {
    let Some(section) = node.section(KEYS) else { return };
    let preset = section.get("preset").and_then(|n| n.word(PRESETS));
    if preset.is_some_and(|preset| preset != Preset::Claude) {
        // The default model is one of the default preset's; another agent does not know it.
        into.model = None;
    }
    put(&mut into.preset, preset);
    put(&mut into.model, section.nullable("model", |n| n.text()));
    put(&mut into.probe, section.nullable("probe", |n| n.argv()));
}

/// Reads `agents`.
pub(in super::super) fn read_list(node: &ConfigNode<'_>, default: Preset) -> Option<Vec<AgentEntry>> {
    let entries = node.list(|entry| {
        let section = entry.section(ENTRY_KEYS)?;
        let name = section.required("name", "every agent has a name of its own").and_then(|n| n.text());
        let role = section.nullable("role", |n| n.text()).flatten();
        let preset = section.get("preset").and_then(|n| n.word(PRESETS)).unwrap_or(default);
        let model = section.nullable("model", |n| n.text()).flatten();
        let command = section.nullable("command", |n| n.argv()).flatten();
        let worktree = section.nullable("worktree", |n| n.text()).flatten();
        Some(AgentEntry { name: name?, role, preset, model, command, worktree })
    })?;
    let mut folders = HashSet::new();
    if let Some(twice) = entries.iter().filter_map(|entry| entry.worktree.as_ref()).find(|folder| !folders.insert(*folder)) {
        node.wrong(format!("two agents have the worktree {}; each works in one of its own", shown(twice)));
    }
    let mut names = HashSet::new();
    if let Some(twice) = entries.iter().find(|entry| !names.insert(&entry.name)) {
        node.wrong(format!("two agents are named {}; every agent has a name of its own", shown(&twice.name)));
    }
    Some(entries)
}

/// The word of a preset.
pub(in super::super) fn preset_word(preset: Preset) -> &'static str {
    PRESETS.iter().find(|(_, p)| *p == preset).map_or("claude", |(word, _)| word)
}

#[cfg(test)]
mod tests {
    use super::super::super::parse::testing::{fails, reads};
    use super::*;

    #[test]
    fn claude_answers_with_its_small_model_unless_told_otherwise() {
        assert_eq!(reads("{}").agent, AgentSettings { preset: Preset::Claude, model: Some("sonnet".into()), probe: None });
        assert_eq!(reads(r#"{"agent": {"model": null, "probe": null}}"#).agent.model, None);
        assert_eq!(reads(r#"{"agent": {"preset": "codex"}}"#).agent.model, None);
        assert_eq!(reads(r#"{"agent": {"preset": "codex", "model": "o"}}"#).agent.model.as_deref(), Some("o"));
    }

    #[test]
    fn a_probe_is_an_argv_and_names_a_program() {
        let probe = reads(r#"{"agent": {"probe": ["ask", "", "a b"]}}"#).agent.probe;
        assert_eq!(probe, Some(vec!["ask".to_owned(), String::new(), "a b".to_owned()]));
        fails(r#"{"agent": {"probe": []}}"#, "agent.probe: must name a program; the list is empty");
        fails(r#"{"agent": {"probe": [" "]}}"#, "agent.probe[0]: must not be empty");
        fails(r#"{"agent": {"probe": ["a", 1]}}"#, "agent.probe[1]: expected a text, found the number 1");
        fails(
            r#"{"agent": {"probe": "ask"}}"#,
            "agent.probe: expected a list of texts, the program and its arguments, found the text \"ask\"",
        );
        fails(r#"{"agent": {"probe": ["a\u0000"]}}"#, "NUL");
    }

    #[test]
    fn an_unknown_preset_names_the_nearest() {
        fails(
            r#"{"agent": {"preset": "cluade"}}"#,
            "agent.preset: unknown word \"cluade\", did you mean `claude`?; it must be one of `claude`, `codex`, `gemini`, `opencode`",
        );
    }

    #[test]
    fn agents_have_names_of_their_own() {
        let found = reads(r#"{"agents": [{"name": "be-1", "role": "backend", "preset": "gemini"}, {"name": "any"}]}"#).agents;
        let gemini = AgentEntry {
            name: "be-1".into(),
            role: Some("backend".into()),
            preset: Preset::Gemini,
            model: None,
            command: None,
            worktree: None,
        };
        assert_eq!(found[0], gemini);
        assert_eq!((found[1].role.as_deref(), found[1].preset), (None, Preset::Claude));
        fails(r#"{"agents": [{"name": "a"}, {"name": "a"}]}"#, "agents: two agents are named \"a\"");
        fails(r#"{"agents": [{"role": "a"}]}"#, "agents[0].name: missing");
        let own = reads(r#"{"agents": [{"name": "a", "command": ["my-agent", "{prompt}"], "worktree": "../a"}]}"#);
        assert_eq!(own.agents[0].worktree.as_deref(), Some("../a"));
        assert_eq!(own.commands(), ["agent a: my-agent {prompt}"], "it is shown before it is trusted");
        fails(r#"{"agents": [{"name": "a", "worktree": "w"}, {"name": "b", "worktree": "w"}]}"#, "two agents have the worktree \"w\"");
        fails(r#"{"agents": [{"name": "a", "rol": "b"}]}"#, "agents[0].rol: unknown key, did you mean `role`?");
    }
}
