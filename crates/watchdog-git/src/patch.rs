//! Identifies a change by its content and not by its position, so that a rebased or reworded commit is recognised as the same work. Close
//! to `git patch-id --stable`.

use gix::ObjectId;
use gix::bstr::ByteSlice;
use gix::diff::blob::{Algorithm, Diff, InternedInput};
use gix::diff::tree::recorder::{Change, Location};
use gix::objs::tree::EntryMode;
use gix::objs::{Find, FindHeader};
use sha2::{Digest, Sha256};

use super::error::{Error, ReadContext as _};
use super::verified::VerifyingObjectReader;

/// The name of a change.
pub(super) type PatchId = [u8; 32];

/// A file above this many bytes is compared as a whole.
pub(super) const LINES_UP_TO: u64 = 4 << 20;

/// Names changes until its budget is spent.
pub(super) struct PatchIds<'r> {
    repo: &'r gix::Repository,
    /// Bytes of file content that may still be read.
    budget: u64,
    /// Whether contents may be missing on purpose.
    partial: bool,
    old: Vec<u8>,
    new: Vec<u8>,
}

impl<'r> PatchIds<'r> {
    pub(super) fn new(repo: &'r gix::Repository, budget: u64) -> Self {
        PatchIds {
            repo,
            budget,
            partial: is_partial(repo),
            old: Vec::new(),
            new: Vec::new(),
        }
    }

    /// The name of the change between two trees; `Ok(None)` where the budget is spent. No change at all
    /// has a name too, the same everywhere.
    pub(super) fn name(&mut self, from: ObjectId, to: ObjectId) -> Result<Option<PatchId>, Error> {
        let doing = || format!("compare tree {from} with tree {to}");
        let mut files: Vec<PatchId> = Vec::new();
        if from != to {
            let (mut old_buffer, mut new_buffer) = (Vec::new(), Vec::new());
            let old_tree = find_tree(self.repo, from, &mut old_buffer)?;
            let new_tree = find_tree(self.repo, to, &mut new_buffer)?;
            let mut recorder =
                gix::diff::tree::Recorder::default().track_location(Some(Location::Path));
            gix::diff::tree(
                old_tree,
                new_tree,
                gix::diff::tree::State::default(),
                VerifyingObjectReader(&self.repo.objects),
                &mut recorder,
            )
            .with_context(doing)?;
            for change in recorder.records {
                match self.file(change)? {
                    FileChange::NoFile => {}
                    FileChange::Named(id) => files.push(id),
                    FileChange::TooLarge => return Ok(None),
                }
            }
        }
        files.sort_unstable();
        let mut hash = Sha256::new();
        for file in files {
            hash.update(file);
        }
        Ok(Some(hash.finalize().into()))
    }

    fn file(&mut self, change: Change) -> Result<FileChange, Error> {
        let (path, old, new) = match change {
            Change::Addition {
                entry_mode,
                oid,
                path,
                ..
            } => (path, None, Some((entry_mode, oid))),
            Change::Deletion {
                entry_mode,
                oid,
                path,
                ..
            } => (path, Some((entry_mode, oid)), None),
            Change::Modification {
                previous_entry_mode,
                previous_oid,
                entry_mode,
                oid,
                path,
            } => (
                path,
                Some((previous_entry_mode, previous_oid)),
                Some((entry_mode, oid)),
            ),
        };
        // Folders are compared by the files in them.
        let file = |side: Option<(EntryMode, ObjectId)>| side.filter(|(mode, _)| !mode.is_tree());
        let (old, new) = (file(old), file(new));
        if old.is_none() && new.is_none() {
            return Ok(FileChange::NoFile);
        }
        let mut hash = Sha256::new();
        hash.update(path.as_bytes());
        hash.update([0]);
        for side in [old, new] {
            hash.update(side.map_or(0, |(mode, _)| mode.value()).to_be_bytes());
        }
        let ids = [old, new].map(|side| side.map(|(_, id)| id));
        if ids[0] == ids[1] {
            return Ok(FileChange::Named(hash.finalize().into()));
        }
        let mut lines = true;
        for (mode, id) in [old, new].into_iter().flatten() {
            lines &= !mode.is_commit();
            if !mode.is_commit() {
                let size = match read_object_size(self.repo, id)? {
                    Some(size) if size <= LINES_UP_TO => size,
                    // A partial clone may lack the object; its name is known all the same.
                    None if !self.partial => return Err(new_missing_error(id)),
                    Some(_) | None => {
                        lines = false;
                        continue;
                    }
                };
                let Some(remaining) = self.budget.checked_sub(size) else {
                    return Ok(FileChange::TooLarge);
                };
                self.budget = remaining;
            }
        }
        if lines {
            read_object(self.repo, ids[0], &mut self.old)?;
            read_object(self.repo, ids[1], &mut self.new)?;
            lines = !is_binary(&self.old) && !is_binary(&self.new);
        }
        if lines {
            let input = InternedInput::new(self.old.as_slice(), self.new.as_slice());
            for hunk in Diff::compute(Algorithm::Histogram, &input).hunks() {
                for (sign, tokens) in [
                    (b"-", &input.before[to_usize_range(&hunk.before)]),
                    (b"+", &input.after[to_usize_range(&hunk.after)]),
                ] {
                    for token in tokens {
                        hash.update(sign);
                        hash.update(input.interner[*token]);
                        hash.update([0]);
                    }
                }
            }
        } else {
            for id in ids.into_iter().flatten() {
                hash.update(id.as_bytes());
            }
        }
        Ok(FileChange::Named(hash.finalize().into()))
    }
}

/// Whether contents may be missing on purpose.
pub(super) fn is_partial(repo: &gix::Repository) -> bool {
    let config = repo.config_snapshot();
    let promises = |section: gix::config::file::SectionRef<'_>| section.value("promisor").is_some();
    config.string("extensions.partialClone").is_some()
        || config
            .plumbing()
            .sections_by_name("remote")
            .into_iter()
            .flatten()
            .any(promises)
}

enum FileChange {
    NoFile,
    Named(PatchId),
    TooLarge,
}

fn to_usize_range(lines: &std::ops::Range<u32>) -> std::ops::Range<usize> {
    lines.start as usize..lines.end as usize
}

/// git's own test: a zero byte near the beginning.
pub(super) fn is_binary(data: &[u8]) -> bool {
    data[..data.len().min(8000)].contains(&0)
}

fn find_tree<'b>(
    repo: &gix::Repository,
    id: ObjectId,
    buf: &'b mut Vec<u8>,
) -> Result<gix::objs::TreeRefIter<'b>, Error> {
    let doing = || format!("read tree {id}");
    if id.is_empty_tree() {
        return Ok(gix::objs::TreeRefIter::from_bytes(&[], id.kind()));
    }
    match VerifyingObjectReader(&repo.objects)
        .try_find(&id, buf)
        .with_context(doing)?
    {
        Some(data) if data.kind == gix::object::Kind::Tree => {
            Ok(gix::objs::TreeRefIter::from_bytes(data.data, id.kind()))
        }
        _ => Err(Error::read_failure(doing(), "the object is missing")),
    }
}

fn read_object_size(repo: &gix::Repository, id: ObjectId) -> Result<Option<u64>, Error> {
    let header = repo
        .objects
        .try_header(&id)
        .with_context(|| format!("read object {id}"))?;
    Ok(header.map(|header| header.size))
}

fn new_missing_error(id: ObjectId) -> Error {
    Error::read_failure(format!("read object {id}"), "the object is missing")
}

fn read_object(
    repo: &gix::Repository,
    id: Option<ObjectId>,
    buf: &mut Vec<u8>,
) -> Result<(), Error> {
    let Some(id) = id else {
        buf.clear();
        return Ok(());
    };
    VerifyingObjectReader(&repo.objects).blob(id, buf)
}
