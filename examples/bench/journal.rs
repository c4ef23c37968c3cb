//! A state directory with a long journal, written by the product's own store.

use std::path::Path;

use jiff::Timestamp;
use serde_json::json;
use watchdog_store::baseline::{BaselineRecord, BaselineRefs};
use watchdog_store::engine::{NewEvent, WantedKind};
use watchdog_store::journal::{kind, tidy_journal};
use watchdog_store::{RecordType, StateDir, open_store};

use super::Result;

/// Writes so many events, each `nth` of them about `worktree`.
pub fn write(state: &Path, worktree: &str, count: u64, nth: u64) -> Result<()> {
    let store = open(state)?;
    let data = json!({"status": "complete", "reason": "new_commits", "message": "1 commit made since the baseline", "new_commits": 1});
    let begun = Timestamp::now().as_second() - i64::try_from(count)?;
    for first in (0..count).step_by(5_000) {
        let events: Vec<NewEvent> = (first..count.min(first + 5_000))
            .map(|n| NewEvent {
                id: format!("bench-{n}"),
                at: Timestamp::from_second(begun + n as i64).unwrap_or_default(),
                worktree: if n % nth == 0 {
                    worktree.to_owned()
                } else {
                    format!("{:016x}", n % 997)
                },
                spec: Some("main".into()),
                kind: [kind::VERDICT, kind::COMMITS, kind::PROBE, kind::CHANGES][n as usize % 4]
                    .into(),
                data: data.clone(),
            })
            .collect();
        let _done = store.append(&events, None)?;
    }
    Ok(())
}

/// Records a baseline for each of so many worktrees of the journal, all in the folder `at`, so that an overview has them all.
pub fn watch(state: &Path, at: &Path, worktrees: u64) -> Result<()> {
    let store = open(state)?;
    for id in ids(worktrees) {
        let refs = BaselineRefs::Here(Default::default());
        let record = BaselineRecord {
            left_behind: Vec::new(),
            committer: None,
            commit: Some("a".repeat(40)),
            branch: Some("main".into()),
            refs,
            at: Timestamp::now(),
            worktree: at.to_owned(),
            clone_id: None,
            blocked: None,
        };
        record.write_row(store.as_ref(), &id, "main")?;
    }
    Ok(())
}

/// The newest verdicts of so many worktrees, as an overview of all of them needs; how many there were.
pub fn newest_verdicts(state: &Path, worktrees: u64) -> Result<usize> {
    let of: Vec<(String, String)> = ids(worktrees).map(|id| (id, "main".to_owned())).collect();
    Ok(open(state)?
        .newest_of(&of, &[WantedKind::any(kind::VERDICT)], 8)?
        .iter()
        .flatten()
        .count())
}

fn ids(worktrees: u64) -> impl Iterator<Item = String> {
    (0..worktrees).map(|n| format!("{n:016x}"))
}

/// Prunes as the end of a check does, and returns how many events went: one batch.
pub fn prune(state: &Path) -> Result<u64> {
    Ok(tidy_journal(open(state)?.as_ref(), Timestamp::now(), 1)?)
}

fn open(state: &Path) -> Result<std::sync::Arc<dyn watchdog_store::LocalStore>> {
    let dir = StateDir::resolve(Some(state.to_owned()), None, None)?;
    dir.ensure()?;
    Ok(open_store(&dir)?)
}
