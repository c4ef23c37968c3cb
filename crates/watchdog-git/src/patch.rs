//! Identifies a change by its content and not by its position, so that a rebased or reworded commit is recognised as the same work. Close
//! to `git patch-id --stable`.

use gix::ObjectId;
use gix::bstr::ByteSlice;
use gix::diff::blob::{Algorithm, Diff, InternedInput};
use sha2::{Digest, Sha256};

use super::error::Error;
use super::tree_change::{
    ChangedFile, LINES_UP_TO, is_binary, is_partial, list_changed_files, read_object_size,
};
use super::verified::VerifyingObjectReader;

/// The name of a change.
pub(super) type PatchId = [u8; 32];

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
        let mut files: Vec<PatchId> = Vec::new();
        for file in list_changed_files(self.repo, from, to)? {
            match self.name_file(file)? {
                Some(id) => files.push(id),
                None => return Ok(None),
            }
        }
        files.sort_unstable();
        let mut hash = Sha256::new();
        for file in files {
            hash.update(file);
        }
        Ok(Some(hash.finalize().into()))
    }

    /// The name of one file's change; `None` where the budget is spent.
    fn name_file(&mut self, change: ChangedFile) -> Result<Option<PatchId>, Error> {
        let ChangedFile { path, old, new } = change;
        let mut hash = Sha256::new();
        hash.update(path.as_bytes());
        hash.update([0]);
        for side in [old, new] {
            hash.update(side.map_or(0, |(mode, _)| mode.value()).to_be_bytes());
        }
        let ids = [old, new].map(|side| side.map(|(_, id)| id));
        if ids[0] == ids[1] {
            return Ok(Some(hash.finalize().into()));
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
                    return Ok(None);
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
        Ok(Some(hash.finalize().into()))
    }
}

fn to_usize_range(lines: &std::ops::Range<u32>) -> std::ops::Range<usize> {
    lines.start as usize..lines.end as usize
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
