//! The room that snapshots need: the content that git keeps for them alone.

use std::collections::{HashMap, HashSet};

use gix::ObjectId;

use super::private::WholeSnapshot;
use super::proof::nested_files;
use super::{SnapshotSummary, diff};
use crate::Worktree;
use crate::commit_text::tree_of;
use crate::error::{Error, ReadContext as _};

/// The content that snapshots have and HEAD has not, in bytes before compression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotSizes {
    /// All of them together; each content counts once.
    pub total: u64,
    /// For each snapshot, in the order of the list: the content that no other snapshot of the list has.
    pub alone: Vec<u64>,
}

impl Worktree {
    /// Measures these snapshots.
    ///
    /// # Errors
    /// When one of them, or HEAD, cannot be read.
    pub fn snapshot_sizes(&self, snapshots: &[SnapshotSummary]) -> Result<SnapshotSizes, Error> {
        let empty = ObjectId::empty_tree(self.repo.object_hash());
        let committed = diff::diff_trees(&self.repo, empty, self.head_tree()?)?;
        let committed: HashSet<ObjectId> = committed
            .into_iter()
            .filter_map(|entry| Some(entry.after?.1))
            .collect();
        // The size of each content, and the last snapshot that has it with how many they are.
        let mut contents: HashMap<ObjectId, (u64, usize, usize)> = HashMap::new();
        for (at, info) in snapshots.iter().enumerate() {
            let (record, tree) = super::contents::read_record(&self.repo, &info.commit)?;
            let whole = WholeSnapshot::join_parts(&self.repo, &record, tree)?;
            let before = tree_of(&self.repo, record.head)?;
            let mut ids: HashMap<ObjectId, u64> = HashMap::new();
            for change in diff::diff_trees(&whole.repo, before, whole.tree)? {
                ids.extend(
                    change
                        .after
                        .filter(|(mode, _)| !mode.is_commit())
                        .map(|(_, id)| (id, change.bytes)),
                );
            }
            for (_, id) in nested_files(&whole.repo, whole.extras)?.into_values() {
                ids.insert(
                    id,
                    whole
                        .repo
                        .find_header(id)
                        .context("measure the snapshots")?
                        .size(),
                );
            }
            for (id, bytes) in ids.into_iter().filter(|(id, _)| !committed.contains(id)) {
                let entry = contents.entry(id).or_insert((bytes, at, 0));
                *entry = (bytes, at, entry.2 + 1);
            }
        }
        let mut sizes = SnapshotSizes {
            total: 0,
            alone: vec![0; snapshots.len()],
        };
        for (bytes, at, owners) in contents.into_values() {
            sizes.total += bytes;
            if owners == 1 {
                sizes.alone[at] += bytes;
            }
        }
        Ok(sizes)
    }
}
