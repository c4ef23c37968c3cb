//! The part of a file that configures a runner, apart from the remainder of that file.

use std::fmt;

use serde::Deserialize;
use serde_json::{Map, Value};

/// The relevant part of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateFilePart {
    /// All of it.
    #[default]
    Whole,
    /// The values of these keys of a JSON object.
    Keys(Vec<String>),
    /// The lines that hold one of these words.
    Lines(Vec<String>),
    /// The lines of sections whose headers hold this word.
    Sections(String),
}

impl GateFilePart {
    /// The relevant part of a file's bytes; `None` where it cannot be separated, and then every byte counts.
    pub fn extract_part(&self, bytes: &[u8]) -> Option<String> {
        let text = std::str::from_utf8(bytes).ok()?;
        match self {
            GateFilePart::Whole => Some(text.to_owned()),
            GateFilePart::Keys(keys) => {
                let Value::Object(object) = serde_json::from_str(text).ok()? else {
                    return None;
                };
                Some(
                    keys.iter()
                        .map(|key| format!("{:?}\n", object.get(key)))
                        .collect(),
                )
            }
            GateFilePart::Lines(words) => Some(split_lines(text, words).0),
            GateFilePart::Sections(word) => Some(split_sections(text, word).0),
        }
    }

    /// A file's text with the relevant part of another; `None` where the part cannot be separated.
    pub fn replace_part(&self, text: &str, source: &str) -> Option<String> {
        match self {
            GateFilePart::Whole => Some(source.to_owned()),
            GateFilePart::Keys(keys) => {
                let mut object: Map<String, Value> = serde_json::from_str(text).ok()?;
                let mut from: Map<String, Value> = serde_json::from_str(source).ok()?;
                for key in keys {
                    match from.remove(key) {
                        Some(value) => drop(object.insert(key.clone(), value)),
                        None => drop(object.remove(key)),
                    }
                }
                serde_json::to_string_pretty(&object).ok()
            }
            // Lines have their place among the others: they can be taken alone where no other differs.
            GateFilePart::Lines(words) => {
                let (text_part, text_others) = split_lines(text, words);
                let (source_part, source_others) = split_lines(source, words);
                if text_part == source_part {
                    Some(text.to_owned())
                } else {
                    (text_others == source_others).then(|| source.to_owned())
                }
            }
            GateFilePart::Sections(word) => {
                let remainder = split_sections(text, word).1;
                Some(remainder + &split_sections(source, word).0)
            }
        }
    }
}

/// The lines that count, and the others.
fn partition_lines(text: &str, mut counts: impl FnMut(&str) -> bool) -> (String, String) {
    let (part, others): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| counts(line));
    let join = |lines: Vec<&str>| lines.iter().flat_map(|line| [line, "\n"]).collect();
    (join(part), join(others))
}

/// The lines that hold one of some words, and the others.
fn split_lines(text: &str, words: &[String]) -> (String, String) {
    partition_lines(text, |line| {
        words.iter().any(|word| line.contains(word.as_str()))
    })
}

/// The lines of sections whose headers hold a word, and the others.
fn split_sections(text: &str, word: &str) -> (String, String) {
    let mut is_inside = false;
    partition_lines(text, |line| {
        if line.trim_start().starts_with('[') {
            is_inside = line.contains(word);
        }
        is_inside
    })
}

impl fmt::Display for GateFilePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GateFilePart::Whole => Ok(()),
            GateFilePart::Keys(keys) => write!(f, " (keys {})", keys.join(", ")),
            GateFilePart::Lines(words) => write!(f, " (lines with {})", words.join(", ")),
            GateFilePart::Sections(word) => write!(f, " (sections {word})"),
        }
    }
}
