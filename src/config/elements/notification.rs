//! `notify`: programs that are told about verdicts.

use super::super::reader::Node;
use super::super::settings::NotifyRule;

/// The contract's statuses and reasons. The core knows them too, and a test holds the two lists together; `config` may not import it.
pub(in super::super) const WORDS: &[&str] = &[
    "complete",
    "incomplete",
    "waiting",
    "review",
    "timeout",
    "stopped",
    "failed",
    "error",
    "new_commits",
    "rescued",
    "nothing_to_do",
    "checks_passed",
    "checks_unmet",
    "working",
    "background_work",
    "session_active",
    "rate_limited",
    "locked",
    "dependencies",
    "no_criteria",
    "max_iterations",
    "verify_timeout",
    "verify_failed",
    "repeated_nothing_to_do",
    "disputed",
    "criteria_changed",
    "untrusted",
    "rescue_incomplete",
    "max_probes",
    "session_timeout",
    "breaker_open",
    "budget_exhausted",
    "deadline_exceeded",
    "agent_stopped",
    "interrupted",
    "verify_unrunnable",
    "agent_unrunnable",
    "halted",
    "probe_error",
    "git_error",
    "not_a_repository",
    "config_error",
    "store_error",
];

/// The statuses and reasons of a verdict.
pub fn notification_words() -> impl Iterator<Item = &'static str> {
    WORDS.iter().copied()
}

pub(in super::super) fn read_list(node: &Node<'_>) -> Option<Vec<NotifyRule>> {
    let words: Vec<(&str, &str)> = WORDS.iter().map(|word| (*word, *word)).collect();
    node.list(|entry| {
        let section = entry.section(&["on", "command"])?;
        let on = section.required("on", "it lists the statuses or reasons to tell about");
        let on = on.and_then(|n| {
            let list = n.list(|word| verdict_word(word, &words).map(str::to_owned))?;
            if matches!(&n.json.kind, super::super::syntax::Kind::List(items) if items.is_empty()) {
                n.wrong("must name at least one status or reason");
            }
            Some(list)
        });
        let command = section.required("command", "it is the program to run, with its arguments").and_then(|n| n.argv());
        Some(NotifyRule { on: on?, command: command? })
    })
}

/// One status or reason; the message for another word names the nearest, and not all forty.
fn verdict_word<'w>(node: &Node<'_>, words: &[(&'w str, &'w str)]) -> Option<&'w str> {
    let text = node.text()?;
    let found = words.iter().find(|(word, _)| *word == text).map(|(word, _)| *word);
    if found.is_none() {
        let hint = super::super::nearest::hint(&text, WORDS.iter().copied());
        node.wrong(format!("no status and no reason of a verdict is named {}{hint}", super::super::problem::shown(&text)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::super::parse::testing::{fails, reads};

    #[test]
    fn statuses_and_reasons_set_it_off() {
        let found = reads(r#"{"notify": [{"on": ["review", "breaker_open"], "command": ["notify-send", "watchdog"]}]}"#).notify;
        assert_eq!(found[0].on, ["review", "breaker_open"]);
        assert_eq!(found[0].command, ["notify-send", "watchdog"]);
    }

    #[test]
    fn other_words_and_missing_parts_are_named() {
        fails(
            r#"{"notify": [{"on": ["reviews"], "command": ["x"]}]}"#,
            "notify[0].on[0]: no status and no reason of a verdict is named \"reviews\", did you mean `review`?",
        );
        fails(r#"{"notify": [{"on": [], "command": ["x"]}]}"#, "notify[0].on: must name at least one");
        fails(r#"{"notify": [{"on": ["failed"]}]}"#, "notify[0].command: missing");
        fails(r#"{"notify": {"on": ["failed"]}}"#, "notify: expected a list, found an object");
    }
}
