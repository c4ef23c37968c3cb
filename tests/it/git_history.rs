//! The commits since a baseline: how many, made where, and whether they changed anything.

use watchdog_facts::evidence::{CommitOrigin, Commits};
use watchdog_git::{Error, HistoryPoint, KnownRefs, Worktree};

use crate::support::lone_repo::Repo;

/// A session as the tests see it: the baseline with the refs of that moment.
pub struct Session<'r> {
    repo: &'r Repo,
    baseline: HistoryPoint,
    known: Vec<(String, String)>,
}

impl<'r> Session<'r> {
    pub fn begin(repo: &'r Repo) -> Self {
        let worktree = Worktree::open(repo.root()).unwrap();
        Session {
            repo,
            baseline: worktree.head().unwrap(),
            known: worktree.ref_tips().unwrap(),
        }
    }

    /// With the recorded refs, checked against git's own count.
    #[track_caller]
    pub fn commits(&self) -> Commits {
        let commits = since(self.repo, &self.baseline, Some(&self.known)).unwrap();
        let range = match &self.baseline {
            HistoryPoint::Unborn => "HEAD".to_string(),
            HistoryPoint::Commit(id) => format!("{id}..HEAD"),
        };
        if commits.head.is_some() {
            assert_eq!(
                commits.new_commits.to_string(),
                self.repo.git(&["rev-list", "--count", &range]),
                "git counts differently"
            );
        }
        commits
    }

    /// Why they cannot be counted, with the recorded refs and without.
    #[track_caller]
    pub fn refusals(&self) -> [String; 2] {
        [Some(self.known.as_slice()), None].map(|known| {
            since(self.repo, &self.baseline, known)
                .expect_err("it is no count")
                .to_string()
        })
    }

    /// As (all, made here, imported, net change) and the codes in `degraded`.
    #[track_caller]
    pub fn sum(&self) -> (u64, u64, u64, bool, Vec<&'static str>) {
        sum(&self.commits())
    }
}

fn since(
    repo: &Repo,
    baseline: &HistoryPoint,
    known: Option<&[(String, String)]>,
) -> Result<Commits, Error> {
    let known = known.map(|tips| KnownRefs::from(tips.to_vec()));
    Worktree::open(repo.root())
        .unwrap()
        .commits_since(baseline, known.as_ref())
}

pub fn sum(commits: &Commits) -> (u64, u64, u64, bool, Vec<&'static str>) {
    let codes = commits.degraded.iter().map(|d| d.code.as_str()).collect();
    (
        commits.new_commits,
        commits.made_here,
        commits.imported,
        commits.net_change,
        codes,
    )
}

/// A repository with a colleague: `origin` (bare), the agent's clone, and the colleague's clone `other`.
pub fn with_colleague() -> (Repo, Repo, Repo) {
    let seed = Repo::init();
    seed.commit("seed");
    seed.git(&["clone", "-q", "--bare", ".", "../origin.git"]);
    for name in ["agent", "other"] {
        seed.git(&["clone", "-q", "../origin.git", &format!("../{name}")]);
    }
    let (agent, other) = (seed.at("agent"), seed.at("other"));
    (seed, agent, other)
}

fn colleague_pushes(other: &Repo, names: &[&str]) {
    for name in names {
        other.commit(name);
    }
    other.git(&["push", "-q", "origin", "HEAD"]);
}

#[test]
fn nothing_happened() {
    let repo = Repo::init();
    repo.commit("one");
    let session = Session::begin(&repo);
    assert_eq!(session.sum(), (0, 0, 0, false, vec![]));
    assert_eq!(session.commits().head, Some(repo.head()));
}

#[test]
fn commits_are_listed_newest_first_with_their_subjects() {
    let repo = Repo::init();
    repo.commit("one");
    let session = Session::begin(&repo);
    let two = repo.commit("two");
    repo.write("three.txt", "3");
    repo.git(&["add", "."]);
    repo.git(&["commit", "-q", "-m", "feat: three\nmore\n\nbody"]);
    let commits = session.commits();
    assert_eq!(sum(&commits), (2, 2, 0, true, vec![]));
    let listed: Vec<_> = commits
        .listed
        .iter()
        .map(|c| (c.id.as_str(), c.subject.as_str(), c.origin))
        .collect();
    assert_eq!(
        listed,
        [
            (repo.head().as_str(), "feat: three", CommitOrigin::MadeHere),
            (two.as_str(), "two", CommitOrigin::MadeHere)
        ]
    );
}

#[test]
fn everything_is_new_after_an_unborn_baseline() {
    let repo = Repo::init();
    let session = Session::begin(&repo);
    assert_eq!(session.baseline, HistoryPoint::Unborn);
    assert_eq!(session.sum(), (0, 0, 0, false, vec![]));
    assert_eq!(session.commits().head, None);
    repo.commit("one");
    repo.commit("two");
    assert_eq!(session.sum(), (2, 2, 0, true, vec![]));
}

#[test]
fn a_first_commit_without_files_is_no_change() {
    let repo = Repo::init();
    let session = Session::begin(&repo);
    repo.git(&["commit", "-q", "--allow-empty", "-m", "empty"]);
    assert_eq!(session.sum(), (1, 1, 0, false, vec!["empty_commits"]));
}

#[test]
fn a_merge_counts_its_side_commits_and_itself() {
    let repo = Repo::init();
    repo.commit("seed");
    let session = Session::begin(&repo);
    repo.git(&["checkout", "-q", "-b", "side"]);
    repo.commit("s1");
    repo.commit("s2");
    repo.git(&["checkout", "-q", "main"]);
    repo.commit("m1");
    repo.git(&["merge", "-q", "--no-edit", "side"]);
    assert_eq!(session.sum(), (4, 4, 0, true, vec![]));
}

#[test]
fn a_commit_on_another_branch_does_not_count() {
    let repo = Repo::init();
    repo.commit("seed");
    let session = Session::begin(&repo);
    repo.git(&["checkout", "-q", "-b", "side"]);
    repo.commit("s1");
    repo.git(&["checkout", "-q", "main"]);
    assert_eq!(session.sum(), (0, 0, 0, false, vec![]));
}

#[test]
fn a_fast_forward_pull_imports_the_colleagues_commits() {
    let (_seed, agent, other) = with_colleague();
    let session = Session::begin(&agent);
    colleague_pushes(&other, &["c1", "c2", "c3"]);
    agent.git(&["pull", "-q", "--ff-only"]);
    let commits = session.commits();
    assert_eq!(sum(&commits), (3, 0, 3, false, vec![]));
    assert!(!commits.completes());
    assert!(
        commits
            .listed
            .iter()
            .all(|c| c.origin == CommitOrigin::Imported)
    );
    // The same without the recorded refs.
    assert_eq!(
        sum(&since(&agent, &session.baseline, None).unwrap()),
        (3, 0, 3, false, vec![])
    );
}

#[test]
fn pull_without_tracking_refs_counts_as_imported() {
    let (_seed, agent, other) = with_colleague();
    let session = Session::begin(&agent);
    other.commit("c1");
    agent.git(&["pull", "-q", "--ff-only", "../other", "main"]);
    assert_eq!(session.sum(), (1, 0, 1, false, vec![]));
    other.commit("c2");
    agent.git(&["fetch", "-q", "../other", "main"]);
    agent.git(&["merge", "-q", "FETCH_HEAD"]);
    assert_eq!(session.sum(), (2, 0, 2, false, vec![]));
}

#[test]
fn fetched_commits_are_imported_by_merge_or_reset() {
    for (how, expected) in [
        (&["merge", "-q", "origin/main"][..], (2, 0, 2, false)),
        (
            &["merge", "-q", "--no-ff", "--no-edit", "origin/main"],
            (3, 1, 2, false),
        ),
        (&["reset", "-q", "--hard", "origin/main"], (2, 0, 2, false)),
        (
            &["checkout", "-q", "-b", "new", "origin/main"],
            (2, 0, 2, false),
        ),
        (
            &["switch", "-q", "--detach", "origin/main"],
            (2, 0, 2, false),
        ),
        (&["rebase", "-q", "origin/main"], (2, 0, 2, false)),
    ] {
        let (_seed, agent, other) = with_colleague();
        let session = Session::begin(&agent);
        colleague_pushes(&other, &["c1", "c2"]);
        agent.git(&["fetch", "-q"]);
        agent.git(how);
        let (all, made, imported, net, _) = session.sum();
        assert_eq!((all, made, imported, net), expected, "{how:?}");
        assert!(!session.commits().completes(), "{how:?}");
    }
}

#[test]
fn work_on_top_of_a_pull_counts_separately() {
    let (_seed, agent, other) = with_colleague();
    let session = Session::begin(&agent);
    colleague_pushes(&other, &["c1", "c2"]);
    agent.git(&["pull", "-q", "--ff-only"]);
    agent.commit("own");
    let commits = session.commits();
    assert_eq!(sum(&commits), (3, 1, 2, true, vec![]));
    assert!(commits.completes());
    // Undone again: what is left is only theirs.
    agent.git(&["revert", "--no-edit", "HEAD"]);
    assert_eq!(session.sum(), (4, 2, 2, false, vec!["no_net_change"]));
}

#[test]
fn undone_work_after_a_merge_is_no_change() {
    let (_seed, agent, other) = with_colleague();
    let session = Session::begin(&agent);
    let own = agent.commit("own");
    colleague_pushes(&other, &["c1"]);
    agent.git(&["pull", "-q", "--no-rebase", "--no-edit"]);
    assert_eq!(session.sum(), (3, 2, 1, true, vec![]));
    agent.git(&["revert", "--no-edit", &own]);
    assert_eq!(session.sum(), (4, 3, 1, false, vec!["no_net_change"]));
}

#[test]
fn empty_commit_on_a_pull_is_no_change() {
    let (_seed, agent, other) = with_colleague();
    let session = Session::begin(&agent);
    colleague_pushes(&other, &["c1"]);
    agent.git(&["pull", "-q", "--ff-only"]);
    agent.git(&["commit", "-q", "--allow-empty", "-m", "done"]);
    let (all, made, imported, net, _) = session.sum();
    assert_eq!((all, made, imported, net), (2, 1, 1, false));
}

#[test]
fn manually_finished_merge_counts_as_work() {
    let (_seed, agent, other) = with_colleague();
    let session = Session::begin(&agent);
    other.commit_file("seed.txt", "theirs\n", "c1");
    other.git(&["push", "-q"]);
    agent.commit_file("seed.txt", "ours\n", "own");
    agent.git(&["fetch", "-q"]);
    assert!(
        !agent
            .try_git(&["merge", "-q", "origin/main"])
            .status
            .success()
    );
    agent.commit_file("seed.txt", "both\n", "resolved");
    assert_eq!(session.sum(), (3, 2, 1, true, vec![]));
}

#[test]
fn pushed_commits_stay_made_here() {
    let (_seed, agent, _other) = with_colleague();
    let session = Session::begin(&agent);
    agent.commit("own");
    agent.git(&["push", "-q"]);
    assert_eq!(session.sum(), (1, 1, 0, true, vec![]));
    // Even when they are thrown away and fetched back.
    agent.git(&["reset", "-q", "--hard", "HEAD~1"]);
    assert_eq!(session.sum(), (0, 0, 0, false, vec![]));
    agent.git(&["pull", "-q", "--ff-only"]);
    assert_eq!(session.sum(), (1, 1, 0, true, vec![]));
}

#[test]
fn only_branches_older_than_the_session_are_imported() {
    let repo = Repo::init();
    repo.commit("seed");
    repo.git(&["checkout", "-q", "-b", "old"]);
    repo.commit("before");
    repo.git(&["checkout", "-q", "main"]);
    let session = Session::begin(&repo);
    repo.git(&["checkout", "-q", "-b", "new", "old"]);
    assert_eq!(session.sum(), (1, 0, 1, false, vec![]));
    repo.git(&["checkout", "-q", "-b", "side", "main"]);
    repo.commit("during");
    repo.git(&["checkout", "-q", "main"]);
    repo.git(&["merge", "-q", "side"]);
    assert_eq!(session.sum(), (1, 1, 0, true, vec![]));
    repo.git(&["merge", "-q", "--no-edit", "old"]);
    assert_eq!(session.sum(), (3, 2, 1, true, vec![]));
}

#[test]
fn a_recorded_tag_proves_what_was_there_before() {
    let repo = Repo::init();
    repo.commit("seed");
    repo.git(&["checkout", "-q", "--detach"]);
    repo.commit("tagged");
    repo.git(&["tag", "-a", "v1", "-m", "v1"]);
    repo.git(&["checkout", "-q", "main"]);
    let session = Session::begin(&repo);
    repo.git(&["merge", "-q", "v1"]);
    assert_eq!(session.sum(), (1, 0, 1, false, vec![]));
}

#[test]
fn session_commits_in_another_worktree_are_made_here() {
    let repo = Repo::init();
    repo.commit("seed");
    let session = Session::begin(&repo);
    repo.git(&["worktree", "add", "-q", "-b", "sub", "../sub"]);
    repo.at("sub").commit("by-a-subagent");
    repo.git(&["merge", "-q", "sub"]);
    assert_eq!(session.sum(), (1, 1, 0, true, vec![]));
}

#[test]
fn own_commits_stay_own_after_a_remote_roundtrip() {
    let (_seed, agent, _other) = with_colleague();
    let session = Session::begin(&agent);
    agent.git(&["worktree", "add", "-q", "-b", "sub", "../sub"]);
    agent.at("sub").commit("by-a-subagent");
    agent.at("sub").git(&["push", "-q", "origin", "HEAD:main"]);
    agent.git(&["pull", "-q", "--ff-only"]);
    assert_eq!(session.sum(), (1, 1, 0, true, vec![]));
}

#[test]
fn without_reflog_only_recorded_refs_prove_imports() {
    let (_seed, agent, other) = with_colleague();
    colleague_pushes(&other, &["c1"]);
    agent.git(&["fetch", "-q"]);
    let session = Session::begin(&agent);
    agent.git(&["config", "core.logAllRefUpdates", "false"]);
    std::fs::remove_dir_all(agent.path(".git/logs")).unwrap();
    agent.git(&["merge", "-q", "origin/main"]);
    assert_eq!(session.sum(), (1, 0, 1, false, vec![]));
    colleague_pushes(&other, &["c2"]);
    agent.git(&["pull", "-q", "--ff-only"]);
    assert_eq!(session.sum(), (2, 1, 1, true, vec!["no_reflog"]));
}

#[test]
fn cherry_picks_reverts_and_amends_are_made_here() {
    let (_seed, agent, other) = with_colleague();
    colleague_pushes(&other, &["c1", "c2"]);
    agent.git(&["fetch", "-q"]);
    let session = Session::begin(&agent);
    agent.git(&["cherry-pick", "origin/main"]);
    agent.git(&["revert", "--no-edit", "HEAD"]);
    agent.commit("own");
    agent.git(&["commit", "-q", "--amend", "-m", "reworded"]);
    let patch = other.git(&["format-patch", "-1", "HEAD~1", "-o", ".."]);
    agent.git(&["am", "-q", &format!("../other/{patch}")]);
    assert_eq!(session.sum(), (4, 4, 0, true, vec![]));
}

#[test]
fn empty_or_reverted_commits_are_no_net_change() {
    let repo = Repo::init();
    repo.commit("seed");
    let session = Session::begin(&repo);
    repo.git(&["commit", "-q", "--allow-empty", "-m", "done"]);
    assert_eq!(session.sum(), (1, 1, 0, false, vec!["empty_commits"]));
    assert_eq!(
        session.commits().degraded[0].detail,
        "the commit made here changes no file"
    );
    repo.commit("work");
    assert_eq!(session.sum(), (2, 2, 0, true, vec![]));
    repo.git(&["revert", "--no-edit", "HEAD"]);
    assert_eq!(session.sum(), (3, 3, 0, false, vec!["no_net_change"]));
}

#[test]
fn unknown_baseline_is_an_error_naming_it() {
    let repo = Repo::init();
    repo.commit("one");
    for rev in [
        "1".repeat(40),
        "garbage".to_string(),
        repo.git(&["rev-parse", "HEAD^{tree}"]),
    ] {
        let error = since(&repo, &HistoryPoint::Commit(rev.clone()), None).unwrap_err();
        assert!(
            matches!(&error, Error::UnknownRevision { rev: named } if *named == rev),
            "{error}"
        );
    }
}

#[test]
fn missing_middle_commit_is_an_error() {
    let repo = Repo::init();
    repo.commit("one");
    let session = Session::begin(&repo);
    let two = repo.commit("two");
    repo.commit("three");
    std::fs::remove_file(repo.path(&format!(".git/objects/{}/{}", &two[..2], &two[2..]))).unwrap();
    let error = since(&repo, &session.baseline, None).unwrap_err();
    assert!(
        matches!(error, Error::Read { .. }) && error.to_string().contains(&two),
        "{error}"
    );
    std::fs::remove_file(repo.path(&format!(
        ".git/objects/{}/{}",
        &repo.head()[..2],
        &repo.head()[2..]
    )))
    .unwrap();
    assert!(matches!(
        since(&repo, &session.baseline, None),
        Err(Error::Read { .. })
    ));
}

#[test]
fn shallow_counts_match_git_without_following_replacements() {
    let repo = Repo::init();
    for name in ["a", "b", "c", "d"] {
        repo.commit(name);
    }
    repo.git_line(
        "clone -q --depth=2 {} ../shallow",
        &[&format!("file://{}", repo.root().display())],
    );
    let shallow = repo.at("shallow");
    let session = Session::begin(&shallow);
    shallow.commit("e");
    assert_eq!(session.sum(), (1, 1, 0, true, vec![]));
    let all = Session {
        repo: &shallow,
        baseline: HistoryPoint::Unborn,
        known: Vec::new(),
    };
    assert_eq!(all.commits().new_commits, 3);

    let first = Session {
        repo: &repo,
        baseline: HistoryPoint::Commit(repo.git(&["rev-parse", "HEAD~3"])),
        known: Vec::new(),
    };
    assert_eq!(first.commits().new_commits, 3);
    repo.git(&["commit-graph", "write", "--reachable"]);
    // Whoever works in the repository can make replacements and grafts: they are never followed.
    repo.git(&["replace", "--graft", "HEAD", "HEAD~2"]);
    assert_eq!(since(&repo, &first.baseline, None).unwrap().new_commits, 3);
    repo.git(&["replace", "-d", &repo.head()]);
    let graft = format!("{} {}\n", repo.head(), repo.git(&["rev-parse", "HEAD~3"]));
    repo.write(".git/info/grafts", &graft);
    assert_eq!(since(&repo, &first.baseline, None).unwrap().new_commits, 3);
}

#[test]
fn long_reflog_is_read_as_far_as_needed() {
    let repo = Repo::init();
    repo.commit("seed");
    let session = Session::begin(&repo);
    repo.commit("work");
    let (log, id) = (repo.path(".git/logs/HEAD"), repo.head());
    let mut text = std::fs::read_to_string(&log).unwrap();
    for _ in 0..2000 {
        text.push_str(&format!(
            "{id} {id} N <m> 1700000000 +0000\tcheckout: moving from main to main\n"
        ));
    }
    text.push_str("half a line");
    std::fs::write(&log, text).unwrap();
    assert_eq!(session.sum(), (1, 1, 0, true, vec![]));
}
