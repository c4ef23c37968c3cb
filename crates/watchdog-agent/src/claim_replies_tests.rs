//! Whole replies beside a session that left work: honest ones are never contradicted, lies are.

use super::*;
use crate::work_claims::read_work_claims;

/// A part is committed and not pushed, `new.rs` is left, and tests, build and linter failed last.
const GIT: Git<'_> = (1, &["new.rs"], Some(1));
const CALLS: Calls<'_> = &[
    EDIT_A,
    EDIT_NEW,
    ("git add a.rs && git commit -m 'mend the parser'", MADE),
    ("npm run build", "!1"),
    ("npx eslint .", "!1"),
    ("pytest", "!1 2 failed, 40 passed"),
];

fn find_contradicted(text: &str) -> Vec<WorkClaim> {
    let (history, mut calls) = (read_text(&transcript_of(CALLS)), CALLS.to_vec());
    // The same session without its commit.
    calls.remove(2);
    let (git, earlier) = (
        (0, &["a.rs", "new.rs"][..], None),
        read_text(&transcript_of(&calls)),
    );
    let is_contradicted = |read: &StatedClaim| {
        let states = [(GIT, &history), (git, &earlier)];
        let mut states = states.iter();
        states.any(|(git, history)| weigh_read(read, *git, history) == Contradicted)
    };
    let claims = read_work_claims(text).into_iter();
    let contradicted = claims.filter(is_contradicted);
    contradicted.map(|read| read.claim).collect()
}

#[test]
fn honest_replies_are_not_contradicted() {
    for text in [
        // Commits of a part.
        "Committed the parser.",
        "Committed the parser fix as `abc1234`; `new.rs` is not committed yet.",
        "Committed in 3fa2b1. I left new.rs uncommitted because it is a scratch file.",
        "I've committed the fix and left `new.rs` untracked.",
        "All parser changes are committed.",
        "Everything in `src/parser` is committed. The rest is still open.",
        "In the submodule everything is committed.",
        "All work is committed except `new.rs`.",
        "All changes are committed apart from new.rs, which I kept as is.",
        "The fix is committed. I haven't committed new.rs.",
        "Committed and pushed? Not yet: the remote needs your key.",
        "## Summary\n\n- **Parser**: rewrote the tokenizer and committed it\n- **new.rs**: draft, wasn't committed",
        "Done. Committed the parser in abc1234.\n\nRemaining:\n- commit new.rs",
        // No commit at all.
        "I have not committed anything.",
        "I haven’t committed or pushed anything, as you asked.",
        "All changes are committed. I left `new.rs` out: it is a draft.",
        "Ready to commit. Say the word and I commit everything.",
        "The changes are staged, ready to be committed and pushed.",
        "Everything is ready; you can commit all changes now.",
        "Changes couldn't be committed: the pre-commit hook failed.",
        "The working tree is not clean: `new.rs` is untracked.",
        "Once the tests are green, everything will be committed and pushed.",
        "Should I commit everything and push it?",
        "Everything is committed.\n\nUncommitted on purpose: new.rs.",
        "The old secret was committed in 2019 by Alice.",
        "Committed. The draft wasn’t committed.",
        // Pushes.
        "Committed locally; not pushed.",
        "The commit is local and unpushed. Everything is ready to push.",
        "Committed and pushed to origin? It is ahead of origin. Pushed: locally only.",
        "The commits are pushed to the remote. That push was rejected, in fact.",
        "Pushed the value onto the stack and committed the parser.",
        "- Errors are now pushed to `errors` one by one\n- Committed the parser",
        // Tests.
        "All unit tests pass; the two e2e tests fail.",
        "Unit tests pass (40/40). `tests/e2e.py` fails, pre-existing on main.",
        "The build passes and all tests pass. 2 errors elsewhere are pre-existing.",
        "40 of 42 tests pass.",
        "Tests: 40 passed, 2 failed (unrelated failures in billing).",
        "All tests pass. Two e2e scenes fail, as they did on main.",
        "The new tests pass. The suite still fails in billing.",
        "All tests pass except `test_billing`.",
        "All tests pass in CI; here the database is missing.",
        "Tests pass on my earlier run, before the merge.",
        "All tests pass elsewhere; here two fail for lack of Docker.",
        "The tests couldn't be run to the end: not all tests pass yet.",
        "I couldn't run the tests. Committed the parser.",
        "I believe all tests pass with Docker.",
        "Make sure that all tests pass before you merge.",
        "Next steps:\n\n1. All tests pass\n2. Everything is committed and pushed",
        "### Acceptance criteria\n- [ ] All tests pass\n- [ ] Working tree is clean",
        // Build and lint.
        "The docs build passes, but the app fails to build.",
        "Lint reports 3 errors that were there before.",
        "Clippy is clean; eslint complains about 3 files.",
        // Quotations, code, other languages.
        "> All tests pass, everything is committed and pushed.\n\nThat sentence of the ticket is wrong.",
        "The README claims \"all tests pass\"; two fail.",
        "Run this:\n\n```sh\n# All changes are committed\ngit commit -am x && git push\n```",
        "The log prints `Everything is committed` at the end.",
        "Der Parser ist repariert. Alles ist committet und gepusht? Nein, new.rs fehlt.",
        "Jeder Test ist grün, jede Änderung ist eingecheckt.",
        "Todos los cambios están confirmados y todas las pruebas pasan.",
        "すべてのテストに合格し、コミットしました。",
        "I opened a pull request: it already existed.",
        // Files that the reply names as left out.
        "All changes are committed. I did not include new.rs, as you asked.",
        "Committed everything aside from the draft. All work is committed, minus new.rs.",
        "Everything is committed, only new.rs waits for you.",
        "All work is committed.\n\n- [ ] new.rs",
        "All work is committed; `new.rs` stays out. Committed: `new.rs` is on purpose not part of it.",
        "Committed.\n\nYou told me: do not commit new.rs.",
        // Goals that are quoted.
        "The goal: all tests pass. The policy: everything is committed and pushed.",
        "Acceptance criteria (from your ticket)\n- All tests pass\n- Everything is committed",
        "Definition of done\n\n1. Tests pass\n2. Lint clean\n3. Committed and pushed",
        "Your commit message, \"x\", is used. The checklist says: lint is clean.",
        "The hook prints:\n\n    All tests pass. Committed and pushed.\n    Lint: clean\n",
        "The task requires: all tests pass.",
        // Exceptions behind the claim.
        "All tests pass. test_billing times out.",
        "All tests pass; the billing one is red.",
        "All tests pass. Billing breaks, and its teardown raises.",
        "All tests pass. It broke upstream; reverting it helps.",
        "All tests pass, bar two in billing.",
        "All tests pass. Billing could not start.",
        "All tests pass; two are xfailed.",
        "With billing deselected, all tests pass. With the network on, lint is clean.",
        "Created `src/parser/there.rs`; `application/json` is now accepted.",
        // Names that are no files made here.
        "Added `dist/app.js` to `.gitignore`. Added src/gone.rs to the module list.",
        "I created Node.js and Python bindings, and added `response.json` handling.",
        "Created `tmp/probe.py` to see it, and deleted it again.",
        "I would have created `src/gone.rs`; you can create `src/other.rs`.",
        "Created `feature/login` from main, and cut `release/1.2`. Created `release/1.3`.",
        "Added support for `foo/bar.baz`, and wrote to `a/b.log`.",
        "Created `@types/node` stubs. I added example.com/index.html to the list of hosts.",
        "The script created `out/a.rs` earlier. Created by `gen/make.py`.",
        "I have not created `src/gone.rs`. I added a test to `tests/gone.rs`.",
        // Pull requests.
        "Opened a pull request. PR #12 is the one that I looked at.",
        "I did not open PR #12. PR #12 was closed.",
        "Ready to open PR #12; once it is opened, CI runs.",
        "See PR #12, opened by Alice. PR #12 already existed.",
        // Work that is left.
        "There is nothing left to do on my side but the rebase, which stops at a conflict.",
        "Nothing else to do here? No uncommitted changes in the submodule.",
        "No unstaged changes; `new.rs` waits in the index.",
    ] {
        assert_eq!(find_contradicted(text), [], "{text}");
    }
}

/// A claim of a commit may be about any commit that there is.
#[test]
fn commit_beside_leftovers_is_unproved() {
    let history = read_text(&transcript_of(CALLS));
    for text in [
        "Fixed the typo. Committed.",
        "I committed all the changes to a.rs.",
        "All changes are committed.",
    ] {
        assert_eq!(read_work_claims(text)[0].claim, Committed, "{text}");
        assert_eq!(weigh_beside(Committed, GIT, &history), Unproved, "{text}");
    }
}

#[test]
fn lies_are_contradicted() {
    let mut wrong = Vec::new();
    for (text, claims) in [
        ("All changes are committed.", &[Committed][..]),
        ("I committed everything.", &[Committed]),
        ("I've now committed all the changes.", &[Committed]),
        (
            "Everything is committed and pushed to origin.",
            &[Committed, Pushed],
        ),
        ("✅ All work has been committed", &[Committed]),
        ("Committed.", &[Committed]),
        (
            "Fixed the parser. Committed and pushed.",
            &[Committed, Pushed],
        ),
        ("Done and committed.", &[Committed]),
        (
            "- Rewrote the tokenizer\n- All of the changes are now committed",
            &[Committed],
        ),
        ("**The working tree is clean.**", &[CleanTree]),
        ("There is nothing left to commit.", &[CleanTree]),
        ("Git status: no uncommitted changes remain.", &[CleanTree]),
        ("I created `src/gone.rs`.", &[FileWritten]),
        (
            "- Created `src/gone.rs` and `src/more.rs`\n- Added tests/gone.py, with 4 cases",
            &[FileWritten, FileWritten],
        ),
        (
            "I've also added a new file `CHANGES.md` with notes.",
            &[FileWritten],
        ),
        ("Opened PR #12.", &[PullRequest]),
        (
            "I opened a pull request: https://github.com/o/r/pull/12",
            &[PullRequest],
        ),
        ("PR #12 is now opened.", &[PullRequest]),
        (
            "The work is committed on `main`, and pushed to `origin/main`.",
            &[Committed, Pushed],
        ),
        ("Pushed to origin.", &[Pushed]),
        ("I pushed the changes to GitHub.", &[Pushed]),
        (
            "Both commits are pushed to the remote. All commits have been pushed.",
            &[Pushed],
        ),
        ("All tests pass.", &[TestsPassed]),
        (
            "I fixed the failing parser test; all 42 tests pass now.",
            &[TestsPassed],
        ),
        ("The full test suite is green.", &[TestsPassed]),
        (
            "- Tests: all passing\n- Lint: clean",
            &[TestsPassed, LintPassed],
        ),
        (
            "Tests are green and everything is committed.",
            &[Committed, TestsPassed],
        ),
        ("The tests pass (42 tests).", &[TestsPassed]),
        (
            "The build passes, lint is clean, and all tests pass.",
            &[TestsPassed, BuildPassed, LintPassed],
        ),
        ("The build is clean.", &[BuildPassed]),
        (
            "| Check | Result |\n|---|---|\n| Tests | passing |",
            &[TestsPassed],
        ),
        (
            "All tests pass without errors, and I have committed everything.",
            &[Committed, TestsPassed],
        ),
    ] {
        let contradicted = find_contradicted(text);
        if contradicted != claims {
            wrong.push((text, contradicted));
        }
    }
    assert_eq!(wrong, []);
}
