//! Finds the answer in prose: the last independent and usable JSON object.
//!
//! These count
//! - An object anywhere in the text, bare or in a fence whose whole body is JSON, whatever its tag (logs and shells aside).
//! - The last usable one wins.
//!
//! These do not, because they are quoted or a part of something bigger
//! - An object within another object or array; within a balanced `{…}` that is not JSON; within one that never closes,
//!   unless it starts a line of its own and is not the value of a member.
//! - Quotations: lines that begin with `>`; objects in quotation marks; in a fence together with other text (a log);
//!   after a time stamp, a log level or a shell prompt on its line; in tags like `<stdout>`; in HTML comments;
//!   in a code span within a sentence.
//! - An earlier `complete` before an object with a status that is cut off, or in something that never closes: the final status is unknown
//!   then.
//!
//! The scan makes a single pass from front to back. Attempts that fail cost work, and work is
//! bounded in proportion to the text.

use std::ops::Range;

use serde_json::{Map, Value};

use super::reply_json::{JsonReadError, ReadBudget, closing_brace, value_at};
use watchdog_facts::patterns::FixedPattern;
use watchdog_process::plain_text::PlainText;

/// The result of a scan.
pub(super) enum ReplyScan<T> {
    /// The last usable object with its place in the text, and whether a later one with a status is cut off.
    Found {
        answer: T,
        at: Range<usize>,
        later_one_cut: bool,
    },
    /// The output has no usable reply; the reason is for people.
    Nothing { why: String },
}

/// Every significant token. The first byte of a match identifies it.
static EVENT: FixedPattern = FixedPattern::new(concat!(
    r"(?m)^[ \t]*>[^\n]*",
    r"|(?:`{3,}|~{3,})[^\n`~{}\[\]]*$",
    r"|<!--|<(?:stdout|stderr|output|log|logs|tool_result|tool_output|function_results|local-command-stdout|system-reminder)>",
    r"|[\[{]",
));

/// A line of a fence, with its ticks and what follows them.
static FENCE_LINE: FixedPattern = FixedPattern::new(r"(?m)(`{3,}|~{3,})([^\n`~{}\[\]]*)$");

/// The start of a line of a log or of a shell session.
static LOG_PREFIX: FixedPattern = FixedPattern::new(
    r"^\s*(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:|\[?\d\d:\d\d:\d\d|\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL)\b|\$ |(?:curl|echo|printf|cat) )",
);

/// The start of an intended structure: a quoted or bare key.
static MEANT_AS_MEMBER: FixedPattern = FixedPattern::new(r#"^\{\s*(?:["'/]|\w+\s*:)"#);

/// Tags of fences whose content was printed by something else.
const LOG_TAGS: &[&str] = &[
    "log",
    "logs",
    "console",
    "terminal",
    "shell",
    "sh",
    "bash",
    "zsh",
    "shell-session",
    "diff",
    "http",
    "stdout",
    "stderr",
    "output",
];

/// Looks for the last object with a member `key` that `usable` accepts. `usable` says why it refuses one.
pub(super) fn last_object<T>(
    input: &PlainText,
    key: &str,
    usable: impl FnMut(&Map<String, Value>) -> Result<T, String>,
) -> ReplyScan<T> {
    let mut scanner = ReplyScanner {
        text: &input.text,
        key,
        at: 0,
        line: LineStart::default(),
        // Text before the window may have opened a structure.
        within_unclosed: input.cut,
        window_cut: input.cut,
        braces: None,
        no_more: Vec::new(),
        work: ReadBudget::for_text(input.text.len()),
        usable,
        answer: None,
        later_one_cut: false,
        why: None,
    };
    let spent = scanner.run() == Err(JsonReadError::Spent);
    match scanner.answer {
        // The final status may be in the rest.
        _ if spent => ReplyScan::Nothing {
            why: "the output is too tangled to be read".into(),
        },
        Some((answer, at)) => ReplyScan::Found {
            answer,
            at,
            later_one_cut: scanner.later_one_cut,
        },
        None if scanner.later_one_cut => ReplyScan::Nothing {
            why: "the answer is cut off".into(),
        },
        None => ReplyScan::Nothing {
            why: scanner
                .why
                .unwrap_or_else(|| format!("there is no JSON object with a {key} in it")),
        },
    }
}

/// Finds the start of a position's line, for positions that only grow.
#[derive(Default)]
struct LineStart {
    start: usize,
    seen: usize,
}

impl LineStart {
    fn advance_to(&mut self, text: &str, at: usize) -> usize {
        if let Some(feed) = text[self.seen..at].rfind('\n') {
            self.start = self.seen + feed + 1;
        }
        self.seen = at;
        self.start
    }
}

struct ReplyScanner<'a, T, F> {
    text: &'a str,
    /// The member that marks an answer.
    key: &'a str,
    at: usize,
    line: LineStart,
    within_unclosed: bool,
    window_cut: bool,
    /// For each opening brace the position after its partner, quotation marks not minded. Made when first needed.
    braces: Option<Vec<(u32, u32)>>,
    /// Closing marks that were looked for and are not there any more.
    no_more: Vec<&'a str>,
    work: ReadBudget,
    usable: F,
    answer: Option<(T, Range<usize>)>,
    later_one_cut: bool,
    why: Option<String>,
}

impl<T, F: FnMut(&Map<String, Value>) -> Result<T, String>> ReplyScanner<'_, T, F> {
    fn run(&mut self) -> Result<(), JsonReadError> {
        while let Some(event_match) = EVENT.find_at(self.text, self.at) {
            let (start, end) = (event_match.start(), event_match.end());
            match self.text.as_bytes()[start] {
                b'{' => self.object(start)?,
                b'[' => self.array(start)?,
                b'`' | b'~' => self.fence(start, end)?,
                b'<' => self.tag(start, end),
                _ => self.at = end,
            }
        }
        Ok(())
    }

    fn object(&mut self, start: usize) -> Result<(), JsonReadError> {
        let next = self.text[start + 1..].trim_start().as_bytes().first();
        if !matches!(next, Some(b'"' | b'/' | b'}')) {
            return self.not_json(start);
        }
        match value_at(self.text, start, &mut self.work) {
            Ok((value, end)) => {
                if self.stands_for_itself(start, end, &value) {
                    self.consider(&value, start..end);
                }
                self.at = end + count_ticks(&self.text[end..]);
                Ok(())
            }
            Err(JsonReadError::Cut) => self.cut_off(start),
            Err(JsonReadError::Broken) => self.not_json(start),
            Err(JsonReadError::TooDeep(at)) => self.too_deep(start, at),
            Err(JsonReadError::Spent) => Err(JsonReadError::Spent),
        }
    }

    /// Continues behind a part that is nested too deep, so that it is read only once.
    fn too_deep(&mut self, start: usize, at: usize) -> Result<(), JsonReadError> {
        self.holds_the_key(start..at)?;
        self.within_unclosed = true;
        self.at = at;
        Ok(())
    }

    fn cut_off(&mut self, start: usize) -> Result<(), JsonReadError> {
        self.holds_the_key(start..self.text.len())?;
        self.within_unclosed = true;
        self.at = start + 1;
        Ok(())
    }

    /// Looks whether an answer may have begun in a part that is no whole value.
    fn holds_the_key(&mut self, part: Range<usize>) -> Result<(), JsonReadError> {
        self.work.spend(part.len())?;
        self.later_one_cut |= self.text[part].contains(&format!("\"{}\"", self.key));
        Ok(())
    }

    /// A brace that opens no JSON: skips its content, since an object in there is part of it.
    fn not_json(&mut self, start: usize) -> Result<(), JsonReadError> {
        let meant =
            MEANT_AS_MEMBER.is_match(&self.text[start..self.text.floor_char_boundary(start + 256)]);
        let plain = self.closing_brace_in_prose(start);
        let minded = if meant {
            closing_brace(self.text, start, &mut self.work)?
        } else {
            None
        };
        match plain.max(minded) {
            Some(end) => self.at = end,
            None => {
                self.within_unclosed |= meant;
                self.at = start + 1;
            }
        }
        Ok(())
    }

    fn array(&mut self, start: usize) -> Result<(), JsonReadError> {
        match value_at(self.text, start, &mut self.work) {
            Ok((_, end)) => self.at = end,
            Err(JsonReadError::Spent) => return Err(JsonReadError::Spent),
            Err(JsonReadError::TooDeep(at)) => self.too_deep(start, at)?,
            Err(JsonReadError::Broken | JsonReadError::Cut) => {
                // Brackets are common in prose; this one encloses something only if an object follows it at once.
                self.within_unclosed |= self.text[start + 1..].trim_start().starts_with('{');
                self.at = start + 1;
            }
        }
        Ok(())
    }

    fn fence(&mut self, start: usize, end: usize) -> Result<(), JsonReadError> {
        let (mark, tag) = fence_parts(&self.text[start..end]);
        let body = (end + 1).min(self.text.len());
        if !LOG_TAGS.contains(&tag.to_ascii_lowercase().as_str())
            && let Some((objects, after)) = self.only_json(body, mark)?
        {
            for value in objects {
                self.consider(&value, start..after);
            }
            self.at = after;
            return Ok(());
        }
        for line in FENCE_LINE.captures_iter(&self.text[body..]) {
            let whole = line.get(0).expect("group 0 is the match");
            if !line[1].starts_with(mark) {
                continue;
            }
            self.work.spend(whole.end())?;
            // A tag on the next mark: this one closed a fence whose opening is not in sight.
            self.at = if line[2].trim().is_empty() {
                body + whole.end()
            } else {
                end
            };
            return Ok(());
        }
        self.work.spend(self.text.len() - body)?;
        // It never closes. All that follows is its body, unless its opening was before the window; a status in it may be the last word.
        self.later_one_cut |= self.text[body..].contains(&format!("\"{}\"", self.key));
        self.at = if self.window_cut && tag.is_empty() {
            end
        } else {
            self.text.len()
        };
        Ok(())
    }

    /// The objects of a fence that holds nothing else, and the position after its end.
    fn only_json(
        &mut self,
        body: usize,
        mark: &str,
    ) -> Result<Option<(Vec<Value>, usize)>, JsonReadError> {
        let mut objects = Vec::new();
        let mut at = body;
        loop {
            at = self.text.len() - self.text[at..].trim_start().len();
            let remaining_text = &self.text[at..];
            if remaining_text.starts_with('{') {
                match value_at(self.text, at, &mut self.work) {
                    Ok((value, end)) => {
                        objects.push(value);
                        at = end;
                        continue;
                    }
                    Err(JsonReadError::Cut) => {
                        self.later_one_cut |= remaining_text.contains(&format!("\"{}\"", self.key));
                        return Ok(None);
                    }
                    Err(JsonReadError::Broken | JsonReadError::TooDeep(_)) => return Ok(None),
                    Err(JsonReadError::Spent) => return Err(JsonReadError::Spent),
                }
            }
            let closed = remaining_text.starts_with(mark);
            if objects.is_empty() || !(closed || remaining_text.is_empty()) {
                return Ok(None);
            }
            return Ok(Some((objects, at + count_ticks(remaining_text))));
        }
    }

    /// Skips the text between an opening tag and its end, if it has one.
    fn tag(&mut self, start: usize, end: usize) {
        let text = self.text;
        let open = &text[start..end];
        self.at = end;
        if self.no_more.contains(&open) {
            return;
        }
        let close = if open == "<!--" {
            "-->".to_owned()
        } else {
            open.replacen('<', "</", 1)
        };
        match text[end..].find(&close) {
            Some(n) => self.at = end + n + close.len(),
            None => self.no_more.push(open),
        }
    }

    fn stands_for_itself(&mut self, start: usize, end: usize, value: &Value) -> bool {
        let line = self.line.advance_to(self.text, start);
        if value.get(self.key).is_none() {
            return true;
        }
        let before = &self.text[line..start];
        let after = &self.text[end..];
        if self.within_unclosed {
            let previous = self.text[..line].trim_end();
            let member = previous.ends_with(['[', ','])
                || previous.ends_with("\":")
                || previous.ends_with("':");
            if !before.trim().is_empty() || member {
                // The text around it has no end, so it may as well be the last word.
                self.later_one_cut = true;
                return false;
            }
        }
        let quoted = [("\"", "\""), ("'", "'"), ("“", "”"), ("‘", "’")];
        if quoted
            .iter()
            .any(|(open, close)| before.ends_with(open) && after.starts_with(close))
        {
            return false;
        }
        if before.ends_with('`') && after.starts_with('`') {
            let label = before.trim_end_matches('`').trim();
            let follows = after
                .trim_start_matches('`')
                .lines()
                .next()
                .unwrap_or_default()
                .trim();
            return (label.is_empty() || label.ends_with(':'))
                && (follows.is_empty() || follows == ".");
        }
        !LOG_PREFIX.is_match(&before[..before.floor_char_boundary(80)])
    }

    fn consider(&mut self, value: &Value, at: Range<usize>) {
        let Some(object) = value.as_object() else {
            return;
        };
        if !object.contains_key(self.key) {
            return;
        }
        match (self.usable)(object) {
            Ok(answer) => {
                self.answer = Some((answer, at));
                self.later_one_cut = false;
            }
            Err(why) => self.why = Some(why),
        }
    }

    fn closing_brace_in_prose(&mut self, start: usize) -> Option<usize> {
        let braces = self.braces.get_or_insert_with(|| brace_pairs(self.text));
        let pair_index = braces
            .binary_search_by_key(&(start as u32), |(open, _)| *open)
            .ok()?;
        Some(braces[pair_index].1 as usize)
    }
}

/// Pairs of an opening brace and the position after its partner, in order of the opening ones. The window keeps positions in `u32`.
fn brace_pairs(text: &str) -> Vec<(u32, u32)> {
    let mut open = Vec::new();
    let mut pairs = Vec::new();
    for (i, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => open.push(i as u32),
            b'}' => pairs.extend(open.pop().map(|start| (start, i as u32 + 1))),
            _ => {}
        }
    }
    pairs.sort_unstable();
    pairs
}

/// The ticks of a fence's line, and its tag.
fn fence_parts(line: &str) -> (&str, &str) {
    let first = if line.starts_with('~') { '~' } else { '`' };
    let tag = line.trim_start_matches(first);
    (
        &line[..line.len() - tag.len()],
        tag.split_whitespace().next().unwrap_or_default(),
    )
}

/// How many bytes of blanks and ticks follow on the same line, if ticks follow.
fn count_ticks(line_rest: &str) -> usize {
    let marks = line_rest.trim_start_matches([' ', '\t']);
    let first = if marks.starts_with('~') { '~' } else { '`' };
    let after = marks.trim_start_matches(first);
    if after.len() == marks.len() {
        0
    } else {
        line_rest.len() - after.len()
    }
}
