//! Presets of the user's own: a file of the configuration folder, and one of the repository, which counts only where it is trusted.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use watchdog_agent::preset::PresetCatalog;

use crate::support::{TestEnv, assert_parts, fill_line, full_screen, wait_until};

const SOON: Duration = Duration::from_secs(60);

const ID: &str = "97d38b7d-137f-44c8-a906-ac97e99b783f";
const PAGE: &str = include_str!("../../docs/agents.md");

/// The example of the page.
fn example() -> Value {
    let text = PAGE
        .split("```json\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .expect("the page has an example");
    serde_json::from_str(text).expect("it is JSON")
}

/// A program that leaves its arguments in `calls`, works in its first session, and says under its id that all is done.
fn install(env: &TestEnv) -> PathBuf {
    let calls = env.root().join("calls");
    let result = json!({"type": "result", "subtype": "success", "is_error": false, "session_id": ID, "result": "{\"status\": \"complete\"}"});
    let text = format!(
        "#!/bin/sh\necho \"$*\" >> '{}'\ncat > /dev/null\n[ \"$1\" = ask ] || echo work > work.txt\necho '{result}'\n",
        calls.display()
    );
    env.install_script("my-agent", text);
    calls
}

fn calls(path: &PathBuf) -> Vec<String> {
    fs::read_to_string(path)
        .unwrap_or_default()
        .lines()
        .map(str::to_owned)
        .collect()
}

#[test]
fn run_with_prompt_starts_the_configured_agent() {
    let mut env = TestEnv::new();
    env.set("XDG_CONFIG_HOME", env.root().join("own").into_os_string());
    let (repo, made) = (env.repo(), install(&env));
    env.write("own/watchdog/agents/my-agent.json", example().to_string());
    let config = env.write(
        "config/completion.json",
        json!({"version": 1, "rescue": {"mode": "off"}, "agent": {"preset": "my-agent", "model": "big"}})
            .to_string(),
    );
    let config = config.display().to_string();
    let line = ["run", "--no-probe", "--config", &config, "-p", "do it"];
    let out = repo.watchdog(&line);
    assert_eq!(out.stdout, "", "its events are for programs\n{out}");
    repo.watchdog(&[&line[..], &["--agent", "my-agent", "--", "--fast"]].concat());
    repo.watchdog(&[&line[..], &["--", "--slow"]].concat());
    assert_eq!(
        calls(&made),
        [
            "work --json --model big",
            "work --json --fast",
            "work --json --model big --slow"
        ],
        "{out}"
    );

    let program = [
        "sh",
        "-c",
        "cat; printf ' in %s' \"$(cat \"$WATCHDOG_PROMPT_FILE\")\"",
    ];
    let line = [&["run", "--no-probe", "-p", "do it", "--"], &program[..]].concat();
    assert_eq!(repo.watchdog(&line).stdout, "do it in do it");
}

#[test]
fn configured_agent_is_started_and_probed_as_described() {
    let mut env = TestEnv::new();
    env.set("XDG_CONFIG_HOME", env.root().join("own").into_os_string());
    let (repo, made) = (env.repo(), install(&env));
    env.write("own/watchdog/agents/my-agent.json", example().to_string());
    let prompt = env.write("p.md", "do it");
    let config = env.write(
        "config/completion.json",
        json!({"version": 1, "rescue": {"mode": "single"}, "agent": {"preset": "my-agent"}})
            .to_string(),
    );
    let (prompt, config) = (prompt.display().to_string(), config.display().to_string());
    let args = fill_line(
        "loop --agent my-agent --prompt {} --config {} --max-iterations 1 --json -- --fast",
        &[&prompt, &config],
    );
    let out = repo.watchdog(&args);
    assert_eq!(
        calls(&made),
        [
            "work --json --fast".to_owned(),
            format!("ask --no-tools --fork {ID}")
        ],
        "{out}"
    );
    out.assert_values(json!({"/probes/0/reply/status": "complete"}));

    let listed = repo.watchdog(&["agent", "list", "--json"]).expect(0).json();
    let own = listed["agents"]
        .as_array()
        .expect("a list")
        .iter()
        .find(|agent| agent["name"] == "my-agent")
        .cloned()
        .expect("it is listed");
    assert_eq!(
        (&own["tested"], &own["capabilities"]["asks_without_trace"]),
        (&Value::Null, &json!(true))
    );
    for (key, end) in [
        ("file", "own/watchdog/agents/my-agent.json"),
        ("found", "/my-agent"),
    ] {
        assert!(
            own[key].as_str().is_some_and(|path| path.ends_with(end)),
            "{own}"
        );
    }
    let shown = repo
        .watchdog(&["agent", "show", "my-agent"])
        .expect(0)
        .stdout;
    assert_parts(
        &shown,
        &["question     my-agent ask --no-tools --fork '{id}'"],
    );
    assert!(shown.contains("tested       no:"), "{shown}");
}

/// The example of the page with the rules of the page.
fn ruled_example() -> Value {
    let block = PAGE
        .split("```text\n")
        .find(|block| block.starts_with("\"stream\": {\"events\""))
        .expect("the page has rules");
    let rules: Value = serde_json::from_str(&format!(
        "{{{}}}",
        block.split("```").next().unwrap_or_default()
    ))
    .expect("they are JSON");
    let mut preset = example();
    preset["stream"] = rules["stream"].clone();
    preset
}

/// A script that prints these events in the dialect of the page, after an id, a text and what it used.
fn prints(env: &TestEnv, path: &str, last: &[Value]) -> PathBuf {
    let first = [
        json!({"type": "begin", "session": {"id": ID}}),
        json!({"type": "say", "text": "I begin."}),
        json!({"type": "step", "usage": {"in": 120, "out": 7, "usd": 0.25}}),
    ];
    let lines: Vec<String> = first
        .iter()
        .chain(last)
        .map(|event| format!("echo '{event}'"))
        .collect();
    script(env, path, &lines.join("\n"))
}

fn script(env: &TestEnv, path: &str, lines: &str) -> PathBuf {
    let program = env.write(path, format!("#!/bin/sh\ncat > /dev/null\n{lines}\n"));
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))
        .expect("a script can be made a program");
    program
}

/// A user whose own agent has the rules of the page, and whose configuration names it.
fn with_rules() -> (TestEnv, String) {
    let mut env = TestEnv::new();
    env.set("XDG_CONFIG_HOME", env.root().join("own").into_os_string());
    env.write(
        "own/watchdog/agents/my-agent.json",
        ruled_example().to_string(),
    );
    let config = env
        .write(
            "config/completion.json",
            r#"{"version": 1, "agent": {"preset": "my-agent"}}"#,
        )
        .display()
        .to_string();
    (env, config)
}

#[test]
fn page_rules_read_the_output_of_own_programs() {
    let (env, _) = with_rules();
    let repo = env.repo();
    env.install("my-agent", &env.write("programs/my-agent", ""));
    let loops = |last: &[Value]| {
        prints(&env, "programs/my-agent", last);
        let prompt = env.write("p.md", "do it").display().to_string();
        let args = format!(
            "loop --agent my-agent --prompt {prompt} --max-iterations 1 --max-wait 1s --no-probe --restart --json"
        );
        repo.watchdog(&args.split(' ').collect::<Vec<_>>())
    };
    let limited = loops(&[
        json!({"type": "error", "code": 429, "reset": "2999-01-01T00:00:00Z", "message": "no more today"}),
    ]);
    assert_eq!(limited.verdict(), "waiting/rate_limited", "{limited}");
    let json = limited.json();
    assert_eq!(
        json["retry_at"].as_str().and_then(|at| at.get(..10)),
        Some("2999-01-01"),
        "{limited}"
    );
    limited.assert_values(json!({"/loop/spent/tokens": 127, "/loop/spent/cost_usd": 0.25}));

    let refused = loops(&[
        json!({"type": "denied", "tool": "shell"}),
        json!({"type": "end", "ok": true}),
    ]);
    refused.assert_values(json!({"/refused_tools/0/tool": "shell"}));
    assert!(
        refused.verdict().starts_with("review/"),
        "a session that could do nothing is for a person\n{refused}"
    );

    let silent = loops(&[]);
    assert!(
        silent.json()["degraded"]
            .to_string()
            .contains("end_unconfirmed"),
        "it never said that it ended\n{silent}"
    );
}

const LIMITED: &str = r#"{"type": "error", "code": 429, "reset": "2999-01-01T00:00:00Z", "message": "no more today"}"#;

#[test]
fn run_reads_sessions_by_their_agent_rules() {
    let (env, config) = with_rules();
    let repo = env.repo();
    env.install("my-agent", &env.write("programs/my-agent", ""));
    for command in ["my-agent", "./wrapper.sh"] {
        let run = |last: &[Value]| {
            prints(&env, "programs/my-agent", last);
            let wrapper = prints(&env, "programs/wrapper.sh", last);
            let command = if command == "my-agent" {
                command.to_owned()
            } else {
                wrapper.display().to_string()
            };
            repo.watchdog_line(
                "run --config {} --no-probe --json -- {}",
                &[&config, &command],
            )
        };
        let limited = run(&[serde_json::from_str(LIMITED).expect("an event")]);
        let json = limited.json();
        assert_eq!(
            limited.verdict(),
            "waiting/rate_limited",
            "{command} {limited}"
        );
        assert!(
            json["retry_at"]
                .as_str()
                .is_some_and(|at| at.starts_with("2999-01-01")),
            "{command} {limited}"
        );
        let ended = repo
            .watchdog(&["events", "--kind", "session_ended", "--json"])
            .expect(0)
            .stdout;
        let ended: Value =
            serde_json::from_str(ended.lines().last().expect("an event")).expect("JSON");
        let ended = &ended["data"];
        assert_eq!(
            (&ended["session_id"], &ended["agent"]),
            (&json!(ID), &json!("my-agent")),
            "{command} {ended}"
        );
        let usage = &ended["usage"];
        assert_eq!(
            (
                &usage["input_tokens"],
                &usage["output_tokens"],
                &usage["cost_usd"]
            ),
            (&json!(120), &json!(7), &json!(0.25)),
            "{ended}"
        );

        let refused = run(&[
            json!({"type": "denied", "tool": "shell"}),
            json!({"type": "end", "ok": true}),
        ]);
        assert_eq!(
            refused.json()["refused_tools"][0]["tool"],
            "shell",
            "{command} {refused}"
        );
        assert!(
            !refused.json()["degraded"]
                .to_string()
                .contains("end_unconfirmed"),
            "{command} {refused}"
        );
        let silent = run(&[]);
        assert!(
            silent.json()["degraded"]
                .to_string()
                .contains("end_unconfirmed"),
            "{command} {silent}"
        );
        let read = repo.watchdog(&["logs"]).expect(0).stdout;
        assert!(
            read.contains(&format!("session {ID}"))
                && read.contains("\nI begin.\n")
                && !read.contains('{'),
            "{command} {read}"
        );
        let list = repo
            .watchdog(&["logs", "--list", "--json"])
            .expect(0)
            .json();
        let oldest = list["logs"]
            .as_array()
            .and_then(|logs| logs.last()?["id"].as_str().map(str::to_owned))
            .expect("a log");
        let read = repo.watchdog(&["logs", &oldest]).expect(0).stdout;
        assert!(
            read.contains("\nI begin.\n") && !read.contains('{'),
            "a log without a record of its own\n{command} {read}"
        );
    }
}

#[test]
fn program_loop_is_read_by_configured_agent_rules() {
    let (env, config) = with_rules();
    let repo = env.repo();
    let program = prints(
        &env,
        "programs/wrapper.sh",
        &[
            json!({"type": "denied", "tool": "shell"}),
            json!({"type": "end", "ok": true}),
        ],
    );
    let (prompt, program) = (
        env.write("p.md", "do it").display().to_string(),
        program.display().to_string(),
    );
    let args = fill_line(
        "loop --config {} --prompt {} --max-iterations 1 --no-probe --json -- {}",
        &[&config, &prompt, &program],
    );
    let out = repo.watchdog(&args);
    out.assert_values(json!({"/loop/spent/tokens": 127, "/refused_tools/0/tool": "shell"}));
    repo.watchdog(&["logs"])
        .expect(0)
        .assert_printed(&["\nI begin.\n"]);
}

#[test]
fn plain_text_and_foreign_events_promise_no_end() {
    let (env, config) = with_rules();
    let repo = env.repo();
    env.install(
        "my-agent",
        &script(&env, "programs/my-agent", "echo I did it."),
    );
    env.install("codex", &script(&env, "programs/codex", "echo I did it."));
    let other = script(
        &env,
        "programs/other.sh",
        &format!(
            "echo '{}'",
            json!({"type": "system", "subtype": "init", "session_id": ID})
        ),
    );
    let other = other.display().to_string();
    for command in [
        &["my-agent"][..],
        &["codex", "exec", "do it"],
        &["sh", "-c", "echo I did it."],
        &[&other],
    ] {
        let out = repo.watchdog(
            &[
                &["run", "--config", &config, "--no-probe", "--json", "--"],
                command,
            ]
            .concat(),
        );
        assert!(
            !out.json()["degraded"]
                .to_string()
                .contains("end_unconfirmed"),
            "{command:?} {out}"
        );
        assert!(
            command[0] == "my-agent" || out.json()["session"]["agent"] != "my-agent",
            "{command:?} {out}"
        );
    }
}

#[test]
fn live_view_reads_sessions_by_their_agent_rules() {
    let (env, config) = with_rules();
    let repo = env.repo();
    let go = env.root().join("go");
    let program = prints(&env, "programs/wrapper.sh", &[]);
    let text = fs::read_to_string(&program).expect("it was written");
    fs::write(
        &program,
        format!(
            "{text}while [ ! -e '{}' ]; do sleep 0.05; done\n",
            go.display()
        ),
    )
    .expect("it can be written");
    let session = repo.spawn_line(
        "run --config {} --no-probe -- {}",
        &[&config, &program.display().to_string()],
    );
    wait_until("the session says something", SOON, || {
        session.stdout_so_far().contains("I begin.")
    });
    let mut live = env
        .watchdog_command(&env.root(), &["status", "--watch"])
        .at_terminal_of(140, "xterm-256color");
    let line = |words: &str| {
        full_screen(&live.shown(), (140, 40))
            .unwrap_or_default()
            .iter()
            .any(|line| line.contains(words))
    };
    wait_until("the view has text and price", SOON, || {
        line("I begin.") && line("0.25")
    });
    assert!(!line("{"), "no line of JSON is shown");
    live.press(&["q"]);
    fs::write(&go, "").expect("it can be written");
    let _ = session.wait();
}

#[test]
fn unknown_agent_is_refused_with_the_nearest() {
    let mut env = TestEnv::new();
    env.set("XDG_CONFIG_HOME", env.root().join("own").into_os_string());
    let repo = env.repo();
    env.write("own/watchdog/agents/my-agent.json", example().to_string());
    repo.watchdog(&["snapshot"]).expect(0);
    repo.write(
        "completion.json",
        r#"{"version": 1, "agent": {"preset": "my-agnet"}}"#,
    );
    let out = repo.watchdog(&["check"]);
    let said = format!("{}{}", out.stdout, out.stderr);
    assert!(said.contains("completion.json:1:36: agent.preset: unknown word \"my-agnet\", did you mean `my-agent`?"), "{out}");
    let shown = repo.watchdog(&["agent", "show", "codxe"]);
    assert!(shown.stderr.contains("did you mean `codex`?"), "{shown}");
}

#[test]
fn repository_preset_runs_only_when_trusted() {
    let env = TestEnv::new();
    let (repo, made) = (env.repo(), install(&env));
    repo.write(
        "completion.json",
        r#"{"version": 1, "agent": {"preset": "agents/mine.json"}, "rescue": {"mode": "off"}}"#,
    );
    repo.write("agents/mine.json", example().to_string());
    repo.commit_all("an agent");
    repo.watchdog(&["trust"]).expect(0);
    repo.watchdog(&["snapshot", "--spec", "work"]).expect(0);
    repo.write("left.txt", "x");
    let check = ["check", "--spec", "work", "--json", "--once"];
    let noted = |out: &crate::support::CommandOutput| out.json()["notes"].to_string();

    let out = repo.watchdog(&check);
    assert_parts(
        &noted(&out),
        &["agents/mine.json is not trusted", "trust agents/mine.json"],
    );
    let prompt = env.write("p.md", "do it").display().to_string();
    let looped = repo
        .watchdog(&["loop", "--agent", "agents/mine.json", "--prompt", &prompt])
        .expect(2);
    assert!(
        format!("{}{}", looped.stdout, looped.stderr).contains("is not trusted"),
        "{looped}"
    );
    assert_eq!(calls(&made), Vec::<String>::new(), "nothing of it ran");

    let trusted = repo.watchdog(&["trust", "agents/mine.json"]).expect(0);
    trusted.assert_printed(&["may run session: my-agent work --json"]);
    assert!(!noted(&repo.watchdog(&check)).contains("not trusted"));

    // A session that rewrites it takes its own credit away.
    repo.write(
        "agents/mine.json",
        example().to_string().replace("--no-tools", "--all-tools"),
    );
    assert!(noted(&repo.watchdog(&check)).contains("agents/mine.json is not trusted"));
    assert!(!calls(&made).iter().any(|call| call.contains("--all-tools")));
}

#[test]
fn security_page_lists_repository_inputs_of_each_agent() {
    let page = include_str!("../../docs/security.md");
    let rows: Vec<String> = PresetCatalog::built_in()
        .flat_map(|preset| {
            preset.repository.iter().map(|input| {
                let off = input
                    .off_in_question
                    .as_ref()
                    .map_or_else(|| "stays".to_owned(), |how| format!("`{how}`"));
                format!(
                    "| {} | `{}` | {} | {off} |",
                    preset.title, input.path, input.does
                )
            })
        })
        .collect();
    assert!(rows.len() > 10, "{rows:?}");
    let written: Vec<&str> = page
        .lines()
        .skip_while(|line| *line != "| agent | reads | which | in a question |")
        .skip(2)
        .collect();
    let written: Vec<&str> = written
        .into_iter()
        .take_while(|line| line.starts_with('|'))
        .collect();
    assert_eq!(written, rows);
}
