//! The simple commands of a line for a shell, with the operators between them. Pure.

/// A command without assignments in front, and the operator behind it.
pub(super) type LinePart = (String, String);

/// A command line without its here-documents.
pub(super) fn drop_documents(text: &str) -> String {
    let (mut line_texts, mut until) = (Vec::new(), None::<String>);
    for line in text.lines() {
        if let Some(word) = &until {
            if line.trim() == word {
                until = None;
            }
            continue;
        }
        until = line.split_once("<<").map(|(_, word)| {
            let word = word.trim_start_matches(['-', ' ', '\'', '"', '\\']);
            word.chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect()
        });
        line_texts.push(line);
    }
    line_texts.join("\n")
}

/// The simple commands of a line, each with the operator behind it; quoted operators are none. Prefixed variables are dropped.
pub(super) fn split_line(line: &str) -> Vec<LinePart> {
    let (mut parts, mut part, mut quote) = (Vec::new(), String::new(), None::<char>);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (_, '\\') => part.extend([c].into_iter().chain(chars.next())),
            (Some(open), c) => {
                part.push(c);
                quote = quote.filter(|_| c != open);
            }
            (None, '\'' | '"') => {
                part.push(c);
                quote = Some(c);
            }
            (None, '&') if part.ends_with('>') || chars.peek() == Some(&'>') => part.push(c),
            (None, ';' | '|' | '&' | '\n') => {
                let mut operator = String::from(if c == '\n' { ';' } else { c });
                operator.extend(chars.next_if_eq(&c));
                parts.push((std::mem::take(&mut part), operator));
            }
            (None, c) => part.push(c),
        }
    }
    parts.push((part, String::new()));
    for (part, _) in &mut parts {
        let words = part.split_whitespace().skip_while(|word| {
            let name = word.split('=').next().unwrap_or_default();
            word.contains('=') && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        });
        *part = words.collect::<Vec<_>>().join(" ");
    }
    parts.retain(|(part, _)| !part.is_empty());
    parts
}
