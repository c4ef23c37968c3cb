//! The watched worktrees, and which of them an event concerns. Knows no clock and no watch.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::watch::{GitDirs, HeadFingerprint};
use watchdog_git::{FoundWorktree, HistoryPoint, WorktreeState};

/// A watched worktree.
#[derive(Debug, Clone)]
pub struct WatchedWorktree {
    /// Its top folder.
    pub root: PathBuf,
    /// Its git directories.
    pub dirs: GitDirs,
    /// The fingerprint of the files that define HEAD, at the last check.
    pub head_fingerprint: Option<HeadFingerprint>,
    /// The commit that HEAD named when it was last judged or had its baseline recorded.
    pub seen: Option<HistoryPoint>,
    /// The fingerprint of the uncommitted changes when they were last judged.
    pub fingerprint: Option<u64>,
}

/// The worktrees that an event affects.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct AffectedWorktrees {
    /// The worktrees whose HEAD may have moved.
    pub heads: BTreeSet<String>,
    /// The worktrees in whose work tree something changed.
    pub work: BTreeSet<String>,
    /// Worktrees may have come, gone or moved.
    pub search: bool,
}

/// The worktrees that are watched, by their names in the records.
#[derive(Debug, Default)]
pub struct WatchSet {
    watched: BTreeMap<String, WatchedWorktree>,
    /// From git directory to name.
    by_git_dir: BTreeMap<PathBuf, String>,
    /// The names of a repository's worktrees.
    by_common_dir: BTreeMap<PathBuf, BTreeSet<String>>,
    /// From top folder to name, to find whom a changed file belongs to.
    by_root: BTreeMap<PathBuf, String>,
}

impl WatchSet {
    /// Takes the result of a search, and keeps what is known of those that stay. A broken worktree stays, too, since somebody may count on
    /// it, even where the search did not recognize it any more: `is_left` says whether anything of it is there. Returns the names of those
    /// that are new, in a new place, or broken.
    pub fn replace(
        &mut self,
        worktrees: &[FoundWorktree],
        is_left: &dyn Fn(&Path) -> bool,
    ) -> Vec<String> {
        let mut old = std::mem::take(self).watched;
        let mut new = Vec::new();
        let is_worktree = |worktree: &&FoundWorktree| {
            matches!(
                worktree.standing,
                WorktreeState::There | WorktreeState::Broken { .. }
            )
        };
        for worktree in worktrees.iter().filter(is_worktree) {
            let id = worktree.worktree_id();
            let dirs = GitDirs {
                git_dir: worktree.git_dir.clone(),
                common_dir: worktree.common_dir.clone(),
            };
            let watched = match old.remove(&id) {
                Some(watched) if watched.root == worktree.root => {
                    WatchedWorktree { dirs, ..watched }
                }
                // Events there may have been missed.
                Some(watched) => {
                    new.push(id.clone());
                    WatchedWorktree {
                        root: worktree.root.clone(),
                        dirs,
                        head_fingerprint: None,
                        ..watched
                    }
                }
                None => {
                    new.push(id.clone());
                    WatchedWorktree {
                        root: worktree.root.clone(),
                        dirs,
                        head_fingerprint: None,
                        seen: None,
                        fingerprint: None,
                    }
                }
            };
            if worktree.standing != WorktreeState::There && !new.contains(&id) {
                new.push(id.clone());
            }
            self.insert(id, watched);
        }
        for worktree in worktrees {
            old.remove(&worktree.worktree_id());
        }
        for (id, watched) in old {
            if !self.by_root.contains_key(&watched.root) && is_left(&watched.root) {
                new.push(id.clone());
                self.insert(id, watched);
            }
        }
        new
    }

    fn insert(&mut self, id: String, watched: WatchedWorktree) {
        self.by_git_dir
            .insert(watched.dirs.git_dir.clone(), id.clone());
        self.by_common_dir
            .entry(watched.dirs.common_dir.clone())
            .or_default()
            .insert(id.clone());
        self.by_root.insert(watched.root.clone(), id.clone());
        self.watched.insert(id, watched);
    }

    /// How many worktrees, and of how many repositories.
    pub fn size(&self) -> (usize, usize) {
        (self.watched.len(), self.by_common_dir.len())
    }

    /// Every name.
    pub fn names(&self) -> Vec<String> {
        self.watched.keys().cloned().collect()
    }

    /// Every worktree.
    pub fn all(&self) -> impl Iterator<Item = &WatchedWorktree> {
        self.watched.values()
    }

    /// Returns a worktree.
    pub fn get(&self, id: &str) -> Option<&WatchedWorktree> {
        self.watched.get(id)
    }

    /// The same, to change it.
    pub fn get_mut(&mut self, id: &str) -> Option<&mut WatchedWorktree> {
        self.watched.get_mut(id)
    }

    /// The top folders of those that a search did not find.
    pub fn roots_beside(&self, worktrees: &[FoundWorktree]) -> BTreeSet<PathBuf> {
        let found_ids: BTreeSet<String> =
            worktrees.iter().map(FoundWorktree::worktree_id).collect();
        self.watched
            .iter()
            .filter(|(id, _)| !found_ids.contains(*id))
            .map(|(_, watched)| watched.root.clone())
            .collect()
    }

    /// The worktrees whose git data lies in any of these folders.
    pub fn with_git_data_in(&self, folders: &BTreeSet<PathBuf>) -> Vec<String> {
        let is_in = |dirs: &GitDirs| {
            dirs.own()
                .into_iter()
                .chain(dirs.list_shared())
                .any(|(folder, _)| folders.contains(&folder))
        };
        let affected = self
            .watched
            .iter()
            .filter(|(_, watched)| !folders.is_empty() && is_in(&watched.dirs));
        affected.map(|(id, _)| id.clone()).collect()
    }

    /// The worktrees whose top is any of these folders.
    pub fn with_top_in(&self, folders: &BTreeSet<PathBuf>) -> Vec<String> {
        folders
            .iter()
            .filter_map(|folder| self.by_root.get(folder))
            .cloned()
            .collect()
    }

    /// The worktrees that an event at this path concerns.
    pub fn concern(&self, path: &Path) -> AffectedWorktrees {
        let mut concern = AffectedWorktrees::default();
        // The nearest git directory around the path; `worktrees/<name>` lies inside the shared one.
        let around = path.ancestors().find(|folder| {
            self.by_git_dir.contains_key(*folder) || self.by_common_dir.contains_key(*folder)
        });
        let Some(git_dir) = around else {
            if self.by_root.contains_key(path) {
                concern.search = true;
                return concern;
            }
            match path.ancestors().find_map(|folder| self.by_root.get(folder)) {
                Some(id)
                    if !path
                        .components()
                        .any(|part| part.as_os_str() == OsStr::new(".git")) =>
                {
                    concern.work.insert(id.clone())
                }
                Some(_) | None => false,
            };
            return concern;
        };
        let own = self.by_git_dir.get(git_dir);
        let inside = path
            .strip_prefix(git_dir)
            .unwrap_or(path)
            .as_os_str()
            .as_bytes();
        // Its own folder moved or went away, as did the file that says where its work tree is, or a worktree came or went.
        concern.search = inside.is_empty()
            || inside.starts_with(b"gitdir")
            || inside == b"commondir"
            || inside.starts_with(b"worktrees");
        let of_all = self.by_common_dir.get(git_dir);
        if let (Some(name), Some(all)) = (inside.strip_prefix(b"refs/heads/"), of_all) {
            let branch = [b"refs/heads/", name.strip_suffix(b".lock").unwrap_or(name)].concat();
            let on_it = |id: &&String| {
                self.watched
                    .get(*id)
                    .is_some_and(|watched| is_or_below(watched.branch(), &branch))
            };
            concern.heads.extend(all.iter().filter(on_it).cloned());
        } else if let (true, Some(all)) = (
            inside == b"packed-refs" || inside.starts_with(b"reftable"),
            of_all,
        ) {
            // Except its lock: each commit takes that for a moment and changes nothing, and every worktree would be scanned.
            concern.heads.extend(all.iter().cloned());
        }
        // A commit creates and removes locks; files that do not define HEAD are no sign of one.
        if let Some(own) = own.filter(|_| {
            inside.starts_with(b"HEAD")
                || inside.starts_with(b"index")
                || inside.starts_with(b"reftable")
        }) {
            concern.heads.insert(own.clone());
        }
        concern
    }
}

impl WatchedWorktree {
    fn branch(&self) -> &[u8] {
        self.head_fingerprint
            .as_ref()
            .map_or(&[], |head_fingerprint| &head_fingerprint.branch)
    }
}

/// Whether a branch is the changed one, or lies in a folder of branches that came or went as a whole.
fn is_or_below(branch: &[u8], moved: &[u8]) -> bool {
    branch
        .strip_prefix(moved)
        .is_some_and(|below_moved| below_moved.is_empty() || below_moved.starts_with(b"/"))
}

#[cfg(test)]
mod tests {
    use super::super::watch_set::*;

    fn worktree(root: &str, git_dir: &str, common_dir: &str) -> FoundWorktree {
        FoundWorktree {
            root: root.into(),
            git_dir: git_dir.into(),
            common_dir: common_dir.into(),
            standing: WorktreeState::There,
        }
    }

    /// A main worktree on `main`, and linked ones on `task/a` and `task/b`.
    fn watch_set() -> (WatchSet, [String; 3]) {
        let worktrees = [
            worktree("/r", "/r/.git", "/r/.git"),
            worktree("/a", "/r/.git/worktrees/a", "/r/.git"),
            worktree("/b", "/r/.git/worktrees/b", "/r/.git"),
        ];
        let mut watch_set = WatchSet::default();
        assert_eq!(watch_set.replace(&worktrees, &|_| false).len(), 3);
        let ids = worktrees.map(|worktree| worktree.worktree_id());
        for (id, branch) in
            ids.iter()
                .zip(["refs/heads/main", "refs/heads/task/a", "refs/heads/task/b"])
        {
            let mut head_fingerprint = HeadFingerprint::default();
            head_fingerprint.branch = branch.into();
            watch_set.get_mut(id).unwrap().head_fingerprint = Some(head_fingerprint);
        }
        (watch_set, ids)
    }

    #[test]
    fn movement_concerns_worktrees_whose_head_may_move() {
        let (watch_set, [main, a, b]) = watch_set();
        for (path, heads, search) in [
            ("/r/.git/HEAD.lock", vec![&main], false),
            ("/r/.git/index", vec![&main], false),
            ("/r/.git/config", vec![], false),
            ("/r/.git/worktrees/a/HEAD.lock", vec![&a], false),
            ("/r/.git/worktrees/a/index.lock", vec![&a], false),
            ("/r/.git/worktrees/a/gitdir", vec![], true),
            ("/r/.git/worktrees/a", vec![], true),
            ("/r/.git/worktrees/new", vec![], true),
            ("/r/.git/worktrees", vec![], true),
            ("/r/.git", vec![], true),
            ("/r/.git/refs/heads/task/b.lock", vec![&b], false),
            ("/r/.git/refs/heads/task/b", vec![&b], false),
            ("/r/.git/refs/heads/task", vec![&a, &b], false),
            ("/r/.git/refs/heads/tas", vec![], false),
            ("/r/.git/packed-refs", vec![&main, &a, &b], false),
            ("/r/.git/packed-refs.lock", vec![], false),
            ("/r/.git/reftable/tables.list", vec![&main, &a, &b], false),
            ("/elsewhere/file", vec![], false),
            ("/a", vec![], true),
            ("/beside", vec![], false),
        ] {
            let concern = watch_set.concern(Path::new(path));
            assert_eq!(
                (
                    concern.heads.iter().collect::<BTreeSet<_>>(),
                    concern.search
                ),
                (heads.into_iter().collect(), search),
                "{path}"
            );
            assert!(concern.work.is_empty(), "{path}");
        }
    }

    #[test]
    fn changed_file_concerns_the_innermost_worktree() {
        let (mut watch_set, [main, ..]) = watch_set();
        let inner = worktree("/r/inner", "/r/inner/.git", "/r/inner/.git");
        let mut worktrees = vec![worktree("/r", "/r/.git", "/r/.git"), inner.clone()];
        assert_eq!(
            watch_set.replace(&worktrees, &|_| false),
            [inner.worktree_id()],
            "what stays is not new"
        );
        for (path, id) in [("/r/src/x", &main), ("/r/inner/x", &inner.worktree_id())] {
            assert_eq!(
                watch_set
                    .concern(Path::new(path))
                    .work
                    .iter()
                    .collect::<Vec<_>>(),
                [id],
                "{path}"
            );
        }
        assert!(
            watch_set
                .concern(Path::new("/r/sub/.git/x"))
                .work
                .is_empty()
        );
        worktrees.pop();
        watch_set.replace(&worktrees, &|_| false);
        assert_eq!(watch_set.size(), (1, 1));
        assert!(
            watch_set.get(&main).unwrap().head_fingerprint.is_some(),
            "what is known of it is kept"
        );
    }

    #[test]
    fn broken_worktrees_stay_and_gone_or_replaced_leave() {
        let (mut watch_set, [main, a, b]) = watch_set();
        let gone = FoundWorktree {
            standing: WorktreeState::Gone { why: String::new() },
            ..worktree("/a", "/r/.git/worktrees/a", "/r/.git")
        };
        let broken = FoundWorktree {
            standing: WorktreeState::Broken { why: String::new() },
            ..worktree("/b", "/r/.git/worktrees/b", "/r/.git")
        };
        assert_eq!(
            watch_set.replace(&[gone, broken], &|_| true),
            [b.clone(), main.clone()]
        );
        assert_eq!(
            watch_set.names().iter().collect::<BTreeSet<_>>(),
            BTreeSet::from([&main, &b]),
            "the one that nobody found is left"
        );
        assert!(watch_set.get(&a).is_none());
        let replacement = worktree("/r", "/elsewhere", "/elsewhere");
        assert_eq!(
            watch_set.replace(std::slice::from_ref(&replacement), &|root| root
                == Path::new("/r")),
            [replacement.worktree_id()]
        );
        assert_eq!(
            watch_set.names(),
            [replacement.worktree_id()],
            "another one is in its place, and of the third nothing is left"
        );
    }
}
