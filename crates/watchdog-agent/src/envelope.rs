//! Parses the structure that known agents print around an answer: one object, an array of events or lines of events. Folds their events,
//! which `stream` reads.
//!
//! Drops unknown keys and events at once, so that a hostile output costs little memory.

use std::fmt;
use std::sync::LazyLock;

use regex::bytes::Regex;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::session_id::{ID_MEMBERS, ID_PATTERN, named_session};
use super::stream::{
    FinalResult, REPLY_MEMBERS, ReplyEvent, SessionSummary, event_kind, reply_event,
};

/// Bytes of an output that are searched for an envelope: its end.
const CAP: usize = 2 * 1024 * 1024;
/// Errors on the way that are kept.
const ERRORS: usize = 8;

/// The content of an agent's structured output.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReplyEnvelope {
    /// The final answer as text; `None` if there was none.
    pub text: Option<String>,
    /// The answer that followed a requested schema.
    pub structured_output: Option<Value>,
    /// Whether the program itself calls it an error.
    pub is_error: bool,
    /// The messages of the error.
    pub errors: Vec<String>,
    /// The HTTP status of the service, where that was the error.
    pub api_error_status: Option<u64>,
    /// Why the run ended, in the program's own word, such as `api_error`.
    pub terminal_reason: Option<String>,
    /// The session that answered.
    pub session_id: Option<String>,
}

impl ReplyEnvelope {
    /// The same of an answer whose events were read as a session's: by the dialect or the rules of its preset.
    pub fn of_summary(summary: &SessionSummary) -> Option<Self> {
        summary.structured.then(|| ReplyEnvelope {
            text: summary.output.clone(),
            structured_output: summary.structured_output.clone(),
            is_error: summary.error.is_some(),
            errors: summary.error.iter().cloned().collect(),
            api_error_status: summary.error_status,
            terminal_reason: summary.ended.clone(),
            session_id: summary.session_id.clone(),
        })
    }

    /// Everything that was said about the error, on one line each.
    pub fn error_text(&self) -> String {
        let error_words: Vec<&str> = self
            .errors
            .iter()
            .map(String::as_str)
            .chain(self.text.as_deref())
            .filter(|t| !t.is_empty())
            .collect();
        match (error_words.is_empty(), &self.terminal_reason) {
            (false, _) => error_words.join("\n"),
            (true, Some(reason)) => reason.clone(),
            (true, None) => "it does not say which".into(),
        }
    }
}

/// Reads the envelope of an output. `None`: there is none, it is prose.
///
/// Lines count as events only if the first or the last of them is one, so that an example within prose does not.
pub fn read_envelope(bytes: &[u8]) -> Option<ReplyEnvelope> {
    let bytes = bytes
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(bytes)
        .trim_ascii();
    if bytes.len() <= CAP && bytes.starts_with(b"{") {
        if let Ok(event) = serde_json::from_slice::<EnvelopeEvent>(bytes) {
            return fold_events([event]);
        }
    } else if bytes.len() <= CAP
        && bytes.starts_with(b"[")
        && let Ok(EnvelopeEvents(folded)) = serde_json::from_slice(bytes)
    {
        return folded.into_envelope();
    }
    from_lines(bytes)
}

fn from_lines(bytes: &[u8]) -> Option<ReplyEnvelope> {
    let tail = &bytes[bytes.len().saturating_sub(CAP)..];
    // Without a line end in sight nothing in there can be a whole event.
    let tail = if tail.len() < bytes.len() {
        &tail[tail.iter().position(|b| *b == b'\n')?..]
    } else {
        tail
    };
    let lines = || {
        tail.split(|b| *b == b'\n')
            .map(<[u8]>::trim_ascii)
            .filter(|line| !line.is_empty())
    };
    let is_event = |line: &[u8]| {
        serde_json::from_slice::<EnvelopeEvent>(line)
            .is_ok_and(|EnvelopeEvent(event)| event_kind(&event).is_some())
    };
    if !is_event(lines().next()?) && !is_event(lines().next_back()?) {
        return None;
    }
    fold_events(
        lines()
            .filter(|line| line.starts_with(b"{"))
            .filter_map(|line| serde_json::from_slice(line).ok()),
    )
}

/// Reads the error object with which Gemini's `-o json` ends its stderr, behind warnings and a
/// stack trace. Returns `None` if the output does not end with one.
pub(super) fn error_at_the_end(bytes: &[u8]) -> Option<ReplyEnvelope> {
    let tail = bytes[bytes.len().saturating_sub(CAP)..].trim_ascii_end();
    if !tail.ends_with(b"}") {
        return None;
    }
    let begins = |at: usize| tail[at..].starts_with(b"{") && (at == 0 || tail[at - 1] == b'\n');
    let start = (0..tail.len())
        .rev()
        .filter(|at| begins(*at))
        .take(ERRORS)
        .find_map(|at| {
            let EnvelopeEvent(event) = serde_json::from_slice(&tail[at..]).ok()?;
            (event_kind(&event).is_none() && event.get("error").is_some_and(Value::is_object))
                .then_some(at)
        })?;
    fold_events([serde_json::from_slice(&tail[start..]).ok()?])
}

/// The id of the session that an agent's output belongs to, for a probe to resume.
///
/// Takes any part of the output (its head or its tail) of a session that prints JSON or stream-json. The last event that
/// names an id wins. [`super::session_id`] says what is one, so it is safe as an argument.
pub fn session_id_in(bytes: &[u8]) -> Option<String> {
    static NAMED: LazyLock<Regex> = LazyLock::new(|| {
        let members = ID_MEMBERS.join("|");
        Regex::new(&format!(
            r#"[{{,]\s*"(?:{members})"\s*:\s*"({ID_PATTERN})""#
        ))
        .expect("the pattern is a constant")
    });
    static RESULT: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#"[{,]\s*"type"\s*:\s*"result"\s*[,}]"#).expect("the pattern is a constant")
    });
    if let Some(id) = read_envelope(bytes).and_then(|reply_envelope| reply_envelope.session_id) {
        return Some(id);
    }
    // A tail that begins within the one line of `--output-format json`: the key, unescaped, is still there.
    // Prose may quote such a line, so it must be the last line, a result, and name one session only.
    let tail = bytes[bytes.len().saturating_sub(CAP)..].trim_ascii_end();
    let line = tail.rsplit(|b| *b == b'\n').next().unwrap_or_default();
    if !line.ends_with(b"}") || !RESULT.is_match(line) {
        return None;
    }
    let mut ids = NAMED
        .captures_iter(line)
        .map(|captures| String::from_utf8_lossy(&captures[1]).into_owned());
    let first = ids.next()?;
    ids.all(|id| id == first).then_some(first)
}

/// The members of one event that matter, as an object; the others are read past.
struct EnvelopeEvent(Value);

impl<'de> Deserialize<'de> for EnvelopeEvent {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct EventObjectVisitor;
        impl<'de> Visitor<'de> for EventObjectVisitor {
            type Value = EnvelopeEvent;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an event")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<EnvelopeEvent, A::Error> {
                let mut members = serde_json::Map::new();
                while let Some(key) = map.next_key::<String>()? {
                    if REPLY_MEMBERS.contains(&key.as_str()) {
                        members.insert(key, map.next_value()?);
                    } else {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
                Ok(EnvelopeEvent(Value::Object(members)))
            }
        }
        from.deserialize_map(EventObjectVisitor)
    }
}

/// An array of events, folded while it is read.
struct EnvelopeEvents(EnvelopeFold);

impl<'de> Deserialize<'de> for EnvelopeEvents {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct EventArrayVisitor;
        impl<'de> Visitor<'de> for EventArrayVisitor {
            type Value = EnvelopeEvents;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array of events")
            }
            fn visit_seq<A: SeqAccess<'de>>(
                self,
                mut items: A,
            ) -> Result<EnvelopeEvents, A::Error> {
                let mut folded = EnvelopeFold::default();
                while let Some(event) = items.next_element::<EnvelopeEvent>()? {
                    folded.take(event);
                }
                Ok(EnvelopeEvents(folded))
            }
        }
        from.deserialize_seq(EventArrayVisitor)
    }
}

fn fold_events(events: impl IntoIterator<Item = EnvelopeEvent>) -> Option<ReplyEnvelope> {
    let mut folded = EnvelopeFold::default();
    for event in events {
        folded.take(event);
    }
    folded.into_envelope()
}

#[derive(Default)]
struct EnvelopeFold {
    envelope: ReplyEnvelope,
    /// Whether the envelope is a final result, rather than an intermediate message.
    result: bool,
    has_event: bool,
}

impl EnvelopeFold {
    fn into_envelope(self) -> Option<ReplyEnvelope> {
        self.has_event.then_some(self.envelope)
    }

    fn take(&mut self, EnvelopeEvent(event): EnvelopeEvent) {
        if let Some(id) = named_session(&event) {
            self.envelope.session_id = Some(id.to_owned());
        }
        let Some(event) = reply_event(&event) else {
            return;
        };
        self.has_event = true;
        match event {
            ReplyEvent::Other => {}
            ReplyEvent::Recovered => self.clear_errors(),
            ReplyEvent::Said {
                text,
                is_error,
                api_error_status,
            } => {
                if !is_error {
                    self.clear_errors();
                }
                self.result = false;
                let before = std::mem::take(&mut self.envelope);
                self.envelope = ReplyEnvelope {
                    text: Some(text),
                    structured_output: None,
                    is_error,
                    api_error_status,
                    ..before
                };
            }
            ReplyEvent::Failed {
                message,
                api_error_status,
            } => self.add_error(message, api_error_status),
            ReplyEvent::Aborted {
                message,
                api_error_status,
            } => {
                self.clear_errors();
                self.envelope.text = None;
                self.add_error(message, api_error_status);
            }
            ReplyEvent::Finished(result) => self.set_final_result(result),
        }
    }

    fn clear_errors(&mut self) {
        self.envelope.is_error = false;
        self.envelope.api_error_status = None;
        self.envelope.errors.clear();
    }

    fn add_error(&mut self, message: Option<String>, api_error_status: Option<u64>) {
        let errors = &mut self.envelope.errors;
        errors.extend(message.filter(|message| errors.len() < ERRORS && !errors.contains(message)));
        self.envelope.is_error = true;
        self.envelope.api_error_status = api_error_status.or(self.envelope.api_error_status);
    }

    /// Of several results (background work makes more turns) the last one counts.
    fn set_final_result(&mut self, result: FinalResult) {
        let FinalResult {
            text,
            structured_output,
            is_error,
            cut_short,
            errors,
            api_error_status,
            terminal_reason,
        } = result;
        // Two results with nothing said between them: the first one's answer is not the second's.
        let last_text = self
            .envelope
            .text
            .take()
            .filter(|_| !self.result && !cut_short);
        // Gemini says which error it was in the event before.
        let errors = if is_error && errors.is_empty() && text.is_none() {
            std::mem::take(&mut self.envelope.errors)
        } else {
            errors
        };
        self.result = true;
        // Without a result event, the assistant's last text is the answer.
        let (text, session_id) = (text.or(last_text), self.envelope.session_id.take());
        self.envelope = ReplyEnvelope {
            text,
            structured_output,
            is_error,
            errors,
            api_error_status,
            terminal_reason,
            session_id,
        };
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ID: &str = "97d38b7d-137f-44c8-a906-ac97e99b783f";
    const OPENCODE_ID: &str = "ses_dfde5e0f2ffeKDNAhfAScDx7E4";
    const OTHER: &str = "11111111-137f-44c8-a906-ac97e99b783f";

    #[test]
    fn any_structured_output_part_names_the_session() {
        let init = json!({"type": "system", "subtype": "init", "session_id": ID}).to_string();
        let result =
            json!({"duration_ms": 1, "session_id": ID, "result": format!("\"session_id\":\"{OTHER}\""), "type": "result"}).to_string();
        for (output, id) in [
            (result.clone(), Some(ID)),
            (format!("{init}\n{{\"type\":\"assi"), Some(ID)),
            (format!("ssage\":\"cut\"}}\n{result}\n"), Some(ID)),
            (
                format!("text that was cut\",\"x\":1,{}", &result[1..]),
                Some(ID),
            ),
            (
                json!({"type": "thread.started", "thread_id": ID}).to_string(),
                Some(ID),
            ),
            (format!("In the log I saw:\n{init}\nbut it is old."), None),
            (format!("The last line was {init}"), None),
            (
                json!({"type": "step_start", "sessionID": OPENCODE_ID, "part": {}}).to_string(),
                Some(OPENCODE_ID),
            ),
            (
                json!({"type": "result", "sessionId": ID, "exitCode": 0}).to_string(),
                Some(ID),
            ),
            (
                json!({"type": "system", "session_id": "--continue"}).to_string(),
                None,
            ),
            (
                format!("{{\"type\":\"user\",\"x\":{{\"session_id\":\"{OTHER}\"}}}}"),
                None,
            ),
            ("plain words".into(), None),
            (String::new(), None),
        ] {
            assert_eq!(session_id_in(output.as_bytes()).as_deref(), id, "{output}");
        }
    }

    #[test]
    fn resumed_turn_clears_an_earlier_error() {
        let lines = |events: &[Value]| {
            events
                .iter()
                .map(Value::to_string)
                .collect::<Vec<_>>()
                .join("\n")
        };
        let lost = json!({"type": "error", "message": "Reconnecting 1/5"});
        let message =
            json!({"type": "item.completed", "item": {"type": "agent_message", "text": "hello"}});
        let failed = json!({"type": "turn.failed", "error": {"message": "no more"}});
        let resumed_reply = read_envelope(
            lines(&[
                lost.clone(),
                message.clone(),
                json!({"type": "turn.completed"}),
            ])
            .as_bytes(),
        )
        .expect("an envelope");
        assert_eq!(
            (resumed_reply.is_error, resumed_reply.text.as_deref()),
            (false, Some("hello"))
        );
        let failed_reply =
            read_envelope(lines(&[message, lost, failed]).as_bytes()).expect("an envelope");
        assert!(failed_reply.is_error && failed_reply.error_text().contains("no more"));
        let gemini =
            json!({"error": {"type": "ApiError", "message": "quota", "code": 429}}).to_string();
        assert_eq!(
            read_envelope(gemini.as_bytes())
                .and_then(|reply_envelope| reply_envelope.api_error_status),
            Some(429)
        );
    }

    #[test]
    fn cut_stream_reports_its_last_messages_error() {
        let message = json!({"type": "assistant", "is_api_error_message": true, "api_error_status": 429, "session_id": ID,
            "message": {"content": [{"type": "text", "text": "API Error: Request rejected (429)"}]}});
        let reply_envelope = read_envelope(message.to_string().as_bytes()).expect("an envelope");
        assert_eq!(
            (
                reply_envelope.is_error,
                reply_envelope.api_error_status,
                reply_envelope.session_id.as_deref()
            ),
            (true, Some(429), Some(ID))
        );
    }

    #[test]
    fn a_long_stream_is_read_from_its_end() {
        let noise =
            json!({"type": "user", "message": {"content": "x".repeat(1000)}}).to_string() + "\n";
        let result = json!({"type": "result", "result": "end"}).to_string();
        let output = noise.repeat(2 * CAP / noise.len()) + &result;
        assert_eq!(
            read_envelope(output.as_bytes())
                .and_then(|reply_envelope| reply_envelope.text)
                .as_deref(),
            Some("end")
        );
        assert_eq!(read_envelope(&vec![b'x'; 2 * CAP]), None);
    }
}
