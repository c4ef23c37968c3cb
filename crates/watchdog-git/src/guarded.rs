//! Finds which of the files that define completion differ from a commit: in HEAD, in the index, and on disk.
//!
//! It trusts nothing that a session could write. It hashes the bytes on disk, whatever the index says of them; converts line endings by
//! the attributes of the commit alone, without programs; finds new files without the current ignore rules. Files that it cannot compare
//! count as different. Only one thing excuses a difference: it existed when the commit became the anchor.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};
use gix::index::State;
use gix::index::entry::Mode;
use globset::GlobSet;

use super::baseline::HistoryPoint;
use super::commit_text::tree_of;
use super::error::{Error, ReadContext as _};
use super::guarded_disk::{DiskComparer, DiskContent};
use super::hidden;
use super::open::Worktree;
use super::path_text::escape_path;
use super::snapshot::{is_committable, mode_of};
use watchdog_facts::patterns::path_globs;

/// Which paths are compared, as text that is percent-escaped where it is not UTF-8.
pub struct GuardedPaths {
    globs: GlobSet,
    exact: BTreeSet<String>,
    /// The search for new files: below these folders; empty text is the root.
    folders: Vec<String>,
    /// How many folders deep a match can lie; `None` = anywhere.
    depth: Option<usize>,
}

impl GuardedPaths {
    /// Everything that one of the globs matches, and these very paths.
    ///
    /// # Errors
    /// Names the glob that is none.
    pub fn new(
        globs: &[String],
        exact: BTreeSet<String>,
    ) -> Result<Self, (String, globset::Error)> {
        let mut folders: Vec<String> = globs.iter().map(|glob| literal_folder(glob)).collect();
        folders.sort();
        folders.dedup();
        let inner: Vec<String> = folders
            .iter()
            .filter(|inner| folders.iter().any(|outer| lies_below(inner, outer)))
            .cloned()
            .collect();
        folders.retain(|folder| !inner.contains(folder));
        let depth = if globs.iter().any(|glob| glob.contains("**")) {
            None
        } else {
            globs.iter().map(|glob| glob.matches('/').count()).max()
        };
        Ok(GuardedPaths {
            globs: path_globs(globs)?,
            exact,
            folders,
            depth,
        })
    }

    /// Whether a path is one of them.
    pub fn is(&self, path: &str) -> bool {
        self.exact.contains(path) || self.globs.is_match(path)
    }

    pub(super) fn has(&self, path: &BStr) -> bool {
        self.is(&escape_path(path))
    }
}

fn lies_below(path: &str, folder: &str) -> bool {
    path != folder
        && (folder.is_empty()
            || path
                .strip_prefix(folder)
                .is_some_and(|below_folder| below_folder.starts_with('/')))
}

/// The folder that everything is in that a glob matches.
fn literal_folder(glob: &str) -> String {
    let literal: Vec<&str> = glob
        .split('/')
        .take_while(|part| !part.contains(['*', '?', '[', '{', '\\']))
        .collect();
    let whole = literal.len() == glob.split('/').count();
    literal[..literal.len() - usize::from(whole)].join("/")
}

/// The parts of a path without its detours; `None` where it leads out.
fn join_parts<'a>(parts: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut path: Vec<&str> = Vec::new();
    for part in parts {
        match part {
            "" | "." => {}
            ".." => drop(path.pop()?),
            part => path.push(part),
        }
    }
    Some(path.join("/")).filter(|path| !path.is_empty())
}

/// A file as git names it.
type GitFileId = (Mode, ObjectId);

/// The content of a path when the commit became the anchor, if that differed from the commit: the id of its content, or absent.
type AnchorContent<'a> = Option<&'a Option<String>>;

impl Worktree {
    /// The wanted files that differ from `commit` in HEAD, in the index or on disk, sorted. `differing` are those that differed on disk
    /// when the commit became the anchor: the content of that moment counts as unchanged.
    ///
    /// # Errors
    /// [`Error::UnknownRevision`] names a commit that is not here; [`Error::Read`] where a needed file or object cannot be read.
    pub fn changed_files(
        &self,
        commit: &HistoryPoint,
        differing: &BTreeMap<String, Option<String>>,
        wanted: &GuardedPaths,
    ) -> Result<Vec<String>, Error> {
        let before = tree_of(&self.repo, self.commit_of(commit)?)?;
        let expected = self.files_of_tree(before, wanted)?;
        let mut changed: BTreeSet<BString> = BTreeSet::new();
        let then = |path: &BStr| differing.get(&escape_path(path));
        let head = self.head_id()?;
        let tree = tree_of(&self.repo, head)?;
        if tree != before {
            collect_differences(
                &expected,
                &self.files_of_tree(tree, wanted)?,
                then,
                &mut changed,
            );
        }
        let index = self.index()?;
        let index = hidden::unfold_if_sparse(self, &index)?;
        let (staged, unsettled) = files_of_index(&index, wanted);
        collect_differences(&expected, &staged, then, &mut changed);
        changed.extend(unsettled);
        for (path, found) in self.compare_disk(before, &expected, &staged, wanted)? {
            if !is_as_then(&found, expected.contains_key(&path), then(path.as_bstr())) {
                changed.insert(path);
            }
        }
        Ok(changed.iter().map(|path| escape_path(path)).collect())
    }

    /// The wanted files that differ from `commit` on disk, each with the id of its content or `None` where it is absent.
    ///
    /// # Errors
    /// As [`Worktree::changed_files`].
    pub fn differing_files(
        &self,
        commit: &HistoryPoint,
        wanted: &GuardedPaths,
    ) -> Result<BTreeMap<String, Option<String>>, Error> {
        let before = tree_of(&self.repo, self.commit_of(commit)?)?;
        let expected = self.files_of_tree(before, wanted)?;
        let mut differing = BTreeMap::new();
        for (path, found) in self.compare_disk(before, &expected, &BTreeMap::new(), wanted)? {
            let was = match found {
                DiskContent::Same => continue,
                DiskContent::Absent if expected.contains_key(&path) => None,
                DiskContent::Absent => continue,
                DiskContent::Content(id) => Some(id),
            };
            differing.insert(escape_path(&path), was);
        }
        Ok(differing)
    }

    /// The files of a commit that are named by these paths or globs, and all links that lead there.
    ///
    /// # Errors
    /// As [`Worktree::changed_files`].
    pub fn files_named(
        &self,
        commit: &HistoryPoint,
        words: &[String],
    ) -> Result<BTreeSet<String>, Error> {
        let Some(id) = self.commit_of(commit)? else {
            return Ok(BTreeSet::new());
        };
        let tree = tree_of(&self.repo, id)?;
        let mut files = BTreeSet::new();
        for word in words {
            self.follow_links(tree, word, &mut files)?;
        }
        let globs: Vec<String> = words
            .iter()
            .filter(|word| {
                word.contains(['*', '?', '[']) && watchdog_facts::patterns::path_glob(word).is_ok()
            })
            .cloned()
            .collect();
        if !globs.is_empty() {
            let wanted = GuardedPaths::new(&globs, BTreeSet::new())
                .map_err(|(glob, error)| Error::read_error(format!("read {glob}"), error))?;
            files.extend(
                self.files_of_tree(tree, &wanted)?
                    .keys()
                    .map(|path| escape_path(path)),
            );
        }
        Ok(files)
    }

    /// Adds the file at a path of a tree, and every link on the way to it.
    fn follow_links(
        &self,
        tree: ObjectId,
        path: &str,
        files: &mut BTreeSet<String>,
    ) -> Result<(), Error> {
        const MOST_LINKS: usize = 16;
        let doing = || format!("read tree {tree}");
        let root = self.repo.find_tree(tree).with_context(doing)?;
        let mut path = path.to_owned();
        'links: for _ in 0..MOST_LINKS {
            let parts: Vec<&str> = path.split('/').collect();
            for n in 1..=parts.len() {
                let here = parts[..n].join("/");
                let Some(entry) = root.lookup_entry_by_path(&here).with_context(doing)? else {
                    return Ok(());
                };
                let mode = entry.mode();
                if mode.is_link() {
                    let target = entry.object().with_context(doing)?.data.clone();
                    files.insert(here);
                    let parts_after = parts[n..].iter().copied();
                    let target = String::from_utf8_lossy(&target).into_owned();
                    let Some(next) = join_parts(
                        parts[..n - 1]
                            .iter()
                            .copied()
                            .chain(target.split('/'))
                            .chain(parts_after),
                    ) else {
                        return Ok(());
                    };
                    path = next;
                    continue 'links;
                }
                if n == parts.len() && !mode.is_tree() {
                    files.insert(here);
                }
            }
            return Ok(());
        }
        Ok(())
    }

    /// The content on disk of every wanted path in the commit or the index, and of every other wanted path that exists.
    fn compare_disk(
        &self,
        before: ObjectId,
        expected: &BTreeMap<BString, GitFileId>,
        staged: &BTreeMap<BString, GitFileId>,
        wanted: &GuardedPaths,
    ) -> Result<BTreeMap<BString, DiskContent>, Error> {
        let doing = |path: &BStr| {
            format!(
                "read {}",
                self.root()
                    .join(gix::path::from_bstr(path).unwrap_or_default())
                    .display()
            )
        };
        let mut disk = DiskComparer::new(self, before);
        let mut disk_contents = BTreeMap::new();
        let exact = wanted
            .exact
            .iter()
            .map(|path| BString::from(super::path_text::unescape_path(path)));
        let all: BTreeSet<BString> = expected
            .keys()
            .chain(staged.keys())
            .cloned()
            .chain(exact)
            .collect();
        for path in all {
            let here = disk
                .at(path.as_bstr(), expected.get(&path).copied())
                .with_context(|| doing(path.as_bstr()))?;
            if matches!(here, DiskContent::Content(_))
                && !expected.contains_key(&path)
                && !staged.contains_key(&path)
            {
                let ignored = disk.rules_ignore(path.as_bstr())?;
                if ignored {
                    continue;
                }
            }
            disk_contents.insert(path, here);
        }
        let is_checked = |path: &BStr| expected.contains_key(path) || staged.contains_key(path);
        for folder in &wanted.folders {
            for (path, here) in disk.new_files(folder, wanted.depth, &|path| {
                wanted.has(path) && !is_checked(path)
            })? {
                disk_contents.insert(path, here);
            }
        }
        Ok(disk_contents)
    }

    /// The wanted files of a tree.
    fn files_of_tree(
        &self,
        tree: ObjectId,
        wanted: &GuardedPaths,
    ) -> Result<BTreeMap<BString, GitFileId>, Error> {
        let doing = || format!("read tree {tree}");
        if tree == ObjectId::empty_tree(self.repo.object_hash()) {
            return Ok(BTreeMap::new());
        }
        if wanted.globs.is_empty() {
            let tree = self.repo.find_tree(tree).with_context(doing)?;
            let mut files = BTreeMap::new();
            for path in &wanted.exact {
                let bytes = super::path_text::unescape_path(path);
                let path = gix::path::from_bstr(bytes.as_bstr()).with_context(doing)?;
                let Some(entry) = tree.lookup_entry_by_path(path).with_context(doing)? else {
                    continue;
                };
                if let Some(mode) = mode_of(entry.mode().kind()) {
                    files.insert(BString::from(bytes), (mode, entry.object_id()));
                }
            }
            return Ok(files);
        }
        let state = self.repo.index_from_tree(&tree).with_context(doing)?;
        Ok(files_of_index(&state, wanted).0)
    }
}

/// The wanted files of an index, and those that are in conflict or still to come.
fn files_of_index(
    index: &State,
    wanted: &GuardedPaths,
) -> (BTreeMap<BString, GitFileId>, Vec<BString>) {
    let (mut files, mut unsettled) = (BTreeMap::new(), Vec::new());
    for entry in index.entries() {
        let path = entry.path(index);
        if !wanted.has(path) {
            continue;
        }
        if is_committable(entry) {
            files.insert(path.to_owned(), (entry.mode, entry.id));
        } else {
            unsettled.push(path.to_owned());
        }
    }
    (files, unsettled)
}

/// Adds the paths that two sets of files do not have in common.
fn collect_differences<'a>(
    expected: &BTreeMap<BString, GitFileId>,
    actual: &BTreeMap<BString, GitFileId>,
    then: impl Fn(&BStr) -> AnchorContent<'a>,
    changed: &mut BTreeSet<BString>,
) {
    let was = |path: &BStr, id: &ObjectId| {
        then(path)
            .and_then(Option::as_deref)
            .is_some_and(|content| id.to_hex() == *content)
    };
    for (path, (mode, id)) in actual {
        if expected.get(path) != Some(&(*mode, *id)) && !was(path.as_bstr(), id) {
            changed.insert(path.clone());
        }
    }
    changed.extend(
        expected
            .keys()
            .filter(|path| !actual.contains_key(*path))
            .cloned(),
    );
}

fn is_as_then(on_disk: &DiskContent, is_expected: bool, then: AnchorContent<'_>) -> bool {
    match on_disk {
        DiskContent::Same => true,
        DiskContent::Absent => !is_expected || then == Some(&None),
        DiskContent::Content(id) => then.and_then(Option::as_deref) == Some(id),
    }
}

/// Whether a folder is a worktree of a repository of its own.
pub(super) fn has_dot_git(folder: &Path) -> bool {
    folder.join(".git").symlink_metadata().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_files_are_searched_only_under_matching_globs() {
        for (glob, folder) in [
            ("tests/**", "tests"),
            ("tests/unit/*.rs", "tests/unit"),
            ("**/*.test.js", ""),
            ("Makefile", ""),
            ("ci/check.sh", "ci"),
            ("a/{b,c}/d", "a"),
        ] {
            assert_eq!(literal_folder(glob), folder, "{glob}");
        }
        let wanted = GuardedPaths::new(
            &[
                "tests/**".into(),
                "tests/unit/*.rs".into(),
                "testsuite/*".into(),
            ],
            BTreeSet::new(),
        )
        .unwrap();
        assert_eq!(wanted.folders, ["tests", "testsuite"]);
        assert!(wanted.is("tests/a/b") && !wanted.is("src/a"));
    }
}
