//! Finds work of a session's helpers that HEAD lacks: in worktrees and branches that were made during the session, and have no record of
//! their own.

use std::collections::HashSet;
use std::path::PathBuf;

use gix::ObjectId;
use gix::bstr::ByteSlice;

use super::error::{Error, ReadContext as _};
use super::open::Worktree;
use super::origin_evidence::OriginEvidence;
use super::ref_owner::{RefOwner, RefOwners, head_name};
use super::worktrees::{WorktreeState, read_linked};

/// So many commits are counted at most.
const COUNTED: usize = 1_000;

/// watchdog's own branches, for work that a rescue could not commit on the current branch.
const OWN_BRANCHES: &str = "refs/heads/watchdog/";

/// A helper's work that HEAD lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnmergedWork {
    /// Its branch, or the folder of its worktree where that has none.
    pub name: String,
    /// Whether it has a worktree.
    pub has_worktree: bool,
    /// Commits that HEAD lacks, counted up to 1,000.
    pub commits: u64,
    /// Uncommitted files.
    pub uncommitted: u64,
    /// The reason that it cannot be read.
    pub unreadable: Option<String>,
}

impl Worktree {
    /// The helpers of the session with work that HEAD lacks. Without recorded refs no helper is known.
    ///
    /// # Errors
    /// [`Error::Read`] where refs or commits of this repository cannot be read.
    pub fn unmerged_work(&self, evidence: &OriginEvidence) -> Result<Vec<UnmergedWork>, Error> {
        let Some(recorded) = &evidence.refs else {
            return Ok(Vec::new());
        };
        let doing = "look for helpers of the session";
        self.refresh()?;
        // The names alone settle it nearly always: they all were there at the baseline.
        let own = self.branch().map(|branch| format!("refs/heads/{branch}"));
        let born = self.born_branches(recorded, evidence)?;
        let is_candidate =
            |name: &&String| Some(*name) != own.as_ref() && !name.starts_with(OWN_BRANCHES);
        let mut names: Vec<String> = born.iter().filter(is_candidate).cloned().collect();
        let worktrees = self.born_worktrees(recorded, evidence)?;
        if names.is_empty() && worktrees.is_empty() {
            return Ok(Vec::new());
        }
        let owners = RefOwners::new(self, evidence)?;
        let mut helpers = Vec::new();
        let refs = self.repo.references().context(doing)?;
        let named = |reference: gix::Reference<'_>| {
            let id = reference.target().try_id().map(ToOwned::to_owned)?;
            Some((reference.name().as_bstr().to_str_lossy().into_owned(), id))
        };
        names.retain(|name| owners.find_owner(name, self.common_dir()) == RefOwner::Helper);
        let mut branches: Vec<(String, ObjectId)> = Vec::new();
        if !names.is_empty() {
            let names: HashSet<String> = names.into_iter().collect();
            let local = refs
                .local_branches()
                .context(doing)?
                .flatten()
                .filter_map(named);
            branches.extend(local.filter(|(name, _)| names.contains(name)));
        }
        let is_helpers = |git_dir: &PathBuf| {
            owners.find_owner(&head_name(git_dir, self.common_dir()), self.common_dir())
                == RefOwner::Helper
        };
        let of_helpers = worktrees
            .into_iter()
            .filter(is_helpers)
            .map(|git_dir| read_linked(self.common_dir(), git_dir));
        let mut of_helpers: Vec<_> = of_helpers
            .filter(|worktree| worktree.standing == WorktreeState::There)
            .collect();
        of_helpers.sort_by(|a, b| a.git_dir.cmp(&b.git_dir));
        if branches.is_empty() && of_helpers.is_empty() {
            return Ok(Vec::new());
        }
        let is_of_helper = |name: &str| branches.iter().any(|(branch, _)| branch == name);
        let others = refs.all().context(doing)?.flatten().filter_map(named);
        let mut hidden: Vec<_> = others
            .filter(|(name, _)| !name.starts_with("refs/watchdog/") && !is_of_helper(name))
            .map(|(_, id)| id)
            .collect();
        hidden.extend(recorded.objects()?);
        hidden.extend(self.head_id()?);
        hidden.sort();
        hidden.dedup();
        hidden.retain(|id| self.repo.find_commit(*id).is_ok());
        let lacked = |tip: Option<ObjectId>| -> Result<u64, Error> {
            let Some(tip) = tip else { return Ok(0) };
            let walk = self
                .repo
                .rev_walk([tip])
                .with_hidden(hidden.iter().copied())
                .all()
                .context(doing)?;
            let mut count = 0;
            for commit in walk.take(COUNTED) {
                commit.context(doing)?;
                count += 1;
            }
            Ok(count)
        };
        for worktree in of_helpers {
            let opened = Worktree::open(&worktree.root)
                .and_then(|helper| Ok((helper.branch(), helper.head_id()?, helper.count_work()?)));
            let (branch, head, uncommitted, unreadable) = match opened {
                Ok((branch, head, uncommitted)) => (branch, head, uncommitted, None),
                Err(error) => (None, None, 0, Some(error.to_string())),
            };
            branches.retain(|(name, _)| name.strip_prefix("refs/heads/") != branch.as_deref());
            let name = branch.unwrap_or_else(|| worktree.root.display().to_string());
            helpers.push(UnmergedWork {
                name,
                has_worktree: true,
                commits: lacked(head)?,
                uncommitted,
                unreadable,
            });
        }
        for (name, tip) in branches {
            let name = name.strip_prefix("refs/heads/").unwrap_or(&name).to_owned();
            helpers.push(UnmergedWork {
                name,
                has_worktree: false,
                commits: lacked(Some(tip))?,
                uncommitted: 0,
                unreadable: None,
            });
        }
        helpers.retain(|helper| {
            helper.commits + helper.uncommitted > 0 || helper.unreadable.is_some()
        });
        Ok(helpers)
    }
}
