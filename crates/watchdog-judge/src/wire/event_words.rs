//! The words that select an event, for `watchdog events --kind` and for `notify[].on`: its kind; a verdict's status and reason;
//! `breaker_open` when the breaker opened.

use watchdog_core::config::notification_words;
use watchdog_store::engine::StoredEvent;
use watchdog_store::journal::kind;

/// All words of one event.
pub fn words_of(event: &StoredEvent) -> Vec<&str> {
    let text = |key: &str| event.data[key].as_str();
    let mut words = vec![event.kind.as_str()];
    match event.kind.as_str() {
        kind::VERDICT => words.extend(["status", "reason"].into_iter().filter_map(text)),
        kind::BREAKER if text("state") == Some("open") => words.push("breaker_open"),
        _ => {}
    }
    words
}

/// Whether one of these words selects an event; no words select every event.
pub fn answers_to(event: &StoredEvent, wanted: &[String]) -> bool {
    wanted.is_empty()
        || words_of(event)
            .iter()
            .any(|word| wanted.iter().any(|wanted| wanted == word))
}

/// Every word that selects some event: the kinds, and the statuses and reasons of verdicts.
pub fn event_words() -> Vec<&'static str> {
    // There are no notifications about notifications, nor about answers that the user of the agent saw; but the journal has them.
    notification_words()
        .iter()
        .copied()
        .chain([kind::HOOK, kind::NOTIFY])
        .collect()
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;

    use super::super::event_words::*;
    use watchdog_store::journal::new_event;

    #[test]
    fn event_words_include_status_reason_and_breaker_opening() {
        for (kind, data, expected) in [
            (
                "verdict",
                json!({"status": "review", "reason": "untrusted"}),
                vec!["verdict", "review", "untrusted"],
            ),
            ("verdict", json!({"status": 7}), vec!["verdict"]),
            (
                "breaker",
                json!({"state": "open"}),
                vec!["breaker", "breaker_open"],
            ),
            ("breaker", json!({"state": "closed"}), vec!["breaker"]),
            ("probe", json!({"status": "complete"}), vec!["probe"]),
            (
                "of a later version",
                json!(null),
                vec!["of a later version"],
            ),
        ] {
            assert_eq!(
                words_of(&new_event(Timestamp::UNIX_EPOCH, "w", None, kind, data)),
                expected
            );
        }
    }

    #[test]
    fn no_word_chooses_everything_and_one_is_enough() {
        let data = json!({"status": "failed", "reason": "halted"});
        let failed = new_event(Timestamp::UNIX_EPOCH, "w", None, "verdict", data);
        for (wanted, answer) in [
            (&[][..], true),
            (&["review", "halted"][..], true),
            (&["review"][..], false),
        ] {
            let wanted: Vec<String> = wanted.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(answers_to(&failed, &wanted), answer, "{wanted:?}");
        }
    }
}
