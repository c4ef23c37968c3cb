//! The end of a session's output, read once for all who look for the cause of its end: its final event, or the error that its program
//! printed instead of any output. Pure.

use watchdog_facts::evidence::ProcessExit;
use watchdog_process::plain_text::plain_text;

use super::envelope::{self, ReplyEnvelope};
use watchdog_facts::patterns::FixedPattern;

/// The end of an output.
#[derive(Debug, Clone, Default)]
pub struct LastWords {
    /// The reply in the program's own structure; without it, the output is plain text.
    pub(super) found: Option<ReplyEnvelope>,
    /// The printed text without a terminal's controls, where there is no structure.
    pub(super) text: String,
    /// Whether the program printed nothing on stdout, so that the text is what it said about itself on stderr.
    pub(super) only_stderr: bool,
}

impl LastWords {
    /// Reads the end of stdout; and that of both streams where nothing was printed there, as by a program that could not begin.
    pub fn from_tails(tail_stdout: &[u8], tail: &[u8]) -> LastWords {
        let only_stderr = tail_stdout.trim_ascii().is_empty();
        let reply_envelope = if only_stderr {
            envelope::error_at_the_end(tail)
        } else {
            envelope::read_envelope(tail_stdout)
        };
        let text = if reply_envelope.is_some() {
            String::new()
        } else {
            fold_json(&plain_text(if only_stderr { tail } else { tail_stdout }).text)
        };
        LastWords {
            found: reply_envelope,
            text,
            only_stderr,
        }
    }

    /// Whether the session failed: by its exit, or because the output is nothing but words of a program about its own failure, after
    /// which some versions end with 0. On stderr they are its first line or its last: details and help may stand beside them.
    pub(super) fn has_failed(&self, exit: ProcessExit) -> bool {
        static FAILURE: FixedPattern = FixedPattern::new(
            r"(?x)^(?: API\ Error(?::|\ \() | Failed\ to\ authenticate\.\ API\ Error | Request\ too\ large\ \(max
                | (?:Prompt\ is\ too\ long|Credit\ balance\ is\ too\ low)$ | There['’]s\ an\ issue\ with\ the\ selected\ model\ \(
                | (?:Invalid\ API\ key|Not\ logged\ in|OAuth\ token\ [a-z\ ]{1,20})\ ·\  | \[API\ Error: | (?:Error|error):\ 
                | (?:Provider|Context|Config|AI_|API)\w*Error\b )",
        );
        let is_failure = |line: &str| FAILURE.is_match(line);
        let mut lines = (self.text.lines().map(str::trim))
            .filter(|line| !line.is_empty())
            .peekable();
        let last = lines.clone().last();
        !exit.success()
            || last.is_some_and(is_failure) && (self.only_stderr || lines.clone().all(is_failure))
            || self.only_stderr && lines.next().is_some_and(is_failure)
    }

    /// The session that the output names.
    pub fn session_id(&self) -> Option<&str> {
        self.found.as_ref()?.session_id.as_deref()
    }
}

/// The text with each JSON document on one line, however a program broke it: readers of lines know it only so.
pub(super) fn fold_json(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    let mut depth = 0_usize;
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        folded.push_str(if depth > 0 { line.trim() } else { line });
        let begins = line.ends_with(['{', '['])
            && lines
                .peek()
                .is_some_and(|next| next.trim_start().starts_with(['"', '{', '[']));
        if depth > 0 || begins {
            depth += line.matches(['{', '[']).count();
            depth = depth.saturating_sub(line.matches(['}', ']']).count());
        }
        folded.push(if depth > 0 { ' ' } else { '\n' });
    }
    folded
}
