//! Finds the `.git` of the worktree that a path lies in, the way `git -C` walks upwards, but
//! stops at a broken one instead of silently judging a repository further up.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::error::Error;
use super::special::special_file;
use watchdog_facts::shell_line::shell_path;
use watchdog_system::{is_missing, read_regular_file};

/// The largest file of a few words that is read, in bytes.
const MOST_BYTES: u64 = 1 << 20;

/// The `.git` entry (a directory, or the file of a linked worktree or submodule) for `path`.
pub(super) fn dot_git(path: &Path) -> Result<PathBuf, Error> {
    let not_found = || Error::NotARepository {
        path: path.to_owned(),
    };
    let start = fs::canonicalize(path).map_err(|_| not_found())?;
    let metadata = fs::metadata(&start).map_err(|_| not_found())?;
    if !metadata.is_dir() {
        return Err(not_found());
    }
    for folder in start.ancestors() {
        // As git does: a search never crosses into another file system on its way up.
        if fs::metadata(folder).map(|m| m.dev()).ok() != Some(metadata.dev()) {
            break;
        }
        let candidate = folder.join(".git");
        match fs::symlink_metadata(&candidate) {
            Ok(_) => {
                if inspect_dot_git(&candidate)? {
                    return Ok(candidate);
                }
            }
            Err(e) if is_missing(&e) => {}
            Err(e) => return Err(new_broken_error(&candidate, e)),
        }
        if looks_like_git_dir(folder) {
            return Err(Error::Bare {
                path: folder.to_owned(),
            });
        }
    }
    Err(not_found())
}

/// Refuses a work tree that is the home folder or the root of the file system, such as that of dotfiles around a project without a
/// repository, unless `named` is that very folder.
///
/// # Errors
/// [`Error::HomeFolder`].
pub fn refuse_home_folder(root: &Path, named: Option<&Path>) -> Result<(), Error> {
    let is_root = |path: &Path| {
        let real = fs::canonicalize(path);
        real.is_ok_and(|real| fs::canonicalize(root).is_ok_and(|root| root == real))
    };
    // The system knows it where a timer has no HOME.
    let home = std::env::home_dir().filter(|home| !home.as_os_str().is_empty());
    let is_whole = is_root(Path::new("/")) || home.is_some_and(|home| is_root(&home));
    if is_whole && !named.is_some_and(is_root) {
        return Err(Error::HomeFolder {
            path: root.to_owned(),
        });
    }
    Ok(())
}

/// Whether a `.git` entry is usable; `false` where git would ignore it, an error where it is broken.
pub(super) fn inspect_dot_git(dot_git: &Path) -> Result<bool, Error> {
    let metadata = fs::metadata(dot_git).map_err(|e| new_broken_error(dot_git, e))?;
    if metadata.is_file() {
        let text =
            read_regular_file(dot_git, MOST_BYTES).map_err(|e| new_broken_error(dot_git, e))?;
        let target = pointed_to(&text, dot_git)
            .ok_or_else(|| new_broken_error(dot_git, "it does not begin with 'gitdir: '"))?;
        let Some(missing) = missing_part(&target) else {
            return Ok(true);
        };
        let (file, folder) = (dot_git.display(), dot_git.parent().unwrap_or(dot_git));
        let named = target.display();
        let why = format!("{file} points to {named}, which is not a git directory: {missing}");
        // The repository moved, and git mends its worktrees from its new place; a submodule's path a person mends.
        let mend = match target.parent().and_then(Path::file_name) {
            Some(name) if name == "worktrees" => {
                format!("git -C NEW-PLACE worktree repair {}", shell_path(folder))
            }
            _ => format!("${{EDITOR:-vi}} {}", shell_path(dot_git)),
        };
        return Err(Error::Setting { why, mend });
    }
    if !metadata.is_dir() {
        return Ok(false);
    }
    let Some(why) = missing_part(dot_git) else {
        return Ok(true);
    };
    let head = dot_git.join("HEAD");
    if valid_head(&head).is_none() && dot_git.join("objects").is_dir() {
        let file = shell_path(&head);
        let mend = format!("rm -f {file} && echo 'ref: refs/heads/BRANCH' > {file}");
        return Err(Error::Setting { why, mend });
    }
    // Sandboxes leave an empty `.git` folder behind; git walks past it, and so do we. Anything else
    // was a repository once, and its work must not be judged by the rules of one further up.
    match fs::read_dir(dot_git)
        .map_err(|e| new_broken_error(dot_git, e))?
        .next()
    {
        None => Ok(false),
        Some(_) => Err(new_broken_error(dot_git, why)),
    }
}

/// Whether a folder is the top of another repository's work tree, by git's own rule: with a broken
/// `.git` it is an ordinary folder. An unreadable `.git` counts as a repository.
pub(super) fn is_nested_repository(folder: &Path) -> bool {
    let dot_git = folder.join(".git");
    match fs::metadata(&dot_git) {
        Err(e) => e.kind() == std::io::ErrorKind::PermissionDenied,
        Ok(metadata) if metadata.is_dir() => looks_like_git_dir(&dot_git),
        Ok(metadata) => metadata.is_file() && inspect_dot_git(&dot_git).unwrap_or(false),
    }
}

/// The git directory that the `.git` file of a linked worktree names, unresolved; `None` where it is no such file.
pub(super) fn linked_git_dir(dot_git: &Path) -> Option<PathBuf> {
    let is_file = fs::symlink_metadata(dot_git).is_ok_and(|metadata| metadata.is_file());
    is_file
        .then(|| read_regular_file(dot_git, MOST_BYTES).ok())
        .flatten()
        .and_then(|text| pointed_to(&text, dot_git))
}

/// The git directory that the text of a `.git` file names, unresolved.
pub(super) fn pointed_to(text: &[u8], dot_git: &Path) -> Option<PathBuf> {
    let target = text.strip_prefix(b"gitdir: ")?.trim_ascii_end();
    Some(dot_git.parent()?.join(OsStr::from_bytes(target)))
}

/// git's own test: `HEAD` is readable and names something, `objects` and `refs` are there. And nothing is in the way of reading them.
pub(super) fn looks_like_git_dir(path: &Path) -> bool {
    missing_part(path).is_none()
}

/// The reason why a folder is no readable git directory.
pub(super) fn missing_part(path: &Path) -> Option<String> {
    let head = path.join("HEAD");
    let Some(names) = valid_head(&head) else {
        return Some(format!("{} is missing or damaged", head.display()));
    };
    let special = |file: &Path| {
        Some(format!(
            "{} is no file: to open it would be to wait for ever",
            file.display()
        ))
    };
    let redirect = path.join("commondir");
    let common = match fs::metadata(&redirect) {
        Ok(metadata) if !metadata.is_file() => return special(&redirect),
        Ok(_) => {
            let text = read_regular_file(&redirect, MOST_BYTES).ok();
            let common = text.as_ref().and_then(|text| {
                gix::path::from_bstr(gix::bstr::BStr::new(text.trim_ascii_end())).ok()
            });
            match common {
                Some(common) => path.join(common),
                None => return Some(format!("{} names no folder", redirect.display())),
            }
        }
        Err(_) => path.to_owned(),
    };
    if !(common.join("objects").is_dir() && common.join("refs").is_dir()) {
        return Some("it has no 'objects' or no 'refs' folder".to_string());
    }
    special_file(path, &common, &names).and_then(|file| special(&file))
}

/// The content of HEAD, where it can be a branch or a commit.
fn valid_head(head: &Path) -> Option<Vec<u8>> {
    let metadata = fs::symlink_metadata(head).ok()?;
    if metadata.is_symlink() {
        let target = fs::read_link(head).ok()?;
        return target
            .starts_with("refs")
            .then(|| [b"ref: ", target.as_os_str().as_bytes()].concat());
    }
    // A pipe, for one: opening it waits for somebody to write to it.
    if !metadata.is_file() {
        return None;
    }
    let text = read_regular_file(head, MOST_BYTES).ok()?;
    let valid = match text.strip_prefix(b"ref:") {
        Some(name) => name.trim_ascii().starts_with(b"refs/"),
        None => {
            let digits = text.iter().take_while(|b| b.is_ascii_hexdigit()).count();
            digits == 40 || digits == 64
        }
    };
    valid.then_some(text)
}

fn new_broken_error(dot_git: &Path, why: impl std::fmt::Display) -> Error {
    Error::read_failure(
        format!("open the repository at {}", dot_git.display()),
        why.to_string(),
    )
}
