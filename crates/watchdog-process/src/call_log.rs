//! A line in the log for each program that ran: which, where, how long, how it ended. Never its input, output or environment.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use super::program::StartError;
use watchdog_facts::display::{cut_text, log_millis};
use watchdog_facts::evidence::ProcessExit;
use watchdog_facts::secret_shapes::mask_secrets;

/// How much of a command line is shown, in bytes.
const SHOWN: usize = 300;

/// The purpose of a program, which selects the log target of the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ProgramPurpose {
    /// Git itself.
    Git,
    /// A configured check.
    Check,
    /// The user's command for a rescue.
    Rescue,
    /// A notification.
    Notification,
    /// The agent, about itself. Its arguments may hold a prompt, and are not shown.
    #[default]
    Agent,
}

/// A program that ended, or was not started.
pub(super) struct ProgramCall<'a> {
    pub argv: &'a [OsString],
    pub cwd: &'a Path,
    pub duration: Duration,
    pub ended: Result<(ProcessExit, bool), &'a StartError>,
}

macro_rules! called {
    ($target:literal, $call:expr, $args:expr) => {{
        let call: &ProgramCall<'_> = $call;
        tracing::trace!(
            target: $target,
            program = call.program(),
            args = $args,
            cwd = %call.cwd.display(),
            exit = call.exit(),
            timed_out = call.ended.as_ref().is_ok_and(|(_, timed_out)| *timed_out),
            duration_ms = log_millis(call.duration),
            "called a program"
        );
    }};
}

impl ProgramCall<'_> {
    /// Writes the line.
    pub(super) fn log(&self, purpose: ProgramPurpose) {
        match purpose {
            ProgramPurpose::Git => called!("watchdog::git", self, self.args_of_git()),
            ProgramPurpose::Check => called!("watchdog::checks", self, self.args()),
            ProgramPurpose::Rescue => called!("watchdog::rescue", self, self.args()),
            ProgramPurpose::Notification => called!("watchdog::notify", self, self.count()),
            ProgramPurpose::Agent => called!("watchdog::agent", self, self.count()),
        }
    }

    fn program(&self) -> String {
        self.argv
            .first()
            .map(|name| mask_secrets(&name.to_string_lossy()).into_owned())
            .unwrap_or_default()
    }

    fn args(&self) -> String {
        shown_words(
            self.argv
                .iter()
                .skip(1)
                .map(|word| word.to_string_lossy().into_owned()),
        )
    }

    /// A message of a commit may hold words of the agent, and is not shown.
    fn args_of_git(&self) -> String {
        let mut message = false;
        let words = self.argv.iter().skip(1).map(|word| {
            match std::mem::replace(&mut message, word == "-m") {
                true => "[message]".to_owned(),
                false => word.to_string_lossy().into_owned(),
            }
        });
        shown_words(words)
    }

    fn count(&self) -> String {
        format!("{} not shown", self.argv.len().saturating_sub(1))
    }

    fn exit(&self) -> String {
        match &self.ended {
            Ok((exit, _)) => exit.to_string(),
            Err(error) => format!("not started: {error}"),
        }
    }
}

/// The words of a command line as they may be shown: secrets by their shape, and what follows an option that takes one, are left out.
fn shown_words(words: impl Iterator<Item = String>) -> String {
    // Masked before it is cut: half a secret has no shape.
    let line = mask_secrets(&words.collect::<Vec<_>>().join(" ")).into_owned();
    let mut after_option = false;
    let mut shown = String::with_capacity(line.len());
    for piece in line.split_inclusive(char::is_whitespace) {
        let word = piece.trim_end();
        if after_option && !word.is_empty() && !word.starts_with("[secret:") {
            shown.push_str("[secret: option]");
            shown.push_str(&piece[word.len()..]);
        } else {
            shown.push_str(piece);
        }
        after_option = (after_option && word.is_empty()) || takes_a_secret(word);
    }
    cut_text(&shown, SHOWN)
}

/// Whether a word is an option whose value is the next word, and a secret.
fn takes_a_secret(word: &str) -> bool {
    let small = word.to_ascii_lowercase();
    let named = [
        "passw",
        "passphrase",
        "token",
        "secret",
        "api-key",
        "apikey",
        "access-key",
        "private-key",
        "credential",
    ];
    small.starts_with("--") && !small.contains('=') && named.iter().any(|name| small.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_shown_without_its_secrets() {
        let token = format!("{}{}", "ghp_", "aB3d".repeat(9));
        for (words, hidden) in [
            (
                vec!["-c".to_owned(), format!("GH_TOKEN={token} cargo test")],
                token.as_str(),
            ),
            (
                vec!["--password".into(), "h0rse-staple".into(), "run".into()],
                "h0rse-staple",
            ),
            (
                vec![
                    "-c".into(),
                    "login --api-key  h0rse-staple && cargo test".into(),
                ],
                "h0rse-staple",
            ),
            (
                vec![
                    "-c".into(),
                    "curl -H 'Authorization: Bearer abcDEF123456abcDEF123456' x".into(),
                ],
                "abcDEF123456",
            ),
            (vec!["x".repeat(SHOWN - 10), token.clone()], &token[..9]),
        ] {
            let shown = shown_words(words.into_iter());
            assert!(!shown.contains(hidden) && shown.len() <= SHOWN, "{shown}");
        }
        let plain = "-c cargo test --all  -- --nocapture";
        assert_eq!(shown_words(plain.split(' ').map(str::to_owned)), plain);
    }
}
