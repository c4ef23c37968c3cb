//! Modules for tests inside of Rust files: those that are new, by their source text, in the code as it was.

use std::cmp::Reverse;
use std::ops::Range;

use proc_macro2::{Span, TokenStream, TokenTree};

use super::inner_tests::{InnerKind, is_end, read_source, read_tests};
use super::suite_runs::CodeBase;
use watchdog_facts::patterns::FixedPattern;

/// Another file that a module is built with: where the work began, that may be missing.
static READS_FILE: FixedPattern = FixedPattern::new(r"\binclude\w*\s*!|\bmod\s+\w+\s*;");

/// An item at the top of a file.
struct SourcePart {
    /// Its bytes, from its first mark.
    range: Range<usize>,
    /// The name of a module or a function, with its kind.
    name: Option<String>,
    /// Whether it is left out of builds that are no test.
    is_gated: bool,
    /// Whether it is a test, a helper of tests, or a module for tests alone with all of them here.
    holds_tests: bool,
}

/// The base of a file with the test modules that are new in it, each in the stead of the one of its name, or at the end; `None` where they
/// hold not all that the new tests are made of.
pub fn put_test_modules(old: &str, new: &str, base: CodeBase) -> Option<String> {
    let (before, after) = (read_source(old, read_items)?, read_source(new, read_items)?);
    let text_of = |item: &SourcePart| &new[item.range.clone()];
    let is_new = |item: &&SourcePart| {
        item.is_gated && !(before.iter()).any(|same| old[same.range.clone()] == *text_of(item))
    };
    let (modules, beside): (Vec<&SourcePart>, Vec<&SourcePart>) =
        (after.iter().filter(is_new)).partition(|item| item.holds_tests);
    if !beside.is_empty()
        || modules
            .iter()
            .any(|item| READS_FILE.is_match(text_of(item)))
    {
        return None;
    }
    let put = |text: &str, items: &[SourcePart]| {
        let mut parts = Vec::new();
        for module in &modules {
            let mut same = items.iter().filter(|item| item.name == module.name);
            let range = match (same.next(), same.next()) {
                (None, _) => text.len()..text.len(),
                (Some(item), None) if item.holds_tests => item.range.clone(),
                (Some(_), _) => return None,
            };
            parts.push((range, text_of(module)));
        }
        parts.sort_by_key(|(range, _)| Reverse(range.start));
        let mut mixed = text.to_owned();
        for (range, module) in parts {
            // Each stands on lines of its own, so that a test of these lines fails in the judged code, too.
            mixed.replace_range(range, &format!("\n{module}\n"));
        }
        Some(mixed)
    };
    let (judged, mixed) = (put(new, &after)?, put(old, &before)?);
    let there = read_source(&mixed, read_tests)?;
    let is_there = read_source(new, read_tests)?.iter().all(|test| {
        test.kind == InnerKind::Example || there.iter().any(|same| same.tokens == test.tokens)
    });
    match base {
        _ if !is_there => None,
        CodeBase::Begin => Some(mixed),
        CodeBase::Empty => put("", &[]),
        CodeBase::Judged => Some(judged),
    }
}

/// Whether a mark makes a function a test.
pub(super) fn is_test_mark(mark: &str) -> bool {
    static TEST: FixedPattern =
        FixedPattern::new(r"^(?:\w+ :: )*(?:test|rstest|test_case|quickcheck|\w+_test)\b");
    TEST.is_match(mark)
}

/// Whether a mark leaves its item out of builds that are no test.
pub(super) fn is_test_gate(mark: &str) -> bool {
    static GATE: FixedPattern = FixedPattern::new(r"^cfg \(.*\btest\b");
    GATE.is_match(mark)
}

/// The items of a file that end with a block or a semicolon.
fn read_items(tokens: TokenStream) -> Vec<SourcePart> {
    let (mut items, mut item) = (Vec::new(), Vec::new());
    for token in tokens {
        let ends = is_end(&token);
        item.push(token);
        if ends {
            items.push(read_item(&item));
            item.clear();
        }
    }
    items
}

fn read_item(tokens: &[TokenTree]) -> SourcePart {
    let (mut body, mut first) = (tokens, None);
    let mut marks = Vec::new();
    loop {
        body = match body {
            // Of the whole file.
            [
                TokenTree::Punct(sign),
                TokenTree::Punct(inner),
                TokenTree::Group(_),
                tail @ ..,
            ] if sign.as_char() == '#' && inner.as_char() == '!' => tail,
            [TokenTree::Punct(sign), TokenTree::Group(mark), tail @ ..]
                if sign.as_char() == '#' =>
            {
                first = first.or(Some(sign.span()));
                marks.push(mark.stream().to_string());
                tail
            }
            _ => break,
        };
    }
    let name = body.windows(2).find_map(|words| match words {
        [TokenTree::Ident(kind), TokenTree::Ident(name)] if kind == "mod" || kind == "fn" => {
            Some(format!("{kind} {name}"))
        }
        _ => None,
    });
    let bytes_of = |span: Option<Span>| span.map_or(0..0, |span| span.byte_range());
    let first = first.or_else(|| body.first().map(TokenTree::span));
    let last = tokens.last();
    let has_mark = |is_such: fn(&str) -> bool| marks.iter().any(|mark| is_such(mark));
    let is_test = has_mark(is_test_mark);
    let is_alone = is_test || has_mark(|mark| mark == "cfg (test)");
    SourcePart {
        range: bytes_of(first).start..bytes_of(last.map(TokenTree::span)).end,
        holds_tests: is_alone && name.is_some() && matches!(last, Some(TokenTree::Group(_))),
        name,
        is_gated: is_test || has_mark(is_test_gate),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The old code with the new test module, and the judged code with it.
    fn put(old: &str, new: &str) -> Option<[String; 3]> {
        let bases = [CodeBase::Begin, CodeBase::Empty, CodeBase::Judged];
        let texts = bases.map(|base| put_test_modules(old, new, base));
        assert!(
            texts
                .iter()
                .all(|text| text.is_some() == texts[0].is_some())
        );
        let [begin, empty, judged] = texts;
        Some([begin?, empty?, judged?])
    }

    const CODE: &str = "//! Adds.\n#![warn(unused)]\nuse a::{b, c};\npub fn add() {}\n";
    const OLD_TESTS: &str = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn b() {}\n}\n";
    const NEW_TESTS: &str = "/// Why.\n#[cfg(test)]\nmod tests {\n    use super::*; // it's\n    #[test]\n    fn b() {}\n    #[test]\n    fn a() { assert_eq!(add(), r#\"é }\"#) }\n}";

    #[test]
    fn new_module_is_taken_by_its_source() {
        let work = CODE.replace("add", "sum");
        for (old, new) in [
            (CODE.to_owned(), format!("{work}{NEW_TESTS}")),
            (
                format!("{CODE}{OLD_TESTS}fn z() {{}}\n"),
                format!("{work}{NEW_TESTS}\nfn z() {{}}\n"),
            ),
            (format!("{OLD_TESTS}{CODE}"), format!("{work}{NEW_TESTS}")),
            (
                format!("\u{feff}{CODE}// é\n{OLD_TESTS}"),
                format!("\u{feff}// é\n{work}{NEW_TESTS}"),
            ),
            (
                format!("{CODE}// no line ends"),
                format!("{work}{NEW_TESTS}// no line ends"),
            ),
        ] {
            let [begin, empty, judged] = put(&old, &new).expect("it is put");
            let line = format!("\n{NEW_TESTS}\n");
            assert!(
                begin.contains(&line) && judged.contains(&line),
                "{begin} {judged}"
            );
            assert_eq!(
                begin.replace(&line, ""),
                old.replace(OLD_TESTS.trim_end(), "")
            );
            assert_eq!(judged.replace(&line, NEW_TESTS), new);
            assert_eq!(empty, line);
        }
        // Tests and their helpers beside the code.
        let beside = "#[cfg(test)]\nfn two() -> A { b }\n/// It adds.\n#[tokio::test]\npub(crate) async fn a() {}";
        let [begin, ..] = put(CODE, &format!("{work}{beside}")).expect("it is put");
        let lines: Vec<&str> = begin.lines().filter(|line| !line.is_empty()).collect();
        assert_eq!(lines.len(), CODE.lines().count() + 5, "{begin}");
        let crlf = |text: &str| text.replace('\n', "\r\n");
        let [begin, ..] = put(CODE, &crlf(&(work + NEW_TESTS))).expect("it is put");
        assert_eq!(begin, format!("{CODE}\n{}\n", crlf(NEW_TESTS)));
        // All is as it was.
        let same = format!("{CODE}{OLD_TESTS}");
        let texts = [same.clone(), String::new(), same.clone()];
        assert_eq!(put(&same, &same), Some(texts));
    }

    #[test]
    fn tests_beside_code_are_not_taken() {
        let test = "#[test] fn a() {}";
        for more in [
            format!("#[cfg(test)] use b::c; {NEW_TESTS}"),
            format!("#[cfg(test)] mod helpers; {NEW_TESTS}"),
            format!("impl A {{ #[cfg(test)] fn two() {{}} }} {NEW_TESTS}"),
            format!("mod tests {{ pub fn code() {{}} {test} }}"),
            format!("mod deep {{ {NEW_TESTS} }}"),
            format!("make! {{ {NEW_TESTS} }}"),
            format!("#[cfg(all(test, feature = \"a\"))] mod tests {{ {test} }}"),
            format!(
                "#[cfg(test)] #[cfg(unix)] mod tests {{ {test} }} #[cfg(test)] #[cfg(windows)] mod tests {{ fn b() {{}} }}"
            ),
            format!("#[cfg(test)] mod tests {{ mod more; {test} }}"),
            format!("#[cfg(test)] mod tests {{ {test} const A: &str = include_str!(\"a\"); }}"),
            format!("#[cfg(test)] #[path = \"a\"] mod tests {{ #[path = \"b\"] mod b; {test} }}"),
            "#[cfg(test)] mod tests {".to_owned(),
        ] {
            assert_eq!(put(CODE, &format!("{CODE}{more}")), None, "{more}");
        }
        for old in [
            "mod tests { pub fn b() {} }",
            "#[cfg(test)] mod tests;",
            "fn {",
            "#!/usr/bin/env \"",
            "#[cfg(test)] pub(crate) mod tests {} #[cfg(test)] mod tests {}",
        ] {
            assert_eq!(put(old, &format!("{CODE}{NEW_TESTS}")), None, "{old}");
        }
    }
}
