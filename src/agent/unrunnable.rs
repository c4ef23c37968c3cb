//! Tells why an agent's program cannot work at all, from the last words of its session: a login that is not valid, credit that is spent.
//! Pure. Text that merely talks about logins or credit is neither.

use std::sync::LazyLock;

use regex::Regex;

use watchdog_facts::display::bounded;
use watchdog_facts::evidence::ProcessExit;
use watchdog_process::plain_text::plain_text;

/// Bytes of an explanation that are kept: a message shows 200 characters, and what to type is among them.
const WHY: usize = 120;
/// How many lines at the end of plain text are searched; a stack trace or a hint may follow the message.
const LAST_LINES: usize = 4;
/// Bytes of a line that is a program's word about itself, and no prose.
const LINE: usize = 300;

/// The labels that programs print before a message.
const LEAD_IN: &str = r"^(?:\[[^\]]{1,40}\]\s*|[✖✗❌×⚠\s]+|(?:fatal|error|api[ _]?error|apierror|claude|codex|gemini|opencode|unexpected status|http)\b[\s:·,-]*|\[?api error[:\s]+)*";

const LOGIN: &str = r#"(?:not (?:logged|signed) in\b|please run /login|please (?:log|sign) in\b|login required\b|(?:incorrect|invalid) (?:x-)?api[ -]key|api key not valid|failed to authenticate|authentication failed|authentication_error|unauthenticated\b|401\b.{0,40}(?:unauthori[sz]ed|api key|authentication)|401 unauthori[sz]ed|403 forbidden|api error:? 40[13]\b|\{"error":\s*\{"code":\s*40[13]\b|oauth token (?:has )?(?:expired|been revoked)|your (?:session|login|access token|token|authentication) (?:has )?expired|(?:api key|credentials?) (?:is |are |was |were )?(?:missing|not found|not set|expired|revoked)|set an auth method)"#;

const CREDIT: &str = r"(?:(?:your )?credit balance is too low|insufficient (?:credits?|funds|balance)|(?:you(?:['’]re| are| have)? )?(?:out of|run out of|no more) credits?\b|no credits? (?:left|remaining)|402 payment required|payment required\b|billing_(?:hard_limit_reached|not_active)|to use codex with your chatgpt plan, upgrade)";

static ERROR_LOGIN: LazyLock<Regex> = LazyLock::new(|| pattern(&format!("(?i){LOGIN}")));
static ERROR_CREDIT: LazyLock<Regex> = LazyLock::new(|| pattern(&format!("(?i){CREDIT}")));
static LINE_LOGIN: LazyLock<Regex> = LazyLock::new(|| pattern(&format!("(?i){LEAD_IN}{LOGIN}")));
static LINE_CREDIT: LazyLock<Regex> = LazyLock::new(|| pattern(&format!("(?i){LEAD_IN}{CREDIT}")));

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is a constant")
}

/// Why the program cannot work, from the error by which its own structure says that the session ended.
pub fn in_error(error: &str) -> Option<String> {
    error.lines().find_map(|line| cause(line, &ERROR_CREDIT, &ERROR_LOGIN))
}

/// Why the program cannot work, from the last lines of plain output. A session that ended well is not cut short by anything.
pub fn in_last_lines(tail_stdout: &[u8], exit: ProcessExit) -> Option<String> {
    if exit.success() {
        return None;
    }
    let text = plain_text(tail_stdout).text;
    let lines = text.lines().rev().map(str::trim).filter(|line| !line.is_empty()).take(LAST_LINES);
    lines.filter(|line| line.len() <= LINE).find_map(|line| cause(line, &LINE_CREDIT, &LINE_LOGIN))
}

fn cause(line: &str, credit: &Regex, login: &Regex) -> Option<String> {
    let said = || bounded(line.trim(), WHY);
    if credit.is_match(line) {
        return Some(format!("its credit is spent: {}; add credit, or start it with another account", said()));
    }
    login.is_match(line).then(|| format!("its login is not valid: {}; log in again, or set its API key", said()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_known_programs_are_told_apart() {
        for (error, word) in [
            ("Credit balance is too low", "credit"),
            ("Your credit balance is too low to access the API", "credit"),
            ("To use Codex with your ChatGPT plan, upgrade to Plus", "credit"),
            ("unexpected status 402 Payment Required: x", "credit"),
            ("Not logged in · Please run /login", "login"),
            ("Invalid API key · Fix external API key", "login"),
            ("Failed to authenticate. API Error: 403 forbidden", "login"),
            ("unexpected status 401 Unauthorized: Incorrect API key provided: sk-x., url: http://127.0.0.1", "login"),
            ("unexpected status 403 Forbidden: forbidden", "login"),
            ("[API Error: 401 Incorrect API key provided]", "login"),
            ("[API Error: {\"error\":{\"code\":401,\"message\":\"API key not valid.\",\"status\":\"UNAUTHENTICATED\"}}]", "login"),
            ("OAuth token has expired. Please obtain a new token", "login"),
            ("[API Error: 403 no]", "login"),
            ("[API Error: {\"error\":{\"code\":403,\"message\":\"denied\",\"status\":\"PERMISSION_DENIED\"}}]", "login"),
            ("Authentication failed with provider at http://127.0.0.1/v1 (HTTP 401).\n  Check your key.", "login"),
        ] {
            assert!(in_error(error).is_some_and(|why| why.contains(&format!("its {word} is"))), "{error}: {:?}", in_error(error));
        }
        for error in [
            "API Error: 400 bad thing",
            "[API Error: 4030 tokens are too many]",
            "[API Error: {\"error\":{\"code\":400,\"message\":\"code 403 is unknown\"}}]",
            "Prompt is too long",
            "Reached maximum number of turns (1)",
            "error_during_execution",
            "",
        ] {
            assert_eq!(in_error(error), None, "{error}");
        }
    }

    #[test]
    fn what_to_type_stands_in_the_first_200_characters() {
        let long = format!("Failed to authenticate. {}", "The key of this account is not known here. ".repeat(9));
        let why = in_error(&long).expect("a login");
        assert!(why.chars().take(200).collect::<String>().contains("log in again, or set its API key"), "{why}");
    }

    #[test]
    fn plain_text_counts_only_as_the_last_words_of_a_session_that_failed() {
        let failed = ProcessExit::Code(1);
        assert!(in_last_lines(b"working\nNot logged in \xc2\xb7 Please run /login\n", failed).is_some());
        assert!(in_last_lines(b"API Error: 401 authentication_error\n\n", failed).is_some());
        assert!(in_last_lines(b"Credit balance is too low\n", failed).is_some());
        assert_eq!(in_last_lines(b"Credit balance is too low\n", ProcessExit::Code(0)), None);
        for talk in [
            "The test expects that users who are not logged in see 401 Unauthorized",
            "test login::not_logged_in ... FAILED",
            "assertion failed: expected 401 Unauthorized, got 200",
            "Credit balance is too low\none\ntwo\nthree\nfour",
        ] {
            assert_eq!(in_last_lines(talk.as_bytes(), failed), None, "{talk}");
        }
    }
}
