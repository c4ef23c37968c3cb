//! Decides whether a message contains an agreed text as the agent's own claim: not as an echo of the prompt, and not denied, conditional
//! or announced.

use std::collections::HashSet;

use regex::{Regex, RegexBuilder};

use crate::config::settings::{SignalMatch, SignalTextCriterion};
use watchdog_facts::patterns::FixedPattern;

/// How many bytes at the end of a text are read.
const MOST_BYTES: usize = 1 << 20;

/// How many bytes of a clause are read.
const CLAUSE: usize = 160;

/// Words before a mention, in the same clause, that make it no claim: it is denied, put off, made to depend on something, or an order.
static NO_CLAIM_BEFORE: FixedPattern = FixedPattern::new(
    r"(?i)\b(not|never|cannot|until|till|unless|when|whenever|if|should|shall|must|would|will|could|may|might|going to|supposed|expected to|instead of|(?:to|please|then|can) (?:say|print|output|write|reply|emit|answer|respond))\b|n['’]t\b|['’]ll\b|^\W*(?:say|print|output|write|reply|emit|answer|respond)\b",
);

/// The same behind the mention.
static NO_CLAIM_AFTER: FixedPattern = FixedPattern::new(
    r"(?i)^\W*(?:yet|is not|isn['’]t|was not|wasn['’]t|has not|hasn['’]t|will|would|should|must|shall|cannot|can['’]t|may|might|only|when|once|if|until|after|as soon as)\b|\bnot yet\b",
);

/// So many questions are looked for in a text: the first, which set the task, and the latest.
const QUESTIONS: usize = 100;

/// The patterns of an agreed text and of the agent's prompts, prepared for many texts.
pub(super) struct PhraseMatcher<'a> {
    criterion: &'a SignalTextCriterion,
    wanted: &'a str,
    /// Absent if lines are compared, or for a text that is too long to be a signal.
    pattern: Option<Regex>,
    /// Questions as a whole.
    questions: Vec<&'a str>,
    /// Lines of the questions that are sentences.
    sentences: HashSet<&'a str>,
    /// Lines of the questions that follow each other.
    pairs: HashSet<(&'a str, &'a str)>,
}

impl<'a> PhraseMatcher<'a> {
    /// Prepares the patterns; `prompts` are the agent's known prompts.
    pub(super) fn new(criterion: &'a SignalTextCriterion, prompts: &[&'a str]) -> Self {
        let wanted = criterion.text.trim();
        let mut mentions = PhraseMatcher {
            criterion,
            wanted,
            pattern: build_signal_pattern(criterion, wanted),
            questions: Vec::new(),
            sentences: HashSet::new(),
            pairs: HashSet::new(),
        };
        let latest = prompts.len().saturating_sub(QUESTIONS).max(1);
        for question in prompts.iter().take(1).chain(prompts.iter().skip(latest)) {
            // A prompt that consists of the signal alone asks for it; its answer looks the same.
            if question.split_whitespace().count() > 2 {
                mentions.questions.push(question.trim());
            }
            let lines: Vec<&str> = question
                .lines()
                .map(strip_quote_marks)
                .filter(|line| !line.is_empty())
                .collect();
            mentions.sentences.extend(
                lines
                    .iter()
                    .filter(|line| line.split_whitespace().count() > 2),
            );
            mentions
                .pairs
                .extend(lines.windows(2).map(|pair| (pair[0], pair[1])));
        }
        mentions
    }

    /// Whether a text claims it.
    pub(super) fn claimed_in(&self, text: &str) -> bool {
        if self.wanted.is_empty() {
            return false;
        }
        let text = &text[text.ceil_char_boundary(text.len().saturating_sub(MOST_BYTES))..];
        let text = self.without_echo(&text.replace("\r\n", "\n"));
        let text = if self.criterion.last_line {
            last_line(&text, self.criterion)
        } else {
            text
        };
        match &self.pattern {
            Some(pattern) => pattern
                .find_iter(&text)
                .any(|mention| is_claim(&text, mention.start(), mention.end())),
            None if self.criterion.matching == SignalMatch::Line => {
                stands_alone(&text, self.wanted, self.criterion.ignore_case)
            }
            None => false,
        }
    }

    /// The text without echoes of the prompt: the complete prompt, two successive lines of it, and single lines of it that
    /// are sentences. A line of one or two words may be the requested answer.
    fn without_echo(&self, text: &str) -> String {
        let mut remaining = text.to_owned();
        for question in &self.questions {
            if remaining.contains(question) {
                remaining = remaining.replace(question, "");
            }
        }
        if self.sentences.is_empty() && self.pairs.is_empty() {
            return remaining;
        }
        let lines: Vec<&str> = remaining.lines().collect();
        let prose_lines: Vec<(usize, &str)> = lines
            .iter()
            .enumerate()
            .map(|(n, line)| (n, strip_quote_marks(line)))
            .filter(|(_, line)| !line.is_empty())
            .collect();
        let mut dropped: HashSet<usize> = prose_lines
            .iter()
            .filter(|(_, line)| self.sentences.contains(line))
            .map(|(n, _)| *n)
            .collect();
        for pair in prose_lines.windows(2) {
            if self.pairs.contains(&(pair[0].1, pair[1].1)) {
                dropped.extend([pair[0].0, pair[1].0]);
            }
        }
        lines
            .iter()
            .enumerate()
            .filter(|(n, _)| !dropped.contains(n))
            .flat_map(|(_, line)| [*line, "\n"])
            .collect()
    }
}

/// The pattern where lines are not compared.
fn build_signal_pattern(criterion: &SignalTextCriterion, wanted: &str) -> Option<Regex> {
    let pattern = match criterion.matching {
        SignalMatch::Line => return None,
        SignalMatch::Word => format!(
            "{}{}{}",
            pick_edge_pattern(wanted, true),
            regex::escape(wanted),
            pick_edge_pattern(wanted, false)
        ),
        SignalMatch::Contains => regex::escape(wanted),
        SignalMatch::Tag => {
            let content = wanted
                .split_whitespace()
                .map(regex::escape)
                .collect::<Vec<_>>()
                .join(r"\s+");
            let tag = regex::escape(&criterion.tag);
            // As the last line it must be the complete line.
            let (start, end) = if criterion.last_line {
                (r"^\s*", r"\s*$")
            } else {
                ("", "")
            };
            format!(r"{start}<{tag}>\s*{content}\s*</{tag}>{end}")
        }
    };
    RegexBuilder::new(&pattern)
        .case_insensitive(criterion.ignore_case)
        .multi_line(true)
        .size_limit(4 << 20)
        .build()
        .ok()
}

/// Whether it is alone on a line, and the line before does not announce it as something else.
fn stands_alone(text: &str, wanted: &str, ignore_case: bool) -> bool {
    let mut before = "";
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let announced =
            before.trim_end().ends_with(':') && NO_CLAIM_BEFORE.is_match(find_last_clause(before));
        if !announced && is_line(line, wanted, ignore_case) {
            return true;
        }
        before = line;
    }
    false
}

/// Alone on a line, bare or in the marks of emphasis and code.
fn is_line(line: &str, wanted: &str, ignore_case: bool) -> bool {
    let same = |line: &str| {
        if ignore_case {
            line.to_lowercase() == wanted.to_lowercase()
        } else {
            line == wanted
        }
    };
    let line = line.trim();
    ["", "*", "**", "***", "_", "__", "`", "``"]
        .iter()
        .any(|mark| {
            let inner = line
                .strip_prefix(mark)
                .and_then(|line| line.strip_suffix(mark));
            inner.is_some_and(|inner| same(inner.trim()))
        })
}

/// The pattern of a word's edge; a text that begins with a sign, such as `[DONE]`, is its own edge.
fn pick_edge_pattern(wanted: &str, start: bool) -> &'static str {
    let outermost = if start {
        wanted.chars().next()
    } else {
        wanted.chars().next_back()
    };
    match (
        outermost.is_some_and(|c| c.is_alphanumeric() || c == '_'),
        start,
    ) {
        (true, true) => r"(?:^|[^\w-])",
        (true, false) => r"(?:$|[^\w-])",
        (false, true) => r"(?:^|\W)",
        (false, false) => r"(?:$|\W)",
    }
}

/// Whether a mention is the agent's claim, by its clause.
fn is_claim(text: &str, start: usize, end: usize) -> bool {
    let after = &text[end..];
    let clause_after = &after[..after
        .find(['\n', '.', '!', '?', ';', ','])
        .unwrap_or(after.len())];
    // A question claims nothing.
    let question = after[clause_after.len()..].starts_with('?');
    let clause_end =
        &clause_after[..clause_after.floor_char_boundary(clause_after.len().min(CLAUSE))];
    !question
        && !NO_CLAIM_BEFORE.is_match(find_last_clause(&text[..start]))
        && !NO_CLAIM_AFTER.is_match(clause_end)
}

/// The clause that a text ends in, behind the sign that ends the one before it.
fn find_last_clause(text: &str) -> &str {
    let clause = text
        .rfind(['\n', '.', '!', '?', ';', ','])
        .map_or(text, |at| &text[at..]);
    &clause[clause.ceil_char_boundary(clause.len().saturating_sub(CLAUSE))..]
}

/// A line without the marks of a quotation.
fn strip_quote_marks(line: &str) -> &str {
    line.trim().trim_start_matches(['>', '|']).trim()
}

/// The last line that is not blank. Elements of another kind that follow it, which programs read, are no lines of it.
fn last_line(text: &str, criterion: &SignalTextCriterion) -> String {
    let mut text = text.trim_end();
    while let Some(before) = without_last_element(text, criterion) {
        text = before.trim_end();
    }
    text.lines().next_back().unwrap_or_default().to_owned()
}

/// The text before an element that ends it and begins a line.
fn without_last_element<'t>(text: &'t str, criterion: &SignalTextCriterion) -> Option<&'t str> {
    let (body, name) = text.strip_suffix('>')?.rsplit_once("</")?;
    let plain = !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
    if !plain || criterion.matching == SignalMatch::Tag && name.eq_ignore_ascii_case(&criterion.tag)
    {
        return None;
    }
    let open = format!("<{name}");
    let start = body
        .rmatch_indices(&open)
        .map(|(at, _)| at)
        .find(|at| body[at + open.len()..].starts_with(['>', ' ', '\n', '\t']))?;
    (start == 0 || body[..start].ends_with('\n')).then(|| &body[..start])
}

/// Whether an output has a text. A number at its begin or end is meant as a whole: "10 failed" does not have "0 failed".
pub(super) fn has_text(output: &str, wanted: &str) -> bool {
    // Of "1,000" and "1.0" the last digits are no number either.
    let goes_on = |mut next: &mut dyn Iterator<Item = char>| match next.next() {
        Some('.' | ',') => (&mut next).next().is_some_and(|c| c.is_ascii_digit()),
        next => next.is_some_and(|c| c.is_ascii_digit()),
    };
    let is_digit = |c: char| c.is_ascii_digit();
    output.match_indices(wanted).any(|(at, _)| {
        let is_cut_before =
            wanted.starts_with(is_digit) && goes_on(&mut output[..at].chars().rev());
        let is_cut_behind =
            wanted.ends_with(is_digit) && goes_on(&mut output[at + wanted.len()..].chars());
        !is_cut_before && !is_cut_behind
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims(criterion: &SignalTextCriterion, text: &str, prompts: &[&str]) -> bool {
        PhraseMatcher::new(criterion, prompts).claimed_in(text)
    }

    fn signal(matching: SignalMatch) -> SignalTextCriterion {
        SignalTextCriterion::new("TASK_DONE", matching)
    }

    #[track_caller]
    fn check(criterion: &SignalTextCriterion, table: &[(&str, bool)]) {
        for (text, claimed) in table {
            assert_eq!(claims(criterion, text, &[]), *claimed, "{text:?}");
        }
    }

    #[test]
    fn numbers_in_wanted_text_are_whole() {
        for (output, wanted, has) in [
            ("0 failed", "0 failed", true),
            ("10 failed", "0 failed", false),
            ("1,000 failed; 0 failed", "0 failed", true),
            ("1,000 failed", "000 failed", false),
            ("1.0 failed", "0 failed", false),
            ("so. 0 failed", "0 failed", true),
            ("passed: 1", "passed: 1", true),
            ("passed: 10", "passed: 1", false),
            ("passed: 1.5", "passed: 1", false),
            ("passed: 1.", "passed: 1", true),
            ("unfailed", "failed", true),
        ] {
            assert_eq!(has_text(output, wanted), has, "{wanted} in {output}");
        }
    }

    #[test]
    fn a_line_is_the_signal_and_nothing_else() {
        check(
            &signal(SignalMatch::Line),
            &[
                ("TASK_DONE", true),
                ("working\nTASK_DONE\nmore", true),
                ("working\r\n  TASK_DONE \r\n", true),
                ("**TASK_DONE**", true),
                ("`TASK_DONE`", true),
                ("TASK_DONE.", false),
                ("task_done", false),
                ("it is TASK_DONE", false),
                ("TASK_DONE_NOT", false),
                ("", false),
                ("When everything works I will print:\n\nTASK_DONE\n", false),
                ("Everything works:\nTASK_DONE\n", true),
            ],
        );
        let any_case = SignalTextCriterion {
            ignore_case: true,
            ..signal(SignalMatch::Line)
        };
        check(&any_case, &[("Task_Done", true), ("done", false)]);
    }

    #[test]
    fn the_last_line_alone_may_be_asked_for() {
        let last = SignalTextCriterion {
            last_line: true,
            ..signal(SignalMatch::Line)
        };
        check(
            &last,
            &[
                ("fine\nTASK_DONE\n\n  \n", true),
                ("TASK_DONE\nand more", false),
                ("TASK_DONE\n<event topic=\"x\">all of it</event>", true),
                ("TASK_DONE\n<event>\nline\n</event>\n<note>n</note>\n", true),
                ("<event>TASK_DONE</event>", false),
                ("it was TASK_DONE\n<event>TASK_DONE</event>", false),
                ("a </event>", false),
                ("TASK_DONE <event>e</event>", false),
                ("TASK_DONE\n<promise>x</promise>", true),
                ("TASK_DONE\n<>y</>", false),
                ("TASK_DONE\n<a b>x</a b>", false),
            ],
        );
        let last = SignalTextCriterion {
            last_line: true,
            ..signal(SignalMatch::Tag)
        };
        check(
            &last,
            &[
                ("ok\n<promise>TASK_DONE</promise>", true),
                (
                    "<promise>TASK_DONE</promise>\n<promise>OTHER</promise>",
                    false,
                ),
                ("so <promise>TASK_DONE</promise>", false),
                ("<promise>TASK_DONE</promise>\n<event>e</event>", true),
            ],
        );
        let last = SignalTextCriterion {
            last_line: true,
            ..signal(SignalMatch::Word)
        };
        check(
            &last,
            &[
                ("it is TASK_DONE", true),
                ("<event>TASK_DONE</event>", false),
            ],
        );
    }

    #[test]
    fn a_word_has_an_edge_on_both_sides() {
        check(
            &signal(SignalMatch::Word),
            &[
                ("all fine (TASK_DONE)!", true),
                ("TASK_DONE", true),
                ("TASK_DONE2", false),
                ("a-TASK_DONE", false),
                ("XTASK_DONE", false),
            ],
        );
        let bracketed = SignalTextCriterion::new("[DONE]", SignalMatch::Word);
        check(
            &bracketed,
            &[
                ("so: [DONE]", true),
                ("x[DONE]", false),
                ("[DONE].", true),
                ("-[DONE]-", true),
            ],
        );
        check(
            &SignalTextCriterion::new("_DONE_", SignalMatch::Word),
            &[("so: _DONE_", true), ("-_DONE_", false), ("_DONE_-", false)],
        );
        let endless = "it ".repeat(100_000);
        for matching in [SignalMatch::Word, SignalMatch::Tag] {
            let criterion = SignalTextCriterion::new(endless.trim(), matching);
            assert!(
                !claims(&criterion, &endless, &[]),
                "a text of this length is no signal in any form"
            );
        }
    }

    #[test]
    fn an_element_holds_the_signal_and_nothing_else() {
        check(
            &signal(SignalMatch::Tag),
            &[
                ("ok <promise>TASK_DONE</promise> bye", true),
                ("<promise>\n  task_done\n</promise>", true),
                ("<PROMISE>TASK_DONE</Promise>", true),
                ("<promise>TASK_DONE", false),
                ("TASK_DONE</promise>", false),
                ("<promis>TASK_DONE</promis>", false),
                ("[promise]TASK_DONE[/promise]", false),
                ("<promise>TASK_DONE soon</promise>", false),
                ("<promise>NOT TASK_DONE</promise>", false),
                ("Do not write <promise>TASK_DONE</promise> yet", false),
                ("{\"text\":\"<promise>TASK_DONE</promise>\\n\"}", true),
            ],
        );
    }

    #[test]
    fn denied_deferred_or_ordered_phrase_is_no_claim() {
        for text in [
            "I have not reached TASK_DONE.",
            "This isn't TASK_DONE",
            "NOT TASK_DONE",
            "I will print TASK_DONE when the tests pass",
            "I'll say TASK_DONE later",
            "TASK_DONE is not true yet",
            "Print TASK_DONE when you are finished",
            "You told me to print TASK_DONE",
            "Once it works, TASK_DONE will follow",
            "TASK_DONE only after a review",
            "TASK_DONE? Not yet, as TASK_DONE needs the tests; it would be TASK_DONE",
            "If all is well I can answer TASK_DONE",
            "All is ready. Print TASK_DONE",
        ] {
            let claimed = claims(&signal(SignalMatch::Contains), text, &[]);
            // A bare prompt is one mention of three in the one text that has it.
            assert_eq!(claimed, text.starts_with("TASK_DONE?"), "{text}");
        }
        for text in [
            "All done. TASK_DONE. Bye",
            "The bug does not occur any more, TASK_DONE",
            "When I ran the tests, they passed, so TASK_DONE!",
            "Nothing is left to do: TASK_DONE",
            "I will not stop here.\nTASK_DONE",
        ] {
            assert!(claims(&signal(SignalMatch::Contains), text, &[]), "{text}");
        }
    }

    #[test]
    fn an_echo_of_the_question_is_no_claim() {
        let question = "Fix the bug.\nWhen it is fixed, print this line:\nTASK_DONE\nand stop.";
        for matching in [SignalMatch::Line, SignalMatch::Word, SignalMatch::Contains] {
            let criterion = signal(matching);
            let claims = |text: &str| claims(&criterion, text, &[question]);
            assert!(!claims(&format!("You asked:\n{question}\nI start now.")));
            assert!(!claims(&format!(
                "> {}\n\nI start now.",
                question.replace('\n', "\n> ")
            )));
            assert!(!claims("When it is fixed, print this line:\nTASK_DONE"));
            assert!(claims(&format!(
                "You asked:\n{question}\nIt is fixed.\nTASK_DONE"
            )));
            assert!(claims("TASK_DONE"));
        }
        // Lines of one or two words that follow each other, and a sentence that the answer does not quote.
        for (question, echo) in [
            ("Write this:\nTASK_DONE", "> Write this:\n> TASK_DONE"),
            ("> The result is: TASK_DONE", "The result is: TASK_DONE"),
        ] {
            assert!(
                !claims(&signal(SignalMatch::Word), echo, &[question]),
                "{echo}"
            );
            assert!(claims(&signal(SignalMatch::Word), echo, &[]), "{echo}");
        }
        // Of very many questions the first and the latest are looked for.
        let many: Vec<String> = (0..500)
            .map(|n| format!("question {n} asks you to print TASK_DONE"))
            .collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        for (n, claimed) in [(0, false), (499, false)] {
            assert_eq!(
                claims(&signal(SignalMatch::Word), &format!("> {}", many[n]), &many),
                claimed
            );
        }
        // The complete prompt is the signal: its answer looks the same.
        assert!(claims(
            &signal(SignalMatch::Line),
            "TASK_DONE",
            &["TASK_DONE"]
        ));
    }

    #[test]
    fn an_empty_signal_is_never_found() {
        for matching in [
            SignalMatch::Line,
            SignalMatch::Word,
            SignalMatch::Contains,
            SignalMatch::Tag,
        ] {
            for text in ["", " ", "x", "<promise></promise>"] {
                assert!(!claims(&SignalTextCriterion::new(" ", matching), text, &[]));
            }
        }
    }

    #[test]
    fn long_texts_are_looked_at_from_their_end() {
        let long = format!("{}\nTASK_DONE", "é words\n".repeat(1 << 20));
        assert!(claims(
            &signal(SignalMatch::Line),
            &long,
            &["a question of several words"]
        ));
        assert!(!claims(
            &signal(SignalMatch::Contains),
            &"</a>".repeat(1 << 18),
            &[]
        ));
        let last = SignalTextCriterion {
            last_line: true,
            ..signal(SignalMatch::Line)
        };
        assert!(!claims(&last, &"<a>\n</a>".repeat(1 << 16), &[]));
    }
}
