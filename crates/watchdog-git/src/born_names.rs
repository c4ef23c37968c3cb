//! Lists what a repository has now and had not when a baseline was recorded: branches and linked worktrees, by their names alone.
//!
//! A sweep asks this for each of a thousand worktrees of one repository. If all of them share the
//! recorded refs, these keep the last lists. If each has refs of its own, most names may be newer
//! than a baseline, and belong to another of the worktrees; so the sweep keeps the names that
//! belong to none of them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use gix::bstr::ByteSlice;

use super::baseline::HEADS;
use super::error::{Error, ReadContext as _};
use super::kept_listing::{NameListings, NewListing, listing_failure};
use super::known_refs::KnownRefs;
use super::open::Worktree;
use super::origin_evidence::OriginEvidence;
use super::ref_owner::{checked_out, head_name};
use super::worktree_id::worktree_id;

/// How old a shared list may be that was read at once. A new name shows immediately; a new record, and another branch in a worktree, do not.
const SHARED_FOR: Duration = Duration::from_secs(1);

impl Worktree {
    /// The full names of what is stored as a branch and is none of the recorded refs, in any order, some perhaps twice; where judgements
    /// share what no record claims, only what is unclaimed. A file there whose content is no ref is named, too.
    ///
    /// # Errors
    /// [`Error::Read`] where the records, a folder of branches or the packed refs cannot be read.
    pub(super) fn born_branches(
        &self,
        recorded: &KnownRefs,
        evidence: &OriginEvidence,
    ) -> Result<Arc<Vec<String>>, Error> {
        if self.served.is_some() {
            let recorded = recorded.tips()?;
            let mut branches = self.ref_tips_below(HEADS)?;
            branches.retain(|(name, _)| !recorded.contains(name));
            return Ok(Arc::new(branches.into_iter().unzip::<_, _, _, Vec<_>>().0));
        }
        let born = || {
            recorded
                .born_listings()
                .branches
                .get_or_read(self.common_dir(), |listing| {
                    let recorded = recorded.tips()?.names();
                    self.list_branches(listing, &|name| recorded.contains(name))
                })
        };
        let Some(NameListings { branches, .. }) = recorded.unclaimed_listings(self.common_dir())
        else {
            return born();
        };
        let unclaimed = branches.of_at_most(SHARED_FOR, self.common_dir(), |listing| {
            let taken = checked_out(self.common_dir(), &evidence.recorded_worktrees()?)?;
            self.list_branches(listing, &|name| taken.contains(name))
        })?;
        if unclaimed.is_empty() {
            return Ok(unclaimed);
        }
        let recorded = recorded.tips()?;
        Ok(Arc::new(
            unclaimed
                .iter()
                .filter(|name| !recorded.contains(name))
                .cloned()
                .collect(),
        ))
    }

    /// Lists the branches but for those of these names.
    fn list_branches(
        &self,
        listing: &mut NewListing<String>,
        is_left_out: &dyn Fn(&str) -> bool,
    ) -> Result<(), Error> {
        // Loose ones first: git removes a loose ref after it wrote the packed one.
        let mut name = HEADS.trim_end_matches('/').to_owned();
        add_loose(
            listing,
            &self.common_dir().join(HEADS),
            &mut name,
            is_left_out,
        )?;
        listing.reads(&self.common_dir().join("packed-refs"));
        if let Some(packed) = self
            .repo
            .refs
            .cached_packed_buffer()
            .with_context(|| self.listing_branches())?
        {
            let branches = packed
                .iter_prefixed(HEADS.into())
                .with_context(|| self.listing_branches())?;
            for branch in branches {
                let branch = branch.with_context(|| self.listing_branches())?;
                let name = branch.name.as_bstr().to_str_lossy();
                if !is_left_out(&name) {
                    listing.entries.push(name.into_owned());
                }
            }
        }
        Ok(())
    }

    pub(super) fn listing_branches(&self) -> String {
        format!("list the branches of {}", self.common_dir().display())
    }

    /// The git directories of the linked worktrees whose HEAD is none of the recorded refs, its own left out; where judgements share what no
    /// record claims, only those without a record of their own.
    ///
    /// # Errors
    /// [`Error::Read`] where the records or the folder of worktrees cannot be read.
    pub(super) fn born_worktrees(
        &self,
        recorded: &KnownRefs,
        evidence: &OriginEvidence,
    ) -> Result<Vec<PathBuf>, Error> {
        let is_recorded = || {
            let recorded = recorded.tips()?.names();
            let head_name = |git_dir: &Path| head_name(git_dir, self.common_dir());
            Ok(move |git_dir: &Path| recorded.contains(&*head_name(git_dir)))
        };
        let born = || {
            recorded
                .born_listings()
                .worktrees
                .get_or_read(self.common_dir(), |listing| {
                    self.list_worktrees(listing, is_recorded()?)
                })
        };
        let git_dirs = match recorded.unclaimed_listings(self.common_dir()) {
            None => born()?,
            Some(NameListings { worktrees, .. }) => {
                worktrees.of_at_most(SHARED_FOR, self.common_dir(), |listing| {
                    let with_record = evidence.recorded_worktrees()?;
                    self.list_worktrees(listing, |git_dir| {
                        with_record.contains(&worktree_id(git_dir, self.common_dir()))
                    })
                })?
            }
        };
        if git_dirs.is_empty() {
            return Ok(Vec::new());
        }
        let is_recorded = is_recorded()?;
        Ok(git_dirs
            .iter()
            .filter(|git_dir| *git_dir != self.git_dir() && !is_recorded(git_dir))
            .cloned()
            .collect())
    }

    /// Lists the linked worktrees but for some.
    fn list_worktrees(
        &self,
        listing: &mut NewListing<PathBuf>,
        is_left_out: impl Fn(&Path) -> bool,
    ) -> Result<(), Error> {
        let folder = self.common_dir().join("worktrees");
        for entry in listing.entries(&folder)? {
            let git_dir = entry.map_err(|e| listing_failure(&folder, e))?.path();
            if !is_left_out(&git_dir) {
                listing.entries.push(git_dir);
            }
        }
        Ok(())
    }
}

fn add_loose(
    listing: &mut NewListing<String>,
    folder: &Path,
    name: &mut String,
    is_left_out: &dyn Fn(&str) -> bool,
) -> Result<(), Error> {
    let length = name.len();
    for entry in listing.entries(folder)? {
        let entry = entry.map_err(|e| listing_failure(folder, e))?;
        let file_name = entry.file_name();
        name.truncate(length);
        name.push('/');
        name.push_str(&file_name.as_encoded_bytes().to_str_lossy());
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => add_loose(listing, &entry.path(), name, is_left_out)?,
            // The lock of a ref is none; git allows no branch of such a name.
            Ok(_) if file_name.as_encoded_bytes().ends_with(b".lock") => {}
            _ if is_left_out(name) => {}
            _ => listing.entries.push(name.clone()),
        }
    }
    name.truncate(length);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::fs;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Instant;

    use super::super::file_state::is_remote;
    use super::super::known_refs::UnclaimedNames;

    use super::*;

    #[test]
    fn cached_list_shows_each_change_immediately() {
        let folder = tempfile::tempdir().unwrap();
        gix::init(folder.path()).unwrap();
        let worktree = Worktree::open(folder.path()).unwrap();
        let git = worktree.git_dir().to_owned();
        let recorded = KnownRefs::from(vec![("refs/heads/task/old".to_owned(), "1".repeat(40))]);
        for name in [
            "refs/heads/task/old",
            "refs/heads/task/a",
            "worktrees/a/HEAD",
        ] {
            fs::create_dir_all(git.join(name).parent().unwrap()).unwrap();
            fs::write(git.join(name), "1".repeat(40)).unwrap();
        }
        let read = || {
            let mut born = worktree
                .born_branches(&recorded, &OriginEvidence::default())
                .unwrap()
                .as_ref()
                .clone();
            born.extend(
                worktree
                    .born_worktrees(&recorded, &OriginEvidence::default())
                    .unwrap()
                    .iter()
                    .map(|born_folder| born_folder.file_name().unwrap().to_string_lossy().into()),
            );
            born.sort();
            born
        };
        // A list of folders that have only just changed is read each time, and so is one of a file system that nobody knows.
        let is_never_kept = is_remote(&git);
        let until_kept = || {
            let (begun, born) = (Instant::now(), recorded.born_listings());
            while !(is_never_kept || born.branches.is_kept() && born.worktrees.is_kept()) {
                assert!(
                    begun.elapsed() < Duration::from_secs(60),
                    "it is never kept"
                );
                std::thread::yield_now();
                read();
            }
        };
        type Change = fn(&Path);
        let changes: [(&str, Change); 5] = [
            ("refs/heads/task/b", |path| {
                fs::write(path, "1".repeat(40)).unwrap()
            }),
            ("refs/heads/c", |path| {
                fs::write(path, "1".repeat(40)).unwrap()
            }),
            ("packed-refs", |path| {
                fs::write(path, format!("{} refs/heads/d\n", "1".repeat(40))).unwrap()
            }),
            ("worktrees/e", |path| fs::create_dir(path).unwrap()),
            ("worktrees/e", |path| fs::remove_dir(path).unwrap()),
        ];
        let mut expected = vec!["a".to_owned(), "refs/heads/task/a".to_owned()];
        assert_eq!(read(), expected);
        for (path, change) in changes {
            until_kept();
            change(&git.join(path));
            let name = if path == "packed-refs" {
                "refs/heads/d"
            } else {
                path.trim_start_matches("worktrees/")
            };
            match expected
                .iter()
                .position(|expected_name| expected_name == name)
            {
                Some(at) => drop(expected.remove(at)),
                None => expected.push(name.to_owned()),
            }
            expected.sort();
            assert_eq!(read(), expected, "after {path}");
        }
        let without_record = worktree.born_branches(&Vec::new().into(), &OriginEvidence::default());
        assert_eq!(without_record.unwrap().len(), 5);
    }

    #[test]
    fn judgements_share_unclaimed_names_and_see_new_ones() {
        let folder = tempfile::tempdir().unwrap();
        gix::init(folder.path()).unwrap();
        let worktree = Worktree::open(folder.path()).unwrap();
        let git = worktree.git_dir().to_owned();
        for (name, text) in [
            ("claimed", "ref: refs/heads/of-claimed\n"),
            ("free", "ref: refs/heads/of-free\n"),
        ] {
            fs::create_dir_all(git.join("worktrees").join(name)).unwrap();
            fs::write(git.join("worktrees").join(name).join("HEAD"), text).unwrap();
            fs::write(git.join(HEADS).join(format!("of-{name}")), "1".repeat(40)).unwrap();
        }
        let reads = Arc::new(AtomicUsize::new(0));
        let (count, id) = (
            Arc::clone(&reads),
            worktree_id(&git.join("worktrees/claimed"), &git),
        );
        let evidence = OriginEvidence::default().with_recorded_worktrees(move || {
            count.fetch_add(1, Ordering::Relaxed);
            Ok(HashSet::from([id.clone()]))
        });
        let shared = UnclaimedNames::default();
        // Each of the worktrees has recorded refs of its own; those of the first alone share nothing.
        let read = |recorded: &[&str]| {
            let refs = recorded
                .iter()
                .map(|name| (name.to_string(), "1".repeat(40)))
                .collect::<Vec<_>>();
            let recorded = KnownRefs::from(refs).sharing(&shared);
            let mut names = worktree
                .born_branches(&recorded, &evidence)
                .unwrap()
                .as_ref()
                .clone();
            names.extend(
                worktree
                    .born_worktrees(&recorded, &evidence)
                    .unwrap()
                    .iter()
                    .map(|path| head_name(path, &git)),
            );
            names.sort();
            names
        };
        assert_eq!(read(&["refs/heads/of-free"]).len(), 3);
        let until = |is_so: &dyn Fn() -> bool| {
            let begun = Instant::now();
            while !is_so() {
                assert!(begun.elapsed() < Duration::from_secs(60), "it never comes");
                std::thread::yield_now();
            }
        };
        // They share it also where their records have each name.
        let record = KnownRefs::from(Vec::new()).sharing(&shared);
        until(&|| {
            read(&["refs/heads/of-claimed", "refs/heads/of-free"]);
            let listings = record.unclaimed_listings(worktree.common_dir());
            is_remote(&git) || listings.is_some_and(|listings| listings.branches.is_kept())
        });
        assert_eq!(
            read(&["refs/heads/of-claimed"]),
            ["refs/heads/of-free", "worktrees/free/HEAD"]
        );
        assert_eq!(read(&["refs/heads/of-free"]), ["worktrees/free/HEAD"]);
        assert_eq!(read(&["worktrees/free/HEAD"]), ["refs/heads/of-free"]);
        // The records are read for the first of many judgements alone.
        until(&|| {
            read(&["a"]);
            let before = reads.load(Ordering::Relaxed);
            (0..9).for_each(|n| drop(read(&[&format!("refs/heads/{n}")])));
            is_remote(&git) || reads.load(Ordering::Relaxed) == before
        });
        fs::write(git.join(HEADS).join("new"), "1".repeat(40)).unwrap();
        fs::create_dir(git.join("worktrees/new")).unwrap();
        assert_eq!(
            read(&[]),
            [
                "refs/heads/new",
                "refs/heads/of-free",
                "worktrees/free/HEAD",
                "worktrees/new/HEAD"
            ]
        );
        fs::write(git.join("worktrees/claimed/HEAD"), "ref: refs/heads/new\n").unwrap();
        until(&|| {
            read(&["worktrees/new/HEAD"])
                == [
                    "refs/heads/of-claimed",
                    "refs/heads/of-free",
                    "worktrees/free/HEAD",
                ]
        });
    }
}
