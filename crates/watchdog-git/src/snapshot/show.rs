//! The changes of a snapshot, file by file and line by line, for a person. Bounded, and runs no program.

use gix::ObjectId;
use gix::objs::tree::EntryMode;

use super::private::WholeSnapshot;
use super::proof::nested_files;
use super::restore_result::RestoreError;
use super::spec_name::path_text;
use super::{SnapshotPathKind, SnapshotSummary, diff};
use crate::Worktree;
use crate::commit_text::tree_of;
use crate::error::{Error, ReadContext as _};
use crate::line_hunks::line_hunks;
use watchdog_facts::display::escape_to_one_line;

/// Files above this size, in bytes, are not compared line by line.
const LINES_UP_TO: u64 = 1 << 20;
/// So much is read in all; files beyond are not compared line by line.
const READ_AT_MOST: u64 = 128 << 20;

/// A snapshot compared with the commit that HEAD named when it was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotDiff {
    /// Its summary.
    pub info: SnapshotSummary,
    /// In git's order; files of repositories inside the worktree last.
    pub files: Vec<FileDiff>,
    /// Its private files are not in this repository any more.
    pub incomplete: bool,
    /// Some patches are left out, as the bound was reached.
    pub cut: bool,
}

/// A path that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDiff {
    /// Percent-escaped where not UTF-8.
    pub path: String,
    /// The kind of change.
    pub kind: SnapshotPathKind,
    /// There was nothing at this path before.
    pub is_new: bool,
    /// Size in the snapshot.
    pub bytes: u64,
    /// Lines added and removed; `None` where it is not text, too large, or private.
    pub lines: Option<(u64, u64)>,
    /// Why it is in the private part, if it is.
    pub private: Option<String>,
    /// The difference as git writes it, for public text. Replaces bytes that are not UTF-8.
    pub patch: Option<String>,
}

type DiffedEntry = Option<(EntryMode, ObjectId)>;

impl Worktree {
    /// Compares the snapshot `id` with the commit that it started from, with at most `patch_bytes` bytes of patches.
    ///
    /// # Errors
    /// When there is no such snapshot, or it cannot be read.
    pub fn snapshot_diff(
        &self,
        id: &str,
        patch_bytes: usize,
    ) -> Result<SnapshotDiff, RestoreError> {
        let stored = self.find_snapshot(id)?;
        let whole = WholeSnapshot::join_parts(&self.repo, &stored.record, stored.tree)?;
        let repo = &whole.repo;
        let before = tree_of(repo, stored.record.head)?;
        let mut budget = PatchBudget {
            patches: patch_bytes,
            read: READ_AT_MOST,
            cut: false,
        };
        let mut files = Vec::new();
        for change in diff::diff_trees(repo, before, whole.tree)? {
            let private = whole.private.get(&change.path).cloned();
            files.push(budget.file(
                repo,
                &path_text(&change.path),
                change.before,
                change.after,
                change.bytes,
                private,
            )?);
        }
        for (path, (kind, id)) in nested_files(repo, whole.extras)? {
            let bytes = repo.find_header(id).context("read the snapshot")?.size();
            let private = whole.private.get(&path).cloned();
            files.push(budget.file(
                repo,
                &path_text(&path),
                None,
                Some((kind.into(), id)),
                bytes,
                private,
            )?);
        }
        Ok(SnapshotDiff {
            info: stored.info(),
            files,
            incomplete: whole.incomplete,
            cut: budget.cut,
        })
    }
}

struct PatchBudget {
    patches: usize,
    read: u64,
    cut: bool,
}

impl PatchBudget {
    fn file(
        &mut self,
        repo: &gix::Repository,
        path: &str,
        before: DiffedEntry,
        after: DiffedEntry,
        bytes: u64,
        private: Option<String>,
    ) -> Result<FileDiff, Error> {
        let kind = match after {
            None => SnapshotPathKind::Deleted,
            Some((mode, _)) if mode.is_commit() => SnapshotPathKind::Submodule,
            Some(_) => SnapshotPathKind::File,
        };
        let mut file = FileDiff {
            path: path.to_owned(),
            kind,
            is_new: before.is_none(),
            bytes,
            lines: None,
            private,
            patch: None,
        };
        if file.private.is_some() {
            return Ok(file);
        }
        let sides = (self.content(repo, before)?, self.content(repo, after)?);
        // A name with a line break must not look like lines of the patch.
        let path = &escape_to_one_line(path);
        let mut patch = format_diff_header(path, before, after);
        match sides {
            (Some(old), Some(new)) => {
                let (hunks, lines) = line_hunks(&old, &new);
                if !hunks.is_empty() {
                    let name = |side: DiffedEntry, prefix: &str| {
                        side.map_or_else(|| "/dev/null".to_owned(), |_| format!("{prefix}/{path}"))
                    };
                    patch.push_str(&format!(
                        "--- {}\n+++ {}\n{hunks}",
                        name(before, "a"),
                        name(after, "b")
                    ));
                }
                file.lines = Some(lines);
            }
            _ => patch.push_str("Binary or large files differ\n"),
        }
        if patch.len() > self.patches {
            self.cut = true;
        } else {
            self.patches -= patch.len();
            file.patch = Some(patch);
        }
        Ok(file)
    }

    /// The text of one side; empty where it has nothing, `None` where it is no text or too large.
    fn content(
        &mut self,
        repo: &gix::Repository,
        side: DiffedEntry,
    ) -> Result<Option<Vec<u8>>, Error> {
        let Some((mode, id)) = side else {
            return Ok(Some(Vec::new()));
        };
        if mode.is_commit() {
            return Ok(Some(format!("Subproject commit {id}\n").into_bytes()));
        }
        let doing = "read a file of the snapshot";
        let size = repo.find_header(id).context(doing)?.size();
        if size > LINES_UP_TO || size > self.read {
            return Ok(None);
        }
        self.read -= size;
        let data = repo.find_blob(id).context(doing)?.take_data();
        // git's own test for binary files.
        Ok((!data[..data.len().min(8000)].contains(&0)).then_some(data))
    }
}

fn format_diff_header(path: &str, before: DiffedEntry, after: DiffedEntry) -> String {
    let mode = |side: DiffedEntry| side.map(|(mode, _)| format!("{:06o}", mode.value()));
    let mut text = format!("diff --git a/{path} b/{path}\n");
    match (mode(before), mode(after)) {
        (None, Some(new)) => text.push_str(&format!("new file mode {new}\n")),
        (Some(old), None) => text.push_str(&format!("deleted file mode {old}\n")),
        (Some(old), Some(new)) if old != new => {
            text.push_str(&format!("old mode {old}\nnew mode {new}\n"))
        }
        _ => {}
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use gix::objs::tree::EntryKind;

    #[test]
    fn modes_are_told() {
        let id = ObjectId::null(gix::hash::Kind::Sha1);
        let side = |kind: EntryKind| Some((EntryMode::from(kind), id));
        assert_eq!(
            format_diff_header("a", None, side(EntryKind::Blob)),
            "diff --git a/a b/a\nnew file mode 100644\n"
        );
        assert_eq!(
            format_diff_header("a", side(EntryKind::Blob), side(EntryKind::BlobExecutable)),
            "diff --git a/a b/a\nold mode 100644\nnew mode 100755\n"
        );
    }
}
