//! `agent`: whom a probe asks; and `agents`: those that work on tasks.

use std::collections::HashSet;

use super::super::key_kinds::{ARGV, POSITIVE, PRESET, TEXT, list_of, nullable};
use super::super::key_table::{KeyBlock, keys, no_rules};
use super::super::problem::quote_text;
use super::super::reader::{ConfigNode, ConfigSection};
use super::super::settings::{AgentEntry, AgentSettings, ConfigSettings, PresetName};

pub(in super::super) static BLOCK: KeyBlock<AgentSettings> = KeyBlock {
    name: "agent",
    defaults: || ConfigSettings::default().agent,
    keys: keys! { AgentSettings;
        "preset" => preset: PRESET, "the agent that is asked";
        "model" => model: nullable(TEXT),
            "the model that answers probes; null is the agent's own choice",
            default_in_words("`sonnet` for `claude`, null for the others");
        "probe" => probe: nullable(ARGV),
            "another program instead of the preset: the question on stdin, the answer on stdout. `WATCHDOG_PROBE=<n>` counts from 1; \
             `WATCHDOG_QUESTION` is `probe` (its state) or `plan` (for [`rescue`](#rescue-uncommitted-work))";
    },
    rules: default_model_is_the_presets,
};

/// The default model is one of the default preset's; another agent does not know it.
fn default_model_is_the_presets(
    section: &ConfigSection<'_>,
    settings: &mut AgentSettings,
    _: bool,
) {
    if settings.preset != PresetName::CLAUDE && !section.has("model") {
        settings.model = None;
    }
}

/// An entry of `agents`.
pub(in super::super) static ENTRY: KeyBlock<AgentEntry> = KeyBlock {
    name: "agents[]",
    defaults: || AgentEntry {
        name: String::new(),
        role: None,
        preset: ConfigSettings::default().agent.preset,
        model: None,
        command: None,
        worktree: None,
        fallback: Vec::new(),
        max_cost_usd: None,
    },
    keys: keys! { AgentEntry;
        "name" => name: TEXT, "the agent's own name, no two alike", mark_required("every agent has a name of its own");
        "role" => role: nullable(TEXT), "which tasks it takes; null takes those of any role";
        "preset" => preset: PRESET, "as in `agent`", default_depends("`agent.preset`");
        "model" => model: nullable(TEXT), "the model that it works with; null is the agent's own choice";
        "command" => command: nullable(ARGV),
            "instead of a preset. The prompt is on its stdin, unless an argument has `{prompt}` or `{prompt_file}`";
        "worktree" => worktree: nullable(TEXT),
            "the folder of its linked worktree, from the root of the worktree that holds the tasks; no two alike",
            default_in_words("one in the state directory");
        "fallback" => fallback: list_of(TEXT),
            "other agents of this list that take over [at a limit](loop.md#another-agent-at-a-limit), in this order";
        "max_cost_usd" => max_cost_usd: nullable(POSITIVE), "US dollars that its sessions of one loop or task may cost";
    },
    rules: no_rules,
};

/// Reads `agents`. An entry that names no preset has this one.
pub(in super::super) fn read_list(
    node: &ConfigNode<'_>,
    preset: &PresetName,
) -> Option<Vec<AgentEntry>> {
    let entries = node.list(|entry| {
        let mut entry_settings = AgentEntry {
            preset: preset.clone(),
            ..(ENTRY.defaults)()
        };
        ENTRY.read_object(entry, &mut entry_settings);
        // Names and folders are compared even where something else of the entry is wrong.
        (!entry_settings.name.is_empty()).then_some(entry_settings)
    })?;
    let mut folders = HashSet::new();
    if let Some(twice) = entries
        .iter()
        .filter_map(|entry| entry.worktree.as_ref())
        .find(|folder| !folders.insert(*folder))
    {
        node.wrong(format!(
            "two agents have the worktree {}; each works in one of its own",
            quote_text(twice)
        ));
    }
    let mut names = HashSet::new();
    if let Some(twice) = entries.iter().find(|entry| !names.insert(&entry.name)) {
        node.wrong(format!(
            "two agents are named {}; every agent has a name of its own",
            quote_text(&twice.name)
        ));
    }
    for entry in &entries {
        let mut seen = HashSet::from([&entry.name]);
        for name in &entry.fallback {
            if !entries.iter().any(|candidate| candidate.name == *name) {
                node.wrong(format!(
                    "the fallback of {} names {}, and no agent has that name",
                    quote_text(&entry.name),
                    quote_text(name)
                ));
            } else if !seen.insert(name) {
                node.wrong(format!(
                    "the fallback of {} names {} twice or itself",
                    quote_text(&entry.name),
                    quote_text(name)
                ));
            }
        }
    }
    Some(entries)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::super::parse::testing::{fails, reads};
    use super::super::super::{NamedPreset, parse_config, unknown_preset};
    use super::*;

    #[test]
    fn claude_answers_with_small_model_by_default() {
        assert_eq!(
            reads("{}").agent,
            AgentSettings {
                preset: PresetName::CLAUDE,
                model: Some("sonnet".into()),
                probe: None
            }
        );
        assert_eq!(
            reads(r#"{"agent": {"model": null, "probe": null}}"#)
                .agent
                .model,
            None
        );
        assert_eq!(reads(r#"{"agent": {"preset": "codex"}}"#).agent.model, None);
        assert_eq!(
            reads(r#"{"agent": {"preset": "codex", "model": "o"}}"#)
                .agent
                .model
                .as_deref(),
            Some("o")
        );
    }

    #[test]
    fn probe_is_an_argv_naming_a_program() {
        let probe = reads(r#"{"agent": {"probe": ["ask", "", "a b"]}}"#)
            .agent
            .probe;
        assert_eq!(
            probe,
            Some(vec!["ask".to_owned(), String::new(), "a b".to_owned()])
        );
        fails(
            r#"{"agent": {"probe": []}}"#,
            "agent.probe: must name a program; the list is empty",
        );
        fails(
            r#"{"agent": {"probe": [" "]}}"#,
            "agent.probe[0]: must not be empty",
        );
        fails(
            r#"{"agent": {"probe": ["a", 1]}}"#,
            "agent.probe[1]: expected a text, found the number 1",
        );
        fails(
            r#"{"agent": {"probe": "ask"}}"#,
            "agent.probe: expected a list of texts, the program and its arguments, found the text \"ask\"",
        );
        fails(
            r#"{"agent": {"probe": ["a\u0000"]}}"#,
            "agent.probe[0]: must not contain a NUL character",
        );
        fails(
            r#"{"agent": {"probe": ["a", "b\u0000"]}}"#,
            "agent.probe[1]: must not contain a NUL character",
        );
    }

    #[test]
    fn an_unknown_preset_names_the_nearest() {
        let refused = "agent.preset: unknown word \"Cluade\", did you mean `claude`? It must be one of `claude`, `codex`, `gemini`, `opencode`, `qwen`, `copilot`, `cursor`, `amp`, \
                       or the path of a preset file that ends in `.json`";
        fails(r#"{"agent": {"preset": "Cluade"}}"#, refused);
        fails(
            r#"{"agent": {"preset": 7}}"#,
            "agent.preset: expected the name of an agent, found the number 7",
        );
    }

    #[test]
    fn unknown_preset_is_reported_at_its_own_place() {
        let text = "{\"agent\": {\"preset\": \"claude\"},\n \"agents\": [{\"name\": \"a\", \"preset\": \"cluade\"}]}";
        let parsed = parse_config(text, Path::new("c.json"))
            .expect("a preset of the user's own may have this name");
        let problem = |named: &NamedPreset| {
            Some(unknown_preset(
                named.name.as_str(),
                ["claude", "mine"].into_iter(),
            ))
        };
        let refused = parsed
            .check_presets(Path::new("c.json"), problem)
            .unwrap_err()
            .to_string();
        let expected = "c.json:2:37: agents[0].preset: unknown word \"cluade\", did you mean `claude`? It must be one of `claude`, `mine`, or";
        assert!(refused.starts_with(expected), "{refused}");
        assert!(parsed.check_presets(Path::new("c.json"), |_| None).is_ok());
    }

    #[test]
    fn agents_have_names_of_their_own() {
        let agents = reads(r#"{"agents": [{"name": "be-1", "role": "backend", "preset": "gemini"}, {"name": "any"}]}"#).agents;
        let gemini = AgentEntry {
            name: "be-1".into(),
            role: Some("backend".into()),
            preset: PresetName::GEMINI,
            model: None,
            command: None,
            worktree: None,
            fallback: Vec::new(),
            max_cost_usd: None,
        };
        assert_eq!(agents[0], gemini);
        assert_eq!(
            (agents[1].role.as_deref(), &agents[1].preset),
            (None, &PresetName::CLAUDE)
        );
        let usual = reads(r#"{"agent": {"preset": "codex"}, "agents": [{"name": "a"}, {"name": "b", "preset": "gemini"}]}"#).agents;
        assert_eq!(
            [&usual[0].preset, &usual[1].preset],
            [&PresetName::CODEX, &PresetName::GEMINI]
        );
        fails(
            r#"{"agents": [{"name": "a"}, {"name": "a"}]}"#,
            "agents: two agents are named \"a\"",
        );
        fails(r#"{"agents": [{"role": "a"}]}"#, "agents[0].name: missing");
        let own = reads(
            r#"{"agents": [{"name": "a", "command": ["my-agent", "{prompt}"], "worktree": "../a"}]}"#,
        );
        assert_eq!(own.agents[0].worktree.as_deref(), Some("../a"));
        assert_eq!(
            own.commands(),
            ["agent a: my-agent {prompt}"],
            "it is shown before it is trusted"
        );
        fails(
            r#"{"agents": [{"name": "a", "worktree": "w"}, {"name": "b", "worktree": "w"}]}"#,
            "two agents have the worktree \"w\"",
        );
        let order = reads(
            r#"{"agents": [{"name": "a", "fallback": ["b"], "max_cost_usd": 2.5}, {"name": "b"}]}"#,
        )
        .agents;
        assert_eq!(
            (order[0].fallback.as_slice(), order[0].max_cost_usd),
            (&["b".to_owned()][..], Some(2.5))
        );
        fails(
            r#"{"agents": [{"name": "a", "fallback": ["c"]}]}"#,
            "the fallback of \"a\" names \"c\", and no agent has that name",
        );
        fails(
            r#"{"agents": [{"name": "a", "fallback": ["a"]}]}"#,
            "names \"a\" twice or itself",
        );
        fails(
            r#"{"agents": [{"name": "a", "max_cost_usd": 0}]}"#,
            "agents[0].max_cost_usd: expected a number above 0",
        );
        fails(
            r#"{"agents": [{"name": "a", "rol": "b"}]}"#,
            "agents[0].rol: unknown key, did you mean `role`?",
        );
    }
}
