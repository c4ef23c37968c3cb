//! Work that is in no commit: ignored files that no tool made, and the repository itself.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::support::{Repo, TestEnv};

/// A repository with ignored files, some of them of tools.
fn with_ignored<'e>(env: &'e TestEnv, rescue: &Value) -> Repo<'e> {
    named(env, "repo", rescue)
}

fn named<'e>(env: &'e TestEnv, name: &str, rescue: &Value) -> Repo<'e> {
    let repo = env.repo_named(name);
    repo.write(
        ".gitignore",
        "notes/\n*.sqlite\nuploads/\n.env.local\nnode_modules/\n*.o\n",
    );
    let config = json!({"version": 1, "rescue": rescue, "breaker": {"limit": 99}});
    repo.write("completion.json", config.to_string());
    repo.commit_all("rules");
    repo.watchdog(&["trust"]).expect(0);
    make_ignored(&repo);
    repo
}

fn make_ignored(repo: &Repo<'_>) {
    for (path, text) in [
        ("notes/plan.md", "plan"),
        ("notes/deep/idea.md", "ideas"),
        ("dev.sqlite", "rows"),
        ("uploads/a.png", "image!"),
        (".env.local", "KEY=1"),
        ("node_modules/x/i.js", "made"),
        ("a.o", "made"),
    ] {
        repo.write(path, text);
    }
}

fn lost(verdict: &Value) -> Vec<(String, u64, bool)> {
    let files = verdict["ignored_lost"].as_array().cloned();
    (files.unwrap_or_default().iter())
        .map(|file| {
            let path = file["path"].as_str().unwrap().to_owned();
            (
                path,
                file["bytes"].as_u64().unwrap(),
                file["snapshot"].is_string(),
            )
        })
        .collect()
}

const NOTES: [(&str, u64); 2] = [("notes/deep/idea.md", 5), ("notes/plan.md", 4)];

#[test]
fn lost_ignored_files_are_told() {
    let env = TestEnv::new();
    let repo = with_ignored(&env, &json!({"mode": "snapshot"}));
    let base = repo.head();
    for (script, expected) in [
        (
            "rm -rf node_modules a.o; echo more >> notes/plan.md",
            &[][..],
        ),
        ("rm -rf notes", &NOTES),
        ("sed -i /notes/d .gitignore; git clean -qfdx notes", &NOTES),
        ("sed -i /notes/d .gitignore", &[]),
        (": > notes/plan.md", &NOTES[1..]),
        ("mv notes moved", &[]),
        ("mkdir docs; cp notes/plan.md docs; rm notes/plan.md", &[]),
        ("git add -f notes; git commit -qm notes", &[]),
        ("mv notes ../n; ln -s ../n notes", &[]),
        ("rm -r notes; mkdir ../none; ln -s ../none notes", &NOTES),
    ] {
        repo.git(&["reset", "-q", "--hard", &base]);
        repo.git(&["clean", "-qfdx"]);
        make_ignored(&repo);
        let out = repo.watchdog(&["run", "--json", "--no-probe", "--", "sh", "-c", script]);
        let verdict = out.json();
        let expected: Vec<_> = (expected.iter())
            .map(|(path, bytes)| ((*path).to_owned(), *bytes, false))
            .collect();
        assert_eq!(lost(&verdict), expected, "{script}: {verdict:#}");
        let is_told = verdict["message"]
            .as_str()
            .unwrap()
            .contains("gone or empty");
        assert_eq!(is_told, !expected.is_empty(), "{script}");
    }
    // A baseline alone is enough.
    repo.git(&["clean", "-qfdx"]);
    make_ignored(&repo);
    repo.watchdog(&["snapshot"]).expect(0);
    fs::remove_file(repo.path().join("dev.sqlite")).unwrap();
    repo.watchdog(&["check", "--json", "--no-probe"])
        .assert_printed(&["dev.sqlite", "ignored_lost"]);
}

#[test]
fn record_of_ignored_files_is_bounded() {
    let env = TestEnv::new();
    let repo = with_ignored(&env, &json!({"mode": "snapshot"}));
    for n in 0..300 {
        repo.write(&format!("uploads/{n}"), "x");
    }
    let snapshot = repo.watchdog(&["snapshot"]).expect(0);
    snapshot.assert_told(&["the record has 204 ignored files, and not 'uploads/"]);
    fs::remove_dir_all(repo.path().join("uploads")).unwrap();
    let out = repo.watchdog(&["check", "--json", "--no-probe"]);
    let verdict = out.json();
    assert_eq!(lost(&verdict).len(), 100, "{out}");
    out.assert_printed(&["200 ignored files from before", "the record has 204"]);
}

#[test]
fn wanted_ignored_files_come_back_as_typed() {
    let env = TestEnv::new();
    let rescue = json!({"mode": "snapshot", "keep_ignored": ["notes/", "*.sqlite"], "max_snapshot_bytes": 1000});
    let repo = with_ignored(&env, &rescue);
    let large = "x".repeat(2000);
    for begin in [&["snapshot"][..], &["run", "--no-probe", "--", "true"]] {
        repo.write("notes/large", &large);
        repo.watchdog(begin)
            .assert_told(&["notes/large", "max_snapshot_bytes"]);
        // The session's own work hinders no restore.
        let script = "git clean -qfdX; : > dev.sqlite; echo x >> README.md; git commit -qam w; echo y >> README.md";
        repo.env_command("sh", &["-c", script]).run().expect(0);
        let verdict = repo.watchdog(&["check", "--json", "--no-probe"]).json();
        let in_snapshots = lost(&verdict).into_iter().filter(|file| file.2);
        assert_eq!(in_snapshots.count(), 4, "{verdict:#}");
        let message = verdict["message"].as_str().unwrap();
        // Each snapshot that has some of them has a command of its own.
        for command in message.split("back with: watchdog ").skip(1) {
            let line = command.split([';', ')']).next().unwrap();
            let words: Vec<&str> = line.split(' ').collect();
            repo.watchdog(&words).expect(0);
        }
        for (path, text) in [("notes/plan.md", "plan"), ("dev.sqlite", "rows")] {
            assert_eq!(fs::read_to_string(repo.path().join(path)).unwrap(), text);
        }
        let readme = fs::read_to_string(repo.path().join("README.md")).unwrap();
        assert!(readme.ends_with("x\ny\n"), "{readme}");
        make_ignored(&repo);
    }
}

#[test]
fn replaced_repository_is_told_with_its_bundle() {
    let env = TestEnv::new();
    for (script, words, is_shallow) in [
        (
            "rm -rf .git; git init -q; git add .; git commit -qm all",
            "was replaced",
            false,
        ),
        // Objects of another format have other names.
        (
            "rm -rf .git; git init -q --object-format=sha256; git add .; git commit -qm a",
            "was replaced",
            false,
        ),
        ("rm -rf .git; git init -q", "was replaced", true),
        ("rm -rf .git", "was removed", false),
    ] {
        let name = script.len().to_string();
        let repo = named(&env, &name, &json!({"mode": "snapshot", "bundle": true}));
        let head = repo.head();
        if is_shallow {
            // Its file is all that makes a clone shallow.
            fs::write(repo.path().join(".git/shallow"), format!("{head}\n")).unwrap();
        }
        let out = repo.watchdog(&["run", "--json", "--no-probe", "--", "sh", "-c", script]);
        let verdict = out.json();
        assert_ne!(verdict["status"], "complete", "{out}");
        for out in [
            out,
            repo.watchdog(&["check", "--json", "--no-probe"]).expect(16),
        ] {
            let message = out.json()["message"].as_str().unwrap().to_owned();
            assert!(message.contains(words), "{script}: {message}");
            let (_, line) = message.split_once("its last bundle: ").unwrap();
            let line = line.split([')', ';']).next().unwrap();
            let path = env.state().join("bundles");
            let bundles = fs::read_dir(path)
                .unwrap()
                .map(|entry| entry.unwrap().path());
            for bundle in bundles.filter(|path| path.extension().unwrap() == "bundle") {
                let mode = fs::metadata(bundle).unwrap().permissions().mode();
                assert_eq!(mode & 0o777, 0o600);
            }
            let copy = env.root().join("DIR");
            let typed = env.command("sh", &env.root()).args(["-c", line]);
            typed.run().expect(0);
            let copied = Repo::new(&env, copy.clone());
            assert_eq!(copied.git(&["rev-parse", "main"]).trim(), head);
            fs::remove_dir_all(&copy).unwrap();
        }
        fs::remove_dir_all(repo.path()).unwrap();
    }
}

#[test]
fn replaced_linked_worktree_names_its_baseline() {
    let env = TestEnv::new();
    let main = named(&env, "repo", &json!({"mode": "snapshot"}));
    main.git(&["worktree", "add", "-q", "../linked"]);
    let own = Repo::new(&env, env.root().join("linked"));
    let baseline = own.head()[..12].to_owned();
    let script = "rm .git; git init -q; git add .; git commit -qm all";
    let words = format!("the baseline is at {baseline}, HEAD here");
    own.watchdog(&["run", "--json", "--no-probe", "--", "sh", "-c", script])
        .assert_printed(&[&words]);
    let words = format!("the baseline of 'linked' at {baseline} was recorded; no baseline");
    own.watchdog(&["check", "--json", "--no-probe"])
        .assert_printed(&[&words]);
}

#[test]
fn nothing_is_kept_beside_missing_objects() {
    let env = TestEnv::new();
    let repo = env.repo();
    let script = "echo a > a; find .git/objects -type f -delete";
    let out = repo.watchdog(&["run", "--json", "--no-probe", "--", "sh", "-c", script]);
    let message = out.json()["message"].as_str().unwrap().to_owned();
    assert!(
        !message.contains("is kept") && message.contains("is not in this repository"),
        "{out}"
    );
}

#[test]
fn bundle_is_written_where_refs_changed() {
    let env = TestEnv::new();
    let repo = with_ignored(&env, &json!({"bundle": true}));
    let bundles = || {
        repo.watchdog(&["snapshot"]).expect(0);
        let folder = env.state().join("bundles");
        let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
        let about = |entry: fs::DirEntry| {
            (
                entry.file_name(),
                entry.metadata().unwrap().modified().unwrap(),
            )
        };
        files.map(about).collect::<Vec<_>>()
    };
    let first = bundles();
    assert_eq!((first.len(), bundles()), (1, first.clone()));
    repo.git(&["branch", "topic"]);
    let second = bundles();
    assert_ne!(second, first);
    repo.git(&["branch", "-D", "topic"]);
    assert_ne!(bundles(), second);
    // So is the work that a session finds.
    repo.write("new", "uncommitted");
    let (name, _) = bundles().remove(0);
    let bundle = env.state().join("bundles").join(name);
    let heads = repo.git(&["bundle", "list-heads", bundle.to_str().unwrap()]);
    assert!(heads.contains("refs/watchdog/rescue/"), "{heads}");
}
