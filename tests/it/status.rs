//! `watchdog status`: what is going on, as the records tell it.

use std::fs;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Repo, TestEnv, wait_for, wait_until};

/// The rows by the names of their folders, in the order in which they are told.
fn rows(env: &TestEnv, args: &[&str]) -> Vec<(String, Value)> {
    let told = env
        .watchdog(&env.root(), &[&["status", "--json", "-q"], args].concat())
        .expect(0)
        .json();
    let rows = told["worktrees"].as_array().expect("a list").iter();
    rows.map(|row| {
        (
            row["worktree"]
                .as_str()
                .unwrap()
                .rsplit('/')
                .next()
                .unwrap()
                .to_owned(),
            row.clone(),
        )
    })
    .collect()
}

fn names(rows: &[(String, Value)]) -> Vec<&str> {
    rows.iter().map(|(name, _)| name.as_str()).collect()
}

fn watched<'env>(env: &'env TestEnv, name: &str) -> Repo<'env> {
    let repo = env.repo_named(name);
    repo.watchdog(&["snapshot"]).expect(0);
    repo
}

#[test]
fn status_lists_every_worktree_with_urgent_ones_first() {
    let env = TestEnv::new();
    let (done, broken, gone) = (
        watched(&env, "all/done"),
        watched(&env, "all/broken"),
        watched(&env, "elsewhere/gone"),
    );
    watched(&env, "all/fresh");
    env.repo_named("all/nobodys");
    done.write("new.txt", "new");
    done.commit_all("feat: new");
    done.watchdog(&["check"]).expect(0);
    gone.watchdog(&["check", "--no-probe"]).expect(10);
    fs::remove_dir_all(gone.path()).unwrap();
    broken
        .watchdog(&["check", "--no-probe", "--baseline", "nonsense"])
        .expect(16);
    broken.write(
        "completion.json",
        r#"{"checks": [{"type": "command", "name": "t", "run": "true"}]}"#,
    );
    broken.commit_all("feat: criteria");
    broken.watchdog(&["check"]).expect(12);

    let all = rows(&env, &[]);
    assert_eq!(names(&all), ["broken", "fresh", "done", "gone"]);
    let of = |at: usize| all[at].1.clone();
    assert_eq!(
        (&of(0)["status"], &of(0)["reason"], &of(0)["needs_person"]),
        (&json!("review"), &json!("untrusted"), &json!(true))
    );
    assert_eq!(
        (&of(1)["status"], &of(1)["complete"], &of(1)["judged_at"]),
        (&Value::Null, &json!(false), &Value::Null)
    );
    assert_eq!(
        (&of(2)["complete"], &of(2)["head"], &of(2)["new_commits"]),
        (&json!(true), &json!(done.head()), &json!(1))
    );
    assert_eq!(
        (&of(3)["gone"], &of(3)["status"]),
        (&json!(true), &json!("incomplete"))
    );

    assert_eq!(names(&rows(&env, &["all"])), ["broken", "fresh", "done"]);
    assert_eq!(
        names(&rows(&env, &["elsewhere/gone", "all/done"])),
        ["done", "gone"]
    );
    done.write("src/main.rs", "");
    assert_eq!(names(&rows(&env, &["-C", "all/done/src"])), ["done"]);
    assert_eq!(
        names(&rows(&env, &["--only", "not_judged,gone"])),
        ["fresh", "gone"]
    );
    let table = env.watchdog(&env.root(), &["status"]).expect(0);
    let heads = table
        .stdout
        .lines()
        .next()
        .unwrap()
        .split_whitespace()
        .collect::<Vec<_>>();
    assert_eq!(
        heads,
        ["STATUS", "REASON", "WHEN", "NOW", "SPEC", "WORKTREE"]
    );
    table.assert_printed(&[" trust\n", "its folder is gone"]);
    table.assert_told(&[
        "4 worktrees: 1 complete, 1 review, 1 gone, 1 not judged; 1 for a person to look at",
    ]);
}

#[test]
fn status_tells_reasons_and_working_commands() {
    let env = TestEnv::new();
    let repo = env.repo_named("it's here");
    repo.write(
        "completion.json",
        r#"{"checks": [{"type": "command", "name": "t", "run": "true"}]}"#,
    );
    repo.commit_all("feat: criteria");
    repo.watchdog(&["snapshot"]).expect(0);
    repo.write("new.txt", "new");
    repo.commit_all("feat: new");
    repo.watchdog(&["check", "--no-probe"]).expect(12);
    let table = env.watchdog(&env.root(), &["status"]).expect(0).stdout;
    let lines: Vec<&str> = table.lines().map(str::trim).collect();
    assert_eq!(
        lines[2],
        "completion.json is not trusted and not used; read it, then type:"
    );
    assert!(
        lines[3].starts_with("watchdog -C ") && lines[3].ends_with(" trust"),
        "{table}"
    );
    env.install(
        "watchdog",
        std::path::Path::new(env!("CARGO_BIN_EXE_watchdog")),
    );
    env.command("sh", std::path::Path::new("/"))
        .args(["-c", lines[3]])
        .run()
        .expect(0);
    repo.watchdog(&["check", "--no-probe"]).expect(0);
    assert_eq!(rows(&env, &["--only", "needs_person"]), []);
}

#[test]
fn worktree_judged_only_by_a_hook_is_judged() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write(
        "completion.json",
        r#"{"checks": [{"type": "files", "paths": ["done.txt"]}]}"#,
    );
    repo.commit_all("chore: criteria");
    repo.watchdog(&["trust"]).expect(0);
    let hook = |args: &[&str], input: Value| {
        repo.watchdog_command(&[&["hook"], args].concat())
            .stdin(input.to_string())
            .run()
            .expect(0)
    };
    hook(
        &["session-start"],
        json!({"session_id": "s", "source": "startup", "cwd": repo.path()}),
    );
    assert_eq!(rows(&env, &[])[0].1["judged_by"], Value::Null);
    let stop = || {
        hook(
            &["stop", "--all-sessions"],
            json!({"session_id": "s", "prompt_id": "p", "hook_event_name": "Stop"}),
        )
    };
    stop();
    let row = rows(&env, &["--only", "incomplete"]).remove(0).1;
    assert_eq!(
        (&row["judged_by"], &row["hook_answer"], &row["reason"]),
        (&json!("hook"), &json!("held"), &json!("checks_unmet"))
    );
    let table = env.watchdog(&env.root(), &["status"]).expect(0);
    assert!(
        table.stdout.contains("  its hook held the agent: ")
            && !table.stdout.contains("never judged"),
        "{table}"
    );
    repo.write("done.txt", "x");
    stop();
    assert_eq!(names(&rows(&env, &["--only", "complete"])), ["repo"]);
}

#[test]
fn unreadable_worktrees_of_one_repository_share_an_entry() {
    let env = TestEnv::new();
    let repo = env.repo_named("all/repo");
    for n in 0..10 {
        repo.git_line(
            "worktree add -q {} -b {}",
            &[&format!("../w{n}"), &format!("b{n}")],
        );
        Repo::new(&env, env.root().join(format!("all/w{n}")))
            .watchdog(&["snapshot"])
            .expect(0);
    }
    fs::rename(repo.path(), env.root().join("all/moved")).unwrap();
    let whole = rows(&env, &["--only", "broken"]);
    assert_eq!(whole.len(), 10, "programs have every one");
    let table = env.watchdog(&env.root(), &["status"]).expect(0);
    assert_eq!(
        table.stdout.matches("git cannot use it").count(),
        1,
        "{table}"
    );
    table.assert_printed(&["the same in 9 other worktrees of this repository: "]);
    table.assert_printed(&[" and 6 more; -v lists them", " doctor\n"]);
    table.assert_told(&["10 worktrees", "10 broken"]);
    let each = env.watchdog(&env.root(), &["status", "-v"]).expect(0);
    assert_eq!(
        each.stdout.matches("git cannot use it").count(),
        10,
        "{each}"
    );
    let swept = env
        .watchdog(&env.root().join("all"), &["sweep", "--no-probe"])
        .expect(16);
    swept.assert_printed(&["the same in 9 other worktrees of this repository: "]);
    swept.assert_told(&["11 worktrees: 10 error, 1 no_baseline"]);
}

#[test]
fn status_lists_open_specs_and_counts_finished_ones() {
    let env = TestEnv::new();
    let repo = env.repo();
    for (spec, code) in [("one", 0), ("two", 0), ("unmet", 10), ("new", 0)] {
        repo.watchdog(&["snapshot", "--spec", spec]).expect(0);
        if code == 0 {
            repo.write("file.txt", spec);
            repo.commit_all("feat: more");
        }
        repo.watchdog(&["check", "--no-probe", "--spec", spec])
            .expect(code);
    }
    let specs = |args: &[&str]| {
        rows(&env, args)
            .into_iter()
            .map(|(_, row)| row["spec"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(specs(&[]), ["unmet", "new"]);
    let newest = rows(&env, &[]).remove(1).1;
    assert_eq!(
        (&newest["newest"], &newest["older_specs"]["complete"]),
        (&json!(true), &json!(2))
    );
    assert_eq!(specs(&["--all-specs"]), ["unmet", "new", "two", "one"]);
    let table = env.watchdog(&env.root(), &["status"]).expect(0);
    table.assert_printed(&["2 older specs: 2 complete (--all-specs shows them)"]);
    table.assert_told(&["1 worktree, 2 specs: 1 complete, 1 incomplete"]);
}

#[test]
fn status_shows_a_session_only_during_its_life() {
    let env = TestEnv::new();
    let repo = env.repo();
    let mut run = repo.watchdog_spawn(&["run", "--spec", "auth", "--", "sleep", "600"]);
    // Until the session's own process is known, that of watchdog takes its place in the record.
    let own = u64::from(run.pid());
    let running = || {
        rows(&env, &["--only", "running"])
            .into_iter()
            .map(|(_, row)| row)
            .find(|row| row["session"]["pid"].as_u64().is_some_and(|pid| pid != own))
    };
    let row = wait_for(Duration::from_secs(60), running).expect("the session is told");
    assert_eq!(
        (&row["spec"], &row["lock"]["pid"], &row["lock"]["command"]),
        (&json!("auth"), &json!(run.pid()), &json!("watchdog run"))
    );
    assert_eq!(
        (&row["running"], &row["judged_since_baseline"]),
        (&json!(true), &json!(false))
    );
    run.signal(Signal::KILL);
    wait_until("watchdog is dead", Duration::from_secs(60), || run.ended());
    wait_until(
        "whoever died holds nothing",
        Duration::from_secs(60),
        || rows(&env, &[])[0].1["lock"] == Value::Null,
    );
    let pid = row["session"]["pid"].as_u64().unwrap().to_string();
    assert!(
        env.command("kill", &env.root())
            .args(["-9", &pid])
            .run()
            .code
            .is_some()
    );
    wait_until(
        "the session is told no longer",
        Duration::from_secs(60),
        || rows(&env, &["--only", "running"]).is_empty(),
    );
}

#[test]
fn empty_state_is_explained_without_an_error() {
    let env = TestEnv::new();
    let out = env.watchdog(&env.root(), &["status"]).expect(0);
    assert!(
        out.stdout.is_empty() && out.stderr.contains("watchdog -C WORKTREE snapshot"),
        "{out}"
    );
    assert_eq!(rows(&env, &[]), []);
    watched(&env, "repo");
    let out = env.watchdog(&env.root(), &["status", "nowhere"]).expect(0);
    out.assert_told(&["no worktree with a recorded baseline is there"]);
    let out = env
        .watchdog(&env.root(), &["status", "--only", "reviews"])
        .expect(2);
    assert!(out.stderr.contains("'review'"), "{out}");
}

#[test]
fn names_from_outside_cannot_steer_a_terminal() {
    let env = TestEnv::new();
    let repo = env.repo_named("re\u{1b}[31mpo");
    repo.watchdog(&["snapshot", "--spec", "a\u{1b}]0;x\u{7}\nb"])
        .expect(0);
    for args in [
        &["status"][..],
        &["status", "--json"],
        &["status", "--color", "never"],
    ] {
        let out = env.watchdog(&env.root(), args).expect(0);
        assert!(
            !out.stdout.contains('\u{1b}') && !out.stderr.contains('\u{1b}'),
            "{out}"
        );
    }
    let coloured = env
        .watchdog(&env.root(), &["status", "--color", "always"])
        .expect(0);
    assert!(coloured.stdout.contains("re\\x1b[31mpo"), "{coloured}");
}

#[test]
fn empty_watch_ends_with_its_reader() {
    let env = TestEnv::new();
    let watchdog = env!("CARGO_BIN_EXE_watchdog");
    for more in ["", " --json"] {
        let line = format!("{watchdog} status --watch --plain{more} | head -1");
        let out = env
            .command("sh", &env.root())
            .args(["-c", &line])
            .timeout(Duration::from_secs(60))
            .run()
            .expect(0);
        assert!(
            out.stdout.contains("no worktree has a recorded baseline")
                || out.stdout.contains("\"worktrees\":[]"),
            "{out}"
        );
    }
}
