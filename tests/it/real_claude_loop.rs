//! Loops of real Claude Code sessions: feedback leads to completion, in new conversations and in one that goes on.

use serde_json::{Value, json};

use crate::real_claude::{config, probes_say};
use crate::support::{Claude, CommandOutput, Repo, Rule, assert_parts};

/// A check that names the first step that is missing, from outside the worktree, so that no session reads it there.
fn steps_in_order(claude: &Claude) -> Value {
    let script = "for step in one two; do [ -e $step.txt ] || { echo \"step $step is missing\"; exit 1; }; done";
    let script = claude.env.write("check.sh", script);
    json!({
        "checks": [{"type": "command", "name": "steps", "run": ["sh", script]}], "limits": {"cooldown_seconds": 0},
    })
}

/// A model that does what the feedback asks for, and nothing before it is asked.
fn obedient() -> Vec<Rule> {
    let makes = |name: &str| {
        Rule::bash(&format!(
            "echo x > {name}.txt && git add {name}.txt && git commit -qm 'work: {name}'"
        ))
        .when_offered("Bash")
    };
    vec![
        makes("two").when_last_user("step two is missing"),
        makes("one").when_last_user("step one is missing"),
        makes("zero").when_last_user("MAIN TASK"),
        Rule::text("I did what I was told.")
            .when_offered("Bash")
            .always(),
        probes_say("complete"),
    ]
}

fn looped(claude: &Claude, repo: &Repo<'_>, options: &[&str]) -> CommandOutput {
    let config = config(claude, steps_in_order(claude));
    let task = claude.env.write("PROMPT.md", "MAIN TASK");
    let task = task.to_str().expect("UTF-8");
    let args = [
        &[
            "loop", "--json", "--config", &config, "--prompt", task, "--agent", "claude",
        ],
        options,
        &["--", "--allowedTools", "Bash"],
    ];
    repo.watchdog(&args.concat())
}

#[test]
fn loop_feedback_completes_the_third_iteration() {
    let claude = Claude::answering(obedient());
    let repo = claude.env.repo();
    let first = repo.head();
    let out = looped(&claude, &repo, &[]).expect(0);
    let json = out.json();
    out.assert_verdict(
        "complete/checks_passed",
        json!({"iterations": 3, "evidence": "committed"}),
    );
    assert_eq!(
        repo.subjects_since(&first),
        ["work: two", "work: one", "work: zero"]
    );
    let asked = claude.api.messages();
    let told: Vec<String> = asked
        .iter()
        .map(|request| request.last_user())
        .filter(|text| text.contains("MAIN TASK"))
        .collect();
    assert_eq!(
        (asked.len(), told.len()),
        (6, 3),
        "two requests a session, and no probe: every one committed\n{out}"
    );
    assert!(
        told[0].contains("Done means:") && !told[0].contains("missing"),
        "{}",
        told[0]
    );
    assert_parts(
        &told[1],
        &["iteration 2 of at most 30", "step one is missing"],
    );
    assert_parts(
        &told[2],
        &["Iteration 2: I did what I was told.", "(work: one)"],
    );
    let spent = &json["loop"]["spent"];
    assert_eq!(
        (&spent["tokens"], &spent["turns"]),
        (&json!(6 * 15), &json!(6)),
        "what each session's stream tells is added up\n{out}"
    );
    assert!(
        spent["cost_usd"].as_f64().is_some_and(|cost| cost > 0.0),
        "{out}"
    );
    assert_eq!(
        claude.transcripts().len(),
        3,
        "each session is a new conversation"
    );
    claude.env.assert_nothing_left();
}

#[test]
fn with_continue_the_sessions_are_one_conversation() {
    let claude = Claude::answering(obedient());
    let repo = claude.env.repo();
    let out = looped(&claude, &repo, &["--continue"]).expect(0);
    out.assert_verdict("complete/checks_passed", json!({"iterations": 3}));
    assert_eq!(claude.transcripts().len(), 1, "{out}");
    let asked = claude.api.messages();
    let last = asked
        .iter()
        .rev()
        .find(|request| request.last_user().contains("step two is missing"))
        .expect("the third session was told");
    assert!(
        last.last_user()
            .starts_with("You stopped, and the work is not done yet (iteration 3"),
        "{}",
        last.last_user()
    );
    assert!(
        last.mentions("MAIN TASK") && !last.last_user().contains("MAIN TASK"),
        "the task is in the conversation already"
    );
}
