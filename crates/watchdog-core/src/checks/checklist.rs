//! Reads a markdown checklist: boxes in lists of any depth, not those in code, comments or links.

use std::sync::LazyLock;

use regex::Regex;

/// An item with a box.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChecklistBox {
    /// The text behind the box.
    pub title: String,
    /// Whether it is ticked.
    pub done: bool,
}

/// `-`, `*`, `+`, `1.` or `1)`, maybe quoted, then a box, then white space or the end.
static BOX: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^[\s>]*(?:[-*+]|\d{1,9}[.)])\s+(?:[-*+]\s+)*\[(?P<mark>[^\[\]]{0,4})\](?P<title>\s.*|)$",
    )
    .expect("a fixed pattern")
});

static HEADING: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^ {0,3}(#{1,6})\s+(.*?)(?:\s+#+)?\s*$").expect("a fixed pattern")
});

/// The items of a checklist, in order, without those below headings named in `optional`, in any case. Subsections belong to their section.
pub(super) fn list_checklist_items(markdown: &str, optional: &[String]) -> Vec<ChecklistBox> {
    let mut items = Vec::new();
    let mut fence: Option<CodeFence> = None;
    let mut comment = false;
    // The level of the optional heading that we are below.
    let mut skipping: Option<usize> = None;
    for line in markdown.trim_start_matches('\u{feff}').lines() {
        if let Some(open) = &fence {
            if open.is_closed_by(line) {
                fence = None;
            }
            continue;
        }
        let visible = without_comments(line, &mut comment);
        let line = visible.trim_end();
        fence = CodeFence::opened_by(line);
        if fence.is_some() {
            continue;
        }
        if let Some(heading) = HEADING.captures(line) {
            let (level, title) = (heading[1].len(), heading[2].trim());
            if skipping.is_none_or(|above| level <= above) {
                let named = optional
                    .iter()
                    .any(|name| name.trim().to_lowercase() == title.to_lowercase());
                skipping = named.then_some(level);
            }
        } else if skipping.is_none() {
            items.extend(parse_checklist_item(line));
        }
    }
    items
}

fn parse_checklist_item(line: &str) -> Option<ChecklistBox> {
    let groups = BOX.captures(line)?;
    let mark = groups["mark"].trim();
    let mut characters = mark.chars();
    let done = match (characters.next(), characters.next()) {
        // An empty box is open, however wide it is.
        (None, _) => false,
        (Some('x' | 'X' | '✓' | '✔' | '✅' | '☑'), None) => true,
        // In progress, postponed, cancelled, in question: not done.
        (Some(sign), None) if !sign.is_alphanumeric() => false,
        // A date, a version, a footnote, `[NOTE]`.
        _ => return None,
    };
    Some(ChecklistBox {
        title: groups["title"].trim().to_owned(),
        done,
    })
}

/// A block of code between lines of backticks or tildes.
struct CodeFence {
    sign: char,
    length: usize,
}

impl CodeFence {
    fn opened_by(line: &str) -> Option<Self> {
        let line = strip_bullets(line);
        let (sign, length, info) = Self::parse_fence(line)?;
        // Text in backticks within a line is code.
        (sign == '~' || !info.contains('`')).then_some(CodeFence { sign, length })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let line = line.trim_start_matches([' ', '\t', '>']);
        Self::parse_fence(line).is_some_and(|(sign, length, info)| {
            sign == self.sign && length >= self.length && info.trim().is_empty()
        })
    }

    fn parse_fence(line: &str) -> Option<(char, usize, &str)> {
        let sign = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let after_fence = line.trim_start_matches(sign);
        let length = line.len() - after_fence.len();
        (length >= 3).then_some((sign, length, after_fence))
    }
}

/// A line without indentation, quotation marks and bullets: a fence may begin behind a bullet.
fn strip_bullets(line: &str) -> &str {
    let line = line.trim_start_matches([' ', '\t', '>']);
    match line.strip_prefix(['-', '*', '+']) {
        Some(after_bullet) if after_bullet.starts_with([' ', '\t']) => strip_bullets(after_bullet),
        _ => line,
    }
}

/// A line without its HTML comments. `comment` is whether one continues on the next line.
fn without_comments(line: &str, comment: &mut bool) -> String {
    let mut visible = String::new();
    let mut remaining = line;
    loop {
        if *comment {
            match remaining.split_once("-->") {
                Some((_, after)) => (remaining, *comment) = (after, false),
                None => return visible,
            }
        }
        match remaining.split_once("<!--") {
            // Within backticks it is an example.
            Some((before, after)) if before.matches('`').count() % 2 == 1 => {
                visible.push_str(before);
                visible.push_str("<!--");
                remaining = after;
            }
            Some((before, after)) => {
                visible.push_str(before);
                (remaining, *comment) = (after, true);
            }
            None => {
                visible.push_str(remaining);
                return visible;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Open items as their titles, ticked ones in parentheses.
    #[track_caller]
    fn check(markdown: &str, wanted: &[&str]) {
        let titles: Vec<String> =
            (list_checklist_items(markdown, &["Optional".into(), "Nice to Have".into()])
                .into_iter())
            .map(|item| {
                if item.done {
                    format!("({})", item.title)
                } else {
                    item.title
                }
            })
            .collect();
        assert_eq!(titles, wanted, "{markdown}");
    }

    #[test]
    fn boxes_count_in_any_list_and_depth() {
        check(
            "- [ ] a\n* [x] b\n+ [X] c\n1. [ ] d\n2) [x] e\n",
            &["a", "(b)", "(c)", "d", "(e)"],
        );
        check(
            "- [x] a\n  - [ ] b\n\t- [x] c\n        - [ ] d\n",
            &["(a)", "b", "(c)", "d"],
        );
        check("- [ ] a\r\n- [x] b\r\n", &["a", "(b)"]);
        check("\u{feff}- [ ] a", &["a"]);
        check("> - [ ] quoted", &["quoted"]);
        check("- - [ ] list in a list", &["list in a list"]);
        check("- [ ]\n- [x]", &["", "()"]);
    }

    #[test]
    fn unusual_marks_are_open_and_labels_no_boxes() {
        check(
            "- [/] going\n- [-] dropped\n- [?] why\n- [] narrow\n- [  ] wide\n- [✓] good",
            &["going", "dropped", "why", "narrow", "wide", "(good)"],
        );
        check(
            "- [NOTE] n\n- [2026-01-29] d\n- [v1.0] v\n- [#141] i\n- [1] f\n- [xx] y\n- [ab] z",
            &[],
        );
        check(
            "- [x](http://link)\n- [ ][ref]\n- [x]: url\n[ ] no list\n-[ ] no space\nsee - [ ] in a line",
            &[],
        );
    }

    #[test]
    fn code_and_comments_do_not_count() {
        check("```\n- [ ] a\n```\n- [x] b", &["(b)"]);
        check("~~~md\n- [ ] a\n```\n- [ ] b\n~~~\n- [x] c", &["(c)"]);
        check("````\n```\n- [ ] a\n```\n- [ ] b\n````\n- [x] c", &["(c)"]);
        check("```md\n```bash\n- [ ] a\n```\n- [x] b", &["(b)"]);
        check("1. do:\n\n   ```\n   - [ ] a\n   ```\n- [x] b", &["(b)"]);
        check("- ```\n  - [ ] a\n  ```\n- [x] b", &["(b)"]);
        check("- [x] b\n```\n- [ ] never closed", &["(b)"]);
        check("```\r\n- [ ] a\r\n```\r\n- [ ] b\r\n", &["b"]);
        check("use ``` in a line\n- [ ] a", &["a"]);
        check("``` not `code`\n- [ ] a", &["a"]);
        check(
            "<!-- - [ ] a -->\n<!--\n- [ ] b\n-->\n- [x] c <!-- x -->",
            &["(c)"],
        );
        check(
            "- [ ] show `<!--` here\n- [ ] b",
            &["show `<!--` here", "b"],
        );
    }

    #[test]
    fn dash_without_blank_opens_no_code_block() {
        check("-```\n- [ ] a", &["a"]);
        check("- ```\n- [ ] a\n- ```", &[]);
    }

    #[test]
    fn optional_sections_are_excluded_with_their_children() {
        check(
            "# P\n- [x] a\n## OPTIONAL\n- [ ] b\n### More\n- [ ] c\n## Rest ##\n- [ ] d",
            &["(a)", "d"],
        );
        check("## Nice to Have ##\n- [ ] a\n# Next\n- [ ] b\n", &["b"]);
        check(
            "## Not optional\n- [ ] a\n```\n## Optional\n```\n- [ ] b",
            &["a", "b"],
        );
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "[-*x \\[\\]`~#<!>\\n\\r\u{e9}]{0,80}") {
            let _ = list_checklist_items(&text, &["x".into()]);
        }

        #[test]
        fn as_many_items_are_found_as_were_written(boxes in prop::collection::vec((any::<bool>(), 0..4_usize, "[a-z ]{0,9}[a-z]"), 0..20), crlf in any::<bool>()) {
            let end = if crlf { "\r\n" } else { "\n" };
            let text: String = boxes.iter()
                .map(|(done, depth, title)| format!("{}- [{}] {title}{end}", "  ".repeat(*depth), if *done { 'x' } else { ' ' }))
                .collect();
            let wanted: Vec<ChecklistBox> = boxes.iter().map(|(done, _, title)| ChecklistBox { title: title.trim().to_owned(), done: *done }).collect();
            prop_assert_eq!(list_checklist_items(&text, &[]), wanted);
        }
    }
}
