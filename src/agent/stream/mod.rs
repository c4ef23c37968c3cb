//! Reads the output of a session while it runs: what the agent said, did and spent, in bounded memory.
//!
//! Events of Claude Code, Codex, Gemini, opencode and Antigravity are understood, in lines, in an array, or as one object; unknown ones
//! pass. Everything else is plain text: its end is the agent's last text, and what was spent is unknown.
//! What the events say about an answer, those of Copilot included, is read beside it, for [`super::envelope`].
//!
//! An output counts as events if the first thing in it is one, if one of those that only open a session comes later (a script printed
//! something first), or if the last thing is one. So an event that an agent quotes in prose spends nobody's budget.

mod antigravity;
mod claude;
mod codex;
mod copilot;
mod documents;
mod fields;
mod figures;
mod gemini;
mod opencode;
mod reader;
mod reply_event;
mod session_fold;
mod shortened_document;
#[cfg(test)]
mod tests;
mod todo;

pub use reader::{SessionView, StreamReader, StreamTap};
pub(super) use reply_event::{FinalResult, REPLY_MEMBERS, ReplyEvent, event_kind, reply_event};
pub use session_fold::SessionSummary;
