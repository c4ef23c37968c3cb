//! Finds the `.git` of the worktree that a path lies in, the way `git -C` walks upwards, but
//! stops at a broken one instead of silently judging a repository further up.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::open::Error;

/// The `.git` entry (a directory, or the file of a linked worktree or submodule) for `path`.
pub(super) fn dot_git(path: &Path) -> Result<PathBuf, Error> {
    let not_found = || Error::NotARepository { path: path.to_owned() };
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
                if inspect(&candidate)? {
                    return Ok(candidate);
                }
            }
            Err(e) if matches!(e.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {}
            Err(e) => return Err(broken(&candidate, e)),
        }
        if looks_like_git_dir(folder) {
            return Err(Error::Bare { path: folder.to_owned() });
        }
    }
    Err(not_found())
}

/// Whether a `.git` entry is usable; `false` where git would ignore it, an error where it is broken.
pub(super) fn inspect(dot_git: &Path) -> Result<bool, Error> {
    let metadata = fs::metadata(dot_git).map_err(|e| broken(dot_git, e))?;
    if metadata.is_file() {
        let text = fs::read(dot_git).map_err(|e| broken(dot_git, e))?;
        let Some(target) = text.strip_prefix(b"gitdir: ") else {
            return Err(broken(dot_git, "it does not begin with 'gitdir: '"));
        };
        let target = gix::path::from_bstr(gix::bstr::BStr::new(target.trim_ascii_end())).map_err(|e| broken(dot_git, e))?;
        let target = dot_git.parent().expect("joined to a folder").join(target);
        return if looks_like_git_dir(&target) {
            Ok(true)
        } else {
            Err(broken(dot_git, format!("it points to {}, which is not a git directory", target.display())))
        };
    }
    if !metadata.is_dir() {
        return Ok(false);
    }
    if looks_like_git_dir(dot_git) {
        return Ok(true);
    }
    // Sandboxes leave an empty `.git` folder behind; git walks past it, and so do we. Anything else
    // was a repository once, and its work must not be judged by the rules of one further up.
    match fs::read_dir(dot_git).map_err(|e| broken(dot_git, e))?.next() {
        None => Ok(false),
        Some(_) => Err(broken(dot_git, missing_part(dot_git))),
    }
}

/// Whether a folder is the top of another repository's work tree, by git's own measure: a `.git` that
/// is broken makes it an ordinary folder, unless nobody can tell.
pub(super) fn is_nested_repository(folder: &Path) -> bool {
    let dot_git = folder.join(".git");
    match fs::metadata(&dot_git) {
        Err(e) => e.kind() == std::io::ErrorKind::PermissionDenied,
        Ok(metadata) if metadata.is_dir() => looks_like_git_dir(&dot_git),
        Ok(metadata) => metadata.is_file() && inspect(&dot_git).unwrap_or(false),
    }
}

/// git's own test: `HEAD` is readable and names something, `objects` and `refs` are there.
pub(super) fn looks_like_git_dir(path: &Path) -> bool {
    if !head_is_valid(&path.join("HEAD")) {
        return false;
    }
    let common = match fs::read(path.join("commondir")) {
        Ok(text) => match gix::path::from_bstr(gix::bstr::BStr::new(text.trim_ascii_end())) {
            Ok(common) => path.join(common),
            Err(_) => return false,
        },
        Err(_) => path.to_owned(),
    };
    common.join("objects").is_dir() && common.join("refs").is_dir()
}

fn head_is_valid(head: &Path) -> bool {
    match fs::symlink_metadata(head) {
        Ok(metadata) if metadata.is_symlink() => fs::read_link(head).is_ok_and(|target| target.starts_with("refs")),
        // A pipe, for one: opening it waits for somebody to write to it.
        Ok(metadata) if !metadata.is_file() => false,
        Ok(_) => fs::read(head).is_ok_and(|text| match text.strip_prefix(b"ref:") {
            Some(name) => name.trim_ascii().starts_with(b"refs/"),
            None => {
                let digits = text.iter().take_while(|b| b.is_ascii_hexdigit()).count();
                digits == 40 || digits == 64
            }
        }),
        Err(_) => false,
    }
}

/// Whether HEAD is what nobody may open, such as a pipe: opening that waits for somebody to write to it.
pub(super) fn head_is_special(git_dir: &Path) -> bool {
    fs::symlink_metadata(git_dir.join("HEAD")).is_ok_and(|head| !head.is_file() && !head.is_symlink())
}

pub(super) fn missing_part(dot_git: &Path) -> String {
    let head = dot_git.join("HEAD");
    if !head_is_valid(&head) {
        return format!("{} is missing or damaged", head.display());
    }
    "it has no 'objects' or no 'refs' folder".to_string()
}

fn broken(dot_git: &Path, why: impl std::fmt::Display) -> Error {
    Error::Read { doing: format!("open the repository at {}", dot_git.display()), why: why.to_string() }
}
