//! `watchdog hook …` as a host calls it: JSON in, JSON out, exit 0 whatever happens, and the agent held by unmet checks alone.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Repo, TestEnv, assert_parts, wait_until};

/// Every event.
const EVENTS: [&str; 8] = [
    "stop",
    "subagent-stop",
    "pre-tool-use",
    "post-tool-use",
    "session-start",
    "session-end",
    "prompt-submit",
    "worktree-remove",
];

/// Asks for the answer to an event.
#[track_caller]
fn hook(repo: &Repo<'_>, args: &[&str], input: &Value) -> Value {
    answer(repo, args, &input.to_string())
}

#[track_caller]
fn answer(repo: &Repo<'_>, args: &[&str], input: &str) -> Value {
    let out = repo
        .watchdog_command(&[&["hook"], args].concat())
        .stdin(input)
        .run()
        .expect(0);
    let json = out.json();
    assert!(json.is_object(), "{out}");
    json
}

/// A repository whose criteria are committed and trusted, in which a session began.
fn watched<'env>(env: &'env TestEnv, configuration: &Value) -> Repo<'env> {
    let repo = env.repo();
    repo.write("completion.json", configuration.to_string());
    repo.commit_all("chore: criteria");
    repo.watchdog(&["trust"]).expect(0);
    hook(
        &repo,
        &["session-start"],
        &json!({"session_id": "s", "source": "startup", "cwd": repo.path()}),
    );
    repo
}

fn wants_a_file() -> Value {
    json!({"checks": [{"type": "files", "paths": ["done.txt"]}]})
}

fn stop(prompt: &str) -> Value {
    json!({"session_id": "s", "prompt_id": prompt, "hook_event_name": "Stop", "stop_hook_active": false, "last_assistant_message": "done",
           "background_tasks": []})
}

fn told(answer: &Value) -> &str {
    answer["systemMessage"].as_str().unwrap_or_default()
}

fn words(repo: &Repo<'_>) -> Vec<Value> {
    let out = repo
        .watchdog(&["events", "--kind", "hook", "--json"])
        .expect(0);
    out.stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["data"].clone())
        .collect()
}

#[test]
fn lost_stash_entry_is_told_at_a_stop() {
    let env = TestEnv::new();
    let repo = watched(&env, &wants_a_file());
    repo.write("mine.txt", "mine");
    repo.git(&["stash", "push", "-q", "-u"]);
    let entry = repo.git(&["rev-parse", "refs/stash"]);
    repo.watchdog(&["snapshot", "--from-session"]).expect(0);
    repo.git(&["stash", "clear"]);
    repo.write("done.txt", "x");
    let answer = hook(&repo, &["stop"], &stop("p"));
    let restores = told(&answer).contains("stash store -m") && told(&answer).contains(&entry);
    assert!(restores, "{answer}");
}

#[test]
fn stop_names_work_beside_head() {
    let env = TestEnv::new();
    let repo = watched(
        &env,
        &json!({"checks": [{"type": "git", "min_commits": 1}]}),
    );
    let branch = repo.git(&["branch", "--show-current"]);
    repo.git(&["switch", "-q", "-c", "side"]);
    repo.write("work.txt", "x");
    repo.commit_all("work");
    repo.git(&["switch", "-q", branch.trim()]);
    let answer = hook(&repo, &["stop"], &stop("p"));
    let reason = answer["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("branch side: 1 commit on side"), "{answer}");
    repo.git(&["merge", "-q", "side"]);
    assert_eq!(hook(&repo, &["stop"], &stop("p")), json!({}));
}

#[test]
fn an_agent_is_held_until_its_checks_pass() {
    let env = TestEnv::new();
    let repo = watched(&env, &wants_a_file());
    let held = hook(&repo, &["stop"], &stop("p"));
    assert_eq!(held["decision"], "block");
    assert_parts(held["reason"].as_str().unwrap(), &["done.txt"]);
    repo.write("done.txt", "x");
    assert_eq!(hook(&repo, &["stop"], &stop("p")), json!({}));
    let words = words(&repo);
    let status = |at: usize| {
        (
            words[at]["answer"].clone(),
            words[at]["status"].clone(),
            words[at]["stop_reason"].clone(),
        )
    };
    assert_eq!(
        status(0),
        (json!("held"), json!("incomplete"), json!("end_turn"))
    );
    assert_eq!(
        status(1),
        (json!("let_go"), json!("complete"), json!("end_turn"))
    );
}

#[test]
fn interactive_session_is_held_only_after_a_change() {
    let env = TestEnv::new();
    let repo = watched(&env, &wants_a_file());
    let asked = |entrypoint: &str, args: &[&str]| {
        let command = repo
            .watchdog_command(&[&["hook", "stop"], args].concat())
            .env("CLAUDE_CODE_ENTRYPOINT", entrypoint);
        command.stdin(stop("p").to_string()).run().expect(0).json()
    };
    assert_eq!(asked("cli", &[]), json!({}), "it only asked a question");
    assert_eq!(asked("cli", &["--all-sessions"])["decision"], "block");
    assert_eq!(
        asked("sdk-cli", &[])["decision"],
        "block",
        "nobody else would notice"
    );
    repo.write("half.txt", "half");
    assert_eq!(asked("cli", &[])["decision"], "block");
    repo.watchdog(&["hook", "install", "--all-sessions"])
        .expect(0);
    let settings = fs::read_to_string(repo.path().join(".claude/settings.json")).unwrap();
    assert!(settings.contains("hook stop --all-sessions"), "{settings}");
}

#[test]
fn each_prompt_has_a_limited_number_of_holds() {
    let env = TestEnv::new();
    let repo = watched(
        &env,
        &json!({"limits": {"max_stop_blocks": 2}, "checks": wants_a_file()["checks"]}),
    );
    for prompt in ["p", "q"] {
        for _ in 0..2 {
            assert_eq!(hook(&repo, &["stop"], &stop(prompt))["decision"], "block");
        }
        for _ in 0..2 {
            let free = hook(&repo, &["stop"], &stop(prompt));
            assert_eq!(free.get("decision"), None);
            assert!(
                told(&free).starts_with("watchdog: stopped (budget_exhausted)")
                    && told(&free).contains("not complete"),
                "{free}"
            );
        }
    }
    assert_eq!(
        hook(
            &repo,
            &["stop"],
            &json!({"session_id": "other", "stop_hook_active": true})
        )["decision"],
        "block"
    );
    assert!(
        words(&repo).iter().all(|word| word["status"] != "complete"),
        "a spent limit is never a success"
    );
}

#[test]
fn the_hosts_own_patience_is_never_spent() {
    let env = TestEnv::new();
    let repo = watched(
        &env,
        &json!({"limits": {"max_stop_blocks": 100}, "checks": wants_a_file()["checks"]}),
    );
    let blocks = |prompt: &str, cap: &str| {
        let mut count = 0;
        loop {
            let command = repo
                .watchdog_command(&["hook", "stop"])
                .env("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", cap);
            let out = command.stdin(stop(prompt).to_string()).run().expect(0);
            if out.json()["decision"] != "block" {
                return count;
            }
            count += 1;
        }
    };
    assert_eq!(
        (
            blocks("a", ""),
            blocks("b", "3"),
            blocks("c", "20"),
            blocks("d", "nonsense"),
            blocks("e", "0")
        ),
        (7, 2, 19, 7, 0)
    );
}

#[test]
fn nonsense_is_answered_and_holds_nobody() {
    let env = TestEnv::new();
    let repo = watched(&env, &wants_a_file());
    for event in EVENTS {
        for input in [
            "{",
            "[]",
            "null",
            "\u{0}",
            "\"x\"",
            "{}{}",
            &"[".repeat(5000),
        ] {
            let answer = answer(&repo, &[event], input);
            assert!(
                told(&answer).contains("was not held"),
                "{event} {input:?}: {answer}"
            );
            assert_eq!(
                answer.as_object().map(serde_json::Map::len),
                Some(1),
                "{answer}"
            );
        }
        let odd = json!({"session_id": 7, "cwd": ["x"], "stop_hook_active": "no", "background_tasks": {}, "tool_name": null, "source": 1});
        hook(&repo, &[event], &odd);
    }
    for args in [
        &["stop", "--nonsense"][..],
        &["dance"],
        &[],
        &["stop", "--within", "soon"],
        &["stop", "extra"],
    ] {
        let answer = answer(&repo, args, "{}");
        assert!(told(&answer).contains("was not held"), "{args:?}: {answer}");
    }
}

#[test]
fn unjudgeable_session_is_released_with_a_notice() {
    let env = TestEnv::new();
    let repo = watched(&env, &wants_a_file());
    let state = env.write("no-folder", "a file");
    let free = hook(
        &repo,
        &["--state-dir", &state.to_string_lossy(), "stop"],
        &stop("p"),
    );
    assert!(
        free.get("decision").is_none() && told(&free).contains("was not held"),
        "{free}"
    );

    let other = env.repo_named("broken");
    fs::write(other.path().join(".git/HEAD"), "nonsense").expect("it is ours");
    let free = hook(&other, &["stop"], &json!({"cwd": other.path()}));
    assert!(
        free.get("decision").is_none() && !told(&free).is_empty(),
        "{free}"
    );

    let typo = env.repo_named("typo");
    typo.write("completion.json", r#"{"chekcs": []}"#);
    for event in ["stop", "session-start"] {
        let free = hook(&typo, &[event], &json!({"cwd": typo.path()}));
        assert!(
            told(&free).contains("did you mean `checks`"),
            "{event}: {free}"
        );
    }
    assert_eq!(
        hook(&repo, &["stop"], &stop("p"))["decision"],
        "block",
        "the others are none of its business"
    );
}

#[test]
fn where_nothing_is_watched_nothing_is_said() {
    let env = TestEnv::new();
    let plain = Repo::new(&env, env.root());
    for event in EVENTS {
        assert_eq!(
            hook(
                &plain,
                &[event],
                &json!({"session_id": "s", "tool_name": "StructuredOutput"})
            ),
            json!({}),
            "{event}"
        );
    }
    let unborn = env.unborn_repo("unborn");
    hook(
        &unborn,
        &["session-start"],
        &json!({"session_id": "u", "source": "startup"}),
    );
    assert_eq!(
        hook(&unborn, &["stop"], &json!({"session_id": "u"})),
        json!({})
    );
    assert_eq!(words(&unborn), Vec::<Value>::new(), "nothing was judged");
    let other_tool = hook(
        &unborn,
        &["post-tool-use"],
        &json!({"tool_name": "Read", "tool_input": {"output": {"key": "value"}}}),
    );
    assert_eq!(other_tool, json!({}));
}

#[test]
fn untrusted_criteria_run_no_checks_and_are_told() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write(
        "completion.json",
        json!({"checks": [{"type": "command", "run": "touch ran; false"}]}).to_string(),
    );
    repo.commit_all("chore: criteria");
    for event in ["session-start", "stop"] {
        let answer = hook(&repo, &[event], &json!({"session_id": "s"}));
        assert!(
            told(&answer).contains("not trusted") && told(&answer).ends_with(" trust"),
            "{answer}"
        );
        assert_eq!(answer.get("decision"), None);
    }
    assert!(!repo.has("ran"));
}

#[test]
fn hook_answers_in_time_and_leaves_no_process() {
    let env = TestEnv::new();
    let repo = watched(
        &env,
        &json!({"checks": [{"type": "command", "run": "touch ../started; (setsid sleep 600 &) ; sleep 600"}]}),
    );
    let begun = Instant::now();
    let late = hook(&repo, &["stop", "--within", "6s"], &stop("p"));
    assert!(
        told(&late).contains("took longer than 6 s") && late.get("decision").is_none(),
        "{late}"
    );
    assert!(
        begun.elapsed() < Duration::from_secs(60),
        "{:?}",
        begun.elapsed()
    );
    env.assert_nothing_left();

    fs::remove_file(env.root().join("started")).expect("the check ran");
    let running = repo
        .watchdog_command(&["hook", "stop"])
        .stdin(stop("p").to_string())
        .spawn();
    wait_until("the check runs", Duration::from_secs(60), || {
        env.root().join("started").exists()
    });
    running.signal(rustix::process::Signal::TERM);
    let out = running.wait().expect(0);
    assert!(told(&out.json()).contains("a signal ended it"), "{out}");
    env.assert_nothing_left();
}

#[test]
fn spent_limit_releases_the_agent_before_checks_run() {
    let env = TestEnv::new();
    let checks = json!([{"type": "command", "run": "touch ran; false"}]);
    let repo = watched(
        &env,
        &json!({"limits": {"deadline": "2020-01-01T00:00:00Z"}, "checks": checks}),
    );
    let free = hook(&repo, &["stop"], &stop("p"));
    assert!(
        told(&free).starts_with("watchdog: stopped (deadline_exceeded)")
            && free.get("decision").is_none(),
        "{free}"
    );
    assert!(!repo.has("ran"));
    assert_eq!(words(&repo)[0]["status"], "stopped");
}

#[test]
fn background_work_is_awaited_and_never_blocks_release() {
    let env = TestEnv::new();
    let repo = watched(&env, &wants_a_file());
    let mut input = stop("p");
    input["background_tasks"] = json!([{"id": "1", "type": "shell", "status": "running", "description": "the tests", "command": "npm test"}]);
    let free = hook(&repo, &["stop"], &input);
    assert!(
        told(&free).starts_with(
            "watchdog: waiting (background_work): 1 task still runs in the background (the tests)"
        ),
        "{free}"
    );
    input["background_tasks"][0]["status"] = json!("completed");
    assert_eq!(hook(&repo, &["stop"], &input)["decision"], "block");
}

#[test]
fn subagents_are_held_only_on_request() {
    let env = TestEnv::new();
    let repo = watched(&env, &wants_a_file());
    let own_task = json!([{"id": "a1", "type": "subagent", "status": "running"}]);
    let input = json!({"session_id": "s", "agent_id": "a1", "hook_event_name": "SubagentStop", "prompt_id": "p", "background_tasks": own_task});
    assert_eq!(hook(&repo, &["subagent-stop"], &input), json!({}));
    assert_eq!(
        hook(&repo, &["stop"], &input),
        json!({}),
        "settings may send both events to one command"
    );
    assert_eq!(
        hook(&repo, &["subagent-stop", "--hold"], &input)["decision"],
        "block"
    );
    for _ in 0..6 {
        assert_eq!(
            hook(&repo, &["subagent-stop", "--hold"], &input)["decision"],
            "block"
        );
    }
    assert!(told(&hook(&repo, &["subagent-stop", "--hold"], &input)).contains("stopped"));
    assert_eq!(
        hook(&repo, &["stop"], &stop("p"))["decision"],
        "block",
        "each agent has a count of its own"
    );
}

#[test]
fn structured_output_is_refused_until_checks_pass() {
    let env = TestEnv::new();
    let repo = watched(&env, &wants_a_file());
    let call = |prompt: &str, id: &str| json!({"session_id": "s", "prompt_id": prompt, "tool_name": "StructuredOutput", "tool_use_id": id, "tool_input": {"output": {"key": "value"}}});
    let denied = |answer: &Value| answer["hookSpecificOutput"]["permissionDecision"] == "deny";
    // The host gives up at five outputs that failed.
    for n in 0..4 {
        let answer = hook(&repo, &["pre-tool-use"], &call("p", &n.to_string()));
        assert!(
            denied(&answer)
                && answer["hookSpecificOutput"]["permissionDecisionReason"]
                    .to_string()
                    .contains("done.txt"),
            "{answer}"
        );
    }
    let free = hook(&repo, &["pre-tool-use"], &call("p", "5"));
    assert!(!denied(&free) && told(&free).contains("stopped"), "{free}");
    let advice = hook(&repo, &["post-tool-use"], &call("p", "5"));
    let context = advice["hookSpecificOutput"]["additionalContext"]
        .as_str()
        .unwrap_or_default();
    assert!(
        context.starts_with("Tasks incomplete: ")
            && context.contains("call StructuredOutput again"),
        "{advice}"
    );

    assert!(
        denied(&hook(&repo, &["pre-tool-use"], &call("q", "6"))),
        "another prompt begins anew"
    );
    repo.write("done.txt", "x");
    assert_eq!(hook(&repo, &["pre-tool-use"], &call("q", "7")), json!({}));
    assert_eq!(
        hook(&repo, &["post-tool-use"], &call("q", "7")),
        json!({"continue": false})
    );
    assert_eq!(
        hook(&repo, &["post-tool-use", "--no-stop"], &call("q", "7")),
        json!({})
    );
    let judged = words(&repo).len();
    assert_eq!(
        hook(
            &repo,
            &["stop"],
            &json!({"session_id": "s", "prompt_id": "q"})
        ),
        json!({})
    );
    assert_eq!(
        words(&repo).len(),
        judged,
        "what was let pass just now is not judged again"
    );
}

#[test]
fn hook_saves_uncommitted_work_before_check_programs() {
    let env = TestEnv::new();
    let repo = watched(
        &env,
        &json!({"checks": [{"type": "command", "run": "git clean -fdqx; git checkout -q .; false"}]}),
    );
    repo.write("new.txt", "precious");
    repo.write("README.md", "changed");
    assert_eq!(hook(&repo, &["stop"], &stop("p"))["decision"], "block");
    assert!(!repo.has("new.txt"));
    let kept = repo.snapshots();
    assert_eq!(
        repo.file_in(&kept[0], "new.txt").as_deref(),
        Some("precious")
    );
    assert_eq!(
        repo.file_in(&kept[0], "README.md").as_deref(),
        Some("changed")
    );
}

#[test]
fn accepted_criteria_hold_until_a_person_trusts_others() {
    let env = TestEnv::new();
    let repo = watched(&env, &wants_a_file());
    repo.write("completion.json", r#"{"checks": [{"type": "always"}]}"#);
    repo.commit_all("chore: easier");
    let held = hook(&repo, &["stop"], &stop("p"));
    assert_eq!(held["decision"], "block");
    assert_parts(told(&held), &["differs from the one that was accepted"]);
    // The session that the hooks know is this very process.
    repo.watchdog(&["trust"]).expect(2);
    repo.watchdog(&["trust", "--from-session"]).expect(0);
    assert_eq!(hook(&repo, &["stop"], &stop("p")).get("decision"), None);
}

#[test]
fn moving_agent_is_judged_in_its_starting_place() {
    let env = TestEnv::new();
    let repo = watched(&env, &wants_a_file());
    let other = env.repo_named("elsewhere");
    let mut input = stop("p");
    input["cwd"] = json!(other.path());
    assert_eq!(hook(&other, &["stop"], &input)["decision"], "block");
    input["session_id"] = json!("nobody knows me");
    assert_eq!(hook(&other, &["stop"], &input), json!({}));
    let project = other
        .watchdog_command(&["hook", "stop"])
        .env("CLAUDE_PROJECT_DIR", repo.path())
        .stdin(input.to_string())
        .run()
        .expect(0);
    assert_eq!(project.json()["decision"], "block", "{project}");
    assert_eq!(
        hook(
            &repo,
            &["stop", "-C", &other.path().to_string_lossy()],
            &stop("p")
        ),
        json!({}),
        "the user's word counts most"
    );
}

#[test]
fn without_baseline_only_file_checks_decide() {
    let env = TestEnv::new();
    let repo = env.repo();
    let config = env.write(
        "c.json",
        json!({"checks": [{"type": "git", "min_commits": 1}]}).to_string(),
    );
    let config = config.to_string_lossy();
    repo.write("new.txt", "x");
    repo.commit_all("feat: work");
    let free = hook(&repo, &["--config", &config, "stop"], &stop("p"));
    assert!(
        free.get("decision").is_none() && told(&free).contains("no baseline is recorded"),
        "{free}"
    );
    let config = env.write("f.json", wants_a_file().to_string());
    assert_eq!(
        hook(
            &repo,
            &["--config", &config.to_string_lossy(), "stop"],
            &stop("p")
        )["decision"],
        "block"
    );
}

#[test]
fn hooks_install_once_and_uninstall_cleanly() {
    let env = TestEnv::new();
    let repo = env.repo();
    let settings = repo.path().join(".claude/settings.json");
    let theirs = r#"{
  "model": "opus",
  "hooks": {
    "Stop": [
      {"hooks": [{"type": "command", "command": "say done"}]}
    ]
  }
}
"#;
    repo.write(".claude/settings.json", theirs);
    let diff = repo.watchdog(&["hook", "install", "--dry-run"]).expect(0);
    diff.assert_printed(&["\n+", "hook stop --within 590s"]);
    let gone =
        |line: &str| line.starts_with("-  ") && !diff.stdout.contains(&format!("+{},", &line[1..]));
    assert!(
        !diff.stdout.lines().any(gone),
        "nothing goes but for a comma that comes\n{diff}"
    );
    assert_eq!(
        fs::read_to_string(&settings).expect("it is there"),
        theirs,
        "a dry run changes nothing"
    );

    fs::set_permissions(&settings, fs::Permissions::from_mode(0o600)).expect("it is ours");
    repo.watchdog(&["hook", "install"]).expect(0);
    let installed = fs::read_to_string(&settings).expect("it is there");
    let json: Value = serde_json::from_str(&installed).expect("JSON");
    assert_eq!(
        json["hooks"]["Stop"].as_array().map(Vec::len),
        Some(2),
        "{installed}"
    );
    for (event, command) in [
        ("SessionStart", "session-start"),
        ("PreToolUse", "pre-tool-use"),
        ("SessionEnd", "session-end"),
    ] {
        let entry = &json["hooks"][event][0]["hooks"][0]["command"];
        assert_parts(
            entry.as_str().unwrap(),
            &[&format!("watchdog hook {command}")],
        );
    }
    assert_eq!(json["hooks"].get("SubagentStop"), None);
    assert_eq!(
        fs::metadata(&settings)
            .expect("it is there")
            .permissions()
            .mode()
            & 0o777,
        0o600
    );
    let again = repo.watchdog(&["hook", "install"]).expect(0);
    assert!(again.stdout.contains("nothing to change"), "{again}");
    assert_eq!(
        fs::read_to_string(&settings).expect("it is there"),
        installed
    );

    // What is written is what runs: the very line, by the shell that the host uses.
    let line = json["hooks"]["Stop"][1]["hooks"][0]["command"]
        .as_str()
        .expect("a command");
    let out = env
        .command("sh", repo.path())
        .args(["-c", line])
        .stdin("{}")
        .run()
        .expect(0);
    assert_eq!(out.json(), json!({}));

    repo.watchdog(&["hook", "uninstall"]).expect(0);
    let left: Value =
        serde_json::from_str(&fs::read_to_string(&settings).expect("it is there")).expect("JSON");
    assert_eq!(left, serde_json::from_str::<Value>(theirs).expect("JSON"));
}

#[test]
fn install_refuses_invalid_settings_and_honours_user_settings() {
    let mut env = TestEnv::new();
    env.set("CLAUDE_CONFIG_DIR", env.root().join("claude's folder"));
    let repo = env.repo();
    repo.write(".claude/settings.json", "{\"a\": 1,}");
    let out = repo.watchdog(&["hook", "install"]).expect(2);
    out.assert_told(&["settings.json was not changed: it is not valid JSON"]);
    assert_eq!(
        fs::read_to_string(repo.path().join(".claude/settings.json")).expect("it is there"),
        "{\"a\": 1,}"
    );
    repo.watchdog(&["hook", "install", "--user", "--project"])
        .expect(2);
    repo.watchdog(&["hook", "install", "--user", "--hook-timeout", "1s"])
        .expect(2);

    let out = repo
        .watchdog(&["hook", "install", "--user", "--subagents", "--json"])
        .expect(0);
    assert_eq!(out.json()["changed"], true, "{out}");
    let text =
        fs::read_to_string(env.root().join("claude's folder/settings.json")).expect("it was made");
    assert_parts(&text, &["hook subagent-stop --hold --within 590s"]);
    let nowhere = env.watchdog(&env.root(), &["hook", "install"]);
    assert!(nowhere.expect(16).stderr.contains("--user"));
    repo.watchdog(&["hook", "uninstall", "--user"]).expect(0);
    assert!(
        !env.root().join("claude's folder/settings.json").exists(),
        "install made it, and nothing else is in it"
    );
}

#[test]
fn hooks_name_where_they_hold_and_their_switch() {
    let env = TestEnv::new();
    env.install("watchdog", Path::new(env!("CARGO_BIN_EXE_watchdog")));
    let repo = env.repo();
    repo.git(&["worktree", "add", "-q", "../side"]);
    let side = env.root().join("side");
    let told = repo.watchdog(&["hook", "install"]).expect(0);
    assert!(told.stdout.contains("not in 1 other worktree"), "{told}");
    // The agent's PATH need not be that of this shell.
    let settings: Value = serde_json::from_str(
        &fs::read_to_string(repo.path().join(".claude/settings.json")).unwrap(),
    )
    .unwrap();
    let command = settings["hooks"]["Stop"][0]["hooks"][0]["command"]
        .as_str()
        .unwrap();
    let answer = env.command("sh", repo.path()).args(["-c", command]);
    answer
        .env("PATH", "/usr/bin:/bin")
        .stdin("{}")
        .run()
        .expect(0);
    let doctor = repo.watchdog(&["doctor"]);
    let mend = format!("watchdog -C {} hook install", side.display());
    assert!(doctor.stdout.contains(&mend), "{doctor}");

    // The nearest file decides.
    let off = "{\"disableAllHooks\": true}";
    repo.write(
        ".claude/settings.local.json",
        "{\"disableAllHooks\": false}",
    );
    env.write("home/.claude/settings.json", off);
    let says_off = |name: &str| {
        let words = format!("{name}: no hook runs in");
        repo.watchdog(&["doctor"]).stdout.contains(&words)
    };
    assert!(!says_off("settings.json"));
    repo.write(".claude/settings.local.json", off);
    assert!(says_off(".claude/settings.local.json"));
    let told = repo.watchdog(&["hook", "install"]).expect(0);
    assert!(told.stderr.contains("disableAllHooks is true in"), "{told}");
    let ours = env.root().join("bin/watchdog").display().to_string() + " hook stop";
    let left_out =
        json!({"hooksConfig": {"disabled": [ours + " --agent gemini --within 590s"]}}).to_string();
    for (agent, file, text, words) in [
        (
            "gemini",
            ".gemini/settings.json",
            "{\"hooksConfig\": {\"enabled\": false}}",
            "hooksConfig.enabled is false",
        ),
        (
            "gemini",
            ".gemini/settings.json",
            &left_out,
            "hooksConfig.disabled names",
        ),
        ("copilot", ".claude/settings.local.json", off, "is true in"),
        (
            "qwen",
            ".qwen/settings.json",
            "{\"disableAllHooks\": true}",
            "disableAllHooks is true",
        ),
        (
            "codex",
            ".codex/config.toml",
            "[features]\nhooks = false\n",
            "features.hooks is false",
        ),
    ] {
        repo.write(file, text);
        let told = repo
            .watchdog(&["hook", "install", "--agent", agent, "--json"])
            .expect(0);
        let switch = told.json()["switched_off"].to_string();
        assert!(switch.contains(words), "{told}");
        let told = repo
            .watchdog(&["hook", "install", "--agent", agent])
            .expect(0);
        assert!(told.stderr.contains(words), "{told}");
        let doctor = repo.watchdog(&["doctor"]);
        assert!(doctor.stdout.contains(words), "{doctor}");
    }
    // Folders that wait for their user's trust; a linked worktree is trusted with the main one.
    repo.write(".codex/config.toml", "");
    repo.write(".gemini/settings.json", "{}");
    let root = repo.path().display();
    for (agent, file, trust) in [
        (
            "codex",
            "home/.codex/config.toml",
            format!("[projects.\"{root}\"]\ntrust_level = \"trusted\"\n"),
        ),
        (
            "gemini",
            "home/.gemini/trustedFolders.json",
            json!({env.root().to_str().unwrap(): "TRUST_FOLDER"}).to_string(),
        ),
    ] {
        for (text, is_told) in [("", true), (&*trust, false)] {
            env.write(file, text);
            let words = format!(
                "this folder is not trusted in {}",
                env.root().join(file).display()
            );
            for folder in [repo.path(), &side] {
                let here = folder.display().to_string();
                let told = repo
                    .watchdog(&["-C", &here, "hook", "install", "--agent", agent])
                    .expect(0);
                assert_eq!(told.stderr.contains(&words), is_told, "{told}");
                let doctor = repo.watchdog(&["-C", &here, "doctor"]);
                assert_eq!(doctor.stdout.contains(&words), is_told, "{doctor}");
            }
        }
    }
    // Two of the same event both run.
    let by_hand = json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "X=1 watchdog hook stop || true"}]}]}});
    repo.write(".claude/settings.local.json", by_hand.to_string());
    let told = repo.watchdog(&["hook", "install"]).expect(0);
    told.assert_told(&["settings.local.json has hooks of watchdog, too"]);
    repo.write(".claude/settings.json", by_hand.to_string());
    let told = repo.watchdog(&["hook", "install"]).expect(0);
    told.assert_told(&["by hand, and runs beside the new ones: X=1"]);
    // Claude Code passes over a file with a comment, its hooks included.
    let file = repo.path().join(".claude/settings.json");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("// ours\n{text}")).unwrap();
    let told = repo.watchdog(&["hook", "install"]).expect(0);
    let doctor = repo.watchdog(&["doctor"]);
    for output in [&told.stderr, &doctor.stdout] {
        assert_parts(output, &["not JSON as Claude Code reads it"]);
    }
}
