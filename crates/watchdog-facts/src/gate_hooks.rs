//! A repository's own gates: hooks of git that can refuse a commit or a push, as a session began with them, and their changes. Pure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::word_table::word_table;

/// The hooks of git that can refuse.
pub const GATE_HOOKS: [&str; 8] = [
    "pre-commit",
    "commit-msg",
    "prepare-commit-msg",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "pre-applypatch",
    "applypatch-msg",
];

/// The gates of a worktree that git runs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct GateHooks {
    /// The folder of the hooks.
    pub folder: String,
    /// Each hook that git runs and that does something.
    pub hooks: BTreeMap<String, GateHook>,
    /// Why others are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread: Option<String>,
}

/// A hook as the session found it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateHook {
    /// Its size in bytes.
    pub size: u64,
    /// Its mode.
    pub mode: u32,
    /// A hash of it, and of the files that its manager runs or reads in its place.
    pub digest: String,
}

/// A gate that is not as the session found it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateOff {
    /// The name of the hook.
    pub gate: String,
    /// The change.
    pub how: GateOffKind,
    /// A sentence for a person.
    pub detail: String,
}

word_table! {
    /// The change of a gate.
    enum GateOffKind;

    /// `core.hooksPath` leads git to another folder.
    HooksPath = "hooks_path",
    /// It is not there.
    Removed = "removed",
    /// It is there and does nothing.
    Emptied = "emptied",
    /// It has another content.
    Changed = "changed",
    /// git may not execute it.
    NotExecutable = "not_executable",
    /// It is there, and refuses a commit that the session made without it.
    NoVerify = "no_verify",
    /// It cannot be read.
    Unreadable = "unreadable",
}

/// Whether a script does nothing: before its first command it ends without a fault.
pub fn does_nothing(script: &[u8]) -> bool {
    let text = String::from_utf8_lossy(script);
    let is_idle = |line: &&str| {
        line.is_empty()
            || line.starts_with(['#', ':'])
            || *line == "true"
            || line.starts_with("set -")
    };
    let mut lines = text.split(['\n', ';']).map(str::trim).skip_while(is_idle);
    matches!(lines.next(), None | Some("exit" | "exit 0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn script_of_comments_and_exit_does_nothing() {
        for (script, expected) in [
            ("", true),
            ("#!/bin/sh\n", true),
            ("#!/bin/sh\nset -e\n# npm test\nexit 0\n", true),
            ("#!/bin/sh\n: ; true\n", true),
            ("#!/bin/sh\nexit 0\nnpm test\n", true),
            ("#!/bin/sh\nexit 1\n", false),
            ("npm test\n", false),
            ("\u{7f}ELF", false),
        ] {
            assert_eq!(does_nothing(script.as_bytes()), expected, "{script:?}");
        }
    }
}
