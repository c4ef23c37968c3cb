//! Writes restored files so that no path leads out of the folder and no file is ever half written.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};
use gix::objs::tree::EntryKind;
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::disk::{FolderWalk, PathKind, split_path};
use crate::blob_reader::{PIECE, read_blob};
use crate::path_text::join_path;

/// Whether every component of a path from a tree may be a name in a work tree.
pub(super) fn is_safe(path: &[u8]) -> bool {
    let options = gix::validate::path::component::Options {
        protect_windows: false,
        protect_hfs: true,
        protect_ntfs: true,
    };
    path.split_str("/").all(|name| {
        !matches!(name, b"." | b"..")
            && gix::validate::path::component(name.as_bstr(), None, options).is_ok()
    })
}

/// How the name of a file begins that is written and not in its place yet.
pub(super) const ASIDE: &str = ".watchdog-restore-";

/// Writes a blob into an empty file. Long runs of zeros become holes: a sparse file that comes back takes no more of the disk than it did.
fn write_blob(repo: &gix::Repository, id: ObjectId, file: &File) -> io::Result<()> {
    static ZEROS: [u8; PIECE] = [0; PIECE];
    let mut end = 0;
    read_blob(&repo.objects, &id, &mut |piece| {
        if piece != ZEROS.as_slice() {
            file.write_all_at(piece, end)?;
        }
        end += piece.len() as u64;
        Ok(())
    })?;
    file.set_len(end)
}

/// Puts objects below a folder.
pub(super) struct DiskWriter<'repo> {
    repo: &'repo gix::Repository,
    below: FolderWalk,
    count: u64,
}

impl<'repo> DiskWriter<'repo> {
    pub(super) fn new(repo: &'repo gix::Repository, below: FolderWalk) -> Self {
        DiskWriter {
            repo,
            below,
            count: 0,
        }
    }

    /// Creates the folder and what leads to it.
    fn make_folder(&mut self, folder: &BStr) -> io::Result<()> {
        if self.below.folder(folder).is_ok() {
            return Ok(());
        }
        let (parent, name) = split_path(folder);
        if !parent.is_empty() {
            self.make_folder(parent)?;
        }
        let at = self.below.folder(parent)?;
        match rustix::fs::mkdirat(at, OsStr::from_bytes(name), Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        self.below.folder(folder)?;
        Ok(())
    }

    /// Puts an object at a path: beside it first, then over it in one step.
    pub(super) fn write_object(
        &mut self,
        path: &BStr,
        kind: EntryKind,
        id: ObjectId,
    ) -> io::Result<()> {
        let (folder, name) = split_path(path);
        if !folder.is_empty() {
            self.make_folder(folder)?;
        }
        if matches!(kind, EntryKind::Commit | EntryKind::Tree) {
            return self.make_folder(path);
        }
        self.clear_folders(path)?;
        self.count += 1;
        let beside = format!("{ASIDE}{}-{}", std::process::id(), self.count);
        let at = self.below.folder(folder)?;
        let written = match kind {
            EntryKind::Link => {
                self.repo
                    .find_blob(id)
                    .map_err(io::Error::other)
                    .and_then(|target| {
                        rustix::fs::symlinkat(OsStr::from_bytes(&target.data), at, beside.as_str())
                            .map_err(io::Error::from)
                    })
            }
            kind => {
                let mode = Mode::from_raw_mode(if kind == EntryKind::BlobExecutable {
                    0o777
                } else {
                    0o666
                });
                let flags = OFlags::WRONLY
                    | OFlags::CREATE
                    | OFlags::EXCL
                    | OFlags::NOFOLLOW
                    | OFlags::CLOEXEC;
                let file = rustix::fs::openat(at, beside.as_str(), flags, mode)
                    .map(File::from)
                    .map_err(io::Error::from);
                file.and_then(|file| write_blob(self.repo, id, &file))
            }
        };
        let done = written.and_then(|()| {
            Ok(rustix::fs::renameat(
                at,
                beside.as_str(),
                at,
                OsStr::from_bytes(name),
            )?)
        });
        if done.is_err() {
            rustix::fs::unlinkat(at, beside.as_str(), AtFlags::empty()).ok();
        }
        done
    }

    /// Makes everything that was put survive a power cut, by one flush of the file system.
    pub(super) fn make_durable(&mut self) -> io::Result<()> {
        if self.count == 0 {
            return Ok(());
        }
        self.below.forget();
        let root = self.below.folder(b"")?;
        let folder = rustix::fs::openat(
            root,
            ".",
            OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        match watchdog_system::flush_file_system(folder) {
            Some(flushed) => Ok(flushed?),
            None => {
                rustix::fs::sync();
                Ok(())
            }
        }
    }

    /// Removes a folder that holds nothing but folders.
    fn clear_folders(&mut self, path: &BStr) -> io::Result<()> {
        if !self
            .below
            .lstat(path)?
            .is_some_and(|stat| stat.kind == PathKind::Folder)
        {
            return Ok(());
        }
        for entry in self.below.list(path)? {
            if entry.kind == PathKind::Folder {
                self.clear_folders(join_path(path, &entry.name).as_bstr())?;
            }
        }
        let (parent, name) = split_path(path);
        self.below.forget();
        let at = self.below.folder(parent)?;
        Ok(rustix::fs::unlinkat(
            at,
            OsStr::from_bytes(name),
            AtFlags::REMOVEDIR,
        )?)
    }

    /// Removes a file, and the folders that it leaves empty.
    pub(super) fn remove(&mut self, path: &BStr) -> io::Result<()> {
        let (folder, name) = split_path(path);
        let at = match self.below.folder(folder) {
            Ok(at) => at,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
            Err(errno) => return Err(errno.into()),
        };
        match rustix::fs::unlinkat(at, OsStr::from_bytes(name), AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno.into()),
        }
        let mut folder: BString = folder.to_owned();
        self.below.forget();
        while !folder.is_empty() {
            let (parent, name) = split_path(&folder);
            let Ok(at) = self.below.folder(parent) else {
                break;
            };
            if rustix::fs::unlinkat(at, OsStr::from_bytes(name), AtFlags::REMOVEDIR).is_err() {
                break;
            }
            folder = parent.to_owned();
            self.below.forget();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for bad in [
            "../x",
            "a/../x",
            ".git/hooks/post-commit",
            "a/.GIT/config",
            "/etc/passwd",
            "a//b",
            "git~1/x",
            ".",
        ] {
            assert!(!is_safe(bad.as_bytes()), "{bad}");
        }
        for good in ["a", ".gitignore", "a/.env", "a b\nc", "a\\b"] {
            assert!(is_safe(good.as_bytes()), "{good}");
        }
    }
}
