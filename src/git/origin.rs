//! Decides which new commits were made here and which came from elsewhere, by what the reflogs and the
//! recorded refs prove. Where nothing proves otherwise, a commit was made here.
//!
//! The evidence, strongest first:
//! 1. HEAD's reflog shows the commit being made after HEAD last stood at the baseline: made here.
//! 2. A ref recorded with the baseline reaches it: it was there before, imported.
//! 3. A reflog of any worktree or branch of this repository shows it being made: made here.
//! 4. HEAD's reflog shows it arriving by a pull, or arriving by another movement while a
//!    remote-tracking ref or the last fetch reaches it: imported.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use gix::ObjectId;

use super::known_refs::KnownRefs;
use super::open::{Error, Worktree};
use super::reflog::{self, Entry};
use super::walk::{History, Node};
use crate::decision::evidence::Degraded;

/// How many commits outside of the range are looked at to find out who else reaches it.
const LOOK_AROUND: usize = 50_000;

/// How many steps through the range the reflog's movements may cost.
const STEPS: usize = 20_000_000;

/// What the evidence says about the commits of a range.
#[derive(Default)]
pub(super) struct Origins {
    /// Proved to come from elsewhere.
    pub imported: HashSet<Node>,
    /// Merges that git made by itself: they join histories and hold no work of their own.
    pub automatic_merges: HashSet<Node>,
    /// Commits that HEAD's reflog shows being made by amending another.
    pub amended: HashSet<Node>,
    /// Evidence that could not be read to its end.
    pub degraded: Vec<Degraded>,
}

/// Sorts `new`, the commits since `baseline`.
pub(super) fn sort(
    worktree: &Worktree,
    history: &mut History<'_>,
    baseline: Option<ObjectId>,
    new: &[Node],
    known: Option<&KnownRefs>,
) -> Result<Origins, Error> {
    let mut origins = Origins::default();
    if new.is_empty() {
        return Ok(origins);
    }
    let log = match &worktree.served {
        Some(served) => served.head_log()?,
        None => worktree.git_dir().join("logs/HEAD"),
    };
    let here = |entry: &Entry| match baseline {
        Some(baseline) => entry.old == baseline || entry.new == baseline,
        None => entry.old.is_null(),
    };
    // The end of the log nearly always settles it: the session's own commits, back to the baseline.
    let recent = reflog::read(&log, false, here)?;
    let since = recent.first().filter(|entry| here(entry)).map(|entry| usize::from(Some(entry.new) == baseline));
    let recent = since.map_or(&[][..], |at| &recent[at..]);
    let made_since = made(history, recent, &mut origins);
    if new.iter().all(|node| made_since.contains(node)) {
        return Ok(origins);
    }
    let all: HashSet<Node> = new.iter().copied().collect();
    let mut open: HashSet<Node> = all.difference(&made_since).copied().collect();

    if let Some(known) = known {
        let tips = ids(known.tips()?.iter().filter_map(|(_, hex)| ObjectId::from_hex(hex.as_bytes()).ok()));
        let (before, complete) = history.reached(&tips, &all, LOOK_AROUND)?;
        note_incomplete(&mut origins, complete);
        origins.imported.extend(before.iter().filter(|node| open.contains(node)));
        open.retain(|node| !before.contains(node));
    }
    let entries = reflog::read(&log, pulls_locally(worktree), |_| false)?;
    let made_here = made(history, &entries, &mut origins);
    open.retain(|node| !made_here.contains(node));
    if open.is_empty() {
        return Ok(origins);
    }

    let arrived = arrivals(history, &entries, &all, &mut origins);
    let mut candidates: HashSet<Node> = open.intersection(&arrived.pulled).copied().collect();
    let unsure: HashSet<Node> = open.intersection(&arrived.moved).filter(|node| !candidates.contains(node)).copied().collect();
    if !unsure.is_empty() {
        let (remote, complete) = history.reached(&remote_tips(worktree)?, &all, LOOK_AROUND)?;
        note_incomplete(&mut origins, complete);
        candidates.extend(unsure.intersection(&remote));
    }
    if !candidates.is_empty() {
        let others = match &worktree.served {
            Some(served) => served.all_logs()?,
            None => other_logs(worktree.common_dir(), &log),
        };
        for log in others {
            let entries = reflog::read(&log, false, |_| false)?;
            let made_there = made(history, &entries, &mut origins);
            candidates.retain(|node| !made_there.contains(node));
        }
    }
    origins.imported.extend(candidates);
    Ok(origins)
}

/// The commits of the range that these entries show being made.
fn made(history: &History<'_>, entries: &[Entry], origins: &mut Origins) -> HashSet<Node> {
    let mut made = HashSet::new();
    for entry in entries.iter().filter(|entry| entry.action.makes() && entry.old != entry.new) {
        if let Some(node) = history.find(&entry.new) {
            made.insert(node);
            if entry.amends {
                origins.amended.insert(node);
            }
            if matches!(entry.action, reflog::Action::Merged { .. }) {
                origins.automatic_merges.insert(node);
            }
        }
    }
    made
}

struct Arrived {
    pulled: HashSet<Node>,
    moved: HashSet<Node>,
}

/// What HEAD's movements brought: for each, what its end reaches and its start does not, without the
/// commit that it made itself.
fn arrivals(history: &History<'_>, entries: &[Entry], all: &HashSet<Node>, origins: &mut Origins) -> Arrived {
    let mut arrived = Arrived { pulled: HashSet::new(), moved: HashSet::new() };
    let mut steps = 0;
    for entry in entries.iter().rev() {
        let Some(end) = history.find(&entry.new).filter(|node| all.contains(node)) else { continue };
        let start = history.find(&entry.old).filter(|node| all.contains(node));
        // A plain commit brings itself alone; this keeps a long session cheap.
        if entry.action == reflog::Action::Unknown || entry.action.makes() && history.parents(end).len() < 2 {
            continue;
        }
        if steps > STEPS {
            note_incomplete(origins, false);
            break;
        }
        let mut brought = history.descend(&[end], all);
        let before = start.map(|start| history.descend(&[start], all)).unwrap_or_default();
        steps += brought.len() + before.len();
        brought.retain(|node| !(before.contains(node) || entry.action.makes() && *node == end));
        if entry.action.pulled() { &mut arrived.pulled } else { &mut arrived.moved }.extend(brought);
    }
    arrived
}

fn note_incomplete(origins: &mut Origins, complete: bool) {
    if !complete && origins.degraded.is_empty() {
        origins.degraded.push(Degraded {
            code: "origin_unproved",
            detail: "there is too much history around the new commits to prove where all of them come from; the rest counts as made here"
                .to_string(),
        });
    }
}

/// Whether a plain `git pull` on this branch takes from a branch of the same repository.
fn pulls_locally(worktree: &Worktree) -> bool {
    let remote = worktree.branch().map(|branch| format!("branch.{branch}.remote"));
    remote.is_some_and(|key| worktree.repo.config_snapshot().string(key.as_str()).is_some_and(|value| *value == b"."[..]))
}

fn remote_tips(worktree: &Worktree) -> Result<Vec<ObjectId>, Error> {
    let doing = || format!("list the remote-tracking refs of {}", worktree.common_dir().display());
    let refs = worktree.repo.references().map_err(|e| Error::read(doing(), e))?;
    let refs = refs.remote_branches().map_err(|e| Error::read(doing(), e))?;
    let tracked = refs.flatten().filter_map(|reference| reference.target().try_id().map(ToOwned::to_owned));
    Ok(ids(tracked.chain(last_fetch(worktree))))
}

/// What was fetched last, unless from this same repository: `id TAB [not-for-merge] TAB branch 'x' of address`.
fn last_fetch(worktree: &Worktree) -> Vec<ObjectId> {
    let text = fs::read(worktree.git_dir().join("FETCH_HEAD")).unwrap_or_default();
    let line = |line: &[u8]| (!line.ends_with(b" of .")).then(|| ObjectId::from_hex(line.split(|b| *b == b'\t').next()?).ok()).flatten();
    text.split(|b| *b == b'\n').filter_map(line).collect()
}

fn ids(ids: impl Iterator<Item = ObjectId>) -> Vec<ObjectId> {
    let mut ids: Vec<ObjectId> = ids.collect();
    ids.sort();
    ids.dedup();
    ids
}

/// The reflogs of the other worktrees' HEADs and of all local branches.
fn other_logs(common_dir: &Path, own: &Path) -> Vec<PathBuf> {
    let mut logs = vec![common_dir.join("logs/HEAD")];
    for worktree in fs::read_dir(common_dir.join("worktrees")).into_iter().flatten().flatten() {
        logs.push(worktree.path().join("logs/HEAD"));
    }
    let mut folders = vec![common_dir.join("logs/refs/heads")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(kind) if kind.is_file() => logs.push(entry.path()),
                _ => {}
            }
        }
    }
    logs.retain(|log| log != own);
    logs
}
