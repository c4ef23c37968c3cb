//! Brings a snapshot back into a linked worktree of its own: exact, index included, and away from everything else.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::half_made::{self, RestoreFolderState, RestoreInProgress};
use watchdog_facts::shell_line::{WorktreeCommands, shell_path};
use watchdog_git::{Error, RestoreError, RestoreResult, RestoreTarget, Worktree};
use watchdog_process::git_program::{describe_failure, new_git_run};

/// How long git may take to make a worktree without files.
const DEADLINE: Duration = Duration::from_secs(120);

/// Why a snapshot could not be brought back into a linked worktree.
#[derive(Debug, thiserror::Error)]
pub enum RestoreIntoError {
    /// The snapshot, or the folder, is not as it must be.
    #[error(transparent)]
    Restore(#[from] RestoreError),
    /// git made no worktree. The restore wrote no file.
    #[error("failed to make a linked worktree at {path}: {why}")]
    NotMade {
        /// The intended place of the worktree.
        path: PathBuf,
        /// git's complaint, or why git could not be run.
        why: String,
    },
    /// The worktree is there, but not what belongs in it.
    #[error("{source}; the linked worktree that was made for it stays: remove it with: {remove}")]
    Unfilled {
        /// The place of the worktree.
        path: PathBuf,
        /// The command that removes it.
        remove: String,
        /// Which step failed.
        source: RestoreError,
    },
}

/// Creates a linked worktree at `folder`, which must be new or empty, with HEAD detached at the commit that the snapshot
/// started from, and restores files and index there. Runs no hook or filter.
///
/// Completes a killed restore of the same snapshot, and recreates a worktree that a killed git left
/// half made.
///
/// A snapshot of an unborn branch has no commit to start from: its files go into the plain folder instead.
///
/// # Errors
/// See [`RestoreIntoError`].
pub fn restore_into_worktree(
    worktree: &Worktree,
    id: &str,
    folder: &Path,
) -> Result<RestoreResult, RestoreIntoError> {
    let info = worktree.snapshot_info(id)?;
    let Some(base) = info.base else {
        let mut restored =
            worktree.restore(&info.id, RestoreTarget::Directory(folder.to_owned()))?;
        restored.note.get_or_insert(
            "a plain folder, as the snapshot is from before the first commit".into(),
        );
        return Ok(restored);
    };
    let not_made = |why: String| RestoreIntoError::NotMade {
        path: folder.to_owned(),
        why,
    };
    let unfilled = |source| {
        let remove = WorktreeCommands::at(worktree.root())
            .git(&format!("worktree remove --force {}", shell_path(folder)));
        RestoreIntoError::Unfilled {
            path: folder.to_owned(),
            remove,
            source,
        }
    };
    let text = folder.to_str().ok_or_else(|| {
        not_made("its name is not UTF-8; name another, or restore with --to".into())
    })?;
    if half_made::left_at(worktree, folder, &info.id).map_err(not_made)?
        == RestoreFolderState::Nothing
    {
        let args = [
            "-c",
            "core.hooksPath=/dev/null",
            "worktree",
            "add",
            "--quiet",
            // In place of one whose folder was removed by hand; git leaves everything that is there.
            "--force",
            "--detach",
            "--no-checkout",
            "--",
            text,
            &base,
        ];
        let overrides = worktree
            .without_local_programs()
            .map_err(|error| not_made(error.to_string()))?;
        let made = new_git_run(worktree.root(), &args, &[], true, DEADLINE)
            .with_settings(&overrides)
            .run();
        let finished = made.map_err(|error| not_made(error.to_string()))?;
        if !finished.exit.success() {
            let why = describe_failure("git", &finished, DEADLINE);
            return Err(not_made(why));
        }
    }
    let made = Worktree::open(folder).map_err(|error: Error| unfilled(error.into()))?;
    let under_way = RestoreInProgress::begin(made.git_dir(), &info.id).map_err(not_made)?;
    let restored = made
        .restore(&info.id, RestoreTarget::Fresh)
        .map_err(unfilled)?;
    under_way.end();
    Ok(restored)
}
