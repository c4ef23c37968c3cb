//! Reads whether a remote has HEAD, from the remote-tracking branches of this repository. No network is used.

use gix::ObjectId;

use super::error::{Error, ReadContext as _};
use super::open::Worktree;

/// Whether a remote has HEAD.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemoteState {
    /// HEAD names no commit.
    Unborn,
    /// There is no remote-tracking branch.
    NoRemote,
    /// A remote-tracking branch reaches HEAD.
    Yes,
    /// No remote has it; so many commits are missing there, counted up to [`RemoteState::COUNTED`].
    No {
        /// How many commits of HEAD no remote-tracking branch reaches.
        ahead: u64,
    },
}

impl RemoteState {
    /// So many commits are counted at most.
    pub const COUNTED: u64 = 10_000;

    /// How many commits no remote has, where one may have them.
    pub fn count_ahead(self) -> Option<u64> {
        match self {
            RemoteState::Yes => Some(0),
            RemoteState::No { ahead } => Some(ahead),
            RemoteState::NoRemote | RemoteState::Unborn => None,
        }
    }
}

impl Worktree {
    /// Whether a remote-tracking branch reaches HEAD.
    ///
    /// # Errors
    /// [`Error::Read`] where refs or commits cannot be read.
    pub fn read_remote_state(&self) -> Result<RemoteState, Error> {
        let Some(head) = self.head_id()? else {
            return Ok(RemoteState::Unborn);
        };
        let tips = self.retry_if_refs_moved(|| self.remote_branches())?;
        if tips.is_empty() {
            return Ok(RemoteState::NoRemote);
        }
        if tips.contains(&head) {
            return Ok(RemoteState::Yes);
        }
        let doing = "look for HEAD in the remote-tracking branches";
        let walk = self
            .repo
            .rev_walk([head])
            .with_hidden(tips)
            .all()
            .context(doing)?;
        let mut ahead = 0;
        for commit in walk.take(RemoteState::COUNTED as usize) {
            commit.context(doing)?;
            ahead += 1;
        }
        Ok(if ahead == 0 {
            RemoteState::Yes
        } else {
            RemoteState::No { ahead }
        })
    }

    /// Whether the branch has an upstream.
    pub fn has_upstream(&self) -> bool {
        let branch = self.repo.head_name().ok().flatten();
        branch.is_some_and(|branch| {
            let upstream = (self.repo)
                .branch_remote_tracking_ref_name(branch.as_ref(), gix::remote::Direction::Fetch);
            upstream.is_some_and(|name| name.is_ok())
        })
    }

    /// The commits that remote-tracking branches name.
    fn remote_branches(&self) -> Result<Vec<ObjectId>, Error> {
        let doing = || {
            format!(
                "list the remote-tracking branches of {}",
                self.common_dir().display()
            )
        };
        let refs = self.repo.references().with_context(doing)?;
        let refs = refs.remote_branches().with_context(doing)?;
        // A damaged one, or one whose commit is missing, proves nothing.
        let mut tips: Vec<ObjectId> = refs
            .flatten()
            .filter_map(|reference| reference.target().try_id().map(ToOwned::to_owned))
            .collect();
        tips.sort();
        tips.dedup();
        tips.retain(|tip| self.repo.find_commit(*tip).is_ok());
        Ok(tips)
    }
}
