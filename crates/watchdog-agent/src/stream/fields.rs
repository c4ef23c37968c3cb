//! Looks into JSON of programs that may hold anything.

use serde_json::Value;

/// The text of a member.
pub(crate) fn get_text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str()
}

/// The whole number of a member.
pub(super) fn get_number(value: &Value, key: &str) -> Option<u64> {
    value.get(key)?.as_u64()
}

/// The amount of a member; never negative, never infinite.
pub(super) fn get_amount(value: &Value, key: &str) -> Option<f64> {
    value
        .get(key)?
        .as_f64()
        .filter(|amount| amount.is_finite() && *amount >= 0.0)
}

/// Whether a member is true.
pub(super) fn is_true(value: &Value, key: &str) -> bool {
    value.get(key).and_then(Value::as_bool) == Some(true)
}

/// The members of a list; none if it is no list.
pub(super) fn get_list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value
        .get(key)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

/// The texts of content that is a text itself, or a list of blocks; one per line.
pub(super) fn content_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts: Vec<&str> = blocks
                .iter()
                .filter_map(|block| block.as_str().or_else(|| get_text(block, "text")))
                .collect();
            texts.join("\n")
        }
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// The error message of an event, in any of the programs' fields.
pub(super) fn error_message(event: &Value) -> Option<&str> {
    let error = event
        .get("error")
        .or_else(|| event.get("msg"))
        .or_else(|| event.get("message"));
    let inside = error.and_then(|error| {
        let inner = || error.get("data").and_then(|data| get_text(data, "message"));
        error
            .as_str()
            .or_else(|| get_text(error, "message"))
            .or_else(inner)
            .or_else(|| get_text(error, "name").or_else(|| get_text(error, "type")))
    });
    inside.or_else(|| get_text(event, "message"))
}

/// The same for a person, cut.
pub(super) fn error_text(event: &Value) -> String {
    cut_middle(
        error_message(event).unwrap_or("it does not say which"),
        4000,
    )
}

/// At most so many bytes of a text: all of it, or its beginning and its end.
pub(super) fn cut_middle(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = text.ceil_char_boundary(text.len() - most / 2);
    format!(
        "{} [...] {}",
        &text[..text.floor_char_boundary(most / 2)],
        &text[end..]
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn content_is_text_in_any_of_its_forms() {
        for (content, expected) in [
            (json!("a"), "a"),
            (
                json!([{"type": "text", "text": "a"}, {"type": "image"}, "b"]),
                "a\nb",
            ),
            (json!(null), ""),
            (json!({"a": 1}), "{\"a\":1}"),
        ] {
            assert_eq!(content_text(&content), expected);
        }
    }

    #[test]
    fn cut_text_keeps_both_ends_and_characters() {
        assert_eq!(cut_middle("short", 5), "short");
        assert_eq!(cut_middle("ééééé", 5), "é [...] é");
        assert!(cut_middle(&"x".repeat(10_000), 100).len() < 120);
    }

    #[test]
    fn amounts_are_never_negative() {
        assert_eq!(get_amount(&json!({"a": -1.0}), "a"), None);
        assert_eq!(get_amount(&json!({"a": 2}), "a"), Some(2.0));
    }
}
