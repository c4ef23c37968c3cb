//! A folder of our own that gix reads like a git directory whose refs are files: refs from git's output, and links to the rest. It exists
//! as long as the value; a later process removes the folder of a killed one.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use gix::ObjectId;
use rustix::fs::{FlockOperation, flock};

use crate::Error;

/// The files that gix reads beside refs. A dangling link looks like a missing file.
const LINKED: [&str; 12] = [
    "config",
    "config.worktree",
    "info",
    "modules",
    "objects",
    "shallow",
    "worktrees",
    "MERGE_HEAD",
    "BISECT_LOG",
    "rebase-apply",
    "rebase-merge",
    "sequencer",
];
/// A process locks it while it reads a mirror.
const LOCK: &str = "in-use";
/// Younger folders may be without their lock yet.
const LEFT_BEHIND: Duration = Duration::from_secs(3600);
/// The maximum number of other mirrors that one call checks.
const OTHERS: usize = 1000;

/// The value of a ref.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RefValue {
    Object(ObjectId),
    /// The name of another ref.
    Ref(String),
}

/// A mirror of one git directory.
pub(super) struct RefMirror {
    folder: PathBuf,
    _lock: File,
    /// The refs that are files of their own.
    loose: RefCell<BTreeMap<String, RefValue>>,
    /// How often packed refs were written.
    written: Cell<u64>,
}

impl RefMirror {
    /// Makes one in `scratch`, without any ref.
    pub(super) fn new(scratch: &Path, git_dir: &Path) -> Result<Self, Error> {
        let fail = |e: io::Error| {
            Error::read_error(format!("make a copy of refs in {}", scratch.display()), e)
        };
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(scratch)
            .map_err(fail)?;
        remove_left_behind(scratch);
        let (folder, lock) = create_marked_folder(scratch).map_err(fail)?;
        let mirror = RefMirror {
            folder,
            _lock: lock,
            loose: RefCell::default(),
            written: Cell::new(0),
        };
        for name in LINKED {
            symlink(git_dir.join(name), mirror.folder.join(name)).map_err(fail)?;
        }
        fs::create_dir(mirror.folder.join("refs")).map_err(fail)?;
        Ok(mirror)
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Shows these refs, and no others.
    pub(super) fn show(&self, refs: &BTreeMap<String, RefValue>) -> Result<(), Error> {
        let fail = |e: io::Error| {
            Error::read_error(
                format!("write a copy of refs in {}", self.folder.display()),
                e,
            )
        };
        let (loose, packed): (Vec<_>, Vec<_>) = refs
            .iter()
            .partition(|(name, held)| !name.contains('/') || matches!(held, RefValue::Ref(_)));
        let loose: BTreeMap<String, RefValue> = loose
            .into_iter()
            .map(|(name, held)| (name.clone(), held.clone()))
            .collect();
        let mut shown = self.loose.borrow_mut();
        if *shown != loose {
            for name in shown.keys().filter(|name| !name.contains('/')) {
                fs::remove_file(self.folder.join(name))
                    .or_else(unless_gone)
                    .map_err(fail)?;
            }
            shown.clear();
            fs::remove_dir_all(self.folder.join("refs"))
                .or_else(unless_gone)
                .map_err(fail)?;
            fs::create_dir(self.folder.join("refs")).map_err(fail)?;
            for (name, held) in &loose {
                let text = match held {
                    RefValue::Object(id) => format!("{id}\n"),
                    RefValue::Ref(name) => format!("ref: {name}\n"),
                };
                self.write(name, text.as_bytes()).map_err(fail)?;
            }
            *shown = loose;
        }
        self.pack(packed.into_iter()).map_err(fail)
    }

    /// Writes all refs that name objects into one file: names that a file system could not keep
    /// apart do not matter in it.
    fn pack<'a>(&self, refs: impl Iterator<Item = (&'a String, &'a RefValue)>) -> io::Result<()> {
        let mut text = String::from("# pack-refs with: sorted \n");
        for (name, held) in refs {
            if let RefValue::Object(id) = held {
                text.push_str(&format!("{id} {name}\n"));
            }
        }
        let aside = self.folder.join("packed-refs.new");
        fs::write(&aside, text)?;
        // gix reads the file again when its time is later, and two of ours may fall into one tick of the clock.
        self.written.set(self.written.get() + 1);
        File::options()
            .write(true)
            .open(&aside)?
            .set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(self.written.get()))?;
        fs::rename(&aside, self.folder.join("packed-refs"))
    }

    /// Writes a file of the mirror with the folders that lead to it; returns where it is.
    pub(super) fn write(&self, name: &str, content: &[u8]) -> io::Result<PathBuf> {
        let path = self.folder.join(name);
        fs::create_dir_all(path.parent().expect("below the mirror"))?;
        fs::write(&path, content)?;
        Ok(path)
    }

    /// Removes a folder of the mirror with all that is in it.
    pub(super) fn clear(&self, name: &str) -> io::Result<()> {
        fs::remove_dir_all(self.folder.join(name)).or_else(unless_gone)
    }
}

impl Drop for RefMirror {
    fn drop(&mut self) {
        // A later process removes the rest.
        fs::remove_dir_all(&self.folder).ok();
    }
}

fn unless_gone(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound {
        Ok(())
    } else {
        Err(error)
    }
}

/// A new folder that is marked as in use.
fn create_marked_folder(scratch: &Path) -> io::Result<(PathBuf, File)> {
    let mut number = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
        .as_nanos();
    loop {
        let folder = scratch.join(format!("{}-{number:x}", std::process::id()));
        match DirBuilder::new().mode(0o700).create(&folder) {
            Ok(()) => {
                let lock = File::create_new(folder.join(LOCK))?;
                flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
                return Ok((folder, lock));
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(error),
        }
    }
}

/// Removes what killed processes left.
fn remove_left_behind(scratch: &Path) {
    for entry in fs::read_dir(scratch)
        .into_iter()
        .flatten()
        .flatten()
        .take(OTHERS)
    {
        let folder = entry.path();
        let modified = entry.metadata().and_then(|metadata| metadata.modified());
        if !modified.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > LEFT_BEHIND)) {
            continue;
        }
        let in_use = match File::open(folder.join(LOCK)) {
            Ok(lock) => flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err(),
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        };
        if !in_use {
            // A leftover folder does no harm.
            fs::remove_dir_all(folder).ok();
        }
    }
}
