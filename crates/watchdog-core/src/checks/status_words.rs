//! Reads a word or a sign for the state of a task, as people write them beside it.

/// Signs of an open box, or of work that goes on.
const OPEN_SIGNS: &str = "☐⬜◻□▢🔲⏳🔄🚧";
const DONE_SIGNS: &str = "☑✅✔✓";
/// In the place of a status alone: in a list they stand before a rule, too.
const FAILED_SIGNS: &str = "❌✗✘☒🔴🟡";

/// Words of a task that is done, and words behind one of them that take it back.
const DONE: &str =
    "done|complete|completed|finished|closed|merged|resolved|shipped|implemented|fixed|yes|x";
const TAKEN_BACK: [&str; 10] = [
    "except", "but", "partial", "not", "?", "pending", "todo", "fail", "left", "remain",
];
const OPEN: &str = "todo|to do|to-do|open|pending|in progress|in-progress|in_progress|in review|wip|doing|started|ongoing|not|blocked|planned|\
    next|waiting|partial|partially|incomplete|unfinished|ready|backlog|queued|on hold|deferred|tbd|no|active|assigned|upcoming|scheduled|failed|failing";
/// Words that say it wherever they stand alone.
const OPEN_ALONE: &str =
    "todo|to do|to-do|wip|in progress|in-progress|in_progress|not started|pending|blocked";

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
        // "Completed 3/10" and "done (2 of 5)" count what is open, too.
        let numbers = behind.replace(" of ", "/");
        let counts = numbers.split_once('/').is_some_and(|(before, after)| {
            before.ends_with(|c: char| c.is_ascii_digit())
                && after.starts_with(|c: char| c.is_ascii_digit())
        });
        let is_taken_back = TAKEN_BACK.iter().any(|word| behind.contains(word));
        return (!counts && !is_taken_back).then_some(true);
    }
    begins(OPEN).map(|_| false)
}

/// Whether a cell says by itself that its row is open.
pub(super) fn is_open_alone(cell: &str) -> bool {
    OPEN_ALONE
        .split('|')
        .any(|word| cell.trim_matches('`').eq_ignore_ascii_case(word))
}
