//! Copies of what git ignores and a suite needs, which the reruns of one judgement use one after the other.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

use jiff::Timestamp;

use super::scratch_checkout::{ScratchCheckout, usable_space};
use watchdog_process::CancelFlag;

/// Ignored folders and files that a suite needs, and that no tree has.
const DEPENDENCIES: [&str; 6] = ["node_modules", ".venv", "venv", "vendor", "target", ".env"];

/// How many bytes are copied at most.
const MOST_BYTES: u64 = 2 << 30;

/// How many files are copied at most.
const MOST_FILES: u64 = 100_000;

/// How many folders are looked into for such a file, at one place.
const MOST_PACKAGES: usize = 200;

/// The files and bytes that may still be copied; a larger folder is left out.
pub(in crate::judge) struct CopyRoom<'a> {
    pub(in crate::judge) files: u64,
    pub(in crate::judge) bytes: u64,
    /// Ends the copy.
    pub(in crate::judge) cancel: &'a CancelFlag,
}

/// The trees that reruns mix.
pub(super) struct SessionTrees {
    /// HEAD with the session's work.
    pub(super) judged: String,
    /// That of where the spec's work began.
    pub(super) begin: String,
    /// The paths at which both differ.
    pub(super) differing: BTreeSet<String>,
    /// Those of them that the session changed.
    pub(super) changed: Vec<String>,
}

/// The trees and dependencies of the reruns of one judgement.
#[derive(Default)]
pub struct RerunSupplies {
    pub(super) trees: OnceLock<Result<SessionTrees, String>>,
    /// When no further rerun begins.
    pub(super) deadline: OnceLock<Instant>,
    /// Dependencies that are not copied.
    left_out: Vec<PathBuf>,
    /// The copied dependencies, where no rerun uses them.
    dependencies: Mutex<Option<ScratchCheckout>>,
}

impl RerunSupplies {
    /// Those of a run that lacks some dependencies.
    pub(super) fn without(left_out: Vec<PathBuf>) -> Self {
        RerunSupplies {
            left_out,
            ..RerunSupplies::default()
        }
    }
}

/// Dependencies of the worktree that stand in a scratch checkout while a rerun runs.
pub(super) struct CopiedDependencies<'a> {
    supplies: &'a RerunSupplies,
    copies: Option<ScratchCheckout>,
    checkout: PathBuf,
    moved: Vec<PathBuf>,
}

impl<'a> CopiedDependencies<'a> {
    /// Moves the copies into a checkout; the first rerun makes them. What cannot be copied is missing there, as its control shows. The error
    /// is for a person: there is no space for them.
    pub(super) fn move_into(
        supplies: &'a RerunSupplies,
        (root, cwd): (&Path, Option<&str>),
        checkout: &ScratchCheckout,
        (parent, cancel): (&Path, &CancelFlag),
    ) -> Result<Self, String> {
        let mut copies = (supplies.dependencies.lock())
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if copies.is_none() {
            copies = ScratchCheckout::empty(parent).ok();
            if let Some(copies) = &copies {
                let paths = dependency_paths(root, cwd).into_iter();
                let paths = paths.filter(|path| !supplies.left_out.contains(path));
                copy_dependencies(root, paths, copies.folder(), cancel)?;
            }
        }
        let mut shared_copies = CopiedDependencies {
            supplies,
            copies,
            checkout: checkout.folder().to_owned(),
            moved: Vec::new(),
        };
        shared_copies.move_in(root, cwd);
        Ok(shared_copies)
    }

    fn move_in(&mut self, root: &Path, cwd: Option<&str>) {
        let Some(copies) = &self.copies else {
            return;
        };
        for path in dependency_paths(root, cwd) {
            let (copy, target) = (copies.folder().join(&path), self.checkout.join(&path));
            if target.symlink_metadata().is_err() && fs::rename(copy, target).is_ok() {
                self.moved.push(path);
            }
        }
    }
}

impl Drop for CopiedDependencies<'_> {
    fn drop(&mut self) {
        let Some(copies) = self.copies.take() else {
            return;
        };
        for path in &self.moved {
            // One that the rerun took away is missing in the next, and its control shows that.
            let _ = fs::rename(self.checkout.join(path), copies.folder().join(path));
        }
        *(self.supplies.dependencies.lock()).unwrap_or_else(PoisonError::into_inner) = Some(copies);
    }
}

/// A folder as git names it: without `.` and doubled slashes; the root is empty.
pub(super) fn plain_folder(cwd: Option<&str>) -> PathBuf {
    let parts = Path::new(cwd.unwrap_or_default()).components();
    parts.filter(|part| *part != Component::CurDir).collect()
}

/// Where dependencies may stand: at the root, and in the folder in which the check runs. A build of Python writes the version beside the code.
fn dependency_paths(root: &Path, cwd: Option<&str>) -> Vec<PathBuf> {
    let mut folders = vec![PathBuf::new(), plain_folder(cwd)];
    folders.dedup();
    let mut paths: Vec<PathBuf> = folders
        .iter()
        .flat_map(|folder| DEPENDENCIES.map(|name| folder.join(name)))
        .collect();
    for folder in folders
        .iter()
        .flat_map(|folder| [folder.clone(), folder.join("src")])
    {
        let entries = fs::read_dir(root.join(&folder))
            .into_iter()
            .flatten()
            .flatten();
        let names = entries.map(|entry| folder.join(entry.file_name()));
        for path in names.take(MOST_PACKAGES) {
            let is_about = path.extension().is_some_and(|end| end == "egg-info");
            paths.push(if is_about {
                path
            } else {
                path.join("_version.py")
            });
        }
    }
    paths.retain(|path| root.join(path).symlink_metadata().is_ok());
    paths
}

/// The dependencies of which something changed after a moment, or cannot be looked at. No program sets the time of a status change.
pub(super) fn list_changed(root: &Path, cwd: Option<&str>, since: Timestamp) -> Vec<PathBuf> {
    fn is_older(path: &Path, since: Timestamp, files: &mut u64) -> Option<()> {
        *files = files.checked_sub(1)?;
        let stat = path.symlink_metadata().ok()?;
        let changed = Timestamp::new(stat.ctime(), stat.ctime_nsec().try_into().ok()?).ok()?;
        if changed > since {
            return None;
        }
        if stat.is_dir() {
            for entry in fs::read_dir(path).ok()? {
                is_older(&entry.ok()?.path(), since, files)?;
            }
        }
        Some(())
    }
    let mut files = MOST_FILES;
    let mut paths = dependency_paths(root, cwd);
    paths.retain(|path| is_older(&root.join(path), since, &mut files).is_none());
    paths
}

fn copy_dependencies(
    root: &Path,
    paths: impl Iterator<Item = PathBuf>,
    copies: &Path,
    cancel: &CancelFlag,
) -> Result<(), String> {
    let space = usable_space(copies);
    let mut room = CopyRoom {
        files: MOST_FILES,
        bytes: space.min(MOST_BYTES),
        cancel,
    };
    for path in paths {
        let (copy, unused) = (copies.join(&path), room.bytes);
        if let Some(parent) = copy.parent() {
            let _ = fs::create_dir_all(parent);
        }
        if copy_tree(&root.join(&path), &copy, &mut room).is_none() {
            let _ = fs::remove_dir_all(&copy);
            let _ = fs::remove_file(&copy);
            if room.bytes == 0 && space < MOST_BYTES {
                return Err(format!(
                    "{} takes more than half of the free space in {}",
                    path.display(),
                    copies.display()
                ));
            }
            room.bytes = unused;
        }
    }
    Ok(())
}

/// Copies a file, link or folder with its times, which builds compare; `None` where there is none, or no room for all of it.
pub(in crate::judge) fn copy_tree(from: &Path, to: &Path, room: &mut CopyRoom<'_>) -> Option<()> {
    let stat = from.symlink_metadata().ok()?;
    room.files = (room.files.checked_sub(1)).filter(|_| !room.cancel.is_cancelled())?;
    if stat.is_symlink() {
        return std::os::unix::fs::symlink(fs::read_link(from).ok()?, to).ok();
    }
    if stat.is_dir() {
        fs::create_dir(to).ok()?;
        for entry in fs::read_dir(from).ok()? {
            let name = entry.ok()?.file_name();
            copy_tree(&from.join(&name), &to.join(&name), room)?;
        }
        return Some(());
    }
    if !stat.is_file() {
        return Some(());
    }
    let unused = room.bytes.checked_sub(stat.len());
    room.bytes = unused.unwrap_or_default();
    unused?;
    // The kernel shares the blocks where the file system can.
    fs::copy(from, to).ok()?;
    let times = fs::FileTimes::new().set_modified(stat.modified().ok()?);
    // A descriptor to read from will do, and a build that finds another time builds anew.
    let _ = fs::File::open(to).and_then(|copy| copy.set_times(times));
    Some(())
}
