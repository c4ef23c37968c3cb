//! The least that anybody must do who wants to know what changed in a work tree: one lstat per tracked file, one listing per folder.

use std::fs;
use std::path::{Path, PathBuf};

use super::Result;

/// Looks at work trees that have the same tracked files. `names` is a file that names those, separated by NUL; `roots` one that names
/// the work trees, a line each.
pub fn look(names: &Path, roots: &Path) -> Result<()> {
    let names = fs::read_to_string(names)?;
    fs::read_to_string(roots)?
        .lines()
        .try_for_each(|root| look_at(Path::new(root), &names))
}

fn look_at(root: &Path, names: &str) -> Result<()> {
    fs::read(git_dir(root)?.join("index"))?;
    for name in names.split_terminator('\0') {
        fs::symlink_metadata(root.join(name))?;
    }
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() && entry.file_name() != ".git" {
                folders.push(entry.path());
            }
        }
    }
    Ok(())
}

fn git_dir(root: &Path) -> Result<PathBuf> {
    let path = root.join(".git");
    if path.is_dir() {
        return Ok(path);
    }
    let text = fs::read_to_string(&path)?;
    Ok(text
        .strip_prefix("gitdir: ")
        .ok_or("a linked worktree's .git names its directory")?
        .trim_end()
        .into())
}
