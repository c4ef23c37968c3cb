//! Reads the output of a session while it runs: what the agent said, did and spent, in bounded memory.
//!
//! Events of Claude Code, Codex, Gemini, opencode and Antigravity are understood, in lines, in an array, or as one object; unknown ones
//! pass. Everything else is plain text: its end is the agent's last text, and what was spent is unknown.
//!
//! An output counts as events if the first thing in it is one, if one of those that only open a session comes later (a script printed
//! something first), or if the last thing is one. So an event that an agent quotes in prose spends nobody's budget.

mod antigravity;
mod claude;
mod codex;
mod documents;
mod fields;
mod figures;
mod gemini;
mod opencode;
mod reader;
mod session_fold;
mod shortened_document;
#[cfg(test)]
mod tests;
mod todo;

pub use reader::{SessionView, StreamReader, StreamTap};
pub use session_fold::SessionSummary;
