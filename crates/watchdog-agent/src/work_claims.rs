//! Reads claims about the work from an agent's last words. Pure; the vocabulary is one table, and English.

use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};

use watchdog_facts::display::escape_to_one_line;
use watchdog_facts::evidence::{Reply, ReplyStatus};
use watchdog_facts::work_claim::WorkClaim;

use super::assertions::{list_assertions, mask_words};
use super::reply_claims::ReplyClaims;

/// Bytes of a quotation.
const QUOTED: usize = 120;

/// The beginning of a clause whose verb is about the session's own work: the agent, an elliptic sentence, or all of the work.
const DID: &str = concat!(
    r"(?:\b(?:i|we)(?:['’]ve| have)?(?: (?:also|just|then|now|successfully|finally))*|^\W*(?:(?:and|then|also|successfully|all|it|now|done)\W+)*",
    r"|^\W*(?:(?:i|we)(?:['’]ve| have)? )?(?:\w+ed|wrote|made|built|ran)\b.*(?:\band|\bthen|,)(?: then| also)?",
    r"|\b(?:everything|all(?: of)?(?: (?:the|my|these))?(?: \w+)?|(?:the |my )?(?:changes|work|branch|commits?)|done),?(?: (?:is|are|was|were|has|have|been|now|all|also|safely|both|and))*)\W*",
);
/// Words that may stand between tests, a build or a linter and their success.
const CHAIN: &str = r"(?:(?: \([^)]*\)|,)? (?:(?:and|&|the|is|are|has|have|been|now|all|also|still|both|suites?|cases?|runs?|checks?|build|lint(?:er|ing)?|clippy|type ?checks?|formatting|fmt|tests?|in snippet)\b)?)*";
const PASS: &str = r"\W*(?:pass(?:es|ed|ing)?|green|succeed(?:s|ed)?)\b";

/// The words of one claim.
struct ClaimWords {
    claim: WorkClaim,
    /// A text without this word makes no such claim.
    trigger: &'static str,
    /// `<did>`, `<chain>` and `<pass>` stand for the parts above.
    phrases: &'static [&'static str],
    /// Words anywhere in the text that take the claim back: the agent tells of the rest itself.
    withdrawn: &'static str,
}

const VOCABULARY: [ClaimWords; 7] = [
    ClaimWords {
        claim: WorkClaim::Committed,
        trigger: "commit",
        phrases: &[
            r"<did>committed\b",
            r"\bcommitted (?:and|then|&) pushed\b",
            r"<did>(?:made|created|added|landed) (?:a|an|the|one|two|three|\d+|all|several)\s+(?:\w+\s+){0,3}commits?\b",
        ],
        withdrawn: r"\b(?:un|not (?:yet )?(?:been )?|n['’]t (?:yet )?(?:been )?|without |still to )(?:commit|stage)(?:s|t?ed|ting)?\b|\b(?:left|leave|leaving|kept)\b.*\b(?:out|untracked|unstaged|alone|as is)\b|\buntracked\b",
    },
    ClaimWords {
        claim: WorkClaim::Pushed,
        trigger: "push",
        phrases: &[
            r"<did>pushed\b(?:\W*$|.{0,60}\b(?:origin|remote|upstream|github|gitlab|branch|commits?|main|master|changes|everything|it all|work)\b| (?:it |them |this )?(?:up )?to snippet)",
            r"\b(?:committed|commits?) (?:and|then|&) pushed\b",
        ],
        withdrawn: r"\b(?:un|not (?:yet )?(?:been )?|n['’]t (?:yet )?(?:been )?)push(?:ed|ing)?\b|\bpush\b.{0,40}\b(?:fail|reject|refus|den)",
    },
    ClaimWords {
        claim: WorkClaim::TestsPassed,
        trigger: "pass,green,succe",
        phrases: &[
            r"\b(?:tests?|specs?)<chain><pass>",
            r"\b(?:[1-9]\d*|all)(?: of)?(?: \d+)?(?: tests?)? pass(?:ed|ing)?\b",
        ],
        withdrawn: r"\b(?:tests?|specs?|suite)\b[^.\n]{0,40}\b(?:fail(?:s|ed|ing)?|broken|red|skipped)\b|\b[1-9]\d* (?:tests? |other )?(?:fail(?:ed|ures?|ing|s)?|errors?)\b|\b(?:some|most|many|few)(?: of)?(?: the)? (?:tests?|specs?)\b|\b(?:still fail|pre-?existing|unrelated|flaky)",
    },
    ClaimWords {
        claim: WorkClaim::BuildPassed,
        trigger: "buil,compil",
        phrases: &[
            r"\b(?:build|compilation)<chain>(?:<pass>|\W*(?:clean|successful|completed successfully)\b)",
            r"^\W*(?:(?:it|the|project|code|crate|app|everything|now|and|also) )*(?:builds|compiles|built|compiled) (?:cleanly|successfully|fine)\b",
        ],
        withdrawn: r"\b(?:build|compil)\w*\b[^.\n]{0,40}\bfail|\bn['’]t (?:build|compile)|\bnot (?:build|compile)",
    },
    ClaimWords {
        claim: WorkClaim::LintPassed,
        trigger: "lint,clippy,ruff,flake8,rubocop",
        phrases: &[
            r"\b(?:lint(?:er|ers|ing|s)?|clippy|eslint|ruff|flake8|pylint|rubocop|golangci-lint)<chain>(?:<pass>|\W*(?:clean|happy)\b)",
        ],
        withdrawn: r"\b(?:lint|clippy|ruff|flake8|rubocop)\w*\b[^.\n]{0,40}\b(?:fail|warn|error|complain)",
    },
    ClaimWords {
        claim: WorkClaim::PullRequestOpened,
        trigger: "pr,pull request,merge request",
        phrases: &[
            r"<did>(?:opened|created|submitted|filed|raised)\b(?: [\w#-]+){0,4} (?:pull request|pr|mr|merge request)\b",
            r"\b(?:pull request|pr)(?: #?\d+)? (?:is|has been|was) (?:now )?(?:open(?:ed)?|created|submitted)\b",
        ],
        withdrawn: r"\bn['’]t open|\bnot (?:open|create)",
    },
    ClaimWords {
        claim: WorkClaim::NothingLeft,
        trigger: "left,remain,all,everything,no ",
        phrases: &[
            r"\ball_finished\b",
            r"\b(?:everything|all (?:of )?(?:the )?(?:tasks|work|items|requirements|todos|steps)) (?:is|are|has been|have been)(?: now| all)* (?:done|completed?|finished|implemented)\b",
        ],
        withdrawn: r"\b(?:still (?:needs?|open|missing|to)|to[- ]?do:|not (?:yet )?done|remaining:)",
    },
];

struct CompiledWords {
    phrases: Vec<Regex>,
    withdrawn: Regex,
}

fn compile_words(words: &ClaimWords) -> CompiledWords {
    let compile = |pattern: &&str| {
        let parts = [("<did>", DID), ("<chain>", CHAIN), ("<pass>", PASS)];
        let text = (parts.iter()).fold((*pattern).to_owned(), |text, (name, part)| {
            text.replace(name, part)
        });
        let built = RegexBuilder::new(&text).case_insensitive(true).build();
        built.expect("the pattern is a constant")
    };
    CompiledWords {
        phrases: words.phrases.iter().map(compile).collect(),
        withdrawn: compile(&words.withdrawn),
    }
}

/// Compiled where a text has the trigger: most texts have none.
static COMPILED: [OnceLock<CompiledWords>; 7] = [const { OnceLock::new() }; 7];

/// A claim, and the sentence that makes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadClaim {
    /// The claim.
    pub claim: WorkClaim,
    /// The sentence, cut.
    pub quote: String,
    /// The file of a [`WorkClaim::FileWritten`]; else empty.
    pub path: String,
}

/// The claims of a text, each kind once.
pub fn read_work_claims(text: &str) -> Vec<ReadClaim> {
    let lower = text.to_lowercase();
    let rows = (VOCABULARY.iter().zip(&COMPILED))
        .filter(|(words, _)| words.trigger.split(',').any(|word| lower.contains(word)));
    let (assertions, masked) = (list_assertions(text), mask_words(text));
    let mut claims: Vec<ReadClaim> = rows
        .filter_map(|(words, compiled)| {
            let compiled = compiled.get_or_init(|| compile_words(words));
            let by_phrase = |plain: &str| compiled.phrases.iter().any(|p| p.is_match(plain));
            let assertion = assertions
                .iter()
                .find(|sentence| by_phrase(&sentence.plain))?;
            (!compiled.withdrawn.is_match(&masked)).then(|| ReadClaim {
                claim: words.claim,
                quote: cut_quote(assertion.raw),
                path: String::new(),
            })
        })
        .collect();
    let reply = Reply {
        message: text.to_owned(),
        ..Reply::bare(ReplyStatus::Complete)
    };
    // A bare name may lie in any folder.
    let files = ReplyClaims::from_reply(&reply).made.into_iter();
    claims.extend(
        files
            .filter(|path| path.contains('/'))
            .map(|path| ReadClaim {
                claim: WorkClaim::FileWritten,
                quote: cut_quote(&path),
                path,
            }),
    );
    claims
}

fn cut_quote(text: &str) -> String {
    let text = text
        .trim()
        .trim_start_matches(['-', '*', '+', '#', ' ', ',']);
    let line = escape_to_one_line(&text.replace("**", ""));
    match line.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{} …", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
#[path = "work_claims_tests.rs"]
mod tests;
