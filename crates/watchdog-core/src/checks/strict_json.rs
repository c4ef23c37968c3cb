//! JSON without duplicate keys in any object: readers differ about the value of such a key, so that it proves nothing.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// The error of a repeated key.
pub(super) const KEY_TWICE: &str = "stands twice in one object";

/// Reads a text, or says why it is no such JSON.
pub(super) fn parse_strict_json(text: &str) -> Result<Value, String> {
    serde_json::from_str::<StrictValue>(text)
        .map(|strict| strict.0)
        .map_err(|error| error.to_string())
}

struct StrictValue(Value);

impl<'de> Deserialize<'de> for StrictValue {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(StrictReader).map(StrictValue)
    }
}

struct StrictReader;

impl<'de> Visitor<'de> for StrictReader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(StrictValue(entry)) = entries.next_element()? {
            list.push(entry);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            if object.contains_key(&key) {
                let key: String = key.chars().take(100).collect();
                let name = ["name", "id", "title", "description"]
                    .iter()
                    .find_map(|name| object.get(*name)?.as_str());
                let of = name
                    .map(|name| format!(" ({:?})", name.chars().take(100).collect::<String>()))
                    .unwrap_or_default();
                return Err(A::Error::custom(format!("the key {key:?} {KEY_TWICE}{of}")));
            }
            let StrictValue(value) = members.next_value()?;
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicate_json_keys_are_refused() {
        for text in [
            "null",
            "[1, -2, 2.5, \"a\", true]",
            r#"{"a": {"b": []}, "b": [{"a": 1}, {"a": 2}]}"#,
        ] {
            assert_eq!(
                parse_strict_json(text).expect("JSON"),
                serde_json::from_str::<Value>(text).expect("JSON")
            );
        }
        for text in [
            r#"{"a": 1, "a": 1}"#,
            r#"[{"b": {"passes": false, "passes": true}}]"#,
            r#"{"a": 1, "\u0061": 2}"#,
        ] {
            assert!(
                parse_strict_json(text)
                    .expect_err("twice")
                    .contains("stands twice in one object"),
                "{text}"
            );
        }
        assert!(parse_strict_json("{").is_err());
    }
}
