//! Rescues where the repository's hooks, its signing or its branches have a say: asked as for a person, and when they
//! refuse, the work is on a branch of its own.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use watchdog_core::config::settings::{ConfigSettings, RescueMode, RescueSettings};
use watchdog_facts::evidence::RescueOutcome;
use watchdog_git::{SnapshotRequest, find_named_snapshot};
use watchdog_judge::rescue::{NO_OTHERS, RescueRequest, private_rule, rescue_snapshot};

use crate::support::assert_parts;
use crate::support::scratch_repo::ScratchRepo;

const BRANCH: &str = "watchdog/rescue/auth";

fn settings(change: impl FnOnce(&mut RescueSettings)) -> RescueSettings {
    let mut settings = ConfigSettings::default().rescue;
    settings.timeout = Duration::from_secs(30);
    change(&mut settings);
    settings
}

fn rescued(repo: &ScratchRepo, change: impl FnOnce(&mut RescueSettings)) -> RescueOutcome {
    repo.rescue(&repo.snapshot(), &settings(change))
}

/// All of `.git` that is the user's: what the branch of the rescue needs is not.
fn users_own(repo: &ScratchRepo) -> BTreeMap<PathBuf, (usize, u64, i64, i64)> {
    let mut state = repo.private_state();
    state.retain(|path, _| !path.to_string_lossy().contains("heads/watchdog"));
    state
}

/// Work in every state: changed, staged, staged and changed again, untracked, deleted, a new mode.
fn leave_work(repo: &ScratchRepo) {
    repo.write("tracked", "two\n");
    repo.write("staged", "s");
    repo.git(["add", "staged"]);
    repo.write("staged", "s2");
    repo.write("un/tracked", "u");
    repo.remove("dir/inner");
    repo.chmod("run.sh", 0o644);
}

/// Asserts that a refusal left everything of the user's as it was, and all of the work on the branch.
#[track_caller]
fn assert_elsewhere(
    repo: &ScratchRepo,
    why: &str,
    change: impl FnOnce(&mut RescueSettings),
) -> RescueOutcome {
    let snapshot = repo.snapshot();
    let (own, files) = (users_own(repo), repo.files());
    let outcome = repo.rescue(&snapshot, &settings(change));
    assert_eq!(
        (
            outcome.commits,
            &outcome.lost,
            outcome.fallback_branch.as_deref()
        ),
        (0, &vec![], Some(BRANCH)),
        "{outcome:?}"
    );
    assert!(
        outcome
            .failed
            .as_ref()
            .is_some_and(|failed| failed.contains(why)),
        "{outcome:?}"
    );
    assert_eq!(users_own(repo), own);
    assert_eq!(repo.files(), files);
    assert_eq!(
        repo.git(["rev-parse", &format!("{BRANCH}^{{tree}}")]),
        snapshot.tree
    );
    assert!(
        repo.git(["log", "-1", "--format=%B", BRANCH])
            .contains(&format!("Watchdog-Snapshot: {}", snapshot.name))
    );
    outcome
}

#[test]
fn work_refused_by_a_hook_gets_a_branch() {
    for hook in ["pre-commit", "commit-msg", "prepare-commit-msg"] {
        let repo = ScratchRepo::new();
        leave_work(&repo);
        repo.hook(hook, "echo 'lint: no' >&2; exit 3");
        repo.hook("reference-transaction", "echo ran >> ../ran");
        repo.hook("post-index-change", "echo ran >> ../ran");
        let ran = || std::fs::read_to_string(repo.beside("ran")).unwrap_or_default();
        let before = ran();
        assert_elsewhere(&repo, "lint: no", |_| {});
        assert_eq!(
            repo.git(["rev-list", "--count", &format!("main..{BRANCH}")]),
            "1"
        );
        assert!(
            ran().len() - before.len() < 40,
            "the hooks ran for the attempt, and not for the branch: {}",
            ran()
        );
        // The next round meets the same refusal, and adds nothing.
        assert_elsewhere(&repo, "lint: no", |_| {});
        assert_eq!(
            repo.git(["rev-list", "--count", &format!("main..{BRANCH}")]),
            "1"
        );
    }
}

#[test]
fn hook_output_imitating_git_never_discards_work() {
    let repo = ScratchRepo::new();
    leave_work(&repo);
    repo.hook(
        "pre-commit",
        "echo 'nothing to commit, working tree clean'; exit 1",
    );
    assert_elsewhere(&repo, "nothing to commit", |_| {});
}

#[test]
fn unborn_refused_work_gets_a_branch_too() {
    let repo = ScratchRepo::unborn();
    repo.write("untracked", "u");
    repo.hook("commit-msg", "echo refused; exit 1");
    assert_elsewhere(&repo, "refused", |_| {});
    assert!(!repo.path(".git/index").exists());
    assert!(!repo.path(".git/watchdog-rescue.index").exists());
}

#[test]
fn hanging_hook_is_ended_at_the_deadline() {
    let repo = ScratchRepo::new();
    leave_work(&repo);
    repo.hook(
        "pre-commit",
        "trap '' TERM; echo waiting; sleep 1000 & wait; sleep 1000",
    );
    let begun = std::time::Instant::now();
    let outcome = assert_elsewhere(&repo, "git commit did not end within 5 s", |s| {
        s.timeout = Duration::from_secs(5)
    });
    assert!(
        outcome.failed.unwrap().contains("waiting"),
        "the hook's output is told"
    );
    assert!(
        begun.elapsed() < Duration::from_secs(60),
        "{:?}",
        begun.elapsed()
    );
    assert!(!repo.path(".git/index.lock").exists());
}

#[test]
fn git_killed_in_a_commit_leaves_no_lock() {
    let repo = ScratchRepo::new();
    leave_work(&repo);
    let status = repo.git(["status", "--porcelain"]);
    for (hook, script) in [
        ("pre-commit", "kill -9 $PPID"),
        (
            "reference-transaction",
            "[ $1 != prepared ] || kill -9 $PPID",
        ),
    ] {
        repo.hook(hook, script);
        assert_elsewhere(&repo, "git commit ended with signal 9", |_| {});
        std::fs::remove_file(repo.path(format!(".git/hooks/{hook}"))).unwrap();
        assert_eq!(repo.git(["status", "--porcelain"]), status);
    }
    repo.git(["commit", "-q", "--allow-empty", "-m", "no lock is left"]);
}

#[test]
fn a_signature_that_needs_a_person_never_hangs() {
    for (program, why) in [
        ("exec sleep 1000", "git commit did not end"),
        ("echo 'no pinentry' >&2; exit 2", "no pinentry"),
    ] {
        let repo = ScratchRepo::new();
        leave_work(&repo);
        let gpg = repo.beside("gpg");
        std::fs::write(&gpg, format!("#!/bin/sh\n{program}\n")).unwrap();
        std::fs::set_permissions(&gpg, std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .unwrap();
        repo.git(["config", "commit.gpgSign", "true"]);
        repo.git(["config", "gpg.program", gpg.to_str().unwrap()]);
        assert_elsewhere(&repo, why, |s| s.timeout = Duration::from_secs(5));
        assert!(
            !repo.git(["cat-file", "-p", BRANCH]).contains("gpgsig"),
            "unsigned"
        );
    }
}

#[test]
fn protected_branch_sends_the_work_to_another() {
    let repo = ScratchRepo::new();
    leave_work(&repo);
    repo.hook("pre-commit", "echo ran > ../ran; exit 1");
    assert_elsewhere(&repo, "protected by rescue.protect", |s| {
        s.protect = vec!["ma*".into()]
    });
    assert!(!repo.beside("ran").exists(), "nobody asked the hooks");
}

#[test]
fn files_left_out_of_commits_stay_off_branches() {
    let repo = ScratchRepo::new();
    repo.write(".env", "TOKEN=1");
    repo.write("node_modules/x/index.js", "x");
    repo.write("code.rs", "fn main() {}\n");
    rescued(&repo, |s| s.protect = vec!["main".into()]);
    assert_eq!(repo.git(["diff", "--name-only", "main", BRANCH]), "code.rs");
}

#[test]
fn the_branch_only_moves_forward() {
    let repo = ScratchRepo::new();
    let protect = |s: &mut RescueSettings| s.protect = vec!["main".into()];
    repo.write("first", "1");
    rescued(&repo, protect);
    let first = repo.git(["rev-parse", BRANCH]);
    repo.write("second", "2");
    rescued(&repo, protect);
    assert_eq!(
        repo.git(["rev-list", &format!("main..{BRANCH}")])
            .lines()
            .nth(1),
        Some(first.as_str())
    );
    repo.git(["commit", "-q", "--allow-empty", "-m", "meanwhile"]);
    repo.remove("first");
    repo.write("third", "3");
    rescued(&repo, protect);
    repo.git(["merge-base", "--is-ancestor", &first, BRANCH]);
    repo.git(["merge-base", "--is-ancestor", "main", BRANCH]);
    assert_eq!(
        repo.git(["diff", "--name-only", "main", BRANCH]),
        "second\nthird"
    );
}

#[test]
fn checked_out_rescue_branch_is_left_alone() {
    let repo = ScratchRepo::new();
    repo.git(["branch", BRANCH]);
    let beside = repo.beside("linked");
    repo.git(["worktree", "add", "-q", beside.to_str().unwrap(), BRANCH]);
    let before = repo.git(["rev-parse", BRANCH]);
    repo.write("new", "n");
    let outcome = rescued(&repo, |s| s.protect = vec!["main".into()]);
    assert_eq!(
        outcome.fallback_branch.as_deref(),
        Some("watchdog/rescue/auth-2"),
        "{outcome:?}"
    );
    assert_eq!(repo.git(["rev-parse", BRANCH]), before);
    assert_eq!(repo.git(["show", "watchdog/rescue/auth-2:new"]), "n");
}

#[test]
fn branch_in_the_way_gives_another_name() {
    for other in ["watchdog", "watchdog/rescue", "watchdog/rescue/auth/deep"] {
        let repo = ScratchRepo::new();
        repo.git(["switch", "-qc", other]);
        repo.write("new", "n");
        let outcome = rescued(&repo, |s| s.protect = vec![other.into()]);
        let name = "watchdog-rescue-auth";
        assert_eq!(
            outcome.fallback_branch.as_deref(),
            Some(name),
            "{outcome:?}"
        );
        assert_parts(
            &outcome.failed.unwrap(),
            &[&format!("the branch '{other}' is in the way")],
        );
        assert_eq!(repo.git(["show", &format!("{name}:new")]), "n");
    }
}

#[test]
fn failed_branch_creation_is_told_without_losing_work() {
    let repo = ScratchRepo::new();
    repo.write(".git/refs/heads/watchdog/rescue/auth/in.lock", "");
    repo.write("new", "n");
    let outcome = rescued(&repo, |s| s.protect = vec!["main".into()]);
    assert_eq!(
        (outcome.fallback_branch, outcome.commits, outcome.lost),
        (None, 0, vec![])
    );
    assert_parts(
        &outcome.failed.unwrap(),
        &["could not be committed to a branch of its own"],
    );
    assert_eq!(repo.git(["status", "--porcelain"]), "?? new");
}

#[test]
fn work_taken_by_a_hook_comes_back() {
    for hook in [
        "git stash -q -k -u; exit 1",
        "git reset -q --hard; git clean -fdq; exit 1",
        "rm new un/tracked; git checkout -q HEAD -- dir; exit 1",
        "git stash -q -k -u; sleep 60",
    ] {
        let repo = ScratchRepo::new();
        leave_work(&repo);
        repo.write("new", "n");
        let (snapshot, files) = (repo.snapshot(), repo.files());
        let status = repo.git(["status", "--porcelain"]);
        repo.hook("pre-commit", hook);
        let limit = |s: &mut RescueSettings| s.timeout = Duration::from_secs(6);
        let outcome = repo.rescue(&snapshot, &settings(limit));
        assert_eq!(
            (&outcome.lost, outcome.fallback_branch.as_deref()),
            (&vec![], Some(BRANCH)),
            "{hook}: {outcome:?}"
        );
        assert_eq!(repo.files(), files, "{hook}");
        assert_eq!(repo.git(["status", "--porcelain"]), status, "{hook}");
        assert_eq!(outcome.warnings[0].code.as_str(), "changed_by_hooks");
        // git said nothing more.
        assert!(!outcome.failed.unwrap().ends_with(':'), "{hook}");
    }
}

#[test]
fn head_that_a_hook_moved_is_told() {
    for (hook, script, commits) in [
        (
            "pre-commit",
            "unset GIT_INDEX_FILE; git switch -q -c person; exit 1",
            0,
        ),
        ("pre-commit", "git switch -q theirs; exit 1", 0),
        ("post-commit", "git switch -q theirs", 1),
    ] {
        let repo = ScratchRepo::new();
        repo.git(["switch", "-qc", "theirs"]);
        repo.write("theirs", "t");
        repo.git(["add", "theirs"]);
        repo.git(["commit", "-qm", "theirs"]);
        repo.git(["switch", "-q", "main"]);
        leave_work(&repo);
        repo.write("new", "n");
        let snapshot = repo.snapshot();
        let script = format!("git stash -q -u; {script}");
        repo.hook(hook, &script);
        let outcome = repo.rescue(&snapshot, &settings(|_| {}));
        let failed = outcome.failed.unwrap_or_default();
        assert!(
            failed.starts_with("a hook switched from the branch main to ")
                && failed.contains(" switch main"),
            "{script}: {failed}"
        );
        // Work of one branch is not put onto another.
        assert!(!repo.files().contains_key("new".as_bytes()), "{script}");
        assert_eq!(outcome.commits, commits, "{script}");
        assert_eq!(outcome.lost.is_empty(), commits == 0, "{script}");
    }
}

#[test]
fn hooks_on_an_unborn_branch_are_told() {
    for (hook, script, commits, way) in [
        (
            "pre-commit",
            "git symbolic-ref HEAD refs/heads/more",
            1,
            Some("switch -c"),
        ),
        (
            "pre-commit",
            "git symbolic-ref HEAD refs/heads/more; exit 1",
            0,
            Some("switch -c"),
        ),
        (
            "pre-commit",
            "git symbolic-ref HEAD refs/heads/theirs; exit 1",
            0,
            Some("switch --orphan"),
        ),
        ("pre-commit", "rm untracked; exit 1", 0, None),
    ] {
        let repo = ScratchRepo::unborn();
        let tree = repo.git(["mktree"]);
        let theirs = repo.git(["commit-tree", &tree, "-m", "theirs"]);
        repo.git(["branch", "theirs", &theirs]);
        repo.write("untracked", "u");
        let (snapshot, files) = (repo.snapshot(), repo.files());
        repo.hook(hook, script);
        let outcome = repo.rescue(&snapshot, &settings(|_| {}));
        assert_eq!(
            (outcome.commits, &repo.files()),
            (commits, &files),
            "{script}"
        );
        let failed = outcome.failed.unwrap_or_default();
        let Some(way) = way else {
            let details: String = outcome.warnings.iter().map(|w| &*w.detail).collect();
            assert!(details.contains(", and put back"), "{details}");
            continue;
        };
        assert!(
            failed.contains(&format!(" {way} main")),
            "{script}: {failed}"
        );
        repo.git(format!("{way} main").split(' '));
        assert_eq!(repo.git(["symbolic-ref", "HEAD"]), "refs/heads/main");
        assert_eq!(repo.files(), files, "{script}");
    }
    // A commit that a hook took back is refused work.
    let repo = ScratchRepo::new();
    leave_work(&repo);
    repo.hook(
        "post-commit",
        "unset GIT_INDEX_FILE; git reset -q --soft HEAD~",
    );
    let outcome = rescued(&repo, |_| {});
    assert_eq!(
        outcome.fallback_branch.as_deref(),
        Some(BRANCH),
        "{outcome:?}"
    );
}

#[test]
fn broken_index_and_branch_of_a_hook_are_mended() {
    for script in ["rm .git/index", "echo x > .git/index"] {
        let repo = ScratchRepo::new();
        leave_work(&repo);
        let status = repo.git(["status", "--porcelain"]);
        repo.hook("pre-commit", &format!("{script}; exit 1"));
        let outcome = rescued(&repo, |_| {});
        assert_eq!(outcome.fallback_branch.as_deref(), Some(BRANCH), "{script}");
        assert_eq!(repo.git(["status", "--porcelain"]), status, "{script}");
    }
    // A second attempt makes no commit without a parent on the new branch.
    let repo = ScratchRepo::new();
    leave_work(&repo);
    repo.hook("pre-commit", "git symbolic-ref HEAD refs/heads/more");
    let outcome = rescued(&repo, |_| {});
    assert_eq!(outcome.commits, 0, "{outcome:?}");
    assert!(outcome.failed.unwrap().contains(" switch main"));
}

#[test]
fn long_names_pass_a_hook_of_line_lengths() {
    let repo = ScratchRepo::new();
    // In bytes, as awk counts.
    repo.hook("commit-msg", "! LC_ALL=C grep -qE '^.{73}' \"$1\"");
    let spec = format!("feature/{}", "long-".repeat(30));
    for (n, spec) in [spec.as_str(), &spec[..60], "auth"].into_iter().enumerate() {
        repo.write(
            format!("{}/{}/{n}", "déep".repeat(20), "name".repeat(20)),
            "x",
        );
        let request = SnapshotRequest {
            spec,
            at: Timestamp::now(),
            why: "a test",
            max_new_bytes: None,
            even_clean: false,
        };
        let snapshot = repo.open().take_snapshot(&request).unwrap().unwrap();
        let outcome = rescue_snapshot(
            &repo.open(),
            &RescueRequest {
                settings: &settings(|_| {}),
                spec,
                snapshot: &snapshot,
                others: &NO_OTHERS,
            },
            None,
        )
        .unwrap();
        assert_eq!(
            (outcome.commits, &outcome.failed),
            (1, &None),
            "{outcome:?}"
        );
        let message = repo.git(["log", "-1", "--format=%B"]);
        assert!(
            message
                .lines()
                .next()
                .is_some_and(|subject| subject.len() <= 72),
            "{message}"
        );
        let named = find_named_snapshot(&message).expect("a trailer");
        assert!(
            named == snapshot.name || named == snapshot.commit,
            "{message}"
        );
        let (made, snapshot_commit) = repo.open().rescue_commits_at_head().unwrap();
        assert!(!made.is_empty() && snapshot_commit == Some(snapshot.commit));
    }
}

#[test]
fn rescue_branch_content_is_converted_like_git() {
    let repo = ScratchRepo::new();
    repo.git(["config", "core.autocrlf", "true"]);
    repo.git(["config", "filter.up.clean", "tr a-z A-Z"]);
    repo.write(".gitattributes", "*.up filter=up\n");
    repo.write("lines", "a\r\nb\r\n");
    repo.write("x.up", "shout");
    let outcome = rescued(&repo, |s| s.protect = vec!["main".into()]);
    assert_eq!(
        outcome.fallback_branch.as_deref(),
        Some(BRANCH),
        "{outcome:?}"
    );
    assert_eq!(
        repo.git(["cat-file", "-s", &format!("{BRANCH}:lines")]),
        "4"
    );
    assert_eq!(repo.git(["show", &format!("{BRANCH}:x.up")]), "SHOUT");
}

#[test]
fn failing_filter_keeps_the_work_on_the_branch() {
    let repo = ScratchRepo::new();
    repo.git(["config", "filter.lfs.clean", "false"]);
    repo.git(["config", "filter.lfs.required", "true"]);
    repo.write(".gitattributes", "*.bin filter=lfs\n");
    repo.write("x.bin", "bytes");
    repo.write("plain", "p");
    repo.remove("dir/inner");
    let outcome = rescued(&repo, |s| s.protect = vec!["main".into()]);
    assert_eq!(
        outcome.fallback_branch.as_deref(),
        Some(BRANCH),
        "{outcome:?}"
    );
    assert_eq!(repo.git(["show", &format!("{BRANCH}:x.bin")]), "bytes");
    assert_eq!(
        repo.git(["diff", "--name-status", "main", BRANCH]),
        "A\t.gitattributes\nD\tdir/inner\nA\tplain\nA\tx.bin"
    );
}

#[test]
fn files_reformatted_by_a_hook_are_kept() {
    let format = "for f in $(git diff --cached --name-only --diff-filter=d); do sed -i 's/  */ /g' \"$f\"; git add \"$f\"; done";
    for mode in [RescueMode::Single, RescueMode::Plan] {
        let repo = ScratchRepo::new();
        repo.write("tracked", "a    b\n");
        repo.write("new.txt", "c   d\n");
        repo.write("untouched.txt", "e f\n");
        repo.hook("pre-commit", format);
        let snapshot = repo.snapshot();
        let outcome = repo.rescue(&snapshot, &settings(|s| s.mode = mode));
        assert_eq!(
            (outcome.commits, &outcome.failed, &outcome.lost),
            (1, &None, &vec![]),
            "{outcome:?}"
        );
        assert_eq!(repo.git(["show", "HEAD:tracked"]), "a b");
        assert_eq!(
            repo.git(["status", "--porcelain"]),
            "",
            "the index follows the commit"
        );
        let note = &outcome.warnings[0];
        assert_eq!(note.code.as_str(), "changed_by_hooks");
        assert!(
            note.detail.contains("new.txt, tracked;") && !note.detail.contains("untouched"),
            "{}",
            note.detail
        );
        assert_eq!(
            repo.git(["show", &format!("{}:tracked", snapshot.commit)]),
            "a    b",
            "the original is in the snapshot"
        );
    }
}

#[test]
fn hook_discarding_work_is_detected() {
    for (hook, lost) in [
        // The commit does not have it, and the work tree had it no more.
        (
            "git checkout -q HEAD -- tracked 2>/dev/null; GIT_INDEX_FILE= git show HEAD:tracked > tracked",
            vec![],
        ),
        (": > tracked; git add tracked", vec!["tracked"]),
        ("rm new; git rm -q --cached new", vec![]),
    ] {
        let repo = ScratchRepo::new();
        repo.write("tracked", "work\n");
        repo.write("new", "work\n");
        repo.hook("pre-commit", hook);
        let outcome = rescued(&repo, |_| {});
        assert_eq!(outcome.lost, lost, "{hook}: {outcome:?}");
        assert_eq!(
            outcome.failed.is_some(),
            lost.is_empty(),
            "{hook}: {outcome:?}"
        );
        assert_eq!(repo.read("new"), "work\n");
    }
}

#[test]
fn a_command_that_rewrites_work_is_no_hook() {
    let repo = ScratchRepo::new();
    repo.write("tracked", "work\n");
    let line = "echo other > tracked && git commit -qam other";
    let outcome = rescued(&repo, |s| {
        (s.mode, s.command) = (
            RescueMode::Command,
            Some(vec!["sh".into(), "-c".into(), line.into()]),
        );
    });
    assert_eq!(outcome.lost, ["tracked"]);
}

#[test]
fn refusing_hook_leaves_the_originals_on_the_branch() {
    let repo = ScratchRepo::new();
    repo.write("tracked", "original\n");
    repo.write("new", "n\n");
    repo.hook(
        "pre-commit",
        "echo formatted > tracked; echo 'eslint: 3 errors' >&2; exit 1",
    );
    let outcome = rescued(&repo, |_| {});
    assert_eq!(
        (outcome.fallback_branch.as_deref(), outcome.lost.len()),
        (Some(BRANCH), 0),
        "{outcome:?}"
    );
    assert!(outcome.failed.unwrap().contains("eslint: 3 errors"));
    assert_eq!(repo.git(["show", &format!("{BRANCH}:tracked")]), "original");
    assert_eq!(repo.git(["show", &format!("{BRANCH}:new")]), "n");
    assert_eq!(
        repo.read("tracked"),
        "formatted\n",
        "the work tree is the hook's doing, and is left alone"
    );
    assert_eq!(outcome.warnings[0].code.as_str(), "changed_meanwhile");
}

#[test]
fn lock_of_a_live_git_is_no_refusal() {
    let repo = ScratchRepo::new();
    repo.write("tracked", "two\n");
    std::fs::write(repo.path(".git/index.lock"), "").unwrap();
    let outcome = rescued(&repo, |s| s.timeout = Duration::from_secs(1));
    assert_eq!(
        (outcome.commits, &outcome.fallback_branch),
        (0, &None),
        "{outcome:?}"
    );
    assert!(outcome.failed.unwrap().contains("index.lock"));
    std::fs::remove_file(repo.path(".git/index.lock")).unwrap();
    assert_eq!(rescued(&repo, |_| {}).commits, 1);
}

#[test]
fn hook_hanging_after_the_commit_keeps_it() {
    let repo = ScratchRepo::new();
    repo.write("tracked", "two\n");
    repo.hook("post-commit", "exec sleep 1000");
    let outcome = rescued(&repo, |s| s.timeout = Duration::from_secs(5));
    assert_eq!(
        (outcome.commits, &outcome.fallback_branch, &outcome.lost),
        (1, &None, &vec![]),
        "{outcome:?}"
    );
    // The commit is there and whole: what complained afterwards is a note.
    assert_eq!(outcome.failed, None);
    assert_eq!(outcome.warnings[0].code.as_str(), "commit_complaint");
    assert_parts(&outcome.warnings[0].detail, &["did not end within 5 s"]);
    assert_eq!(repo.git(["status", "--porcelain"]), "");
}

#[test]
fn hook_that_fixes_files_is_asked_again() {
    // As the pre-commit program does it: the files are put right, the commit is refused, and the next one is fine.
    let fix = "for f in $(git diff --cached --name-only --diff-filter=d); do\n\
               if grep -q '[[:space:]]$' \"$f\"; then sed -i 's/[[:space:]]*$//' \"$f\"; echo \"fixed $f\"; bad=1; fi; done\n\
               exit ${bad:-0}";
    for mode in [RescueMode::Single, RescueMode::Plan] {
        let repo = ScratchRepo::new();
        repo.write("tracked", "two   \n");
        repo.write("new.txt", "new   \n");
        repo.write("fine.txt", "fine\n");
        repo.hook("pre-commit", fix);
        let snapshot = repo.snapshot();
        let outcome = repo.rescue(&snapshot, &settings(|s| s.mode = mode));
        assert_eq!(
            (
                outcome.commits,
                &outcome.failed,
                &outcome.fallback_branch,
                &outcome.lost
            ),
            (1, &None, &None, &vec![]),
            "{outcome:?}"
        );
        assert_eq!(
            (
                repo.git(["show", "HEAD:tracked"]),
                repo.git(["show", "HEAD:new.txt"])
            ),
            ("two".into(), "new".into())
        );
        assert_eq!(repo.git(["status", "--porcelain"]), "");
        assert_eq!(outcome.warnings[0].code.as_str(), "changed_by_hooks");
        assert_eq!(
            repo.git(["cat-file", "-s", &format!("{}:tracked", snapshot.commit)]),
            "7",
            "the original is in the snapshot"
        );
    }
}

#[test]
fn hook_writing_a_secret_is_not_asked_again() {
    let repo = ScratchRepo::new();
    repo.write("tracked", "two\n");
    repo.hook("pre-commit", "echo x >> ../asked; printf 'key = AKIA%s\\n' J5QWERTYUIOPLKJH > tracked; [ $(wc -l < ../asked) -gt 1 ]");
    let outcome = rescued(&repo, |_| {});
    assert_eq!(
        (outcome.commits, outcome.fallback_branch.as_deref()),
        (0, Some(BRANCH)),
        "{outcome:?}"
    );
    assert_eq!(
        std::fs::read_to_string(repo.beside("asked")).unwrap(),
        "x\n"
    );
}

#[test]
fn repository_filter_commits_no_left_out_secret() {
    for ignored in [false, true] {
        let repo = ScratchRepo::new();
        repo.git(["config", "filter.sly.clean", "cat .env"]);
        repo.write(".gitattributes", "notes.txt filter=sly\n");
        repo.git(["add", ".gitattributes"]);
        repo.git(["commit", "-qm", "attributes"]);
        if ignored {
            repo.write(".git/info/exclude", ".env\n");
        }
        repo.write(".env", "DB_PASSWORD=correct-horse-battery\n");
        repo.write("notes.txt", "notes\n");
        repo.write("code.rs", "fn main() {}\n");
        let snapshot = repo
            .snapshot_apart(&private_rule(&settings(|_| {})))
            .unwrap();
        let outcome = repo.rescue(&snapshot, &settings(|_| {}));
        assert_eq!(
            (outcome.commits, &outcome.failed, &outcome.lost),
            (1, &None, &vec![]),
            "{outcome:?}"
        );
        assert_eq!(repo.names_in("HEAD"), "code.rs");
        assert!(
            outcome
                .left_out
                .iter()
                .any(|left| left.path == "notes.txt" && left.why.as_str() == "secret"),
            "{outcome:?}"
        );
        assert!(
            !repo
                .git(["log", "-p", "--all", "--not", "--glob=refs/watchdog/*"])
                .contains("correct-horse")
        );
    }
}

#[test]
fn secret_committed_by_a_hook_is_detected() {
    let repo = ScratchRepo::new();
    repo.write(".env", "DB_PASSWORD=correct-horse-battery\n");
    repo.write("notes.txt", "notes\n");
    repo.hook(
        "pre-commit",
        "cp .env notes.txt; git add notes.txt; echo notes > notes.txt",
    );
    let snapshot = repo
        .snapshot_apart(&private_rule(&settings(|_| {})))
        .unwrap();
    let outcome = repo.rescue(&snapshot, &settings(|_| {}));
    let failed = outcome.failed.clone().unwrap_or_default();
    assert_parts(&failed, &["put a secret into notes.txt", " reset --soft "]);
    assert!(!failed.contains("correct-horse"));
}

#[test]
fn a_filter_that_only_converts_is_no_leak() {
    let repo = ScratchRepo::new();
    repo.git(["config", "filter.up.clean", "tr a-z A-Z"]);
    repo.write(".gitattributes", "*.up filter=up\n");
    repo.write(".env", "DB_PASSWORD=correct-horse-battery\n");
    repo.write("x.up", "shout\n");
    let outcome = rescued(&repo, |_| {});
    assert_eq!(
        (outcome.commits, &outcome.failed),
        (1, &None),
        "{outcome:?}"
    );
    assert_eq!(repo.git(["show", "HEAD:x.up"]), "SHOUT");
}
