//! Opens a repository once and shares it among all of its linked worktrees: they have the same objects and configuration, and otherwise
//! each of a thousand would read both again.

use std::cell::RefCell;
use std::fs;
use std::path::Path;

use gix::refs::file::Store;

use super::error::Error;
use super::file_state::is_own;
use super::open::Worktree;
use super::reftable::ref_store_options;
use super::worktrees::FoundWorktree;

/// The worktrees of one repository, opened one after the other.
#[derive(Default)]
pub struct RepoCache {
    kept: Option<Worktree>,
}

impl RepoCache {
    /// Opens a worktree as [`Worktree::open`] does, and reuses the parts of a sibling that was [given back](RepoCache::give_back).
    ///
    /// # Errors
    /// As [`Worktree::open`].
    pub fn open(&mut self, worktree: &FoundWorktree) -> Result<Worktree, Error> {
        if let Some(opened) = self
            .kept
            .take_if(|opened| can_reuse_parts(opened, worktree))
            && let Some(turned) = turn_to(opened, worktree)
        {
            return Ok(turned);
        }
        Worktree::open(&worktree.root)
    }

    /// Takes back a worktree that is done with, so that the next one need not be opened from scratch.
    pub fn give_back(&mut self, worktree: Worktree) {
        if worktree.from_sibling || (self.kept.is_none() && may_lend(&worktree)) {
            self.kept = Some(worktree);
        }
    }
}

/// Only a linked worktree distinguishes the shared directory from its own, and its configuration must be the shared one.
fn may_lend(worktree: &Worktree) -> bool {
    let config = worktree.repo.config_snapshot();
    let has_include_if = config
        .plumbing()
        .sections_by_name("includeIf")
        .is_some_and(|mut sections| sections.next().is_some());
    worktree.served.is_none()
        && worktree.config_fault().is_none()
        && worktree.git_dir != worktree.common_dir
        && !has_include_if
        && !has_own_settings(&worktree.git_dir, &worktree.root)
}

/// Whether a worktree has something that gix keeps with an opened repository.
fn has_own_settings(git_dir: &Path, root: &Path) -> bool {
    fs::symlink_metadata(git_dir.join("config.worktree")).is_ok()
        || fs::symlink_metadata(root.join(".gitmodules")).is_ok()
}

/// Whether the opened parts of one worktree are valid for another.
fn can_reuse_parts(opened: &Worktree, wanted_worktree: &FoundWorktree) -> bool {
    if wanted_worktree.common_dir != opened.common_dir
        || wanted_worktree.git_dir == wanted_worktree.common_dir
        || has_own_settings(&wanted_worktree.git_dir, &wanted_worktree.root)
    {
        return false;
    }
    // Opening a repository decides whether one of another owner is trusted.
    [
        &wanted_worktree.root,
        &wanted_worktree.root.join(".git"),
        &wanted_worktree.git_dir,
    ]
    .into_iter()
    .all(|path| is_own(path))
}

/// The same opened repository at the place of another worktree; `None` where there is no folder any more.
fn turn_to(opened: Worktree, worktree: &FoundWorktree) -> Option<Worktree> {
    let Worktree {
        mut repo,
        ignored_filters,
        ..
    } = opened;
    let options = ref_store_options(&repo);
    repo.refs = Store::for_linked_worktree_opts(
        worktree.git_dir.clone(),
        worktree.common_dir.clone(),
        repo.object_hash(),
        options,
    );
    repo.set_workdir(worktree.root.clone()).ok()?;
    Some(Worktree {
        repo,
        ignored_filters,
        from_sibling: true,
        root: worktree.root.clone(),
        git_dir: worktree.git_dir.clone(),
        common_dir: worktree.common_dir.clone(),
        served: None,
        read_index: RefCell::default(),
    })
}
