//! What an event says, in a few words, for whoever shows many of them. Not escaped.

use serde_json::Value;

use watchdog_facts::display::plural;
use watchdog_store::engine::StoredEvent;
use watchdog_store::journal::kind;

/// The gist of an event; a kind that this version does not know is told by its plain fields.
pub fn event_gist(event: &StoredEvent) -> String {
    let data = &event.data;
    let text = |key: &str| data.get(key).and_then(Value::as_str).unwrap_or_default();
    let number = |key: &str| data.get(key).and_then(Value::as_u64);
    let because = |text: &str| if text.is_empty() { String::new() } else { format!(": {text}") };
    match event.kind.as_str() {
        kind::BASELINE => "the baseline was recorded".into(),
        kind::SESSION_STARTED => format!("a session began{}", number("pid").map(|pid| format!(" (process {pid})")).unwrap_or_default()),
        kind::SESSION_ENDED => format!("the session ended{}", because(text("end"))),
        kind::COMMITS => format!("{} since the baseline", number("new_commits").map_or("commits".into(), |count| plural(count, "commit"))),
        kind::CHANGES => {
            let counts = ["staged", "unstaged", "untracked", "conflicted"].map(|key| number(key).map(|count| format!("{count} {key}")));
            format!("unsaved work: {}", counts.into_iter().flatten().collect::<Vec<_>>().join(", "))
        }
        kind::VERDICT => format!("judged {} ({}){}", text("status"), text("reason"), because(text("message"))),
        kind::PROBE => format!("the agent was asked{}", because(text("outcome"))),
        kind::CHECK => format!("check {}: {}", text("name"), text("outcome")),
        kind::BREAKER => format!("the breaker is {}", text("state").replace('_', "-")),
        kind::INTERRUPTED => "a signal ended watchdog".into(),
        kind::DEGRADED => format!("a fact is weaker{}", because(text("detail"))),
        kind::ITERATION => format!("iteration {} ended{}", number("number").unwrap_or(0), because(text("message"))),
        other => format!("{}{}", other.replace('_', " "), because(&plain_fields(data))),
    }
}

/// The fields that are words or numbers.
fn plain_fields(data: &Value) -> String {
    let shown = |(key, value): (&String, &Value)| match value {
        Value::String(text) => Some(format!("{} {text}", key.replace('_', " "))),
        Value::Number(number) => Some(format!("{} {number}", key.replace('_', " "))),
        _ => None,
    };
    data.as_object().into_iter().flatten().filter_map(shown).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;
    use watchdog_store::journal::event;

    #[test]
    fn every_kind_has_words_and_an_unknown_one_its_plain_fields() {
        for (kind, data, gist) in [
            ("verdict", json!({"status": "review", "reason": "untrusted", "message": "no"}), "judged review (untrusted): no"),
            ("session_ended", json!({"end": "exit status 1"}), "the session ended: exit status 1"),
            ("commits", json!({"new_commits": 2}), "2 commits since the baseline"),
            ("changes", json!({"staged": 1, "untracked": 2}), "unsaved work: 1 staged, 2 untracked"),
            ("of_tomorrow", json!({"a_b": "c", "d": 1, "e": [1]}), "of tomorrow: a b c, d 1"),
            ("of_tomorrow", json!(null), "of tomorrow"),
        ] {
            assert_eq!(event_gist(&event(Timestamp::UNIX_EPOCH, "w", None, kind, data)), gist);
        }
    }
}
