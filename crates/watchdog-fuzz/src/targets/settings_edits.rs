//! Settings files of agents: our entries in, and out again, and nothing else touched.

use std::time::Duration;

use serde_json::{Map, Value};
use watchdog_judge::hooks::hook_text::{edit_hooks, own_entries, read_installed_hooks};
use watchdog_judge::hooks::{HeldAgents, HookDialect, HookEntries};

const PROGRAM: &str = "watchdog";

/// Edits an input as the settings of every agent.
pub fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    for dialect in HookDialect::ALL {
        edit_as(dialect, text);
    }
}

fn edit_as(dialect: HookDialect, text: &str) {
    let none = HookEntries::none(dialect);
    let held = HeldAgents {
        subagents: text.len() % 2 == 1,
        all_sessions: text.len() % 3 == 1,
    };
    let usual = HookEntries::usual(dialect, PROGRAM, Duration::from_secs(600), held);
    let _ = read_installed_hooks(dialect, text, PROGRAM);
    let out_first = edit_hooks(text, &none, PROGRAM);
    let Ok(within) = edit_hooks(text, &usual, PROGRAM) else {
        return;
    };
    let own_before = own_entries(dialect, text, PROGRAM);
    if own_before == 0 {
        assert_eq!(
            out_first.as_ref().map(|edit| edit.text.as_str()),
            Ok(text),
            "{dialect:?}: nothing of ours was in it"
        );
    }
    let again = edit_hooks(&within.text, &usual, PROGRAM).expect("what was written can be edited");
    assert_eq!(again.text, within.text, "{dialect:?}: twice is once");
    assert!(
        own_entries(dialect, &within.text, PROGRAM) > 0,
        "{dialect:?}: ours are in it"
    );
    let found = read_installed_hooks(dialect, &within.text, PROGRAM).expect("they are found again");
    assert!(found.programs.contains(PROGRAM), "{dialect:?}");
    let out = edit_hooks(&within.text, &none, PROGRAM).expect("what was written can be taken out");
    assert_eq!(
        own_entries(dialect, &out.text, PROGRAM),
        0,
        "{dialect:?}: ours are out"
    );
    assert_eq!(
        edit_hooks(&out.text, &none, PROGRAM).map(|edit| edit.text),
        Ok(out.text.clone()),
        "{dialect:?}: out twice is once"
    );
    if dialect == HookDialect::Opencode {
        return;
    }
    let (Some(before), Some(after), Some(gone)) =
        (members(text), members(&within.text), members(&out.text))
    else {
        return;
    };
    assert_eq!(
        without_hooks(&after),
        without_hooks(&before),
        "{dialect:?}: other settings stay"
    );
    assert_eq!(
        without_hooks(&gone),
        without_hooks(&before),
        "{dialect:?}: other settings stay"
    );
    if own_before == 0 {
        assert_eq!(
            without_empty(&gone),
            without_empty(&before),
            "{dialect:?}: entries of others stay"
        );
        if !text.contains("hooks") {
            assert_eq!(
                squeezed(&out.text),
                squeezed(text),
                "{dialect:?}: out again leaves what was there"
            );
        }
    }
}

/// The members of a settings file; `None` where it has comments, or is empty.
fn members(text: &str) -> Option<Map<String, Value>> {
    serde_json::from_str(text.trim_start_matches('\u{feff}')).ok()
}

fn without_hooks(members: &Map<String, Value>) -> Map<String, Value> {
    members
        .iter()
        .filter(|(name, _)| *name != "hooks")
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// The hooks by event. An event without any, and no hooks at all, are the same as none.
fn without_empty(members: &Map<String, Value>) -> Map<String, Value> {
    let hooks = members
        .get("hooks")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    hooks
        .into_iter()
        .filter(|(_, groups)| groups.as_array().is_none_or(|groups| !groups.is_empty()))
        .collect()
}

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect()
}
