//! Linked worktrees that a killed restore left half made: detects them, and completes or recreates them.

use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use watchdog_facts::shell_line::{WorktreeCommands, shell_path, shell_word};
use watchdog_git::{FoundWorktree, Worktree, worktrees_of};
use watchdog_system::{read_entries, read_regular_begin};

/// Is in the git directory of a worktree while a snapshot is brought back there, and locked by the process that does it.
const MARK: &str = "watchdog-restore";
/// git's own text in its lock of a worktree that it is creating.
const MAKING: &str = "initializing";
/// git makes a worktree without files in a moment; a lock of this age is of one that was killed.
const KILLED: Duration = Duration::from_secs(10);

/// The state of a new worktree's folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RestoreFolderState {
    /// No worktree: git is to make one, and complains where something else is in the way.
    Nothing,
    /// A worktree that a restore of the same snapshot was killed in.
    Begun,
}

/// Checks the folder, and removes the remains of a git that was killed before the worktree existed. Removes no file of
/// the user.
///
/// # Errors
/// The obstacle, for a person.
pub(super) fn left_at(
    worktree: &Worktree,
    folder: &Path,
    id: &str,
) -> Result<RestoreFolderState, String> {
    let Some(half_made) = find_registered_worktree(worktree, folder) else {
        return Ok(RestoreFolderState::Nothing);
    };
    if let Some(of) = read_small_file(&half_made.git_dir.join(MARK)) {
        let end = || {
            let restore = format!(
                "rescue restore {} --worktree {}",
                shell_word(of.trim()),
                shell_path(folder)
            );
            WorktreeCommands::at(worktree.root()).watchdog(&restore)
        };
        return match of.trim() == id {
            true => Ok(RestoreFolderState::Begun),
            false => Err(format!(
                "a restore of {} was cut short there; name another folder, or end it with: {}",
                of.trim(),
                end()
            )),
        };
    }
    let lock = half_made.git_dir.join("locked");
    if read_small_file(&lock).is_none_or(|reason| reason.trim() != MAKING) {
        return Ok(RestoreFolderState::Nothing);
    }
    let age = lock
        .symlink_metadata()
        .and_then(|metadata| metadata.modified())
        .ok()
        .and_then(|at| at.elapsed().ok())
        .unwrap_or_default();
    if age < KILLED {
        return Err(format!(
            "git is making a worktree there, or was killed a moment ago; try again in {} s",
            KILLED.as_secs()
        ));
    }
    remove_half_made(worktree, &half_made, folder)?;
    Ok(RestoreFolderState::Nothing)
}

/// The worktree of this repository that is, or was to be, at `folder`.
fn find_registered_worktree(worktree: &Worktree, folder: &Path) -> Option<FoundWorktree> {
    let real = |path: &Path| -> Option<PathBuf> {
        fs::canonicalize(path).ok().or_else(|| {
            Some(
                fs::canonicalize(path.parent()?)
                    .ok()?
                    .join(path.file_name()?),
            )
        })
    };
    let folder = real(folder)?;
    let admin = worktree.common_dir().join("worktrees");
    worktrees_of(worktree.common_dir())
        .into_iter()
        .find(|listed| {
            listed.git_dir.parent() == Some(&admin) && real(&listed.root).as_ref() == Some(&folder)
        })
}

/// Removes what git wrote before it was killed: its own folder, and the `.git` file where nothing else is beside it.
fn remove_half_made(
    worktree: &Worktree,
    half_made: &FoundWorktree,
    folder: &Path,
) -> Result<(), String> {
    let failed = |path: &Path, error: std::io::Error| {
        format!(
            "failed to clear {}, which a killed git left: {error}",
            path.display()
        )
    };
    let entries = read_entries(folder, usize::MAX).map_err(|error| failed(folder, error))?;
    if entries.iter().any(|entry| entry.file_name() != ".git") {
        return Err("a git that was killed left it half made, and there are files in it: name another folder".into());
    }
    let dot_git = folder.join(".git");
    if dot_git
        .symlink_metadata()
        .is_ok_and(|metadata| metadata.is_file())
    {
        fs::remove_file(&dot_git).map_err(|error| failed(&dot_git, error))?;
    }
    debug_assert!(half_made.git_dir.starts_with(worktree.common_dir()));
    fs::remove_dir_all(&half_made.git_dir).map_err(|error| failed(&half_made.git_dir, error))
}

fn read_small_file(path: &Path) -> Option<String> {
    String::from_utf8(read_regular_begin(path, 4096).ok()?).ok()
}

/// Says that a snapshot is being brought back into a worktree, for as long as this process lives or until the end.
pub(super) struct RestoreInProgress {
    path: PathBuf,
    _locked: File,
}

impl RestoreInProgress {
    /// # Errors
    /// When another process does so, or the file system refuses.
    pub fn begin(git_dir: &Path, id: &str) -> Result<Self, String> {
        let path = git_dir.join(MARK);
        let failed = |error: std::io::Error| format!("failed to write {}: {error}", path.display());
        let mut file = File::options()
            .create(true)
            .write(true)
            .truncate(false)
            .open(&path)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err("another watchdog is bringing a snapshot back there".into());
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        file.set_len(0)
            .and_then(|()| file.write_all(id.as_bytes()))
            .map_err(failed)?;
        Ok(RestoreInProgress {
            path,
            _locked: file,
        })
    }

    /// Everything is there.
    pub fn end(self) {
        // At worst the same restore is tried once more, and finds all of it.
        fs::remove_file(&self.path).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::super::scratch_work::{ScratchWork, make_old};
    use super::*;

    /// A linked worktree whose git was killed long ago, and git's own folder of it.
    fn half_made(work: &ScratchWork) -> (PathBuf, PathBuf) {
        let folder = work.beside("linked");
        work.git(&[
            "worktree",
            "add",
            "-q",
            "--detach",
            "--no-checkout",
            folder.to_str().expect("UTF-8"),
        ]);
        let admin = work.root().join(".git/worktrees/linked");
        fs::write(admin.join("locked"), MAKING).unwrap();
        make_old(&admin.join("locked"));
        (folder, admin)
    }

    #[test]
    fn remains_without_personal_files_are_cleared() {
        let work = ScratchWork::new();
        let (folder, admin) = half_made(&work);
        assert_eq!(
            left_at(&work.open(), &folder, "auth/1-0"),
            Ok(RestoreFolderState::Nothing)
        );
        assert!(
            !admin.exists() && !folder.join(".git").exists(),
            "only git's own file was there"
        );

        let (folder, admin) = half_made(&work);
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(
            left_at(&work.open(), &folder, "auth/1-0"),
            Ok(RestoreFolderState::Nothing)
        );
        assert!(!admin.exists(), "the folder was not even made");

        let (folder, admin) = half_made(&work);
        fs::write(folder.join("mine"), "mine").unwrap();
        let why = left_at(&work.open(), &folder, "auth/1-0").unwrap_err();
        assert!(
            why.contains("there are files in it") && admin.exists() && folder.join("mine").exists(),
            "{why}"
        );

        fs::remove_dir_all(&folder).unwrap();
        fs::write(&folder, "mine").unwrap();
        let why = left_at(&work.open(), &folder, "auth/1-0").unwrap_err();
        assert!(
            why.contains("failed to clear") && admin.exists() && folder.is_file(),
            "{why}"
        );
    }
}
