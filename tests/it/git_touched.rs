//! What differs from the baseline, committed or not; and whether a remote has HEAD.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use watchdog_git::{
    Error, GuardedPaths, HiddenEntries, HistoryPoint, RemoteState, WorkDiff, Worktree,
};

use crate::support::assert_parts;
use crate::support::lone_repo::Repo;

/// A repository with `kept`, `tests/a` and `tests/b` at its baseline.
fn repo() -> (Repo, HistoryPoint) {
    let repo = Repo::init();
    repo.write("tests/a", "a\n");
    repo.write("tests/b", "b\n");
    repo.write("kept", "one\ntwo\n");
    repo.git(&["add", "-A"]);
    repo.git(&["commit", "-qm", "start"]);
    let baseline = HistoryPoint::Commit(repo.head());
    (repo, baseline)
}

fn touched(repo: &Repo, baseline: &HistoryPoint) -> Vec<String> {
    Worktree::open(repo.root())
        .unwrap()
        .touched_since(baseline, None, &|_| true)
        .unwrap()
}

/// The files that differ from the baseline, as they are guarded.
fn changed(repo: &Repo, baseline: &HistoryPoint) -> Vec<String> {
    changed_but(repo, baseline, &BTreeMap::new())
}

fn changed_but(
    repo: &Repo,
    baseline: &HistoryPoint,
    differing: &BTreeMap<String, Option<String>>,
) -> Vec<String> {
    Worktree::open(repo.root())
        .unwrap()
        .changed_files(baseline, differing, &everything())
        .unwrap()
}

fn everything() -> GuardedPaths {
    GuardedPaths::new(&["**".into()], BTreeSet::new()).unwrap()
}

#[test]
fn guarded_files_are_compared_despite_new_ignore_rules() {
    let (repo, baseline) = repo();
    assert!(changed(&repo, &baseline).is_empty());
    repo.commit_file("tests/a", "weaker\n", "weaken");
    repo.write("tests/a", "a\n");
    assert_eq!(
        changed(&repo, &baseline),
        ["tests/a"],
        "committed, and as before on disk"
    );
    repo.git(&["reset", "-q", "--hard", "HEAD~1"]);
    repo.write("tests/a", "weaker\n");
    repo.git(&["add", "tests/a"]);
    repo.write("tests/a", "a\n");
    assert_eq!(
        changed(&repo, &baseline),
        ["tests/a"],
        "staged, and as before on disk"
    );
    repo.git(&["reset", "-q", "--hard"]);
    repo.write("tests/hidden", "x");
    repo.write(".git/info/exclude", "tests/hidden\n");
    assert_eq!(changed(&repo, &baseline), ["tests/hidden"]);
    fs::remove_file(repo.path("tests/hidden")).unwrap();
    repo.git(&["mv", "tests/b", "elsewhere"]);
    assert_eq!(changed(&repo, &baseline), ["elsewhere", "tests/b"]);
}

#[test]
fn guarded_file_behind_a_link_is_missing() {
    let (repo, baseline) = repo();
    fs::rename(repo.path("tests"), repo.path(".git/tests")).unwrap();
    std::os::unix::fs::symlink(".git/tests", repo.path("tests")).unwrap();
    assert_eq!(changed(&repo, &baseline), ["tests", "tests/a", "tests/b"]);
}

#[test]
fn ignored_or_converted_content_is_no_change() {
    let (repo, _) = repo();
    repo.write(".gitignore", "*.log\n/build/\n");
    repo.write(".gitattributes", "*.crlf text eol=crlf\n");
    repo.write("tests/c.crlf", "one\r\ntwo\r\n");
    repo.write("link.txt", "");
    repo.git(&["add", "-A"]);
    repo.git(&["commit", "-qm", "rules"]);
    let baseline = HistoryPoint::Commit(repo.head());
    repo.write("tests/run.log", "x");
    repo.write("build/out/file", "x");
    assert!(
        changed(&repo, &baseline).is_empty(),
        "{:?}",
        changed(&repo, &baseline)
    );
    repo.write("tests/c.crlf", "one\ntwo\n");
    assert!(changed(&repo, &baseline).is_empty());
    repo.write("tests/c.crlf", "one\r\nthree\r\n");
    repo.write(".gitattributes", "* -text\n");
    assert_eq!(
        changed(&repo, &baseline),
        [".gitattributes", "tests/c.crlf"]
    );
}

#[test]
fn difference_at_anchoring_is_no_change_until_altered() {
    let (repo, baseline) = repo();
    repo.write("tests/a", "a person's own\n");
    fs::remove_file(repo.path("tests/b")).unwrap();
    repo.write("tests/private", "x");
    let worktree = Worktree::open(repo.root()).unwrap();
    let differing = worktree.differing_files(&baseline, &everything()).unwrap();
    assert_eq!(
        differing.keys().collect::<Vec<_>>(),
        ["tests/a", "tests/b", "tests/private"]
    );
    assert!(changed_but(&repo, &baseline, &differing).is_empty());
    repo.git(&["add", "tests/a"]);
    assert!(
        changed_but(&repo, &baseline, &differing).is_empty(),
        "committed or staged, it is the same content"
    );
    repo.write("tests/private", "y");
    repo.write("tests/b", "weaker\n");
    assert_eq!(
        changed_but(&repo, &baseline, &differing),
        ["tests/b", "tests/private"]
    );
    assert_eq!(
        changed(&repo, &baseline),
        ["tests/a", "tests/b", "tests/private"]
    );
}

#[test]
fn hidden_index_entries_are_counted_even_unchanged() {
    let (repo, _) = repo();
    let hidden = || {
        Worktree::open(repo.root())
            .unwrap()
            .hidden_entries()
            .unwrap()
    };
    assert_eq!(hidden(), None);
    repo.git(&["update-index", "--skip-worktree", "tests/a"]);
    repo.git(&["update-index", "--assume-unchanged", "tests/b"]);
    assert_eq!(
        hidden(),
        Some(HiddenEntries {
            total: 2,
            first: "tests/a".into()
        })
    );
}

#[test]
fn paths_count_in_commits_index_and_work_tree() {
    let (repo, baseline) = repo();
    assert!(touched(&repo, &baseline).is_empty());
    repo.commit_file("committed", "x", "c");
    repo.write("staged", "x");
    repo.git(&["add", "staged"]);
    repo.write("tests/a", "changed\n");
    repo.write("new/untracked", "x");
    repo.write("ignored", "x");
    repo.write(".git/info/exclude", "ignored\n");
    fs::remove_file(repo.path("tests/b")).unwrap();
    assert_eq!(
        touched(&repo, &baseline),
        ["committed", "new/untracked", "staged", "tests/a", "tests/b"]
    );
    let wanted = Worktree::open(repo.root())
        .unwrap()
        .touched_since(&baseline, None, &|path| path.starts_with("tests/"))
        .unwrap();
    assert_eq!(wanted, ["tests/a", "tests/b"]);
}

#[test]
fn change_counts_until_undone_in_every_place() {
    let (repo, baseline) = repo();
    repo.commit_file("tests/a", "weaker\n", "weaken");
    repo.write("tests/a", "a\n");
    assert_eq!(
        touched(&repo, &baseline),
        ["tests/a"],
        "committed, and as before in the work tree"
    );
    repo.git(&["add", "tests/a"]);
    assert_eq!(
        touched(&repo, &baseline),
        ["tests/a"],
        "committed, and as before in index and work tree"
    );
    repo.git(&["commit", "-qm", "back"]);
    assert!(touched(&repo, &baseline).is_empty());
}

#[test]
fn moved_file_is_gone_from_its_old_path() {
    let (repo, baseline) = repo();
    repo.git(&["mv", "tests/a", "elsewhere"]);
    assert_eq!(touched(&repo, &baseline), ["elsewhere", "tests/a"]);
    repo.git(&["commit", "-qm", "move"]);
    assert_eq!(touched(&repo, &baseline), ["elsewhere", "tests/a"]);
}

#[test]
fn files_hidden_from_git_are_compared() {
    for flag in ["--assume-unchanged", "--skip-worktree"] {
        let (repo, baseline) = repo();
        repo.git(&["update-index", flag, "tests/a"]);
        assert!(touched(&repo, &baseline).is_empty());
        repo.write("tests/a", "weaker and longer\n");
        assert_eq!(touched(&repo, &baseline), ["tests/a"], "{flag}");
    }
}

/// A bare clone as `origin`, from which nothing was fetched.
fn add_remote(repo: &Repo) -> Repo {
    let remote = repo.at("remote");
    let path = remote.root().display().to_string();
    repo.git_line("clone -q --bare . {}", &[&path]);
    repo.git_line("remote add origin {}", &[&path]);
    remote
}

#[test]
fn pulled_changes_count_only_after_a_local_edit() {
    let (repo, _) = repo();
    let remote = add_remote(&repo);
    repo.git(&["fetch", "-q", "origin"]);
    let other = repo.at("other");
    repo.git_line(
        "clone -q {} {}",
        &[
            &remote.root().display().to_string(),
            &other.root().display().to_string(),
        ],
    );
    other.git(&["config", "user.name", "o"]);
    other.git(&["config", "user.email", "o@example.org"]);
    other.commit_file("tests/a", "by others\n", "theirs");
    other.git(&["push", "-q", "origin", "HEAD"]);
    let baseline = HistoryPoint::Commit(repo.commit_file("own", "x", "before the session"));
    repo.git(&["pull", "-q", "--no-rebase", "--no-edit", "origin", "main"]);
    assert_eq!(repo.git(&["show", "HEAD:tests/a"]), "by others");
    assert!(touched(&repo, &baseline).is_empty());
    repo.commit_file("mine", "x", "mine");
    assert_eq!(touched(&repo, &baseline), ["mine"]);
    repo.commit_file("tests/a", "weaker\n", "weaken");
    assert_eq!(touched(&repo, &baseline), ["mine", "tests/a"]);
    repo.git(&["reset", "-q", "--soft", "HEAD~1"]);
    assert_eq!(touched(&repo, &baseline), ["mine", "tests/a"]);
}

#[test]
fn before_the_first_commit_everything_is_new() {
    let repo = Repo::init();
    let open = || Worktree::open(repo.root()).unwrap();
    assert!(
        open()
            .touched_since(&HistoryPoint::Unborn, None, &|_| true)
            .unwrap()
            .is_empty()
    );
    assert_eq!(open().read_remote_state().unwrap(), RemoteState::Unborn);
    repo.write("staged", "x");
    repo.git(&["add", "-A"]);
    repo.write("untracked", "x");
    assert_eq!(
        touched(&repo, &HistoryPoint::Unborn),
        ["staged", "untracked"]
    );
    repo.git(&["commit", "-qm", "first"]);
    assert_eq!(
        touched(&repo, &HistoryPoint::Unborn),
        ["staged", "untracked"]
    );
    let diff = open()
        .diff_since(&HistoryPoint::Unborn, None, 10_000, &|_| false)
        .unwrap();
    assert_parts(
        &diff.text,
        &["--- /dev/null\n+++ b/staged\n@@ -0,0 +1,1 @@\n+x\n"],
    );
}

#[test]
fn missing_baseline_is_an_error_not_empty() {
    let (repo, _) = repo();
    let missing = HistoryPoint::Commit("0123456789012345678901234567890123456789".into());
    let worktree = Worktree::open(repo.root()).unwrap();
    assert!(matches!(
        worktree.touched_since(&missing, None, &|_| true),
        Err(Error::UnknownRevision { .. })
    ));
    assert!(matches!(
        worktree.diff_since(&missing, None, 1000, &|_| false),
        Err(Error::UnknownRevision { .. })
    ));
}

fn diff(repo: &Repo, baseline: &HistoryPoint, limit: usize) -> WorkDiff {
    Worktree::open(repo.root())
        .unwrap()
        .diff_since(baseline, None, limit, &|path| path.ends_with(".env"))
        .unwrap()
}

#[test]
fn diff_spans_from_baseline_to_current_files() {
    let (repo, baseline) = repo();
    assert_eq!(diff(&repo, &baseline, 10_000), WorkDiff::default());
    repo.commit_file("kept", "one\n2\n", "c");
    repo.write("kept", "one\n2\nthree\n");
    repo.write("new", "n\n");
    repo.write("some.env", "TOKEN=x\n");
    repo.write("binary", "\0\u{1}");
    fs::remove_file(repo.path("tests/b")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", repo.path("link")).unwrap();
    let found = diff(&repo, &baseline, 10_000);
    assert!(!found.cut);
    for part in [
        "diff --git a/kept b/kept\n--- a/kept\n+++ b/kept\n@@ -1,2 +1,3 @@\n one\n-two\n+2\n+three\n",
        "--- /dev/null\n+++ b/new\n@@ -0,0 +1,1 @@\n+n\n",
        "--- a/tests/b\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-b\n",
        "diff --git a/some.env b/some.env\n(not shown)\n",
        "diff --git a/binary b/binary\nBinary or large files differ\n",
        "+/etc/hostname\n",
    ] {
        assert!(found.text.contains(part), "{part}\nin\n{}", found.text);
    }
    assert!(!found.text.contains("TOKEN"));
}

#[test]
fn the_diff_is_bounded() {
    let (repo, baseline) = repo();
    for n in 0..50 {
        repo.write(&format!("f{n:02}"), &"a line\n".repeat(100));
    }
    let found = diff(&repo, &baseline, 4000);
    assert!(
        found.cut && found.text.len() <= 4000 && found.text.ends_with('\n'),
        "{}",
        found.text.len()
    );
}

#[test]
fn remote_has_head_if_any_branch_reaches_it() {
    let (repo, _) = repo();
    let pushed = || {
        Worktree::open(repo.root())
            .unwrap()
            .read_remote_state()
            .unwrap()
    };
    assert_eq!(pushed(), RemoteState::NoRemote);
    add_remote(&repo);
    assert_eq!(
        pushed(),
        RemoteState::NoRemote,
        "nothing was fetched from it"
    );
    repo.git(&["push", "-q", "origin", "HEAD:refs/heads/other"]);
    assert_eq!(pushed(), RemoteState::Yes);
    repo.commit("one");
    repo.commit("two");
    assert_eq!(pushed(), RemoteState::No { ahead: 2 });
    repo.git(&["push", "-q", "origin", "HEAD:refs/heads/third"]);
    repo.git(&["reset", "-q", "--hard", "HEAD~1"]);
    assert_eq!(pushed(), RemoteState::Yes, "behind a branch of the remote");
}
