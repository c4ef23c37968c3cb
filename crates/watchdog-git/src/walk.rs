//! Walks the commit graph. Counts a range exactly as `git rev-list` does, without reading more of
//! history than it must.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

use gix::ObjectId;
use gix::objs::Find;

use super::error::{Error, ReadContext as _};
use super::open::Worktree;
use super::verified::{VerifyingObjectReader, peel_tags};
use watchdog_facts::shell_line::WorktreeCommands;

/// A commit's place in [`CommitHistory`].
pub(super) type HistoryIndex = u32;

const UNINTERESTING: u8 = 1;
const SEEN: u8 = 2;
const QUEUED: u8 = 4;

/// How many further uninteresting commits git reads before it trusts the commit dates.
const SLOP: u32 = 5;

/// How many commits in a row are read before the range is walked as git does.
const CHAIN: usize = 1_000;

/// From how many commits on the commit-graph file is worth opening.
const GRAPH_AFTER: usize = 24;

/// The facts about one commit.
struct CommitNode {
    id: ObjectId,
    flags: u8,
    parsed: Option<ParsedCommit>,
}

struct ParsedCommit {
    /// Committer time in seconds since 1970; 0 where malformed, as in git.
    date: u64,
    tree: ObjectId,
    parents: Vec<HistoryIndex>,
    /// Whether the data come from the commit-graph file, which any process can write.
    from_graph: bool,
}

/// The part of the commit graph that was read so far.
pub(super) struct CommitHistory<'w> {
    worktree: &'w Worktree,
    nodes: Vec<CommitNode>,
    by_id: HashMap<ObjectId, HistoryIndex>,
    shallow: Option<gix::shallow::Commits>,
    graph: CommitGraph,
    buf: Vec<u8>,
}

enum CommitGraph {
    /// Not worth looking for yet.
    Later,
    Absent,
    Open(Box<gix::commitgraph::Graph>),
}

/// Commits reachable from HEAD and not from the baseline.
pub(super) struct CommitRange {
    /// Newest first by committer time, as git lists them.
    pub commits: Vec<HistoryIndex>,
    /// Whether the baseline is still part of HEAD's history.
    pub contains_baseline: bool,
    /// Commits at which the range touches the baseline's history; empty if they share none.
    pub boundary: Vec<HistoryIndex>,
}

impl<'w> CommitHistory<'w> {
    pub(super) fn new(worktree: &'w Worktree) -> Result<Self, Error> {
        let shallow = worktree
            .repo
            .shallow_commits()
            .context("read the shallow boundary of the clone")?;
        // A shallow boundary changes the parents of a commit, which the file cannot know. Replacements and grafts would, too, but any
        // process in the repository can make them, so they are never followed.
        let graph = if shallow.is_none() {
            CommitGraph::Later
        } else {
            CommitGraph::Absent
        };
        Ok(CommitHistory {
            worktree,
            nodes: Vec::new(),
            by_id: HashMap::new(),
            shallow,
            graph,
            buf: Vec::new(),
        })
    }

    pub(super) fn id(&self, node: HistoryIndex) -> ObjectId {
        self.nodes[node as usize].id
    }

    pub(super) fn node(&mut self, id: ObjectId) -> HistoryIndex {
        *self.by_id.entry(id).or_insert_with(|| {
            self.nodes.push(CommitNode {
                id,
                flags: 0,
                parsed: None,
            });
            HistoryIndex::try_from(self.nodes.len() - 1).expect("fewer than 4 billion commits")
        })
    }

    /// The node of a commit that was met already.
    pub(super) fn find(&self, id: &ObjectId) -> Option<HistoryIndex> {
        self.by_id.get(id).copied()
    }

    /// Parents of a commit that was read.
    pub(super) fn parents(&self, node: HistoryIndex) -> &[HistoryIndex] {
        self.nodes[node as usize]
            .parsed
            .as_ref()
            .map_or(&[], |p| &p.parents)
    }

    /// The tree of a commit's first parent; the empty one where it has none.
    pub(super) fn parent_tree(&mut self, node: HistoryIndex) -> Result<ObjectId, Error> {
        match self.parents(node).first() {
            Some(parent) => self.tree(*parent),
            None => Ok(ObjectId::empty_tree(self.id(node).kind())),
        }
    }

    /// The tree of a commit, read if need be.
    pub(super) fn tree(&mut self, node: HistoryIndex) -> Result<ObjectId, Error> {
        self.require(node)?;
        if self.nodes[node as usize]
            .parsed
            .as_ref()
            .is_some_and(|parsed| parsed.from_graph)
        {
            self.check_against_object(node)?;
        }
        Ok(self.nodes[node as usize]
            .parsed
            .as_ref()
            .expect("just read")
            .tree)
    }

    /// Committer time in seconds since 1970 of a commit that was read.
    pub(super) fn date(&self, node: HistoryIndex) -> u64 {
        self.nodes[node as usize]
            .parsed
            .as_ref()
            .map_or(0, |p| p.date)
    }

    fn has(&self, node: HistoryIndex, flag: u8) -> bool {
        self.nodes[node as usize].flags & flag != 0
    }

    /// Reads a commit that must be there.
    pub(super) fn require(&mut self, node: HistoryIndex) -> Result<(), Error> {
        if self.load(node)? {
            return Ok(());
        }
        Err(Error::read_failure(
            format!("read commit {}", self.id(node)),
            "the object is missing",
        ))
    }

    /// Reads a commit; `false` where its object is missing or is no commit.
    pub(super) fn load(&mut self, node: HistoryIndex) -> Result<bool, Error> {
        if self.nodes[node as usize].parsed.is_some() {
            return Ok(true);
        }
        let id = self.id(node);
        if let Some((date, tree, parents)) = self.load_from_graph(&id)? {
            self.fill(node, date, tree, parents, true);
            return Ok(true);
        }
        let Some((date, tree, parents)) = self.read_commit(id)? else {
            return Ok(false);
        };
        self.fill(node, date, tree, parents, false);
        Ok(true)
    }

    /// The data in a commit's object; `None` where it is missing or is no commit.
    fn read_commit(
        &mut self,
        id: ObjectId,
    ) -> Result<Option<(u64, ObjectId, Vec<ObjectId>)>, Error> {
        let doing = || format!("read commit {id}");
        let (mut date, mut parents) = (0, Vec::new());
        let object = VerifyingObjectReader(&self.worktree.repo.objects)
            .try_find(&id, &mut self.buf)
            .with_context(doing)?;
        let Some(data) = object.filter(|data| data.kind == gix::object::Kind::Commit) else {
            return Ok(None);
        };
        let mut commit = gix::objs::CommitRefIter::from_bytes(data.data, id.kind());
        let tree = commit.tree_id().with_context(doing)?;
        let cut = self.shallow.as_ref().is_some_and(|s| s.contains(&id));
        for token in commit {
            match token.with_context(doing)? {
                gix::objs::commit::ref_iter::Token::Parent { id } if !cut => parents.push(id),
                gix::objs::commit::ref_iter::Token::Committer { signature } => {
                    date = u64::try_from(signature.seconds()).unwrap_or(0);
                    break;
                }
                _ => {}
            }
        }
        Ok(Some((date, tree, parents)))
    }

    fn fill(
        &mut self,
        node: HistoryIndex,
        date: u64,
        tree: ObjectId,
        parents: Vec<ObjectId>,
        from_graph: bool,
    ) {
        let parents = parents.into_iter().map(|id| self.node(id)).collect();
        self.nodes[node as usize].parsed = Some(ParsedCommit {
            date,
            tree,
            parents,
            from_graph,
        });
    }

    /// The commit-graph file must say what the commit itself says, where more rests on it than a count.
    fn check_against_object(&mut self, node: HistoryIndex) -> Result<(), Error> {
        let id = self.id(node);
        let doing = || format!("read commit {id}");
        let Some((_, tree, parents)) = self.read_commit(id)? else {
            return Err(Error::read_failure(doing(), "the object is missing"));
        };
        let parents: Vec<HistoryIndex> = parents.into_iter().map(|id| self.node(id)).collect();
        let parsed = self.nodes[node as usize]
            .parsed
            .as_mut()
            .expect("it was read");
        if parsed.tree != tree || parsed.parents != parents {
            return Err(Error::read_failure(
                doing(),
                format!(
                    "the commit-graph file says otherwise; see: {}",
                    WorktreeCommands::at(self.worktree.root()).git("commit-graph verify")
                ),
            ));
        }
        parsed.from_graph = false;
        Ok(())
    }

    fn load_from_graph(
        &mut self,
        id: &ObjectId,
    ) -> Result<Option<(u64, ObjectId, Vec<ObjectId>)>, Error> {
        if matches!(self.graph, CommitGraph::Later) && self.nodes.len() >= GRAPH_AFTER {
            // A damaged graph file only costs time: git warns and reads the objects, and so do we.
            self.graph = match self.worktree.repo.commit_graph_if_enabled() {
                Ok(Some(graph)) => CommitGraph::Open(Box::new(graph)),
                Ok(None) | Err(_) => CommitGraph::Absent,
            };
        }
        let CommitGraph::Open(graph) = &self.graph else {
            return Ok(None);
        };
        let Some(commit) = graph.commit_by_id(id) else {
            return Ok(None);
        };
        let mut parents = Vec::new();
        for position in commit.iter_parents() {
            let position =
                position.with_context(|| format!("read commit {id} from the commit-graph file"))?;
            parents.push(graph.id_at(position).to_owned());
        }
        Ok(Some((
            commit.committer_timestamp(),
            commit.root_tree_id().to_owned(),
            parents,
        )))
    }

    /// The commits of `baseline..head`. Both must be there.
    ///
    /// This is git's own algorithm (`limit_list`), kept step by step, so that the count is git's also
    /// where clocks were wrong: newest first, paint what the baseline reaches, and stop when nothing
    /// unpainted is queued, after a few commits more.
    pub(super) fn range(
        &mut self,
        baseline: ObjectId,
        head: ObjectId,
    ) -> Result<CommitRange, Error> {
        let (baseline, head) = (self.node(baseline), self.node(head));
        self.require(baseline)?;
        self.require(head)?;
        if baseline == head {
            return Ok(CommitRange {
                commits: Vec::new(),
                contains_baseline: true,
                boundary: vec![baseline],
            });
        }
        let mut queue = WalkQueue::default();
        self.paint(baseline, &mut queue);
        self.paint_parents(baseline, &mut queue);
        if let Some(commits) = self.chain(baseline, head) {
            return Ok(CommitRange {
                commits,
                contains_baseline: true,
                boundary: vec![baseline],
            });
        }
        for node in [baseline, head] {
            self.nodes[node as usize].flags |= SEEN;
            self.push(node, &mut queue);
        }
        let mut commits = Vec::new();
        let mut oldest = u64::MAX;
        let mut slop = SLOP;
        while let Some(node) = self.pop(&mut queue) {
            let parents = self.parents(node).to_vec();
            if self.has(node, UNINTERESTING) {
                for parent in parents {
                    self.paint(parent, &mut queue);
                    // Behind the baseline a missing commit changes nothing; git does not mind either.
                    if !self.load(parent).unwrap_or(false) {
                        continue;
                    }
                    self.paint_parents(parent, &mut queue);
                    self.meet(parent, &mut queue);
                }
                self.paint_parents(node, &mut queue);
                slop = match queue.heap.peek() {
                    None => break,
                    Some((date, _, _)) if oldest <= *date => SLOP,
                    Some(_) if queue.interesting > 0 => SLOP,
                    Some(_) => slop - 1,
                };
                if slop == 0 {
                    break;
                }
                continue;
            }
            for parent in parents {
                self.require(parent)?;
                self.meet(parent, &mut queue);
            }
            oldest = self.date(node);
            commits.push(node);
        }
        commits.retain(|node| !self.has(*node, UNINTERESTING));
        let mut boundary: Vec<HistoryIndex> = Vec::new();
        for node in &commits {
            boundary.extend(
                self.parents(*node)
                    .iter()
                    .filter(|p| self.has(**p, UNINTERESTING)),
            );
        }
        if commits.is_empty() {
            boundary.push(head);
        }
        boundary.sort_by_key(|node| (Reverse(self.date(*node)), *node));
        boundary.dedup();
        Ok(CommitRange {
            contains_baseline: boundary.contains(&baseline),
            commits,
            boundary,
        })
    }

    /// All commits reachable from `head`, newest first where clocks were right.
    pub(super) fn all(&mut self, head: ObjectId) -> Result<Vec<HistoryIndex>, Error> {
        let mut queue = WalkQueue::default();
        let head = self.node(head);
        self.require(head)?;
        self.meet(head, &mut queue);
        let mut commits = Vec::new();
        while let Some(node) = self.pop(&mut queue) {
            commits.push(node);
            for parent in self.parents(node).to_vec() {
                self.require(parent)?;
                self.meet(parent, &mut queue);
            }
        }
        Ok(commits)
    }

    /// The commits from `head` back to just before `baseline`, if each has one parent, so that no other commit can be in between.
    ///
    /// The ancestors of the baseline need no walk then: a commit that descends from it is none of
    /// them. Returns `None` if the range must be walked: there is a merge, or the baseline was not
    /// found this way.
    fn chain(&mut self, baseline: HistoryIndex, head: HistoryIndex) -> Option<Vec<HistoryIndex>> {
        let oldest = self.date(baseline);
        let (mut node, mut commits) = (head, Vec::new());
        while node != baseline {
            // It is older than the baseline, and so most likely not on the way to it. The walk reports an unreadable commit, if it matters.
            if commits.len() >= CHAIN
                || !self.load(node).unwrap_or(false)
                || self.date(node) < oldest
            {
                return None;
            }
            commits.push(node);
            let [parent] = self.parents(node) else {
                return None;
            };
            node = *parent;
        }
        Some(commits)
    }

    /// The commits of `new` that `tips` reach. Tips that are missing or no commits reach nothing.
    ///
    /// Reads no commits older than `new` itself, and at most `limit` other commits; the second value is
    /// whether that was enough.
    pub(super) fn find_reached(
        &mut self,
        tips: &[ObjectId],
        new: &HashSet<HistoryIndex>,
        limit: usize,
    ) -> Result<(HashSet<HistoryIndex>, bool), Error> {
        // A day of slack for clocks that were wrong; without proof a commit counts as made here anyway.
        let horizon = new
            .iter()
            .map(|n| self.date(*n))
            .min()
            .unwrap_or(0)
            .saturating_sub(86_400);
        let mut starts = Vec::new();
        let mut seen = HashSet::new();
        let mut around: BinaryHeap<(u64, HistoryIndex)> = BinaryHeap::new();
        let mut queue: Vec<HistoryIndex> = Vec::new();
        for tip in tips {
            if let Some(node) = self.commit_of_tip(*tip)? {
                queue.push(node);
            }
        }
        let mut visited = 0;
        loop {
            for node in queue.drain(..) {
                if new.contains(&node) {
                    starts.push(node);
                } else if !self.has(node, UNINTERESTING)
                    && seen.insert(node)
                    && self.load(node)?
                    && self.date(node) >= horizon
                {
                    around.push((self.date(node), node));
                }
            }
            let Some((_, node)) = around.pop() else { break };
            visited += 1;
            if visited > limit {
                return Ok((self.descend(&starts, new), false));
            }
            queue.extend_from_slice(self.parents(node));
        }
        Ok((self.descend(&starts, new), true))
    }

    /// The commits of `starts` and their ancestors inside of `new`.
    pub(super) fn descend(
        &self,
        starts: &[HistoryIndex],
        new: &HashSet<HistoryIndex>,
    ) -> HashSet<HistoryIndex> {
        let mut reached = HashSet::new();
        let mut stack: Vec<HistoryIndex> = starts.to_vec();
        while let Some(node) = stack.pop() {
            if new.contains(&node) && reached.insert(node) {
                stack.extend_from_slice(self.parents(node));
            }
        }
        reached
    }

    /// The commit that a ref's object is or, for a tag, leads to.
    fn commit_of_tip(&mut self, tip: ObjectId) -> Result<Option<HistoryIndex>, Error> {
        if let Some(node) = self.find(&tip) {
            return Ok(Some(node));
        }
        let end = peel_tags(&self.worktree.repo, tip);
        let commit = end.filter(|end| end.kind == gix::object::Kind::Commit);
        Ok(commit.map(|commit| self.node(commit.id)))
    }

    fn meet(&mut self, node: HistoryIndex, queue: &mut WalkQueue) {
        if !self.has(node, SEEN) {
            self.nodes[node as usize].flags |= SEEN;
            self.push(node, queue);
        }
    }

    fn push(&mut self, node: HistoryIndex, queue: &mut WalkQueue) {
        queue.pushed += 1;
        queue
            .heap
            .push((self.date(node), Reverse(queue.pushed), node));
        self.nodes[node as usize].flags |= QUEUED;
        queue.interesting += usize::from(!self.has(node, UNINTERESTING));
    }

    fn pop(&mut self, queue: &mut WalkQueue) -> Option<HistoryIndex> {
        let (_, _, node) = queue.heap.pop()?;
        self.nodes[node as usize].flags &= !QUEUED;
        queue.interesting -= usize::from(!self.has(node, UNINTERESTING));
        Some(node)
    }

    fn paint(&mut self, node: HistoryIndex, queue: &mut WalkQueue) {
        if !self.has(node, UNINTERESTING) {
            queue.interesting -= usize::from(self.has(node, QUEUED));
            self.nodes[node as usize].flags |= UNINTERESTING;
        }
    }

    /// Paints the known ancestors of a commit, up to those that were painted before.
    fn paint_parents(&mut self, node: HistoryIndex, queue: &mut WalkQueue) {
        let mut stack = self.parents(node).to_vec();
        while let Some(node) = stack.pop() {
            if !self.has(node, UNINTERESTING) {
                self.paint(node, queue);
                stack.extend_from_slice(self.parents(node));
            }
        }
    }
}

/// Newest first; of the same second, first come first served.
#[derive(Default)]
struct WalkQueue {
    heap: BinaryHeap<(u64, Reverse<usize>, HistoryIndex)>,
    pushed: usize,
    interesting: usize,
}
