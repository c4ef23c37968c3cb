//! Reads files below one folder without ever following a symlink or waiting on a pipe. Every path is walked component by component from an
//! open folder, so that a folder swapped for a symlink cannot lead a read or a write out of the work tree.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use gix::bstr::{BStr, BString, ByteSlice};
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::Worktree;
use crate::error::{Error, ReadContext as _};

/// The kind of a path on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathKind {
    File {
        executable: bool,
    },
    Link,
    Folder,
    /// A pipe, socket or device, which git cannot store.
    Special,
}

/// The fields of `lstat` that change when a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileStat {
    pub kind: PathKind,
    pub size: u64,
    pub mtime: (i64, i64),
    pub ctime: (i64, i64),
    pub inode: u64,
}

impl FileStat {
    fn new(raw: &rustix::fs::Stat) -> Self {
        let kind = match FileType::from_raw_mode(raw.st_mode) {
            FileType::RegularFile => PathKind::File {
                executable: raw.st_mode & 0o100 != 0,
            },
            FileType::Symlink => PathKind::Link,
            FileType::Directory => PathKind::Folder,
            _ => PathKind::Special,
        };
        #[expect(
            clippy::unnecessary_cast,
            reason = "the widths differ between platforms"
        )]
        FileStat {
            kind,
            size: raw.st_size as u64,
            mtime: (raw.st_mtime as i64, raw.st_mtime_nsec as i64),
            ctime: (raw.st_ctime as i64, raw.st_ctime_nsec as i64),
            inode: raw.st_ino as u64,
        }
    }
}

/// An entry of a folder.
#[derive(Debug)]
pub(super) struct DiskEntry {
    pub name: BString,
    pub kind: PathKind,
}

/// A folder and everything below it, with the folder of the last path kept open.
pub(crate) struct FolderWalk {
    root: OwnedFd,
    last: Option<(BString, OwnedFd)>,
}

impl Worktree {
    /// Opens its work tree to read files below it.
    pub(super) fn open_folder_walk(&self) -> Result<FolderWalk, Error> {
        let root = self.root();
        FolderWalk::open(root).with_context(|| format!("open {}", root.display()))
    }
}

/// Splits `a/b/c` into `a/b` and `c`.
pub(super) fn split_path(path: &[u8]) -> (&BStr, &BStr) {
    match path.rfind_byte(b'/') {
        Some(at) => (path[..at].as_bstr(), path[at + 1..].as_bstr()),
        None => (BStr::new(""), path.as_bstr()),
    }
}

/// Whether the path does not exist, as opposed to being unreadable.
fn is_absent(errno: Errno) -> bool {
    // ELOOP and ENOTDIR: a parent is a symlink or a file, so git has nothing at this path either.
    matches!(errno, Errno::NOENT | Errno::NOTDIR | Errno::LOOP)
}

/// A path of git as a path of the system.
pub(crate) fn as_path(path: &[u8]) -> &Path {
    Path::new(to_os_str(path))
}

fn to_os_str(name: &[u8]) -> &OsStr {
    OsStr::from_bytes(name)
}

impl FolderWalk {
    /// Opens `root`, following symlinks in its own name only.
    pub(crate) fn open(root: &Path) -> io::Result<Self> {
        let root = rustix::fs::open(
            root,
            OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        Ok(FolderWalk { root, last: None })
    }

    fn step(at: &OwnedFd, name: &[u8]) -> Result<OwnedFd, Errno> {
        let flags = watchdog_system::FOLDER_TO_ENTER
            | OFlags::DIRECTORY
            | OFlags::NOFOLLOW
            | OFlags::CLOEXEC;
        if matches!(name, b".." | b"." | b"") {
            return Err(Errno::INVAL);
        }
        rustix::fs::openat(at, to_os_str(name), flags, Mode::empty())
    }

    /// The opened folder `path`; empty for the root.
    pub(super) fn folder(&mut self, path: &[u8]) -> Result<&OwnedFd, Errno> {
        if path.is_empty() {
            return Ok(&self.root);
        }
        let is_last = self.last.as_ref().is_some_and(|(last, _)| last == path);
        if !is_last {
            let start = self.last.take().filter(|(last, _)| {
                path.len() > last.len() && path.starts_with(last) && path[last.len()] == b'/'
            });
            let (mut at, rest) = match start {
                Some((last, fd)) => (Some(fd), &path[last.len() + 1..]),
                None => (None, path),
            };
            for name in rest.split_str("/") {
                at = Some(Self::step(at.as_ref().unwrap_or(&self.root), name)?);
            }
            self.last = Some((
                path.into(),
                at.expect("a path that is not empty has a component"),
            ));
        }
        Ok(&self.last.as_ref().expect("just set").1)
    }

    /// Forgets the folder that was kept open, as it may be replaced.
    pub(super) fn forget(&mut self) {
        self.last = None;
    }

    /// The stat data of `path`; `None` where it does not exist.
    pub(super) fn lstat(&mut self, path: &[u8]) -> io::Result<Option<FileStat>> {
        let (parent, name) = split_path(path);
        let stat = self
            .folder(parent)
            .and_then(|dir| rustix::fs::statat(dir, to_os_str(name), AtFlags::SYMLINK_NOFOLLOW));
        match stat {
            Ok(raw) => Ok(Some(FileStat::new(&raw))),
            Err(errno) if is_absent(errno) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Opens the regular file at `path`, and returns its stat data of this moment.
    pub(super) fn open_file(&mut self, path: &[u8]) -> io::Result<(File, FileStat)> {
        let (parent, name) = split_path(path);
        let dir = self.folder(parent)?;
        // NONBLOCK: a pipe that took the place of the file must not hold us.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(dir, to_os_str(name), flags, Mode::empty())?;
        let stat = stat_of(&fd)?;
        match stat.kind {
            PathKind::File { .. } => Ok((File::from(fd), stat)),
            _ => Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "it is not a regular file",
            )),
        }
    }

    /// Reads the target of the symlink at `path`.
    pub(super) fn read_link(&mut self, path: &[u8]) -> io::Result<Vec<u8>> {
        let (parent, name) = split_path(path);
        let dir = self.folder(parent)?;
        Ok(rustix::fs::readlinkat(dir, to_os_str(name), Vec::new())?.into_bytes())
    }

    /// The entries of the folder `path`, sorted by name.
    pub(super) fn list(&mut self, path: &[u8]) -> io::Result<Vec<DiskEntry>> {
        let dir = self.folder(path)?;
        let fd = rustix::fs::openat(
            dir,
            ".",
            OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        let mut entries = Vec::new();
        for entry in rustix::fs::Dir::new(fd)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes().as_bstr();
            if name == "." || name == ".." {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Directory => PathKind::Folder,
                FileType::Symlink => PathKind::Link,
                FileType::RegularFile => PathKind::File { executable: false },
                FileType::Unknown => {
                    match rustix::fs::statat(dir, to_os_str(name), AtFlags::SYMLINK_NOFOLLOW) {
                        Ok(raw) => FileStat::new(&raw).kind,
                        Err(errno) if is_absent(errno) => continue,
                        Err(errno) => return Err(errno.into()),
                    }
                }
                _ => PathKind::Special,
            };
            entries.push(DiskEntry {
                name: name.to_owned(),
                kind,
            });
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }
}

/// The stat data of an open file.
pub(super) fn stat_of(fd: &impl AsFd) -> io::Result<FileStat> {
    Ok(FileStat::new(&rustix::fs::fstat(fd)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symlinked_parent_leads_nowhere() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("real")).unwrap();
        std::fs::write(dir.path().join("real/file"), b"x").unwrap();
        std::os::unix::fs::symlink("real", dir.path().join("link")).unwrap();
        let mut below = FolderWalk::open(dir.path()).unwrap();
        assert!(below.lstat(b"real/file").unwrap().is_some());
        assert_eq!(below.lstat(b"link/file").unwrap(), None);
        assert!(below.open_file(b"link/file").is_err());
        assert!(below.lstat(b"../x").is_err());
        assert_eq!(below.lstat(b"link").unwrap().unwrap().kind, PathKind::Link);
    }

    #[test]
    fn a_pipe_is_never_read() {
        let dir = tempfile::tempdir().unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            dir.path().join("pipe"),
            FileType::Fifo,
            Mode::RUSR | Mode::WUSR,
            0,
        )
        .unwrap();
        let mut below = FolderWalk::open(dir.path()).unwrap();
        assert_eq!(
            below.lstat(b"pipe").unwrap().unwrap().kind,
            PathKind::Special
        );
        assert!(below.open_file(b"pipe").is_err());
    }
}
