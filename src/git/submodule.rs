//! Submodules as part of a worktree's changes. Each is opened under the same hardened rules as the
//! worktree itself, so that its own filters do not run either.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Mutex;

use gix::bstr::{BStr, BString, ByteSlice};
use gix::index::entry::Mode;
use gix::submodule::config::Ignore;

use super::changes::Found;
use super::open::{Error, Worktree};
use super::path_text::escape_path;
use crate::decision::evidence::Degraded;

/// How deep submodules in submodules are looked into.
const DEPTH: usize = 16;

/// Looks at the submodules of one worktree; shared by all threads.
pub(super) struct Submodules {
    root: PathBuf,
    depth: usize,
    /// What the user wants to see of each submodule, where that is not everything.
    ignore: HashMap<BString, Ignore>,
    unreadable: Mutex<Vec<(String, String)>>,
    hidden: Mutex<Vec<String>>,
}

impl Submodules {
    pub(super) fn new(worktree: &Worktree, index: &gix::index::State, depth: usize) -> Result<Self, Error> {
        let mut ignore = HashMap::new();
        if index.entries().iter().any(|entry| entry.mode == Mode::COMMIT) {
            ignore = ignore_settings(worktree)?;
        }
        let root = worktree.root().to_owned();
        Ok(Submodules { root, depth, ignore, unreadable: Mutex::default(), hidden: Mutex::default() })
    }

    /// Hands over what was noted on the way.
    pub(super) fn finish(self, found: &mut Found) {
        found.unreadable.append(&mut self.unreadable.lock().expect("no holder panics"));
        let hidden = self.hidden.lock().expect("no holder panics");
        if let Some(first) = hidden.first() {
            let detail = format!("{} submodules have changes that their 'ignore' setting hides, '{first}' for one", hidden.len());
            found.degraded.push(Degraded { code: "hidden_entries", detail });
        }
    }

    /// How the submodule differs, whatever its `ignore` setting, and whether its commit does.
    fn look(&self, entry: &gix::index::Entry, path: &BStr) -> Result<Option<(u64, bool, bool)>, Error> {
        let folder =
            self.root.join(gix::path::from_bstr(path).map_err(|e| Error::read(format!("read the path of a submodule '{path}'"), e))?);
        let dot_git = folder.join(".git");
        // Without a `.git` it was never checked out, and there is nothing in it to lose.
        if dot_git.symlink_metadata().is_err() || self.depth >= DEPTH {
            return Ok(None);
        }
        let inner = Worktree::open_at(&dot_git, &folder)?;
        let commit_differs = inner.head_id()?.is_some_and(|head| head != entry.id);
        let changes = inner.changes_below(self.depth + 1)?;
        let tracked = changes.staged + changes.unstaged + changes.conflicted > 0;
        let dirty = tracked || changes.untracked > 0;
        Ok((commit_differs || dirty).then_some((changes.fingerprint, commit_differs, tracked)))
    }

    /// What stands for the submodule's state, where it differs from its entry and is not to be passed over.
    pub(super) fn differs(&self, entry: &gix::index::Entry, path: &BStr) -> Option<u64> {
        let (fingerprint, commit_differs, tracked) = match self.look(entry, path) {
            Ok(found) => found?,
            Err(error) => {
                self.unreadable.lock().expect("no holder panics").push((escape_path(path), error.to_string()));
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
            self.hidden.lock().expect("no holder panics").push(escape_path(path));
        }
        shown.then_some(fingerprint)
    }
}

/// `submodule.<name>.ignore` by path, from the configuration and `.gitmodules`; `diff.ignoreSubmodules` for the rest.
fn ignore_settings(worktree: &Worktree) -> Result<HashMap<BString, Ignore>, Error> {
    let doing = || format!("read the submodules of {}", worktree.root().display());
    let overall = worktree.repo.config_snapshot().string("diff.ignoreSubmodules").and_then(|v| Ignore::try_from(v.as_bstr()).ok());
    let mut settings = HashMap::new();
    let submodules = worktree.repo.submodules().map_err(|e| Error::read(doing(), e))?;
    for submodule in submodules.into_iter().flatten() {
        let Ok(path) = submodule.path() else { continue };
        let own = submodule.ignore().ok().flatten();
        if let Some(ignore) = own.or(overall) {
            settings.insert(path, ignore);
        }
    }
    Ok(settings)
}
