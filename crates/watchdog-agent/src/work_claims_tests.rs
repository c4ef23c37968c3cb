//! The table of sentences and the claims that they make.

use super::*;
use WorkClaim::{
    BuildPassed, Committed, FileWritten, LintPassed, NothingLeft, PullRequestOpened, Pushed,
    TestsPassed,
};

fn claims_in(text: &str) -> Vec<WorkClaim> {
    let claims = read_work_claims(text).into_iter();
    claims.map(|claim| claim.claim).collect()
}

#[test]
fn assertions_make_claims() {
    for (text, claims) in [
        ("I committed everything.", &[Committed][..]),
        ("I've committed the fix as `abc1234`.", &[Committed]),
        ("All changes are committed.", &[Committed]),
        ("Done and committed.", &[Committed]),
        (
            "Fixed the parser, added a test and committed.",
            &[Committed],
        ),
        ("✅ **Committed** the fix.", &[Committed]),
        (
            "Everything is now committed and pushed to origin.",
            &[Committed, Pushed],
        ),
        ("Committed and pushed.", &[Committed, Pushed]),
        (
            "I fixed it, committed it, and pushed to `origin/main`.",
            &[Committed, Pushed],
        ),
        ("I created two small commits.", &[Committed]),
        (
            "I did not touch the docs, but I committed the fix.",
            &[Committed],
        ),
        ("Pushed the branch to GitHub.", &[Pushed]),
        ("All tests pass.", &[TestsPassed]),
        ("All 42 tests now pass without errors.", &[TestsPassed]),
        ("The full test suite is green.", &[TestsPassed]),
        ("- Tests: all passing", &[TestsPassed]),
        ("`cargo test --workspace` passes.", &[TestsPassed]),
        ("Ran the suite: 12 passed, 0 failed.", &[TestsPassed]),
        (
            "Fixed the failing login test. All tests pass now.",
            &[TestsPassed],
        ),
        ("Tests and lint pass.", &[TestsPassed, LintPassed]),
        (
            "The build succeeds and all tests pass.",
            &[TestsPassed, BuildPassed],
        ),
        ("It compiles cleanly.", &[BuildPassed]),
        ("`cargo clippy` is clean.", &[LintPassed]),
        ("I opened a pull request.", &[PullRequestOpened]),
        ("PR #12 is open.", &[PullRequestOpened]),
        ("I created `src/parser/lexer.rs`.", &[FileWritten]),
        ("There is nothing left to do.", &[NothingLeft]),
        ("All tasks are done, no remaining work.", &[NothingLeft]),
    ] {
        assert_eq!(claims_in(text), claims, "{text}");
    }
}

#[test]
fn other_sentences_claim_nothing() {
    for text in [
        "I have not committed anything.",
        "Nothing was committed, and no tests pass yet.",
        "I didn't commit because you asked me not to.",
        "You should commit this once all tests pass.",
        "I will push when the tests pass.",
        "If all tests pass, the branch is pushed.",
        "Next steps:\n- All tests pass\n- Committed and pushed",
        "## Acceptance criteria\n\n1. All tests pass\n2. Committed",
        "- [ ] All tests pass\n- [ ] Committed",
        "Are all tests passing?",
        "> All tests pass, committed and pushed.",
        "```\nAll tests pass. Committed.\n```",
        "The README says \"all tests pass\".",
        "Use `git commit` and `git push`; `all tests pass` is what it prints.",
        "The secret was committed in 2019.",
        "Alice committed the file by mistake.",
        "The changes were committed by Alice.",
        "I pushed the value onto the stack.",
        "Make sure all tests pass.",
        "Run the tests and see that all tests pass.",
        "To make the tests pass, edit the fixture.",
        "7 of 9 tests pass.",
        "12 passed, 3 failed.",
        "All unit tests pass; 2 integration tests fail, as on main.",
        "All tests pass except the flaky one.",
        "I believe all tests pass.",
        "Some tests pass.",
        "Most tests pass, but the login test still fails.",
        "I committed the fix and left `notes.md` untracked.",
        "Committed the fix. The docs are not committed yet.",
        "I pushed the branch to origin, but the push was rejected.",
        "We're committed to quality: let me know what you think.",
        "The pull request template is in `.github`.",
        "Alle Tests sind erfolgreich, alles ist eingecheckt und gepusht.",
        "Todos los tests pasan y he subido los cambios.",
        "すべてのテストに合格し、コミットしました。",
        "The function passes the tests array to the runner.",
        "This passes all options to the build.",
        "",
    ] {
        assert_eq!(claims_in(text), [], "{text}");
    }
}

#[test]
fn quote_is_one_short_line() {
    let text = format!("- **Committed** the {}.", "very ".repeat(50));
    let claims = read_work_claims(&text);
    assert!(
        claims[0].quote.starts_with("Committed the very"),
        "{claims:?}"
    );
    assert!(claims[0].quote.len() < 130, "{claims:?}");
}
