//! Tests of agents' description files: each type of verdict with what it is lowered to, and what no such file may do.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::super::parse::testing::{fails, notes, reads};
use super::super::super::settings::{
    CheckKind, CheckSpec, CommandLine, CustomCriterion, IssueCriterion, Mode, PhaseCriterion,
    SignalMatch, SignalTextCriterion, StructuredCriterion, TextScope,
};
use super::super::super::{parse_config, to_json};

#[test]
fn incomplete_agent_description_is_refused() {
    let file = |version: &str, name: &str| {
        format!(
            r#"{{{version} "name": "{name}", "displayName": "My", "description": "d", "parameters": {{}},
                "behavior": {{"systemPromptPath": "p.md", "completionType": "iterate", "completionConfig": {{"maxIterations": 5}},
                              "allowedTools": ["Read"], "permissionMode": "plan"}},
                "prompts": {{}}, "logging": {{}}}}"#
        )
    };
    assert_eq!(
        reads(&file(r#""version": "1.0.0","#, "my-agent"))
            .checks
            .len(),
        1
    );
    fails(&file("", "my-agent"), "version: missing");
    fails(&file(r#""version": "1.0.0","#, "MyAgent"), "kebab-case");
    fails(
        r#"{"displayName": "x", "behavior": {"completionType": "issue"}, "prompts": {}}"#,
        "logging: missing",
    );
    let part = r#"{"displayName": "x", "behavior": {"completionType": "issue"}}"#;
    assert_eq!(
        reads(part).checks.len(),
        1,
        "with one key of a whole file it need not be whole"
    );
}

/// A description with this verdict.
fn runner(verdict: &Value) -> String {
    json!({"name": "my-agent", "runner": {"flow": {"prompts": {}}, "verdict": verdict, "boundaries": {"allowedTools": []}}}).to_string()
}

fn lowered(kind: &str, config: Value) -> CheckKind {
    match reads(&runner(&json!({"type": kind, "config": config})))
        .checks
        .remove(0)
    {
        CheckSpec::Single { criterion, .. } => criterion,
        group => panic!("{group:?}"),
    }
}

fn keyword(text: &str) -> CheckKind {
    CheckKind::Signal(SignalTextCriterion {
        scope: TextScope::Iteration,
        ..SignalTextCriterion::new(text, SignalMatch::Contains)
    })
}

#[test]
fn each_type_of_verdict_is_lowered() {
    let structured = |required| StructuredCriterion {
        tag: Some("done".into()),
        required,
        schema: None,
        scope: TextScope::Iteration,
    };
    for (kind, config, wanted) in [
        (
            "poll:state",
            json!({}),
            CheckKind::Issue(IssueCriterion::new(None)),
        ),
        (
            "poll:state",
            json!({"resourceType": "github-issue", "targetState": "CLOSED"}),
            CheckKind::Issue(IssueCriterion::new(None)),
        ),
        (
            "poll:state",
            json!({"targetState": {"state": "closed"}, "issue": 7}),
            CheckKind::Issue(IssueCriterion::new(Some(7))),
        ),
        (
            "poll:state",
            json!({"resourceType": "github-project"}),
            CheckKind::Phase(PhaseCriterion::new(None)),
        ),
        (
            "count:iteration",
            json!({"maxIterations": 5}),
            CheckKind::Iterations { count: 5 },
        ),
        (
            "count:check",
            json!({"maxChecks": 3}),
            CheckKind::Iterations { count: 3 },
        ),
        (
            "detect:keyword",
            json!({"verdictKeyword": "DONE"}),
            keyword("DONE"),
        ),
        (
            "detect:structured",
            json!({"signalType": "done"}),
            CheckKind::Structured(structured(Vec::new())),
        ),
        (
            "detect:structured",
            json!({"signalType": "done", "requiredFields": {"status": "ok"}}),
            CheckKind::Structured(structured(vec![("status".into(), Some(json!("ok")))])),
        ),
        (
            "detect:structured",
            json!({"signalType": "done", "requiredFields": ["summary"]}),
            CheckKind::Structured(structured(vec![("summary".into(), None)])),
        ),
    ] {
        assert_eq!(lowered(kind, config.clone()), wanted, "{kind} {config}");
    }
}

#[test]
fn handler_gets_the_whole_description() {
    let verdict = json!({"type": "meta:custom", "config": {"handlerPath": "./completion/h.ts"}});
    let description = runner(&verdict);
    let wanted = CustomCriterion::of_agent(
        CommandLine::Argv(vec![".agent/my-agent/completion/h.ts".into()]),
        serde_json::from_str(&description).unwrap(),
    );
    assert_eq!(
        lowered("meta:custom", verdict["config"].clone()),
        CheckKind::Custom(wanted)
    );
}

#[test]
fn a_composite_is_a_group_and_composites_nest() {
    let inner = json!({"type": "meta:composite", "config": {"operator": "first", "conditions": [
        {"type": "detect:keyword", "config": {"verdictKeyword": "A"}}, {"type": "count:check", "config": {"maxChecks": 2}}]}});
    for (operator, mode) in [
        ("and", Mode::All),
        ("or", Mode::Any),
        ("first", Mode::First),
    ] {
        let config = json!({"operator": operator, "conditions": [inner, {"type": "poll:state", "config": {}}], "maxIterations": 9});
        let found = reads(&runner(
            &json!({"type": "meta:composite", "config": config}),
        ));
        assert_eq!(found.limits.max_iterations, 9);
        let CheckSpec::Group {
            mode: found,
            checks,
        } = &found.checks[0]
        else {
            panic!("no group")
        };
        assert_eq!((*found, checks.len()), (mode, 2));
        assert!(
            matches!(&checks[0], CheckSpec::Group { mode: Mode::First, checks } if checks.len() == 2)
        );
    }
}

#[test]
fn verdict_limit_becomes_the_loop_limit() {
    let limit = |kind: &str, config: Value| {
        reads(&runner(&json!({"type": kind, "config": config})))
            .limits
            .max_iterations
    };
    assert_eq!(limit("poll:state", json!({"maxIterations": 500})), 500);
    assert_eq!(
        limit("count:iteration", json!({"maxIterations": 200})),
        200,
        "a loop gets as far as what it counts"
    );
    assert_eq!(limit("count:check", json!({"maxChecks": 40})), 40);
    assert_eq!(limit("detect:keyword", json!({"verdictKeyword": "D"})), 30);
    assert_eq!(
        reads(
            r#"{"behavior": {"completionType": "issue", "completionConfig": {"maxIterations": 7}}}"#
        )
        .limits
        .max_iterations,
        7
    );
    let both = r#"{"behavior": {"completionType": "issue", "completionConfig": {"maxIterations": 7}}, "limits": {"max_iterations": 3}}"#;
    assert_eq!(
        reads(both).limits.max_iterations,
        3,
        "what the file itself says comes first"
    );
}

#[test]
fn done_labels_replace_the_closed_state() {
    let issues = |github: Value| -> Vec<IssueCriterion> {
        let file = json!({"parameters": {"issue": {"type": "number", "default": 7}},
            "runner": {"verdict": {"type": "poll:state"}, "integrations": {"github": github}}});
        let of = |check| match check {
            CheckSpec::Single {
                criterion: CheckKind::Issue(found),
                ..
            } => found,
            other => panic!("{other:?}"),
        };
        reads(&file.to_string())
            .checks
            .into_iter()
            .map(of)
            .collect()
    };
    let labelled = |closed, label: &str| IssueCriterion {
        closed,
        label: Some(label.into()),
        ..IssueCriterion::new(Some(7))
    };
    let github = |action: &str, add: Value| json!({"enabled": true, "labels": {"completion": {"add": add}}, "defaultClosureAction": action});
    assert_eq!(
        issues(github("label-only", json!(["done"]))),
        [labelled(false, "done")]
    );
    assert_eq!(
        issues(github("label-and-close", json!(["a", "b"]))),
        [labelled(true, "a"), labelled(true, "b")]
    );
    let closed = [IssueCriterion::new(Some(7))];
    assert_eq!(issues(github("close", json!(["a"]))), closed);
    assert_eq!(
        issues(github("label-only", json!([]))),
        closed,
        "a label that nobody names cannot be asked for"
    );
    assert_eq!(
        issues(json!({"enabled": false, "defaultClosureAction": "label-only"})),
        closed
    );
}

#[test]
fn short_description_notes_unread_keys_once() {
    let found = notes(
        r#"{"name": "a", "colour": "red", "behavior": {"completionType": "issue", "tone": "dry"}}"#,
    );
    assert_eq!(
        found,
        ["not read, as it says nothing of when the work is complete: `colour`, `behavior.tone`"]
    );
    assert!(notes(r#"{"name": "a", "behavior": {"completionType": "issue"}}"#).is_empty());
    let found = notes(&runner(
        &json!({"type": "poll:state", "config": {"type": "issueClose"}}),
    ));
    assert_eq!(
        found,
        [
            "not read, as it says nothing of when the work is complete: `runner.boundaries`, `runner.flow`, `runner.verdict.config.type`"
        ]
    );
    let many = |count: usize| {
        let keys = (10..10 + count)
            .map(|n| format!(r#""z{n}zzz": 1, "#))
            .collect::<String>();
        notes(&format!(
            r#"{{"name": "a", {keys} "behavior": {{"completionType": "issue"}}}}"#
        ))
        .remove(0)
    };
    assert!(many(20).ends_with("`z28zzz`, `z29zzz`"), "{}", many(20));
    assert!(
        many(22).ends_with("`z28zzz`, `z29zzz` and 2 more"),
        "{}",
        many(22)
    );
    fails(
        r#"{"behavior": {"completionType": "issue", "tone": "dry"}}"#,
        "behavior.tone: unknown key",
    );
}

#[test]
fn unsupported_setting_is_an_error_naming_it() {
    for (kind, config, words) in [
        (
            "detect:graph",
            json!({"registryPath": "steps.json"}),
            "runner.verdict.type: \"detect:graph\" is a graph of steps",
        ),
        (
            "poll:state",
            json!({"resourceType": "file"}),
            "config.resourceType: cannot be polled by watchdog; write a `files` check",
        ),
        (
            "poll:state",
            json!({"targetState": "merged"}),
            "config.targetState: this state cannot be polled",
        ),
        (
            "poll:state",
            json!({"targetState": {"state": "closed", "label": "x"}}),
            "this state cannot be polled",
        ),
        (
            "poll:state",
            json!({"targetStat": "merged"}),
            "did you mean `targetState`?",
        ),
        (
            "poll:state",
            json!({"maxIterations": 0}),
            "config.maxIterations: expected a whole number from 1",
        ),
        (
            "count:iteration",
            json!({}),
            "maxIterations is required for the type count:iteration",
        ),
        (
            "count:check",
            json!({"maxChecks": "3"}),
            "maxChecks must be a positive number",
        ),
        ("detect:keyword", json!({}), "verdictKeyword is required"),
        (
            "detect:structured",
            json!({"requiredFields": ["a"]}),
            "signalType is required",
        ),
        (
            "meta:custom",
            json!({"handlerPath": "../../x.ts"}),
            "handlerPath: must be a path inside the worktree",
        ),
        (
            "meta:composite",
            json!({"operator": "and", "conditions": []}),
            "a composite without conditions can never be complete",
        ),
        (
            "meta:composite",
            json!({"operator": "xor", "conditions": [{"type": "issue"}]}),
            "unknown word \"xor\"",
        ),
        (
            "meta:composite",
            json!({"operator": "and", "conditions": [{"config": {}}]}),
            "conditions[0].type: missing",
        ),
        (
            "meta:composite",
            json!({"operator": "and", "conditions": [{"type": "detect:graph", "config": {}}]}),
            "conditions[0].type: \"detect:graph\"",
        ),
        ("poll:stat", json!({}), "did you mean `poll:state`?"),
    ] {
        fails(&runner(&json!({"type": kind, "config": config})), words);
    }
    for (file, words) in [
        (json!({"runner": {}}), "runner.verdict: missing"),
        (json!({"runner": []}), "runner: expected an object"),
        (
            json!({"runner": {"verdict": 5}}),
            "runner.verdict: expected an object",
        ),
        (
            json!({"runner": {"verdict": {"type": "issue"}}, "behavior": {"completionType": "issue"}}),
            "both say what completes the work",
        ),
        (
            json!({"runner": {"verdict": {"type": "issue"}}, "checks": []}),
            "checks: a key of completion.json in the description of an agent",
        ),
        (
            json!({"name": "a", "behavior": {"completionType": "issue"}, "completion": {"verify": "x"}}),
            "completion: a key of completion.json",
        ),
        (
            json!({"name": "../up", "runner": {"verdict": {"type": "issue"}}}),
            "must be in kebab-case",
        ),
        (
            json!({"name": "a\u{1b}[2J", "runner": {"verdict": {"type": "issue"}}}),
            "found \"a\\u{1b}[2J\"",
        ),
    ] {
        fails(&file.to_string(), words);
    }
}

/// A verdict of any depth.
fn verdict() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({"type": "poll:state", "config": {}})),
        (1..50_u32)
            .prop_map(|n| json!({"type": "count:iteration", "config": {"maxIterations": n}})),
        (0..50_u32).prop_map(|n| json!({"type": "count:check", "config": {"maxChecks": n}})),
        "[A-Z]{0,3}"
            .prop_map(|text| json!({"type": "detect:keyword", "config": {"verdictKeyword": text}})),
        "[a-z]{1,5}"
            .prop_map(|word| json!({"type": "detect:structured", "config": {"signalType": word}})),
        "[a-z]{1,5}"
            .prop_map(|path| json!({"type": "meta:custom", "config": {"handlerPath": path}})),
        Just(json!({"type": "detect:graph", "config": {}})),
        Just(json!({"type": "poll:state", "config": {"resourceType": "api"}})),
        Just(json!({"type": 5})),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        (prop::sample::select(vec!["and", "or", "first"]), prop::collection::vec(inner, 0..4)).prop_map(
            |(operator, conditions)| json!({"type": "meta:composite", "config": {"operator": operator, "conditions": conditions}}),
        )
    })
}

fn named(verdict: &Value) -> usize {
    match verdict["config"]["conditions"].as_array() {
        Some(conditions) => conditions.iter().map(named).sum(),
        None => 1,
    }
}

fn asked(checks: &[CheckSpec]) -> usize {
    let of = |check: &CheckSpec| match check {
        CheckSpec::Group { checks, .. } => asked(checks),
        CheckSpec::Single { .. } => 1,
    };
    checks.iter().map(of).sum()
}

proptest! {
    #[test]
    fn no_criterion_is_lost_on_the_way_down(verdict in verdict()) {
        if let Ok(parsed) = parse_config(&runner(&verdict), "agent.json".as_ref()) {
            prop_assert!(asked(&parsed.settings.checks) >= named(&verdict).max(1), "{}", verdict);
            let again = reads(&to_json(&parsed.settings).to_string());
            prop_assert_eq!(again, parsed.settings, "the plain form means the same");
        }
    }
}
