//! The findings of a comparison of HEAD, index and work tree, gathered for one answer.

use gix::ObjectId;
use gix::bstr::BString;

use super::file_state::StatStamp;
use watchdog_facts::evidence::Degradation;

/// The findings of each part of the comparison.
#[derive(Default)]
pub(super) struct WorkTreeStatus {
    /// Paths whose index entry differs from HEAD, with the object that is staged.
    pub staged: Vec<(BString, ObjectId)>,
    /// Paths whose file differs from the index, also behind assume-unchanged and skip-worktree.
    pub unstaged: Vec<BString>,
    /// Files that are neither tracked nor ignored; a nested repository is one.
    pub untracked: Vec<BString>,
    /// Files and folders that are not tracked and that git ignores.
    pub ignored: Vec<BString>,
    /// Unmerged paths.
    pub conflicted: Vec<BString>,
    /// A hash of each changed submodule's state, for the fingerprint.
    pub submodules: Vec<u64>,
    /// Paths that could not be read, with the reason.
    pub unreadable: Vec<(String, String)>,
    /// Anything else that weakens the fact.
    pub degraded: Vec<Degradation>,
    /// Whether to keep the next two, which fingerprints are made of: a caller that makes none is spared their memory.
    pub keeps_states: bool,
    /// Every folder that was looked through, from the top; with a slash at the end.
    pub folders: Vec<BString>,
    /// The state of files at these places in the index.
    pub states: Vec<(usize, StatStamp)>,
}

impl WorkTreeStatus {
    /// Adds what one thread found to the whole.
    pub(super) fn give_to(self, whole: &mut WorkTreeStatus) {
        whole.staged.extend(self.staged);
        whole.unstaged.extend(self.unstaged);
        whole.untracked.extend(self.untracked);
        whole.ignored.extend(self.ignored);
        whole.conflicted.extend(self.conflicted);
        whole.submodules.extend(self.submodules);
        whole.unreadable.extend(self.unreadable);
        whole.degraded.extend(self.degraded);
        whole.folders.extend(self.folders);
        whole.states.extend(self.states);
    }
}
