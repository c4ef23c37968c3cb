//! Keeps the baseline commit in a ref, so that no garbage collection takes it away and the records can be rebuilt from git; and has git
//! pack such refs.

use std::time::Duration;

use super::error::{Error, ReadContext as _};
use super::open::Worktree;
use super::own_refs::{PREFIX as OWN_REFS, run_git_on_refs};
use super::path_text::percent_decode;
use super::snapshot::{spec_for_ref, write_loose_ref};

/// Prefix of the refs of baselines: below it the worktree's id, then the spec.
const BASELINES: &str = "refs/watchdog/baseline/";

/// Prefix of the refs of anchors.
const ANCHORS: &str = "refs/watchdog/anchor/";

/// So many of our refs may stay files of their own: the user's git opens each one for every list of refs.
const MOST_LOOSE: usize = 16;

/// A lock of this age has no owner any more.
const STALE_LOCK: Duration = Duration::from_secs(10);

/// A baseline as its ref records it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptBaseline {
    /// The worktree that it was recorded in.
    pub worktree_id: String,
    /// The spec; one that is too long for a ref's name comes back cut.
    pub spec: String,
    /// The commit.
    pub commit: String,
}

impl Worktree {
    /// Points the baseline ref of this worktree and spec at a commit.
    ///
    /// # Errors
    /// When the ref cannot be written.
    pub fn keep_baseline(&self, spec: &str, commit: &str) -> Result<(), Error> {
        self.keep_for_spec(BASELINES, spec, commit, "watchdog: baseline")
    }

    /// Points the anchor ref of this worktree and spec at a commit. The ref keeps the commit; the store says which one it is.
    ///
    /// # Errors
    /// When the ref cannot be written.
    pub fn keep_anchor(&self, spec: &str, commit: &str) -> Result<(), Error> {
        self.keep_for_spec(ANCHORS, spec, commit, "watchdog: anchor")
    }

    fn keep_for_spec(
        &self,
        prefix: &str,
        spec: &str,
        commit: &str,
        message: &str,
    ) -> Result<(), Error> {
        let name = format!("{prefix}{}/{}", self.worktree_id(), spec_for_ref(spec));
        self.keep_commit(&name, commit, message)
    }

    /// Points the ref of this worktree's ignore rules at the commit that keeps them. No spec has its name.
    pub(super) fn keep_rules_ref(&self, commit: &str) -> Result<(), Error> {
        self.keep_commit(&self.rules_name(), commit, "watchdog: ignore rules")
    }

    /// The commit that keeps the ignore rules of this worktree's latest baseline.
    pub(super) fn rules_ref(&self) -> Option<gix::ObjectId> {
        self.named_commit(&self.rules_name())
    }

    fn rules_name(&self) -> String {
        format!("{ANCHORS}{}/%ignore-rules", self.worktree_id())
    }

    pub(super) fn keep_commit(&self, name: &str, commit: &str, message: &str) -> Result<(), Error> {
        let doing = || format!("write {name}");
        let id = commit.parse::<gix::ObjectId>().with_context(doing)?;
        if let Some(served) = &self.served {
            return served.set_ref(name, id, message);
        }
        if self.named_commit(name) == Some(id) {
            return Ok(());
        }
        let mut written = write_loose_ref(&self.repo, name, id);
        if written.is_err() && self.drop_stale_lock(name) {
            written = write_loose_ref(&self.repo, name, id);
        }
        written.with_context(doing)
    }

    pub(super) fn named_commit(&self, name: &str) -> Option<gix::ObjectId> {
        let reference = self.repo.try_find_reference(name).ok()??;
        reference.target().try_id().map(ToOwned::to_owned)
    }

    /// Removes the lock of a ref that only watchdog writes, if its owner must have been killed: the ref's name never
    /// changes, and a live owner holds the lock for less than a millisecond.
    fn drop_stale_lock(&self, name: &str) -> bool {
        let lock = self.repo.common_dir().join(format!("{name}.lock"));
        let age = std::fs::metadata(&lock)
            .and_then(|data| data.modified())
            .ok()
            .and_then(|written| written.elapsed().ok());
        age.is_some_and(|age| age >= STALE_LOCK) && std::fs::remove_file(lock).is_ok()
    }

    /// Has git pack the refs of ours once there are many loose ones. A git that cannot, an old or a locked one, leaves them as they are.
    pub fn pack_own_refs(&self) {
        let loose = OWN_REFS
            .try_into()
            .map(|prefix| self.repo.refs.loose_iter_prefixed(prefix));
        let Ok(Ok(loose)) = loose else { return };
        if self.served.is_some() || loose.take(MOST_LOOSE).count() < MOST_LOOSE {
            return;
        }
        let args = ["pack-refs", "--include=refs/watchdog/*"];
        let answer = run_git_on_refs(self.common_dir(), &args, &[]);
        tracing::debug!(target: "watchdog::git", ?answer, "packs its refs");
        self.refresh().ok();
    }

    /// Every baseline that is kept in this repository.
    ///
    /// # Errors
    /// When refs cannot be read.
    pub fn kept_baselines(&self) -> Result<Vec<KeptBaseline>, Error> {
        self.retry_if_refs_moved(|| self.kept_baselines_now())
    }

    fn kept_baselines_now(&self) -> Result<Vec<KeptBaseline>, Error> {
        self.refresh()?;
        let mut baselines = Vec::new();
        for (name, id) in self.refs_below(BASELINES)? {
            if let Some((worktree_id, spec)) = name[BASELINES.len()..].split_once('/') {
                baselines.push(KeptBaseline {
                    worktree_id: worktree_id.into(),
                    spec: String::from_utf8_lossy(&percent_decode(spec.as_bytes())).into_owned(),
                    commit: id.to_string(),
                });
            }
        }
        Ok(baselines)
    }
}
