//! `checks`: criteria and groups of them, at any depth.

use super::super::problem::shown;
use super::super::reader::ConfigNode;
use super::super::settings::{CheckKind, CheckSpec, Mode};
use super::{agent_checks, command, fact_checks, lists, outside_checks};

/// The words for [`Mode`].
pub(in super::super) const MODES: &[(&str, Mode)] = &[("all", Mode::All), ("any", Mode::Any), ("first", Mode::First)];

/// Every type of check, in the contract's order.
pub(in super::super) const KINDS: &[&str] = &[
    "signal",
    "command",
    "plan",
    "feature_list",
    "git",
    "files",
    "issue",
    "structured",
    "sql_result",
    "judge",
    "phase",
    "iterations",
    "custom",
    "always",
];

/// The keys of a type of check.
pub(in super::super) fn keys(kind: &str) -> &'static [&'static str] {
    match kind {
        "command" => command::KEYS,
        "git" => fact_checks::GIT_KEYS,
        "files" => fact_checks::FILES_KEYS,
        "signal" => agent_checks::SIGNAL_KEYS,
        "structured" => agent_checks::STRUCTURED_KEYS,
        "sql_result" => agent_checks::SQL_RESULT_KEYS,
        "iterations" => agent_checks::ITERATIONS_KEYS,
        "plan" => lists::PLAN_KEYS,
        "feature_list" => lists::FEATURE_LIST_KEYS,
        "issue" => outside_checks::ISSUE_KEYS,
        "phase" => outside_checks::PHASE_KEYS,
        "judge" => outside_checks::JUDGE_KEYS,
        "custom" => outside_checks::CUSTOM_KEYS,
        _ => &["type", "name"],
    }
}

pub(in super::super) fn read(node: &ConfigNode<'_>) -> Option<Vec<CheckSpec>> {
    node.list(entry)
}

fn entry(node: &ConfigNode<'_>) -> Option<CheckSpec> {
    if node.members().is_none() {
        node.expected("an object: a check with `type`, or a group with `mode` and `checks`");
        return None;
    }
    if node.has("type") {
        single(node)
    } else if node.has("mode") || node.has("checks") {
        group(node)
    } else {
        node.wrong("neither a check nor a group; a check has `type`, a group has `mode` and `checks`");
        None
    }
}

fn group(node: &ConfigNode<'_>) -> Option<CheckSpec> {
    let section = node.section(&["mode", "checks"])?;
    let mode = section.required("mode", "a group says how its checks combine: `all`, `any` or `first`").and_then(|n| n.word(MODES));
    let list = section.required("checks", "a group lists its checks")?;
    let checks = read(&list)?;
    if matches!(&list.json.kind, super::super::syntax::ValueKind::List(items) if items.is_empty()) {
        list.wrong("a group without checks can never be complete; add one or remove the group");
    }
    Some(CheckSpec::Group { mode: mode?, checks })
}

fn single(node: &ConfigNode<'_>) -> Option<CheckSpec> {
    let kind = node.peek("type")?;
    let word = kind.text()?;
    let criterion = match word.as_str() {
        "signal" => agent_checks::signal(node),
        "command" => command::read(node).map(CheckKind::Command),
        "plan" => lists::plan(node),
        "feature_list" => lists::feature_list(node),
        "git" => fact_checks::git(node),
        "files" => fact_checks::files(node),
        "issue" => outside_checks::issue(node),
        "structured" => agent_checks::structured(node),
        "sql_result" => agent_checks::sql_result(node),
        "judge" => outside_checks::judge(node),
        "phase" => outside_checks::phase(node),
        "iterations" => agent_checks::iterations(node),
        "custom" => outside_checks::custom(node),
        "always" => node.section(keys("always")).map(|_| CheckKind::Always),
        other if node.report.registered().contains(&other) => registered(other, node),
        other => {
            let known = || KINDS.iter().copied().chain(node.report.registered().iter().copied());
            kind.wrong(format!("no type of check is named {}{}", shown(other), super::super::nearest::hint(other, known())));
            None
        }
    };
    let name = match node.peek("name") {
        Some(name) => name.text(),
        None => Some(word),
    };
    Some(CheckSpec::Single { name: name?, criterion: criterion? })
}

/// An entry of a type that this program does not know itself: its keys are for whoever registered it.
fn registered(kind: &str, node: &ConfigNode<'_>) -> Option<CheckKind> {
    node.open_section()?;
    let serde_json::Value::Object(mut keys) = node.json.to_value() else { return None };
    keys.retain(|key, _| key != "type" && key != "name");
    Some(CheckKind::Registered { kind: kind.to_owned(), keys })
}

#[cfg(test)]
mod tests {
    use super::super::super::parse::testing::{fails, reads};
    use super::*;

    #[test]
    fn groups_nest() {
        let found = reads(
            r#"{"mode": "any", "checks": [{"type": "always"}, {"mode": "all", "checks": [{"mode": "first", "checks": [{"type": "always", "name": "n"}]}]}]}"#,
        );
        let always = |name: &str| CheckSpec::Single { name: name.into(), criterion: CheckKind::Always };
        assert_eq!(found.mode, Mode::Any);
        assert_eq!(
            found.checks,
            [
                always("always"),
                CheckSpec::Group { mode: Mode::All, checks: vec![CheckSpec::Group { mode: Mode::First, checks: vec![always("n")] }] }
            ]
        );
    }

    #[test]
    fn an_unknown_type_names_the_nearest() {
        fails(
            r#"{"checks": [{"type": "comand", "run": "x"}]}"#,
            "checks[0].type: no type of check is named \"comand\", did you mean `command`?",
        );
        fails(r#"{"checks": [{"type": "featureList"}]}"#, "did you mean `feature_list`?");
        fails(r#"{"checks": [{"type": "zzzzzzzz"}]}"#, "the nearest known one is `");
        fails(r#"{"checks": [{"type": 5}]}"#, "checks[0].type: expected a text, found the number 5");
    }

    #[test]
    fn what_is_neither_check_nor_group_is_named() {
        fails(r#"{"checks": [{"name": "x"}]}"#, "checks[0]: neither a check nor a group");
        fails(
            r#"{"checks": ["tests"]}"#,
            "checks[0]: expected an object: a check with `type`, or a group with `mode` and `checks`, found the text",
        );
        fails(r#"{"checks": {"type": "always"}}"#, "checks: expected a list, found an object");
        fails(r#"{"checks": [{"mode": "any"}]}"#, "checks[0].checks: missing");
        fails(r#"{"checks": [{"checks": [{"type": "always"}]}]}"#, "checks[0].mode: missing");
        fails(r#"{"checks": [{"mode": "none", "checks": [{"type": "always"}]}]}"#, "checks[0].mode: unknown word \"none\"");
        fails(r#"{"checks": [{"mode": "any", "checks": []}]}"#, "checks[0].checks: a group without checks can never be complete");
        fails(r#"{"checks": [{"type": "always", "checks": []}]}"#, "checks[0].checks: unknown key");
        fails(r#"{"checks": [{"type": "always", "name": ""}]}"#, "checks[0].name: must not be empty");
    }
}
