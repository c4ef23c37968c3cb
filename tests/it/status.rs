//! `watchdog status`: what is going on, as the records tell it.

use std::fs;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Repo, TestEnv, wait_for, wait_until};

/// The rows by the names of their folders, in the order in which they are told.
fn rows(env: &TestEnv, args: &[&str]) -> Vec<(String, Value)> {
    let told = env.watchdog(&env.root(), &[&["status", "--json", "-q"], args].concat()).expect(0).json();
    let rows = told["worktrees"].as_array().expect("a list").iter();
    rows.map(|row| (row["worktree"].as_str().unwrap().rsplit('/').next().unwrap().to_owned(), row.clone())).collect()
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
fn every_watched_worktree_has_a_line_and_what_needs_a_person_comes_first() {
    let env = TestEnv::new();
    let (done, broken, gone) = (watched(&env, "all/done"), watched(&env, "all/broken"), watched(&env, "elsewhere/gone"));
    watched(&env, "all/fresh");
    env.repo_named("all/nobodys");
    done.write("new.txt", "new");
    done.commit_all("feat: new");
    done.watchdog(&["check"]).expect(0);
    gone.watchdog(&["check", "--no-probe"]).expect(10);
    fs::remove_dir_all(gone.path()).unwrap();
    broken.watchdog(&["check", "--no-probe", "--baseline", "nonsense"]).expect(16);
    broken.write("completion.json", r#"{"checks": [{"type": "command", "name": "t", "run": "true"}]}"#);
    broken.commit_all("feat: criteria");
    broken.watchdog(&["check"]).expect(12);

    let all = rows(&env, &[]);
    assert_eq!(names(&all), ["broken", "fresh", "done", "gone"]);
    let of = |at: usize| all[at].1.clone();
    assert_eq!((&of(0)["status"], &of(0)["reason"], &of(0)["needs_person"]), (&json!("review"), &json!("untrusted"), &json!(true)));
    assert_eq!((&of(1)["status"], &of(1)["complete"], &of(1)["judged_at"]), (&Value::Null, &json!(false), &Value::Null));
    assert_eq!((&of(2)["complete"], &of(2)["head"], &of(2)["new_commits"]), (&json!(true), &json!(done.head()), &json!(1)));
    assert_eq!((&of(3)["gone"], &of(3)["status"]), (&json!(true), &json!("incomplete")));

    assert_eq!(names(&rows(&env, &["all"])), ["broken", "fresh", "done"]);
    assert_eq!(names(&rows(&env, &["elsewhere/gone", "all/done"])), ["done", "gone"]);
    done.write("src/main.rs", "");
    assert_eq!(names(&rows(&env, &["-C", "all/done/src"])), ["done"]);
    assert_eq!(names(&rows(&env, &["--only", "not_judged,gone"])), ["fresh", "gone"]);
    let table = env.watchdog(&env.root(), &["status"]).expect(0);
    let heads = table.stdout.lines().next().unwrap().split_whitespace().collect::<Vec<_>>();
    assert_eq!(heads, ["STATUS", "REASON", "WHEN", "NOW", "SPEC", "WORKTREE"]);
    assert!(table.stdout.contains(" trust\n") && table.stdout.contains("its folder is gone"), "{table}");
    assert!(table.stderr.contains("4 worktrees: 1 complete, 1 review, 1 gone, 1 not judged; 1 for a person to look at"), "{table}");
}

#[test]
fn a_session_that_runs_is_told_while_it_lives_and_no_longer() {
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
    assert_eq!((&row["spec"], &row["lock"]["pid"], &row["lock"]["command"]), (&json!("auth"), &json!(run.pid()), &json!("watchdog run")));
    assert_eq!((&row["running"], &row["judged_since_baseline"]), (&json!(true), &json!(false)));
    run.signal(Signal::KILL);
    wait_until("watchdog is dead", Duration::from_secs(60), || run.ended());
    wait_until("whoever died holds nothing", Duration::from_secs(60), || rows(&env, &[])[0].1["lock"] == Value::Null);
    let pid = row["session"]["pid"].as_u64().unwrap().to_string();
    assert!(env.command("kill", &env.root()).args(["-9", &pid]).run().code.is_some());
    wait_until("the session is told no longer", Duration::from_secs(60), || rows(&env, &["--only", "running"]).is_empty());
}

#[test]
fn an_empty_state_is_told_kindly_and_is_no_fault() {
    let env = TestEnv::new();
    let out = env.watchdog(&env.root(), &["status"]).expect(0);
    assert!(out.stdout.is_empty() && out.stderr.contains("watchdog -C WORKTREE snapshot"), "{out}");
    assert_eq!(rows(&env, &[]), []);
    watched(&env, "repo");
    let out = env.watchdog(&env.root(), &["status", "nowhere"]).expect(0);
    assert!(out.stderr.contains("no worktree with a recorded baseline is there"), "{out}");
    let out = env.watchdog(&env.root(), &["status", "--only", "reviews"]).expect(2);
    assert!(out.stderr.contains("'review'"), "{out}");
}

#[test]
fn names_from_outside_cannot_steer_a_terminal() {
    let env = TestEnv::new();
    let repo = env.repo_named("re\u{1b}[31mpo");
    repo.watchdog(&["snapshot", "--spec", "a\u{1b}]0;x\u{7}\nb"]).expect(0);
    for args in [&["status"][..], &["status", "--json"], &["status", "--color", "never"]] {
        let out = env.watchdog(&env.root(), args).expect(0);
        assert!(!out.stdout.contains('\u{1b}') && !out.stderr.contains('\u{1b}'), "{out}");
    }
    let coloured = env.watchdog(&env.root(), &["status", "--color", "always"]).expect(0);
    assert!(coloured.stdout.contains("re\\x1b[31mpo"), "{coloured}");
}
