//! Masks a text that comes line by line: what [`mask_secrets`] finds in a line, and the lines of a private key. Pure.

use std::borrow::Cow;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use serde_json::Value;

use super::secret_members::{mask_document, mask_value};
use super::secret_shapes::mask_secrets;

/// Replaces a line of a private key.
const KEY_LINE: &str = "[secret: private-key]";

/// Masks one line after the other.
#[derive(Debug, Clone, Default)]
pub struct LineMasker {
    /// The lines since the last begin of a private key could be its content.
    in_key: bool,
}

impl LineMasker {
    /// Whether whole lines that come next have no secret at all: a quick look at many of them.
    pub fn needs_none(&self, lines: &str) -> bool {
        !self.in_key
            && !SUSPECTED.is_match(lines)
            && matches!(mask_secrets(lines), Cow::Borrowed(_))
    }

    /// The line without secrets. A line that is a JSON document stays one.
    pub fn mask<'t>(&mut self, line: &'t str) -> Cow<'t, str> {
        if self.in_key {
            match content_of_key(line) {
                KeyLine::Content => return Cow::Borrowed(KEY_LINE),
                KeyLine::Blank => return Cow::Borrowed(line),
                KeyLine::Other => self.in_key = false,
            }
        }
        self.in_key = begins_key(line);
        match mask_secrets(line) {
            Cow::Borrowed(_) if may_hide_a_secret(line) => without_hidden(line),
            Cow::Borrowed(_) => Cow::Borrowed(line),
            Cow::Owned(masked) => Cow::Owned(as_document(line, masked)),
        }
    }
}

/// How a secret in quotes begins, which a document escapes, and a list of secrets: no pattern sees it there, or all of them.
const HIDES: [&str; 6] = ["=\\\"", "= \\\"", ":\\\"", ": \\\"", "\":[\"", "\": [\""];

/// Finds in one pass whether any of many lines needs a closer look.
static SUSPECTED: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let words = HIDES.into_iter().chain(["PRIVATE KEY"]);
    AhoCorasick::new(words).expect("the words are constants")
});

/// Whether a document could have a secret that only its texts show.
fn may_hide_a_secret(line: &str) -> bool {
    HIDES.iter().any(|begin| line.contains(begin))
}

/// A document without the secrets of its texts.
fn without_hidden(line: &str) -> Cow<'_, str> {
    let Ok(document) = serde_json::from_str::<Value>(line) else {
        return Cow::Borrowed(line);
    };
    let mut masked = document.clone();
    mask_value(&mut masked);
    if masked == document {
        Cow::Borrowed(line)
    } else {
        Cow::Owned(masked.to_string())
    }
}

/// The kind of a line after the begin of a private key.
enum KeyLine {
    Content,
    Blank,
    Other,
}

fn content_of_key(line: &str) -> KeyLine {
    // As a diff, a listing with numbers, or a quotation shows it.
    let inner = line.trim_start_matches(|c: char| {
        c.is_whitespace() || c.is_ascii_digit() || "+-<>|\"',:#*/→".contains(c)
    });
    let inner = inner.trim_end_matches(|c: char| c.is_whitespace() || "\\\"',+;".contains(c));
    let inner = inner.strip_suffix("\\n").unwrap_or(inner);
    if line.contains("-----") {
        return KeyLine::Other;
    }
    let is_header = ["Proc-Type: ", "DEK-Info: ", "Comment: ", "Version: "]
        .iter()
        .any(|head| inner.starts_with(head));
    if line.trim().is_empty() {
        return KeyLine::Blank;
    }
    if is_header
        || inner
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte))
    {
        return KeyLine::Content;
    }
    KeyLine::Other
}

/// Whether a line ends with the frame that begins a private key.
fn begins_key(line: &str) -> bool {
    let end = line.trim_end_matches(|c: char| c.is_whitespace() || "\\\"',+;".contains(c));
    let end = end.strip_suffix("\\n").unwrap_or(end);
    let frame = end
        .strip_suffix("-----")
        .and_then(|end| end.rsplit_once("-----BEGIN "));
    frame.is_some_and(|(_, name)| {
        name.ends_with("PRIVATE KEY") || name.ends_with("PRIVATE KEY BLOCK")
    })
}

/// A masked line, as a document where the line was one: a pattern may reach over the end of a string.
fn as_document(line: &str, masked: String) -> String {
    if !line.trim_start().starts_with(['{', '[']) {
        return masked;
    }
    let Ok(mut document) = serde_json::from_str::<Value>(line) else {
        return masked;
    };
    if !may_hide_a_secret(line) && serde_json::from_str::<Value>(&masked).is_ok() {
        return masked;
    }
    mask_document(&mut document);
    document.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(text: &str) -> String {
        let mut masker = LineMasker::default();
        text.lines()
            .map(|line| masker.mask(line).into_owned() + "\n")
            .collect()
    }

    #[test]
    fn private_key_lines_are_masked_without_later_text() {
        let line = "aB3d".repeat(16);
        for (lead, tail) in [
            ("", ""),
            ("+", ""),
            ("  ", ""),
            ("> ", ""),
            ("12\t", ""),
            ("\"", "\\n\" +"),
            ("'", "', "),
        ] {
            let content = ["Proc-Type: 4,ENCRYPTED", &line, "20261125/4711+0815", "aB="]
                .map(|content| format!("{lead}{content}{tail}\n"));
            let [header, content @ ..] = &content;
            let text = format!(
                "before\n{lead}-----BEGIN RSA {0}-----{tail}\n{header}\n{1}{lead}-----END RSA {0}-----{tail}\nafter\n",
                "PRIVATE KEY",
                content.concat()
            );
            let shown = masked(&text);
            assert!(
                ["aB", "ENCRYPTED", "4711"]
                    .iter()
                    .all(|secret| !shown.contains(secret)),
                "{shown}"
            );
            assert!(
                shown.starts_with("before\n")
                    && shown.ends_with("after\n")
                    && shown.lines().count() == 9,
                "{shown}"
            );
        }
        // Cut off: until something that is no key.
        assert_eq!(
            masked(&format!(
                "-----BEGIN {}-----\n{line}\nand so on\n{line}\n",
                "PRIVATE KEY"
            ))
            .matches(&line)
            .count(),
            1
        );
        let source = format!(
            "if line == \"-----BEGIN {}-----\" {{\n    count += 1;\n}}\n",
            "PRIVATE KEY"
        );
        assert_eq!(masked(&source), source);
    }

    #[test]
    fn a_document_stays_one_and_tells_no_secret() {
        for (line, secret) in [
            (r#"{"text":"DB_PASSWORD=\"h0rse-staple\" and on","n":1}"#.to_owned(), "h0rse"),
            (r#"{"text":"DB_PASSWORD=h0rse-staple\""}"#.to_owned(), "h0rse"),
            (r#"{"access_token":"a1b2c3d4e5f6a7b8c9d0"}"#.to_owned(), "a1b2"),
            (r#"{"password":"h0rse\"staple"}"#.to_owned(), "h0rse"),
            (r#"{"a":[{"user":"me","password":"h0rse\"staple"}]}"#.to_owned(), "staple"),
            (r#"{"password":"a\"staple"}"#.to_owned(), "staple"),
            (r#"{"password":["h0rse","and a staple"],"n":1}"#.to_owned(), "staple"),
            (r#"{"token": ["short", "a1b2c3d4e5f6a7b8c9d0"]}"#.to_owned(), "a1b2"),
            (r#"{"access_token":"a1b2c3d4e5f6a7b8c9d0","text":"DB_PASSWORD=\"h0rse-staple\" on"}"#.to_owned(), "staple"),
            (r#"{"passwd":47114711,"n":1}"#.to_owned(), "4711"),
            (format!(r#"{{"pwd":47114711,"{}{}":2}}"#, "ghp_", "aB3d".repeat(9)), "aB3d"),
            (format!(r#"{{"text":"-----BEGIN {}-----\n{}\n","b":"x"}}"#, "PRIVATE KEY", "aB3d".repeat(16)), "aB3d"),
            (
                format!(r#"{{"access_token":"a1b2c3d4e5f6a7b8c9d0","text":"-----BEGIN {}-----\n{}"}}"#, "PRIVATE KEY", "aB3d".repeat(16)),
                "a1b2",
            ),
        ] {
            let shown = LineMasker::default().mask(&line).into_owned();
            assert!(serde_json::from_str::<Value>(&shown).is_ok_and(|value| value.is_object()), "{shown}");
            assert!(!shown.contains(secret) && shown.contains("[secret: "), "{shown}");
        }
        let other_members = r#"{"a":[7,null,true,{"b":"c"}],"password":"[secret: password]"}"#;
        assert_eq!(
            LineMasker::default()
                .mask(&other_members.replace("[secret: password]", r#"h0rse\"staple"#)),
            other_members
        );
    }

    #[test]
    fn a_line_without_a_secret_is_not_copied() {
        let mut masker = LineMasker::default();
        assert!(matches!(
            masker.mask("test result: ok. 12 passed"),
            Cow::Borrowed(_)
        ));
    }

    #[test]
    fn only_harmless_lines_bypass_the_masker() {
        let key = format!("-----BEGIN {}-----\n", "PRIVATE KEY");
        for (before, lines, unread) in [
            (
                "",
                "test result: ok. 12 passed\n{\"text\":\"it is \\\"b\\\"\"}\n".into(),
                true,
            ),
            ("", "DB_PASSWORD=h0rse-staple\n".into(), false),
            (
                "",
                "{\"text\":\"DB_PASSWORD=\\\"h0rse-staple\\\"\"}\n".into(),
                false,
            ),
            ("", "{\"pwd\":[\"h0r\",\"staple\"]}\n".into(), false),
            ("", key.clone(), false),
            (&key, "and so on\n".into(), false),
            (&key, format!("{}\n", "aB3d".repeat(16)), false),
        ] {
            let mut masker = LineMasker::default();
            before.lines().for_each(|line| drop(masker.mask(line)));
            assert_eq!(masker.needs_none(&lines), unread, "{lines}");
            assert!(
                !unread || lines.lines().all(|line| masker.mask(line) == line),
                "{lines}"
            );
        }
    }
}
