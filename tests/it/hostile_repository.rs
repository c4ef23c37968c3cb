//! A repository whose own configuration names programs: none of them runs while watchdog looks or takes a snapshot.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::support::{Repo, Step, TestEnv, assert_parts};

/// Every way to name a program that git would run by itself, each leaving its name behind in `marks`.
fn booby_trap(env: &TestEnv, repo: &Repo<'_>) {
    let marks = env.root().join("marks");
    fs::create_dir(&marks).expect("a new folder");
    let trap = |name: &str, rest: &str| {
        let path = env.write(
            &format!("traps/{name}"),
            format!("#!/bin/sh\ntouch '{}/{name}'\n{rest}\n", marks.display()),
        );
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("our own file");
        path.to_string_lossy().into_owned()
    };
    let hooks = env.root().join("hooks");
    fs::create_dir(&hooks).expect("a new folder");
    for hook in [
        "pre-commit",
        "prepare-commit-msg",
        "commit-msg",
        "post-commit",
        "post-checkout",
        "post-index-change",
        "reference-transaction",
        "pre-auto-gc",
        "post-rewrite",
        "fsmonitor-watchman",
    ] {
        fs::copy(
            trap(&format!("hook-{hook}"), "cat >/dev/null 2>&1 </dev/null"),
            hooks.join(hook),
        )
        .expect("a hook");
        fs::copy(hooks.join(hook), repo.path().join(".git/hooks").join(hook)).expect("a hook");
    }
    repo.write(
        ".gitattributes",
        "*.txt filter=evil diff=evil merge=evil\n*.lfs filter=process\n",
    );
    repo.write("tracked.txt", "tracked\n");
    repo.write("tracked.lfs", "tracked\n");
    repo.git(&["-c", "core.hooksPath=/dev/null", "add", "-A"]);
    repo.git_line("-c core.hooksPath=/dev/null commit -q -m tracked", &[]);
    for (key, value) in [
        ("core.fsmonitor", trap("fsmonitor", "printf '/'")),
        ("core.hooksPath", hooks.to_string_lossy().into_owned()),
        ("core.sshCommand", trap("ssh", "exit 1")),
        ("core.editor", trap("editor", "")),
        ("core.pager", trap("pager", "cat")),
        ("core.askPass", trap("askpass", "")),
        ("core.alternateRefsCommand", trap("alternate-refs", "")),
        ("sequence.editor", trap("sequence-editor", "")),
        ("credential.helper", trap("credential", "")),
        ("gpg.program", trap("gpg", "exit 1")),
        ("commit.gpgSign", "true".into()),
        ("diff.external", trap("diff-external", "")),
        ("diff.evil.command", trap("diff-command", "")),
        ("diff.evil.textconv", trap("textconv", "cat \"$1\"")),
        ("merge.evil.driver", trap("merge-driver", "")),
        ("filter.evil.clean", trap("filter-clean", "cat")),
        ("filter.evil.smudge", trap("filter-smudge", "cat")),
        ("filter.evil.required", "true".into()),
        ("filter.process.process", trap("filter-process", "exit 1")),
        ("remote.origin.url", "ssh://nowhere.invalid/x".into()),
        ("remote.origin.uploadpack", trap("uploadpack", "exit 1")),
        ("remote.origin.promisor", "true".into()),
        ("extensions.partialClone", "origin".into()),
        ("alias.rev-list", format!("!{}", trap("alias", ""))),
        ("alias.status", format!("!{}", trap("alias", ""))),
    ] {
        repo.git(&["config", key, &value]);
    }
}

/// The names of the traps that went off.
fn marks(env: &TestEnv) -> Vec<String> {
    let entries = fs::read_dir(env.root().join("marks"))
        .expect("made above")
        .flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn looking_and_rescuing_run_no_repository_programs() {
    let env = TestEnv::new();
    let repo = env.repo();
    booby_trap(&env, &repo);
    // Changed at the same size, so that looking must read content; plus staged and new work.
    repo.write("tracked.txt", "changed\n");
    repo.write("tracked.lfs", "changed\n");
    repo.write("new.txt", "new\n");
    let _ = repo.try_git(&["status"]);
    assert!(
        marks(&env).len() > 1,
        "the traps must be live for git itself: {:?}",
        marks(&env)
    );
    fs::remove_dir_all(env.root().join("marks")).expect("made above");
    fs::create_dir(env.root().join("marks")).expect("a new folder");

    let config = env.config_asking(
        &[Step::print("{\"status\": \"working\"}")],
        json!({"rescue": {"mode": "snapshot"}, "completion_check": {"max_probes": 2, "probe_interval_seconds": 0}}),
    );
    let config = config.to_str().expect("UTF-8");
    assert_eq!(
        repo.watchdog(&["snapshot"]).expect(0).stdout.trim().len(),
        40
    );
    assert_eq!(marks(&env), [""; 0], "while the baseline was recorded");
    let out = repo.watchdog(&["check", "--json", "--no-probe", "--config", config]);
    assert_eq!(out.verdict(), "incomplete/unfinished", "{out}");
    assert_eq!(marks(&env), [""; 0], "while it looked\n{out}");
    let out = repo.watchdog(&["check", "--json", "--config", config]);
    assert_ne!(out.code, Some(0), "{out}");
    assert_eq!(marks(&env), [""; 0], "while it kept the work\n{out}");
    let out = repo.watchdog(&["rescue", "--config", config]);
    assert_eq!(marks(&env), [""; 0], "while it salvaged\n{out}");
    // Disarmed, so that git itself can be asked what was kept.
    fs::write(
        repo.path().join(".git/config"),
        "[core]\n\trepositoryformatversion = 0\n",
    )
    .expect("our own file");
    let snapshots = repo.snapshots();
    let kept = snapshots.iter().any(|snapshot| {
        ["tracked.txt", "tracked.lfs"]
            .iter()
            .all(|name| repo.file_in(snapshot, name).as_deref() == Some("changed\n"))
            && repo.file_in(snapshot, "new.txt").as_deref() == Some("new\n")
    });
    assert!(
        kept,
        "the bytes are kept as they are on disk: {snapshots:?}"
    );
}

#[test]
fn unusable_setting_is_told_beside_read_facts() {
    let env = TestEnv::new();
    let repo = env.repo();
    let config = repo.path().join(".git/config");
    let mend = format!("git config --file {} --unset core.bare", config.display());
    let script = "echo c > c; git add c; git commit -qm two; echo d > d; git config core.bare true";
    let run = ["run", "--no-probe", "--json", "--", "sh", "-c", script];
    let verdict = repo.watchdog(&run).expect(0).json();
    assert_eq!(verdict["new_commits"], 1, "{verdict}");
    assert!(verdict["message"].to_string().contains(&mend), "{verdict}");
    assert_parts(&verdict["degraded"].to_string(), &["git_unusable"]);
    let rescued = repo.watchdog(&["rescue"]);
    let words = "git update-index ended with exit code 128: fatal: this operation must be run in a work tree";
    assert!(
        rescued.stderr.contains(words) && rescued.stderr.contains(&mend),
        "{rescued}"
    );
    for command in ["doctor", "snapshot"] {
        let told = repo.watchdog(&[command]);
        let words = format!("{}{}", told.stdout, told.stderr);
        assert!(
            words.contains(&mend) && !words.contains("mend: mend"),
            "{told}"
        );
    }
    let swept = repo.watchdog(&["sweep", "."]);
    assert!(swept.stdout.contains(&mend), "{swept}");
    for session in [&["run"][..], &["loop", "--max-iterations", "1", "-p", "x"]] {
        let refused = repo
            .watchdog(&[session, &["--", "touch", "begun"]].concat())
            .expect(16);
        assert!(
            format!("{}{}", refused.stdout, refused.stderr).contains(&mend) && !repo.has("begun"),
            "{refused}"
        );
    }
    env.command("sh", repo.path())
        .args(["-c", &mend])
        .run()
        .expect(0);
    repo.watchdog(&["rescue"]).expect(0);
    assert_eq!(repo.status(), "");
}

#[test]
fn broken_configuration_is_told_in_gits_words() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.watchdog(&["snapshot"]).expect(0);
    let (bad, home) = (env.write("bad", "[core"), env.home().join(".gitconfig"));
    let [config, index] = ["config", "index"].map(|name| repo.path().join(".git").join(name));
    let good = fs::read_to_string(&config).expect("a configuration");
    let include = format!("{good}[include]\n\tpath = {}\n", bad.display());
    let value = format!("{good}\tfilemode = perhaps\n");
    let line = "fatal: bad config line";
    for (file, text, words, named, is_unreadable) in [
        (&config, &*include, line, &bad, true),
        (&home, "[user", line, &home, true),
        // gix takes such a value for none.
        (
            &config,
            &*value,
            "bad boolean config value 'perhaps'",
            &config,
            false,
        ),
        (&index, "garbage", "index file smaller", &index, true),
    ] {
        let before = fs::read(file).expect("a file of the test");
        fs::write(file, text).expect("a file of the test");
        for (command, is_told) in [
            ("check --no-probe", is_unreadable),
            ("run -- touch begun", true),
            ("loop --max-iterations 1 -p x -- touch begun", true),
            ("sweep .", is_unreadable),
            ("doctor", true),
        ] {
            let told = repo.watchdog(&command.split(' ').collect::<Vec<_>>());
            let says = format!("{}{}", told.stdout, told.stderr);
            let parts = [words, &*named.to_string_lossy(), "type: "];
            assert_eq!(
                parts.iter().all(|part| says.contains(part)),
                is_told,
                "{text}: {told}"
            );
            let is_misled = ["install git", "was removed"]
                .iter()
                .any(|part| says.contains(part));
            assert!(!is_misled && !repo.has("begun"), "{told}");
        }
        fs::write(file, before).expect("a file of the test");
    }
    // The session breaks it, and the verdict on its commit says so.
    let script = format!(
        "git commit -qm two --allow-empty; git config include.path {}",
        bad.display()
    );
    let ended = repo.watchdog(&["run", "--no-probe", "--", "sh", "-c", &script]);
    let words = format!("git does not work here: {line}");
    assert!(ended.stderr.contains(&words), "{ended}");
}

#[test]
fn rescue_commits_nothing_into_another_work_tree() {
    let env = TestEnv::new();
    let repo = env.repo();
    let head = repo.head();
    repo.write("work", "w");
    repo.git(&["config", "core.worktree", "../.."]);
    let rescued = repo.watchdog(&["rescue"]);
    rescued.assert_told(&["not committed: core.worktree in "]);
    assert_eq!((repo.head(), repo.snapshots().len()), (head, 1));
}
