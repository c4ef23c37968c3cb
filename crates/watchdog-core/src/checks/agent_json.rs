//! JSON that an agent gave in its words: marked by a tag, in a fenced block, or alone.

use serde_json::{Deserializer, Value};

use super::strict_json;
use watchdog_facts::patterns::FixedPattern;

/// How many bytes at the end of a text are read.
const MOST_BYTES: usize = 1 << 20;

/// So often an object is tried to be read in a text without marks.
const TRIES: usize = 500;

/// A fenced block: its info word and its content.
static FENCE: FixedPattern =
    FixedPattern::new(r"(?ms)^[ \t]*```+[ \t]*([\w.-]*)[^\n`]*\n(.*?)^[ \t]*```");

/// A candidate for the requested object.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct JsonCandidate {
    /// Offset of its begin in the text.
    at: usize,
    /// Its text, marks included.
    pub(super) raw: String,
    /// Its value, or why that is no JSON object.
    pub(super) object: Result<Value, String>,
    /// Whether the tag marks it, so that it counts without being JSON.
    pub(super) tagged: bool,
}

/// The candidates of a text, in order. With a tag only the marked ones: the word of a fenced block, an element, or the object's own
/// `signal` or `type`.
pub(super) fn find_candidates(text: &str, tag: Option<&str>) -> Vec<JsonCandidate> {
    let text = &text[text.ceil_char_boundary(text.len().saturating_sub(MOST_BYTES))..];
    let mut candidates: Vec<JsonCandidate> = find_fenced(text, tag);
    if let Some(tag) = tag {
        candidates.extend(list_tagged_elements(text, tag));
    }
    let covered: Vec<(usize, usize)> = candidates
        .iter()
        .map(|given| (given.at, given.at + given.raw.len()))
        .collect();
    let outside = |at: usize| !covered.iter().any(|(from, to)| (*from..*to).contains(&at));
    candidates.extend(
        list_unmarked_objects(text, tag)
            .into_iter()
            .filter(|given| outside(given.at)),
    );
    candidates.retain(|given| {
        tag.is_none_or(|tag| {
            given.tagged
                || given
                    .object
                    .as_ref()
                    .is_ok_and(|object| names_itself(object, tag))
        })
    });
    candidates.sort_by_key(|given| given.at);
    candidates
}

/// Whether an object's own `signal` or `type` is the tag.
pub(super) fn names_itself(object: &Value, tag: &str) -> bool {
    ["signal", "type"]
        .iter()
        .any(|key| object.get(key).and_then(Value::as_str) == Some(tag))
}

fn find_fenced(text: &str, tag: Option<&str>) -> Vec<JsonCandidate> {
    let blocks = FENCE.captures_iter(text).filter_map(|block| {
        let (all, word, content) = (
            block.get(0)?,
            block.get(1)?.as_str(),
            block.get(2)?.as_str(),
        );
        let tagged = tag == Some(word);
        let object = object_in(content);
        (tagged || object.is_ok()).then(|| JsonCandidate {
            at: all.start(),
            raw: all.as_str().to_owned(),
            object,
            tagged,
        })
    });
    blocks.collect()
}

fn list_tagged_elements(text: &str, tag: &str) -> Vec<JsonCandidate> {
    let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
    let mut tagged = Vec::new();
    let mut from = 0;
    while let Some(start) = text[from..].find(&open).map(|at| from + at) {
        let content = start + open.len();
        let Some(end) = text[content..].find(&close).map(|at| content + at) else {
            break;
        };
        let object = object_in(&text[content..end]);
        from = end + close.len();
        tagged.push(JsonCandidate {
            at: start,
            raw: text[start..from].to_owned(),
            object,
            tagged: true,
        });
    }
    tagged
}

fn object_in(text: &str) -> Result<Value, String> {
    match strict_json::parse_strict_json(text.trim()) {
        Ok(value) if value.is_object() => Ok(value),
        Err(why) if why.contains(strict_json::KEY_TWICE) => Err(why),
        Ok(_) | Err(_) => Err("it is not a JSON object".into()),
    }
}

/// The unmarked objects of a text; objects inside of one are part of it. An object with a key twice
/// has no value, whatever is inside of it.
fn list_unmarked_objects(text: &str, tag: Option<&str>) -> Vec<JsonCandidate> {
    let mut unmarked = Vec::new();
    let mut from = 0;
    for _ in 0..TRIES {
        let Some(at) = text[from..].find('{').map(|at| from + at) else {
            break;
        };
        let mut stream = Deserializer::from_str(&text[at..]).into_iter::<Value>();
        match stream.next() {
            Some(Ok(object)) => {
                from = at + stream.byte_offset();
                let tagged = tag.is_some_and(|tag| names_itself(&object, tag));
                unmarked.push(JsonCandidate {
                    at,
                    raw: text[at..from].to_owned(),
                    object: object_in(&text[at..from]),
                    tagged,
                });
            }
            Some(Err(_)) | None => from = at + 1,
        }
    }
    unmarked
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn objects_of(text: &str, tag: Option<&str>) -> Vec<Option<Value>> {
        find_candidates(text, tag)
            .into_iter()
            .map(|given| given.object.ok())
            .collect()
    }

    #[test]
    fn tag_is_fence_element_or_field() {
        let object = || Some(json!({"status": "approved"}));
        assert_eq!(
            objects_of(
                "ok\n```review\n{\"status\": \"approved\"}\n```\n",
                Some("review")
            ),
            [object()]
        );
        assert_eq!(
            objects_of(
                "<review> {\"status\": \"approved\"}</review> bye",
                Some("review")
            ),
            [object()]
        );
        for key in ["signal", "type"] {
            let text = format!("here: {{\"{key}\": \"review\", \"n\": 1}}.");
            assert_eq!(
                objects_of(&text, Some("review")),
                [Some(json!({key: "review", "n": 1}))]
            );
        }
        assert_eq!(
            objects_of("```json\n{\"type\": \"review\"}\n```", Some("review")),
            [Some(json!({"type": "review"}))]
        );
        assert_eq!(objects_of("```done\nnot json\n```", Some("done")), [None]);
        for text in [
            "```other\n{\"a\": 1}\n```",
            "<review>{\"a\": 1}",
            "{\"type\": \"preview\"}",
            "review",
        ] {
            assert!(find_candidates(text, Some("review")).is_empty(), "{text}");
        }
    }

    #[test]
    fn untagged_objects_count_once_in_order() {
        let text = "first {\"a\": {\"b\": 1}} then\n```json\n{\"c\": 2}\n```\n{broken {\"d\": 3}";
        assert_eq!(
            objects_of(text, None),
            [
                Some(json!({"a": {"b": 1}})),
                Some(json!({"c": 2})),
                Some(json!({"d": 3}))
            ]
        );
    }

    #[test]
    fn element_is_quoted_whole_before_the_next() {
        let text = "so <a>{\"n\": 1}</a>, no: <a>{\"n\": 2}</a> <a>open";
        let raw: Vec<String> = find_candidates(text, Some("a"))
            .into_iter()
            .map(|given| given.raw)
            .collect();
        assert_eq!(raw, ["<a>{\"n\": 1}</a>", "<a>{\"n\": 2}</a>"]);
    }

    #[test]
    fn a_key_twice_gives_no_value() {
        for text in [
            "<review>{\"status\": \"no\", \"status\": \"approved\"}</review>",
            "```review\n{\"status\": \"no\", \"status\": \"approved\"}\n```\n",
            "{\"type\": \"review\", \"status\": \"no\", \"status\": \"approved\"}",
        ] {
            assert_eq!(objects_of(text, Some("review")), [None], "{text}");
        }
        assert_eq!(
            objects_of("{\"a\": 1, \"a\": {\"status\": \"approved\"}}", None),
            [None]
        );
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(text in "[{}\"a:<>/`\n é]{0,300}") {
            for tag in [None, Some("a")] {
                for candidate in find_candidates(&text, tag) {
                    prop_assert!(text.contains(&candidate.raw));
                }
            }
        }
    }
}
