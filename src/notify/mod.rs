//! Who is told of what: the rules, the delivery in a thread of its own, and the one kind that needs a network.

pub mod delivery;
pub(crate) mod event_tail;
#[cfg(feature = "webhooks")]
mod https_post;
pub(crate) mod rules;
mod webhook;
