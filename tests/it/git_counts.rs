//! Counts on random histories, against git's own.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::Write;
use std::process::Stdio;

use watchdog_git::{HistoryPoint, Worktree};

use crate::support::lone_repo::Repo;
use crate::support::random_tree::Dice;

/// A history of `size` commits with branches, merges and several roots; with `skew`, clocks are wrong at times.
fn random_history(dice: &mut Dice, size: u64, skew: bool) -> (Repo, Vec<String>) {
    let mut roll = |sides: u64| dice.roll(sides as usize) as u64;
    let repo = Repo::init();
    let mut stream = String::new();
    for n in 1..=size {
        let mut date = 1_700_000_000 + n * 60;
        if skew && roll(4) == 0 {
            date = date + roll(6000) - roll(12_000);
        } else if roll(5) == 0 {
            date -= 60; // Two commits of the same second.
        }
        stream.push_str(&format!(
            "commit refs/heads/b{n}\nmark :{n}\ncommitter C <c@x> {date} +0000\ndata 2\nc\n"
        ));
        if n > 1 && roll(20) > 0 {
            let reach = 1 + roll(8).min(n - 2);
            stream.push_str(&format!("from :{}\n", n - reach));
            for _ in 0..[0, 0, 0, 1, 1, 2][roll(6) as usize] {
                stream.push_str(&format!("merge :{}\n", 1 + roll(n - 1)));
            }
        }
        stream.push('\n');
    }
    let mut import = repo
        .command(&["fast-import", "--quiet", "--export-marks=../marks"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    import
        .stdin
        .take()
        .unwrap()
        .write_all(stream.as_bytes())
        .unwrap();
    assert!(import.wait().unwrap().success());
    let marks = fs::read_to_string(repo.root().parent().unwrap().join("marks")).unwrap();
    let mut ids: Vec<(u64, String)> = marks
        .lines()
        .map(|line| {
            line.trim_start_matches(':')
                .split_once(' ')
                .map(|(mark, id)| (mark.parse().unwrap(), id.to_string()))
                .unwrap()
        })
        .collect();
    ids.sort();
    (repo, ids.into_iter().map(|(_, id)| id).collect())
}

/// Every commit with itself and all that it reaches.
fn ancestry(repo: &Repo) -> HashMap<String, HashSet<String>> {
    let mut reach: HashMap<String, HashSet<String>> = HashMap::new();
    for line in repo
        .git_line("rev-list --all --topo-order --reverse --parents", &[])
        .lines()
    {
        let mut ids = line.split(' ').map(String::from);
        let id = ids.next().unwrap();
        let mut all: HashSet<String> = ids.flat_map(|parent| reach[&parent].clone()).collect();
        all.insert(id.clone());
        reach.insert(id, all);
    }
    reach
}

#[test]
fn commit_counts_match_git_on_random_histories() {
    let mut compared = 0;
    for seed in 1..=24_u64 {
        let mut dice = Dice::new(seed);
        let (repo, ids) = random_history(&mut dice, 80, seed % 2 == 0);
        if seed % 3 == 0 {
            repo.git(&["commit-graph", "write", "--reachable"]);
        }
        let ancestry = ancestry(&repo);
        for _ in 0..25 {
            let (baseline, head) = (&ids[dice.roll(80)], &ids[dice.roll(80)]);
            fs::write(repo.path(".git/HEAD"), format!("{head}\n")).unwrap();
            let worktree = Worktree::open(repo.root()).unwrap();
            let commits = worktree
                .commits_since(&HistoryPoint::Commit(baseline.clone()), None)
                .unwrap();
            let of_git = repo.git(&["rev-list", &format!("{baseline}..{head}")]);
            assert_eq!(
                commits.new_commits,
                of_git.lines().count() as u64,
                "seed {seed}: {baseline}..{head}"
            );
            let listed: Vec<String> = commits.listed.into_iter().map(|c| c.id).collect();
            assert_eq!(listed.join("\n"), of_git, "seed {seed}: {baseline}..{head}");
            let rewritten = commits
                .degraded
                .iter()
                .any(|d| d.code.as_str() == "history_rewritten");
            assert_eq!(
                rewritten,
                !ancestry[head].contains(baseline),
                "seed {seed}: {baseline}..{head}"
            );
            compared += commits.new_commits;
        }
        let head = &ids[79];
        fs::write(repo.path(".git/HEAD"), format!("{head}\n")).unwrap();
        let all = Worktree::open(repo.root())
            .unwrap()
            .commits_since(&HistoryPoint::Unborn, None)
            .unwrap();
        assert_eq!(
            all.new_commits.to_string(),
            repo.git(&["rev-list", "--count", head]),
            "seed {seed}"
        );
    }
    assert!(
        compared > 4000,
        "the histories were too simple to prove anything: {compared}"
    );
}
