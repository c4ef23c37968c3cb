//! What is in a folder, found by a walk of our own: git has no part in it, as git is what is being tested.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use sha2::{Digest, Sha256};

/// One file or symlink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// `f` a file, `x` an executable one, `l` a symlink.
    pub kind: char,
    /// Of the content, or of the link's target.
    pub sha256: [u8; 32],
    /// In bytes.
    pub size: u64,
    /// Of the content with git's line endings, where git's own settings convert them ([`CONVERTED_ENDING`]). Such a file
    /// is unchanged to git whatever its line endings are, and they come back as git writes them.
    pub converted: Option<[u8; 32]>,
}

/// Everything by path.
pub type Manifest = BTreeMap<Vec<u8>, Entry>;

/// Files with this ending, and everything in [`IGNORED_FOLDER`], are ignored by each random tree's `.gitignore`.
pub const IGNORED_ENDING: &str = ".ign";
/// See [`IGNORED_ENDING`].
pub const IGNORED_FOLDER: &str = "ignored-folder";
/// The beginning of names that something writes to all the time, so that no content of them is the right one.
pub const RESTLESS: &str = "restless-";

/// Files with this ending have `eol=crlf` in each random tree's `.gitattributes`.
pub const CONVERTED_ENDING: &[u8] = b".crlf";

/// An entry of content at a path.
pub fn entry(path: &[u8], kind: char, bytes: &[u8]) -> Entry {
    let converted = (path.ends_with(CONVERTED_ENDING) && kind != 'l').then(|| {
        let text: Vec<u8> = bytes.iter().copied().filter(|b| *b != b'\r').collect();
        Sha256::digest(text).into()
    });
    Entry {
        kind,
        sha256: Sha256::digest(bytes).into(),
        size: bytes.len() as u64,
        converted,
    }
}

impl Entry {
    /// Whether the other has the same content, if need be with git's own line endings.
    pub fn comes_back_as(&self, other: &Entry) -> bool {
        self == other
            || (self.kind == other.kind
                && self.converted.is_some()
                && self.converted == other.converted)
    }
}

/// Walks a folder, leaving out `.git`, what is ignored, and pipes, which have no content.
pub fn manifest(root: &Path) -> Manifest {
    let mut found = Manifest::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        // Something may be removed by a session that still runs; what it removes is not what is to be proved.
        for dir_entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = dir_entry.file_name();
            let text = name.to_string_lossy();
            if name == OsStr::new(".git")
                || text == IGNORED_FOLDER
                || text.ends_with(IGNORED_ENDING)
                || text.starts_with(RESTLESS)
            {
                continue;
            }
            let path = dir_entry.path();
            let meta = std::fs::symlink_metadata(&path).unwrap();
            let key = path
                .strip_prefix(root)
                .unwrap()
                .as_os_str()
                .as_bytes()
                .to_vec();
            if meta.is_dir() {
                folders.push(path);
            } else if meta.is_symlink() {
                let target = entry(
                    &key,
                    'l',
                    std::fs::read_link(&path).unwrap().as_os_str().as_bytes(),
                );
                found.insert(key, target);
            } else if meta.is_file() {
                let kind = if meta.mode() & 0o100 != 0 { 'x' } else { 'f' };
                let content = entry(&key, kind, &std::fs::read(&path).unwrap());
                found.insert(key, content);
            }
        }
    }
    found
}

/// What of `wanted` is not in `found`, byte for byte, with its kind.
pub fn missing(wanted: &Manifest, found: &Manifest) -> Manifest {
    wanted
        .iter()
        .filter(|(path, entry)| found.get(*path) != Some(*entry))
        .map(|(path, entry)| (path.clone(), *entry))
        .collect()
}
