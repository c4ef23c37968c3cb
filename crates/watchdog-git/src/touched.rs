//! Finds the paths that differ from the baseline, committed or not.
//!
//! A path counts if its committed, its staged or its present state differs: undoing a change in one of the three does not hide it in the
//! others. Changes by imported commits do not count, unless a later change was made here.

use std::collections::BTreeSet;

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};

use super::baseline::HistoryPoint;
use super::commit_text::tree_of;
use super::comparison_parts::WorkTreeStatus;
use super::error::Error;
use super::known_refs::KnownRefs;
use super::net_change::find_newest_commits;
use super::open::Worktree;
use super::path_text::escape_path;
use super::snapshot::changes_between;
use super::walk::CommitHistory;
use super::{hidden, origin, staged, work_tree};

impl Worktree {
    /// The paths that differ from `baseline` and that `wanted` accepts, sorted; `wanted` gets paths as text, percent-escaped where
    /// not UTF-8. A rename gives both of its paths. `refs` are the refs recorded with the baseline.
    ///
    /// # Errors
    /// [`Error::UnknownRevision`] names a baseline that is not here; [`Error::Read`] where a needed object cannot be read.
    pub fn touched_since(
        &self,
        baseline: &HistoryPoint,
        refs: Option<&KnownRefs>,
        wanted: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<String>, Error> {
        let paths = self.touched_paths(baseline, refs)?;
        let mut touched: Vec<String> = paths
            .iter()
            .map(|path| escape_path(path))
            .filter(|path| wanted(path))
            .collect();
        touched.sort();
        touched.dedup();
        Ok(touched)
    }

    pub(super) fn touched_paths(
        &self,
        baseline: &HistoryPoint,
        refs: Option<&KnownRefs>,
    ) -> Result<BTreeSet<BString>, Error> {
        let baseline = self.commit_of(baseline)?;
        let before = tree_of(&self.repo, baseline)?;
        let mut paths: BTreeSet<BString> = BTreeSet::new();
        let index = self.index()?;
        let mut status = WorkTreeStatus::default();
        let index = &*hidden::prepare_index(self, &index, &mut status)?;
        work_tree::add_worktree_changes(self, index, 0, &mut status)?;
        staged::find_each(self, index, before, &mut status)?;
        if let Some(head) = self.head_id()? {
            let after = tree_of(&self.repo, head)?;
            if before != after {
                paths.extend(
                    changes_between(&self.repo, before, after)?
                        .into_iter()
                        .map(|change| change.path),
                );
            }
            let staged: Vec<BString> = status.staged.drain(..).map(|(path, _)| path).collect();
            paths.extend(staged);
            if !paths.is_empty() {
                self.leave_out_imported(&mut paths, baseline, head, refs, index)?;
            }
        } else {
            paths.extend(status.staged.drain(..).map(|(path, _)| path));
        }
        paths.extend(
            status
                .unstaged
                .into_iter()
                .chain(status.untracked)
                .chain(status.conflicted),
        );
        paths.extend(
            status
                .unreadable
                .into_iter()
                .map(|(path, _)| BString::from(path)),
        );
        Ok(paths)
    }

    /// Drops the paths whose committed and staged states are those of a newest imported commit.
    fn leave_out_imported(
        &self,
        paths: &mut BTreeSet<BString>,
        baseline: Option<ObjectId>,
        head: ObjectId,
        refs: Option<&KnownRefs>,
        index: &gix::index::State,
    ) -> Result<(), Error> {
        let mut history = CommitHistory::new(self)?;
        let new = match baseline {
            Some(baseline) => history.range(baseline, head)?.commits,
            None => history.all(head)?,
        };
        let origins = origin::sort_by_origin(self, &mut history, baseline, &new, &refs.into())?;
        if origins.imported.is_empty() {
            return Ok(());
        }
        let head_tree = tree_of(&self.repo, head)?;
        for node in find_newest_commits(&history, &origins.imported) {
            let tree = history.tree(node)?;
            let differ: BTreeSet<BString> = changes_between(&self.repo, tree, head_tree)?
                .into_iter()
                .map(|change| change.path)
                .collect();
            let mut differs = WorkTreeStatus::default();
            staged::find_each(self, index, tree, &mut differs)?;
            let staged: BTreeSet<&BStr> = differs
                .staged
                .iter()
                .map(|(path, _)| path.as_bstr())
                .collect();
            paths.retain(|path| differ.contains(path) || staged.contains(path.as_bstr()));
        }
        Ok(())
    }
}
