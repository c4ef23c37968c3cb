//! Stores secrets and over-size files in a private part, so that the rest of a snapshot can be merged or pushed.
//!
//! They go into a commit of their own at `refs/watchdog/private/<spec>/<utc>-<n>`, with the same id as the snapshot's. It has no
//! parents, and the snapshot's commit references it only by the name in its message (`Watchdog-Private`). Its tree:
//! - `work/<path>`: the file as in the work tree,
//! - `index/<path>`: the file as staged,
//! - `conflicts/<stage>/<path>` and `nested/<path>`: entries that would otherwise be in the snapshot's extras,
//! - `why`: `<reason> <path>`, each ended by NUL.
//!
//! In the snapshot itself such a path is as in HEAD.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};
use gix::index::entry::{Flags, Stage};
use gix::objs::Exists;
use gix::objs::tree::{EntryKind, EntryMode};

use super::blobs::{CapturedFile, ObjectSink};
use super::diff::{self, PathDifference};
use super::proof::entry_at;
use super::record::{self, SnapshotRecord};
use super::scan::{ScannedChanges, TreeEdit, kind_of, mode_of};
use super::spec_name::path_text;
use super::tree;
use super::{PrivacyClassifier, SecretFile, SnapshotCandidate};
use crate::commit_text::tree_of;
use crate::error::{Error, ReadContext as _};
use watchdog_facts::display::to_hex;

const WORK: &str = "work";
const INDEX: &str = "index";
const WHY: &str = "why";
/// The reason for storing a secret.
pub(super) const SECRET: &str = "secret";
/// The reason for storing a file that only rules newer than the baseline ignore: work that no commit takes.
pub(super) const NEWLY_IGNORED: &str = "newly_ignored";
/// Secrets that copies are compared with: how many, and of which size at most.
const MOST_SECRETS: usize = 200;
const LARGEST_SECRET: usize = 1 << 20;
/// The reason for storing an ignored file in the private part: it is no part of the work, and readers of the work skip it.
pub(super) const IGNORED: &str = "ignored";

/// The parts of a snapshot: the scanned files, and their trees.
pub(super) struct SnapshotTrees {
    pub index: ObjectId,
    pub extras: Option<ObjectId>,
    pub tree: ObjectId,
}

impl SnapshotTrees {
    /// Writes the trees.
    pub(super) fn build(
        repo: &gix::Repository,
        index: &gix::index::File,
        changes: &BTreeMap<BString, TreeEdit>,
        nested: &BTreeMap<BString, CapturedFile>,
        blobs: &mut ObjectSink<'_>,
    ) -> Result<Self, Error> {
        let index_tree = tree::of_index(repo, index, blobs)?;
        let extras = tree::of_extras(repo, index, nested, blobs)?;
        Ok(SnapshotTrees {
            index: index_tree,
            extras,
            tree: tree::edit_tree(repo, index_tree, changes, blobs)?,
        })
    }
}

/// HEAD's entry of a path.
type HeadEntry = Option<(EntryMode, ObjectId)>;

/// The paths of the private part.
#[derive(Default)]
pub(super) struct PrivateSnapshotPart {
    /// The private tree's entries, by path in it.
    files: BTreeMap<BString, (EntryKind, ObjectId)>,
    why: BTreeMap<BString, &'static str>,
    work: BTreeMap<BString, HeadEntry>,
    staged: BTreeMap<BString, HeadEntry>,
    conflicted: BTreeMap<BString, HeadEntry>,
    nested: BTreeSet<BString>,
}

impl PrivateSnapshotPart {
    /// Asks `rule` about everything that differs from HEAD. Returns `None` if no file is private.
    /// `earlier` is the private commit of the spec's newest snapshot: a secret that was moved since
    /// then is known by it.
    pub(super) fn find(
        (head_tree, earlier): (ObjectId, Option<ObjectId>),
        parts: &SnapshotTrees,
        changed: &[PathDifference],
        index: &gix::index::File,
        scanned: &ScannedChanges,
        blobs: &mut ObjectSink<'_>,
        rule: PrivacyClassifier<'_>,
    ) -> Result<Option<Self>, Error> {
        let mut private = PrivateSnapshotPart::default();
        let repo = blobs.repo();
        for (path, (taken, why)) in &scanned.ignored {
            private.add_entry(WORK, path.as_bstr(), taken.kind, taken.id, why);
        }
        let staged = if parts.index == head_tree {
            Vec::new()
        } else {
            diff::diff_trees(repo, head_tree, parts.index)?
        };
        let blobs = RefCell::new(blobs);
        let read = |id: ObjectId| blobs.borrow_mut().content(id);
        let earlier = earlier.map_or_else(Vec::new, |earlier| private_secrets(repo, earlier));
        let secrets = secret_files([changed, &staged], scanned, earlier, &read, rule);
        let ask = |path: &BStr, bytes: u64, id: ObjectId| {
            let committed = || {
                entry_at(repo, head_tree, path)
                    .ok()
                    .flatten()
                    .and_then(|(_, id)| read(id))
            };
            let (path, content) = (path_text(path), || read(id));
            rule(&SnapshotCandidate {
                path: &path,
                bytes,
                ignored: false,
                folder: false,
                newly_ignored: false,
                content: &content,
                committed: &committed,
                secrets: &secrets,
            })
        };
        for (changes, folder) in [(changed, WORK), (&staged[..], INDEX)] {
            for change in changes {
                let Some((mode, id)) = change.after.filter(|(mode, _)| !mode.is_commit()) else {
                    continue;
                };
                let Some(why) = ask(change.path.as_bstr(), change.bytes, id) else {
                    continue;
                };
                private.add_entry(folder, change.path.as_bstr(), mode.kind(), id, why);
                let set = if folder == WORK {
                    &mut private.work
                } else {
                    &mut private.staged
                };
                set.insert(change.path.clone(), change.before);
            }
        }
        for entry in index
            .entries()
            .iter()
            .filter(|e| e.stage() != Stage::Unconflicted)
        {
            let path = entry.path(index);
            let Some(kind) = kind_of(entry.mode).filter(|kind| *kind != EntryKind::Commit) else {
                continue;
            };
            let bytes = repo.find_header(entry.id).map_or(0, |header| header.size());
            if let Some(why) = ask(path, bytes, entry.id) {
                private.add_entry(
                    &format!("{}/{}", tree::CONFLICTS, entry.stage_raw()),
                    path,
                    kind,
                    entry.id,
                    why,
                );
                private
                    .conflicted
                    .insert(path.to_owned(), entry_at(repo, head_tree, path)?);
            }
        }
        for (path, taken) in &scanned.nested {
            if let Some(why) = ask(path.as_bstr(), taken.stat.size, taken.id) {
                private.add_entry(tree::NESTED, path.as_bstr(), taken.kind, taken.id, why);
                private.nested.insert(path.clone());
            }
        }
        Ok((!private.files.is_empty()).then_some(private))
    }

    fn add_entry(
        &mut self,
        folder: &str,
        path: &BStr,
        kind: EntryKind,
        id: ObjectId,
        why: &'static str,
    ) {
        let mut full = BString::from(format!("{folder}/"));
        full.extend_from_slice(path);
        self.files.insert(full, (kind, id));
        self.why.insert(path.to_owned(), why);
    }

    /// The number of private paths.
    pub(super) fn len(&self) -> u64 {
        self.why.len() as u64
    }

    /// The work tree's changes as the shared snapshot has them: private paths are as in HEAD.
    pub(super) fn without(
        &self,
        changes: &BTreeMap<BString, TreeEdit>,
    ) -> BTreeMap<BString, TreeEdit> {
        let mut public = changes.clone();
        for (path, committed) in &self.work {
            let as_committed = match committed {
                Some((mode, id)) => TreeEdit::Exactly(mode.kind(), *id),
                None => TreeEdit::Remove,
            };
            public.insert(path.clone(), as_committed);
        }
        public
    }

    /// The files of nested repositories that the shared snapshot has.
    pub(super) fn without_nested(
        &self,
        nested: &BTreeMap<BString, CapturedFile>,
    ) -> BTreeMap<BString, CapturedFile> {
        nested
            .iter()
            .filter(|(path, _)| !self.nested.contains(*path))
            .map(|(path, taken)| (path.clone(), *taken))
            .collect()
    }

    /// The index without private content, for the public snapshot.
    pub(super) fn without_staged(&self, index: &gix::index::File) -> gix::index::File {
        let mut public = index.clone();
        let private: BTreeMap<&BString, &HeadEntry> =
            self.staged.iter().chain(&self.conflicted).collect();
        if private.is_empty() {
            return public;
        }
        public.remove_tree();
        public.remove_entries(|_, path, entry| {
            !entry.flags.contains(Flags::INTENT_TO_ADD) && private.contains_key(&path.to_owned())
        });
        for (path, committed) in private {
            if let Some((mode, id)) = committed
                && let Some(mode) = mode_of(mode.kind())
            {
                public.dangerously_push_entry(
                    gix::index::entry::Stat::default(),
                    *id,
                    Flags::empty(),
                    mode,
                    path.as_bstr(),
                );
            }
        }
        public.sort_entries();
        public
    }

    /// Writes the tree of the private part.
    pub(super) fn write(
        &self,
        repo: &gix::Repository,
        blobs: &mut ObjectSink<'_>,
    ) -> Result<ObjectId, Error> {
        let mut why = Vec::new();
        for (path, reason) in &self.why {
            why.extend_from_slice(reason.as_bytes());
            why.push(b' ');
            why.extend_from_slice(path);
            why.push(0);
        }
        let mut files = self.files.clone();
        files.insert(
            WHY.into(),
            (
                EntryKind::Blob,
                blobs.object(&gix::objs::Blob { data: why })?,
            ),
        );
        let files = files
            .into_iter()
            .map(|(path, (kind, id))| (path, TreeEdit::Exactly(kind, id)))
            .collect();
        tree::edit_tree(
            repo,
            ObjectId::empty_tree(repo.object_hash()),
            &files,
            blobs,
        )
    }
}

/// The files of the work tree that a private commit keeps as secrets. Best effort: without them a moved secret is not known again.
fn private_secrets(repo: &gix::Repository, commit: ObjectId) -> Vec<(BString, ObjectId)> {
    let Ok(tree) = tree_of(repo, commit) else {
        return Vec::new();
    };
    let reasons = entry_at(repo, tree, WHY.as_bytes())
        .ok()
        .flatten()
        .and_then(|(_, id)| repo.find_blob(id).ok());
    let reasons = reasons
        .map(|mut blob| parse_reasons(&blob.take_data()))
        .unwrap_or_default();
    let files =
        diff::diff_trees(repo, ObjectId::empty_tree(repo.object_hash()), tree).unwrap_or_default();
    let work = files.into_iter().filter_map(|file| {
        let path = BString::from(
            file.path
                .strip_prefix(WORK.as_bytes())?
                .strip_prefix(b"/")?,
        );
        let id = file.after?.1;
        (reasons.get(&path).is_some_and(|reason| reason == SECRET)).then_some((path, id))
    });
    work.collect()
}

/// The reason of each path in a private part.
fn parse_reasons(text: &[u8]) -> BTreeMap<BString, String> {
    let lines = text
        .split(|byte| *byte == 0)
        .filter_map(|line| line.split_once_str(" "));
    lines
        .map(|(reason, path)| (BString::from(path), path_text(reason)))
        .collect()
}

/// The secrets of an earlier snapshot, and the files of this one, those that it removes, and ignored ones, that are secrets by their name
/// alone: copies of them are secrets, too.
fn secret_files(
    changes: [&[PathDifference]; 2],
    scanned: &ScannedChanges,
    earlier: Vec<(BString, ObjectId)>,
    read: &dyn Fn(ObjectId) -> Option<Vec<u8>>,
    rule: PrivacyClassifier<'_>,
) -> Vec<SecretFile> {
    let nothing = || None;
    let is_secret = |path: &BString| {
        let path = path_text(path);
        let candidate = SnapshotCandidate {
            path: &path,
            bytes: 0,
            ignored: false,
            folder: false,
            newly_ignored: false,
            content: &nothing,
            committed: &nothing,
            secrets: &[],
        };
        rule(&candidate) == Some(SECRET)
    };
    let changed = changes.into_iter().flatten().flat_map(|change| {
        let ids = [change.before, change.after]
            .into_iter()
            .flatten()
            .filter(|(mode, _)| !mode.is_commit())
            .map(|(_, id)| id);
        ids.map(|id| (change.path.clone(), id))
    });
    let beside = scanned
        .ignored
        .iter()
        .map(|(path, (taken, _))| (path.clone(), taken.id));
    let nested = scanned
        .nested
        .iter()
        .map(|(path, taken)| (path.clone(), taken.id));
    let secrets: BTreeSet<(BString, ObjectId)> = changed
        .chain(beside)
        .chain(nested)
        .filter(|(path, _)| is_secret(path))
        .chain(earlier)
        .collect();
    let contents = secrets
        .into_iter()
        .take(MOST_SECRETS)
        .filter_map(|(path, id)| {
            let content = read(id).filter(|content| content.len() <= LARGEST_SECRET)?;
            Some(SecretFile {
                path: path_text(&path),
                content,
            })
        });
    contents.collect()
}

/// Writes the private commit of a snapshot.
///
/// The snapshot's message contains its name. The salt in it keeps that name from being a fingerprint by which a short
/// secret could be guessed.
pub(super) fn write_private_commit(
    blobs: &mut ObjectSink<'_>,
    tree: ObjectId,
    of: &SnapshotRecord,
    line: &str,
) -> Result<ObjectId, Error> {
    let mut salt = [0; 16];
    let read =
        std::fs::File::open("/dev/urandom").and_then(|mut random| random.read_exact(&mut salt));
    read.context("read /dev/urandom")?;
    let salt = to_hex(&salt);
    let message = format!(
        "private files of the watchdog snapshot {line}\n\nSecrets and over-size files. Never push or merge this commit.\n\n\
         Watchdog-At: {}\nWatchdog-Salt: {salt}\n",
        of.at
    );
    record::write_commit(blobs, tree, None, of.at, message)
}

/// The entry of a work tree file in the private part of the snapshot with this commit, if it has one.
pub(super) fn work_entry(
    repo: &gix::Repository,
    snapshot: ObjectId,
    path: &BStr,
) -> Result<HeadEntry, Error> {
    let commit = repo.find_commit(snapshot).context("read the snapshot")?;
    let record = SnapshotRecord::parse(&commit.message_raw_sloppy().to_str_lossy());
    let Some(private) = record.and_then(|record| record.private) else {
        return Ok(None);
    };
    let mut full = BString::from(format!("{WORK}/"));
    full.extend_from_slice(path);
    entry_at(repo, tree_of(repo, private)?, &full)
}

/// Looks for an object once more, in a database that was opened anew: one look that fails makes a database miss a whole folder of objects
/// without an error.
fn is_in_fresh_database(repo: &gix::Repository, id: ObjectId) -> Result<bool, Error> {
    let fresh = gix::odb::at(
        repo.objects.store_ref().path().to_owned(),
        repo.object_hash(),
    );
    Ok(fresh.context("open the object database")?.exists(&id))
}

/// A snapshot with its private part: trees that may live in memory only.
pub(super) struct WholeSnapshot {
    /// Reads the trees below, and everything else.
    pub repo: gix::Repository,
    pub tree: ObjectId,
    /// The tree of the index.
    pub index: Option<ObjectId>,
    /// The tree of the extras.
    pub extras: Option<ObjectId>,
    /// The private paths with the reason of each.
    pub private: BTreeMap<BString, String>,
    /// The private paths of the work tree.
    pub private_work: BTreeSet<BString>,
    /// There was a private part, and it is not in this repository any more.
    pub incomplete: bool,
}

impl WholeSnapshot {
    /// Puts a snapshot and its private part together.
    pub(super) fn join_parts(
        repo: &gix::Repository,
        record: &SnapshotRecord,
        tree: ObjectId,
    ) -> Result<Self, Error> {
        let repo = repo.clone().with_object_memory();
        let index = record.index.map(|id| tree_of(&repo, id)).transpose()?;
        let extras = record.extras.map(|id| tree_of(&repo, id)).transpose()?;
        let mut whole = WholeSnapshot {
            tree,
            index,
            extras,
            private: BTreeMap::new(),
            private_work: BTreeSet::new(),
            incomplete: false,
            repo,
        };
        let Some(private) = record.private else {
            return Ok(whole);
        };
        let header = whole
            .repo
            .try_find_header(private)
            .context("read the private part of the snapshot")?;
        if header.is_none() && !is_in_fresh_database(&whole.repo, private)? {
            whole.incomplete = true;
            return Ok(whole);
        }
        whole.add(tree_of(&whole.repo, private)?)?;
        Ok(whole)
    }

    /// The ignored files.
    pub(super) fn ignored_paths(&self) -> impl Iterator<Item = &BString> {
        let work = self.private_work.iter();
        work.filter(|path| self.private.get(*path).is_some_and(|why| why == IGNORED))
    }

    /// Why a file of the work tree is in the private part.
    pub(super) fn why_private(&self, path: &BString) -> Option<&str> {
        self.private
            .get(path)
            .filter(|_| self.private_work.contains(path))
            .map(String::as_str)
    }

    /// The warning for a person about an incomplete snapshot.
    pub(super) fn note(&self) -> Option<String> {
        self.incomplete.then(|| {
            "its private files (secrets, over-size files) are not in this repository any more"
                .to_owned()
        })
    }

    fn add(&mut self, private: ObjectId) -> Result<(), Error> {
        let repo = &self.repo;
        let empty = ObjectId::empty_tree(repo.object_hash());
        let (mut work, mut index, mut extras) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for entry in diff::diff_trees(repo, empty, private)? {
            let Some((mode, id)) = entry.after else {
                continue;
            };
            let change = TreeEdit::Exactly(mode.kind(), id);
            let below = |folder: &str| {
                entry
                    .path
                    .strip_prefix(folder.as_bytes())
                    .and_then(|below_folder| below_folder.strip_prefix(b"/"))
            };
            if let Some(path) = below(WORK) {
                work.insert(BString::from(path), change);
            } else if let Some(path) = below(INDEX) {
                index.insert(BString::from(path), change);
            } else if entry.path == WHY {
                let mut blob = repo
                    .find_blob(id)
                    .context("read the private part of the snapshot")?;
                self.private = parse_reasons(&blob.take_data());
            } else {
                extras.insert(entry.path, change);
            }
        }
        self.private_work = work.keys().cloned().collect();
        let mut blobs = ObjectSink::new(repo);
        self.tree = tree::edit_tree(repo, self.tree, &work, &mut blobs)?;
        if let Some(tree) = self.index {
            self.index = Some(tree::edit_tree(repo, tree, &index, &mut blobs)?);
        }
        if !extras.is_empty() {
            self.extras = Some(tree::edit_tree(
                repo,
                self.extras.unwrap_or(empty),
                &extras,
                &mut blobs,
            )?);
        }
        Ok(())
    }
}
