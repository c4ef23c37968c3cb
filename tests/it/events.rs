//! `watchdog events`: what is shown, and following it while it happens.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use watchdog_judge::wire::event_json::EVENT_SCHEMA;
use watchdog_store::journal::kind;

use crate::support::{Repo, Running, TestEnv, assert_parts, wait_until};

const SOON: Duration = Duration::from_secs(60);

/// The events that were printed as JSON lines.
fn events(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

fn kinds(text: &str) -> Vec<String> {
    events(text)
        .iter()
        .map(|event| event["kind"].as_str().unwrap_or_default().to_owned())
        .collect()
}

fn reset_breaker(repo: &Repo<'_>) {
    repo.watchdog(&["breaker", "reset"]).expect(0);
}

#[track_caller]
fn wait_for_output(following: &Running, what: &str, times: usize) {
    wait_until(&format!("{what} is printed {times} times"), SOON, || {
        following.stdout_so_far().matches(what).count() >= times
    });
}

#[test]
fn events_filter_by_kind_status_time_and_worktree() {
    let env = TestEnv::new();
    let (repo, other) = (env.repo(), env.repo_named("other"));
    repo.watchdog(&["snapshot"]).expect(0);
    repo.write("new.txt", "new");
    repo.commit_all("feat: new");
    repo.watchdog(&["check"]).expect(0);
    other.watchdog(&["snapshot"]).expect(0);

    let shown = |args: &[&str]| {
        repo.watchdog(&[&["events", "--json"], args].concat())
            .expect(0)
            .stdout
    };
    assert_eq!(kinds(&shown(&[])), ["baseline", "commits", "verdict"]);
    assert_eq!(
        kinds(&shown(&["--kind", "verdict,baseline"])),
        ["baseline", "verdict"]
    );
    assert_eq!(
        kinds(&shown(&["--kind", "new_commits"])),
        ["verdict"],
        "a reason chooses verdicts"
    );
    assert_eq!(
        kinds(&shown(&["--kind", "complete"])),
        ["verdict"],
        "so does a status"
    );
    assert_eq!(kinds(&shown(&["--kind", "failed"])), [""; 0]);
    assert_eq!(kinds(&shown(&["-n", "1"])), ["verdict"]);
    assert_eq!(
        kinds(&shown(&["--since", "1h", "-n", "2"])),
        ["commits", "verdict"]
    );
    assert_eq!(kinds(&shown(&["--since", "2096-03-04T05:06:07Z"])), [""; 0]);
    let at = events(&shown(&["--kind", "commits"]))[0]["at"]
        .as_str()
        .expect("an instant")
        .to_owned();
    assert_eq!(
        kinds(&shown(&["--since", &at])),
        ["commits", "verdict"],
        "from that instant on"
    );
    // No repository is needed to look at all of them.
    let all = env
        .watchdog(&env.root(), &["events", "--all", "--json"])
        .expect(0)
        .stdout;
    assert_eq!(kinds(&all), ["baseline", "commits", "verdict", "baseline"]);
    let people = repo.watchdog(&["events", "--kind", "verdict"]).expect(0);
    people.assert_printed(&["complete (new_commits): "]);
}

#[test]
fn people_read_local_time_and_programs_read_utc() {
    let env = TestEnv::new();
    let (repo, other) = (env.repo(), env.repo_named("other"));
    repo.watchdog(&["snapshot", "--spec", "auth"]).expect(0);
    repo.write("new.txt", "new");
    repo.commit_all("feat: new");
    repo.watchdog(&["check", "--no-probe", "--spec", "auth"])
        .expect(0);
    other.watchdog(&["breaker", "reset"]).expect(0);
    let lines = |repo: &Repo<'_>, args: &[&str]| {
        let out = repo
            .watchdog_command(&[&["events"], args].concat())
            .env("TZ", "IST-5:30")
            .run()
            .expect(0);
        out.stdout.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let said = lines(&repo, &[]);
    let sentences: Vec<&str> = said
        .iter()
        .map(|line| line.split_once("  auth  ").expect("the spec").1)
        .collect();
    assert!(
        sentences[0].starts_with("a baseline was recorded at "),
        "{said:?}"
    );
    assert_eq!(sentences[1], "1 new commit, 1 made here");
    assert!(
        sentences[2].starts_with("complete (new_commits): 1 commit made"),
        "{said:?}"
    );
    assert!(
        said.iter().all(|line| line[..25].ends_with("+05:30")),
        "local times: {said:?}"
    );
    assert!(
        lines(&repo, &["--utc"])
            .iter()
            .all(|line| line[..25].ends_with("+00:00"))
    );
    let instant = |line: &str| {
        line[..25]
            .replacen(' ', "T", 1)
            .parse::<jiff::Timestamp>()
            .expect("an instant")
    };
    let json = repo.watchdog(&["events", "--json"]).expect(0).stdout;
    let at = events(&json)[0]["at"]
        .as_str()
        .expect("a time")
        .parse::<jiff::Timestamp>()
        .expect("an instant");
    assert_eq!(instant(&said[0]).as_second(), at.as_second());
    let all = lines(&repo, &["--all"]);
    assert_parts(&all[0], &["  repo/auth ", "  a baseline was"]);
    // No baseline names its folder.
    assert!(
        all.last()
            .is_some_and(|line| line.contains("the breaker is closed: 0 strikes; reset by hand")),
        "{all:?}"
    );
}

#[test]
fn following_says_the_same_sentences() {
    let env = TestEnv::new();
    let repo = env.repo();
    let following = repo.watchdog_spawn(&["events", "--follow", "--all"]);
    repo.watchdog(&["snapshot"]).expect(0);
    wait_for_output(&following, "  repo/main  a baseline was recorded at ", 1);
    reset_breaker(&repo);
    wait_for_output(
        &following,
        "  the breaker is closed: 0 strikes; reset by hand",
        1,
    );
    following.signal(Signal::INT);
    following.wait().expect(130);
}

#[test]
fn unknown_event_kind_is_answered_with_the_nearest() {
    let env = TestEnv::new();
    let out = env
        .watchdog(&env.root(), &["events", "--all", "--kind", "reviews"])
        .expect(2);
    out.assert_told(&["'reviews'", "'review'"]);
    let out = env
        .watchdog(&env.root(), &["events", "--all", "--since", "yesterday"])
        .expect(2);
    out.assert_told(&["write 90s, 2h or 2026-03-04T05:06:07Z"]);
}

#[test]
fn follower_shows_other_processes_until_a_signal() {
    let env = TestEnv::new();
    let (repo, other) = (env.repo(), env.repo_named("other"));
    repo.watchdog(&["snapshot"]).expect(0);
    let following = repo.watchdog_spawn(&["events", "--follow", "--json"]);
    wait_for_output(&following, "\"kind\":\"baseline\"", 1);
    other.watchdog(&["snapshot"]).expect(0);
    for times in 1..4 {
        reset_breaker(&repo);
        wait_for_output(&following, "\"kind\":\"breaker\"", times);
    }
    following.signal(Signal::INT);
    let out = following.wait().expect(130);
    assert_eq!(
        kinds(&out.stdout),
        ["baseline", "breaker", "breaker", "breaker"],
        "once each, and none of another worktree\n{out}"
    );
}

#[test]
fn follower_continues_in_a_replaced_store() {
    let env = TestEnv::new();
    let repo = env.repo();
    let following = repo.watchdog_spawn(&["events", "--follow", "--json"]);
    reset_breaker(&repo);
    wait_for_output(&following, "\"kind\":\"breaker\"", 1);
    for entry in fs::read_dir(env.state()).expect("it is there").flatten() {
        if entry.path().is_file() {
            fs::remove_file(entry.path()).expect("it is ours");
        }
    }
    reset_breaker(&repo);
    wait_for_output(&following, "\"kind\":\"breaker\"", 2);
    following.signal(Signal::TERM);
    following.wait().expect(143);
}

#[test]
fn following_ends_when_nobody_reads_any_more() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.watchdog(&["snapshot"]).expect(0);
    env.install(
        "watchdog",
        std::path::Path::new(env!("CARGO_BIN_EXE_watchdog")),
    );
    // The shell waits for both; nothing is written after the first line that would break the pipe.
    let out = env
        .command("sh", repo.path())
        .args(["-c", "watchdog events --follow | head -n 1"])
        .run()
        .expect(0);
    assert_eq!(out.stdout.lines().count(), 1, "{out}");
    assert_eq!(out.stderr, "", "{out}");
    env.assert_nothing_left();
}

#[test]
fn event_page_and_schema_list_every_field() {
    let page = include_str!("../../docs/events.md");
    let schema: Value = serde_json::from_str(EVENT_SCHEMA).expect("the schema is JSON");
    let known: BTreeSet<&str> = kind::ALL.iter().copied().collect();
    let listed = schema["properties"]["kind"]["examples"]
        .as_array()
        .expect("it lists them");
    assert_eq!(
        listed
            .iter()
            .filter_map(Value::as_str)
            .collect::<BTreeSet<_>>(),
        known
    );
    for kind in known {
        assert!(
            page.contains(&format!("`{kind}`")),
            "docs/events.md does not tell of {kind}"
        );
    }
    let env = TestEnv::new();
    let repo = env.repo();
    repo.watchdog(&["snapshot"]).expect(0);
    let out = repo.watchdog(&["events", "--json"]).expect(0);
    let event = &events(&out.stdout)[0];
    let fields: BTreeSet<&str> = event
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect();
    let required = schema["required"].as_array().expect("a list");
    assert_eq!(
        fields,
        required.iter().filter_map(Value::as_str).collect(),
        "{event}"
    );
}

#[test]
fn judgement_events_follow_those_of_their_session() {
    let env = TestEnv::new();
    let repo = env.repo();
    let session = "echo x > f; git add f; git commit -qm f; echo left > g";
    repo.watchdog(&["run", "--no-probe", "--", "sh", "-c", session])
        .expect(0);
    let shown = repo.watchdog(&["events"]).expect(0).stdout;
    let place = |text: &str| {
        shown
            .find(text)
            .unwrap_or_else(|| panic!("{text} is missing in {shown}"))
    };
    let said = [
        "a session started",
        "the session ended",
        "1 new commit",
        "complete (new_commits)",
    ];
    assert!(said.map(place).is_sorted(), "{shown}");
}
