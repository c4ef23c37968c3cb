//! Finds the sentences of an agent's words that assert something it did. Pure, English.
//!
//! Code blocks, quotations, open boxes, questions, denials, conditions, plans, instructions, hearsay and doubts assert nothing.

use std::sync::LazyLock;

use regex::Regex;

use super::claim_words::{compile_words, read_entry};

/// The end of a sentence or a clause.
static ENDS: LazyLock<Regex> = LazyLock::new(|| compile_words(&read_entry("sentence ends")));
/// Words of a sentence that asserts no action of this session.
static NO_CLAIM: LazyLock<Regex> =
    LazyLock::new(|| compile_words(&read_entry("sentence asserts_nothing")));
/// Texts that are put in the place of others before the words are read: names, code and quotations say nothing themselves, and some
/// phrases with a negation deny nothing.
static MASKS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let words = [
        " origin ",
        " snippet ",
        "",
        " ",
        " clean_tree ",
        " nothing_left ",
    ];
    let names = [
        "origin",
        "snippet",
        "marks",
        "harmless",
        "clean_tree",
        "nothing_left",
    ];
    let compile = |name: &str| compile_words(&read_entry(&format!("mask {name}")));
    names.map(compile).into_iter().zip(words).collect()
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
