//! Submodules as part of a worktree's changes. Each is opened under the same hardened rules as the
//! worktree itself, so that its own filters do not run either.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};
use gix::index::entry::Mode;
use gix::submodule::config::Ignore;

use super::comparison_parts::WorkTreeStatus;
use super::error::{Error, ReadContext as _};
use super::open::Worktree;
use super::own_refs::list_refs_below;
use super::path_text::escape_path;
use watchdog_facts::evidence::{Degradation, WarningCode};

/// How deep submodules in submodules are read.
const DEPTH: usize = 16;

/// Looks at the submodules of one worktree; shared by all threads.
pub(super) struct SubmoduleScan {
    root: PathBuf,
    depth: usize,
    /// The `ignore` setting of each submodule, where it is not `none`.
    ignore: HashMap<BString, Ignore>,
    unreadable: Mutex<Vec<(String, String)>>,
    hidden: Mutex<Vec<String>>,
}

/// How a submodule differs.
struct SubmoduleState {
    head: Option<ObjectId>,
    fingerprint: u64,
    other_commit: bool,
    /// Whether tracked files differ.
    tracked: bool,
    /// Whether any file does.
    dirty: bool,
}

impl SubmoduleScan {
    pub(super) fn new(
        worktree: &Worktree,
        index: &gix::index::State,
        depth: usize,
    ) -> Result<Self, Error> {
        let mut ignore = HashMap::new();
        if index
            .entries()
            .iter()
            .any(|entry| entry.mode == Mode::COMMIT)
        {
            ignore = ignore_settings(worktree)?;
        }
        let root = worktree.root().to_owned();
        Ok(SubmoduleScan {
            root,
            depth,
            ignore,
            unreadable: Mutex::default(),
            hidden: Mutex::default(),
        })
    }

    /// Hands over the collected notes.
    pub(super) fn finish(self, status: &mut WorkTreeStatus) {
        status
            .unreadable
            .append(&mut self.unreadable.lock().expect("no holder panics"));
        let hidden = self.hidden.lock().expect("no holder panics");
        if let Some(first) = hidden.first() {
            let detail = format!(
                "{} submodules have changes that their 'ignore' setting hides, '{first}' for one",
                hidden.len()
            );
            status
                .degraded
                .push(Degradation::new(WarningCode::HiddenEntries, detail));
        }
    }

    /// The difference of the submodule, whatever its `ignore` setting; `None` where there is none.
    fn state(
        &self,
        entry: &gix::index::Entry,
        path: &BStr,
    ) -> Result<Option<SubmoduleState>, Error> {
        let folder = self.root.join(
            gix::path::from_bstr(path)
                .with_context(|| format!("read the path of a submodule '{path}'"))?,
        );
        let dot_git = folder.join(".git");
        // Without a `.git` it was never checked out, and there is nothing in it to lose.
        if dot_git.symlink_metadata().is_err() || self.depth >= DEPTH {
            return Ok(None);
        }
        let inner = Worktree::open_at(&dot_git, &folder)?;
        let head = inner.head_id()?;
        let commit_differs = head.is_some_and(|head| head != entry.id);
        let changes = inner.changes_below(self.depth + 1)?;
        let tracked = changes.staged + changes.unstaged + changes.conflicted > 0;
        let dirty = tracked || changes.untracked > 0;
        let state = SubmoduleState {
            head,
            fingerprint: changes.fingerprint,
            other_commit: commit_differs,
            tracked,
            dirty,
        };
        Ok((commit_differs || dirty).then_some(state))
    }

    /// A hash of the submodule's state, where it differs from its entry and is not ignored.
    pub(super) fn differs(&self, entry: &gix::index::Entry, path: &BStr) -> Option<u64> {
        let SubmoduleState {
            fingerprint,
            other_commit: commit_differs,
            tracked,
            ..
        } = match self.state(entry, path) {
            Ok(state) => state?,
            Err(error) => {
                self.unreadable
                    .lock()
                    .expect("no holder panics")
                    .push((escape_path(path), error.to_string()));
                return Some(0);
            }
        };
        let shown = match self.ignore.get(path).copied().unwrap_or(Ignore::None) {
            Ignore::None => true,
            Ignore::Untracked => commit_differs || tracked,
            Ignore::Dirty => commit_differs,
            Ignore::All => false,
        };
        if !shown {
            self.hidden
                .lock()
                .expect("no holder panics")
                .push(escape_path(path));
        }
        shown.then_some(fingerprint)
    }
}

/// A submodule with something in it that no commit of this repository names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsettledSubmodule {
    /// Its path, percent-escaped where not UTF-8.
    pub path: String,
    /// Whether its HEAD is another commit than the index names.
    pub other_commit: bool,
    /// Whether a branch or tag of its own reaches that commit. Otherwise no other repository can fetch it.
    pub named: bool,
    /// Whether files in it are uncommitted.
    pub uncommitted: bool,
}

/// Whether a branch, tag or remote-tracking branch of the submodule in a folder leads to a commit: where none does, a commit of this
/// repository that names it would name an object that the submodule's garbage collection deletes.
///
/// # Errors
/// If the submodule or its refs cannot be read.
pub(super) fn is_named(folder: &Path, commit: ObjectId) -> Result<bool, Error> {
    const LASTING: [&str; 3] = ["refs/heads/", "refs/remotes/", "refs/tags/"];
    let doing = || format!("read the refs of the submodule at {}", folder.display());
    let inner = Worktree::open_at(&folder.join(".git"), folder)?;
    inner.refresh()?;
    let mut tips = Vec::new();
    for prefix in LASTING {
        for reference in list_refs_below(&inner.repo, prefix)? {
            // A ref that leads to no commit keeps none.
            let tip = reference.into_fully_peeled_id().ok().map(gix::Id::detach);
            tips.extend(tip.filter(|tip| inner.repo.find_commit(*tip).is_ok()));
        }
    }
    if inner.repo.find_commit(commit).is_err() {
        return Ok(false);
    }
    let mut unreached = inner
        .repo
        .rev_walk([commit])
        .with_hidden(tips)
        .all()
        .with_context(doing)?;
    Ok(unreached.next().is_none())
}

impl Worktree {
    /// The submodules with changes or with commits that no ref here names, whatever their `ignore` setting.
    ///
    /// # Errors
    /// [`Error::Read`] where the index or a submodule cannot be read.
    pub fn unsettled_submodules(&self) -> Result<Vec<UnsettledSubmodule>, Error> {
        let index = self.index()?;
        let submodules = SubmoduleScan::new(self, &index, 0)?;
        let mut unsettled = Vec::new();
        for entry in index
            .entries()
            .iter()
            .filter(|entry| entry.mode == Mode::COMMIT)
        {
            let path = entry.path(&index);
            if let Some(state) = submodules.state(entry, path)? {
                let folder = self
                    .root()
                    .join(gix::path::from_bstr(path).unwrap_or_default());
                unsettled.push(UnsettledSubmodule {
                    path: escape_path(path),
                    other_commit: state.other_commit,
                    named: state
                        .head
                        .map_or(Ok(false), |head| is_named(&folder, head))?,
                    uncommitted: state.dirty,
                });
            }
        }
        Ok(unsettled)
    }
}

/// `submodule.<name>.ignore` by path, from the configuration and `.gitmodules`; `diff.ignoreSubmodules` for the rest.
fn ignore_settings(worktree: &Worktree) -> Result<HashMap<BString, Ignore>, Error> {
    let doing = || format!("read the submodules of {}", worktree.root().display());
    let overall = worktree
        .repo
        .config_snapshot()
        .string("diff.ignoreSubmodules")
        .and_then(|v| Ignore::try_from(v.as_bstr()).ok());
    let mut settings = HashMap::new();
    // Without a `.gitmodules` on disk that of the index counts, and a repository that was opened for a sibling knows the sibling's.
    let own = if worktree.from_sibling {
        Some(Worktree::open(worktree.root())?)
    } else {
        None
    };
    let repo = own.as_ref().map_or(&worktree.repo, |own| &own.repo);
    let submodules = repo.submodules().with_context(doing)?;
    for submodule in submodules.into_iter().flatten() {
        let Ok(path) = submodule.path() else { continue };
        let own = submodule.ignore().ok().flatten();
        if let Some(ignore) = own.or(overall) {
            settings.insert(path, ignore);
        }
    }
    Ok(settings)
}
