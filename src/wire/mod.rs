//! Everything that leaves as JSON: verdicts and events. Inside, the same things are plain values.

pub mod event_json;
pub(crate) mod event_words;
pub(crate) mod loop_json;
pub(crate) mod verdict_json;
