//! Files of the worktree: found by globs, read up to a limit, never by way of a link that leads out; and the session's changes to tests.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::judge::judgement_input::JudgementInput;
use crate::rescue;
use watchdog_core::checks::{MatchedFile, TestEdits, is_test_file, test_lines};
use watchdog_facts::evidence::ReadFact;
use watchdog_facts::patterns::{escapes_worktree, path_glob};
use watchdog_git::{HistoryPoint, Worktree, escape_path, unescape_path};
use watchdog_system::{is_missing, read_regular_file};

/// The files that match a glob, sorted by path.
pub(super) fn find_files(root: &Path, glob: &str) -> io::Result<Vec<MatchedFile>> {
    let matcher = path_glob(glob).map_err(io::Error::other)?.compile_matcher();
    // Everything before the first wildcard is a plain folder: nothing beside it can match.
    let plain: PathBuf = Path::new(glob)
        .components()
        .take_while(|part| {
            !part
                .as_os_str()
                .to_string_lossy()
                .contains(['*', '?', '[', '{', '\\'])
        })
        .collect();
    let mut walk = SymlinkSafeWalk {
        root,
        real_root: root.canonicalize()?,
        seen: HashSet::new(),
        files: Vec::new(),
    };
    walk.visit(&plain, &|path| matcher.is_match(path))?;
    let mut files = walk.files;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// The bytes of a regular file; `None` where there is none.
pub fn read_file(root: &Path, path: &str, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let refused = |why: &str| io::Error::new(io::ErrorKind::InvalidInput, why.to_owned());
    let bytes = unescape_path(path);
    let named = Path::new(OsStr::from_bytes(&bytes));
    if !named.is_absolute()
        && let Some(why) = escapes_worktree(path)
    {
        return Err(refused(why));
    }
    let real = match root.join(named).canonicalize() {
        Ok(real) => real,
        Err(error) if is_missing(&error) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    if !named.is_absolute() && !real.starts_with(root.canonicalize()?) {
        return Err(refused("a symbolic link leads out of the worktree"));
    }
    read_regular_file(&real, limit).map(Some)
}

/// A walk below the root that follows links only where they stay inside, and no folder twice.
struct SymlinkSafeWalk<'a> {
    root: &'a Path,
    real_root: PathBuf,
    seen: HashSet<PathBuf>,
    files: Vec<MatchedFile>,
}

impl SymlinkSafeWalk<'_> {
    fn visit(&mut self, relative: &Path, matches: &dyn Fn(&Path) -> bool) -> io::Result<()> {
        let path = self.root.join(relative);
        let real = match path.canonicalize() {
            Ok(real) => real,
            // A link to nowhere, or a file that went away: nothing is there.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        if !real.starts_with(&self.real_root)
            || real
                .strip_prefix(&self.real_root)
                .is_ok_and(|inside| inside.starts_with(".git"))
        {
            return Ok(());
        }
        let metadata = fs::metadata(&real)?;
        if metadata.is_dir() {
            if !self.seen.insert(real) {
                return Ok(());
            }
            for entry in fs::read_dir(&path)? {
                self.visit(&relative.join(entry?.file_name()), matches)?;
            }
        } else if metadata.is_file() && matches(relative) {
            self.files.push(MatchedFile {
                path: escape_path(relative.as_os_str().as_bytes()),
                size: metadata.len(),
            });
        }
        Ok(())
    }
}

/// The maximum size of a diff that is searched by lines.
const MOST_BYTES: usize = 4 << 20;

/// The most test files that are compared.
const MOST_FILES: usize = 200;

/// The edited tests since the commit that guards compare with.
pub(super) fn find_edited_tests(
    input: &JudgementInput,
    root: &Path,
    lines: bool,
) -> ReadFact<TestEdits> {
    let point = input.criteria_point();
    let HistoryPoint::Commit(commit) = &point else {
        return Ok(TestEdits::default());
    };
    if point == HistoryPoint::unknown() {
        return Ok(TestEdits::default());
    }
    let refs = input.origin.1.as_ref();
    let worktree = input.worktree();
    let mut touched = worktree.touched_since(&point, refs, &is_test_file)?;
    touched.truncate(MOST_FILES);
    let there = |path: &str| {
        root.join(Path::new(std::ffi::OsStr::from_bytes(&unescape_path(path))))
            .symlink_metadata()
            .is_ok()
    };
    let (present, gone): (Vec<String>, Vec<String>) =
        touched.into_iter().partition(|path| there(path));
    let gone = worktree.files_at(commit, gone)?;
    let mut edits = TestEdits::default();
    for path in gone {
        if !is_moved(&worktree, commit, root, &path, &present)? {
            edits.deleted.push(path);
        }
    }
    if lines {
        let diff = worktree.diff_since(&point, refs, MOST_BYTES, &rescue::looks_secret)?;
        if !diff.cut {
            (edits.removed, edits.ignored) = test_lines(&diff.text);
        }
    }
    Ok(edits)
}

/// Whether the content of a file of the baseline is in another file of tests now.
fn is_moved(
    worktree: &Worktree,
    commit: &str,
    root: &Path,
    path: &str,
    present: &[String],
) -> ReadFact<bool> {
    let Some(content) = worktree.blob_at(commit, path)? else {
        return Ok(true);
    };
    let same = |path: &String| std::fs::read(root.join(path)).is_ok_and(|bytes| bytes == content);
    Ok(!content.is_empty() && present.iter().any(same))
}
