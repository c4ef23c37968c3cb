//! Finds links that tools put in place of ignored folders, such as a `node_modules` that checkouts share. They are no work, although git
//! applies no pattern with a slash at its end to a link.

use std::fs;
use std::path::{Component, Path, PathBuf};

use gix::bstr::{BStr, ByteSlice as _};

use super::error::{Error, ReadContext as _};
use super::open::Worktree;
use super::path_text::{escape_path, unescape_path};
use super::snapshot::{FolderRules, FolderWalk, as_path};
use watchdog_facts::session_work::is_dropping;

/// As many links as Linux follows on the way of one path.
const MOST_LINKS: usize = 40;

/// Why a new link is no work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DroppingLink {
    /// The rules of the baseline ignore a folder of its name.
    Ignored,
    /// It leaves the worktree, so that no other clone could follow it.
    LeavesRoot,
}

impl Worktree {
    /// Why a path (percent-escaped where not UTF-8) that HEAD lacks is a link in place of a folder, if it is one.
    pub fn find_dropping_link(&self, path: &str) -> Option<DroppingLink> {
        let path = unescape_path(path);
        let target = fs::read_link(self.root().join(as_path(&path))).ok()?;
        let is_in_head = || {
            let tree = self.head_tree()?;
            // A folder there is one, too: the link takes its place, and its files are deleted.
            let entry = (!tree.is_empty_tree())
                .then(|| self.repo.find_tree(tree)?.lookup_entry(path.split_str("/")))
                .transpose()
                .with_context(|| format!("look for {} in HEAD", escape_path(&path)))?;
            Ok::<_, Error>(entry.flatten().is_some())
        };
        self.stands_for_folder(path.as_bstr(), &target)
            .filter(|_| matches!(is_in_head(), Ok(false)))
    }

    /// How many paths are uncommitted, droppings aside.
    pub(super) fn count_work(&self) -> Result<u64, Error> {
        let (_, paths) = self.changes_with_paths()?;
        let is_work =
            |path: &&String| !is_dropping(path) && self.find_dropping_link(path).is_none();
        Ok(paths.iter().filter(is_work).count() as u64)
    }

    /// The same of a new link with this target, wherever it is stored.
    pub(super) fn stands_for_folder(&self, path: &BStr, target: &Path) -> Option<DroppingLink> {
        let folder = as_path(path).parent().unwrap_or(Path::new(""));
        let target = self.root().join(folder).join(target);
        // Patterns such as `/*/` ignore all folders, and no links to files.
        if !target.is_file() && self.ignores_folder(path) {
            return Some(DroppingLink::Ignored);
        }
        leads_out(self.root(), &target, MOST_LINKS).then_some(DroppingLink::LeavesRoot)
    }

    fn ignores_folder(&self, path: &BStr) -> bool {
        if let Some(recorded) = self.recorded_rules() {
            return recorded.ignores(path, true);
        }
        let Ok(mut below) = FolderWalk::open(self.root()) else {
            return false;
        };
        let mut rules = FolderRules::global(&self.repo, self.root());
        let folders = path.find_iter("/").map(|end| path[..end].as_bstr());
        for folder in [BStr::new("")].into_iter().chain(folders) {
            rules.enter(&mut below, "".into(), folder, |_| None);
        }
        rules.ignores(path, true)
    }
}

/// Whether a path leaves a folder, by itself or by the links on its way.
fn leads_out(root: &Path, path: &Path, links: usize) -> bool {
    let path = normalize_path(path);
    let Ok(below) = path.strip_prefix(root) else {
        return true;
    };
    let mut parts = below.components();
    let mut folder = root.to_owned();
    while let Some(part) = parts.next() {
        let at = folder.join(part);
        if let Ok(target) = fs::read_link(&at) {
            let path = folder.join(target).join(parts.as_path());
            return links > 0 && leads_out(root, &path, links - 1);
        }
        folder = at;
    }
    false
}

/// A path without `.` and `..`, by its words alone.
fn normalize_path(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(normal.pop()),
            Component::CurDir => {}
            _ => normal.push(part),
        }
    }
    normal
}
