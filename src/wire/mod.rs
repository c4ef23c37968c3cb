//! The JSON of verdicts and events. Inside the program they are plain values.

pub mod event_json;
pub(crate) mod event_words;
pub(crate) mod loop_json;
pub(crate) mod verdict_json;
