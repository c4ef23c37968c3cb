//! Answers of agents to a probe: credit only for a `complete` that stands there, and never for one that something else contradicts.

use watchdog_agent::envelope;
use watchdog_agent::reply::{ParsedReply, read_reply};
use watchdog_agent::reply_claims::ReplyClaims;
use watchdog_facts::evidence::{Reply, ReplyStatus};

/// The words that mean complete.
const COMPLETE: &[&str] = &["complete", "done", "finished"];

/// A number in place of a list stands for as many texts, `86 of 86, not named`: at most a hundred in each of three lists.
const UNNAMED: usize = 3 * 100 * "100 of 100, not named".len() + 200;

/// Reads an input as the output of an agent that was asked.
pub fn run(input: &[u8]) {
    let parsed = read_reply(input);
    assert_eq!(parsed, read_reply(input), "the same output reads the same");
    let ParsedReply::Reply(reply) = &parsed else {
        let nothing = input.trim_ascii().is_empty();
        assert!(
            !nothing || parsed == ParsedReply::Empty,
            "an empty output is no defect of an answer"
        );
        return;
    };
    let _ = ReplyClaims::from_reply(reply).is_empty();
    assert!(
        size(reply) <= 8 * input.len() + UNNAMED,
        "an answer is no larger than what it was read from"
    );
    if reply.status == ReplyStatus::Complete {
        assert!(
            is_spelled_out(input),
            "complete, where no such word was printed"
        );
    }
    // The events of a program say what its answer is, whatever else is printed around them.
    if envelope::read_envelope(input).is_some() {
        return;
    }
    assert!(
        !gives_credit(&read_reply(&with(input, "\n\n{\"status\": \"working\"}\n"))),
        "an answer that comes later is not overlooked"
    );
    assert!(
        !gives_credit(&read_reply(
            &[b"{\"status\": \"working\"}\n", input].concat()
        )),
        "an answer that came before is not forgotten"
    );
}

/// Whether an answer counts as complete, without a doubt of it.
fn gives_credit(parsed: &ParsedReply) -> bool {
    matches!(parsed, ParsedReply::Reply(reply) if reply.status == ReplyStatus::Complete && reply.doubt.is_none())
}

fn with(input: &[u8], more: &str) -> Vec<u8> {
    [input, more.as_bytes()].concat()
}

/// Whether the output has a word for complete and the key `status`, as far as that can be seen without a parser: an escape, what a terminal
/// would swallow, or a mark that nobody sees may stand within them.
fn is_spelled_out(input: &[u8]) -> bool {
    let hides = |text: &str| {
        !text.is_ascii()
            || text.contains("\\u")
            || text.contains(|c: char| c.is_control() && !"\n\t\r".contains(c))
    };
    match std::str::from_utf8(input) {
        Ok(text) if !hides(text) => {
            text.contains("status")
                && COMPLETE
                    .iter()
                    .any(|word| text.to_lowercase().contains(word))
        }
        _ => true,
    }
}

fn size(reply: &Reply) -> usize {
    let lists = [
        &reply.agents_details,
        &reply.tasks_completed,
        &reply.tasks_pending,
    ];
    let listed: usize = lists
        .iter()
        .flat_map(|list| list.iter())
        .map(String::len)
        .sum();
    reply.message.len() + reply.next_action.as_ref().map_or(0, String::len) + listed
}
