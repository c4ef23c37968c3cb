//! The folder of packs: temporary files in it, a finished pack's way to its place, and what a killed snapshot left there.
//!
//! A pack that no ref leads to yet would be removed by a `git repack -a -d` that begins just then. git's own answer in `fetch` and
//! `receive-pack` is a `.keep` file beside the pack until the ref is there. Ours is locked as long as its snapshot runs: the kernel frees
//! the lock of whatever dies, and the next snapshot that writes removes a `.keep` that nobody holds.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use gix::ObjectId;

use crate::file_state::is_absent;
use crate::shared_modes::SharedModes;

/// How the content of our `.keep` files begins.
const KEPT_BY: &str = "watchdog snapshot";
/// A part of the name of every temporary file of ours. git removes what begins with `tmp_`, when it is old enough.
const OURS: &str = "_watchdog_";

/// The folder of a repository's packs.
pub(super) struct PackFolder {
    path: PathBuf,
    shared: SharedModes,
}

impl PackFolder {
    pub(super) fn for_repository(repo: &gix::Repository) -> Self {
        PackFolder {
            path: repo.objects.store_ref().path().join("pack"),
            shared: SharedModes::for_repository(repo),
        }
    }

    /// How many packs there are.
    pub(super) fn packs(&self) -> usize {
        let is_index = |entry: &fs::DirEntry| {
            entry
                .path()
                .extension()
                .is_some_and(|ending| ending == "idx")
        };
        fs::read_dir(&self.path).map_or(0, |entries| entries.flatten().filter(is_index).count())
    }

    /// When a pack came or went last, in seconds and nanoseconds.
    pub(super) fn changed_at(&self) -> Option<(i64, i64)> {
        let about = fs::metadata(&self.path).ok()?;
        Some((about.mtime(), about.mtime_nsec()))
    }

    /// A new file for a part of a pack, removed unless it gets its place.
    pub(super) fn temporary(&self, part: &str) -> io::Result<TemporaryFile> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = self
                .path
                .join(format!("tmp_{part}{OURS}{}_{count}", std::process::id()));
            let file = match File::options()
                .read(true)
                .write(true)
                .create_new(true)
                .mode(0o444)
                .open(&path)
            {
                Ok(file) => file,
                // Left by a process of the same number that was killed.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            };
            let temporary = TemporaryFile { file, path };
            // Without file locks no process takes the file for a leftover.
            temporary.file.lock().ok();
            // Another snapshot may have removed it before it was locked.
            if temporary.file.metadata()?.nlink() > 0 {
                return Ok(temporary);
            }
        }
    }

    /// Puts a pack and its index, both durable, to their place. The pack is kept from git's repacking until the result is dropped.
    pub(super) fn publish(
        &self,
        pack: TemporaryFile,
        index: TemporaryFile,
        checksum: ObjectId,
    ) -> io::Result<PublishedPack> {
        let named = |part: &str| self.path.join(format!("pack-{checksum}.{part}"));
        let mut published = PublishedPack {
            pack: named("pack"),
            index: named("idx"),
            keep: None,
        };
        if !published.is_there() {
            published.keep = self.keep(&named("keep"))?;
            for file in [&pack.file, &index.file] {
                self.shared.adjust_file(file)?;
            }
            // An index makes its pack count, so it comes last.
            fs::rename(&pack.path, &published.pack)?;
            if let Err(error) = fs::rename(&index.path, &published.index) {
                // The next snapshot removes a pack without an index by the `.keep` that stays with it.
                if let Some(keep) = &mut published.keep {
                    keep.path = None;
                }
                return Err(error);
            }
        }
        File::open(&self.path)?.sync_all()?;
        Ok(published)
    }

    /// Makes the `.keep` of a pack; `None` where another has made one.
    fn keep(&self, path: &Path) -> io::Result<Option<KeepFile>> {
        let mut aside = self.temporary("keep")?;
        aside
            .file
            .write_all(format!("{KEPT_BY} {}\n", std::process::id()).as_bytes())?;
        self.shared.adjust_file(&aside.file)?;
        match fs::hard_link(&aside.path, path) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(None),
            // The file system cannot link files.
            Err(_) => fs::rename(&aside.path, path)?,
        }
        Ok(Some(KeepFile {
            path: Some(path.to_owned()),
            _lock: aside.file.try_clone()?,
        }))
    }

    /// Removes what snapshots left behind that were killed. Unreadable files stay.
    pub(super) fn remove_leftovers(&self) {
        let Ok(entries) = fs::read_dir(&self.path) else {
            return;
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            let path = entry.path();
            if name.starts_with("tmp_") && name.contains(OURS) {
                if lock_abandoned(&path, None).is_some() {
                    fs::remove_file(&path).ok();
                }
            } else if name.starts_with("pack-")
                && name.ends_with(".keep")
                && let Some(_lock) = lock_abandoned(&path, Some(KEPT_BY))
            {
                let pack = path.with_extension("pack");
                // With its index it is whole, and may be all that a snapshot is in.
                if pack.exists() && is_absent(&path.with_extension("idx")) {
                    fs::remove_file(&pack).ok();
                }
                fs::remove_file(&path).ok();
            }
        }
    }
}

/// Locks a file that begins with these words and that nobody holds.
fn lock_abandoned(path: &Path, words: Option<&str>) -> Option<File> {
    let mut file = File::options().read(true).open(path).ok()?;
    if let Some(words) = words {
        let mut begin = vec![0; words.len()];
        file.read_exact(&mut begin).ok()?;
        if begin != words.as_bytes() {
            return None;
        }
    }
    file.try_lock().is_ok().then_some(file)
}

/// A file of the folder of packs that is removed unless it gets its place.
pub(super) struct TemporaryFile {
    pub file: File,
    path: PathBuf,
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // Under its own name it is not there any more.
        fs::remove_file(&self.path).ok();
    }
}

/// A `.keep` file of ours.
struct KeepFile {
    /// Absent if it stays.
    path: Option<PathBuf>,
    /// Freed when it is closed, after the file is gone.
    _lock: File,
}

impl Drop for KeepFile {
    fn drop(&mut self) {
        // At worst the next snapshot removes it.
        self.path.as_ref().map(fs::remove_file);
    }
}

/// A pack in its place. Drop it when a ref leads to what is in it.
pub(super) struct PublishedPack {
    pack: PathBuf,
    index: PathBuf,
    keep: Option<KeepFile>,
}

impl PublishedPack {
    /// Whether the pack can be read: an open index outlives its file.
    pub(super) fn is_there(&self) -> bool {
        self.pack.exists() && self.index.exists()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left of a pack that a killed snapshot kept, once the leftovers are removed.
    fn left_of(index: impl FnOnce(&Path)) -> Vec<String> {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join(name);
        fs::write(at("pack-1.pack"), "objects").unwrap();
        fs::write(at("pack-1.keep"), KEPT_BY).unwrap();
        index(&at("pack-1.idx"));
        PackFolder {
            path: scratch.path().to_owned(),
            shared: SharedModes::default(),
        }
        .remove_leftovers();
        let mut names: Vec<_> = fs::read_dir(scratch.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn abandoned_pack_is_removed_only_without_an_index() {
        assert_eq!(left_of(|_| {}), Vec::<String>::new());
        assert_eq!(
            left_of(|index| fs::write(index, "").unwrap()),
            ["pack-1.idx", "pack-1.pack"]
        );
        // It leads to itself, so that nobody can say whether it is there.
        let looped = |index: &Path| std::os::unix::fs::symlink(index, index).unwrap();
        assert_eq!(left_of(looped), ["pack-1.idx", "pack-1.pack"]);
    }
}
