//! Reads what making commits needs from a snapshot: contents to search, entries to commit as they were, and what became of both.

use std::collections::{BTreeSet, HashMap};

use gix::ObjectId;
use gix::bstr::{BStr, ByteSlice};
use gix::objs::tree::EntryMode;

use super::Snapshot;
use super::blobs::{BlobWriteMode, CapturedFile, ObjectSink};
use super::proof::{any_entry_at, entry_at};
use super::spec_name::path_text;
use super::{diff, private};
use crate::Worktree;
use crate::commit_text::{tree_of, trees_around};
use crate::error::{Error, ReadContext as _};

/// A file before the work and with it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileBeforeAfter {
    /// The content in the commit that the work began at; `None` where it has no such file, or one over the limit.
    pub before: Option<Vec<u8>>,
    /// The content in the snapshot; `None` where it is gone, no file, or over the limit.
    pub after: Option<Vec<u8>>,
}

/// A path of a snapshot, to be committed just so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryToCommit {
    /// git's mode in octal and the object's name; `None` where the path is gone.
    pub content: Option<(String, String)>,
    /// Whether the work tree still has the content of the snapshot.
    pub untouched: bool,
}

/// The changes of a commit beyond those that were requested.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommitSideEffects {
    /// Paths that the index still has as they were before the commit.
    pub behind: Vec<Vec<u8>>,
    /// Paths that were not requested, and that a hook added to the commit.
    pub added: Vec<Vec<u8>>,
}

fn parse_id(hex: &str, doing: &str) -> Result<ObjectId, Error> {
    hex.parse::<ObjectId>().context(doing)
}

fn is_same_file(entry: Option<(EntryMode, ObjectId)>, taken: Option<CapturedFile>) -> bool {
    match (entry, taken) {
        (None, None) => true,
        (Some((mode, id)), Some(taken)) => mode.kind() == taken.kind && id == taken.id,
        (None, Some(_)) | (Some(_), None) => false,
    }
}

impl Worktree {
    /// The tree, hexadecimal, of the commit that a snapshot started from; the empty tree on an unborn branch.
    ///
    /// # Errors
    /// When the commit cannot be read.
    pub fn tree_before(&self, snapshot: &Snapshot) -> Result<String, Error> {
        Ok(self.before(snapshot)?.to_string())
    }

    fn before(&self, snapshot: &Snapshot) -> Result<ObjectId, Error> {
        let doing = "read the commit that a snapshot started from";
        let parent = snapshot.parent.as_deref();
        tree_of(
            &self.repo,
            parent.map(|id| parse_id(id, doing)).transpose()?,
        )
    }

    /// A path's content before and with the work, each up to `limit` bytes.
    ///
    /// # Errors
    /// When the objects cannot be read.
    pub fn versions(
        &self,
        snapshot: &Snapshot,
        path: &[u8],
        limit: u64,
    ) -> Result<FileBeforeAfter, Error> {
        let doing = "read a file of a snapshot";
        let content = |entry: Option<(EntryMode, ObjectId)>| -> Result<Option<Vec<u8>>, Error> {
            let Some((_, id)) = entry.filter(|(mode, _)| !mode.is_commit()) else {
                return Ok(None);
            };
            if self.repo.find_header(id).context(doing)?.size() > limit {
                return Ok(None);
            }
            Ok(Some(
                self.repo.find_object(id).context(doing)?.detach().data,
            ))
        };
        let before = entry_at(&self.repo, self.before(snapshot)?, path)?;
        // In the snapshot itself a private path is as in HEAD: its content is in the private part.
        let after = match private::work_entry(
            &self.repo,
            parse_id(&snapshot.commit, doing)?,
            path.as_bstr(),
        )? {
            Some(private) => Some(private),
            None => entry_at(&self.repo, parse_id(&snapshot.tree, doing)?, path)?,
        };
        Ok(FileBeforeAfter {
            before: content(before)?,
            after: content(after)?,
        })
    }

    /// The entries of a snapshot at these paths, and whether the work tree still agrees.
    ///
    /// # Errors
    /// When the snapshot cannot be read.
    pub fn kept_entries(
        &self,
        snapshot: &Snapshot,
        paths: &[&[u8]],
    ) -> Result<Vec<EntryToCommit>, Error> {
        let mut below = self.open_folder_walk()?;
        let mut blobs = ObjectSink::dry(&self.repo);
        let tree = parse_id(&snapshot.tree, "read a snapshot")?;
        let mut entries = Vec::with_capacity(paths.len());
        for path in paths {
            let path = path.as_bstr();
            let entry = entry_at(&self.repo, tree, path)?;
            let submodule = entry.is_some_and(|(mode, _)| mode.is_commit());
            // A file that cannot be read now is taken as it was.
            let untouched = submodule
                || blobs
                    .take(&mut below, path, BlobWriteMode::Name)
                    .is_ok_and(|taken| is_same_file(entry, taken));
            let content = entry.map(|(mode, id)| (format!("{:06o}", mode.value()), id.to_string()));
            entries.push(EntryToCommit { content, untouched });
        }
        Ok(entries)
    }

    /// Whether the work tree has every one of these paths with the bytes of HEAD.
    ///
    /// # Errors
    /// When HEAD cannot be read.
    pub fn is_on_disk_as_committed(&self, paths: &[Vec<u8>]) -> Result<bool, Error> {
        let mut below = self.open_folder_walk()?;
        let mut blobs = ObjectSink::dry(&self.repo);
        let head = self.head_tree()?;
        for path in paths {
            let committed = entry_at(&self.repo, head, path)?;
            if !blobs
                .take(&mut below, path.as_bstr(), BlobWriteMode::Name)
                .is_ok_and(|taken| is_same_file(committed, taken))
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The same paths as fewer pathspecs, because git compares each with every entry of the index: a folder stands for its files where
    /// HEAD has nothing of its name and the index has no others in it.
    ///
    /// # Errors
    /// When HEAD or the index cannot be read.
    pub fn shorten_pathspecs<'p>(&self, paths: &[&'p [u8]]) -> Result<Vec<&'p [u8]>, Error> {
        let index = super::nested::read_index(&self.repo)?;
        let head = self.head_tree()?;
        let listed: BTreeSet<&[u8]> = paths.iter().copied().collect();
        let is_listed = |entry: &gix::index::Entry| listed.contains(entry.path(&index).as_bytes());
        let is_whole = |folder: &[u8]| -> Result<bool, Error> {
            let below = index.prefixed_entries([folder, b"/"].concat().as_bstr());
            Ok(below.is_some_and(|entries| entries.iter().all(is_listed))
                && any_entry_at(&self.repo, head, folder)?.is_none())
        };
        let mut whole: HashMap<&[u8], bool> = HashMap::new();
        let mut pathspecs: Vec<&'p [u8]> = Vec::new();
        for path in &listed {
            let above = pathspecs.last().and_then(|last| path.strip_prefix(*last));
            if above.is_some_and(|below| below.starts_with(b"/")) {
                continue;
            }
            let mut pathspec = *path;
            for (end, _) in path.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
                let folder = &path[..end];
                let is_whole = match whole.get(folder) {
                    Some(is_whole) => *is_whole,
                    None => *whole.entry(folder).or_insert(is_whole(folder)?),
                };
                if is_whole {
                    pathspec = folder;
                    break;
                }
            }
            pathspecs.push(pathspec);
        }
        Ok(pathspecs)
    }

    /// The changes of HEAD's commit beyond the requested paths.
    ///
    /// # Errors
    /// When the index or the commit cannot be read.
    pub fn after_commit(&self, wanted: &[&[u8]]) -> Result<CommitSideEffects, Error> {
        let doing = "look at the commit that was made";
        self.refresh()?;
        let repo = &self.repo;
        let index = super::nested::read_index(repo)?;
        let head = self
            .head_id()?
            .ok_or_else(|| Error::read_failure(doing, "HEAD has no commit"))?;
        let commit = repo.find_commit(head).context(doing)?;
        let (before, tree) = trees_around(repo, &commit)?;
        let wanted: BTreeSet<&[u8]> = wanted.iter().copied().collect();
        let indexed = |path: &BStr| {
            index
                .entry_by_path(path)
                .map(|e| (e.mode.to_tree_entry_mode().map(|mode| mode.kind()), e.id))
        };
        let entry =
            |entry: Option<(EntryMode, ObjectId)>| entry.map(|(mode, id)| (Some(mode.kind()), id));
        let mut after = CommitSideEffects::default();
        for path in &wanted {
            if indexed(path.as_bstr()) != entry(entry_at(repo, tree, path)?) {
                after.behind.push(path.to_vec());
            }
        }
        for change in diff::diff_trees(repo, before, tree)? {
            if wanted.contains(change.path.as_slice()) {
                continue;
            }
            let now = indexed(change.path.as_bstr());
            // Files that the user staged stay staged.
            if now != entry(change.after) && now == entry(change.before) {
                after.behind.push(change.path.to_vec());
            }
            after.added.push(change.path.to_vec());
        }
        Ok(after)
    }

    /// Those of `paths` whose content in HEAD differs from the snapshot because of one of the commits `made`,
    /// while the work tree agrees with HEAD: the effect of a hook that reformats files.
    ///
    /// Leaves out paths that the commit did not change, removed, or emptied.
    ///
    /// # Errors
    /// When commits cannot be read.
    pub fn rewritten_by<'p>(
        &self,
        made: &[String],
        snapshot: &Snapshot,
        paths: &[&'p [u8]],
    ) -> Result<Vec<&'p [u8]>, Error> {
        let doing = "look at what hooks changed";
        let repo = &self.repo;
        let mut below = self.open_folder_walk()?;
        let mut blobs = ObjectSink::dry(repo);
        let head = self.head_tree()?;
        let work = parse_id(&snapshot.tree, doing)?;
        let mut steps = Vec::new();
        for commit in made {
            steps.push(trees_around(repo, &self.find_commit(commit, || doing)?)?);
        }
        let size = |id: ObjectId| repo.find_header(id).map(|h| h.size()).context(doing);
        let mut uncommitted: Option<BTreeSet<String>> = None;
        let mut rewritten = Vec::new();
        for path in paths {
            let name: &BStr = path.as_bstr();
            let (Some(committed), Some(kept)) =
                (entry_at(repo, head, name)?, entry_at(repo, work, name)?)
            else {
                continue;
            };
            if committed.0.is_commit()
                || kept.0.is_commit()
                || (size(committed.1)? == 0 && size(kept.1)? > 0)
            {
                continue;
            }
            let mut ours = false;
            for (before, after) in &steps {
                ours |= entry_at(repo, *after, name)? == Some(committed)
                    && entry_at(repo, *before, name)? != Some(committed);
            }
            if !ours {
                continue;
            }
            let mut agrees = blobs
                .take(&mut below, name, BlobWriteMode::Name)
                .is_ok_and(|taken| is_same_file(Some(committed), taken));
            if !agrees {
                // Converted on the way (line endings): git's own comparison decides.
                if uncommitted.is_none() {
                    let changes = self.changes()?;
                    let whole = changes.paths.len() < watchdog_facts::evidence::Changes::LISTED;
                    uncommitted = Some(if whole {
                        changes.paths.into_iter().collect()
                    } else {
                        continue;
                    });
                }
                agrees = uncommitted
                    .as_ref()
                    .is_some_and(|paths| !paths.contains(&path_text(name)));
            }
            if agrees {
                rewritten.push(*path);
            }
        }
        Ok(rewritten)
    }
}
