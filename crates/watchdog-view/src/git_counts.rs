//! Counts what git shows beside a session: commits since its baseline, and paths that are not committed.

use super::overview::StatusRow;
use watchdog_facts::evidence::Changes;
use watchdog_git::{Error, HistoryPoint, Worktree};

/// Reads the counts beside a session that watchdog did not start.
pub fn read_counts(row: &mut StatusRow) {
    if row.seen.is_some()
        && let Ok(worktree) = Worktree::open(&row.worktree)
    {
        let commits = || count_commits(&worktree, row.baseline.as_deref()).ok();
        let commits = (!row.is_unrecorded).then(commits);
        let uncommitted = count_uncommitted(&worktree).ok();
        row.counts = uncommitted.map(|paths| (commits.flatten(), paths));
    }
}

/// Commits since a baseline; without a commit since the beginning.
///
/// # Errors
/// If git's history cannot be read.
pub fn count_commits(worktree: &Worktree, baseline: Option<&str>) -> Result<u64, Error> {
    let since = HistoryPoint::from(baseline.map(str::to_owned));
    Ok(worktree.commits_since(&since, None)?.new_commits)
}

/// Paths that are not committed.
///
/// # Errors
/// If the work tree cannot be read.
pub fn count_uncommitted(worktree: &Worktree) -> Result<u64, Error> {
    let changes = worktree.changes()?;
    let counted = changes.staged.max(changes.unstaged) + changes.untracked + changes.conflicted;
    // The list has each path once; where it is not cut it is the count.
    let listed = changes.paths.len() as u64;
    Ok(match changes.paths.len() < Changes::LISTED {
        true => listed,
        false => counted.max(listed),
    })
}
