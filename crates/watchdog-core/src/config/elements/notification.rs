//! `notify`: programs and addresses that receive events.

use std::time::Duration;

use super::super::key_kinds::{ARGV, TEXT, ValueForm, filled_list_of, optional, whole};
use super::super::key_table::{KeyBlock, keys};
use super::super::nearest::hint;
use super::super::problem::shown;
use super::super::reader::{ConfigNode, ConfigSection};
use super::super::settings::{NotifyRule, NotifyTarget};

/// The contract's statuses and reasons, then the kinds of events. Others own these words, and tests hold the lists together;
/// `config` may not import them.
const WORDS: &[&str] = &[
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
    "operation_in_progress",
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
    "session_idle",
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
    "snapshot_failed",
    "baseline",
    "session_started",
    "session_ended",
    "commits",
    "changes",
    "snapshot",
    "probe",
    "check",
    "rescue",
    "restore",
    "dropped",
    "expired",
    "verdict",
    "breaker",
    "trust",
    "degraded",
    "assigned",
    "started",
    "iteration",
    "blocked",
    "pending",
    "limit",
];

/// Longer addresses are mistakes.
const LONGEST_URL: usize = 2048;

/// The words that `on` may have.
pub fn notification_words() -> &'static [&'static str] {
    WORDS
}

/// An entry as it is written.
#[derive(Clone)]
pub(in super::super) struct NotifyEntry {
    on: Vec<String>,
    command: Option<Vec<String>>,
    url: Option<String>,
    timeout: Duration,
    retries: u32,
}

const EVENT_WORD: ValueForm<String> = ValueForm { read: event_word, schema: || serde_json::json!({"enum": WORDS}), words: "word", ..TEXT };

const ADDRESS: ValueForm<String> = ValueForm {
    read: address,
    schema: || serde_json::json!({"type": "string", "pattern": "^https?://[^/?#\\s]+", "maxLength": LONGEST_URL}),
    words: "address",
    ..TEXT
};

pub(in super::super) static BLOCK: KeyBlock<NotifyEntry> = KeyBlock {
    name: "notify[]",
    defaults: || NotifyEntry { command: None, ..NotifyRule::new(NotifyTarget::Command(Vec::new())).into() },
    keys: keys! { NotifyEntry;
        "on" => on: filled_list_of(EVENT_WORD, "must name at least one status, reason or kind of event"),
            "statuses or reasons of a verdict, such as `review` or `breaker_open`, or [kinds of events](events.md#kinds)",
            required("it lists the statuses, reasons or kinds of events to tell about");
        "command" => command: optional(ARGV), "the program to run then";
        "url" => url: optional(ADDRESS), "instead of a program: the address to post to, http or https";
        "timeout_seconds" => timeout: whole(1..=600), "deadline of one attempt";
        "retries" => retries: whole(0..=20), "further attempts after one that failed";
    },
    rules: one_target,
};

/// An entry of `notify`.
pub(in super::super) const ENTRY: ValueForm<NotifyRule> = ValueForm {
    read: |node| BLOCK.read_whole(node)?.rule(),
    write: |rule| BLOCK.write(rule.clone().into()).into(),
    schema: || {
        let mut schema = BLOCK.schema();
        schema["oneOf"] = serde_json::json!([{"required": ["command"]}, {"required": ["url"]}]);
        schema
    },
    words: "rule",
};

/// Exactly one of `command` and `url`.
fn one_target(section: &ConfigSection<'_>, _: &mut NotifyEntry, _: bool) {
    match (section.get("command"), section.get("url")) {
        (Some(_), Some(url)) => url.wrong("stands beside `command`; give two entries to tell both"),
        (None, None) => section.missing("command", "it is the program to run, with its arguments; or give `url`, the address to post to"),
        _ => {}
    }
}

impl NotifyEntry {
    fn rule(self) -> Option<NotifyRule> {
        let to = self.command.map(NotifyTarget::Command).or(self.url.map(NotifyTarget::Url))?;
        Some(NotifyRule { on: self.on, to, timeout: self.timeout, retries: self.retries })
    }
}

impl From<NotifyRule> for NotifyEntry {
    fn from(rule: NotifyRule) -> Self {
        let (command, url) = match rule.to {
            NotifyTarget::Command(argv) => (Some(argv), None),
            NotifyTarget::Url(url) => (None, Some(url)),
        };
        NotifyEntry { on: rule.on, command, url, timeout: rule.timeout, retries: rule.retries }
    }
}

fn address(node: &ConfigNode<'_>) -> Option<String> {
    let text = node.text()?;
    let rest = ["http://", "https://"].iter().find_map(|scheme| text.strip_prefix(scheme));
    let host = rest.map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
    let plain = text.len() <= LONGEST_URL && text.bytes().all(|b| b.is_ascii_graphic());
    if plain && host.is_some_and(|host| !host.is_empty() && !host.starts_with(':') && !host.ends_with('@')) {
        return Some(text);
    }
    node.expected("an address that begins with http:// or https://, in plain ASCII");
    None
}

/// One word; the message for another names the nearest, and not all sixty.
fn event_word(node: &ConfigNode<'_>) -> Option<String> {
    let text = node.text()?;
    if WORDS.contains(&text.as_str()) {
        return Some(text);
    }
    let near = hint(&text, WORDS.iter().copied());
    node.wrong(format!("no status, no reason of a verdict and no kind of event is named {}{near}", shown(&text)));
    None
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::super::parse::testing::{fails, reads};
    use super::super::super::settings::NotifyTarget;

    #[test]
    fn statuses_reasons_and_kinds_set_it_off() {
        let found =
            reads(r#"{"notify": [{"on": ["review", "breaker_open", "iteration"], "command": ["notify-send", "watchdog"]}]}"#).notify;
        assert_eq!(found[0].on, ["review", "breaker_open", "iteration"]);
        assert_eq!(found[0].to, NotifyTarget::Command(vec!["notify-send".into(), "watchdog".into()]));
        assert_eq!((found[0].timeout, found[0].retries), (Duration::from_secs(10), 5));
    }

    #[test]
    fn an_address_has_a_scheme_and_a_host() {
        for url in ["http://127.0.0.1:8080/hook", "https://example.invalid", "https://u:p@example.invalid/a?b=c#d", "http://[::1]:9"] {
            let text = format!(r#"{{"notify": [{{"on": ["failed"], "url": "{url}", "timeout_seconds": 3, "retries": 0}}]}}"#);
            let found = reads(&text).notify;
            assert_eq!(found[0].to, NotifyTarget::Url(url.into()));
            assert_eq!((found[0].timeout, found[0].retries), (Duration::from_secs(3), 0));
        }
        for url in ["example.invalid", "ftp://example.invalid", "https://", "http:///path", "http://:80/", "https://a b", "https://ü"] {
            let text = format!(r#"{{"notify": [{{"on": ["failed"], "url": "{url}"}}]}}"#);
            fails(&text, "notify[0].url: expected an address that begins with http:// or https://");
        }
    }

    #[test]
    fn other_words_and_missing_parts_are_named() {
        fails(
            r#"{"notify": [{"on": ["reviews"], "command": ["x"]}]}"#,
            "notify[0].on[0]: no status, no reason of a verdict and no kind of event is named \"reviews\", did you mean `review`?",
        );
        fails(r#"{"notify": [{"on": ["notify"], "command": ["x"]}]}"#, "notify[0].on[0]: no status");
        fails(r#"{"notify": [{"on": [], "command": ["x"]}]}"#, "notify[0].on: must name at least one");
        fails(r#"{"notify": [{"on": ["failed"]}]}"#, "notify[0].command: missing");
        fails(r#"{"notify": [{"on": ["failed"], "command": ["x"], "url": "http://x"}]}"#, "notify[0].url: stands beside `command`");
        fails(r#"{"notify": [{"on": ["failed"], "command": ["x"], "retries": 21}]}"#, "notify[0].retries: expected a whole number from 0");
        fails(r#"{"notify": [{"on": ["failed"], "command": ["x"], "timeout_seconds": 0}]}"#, "notify[0].timeout_seconds: expected");
        fails(r#"{"notify": [{"on": ["failed"], "command": ["x"], "timeout_second": 3}]}"#, "did you mean `timeout_seconds`?");
        fails(r#"{"notify": {"on": ["failed"]}}"#, "notify: expected a list, found an object");
    }
}
