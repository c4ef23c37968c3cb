//! Selects worktrees: those at or below some paths, or all.

use std::path::{Path, PathBuf};

/// Paths that a worktree must be at or below; an empty list selects all worktrees.
#[derive(Debug, Clone, Default)]
pub struct PathFilter(Vec<PathBuf>);

impl PathFilter {
    /// These paths, resolved from `folder` where they are relative. Keeps a path without a target as it is, because worktrees
    /// that are gone can be selected, too.
    pub fn new(folder: &Path, paths: &[PathBuf]) -> Self {
        let resolved = |path: &PathBuf| {
            let path = folder.join(path);
            path.canonicalize()
                .or_else(|_| std::path::absolute(&path))
                .unwrap_or(path)
        };
        PathFilter(paths.iter().map(resolved).collect())
    }

    /// Whether every worktree is selected.
    pub fn is_all(&self) -> bool {
        self.0.is_empty()
    }

    /// Keeps the selected worktrees. If none is at or below the paths, keeps the one that contains
    /// them: a folder of a worktree selects it.
    pub fn choose<T>(&self, things: &mut Vec<T>, worktree: impl Fn(&T) -> &Path) {
        if self.0.is_empty() {
            return;
        }
        if things.iter().any(|thing| self.has(worktree(thing))) {
            return things.retain(|thing| self.has(worktree(thing)));
        }
        let around = |thing: &T| self.0.iter().any(|path| path.starts_with(worktree(thing)));
        // Of nested ones the innermost.
        let depth = |thing: &T| worktree(thing).components().count();
        let deepest = things.iter().filter(|thing| around(thing)).map(depth).max();
        things.retain(|thing| around(thing) && Some(depth(thing)) == deepest);
    }

    fn has(&self, worktree: &Path) -> bool {
        self.0.iter().any(|path| worktree.starts_with(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_selects_worktrees_below_or_around_it() {
        let all = [
            "/nowhere/a",
            "/nowhere/a/b",
            "/nowhere/ab",
            "/nowhere/at/all",
        ];
        for (paths, meant) in [
            (&[][..], &all[..]),
            (&["/nowhere/a"], &all[..2]),
            (&["/nowhere/a/b"], &all[1..2]),
            (&["all"], &all[3..]),
            (&["/x", "/nowhere/ab"], &all[2..3]),
            (&["/nowhere/a/b/src/deep"], &all[1..2]),
            (&["/nowhere/a/src"], &all[..1]),
            (&["/nowhere/a/src", "/nowhere/ab"], &all[2..3]),
            (&["/x"], &[]),
        ] {
            let below = PathFilter::new(
                Path::new("/nowhere/at"),
                &paths.iter().map(PathBuf::from).collect::<Vec<_>>(),
            );
            let mut chosen = all.to_vec();
            below.choose(&mut chosen, |path| Path::new(path));
            assert_eq!(chosen, meant, "{paths:?}");
        }
    }
}
