//! Values in a fixed order, without names: the form of a fact in a record. Empty values are null,
//! and nulls at the end are left away, so that a later version may add values behind.

use std::time::Duration;

use serde_json::Value;

/// Collects values.
#[derive(Default)]
pub(super) struct PackedFields(Vec<Value>);

impl PackedFields {
    pub(super) fn raw(mut self, value: Value) -> Self {
        self.0.push(value);
        self
    }

    pub(super) fn text(self, text: &str) -> Self {
        self.raw(if text.is_empty() {
            Value::Null
        } else {
            text.into()
        })
    }

    pub(super) fn opt_text(self, text: Option<&str>) -> Self {
        self.raw(text.into())
    }

    pub(super) fn number(self, number: u64) -> Self {
        self.raw(if number == 0 {
            Value::Null
        } else {
            number.into()
        })
    }

    pub(super) fn opt_number(self, number: Option<u64>) -> Self {
        self.raw(number.into())
    }

    pub(super) fn millis(self, length: Duration) -> Self {
        self.number(u64::try_from(length.as_millis()).unwrap_or(u64::MAX))
    }

    pub(super) fn flag(self, flag: bool) -> Self {
        self.raw(if flag { true.into() } else { Value::Null })
    }

    pub(super) fn opt_flag(self, flag: Option<bool>) -> Self {
        self.raw(flag.into())
    }

    pub(super) fn list(self, values: Vec<Value>) -> Self {
        self.raw(if values.is_empty() {
            Value::Null
        } else {
            values.into()
        })
    }

    pub(super) fn texts(self, texts: &[String]) -> Self {
        self.list(texts.iter().map(|text| text.as_str().into()).collect())
    }

    pub(super) fn end(mut self) -> Value {
        while self.0.last().is_some_and(Value::is_null) {
            self.0.pop();
        }
        self.0.into()
    }
}

/// Reads them back. Missing values, or those of another kind, are empty.
#[derive(Clone, Copy)]
pub(super) struct UnpackedFields<'a>(pub(super) &'a [Value]);

impl<'a> UnpackedFields<'a> {
    pub(super) fn from_value(value: &'a Value) -> Option<Self> {
        Some(UnpackedFields(value.as_array()?))
    }

    pub(super) fn at(self, index: usize) -> &'a Value {
        self.0.get(index).unwrap_or(&Value::Null)
    }

    pub(super) fn opt_text(self, index: usize) -> Option<String> {
        self.at(index).as_str().map(str::to_owned)
    }

    pub(super) fn text(self, index: usize) -> String {
        self.opt_text(index).unwrap_or_default()
    }

    pub(super) fn word(self, index: usize) -> &'a str {
        self.at(index).as_str().unwrap_or_default()
    }

    pub(super) fn opt_number(self, index: usize) -> Option<u64> {
        self.at(index).as_u64()
    }

    pub(super) fn number(self, index: usize) -> u64 {
        self.opt_number(index).unwrap_or(0)
    }

    pub(super) fn count(self, index: usize) -> u32 {
        u32::try_from(self.number(index)).unwrap_or(u32::MAX)
    }

    pub(super) fn millis(self, index: usize) -> Duration {
        Duration::from_millis(self.number(index))
    }

    pub(super) fn opt_flag(self, index: usize) -> Option<bool> {
        self.at(index).as_bool()
    }

    pub(super) fn flag(self, index: usize) -> bool {
        self.opt_flag(index).unwrap_or(false)
    }

    pub(super) fn list(self, index: usize) -> &'a [Value] {
        self.at(index).as_array().map_or(&[], Vec::as_slice)
    }

    pub(super) fn texts(self, index: usize) -> Vec<String> {
        self.list(index)
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect()
    }
}
