//! Questions to the presets' agents: what each costs, what it is given outside the work tree, and what it leaves behind.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use watchdog_agent::preset::PresetCatalog;
use watchdog_agent::probe::{ProbeAnswer, ProbeRequest, ProbeSubject, ask_with};
use watchdog_agent::stream::TokenCounts;
use watchdog_core::config::settings::{AgentSettings, PresetName};
use watchdog_facts::evidence::ProbeOutcome;
use watchdog_process::program::ProgramRun;

use crate::support::{CommandOutput, TestEnv, fill_line};

const ID: &str = "97d38b7d-137f-44c8-a906-ac97e99b783f";
const REPLY: &str = r#"{"status": "working", "message": "scripted"}"#;

fn script(folder: &Path, text: &str) -> PathBuf {
    let path = folder.join("agent");
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("a script can be written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("modes can be set");
    path
}

/// Asks an agent whose program is this script.
fn ask(preset: &str, text: &str, tokens: Option<TokenCounts>) -> ProbeAnswer {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let settings = AgentSettings {
        preset: PresetName::parse(preset).expect("a name"),
        model: None,
        probe: None,
    };
    let request = ProbeRequest {
        settings: &settings,
        preset: PresetCatalog::built_in_named(preset).ok_or_else(String::new),
        program: Some(script(scratch.path(), text).into_os_string()),
        worktree: scratch.path(),
        session_id: Some(ID),
        expected_session: None,
        probed: ProbeSubject {
            transcript: None,
            tokens,
        },
        number: 1,
        prompt: "STATUS".into(),
        timeout: Duration::from_secs(60),
        now: "2026-08-19T16:28:34Z".parse().expect("an instant"),
    };
    ask_with(&request, &ProgramRun::run)
}

fn printing(events: &[Value]) -> String {
    let lines: String = events.iter().map(|event| format!("{event}\n")).collect();
    format!("cat > /dev/null\ncat <<'END'\n{lines}END")
}

fn codex(input: u64, output: u64) -> Vec<Value> {
    vec![
        json!({"type": "thread.started", "thread_id": "01a20978-ba6b-7ce1-87aa-9187af2d7e4f"}),
        json!({"type": "turn.started"}),
        json!({"type": "item.completed", "item": {"id": "item_1", "type": "agent_message", "text": REPLY}}),
        json!({"type": "turn.completed", "usage": {"input_tokens": input, "cached_input_tokens": 0, "output_tokens": output}}),
    ]
}

fn qwen(input: u64, output: u64) -> Vec<Value> {
    vec![
        json!({"type": "system", "subtype": "init", "session_id": ID, "qwen_code_version": "0.24.4"}),
        json!({"type": "assistant", "session_id": ID, "message": {"id": "m", "role": "assistant", "model": "m",
               "content": [{"type": "text", "text": REPLY}], "usage": {"input_tokens": 100, "output_tokens": 20}}}),
        json!({"type": "result", "subtype": "success", "session_id": ID, "is_error": false, "num_turns": 1, "result": REPLY,
               "usage": {"input_tokens": input, "output_tokens": output}}),
    ]
}

fn opencode(input: u64, output: u64) -> Vec<Value> {
    let id = "ses_dfde5e0f2ffeKDNAhfAScDx7E4";
    vec![
        json!({"type": "text", "sessionID": id, "part": {"type": "text", "text": REPLY}}),
        json!({"type": "step_finish", "sessionID": id, "part": {"reason": "stop", "cost": 0,
               "tokens": {"total": input + output, "input": input, "output": output, "reasoning": 0, "cache": {"read": 0, "write": 0}}}}),
    ]
}

#[test]
fn question_is_charged_only_its_known_own_cost() {
    let before = |input, output| Some(TokenCounts { input, output });
    for (preset, events, known, expected) in [
        ("codex", codex(500, 80), before(400, 60), Some((100, 20))),
        ("codex", codex(500, 80), None, None),
        ("codex", codex(100, 20), before(400, 60), Some((100, 20))),
        ("codex", codex(400, 60), before(400, 60), Some((0, 0))),
        ("qwen", qwen(500, 80), before(400, 60), Some((100, 20))),
        ("qwen", qwen(500, 80), None, None),
        (
            "opencode",
            opencode(100, 20),
            before(400, 60),
            Some((100, 20)),
        ),
        ("opencode", opencode(100, 20), None, Some((100, 20))),
    ] {
        // opencode's sessions have ids of another form; this one is known as well.
        let answer = ask(preset, &printing(&events), known);
        assert!(
            matches!(answer.outcome, ProbeOutcome::Reply(_)),
            "{preset} {:?}",
            answer.outcome
        );
        let usage = answer.usage.input_tokens.zip(answer.usage.output_tokens);
        assert_eq!(
            (answer.usage.requests, usage),
            (1, expected),
            "{preset} {known:?}"
        );
    }
}

#[test]
fn schema_file_of_a_question_is_removed_afterwards() {
    let said = printing(&codex(1, 1));
    let keep = tempfile::tempdir().expect("a scratch folder");
    let kept = keep.path().display();
    let find = "while [ $# -gt 0 ]; do [ \"$1\" = --output-schema ] && schema=\"$2\"; shift; done";
    let answer = ask(
        "codex",
        &format!("{find}\necho \"$schema\" > {kept}/path; cp \"$schema\" {kept}/schema\n{said}"),
        None,
    );
    assert!(
        matches!(answer.outcome, ProbeOutcome::Reply(_)),
        "{:?}",
        answer.outcome
    );
    let schema: Value =
        serde_json::from_slice(&fs::read(keep.path().join("schema")).expect("it was there"))
            .expect("JSON");
    assert_eq!(schema["additionalProperties"], false);
    let path = fs::read_to_string(keep.path().join("path")).expect("it was named");
    assert!(!Path::new(path.trim()).exists(), "{path}");
}

#[test]
fn service_refusing_a_schema_is_asked_without_one() {
    let refused = json!({"type": "turn.failed", "error": {"message": "{\"error\": {\"message\": \"Invalid schema for response_format\"}}"}});
    let started = json!({"type": "thread.started", "thread_id": ID});
    let fails = printing(&[started, refused]);
    let said = printing(&codex(1, 1));
    let answer = ask(
        "codex",
        &format!("case \"$*\" in *--output-schema*)\n{fails}\nexit 1;; esac\n{said}"),
        None,
    );
    assert!(
        matches!(answer.outcome, ProbeOutcome::Reply(_)),
        "{:?}",
        answer.outcome
    );
}

/// A Gemini CLI that records its session as the real one does, and writes down how it was asked.
fn gemini(env: &TestEnv) {
    let root = env.root().display().to_string();
    let said = REPLY.replace("working", "complete").replace('"', "\\\"");
    let text = format!(
        r#"#!/bin/sh
if [ -n "$WATCHDOG_QUESTION" ]; then
    cat > /dev/null; echo "asked" >> {root}/asked; echo "$*" > {root}/args; pwd > {root}/cwd; echo "$GEMINI_CLI_HOME" > {root}/own
    cp "$GEMINI_CLI_HOME/.gemini/settings.json" {root}/settings; mkdir -p "$GEMINI_CLI_HOME/.gemini/tmp/x/chats"; touch "$GEMINI_CLI_HOME/.gemini/tmp/x/chats/s.jsonl"
    echo '{{"session_id": "5d276d8b-bc37-408d-81a5-849167e134ff", "response": "{said}", "stats": {{"models": {{}}}}}}'; exit 0
fi
mkdir -p "$HOME/.gemini/tmp/repo/chats"
hash=$(printf %s "$(pwd -P)" | sha256sum | cut -d' ' -f1)
echo '{{"sessionId":"{ID}","projectHash":"'$hash'","kind":"main"}}' > "$HOME/.gemini/tmp/repo/chats/session-2026-11-23T17-33-97d38b7d.jsonl"
echo '{{"type":"init","session_id":"{ID}","model":"m"}}'; echo work > a.txt
echo '{{"type":"message","role":"assistant","content":"done","delta":true}}'; echo '{{"type":"result","status":"success","stats":{{}}}}'
"#
    );
    env.install_script("gemini", text);
}

fn run_gemini(env: &TestEnv, key: &str) -> CommandOutput {
    let repo = env.repo();
    let config = json!({
        "version": 1, "rescue": {"mode": "single"},
        "completion_check": {"max_probes": 1, "probe_interval_seconds": 0, "probe_timeout_seconds": 60},
    });
    let config = env
        .write("config/completion.json", config.to_string())
        .to_string_lossy()
        .into_owned();
    let args = fill_line(
        "run --json --config {} -- gemini --output-format stream-json",
        &[&config],
    );
    repo.watchdog_command(&args)
        .env("GEMINI_API_KEY", key)
        .timeout(Duration::from_secs(120))
        .run()
}

#[test]
fn gemini_is_asked_in_a_separate_home() {
    let env = TestEnv::new();
    gemini(&env);
    env.write(
        "home/.gemini/settings.json",
        json!({"model": {"name": "m"}, "hooks": {"BeforeAgent": []}}).to_string(),
    );
    let out = run_gemini(&env, "scripted-key").expect(0);
    let read = |name: &str| {
        fs::read_to_string(env.root().join(name))
            .unwrap_or_else(|error| panic!("{name}: {error}\n{out}"))
    };
    assert!(
        read("args").contains(&format!(
            "--session-file {}",
            env.root().join("home/.gemini/tmp/repo/chats").display()
        )),
        "{out}"
    );
    let own = PathBuf::from(read("own").trim());
    assert!(
        !own.exists() && !own.starts_with(env.root().join("home")),
        "{own:?} is gone"
    );
    assert!(
        Path::new(read("cwd").trim()).starts_with(own.parent().expect("a parent")),
        "nothing of the repository is near"
    );
    let settings: Value = serde_json::from_str(&read("settings")).expect("JSON");
    assert_eq!(
        settings,
        json!({"model": {"name": "m"}, "tools": {"core": ["none"]}})
    );
    let chats: Vec<_> = fs::read_dir(env.root().join("home/.gemini/tmp/repo/chats"))
        .expect("it is there")
        .collect();
    assert_eq!(chats.len(), 1);
}

#[test]
fn gemini_needing_a_copied_login_is_not_asked() {
    for (key, login, why) in [
        ("", false, "none of GEMINI_API_KEY"),
        ("scripted-key", true, "holds a login, which is not copied"),
    ] {
        let env = TestEnv::new();
        gemini(&env);
        if login {
            env.write("home/.gemini/oauth_creds.json", "{}");
        }
        let out = run_gemini(&env, key);
        assert!(
            !env.root().join("asked").exists() && out.json().to_string().contains(why),
            "{out}"
        );
        assert_ne!(
            out.json()["status"],
            "failed",
            "that says nothing about the session\n{out}"
        );
    }
}
