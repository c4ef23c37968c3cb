//! Finds commits that the session made and HEAD lacks, or has in another form: on branches, on remotes, on no ref any more. They excuse a
//! session from a strike and are kept; they complete nothing without the agent's word.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::{fs, io};

use gix::ObjectId;
use gix::bstr::ByteSlice;
use jiff::Timestamp;

use super::baseline::HEADS;
use super::error::{Error, ReadContext as _};
use super::known_refs::KnownRefs;
use super::lost_commits::is_since;
use super::open::Worktree;
use super::origin::{MOST_COMMITS, foreign_tips, is_by_session_committer, is_plausible_entry};
use super::origin_evidence::{ContentAtBaseline, OriginEvidence};
use super::patch::PatchIds;
use super::ref_owner::{RefOwner, RefOwners, branch_logs};
use super::reflog::{self, ReflogAction, ReflogEntry};
use super::rescued::{CommitAuthorship, patch_of};
use super::tree_change::{find_file, list_changed_files};
use super::walk::{CommitHistory, HistoryIndex};
use watchdog_facts::display::{plural, to_hex};
use watchdog_facts::evidence::{Commits, Degradation, WarningCode};
use watchdog_facts::ref_list::RefList;
use watchdog_facts::work_beside::{BesideState, WorkBeside};

/// How many entries of HEAD's reflog are read, newest first.
const MAX_ENTRIES: usize = 1_000;

/// How many commits of one line are counted, and how many of HEAD are compared with them.
const MAX_COUNTED: usize = 1_000;
const MAX_COMPARED: usize = 200;

/// How many lines of work are told and kept.
const MAX_LISTED: u64 = 200;

/// How many lost entries of the stash are named.
const MAX_NAMED: usize = 10;

/// How many bytes of files are compared by patch.
const MAX_PATCH: u64 = 16 << 20;

/// The folder of remote-tracking refs.
const REMOTES: &str = "refs/remotes/";

/// The name of a ref without these folders.
fn shorten(name: &str) -> String {
    let name = name.strip_prefix(HEADS).unwrap_or(name);
    name.strip_prefix(REMOTES).unwrap_or(name).to_owned()
}

fn note_unlisted(what: &str, commits: &mut Commits) {
    let detail =
        format!("{what} beside HEAD are neither told nor kept; list them with: git reflog --all");
    (commits.degraded).push(Degradation::new(WarningCode::HelpersUnread, detail));
}

/// A search for the work of one session.
pub(super) struct BesideSearch<'a, 'w> {
    pub worktree: &'w Worktree,
    pub history: &'a mut CommitHistory<'w>,
    /// The commits that HEAD has and the baseline has not.
    pub new: &'a [HistoryIndex],
    /// `None` on an unborn branch.
    pub head: Option<ObjectId>,
    pub evidence: &'a OriginEvidence,
}

/// The commits that the session made, each with the branch that it was made on, and whether a reflog shows it being made or pushed here.
pub(super) type MadeCommits = HashMap<HistoryIndex, (Option<String>, bool)>;

/// A moved branch with its tip, and its commits that neither HEAD nor a recorded ref has.
type BranchLine = (String, ObjectId, Vec<HistoryIndex>);

/// The entries of the reflogs of remote-tracking refs, by their names.
type RemoteLogs = HashMap<String, Vec<ReflogEntry>>;

impl BesideSearch<'_, '_> {
    /// Adds to `commits` the work elsewhere, and warnings about entries of the stash that are gone and about what could not be read.
    pub(super) fn search(mut self, commits: &mut Commits) {
        if let Err(error) = self.find_all(commits) {
            (commits.degraded).push(Degradation::new(WarningCode::HelpersUnread, error));
        }
        self.search_submodules(commits);
    }

    pub(super) fn find_all(&mut self, commits: &mut Commits) -> Result<(), Error> {
        let evidence = self.evidence;
        let (Some(edge), Some(recorded)) = (&evidence.edge, &evidence.refs) else {
            return Ok(());
        };
        if let Some(stashes) = &edge.stashes {
            self.compare_stashes(stashes, commits)?;
        }
        let Some(at) = edge.at else { return Ok(()) };
        let current = self.worktree.branch();
        let remote_logs = self.read_moved_remotes(at)?;
        let mut made = self.collect_made(recorded, at, current.as_deref(), &remote_logs)?;
        self.add_lost(&mut made, at, commits)?;
        let in_head: HashSet<HistoryIndex> = self.new.iter().copied().collect();
        let is_here = |branch: &Option<String>| *branch == current || branch.is_none();
        made.retain(|node, (branch, _)| !(in_head.contains(node) && is_here(branch)));
        if made.is_empty() {
            return Ok(());
        }
        if !self.drop_older(&mut made, edge, recorded)? {
            let detail = "too much history to prove where all commits come from: some";
            note_unlisted(detail, commits);
        }
        if made.is_empty() {
            return Ok(());
        }
        let arrived = self.list_arrived(&remote_logs)?;
        let keepers = self.map_keepers(recorded, &arrived)?;
        self.drop_other_forms(&mut made, &keepers, current.as_ref())?;
        let recorded_refs = recorded.tips()?;
        let mut branches = self.list_moved_tips(recorded)?;
        branches.retain(|(name, _)| {
            name.strip_prefix(HEADS)
                .is_some_and(|name| Some(name) != current.as_deref())
        });
        branches.extend(arrived);
        branches.retain(|(name, _)| recorded_refs.contains(name));
        let mut moved = Vec::new();
        for (name, id) in branches {
            let mut nodes = Vec::new();
            for id in self.list_line(id, recorded, MAX_COMPARED)? {
                nodes.push(self.history.node(id));
                self.history.load(nodes[nodes.len() - 1])?;
            }
            moved.push((shorten(&name), id, nodes));
        }
        let was_there = |branch: &str| recorded_refs.contains(&format!("{HEADS}{branch}"));
        let mut tips: Vec<_> = made
            .iter()
            .map(|(node, (branch, _))| (*node, branch.clone()))
            .collect();
        tips.sort_by_key(|(node, _)| std::cmp::Reverse((self.history.date(*node), *node)));
        let inner = self.list_parents(&made);
        let (mut covered, mut merged_branches, mut lines) =
            (HashSet::<ObjectId>::new(), HashMap::new(), 0);
        for (node, branch) in tips {
            if in_head.contains(&node) {
                let Some(branch) = branch.filter(|branch| !was_there(branch)) else {
                    continue;
                };
                let count = merged_branches.entry(branch).or_insert((node, 0));
                count.1 += 1;
            } else if !inner.contains(&node) && !covered.contains(&self.history.id(node)) {
                lines += 1;
                if lines > MAX_LISTED {
                    continue;
                }
                let line = self.list_line(self.history.id(node), recorded, MAX_COUNTED)?;
                covered.extend(&line);
                let settled_line =
                    self.settle_line(&line, &made, (&keepers, &moved), recorded_refs)?;
                commits.beside.extend(settled_line);
            }
        }
        // A squashed commit is told as such, and not once more as the squash.
        let of_other_form = |work: &WorkBeside| work.by.as_deref().is_some_and(|by| by != "merge");
        let merged = commits
            .beside
            .iter()
            .filter(|work| work.state == BesideState::Merged);
        let merged: Vec<_> = merged
            .filter(|work| of_other_form(work))
            .map(|work| work.on.clone())
            .collect();
        commits
            .beside
            .retain(|work| work.state != BesideState::Unpushed || !merged.contains(&work.on));
        if lines > MAX_LISTED {
            note_unlisted(&plural(lines - MAX_LISTED, "more commit"), commits);
        }
        for (branch, (node, count)) in merged_branches.into_iter().take(MAX_LISTED as usize) {
            let merged = self.describe_line(node, Some(branch), count, BesideState::Merged)?;
            commits.beside.push(WorkBeside {
                by: Some("merge".to_owned()),
                on: current.clone(),
                ..merged
            });
        }
        Ok(())
    }

    /// Tells which recorded entries of the stash are gone, and which new ones are of this session.
    fn compare_stashes(&self, recorded: &[String], commits: &mut Commits) -> Result<(), Error> {
        let (lost, new) = self.worktree.compare_stashes(recorded)?;
        if !lost.is_empty() {
            let restore = |entry: &String| self.worktree.describe_stash_restore(entry);
            let named: Vec<String> = lost.iter().take(MAX_NAMED).map(restore).collect();
            let detail = format!(
                "{} of the stash from before the session {} gone; bring back with: {}",
                if lost.len() == 1 {
                    "an entry".to_owned()
                } else {
                    format!("{} entries", lost.len())
                },
                if lost.len() == 1 { "is" } else { "are" },
                named.join("; ")
            );
            commits
                .degraded
                .push(Degradation::new(WarningCode::StashLost, detail));
        }
        if new.is_empty() {
            return Ok(());
        }
        let owners = RefOwners::new(self.worktree, self.evidence)?;
        for entry in new {
            let message = self.worktree.stash_message(&entry);
            let origin = message.split(':').next().unwrap_or_default();
            let branch = origin
                .strip_prefix("WIP on ")
                .or_else(|| origin.strip_prefix("On "));
            let branch = branch.filter(|branch| *branch != "(no branch)");
            if branch.is_some_and(|branch| owners.is_taken(&format!("refs/heads/{branch}"))) {
                continue;
            }
            commits.beside.push(WorkBeside {
                branch: branch.map(str::to_owned),
                commit: entry,
                commits: 1,
                subject: message,
                state: BesideState::Stashed,
                by: None,
                on: Some("refs/stash".to_owned()),
            });
        }
        Ok(())
    }

    /// The commits that reflogs show being made or pushed since then, those of helpers included.
    fn collect_made(
        &mut self,
        recorded: &KnownRefs,
        at: Timestamp,
        current: Option<&str>,
        remote_logs: &RemoteLogs,
    ) -> Result<MadeCommits, Error> {
        let since = at.as_second();
        let log = self.worktree.head_log()?;
        // A commit may have any date, so that an older entry ends nothing.
        let tail = reflog::read_newest(&log, MAX_ENTRIES)?;
        let (mut made, mut superseded) = (MadeCommits::new(), HashSet::new());
        let mut branch = current.map(str::to_owned);
        for entry in tail
            .entries
            .iter()
            .rev()
            .filter(|entry| entry.seconds >= since)
        {
            if entry.amends {
                superseded.insert(entry.old);
            }
            self.take_made(entry, branch.as_ref(), &mut made)?;
            if let Some(from) = &entry.moved_from {
                let is_id = from.len() >= 40 && from.bytes().all(|byte| byte.is_ascii_hexdigit());
                branch = Some(from.clone()).filter(|_| !is_id);
            }
        }
        // git rebase ONTO BRANCH leaves this branch without a word in the log of HEAD.
        let own_log = current.map(|branch| {
            (self.worktree.common_dir())
                .join("logs/refs/heads")
                .join(branch)
        });
        if let Some(log) = own_log.filter(|log| log.exists()) {
            for entry in reflog::read_entries(&log)? {
                let node = self.history.node(entry.new);
                if let Some((branch, true)) = made.get_mut(&node).filter(|_| entry.action.makes()) {
                    *branch = current.map(str::to_owned);
                }
            }
        }
        let born = self.worktree.born_branches(recorded, self.evidence)?;
        let own = current.map(|branch| format!("refs/heads/{branch}"));
        if born.iter().any(|name| Some(name) != own.as_ref())
            || !self
                .worktree
                .born_worktrees(recorded, self.evidence)?
                .is_empty()
        {
            let owners = RefOwners::new(self.worktree, self.evidence)?;
            for (name, log) in self.worktree.all_logs()? {
                if owners.find_owner(&name, self.worktree.common_dir()) != RefOwner::Helper {
                    continue;
                }
                let branch = name.strip_prefix("refs/heads/").map(str::to_owned);
                for entry in reflog::read_entries(&log)?
                    .iter()
                    .filter(|entry| entry.seconds >= since)
                {
                    if entry.amends {
                        superseded.insert(entry.old);
                    }
                    self.take_made(entry, branch.as_ref(), &mut made)?;
                }
            }
        }
        for (name, entries) in remote_logs {
            let branch = name[REMOTES.len()..]
                .split_once('/')
                .map(|(_, branch)| branch.to_owned());
            for entry in entries
                .iter()
                .filter(|entry| entry.pushed && entry.seconds >= since)
            {
                self.take_made(entry, branch.as_ref(), &mut made)?;
            }
        }
        // Programs that write no reflog of HEAD: a popped patch of StGit, a tag of a commit by plumbing.
        let mut folders = Vec::from_iter(current.map(|branch| format!("refs/patches/{branch}/")));
        if self.has_moved_ref("refs/tags", at) {
            folders.push("refs/tags/".to_owned());
        }
        for folder in folders {
            let refs = (self.worktree).retry_if_refs_moved(|| self.worktree.refs_below(&folder))?;
            for (_, id) in refs {
                let node = self.history.node(id);
                if recorded.objects()?.binary_search(&id).is_err()
                    && self.worktree.repo.find_commit(id).is_ok()
                    && self.history.load(node)?
                    && is_by_session_committer(self.worktree, self.history, node, self.evidence)
                {
                    made.entry(node).or_insert((None, false));
                }
            }
        }
        made.retain(|node, _| !superseded.contains(&self.history.id(*node)));
        Ok(made)
    }

    /// The refs that name another commit than a recorded one did.
    fn list_moved_tips(&self, recorded: &KnownRefs) -> Result<Vec<(String, ObjectId)>, Error> {
        let older = recorded.objects()?;
        let tips = self.worktree.ref_tips()?.into_iter();
        let tips = tips.filter_map(|(name, hex)| Some((name, hex.parse::<ObjectId>().ok()?)));
        Ok(tips
            .filter(|(_, id)| older.binary_search(id).is_err())
            .collect())
    }

    /// Takes the commit of a reflog's entry that made it; else by its committer.
    fn take_made(
        &mut self,
        entry: &ReflogEntry,
        branch: Option<&String>,
        made: &mut MadeCommits,
    ) -> Result<(), Error> {
        let node = self.history.node(entry.new);
        if !self.history.load(node)? {
            return Ok(());
        }
        let is_own = |search: &Self| {
            is_by_session_committer(search.worktree, search.history, node, search.evidence)
        };
        if entry.action.makes() && is_plausible_entry(self.worktree, self.history, entry)?
            || entry.pushed && is_own(self)
        {
            made.insert(node, (branch.cloned(), true));
        } else if is_own(self) {
            made.entry(node).or_insert((branch.cloned(), false));
        }
        Ok(())
    }

    /// Whether a ref of a folder may have moved in or since the second of `at`: git renames a loose ref into its folder, and a copied
    /// repository may be written in place. A folder that is gone, or a link, tells nothing.
    fn has_moved_ref(&self, folder: &str, at: Timestamp) -> bool {
        fn has_moved(path: &Path, at: Timestamp) -> io::Result<bool> {
            let about = fs::symlink_metadata(path)?;
            if about.is_symlink() || is_since(&about, at) {
                return Ok(true);
            }
            if about.is_dir() {
                for entry in fs::read_dir(path)? {
                    if has_moved(&entry?.path(), at)? {
                        return Ok(true);
                    }
                }
            }
            Ok(false)
        }
        let at = Timestamp::from_second(at.as_second()).unwrap_or(at);
        let folder = self.worktree.common_dir().join(folder);
        self.worktree.served.is_some() || has_moved(&folder, at).unwrap_or(true)
    }

    /// The entries of the reflogs of remote-tracking refs that were written since then.
    fn read_moved_remotes(&self, at: Timestamp) -> Result<RemoteLogs, Error> {
        let mut logs = Vec::new();
        if self.worktree.served.is_some() {
            logs = self.worktree.all_logs()?;
        } else if self.has_moved_ref("refs/remotes", at) {
            let folder = self.worktree.common_dir().join("logs/refs/remotes");
            branch_logs(&folder, "refs/remotes", &mut logs)?;
        }
        logs.retain(|(name, log)| {
            let written = fs::metadata(log).and_then(|about| about.modified());
            let is_new = |time| {
                Timestamp::try_from(time).is_ok_and(|time| time.as_second() >= at.as_second())
            };
            name.starts_with(REMOTES) && written.is_ok_and(is_new)
        });
        logs.into_iter()
            .map(|(name, log)| Ok((name, reflog::read_entries(&log)?)))
            .collect()
    }

    /// Drops those that a recorded ref reaches, and those that HEAD had left behind. `false` where too much
    /// history kept it from the proof, and those without one are dropped.
    fn drop_older(
        &mut self,
        made: &mut MadeCommits,
        edge: &ContentAtBaseline,
        recorded: &KnownRefs,
    ) -> Result<bool, Error> {
        let count = |commits: &[String], id: &str| commits.iter().filter(|hex| *hex == id).count();
        let mut left_now = None;
        let mut dropped = Vec::new();
        for node in made.keys() {
            let hex = self.history.id(*node).to_hex().to_string();
            let before = count(&edge.left_behind, &hex);
            // The same commit may be made again within a second.
            if before > 0 && left_now.is_none() {
                left_now = Some(self.worktree.left_behind()?);
            }
            if before > 0 && count(left_now.as_deref().unwrap_or_default(), &hex) <= before {
                dropped.push(*node);
            }
        }
        made.retain(|node, _| !dropped.contains(node));
        let mut nodes: HashSet<HistoryIndex> = made.keys().copied().collect();
        let (older, mut is_complete) =
            (self.history).find_reached(recorded.objects()?, &nodes, MOST_COMMITS)?;
        made.retain(|node, _| is_complete && !older.contains(node));
        if made.values().any(|(_, is_proven)| !is_proven) {
            let owners = RefOwners::new(self.worktree, self.evidence)?;
            let tips = foreign_tips(self.worktree, &owners, self.evidence)?;
            nodes.retain(|node| made.contains_key(node));
            let (foreign, has_all) = self.history.find_reached(&tips, &nodes, MOST_COMMITS)?;
            is_complete = has_all;
            let is_own = |node: &HistoryIndex| has_all && !foreign.contains(node);
            made.retain(|node, (_, is_proven)| *is_proven || is_own(node));
        }
        Ok(is_complete)
    }

    /// Drops commits that a rebase or a pick made once more, with the same author, author date, subject and patch: HEAD has that form on the same
    /// branch, another ref has it, or it is part of a longer line or newer.
    fn drop_other_forms(
        &mut self,
        made: &mut MadeCommits,
        keepers: &HashMap<ObjectId, String>,
        current: Option<&String>,
    ) -> Result<(), Error> {
        let in_head: HashSet<HistoryIndex> = self.new.iter().take(MAX_COMPARED).copied().collect();
        let mut forms: HashMap<String, Vec<HistoryIndex>> = HashMap::new();
        for node in in_head.union(&made.keys().copied().collect()) {
            // A merge that was made once more has its parents and its files.
            let parents = self.history.parents(*node).to_vec();
            let name = match parents.len() > 1 {
                true => format!("{parents:?} {}", self.history.tree(*node)?),
                false => {
                    let id = self.history.id(*node);
                    CommitAuthorship::read_commit(self.worktree, id)?.authored
                }
            };
            forms.entry(name).or_default().push(*node);
        }
        forms.retain(|_, nodes| nodes.len() > 1);
        let mut patches = PatchIds::new(&self.worktree.repo, MAX_PATCH);
        let mut changes = HashMap::new();
        for node in forms.values().flatten() {
            changes.insert(*node, patch_of(self.history, &mut patches, *node)?);
        }
        loop {
            let inner = self.list_parents(made);
            let is_kept = |node: &HistoryIndex| keepers.contains_key(&self.history.id(*node));
            let age = |node: &HistoryIndex| (self.history.date(*node), *node);
            let is_better = |node: &HistoryIndex, form: &HistoryIndex| {
                let is_same = changes[node].is_some() && changes[node] == changes[form];
                is_same
                    && match in_head.contains(form) {
                        true => (made[node].0.as_ref()).is_none_or(|name| Some(name) == current),
                        false => {
                            made.contains_key(form)
                                && (is_kept(form) || inner.contains(form) || age(form) > age(node))
                        }
                    }
            };
            let is_open = |node: &HistoryIndex| {
                made.contains_key(node) && !inner.contains(node) && !in_head.contains(node)
            };
            let double = forms.values().find_map(|nodes| {
                let is_double = |node: &&HistoryIndex| {
                    let mut forms = nodes.iter().filter(|form| form != node);
                    is_open(node) && !is_kept(node) && forms.any(|form| is_better(node, form))
                };
                nodes.iter().find(is_double).copied()
            });
            let Some(double) = double else {
                return Ok(());
            };
            made.remove(&double);
        }
    }

    fn list_parents(&self, made: &MadeCommits) -> HashSet<HistoryIndex> {
        let parents = |node: &HistoryIndex| self.history.parents(*node).to_vec();
        made.keys().flat_map(parents).collect()
    }

    /// The state of a line of work, whose newest commit is the first; `None` where HEAD has it in another form on the same branch.
    fn settle_line(
        &mut self,
        line: &[ObjectId],
        made: &MadeCommits,
        (keepers, moved): (&HashMap<ObjectId, String>, &[BranchLine]),
        older: &RefList,
    ) -> Result<Option<WorkBeside>, Error> {
        let Some(tip) = line.first().copied() else {
            return Ok(None);
        };
        let current = self.worktree.branch();
        let find_branch = |search: &Self, id: &ObjectId| {
            let node = search.history.find(id)?;
            Some(made.get(&node)?.0.clone())
        };
        let mut branch = find_branch(self, &tip).flatten();
        let is_current = branch.is_some() && branch == current;
        let is_pushed = keepers
            .get(&tip)
            .is_some_and(|name| name.starts_with(REMOTES));
        let mut on_other = None;
        if !is_pushed {
            for (name, id, nodes) in moved {
                let by = self.find_merged(line, tip, (*id, nodes))?;
                on_other = on_other.or(by.filter(|by| !by.is_empty()).map(|by| (by, name)));
            }
        }
        let merged = match self.head {
            Some(head) => self.find_merged(line, tip, (head, self.new))?,
            None => None,
        };
        let (state, by, on) = match merged {
            Some("") => return Ok(None),
            Some(_) if is_current => return Ok(None),
            Some(by) => {
                let on = current.unwrap_or("HEAD".to_owned());
                (BesideState::Merged, Some(by), Some(on))
            }
            None => match (on_other, keepers.get(&tip)) {
                (Some((by, name)), _) => (BesideState::Merged, Some(by), Some(name.clone())),
                (_, Some(name)) if name.starts_with(REMOTES) => {
                    (BesideState::Pushed, None, Some(shorten(name)))
                }
                (_, Some(name)) => {
                    let on = shorten(name);
                    // A merge commit was made on the branch that got the other's.
                    let mut branches = line.iter().filter_map(|id| find_branch(self, id));
                    let merged = branches.find(|branch| branch.as_ref() != Some(&on));
                    match merged.filter(|_| older.contains(name)) {
                        Some(merged) => {
                            branch = merged;
                            (BesideState::Merged, Some("merge"), Some(on))
                        }
                        None => (BesideState::Unpushed, None, Some(on)),
                    }
                }
                _ => (BesideState::Deleted, is_current.then_some("reset"), None),
            },
        };
        let node = self.history.node(tip);
        let work = self.describe_line(node, branch, line.len() as u64, state)?;
        Ok(Some(WorkBeside {
            by: by.map(str::to_owned),
            on,
            ..work
        }))
    }

    fn describe_line(
        &mut self,
        node: HistoryIndex,
        branch: Option<String>,
        commits: u64,
        state: BesideState,
    ) -> Result<WorkBeside, Error> {
        let id = self.history.id(node);
        let commit =
            (self.worktree.repo.find_commit(id)).with_context(|| format!("read commit {id}"))?;
        let message = commit.message_raw_sloppy().to_str_lossy();
        let subject = message.lines().find(|line| !line.trim().is_empty());
        Ok(WorkBeside {
            branch,
            commit: id.to_hex().to_string(),
            commits,
            subject: subject.unwrap_or_default().trim().to_owned(),
            state,
            by: None,
            on: None,
        })
    }

    /// The commits of a line, the newest first, at most so many.
    fn list_line(
        &self,
        tip: ObjectId,
        recorded: &KnownRefs,
        most: usize,
    ) -> Result<Vec<ObjectId>, Error> {
        let line = self.walk_lines([tip], recorded)?.take(most);
        line.map(|commit| Ok(commit?.0)).collect()
    }

    /// The commits that tips reach and neither HEAD nor a recorded ref does, with their parents.
    fn walk_lines(
        &self,
        tips: impl IntoIterator<Item = ObjectId>,
        recorded: &KnownRefs,
    ) -> Result<impl Iterator<Item = Result<(ObjectId, Vec<ObjectId>), Error>>, Error> {
        let repo = &self.worktree.repo;
        let is_commit = |id: &ObjectId| repo.find_commit(*id).is_ok();
        let hidden = recorded.objects()?.iter().chain(&self.head).copied();
        let doing = "list work beside HEAD";
        let walk = (repo.rev_walk(tips.into_iter().filter(is_commit)))
            .with_hidden(hidden.filter(is_commit))
            .all()
            .context(doing)?;
        Ok(walk.map(move |commit| {
            let commit = commit.context(doing)?;
            Ok((commit.id, commit.parent_ids.to_vec()))
        }))
    }

    /// How another commit, or those of its newest, has the content of a line: `rebase`, `squash`, or an empty text where the line changes no file.
    fn find_merged(
        &mut self,
        line: &[ObjectId],
        tip: ObjectId,
        (head, new): (ObjectId, &[HistoryIndex]),
    ) -> Result<Option<&'static str>, Error> {
        let worktree = self.worktree;
        let base = worktree.merge_base_of(tip, head)?;
        let (tip, head) = (self.history.node(tip), self.history.node(head));
        let (after, now) = (self.history.tree(tip)?, self.history.tree(head)?);
        let before = match base {
            Some(base) => {
                let base = self.history.node(base);
                self.history.tree(base)?
            }
            None => ObjectId::empty_tree(after.kind()),
        };
        let files = list_changed_files(&worktree.repo, before, after)?;
        if files.is_empty() {
            return Ok(Some(""));
        }
        let compared: Vec<HistoryIndex> = new.iter().take(MAX_COMPARED).copied().collect();
        let mut authored = HashSet::new();
        for node in &compared {
            let id = self.history.id(*node);
            authored.insert(CommitAuthorship::read_commit(worktree, id)?.authored);
        }
        let mut is_rebased = true;
        for id in line.iter().take(MAX_COMPARED) {
            is_rebased &=
                authored.contains(&CommitAuthorship::read_commit(worktree, *id)?.authored);
        }
        if is_rebased {
            return Ok(Some("rebase"));
        }
        let mut is_in_head = true;
        for file in &files {
            is_in_head &= find_file(worktree, now, file.path.as_ref())? == file.new;
        }
        let mut patches = PatchIds::new(&worktree.repo, MAX_PATCH);
        if let Some(whole) = patches.name(before, after)?.filter(|_| !is_in_head) {
            for node in compared {
                is_in_head |= patch_of(self.history, &mut patches, node)? == Some(to_hex(&whole));
            }
        }
        Ok(is_in_head.then_some("squash"))
    }

    /// The remote-tracking refs that a push or a fetch moved. A ref alone shows none: any program can write it.
    fn list_arrived(&self, remote_logs: &RemoteLogs) -> Result<Vec<(String, ObjectId)>, Error> {
        let tips = self.worktree.ref_tips()?.into_iter();
        let tips = tips.filter_map(|(name, hex)| {
            let last = remote_logs.get(&name)?.last()?;
            let is_arrival = last.action == ReflogAction::Moved && last.new.to_hex() == hex;
            is_arrival.then_some((name, last.new))
        });
        Ok(tips.collect())
    }

    /// The commits that a ref reaches which moved since the baseline, each with its name: a remote-tracking one, else another.
    fn map_keepers(
        &self,
        recorded: &KnownRefs,
        arrived: &[(String, ObjectId)],
    ) -> Result<HashMap<ObjectId, String>, Error> {
        let older = recorded.objects()?;
        let mut tips = self.list_moved_tips(recorded)?;
        // StGit's log of a branch keeps each patch that it deleted.
        let is_log = |name: &str| name.starts_with("refs/stacks/") || name.ends_with(".stgit");
        tips.retain(|(name, _)| {
            !name.starts_with(REMOTES) && !name.starts_with("refs/stash") && !is_log(name)
        });
        let arrived = arrived.iter().cloned();
        tips.extend(arrived.filter(|(_, id)| older.binary_search(id).is_err()));
        tips.sort_by_key(|(name, _)| (!name.starts_with(REMOTES), !name.starts_with("refs/")));
        let ids = tips.iter().map(|(_, id)| *id);
        let mut unnamed: HashMap<ObjectId, Vec<ObjectId>> =
            self.walk_lines(ids, recorded)?.collect::<Result<_, _>>()?;
        let mut keepers = HashMap::new();
        for (name, id) in tips {
            let mut stack = vec![id];
            while let Some(id) = stack.pop() {
                if let Some(parents) = unnamed.remove(&id) {
                    stack.extend(parents);
                    keepers.insert(id, name.clone());
                }
            }
        }
        Ok(keepers)
    }
}
