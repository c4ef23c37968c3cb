//! Whose the new commits are: those of other worktrees and branches of the same repository are never the session's, those of its helpers are.

use std::collections::HashSet;
use std::fs;

use jiff::Timestamp;
use watchdog_facts::evidence::Commits;
use watchdog_facts::work_beside::WorkBeside;
use watchdog_git::{ContentAtBaseline, KnownRefs, OriginEvidence, Worktree, worktrees_of};

use crate::git_brought::script;
use crate::git_history::{Session, sum, with_colleague};
use crate::support::lone_repo::Repo;

/// A repository whose main worktree stands on `main`, with the worktrees `mine` (of the session) and `other` on branches of their own.
struct Team {
    main: Repo,
    mine: Repo,
    other: Repo,
}

impl Team {
    fn new() -> Self {
        let main = Repo::init();
        main.commit("seed");
        for name in ["mine", "other"] {
            main.git(&["worktree", "add", "-q", "-b", name, &format!("../{name}")]);
        }
        let (mine, other) = (main.at("mine"), main.at("other"));
        Team { main, mine, other }
    }
}

/// (all, made here, completes)
#[track_caller]
fn counted(session: &Session<'_>) -> (u64, u64, bool) {
    let commits = session.commits();
    (commits.new_commits, commits.made_here, commits.completes())
}

fn forged(repo: &Repo, args: &[&str]) {
    let status = repo
        .command(args)
        .env("GIT_REFLOG_ACTION", "commit")
        .status()
        .unwrap();
    assert!(status.success(), "git {args:?}");
}

#[test]
fn commits_of_another_worktree_are_never_made_here() {
    for how in [
        &["merge", "-q", "other"][..],
        // A name that began with the session, as a helper's branch has.
        &["merge", "-q", "moved"],
        &["reset", "-q", "--hard", "moved"],
        &["reset", "-q", "--hard", "other"],
        &["checkout", "-q", "--detach", "other"],
        &["checkout", "-q", "-B", "mine", "other"],
        &["checkout", "-q", "-b", "fresh", "other"],
        &["switch", "-q", "-C", "mine", "other"],
        &["rebase", "-q", "other"],
        &["pull", "-q", "--ff-only", ".", "other"],
        &["cherry-pick", "--ff", "other"],
        &["update-ref", "refs/heads/mine", "refs/heads/other"],
        &["symbolic-ref", "HEAD", "refs/heads/moved"],
    ] {
        for gone in [false, true] {
            let team = Team::new();
            let session = Session::begin(&team.mine);
            team.other.commit("o1");
            team.mine.git(&["branch", "moved", "other"]);
            if gone {
                team.main.git(&["worktree", "remove", "../other"]);
            }
            team.mine.git(how);
            assert_eq!(counted(&session), (1, 0, false), "{how:?}, gone: {gone}");
        }
    }
}

#[test]
fn identical_commits_are_made_here_in_each_worktree() {
    let team = Team::new();
    let sessions = [&team.mine, &team.other].map(|repo| (Session::begin(repo), repo));
    for (_, repo) in &sessions {
        fs::write(repo.path("same"), "same").unwrap();
        repo.git(&["add", "same"]);
        let mut commit = repo.command(&["commit", "-q", "-m", "same"]);
        for date in ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"] {
            commit.env(date, "2026-03-04T05:06:07Z");
        }
        assert!(commit.status().unwrap().success());
    }
    let heads = sessions
        .each_ref()
        .map(|(_, repo)| repo.git(&["rev-parse", "HEAD"]));
    assert_eq!(heads[0], heads[1]);
    for (session, _) in &sessions {
        assert_eq!(counted(session), (1, 1, true));
    }
}

#[test]
fn merging_another_branch_is_never_own_work() {
    for empty_beside in [false, true] {
        for how in [
            &["merge", "-q", "--no-ff", "--no-edit", "main"][..],
            &["merge", "-q", "--no-ff", "--no-commit", "main"],
        ] {
            let team = Team::new();
            team.mine.commit("before");
            let session = Session::begin(&team.mine);
            team.main.commit("m1");
            team.mine.git(how);
            if how.contains(&"--no-commit") {
                team.mine.git(&["commit", "-q", "-m", "all my own work"]);
            }
            if empty_beside {
                team.mine
                    .git(&["commit", "-q", "--allow-empty", "-m", "done"]);
            }
            let made = 1 + u64::from(empty_beside);
            assert_eq!(
                counted(&session),
                (1 + made, made, false),
                "{how:?}, empty: {empty_beside}"
            );
        }
    }
}

#[test]
fn own_work_beside_merge_or_rebase_counts() {
    for how in [
        &["merge", "-q", "--no-edit", "main"][..],
        &["rebase", "-q", "main"],
    ] {
        let team = Team::new();
        team.mine.commit("before");
        let session = Session::begin(&team.mine);
        team.mine.commit("work");
        team.main.commit("m1");
        team.mine.git(how);
        assert!(session.commits().completes(), "{how:?}");
        // Undone again, only the others' is left.
        team.mine.git(&["rm", "-q", "work.txt"]);
        team.mine.git(&["commit", "-q", "-m", "undo"]);
        assert!(!session.commits().completes(), "{how:?}");
    }
}

#[test]
fn automatic_merges_are_no_work_but_additions_are() {
    let lines = |first: &str, last: &str| format!("{first}\nb\nc\nd\ne\nf\ng\nh\n{last}\n");
    let team = Team::new();
    team.mine.commit_file("file.txt", &lines("a", "z"), "file");
    team.main.git(&["merge", "-q", "mine"]);
    team.mine
        .commit_file("file.txt", &lines("mine", "z"), "before");
    let session = Session::begin(&team.mine);
    team.main
        .commit_file("file.txt", &lines("a", "theirs"), "m1");
    team.mine.git(&["merge", "-q", "--no-commit", "main"]);
    team.mine.git(&["commit", "-q", "-m", "joined"]);
    assert_eq!(counted(&session), (2, 1, false));
    team.mine
        .write("file.txt", &(lines("mine", "theirs") + "and more\n"));
    team.mine
        .git(&["commit", "-q", "-a", "--amend", "--no-edit"]);
    assert_eq!(counted(&session), (2, 1, true));
}

#[test]
fn forged_commit_entry_for_a_movement_is_ignored() {
    // Made during the session by somebody else, and made before it.
    for before in [false, true] {
        let team = Team::new();
        if before {
            team.other.commit("o1");
        }
        let session = Session::begin(&team.mine);
        if !before {
            team.other.commit("o1");
        }
        forged(&team.mine, &["reset", "-q", "--hard", "other"]);
        assert_eq!(counted(&session), (1, 0, false), "before: {before}");
    }
}

#[test]
fn recorded_refs_outrank_a_handwritten_reflog() {
    let team = Team::new();
    let old = team.other.commit("o1");
    let session = Session::begin(&team.mine);
    let seed = team.mine.head();
    team.mine.git(&["reset", "-q", "--hard", "other"]);
    claims_to_have_committed(&team, &seed, &old);
    assert_eq!(counted(&session), (1, 0, false));
}

#[test]
fn detached_foreign_head_outranks_a_handwritten_reflog() {
    let team = Team::new();
    team.other.git(&["checkout", "-q", "--detach"]);
    let old = team.other.commit("o1");
    let session = Session::begin(&team.mine);
    let seed = team.mine.head();
    team.mine.git(&["reset", "-q", "--hard", &old]);
    claims_to_have_committed(&team, &seed, &old);
    assert_eq!(counted(&session), (1, 0, false));
}

/// Puts one entry that says that `new` was committed on `old` in the place of the logs of `mine`.
fn claims_to_have_committed(team: &Team, old: &str, new: &str) {
    let subject = team.mine.git(&["log", "-1", "--format=%s", new]);
    for log in [
        "../repo/.git/worktrees/mine/logs/HEAD",
        "../repo/.git/logs/refs/heads/mine",
    ] {
        fs::write(
            team.mine.path(log),
            format!("{old} {new} A <a@x> 1800000000 +0000\tcommit: {subject}\n"),
        )
        .unwrap();
    }
}

#[test]
fn commit_entry_off_the_former_head_is_ignored() {
    let nowhere = "1".repeat(40);
    for unrelated in [false, true] {
        let team = Team::new();
        let session = Session::begin(&team.mine);
        let seed = team.mine.head();
        if unrelated {
            team.other.git(&["checkout", "-q", "--orphan", "fresh"]);
        } else {
            team.other.commit("o1");
        }
        let last = team.other.commit("o2");
        team.mine.git(&["reset", "-q", "--hard", &last]);
        let old = if unrelated { &nowhere } else { &seed };
        claims_to_have_committed(&team, old, &last);
        let (all, made, _) = counted(&session);
        assert_eq!(
            (all, made),
            (if unrelated { 1 } else { 2 }, 0),
            "unrelated: {unrelated}"
        );
    }
}

#[test]
fn recorded_refs_outrank_forged_reflogs_and_commit_dates() {
    let team = Team::new();
    team.other.write("o1.txt", "o1\n");
    team.other.git(&["add", "."]);
    let made = team
        .other
        .command(&["commit", "-q", "-m", "o1"])
        .env("GIT_COMMITTER_DATE", "4000000000 +0000")
        .status()
        .unwrap();
    assert!(made.success());
    let worktree = Worktree::open(team.mine.root()).unwrap();
    let evidence = OriginEvidence::from(Some(&worktree.ref_tips().unwrap().into()));
    let (baseline, seed, old) = (
        worktree.head().unwrap(),
        team.mine.head(),
        team.other.head(),
    );
    team.mine.git(&["reset", "-q", "--hard", &old]);
    claims_to_have_committed(&team, &seed, &old);
    let commits = Worktree::open(team.mine.root())
        .unwrap()
        .session_commits(&baseline, &evidence)
        .unwrap();
    assert_eq!(sum(&commits).1, 0);
}

#[test]
fn fetched_commits_are_imported_under_any_name() {
    for how in [
        &[
            &["fetch", "-q", "../other", "main:sub"][..],
            &["merge", "-q", "sub"],
        ][..],
        &[
            &["fetch", "-q", "../other", "main"],
            &["branch", "sub", "FETCH_HEAD"],
            &["merge", "-q", "sub"],
        ],
        &[
            &["fetch", "-q", "../other", "main"],
            &["branch", "sub", "FETCH_HEAD"],
            &["reset", "-q", "--hard", "sub"],
        ],
        &[
            &["fetch", "-q", "origin"],
            &["branch", "sub", "origin/main"],
            &["rebase", "-q", "sub"],
        ],
    ] {
        let (_seed, agent, other) = with_colleague();
        let session = Session::begin(&agent);
        for name in ["c1", "c2"] {
            other.commit(name);
        }
        other.git(&["push", "-q"]);
        for step in how {
            agent.git(step);
        }
        agent.git(&["branch", "-q", "-D", "sub"]);
        assert_eq!(counted(&session), (2, 0, false), "{how:?}");
    }
}

#[test]
fn head_arrivals_are_imported_without_other_fetch_traces() {
    for how in [
        &["pull", "-q", "--ff-only", "../other", "main"][..],
        &["merge", "-q", "FETCH_HEAD"],
        &["merge", "-q", "ID"],
        &["reset", "-q", "--hard", "ID"],
        &["checkout", "-q", "-B", "main", "ID"],
        &["rebase", "-q", "ID"],
    ] {
        let (_seed, agent, other) = with_colleague();
        let session = Session::begin(&agent);
        other.commit("c1");
        let id = other.commit("c2");
        agent.git(&["fetch", "-q", "../other", "main"]);
        agent.git(
            &how.iter()
                .map(|word| if *word == "ID" { id.as_str() } else { word })
                .collect::<Vec<_>>(),
        );
        fs::remove_file(agent.path(".git/FETCH_HEAD")).unwrap();
        // A look at an older commit and back changes nothing.
        agent.git(&["reset", "-q", "--hard", "HEAD~1"]);
        agent.git(&["reset", "-q", "--hard", &id]);
        assert_eq!(counted(&session), (2, 0, false), "{how:?}");
    }
}

#[test]
fn octopus_merge_is_imported_without_fetch_traces() {
    let (_seed, agent, other) = with_colleague();
    let session = Session::begin(&agent);
    agent.commit("own");
    let mut lines = Vec::new();
    for name in ["c1", "c2"] {
        other.git(&["checkout", "-q", "-b", name, "origin/main"]);
        lines.push(other.commit(name));
        agent.git(&["fetch", "-q", "../other", name]);
    }
    agent.git(&["merge", "-q", "--no-edit", &lines[0], &lines[1]]);
    fs::remove_file(agent.path(".git/FETCH_HEAD")).unwrap();
    assert_eq!(
        agent
            .git(&["rev-list", "--parents", "-1", "HEAD"])
            .split_whitespace()
            .count(),
        4,
        "three parents"
    );
    assert_eq!(
        session.sum(),
        (4, 2, 2, true, vec![]),
        "own work and the merge, beside what came"
    );
}

#[test]
fn helper_commits_stay_own_after_a_local_fetch() {
    let team = Team::new();
    let session = Session::begin(&team.mine);
    team.mine
        .git(&["worktree", "add", "-q", "-b", "sub", "../sub"]);
    team.mine.at("sub").commit("by-a-subagent");
    team.mine.git(&["fetch", "-q", ".", "sub"]);
    team.mine.git(&["merge", "-q", "sub"]);
    team.mine.git(&["worktree", "remove", "../sub"]);
    team.mine.git(&["branch", "-q", "-D", "sub"]);
    assert_eq!(counted(&session), (1, 1, true));
}

#[test]
fn long_imported_history_is_imported_entirely() {
    let (_seed, agent, other) = with_colleague();
    let session = Session::begin(&agent);
    let step = |n: usize| {
        let from = if n == 0 {
            "from refs/heads/main^0\n"
        } else {
            ""
        };
        format!(
            "commit refs/heads/main\ncommitter C <c@x> {} +0000\ndata 2\nc\n{from}M 100644 inline f\ndata <<END\n{n}\nEND\n\n",
            1_800_000_000 + n
        )
    };
    fs::write(
        other.path("../stream"),
        (0..5000).map(step).collect::<String>(),
    )
    .unwrap();
    let input = fs::File::open(other.path("../stream")).unwrap();
    assert!(
        other
            .command(&["fast-import", "--quiet"])
            .stdin(input)
            .status()
            .unwrap()
            .success()
    );
    agent.git(&["fetch", "-q", "../other", "main"]);
    let id = agent.git(&["rev-parse", "FETCH_HEAD"]);
    fs::remove_file(agent.path(".git/FETCH_HEAD")).unwrap();
    for back in ["~2", "~1", ""] {
        agent.git(&["reset", "-q", "--hard", &format!("{id}{back}")]);
    }
    assert_eq!(counted(&session), (5000, 0, false));
}

#[test]
fn helper_commits_count_once_head_contains_them() {
    for how in [
        &["merge", "-q", "sub"][..],
        &["merge", "-q", "--no-ff", "--no-edit", "sub"],
        &["reset", "-q", "--hard", "sub"],
        &["rebase", "-q", "sub"],
    ] {
        for gone in [false, true] {
            let team = Team::new();
            let session = Session::begin(&team.mine);
            team.mine
                .git(&["worktree", "add", "-q", "-b", "sub", "../sub"]);
            team.mine.at("sub").commit("by-a-subagent");
            assert_eq!(counted(&session), (0, 0, false));
            team.mine.git(how);
            if gone {
                team.mine.git(&["worktree", "remove", "../sub"]);
                team.mine.git(&["branch", "-q", "-D", "sub"]);
            }
            let (_, made, completes) = counted(&session);
            assert!(made >= 1 && completes, "{how:?}, gone: {gone}");
            // Looking at another branch and back changes nothing.
            team.mine.git(&["checkout", "-q", "--detach", "main"]);
            team.mine.git(&["checkout", "-q", "mine"]);
            assert!(
                counted(&session).2,
                "{how:?}, gone: {gone}, after a look elsewhere"
            );
        }
    }
}

#[test]
fn worktree_with_its_own_record_is_no_helper() {
    let team = Team::new();
    let worktree = Worktree::open(team.mine.root()).unwrap();
    let (baseline, refs) = (
        worktree.head().unwrap(),
        worktree.ref_tips().unwrap().into(),
    );
    team.mine
        .git(&["worktree", "add", "-q", "-b", "sub", "../sub"]);
    team.mine.at("sub").commit("theirs");
    team.mine.git(&["merge", "-q", "sub"]);
    let ids: HashSet<String> = worktrees_of(worktree.common_dir())
        .iter()
        .map(|found| found.worktree_id())
        .collect();
    let look = |evidence: OriginEvidence| -> Commits {
        Worktree::open(team.mine.root())
            .unwrap()
            .session_commits(&baseline, &evidence)
            .unwrap()
    };
    assert_eq!(sum(&look(OriginEvidence::from(Some(&refs)))).1, 1);
    assert_eq!(
        sum(&look(
            OriginEvidence::from(Some(&refs)).with_recorded_worktrees(move || Ok(ids.clone()))
        ))
        .1,
        0
    );
}

#[test]
fn own_commits_count_on_every_branch() {
    let team = Team::new();
    team.mine.git(&["branch", "older"]);
    let session = Session::begin(&team.mine);
    team.mine.git(&["checkout", "-q", "older"]);
    team.mine.commit("on-an-older-branch");
    team.mine.git(&["checkout", "-q", "-b", "newer"]);
    team.mine.commit("on-a-newer-branch");
    team.mine.git(&["checkout", "-q", "mine"]);
    assert_eq!(counted(&session), (0, 0, false));
    team.mine.git(&["merge", "-q", "newer"]);
    assert_eq!(counted(&session), (2, 2, true));
    // Also where another worktree takes them over.
    team.other.git(&["merge", "-q", "mine"]);
    assert_eq!(counted(&session), (2, 2, true));
}

#[test]
fn commit_without_reflog_message_is_made_here() {
    // From elsewhere, git writes the log of the branch alone, as StGit does.
    for at in ["mine", "repo"] {
        let team = Team::new();
        let session = Session::begin(&team.mine);
        let moved = format!("{PLUMBED} git -C ../{at} update-ref refs/heads/mine $c");
        script(&team.mine, &moved);
        let facts = (counted(&session), session.commits().degraded);
        assert_eq!(facts, ((1, 1, true), vec![]), "{at}");
    }
}

#[test]
fn committer_keys_name_the_committer_first() {
    let repo = Repo::init();
    repo.git(&["config", "user.name", "A"]);
    for (key, value, named) in [
        ("user.email", "a@x", "A <a@x>"),
        ("committer.name", " B ", "B <a@x>"),
        ("committer.email", "b@x", "B <b@x>"),
    ] {
        repo.git(&["config", key, value]);
        let worktree = Worktree::open(repo.root()).unwrap();
        assert_eq!(worktree.committer().as_deref(), Some(named));
    }
}

/// Begins a session as watchdog records it; returns the reader of its commits.
fn begin_recorded(repo: &Repo) -> impl Fn() -> Commits + '_ {
    repo.git(&["config", "user.name", "C O Mitter"]);
    repo.git(&["config", "user.email", "committer@example.com"]);
    let worktree = Worktree::open(repo.root()).unwrap();
    let content = ContentAtBaseline {
        at: Some(Timestamp::now()),
        committer: worktree.committer(),
        left_behind: worktree.left_behind().unwrap(),
        stashes: Some(worktree.stash_commits().unwrap()),
        ..ContentAtBaseline::default()
    };
    let refs = KnownRefs::from(worktree.ref_tips().unwrap());
    let evidence = OriginEvidence::from(Some(&refs)).with_content(content);
    let baseline = worktree.head().unwrap();
    move || {
        let worktree = Worktree::open(repo.root()).unwrap();
        worktree.session_commits(&baseline, &evidence).unwrap()
    }
}

#[test]
fn work_beside_head_is_told_with_its_state() {
    let commit =
        |name: &str| format!("echo {name} > {name}; git add {name}; git commit -q -m {name}; ");
    let aborted = "echo x > two; git add two; git commit -q -m x2; git switch -q mine; echo m > two; git add two; git commit -q -m m;
        git switch -q x; git rebase -q mine >/dev/null 2>&1 || git rebase --abort;";
    let on_x = format!("git switch -q -c x; {}", commit("w"));
    let back = "git switch -q mine; git branch -q -D x";
    let helper = &format!(
        "git worktree add -q -b x ../sub; cd ../sub; {} cd ../mine;",
        commit("h")
    );
    let by_other = "git clone -q ../origin.git ../by; cd ../by; git switch -q mine; echo o > o; git add o; git commit -q -m other;";
    let fetched = "git push -q origin mine :x; cd ../mine; git fetch -q -p origin";
    let gone = "git worktree remove ../sub; git branch -q -D x";
    for (session, told) in [
        (format!("{on_x} git push -q origin x; {back}"), "x pushed"),
        (
            format!("{on_x} {back}; git reflog expire --expire=now --all"),
            "- deleted",
        ),
        (format!("{helper} {gone}"), "- deleted"),
        (format!("{helper} rm -rf ../sub; git worktree prune; git branch -q -D x; git gc -q"), "- deleted"),
        (
            format!("git worktree add -q --detach ../sub; cd ../sub; {} cd ../mine; git worktree remove ../sub", commit("h")),
            "- deleted",
        ),
        (format!("{helper} git merge -q x; {gone}"), ""),
        // Of a later second it would take the place of the other.
        (
            format!("export GIT_COMMITTER_DATE=\"$(date +%s) +0000\"; {helper} git merge -q --squash x; git commit -q -m squashed; {gone}"),
            "- merged squash",
        ),
        (format!("{helper} cd ../sub; git commit -q --amend -m again; cd ../mine; {gone}"), "- deleted"),
        // Dropped entries of the stash, another worktree's own leftovers, and commits that are not the session's.
        ("echo s > seed.txt; git stash -q; git stash drop -q; git stash pop -q 2>/dev/null || true".to_owned(), ""),
        (format!("cd ../other; {} git reset -q --hard HEAD~1", commit("o")), ""),
        (format!("export GIT_COMMITTER_NAME=Else; {helper} {gone}"), ""),
        (format!("export GIT_COMMITTER_DATE=2020-01-01T00:00:00Z; {helper} {gone}"), ""),
        (format!("{on_x} {back}"), "x deleted"),
        (
            format!("export GIT_AUTHOR_DATE=2020-01-01T00:00:00Z; {PLUMBED} git reset -q --hard; git switch -q --detach $c; git switch -q mine"),
            "- deleted",
        ),
        // A popped patch of StGit, and one of another branch.
        (format!("{PLUMBED} git update-ref refs/patches/mine/p $c"), "- unpushed"),
        (format!("{PLUMBED} git update-ref refs/patches/other/p $c"), ""),
        // A deleted patch is in StGit's log alone.
        (
            format!("{PLUMBED} git reset -q --hard $c; git update-ref refs/stacks/mine $(git commit-tree -p $c -m log HEAD^{{tree}}); git reset -q --hard HEAD~1"),
            "mine deleted reset",
        ),
        (format!("{PLUMBED} git tag v $c"), "- unpushed"),
        (
            format!("{on_x} git switch -q free; git merge -q --squash x; git commit -q -m squashed; {back}"),
            "x merged squash",
        ),
        (format!("{on_x} git switch -q mine"), "x unpushed"),
        // The commits of a rebase are the same work, whether it was aborted or not, and so are those of two merges.
        (format!("{on_x} {aborted} {back}"), "x deleted"),
        (format!("{on_x} {aborted} git switch -q mine"), "x unpushed"),
        (format!("{on_x} {aborted}"), "mine unpushed"),
        (format!("{on_x} git switch -q mine; {} git rebase -q mine x; {back}", commit("m")), "x deleted"),
        (
            format!("{on_x} git switch -q -c i mine; {} git merge -q --no-ff -m a x; git reset -q --hard HEAD~1; git merge -q --no-ff -m b x
                git switch -q mine; git branch -q -D x i", commit("v")),
            "i deleted",
        ),
        (format!("{on_x} git switch -q mine; {} git rebase -q mine x; git switch -q mine", commit("m")), "x unpushed"),
        (
            format!("git switch -q free; {} git switch -q mine", commit("f")),
            "free unpushed",
        ),
        (
            format!("{on_x} git switch -q free; git merge -q x; {back}"),
            "x merged merge",
        ),
        (
            format!("{on_x} git switch -q mine; git merge -q --no-ff --no-edit x; {back}"),
            "x merged merge",
        ),
        (
            format!(
                "{on_x} {} git switch -q mine; git merge -q --squash x; git commit -q -m squashed; {back}",
                commit("v")
            ),
            "x merged squash",
        ),
        (
            format!(
                "{on_x} git switch -q mine; {} git cherry-pick x; {back}",
                commit("m")
            ),
            "x merged rebase",
        ),
        (
            format!("{on_x} git switch -q free; git merge -q --no-ff --no-edit x; git switch -q mine"),
            "x merged merge",
        ),
        (
            format!("{on_x} git update-ref refs/remotes/origin/x HEAD; {back}"),
            "x deleted",
        ),
        (
            format!("{on_x} git push -q origin x; git switch -q --orphan o; git branch -q -D x"),
            "x pushed",
        ),
        (format!("{on_x} git checkout -q --orphan o"), "x unpushed"),
        (
            format!("git switch -q --detach; {} git switch -q mine", commit("d")),
            "- deleted",
        ),
        (
            format!("{} git reset -q --hard HEAD~1", commit("r")),
            "mine deleted reset",
        ),
        (
            format!("{} git commit -q --amend -m again", commit("a")),
            "",
        ),
        (
            format!(
                "{} git reset -q --soft HEAD~1; git commit -q -m again",
                commit("s")
            ),
            "",
        ),
        (
            format!(
                "git worktree add -q -b x ../sub; cd ../sub; {} git push -q origin x; cd ../mine; git worktree remove ../sub; git branch -q -D x",
                commit("h")
            ),
            "x pushed",
        ),
        (
            format!(
                "{CLONED} git fetch -q ../clone; git switch -q --detach FETCH_HEAD; git switch -q mine"
            ),
            "",
        ),
        ("git switch -q other2; git switch -q mine".to_owned(), ""),
        (
            format!("{on_x} git push -q origin x; {back}; {by_other} git merge -q --squash origin/x; git commit -q -m squashed; {fetched}"),
            "x merged squash",
        ),
        (
            format!("{on_x} git push -q origin x; git switch -q mine; {by_other} git cherry-pick origin/x >/dev/null; {fetched}"),
            "x merged rebase",
        ),
        // A ref alone shows no arrival.
        (
            format!("{on_x} c=$(GIT_COMMITTER_NAME=Else git commit-tree -p mine -m s x^{{tree}}); git update-ref refs/remotes/origin/mine $c; {back}"),
            "x deleted",
        ),
        // An amended or picked commit has an older author's date; a later entry may be dated before the session.
        (
            format!("{on_x} git commit -q --amend --date=2020-01-01T00:00:00Z -m o; {back}"),
            "x deleted",
        ),
        (
            format!(
                "{on_x} git switch -q mine; GIT_COMMITTER_DATE=2020-01-01T00:00:00Z git reset -q --soft HEAD; git branch -q -D x"
            ),
            "x deleted",
        ),
        (
            "git stash -q 2>/dev/null; mkdir -p ../repo/.git/logs/refs; echo \"$(git hash-object -t blob /dev/null) 1111111111111111111111111111111111111111 a <a@a> 9999999999 +0000\tWIP on mine: x\" >> ../repo/.git/logs/refs/stash".to_owned(),
            "",
        ),
        ("echo s > seed.txt; git stash -q".to_owned(), "mine stashed"),
        (
            "cd ../other; echo s > seed.txt; git stash -q".to_owned(),
            "",
        ),
    ] {
        let team = Team::new();
        let mine = &team.mine;
        script(mine, "git clone -q --bare . ../origin.git; git remote add origin ../origin.git; git fetch -q origin; git branch free
            git branch other2; git switch -q other2; git commit -q --allow-empty -m older; git switch -q mine
            git update-ref refs/stacks/mine HEAD");
        let commits = begin_recorded(mine);
        script(mine, &session);
        assert_eq!(name_beside(&commits()), told, "{session}");
    }
}

/// The work beside HEAD: each with its branch, its state and how it was merged.
fn name_beside(commits: &Commits) -> String {
    let name_work = |work: &WorkBeside| {
        let state = format!("{:?}", work.state).to_lowercase();
        let words = [
            work.branch.as_deref().unwrap_or("-"),
            &state,
            work.by.as_deref().unwrap_or(""),
        ];
        words.join(" ").trim().to_owned()
    };
    let names: Vec<String> = commits.beside.iter().map(name_work).collect();
    names.join(", ")
}

#[test]
fn moved_ref_is_read_wherever_it_lies() {
    let push = |branch: &str| {
        let commit = "git switch -q -c x; echo x > x; git add x; git commit -q -m x;";
        format!("{commit} git push -q origin x:{branch}; git switch -q mine; git branch -q -D x")
    };
    for (before, session, told) in [
        ("", push("x"), "x pushed"),
        ("", push("deep/x"), "deep/x pushed"),
        (
            "git push -q origin mine:deep/y",
            push("deep/x"),
            "deep/x pushed",
        ),
        ("git pack-refs --all", push("x"), "x pushed"),
        // A copy over it writes its files in place.
        (
            "git push -q origin mine:x",
            format!(
                "{}; touch -d '1 day ago' ../repo/.git/refs/remotes/origin",
                push("x")
            ),
            "x pushed",
        ),
        (
            "cd ../repo/.git/refs/remotes; mv origin ../../o; ln -s ../../o origin",
            format!("{PLUMBED} git push -q origin $c:refs/heads/x"),
            "x deleted",
        ),
        (
            "",
            format!(
                "{}; git pack-refs --all; rm -r ../repo/.git/refs/remotes",
                push("x")
            ),
            "x pushed",
        ),
        (
            "git tag deep/w",
            format!("{PLUMBED} git tag deep/v $c"),
            "- unpushed",
        ),
    ] {
        let team = Team::new();
        let mine = &team.mine;
        script(
            mine,
            "git clone -q --bare . ../origin.git; git remote add origin ../origin.git; git fetch -q origin",
        );
        script(mine, before);
        script(mine, "find ../repo/.git -exec touch -h -d '1 day ago' {} +");
        let commits = begin_recorded(mine);
        script(mine, &session);
        assert_eq!(name_beside(&commits()), told, "{before}; {session}");
    }
}

/// A commit without a word in the reflog, on HEAD: its name is `$c`.
const PLUMBED: &str = "echo own > own; git add own
    c=$(git commit-tree -p HEAD -m own $(git write-tree)); ";

/// A commit of another clone: its name is `$c`.
const CLONED: &str = "git clone -q . ../clone; cd ../clone; echo c > c; git add c; git commit -q -m c; c=$(git rev-parse HEAD); cd ../mine; ";

#[test]
fn own_commits_count_however_head_came_there() {
    let of_sibling = "cd ../other; echo o > o; git add o; git commit -q -m o; c=$(git rev-parse HEAD); cd ../mine; ";
    let had_before = format!("{PLUMBED} git reset -q --hard $c; git reset -q --hard HEAD~1");
    for (before, session, made) in [
        ("", format!("{PLUMBED} git reset -q --hard $c"), 1),
        ("", format!("{PLUMBED} git checkout -q -B mine $c"), 1),
        ("", format!("{PLUMBED} git update-ref refs/heads/t $c; git merge -q t~0; git branch -q -D t"), 1),
        ("", format!("{PLUMBED} git update-ref -m push HEAD $c"), 1),
        ("", "git worktree add -q --detach ../sub; cd ../sub; echo s > s; git add s; git commit -q -m s
            c=$(git rev-parse HEAD); cd ../mine; git worktree remove ../sub; git reset -q --hard $c".to_owned(), 1),
        ("git branch dev; ", format!("{PLUMBED} git update-ref refs/heads/dev $c; git reset -q --hard dev"), 1),
        ("", format!("git switch -q --detach; {PLUMBED} git update-ref --no-deref -m \"export from jj\" HEAD $c; git update-ref refs/heads/mine $c"), 1),
        ("", format!("git switch -q -c topic; {PLUMBED} git update-ref refs/heads/mine $c; git merge -q --ff-only mine"), 1),
        ("echo o > o; git add o; git commit -q -m o", "echo p >> o; git add o; export GIT_AUTHOR_DATE=\"$(git log -1 --format=%ad --date=raw)\"
            git update-ref -m refresh HEAD $(git commit-tree -p HEAD~1 -m o $(git write-tree))".to_owned(), 1),
        // Another person's, an older one, one of another worktree, of a clone, and one that HEAD had before.
        ("git branch dev; ", format!("export GIT_COMMITTER_NAME=Else; {PLUMBED} git update-ref refs/heads/dev $c; git reset -q --hard dev"), 0),
        ("git branch dev; ", format!("cd ../other; git switch -q dev; {PLUMBED} git reset -q --hard $c; git switch -q other; cd ../mine; git reset -q --hard dev"), 0),
        ("git branch dev; ", format!("{CLONED} git fetch -q ../clone HEAD:dev; git fetch -q . mine; git reset -q --hard dev"), 0),
        ("git branch dev; ", format!("{CLONED} git -C ../clone push -q ../mine HEAD:dev; git reset -q --hard dev"), 0),
        ("", format!("export GIT_COMMITTER_NAME=Else; {PLUMBED} git reset -q --hard $c"), 0),
        ("", format!("export GIT_COMMITTER_DATE=2020-01-01T00:00:00Z; {PLUMBED} git reset -q --hard $c"), 0),
        ("", format!("{of_sibling} rm -rf ../repo/.git/logs/refs ../repo/.git/worktrees/other/logs; git reset -q --hard $c"), 0),
        ("", format!("{of_sibling} git worktree remove ../other; git branch -q -D other; git reset -q --hard $c"), 0),
        ("", format!("{CLONED} git pull -q --ff-only ../clone; rm $(git rev-parse --git-path FETCH_HEAD)"), 0),
        ("", format!("{CLONED} git fetch -q ../clone; git reset -q --hard $c"), 0),
        (&had_before, "git reset -q --hard $(git rev-parse HEAD@{1})".to_owned(), 0),
    ] {
        let team = Team::new();
        let mine = &team.mine;
        script(mine, before);
        let recorded = begin_recorded(mine);
        script(mine, &session);
        let commits = recorded();
        assert_eq!((commits.new_commits, commits.made_here), (1, made), "{session}");
    }
}

#[test]
fn foreign_commits_without_reflog_trace_are_no_work() {
    for only_on_its_branch in [false, true] {
        let team = Team::new();
        let session = Session::begin(&team.mine);
        let theirs = if only_on_its_branch {
            team.main.write("o1.txt", "o1\n");
            team.main.git(&["add", "."]);
            let tree = team.main.git(&["write-tree"]);
            let commit = team
                .main
                .git(&["commit-tree", &tree, "-p", "HEAD", "-m", "o1"]);
            // Of the logs of that worktree's HEAD and of its branch, only the branch's has it then.
            team.main.git_line(
                "update-ref -m {} --create-reflog refs/heads/other {}",
                &["by plumbing", &commit],
            );
            commit
        } else {
            team.other.commit("o1")
        };
        fs::write(
            team.mine.path("../repo/.git/refs/heads/mine"),
            format!("{theirs}\n"),
        )
        .unwrap();
        assert_eq!(
            counted(&session),
            (1, 0, false),
            "only on its branch: {only_on_its_branch}"
        );
    }
}

#[test]
fn rebased_commit_with_resolved_conflict_is_not_new() {
    let team = Team::new();
    team.mine.commit_file("file.txt", "mine\n", "own");
    let session = Session::begin(&team.mine);
    team.main.commit_file("file.txt", "theirs\n", "m1");
    assert!(
        !team
            .mine
            .try_git(&["rebase", "-q", "main"])
            .status
            .success()
    );
    team.mine.write("file.txt", "theirs\nmine\n");
    team.mine.git(&["add", "."]);
    team.mine
        .git(&["-c", "core.editor=true", "rebase", "--continue"]);
    assert_eq!(counted(&session), (2, 0, false));
}

#[test]
fn a_folder_without_files_is_no_change() {
    let team = Team::new();
    let session = Session::begin(&team.mine);
    let empty = team.mine.git(&["mktree"]);
    let listed = team.mine.git(&["ls-tree", "HEAD"]);
    fs::write(
        team.mine.path("../tree"),
        format!("{listed}\n040000 tree {empty}\tfolder\n"),
    )
    .unwrap();
    let input = fs::File::open(team.mine.path("../tree")).unwrap();
    let output = team
        .mine
        .command(&["mktree"])
        .stdin(input)
        .output()
        .unwrap();
    let tree = String::from_utf8(output.stdout).unwrap();
    let commit = team
        .mine
        .git(&["commit-tree", tree.trim(), "-p", "HEAD", "-m", "nothing"]);
    team.mine.git(&["update-ref", "HEAD", &commit]);
    assert_eq!(counted(&session), (1, 1, false));
}

#[test]
fn replacement_ref_never_turns_empty_commits_into_work() {
    let team = Team::new();
    let session = Session::begin(&team.mine);
    team.mine
        .git(&["commit", "-q", "--allow-empty", "-m", "empty"]);
    let empty = team.mine.head();
    team.mine.commit("work");
    let work = team.mine.head();
    team.mine.git(&["reset", "-q", "--hard", &empty]);
    team.mine.git_line(
        "replace {} {}",
        &[
            &empty,
            &team.mine.git_line(
                "commit-tree {} -p {} -m empty",
                &[&format!("{work}^{{tree}}"), &format!("{empty}~1")],
            ),
        ],
    );
    assert_eq!(counted(&session), (1, 1, false));
}

#[test]
fn object_with_mismatching_bytes_is_an_error() {
    // The commit that HEAD names, its tree, and the file that it added.
    for what in ["HEAD", "HEAD^{tree}", "HEAD:work.txt"] {
        let repo = Repo::init();
        repo.commit("seed");
        let baseline = Worktree::open(repo.root()).unwrap().head().unwrap();
        repo.commit("work");
        let object = repo.git(&["rev-parse", what]);
        let instead = repo.git_line(
            "rev-parse {}",
            &[&what.replace("HEAD", "HEAD~1").replace("work", "seed")],
        );
        let file = |id: &str| repo.path(&format!(".git/objects/{}/{}", &id[..2], &id[2..]));
        fs::remove_file(file(&object)).unwrap();
        fs::copy(file(&instead), file(&object)).unwrap();
        let error = Worktree::open(repo.root())
            .unwrap()
            .commits_since(&baseline, None)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains(&object) && error.contains("damaged"),
            "{what}: {error}"
        );
    }
}

/// Makes a folder one that is there and that nobody can list, not even root.
fn make_unlistable(folder: &std::path::Path) {
    fs::rename(folder, folder.with_extension("away")).unwrap();
    std::os::unix::fs::symlink(folder.file_name().unwrap(), folder).unwrap();
}

#[test]
fn listing_failure_never_credits_foreign_commits() {
    for folder in ["worktrees", "logs/refs/heads"] {
        let team = Team::new();
        let session = Session::begin(&team.main);
        team.other.commit("theirs");
        team.main.git(&["merge", "-q", "other"]);
        assert!(!session.commits().completes(), "it is another worktree's");
        make_unlistable(&team.main.path(".git").join(folder));
        for error in session.refusals() {
            assert!(error.contains(folder), "{error}");
        }
    }
}

#[test]
fn unlistable_worktrees_prevent_a_baseline() {
    let team = Team::new();
    make_unlistable(&team.main.path(".git/worktrees"));
    // A record without them would take each of them for a helper's later.
    let error = Worktree::open(team.main.root())
        .unwrap()
        .ref_tips()
        .expect_err("they are there")
        .to_string();
    assert!(error.contains(".git/worktrees"), "{error}");
}
