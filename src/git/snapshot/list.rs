//! The snapshots that are there: listing, finding, dropping.

use gix::refs::Target;
use gix::refs::transaction::{Change, PreviousValue, RefEdit, RefLog};

use super::SnapshotInfo;
use super::record::{self, Stored};
use super::restore::RestoreError;
use super::spec_name::PREFIX;
use super::take::sequence;
use crate::git::{Error, Worktree};

impl Worktree {
    /// The snapshots of `spec`, or of every spec, newest first. All worktrees of a repository share them.
    ///
    /// # Errors
    /// When the refs or a commit cannot be read.
    pub fn snapshots(&self, spec: Option<&str>) -> Result<Vec<SnapshotInfo>, Error> {
        let mut found: Vec<SnapshotInfo> = record::all(&self.repo)?.into_iter().map(Stored::info).collect();
        found.retain(|info| spec.is_none_or(|spec| info.spec == spec));
        found.sort_by_cached_key(|info| std::cmp::Reverse((info.at, sequence(&info.name), info.name.clone())));
        Ok(found)
    }

    /// Drops a snapshot. Its content is gone as soon as git collects garbage.
    ///
    /// # Errors
    /// When there is no such snapshot, or its ref cannot be deleted.
    pub fn drop_snapshot(&self, id: &str) -> Result<SnapshotInfo, RestoreError> {
        let stored = self.find_snapshot(id)?;
        delete(&self.repo, &stored.name, &stored.commit.to_string(), stored.record.at)?;
        Ok(stored.info())
    }

    /// Finds a snapshot by its id or by the whole name of its ref.
    pub(super) fn find_snapshot(&self, id: &str) -> Result<Stored, RestoreError> {
        let unknown = || RestoreError::Unknown { id: id.to_owned() };
        let id = id.strip_prefix(PREFIX).unwrap_or(id);
        let name = format!("{PREFIX}{id}");
        let name: gix::refs::FullName = name.as_str().try_into().map_err(|_| unknown())?;
        let reference = self.repo.try_find_reference(name.as_ref()).map_err(|e| Error::read(format!("read {name:?}"), e))?;
        record::read(&self.repo, &reference.ok_or_else(unknown)?)?.ok_or_else(unknown)
    }
}

/// Deletes the ref `name`, provided that it still names `commit`.
pub(super) fn delete(repo: &gix::Repository, name: &str, commit: &str, at: jiff::Timestamp) -> Result<(), Error> {
    let doing = || format!("delete {name}");
    let commit = gix::ObjectId::from_hex(commit.as_bytes()).map_err(|e| Error::read(doing(), e))?;
    let edit = RefEdit {
        change: Change::Delete { expected: PreviousValue::MustExistAndMatch(Target::Object(commit)), log: RefLog::AndReference },
        name: name.try_into().map_err(|e| Error::read(doing(), e))?,
        deref: false,
    };
    let mut time = gix::date::parse::TimeBuf::default();
    let who = record::identity(at);
    repo.edit_references_as([edit], Some(who.to_ref(&mut time))).map_err(|e| Error::read(doing(), e))?;
    Ok(())
}
