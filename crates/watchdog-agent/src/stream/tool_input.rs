//! The input of a tool call in one line, whatever program recorded it.

use serde_json::Value;

use super::fields::{cut_middle, get_text};

/// Bytes of the summary of a tool's input.
const INPUT: usize = 4 << 10;
/// The members of a tool's input that say best what it is called for, the best first.
const TELLING: [&str; 10] = [
    "command",
    "file_path",
    "filePath",
    "path",
    "pattern",
    "query",
    "url",
    "description",
    "subject",
    "prompt",
];

/// Summarizes the input of a tool call on one line.
pub(super) fn input_summary(input: &Value) -> String {
    let words_of_it = TELLING
        .iter()
        .find_map(|key| get_text(input, key).filter(|words_of_it| !words_of_it.trim().is_empty()));
    let list = || {
        let words: Option<Vec<&str>> = input
            .get("command")?
            .as_array()?
            .iter()
            .map(Value::as_str)
            .collect();
        words.map(|words| words.join(" "))
    };
    let summary = match (words_of_it, input) {
        (Some(words_of_it), _) => words_of_it.to_owned(),
        (None, Value::Null) => String::new(),
        (None, Value::Object(members)) if members.is_empty() => String::new(),
        (None, Value::String(words_of_it)) => words_of_it.clone(),
        (None, other) => list().unwrap_or_else(|| other.to_string()),
    };
    let lines: Vec<&str> = summary
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    cut_middle(&lines.join(" ⏎ "), INPUT)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn most_telling_member_describes_tool_input() {
        for (input, expected) in [
            (
                json!({"description": "tests", "command": "cargo test --all", "timeout": 5}),
                "cargo test --all",
            ),
            (json!({"file_path": "src/a.rs", "content": "x"}), "src/a.rs"),
            (json!({"command": ["sh", "-c", "ls"]}), "sh -c ls"),
            (json!({"command": "a\n\n  b"}), "a ⏎ b"),
            (json!({"n": 1}), "{\"n\":1}"),
            (json!({"command": " "}), "{\"command\":\" \"}"),
            (json!({}), ""),
            (json!(null), ""),
            (json!("words"), "words"),
        ] {
            assert_eq!(input_summary(&input), expected, "{input}");
        }
        assert!(input_summary(&json!({"command": "x".repeat(100_000)})).len() < INPUT + 20);
    }
}
