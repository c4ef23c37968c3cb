//! Finds the worktrees of a session's helpers. A snapshot of the session's own worktree holds what lies inside of it, but none is taken
//! where nothing of its own changed. So each helper gets a snapshot of its own, wherever it lies.

use std::path::PathBuf;

use gix::bstr::BStr;

use super::error::Error;
use super::open::Worktree;
use super::origin_evidence::OriginEvidence;
use super::path_text::escape_path;
use super::ref_owner::MAIN_HEAD;
use super::worktree_id::worktree_id;
use super::worktrees::{WorktreeState, read_linked};

/// A helper's worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BornWorktree {
    /// The name under which its repository keeps it, percent-escaped where not UTF-8.
    pub name: String,
    /// Its top folder.
    pub root: PathBuf,
}

impl Worktree {
    /// The worktrees that were created during the session and have no record of their own. Without recorded refs no helper is known.
    ///
    /// # Errors
    /// [`Error::Read`] where the record cannot be read.
    pub fn helper_worktrees(&self, evidence: &OriginEvidence) -> Result<Vec<BornWorktree>, Error> {
        let Some(recorded) = &evidence.refs else {
            return Ok(Vec::new());
        };
        let mut candidates = self.born_worktrees(recorded, evidence)?;
        // Nearly always there is none, and nothing else need be read. A record from before worktrees were recorded says nothing about them.
        if candidates.is_empty() || !recorded.tips()?.contains(MAIN_HEAD) {
            return Ok(Vec::new());
        }
        let with_record = evidence.recorded_worktrees()?;
        candidates
            .retain(|git_dir| !with_record.contains(&worktree_id(git_dir, self.common_dir())));
        candidates.sort();
        let mut helpers = Vec::new();
        for git_dir in candidates {
            let name = git_dir
                .file_name()
                .map(|name| escape_path(BStr::new(name.as_encoded_bytes())))
                .unwrap_or_default();
            let linked_worktree = read_linked(self.common_dir(), git_dir);
            if linked_worktree.standing == WorktreeState::There {
                helpers.push(BornWorktree {
                    name,
                    root: linked_worktree.root,
                });
            }
        }
        Ok(helpers)
    }
}
