//! Sessions that no output and no hook names: known by the one transcript that was begun during them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{CommandOutput, Repo, TestEnv, fill_line, wait_until};

const FIRST: &str = "01a20210-5f8a-7a32-b14b-ca588022d080";
const SECOND: &str = "01a20210-5f8a-7a32-b14b-ca588022d081";
const OLD: &str = "01a20210-5f8a-7a32-b14b-ca588022d07f";

/// A Codex that prints prose and records these sessions: the id of each, and its folder. Asked, it answers from a fork with another id.
fn codex(env: &TestEnv, sessions: &[(&str, &str)]) -> PathBuf {
    let records: String = sessions
        .iter()
        .map(|(id, folder)| format!("record {id} \"{folder}\"\n"))
        .collect();
    let root = env.root().display().to_string();
    let text = format!(
        r#"#!/bin/sh
record() {{ mkdir -p "$HOME/.codex/sessions/2026/11/23"; echo '{{"type":"session_meta","payload":{{"id":"'"$1"'","cwd":"'"$2"'"}}}}' > "$HOME/.codex/sessions/2026/11/23/rollout-$1.jsonl"; }}
if [ -n "$WATCHDOG_QUESTION" ]; then
    echo "$*" >> {root}/calls; cat > /dev/null
    echo '{{"type":"thread.started","thread_id":"01a20210-5f8a-7a32-b14b-ca588022dfff"}}'; echo '{{"type":"turn.started"}}'
    echo '{{"type":"item.completed","item":{{"id":"item_1","type":"agent_message","text":"{{\"status\": \"complete\", \"message\": \"scripted\"}}"}}}}'
    echo '{{"type":"turn.completed","usage":{{"input_tokens":300,"cached_input_tokens":0,"output_tokens":60}}}}'
    exit 0
fi
{records}
echo work > a.txt; echo "I wrote a file."
"#
    );
    let path = env.write("programs/codex", text);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
        .expect("a script can be made a program");
    path
}

fn config(env: &TestEnv) -> String {
    let config = json!({
        "version": 1, "rescue": {"mode": "single"},
        "completion_check": {"max_probes": 1, "probe_interval_seconds": 0, "probe_timeout_seconds": 30},
    });
    env.write("config/completion.json", config.to_string())
        .to_string_lossy()
        .into_owned()
}

fn run(repo: &Repo<'_>, env: &TestEnv) -> CommandOutput {
    repo.watchdog_command(&fill_line(
        "run --json --config {} -- codex exec {}",
        &[&config(env), "do it"],
    ))
    .run()
}

fn calls(env: &TestEnv) -> Vec<String> {
    fs::read_to_string(env.root().join("calls"))
        .unwrap_or_default()
        .lines()
        .map(str::to_owned)
        .collect()
}

/// Whether the agent was called, and always on a fork of its first session.
fn are_forks_of_first(calls: &[String]) -> bool {
    let fork = format!("fork {FIRST}");
    !calls.is_empty() && calls.iter().all(|call| call.contains(&fork))
}

#[test]
fn sole_session_of_a_folder_is_asked() {
    let env = TestEnv::new();
    let repo = env.repo();
    let folder = repo.path().display().to_string();
    env.install("codex", &codex(&env, &[(OLD, &folder)]));
    run(&repo, &env);
    fs::remove_file(env.root().join("calls")).expect("it was asked about its first session");
    let first = env
        .home()
        .join(format!(".codex/sessions/2026/11/23/rollout-{OLD}.jsonl"));
    let begun = fs::metadata(first)
        .expect("its transcript")
        .created()
        .expect("a time");
    wait_until(
        "the next session is clearly later",
        Duration::from_secs(60),
        || {
            begun
                .elapsed()
                .is_ok_and(|ago| ago > Duration::from_secs(1))
        },
    );
    codex(&env, &[(FIRST, &folder), (SECOND, "/elsewhere")]);
    let out = run(&repo, &env).expect(0);
    let ended = json!({"exit_code": 0, "signal": null, "by": "itself"});
    let session = json!({"id": FIRST, "agent": "codex", "known_by": "transcript", "idle_seconds": null, "ended": ended});
    assert_eq!(out.json()["session"], session, "{out}");
    assert!(are_forks_of_first(&calls(&env)), "{:?}\n{out}", calls(&env));
}

#[test]
fn ambiguous_session_is_never_asked() {
    let env = TestEnv::new();
    let repo = env.repo();
    let folder = repo.path().display().to_string();
    env.install(
        "codex",
        &codex(&env, &[(FIRST, &folder), (SECOND, &folder)]),
    );
    let out = run(&repo, &env);
    assert_eq!(calls(&env), Vec::<String>::new(), "{out}");
    assert_ne!(out.json()["status"], "complete", "{out}");
    assert_eq!(out.json()["session"]["id"], Value::Null, "{out}");
}

#[test]
fn codex_by_hand_is_asked_about_its_session() {
    let env = TestEnv::new();
    let repo = env.repo();
    let folder = repo.path().display().to_string();
    env.install("codex", &codex(&env, &[(FIRST, &folder)]));
    for (judge, done) in [
        (&["sweep", "--json", "-q"][..], "\"session_active\""),
        (&["check", "--json", "-q"], "\"rescued\""),
        (&["probe", "--json"], "\"complete\""),
    ] {
        fs::remove_dir_all(env.home().join(".codex")).ok();
        fs::remove_file(env.root().join("calls")).ok();
        fs::remove_file(repo.path().join("a.txt")).ok();
        repo.watchdog(&["snapshot"]).expect(0);
        env.command("codex", repo.path())
            .args(["exec", "do it"])
            .run()
            .expect(0);
        let out = repo.watchdog(&[&["--config", &config(&env)], judge].concat());
        assert!(are_forks_of_first(&calls(&env)), "{judge:?}: {out}");
        assert!(
            out.stdout.contains(done) && !out.stdout.contains("no agent that can be asked"),
            "{judge:?}: {out}"
        );
    }
}

#[test]
fn agent_seen_working_is_asked_after_its_end() {
    let env = TestEnv::new();
    let repo = env.repo();
    let folder = repo.path().display().to_string();
    env.install("codex", &codex(&env, &[(FIRST, &folder)]));
    repo.watchdog(&["snapshot"]).expect(0);
    // Transcripts of two agents grow: only the process shows which of them worked.
    let slug = folder.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    env.write(
        &format!("home/.claude/projects/{slug}/{SECOND}.jsonl"),
        "{}\n",
    );
    env.command("codex", repo.path())
        .args(["exec", "do it"])
        .run()
        .expect(0);
    let shown = ["-c", "exec -a codex sleep 600"];
    let agent = env.command("bash", repo.path()).args(shown).spawn();
    let sweep = || repo.watchdog(&["--config", &config(&env), "sweep", "--json", "-q"]);
    wait_until("it is seen", Duration::from_secs(60), || {
        sweep().stdout.contains("codex (process")
    });
    drop(agent);
    let out = sweep();
    let is_asked = |call: &String| call.contains(&format!("fork {FIRST}"));
    assert!(
        !calls(&env).is_empty() && calls(&env).iter().all(is_asked),
        "{out}"
    );
}
