//! The messages already shown for a spec's current state, so that a cron job that runs every minute shows each message once.

use serde::{Deserialize, Serialize};

use super::row::RecordType;
use crate::engine::LocalStore;
use crate::error::StoreError;

/// The state in the first line, then the messages shown for it, the newest last.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct ShownNews {
    last: String,
}

impl RecordType for ShownNews {
    const KIND: &'static str = "told";
}

/// Of one state so many different things are remembered.
const MOST: usize = 32;

/// When a message is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeRepeatRule {
    /// Only for another state.
    NewStateOnly,
    /// Also for the same state, once another message came in between: a fault that returns is a new one.
    AfterOthers,
}

/// Records the messages `what` (one per line) for a state, and returns whether they were shown for it before. Without a state, the recorded
/// one stays. Writes nothing where nothing changes.
pub fn is_repeated(
    store: &dyn LocalStore,
    worktree_id: &str,
    spec: &str,
    state: Option<&str>,
    (what, again): (&str, NoticeRepeatRule),
) -> Result<bool, StoreError> {
    ShownNews::change_row(store, worktree_id, spec, |before| {
        add_notice(before, state, (what, again))
    })
}

/// Whether [`is_repeated`] would say so; records nothing. For a caller that keeps the message somewhere safe before it counts as shown.
pub fn would_repeat(
    store: &dyn LocalStore,
    worktree_id: &str,
    spec: &str,
    state: Option<&str>,
    what: (&str, NoticeRepeatRule),
) -> Result<bool, StoreError> {
    Ok(add_notice(ShownNews::read_row(store, worktree_id, spec)?, state, what).1)
}

/// The record with these messages, and whether they were in it.
fn add_notice(
    before: Option<ShownNews>,
    state: Option<&str>,
    (what, again): (&str, NoticeRepeatRule),
) -> (ShownNews, bool) {
    let before = before.map(|notices| notices.last).unwrap_or_default();
    let mut lines = before.lines();
    let recorded_state = lines.next().unwrap_or_default();
    let state = state.unwrap_or(recorded_state);
    let mut notices: Vec<&str> = if state == recorded_state {
        lines.collect()
    } else {
        Vec::new()
    };
    let position = notices.iter().position(|notice| *notice == what);
    let is_last = position.is_some_and(|at| at + 1 == notices.len());
    if let Some(at) = position {
        notices.remove(at);
    }
    notices.push(what);
    let newest = &notices[notices.len().saturating_sub(MOST)..];
    let last = [&[state], newest].concat().join("\n");
    (
        ShownNews { last },
        is_last || (position.is_some() && again == NoticeRepeatRule::NewStateOnly),
    )
}

/// Forgets the messages of a spec, so that each counts as new again.
pub fn forget_messages(
    store: &dyn LocalStore,
    worktree_id: &str,
    spec: &str,
) -> Result<(), StoreError> {
    ShownNews::change_row(store, worktree_id, spec, |_| {
        (
            ShownNews {
                last: String::new(),
            },
            (),
        )
    })
}

/// The last messages; empty where there were none.
pub fn read_last_message(
    store: &dyn LocalStore,
    worktree_id: &str,
    spec: &str,
) -> Result<String, StoreError> {
    let row = ShownNews::read_row(store, worktree_id, spec)?;
    Ok(row
        .and_then(|notices| notices.last.lines().skip(1).last().map(str::to_owned))
        .unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SqliteStore;
    use crate::records::row;
    use crate::sqlite::tests::Scratch;

    #[test]
    fn notice_is_sent_once_per_state_and_spec() {
        use NoticeRepeatRule::{AfterOthers, NewStateOnly};
        let scratch = Scratch::new();
        let store = SqliteStore::open(&scratch.dir).unwrap();
        for (spec, state, what, again, repeated) in [
            ("a", Some("1"), "timeout", NewStateOnly, false),
            ("a", Some("1"), "timeout", NewStateOnly, true),
            ("b", Some("1"), "timeout", NewStateOnly, false),
            ("a", Some("1"), "working", NewStateOnly, false),
            ("a", None, "stopped", NewStateOnly, false),
            ("a", Some("1"), "timeout", NewStateOnly, true),
            ("a", Some("1"), "error", AfterOthers, false),
            ("a", None, "error", AfterOthers, true),
            ("a", None, "stopped", NewStateOnly, true),
            ("a", Some("1"), "error", AfterOthers, false),
            ("a", Some("2"), "timeout", NewStateOnly, false),
            ("a", Some("1"), "timeout", NewStateOnly, false),
        ] {
            assert_eq!(
                would_repeat(&store, "w", spec, state, (what, again)).unwrap(),
                repeated,
                "asking records nothing"
            );
            assert_eq!(
                is_repeated(&store, "w", spec, state, (what, again)).unwrap(),
                repeated,
                "{spec} {state:?} {what}"
            );
            assert_eq!(read_last_message(&store, "w", spec).unwrap(), what);
        }
        forget_messages(&store, "w", "a").unwrap();
        assert_eq!(read_last_message(&store, "w", "a").unwrap(), "");
        assert!(!is_repeated(&store, "w", "a", Some("1"), ("timeout", NewStateOnly)).unwrap());
    }

    #[test]
    fn what_is_remembered_of_one_state_is_bounded() {
        let scratch = Scratch::new();
        let store = SqliteStore::open(&scratch.dir).unwrap();
        for n in 0..100 {
            assert!(
                !is_repeated(
                    &store,
                    "w",
                    "s",
                    Some("1"),
                    (&n.to_string(), NoticeRepeatRule::NewStateOnly)
                )
                .unwrap()
            );
        }
        let shown_news = row::load_row::<ShownNews>(&store, &row::spec_key::<ShownNews>("w", "s"))
            .unwrap()
            .unwrap();
        assert_eq!(shown_news.last.lines().count(), 1 + MOST);
    }
}
