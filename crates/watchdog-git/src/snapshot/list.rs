//! Lists, finds, deletes and expires snapshots.

use std::collections::BTreeMap;

use gix::ObjectId;
use jiff::Timestamp;

use super::SnapshotSummary;
use super::record::{self, StoredSnapshot};
use super::restore_result::RestoreError;
use super::spec_name::{PREFIX, PRIVATE_PREFIX, parse_sequence, path_text};
use crate::Worktree;
use crate::error::{Error, ReadContext as _};
use crate::own_refs::list_refs_below;

impl Worktree {
    /// The snapshots of `spec`, or of every spec, newest first. All worktrees of a repository share them.
    ///
    /// # Errors
    /// When the refs or a commit cannot be read.
    pub fn snapshots(&self, spec: Option<&str>) -> Result<Vec<SnapshotSummary>, Error> {
        self.refresh()?;
        let mut snapshots: Vec<SnapshotSummary> = self
            .retry_if_refs_moved(|| record::list_stored_snapshots(&self.repo))?
            .into_iter()
            .map(StoredSnapshot::info)
            .collect();
        snapshots.retain(|info| spec.is_none_or(|spec| info.spec == spec));
        snapshots.sort_by_cached_key(|info| {
            std::cmp::Reverse((info.at, parse_sequence(&info.name), info.name.clone()))
        });
        Ok(snapshots)
    }

    /// The summary of one snapshot, found as [`Worktree::restore`] finds it.
    ///
    /// # Errors
    /// When there is no such snapshot, or the prefix is ambiguous.
    pub fn snapshot_info(&self, id: &str) -> Result<SnapshotSummary, RestoreError> {
        Ok(self.find_snapshot(id)?.info())
    }

    /// Drops a snapshot. Its content is gone as soon as git collects garbage.
    ///
    /// # Errors
    /// When there is no such snapshot, or its ref cannot be deleted.
    pub fn drop_snapshot(&self, id: &str) -> Result<SnapshotSummary, RestoreError> {
        let stored = self.find_snapshot(id)?;
        delete_both(self, &stored.name, &stored.commit.to_string())?;
        Ok(stored.info())
    }

    /// Drops every snapshot that was taken before `before`, except the newest of each spec and worktree; and what a drop that
    /// was cut short left of others. Returns those that were dropped.
    ///
    /// # Errors
    /// When the refs cannot be read or deleted.
    pub fn expire_snapshots(&self, before: Timestamp) -> Result<Vec<SnapshotSummary>, Error> {
        self.refresh()?;
        let all = self.retry_if_refs_moved(|| record::list_stored_snapshots(&self.repo))?;
        let rank = |s: &StoredSnapshot| (s.record.at, parse_sequence(&s.name));
        let mut newest: BTreeMap<(String, String), (Timestamp, u64)> = BTreeMap::new();
        for stored in &all {
            let best = newest
                .entry((stored.record.spec.clone(), stored.record.worktree.clone()))
                .or_insert(rank(stored));
            *best = rank(stored).max(*best);
        }
        let mut dropped = Vec::new();
        for stored in all {
            let key = (stored.record.spec.clone(), stored.record.worktree.clone());
            if stored.record.at < before && newest.get(&key) != Some(&rank(&stored)) {
                delete_both(self, &stored.name, &stored.commit.to_string())?;
                dropped.push(stored.info());
            }
        }
        self.drop_orphans(before)?;
        Ok(dropped)
    }

    /// Deletes private refs from before `before` whose snapshot is gone.
    fn drop_orphans(&self, before: Timestamp) -> Result<(), Error> {
        let orphans = self.retry_if_refs_moved(|| self.orphans(before))?;
        self.drop_refs(&orphans)
    }

    fn orphans(&self, before: Timestamp) -> Result<Vec<(String, ObjectId)>, Error> {
        let doing = "list the private parts of snapshots";
        let mut orphans = Vec::new();
        for reference in list_refs_below(&self.repo, PRIVATE_PREFIX)? {
            let name = path_text(reference.name().as_bstr());
            let beside = name.replacen(PRIVATE_PREFIX, PREFIX, 1);
            let Some(id) = reference.target().try_id().map(ToOwned::to_owned) else {
                continue;
            };
            // The time of the commit is that of the snapshot; one that is gone is of no use either.
            let commit = self.repo.find_commit(id).ok();
            let old = commit
                .and_then(|commit| commit.time().ok())
                .is_none_or(|time| time.seconds < before.as_second());
            if old
                && self
                    .repo
                    .try_find_reference(&beside)
                    .context(doing)?
                    .is_none()
            {
                orphans.push((name, id));
            }
        }
        Ok(orphans)
    }

    /// Finds a snapshot by its id, by the whole name of its ref, or by the beginning of its id, of its time or of its
    /// commit, as long as only one begins so.
    pub(super) fn find_snapshot(&self, text: &str) -> Result<StoredSnapshot, RestoreError> {
        self.refresh()?;
        let unknown = || RestoreError::Unknown {
            id: text.to_owned(),
        };
        let id = text.strip_prefix(PREFIX).unwrap_or(text);
        let name: gix::refs::FullName = format!("{PREFIX}{id}")
            .as_str()
            .try_into()
            .map_err(|_| unknown())?;
        let find = || {
            self.repo
                .try_find_reference(name.as_ref())
                .with_context(|| format!("read {name:?}"))
        };
        let reference = self.retry_if_refs_moved(find)?;
        if let Some(reference) = reference {
            return record::read_stored(&self.repo, &reference)?.ok_or_else(unknown);
        }
        let begins = |stored: &StoredSnapshot| {
            let own = stored.name.strip_prefix(PREFIX).unwrap_or(&stored.name);
            let time = own.rsplit_once('/').map_or(own, |(_, time)| time);
            own.starts_with(id)
                || time.starts_with(id)
                || (id.len() >= SHORTEST_COMMIT && stored.commit.to_string().starts_with(id))
        };
        let mut matching: Vec<StoredSnapshot> = self
            .retry_if_refs_moved(|| record::list_stored_snapshots(&self.repo))?
            .into_iter()
            .filter(begins)
            .collect();
        match matching.len() {
            0 | 1 => matching
                .pop()
                .filter(|_| !id.is_empty())
                .ok_or_else(unknown),
            _ => {
                let candidates = matching
                    .into_iter()
                    .map(|stored| stored.info().id)
                    .collect();
                Err(RestoreError::Ambiguous {
                    id: text.to_owned(),
                    candidates,
                })
            }
        }
    }
}

/// Fewer digits of a commit name no snapshot.
const SHORTEST_COMMIT: usize = 7;

/// Deletes a snapshot's ref, and then that of its private part: a snapshot without it would be broken.
pub(super) fn delete_both(worktree: &Worktree, name: &str, commit: &str) -> Result<(), Error> {
    let doing = || format!("delete {name}");
    let commit = commit.parse::<ObjectId>().with_context(doing)?;
    worktree.drop_refs(&[(name.to_owned(), commit)])?;
    let beside = name.replacen(PREFIX, PRIVATE_PREFIX, 1);
    let private_ref = worktree
        .repo
        .try_find_reference(&beside)
        .with_context(doing)?;
    match private_ref.and_then(|reference| reference.target().try_id().map(ToOwned::to_owned)) {
        Some(private) => worktree.drop_refs(&[(beside, private)]),
        None => Ok(()),
    }
}
