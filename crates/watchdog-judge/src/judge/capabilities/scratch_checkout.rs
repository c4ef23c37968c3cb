//! A scratch checkout: a folder of the state directory with the files of one tree and no repository. Its owner removes it; the next watchdog
//! removes those of a killed one.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{Pid, test_kill_process};
use watchdog_git::Worktree;

/// One scratch checkout.
pub(in crate::judge) struct ScratchCheckout {
    folder: PathBuf,
}

impl ScratchCheckout {
    /// Writes a tree below `parent`. The error is for a person.
    pub(in crate::judge) fn of(
        worktree: &Worktree,
        tree: &str,
        parent: &Path,
    ) -> Result<Self, String> {
        let scratch = Self::empty(parent)?;
        worktree
            .write_tree(tree, &scratch.folder, usable_space(&scratch.folder))
            .map_err(|error| format!("no scratch checkout can be made: {error}"))?;
        Ok(scratch)
    }

    /// An empty folder below `parent`. The error is for a person.
    pub(super) fn empty(parent: &Path) -> Result<Self, String> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let refused = |error: std::io::Error| {
            format!(
                "no scratch checkout can be made in {}: {error}",
                parent.display()
            )
        };
        let private = |folder: &Path| {
            fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(folder)
        };
        private(parent).map_err(refused)?;
        remove_left_behind(parent);
        let name = format!(
            "{}-{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        let scratch = ScratchCheckout {
            folder: parent.join(name),
        };
        // One of an earlier process with this id.
        let _ = fs::remove_dir_all(&scratch.folder);
        private(&scratch.folder).map_err(refused)?;
        Ok(scratch)
    }

    /// Where its files are.
    pub(in crate::judge) fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for ScratchCheckout {
    fn drop(&mut self) {
        // The next scratch checkout removes the rest.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The bytes that may be written to a folder: half of what is free there; a system that does not tell it ends the writing itself.
pub(super) fn usable_space(folder: &Path) -> u64 {
    rustix::fs::statvfs(folder).map_or(u64::MAX, |space| space.f_bavail * space.f_frsize / 2)
}

/// Removes the checkouts of processes that do not run any more.
fn remove_left_behind(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name
            .to_str()
            .and_then(|name| name.split_once('-')?.0.parse().ok())
            .and_then(Pid::from_raw);
        if owner.is_some_and(|owner| test_kill_process(owner) == Err(rustix::io::Errno::SRCH)) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "a process that has ended is all that is needed"
    )]
    fn what_a_dead_process_left_is_removed_and_nothing_else() {
        let parent = std::env::temp_dir().join(format!("watchdog-scratch-{}", std::process::id()));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let dead = format!("{}-0", child.id());
        child.wait().unwrap();
        let ours = format!("{}-7", std::process::id());
        for name in [dead.as_str(), ours.as_str(), "notes"] {
            fs::create_dir_all(parent.join(name).join("deep")).unwrap();
        }
        remove_left_behind(&parent);
        let mut names: Vec<String> = fs::read_dir(&parent)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, [ours, "notes".to_owned()]);
        fs::remove_dir_all(&parent).unwrap();
    }
}
