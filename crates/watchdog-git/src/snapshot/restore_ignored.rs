//! Brings back ignored files that are gone or empty. They are no part of the work, so that no state of the work tree hinders it.

use gix::bstr::ByteSlice;

use super::blobs::{BlobWriteMode, ObjectSink};
use super::disk::{FileStat, FolderWalk, PathKind};
use super::private::WholeSnapshot;
use super::proof::entry_at;
use super::restore_disk::{DiskWriter, is_safe};
use super::restore_result::{RestoreError, SHOWN};
use super::spec_name::path_text;
use crate::Worktree;
use watchdog_facts::display::name_first;

/// Writes those of the snapshot where nothing but an empty file is. Returns how many, and a note about others.
pub(super) fn restore_ignored(
    worktree: &Worktree,
    whole: &WholeSnapshot,
) -> Result<(u64, Option<String>), RestoreError> {
    let root = worktree.root();
    let write_error = RestoreError::at_path(root.display().to_string());
    let repo = &whole.repo;
    let mut disk = FolderWalk::open(root).map_err(&write_error)?;
    let mut writer = DiskWriter::new(repo, FolderWalk::open(root).map_err(&write_error)?);
    let mut blobs = ObjectSink::dry(repo);
    let (mut files, mut newer) = (0, Vec::new());
    for path in whole.ignored_paths().map(|path| path.as_bstr()) {
        let Some((mode, id)) = entry_at(repo, whole.tree, path)?.filter(|_| is_safe(path)) else {
            continue;
        };
        let mut folders = path.rfind_iter("/").map(|at| path[..at].as_bstr());
        let is_blocked = folders.any(|folder| {
            let stat = disk.lstat(folder).ok().flatten();
            stat.is_some_and(|stat| stat.kind != PathKind::Folder)
        });
        let stat = disk.lstat(path).map_err(&write_error)?;
        let holds_something =
            |stat: FileStat| stat.size > 0 || !matches!(stat.kind, PathKind::File { .. });
        if is_blocked || stat.is_some_and(holds_something) {
            let present = blobs.take(&mut disk, path, BlobWriteMode::Name);
            if !present.is_ok_and(|present| present.is_some_and(|file| file.id == id)) {
                newer.push(path_text(path));
            }
            continue;
        }
        (writer.write_object(path, mode.kind(), id)).map_err(&write_error)?;
        disk.forget();
        files += 1;
    }
    writer.make_durable().map_err(&write_error)?;
    let note = (!newer.is_empty()).then(|| {
        format!(
            "ignored files that are different now were left as they are ({})",
            name_first(&newer, SHOWN)
        )
    });
    Ok((files, note))
}
