//! Which uncommitted files are the session's work: what git shows, held against what was recorded when it began and ended.

use std::collections::{BTreeMap, BTreeSet};

use watchdog_facts::evidence::{Changes, Degradation, WarningCode};
use watchdog_facts::session_work::{FileOwner, UncommittedByMoment};
use watchdog_git::{Error, StatFingerprints, Worktree};

/// What is uncommitted, told apart.
#[derive(Debug, Default)]
pub struct SessionWork {
    /// All of it, with the session's part counted.
    pub changes: Changes,
    /// What would have to move if anything changed.
    pub traces: Option<StatFingerprints>,
    /// The paths that are not the session's: no rescue commits them.
    pub others: BTreeSet<String>,
}

/// Looks at what is uncommitted. Contents are read only where the record names the path, or an end is recorded.
pub fn look(worktree: &Worktree, record: &UncommittedByMoment) -> Result<SessionWork, Error> {
    let (mut changes, traces, paths) = worktree.changes_with_paths()?;
    let mut others = BTreeSet::new();
    let mut seen = BTreeMap::new();
    changes.work = 0;
    changes.work_paths.clear();
    for path in paths {
        let whose = record.whose(&path, || worktree.content_id(&path));
        match whose {
            FileOwner::Session => {
                changes.work += 1;
                if changes.work_paths.len() < Changes::LISTED {
                    changes.work_paths.push(path.clone());
                }
            }
            FileOwner::Inherited => changes.inherited += 1,
            FileOwner::SinceEnd => changes.since_end += 1,
            FileOwner::Dropping => {}
        }
        if whose != FileOwner::Session {
            others.insert(path.clone());
        }
        seen.insert(path, whose);
    }
    changes.degraded.extend(overwritten(worktree, record, &seen));
    Ok(SessionWork { changes, traces, others })
}

/// Names inherited files that the session changed or removed. One that is not uncommitted any more and still there was committed.
fn overwritten(worktree: &Worktree, record: &UncommittedByMoment, seen: &BTreeMap<String, FileOwner>) -> Option<Degradation> {
    let gone: Vec<&str> = record
        .inherited
        .keys()
        .filter(|path| match seen.get(*path) {
            Some(whose) => *whose == FileOwner::Session,
            None => worktree.content_id(path) == "absent",
        })
        .map(String::as_str)
        .collect();
    let first = gone.first()?;
    let more = if gone.len() > 1 { format!(" and {} more", gone.len() - 1) } else { String::new() };
    let detail = format!(
        "the session changed or deleted '{first}'{more}, which was uncommitted before it began; bring the older state back with: \
         watchdog rescue list, then watchdog rescue restore ID --to FOLDER"
    );
    Some(Degradation { code: WarningCode::InheritedOverwritten, detail })
}
