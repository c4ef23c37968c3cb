//! The simple commands of a line for a shell, with the operators between them. Pure.

use std::sync::LazyLock;

use regex::Regex;

use super::claim_words::compile_words;

/// A line for a shell.
#[derive(Default)]
pub(super) struct CommandParts {
    /// Each command, with the operator behind it.
    pub parts: Vec<(String, String)>,
    /// Whether a subshell, a substitution or an open quotation may hide commands, and their ends.
    pub is_opaque: bool,
}

/// The text without its here-documents: their lines are no commands.
fn drop_documents(text: &str) -> String {
    static BEGINS: LazyLock<Regex> =
        LazyLock::new(|| compile_words(r#"(?:^|[^<])<<-?\s*['"\\]?([A-Za-z]+)"#));
    let (mut lines, mut commands) = (text.lines(), String::new());
    while let Some(line) = lines.next() {
        commands.push_str(line);
        commands.push('\n');
        let document = BEGINS.captures(line);
        if document.is_some_and(|begin| !lines.any(|line| line.trim() == &begin[1])) {
            // The end that is missing may be in a quotation: the lines may be commands. A bracket makes them opaque.
            commands.push('(');
        }
    }
    commands
}

/// The simple commands of a line; quoted operators are none.
pub(super) fn split_line(text: &str) -> CommandParts {
    let (mut line, mut part, mut quote) = (CommandParts::default(), String::new(), None::<char>);
    let text = drop_documents(text);
    let mut chars = text.trim().chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (None | Some('"'), '\\') => part.extend(chars.next().filter(|c| *c != '\n')),
            (Some(open), c) => {
                part.push(c);
                quote = quote.filter(|_| c != open);
            }
            (None, '#') if part.is_empty() || part.ends_with(char::is_whitespace) => {
                while chars.next_if(|c| *c != '\n').is_some() {}
            }
            (None, '\'' | '"') => {
                part.push(c);
                quote = Some(c);
            }
            (None, '&') if part.ends_with('>') || chars.peek() == Some(&'>') => part.push(c),
            (None, ';' | '|' | '&' | '\n') => {
                let mut operator = String::from(if c == '\n' { ';' } else { c });
                operator.extend(chars.next_if_eq(&c));
                line.parts.push((std::mem::take(&mut part), operator));
            }
            (None, c) => {
                line.is_opaque |= matches!(c, '(' | '`' | '{');
                part.push(c);
            }
        }
    }
    line.is_opaque |= quote.is_some();
    line.parts.push((part, String::new()));
    for (part, _) in &mut line.parts {
        *part = part.trim().to_owned();
    }
    line.parts.retain(|(part, _)| !part.is_empty());
    line
}
