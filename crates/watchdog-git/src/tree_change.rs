//! Compares trees, file by file. Every object that is read must match its name.

use std::collections::HashSet;
use std::ops::ControlFlow;

use gix::ObjectId;
use gix::bstr::{BStr, BString};
use gix::diff::blob::{Algorithm, Diff, InternedInput};
use gix::diff::tree::recorder::{Change, Location};
use gix::diff::tree::{Recorder, State, visit};
use gix::objs::tree::EntryMode;
use gix::objs::{Find, FindHeader, TreeRefIter};

use super::blob_reader::verify_blob;
use super::error::{Error, ReadContext as _};
use super::open::Worktree;
use super::verified::VerifyingObjectReader;

/// A file above this many bytes is compared as a whole.
pub(super) const LINES_UP_TO: u64 = 4 << 20;

/// The entry of a file in a tree.
pub(super) type FileEntry = (EntryMode, ObjectId);

/// A file that differs.
pub(super) struct ChangedFile {
    pub path: BString,
    pub old: Option<FileEntry>,
    pub new: Option<FileEntry>,
}

impl From<Change> for ChangedFile {
    /// Folders are compared by the files in them: a side that is one is `None`.
    fn from(change: Change) -> Self {
        let file = |mode: EntryMode, id| (!mode.is_tree()).then_some((mode, id));
        match change {
            Change::Addition {
                entry_mode,
                oid,
                path,
                ..
            } => ChangedFile {
                path,
                old: None,
                new: file(entry_mode, oid),
            },
            Change::Deletion {
                entry_mode,
                oid,
                path,
                ..
            } => ChangedFile {
                path,
                old: file(entry_mode, oid),
                new: None,
            },
            Change::Modification {
                previous_entry_mode,
                previous_oid,
                entry_mode,
                oid,
                path,
            } => ChangedFile {
                path,
                old: file(previous_entry_mode, previous_oid),
                new: file(entry_mode, oid),
            },
        }
    }
}

/// Whether any file differs; folders without files do not count. Looks no further than the first one.
pub(super) fn has_changed_file(
    worktree: &Worktree,
    from: ObjectId,
    to: ObjectId,
) -> Result<bool, Error> {
    let mut first = FirstChangedFile(None);
    match diff_trees(&worktree.repo, from, to, &mut first) {
        Ok(()) => {}
        Err(_) if first.0.is_some() => {}
        Err(error) => return Err(error),
    }
    let Some(new) = first.0 else { return Ok(false) };
    verify_file(worktree, new)?;
    Ok(true)
}

/// The files that differ.
pub(super) fn list_changed_files(
    repo: &gix::Repository,
    from: ObjectId,
    to: ObjectId,
) -> Result<Vec<ChangedFile>, Error> {
    let mut recorder = Recorder::default().track_location(Some(Location::Path));
    diff_trees(repo, from, to, &mut recorder)?;
    let changes = recorder.records.into_iter().map(ChangedFile::from);
    Ok(changes.filter(|change| change.old != change.new).collect())
}

/// The file at a path of a tree.
pub(super) fn find_file(
    worktree: &Worktree,
    tree: ObjectId,
    path: &BStr,
) -> Result<Option<FileEntry>, Error> {
    let mut id = tree;
    let mut parts = path.split(|byte| *byte == b'/').peekable();
    while let Some(part) = parts.next() {
        match find_child(worktree, id, part)? {
            Some((mode, next)) if mode.is_tree() == parts.peek().is_some() => {
                if !mode.is_tree() {
                    return Ok(Some((mode, next)));
                }
                id = next;
            }
            _ => return Ok(None),
        }
    }
    Ok(None)
}

/// Refuses a file whose bytes are not here or do not match its name.
pub(super) fn verify_file(worktree: &Worktree, file: Option<FileEntry>) -> Result<(), Error> {
    let Some((mode, id)) = file.filter(|(mode, _)| !mode.is_commit()) else {
        return Ok(());
    };
    debug_assert!(!mode.is_tree());
    match read_object_size(&worktree.repo, id)? {
        // A partial clone may lack the object; its name is known all the same.
        None if is_partial(&worktree.repo) => Ok(()),
        _ => verify_blob(&worktree.repo.objects, &id).with_context(|| format!("read object {id}")),
    }
}

/// The entry of a name in a tree.
pub(super) fn find_child(
    worktree: &Worktree,
    tree: ObjectId,
    name: &[u8],
) -> Result<Option<FileEntry>, Error> {
    let mut buffer = Vec::new();
    for entry in read_tree(&worktree.repo, tree, &mut buffer)? {
        let entry = entry.with_context(|| format!("read tree {tree}"))?;
        if entry.filename == name {
            return Ok(Some((entry.mode, entry.oid.to_owned())));
        }
    }
    Ok(None)
}

/// Gives the content of each file that `to` has and `from` has not at its path, until `take` breaks off.
pub(super) fn each_new(
    worktree: &Worktree,
    from: ObjectId,
    to: ObjectId,
    take: impl FnMut(ObjectId) -> ControlFlow<()>,
) -> Result<(), Error> {
    diff_trees(&worktree.repo, from, to, &mut EachNewFile(take))
}

/// The bytes of a blob of at most `limit` bytes.
pub(super) fn read_blob(
    worktree: &Worktree,
    id: ObjectId,
    limit: u64,
) -> Result<Option<Vec<u8>>, Error> {
    if read_object_size(&worktree.repo, id)?.is_none_or(|size| size > limit) {
        return Ok(None);
    }
    let mut buffer = Vec::new();
    VerifyingObjectReader(&worktree.repo.objects).blob(id, &mut buffer)?;
    Ok(Some(buffer))
}

/// Whether a merge has lines in a file that none of the sides has. A file without comparable lines
/// counts as having some.
pub(super) fn has_own_lines(
    worktree: &Worktree,
    sides: &[Option<FileEntry>],
    merged: Option<FileEntry>,
) -> Result<bool, Error> {
    let Some(after) = read_text(worktree, merged)? else {
        return Ok(true);
    };
    let mut texts = Vec::new();
    for side in sides {
        texts.push(match side {
            None => Vec::new(),
            side => match read_text(worktree, *side)? {
                Some(before) => before,
                None => return Ok(true),
            },
        });
    }
    Ok(adds_own_lines(&texts, &after))
}

/// Whether a text has lines that none of the sides has.
pub(super) fn adds_own_lines(sides: &[Vec<u8>], after: &[u8]) -> bool {
    let mut own: Option<HashSet<u32>> = None;
    for before in sides {
        let input = InternedInput::new(before.as_slice(), after);
        let added: HashSet<u32> = Diff::compute(Algorithm::Histogram, &input)
            .hunks()
            .flat_map(|hunk| hunk.after)
            .collect();
        own = Some(own.map_or_else(|| added.clone(), |own| &own & &added));
    }
    own.is_some_and(|own| !own.is_empty())
}

/// The bytes of a file that can be compared by lines.
pub(super) fn read_text(
    worktree: &Worktree,
    file: Option<FileEntry>,
) -> Result<Option<Vec<u8>>, Error> {
    let Some((_, id)) = file.filter(|(mode, _)| mode.is_blob()) else {
        return Ok(None);
    };
    Ok(read_blob(worktree, id, LINES_UP_TO)?.filter(|bytes| !is_binary(bytes)))
}

/// The size of an object; `None` where it is missing.
pub(super) fn read_object_size(repo: &gix::Repository, id: ObjectId) -> Result<Option<u64>, Error> {
    let header = repo
        .objects
        .try_header(&id)
        .with_context(|| format!("read object {id}"))?;
    Ok(header.map(|header| header.size))
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

/// git's own test: a zero byte near the beginning.
pub(super) fn is_binary(data: &[u8]) -> bool {
    data[..data.len().min(8000)].contains(&0)
}

fn diff_trees(
    repo: &gix::Repository,
    from: ObjectId,
    to: ObjectId,
    delegate: &mut impl gix::diff::tree::Visit,
) -> Result<(), Error> {
    if from == to {
        return Ok(());
    }
    let (mut old_buffer, mut new_buffer) = (Vec::new(), Vec::new());
    let old_tree = read_tree(repo, from, &mut old_buffer)?;
    let new_tree = read_tree(repo, to, &mut new_buffer)?;
    gix::diff::tree(
        old_tree,
        new_tree,
        State::default(),
        VerifyingObjectReader(&repo.objects),
        delegate,
    )
    .with_context(|| format!("compare tree {from} with tree {to}"))
}

fn read_tree<'b>(
    repo: &gix::Repository,
    id: ObjectId,
    buffer: &'b mut Vec<u8>,
) -> Result<TreeRefIter<'b>, Error> {
    if id.is_empty_tree() {
        return Ok(TreeRefIter::from_bytes(&[], id.kind()));
    }
    let doing = || format!("read tree {id}");
    match VerifyingObjectReader(&repo.objects)
        .try_find(&id, buffer)
        .with_context(doing)?
    {
        Some(data) if data.kind == gix::object::Kind::Tree => {
            Ok(TreeRefIter::from_bytes(data.data, id.kind()))
        }
        _ => Err(Error::read_failure(doing(), "the object is missing")),
    }
}

/// Stops at the first file that differs, and keeps its new entry.
struct FirstChangedFile(Option<Option<FileEntry>>);

impl gix::diff::tree::Visit for FirstChangedFile {
    fn pop_front_tracked_path_and_set_current(&mut self) {}
    fn push_back_tracked_path_component(&mut self, _: &BStr) {}
    fn push_path_component(&mut self, _: &BStr) {}
    fn pop_path_component(&mut self) {}

    fn visit(&mut self, change: visit::Change) -> visit::Action {
        let (before, after) = match change {
            visit::Change::Addition {
                entry_mode, oid, ..
            } => (None, Some((entry_mode, oid))),
            visit::Change::Deletion {
                entry_mode, oid, ..
            } => (Some((entry_mode, oid)), None),
            visit::Change::Modification {
                previous_entry_mode,
                previous_oid,
                entry_mode,
                oid,
            } => (
                Some((previous_entry_mode, previous_oid)),
                Some((entry_mode, oid)),
            ),
        };
        let file = |side: Option<FileEntry>| side.filter(|(mode, _)| !mode.is_tree());
        if file(before) == file(after) {
            return std::ops::ControlFlow::Continue(());
        }
        self.0 = Some(file(after));
        std::ops::ControlFlow::Break(())
    }
}

/// Gives the new content of each file that differs.
struct EachNewFile<F>(F);

impl<F: FnMut(ObjectId) -> ControlFlow<()>> gix::diff::tree::Visit for EachNewFile<F> {
    fn pop_front_tracked_path_and_set_current(&mut self) {}
    fn push_back_tracked_path_component(&mut self, _: &BStr) {}
    fn push_path_component(&mut self, _: &BStr) {}
    fn pop_path_component(&mut self) {}

    fn visit(&mut self, change: visit::Change) -> visit::Action {
        match change {
            visit::Change::Addition {
                entry_mode, oid, ..
            }
            | visit::Change::Modification {
                entry_mode, oid, ..
            } if !entry_mode.is_tree() => match (self.0)(oid) {
                ControlFlow::Continue(()) => ControlFlow::Continue(()),
                ControlFlow::Break(()) => ControlFlow::Break(()),
            },
            _ => ControlFlow::Continue(()),
        }
    }
}
