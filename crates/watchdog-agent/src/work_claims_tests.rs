//! The table of sentences and the claims that they make.

use super::*;
use WorkClaim::{
    BuildPassed, CleanTree, Committed, LintPassed, NothingLeft, PullRequest, Pushed, TestsPassed,
};

fn claims_in(text: &str) -> Vec<WorkClaim> {
    let claims = read_work_claims(text).into_iter();
    claims.map(|read| read.claim).collect()
}

#[test]
fn assertions_make_claims() {
    for (text, claims) in [
        ("✅ **Committed**.", &[Committed][..]),
        (
            "I did not touch the docs, but I committed everything.",
            &[Committed],
        ),
        ("I fixed it, and pushed to `origin/main`.", &[Pushed]),
        ("All 42 tests now pass without errors.", &[TestsPassed]),
        ("Tests and lint pass.", &[TestsPassed, LintPassed]),
        (
            "The build succeeds and all tests pass.",
            &[TestsPassed, BuildPassed],
        ),
        ("I opened a pull request.", &[PullRequest]),
        ("There is nothing left to do.", &[NothingLeft]),
        (
            "No remaining work; the tree has no uncommitted changes.",
            &[CleanTree, NothingLeft],
        ),
        // Parts of the work, and files.
        ("I've committed the fix as `abc1234`.", &[]),
        ("I created two small commits.", &[]),
        ("The parser tests pass.", &[]),
        ("Ran the suite: 12 passed, 0 failed.", &[]),
        ("I created @types/node and wrote application/json.", &[]),
    ] {
        assert_eq!(claims_in(text), claims, "{text}");
    }
}

#[test]
fn other_sentences_claim_nothing() {
    for text in [
        "The tests weren't run; everything wasn't committed.",
        "I haven’t pushed, and couldn't commit everything.",
        "If all tests pass, the branch is pushed.",
        "Next steps:\n- All tests pass\n- Committed and pushed",
        "- [ ] All tests pass\n- [ ] Committed",
        "Are all tests passing?",
        "> All tests pass, committed and pushed.",
        "```\nAll tests pass. Committed.\n```",
        "Use `git commit` and `git push`; `all tests pass` is what it prints.",
        "To make the tests pass, edit the fixture.",
        "The pull request template is in `.github`.",
        "",
    ] {
        assert_eq!(claims_in(text), [], "{text}");
    }
}

#[test]
fn quote_is_one_short_line() {
    let text = format!("- **Committed everything**, {}.", "very ".repeat(50));
    let quote = &read_work_claims(&text)[0].quote;
    assert!(quote.starts_with("Committed everything"), "{quote}");
    assert!(quote.len() < 130, "{quote}");
}
