//! A state directory with a long journal, written by the product's own store.

use std::path::Path;

use completion_watchdog::store::engine::{NewEvent, Retention};
use completion_watchdog::store::journal::kind;
use completion_watchdog::store::{SqliteStore, StateDir, Store};
use jiff::Timestamp;
use serde_json::json;

use super::Result;

/// Writes so many events, one in a thousand of them about `worktree`.
pub fn write(state: &Path, worktree: &str, count: u64) -> Result<()> {
    let store = open(state)?;
    let data = json!({"status": "complete", "reason": "new_commits", "message": "1 commit made since the baseline", "new_commits": 1});
    let begun = Timestamp::now().as_second() - i64::try_from(count)?;
    for first in (0..count).step_by(5_000) {
        let events: Vec<NewEvent> = (first..count.min(first + 5_000))
            .map(|n| NewEvent {
                id: format!("bench-{n}"),
                at: Timestamp::from_second(begun + n as i64).unwrap_or_default(),
                worktree: if n % 1_000 == 0 { worktree.to_owned() } else { format!("{:016x}", n % 997) },
                spec: Some("main".into()),
                kind: [kind::VERDICT, kind::COMMITS, kind::PROBE, kind::CHANGES][n as usize % 4].into(),
                data: data.clone(),
            })
            .collect();
        let _done = store.append(&events, None)?;
    }
    Ok(())
}

/// Prunes as the product does, and returns how many events went.
pub fn prune(state: &Path, at_most: u64) -> Result<u64> {
    let retention = Retention { older_than: Timestamp::MIN, at_least: 1_000, at_most };
    Ok(open(state)?.prune(&retention)?)
}

fn open(state: &Path) -> Result<SqliteStore> {
    let dir = StateDir::resolve(Some(state.to_owned()), None, None)?;
    dir.ensure()?;
    Ok(SqliteStore::open(&dir)?)
}
