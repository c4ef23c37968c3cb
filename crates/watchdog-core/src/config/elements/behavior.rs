//! The dialect `behavior {completionType, completionConfig}`, alone or inside an agent's own description file.

use super::super::nearest::hint;
use super::super::problem::shown;
use super::super::reader::{ConfigNode, ConfigSection};
use super::super::settings::{
    CheckKind, CheckSpec, CommandLine, CustomCriterion, IssueCriterion, PhaseCriterion, SignalMatch, SignalTextCriterion, TextScope,
};

/// Keys of `behavior` that configure the agent and not its completion.
const OTHERS: &[&str] = &["systemPromptPath", "allowedTools", "permissionMode", "sandboxConfig", "disableSandbox"];

/// The five types, each with the other names it has had.
const TYPES: &[(&str, &[&str])] = &[
    ("issue", &["externalState"]),
    ("project", &["phaseCompletion"]),
    ("iterate", &["iterationBudget", "count:iteration"]),
    ("manual", &["keywordSignal", "detect:keyword"]),
    ("custom", &["meta:custom"]),
];

/// The block in a JSON Schema: agents of others have further keys there, which the program knows.
pub(in super::super) fn schema() -> serde_json::Value {
    serde_json::json!({"type": "object", "required": ["completionType"]})
}

/// Whether the file describes a whole agent, in which watchdog reads `behavior` alone.
pub(in super::super) fn is_agent_file(top: &ConfigNode<'_>) -> bool {
    top.has("behavior") && ["displayName", "prompts", "logging"].iter().any(|key| top.has(key))
}

/// Checks the parts that an agent's description file must have beside `behavior`.
pub(in super::super) fn check_agent_file(top: &ConfigSection<'_>) {
    for key in ["version", "displayName", "description"] {
        top.required(key, "an agent's description names it").map(|n| n.text());
    }
    for key in ["prompts", "logging"] {
        top.required(key, "an agent's description has it").map(|n| n.open_section().is_some());
    }
    let name = top.required("name", "an agent's description names it");
    if let Some((node, name)) = name.and_then(|n| n.text().map(|name| (n, name))) {
        let kebab = name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        if !kebab {
            node.wrong(format!("must be in kebab-case, such as `my-agent`, found {}", shown(&name)));
        }
    }
}

/// Reads the block into checks.
pub(in super::super) fn read(node: &ConfigNode<'_>) -> Vec<CheckSpec> {
    let known: Vec<&str> = ["completionType", "completionConfig"].iter().chain(OTHERS).copied().collect();
    let Some(section) = node.section(&known) else { return Vec::new() };
    let Some(kind) = section.required("completionType", "it says what completes the work") else { return Vec::new() };
    let Some(word) = kind.text() else { return Vec::new() };
    let Some((kind_word, _)) = TYPES.iter().find(|(name, aliases)| *name == word || aliases.contains(&word.as_str())) else {
        let names = TYPES.iter().map(|(name, _)| *name);
        kind.wrong(format!(
            "completionType must be one of issue, project, iterate, manual, custom; found {}{}",
            shown(&word),
            hint(&word, names)
        ));
        return Vec::new();
    };
    let config = section.get("completionConfig");
    let criterion = match *kind_word {
        "issue" | "project" => external(kind_word, config.as_ref()),
        "iterate" => iterate(&section, config.as_ref()),
        "manual" => manual(&section, config.as_ref()),
        _ => custom(&section, config.as_ref()),
    };
    let Some(criterion) = criterion else { return Vec::new() };
    vec![CheckSpec::Single { name: criterion.kind().to_owned(), criterion }]
}

/// `issue` and `project`: the command line names the number, so the configuration may omit it.
fn external(kind: &str, config: Option<&ConfigNode<'_>>) -> Option<CheckKind> {
    let number = match config {
        Some(config) => {
            let section = config.section(&["resourceType", "issue", "project", "maxIterations"])?;
            if let Some(n) = section.get("maxIterations") {
                n.whole(1..=1_000_000);
            }
            section.get("resourceType").map(|n| n.word(&[("github-issue", ()), ("github-project", ())]));
            section.get(kind).and_then(|n| n.whole(1..=u64::from(u32::MAX)))
        }
        None => None,
    };
    let project =
        kind == "project" || config.and_then(|c| c.peek("resourceType")).is_some_and(|n| n.text().as_deref() == Some("github-project"));
    Some(if project { CheckKind::Phase(PhaseCriterion::new(number)) } else { CheckKind::Issue(IssueCriterion::new(number)) })
}

fn iterate(behavior: &ConfigSection<'_>, config: Option<&ConfigNode<'_>>) -> Option<CheckKind> {
    let section = config_section(behavior, config, "maxIterations", "maxIterations is required for the type iterate")?;
    let node = section.get("maxIterations")?;
    let count = match node.whole(1..=1_000_000) {
        Some(count) => count,
        None => {
            node.wrong("maxIterations must be a positive number");
            return None;
        }
    };
    Some(CheckKind::Iterations { count })
}

fn manual(behavior: &ConfigSection<'_>, config: Option<&ConfigNode<'_>>) -> Option<CheckKind> {
    let section = config_section(behavior, config, "completionKeyword", "completionKeyword is required for the type manual")?;
    let text = section.get("completionKeyword").and_then(|n| n.text())?;
    // Any answer of an iteration could hold the keyword.
    Some(CheckKind::Signal(SignalTextCriterion { scope: TextScope::Iteration, ..SignalTextCriterion::new(text, SignalMatch::Contains) }))
}

fn custom(behavior: &ConfigSection<'_>, config: Option<&ConfigNode<'_>>) -> Option<CheckKind> {
    let section = config_section(behavior, config, "handlerPath", "handlerPath is required for the type custom")?;
    let path = section.get("handlerPath").and_then(|n| n.inside_path())?;
    Some(CheckKind::Custom(CustomCriterion::new(CommandLine::Argv(vec![path]))))
}

/// The `completionConfig` with the one key that the type needs.
fn config_section<'a>(behavior: &ConfigSection<'a>, config: Option<&ConfigNode<'a>>, key: &str, why: &str) -> Option<ConfigSection<'a>> {
    let Some(config) = config else {
        behavior.missing("completionConfig", why);
        return None;
    };
    let section = config.section(&["maxIterations", "completionKeyword", "handlerPath"])?;
    section.required(key, why)?;
    Some(section)
}

#[cfg(test)]
mod tests {
    use super::super::super::parse::testing::{fails, reads};
    use super::*;

    fn lowered(behavior: &str) -> CheckKind {
        match reads(&format!(r#"{{"behavior": {behavior}}}"#)).checks.remove(0) {
            CheckSpec::Single { criterion, .. } => criterion,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_type_is_lowered() {
        let keyword = SignalTextCriterion { scope: TextScope::Iteration, ..SignalTextCriterion::new("DONE", SignalMatch::Contains) };
        let handler = CommandLine::Argv(vec!["completion/custom-handler.ts".into()]);
        for (behavior, wanted) in [
            (r#"{"completionType": "issue"}"#, CheckKind::Issue(IssueCriterion::new(None))),
            (r#"{"completionType": "project", "completionConfig": {"project": 42}}"#, CheckKind::Phase(PhaseCriterion::new(Some(42)))),
            (
                r#"{"completionType": "externalState", "completionConfig": {"resourceType": "github-project"}}"#,
                CheckKind::Phase(PhaseCriterion::new(None)),
            ),
            (r#"{"completionType": "iterate", "completionConfig": {"maxIterations": 5}}"#, CheckKind::Iterations { count: 5 }),
            (r#"{"completionType": "keywordSignal", "completionConfig": {"completionKeyword": "DONE"}}"#, CheckKind::Signal(keyword)),
            (
                r#"{"completionType": "custom", "completionConfig": {"handlerPath": "completion/custom-handler.ts"}}"#,
                CheckKind::Custom(CustomCriterion::new(handler)),
            ),
        ] {
            assert_eq!(lowered(behavior), wanted, "{behavior}");
        }
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        for (behavior, words) in [
            (r#"{}"#, "behavior.completionType: missing"),
            (r#"{"completionType": "done"}"#, "completionType must be one of"),
            (r#"{"completionType": "iterate", "completionConfig": {}}"#, "maxIterations is required"),
            (r#"{"completionType": "iterate"}"#, "maxIterations is required"),
            (r#"{"completionType": "iterate", "completionConfig": {"maxIterations": 0}}"#, "maxIterations"),
            (r#"{"completionType": "iterate", "completionConfig": {"maxIterations": "5"}}"#, "positive number"),
            (r#"{"completionType": "manual", "completionConfig": {}}"#, "completionKeyword is required"),
            (r#"{"completionType": "manual", "completionConfig": {"completionKeyword": ""}}"#, "completionKeyword: must not be empty"),
            (r#"{"completionType": "custom", "completionConfig": {"handlerPath": "../x"}}"#, "handlerPath: must be a path inside"),
            (r#"{"completionType": "issue", "completionConfig": {"issue": 0}}"#, "completionConfig.issue"),
            (r#"{"completionTyp": "issue"}"#, "did you mean `completionType`?"),
        ] {
            fails(&format!(r#"{{"behavior": {behavior}}}"#), words);
        }
    }

    #[test]
    fn an_agents_description_is_read_for_its_behavior_and_must_be_whole() {
        let file = |version: &str, name: &str| {
            format!(
                r#"{{{version} "name": "{name}", "displayName": "My", "description": "d", "parameters": {{}},
                    "behavior": {{"systemPromptPath": "p.md", "completionType": "iterate", "completionConfig": {{"maxIterations": 5}},
                                  "allowedTools": ["Read"], "permissionMode": "plan"}},
                    "prompts": {{}}, "logging": {{}}}}"#
            )
        };
        assert_eq!(reads(&file(r#""version": "1.0.0","#, "my-agent")).checks.len(), 1);
        fails(&file("", "my-agent"), "version: missing");
        fails(&file(r#""version": "1.0.0","#, "MyAgent"), "kebab-case");
        fails(r#"{"displayName": "x", "behavior": {"completionType": "issue"}, "prompts": {}}"#, "logging: missing");
    }
}
