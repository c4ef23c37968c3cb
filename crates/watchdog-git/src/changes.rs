//! Reads what is uncommitted in a worktree: the same facts as `git status`, without changing
//! anything. It writes no file, not even the index's own cache of file times, and no program of the
//! repository runs.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};
use sha2::{Digest, Sha256};

use super::comparison_parts::WorkTreeStatus;
use super::error::Error;
use super::hidden;
use super::open::Worktree;
use super::path_text::escape_path;
use super::stat_fingerprint::{self, StatFingerprints};
use super::{staged, work_tree};
use watchdog_facts::evidence::{Changes, Degradation, WarningCode};
use watchdog_facts::shell_line::WorktreeCommands;

/// The changes, fingerprints where they are wanted, all changed paths, and what git ignores.
type WorkTreeReading = (Changes, Option<StatFingerprints>, Vec<String>, Vec<BString>);

impl Worktree {
    /// The uncommitted changes, ignored files aside, and edits that the index hides from git with them.
    ///
    /// Includes untracked files whatever `status.showUntrackedFiles` says. `degraded` names blind spots:
    /// `unreadable_path` (it counts as a change where it is tracked), `hidden_entries`
    /// (edits behind assume-unchanged, skip-worktree or a submodule's `ignore` setting), `ignored_filters`
    /// (the repository's own filters did not run, so a file may only seem changed).
    ///
    /// # Errors
    /// [`Error::Read`] where the index, HEAD's tree or the work tree cannot be read.
    pub fn changes(&self) -> Result<Changes, Error> {
        self.changes_below(0)
    }

    pub(super) fn changes_below(&self, depth: usize) -> Result<Changes, Error> {
        self.changes_and_fingerprints(depth, false)
            .map(|(changes, ..)| changes)
    }

    /// The same, with every changed path, sorted, percent-escaped where not UTF-8.
    ///
    /// # Errors
    /// As [`Worktree::changes`].
    pub fn changes_with_paths(&self) -> Result<(Changes, Vec<String>), Error> {
        self.changes_and_fingerprints(0, false)
            .map(|(changes, _, paths, _)| (changes, paths))
    }

    /// The paths of the changes, and the files and folders that git ignores.
    pub(super) fn changed_and_ignored(&self) -> Result<(Vec<String>, Vec<BString>), Error> {
        self.changes_and_fingerprints(0, false)
            .map(|(_, _, paths, ignored)| (paths, ignored))
    }

    /// The same, with what would have to move if anything changed.
    ///
    /// # Errors
    /// As [`Worktree::changes`].
    pub fn changes_traced(
        &self,
    ) -> Result<(Changes, Option<StatFingerprints>, Vec<String>), Error> {
        self.changes_and_fingerprints(0, true)
            .map(|(changes, fingerprints, paths, _)| (changes, fingerprints, paths))
    }

    fn changes_and_fingerprints(
        &self,
        depth: usize,
        traced: bool,
    ) -> Result<WorkTreeReading, Error> {
        self.retry_while_packing(|| self.changes_and_fingerprints_once(depth, traced))
    }

    fn changes_and_fingerprints_once(
        &self,
        depth: usize,
        traced: bool,
    ) -> Result<WorkTreeReading, Error> {
        let head = self.head_id()?;
        let index = self.index()?;
        let mut status = WorkTreeStatus {
            keeps_states: traced,
            ..WorkTreeStatus::default()
        };
        let cached = staged::cached_tree(&index);
        let index = &*hidden::prepare_index(self, &index, &mut status)?;
        work_tree::add_worktree_changes(self, index, depth, &mut status)?;
        staged::add_staged_changes(self, index, cached, head, &mut status)?;
        let ignored = std::mem::take(&mut status.ignored);
        if depth == 0 {
            self.find_newly_ignored(&ignored, &mut status);
        }
        let fingerprints = if traced {
            stat_fingerprint::compute_fingerprints(&self.repo, index, &status)
        } else {
            None
        };
        let (changes, paths) = self.sum(status, head);
        Ok((changes, fingerprints, paths, ignored))
    }

    /// Adds the files that only rules ignore which are newer than the baseline: a session that writes an ignore rule hides no work.
    fn find_newly_ignored(&self, ignored: &[BString], status: &mut WorkTreeStatus) {
        let Some(rules) = (!ignored.is_empty())
            .then(|| self.recorded_rules())
            .flatten()
        else {
            return;
        };
        let newly = rules.find_newly_ignored(self.root(), ignored);
        if let Some(first) = newly.files.first() {
            let files = match newly.files.len() {
                1 => format!("'{}' is", escape_path(first)),
                many => format!("'{}' and {} more are", escape_path(first), many - 1),
            };
            let detail = format!(
                "{files} ignored by rules that are newer than the baseline; snapshots keep such files, no rescue commits them; see: {}",
                WorktreeCommands::at(self.root()).git("status --ignored")
            );
            status
                .degraded
                .push(Degradation::new(WarningCode::HiddenEntries, detail));
        }
        status.folders.extend(
            newly
                .folders
                .into_iter()
                .map(|folder| [folder.as_slice(), b"/"].concat().into()),
        );
        status.untracked.extend(newly.files);
    }

    fn sum(&self, mut status: WorkTreeStatus, head: Option<ObjectId>) -> (Changes, Vec<String>) {
        for list in [
            &mut status.unstaged,
            &mut status.untracked,
            &mut status.conflicted,
        ] {
            list.sort();
            list.dedup();
        }
        status.staged.sort();
        status.staged.dedup();
        // Threads finish in any order.
        status.submodules.sort_unstable();
        let mut degraded = std::mem::take(&mut status.degraded);
        status.unreadable.sort();
        status.unreadable.dedup();
        for (path, why) in &status.unreadable {
            degraded.push(Degradation::new(
                WarningCode::UnreadablePath,
                format!("'{path}' could not be read: {why}"),
            ));
        }
        if self.ignored_filters > 0 && !status.unstaged.is_empty() {
            degraded.push(Degradation::new(WarningCode::IgnoredFilters, "the repository's own filter programs were not run, so an unstaged file may only seem changed"));
        }
        let operation = self.operation().unwrap_or_else(|error| {
            degraded.push(Degradation::new(
                WarningCode::UnreadablePath,
                error.to_string(),
            ));
            None
        });
        let paths: BTreeSet<&BStr> = (status.staged.iter().map(|(path, _)| path))
            .chain(&status.unstaged)
            .chain(&status.untracked)
            .chain(&status.conflicted)
            .map(|path| path.as_bstr())
            .collect();
        let fingerprint = self.fingerprint(&status, &paths, head);
        let mut all: Vec<String> = paths.into_iter().map(|path| escape_path(path)).collect();
        all.sort();
        let listed = all[..all.len().min(Changes::LISTED)].to_vec();
        let changes = Changes {
            work: all.len() as u64,
            work_paths: listed.clone(),
            inherited: 0,
            since_end: 0,
            leaving_links: 0,
            dropping_links: Vec::new(),
            staged: status.staged.len() as u64,
            unstaged: status.unstaged.len() as u64,
            untracked: status.untracked.len() as u64,
            conflicted: status.conflicted.len() as u64,
            operation,
            paths: listed,
            fingerprint,
            degraded,
        };
        (changes, all)
    }

    fn fingerprint(
        &self,
        status: &WorkTreeStatus,
        paths: &BTreeSet<&BStr>,
        head: Option<ObjectId>,
    ) -> u64 {
        let mut hash = Sha256::new();
        hash.update(head.map_or_else(Vec::new, |id| id.as_bytes().to_vec()));
        for path in paths {
            hash.update(path.as_bytes());
            hash.update([0]);
            let metadata = gix::path::from_bstr(*path)
                .ok()
                .and_then(|path| fs::symlink_metadata(self.root().join(path)).ok());
            if let Some(m) = metadata {
                hash.update(m.mode().to_le_bytes());
                // A folder's own size and time move with things that are no work of anybody's.
                if !m.is_dir() {
                    hash.update(m.size().to_le_bytes());
                    hash.update(m.mtime().to_le_bytes());
                    hash.update(m.mtime_nsec().to_le_bytes());
                }
            }
        }
        for (path, id) in &status.staged {
            hash.update(path.as_bytes());
            hash.update([0]);
            hash.update(id.as_bytes());
        }
        for submodule in &status.submodules {
            hash.update(submodule.to_le_bytes());
        }
        let digest = hash.finalize();
        u64::from_le_bytes(digest[..8].try_into().expect("a SHA-256 has 32 bytes"))
    }
}
