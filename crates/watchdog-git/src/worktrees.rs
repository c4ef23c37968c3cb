//! Lists the worktrees of a repository: the main one, and those in its `worktrees` folder. Listing
//! opens no worktree, so that a broken one is an entry like the others.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind};
use std::num::NonZero;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::discover::{self, linked_git_dir, pointed_to};
use super::error::Error;
use super::harden;
use super::worktree_id::worktree_id;
use watchdog_facts::shell_line::shell_path;
use watchdog_system::{is_missing, read_git_settings, read_regular_file};

/// More linked worktrees than this of one repository are not listed.
const MOST: usize = 100_000;

/// From this number on, several threads read them: the first scan cannot begin before the whole list is known.
const THREADS_FROM: usize = 100;

/// So many threads at most.
const MAX_THREADS: usize = 4;

/// A worktree, as its repository lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundWorktree {
    /// Its top folder; symlinks are resolved where it is there.
    pub root: PathBuf,
    /// Its git directory, which holds HEAD and index.
    pub git_dir: PathBuf,
    /// The git directory that all worktrees of the repository share; the same as `git_dir` for a main one.
    pub common_dir: PathBuf,
    /// Whether it can be read.
    pub standing: WorktreeState,
}

/// Whether a listed worktree can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorktreeState {
    /// Its folder and its git directory are there.
    There,
    /// Its folder is gone, and `git worktree prune` would forget it.
    Gone {
        /// For a person.
        why: String,
    },
    /// Something is there that git does not take for a worktree.
    Broken {
        /// For a person.
        why: String,
    },
    /// All linked worktrees of a repository, whose list cannot be read; `root` is the folder of that list.
    Unlisted {
        /// For a person.
        why: String,
    },
    /// A path that was named, and is not in any repository.
    Nothing {
        /// For a person.
        why: String,
    },
}

/// A worktree that its repository lists; a linked one is not read yet.
#[derive(Debug, Clone)]
pub struct ListedWorktree {
    /// Its git directory, as in [`FoundWorktree`].
    pub git_dir: PathBuf,
    /// The git directory of the repository, as in [`FoundWorktree`].
    pub common_dir: PathBuf,
    /// Read already: the main one, and the entry that stands for a list that cannot be read.
    state: Option<FoundWorktree>,
}

impl ListedWorktree {
    /// The same as [`FoundWorktree::worktree_id`].
    pub fn worktree_id(&self) -> String {
        worktree_id(&self.git_dir, &self.common_dir)
    }

    /// Reads where it is and whether it can be used: some twenty calls of the system.
    pub fn read_state(&self) -> FoundWorktree {
        let read = || read_linked(&self.common_dir, self.git_dir.clone());
        self.state.clone().unwrap_or_else(read)
    }
}

impl FoundWorktree {
    /// The name that it has in watchdog's records, as [`super::Worktree::worktree_id`].
    pub fn worktree_id(&self) -> String {
        worktree_id(&self.git_dir, &self.common_dir)
    }
}

/// The largest file of a few words that is read, in bytes.
const MOST_BYTES: u64 = 1 << 20;

/// The git directories that a usable `.git` entry leads to: its own and the shared one, symlinks resolved.
pub(super) fn git_dirs(dot_git: &Path) -> Result<(PathBuf, PathBuf), String> {
    let target = match read_file(dot_git) {
        Ok(text) => pointed_to(&text, dot_git).ok_or("it does not begin with 'gitdir: '")?,
        Err(error) if error.kind() == ErrorKind::IsADirectory => dot_git.to_owned(),
        Err(error) => return Err(error.to_string()),
    };
    let git_dir =
        fs::canonicalize(&target).map_err(|error| format!("{}: {error}", target.display()))?;
    let common_dir = common_dir(&git_dir)?;
    Ok((git_dir, common_dir))
}

/// The same for a broken `.git` file, as far as its text names them. Only to find its records.
pub(super) fn git_dirs_by_name(dot_git: &Path) -> (PathBuf, PathBuf) {
    let named = read_file(dot_git)
        .ok()
        .and_then(|text| pointed_to(&text, dot_git));
    let git_dir = named.unwrap_or_else(|| dot_git.to_owned());
    let git_dir = fs::canonicalize(&git_dir).unwrap_or(git_dir);
    let above = git_dir
        .parent()
        .filter(|parent| parent.file_name() == Some(OsStr::new("worktrees")))
        .and_then(Path::parent);
    let common_dir = above.map_or_else(
        || git_dir.clone(),
        |common| fs::canonicalize(common).unwrap_or_else(|_| common.to_owned()),
    );
    (git_dir, common_dir)
}

/// Reads a regular file; a folder in its place has an error of its own.
fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    if fs::metadata(path)?.is_dir() {
        Err(ErrorKind::IsADirectory.into())
    } else {
        read_regular_file(path, MOST_BYTES)
    }
}

/// Why git cannot use the `.git` of a folder that was a worktree; `None` where it can, as far as that shows without opening it.
pub fn why_broken(root: &Path) -> Option<String> {
    let dot_git = root.join(".git");
    match discover::inspect_dot_git(&dot_git) {
        Ok(true) => None,
        Ok(false) => Some(format!("{} is no git directory", dot_git.display())),
        Err(error) => Some(error.to_string()),
    }
}

/// The git directory of the worktree at `root` and the one that its repository shares, as far as
/// names tell; usable or not. Returns `None` if its `.git` names none.
pub fn named_git_dirs(root: &Path) -> Option<(PathBuf, PathBuf)> {
    let dot_git = root.join(".git");
    let metadata = fs::symlink_metadata(&dot_git).ok()?;
    if metadata.is_file() && linked_git_dir(&dot_git).is_none() {
        return None;
    }
    Some(git_dirs_by_name(&dot_git))
}

/// Whether a folder is the top of a worktree of the repository with this shared git directory, and the repository knows it as one.
pub(super) fn is_registered(folder: &Path, common_dir: &Path) -> bool {
    let dot_git = folder.join(".git");
    // Opening a pipe would wait for a writer.
    if !fs::symlink_metadata(&dot_git).is_ok_and(|metadata| metadata.is_file() || metadata.is_dir())
    {
        return false;
    }
    let Ok((git_dir, shared)) = git_dirs(&dot_git) else {
        return false;
    };
    if shared != common_dir {
        return false;
    }
    let back = git_dir.join("gitdir");
    let points_back = || {
        let text = fs::symlink_metadata(&back)
            .ok()?
            .is_file()
            .then(|| read_regular_file(&back, MOST_BYTES).ok())??;
        let named =
            fs::canonicalize(git_dir.join(OsStr::from_bytes(text.trim_ascii_end()))).ok()?;
        Some(named == fs::canonicalize(&dot_git).ok()?)
    };
    git_dir == shared || points_back() == Some(true)
}

fn common_dir(git_dir: &Path) -> Result<PathBuf, String> {
    let common = match read_file(&git_dir.join("commondir")) {
        Ok(text) => git_dir.join(OsStr::from_bytes(text.trim_ascii_end())),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(git_dir.to_owned()),
        Err(error) => return Err(format!("{}: {error}", git_dir.join("commondir").display())),
    };
    fs::canonicalize(&common).map_err(|error| format!("{}: {error}", common.display()))
}

/// Every worktree of the repository with this shared git directory (absolute, symlinks resolved): the main one first,
/// unless it is bare, then the linked ones by name.
pub(super) fn list_worktrees(common_dir: &Path) -> Vec<ListedWorktree> {
    let listed = |git_dir: PathBuf, state| ListedWorktree {
        git_dir,
        common_dir: common_dir.to_owned(),
        state,
    };
    let main = main(common_dir).map(|main| listed(main.git_dir.clone(), Some(main)));
    let mut worktrees: Vec<ListedWorktree> = main.into_iter().collect();
    let admin = common_dir.join("worktrees");
    let mut names: Vec<_> = match fs::read_dir(&admin)
        .and_then(|entries| entries.take(MOST).collect::<Result<Vec<_>, _>>())
    {
        Ok(entries) => entries
            .iter()
            .filter(|entry| is_folder(entry))
            .map(fs::DirEntry::file_name)
            .collect(),
        Err(error) if is_missing(&error) => Vec::new(),
        // Worktrees that cannot be listed are there all the same: a list without them would be taken for the whole.
        Err(error) => {
            let why = format!("its linked worktrees cannot be listed: {error}");
            let unlisted = FoundWorktree {
                root: admin.clone(),
                git_dir: admin.clone(),
                common_dir: common_dir.to_owned(),
                standing: WorktreeState::Unlisted { why },
            };
            worktrees.push(listed(admin, Some(unlisted)));
            return worktrees;
        }
    };
    names.sort();
    worktrees.extend(names.iter().map(|name| listed(admin.join(name), None)));
    worktrees
}

/// The same, each one read.
pub fn worktrees_of(common_dir: &Path) -> Vec<FoundWorktree> {
    let listed = list_worktrees(common_dir);
    let read = |part: &[ListedWorktree]| {
        part.iter()
            .map(ListedWorktree::read_state)
            .collect::<Vec<_>>()
    };
    if listed.len() < THREADS_FROM {
        return read(&listed);
    }
    let threads = std::thread::available_parallelism()
        .map_or(1, NonZero::get)
        .min(MAX_THREADS);
    let parts = std::thread::scope(|scope| {
        let begin = |part| {
            std::thread::Builder::new()
                .spawn_scoped(scope, move || read(part))
                .ok()
        };
        let parts = listed
            .chunks(listed.len().div_ceil(threads))
            .map(|part| (part, begin(part)));
        // Collected first, so that all of them run.
        let parts: Vec<_> = parts.collect();
        let join = |(part, thread): (_, Option<std::thread::ScopedJoinHandle<'_, _>>)| match thread
        {
            Some(thread) => thread.join().expect("a panic is a bug, passed on"),
            // No further thread may be had.
            None => read(part),
        };
        parts.into_iter().map(join).collect::<Vec<_>>()
    });
    parts.into_iter().flatten().collect()
}

fn is_folder(entry: &fs::DirEntry) -> bool {
    entry
        .file_type()
        .is_ok_and(|kind| kind.is_dir() || kind.is_symlink() && entry.path().is_dir())
}

fn main(common_dir: &Path) -> Option<FoundWorktree> {
    let at = |root: PathBuf, standing| {
        Some(FoundWorktree {
            root,
            git_dir: common_dir.to_owned(),
            common_dir: common_dir.to_owned(),
            standing,
        })
    };
    // If even its configuration is unreadable, the usual place is the best guess.
    let guess = common_dir
        .parent()
        .filter(|_| common_dir.file_name() == Some(OsStr::new(".git")))
        .unwrap_or(common_dir);
    if let Some(why) = discover::missing_part(common_dir) {
        return at(guess.to_owned(), WorktreeState::Broken { why });
    }
    if guess != common_dir && is_main_git_dir(common_dir) {
        return at(guess.to_owned(), WorktreeState::There);
    }
    let settings = read_git_settings(common_dir, |name| std::env::var_os(name)).unwrap_or_default();
    match gix::open_opts(common_dir, harden::build_open_options(&settings)) {
        Ok(repo) => {
            // A setting may name no work tree, or a wrong one, beside an index: to open it names the setting.
            let is_right = |root: &Path| root.join(".git").exists();
            if guess != common_dir
                && common_dir.join("index").exists()
                && !repo.workdir().is_some_and(is_right)
            {
                return at(guess.to_owned(), WorktreeState::There);
            }
            let root = repo.workdir()?;
            match fs::canonicalize(root) {
                Ok(root) => at(root, WorktreeState::There),
                Err(error) => at(
                    root.to_owned(),
                    WorktreeState::Gone {
                        why: error.to_string(),
                    },
                ),
            }
        }
        Err(error) => at(
            guess.to_owned(),
            WorktreeState::Broken {
                why: Error::read_error("open it", error).to_string(),
            },
        ),
    }
}

/// Whether a repository's own configuration plainly says nothing about where its work tree is, so
/// that it lies around `.git`. If it might, which is seldom, the repository must be opened to know.
fn is_main_git_dir(common_dir: &Path) -> bool {
    let Ok(text) = read_regular_file(&common_dir.join("config"), 16 << 20) else {
        return false;
    };
    text.to_ascii_lowercase()
        .split(|byte| *byte == b'\n')
        .all(|line| {
            let has = |word: &[u8]| line.windows(word.len()).any(|part| part == word);
            let words: Vec<u8> = line
                .iter()
                .copied()
                .filter(|byte| !byte.is_ascii_whitespace())
                .collect();
            words == b"bare=false" || !(has(b"bare") || has(b"worktree") || has(b"include"))
        })
}

pub(super) fn read_linked(common_dir: &Path, git_dir: PathBuf) -> FoundWorktree {
    let back = git_dir.join("gitdir");
    let (root, standing) = match read_file(&back) {
        Ok(text) => {
            let dot_git = git_dir.join(OsStr::from_bytes(text.trim_ascii_end()));
            let root = dot_git.parent().unwrap_or(&dot_git).to_owned();
            let root = fs::canonicalize(&root).unwrap_or(root);
            let standing = read_worktree_state(&dot_git, &git_dir);
            (root, standing)
        }
        Err(error) => (
            git_dir.clone(),
            WorktreeState::Broken {
                why: format!("{}: {error}", back.display()),
            },
        ),
    };
    FoundWorktree {
        root,
        git_dir,
        common_dir: common_dir.to_owned(),
        standing,
    }
}

/// Whether the `.git` of a linked worktree is there and leads back to its git directory.
fn read_worktree_state(dot_git: &Path, git_dir: &Path) -> WorktreeState {
    let text = match read_file(dot_git) {
        Ok(text) => text,
        Err(error) if is_missing(&error) => {
            // A folder with something in it is no worktree that was removed, and one that cannot be read may have something in it.
            let root = dot_git.parent().unwrap_or(dot_git);
            match fs::read_dir(root).map(|mut entries| entries.next().is_some()) {
                Ok(true) => {
                    return WorktreeState::Broken {
                        why: format!("{} is missing", dot_git.display()),
                    };
                }
                Err(error) if !is_missing(&error) => {
                    return WorktreeState::Broken {
                        why: format!("{}: {error}", root.display()),
                    };
                }
                _ => {}
            }
            let is_locked = git_dir.join("locked").exists();
            let why = if is_locked {
                "its folder is not there; it is locked, so git keeps it"
            } else {
                "its folder is not there"
            };
            return WorktreeState::Gone {
                why: why.to_string(),
            };
        }
        // A folder of that name is a repository of its own in its place.
        Err(error) if error.kind() == ErrorKind::IsADirectory => {
            return WorktreeState::Gone {
                why: "another repository is in its place".to_string(),
            };
        }
        Err(error) => {
            return WorktreeState::Broken {
                why: format!("{}: {error}", dot_git.display()),
            };
        }
    };
    let Some(target) = pointed_to(&text, dot_git) else {
        return WorktreeState::Broken {
            why: format!("{} does not begin with 'gitdir: '", dot_git.display()),
        };
    };
    // Nearly always the very same path is written there.
    let leads_to = if target == git_dir {
        Ok(git_dir.to_owned())
    } else {
        fs::canonicalize(&target)
    };
    match leads_to {
        Ok(target) if target == git_dir => match discover::missing_part(git_dir) {
            None => WorktreeState::There,
            Some(why) => WorktreeState::Broken { why },
        },
        Ok(_) => WorktreeState::Gone {
            why: "another worktree is in its place".to_string(),
        },
        // No other took its place: its folder is there, and git cannot use it any more.
        Err(error) => WorktreeState::Broken {
            why: format!(
                "{} points to {}: {error}; type: git -C {} worktree repair",
                dot_git.display(),
                target.display(),
                shell_path(git_dir.ancestors().nth(2).unwrap_or(git_dir))
            ),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unambiguous_configuration_avoids_opening_the_repository() {
        let folder = tempfile::tempdir().unwrap();
        let asked = |text: &str| {
            fs::write(folder.path().join("config"), text).unwrap();
            is_main_git_dir(folder.path())
        };
        for text in [
            "",
            "[core]\n\tbare = false\n",
            "[core]\n\tBare=false\r\n[user]\n\tname = a\n",
        ] {
            assert!(asked(text), "{text:?}");
        }
        for text in [
            "[core]\n\tbare = true\n",
            "[core]\n\tbare\n",
            "[core] bare = false\n",
            "[core]\n\tbare = false\n\tworktree = ../elsewhere\n",
            "[core]\n\tworkTree = ../elsewhere\n",
            "[extensions]\n\tworktreeConfig = true\n",
            "[include]\n\tpath = more\n",
            "[IncludeIf \"gitdir:x\"]\n\tpath = more\n",
        ] {
            assert!(!asked(text), "{text:?}");
        }
        fs::remove_file(folder.path().join("config")).unwrap();
        assert!(!is_main_git_dir(folder.path()));
    }
}
