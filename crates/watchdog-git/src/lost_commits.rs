//! Finds commits that the session wrote and no ref or reflog names any more: git removes the reflogs with a worktree and a branch. Their
//! objects stay for a while.

use std::collections::{HashMap, HashSet};
use std::fs::{self, Metadata};
use std::path::Path;
use std::time::{Duration, Instant};

use gix::ObjectId;
use gix::object::Kind;
use jiff::Timestamp;

use super::beside_head::{BesideSearch, MadeCommits};
use super::error::Error;
use super::open::Worktree;
use super::origin::{MOST_COMMITS, is_by_session_committer};
use super::reflog;
use super::rescued::CommitAuthorship;
use super::walk::HistoryIndex;
use watchdog_facts::evidence::{Commits, Degradation, WarningCode};
use watchdog_system::read_regular_file;

/// How many new objects are looked at, and for how long; these few on a busy machine, too.
const MAX_OBJECTS: usize = 20_000;
const LEAST_OBJECTS: usize = 500;
const PATIENCE: Duration = Duration::from_secs(2);

/// A larger file of an object is no commit, in bytes.
const MAX_COMMIT: u64 = 64 << 10;

/// The largest list of times of a pack that is read, in bytes.
const MAX_TIMES: u64 = 16 << 20;

/// How many commits of HEAD are compared with them.
const MAX_COMPARED: usize = 200;

/// How far the clock of files lags behind the system's.
const CLOCK_LAG: Duration = Duration::from_millis(20);

impl BesideSearch<'_, '_> {
    /// Adds the commits by the session's committer that no ref and no reflog reaches, without those that another of them replaced.
    pub(super) fn add_lost(
        &mut self,
        made: &mut MadeCommits,
        at: Timestamp,
        commits: &mut Commits,
    ) -> Result<(), Error> {
        let (ids, mut is_complete) = self.worktree.list_written_commits(at);
        let mut lost = HashSet::new();
        let in_head: HashSet<HistoryIndex> = self.new.iter().copied().collect();
        for id in ids {
            let node = self.history.node(id);
            let is_known = in_head.contains(&node) || made.contains_key(&node);
            if !is_known
                && self.history.load(node)?
                && is_by_session_committer(self.worktree, self.history, node, self.evidence)
                && !self.is_of_stash(node)
            {
                lost.insert(node);
            }
        }
        if !lost.is_empty() {
            let tips = self.list_named(at)?;
            let (named, has_all) = self.history.find_reached(&tips, &lost, MOST_COMMITS)?;
            is_complete &= has_all;
            lost.retain(|node| has_all && !named.contains(node));
            self.drop_replaced(&mut lost, made)?;
            made.extend(lost.into_iter().map(|node| (node, (None, false))));
        }
        if !is_complete {
            let detail = "too much was written to look for all commits that no ref names: older ones of the session may not be kept";
            (commits.degraded).push(Degradation::new(WarningCode::HelpersUnread, detail));
        }
        Ok(())
    }

    /// Whether a commit is an entry of the stash, or a part of one.
    fn is_of_stash(&self, node: HistoryIndex) -> bool {
        let begins = |node: HistoryIndex, words: &str| {
            let hex = self.history.id(node).to_hex().to_string();
            self.worktree.stash_message(&hex).starts_with(words)
        };
        let index = self.history.parents(node).get(1);
        begins(node, "index on ")
            || begins(node, "untracked files on ")
            || index.is_some_and(|index| begins(*index, "index on "))
    }

    /// All that refs and HEADs name, and the reflogs since then.
    fn list_named(&self, at: Timestamp) -> Result<Vec<ObjectId>, Error> {
        let tips = self.worktree.ref_tips()?;
        let mut ids: Vec<ObjectId> = (tips.iter())
            .filter_map(|(_, hex)| hex.parse::<ObjectId>().ok())
            .collect();
        for (_, log) in self.worktree.all_logs()? {
            let entries = reflog::read_entries(&log)?.into_iter();
            let new = entries.filter(|entry| entry.seconds >= at.as_second());
            ids.extend(new.flat_map(|entry| [entry.old, entry.new]));
        }
        Ok(ids)
    }

    /// Drops each commit that a later one took the place of: by its tree and parents, or as amending and rebasing do, with its author, date and
    /// subject.
    fn drop_replaced(
        &mut self,
        lost: &mut HashSet<HistoryIndex>,
        made: &MadeCommits,
    ) -> Result<(), Error> {
        let mut newest: HashMap<String, (u64, HistoryIndex)> = HashMap::new();
        let mut keys = HashMap::new();
        let of_head = self.new.iter().take(MAX_COMPARED);
        for node in lost.iter().chain(made.keys()).chain(of_head).copied() {
            let authored =
                CommitAuthorship::read_commit(self.worktree, self.history.id(node))?.authored;
            let content = (self.history.tree(node)?, self.history.parents(node));
            let content = format!("{content:?}");
            let age = (self.history.date(node), node);
            for key in [&authored, &content] {
                let last = newest.entry(key.clone()).or_insert(age);
                *last = age.max(*last);
            }
            keys.insert(node, (authored, content));
        }
        lost.retain(|node| {
            let (authored, content) = &keys[node];
            let (date, last) = (self.history.date(*node), newest[content].1);
            // Two of the same second may be two pieces of work.
            newest[authored].0 == date && last == *node
        });
        Ok(())
    }
}

impl Worktree {
    /// The commits among the objects that were written since then, and whether all objects were looked at.
    fn list_written_commits(&self, since: Timestamp) -> (Vec<ObjectId>, bool) {
        let began = Instant::now();
        let mut objects = Vec::new();
        let folder = self.common_dir().join("objects");
        for byte in 0..=u8::MAX {
            let fan = format!("{byte:02x}");
            let folder = folder.join(&fan);
            if !fs::metadata(&folder).is_ok_and(|about| is_since(&about, since)) {
                continue;
            }
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let is_new = |about: Metadata| about.len() <= MAX_COMMIT && is_since(&about, since);
                let name = format!("{fan}{}", entry.file_name().to_string_lossy());
                if let Ok(id) = name.parse::<ObjectId>()
                    && entry.metadata().is_ok_and(is_new)
                {
                    objects.push(id);
                }
            }
        }
        self.list_cruft(&folder.join("pack"), since, &mut objects);
        let (mut commits, mut read) = (Vec::new(), 0);
        for id in objects.iter().take(MAX_OBJECTS) {
            if read >= LEAST_OBJECTS && began.elapsed() >= PATIENCE {
                break;
            }
            read += 1;
            let header = self.repo.find_header(*id);
            if header.is_ok_and(|header| header.kind() == Kind::Commit) {
                commits.push(*id);
            }
        }
        (commits, read == objects.len())
    }

    /// The objects since then in the packs in which a collection of garbage gathers what no ref reaches, each with its time.
    fn list_cruft(&self, folder: &Path, since: Timestamp, objects: &mut Vec<ObjectId>) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_cruft = path.extension().is_some_and(|kind| kind == "mtimes");
            if !is_cruft || !entry.metadata().is_ok_and(|about| is_since(&about, since)) {
                continue;
            }
            let index = path.with_extension("idx");
            let index = gix::odb::pack::index::File::at(index, self.repo.object_hash());
            let (Ok(index), Ok(times)) = (index, read_regular_file(&path, MAX_TIMES)) else {
                continue;
            };
            // A header of 12 bytes, then the seconds of each object in the order of the index.
            let times = times.get(12..).unwrap_or_default().chunks_exact(4);
            for (at, time) in (0..index.num_objects()).zip(times) {
                let seconds = u32::from_be_bytes([time[0], time[1], time[2], time[3]]);
                if i64::from(seconds) >= since.as_second() {
                    objects.push(index.oid_at_index(at).to_owned());
                }
            }
        }
    }
}

/// Whether a file was written since then; some file systems know whole seconds alone.
pub(super) fn is_since(about: &Metadata, since: Timestamp) -> bool {
    let written = (about.modified().ok())
        .and_then(|time| Timestamp::try_from(time.checked_add(CLOCK_LAG)?).ok());
    written.is_some_and(|written| {
        let is_whole = (written - CLOCK_LAG).subsec_nanosecond() == 0;
        written >= since || is_whole && written.as_second() >= since.as_second()
    })
}
