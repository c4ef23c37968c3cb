//! Agents: starts and probes them, and reads their replies, outputs and transcripts.
//!
//! [`preset`] holds what is known of each agent, as data; [`session_command`] is the command of a session, [`probe`] sends a probe and
//! [`reply`] parses its answer. [`stream`] reads the output of a session while it runs, [`transcript`] finds its transcript;
//! [`usage_limit`], [`overload`] and [`unrunnable`] classify failures, behind `printed_words`.

#![warn(missing_docs)]

mod assertions;
pub mod claim_facts;
mod claim_words;
mod command_parts;
pub mod envelope;
mod failure;
pub mod last_words;
pub mod local_api;
pub mod overload;
pub mod plan_prompt;
pub mod preset;
mod printed_words;
pub mod probe;
pub mod prompt;
mod question_scratch;
pub mod recognition;
pub mod reply;
pub mod reply_claims;
mod reply_doubt;
mod reply_fields;
mod reply_json;
mod reply_scan;
mod reset_time;
pub mod running_list;
pub mod session_command;
pub mod session_history;
pub mod session_id;
pub mod stream;
mod tool_calls;
pub mod transcript;
pub mod transcript_read;
pub mod transcript_source;
pub mod transcript_turn;
pub mod unrunnable;
pub mod usage_limit;
pub mod work_claims;

pub use session_command::{ConversationChoice, SessionAgent, SessionCommand};
