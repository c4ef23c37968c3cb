//! A JSON reader for what models write: bounded, and lenient about the slips that leave the meaning clear.
//!
//! On top of JSON it takes: a comma after the last item, `//` and `/* */` comments, Python's `True`, `False` and `None`,
//! raw line feeds in strings, unknown escapes, lone surrogates. A key with two different values has the list of both, so that neither
//! is taken for its value.
//! It does not take single quotes, bare keys or missing commas: there it would have to guess.

use std::collections::BTreeSet;

use serde_json::{Map, Number, Value};

/// Containers within containers at most.
pub(super) const DEPTH: usize = 128;

/// How much may still be read, in bytes, over all attempts on one text. Keeps hostile input linear.
pub(super) struct ReadBudget(usize);

impl ReadBudget {
    /// Allows reading a text of this length many times over, and no more.
    pub fn for_text(length: usize) -> Self {
        ReadBudget(length.saturating_mul(64).max(4096))
    }

    /// Takes `bytes` off; `Err` once nothing is left.
    pub fn spend(&mut self, bytes: usize) -> Result<(), JsonReadError> {
        self.0 = self.0.checked_sub(bytes).ok_or(JsonReadError::Spent)?;
        Ok(())
    }
}

/// Why no value could be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JsonReadError {
    /// It is not JSON.
    Broken,
    /// Nested too deep; the position where that was noticed.
    TooDeep(usize),
    /// The text ended within it.
    Cut,
    /// All work is spent.
    Spent,
}

/// Reads the value that starts at `at`; returns it with the position after it.
pub(super) fn value_at(
    text: &str,
    at: usize,
    work: &mut ReadBudget,
) -> Result<(Value, usize), JsonReadError> {
    let mut reader = JsonReader {
        text,
        bytes: text.as_bytes(),
        at,
    };
    let result = reader.value(0);
    work.spend(reader.at - at + 1)?;
    Ok((result?, reader.at))
}

/// The position after the brace that closes the one at `at`, strings and nothing else minded.
/// Returns `None` if it never closes.
pub(super) fn closing_brace(
    text: &str,
    at: usize,
    work: &mut ReadBudget,
) -> Result<Option<usize>, JsonReadError> {
    let bytes = text.as_bytes();
    let (mut depth, mut quoted, mut i) = (0usize, false, at);
    while i < bytes.len() {
        match bytes[i] {
            b'\\' if quoted => i += 1,
            b'"' => quoted = !quoted,
            b'{' if !quoted => depth += 1,
            b'}' if !quoted => {
                depth -= 1;
                if depth == 0 {
                    work.spend(i - at)?;
                    return Ok(Some(i + 1));
                }
            }
            _ => {}
        }
        i += 1;
    }
    work.spend(bytes.len() - at)?;
    Ok(None)
}

struct JsonReader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
}

impl JsonReader<'_> {
    fn peek(&self) -> Result<u8, JsonReadError> {
        self.bytes.get(self.at).copied().ok_or(JsonReadError::Cut)
    }

    fn skip_blank(&mut self) -> Result<(), JsonReadError> {
        loop {
            match self.bytes.get(self.at) {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                Some(b'/') => {
                    let remaining_text = &self.text[self.at..];
                    let length = match self.bytes.get(self.at + 1) {
                        Some(b'/') => remaining_text.find('\n'),
                        Some(b'*') => remaining_text[2..].find("*/").map(|n| n + 4),
                        Some(_) => return Err(JsonReadError::Broken),
                        None => None,
                    };
                    let Some(length) = length else {
                        // The rest was searched, so it counts as work.
                        self.at = self.bytes.len();
                        return Err(JsonReadError::Cut);
                    };
                    self.at += length;
                }
                // U+00A0 in place of a space.
                Some(0xc2) if self.bytes.get(self.at + 1) == Some(&0xa0) => self.at += 2,
                _ => return Ok(()),
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, JsonReadError> {
        if depth > DEPTH {
            return Err(JsonReadError::TooDeep(self.at));
        }
        match self.peek()? {
            b'{' => self.object(depth),
            b'[' => self.array(depth),
            b'"' => self.string().map(Value::String),
            b'-' | b'0'..=b'9' => self.number(),
            b'A'..=b'Z' | b'a'..=b'z' => self.word(),
            _ => Err(JsonReadError::Broken),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, JsonReadError> {
        let mut members = Map::new();
        let mut doubled = BTreeSet::new();
        self.at += 1;
        self.skip_blank()?;
        while self.peek()? != b'}' {
            if self.peek()? != b'"' {
                return Err(JsonReadError::Broken);
            }
            let key = self.string()?;
            self.skip_blank()?;
            self.expect(b':')?;
            self.skip_blank()?;
            let value = self.value(depth + 1)?;
            match members.get_mut(&key) {
                Some(Value::Array(both)) if doubled.contains(&key) => both.push(value),
                Some(first) if *first != value => {
                    *first = Value::Array(vec![first.take(), value]);
                    doubled.insert(key);
                }
                Some(_) => {}
                None => drop(members.insert(key, value)),
            }
            self.end_of_item(b'}')?;
        }
        self.at += 1;
        Ok(Value::Object(members))
    }

    fn array(&mut self, depth: usize) -> Result<Value, JsonReadError> {
        let mut items = Vec::new();
        self.at += 1;
        self.skip_blank()?;
        while self.peek()? != b']' {
            items.push(self.value(depth + 1)?);
            self.end_of_item(b']')?;
        }
        self.at += 1;
        Ok(Value::Array(items))
    }

    fn expect(&mut self, wanted: u8) -> Result<(), JsonReadError> {
        if self.peek()? != wanted {
            return Err(JsonReadError::Broken);
        }
        self.at += 1;
        Ok(())
    }

    /// After an item: a comma, or the end of its container.
    fn end_of_item(&mut self, close: u8) -> Result<(), JsonReadError> {
        self.skip_blank()?;
        if self.peek()? == close {
            return Ok(());
        }
        self.expect(b',')?;
        self.skip_blank()
    }

    fn word(&mut self) -> Result<Value, JsonReadError> {
        let remaining_bytes = &self.bytes[self.at..];
        let length = remaining_bytes
            .iter()
            .take_while(|b| b.is_ascii_alphanumeric() || **b == b'_')
            .take(8)
            .count();
        let value = match &remaining_bytes[..length] {
            b"true" | b"True" => Value::Bool(true),
            b"false" | b"False" => Value::Bool(false),
            b"null" | b"None" => Value::Null,
            _ if length == remaining_bytes.len() => return Err(JsonReadError::Cut),
            _ => return Err(JsonReadError::Broken),
        };
        self.at += length;
        Ok(value)
    }

    fn number(&mut self) -> Result<Value, JsonReadError> {
        let start = self.at;
        while matches!(
            self.bytes.get(self.at),
            Some(b'-' | b'+' | b'.' | b'0'..=b'9' | b'e' | b'E')
        ) {
            self.at += 1;
        }
        let word = &self.text[start..self.at];
        // A number that no type holds (1e999999) stays as its text: known to be there, never taken for zero.
        match word.parse::<Number>() {
            Ok(number) => Ok(Value::Number(number)),
            Err(_) if word.parse::<f64>().is_ok() => Ok(Value::String(word.to_owned())),
            Err(_) => Err(JsonReadError::Broken),
        }
    }

    fn string(&mut self) -> Result<String, JsonReadError> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let start = self.at;
            while !matches!(self.peek()?, b'"' | b'\\') {
                self.at += 1;
            }
            out.push_str(&self.text[start..self.at]);
            if self.bytes[self.at] == b'"' {
                self.at += 1;
                return Ok(out);
            }
            self.at += 1;
            self.escape(&mut out)?;
        }
    }

    fn escape(&mut self, out: &mut String) -> Result<(), JsonReadError> {
        let code = self.peek()?;
        if !code.is_ascii() {
            out.push('\\');
            return Ok(());
        }
        self.at += 1;
        match code {
            b'"' | b'\\' | b'/' => out.push(char::from(code)),
            b'n' => out.push('\n'),
            b't' => out.push('\t'),
            b'r' => out.push('\r'),
            b'b' => out.push('\u{8}'),
            b'f' => out.push('\u{c}'),
            b'u' => {
                let first = self.hex4()?;
                let c = match first {
                    0xd800..=0xdbff if self.bytes[self.at..].starts_with(b"\\u") => {
                        let back = self.at;
                        self.at += 2;
                        match self.hex4()? {
                            low @ 0xdc00..=0xdfff => {
                                char::from_u32(0x10000 + ((first - 0xd800) << 10) + (low - 0xdc00))
                            }
                            _ => {
                                self.at = back;
                                None
                            }
                        }
                    }
                    _ => char::from_u32(first),
                };
                out.push(c.unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            // Models forget to double the backslash of a path or a regular expression.
            other => {
                out.push('\\');
                out.push(char::from(other));
            }
        }
        Ok(())
    }

    fn hex4(&mut self) -> Result<u32, JsonReadError> {
        let digits = self
            .bytes
            .get(self.at..self.at + 4)
            .ok_or(JsonReadError::Cut)?;
        let digits = std::str::from_utf8(digits).map_err(|_| JsonReadError::Broken)?;
        let code = u32::from_str_radix(digits, 16).map_err(|_| JsonReadError::Broken)?;
        self.at += 4;
        Ok(code)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Result<Value, JsonReadError> {
        value_at(text, 0, &mut ReadBudget::for_text(text.len())).map(|(value, _)| value)
    }

    #[test]
    fn slips_with_a_clear_meaning_are_read() {
        for (text, value) in [
            (r#"{"a":1,}"#, json!({"a": 1})),
            (r#"{"a":[1,2,],}"#, json!({"a": [1, 2]})),
            ("{\"a\":1 /* c */, // d\n\"b\":2}", json!({"a": 1, "b": 2})),
            (
                r#"{"a":True,"b":False,"c":None}"#,
                json!({"a": true, "b": false, "c": null}),
            ),
            ("{\"a\":\"two\nlines\"}", json!({"a": "two\nlines"})),
            (
                r#"{"a":"C:\dir \ud800 \u00e4 \ud83d\ude00"}"#,
                json!({"a": "C:\\dir \u{fffd} ä 😀"}),
            ),
            (r#"{"a":1,"a":1}"#, json!({"a": 1})),
            (r#"{"a":1,"a":2,"a":3}"#, json!({"a": [1, 2, 3]})),
            (
                r#"{"a":"//no /* comment"}"#,
                json!({"a": "//no /* comment"}),
            ),
            (r#"{"a":1e999999}"#, json!({"a": "1e999999"})),
            ("{}", json!({})),
        ] {
            assert_eq!(read(text), Ok(value), "{text}");
        }
    }

    #[test]
    fn guesses_are_refused() {
        for text in [
            "{'a': 1}",
            "{a: 1}",
            r#"{"a" 1}"#,
            r#"{"a":1 "b":2}"#,
            "{,}",
            r#"{"a":yes}"#,
            r#"{"a":1;}"#,
            r#"{"a":1-2}"#,
        ] {
            assert_eq!(read(text), Err(JsonReadError::Broken), "{text}");
        }
        for text in [
            "{",
            r#"{"a"#,
            r#"{"a":"#,
            r#"{"a":"b"#,
            r#"{"a":1,"#,
            r#"{"a":tr"#,
            r#"{"a":1 /* "#,
        ] {
            assert_eq!(read(text), Err(JsonReadError::Cut), "{text}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert!(read(&nested(DEPTH)).is_ok());
        assert_eq!(
            read(&nested(DEPTH + 2)),
            Err(JsonReadError::TooDeep(DEPTH + 1))
        );
        assert_eq!(
            read(&"[".repeat(5_000_000)),
            Err(JsonReadError::TooDeep(DEPTH + 1))
        );
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map(any::<String>(), inner, 0..4)
                    .prop_map(|m| Value::Object(m.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn strict_json_is_read_as_it_is(value in any_json()) {
            for text in [value.to_string(), serde_json::to_string_pretty(&value).expect("a value serializes")] {
                prop_assert_eq!(read(&text), Ok(value.clone()));
            }
        }

        #[test]
        fn no_text_panics(text in "[\\[\\]{}\":,/*\\\\a-z0-9 \\n.eE+-]{0,80}") {
            let _ = read(&text);
        }
    }
}
