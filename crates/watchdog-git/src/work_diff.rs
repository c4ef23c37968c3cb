//! Writes the differences between the baseline and the files as they are now, in git's format. Bounded; no program runs.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;

use gix::bstr::{BStr, ByteSlice};

use super::baseline::HistoryPoint;
use super::commit_text::tree_of;
use super::error::{Error, ReadContext as _};
use super::known_refs::KnownRefs;
use super::line_hunks::line_hunks;
use super::open::Worktree;
use super::path_text::escape_path;
use watchdog_system::read_regular_begin;

/// Files above this size, in bytes, are not compared line by line.
const LINES_UP_TO: u64 = 1 << 20;

/// So much is read in all.
const READ_AT_MOST: u64 = 32 << 20;

/// A difference, bounded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WorkDiff {
    /// A part for each file, sorted by path.
    pub text: String,
    /// Whether something was left out.
    pub cut: bool,
}

/// A side of a file.
enum DiffedContent {
    Absent,
    Text(Vec<u8>),
    /// Binary, too large, a folder or a submodule, or not to be read.
    Other,
}

impl Worktree {
    /// The difference between `baseline` and the work tree, at most about `limit` bytes. Shows only the name of a file if `hide` returns
    /// `true` for its path. `refs` are the refs recorded with the baseline.
    ///
    /// # Errors
    /// As [`Worktree::touched_since`].
    pub fn diff_since(
        &self,
        baseline: &HistoryPoint,
        refs: Option<&KnownRefs>,
        limit: usize,
        hide: &dyn Fn(&str) -> bool,
    ) -> Result<WorkDiff, Error> {
        let paths = self.touched_paths(baseline, refs)?;
        let tree = tree_of(&self.repo, self.commit_of(baseline)?)?;
        let doing = "read the tree of the baseline";
        let tree = match tree.is_empty_tree() {
            true => self.repo.empty_tree(),
            false => self.repo.find_tree(tree).context(doing)?,
        };
        let mut diff = WorkDiff::default();
        let mut read = READ_AT_MOST;
        for path in &paths {
            let name = escape_path(path).replace(['\n', '\r'], "?");
            let part = if hide(&name) {
                format!("diff --git a/{name} b/{name}\n(not shown)\n")
            } else {
                let before = self.read_committed(&tree, path.as_bstr(), &mut read)?;
                let after = self.present(path.as_bstr(), &mut read);
                match format_file_diff(&name, before, after) {
                    Some(part) => part,
                    None => continue,
                }
            };
            if diff.text.len() + part.len() > limit {
                diff.cut = true;
                let room = limit.saturating_sub(diff.text.len());
                let end = part.floor_char_boundary(room.min(part.len()));
                diff.text
                    .push_str(&part[..part[..end].rfind('\n').map_or(0, |at| at + 1)]);
                break;
            }
            diff.text.push_str(&part);
        }
        Ok(diff)
    }

    fn read_committed(
        &self,
        tree: &gix::Tree<'_>,
        path: &BStr,
        read: &mut u64,
    ) -> Result<DiffedContent, Error> {
        let doing = || format!("read {path} of the baseline");
        let entry = tree
            .lookup_entry(path.split(|byte| *byte == b'/'))
            .with_context(doing)?;
        let Some(entry) = entry else {
            return Ok(DiffedContent::Absent);
        };
        if !entry.mode().is_blob_or_symlink() {
            return Ok(DiffedContent::Other);
        }
        let size = self
            .repo
            .find_header(entry.object_id())
            .with_context(doing)?
            .size();
        if size > LINES_UP_TO || size > *read {
            return Ok(DiffedContent::Other);
        }
        *read -= size;
        Ok(classify_content(
            entry.object().with_context(doing)?.data.clone(),
        ))
    }

    fn present(&self, path: &BStr, read: &mut u64) -> DiffedContent {
        let Ok(relative) = gix::path::from_bstr(path) else {
            return DiffedContent::Other;
        };
        let file = self.root().join(relative);
        let Ok(metadata) = fs::symlink_metadata(&file) else {
            return DiffedContent::Absent;
        };
        if metadata.is_symlink() {
            return fs::read_link(&file).map_or(DiffedContent::Other, |target| {
                DiffedContent::Text(target.as_os_str().as_bytes().to_vec())
            });
        }
        if !metadata.is_file() || metadata.len() > LINES_UP_TO || metadata.len() > *read {
            return DiffedContent::Other;
        }
        // It may have grown since the scan.
        let Ok(bytes) = read_regular_begin(&file, LINES_UP_TO) else {
            return DiffedContent::Other;
        };
        *read = read.saturating_sub(bytes.len() as u64);
        classify_content(bytes)
    }
}

/// git's own test for binary files.
fn classify_content(bytes: Vec<u8>) -> DiffedContent {
    if bytes[..bytes.len().min(8000)].contains(&0) {
        DiffedContent::Other
    } else {
        DiffedContent::Text(bytes)
    }
}

/// Absent if there is no difference to show.
fn format_file_diff(name: &str, before: DiffedContent, after: DiffedContent) -> Option<String> {
    let mut part = format!("diff --git a/{name} b/{name}\n");
    let (old, new) = match (&before, &after) {
        (DiffedContent::Absent, DiffedContent::Absent) => return None,
        (DiffedContent::Absent, _) => ("/dev/null".to_owned(), format!("b/{name}")),
        (_, DiffedContent::Absent) => (format!("a/{name}"), "/dev/null".to_owned()),
        _ => (format!("a/{name}"), format!("b/{name}")),
    };
    let bytes = |side| match side {
        DiffedContent::Absent => Some(Vec::new()),
        DiffedContent::Text(bytes) => Some(bytes),
        DiffedContent::Other => None,
    };
    match (bytes(before), bytes(after)) {
        (Some(before), Some(after)) => {
            let (hunks, _) = line_hunks(&before, &after);
            part.push_str(&format!("--- {old}\n+++ {new}\n{hunks}"));
        }
        _ => part.push_str("Binary or large files differ\n"),
    }
    Some(part)
}
