//! Problems of a preset: the file, the place in it, and the nearest word that is right.

use std::path::{Path, PathBuf};

use watchdog_core::config::nearest_hint;

/// A preset that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {why}", file.display())]
pub struct PresetProblem {
    /// The file.
    pub file: PathBuf,
    /// The place, what is wrong there, and what would be right.
    pub why: String,
}

impl PresetProblem {
    pub(super) fn new(file: &Path, why: impl Into<String>) -> Self {
        PresetProblem {
            file: file.to_owned(),
            why: why.into(),
        }
    }

    /// An error of the reader, with a hint at the nearest word where the word itself is the mistake.
    pub(super) fn of_reader(file: &Path, error: &serde_json::Error) -> Self {
        let error_text = error.to_string();
        let without_position = error_text.split(" at line ").next().unwrap_or_default();
        // "unknown field `sesion`, expected one of `name`, `title`"
        let mut quoted = without_position.split('`').skip(1).step_by(2);
        let hint = match quoted.next() {
            Some(word) if without_position.starts_with("unknown ") => nearest_hint(word, quoted),
            _ => String::new(),
        };
        let in_our_words = without_position
            .replacen("unknown field", "unknown key", 1)
            .replacen("missing field", "missing key", 1);
        let shown: String = in_our_words
            .chars()
            .take(600)
            .flat_map(|c| {
                if c.is_control() {
                    c.escape_debug().collect()
                } else {
                    vec![c]
                }
            })
            .collect();
        PresetProblem::new(
            file,
            format!("{}:{}: {shown}{hint}", error.line(), error.column()),
        )
    }
}
