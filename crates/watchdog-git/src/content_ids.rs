//! Hashes the content of uncommitted files, to find out later whether a file is as it was.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::error::Error;
use super::open::Worktree;
use super::path_text::unescape_path;
use watchdog_facts::display::to_hex;
use watchdog_facts::evidence::Changes;
use watchdog_facts::ignored_files::IgnoredFiles;
use watchdog_facts::session_work::ContentIds;
use watchdog_system::{is_missing, open_regular_file};

impl Worktree {
    /// Everything uncommitted, with what it holds. Reads only files that are uncommitted.
    ///
    /// # Errors
    /// As [`Worktree::changes`].
    pub fn uncommitted_contents(&self) -> Result<(Changes, ContentIds), Error> {
        let (changes, paths) = self.changes_with_paths()?;
        Ok((changes, self.content_ids(paths)))
    }

    /// The same when a session begins, with the ignored files that no tool made.
    ///
    /// # Errors
    /// As [`Worktree::changes`].
    pub fn contents_at_begin(&self) -> Result<(ContentIds, IgnoredFiles), Error> {
        let (paths, ignored) = self.changed_and_hand_made()?;
        Ok((self.content_ids(paths), ignored))
    }

    /// The same without contents.
    ///
    /// # Errors
    /// As [`Worktree::changes`].
    pub fn changed_and_hand_made(&self) -> Result<(Vec<String>, IgnoredFiles), Error> {
        let (paths, ignored) = self.changed_and_ignored()?;
        Ok((paths, self.list_hand_made(ignored)))
    }

    fn content_ids(&self, paths: Vec<String>) -> ContentIds {
        let ids = paths.into_iter().map(|path| {
            let id = self.content_id(&path);
            (path, id)
        });
        ids.collect()
    }

    /// The id of the raw bytes on disk at a path (percent-escaped where not UTF-8), without filters, so that it does not depend on git's
    /// records.
    pub fn content_id(&self, path: &str) -> String {
        match id_of(&self.root().join(OsStr::from_bytes(&unescape_path(path)))) {
            Ok(id) => id,
            Err(error) if is_missing(&error) => "absent".into(),
            // Such a file is never taken for one that was read.
            Err(error) => format!("unreadable:{:?}", error.kind()),
        }
    }
}

fn id_of(path: &Path) -> io::Result<String> {
    let metadata = fs::symlink_metadata(path)?;
    let mut hash = Sha256::new();
    let kind = if metadata.is_symlink() {
        hash.update(fs::read_link(path)?.as_os_str().as_bytes());
        'l'
    } else if metadata.is_file() {
        let mut file = open_regular_file(path)?;
        let mut buffer = vec![0; 64 * 1024];
        loop {
            match file.read(&mut buffer)? {
                0 => break,
                n => hash.update(&buffer[..n]),
            }
        }
        if metadata.permissions().mode() & 0o100 == 0 {
            'f'
        } else {
            'x'
        }
    } else if metadata.is_dir() {
        'd'
    } else {
        's'
    };
    Ok(format!("{kind}{}", short_hex(hash)))
}

/// The part of a content id that the bytes alone decide.
pub(super) fn content_hash(bytes: &[u8]) -> String {
    short_hex(Sha256::new().chain_update(bytes))
}

fn short_hex(hash: Sha256) -> String {
    to_hex(&hash.finalize()[..16])
}
