//! Commits that a rescue made are told from the session's own, also after a rewrite.

use serde_json::json;
use watchdog_facts::evidence::{CommitOrigin, Commits};
use watchdog_git::{HistoryPoint, KnownRefs, OriginEvidence, RescuedCommit, Worktree};

use crate::support::TestEnv;
use crate::support::lone_repo::Repo;

/// A repository whose commit `work` was made by a rescue, as far as the store says.
struct Rescued {
    repo: Repo,
    baseline: HistoryPoint,
    refs: KnownRefs,
    rescued: Vec<RescuedCommit>,
}

impl Rescued {
    fn new(message: &str) -> Self {
        let repo = Repo::init();
        repo.commit("seed");
        let worktree = Worktree::open(repo.root()).unwrap();
        let (baseline, refs) = (
            worktree.head().unwrap(),
            worktree.ref_tips().unwrap().into(),
        );
        let id = repo.commit_file("work.txt", "work\n", message);
        let rescued = worktree.describe_rescued(&[id]).unwrap();
        Rescued {
            repo,
            baseline,
            refs,
            rescued,
        }
    }

    fn commits(&self) -> Commits {
        let rescued = self.rescued.clone();
        let evidence =
            OriginEvidence::from(Some(&self.refs)).with_rescued(move || Ok(rescued.clone()));
        Worktree::open(self.repo.root())
            .unwrap()
            .session_commits(&self.baseline, &evidence)
            .unwrap()
    }

    /// (made here, rescued, net change)
    fn sum(&self) -> (u64, u64, bool) {
        let commits = self.commits();
        (commits.made_here, commits.rescued, commits.net_change)
    }
}

#[test]
fn rescued_commit_is_listed_apart_from_session_commits() {
    let here = Rescued::new("chore: rescue");
    assert_eq!(here.sum(), (0, 1, true));
    assert!(!here.commits().completes());
    assert_eq!(here.commits().listed[0].origin, CommitOrigin::Rescued);
    here.repo
        .git(&["commit", "-q", "--allow-empty", "-m", "empty"]);
    assert_eq!(
        here.sum(),
        (1, 1, false),
        "an empty commit beside a rescue is no work"
    );
    here.repo.commit("own");
    assert_eq!(here.sum(), (2, 1, true));
    assert!(here.commits().completes());
}

#[test]
fn rebased_rescue_commit_is_known_by_its_patch() {
    let here = Rescued::new("chore: rescue");
    here.repo.git(&["checkout", "-q", "-b", "other", "HEAD~1"]);
    here.repo.commit("theirs");
    here.repo.git(&["checkout", "-q", "main"]);
    here.repo.git(&["rebase", "-q", "other"]);
    assert_eq!(here.commits().rescued, 1);
    here.repo.git_line(
        "commit -q --amend --reset-author -m {}",
        &["feat: my own, says the agent"],
    );
    assert_eq!(
        here.commits().rescued,
        1,
        "the same change under another name"
    );
}

#[test]
fn changed_rescue_commit_is_known_by_its_metadata() {
    let here = Rescued::new("chore: rescue");
    here.repo.git(&["checkout", "-q", "-b", "other", "HEAD~1"]);
    here.repo.commit_file("work.txt", "theirs\n", "theirs");
    here.repo.git(&["checkout", "-q", "main"]);
    assert!(
        !here
            .repo
            .try_git(&["rebase", "-q", "other"])
            .status
            .success()
    );
    here.repo.write("work.txt", "theirs\nwork\n");
    here.repo.git(&["add", "."]);
    here.repo
        .git(&["-c", "core.editor=true", "rebase", "--continue"]);
    assert_eq!(here.commits().rescued, 1);
}

#[test]
fn work_amended_onto_a_rescued_commit_counts() {
    let here = Rescued::new("chore: rescue");
    here.repo.git_line(
        "commit -q --amend --no-edit --date=2026-01-01T00:00:00Z",
        &[],
    );
    assert_eq!(here.sum().1, 1, "nothing was added");
    here.repo.write("more.txt", "more\n");
    here.repo.git(&["add", "."]);
    here.repo.git(&["commit", "-q", "--amend", "--no-edit"]);
    assert_eq!(here.sum(), (1, 0, true));
}

#[test]
fn unrecorded_rescue_commit_is_known_by_its_message() {
    let mut here = Rescued::new(
        "chore: rescue\n\nWatchdog-Spec: main\nWatchdog-Snapshot: refs/watchdog/rescue/main/20260101T000000Z-1",
    );
    here.rescued.clear();
    assert_eq!(here.sum(), (0, 1, true));
}

#[test]
fn rescue_commit_completes_no_later_check() {
    for trailers in [true, false] {
        let env = TestEnv::new();
        let repo = env.repo();
        let trailers = if trailers {
            json!(["Watchdog-Snapshot: {snapshot}"])
        } else {
            json!([])
        };
        repo.write(
            "completion.json",
            json!({"rescue": {"mode": "single", "trailers": trailers}}).to_string(),
        );
        repo.git(&["add", "."]);
        repo.git(&["commit", "-q", "-m", "criteria"]);
        repo.watchdog(&["trust"]).expect(0);
        repo.watchdog(&["snapshot"]).expect(0);
        repo.write("work.txt", "work\n");
        repo.watchdog(&["rescue"]).expect(0);
        let verdict = repo
            .watchdog(&["check", "--no-probe", "--json"])
            .expect(10)
            .json();
        assert_eq!(verdict["status"], "incomplete", "{verdict:#}");
        let origins: Vec<_> = verdict["commits"]
            .as_array()
            .unwrap()
            .iter()
            .map(|commit| &commit["origin"])
            .collect();
        assert_eq!(origins, ["rescued"], "{verdict:#}");
    }
}
