//! The work tree against the index: changed, missing, conflicted and untracked files.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use gix::bstr::{BStr, BString, ByteSlice};
use gix::dir::entry::Status;
use gix::dir::walk::EmissionMode;
use gix::index::State;
use gix::status::index_worktree::Options;
use gix::status::plumbing::index_as_worktree::traits::{CompareBlobs, FastEq, ReadData};
use gix::status::plumbing::index_as_worktree::{Change, EntryStatus};
use gix::status::plumbing::index_as_worktree_with_renames::{Entry, VisitEntry};

use super::changes::Found;
use super::open::{Error, Worktree};
use super::path_text::escape_path;
use super::submodule::{self, Submodules};

/// From how many index entries on more than one thread is worth starting.
const THREADS_FROM: usize = 2000;

/// How many unreadable paths are stepped around before we give up.
const UNREADABLE_UP_TO: usize = 50;

/// Adds what differs between index and work tree.
pub(super) fn find(worktree: &Worktree, index: &State, depth: usize, found: &mut Found) -> Result<(), Error> {
    let submodules = Submodules::new(worktree, index, depth)?;
    let mut around: Vec<BString> = Vec::new();
    loop {
        match once(worktree, index, &submodules, &around) {
            Ok(seen) => {
                found.unstaged.extend(seen.unstaged);
                found.untracked.extend(seen.untracked);
                found.conflicted.extend(seen.conflicted);
                found.submodules.extend(seen.submodules);
                break;
            }
            Err(error) => {
                // One folder that cannot be read must not hide everything else: note it, and go around it.
                let path = unreadable_path(worktree.root(), &error).filter(|path| !around.contains(path));
                let (Some(path), true) = (path, around.len() < UNREADABLE_UP_TO) else {
                    return Err(Error::read(format!("compare {} with its index", worktree.root().display()), error));
                };
                let why = error.iter_errors().last().map_or_else(|| error.to_string(), ToString::to_string);
                found.unreadable.push((escape_path(&path), why));
                // What is tracked in there may have changed, and nobody can tell.
                if let Some(entries) = index.prefixed_entries(path.as_bstr()) {
                    found.unstaged.extend(
                        entries.iter().map(|entry| entry.path(index).to_owned()).filter(|p| is_at_or_below(p.as_bstr(), path.as_bstr())),
                    );
                }
                around.push(path);
            }
        }
    }
    submodules.finish(found);
    Ok(())
}

/// What one pass saw.
#[derive(Default)]
struct Seen {
    unstaged: Vec<BString>,
    untracked: Vec<BString>,
    conflicted: Vec<BString>,
    submodules: Vec<u64>,
}

fn once(worktree: &Worktree, index: &State, submodules: &Submodules, around: &[BString]) -> gix::Result<Seen> {
    let repo = &worktree.repo;
    // Set here and not through the configuration, where the repository could switch the search off.
    let dirwalk = repo.dirwalk_options()?.emit_untracked(EmissionMode::Matching).emit_ignored(None);
    let patterns = around.iter().map(|path| {
        let mut pattern = BString::from(":(top,exclude,literal)");
        pattern.extend_from_slice(path);
        pattern
    });
    let mut seen = Seen::default();
    repo.index_worktree_status(
        index,
        patterns,
        &mut seen,
        Compare { index, unreadable: submodules.unreadable() },
        submodules.clone(),
        &mut gix::progress::Discard,
        &AtomicBool::new(false),
        Options {
            sorting: None,
            dirwalk_options: Some(dirwalk),
            rewrites: None,
            thread_limit: (index.entries().len() < THREADS_FROM).then_some(1),
        },
    )?;
    Ok(seen)
}

impl<'index> VisitEntry<'index> for Seen {
    type ContentChange = ();
    type SubmoduleStatus = submodule::State;

    fn visit_entry(&mut self, entry: Entry<'index, (), submodule::State>) {
        match entry {
            Entry::Modification { rela_path, status, .. } => match status {
                EntryStatus::NeedsUpdate(_) => {}
                EntryStatus::Conflict { .. } => self.conflicted.push(rela_path.to_owned()),
                EntryStatus::IntentToAdd => self.unstaged.push(rela_path.to_owned()),
                EntryStatus::Change(change) => {
                    if let Change::SubmoduleModification(state) = change {
                        self.submodules.push(state.fingerprint);
                    }
                    self.unstaged.push(rela_path.to_owned());
                }
            },
            // Only regular files, symlinks and nested repositories can be added to git.
            Entry::DirectoryContents { entry, .. } => {
                if entry.status == Status::Untracked && entry.disk_kind != Some(gix::dir::entry::Kind::Untrackable) {
                    self.untracked.push(entry.rela_path);
                }
            }
            // Comes only with rename tracking, which is off.
            Entry::Rewrite { dirwalk_entry, .. } => self.untracked.push(dirwalk_entry.rela_path),
        }
    }
}

/// Paths that could not be read, with the reason.
pub(super) type Unreadable = Arc<Mutex<Vec<(String, String)>>>;

/// Compares contents; what cannot be read counts as changed and is noted.
#[derive(Clone)]
struct Compare<'index> {
    index: &'index State,
    unreadable: Unreadable,
}

impl CompareBlobs for Compare<'_> {
    type Output = ();

    fn compare_blobs<'a, 'b>(
        &mut self,
        entry: &gix::index::Entry,
        size: u64,
        data: impl ReadData<'a>,
        buf: &mut Vec<u8>,
    ) -> gix::Result<Option<()>> {
        Ok(FastEq.compare_blobs(entry, size, data, buf).unwrap_or_else(|error| {
            let why = error.iter_errors().last().map_or_else(|| error.to_string(), ToString::to_string);
            self.unreadable.lock().expect("no holder panics").push((escape_path(entry.path(self.index)), why));
            Some(())
        }))
    }
}

/// The path below the work tree that an error of gix is about, where it is about one.
fn unreadable_path(root: &Path, error: &gix::Error) -> Option<BString> {
    const ABOUT: &[&str] = &["Failed to read the directory at \"", "Could not read metadata for worktree path \""];
    for cause in error.iter_errors() {
        let text = cause.to_string();
        for about in ABOUT {
            let Some(path) = text.split_once(about).and_then(|(_, rest)| rest.split_once('"')).map(|(path, _)| path) else { continue };
            let below = Path::new(path).strip_prefix(root).ok()?;
            if !below.as_os_str().is_empty() {
                return Some(gix::path::into_bstr(below).ok()?.into_owned());
            }
        }
    }
    None
}

fn is_at_or_below(path: &BStr, folder: &BStr) -> bool {
    path.strip_prefix(folder.as_bytes()).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}
