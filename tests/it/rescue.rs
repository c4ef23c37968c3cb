//! Rescues: commits a person would keep, nothing lost, nothing leaked.

use std::time::Duration;

use watchdog_core::config::settings::{ConfigSettings, RescueMode, RescueSettings};
use watchdog_facts::evidence::RescueOutcome;
use watchdog_git::RestoreTarget;

use crate::support::scratch_repo::{ScratchRepo, in_own_process};

fn settings(change: impl FnOnce(&mut RescueSettings)) -> RescueSettings {
    let mut settings = ConfigSettings::default().rescue;
    settings.mode = RescueMode::Single;
    settings.timeout = Duration::from_secs(30);
    change(&mut settings);
    settings
}

fn rescued(repo: &ScratchRepo, change: impl FnOnce(&mut RescueSettings)) -> RescueOutcome {
    repo.rescue(&repo.snapshot(), &settings(change))
}

fn command(line: &str) -> impl FnOnce(&mut RescueSettings) {
    let argv = vec!["sh".into(), "-c".into(), line.into()];
    move |settings| (settings.mode, settings.command) = (RescueMode::Command, Some(argv))
}

/// The paths and reasons of what was left out.
fn left_out(outcome: &RescueOutcome) -> Vec<(&str, &str)> {
    outcome
        .left_out
        .iter()
        .map(|l| (l.path.as_str(), l.why.as_str()))
        .collect()
}

/// Asserts that a refusal changed nothing: HEAD, index (byte for byte) and files.
fn assert_refused(repo: &ScratchRepo, why: &str, change: impl FnOnce(&mut RescueSettings)) {
    let snapshot = repo.snapshot();
    let (private, files) = (repo.private_state(), repo.files());
    let outcome = repo.rescue(&snapshot, &settings(change));
    let failed = outcome.failed.expect("it must be refused");
    assert!(failed.contains(why), "{failed}");
    assert_eq!((outcome.commits, outcome.lost), (0, vec![]));
    assert_eq!(repo.private_state(), private);
    assert_eq!(repo.files(), files);
}

#[test]
fn rescue_makes_one_commit_worth_keeping() {
    let repo = ScratchRepo::new();
    repo.write("tracked", "two\n");
    repo.remove("dir/inner");
    repo.write("new/file", "n");
    repo.write("staged", "s");
    repo.git(["add", "staged"]);
    repo.write("staged", "s2");
    repo.chmod("run.sh", 0o644);
    repo.git(["rm", "-q", "link"]);
    let outcome = rescued(&repo, |_| {});
    assert_eq!(
        outcome,
        RescueOutcome {
            commits: 1,
            made: outcome.made.clone(),
            ..RescueOutcome::default()
        }
    );
    assert_eq!(repo.git(["status", "--porcelain"]), "");
    let message = repo.git([
        "log",
        "-1",
        "--format=%an|%s|%(trailers:key=Watchdog-Snapshot,valueonly)",
    ]);
    assert_eq!(
        message.trim(),
        "A Person|chore(auth): rescue uncommitted work|refs/watchdog/rescue/auth/20260304T050607Z-0"
    );
    assert_eq!(repo.git(["show", "HEAD:staged"]), "s2");
    assert_eq!(
        repo.git(["diff", "--name-status", "HEAD~1", "HEAD"]),
        "D\tdir/inner\nD\tlink\nA\tnew/file\nM\trun.sh\nA\tstaged\nM\ttracked"
    );
}

#[test]
fn nothing_to_commit_is_no_failure() {
    let repo = ScratchRepo::new();
    repo.write(".env", "TOKEN=1");
    let outcome = rescued(&repo, |_| {});
    assert_eq!((outcome.commits, &outcome.failed), (0, &None));
    assert_eq!(left_out(&outcome), [(".env", "secret")]);
}

#[test]
fn secret_or_bulky_files_stay_out_even_staged() {
    let repo = ScratchRepo::new();
    for secret in [
        ".env",
        "sub/.env.local",
        "id_rsa",
        "server.pem",
        "vault/key.pem",
    ] {
        repo.write(secret, "secret");
    }
    for beside in ["sub/code.rs", "vault/code.rs"] {
        repo.write(beside, "fn beside() {}\n");
    }
    repo.write("node_modules/left-pad/index.js", "x");
    repo.write("target/CACHEDIR.TAG", "x");
    repo.write("target/debug/app", "x");
    repo.write("big", vec![0; 2000]);
    repo.write("code.rs", "fn main() {}\n");
    repo.write(".env.example", "TOKEN=\n");
    repo.git(["add", ".env", "server.pem", "big", "vault/key.pem"]);
    let snapshot = repo.snapshot();
    let outcome = repo.rescue(&snapshot, &settings(|s| s.max_bytes = 1999));
    assert_eq!(outcome.commits, 1, "{:?}", outcome.failed);
    assert_eq!(
        left_out(&outcome),
        [
            (".env", "secret"),
            ("big", "too_large"),
            ("id_rsa", "secret"),
            ("node_modules/left-pad/index.js", "excluded"),
            ("server.pem", "secret"),
            ("sub/.env.local", "secret"),
            ("target/CACHEDIR.TAG", "excluded"),
            ("target/debug/app", "excluded"),
            ("vault/key.pem", "secret"),
        ]
    );
    assert_eq!(
        repo.names_in("HEAD"),
        ".env.example\ncode.rs\nsub/code.rs\nvault/code.rs"
    );
    assert_eq!(repo.read(".env"), "secret");
    assert_eq!(
        repo.git(["diff", "--cached", "--name-only"]),
        ".env\nbig\nserver.pem\nvault/key.pem",
        "what was staged stays staged"
    );
    assert_eq!(
        repo.git(["show", &format!("{}:id_rsa", snapshot.commit)]),
        "secret",
        "the snapshot has it"
    );
}

#[test]
fn edits_hidden_from_git_stay_uncommitted() {
    let repo = ScratchRepo::new();
    repo.git(["update-index", "--assume-unchanged", "tracked"]);
    repo.git(["update-index", "--skip-worktree", "dir/inner"]);
    repo.write("tracked", "local");
    repo.write("dir/inner", "local");
    repo.write("new", "n");
    let outcome = rescued(&repo, |_| {});
    assert_eq!(
        left_out(&outcome),
        [("dir/inner", "excluded"), ("tracked", "excluded")]
    );
    assert_eq!(repo.names_in("HEAD"), "new");
    assert_eq!(repo.read("tracked"), "local");
}

#[test]
fn more_files_than_allowed_are_not_committed() {
    let repo = ScratchRepo::new();
    for n in 0..5 {
        repo.write(format!("f{n}"), "x");
    }
    let why = "5 files are to be committed, more than rescue.max_files (4) allows: ";
    assert_refused(&repo, why, |s| s.max_files = 4);
    assert_eq!(rescued(&repo, |s| s.max_files = 4).left_out, []);
}

#[test]
fn odd_names_are_taken_literally() {
    let repo = ScratchRepo::new();
    use std::os::unix::ffi::OsStrExt;
    for name in [
        &b"\xff\xfe"[..],
        b"new\nline",
        b":(exclude)tracked",
        b"*",
        b"-A",
        b"sp ace/x",
        b"\"quoted\"",
    ] {
        repo.write(std::ffi::OsStr::from_bytes(name), "x");
    }
    repo.write("[ab]", "x");
    let outcome = rescued(&repo, |_| {});
    assert_eq!((outcome.commits, &outcome.failed), (1, &None));
    assert_eq!(repo.git(["status", "--porcelain"]), "");
}

#[test]
fn files_and_folders_may_change_places() {
    let repo = ScratchRepo::new();
    repo.remove("tracked");
    repo.write("tracked/folder/file", "f");
    std::fs::remove_dir_all(repo.path("dir")).unwrap();
    repo.write("dir", "file");
    repo.remove("run.sh");
    repo.symlink("dir", "run.sh");
    let outcome = rescued(&repo, |_| {});
    assert_eq!((outcome.commits, &outcome.failed), (1, &None));
    assert_eq!(repo.git(["status", "--porcelain"]), "");
}

#[test]
fn folder_replaced_by_a_link_is_committed() {
    for (protect, exclude, uncommitted) in [
        (&[][..], &[][..], ""),
        (&["main"], &[], ""),
        (&[], &["dir"], "D dir/deep/file\n D dir/inner\n?? dir"),
    ] {
        let repo = ScratchRepo::new();
        repo.write("dir/deep/file", "deep\n");
        repo.git(["add", "-A"]);
        repo.git(["commit", "-qm", "deep"]);
        std::fs::rename(repo.path("dir"), repo.beside("moved")).unwrap();
        repo.symlink("../moved", "dir");
        repo.write("new", "n");
        let outcome = rescued(&repo, |settings| {
            let own = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
            settings.protect = own(protect);
            settings.exclude.extend(own(exclude));
        });
        if let Some(branch) = &outcome.fallback_branch {
            repo.git(["reset", "-q", branch]);
        } else {
            assert_eq!((outcome.commits, &outcome.failed), (1, &None));
        }
        assert_eq!(outcome.fallback_branch.is_some(), !protect.is_empty());
        let status = repo.git(["status", "--porcelain"]);
        assert_eq!(status.trim(), uncommitted);
        let out = left_out(&outcome)
            .into_iter()
            .any(|(path, _)| path == "dir/deep/file");
        assert_eq!(out, !exclude.is_empty());
    }
}

#[test]
fn rescue_can_make_the_first_commit() {
    let repo = ScratchRepo::unborn();
    repo.write("a", "1");
    repo.write("b", "2");
    repo.git(["add", "b"]);
    let outcome = rescued(&repo, |_| {});
    assert_eq!((outcome.commits, &outcome.failed), (1, &None));
    assert_eq!(repo.git(["ls-tree", "--name-only", "HEAD"]), "a\nb");
}

#[test]
fn hooks_run_as_for_a_person() {
    let repo = ScratchRepo::new();
    repo.write("new", "n");
    repo.hook("pre-commit", "git diff --cached --name-only > ../seen");
    repo.hook("commit-msg", "grep -q '^chore(auth): ' \"$1\"");
    let outcome = rescued(&repo, |_| {});
    assert_eq!(outcome.commits, 1, "{:?}", outcome.failed);
    assert_eq!(
        std::fs::read_to_string(repo.beside("seen")).unwrap(),
        "new\n"
    );
}

#[test]
fn branch_that_hooks_move_back_is_told() {
    for (hook, end) in [("pre-commit", "exit 1"), ("post-commit", "")] {
        let repo = ScratchRepo::new();
        repo.write("second", "2");
        repo.git(["add", "second"]);
        repo.git(["commit", "-qm", "second"]);
        let tip = repo.git(["rev-parse", "HEAD"]);
        repo.hook(
            hook,
            &format!("git reset -q --hard HEAD~2 2>/dev/null || git reset -q --hard HEAD~1; {end}"),
        );
        repo.write("new", "n");
        let outcome = rescued(&repo, |_| {});
        let failed = outcome.failed.unwrap_or_default();
        let back = format!("reset --keep {}", &tip[..12]);
        assert!(failed.contains(&back), "{hook} {end}: {failed}");
    }
}

#[test]
fn uncommittable_states_are_told_and_left_alone() {
    let repo = ScratchRepo::beside_a_conflict();
    repo.write("untracked", "u");
    repo.try_git_in(repo.root(), ["merge", "other"]);
    assert_refused(&repo, "a merge is in progress", |_| {});
    repo.git(["merge", "--abort"]);
    repo.try_git_in(repo.root(), ["rebase", "other"]);
    assert_refused(&repo, "a rebase is in progress", |_| {});
    repo.git(["rebase", "--abort"]);
    repo.try_git_in(repo.root(), ["cherry-pick", "other"]);
    assert_refused(&repo, "a cherry-pick is in progress", |_| {});
    repo.git(["cherry-pick", "--abort"]);
    repo.git(["switch", "-q", "--detach"]);
    assert_refused(&repo, "detached", |_| {});
}

#[test]
fn the_modes_that_commit_nothing_commit_nothing() {
    for mode in [RescueMode::Snapshot, RescueMode::Off] {
        let repo = ScratchRepo::new();
        repo.write("new", "n");
        let outcome = rescued(&repo, |s| s.mode = mode);
        assert_eq!(outcome, RescueOutcome::default());
        assert_eq!(repo.git(["status", "--porcelain"]), "?? new");
    }
}

#[test]
fn a_command_that_commits_is_a_rescue() {
    let repo = ScratchRepo::new();
    repo.write("a", "1");
    repo.write("b", "2");
    let line = "git add a && git commit -qm \"$WATCHDOG_SPEC: a\" && git add b && git commit -qm \"$WATCHDOG_SNAPSHOT\"";
    let outcome = rescued(&repo, command(line));
    assert_eq!(
        outcome,
        RescueOutcome {
            commits: 2,
            made: outcome.made.clone(),
            ..RescueOutcome::default()
        }
    );
    assert_eq!(
        repo.git(["log", "-2", "--format=%s"]),
        "refs/watchdog/rescue/auth/20260304T050607Z-0\nauth: a"
    );
}

#[test]
fn the_worktrees_own_script_is_the_default_command() {
    let repo = ScratchRepo::new();
    repo.write(
        "scripts/commit-rescue",
        "#!/bin/sh\ngit add -A && git commit -qm \"rescue $1\"\n",
    );
    repo.chmod("scripts/commit-rescue", 0o755);
    let outcome = rescued(&repo, |s| s.mode = RescueMode::Command);
    assert_eq!((outcome.commits, &outcome.failed), (1, &None));
    assert_eq!(repo.git(["log", "-1", "--format=%s"]), "rescue auth");
}

#[test]
fn a_missing_command_is_a_failure() {
    for argv in [
        None,
        Some(vec!["no-such-program-anywhere".to_owned()]),
        Some(vec!["./not/there".to_owned()]),
    ] {
        let repo = ScratchRepo::new();
        repo.write("new", "n");
        let outcome = rescued(&repo, |s| (s.mode, s.command) = (RescueMode::Command, argv));
        assert_eq!(outcome.commits, 0);
        assert!(outcome.failed.as_ref().is_some_and(|why| why.contains("rescue command") || why.contains("rescue.command")), "{outcome:?}");
        assert_eq!(outcome.warnings[0].code.as_str(), "rescue_command_missing");
    }
}

#[test]
fn failing_or_idle_rescue_command_is_a_failure() {
    let repo = ScratchRepo::new();
    repo.write("new", "n");
    let failed = |line: &str| rescued(&repo, command(line)).failed.unwrap();
    assert!(failed("echo it broke >&2; exit 9").contains("exit code 9: it broke"));
    assert!(failed("true").contains("made no commit"));
    assert_eq!(repo.read("new"), "n");
}

#[test]
fn discarded_work_is_detected_and_restorable() {
    for line in [
        "git checkout -q . && git clean -qfd",
        "git reset -q --hard && git clean -qfd",
        "git stash -q -u",
        "git commit -q --allow-empty -m fake && git reset -q --hard && git clean -qfd",
        "git reset -q --hard HEAD~1 && git clean -qfd",
    ] {
        let repo = ScratchRepo::new();
        repo.write("tracked", "committed\n");
        repo.git(["commit", "-qam", "second"]);
        repo.write("tracked", "uncommitted\n");
        repo.write("new", "n");
        let snapshot = repo.snapshot();
        let before = repo.files();
        let outcome = repo.rescue(&snapshot, &settings(command(line)));
        assert_eq!(outcome.lost, ["new", "tracked"], "{line}");
        repo.git(["reset", "-q", "--hard", snapshot.parent.as_deref().unwrap()]);
        repo.open()
            .restore(ScratchRepo::id(&snapshot), RestoreTarget::InPlace)
            .unwrap();
        assert_eq!(repo.files(), before, "{line}");
    }
}

#[test]
fn only_a_reverted_deletion_counts_as_lost() {
    let repo = ScratchRepo::new();
    repo.remove("tracked");
    let outcome = rescued(&repo, command("git checkout -q ."));
    assert_eq!(outcome.lost, ["tracked"]);
    repo.remove("tracked");
    let outcome = rescued(&repo, |_| {});
    assert_eq!((outcome.commits, outcome.lost), (1, vec![]));
}

#[test]
fn committed_and_later_changed_work_is_kept() {
    let repo = ScratchRepo::new();
    repo.write("new", "first");
    let line = "git add -A && git commit -qm one && echo more >> new && git commit -qam two";
    let outcome = rescued(&repo, command(line));
    assert_eq!((outcome.commits, outcome.lost), (2, vec![]));
}

#[test]
fn line_endings_that_git_converts_are_not_lost() {
    let repo = ScratchRepo::new();
    repo.git(["config", "core.autocrlf", "true"]);
    repo.write("new", "a\r\nb\r\n");
    let outcome = rescued(&repo, |_| {});
    assert_eq!((outcome.commits, outcome.lost), (1, vec![]));
    assert_eq!(repo.git(["cat-file", "-s", "HEAD:new"]), "4");
    assert_eq!(
        repo.try_snapshot(),
        None,
        "git regards the file as committed"
    );
}

#[test]
fn without_any_identity_watchdog_signs_itself() {
    let none = [
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("HOME", "/nonexistent"),
        ("XDG_CONFIG_HOME", "/nonexistent"),
    ];
    if !in_own_process(
        "rescue::without_any_identity_watchdog_signs_itself",
        &["env", "-u", "GIT_AUTHOR_NAME", "-u", "GIT_COMMITTER_NAME"],
        &none,
    ) {
        return;
    }
    let repo = ScratchRepo::new();
    repo.git(["config", "--unset", "user.name"]);
    repo.git(["config", "--unset", "user.email"]);
    repo.git(["config", "user.useConfigOnly", "true"]);
    repo.write("new", "n");
    let outcome = rescued(&repo, |_| {});
    assert_eq!((outcome.commits, &outcome.failed), (1, &None));
    assert_eq!(
        repo.git(["log", "-1", "--format=%an <%ae>"]),
        "watchdog <watchdog@localhost>"
    );
}
