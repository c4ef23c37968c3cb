//! One criterion back to JSON, with every default written out.

use serde_json::{Value, json};

use super::elements::agent_checks::{MATCHES, SCOPES};
use super::elements::outside_checks::CUSTOM_MODES;
use super::resolved::word;
use super::settings::{CheckKind, CommandCriterion, CommandLine, SignalCriterion, SignalMatch, StructuredCriterion, SuccessRule};

/// The keys of a check of this criterion, without `type` and `name`.
pub(super) fn keys(criterion: &CheckKind) -> Value {
    match criterion {
        CheckKind::Signal(found) => signal(found),
        CheckKind::Command(found) => command(found),
        CheckKind::Plan(found) => json!({
            "path": found.path, "done": found.done, "max_titles": found.max_titles,
            "optional_sections": found.optional_sections, "required": found.required,
        }),
        CheckKind::FeatureList(found) => json!({"path": found.path, "freeze": found.freeze}),
        CheckKind::Git(found) => json!({
            "min_commits": found.min_commits, "require_clean": found.require_clean, "require_pushed": found.require_pushed,
            "no_conflict_markers": found.no_conflict_markers, "protected": found.protected,
        }),
        CheckKind::Files(found) => json!({"paths": found.paths, "non_empty": found.non_empty, "contains": found.contains}),
        CheckKind::Issue(found) => json!({
            "number": found.number, "closed": found.closed, "label": found.label, "pull_request": found.pull_request,
            "repo": found.repo, "require_clean": found.require_clean, "timeout_seconds": found.timeout.as_secs(),
        }),
        CheckKind::Structured(found) => structured(found),
        CheckKind::SqlResult(found) => {
            json!({"tool": found.tool, "expected_columns": found.expected_columns, "min_rows": found.min_rows})
        }
        CheckKind::Judge(found) => json!({
            "question": found.question, "rubric": found.rubric, "run": found.run.as_ref().map(line),
            "model": found.model, "timeout_seconds": found.timeout.as_secs(),
        }),
        CheckKind::Phase(found) => json!({
            "project": found.project, "final": found.last, "field": found.field, "owner": found.owner,
            "timeout_seconds": found.timeout.as_secs(),
        }),
        CheckKind::Iterations { count } => json!({"count": count}),
        CheckKind::Custom(found) => json!({
            "run": line(&found.run), "timeout_seconds": found.timeout.as_secs(), "mode": word(CUSTOM_MODES, &found.mode),
        }),
        CheckKind::Always => json!({}),
        CheckKind::Registered { keys, .. } => Value::Object(keys.clone()),
    }
}

fn signal(found: &SignalCriterion) -> Value {
    let mut keys = json!({
        "text": found.text, "match": word(MATCHES, &found.matching), "ignore_case": found.ignore_case,
        "last_line": found.last_line, "in": word(SCOPES, &found.scope),
    });
    if found.matching == SignalMatch::Tag {
        keys["tag"] = found.tag.as_str().into();
    }
    keys
}

fn structured(found: &StructuredCriterion) -> Value {
    let mut keys = json!({"in": word(SCOPES, &found.scope)});
    if let Some(tag) = &found.tag {
        keys["tag"] = tag.as_str().into();
    }
    if let Some(schema) = &found.schema {
        keys["schema"] = schema.clone();
    }
    if !found.required.is_empty() {
        let by_value: Option<serde_json::Map<String, Value>> =
            found.required.iter().map(|(name, value)| Some((name.clone(), value.clone()?))).collect();
        keys["required"] = match by_value {
            Some(fields) => Value::Object(fields),
            None => found.required.iter().map(|(name, _)| name.as_str()).collect(),
        };
    }
    keys
}

fn command(found: &CommandCriterion) -> Value {
    let success = match &found.success {
        SuccessRule::Exit(code) => format!("exit:{code}"),
        SuccessRule::Empty => "empty".into(),
        SuccessRule::Contains(text) => format!("contains:{text}"),
        SuccessRule::Regex(pattern) => format!("regex:{pattern}"),
    };
    json!({
        "run": line(&found.run), "cwd": found.cwd, "timeout_seconds": found.timeout.as_secs(), "success": success,
        "tail_lines": found.tail_lines, "junit": found.junit, "must_fail_first": found.must_fail_first, "clean": found.clean,
    })
}

fn line(run: &CommandLine) -> Value {
    match run {
        CommandLine::Shell(line) => line.as_str().into(),
        CommandLine::Argv(argv) => argv.as_slice().into(),
    }
}

#[cfg(test)]
pub(super) mod arbitrary {
    //! Criteria of every type that a file can name, in any shape that a file can give them.

    use std::time::Duration;

    use proptest::prelude::*;

    use super::super::settings::*;
    use super::*;

    fn seconds() -> impl Strategy<Value = Duration> {
        (1..=315_360_000_u64).prop_map(Duration::from_secs)
    }

    fn said() -> impl Strategy<Value = String> {
        "[^\0]{0,12}".prop_filter("blank texts are refused", |text| !text.trim().is_empty())
    }

    fn run() -> impl Strategy<Value = CommandLine> {
        let argv = (said(), prop::collection::vec("[^\0]{0,6}", 0..3)).prop_map(|(first, rest)| [vec![first], rest].concat());
        prop_oneof![said().prop_map(CommandLine::Shell), argv.prop_map(CommandLine::Argv)]
    }

    fn scope() -> impl Strategy<Value = TextScope> {
        prop::sample::select(vec![TextScope::Last, TextScope::Iteration, TextScope::Session])
    }

    fn signal() -> impl Strategy<Value = CheckKind> {
        let matching = prop::sample::select(vec![SignalMatch::Line, SignalMatch::Word, SignalMatch::Contains, SignalMatch::Tag]);
        ("[a-zA-Z_ ]{0,8}[A-Z]", matching, "[a-z][a-z_-]{0,5}", any::<bool>(), any::<bool>(), scope()).prop_map(
            |(text, matching, tag, ignore_case, last_line, scope)| {
                let mut found = SignalCriterion::new(text, matching);
                (found.ignore_case, found.last_line, found.scope) = (ignore_case, last_line, scope);
                if matching == SignalMatch::Tag {
                    found.tag = tag;
                }
                CheckKind::Signal(found)
            },
        )
    }

    fn command() -> impl Strategy<Value = CheckKind> {
        let success = prop_oneof![
            (0..=125).prop_map(SuccessRule::Exit),
            Just(SuccessRule::Empty),
            "[^\0 ][^\0]{0,8}".prop_map(SuccessRule::Contains),
            "[a-z]{1,6}".prop_map(SuccessRule::Regex),
        ];
        let path = || prop::option::of("[a-z]{1,4}(/[a-z]{1,4})?");
        (run(), path(), seconds(), success, 0..=1000_usize, path(), any::<(bool, bool)>()).prop_map(
            |(run, cwd, timeout, success, tail_lines, junit, (must_fail_first, clean))| {
                CheckKind::Command(CommandCriterion { run, cwd, timeout, success, tail_lines, junit, must_fail_first, clean })
            },
        )
    }

    fn lists() -> impl Strategy<Value = CheckKind> {
        let words = || prop::collection::vec(said(), 0..3);
        prop_oneof![
            (prop::option::of("/?[a-z]{1,5}(/[a-z]{1,4})?"), prop::collection::vec(said(), 1..3), 0..=1000_usize, words(), any::<bool>())
                .prop_map(|(path, done, max_titles, optional_sections, required)| {
                    CheckKind::Plan(PlanCriterion { path, done, max_titles, optional_sections, required })
                }),
            ("/?[a-z]{1,5}", any::<bool>()).prop_map(|(path, freeze)| CheckKind::FeatureList(FeatureListCriterion { path, freeze })),
            (prop::collection::vec("[a-z*]{1,5}(/[a-z]{1,4})?", 1..4), any::<bool>(), prop::option::of(said()))
                .prop_map(|(paths, non_empty, contains)| CheckKind::Files(FilesCriterion { paths, non_empty, contains })),
        ]
    }

    fn git() -> impl Strategy<Value = CheckKind> {
        (1..1000_u64, any::<[bool; 3]>(), prop::collection::vec("[a-z*]{1,6}", 0..3)).prop_map(|(min_commits, flags, protected)| {
            let [require_clean, require_pushed, no_conflict_markers] = flags;
            CheckKind::Git(GitCriterion { min_commits, require_clean, require_pushed, no_conflict_markers, protected })
        })
    }

    fn structured() -> impl Strategy<Value = CheckKind> {
        let value = || prop_oneof![Just(json!(null)), any::<i64>().prop_map(Value::from), said().prop_map(Value::from)];
        let required = prop_oneof![
            prop::collection::btree_map("[a-z]{1,4}", value().prop_map(Some), 0..3),
            prop::collection::btree_map("[a-z]{1,4}", Just(None), 0..3),
        ];
        (said(), required, any::<bool>(), scope()).prop_map(|(tag, required, schema, scope)| {
            let schema = schema.then(|| json!({"type": "object"}));
            CheckKind::Structured(StructuredCriterion { tag: Some(tag), required: required.into_iter().collect(), schema, scope })
        })
    }

    fn outside() -> impl Strategy<Value = CheckKind> {
        let number = || prop::option::of(1..1000_u64);
        prop_oneof![
            (number(), prop::option::of(said()), number(), prop::option::of("[a-z]{1,3}/[a-z]{1,3}"), any::<bool>(), seconds()).prop_map(
                |(number, label, pull_request, repo, require_clean, timeout)| {
                    let closed = label.is_none();
                    CheckKind::Issue(IssueCriterion { number, closed, label, pull_request, repo, require_clean, timeout })
                }
            ),
            (1..1000_u64, said(), prop::option::of(said()), prop::option::of(said()), seconds()).prop_map(
                |(project, last, field, owner, timeout)| CheckKind::Phase(PhaseCriterion {
                    project: Some(project),
                    last,
                    field,
                    owner,
                    timeout
                })
            ),
            (said(), prop::option::of(said()), prop::option::of(run()), prop::option::of(said()), seconds()).prop_map(
                |(question, rubric, run, model, timeout)| CheckKind::Judge(JudgeCriterion { question, rubric, run, model, timeout })
            ),
            (run(), seconds(), prop::sample::select(vec![CustomMode::Call, CustomMode::Stream]))
                .prop_map(|(run, timeout, mode)| CheckKind::Custom(CustomCriterion { run, timeout, mode })),
        ]
    }

    /// Any criterion that this program judges itself.
    pub(in super::super) fn criterion() -> impl Strategy<Value = CheckKind> {
        let rows = (said(), prop::option::of(prop::collection::vec(said(), 0..3)), any::<u64>())
            .prop_map(|(tool, expected_columns, min_rows)| CheckKind::SqlResult(SqlResultCriterion { tool, expected_columns, min_rows }));
        let count = (1..=1_000_000_u64).prop_map(|count| CheckKind::Iterations { count });
        prop_oneof![signal(), command(), lists(), git(), structured(), rows, outside(), count, Just(CheckKind::Always)]
    }
}
