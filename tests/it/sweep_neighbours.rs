//! Worktrees of one repository beside a broken one: each comes to exactly what it comes to without that one.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Repo, TestEnv, fill_line};
use crate::sweep::{rows, word};

const NAMES: [&str; 6] = ["clean", "committed", "draft", "edited", "quiet", "victim"];

/// What each comes to, without what differs from look to look.
fn swept(env: &TestEnv, jobs: &str) -> BTreeMap<String, Value> {
    // Verdicts of earlier sweeps are given again only where the state is the same; each of these looks for itself.
    let state = env.root().join("state-of-this-sweep");
    let _ = fs::remove_dir_all(&state);
    assert!(
        Command::new("cp")
            .arg("-a")
            .arg(env.state())
            .arg(&state)
            .status()
            .expect("cp is there")
            .success()
    );
    let args = fill_line(
        "--state-dir {} sweep --no-probe --json -q --jobs {}",
        &[state.to_str().expect("UTF-8"), jobs],
    );
    let mut rows = rows(&env.watchdog(&env.root().join("all"), &args));
    for row in rows.values_mut() {
        let snapshot = row["rescue"]["snapshot"].as_str().map(str::to_owned);
        let message = row["message"].as_str().unwrap_or_default();
        row["message"] = json!(
            snapshot
                .as_deref()
                .and_then(|name| name.rsplit_once('/'))
                .map_or(message.to_owned(), |(_, id)| message.replace(id, "ID"))
        );
        row["rescue"]["snapshot"] = json!(snapshot.is_some());
        for key in ["duration_ms", "unchanged_since"] {
            row[key] = Value::Null;
        }
    }
    rows
}

/// A repository with linked worktrees in which every file was written again, so that only its content tells that it is as it was.
fn ground(env: &TestEnv) -> Repo<'_> {
    let repo = env.repo_named("all/repo");
    for n in 0..20 {
        repo.write(&format!("folder-{}/{n}.txt", n % 3), format!("{n}\n"));
    }
    repo.commit_all("files");
    for name in NAMES {
        repo.git(&["worktree", "add", "-q", &format!("../{name}"), "-b", name]);
    }
    for name in NAMES {
        let worktree = Repo::new(env, env.root().join("all").join(name));
        for n in 0..20 {
            worktree.write(&format!("folder-{}/{n}.txt", n % 3), format!("{n}\n"));
        }
        worktree.watchdog(&["snapshot"]).expect(0);
        match name {
            "committed" => {
                worktree.write("new", "1");
                worktree.git(&["add", "new"]);
                worktree.git(&["commit", "-qm", "feat: new"]);
            }
            "draft" => worktree.write("draft", "1"),
            "edited" => worktree.write("folder-0/0.txt", "edited\n"),
            _ => {}
        }
    }
    repo
}

fn pipe(path: &Path) {
    fs::remove_file(path).expect("it is there");
    assert!(
        Command::new("mkfifo")
            .arg(path)
            .status()
            .expect("mkfifo is there")
            .success()
    );
}

#[test]
fn broken_index_never_changes_the_neighbours_verdicts() {
    let env = TestEnv::new();
    let repo = ground(&env);
    let sound = swept(&env, "1");
    assert_eq!(word(&sound["clean"]), "untouched", "{sound:#?}");
    let index = repo.path().join(".git/worktrees/victim/index");
    let whole = fs::read(&index).expect("it is there");
    let checksum = [&whole[..whole.len() - 20], &[7; 20]].concat();
    let noise: Vec<u8> = (0..4096_u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    let broken: [(&str, Vec<u8>); 5] = [
        ("noise", noise),
        ("half", whole[..whole.len() / 2].to_vec()),
        ("checksum", checksum),
        ("zeroes", vec![0; whole.len()]),
        ("empty", Vec::new()),
    ];
    let expect_the_rest_unchanged = |what: &str, jobs: &str| {
        let mut found = swept(&env, jobs);
        assert_eq!(
            word(&found.remove("victim").expect("it is told of")),
            "error/git_error",
            "{what}"
        );
        for (name, row) in found {
            assert_eq!(row, sound[&name], "{name} beside {what}, {jobs} jobs");
        }
    };
    for (what, bytes) in broken {
        fs::write(&index, bytes).expect("ours");
        for jobs in ["1", "3"] {
            expect_the_rest_unchanged(what, jobs);
        }
    }
    pipe(&index);
    expect_the_rest_unchanged("a pipe", "1");
    fs::remove_file(&index).expect("it is there");
    fs::create_dir(&index).expect("ours");
    expect_the_rest_unchanged("a folder", "1");
    fs::remove_dir(&index).expect("ours");
    std::os::unix::fs::symlink("index", &index).expect("ours");
    expect_the_rest_unchanged("a link to itself", "1");
}

#[test]
fn broken_git_pointer_is_a_reported_worktree_error() {
    let env = TestEnv::new();
    ground(&env);
    let sound = swept(&env, "1");
    let victim = env.root().join("all/victim");
    let dot_git = victim.join(".git");
    let status = || {
        env.watchdog(&env.root(), &["status", "--json", "-q", "--only", "broken"])
            .expect(0)
            .json()["worktrees"]
            .clone()
    };
    assert_eq!(status(), json!([]));
    for said in ["is missing", "nowhere", "gitdir: ", "not a regular file"] {
        match said {
            "is missing" => fs::remove_file(&dot_git).expect("it is there"),
            "nowhere" => {
                fs::write(&dot_git, "gitdir: /nowhere/.git/worktrees/victim\n").expect("ours")
            }
            "gitdir: " => fs::write(&dot_git, "garbage").expect("ours"),
            _ => pipe(&dot_git),
        }
        let mut found = swept(&env, "1");
        let row = found.remove("victim").expect("it is told of");
        assert_eq!(word(&row), "error/git_error", "{said}: {row:#}");
        assert!(
            row["message"]
                .as_str()
                .is_some_and(|message| message.contains(said)),
            "{said}: {row:#}"
        );
        for (name, row) in found {
            assert_eq!(row, sound[&name], "{name} beside one whose .git {said}");
        }
        let told = status();
        assert_eq!(
            (
                told.as_array().map(Vec::len),
                &told[0]["needs_person"],
                &told[0]["gone"]
            ),
            (Some(1), &json!(true), &json!(false)),
            "{said}"
        );
        assert!(
            told[0]["worktree"]
                .as_str()
                .is_some_and(|worktree| worktree.ends_with("/victim")),
            "{told:#}"
        );
    }
    let shown = env.watchdog(&env.root(), &["status"]).expect(0);
    assert!(
        shown.stdout.contains("git cannot use it") && shown.stderr.contains("1 broken"),
        "{shown}"
    );
    fs::remove_dir_all(&victim).expect("ours");
    assert_eq!(status(), json!([]), "what is gone is not broken");
}
