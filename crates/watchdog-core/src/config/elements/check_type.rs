//! A type of check: its keys, and the criterion that they make.

use serde_json::{Map, Value, json};

use super::super::key_kinds::{KeyKind, TEXT};
use super::super::key_row::KeyRow;
use super::super::key_table::KeyBlock;
use super::super::reader::ConfigNode;
use super::super::settings::CheckKind;

/// A type of check whose criterion is an `S`.
pub(in super::super) struct CheckType<S: 'static> {
    /// Its criterion.
    pub(super) doc: &'static str,
    /// Its keys; the block's name is the type's word.
    pub(super) block: KeyBlock<S>,
    /// Of these keys one must be given; none where that is no rule.
    pub(super) any_of: &'static [&'static str],
    pub(super) wrap: fn(S) -> CheckKind,
    pub(super) unwrap: fn(&CheckKind) -> Option<&S>,
}

/// Finds the criterion in its variant of [`CheckKind`].
macro_rules! criterion_of {
    ($variant:ident) => {
        |kind| match kind {
            CheckKind::$variant(criterion) => Some(criterion),
            _ => None,
        }
    };
}
pub(super) use criterion_of;

/// A type of check, independent of its criterion's type.
pub(in super::super) trait ErasedCheckType: Sync {
    /// The word that names it.
    fn type_word(&self) -> &'static str;

    /// Reads an entry of this type.
    fn read_check(&self, node: &ConfigNode<'_>) -> Option<CheckKind>;

    /// The keys of a criterion of this type, without `type` and `name`.
    fn write_check(&self, criterion: &CheckKind) -> Option<Map<String, Value>>;

    /// An entry of this type in a JSON Schema.
    fn build_schema(&self) -> Value;

    /// Its rows in the documentation.
    fn build_doc_rows(&self) -> Vec<KeyRow>;
}

impl<S: Clone> ErasedCheckType for CheckType<S> {
    fn type_word(&self) -> &'static str {
        self.block.name
    }

    fn read_check(&self, node: &ConfigNode<'_>) -> Option<CheckKind> {
        let section = node.section(&[&["type", "name"], self.block.names().as_slice()].concat())?;
        let mut criterion = (self.block.defaults)();
        self.block
            .read_keys(&section, &mut criterion)
            .then(|| (self.wrap)(criterion))
    }

    fn write_check(&self, criterion: &CheckKind) -> Option<Map<String, Value>> {
        Some(self.block.write((self.unwrap)(criterion)?.clone()))
    }

    fn build_schema(&self) -> Value {
        let mut schema = self.block.schema();
        schema["title"] = self.type_word().into();
        schema["description"] = self.doc.into();
        schema["properties"]["type"] = json!({"const": self.type_word()});
        schema["properties"]["name"] = TEXT.schema();
        schema["properties"]["name"]["description"] =
            "stands in verdicts; the type where it is not given".into();
        let needed = ["type".into()]
            .into_iter()
            .chain(schema["required"].as_array().into_iter().flatten().cloned());
        schema["required"] = needed.collect();
        if !self.any_of.is_empty() {
            schema["anyOf"] = self
                .any_of
                .iter()
                .map(|key| json!({"required": [key]}))
                .collect();
        }
        schema
    }

    fn build_doc_rows(&self) -> Vec<KeyRow> {
        self.block.rows()
    }
}
