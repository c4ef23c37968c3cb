//! Computes what one run of a resumed session cost, where its program reports the cost or the tokens of the whole session only.

use std::collections::HashMap;

use crate::wire::session_events::session_tokens_of;
use watchdog_agent::stream::{SessionSummary, SessionTokens};
use watchdog_store::LocalStore;
use watchdog_store::journal::kind;

/// How many events are searched for the run before.
const HISTORY: usize = 500;

/// The cost of this run in US dollars: the session's cost, less its cost at the last end that watchdog saw. The total cost if watchdog saw
/// no end: a budget should rather overcount than undercount.
pub fn own_cost(
    store: &dyn LocalStore,
    worktree_id: &str,
    summary: &SessionSummary,
) -> Option<f64> {
    let (true, Some(whole), Some(id)) = (
        summary.cost_is_of_the_session,
        summary.session_cost_usd,
        &summary.session_id,
    ) else {
        return summary.usage.cost_usd;
    };
    Some(cost_beyond_the_last_end(store, worktree_id, id, whole).unwrap_or(whole))
}

/// The cost of a session since the last end that watchdog saw; `None` where no recorded end has a cost.
pub fn cost_beyond_the_last_end(
    store: &dyn LocalStore,
    worktree_id: &str,
    session_id: &str,
    whole: f64,
) -> Option<f64> {
    let events = store.newest(HISTORY).unwrap_or_default();
    let ended = events
        .iter()
        .rev()
        .filter(|event| event.kind == kind::SESSION_ENDED && event.worktree == worktree_id);
    let before = ended
        .filter(|event| event.data["session_id"] == session_id)
        .find_map(|event| event.data["usage"]["session_cost_usd"].as_f64());
    // A lower total than before means that the agent started its count again.
    before
        .filter(|before| *before <= whole)
        .map(|before| whole - before)
}

/// Tokens of the sessions whose ends watchdog saw in this worktree, by their ids: what a session that is resumed had spent before.
pub fn earlier_tokens(store: &dyn LocalStore, worktree_id: &str) -> HashMap<String, SessionTokens> {
    let events = store.newest(HISTORY).unwrap_or_default();
    let ended = events
        .iter()
        .filter(|event| event.kind == kind::SESSION_ENDED && event.worktree == worktree_id);
    let tokens = ended.filter_map(|event| {
        let (input, output) = session_tokens_of(&event.data)?;
        Some((
            event.data["session_id"].as_str()?.to_owned(),
            SessionTokens { input, output },
        ))
    });
    // The last end of a session wins.
    tokens.collect()
}
