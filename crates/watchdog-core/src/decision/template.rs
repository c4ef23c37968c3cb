//! Texts with placeholders: `{{name}}` is a value, and the text between `{{#name}}` and `{{/name}}` is left out where the value is empty.
//!
//! Values are inserted unchanged and never parsed again: text of an agent or a program cannot name a placeholder.

use std::collections::{BTreeMap, BTreeSet};

use crate::config::nearest_hint;

/// A text with placeholders, all of them known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptTemplate(Vec<TemplatePiece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplatePiece {
    Text(String),
    Value(String),
    Section {
        name: String,
        inner: Vec<TemplatePiece>,
    },
}

/// The mistake in a template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// An unknown placeholder.
    #[error(
        "line {line}: unknown placeholder '{{{{{name}}}}}'{hint}; for the text itself write '\\{{{{{name}}}}}'"
    )]
    Unknown {
        /// Its text.
        name: String,
        /// From 1.
        line: usize,
        /// Names the most similar known one.
        hint: String,
    },
    /// A part that is opened and never closed.
    #[error(
        "line {line}: '{{{{#{name}}}}}' is never closed; write '{{{{/{name}}}}}' where the part ends"
    )]
    Unclosed {
        /// Its name.
        name: String,
        /// From 1.
        line: usize,
    },
    /// A part that is closed where another one, or none, is open.
    #[error("line {line}: '{{{{/{name}}}}}' closes nothing that is open here")]
    NotOpen {
        /// Its name.
        name: String,
        /// From 1.
        line: usize,
    },
}

/// The text of a tag.
struct TemplateTag<'t> {
    mark: Option<char>,
    name: &'t str,
}

impl PromptTemplate {
    /// A text as it is, without placeholders.
    pub fn plain(text: &str) -> Self {
        PromptTemplate(vec![TemplatePiece::Text(text.to_owned())])
    }

    /// Reads a template. Braces that hold anything but one plain word are text, and so are those after a backslash.
    ///
    /// # Errors
    /// For a word that is not in `names`, and for a part that is not closed.
    pub fn parse(text: &str, names: &[&str]) -> Result<Self, TemplateError> {
        let mut open: Vec<(String, usize, Vec<TemplatePiece>)> = Vec::new();
        let mut pieces = Vec::new();
        let mut remaining = text;
        let line_of = |part: &str| text[..text.len() - part.len()].matches('\n').count() + 1;
        while let Some(at) = remaining.find("{{") {
            let escaped = remaining[..at].ends_with('\\');
            let parsed_tag = parse_tag(&remaining[at..]);
            let (Some((tag, length)), false) = (parsed_tag, escaped) else {
                let plain = remaining[..at]
                    .strip_suffix('\\')
                    .filter(|_| found_word(&remaining[at..]))
                    .unwrap_or(&remaining[..at]);
                pieces.push(TemplatePiece::Text(plain.to_owned()));
                pieces.push(TemplatePiece::Text("{{".to_owned()));
                remaining = &remaining[at + 2..];
                continue;
            };
            let line = line_of(&remaining[at..]);
            if !names.contains(&tag.name) {
                let hint = nearest_hint(tag.name, names.iter().copied());
                return Err(TemplateError::Unknown {
                    name: tag.name.to_owned(),
                    line,
                    hint,
                });
            }
            let (before, after) = match tag.mark {
                None => (&remaining[..at], &remaining[at + length..]),
                Some(_) => alone_on_its_line(
                    &text[..text.len() - remaining.len() + at],
                    &remaining[..at],
                    &remaining[at + length..],
                ),
            };
            pieces.push(TemplatePiece::Text(before.to_owned()));
            match tag.mark {
                None => pieces.push(TemplatePiece::Value(tag.name.to_owned())),
                Some('#') => open.push((tag.name.to_owned(), line, std::mem::take(&mut pieces))),
                Some(_) => match open.pop() {
                    Some((name, _, outer)) if name == tag.name => {
                        let inner = std::mem::replace(&mut pieces, outer);
                        pieces.push(TemplatePiece::Section { name, inner });
                    }
                    _ => {
                        return Err(TemplateError::NotOpen {
                            name: tag.name.to_owned(),
                            line,
                        });
                    }
                },
            }
            remaining = after;
        }
        pieces.push(TemplatePiece::Text(remaining.to_owned()));
        match open.pop() {
            Some((name, line, _)) => Err(TemplateError::Unclosed { name, line }),
            None => Ok(PromptTemplate(pieces)),
        }
    }

    /// The placeholders that occur in it.
    pub fn names(&self) -> BTreeSet<&str> {
        fn add<'p>(pieces: &'p [TemplatePiece], into: &mut BTreeSet<&'p str>) {
            for piece in pieces {
                match piece {
                    TemplatePiece::Text(_) => {}
                    TemplatePiece::Value(name) => drop(into.insert(name)),
                    TemplatePiece::Section { name, inner } => {
                        into.insert(name);
                        add(inner, into);
                    }
                }
            }
        }
        let mut names = BTreeSet::new();
        add(&self.0, &mut names);
        names
    }

    /// The text with the values put in; one that is not given is empty.
    pub fn fill(&self, values: &BTreeMap<&str, String>) -> String {
        fn write(pieces: &[TemplatePiece], values: &BTreeMap<&str, String>, into: &mut String) {
            let value = |name: &str| values.get(name).map_or("", String::as_str);
            for piece in pieces {
                match piece {
                    TemplatePiece::Text(text) => into.push_str(text),
                    TemplatePiece::Value(name) => into.push_str(value(name).trim_end_matches('\n')),
                    TemplatePiece::Section { name, inner } if !value(name).trim().is_empty() => {
                        write(inner, values, into)
                    }
                    TemplatePiece::Section { .. } => {}
                }
            }
        }
        let mut text = String::new();
        write(&self.0, values, &mut text);
        text
    }
}

fn found_word(text: &str) -> bool {
    parse_tag(text).is_some()
}

/// The tag that a text begins with, and how long it is.
fn parse_tag(text: &str) -> Option<(TemplateTag<'_>, usize)> {
    let end = text.find("}}")?;
    let inside = text[2..end].trim_matches(' ');
    let mark = inside.chars().next().filter(|c| ['#', '/'].contains(c));
    let name = if mark.is_some() { &inside[1..] } else { inside };
    let word = !name.is_empty()
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && !name.as_bytes()[0].is_ascii_digit();
    word.then_some((TemplateTag { mark, name }, end + 2))
}

/// Of a tag that opens or closes a part and has a line of its own, the whole line goes.
fn alone_on_its_line<'t>(all_before: &str, before: &'t str, after: &'t str) -> (&'t str, &'t str) {
    let begins =
        all_before.trim_end_matches(' ').ends_with('\n') || all_before.trim_matches(' ').is_empty();
    let trimmed = after.trim_start_matches(' ');
    let ends = trimmed.is_empty() || trimmed.starts_with('\n') || trimmed.starts_with("\r\n");
    if !(begins && ends) {
        return (before, after);
    }
    let next_line = trimmed
        .strip_prefix("\r\n")
        .or_else(|| trimmed.strip_prefix('\n'))
        .unwrap_or(trimmed);
    (before.trim_end_matches(' '), next_line)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KNOWN: &[&str] = &["feedback", "iteration", "task"];

    fn filled(text: &str) -> String {
        let values = BTreeMap::from([
            ("feedback", "{{task}} is red\n".to_string()),
            ("iteration", "3".to_string()),
        ]);
        PromptTemplate::parse(text, KNOWN)
            .expect("a good template")
            .fill(&values)
    }

    #[test]
    fn values_are_inserted_once_and_verbatim() {
        for (text, wanted) in [
            (
                "no. {{iteration}}: {{ feedback }}!",
                "no. 3: {{task}} is red!",
            ),
            ("", ""),
            ("{{iteration}}{{iteration}}", "33"),
            ("é {{iteration}} é", "é 3 é"),
            ("empty: [{{task}}]", "empty: []"),
        ] {
            assert_eq!(filled(text), wanted, "{text}");
        }
    }

    #[test]
    fn braces_of_other_languages_stay_as_they_are() {
        for text in [
            "{{ item.name }}",
            "{{}}",
            "{{#each items}}",
            "{ {iteration} }",
            "{{iteration",
            "${{ github.ref }}",
            "{{{{",
        ] {
            assert_eq!(filled(text), text);
        }
        assert_eq!(
            filled("\\{{unknown}} and \\{{iteration}}"),
            "{{unknown}} and {{iteration}}"
        );
        assert_eq!(filled("a \\ b \\{{ x.y }}"), "a \\ b \\{{ x.y }}");
    }

    #[test]
    fn empty_value_removes_its_section_with_lines() {
        let text = "a\n{{#task}}\nthe task: {{task}}\n{{/task}}\nb\n{{#feedback}}\nfound: {{feedback}}\n{{/feedback}}\nc";
        assert_eq!(filled(text), "a\nb\nfound: {{task}} is red\nc");
        assert_eq!(
            filled("x{{#iteration}} no. {{iteration}}{{/iteration}}{{#task}} y{{/task}}."),
            "x no. 3."
        );
        assert_eq!(
            filled("{{#iteration}}a{{#task}}b{{/task}}c{{/iteration}}"),
            "ac"
        );
        // Only a tag that is alone on its line takes the line with it.
        assert_eq!(
            filled("no. {{#iteration}}\n{{iteration}}\n  {{/iteration}}."),
            "no. \n3\n  ."
        );
    }

    #[test]
    fn template_mistake_names_line_and_nearest_placeholder() {
        let mistake_in = |text: &str| {
            PromptTemplate::parse(text, KNOWN)
                .expect_err("a mistake")
                .to_string()
        };
        let unknown = mistake_in("fine\nnot {{feedbck}}");
        assert!(
            unknown.contains("line 2: unknown placeholder '{{feedbck}}', did you mean `feedback`?"),
            "{unknown}"
        );
        assert!(unknown.ends_with("write '\\{{feedbck}}'"), "{unknown}");
        assert!(mistake_in("{{#task}} x").contains("line 1: '{{#task}}' is never closed"));
        assert!(mistake_in("x {{/task}}").contains("closes nothing"));
        assert!(
            mistake_in("{{#task}}{{#feedback}}{{/task}}{{/feedback}}")
                .contains("'{{/task}}' closes nothing")
        );
    }

    #[test]
    fn the_placeholders_that_occur_are_known() {
        let template = PromptTemplate::parse("{{#task}}{{feedback}}{{/task}}", KNOWN)
            .expect("a good template");
        assert_eq!(
            template.names().into_iter().collect::<Vec<_>>(),
            ["feedback", "task"]
        );
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "([{}#/\\\\ \\n]|task|é|.){0,40}") {
            let _ = PromptTemplate::parse(&text, KNOWN).map(|template| template.fill(&BTreeMap::new()));
        }

        #[test]
        fn text_without_braces_is_left_alone(text in "[^{]{0,60}") {
            prop_assert_eq!(filled(&text), text);
        }
    }
}
