//! Commands that a person is told to type: words that a POSIX shell takes as they are meant, and the worktree in each command, so that it
//! works when it is pasted from anywhere. Pure.

use std::ops::Range;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::display::{LineFeedEscaping, escape_text};

/// A text as one word of a shell's command line.
pub fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%,=".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// A path as one word of a shell's command line, fit for a terminal: what is no text, or would be escaped when it is shown, is
/// written by the shell's own `printf`.
pub fn shell_path(path: &Path) -> String {
    match path.to_str() {
        Some(text) if escape_text(text, LineFeedEscaping::Escape) == text => shell_word(text),
        _ => {
            let byte = |byte: &u8| match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' | b' ' => {
                    char::from(*byte).to_string()
                }
                byte => format!("\\{byte:03o}"),
            };
            format!(
                "\"$(printf '{}')\"",
                path.as_os_str()
                    .as_bytes()
                    .iter()
                    .map(byte)
                    .collect::<String>()
            )
        }
    }
}

/// How the commands about one worktree begin. By default they name none, and are about the folder that they are typed in.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct WorktreeCommands {
    /// `-C` with the worktree, and a blank before it.
    worktree: String,
    /// `--state-dir` with the directory, and a blank before it.
    state: String,
}

impl WorktreeCommands {
    /// About this worktree, which is named by its whole path: `~` means nothing in quotes.
    pub fn at(worktree: &Path) -> Self {
        WorktreeCommands::default().with_worktree(worktree)
    }

    /// The same about another worktree.
    pub fn with_worktree(self, worktree: &Path) -> Self {
        WorktreeCommands {
            worktree: format!(" -C {}", shell_path(worktree)),
            ..self
        }
    }

    /// With the state directory, where a flag named it: a command without that flag would look elsewhere.
    pub fn with_state_dir(self, named: Option<&Path>) -> Self {
        WorktreeCommands {
            state: named
                .map(|dir| format!(" --state-dir {}", shell_path(dir)))
                .unwrap_or_default(),
            ..self
        }
    }

    /// The two beginnings as they stand in a command, for whoever writes them down.
    pub fn parts(&self) -> (&str, &str) {
        (&self.worktree, &self.state)
    }

    /// The commands with these two beginnings.
    pub fn from_parts(worktree: &str, state: &str) -> Self {
        WorktreeCommands {
            worktree: worktree.to_owned(),
            state: state.to_owned(),
        }
    }

    /// A command of watchdog's about the worktree.
    pub fn watchdog(&self, words: &str) -> String {
        format!("watchdog{}{} {words}", self.worktree, self.state)
    }

    /// The command that restores a snapshot as the worktree that is gone.
    pub fn restore_worktree(&self, id: &str, root: &Path) -> String {
        let (id, root) = (shell_word(id), shell_path(root));
        self.watchdog(&format!("rescue restore {id} --worktree {root}"))
    }

    /// A command of watchdog's that is about no worktree.
    pub fn watchdog_anywhere(&self, words: &str) -> String {
        format!("watchdog{} {words}", self.state)
    }

    /// A command of git's in the worktree.
    pub fn git(&self, words: &str) -> String {
        format!("git{} {words}", self.worktree)
    }

    /// A remedy from a room that knows no worktree: it has its commands in backquotes, and they are placed once.
    pub fn name_worktree(&self, remedy: &str) -> String {
        [
            ("`git ", format!("`git{} ", self.worktree)),
            (
                "`watchdog ",
                format!("`watchdog{}{} ", self.worktree, self.state),
            ),
        ]
        .into_iter()
        .fold(remedy.to_owned(), |text, (bare, placed)| {
            if text.contains(&placed) {
                text
            } else {
                text.replace(bare, &placed)
            }
        })
    }
}

/// Finds the commands about a worktree in a text: each from its program to what cannot belong to
/// its line any more.
pub fn commands_in(text: &str) -> Vec<Range<usize>> {
    const BEGINNINGS: [&str; 3] = ["watchdog -C ", "watchdog --state-dir ", "git -C "];
    let mut commands: Vec<Range<usize>> = Vec::new();
    for beginning in BEGINNINGS {
        for (at, _) in text.match_indices(beginning) {
            if text[..at]
                .chars()
                .next_back()
                .is_none_or(|before| before == ' ' || before == '`')
            {
                commands.push(at..at + end_of_command(&text[at..]));
            }
        }
    }
    commands.sort_by_key(|command| command.start);
    commands
}

/// Finds the end of the command that a text begins with: before what cannot belong to its line any
/// more, quotes apart.
pub fn end_of_command(text: &str) -> usize {
    let (mut quote, mut escaped) = (None, false);
    for (at, c) in text.char_indices() {
        if std::mem::take(&mut escaped) {
            continue;
        }
        match (quote, c) {
            (None | Some('"'), '\\') => escaped = true,
            (Some(open), c) if open == c => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, ';' | ',' | '`' | '(' | ')' | '\n') => return at,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn plain_words_stay_plain_and_others_are_quoted() {
        for (raw, word) in [
            ("/home/me/shop", "/home/me/shop"),
            ("", "''"),
            ("/a b", "'/a b'"),
            ("/o'neil", r"'/o'\''neil'"),
            ("/日本", "'/日本'"),
            ("~/shop", "'~/shop'"),
            ("$HOME", "'$HOME'"),
        ] {
            assert_eq!(shell_word(raw), word);
            assert_eq!(shell_path(Path::new(raw)), word);
        }
    }

    #[test]
    fn unshowable_path_becomes_a_single_plain_line() {
        for (bytes, word) in [
            (&b"/a\x1b[2J"[..], r#""$(printf '/a\033\1332J')""#),
            (b"/a\nb", r#""$(printf '/a\012b')""#),
            (b"/caf\xe9", r#""$(printf '/caf\351')""#),
            (b"/x'\x07%", r#""$(printf '/x\047\007\045')""#),
        ] {
            assert_eq!(shell_path(Path::new(OsStr::from_bytes(bytes))), word);
        }
    }

    #[test]
    fn command_names_worktree_and_flagged_state_directory() {
        let commands = WorktreeCommands::at(Path::new("/a b"));
        assert_eq!(commands.watchdog("check"), "watchdog -C '/a b' check");
        assert_eq!(commands.git("fsck"), "git -C '/a b' fsck");
        let named = commands.with_state_dir(Some(Path::new("/s")));
        assert_eq!(
            named.watchdog("check"),
            "watchdog -C '/a b' --state-dir /s check"
        );
        assert_eq!(
            named.watchdog_anywhere("status"),
            "watchdog --state-dir /s status"
        );
        assert_eq!(
            WorktreeCommands::default().watchdog("check"),
            "watchdog check"
        );
        let (worktree, state) = named.parts();
        assert_eq!(
            WorktreeCommands::from_parts(worktree, state).watchdog("check"),
            named.watchdog("check"),
            "written down and read again"
        );
    }

    #[test]
    fn commands_in_sentences_keep_all_their_words() {
        for (text, commands) in [
            ("nothing to type", &[][..]),
            (
                "close it with: watchdog -C /w breaker reset",
                &["watchdog -C /w breaker reset"],
            ),
            ("see `git -C '/a; b' fsck`; wait", &["git -C '/a; b' fsck"]),
            (
                r"with: watchdog -C '/o'\''n, x' trust (untrusted)",
                &[r"watchdog -C '/o'\''n, x' trust "],
            ),
            (
                "see: git -C /w log, then watchdog --state-dir /s status",
                &["git -C /w log", "watchdog --state-dir /s status"],
            ),
            (
                "watchdog -C /w run -- claude -p \"$(cat 'a b')\"",
                &["watchdog -C /w run -- claude -p \"$(cat 'a b')\""],
            ),
            ("my-watchdog -C /w", &[]),
        ] {
            let command_texts: Vec<&str> = commands_in(text)
                .into_iter()
                .map(|command| &text[command])
                .collect();
            assert_eq!(command_texts, commands, "{text}");
        }
    }

    #[test]
    fn a_remedy_from_below_is_placed_once() {
        let commands = WorktreeCommands::at(Path::new("/w"));
        let placed = commands.name_worktree("look with `git fsck`, then type `watchdog snapshot`");
        assert_eq!(
            placed,
            "look with `git -C /w fsck`, then type `watchdog -C /w snapshot`"
        );
        assert_eq!(commands.name_worktree(&placed), placed);
    }
}
