//! Lists the folders that are a worktree's own: not those that git ignores, and no other repository inside of it. The walk has an end.

use std::collections::VecDeque;

use super::discover::is_nested_repository;
use super::open::Worktree;
use super::snapshot::{FolderRules, FolderWalk};
use watchdog_system::read_entries;

/// A folder of a worktree.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OwnFolder {
    /// From the root of the worktree, whose own is empty.
    pub path: String,
    /// The names of the regular files in it, sorted. Names that are no UTF-8 are left out.
    pub files: Vec<String>,
    /// Why its content is unknown, where it could not be read.
    pub unread: Option<String>,
}

impl Worktree {
    /// The folders of this worktree, the nearest first, up to the first `most` entries of folders.
    ///
    /// Follows no links. Leaves out what `enters` does not want (it gets the path from the root), what git ignores, and other
    /// repositories, submodules included.
    pub fn own_folders(&self, most: usize, enters: &dyn Fn(&str) -> bool) -> Vec<OwnFolder> {
        let mut folders = Vec::new();
        let Ok(mut below) = FolderWalk::open(self.root()) else {
            return folders;
        };
        let mut rules = FolderRules::global(&self.repo, self.root());
        let mut open = VecDeque::from([String::new()]);
        let mut remaining = most;
        while let Some(path) = open.pop_front().filter(|_| remaining > 0) {
            rules.enter(&mut below, "".into(), path.as_str().into(), |_| None);
            let (mut files, mut inner) = (Vec::new(), Vec::new());
            let listed = read_entries(&self.root().join(&path), remaining);
            let unread = listed.as_ref().err().map(ToString::to_string);
            for entry in listed.unwrap_or_default() {
                remaining -= 1;
                let (Ok(kind), Ok(name)) = (entry.file_type(), entry.file_name().into_string())
                else {
                    continue;
                };
                if kind.is_file() {
                    files.push(name);
                } else if kind.is_dir() && name != ".git" {
                    let inside = if path.is_empty() {
                        name
                    } else {
                        format!("{path}/{name}")
                    };
                    let is_own = enters(&inside)
                        && !rules.ignores(inside.as_str().into(), true)
                        && !is_nested_repository(&entry.path());
                    inner.extend(Some(inside).filter(|_| is_own));
                }
            }
            files.sort_unstable();
            inner.sort_unstable();
            open.extend(inner);
            folders.push(OwnFolder {
                path,
                files,
                unread,
            });
        }
        folders
    }
}
