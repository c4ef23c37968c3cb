//! Loops and tasks with more than one agent: who is asked, who takes over at a limit, what that one is told, and who comes back.

use std::fs;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::loop_resumed::kill_in_its_session;
use crate::support::{
    CommandOutput, Repo, Run, TestEnv, WallClock, assert_parts, extended, fill_line, full_screen,
    wait_until,
};

const CLAUDE_ID: &str = "97d38b7d-137f-44c8-a906-ac97e99b783f";
const CODEX_ID: &str = "01a20210-5f8a-7a32-b14b-ca588022d080";

/// What the scripts have in common: each call leaves its name and arguments in `calls`, its prompt in `prompt.<name>.<n>`.
const COMMON: &str = r#"
root=@ROOT@
n=1; while [ -e "$root/prompt.$name.$n" ]; do n=$((n + 1)); done
commit() { echo "$1" > "$1" && git add "$1" && git commit -qm "feat: $1"; }
if [ -n "$WATCHDOG_QUESTION" ]; then
    echo "$name question $*" >> "$root/calls"; cat >> "$root/asked.$name"; answer '{\"status\": \"complete\", \"message\": \"scripted\"}'; exit 0
fi
echo "$name session $n" >> "$root/calls"
cat > "$root/prompt.$name.$n"
"#;

/// A program that prints as Claude Code does; `$n` is the number of its session.
pub fn claude(env: &TestEnv, sessions: &str) {
    let words = format!(
        r#"answer() {{ echo '{{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"'"$1"'","session_id":"{CLAUDE_ID}","total_cost_usd":0.25,"usage":{{"input_tokens":100,"output_tokens":20}}}}'; }}
limit() {{ echo '{{"type":"result","subtype":"success","is_error":true,"result":"Claude AI usage limit reached|'"$1"'","session_id":"{CLAUDE_ID}"}}'; exit 1; }}"#
    );
    program(env, "claude", &words, sessions);
}

/// A program that prints as Codex does.
pub fn codex(env: &TestEnv, sessions: &str) {
    let words = format!(
        r#"answer() {{ echo '{{"type":"thread.started","thread_id":"{CODEX_ID}"}}'; echo '{{"type":"turn.started"}}'
    echo '{{"type":"item.completed","item":{{"id":"item_1","type":"agent_message","text":"'"$1"'"}}}}'
    echo '{{"type":"turn.completed","usage":{{"input_tokens":300,"cached_input_tokens":0,"output_tokens":60}}}}'; }}
fails() {{ echo '{{"type":"thread.started","thread_id":"{CODEX_ID}"}}'; echo '{{"type":"error","message":"'"$1"'"}}'
    echo '{{"type":"turn.failed","error":{{"message":"'"$1"'"}}}}'; exit 1; }}"#
    );
    program(env, "codex", &words, sessions);
}

pub fn program(env: &TestEnv, name: &str, words: &str, sessions: &str) {
    let root = env.root().to_string_lossy().into_owned();
    let text = format!(
        "#!/bin/sh\nname={name}\n{words}\n{}\n{sessions}\n",
        COMMON.replace("@ROOT@", &root)
    );
    env.install_script(name, text);
}

/// A configuration without pauses.
pub fn config(env: &TestEnv, more: Value) -> String {
    let config = extended(
        json!({
            "version": 1, "limits": {"cooldown_seconds": 0}, "rescue": {"mode": "single"},
            "completion_check": {"max_probes": 1, "probe_interval_seconds": 0, "probe_timeout_seconds": 30},
        }),
        &more,
    );
    env.write("config/completion.json", config.to_string())
        .to_string_lossy()
        .into_owned()
}

pub fn needs(file: &str) -> Value {
    json!({"checks": [{"type": "command", "name": "there", "run": format!("test -f {file} || {{ echo '{file} is missing'; exit 1; }}")}]})
}

pub fn looped(env: &TestEnv, repo: &Repo<'_>, config: &str, options: &[&str]) -> CommandOutput {
    loop_command(env, repo, config, options).run()
}

fn loop_command(env: &TestEnv, repo: &Repo<'_>, config: &str, options: &[&str]) -> Run {
    let task = env.write("PROMPT.md", "Build the thing.");
    let args = [
        &fill_line(
            "loop --json --config {} --prompt {}",
            &[config, task.to_str().expect("UTF-8")],
        ),
        options,
    ]
    .concat();
    repo.watchdog_command(&args)
        .timeout(Duration::from_secs(120))
}

pub fn calls(env: &TestEnv) -> Vec<String> {
    fs::read_to_string(env.root().join("calls"))
        .unwrap_or_default()
        .lines()
        .map(str::to_owned)
        .collect()
}

pub fn prompt(env: &TestEnv, name: &str, number: u32) -> String {
    fs::read_to_string(env.root().join(format!("prompt.{name}.{number}"))).unwrap_or_default()
}

pub fn changes_of_agents(repo: &Repo<'_>) -> Vec<Value> {
    let out = repo
        .watchdog(&["events", "--json", "-n", "500", "--kind", "agent_changed"])
        .expect(0);
    out.stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("one object a line")["data"].clone())
        .collect()
}

#[test]
fn session_agent_is_asked_unless_a_program_overrides() {
    let env = TestEnv::new();
    let repo = env.repo();
    codex(&env, "answer done");
    claude(&env, "answer 'I know nothing of it'");
    let config = config(&env, json!({}));
    let out = looped(
        &env,
        &repo,
        &config,
        &["--agent", "codex", "--max-iterations", "1"],
    );
    let asked = |calls: &[String]| {
        calls
            .iter()
            .filter(|call| call.contains(" question "))
            .cloned()
            .collect::<Vec<_>>()
    };
    let first = asked(&calls(&env));
    assert!(
        !first.is_empty() && first.iter().all(|call| call.starts_with("codex ")),
        "{first:?}\n{out}"
    );
    assert_eq!(out.json()["session"]["agent"], "codex", "{out}");
    assert_eq!(out.json()["session"]["id"], CODEX_ID, "{out}");
    repo.write("late.txt", "late");
    let later = repo.watchdog(&["check", "--json", "--config", &config]);
    let second = asked(&calls(&env));
    assert!(
        second.len() > first.len() && second.iter().all(|call| call.starts_with("codex ")),
        "{second:?}\n{later}"
    );
    assert_eq!(later.json()["session"]["agent"], "codex", "{later}");
    let own = self::config(
        &env,
        json!({"agent": {"probe": ["sh", "-c", "cat > /dev/null; echo '{\"status\": \"working\"}'"]}}),
    );
    repo.write("later.txt", "later");
    let by_program = repo.watchdog(&["check", "--json", "--config", &own]);
    assert_eq!(
        asked(&calls(&env)).len(),
        second.len(),
        "the program answers for every agent: {by_program}"
    );
}

#[test]
fn first_agent_returns_after_its_limit_resets() {
    let env = TestEnv::new();
    let repo = env.repo();
    let clock = WallClock::new(&env);
    let reset = Timestamp::now().as_second() + 600;
    claude(
        &env,
        &format!(
            "if [ $n = 1 ]; then commit a.txt; echo half > half.txt; limit {reset}; fi\ncommit ok.txt; answer done"
        ),
    );
    let limit_over = env.root().join("limit-over");
    codex(
        &env,
        &format!(
            "commit b$n.txt; while ! test -e '{}'; do sleep 0.05; done; answer 'not yet'",
            limit_over.display()
        ),
    );
    let config = config(&env, needs("ok.txt"));
    let options = ["--agent", "claude", "--fallback", "codex"];
    let plan = looped(
        &env,
        &repo,
        &config,
        &[&options[..], &["--dry-run"]].concat(),
    )
    .expect(0)
    .json();
    assert_eq!(
        (&plan["agent"], &plan["agents"]),
        (&json!("claude"), &json!(["claude", "codex"])),
        "{plan}"
    );
    let looping = clock
        .read_by(loop_command(&env, &repo, &config, &options))
        .spawn();
    let takes_over = || !prompt(&env, "codex", 1).is_empty();
    wait_until("codex takes over", Duration::from_secs(60), takes_over);
    // watchdog waits five seconds longer than the reset.
    clock.be_ahead_by(Duration::from_secs(606));
    fs::write(&limit_over, "").expect("a new file");
    let out = looping.wait().expect(0);
    let json = out.json();
    out.assert_verdict("complete/checks_passed", json!({"iterations": 2}));
    assert_eq!(
        calls(&env),
        ["claude session 1", "codex session 1", "claude session 2"],
        "{out}"
    );
    let told = prompt(&env, "codex", 1);
    for part in [
        "You take over from another agent, claude: it met a usage limit.",
        "feat: a.txt",
        "- half.txt",
        "The task:\n\nBuild the thing.",
    ] {
        assert!(told.contains(part), "{part:?} is missing in\n{told}");
    }
    assert!(
        !prompt(&env, "claude", 1).contains("take over"),
        "nobody was before it"
    );
    let back = prompt(&env, "claude", 2);
    assert_parts(
        &back,
        &[
            "You take over from another agent, codex: you are available again.",
            "feat: b1.txt",
        ],
    );
    let changed = changes_of_agents(&repo);
    assert_eq!(changed.len(), 2, "{changed:?}");
    assert_eq!(
        (&changed[0]["from"], &changed[0]["to"], &changed[0]["why"]),
        (&json!("claude"), &json!("codex"), &json!("usage_limit"))
    );
    assert!(changed[0]["until"].is_string(), "{changed:?}");
    assert_eq!(
        (&changed[1]["to"], &changed[1]["why"], &changed[1]["until"]),
        (&json!("claude"), &json!("reset"), &Value::Null)
    );
    let agents = &json["loop"]["agents"];
    assert_eq!(
        (
            &agents[0]["name"],
            &agents[0]["sessions"],
            &agents[0]["spent"]["cost_usd"]
        ),
        (&json!("claude"), &json!(2), &json!(0.25))
    );
    assert_eq!(
        (
            &agents[1]["name"],
            &agents[1]["sessions"],
            &agents[1]["spent"]["tokens"]
        ),
        (&json!("codex"), &json!(1), &json!(360))
    );
    let who: Vec<&Value> = json["loop"]["history"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| &one["agent"])
        .collect();
    assert_eq!(who, ["codex", "claude"], "{out}");
    out.assert_told(&["claude met a usage limit; codex takes over until "]);
    let report = repo.watchdog(&["report", "--json"]).expect(0).json();
    let of = |place: usize| {
        (
            &report["agents"][place]["agent"],
            &report["agents"][place]["sessions"],
        )
    };
    assert_eq!(
        (of(0), of(1)),
        ((&json!("claude"), &json!(2)), (&json!("codex"), &json!(1))),
        "{report}"
    );
    let spent = (
        &report["agents"][0]["cost"],
        &report["agents"][1]["tokens"]["input"],
        &report["agents"][1]["cost"]["usd"],
    );
    assert_eq!(
        spent,
        (
            &json!({"usd": 0.25, "told_by": 1, "of": 2}),
            &json!(300),
            &Value::Null
        ),
        "{report}"
    );
    let text = repo.watchdog(&["report"]).expect(0).stdout;
    assert!(
        text.contains("AGENT")
            && text
                .lines()
                .any(|line| line.contains("$0.25") && line.ends_with("claude")),
        "{text}"
    );
    let explained = repo.watchdog(&["explain"]).expect(0).stdout;
    for part in [
        "Who worked\n  session of claude, ended ",
        "\n  codex took over from claude (usage limit, until ",
        "\n  claude took over from codex (reset): session of claude, ended ",
        ", 0.25 USD\n",
    ] {
        assert!(
            explained.contains(part),
            "{part:?} is missing in\n{explained}"
        );
    }
    let sessions = repo.watchdog(&["explain", "--json"]).expect(0).json()["sessions"].clone();
    assert_eq!(
        (
            sessions.as_array().map(Vec::len),
            &sessions[1]["took_over"]["why"]
        ),
        (Some(3), &json!("usage_limit")),
        "{sessions}"
    );
    env.assert_nothing_left();
}

#[test]
fn live_view_names_the_agent_and_its_takeover() {
    let env = TestEnv::new();
    let repo = env.repo();
    let (up, go) = (env.root().join("up"), env.root().join("go"));
    claude(
        &env,
        &format!("limit {}", Timestamp::now().as_second() + 7200),
    );
    let waits = format!(
        "touch {}; while [ ! -e {} ]; do sleep 0.05; done",
        up.display(),
        go.display()
    );
    codex(&env, &format!("{waits}; commit ok.txt; answer done"));
    let task = env.write("PROMPT.md", "Build the thing.");
    let config = config(&env, needs("ok.txt"));
    let args = fill_line(
        "loop --config {} --prompt {} --agent claude --fallback codex",
        &[&config, task.to_str().expect("UTF-8")],
    );
    let running = repo
        .watchdog_command(&args)
        .timeout(Duration::from_secs(120))
        .spawn();
    wait_until("codex works", Duration::from_secs(60), || up.exists());
    let mut live = env
        .watchdog_command(&env.root(), &["status", "--watch"])
        .at_terminal_of(140, "xterm-256color");
    let has = |words: &str| {
        full_screen(&live.shown(), (140, 40))
            .unwrap_or_default()
            .iter()
            .any(|line| line.contains(words))
    };
    let said = "session of codex; codex takes over from claude (usage limit), until ";
    wait_until("the view names the agents", Duration::from_secs(60), || {
        has(said)
    });
    live.press(&["\r"]);
    let has = |words: &str| {
        full_screen(&live.shown(), (140, 40))
            .unwrap_or_default()
            .iter()
            .any(|line| line.contains(words))
    };
    wait_until(
        "the head of the detail names it",
        Duration::from_secs(60),
        || has(" of codex"),
    );
    live.press(&["q"]);
    fs::write(&go, "").expect("it can be written");
    running.wait().expect(0);
}

#[test]
fn resumed_loop_respects_both_agents_limits() {
    let env = TestEnv::new();
    let repo = env.repo();
    let (first, second) = (
        Timestamp::now().as_second() + 7200,
        Timestamp::now().as_second() + 3600,
    );
    claude(&env, &format!("limit {first}"));
    program(
        &env,
        "other",
        "answer() { echo \"$1\"; }",
        &format!("echo 'Claude AI usage limit reached|{second}'; exit 1"),
    );
    let more = json!({"agents": [{"name": "main", "preset": "claude", "fallback": ["spare"]}, {"name": "spare", "command": ["other"]}]});
    let config = config(&env, more);
    let out = looped(
        &env,
        &repo,
        &config,
        &["--agent", "main", "--max-wait", "30m"],
    )
    .expect(11);
    out.assert_verdict("waiting/rate_limited", json!({"/loop/over": false}));
    let retry_at: Timestamp = out.json()["retry_at"]
        .as_str()
        .expect("an instant")
        .parse()
        .expect("an instant");
    assert!(
        (0..=10).contains(&(retry_at.as_second() - second)),
        "{retry_at} is not the earlier reset: {out}"
    );
    assert_eq!(
        calls(&env),
        ["claude session 1", "other session 1"],
        "{out}"
    );
    let again = looped(
        &env,
        &repo,
        &config,
        &["--agent", "main", "--max-wait", "30m"],
    )
    .expect(11);
    assert_eq!(calls(&env).len(), 2, "{again}");
    assert_eq!(again.json()["retry_at"], out.json()["retry_at"], "{again}");
}

#[test]
fn killed_loop_resumes_with_the_takeover_agent() {
    let env = TestEnv::new();
    let repo = env.repo();
    let up = env.root().join("up");
    claude(
        &env,
        &format!("limit {}", Timestamp::now().as_second() + 7200),
    );
    codex(
        &env,
        &format!(
            "if [ $n = 1 ]; then commit a.txt; touch {}; exec sleep 600; fi\ncommit ok.txt; answer done",
            up.display()
        ),
    );
    let config = config(&env, needs("ok.txt"));
    let task = env.write("PROMPT.md", "Build the thing.");
    let args = fill_line(
        "loop --json --config {} --prompt {} --agent claude --fallback codex",
        &[&config, task.to_str().expect("UTF-8")],
    );
    kill_in_its_session(&env, &repo, &args, &up);
    let out = repo.watchdog(&args).expect(0);
    assert_eq!(
        calls(&env),
        ["claude session 1", "codex session 1", "codex session 2"],
        "{out}"
    );
    assert_eq!(out.verdict(), "complete/checks_passed");
    assert!(
        !prompt(&env, "codex", 2).contains("take over"),
        "it had the session before: {}",
        prompt(&env, "codex", 2)
    );
}

#[test]
fn overloaded_service_hands_over_after_the_pauses() {
    let env = TestEnv::new();
    let repo = env.repo();
    codex(
        &env,
        "fails 'Selected model is at capacity. Please try a different model.'",
    );
    claude(&env, "commit ok.txt; answer done");
    let options = fill_line("--agent codex --fallback claude --max-wait 1s", &[]);
    let out = looped(&env, &repo, &config(&env, needs("ok.txt")), &options).expect(0);
    let calls = calls(&env);
    assert!(
        calls.len() > 2 && calls.last().is_some_and(|call| call == "claude session 1"),
        "a pause comes first: {calls:?}\n{out}"
    );
    assert_eq!(changes_of_agents(&repo)[0]["why"], "overload");
    assert_parts(
        &prompt(&env, "claude", 1),
        &["codex: its service has no room."],
    );
}

#[test]
fn missing_program_is_reported_and_no_limit() {
    let env = TestEnv::new();
    let repo = env.repo();
    claude(
        &env,
        &format!("limit {}", Timestamp::now().as_second() + 7200),
    );
    codex(&env, "commit ok.txt; answer done");
    let more = json!({"agents": [
        {"name": "main", "preset": "claude", "fallback": ["gone", "codex"]},
        {"name": "gone", "command": ["no-such-agent-anywhere"]}, {"name": "codex", "preset": "codex"}]});
    let out = looped(&env, &repo, &config(&env, more), &["--agent", "main"]).expect(15);
    assert_eq!(out.verdict(), "failed/agent_unrunnable", "{out}");
    out.assert_has("message", "no-such-agent-anywhere");
    assert_eq!(
        calls(&env),
        ["claude session 1"],
        "the one after it is not silently taken: {out}"
    );
    let warned = out.stderr.find("gone, which is to take over at a limit, cannot be started: there is no program no-such-agent-anywhere");
    assert!(
        warned.is_some() && warned < out.stderr.find("iteration 1 of"),
        "it is said before the first session: {out}"
    );
    assert!(
        !out.stderr.contains("codex, which is to take over"),
        "its program is there: {out}"
    );
}

#[test]
fn unreadable_fallback_preset_prevents_the_start() {
    let env = TestEnv::new();
    let repo = env.repo();
    claude(&env, "commit ok.txt; answer done");
    repo.write("agents/odd.json", "{");
    let agents = json!([
        {"name": "main", "preset": "claude", "fallback": ["odd", "gone"]},
        {"name": "odd", "preset": "agents/odd.json"}, {"name": "gone", "command": ["no-such-agent-anywhere"]}]);
    repo.write(
        "completion.json",
        json!({"version": 1, "agents": agents}).to_string(),
    );
    repo.commit_all("agents");
    repo.watchdog(&["trust"]).expect(0);
    let task = env.write("PROMPT.md", "Build the thing.");
    let out = repo.watchdog_line(
        "loop --agent main --prompt {}",
        &[task.to_str().expect("UTF-8")],
    );
    assert!(out.code != Some(0) && calls(&env).is_empty(), "{out}");
    let found = repo.watchdog(&["doctor", "--json"]).json()["findings"].to_string();
    assert!(found.contains("gone, which agents[].fallback names, cannot take over: there is no program no-such-agent-anywhere"), "{found}");
    assert!(found.contains("agents/odd.json"), "{found}");
}

#[test]
fn loop_names_the_agent_of_its_command_line() {
    let env = TestEnv::new();
    let repo = env.repo();
    codex(&env, "commit ok.txt; answer done");
    let out = looped(
        &env,
        &repo,
        &config(&env, needs("ok.txt")),
        &["--", "codex", "exec", "--json"],
    )
    .expect(0);
    out.assert_told(&["session of Codex CLI, as its command line says"]);
}

#[test]
fn agent_without_resume_gets_the_whole_task_again() {
    let env = TestEnv::new();
    let repo = env.repo();
    let argv = env.root().join("argv");
    let says = format!(
        r#"answer() {{ echo '{{"type":"result","subtype":"success","is_error":false,"result":"'"$1"'","session_id":"{CLAUDE_ID}"}}'; }}"#
    );
    program(
        &env,
        "amp",
        &says,
        &format!(
            "echo \"$*\" > {}.$n; [ $n = 2 ] && commit ok.txt; answer 'not yet'",
            argv.display()
        ),
    );
    let options = ["--agent", "amp", "--continue", "--no-progress", "0"];
    let out = looped(&env, &repo, &config(&env, needs("ok.txt")), &options).expect(0);
    let second = fs::read_to_string(format!("{}.2", argv.display())).expect("a second session");
    assert!(
        second.contains("Build the thing."),
        "it knows nothing of the first one: {second}\n{out}"
    );
    assert!(out.stderr.contains("iteration 2 begins a new conversation despite --continue: amp cannot take up the last one"), "{out}");
    assert!(!out.stderr.contains("iteration 1 begins a new"), "{out}");
}

#[test]
fn nobody_takes_over_who_is_not_named() {
    let env = TestEnv::new();
    let repo = env.repo();
    claude(
        &env,
        &format!("limit {}", Timestamp::now().as_second() + 7200),
    );
    codex(&env, "commit ok.txt; answer done");
    let config = config(&env, json!({}));
    looped(
        &env,
        &repo,
        &config,
        &["--agent", "claude", "--max-wait", "1m"],
    )
    .expect(11);
    assert_eq!(calls(&env), ["claude session 1"]);
    let unknown = looped(
        &env,
        &repo,
        &config,
        &["--agent", "claude", "--fallback", "codx"],
    )
    .expect(2);
    unknown.assert_has("message", "did you mean `codex`?");
    assert_eq!(calls(&env).len(), 1, "nothing was started: {unknown}");
}

#[test]
fn conversations_of_other_agents_are_never_resumed() {
    let env = TestEnv::new();
    let repo = env.repo();
    let reset = Timestamp::now().as_second() + 7200;
    codex(
        &env,
        &format!(
            "echo \"$*\" >> {}; [ $n = 3 ] && commit ok.txt; answer 'not yet'",
            env.root().join("argv").display()
        ),
    );
    claude(
        &env,
        &format!("[ $n = 1 ] && {{ commit a.txt; answer 'not yet'; exit 0; }}\nlimit {reset}"),
    );
    let options = fill_line(
        "--agent claude --fallback codex --continue --no-progress 0",
        &[],
    );
    let out = looped(&env, &repo, &config(&env, needs("ok.txt")), &options).expect(0);
    let argv = fs::read_to_string(env.root().join("argv")).expect("codex was started");
    let lines: Vec<&str> = argv.lines().collect();
    assert!(!argv.contains(CLAUDE_ID), "{argv}\n{out}");
    assert!(!lines[0].contains("resume"), "it begins anew: {argv}");
    assert!(
        lines[1].contains(&format!("resume {CODEX_ID}")),
        "and goes on in its own conversation: {argv}"
    );
}

#[test]
fn limited_task_goes_to_the_next_agent() {
    let env = TestEnv::new();
    let repo = env.repo();
    claude(
        &env,
        &format!("limit {}", Timestamp::now().as_second() + 7200),
    );
    codex(&env, "commit one.txt; answer done");
    repo.write(
        ".watchdog/tasks/T1.md",
        "---\nid: T1\ntitle: About T1\n---\n\nDo T1.\n",
    );
    repo.commit_all("a task");
    let more = json!({
        "agents": [{"name": "main", "preset": "claude", "fallback": ["spare"]}, {"name": "spare", "preset": "codex"}],
        "completion_check": {"max_probes": 0},
    });
    let config = config(&env, more);
    let args = fill_line(
        "task run T1 --as main --json --no-probe --config {}",
        &[&config],
    );
    let out = repo
        .watchdog_command(&args)
        .timeout(Duration::from_secs(120))
        .run()
        .expect(0);
    out.assert_verdict("complete/new_commits", json!({"/task/agent": "main"}));
    assert_eq!(
        calls(&env),
        ["claude session 1", "codex session 1"],
        "{out}"
    );
    let told = prompt(&env, "codex", 1);
    assert_parts(
        &told,
        &["from another agent, main: it met a usage limit.", "Do T1."],
    );
}
