//! Check types that are read and validated, and that this version cannot judge: their keys are the contract's, so that a file written
//! for a later version is checked today and works then.

use super::super::reader::{Node, Section};
use super::super::settings::{CommandLine, Criterion};
use super::super::syntax::Kind;

/// Reads an entry of one of these types.
pub(in super::super) fn read(kind: &str, node: &Node<'_>) -> Option<Criterion> {
    let section = node.section(keys(kind))?;
    validate(kind, &section);
    let run = section.nullable("run", |n| n.command_line()).flatten();
    node.report.note(format!("{}: this version cannot judge a check of type `{kind}`; it is never taken for passed", node.path));
    let mut entry = node.json.to_value();
    if let Some(members) = entry.as_object_mut() {
        members.remove("name");
    }
    Some(not_yet(kind, run, entry))
}

/// The keys of one of these types.
pub(in super::super) fn keys(kind: &str) -> &'static [&'static str] {
    match kind {
        "signal" => &["type", "name", "text", "match"],
        "plan" => &["type", "name", "path", "done", "max_titles"],
        "feature_list" => &["type", "name", "path", "freeze"],
        "issue" => &["type", "name", "number", "require_clean"],
        "structured" => &["type", "name", "tag", "required"],
        "sql_result" => &["type", "name", "tool", "expected_columns", "min_rows"],
        "judge" => &["type", "name", "question", "rubric", "run"],
        "phase" => &["type", "name", "project", "final"],
        "iterations" => &["type", "name", "count"],
        _ => &["type", "name", "run", "timeout_seconds"],
    }
}

/// A criterion of a type that this version cannot judge.
pub(in super::super) fn not_yet(kind: &str, run: Option<CommandLine>, entry: serde_json::Value) -> Criterion {
    Criterion::NotYet { kind: kind.to_owned(), run, entry }
}

/// Reports what is missing or wrong. The values stay in the entry, so that nothing is returned here.
fn validate(kind: &str, section: &Section<'_>) {
    match kind {
        "signal" => {
            section.required("text", "it is the text to look for").map(|n| n.text());
            let words = [("line", ()), ("word", ()), ("contains", ()), ("tag", ())];
            section.get("match").map(|n| n.word(&words));
        }
        "plan" => {
            section.get("path").map(|n| n.text());
            section.get("done").map(|n| at_least_one(&n, Node::text));
            section.get("max_titles").map(|n| n.whole(0..=1000));
        }
        "feature_list" => {
            section.get("path").map(|n| n.text());
            section.get("freeze").map(|n| n.flag());
        }
        "issue" => {
            section.required("number", "it is the issue that must be closed").map(|n| n.whole(1..=u64::from(u32::MAX)));
            section.get("require_clean").map(|n| n.flag());
        }
        "structured" => {
            section.get("tag").map(|n| n.text());
            section.get("required").map(|n| required_fields(&n));
            if section.get("tag").is_none() && section.get("required").is_none() {
                section.wrong("asks for nothing; give `tag`, `required`, or both");
            }
        }
        "sql_result" => {
            section.get("tool").map(|n| n.text());
            section.get("expected_columns").map(|n| n.list(Node::text));
            section.get("min_rows").map(|n| n.whole(0..=u64::MAX));
        }
        "judge" => {
            section.required("question", "it is what the judge answers").map(|n| n.text());
            section.nullable("rubric", Node::text);
        }
        "phase" => {
            section.get("project").map(|n| n.whole(1..=u64::from(u32::MAX)));
            section.get("final").map(|n| n.text());
        }
        "iterations" => {
            section.required("count", "it is how many iterations complete the work").map(|n| n.whole(1..=1_000_000));
        }
        _ => {
            // A null run of a judge asks the agent's preset; a custom check is nothing without its program.
            match section.get("run") {
                Some(run) if run.is_null() => run.expected("a command"),
                Some(_) => {}
                None => section.missing("run", "it is the program that decides"),
            }
            section.get("timeout_seconds").map(|n| n.seconds(1));
        }
    }
}

fn at_least_one<'a, T>(node: &Node<'a>, read: impl Fn(&Node<'a>) -> Option<T>) -> Option<Vec<T>> {
    if matches!(&node.json.kind, Kind::List(items) if items.is_empty()) {
        node.wrong("must not be an empty list");
    }
    node.list(read)
}

fn required_fields(node: &Node<'_>) -> Option<()> {
    match &node.json.kind {
        Kind::Object(_) => node.open_section().map(|_| ()),
        Kind::List(_) => node.list(Node::text).map(|_| ()),
        _ => {
            node.expected("an object of fields and their values, or a list of field names");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::parse::testing::{fails, notes, reads};
    use super::super::super::settings::CheckSpec;
    use super::*;

    #[test]
    fn types_that_cannot_be_judged_are_kept_whole_and_noted() {
        for (kind, keys) in [
            ("signal", r#""text": "TASK_DONE", "match": "line""#),
            ("plan", r#""path": "plan.json", "done": ["done"], "max_titles": 3"#),
            ("feature_list", r#""path": "feature_list.json", "freeze": true"#),
            ("issue", r#""number": 7, "require_clean": true"#),
            ("structured", r#""tag": "review", "required": {"status": "approved"}"#),
            ("structured", r#""required": ["status"]"#),
            ("sql_result", r#""tool": "execute_sql", "expected_columns": ["id"], "min_rows": 1"#),
            ("judge", r#""question": "...", "rubric": "...""#),
            ("phase", r#""project": 9, "final": "complete""#),
            ("iterations", r#""count": 5"#),
            ("custom", r#""run": ["python3", "checks/decisions.py"]"#),
        ] {
            let text = format!(r#"{{"checks": [{{"type": "{kind}", {keys}}}]}}"#);
            let entry: serde_json::Value = serde_json::from_str(&format!(r#"{{"type": "{kind}", {keys}}}"#)).unwrap();
            let CheckSpec::Single { name, criterion } = reads(&text).checks.remove(0) else { panic!("{kind}") };
            assert_eq!((name.as_str(), criterion.kind()), (kind, kind));
            assert!(matches!(criterion, Criterion::NotYet { entry: kept, .. } if kept == entry), "{kind}");
            assert_eq!(
                notes(&text),
                [format!("checks[0]: this version cannot judge a check of type `{kind}`; it is never taken for passed")]
            );
        }
    }

    #[test]
    fn their_programs_are_shown_before_they_are_trusted() {
        let found = reads(r#"{"checks": [{"type": "custom", "run": "sh x"}, {"type": "judge", "question": "q", "run": ["j"]}]}"#);
        assert_eq!(found.commands(), ["check custom: sh x", "check judge: j"]);
    }

    #[test]
    fn their_keys_are_validated() {
        for (entry, words) in [
            (r#"{"type": "signal"}"#, "checks[0].text: missing"),
            (r#"{"type": "signal", "text": " "}"#, "checks[0].text: must not be empty"),
            (r#"{"type": "signal", "text": "D", "match": "lines"}"#, "did you mean `line`?"),
            (r#"{"type": "plan", "done": []}"#, "checks[0].done: must not be an empty list"),
            (r#"{"type": "plan", "max_title": 3}"#, "did you mean `max_titles`?"),
            (r#"{"type": "feature_list", "freeze": 1}"#, "checks[0].freeze: expected true or false"),
            (r#"{"type": "issue"}"#, "checks[0].number: missing"),
            (r#"{"type": "issue", "number": 0}"#, "checks[0].number: expected a whole number from 1"),
            (r#"{"type": "structured"}"#, "checks[0]: asks for nothing"),
            (r#"{"type": "structured", "required": "status"}"#, "checks[0].required: expected an object"),
            (r#"{"type": "structured", "required": {"a": 1, "a": 2}}"#, "checks[0].required.a: the key is given twice"),
            (r#"{"type": "sql_result", "min_rows": -1}"#, "checks[0].min_rows"),
            (r#"{"type": "judge"}"#, "checks[0].question: missing"),
            (r#"{"type": "phase", "final": ""}"#, "checks[0].final: must not be empty"),
            (r#"{"type": "iterations", "count": 0}"#, "checks[0].count"),
            (r#"{"type": "custom"}"#, "checks[0].run: missing"),
            (r#"{"type": "custom", "run": null}"#, "checks[0].run: expected a command, found null"),
            (r#"{"type": "custom", "run": []}"#, "checks[0].run: must name a program"),
        ] {
            fails(&format!(r#"{{"checks": [{entry}]}}"#), words);
        }
    }
}
