//! JSON with the place of every value. The only file that knows a JSON parser.
//!
//! Two readers are at work: serde_json decides whether the text is JSON, because it is strict and names the expected token;
//! jsonc-parser then gives the positions, which serde_json does not keep.

use std::borrow::Cow;

use jsonc_parser::ast;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::problem::{ProblemReport, quote_text};

/// A value and the byte offset where it starts.
pub(super) struct SpannedValue<'t> {
    pub(super) at: usize,
    pub(super) kind: ValueKind<'t>,
}

/// The kind of a value.
pub(super) enum ValueKind<'t> {
    Null,
    Flag(bool),
    /// As it was written.
    Number(&'t str),
    Text(Cow<'t, str>),
    List(Vec<SpannedValue<'t>>),
    /// In the order of the file, with every repetition of a key.
    Object(Vec<KeyValue<'t>>),
}

/// A key and its value.
pub(super) struct KeyValue<'t> {
    pub(super) at: usize,
    pub(super) name: Cow<'t, str>,
    pub(super) value: SpannedValue<'t>,
}

impl SpannedValue<'_> {
    /// The kind of value found, for a message with the expected one.
    pub(super) fn describe_kind(&self) -> String {
        match &self.kind {
            ValueKind::Null => "null".into(),
            ValueKind::Flag(flag) => flag.to_string(),
            ValueKind::Number(number) => {
                format!("the number {}", number.chars().take(40).collect::<String>())
            }
            ValueKind::Text(text) => format!("the text {}", quote_text(text)),
            ValueKind::List(_) => "a list".into(),
            ValueKind::Object(_) => "an object".into(),
        }
    }

    /// The value without its places.
    pub(super) fn to_value(&self) -> serde_json::Value {
        match &self.kind {
            ValueKind::Null => serde_json::Value::Null,
            ValueKind::Flag(flag) => (*flag).into(),
            ValueKind::Number(number) => serde_json::from_str(number).unwrap_or_default(),
            ValueKind::Text(text) => text.as_ref().into(),
            ValueKind::List(items) => items.iter().map(SpannedValue::to_value).collect(),
            ValueKind::Object(members) => members
                .iter()
                .map(|m| (m.name.clone().into_owned(), m.value.to_value()))
                .collect(),
        }
    }
}

/// JSON and nothing more.
pub const STRICT: ParseOptions = ParseOptions {
    allow_comments: false,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Reads the text, or reports why it is not JSON.
pub(super) fn parse_json<'t>(
    text: &'t str,
    report: &ProblemReport<'_>,
) -> Option<SpannedValue<'t>> {
    if text.starts_with('\u{feff}') {
        report.problem(0, "", || {
            "the file starts with a byte order mark; save it as UTF-8 without one".into()
        });
        return None;
    }
    if text.trim().is_empty() {
        report.problem(0, "", || {
            "the file is empty; the smallest configuration is {}".into()
        });
        return None;
    }
    if let Err(error) = serde_json::from_str::<serde_json::Value>(text) {
        report.problem(find_error_offset(text, &error), "", || {
            explain_json_error(&error)
        });
        return None;
    }
    match parse_to_ast(text, &CollectOptions::default(), &STRICT) {
        Ok(parsed) => parsed.value.map(convert_value),
        Err(error) => {
            report.problem(error.range().start, "", || {
                format!("broken JSON: {}", error.kind())
            });
            None
        }
    }
}

fn convert_value(value: ast::Value<'_>) -> SpannedValue<'_> {
    match value {
        ast::Value::NullKeyword(null) => SpannedValue {
            at: null.range.start,
            kind: ValueKind::Null,
        },
        ast::Value::BooleanLit(flag) => SpannedValue {
            at: flag.range.start,
            kind: ValueKind::Flag(flag.value),
        },
        ast::Value::NumberLit(number) => SpannedValue {
            at: number.range.start,
            kind: ValueKind::Number(number.value),
        },
        ast::Value::StringLit(text) => SpannedValue {
            at: text.range.start,
            kind: ValueKind::Text(text.value),
        },
        ast::Value::Array(list) => SpannedValue {
            at: list.range.start,
            kind: ValueKind::List(list.elements.into_iter().map(convert_value).collect()),
        },
        ast::Value::Object(object) => {
            let members = object.properties.into_iter().map(|property| {
                let name = match property.name {
                    ast::ObjectPropName::String(name) => name.value,
                    ast::ObjectPropName::Word(name) => name.value.into(),
                };
                KeyValue {
                    at: property.range.start,
                    name,
                    value: convert_value(property.value),
                }
            });
            SpannedValue {
                at: object.range.start,
                kind: ValueKind::Object(members.collect()),
            }
        }
    }
}

/// Byte offset at which serde_json stopped. Its column counts the bytes of the line that were read.
fn find_error_offset(text: &str, error: &serde_json::Error) -> usize {
    let start: usize = text
        .split_inclusive('\n')
        .take(error.line().saturating_sub(1))
        .map(str::len)
        .sum();
    let mut at = (start + error.column().saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// serde_json's message about the expected token, in our words where its own are terse.
fn explain_json_error(error: &serde_json::Error) -> String {
    let whole = error.to_string();
    let what = whole
        .rsplit_once(" at line ")
        .map_or(whole.as_str(), |(what, _)| what);
    let clear = match what {
        "EOF while parsing a list" => "the file ends inside a list; expected `,` or `]`",
        "EOF while parsing an object" => "the file ends inside an object; expected `,` or `}`",
        "EOF while parsing a string" => "the file ends inside a text; expected `\"`",
        "EOF while parsing a value" => "the file ends where a value was expected",
        "expected value" => {
            "expected a value: a text in double quotes, a number, true, false, null, a list or an object"
        }
        "expected ident" => "expected true, false or null",
        "key must be a string" => "expected a key in double quotes (comments are not allowed)",
        "trailing comma" => "expected another entry after the comma; remove the comma",
        "trailing characters" => "expected the end of the file after the first value",
        "recursion limit exceeded" => return "nested too deep; at most 127 levels are read".into(),
        other => other,
    };
    format!("broken JSON: {clear}")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn check(text: &str, place: &str, words: &str) {
        let report = ProblemReport::new(text);
        assert!(parse_json(text, &report).is_none(), "{text} was read");
        let error = report.finish(Path::new("c")).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("c:{place}: ")),
            "{text}: {error}"
        );
        assert!(error.contains(words), "{text}: {error}");
    }

    #[test]
    fn broken_json_names_position_and_expected_token() {
        check("", "1:1", "empty");
        check(" \n\t", "1:1", "empty");
        check("\u{feff}{}", "1:1", "byte order mark");
        check("{\"a\": 1,}", "1:9", "comma");
        check("{\n  \"a\": 1\n  \"b\": 2\n}", "3:3", "expected `,` or `}`");
        check("{\n  \"a\": [1, 2\n", "3:1", "inside a list");
        check("{\"a\" 1}", "1:6", "expected `:`");
        check("{a: 1}", "1:2", "key in double quotes");
        check("{\"a\": 'x'}", "1:7", "expected a value");
        check("{\"a\": 1} {}", "1:10", "end of the file");
        check("// why\n{}", "1:1", "expected a value");
        check("{\"a\": \"x", "1:8", "inside a text");
        check("{\"a\": \"é", "1:8", "inside a text");
        check("{\"a\": nul}", "1:10", "expected true, false or null");
        check("[{} {}]", "1:5", "expected `,` or `]`");
        check("{\"a\": 1e999}", "1:11", "number out of range");
        check("{\"a\": \"\\ud800\"}", "1:14", "hex escape");
        check("{\"a\": +1}", "1:7", "expected a value");
        check("{\"é\": 0x1}", "1:8", "expected `,` or `}`");
        check(&"[".repeat(100_000), "1:128", "nested too deep");
        check("nonsense", "1:2", "expected true, false or null");
    }

    #[test]
    fn values_keep_their_places_and_repetitions() {
        let text = "{\"a\": [true, null], \"a\": \"x\\u0041\"}";
        let report = ProblemReport::new(text);
        let json = parse_json(text, &report).unwrap();
        let ValueKind::Object(members) = &json.kind else {
            panic!("no object")
        };
        assert_eq!(
            members
                .iter()
                .map(|m| (m.at, m.value.at, m.name.as_ref()))
                .collect::<Vec<_>>(),
            [(1, 6, "a"), (20, 25, "a")]
        );
        assert_eq!(members[1].value.to_value(), "xA");
        assert_eq!(members[0].value.to_value(), serde_json::json!([true, null]));
    }
}
