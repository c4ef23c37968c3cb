//! Keeps every judged head in a ref, so that no garbage collection takes the commits of a worktree and branch that were removed.

use std::collections::HashSet;

use gix::ObjectId;
use gix::bstr::ByteSlice;
use gix::revision::walk::Sorting;
use gix::traverse::commit::simple::CommitTimeOrder;
use jiff::{SignedDuration, Timestamp};

use super::error::{Error, ReadContext as _};
use super::open::Worktree;
use super::own_refs::list_refs_below;
use super::snapshot::spec_for_ref;

/// Prefix of the refs of judged heads: below it the worktree's id, the spec, then time and commit.
pub(super) const PREFIX: &str = "refs/watchdog/judged/";

/// The format of the time in a name; such names sort by time.
const TIME: &str = "%Y%m%dT%H%M%SZ";

/// The spec of the refs that a superproject keeps in a submodule: whoever watches the submodule itself has a time of its own.
pub(super) const KEPT_FOR_ANOTHER: &str = "%submodule";

/// So many of the newest commits of a head are looked through for heads that were judged before: what is older stays kept until its time
/// is over.
const NEWEST_COMMITS: usize = 200;

impl Worktree {
    /// Keeps a judged head, unless it was kept within a day or a remote-tracking branch names it. Refs of the same worktree and spec that name one
    /// of its newest ancestors are dropped: this one keeps them. So a loop leaves one ref, however many sessions it has.
    ///
    /// # Errors
    /// When refs cannot be read or written.
    pub fn keep_judged(&self, spec: &str, head: &str, at: Timestamp) -> Result<(), Error> {
        // A branch that merely reaches it does not count, and if the refs of remotes are unreadable, a ref keeps the commit.
        let is_pushed = |id| {
            let remote_refs = self.refs_below("refs/remotes/").unwrap_or_default();
            remote_refs.iter().any(|(_, tip)| *tip == id)
        };
        self.keep_unless(&is_pushed, (spec, head), at)
    }

    /// The same for a commit beside HEAD, whatever names it now: a session can write a remote-tracking branch, and delete it.
    ///
    /// # Errors
    /// When refs cannot be read or written.
    pub fn keep_beside(&self, spec: &str, head: &str, at: Timestamp) -> Result<(), Error> {
        self.keep_unless(&|_| false, (spec, head), at)
    }

    fn keep_unless(
        &self,
        is_safe: &dyn Fn(ObjectId) -> bool,
        (spec, head): (&str, &str),
        at: Timestamp,
    ) -> Result<(), Error> {
        let folder = self.judged_folder(spec);
        let doing = || format!("keep the judged commit {head}");
        let id = head.parse::<ObjectId>().with_context(doing)?;
        if !self.has_object(id) {
            return self.keep_in_submodules(id, at);
        }
        let mut judged_refs = self.refs_below(&folder)?;
        let day_ago = (at - SignedDuration::from_hours(24))
            .strftime(TIME)
            .to_string();
        let is_young = |name: &str| {
            name.get(folder.len()..)
                .is_some_and(|time| *time > *day_ago)
        };
        let is_kept = |(name, commit): &(String, ObjectId)| *commit == id && is_young(name);
        if judged_refs.iter().any(is_kept) || is_safe(id) {
            return Ok(());
        }
        let name = format!("{folder}{}-{}", at.strftime(TIME), id.to_hex_with_len(12));
        self.keep_commit(&name, head, "watchdog: judged")?;
        let behind = self.soon_reached(id, judged_refs.iter().map(|(_, commit)| *commit).collect());
        judged_refs.retain(|(_, commit)| behind.contains(commit));
        // A ref too many costs less than what would not be kept after an error.
        let _ = self.drop_refs(&judged_refs);
        Ok(())
    }

    /// The same for a commit of a submodule.
    fn keep_in_submodules(&self, id: ObjectId, at: Timestamp) -> Result<(), Error> {
        for git_dir in self.submodule_git_dirs().into_keys() {
            let submodule = Worktree::open_git_dir(&git_dir)?;
            if submodule.has_object(id) {
                return submodule.keep_beside(KEPT_FOR_ANOTHER, &id.to_hex().to_string(), at);
            }
        }
        Ok(())
    }

    /// The folder of the refs of this worktree and spec.
    pub(super) fn judged_folder(&self, spec: &str) -> String {
        let spec = match spec.starts_with('%') {
            true => spec.to_owned(),
            false => spec_for_ref(spec),
        };
        format!("{PREFIX}{}/{spec}/", self.worktree_id())
    }

    /// Which of these commits are among the newest ancestors of a head. Unreadable commits, as in a
    /// shallow clone, do not count.
    fn soon_reached(&self, head: ObjectId, mut wanted: HashSet<ObjectId>) -> HashSet<ObjectId> {
        let mut reached = HashSet::new();
        if wanted.is_empty() {
            return reached;
        }
        for commit in self.newest_commits([head]) {
            reached.extend(wanted.take(&commit));
            if wanted.is_empty() {
                break;
            }
        }
        reached
    }

    /// The newest commits that these lead to, themselves included, up to the first that cannot be read.
    pub(super) fn newest_commits(
        &self,
        tips: impl IntoIterator<Item = ObjectId>,
    ) -> impl Iterator<Item = ObjectId> {
        let walk = self
            .repo
            .rev_walk(tips)
            .sorting(Sorting::ByCommitTime(CommitTimeOrder::NewestFirst))
            .all();
        walk.into_iter()
            .flatten()
            .take(NEWEST_COMMITS)
            .map_while(Result::ok)
            .map(|commit| commit.id)
    }

    /// Drops the refs of heads that were first judged before `before`, in all worktrees of the repository and in the submodules of this one;
    /// returns how many.
    ///
    /// # Errors
    /// When refs cannot be read or deleted.
    pub fn expire_judged(&self, before: Timestamp) -> Result<usize, Error> {
        let is_marked = |name: &str| name.contains(&format!("/{KEPT_FOR_ANOTHER}/"));
        let dropped = self.drop_judged(before, |name| !is_marked(name))?;
        // The refs of a broken submodule stay: the snapshots of this repository expire all the same.
        let submodules = self.submodule_git_dirs().into_keys();
        let in_submodules = submodules
            .flat_map(|git_dir| Worktree::open_git_dir(&git_dir)?.drop_judged(before, is_marked));
        Ok(dropped + in_submodules.sum::<usize>())
    }

    fn drop_judged(
        &self,
        before: Timestamp,
        is_ours: impl Fn(&str) -> bool,
    ) -> Result<usize, Error> {
        self.refresh()?;
        let oldest = before.strftime(TIME).to_string();
        let is_old = |name: &str| {
            name.rsplit('/')
                .next()
                .and_then(|last| last.split_once('-'))
                .is_some_and(|(time, _)| time < oldest.as_str())
        };
        let mut old = self.refs_below(PREFIX)?;
        old.retain(|(name, _)| is_old(name) && is_ours(name));
        self.drop_refs(&old)?;
        Ok(old.len())
    }

    pub(super) fn refs_below(&self, prefix: &str) -> Result<Vec<(String, ObjectId)>, Error> {
        let refs = list_refs_below(&self.repo, prefix)?;
        let name_of =
            |reference: &gix::Reference<'_>| reference.name().as_bstr().to_str_lossy().into_owned();
        Ok(refs
            .iter()
            .filter_map(|each| Some((name_of(each), each.try_id()?.detach())))
            .collect())
    }
}
