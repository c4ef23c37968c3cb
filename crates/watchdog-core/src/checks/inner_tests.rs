//! Tests inside of files of code: those of Rust, by their tokens, so that a comment, formatting or a new name is no change.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use super::runners::runs_examples;
use super::test_modules::{is_test_gate, is_test_mark};
use crate::config::settings::CommandLine;

/// How deep groups of tokens may stand in each other: their readers, which call themselves, would overflow the stack.
const DEEPEST: usize = 256;

/// Words of items whose parts are looked at one by one, or that only name others.
const FRAMES: [&str; 4] = ["mod", "impl", "trait", "use"];

/// A test, a helper of tests, or an example of the documentation.
pub(super) struct InnerTest {
    pub(super) kind: InnerKind,
    name: String,
    /// Its marks, parameters and body.
    pub(super) tokens: String,
}

/// How a part of the code is one of its tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InnerKind {
    /// By a mark for a runner, which does not skip it.
    Marked,
    /// By its module.
    Helper,
    /// By a mark that leaves it out of other builds.
    Gated,
    /// By its documentation.
    Example,
}

/// The tests inside of files of code that changed, each kind sorted and each once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InnerTests {
    /// Those that no file has any more as they were.
    pub changed: Vec<ChangedInnerTest>,
    /// Those that no file had, where the command runs them.
    pub added: Vec<ChangedInnerTest>,
}

/// A test inside of a file of code that changed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChangedInnerTest {
    /// The file that held it.
    pub file: String,
    /// Its name.
    pub name: String,
}

/// By what a test inside of code is the same as before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestIdentity {
    /// Its marks, parameters and body: a renamed test is the same.
    Source,
    /// These and its name.
    NamedSource,
}

/// The path of a file, and its text before and after.
pub type ChangedText = (String, Option<String>, Option<String>);

/// Compares the tests that a command runs, of all files that changed, before and after.
///
/// # Errors
/// The path of a file of which that cannot be told.
pub fn changed_inner_tests(
    files: &[ChangedText],
    line: &CommandLine,
    identity: TestIdentity,
) -> Result<InnerTests, String> {
    let runs_examples = runs_examples(line);
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for (path, old, new) in files {
        for (text, tests) in [(old, &mut before), (new, &mut after)] {
            let Some(text) = text.as_ref().filter(|text| may_hold_tests(text)) else {
                continue;
            };
            let all = read_source(text, read_tests).ok_or_else(|| path.clone())?;
            let judges = |test: &InnerTest| match test.kind {
                InnerKind::Marked | InnerKind::Helper => true,
                InnerKind::Gated => false,
                InnerKind::Example => runs_examples != Some(false),
            };
            tests.extend(all.into_iter().filter(judges).map(|test| (path, test)));
        }
    }
    let list_missing = |of: &[(&String, InnerTest)], among: &[(&String, InnerTest)], identity| {
        let is_same = |new: &InnerTest, old: &InnerTest| {
            new.tokens == old.tokens && (identity == TestIdentity::Source || new.name == old.name)
        };
        let missing: BTreeSet<ChangedInnerTest> = (of.iter())
            .filter(|(_, test)| !among.iter().any(|(_, same)| is_same(same, test)))
            .map(|(path, test)| ChangedInnerTest {
                file: (*path).clone(),
                name: test.name.clone(),
            })
            .collect();
        missing.into_iter().collect()
    };
    let changed = list_missing(&before, &after, identity);
    after.retain(|(_, test)| runs_examples.is_some() && test.kind == InnerKind::Marked);
    Ok(InnerTests {
        changed,
        added: list_missing(&after, &before, TestIdentity::Source),
    })
}

/// Reads the tokens of a source; `None` where it is no Rust, or too deep.
pub(super) fn read_source<T>(text: &str, read: impl FnOnce(TokenStream) -> T) -> Option<T> {
    let tokens: Option<TokenStream> = text.parse().ok();
    let result = tokens.filter(|tokens| !is_too_deep(tokens)).map(read);
    // proc-macro2 keeps every text for its spans, and no token is left.
    proc_macro2::extra::invalidate_current_thread_spans();
    result
}

fn is_too_deep(tokens: &TokenStream) -> bool {
    let mut levels = vec![tokens.clone().into_iter()];
    while let Some(level) = levels.last_mut() {
        match level.next() {
            Some(TokenTree::Group(group)) => levels.push(group.stream().into_iter()),
            Some(_) => {}
            None => drop(levels.pop()),
        }
        if levels.len() > DEEPEST {
            return true;
        }
    }
    false
}

pub(super) fn read_tests(tokens: TokenStream) -> Vec<InnerTest> {
    let mut reader = TestReader::default();
    reader.read_items(tokens, &[]);
    reader.tests
}

fn may_hold_tests(text: &str) -> bool {
    ["test", "```"].iter().any(|sign| text.contains(sign))
}

#[derive(Default)]
struct TestReader {
    tests: Vec<InnerTest>,
    /// The attributes above the item that is read.
    marks: Vec<String>,
    /// The lines of its documentation.
    lines: Vec<String>,
}

impl TestReader {
    /// Reads the items of a module behind these gates; behind one for tests alone every function is a part of them.
    fn read_items(&mut self, stream: TokenStream, gates: &[String]) {
        let tokens: Vec<TokenTree> = stream.into_iter().collect();
        let (mut n, mut begin) = (0, 0);
        while n < tokens.len() {
            let at = n;
            n += match &tokens[n..] {
                [TokenTree::Punct(sign), TokenTree::Group(mark), ..] if sign.as_char() == '#' => {
                    self.add_mark(mark);
                    2
                }
                [TokenTree::Ident(word), TokenTree::Ident(name), rest @ ..] if word == "fn" => {
                    let length = rest
                        .iter()
                        .position(is_end)
                        .map_or(rest.len(), |end| end + 1);
                    self.add_function(&name.to_string(), &rest[..length], gates);
                    2 + length
                }
                [TokenTree::Group(group), ..] if group.delimiter() == Delimiter::Brace => {
                    self.add_item(&tokens[begin..=at], gates);
                    let marks = std::mem::take(&mut self.marks);
                    let own = marks.into_iter().filter(|mark| mark.starts_with("cfg"));
                    let inside: Vec<String> = gates.iter().cloned().chain(own).collect();
                    self.end_item();
                    self.read_items(group.stream(), &inside);
                    1
                }
                [token, ..] if is_end(token) => {
                    self.add_item(&tokens[begin..=at], gates);
                    self.end_item();
                    1
                }
                _ => 1,
            };
            if is_end(&tokens[n - 1]) {
                begin = n;
            }
        }
        self.end_item();
    }

    /// Adds what tests are made of beside functions: a constant, a type, a table of a macro.
    fn add_item(&mut self, tokens: &[TokenTree], gates: &[String]) {
        let is_alone = |marks: &[String]| marks.iter().any(|mark| mark == "cfg (test)");
        let words = tokens.iter().filter_map(|token| match token {
            TokenTree::Ident(word) => Some(word.to_string()),
            _ => None,
        });
        let words: Vec<String> = words.take(2).collect();
        let is_frame = words.iter().any(|word| FRAMES.contains(&&**word));
        if is_frame || tokens.len() < 2 || !(is_alone(gates) || is_alone(&self.marks)) {
            return;
        }
        let body: TokenStream = tokens.iter().cloned().collect();
        self.tests.push(InnerTest {
            kind: InnerKind::Helper,
            name: words.last().cloned().unwrap_or_default(),
            tokens: format!("{gates:?} {body}"),
        });
    }

    fn add_mark(&mut self, mark: &Group) {
        let text = mark.stream().to_string();
        match text.strip_prefix("doc = ") {
            Some(line) => self.lines.push(line.trim_matches('"').to_owned()),
            None => self.marks.push(text),
        }
    }

    fn add_function(&mut self, name: &str, tokens: &[TokenTree], gates: &[String]) {
        let has_mark = |is_such: &dyn Fn(&str) -> bool| self.marks.iter().any(|mark| is_such(mark));
        let is_test = has_mark(&is_test_mark);
        let is_inside = gates.iter().any(|gate| gate == "cfg (test)");
        let kind = if is_test && !has_mark(&|mark| mark.starts_with("ignore")) {
            Some(InnerKind::Marked)
        } else if is_test || is_inside {
            Some(InnerKind::Helper)
        } else {
            has_mark(&is_test_gate).then_some(InnerKind::Gated)
        };
        if let Some(kind) = kind {
            let body: TokenStream = tokens.iter().cloned().collect();
            self.tests.push(InnerTest {
                kind,
                name: name.to_owned(),
                tokens: format!("{gates:?} {:?} {body}", self.marks),
            });
        }
        self.end_item();
    }

    /// Adds the examples of the item's documentation, which are tests.
    fn end_item(&mut self) {
        self.marks.clear();
        let mut example: Option<Vec<String>> = None;
        for line in std::mem::take(&mut self.lines) {
            let text = line.trim();
            if !text.starts_with("```") {
                if let Some(lines) = &mut example {
                    lines.push(text.to_owned());
                }
                continue;
            }
            match example.take() {
                Some(lines) => self.tests.push(InnerTest {
                    kind: InnerKind::Example,
                    name: format!("example {}", lines.last().map_or("", String::as_str)),
                    tokens: lines.join("\n"),
                }),
                None => example = Some(vec![text.to_owned()]),
            }
        }
    }
}

/// Whether an item ends with this token.
pub(super) fn is_end(token: &TokenTree) -> bool {
    match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        TokenTree::Punct(sign) => sign.as_char() == ';',
        TokenTree::Ident(_) | TokenTree::Literal(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inner_test_changes_by_its_tokens() {
        const OLD: &str = "/// Adds.\n///\n/// ```\n/// assert_eq!(add(1, 1), 2);\n/// ```\nfn add(a: u8, b: u8) -> u8 { a + b }\n\
             #[cfg(test)]\nmod tests {\n    use super::*;\n    const TWO: u8 = 2;\n    sums! { 1, 2 => 3 }\n    fn two() -> u8 { 2 }\n    #[test]\n    fn adds() { assert_eq!(add(1, 1), two()); }\n}\n";
        for (from, to, changed) in [
            ("a + b", "b + a", &[][..]),
            ("fn adds", "fn sums", &[]),
            ("fn adds() {", "// why\n    fn adds()\n    {", &[]),
            ("    use", "    #[test]\n    fn more() {}\n    use", &[]),
            ("mod tests", "mod checks", &[]),
            ("add(1, 1), two()", "add(1, 1), add(1, 1)", &["adds"]),
            ("const TWO: u8 = 2", "const TWO: u8 = 0", &["TWO"]),
            ("{ 1, 2 => 3 }", "{ 1, 2 => 4 }", &["sums"]),
            (
                "    const TWO",
                "    const THREE: u8 = 3;\n    const TWO",
                &[],
            ),
            ("{ assert_eq!(add(1, 1), two()); }", "{}", &["adds"]),
            ("    #[test]\n", "    #[test]\n    #[ignore]\n", &["adds"]),
            ("    #[test]\n", "", &["adds"]),
            ("u8 { 2 }", "u8 { 0 }", &["two"]),
            (
                "/// assert_eq!(add(1, 1), 2);",
                "/// add(1, 1);",
                &["example assert_eq!(add(1, 1), 2);"],
            ),
            (
                "#[cfg(test)]",
                "#[cfg(any())]",
                &["TWO", "adds", "sums", "two"],
            ),
        ] {
            let new = OLD.replace(from, to);
            assert_ne!(new, OLD, "{from}");
            let files = [("src/lib.rs".to_owned(), Some(OLD.to_owned()), Some(new))];
            let tests = compare(&files, "cargo test", TestIdentity::Source);
            assert_eq!(list_names(&tests.changed), changed, "{from} {to}");
            let added = to.contains("fn more").then_some("more");
            if changed.is_empty() {
                let added: Vec<&str> = added.into_iter().collect();
                assert_eq!(list_names(&tests.added), added, "{from} {to}");
            }
            // Scripts may run the examples, and nobody knows whether they run the tests.
            let unknown = compare(&files, "sh check", TestIdentity::Source);
            assert_eq!(
                (unknown.changed, unknown.added),
                (tests.changed, Vec::new())
            );
            let without = compare(&files, "cargo nextest run", TestIdentity::Source);
            let is_example = changed.iter().any(|name| name.starts_with("example"));
            let others = if is_example { &[] } else { changed };
            assert_eq!(list_names(&without.changed), others, "{from} {to}");
        }
        let moved = [
            ("src/a.rs".to_owned(), Some(OLD.to_owned()), None),
            ("src/b.rs".to_owned(), None, Some(OLD.to_owned())),
        ];
        for identity in [TestIdentity::Source, TestIdentity::NamedSource] {
            let tests = compare(&moved, "cargo test", identity);
            assert_eq!(tests, InnerTests::default());
        }
        let renamed = OLD.replace("fn adds", "fn sums");
        let renamed = [("src/a.rs".to_owned(), Some(OLD.to_owned()), Some(renamed))];
        for (identity, names) in [
            (TestIdentity::Source, &[][..]),
            (TestIdentity::NamedSource, &["adds"]),
        ] {
            let tests = compare(&renamed, "cargo test", identity);
            assert_eq!(list_names(&tests.changed), names);
        }
    }

    #[test]
    fn unreadable_source_has_no_known_tests() {
        let nest = |open: &str, close: &str, count| {
            let open = open.repeat(count);
            format!(
                "#[cfg(test)] mod tests {{ #[test] fn a() {open}{} }}",
                close.repeat(count)
            )
        };
        for (text, is_read) in [
            ("#[test] fn a() {".to_owned(), false),
            (nest("{", "}", 200), true),
            (nest("{", "}", 100_000), false),
            (nest("([", "])", 100_000), false),
            (nest("#[cfg(test)] mod a {", "}", 100_000), false),
        ] {
            let files = [("src/a.rs".to_owned(), Some(text), None)];
            let line = CommandLine::Shell("cargo test".into());
            let tests = changed_inner_tests(&files, &line, TestIdentity::Source);
            assert_eq!(tests.is_ok(), is_read);
            if !is_read {
                assert_eq!(tests, Err("src/a.rs".to_owned()));
            }
        }
    }

    fn compare(files: &[ChangedText], line: &str, identity: TestIdentity) -> InnerTests {
        let line = CommandLine::Shell(line.into());
        changed_inner_tests(files, &line, identity).expect("it is read")
    }

    fn list_names(tests: &[ChangedInnerTest]) -> Vec<&str> {
        tests.iter().map(|test| test.name.as_str()).collect()
    }
}
