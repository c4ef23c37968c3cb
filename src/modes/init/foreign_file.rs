//! The files of other programs that say what done means or where to stop, as plain values: what could be taken over from each.

use serde_json::Value;

/// A file of another program, lowered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ForeignFile {
    /// From the root of the worktree.
    pub path: String,
    /// Its criteria.
    pub criteria: Vec<ForeignCriterion>,
    /// Its limits and places.
    pub settings: Vec<ForeignSetting>,
    /// What a person should know of it, such as what is not taken over.
    pub notes: Vec<String>,
}

/// A criterion in the form of `completion.json`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignCriterion {
    /// The entry of `checks`.
    pub entry: Value,
    /// What it asks for.
    pub meaning: String,
    /// Whether it is written where nobody chooses.
    pub chosen: bool,
}

/// A key of a block of `completion.json`, with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignSetting {
    /// The block; empty for the top of the file.
    pub block: &'static str,
    /// The key in it.
    pub key: String,
    /// Its value.
    pub value: Value,
}

impl ForeignSetting {
    /// This key with this value.
    pub fn new(block: &'static str, key: &str, value: impl Into<Value>) -> Self {
        ForeignSetting {
            block,
            key: key.to_owned(),
            value: value.into(),
        }
    }

    /// What a person reads of it.
    pub fn shown(&self) -> String {
        let dot = if self.block.is_empty() { "" } else { "." };
        format!("{}{dot}{} {}", self.block, self.key, self.value)
    }
}
