//! The documentation of one key.

use serde_json::Value;

/// A row of a block's table, as markdown.
pub(super) struct KeyRow {
    pub(super) key: &'static str,
    pub(super) value: String,
    pub(super) meaning: String,
    pub(super) default: String,
}

impl KeyRow {
    /// A default as a cell says it.
    pub(super) fn default_cell(default: &Value) -> String {
        match default {
            Value::Null | Value::Number(_) => default.to_string(),
            Value::String(text) => format!("`{text}`"),
            Value::Array(items) if items.is_empty() => "none".to_owned(),
            Value::Array(items) => format!(
                "`[{}]`",
                items
                    .iter()
                    .map(Value::to_string)
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
            Value::Bool(_) | Value::Object(_) => format!("`{default}`"),
        }
    }
}

/// A sentence of the documentation without its links, for a reader that shows none.
pub(super) fn without_links(doc: &str) -> String {
    let mut plain = String::with_capacity(doc.len());
    let mut remaining = doc;
    while let Some((before, text, after)) = next_link(remaining) {
        plain.extend([before, text]);
        remaining = after;
    }
    plain + remaining
}

/// The text before the next link, its text, and the rest.
fn next_link(doc: &str) -> Option<(&str, &str, &str)> {
    let (head, tail) = doc.split_once("](")?;
    let (before, text) = head.rsplit_once('[')?;
    Some((before, text, tail.split_once(')')?.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_loses_its_links_and_nothing_else() {
        for (doc, plain) in [
            (
                "see [Order and cost](#order-and-cost), or [Groups](#groups)",
                "see Order and cost, or Groups",
            ),
            (
                "`[\".env\"]` stays (as it is)",
                "`[\".env\"]` stays (as it is)",
            ),
            ("", ""),
        ] {
            assert_eq!(without_links(doc), plain);
        }
    }

    #[test]
    fn default_cell_is_written_as_in_file() {
        let cell = |default| KeyRow::default_cell(&default);
        assert_eq!(
            [cell(Value::Null), cell(5.into()), cell(true.into())],
            ["null", "5", "`true`"]
        );
        assert_eq!(
            [cell("all".into()), cell(Value::Array(Vec::new()))],
            ["`all`", "none"]
        );
        assert_eq!(cell(["a", "b"].as_slice().into()), r#"`["a", "b"]`"#);
    }
}
