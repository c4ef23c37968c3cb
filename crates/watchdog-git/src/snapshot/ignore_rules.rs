//! Decides which untracked files git ignores, from the same sources in the same order as git reads them. The files are read here and not by
//! gix, because the agent can write each of them: a pipe named `.gitignore` must not block watchdog, and one that cannot be read must make
//! a snapshot larger, not fail.

use std::io::Read;
use std::path::{Path, PathBuf};

use gix::bstr::{BStr, ByteSlice};
use gix::glob::pattern::Case;
use gix::ignore::{Search, search::Ignore};

use super::disk::{FolderWalk, as_path};
use crate::path_text::join_path;
use watchdog_system::read_regular_begin;

/// A list of patterns larger than this is not one that a person wrote.
pub(super) const LARGEST: u64 = 8 << 20;
/// The name of a list of patterns in a folder.
pub(super) const FILE: &str = ".gitignore";

/// The patterns that hold in the folder that is being walked.
#[derive(Clone)]
pub(crate) struct FolderRules {
    search: Search,
    case: Case,
    root: PathBuf,
}

impl FolderRules {
    /// The patterns that hold everywhere in `repo`: the user's own list and `info/exclude`.
    ///
    /// `root` is the folder that paths are relative to, which is not the work tree for a nested repository.
    pub(crate) fn global(repo: &gix::Repository, root: &Path) -> Self {
        Self::from_sources(repo, root, global_sources(repo))
    }

    /// The patterns of these lists, which hold everywhere.
    pub(super) fn from_sources(
        repo: &gix::Repository,
        root: &Path,
        sources: impl IntoIterator<Item = (PathBuf, Vec<u8>)>,
    ) -> Self {
        let folds = repo
            .config_snapshot()
            .boolean("core.ignoreCase")
            .unwrap_or(false);
        let case = if folds { Case::Fold } else { Case::Sensitive };
        let mut rules = FolderRules {
            search: Search::default(),
            case,
            root: root.to_owned(),
        };
        for (file, bytes) in sources {
            rules.add(&bytes, file, None);
        }
        rules
    }

    /// These patterns and those of a `.gitignore` file at this path.
    pub(super) fn with_file(&self, bytes: &[u8], path: &BStr) -> Self {
        let mut rules = self.clone();
        rules.add(bytes, self.root.join(as_path(path)), Some(&self.root));
        rules
    }

    fn add(&mut self, bytes: &[u8], source: PathBuf, root: Option<&Path>) {
        // The only error is a name that cannot be expressed, which unix does not have.
        self.search
            .add_patterns_buffer(
                bytes,
                source,
                root,
                Ignore {
                    support_precious: false,
                },
            )
            .ok();
    }

    /// Adds the patterns of `folder`, and says what to hand to [`FolderRules::leave`].
    ///
    /// `prefix` leads from the opened folder to the root of these rules. `fallback` is what the index has, for a
    /// sparse checkout that leaves the file out.
    pub(crate) fn enter(
        &mut self,
        below: &mut FolderWalk,
        prefix: &BStr,
        folder: &BStr,
        fallback: impl FnOnce(&BStr) -> Option<Vec<u8>>,
    ) -> usize {
        let before = self.search.patterns.len();
        let path = join_path(folder, FILE.as_bytes());
        let bytes = match below.open_file(&join_path(prefix, &path)) {
            Ok((file, _)) => {
                let mut bytes = Vec::new();
                file.take(LARGEST)
                    .read_to_end(&mut bytes)
                    .ok()
                    .map(|_| bytes)
            }
            Err(_) => fallback(path.as_bstr()),
        };
        if let Some(bytes) = bytes {
            let root = self.root.clone();
            self.add(&bytes, root.join(as_path(&path)), Some(&root));
        }
        before
    }

    /// Drops the patterns that [`FolderRules::enter`] added.
    pub(super) fn leave(&mut self, before: usize) {
        self.search.patterns.truncate(before);
    }

    /// Whether git would ignore `path`, given that it does not ignore its folder.
    pub(crate) fn ignores(&self, path: &BStr, is_folder: bool) -> bool {
        self.search
            .pattern_matching_relative_path(path, Some(is_folder), self.case)
            .is_some_and(|matched| !matched.pattern.is_negative())
    }
}

/// The lists that hold everywhere in `repo`: the user's own and `info/exclude`.
pub(super) fn global_sources(repo: &gix::Repository) -> Vec<(PathBuf, Vec<u8>)> {
    let users = match repo.config_snapshot().trusted_path("core.excludesFile") {
        Ok(Some(path)) => Some(path),
        _ => gix::path::env::xdg_config("ignore", &mut gix::path::env::var),
    };
    let files = users
        .into_iter()
        .chain([repo.common_dir().join("info").join("exclude")]);
    files
        .filter_map(|file| read_regular(&file).map(|bytes| (file, bytes)))
        .collect()
}

fn read_regular(path: &Path) -> Option<Vec<u8>> {
    read_regular_begin(path, LARGEST).ok()
}
