//! YAML with the position of every value, as the same nodes as JSON. The only file that knows a YAML parser.
//!
//! Reads the YAML of front matter, and refuses the rest with its line: no aliases (so nothing is expanded), no tags beyond the
//! plain ones, no second document, no keys that are not texts, and bounded depth.

use std::borrow::Cow;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, Tag};

use super::problem::ProblemReport;
use super::syntax::{KeyValue, SpannedValue, ValueKind};

/// Deeper values are refused.
const DEEPEST: usize = 32;

/// Reads the YAML in `text[from..to]`, or reports why it cannot be read. Places count from the start of `text`.
pub(super) fn parse_yaml<'t>(
    text: &'t str,
    from: usize,
    to: usize,
    report: &ProblemReport<'_>,
) -> Option<SpannedValue<'t>> {
    let source = &text[from..to];
    // The parser counts characters; everything of ours counts bytes.
    let offsets: Vec<usize> = source
        .char_indices()
        .map(|(at, _)| from + at)
        .chain([to])
        .collect();
    let mut builder = YamlBuilder {
        text,
        offsets,
        from,
        open: Vec::new(),
        done: None,
        report,
    };
    for event in Parser::new_from_str(source) {
        let (event, span) = match event {
            Ok(event) => event,
            Err(error) => {
                builder.broken(&error);
                return None;
            }
        };
        builder.take(event, span)?;
    }
    // Blanks and comments alone are an object without keys.
    Some(builder.done.unwrap_or(SpannedValue {
        at: from,
        kind: ValueKind::Object(Vec::new()),
    }))
}

enum OpenNode<'t> {
    List {
        at: usize,
        items: Vec<SpannedValue<'t>>,
    },
    Object {
        at: usize,
        members: Vec<KeyValue<'t>>,
        key: Option<(usize, Cow<'t, str>)>,
    },
}

struct YamlBuilder<'t, 'r, 'x> {
    text: &'t str,
    offsets: Vec<usize>,
    from: usize,
    open: Vec<OpenNode<'t>>,
    done: Option<SpannedValue<'t>>,
    report: &'r ProblemReport<'x>,
}

impl<'t> YamlBuilder<'t, '_, '_> {
    fn at(&self, index: usize) -> usize {
        self.offsets
            .get(index)
            .or(self.offsets.last())
            .copied()
            .unwrap_or(self.from)
    }

    fn broken(&self, error: &ScanError) {
        let at = self.at(error.marker().index());
        let info = error.info().to_owned();
        self.report
            .problem(at, "", || format!("broken YAML: {info}"));
    }

    fn refuse(&self, span: Span, message: &str) -> Option<()> {
        let key = self.path();
        let message = message.to_owned();
        self.report
            .problem(self.at(span.start.index()), &key, || message);
        None
    }

    /// The full path of the key whose value is being read.
    fn path(&self) -> String {
        let mut path = String::new();
        for open in &self.open {
            match open {
                OpenNode::List { items, .. } => path.push_str(&format!("[{}]", items.len())),
                OpenNode::Object {
                    key: Some((_, key)),
                    ..
                } => {
                    let dot = if path.is_empty() { "" } else { "." };
                    path.push_str(&format!("{dot}{}", super::problem::shown_key(key)));
                }
                OpenNode::Object { key: None, .. } => {}
            }
        }
        path
    }

    fn take(&mut self, event: Event<'t>, span: Span) -> Option<()> {
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Some(()),
            Event::DocumentStart(_) if self.done.is_some() => {
                self.refuse(span, "a second YAML document; one is read")
            }
            Event::DocumentStart(_) => Some(()),
            Event::Alias(_) => self.refuse(span, "aliases are not read here; write the value out"),
            Event::Scalar(value, style, _, tag) => self.scalar(value, style, tag.as_deref(), span),
            Event::SequenceStart(_, tag) => {
                self.plain(tag.as_deref(), span)?;
                self.push(
                    OpenNode::List {
                        at: self.at(span.start.index()),
                        items: Vec::new(),
                    },
                    span,
                )
            }
            Event::MappingStart(_, tag) => {
                self.plain(tag.as_deref(), span)?;
                self.push(
                    OpenNode::Object {
                        at: self.at(span.start.index()),
                        members: Vec::new(),
                        key: None,
                    },
                    span,
                )
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let value = match self.open.pop() {
                    Some(OpenNode::List { at, items }) => SpannedValue {
                        at,
                        kind: ValueKind::List(items),
                    },
                    Some(OpenNode::Object { at, members, .. }) => SpannedValue {
                        at,
                        kind: ValueKind::Object(members),
                    },
                    None => return Some(()),
                };
                self.add_value(value);
                Some(())
            }
        }
    }

    fn plain(&self, tag: Option<&Tag>, span: Span) -> Option<()> {
        match tag {
            Some(tag) if !["map", "seq"].contains(&tag.suffix.as_str()) => {
                self.refuse(span, "tags are not read here; remove it")
            }
            _ => Some(()),
        }
    }

    fn push(&mut self, open: OpenNode<'t>, span: Span) -> Option<()> {
        if self.open.len() >= DEEPEST {
            return self.refuse(
                span,
                &format!("nested too deep; at most {DEEPEST} levels are read"),
            );
        }
        if matches!(self.open.last(), Some(OpenNode::Object { key: None, .. })) {
            return self.refuse(span, "a key must be a text on one line");
        }
        self.open.push(open);
        Some(())
    }

    fn scalar(
        &mut self,
        value: Cow<'t, str>,
        style: ScalarStyle,
        tag: Option<&Tag>,
        span: Span,
    ) -> Option<()> {
        let at = self.at(span.start.index());
        if let Some(OpenNode::Object {
            key: key @ None, ..
        }) = self.open.last_mut()
        {
            *key = Some((at, value));
            return Some(());
        }
        let text_wanted = match tag {
            None => style != ScalarStyle::Plain,
            Some(tag) if tag.suffix == "str" => true,
            Some(_) => {
                return self.refuse(span, "tags are not read here; remove it, or quote the text");
            }
        };
        let kind = if text_wanted {
            ValueKind::Text(value)
        } else {
            self.resolve(value, at)
        };
        self.add_value(SpannedValue { at, kind });
        Some(())
    }

    /// The meaning of a plain scalar, by YAML's core schema as far as JSON has it: `012` and `0x1F` stay texts.
    fn resolve(&self, value: Cow<'t, str>, at: usize) -> ValueKind<'t> {
        match value.as_ref() {
            "" | "~" | "null" | "Null" | "NULL" => return ValueKind::Null,
            "true" | "True" | "TRUE" => return ValueKind::Flag(true),
            "false" | "False" | "FALSE" => return ValueKind::Flag(false),
            _ => {}
        }
        let written = self
            .text
            .get(at..at + value.len())
            .filter(|written| *written == value);
        match written.filter(|written| serde_json::from_str::<serde_json::Number>(written).is_ok())
        {
            Some(number) => ValueKind::Number(number),
            None => ValueKind::Text(value),
        }
    }

    fn add_value(&mut self, value: SpannedValue<'t>) {
        match self.open.last_mut() {
            None => self.done = Some(value),
            Some(OpenNode::List { items, .. }) => items.push(value),
            Some(OpenNode::Object { members, key, .. }) => {
                if let Some((at, name)) = key.take() {
                    members.push(KeyValue { at, name, value });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn value(text: &str) -> serde_json::Value {
        let report = ProblemReport::new(text);
        let read = parse_yaml(text, 0, text.len(), &report).map(|json| json.to_value());
        read.unwrap_or_else(|| {
            panic!(
                "{text}\n{}",
                report.finish(Path::new("t")).expect_err("it was not read")
            )
        })
    }

    #[track_caller]
    fn fails(text: &str, place: &str, words: &str) {
        let report = ProblemReport::new(text);
        assert!(
            parse_yaml(text, 0, text.len(), &report).is_none(),
            "{text} was read"
        );
        let error = report
            .finish(Path::new("t"))
            .expect_err("a problem was reported")
            .to_string();
        assert!(
            error.starts_with(&format!("t:{place}")) && error.contains(words),
            "{text}\n{error}"
        );
    }

    #[test]
    fn yaml_reads_as_the_same_values_as_json() {
        for (text, expected) in [
            ("a: b\n", json!({"a": "b"})),
            ("a: [x, 'y', \"z\"]", json!({"a": ["x", "y", "z"]})),
            (
                "a:\n  - b: 1\n    c: null\n  - {d: true}\n",
                json!({"a": [{"b": 1, "c": null}, {"d": true}]}),
            ),
            (
                "a: ~\nb:\nc: False",
                json!({"a": null, "b": null, "c": false}),
            ),
            (
                "a: 012\nb: 0x1F\nc: 1.5\nd: '7'\ne: !!str 7",
                json!({"a": "012", "b": "0x1F", "c": 1.5, "d": "7", "e": "7"}),
            ),
            (
                "a: 2025-01-31\nb: yes",
                json!({"a": "2025-01-31", "b": "yes"}),
            ),
            ("run: |\n  one\n  two\n", json!({"run": "one\ntwo\n"})),
            ("é: ü # comment\nb: 1", json!({"é": "ü", "b": 1})),
            ("!!map {a: !!seq [1]}\n", json!({"a": [1]})),
            ("# nothing\n", json!({})),
            ("", json!({})),
            ("a: 1\r\nb: x\r\n", json!({"a": 1, "b": "x"})),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
    }

    #[test]
    fn unneeded_yaml_features_are_refused_with_place() {
        fails(
            "id: T\ntitle: t\n  invalid:\nyaml: structure\n",
            "3:",
            "broken YAML",
        );
        fails("a: &x [1]\nb: *x\n", "2:4", "b: aliases are not read");
        fails("a: !ruby/object x\n", "1:4", "tags are not read");
        fails("é: !!set {a}\n", "1:4", "tags are not read");
        fails("? [a]\n: b\n", "1:3", "a key must be a text");
        fails("a: \"x\n", "1:", "broken YAML");
        fails("a: {b\n", "2:1", "broken YAML");
        fails(
            &format!("a: {}", "[".repeat(200)),
            "1:35",
            "nested too deep",
        );
        fails("a: 1\n...\n---\nb: 2\n", "3:1", "a second YAML document");
    }

    #[test]
    fn places_count_bytes_of_the_whole_text() {
        let text = "---\nü: [é, x]\n---\n";
        let report = ProblemReport::new(text);
        let read =
            parse_yaml(text, 4, text.find("\n---\n").unwrap() + 1, &report).expect("it is YAML");
        let ValueKind::Object(members) = &read.kind else {
            panic!("no object")
        };
        let ValueKind::List(items) = &members[0].value.kind else {
            panic!("no list")
        };
        assert_eq!((members[0].at, &text[items[1].at..=items[1].at]), (4, "x"));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "[-a:\\[\\]{}'\"&*!|> \n\t#?é,0]{0,80}") {
            let report = ProblemReport::new(&text);
            let _ = parse_yaml(&text, 0, text.len(), &report);
        }
    }
}
