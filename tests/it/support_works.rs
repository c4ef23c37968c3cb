//! The scripted API, the real CLI and the fake agent do what the other tests take for granted.

use std::time::Duration;

use serde_json::json;

use crate::support::{Claude, Rule, Step, TestEnv, wait_until};

#[test]
fn real_cli_repeats_the_scripted_api_answer() {
    let claude = Claude::answering([Rule::text("scripted words").when_last_user("SAY SOMETHING")]);
    let repo = claude.env.repo();
    let out = claude
        .command(&repo, &["-p", "SAY SOMETHING"])
        .run()
        .expect(0);
    assert_eq!(out.stdout, "scripted words\n", "{out}");
    let asked = claude.api.messages();
    assert_eq!(asked.len(), 1, "{asked:#?}");
    assert_eq!(asked[0].rule, Some(0));
    assert_eq!(claude.api.requests().len(), 1, "nothing else is asked for");
    assert_eq!(claude.transcripts().len(), 1);
}

#[test]
fn real_cli_runs_scripted_tool_calls() {
    let claude = Claude::answering([
        Rule::bash("echo x > f.txt && git add f.txt && git commit -qm 'work: f'")
            .when_last_user("MAIN TASK"),
        Rule::text("All done."),
    ]);
    let repo = claude.env.repo();
    let baseline = repo.head();
    let out = claude
        .command(&repo, &["-p", "--allowedTools", "Bash", "--", "MAIN TASK"])
        .run()
        .expect(0);
    assert_eq!(out.stdout, "All done.\n");
    assert_eq!(repo.subjects_since(&baseline), ["work: f"]);
}

#[test]
fn real_cli_reports_scripted_errors_and_disconnects() {
    let claude = Claude::answering([
        Rule::error(429, "slow down")
            .header("x-should-retry", "false")
            .when_last_user("LIMIT")
            .always(),
        Rule::close().when_last_user("DROP").always(),
        Rule::raw(200, "garbage").when_last_user("GARBAGE").always(),
    ]);
    let repo = claude.env.repo();
    let ask = |prompt: &str| {
        let command = claude
            .command(&repo, &["-p", "--output-format", "json", prompt])
            .env("CLAUDE_CODE_MAX_RETRIES", "0");
        command.run().expect(1).json()
    };
    assert_eq!(ask("LIMIT")["api_error_status"], 429);
    for prompt in ["DROP", "GARBAGE"] {
        let result = ask(prompt);
        assert_eq!(
            (&result["is_error"], &result["api_error_status"]),
            (&json!(true), &json!(null)),
            "{result}"
        );
    }
}

#[test]
fn leftover_test_process_is_seen_and_ended() {
    let env = TestEnv::new();
    let repo = env.repo();
    let ready = repo.path().join("ready");
    let argv = env.fake_agent(
        "leaver",
        &[Step::daemon(&[
            Step::ignore("TERM"),
            Step::write("ready", ""),
            Step::hang(),
        ])],
    );
    env.command(&argv[0], repo.path())
        .args(&argv[1..])
        .run()
        .expect(0);
    wait_until("the daemon is up", Duration::from_secs(60), || {
        ready.exists()
    });
    let left = env.processes_left();
    assert_eq!(left.len(), 1, "{left:#?}");
    assert!(
        left[0].command.contains("fake-agent") && left[0].lives(),
        "{left:#?}"
    );
    drop(env);
    assert!(!left[0].lives());
}

#[test]
fn fake_agent_answers_each_probe_by_number() {
    let env = TestEnv::new();
    let repo = env.repo();
    let prompts = repo.path().join("prompts");
    let first = [
        Step::keep_prompt(&prompts),
        Step::print_json(&json!({"status": "working"})),
    ];
    let argv = env.fake_agent(
        "prober",
        &[Step::probe(&[
            &first,
            &[Step::print("later"), Step::exit(3)],
        ])],
    );
    let ask = |number: &str| {
        env.command(&argv[0], repo.path())
            .args(&argv[1..])
            .env("WATCHDOG_PROBE", number)
            .stdin("how far?")
            .run()
    };
    assert_eq!(ask("1").expect(0).json()["status"], "working");
    assert_eq!(ask("2").expect(3).stdout, "later");
    assert_eq!(ask("9").expect(3).stdout, "later");
    assert_eq!(
        std::fs::read_to_string(prompts).unwrap(),
        "how far?\n-- end\n"
    );
}
