//! Decides which uncommitted files are the session's work, by the records of its start and its end, and which of them undo its commits.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use watchdog_facts::display::name_first;
use watchdog_facts::evidence::{Changes, Degradation, WarningCode};
use watchdog_facts::session_work::{SessionEdgeFiles, UncommittedOrigin};
use watchdog_facts::shell_line::WorktreeCommands;
use watchdog_git::{DroppingLink, Error, HistoryPoint, StatFingerprints, Worktree, unescape_path};
use watchdog_system::read_regular_file;

/// The uncommitted files, divided into the session's work and the rest.
#[derive(Debug, Default)]
pub struct DividedUncommitted {
    /// All of it, with the session's part counted.
    pub changes: Changes,
    /// Fingerprints that change with any of the files, where [`read_traced`] was asked for them.
    pub fingerprints: Option<StatFingerprints>,
    /// The paths that are not the session's: no rescue commits them.
    pub others: BTreeSet<String>,
}

/// Reads the uncommitted changes. It reads contents only where the record names the path, or an end is recorded.
pub fn read_uncommitted(
    worktree: &Worktree,
    record: &SessionEdgeFiles,
) -> Result<DividedUncommitted, Error> {
    let (changes, paths) = worktree.changes_with_paths()?;
    Ok(divide_uncommitted(worktree, record, changes, paths))
}

/// The same with fingerprints, for whoever keeps the verdict for later.
pub fn read_traced(
    worktree: &Worktree,
    record: &SessionEdgeFiles,
) -> Result<DividedUncommitted, Error> {
    let (changes, fingerprints, paths) = worktree.changes_traced()?;
    Ok(DividedUncommitted {
        fingerprints,
        ..divide_uncommitted(worktree, record, changes, paths)
    })
}

fn divide_uncommitted(
    worktree: &Worktree,
    record: &SessionEdgeFiles,
    mut changes: Changes,
    paths: Vec<String>,
) -> DividedUncommitted {
    let mut others = BTreeSet::new();
    let mut seen = BTreeMap::new();
    changes.work = 0;
    changes.work_paths.clear();
    for path in paths {
        let mut whose = record.whose(&path, || worktree.content_id(&path));
        if whose == UncommittedOrigin::Session
            && !record.inherited.contains_key(&path)
            && let Some(link) = worktree.find_dropping_link(&path)
        {
            whose = UncommittedOrigin::Dropping;
            changes.leaving_links += u64::from(link == DroppingLink::LeavesRoot);
            if changes.dropping_links.len() < Changes::LISTED {
                changes.dropping_links.push(path.clone());
            }
        }
        match whose {
            UncommittedOrigin::Session => {
                changes.work += 1;
                if changes.work_paths.len() < Changes::LISTED {
                    changes.work_paths.push(path.clone());
                }
            }
            UncommittedOrigin::Inherited => changes.inherited += 1,
            UncommittedOrigin::SinceEnd => changes.since_end += 1,
            UncommittedOrigin::Dropping => {}
        }
        if whose != UncommittedOrigin::Session {
            others.insert(path.clone());
        }
        seen.insert(path, whose);
    }
    changes
        .degraded
        .extend(find_overwritten(worktree, record, &seen));
    DividedUncommitted {
        changes,
        fingerprints: None,
        others,
    }
}

/// Names inherited files that the session changed or removed. An inherited file that is neither uncommitted nor gone was committed.
fn find_overwritten(
    worktree: &Worktree,
    record: &SessionEdgeFiles,
    seen: &BTreeMap<String, UncommittedOrigin>,
) -> Option<Degradation> {
    let gone: Vec<String> = record
        .inherited
        .keys()
        .filter(|path| match seen.get(*path) {
            Some(whose) => *whose == UncommittedOrigin::Session,
            None => worktree.content_id(path) == "absent",
        })
        .map(|path| format!("'{path}'"))
        .collect();
    if gone.is_empty() {
        return None;
    }
    let named = name_first(&gone, 1);
    let commands = WorktreeCommands::at(worktree.root());
    let detail = format!(
        "the session changed or deleted {named}, which was uncommitted before it began; see what is \
         kept with: {}; bring the older state back with: {}",
        commands.watchdog("rescue list"),
        commands.watchdog("rescue restore ID --to FOLDER")
    );
    Some(Degradation::new(WarningCode::InheritedOverwritten, detail))
}

/// The most changed paths that are compared.
const MOST_PATHS: usize = 200;

/// The largest file that is compared, in bytes.
const MOST_BYTES: u64 = 64 << 20;

/// The most paths that the warning names.
const NAMED: usize = 3;

/// The warning if the uncommitted changes undo commits since the baseline. Unreadable changes give no warning.
pub fn note_undone_commits(
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
    let undone_paths: Vec<&str> = changes
        .paths
        .iter()
        .take(MOST_PATHS)
        .filter(|path| undone(path).is_some())
        .map(String::as_str)
        .collect();
    let named = name_first(&undone_paths, NAMED);
    let detail = format!("uncommitted changes undo what was committed since the baseline: {named}");
    (!undone_paths.is_empty()).then_some(Degradation::new(WarningCode::WorkUndone, detail))
}
