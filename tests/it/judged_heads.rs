//! Every judged head that is on no remote is kept in a ref, so that a removed worktree and branch lose no commit.

use serde_json::json;

use crate::support::{Repo, TestEnv};

fn judged(repo: &Repo<'_>) -> Vec<String> {
    repo.git_line(
        "for-each-ref --format=%(objectname) refs/watchdog/judged",
        &[],
    )
    .lines()
    .map(str::to_owned)
    .collect()
}

/// A linked worktree on a branch of its own.
fn linked<'env>(env: &'env TestEnv, repo: &Repo<'env>) -> Repo<'env> {
    let path = env.root().join("side");
    repo.git_line("worktree add -q -b side {}", &[path.to_str().unwrap()]);
    Repo::new(env, path)
}

#[test]
fn judged_commits_outlive_their_worktree_and_branch() {
    let env = TestEnv::new();
    let repo = env.repo();
    let side = linked(&env, &repo);
    side.watchdog_line(
        "run -- sh -c {}",
        &["echo 1 > work && git add work && git commit -q -m work"],
    )
    .expect(0);
    let head = side.head();
    assert_eq!(judged(&repo), [head.as_str()]);
    repo.git_line(
        "worktree remove --force {}",
        &[side.path().to_str().unwrap()],
    );
    repo.git(&["branch", "-q", "-D", "side"]);
    repo.git(&["reflog", "expire", "--expire=now", "--all"]);
    repo.git(&["gc", "-q", "--prune=now"]);
    assert_eq!(repo.git(&["cat-file", "-t", &head]), "commit");
}

#[test]
fn work_beside_head_is_kept_and_no_strike() {
    let env = TestEnv::new();
    let repo = env.repo();
    let commit = |name: &str| {
        format!(
            "git switch -q -c {name}; echo {name} > x; git add x; git commit -q -m {name}; git rev-parse HEAD > ../x"
        )
    };
    let back = format!("{}; git switch -q -; git branch -q -D x", commit("x"));
    // git removes the logs with a worktree.
    let remove = |name: &str| {
        format!(
            "git worktree add -q --detach ../sub; cd ../sub; {}; cd ../repo; git worktree remove ../sub; git branch -q -D {name}",
            commit(name)
        )
    };
    for session in [back, remove("y"), remove("z")] {
        let out = repo
            .watchdog(&["run", "--json", "--", "sh", "-c", &session])
            .expect(10);
        out.assert_values(json!({"strike": false, "/elsewhere/0/state": "deleted"}));
    }
    let made = std::fs::read_to_string(env.root().join("x")).unwrap();
    repo.git(&["reflog", "expire", "--expire=now", "--all"]);
    repo.git(&["gc", "-q", "--prune=now"]);
    assert_eq!(repo.git(&["cat-file", "-t", made.trim()]), "commit");
}

#[test]
fn one_ref_keeps_each_unpushed_judged_line() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.watchdog(&["snapshot"]).expect(0);
    repo.watchdog(&["check", "--no-probe"]).expect(10);
    assert_eq!(
        judged(&repo),
        Vec::<String>::new(),
        "the baseline has a ref of its own"
    );
    for name in ["one", "two"] {
        repo.write(name, name);
        let head = repo.commit_all(name);
        for _ in 0..2 {
            repo.watchdog(&["check"]).expect(0);
            assert_eq!(judged(&repo), [head.as_str()]);
        }
    }
    // Another line of work does not push out the first.
    repo.git(&["reset", "-q", "--hard", "HEAD~1"]);
    repo.write("three", "three");
    repo.commit_all("three");
    repo.watchdog(&["check"]).expect(0);
    assert_eq!(judged(&repo).len(), 2);
    repo.write("four", "four");
    let pushed = repo.commit_all("four");
    repo.git(&["update-ref", "refs/remotes/origin/main", &pushed]);
    repo.watchdog(&["check"]).expect(0);
    assert!(!judged(&repo).contains(&pushed));
}

#[test]
fn sessions_one_after_the_other_leave_one_ref() {
    let env = TestEnv::new();
    let repo = env.repo();
    for name in ["one", "two", "three"] {
        let work = format!("echo {name} > {name} && git add {name} && git commit -q -m {name}");
        repo.watchdog(&["run", "--", "sh", "-c", &work]).expect(0);
        assert_eq!(judged(&repo), [repo.head()], "after {name}");
    }
}

#[test]
fn judged_heads_go_with_the_old_snapshots() {
    let env = TestEnv::new();
    let repo = env.repo();
    let old = repo.head();
    let worktree = watchdog_git::Worktree::open(repo.path()).unwrap();
    repo.git(&["switch", "-q", "--orphan", "another-line"]);
    let days_ago = |days: i64| jiff::Timestamp::now() - jiff::SignedDuration::from_hours(24 * days);
    worktree.keep_judged("main", &old, days_ago(40)).unwrap();
    repo.write("new", "new");
    let new = repo.commit_all("new");
    worktree.keep_judged("main", &new, days_ago(3)).unwrap();
    assert_eq!(judged(&repo).len(), 2);
    repo.watchdog(&["snapshot"]).expect(0);
    repo.watchdog(&["check", "--no-probe"]).expect(10);
    // Another ref keeps `main`.
    let judged = judged(&repo);
    assert!(judged.contains(&new) && !judged.contains(&old));
}

#[test]
fn unwritable_repository_is_still_judged() {
    let env = TestEnv::new();
    let repo = env.repo();
    let baseline = repo.head();
    repo.write("work", "work");
    repo.commit_all("work");
    // A file where the refs would be: as unwritable as another user's folder, also for root.
    repo.write(".git/refs/watchdog", "in the way");
    repo.watchdog(&["check", "--baseline", &baseline, "--no-probe"])
        .expect(0);
}
