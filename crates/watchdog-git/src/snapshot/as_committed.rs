//! Files as git would commit them, or did: the output of a filter or hook may differ from the file on disk.

use std::collections::BTreeSet;

use gix::ObjectId;
use gix::bstr::{BStr, ByteSlice};

use super::private::{IGNORED, SECRET, WholeSnapshot};
use super::proof::entry_at;
use super::spec_name::path_text;
use super::{Snapshot, contents, diff, private};
use crate::Worktree;
use crate::commit_text::trees_around;
use crate::error::{Error, ReadContext as _};

/// A path whose committed content differs from the snapshot's public part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitMismatch {
    /// Percent-escaped where not UTF-8.
    pub path: String,
    /// As it was committed before.
    pub before: Option<Vec<u8>>,
    /// The content in the snapshot.
    pub in_snapshot: Option<Vec<u8>>,
    /// As it is, or would be, committed.
    pub after: Vec<u8>,
}

impl Worktree {
    /// Whether the repository's own configuration names filters, which run whenever git adds a file.
    pub fn has_own_filters(&self) -> bool {
        self.ignored_filters > 0
    }

    /// The files of `tree` (hexadecimal) that differ from both HEAD and the snapshot, each up to `limit` bytes.
    ///
    /// # Errors
    /// When objects cannot be read.
    pub fn staged_contents(
        &self,
        tree: &str,
        snapshot: &Snapshot,
        limit: u64,
    ) -> Result<Vec<CommitMismatch>, Error> {
        let tree = tree.parse::<ObjectId>().context("read what was staged")?;
        self.contents_between((self.head_tree()?, tree), snapshot, limit, &BTreeSet::new())
    }

    /// The changes of `commit` (hexadecimal) that differ from the snapshot, and all that it has of `left_out`, each up to
    /// `limit` bytes.
    ///
    /// # Errors
    /// When objects cannot be read.
    pub fn committed_contents(
        &self,
        commit: &str,
        snapshot: &Snapshot,
        limit: u64,
        left_out: &BTreeSet<String>,
    ) -> Result<Vec<CommitMismatch>, Error> {
        let commit = self.find_commit(commit, || "look at what was committed")?;
        let trees = trees_around(&self.repo, &commit)?;
        self.contents_between(trees, snapshot, limit, left_out)
    }

    fn contents_between(
        &self,
        (old, new): (ObjectId, ObjectId),
        snapshot: &Snapshot,
        limit: u64,
        left_out: &BTreeSet<String>,
    ) -> Result<Vec<CommitMismatch>, Error> {
        let doing = "look at what is committed";
        let repo = &self.repo;
        let kept_tree = snapshot.tree.parse::<ObjectId>().context(doing)?;
        let kept_commit = snapshot.commit.parse::<ObjectId>().context(doing)?;
        let read = |id: ObjectId| -> Result<Option<Vec<u8>>, Error> {
            if repo.find_header(id).context(doing)?.size() > limit {
                return Ok(None);
            }
            repo.find_blob(id)
                .map(|mut blob| Some(blob.take_data()))
                .context(doing)
        };
        let mut mismatches = Vec::new();
        for change in diff::diff_trees(repo, old, new)? {
            let Some((mode, id)) = change.after.filter(|(mode, _)| !mode.is_commit()) else {
                continue;
            };
            let name: &BStr = change.path.as_bstr();
            let shared = entry_at(repo, kept_tree, name)?;
            let as_kept =
                shared.is_some_and(|(kept, kept_id)| kept_id == id && kept.kind() == mode.kind());
            if as_kept && !left_out.contains(&path_text(name)) {
                continue;
            }
            let Some(after) = read(id)? else { continue };
            let snapshot_entry = private::work_entry(repo, kept_commit, name)?
                .or(shared)
                .filter(|(mode, _)| !mode.is_commit());
            let content = |entry: Option<(_, ObjectId)>| entry.map_or(Ok(None), |(_, id)| read(id));
            let before = content(change.before.filter(|(mode, _)| !mode.is_commit()))?;
            mismatches.push(CommitMismatch {
                path: path_text(name),
                before,
                in_snapshot: content(snapshot_entry)?,
                after,
            });
        }
        Ok(mismatches)
    }

    /// The contents of a snapshot's secrets and ignored settings, each up to `limit` bytes.
    ///
    /// # Errors
    /// When the snapshot cannot be read.
    pub fn private_contents(&self, snapshot: &Snapshot, limit: u64) -> Result<Vec<Vec<u8>>, Error> {
        let doing = "read the private part of the snapshot";
        let (record, tree) = contents::read_record(&self.repo, &snapshot.commit)?;
        let whole = WholeSnapshot::join_parts(&self.repo, &record, tree)?;
        let mut contents = Vec::new();
        for path in whole
            .private
            .iter()
            .filter(|(_, why)| matches!(why.as_str(), SECRET | IGNORED))
            .map(|(path, _)| path)
        {
            let Some((_, id)) = entry_at(&whole.repo, whole.tree, path)? else {
                continue;
            };
            if whole.repo.find_header(id).context(doing)?.size() <= limit {
                contents.push(whole.repo.find_blob(id).context(doing)?.take_data());
            }
        }
        Ok(contents)
    }
}
