//! The check types that use the agent's texts and actions: `signal`, `structured`, `sql_result` and `iterations`.

use serde_json::{Value, json};

use super::super::key_kinds::{
    FLAG, KeyKind, OBJECT, TEXT, ValueForm, list_of, nullable, optional, whole, word_of,
};
use super::super::key_table::{KeyBlock, keys, no_rules, plain_key};
use super::super::reader::{ConfigNode, ConfigSection};
use super::super::settings::{
    CheckKind, SignalMatch, SignalTextCriterion, SqlResultCriterion, StructuredCriterion, TextScope,
};
use super::super::syntax::ValueKind;
use super::check_type::{CheckType, criterion_of};

/// The words for [`SignalMatch`].
const MATCHES: &[(&str, SignalMatch)] = &[
    ("line", SignalMatch::Line),
    ("word", SignalMatch::Word),
    ("contains", SignalMatch::Contains),
    ("tag", SignalMatch::Tag),
];

/// The words for [`TextScope`].
const SCOPES: &[(&str, TextScope)] = &[
    ("last", TextScope::Last),
    ("iteration", TextScope::Iteration),
    ("session", TextScope::Session),
];

/// The element that loops of all kinds have agents write.
const TAG: &str = "promise";

impl SignalTextCriterion {
    /// A text in the agent's last message, matched so, with the defaults of everything else.
    pub fn new(text: impl Into<String>, matching: SignalMatch) -> Self {
        let ignore_case = matching == SignalMatch::Tag;
        SignalTextCriterion {
            text: text.into(),
            matching,
            tag: TAG.into(),
            ignore_case,
            last_line: false,
            scope: TextScope::Last,
        }
    }
}

const TAG_NAME: ValueForm<String> = ValueForm {
    read: tag_name,
    ..TEXT
};

pub(super) static SIGNAL: CheckType<SignalTextCriterion> = CheckType {
    doc: "The agent says an agreed text.",
    block: KeyBlock {
        name: "signal",
        defaults: || SignalTextCriterion::new("", SignalMatch::Line),
        keys: keys! { SignalTextCriterion;
            "text" => text: TEXT, "what to look for", mark_required("it is the text to look for");
            "match" => matching: word_of(MATCHES),
                "`line`: alone on a line; `tag`: the whole content of an element such as `<promise>DONE</promise>`",
                default_in_words("`line`, or `tag` where `tag` is given");
            "tag" => tag: TAG_NAME, "the element's name, for the match `tag`", written_where(|s| s.matching == SignalMatch::Tag);
            "ignore_case" => ignore_case: FLAG,
                "whether upper and lower case are the same", default_depends("`true` for the match `tag`, else `false`");
            "last_line" => last_line: FLAG, "whether only the last line that is not blank counts";
            "in" => scope: word_of(SCOPES), SCOPE_DOC;
        },
        rules: signal_keys_fit,
    },
    any_of: &[],
    wrap: CheckKind::Signal,
    unwrap: criterion_of!(Signal),
};

const SCOPE_DOC: &str = "which of the agent's texts count: its `last` message, those since it was last asked, or all of the `session`";

/// `tag` is for one match and asks for it, a text may be an element as a whole, and an element is found in any case.
fn signal_keys_fit(section: &ConfigSection<'_>, criterion: &mut SignalTextCriterion, _: bool) {
    match (section.get("match"), section.get("tag")) {
        (None, Some(_)) => criterion.matching = SignalMatch::Tag,
        (Some(given), Some(tag))
            if given
                .known_word(MATCHES)
                .is_some_and(|matching| matching != SignalMatch::Tag) =>
        {
            tag.wrong("is for `match`: \"tag\" alone");
        }
        _ => {}
    }
    if criterion.matching != SignalMatch::Tag {
        return;
    }
    if !section.has("tag")
        && let Some((name, content)) = split_element(&criterion.text)
    {
        (criterion.tag, criterion.text) = (name, content);
    }
    if !section.has("ignore_case") {
        criterion.ignore_case = true;
    }
}

/// The name of an element: the text between `<` and `>`.
fn tag_name(node: &ConfigNode<'_>) -> Option<String> {
    let name = node.text()?;
    if is_tag_name(&name) {
        return Some(name);
    }
    node.wrong("must be the name of an element, such as `promise`: letters, digits, `_` and `-`");
    None
}

fn is_tag_name(name: &str) -> bool {
    name.starts_with(char::is_alphabetic)
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | ':' | '.'))
}

/// A text that is an element as a whole, taken apart.
fn split_element(text: &str) -> Option<(String, String)> {
    let (name, rest) = text.trim().strip_prefix('<')?.split_once('>')?;
    let content = rest
        .strip_suffix('>')?
        .strip_suffix(name)?
        .strip_suffix("</")?
        .trim();
    (is_tag_name(name) && !content.is_empty()).then(|| (name.to_owned(), content.to_owned()))
}

/// Fields with their values, or their names alone.
const REQUIRED_FIELDS: ValueForm<Vec<(String, Option<Value>)>> = ValueForm {
    read: required_fields,
    write: |fields| match fields
        .iter()
        .map(|(name, value)| Some((name.clone(), value.clone()?)))
        .collect()
    {
        Some(by_value) => Value::Object(by_value),
        None => fields.iter().map(|(name, _)| name.as_str()).collect(),
    },
    schema: || json!({"oneOf": [{"type": "object"}, list_of(TEXT).schema()]}),
    words: "object, or list of texts",
};

const SCHEMA: ValueForm<Value> = ValueForm {
    words: "JSON Schema",
    ..OBJECT
};

pub(super) static STRUCTURED: CheckType<StructuredCriterion> = CheckType {
    doc: "The agent gave JSON of an agreed form.",
    block: KeyBlock {
        name: "structured",
        defaults: || StructuredCriterion {
            tag: None,
            required: Vec::new(),
            schema: None,
            scope: TextScope::Last,
        },
        keys: keys! { StructuredCriterion;
            "tag" => tag: optional(TEXT), "the word that marks the JSON";
            "required" => required: REQUIRED_FIELDS,
                "fields with their values, or a list of names", written_where(|s| !s.required.is_empty()), without_default();
            "schema" => schema: optional(SCHEMA), "what the JSON must meet; at least one of the three is required";
            "in" => scope: word_of(SCOPES), SCOPE_DOC;
        },
        rules: structured_asks_for_something,
    },
    any_of: STRUCTURED_ASKS,
    wrap: CheckKind::Structured,
    unwrap: criterion_of!(Structured),
};

const STRUCTURED_ASKS: &[&str] = &["tag", "required", "schema"];

fn structured_asks_for_something(
    section: &ConfigSection<'_>,
    _: &mut StructuredCriterion,
    _: bool,
) {
    if !STRUCTURED_ASKS.iter().any(|key| section.has(key)) {
        section.wrong("asks for nothing; give `tag`, `required`, `schema`, or several of them");
    }
}

pub(super) fn required_fields(
    node: &ConfigNode<'_>,
) -> Option<Vec<(String, Option<serde_json::Value>)>> {
    let mut fields: Vec<(String, Option<serde_json::Value>)> = match &node.json.kind {
        ValueKind::Object(members) => {
            node.open_section()?;
            members
                .iter()
                .map(|member| {
                    (
                        member.name.clone().into_owned(),
                        Some(member.value.to_value()),
                    )
                })
                .collect()
        }
        ValueKind::List(_) => node
            .list(ConfigNode::text)?
            .into_iter()
            .map(|name| (name, None))
            .collect(),
        _ => {
            node.report_expected("an object of fields and their values, or a list of field names");
            return None;
        }
    };
    fields.sort_by(|a, b| a.0.cmp(&b.0));
    fields.dedup_by(|a, b| a.0 == b.0);
    Some(fields)
}

pub(super) static SQL_RESULT: CheckType<SqlResultCriterion> = CheckType {
    doc: "A tool of the agent returned rows.",
    block: KeyBlock {
        name: "sql_result",
        defaults: || SqlResultCriterion {
            tool: "execute_sql".into(),
            expected_columns: None,
            min_rows: 1,
        },
        keys: keys! { SqlResultCriterion;
            "tool" => tool: TEXT, "the tool that returned the rows";
            "expected_columns" => expected_columns: nullable(list_of(TEXT)), "the columns, in order; null is any";
            "min_rows" => min_rows: whole(0..=u64::MAX), "rows at least";
        },
        rules: no_rules,
    },
    any_of: &[],
    wrap: CheckKind::SqlResult,
    unwrap: criterion_of!(SqlResult),
};

pub(super) static ITERATIONS: CheckType<u64> = CheckType {
    doc: "So many iterations were made.",
    block: KeyBlock {
        name: "iterations",
        defaults: || 1,
        keys: &[&plain_key(
            "count",
            whole(1..=1_000_000),
            |count: &mut u64| count,
            "iterations of a loop, which is a count and no proof",
        )
        .mark_required("it is how many iterations complete the work")],
        rules: no_rules,
    },
    any_of: &[],
    wrap: |count| CheckKind::Iterations { count },
    unwrap: |criterion| {
        if let CheckKind::Iterations { count } = criterion {
            Some(count)
        } else {
            None
        }
    },
};

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::parse::testing::{criterion, refuses};
    use super::*;

    #[test]
    fn signal_is_whole_last_line_by_default() {
        let line = SignalTextCriterion::new("TASK_DONE", SignalMatch::Line);
        assert_eq!(
            (line.ignore_case, line.last_line, line.scope),
            (false, false, TextScope::Last)
        );
        assert_eq!(
            criterion(r#"{"type": "signal", "text": "TASK_DONE"}"#),
            CheckKind::Signal(line.clone())
        );
        let signal_criterion = criterion(
            r#"{"type": "signal", "text": "TASK_DONE", "last_line": true, "in": "session", "ignore_case": true}"#,
        );
        assert_eq!(
            signal_criterion,
            CheckKind::Signal(SignalTextCriterion {
                last_line: true,
                scope: TextScope::Session,
                ignore_case: true,
                ..line
            })
        );
    }

    #[test]
    fn element_is_given_by_tag_or_in_full() {
        let wanted = |tag: &str| {
            CheckKind::Signal(SignalTextCriterion {
                tag: tag.into(),
                ..SignalTextCriterion::new("DONE", SignalMatch::Tag)
            })
        };
        assert_eq!(
            criterion(r#"{"type": "signal", "text": "DONE", "match": "tag"}"#),
            wanted("promise")
        );
        assert_eq!(
            criterion(r#"{"type": "signal", "text": "DONE", "tag": "vow"}"#),
            wanted("vow")
        );
        assert_eq!(
            criterion(r#"{"type": "signal", "text": "<vow> DONE </vow>", "match": "tag"}"#),
            wanted("vow")
        );
        let whole = |text: &str| SignalTextCriterion {
            text: text.into(),
            ..SignalTextCriterion::new("D", SignalMatch::Tag)
        };
        for text in ["<vow></vow>", "<a b>DONE</a b>", "<1>DONE</1>"] {
            let signal_criterion = criterion(&format!(
                r#"{{"type": "signal", "text": "{text}", "match": "tag"}}"#
            ));
            assert_eq!(
                signal_criterion,
                CheckKind::Signal(whole(text)),
                "it is no element with a content"
            );
        }
        for tag in ["a b", "1a", "-", "a/"] {
            let words = "checks[0].tag: must be the name of an element";
            refuses(
                &format!(r#"{{"type": "signal", "text": "D", "tag": "{tag}"}}"#),
                words,
            );
        }
        refuses(
            r#"{"type": "signal", "text": "D", "match": "tag", "tag": "<p>"}"#,
            "checks[0].tag: must be the name of an element",
        );
        refuses(
            r#"{"type": "signal", "text": "D", "match": "line", "tag": "p"}"#,
            "checks[0].tag: is for `match`: \"tag\" alone",
        );
    }

    #[test]
    fn fields_are_required_by_name_or_by_value() {
        let required = |keys: &str| match criterion(&format!(r#"{{"type": "structured", {keys}}}"#))
        {
            CheckKind::Structured(found) => found.required,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            required(r#""required": {"status": "ok", "code": 0}"#),
            [
                ("code".into(), Some(json!(0))),
                ("status".into(), Some(json!("ok")))
            ]
        );
        assert_eq!(
            required(r#""required": ["b", "a"]"#),
            [("a".into(), None), ("b".into(), None)]
        );
        assert_eq!(required(r#""tag": "review""#), []);
        let structured_criterion =
            criterion(r#"{"type": "structured", "schema": {"type": "object"}, "in": "iteration"}"#);
        let schema = Some(json!({"type": "object"}));
        assert_eq!(
            structured_criterion,
            CheckKind::Structured(StructuredCriterion {
                tag: None,
                required: Vec::new(),
                schema,
                scope: TextScope::Iteration
            })
        );
    }

    #[test]
    fn tool_must_return_one_row_by_default() {
        let plain = SqlResultCriterion {
            tool: "execute_sql".into(),
            expected_columns: None,
            min_rows: 1,
        };
        assert_eq!(
            criterion(r#"{"type": "sql_result"}"#),
            CheckKind::SqlResult(plain.clone())
        );
        assert_eq!(
            criterion(
                r#"{"type": "sql_result", "tool": "q", "expected_columns": [], "min_rows": 0}"#
            ),
            CheckKind::SqlResult(SqlResultCriterion {
                tool: "q".into(),
                expected_columns: Some(Vec::new()),
                min_rows: 0
            })
        );
        assert_eq!(
            criterion(r#"{"type": "iterations", "count": 5}"#),
            CheckKind::Iterations { count: 5 }
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (entry, words) in [
            (r#"{"type": "signal"}"#, "checks[0].text: missing"),
            (
                r#"{"type": "signal", "text": " "}"#,
                "checks[0].text: must not be empty",
            ),
            (
                r#"{"type": "signal", "text": "D", "match": "lines"}"#,
                "did you mean `line`?",
            ),
            (
                r#"{"type": "signal", "text": "D", "in": "sesion"}"#,
                "did you mean `session`?",
            ),
            (r#"{"type": "structured"}"#, "checks[0]: asks for nothing"),
            (
                r#"{"type": "structured", "required": "status"}"#,
                "checks[0].required: expected an object",
            ),
            (
                r#"{"type": "structured", "required": {"a": 1, "a": 2}}"#,
                "checks[0].required.a: the key is given twice",
            ),
            (
                r#"{"type": "structured", "schema": true}"#,
                "checks[0].schema: expected an object",
            ),
            (
                r#"{"type": "sql_result", "min_rows": -1}"#,
                "checks[0].min_rows",
            ),
            (r#"{"type": "iterations", "count": 0}"#, "checks[0].count"),
        ] {
            refuses(entry, words);
        }
    }
}
