//! Finds the session's changes to tests: which test files it deleted, and which changed lines removed tests.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use crate::rescue;
use watchdog_core::checks::{TestEdits, is_test_file, test_lines};
use watchdog_facts::evidence::ReadFact;
use watchdog_git::{HistoryPoint, Worktree, unescape_path};

use crate::judge::judgement_input::JudgementInput;

/// The maximum size of a diff that is searched by lines.
const MOST_BYTES: usize = 4 << 20;

/// The most test files that are compared.
const MOST_FILES: usize = 200;

/// The edited tests since the commit that guards compare with.
pub(super) fn find(input: &JudgementInput, root: &Path, lines: bool) -> ReadFact<TestEdits> {
    let point = input.criteria_point();
    let HistoryPoint::Commit(commit) = &point else {
        return Ok(TestEdits::default());
    };
    if point == HistoryPoint::unknown() {
        return Ok(TestEdits::default());
    }
    let known = input.origin.1.as_ref();
    let worktree = input.worktree();
    let mut touched = worktree.touched_since(&point, known, &is_test_file)?;
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
        let found = worktree.diff_since(&point, known, MOST_BYTES, &rescue::looks_secret)?;
        if !found.cut {
            (edits.removed, edits.ignored) = test_lines(&found.text);
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
