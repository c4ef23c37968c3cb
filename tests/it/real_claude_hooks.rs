//! The hooks of the real Claude Code CLI, as `watchdog hook install` names them: held until the checks pass, let go at the cap, not held for
//! work in the background, structured output refused and then accepted; and a watchdog that crashes holds nobody.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Claude, CommandOutput, Repo, Rule, fill_line};

/// A repository with criteria, in which the hooks are installed.
fn watched<'env>(claude: &'env Claude, configuration: &Value) -> Repo<'env> {
    claude
        .env
        .install("watchdog", Path::new(env!("CARGO_BIN_EXE_watchdog")));
    let repo = claude.env.repo();
    repo.write("completion.json", configuration.to_string());
    repo.watchdog(&["trust"]).expect(0);
    repo.watchdog(&["hook", "install"]).expect(0);
    repo.commit_all("chore: criteria");
    repo
}

/// A repository without criteria, with the hooks in its settings.
fn install_hooks(claude: &Claude) -> Repo<'_> {
    claude
        .env
        .install("watchdog", Path::new(env!("CARGO_BIN_EXE_watchdog")));
    let repo = claude.env.repo();
    repo.watchdog(&["hook", "install"]).expect(0);
    repo.commit_all("chore: hooks");
    repo
}

#[test]
fn false_commit_claim_is_held_without_criteria() {
    let claude = Claude::answering([
        Rule::bash("echo x > work.txt").when_last_user("MAIN TASK"),
        Rule::bash("git add work.txt && git commit -qm work")
            .when_last_user("work.txt` is not committed"),
        Rule::text("Wrote the file. All changes are committed.").always(),
    ]);
    let repo = install_hooks(&claude);
    session(&claude, &repo, &[]).expect(0);
    assert_eq!(answers(&repo), ["held review"]);
    assert!(repo.git(&["log", "--format=%s"]).starts_with("work"));
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    claude.env.assert_nothing_left();
}

#[test]
fn turns_are_told_and_a_removed_worktree_is_kept() {
    let work = "echo x > work.txt && echo y > own.txt && git add own.txt && git commit -qm own";
    let claude = Claude::answering([
        Rule::bash("echo y > main.txt && git add main.txt && git commit -qm work")
            .when_last_user("MAIN TASK"),
        Rule::tool("EnterWorktree", json!({"name": "side"})),
        Rule::bash(work),
        Rule::tool(
            "ExitWorktree",
            json!({"action": "remove", "discard_changes": true}),
        ),
        Rule::text("Gone.").always(),
    ]);
    let repo = install_hooks(&claude);
    let tools = ["--allowedTools", "EnterWorktree", "ExitWorktree"];
    let out = session(&claude, &repo, &tools).expect(0);
    let line = "watchdog: 1 commit since the baseline; 0 files not committed";
    assert!(claude.api.messages()[1].mentions(line), "{out}");
    assert!(!repo.has(".claude/worktrees/side"), "it is removed\n{out}");
    let listed = repo.watchdog(&["rescue", "list"]).expect(0);
    listed.assert_printed(&["before the worktree was removed"]);
    assert!(listed.stderr.contains("bring its work back"), "{listed}");
    claude.env.assert_nothing_left();
}

fn wants_a_file() -> Value {
    json!({"checks": [{"type": "files", "paths": ["done.txt"]}]})
}

/// One session in print mode.
#[track_caller]
fn session(claude: &Claude, repo: &Repo<'_>, more: &[&str]) -> CommandOutput {
    let args = [
        &["-p", "--output-format", "json", "--allowedTools", "Bash"],
        more,
        &["--", "MAIN TASK"],
    ]
    .concat();
    claude.command(repo, &args).run()
}

/// What hooks were answered, as `answer status`.
pub fn answers(repo: &Repo<'_>) -> Vec<String> {
    let out = repo
        .watchdog(&["events", "--kind", "hook", "--json"])
        .expect(0);
    let data = out
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["data"].clone());
    data.map(|data| {
        format!(
            "{} {}",
            data["answer"].as_str().unwrap_or("?"),
            data["status"].as_str().unwrap_or("?")
        )
    })
    .collect()
}

#[test]
fn agent_hears_criteria_and_is_held_until_met() {
    let claude = Claude::answering([
        Rule::text("All done.").when_last_user("MAIN TASK"),
        Rule::bash("echo x > done.txt").when_last_user("missing files: done.txt"),
        Rule::text("Now it is done.").always(),
    ]);
    let repo = watched(&claude, &wants_a_file());
    let began = repo.head();
    let out = session(&claude, &repo, &[]).expect(0);
    assert_eq!(out.json()["result"], "Now it is done.", "{out}");
    assert!(repo.has("done.txt"));
    let asked = claude.api.messages();
    assert!(
        asked[0].mentions("Done means all of these") && asked[0].mentions("done.txt"),
        "the agent was not told what done means"
    );
    assert!(
        asked[1].mentions("Stop hook feedback"),
        "{:?}",
        asked[1].last_user()
    );
    assert_eq!(answers(&repo), ["held incomplete", "let_go complete"]);
    let events = repo.watchdog(&["events", "--json"]).expect(0).stdout;
    for kind in ["baseline", "session_started", "session_ended"] {
        assert!(
            events.contains(&format!("\"kind\":\"{kind}\"")),
            "no {kind} in\n{events}"
        );
    }
    assert!(events.contains(&began), "{events}");
    claude.env.assert_nothing_left();
}

#[test]
fn watchdog_releases_a_stuck_agent_before_the_host() {
    let claude = Claude::answering([Rule::text("I say that I am done.").always()]);
    let repo = watched(&claude, &wants_a_file());
    let out = session(&claude, &repo, &[]).expect(0);
    assert_eq!(
        out.json()["result"],
        "I say that I am done.",
        "the host gives up with an empty result\n{out}"
    );
    assert_eq!(
        claude.api.messages().len(),
        8,
        "one turn, and seven that it was held for"
    );
    let answers = answers(&repo);
    assert_eq!(
        (answers.len(), answers[6].as_str(), answers[7].as_str()),
        (8, "held incomplete", "let_go stopped")
    );
}

#[test]
fn background_work_is_awaited_before_judging() {
    let start = json!({"command": "while [ ! -e ../go ]; do sleep 0.05; done; echo x > done.txt", "description": "build", "run_in_background": true});
    let claude = Claude::answering([
        Rule::tool("Bash", start).when_last_user("MAIN TASK"),
        Rule::text("It builds in the background; I wait.").when_last_user("running in background"),
        Rule::text("The build is done.").always(),
    ]);
    let repo = watched(&claude, &wants_a_file());
    let running = claude
        .command(
            &repo,
            &fill_line(
                "-p --output-format json --allowedTools Bash -- {}",
                &["MAIN TASK"],
            ),
        )
        .spawn();
    crate::support::wait_until(
        "the first stop was let go",
        std::time::Duration::from_secs(60),
        || answers(&repo).len() == 1,
    );
    claude.env.write("go", "");
    let out = running.wait().expect(0);
    assert_eq!(
        answers(&repo),
        ["let_go waiting", "let_go complete"],
        "{out}"
    );
    claude.env.assert_nothing_left();
}

#[test]
fn structured_output_is_refused_then_accepted() {
    let give = || Rule::tool("StructuredOutput", json!({"status": "done"}));
    let claude = Claude::answering([
        give().when_last_user("MAIN TASK"),
        Rule::bash("echo x > done.txt").when_last_user("missing files: done.txt"),
        give().always(),
    ]);
    let repo = watched(&claude, &wants_a_file());
    let schema = r#"{"type": "object", "properties": {"status": {"type": "string"}}, "required": ["status"]}"#;
    let out = session(&claude, &repo, &["--json-schema", schema]).expect(0);
    out.assert_values(json!({"structured_output": {"status": "done"}}));
    assert!(
        repo.has("done.txt"),
        "it was refused before the work was done\n{out}"
    );
    assert_eq!(claude.api.messages().len(), 3, "{out}");
    assert_eq!(answers(&repo), ["held incomplete", "let_go complete"]);
}

#[test]
fn wrong_structured_output_passes_before_the_host_aborts() {
    let claude =
        Claude::answering([Rule::tool("StructuredOutput", json!({"status": "done"})).always()]);
    let repo = watched(&claude, &wants_a_file());
    let schema = r#"{"type": "object", "properties": {"status": {"type": "string"}}, "required": ["status"]}"#;
    let out = session(&claude, &repo, &["--json-schema", schema]).expect(0);
    out.assert_values(json!({"structured_output": {"status": "done"}}));
    assert_eq!(
        answers(&repo)[..5],
        [
            "held incomplete",
            "held incomplete",
            "held incomplete",
            "held incomplete",
            "let_go stopped"
        ]
    );
}

#[test]
fn a_watchdog_that_crashes_holds_nobody() {
    for crash in [
        "kill -9 $$",
        "kill -SEGV $$",
        "exit 70",
        "echo '{\"decision\"'",
        "exec sleep 600",
    ] {
        let claude = Claude::answering([Rule::text("All done.").always()]);
        let repo = claude.env.repo();
        let hooks = json!([{"hooks": [{"type": "command", "command": crash, "timeout": 2}]}]);
        repo.write(
            ".claude/settings.json",
            json!({"hooks": {"Stop": hooks, "SessionStart": hooks, "SessionEnd": hooks}})
                .to_string(),
        );
        let out = session(&claude, &repo, &[]).expect(0);
        assert_eq!(
            (&out.json()["result"], claude.api.messages().len()),
            (&json!("All done."), 1),
            "{crash}\n{out}"
        );
    }
    // And one that cannot work at all, but lives to say so.
    let mut claude = Claude::answering([Rule::text("All done.").always()]);
    watched(&claude, &wants_a_file());
    let nowhere = claude.env.write("no-folder", "a file");
    claude.env.set("WATCHDOG_STATE_DIR", nowhere);
    let repo = Repo::new(&claude.env, claude.env.root().join("repo"));
    let out = session(&claude, &repo, &[]).expect(0);
    out.assert_values(json!({"result": "All done."}));
    assert_eq!(claude.api.messages().len(), 1, "{out}");
}
