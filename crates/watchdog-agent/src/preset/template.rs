//! Argument vectors with placeholders that are filled in: `{id}` in a word, or a word that stands for several, such as `{user}`. Pure.

use std::ffi::OsString;

use serde::Deserialize;

/// An option with its value, or a word. Written as `"--json"`, or as `["--model", "{model}"]` where
/// the two belong together.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum TemplateArg {
    /// A single word.
    Word(String),
    /// Words that are given or left out together.
    Together(Vec<String>),
}

impl TemplateArg {
    /// Its words.
    pub fn words(&self) -> &[String] {
        match self {
            TemplateArg::Word(word) => std::slice::from_ref(word),
            TemplateArg::Together(words) => words,
        }
    }

    /// The placeholder that it is, where it is nothing else.
    pub fn placeholder(&self) -> Option<&str> {
        match self {
            TemplateArg::Word(word) => word
                .strip_prefix('{')?
                .strip_suffix('}')
                .filter(|name| is_placeholder(name)),
            TemplateArg::Together(_) => None,
        }
    }
}

/// The placeholders named in a text.
pub fn find_placeholders(text: &str) -> impl Iterator<Item = &str> {
    text.split('{')
        .skip(1)
        .filter_map(|after_brace| after_brace.split_once('}'))
        .map(|(name, _)| name)
        .filter(|name| is_placeholder(name))
}

/// The text with its placeholders filled in, once: what is filled in is not looked at again.
pub fn fill_placeholders(text: &str, value: &dyn Fn(&str) -> Option<OsString>) -> OsString {
    let mut made = OsString::new();
    let mut remaining_text = text;
    while let Some((before, after)) = remaining_text.split_once('{') {
        made.push(before);
        match after
            .split_once('}')
            .and_then(|(name, after)| Some((value(name).filter(|_| is_placeholder(name))?, after)))
        {
            Some((value, after)) => {
                made.push(value);
                remaining_text = after;
            }
            None => {
                made.push("{");
                remaining_text = after;
            }
        }
    }
    made.push(remaining_text);
    made
}

fn is_placeholder(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_filled_in_once() {
        let value = |name: &str| (name == "id").then(|| "{id}7".into());
        for (text, expected) in [
            ("{id}", "{id}7"),
            ("--resume={id}.", "--resume={id}7."),
            ("{\"a\":{id}}", "{\"a\":{id}7}"),
            ("{other} {id", "{other} {id"),
            ("{}{id}{", "{}{id}7{"),
            ("", ""),
        ] {
            assert_eq!(fill_placeholders(text, &value), expected, "{text}");
        }
        assert_eq!(
            find_placeholders("{\"a\": {id}} {b_c} {D} {}").collect::<Vec<_>>(),
            ["id", "b_c"]
        );
    }
}
