//! Refreshes the mirror of a worktree's refs before every read.

use super::git_server::REFTABLE;
use super::served_worktree::ServedWorktree;
use crate::{Error, Worktree};
use watchdog_facts::evidence::{Degradation, WarningCode};

impl Worktree {
    /// Refreshes the refs for the next read; free where gix reads them itself.
    pub(crate) fn refresh(&self) -> Result<(), Error> {
        self.served.as_ref().map_or(Ok(()), ServedWorktree::refresh)
    }

    /// Sees to it that a revision may name an entry of a reflog.
    pub(crate) fn read_logs(&self) -> Result<(), Error> {
        self.served
            .as_ref()
            .map_or(Ok(()), |served| served.all_logs().map(drop))
    }

    /// The warning that git itself must read the refs.
    pub fn served_note(&self) -> Option<Degradation> {
        let served = self.served.as_ref()?;
        let detail = format!(
            "the refs of {} are in the {REFTABLE} format, which git itself is asked about: every look is slower",
            served.common_dir.display()
        );
        Some(Degradation::new(WarningCode::ServedByGit, detail))
    }
}
