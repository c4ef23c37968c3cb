//! The dialect `behavior {completionType, completionConfig}`, alone or inside an agent's own description file.

use super::super::reader::ConfigNode;
use super::agent_verdict::{DescribedAgent, LoweredVerdict, lower_verdict};

/// Keys of `behavior` that configure the agent and not its completion.
const OTHERS: &[&str] = &[
    "systemPromptPath",
    "allowedTools",
    "permissionMode",
    "sandboxConfig",
    "disableSandbox",
];

/// The block in a JSON Schema: agents of others have further keys there, which the program knows.
pub(in super::super) fn build_behavior_schema() -> serde_json::Value {
    serde_json::json!({"type": "object", "required": ["completionType"]})
}

/// Reads the block of a configuration file.
pub(in super::super) fn read_block(node: &ConfigNode<'_>) -> LoweredVerdict {
    let definition = serde_json::json!({"behavior": node.json.to_value()});
    read_within(
        node,
        &DescribedAgent {
            definition,
            ..DescribedAgent::default()
        },
    )
}

/// Reads the block, with what the file around it says.
pub(super) fn read_within(node: &ConfigNode<'_>, around: &DescribedAgent) -> LoweredVerdict {
    let known_keys: Vec<&str> = ["completionType", "completionConfig"]
        .iter()
        .chain(OTHERS)
        .copied()
        .collect();
    let Some(section) = around.section(node, &known_keys) else {
        return LoweredVerdict::default();
    };
    let Some(kind) = section.get_required("completionType", "it says what completes the work")
    else {
        return LoweredVerdict::default();
    };
    lower_verdict(
        &section,
        &kind,
        ("completionConfig", section.get("completionConfig")),
        around,
    )
}

#[cfg(test)]
mod tests {
    use super::super::super::parse::testing::{fails, reads};
    use super::super::super::settings::{
        CheckKind, CheckSpec, CommandLine, CustomCriterion, IssueCriterion, PhaseCriterion,
        SignalMatch, SignalTextCriterion, TextScope,
    };

    fn lowered(behavior: &str) -> CheckKind {
        match reads(&format!(r#"{{"behavior": {behavior}}}"#))
            .checks
            .remove(0)
        {
            CheckSpec::Single { criterion, .. } => criterion,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_type_is_lowered() {
        let keyword = SignalTextCriterion {
            scope: TextScope::Iteration,
            ..SignalTextCriterion::new("DONE", SignalMatch::Contains)
        };
        let handler = CommandLine::Argv(vec!["completion/custom-handler.ts".into()]);
        let config = serde_json::json!({"handlerPath": "completion/custom-handler.ts"});
        let definition = serde_json::json!({"behavior": {"completionType": "custom", "completionConfig": config}});
        for (behavior, wanted) in [
            (
                r#"{"completionType": "issue"}"#,
                CheckKind::Issue(IssueCriterion::new(None)),
            ),
            (
                r#"{"completionType": "project", "completionConfig": {"project": 42}}"#,
                CheckKind::Phase(PhaseCriterion::new(Some(42))),
            ),
            (
                r#"{"completionType": "externalState", "completionConfig": {"resourceType": "github-project"}}"#,
                CheckKind::Phase(PhaseCriterion::new(None)),
            ),
            (
                r#"{"completionType": "iterate", "completionConfig": {"maxIterations": 5}}"#,
                CheckKind::Iterations { count: 5 },
            ),
            (
                r#"{"completionType": "keywordSignal", "completionConfig": {"completionKeyword": "DONE"}}"#,
                CheckKind::Signal(keyword),
            ),
            (
                r#"{"completionType": "custom", "completionConfig": {"handlerPath": "completion/custom-handler.ts"}}"#,
                CheckKind::Custom(CustomCriterion::of_agent(handler, definition)),
            ),
        ] {
            assert_eq!(lowered(behavior), wanted, "{behavior}");
        }
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        for (behavior, words) in [
            (r#"{}"#, "behavior.completionType: missing"),
            (
                r#"{"completionType": "done"}"#,
                "completionType must be one of",
            ),
            (
                r#"{"completionType": "iterate", "completionConfig": {}}"#,
                "maxIterations is required",
            ),
            (
                r#"{"completionType": "iterate"}"#,
                "maxIterations is required",
            ),
            (
                r#"{"completionType": "iterate", "completionConfig": {"maxIterations": 0}}"#,
                "maxIterations",
            ),
            (
                r#"{"completionType": "iterate", "completionConfig": {"maxIterations": "5"}}"#,
                "positive number",
            ),
            (
                r#"{"completionType": "manual", "completionConfig": {}}"#,
                "completionKeyword is required",
            ),
            (
                r#"{"completionType": "manual", "completionConfig": {"completionKeyword": ""}}"#,
                "completionKeyword: must not be empty",
            ),
            (
                r#"{"completionType": "custom", "completionConfig": {"handlerPath": "../x"}}"#,
                "handlerPath: must be a path inside",
            ),
            (
                r#"{"completionType": "issue", "completionConfig": {"issue": 0}}"#,
                "completionConfig.issue",
            ),
            (
                r#"{"completionTyp": "issue"}"#,
                "did you mean `completionType`?",
            ),
        ] {
            fails(&format!(r#"{{"behavior": {behavior}}}"#), words);
        }
    }
}
