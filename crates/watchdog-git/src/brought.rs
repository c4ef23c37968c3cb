//! Decides whether new content of a net change was brought and not made: whether it was uncommitted when the session began, or stood then
//! on a recorded ref, in a stash or in a reflog. Such evidence only ever takes credit away, so it may be weak.
//!
//! Content is compared by blob, and where a patch was applied to another state of a file, by its hunks. History itself is no such source: a
//! revert of a commit makes an older content anew. A commit that was reverted before the session is: to apply it again is to bring it.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::rc::Rc;

use gix::ObjectId;
use gix::bstr::{BStr, ByteSlice};
use gix::diff::blob::{Algorithm, Diff, InternedInput};
use gix::index::entry::Mode;
use gix::worktree::stack::state::ignore::Source;

use super::content_ids::content_hash;
use super::error::{Error, ReadContext as _};
use super::open::Worktree;
use super::origin_evidence::OriginEvidence;
use super::path_text::escape_path;
use super::snapshot::as_path;
use super::tree_change::LINES_UP_TO;
use super::tree_change::{self, ChangedFile, FileEntry};
use super::verified::peel_tags;
use super::walk::CommitHistory;
use watchdog_facts::evidence::{Degradation, WarningCode};
use watchdog_facts::ref_list::RefList;
use watchdog_facts::session_work::is_dropping;
use watchdog_system::read_regular_file;

/// How many recorded objects are searched.
const MAX_OBJECTS: usize = 5_000;

/// How many versions of one file are compared by their hunks.
const MAX_VERSIONS: usize = 64;

/// How many changed files of recorded trees are searched for content at another path.
const MAX_INDEXED: usize = 5_000;

/// From this size on, in bytes, content that a recorded tree has at another path is the same file: shorter ones are alike by chance.
const MIN_TELLING: u64 = 64;

/// How many commits before the baseline are searched for reverts.
const MAX_REVERTS_SEARCHED: usize = 200;

/// Files above this size, in bytes, are not compared with inherited ones.
const MAX_BLOB: u64 = 64 << 20;

/// How long, in nanoseconds, the times of files may lag behind the clock.
const CLOCK_LAG: i128 = 20_000_000;

/// The origin of one changed file's content.
pub(super) enum ContentOrigin {
    /// It has no new content: it was deleted or renamed, or got another mode.
    Unchanged,
    /// A program left it behind by itself.
    Dropping,
    /// It was there when the session began; the text says where.
    Brought(String),
    /// No evidence that it was there before.
    Made,
}

/// A tree that was recorded with the baseline.
#[derive(Debug, Clone)]
pub(super) struct RecordedTree {
    tree: ObjectId,
    /// Its earlier place, for a person.
    source: String,
    /// Its commit, where it counts only if the baseline's history lacks that commit.
    beside_history: Option<ObjectId>,
}

/// Searches the content of one range.
pub(super) struct BroughtSearch<'a> {
    worktree: &'a Worktree,
    evidence: &'a OriginEvidence,
    baseline: Option<ObjectId>,
    start_tree: ObjectId,
    trees: Option<Rc<[RecordedTree]>>,
    by_content: Option<HashMap<ObjectId, usize>>,
    /// The tree that had the last file: files of one branch come together.
    last: Option<RecordedTree>,
}

impl<'a> BroughtSearch<'a> {
    pub(super) fn new(
        worktree: &'a Worktree,
        evidence: &'a OriginEvidence,
        baseline: Option<ObjectId>,
        start_tree: ObjectId,
    ) -> Self {
        BroughtSearch {
            worktree,
            evidence,
            baseline,
            start_tree,
            trees: None,
            by_content: None,
            last: None,
        }
    }

    /// Finds the origin of a changed file's content; `moved` is the content that the net change
    /// takes away.
    pub(super) fn find_origin(
        &mut self,
        file: &ChangedFile,
        moved: &HashSet<ObjectId>,
    ) -> Result<ContentOrigin, Error> {
        let Some(new) = file.new else {
            return Ok(ContentOrigin::Unchanged);
        };
        let path = escape_path(file.path.as_ref());
        if is_dropping(&path) || self.is_dropping_link(file)? {
            return Ok(ContentOrigin::Dropping);
        }
        if moved.contains(&new.1) || new.1.is_empty_blob() {
            return Ok(ContentOrigin::Unchanged);
        }
        if let Some(source) = self.find_uncommitted(file, new, &path)? {
            return Ok(ContentOrigin::Brought(source));
        }
        if self.evidence.refs.is_none() {
            return Ok(ContentOrigin::Made);
        }
        let source = self.find_recorded(file, new)?;
        Ok(source.map_or(ContentOrigin::Made, ContentOrigin::Brought))
    }

    /// Whether the file is a new link in place of a folder.
    pub(super) fn is_dropping_link(&self, file: &ChangedFile) -> Result<bool, Error> {
        let link = file.new.filter(|new| new.0.is_link() && file.old.is_none());
        let Some(new) = link else {
            return Ok(false);
        };
        let target = tree_change::read_blob(self.worktree, new.1, LINES_UP_TO)?;
        Ok(target.is_some_and(|target| {
            let path = file.path.as_ref();
            let link = (self.worktree).stands_for_folder(path, as_path(&target));
            link.is_some()
        }))
    }

    /// The source of content that was uncommitted or ignored when the session began.
    fn find_uncommitted(
        &self,
        file: &ChangedFile,
        new: FileEntry,
        path: &str,
    ) -> Result<Option<String>, Error> {
        const UNCOMMITTED: &str = "uncommitted before the session";
        let Some(edge) = &self.evidence.edge else {
            return Ok(None);
        };
        if new.0.is_commit() {
            let nested = edge.inherited.iter().any(|(inherited, id)| {
                inherited.trim_end_matches('/') == path && id.starts_with('d')
            });
            return Ok(
                nested.then(|| "a nested repository that was there before the session".to_owned())
            );
        }
        if !edge.inherited.is_empty() {
            let hashes = self.hash_blob(new)?;
            // An id begins with a letter for the kind of file.
            if edge.inherited.values().any(|id| {
                id.get(1..)
                    .is_some_and(|hash| hashes.iter().any(|own_hash| own_hash == hash))
            }) {
                return Ok(Some(UNCOMMITTED.to_owned()));
            }
            let is_as_it_was = edge
                .inherited
                .get(path)
                .is_some_and(|id| *id == self.worktree.content_id(path));
            if is_as_it_was && self.is_part_of_disk(file, new)? {
                return Ok(Some(format!("part of what was {UNCOMMITTED}")));
            }
        }
        let ignored = file.old.is_none()
            && edge
                .at
                .is_some_and(|at| self.is_older_on_disk(file.path.as_ref(), at));
        Ok((ignored && self.is_ignored(file.path.as_ref())?)
            .then(|| "an ignored file from before the session".to_owned()))
    }

    /// The hash of a blob's bytes, and of the same with the line ends that they may have on disk; none where it is too large.
    fn hash_blob(&self, (_, id): FileEntry) -> Result<Vec<String>, Error> {
        let Some(bytes) = tree_change::read_blob(self.worktree, id, MAX_BLOB)? else {
            return Ok(Vec::new());
        };
        let on_disk = bytes.replace("\n", "\r\n");
        Ok(vec![content_hash(&bytes), content_hash(&on_disk)])
    }

    /// Whether a file's committed lines are all of the baseline's version and of the version on disk, which is inherited.
    fn is_part_of_disk(&self, file: &ChangedFile, new: FileEntry) -> Result<bool, Error> {
        let on_disk = self
            .worktree
            .root()
            .join(std::ffi::OsStr::from_bytes(&file.path));
        let Ok(on_disk) = read_regular_file(&on_disk, LINES_UP_TO) else {
            return Ok(false);
        };
        let Some(after) = tree_change::read_text(self.worktree, Some(new))? else {
            return Ok(false);
        };
        let before = match file.old {
            None => Some(Vec::new()),
            old => tree_change::read_text(self.worktree, old)?,
        };
        Ok(before.is_some_and(|before| !tree_change::adds_own_lines(&[before, on_disk], &after)))
    }

    /// Whether the file at a path has not changed since before a time.
    fn is_older_on_disk(&self, path: &BStr, at: jiff::Timestamp) -> bool {
        let file = self.worktree.root().join(std::ffi::OsStr::from_bytes(path));
        fs::symlink_metadata(file).is_ok_and(|metadata| {
            let changed =
                i128::from(metadata.ctime()) * 1_000_000_000 + i128::from(metadata.ctime_nsec());
            changed + CLOCK_LAG < at.as_nanosecond()
        })
    }

    fn is_ignored(&self, path: &BStr) -> Result<bool, Error> {
        let doing = || format!("find out whether git ignores {path}");
        let index = self.worktree.index().with_context(doing)?;
        let stack =
            self.worktree
                .repo
                .excludes(&index, None, Source::WorktreeThenIdMappingIfNotSkipped);
        let mut stack = stack.with_context(doing)?;
        Ok(stack
            .at_entry(path, Some(Mode::FILE))
            .with_context(doing)?
            .is_excluded())
    }

    /// The source of content that a recorded tree has.
    fn find_recorded(
        &mut self,
        file: &ChangedFile,
        new: FileEntry,
    ) -> Result<Option<String>, Error> {
        let parts: Vec<&[u8]> = file.path.split(|byte| *byte == b'/').collect();
        let (last, trees) = (self.last.clone(), self.load_trees()?);
        let (mut subtrees, mut versions) = (HashMap::new(), Vec::new());
        for recorded in last.iter().chain(trees.iter()) {
            let Some(entry) = self.find_entry(recorded.tree, &parts, &mut subtrees) else {
                continue;
            };
            if entry.1 == new.1 && self.is_beside_history(recorded) {
                self.last = Some(recorded.clone());
                return Ok(Some(recorded.source.clone()));
            }
            let is_version = entry.1 != new.1 && file.old.is_some_and(|old| old.1 != entry.1);
            if is_version
                && versions.len() < MAX_VERSIONS
                && !versions.iter().any(|(known, _)| *known == entry)
            {
                versions.push((entry, recorded));
            }
        }
        if let Some(recorded) = self.find_patched(file, new, &versions)? {
            return Ok(Some(recorded.source.clone()));
        }
        let is_telling = || {
            tree_change::read_object_size(&self.worktree.repo, new.1)
                .map(|size| size.is_some_and(|size| size >= MIN_TELLING))
        };
        if file.old.is_some() || !is_telling()? {
            return Ok(None);
        }
        if self.by_content.is_none() {
            self.by_content = Some(self.index_contents(&trees)?);
        }
        let recorded = self
            .by_content
            .as_ref()
            .and_then(|contents| contents.get(&new.1))
            .map(|at| &trees[*at]);
        Ok(recorded
            .filter(|recorded| self.is_beside_history(recorded))
            .map(|recorded| recorded.source.clone()))
    }

    /// The recorded trees, each once, and after them those of commits that were reverted before the session.
    fn load_trees(&mut self) -> Result<Rc<[RecordedTree]>, Error> {
        if let Some(trees) = &self.trees {
            return Ok(Rc::clone(trees));
        }
        let mut trees = match &self.evidence.refs {
            Some(refs) => refs.trees(|| self.read_trees(refs.tips()?))?.to_vec(),
            None => Vec::new(),
        };
        if let Some(edge) = &self.evidence.edge {
            for hex in &edge.left_behind {
                let Ok(commit) = hex.parse::<ObjectId>() else {
                    continue;
                };
                let source = "in the reflog of HEAD before the session".to_owned();
                trees.extend(self.tree_of(commit).map(|tree| RecordedTree {
                    tree,
                    source,
                    beside_history: Some(commit),
                }));
            }
        }
        trees.extend(self.read_reverted()?);
        let mut seen = HashSet::from([self.start_tree]);
        trees.retain(|recorded| seen.insert(recorded.tree));
        Ok(Rc::clone(self.trees.insert(trees.into())))
    }

    fn read_trees(&self, tips: &RefList) -> Result<Vec<RecordedTree>, Error> {
        let (mut trees, mut seen) = (Vec::new(), HashSet::new());
        for (name, hex) in tips.iter() {
            if seen.len() >= MAX_OBJECTS {
                break;
            }
            let Some(commit) = hex.parse::<ObjectId>().ok().filter(|id| seen.insert(*id)) else {
                continue;
            };
            let is_stash = name.starts_with("refs/stash");
            let source = if is_stash {
                "in a stash".to_owned()
            } else {
                format!("on {}", escape_path(name.as_bytes()))
            };
            let mut commits = vec![commit];
            if is_stash {
                let parents = self
                    .worktree
                    .repo
                    .find_commit(commit)
                    .map(|stash| stash.parent_ids().map(gix::Id::detach).collect::<Vec<_>>());
                commits.extend(parents.unwrap_or_default().into_iter().skip(1));
            }
            for commit in commits {
                let source = source.clone();
                trees.extend(self.tree_of(commit).map(|tree| RecordedTree {
                    tree,
                    source,
                    beside_history: None,
                }));
            }
        }
        Ok(trees)
    }

    /// The tree that an object leads to, unread. A missing object proves nothing.
    fn tree_of(&self, id: ObjectId) -> Option<ObjectId> {
        let object = peel_tags(&self.worktree.repo, id)?;
        match object.kind {
            gix::object::Kind::Commit => Some(object.into_commit().tree_id().ok()?.detach()),
            gix::object::Kind::Tree => Some(object.id),
            _ => None,
        }
    }

    /// The trees of commits that a commit shortly before the baseline says it reverts, in git's words.
    fn read_reverted(&self) -> Result<Vec<RecordedTree>, Error> {
        let mut trees = Vec::new();
        let mut next = self.baseline;
        for _ in 0..MAX_REVERTS_SEARCHED {
            let Some(commit) = next.and_then(|id| self.worktree.repo.find_commit(id).ok()) else {
                break;
            };
            let message = commit.message_raw_sloppy();
            for at in message.find_iter("This reverts commit ") {
                let hex = message[at + "This reverts commit ".len()..]
                    .split(|byte| !byte.is_ascii_hexdigit())
                    .next()
                    .unwrap_or_default();
                let Ok(reverted) = ObjectId::from_hex(hex) else {
                    continue;
                };
                let source = format!(
                    "in commit {}, which was reverted before the session",
                    reverted.to_hex_with_len(12)
                );
                trees.extend(self.tree_of(reverted).map(|tree| RecordedTree {
                    tree,
                    source,
                    beside_history: None,
                }));
            }
            next = commit.parent_ids().next().map(gix::Id::detach);
        }
        Ok(trees)
    }

    /// Whether a tree counts although the baseline's own history may have it.
    fn is_beside_history(&self, recorded: &RecordedTree) -> bool {
        let (Some(commit), Some(baseline)) = (recorded.beside_history, self.baseline) else {
            return true;
        };
        let range = CommitHistory::new(self.worktree)
            .and_then(|mut history| history.range(baseline, commit));
        range.is_ok_and(|range| !range.commits.is_empty())
    }

    /// The file at a path of a recorded tree; what cannot be read proves nothing.
    fn find_entry(
        &self,
        tree: ObjectId,
        parts: &[&[u8]],
        subtrees: &mut HashMap<(ObjectId, usize), Option<FileEntry>>,
    ) -> Option<FileEntry> {
        let key = (tree, parts.len());
        if let Some(entry) = subtrees.get(&key) {
            return *entry;
        }
        let (name, below) = parts.split_first()?;
        let entry = tree_change::find_child(self.worktree, tree, name)
            .ok()
            .flatten();
        let entry = match entry {
            Some((mode, id)) if mode.is_tree() && !below.is_empty() => {
                self.find_entry(id, below, subtrees)
            }
            Some((mode, _)) if mode.is_tree() || !below.is_empty() => None,
            entry => entry,
        };
        subtrees.insert(key, entry);
        entry
    }

    /// The version in which each hunk of the file's change stands as well: the same patch, applied to another state.
    fn find_patched<'v>(
        &self,
        file: &ChangedFile,
        new: FileEntry,
        versions: &[(FileEntry, &'v RecordedTree)],
    ) -> Result<Option<&'v RecordedTree>, Error> {
        if versions.is_empty() || file.old.is_none() {
            return Ok(None);
        }
        let (Some(old), Some(after)) = (
            tree_change::read_text(self.worktree, file.old)?,
            tree_change::read_text(self.worktree, Some(new))?,
        ) else {
            return Ok(None);
        };
        let change = read_hunks(&old, &after);
        let has_words =
            |(_, added): &LineHunk| added.iter().any(|byte| byte.is_ascii_alphanumeric());
        if !change.iter().any(has_words) {
            return Ok(None);
        }
        for (entry, recorded) in versions {
            let Ok(Some(version)) = tree_change::read_text(self.worktree, Some(*entry)) else {
                continue;
            };
            if change.is_subset(&read_hunks(&old, &version)) && self.is_beside_history(recorded) {
                return Ok(Some(*recorded));
            }
        }
        Ok(None)
    }

    /// The contents that recorded trees have and the baseline has not, at any path.
    fn index_contents(&self, trees: &[RecordedTree]) -> Result<HashMap<ObjectId, usize>, Error> {
        let mut contents = HashMap::new();
        for (at, recorded) in trees.iter().enumerate() {
            let mut room = MAX_INDEXED.saturating_sub(contents.len());
            // Unreadable content proves nothing.
            tree_change::each_new(self.worktree, self.start_tree, recorded.tree, |id| {
                contents.entry(id).or_insert(at);
                room = room.saturating_sub(1);
                if room == 0 {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            })
            .ok();
            if contents.len() >= MAX_INDEXED {
                break;
            }
        }
        Ok(contents)
    }
}

/// The warning where not all recorded refs are searched.
pub(super) fn note_unsearched(evidence: &OriginEvidence) -> Result<Option<Degradation>, Error> {
    let objects = evidence
        .refs
        .as_ref()
        .map_or(Ok(0), |refs| refs.objects().map(<[ObjectId]>::len))?;
    Ok((objects > MAX_OBJECTS).then(|| Degradation::new(WarningCode::OriginUnproved, format!(
            "content is looked for on the first {MAX_OBJECTS} of {objects} recorded refs; new content of the others counts as made"
        ))))
}

/// The removed and the added lines of a hunk.
type LineHunk = (Vec<u8>, Vec<u8>);

fn read_hunks(old: &[u8], new: &[u8]) -> HashSet<LineHunk> {
    let input = InternedInput::new(old, new);
    let lines = |tokens: &[gix::diff::blob::Token]| {
        tokens
            .iter()
            .flat_map(|token| input.interner[*token].iter().copied())
            .collect()
    };
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    diff.hunks()
        .map(|hunk| {
            let range = |range: std::ops::Range<u32>| range.start as usize..range.end as usize;
            (
                lines(&input.before[range(hunk.before)]),
                lines(&input.after[range(hunk.after)]),
            )
        })
        .collect()
}
