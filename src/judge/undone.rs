//! Finds work that was committed and then undone without a commit: files that are in HEAD as the session committed them, and in the work
//! tree as they were at the baseline.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use watchdog_facts::evidence::{Changes, Degradation, WarningCode};
use watchdog_git::{HistoryPoint, Worktree, unescape_path};
use watchdog_system::read_regular_file;

/// The most changed paths that are compared.
const MOST_PATHS: usize = 200;

/// The largest file that is compared, in bytes.
const MOST_BYTES: u64 = 64 << 20;

/// The most paths that the warning names.
const NAMED: usize = 3;

/// The warning if the uncommitted changes undo commits since the baseline. Unreadable changes give no warning.
pub fn note(
    worktree: &Worktree,
    baseline: &HistoryPoint,
    changes: &Changes,
) -> Option<Degradation> {
    let (HistoryPoint::Commit(before), Ok(HistoryPoint::Commit(head))) =
        (baseline, worktree.head())
    else {
        return None;
    };
    if *before == head || *baseline == HistoryPoint::unknown() {
        return None;
    }
    let undone = |path: &&String| -> Option<()> {
        let (was, committed) = (
            worktree.blob_at(before, path).ok()?,
            worktree.blob_at(&head, path).ok()?,
        );
        let file = worktree
            .root()
            .join(Path::new(OsStr::from_bytes(&unescape_path(path))));
        let there = match read_regular_file(&file, MOST_BYTES) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(_) => return None,
        };
        (was != committed && there == was).then_some(())
    };
    let found: Vec<&str> = changes
        .paths
        .iter()
        .take(MOST_PATHS)
        .filter(|path| undone(path).is_some())
        .map(String::as_str)
        .collect();
    let more = match found.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let named = found
        .iter()
        .take(NAMED)
        .copied()
        .collect::<Vec<_>>()
        .join(", ");
    let detail =
        format!("uncommitted changes undo what was committed since the baseline: {named}{more}");
    (!found.is_empty()).then_some(Degradation::new(WarningCode::WorkUndone, detail))
}
