//! Notifications: the rules, their delivery in a thread of its own, and the ways to a receiver.
//!
//! Reading order: `rules` (what goes to whom), `delivery` (the outbox and its thread), `send` (one notice to one receiver),
//! `message` and `next_command` (what people read), `receivers`, `https_post`, `mail` and `desktop` (the ways there).

pub mod delivery;
mod desktop;
pub mod event_tail;
#[cfg(feature = "webhooks")]
mod https_post;
mod mail;
mod message;
mod next_command;
mod notified_program;
mod receivers;
pub(crate) mod rules;
pub mod send;
mod send_error;
