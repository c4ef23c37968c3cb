//! WHAT WAS ASKED. `completion.json` as types: parsed, validated, lowered, with defaults. Pure: text in, settings or errors out.
//!
//! Reading order: [`settings`] (what there is to ask), `criteria` (the types of check), `parse` (the whole file), `elements` (one
//! block or check type per file, as a table of its keys), `key_table` and `key_kinds` (the parts of a table), `reader` (typed access
//! that collects every problem), `syntax` (JSON with positions). The same tables make `resolved` (settings back to JSON), `schema` (the
//! JSON Schema) and `key_reference` (the tables of docs/configuration.md).
//! [`PresetName`] names an agent, [`message_template`] is the form of a notification for people.
//! Task files are read by the same readers: [`task_file`], over `yaml`.

mod criteria;
mod criteria_numbers;
mod elements;
mod key_kinds;
mod key_reference;
mod key_row;
mod key_table;
pub mod message_template;
mod nearest;
mod parse;
mod preset_name;
mod problem;
mod reader;
mod resolved;
mod schema;
pub mod settings;
mod syntax;
pub mod task_file;
mod yaml;

pub use criteria_numbers::{CriteriaNumbers, NUMBER_NAMES};
pub use elements::notification_words;
pub use key_reference::key_tables;
pub use nearest::{
    find_misspelt_word as misspelt_word, find_nearest_word as nearest_word,
    format_nearest_hint as nearest_hint, nearest_first,
};
pub use parse::{MAX_BYTES, ParsedConfig, parse_bytes, parse_config, parse_registered};
pub use preset_name::PresetName;
pub use problem::{ConfigError, ConfigProblem, NamedPreset};
pub use reader::unknown_preset;
pub use resolved::to_json;
pub use schema::build_config_schema;
pub use syntax::STRICT as STRICT_JSON;
