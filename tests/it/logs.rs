//! `watchdog logs`: which output is meant, what a person reads of it, following it, and that no hostile output does harm.

use std::fs::{self, File};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Claude, Repo, Running, Step, TestEnv, wait_until};

const SOON: Duration = Duration::from_secs(60);

/// Events of Claude Code: a text, a call, its result, and a last text.
fn stream() -> String {
    let said = |id: &str, content: Value| json!({"type": "assistant", "message": {"id": id, "role": "assistant", "model": "m", "content": content}});
    let session = "0a0a0a0a-0000-4000-8000-000000000001";
    let events = [
        json!({"type": "system", "subtype": "init", "session_id": session}),
        said(
            "m1",
            json!([{"type": "text", "text": "Let me look."}, {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls -l"}}]),
        ),
        json!({"type": "user", "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "a.txt\nb.txt"}]}}),
        said("m2", json!([{"type": "text", "text": "All done."}])),
        json!({"type": "result", "subtype": "success", "is_error": false, "session_id": session, "num_turns": 2, "result": "All done."}),
    ];
    events.iter().map(|event| format!("{event}\n")).collect()
}

fn run(env: &TestEnv, repo: &Repo<'_>, spec: &str, steps: &[Step]) {
    let agent = env.fake_agent(spec, steps);
    let out = repo.watchdog_line(
        "run --spec {} --no-probe -- {} {}",
        &[spec, &agent[0], &agent[1]],
    );
    assert!(out.stderr.contains("log: "), "{out}");
}

fn log_of(repo: &Repo<'_>, name: &str) -> PathBuf {
    let stderr = repo.watchdog(&["logs", name, "--raw"]).expect(0).stderr;
    let (_, path) = stderr
        .split_once("; log: ")
        .expect("the first line names it");
    PathBuf::from(path.trim_end())
}

#[track_caller]
fn wait_for_output(following: &Running, what: &str) {
    wait_until(&format!("{what} is printed"), SOON, || {
        following.stdout_so_far().contains(what)
    });
}

#[test]
fn session_log_hides_the_json_of_its_program() {
    let env = TestEnv::new();
    let repo = env.repo();
    run(&env, &repo, "auth", &[Step::print(&stream())]);
    let out = repo.watchdog(&["logs"]).expect(0);
    let lines: Vec<&str> = out.stdout.lines().collect();
    let session = "session 0a0a0a0a-0000-4000-8000-000000000001";
    assert_eq!(
        lines[..7],
        [
            session,
            "",
            "Let me look.",
            "> Bash  ls -l",
            "    2 lines, 11 B",
            "",
            "All done."
        ],
        "{out}"
    );
    assert!(out.stdout.contains("\n= success, 2 turns\n"), "{out}");
    assert!(!out.stdout.contains('{'), "{out}");
    out.assert_told(&["'auth', began ", "ended ", "; log: "]);

    let refused = repo.watchdog(&["logs", "--json"]).expect(2);
    assert!(
        refused.stderr.contains("--raw") || refused.stdout.contains("--raw"),
        "{refused}"
    );
    let raw = repo.watchdog(&["logs", "--raw"]).expect(0).stdout;
    assert!(
        raw.starts_with("{\"message\"")
            || raw.starts_with("{\"session_id\"")
            || raw.starts_with("{\"type\""),
        "{raw}"
    );
    assert_eq!(
        raw,
        fs::read_to_string(log_of(&repo, "auth")).expect("the log")
    );
}

#[test]
fn unknown_session_names_the_nearest() {
    let env = TestEnv::new();
    let repo = env.repo();
    let none = repo.watchdog(&["logs", "--follow"]).expect(2);
    none.assert_told(&["no session was seen in this worktree yet"]);
    assert_eq!(
        repo.watchdog(&["logs", "--list"]).expect(0).stdout,
        "no logs\n"
    );
    run(&env, &repo, "first", &[Step::print(&stream())]);
    run(&env, &repo, "second", &[Step::print("plain words\n")]);

    let list = repo
        .watchdog(&["logs", "--list", "--json"])
        .expect(0)
        .json();
    let of = |at: usize, key: &str| {
        list["logs"][at][key]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    assert_eq!(
        (of(0, "spec"), of(1, "spec")),
        ("second".to_owned(), "first".to_owned()),
        "{list}"
    );
    assert_eq!(of(0, "end"), "incomplete", "{list}");
    let table = repo.watchdog(&["logs", "--list"]).expect(0).stdout;
    assert!(
        table.starts_with("ID ") && table.contains(&of(1, "id")),
        "{table}"
    );

    assert_eq!(
        repo.watchdog(&["logs"]).expect(0).stdout,
        "plain words\n",
        "the last of all"
    );
    let of_first = [
        "first".to_owned(),
        of(1, "id"),
        of(1, "path"),
        "0a0a0a0a-0000-4000-8000-000000000001".into(),
    ];
    for name in of_first {
        assert_eq!(log_of(&repo, &name), PathBuf::from(of(1, "path")), "{name}");
    }
    let unknown = repo.watchdog(&["logs", "secondd"]).expect(2);
    unknown.assert_told(&["'secondd'", "second", "--list"]);
    fs::remove_file(of(0, "path")).expect("it is there");
    let gone = repo.watchdog(&["logs", "second"]).expect(2);
    gone.assert_told(&["it is older than 30 days, or could not be written"]);
}

#[test]
fn log_follower_ends_with_its_session() {
    let env = TestEnv::new();
    let repo = env.repo();
    let go = env.root().join("go");
    let steps = [
        Step::print("first words\n"),
        Step::wait_for(&go),
        Step::print("last words\n"),
    ];
    let agent = env.fake_agent("agent", &steps);
    let session = repo.watchdog_spawn(&["run", "--no-probe", "--", &agent[0], &agent[1]]);
    wait_until("the session prints", SOON, || {
        session.stdout_so_far().contains("first words")
    });
    let running = repo.watchdog(&["logs", "--list"]).expect(0);
    assert!(running.stdout.contains("running"), "{running}");
    let following = repo.watchdog_spawn(&["logs", "-f"]);
    wait_for_output(&following, "first words");
    let interrupted = repo.watchdog_spawn(&["logs", "--follow"]);
    wait_for_output(&interrupted, "first words");
    interrupted.signal(Signal::INT);
    interrupted.wait().expect(130);
    // Without --follow it shows what there is.
    assert_eq!(repo.watchdog(&["logs"]).expect(0).stdout, "first words\n");
    fs::write(&go, "").expect("a file can be written");
    assert_eq!(
        following.wait().expect(0).stdout,
        "first words\nlast words\n"
    );
    session.wait().expect(10);
    assert_eq!(
        repo.watchdog(&["logs", "--follow"]).expect(0).stdout,
        "first words\nlast words\n",
        "it ended: all of it"
    );
}

#[test]
fn long_log_is_followed_completely() {
    let env = TestEnv::new();
    let repo = env.repo();
    let go = env.root().join("go");
    let line = format!("{}\n", "flood ".repeat(300));
    let steps = [
        Step::print("begin\n"),
        Step::wait_for(&go),
        // Beyond the beginning and the first part; the unit tests of log and reader go around the parts, and drop.
        Step::flood(&line, 30 << 20),
        Step::print("\nbehind the flood\nthe end\n"),
    ];
    let agent = env.fake_agent("agent", &steps);
    let session = repo.watchdog_spawn(&["run", "--json", "--no-probe", "--", &agent[0], &agent[1]]);
    wait_until("the session prints", SOON, || {
        session.stderr_so_far().contains("begin")
    });
    let following = repo.watchdog_spawn(&["logs", "-f", "--raw"]);
    wait_for_output(&following, "begin");
    fs::write(&go, "").expect("a file can be written");
    let followed = following.wait().expect(0);
    assert!(
        followed.stdout.ends_with("behind the flood\nthe end\n"),
        "{}",
        followed.stdout.len()
    );
    session.wait().expect(10);
    let log = log_of(&repo, "main");
    let size = fs::metadata(&log).expect("the log").len();
    assert!(size > 30 << 20, "{size}");
    assert_eq!(followed.stdout.len() as u64, size);
    assert_eq!(
        fs::read_dir(log.parent().expect("a folder"))
            .expect("it is there")
            .count(),
        1,
        "the parts are gone"
    );
    let last = repo.watchdog(&["logs"]).expect(0).stdout;
    assert!(last.ends_with("behind the flood\nthe end\n"));
}

#[test]
fn logs_never_steer_terminals_or_follow_links() {
    let env = TestEnv::new();
    let repo = env.repo();
    let bad = "\x1b]0;owned\x07\x1b[31mred\x1b[0m \u{202e}evil\n\u{0}\u{8}\n";
    run(
        &env,
        &repo,
        "bad",
        &[
            Step::print(bad),
            Step::print(&stream()[..90]),
            Step::flood("x", 3 << 20),
        ],
    );
    let out = repo.watchdog(&["logs", "bad"]).expect(0);
    assert!(
        !out.stdout
            .contains(|c: char| (c.is_control() && c != '\n') || c == '\u{202e}'),
        "{:?}",
        &out.stdout[..200]
    );
    assert!(
        out.stdout.contains("red \\u{202e}evil") && out.stdout.len() < 1 << 20,
        "{}",
        out.stdout.len()
    );

    let log = log_of(&repo, "bad");
    let elsewhere = env.write("elsewhere", "a secret of somebody else\n");
    fs::remove_file(&log).expect("it is there");
    std::os::unix::fs::symlink(&elsewhere, &log).expect("a link can be made");
    for form in [
        &["logs", "bad"][..],
        &["logs", "bad", "--raw"],
        &["logs", "bad", "-f"],
    ] {
        let out = repo.watchdog(form).expect(2);
        assert!(
            !out.stdout.contains("somebody else") && out.to_string().contains("it is a link"),
            "{out}"
        );
    }
}

#[test]
fn secrets_are_masked_in_every_log() {
    let env = TestEnv::new();
    let repo = env.repo();
    let token = format!("{}{}", "ghp_", "a1B2".repeat(9));
    let key = format!(
        "-----BEGIN {0}-----\n{1}\n{1}\n-----END {0}-----\n",
        "PRIVATE KEY",
        "c3D4".repeat(16)
    );
    let go = env.root().join("go");
    let agent = env.fake_agent(
        "agent",
        &[
            Step::print(&format!("using {token}\n{key}next\n")),
            Step::wait_for(&go),
        ],
    );
    let session = repo.watchdog_spawn(&["run", "--no-probe", "--", &agent[0], &agent[1]]);
    wait_until("the session prints", SOON, || {
        session.stdout_so_far().contains("next")
    });
    for form in [&["logs"][..], &["logs", "--raw"]] {
        let out = repo.watchdog(form).expect(0);
        out.assert_printed(&["using [secret: github-token]", "next"]);
        assert!(
            !out.stdout.contains(&token) && !out.stdout.contains("c3D4"),
            "{out}"
        );
    }
    fs::write(&go, "").expect("a file can be written");
    session.wait().expect(10);
    let log = fs::read_to_string(log_of(&repo, "main")).expect("the log");
    assert!(
        !log.contains(&token) && !log.contains("c3D4") && log.ends_with("next\n"),
        "{log}"
    );
}

#[test]
fn next_check_removes_logs_over_thirty_days_old() {
    let env = TestEnv::new();
    let repo = env.repo();
    let old = env
        .state()
        .join("logs/of-a-worktree-that-is-gone/20260101T000000.000Z.log");
    fs::create_dir_all(old.parent().expect("a folder")).expect("a folder can be made");
    for (path, days) in [
        (old.clone(), 31),
        (old.with_file_name("20260201T000000.000Z.log"), 29),
    ] {
        fs::write(&path, "x").expect("a file can be written");
        let then = SystemTime::now() - Duration::from_secs(days * 86_400);
        File::options()
            .write(true)
            .open(&path)
            .and_then(|file| file.set_modified(then))
            .expect("times can be set");
    }
    run(&env, &repo, "main", &[Step::print("now\n")]);
    assert!(!old.exists() && old.with_file_name("20260201T000000.000Z.log").exists());
    assert_eq!(repo.watchdog(&["logs"]).expect(0).stdout, "now\n");
}

#[test]
fn the_real_claude_is_read_from_its_log() {
    let claude = Claude::answering(crate::real_claude::session_that_runs(
        "echo x > f.txt && git add f.txt && git commit -qm 'work: f'",
    ));
    let repo = claude.env.repo();
    let config = crate::real_claude::config(&claude, json!({}));
    repo.watchdog(&crate::real_claude::run(
        &["--config", &config],
        crate::real_claude::STREAMING,
    ))
    .expect(0);
    let out = repo.watchdog(&["logs"]).expect(0);
    out.assert_printed(&["> Bash  echo x > f.txt", "I stop here.\n"]);
    assert!(
        !out.stdout.contains("{\"") && out.stdout.contains("\n= "),
        "{out}"
    );
}
