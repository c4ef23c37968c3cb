//! WHAT WAS ASKED. `completion.json` as types: parsed, validated, lowered, with defaults. Pure: text in, settings or errors out.

pub mod settings;
