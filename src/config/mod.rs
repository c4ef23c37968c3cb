//! WHAT WAS ASKED. `completion.json` as types: parsed, validated, lowered, with defaults. Pure: text in, settings or errors out.
//!
//! Reading order: [`settings`] (what there is to ask), `parse` (the whole file), `elements` (one block or check type per file),
//! `reader` (typed access that collects every problem), `syntax` (JSON with positions), `resolved` (settings back to JSON).

mod elements;
mod nearest;
mod parse;
mod patterns;
mod problem;
mod reader;
mod resolved;
mod schema;
pub mod settings;
mod syntax;

pub use elements::notification_words;
pub(crate) use nearest::hint as nearest_hint;
pub use parse::{MAX_BYTES, Parsed, parse, parse_bytes};
pub use patterns::{escapes_worktree, output_regex, path_glob};
pub use problem::{ConfigError, Problem};
pub use resolved::to_json;
pub use schema::SCHEMA;
