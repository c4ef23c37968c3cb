//! Finds what differs between an index and the disk, and puts the content into the object database.
//!
//! No flag of the index (assume-unchanged, skip-worktree) and no stale time hides a change here,
//! and what cannot be read is named instead of being dropped or of failing the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};
use gix::index::entry::{Flags, Mode, Stage};
use gix::objs::tree::EntryKind;

use super::blobs::{BlobWriteMode, CapturedFile, ObjectSink};
use super::disk::{DiskEntry, FileStat, FolderWalk, PathKind, as_path, split_path};
use super::ignore_rules::FolderRules;
use super::spec_name::path_text;
use super::{PrivacyClassifier, SnapshotCandidate, nested};
use crate::Error;
use crate::content::index_size;
use crate::path_text::join_path;
use watchdog_facts::evidence::{LeftOut, LeftOutReason};

/// How far an entry's time must lie before the index's for the entry to be believed, in nanoseconds.
/// Kernels stamp files with a clock that ticks every 1 to 10 ms.
const TICK: i128 = 20_000_000;
/// Repositories nested deeper than this in one another are left out, and named.
const DEEPEST: usize = 6;
/// How many entries of ignored folders are looked at for files to keep.
const MOST_ENTRIES: usize = 100_000;

/// The change of one path in the snapshot's tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TreeEdit {
    /// This content is there.
    Put(CapturedFile),
    /// This commit of a submodule is there.
    Submodule(ObjectId),
    /// This entry, whatever is on disk.
    Exactly(EntryKind, ObjectId),
    /// The path is gone.
    Remove,
}

/// Everything that a scan found.
#[derive(Debug, Default)]
pub(super) struct ScannedChanges {
    /// Against the index, by path.
    pub changes: BTreeMap<BString, TreeEdit>,
    /// Uncommitted files of submodules and of linked worktrees that lie inside this one.
    pub nested: BTreeMap<BString, CapturedFile>,
    /// Folders of other repositories inside this one.
    pub repositories: BTreeSet<BString>,
    /// The unreadable paths.
    pub left_out: Vec<LeftOut>,
    /// Those of them whose disk failed, each with the error. A path that nobody may read is not one of them.
    pub failed_reads: Vec<(String, String)>,
    /// Ignored files that are kept all the same, each with the reason.
    pub ignored: BTreeMap<BString, (CapturedFile, &'static str)>,
    /// Untracked files and folders of the worktree itself that are ignored.
    pub passed_over: Vec<BString>,
    /// A pipe or device bears the name of a file that gix would open and wait for.
    pub odd_rules: bool,
}

impl ScannedChanges {
    pub(super) fn leave_out(&mut self, path: &[u8], why: LeftOutReason) {
        self.left_out.push(LeftOut {
            path: path_or_dot(path),
            why,
        });
    }

    pub(super) fn leave_out_unread(&mut self, path: &[u8], error: &io::Error) {
        if error.kind() != io::ErrorKind::PermissionDenied {
            self.failed_reads
                .push((path_or_dot(path), error.to_string()));
        }
        self.leave_out(path, LeftOutReason::Unreadable);
    }
}

/// A path for a person; the work tree itself is a dot.
fn path_or_dot(path: &[u8]) -> String {
    if path.is_empty() {
        ".".to_owned()
    } else {
        path_text(path)
    }
}

/// A repository that is scanned: the worktree itself, or one inside it.
pub(super) struct ScannedRepository<'a> {
    pub repo: &'a gix::Repository,
    pub index: &'a gix::index::File,
    /// Its path from the worktree's root; empty for the worktree itself.
    pub prefix: BString,
    /// Take every file, not only those that changed.
    pub everything: bool,
    /// Paths whose index entry differs from HEAD although the file may not differ from the index.
    pub forced: BTreeSet<BString>,
    /// The result goes to [`ScannedChanges::nested`] instead of [`ScannedChanges::changes`].
    pub nested: bool,
    pub depth: usize,
}

/// A pass over the disk.
pub(super) struct DiskScan<'a, 'repo> {
    pub root: &'a Path,
    pub below: FolderWalk,
    pub blobs: &'a mut ObjectSink<'repo>,
    pub scanned: ScannedChanges,
    /// Says which ignored files are kept.
    pub rule: PrivacyClassifier<'a>,
    /// New files that wait until their sizes are known, each with whether it is nested; `None` where each is taken at once.
    pub new_files: Option<Vec<(BString, bool)>>,
    /// How many bytes of ignored files may still be taken.
    pub ignored_bytes: u64,
}

/// An ignored file of the worktree itself.
fn ignored_candidate<'a>(
    path: &'a str,
    nothing: &'a dyn Fn() -> Option<Vec<u8>>,
) -> SnapshotCandidate<'a> {
    SnapshotCandidate {
        path,
        bytes: 0,
        ignored: true,
        folder: false,
        newly_ignored: false,
        content: nothing,
        committed: nothing,
        secrets: &[],
    }
}

impl DiskScan<'_, '_> {
    /// Compares one repository with the files on disk.
    pub(super) fn run(&mut self, scope: &ScannedRepository<'_>) -> Result<(), Error> {
        self.scan_tracked(scope)?;
        let mut rules = FolderRules::global(scope.repo, &self.root.join(as_path(&scope.prefix)));
        self.scan_untracked(scope, &mut rules, BStr::new(""))
    }

    fn scan_tracked(&mut self, scope: &ScannedRepository<'_>) -> Result<(), Error> {
        let index = scope.index;
        let file_mode = scope
            .repo
            .config_snapshot()
            .boolean("core.fileMode")
            .unwrap_or(true);
        let written = (
            index.timestamp().unix_seconds(),
            index.timestamp().nanoseconds(),
        );
        let mut equal = NormalizedComparer::new(scope.repo);
        for entry in index.entries() {
            let path = entry.path(index);
            if entry.mode == Mode::DIR {
                // The folder of a sparse index: the scan of untracked files finds the files below it.
                continue;
            }
            let full = join_path(&scope.prefix, path);
            if entry.mode == Mode::COMMIT && entry.stage() == Stage::Unconflicted {
                self.submodule(scope, full.as_bstr(), entry.id)?;
                continue;
            }
            let stat = match self.below.lstat(&full) {
                Ok(stat) => stat,
                Err(error) => {
                    self.scanned.leave_out_unread(&full, &error);
                    continue;
                }
            };
            let Some(stat) =
                stat.filter(|s| matches!(s.kind, PathKind::File { .. } | PathKind::Link))
            else {
                let meant_to_be_absent =
                    stat.is_none() && entry.flags.contains(Flags::SKIP_WORKTREE);
                if !meant_to_be_absent && !scope.nested {
                    self.scanned.changes.insert(full, TreeEdit::Remove);
                }
                continue;
            };
            let settled = is_committable(entry);
            let forced = scope.everything || scope.forced.contains(path);
            if settled && !forced && is_clean_by_index(entry, &stat, written, file_mode) {
                continue;
            }
            let keep = if settled && !forced {
                BlobWriteMode::UnlessIs(entry.id)
            } else {
                BlobWriteMode::Content
            };
            match self.blobs.take(&mut self.below, full.as_bstr(), keep) {
                Ok(Some(mut taken)) => {
                    if !file_mode && taken.kind != EntryKind::Link {
                        taken.kind = if entry.mode == Mode::FILE_EXECUTABLE {
                            EntryKind::BlobExecutable
                        } else {
                            EntryKind::Blob
                        };
                    }
                    let same = settled && !forced && Some(taken.kind) == kind_of(entry.mode);
                    if same
                        && (taken.id == entry.id
                            || equal.check(&mut self.below, path, full.as_bstr(), entry.id))
                    {
                        continue;
                    }
                    self.add_change(scope, full, taken);
                }
                // It was removed after it was listed.
                Ok(None) if scope.nested => {}
                Ok(None) => drop(self.scanned.changes.insert(full, TreeEdit::Remove)),
                Err(error) => self.scanned.leave_out_unread(&full, &error),
            }
        }
        Ok(())
    }

    fn add_change(&mut self, scope: &ScannedRepository<'_>, full: BString, taken: CapturedFile) {
        if scope.nested {
            self.scanned.nested.insert(full, taken);
        } else {
            self.scanned.changes.insert(full, TreeEdit::Put(taken));
        }
    }

    fn submodule(
        &mut self,
        scope: &ScannedRepository<'_>,
        full: &BStr,
        recorded: ObjectId,
    ) -> Result<(), Error> {
        match self.below.lstat(full) {
            Err(error) => self.scanned.leave_out_unread(full, &error),
            Ok(Some(FileStat {
                kind: PathKind::Folder,
                ..
            })) => {
                self.scanned.repositories.insert(full.to_owned());
                let Some(repo) = nested::open_nested(&self.root.join(as_path(full))) else {
                    return Ok(());
                };
                if let Some(head) = nested::read_head(&repo)
                    && (head != recorded || scope.everything)
                    && !scope.nested
                {
                    self.scanned
                        .changes
                        .insert(full.to_owned(), TreeEdit::Submodule(head));
                }
                self.nested_changes(scope, full, &repo)?;
            }
            Ok(_) if scope.nested => {}
            Ok(Some(_)) => match self
                .blobs
                .take(&mut self.below, full, BlobWriteMode::Content)
            {
                Ok(Some(taken)) => self.add_change(scope, full.to_owned(), taken),
                Ok(None) => drop(
                    self.scanned
                        .changes
                        .insert(full.to_owned(), TreeEdit::Remove),
                ),
                Err(error) => self.scanned.leave_out_unread(full, &error),
            },
            Ok(None) => drop(
                self.scanned
                    .changes
                    .insert(full.to_owned(), TreeEdit::Remove),
            ),
        }
        Ok(())
    }

    /// Takes the uncommitted files of a repository whose commits are kept in its own object database.
    fn nested_changes(
        &mut self,
        scope: &ScannedRepository<'_>,
        full: &BStr,
        repo: &gix::Repository,
    ) -> Result<(), Error> {
        match (scope.depth < DEEPEST)
            .then(|| nested::read_index(repo).ok())
            .flatten()
        {
            Some(index) => {
                let forced = nested::list_staged(repo, &index);
                let scope = ScannedRepository {
                    repo,
                    index: &index,
                    prefix: full.to_owned(),
                    everything: false,
                    forced,
                    nested: true,
                    depth: scope.depth + 1,
                };
                self.run(&scope)
            }
            None => {
                self.scanned
                    .leave_out(full, LeftOutReason::NestedRepository);
                Ok(())
            }
        }
    }

    fn scan_untracked(
        &mut self,
        scope: &ScannedRepository<'_>,
        rules: &mut FolderRules,
        folder: &BStr,
    ) -> Result<(), Error> {
        // A list of folders instead of recursion: a tree of any depth must not end the stack.
        enum ScanStep {
            Enter(BString),
            Leave(usize),
        }
        let mut steps = vec![ScanStep::Enter(folder.to_owned())];
        while let Some(step) = steps.pop() {
            let folder = match step {
                ScanStep::Leave(before) => {
                    rules.leave(before);
                    continue;
                }
                ScanStep::Enter(folder) => folder,
            };
            let full = if folder.is_empty() {
                scope.prefix.clone()
            } else {
                join_path(&scope.prefix, &folder)
            };
            let entries = match self.below.list(&full) {
                Ok(entries) => entries,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => {
                    self.scanned.leave_out_unread(&full, &error);
                    continue;
                }
            };
            let skipped = |path: &BStr| nested::skipped_blob(scope.repo, scope.index, path);
            let before = rules.enter(
                &mut self.below,
                scope.prefix.as_bstr(),
                folder.as_bstr(),
                skipped,
            );
            steps.push(ScanStep::Leave(before));
            for entry in entries.into_iter().rev() {
                if let Some(folder) =
                    self.untracked_entry(scope, rules, folder.as_bstr(), &entry)?
                {
                    steps.push(ScanStep::Enter(folder));
                }
            }
        }
        Ok(())
    }

    /// Takes one entry of a folder; returns the folder that is to be walked.
    fn untracked_entry(
        &mut self,
        scope: &ScannedRepository<'_>,
        rules: &FolderRules,
        folder: &BStr,
        entry: &DiskEntry,
    ) -> Result<Option<BString>, Error> {
        let path = join_path(folder, &entry.name);
        let full = join_path(&scope.prefix, &path);
        if entry.name == ".git" {
            return Ok(None);
        }
        if entry.name.eq_ignore_ascii_case(b".git") {
            // git itself refuses such a name in a tree, and so does every restore.
            self.scanned.leave_out(&full, LeftOutReason::Excluded);
            return Ok(None);
        }
        let tracked = scope.index.entry_index_by_path(path.as_bstr()).is_ok();
        match entry.kind {
            PathKind::Special => {
                self.scanned.odd_rules |=
                    entry.name == ".gitignore" || entry.name == ".gitattributes";
                Ok(None)
            }
            PathKind::File { .. } | PathKind::Link => {
                if tracked {
                    return Ok(None);
                }
                if rules.ignores(path.as_bstr(), false) {
                    self.ignored_file(scope, full);
                } else if let Some(waiting) = &mut self.new_files {
                    waiting.push((full, scope.nested));
                } else {
                    self.take_new_file(full, scope.nested);
                }
                Ok(None)
            }
            PathKind::Folder => {
                let holds_tracked = scope.index.path_is_directory(path.as_bstr());
                let submodule = tracked && self.scanned.repositories.contains(full.as_bstr());
                if submodule {
                    return Ok(None);
                }
                if rules.ignores(path.as_bstr(), true) {
                    if scope.depth == 0 && !holds_tracked {
                        self.scanned.passed_over.push(path);
                    }
                    return Ok(None);
                }
                if !holds_tracked
                    && let Some(repo) = nested::open_nested(&self.root.join(as_path(&full)))
                {
                    self.untracked_repository(scope, full.as_bstr(), &repo)?;
                    return Ok(None);
                }
                Ok(Some(path))
            }
        }
    }

    /// Keeps an ignored file of the worktree itself that the rule asks for. Leaves out an
    /// unreadable one.
    fn ignored_file(&mut self, scope: &ScannedRepository<'_>, full: BString) {
        if scope.depth > 0 || scope.nested {
            return;
        }
        self.scanned.passed_over.push(full.clone());
        self.keep_ignored(full, false);
    }

    /// Keeps files that only rules ignore which are newer than the baseline, as far as the rule asks for them.
    pub(super) fn keep_newly_ignored(&mut self, files: BTreeSet<BString>) {
        for path in files {
            if !self.scanned.ignored.contains_key(&path) {
                self.keep_ignored(path, true);
            }
        }
    }

    /// Keeps the files below ignored folders that the rule asks for.
    pub(super) fn keep_inside_ignored(&mut self, passed_over: &[BString]) {
        let may_hold_kept = |scan: &Self, path: &BString| {
            let (path, nothing) = (path_text(path), || None);
            let candidate = SnapshotCandidate {
                folder: true,
                ..ignored_candidate(&path, &nothing)
            };
            (scan.rule)(&candidate).is_some()
        };
        let is_folder = |scan: &mut Self, path: &BString| matches!(scan.below.lstat(path), Ok(Some(stat)) if stat.kind == PathKind::Folder);
        let mut open: Vec<BString> = Vec::new();
        for path in passed_over {
            if may_hold_kept(self, path) && is_folder(self, path) {
                open.push(path.clone());
            }
        }
        let mut entries_left = MOST_ENTRIES;
        while let Some(folder) = open.pop() {
            for entry in self.below.list(&folder).into_iter().flatten() {
                let path = join_path(&folder, &entry.name);
                if entries_left == 0 {
                    return self.scanned.leave_out(&path, LeftOutReason::TooLarge);
                }
                entries_left -= 1;
                match entry.kind {
                    PathKind::Folder if entry.name == ".git" => {}
                    PathKind::Folder if may_hold_kept(self, &path) => open.push(path),
                    PathKind::File { .. } | PathKind::Link => self.keep_ignored(path, false),
                    PathKind::Folder | PathKind::Special => {}
                }
            }
        }
    }

    fn keep_ignored(&mut self, full: BString, newly_ignored: bool) {
        let stat = match self.below.lstat(&full) {
            Ok(Some(stat)) => stat,
            Ok(None) => return,
            Err(error) => return self.scanned.leave_out_unread(&full, &error),
        };
        let (path, nothing) = (path_text(&full), || None);
        let candidate = SnapshotCandidate {
            bytes: stat.size,
            newly_ignored,
            ..ignored_candidate(&path, &nothing)
        };
        let Some(why) = (self.rule)(&candidate) else {
            return;
        };
        if stat.size > self.ignored_bytes {
            return (self.scanned).leave_out(&full, LeftOutReason::TooLarge);
        }
        self.ignored_bytes -= stat.size;
        match self
            .blobs
            .take(&mut self.below, full.as_bstr(), BlobWriteMode::Content)
        {
            Ok(Some(taken)) => drop(self.scanned.ignored.insert(full, (taken, why))),
            Ok(None) => {}
            Err(error) => self.scanned.leave_out_unread(&full, &error),
        }
    }

    /// A repository that the outer one knows nothing of.
    ///
    /// Its files become ordinary files of the snapshot; its history stays where it is. A linked worktree of the
    /// same repository has its commits in the same object database, so that only its uncommitted files count.
    fn untracked_repository(
        &mut self,
        scope: &ScannedRepository<'_>,
        full: &BStr,
        repo: &gix::Repository,
    ) -> Result<(), Error> {
        self.scanned.repositories.insert(full.to_owned());
        if nested::same_repository(scope.repo, repo) {
            return self.nested_changes(scope, full, repo);
        }
        let Some(index) = (scope.depth < DEEPEST)
            .then(|| nested::read_index(repo).ok())
            .flatten()
        else {
            self.scanned
                .leave_out(full, LeftOutReason::NestedRepository);
            return Ok(());
        };
        let scope = ScannedRepository {
            repo,
            index: &index,
            prefix: full.to_owned(),
            everything: true,
            forced: BTreeSet::new(),
            nested: scope.nested,
            depth: scope.depth + 1,
        };
        self.run(&scope)?;
        if !scope.nested {
            // No file was tracked here, so that none can be removed.
            let prefix = join_path(full, b"");
            self.scanned
                .changes
                .retain(|path, change| *change != TreeEdit::Remove || !path.starts_with(&prefix));
        }
        Ok(())
    }
}

/// How a mode of the index is written in a tree.
pub(super) fn kind_of(mode: Mode) -> Option<EntryKind> {
    match mode {
        Mode::FILE => Some(EntryKind::Blob),
        Mode::FILE_EXECUTABLE => Some(EntryKind::BlobExecutable),
        Mode::SYMLINK => Some(EntryKind::Link),
        Mode::COMMIT => Some(EntryKind::Commit),
        _ => None,
    }
}

/// How an entry of a tree is written in an index.
pub(crate) fn mode_of(kind: EntryKind) -> Option<Mode> {
    match kind {
        EntryKind::Blob => Some(Mode::FILE),
        EntryKind::BlobExecutable => Some(Mode::FILE_EXECUTABLE),
        EntryKind::Link => Some(Mode::SYMLINK),
        EntryKind::Commit => Some(Mode::COMMIT),
        EntryKind::Tree => None,
    }
}

/// Whether a commit of the index would have an entry: not one in conflict, or still to come.
pub(crate) fn is_committable(entry: &gix::index::Entry) -> bool {
    entry.stage() == Stage::Unconflicted && !entry.flags.contains(Flags::INTENT_TO_ADD)
}

/// Whether the index alone shows that the file is as it was added.
fn is_clean_by_index(
    entry: &gix::index::Entry,
    disk: &FileStat,
    written: (i64, u32),
    file_mode: bool,
) -> bool {
    let kind = match disk.kind {
        PathKind::File { executable } => {
            let marked = if file_mode {
                executable
            } else {
                entry.mode == Mode::FILE_EXECUTABLE
            };
            if marked {
                Mode::FILE_EXECUTABLE
            } else {
                Mode::FILE
            }
        }
        PathKind::Link => Mode::SYMLINK,
        PathKind::Folder | PathKind::Special => return false,
    };
    let stat = &entry.stat;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the index holds the lower 32 bits of each"
    )]
    let same = entry.mode == kind
        && stat.size == index_size(disk.size)
        && stat.ino == disk.inode as u32
        && stat.mtime.secs == disk.mtime.0 as u32
        && stat.ctime.secs == disk.ctime.0 as u32
        && (stat.mtime.nsecs == 0 || stat.mtime.nsecs == disk.mtime.1 as u32)
        && (stat.ctime.nsecs == 0 || stat.ctime.nsecs == disk.ctime.1 as u32);
    let (index_seconds, index_nanos) = (written.0, i128::from(written.1));
    let racy = if stat.mtime.nsecs == 0 || index_nanos == 0 {
        disk.mtime.0 >= index_seconds
    } else {
        let nanos = |seconds: i64, subsecond: i128| i128::from(seconds) * 1_000_000_000 + subsecond;
        nanos(disk.mtime.0, i128::from(disk.mtime.1)) + TICK >= nanos(index_seconds, index_nanos)
    };
    same && !racy
}

/// Tells whether git would store a file as it is stored already, although the bytes on disk differ:
/// line endings and encodings that the repository's attributes ask for. Programs play no part.
struct NormalizedComparer<'repo> {
    repo: &'repo gix::Repository,
    pipeline: Option<
        Option<(
            gix::filter::Pipeline<'repo>,
            gix::worktree::IndexPersistedOrInMemory,
        )>,
    >,
}

impl<'repo> NormalizedComparer<'repo> {
    fn new(repo: &'repo gix::Repository) -> Self {
        NormalizedComparer {
            repo,
            pipeline: None,
        }
    }

    fn check(
        &mut self,
        below: &mut FolderWalk,
        path: &BStr,
        full: &BStr,
        stored_id: ObjectId,
    ) -> bool {
        use gix::filter::plumbing::pipeline::convert::ToGitOutcome;
        let repo = self.repo;
        if !attributes_can_be_read(below, full) {
            return false;
        }
        let Some((pipeline, index)) = self
            .pipeline
            .get_or_insert_with(|| repo.filter_pipeline(None).ok())
        else {
            return false;
        };
        let Ok((file, stat)) = below.open_file(full) else {
            return false;
        };
        // Conversions need the complete file in memory, and text files are not that large.
        if stat.size > 32 << 20 {
            return false;
        }
        match pipeline.convert_to_git(file, as_path(path), index) {
            Ok(ToGitOutcome::Buffer(bytes)) => {
                gix::objs::compute_hash(repo.object_hash(), gix::objs::Kind::Blob, bytes)
                    .is_ok_and(|id| id == stored_id)
            }
            _ => false,
        }
    }
}

/// Whether no pipe or device waits under the name of an attributes file that applies to `path`.
fn attributes_can_be_read(below: &mut FolderWalk, path: &BStr) -> bool {
    let mut folder = path;
    loop {
        folder = split_path(folder).0;
        let odd = below
            .lstat(&join_path(folder, b".gitattributes"))
            .ok()
            .flatten()
            .is_some_and(|s| s.kind == PathKind::Special);
        if odd {
            return false;
        }
        if folder.is_empty() {
            return true;
        }
    }
}
