//! The kinds of values that a key can have. Each kind defines once how a value is read and written, its JSON Schema, and its text in the
//! documentation.

use std::marker::PhantomData;
use std::ops::RangeInclusive;
use std::time::Duration;

use serde_json::{Value, json};

use super::reader::{ConfigNode, MAX_ENTRIES, MAX_SECONDS, list_words};
use super::settings::{CommandLine, PresetName};

/// How values of one kind are read, written and described.
pub(super) trait KeyKind: Sync {
    /// The type of its value.
    type Value: 'static;

    /// The value, or `None` where it is wrong, which is reported.
    fn read_value(&self, node: &ConfigNode<'_>) -> Option<Self::Value>;

    /// The value as JSON; `None` where the key is left out.
    fn write(&self, value: &Self::Value) -> Option<Value>;

    /// Its JSON Schema.
    fn schema(&self) -> Value;

    /// Its text in the documentation's column of values.
    fn words(&self) -> String;
}

/// A kind of its own: how it is read, how it is written, its schema and its name.
pub(super) struct ValueForm<T: 'static> {
    pub(super) read: fn(&ConfigNode<'_>) -> Option<T>,
    pub(super) write: fn(&T) -> Value,
    pub(super) schema: fn() -> Value,
    pub(super) words: &'static str,
}

impl<T> KeyKind for ValueForm<T> {
    type Value = T;

    fn read_value(&self, node: &ConfigNode<'_>) -> Option<T> {
        (self.read)(node)
    }

    fn write(&self, value: &T) -> Option<Value> {
        Some((self.write)(value))
    }

    fn schema(&self) -> Value {
        (self.schema)()
    }

    fn words(&self) -> String {
        self.words.to_owned()
    }
}

/// A value that is written as it is.
pub(super) fn as_json<T: serde::Serialize>(value: &T) -> Value {
    json!(value)
}

/// An object of any members.
pub(super) const OBJECT: ValueForm<Value> = ValueForm {
    read: |node| node.open_section().map(|_| node.json.to_value()),
    write: Value::clone,
    schema: || json!({"type": "object"}),
    words: "object",
};

pub(super) const FLAG: ValueForm<bool> = ValueForm {
    read: |node| node.flag(),
    write: as_json,
    schema: || json!({"type": "boolean"}),
    words: "true or false",
};

pub(super) const TEXT: ValueForm<String> = ValueForm {
    read: |node| node.text(),
    write: as_json,
    schema: || json!({"type": "string", "pattern": "\\S"}),
    words: "text",
};

/// A pattern of names or paths.
pub(super) const GLOB: ValueForm<String> = ValueForm {
    read: |node| node.glob(),
    words: "glob",
    ..TEXT
};

/// A pattern of paths inside the worktree.
pub(super) const INSIDE_GLOB: ValueForm<String> = ValueForm {
    read: |node| node.inside_glob(),
    words: "glob",
    ..INSIDE_PATH
};

/// A path inside the worktree.
pub(super) const INSIDE_PATH: ValueForm<String> = ValueForm {
    read: |node| node.inside_path(),
    schema: || json!({"$ref": "#/$defs/inside_path"}),
    words: "path",
    ..TEXT
};

/// A path inside the worktree, or an absolute one.
pub(super) const FILE_PATH: ValueForm<String> = ValueForm {
    read: |node| node.file_path(),
    schema: || json!({"$ref": "#/$defs/file_path"}),
    words: "path",
    ..TEXT
};

/// A program and its arguments.
pub(super) const ARGV: ValueForm<Vec<String>> = ValueForm {
    read: |node| node.argv(),
    write: as_json,
    schema: || json!({"$ref": "#/$defs/argv"}),
    words: "command as a list",
};

/// The name of an agent's preset.
pub(super) const PRESET: ValueForm<PresetName> = ValueForm {
    read: |node| node.preset(),
    write: |name| name.as_str().into(),
    schema: || {
        let built_in: Vec<_> = (PresetName::BUILT_IN.iter())
            .map(PresetName::as_str)
            .collect();
        json!({"anyOf": [{"enum": built_in}, {"type": "string", "pattern": "^([a-z0-9][a-z0-9-]*|[^\\u0000]*[^/\\u0000]\\.json)$"}]})
    },
    words: "name of an agent, or path of a preset file",
};

/// A line for the shell, or a program and its arguments.
pub(super) const COMMAND_LINE: ValueForm<CommandLine> = ValueForm {
    read: |node| node.command_line(),
    write: |run| match run {
        CommandLine::Shell(line) => as_json(line),
        CommandLine::Argv(argv) => as_json(argv),
    },
    schema: || json!({"$ref": "#/$defs/command_line"}),
    words: "command as a text or a list",
};

/// A number above zero, fractions allowed.
pub(super) const POSITIVE: ValueForm<f64> = ValueForm {
    read: |node| node.positive(),
    write: as_json,
    schema: || json!({"type": "number", "exclusiveMinimum": 0}),
    words: "number above 0",
};

/// Conversion from and to a whole number.
pub(super) trait FromWholeNumber {
    fn from_whole(number: u64) -> Self;
    fn to_whole(&self) -> u64;
}

macro_rules! whole_numbers {
    ($($type:ty),*) => {$(
        impl FromWholeNumber for $type {
            /// The range of each key keeps its number within the type.
            fn from_whole(number: u64) -> Self {
                Self::try_from(number).unwrap_or(Self::MAX)
            }

            fn to_whole(&self) -> u64 {
                *self as u64
            }
        }
    )*};
}

whole_numbers!(u32, u64, usize);

impl FromWholeNumber for Duration {
    fn from_whole(number: u64) -> Self {
        Duration::from_secs(number)
    }

    fn to_whole(&self) -> u64 {
        self.as_secs()
    }
}

/// A whole number within a range.
pub(super) struct WholeNumber<N> {
    range: RangeInclusive<u64>,
    becomes: PhantomData<fn() -> N>,
}

pub(super) const fn whole<N>(range: RangeInclusive<u64>) -> WholeNumber<N> {
    WholeNumber {
        range,
        becomes: PhantomData,
    }
}

impl<N: FromWholeNumber + 'static> KeyKind for WholeNumber<N> {
    type Value = N;

    fn read_value(&self, node: &ConfigNode<'_>) -> Option<N> {
        node.whole(self.range.clone()).map(N::from_whole)
    }

    fn write(&self, value: &N) -> Option<Value> {
        Some(value.to_whole().into())
    }

    fn schema(&self) -> Value {
        let mut schema = json!({"type": "integer", "minimum": self.range.start()});
        if *self.range.end() != u64::MAX {
            schema["maximum"] = (*self.range.end()).into();
        }
        schema
    }

    fn words(&self) -> String {
        let (least, most) = (self.range.start(), *self.range.end());
        // A bound of the type is one that no value exceeds.
        if most < u32::MAX.into() {
            format!("number, {least} to {most}")
        } else {
            format!("number, at least {least}")
        }
    }
}

/// Whole seconds, at least so many and at most ten years.
pub(super) struct WholeSeconds {
    least: u64,
}

pub(super) const fn seconds(least: u64) -> WholeSeconds {
    WholeSeconds { least }
}

impl KeyKind for WholeSeconds {
    type Value = Duration;

    fn read_value(&self, node: &ConfigNode<'_>) -> Option<Duration> {
        node.seconds(self.least)
    }

    fn write(&self, value: &Duration) -> Option<Value> {
        Some(value.as_secs().into())
    }

    fn schema(&self) -> Value {
        json!({"type": "integer", "minimum": self.least, "maximum": MAX_SECONDS})
    }

    fn words(&self) -> String {
        match self.least {
            0 => "seconds".to_owned(),
            least => format!("seconds, at least {least}"),
        }
    }
}

/// A word of a fixed list.
pub(super) struct WordOf<T: 'static> {
    words: &'static [(&'static str, T)],
}

pub(super) const fn word_of<T>(words: &'static [(&'static str, T)]) -> WordOf<T> {
    WordOf { words }
}

impl<T: Copy + PartialEq + Sync> KeyKind for WordOf<T> {
    type Value = T;

    fn read_value(&self, node: &ConfigNode<'_>) -> Option<T> {
        node.word(self.words)
    }

    fn write(&self, value: &T) -> Option<Value> {
        let mut words = self.words.iter();
        let (word, _) = words
            .find(|(_, meaning)| meaning == value)
            .expect("the tables of words name every variant");
        Some((*word).into())
    }

    fn schema(&self) -> Value {
        json!({"enum": self.words.iter().map(|(word, _)| *word).collect::<Vec<_>>()})
    }

    fn words(&self) -> String {
        list_words(self.words.iter().map(|(word, _)| *word))
    }
}

/// A value or an explicit null.
pub(super) struct NullableValue<K>(K);

pub(super) const fn nullable<K>(kind: K) -> NullableValue<K> {
    NullableValue(kind)
}

impl<K: KeyKind> KeyKind for NullableValue<K> {
    type Value = Option<K::Value>;

    fn read_value(&self, node: &ConfigNode<'_>) -> Option<Self::Value> {
        if node.is_null() {
            Some(None)
        } else {
            self.0.read_value(node).map(Some)
        }
    }

    fn write(&self, value: &Self::Value) -> Option<Value> {
        value
            .as_ref()
            .map_or(Some(Value::Null), |value| self.0.write(value))
    }

    fn schema(&self) -> Value {
        json!({"oneOf": [self.0.schema(), {"type": "null"}]})
    }

    fn words(&self) -> String {
        format!("{}, or null", self.0.words())
    }
}

/// A value, or no such key. Null is neither.
pub(super) struct OptionalValue<K>(K);

pub(super) const fn optional<K>(kind: K) -> OptionalValue<K> {
    OptionalValue(kind)
}

impl<K: KeyKind> KeyKind for OptionalValue<K> {
    type Value = Option<K::Value>;

    fn read_value(&self, node: &ConfigNode<'_>) -> Option<Self::Value> {
        self.0.read_value(node).map(Some)
    }

    fn write(&self, value: &Self::Value) -> Option<Value> {
        value.as_ref().and_then(|value| self.0.write(value))
    }

    fn schema(&self) -> Value {
        self.0.schema()
    }

    fn words(&self) -> String {
        self.0.words()
    }
}

/// A list of values of one kind.
pub(super) struct ListOf<K> {
    item: K,
    /// The error for an empty one, if it is wrong.
    empty: Option<&'static str>,
}

pub(super) const fn list_of<K>(item: K) -> ListOf<K> {
    ListOf { item, empty: None }
}

/// A list that must not be empty; `why` is the error.
pub(super) const fn filled_list_of<K>(item: K, why: &'static str) -> ListOf<K> {
    ListOf {
        item,
        empty: Some(why),
    }
}

impl<K: KeyKind> KeyKind for ListOf<K> {
    type Value = Vec<K::Value>;

    fn read_value(&self, node: &ConfigNode<'_>) -> Option<Self::Value> {
        let list = node.list(|item| self.item.read_value(item))?;
        if let Some(why) = self.empty.filter(|_| node.is_empty_list()) {
            node.wrong(why);
            return None;
        }
        Some(list)
    }

    fn write(&self, value: &Self::Value) -> Option<Value> {
        Some(
            value
                .iter()
                .filter_map(|item| self.item.write(item))
                .collect(),
        )
    }

    fn schema(&self) -> Value {
        let mut schema =
            json!({"type": "array", "items": self.item.schema(), "maxItems": MAX_ENTRIES});
        if self.empty.is_some() {
            schema["minItems"] = 1.into();
        }
        schema
    }

    fn words(&self) -> String {
        let least = if self.empty.is_some() {
            ", not empty"
        } else {
            ""
        };
        format!("list of {}s{least}", self.item.words())
    }
}
