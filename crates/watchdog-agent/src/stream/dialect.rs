//! The dialects of events that are read by code of ours, and what each of them tells about its end and its retries.

use serde::Deserialize;

/// A dialect of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StreamDialect {
    /// Claude Code, and the programs that print its events: Cursor and Amp by their documentation.
    Claude,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// opencode.
    Opencode,
    /// GitHub Copilot CLI.
    Copilot,
    /// Qwen Code: Claude Code's shape with other figures and errors.
    Qwen,
    /// Antigravity CLI.
    Antigravity,
}

impl StreamDialect {
    /// Its name in a preset.
    pub fn as_str(self) -> &'static str {
        match self {
            StreamDialect::Claude => "claude",
            StreamDialect::Codex => "codex",
            StreamDialect::Gemini => "gemini",
            StreamDialect::Opencode => "opencode",
            StreamDialect::Copilot => "copilot",
            StreamDialect::Qwen => "qwen",
            StreamDialect::Antigravity => "antigravity",
        }
    }

    /// Whether a session that did its turn always prints a last event, so that an exit code 0 without it is no success: Gemini and
    /// Copilot end so when they are stopped. Measured with these programs; of the others it is not known.
    pub fn always_reports_its_end(self) -> bool {
        match self {
            StreamDialect::Codex
            | StreamDialect::Gemini
            | StreamDialect::Opencode
            | StreamDialect::Copilot
            | StreamDialect::Qwen => true,
            StreamDialect::Claude | StreamDialect::Antigravity => false,
        }
    }

    /// Whether it prints an event for each request that it sends again. Without such events, their
    /// number is unknown and not zero.
    pub fn reports_retries(self) -> bool {
        match self {
            StreamDialect::Claude | StreamDialect::Codex | StreamDialect::Copilot => true,
            // Qwen prints that it begins an answer again, and not that it waits for the service.
            StreamDialect::Gemini
            | StreamDialect::Opencode
            | StreamDialect::Qwen
            | StreamDialect::Antigravity => false,
        }
    }
}
