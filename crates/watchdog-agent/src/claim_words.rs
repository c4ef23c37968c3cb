//! The vocabulary of claims about the work: one table, English and in lower case; and the commands that bear claims out.

use std::sync::OnceLock;

use regex::Regex;

use super::work_claims::WorkClaim;

/// Compiles a pattern for text in lower case. ASCII classes compile many times faster than those of all scripts.
pub(super) fn compile_words(text: &str) -> Regex {
    let text = PARTS.iter().fold(text.to_owned(), |text, (name, part)| {
        text.replace(name, part)
    });
    let text = text.replace(r"\b", r"(?-u:\b)").replace(r"\w", "[0-9a-z_]");
    Regex::new(&text).expect("the pattern is a constant")
}

/// Parts of the phrases.
const PARTS: [(&str, &str); 11] = [
    // The beginning of a clause whose verb is the session's own.
    (
        "<did>",
        r"(?:^\W*|\b(?:i|we)(?:['’]ve| have)? |, |\band |\bthen )(?:(?:all|also|and|done|just|now|then)\b\W*)*",
    ),
    (
        "<be>",
        r"(?:,? (?:is|are|was|were|has|have|been|now|all|also|both|and))*\W*",
    ),
    (
        "<whole>",
        r"\b(?:everything|all(?: of)?(?: (?:the|my|these))? (?:changes|work|edits|files|modifications)|all of it|the work)",
    ),
    (
        "<suite>",
        r"(?:^\W*(?:(?:and|now|so|finally|then|also|verified)\W+)*|\b(?:all|the|and|that|full|entire) (?:(?:of )?(?:the|our|\d+|existing|full|entire) )*)",
    ),
    // Words that may stand between tests, a build or a linter and their success.
    (
        "<chain>",
        r"(?:[,:|]? (?:(?:and|the|is|are|has|have|been|now|all|also|still|both|build|lint(?:er|ing)?|type ?checks?|formatting|tests?)\b)?)*",
    ),
    (
        "<pass>",
        r"\W*(?:pass(?:es|ed|ing)?|green|succeed(?:s|ed)?)\b",
    ),
    (
        "<end>",
        r"(?: (?:now|again|cleanly|successfully|too))*(?:\W*$|\W*[,;:|]| and\b| \(\d+ (?:tests|passed))",
    ),
    // Failures that the claim leaves out, and parts that it is about.
    (
        "<others>",
        r"\b(?:fails?|failed|failures?|broken?|breaks?|red|raises|xfail\w*|flak\w*|crash\w*|hangs?|time[ds]? out|complains?|pre-?existing|unrelated|upstream|reverting|elsewhere|ci|unit|integration|e2e|end-to-end|smoke)\b|<but>|\bcould(?: not|n['’]t)\b|\b(?:still|is|are) failing\b|\d ?(?:/|of) ?\d|\b[1-9]\d* (?:errors?|warnings?)|\b(?:some|most|many|few|several|other|only)(?: of)?(?: the)? tests?\b|(?:n['’]t|\bnot|\bcannot|\bto) (?:yet )?(?:be )?r[ua]n\b",
    ),
    (
        "<but>",
        r"\b(?:aside from|apart from|other than|besides|minus|bar|skip\w*|omit\w*|exclude\w*|excluding|except\w*|only)\b|\[ \]",
    ),
    ("<npm>", "(?:npm|pnpm|yarn|bun)"),
    // The begin of a command.
    ("<run>", r"^(?:\S+=\S* )*"),
];

/// The words of each [`WorkClaim`]: phrases about all of the work, for a claim about a part may be true beside any fact; words anywhere in
/// the text that take the claim back, for the agent tells of the rest itself; and commands that bear the claim out.
const VOCABULARY: [[&str; 3]; 5] = [
    [
        concat!(
            r"<whole><be>committed\b|<did>committed (?:everything|it all|<whole>)|\ball (?:is )?committed\b",
            r"|^\W*(?:(?:done|all|and|now)\W+)*committed(?: (?:and|then|&) pushed)?\W*$",
            r"|\bworking (?:tree|directory)(?: (?:is|remains|now))* clean<end>|\bclean_tree<end>",
        ),
        concat!(
            r"(?:\b(?:un|not |without |to |be |only )|n['’]t )(?:yet |be |been |being )*(?:commit|stag)",
            r"|\b(?:left|leav\w+|kept|keep\w*|remain\w*|stay\w*|untracked|(?:git)?ignored?|stash\w*|submodules?|scratch)\b",
            r"|<but>|(?:\bnot|n['’]t) (?:\w+ ){1,3}snippet|snippet (?:\w+ ){1,3}not\b",
        ),
        r"<run>git (?:-\S+(?: \S+)? )*commit\b",
    ],
    [
        concat!(
            r"(?:<did>|\bcommit(?:s|ted) (?:and|then|&) |(?:<whole>|\b(?:the|my|all) (?:changes|commits?))<be>)pushed(?: (?:up|it|them|this|everything|it all|<whole>|(?:(?:all|the|my|both) )*(?:changes|commits?)))*",
            r"(?:\W*$| (?:to|on) (?:the )?(?:origin|remote|upstream|github|gitlab|main|master)\b)",
        ),
        r"(?:\b(?:un|not |never |ready to |to be |without )|n['’]t )(?:yet |be |been )*push|\blocal(?:ly)?\b|\bpush\w*\b.{0,40}\b(?:fail|reject|refus|den)|\bahead of\b|<but>",
        r"<run>git (?:-\S+(?: \S+)? )*push\b",
    ],
    [
        r"<suite>(?:tests?|test suite|suite)<chain><pass><end>",
        "<others>",
        r"<run>(?:<npm>(?: run)? test\b|g?make (?:\S+ )*(?:test|check)\b)",
    ],
    [
        r"(?:^\W*|\bthe |\band )(?:build|compilation)<chain>(?:<pass>|\W*(?:clean|successful)\b)<end>",
        "<others>",
        r"<run>(?:cargo build\b|go build\b|<npm> run build\b|g?make(?: -j\d*| all| build)*$)",
    ],
    [
        r"(?:^\W*|\bthe |\band |, )lint(?:er|ing)?<chain>(?:<pass>|\W*clean\b)<end>",
        "<others>",
        r"<run>(?:cargo clippy\b|(?:npx )?eslint\b|ruff check\b|<npm>(?: run)? lint\b|g?make lint\b)",
    ],
];

/// The columns of the table.
pub(super) const PHRASES: usize = 0;
pub(super) const WITHDRAWN: usize = 1;
pub(super) const COMMANDS: usize = 2;

/// The rows, each compiled at its first use: most texts need none.
static COMPILED: [OnceLock<[Regex; 3]>; 5] = [const { OnceLock::new() }; 5];

impl WorkClaim {
    /// The word used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            WorkClaim::Committed => "committed",
            WorkClaim::Pushed => "pushed",
            WorkClaim::TestsPassed => "tests_passed",
            WorkClaim::BuildPassed => "build_passed",
            WorkClaim::LintPassed => "lint_passed",
        }
    }

    /// Whether the words of this claim are in a text.
    pub(super) fn is_named(self, column: usize, text: &str) -> bool {
        let compile = || VOCABULARY[self as usize].map(compile_words);
        COMPILED[self as usize].get_or_init(compile)[column].is_match(text)
    }
}
