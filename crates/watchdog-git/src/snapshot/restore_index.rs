//! Puts the index back as it was: staged, unstaged, in conflict, added without content.

use std::io::{BufWriter, Write};

use gix::ObjectId;
use gix::bstr::{BString, ByteSlice};
use gix::index::entry::{Flags, Mode, Stage};

use super::blobs::ObjectSink;
use super::private::WholeSnapshot;
use super::record::StoredSnapshot;
use super::restore_result::RestoreError;
use super::scan::{is_committable, mode_of};
use super::{diff, nested, tree};
use crate::error::{Error, ReadContext as _};
use crate::file_state::is_absent;
use crate::hidden::HIDDEN;
use crate::shared_modes::SharedModes;

/// Restores the index under git's own lock, if HEAD has not moved since the snapshot.
///
/// Returns whether it did, and the reason if not. Leaves an index alone that differs from HEAD.
pub(super) fn restore_index(
    repo: &gix::Repository,
    stored: &StoredSnapshot,
    whole: &WholeSnapshot,
    head_tree: ObjectId,
) -> Result<(bool, Option<String>), RestoreError> {
    let head = repo.head_id().ok().map(gix::Id::detach);
    let Some(index_tree) = whole.index.filter(|_| head == stored.record.head) else {
        return Ok((false, None));
    };
    let path = repo.index_path();
    let lock = gix::lock::File::acquire_to_update_resource(
        &path,
        gix::lock::acquire::Fail::Immediately,
        None,
        SharedModes::for_repository(repo).for_lock(),
    );
    let lock = match lock {
        Ok(lock) => lock,
        Err(_) if path.with_extension("lock").exists() => {
            return Ok((
                false,
                Some("the index is left as it is: another git holds index.lock".into()),
            ));
        }
        Err(error) => {
            return Ok((
                false,
                Some(format!(
                    "the index is left as it is: {}",
                    Error::read_error("lock it", error)
                )),
            ));
        }
    };
    let current = match repo.open_index() {
        Ok(index) => index,
        Err(_) if is_absent(&path) => nested::empty_index(repo),
        Err(_) => {
            return Ok((
                false,
                Some("the index is left as it is: it cannot be read".into()),
            ));
        }
    };
    if current.is_sparse() {
        return Ok((
            false,
            Some("the index is left as it is: it is a sparse one".into()),
        ));
    }
    if !current.entries().iter().all(is_committable)
        || tree::of_index(repo, &current, &mut ObjectSink::dry(repo))? != head_tree
    {
        return Ok((
            false,
            Some("the index is left as it is: something was staged meanwhile".into()),
        ));
    }
    let mut index = as_recorded(repo, index_tree, whole.extras)?;
    let written = current.timestamp().unix_seconds();
    for (entry, path) in index.entries_mut_with_paths() {
        if let Some(current_entry) = current.entry_by_path(path).filter(|k| {
            k.id == entry.id && k.mode == entry.mode && entry.stage() == Stage::Unconflicted
        }) {
            // A file changed within the second in which the index was written may look unchanged; the new index is younger than that
            // second, so that git would not compare its content any more.
            if i64::from(current_entry.stat.mtime.secs) < written {
                entry.stat = current_entry.stat;
            }
            entry.flags |= current_entry.flags & HIDDEN;
        }
    }
    let mut file = gix::index::File::from_state(index, path);
    // Files were just written: without a stat of its own, an entry is compared by content.
    file.remove_tree();
    let write = RestoreError::at_path("the index");
    let mut lock = BufWriter::with_capacity(1 << 16, lock);
    file.write_to(&mut lock, gix::index::write::Options::default())
        .context("write the index")?;
    lock.flush().map_err(&write)?;
    let mut lock = lock.into_inner().map_err(|e| write(e.into_error()))?;
    lock.with_mut(|file| file.sync_all()).map_err(&write)?;
    lock.commit().context("put the index in place")?;
    Ok((true, None))
}

/// The index as the snapshot recorded it.
fn as_recorded(
    repo: &gix::Repository,
    index_tree: ObjectId,
    extras: Option<ObjectId>,
) -> Result<gix::index::State, RestoreError> {
    let mut state = gix::index::State::from(
        repo.index_from_tree(&index_tree)
            .context("read the recorded index")?,
    );
    let Some(extras) = extras else {
        return Ok(state);
    };
    let empty = ObjectId::empty_tree(repo.object_hash());
    let mut conflicts: Vec<(BString, Stage, Mode, ObjectId)> = Vec::new();
    let mut intent: Vec<(Mode, BString)> = Vec::new();
    for entry in diff::diff_trees(repo, empty, extras)? {
        let Some((mode, id)) = entry.after else {
            continue;
        };
        if entry.path == tree::INTENT_TO_ADD {
            let names = repo
                .find_blob(id)
                .context("read the recorded index")?
                .take_data();
            intent.extend(names.split(|b| *b == 0).filter_map(|line| {
                let (mode, path) = line.split_once_str(" ")?;
                let mode = Mode::from_bits(u32::from_str_radix(mode.to_str().ok()?, 8).ok()?)?;
                Some((mode, BString::from(path)))
            }));
        }
        let Some(below_conflicts) = entry
            .path
            .strip_prefix(tree::CONFLICTS.as_bytes())
            .and_then(|r| r.strip_prefix(b"/"))
        else {
            continue;
        };
        let stage = match below_conflicts.first() {
            Some(b'1') => Stage::Base,
            Some(b'2') => Stage::Ours,
            Some(b'3') => Stage::Theirs,
            _ => continue,
        };
        let mode = mode_of(mode.kind()).unwrap_or(Mode::FILE);
        conflicts.push((BString::from(&below_conflicts[2..]), stage, mode, id));
    }
    state.remove_entries(|_, path, _| conflicts.iter().any(|(conflict, ..)| conflict == path));
    for (path, stage, mode, id) in &conflicts {
        state.dangerously_push_entry(
            gix::index::entry::Stat::default(),
            *id,
            Flags::from_stage(*stage),
            *mode,
            path.as_bstr(),
        );
    }
    let nothing = ObjectId::empty_blob(repo.object_hash());
    for (mode, path) in &intent {
        let flags = Flags::INTENT_TO_ADD | Flags::EXTENDED;
        state.dangerously_push_entry(
            gix::index::entry::Stat::default(),
            nothing,
            flags,
            *mode,
            path.as_bstr(),
        );
    }
    state.sort_entries();
    Ok(state)
}
