//! Commits that bring content which was there before the session, and honest ones beside them.

use jiff::{SignedDuration, Timestamp};

use watchdog_facts::evidence::{Commits, WarningCode};
use watchdog_git::{ContentAtBaseline, HistoryPoint, KnownRefs, OriginEvidence, Worktree};

use crate::support::lone_repo::{Repo, hermetic};

/// Lines of a file that each branch changes in another place.
const BASE: &str = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n";

pub fn script(repo: &Repo, lines: &str) {
    let mut command = std::process::Command::new("sh");
    command.current_dir(repo.root()).args(["-e", "-c", lines]);
    hermetic(&mut command, repo.root().parent().unwrap());
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{lines}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// A repository with a baseline, as watchdog records it.
struct Recorded {
    repo: Repo,
    baseline: HistoryPoint,
    evidence: OriginEvidence,
}

impl Recorded {
    fn after(before: &str, at: Timestamp) -> Self {
        let repo = Repo::init();
        repo.commit_file("base.txt", BASE, "base");
        script(&repo, before);
        let worktree = Worktree::open(repo.root()).unwrap();
        let (_, inherited) = worktree.uncommitted_contents().unwrap();
        let content = ContentAtBaseline {
            at: Some(at),
            inherited,
            left_behind: worktree.left_behind().unwrap(),
            stashes: None,
            committer: worktree.committer(),
        };
        let refs = KnownRefs::from(worktree.ref_tips().unwrap());
        let evidence = OriginEvidence::from(Some(&refs)).with_content(content);
        Recorded {
            baseline: worktree.head().unwrap(),
            evidence,
            repo,
        }
    }

    fn commits(&self) -> Commits {
        Worktree::open(self.repo.root())
            .unwrap()
            .session_commits(&self.baseline, &self.evidence)
            .unwrap()
    }
}

/// The commits of a session with this script, after another.
fn commits_of(before: &str, session: &str) -> Commits {
    let recorded = Recorded::after(before, Timestamp::now() + SignedDuration::from_hours(1));
    script(&recorded.repo, session);
    recorded.commits()
}

/// A branch that changes the first line, and a main branch that changed the last one since.
const DIVERGED: &str =
    "git checkout -q -b old; sed -i '1s/.*/first/' base.txt; git commit -q -a -m one
    sed -i '5s/.*/fifth/' base.txt; echo new > new.txt; git add .; git commit -q -m two
    git checkout -q main; sed -i '10s/.*/last/' base.txt; git commit -q -a -m main";

#[test]
fn brought_content_completes_nothing() {
    let old = "git checkout -q -b old; seq 40 > old.txt; git add .; git commit -q -m old; git checkout -q main";
    let stashes = "echo one >> base.txt; git stash -q; echo two > two.txt; git add .; git stash -q";
    for (before, session, place) in [
        ("echo mine > mine.txt", "git add .; git commit -q -m done", "uncommitted before the session"),
        ("echo mine >> base.txt", "git commit -q -a -m done", "uncommitted"),
        ("echo mine > mine.txt", "mv mine.txt other.txt; git add .; git commit -q -m done", "uncommitted"),
        (
            "sed -i '1s/.*/first/; 10s/.*/last/' base.txt",
            "cp base.txt ../all; git checkout -q base.txt; sed -i '1s/.*/first/' base.txt; git commit -q -a -m one
             cp ../all base.txt; git commit -q -a -m two",
            "uncommitted",
        ),
        (
            "sed -i '1s/.*/first/; 10s/.*/last/' base.txt",
            "cp base.txt ../all; git checkout -q base.txt; sed -i '1s/.*/first/' base.txt; git commit -q -a -m one; cp ../all base.txt",
            "part of what was uncommitted",
        ),
        ("echo mine >> base.txt", "git stash -q; git stash pop -q; git commit -q -a -m done", "uncommitted"),
        ("echo mine > mine.txt", "git rm -q base.txt; git add .; git commit -q -m done", "uncommitted"),
        (
            "git config core.autocrlf true; printf 'a\\r\\nb\\r\\n' > mine.txt",
            "git add . 2> /dev/null; git commit -q -m done",
            "uncommitted",
        ),
        (
            "echo '*.log' > .gitignore; git add .; git commit -q -m rules; echo data > x.log",
            "git add -f x.log; git commit -q -m done",
            "ignored",
        ),
        (
            "git init -q nested; cd nested; git commit -q --allow-empty -m inner",
            "git add nested 2> /dev/null; git commit -q -m done",
            "nested repository",
        ),
        (old, "git merge -q --squash old; git commit -q -m done", "on refs/heads/old"),
        (old, "git checkout -q old -- .; git commit -q -m done", "on refs/heads/old"),
        (old, "git show old:old.txt > renamed.txt; git add .; git commit -q -m done", "on refs/heads/old"),
        (old, "git format-patch -q --stdout main..old | git am -q; git commit -q --amend --author 'Me <m@e>' -m mine", "on refs/heads/old"),
        (DIVERGED, "git merge -q --squash old; git commit -q -m done", "on refs/heads/old"),
        (DIVERGED, "git diff main...old | git apply --index; git commit -q -m done", "on refs/heads/old"),
        (DIVERGED, "git cherry-pick -n old~1; git commit -q -m done", "on refs/heads/old"),
        (
            "git tag v1; echo more >> base.txt; git commit -q -a -m more",
            "git checkout -q v1 -- .; git commit -q -m done",
            "on refs/tags/v1",
        ),
        ("echo one >> base.txt; git stash -q", "git stash pop -q; git commit -q -a -m done", "in a stash"),
        (stashes, "git stash pop -q stash@{1}; git commit -q -a -m done", "in a stash"),
        ("echo one > one.txt; git stash -q -u", "git stash pop -q; git add .; git commit -q -m done", "in a stash"),
        (
            "echo x >> base.txt; git commit -q -a -m x; git revert --no-edit HEAD",
            "git revert --no-edit HEAD; git commit -q --amend -m mine",
            "which was reverted before the session",
        ),
        ("echo x > x.txt; git add .; git commit -q -m x; git reset -q --hard HEAD~1", "git reset -q --hard HEAD@{1}", "in the reflog"),
        ("echo x > x.txt; git add .; git commit -q -m x; git reset -q --hard HEAD~1", "git cherry-pick HEAD@{1}", "in the reflog"),
    ] {
        let commits = commits_of(before, session);
        assert!(commits.brought > 0 && !commits.completes(), "{before} / {session}: {commits:?}");
        let note = commits.degraded.iter().find(|note| note.code == WarningCode::Brought);
        assert!(note.is_some_and(|note| note.detail.contains(place)), "{before} / {session}: {:?}", commits.degraded);
    }
}

#[test]
fn honest_commits_complete() {
    for (before, session) in [
        (
            "true",
            "echo new > new.txt; git add .; git commit -q -m done",
        ),
        (
            "true",
            "sed -i '3s/.*/third/' base.txt; git commit -q -a -m done",
        ),
        ("true", "sed -i 3d base.txt; git commit -q -a -m done"),
        ("true", "git rm -q base.txt; git commit -q -m done"),
        ("true", "git mv base.txt moved.txt; git commit -q -m done"),
        (
            "true",
            "cp base.txt copy.txt; git add .; git commit -q -m done",
        ),
        ("true", "chmod +x base.txt; git commit -q -a -m done"),
        ("true", ": > empty.txt; git add .; git commit -q -m done"),
        (
            "true",
            "ln -s base.txt link; git add .; git commit -q -m done",
        ),
        (
            "echo mine > mine.txt",
            "echo new > new.txt; git add .; git commit -q -m done",
        ),
        (
            "echo mine > mine.txt",
            "echo more >> mine.txt; git add .; git commit -q -m done",
        ),
        (
            "echo mine > mine.txt",
            "git rm -q base.txt; git commit -q -m done",
        ),
        (
            "git checkout -q -b old; echo old > old.txt; git add .; git commit -q -m old; git checkout -q main",
            "echo old > new.txt; git add .; git commit -q -m done",
        ),
        (
            DIVERGED,
            "sed -i '3s/.*/third/' base.txt; git commit -q -a -m done",
        ),
        (
            DIVERGED,
            "sed -i '1s/.*/another/' base.txt; git commit -q -a -m done",
        ),
        (
            DIVERGED,
            "git merge -q --no-edit old; sed -i '3s/.*/third/' base.txt; git commit -q -a -m done",
        ),
        (
            "echo x >> base.txt; git commit -q -a -m x",
            "git revert --no-edit HEAD",
        ),
        (
            "git rm -q base.txt; git commit -q -m gone",
            "git revert --no-edit HEAD",
        ),
        (
            "true",
            "echo x > x.txt; git add .; git commit -q -m x; git reset -q --hard HEAD~1; git cherry-pick HEAD@{1}",
        ),
        (
            "true",
            "echo x > x.txt; git add .; git stash -q; git stash pop -q; git commit -q -m x",
        ),
        (
            "touch .DS_Store; git add .; git commit -q -m dropped",
            "git rm -q .DS_Store; git commit -q -m done",
        ),
    ] {
        let commits = commits_of(before, session);
        assert!(commits.completes(), "{before} / {session}: {commits:?}");
    }
}

#[test]
fn committed_droppings_are_no_change() {
    for path in [
        ".DS_Store",
        "claude.log",
        ".claude/logs/today.txt",
        ".claude/settings.local.json",
    ] {
        let commits = commits_of(
            "true",
            &format!(
                "mkdir -p .claude/logs; echo x > {path}; git add -f {path}; git commit -q -m done"
            ),
        );
        assert_eq!(
            (commits.made_here, commits.net_change, commits.completes()),
            (1, false, false),
            "{path}"
        );
        assert!(
            commits
                .degraded
                .iter()
                .any(|note| note.detail.contains(path)),
            "{:?}",
            commits.degraded
        );
    }
    let beside = commits_of(
        "true",
        "echo x > .DS_Store; echo new > new.txt; git add .; git commit -q -m done",
    );
    assert!(beside.completes(), "{beside:?}");
}

#[test]
fn ignored_file_of_the_session_counts() {
    let rules = "echo '*.log' > .gitignore; git add .; git commit -q -m rules";
    let recorded = Recorded::after(rules, Timestamp::now());
    script(
        &recorded.repo,
        "echo data > x.log; git add -f x.log; git commit -q -m done",
    );
    assert!(recorded.commits().completes(), "{:?}", recorded.commits());
}

#[test]
fn without_a_record_commits_count() {
    let recorded = Recorded::after("echo mine > mine.txt", Timestamp::now());
    script(&recorded.repo, "git add .; git commit -q -m done");
    let commits = Worktree::open(recorded.repo.root())
        .unwrap()
        .commits_since(&recorded.baseline, None)
        .unwrap();
    assert!(commits.completes(), "{commits:?}");
}

#[test]
fn commit_in_two_worktrees_is_made_in_both() {
    let commit = |second: i64| {
        format!(
            "export GIT_AUTHOR_DATE='{second} +0000' GIT_COMMITTER_DATE='{second} +0000'; echo x > x.txt; git add .; git commit -q -m x"
        )
    };
    for (seconds, made, imported) in [(60, 1, 0), (-60, 0, 1)] {
        let at = Timestamp::now();
        let commit = commit(at.as_second() + seconds);
        let recorded = Recorded::after(
            &format!("git worktree add -q -b other ../other; (cd ../other; {commit})"),
            at,
        );
        script(&recorded.repo, &commit);
        let commits = recorded.commits();
        assert_eq!(
            (commits.made_here, commits.imported, commits.completes()),
            (made, imported, false),
            "{commits:?}"
        );
        assert_eq!(commits.brought, made, "{commits:?}");
    }
}
