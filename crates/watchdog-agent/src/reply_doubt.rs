//! Decides whether the status of a reply is reliable, given the prose around it. Pure.
//!
//! A status is doubtful beside another one, in an example, a template, a condition or a denial, and if the prose denies a
//! `complete`. A doubt costs one more probe, so ordinary
//! introductions ("Here is the status:", "I ran the tests; my report:") raise none.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use watchdog_facts::evidence::{Reply, ReplyStatus};
use watchdog_facts::patterns::{FixedPattern, compile_fixed};

/// How many bytes of prose before and after an answer are read.
const PROSE: usize = 4000;
/// Bytes of the sentence that leads to an answer.
const SENTENCE: usize = 400;

static EXAMPLE: FixedPattern = FixedPattern::new(
    r"(?i)\b(?:for example|example|e\.g\.|for instance|sample|template|placeholder|hypothetical(?:ly)?|(?:look|looks|looking) like (?:this|so)|something like|expected (?:format|shape|answer|output|reply))\b",
);
static CONDITION: FixedPattern = FixedPattern::new(concat!(
    r"(?i)\b(?:would|'d|’d|might|could)\b",
    r"|\b(?:if|unless|until|provided that|assuming|in case)\b",
    r"|\b(?:when|once|as soon as)\s+(?:i|i'm|i’m|it|we|the|this|that|all|every\w*|done|finished|complete[d]?|asked)\b",
    r"|\b(?:only )?after\b.*\b(?:will|shall)\b|(?:\b(?:will|shall)|['’]ll)\b.*\b(?:after|later|then|at the end)\b",
));
/// A negation in the clause that an answer is part of.
static NEGATION: FixedPattern = FixedPattern::new(
    r"(?i)\b(?:not|never|cannot|instead of|rather than|no longer|wrong(?:ly)?|false(?:ly)?)\b|n['’]t\b",
);
/// A negation of the answer itself, also where a colon leads to it.
static DENIED_ANSWER: FixedPattern = FixedPattern::new(
    r"(?i)(?:\bnot|\bnever|\bcannot|n['’]t)\b\s+(?:yet\s+)?(?:(?:to|be|say|answer|reply|report|print|send|claim|my|the|a|true|right|that)\s+)*(?:say|answer|reply|report|print|send|claim|status|true|right|done|complete[d]?|finished)\b",
);
/// A denial that the work as a whole is done.
static NOT_DONE: FixedPattern = FixedPattern::new(concat!(
    r"(?im)(?:^|[.!?;:,\n]\s*|\b(?:but|however|although|though|and|so|because)\s+)(?:but\s+|however,?\s+|sorry,?\s+|no,?\s+|actually,?\s+|in fact,?\s+)?(?:",
    r"(?:(?:i|we|it|this|that|everything|things|(?:the |my |this )?(?:work|task|job|feature|spec|implementation)s?)\s*(?:am|['’]m|are|['’]re|is|['’]s|was|were)\s*(?:(?:still |really |actually )?(?:not|never)|n['’]t)\s+(?:yet |quite |really |fully |entirely |all |completely )*(?:done|finished|completed?|ready)\b)",
    r"|(?:(?:i|we)\s*(?:have|['’]ve|had)\s*(?:not|n['’]t)\s+(?:yet )?(?:finished|completed)\b)",
    r"|not\s+(?:yet |quite |fully )*(?:done|finished|completed?)\b",
    r"|(?:(?:i|we)\s*(?:am|['’]m|are|['’]re)\s+still\s+(?:working|waiting|running)\b)",
    r"|(?:the |my )?(?:work|task|job) is (?:still )?(?:incomplete|unfinished|pending)\b",
    r")",
));
/// "3 of 5 tasks", "tasks: 3/5".
static FRACTION: LazyLock<Regex> = LazyLock::new(|| {
    const THINGS: &str = "tasks?|steps?|items?|tests?|features?|todos?|checks?|stories|phases?|milestones?|requirements?|files?|done|completed?|finished|passing|passed|pass";
    compile_fixed(&format!(
        r"(?i)\b(\d{{1,6}})\s*(?:of|out of|/)\s*(\d{{1,6}})(?:\s+\w+)?\s+(?:{THINGS})\b|\b(?:{THINGS})\s*[:=]?\s*(\d{{1,6}})\s*(?:of|out of|/)\s*(\d{{1,6}})\b"
    ))
});

/// The reason to doubt the status of a reply at `at` in a text, if there is one. `seen` are the words of all answers there.
pub(super) fn find_doubt(
    text: &str,
    at: &Range<usize>,
    reply: &Reply,
    seen: &[ReplyStatus],
) -> Option<String> {
    two_words(seen)
        .or_else(|| find_echoed_template(reply))
        .or_else(|| find_doubt_around(text, at, reply.status))
        .or_else(|| find_denial(&reply.message, reply.status))
}

/// The same for a reply that no prose surrounds.
pub(super) fn doubt_alone(reply: &Reply) -> Option<String> {
    find_echoed_template(reply).or_else(|| find_denial(&reply.message, reply.status))
}

/// Two answers with different words.
pub(super) fn two_words(seen: &[ReplyStatus]) -> Option<String> {
    let (first, last) = (seen.first()?, seen.last()?);
    let other_status = seen
        .iter()
        .find(|word| *word != last)
        .or(Some(first).filter(|word| *word != last))?;
    Some(format!(
        "it says both {} and {}",
        other_status.as_str(),
        last.as_str()
    ))
}

/// The words of the question, sent back.
fn find_echoed_template(reply: &Reply) -> Option<String> {
    let message = reply.message.trim();
    let placeholder = message == "one or two sentences"
        || (!message.is_empty() && message.chars().all(|c| c == '.' || c == '…'))
        || (message.starts_with('<') && message.ends_with('>') && !message[1..].contains('<'));
    placeholder.then(|| format!("it says {} in a template", reply.status.as_str()))
}

fn find_doubt_around(text: &str, at: &Range<usize>, status: ReplyStatus) -> Option<String> {
    let before = &text[text.ceil_char_boundary(at.start.saturating_sub(PROSE))..at.start];
    let after = &text[at.end..text.floor_char_boundary((at.end + PROSE).min(text.len()))];
    let lead = find_lead(before);
    let continued = find_continuation(after);
    let in_line = !lead.is_empty()
        && !lead.ends_with(':')
        && !before.trim_end_matches([' ', '\t', '`']).ends_with('\n');
    let word = status.as_str();
    for part in [lead, continued] {
        if EXAMPLE.is_match(part) {
            return Some(format!("it says {word} in an example"));
        }
        if CONDITION.is_match(part) {
            return Some(format!("it says {word} under a condition"));
        }
    }
    if (status == ReplyStatus::Complete && DENIED_ANSWER.is_match(lead))
        || (in_line && NEGATION.is_match(lead))
        || NEGATION.is_match(continued)
    {
        return Some(format!("it denies that it is {word}"));
    }
    find_denial(before, status).or_else(|| find_denial(after, status))
}

/// The sentence that leads to an answer, without the mark of a fence.
fn find_lead(before: &str) -> &str {
    let before = before.trim_end_matches(|c: char| c.is_whitespace() || c == '`' || c == '*');
    let cut = &before[before.ceil_char_boundary(before.len().saturating_sub(SENTENCE))..];
    let mut ends = cut.char_indices().filter(|(i, c)| {
        let next = cut[i + c.len_utf8()..].chars().next();
        // The end of a former sentence, or of a former object.
        (matches!(c, '.' | '!' | '?')
            && next.is_some_and(char::is_whitespace)
            && !cut[..*i].ends_with("e.g")
            && !cut[..*i].ends_with("i.e"))
            || *c == '}'
            || (*c == '\n' && next == Some('\n'))
    });
    let start = ends.next_back().map_or(0, |(i, c)| i + c.len_utf8());
    cut[start..].trim()
}

/// The rest of an answer's sentence behind it.
fn find_continuation(after: &str) -> &str {
    let line = after
        .lines()
        .next()
        .unwrap_or_default()
        .trim_start_matches(['`', ' ', '\t', ',', ';', '-', '–', '—', '(']);
    if !line.starts_with(|c: char| c.is_lowercase()) {
        return "";
    }
    let end = line.find(['.', '!', '?']).unwrap_or(line.len());
    &line[..end]
}

/// Whether prose denies a `complete`.
fn find_denial(prose: &str, status: ReplyStatus) -> Option<String> {
    if status != ReplyStatus::Complete {
        return None;
    }
    if let Some(denial) = NOT_DONE.find(prose) {
        let denial_text = denial
            .as_str()
            .trim_matches(|c: char| c.is_whitespace() || c.is_ascii_punctuation());
        return Some(format!("it says complete, and also: {denial_text}"));
    }
    let number =
        |text: Option<regex::Match<'_>>| text.and_then(|text| text.as_str().parse::<u32>().ok());
    FRACTION.captures_iter(prose).find_map(|captures| {
        let done = number(captures.get(1).or(captures.get(3)))?;
        let of = number(captures.get(2).or(captures.get(4)))?;
        (done < of).then(|| format!("it says complete, and also: {}", captures[0].trim()))
    })
}

#[cfg(test)]
mod tests {
    use crate::reply::{ParsedReply, read_reply};

    fn dispute(output: &str) -> Option<String> {
        match read_reply(output.as_bytes()) {
            ParsedReply::Reply(reply) => reply.contradiction(),
            other => panic!("no reply in {output}: {other:?}"),
        }
    }

    #[test]
    fn conditional_or_denied_status_is_in_doubt() {
        for output in [
            "I am not done. When I am, I will say {\"status\":\"complete\"}.",
            "Example: {\"status\":\"complete\"}",
            "For example:\n\n```json\n{\"status\": \"complete\"}\n```\n",
            "Here is the template you want filled in:\n{\"status\":\"complete\"}",
            "An answer would look like this:\n{\"status\": \"complete\"}",
            "If everything were finished I would answer {\"status\":\"complete\"}",
            "Once all tests pass, the answer is: {\"status\":\"complete\"}",
            "Once finished:\n{\"status\":\"complete\"}",
            "{\"status\":\"complete\"} is what I will say when it is over.",
            "{\"status\":\"complete\"} would be wrong",
            "I cannot answer {\"status\":\"complete\"}",
            "The status is not {\"status\":\"complete\"}",
            "{\"status\":\"complete\"}\n\nBut I am not finished yet.",
            "Not done yet.\n{\"status\":\"complete\"}",
            "The work isn't complete.\n\n{\"status\":\"complete\"}",
            "We're still working on it.\n{\"status\":\"complete\"}",
            "{\"status\":\"complete\",\"message\":\"I have not finished the docs\"}",
            "{\"status\":\"complete\",\"message\":\"3 of 5 tasks are done\"}",
            "Tests: 4/7\n{\"status\":\"complete\"}",
            "{\"status\":\"complete\",\"message\":\"one or two sentences\"}",
            "{\"status\":\"complete\",\"message\":\"<what you did>\"}",
            "{\"status\":\"complete\",\"message\":\"...\"}",
            "First I thought {\"status\":\"complete\"} but tests fail, so final:\n{\"status\":\"working\"}",
            "{\"status\":\"working\"}\n{\"status\":\"complete\"}",
            "{\"status\":\"complete\",\"remaining\":2}",
            "{\"status\":\"complete\",\"progress\":{\"done\":3,\"of\":9}}",
            "{\"status\":\"complete\",\"progress\":{\"completed\":3,\"total\":9}}",
            "{\"status\":\"complete\",\"percent_complete\":60}",
            "{\"status\":\"complete\",\"progress\":\"60%\"}",
            "{\"status\":\"complete\",\"open_tasks\":[\"docs\"]}",
            "{\"status\":\"complete\",\"unfinished\":[\"a\",\"b\"]}",
            "{\"status\":\"complete\",\"active_agents\":1}",
        ] {
            assert!(dispute(output).is_some(), "{output}");
        }
    }

    #[test]
    fn ordinary_prose_around_an_answer_raises_no_doubt() {
        for output in [
            "Here is the status:\n{\"status\":\"complete\"}\nLet me know if you need more.",
            "Here is my report in the requested format:\n```json\n{\"status\":\"complete\"}\n```\nIf you want anything else, tell me.",
            "I ran all tests and they pass. Status: {\"status\":\"complete\"}",
            "After running the tests, my status is:\n{\"status\":\"complete\"}",
            "I did not change any other file.\n{\"status\":\"complete\"}",
            "I have not run any tools, as you asked.\n\n{\"status\":\"complete\"}",
            "I'll report now:\n{\"status\":\"complete\"}",
            "All 5 of 5 tasks are done.\n{\"status\":\"complete\"}",
            "{\"status\":\"complete\",\"message\":\"handles tasks that are not done when the queue is empty\"}",
            "{\"status\":\"complete\",\"message\":\"added the retry; tests pass (12/12 tests)\"}",
            "{\"status\":\"complete\",\"progress\":{\"done\":9,\"of\":9},\"remaining\":0,\"percent\":100}",
            "{\"status\":\"complete\",\"should_continue\":true}",
            "{\"status\":\"complete\",\"should_continue\":false}",
            "{\"status\":\"complete\"}\n{\"status\":\"done\"}",
            "{\"status\":\"working\",\"message\":\"not done yet, 3 of 5 tasks\"}",
            "I am not done yet.\n{\"status\":\"working\"}",
            "Result: {\"status\": \"complete\", \"message\": \"fixed the {bracket} bug in map{}\"}",
            "{\"status\": \"working\"}\nas asked: {\"status\": \"complete|waiting|working\"}",
        ] {
            assert_eq!(dispute(output), None, "{output}");
        }
    }

    #[test]
    fn a_template_with_alternatives_is_no_answer() {
        for output in [
            "{\"status\": \"complete\" | \"waiting\" | \"working\"}",
            "Answer with {\"status\": \"complete\" | \"waiting\" | \"working\", \"message\": \"…\"}",
            "{\"status\": \"complete\" or \"working\"}",
        ] {
            match read_reply(output.as_bytes()) {
                ParsedReply::Reply(reply) => assert!(reply.contradiction().is_some(), "{output}"),
                ParsedReply::Unreadable { .. } | ParsedReply::Empty => {}
            }
        }
    }

    #[test]
    fn two_words_in_one_envelope_are_told() {
        let output = r#"{"type":"result","result":"{\"status\":\"complete\"}","structured_output":{"status":"waiting"}}"#;
        assert_eq!(
            dispute(output).as_deref(),
            Some("it says both complete and waiting")
        );
        let same = r#"{"type":"result","result":"{\"status\":\"waiting\"}","structured_output":{"status":"waiting"}}"#;
        assert_eq!(dispute(same), None);
    }
}
