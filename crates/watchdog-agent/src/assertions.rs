//! Finds the sentences of an agent's words that assert something it did. Pure, English.
//!
//! Code blocks, quotations, open boxes, questions, denials, conditions, plans, instructions, hearsay and doubts assert nothing.

use std::sync::LazyLock;

use regex::Regex;

use watchdog_facts::evidence::ReplyStatus;

use super::reply_doubt::find_denial;

pub(super) fn compile_regex(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is a constant")
}

/// The end of a sentence or a clause.
static ENDS: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(
        r"[.!?;](?:\s|$)|\s[–—]\s|,\s+(?:but|then|and (?:then )?(?:pushed|committed|created|added|wrote))\b",
    )
});
/// Words of a sentence that asserts no action of this session.
static NO_CLAIM: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(concat!(
        r"(?i)\b(?:not|no|nor|never|nothing|none|neither|without|cannot|unable|failed to|fails to|skipped|rejected|refused|blocked|uncommitted|unpushed",
        r"|already|before|previous(?:ly)?|earlier|ago|yesterday|last (?:week|month|year|time|night|session)",
        r"|would|will|shall|should|could|may|might|must|can|if|when|once|unless|until|whether|assuming|instead",
        r"|except|apart from|other than|almost|nearly|mostly|part(?:ial)?ly|half",
        r"|hopefully|likely|probably|presumably|apparently|seems?|appears?|think|believe|assume|expect(?:ed|s)?|supposed",
        r"|says?|said|states?|stated|claims?|claimed|reports?|reported|according|example|e\.g|by (?:(?-i:[A-Z])\w*|some\w*|another|others?|the|an?)",
        r"|to be|to make|makes?|making|get|getting|so that|going to|about to|ready to|tr(?:y|ied|ying)|attempt(?:s|ed|ing)?|needs?|needed|required?|asked|wants?|let me|let['’]s|you|next|todo|to[- ]do|remaining|plan(?:s|ned)?|criteria|goal|steps",
        r"|ensure|make sure|verify|confirm|remember|please|temporary)\b|n['’]t\b|['’]ll\b",
        r"|^\W*(?:run|push|open|create|write|add|fix|commit (?:and|the|your|this|it|all))\b",
    ))
});
/// Texts that are put in the place of others before the words are read: names, code and quotations say nothing themselves, and some
/// phrases with a negation deny nothing.
static MASKS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    [
        (r"`[^`\n]*\b(?:clippy|eslint|ruff|lint)\b[^`\n]*`", " lint "),
        (r"`[^`\n]*\b(?:tests?|pytest|jest|vitest|rspec|ctest)\b[^`\n]*`", " tests "),
        (r"`[^`\n]*\bbuild\b[^`\n]*`", " build "),
        (r#"`[^`\n]*`|"[^"\n]*"|“[^”\n]*”|\S*\w/\w\S*[/.]\S*|\S*[\w-]\.[A-Za-z]\w*|\bhttps?:\S+"#, " snippet "),
        (r"\*\*|__", ""),
        (
            r"(?i)\b(?:with )?(?:no|zero|0|without(?: any)?) (?:\w+ )?(?:errors?|warnings?|failures?|failed|issues?|problems?|conflicts?|regressions?)\b",
            " ",
        ),
        (
            r"(?i)\b(?:nothing(?: is| else)?(?: is)? (?:left|remain(?:s|ing)?|outstanding)|(?:there (?:is|are) )?no(?: other)? (?:remaining|open|outstanding|further|more) (?:work|tasks?|items?|todos?|steps?))\b(?: (?:to do|to be done|remains?|left|is|are|needed))*",
            " all_finished ",
        ),
    ]
    .map(|(pattern, word)| (compile_regex(pattern), word))
    .into()
});

/// The text with words in the place of names, code and quotations, and without harmless negations.
pub(super) fn mask_words(text: &str) -> String {
    MASKS.iter().fold(text.to_owned(), |text, (mask, word)| {
        mask.replace_all(&text, *word).into_owned()
    })
}

/// A sentence that asserts something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Assertion<'a> {
    /// As it stands in the text.
    pub raw: &'a str,
    /// The same behind [`mask_words`].
    pub plain: String,
}

/// The sentences of a text that assert something.
pub(super) fn list_assertions(text: &str) -> Vec<Assertion<'_>> {
    let (mut assertions, mut in_fence, mut in_doubt) = (Vec::new(), false, false);
    for line in text.lines() {
        let bare = line.trim_start();
        if bare.starts_with("```") || bare.starts_with("~~~") {
            in_fence = !in_fence;
            continue;
        }
        let is_item = bare.starts_with(['-', '*', '+', '•']) && !bare.starts_with("**")
            || bare.starts_with(|c: char| c.is_ascii_digit()) && bare.contains(". ");
        if in_fence || bare.starts_with('>') || is_item && (in_doubt || bare.contains("[ ]")) {
            continue;
        }
        if !bare.is_empty() && !is_item {
            // The items below a doubtful line share its doubt.
            let leads = bare.starts_with('#') || bare.trim_end_matches(['*', ' ']).ends_with(':');
            in_doubt = leads && NO_CLAIM.is_match(bare);
        }
        let mut from = 0;
        let ends = ENDS.find_iter(line).map(|end| (end.start(), end.as_str()));
        for (end, mark) in ends.chain([(line.len(), "")]) {
            let raw = &line[from..end];
            from = end;
            let masked = mask_words(raw);
            let plain = masked.split_whitespace().collect::<Vec<_>>().join(" ");
            let is_doubtful = mark.starts_with('?')
                || NO_CLAIM.is_match(&plain)
                || find_denial(&plain, ReplyStatus::Complete).is_some();
            if !is_doubtful && !plain.is_empty() {
                assertions.push(Assertion { raw, plain });
            }
        }
    }
    assertions
}
