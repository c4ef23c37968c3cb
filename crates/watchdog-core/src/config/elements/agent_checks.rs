//! The check types that look at what the agent said and did: `signal`, `structured`, `sql_result` and `iterations`.

use super::super::reader::{ConfigNode, ConfigSection, put};
use super::super::settings::{CheckKind, SignalCriterion, SignalMatch, SqlResultCriterion, StructuredCriterion, TextScope};
use super::super::syntax::ValueKind;

pub(in super::super) const SIGNAL_KEYS: &[&str] = &["type", "name", "text", "match", "tag", "ignore_case", "last_line", "in"];

pub(in super::super) const STRUCTURED_KEYS: &[&str] = &["type", "name", "tag", "required", "schema", "in"];

pub(in super::super) const SQL_RESULT_KEYS: &[&str] = &["type", "name", "tool", "expected_columns", "min_rows"];

pub(in super::super) const ITERATIONS_KEYS: &[&str] = &["type", "name", "count"];

/// The words for [`SignalMatch`].
pub(in super::super) const MATCHES: &[(&str, SignalMatch)] =
    &[("line", SignalMatch::Line), ("word", SignalMatch::Word), ("contains", SignalMatch::Contains), ("tag", SignalMatch::Tag)];

/// The words for [`TextScope`].
pub(in super::super) const SCOPES: &[(&str, TextScope)] =
    &[("last", TextScope::Last), ("iteration", TextScope::Iteration), ("session", TextScope::Session)];

/// The element that loops of all kinds have agents write.
const TAG: &str = "promise";

impl SignalCriterion {
    /// A text in the agent's last message, matched so, with the defaults of everything else.
    pub fn new(text: impl Into<String>, matching: SignalMatch) -> Self {
        let ignore_case = matching == SignalMatch::Tag;
        SignalCriterion { text: text.into(), matching, tag: TAG.into(), ignore_case, last_line: false, scope: TextScope::Last }
    }
}

/// Reads a `signal` check.
pub(in super::super) fn signal(node: &ConfigNode<'_>) -> Option<CheckKind> {
    let section = node.section(SIGNAL_KEYS)?;
    let text = section.required("text", "it is the text to look for").and_then(|n| n.text());
    let tag = section.get("tag").map(|n| (tag_name(&n), n));
    let given = section.get("match").map(|n| n.word(MATCHES));
    let matching = match (&given, &tag) {
        (Some(given), _) => (*given)?,
        (None, Some(_)) => SignalMatch::Tag,
        (None, None) => SignalMatch::Line,
    };
    let mut found = SignalCriterion::new(text?, matching);
    if let Some((name, n)) = tag {
        if matching != SignalMatch::Tag {
            n.wrong("is for `match`: \"tag\" alone");
        }
        put(&mut found.tag, name);
    } else if matching == SignalMatch::Tag
        && let Some((name, content)) = element(&found.text)
    {
        (found.tag, found.text) = (name, content);
    }
    put(&mut found.ignore_case, section.get("ignore_case").and_then(|n| n.flag()));
    put(&mut found.last_line, section.get("last_line").and_then(|n| n.flag()));
    put(&mut found.scope, scope(&section));
    Some(CheckKind::Signal(found))
}

fn scope(section: &ConfigSection<'_>) -> Option<TextScope> {
    section.get("in").and_then(|n| n.word(SCOPES))
}

/// The name of an element: what may stand between `<` and `>`.
fn tag_name(node: &ConfigNode<'_>) -> Option<String> {
    let name = node.text()?;
    if is_tag_name(&name) {
        return Some(name);
    }
    node.wrong("must be the name of an element, such as `promise`: letters, digits, `_` and `-`");
    None
}

fn is_tag_name(name: &str) -> bool {
    name.starts_with(char::is_alphabetic) && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | ':' | '.'))
}

/// A text that is an element as a whole, taken apart.
fn element(text: &str) -> Option<(String, String)> {
    let (name, rest) = text.trim().strip_prefix('<')?.split_once('>')?;
    let content = rest.strip_suffix('>')?.strip_suffix(name)?.strip_suffix("</")?.trim();
    (is_tag_name(name) && !content.is_empty()).then(|| (name.to_owned(), content.to_owned()))
}

/// Reads a `structured` check.
pub(in super::super) fn structured(node: &ConfigNode<'_>) -> Option<CheckKind> {
    let section = node.section(STRUCTURED_KEYS)?;
    let tag = section.get("tag");
    let (required, schema) = (section.get("required"), section.get("schema"));
    if tag.is_none() && required.is_none() && schema.is_none() {
        section.wrong("asks for nothing; give `tag`, `required`, `schema`, or several of them");
        return None;
    }
    let tag = match tag {
        Some(n) => Some(n.text()?),
        None => None,
    };
    let mut found = StructuredCriterion { tag, required: Vec::new(), schema: None, scope: TextScope::Last };
    if let Some(n) = required {
        found.required = required_fields(&n)?;
    }
    if let Some(n) = schema {
        n.open_section()?;
        found.schema = Some(n.json.to_value());
    }
    put(&mut found.scope, scope(&section));
    Some(CheckKind::Structured(found))
}

fn required_fields(node: &ConfigNode<'_>) -> Option<Vec<(String, Option<serde_json::Value>)>> {
    let mut fields: Vec<(String, Option<serde_json::Value>)> = match &node.json.kind {
        ValueKind::Object(members) => {
            node.open_section()?;
            members.iter().map(|member| (member.name.clone().into_owned(), Some(member.value.to_value()))).collect()
        }
        ValueKind::List(_) => node.list(ConfigNode::text)?.into_iter().map(|name| (name, None)).collect(),
        _ => {
            node.expected("an object of fields and their values, or a list of field names");
            return None;
        }
    };
    fields.sort_by(|a, b| a.0.cmp(&b.0));
    fields.dedup_by(|a, b| a.0 == b.0);
    Some(fields)
}

/// Reads a `sql_result` check.
pub(in super::super) fn sql_result(node: &ConfigNode<'_>) -> Option<CheckKind> {
    let section = node.section(SQL_RESULT_KEYS)?;
    let mut found = SqlResultCriterion { tool: "execute_sql".into(), expected_columns: None, min_rows: 1 };
    put(&mut found.tool, section.get("tool").and_then(|n| n.text()));
    found.expected_columns = section.nullable("expected_columns", |n| n.list(ConfigNode::text)).flatten();
    put(&mut found.min_rows, section.get("min_rows").and_then(|n| n.whole(0..=u64::MAX)));
    Some(CheckKind::SqlResult(found))
}

/// Reads an `iterations` check.
pub(in super::super) fn iterations(node: &ConfigNode<'_>) -> Option<CheckKind> {
    let section = node.section(ITERATIONS_KEYS)?;
    let count = section.required("count", "it is how many iterations complete the work")?.whole(1..=1_000_000)?;
    Some(CheckKind::Iterations { count })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::parse::testing::{criterion, refuses};
    use super::*;

    #[test]
    fn a_signal_is_a_whole_line_of_the_last_message_unless_told_otherwise() {
        let line = SignalCriterion::new("TASK_DONE", SignalMatch::Line);
        assert_eq!((line.ignore_case, line.last_line, line.scope), (false, false, TextScope::Last));
        assert_eq!(criterion(r#"{"type": "signal", "text": "TASK_DONE"}"#), CheckKind::Signal(line.clone()));
        let found = criterion(r#"{"type": "signal", "text": "TASK_DONE", "last_line": true, "in": "session", "ignore_case": true}"#);
        assert_eq!(found, CheckKind::Signal(SignalCriterion { last_line: true, scope: TextScope::Session, ignore_case: true, ..line }));
    }

    #[test]
    fn an_element_is_named_by_its_tag_or_written_out() {
        let wanted = |tag: &str| CheckKind::Signal(SignalCriterion { tag: tag.into(), ..SignalCriterion::new("DONE", SignalMatch::Tag) });
        assert_eq!(criterion(r#"{"type": "signal", "text": "DONE", "match": "tag"}"#), wanted("promise"));
        assert_eq!(criterion(r#"{"type": "signal", "text": "DONE", "tag": "vow"}"#), wanted("vow"));
        assert_eq!(criterion(r#"{"type": "signal", "text": "<vow> DONE </vow>", "match": "tag"}"#), wanted("vow"));
        refuses(r#"{"type": "signal", "text": "D", "match": "tag", "tag": "<p>"}"#, "checks[0].tag: must be the name of an element");
        refuses(r#"{"type": "signal", "text": "D", "match": "line", "tag": "p"}"#, "checks[0].tag: is for `match`: \"tag\" alone");
    }

    #[test]
    fn fields_are_required_by_name_or_by_value() {
        let required = |keys: &str| match criterion(&format!(r#"{{"type": "structured", {keys}}}"#)) {
            CheckKind::Structured(found) => found.required,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            required(r#""required": {"status": "ok", "code": 0}"#),
            [("code".into(), Some(json!(0))), ("status".into(), Some(json!("ok")))]
        );
        assert_eq!(required(r#""required": ["b", "a"]"#), [("a".into(), None), ("b".into(), None)]);
        assert_eq!(required(r#""tag": "review""#), []);
        let found = criterion(r#"{"type": "structured", "schema": {"type": "object"}, "in": "iteration"}"#);
        let schema = Some(json!({"type": "object"}));
        assert_eq!(
            found,
            CheckKind::Structured(StructuredCriterion { tag: None, required: Vec::new(), schema, scope: TextScope::Iteration })
        );
    }

    #[test]
    fn a_tool_must_return_one_row_unless_told_otherwise() {
        let plain = SqlResultCriterion { tool: "execute_sql".into(), expected_columns: None, min_rows: 1 };
        assert_eq!(criterion(r#"{"type": "sql_result"}"#), CheckKind::SqlResult(plain.clone()));
        assert_eq!(
            criterion(r#"{"type": "sql_result", "tool": "q", "expected_columns": [], "min_rows": 0}"#),
            CheckKind::SqlResult(SqlResultCriterion { tool: "q".into(), expected_columns: Some(Vec::new()), min_rows: 0 })
        );
        assert_eq!(criterion(r#"{"type": "iterations", "count": 5}"#), CheckKind::Iterations { count: 5 });
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (entry, words) in [
            (r#"{"type": "signal"}"#, "checks[0].text: missing"),
            (r#"{"type": "signal", "text": " "}"#, "checks[0].text: must not be empty"),
            (r#"{"type": "signal", "text": "D", "match": "lines"}"#, "did you mean `line`?"),
            (r#"{"type": "signal", "text": "D", "in": "sesion"}"#, "did you mean `session`?"),
            (r#"{"type": "structured"}"#, "checks[0]: asks for nothing"),
            (r#"{"type": "structured", "required": "status"}"#, "checks[0].required: expected an object"),
            (r#"{"type": "structured", "required": {"a": 1, "a": 2}}"#, "checks[0].required.a: the key is given twice"),
            (r#"{"type": "structured", "schema": true}"#, "checks[0].schema: expected an object"),
            (r#"{"type": "sql_result", "min_rows": -1}"#, "checks[0].min_rows"),
            (r#"{"type": "iterations", "count": 0}"#, "checks[0].count"),
        ] {
            refuses(entry, words);
        }
    }
}
