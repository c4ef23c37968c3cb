//! Searches folders for worktrees: each repository once, with all of its worktrees, wherever those are. It follows no links and enters no
//! other file systems, so that the walk ends, and skips caches.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::discover::{self, linked_git_dir, refuse_home_folder};
use super::error::Error;
use super::worktrees::{FoundWorktree, WorktreeState, git_dirs, git_dirs_by_name, worktrees_of};

/// Folders of fetched or generated files, and never a worktree.
const PASSED_BY: &[&str] = &[
    ".git",
    "node_modules",
    "__pycache__",
    ".venv",
    ".tox",
    ".cache",
    ".cargo",
    ".rustup",
    ".npm",
    ".gradle",
    ".m2",
];

/// Everything in the folder that holds it can be created again (<https://bford.info/cachedir/>).
const CACHE_TAG: &str = "CACHEDIR.TAG";

/// How deep below a named folder is looked.
const DEEPEST: usize = 24;

/// How many folders are looked through at most.
const MOST_FOLDERS: usize = 300_000;

/// The result of a search.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SearchResult {
    /// Every worktree once, by its top folder.
    pub worktrees: Vec<FoundWorktree>,
    /// The paths that could not be searched, for a person.
    pub notes: Vec<String>,
}

/// Finds the worktrees of the named repositories, and of those in the named folders.
///
/// A folder without a repository counts as a part of the worktree around it. A named path that is no folder, or in no repository,
/// comes back as [`WorktreeState::Nothing`]. The search calls `is_over` between folders, and ends once it returns `true`.
pub fn find_worktrees(paths: &[PathBuf], is_over: &dyn Fn() -> bool) -> SearchResult {
    let mut walk = WorktreeSearch {
        found: Vec::new(),
        places: HashMap::new(),
        repositories: HashSet::new(),
        folders: 0,
        notes: Vec::new(),
        is_over,
    };
    for path in paths {
        walk.take(path);
    }
    let WorktreeSearch {
        mut found,
        mut notes,
        ..
    } = walk;
    // A broken `.git` does not name its repository; the repository's own list is then the source.
    let has_no_git_dir = |worktree: &FoundWorktree| {
        worktree.git_dir == worktree.root.join(".git") || !worktree.git_dir.exists()
    };
    let nameless = |worktree: &FoundWorktree| {
        matches!(worktree.standing, WorktreeState::Broken { .. }) && has_no_git_dir(worktree)
    };
    let named: HashSet<PathBuf> = found
        .iter()
        .filter(|worktree| worktree.git_dir != worktree.root.join(".git") && !nameless(worktree))
        .map(|worktree| worktree.root.clone())
        .collect();
    found.retain(|worktree| {
        let refuse = |path: &PathBuf| refuse_home_folder(&worktree.root, Some(path)).err();
        let is_one = !matches!(worktree.standing, WorktreeState::Nothing { .. });
        let refusal = paths
            .iter()
            .map(refuse)
            .min_by_key(Option::is_some)
            .flatten();
        let refusal = refusal.filter(|_| is_one);
        notes.extend(
            refusal
                .iter()
                .map(|error| format!("{error}; {}", error.hint())),
        );
        refusal.is_none()
    });
    found.retain(|worktree| !(nameless(worktree) && named.contains(&worktree.root)));
    found.sort_by(|a, b| a.root.cmp(&b.root).then_with(|| a.git_dir.cmp(&b.git_dir)));
    SearchResult {
        worktrees: found,
        notes,
    }
}

struct WorktreeSearch<'a> {
    found: Vec<FoundWorktree>,
    /// Index into `found` by git directory, which avoids duplicates.
    places: HashMap<PathBuf, usize>,
    /// Shared git directories whose worktrees were listed.
    repositories: HashSet<PathBuf>,
    folders: usize,
    notes: Vec<String>,
    is_over: &'a dyn Fn() -> bool,
}

impl WorktreeSearch<'_> {
    fn take(&mut self, path: &Path) {
        let top = match fs::canonicalize(path) {
            Ok(top) if top.is_dir() => top,
            Ok(_) => {
                return self.keep(by_name(
                    path,
                    WorktreeState::Nothing {
                        why: format!("{} is not a folder", path.display()),
                    },
                ));
            }
            Err(error) => {
                return self.keep(by_name(
                    path,
                    WorktreeState::Nothing {
                        why: format!("{}: {error}", path.display()),
                    },
                ));
            }
        };
        if !self.below(&top) {
            match discover::dot_git(&top) {
                Ok(dot_git) => self.entry(dot_git.parent().unwrap_or(&top), &dot_git),
                Err(error @ (Error::Read { .. } | Error::Setting { .. })) => self.keep(by_name(
                    &top,
                    WorktreeState::Broken {
                        why: error.to_string(),
                    },
                )),
                Err(error) => self.keep(by_name(
                    &top,
                    WorktreeState::Nothing {
                        why: error.to_string(),
                    },
                )),
            }
        }
    }

    /// Searches a folder; returns whether it contains any repository, known or not.
    fn below(&mut self, top: &Path) -> bool {
        let Ok(device) = fs::metadata(top).map(|metadata| metadata.dev()) else {
            return false;
        };
        let mut any = false;
        let mut open = vec![(top.to_owned(), 0)];
        while let Some((folder, depth)) = open.pop() {
            if (self.is_over)() {
                return true;
            }
            self.folders += 1;
            if self.folders > MOST_FOLDERS {
                self.notes.push(format!(
                    "more than {MOST_FOLDERS} folders: stopped at {}; name the folders that matter",
                    folder.display()
                ));
                return true;
            }
            let (inner, dot_git) = match list_folder(&folder) {
                Ok(FolderListing::Folders { inner, dot_git }) => (inner, dot_git),
                Ok(FolderListing::GitDir) => {
                    any = true;
                    self.repository(&folder);
                    continue;
                }
                Ok(FolderListing::Cache) if depth > 0 => continue,
                Ok(FolderListing::Cache) => (Vec::new(), false),
                Err(error) => {
                    self.notes.push(format!(
                        "{} could not be looked through: {error}",
                        folder.display()
                    ));
                    continue;
                }
            };
            if dot_git {
                any |= self.dot_git(&folder);
            }
            if depth == DEEPEST && !inner.is_empty() {
                self.notes.push(format!(
                    "{} is too deep below {} to be looked through",
                    folder.display(),
                    top.display()
                ));
                continue;
            }
            for name in inner {
                let path = folder.join(name);
                match fs::symlink_metadata(&path) {
                    Ok(metadata) if metadata.dev() == device => open.push((path, depth + 1)),
                    // On another file system.
                    Ok(_) => {}
                    Err(error) if error.kind() == ErrorKind::NotFound => {}
                    Err(error) => self.notes.push(format!(
                        "{} could not be looked through: {error}",
                        path.display()
                    )),
                }
            }
        }
        any
    }

    /// A folder with a `.git` in it; false where git would not take it for one.
    fn dot_git(&mut self, folder: &Path) -> bool {
        let dot_git = folder.join(".git");
        if self.is_known(folder, &dot_git) {
            return true;
        }
        match discover::inspect_dot_git(&dot_git) {
            Ok(true) => self.entry(folder, &dot_git),
            Ok(false) => return false,
            Err(error) => self.keep(by_name(
                folder,
                WorktreeState::Broken {
                    why: error.to_string(),
                },
            )),
        }
        true
    }

    /// Whether this is a linked worktree that its repository listed, and that was added then.
    fn is_known(&self, folder: &Path, dot_git: &Path) -> bool {
        let git_dir = linked_git_dir(dot_git);
        let by_git_dir = git_dir
            .and_then(|git_dir| self.places.get(&git_dir))
            .map(|at| &self.found[*at]);
        by_git_dir
            .is_some_and(|listed| listed.standing == WorktreeState::There && listed.root == folder)
    }

    /// A usable `.git` entry: adds its whole repository, and this worktree even if the repository lists another path for it.
    fn entry(&mut self, folder: &Path, dot_git: &Path) {
        let (git_dir, common_dir) = match git_dirs(dot_git) {
            Ok(dirs) => dirs,
            Err(why) => return self.keep(by_name(folder, WorktreeState::Broken { why })),
        };
        self.repository(&common_dir);
        self.keep(FoundWorktree {
            root: folder.to_owned(),
            git_dir,
            common_dir,
            standing: WorktreeState::There,
        });
    }

    fn repository(&mut self, common_dir: &Path) {
        let common_dir = fs::canonicalize(common_dir).unwrap_or_else(|_| common_dir.to_owned());
        if !self.repositories.insert(common_dir.clone()) {
            return;
        }
        for worktree in worktrees_of(&common_dir) {
            self.keep(worktree);
        }
    }

    /// Adds a worktree. If it was moved by hand, its repository still lists the old path:
    /// then the `.git` at the new path decides.
    fn keep(&mut self, worktree: FoundWorktree) {
        match self.places.get(&worktree.git_dir) {
            None => {
                self.places
                    .insert(worktree.git_dir.clone(), self.found.len());
                self.found.push(worktree);
            }
            Some(&at) => {
                let listed = &mut self.found[at];
                if listed.standing != WorktreeState::There
                    && worktree.standing == WorktreeState::There
                {
                    *listed = worktree;
                }
            }
        }
    }
}

fn by_name(folder: &Path, standing: WorktreeState) -> FoundWorktree {
    let (git_dir, common_dir) = git_dirs_by_name(&folder.join(".git"));
    FoundWorktree {
        root: folder.to_owned(),
        git_dir,
        common_dir,
        standing,
    }
}

enum FolderListing {
    Folders {
        inner: Vec<std::ffi::OsString>,
        dot_git: bool,
    },
    /// A bare repository, or a git directory under another name.
    GitDir,
    /// Marked as a cache, or not there.
    Cache,
}

fn list_folder(folder: &Path) -> std::io::Result<FolderListing> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(FolderListing::Cache);
        }
        Err(error) => return Err(error),
    };
    let (mut inner, mut dot_git, mut parts, mut cache) = (Vec::new(), false, 0, false);
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        match name.to_str() {
            Some(".git") => dot_git = true,
            Some("HEAD" | "objects" | "refs") => parts += 1,
            Some(CACHE_TAG) => cache = true,
            _ => {}
        }
        let passed_by = name.to_str().is_some_and(|name| PASSED_BY.contains(&name));
        if !passed_by && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            inner.push(name);
        }
    }
    if parts == 3 && discover::looks_like_git_dir(folder) {
        return Ok(FolderListing::GitDir);
    }
    if cache && !dot_git {
        Ok(FolderListing::Cache)
    } else {
        Ok(FolderListing::Folders { inner, dot_git })
    }
}
