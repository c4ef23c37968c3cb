//! `notify`: programs, addresses and people that receive events.

use std::time::Duration;

use serde_json::json;

use super::super::key_kinds::{ARGV, TEXT, ValueForm, as_json, filled_list_of, optional, whole};
use super::super::key_table::{KeyBlock, keys};
use super::super::message_template::{LONGEST, MessageForm, ReadyForm};
use super::super::nearest::format_nearest_hint;
use super::super::problem::quote_text;
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
    "unfinished",
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
    "tests_weakened",
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
    "no_baseline",
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
    "agent_changed",
    "blocked",
    "pending",
    "limit",
];

/// Longer addresses are mistakes.
const LONGEST_URL: usize = 2048;
const LONGEST_MAIL: usize = 254;

/// The keys of which an entry has exactly one.
const TARGETS: [&str; 4] = ["command", "url", "desktop", "mail"];

/// The words that `on` may have.
pub fn notification_words() -> &'static [&'static str] {
    WORDS
}

/// An entry as it is written.
#[derive(Clone, Default)]
pub(in super::super) struct NotifyEntry {
    on: Vec<String>,
    command: Option<Vec<String>>,
    url: Option<String>,
    template: Option<MessageForm>,
    desktop: bool,
    mail: Option<Vec<String>>,
    timeout: Duration,
    retries: u32,
}

const EVENT_WORD: ValueForm<String> = ValueForm {
    read: event_word,
    schema: || json!({"enum": WORDS}),
    words: "word",
    ..TEXT
};

const ADDRESS: ValueForm<String> = ValueForm {
    read: read_url,
    schema: || json!({"type": "string", "pattern": "^https?://[^/?#\\s]+", "maxLength": LONGEST_URL}),
    words: "address",
    ..TEXT
};

const TEMPLATE: ValueForm<MessageForm> = ValueForm {
    read: read_template,
    write: |form| form.source().into(),
    schema: || json!({"type": "string", "pattern": "\\S", "maxLength": LONGEST}),
    words: "`slack`, `discord`, `telegram`, `ntfy`, or a text with placeholders",
};

const DESKTOP: ValueForm<bool> = ValueForm {
    read: |node| {
        let on = node.flag()?;
        if !on {
            node.wrong("must be true; leave the entry out to send nothing");
        }
        on.then_some(true)
    },
    write: as_json,
    schema: || json!({"const": true}),
    words: "true",
};

const MAIL: ValueForm<Vec<String>> = ValueForm {
    read: read_mail_addresses,
    write: |to| match &to[..] {
        [address] => as_json(address),
        _ => as_json(to),
    },
    schema: || {
        let address =
            json!({"type": "string", "pattern": "^[^@\\s]+@[^@\\s]+$", "maxLength": LONGEST_MAIL});
        json!({"oneOf": [address, {"type": "array", "items": address, "minItems": 1}]})
    },
    words: "address of mail, or a list of them",
};

pub(in super::super) static BLOCK: KeyBlock<NotifyEntry> = KeyBlock {
    name: "notify[]",
    defaults: || NotifyEntry {
        command: None,
        ..NotifyRule::new(NotifyTarget::Command(Vec::new())).into()
    },
    keys: keys! { NotifyEntry;
        "on" => on: filled_list_of(EVENT_WORD, "must name at least one status, reason or kind of event"),
            "statuses or reasons of a verdict, such as `review` or `breaker_open`, or [kinds of events](events.md#kinds)",
            mark_required("it lists the statuses, reasons or kinds of events to tell about");
        "command" => command: optional(ARGV), "the program to run then";
        "url" => url: optional(ADDRESS), "instead of a program: the address to post to, http or https";
        "template" => template: optional(TEMPLATE),
            "beside `url`: a message for people, in the [form](notifications.md) of this service or your own";
        "desktop" => desktop: DESKTOP, "instead of a program: show it on the desktop", written_where(|entry| entry.desktop),
            without_default();
        "mail" => mail: optional(MAIL), "instead of a program: send it by mail, through the system's sendmail";
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
        schema["oneOf"] = TARGETS
            .iter()
            .map(|target| json!({"required": [target]}))
            .collect();
        schema["dependentRequired"] = json!({"template": ["url"]});
        schema
    },
    words: "rule",
};

/// Exactly one of the targets, and a template only where it can be used.
fn one_target(section: &ConfigSection<'_>, entry: &mut NotifyEntry, right: bool) {
    let mut given = TARGETS
        .iter()
        .filter_map(|target| Some((target, section.get(target)?)));
    match given.next() {
        None => section.missing(
            "command",
            "it is the program to run, with its arguments; or give `url`, the address to post to, or `desktop`, or `mail`",
        ),
        Some((first, _)) => given.for_each(|(_, other)| other.wrong(format!("stands beside `{first}`; give two entries to tell both"))),
    }
    let Some(template) = section.get("template") else {
        return;
    };
    match (section.get("url"), &entry.url) {
        (None, _) => template.wrong("belongs beside `url`, the address to post to"),
        (Some(node), Some(url))
            if right
                && entry.template == Some(MessageForm::Ready(ReadyForm::Telegram))
                && !is_telegram(url) =>
        {
            node.wrong("names no chat; for Telegram it is https://api.telegram.org/bot<token>/sendMessage?chat_id=<chat>");
        }
        _ => {}
    }
}

/// Whether an address calls `sendMessage` for a chat.
fn is_telegram(url: &str) -> bool {
    let (path, query) = url
        .split('#')
        .next()
        .unwrap_or_default()
        .split_once('?')
        .unwrap_or((url, ""));
    let named = |pair: &str| {
        pair.strip_prefix("chat_id=")
            .is_some_and(|chat| !chat.is_empty())
    };
    path.ends_with("/sendMessage") && query.split('&').any(named)
}

impl NotifyEntry {
    fn rule(self) -> Option<NotifyRule> {
        let to = match (self.command, self.url, self.mail) {
            (Some(argv), ..) => NotifyTarget::Command(argv),
            (_, Some(url), _) => match self.template {
                Some(form) => NotifyTarget::Service { url, form },
                None => NotifyTarget::Url(url),
            },
            (.., Some(to)) => NotifyTarget::Mail(to),
            _ if self.desktop => NotifyTarget::Desktop,
            _ => return None,
        };
        Some(NotifyRule {
            on: self.on,
            to,
            timeout: self.timeout,
            retries: self.retries,
        })
    }
}

impl From<NotifyRule> for NotifyEntry {
    fn from(rule: NotifyRule) -> Self {
        let NotifyRule {
            on,
            to,
            timeout,
            retries,
        } = rule;
        let mut entry = NotifyEntry {
            on,
            timeout,
            retries,
            ..NotifyEntry::default()
        };
        match to {
            NotifyTarget::Command(argv) => entry.command = Some(argv),
            NotifyTarget::Url(url) => entry.url = Some(url),
            NotifyTarget::Service { url, form } => {
                (entry.url, entry.template) = (Some(url), Some(form))
            }
            NotifyTarget::Desktop => entry.desktop = true,
            NotifyTarget::Mail(to) => entry.mail = Some(to),
        }
        entry
    }
}

fn read_template(node: &ConfigNode<'_>) -> Option<MessageForm> {
    let text = node.text()?;
    MessageForm::parse(&text)
        .map_err(|why| node.wrong(why))
        .ok()
}

/// An address of mail, or several.
fn read_mail_addresses(node: &ConfigNode<'_>) -> Option<Vec<String>> {
    if !node.is_list() {
        return mail_address(node).map(|address| vec![address]);
    }
    let list = node.list(mail_address)?;
    if node.is_empty_list() {
        node.wrong("must name at least one address");
        return None;
    }
    Some(list)
}

/// A plain address, as `me@example.org`: nothing in it can begin another header or another recipient.
fn mail_address(node: &ConfigNode<'_>) -> Option<String> {
    let text = node.text()?;
    let plain = |part: &str, marks: &[u8]| {
        !part.is_empty()
            && !part.starts_with(['-', '.'])
            && part
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || marks.contains(&b))
    };
    let is_address = |(local, host): (&str, &str)| plain(local, b"._+-=&'#~") && plain(host, b".-");
    let right = text.len() <= LONGEST_MAIL && text.split_once('@').is_some_and(is_address);
    if !right {
        node.report_expected("an address such as me@example.org");
    }
    right.then_some(text)
}

fn read_url(node: &ConfigNode<'_>) -> Option<String> {
    let text = node.text()?;
    let after_scheme = ["http://", "https://"]
        .iter()
        .find_map(|scheme| text.strip_prefix(scheme));
    let host = after_scheme.map(|after_scheme| {
        after_scheme
            .split(['/', '?', '#'])
            .next()
            .unwrap_or_default()
    });
    let plain = text.len() <= LONGEST_URL && text.bytes().all(|b| b.is_ascii_graphic());
    if plain
        && host
            .is_some_and(|host| !host.is_empty() && !host.starts_with(':') && !host.ends_with('@'))
    {
        return Some(text);
    }
    node.report_expected("an address that begins with http:// or https://, in plain ASCII");
    None
}

/// A word; the message for another names the nearest, and not all sixty.
fn event_word(node: &ConfigNode<'_>) -> Option<String> {
    let text = node.text()?;
    if WORDS.contains(&text.as_str()) {
        return Some(text);
    }
    let near = format_nearest_hint(&text, WORDS.iter().copied());
    node.wrong(format!(
        "no status, no reason of a verdict and no kind of event is named {}{near}",
        quote_text(&text)
    ));
    None
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::super::message_template::{MessageForm, ReadyForm};
    use super::super::super::parse::testing::{fails, reads};
    use super::super::super::settings::NotifyTarget;

    #[test]
    fn statuses_reasons_and_kinds_set_it_off() {
        let rules =
            reads(r#"{"notify": [{"on": ["review", "breaker_open", "iteration"], "command": ["notify-send", "watchdog"]}]}"#).notify;
        assert_eq!(rules[0].on, ["review", "breaker_open", "iteration"]);
        assert_eq!(
            rules[0].to,
            NotifyTarget::Command(vec!["notify-send".into(), "watchdog".into()])
        );
        assert_eq!(
            (rules[0].timeout, rules[0].retries),
            (Duration::from_secs(10), 5)
        );
    }

    #[test]
    fn every_word_that_is_listed_sets_it_off() {
        let words = super::notification_words();
        assert!(
            ["complete", "review", "breaker_open", "iteration"]
                .iter()
                .all(|word| words.contains(word)),
            "{words:?}"
        );
        for word in words {
            let rules = reads(&format!(
                r#"{{"notify": [{{"on": ["{word}"], "command": ["x"]}}]}}"#
            ))
            .notify;
            assert_eq!(rules[0].on, [*word]);
        }
    }

    #[test]
    fn an_address_has_a_scheme_and_a_host() {
        for url in [
            "http://127.0.0.1:8080/hook",
            "https://example.invalid",
            "https://u:p@example.invalid/a?b=c#d",
            "http://[::1]:9",
        ] {
            let text = format!(
                r#"{{"notify": [{{"on": ["failed"], "url": "{url}", "timeout_seconds": 3, "retries": 0}}]}}"#
            );
            let rules = reads(&text).notify;
            assert_eq!(rules[0].to, NotifyTarget::Url(url.into()));
            assert_eq!(
                (rules[0].timeout, rules[0].retries),
                (Duration::from_secs(3), 0)
            );
        }
        for url in [
            "example.invalid",
            "ftp://example.invalid",
            "https://",
            "http:///path",
            "http://:80/",
            "https://a b",
            "https://ü",
        ] {
            let text = format!(r#"{{"notify": [{{"on": ["failed"], "url": "{url}"}}]}}"#);
            fails(
                &text,
                "notify[0].url: expected an address that begins with http:// or https://",
            );
        }
    }

    #[test]
    fn people_are_reached_by_desktop_mail_and_services() {
        let to = |target: &str| {
            reads(&format!(
                r#"{{"notify": [{{"on": ["failed"], {target}}}]}}"#
            ))
            .notify[0]
                .to
                .clone()
        };
        assert_eq!(to(r#""desktop": true"#), NotifyTarget::Desktop);
        assert_eq!(
            to(r#""mail": "me+x@example.org""#),
            NotifyTarget::Mail(vec!["me+x@example.org".into()])
        );
        assert_eq!(
            to(r#""mail": ["a@b", "root@localhost"]"#),
            NotifyTarget::Mail(vec!["a@b".into(), "root@localhost".into()])
        );
        let url = "https://api.telegram.org/bot1:A/sendMessage?chat_id=-5&x=1";
        let telegram = NotifyTarget::Service {
            url: url.into(),
            form: MessageForm::Ready(ReadyForm::Telegram),
        };
        assert_eq!(
            to(&format!(r#""url": "{url}", "template": "telegram""#)),
            telegram
        );
        assert!(matches!(
            to(r#""url": "http://x", "template": "{title}""#),
            NotifyTarget::Service {
                form: MessageForm::Own(_),
                ..
            }
        ));
    }

    #[test]
    fn mail_target_is_one_address_with_optional_template() {
        for address in [
            "me",
            "@b",
            "a@",
            "a@b,c@d",
            "a@b\\nBcc: x@y",
            "a b@c",
            "A <a@b>",
            "-oQ/tmp@b",
            "a@-b",
            "ü@b",
            "a@b@c",
            "a\\\\@b",
        ] {
            let text = format!(r#"{{"notify": [{{"on": ["failed"], "mail": "{address}"}}]}}"#);
            fails(
                &text,
                "notify[0].mail: expected an address such as me@example.org",
            );
        }
        let fails_as = |target: &str, message: &str| {
            fails(
                &format!(r#"{{"notify": [{{"on": ["failed"], {target}}}]}}"#),
                message,
            )
        };
        fails_as(
            r#""mail": []"#,
            "notify[0].mail: must name at least one address",
        );
        fails_as(
            r#""mail": ["a@b", "c"]"#,
            "notify[0].mail[1]: expected an address",
        );
        fails_as(r#""desktop": false"#, "notify[0].desktop: must be true");
        fails_as(
            r#""desktop": true, "template": "slack""#,
            "notify[0].template: belongs beside `url`",
        );
        fails_as(
            r#""url": "http://x", "template": "slak""#,
            "notify[0].template: no ready template has this name, did you mean `slack`?",
        );
        fails_as(
            r#""url": "http://x", "template": "{titel}""#,
            "notify[0].template: unknown placeholder `{titel}`, did you mean `title`?",
        );
        for url in [
            "http://x/sendMessage",
            "http://x/sendMessage?chat_id=",
            "http://x?chat_id=1",
        ] {
            fails_as(
                &format!(r#""url": "{url}", "template": "telegram""#),
                "notify[0].url: names no chat",
            );
        }
    }

    #[test]
    fn other_words_and_missing_parts_are_named() {
        fails(
            r#"{"notify": [{"on": ["reviews"], "command": ["x"]}]}"#,
            "notify[0].on[0]: no status, no reason of a verdict and no kind of event is named \"reviews\", did you mean `review`?",
        );
        fails(
            r#"{"notify": [{"on": ["notify"], "command": ["x"]}]}"#,
            "notify[0].on[0]: no status",
        );
        fails(
            r#"{"notify": [{"on": [], "command": ["x"]}]}"#,
            "notify[0].on: must name at least one",
        );
        fails(
            r#"{"notify": [{"on": ["failed"]}]}"#,
            "notify[0].command: missing",
        );
        fails(
            r#"{"notify": [{"on": ["failed"], "command": ["x"], "url": "http://x"}]}"#,
            "notify[0].url: stands beside `command`",
        );
        fails(
            r#"{"notify": [{"on": ["failed"], "command": ["x"], "retries": 21}]}"#,
            "notify[0].retries: expected a whole number from 0",
        );
        fails(
            r#"{"notify": [{"on": ["failed"], "command": ["x"], "timeout_seconds": 0}]}"#,
            "notify[0].timeout_seconds: expected",
        );
        fails(
            r#"{"notify": [{"on": ["failed"], "command": ["x"], "timeout_second": 3}]}"#,
            "did you mean `timeout_seconds`?",
        );
        fails(
            r#"{"notify": [{"on": ["failed"], "url": "http://x", "desktop": true, "mail": "a@b"}]}"#,
            "notify[0].desktop: stands beside `url`; give two entries to tell both",
        );
        fails(
            r#"{"notify": {"on": ["failed"]}}"#,
            "notify: expected a list, found an object",
        );
    }
}
