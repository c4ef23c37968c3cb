//! Tells a usage or rate limit from everything else that agents print, and when it ends. Pure.
//!
//! A limit is what a program says about itself: at the start of a line or sentence, after the usual lead-ins
//! (`API Error:`, `HTTP`, a program's name), and complete in itself. Prose, code and quotations that talk about limits are none,
//! and neither is a warning that a limit comes near, nor an overloaded service.

use std::sync::LazyLock;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use regex::Regex;
use serde_json::Value;

use super::envelope::ReplyEnvelope;
use super::last_words::{LastWords, fold_json};
use super::printed_words::contains_any;
use super::reset_time::reset_at;
use watchdog_facts::display::cut_text;
use watchdog_facts::evidence::ProcessExit;
use watchdog_facts::patterns::{FixedPattern, compile_fixed};

/// A usage limit that was announced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageLimit {
    /// The words that announced it, bounded, not escaped.
    pub why: String,
    /// When it ends, where the message says so. May be in the past if the message is old.
    pub retry_at: Option<Timestamp>,
}

/// How many lines of a text are searched, from its end.
const LINES: usize = 60;
/// How many bytes of a line are searched.
const LINE: usize = 2000;
/// Lines after the announcement that may hold its instant.
const FOLLOWING: usize = 2;

/// The labels that programs print before a message. Repeated; `\w+Error:` and `name:` are a program's own labels.
const LEAD_IN: &str = r"(?:\[[^\]]{1,40}\]\s*|sorry[,.!]\s+|error when talking to gemini api full report available at: \S+\s+|failed to get response from the ai model; retried \d+ times \(total retry wait time: [\d.]+ seconds\)\s+|attempt \d+ failed(?: with status \d+)?[.:]\s+(?:retrying with backoff\.{3}\s+)?|\[api error[:\s]+|[\w./@-]{1,40}:\s+|(?:fatal|error|warning|api|apierror|anthropic|openai|azure|google|gemini|codex|claude|ai|opencode|provider|server|service|upstream|stream|request|turn|rejected|failed|returned|exceeded retry limit,|last|with|unexpected|429)\b[\s:·,-]*)*";

/// The words for a limit of the user's plan. Strong: they hardly ever mean something else.
const PLAN_LIMIT: &str = r"(?:you(?:['’]ve| have)(?: just)? (?:hit|reached|exceeded|used up) (?:your|the) (?:[\w$-]+ ){0,4}?(?:limits?|quota|allowance)|you(?:['’]ve| have) exhausted your (?:[\w-]+ ){0,3}?(?:quota|capacity)(?: on this model)?|you(?:['’]re| are) out of (?:extra )?usage|(?:(?:claude|ai|opus|sonnet|fable|haiku|your|the|\d+[- ]hour|five[- ]hour|weekly|daily|monthly|hourly|session|usage|message|spend(?:ing)?|plan|individual|account)[ -]){1,5}limit (?:has been |was )?(?:reached|exceeded|hit)|limit reached\s*[|∙·]|(?:> )?\d\. stop and wait for (?:the )?limit to reset)";

/// The words of a service that refuses for the rate or the quota.
const RATE_LIMIT: &str = r#"(?:(?:(?:api|account|organi[sz]ation|org|model|tokens?|requests?|user|project|input|output|your|the|github|secondary|daily|monthly|free|tier) ){0,3}?rate[- ]limit (?:has been |was )?(?:reached|exceeded|hit|error)|(?:you (?:have been|are|were) )?rate[- ]limited|rate[- ]limit[.:]\s*(?:please )?(?:retry|try again|wait)\b.*|you(?:['’]ve| have) (?:hit|reached|exceeded) a rate limit that restricts\b.*|free usage exceeded|this request would exceed your (?:[\w'’-]+ ){0,3}rate limit|too many requests|(?:(?:api|account|organi[sz]ation|org|model|tokens?|requests?|user|project|input|output|your|the|github|secondary|daily|monthly|free|tier|qwen|oauth) ){0,3}?quota[- ](?:exceeded|reached)|(?:you )?(?:have )?exceeded (?:your |the )?(?:[\w-]+ ){0,4}?(?:quota|limit)|(?:tokens|requests) per (?:second|minute|hour|day) limit (?:exceeded|reached)|request limit (?:exceeded|reached)|request throttled|throttl(?:ed|ing)(?: request)?|(?:http(?:/[\d.]+)?|status(?: code)?|error(?: code)?|api[- ]error|code|\(|request rejected \()[\s:]*429\)?|resource[ _]exhausted|rate_limit_(?:error|exceeded)|usage_limit_reached|insufficient_quota)"#;

/// The end of such a phrase: "rate limit exceeded errors are retried" continues, and is prose.
const END: &str = r#"(?:\s*$|\s*[.!|:;,∙·•—–()\[\]"{}-]|\s+(?:for|by|until|in|at|and|or|please|try|retry|resets?|today|this|wait|again|response|error|rate_limit_error|too many requests|upgrade|run|/)(?:\b|\s|$))"#;

static PLAN: LazyLock<Regex> = LazyLock::new(|| compile_anchored_regex(PLAN_LIMIT));
static RATE: LazyLock<Regex> = LazyLock::new(|| compile_anchored_regex(RATE_LIMIT));

/// Each phrase above has one of these words, and so has its form in JSON. To compile the patterns
/// takes longer than all else that watchdog does at
/// the end of a session, and nearly no session says one of these.
const WORDS: [&str; 9] = [
    "limit",
    "quota",
    "allowance",
    "capacity",
    "usage",
    "throttl",
    "too many requests",
    "exhausted",
    "429",
];

/// The service itself has no room, whatever status it says so with: that is an overload.
const NO_ROOM: [&str; 2] = ["no capacity available", "model_capacity_exhausted"];

/// Codex gives up after so many failures of any kind.
const RETRY_LIMIT: &str = "exceeded retry limit, last status: ";

/// Words that tell a limit, or its end, beside a bare "429 Too Many Requests".
const LIMIT_WORDS: [&str; 8] = [
    "limit",
    "quota",
    "usage",
    "allowance",
    "exhausted",
    "retry",
    "try again",
    "reset",
];

/// Whether the words are those of a service without room. "Too many requests" and no more is that, too.
fn is_without_room(text: &str) -> bool {
    contains_any(text, &NO_ROOM)
        || contains_any(text, &["too many requests"])
            && !contains_any(&text.replace(RETRY_LIMIT, ""), &LIMIT_WORDS)
}

/// The same in JSON, as services answer.
static JSON: FixedPattern = FixedPattern::new(
    r#"(?i)"(?:type|code|status|reason|codexErrorInfo|error)"\s*:\s*"?(?:rate_limit_error|rate_limit_exceeded|rate_limit|usage_?limit_?(?:reached|exceeded)|insufficient_quota|resource_exhausted|429)\b"#,
);

/// The start of a line that is such an answer, and no prose about one.
static JSON_LINE: LazyLock<Regex> =
    LazyLock::new(|| compile_fixed(&format!(r"(?i)^{LEAD_IN}(?:\d{{3}}\s*)?\[?\{{")));

fn compile_anchored_regex(matter: &str) -> Regex {
    compile_fixed(&format!("(?i)^{LEAD_IN}{matter}{END}"))
}

/// How sure a sign of a limit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum LimitStrength {
    /// A service's refusal; believed where the program failed.
    Refusal,
    /// The words of a plan's limit; believed anywhere they are the last thing said.
    Plan,
}

/// Recognises a limit in the text of an error, and when it ends. Times without a zone are in the system's.
pub fn read_usage_limit(text: &str, now: Timestamp) -> Option<UsageLimit> {
    read_in(text, now, None)
}

/// The same, with times without a zone in `local`.
pub fn read_in(text: &str, now: Timestamp, local: Option<&TimeZone>) -> Option<UsageLimit> {
    let text = fold_json(text);
    let lines = last_lines(&text);
    // The last one announced is the one in force.
    let at = lines
        .iter()
        .rposition(|line| measure_limit_strength(line).is_some())?;
    Some(limit_at(&lines, at, now, local))
}

/// Recognises a session that ended in a limit, from the end of its output and its exit.
///
/// In structured output the last result decides. Of plain text only the last lines count, and after a good exit only the
/// words of a plan's limit: a session that mentions limits and continues met none.
pub fn ended_in_limit(last: &LastWords, exit: ProcessExit, now: Timestamp) -> Option<UsageLimit> {
    ended_in_limit_in(last, exit, now, None)
}

fn ended_in_limit_in(
    last: &LastWords,
    exit: ProcessExit,
    now: Timestamp,
    local: Option<&TimeZone>,
) -> Option<UsageLimit> {
    if let Some(reply_envelope) = &last.found {
        return in_envelope(reply_envelope, now, local);
    }
    let lines = last_lines(&last.text);
    // A menu, a hint or a stack trace may follow the message; a page of prose may not.
    let (last_words, least) = match (last.has_failed(exit), last.only_stderr) {
        (false, _) => (1, LimitStrength::Plan),
        (true, false) => (6, LimitStrength::Refusal),
        (true, true) => (LINES, LimitStrength::Refusal),
    };
    // The words tell when it ends; a status behind them does not.
    let (.., limit) = (lines.len().saturating_sub(last_words)..lines.len())
        .filter_map(|i| {
            let strength =
                measure_limit_strength(lines[i]).filter(|strength| *strength >= least)?;
            Some((strength, limit_at(&lines, i, now, local)))
        })
        .max_by_key(|(strength, limit)| {
            let has_words = contains_any(&limit.why, &LIMIT_WORDS);
            (*strength, limit.retry_at.is_some(), has_words)
        })?;
    Some(limit)
}

/// The limit that an envelope reports, if it does.
pub(super) fn in_envelope(
    reply_envelope: &ReplyEnvelope,
    now: Timestamp,
    local: Option<&TimeZone>,
) -> Option<UsageLimit> {
    let error_text = reply_envelope.error_text();
    if reply_envelope.is_error {
        if let Some(limit) = read_in(&error_text, now, local) {
            return Some(limit);
        }
        let is_limit =
            reply_envelope.api_error_status == Some(429) && !is_without_room(&error_text);
        return is_limit.then(|| UsageLimit {
            why: cut_text(error_text.trim(), LINE),
            retry_at: reset_at(&error_text, now, local),
        });
    }
    // Some versions print the plan's limit as an ordinary answer. Then it is the whole answer.
    let text = reply_envelope
        .text
        .as_deref()
        .filter(|_| reply_envelope.structured_output.is_none())
        .unwrap_or_default();
    let lines = last_lines(text);
    (lines.len() <= 2 && measure_limit_strength(lines.first()?) == Some(LimitStrength::Plan))
        .then(|| limit_at(&lines, 0, now, local))
}

/// The last lines that say anything, in order.
fn last_lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text
        .lines()
        .rev()
        .map(|line| line[..line.floor_char_boundary(LINE)].trim())
        .filter(|line| !line.is_empty())
        .take(LINES)
        .collect();
    lines.reverse();
    lines
}

fn limit_at(lines: &[&str], at: usize, now: Timestamp, local: Option<&TimeZone>) -> UsageLimit {
    let following = lines[at..lines.len().min(at + 1 + FOLLOWING)].join("\n");
    UsageLimit {
        why: cut_text(strip_decoration(lines[at]), LINE),
        retry_at: reset_at(&following, now, local),
    }
}

/// Whether a line announces a limit: at its start, or at the start of one of its sentences.
fn measure_limit_strength(line: &str) -> Option<LimitStrength> {
    let line = strip_decoration(line);
    if !contains_any(line, &WORDS) || is_without_room(line) {
        return None;
    }
    if contains_any(line, &[RETRY_LIMIT]) && !line.contains("429") {
        return None;
    }
    if JSON_LINE.is_match(line) && JSON.is_match(line) && serde_json_like(line) {
        return Some(LimitStrength::Refusal);
    }
    let sentences = line
        .match_indices([' '])
        .filter(|(i, _)| line[..*i].ends_with(['.', '!', '·', '∙', '|']))
        .map(|(i, _)| i + 1)
        .take(16);
    std::iter::once(0)
        .chain(sentences)
        .filter_map(|start| {
            let sentence = &line[start..];
            if PLAN.is_match(sentence) {
                Some(LimitStrength::Plan)
            } else {
                RATE.is_match(sentence).then_some(LimitStrength::Refusal)
            }
        })
        .max()
}

/// The text without the marks that terminals draw before a line. Not `>`, `#`, `*`, `-` or `/`: those quote, list or comment.
fn strip_decoration(line: &str) -> &str {
    line.trim_start_matches(|c: char| c.is_whitespace() || "⎿└├│╰●⏺•✻✗✘✖❌⚠\u{fe0f}▲■❯".contains(c))
        .trim_end()
}

/// Whether the JSON in a line says it at its top or in its `error`, rather than in a text that it carries.
fn serde_json_like(line: &str) -> bool {
    let Some(start) = line.find('{') else {
        return false;
    };
    let Ok(value) = serde_json::from_str::<Value>(&line[start..]) else {
        // Cut at the bound of a line, or followed by more: the pattern decides.
        return true;
    };
    let is_plain = |value: &Value| JSON.is_match(&value.to_string());
    [Some(&value), value.get("error")]
        .into_iter()
        .flatten()
        .any(|object| {
            object.as_object().is_some_and(|members| {
                members.iter().any(|(name, of)| {
                    !of.is_object()
                        && !of.is_array()
                        && is_plain(&serde_json::json!({ name.as_str(): of }))
                })
            })
        })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::printed_words::tests::forms_of;

    fn now() -> Timestamp {
        "2026-08-19T16:28:34Z".parse().expect("an instant")
    }

    fn read_limit(text: &str) -> Option<Option<String>> {
        read_in(text, now(), Some(&TimeZone::UTC))
            .map(|limit| limit.retry_at.map(|at| at.to_string()))
    }

    #[test]
    fn limits_are_recognised_as_agents_print_them() {
        for (text, retry_at) in [
            (
                "You've hit your limit · resets 7pm (America/Los_Angeles)",
                Some("2026-08-20T02:00:00Z"),
            ),
            (
                "You’ve hit your session limit · resets 4:10pm (UTC)",
                Some("2026-08-20T16:10:00Z"),
            ),
            (
                "Claude AI usage limit reached|1787200000",
                Some("2026-08-20T04:26:40Z"),
            ),
            (
                "5-hour limit reached ∙ resets 3am",
                Some("2026-08-20T03:00:00Z"),
            ),
            (
                "Opus weekly limit reached ∙ resets Aug 25, 10:30am (UTC)",
                Some("2026-08-25T10:30:00Z"),
            ),
            (
                "Claude usage limit reached. Your limit will reset at 9pm.",
                Some("2026-08-19T21:00:00Z"),
            ),
            (
                "You've hit your individual spend limit · run /usage-credits to raise it",
                None,
            ),
            (
                "You're out of extra usage · resets 2am",
                Some("2026-08-20T02:00:00Z"),
            ),
            (
                "API Error: Request rejected (429) · This request would exceed your account's rate limit. Please try again later.",
                None,
            ),
            ("API Error: Rate limit reached", None),
            (
                "You've hit your usage limit. Upgrade to Pro (https://example.com/pricing) or try again in 3 days 4 hours.",
                Some("2026-08-22T20:28:34Z"),
            ),
            ("Error: HTTP 429 Too Many Requests: quota exceeded", None),
            (
                "Daily quota reached. Resets at midnight UTC.",
                Some("2026-08-20T00:00:00Z"),
            ),
            (
                "API Error: 429 Usage limit reached for 5 hour. Your limit will reset at 2026-08-19 18:23:16",
                Some("2026-08-19T18:23:16Z"),
            ),
            (
                "[API Error: 429 You exceeded your current quota, please check your plan and billing details.]",
                None,
            ),
            (
                "Failed to get response from the AI model; retried 5 times (total retry wait time: 50.39 seconds) Last error: 429 You exceeded your current quota, please check your plan and billing details.",
                None,
            ),
            (
                "stream error: Rate limit exceeded. retry-after: 30s",
                Some("2026-08-19T16:29:04Z"),
            ),
            (
                "API Error: 429 {\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"slow down\"}}",
                None,
            ),
            (
                "{\"error\":{\"type\":\"usageLimitExceeded\",\"resetAt\":1787200000}}",
                Some("2026-08-20T04:26:40Z"),
            ),
            (
                "[API Error: {\\\"code\\\":429} quota exceeded {\\\"retryDelay\\\": \\\"34s\\\"}]\nRate limit exceeded {\\\"retryDelay\\\": \\\"34s\\\"}",
                Some("2026-08-19T16:29:08Z"),
            ),
            (
                "{\"error\":{\"code\":429,\"status\":\"RESOURCE_EXHAUSTED\",\"message\":\"Please retry in 37.2s.\"}}",
                Some("2026-08-19T16:29:12Z"),
            ),
            ("Error: Exceeded tokens per minute limit", None),
            (
                "You exceeded your current quota, please check your plan and billing details.",
                None,
            ),
            (
                "[API Error: You have exhausted your daily quota on this model.]\nPlease wait, or use another key.",
                None,
            ),
            (
                "You have exhausted your capacity on this model. Your quota will reset after 2h.",
                Some("2026-08-19T18:28:34Z"),
            ),
            (
                "[API Error: [{\n  \"error\": {\n    \"code\": 429,\n    \"message\": \"You have exhausted your capacity on this model. Your quota will reset after 8h44m7s.\",\n    \"errors\": []\n  }\n}\n]\n]",
                Some("2026-08-20T01:12:41Z"),
            ),
            (
                "Attempt 1 failed: You have exhausted your capacity on this model. Your quota will reset after 3h20m5s.. Retrying after 6173ms...",
                Some("2026-08-19T19:48:39Z"),
            ),
            (
                "Error when talking to Gemini API Full report available at: /tmp/x.json TerminalQuotaError: You have exhausted your daily quota on this model.",
                None,
            ),
            (
                "Qwen API quota exceeded: Your Qwen API quota has been exhausted. Please wait for your quota to reset.",
                None,
            ),
            (
                "Sorry, you've hit a rate limit that restricts the number of requests. Please try again in 2 hours 5 minutes.",
                Some("2026-08-19T18:33:34Z"),
            ),
            (
                "Free usage exceeded, retrying in 12m30s attempt #2",
                Some("2026-08-19T16:41:04Z"),
            ),
            (
                "  ⎿  You've hit your limit · resets 7pm (UTC)\n\n❯ waiting",
                Some("2026-08-19T19:00:00Z"),
            ),
            (
                "✗ You've hit your limit\n  Try again at 9:39 PM",
                Some("2026-08-19T21:39:00Z"),
            ),
        ] {
            assert_eq!(
                read_limit(text),
                Some(retry_at.map(str::to_owned)),
                "{text}"
            );
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_phrase_is_without_one_of_the_words(plan in forms_of(PLAN_LIMIT), rate in forms_of(RATE_LIMIT)) {
            for phrase in [plan, rate] {
                prop_assert!(contains_any(&phrase, &WORDS), "{phrase}");
            }
        }
    }

    #[test]
    fn talk_about_limits_is_none() {
        for text in [
            "I added a retry for when the rate limit is exceeded.",
            "Rate limit exceeded errors are now retried with backoff.",
            "The tests cover 'usage limit reached' and HTTP 429 responses.",
            "HTTP 429 responses are handled.",
            "console.log(\"Rate limit exceeded\");",
            "// rate limit exceeded",
            "- Rate limit exceeded: shown to the user",
            "I saw rate limit exceeded.",
            "> You've hit your limit · resets 7pm",
            "if (response.status === 429) { retry(); }",
            "import { Ratelimit } from \"@upstash/ratelimit\"",
            "TypeError: ratelimit.check is not a function",
            "You've hit your limit on nested callbacks here, so I split the function.",
            "85% of your daily usage consumed",
            "You have exhausted your daily quota tests, so I wrote more.",
            "The banner says [API Error: You have exhausted your daily quota on this model.]",
            "You're close to your usage limit.",
            "Approaching usage limit · resets at 7pm",
            "Processing item 429",
            "claude turn failed: error_max_turns",
            "API Error: Repeated 529 Overloaded errors.",
            "Server is overloaded, please try again later",
            "ERROR: exceeded retry limit, last status: 503 Service Unavailable",
            "ERROR: exceeded retry limit, last status: 429 Too Many Requests",
            "Error: HTTP 429 Too Many Requests",
            "{\"error\":{\"code\":429,\"message\":\"Too many requests\"}}",
            "ERROR: exceeded retry limit, last status: 401 Unauthorized",
            "{\"message\":\"the \\\"rate_limit_error\\\" is handled\"}",
            "{\"result\":{\"log\":{\"type\":\"rate_limit_error\"}}}",
            "",
        ] {
            assert_eq!(read_limit(text), None, "{text}");
        }
    }

    #[test]
    fn limit_ends_session_only_as_last_word() {
        let ended = |output: &str, exit| {
            ended_in_limit_in(
                &LastWords::from_tails(output.as_bytes(), b""),
                exit,
                now(),
                Some(&TimeZone::UTC),
            )
            .is_some()
        };
        let result = |is_error: bool, status: Option<u64>, text: &str| {
            json!({"type": "result", "subtype": "success", "is_error": is_error, "api_error_status": status, "result": text}).to_string()
        };
        let gemini = |error: &str| {
            let begun = json!({"type": "init", "session_id": "97d38b7d-137f-44c8-a906-ac97e99b783f", "model": "pro"});
            format!(
                "{begun}\n{}",
                json!({"type": "result", "status": "error", "error": {"type": "unknown", "message": error}})
            )
        };
        let copilot = |status: u64, error: &str, exit: u64| {
            let failed = json!({"type": "session.error", "data": {"errorType": "query", "message": error, "statusCode": status}});
            let late_message =
                json!({"type": "assistant.message", "data": {"content": "Done after all."}});
            let result = json!({"type": "result", "sessionId": "97d38b7d-137f-44c8-a906-ac97e99b783f", "exitCode": exit});
            let late_line = if exit == 0 {
                format!("{late_message}\n")
            } else {
                String::new()
            };
            format!(
                "{}\n{failed}\n{late_line}{result}",
                json!({"type": "session.tools_updated", "data": {}})
            )
        };
        let words = "You've hit your limit · resets 7pm (UTC)";
        let (good, bad) = (ProcessExit::Code(0), ProcessExit::Code(1));
        let prose = "I read the log.\nRate limit exceeded.\nIt was from last week.\nAll tests pass now.\nThe code is committed.\nOne\nTwo\nThree";
        for (output, exit, expected) in [
            (
                result(
                    true,
                    Some(429),
                    "API Error: Request rejected (429) · slow down",
                ),
                bad,
                true,
            ),
            (
                result(true, Some(429), "something in another tongue"),
                bad,
                true,
            ),
            (
                result(true, None, "Claude AI usage limit reached|1787200000"),
                good,
                true,
            ),
            (result(false, None, words), good, true),
            (
                result(
                    false,
                    None,
                    &format!("Found in the log:\n{words}\nNothing to fix."),
                ),
                good,
                false,
            ),
            (
                result(
                    true,
                    Some(529),
                    "API Error: Repeated 529 Overloaded errors.",
                ),
                bad,
                false,
            ),
            (
                result(false, None, "I made the rate limit configurable."),
                good,
                false,
            ),
            (format!("working\n{words}\n"), bad, true),
            (format!("working\n{words}\n"), good, true),
            (format!("{words}\nNow I went on and finished."), good, false),
            ("Rate limit exceeded.".into(), good, false),
            ("Rate limit exceeded.".into(), bad, true),
            (
                format!(
                    "{words}\n\nWhat do you want to do?\n> 1. Stop and wait for limit to reset\n  2. Upgrade"
                ),
                bad,
                true,
            ),
            (prose.into(), bad, false),
            (
                format!(
                    "{}\n{}",
                    json!({"type": "thread.started"}),
                    json!({"type": "turn.failed", "error": {"message": words}})
                ),
                bad,
                true,
            ),
            (String::new(), bad, false),
            (
                gemini(
                    "[API Error: You have exhausted your daily quota on this model.]\nPlease wait.",
                ),
                bad,
                true,
            ),
            (gemini("[API Error: the model is unknown]"), bad, false),
            (copilot(429, "429 Rate limit", 1), bad, true),
            (
                copilot(400, "400 the prompt talks about a 429 Rate limit", 1),
                bad,
                false,
            ),
            (copilot(429, "429 Rate limit", 0), good, false),
        ] {
            assert_eq!(ended(&output, exit), expected, "{output} {exit}");
        }
    }

    #[test]
    fn members_of_an_error_tell_its_end() {
        let gemini = b"TerminalQuotaError: You exceeded your current quota, please check your plan.\nPlease retry in 34s.\n  cause: {\n    code: 429,\n  },\n  status: 429\n}\n";
        let last = LastWords::from_tails(b"", gemini);
        let limit = ended_in_limit_in(&last, ProcessExit::Code(1), now(), Some(&TimeZone::UTC));
        assert!(
            limit.is_some_and(|limit| limit.retry_at.is_some() && limit.why.contains("quota")),
            "the status behind the words tells less"
        );
        for error in [
            json!({"error": {"code": 429, "message": "Quota exceeded", "details": [{"retryDelay": "34s"}]}}),
            json!({"type": "error", "error": {"code": 429, "message": "Quota exceeded", "retry_after": 34}}),
            json!({"type": "error", "error": {"type": "usage_limit_reached", "resets_in_seconds": 34}}),
        ] {
            let last = LastWords::from_tails(error.to_string().as_bytes(), b"");
            let limit = ended_in_limit_in(&last, ProcessExit::Code(1), now(), Some(&TimeZone::UTC));
            let retry_at = limit
                .and_then(|limit| limit.retry_at)
                .map(|at| at.to_string());
            assert_eq!(retry_at.as_deref(), Some("2026-08-19T16:29:08Z"), "{error}");
        }
    }

    #[test]
    fn hostile_limit_text_is_read_in_bounded_time() {
        for soup in [
            "a. ",
            "error: ",
            "rate ",
            "you've hit your ",
            "[x] ",
            "{\"type\":\"",
            "1 day ",
            "resets ",
            "🦀",
        ] {
            let text = soup.repeat(1_000_000 / soup.len());
            let _ = read_in(&text, now(), Some(&TimeZone::UTC));
            let last = LastWords::from_tails(text.replace(' ', "\n").as_bytes(), b"");
            let _ = ended_in_limit_in(&last, ProcessExit::Code(1), now(), Some(&TimeZone::UTC));
        }
    }
}
