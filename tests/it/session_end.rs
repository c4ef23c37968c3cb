//! How `watchdog run` waits for a session's end, and what it does with each way in which one ends.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::support::{
    CommandOutput, Repo, Step, TestEnv, at_once, fill_line, is_stopped, wait_for, wait_until,
};

/// `watchdog run --json` around a scripted session, asking a scripted agent that says this status.
#[track_caller]
fn run(
    env: &TestEnv,
    repo: &Repo<'_>,
    options: &[&str],
    session: &[Step],
    status: &str,
) -> CommandOutput {
    let config = env.config_asking(
        &[Step::print_json(
            &json!({"status": status, "message": "scripted"}),
        )],
        json!({}),
    );
    let agent = env.fake_agent("session", session);
    let args = [
        &["run", "--json", "--config", config.to_str().expect("UTF-8")],
        options,
        &["--", &agent[0], &agent[1]],
    ]
    .concat();
    repo.watchdog(&args)
}

#[test]
fn session_failing_after_its_commit_is_complete() {
    let env = TestEnv::new();
    let repo = env.repo();
    let session = [
        Step::write("a.txt", "a"),
        Step::commit("a"),
        Step::complain("crashed\n"),
        Step::exit(7),
    ];
    let out = run(&env, &repo, &[], &session, "working").expect(0);
    assert_eq!(out.verdict(), "complete/new_commits");
}

#[test]
fn leftovers_beside_commits_are_rescued_but_incomplete() {
    let env = TestEnv::new();
    let repo = env.repo();
    let session = [
        Step::write("a.txt", "a"),
        Step::commit("a"),
        Step::write("b.txt", "b"),
    ];
    let out = run(&env, &repo, &[], &session, "working").expect(10);
    out.assert_verdict("incomplete/unfinished", json!({"rescued": true}));
    assert_eq!(repo.snapshots().len(), 1, "{out}");
    assert!(repo.has("b.txt"));
}

#[test]
fn children_that_outlive_the_session_are_waited_for() {
    let env = TestEnv::new();
    let repo = env.repo();
    let go = env.root().join("go");
    let late = [
        Step::write("up", ""),
        Step::wait_for(&go),
        Step::write("late.txt", "late"),
        Step::commit("late"),
    ];
    let config = env.config_asking(&[Step::print("{\"status\": \"working\"}")], json!({}));
    let agent = env.fake_agent(
        "session",
        &[Step::daemon(&late), Step::wait_for(&repo.path().join("up"))],
    );
    let args = fill_line(
        "run --json --config {} --child-wait 50s -- {} {}",
        &[config.to_str().expect("UTF-8"), &agent[0], &agent[1]],
    );
    let mut running = repo.watchdog_spawn(&args);
    wait_until(
        "the session itself has ended",
        Duration::from_secs(60),
        || {
            repo.has("up")
                && !env
                    .processes_left()
                    .iter()
                    .any(|process| process.command == agent.join(" "))
        },
    );
    assert!(
        !running.ended(),
        "the child still runs, and so must watchdog"
    );
    env.write("go", "");
    let out = running.wait().expect(0);
    out.assert_verdict("complete/new_commits", json!({"probes_used": 0}));
}

#[test]
fn endless_children_are_reported_and_left_alone() {
    let env = TestEnv::new();
    let repo = env.repo();
    let session = [
        Step::daemon(&[Step::hang()]),
        Step::write("a.txt", "a"),
        Step::commit("a"),
    ];
    let out = run(&env, &repo, &["--child-wait", "300ms"], &session, "working").expect(0);
    assert_eq!(out.verdict(), "complete/new_commits");
    let left = env.processes_left();
    assert_eq!(left.len(), 1, "{left:#?}\n{out}");
    out.assert_has("survivors", &left[0].pid.to_string());
}

#[test]
fn ended_child_is_not_reported_as_running() {
    for json in [true, false] {
        let env = TestEnv::new();
        let repo = env.repo();
        let go = env.root().join("go");
        let config = env.config_asking(&[Step::print("{\"status\": \"working\"}")], json!({}));
        let daemon = [Step::write("up", ""), Step::wait_for(&go)];
        let agent = env.fake_agent(
            "session",
            &[
                Step::daemon(&daemon),
                Step::wait_for(&repo.path().join("up")),
            ],
        );
        let options = fill_line(
            "--config {} --child-wait 0s --probe-interval 1h -- {} {}",
            &[config.to_str().expect("UTF-8"), &agent[0], &agent[1]],
        );
        let running = repo.watchdog_spawn(
            &[&["run"][..], if json { &["--json"] } else { &[] }, &options].concat(),
        );
        wait_until(
            "the session's end is recorded",
            Duration::from_secs(60),
            || {
                repo.watchdog(&["events", "--json", "--kind", "session_ended"])
                    .stdout
                    .contains("session_ended")
            },
        );
        env.write("go", "");
        wait_until("the child has ended", Duration::from_secs(60), || {
            !env.processes_left()
                .iter()
                .any(|process| process.command.starts_with(&agent[0]))
        });
        repo.commit_all("feat: by hand");
        let out = running.wait().expect(0);
        if json {
            assert_eq!(
                out.json()["survivors"].as_array().map(Vec::len),
                Some(1),
                "it outlived the session all the same: {out}"
            );
            assert_eq!(out.json()["degraded"], json!([]), "{out}");
        } else {
            assert!(
                !out.stdout.contains("still run") && !out.stderr.contains("still running:"),
                "{out}"
            );
        }
    }
}

#[test]
fn session_timeout_ends_every_started_process() {
    let stubborn = [Step::ignore("TERM"), Step::hang()];
    let tree = [
        Step::daemon(&stubborn),
        Step::child(&[Step::daemon(&stubborn), Step::hang()]),
        Step::ignore("TERM"),
    ];
    let cases = [
        (vec![], "timeout/session_timeout", 13),
        (
            vec![Step::write("half.txt", "half")],
            "incomplete/unfinished",
            10,
        ),
        (
            vec![Step::write("a.txt", "a"), Step::commit("a")],
            "complete/new_commits",
            0,
        ),
    ];
    at_once(cases, |(work, verdict, code)| {
        let env = TestEnv::new();
        let repo = env.repo();
        let session = [&tree[..], &work, &[Step::hang()]].concat();
        let out = run(
            &env,
            &repo,
            &["--timeout", "6s", "--grace", "500ms"],
            &session,
            "working",
        )
        .expect(code);
        out.assert_verdict(verdict, json!({"probes_used": 0}));
        if verdict == "incomplete/unfinished" {
            out.assert_values(json!({"rescued": true}));
            assert_eq!(
                repo.file_in("HEAD", "half.txt").as_deref(),
                Some("half"),
                "{out}"
            );
        }
        env.assert_nothing_left();
    });
}

#[test]
fn timeout_of_a_paused_session_is_no_strike() {
    let cases = [
        ("exec sleep 1000", true),
        ("kill -STOP $$; exec sleep 1000", false),
        // A blink is no excuse.
        (
            "(sleep 0.1; kill -CONT $$) & kill -STOP $$; exec sleep 1000",
            true,
        ),
    ];
    at_once(cases, |(session, strike)| {
        let env = TestEnv::new();
        let repo = env.repo();
        let args = fill_line(
            "run --json --timeout 4s --grace 500ms -- sh -c {}",
            &[session],
        );
        let out = repo.watchdog(&args).expect(13);
        out.assert_verdict("timeout/session_timeout", json!({"strike": strike}));
        assert_eq!(
            out.json()["degraded"]
                .to_string()
                .contains("session_paused"),
            !strike,
            "{out}"
        );
    });
}

#[test]
fn session_that_stops_itself_is_ended() {
    let env = TestEnv::new();
    let repo = env.repo();
    let limits = ["--idle-timeout", "1s", "--grace", "500ms"];
    let args = [
        &["run", "--json"],
        &limits[..],
        &["--", "sh", "-c", "kill -STOP $$"],
    ];
    let out = repo.watchdog(&args.concat()).expect(13);
    assert_eq!(out.verdict(), "timeout/session_idle", "{out}");
}

#[test]
fn pause_of_a_session_is_no_silence() {
    let env = TestEnv::new();
    let repo = env.repo();
    let session = "echo $$ > pid; mv pid begun; kill -STOP $$; rm begun; echo a > a.txt; git add a.txt; git commit -qm a";
    let mut running = repo.spawn_line("run --json --idle-timeout 5s -- sh -c {}", &[session]);
    let read_pid = || {
        std::fs::read_to_string(repo.path().join("begun"))
            .ok()?
            .trim()
            .parse::<u32>()
            .ok()
    };
    let pid = wait_for(Duration::from_secs(60), read_pid).expect("the session has begun");
    wait_until("it is stopped", Duration::from_secs(60), || is_stopped(pid));
    let stopped = Instant::now();
    wait_until(
        "it stood for longer than it may be silent",
        Duration::from_secs(60),
        || running.ended() || stopped.elapsed() > Duration::from_secs(7),
    );
    // watchdog continues a session that it ends: this one may be gone.
    let _ = kill_process(
        Pid::from_raw(pid.cast_signed()).expect("a pid"),
        Signal::CONT,
    );
    let out = running.wait().expect(0);
    out.assert_verdict(
        "complete/new_commits",
        json!({"/session/ended/by": "itself"}),
    );
}

#[test]
fn words_about_limits_are_no_limit() {
    let env = TestEnv::new();
    let repo = env.repo();
    let talk = "I added the rate limit middleware: after 5 requests the API says \"usage limit reached\" and resets at 5pm.\n";
    let out = run(
        &env,
        &repo,
        &[],
        &[Step::print(talk), Step::write("a.txt", "a")],
        "complete",
    )
    .expect(0);
    assert_eq!(out.verdict(), "complete/rescued");
}

#[test]
fn foreign_process_is_awaited_by_its_pid() {
    let env = TestEnv::new();
    let repo = env.repo();
    let go = env.root().join("go");
    let agent = env.fake_agent(
        "session",
        &[
            Step::wait_for(&go),
            Step::write("a.txt", "a"),
            Step::commit("a"),
        ],
    );
    let baseline = repo.head();
    // A parent that reaps it, as a shell would: a zombie has ended, but a test must not depend on that.
    let session = env
        .command("sh", repo.path())
        .args(["-c", "\"$0\" \"$1\"; true", &agent[0], &agent[1]])
        .spawn();
    let pid = session.pid().to_string();
    let mut running = repo.spawn_line(
        "check --json --no-probe --baseline {} --pid {}",
        &[&baseline, &pid],
    );
    wait_until("watchdog has begun", Duration::from_secs(60), || {
        env.processes_left()
            .iter()
            .any(|process| process.command.contains("--pid"))
    });
    assert!(!running.ended());
    env.write("go", "");
    session.wait().expect(0);
    assert_eq!(running.wait().expect(0).verdict(), "complete/new_commits");
}

#[test]
fn two_watchdogs_never_judge_one_worktree_together() {
    let env = TestEnv::new();
    let repo = env.repo();
    let (up, go) = (env.root().join("up"), env.root().join("go"));
    let agent = env.fake_agent(
        "session",
        &[
            Step::write(&up.to_string_lossy(), ""),
            Step::wait_for(&go),
            Step::write("a.txt", "a"),
            Step::commit("a"),
        ],
    );
    let first = repo.watchdog_spawn(&["run", "--json", "--no-probe", "--", &agent[0], &agent[1]]);
    wait_until("the session runs", Duration::from_secs(60), || up.exists());
    let second = repo.watchdog(&["check", "--json", "--no-probe"]).expect(11);
    assert!(
        ["waiting/locked", "waiting/session_active"].contains(&second.verdict().as_str()),
        "{second}"
    );
    env.write("go", "");
    assert_eq!(first.wait().expect(0).verdict(), "complete/new_commits");
    assert_eq!(
        repo.watchdog(&["check", "--json", "--no-probe"])
            .expect(0)
            .verdict(),
        "complete/new_commits"
    );
}

#[test]
fn invalid_login_or_spent_credit_prevents_questions() {
    let result = |words: &str, status: u32| {
        Step::print_json(
            &json!({"type": "result", "subtype": "success", "is_error": true, "terminal_reason": "api_error",
            "api_error_status": status, "result": words, "permission_denials": []}),
        )
    };
    let login = "Invalid API key · Fix external API key";
    for (session, named) in [
        (
            result("Credit balance is too low", 400),
            "its credit is spent: Credit balance is too low",
        ),
        (
            result(login, 401),
            "its login is not valid: Invalid API key",
        ),
        (
            Step::print("Not logged in · Please run /login\n"),
            "its login is not valid: Not logged in",
        ),
        (
            Step::print(
                "There's an issue with the selected model (nope). It may not exist or you may not have access to it.\n",
            ),
            "its model cannot be used: There's an issue with the selected model (nope). It may not exist",
        ),
        (
            result("API Error: 400 bad thing", 400),
            "its service refuses the request: API Error: 400 bad thing",
        ),
    ] {
        let env = TestEnv::new();
        let repo = env.repo();
        let out = run(
            &env,
            &repo,
            &[],
            &[Step::write("a.txt", "a"), session.clone(), Step::exit(1)],
            "working",
        )
        .expect(15);
        out.assert_verdict("failed/agent_unrunnable", json!({"probes_used": 0}));
        out.assert_has("message", named);
        assert!(repo.has("a.txt"), "{out}");
        let out = run(
            &env,
            &repo,
            &[],
            &[
                Step::write("b.txt", "b"),
                Step::commit("b"),
                session,
                Step::exit(1),
            ],
            "working",
        );
        assert_eq!(out.json()["status"], "complete", "commits decide: {out}");
    }
}

#[test]
fn failed_session_has_its_last_line_in_the_message() {
    let env = TestEnv::new();
    let repo = env.repo();
    let session = [
        Step::print(
            "fatal: \u{1b}[31mno disk\u{1b}[0m for ghp_0123456789abcdefghijABCDEFGHIJ012345\n    at x.js\n",
        ),
        Step::exit(3),
    ];
    let out = run(&env, &repo, &["--no-probe"], &session, "working").expect(10);
    let message = out.json()["message"].to_string();
    let line = "the session ended with exit code 3: fatal: no disk for [secret";
    assert!(message.contains(line) && !message.contains("ghp_"), "{out}");
    let session = [Step::print(
        "API Error: Stream idle timeout - partial response received\n",
    )];
    let out = run(&env, &repo, &["--no-probe"], &session, "working").expect(10);
    out.assert_has("message", "cut short: the service had no room");
    out.assert_has("message", "API Error: Stream idle timeout - partial");
}

#[test]
fn overloaded_service_costs_the_session_no_strike() {
    let env = TestEnv::new();
    let repo = env.repo();
    let overloaded = [
        Step::print("API Error: Repeated 529 Overloaded errors. The API is at capacity\n"),
        Step::exit(1),
    ];
    let out = run(&env, &repo, &["--no-probe"], &overloaded, "working").expect(10);
    out.assert_verdict("incomplete/unfinished", json!({"strike": false}));
    out.assert_has("degraded", "overloaded");
    let out = run(&env, &repo, &["--no-probe"], &[Step::exit(1)], "working").expect(10);
    assert_eq!(
        out.json()["strike"],
        true,
        "a session that came to nothing for no such reason: {out}"
    );
}

/// Sessions that their service or a limit of their own ended, as their programs tell it.
fn cut_off() -> [(Step, &'static str, &'static str); 4] {
    let result = |value: serde_json::Value| Step::print_json(&value);
    let codex = |error: &str| {
        let failed = json!({"type": "turn.failed", "error": {"message": error}});
        Step::print(&format!(
            "{}\n{}\n{failed}\n",
            json!({"type": "thread.started"}),
            json!({"type": "turn.started"})
        ))
    };
    [
        (
            result(
                json!({"type": "result", "subtype": "success", "is_error": true, "result": "API Error: Repeated 529 Overloaded errors.",
                "api_error_status": 529, "terminal_reason": "api_error"}),
            ),
            "overloaded",
            "Repeated 529 Overloaded",
        ),
        (
            codex("unexpected status 503 Service Unavailable: busy, url: http://127.0.0.1"),
            "overloaded",
            "503 Service Unavailable",
        ),
        (
            codex("We’re currently experiencing high demand, which may cause temporary errors."),
            "overloaded",
            "high demand",
        ),
        (
            result(
                json!({"type": "result", "subtype": "error_max_budget_usd", "is_error": true, "errors": ["Reached maximum budget ($1)"],
                "terminal_reason": "budget_exhausted"}),
            ),
            "session_cut_short",
            "Reached maximum budget",
        ),
    ]
}

#[test]
fn service_or_limit_end_prevents_questions() {
    at_once(cut_off(), |(last_words, note, named)| {
        let env = TestEnv::new();
        let repo = env.repo();
        let out = run(
            &env,
            &repo,
            &[],
            &[last_words.clone(), Step::exit(1)],
            "complete",
        )
        .expect(10);
        out.assert_verdict(
            "incomplete/unfinished",
            json!({"probes_used": 0, "strike": false}),
        );
        assert!(out.json()["degraded"].to_string().contains(note), "{out}");
        out.assert_has("message", named);
        let half = [
            Step::write("half.txt", "half"),
            last_words.clone(),
            Step::exit(1),
        ];
        let out = run(&env, &repo, &[], &half, "complete").expect(10);
        out.assert_verdict(
            "incomplete/unfinished",
            json!({"probes_used": 0, "rescued": true}),
        );
        let commits = [
            Step::write("a.txt", "a"),
            Step::commit("a"),
            last_words,
            Step::exit(1),
        ];
        assert_eq!(
            run(&env, &repo, &[], &commits, "working")
                .expect(0)
                .verdict(),
            "complete/new_commits"
        );
    });
    let env = TestEnv::new();
    let repo = env.repo();
    let out = run(&env, &repo, &[], &[Step::exit(1)], "complete").expect(0);
    assert_eq!(
        (out.verdict().as_str(), &out.json()["probes_used"]),
        ("complete/nothing_to_do", &json!(1)),
        "as ever: {out}"
    );
}

#[test]
fn refused_tools_are_told_with_the_allowing_option() {
    let env = TestEnv::new();
    let repo = env.repo();
    let denied = |tool: &str| json!({"tool_name": tool, "tool_use_id": "toolu_1", "tool_input": {"command": "git commit"}});
    let result = json!({"type": "result", "subtype": "success", "is_error": false, "terminal_reason": "completed", "result": "I could not.",
        "permission_denials": [denied("Bash"), denied("Write"), denied("Bash")]});
    let out = run(
        &env,
        &repo,
        &[],
        &[Step::write("a.txt", "a"), Step::print_json(&result)],
        "complete",
    )
    .expect(0);
    let message = out.json()["message"]
        .as_str()
        .expect("a message")
        .to_owned();
    assert!(
        message.contains("the agent was refused tools; allow them with --allowedTools Bash Write"),
        "{out}"
    );
    out.assert_has("degraded", "tools_refused");
    let tool = |tool: &str| json!({"tool": tool, "cause": "permission", "allow_with": "--allowedTools Bash Write"});
    out.assert_values(json!({"refused_tools": [tool("Bash"), tool("Write")]}));
}

/// Sessions that were refused tools and say nevertheless that all is done, as their programs print them; with the option that allows them.
fn refused_sessions() -> [(String, &'static str); 5] {
    let lines = |events: &[serde_json::Value]| {
        events
            .iter()
            .map(|event| format!("{event}\n"))
            .collect::<String>()
    };
    let id = "0a0a0a0a-0000-4000-8000-000000000001";
    let git = "fatal: Unable to create '/r/.git/index.lock': Read-only file system\n";
    [
        (
            lines(&[
                json!({"type": "thread.started", "thread_id": id}),
                json!({"type": "item.completed", "item": {"id": "1", "type": "command_execution", "command": "git commit", "aggregated_output": git, "exit_code": 128}}),
                json!({"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 1}}),
            ]),
            "-c 'sandbox_workspace_write.writable_roots=[\".git\"]'",
        ),
        (
            lines(&[
                json!({"type": "init", "session_id": id}),
                json!({"type": "tool_use", "tool_name": "run_shell_command", "tool_id": "c", "parameters": {}}),
                json!({"type": "tool_result", "tool_id": "c", "status": "error", "error": {"type": "tool_not_registered", "message": "no"}}),
                json!({"type": "result", "status": "success", "stats": {}}),
            ]),
            "--approval-mode yolo",
        ),
        (
            lines(&[
                json!({"type": "step_start", "sessionID": "ses_dfde5e0f2ffeKDNAhfAScDx7E4", "part": {}}),
                json!({"type": "tool_use", "sessionID": "ses_dfde5e0f2ffeKDNAhfAScDx7E4", "part": {"tool": "bash", "callID": "c", "state":
                    {"status": "error", "error": "The user rejected permission to use this specific tool call."}}}),
                json!({"type": "step_finish", "sessionID": "ses_dfde5e0f2ffeKDNAhfAScDx7E4", "part": {"reason": "tool-calls"}}),
            ]),
            "OPENCODE_PERMISSION=",
        ),
        (
            lines(&[
                json!({"type": "system", "subtype": "init", "session_id": id, "qwen_code_version": "0.24.4"}),
                json!({"type": "result", "subtype": "success", "is_error": false, "result": "All done: committed f.txt",
                       "permission_denials": [{"tool_name": "run_shell_command"}]}),
            ]),
            "--approval-mode yolo",
        ),
        (
            lines(&[
                json!({"type": "session.tools_updated", "data": {}, "id": "a", "timestamp": "t"}),
                json!({"type": "tool.execution_start", "data": {"toolCallId": "c", "toolName": "bash", "arguments": {}}, "id": "b", "timestamp": "t"}),
                json!({"type": "tool.execution_complete", "data": {"toolCallId": "c", "success": false, "error": {"message": "no", "code": "denied"}}, "id": "c", "timestamp": "t"}),
                json!({"type": "result", "sessionId": id, "exitCode": 0, "timestamp": "t"}),
            ]),
            "--allow-all-tools",
        ),
    ]
}

#[test]
fn session_without_usable_tools_ends_the_loop() {
    for (at, (output, option)) in refused_sessions().into_iter().enumerate() {
        let env = TestEnv::new();
        let repo = env.repo();
        let out = run(&env, &repo, &[], &[Step::print(&output)], "complete").expect(12);
        out.assert_verdict(
            "review/max_iterations",
            json!({"probes_used": 0, "strike": false}),
        );
        for key in ["message", "feedback"] {
            assert!(
                out.json()[key]
                    .as_str()
                    .is_some_and(|text| text.contains(option)),
                "{key}: {out}"
            );
        }
        assert!(
            out.json()["refused_tools"][0]["allow_with"]
                .as_str()
                .is_some_and(|with| with.contains(option)),
            "{out}"
        );
        if at == 1 {
            let agent = env.fake_agent("refused", &[Step::print(&output)]);
            let out = repo
                .watchdog_line(
                    "loop --json --no-probe --max-iterations 5 -- {} {}",
                    &[&agent[0], &agent[1]],
                )
                .expect(12);
            out.assert_verdict("review/max_iterations", json!({"iterations": 1}));
            out.assert_has("message", option);
        }
    }
}

#[test]
fn exit_zero_without_reported_success_is_no_success() {
    let begun = json!({"type": "init", "session_id": "0a0a0a0a-0000-4000-8000-000000000001"});
    let failed = json!({"type": "result", "status": "error", "stats": {}});
    for last_words in [
        Step::print(&format!("{begun}\n")),
        Step::print(&format!("{begun}\n{failed}\n")),
    ] {
        let env = TestEnv::new();
        let repo = env.repo();
        let out = run(
            &env,
            &repo,
            &[],
            std::slice::from_ref(&last_words),
            "complete",
        )
        .expect(10);
        out.assert_verdict(
            "incomplete/unfinished",
            json!({"probes_used": 0, "strike": true}),
        );
        out.assert_has("degraded", "end_unconfirmed");
        let half = [Step::write("half.txt", "half"), last_words.clone()];
        let out = run(&env, &repo, &[], &half, "complete").expect(10);
        out.assert_verdict("incomplete/unfinished", json!({"rescued": true}));
        let commits = [Step::write("a.txt", "a"), Step::commit("a"), last_words];
        assert_eq!(
            run(&env, &repo, &[], &commits, "working")
                .expect(0)
                .verdict(),
            "complete/new_commits"
        );
    }
}
