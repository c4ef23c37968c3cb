//! The plan of a rescue, asked of the real Claude Code CLI: no tools, and no trace in the transcript.

use serde_json::json;

use crate::real_claude::{config, reply};
use crate::support::{Claude, Rule};

#[test]
fn plan_is_made_without_tools_in_two_commits() {
    let plan = json!({"commits": [
        {"subject": "feat(auth): add login", "body": "Users could not log in.", "files": ["src/login.rs"], "tasks": []},
        {"subject": "docs(auth): describe login", "files": ["docs/login.md"]}]});
    let work =
        "mkdir src docs && echo 'fn login() {}' > src/login.rs && echo '# Login' > docs/login.md";
    let structured = |answer, question| {
        Rule::tool("StructuredOutput", answer)
            .when_offered("StructuredOutput")
            .when_last_user(question)
    };
    let claude = Claude::answering([
        Rule::bash(work)
            .when_offered("Bash")
            .when_last_user("MAIN TASK"),
        Rule::text("I stop here.").when_offered("Bash"),
        structured(reply("complete"), "STATUS PROBE"),
        structured(plan, "COMMIT PLAN"),
    ]);
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
    assert_eq!(out.verdict(), "complete/rescued", "{out}");
    assert_eq!(
        (&out.json()["rescue"]["commits"], &out.json()["degraded"]),
        (&json!(2), &json!(["no_record"])),
        "{out}"
    );
    assert_eq!(
        repo.subjects_since(&baseline),
        ["docs(auth): describe login", "feat(auth): add login"]
    );
    assert_eq!(repo.status(), "");
    let asked = claude.api.messages().pop().expect("the plan");
    assert!(
        asked.last_user().contains("| +fn login() {}") && asked.mentions("MAIN TASK"),
        "it sees the work and knows the session"
    );
    asked.assert_harmless();
    claude.env.assert_nothing_left();
}
