//! Who is told of what: the rules, the delivery in a thread of its own, and the one kind that needs a network.

pub mod delivery;
pub mod event_tail;
pub mod rules;
pub mod webhook;
