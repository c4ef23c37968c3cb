//! Properties of random trees of checks, and what of them passed before the work began.

use proptest::prelude::*;

use super::tests::{Fake, parse_tree};
use super::*;
use crate::config::settings::{CheckKind, CheckOrder, CheckSpec, ConfigSettings, Mode};
use crate::config::{parse_config, parse_registered};
use watchdog_facts::evidence::{CheckOutcome, Degradation, OutcomeBeforeWork, WarningCode};
use watchdog_facts::verdict::Evidence;

/// Random trees in the letters of [`parse_tree`], none of whose groups is empty.
fn trees() -> impl Strategy<Value = String> {
    let leaf =
        prop::sample::select(vec!["p", "c", "v", "x", "w", "u", "f", "t"]).prop_map(str::to_owned);
    leaf.prop_recursive(4, 16, 4, |inner| {
        let brackets = prop::sample::select(vec![("[", "]"), ("(", ")"), ("<", ">")]);
        (brackets, prop::collection::vec(inner, 1..4))
            .prop_map(|((open, close), members)| format!("{open}{}{close}", members.concat()))
    })
}

/// Whether a tree is met, by the words of the contract alone.
fn met(tree: &CheckTree) -> bool {
    match tree {
        CheckTree::Single { name, .. } => ["p", "c", "v"].contains(&name.as_str()),
        CheckTree::Group {
            mode: Mode::All,
            members,
        } => members.iter().all(met),
        CheckTree::Group { members, .. } => members.iter().any(met),
    }
}

proptest! {
    #[test]
    fn tree_passes_by_contract_in_any_order(text in trees()) {
        let fake = Fake::default();
        let tree = parse_tree(&mut text.chars()).unwrap();
        for order in [CheckOrder::CheapFirst, CheckOrder::Given] {
            let group_outcome = tree.evaluate(order, &CheckContext::new(&fake));
            prop_assert_eq!(group_outcome.outcome == CheckOutcome::Pass, met(&tree), "{}", text);
            prop_assert_eq!(group_outcome.feedback.is_empty(), met(&tree));
            prop_assert!(group_outcome.evidence == Evidence::None || met(&tree));
            prop_assert!(!group_outcome.results.is_empty());
            // Neither flag changes the result.
            for context in [CheckContext::new(&fake).asking_every(true), CheckContext::new(&fake).side_by_side(3)] {
                let other = tree.evaluate(order, &context);
                prop_assert_eq!((other.outcome, other.evidence), (group_outcome.outcome, group_outcome.evidence));
            }
        }
    }
}

#[test]
fn passes_before_the_work_are_distinguished() {
    let judged = |tree: &str, before| {
        let fake = Fake {
            at_begin: ResultBeforeWork {
                before,
                tests: None,
            },
            ..Fake::default()
        };
        parse_tree(&mut tree.chars())
            .unwrap()
            .evaluate(CheckOrder::CheapFirst, &CheckContext::new(&fake))
    };
    for tree in ["[p]", "[pp]", "(xp)", "<p->", "[p(xp)]"] {
        let by_before = [
            OutcomeBeforeWork::Passed,
            OutcomeBeforeWork::Failed,
            OutcomeBeforeWork::Unknown,
        ]
        .map(|before| judged(tree, before).all_passed_before);
        assert_eq!(by_before, [true, false, false], "{tree}");
    }
    // Rule 10: unknown is at most `committed`, and so is what passed before.
    let of_new = [Evidence::Committed, Evidence::Verified, Evidence::Committed];
    for (tree, evidence) in [
        ("[p]", of_new),
        ("[pp]", of_new),
        ("(xp)", of_new),
        ("[pc]", [Evidence::Claimed; 3]),
    ] {
        let by_before = [
            OutcomeBeforeWork::Passed,
            OutcomeBeforeWork::Failed,
            OutcomeBeforeWork::Unknown,
        ];
        assert_eq!(
            by_before.map(|before| judged(tree, before).evidence),
            evidence,
            "{tree}"
        );
    }
    assert!(
        ["[x]", "[px]", "[u]", "[]", "()"]
            .iter()
            .all(|tree| !judged(tree, OutcomeBeforeWork::Passed).all_passed_before)
    );
}

/// A check that says how many checks its group may run at a time, with a warning of its own.
struct Says(String, CheckOutcome);

impl CompletionCheck for Says {
    fn check(&self, context: &CheckContext<'_>) -> CheckJudgement {
        let feedback = self.0.replace("{at_once}", &context.at_once.to_string());
        match self.1 {
            CheckOutcome::Pass => CheckJudgement::PassWith {
                evidence: Evidence::Verified,
                summary: feedback,
            },
            _ => CheckJudgement::Unmet { feedback },
        }
    }

    fn judge(&self, context: &CheckContext<'_>) -> JudgedCheck {
        let notes = vec![Degradation::new(WarningCode::TestsUnknown, self.0.clone())];
        JudgedCheck {
            notes,
            ..self.check(context).into()
        }
    }

    fn description(&self) -> String {
        "it says so".into()
    }
}

fn says(words: &str, cost: CheckCost, outcome: CheckOutcome) -> CheckTree {
    let check = Box::new(Says(words.to_owned(), outcome));
    CheckTree::Single {
        name: words.into(),
        kind: "says".into(),
        definition: CheckDefinition::default(),
        cost,
        check,
    }
}

fn judged(mode: Mode, members: Vec<CheckTree>, at_once: usize) -> GroupOutcome {
    let fake = Fake::default();
    let context = CheckContext::new(&fake).side_by_side(at_once);
    CheckTree::Group { mode, members }.evaluate(CheckOrder::CheapFirst, &context)
}

#[test]
fn warnings_of_all_run_checks_are_kept() {
    let of = |mode, outcomes: [CheckOutcome; 2]| {
        let members = outcomes
            .iter()
            .enumerate()
            .map(|(n, outcome)| says(&n.to_string(), CheckCost::Cheap, *outcome))
            .collect();
        judged(mode, members, 1)
            .notes
            .into_iter()
            .map(|note| note.detail)
            .collect::<Vec<_>>()
    };
    use CheckOutcome::{Pass, Unmet};
    assert_eq!(of(Mode::All, [Pass, Pass]), ["0", "1"]);
    assert_eq!(of(Mode::All, [Pass, Unmet]), ["0", "1"]);
    assert_eq!(
        of(Mode::All, [Unmet, Pass]),
        ["0"],
        "the second did not run"
    );
    assert_eq!(of(Mode::Any, [Unmet, Unmet]), ["0", "1"]);
    assert_eq!(of(Mode::Any, [Pass, Unmet]), ["0"]);
}

#[test]
fn group_inside_a_parallel_group_runs_sequentially() {
    let inner = || {
        says(
            "{at_once} at a time",
            CheckCost::Expensive,
            CheckOutcome::Pass,
        )
    };
    let nested = || CheckTree::Group {
        mode: Mode::All,
        members: vec![inner(), inner()],
    };
    let group_outcome = judged(Mode::All, vec![nested(), nested()], 2);
    let sentences: Vec<&str> = group_outcome
        .results
        .iter()
        .map(|result| result.feedback.as_str())
        .collect();
    assert_eq!(
        (group_outcome.outcome, sentences),
        (CheckOutcome::Pass, vec!["1 at a time"; 4])
    );
}

#[test]
fn feedback_of_several_checks_is_joined_and_bounded() {
    let any = |words: &[&str]| {
        let members = words
            .iter()
            .map(|words| says(words, CheckCost::Cheap, CheckOutcome::Unmet))
            .collect();
        judged(Mode::Any, members, 1).feedback
    };
    assert_eq!(any(&["a", "b.", "c?", "d!", "e"]), "a; b. c? d! e");
    assert_eq!(
        any(&["a", "b\nc", "d"]),
        "a\nb\nc\nd",
        "what has lines of its own is not run together"
    );
    // Of one check 5000 characters are kept, of all together 8000.
    let long = |letter: &str, length| letter.repeat(length);
    assert_eq!(any(&[&long("x", 5000)]), long("x", 5000));
    assert_eq!(any(&[&long("x", 5001)]), long("x", 5000) + "...");
    assert_eq!(
        any(&[&long("x", 3900), &long("y", 3900)]),
        format!("{}; {}", long("x", 3900), long("y", 3900))
    );
    assert_eq!(
        any(&[&long("x", 4000), &long("y", 4000)]),
        format!("{}; {}...", long("x", 4000), long("y", 3998))
    );
}

#[test]
fn every_check_type_tells_when_work_is_done() {
    for (entry, description) in [
        (
            r#""type": "signal", "text": "D""#,
            "the agent says so in its last message: write a line that is exactly D, in the last message, and not before the work is done",
        ),
        (
            r#""type": "signal", "text": "D", "tag": "p", "in": "session""#,
            "the agent says so in a message of its own: write <p>D</p> in the last message, and not before the work is done",
        ),
        (
            r#""type": "command", "run": "npm test""#,
            "`npm test` ends with exit 0",
        ),
        (
            r#""type": "plan""#,
            "every step of your own plan or todo list is done and marked so",
        ),
        (
            r#""type": "plan", "path": "p.md""#,
            "every step in `p.md` is done and marked so",
        ),
        (r#""type": "git""#, "1 new commit with a net change is made"),
        (
            r#""type": "files", "paths": ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]"#,
            "these files exist and are not empty: a, b, c, d, e, f, g, h, i, j",
        ),
        (
            r#""type": "files", "paths": ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"]"#,
            "these files exist and are not empty: a, b, c, ... (8 more)",
        ),
        (
            r#""type": "structured", "tag": "review", "required": {"status": "ok"}"#,
            "the agent gives a JSON object in <review>...</review> with status: \"ok\"",
        ),
        (
            r#""type": "structured", "required": ["a", "b"], "schema": {"type": "object"}"#,
            "the agent gives a JSON object with a, b that meets the JSON Schema {\"type\":\"object\"}",
        ),
        (
            r#""type": "sql_result", "expected_columns": ["id", "n"]"#,
            "the last call of `execute_sql` returns at least 1 rows with the columns id, n",
        ),
        (
            r#""type": "judge", "question": "Is it good?""#,
            "a judge who sees the work answers yes to: Is it good?",
        ),
        (
            r#""type": "phase""#,
            "the project is in its last phase, and you say so in a line: phase: complete",
        ),
        (
            r#""type": "phase", "project": 9, "field": "Status", "final": "Done""#,
            "the field \"Status\" of every item of GitHub project 9 is \"Done\"",
        ),
        (
            r#""type": "iterations", "count": 5"#,
            "5 iterations were made",
        ),
        (
            r#""type": "custom", "run": ["judge", "x"]"#,
            "`judge x` says that the work is complete",
        ),
        (r#""type": "always""#, "nothing more is asked"),
    ] {
        let text = format!(r#"{{"checks": [{{{entry}}}]}}"#);
        let settings = parse_config(&text, "c".as_ref())
            .unwrap_or_else(|error| panic!("{text}\n{error}"))
            .settings;
        assert_eq!(
            describe_checks(&settings),
            format!("all of these:\n  - {description}")
        );
    }
}

#[test]
fn registered_program_judges_its_own_type() {
    let registry = CheckRegistry::default().with("moved", |keys| {
        match keys.get("by").and_then(serde_json::Value::as_u64) {
            Some(by) => Ok((
                CheckCost::Cheap,
                Box::new(Says(format!("moved by {by}"), CheckOutcome::Pass)),
            )),
            None => Err("`by` is missing".into()),
        }
    });
    assert_eq!(registry.types(), ["moved"]);
    assert!(format!("{registry:?}").contains("moved"), "{registry:?}");
    let settings = |entry: &str| {
        parse_registered(
            &format!(r#"{{"checks": [{entry}]}}"#),
            "c".as_ref(),
            &registry.types(),
        )
        .expect("it is registered")
        .settings
    };
    let fake = Fake::default();
    let group_outcome = registry.evaluate(
        &settings(r#"{"type": "moved", "by": 2}"#),
        &CheckContext::new(&fake),
    );
    assert_eq!(
        (
            group_outcome.outcome,
            group_outcome.results[0].feedback.as_str()
        ),
        (CheckOutcome::Pass, "moved by 2")
    );
    let wrong = settings(r#"{"type": "moved"}"#);
    let group_outcome = registry.evaluate(&wrong, &CheckContext::new(&fake));
    assert_eq!(
        (group_outcome.outcome, group_outcome.feedback.as_str()),
        (CheckOutcome::Unrunnable, "`by` is missing")
    );
    assert_eq!(
        registry.describe(&wrong),
        "all of these:\n  - a check that cannot be used: `by` is missing"
    );
}

#[test]
fn github_phase_is_read_after_cheaper_checks() {
    let asked = |phase: &str| {
        let text = format!(
            r#"{{"checks": [{{"type": "command", "run": "npm test"}}, {phase}, {{"type": "files", "paths": ["gone"]}}]}}"#
        );
        let fake = Fake::default();
        let group_outcome = evaluate_checks(
            &parse_config(&text, "c".as_ref())
                .expect("it is right")
                .settings,
            &CheckContext::new(&fake),
        );
        (
            group_outcome
                .results
                .into_iter()
                .map(|result| result.name)
                .collect::<Vec<_>>(),
            fake.asked(),
        )
    };
    let field = asked(r#"{"type": "phase", "project": 9, "field": "Status"}"#);
    assert_eq!(
        field,
        (vec!["files".to_owned()], vec!["files gone".to_owned()])
    );
    assert_eq!(
        asked(r#"{"type": "phase"}"#),
        (vec!["phase".to_owned()], Vec::new()),
        "the agent's words cost nothing"
    );
}

#[test]
fn check_identity_covers_all_its_settings() {
    let of = |text: &str| match parse_config(text, "c".as_ref())
        .expect("it is right")
        .settings
        .checks
        .remove(0)
    {
        CheckSpec::Single { criterion, .. } => CheckDefinition::from_criterion(&criterion),
        CheckSpec::Group { .. } => unreachable!("the one check is no group"),
    };
    let files = |path: &str| {
        of(&format!(
            r#"{{"checks": [{{"type": "files", "paths": ["{path}"]}}]}}"#
        ))
    };
    assert_eq!(files("a"), files("a"));
    assert_ne!(files("a"), files("b"));
    assert!(
        files("a").of_worktree && !CheckDefinition::from_criterion(&CheckKind::Always).of_worktree
    );
    assert_ne!(
        CheckDefinition::from_criterion(&CheckKind::Always),
        CheckDefinition::default()
    );
    assert_eq!(describe_checks(&ConfigSettings::default()), "");
}
