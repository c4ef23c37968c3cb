//! Decides which new commits were made here and which were imported, by the recorded refs and the reflogs. A commit without evidence of
//! another origin was made here.
//!
//! The evidence, strongest first:
//! 1. A ref recorded with the baseline reaches it: imported. No reflog counts against that, because any process in the worktree can
//!    write reflogs.
//! 2. HEAD's reflog shows its creation, with the parent or the amended commit that such an entry must have: made here.
//! 3. The reflog of a helper's worktree or branch shows its creation: made here.
//! 4. The reflog of another worktree or branch contains it: imported.
//! 5. HEAD's reflog shows its arrival: imported, unless no fetched ref, no ref of another worktree and no commit that HEAD had left behind
//!    reaches it, and it came by the name of a helper's branch, whose own log may be gone, or has the committer that was recorded with
//!    the baseline, and a date since then: as a session could as well have committed it in plain sight, this forges no new credit. A branch that
//!    the session alone can have moved proves nothing for 4 and 5.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use gix::ObjectId;
use gix::bstr::{BStr, ByteSlice};

use super::error::{Error, ReadContext as _};
use super::judged_ref::PREFIX as JUDGED;
use super::known_refs::remove_duplicates;
use super::open::Worktree;
use super::origin_evidence::OriginEvidence;
use super::ref_owner::{RefOwner, RefOwners, git_dirs};
use super::reflog::{self, FETCHED, ReflogEntry};
use super::walk::{CommitHistory, HistoryIndex};
use watchdog_facts::evidence::{Degradation, WarningCode};
use watchdog_system::read_regular_file;

/// The maximum number of commits outside of the range that are read to find other refs which reach it.
pub(super) const MOST_COMMITS: usize = 50_000;

/// How many steps through the range the reflog's movements may cost.
const STEPS: usize = 20_000_000;

/// The evidence about the commits of a range.
#[derive(Default)]
pub(super) struct CommitOrigins {
    /// Proved to be imported.
    pub imported: HashSet<HistoryIndex>,
    /// Those of the imported that HEAD's reflog shows being made here, in or after the second in which the baseline was recorded: byte for
    /// byte the same commits as those of another worktree. Only that reflog speaks for them, so
    /// they give no credit.
    pub twins: HashSet<HistoryIndex>,
    /// Commits that HEAD's reflog shows being made by amending another.
    pub amended: HashSet<HistoryIndex>,
    /// Evidence that could not be read to its end.
    pub degraded: Vec<Degradation>,
}

/// Sorts `new`, the commits since `baseline`.
pub(super) fn sort_by_origin(
    worktree: &Worktree,
    history: &mut CommitHistory<'_>,
    baseline: Option<ObjectId>,
    new: &[HistoryIndex],
    evidence: &OriginEvidence,
) -> Result<CommitOrigins, Error> {
    let mut origins = CommitOrigins::default();
    if new.is_empty() {
        return Ok(origins);
    }
    let log = worktree.head_log()?;
    let here = |entry: &ReflogEntry| match baseline {
        Some(baseline) => entry.old == baseline || entry.new == baseline,
        None => entry.old.is_null(),
    };
    // The end of the log nearly always settles it: the session's own commits, back to the baseline.
    let tail = reflog::read_tail(&log, here)?;
    let since = tail
        .entries
        .first()
        .filter(|entry| here(entry))
        .map(|entry| usize::from(Some(entry.new) == baseline));
    let recent = since.map_or(&[][..], |at| &tail.entries[at..]);
    let made_since = made_commits(worktree, history, recent, &mut origins)?;
    let all: HashSet<HistoryIndex> = new.iter().copied().collect();
    let mut open = all.clone();
    // Also where the log shows all of them being made, and whatever date they have: whoever commits chooses both.
    if let Some(recorded_refs) = &evidence.refs {
        let (before, complete) =
            history.find_reached(recorded_refs.objects()?, &all, MOST_COMMITS)?;
        note_incomplete(&mut origins, complete);
        let recorded_at = evidence
            .edge
            .as_ref()
            .and_then(|edge| edge.at)
            .and_then(|at| u64::try_from(at.as_second()).ok());
        let is_late =
            |node: &HistoryIndex| recorded_at.is_some_and(|second| history.date(*node) >= second);
        origins.twins.extend(
            before
                .intersection(&made_since)
                .filter(|node| is_late(node)),
        );
        origins.imported.extend(before.iter());
        open.retain(|node| !before.contains(node));
    }
    open.retain(|node| !made_since.contains(node));
    if open.is_empty() {
        return Ok(origins);
    }
    let entries = tail.whole()?;
    let made_here = made_commits(worktree, history, &entries, &mut origins)?;
    open.retain(|node| !made_here.contains(node));
    if open.is_empty() {
        return Ok(origins);
    }

    let owners = RefOwners::new(worktree, evidence)?;
    let moved_here = list_moved_here(worktree, &owners, evidence)?;
    let own = (entries.as_slice(), &moved_here);
    let seen_by_others = commits_seen_by_others(worktree, history, &owners, own, &all)?;
    open.retain(|node| !seen_by_others.made_by_helpers.contains(node));
    let arrived = find_arrivals(worktree, history, &owners, &entries, &all, &mut origins)?;
    let (mut unexplained, mut by_name, mut own) = (false, HashSet::new(), HashSet::new());
    let may_be_own = !owners.lost_worktree(worktree.common_dir());
    for node in open {
        match arrived.get(&node) {
            _ if seen_by_others.had_by_others.contains(&node) => {
                let _ = origins.imported.insert(node);
            }
            Some(CommitArrival::ByName) => drop(by_name.insert(node)),
            Some(CommitArrival::Moved)
                if may_be_own && is_by_session_committer(worktree, history, node, evidence) =>
            {
                own.insert(node);
            }
            Some(_) => drop(origins.imported.insert(node)),
            None => unexplained = true,
        }
    }
    if !by_name.is_empty() || !own.is_empty() {
        let tips = foreign_tips(worktree, &owners, evidence)?;
        let (foreign, complete) = history.find_reached(&tips, &all, MOST_COMMITS)?;
        note_incomplete(&mut origins, complete);
        let is_foreign = |node: &&HistoryIndex| !complete || foreign.contains(node);
        origins.imported.extend(own.iter().filter(is_foreign));
        origins.imported.extend(by_name.intersection(&foreign));
    }
    let head = worktree.head_id()?;
    let ends_at_head = |entries: &[ReflogEntry]| entries.last().map(|entry| entry.new) == head;
    // StGit writes the log of the branch alone.
    let is_in_branch_log = || -> Result<bool, Error> {
        let mut logs = worktree.all_logs()?;
        logs.retain(|(name, _)| owners.find_owner(name, worktree.common_dir()) == RefOwner::This);
        let ends_at_head =
            |log: &Path| Ok(ends_at_head(&reflog::read_tail(log, |_| true)?.entries));
        logs.iter()
            .try_fold(false, |is_in, (_, log)| Ok(is_in || ends_at_head(log)?))
    };
    if unexplained && !ends_at_head(&entries) && !is_in_branch_log()? {
        origins.degraded.push(Degradation::new(WarningCode::NoReflog, "the reflog of HEAD does not show how commits came here; what no recorded ref has counts as made here"));
    }
    Ok(origins)
}

/// The commits of the range that these entries show being made.
fn made_commits(
    worktree: &Worktree,
    history: &mut CommitHistory<'_>,
    entries: &[ReflogEntry],
    origins: &mut CommitOrigins,
) -> Result<HashSet<HistoryIndex>, Error> {
    let mut made = HashSet::new();
    for entry in entries.iter().filter(|entry| entry.action.makes()) {
        if let Some(node) = history.find(&entry.new)
            && is_plausible_entry(worktree, history, entry)?
        {
            made.insert(node);
            if entry.amends {
                origins.amended.insert(node);
            }
        }
    }
    Ok(made)
}

/// Whether an entry that claims the creation of a commit can be true: then the commit is a child of the former HEAD, or replaces it. A
/// program can have git write `commit: moving to other` for a reset.
pub(super) fn is_plausible_entry(
    worktree: &Worktree,
    history: &mut CommitHistory<'_>,
    entry: &ReflogEntry,
) -> Result<bool, Error> {
    let node = history.node(entry.new);
    if entry.old == entry.new || !history.load(node)? {
        return Ok(false);
    }
    let parents = history.parents(node).to_vec();
    let stands_on_it = match parents.first() {
        Some(parent) => history.id(*parent) == entry.old,
        None => entry.old.is_null(),
    };
    if !stands_on_it {
        let old = history.node(entry.old);
        if entry.old.is_null() || !history.load(old)? || history.parents(old) != parents {
            return Ok(false);
        }
    }
    let Some(words) = &entry.moving_words else {
        return Ok(true);
    };
    let commit = worktree
        .repo
        .find_commit(entry.new)
        .with_context(|| format!("read commit {}", entry.new))?;
    let summary = commit
        .message_raw_sloppy()
        .to_str_lossy()
        .lines()
        .find(|line| !line.trim().is_empty())
        .map(|line| line.trim().to_owned());
    Ok(summary.as_deref() == Some(words.trim()))
}

/// The findings in the logs of other worktrees and of branches.
struct ReflogFindings {
    made_by_helpers: HashSet<HistoryIndex>,
    had_by_others: HashSet<HistoryIndex>,
}

fn commits_seen_by_others(
    worktree: &Worktree,
    history: &mut CommitHistory<'_>,
    owners: &RefOwners,
    (own, moved_here): (&[ReflogEntry], &HashMap<String, i64>),
    all: &HashSet<HistoryIndex>,
) -> Result<ReflogFindings, Error> {
    let mut logs = Vec::new();
    for (name, path) in worktree.all_logs()? {
        let owner = owners.find_owner(&name, worktree.common_dir());
        // Those of its own HEAD and branch have nothing that its own HEAD does not tell.
        if owner != RefOwner::This {
            let mut entries = reflog::read_entries(&path)?;
            let begin = moved_here.get(&name).copied();
            entries.retain(|entry| begin.is_none_or(|begin| entry.seconds < begin));
            logs.push((name.starts_with("refs/"), owner, entries));
        }
    }
    // A commit on a checked-out branch has the same line in two logs: it belongs to the owner of that worktree.
    let mut lines: HashSet<u64> = own.iter().map(|entry| entry.line).collect();
    for (_, _, entries) in logs
        .iter()
        .filter(|(is_branch, owner, _)| !is_branch && *owner == RefOwner::Helper)
    {
        lines.extend(entries.iter().map(|entry| entry.line));
    }
    let (mut ignored, mut made_by_helpers, mut had) =
        (CommitOrigins::default(), HashSet::new(), Vec::new());
    for (is_branch, owner, entries) in &logs {
        match owner {
            RefOwner::This => {}
            RefOwner::Helper => {
                made_by_helpers.extend(made_commits(worktree, history, entries, &mut ignored)?)
            }
            RefOwner::Other => {
                let theirs = entries
                    .iter()
                    .filter(|entry| !is_branch || !lines.contains(&entry.line));
                had.extend(
                    theirs
                        .filter_map(|entry| history.find(&entry.new))
                        .filter(|node| all.contains(node)),
                );
            }
        }
    }
    // A branch that is created during the session in another session's worktree shows as made there, too.
    let mut made_by_others = HashSet::new();
    for (_, _, entries) in logs
        .iter()
        .filter(|(is_branch, owner, _)| !is_branch && *owner == RefOwner::Other)
    {
        made_by_others.extend(made_commits(worktree, history, entries, &mut ignored)?);
    }
    made_by_helpers.retain(|node| !made_by_others.contains(node));
    Ok(ReflogFindings {
        made_by_helpers,
        had_by_others: history.descend(&had, all),
    })
}

/// The recorded branches that nobody but the session is seen to have moved since the baseline, each with the second of that: no other worktree
/// has them checked out or had their commit, and it came from no other repository.
fn list_moved_here(
    worktree: &Worktree,
    owners: &RefOwners,
    evidence: &OriginEvidence,
) -> Result<HashMap<String, i64>, Error> {
    let edge = (evidence.edge.as_ref()).filter(|edge| edge.committer.is_some());
    let Some(begin) = edge.and_then(|edge| Some(edge.at?.as_second())) else {
        return Ok(HashMap::new());
    };
    if owners.lost_worktree(worktree.common_dir()) {
        return Ok(HashMap::new());
    }
    let (mut had_by_others, mut moved) = (HashSet::new(), Vec::new());
    for (name, path) in worktree.all_logs()? {
        if owners.find_owner(&name, worktree.common_dir()) != RefOwner::Other {
            continue;
        }
        let entries = reflog::read_entries(&path)?.into_iter();
        let new: Vec<_> = entries.filter(|entry| entry.seconds >= begin).collect();
        if !name.starts_with("refs/") {
            had_by_others.extend(new.iter().map(|entry| entry.new));
        } else if name.starts_with("refs/heads/")
            && let Some(last) = new.last()
            && !owners.is_taken(&name)
            && !new.iter().any(|entry| entry.fetched)
        {
            moved.push((name, last.new));
        }
    }
    moved.retain(|(_, tip)| !had_by_others.contains(tip));
    Ok(moved.into_iter().map(|(name, _)| (name, begin)).collect())
}

/// How a commit first reached HEAD.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CommitArrival {
    /// From anywhere.
    Moved,
    /// By the name of what was fetched last.
    Fetched,
    /// By the name of what may be a helper's branch.
    ByName,
}

/// The commits that HEAD's movements brought, each by its first movement: those that its end reaches and its start does not, without
/// the commit that it created itself.
fn find_arrivals(
    worktree: &Worktree,
    history: &mut CommitHistory<'_>,
    owners: &RefOwners,
    entries: &[ReflogEntry],
    all: &HashSet<HistoryIndex>,
    origins: &mut CommitOrigins,
) -> Result<HashMap<HistoryIndex, CommitArrival>, Error> {
    let mut arrived = HashMap::new();
    let mut steps = 0;
    for entry in entries {
        let Some(end) = history.find(&entry.new).filter(|node| all.contains(node)) else {
            continue;
        };
        let start = history.find(&entry.old).filter(|node| all.contains(node));
        if entry.action == reflog::ReflogAction::Unknown {
            continue;
        }
        let makes = entry.action.makes() && is_plausible_entry(worktree, history, entry)?;
        // A plain commit brings itself alone; this keeps a long session cheap.
        if makes && history.parents(end).len() < 2 {
            continue;
        }
        if steps > STEPS {
            note_incomplete(origins, false);
            break;
        }
        let mut brought = history.descend(&[end], all);
        let before = start
            .map(|start| history.descend(&[start], all))
            .unwrap_or_default();
        steps += brought.len() + before.len();
        brought.retain(|node| !(before.contains(node) || makes && *node == end));
        let by_name = !entry.sources.is_empty()
            && entry
                .sources
                .iter()
                .all(|name| owners.may_be_helpers(name, worktree.common_dir()));
        let how = match by_name {
            true => CommitArrival::ByName,
            false if entry.sources.iter().any(|name| name.starts_with(FETCHED)) => {
                CommitArrival::Fetched
            }
            false => CommitArrival::Moved,
        };
        for node in brought {
            arrived.entry(node).or_insert(how);
        }
    }
    Ok(arrived)
}

fn note_incomplete(origins: &mut CommitOrigins, complete: bool) {
    if !complete && origins.degraded.is_empty() {
        origins.degraded.push(Degradation::new(WarningCode::OriginUnproved, "there is too much history around the new commits to prove where all of them come from; the rest counts as made here"));
    }
}

/// Whether a commit has the committer that was recorded with the baseline, and a date since then.
pub(super) fn is_by_session_committer(
    worktree: &Worktree,
    history: &CommitHistory<'_>,
    node: HistoryIndex,
    evidence: &OriginEvidence,
) -> bool {
    let recorded = evidence
        .edge
        .as_ref()
        .map(|edge| (edge.at, &edge.committer));
    let Some((Some(at), Some(committer))) = recorded else {
        return false;
    };
    u64::try_from(at.as_second()).is_ok_and(|second| history.date(node) >= second)
        && (worktree.repo.find_commit(history.id(node)).ok()).is_some_and(|commit| {
            commit
                .committer()
                .is_ok_and(|who| name_person(who.name, who.email) == *committer)
        })
}

fn name_person(name: &BStr, email: &BStr) -> String {
    format!("{} <{}>", name.trim().as_bstr(), email.trim().as_bstr())
}

impl Worktree {
    /// The committer of what git commits here, `Name <address>`; `None` where none is configured.
    pub fn committer(&self) -> Option<String> {
        // gix walks through all time zones for the date of its own answer.
        let config = self.repo.config_snapshot();
        let first_of = |keys: &[&str]| keys.iter().find_map(|key| config.string(*key));
        let name = first_of(&["committer.name", "user.name"])?;
        let email = first_of(&[
            "committer.email",
            "user.email",
            "gitoxide.user.emailFallback",
        ])?;
        Some(name_person(name.as_bstr(), email.as_bstr()))
    }
}

/// The commits of others: remote-tracking refs, what was fetched last, branches and worktrees of others, and their judged heads; and the
/// commits that HEAD had left behind.
pub(super) fn foreign_tips(
    worktree: &Worktree,
    owners: &RefOwners,
    evidence: &OriginEvidence,
) -> Result<Vec<ObjectId>, Error> {
    let common_dir = worktree.common_dir();
    let own_heads = format!("{JUDGED}{}/", worktree.worktree_id());
    let moved_here = list_moved_here(worktree, owners, evidence)?;
    let is_foreign = |name: &str| {
        name.starts_with("refs/remotes/")
            || !moved_here.contains_key(name)
                && (name.starts_with("refs/heads/") || name.ends_with("/HEAD"))
                && owners.find_owner(name, common_dir) == RefOwner::Other
    };
    let mut tips = Vec::new();
    for (name, hex) in worktree.ref_tips()? {
        tips.extend(hex.parse::<ObjectId>().ok().filter(|_| is_foreign(&name)));
    }
    let judged_heads = worktree.refs_below(JUDGED)?.into_iter();
    tips.extend(
        judged_heads
            .filter(|(name, _)| !name.starts_with(&own_heads) && !name.contains("/%"))
            .map(|(_, id)| id),
    );
    for hex in evidence.edge.iter().flat_map(|edge| &edge.left_behind) {
        tips.extend(hex.parse::<ObjectId>());
    }
    for git_dir in git_dirs(common_dir)? {
        tips.extend(last_fetch(&git_dir));
    }
    Ok(remove_duplicates(tips.into_iter()))
}

/// The longest list of fetched commits that is read, in bytes.
const MOST_FETCHED: u64 = 64 << 20;

/// The commits of the last fetch, unless from this same repository: `id TAB [not-for-merge] TAB branch 'x' of address`.
fn last_fetch(git_dir: &Path) -> Vec<ObjectId> {
    let text = read_regular_file(&git_dir.join(FETCHED), MOST_FETCHED).unwrap_or_default();
    let line = |line: &[u8]| {
        (!line.ends_with(b" of ."))
            .then(|| ObjectId::from_hex(line.split(|b| *b == b'\t').next()?).ok())
            .flatten()
    };
    text.split(|b| *b == b'\n').filter_map(line).collect()
}
