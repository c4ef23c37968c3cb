//! Reads git's state before and after the commits of a rescue.

use std::io::Write;
use std::path::PathBuf;
use std::time::SystemTime;

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};
use gix::index::entry::Stage;
use gix::objs::tree::EntryKind;
use gix::state::InProgress;

use super::disk::{FolderWalk, as_path, split_path};
use super::private::{IGNORED, NEWLY_IGNORED, SECRET, WholeSnapshot};
use super::proof::{SiblingWorktrees, nested_files};
use super::record::SnapshotRecord;
use super::spec_name::path_text;
use super::{diff, nested};
use crate::Worktree;
use crate::commit_text::tree_of;
use crate::error::{Error, ReadContext as _};
use crate::hidden::is_hidden;
use crate::path_text::join_path;
use crate::shared_modes::SharedModes;
use crate::submodule::is_named;
use watchdog_facts::evidence::GitOperation;

/// The change of one path in a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnapshotPathKind {
    /// A file or symlink with this content.
    File,
    /// A submodule at another commit.
    Submodule,
    /// The path is gone.
    Deleted,
}

/// A path of a snapshot that differs from the commit that it started from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotPath {
    /// As in git: bytes, separated by slashes.
    pub path: Vec<u8>,
    /// Percent-escaped where not UTF-8.
    pub text: String,
    /// The kind of change.
    pub kind: SnapshotPathKind,
    /// Size of the content in bytes.
    pub bytes: u64,
    /// The index has no entry for it.
    pub untracked: bool,
    /// git looks away from it: assume-unchanged, skip-worktree, or an ignore rule that is newer than the baseline.
    pub hidden: bool,
    /// The snapshot has it as a secret in its private part.
    pub secret: bool,
    /// It lies in another repository inside this worktree, or is a submodule at a commit that no ref of its own leads to.
    pub nested: bool,
}

/// The branch that a commit would go to, and the obstacles to a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitReadiness {
    /// The commit of HEAD, hexadecimal; `None` on an unborn branch.
    pub head: Option<String>,
    /// The branch without `refs/heads/`; `None` when detached.
    pub branch: Option<String>,
    /// The unfinished operation.
    pub operation: Option<GitOperation>,
    /// Paths with unmerged index entries.
    pub conflicted: u64,
}

/// The index file at one moment, to be put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexBackup {
    path: PathBuf,
    content: Option<(Vec<u8>, SystemTime)>,
}

impl Worktree {
    /// The paths of the snapshot with this commit that differ from the commit that it started from, in git's order.
    ///
    /// # Errors
    /// When the snapshot or the index cannot be read.
    pub fn snapshot_paths(&self, commit: &str) -> Result<Vec<SnapshotPath>, Error> {
        let repo = &self.repo;
        let (record, tree) = read_record(repo, commit)?;
        let whole = WholeSnapshot::join_parts(repo, &record, tree)?;
        let repo = &whole.repo;
        let before = tree_of(repo, record.head)?;
        let index = nested::read_index(repo)?;
        let root = self.root();
        let below = self.open_folder_walk()?;
        let mut boundary = RepositoryBoundary::new(below);
        let mut paths: Vec<SnapshotPath> = Vec::new();
        for change in diff::diff_trees(repo, before, whole.tree)? {
            let path = change.path.as_bstr();
            if whole
                .private
                .get(&change.path)
                .is_some_and(|why| why == IGNORED)
            {
                continue;
            }
            let kind = match change.after {
                None => SnapshotPathKind::Deleted,
                Some((mode, _)) if mode.kind() == EntryKind::Commit => SnapshotPathKind::Submodule,
                Some(_) => SnapshotPathKind::File,
            };
            // No ref of the submodule is known to keep such a commit, so that no commit here may name it.
            let unnamed = |(_, id)| !is_named(&root.join(as_path(path)), id).unwrap_or(false);
            let unnamed = kind == SnapshotPathKind::Submodule && change.after.is_some_and(unnamed);
            let entry = index.entry_by_path(path);
            paths.push(SnapshotPath {
                text: path_text(path),
                kind,
                bytes: change.bytes,
                untracked: index.entry_index_by_path(path).is_err(),
                hidden: entry.is_some_and(is_hidden)
                    || whole.why_private(&change.path) == Some(NEWLY_IGNORED),
                secret: whole.why_private(&change.path) == Some(SECRET),
                nested: unnamed || boundary.crosses(path),
                path: path.to_vec(),
            });
        }
        let mut registered = SiblingWorktrees::new(self);
        for (path, (_, id)) in nested_files(repo, whole.extras)? {
            if registered.holds(path.as_bstr()) {
                continue;
            }
            paths.push(SnapshotPath {
                text: path_text(&path),
                kind: SnapshotPathKind::File,
                bytes: repo
                    .find_header(id)
                    .map(|h| h.size())
                    .context("read the snapshot")?,
                untracked: false,
                hidden: false,
                secret: false,
                nested: true,
                path: path.into(),
            });
        }
        Ok(paths)
    }

    /// The target of a commit made now.
    ///
    /// # Errors
    /// When HEAD or the index cannot be read.
    pub fn commit_state(&self) -> Result<CommitReadiness, Error> {
        self.refresh()?;
        let repo = &self.repo;
        let head = repo.head().context("read HEAD")?;
        let index = nested::read_index(repo)?;
        let mut conflicted: Vec<&BStr> = index
            .entries()
            .iter()
            .filter(|e| e.stage() != Stage::Unconflicted)
            .map(|e| e.path(&index))
            .collect();
        conflicted.dedup();
        Ok(CommitReadiness {
            branch: head.referent_name().and_then(|name| {
                Some(path_text(
                    name.as_bstr().strip_prefix(b"refs/heads/")?.as_bstr(),
                ))
            }),
            head: self.head_commit()?,
            operation: repo.state().map(|state| match state {
                InProgress::ApplyMailbox => GitOperation::ApplyMailbox,
                InProgress::ApplyMailboxRebase
                | InProgress::Rebase
                | InProgress::RebaseInteractive => GitOperation::Rebase,
                InProgress::Bisect => GitOperation::Bisect,
                InProgress::CherryPick | InProgress::CherryPickSequence => GitOperation::CherryPick,
                InProgress::Merge => GitOperation::Merge,
                InProgress::Revert | InProgress::RevertSequence => GitOperation::Revert,
            }),
            conflicted: conflicted.len() as u64,
        })
    }

    /// The commit of HEAD, hexadecimal; `None` on an unborn branch.
    ///
    /// # Errors
    /// When HEAD cannot be read.
    pub fn head_commit(&self) -> Result<Option<String>, Error> {
        Ok(self.head_id()?.map(|id| id.to_string()))
    }

    /// The commits that HEAD has and `old` has not, newest first; all of them where `old` is `None`.
    ///
    /// # Errors
    /// When `old` or the history cannot be read.
    pub fn commits_gained(&self, old: Option<&str>) -> Result<Vec<String>, Error> {
        let Some(head) = self.head_commit()? else {
            return Ok(Vec::new());
        };
        let doing = "count the commits of the rescue";
        let id = |hex: &str| hex.parse::<ObjectId>().context(doing);
        let hidden = old.map(id).transpose()?;
        if let Some(hidden) = hidden {
            // A hidden commit that is missing would silently hide nothing.
            self.repo.find_commit(hidden).context(doing)?;
        }
        let walk = self
            .repo
            .rev_walk([id(&head)?])
            .with_hidden(hidden)
            .all()
            .context(doing)?;
        walk.map(|commit| Ok(commit.context(doing)?.id.to_string()))
            .collect()
    }

    /// Whether the configuration itself names a person for commits.
    pub fn has_identity(&self) -> bool {
        let config = self.repo.config_snapshot();
        let set = |keys: [&str; 3]| {
            keys.iter()
                .any(|key| config.string(*key).is_some_and(|v| !v.trim().is_empty()))
        };
        set(["user.name", "author.name", "committer.name"])
            && set(["user.email", "author.email", "committer.email"])
    }

    /// Reads the index file as it is.
    ///
    /// # Errors
    /// When it is there and cannot be read.
    pub fn save_index(&self) -> Result<IndexBackup, Error> {
        let path = self.repo.index_path();
        let read = || -> std::io::Result<_> {
            let written = std::fs::metadata(&path)?.modified()?;
            Ok((std::fs::read(&path)?, written))
        };
        match read() {
            Ok(content) => Ok(IndexBackup {
                path,
                content: Some(content),
            }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(IndexBackup {
                path,
                content: None,
            }),
            Err(error) => Err(Error::read_error("read the index", error)),
        }
    }

    /// Puts a saved index back under git's own lock, provided that the index is still `expected`, is gone or is corrupt.
    ///
    /// The time of the file comes back with it, as git judges by it which entries to trust. Returns whether it did:
    /// not when another process wrote the index meanwhile.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn put_index_back(
        &self,
        saved: &IndexBackup,
        expected: &IndexBackup,
    ) -> Result<bool, Error> {
        let doing = "put the index back";
        let lock = gix::lock::File::acquire_to_update_resource(
            &saved.path,
            gix::lock::acquire::Fail::Immediately,
            None,
            SharedModes::for_repository(&self.repo).for_lock(),
        );
        let Ok(mut lock) = lock else { return Ok(false) };
        let now = self.save_index()?;
        let is_whole = || now.content.is_some() && nested::read_index(&self.repo).is_ok();
        if now != *expected && is_whole() {
            return Ok(false);
        }
        if now == *saved {
            return Ok(true);
        }
        match &saved.content {
            Some((bytes, written)) => {
                let write = |file: &mut std::fs::File| {
                    file.write_all(bytes)?;
                    file.set_modified(*written)?;
                    file.sync_all()
                };
                lock.with_mut(write).context(doing)?;
                lock.commit().context(doing)?;
            }
            None => std::fs::remove_file(&saved.path).context(doing)?,
        }
        Ok(true)
    }
}

/// The record in the commit of a snapshot, with its tree.
pub(super) fn read_record(
    repo: &gix::Repository,
    commit: &str,
) -> Result<(SnapshotRecord, ObjectId), Error> {
    let doing = "read the snapshot";
    let id = commit.parse::<ObjectId>().context(doing)?;
    let commit = repo.find_commit(id).context(doing)?;
    let record = SnapshotRecord::parse(&commit.message_raw_sloppy().to_str_lossy());
    let record = record
        .ok_or_else(|| Error::read_failure(doing, format!("{id} is not a snapshot of watchdog")))?;
    Ok((record, commit.tree_id().context(doing)?.detach()))
}

/// Tells which paths lie beyond the edge of another repository.
pub(super) struct RepositoryBoundary {
    below: FolderWalk,
    last: Option<(BString, bool)>,
}

impl RepositoryBoundary {
    pub(super) fn new(below: FolderWalk) -> Self {
        RepositoryBoundary { below, last: None }
    }

    pub(super) fn crosses(&mut self, path: &BStr) -> bool {
        let folder = split_path(path).0;
        if let Some((last, crosses)) = &self.last
            && last == folder
        {
            return *crosses;
        }
        let mut at = folder;
        let mut crosses = false;
        while !at.is_empty() && !crosses {
            crosses = matches!(self.below.lstat(&join_path(at, b".git")), Ok(Some(_)));
            at = split_path(at).0;
        }
        self.last = Some((folder.to_owned(), crosses));
        crosses
    }
}
