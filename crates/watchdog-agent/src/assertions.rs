//! Finds the sentences of an agent's words that assert something it did. Pure, English.
//!
//! Code blocks, quotations, open boxes, questions, denials, conditions, plans, instructions, hearsay and doubts assert nothing.

use std::sync::LazyLock;

use regex::Regex;

use super::claim_words::compile_words;

/// The end of a sentence or a clause.
static ENDS: LazyLock<Regex> = LazyLock::new(|| {
    compile_words(
        r"[.!?;](?:\s|$)|\s[–—]\s|,\s+(?:but|then|and (?:then )?(?:pushed|committed|created|added|wrote))\b",
    )
});
/// Words of a sentence that asserts no action of this session.
static NO_CLAIM: LazyLock<Regex> = LazyLock::new(|| {
    compile_words(concat!(
        r"\b(?:not|no|nor|never|nothing|none|neither|without|cannot|unable|fail(?:s|ed)? to|incomplete|unfinished|pending",
        r"|already|before|previous(?:ly)?|earlier|ago",
        r"|would|will|shall|should|could|may|might|must|can|if|when|once|unless|until|whether|assuming|instead|except|apart from|other than|almost|part(?:ial)?ly|half",
        r"|likely|probably|seems?|appears?|think|believe|expect\w*|sa(?:id|ys?)|states?|claim\w*|report\w*|according|example|by \w+",
        r"|to be|makes?|get|so that|going to|about to|ready|tr(?:y|ied|ying)|need\w*|require[ds]?|goals?|aims?|task|policy|acceptance|definition|checklist|message|ask\w*|wants?|let|you|next|to-?do|remaining|plan\w*|criteria|steps|ensure|sure|verify)\b|n['’]t\b|['’]ll\b",
        r"|^\W*(?:in|for|with|inside|within|under|on|at|run|push|open|create|write|add|fix|commit (?:and|the|your|this|it|all))\b",
    ))
});
/// Texts that are put in the place of others before the words are read: names, code and quotations say nothing themselves, and some
/// phrases with a negation deny nothing.
static MASKS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    [
        (r"`(?:main|master|origin|upstream)(?:[/ ][^`\s]+)?`|\borigin/\w\S*", " origin "),
        (
            r#"`[^`\n]*`|"[^"\n]*"|“[^”\n]*”|\S*\w/\w\S*[/.]\S*|\S*[\w-]\.[a-z]\w*|\bhttps?:\S+"#,
            " snippet ",
        ),
        (r"\*\*|__", ""),
        (
            r"\b(?:with )?(?:no|zero|0|without(?: any)?) (?:\w+ )?(?:errors?|warnings?|failures?|failed|issues?|skipped)\b",
            " ",
        ),
        (
            r"\bnothing (?:(?:is |was )?(?:left|else|more|remains) )?to commit\b|\b(?:no|zero) (?:uncommitted|pending|outstanding) (?:changes|files)(?: (?:remain|left))?\b",
            " clean_tree ",
        ),
        (
            r"\bnothing (?:is |was )?(?:left|else|more|remains)(?: left)? to (?:do|be done|implement|fix|finish)\b|\bno (?:remaining|open) (?:work|tasks|items|steps)(?: (?:remain|left))?\b",
            " nothing_left ",
        ),
    ]
    .map(|(pattern, word)| (compile_words(pattern), word))
    .into()
});

/// The text with words in the place of names, code and quotations, and without harmless negations.
fn mask_words(text: &str) -> String {
    let text = MASKS
        .iter()
        .fold(text.to_ascii_lowercase(), |text, (mask, word)| {
            mask.replace_all(&text, *word).into_owned()
        });
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The sentences of a text.
#[derive(Default)]
pub(super) struct Sentences<'a> {
    /// Those that assert something: as they stand, and masked in lower case.
    pub assertions: Vec<(&'a str, String)>,
    /// All of them, masked, one a line.
    pub masked: String,
}

/// Reads the sentences of a text.
pub(super) fn read_sentences(text: &str) -> Sentences<'_> {
    let (mut sentences, mut in_fence, mut in_doubt) = (Sentences::default(), false, false);
    for line in text.lines() {
        let bare = line.trim_start();
        if bare.starts_with("```") || bare.starts_with("~~~") {
            in_fence = !in_fence;
            continue;
        }
        let is_item = bare.starts_with(['-', '*', '+', '•']) && !bare.starts_with("**")
            || bare.starts_with(|c: char| c.is_ascii_digit()) && bare.contains(". ");
        if !bare.is_empty() && !is_item {
            // The items below a doubtful line share its doubt.
            let leads = !bare.trim_end_matches(['*', ' ']).ends_with('.');
            in_doubt = leads && NO_CLAIM.is_match(&bare.to_ascii_lowercase());
        }
        let is_silent = in_fence
            || bare.starts_with('>')
            || line.starts_with("    ")
            || is_item && (in_doubt || bare.contains("[ ]"));
        let mut from = 0;
        let ends = ENDS.find_iter(line).map(|end| (end.start(), end.as_str()));
        for (end, mark) in ends.chain([(line.len(), "")]) {
            let raw = &line[from..end];
            from = end;
            let masked = mask_words(raw);
            sentences.masked.push_str(&masked);
            sentences.masked.push('\n');
            if !is_silent && !mark.starts_with('?') && !NO_CLAIM.is_match(&masked) {
                sentences.assertions.push((raw, masked));
            }
        }
    }
    sentences
}
