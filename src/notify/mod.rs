//! Notifications: the rules, their delivery in a thread of its own, and the webhook, the one kind that needs a network.

pub mod delivery;
pub(crate) mod event_tail;
#[cfg(feature = "webhooks")]
mod https_post;
pub(crate) mod rules;
mod webhook;
