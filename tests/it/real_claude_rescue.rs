//! The plan of a rescue, asked of the real Claude Code CLI: no tools, no trace in the transcript, and every way in which
//! an answer is of no use ends in one commit of everything.

use serde_json::{Value, json};

use crate::real_claude::{config, reply};
use crate::support::{Claude, CommandOutput, Repo, Rule};

/// The model's answer to a plan question.
fn plans(plan: Value) -> Rule {
    Rule::tool("StructuredOutput", plan)
        .when_offered("StructuredOutput")
        .when_last_user("COMMIT PLAN")
}

/// The model's answer to the probe.
fn says_complete() -> Rule {
    Rule::tool("StructuredOutput", reply("complete"))
        .when_offered("StructuredOutput")
        .when_last_user("STATUS PROBE")
}

fn good() -> Value {
    json!({"commits": [
        {"subject": "feat(auth): add login", "body": "Users could not log in.", "files": ["src/login.rs"], "tasks": []},
        {"subject": "docs(auth): describe login", "files": ["docs/login.md"]}]})
}

fn bad() -> Value {
    json!({"commits": [{"subject": "add login", "files": ["src/login.rs", "docs/login.md"]}]})
}

/// A session that leaves two files behind, and its judgement.
fn judged(
    rules: impl IntoIterator<Item = Rule>,
    look: impl FnOnce(&Claude, &Repo<'_>, &CommandOutput, &str),
) {
    let session = Rule::bash(
        "mkdir src docs && echo 'fn login() {}' > src/login.rs && echo '# Login' > docs/login.md",
    )
    .when_offered("Bash")
    .when_last_user("MAIN TASK");
    let claude = Claude::answering(
        [
            session,
            Rule::text("I stop here.").when_offered("Bash"),
            says_complete(),
        ]
        .into_iter()
        .chain(rules),
    );
    let repo = claude.env.repo();
    let baseline = repo.head();
    claude
        .command(&repo, &["-p", "--allowedTools", "Bash", "--", "MAIN TASK"])
        .run()
        .expect(0);
    let before = claude.transcripts();
    let config = config(&claude, json!({"rescue": {"mode": "plan"}}));
    let out = repo.watchdog(&["check", "--json", "--baseline", "HEAD", "--config", &config]);
    assert_eq!(
        claude.transcripts(),
        before,
        "no question leaves a trace\n{out}"
    );
    look(&claude, &repo, &out, &baseline);
    claude.env.assert_nothing_left();
}

#[test]
fn plan_is_made_without_tools_in_two_commits() {
    judged([plans(good())], |claude, repo, out, baseline| {
        assert_eq!(out.verdict(), "complete/rescued", "{out}");
        assert_eq!(
            (&out.json()["rescue"]["commits"], &out.json()["degraded"]),
            (&json!(2), &json!(["no_record"])),
            "{out}"
        );
        assert_eq!(
            repo.subjects_since(baseline),
            ["docs(auth): describe login", "feat(auth): add login"]
        );
        assert_eq!(repo.status(), "");
        let asked = claude.api.messages().pop().expect("the plan");
        assert!(
            asked.last_user().contains("| +fn login() {}") && asked.mentions("MAIN TASK"),
            "it sees the work and knows the session"
        );
        let offered: Vec<_> = asked
            .tools()
            .into_iter()
            .filter(|name| *name != "DeferredToolPlaceholder")
            .collect();
        assert_eq!(
            offered,
            ["StructuredOutput"],
            "it is offered nothing to do harm with"
        );
    });
}

#[test]
fn faulty_plan_is_asked_again_naming_the_fault() {
    judged(
        [plans(bad()), plans(good())],
        |claude, repo, out, baseline| {
            assert_eq!(
                (out.verdict().as_str(), repo.subjects_since(baseline).len()),
                ("complete/rescued", 2),
                "{out}"
            );
            let asked = claude.api.messages().pop().expect("the second question");
            assert!(
                asked
                    .last_user()
                    .contains("not of the form type(scope): text"),
                "{}",
                asked.last_user()
            );
        },
    );
}

#[test]
fn two_plans_with_faults_end_in_one_commit() {
    judged(
        [plans(bad()).times(2), plans(good())],
        |claude, repo, out, baseline| {
            assert_eq!(out.verdict(), "complete/rescued", "{out}");
            assert_eq!(
                out.json()["degraded"],
                json!(["no_record", "plan_fallback"]),
                "{out}"
            );
            assert_eq!(repo.subjects_since(baseline).len(), 1);
            assert_eq!(repo.status(), "");
            let questions = claude
                .api
                .messages()
                .iter()
                .filter(|asked| asked.last_user().contains("COMMIT PLAN"))
                .count();
            assert_eq!(questions, 2, "two questions and no third");
        },
    );
}

#[test]
fn limited_plan_falls_back_to_one_commit() {
    let limit = Rule::error(429, "You've hit your session limit · resets 5am (UTC)")
        .header("retry-after", "3600")
        .when_last_user("COMMIT PLAN");
    judged([limit.always()], |claude, repo, out, baseline| {
        assert_eq!(out.verdict(), "complete/rescued", "{out}");
        assert_eq!(
            out.json()["degraded"],
            json!(["no_record", "plan_fallback"]),
            "{out}"
        );
        assert!(
            out.json()["notes"][1]["detail"]
                .as_str()
                .is_some_and(|why| why.contains("rate_limited")),
            "{out}"
        );
        assert_eq!(repo.subjects_since(baseline).len(), 1);
        let questions = claude
            .api
            .messages()
            .iter()
            .filter(|asked| asked.last_user().contains("COMMIT PLAN"))
            .count();
        assert_eq!(questions, 1, "{out}");
    });
}
