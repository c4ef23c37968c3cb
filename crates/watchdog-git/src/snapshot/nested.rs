//! Opens repositories so that nothing they name can run: the worktree's own, submodules and others inside it.

use std::collections::BTreeSet;
use std::path::Path;

use gix::ObjectId;
use gix::bstr::{BStr, BString};
use gix::index::entry::{Flags, Stage};

use crate::error::{Error, ReadContext as _};
use crate::file_state::is_absent;
use crate::harden::deny_environment;

/// The same repository without any filter program of any configuration.
pub(super) fn without_filters(repo: &gix::Repository) -> Result<gix::Repository, Error> {
    let mut repo = repo.clone();
    let mut config = repo.config_snapshot_mut();
    let filters: Vec<_> = config
        .sections_and_ids_by_name("filter")
        .into_iter()
        .flatten()
        .map(|(_, id)| id)
        .collect();
    for id in filters {
        config.remove_section_by_id(id);
    }
    config
        .commit()
        .context("set the repository's filters aside")?;
    repo.object_cache_size_if_unset(4 << 20);
    Ok(repo)
}

/// The repository whose work tree is exactly `folder`.
pub(super) fn open_nested(folder: &Path) -> Option<gix::Repository> {
    std::fs::symlink_metadata(folder.join(".git")).ok()?;
    let repo = gix::open_opts(
        folder,
        gix::open::Options::default()
            .config_overrides(["core.useReplaceRefs=false"])
            .permissions(deny_environment()),
    )
    .ok()?;
    repo.workdir()?;
    without_filters(&repo).ok()
}

/// The commit that a repository is at.
pub(super) fn read_head(repo: &gix::Repository) -> Option<ObjectId> {
    repo.head_id().ok().map(gix::Id::detach)
}

/// The index of a repository; empty where there is none yet.
pub(super) fn read_index(repo: &gix::Repository) -> Result<gix::index::File, Error> {
    match repo.open_index() {
        Ok(index) => Ok(index),
        Err(_) if is_absent(&repo.index_path()) => Ok(empty_index(repo)),
        Err(_) => Err(Error::read_failure("read the index", "it is corrupt")),
    }
}

/// An index without entries.
pub(super) fn empty_index(repo: &gix::Repository) -> gix::index::File {
    gix::index::File::from_state(
        gix::index::State::new(repo.object_hash()),
        repo.index_path(),
    )
}

/// Paths whose index entry is not what HEAD has, so that the file is uncommitted even where it equals the index.
pub(super) fn list_staged(repo: &gix::Repository, index: &gix::index::File) -> BTreeSet<BString> {
    let committed = repo
        .head_tree_id_or_empty()
        .ok()
        .and_then(|tree| repo.index_from_tree(&tree).ok());
    let same = |entry: &gix::index::Entry| {
        let Some(committed) = &committed else {
            return false;
        };
        committed
            .entry_by_path(entry.path(index))
            .is_some_and(|c| c.id == entry.id && c.mode == entry.mode)
    };
    index
        .entries()
        .iter()
        .filter(|e| e.stage() == Stage::Unconflicted && !same(e))
        .map(|e| e.path(index).to_owned())
        .collect()
}

/// Whether two repositories share their objects, as linked worktrees do.
pub(super) fn same_repository(a: &gix::Repository, b: &gix::Repository) -> bool {
    let objects = |repo: &gix::Repository| repo.objects.store_ref().path().canonicalize();
    match (objects(a), objects(b)) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}

/// The content of a file that a sparse checkout left out of the work tree.
pub(super) fn skipped_blob(
    repo: &gix::Repository,
    index: &gix::index::File,
    path: &BStr,
) -> Option<Vec<u8>> {
    let entry = index
        .entry_by_path(path)
        .filter(|e| e.flags.contains(Flags::SKIP_WORKTREE))?;
    repo.find_blob(entry.id)
        .ok()
        .map(|mut blob| blob.take_data())
}
