//! What `watchdog run` reads from a session's output while it runs, and how budgets end it.

use std::time::Duration;

use serde_json::{Value, json};

use crate::real_claude;
use crate::support::{Claude, CommandOutput, Repo, Rule, Step, TestEnv, assert_parts, fill_line};

const ID: &str = "0a0a0a0a-0000-4000-8000-000000000001";

/// The first event of a session.
fn init() -> Value {
    json!({"type": "system", "subtype": "init", "session_id": ID})
}

/// One message of the model, with 10 tokens read and 5 written.
fn turn(name: &str) -> Value {
    json!({"type": "assistant", "session_id": ID, "message": {"id": name, "role": "assistant", "model": "m",
           "content": [{"type": "text", "text": format!("this is {name}")}], "usage": {"input_tokens": 10, "output_tokens": 5}}})
}

/// The last event of a session.
fn result(turns: u64, cost: f64) -> Value {
    json!({"type": "result", "subtype": "success", "is_error": false, "session_id": ID, "num_turns": turns, "result": "I stop here.",
           "total_cost_usd": cost, "usage": {"input_tokens": 10 * turns, "output_tokens": 5 * turns}})
}

fn prints(events: &[Value]) -> Step {
    Step::print(
        &events
            .iter()
            .map(|event| format!("{event}\n"))
            .collect::<String>(),
    )
}

/// `watchdog run --json` around a scripted session within these limits.
#[track_caller]
fn run(env: &TestEnv, repo: &Repo<'_>, limits: Value, session: &[Step]) -> CommandOutput {
    let asked = Step::append(env.root().join("asked").to_str().expect("UTF-8"), "asked\n");
    let config = env.config_asking(
        &[asked, Step::print("{\"status\": \"working\"}")],
        json!({"limits": limits}),
    );
    let agent = env.fake_agent("session", session);
    let config = config.to_str().expect("UTF-8");
    let args = fill_line(
        "run --json --config {} --child-wait 200ms --grace 1s -- {} {}",
        &[config, &agent[0], &agent[1]],
    );
    repo.watchdog_command(&args)
        .timeout(Duration::from_secs(60))
        .run()
}

/// The newest event of a kind.
#[track_caller]
fn event(repo: &Repo<'_>, kind: &str) -> Value {
    let shown = repo
        .watchdog(&["events", "--json", "--kind", kind, "-n", "1"])
        .expect(0);
    serde_json::from_str(shown.stdout.trim()).unwrap_or_else(|error| panic!("{error}: {shown}"))
}

#[test]
fn overspending_session_is_ended_and_rescued() {
    for limits in [json!({"max_turns": 3}), json!({"max_total_tokens": 45})] {
        let env = TestEnv::new();
        let repo = env.repo();
        let session = [
            prints(&[init(), turn("m1"), turn("m1"), turn("m2")]),
            Step::write("half.txt", "half"),
            prints(&[turn("m3")]),
            Step::hang(),
        ];
        let out = run(&env, &repo, limits, &session).expect(14);
        assert_eq!(out.verdict(), "stopped/budget_exhausted");
        assert_eq!(
            (&out.json()["rescue"]["commits"], &out.json()["complete"]),
            (&json!(1), &json!(false)),
            "{out}"
        );
        assert_eq!(
            (
                repo.file_in("HEAD", "half.txt").as_deref(),
                repo.status().as_str()
            ),
            (Some("half"), "")
        );
        assert!(
            !env.root().join("asked").exists(),
            "a spent budget asks nobody: {out}"
        );
        let ended = event(&repo, "session_ended");
        assert_eq!(
            (&ended["data"]["usage"]["turns"], &ended["data"]["end"]),
            (&json!(3), &json!("budget_exhausted")),
            "{ended}"
        );
        assert_eq!(event(&repo, "limit")["data"]["reason"], "budget_exhausted");
        env.assert_nothing_left();
    }
}

#[test]
fn commits_of_an_overspent_session_stay_without_success() {
    let env = TestEnv::new();
    let repo = env.repo();
    let session = [
        Step::write("a.txt", "a"),
        Step::commit("a"),
        Step::write("b.txt", "b"),
        prints(&[init(), turn("m1"), result(1, 0.5)]),
    ];
    let out = run(&env, &repo, json!({"max_cost_usd": 0.5}), &session).expect(14);
    let json = out.json();
    out.assert_verdict(
        "stopped/budget_exhausted",
        json!({"evidence": "none", "made_here": 1}),
    );
    let message = json["message"].as_str().unwrap_or_default();
    assert_parts(
        message,
        &["0.50 USD", "1 commit made since", "made by rescue"],
    );
}

#[test]
fn session_within_its_budget_is_judged_normally() {
    let env = TestEnv::new();
    let repo = env.repo();
    let session = [
        Step::write("a.txt", "a"),
        Step::commit("a"),
        prints(&[init(), turn("m1"), turn("m2"), result(2, 0.25)]),
    ];
    let limits = json!({"max_turns": 3, "max_total_tokens": 31, "max_cost_usd": 0.26, "max_wall_seconds": 100, "deadline": "2096-01-01T00:00:00Z"});
    let out = run(&env, &repo, limits, &session).expect(0);
    out.assert_verdict("complete/new_commits", json!({"degraded": []}));
    let usage = event(&repo, "session_ended")["data"]["usage"].clone();
    assert_eq!(
        (
            &usage["turns"],
            &usage["input_tokens"],
            &usage["output_tokens"]
        ),
        (&json!(2), &json!(20), &json!(10))
    );
    assert_eq!(
        (&usage["cost_usd"], usage["wall_seconds"].is_f64()),
        (&json!(0.25), true),
        "{usage}"
    );
}

#[test]
fn after_the_deadline_no_session_is_started() {
    let env = TestEnv::new();
    let repo = env.repo();
    let out = run(
        &env,
        &repo,
        json!({"deadline": "2020-01-01T00:00:00Z"}),
        &[Step::write("a.txt", "a")],
    )
    .expect(14);
    assert_eq!(out.verdict(), "stopped/deadline_exceeded");
    assert!(!repo.has("a.txt"), "{out}");
}

#[test]
fn spent_time_budget_ends_the_session_without_loss() {
    let env = TestEnv::new();
    let repo = env.repo();
    let session = [Step::write("half.txt", "half"), Step::hang()];
    let out = run(
        &env,
        &repo,
        json!({"max_wall_seconds": 1, "session_timeout_seconds": 50}),
        &session,
    )
    .expect(14);
    assert_eq!(out.verdict(), "stopped/budget_exhausted");
    assert_eq!(repo.file_in("HEAD", "half.txt").as_deref(), Some("half"));
    env.assert_nothing_left();
}

#[test]
fn session_of_unknown_cost_exceeds_no_budget() {
    let env = TestEnv::new();
    let repo = env.repo();
    let session = [
        Step::write("a.txt", "a"),
        Step::commit("a"),
        Step::print("All done.\n"),
    ];
    let out = run(
        &env,
        &repo,
        json!({"max_cost_usd": 0.01, "max_turns": 1}),
        &session,
    )
    .expect(0);
    out.assert_verdict(
        "complete/new_commits",
        json!({"degraded": ["budget_unknown"]}),
    );
    assert_eq!(
        event(&repo, "session_ended")["data"]["usage"]["cost_usd"],
        Value::Null
    );
}

#[test]
fn surviving_background_work_is_awaited_without_a_question() {
    let env = TestEnv::new();
    let repo = env.repo();
    let running = json!({"type": "system", "subtype": "background_tasks_changed", "session_id": ID,
                         "tasks": [{"task_id": "b1", "task_type": "local_bash", "description": "cargo test"}]});
    let session = [
        Step::daemon(&[Step::hang()]),
        prints(&[init(), turn("m1"), running, result(1, 0.1)]),
    ];
    let out = run(&env, &repo, json!({}), &session).expect(11);
    assert_eq!(out.verdict(), "waiting/background_work");
    out.assert_has("message", "cargo test");
    assert!(!env.root().join("asked").exists());
}

#[test]
fn session_output_arrives_unchanged_at_any_size() {
    let env = TestEnv::new();
    let repo = env.repo();
    let big = json!({"type": "user", "session_id": ID, "message": {"role": "user",
                     "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x".repeat(3 << 20)}]}});
    let events = [init(), turn("m1"), big, result(1, 0.1)];
    let config = env.config_asking(&[Step::print("{\"status\": \"complete\"}")], json!({}));
    let agent = env.fake_agent("session", &[prints(&events)]);
    let out = repo
        .watchdog_line(
            "run --config {} -- {} {}",
            &[config.to_str().expect("UTF-8"), &agent[0], &agent[1]],
        )
        .expect(0);
    let printed: String = events.iter().map(|event| format!("{event}\n")).collect();
    assert!(
        out.stdout.starts_with(&printed),
        "{} bytes of {}",
        out.stdout.len(),
        printed.len()
    );
    assert_eq!(
        event(&repo, "session_ended")["data"]["usage"]["turns"],
        json!(1)
    );
}

#[test]
fn resumed_session_is_charged_only_its_new_cost() {
    let env = TestEnv::new();
    let repo = env.repo();
    // As `--output-format json` has it: the usage is that of the run, the cost and `modelUsage` those of the session.
    let whole = |input: u64, cost: f64| {
        let mut told = result(1, cost);
        told["modelUsage"] =
            json!({"m": {"inputTokens": input, "outputTokens": 5, "costUSD": cost}});
        told
    };
    let mut costs = Vec::new();
    for (input, cost) in [(10, 0.25), (20, 0.75)] {
        run(
            &env,
            &repo,
            json!({"max_cost_usd": 0.6}),
            &[
                Step::append("a.txt", "a"),
                Step::commit("a"),
                prints(&[whole(input, cost)]),
            ],
        )
        .expect(0);
        costs.push(event(&repo, "session_ended")["data"]["usage"]["cost_usd"].clone());
    }
    assert_eq!(costs, [json!(0.25), json!(0.5)]);
}

#[test]
fn checks_hear_what_the_session_said_last() {
    let env = TestEnv::new();
    let repo = env.repo();
    for (said, verdict, code) in [
        ("TASK_DONE", "complete/checks_passed", 0),
        ("Not yet.", "incomplete/unfinished", 10),
    ] {
        let config = env.config_asking(
            &[],
            json!({"checks": [{"type": "signal", "text": "TASK_DONE"}]}),
        );
        let mut last = result(1, 0.1);
        last["result"] = json!(said);
        let agent = env.fake_agent("session", &[prints(&[init(), turn("m1"), last])]);
        let out = repo.watchdog_line(
            "run --json --no-probe --config {} -- {} {}",
            &[config.to_str().expect("UTF-8"), &agent[0], &agent[1]],
        );
        assert_eq!(out.expect(code).verdict(), verdict);
    }
}

#[test]
fn checks_read_the_transcript_of_foreign_sessions() {
    let task = |input: Value, tool: &str| Rule::tool(tool, input).when_offered("Bash");
    let claude = Claude::answering([
        task(
            json!({"subject": "write tests", "description": "all of them"}),
            "TaskCreate",
        ),
        task(json!({"taskId": "1", "status": "completed"}), "TaskUpdate"),
        Rule::text("I am through.\nTASK_DONE").when_offered("Bash"),
    ]);
    let repo = claude.env.repo();
    let checks = json!({"checks": [{"type": "signal", "text": "TASK_DONE"}, {"type": "plan"}]});
    let config = real_claude::config(&claude, checks);
    let check = ["check", "--json", "--no-probe", "--config", &config];
    repo.watchdog(&["snapshot"]).expect(0);
    assert_eq!(
        repo.watchdog(&check).expect(10).verdict(),
        "incomplete/unfinished",
        "there is no session yet"
    );
    claude
        .command(
            &repo,
            &fill_line(
                "-p --allowedTools TaskCreate TaskUpdate -- {}",
                &["MAIN TASK"],
            ),
        )
        .run()
        .expect(0);
    let out = repo.watchdog(&check).expect(0);
    out.assert_verdict("complete/checks_passed", json!({"evidence": "claimed"}));
    // A baseline that is newer than the session begins another one.
    repo.watchdog(&["snapshot"]).expect(0);
    assert_eq!(
        repo.watchdog(&check).expect(10).verdict(),
        "incomplete/unfinished"
    );
}

#[test]
fn real_session_reports_only_its_own_usage() {
    let claude = Claude::answering(real_claude::session_that_runs(
        "echo x > f.txt && git add f.txt && git commit -qm 'work: f'",
    ));
    let repo = claude.env.repo();
    let config = real_claude::config(&claude, json!({}));
    let out = repo
        .watchdog(&real_claude::run(
            &["--config", &config],
            real_claude::STREAMING,
        ))
        .expect(0);
    let first = event(&repo, "session_ended")["data"].clone();
    let usage = &first["usage"];
    assert_eq!(
        (&usage["turns"], &first["ended"]),
        (&json!(2), &json!("completed")),
        "{out}"
    );
    assert!(
        usage["input_tokens"].as_u64() > Some(0) && usage["cost_usd"].as_f64() > Some(0.0),
        "{usage}"
    );

    let again = fill_line(
        "-- claude --continue -p --output-format stream-json --verbose -- more",
        &[],
    );
    repo.watchdog(&real_claude::run(
        &["--config", &config, "--no-probe"],
        &again,
    ))
    .expect(10);
    let second = event(&repo, "session_ended")["data"].clone();
    assert_eq!(second["session_id"], first["session_id"]);
    let (whole, own) = (
        second["usage"]["session_cost_usd"].as_f64(),
        second["usage"]["cost_usd"].as_f64(),
    );
    assert!(
        own > Some(0.0) && own < whole,
        "its own cost is not the session's: {second}"
    );
    claude.env.assert_nothing_left();
}
