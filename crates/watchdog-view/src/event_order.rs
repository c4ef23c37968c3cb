//! The order in which a person reads events: that in which they were written, but what a judgement only read stands before what it did
//! after that. A verdict's row holds what was read, and is written last; the times in it
//! are counted back from it, and can be some milliseconds late. Pure.

use watchdog_store::engine::StoredEvent;
use watchdog_store::journal::kind;

use watchdog_judge::wire::judgement_events::is_within;

/// Puts what judgements read among the deeds of the same judgements, by time.
pub fn by_time(events: Vec<StoredEvent>) -> Vec<StoredEvent> {
    let mut ordered: Vec<StoredEvent> = Vec::with_capacity(events.len());
    for event in events {
        let mut index = ordered.len();
        if is_within(&event) {
            let of_same = |ordered_event: &StoredEvent| {
                ordered_event.worktree == event.worktree && ordered_event.spec == event.spec
            };
            let later = |ordered_event: &&StoredEvent| {
                ordered_event.at > event.at
                    && !(ordered_event.kind == kind::VERDICT && of_same(ordered_event))
            };
            // Behind the last one that is no later, so that equal times keep their order.
            index -= ordered.iter().rev().take_while(later).count();
        }
        ordered.insert(index, event);
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use watchdog_store::journal::new_event;

    fn at(second: i64, spec: &str, kind: &str, within: bool) -> StoredEvent {
        let plain_event = new_event(
            jiff::Timestamp::from_second(second).unwrap(),
            "w",
            Some(spec),
            kind,
            json!({}),
        );
        StoredEvent {
            id: if within { "v.0".into() } else { "v".into() },
            ..plain_event
        }
    }

    #[test]
    fn readings_precede_later_actions_within_their_judgement() {
        let written = vec![
            at(50, "a", "verdict", false),
            at(12, "b", "session_started", false),
            at(20, "a", "snapshot", false),
            at(30, "a", "probe", false),
            at(10, "a", "commits", true),
            at(10, "a", "changes", true),
            at(25, "a", "commits", true),
            at(40, "a", "verdict", false),
        ];
        let read: Vec<(i64, String)> = by_time(written)
            .into_iter()
            .map(|event| (event.at.as_second(), event.kind))
            .collect();
        let expected = [
            (50, "verdict"),
            (10, "commits"),
            (10, "changes"),
            (12, "session_started"),
            (20, "snapshot"),
            (25, "commits"),
            (30, "probe"),
            (40, "verdict"),
        ];
        assert_eq!(
            read,
            expected.map(|(second, kind)| (second, kind.to_owned()))
        );
    }
}
