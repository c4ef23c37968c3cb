//! Rules by which the events of a user's own agent are read: what an event must hold, and where in it the id, the text, the end and the
//! usage stand, as JSON pointers (RFC 6901).

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::dialect::StreamDialect;
use super::fields::{content_text, cut_middle};
use super::figures::{ResultUsage, TokenCounts};
use super::session_fold::SessionFold;
use watchdog_facts::refused_tool::RefusalCause;

/// Rules of one preset.
const RULES: usize = 64;
/// Conditions of one rule.
const CONDITIONS: usize = 16;
/// Bytes of one pointer.
const POINTER: usize = 200;

/// How the events of an agent are read: the `stream` block of its preset.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "StreamBlock")]
pub enum StreamFormat {
    /// By the reader of this dialect.
    Dialect(StreamDialect),
    /// By these rules.
    Rules(StreamRules),
}

/// Rules that were checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamRules {
    events: Vec<EventRule>,
}

/// A rule: every one whose conditions an event meets is applied to it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EventRule {
    /// Values that the event must have, by pointer; at least one.
    pub when: BTreeMap<String, Value>,
    /// The place of the session's id.
    pub session_id: Option<String>,
    /// The place of a text of the agent.
    pub text: Option<String>,
    /// The place of a part of a text, to be joined to the part before.
    pub text_part: Option<String>,
    /// The session is over, and this is how.
    pub end: Option<RuledEnd>,
    /// The place of the tokens that were read.
    pub input_tokens: Option<String>,
    /// The place of the tokens that were written.
    pub output_tokens: Option<String>,
    /// The place of the US dollars.
    pub cost_usd: Option<String>,
    /// The scope that the tokens and dollars count.
    pub usage_of: Option<RuledUsage>,
    /// The place of an error's message.
    pub error: Option<String>,
    /// The place of the service's HTTP status.
    pub error_status: Option<String>,
    /// The session met a usage limit.
    pub limit: bool,
    /// The place of the limit's end: RFC 3339, or seconds since 1970.
    pub limit_until: Option<String>,
    /// The agent is not logged in.
    pub login_missing: bool,
    /// The place of the name of a tool that the agent was refused.
    pub refused_tool: Option<String>,
    /// The place of the reason for a repeated request.
    pub retry: Option<String>,
}

/// How a session ended, by a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuledEnd {
    /// It did what it should.
    Success,
    /// It failed.
    Failure,
}

/// The scope that the figures of an event count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuledUsage {
    /// A single step, reported once: they are added up.
    #[default]
    Step,
    /// The whole session so far, earlier runs of it included.
    Session,
}

/// The block as it is written.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct StreamBlock {
    #[serde(default)]
    dialect: Option<StreamDialect>,
    #[serde(default)]
    events: Option<Vec<EventRule>>,
}

impl TryFrom<StreamBlock> for StreamFormat {
    type Error = String;

    fn try_from(block: StreamBlock) -> Result<Self, String> {
        match (block.dialect, block.events) {
            (Some(dialect), None) => Ok(StreamFormat::Dialect(dialect)),
            (None, Some(events)) => StreamRules::new(events).map(StreamFormat::Rules),
            (Some(_), Some(_)) => {
                Err("`stream` has both `dialect` and `events`; keep one of them".into())
            }
            (None, None) => Err("`stream` names neither a `dialect` nor `events`".into()),
        }
    }
}

impl EventRule {
    fn pointers(&self) -> impl Iterator<Item = &str> {
        let named = [
            &self.session_id,
            &self.text,
            &self.text_part,
            &self.input_tokens,
            &self.output_tokens,
            &self.cost_usd,
            &self.error,
            &self.error_status,
            &self.limit_until,
            &self.refused_tool,
            &self.retry,
        ];
        self.when
            .keys()
            .map(String::as_str)
            .chain(named.into_iter().flatten().map(String::as_str))
    }
}

impl StreamRules {
    /// Checks rules.
    ///
    /// # Errors
    /// A sentence that names the rule, from 1, and what is wrong with it.
    pub fn new(events: Vec<EventRule>) -> Result<Self, String> {
        if events.is_empty() || events.len() > RULES {
            return Err(format!(
                "`stream.events` has {} rules; it takes 1 to {RULES}",
                events.len()
            ));
        }
        for (at, rule) in events.iter().enumerate() {
            let number = at + 1;
            if rule.when.is_empty() || rule.when.len() > CONDITIONS {
                return Err(format!(
                    "rule {number} of `stream.events` needs 1 to {CONDITIONS} conditions in `when`"
                ));
            }
            if let Some(pointer) = rule
                .pointers()
                .find(|pointer| !pointer.starts_with('/') || pointer.len() > POINTER)
            {
                return Err(format!(
                    "rule {number} of `stream.events`: '{pointer}' is no JSON pointer; it begins with '/', as in '/type'"
                ));
            }
        }
        Ok(StreamRules { events })
    }

    /// Whether they say how a session ends, so that one without such an event did not report its success.
    pub fn tell_an_end(&self) -> bool {
        self.events.iter().any(|rule| rule.end.is_some())
    }

    /// Whether they say that a request is sent again.
    pub fn tell_retries(&self) -> bool {
        self.events.iter().any(|rule| rule.retry.is_some())
    }

    /// The word by which the rules tell an event from others; `None` where it has none.
    pub(super) fn kind<'a>(&self, event: &'a Value) -> Option<&'a str> {
        self.events
            .iter()
            .flat_map(|rule| rule.when.keys())
            .find_map(|pointer| event.pointer(pointer)?.as_str())
    }

    /// Takes an event; says whether a rule speaks of it.
    pub(super) fn take(&self, gathered: &mut SessionFold, event: &Value) -> bool {
        let meets = |rule: &EventRule| {
            rule.when
                .iter()
                .all(|(pointer, value)| event.pointer(pointer) == Some(value))
        };
        let mut taken = false;
        for rule in self.events.iter().filter(|rule| meets(rule)) {
            taken = true;
            apply_rule(rule, gathered, event);
        }
        taken
    }
}

fn apply_rule(rule: &EventRule, gathered: &mut SessionFold, event: &Value) {
    let at = |pointer: &Option<String>| {
        event
            .pointer(pointer.as_deref()?)
            .filter(|value| !value.is_null())
    };
    let words = |pointer: &Option<String>| {
        at(pointer)
            .map(content_text)
            .filter(|words| !words.trim().is_empty())
    };
    gathered.session(at(&rule.session_id).and_then(Value::as_str));
    if let Some(text) = words(&rule.text) {
        gathered.says(&text, None);
    }
    if let Some(part) = at(&rule.text_part).map(content_text) {
        gathered.says_more(&part);
    }
    let count = |pointer: &Option<String>| at(pointer).and_then(Value::as_u64);
    let (input, output) = (count(&rule.input_tokens), count(&rule.output_tokens));
    let tokens = (input.is_some() || output.is_some()).then(|| TokenCounts {
        input: input.unwrap_or(0),
        output: output.unwrap_or(0),
    });
    let cost = at(&rule.cost_usd)
        .and_then(Value::as_f64)
        .filter(|amount| amount.is_finite() && *amount >= 0.0);
    match rule.usage_of.unwrap_or_default() {
        RuledUsage::Step if tokens.is_some() || cost.is_some() => {
            gathered.figures.step(tokens.unwrap_or_default(), cost)
        }
        RuledUsage::Step => {}
        RuledUsage::Session => {
            if let Some(tokens) = tokens {
                gathered.figures.so_far(tokens);
            }
            if cost.is_some() {
                gathered.figures.settle(&ResultUsage {
                    session_cost: cost,
                    ..ResultUsage::default()
                });
            }
        }
    }
    if let Some(tool) = words(&rule.refused_tool) {
        gathered.refuses_for(&tool, RefusalCause::Permission);
    }
    if let Some(why) = words(&rule.retry) {
        gathered.retries_for(cut_middle(&why, 200));
    }
    apply_failure(
        rule,
        gathered,
        words(&rule.error),
        count(&rule.error_status),
    );
    if let Some(until) = at(&rule.limit_until) {
        gathered.reported.limit_ends = parse_instant(until).or(gathered.reported.limit_ends);
    }
    match rule.end {
        Some(RuledEnd::Success) => {
            gathered.reported.ended = Some("success".into());
            gathered.recovers();
        }
        Some(RuledEnd::Failure) => {
            gathered.reported.ended = Some("failure".into());
            if gathered.reported.error.is_none() {
                gathered.fails("it does not say which error".into(), None);
            }
        }
        None => {}
    }
}

/// An error, a limit or a login: the status stands for the kind where the event names none.
fn apply_failure(
    rule: &EventRule,
    gathered: &mut SessionFold,
    message: Option<String>,
    status: Option<u64>,
) {
    let kind = match (rule.limit, rule.login_missing) {
        (true, _) => Some((429, "a usage limit is reached")),
        (false, true) => Some((401, "not logged in")),
        (false, false) => None,
    };
    match (message, kind) {
        (None, None) => {}
        (message, Some((code, words))) => gathered.fails(
            cut_middle(message.as_deref().unwrap_or(words), 4000),
            Some(code),
        ),
        (Some(message), None) => gathered.fails(cut_middle(&message, 4000), status),
    }
}

fn parse_instant(value: &Value) -> Option<Timestamp> {
    match value {
        Value::String(text) => text.parse().ok(),
        Value::Number(seconds) => Timestamp::from_second(seconds.as_i64()?).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use serde_json::json;

    use super::super::StreamReader;
    use super::*;

    const ID: &str = "0a0a0a0a-0000-4000-8000-000000000001";

    fn rules() -> Value {
        json!({"events": [
            {"when": {"/kind": "begin"}, "session_id": "/session/id"},
            {"when": {"/kind": "say"}, "text": "/body/0/text"},
            {"when": {"/kind": "tokens"}, "input_tokens": "/in", "output_tokens": "/out", "cost_usd": "/usd"},
            {"when": {"/kind": "denied"}, "refused_tool": "/tool"},
            {"when": {"/kind": "again"}, "retry": "/why"},
            {"when": {"/kind": "stop", "/ok": true}, "end": "success"},
            {"when": {"/kind": "stop", "/ok": false}, "end": "failure", "error": "/message", "error_status": "/status"},
            {"when": {"/kind": "stop", "/code": "quota"}, "limit": true, "error": "/message", "limit_until": "/until"},
            {"when": {"/kind": "stop", "/code": "auth"}, "login_missing": true},
        ]})
    }

    fn format(block: Value) -> Result<StreamFormat, String> {
        serde_json::from_value(block).map_err(|error| error.to_string())
    }

    fn read(events: &[Value]) -> super::super::SessionSummary {
        let mut reader = StreamReader::with_format(&format(rules()).expect("good rules"));
        reader.push(
            events
                .iter()
                .map(|event| format!("{event}\n"))
                .collect::<String>()
                .as_bytes(),
        );
        reader.finish()
    }

    #[test]
    fn rules_report_everything_a_dialect_reports() {
        let summary = read(&[
            json!({"kind": "begin", "session": {"id": ID}}),
            json!({"kind": "say", "body": [{"text": "All done."}]}),
            json!({"kind": "tokens", "in": 10, "out": 2, "usd": 0.5}),
            json!({"kind": "tokens", "in": 5, "out": 1, "usd": 0.25}),
            json!({"kind": "denied", "tool": "shell"}),
            json!({"kind": "again", "why": "busy"}),
            json!({"kind": "stop", "ok": true}),
        ]);
        assert_eq!(
            (
                summary.structured,
                summary.session_id.as_deref(),
                summary.output.as_deref()
            ),
            (true, Some(ID), Some("All done."))
        );
        assert_eq!(
            (
                summary.usage.input_tokens,
                summary.usage.output_tokens,
                summary.usage.cost_usd
            ),
            (Some(15), Some(3), Some(0.75))
        );
        assert_eq!(
            (
                summary.refused_tools.len(),
                summary.known_retries(),
                summary.reports_success()
            ),
            (1, Some(1), true)
        );
        let limited = read(&[
            json!({"kind": "stop", "ok": false, "code": "quota", "message": "no more", "until": 1_787_200_000}),
        ]);
        assert_eq!(
            (
                limited.error.as_deref(),
                limited.error_status,
                limited.ended.as_deref()
            ),
            (Some("no more"), Some(429), Some("failure"))
        );
        assert_eq!(
            limited.limit_ends.map(|at| at.as_second()),
            Some(1_787_200_000)
        );
        let login = read(&[json!({"kind": "stop", "ok": false, "code": "auth"})]);
        assert_eq!(login.error_status, Some(401));
        let stopped = read(&[json!({"kind": "begin", "session": {"id": ID}})]);
        assert!(stopped.expects_end && !stopped.reports_success());
        assert!(
            !read(&[
                json!({"kind": "unknown"}),
                json!({"type": "result", "result": "x"})
            ])
            .structured,
            "no rule speaks of them"
        );
        assert_eq!(
            read(&[json!({"kind": "begin", "session": {"id": "--yolo"}})]).session_id,
            None
        );
    }

    #[test]
    fn invalid_stream_block_is_refused_with_remedy() {
        assert_eq!(
            format(json!({"dialect": "codex"})),
            Ok(StreamFormat::Dialect(StreamDialect::Codex))
        );
        let many = vec![json!({"when": {"/a": 1}}); RULES + 1];
        for (block, word) in [
            (json!({}), "neither"),
            (json!({"dialect": "codex", "events": []}), "both"),
            (json!({"events": []}), "1 to 64"),
            (json!({"events": many}), "65 rules"),
            (json!({"events": [{"text": "/a"}]}), "rule 1"),
            (
                json!({"events": [{"when": {"/a": 1}}, {"when": {"a": 1}}]}),
                "'a' is no JSON pointer",
            ),
            (
                json!({"events": [{"when": {"/a": 1}, "text": "result"}]}),
                "'result' is no JSON pointer",
            ),
            (
                json!({"events": [{"when": {"/a": 1}, "texts": "/a"}]}),
                "texts",
            ),
            (json!({"dialect": "klingon"}), "klingon"),
        ] {
            let refused = format(block).expect_err("it cannot be meant");
            assert!(refused.contains(word), "{refused}");
        }
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            "[a-z/~0-9é]{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(
                    "(kind|body|in|out|usd|until|status|message|ok|[a-z]{0,3})",
                    inner,
                    0..5
                )
                .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn no_event_and_no_rule_panics(event in any_value(), pointer in "/[a-z~0-9/]{0,12}", value in any_value()) {
            let named = Some(pointer.clone());
            let rule = EventRule {
                when: [(pointer, value)].into(), session_id: named.clone(), text: named.clone(), text_part: named.clone(),
                input_tokens: named.clone(), output_tokens: named.clone(), cost_usd: named.clone(), error: named.clone(),
                limit_until: named.clone(), refused_tool: named.clone(), retry: named, limit: true, end: Some(RuledEnd::Failure),
                ..EventRule::default()
            };
            let rules = Arc::new(StreamRules::new(vec![rule]).expect("good rules"));
            let mut gathered = SessionFold::default();
            for _ in 0..3 {
                rules.take(&mut gathered, &event);
            }
            let _ = gathered.summary();
        }
    }
}
