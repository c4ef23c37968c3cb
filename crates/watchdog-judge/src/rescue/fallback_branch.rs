//! Commits on the fallback branch, if the current one is protected or its hooks refuse.
//!
//! Everything goes through a private index and plumbing commands, without hooks and signatures. The user's branch,
//! index and work tree stay unchanged. The branch only ever moves forward, so that it keeps earlier rescues.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::message::with_snapshot;
use super::request::RescueRequest;
use super::single::CommitGroup;
use watchdog_git::{EntryToCommit, Error, Worktree};
use watchdog_process::git_program::{describe_failure, new_git_run};

/// Adds paths of the standard input to the index as they are in the work tree.
const UPDATE: [&str; 6] = [
    "update-index",
    "--add",
    "--remove",
    "--replace",
    "-z",
    "--stdin",
];

/// Plumbing takes a moment; only a filter of the user can hang.
const DEADLINE: Duration = Duration::from_secs(60);

/// The branch that received the commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FallbackBranch {
    /// Without `refs/heads/`.
    pub branch: String,
    /// Files that the work tree no longer has as the snapshot has them, and the branch does.
    pub as_they_were: BTreeSet<String>,
    /// Why it has no slashes in its name, for a person.
    pub renamed: Option<String>,
}

/// An index file of our own, gone when dropped. Never two at a time: a rescue holds the worktree's lock.
struct PrivateIndex(PathBuf);

impl PrivateIndex {
    fn new(git_dir: &Path) -> Self {
        let index = PrivateIndex(git_dir.join("watchdog-rescue.index"));
        index.remove();
        index
    }

    fn remove(&self) {
        for path in [self.0.clone(), self.0.with_extension("index.lock")] {
            // It is usually not there; one that cannot be removed makes git itself complain.
            std::fs::remove_file(path).ok();
        }
    }
}

impl Drop for PrivateIndex {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Commits the groups, on top of the branch and of HEAD. If the branch has exactly that already,
/// adds no commit to it.
///
/// The inner error is for a person: git refused, and nothing moved.
///
/// # Errors
/// When git's data cannot be read.
pub(super) fn commit_to_fallback(
    worktree: &Worktree,
    request: &RescueRequest<'_>,
    groups: &[CommitGroup<'_>],
) -> Result<Result<FallbackBranch, String>, Error> {
    let branch = worktree.rescue_branch(request.spec)?;
    let head = worktree.head_commit()?;
    let mut entries = Vec::new();
    for group in groups {
        entries.push(worktree.kept_entries(request.snapshot, &group.names())?);
    }
    let as_they_were = groups
        .iter()
        .zip(&entries)
        .flat_map(|(group, kept)| group.paths.iter().zip(kept))
        .filter(|(_, kept)| !kept.untouched)
        .map(|(path, _)| path.text.clone())
        .collect();
    let index = PrivateIndex::new(worktree.git_dir());
    let plumbing = BranchPlumbing {
        worktree,
        index: &index.0,
    };
    let moved = plumbing.advance(request, groups, &entries, &branch, head.as_deref());
    Ok(moved.map(|()| FallbackBranch {
        branch: branch.name,
        as_they_were,
        renamed: branch.renamed,
    }))
}

/// The tree, hexadecimal, that HEAD would have with these paths committed as git adds them now, filters included.
///
/// # Errors
/// git's message on a failure.
pub(super) fn staged_tree(worktree: &Worktree, paths: &[&[u8]]) -> Result<String, String> {
    let head = worktree.head_commit().map_err(|error| error.to_string())?;
    let index = PrivateIndex::new(worktree.git_dir());
    let plumbing = BranchPlumbing {
        worktree,
        index: &index.0,
    };
    plumbing.git(
        &["read-tree", head.as_deref().unwrap_or("--empty")],
        Vec::new(),
    )?;
    let names = paths
        .iter()
        .flat_map(|path| path.iter().copied().chain([0]))
        .collect();
    plumbing.git(&UPDATE, names)?;
    plumbing.git(&["write-tree"], Vec::new())
}

struct BranchPlumbing<'a> {
    worktree: &'a Worktree,
    index: &'a Path,
}

impl BranchPlumbing<'_> {
    fn git(&self, args: &[&str], stdin: Vec<u8>) -> Result<String, String> {
        let quiet = [
            "-c",
            "core.hooksPath=/dev/null",
            "-c",
            "core.sparseCheckout=false",
            "-c",
            "core.splitIndex=false",
        ];
        let args_all = [&quiet[..], args].concat();
        let mut program = new_git_run(
            self.worktree.root(),
            &args_all,
            &[],
            self.worktree.has_identity(),
            DEADLINE,
        );
        program
            .env
            .insert("GIT_INDEX_FILE".into(), Some(self.index.into()));
        program.stdin = stdin;
        let finished = program.run().map_err(|error| error.to_string())?;
        if finished.timed_out || !finished.exit.success() {
            let program = format!("git {}", args[0]);
            return Err(describe_failure(&program, &finished, DEADLINE));
        }
        Ok(String::from_utf8_lossy(&finished.stdout.bytes)
            .trim()
            .to_owned())
    }

    fn advance(
        &self,
        request: &RescueRequest<'_>,
        groups: &[CommitGroup<'_>],
        entries: &[Vec<EntryToCommit>],
        branch: &watchdog_git::RescueBranch,
        head: Option<&str>,
    ) -> Result<(), String> {
        self.git(&["read-tree", head.unwrap_or("--empty")], Vec::new())?;
        let mut parents: Vec<String> = match (&branch.tip, head) {
            (Some(tip), Some(head)) if !branch.holds_head => vec![tip.clone(), head.to_owned()],
            (Some(tip), _) => vec![tip.clone()],
            (None, head) => head.map(str::to_owned).into_iter().collect(),
        };
        let mut last = self.git(&["write-tree"], Vec::new())?;
        let mut made = None;
        for (group, kept) in groups.iter().zip(entries) {
            self.take(group, kept, request.snapshot.commit.len())?;
            let tree = self.git(&["write-tree"], Vec::new())?;
            if tree == last {
                continue;
            }
            let mut args = vec!["commit-tree", tree.as_str()];
            for parent in &parents {
                args.extend(["-p", parent.as_str()]);
            }
            let commit = self.git(
                &args,
                with_snapshot(&group.message, request.snapshot).into_bytes(),
            )?;
            parents = vec![commit.clone()];
            made = Some(commit);
            last = tree;
        }
        let there = branch.holds_head && branch.tree.as_deref() == Some(&last);
        let Some(commit) = made.filter(|_| !there) else {
            return if branch.tip.is_some() && there {
                Ok(())
            } else {
                Err("nothing of it differs from HEAD any more".into())
            };
        };
        let name = format!("refs/heads/{}", branch.name);
        // Only from where it was seen, and created only where it was not there.
        let old = branch.tip.as_deref().unwrap_or_default();
        self.git(
            &[
                "update-ref",
                "--create-reflog",
                "-m",
                "watchdog: rescue",
                &name,
                &commit,
                old,
            ],
            Vec::new(),
        )
        .map(drop)
    }

    /// Puts the group's files into the private index: as git itself would add them if the work tree still has them,
    /// byte for byte from the snapshot if it has not, or if a filter fails. `digits` of an object's name.
    fn take(
        &self,
        group: &CommitGroup<'_>,
        entries: &[EntryToCommit],
        digits: usize,
    ) -> Result<(), String> {
        let names = group.names();
        let both = || names.iter().zip(entries);
        let from_disk: Vec<u8> = both()
            .filter(|(_, kept)| kept.untouched)
            .flat_map(|(path, _)| path.iter().copied().chain([0]))
            .collect();
        let mut refused = false;
        if !from_disk.is_empty() {
            refused = self.git(&UPDATE, from_disk).is_err();
        }
        let mut lines = Vec::new();
        for (path, kept) in both().filter(|(_, kept)| refused || !kept.untouched) {
            let line = match &kept.content {
                Some((mode, id)) => format!("{mode} {id} 0\t"),
                None => format!("0 {}\t", "0".repeat(digits)),
            };
            lines.extend(
                line.into_bytes()
                    .into_iter()
                    .chain(path.iter().copied())
                    .chain([0]),
            );
        }
        if lines.is_empty() {
            return Ok(());
        }
        self.git(
            &["update-index", "--add", "--replace", "-z", "--index-info"],
            lines,
        )
        .map(drop)
    }
}
