//! Brings a snapshot back: into the work tree, as a branch, or into a folder. Never over unsaved work.

use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};

use super::blobs::{BlobWriteMode, ObjectSink};
use super::disk::{FolderWalk, PathKind};
use super::private::WholeSnapshot;
use super::proof::{entry_at, nested_files};
use super::record::StoredSnapshot;
use super::restore_disk::{ASIDE, DiskWriter, is_safe};
use super::restore_ignored::restore_ignored;
use super::restore_in_place::in_place;
use super::restore_index::restore_index;
use super::restore_result::{RestoreError, RestoreResult, RestoreTarget, RestoredTo};
use super::spec_name::{PREFIX, path_text};
use super::{diff, loose_ref, nested};
use crate::Worktree;
use crate::commit_text::tree_of;
use crate::error::{Error, ReadContext as _};
use crate::path_text::join_path;
use watchdog_facts::display::plural;
use watchdog_facts::evidence::{LeftOut, LeftOutReason};
use watchdog_facts::shell_line::{WorktreeCommands, shell_word};

/// A note about private files, which are never put on a branch.
fn private_note(worktree: &Worktree, stored: &StoredSnapshot) -> Option<String> {
    let (many, id) = (
        stored.record.private_files,
        stored.name.strip_prefix(PREFIX)?,
    );
    let files = if many == 1 {
        "1 private file (secret or over-size) is"
    } else {
        "private files (secrets, over-size) are"
    };
    let files = if many == 1 {
        files.to_owned()
    } else {
        format!("{many} {files}")
    };
    let restore = WorktreeCommands::at(worktree.root())
        .watchdog(&format!("rescue restore {} --to DIR", shell_word(id)));
    (many > 0).then(|| format!("{files} not on the branch; get everything with: {restore}"))
}

impl Worktree {
    /// Brings back the snapshot `id`, byte for byte with modes, links and deletions.
    ///
    /// # Errors
    /// See [`RestoreError`].
    pub fn restore(&self, id: &str, target: RestoreTarget) -> Result<RestoreResult, RestoreError> {
        let stored = self.find_snapshot(id)?;
        let id = stored.name.strip_prefix(PREFIX).unwrap_or(id).to_owned();
        match target {
            RestoreTarget::Branch(name) => self.restore_branch(&stored, &name),
            RestoreTarget::Directory(path) => self.restore_directory(&stored, path),
            RestoreTarget::Fresh => self.restore_fresh(&stored),
            RestoreTarget::InPlace | RestoreTarget::Automatic => {
                let quiet = nested::without_filters(&self.repo)?;
                let whole = WholeSnapshot::join_parts(&quiet, &stored.record, stored.tree)?;
                let mut restored = match in_place(self, &stored, &whole) {
                    Err(
                        why @ (RestoreError::NotClean { .. }
                        | RestoreError::WouldOverwrite { .. }
                        | RestoreError::Moved { .. }),
                    ) if target == RestoreTarget::Automatic => {
                        self.restore_as_branch(&stored, &id, &why)?
                    }
                    other => other?,
                };
                let (files, note) = restore_ignored(self, &whole)?;
                let is_branch = matches!(restored.to, RestoredTo::Branch(_));
                let count = plural(files, "ignored file");
                let count = (files > 0 && is_branch).then(|| format!("restored {count} in place"));
                restored.files += if is_branch { 0 } else { files };
                let notes = [restored.note, count, note].into_iter().flatten();
                restored.note = notes.reduce(|first, more| format!("{first}; {more}"));
                Ok(restored)
            }
        }
    }

    /// Restores the work as a branch of watchdog's own name, because it cannot come back into the work tree.
    fn restore_as_branch(
        &self,
        stored: &StoredSnapshot,
        id: &str,
        why: &RestoreError,
    ) -> Result<RestoreResult, RestoreError> {
        let (name, renamed) = self.find_free_name(format!("watchdog/restored/{id}"))?;
        let mut note = format!("restored as the branch {name}, because {why}");
        for more in renamed.into_iter().chain(private_note(self, stored)) {
            note.push_str(&format!("; {more}"));
        }
        let there = self
            .repo
            .try_find_reference(&format!("refs/heads/{name}"))
            .ok()
            .flatten();
        if there.is_some_and(|r| r.target().try_id() == Some(stored.commit.as_ref())) {
            return Ok(RestoreResult {
                to: RestoredTo::Branch(name),
                files: 0,
                left_out: Vec::new(),
                note: Some(note),
            });
        }
        let restored = self.restore_branch(stored, &name)?;
        Ok(RestoreResult {
            note: Some(note),
            ..restored
        })
    }

    fn restore_branch(
        &self,
        stored: &StoredSnapshot,
        name: &str,
    ) -> Result<RestoreResult, RestoreError> {
        let fault = |why: String| RestoreError::Branch {
            name: name.to_owned(),
            why,
        };
        let full: gix::refs::FullName = format!("refs/heads/{name}")
            .as_str()
            .try_into()
            .map_err(|_| fault("git allows no such name".into()))?;
        if self
            .repo
            .try_find_reference(full.as_ref())
            .context("look for the branch")?
            .is_some()
        {
            return Err(fault("it exists".into()));
        }
        self.create_branch(stored, full)
            .map_err(|e| fault(e.to_string()))?;
        let start = tree_of(&self.repo, stored.record.head)?;
        let files = diff::diff_trees(&self.repo, start, stored.tree)?.len() as u64;
        Ok(RestoreResult {
            to: RestoredTo::Branch(name.to_owned()),
            files,
            left_out: Vec::new(),
            note: private_note(self, stored),
        })
    }

    fn create_branch(
        &self,
        stored: &StoredSnapshot,
        full: gix::refs::FullName,
    ) -> Result<(), Error> {
        let message = format!("watchdog: restored {}", stored.name);
        if let Some(served) = &self.served {
            let created = served.create(&path_text(full.as_bstr()), stored.commit, &message)?;
            return if created {
                Ok(())
            } else {
                Err(Error::read_failure("create it", "it exists"))
            };
        }
        let log = (message, stored.record.at);
        loose_ref::create_logged_ref(&self.repo, full, stored.commit, log).context("create it")
    }

    fn restore_fresh(&self, stored: &StoredSnapshot) -> Result<RestoreResult, RestoreError> {
        let path = self.root();
        let write = RestoreError::at_path(path.display().to_string());
        let whole = WholeSnapshot::join_parts(
            &nested::without_filters(&self.repo)?,
            &stored.record,
            stored.tree,
        )?;
        if !holds_nothing_else(&whole, path).map_err(&write)? {
            return Err(RestoreError::NotEmpty {
                path: path.to_owned(),
            });
        }
        if self.repo.index_path().try_exists().map_err(&write)? {
            // The index comes last: an earlier restore that was cut short had done everything.
            let note = Some("an earlier restore of it had brought everything back".into());
            return Ok(RestoreResult {
                to: RestoredTo::WorkTree { index: true },
                files: 0,
                left_out: Vec::new(),
                note,
            });
        }
        let (files, left_out) = write_all(&whole, FolderWalk::open(path).map_err(&write)?)?;
        let (index, note) = restore_index(
            &whole.repo,
            stored,
            &whole,
            ObjectId::empty_tree(self.repo.object_hash()),
        )?;
        Ok(RestoreResult {
            to: RestoredTo::WorkTree { index },
            files,
            left_out,
            note: note.or_else(|| whole.note()),
        })
    }

    fn restore_directory(
        &self,
        stored: &StoredSnapshot,
        path: PathBuf,
    ) -> Result<RestoreResult, RestoreError> {
        let write = RestoreError::at_path(path.display().to_string());
        match std::fs::read_dir(&path).map(Iterator::count) {
            Ok(0) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                std::fs::create_dir_all(&path).map_err(&write)?
            }
            Ok(_) | Err(_) => return Err(RestoreError::NotEmpty { path }),
        }
        let below = FolderWalk::open(&path).map_err(&write)?;
        let whole = WholeSnapshot::join_parts(&self.repo, &stored.record, stored.tree)?;
        let (files, left_out) = write_all(&whole, below)?;
        Ok(RestoreResult {
            to: RestoredTo::Directory(path),
            files,
            left_out,
            note: whole.note(),
        })
    }
}

/// Whether a folder holds nothing but what an earlier restore of the same snapshot put there before it was killed: whole
/// files, byte for byte, and one that it had not put in its place yet, which is removed.
fn holds_nothing_else(whole: &WholeSnapshot, root: &Path) -> std::io::Result<bool> {
    let mut below = FolderWalk::open(root)?;
    let mut blobs = ObjectSink::dry(&whole.repo);
    let nested = nested_files(&whole.repo, whole.extras).unwrap_or_default();
    let mut folders = vec![BString::default()];
    while let Some(folder) = folders.pop() {
        for entry in below.list(&folder)? {
            let path = join_path(&folder, &entry.name);
            if path == ".git" {
                continue;
            }
            if entry.kind == PathKind::Folder {
                folders.push(path);
                continue;
            }
            if entry.name.starts_with(ASIDE.as_bytes()) {
                DiskWriter::new(&whole.repo, FolderWalk::open(root)?).remove(path.as_bstr())?;
                continue;
            }
            let wanted = entry_at(&whole.repo, whole.tree, &path)
                .ok()
                .flatten()
                .map(|(mode, id)| (mode.kind(), id));
            let wanted = wanted.or_else(|| nested.get(&path).copied());
            let there = blobs
                .take(&mut below, path.as_bstr(), BlobWriteMode::Name)?
                .map(|taken| (taken.kind, taken.id));
            if wanted.is_none() || wanted != there {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Writes all files of a snapshot below an empty folder. Returns their number, and the paths that were left out.
fn write_all(
    whole: &WholeSnapshot,
    below: FolderWalk,
) -> Result<(u64, Vec<LeftOut>), RestoreError> {
    let mut writer = DiskWriter::new(&whole.repo, below);
    let mut files = 0;
    let mut left_out = Vec::new();
    let empty = ObjectId::empty_tree(whole.repo.object_hash());
    let mut put = |path: &BStr, mode: gix::objs::tree::EntryMode, id: ObjectId| {
        if !is_safe(path) {
            left_out.push(LeftOut {
                path: path_text(path),
                why: LeftOutReason::Excluded,
            });
            return Ok(());
        }
        files += 1;
        writer
            .write_object(path, mode.kind(), id)
            .map_err(RestoreError::at_path(path_text(path)))
    };
    for entry in diff::diff_trees(&whole.repo, empty, whole.tree)? {
        if let Some((mode, id)) = entry.after {
            put(entry.path.as_bstr(), mode, id)?;
        }
    }
    for (path, (kind, id)) in nested_files(&whole.repo, whole.extras)? {
        put(path.as_bstr(), kind.into(), id)?;
    }
    // Before the index, which says that everything is there.
    writer
        .make_durable()
        .map_err(RestoreError::at_path("the restored files"))?;
    Ok((files, left_out))
}
