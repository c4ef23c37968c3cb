//! Finds the cause of a missing answer in the agent's output. Pure.
//!
//! The input is error text only: the output of a failed program, or an error in an envelope.
//! The order matters: a login error may well mention a rate, and the other way round.

use jiff::Timestamp;

use super::envelope::ReplyEnvelope;
use super::unrunnable::{CREDIT_CAUSE, CauseWords, LOGIN_CAUSE, SESSION_CAUSE};
use super::usage_limit;
use watchdog_facts::display::cut_text;
use watchdog_facts::evidence::ProbeOutcome;
use watchdog_facts::patterns::FixedPattern;

/// Bytes of an explanation that are kept.
const WHY: usize = 4096;

static OVERLOADED: FixedPattern = FixedPattern::new(
    r#"(?i)\boverloaded|serverOverloaded|too many requests|\bat capacity\b|no capacity available|model_capacity_exhausted|stream idle timeout|api error: (?:5\d\d|repeated 5\d\d|terminated|connection|request timed out|fetch|unable to connect|json parse)|(?:http|status|code|status code|error)"?[:= ]+5\d\d\b|\b5\d\d (?:internal server error|bad gateway|service unavailable|gateway time-?out)|last error: 5\d\d\b|internal server error|service unavailable|temporarily unavailable|experiencing high demand|bad gateway|stream disconnected|error sending request|UND_ERR_SOCKET|connection (?:error|dropped|closed|refused|reset|timed out)|\bE(?:CONNRESET|CONNREFUSED|TIMEDOUT|NOTFOUND|AI_AGAIN|PIPE)\b|socket hang up|fetch failed|network error|getaddrinfo|\brequest timed out|please (?:back ?off|retry) (?:and|later)"#,
);
static UNKNOWN_OPTION: FixedPattern = FixedPattern::new(
    r"(?im)^(?:error: )?(?:unknown option|unexpected argument|unknown arguments?:)\s+['‘]?(--?[\w-]+)",
);

/// The option that a program says it does not know.
pub(super) fn unknown_option(stderr: &str) -> Option<&str> {
    UNKNOWN_OPTION
        .captures(stderr)
        .and_then(|captures| captures.get(1))
        .map(|option| option.as_str())
}

/// The outcome of an envelope's error.
pub(super) fn of_envelope(reply_envelope: &ReplyEnvelope, now: Timestamp) -> ProbeOutcome {
    let error_text = reply_envelope.error_text();
    if let Some(limit) = usage_limit::in_envelope(reply_envelope, now, None) {
        return ProbeOutcome::RateLimited {
            why: limit.why,
            retry_at: limit.retry_at,
        };
    }
    let why = cut_text(&error_text, WHY);
    if let Some(line) = CREDIT_CAUSE.find_line(&error_text) {
        return ProbeOutcome::NotLoggedIn {
            why: cut_text(line, WHY),
        };
    }
    match reply_envelope.api_error_status {
        Some(401..=403) => return ProbeOutcome::NotLoggedIn { why },
        Some(408 | 500..=599) => return ProbeOutcome::Overloaded { why },
        _ => {}
    }
    if reply_envelope
        .terminal_reason
        .as_deref()
        .is_some_and(|reason| reason.contains("structured_output"))
    {
        return ProbeOutcome::Unreadable { why };
    }
    of_text(&error_text, now).unwrap_or(ProbeOutcome::Failed { why })
}

/// The outcome of an error text; `None` where it fits no known one.
pub(super) fn of_text(text: &str, now: Timestamp) -> Option<ProbeOutcome> {
    let line_of = |cause: &CauseWords| Some(cut_text(cause.find_line(text)?, WHY));
    if let Some(why) = line_of(&CREDIT_CAUSE).or_else(|| line_of(&LOGIN_CAUSE)) {
        return Some(ProbeOutcome::NotLoggedIn { why });
    }
    if let Some(why) = line_of(&SESSION_CAUSE) {
        return Some(ProbeOutcome::NoConversation { why });
    }
    if let Some(limit) = usage_limit::read_usage_limit(text, now) {
        return Some(ProbeOutcome::RateLimited {
            why: limit.why,
            retry_at: limit.retry_at,
        });
    }
    let line = text.lines().find(|line| OVERLOADED.is_match(line))?;
    Some(ProbeOutcome::Overloaded {
        why: cut_text(line.trim(), WHY),
    })
}

/// The outcome of prose after a good exit. Only whole answers that are such a message count, since the agent may talk about anything.
pub(super) fn of_short_answer(text: &str, now: Timestamp) -> Option<ProbeOutcome> {
    const SHORT: usize = 400;
    (text.len() <= SHORT && text.trim().lines().count() <= 3)
        .then(|| of_text(text, now))
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(text: &str) -> Option<&'static str> {
        let now = "2026-08-19T16:28:34Z".parse().expect("an instant");
        of_text(text, now).map(|outcome| outcome.as_str())
    }

    #[test]
    fn errors_are_told_apart_by_their_words() {
        for text in [
            "Not logged in · Please run /login",
            "Invalid API key · Fix external API key",
            "API Error: 401 {\"type\":\"error\",\"error\":{\"type\":\"authentication_error\"}}",
            "unexpected status 401 Unauthorized",
            "Please set an Auth method in settings.json",
            "unexpected status 403 Forbidden: forbidden",
            "Missing environment variable: `OPENAI_API_KEY`.",
            "Invalid auth method selected.",
            "No auth type is selected. Please configure one",
            "Error: No authentication information found.",
            "To use Codex with your ChatGPT plan, upgrade to Plus: https://x",
            "Credit balance is too low",
            "Error: 402 Payment Required",
        ] {
            assert_eq!(word(text), Some("not_logged_in"), "{text}");
        }
        for text in [
            "No conversation found with session ID: x",
            "Error: --resume requires a valid session ID or session title when used with --print.",
            "no rollout found for conversation id x",
            "Invalid session identifier \"x\".",
            "No session, task, or name matched 'x'",
            "No saved session found with ID x",
        ] {
            assert_eq!(word(text), Some("no_conversation"), "{text}");
        }
        for text in [
            "API Error: Repeated 529 Overloaded errors. The API is at capacity",
            "API Error: 500 Internal server error.",
            "Request timed out. If the API is slow to answer",
            "API Error: Connection dropped (ECONNRESET).",
            "API Error: JSON Parse error: Unexpected identifier",
            "{\"codexErrorInfo\":\"serverOverloaded\"}",
            "Selected model is at capacity",
            "Error: HTTP 429 Too Many Requests",
            "provider request failed: HTTP 529",
            "provider request failed with status code 503",
            "{\"status_code\":502}",
            "claude turn failed: overloaded_error",
            "Server is overloaded, please try again later",
            "Please backoff and retry",
            "We’re currently experiencing high demand, which may cause temporary errors.",
            "stream disconnected before completion: error sending request",
            "[API Error: terminated]",
            "[API Error: terminated (cause: UND_ERR_SOCKET: other side closed)]",
            "retried 5 times (total retry wait time: 13 seconds) Last error: 500 boom",
        ] {
            assert_eq!(word(text), Some("overloaded"), "{text}");
        }
        for text in [
            "The job was terminated on demand",
            "model context window is 500 tokens",
            "Error: File not found",
            "",
        ] {
            assert_eq!(word(text), None, "{text}");
        }
        for text in [
            "warming up\nYou've hit your limit · resets 7pm (UTC)\n",
            "Error: HTTP 429 Too Many Requests: quota exceeded",
            "[API Error: You have exhausted your daily quota on this model.]",
        ] {
            assert_eq!(word(text), Some("rate_limited"), "{text}");
        }
    }

    #[test]
    fn an_unknown_option_is_named() {
        for (stderr, option) in [
            (
                "error: unknown option '--no-session-persistence'\n",
                Some("--no-session-persistence"),
            ),
            (
                "error: unexpected argument '--ephemeral' found",
                Some("--ephemeral"),
            ),
            ("error: missing required argument", None),
        ] {
            assert_eq!(unknown_option(stderr), option);
        }
    }
}
