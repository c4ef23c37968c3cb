//! Lists a folder through its open descriptor into one buffer that is reused for every folder: a heap string for each of a hundred
//! thousand names would cost as much as comparing the files.

use std::ops::Range;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, FileType};
use watchdog_system::{ListingBuffer, list_folder};

/// Names and kinds of what is in a folder.
#[derive(Default)]
pub(super) struct DirectoryEntries {
    names: Vec<u8>,
    entries: Vec<(Range<usize>, FileType)>,
    /// The buffer that the kernel fills.
    raw: ListingBuffer,
}

impl DirectoryEntries {
    /// Reads a folder, `.` and `..` left out, in place of what was read before.
    pub(crate) fn read_folder(&mut self, folder: &OwnedFd) -> rustix::io::Result<()> {
        self.clear();
        let mut raw = std::mem::take(&mut self.raw);
        list_folder(folder, &mut raw, |name, kind| self.add(folder, name, kind))?;
        self.raw = raw;
        Ok(())
    }

    /// The names, in the order of the file system.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], FileType)> {
        self.entries
            .iter()
            .map(|(at, kind)| (&self.names[at.clone()], *kind))
    }

    fn clear(&mut self) {
        self.names.clear();
        self.entries.clear();
    }

    fn add(&mut self, folder: &OwnedFd, name: &[u8], mut kind: FileType) {
        if name == b"." || name == b".." {
            return;
        }
        // Some file systems report no kind.
        if kind == FileType::Unknown {
            match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => kind = FileType::from_raw_mode(stat.st_mode),
                Err(_) => return,
            }
        }
        let from = self.names.len();
        self.names.extend_from_slice(name);
        self.entries.push((from..self.names.len(), kind));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_is_listed_whole_regardless_of_its_size() {
        let folder = tempfile::tempdir().unwrap();
        let names: Vec<String> = (0..3000)
            .map(|n| format!("{n:04}-{}", "n".repeat(60)))
            .collect();
        for name in &names {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        std::fs::create_dir(folder.path().join("folder")).unwrap();
        std::os::unix::fs::symlink("nowhere", folder.path().join("folder/link")).unwrap();
        let mut listing = DirectoryEntries::default();
        let mut read = |path: &std::path::Path| {
            listing
                .read_folder(&OwnedFd::from(std::fs::File::open(path).unwrap()))
                .unwrap();
            let mut entries: Vec<_> = listing
                .iter()
                .map(|(name, kind)| (String::from_utf8(name.to_vec()).unwrap(), kind))
                .collect();
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            entries
        };
        let mut expected: Vec<_> = names
            .into_iter()
            .map(|name| (name, FileType::RegularFile))
            .collect();
        expected.push(("folder".into(), FileType::Directory));
        assert_eq!(read(folder.path()), expected);
        assert_eq!(
            read(&folder.path().join("folder")),
            [("link".into(), FileType::Symlink)]
        );
    }
}
