//! Only duct. Starts every process, ends process trees, keeps bounded output; asks agents about themselves and reads their replies.

pub mod program;

pub mod envelope;
mod failure;
mod plain_text;
pub mod presets;
pub mod probe;
pub mod prompt;
pub mod reply;
mod reply_fields;
mod reply_json;
mod reply_scan;
mod reset_time;
pub mod transcript;
pub mod usage_limit;
