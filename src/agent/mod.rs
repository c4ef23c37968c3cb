//! Agents: how one is started and asked about itself, and what its replies, its output and its transcripts say.
//!
//! [`presets`] knows how each agent's program is called; [`session_command`] is the command of a session, [`probe`] the question to it and
//! [`reply`] what it answers. [`stream`] reads the output of a session while it runs, [`transcript`] finds what it wrote down;
//! [`usage_limit`], [`overload`] and [`unrunnable`] tell why an agent could not work.

pub mod envelope;
mod failure;
pub mod overload;
pub mod plan_prompt;
pub mod presets;
pub mod probe;
pub mod prompt;
pub mod reply;
pub mod reply_claims;
mod reply_doubt;
mod reply_fields;
mod reply_json;
mod reply_scan;
mod reset_time;
pub mod session_command;
pub mod stream;
pub mod transcript;
pub mod transcript_read;
pub mod unrunnable;
pub mod usage_limit;

pub use session_command::{ConversationChoice, SessionCommand, SessionWorker};
