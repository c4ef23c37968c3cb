//! Takes a snapshot: scan, trees, commits, and last the ref that makes it count.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};
use gix::objs::Exists as _;

use super::blobs::{BlobWriteMode, ObjectSink};
use super::disk::FolderWalk;
use super::private::{self, PrivateSnapshotPart, SnapshotTrees};
use super::record::{self, SnapshotRecord, StoredSnapshot};
use super::scan::{DiskScan, ScannedChanges, ScannedRepository, TreeEdit};
use super::spec_name::{PREFIX, PRIVATE_PREFIX, for_ref, parse_sequence, path_text};
use super::{PrivacyClassifier, Snapshot, SnapshotRequest, diff, loose_ref, nested};
use crate::Worktree;
use crate::error::{Error, ReadContext as _};
use crate::file_state::is_absent;
use watchdog_facts::display::log_millis;
use watchdog_facts::evidence::LeftOutReason;

/// How often a snapshot is tried, and paths are taken again that changed meanwhile.
const ROUNDS: usize = 3;
/// How often and how long it is looked whether a garbage collection has ended: 5 s in all.
const GC_POLLS: usize = 250;
const GC_POLL: Duration = Duration::from_millis(20);
/// When the mark of a garbage collection is no longer believed.
const GC_STALE: Duration = Duration::from_secs(12 * 3600);
/// How many snapshots of one spec fit into one second.
const PER_SECOND: usize = 1000;

impl Worktree {
    /// Stores all uncommitted work of this worktree as a commit under `refs/watchdog/rescue/`.
    ///
    /// Absent if the worktree is clean. Returns the newest snapshot of the spec if it holds the
    /// very same state. Does not touch index, HEAD, work tree, stash, hooks or branches,
    /// and runs no program that the repository names.
    ///
    /// # Errors
    /// When HEAD, its tree or the object database cannot be read or written. An unreadable file is no
    /// error: [`Snapshot::left_out`] names it, and [`Snapshot::require_all_read`] makes it one.
    pub fn take_snapshot(&self, request: &SnapshotRequest<'_>) -> Result<Option<Snapshot>, Error> {
        self.take_snapshot_with_private(request, &|_| None)
    }

    /// The same; files that `rule` selects go to `refs/watchdog/private/` under the same id instead, so that the snapshot's
    /// own commit can be merged or pushed. Every reader of a snapshot (restore, proof, paths) merges both.
    ///
    /// # Errors
    /// As [`Worktree::take_snapshot`].
    pub fn take_snapshot_with_private(
        &self,
        request: &SnapshotRequest<'_>,
        rule: PrivacyClassifier<'_>,
    ) -> Result<Option<Snapshot>, Error> {
        let begun = Instant::now();
        let taken = self.take_in_rounds(request, rule);
        let snapshot = taken.as_ref().ok().and_then(Option::as_ref);
        tracing::trace!(
            target: "watchdog::git",
            snapshot = snapshot.map(|snapshot| snapshot.name.as_str()),
            files = snapshot.map(|snapshot| snapshot.files),
            bytes = snapshot.map(|snapshot| snapshot.bytes),
            reused = snapshot.map(|snapshot| snapshot.reused),
            failed = taken.is_err(),
            duration_ms = log_millis(begun.elapsed()),
            "took a snapshot"
        );
        taken
    }

    fn take_in_rounds(
        &self,
        request: &SnapshotRequest<'_>,
        rule: PrivacyClassifier<'_>,
    ) -> Result<Option<Snapshot>, Error> {
        self.refresh()?;
        let quiet = nested::without_filters(&self.repo)?;
        // The way to the objects of a linked worktree leads through its git directory. A session may remove that at any moment, and what is
        // no more found on that way would count as vanished.
        let objects = (quiet.objects.store_ref().path().canonicalize())
            .unwrap_or_else(|_| self.common_dir().join("objects"));
        // A later round relies on what an earlier one wrote, which is guarded until a ref leads to it.
        let mut packs = Vec::new();
        let why = "its objects vanish while it is taken; is a garbage collection with --prune=now running?";
        let mut failure = Error::read_failure("keep a snapshot", why);
        for _ in 0..ROUNDS {
            let repo = quiet.clone().with_object_memory();
            let mut blobs = ObjectSink::gathering(&repo);
            let result = self.attempt(request, rule, &repo, &mut blobs);
            if matches!(result, Ok(None)) {
                return result;
            }
            // A garbage collection that began before the ref was there is free to take everything away until it ends.
            wait_for_garbage_collection(self.common_dir());
            let fresh = gix::odb::at(objects.clone(), repo.object_hash());
            let head = self.head_id().ok().flatten();
            if let Some(head) =
                head.filter(|id| fresh.as_ref().is_ok_and(|fresh| !fresh.exists(id)))
            {
                let why = format!("commit {head} of HEAD is not in this repository");
                let doing = "keep a snapshot";
                return Err(Error::read_failure(doing, why));
            }
            if !fresh.map_or(true, |fresh| blobs.has_vanished_objects(&fresh)) {
                return result;
            }
            match result {
                // A ref to a missing object would break the repository for git.
                Ok(Some(broken)) if !broken.reused => {
                    super::list::delete_both(self, &broken.name, &broken.commit)?
                }
                Ok(_) => {}
                // Objects that were never written are missing as well.
                Err(error) => failure = error,
            }
            packs.extend(blobs.into_pack());
        }
        Err(failure)
    }

    fn attempt(
        &self,
        request: &SnapshotRequest<'_>,
        rule: PrivacyClassifier<'_>,
        repo: &gix::Repository,
        blobs: &mut ObjectSink<'_>,
    ) -> Result<Option<Snapshot>, Error> {
        let head = repo.head().context("read HEAD")?;
        let branch = head.referent_name().map(|name| path_text(name.shorten()));
        let head = self.head_id()?;
        let head_tree = self.head_tree()?;
        let (index, readable) = read_index(repo, head_tree)?;

        let scanned = scan_within(self, repo, &index, blobs, (rule, request.max_new_bytes))?;
        blobs.all_kept()?;
        let mark = blobs.mark();
        let mut parts =
            SnapshotTrees::build(repo, &index, &scanned.changes, &scanned.nested, blobs)?;
        let unchanged =
            parts.tree == head_tree && parts.index == head_tree && parts.extras.is_none();
        if unchanged
            && !request.even_clean
            && scanned.left_out.is_empty()
            && scanned.ignored.is_empty()
        {
            return Ok(None);
        }

        let spec = for_ref(request.spec);
        let changed = diff::changes_of_sizes(repo, head_tree, parts.tree, &|id| blobs.size(id))?;
        let newest = self.retry_if_refs_moved(|| newest_of(repo, &spec))?;
        let earlier = newest.as_ref().and_then(|newest| newest.record.private);
        let private = PrivateSnapshotPart::find(
            (head_tree, earlier),
            &parts,
            &changed,
            &index,
            &scanned,
            blobs,
            rule,
        )?;
        let mut private_tree = None;
        if let Some(private) = &private {
            // Builds them again: the trees with everything may be incomplete.
            blobs.forget_since(mark);
            let nested = private.without_nested(&scanned.nested);
            parts = SnapshotTrees::build(
                repo,
                &private.without_staged(&index),
                &private.without(&scanned.changes),
                &nested,
                blobs,
            )?;
            private_tree = Some(private.write(repo, blobs)?);
        }
        let SnapshotTrees {
            tree,
            index: index_tree,
            extras: extras_tree,
        } = parts;
        let nested_bytes: u64 = scanned
            .nested
            .values()
            .chain(scanned.ignored.values().map(|(t, _)| t))
            .map(|t| t.stat.size)
            .sum();
        let mut record = SnapshotRecord {
            spec: request.spec.to_owned(),
            at: request.at,
            why: request.why.to_owned(),
            branch,
            worktree: self.root().to_string_lossy().into_owned(),
            head,
            index: None,
            extras: None,
            private: None,
            private_files: private.as_ref().map_or(0, PrivateSnapshotPart::len),
            files: (changed.len() + scanned.nested.len() + scanned.ignored.len()) as u64,
            bytes: changed.iter().map(|c| c.bytes).sum::<u64>() + nested_bytes,
            left_out: scanned.left_out,
        };
        let failed_reads = scanned.failed_reads;
        if let Some(same) = newest
            && is_same(
                repo,
                &same,
                &record,
                tree,
                [readable.then_some(index_tree), extras_tree, private_tree],
            )
        {
            blobs.make_durable()?;
            let same = build_snapshot(
                same.name,
                same.commit,
                tree,
                &same.record,
                record.left_out,
                true,
            );
            return Ok(Some(Snapshot {
                failed_reads,
                ..same
            }));
        }
        let name = line_of(&spec, request.at);
        if readable {
            let message = format!("index of the watchdog snapshot {name}\n");
            record.index = Some(record::write_commit(
                blobs, index_tree, head, request.at, message,
            )?);
        }
        if let Some(extras) = extras_tree {
            let message = format!("conflicts and nested files of the watchdog snapshot {name}\n");
            record.extras = Some(record::write_commit(
                blobs, extras, None, request.at, message,
            )?);
        }
        if let Some(tree) = private_tree {
            record.private = Some(private::write_private_commit(blobs, tree, &record, &name)?);
        }
        let parents: Vec<ObjectId> = record.parents().collect();
        let commit = record::write_commit(blobs, tree, parents, request.at, record.message())?;
        blobs.make_durable()?;
        let name = publish_refs(self, &name, commit, record.private, request.at)?;
        let left_out = std::mem::take(&mut record.left_out);
        Ok(Some(Snapshot {
            failed_reads,
            ..build_snapshot(name, commit, tree, &record, left_out, false)
        }))
    }
}

fn build_snapshot(
    name: String,
    commit: ObjectId,
    tree: ObjectId,
    record: &SnapshotRecord,
    left_out: Vec<watchdog_facts::evidence::LeftOut>,
    reused: bool,
) -> Snapshot {
    Snapshot {
        name,
        commit: commit.to_string(),
        tree: tree.to_string(),
        parent: record.head.map(|id| id.to_string()),
        files: record.files,
        bytes: record.bytes,
        left_out,
        failed_reads: Vec::new(),
        at: record.at,
        reused,
    }
}

/// Waits, for a bounded time, until no `git gc` runs that may have read the refs before ours existed.
///
/// Only a gc with `--prune=now` could do harm, and the lock does not show its options. A bare `git prune --expire=now`
/// leaves no trace at all, as git's own manual warns.
fn wait_for_garbage_collection(common_dir: &Path) {
    let mark = common_dir.join("gc.pid");
    for _ in 0..GC_POLLS {
        // A mark that a killed gc left behind is hours old: git itself gives up on it, too.
        let fresh = mark
            .symlink_metadata()
            .and_then(|m| m.modified())
            .is_ok_and(|at| at.elapsed().is_ok_and(|age| age < GC_STALE));
        if !fresh {
            return;
        }
        std::thread::sleep(GC_POLL);
    }
}

/// The index, or HEAD's tree in its place where the index is corrupt. The flag says which.
pub(super) fn read_index(
    repo: &gix::Repository,
    head_tree: ObjectId,
) -> Result<(gix::index::File, bool), Error> {
    match repo.open_index() {
        Ok(index) => Ok((index, true)),
        Err(_) if is_absent(&repo.index_path()) => Ok((nested::empty_index(repo), true)),
        Err(_) => {
            let index = repo
                .index_from_tree(&head_tree)
                .context("read HEAD in place of the unreadable index")?;
            Ok((index, false))
        }
    }
}

pub(super) fn scan_changes(
    worktree: &Worktree,
    repo: &gix::Repository,
    index: &gix::index::File,
    blobs: &mut ObjectSink<'_>,
    rule: PrivacyClassifier<'_>,
) -> Result<ScannedChanges, Error> {
    scan_within(worktree, repo, index, blobs, (rule, None))
}

/// The same, with at most so many bytes of new files.
fn scan_within(
    worktree: &Worktree,
    repo: &gix::Repository,
    index: &gix::index::File,
    blobs: &mut ObjectSink<'_>,
    (rule, max_new_bytes): (PrivacyClassifier<'_>, Option<u64>),
) -> Result<ScannedChanges, Error> {
    let mut scan = DiskScan {
        root: worktree.root(),
        below: worktree.open_folder_walk()?,
        blobs,
        scanned: ScannedChanges::default(),
        rule,
        new_files: max_new_bytes.map(|_| Vec::new()),
        ignored_bytes: max_new_bytes.unwrap_or(u64::MAX),
    };
    let scope = ScannedRepository {
        repo,
        index,
        prefix: BString::default(),
        everything: false,
        forced: BTreeSet::new(),
        nested: false,
        depth: 0,
    };
    scan.run(&scope)?;
    let passed_over = std::mem::take(&mut scan.scanned.passed_over);
    scan.keep_inside_ignored(&passed_over);
    if !passed_over.is_empty()
        && let Some(rules) = worktree.recorded_rules()
    {
        scan.keep_newly_ignored(
            rules
                .find_newly_ignored(worktree.root(), &passed_over)
                .files,
        );
    }
    scan.take_new_files(max_new_bytes);
    for _ in 0..ROUNDS {
        let again = find_stale_paths(&mut scan, repo);
        if again.is_empty() {
            break;
        }
        for path in again {
            scan.take_again(path.as_bstr(), index);
        }
    }
    Ok(scan.scanned)
}

/// Paths to take again: those whose file was written since, and those that another listing knows and we do not.
fn find_stale_paths(scan: &mut DiskScan<'_, '_>, repo: &gix::Repository) -> BTreeSet<BString> {
    let mut again = BTreeSet::new();
    let taken: Vec<(BString, TreeEdit)> = scan
        .scanned
        .changes
        .iter()
        .map(|(p, c)| (p.clone(), *c))
        .collect();
    for (path, change) in taken {
        let now = scan.below.lstat(&path).ok().flatten();
        let rests = match change {
            TreeEdit::Put(taken) => now == Some(taken.stat),
            TreeEdit::Submodule(_) | TreeEdit::Exactly(..) | TreeEdit::Remove => true,
        };
        if !rests {
            again.insert(path);
        }
    }
    if !scan.scanned.odd_rules {
        again.extend(
            listed_by_status(repo)
                .into_iter()
                .filter(|path| !scan.knows(path.as_bstr())),
        );
    }
    again
}

/// Changed paths as gix's own status lists them: the check that the scan missed nothing.
///
/// It leaves out paths that it cannot list; the scan has named the unreadable ones.
fn listed_by_status(repo: &gix::Repository) -> Vec<BString> {
    // It panics where the system has no further thread for it, and a snapshot without its witness is better than none.
    catch_unwind(AssertUnwindSafe(|| list_by_status(repo))).unwrap_or_default()
}

fn list_by_status(repo: &gix::Repository) -> Vec<BString> {
    use gix::dir::walk::EmissionMode;
    use gix::status::index_worktree::Item;
    let Ok(platform) = repo.status(gix::progress::Discard) else {
        return Vec::new();
    };
    let Ok(walk) = repo.dirwalk_options() else {
        return Vec::new();
    };
    let walk = walk.emit_untracked(EmissionMode::Matching);
    let ignore = gix::status::Submodule::Given {
        ignore: gix::submodule::config::Ignore::All,
        check_dirty: true,
    };
    let items = platform
        .index_worktree_submodules(ignore)
        .index_worktree_options_mut(|o| o.dirwalk_options = Some(walk))
        .into_index_worktree_iter(Vec::new());
    let Ok(items) = items else { return Vec::new() };
    items
        .flatten()
        .filter_map(|item| match item {
            Item::Modification { rela_path, .. } => Some(rela_path),
            Item::DirectoryContents { entry, .. } => {
                use gix::dir::entry::{Kind, Status};
                let file = matches!(entry.disk_kind, Some(Kind::File | Kind::Symlink));
                (file && entry.status == Status::Untracked).then_some(entry.rela_path)
            }
            Item::Rewrite { .. } => None,
        })
        .collect()
}

impl DiskScan<'_, '_> {
    /// Whether the scan has judged this path, or the repository that it lies in.
    fn knows(&self, path: &BStr) -> bool {
        let inside = |folder: &BString| {
            path == folder.as_bstr()
                || (path.starts_with(folder) && path.get(folder.len()) == Some(&b'/'))
        };
        let text = path_text(path);
        self.scanned.changes.contains_key(path)
            || self.scanned.repositories.iter().any(inside)
            || self.scanned.left_out.iter().any(|l| l.path == text)
    }

    pub(super) fn take_new_file(&mut self, full: BString, nested: bool) {
        match self
            .blobs
            .take(&mut self.below, full.as_bstr(), BlobWriteMode::Content)
        {
            Ok(Some(taken)) if nested => drop(self.scanned.nested.insert(full, taken)),
            Ok(Some(taken)) => drop(self.scanned.changes.insert(full, TreeEdit::Put(taken))),
            Ok(None) => {}
            Err(error) => self.scanned.leave_out_unread(&full, &error),
        }
    }

    /// Takes the new files that wait, the smallest first, up to so many bytes.
    fn take_new_files(&mut self, max_bytes: Option<u64>) {
        let waiting = self.new_files.take().unwrap_or_default();
        let size = |path: &BString, below: &mut FolderWalk| {
            below.lstat(path).ok().flatten().map_or(0, |stat| stat.size)
        };
        let mut waiting: Vec<(u64, BString, bool)> = waiting
            .into_iter()
            .map(|(path, nested)| (size(&path, &mut self.below), path, nested))
            .collect();
        waiting.sort_unstable();
        let mut room = max_bytes.unwrap_or(u64::MAX);
        for (bytes, path, nested) in waiting {
            match room.checked_sub(bytes) {
                Some(free) => {
                    room = free;
                    self.take_new_file(path, nested);
                }
                None => self.scanned.leave_out(&path, LeftOutReason::TooLarge),
            }
        }
    }

    fn take_again(&mut self, path: &BStr, index: &gix::index::File) {
        self.below.forget();
        let tracked = index.entry_index_by_path(path).is_ok();
        match self
            .blobs
            .take(&mut self.below, path, BlobWriteMode::Content)
        {
            Ok(Some(taken)) => drop(
                self.scanned
                    .changes
                    .insert(path.to_owned(), TreeEdit::Put(taken)),
            ),
            Ok(None) if tracked => {
                let _ = self
                    .scanned
                    .changes
                    .insert(path.to_owned(), TreeEdit::Remove);
            }
            Ok(None) => drop(self.scanned.changes.remove(path)),
            Err(error) => self.scanned.leave_out_unread(path, &error),
        }
    }
}

fn newest_of(repo: &gix::Repository, spec: &str) -> Result<Option<StoredSnapshot>, Error> {
    let all = record::list_stored_snapshots(repo)?;
    let of_spec = |s: &StoredSnapshot| {
        s.name
            .strip_prefix(PREFIX)
            .and_then(|id| id.rsplit_once('/'))
            .is_some_and(|(name, _)| name == spec)
    };
    Ok(all
        .into_iter()
        .filter(of_spec)
        .max_by_key(|s| (s.record.at, parse_sequence(&s.name))))
}

/// Whether a snapshot holds this very state. `trees` are those of the index, the extras and the private part.
fn is_same(
    repo: &gix::Repository,
    old: &StoredSnapshot,
    new: &SnapshotRecord,
    tree: ObjectId,
    trees: [Option<ObjectId>; 3],
) -> bool {
    let tree_of = |id: Option<ObjectId>| {
        id.and_then(|id| {
            repo.find_commit(id)
                .ok()?
                .tree_id()
                .ok()
                .map(gix::Id::detach)
        })
    };
    let private_commit = || {
        let there = old
            .private_name()
            .and_then(|name| repo.try_find_reference(&name).ok()?);
        there.and_then(|reference| reference.target().try_id().map(ToOwned::to_owned))
    };
    old.tree == tree
        && old.record.head == new.head
        && old.record.worktree == new.worktree
        && [old.record.index, old.record.extras, old.record.private].map(tree_of) == trees
        && (old.record.private.is_none() || private_commit() == old.record.private)
}

/// The name of a snapshot's ref up to its number.
fn line_of(spec: &str, at: jiff::Timestamp) -> String {
    format!("{PREFIX}{spec}/{}", utc_of(at))
}

/// The time in the name of a snapshot's ref.
pub(super) fn utc_of(at: jiff::Timestamp) -> String {
    at.to_zoned(jiff::tz::TimeZone::UTC)
        .strftime("%Y%m%dT%H%M%SZ")
        .to_string()
}

/// Creates the refs under the first number that is free. The snapshot's own comes last: it makes both count.
fn publish_refs(
    worktree: &Worktree,
    line: &str,
    commit: ObjectId,
    private: Option<ObjectId>,
    at: jiff::Timestamp,
) -> Result<String, Error> {
    let repo = &worktree.repo;
    for n in 0..PER_SECOND {
        let name = format!("{line}-{n}");
        let beside = name.replacen(PREFIX, PRIVATE_PREFIX, 1);
        let Some(private) = private else {
            let find_ref = || {
                repo.try_find_reference(&beside)
                    .with_context(|| format!("look for {beside}"))
            };
            let taken = worktree.retry_if_refs_moved(find_ref)?.is_some();
            if !taken && create_ref(worktree, &name, commit, at)? {
                return Ok(name);
            }
            continue;
        };
        if !create_ref(worktree, &beside, private, at)? {
            continue;
        }
        match create_ref(worktree, &name, commit, at) {
            Ok(true) => return Ok(name),
            other => {
                worktree.drop_refs(&[(beside, private)])?;
                other?;
            }
        }
    }
    Err(Error::read_failure(
        format!("create {line}-N"),
        "every number of this second is taken",
    ))
}

/// Creates a ref durably; `false` where the name is taken.
pub(super) fn create_ref(
    worktree: &Worktree,
    name: &str,
    commit: ObjectId,
    at: jiff::Timestamp,
) -> Result<bool, Error> {
    if let Some(served) = &worktree.served {
        return served.create(name, commit, "watchdog: snapshot");
    }
    let repo = &worktree.repo;
    let doing = || format!("create {name}");
    // Under a lock: another watchdog is about to take it, or was killed while it did.
    let locked = repo.common_dir().join(format!("{name}.lock")).exists();
    if locked
        || worktree
            .retry_if_refs_moved(|| repo.try_find_reference(name).with_context(doing))?
            .is_some()
    {
        return Ok(false);
    }
    match loose_ref::create_loose_ref(repo, name, commit) {
        Err(error) if error.kind() == std::io::ErrorKind::Unsupported => {}
        other => return other.with_context(doing),
    }
    let full = name.try_into().with_context(doing)?;
    match loose_ref::create_logged_ref(repo, full, commit, ("snapshot".into(), at)) {
        Ok(()) => {
            loose_ref::sync_ref(repo, repo.common_dir().join(name))
                .with_context(|| format!("make {name} durable"))?;
            Ok(true)
        }
        // Another watchdog took the number in between.
        Err(_)
            if repo
                .try_find_reference(name)
                .is_ok_and(|reference| reference.is_some()) =>
        {
            Ok(false)
        }
        Err(error) => Err(Error::read_error(doing(), error)),
    }
}
