//! Finds the last change below a work tree or in its git directory, by the files' own times. Reads names and times only.

use std::fs::{self, Metadata};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use watchdog_system::read_entries;

/// Files of a git directory that no session changes by working are in folders; these folders it does change.
const FOLDERS_OF_GIT: [&str; 4] = ["rebase-merge", "rebase-apply", "sequencer", "logs"];

/// The last change, and a mark that differs wherever anything was added, removed or changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastChange {
    /// The newest time of a change.
    pub at: SystemTime,
    /// A hash of all names and times.
    pub mark: u64,
}

/// Looks at all files below `root` but git's own and what lies below `except`, and at those that
/// git changes when somebody works there. Returns `None` if either folder cannot be read; one below
/// them counts by its own times then. No symbolic link is followed.
pub fn last_change(root: &Path, git_dir: &Path, except: &[PathBuf]) -> Option<LastChange> {
    let mut newest = Duration::ZERO;
    let mut hasher = DefaultHasher::new();
    let mut take = |path: &Path, about: &Metadata| {
        let nanos = u32::try_from(about.ctime_nsec()).unwrap_or_default();
        let changed = Duration::new(u64::try_from(about.ctime()).unwrap_or_default(), nanos);
        newest = newest.max(changed);
        (path, changed, about.size()).hash(&mut hasher);
    };
    take(root, &fs::symlink_metadata(root).ok()?);
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        let entries = match read_sorted_entries(&folder) {
            Err(_) if folder != root => continue,
            entries => entries.ok()?,
        };
        for entry in entries {
            if entry.file_name().is_some_and(|name| name == ".git") || except.contains(&entry) {
                continue;
            }
            let Ok(about) = fs::symlink_metadata(&entry) else {
                continue;
            };
            take(&entry, &about);
            if about.is_dir() {
                open.push(entry);
            }
        }
    }
    for entry in read_sorted_entries(git_dir).ok()? {
        let Ok(about) = fs::symlink_metadata(&entry) else {
            continue;
        };
        let name = entry.file_name().unwrap_or_default();
        if about.is_file() {
            take(&entry, &about);
        } else if FOLDERS_OF_GIT.iter().any(|git_folder| name == *git_folder) {
            for file in read_sorted_entries(&entry).unwrap_or_default() {
                // Of logs that of HEAD alone: those of branches are in a folder, which other worktrees write too.
                if let Ok(about) = fs::symlink_metadata(&file)
                    && about.is_file()
                {
                    take(&file, &about);
                }
            }
        }
    }
    Some(LastChange {
        at: SystemTime::UNIX_EPOCH + newest,
        mark: hasher.finish(),
    })
}

/// The entries of a folder in one order, so that a mark is the same where nothing changed.
fn read_sorted_entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut entries: Vec<PathBuf> = read_entries(folder, usize::MAX)?
        .iter()
        .map(fs::DirEntry::path)
        .collect();
    entries.sort_unstable();
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_except_excluded_paths_is_noticed() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let root = scratch.path().join("tree");
        let git = root.join(".git");
        let state = root.join("state");
        for folder in [
            "deep/er",
            ".git/objects/aa",
            ".git/refs/watchdog",
            ".git/logs/refs",
            "state",
        ] {
            fs::create_dir_all(root.join(folder)).expect("a folder can be made");
        }
        let except = [state];
        let look = || last_change(&root, &git, &except).expect("it can be read");
        let write = |name: &str| fs::write(root.join(name), name).expect("a file can be written");
        let mut last = look();
        for quiet in [
            ".git/objects/aa/b",
            ".git/refs/watchdog/x",
            ".git/logs/refs/x",
            "state/db",
        ] {
            write(quiet);
            assert_eq!(look(), last, "{quiet}");
        }
        for change in [
            "a",
            "deep/er/b",
            ".git/index",
            ".git/HEAD",
            ".git/logs/HEAD",
        ] {
            write(change);
            let now = look();
            assert!(now.mark != last.mark && now.at >= last.at, "{change}");
            last = now;
        }
        fs::remove_file(root.join("deep/er/b")).expect("a file can be removed");
        assert_ne!(look().mark, last.mark, "a removal shows in its folder");
        assert_eq!(last_change(&root.join("no such folder"), &git, &[]), None);
        assert_eq!(
            last_change(&root, &root.join("a"), &[]),
            None,
            "git's changes are unknown"
        );
    }
}
