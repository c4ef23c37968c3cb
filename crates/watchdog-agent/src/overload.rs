//! Tells from the end of a session's output that the service had no room or could not be reached, so that the session could not work. Pure.

use jiff::Timestamp;

use super::failure;
use super::last_words::LastWords;
use watchdog_facts::evidence::{ProbeOutcome, ProcessExit};

/// How many lines at the end of plain output are searched.
const LAST_WORDS: usize = 6;
/// The same of a program that printed nothing but errors: a stack trace may follow the message.
const STDERR_LINES: usize = 30;

/// The reason why the service could not serve a failed session; `None` for every other end, success included.
pub fn ended_in_overload(last: &LastWords, exit: ProcessExit, now: Timestamp) -> Option<String> {
    let outcome = match &last.found {
        Some(reply_envelope) if reply_envelope.is_error => {
            failure::of_envelope(reply_envelope, now)
        }
        Some(_) => return None,
        None if !last.has_failed(exit) => return None,
        None => {
            let lines: Vec<&str> = last
                .text
                .lines()
                .filter(|line| !line.trim().is_empty())
                .collect();
            let most = if last.only_stderr {
                STDERR_LINES
            } else {
                LAST_WORDS
            };
            failure::of_text(&lines[lines.len().saturating_sub(most)..].join("\n"), now)?
        }
    };
    match outcome {
        ProbeOutcome::Overloaded { why } => Some(why),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_service_without_room_is_an_overload() {
        let now = "2026-08-19T16:28:34Z".parse().expect("an instant");
        let failed = |text: &str| {
            ended_in_overload(
                &LastWords::from_tails(text.as_bytes(), b""),
                ProcessExit::Code(1),
                now,
            )
            .is_some()
        };
        for (text, expected) in [
            (
                "API Error: Repeated 529 Overloaded errors. The API is at capacity",
                true,
            ),
            (
                r#"{"type":"result","subtype":"success","is_error":true,"result":"API Error: 500 x","api_error_status":500}"#,
                true,
            ),
            (
                r#"{"type":"result","subtype":"success","is_error":true,"result":"API Error: Connection dropped (ECONNRESET)."}"#,
                true,
            ),
            (
                r#"{"type":"result","subtype":"success","is_error":true,"result":"no key","api_error_status":401}"#,
                false,
            ),
            (
                r#"{"type":"result","subtype":"error_max_turns","is_error":true,"errors":["Reached maximum number of turns (1)"]}"#,
                false,
            ),
            (
                r#"{"type":"result","subtype":"success","is_error":false,"result":"the service was overloaded, I retried"}"#,
                false,
            ),
            (
                r#"{"type":"result","status":"error","error":{"type":"unknown","message":"[API Error: {\"error\":{\"code\":503}}]"}}"#,
                true,
            ),
            (
                r#"{"type":"result","subtype":"error_during_execution","is_error":true,"error":{"message":"[API Error: 500 boom]"}}"#,
                true,
            ),
            (
                "{\"type\":\"session.error\",\"data\":{\"message\":\"boom\",\"statusCode\":500}}\n{\"type\":\"result\",\"exitCode\":1}",
                true,
            ),
            (
                "{\"type\":\"session.error\",\"data\":{\"message\":\"boom\",\"statusCode\":400}}\n{\"type\":\"result\",\"exitCode\":1}",
                false,
            ),
            // It lost the connection, continued, and was ended in the midst of its work.
            (
                "{\"type\":\"turn.started\"}\n{\"type\":\"error\",\"message\":\"Reconnecting... 1/5 (HTTP 503)\"}\n\
                 {\"type\":\"item.completed\",\"item\":{\"type\":\"command_execution\",\"exit_code\":0}}",
                false,
            ),
            (
                "API Error: Stream idle timeout - partial response received",
                true,
            ),
            (
                "No capacity available for model gemini-3.1-pro-preview on the server",
                true,
            ),
            (
                "_GaxiosError: [{\n  \"error\": {\n    \"code\": 429,\n    \"message\": \"No capacity available for model x on the server\",\n    \
                 \"status\": \"RESOURCE_EXHAUSTED\"\n  }\n}]\n    at main (file:///x.js:1:5)",
                true,
            ),
            (
                "ERROR: exceeded retry limit, last status: 503 Service Unavailable",
                true,
            ),
            (
                "ERROR: exceeded retry limit, last status: 529 <unknown status code>",
                true,
            ),
            (
                "ERROR: exceeded retry limit, last status: 429 Too Many Requests",
                true,
            ),
            (
                r#"{"type":"result","subtype":"success","is_error":true,"result":"API Error: Request rejected (429) · Too many requests","api_error_status":429}"#,
                true,
            ),
            (
                "API Error: 429 Too many requests. Please try again in 20s",
                false,
            ),
            ("thread 'main' panicked", false),
            ("", false),
        ] {
            assert_eq!(failed(text), expected, "{text}");
        }
        let last = LastWords::from_tails(b"Server is overloaded, please try again later", b"");
        assert_eq!(ended_in_overload(&last, ProcessExit::Code(0), now), None);
    }
}
