//! Reads a word or a sign for the state of a task, as people write them beside it.

use std::sync::LazyLock;

use regex::Regex;
use watchdog_facts::patterns::{FixedPattern, compile_fixed};

/// Signs of an open box, or of work that goes on.
const OPEN_SIGNS: &str = "☐⬜◻□▢🔲⏳🔄🚧";
const DONE_SIGNS: &str = "☑✅✔✓";
/// Open in the place of a status alone: in a list they stand before a rule, too, and for some `☒` is done.
const FAILED_SIGNS: &str = "❌✗✘☒🔴🟡🟠○◯⚪⭕";
/// Other writings of signs.
const WRITINGS: [(&str, &str); 17] = [
    ("\u{200b}", ""),
    ("\u{feff}", ""),
    ("&#91;", "["),
    ("&#93;", "]"),
    ("［", "["),
    ("］", "]"),
    ("：", ":"),
    ("&#9744;", "☐"),
    ("&#x2610;", "☐"),
    ("&#9745;", "☑"),
    (":white_large_square:", "⬜"),
    (":black_square_button:", "🔲"),
    (":construction:", "🚧"),
    (":hourglass_flowing_sand:", "⏳"),
    (":x:", "❌"),
    (":white_check_mark:", "✅"),
    (":heavy_check_mark:", "✔"),
];

/// Words of a task that is done, and words behind one of them that take it back.
const DONE: &str = "done|complete|completed|finished|closed|merged|resolved|shipped|implemented|fixed|pass|passed|true|yes|x";
const TAKEN_BACK: [&str; 10] = [
    "except", "but", "partial", "not", "?", "pending", "todo", "fail", "left", "remain",
];
const OPEN: &str = "todo|to do|to-do|open|pending|in progress|in-progress|in_progress|in review|wip|doing|started|ongoing|not|blocked|planned|\
    next|waiting|partial|partially|incomplete|unfinished|ready|backlog|queued|on hold|deferred|tbd|no|active|assigned|upcoming|scheduled|fail|failed|failing|false";
/// Words that say it wherever they stand alone.
const OPEN_ALONE: &str = "todo|to do|to-do|wip|in progress|in-progress|in_progress|not started|not done|pending|blocked|ongoing|incomplete|unfinished";

/// An open box in a text, which no letter touches.
static OPEN_BOX: FixedPattern =
    FixedPattern::new(r"(?:^|[\s*_~(\\])(?:\[\s+\\?\]|\(\s+\))(?:[\s*_~.,;:()]|$)|[☐⬜◻▢🔲]");

/// A word of a state at a text's begin: in capitals, within signs or before one.
static BEGIN_WORD: LazyLock<Regex> = LazyLock::new(|| {
    let words = format!(
        r"^[*_\s]*(?:(?-i:TODO|WIP|PENDING)\b|[*_(\[]+(?:{OPEN_ALONE})[*_)\]:]|(?:{OPEN_ALONE})(?:\s*[:—–]|\s+-\s))"
    );
    compile_fixed(&format!("(?i){words}"))
});

/// A word of a state at a text's end, behind a sign.
static END_WORD: LazyLock<Regex> = LazyLock::new(|| {
    compile_fixed(&format!(
        r"(?i)(?:[(\[:—–,|]|\s-\s|\*\*)[\s*_]*(?P<word>{OPEN_ALONE}|done|completed?|finished)[*_)\]]*$"
    ))
});

static CODE: FixedPattern = FixedPattern::new("`+[^`]+`+");
static INPUT: FixedPattern = FixedPattern::new(r"(?i)<input\b[^<>]*\bcheckbox\b[^<>]*>");
static TAG: FixedPattern = FixedPattern::new("</?[a-zA-Z][^<>]*>");

/// A text whose checkboxes of HTML, entities and short codes are written as boxes and signs, without the tags of their lines.
pub(super) fn write_boxes(text: &str) -> String {
    let text = (WRITINGS.iter()).fold(text.to_owned(), |text, (code, sign)| {
        text.replace(code, sign)
    });
    let input = |tag: &regex::Captures<'_>| tag[0].replace('\n', " ");
    let text = INPUT.replace_all(&text, input);
    let lines = text.lines().map(|line| {
        let plain = hide_code(line);
        let has_box = INPUT.is_match(&plain) || (TAG.is_match(&plain) && plain.contains('['));
        if !has_box {
            return line.to_owned();
        }
        let boxes = INPUT.replace_all(line, |input: &regex::Captures<'_>| {
            let ticked = input[0].to_lowercase().contains(" checked");
            if ticked { "[x]" } else { "[ ]" }
        });
        TAG.replace_all(&boxes, " ").trim().to_owned()
    });
    lines.map(|line| line + "\n").collect()
}

/// A text of the same length, whose code between backticks says nothing.
pub(super) fn hide_code(text: &str) -> String {
    CODE.replace_all(text, |code: &regex::Captures<'_>| "`".repeat(code[0].len()))
        .into_owned()
}

/// Whether a sign stands for a failure here, for a rule there.
pub(super) fn is_doubtful(sign: char) -> bool {
    FAILED_SIGNS.contains(sign)
}

/// Whether it is a sign and no letter, number or punctuation of a text.
pub(super) fn is_sign(sign: char) -> bool {
    matches!(sign, '×' | '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

/// Whether a text counts what is done, and that is not all: "3/10", "2 of 5".
pub(super) fn counts_open(text: &str) -> bool {
    static COUNT: FixedPattern =
        FixedPattern::new(r"(?:^|[\s(\[])(\d{1,6})\s*(?:/|of)\s*(\d{1,6})(?:[\s)\],.]|$)");
    COUNT.captures_iter(text).any(|count| {
        let number = |n: usize| count[n].parse::<u32>().unwrap_or_default();
        number(1) < number(2)
    })
}

/// Whether a text has an open box in it.
pub(super) fn mentions_open_box(text: &str) -> bool {
    OPEN_BOX.is_match(&hide_code(text))
}

/// Whether a text begins or ends with a word for open, as a mark beside it.
pub(super) fn mentions_open_word(text: &str) -> bool {
    BEGIN_WORD.is_match(&hide_code(text))
        || read_end_word(text).is_some_and(|(_, done)| done == Some(false))
}

/// The text before a word of a state at its end, and whether that word says done.
pub(super) fn read_end_word(text: &str) -> Option<(&str, Option<bool>)> {
    let plain = hide_code(text);
    let groups = END_WORD.captures(&plain)?;
    let before = text[..groups.get(0)?.start()].trim_end();
    (!before.is_empty()).then(|| (before, read_status(&groups["word"])))
}

/// The sign at the beginning of a text, and the text behind it.
pub(super) fn read_sign(text: &str) -> Option<(bool, &str)> {
    let text = text.trim_start_matches(['*', '_', ' ']);
    let sign = text.chars().next()?;
    let done = match (OPEN_SIGNS.contains(sign), DONE_SIGNS.contains(sign)) {
        (true, _) => false,
        (_, true) => true,
        _ => return None,
    };
    Some((done, text[sign.len_utf8()..].trim_start_matches('\u{fe0f}')))
}

/// Whether the words say that a task is done, or open; `None` where they say neither.
pub(super) fn read_status(words: &str) -> Option<bool> {
    if let Some((done, _)) = read_sign(words) {
        return Some(done);
    }
    let words = words
        .trim_start_matches(['*', '_', ' ', '`'])
        .to_lowercase();
    if words.starts_with(|sign| FAILED_SIGNS.contains(sign)) {
        return Some(false);
    }
    if let Some((percent, _)) = words.split_once('%') {
        return percent
            .trim()
            .parse::<u32>()
            .ok()
            .map(|percent| percent >= 100);
    }
    let words = words.trim_start_matches(|c: char| !c.is_alphanumeric());
    let begins = |list: &'static str| {
        list.split('|').find_map(|word| {
            let behind = words.strip_prefix(word.trim_start())?;
            (!behind.starts_with(char::is_alphanumeric)).then_some(behind)
        })
    };
    if let Some(behind) = begins(DONE) {
        let is_taken_back = TAKEN_BACK.iter().any(|word| behind.contains(word));
        return (!counts_open(behind) && !is_taken_back).then_some(true);
    }
    begins(OPEN).map(|_| false)
}

/// Whether a cell says by itself that its row is open.
pub(super) fn is_open_alone(cell: &str) -> bool {
    OPEN_ALONE
        .split('|')
        .any(|word| (cell.trim_matches(|c: char| !c.is_alphanumeric())).eq_ignore_ascii_case(word))
}
