//! Reads the output of a session while it runs: the agent's texts, actions and usage, in bounded memory.
//!
//! Reads events of Claude Code, Codex, Gemini, opencode, Copilot, Qwen and Antigravity, in lines, in an array, or as one object; skips
//! unknown ones. All other output is plain text: its end is the agent's last text, and its usage is unknown.
//! [`super::envelope`] uses the same events for answers.
//!
//! An output counts as events if the first thing in it is one, if one of those that only open a session comes later (a script printed
//! something first), or if the last thing is one. So an event that an agent quotes in prose spends no budget.

mod antigravity;
mod claude;
mod codex;
mod copilot;
mod cursor;
mod dialect;
#[cfg(test)]
mod dialect_tests;
mod documents;
mod event_reader;
mod fields;
mod figures;
mod gemini;
mod opencode;
mod output_events;
mod reader;
mod reader_format;
mod refused;
mod reply_event;
mod session_fold;
mod shortened_document;
mod stream_rules;
#[cfg(test)]
mod tests;
mod todo;
mod tool_input;

pub use dialect::StreamDialect;
pub(super) use fields::get_text;
pub use figures::TokenCounts;
pub use output_events::OutputEvents;
pub use reader::{SessionView, StreamReader, StreamTap};
pub(super) use reply_event::{FinalResult, REPLY_MEMBERS, ReplyEvent, event_kind, reply_event};
pub use session_fold::SessionSummary;
pub use stream_rules::{EventRule, RuledEnd, RuledUsage, StreamFormat, StreamRules};
