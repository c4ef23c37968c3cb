//! Tells why an agent's program cannot work at all, from the last words of its session: a login that is not valid, credit that is spent, a
//! folder that it does not trust, a session or a model that it does not have, settings or a command line that it cannot read, a request
//! that its service refuses. Pure. Text that merely talks about such things is none of them.

use std::sync::OnceLock;

use regex::Regex;

use super::last_words::LastWords;
use super::printed_words::contains_any;
use watchdog_facts::display::cut_text;
use watchdog_facts::evidence::ProcessExit;
use watchdog_facts::patterns::{FixedPattern, compile_fixed};

/// Bytes of an explanation: a message shows 200 characters, and the program's words and the remedy are among them.
const EXPLANATION: usize = 196;
/// How many lines at the end of plain text are searched; a stack trace or a hint may follow the message.
const LAST_LINES: usize = 4;
/// The same for a program that printed nothing but errors: its hints may be long.
const STDERR_LINES: usize = 12;
/// The lines at the begin of an error in which a page of help begins, if it has one.
const HELP_LINES: usize = 6;
/// Bytes of a line that is a program's word about itself, and no prose.
const LINE: usize = 300;

/// The labels that programs print before a message, and the members of JSON before the one that holds it.
const LEAD_IN: &str = r#"^(?:\[[^\]]{1,40}\]\s*|[✖✗❌×⚠\s]+|(?:fatal|error|api[ _]?error|apierror|claude|codex|gemini|opencode|qwen|copilot|unexpected status|http|exceeded retry limit|last status|(?:provider|ai_|_|model|config|context)[a-z_]*error)\b[\s:·,-]*|error when talking to gemini api full report available at: \S+\s+|\[?api error[:\s]+|(?:\d{3}\s*)?[\[{]+\s*|"(?:error|detail|message|type|code|status|param|name|data)":\s*(?:(?:\d{3}|null|"[a-z0-9_.-]*"),\s*|"|))*"#;

const LOGIN: &str = r#"(?:not (?:logged|signed) in\b|please run /login|please (?:log|sign) in\b|login required\b|(?:incorrect|invalid) (?:x-)?api[ -]key|api key not valid|failed to authenticate|authentication failed|authentication_error|unauthenticated\b|401\b.{0,40}(?:unauthori[sz]ed|api key|authentication)|401 unauthori[sz]ed|(?:http|status|error|code)[: ]{1,2}401(?:$|[:.,;()"]| unauthori)|403 forbidden|api error:? 40[13]\b|\{"error":\s*\{"code":\s*40[13]\b|oauth token (?:has )?(?:expired|been revoked)|your (?:session|login|access token|token|authentication) (?:has )?expired|(?:api key|credentials?) (?:is |are |was |were )?(?:missing|not found|not set|expired|revoked)|(?:please )?set an auth method|missing environment variable: `?[a-z0-9_]*(?:key|token)|invalid auth method selected|no auth type is selected|no authentication information found|providerautherror|classic personal access tokens|missing api key for|when using [a-z ]{1,40}, you must specify the [a-z0-9_]*key environment variable)"#;

const CREDIT: &str = r"(?:(?:your )?credit balance is too low|insufficient (?:credits?|funds|balance)|(?:you(?:['’]re| are| have)? )?(?:out of|run out of|no more) credits?\b|(?:no|not enough) credits? (?:left|remaining)|(?:http|status|error|code)[: ]{1,2}402(?:$|[:.,;()]| payment)|payment required\b|billing_(?:error|hard_limit_reached|not_active)|to use codex with your chatgpt plan, upgrade)";

const FOLDER: &str = r"(?:[\w ]{0,30}not (?:running )?in(?:side)? a trusted (?:directory|folder|workspace)|(?:this|the current) (?:directory|folder|workspace) is not trusted)";

const NO_SESSION: &str = r"(?:no (?:conversation|rollout|(?:(?:recorded|previous|saved) )?sessions?)(?: with [^ ]{1,40})? found\b|invalid session identifier|session not found(?:$|: [^ ]{1,80}$)|no session, task, or name matched|(?:--resume )?requires a valid session id|error resuming session(?:$|:)|no (?:session|conversation) to (?:resume|continue))";

const MODEL: &str = r#"(?:there['’]s an issue with the selected model|(?:the )?(?:(?:requested|selected|specified) |['"`][a-z0-9./:@_-]+['"`] )?model(?:[: ]{1,2}['"`(]{0,1}[\w./:@-]{1,80}['"`)]{0,1})?(?: from --model flag)? (?:does not exist|is not (?:available|supported|found)|(?:was )?not found)|(?:provider)?model[ _]?not[ _]?found|byok providers require an explicit model|models/[\w.-]{1,60} is not found|not_found_error\W{1,10}message\W{1,10}model\b|no such model)"#;

const PROMPT: &str = r"(?:contextoverflowerror|prompt is too long|input is too long|codex ran out of room in the model['’]s context window|context[ _](?:window|length)[ _]exceeded|(?:your input|prompt|request|conversation) exceeds the (?:context|model|maximum)|maximum context length is|request[_ ]too[_ ]large|(?:the )?(?:input token count(?: \([0-9]+\))? )?exceeds the maximum number of tokens|input length and `?max_tokens`? exceed context limit)";

const COMMAND: &str = r"(?:(?:unknown option|unexpected argument|unknown arguments?|unrecognized (?:option|arguments?)|flag provided but not defined):?\s{1,2}['‘`]?-{0,2}\w|input must be provided either through stdin|no (?:prompt|input) provided via stdin|when using --[a-z-]{1,40}, [^ ]{1,80} requires -|option '[^']{1,80}' argument (?:'[^']{0,80}' is invalid|missing)|invalid json provided to -|invalid value '[^']{0,80}' for '-|invalid command format|--dangerously-skip-permissions cannot be used with)";

const CONFIG: &str = r#"(?:(?:error loading|failed to load) config(?:uration|\.toml)?\b|error in [^ ]{1,200}settings\.json:|invalid configuration in [^ ]{1,200}:|configuration is invalid at |config file at [^ ]{1,200} is not valid|config(?:invalid|json)error\b|config profile [^ ]{1,80} not found|model provider [^ ]{1,80} not found|(?:settings|mcp config) file not found|invalid mcp configuration|toml parse error at line)"#;

const REQUEST: &str = r#"(?:\[?api error:? {0,1}(?:400|404|413|422)\b|\{"error": {0,1}\{"code": {0,1}400\b|\{"error":[^}]{0,200}"type": {0,1}"invalid_request_error"|unexpected status (?:400|404|413|422)\b)"#;

const SERVER: &str = "unexpected server error[.] check server logs";

const CERTIFICATE: &str = r"(?:(?:unable to connect to api due to )?ssl certificate error|self[_ -]signed[_ ]cert(?:ificate)?(?:$|[:;,]|[_ ]in[_ ])|unable[_ ]to[_ ](?:verify[_ ]the[_ ]first[_ ]cert|verify_leaf_signature|get[_ ](?:local[_ ])?issuer[_ ]cert)|cert(?:ificate)?[_ ]has[_ ]expired(?:$|[:;,.)]))";

const INTERPRETER: &str = r"(?:(?:/[a-z/]{1,40}/)?env: (?:['‘`]{0,1})[a-z0-9._+-]{1,40}(?:['’`]{0,1}): no such file or directory|(?:[a-z]{1,10}: )?[^ ]{1,80}: [^ ]{1,80}: bad interpreter)";

/// A limit of the model's answer: nobody else's fault, and no reason to send the same again.
const ANSWER_LIMIT: &str = "Incomplete response returned, reason: max_output_tokens";

pub(super) static CREDIT_CAUSE: CauseWords = CauseWords::new(
    CREDIT,
    &[
        "credit",
        "insufficient",
        "402",
        "payment required",
        "billing_",
        "chatgpt plan",
    ],
    "its credit is spent",
    "add credit, or start it with another account",
);
pub(super) static LOGIN_CAUSE: CauseWords = CauseWords::new(
    LOGIN,
    &[
        "login",
        "log in",
        "logged in",
        "sign in",
        "signed in",
        "api key",
        "api-key",
        "authenticate",
        "authentication",
        "401",
        "403",
        "oauth token",
        "expired",
        "credential",
        "auth method",
        "auth type",
        "environment variable",
        "providerauth",
        "personal access token",
    ],
    "its login is not valid",
    "log in again, or set its API key",
);
static FOLDER_CAUSE: CauseWords = CauseWords::new(
    FOLDER,
    &["trusted"],
    "it does not work in a folder that it does not trust",
    "give it the option by which it trusts this one",
);
pub(super) static SESSION_CAUSE: CauseWords = CauseWords::new(
    NO_SESSION,
    &["rollout", "session", "conversation"],
    "it does not have the session that it should resume",
    "start it without one",
);
static MODEL_CAUSE: CauseWords = CauseWords::new(
    MODEL,
    &["model"],
    "its model cannot be used",
    "choose another",
);
static CERTIFICATE_CAUSE: CauseWords = CauseWords::new(
    CERTIFICATE,
    &["cert", "leaf_signature"],
    "its connection is not trusted",
    "correct the certificate or the proxy",
);
static INTERPRETER_CAUSE: CauseWords = CauseWords::new(
    INTERPRETER,
    &["env: ", "bad interpreter"],
    "its program cannot start",
    "install what it lacks, or correct PATH",
);
static PROMPT_CAUSE: CauseWords = CauseWords::new(
    PROMPT,
    &[
        "too long",
        "room",
        "context",
        "exceeds",
        "too large",
        "too_large",
    ],
    "its prompt is too long for its model",
    "shorten it",
);
static REQUEST_CAUSE: CauseWords = CauseWords::new(
    REQUEST,
    &["400", "404", "413", "422", "invalid_request_error"],
    "its service refuses the request",
    "change it, or the agent's settings",
);
/// Counts as a program's first line alone: a program that works passes on the words of others.
static COMMAND_CAUSE: CauseWords = CauseWords::new(
    COMMAND,
    &[
        "option",
        "argument",
        "flag",
        "stdin",
        "when using --",
        "invalid value",
        "provided to -",
        "command format",
        "skip-permissions",
    ],
    "it refuses its command line",
    "correct that, or update the program",
);
/// The same: programs that the agent writes have settings, too.
static CONFIG_CAUSE: CauseWords = CauseWords::new(
    CONFIG,
    &["config", "settings", "toml", "model provider"],
    "its settings cannot be used",
    "correct them",
);
static START_CAUSES: [&CauseWords; 3] = [&COMMAND_CAUSE, &CONFIG_CAUSE, &INTERPRETER_CAUSE];
/// The program can serve no request.
static CAUSES: [&CauseWords; 6] = [
    &CREDIT_CAUSE,
    &LOGIN_CAUSE,
    &FOLDER_CAUSE,
    &SESSION_CAUSE,
    &MODEL_CAUSE,
    &CERTIFICATE_CAUSE,
];
/// The service refuses this request: the same one fails again, one of a conversation begun anew may not.
static REQUEST_CAUSES: [&CauseWords; 3] = [&PROMPT_CAUSE, &SERVER_CAUSE, &REQUEST_CAUSE];
/// opencode says no more of a model that it does not have.
static SERVER_CAUSE: CauseWords = CauseWords::new(
    SERVER,
    &["check server logs"],
    "its own server failed",
    "read its log, and check the name of its model",
);

/// A cause, by its words: anywhere in an error, or as the beginning of a line of plain text.
pub(super) struct CauseWords {
    pattern: &'static str,
    /// All text that the pattern matches has at least one of these words.
    words: &'static [&'static str],
    what: &'static str,
    todo: &'static str,
    in_error: OnceLock<Regex>,
    in_line: OnceLock<Regex>,
}

impl CauseWords {
    const fn new(
        pattern: &'static str,
        words: &'static [&'static str],
        what: &'static str,
        todo: &'static str,
    ) -> Self {
        CauseWords {
            pattern,
            words,
            what,
            todo,
            in_error: OnceLock::new(),
            in_line: OnceLock::new(),
        }
    }

    fn is_in_error(&self, line: &str) -> bool {
        contains_any(line, self.words)
            && self
                .in_error
                .get_or_init(|| compile_fixed(&format!("(?i){}", self.pattern)))
                .is_match(line)
    }

    /// The first line of a text that names this cause.
    pub(super) fn find_line<'t>(&self, text: &'t str) -> Option<&'t str> {
        text.lines()
            .map(str::trim)
            .find(|line| self.is_in_error(line))
    }

    fn begins_line(&self, line: &str) -> bool {
        contains_any(line, self.words)
            && self
                .in_line
                .get_or_init(|| compile_fixed(&format!("(?i){LEAD_IN}{}", self.pattern)))
                .is_match(line)
    }

    fn explain(&self, error_text: &str) -> String {
        let CauseWords { what, todo, .. } = self;
        // Gemini names the file of a report first.
        let behind_report = (error_text.split_once("Full report available at: "))
            .and_then(|(_, line)| Some(line.split_once(' ')?.1));
        let error_text = behind_report.unwrap_or(error_text);
        let words = cut_text(error_text.trim(), EXPLANATION - what.len() - todo.len());
        format!("{what}: {words}; {todo}")
    }
}

/// Why the program cannot work, from the error by which its own structure says that the session ended, and the HTTP status in it.
pub fn in_error(error: &str, status: Option<u64>) -> Option<String> {
    let by_words = find_in_error(error, &CAUSES).or_else(|| find_in_error(error, &[&CONFIG_CAUSE]));
    by_words.or_else(|| match status? {
        401 | 403 => Some(LOGIN_CAUSE.explain(error)),
        402 => Some(CREDIT_CAUSE.explain(error)),
        _ => None,
    })
}

/// Why the service refuses the request, from the same.
pub fn refusal_in_error(error: &str, status: Option<u64>) -> Option<String> {
    find_in_error(error, &REQUEST_CAUSES)
        .or_else(|| matches!(status?, 400 | 404 | 413 | 422).then(|| REQUEST_CAUSE.explain(error)))
}

fn find_in_error(error: &str, causes: &[&CauseWords]) -> Option<String> {
    let explain_line = |line| Some(causes.iter().find(|c| c.is_in_error(line))?.explain(line));
    error.lines().find_map(explain_line)
}

/// Why the program cannot work, or its service refuses the request, from the end of an output without known events. A session that ended
/// well is not cut short by anything.
pub fn in_last_words(last: &LastWords, exit: ProcessExit) -> Option<String> {
    if let Some(reply_envelope) = &last.found {
        let (error, status) = (reply_envelope.error_text(), reply_envelope.api_error_status);
        return reply_envelope
            .is_error
            .then(|| in_error(&error, status).or_else(|| refusal_in_error(&error, status)))
            .flatten();
    }
    if !last.has_failed(exit) {
        return None;
    }
    let is_message = |line: &&str| !line.is_empty() && !line.starts_with("at ");
    let lines: Vec<&str> = (last.text.lines().map(str::trim))
        .filter(is_message)
        .collect();
    let most = if last.only_stderr {
        STDERR_LINES
    } else {
        LAST_LINES
    };
    let cause = |at: usize| {
        let line = lines[at];
        let at_start: &[_] = if last.only_stderr || at == 0 {
            &START_CAUSES
        } else {
            &[]
        };
        let cause = (CAUSES.iter().chain(&REQUEST_CAUSES).chain(at_start))
            .find(|cause| line.len() <= LINE && cause.begins_line(line))?;
        // "Error loading config.toml:" says no more than that.
        let end = at + 1 + usize::from(line.ends_with(':'));
        Some(cause.explain(&lines[at..end.min(lines.len())].join(" ")))
    };
    let is_help =
        |line: &&str| line.starts_with("Usage:") || ["Options:", "Positionals:"].contains(line);
    let by_help = || {
        // A page of help from a program that printed nothing else: the message, if any, stands before it.
        let has_help = last.only_stderr && lines.iter().take(HELP_LINES).any(is_help);
        has_help.then(|| COMMAND_CAUSE.explain(&lines[..2.min(lines.len())].join(" ")))
    };
    (0..lines.len())
        .rev()
        .take(most)
        .find_map(cause)
        .or_else(by_help)
}

/// Whether a line is a program's word about its own failure.
pub fn is_error_line(line: &str) -> bool {
    static LABEL: FixedPattern = FixedPattern::new(r"(?i)^\[?(?:api |fatal )?error\b");
    LABEL.is_match(line)
        || (CAUSES.iter().chain(&REQUEST_CAUSES)).any(|cause| cause.begins_line(line))
}

/// Why Gemini could not begin, by the exit codes that it has for that.
pub fn by_gemini_exit(code: i32) -> Option<String> {
    Some(match code {
        41 => LOGIN_CAUSE.explain("exit code 41"),
        42 => SESSION_CAUSE.explain("exit code 42"),
        55 => FOLDER_CAUSE.explain("exit code 55"),
        _ => return None,
    })
}

/// Whether an error is a limit of the model's answer.
pub fn is_limit_of_the_answer(error: &str) -> bool {
    contains_any(error, &[&ANSWER_LIMIT.to_ascii_lowercase()])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::printed_words::tests::forms_of;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_phrase_is_without_one_of_its_words(
            credit in forms_of(CREDIT), login in forms_of(LOGIN), folder in forms_of(FOLDER), session in forms_of(NO_SESSION),
            model in forms_of(MODEL), prompt in forms_of(PROMPT), request in forms_of(REQUEST), command in forms_of(COMMAND),
            config in forms_of(CONFIG), server in forms_of(SERVER), certificate in forms_of(CERTIFICATE), interpreter in forms_of(INTERPRETER),
        ) {
            let phrases = [
                credit, login, folder, session, model, certificate, prompt, server, request, command, config, interpreter,
            ];
            for (phrase, cause) in phrases.iter().zip(CAUSES.iter().chain(&REQUEST_CAUSES).chain(&START_CAUSES)) {
                prop_assert!(contains_any(phrase, cause.words), "{phrase}");
            }
        }
    }

    #[test]
    fn the_words_of_known_programs_are_told_apart() {
        for (word, errors) in [
            (
                "credit",
                &[
                    "Credit balance is too low",
                    "Your credit balance is too low to access the API",
                    "To use Codex with your ChatGPT plan, upgrade to Plus",
                    "unexpected status 402 Payment Required: x",
                ][..],
            ),
            (
                "login",
                &[
                    "Not logged in · Please run /login",
                    "Invalid API key · Fix external API key",
                    "Failed to authenticate. API Error: 403 forbidden",
                    "unexpected status 401 Unauthorized: Incorrect API key provided: sk-x., url: http://127.0.0.1",
                    "unexpected status 403 Forbidden: forbidden",
                    "[API Error: 401 Incorrect API key provided]",
                    "[API Error: {\"error\":{\"code\":401,\"message\":\"API key not valid.\",\"status\":\"UNAUTHENTICATED\"}}]",
                    "OAuth token has expired. Please obtain a new token",
                    "[API Error: 403 no]",
                    "Missing API key for OpenAI-compatible auth. Set settings.security.auth.apiKey, or set the variable.",
                    "[API Error: {\"error\":{\"code\":403,\"message\":\"denied\",\"status\":\"PERMISSION_DENIED\"}}]",
                    "Authentication failed with provider at http://127.0.0.1/v1 (HTTP 401).\n  Check your key.",
                    "Missing environment variable: `OPENAI_API_KEY`.",
                    "No auth type is selected. Please configure an auth type",
                ][..],
            ),
        ] {
            for error in errors {
                let why = in_error(error, None);
                assert!(
                    why.as_ref()
                        .is_some_and(|why| why.contains(&format!("its {word} is"))),
                    "{error}: {why:?}"
                );
            }
        }
        for (status, word) in [
            (401, Some("its login is")),
            (403, Some("its login is")),
            (402, Some("its credit is")),
            (400, None),
            (429, None),
        ] {
            let why = in_error("Nein", Some(status));
            assert_eq!(why.is_some(), word.is_some(), "{status}");
            assert!(
                word.is_none_or(|word| why.is_some_and(|why| why.contains(word))),
                "{status}"
            );
        }
        for error in [
            "API Error: 400 bad thing",
            "[API Error: 4030 tokens are too many]",
            "[API Error: {\"error\":{\"code\":400,\"message\":\"code 403 is unknown\"}}]",
            "Reached maximum number of turns (1)",
            "error_during_execution",
            "Missing environment variable: `DATABASE_URL`.",
            "Session not found in the cache of the test",
            "",
        ] {
            assert_eq!(in_error(error, None), None, "{error}");
        }
    }

    #[test]
    fn remedy_stands_in_first_200_characters() {
        let long = format!(
            "Failed to authenticate. {}",
            "The key of this account is not known here. ".repeat(9)
        );
        let why = in_error(&long, None).expect("a login");
        assert!(
            why.chars()
                .take(200)
                .collect::<String>()
                .contains("log in again, or set its API key"),
            "{why}"
        );
    }

    #[test]
    fn plain_text_counts_only_ending_failed_sessions() {
        let failed = ProcessExit::Code(1);
        let in_last_lines =
            |output: &[u8], exit| in_last_words(&LastWords::from_tails(output, b""), exit);
        assert!(
            in_last_lines(
                b"working\nNot logged in \xc2\xb7 Please run /login\n",
                failed
            )
            .is_some()
        );
        assert!(in_last_lines(b"API Error: 401 authentication_error\n\n", failed).is_some());
        assert!(in_last_lines(b"Credit balance is too low\n", failed).is_some());
        let gemini =
            b"When using Gemini API, you must specify the GEMINI_API_KEY environment variable.\nUpdate your environment and try again!\n";
        assert!(in_last_lines(gemini, failed).is_some());
        for (output, is_failure) in [
            ("Credit balance is too low\n", true),
            ("API Error: 400 bad thing", true),
            (
                "There's an issue with the selected model (x). It may not exist",
                true,
            ),
            ("Invalid API key · Fix external API key", true),
            ("I told them.\nCredit balance is too low\n", false),
            ("Invalid API key handling is fixed.", false),
            ("Prompt is too long, so I cut it", false),
        ] {
            let why = in_last_lines(output.as_bytes(), ProcessExit::Code(0));
            assert_eq!(why.is_some(), is_failure, "{output}: {why:?}");
        }
        for talk in [
            "The test expects that users who are not logged in see 401 Unauthorized",
            "test login::not_logged_in ... FAILED",
            "assertion failed: expected 401 Unauthorized, got 200",
            "Credit balance is too low\none\ntwo\nthree\nfour",
        ] {
            assert_eq!(in_last_lines(talk.as_bytes(), failed), None, "{talk}");
        }
    }

    #[test]
    fn program_failing_to_start_explains_on_stderr() {
        let gemini = "Warning: 256-color support not detected.\nError when talking to Gemini API x: _ApiError: {\"error\":{\"code\":401}}\n    \
            at async main (file:///x.js:1:5) {\n  status: 401\n}\n{\n  \"session_id\": \"2fdcf9f0-6d84-4e2f-8b53-25d85d8aa996\",\n  \
            \"error\": {\n    \"type\": \"Error\",\n    \"message\": \"denied\",\n    \"code\": 403\n  }\n}\n";
        let copilot = "Error: No authentication information found.\n\nCopilot can be authenticated with GitHub using a token.\n\n\
            To authenticate, you can use any of the following methods:\n  * Start 'copilot'\n  * Set GH_TOKEN\n  * Run 'gh auth login'\n";
        let yargs = format!(
            "Unknown argument: nope\nUsage: qwen\n{}",
            "  --opt  an option\n".repeat(40)
        );
        let invalid_value = yargs.replace(
            "Unknown argument: nope",
            "Invalid values:\n  Argument: auth-type, Given: \"nope\", Choices: \"openai\"",
        );
        let gemini_model = format!(
            "Error when talking to Gemini API Full report available at: /tmp/gemini-client-error.json ModelNotFoundError: models/gemini-nope is not found for API version v1beta, or is not supported for generateContent.\n{}{{\n  code: 404\n}}\nAn unexpected critical error occurred:[object Object]\n",
            "    at async main (file:///x.js:1:5)\n".repeat(10)
        );
        for (stderr, exit, named) in [
            (gemini, 147, "its login is not valid"),
            (copilot, 1, "its login is not valid"),
            (
                "/usr/bin/env: 'node': No such file or directory\n",
                127,
                "its program cannot start",
            ),
            (
                "env: node: No such file or directory\n",
                127,
                "its program cannot start",
            ),
            (
                "bash: /usr/bin/claude: /opt/node: bad interpreter: No such file or directory\n",
                126,
                "its program cannot start",
            ),
            (
                "Invalid auth method selected.\n",
                41,
                "its login is not valid",
            ),
            (
                "Not inside a trusted directory and --skip-git-repo-check was not specified.\n",
                1,
                "it does not trust",
            ),
            (
                "Error: no rollout found for thread id 019a2b3c-0000-7000-8000-0123456789ab\n",
                1,
                "does not have the session",
            ),
            (
                "Invalid session identifier \"x\".\n",
                42,
                "does not have the session",
            ),
            ("Error: Session not found\n", 1, "does not have the session"),
            (
                "error: unexpected argument '--foo' found\n\nUsage: codex [OPTIONS]\n\nFor more information, try '--help'.\n",
                2,
                "its command line",
            ),
            (
                "Options:\n  -m  model\n\nUnknown arguments: foo, bar\n",
                1,
                "its command line",
            ),
            (
                "Error: When using --print, --output-format=stream-json requires --verbose\n",
                1,
                "its command line",
            ),
            (
                "error: option '--output-format <format>' argument 'nope' is invalid. Allowed choices are text, json, stream-json.\n",
                1,
                "its command line",
            ),
            (
                "error: invalid value 'nope' for '--sandbox <SANDBOX_MODE>'\n  [possible values: read-only, workspace-write]\n\nFor more information, try '--help'.\n",
                2,
                "its command line",
            ),
            (&yargs, 1, "its command line"),
            (&invalid_value, 1, "its command line"),
            (
                "Error: Invalid MCP configuration:\nMCP config file not found: /nope.json\n",
                1,
                "its settings",
            ),
            (
                "WARNING: proceeding\nError loading config.toml: unknown variant `x`, expected one of `untrusted`, `never`\nin `approval_policy`\n\n",
                1,
                "unknown variant `x`",
            ),
            (
                "Error loading config.toml:\n/h/config.toml:1:9: string values must be quoted, expected literal string\n  |\n1 | model =\n  |         ^\n",
                1,
                "config.toml:1:9: string values must be quoted",
            ),
            ("Error: config profile `x` not found\n", 1, "its settings"),
            (
                "opencode run [message..]\n\nrun opencode with a message\n\nPositionals:\n  message  message to send\n\nOptions:\n  -h, --help  show help\n",
                1,
                "its command line: opencode run",
            ),
            (
                "Error: {\n  \"name\": \"UnknownError\",\n  \"data\": {\n    \"message\": \"Unexpected server error. Check server logs for details.\",\n    \"ref\": \"err_1\"\n  }\n}\n",
                1,
                "its own server failed",
            ),
            (
                "Error: failed to load configuration: x\n",
                1,
                "its settings",
            ),
            (
                "Error: Invalid JSON provided to --settings\n",
                1,
                "its command line",
            ),
            (
                "Error: Model provider `nope` not found\n",
                1,
                "its settings",
            ),
            (
                "\u{1b}[91mError: \u{1b}[0mConfiguration is invalid at /x/opencode.json\n↳ Expected string | undefined, got 5 model\n",
                0,
                "its settings",
            ),
            (
                "ProviderModelNotFoundError: ProviderModelNotFoundError\n data: {\n  providerID: \"nope\",\n},\n",
                0,
                "its model",
            ),
            (
                "> build · m1\nError: Your input exceeds the context window of this model.\n",
                0,
                "its prompt",
            ),
            (
                "Error in /x/.gemini/settings.json: Expected property name or '}' in JSON at position 1\nPlease fix the configuration file(s) and try again.\n",
                52,
                "its settings",
            ),
            (
                &gemini_model,
                1,
                "its model cannot be used: ModelNotFoundError",
            ),
        ] {
            let why = in_last_words(
                &LastWords::from_tails(b"", stderr.as_bytes()),
                ProcessExit::Code(exit),
            );
            assert!(
                why.as_ref().is_some_and(|why| why.contains(named)),
                "{stderr}: {why:?}"
            );
        }
        let stderr = b"Error: No authentication information found.\n";
        assert_eq!(
            in_last_words(
                &LastWords::from_tails(b"All tests pass\n", stderr),
                ProcessExit::Code(1)
            ),
            None,
            "it began"
        );
        assert!(
            by_gemini_exit(55).is_some_and(|why| why.contains("trust"))
                && by_gemini_exit(1).is_none()
        );
    }

    #[test]
    fn models_and_requests_name_their_refusal() {
        for words in [
            "There's an issue with the selected model (claude-opus-4-1-20250805). It may not exist or you may not have access to it. Run --model to pick a different model.",
            "Error: Model not found: fake/nope.",
            "The model `gpt-nope` does not exist or you do not have access to it.",
            "Error: Model \"x\" from --model flag is not available.",
            "The 'gpt-5.3-codex' model is not supported when using Codex with a ChatGPT account.",
            "unexpected status 404 Not Found: The model does not exist, url: http://127.0.0.1:1/v1/responses",
            "API Error: 404 {\"type\":\"error\",\"error\":{\"type\":\"not_found_error\",\"message\":\"model: nope\"}}",
            "[API Error: models/gemini-nope is not found for API version v1beta]",
        ] {
            let why = in_error(words, None).or_else(|| refusal_in_error(words, None));
            assert!(
                why.is_some_and(|why| why.contains("its model cannot be used")),
                "{words}"
            );
        }
        for words in [
            "Prompt is too long",
            "[API Error: 400 This model's maximum context length is 8192 tokens.]",
            "Codex ran out of room in the model's context window. Start a new thread or clear earlier history before retrying.",
        ] {
            let why = in_error(words, None).or_else(|| refusal_in_error(words, None));
            assert!(
                why.is_some_and(|why| why.contains("its prompt is too long")),
                "{words}"
            );
        }
        for words in [
            "API Error: 400 bad thing",
            "[API Error: 400 bad thing]",
            "{\"error\": {\"message\": \"bad thing\", \"type\": \"invalid_request_error\", \"param\": null}}",
            "[API Error: {\"error\":{\"code\":400,\"message\":\"code 403 is unknown\"}}]",
        ] {
            let why = in_error(words, None).or_else(|| refusal_in_error(words, None));
            assert!(
                why.is_some_and(|why| why.contains("refuses the request")),
                "{words}"
            );
        }
        let failed = ProcessExit::Code(1);
        let read =
            |output: &str| in_last_words(&LastWords::from_tails(output.as_bytes(), b""), failed);
        for (line, cause) in [
            (
                "There's an issue with the selected model (nope). It may not exist or you may not have access to it.",
                "its model",
            ),
            (
                "ERROR: {\"detail\":\"The 'gpt-9' model is not supported when using Codex with a ChatGPT account.\"}",
                "its model",
            ),
            (
                "[API Error: {\"error\":{\"code\":404,\"message\":\"models/gemini-9 is not found for API version v1beta\",\"status\":\"NOT_FOUND\"}}]",
                "its model",
            ),
            (
                "Error: ProviderModelNotFoundError: Model not found: anthropic/claude-9",
                "its model",
            ),
            (
                "API Error: 404 {\"type\":\"error\",\"error\":{\"type\":\"not_found_error\",\"message\":\"model: claude-9\"}}",
                "its model",
            ),
            (
                "API Error: Unable to connect to API due to SSL certificate error: SELF_SIGNED_CERT_IN_CHAIN",
                "its connection",
            ),
            ("Prompt is too long", "its prompt"),
            (
                "AI_APICallError: prompt is too long: 210000 tokens > 200000 maximum",
                "its prompt",
            ),
            (
                "[API Error: {\"error\":{\"code\":400,\"message\":\"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).\"}}]",
                "its prompt",
            ),
            (
                "API Error: 413 {\"type\":\"error\",\"error\":{\"type\":\"request_too_large\",\"message\":\"Request exceeds the maximum size\"}}",
                "its prompt",
            ),
            (
                "API Error: 400 {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"Your credit balance is too low to access the API.\"}}",
                "its credit",
            ),
            (
                "[API Error: {\"error\":{\"code\":400,\"message\":\"API key not valid. Please pass a valid API key.\"}}]",
                "its login",
            ),
            (
                "ERROR: exceeded retry limit, last status: 401 Unauthorized",
                "its login",
            ),
            (
                "API Error: 400 {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"x\"}}",
                "refuses the request",
            ),
            ("error: unknown option '--foo'", "its command line"),
            (
                "Error: --resume requires a valid session ID when used with --print",
                "the session",
            ),
        ] {
            let why = read(line);
            assert!(
                why.as_ref().is_some_and(|why| why.contains(cause)),
                "{line}: {why:?}"
            );
            assert!(is_error_line(line), "{line}");
        }
        for talk in [
            "I fixed the test that says the model does not exist",
            "expected 400 Bad Request, got 200",
            "400 tests failed",
            "I ran it.\nerror: unknown option '--foo'",
            "AssertionError: model not found",
            "I ran it.\nError: invalid type: integer `5`, expected a string",
            "{\"text\": \"prompt is too long\"}",
            "The page says that the prompt is too long",
            "model = Model.find(1)",
            "item: Model metadata for `gpt-5.1-codex` not found. Defaulting to fallback metadata",
            "No conversation history was found, so I began with the issue.",
            "No session cookie was found in the request: I added it.",
            "Session not found: the route returns 404 now.",
            "Error resuming session is fixed.",
            "Self-signed certificates are accepted by the client now.",
            "Certificate has expired is now shown to the user.",
            "Status 401 is returned for a missing token now.",
            "Code 402 is now handled, and the tests pass.",
        ] {
            assert_eq!(read(talk), None, "{talk}");
        }
        assert_eq!(refusal_in_error("Nein", Some(429)), None);
        assert!(refusal_in_error("Nein", Some(400)).is_some());
        assert!(is_limit_of_the_answer(
            "Incomplete response returned, reason: max_output_tokens"
        ));
    }
}
