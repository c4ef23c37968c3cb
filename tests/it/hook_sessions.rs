//! Begins and ends of sessions as hooks tell of them: one baseline per session, whatever happens inside it.

use serde_json::{Value, json};

use crate::support::{Repo, TestEnv};

/// Its usual deadline of a second is for hosts that do not wait: a busy machine may take longer.
#[track_caller]
fn hook(repo: &Repo<'_>, event: &str, input: &Value) -> Value {
    repo.watchdog_command(&["hook", event, "--within", "60s"])
        .stdin(input.to_string())
        .run()
        .expect(0)
        .json()
}

fn start(repo: &Repo<'_>, session: &str, source: &str) -> Value {
    hook(
        repo,
        "session-start",
        &json!({"session_id": session, "source": source, "cwd": repo.path()}),
    )
}

fn baseline(repo: &Repo<'_>) -> Value {
    repo.watchdog(&["check", "--no-probe", "--no-rescue", "--json"])
        .json()["baseline"]
        .clone()
}

fn work(repo: &Repo<'_>, name: &str) -> String {
    repo.write(name, name);
    repo.commit_all(&format!("feat: {name}"))
}

#[test]
fn resumed_session_keeps_its_baseline() {
    let env = TestEnv::new();
    let repo = env.repo();
    let began = repo.head();
    let answer = start(&repo, "a", "startup");
    assert_eq!(answer, json!({}), "without criteria it advises nothing");
    work(&repo, "one");
    for source in ["resume", "clear", "compact", "some new word"] {
        start(&repo, "b", source);
        assert_eq!(baseline(&repo), began.as_str(), "{source}");
    }
    hook(
        &repo,
        "session-end",
        &json!({"session_id": "b", "reason": "other"}),
    );
    let now = repo.head();
    start(&repo, "c", "startup");
    assert_eq!(baseline(&repo), now.as_str(), "another session begins anew");
}

#[test]
fn resumed_session_goes_on_with_its_work() {
    let env = TestEnv::new();
    let repo = env.repo();
    start(&repo, "a", "startup");
    repo.write("own.txt", "own");
    let end = json!({"session_id": "a", "reason": "other"});
    hook(&repo, "session-end", &end);
    repo.write("theirs.txt", "a person's");
    start(&repo, "a", "resume");
    repo.write("new.txt", "own");
    hook(&repo, "session-end", &end);
    let check = ["check", "--no-probe", "--no-rescue", "--json"];
    let verdict = repo.watchdog(&check).json();
    let counts = (&verdict["inherited"], &verdict["changed_since_end"]);
    assert_eq!(counts, (&json!(1), &json!(0)), "{verdict}");
}

#[test]
fn resume_without_a_start_begins_a_session() {
    let env = TestEnv::new();
    let repo = env.repo();
    let head = repo.head();
    start(&repo, "a", "resume");
    work(&repo, "one");
    assert_eq!(baseline(&repo), head.as_str());
}

#[test]
fn an_agent_inside_a_session_moves_nothing() {
    let env = TestEnv::new();
    let repo = env.repo();
    let began = repo.head();
    // A process that lives as long as the outer session does.
    let outer = env.command("sleep", repo.path()).args(["600"]).spawn();
    let start_as = |session: &str, pid: u32| {
        let input = json!({"session_id": session, "source": "startup", "cwd": repo.path()});
        let command = repo
            .watchdog_command(&["hook", "session-start"])
            .env("CLAUDE_PID", pid.to_string());
        command
            .env("CLAUDE_CODE_SESSION_ID", session)
            .stdin(input.to_string())
            .run()
            .expect(0);
    };
    start_as("outer", outer.pid());
    work(&repo, "one");
    start_as("inner", std::process::id());
    assert_eq!(baseline(&repo), began.as_str());
    hook(
        &repo,
        "session-end",
        &json!({"session_id": "inner", "reason": "other"}),
    );
    start_as("inner again", std::process::id());
    assert_eq!(
        baseline(&repo),
        began.as_str(),
        "the outer session still runs"
    );
    drop(outer);
    let now = repo.head();
    start_as("next", std::process::id());
    assert_eq!(
        baseline(&repo),
        now.as_str(),
        "the outer session was killed and could not say so"
    );
}

#[test]
fn hooked_session_under_run_keeps_baseline_and_id() {
    let env = TestEnv::new();
    let repo = env.repo();
    let began = repo.head();
    env.install(
        "watchdog",
        std::path::Path::new(env!("CARGO_BIN_EXE_watchdog")),
    );
    // What an agent does, as far as hooks see it.
    let agent = "git commit -q --allow-empty -m one; \
        echo '{\"session_id\": \"11111111-2222-4333-8444-555555555555\", \"source\": \"startup\"}' | watchdog hook session-start; \
        echo x > x; git add x; git commit -qm two; \
        echo '{\"session_id\": \"11111111-2222-4333-8444-555555555555\", \"reason\": \"other\"}' | watchdog hook session-end";
    let out = repo
        .watchdog(&["run", "--spec", "auth", "--json", "--", "sh", "-c", agent])
        .expect(0);
    out.assert_values(json!({"baseline": began, "new_commits": 2}));
    assert_eq!(baseline(&repo), began.as_str());
    let ended = repo
        .watchdog(&["events", "--kind", "session_ended", "--json"])
        .expect(0);
    let last: Value =
        serde_json::from_str(ended.stdout.lines().last().expect("the run's own")).expect("JSON");
    assert_eq!(
        (&last["data"]["session_id"], &last["spec"]),
        (
            &json!("11111111-2222-4333-8444-555555555555"),
            &json!("auth")
        ),
        "{ended}"
    );
}

#[test]
fn session_end_snapshots_uncommitted_work() {
    let env = TestEnv::new();
    let repo = env.repo();
    start(&repo, "a", "startup");
    repo.write("new.txt", "precious");
    assert_eq!(
        hook(
            &repo,
            "session-end",
            &json!({"session_id": "a", "reason": "other"})
        ),
        json!({})
    );
    let kept = repo.snapshots();
    assert_eq!(
        repo.file_in(&kept[0], "new.txt").as_deref(),
        Some("precious")
    );
    assert!(
        repo.has("new.txt") && repo.status().contains("new.txt"),
        "the work tree is as it was"
    );
    let events = repo.watchdog(&["events", "--json"]).expect(0).stdout;
    let kinds: Vec<String> = events
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).expect("JSON")["kind"]
                .as_str()
                .unwrap_or_default()
                .into()
        })
        .collect();
    assert_eq!(
        kinds,
        ["baseline", "session_started", "session_ended", "snapshot"]
    );
}

#[test]
fn session_end_keeps_commits_of_deleted_branches() {
    let env = TestEnv::new();
    let repo = env.repo();
    start(&repo, "a", "startup");
    repo.git(&["switch", "-qc", "feature"]);
    let commit = work(&repo, "one");
    repo.git(&["switch", "-q", "main"]);
    repo.git(&["branch", "-qD", "feature"]);
    let end = json!({"session_id": "a", "reason": "other"});
    hook(&repo, "session-end", &end);
    let refs = repo.git(&["for-each-ref", "--contains", &commit]);
    assert!(refs.contains("refs/watchdog/"), "{refs}");
}

#[test]
fn hooked_session_begins_with_a_snapshot() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write("mine.txt", "hours of a person's work\n");
    start(&repo, "a", "startup");
    assert_eq!(repo.snapshots().len(), 1);
    repo.git(&["clean", "-qfd"]);
    repo.watchdog(&["rescue", "restore", "latest"]).expect(0);
    assert!(repo.has("mine.txt"));
    start(&repo, "a", "resume");
    assert_eq!(repo.snapshots().len(), 1, "the same state is kept once");
}
