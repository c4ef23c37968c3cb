//! Reads files of one folder of a project: so much of each, and of regular files alone. Notes what cannot be used.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde_json::Value;
use watchdog_system::open_regular_file;

/// So much of a file is looked at, in bytes.
const MOST: u64 = 1 << 20;
/// A package.json or plan beyond this size, in bytes, is not read.
const MOST_JSON: u64 = 8 << 20;

/// A folder of a worktree whose files are read.
pub struct FolderReader<'a> {
    root: &'a Path,
    folder: &'a str,
    unusable: &'a mut Vec<String>,
}

impl<'a> FolderReader<'a> {
    /// Reads in `folder`, a path from the root of the worktree. What cannot be used is named in `unusable`.
    pub fn new(root: &'a Path, folder: &'a str, unusable: &'a mut Vec<String>) -> Self {
        FolderReader {
            root,
            folder,
            unusable,
        }
    }

    /// The path of a file in this folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(self.folder).join(name)
    }

    /// Whether there is a file of this name.
    pub fn has(&self, name: &str) -> bool {
        self.path(name).is_file()
    }

    /// Notes that a file of this folder is not used.
    pub fn leave_out(&mut self, name: &str, why: &str) {
        let shown = self.shown(name);
        self.unusable.push(format!("{shown} is not used, as {why}"));
    }

    fn shown(&self, name: &str) -> String {
        if self.folder.is_empty() {
            name.to_owned()
        } else {
            format!("{}/{name}", self.folder)
        }
    }

    /// The beginning of a file; `None` where there is none. A pipe or device in its place is none.
    fn bytes(&mut self, name: &str, most: u64) -> Option<Vec<u8>> {
        let path = self.path(name);
        let mut bytes = Vec::new();
        match open_regular_file(&path).and_then(|file| file.take(most).read_to_end(&mut bytes)) {
            Ok(_) => Some(bytes),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::InvalidInput
                ) =>
            {
                None
            }
            Err(error) => {
                let shown = self.shown(name);
                self.unusable
                    .push(format!("failed to read {shown}: {error}"));
                None
            }
        }
    }

    /// The beginning of a file as text.
    pub fn text(&mut self, name: &str) -> Option<String> {
        self.bytes(name, MOST)
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The text of the first of these files that is there; empty where none is.
    pub fn first_text(&mut self, names: &[&str]) -> String {
        names
            .iter()
            .find_map(|name| self.text(name))
            .unwrap_or_default()
    }

    /// A file of JSON.
    pub fn json(&mut self, name: &str) -> Option<Value> {
        let bytes = self.bytes(name, MOST_JSON)?;
        match serde_json::from_slice(bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&bytes)) {
            Ok(value) => Some(value),
            Err(error) => {
                self.leave_out(name, &format!("it is no valid JSON: {error}"));
                None
            }
        }
    }
}
