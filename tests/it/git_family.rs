//! Linked worktrees of one repository that are opened one after the other with what the one before gave back: each must tell of itself.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use watchdog_git::{FoundWorktree, HistoryPoint, RepoCache, Worktree, WorktreeState, worktrees_of};

use crate::support::lone_repo::Repo;

/// A repository with linked worktrees `a`, `b` and `c`: `a` is clean, `b` has a file staged and a commit, `c` one that is neither, and no branch.
fn repo() -> (Repo, HistoryPoint, Vec<FoundWorktree>) {
    let repo = Repo::init();
    repo.write("kept", "one\n");
    repo.git(&["add", "-A"]);
    repo.git(&["commit", "-qm", "start"]);
    let baseline = HistoryPoint::Commit(repo.head());
    for name in ["a", "b", "c"] {
        repo.git_line(
            "worktree add -q -b {} {}",
            &[name, &format!("../linked/{name}")],
        );
    }
    let (b, c) = (repo.at("linked/b"), repo.at("linked/c"));
    b.commit_file("committed", "x", "work");
    b.write("staged", "x");
    b.git(&["add", "staged"]);
    c.git(&["checkout", "-q", "--detach"]);
    c.write("untracked", "x");
    c.write("kept", "two\n");
    let common = Worktree::open(repo.root()).unwrap().common_dir().to_owned();
    (repo, baseline, worktrees_of(&common))
}

fn tells(worktree: &Worktree, baseline: &HistoryPoint) -> String {
    let changes = worktree.changes().unwrap();
    let commits = worktree.commits_since(baseline, None).unwrap();
    let touched = worktree.touched_since(baseline, None, &|_| true).unwrap();
    let diff = worktree
        .diff_since(baseline, None, 10_000, &|_| false)
        .unwrap();
    format!(
        "{} {:?} {:?} {:?} {:?} {touched:?} {} {}",
        worktree.worktree_id(),
        worktree.root(),
        worktree.branch(),
        changes,
        (commits.head, commits.new_commits, commits.made_here),
        diff.text,
        worktree
            .blob_at(baseline.as_str(), "kept")
            .unwrap()
            .map_or(0, |kept| kept.len()),
    )
}

#[test]
fn worktree_answers_are_independent_of_earlier_siblings() {
    let (_repo, baseline, found) = repo();
    assert_eq!(found.len(), 4);
    let mut family = RepoCache::default();
    // There and back, so that each of them comes after each other one.
    for found in found
        .iter()
        .chain(found.iter().rev())
        .chain([&found[1], &found[3], &found[1]])
    {
        let one = family.open(found).unwrap();
        let alone = Worktree::open(&found.root).unwrap();
        assert_eq!(
            tells(&one, &baseline),
            tells(&alone, &baseline),
            "{}",
            found.root.display()
        );
        family.give_back(one);
    }
}

#[test]
fn worktree_with_own_settings_is_opened_alone() {
    let (repo, baseline, found) = repo();
    let mut family = RepoCache::default();
    let first = family.open(&found[1]).unwrap();
    family.give_back(first);
    let c = repo.at("linked/c");
    c.git(&["config", "extensions.worktreeConfig", "true"]);
    c.git(&["config", "--worktree", "core.fileMode", "false"]);
    c.git(&["checkout", "-q", "kept"]);
    fs::set_permissions(c.path("kept"), fs::Permissions::from_mode(0o755)).unwrap();
    let own = family.open(&found[3]).unwrap();
    assert_eq!(
        own.changes().unwrap().unstaged,
        0,
        "its own settings say that modes are no changes"
    );
    assert_eq!(
        tells(&own, &baseline),
        tells(&Worktree::open(&found[3].root).unwrap(), &baseline)
    );
    fs::remove_dir_all(&found[2].root).unwrap();
    assert_eq!(
        found[2].standing,
        WorktreeState::There,
        "it was when it was found"
    );
    assert!(family.open(&found[2]).is_err());
}

#[test]
fn judged_head_belongs_to_its_own_worktree() {
    let (repo, _, found) = repo();
    let mut family = RepoCache::default();
    for found in &found[1..] {
        let one = family.open(found).unwrap();
        let HistoryPoint::Commit(head) = one.head().unwrap() else {
            panic!("it has a commit")
        };
        one.keep_judged("spec", &head, jiff::Timestamp::UNIX_EPOCH)
            .unwrap();
        let name = format!(
            "refs/watchdog/judged/{}/spec/19700101T000000Z-{}",
            one.worktree_id(),
            &head[..12]
        );
        assert_eq!(
            repo.git(&["rev-parse", &name]).trim(),
            head,
            "{}",
            found.root.display()
        );
        family.give_back(one);
    }
    assert_eq!(
        repo.git(&["for-each-ref", "--format=%(refname)", "refs/watchdog"])
            .lines()
            .count(),
        3
    );
}
