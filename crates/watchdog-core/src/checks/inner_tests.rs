//! Tests inside of files of code: those of Rust, by their tokens, so that a comment, formatting or a new name is no change.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use regex::Regex;

/// A test, a helper of tests, or an example of the documentation.
struct InnerTest {
    name: String,
    /// Its marks, parameters and body.
    tokens: String,
    /// Whether a runner runs it by a mark of its own.
    is_marked: bool,
}

/// The tests inside of files of code that changed, each kind sorted and each once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InnerTests {
    /// Those that no file has any more as they were.
    pub changed: Vec<ChangedInnerTest>,
    /// Those that no file had.
    pub added: Vec<ChangedInnerTest>,
}

/// A test inside of a file of code.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChangedInnerTest {
    /// The file that held it.
    pub file: String,
    /// Its name.
    pub name: String,
}

/// Compares the tests of all files that changed, before and after.
///
/// # Errors
/// The path of a file of which that cannot be told.
pub fn changed_inner_tests<'a>(
    files: impl Iterator<Item = (&'a str, Option<String>, Option<String>)>,
) -> Result<InnerTests, String> {
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for (path, old, new) in files {
        for (text, tests) in [(old, &mut before), (new, &mut after)] {
            let Some(text) = text.filter(|text| may_hold_tests(text)) else {
                continue;
            };
            let stream: TokenStream = text.parse().map_err(|_| path.to_owned())?;
            let read = read_tests(stream).into_iter();
            tests.extend(read.map(|test| (path, test)));
        }
    }
    let list_missing = |of: &[(&str, InnerTest)], among: &[(&str, InnerTest)]| {
        let missing: BTreeSet<ChangedInnerTest> = (of.iter())
            .filter(|(_, test)| !among.iter().any(|(_, other)| other.tokens == test.tokens))
            .map(|(path, test)| ChangedInnerTest {
                file: (*path).to_owned(),
                name: test.name.clone(),
            })
            .collect();
        missing.into_iter().collect()
    };
    let changed = list_missing(&before, &after);
    after.retain(|(_, test)| test.is_marked);
    Ok(InnerTests {
        changed,
        added: list_missing(&after, &before),
    })
}

/// The old code with the test modules of the new: where that holds all tests of the new, else `None`. Its tokens alone count.
pub fn put_test_modules(old: &str, new: &str) -> Option<String> {
    let (old, new): (TokenStream, TokenStream) = (old.parse().ok()?, new.parse().ok()?);
    let wanted = read_tests(new.clone());
    let (mut code, _) = split_test_modules(old);
    code.extend(split_test_modules(new).1);
    let mixed: TokenStream = code.into_iter().collect();
    let tests = read_tests(mixed.clone());
    let is_there = |test: &InnerTest| tests.iter().any(|other| other.tokens == test.tokens);
    let mut marked = wanted.iter().filter(|test| test.is_marked).peekable();
    (marked.peek().is_some() && marked.all(is_there)).then(|| mixed.to_string())
}

/// The tokens of a file's code, and those of its modules for tests.
fn split_test_modules(stream: TokenStream) -> (Vec<TokenTree>, Vec<TokenTree>) {
    let (mut code, mut modules, mut item) = (Vec::new(), Vec::new(), Vec::new());
    for token in stream {
        let ends = is_end(&token);
        item.push(token);
        if ends {
            let is_gated = |token: &TokenTree| matches!(token, TokenTree::Group(gate) if gate.to_string() == "[cfg (test)]");
            let is_mod =
                |token: &TokenTree| matches!(token, TokenTree::Ident(word) if word == "mod");
            let is_module = item.iter().any(is_gated) && item.iter().any(is_mod);
            let part = if is_module { &mut modules } else { &mut code };
            part.append(&mut item);
        }
    }
    code.append(&mut item);
    (code, modules)
}

fn read_tests(stream: TokenStream) -> Vec<InnerTest> {
    let mut reader = TestReader::default();
    reader.read_items(stream, &[]);
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
        let mut n = 0;
        while n < tokens.len() {
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
                    let marks = std::mem::take(&mut self.marks);
                    let own = marks.into_iter().filter(|mark| mark.starts_with("cfg"));
                    let inside: Vec<String> = gates.iter().cloned().chain(own).collect();
                    self.end_item();
                    self.read_items(group.stream(), &inside);
                    1
                }
                [token, ..] if is_end(token) => {
                    self.end_item();
                    1
                }
                _ => 1,
            };
        }
        self.end_item();
    }

    fn add_mark(&mut self, mark: &Group) {
        let text = mark.stream().to_string();
        match text.strip_prefix("doc = ") {
            Some(line) => self.lines.push(line.trim_matches('"').to_owned()),
            None => self.marks.push(text),
        }
    }

    fn add_function(&mut self, name: &str, tokens: &[TokenTree], gates: &[String]) {
        static TEST: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new(r"^(?:\w+ :: )*(?:test|rstest|test_case|quickcheck|\w+_test)\b")
                .expect("it is tested")
        });
        let is_test = self.marks.iter().any(|mark| TEST.is_match(mark));
        if is_test || gates.iter().any(|gate| gate == "cfg (test)") {
            let body: TokenStream = tokens.iter().cloned().collect();
            self.tests.push(InnerTest {
                name: name.to_owned(),
                tokens: format!("{gates:?} {:?} {body}", self.marks),
                is_marked: is_test,
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
                    name: format!("example {}", lines.last().map_or("", String::as_str)),
                    tokens: lines.join("\n"),
                    is_marked: false,
                }),
                None => example = Some(vec![text.to_owned()]),
            }
        }
    }
}

/// Whether an item ends with this token.
fn is_end(token: &TokenTree) -> bool {
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
             #[cfg(test)]\nmod tests {\n    use super::*;\n    fn two() -> u8 { 2 }\n    #[test]\n    fn adds() { assert_eq!(add(1, 1), two()); }\n}\n";
        for (from, to, changed) in [
            ("a + b", "b + a", &[][..]),
            ("fn adds", "fn sums", &[]),
            ("fn adds() {", "// why\n    fn adds()\n    {", &[]),
            (
                "    use super",
                "    #[test]\n    fn more() {}\n    use super",
                &[],
            ),
            ("mod tests", "mod checks", &[]),
            ("add(1, 1), two()", "add(1, 1), add(1, 1)", &["adds"]),
            ("{ assert_eq!(add(1, 1), two()); }", "{}", &["adds"]),
            ("    #[test]\n", "    #[test]\n    #[ignore]\n", &["adds"]),
            ("    #[test]\n", "", &["adds"]),
            ("u8 { 2 }", "u8 { 0 }", &["two"]),
            (
                "/// assert_eq!(add(1, 1), 2);",
                "/// add(1, 1);",
                &["example assert_eq!(add(1, 1), 2);"],
            ),
            ("#[cfg(test)]", "#[cfg(any())]", &["adds", "two"]),
        ] {
            let new = OLD.replace(from, to);
            assert_ne!(new, OLD, "{from}");
            let files = [("src/lib.rs", Some(OLD.to_owned()), Some(new))];
            let tests = changed_inner_tests(files.into_iter()).expect("it is read");
            let list = |tests: &[ChangedInnerTest]| -> Vec<String> {
                tests.iter().map(|test| test.name.clone()).collect()
            };
            assert_eq!(list(&tests.changed), changed, "{from} {to}");
            let added = if to.contains("fn more") {
                &["more"][..]
            } else {
                &[]
            };
            if changed.is_empty() {
                assert_eq!(list(&tests.added), added, "{from} {to}");
            }
        }
        let moved = [
            ("src/a.rs", Some(OLD.to_owned()), None),
            ("src/b.rs", None, Some(OLD.to_owned())),
        ];
        assert_eq!(
            changed_inner_tests(moved.into_iter()),
            Ok(InnerTests::default())
        );
        let broken = [("src/a.rs", Some("#[test] fn a() {".to_owned()), None)];
        assert_eq!(
            changed_inner_tests(broken.into_iter()),
            Err("src/a.rs".to_owned())
        );
    }

    #[test]
    fn new_test_module_stands_beside_old_code() {
        const TESTS: &str =
            "#[cfg(test)] mod tests { use super::*; #[test] fn a() { assert_eq!(add(), r\"x\") } }";
        let code = |name: &str| {
            format!("//! Adds.\n#![warn(unused)]\nuse a::{{b, c}};\npub fn {name}() {{}}\n")
        };
        let new = code("sum") + TESTS;
        for old in [
            code("add"),
            code("add") + "#[cfg(test)]\nmod tests { #[test] fn b() {} }",
        ] {
            let mixed = put_test_modules(&old, &new).expect("it is put");
            assert!(
                mixed.contains("fn add") && mixed.contains("fn a ()"),
                "{mixed}"
            );
            assert!(
                !mixed.contains("fn sum") && !mixed.contains("fn b"),
                "{mixed}"
            );
        }
        assert!(put_test_modules("", &new).is_some());
        for (old, new) in [
            // A test beside the code, one in a module of the code, no test, and no Rust.
            (code("add"), code("add") + "#[test] fn a() {}"),
            (
                code("add"),
                code("add") + "mod deep { #[cfg(test)] mod tests { #[test] fn a() {} } }",
            ),
            (code("add"), code("sum")),
            ("fn {".to_owned(), new.clone()),
        ] {
            assert_eq!(put_test_modules(&old, &new), None, "{old} {new}");
        }
    }
}
