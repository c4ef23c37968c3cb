//! Parses an agent's answer to a probe from any output of its program. Pure, and bounded on any input.
//!
//! First the structure of the known agents ([`super::envelope`]): structured output, then the text of the answer.
//! Without one, or within that text, the last independent JSON object in the prose (`reply_scan` has the rules).
//!
//! The status is one of three words, in any case and padding, or a plain synonym:
//! `complete` (`completed`, `done`, `finished`), `waiting`, `working` (`in_progress`, `in-progress`, `in progress`, `running`).
//! All other words are unusable: `pending`, `blocked`, `success`, `ok`, and the template `complete|waiting|working`.

use serde_json::{Map, Value};

use super::envelope;
use super::reply_doubt::{doubt_alone, find_doubt, two_words};
use super::reply_fields as fields;
use super::reply_scan::{ReplyScan, last_object};
use watchdog_facts::display::cut_text;
use watchdog_facts::evidence::{Reply, ReplyStatus};
use watchdog_process::plain_text::{WINDOW, plain_text};

/// The content of an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParsedReply {
    /// A usable answer.
    Reply(Reply),
    /// Something, but no usable answer; `why` is for people.
    Unreadable {
        /// The defect of the output.
        why: String,
    },
    /// An empty output.
    Empty,
}

/// Keys that mark an object as a record which some other program printed.
const MARKS_OF_A_RECORD: &[&str] = &[
    "type",
    "event",
    "level",
    "logger",
    "jsonrpc",
    "conclusion",
    "exit_code",
];

/// Reads the answer to a probe from an output.
///
/// Looks at the last 256 KiB (for envelopes at the last 2 MiB) and reads in time linear in that.
pub fn read_reply(bytes: &[u8]) -> ParsedReply {
    match envelope::read_envelope(bytes) {
        Some(reply_envelope) => from_envelope(&reply_envelope),
        None => in_prose(bytes),
    }
}

/// Reads the answer from an envelope that is already open.
pub(super) fn from_envelope(reply_envelope: &envelope::ReplyEnvelope) -> ParsedReply {
    if reply_envelope.is_error {
        return ParsedReply::Unreadable {
            why: format!(
                "the agent reports an error: {}",
                cut_text(&reply_envelope.error_text(), 500)
            ),
        };
    }
    let structured = match &reply_envelope.structured_output {
        Some(Value::Object(object)) => from_object(object),
        _ => Err(String::new()),
    };
    match (structured, &reply_envelope.text) {
        (Ok(reply), text) => {
            let beside = match text.as_ref().map(|text| in_prose(text.as_bytes())) {
                Some(ParsedReply::Reply(other)) => two_words(&[other.status, reply.status]),
                _ => None,
            };
            ParsedReply::Reply(Reply {
                doubt: reply
                    .doubt
                    .clone()
                    .or(beside)
                    .or_else(|| doubt_alone(&reply)),
                ..reply
            })
        }
        (Err(_), Some(text)) if !text.trim().is_empty() => in_prose(text.as_bytes()),
        (Err(why), _) if reply_envelope.structured_output.is_some() => {
            ParsedReply::Unreadable { why }
        }
        (Err(_), _) => ParsedReply::Empty,
    }
}

/// The last object with this member in an answer, from the structure around it or from its prose.
///
/// # Errors
/// A [`ParsedReply`] without a reply.
pub(super) fn object_with(
    member: &str,
    reply_envelope: Option<&envelope::ReplyEnvelope>,
    stdout: &[u8],
) -> Result<Map<String, Value>, Box<ParsedReply>> {
    if let Some(Value::Object(object)) =
        reply_envelope.and_then(|reply| reply.structured_output.as_ref())
        && object.contains_key(member)
    {
        return Ok(object.clone());
    }
    let bytes = reply_envelope.map_or(stdout, |reply| {
        reply.text.as_deref().unwrap_or_default().as_bytes()
    });
    if bytes.trim_ascii().is_empty() {
        return Err(Box::new(ParsedReply::Empty));
    }
    match last_object(&plain_text(bytes), member, |object| Ok(object.clone())) {
        ReplyScan::Found {
            later_one_cut: true,
            ..
        } => Err(Box::new(ParsedReply::Unreadable {
            why: "the answer is cut off".into(),
        })),
        ReplyScan::Found { answer, .. } => Ok(answer),
        ReplyScan::Nothing { why } => Err(Box::new(ParsedReply::Unreadable { why })),
    }
}

fn in_prose(bytes: &[u8]) -> ParsedReply {
    let input = plain_text(bytes);
    // Only blanks in sight: the rest decides between nothing and nothing usable.
    if input.text.trim().is_empty()
        && bytes[..bytes.len().saturating_sub(WINDOW)]
            .trim_ascii()
            .is_empty()
    {
        return ParsedReply::Empty;
    }
    let mut seen = Vec::new();
    let usable =
        |object: &Map<String, Value>| from_object(object).inspect(|reply| seen.push(reply.status));
    match last_object(&input, "status", usable) {
        ReplyScan::Found {
            answer,
            later_one_cut: true,
            ..
        } if answer.status == ReplyStatus::Complete => ParsedReply::Unreadable {
            why: "it says complete, and then begins another answer that is cut off".into(),
        },
        ReplyScan::Found { answer, at, .. } => {
            let doubt = answer
                .doubt
                .clone()
                .or_else(|| find_doubt(&input.text, &at, &answer, &seen));
            ParsedReply::Reply(Reply { doubt, ..answer })
        }
        ReplyScan::Nothing { why } => ParsedReply::Unreadable { why },
    }
}

/// Reads an object as a reply; `Err` is the mistake in it.
///
/// A `complete` whose word on active agents or pending tasks is there but cannot be understood is not usable:
/// what it says is unknown, and unknown is never "none".
fn from_object(object: &Map<String, Value>) -> Result<Reply, String> {
    if let Some(mark) = MARKS_OF_A_RECORD
        .iter()
        .find(|mark| object.contains_key(**mark))
    {
        return Err(format!(
            "the only object with a status is a record with a \"{mark}\", not an answer"
        ));
    }
    let (status, two_statuses) = match object.get("status") {
        Some(Value::String(word)) => {
            let expected = || {
                format!(
                    "its status is \"{}\", expected complete, waiting or working",
                    cut_text(word, 80)
                )
            };
            (parse_status(word).ok_or_else(expected)?, None)
        }
        // A duplicate key with different values, or a list as its value.
        Some(Value::Array(words)) => {
            let words: Option<Vec<ReplyStatus>> = words
                .iter()
                .map(|word| word.as_str().and_then(parse_status))
                .collect();
            let doubt = words.as_deref().and_then(two_words);
            (
                words
                    .and_then(|words| words.last().copied())
                    .filter(|_| doubt.is_some())
                    .ok_or("its status is not a word")?,
                doubt,
            )
        }
        Some(_) => return Err("its status is not a word".into()),
        None => return Err("it has no status".into()),
    };
    let field = |name: &str| object.get(name).unwrap_or(&Value::Null);
    let agents_active = fields::parse_flag(field("agents_active"));
    let tasks_pending = fields::parse_list(field("tasks_pending"));
    if status == ReplyStatus::Complete {
        for (name, understood) in [
            ("agents_active", agents_active.is_ok()),
            ("tasks_pending", tasks_pending.is_ok()),
        ] {
            if !understood {
                return Err(format!("it says complete, and its {name} makes no sense"));
            }
        }
    }
    Ok(Reply {
        status,
        message: fields::parse_text(field("message")).unwrap_or_default(),
        agents_active: agents_active.unwrap_or(None),
        agents_details: fields::parse_list(field("agents_details")).unwrap_or_default(),
        tasks_completed: fields::parse_list(field("tasks_completed")).unwrap_or_default(),
        tasks_pending: tasks_pending.unwrap_or_default(),
        commits_made: fields::parse_count(field("commits_made")),
        should_continue: fields::parse_flag(field("should_continue")).unwrap_or(None),
        next_action: fields::parse_text(field("next_action")),
        doubt: two_statuses.or_else(|| {
            (status == ReplyStatus::Complete)
                .then(|| fields::find_unfinished_work(object))
                .flatten()
        }),
    })
}

/// The status of a word.
fn parse_status(word: &str) -> Option<ReplyStatus> {
    let word = word.trim().to_lowercase().replace(['-', ' '], "_");
    match word.as_str() {
        "complete" | "completed" | "done" | "finished" => Some(ReplyStatus::Complete),
        "waiting" => Some(ReplyStatus::Waiting),
        "working" | "in_progress" | "running" => Some(ReplyStatus::Working),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn status_in(output: &str) -> Option<&'static str> {
        match read_reply(output.as_bytes()) {
            ParsedReply::Reply(reply) => Some(reply.status.as_str()),
            ParsedReply::Unreadable { .. } | ParsedReply::Empty => None,
        }
    }

    const WORKING: Option<&str> = Some("working");
    const WAITING: Option<&str> = Some("waiting");
    const COMPLETE: Option<&str> = Some("complete");

    #[test]
    fn status_words_and_plain_synonyms_are_all_vocabulary() {
        for (word, status) in [
            ("complete", COMPLETE),
            ("  Completed\\n", COMPLETE),
            ("DONE", COMPLETE),
            ("finished", COMPLETE),
            ("waiting", WAITING),
            ("\u{a0}WAITING ", WAITING),
            ("working", WORKING),
            ("In Progress", WORKING),
            ("in-progress", WORKING),
            ("running", WORKING),
            ("pending", None),
            ("blocked", None),
            ("success", None),
            ("ok", None),
            ("not complete", None),
            ("incomplete", None),
            ("complete.", None),
            ("complete | waiting | working", None),
            ("", None),
        ] {
            assert_eq!(
                status_in(&format!("{{\"status\": \"{word}\"}}")),
                status,
                "{word:?}"
            );
        }
    }

    #[test]
    fn standalone_reply_is_found_anywhere() {
        for output in [
            "```python\n{\"status\": \"working\"}\n```",
            "~~~json\n{\"status\": \"working\"}\n~~~\nBye.",
            "Status: ```json\n{\"status\": \"working\"}```",
            "```json {\"status\": \"working\"} ```\nmore",
            "\x1b[32m{\"status\":\x1b[1m \"working\"}\x1b[0m",
            "thinking...\r{\"status\": \"working\"}\r\n",
            "{\"status\": \"working\", \"message\": \"ran\n```\nls\n```\nfine\"}",
            "fn main() { call({ 1 }) }\n{\"status\": \"working\"}",
            "the `if (x) {` was missing\n\n{\"status\": \"working\"}",
            "see [1], [x] and [draft]: {\"status\": \"working\"}",
            "{\"plan\": 1}\n{\"status\": \"working\"}",
            "{\"status\": \"complete|waiting|working\"}\nMine: {\"status\": \"working\"}",
            "{\"status\": \"working\"}\nas asked: {\"status\": \"complete|waiting|working\"}",
            "{\"status\":\"complete\",\"mess\n\nAgain:\n{\"status\":\"working\"}",
            "{\"status\": \"working\"} {\"status\": \"banana\"}",
            "Use ``` as a fence, then {\"status\": \"working\"}",
            "a <!-- {\"status\": \"complete\"} --> b {\"status\": \"working\"}",
        ] {
            assert_eq!(status_in(output), WORKING, "{output}");
        }
        for output in [
            "- ```json\n  {\"status\": \"waiting\"}\n  ```\n- next",
            "`{\"status\": \"waiting\"}`",
            "My status: `{\"status\": \"waiting\"}`.",
            "```json\n{\"status\": \"complete\"}\n```\nNo, wait:\n```json\n{\"status\": \"waiting\"}\n```",
        ] {
            assert_eq!(status_in(output), WAITING, "{output}");
        }
    }

    #[test]
    fn nested_or_quoted_reply_does_not_count() {
        for output in [
            "{\"a\": [{\"status\": \"complete\"}]}",
            "[1, {\"status\": \"complete\"}]",
            "[{\"status\": \"complete\"}, oops",
            "{draft: {\"status\": \"complete\"}}",
            "{draft: {\"status\": \"complete\"}",
            "{\"draft\": {\"status\": \"complete\"}",
            "{\"draft\":\n{\"status\": \"complete\"}",
            "{\"draft\": oops {\"status\": \"complete\"}}",
            "{\"log\": \"{\\\"status\\\": \\\"complete\\\"}\"}",
            "\"{\\\"status\\\": \\\"complete\\\"}\"",
            "return {\"code\": {\"status\": \"complete\"}};",
            "> {\"status\": \"complete\"}",
            "> ```json\n> {\"status\": \"complete\"}\n> ```",
            "it said \"{\"status\": \"complete\"}\"",
            "echo '{\"status\": \"complete\"}'",
            "```\n$ curl host/status\n{\"status\": \"complete\"}\n```\nThe tests still run.",
            "```log\n{\"status\": \"complete\"}\n```\nThe tests still run.",
            "```json\nresponse was {\"status\": \"complete\"}\n```",
            "```\n$ curl host/status\n{\"status\": \"complete\"}",
            "2026-01-01T10:00:00Z {\"status\": \"complete\"}",
            "[INFO] {\"status\": \"complete\"}",
            "$ echo {\"status\": \"complete\"}",
            "<stdout>\n{\"status\": \"complete\"}\n</stdout>\nstill at it",
            "I will print `{\"status\": \"complete\"}` when it is over.",
            "{\"type\": \"run\", \"status\": \"completed\"}",
            "{\"id\": 1, \"status\": \"completed\", \"conclusion\": \"success\"}",
            "{\"level\": \"info\", \"status\": \"done\"}",
            "{\"status\": \"complete\"}\nno, wait: {\"status\": \"wor",
            "{\"status\": \"complete\", \"agents_active\": \"some\"}",
            "{\"status\": \"complete\", \"tasks_pending\": -1}",
            "{\"status\": [\"complete\"]}",
        ] {
            assert_eq!(status_in(output), None, "{output}");
        }
    }

    #[test]
    fn unreadably_deep_reply_voids_an_earlier_reply() {
        for depth in 120..=135 {
            let output = format!(
                "{{\"status\": \"complete\"}}\n{}\n{{\"b\": {{\"status\": \"working\"}}\n",
                "[".repeat(depth)
            );
            assert_eq!(status_in(&output), None, "{depth}");
        }
    }

    #[test]
    fn read_window_never_turns_part_into_reply() {
        let padding = "x".repeat(WINDOW);
        assert_eq!(
            status_in(&format!(
                "{{\"log\": \"{padding}\", \"of\": {{\"status\": \"complete\"}}}}"
            )),
            None
        );
        assert_eq!(
            status_in(&format!(
                "[{{\"log\": \"{padding}\"}},\n{{\"status\": \"complete\"}}]"
            )),
            None
        );
        assert_eq!(
            status_in(&format!("{padding}\n{{\"status\": \"working\"}}")),
            WORKING
        );
        assert_eq!(
            status_in(&format!(
                "```\n{padding}\n```\nso:\n```json\n{{\"status\": \"working\"}}\n```"
            )),
            WORKING
        );
    }

    #[test]
    fn envelopes_of_the_known_agents_are_opened() {
        let claude = |more: Value| {
            let mut event = json!({"type": "result", "subtype": "success", "is_error": false, "session_id": "s"});
            event
                .as_object_mut()
                .expect("an object")
                .extend(more.as_object().expect("an object").clone());
            event
        };
        let structured = claude(
            json!({"result": "{\"status\":\"complete\"}", "structured_output": {"status": "waiting"}}),
        );
        let fenced = claude(json!({"result": "```json\n{\"status\":\"working\"}\n```"}));
        let assistant = json!({"type": "assistant", "message": {"content": [{"type": "text", "text": "{\"status\":\"working\"}"}]}});
        let subagent = json!({"type": "assistant", "parent_tool_use_id": "t", "message": {"content": [{"type": "text", "text": "{\"status\":\"complete\"}"}]}});
        let init = json!({"type": "system", "subtype": "init"});
        for (output, status) in [
            (structured.to_string(), WAITING),
            (serde_json::to_string_pretty(&fenced).expect("a value serializes"), WORKING),
            (json!([init, assistant, claude(json!({"result": "{\"status\":\"waiting\"}"}))]).to_string(), WAITING),
            (format!("{init}\n{}\n{assistant}\n{fenced}\n", claude(json!({"result": "{\"status\":\"complete\"}"}))), WORKING),
            (format!("warning: old version\n{init}\n{fenced}"), WORKING),
            (format!("{init}\n{assistant}\n{subagent}\n{{\"type\":\"assis"), WORKING),
            (format!("{init}\n{assistant}\n{}", json!({"type": "result", "subtype": "success"})), WORKING),
            (claude(json!({"is_error": true, "result": "{\"status\":\"complete\"}"})).to_string(), None),
            (json!({"type": "result", "subtype": "error_max_turns", "result": "{\"status\":\"complete\"}"}).to_string(), None),
            (claude(json!({"result": ""})).to_string(), None),
            (
                format!(
                    "{}\n{}\n{}",
                    json!({"type": "thread.started", "thread_id": "x"}),
                    json!({"type": "item.completed", "item": {"type": "agent_message", "text": "{\"status\":\"waiting\"}"}}),
                    json!({"type": "turn.completed"})
                ),
                WAITING,
            ),
            (json!({"response": "{\"status\": \"working\"}", "stats": {"status": "complete"}}).to_string(), WORKING),
            (
                format!(
                    "{}\n{}",
                    json!({"type": "step_start", "part": {}}),
                    json!({"type": "text", "part": {"type": "text", "text": "{\"status\": \"working\"}"}})
                ),
                WORKING,
            ),
            (format!("An example:\n```\n{}\n```\nI still work on it.", claude(json!({"result": "{\"status\":\"complete\"}"}))), None),
            (json!({"session_id": "s", "status": "working", "error": null}).to_string(), WORKING),
        ] {
            assert_eq!(status_in(&output), status, "{output}");
        }
        assert_eq!(
            read_reply(claude(json!({"result": ""})).to_string().as_bytes()),
            ParsedReply::Empty
        );
    }

    #[test]
    fn every_field_is_read() {
        let output = json!({"status": "waiting", "message": "m", "agents_active": true, "agents_details": ["a1"], "tasks_completed": ["t1"],
            "tasks_pending": ["t2", "t3"], "commits_made": 2, "should_continue": false, "next_action": "wait"});
        let ParsedReply::Reply(reply) = read_reply(output.to_string().as_bytes()) else {
            panic!("not read")
        };
        let expected = Reply {
            status: ReplyStatus::Waiting,
            message: "m".into(),
            agents_active: Some(true),
            agents_details: vec!["a1".into()],
            tasks_completed: vec!["t1".into()],
            tasks_pending: vec!["t2".into(), "t3".into()],
            commits_made: Some(2),
            should_continue: Some(false),
            next_action: Some("wait".into()),
            doubt: None,
        };
        assert_eq!(reply, expected);
    }

    #[test]
    fn hostile_output_is_read_in_bounded_time() {
        // Longer than the window; the part before it is not read.
        let length = 300_000;
        let answer = "\n{\"status\": \"working\"}";
        for soup in [
            "{",
            "[",
            "[{",
            "{\"a\":",
            "{\"a\":[",
            "{\"status\":\"",
            "{}",
            "```\n",
            "````\n```\n",
            "~~~x\n",
            "<!--",
            "<log>",
            "{//",
            "{/*",
            "> ",
            "\"",
            "\\",
            "{\"",
            "{ ",
            "\x1b]",
            "\x1b[",
            "{\"a\":\"{",
            "`{",
            "{\"status\":\"complete\"",
            "{\"status\":\"banana\"}",
        ] {
            let noise = soup.repeat(length / soup.len());
            for output in [
                noise.clone(),
                format!("{noise}{answer}"),
                format!("{{\"type\":\"result\",\"result\":{noise}"),
            ] {
                assert_ne!(status_in(&output), COMPLETE, "{soup}");
            }
        }
    }

    #[test]
    fn the_size_of_an_output_does_not_matter() {
        for soup in [&b"["[..], b"{", b" ", b"{\"a\":\n"] {
            let output = soup.repeat((64 << 20) / soup.len());
            assert!(!matches!(read_reply(&output), ParsedReply::Reply(_)));
        }
        let nested = [
            b"[".repeat(5_000_000),
            b"\n{\"status\": \"working\"}".to_vec(),
        ]
        .concat();
        assert!(
            !matches!(read_reply(&nested), ParsedReply::Reply(reply) if reply.status == ReplyStatus::Complete)
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            let _ = read_reply(&bytes);
        }

        #[test]
        fn no_brace_soup_panics(pieces in proptest::collection::vec(
            proptest::sample::select(&["{", "}", "[", "]", "\"", ":", ",", "status", "complete", "\n", "```", "json", "> ", "\\", "/*", "*/", "//", "'",
                "\u{fffd}", "ä", "\x1b[", "{\"status\":", "\"complete\"", "<!--", "-->", "`", "true", "1e9", " "][..]), 0..60)) {
            let _ = read_reply(pieces.concat().as_bytes());
        }

        #[test]
        fn reply_without_braces_on_own_line_counts(
            before in "[^\\{\\}\\[\\]`~<>\\p{C}]{0,80}", after in "[^\\{\\}\\[\\]`~<>\\p{C}]{0,80}",
            message in any::<String>(), pretty in any::<bool>(),
            word in proptest::sample::select(&["complete", "waiting", "working"][..])) {
            let object = json!({"message": message, "nested": {"status": "complete"}, "status": word});
            let shown = if pretty { serde_json::to_string_pretty(&object).expect("a value serializes") } else { object.to_string() };
            prop_assert_eq!(status_in(&format!("{before}\n{shown}\n{after}")), Some(word));
        }

        #[test]
        fn a_nested_status_is_never_an_answer(depth in 1usize..6, array in any::<bool>(), noise in "[a-z \\n]{0,20}") {
            let mut object = json!({"status": "complete"});
            for _ in 0..depth {
                object = if array { json!([object]) } else { json!({"of": object}) };
            }
            prop_assert_eq!(status_in(&format!("{noise}\n{object}\n{noise}")), None);
        }
    }
}
