//! Finds what a session made inside of submodules beside the commits that they stand on, and the entries of their stashes that are gone.

use std::fs;
use std::path::Path;

use gix::ObjectId;
use gix::bstr::ByteSlice;
use jiff::Timestamp;

use super::beside_head::BesideSearch;
use super::error::Error;
use super::known_refs::KnownRefs;
use super::lost_commits::is_since;
use super::open::Worktree;
use super::origin_evidence::{ContentAtBaseline, OriginEvidence};
use super::walk::CommitHistory;
use watchdog_facts::evidence::{Commits, WarningCode};
use watchdog_facts::work_beside::{BesideState, WorkBeside};

/// What git writes in a repository where a commit is made, or an entry of the stash goes.
const WRITTEN: [&str; 6] = [
    "logs/HEAD",
    "logs/refs",
    "refs",
    "packed-refs",
    "refs/heads",
    "reftable",
];

impl BesideSearch<'_, '_> {
    /// Adds to `commits` the work in submodules. Keeping it tells which submodules cannot be read.
    pub(super) fn search_submodules(&self, commits: &mut Commits) {
        let Some((edge, at)) =
            (self.evidence.edge.as_deref()).and_then(|edge| Some((edge, edge.at?)))
        else {
            return;
        };
        let is_written = |git_dir: &Path, name: &str| {
            fs::metadata(git_dir.join(name)).is_ok_and(|about| is_since(&about, at))
        };
        for (git_dir, name) in self.worktree.submodule_git_dirs() {
            if !WRITTEN.iter().any(|file| is_written(&git_dir, file)) {
                continue;
            }
            let Ok(mut inner) = self.search_submodule(&git_dir, &name, (edge, at)) else {
                continue;
            };
            for work in &mut inner.beside {
                let on = work
                    .on
                    .iter()
                    .map(|on| format!("{on} of "))
                    .collect::<String>();
                work.on = Some(format!("{on}submodule {name}"));
            }
            commits.beside.extend(inner.beside);
            let lost = inner
                .degraded
                .into_iter()
                .filter(|note| note.code == WarningCode::StashLost);
            commits.degraded.extend(lost.map(|mut note| {
                note.detail = format!("submodule {name}: {}", note.detail);
                note
            }));
        }
    }

    /// Searches a submodule as its own repository, of which no refs are recorded.
    fn search_submodule(
        &self,
        git_dir: &Path,
        name: &str,
        (edge, at): (&ContentAtBaseline, Timestamp),
    ) -> Result<Commits, Error> {
        let submodule = Worktree::open_git_dir(git_dir)?;
        let stashes = edge
            .left_behind
            .iter()
            .filter(|hex| submodule.is_stash_entry(hex));
        let content = ContentAtBaseline {
            stashes: Some(stashes.cloned().collect()),
            ..edge.clone()
        };
        let refs = KnownRefs::from(Vec::new());
        let evidence = OriginEvidence::from(Some(&refs)).with_content(content);
        let mut history = CommitHistory::new(&submodule)?;
        // The next checkout of a submodule without a folder moves its HEAD to the commit of the index.
        let head = match submodule.find_folder() {
            Some(_) => submodule.head_id()?,
            None => self
                .find_gitlink(name)
                .filter(|id| submodule.repo.has_object(*id)),
        };
        let mut new = Vec::new();
        for id in submodule.newest_commits(head) {
            let node = history.node(id);
            history.load(node)?;
            new.push(node);
        }
        let mut inner = Commits::default();
        BesideSearch {
            worktree: &submodule,
            history: &mut history,
            new: &new,
            head,
            evidence: &evidence,
        }
        .find_all(&mut inner)?;
        let is_new = |work: &WorkBeside| match work.state {
            BesideState::Merged => false,
            // Of a record without them each may be older.
            BesideState::Stashed => submodule
                .committed_at(&work.commit)
                .is_ok_and(|seconds| seconds >= at.as_second()),
            _ => true,
        };
        inner.beside.retain(is_new);
        Ok(inner)
    }

    /// The commit that the index has for the submodule at this path.
    fn find_gitlink(&self, path: &str) -> Option<ObjectId> {
        let index = self.worktree.index().ok()?;
        Some(index.entry_by_path(path.as_bytes().as_bstr())?.id)
    }
}

impl Worktree {
    /// Whether a commit is an entry of the stash here.
    fn is_stash_entry(&self, hex: &str) -> bool {
        let commit = self.find_commit(hex, || "read a stash entry").ok();
        let index = commit.and_then(|commit| commit.parent_ids().nth(1).map(gix::Id::detach));
        index.is_some_and(|index| {
            self.stash_message(&index.to_hex().to_string())
                .starts_with("index on ")
        })
    }
}
