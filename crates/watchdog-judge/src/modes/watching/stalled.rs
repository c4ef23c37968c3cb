//! Reports once each session of a watched worktree that has stalled. A running session is not judged: a person, or its own watchdog, ends
//! it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use tokio::task::JoinHandle;

use crate::judge::command_env::CommandEnv;
use crate::judge::live_session::{SessionActivity, live_session};
use watchdog_process::still_runs;
use watchdog_store::LocalStore;
use watchdog_store::RecordType;
use watchdog_store::session::SessionRecord;
use watchdog_system::lock_mutex;

/// A session, by its worktree and its beginning.
type SessionKey = (String, Timestamp);

/// The stalled sessions that were reported.
#[derive(Default)]
pub struct ReportedStalls {
    reported: Arc<Mutex<BTreeSet<SessionKey>>>,
    under_way: Option<JoinHandle<()>>,
}

impl ReportedStalls {
    /// Checks the sessions that run in these worktrees, in a thread of its own, unless the last check is still in progress.
    pub fn scan(
        &mut self,
        around: &CommandEnv,
        store: &Arc<dyn LocalStore>,
        worktrees: HashMap<String, PathBuf>,
    ) {
        if worktrees.is_empty()
            || self
                .under_way
                .as_ref()
                .is_some_and(|scan| !scan.is_finished())
        {
            return;
        }
        let (around, store, reported) = (
            around.clone(),
            Arc::clone(store),
            Arc::clone(&self.reported),
        );
        self.under_way = Some(tokio::task::spawn_blocking(move || {
            // The scan of a worktree reports an unreadable record.
            for (id, (spec, found)) in latest_of_each(store.as_ref()) {
                let Some(root) = worktrees.get(&id) else {
                    continue;
                };
                let Some(pid) = found
                    .pid
                    .filter(|pid| found.ended_at.is_none() && still_runs(*pid, found.started_at))
                else {
                    continue;
                };
                let live = live_session(&found, root, &around.state, &around.claude_home);
                let mut reported = lock_mutex(&reported);
                let key = (id, found.started_at);
                // A session that continues and stalls again is reported again.
                if live.doing != SessionActivity::Stalled {
                    reported.remove(&key);
                } else if reported.insert(key) {
                    around.tell(&format!(
                        "{}: the session of '{spec}' (process {pid}) runs{}",
                        root.display(),
                        live.in_words()
                    ));
                }
            }
        }));
    }
}

/// The last session of each worktree that has one, with its spec. Takes a single listing: a watch
/// on a thousand worktrees would never be idle otherwise.
fn latest_of_each(store: &dyn LocalStore) -> BTreeMap<String, (String, SessionRecord)> {
    let mut latest: BTreeMap<String, (String, SessionRecord)> = BTreeMap::new();
    for (id, spec, found) in SessionRecord::list_rows(store).unwrap_or_default() {
        let Ok(record) = found else { continue };
        if latest
            .get(&id)
            .is_none_or(|(_, best)| best.started_at <= record.started_at)
        {
            latest.insert(id, (spec, record));
        }
    }
    latest
}
