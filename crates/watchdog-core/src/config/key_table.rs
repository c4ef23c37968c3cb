//! The table of a block's keys: each key with its kind, its place in the settings and its sentence, said once. The table reads the block,
//! writes it back, and makes its part of the schema ([`super::schema`]) and of the documentation ([`super::key_reference`]).

use serde_json::{Map, Value, json};

use super::key_kinds::KeyKind;
use super::key_row::{KeyRow, without_links};
use super::reader::{ConfigNode, ConfigSection};

/// An object of the file whose keys are known.
pub(super) struct KeyBlock<S: 'static> {
    /// Its path in the file, or the type of a check; empty for the top of the file.
    pub(super) name: &'static str,
    /// The defaults of its keys.
    pub(super) defaults: fn() -> S,
    /// Its keys, in the order in which they are read.
    pub(super) keys: &'static [&'static dyn SettingsKey<S>],
    /// The rule between its keys, applied when all of them were read. The last argument is whether each of them was right.
    pub(super) rules: fn(&ConfigSection<'_>, &mut S, bool),
}

/// For a block whose keys have nothing to do with each other.
pub(super) fn no_rules<S>(_: &ConfigSection<'_>, _: &mut S, _: bool) {}

impl<S> KeyBlock<S> {
    /// The names of its keys.
    pub(super) fn names(&self) -> Vec<&'static str> {
        self.keys.iter().map(|key| key.name()).collect()
    }

    /// Reads the object into settings that hold the defaults; whether each key was right.
    pub(super) fn read_object(&self, node: &ConfigNode<'_>, into: &mut S) -> bool {
        node.section(&self.names())
            .is_some_and(|section| self.read_keys(&section, into))
    }

    /// Reads the object where every key is right.
    pub(super) fn read_whole(&self, node: &ConfigNode<'_>) -> Option<S> {
        let mut settings = (self.defaults)();
        self.read_object(node, &mut settings).then_some(settings)
    }

    /// Reads the keys of a section whose other keys belong to another reader.
    pub(super) fn read_keys(&self, section: &ConfigSection<'_>, into: &mut S) -> bool {
        let mut right = true;
        for key in self.keys {
            right &= key.read_key(section, into);
        }
        (self.rules)(section, into, right);
        right
    }

    /// The object with every default written out.
    pub(super) fn write(&self, mut from: S) -> Map<String, Value> {
        self.keys
            .iter()
            .filter_map(|key| Some((key.name().to_owned(), key.write(&mut from)?)))
            .collect()
    }

    /// The object in a JSON Schema.
    pub(super) fn schema(&self) -> Value {
        let mut defaults = (self.defaults)();
        let properties: Map<String, Value> = self
            .keys
            .iter()
            .map(|key| (key.name().to_owned(), key.schema(&mut defaults)))
            .collect();
        let mut schema =
            json!({"type": "object", "additionalProperties": false, "properties": properties});
        let required: Vec<&str> = self
            .keys
            .iter()
            .filter(|key| key.is_required())
            .map(|key| key.name())
            .collect();
        if !required.is_empty() {
            schema["required"] = required.into();
        }
        schema
    }

    /// The rows of its table in the documentation.
    pub(super) fn rows(&self) -> Vec<KeyRow> {
        let mut defaults = (self.defaults)();
        self.keys
            .iter()
            .filter_map(|key| key.row(&mut defaults))
            .collect()
    }
}

/// A key of a block whose settings are an `S`.
pub(super) trait SettingsKey<S>: Sync {
    fn name(&self) -> &'static str;

    /// Reads the key where it is given; whether nothing was wrong with it.
    fn read_key(&self, section: &ConfigSection<'_>, into: &mut S) -> bool;

    /// Its value as JSON; `None` where it is left out. The settings are borrowed mutably, as for reading.
    fn write(&self, from: &mut S) -> Option<Value>;

    /// Its JSON Schema.
    fn schema(&self, defaults: &mut S) -> Value;

    fn is_required(&self) -> bool {
        false
    }

    /// Its row in the documentation; `None` where it has a table of its own.
    fn row(&self, defaults: &mut S) -> Option<KeyRow>;
}

/// A key with a place of its own in the settings.
pub(super) struct PlainKey<S: 'static, K: KeyKind> {
    name: &'static str,
    kind: K,
    field: fn(&mut S) -> &mut K::Value,
    doc: &'static str,
    /// The cases that need it, where it is required.
    required: Option<&'static str>,
    default: KeyDefault,
    written: fn(&S) -> bool,
}

/// The default of a key.
#[derive(Clone, Copy)]
enum KeyDefault {
    /// The value in the settings.
    OfSettings,
    /// The value in the settings, which the documentation describes in these words.
    InWords(&'static str),
    /// Something that depends on another key.
    Depends(&'static str),
}

/// A key: its name, its kind, its field in the settings, and its purpose.
pub(super) const fn plain_key<S, K: KeyKind>(
    name: &'static str,
    kind: K,
    field: fn(&mut S) -> &mut K::Value,
    doc: &'static str,
) -> PlainKey<S, K> {
    PlainKey {
        name,
        kind,
        field,
        doc,
        required: None,
        default: KeyDefault::OfSettings,
        written: |_| true,
    }
}

/// The keys of a block, each as `"name" => field: kind, "what it is for";`. Further properties of a [`PlainKey`] follow.
macro_rules! keys {
    ($settings:ty; $($name:expr => $field:ident: $kind:expr, $doc:expr $(, $also:ident($($words:tt)*))*;)*) => {
        &[$(
            &$crate::config::key_table::plain_key($name, $kind, |settings: &mut $settings| &mut settings.$field, $doc)$(.$also($($words)*))*
        ),*]
    };
}
pub(super) use keys;

impl<S, K: KeyKind> PlainKey<S, K> {
    /// It must be given; `why` says who needs it.
    pub(super) const fn mark_required(mut self, why: &'static str) -> Self {
        self.required = Some(why);
        self
    }

    /// The documentation has words for its default.
    pub(super) const fn default_in_words(mut self, words: &'static str) -> Self {
        self.default = KeyDefault::InWords(words);
        self
    }

    /// Its default depends on another key.
    pub(super) const fn default_depends(mut self, words: &'static str) -> Self {
        self.default = KeyDefault::Depends(words);
        self
    }

    /// The key has no default.
    pub(super) const fn without_default(self) -> Self {
        self.default_depends("")
    }

    /// It is written for these settings alone.
    pub(super) const fn written_where(mut self, holds: fn(&S) -> bool) -> Self {
        self.written = holds;
        self
    }

    fn default(&self, defaults: &mut S) -> Option<Value> {
        self.kind
            .write((self.field)(defaults))
            .filter(|_| self.required.is_none())
    }
}

impl<S, K: KeyKind> SettingsKey<S> for PlainKey<S, K> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn read_key(&self, section: &ConfigSection<'_>, into: &mut S) -> bool {
        let given = match self.required {
            Some(why) => section.get_required(self.name, why),
            None => section.get(self.name),
        };
        let Some(node) = given else {
            return self.required.is_none();
        };
        let read = self.kind.read_value(&node);
        read.map(|value| *(self.field)(into) = value).is_some()
    }

    fn write(&self, from: &mut S) -> Option<Value> {
        if (self.written)(from) {
            self.kind.write((self.field)(from))
        } else {
            None
        }
    }

    fn schema(&self, defaults: &mut S) -> Value {
        let mut schema = self.kind.schema();
        schema["description"] = without_links(self.doc).into();
        if !matches!(self.default, KeyDefault::Depends(_))
            && let Some(default) = self.default(defaults)
        {
            schema["default"] = default;
        }
        schema
    }

    fn is_required(&self) -> bool {
        self.required.is_some()
    }

    fn row(&self, defaults: &mut S) -> Option<KeyRow> {
        let required = if self.is_required() { "; required" } else { "" };
        let default = match self.default {
            KeyDefault::InWords(words) | KeyDefault::Depends(words) => words.to_owned(),
            KeyDefault::OfSettings => self
                .default(defaults)
                .as_ref()
                .map(KeyRow::default_cell)
                .unwrap_or_default(),
        };
        Some(KeyRow {
            key: self.name,
            value: self.kind.words(),
            meaning: format!("{}{required}", self.doc),
            default,
        })
    }
}

/// A key that holds another block.
pub(super) struct InnerBlock<S: 'static, T: 'static> {
    block: &'static KeyBlock<T>,
    field: fn(&mut S) -> &mut T,
}

pub(super) const fn inner_block<S, T>(
    block: &'static KeyBlock<T>,
    field: fn(&mut S) -> &mut T,
) -> InnerBlock<S, T> {
    InnerBlock { block, field }
}

impl<S, T: Clone> SettingsKey<S> for InnerBlock<S, T> {
    fn name(&self) -> &'static str {
        self.block.name
    }

    fn read_key(&self, section: &ConfigSection<'_>, into: &mut S) -> bool {
        section
            .get(self.block.name)
            .is_none_or(|node| self.block.read_object(&node, (self.field)(into)))
    }

    fn write(&self, from: &mut S) -> Option<Value> {
        Some(self.block.write((self.field)(from).clone()).into())
    }

    fn schema(&self, _: &mut S) -> Value {
        self.block.schema()
    }

    fn row(&self, _: &mut S) -> Option<KeyRow> {
        None
    }
}

/// A key that is read and written in a way of its own.
pub(super) struct IrregularKey<S: 'static> {
    pub(super) name: &'static str,
    pub(super) read: fn(&ConfigSection<'_>, &mut S) -> bool,
    pub(super) write: fn(&S) -> Value,
    pub(super) schema: fn() -> Value,
    pub(super) words: &'static str,
    pub(super) doc: &'static str,
}

impl<S> SettingsKey<S> for IrregularKey<S> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn read_key(&self, section: &ConfigSection<'_>, into: &mut S) -> bool {
        (self.read)(section, into)
    }

    fn write(&self, from: &mut S) -> Option<Value> {
        Some((self.write)(from))
    }

    fn schema(&self, defaults: &mut S) -> Value {
        let mut schema = (self.schema)();
        schema["description"] = without_links(self.doc).into();
        schema["default"] = (self.write)(defaults);
        schema
    }

    fn row(&self, defaults: &mut S) -> Option<KeyRow> {
        let default = KeyRow::default_cell(&(self.write)(defaults));
        Some(KeyRow {
            key: self.name,
            value: self.words.to_owned(),
            meaning: self.doc.to_owned(),
            default,
        })
    }
}
