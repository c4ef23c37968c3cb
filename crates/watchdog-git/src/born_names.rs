//! Lists what a repository has now and had not when a baseline was recorded: branches and linked worktrees, by their names alone.
//!
//! A sweep asks this for each of a thousand worktrees of one repository, which all share the recorded refs. So these keep the last lists.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gix::bstr::ByteSlice;

use super::error::Error;
use super::kept_listing::{NewListing, unlisted};
use super::known_refs::KnownRefs;
use super::open::Worktree;
use super::ref_owner::head_name;

/// Where branches are.
const BRANCHES: &str = "refs/heads";

impl Worktree {
    /// The full names of what is stored as a branch and is none of the recorded refs, in any order, some perhaps twice. A file there whose
    /// content is no ref is named, too.
    ///
    /// # Errors
    /// [`Error::Read`] where the records, a folder of branches or the packed refs cannot be read.
    pub(super) fn born_branches(&self, recorded: &KnownRefs) -> Result<Arc<Vec<String>>, Error> {
        let known = recorded.names()?;
        let doing = || format!("list the branches of {}", self.common_dir().display());
        if self.served.is_some() {
            let refs = self.repo.references().map_err(|e| Error::read(doing(), e))?;
            let branches = refs.local_branches().map_err(|e| Error::read(doing(), e))?;
            let names = branches.flatten().map(|branch| branch.name().as_bstr().to_str_lossy().into_owned());
            return Ok(Arc::new(names.filter(|name| !known.contains(name)).collect()));
        }
        recorded.born().branches.of(self.common_dir(), |listing| {
            // Loose ones first: git removes a loose ref after it wrote the packed one.
            let mut name = BRANCHES.to_owned();
            add_loose(listing, &self.common_dir().join(BRANCHES), &mut name, &known)?;
            listing.reads(&self.common_dir().join("packed-refs"));
            if let Some(packed) = self.repo.refs.cached_packed_buffer().map_err(|e| Error::read(doing(), e))? {
                let branches = packed.iter_prefixed(format!("{BRANCHES}/").into()).map_err(|e| Error::read(doing(), e))?;
                for branch in branches {
                    let branch = branch.map_err(|e| Error::read(doing(), e))?;
                    let name = branch.name.as_bstr().to_str_lossy();
                    if !known.contains(&*name) {
                        listing.found.push(name.into_owned());
                    }
                }
            }
            Ok(())
        })
    }

    /// The git directories of the linked worktrees whose HEAD is none of the recorded refs, its own left out.
    ///
    /// # Errors
    /// [`Error::Read`] where the records or the folder of worktrees cannot be read.
    pub(super) fn born_worktrees(&self, recorded: &KnownRefs) -> Result<Vec<PathBuf>, Error> {
        let known = recorded.names()?;
        let found = recorded.born().worktrees.of(self.common_dir(), |listing| {
            let folder = self.common_dir().join("worktrees");
            for entry in listing.entries(&folder)? {
                let git_dir = entry.map_err(|e| unlisted(&folder, e))?.path();
                if !known.contains(&head_name(&git_dir, self.common_dir())) {
                    listing.found.push(git_dir);
                }
            }
            Ok(())
        })?;
        Ok(found.iter().filter(|git_dir| *git_dir != self.git_dir()).cloned().collect())
    }
}

fn add_loose(listing: &mut NewListing<String>, folder: &Path, name: &mut String, known: &HashSet<String>) -> Result<(), Error> {
    let length = name.len();
    for entry in listing.entries(folder)? {
        let entry = entry.map_err(|e| unlisted(folder, e))?;
        let file_name = entry.file_name();
        name.truncate(length);
        name.push('/');
        name.push_str(&file_name.as_encoded_bytes().to_str_lossy());
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => add_loose(listing, &entry.path(), name, known)?,
            // The lock of a ref is none; git allows no branch of such a name.
            Ok(_) if file_name.as_encoded_bytes().ends_with(b".lock") => {}
            _ if known.contains(name) => {}
            _ => listing.found.push(name.clone()),
        }
    }
    name.truncate(length);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_list_is_kept_while_nothing_changes_and_shows_each_change_at_once() {
        let folder = tempfile::tempdir().unwrap();
        gix::init(folder.path()).unwrap();
        let worktree = Worktree::open(folder.path()).unwrap();
        let git = worktree.git_dir().to_owned();
        let recorded = KnownRefs::from(vec![("refs/heads/task/old".to_owned(), "1".repeat(40))]);
        for name in ["refs/heads/task/old", "refs/heads/task/a", "worktrees/a/HEAD"] {
            fs::create_dir_all(git.join(name).parent().unwrap()).unwrap();
            fs::write(git.join(name), "1".repeat(40)).unwrap();
        }
        let read = || {
            let mut born = worktree.born_branches(&recorded).unwrap().as_ref().clone();
            born.extend(
                worktree.born_worktrees(&recorded).unwrap().iter().map(|found| found.file_name().unwrap().to_string_lossy().into()),
            );
            born.sort();
            born
        };
        // A list of folders that have only just changed is read each time.
        let until_kept = || {
            let (begun, born) = (Instant::now(), recorded.born());
            while !(born.branches.is_kept() && born.worktrees.is_kept()) {
                assert!(begun.elapsed() < Duration::from_secs(60), "it is never kept");
                std::thread::yield_now();
                read();
            }
        };
        type Change = fn(&Path);
        let changes: [(&str, Change); 5] = [
            ("refs/heads/task/b", |path| fs::write(path, "1".repeat(40)).unwrap()),
            ("refs/heads/c", |path| fs::write(path, "1".repeat(40)).unwrap()),
            ("packed-refs", |path| fs::write(path, format!("{} refs/heads/d\n", "1".repeat(40))).unwrap()),
            ("worktrees/e", |path| fs::create_dir(path).unwrap()),
            ("worktrees/e", |path| fs::remove_dir(path).unwrap()),
        ];
        let mut expected = vec!["a".to_owned(), "refs/heads/task/a".to_owned()];
        assert_eq!(read(), expected);
        for (path, change) in changes {
            until_kept();
            change(&git.join(path));
            let name = if path == "packed-refs" { "refs/heads/d" } else { path.trim_start_matches("worktrees/") };
            match expected.iter().position(|known| known == name) {
                Some(at) => drop(expected.remove(at)),
                None => expected.push(name.to_owned()),
            }
            expected.sort();
            assert_eq!(read(), expected, "after {path}");
        }
        assert_eq!(worktree.born_branches(&Vec::new().into()).unwrap().len(), 5, "with no recorded ref all of them are new");
    }
}
