//! Decides which changed paths go into a commit, and which stay out and why. Pure.

use std::collections::BTreeSet;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::secrets::{bulk_folder, is_env_file, looks_secret};
use watchdog_core::config::settings::RescueSettings;
use watchdog_facts::evidence::{LeftOut, LeftOutReason};
use watchdog_git::{SnapshotPath, SnapshotPathKind};

/// The paths of a commit, and the paths that are left out.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CommitSelection<'p> {
    /// In git's order.
    pub commit: Vec<&'p SnapshotPath>,
    /// In git's order.
    pub left_out: Vec<LeftOut>,
    /// There would have been this many, more than allowed: nothing is committed.
    pub too_many: Option<u64>,
}

/// Sorts `paths` by the rules of `settings`. Those in `others` are never committed.
pub(super) fn select_paths<'p>(
    paths: &'p [SnapshotPath],
    others: &BTreeSet<String>,
    settings: &RescueSettings,
) -> CommitSelection<'p> {
    let exclude = PathPatterns::new(&settings.exclude);
    let untracked: BTreeSet<&str> = paths
        .iter()
        .filter(|p| p.untracked)
        .map(|p| p.text.as_str())
        .collect();
    let exists = |wanted: &str| match wanted.ends_with('/') {
        true => untracked
            .range(wanted..)
            .next()
            .is_some_and(|p| p.starts_with(wanted)),
        false => untracked.contains(wanted),
    };
    let judged = paths
        .iter()
        .filter(|path| !others.contains(&path.text))
        .map(|path| {
            let deleted = path.kind == SnapshotPathKind::Deleted;
            let why = if path.nested {
                Some(LeftOutReason::NestedRepository)
            } else if !deleted && looks_secret(&path.text) {
                // Tested before the user's own patterns: the danger of a file is the more useful reason.
                Some(LeftOutReason::Secret)
            } else if path.hidden
                || exclude.matches(&path.text)
                || (path.untracked && !deleted && bulk_folder(&path.text, exists).is_some())
            {
                Some(LeftOutReason::Excluded)
            } else if path.bytes > settings.max_bytes {
                Some(LeftOutReason::TooLarge)
            } else {
                None
            };
            (path, why)
        });
    let (mut commit, mut left) = (Vec::new(), Vec::new());
    for (path, why) in judged {
        match why {
            Some(why) => left.push((path, why)),
            None => commit.push(path),
        }
    }
    // To git, a path also names everything below it: a file that became a folder must not bring along excluded files.
    let not_ours = paths.iter().filter(|path| others.contains(&path.text));
    let stays: BTreeSet<&[u8]> = left
        .iter()
        .map(|(path, _)| *path)
        .chain(not_ours)
        .map(|path| path.path.as_slice())
        .collect();
    commit.retain(|path| {
        let below = [path.path.as_slice(), b"/"].concat();
        let clash = stays
            .range(below.as_slice()..)
            .next()
            .is_some_and(|p| p.starts_with(&below));
        if clash {
            left.push((path, LeftOutReason::Excluded));
        }
        !clash
    });
    let many = commit.len() as u64;
    let too_many = (many > settings.max_files).then_some(many);
    if too_many.is_some() {
        commit.clear();
    }
    left.sort_by(|(a, _), (b, _)| a.path.cmp(&b.path));
    CommitSelection {
        commit,
        left_out: left
            .into_iter()
            .map(|(path, why)| LeftOut {
                path: path.text.clone(),
                why,
            })
            .collect(),
        too_many,
    }
}

/// Names or globs of the user. A pattern without a slash matches a name at any depth.
pub(crate) struct PathPatterns {
    names: GlobSet,
    paths: GlobSet,
    env: bool,
}

impl PathPatterns {
    pub fn new(patterns: &[String]) -> Self {
        let (mut names, mut paths) = (GlobSetBuilder::new(), GlobSetBuilder::new());
        for pattern in patterns {
            let trimmed = pattern.trim_start_matches("./").trim_end_matches('/');
            let add = |set: &mut GlobSetBuilder, text: &str| {
                let glob = |text: &str| GlobBuilder::new(text).literal_separator(true).build();
                // Text that is no glob matches literally.
                if let Ok(glob) = glob(text).or_else(|_| glob(&globset::escape(text))) {
                    set.add(glob);
                }
            };
            if trimmed.contains('/') {
                let anchored = trimmed.trim_start_matches('/');
                add(&mut paths, anchored);
                add(&mut paths, &format!("{anchored}/**"));
            } else {
                add(&mut names, trimmed);
            }
        }
        let build = |set: GlobSetBuilder| set.build().unwrap_or_else(|_| GlobSet::empty());
        PathPatterns {
            names: build(names),
            paths: build(paths),
            env: patterns.iter().any(|p| p == ".env"),
        }
    }

    pub fn matches(&self, path: &str) -> bool {
        let env = self.env && is_env_file(path.rsplit('/').next().unwrap_or(path));
        env || self.paths.is_match(path) || path.split('/').any(|name| self.names.is_match(name))
    }

    /// Whether a whole name, such as a branch with its slashes, is one of the patterns.
    pub fn matches_branch(patterns: &[String], branch: &str) -> bool {
        patterns.iter().any(|pattern| {
            let glob = GlobBuilder::new(pattern).literal_separator(false).build();
            pattern == branch || glob.is_ok_and(|glob| glob.compile_matcher().is_match(branch))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use watchdog_core::config::settings::ConfigSettings;

    fn path(text: &str) -> SnapshotPath {
        SnapshotPath {
            path: text.as_bytes().to_vec(),
            text: text.into(),
            kind: SnapshotPathKind::File,
            bytes: 10,
            untracked: true,
            hidden: false,
            secret: false,
            nested: false,
        }
    }

    fn left(
        paths: &[SnapshotPath],
        change: impl FnOnce(&mut RescueSettings),
    ) -> Vec<(String, &'static str)> {
        let mut settings = ConfigSettings::default().rescue;
        change(&mut settings);
        select_paths(paths, &BTreeSet::new(), &settings)
            .left_out
            .into_iter()
            .map(|l| (l.path, l.why.as_str()))
            .collect()
    }

    #[test]
    fn every_reason_is_named() {
        let paths = [
            path(".env.local"),
            path("big"),
            path("hidden"),
            path("key.pem"),
            path("nested/file"),
            path("node_modules/x/index.js"),
            path("src/main.rs"),
        ];
        let mut paths = paths.to_vec();
        paths[1].bytes = 1 << 40;
        paths[2].hidden = true;
        paths[4].nested = true;
        let want = [
            (".env.local", "secret"),
            ("big", "too_large"),
            ("hidden", "excluded"),
            ("key.pem", "secret"),
            ("nested/file", "nested_repository"),
            ("node_modules/x/index.js", "excluded"),
        ];
        assert_eq!(left(&paths, |_| {}), want.map(|(p, w)| (p.to_owned(), w)));
        assert_eq!(
            select_paths(&paths, &BTreeSet::new(), &ConfigSettings::default().rescue).commit,
            [&paths[6]]
        );
    }

    #[test]
    fn file_of_maximum_size_is_committed() {
        for (bytes, want) in [(10, vec![]), (9, vec![("a".to_owned(), "too_large")])] {
            assert_eq!(
                left(&[path("a")], |settings| settings.max_bytes = bytes),
                want,
                "{bytes}"
            );
        }
    }

    #[test]
    fn more_files_than_allowed_means_none() {
        let paths = [path("a"), path("b"), path("c")];
        assert_eq!(left(&paths, |s| s.max_files = 3), []);
        let settings = RescueSettings {
            max_files: 2,
            ..ConfigSettings::default().rescue
        };
        let selection = select_paths(&paths, &BTreeSet::new(), &settings);
        assert_eq!(
            (
                selection.commit.len(),
                selection.left_out.len(),
                selection.too_many
            ),
            (0, 0, Some(3))
        );
    }

    #[test]
    fn patterns_match_as_a_person_means_them() {
        for (pattern, path, want) in [
            (".env", ".env", true),
            (".env", "deep/.env.production", true),
            (".env", ".env.example", false),
            ("*.log", "a/b/c.log", true),
            ("private", "private/notes", true),
            ("docs/*.md", "docs/a.md", true),
            ("docs/*.md", "docs/deep/a.md", false),
            ("docs/**", "docs/deep/a.md", true),
            ("build/", "a/build/x", true),
            ("/top", "top", true),
            ("a/b", "a/b/c", true),
            ("[", "[", true),
            ("*.log", "log", false),
        ] {
            assert_eq!(
                PathPatterns::new(&[pattern.into()]).matches(path),
                want,
                "{pattern} {path}"
            );
        }
        for (pattern, branch, want) in [
            ("main", "main", true),
            ("release/*", "release/1.0", true),
            ("main", "maintenance", false),
        ] {
            assert_eq!(
                PathPatterns::matches_branch(&[pattern.into()], branch),
                want,
                "{pattern} {branch}"
            );
        }
    }

    #[test]
    fn file_turned_folder_brings_no_secret() {
        let mut paths = [path("config"), path("config/.env"), path("config/open")];
        paths[0].kind = SnapshotPathKind::Deleted;
        let selection = select_paths(&paths, &BTreeSet::new(), &ConfigSettings::default().rescue);
        assert_eq!(selection.commit, [&paths[2]]);
    }
}
