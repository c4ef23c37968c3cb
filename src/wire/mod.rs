//! Everything that leaves as JSON: verdicts and events. Inside, the same things are plain values.

pub mod event_json;
pub mod event_words;
pub mod loop_json;
pub mod verdict_json;
