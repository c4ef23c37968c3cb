//! Reads a markdown checklist: boxes in lists, headings and tables, and words about a status. Not those in code, comments or links.

use std::collections::BTreeSet;
use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag};
use regex::Captures;

use super::status_words::{
    counts_open, hide_code, is_doubtful, is_open_alone, is_sign, mentions_open_box,
    mentions_open_word, read_end_word, read_sign, read_status, write_boxes,
};
use watchdog_facts::patterns::FixedPattern;

/// A line about a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChecklistBox {
    /// Its text.
    pub title: String,
    /// Whether it is ticked; `None` where its mark is no sign for either.
    pub done: Option<bool>,
}

/// A bullet, a number or the sign of a heading, maybe quoted and within emphasis, then white space or a box.
static MARKER: FixedPattern = FixedPattern::new(
    r"^(?:[\s>]*(?:(?:[-*+•‣◦▪·–—]|(?:\(?\d{1,9}(?:\.\d{1,9})*|[A-Za-z])[.)])(?P<bullet>\s+|\\?\[|$)|(?P<heading>#{1,6})\s+))?",
);

/// A box at the beginning of an item: what is behind it tells a link.
static BOX: FixedPattern = FixedPattern::new(
    r"^(?:\*\*|__|~~)?(?:\\?\[(?P<mark>[^\[\]\\]{0,24})\\?\]|\((?P<round>[ xX✓✔])\))(?P<title>[^(\[:].*|)$",
);

/// A number or a date before a box: `1.1 [ ]`, `T002 [ ]`, `[2026-11-28] [ ]`.
static LABEL: FixedPattern =
    FixedPattern::new(r"^(?P<label>[^\s`]*\d[^\s`]*)\s+(?P<box>(?:\*\*|__|\\)?[\[☐⬜🔲].*)$");

static STATUS: FixedPattern = FixedPattern::new(
    r"(?i)^(?P<before>.*?)(?:^|\*\*|__|[(—–-]\s*)(?:status|(?P<short>state|progress|done|completed?|finished))(?:\*\*|__)?\s*[:=：→]\s*(?:\*\*|__)?(?P<words>.+)$",
);

/// The line below the head of a table.
static TABLE_RULE: FixedPattern =
    FixedPattern::new(r"^[\s>]*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$");

static HEADING: FixedPattern = FixedPattern::new(r"^ {0,3}(#{1,6})\s+(.*?)(?:\s+#+)?\s*$");

/// The items of a checklist, in order, without those below headings named in `optional`, in any case. Subsections belong to their section.
pub(super) fn list_checklist_items(markdown: &str, optional: &[String]) -> Vec<ChecklistBox> {
    let visible = hide_code_and_comments(markdown);
    let mut items: Vec<(ChecklistBox, Option<ListKey>)> = Vec::new();
    let mut ticked = BTreeSet::new();
    // The level of the optional heading that we are below.
    let mut skipping: Option<usize> = None;
    let (mut section, mut sections) = (String::new(), 0_usize);
    let mut table = TableReader::default();
    for line in write_boxes(&visible.text).lines() {
        let line = line.trim_end();
        if let Some(heading) = HEADING.captures(line) {
            let (level, title) = (heading[1].len(), heading[2].trim());
            if skipping.is_none_or(|above| level <= above) {
                let named = optional
                    .iter()
                    .any(|name| name.trim().to_lowercase() == title.to_lowercase());
                skipping = named.then_some(level);
            }
            section = title.to_owned();
            sections += 1;
        }
        if skipping.is_some() {
            continue;
        }
        let body = line.trim_start();
        let is_numbered = body.starts_with(|c: char| c.is_ascii_digit());
        let key = (sections, is_numbered, line.len() - body.len());
        match table.read_row(line).or_else(|| parse_line(line, &section)) {
            Some(item) => {
                if item.done == Some(true) {
                    ticked.insert(key);
                }
                items.push((item, None));
            }
            None => items.extend(read_bare_item(line).map(|item| (item, Some(key)))),
        }
    }
    // Beside a ticked item, one without a mark that is known may be open.
    items.retain(|(_, key)| key.is_none_or(|key| ticked.contains(&key)));
    let hidden = write_boxes(visible.unclosed);
    let hidden = hidden.lines().filter_map(|line| parse_line(line, ""));
    let hidden = hidden.filter(|item| item.done != Some(true));
    let hidden = hidden.map(|item| ChecklistBox { done: None, ..item });
    items
        .into_iter()
        .map(|(item, _)| item)
        .chain(hidden)
        .collect()
}

/// The section of a list, whether it has numbers, and the indentation of its items.
type ListKey = (usize, bool, usize);

/// A text without its blocks of code and comments.
struct VisibleText<'a> {
    /// As many lines as the text has.
    text: String,
    /// The end of the text, where a block or comment that nobody closed hides it.
    unclosed: &'a str,
}

fn hide_code_and_comments(markdown: &str) -> VisibleText<'_> {
    let mut hidden: Vec<Range<usize>> = Vec::new();
    let mut unclosed = markdown.len();
    let end = markdown.trim_end().len();
    for (event, range) in Parser::new(markdown).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))) => {
                let block = markdown[range.clone()].trim_end();
                let last = block.lines().skip(1).last().unwrap_or_default();
                let is_fence = last.trim_matches([' ', '\t', '>', '`', '~']).is_empty();
                if range.end >= end && (last.is_empty() || !is_fence) {
                    unclosed = unclosed.min(range.start);
                }
                hidden.push(range);
            }
            Event::Start(Tag::HtmlBlock) | Event::InlineHtml(_) => {
                let mut at = range.start;
                while let Some(begin) = markdown[at..range.end].find("<!--") {
                    let begin = at + begin;
                    // `<!-->` is a whole one.
                    let close = markdown[begin + 2..range.end].find("-->");
                    at = close.map_or(range.end, |close| begin + 2 + close + 3);
                    if close.is_none() {
                        unclosed = unclosed.min(begin);
                    }
                    hidden.push(begin..at);
                }
            }
            _ => {}
        }
    }
    let mut text = String::with_capacity(markdown.len());
    let mut at = 0;
    for range in hidden {
        if range.start >= at {
            text.push_str(&markdown[at..range.start]);
            text.extend(
                markdown[range.clone()]
                    .chars()
                    .map(|c| if c == '\n' { c } else { ' ' }),
            );
            at = range.end;
        }
    }
    text.push_str(&markdown[at..]);
    VisibleText {
        text,
        unclosed: &markdown[unclosed..],
    }
}

/// An item of a list whose mark is unknown.
fn read_bare_item(line: &str) -> Option<ChecklistBox> {
    let marker = MARKER.captures(line)?;
    marker.name("bullet")?;
    let title = line[marker[0].trim_end_matches('[').len()..].trim();
    (!title.is_empty() && !line.trim_start().starts_with('>')).then(|| ChecklistBox {
        title: title.to_owned(),
        done: None,
    })
}

/// Reads an item of a list, a heading with a box, or a line about the status of its section.
fn parse_line(line: &str, section: &str) -> Option<ChecklistBox> {
    let mut body = line.trim_start_matches([' ', '\t', '>']);
    let (mut in_list, mut in_heading) = (false, false);
    // A list may begin within an item of another.
    while let Some(marker) = MARKER.captures(body).filter(|marker| !marker[0].is_empty()) {
        let bullet = marker.name("bullet");
        in_list |= bullet.is_some();
        in_heading |= marker.name("heading").is_some();
        body = &body[bullet
            .filter(|bullet| bullet.as_str().ends_with('['))
            .map_or(marker[0].len(), |bullet| bullet.start())..];
    }
    let unread_item = || ChecklistBox {
        title: body.to_owned(),
        done: None,
    };
    let quoted = line.trim_start().starts_with('>');
    if let Some(groups) = LABEL.captures(body).filter(|_| !quoted)
        && let Some(item) = parse_box(&groups["box"], false)
    {
        let title = format!("{} {}", strip_emphasis(&groups["label"]), item.title);
        return Some(ChecklistBox { title, ..item });
    }
    if let Some(item) = parse_box(body, in_list) {
        // A second box, which is open, takes a tick back, and so do a count and a word.
        let doubted = item.done == Some(true)
            && (mentions_open_box(&item.title)
                || mentions_open_word(&item.title)
                || counts_open(&item.title));
        return Some(if doubted { unread_item() } else { item });
    }
    if let Some(status) = STATUS.captures(body) {
        return Some(read_status_line(&status, section));
    }
    if quoted {
        return None;
    }
    let end_word = || read_end_word(body).filter(|_| in_heading);
    if let Some((title, done)) = read_end(body, in_heading).or_else(end_word) {
        let title = strip_emphasis(title);
        return match done {
            Some(_) if in_list || in_heading => Some(ChecklistBox { title, done }),
            // A sentence may end so.
            done => (done != Some(true)).then(unread_item),
        };
    }
    let listed = in_list && !line.starts_with([' ', '\t']);
    let mentioned = (listed && is_open_alone(section))
        || mentions_open_box(body)
        || body.starts_with(is_doubtful)
        || (in_list && body.starts_with(is_sign))
        || mentions_open_word(body);
    mentioned.then(unread_item)
}

/// A line `Status: …`, with the title before it, or that of its section.
fn read_status_line(status: &Captures<'_>, section: &str) -> ChecklistBox {
    let title = match strip_emphasis(&status["before"]) {
        before if before.is_empty() => section.to_owned(),
        before => before,
    };
    // Behind other keys than `status`, more than a word or two is prose.
    let is_prose = status.name("short").is_some() && status["words"].split_whitespace().count() > 2;
    let done = read_status(&status["words"]).filter(|_| !is_prose);
    let title = match done {
        None => format!("{title}: {}", strip_emphasis(&status["words"])),
        Some(_) => title,
    };
    ChecklistBox { title, done }
}

/// Reads a box or a sign at the end of a text: the text before it, and whether it says done or open.
fn read_end(body: &str, in_heading: bool) -> Option<(&str, Option<bool>)> {
    let plain = hide_code(body);
    let end = plain.trim_end_matches(|c: char| c.is_whitespace() || "*_~)\u{fe0f}".contains(c));
    let at = if end.ends_with(']') {
        let at = end.rfind('[')?;
        let before = end[..at].trim_end_matches('\\');
        before.ends_with([' ', '\t', '*', '_', '(']).then_some(at)?
    } else {
        end.char_indices().next_back()?.0
    };
    let title = body[..at].trim_end_matches('\\');
    let done = match parse_box(&body[at..end.len()], false) {
        // An empty list of a programming language looks like this.
        Some(_) if body[at..].starts_with("[]") && !in_heading => None,
        Some(item) => item.done,
        None => end[at..].starts_with(is_doubtful).then_some(None)?,
    };
    (!title.is_empty()).then_some((title, done))
}

/// Reads a box, or a sign of one, at the beginning of a text.
fn parse_box(text: &str, in_list: bool) -> Option<ChecklistBox> {
    let Some(groups) = BOX.captures(text) else {
        let (done, title) = read_sign(text)?;
        // Without a list it may be a word of joy.
        let title = strip_emphasis(title);
        return (in_list || !done || title.is_empty()).then_some(ChecklistBox {
            title,
            done: Some(done),
        });
    };
    let round = groups.name("round").filter(|_| in_list);
    let mark = groups.name("mark").or(round)?.as_str().trim();
    let title = strip_emphasis(&groups["title"]);
    let mut characters = mark.chars();
    let done = match (characters.next(), characters.next()) {
        // An empty box is open, however wide it is.
        (None, _) => Some(false),
        (Some('x' | 'X' | '✓' | '✔' | '✅' | '☑'), None) => Some(true),
        // In progress, postponed, cancelled, in question: not done.
        (Some(sign), None) if !sign.is_alphanumeric() => Some(false),
        _ => read_status(mark),
    };
    // A date, a version, a footnote, `[NOTE]`: in a list it may stand for a box.
    match done {
        Some(_) => Some(ChecklistBox { title, done }),
        None => in_list.then(|| ChecklistBox {
            title: format!("[{mark}] {title}"),
            done,
        }),
    }
}

fn strip_emphasis(text: &str) -> String {
    text.trim_matches(|c: char| c.is_whitespace() || "*_~(—–-".contains(c))
        .to_owned()
}

/// The table that a line stands in.
#[derive(Default)]
struct TableReader {
    /// The line before, which may be its head.
    before: String,
    /// The column of a status, below a head.
    status: Option<usize>,
    in_body: bool,
}

impl TableReader {
    /// The item of a row: a cell is a box or a sign, or the column of a status has a word. `None` outside of tables, too.
    fn read_row(&mut self, line: &str) -> Option<ChecklistBox> {
        let head = std::mem::replace(&mut self.before, line.to_owned());
        if !line.contains('|') {
            self.in_body = false;
            return None;
        }
        if TABLE_RULE.is_match(line) && head.contains('|') {
            let is_status = |cell: &String| {
                let name = cell.trim_end_matches('?').to_lowercase();
                matches!(
                    name.as_str(),
                    "status"
                        | "state"
                        | "done"
                        | "complete"
                        | "completed"
                        | "progress"
                        | "implemented"
                        | "result"
                        | "tested"
                        | "✓"
                        | "✅"
                )
            };
            self.status = split_cells(&head).iter().position(is_status);
            self.in_body = true;
            return None;
        }
        if !self.in_body && !line.trim_start_matches([' ', '>']).starts_with('|') {
            return None;
        }
        let cells = split_cells(line);
        let status = self.status.filter(|_| self.in_body);
        let read_cell = |(at, cell): (usize, &String)| {
            let done = match parse_box(cell, false) {
                Some(item) => return Some((at, item)),
                None if status == Some(at) && cell.is_empty() => Some(false),
                None if status == Some(at) => read_status(cell),
                None if is_open_alone(cell) => self.in_body.then_some(false),
                None if cell.starts_with(is_doubtful) || mentions_open_box(cell) => None,
                None => return None,
            };
            let title = String::new();
            Some((at, ChecklistBox { title, done }))
        };
        let marks: Vec<_> = cells.iter().enumerate().filter_map(read_cell).collect();
        // An open mark counts beside a ticked one, and the column of a status beside a doubtful sign.
        let ranked = marks.into_iter().min_by_key(|(at, item)| match item.done {
            Some(false) => 0,
            Some(true) if status == Some(*at) => 1,
            None if status != Some(*at) => 2,
            Some(true) => 3,
            None => 4,
        });
        let (at, item) = ranked?;
        if !item.title.is_empty() {
            return Some(item);
        }
        let named =
            |(column, cell): &(usize, &String)| *column != at && cell.contains(char::is_alphabetic);
        let title = cells
            .iter()
            .enumerate()
            .find(named)
            .map_or("", |(_, cell)| cell);
        let title = match item.done {
            None => format!("{title}: {}", cells[at]),
            Some(_) => title.to_owned(),
        };
        Some(ChecklistBox { title, ..item })
    }
}

fn split_cells(line: &str) -> Vec<String> {
    let line = line.trim_matches([' ', '\t', '>']);
    let line = line.strip_prefix('|').unwrap_or(line);
    line.strip_suffix('|')
        .unwrap_or(line)
        .split('|')
        .map(strip_emphasis)
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Open items as their titles, ticked ones in parentheses, those of unknown state behind `?`.
    #[track_caller]
    fn check(markdown: &str, wanted: &[&str]) {
        let titles: Vec<String> =
            (list_checklist_items(markdown, &["Optional".into(), "Nice to Have".into()])
                .into_iter())
            .map(|item| match item.done {
                Some(true) => format!("({})", item.title),
                Some(false) => item.title,
                None => format!("?{}", item.title),
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
            "- [NOTE] n\n- [2026-01-29] d\n- [v1.0] v\n- [#141] i\n- [1] f\n- [xx] y\n- [TODO] t\n- [done] u",
            &[
                "?[NOTE] n",
                "?[2026-01-29] d",
                "?[v1.0] v",
                "?[#141] i",
                "?[1] f",
                "?[xx] y",
                "t",
                "(u)",
            ],
        );
        check(
            "- [x](http://link)\n- [ ][ref]\n- [x]: url\nsee - [ ] in a line\n## [1.0.0] - 2026-01-29\n[note] text\n- - -\n* * *",
            &["?see - [ ] in a line"],
        );
    }

    #[test]
    fn open_tasks_count_in_other_writings() {
        for (markdown, wanted) in [
            (
                "- [x] one\n- [ ]two\n- [x]three",
                vec!["(one)", "two", "(three)"],
            ),
            (
                "[ ] two\n[x] three\n-[ ] four\n1.[ ] five",
                vec!["two", "(three)", "four", "five"],
            ),
            (
                "- **[ ]** two\n- **[x] three**\n* __[ ]__ four\n**[ ]** five\n- \\[ \\] six",
                vec!["two", "(three)", "four", "five", "six"],
            ),
            (
                "☐ two\n- ☐ three\n- ☑ four\n* ✅ five\n- ⬜ six\n- ⏳ seven\n✅ all is well",
                vec!["two", "three", "(four)", "(five)", "six", "seven"],
            ),
            (
                "### [ ] two\n### three [ ]\n## four ☐\n### [x] five\n## six ✅",
                vec!["two", "three", "four", "(five)", "(six)"],
            ),
            (
                "### One\n**Status**: done\n### Two\n**Status:** todo\n### Three — **Status**: In progress\n",
                vec!["(One)", "Two", "Three"],
            ),
            (
                "## A\nStatus: ✅ Done\n## B\n- Status: not started\n## C\nStatus: see above\n## D\nstatus = 80%",
                vec!["(A)", "B", "?C: see above", "D"],
            ),
            (
                "## E (Status: complete)\n## F\nStatus: complete except tests",
                vec!["(E)", "?F: complete except tests"],
            ),
            (
                "## A\nStatus: completed 3/10\n## B\nStatus: done (2 of 5)\n## C\nStatus: fixed in dev, failing in prod\n## D\nStatus: done, see a/b",
                vec![
                    "?A: completed 3/10",
                    "?B: done (2 of 5)",
                    "?C: fixed in dev, failing in prod",
                    "(D)",
                ],
            ),
            (
                "| Task | Done |\n|---|:-:|\n| one | [x] |\n| two | [ ] |\n| three | ☐ |\n| four | ✅ |\n| five | |\n| six | no |\n| seven | maybe |",
                vec![
                    "(one)",
                    "two",
                    "three",
                    "(four)",
                    "five",
                    "six",
                    "?seven: maybe",
                ],
            ),
            (
                "# | Task | Status\n--|--|--\n1 | one | Complete\n2 | two | **todo**\n\nno | row",
                vec!["(one)", "two"],
            ),
            ("| [ ] | two |\n| [x] | three |", vec!["two", "(three)"]),
            (
                "| Step | Note |\n|---|---|\n| one | a \\| b |\n| two | TODO |\n| three | open the door |",
                vec!["two"],
            ),
            (
                "| Step | Code | Tests |\n|---|---|---|\n| one | ✅ | ✅ |\n| two | ✅ | ⬜ |\n| three | ✅ | ❌ |",
                vec!["(one)", "two", "?three: ❌"],
            ),
            (
                "| Step | Breaks | Status |\n|---|---|---|\n| one | ❌ | done |\n| [x] two | | todo |",
                vec!["(one)", "[x] two"],
            ),
        ] {
            check(markdown, &wanted);
        }
    }

    #[test]
    fn boxes_behind_their_tasks_count_too() {
        for (markdown, wanted) in [
            (
                "1.1 [ ] a\n1.1. [ ] b\nT002 [ ] c\n- T003: [x] d\na. [ ] e\n(2) [ ] f\n- [2026-11-28] [ ] g\n- **T4** ☐ h",
                vec![
                    "1.1 a",
                    "b",
                    "T002 c",
                    "(T003: d)",
                    "e",
                    "f",
                    "[2026-11-28] g",
                    "T4 h",
                ],
            ),
            ("• [ ] a\n– [ ] b\n◦ [x] c", vec!["a", "b", "(c)"]),
            (
                "- a [ ]\n1. b - [ ]\n- c ☐\n- **D** — ☐\n- e ⬜\n- f \\[ \\]\n- g [x]\n- h ✅\n- i (☐)\n- j [pending]",
                vec!["a", "b", "c", "D", "e", "f", "(g)", "(h)", "i", "j"],
            ),
            (
                "- ( ) a\n- (x) b\n- <input type=\"checkbox\"> c\n<li><input checked type='checkbox'/> d</li>\n- &#9744; e\n- :white_check_mark: f",
                vec!["a", "(b)", "c", "(d)", "e", "(f)"],
            ),
            (
                "### A - PENDING\n### B — TODO\n### C: todo\n### D (WIP)\n### E - DONE\n### F: complete",
                vec!["A", "B", "C", "D", "(E)", "(F)"],
            ),
        ] {
            check(markdown, &wanted);
        }
    }

    #[test]
    fn doubtful_marks_are_told() {
        for line in [
            "- ❌ a",
            "- a ❌",
            "#### 2.1 a ❌",
            "- ☒ a",
            "- ✗ a",
            "✗ a",
            "- 🔴 a",
            "- ○ a",
            "- **TODO** a",
            "- TODO: a",
            "* TODO a",
            "- a (TODO)",
            "- a — in progress",
            "- (ongoing) a",
            "- [ ]: a",
            "- [ ](a)",
            "- Task: [ ] a",
            "a ☐",
            "- return []",
            "- [todo]: a",
            "- :x: a",
            "- [x] a, [ ] b",
            "TODO: a",
        ] {
            let items = list_checklist_items(line, &[]);
            assert!(
                matches!(&items[..], [ChecklistBox { done: None, .. }]),
                "{line}: {items:?}"
            );
        }
        check("## To Do\n- a\n  - why\n## Rules\n- b", &["?a"]);
    }

    #[test]
    fn mentions_in_prose_hold_no_plan() {
        check(
            "The TODO list is long.\nPending reviews go first.\n- Todo lists are shown\n- mark with `[ ]` or `- [ ]`\n- `<input type=\"checkbox\">`\n> a [ ]\n> T1 [ ] a\n- a `☐`\n- int[] b, string[]\n## Definition of done\n- use \"[ ]\" there",
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
        check(
            "- [x] b\n```\n- [ ] never closed",
            &["(b)", "?never closed"],
        );
        check("- [x] b\n<!-- x\n- [ ] c", &["(b)", "?c"]);
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
    fn fence_ends_with_its_item_or_quotation() {
        for hidden in [
            "- ```\n",
            "- [x] a\n    ```\n",
            "> ```\n> - [ ] code\n\n",
            "- [x] a <!-->\n",
            "- [x] a \\<!-- text\n",
        ] {
            let items = list_checklist_items(&format!("{hidden}- [ ] b\n"), &[]);
            let open = items.iter().filter(|item| item.done == Some(false));
            assert_eq!(open.count(), 1, "{hidden}: {items:?}");
        }
    }

    #[test]
    fn unknown_mark_beside_ticks_is_told() {
        for line in [
            "- <span>[ ]</span> b",
            "<details><summary>[ ] b</summary></details>",
            "- \u{200b}[ ] b",
            "- ［ ］ b",
            "- 【 】 b",
            "- [[ ]] b",
            "- [ ][ref] b",
            "- `[ ]` b",
            "- &#91; &#93; b",
            "- 🟦 b",
            "- × b",
            "<li><input\n type=\"checkbox\"> b</li>",
            "<ul><li><input type=\"checkbox\" checked> a</li><li><input type=\"checkbox\"> b</li></ul>",
            "### T2\nState: open",
            "### T2\n- Completed: No",
            "### T2\nProgress: 40%",
            "Status → todo",
            "### T2 | todo",
            "| Status | todo |",
            "|Task|Implemented|\n|-|-|\n|b|no|",
            "|Task|Result|\n|-|-|\n|b|FAIL|",
            "+---+---+\n| b | todo |\n+---+---+",
            "- [x] b (0/3 subtasks)",
            "- [x] b - NOT DONE, blocked",
        ] {
            let items = list_checklist_items(&format!("- [x] a\n{line}\n"), &[]);
            let is_shown = items.iter().any(|item| item.done != Some(true));
            assert!(is_shown, "{line}: {items:?}");
        }
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
        fn no_text_makes_the_reader_panic(text in "[-*x |:\\[\\]`~#<!>\\n\\r\u{e9}☐]{0,80}") {
            let _ = list_checklist_items(&text, &["x".into()]);
        }

        #[test]
        fn as_many_items_are_found_as_were_written(boxes in prop::collection::vec((any::<bool>(), 0..4_usize, "[a-z ]{0,9}[a-z]"), 0..20), crlf in any::<bool>()) {
            let end = if crlf { "\r\n" } else { "\n" };
            let text: String = boxes.iter()
                .map(|(done, depth, title)| format!("{}- [{}] {title}{end}", "  ".repeat(*depth), if *done { 'x' } else { ' ' }))
                .collect();
            let wanted: Vec<ChecklistBox> = boxes.iter().map(|(done, _, title)| ChecklistBox { title: title.trim().to_owned(), done: Some(*done) }).collect();
            prop_assert_eq!(list_checklist_items(&text, &[]), wanted);
        }
    }
}
