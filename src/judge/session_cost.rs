//! Computes what one run of a resumed session cost, where its program reports the cost of the whole session only.

use crate::agent::stream::SessionSummary;
use watchdog_store::LocalStore;
use watchdog_store::journal::kind;

/// How many events are searched for the run before.
const HISTORY: usize = 500;

/// US dollars of this run: what the session cost, less what it had cost when watchdog last saw it end. The whole cost where watchdog never
/// saw that: a budget rather counts too much than too little.
pub fn own_cost(store: &dyn LocalStore, worktree_id: &str, summary: &SessionSummary) -> Option<f64> {
    let (true, Some(whole), Some(id)) = (summary.cost_is_of_the_session, summary.session_cost_usd, &summary.session_id) else {
        return summary.usage.cost_usd;
    };
    Some(cost_beyond_the_last_end(store, worktree_id, id, whole).unwrap_or(whole))
}

/// What a session cost since its last end that watchdog saw; `None` where no recorded end has a cost.
pub fn cost_beyond_the_last_end(store: &dyn LocalStore, worktree_id: &str, session_id: &str, whole: f64) -> Option<f64> {
    let events = store.newest(HISTORY).unwrap_or_default();
    let ended = events.iter().rev().filter(|event| event.kind == kind::SESSION_ENDED && event.worktree == worktree_id);
    let before =
        ended.filter(|event| event.data["session_id"] == session_id).find_map(|event| event.data["usage"]["session_cost_usd"].as_f64());
    // A session cannot have cost more before: then it was counted anew.
    before.filter(|before| *before <= whole).map(|before| whole - before)
}
