//! Compares the work tree with the index: changed, missing, conflicted and untracked files.
//!
//! A pass over the folders finds all of them. It reads ignore files only in folders with untracked
//! files, and contents only if the file times are inconclusive. It notes unreadable paths, and
//! skips them.

use std::num::NonZero;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::{Condvar, Mutex};

use gix::bstr::{BStr, BString, ByteSlice};
use gix::index::State;
use gix::index::entry::Mode;
use gix::worktree::stack::state::ignore::Source;
use rustix::fs::{AtFlags, FileType, Mode as Access, OFlags};

use super::comparison_parts::WorkTreeStatus;
use super::content::{
    ComparisonOptions, FileComparer, FileComparison, describe_root_cause, is_odd_file,
};
use super::discover;
use super::error::{Error, ReadContext as _};
use super::file_state::StatStamp;
use super::hidden::is_hidden;
use super::index_folder::FolderIndexEntries;
use super::listing::DirectoryEntries;
use super::open::Worktree;
use super::path_text::escape_path;
use super::stat_fingerprint;
use super::submodule::SubmoduleScan;
use super::worktrees;

/// From how many index entries on more than one thread is worth starting.
const THREADS_FROM: usize = 3000;

/// How many threads share the work at most; more only wait for each other in the kernel.
const MAX_THREADS: usize = 8;

/// A folder to look through.
struct PendingFolder {
    /// From the top, with a slash at the end; empty for the top.
    path: BString,
    /// The index entries below it.
    span: Range<usize>,
    /// Whether ignore files can be used here; not below one that must not be opened.
    ignores: bool,
}

/// Adds what differs between index and work tree.
pub(super) fn add_worktree_changes(
    worktree: &Worktree,
    index: &State,
    depth: usize,
    status: &mut WorkTreeStatus,
) -> Result<(), Error> {
    let doing = || format!("compare {} with its index", worktree.root().display());
    let rules = ComparisonOptions::for_repository(&worktree.repo).with_context(doing)?;
    let submodules = SubmoduleScan::new(worktree, index, depth)?;
    let root = open_folder(rustix::fs::CWD, worktree.root()).with_context(doing)?;
    let roots = (&root, worktree.common_dir());
    let exclude = worktree.common_dir().join("info/exclude");
    let top = PendingFolder {
        path: BString::default(),
        span: 0..index.entries().len(),
        ignores: !is_odd_file(&exclude),
    };
    if !top.ignores {
        status.unreadable.push((
            exclude.display().to_string(),
            "it is neither a file nor a link".to_string(),
        ));
    }
    // To ask how many processors there are costs more than to look through a small worktree.
    let few = index.entries().len() < THREADS_FROM;
    // Beyond that number of entries no fingerprints are made.
    status.keeps_states &= index.entries().len() <= stat_fingerprint::MOST;
    let keeps_states = status.keeps_states;
    let threads = if few {
        1
    } else {
        std::thread::available_parallelism()
            .map_or(1, NonZero::get)
            .min(MAX_THREADS)
    };
    if threads == 1 {
        let mut scanner = ScanThread::new(
            &worktree.repo,
            index,
            (rules, keeps_states),
            roots,
            &submodules,
        );
        let mut own = vec![top];
        while let Some(folder) = own.pop() {
            scanner.scan_folder(folder, &mut own);
        }
        scanner.status.give_to(status);
    } else {
        let shared = FolderQueue {
            queue: Mutex::new((vec![top], 0)),
            more: Condvar::new(),
        };
        let repo = worktree.repo.clone().into_sync();
        let work = || {
            let repo = repo.to_thread_local();
            let mut scanner =
                ScanThread::new(&repo, index, (rules, keeps_states), roots, &submodules);
            while let Some(folder) = shared.take() {
                let mut own = vec![folder];
                while let Some(folder) = own.pop() {
                    scanner.scan_folder(folder, &mut own);
                    shared.offer(&mut own);
                }
                shared.mark_folder_done();
            }
            scanner.status
        };
        std::thread::scope(|scope| {
            // If no further thread starts, fewer do the work.
            let others: Vec<_> = (1..threads)
                .map_while(|_| std::thread::Builder::new().spawn_scoped(scope, work).ok())
                .collect();
            work().give_to(status);
            for thread in others {
                thread
                    .join()
                    .expect("a panic is a bug, passed on")
                    .give_to(status);
            }
        });
    }
    submodules.finish(status);
    Ok(())
}

/// Folders that any thread may take, and how many threads are at work on one.
struct FolderQueue {
    queue: Mutex<(Vec<PendingFolder>, usize)>,
    more: Condvar,
}

impl FolderQueue {
    /// How many folders a thread keeps to itself.
    const OWN: usize = 16;

    fn take(&self) -> Option<PendingFolder> {
        let mut queue = self.queue.lock().expect("no holder panics");
        loop {
            if let Some(folder) = queue.0.pop() {
                queue.1 += 1;
                return Some(folder);
            }
            if queue.1 == 0 {
                return None;
            }
            queue = self.more.wait(queue).expect("no holder panics");
        }
    }

    /// Shares the older half of a thread's queue if that is long.
    fn offer(&self, own: &mut Vec<PendingFolder>) {
        if own.len() > Self::OWN {
            self.queue
                .lock()
                .expect("no holder panics")
                .0
                .extend(own.drain(..Self::OWN / 2));
            self.more.notify_all();
        }
    }

    fn mark_folder_done(&self) {
        let mut queue = self.queue.lock().expect("no holder panics");
        queue.1 -= 1;
        if queue.1 == 0 {
            self.more.notify_all();
        }
    }
}

/// A thread's part of the work.
struct ScanThread<'w> {
    repo: &'w gix::Repository,
    index: &'w State,
    rules: ComparisonOptions,
    root: &'w OwnedFd,
    common_dir: &'w Path,
    comparer: FileComparer<'w>,
    submodules: &'w SubmoduleScan,
    ignores: Option<gix::AttributeStack<'w>>,
    listing: DirectoryEntries,
    status: WorkTreeStatus,
}

impl<'w> ScanThread<'w> {
    fn new(
        repo: &'w gix::Repository,
        index: &'w State,
        (rules, keeps_states): (ComparisonOptions, bool),
        (root, common_dir): (&'w OwnedFd, &'w Path),
        submodules: &'w SubmoduleScan,
    ) -> Self {
        let comparer = FileComparer::new(repo, index, rules);
        ScanThread {
            repo,
            index,
            rules,
            root,
            common_dir,
            comparer,
            submodules,
            ignores: None,
            listing: DirectoryEntries::default(),
            status: WorkTreeStatus {
                keeps_states,
                ..WorkTreeStatus::default()
            },
        }
    }

    /// Looks at one folder, and adds the folders in it to `queue`.
    fn scan_folder(&mut self, folder: PendingFolder, queue: &mut Vec<PendingFolder>) {
        let mut listing = std::mem::take(&mut self.listing);
        self.scan_listing(&mut listing, folder, queue);
        self.listing = listing;
    }

    fn scan_listing(
        &mut self,
        listing: &mut DirectoryEntries,
        mut folder: PendingFolder,
        queue: &mut Vec<PendingFolder>,
    ) {
        let open = match self
            .open(&folder)
            .and_then(|open| listing.read_folder(&open).map(|()| open))
        {
            Ok(open) => open,
            // It went away after its parent was read.
            Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR | rustix::io::Errno::LOOP) => {
                return self.all_missing(folder.span);
            }
            Err(error) => {
                self.unreadable(
                    folder.path.trim_end_with(|c| c == '/').as_bstr(),
                    error.to_string(),
                );
                return self.all_missing(folder.span);
            }
        };
        if self.status.keeps_states {
            self.status.folders.push(folder.path.clone());
        }
        if listing.iter().any(|(name, kind)| {
            name == b".gitignore"
                && !matches!(
                    kind,
                    FileType::RegularFile | FileType::Symlink | FileType::Directory
                )
        }) {
            folder.ignores = false;
            self.unreadable(
                join_path(&folder.path, b".gitignore").as_bstr(),
                "it is neither a file nor a link".to_string(),
            );
        }
        let children = FolderIndexEntries::new(
            self.index,
            folder.span.clone(),
            folder.path.len(),
            self.rules.fold_case,
        );
        let (mut files, mut folders) = (
            vec![false; children.files().len()],
            vec![false; children.folders().len()],
        );
        for (name, kind) in listing.iter() {
            if self.is_git(name) {
                continue;
            }
            let is_folder = kind == FileType::Directory;
            let tracked = children.file(name);
            if let Some(at) = tracked {
                files[at] = true;
                let gitlink = self.compare_tracked(&open, name, is_folder, children.file_span(at));
                if gitlink || !is_folder {
                    continue;
                }
            }
            if !is_folder {
                if matches!(kind, FileType::RegularFile | FileType::Symlink) {
                    self.add_untracked(&folder, name);
                }
                continue;
            }
            match children.folder(name) {
                Some(at) => {
                    folders[at] = true;
                    queue.push(PendingFolder {
                        path: with_slash(&folder.path, name),
                        span: children.folder_span(at),
                        ignores: folder.ignores,
                    });
                }
                None => self.untracked_folder(&folder, name, queue),
            }
        }
        for (span, seen) in children
            .files()
            .chain(children.folders())
            .zip(files.into_iter().chain(folders))
        {
            if !seen {
                self.all_missing(span);
            }
        }
    }

    fn open(&self, folder: &PendingFolder) -> rustix::io::Result<OwnedFd> {
        let path: &[u8] = if folder.path.is_empty() {
            b"."
        } else {
            folder.path.trim_end_with(|c| c == '/')
        };
        open_folder(self.root.as_fd(), path)
    }

    fn is_git(&self, name: &[u8]) -> bool {
        name == b".git" || self.rules.fold_case && name.eq_ignore_ascii_case(b".git")
    }

    /// Compares a path with its index entries; returns whether it is the path of a submodule.
    fn compare_tracked(
        &mut self,
        open: &OwnedFd,
        name: &[u8],
        is_folder: bool,
        span: Range<usize>,
    ) -> bool {
        let entry = &self.index.entries()[span.start];
        let path = entry.path(self.index);
        if entry.stage_raw() != 0 {
            self.status.conflicted.push(path.to_owned());
            return entry.mode == Mode::COMMIT;
        }
        if entry.mode == Mode::COMMIT {
            if is_hidden(entry) {
                return true;
            }
            if !is_folder {
                self.status.unstaged.push(path.to_owned());
            } else if let Some(fingerprint) = self.submodules.differs(entry, path) {
                self.status.unstaged.push(path.to_owned());
                self.status.submodules.push(fingerprint);
            }
            return true;
        }
        if is_hidden(entry) {
            return false;
        }
        let compared = if is_folder {
            FileComparison::Changed
        } else {
            self.compare(open, name, span.start)
        };
        match compared {
            FileComparison::Same => return false,
            FileComparison::Changed => {}
            FileComparison::Unreadable(why) => self.unreadable(path, why),
        }
        self.status.unstaged.push(path.to_owned());
        false
    }

    fn compare(&mut self, open: &OwnedFd, name: &[u8], at: usize) -> FileComparison {
        match rustix::fs::statat(open, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => {
                if self.status.keeps_states {
                    self.status.states.push((at, StatStamp::from_stat(&stat)));
                }
                self.comparer
                    .compare(open.as_fd(), name, &self.index.entries()[at], &stat)
            }
            Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => FileComparison::Changed,
            Err(error) => FileComparison::Unreadable(error.to_string()),
        }
    }

    /// Entries whose files are not there, or cannot be seen.
    fn all_missing(&mut self, span: Range<usize>) {
        for entry in &self.index.entries()[span] {
            let path = entry.path(self.index).to_owned();
            if entry.stage_raw() != 0 {
                self.status.conflicted.push(path);
            } else if !is_hidden(entry) {
                self.status.unstaged.push(path);
            }
        }
    }

    fn add_untracked(&mut self, folder: &PendingFolder, name: &[u8]) {
        let path = join_path(&folder.path, name);
        let ignored = self.is_ignored(folder, path.as_bstr(), Mode::FILE);
        if ignored {
            &mut self.status.ignored
        } else {
            &mut self.status.untracked
        }
        .push(path);
    }

    fn untracked_folder(
        &mut self,
        folder: &PendingFolder,
        name: &[u8],
        queue: &mut Vec<PendingFolder>,
    ) {
        let path = join_path(&folder.path, name);
        if self.is_ignored(folder, path.as_bstr(), Mode::DIR) {
            self.status.ignored.push(path);
            return;
        }
        let inner = self
            .repo
            .workdir()
            .expect("only worktrees are opened")
            .join(gix::path::from_bstr(path.as_bstr()).unwrap_or_default());
        if discover::is_nested_repository(&inner) {
            // A worktree of this same repository is judged separately, and cannot be committed here.
            if worktrees::is_registered(&inner, self.common_dir) {
                return;
            }
            self.status.untracked.push(path);
            return;
        }
        queue.push(PendingFolder {
            path: with_slash(&folder.path, name),
            span: 0..0,
            ignores: folder.ignores,
        });
    }

    /// Whether git ignores something untracked. If that is unreadable, the path is not ignored, and
    /// named.
    fn is_ignored(&mut self, folder: &PendingFolder, path: &BStr, mode: Mode) -> bool {
        if !folder.ignores {
            return false;
        }
        let answer = match &mut self.ignores {
            Some(stack) => Ok(stack),
            none => self
                .repo
                .excludes(self.index, None, Source::WorktreeThenIdMappingIfNotSkipped)
                .map(|stack| none.insert(stack)),
        };
        match answer.and_then(|stack| stack.at_entry(path, Some(mode)).map(|at| at.is_excluded())) {
            Ok(excluded) => excluded,
            Err(error) => {
                let why = format!(
                    "its ignore files could not be read: {}",
                    describe_root_cause(&error)
                );
                self.unreadable(folder.path.trim_end_with(|c| c == '/').as_bstr(), why);
                false
            }
        }
    }

    fn unreadable(&mut self, path: &BStr, why: String) {
        self.status.unreadable.push((escape_path(path), why));
    }
}

fn open_folder(at: impl AsFd, path: impl rustix::path::Arg) -> rustix::io::Result<OwnedFd> {
    rustix::fs::openat(
        at,
        path,
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC,
        Access::empty(),
    )
}

fn join_path(folder: &[u8], name: &[u8]) -> BString {
    [folder, name].concat().into()
}

fn with_slash(folder: &[u8], name: &[u8]) -> BString {
    [folder, name, b"/"].concat().into()
}
