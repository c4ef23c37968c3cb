//! Agents as they are seen: behind launchers, in pipelines and wrapper scripts, and by what is printed. Who is asked, and what that is worth.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{
    CommandOutput, Repo, TestEnv, assert_parts, at_once, extended, fill_line, wait_until,
};

const LONG: Duration = Duration::from_secs(60);
const CLAUDE_ID: &str = "97d38b7d-137f-44c8-a906-ac97e99b783f";
const CODEX_ID: &str = "01a20210-5f8a-7a32-b14b-ca588022d080";
const SAYS_CODEX: &str = "session of Codex CLI, as its command line says";

/// Installs a script as a program.
fn program(env: &TestEnv, name: &str, text: &str) {
    env.install_script(name, text);
}

/// An agent that prints as Codex does. Asked, it says that the work is done, and leaves its name and arguments in `calls`.
fn codex(env: &TestEnv, session: &str) {
    let root = env.root().display().to_string();
    let text = format!(
        r#"#!/bin/sh
says() {{ echo '{{"type":"thread.started","thread_id":"{CODEX_ID}"}}'; echo '{{"type":"turn.started"}}'
    echo '{{"type":"item.completed","item":{{"id":"item_1","type":"agent_message","text":"'"$1"'"}}}}'
    echo '{{"type":"turn.completed","usage":{{"input_tokens":300,"cached_input_tokens":0,"output_tokens":60}}}}'; }}
fails() {{ echo '{{"type":"thread.started","thread_id":"{CODEX_ID}"}}'; echo '{{"type":"error","message":"'"$1"'"}}'
    echo '{{"type":"turn.failed","error":{{"message":"'"$1"'"}}}}'; exit 1; }}
if [ -n "$WATCHDOG_QUESTION" ]; then
    echo "codex $*" >> {root}/calls; cat > /dev/null; says '{{\"status\": \"complete\", \"message\": \"scripted\"}}'; exit 0
fi
{session}
"#
    );
    program(env, "codex", &text);
}

/// An agent that nobody should ask.
fn claude(env: &TestEnv) {
    let root = env.root().display().to_string();
    program(
        env,
        "claude",
        &format!(
            "#!/bin/sh\necho \"claude $*\" >> {root}/calls; cat > /dev/null; echo 'I was asked'\n"
        ),
    );
}

fn calls(env: &TestEnv) -> Vec<String> {
    fs::read_to_string(env.root().join("calls"))
        .unwrap_or_default()
        .lines()
        .map(str::to_owned)
        .collect()
}

/// A configuration without pauses.
fn config(env: &TestEnv, more: &Value) -> String {
    let config = extended(
        json!({
            "version": 1, "rescue": {"mode": "single"},
            "completion_check": {"max_probes": 1, "probe_interval_seconds": 0, "probe_timeout_seconds": 30},
        }),
        more,
    );
    env.write("config/completion.json", config.to_string())
        .to_string_lossy()
        .into_owned()
}

fn run(repo: &Repo<'_>, config: &str, command: &[&str]) -> CommandOutput {
    let args = [&["run", "--json", "--config", config, "--"], command].concat();
    repo.watchdog_command(&args)
        .timeout(Duration::from_secs(120))
        .run()
}

#[track_caller]
fn assert_asked_codex(env: &TestEnv, out: &CommandOutput) {
    let calls = calls(env);
    assert!(
        !calls.is_empty()
            && calls
                .iter()
                .all(|call| call.starts_with("codex ") && call.contains(CODEX_ID)),
        "{calls:?}\n{out}"
    );
    out.assert_values(json!({"/session/agent": "codex", "/session/id": CODEX_ID}));
}

#[test]
fn launched_agent_is_asked_about_its_own_session() {
    let tee = "echo 'not claude' > notes.txt; codex exec --json 'do it' 2>&1 | tee log.jsonl";
    let cases = [
        fill_line("codex exec --json {}", &["do it"]),
        fill_line("npx -y @openai/codex@0.169.0 exec --json {}", &["do it"]),
        fill_line("env A=1 timeout 60 codex exec --json {}", &["do it"]),
        fill_line("sh -c {}", &[tee]),
    ];
    at_once(cases, |command| {
        let env = TestEnv::new();
        let repo = env.repo();
        codex(&env, "echo work > a.txt; says done");
        program(&env, "npx", "#!/bin/sh\nshift 2\nexec codex \"$@\"\n");
        claude(&env);
        let out = run(&repo, &config(&env, &json!({})), &command).expect(0);
        assert_asked_codex(&env, &out);
        out.assert_verdict("complete/rescued", json!({"/session/known_by": "output"}));
        assert!(out.stderr.contains(SAYS_CODEX), "{out}");
    });
}

#[test]
fn a_limit_is_read_without_a_flag() {
    let env = TestEnv::new();
    let repo = env.repo();
    let config = config(&env, &json!({}));
    codex(
        &env,
        "fails \"You have hit your usage limit. Try again in 3 days 2 hours.\"",
    );
    let out = run(
        &repo,
        &config,
        &["sh", "-c", "codex exec --json x | tee log"],
    )
    .expect(11);
    assert_eq!(out.verdict(), "waiting/rate_limited", "{out}");
    assert!(out.json()["retry_at"].is_string(), "{out}");
}

#[test]
fn refusal_names_the_option_of_its_program() {
    let env = TestEnv::new();
    let repo = env.repo();
    let refused = json!({"type": "item.completed", "item": {"id": "item_0", "type": "command_execution", "command": "git commit -m x",
        "aggregated_output": "fatal: Unable to create '/w/.git/index.lock': Read-only file system\n", "exit_code": 128, "status": "failed"}});
    codex(
        &env,
        &format!("cat <<'END'\n{refused}\nEND\nsays \"I could not commit.\""),
    );
    let out = run(
        &repo,
        &config(&env, &json!({})),
        &["sh", "-c", "codex exec --json x | cat"],
    );
    assert!(
        out.verdict().starts_with("review/"),
        "nothing could be done, which a person must change\n{out}"
    );
    let option = "-c 'sandbox_workspace_write.writable_roots=[\".git\"]'";
    out.assert_values(json!({
        "refused_tools": [{"tool": "command_execution", "cause": "read_only_git", "allow_with": option}],
    }));
    out.assert_has("message", option);
    assert_eq!(calls(&env), Vec::<String>::new(), "nobody is asked");
}

#[test]
fn an_id_that_another_program_printed_completes_nothing() {
    let env = TestEnv::new();
    let repo = env.repo();
    codex(&env, "echo work > a.txt; says done");
    program(&env, "qwen", "#!/bin/sh\nexec codex \"$@\"\n");
    let out = run(&repo, &config(&env, &json!({})), &["qwen", "-p", "do it"]);
    assert_eq!(out.json()["session"]["agent"], "qwen", "{out}");
    assert_ne!(out.json()["status"], "complete", "{out}");
    assert!(!calls(&env).is_empty(), "it may be asked\n{out}");
}

#[test]
fn wrapped_agent_is_recognised_but_never_trusted_alone() {
    let env = TestEnv::new();
    let repo = env.repo();
    let go = env.root().join("go");
    codex(
        &env,
        &format!(
            "until [ -e {} ]; do sleep 0.05; done; echo work > a.txt; says done",
            go.display()
        ),
    );
    claude(&env);
    program(
        &env,
        "work-on-it",
        "#!/bin/sh\nset -e\ncodex exec --json \"$1\"\n",
    );
    let config = config(&env, &json!({}));
    let running = repo.spawn_line(
        "run --json --config {} -- work-on-it {}",
        &[&config, "do it"],
    );
    wait_until("its child is recognised", LONG, || {
        running.stderr_so_far().contains("Codex CLI")
    });
    fs::write(&go, "").expect("a file can be written");
    let out = running.wait();
    assert_asked_codex(&env, &out);
    assert_eq!(out.verdict(), "review/disputed", "{out}");
    assert_eq!(out.code, Some(12), "{out}");
    let told = out.json().to_string();
    assert!(
        told.contains("by the names of its processes alone") && told.contains("agent.preset"),
        "{out}"
    );
    let later = repo.watchdog(&["check", "--json", "--config", &config]);
    assert_ne!(
        later.json()["status"],
        "complete",
        "a later judgement knows no more: {later}"
    );
}

#[test]
fn agent_recognised_by_output_is_at_most_disputed() {
    let env = TestEnv::new();
    let repo = env.repo();
    codex(&env, "exit 9");
    claude(&env);
    let printed = format!(
        "#!/bin/sh\necho work > a.txt\necho '{{\"type\":\"thread.started\",\"thread_id\":\"{CODEX_ID}\"}}'\n\
         echo '{{\"type\":\"turn.completed\",\"usage\":{{\"input_tokens\":1,\"output_tokens\":1}}}}'\n"
    );
    program(&env, "my-tool", &printed);
    let out = run(&repo, &config(&env, &json!({})), &["my-tool"]);
    assert_asked_codex(&env, &out);
    assert_eq!(out.verdict(), "review/disputed", "{out}");
    assert_parts(&out.json().to_string(), &["by its own output alone"]);

    let env = TestEnv::new();
    let repo = env.repo();
    codex(&env, "exit 9");
    program(&env, "my-tool", &printed);
    let out = run(
        &repo,
        &config(&env, &json!({"agent": {"preset": "codex"}})),
        &["my-tool"],
    )
    .expect(0);
    assert_asked_codex(&env, &out);
    assert_eq!(
        out.verdict(),
        "complete/rescued",
        "a person named the agent: {out}"
    );
}

#[test]
fn what_only_speaks_of_an_agent_is_none() {
    let env = TestEnv::new();
    let repo = env.repo();
    codex(&env, "exit 9");
    program(&env, "my-codex-viewer", "#!/bin/sh\necho claude codex\n");
    let config = config(&env, &json!({}));
    for command in [
        &["sh", "-c", "echo claude"][..],
        &["my-codex-viewer"],
        &["sh", "-c", "echo 'codex exec' > a.txt"],
    ] {
        let out = run(&repo, &config, &[&["env"], command].concat());
        assert_eq!(
            out.json()["session"]["agent"],
            Value::Null,
            "{command:?}: {out}"
        );
        assert!(
            !out.stderr.contains("session of ") && calls(&env).is_empty(),
            "{command:?}: {out}"
        );
    }
}

#[test]
fn running_agent_outranks_a_preset_but_no_program() {
    let env = TestEnv::new();
    let repo = env.repo();
    codex(&env, "echo work > a.txt; says done");
    claude(&env);
    let out = run(
        &repo,
        &config(&env, &json!({"agent": {"preset": "claude"}})),
        &["codex", "exec", "--json", "x"],
    )
    .expect(0);
    assert_asked_codex(&env, &out);
    assert_eq!(
        out.stderr.matches("agent.preset names claude").count(),
        1,
        "{out}"
    );
    let before = calls(&env).len();
    let own = json!({"agent": {"probe": ["sh", "-c", "cat > /dev/null; echo '{\"status\": \"complete\"}'"]}});
    let out = run(
        &repo,
        &config(&env, &own),
        &["sh", "-c", "codex exec --json x; echo more > b.txt"],
    )
    .expect(0);
    assert_eq!(out.verdict(), "complete/rescued", "{out}");
    assert_eq!(calls(&env).len(), before, "{out}");
}

#[test]
fn a_session_that_makes_itself_up_gains_nothing() {
    let env = TestEnv::new();
    let repo = env.repo();
    codex(&env, "exit 9");
    let config = config(&env, &json!({}));
    // Two dialects at once, and a child that calls itself an agent.
    let two = format!(
        "#!/bin/bash\necho work > a.txt\n(exec -a codex sleep 300) & child=$!\n\
         until [ -e {} ]; do sleep 0.05; done\nkill $child\n\
         echo '{{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"{CLAUDE_ID}\"}}'\n\
         echo '{{\"type\":\"thread.started\",\"thread_id\":\"{CODEX_ID}\"}}'\n\
         echo '{{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"{{\\\"status\\\": \\\"complete\\\"}}\",\"session_id\":\"{CLAUDE_ID}\"}}'\n",
        env.root().join("go").display()
    );
    program(&env, "my-tool", &two);
    program(
        &env,
        "claude",
        &format!(
            "#!/bin/sh\ncat > /dev/null\necho '{{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"{{\\\"status\\\": \\\"complete\\\"}}\",\"session_id\":\"{CLAUDE_ID}\"}}'\n"
        ),
    );
    let running = repo.watchdog_spawn(&["run", "--json", "--config", &config, "--", "my-tool"]);
    wait_until("its child is seen", LONG, || {
        running.stderr_so_far().contains("Codex CLI")
    });
    fs::write(env.root().join("go"), "").expect("a file can be written");
    let out = running.wait();
    assert_ne!(out.json()["status"], "complete", "{out}");
    assert!(!repo.snapshots().is_empty(), "the work is kept: {out}");
}

#[test]
fn two_megabyte_command_line_is_still_recognised() {
    let env = TestEnv::new();
    let repo = env.repo();
    codex(&env, "echo work > a.txt; says done");
    let long = "x".repeat(100_000);
    let command: Vec<&str> = ["codex", "exec", "--json"]
        .into_iter()
        .chain(std::iter::repeat_n(long.as_str(), 18))
        .collect();
    let out = run(&repo, &config(&env, &json!({})), &command).expect(0);
    assert_asked_codex(&env, &out);
}

#[test]
fn foreign_session_is_recognised_by_its_processes() {
    let env = TestEnv::new();
    let repo = env.repo();
    let go = env.root().join("go");
    codex(
        &env,
        &format!(
            "until [ -e {} ]; do sleep 0.05; done; echo work > a.txt; says done",
            go.display()
        ),
    );
    claude(&env);
    let config = config(&env, &json!({}));
    repo.watchdog(&["snapshot", "--config", &config]).expect(0);
    let session = repo
        .env_command("sh", &["-c", "codex exec --json x"])
        .spawn();
    let pid = session.pid().to_string();
    let checking = repo.watchdog_spawn(&["check", "--json", "--config", &config, "--pid", &pid]);
    wait_until("it is recognised", LONG, || {
        checking.stderr_so_far().contains("Codex CLI")
    });
    fs::write(&go, "").expect("a file can be written");
    session.wait().expect(0);
    let out = checking.wait();
    assert_eq!(out.json()["session"]["agent"], "codex", "{out}");
    assert!(
        calls(&env).iter().all(|call| call.starts_with("codex ")),
        "{:?}\n{out}",
        calls(&env)
    );
    assert_ne!(
        out.json()["status"],
        "complete",
        "its word alone completes nothing: {out}"
    );
}
