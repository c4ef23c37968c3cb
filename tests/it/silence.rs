//! Sessions that fall silent: ended where every sign of life is gone, and left alone while one shows.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;
use watchdog_store::{RecordType, StateDir, open_store, session::SessionRecord};

use crate::support::{CommandOutput, Repo, Step, TestEnv, assert_parts, at_once, fill_line};

/// A session of this script under `watchdog run`, ended after three seconds of silence.
#[track_caller]
fn run(env: &TestEnv, repo: &Repo<'_>, options: &[&str], script: &str) -> CommandOutput {
    let config = env.config_asking(
        &[Step::print_json(&json!({"status": "working"}))],
        json!({}),
    );
    let config = config.to_str().expect("UTF-8");
    let args = [
        &["run", "--json", "--config", config, "--max-probes", "0"],
        options,
        &["--", "sh", "-c", script],
    ]
    .concat();
    repo.watchdog_command(&args)
        .timeout(Duration::from_secs(150))
        .run()
}

#[test]
fn silent_session_is_ended_and_judged_by_leftovers() {
    let cases = [
        ("", "timeout/session_idle", 13),
        ("echo half > half.txt;", "incomplete/unfinished", 10),
        (
            "echo a > a.txt; git add a.txt; git commit -qm a;",
            "complete/new_commits",
            0,
        ),
    ];
    at_once(cases, |(work, verdict, code)| {
        let env = TestEnv::new();
        let repo = env.repo();
        let out = run(
            &env,
            &repo,
            &["--idle-timeout", "2s", "--grace", "1s"],
            &format!("{work} echo begun; sleep 1000"),
        )
        .expect(code);
        out.assert_verdict(verdict, json!({"probes_used": 0}));
        if code != 0 {
            let message = out.json()["message"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            assert!(message.contains("silent"), "{out}");
        }
        env.assert_nothing_left();
    });
}

#[test]
fn any_sign_of_life_prevents_silence() {
    let slug = |path: PathBuf| {
        path.to_string_lossy()
            .replace(|c: char| !c.is_ascii_alphanumeric(), "-")
    };
    let transcript = |env: &TestEnv, repo: &Repo<'_>| {
        let folder = env.root().join("claude/projects").join(slug(
            std::fs::canonicalize(repo.path()).expect("a real path"),
        ));
        std::fs::create_dir_all(&folder).expect("a folder can be made");
        folder.join("0a0a0a0a-0000-4000-8000-000000000001.jsonl")
    };
    std::thread::scope(|scope| {
        for (name, sign) in [
            ("output", "echo x"),
            ("complaints", "echo x >&2"),
            ("a file", "mkdir -p deep; echo x >> deep/file"),
            (
                "the index",
                "git update-index --index-version 4; git update-index --index-version 2",
            ),
            ("the transcript", "echo '{}' >> \"$TRANSCRIPT\""),
            (
                "the processor",
                "n=0; while [ $n -lt 40000 ]; do n=$((n+1)); done",
            ),
        ] {
            let transcript = &transcript;
            scope.spawn(move || {
                let env = TestEnv::new();
                let repo = env.repo();
                let config = env.config_asking(&[Step::print_json(&json!({"status": "working"}))], json!({}));
                let script = format!("for n in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 0.5; {sign}; done; git commit -q --allow-empty -m done; echo 1 > a; git add a; git commit -qm a");
                let args = ["run", "--json", "--config", config.to_str().expect("UTF-8"), "--max-probes", "0"];
                let command = repo.watchdog_command(&args).args(["--idle-timeout", "5s", "--", "sh", "-c", &script]);
                let out = command.env("TRANSCRIPT", transcript(&env, &repo)).env("CLAUDE_CONFIG_DIR", env.root().join("claude")).run().expect(0);
                assert_eq!(out.verdict(), "complete/new_commits", "{name}: {out}");
                assert!(!out.json()["message"].to_string().contains("silent"), "{name}: {out}");
            });
        }
    });
}

#[test]
fn open_tool_call_quadruples_the_silence_limit() {
    let env = TestEnv::new();
    let repo = env.repo();
    let init = json!({"type": "system", "subtype": "init", "session_id": "0a0a0a0a-0000-4000-8000-000000000001"});
    let call = json!({"type": "assistant", "message": {"id": "m", "role": "assistant", "model": "m",
        "content": [{"type": "tool_use", "id": "t", "name": "Edit", "input": {}}]}});
    let script = format!("echo '{init}'; echo '{call}'; sleep 1000");
    let out = run(&env, &repo, &["--idle-timeout", "1s"], &script).expect(13);
    assert_eq!(out.verdict(), "timeout/session_idle");
    let message = out.json()["message"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let seconds: u64 = message
        .split(' ')
        .find_map(|word| word.parse().ok())
        .unwrap_or_default();
    assert!(seconds >= 4, "{out}");
}

#[test]
fn session_lingering_after_its_result_is_ended() {
    let env = TestEnv::new();
    let repo = env.repo();
    let result = json!({"type": "result", "subtype": "success", "is_error": false, "result": "done", "num_turns": 1,
        "session_id": "0a0a0a0a-0000-4000-8000-000000000001"});
    let script =
        format!("echo a > a; git add a; git commit -qm a; echo '{result}'; exec sleep 1000");
    let out = run(&env, &repo, &[], &script).expect(0);
    assert_eq!(out.verdict(), "complete/new_commits");
    out.assert_has("degraded", "ended_after_result");
}

#[test]
fn run_first_states_baseline_limits_and_log() {
    let env = TestEnv::new();
    let repo = env.repo();
    let baseline = repo.head()[..10].to_owned();
    let out = run(&env, &repo, &[], "echo a > a; git add a; git commit -qm a");
    let first = out.stderr.lines().next().expect("it says something");
    let said = format!(
        " watchdog: main, baseline {baseline}; nothing is uncommitted before the session; \
         no limits; set --timeout and --idle-timeout; log: "
    );
    let (_, log) = first
        .split_once(&said)
        .unwrap_or_else(|| panic!("it says something else: {out}"));
    assert!(std::path::Path::new(log).is_file(), "{log}");
    let out = run(
        &env,
        &repo,
        &["--idle-timeout", "30m", "--timeout", "1h"],
        "echo b > a; git commit -qam b",
    );
    out.assert_told(&["; ended after 1 h, or when silent for 30 min; log: "]);
}

#[test]
fn incomplete_session_names_its_log() {
    let env = TestEnv::new();
    let repo = env.repo();
    let out = repo.watchdog(&["run", "--no-probe", "--", "sh", "-c", "echo the last words"]);
    let log = out
        .stderr
        .lines()
        .find_map(|line| line.strip_prefix("  log: "))
        .unwrap_or_else(|| panic!("no log is named: {out}"));
    assert_parts(
        &std::fs::read_to_string(log).expect("the log is there"),
        &["the last words"],
    );
}

#[test]
fn only_loop_and_task_limit_silence_by_default() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write(
        ".watchdog/tasks/T1.md",
        "---\nid: T1\ntitle: t\n---\n\nDo.\n",
    );
    repo.commit_all("a task");
    let plan = |more: &[&str]| {
        repo.watchdog(&[&["loop", "--dry-run", "--json"], more, &["--", "true"]].concat())
            .expect(0)
            .json()
    };
    let config = env.write(
        "limits.json",
        json!({"limits": {"idle_timeout_seconds": 90}}).to_string(),
    );
    let config = config.to_str().expect("UTF-8");
    for (more, seconds) in [
        (&[][..], json!(1800.0)),
        (&["--idle-timeout", "1m"], json!(60.0)),
        (&["--idle-timeout", "0"], json!(null)),
        (&["--config", config], json!(90.0)),
        (&["--config", config, "--idle-timeout", "0"], json!(null)),
    ] {
        assert_eq!(plan(more)["idle_timeout_seconds"], seconds, "{more:?}");
    }
    // What the sessions were given, as it is on record.
    let limit_of = |spec: &str| {
        let store = open_store(&StateDir::resolve(Some(env.state()), None, None).unwrap()).unwrap();
        let session = SessionRecord::list_rows(store.as_ref())
            .unwrap()
            .into_iter()
            .find(|(_, name, _)| name == spec);
        session.expect("a session").2.unwrap().idle_limit
    };
    let half_an_hour = Some(Duration::from_secs(1800));
    let looped = repo.watchdog_line(
        "loop --spec l --json --no-probe --max-iterations 1 -- true",
        &[],
    );
    assert!(
        looped
            .stderr
            .lines()
            .next()
            .is_some_and(|line| line.contains("ends a session that is silent for 30 min")),
        "{looped}"
    );
    let once = env.write(
        "once.json",
        json!({"limits": {"max_iterations": 1}}).to_string(),
    );
    let task = fill_line(
        "task run T1 --json --config {} --no-probe -- true",
        &[once.to_str().expect("UTF-8")],
    );
    let task = repo.watchdog(&task);
    assert!(task.stderr.contains("silent for 30 min"), "{task}");
    let _run = repo.watchdog(&["run", "--spec", "r", "--json", "--no-probe", "--", "true"]);
    assert_eq!(
        (limit_of("l"), limit_of("T1"), limit_of("r")),
        (half_an_hour, half_an_hour, None)
    );
}

#[test]
fn run_names_leftover_processes_and_loop_ends_them() {
    let daemon =
        "setsid -f sleep 1000 >/dev/null 2>&1 </dev/null; echo a > a; git add a; git commit -qm a";
    let cases = [
        (&["run", "--json"][..], false),
        (&["run", "--json", "--end-survivors"], true),
        (&["loop", "--json", "--max-iterations", "1"], true),
        (
            &fill_line("loop --json --max-iterations 1 --no-end-survivors", &[]),
            false,
        ),
    ];
    at_once(cases, |(command, ended)| {
        let env = TestEnv::new();
        let repo = env.repo();
        let out = repo.watchdog(
            &[
                command,
                &["--no-probe", "--child-wait", "0s", "--", "sh", "-c", daemon],
            ]
            .concat(),
        );
        let left = env.processes_left();
        assert_eq!(left.is_empty(), ended, "{command:?}: {left:?} {out}");
        assert_eq!(
            out.json()["survivors"] == json!([]),
            ended,
            "{command:?}: {out}"
        );
        left.iter().for_each(|process| process.kill());
        crate::support::wait_until("what was left is gone", Duration::from_secs(60), || {
            env.processes_left().is_empty()
        });
    });
}
