//! Index entries that git is configured to ignore, and sparse indexes: a plain
//! comparison would skip both silently.

use std::borrow::Cow;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use gix::bstr::{BString, ByteSlice};
use gix::index::State;
use gix::index::entry::{Flags, Mode, Stat};

use super::comparison_parts::WorkTreeStatus;
use super::error::{Error, ReadContext as _};
use super::open::Worktree;
use super::path_text::escape_path;
use watchdog_facts::evidence::{Degradation, WarningCode};
use watchdog_facts::shell_line::WorktreeCommands;
use watchdog_system::read_regular_file;

/// The marks of entries that git is configured to ignore.
pub(super) const HIDDEN: Flags = Flags::ASSUME_VALID.union(Flags::SKIP_WORKTREE);

/// The largest file that is compared by its content, in bytes.
const MOST_BYTES: u64 = 512 << 20;

/// Notes edits behind assume-unchanged and skip-worktree, and returns the index to use: the one on
/// disk, or another where that one would be misread.
///
/// As git does: a sparse index is unfolded, and in a sparse checkout a file that is there after all is
/// compared like any other.
pub(super) fn prepare_index<'index>(
    worktree: &Worktree,
    index: &'index State,
    status: &mut WorkTreeStatus,
) -> Result<Cow<'index, State>, Error> {
    let mut current = unfold_if_sparse(worktree, index)?;
    if !current.entries().iter().any(is_hidden) {
        return Ok(current);
    }
    let config = worktree.repo.config_snapshot();
    let sparse_checkout = config.boolean("core.sparseCheckout").unwrap_or(false)
        && !config
            .boolean("sparse.expectFilesOutsideOfPatterns")
            .unwrap_or(false);
    let stat_options = worktree
        .repo
        .stat_options()
        .with_context(|| format!("read the configuration of {}", worktree.root().display()))?;
    let mut present = Vec::new();
    let mut hidden: Vec<BString> = Vec::new();
    for (at, entry) in current.entries().iter().enumerate() {
        if !is_hidden(entry) || entry.mode == Mode::COMMIT {
            continue;
        }
        let path = entry.path(&current);
        let skipped = entry.flags.contains(Flags::SKIP_WORKTREE);
        let file = gix::path::from_bstr(path)
            .ok()
            .map(|path| worktree.root().join(path));
        let metadata = file
            .as_ref()
            .and_then(|file| gix::index::fs::Metadata::from_path_no_follow(file).ok());
        match metadata {
            Some(_) if skipped && sparse_checkout => present.push(at),
            Some(metadata) => {
                let same = Stat::from_fs(&metadata)
                    .is_ok_and(|stat| stat.matches(&entry.stat, stat_options));
                // An entry that was never checked out has no times to compare; only its content decides.
                if !same && !content_is(worktree, entry, file.as_deref()) {
                    hidden.push(path.to_owned());
                }
            }
            None if skipped => {}
            None => hidden.push(path.to_owned()),
        }
    }
    if let Some(first) = hidden.first() {
        let detail = format!(
            "{} changed files are hidden by assume-unchanged or skip-worktree, '{}' for one; see: {}",
            hidden.len(),
            escape_path(first),
            WorktreeCommands::at(worktree.root()).git("ls-files -v")
        );
        status
            .degraded
            .push(Degradation::new(WarningCode::HiddenEntries, detail));
        // git does not list them, and they are uncommitted all the same.
        status.unstaged.extend(hidden);
    }
    if present.is_empty() {
        return Ok(current);
    }
    let shown = current.to_mut();
    for at in present {
        shown.entries_mut()[at].flags.remove(Flags::SKIP_WORKTREE);
    }
    Ok(current)
}

/// Entries of an index that git is configured to ignore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HiddenEntries {
    /// How many there are.
    pub total: u64,
    /// The first of them, as text.
    pub first: String,
}

impl Worktree {
    /// The entries of the index that are marked assume-unchanged or skip-worktree, be they changed or not; `None` where there are none.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn hidden_entries(&self) -> Result<Option<HiddenEntries>, Error> {
        let index = self.index()?;
        let index = unfold_if_sparse(self, &index)?;
        let mut marked = index.entries().iter().filter(|entry| is_hidden(entry));
        let Some(first) = marked.next() else {
            return Ok(None);
        };
        Ok(Some(HiddenEntries {
            total: 1 + marked.count() as u64,
            first: escape_path(first.path(&index)),
        }))
    }
}

/// Whether a file has the content of its entry, line endings and filters aside.
fn content_is(
    worktree: &Worktree,
    entry: &gix::index::Entry,
    file: Option<&std::path::Path>,
) -> bool {
    let Some(file) = file else { return false };
    let kind = fs::symlink_metadata(file).map(|metadata| metadata.file_type());
    let content = match (kind, entry.mode) {
        (Ok(kind), Mode::SYMLINK) if kind.is_symlink() => {
            fs::read_link(file).map(|target| target.as_os_str().as_bytes().to_vec())
        }
        (Ok(kind), Mode::FILE | Mode::FILE_EXECUTABLE) if kind.is_file() => {
            read_regular_file(file, MOST_BYTES)
        }
        // Anything else, a pipe for one, is not to be opened.
        _ => return false,
    };
    let is_same = |content: Vec<u8>| {
        gix::objs::compute_hash(
            worktree.repo.object_hash(),
            gix::object::Kind::Blob,
            &content,
        )
        .is_ok_and(|id| id == entry.id)
    };
    content.is_ok_and(is_same)
}

/// Whether git is configured to ignore an entry.
pub(super) fn is_hidden(entry: &gix::index::Entry) -> bool {
    entry.flags.intersects(HIDDEN)
}

/// The same index with every folded-up folder replaced by the files in it.
pub(super) fn unfold_if_sparse<'index>(
    worktree: &Worktree,
    index: &'index State,
) -> Result<Cow<'index, State>, Error> {
    if !index.is_sparse() {
        return Ok(Cow::Borrowed(index));
    }
    let mut unfolded = State::new(index.object_hash());
    unfolded.set_timestamp(index.timestamp());
    for entry in index.entries() {
        let path = entry.path(index);
        if entry.mode != Mode::DIR {
            unfolded.dangerously_push_entry(entry.stat, entry.id, entry.flags, entry.mode, path);
            continue;
        }
        let doing = || format!("read tree {} of the sparse index", entry.id);
        let folder = worktree
            .repo
            .index_from_tree(&entry.id)
            .with_context(doing)?;
        for inner in folder.entries() {
            let full = [path.as_bytes(), inner.path(&folder).as_bytes()].concat();
            let flags = Flags::SKIP_WORKTREE | Flags::EXTENDED;
            unfolded.dangerously_push_entry(
                Stat::default(),
                inner.id,
                flags,
                inner.mode,
                full.as_bstr(),
            );
        }
    }
    unfolded.sort_entries();
    Ok(Cow::Owned(unfolded))
}
