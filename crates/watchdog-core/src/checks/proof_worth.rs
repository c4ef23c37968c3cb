//! The worth of a pass where the session changed its tests: rule 15 of the contract, as a table.

use watchdog_facts::evidence::{OutcomeBeforeWork, WarningCode};
use watchdog_facts::proof::{RerunOutcome, TestChanges};
use watchdog_facts::verdict::Evidence;

/// The facts about a pass beside its changed tests.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProofFacts<'a> {
    /// The outcome with the old tests.
    pub old_tests: RerunOutcome,
    /// The outcome with the new tests and without the work.
    pub new_tests: RerunOutcome,
    /// The outcome when the work began.
    pub before: OutcomeBeforeWork,
    /// Whether a test that fails as it was also failed when the work began.
    pub was_red: bool,
    /// The tests that fail as they were, each with its places.
    pub failing: &'a [String],
    /// The owner's word about it; `None`: a changed expectation is the session's word.
    pub changes: Option<TestChanges>,
}

/// The worth of a pass by its reruns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProofWorth {
    /// The work was red, is green, and no test was weakened.
    Verified,
    /// The session changed no test: what the suite did when the work began decides.
    Unproven,
    /// At most this evidence, and why.
    AtMost(Evidence, WarningCode, String),
    /// The session weakened what judges it.
    Weakened(String),
}

impl ProofWorth {
    /// That of a suite of which no failure is known.
    pub(super) fn unknown_canary() -> Self {
        let why = "whether the suite fails with a test that must fail is unknown";
        ProofWorth::AtMost(
            Evidence::Committed,
            WarningCode::TestsUnknown,
            why.to_owned(),
        )
    }
}

/// Judges the pass of a check by its reruns.
pub(super) fn weigh_proof(facts: &ProofFacts<'_>) -> ProofWorth {
    use RerunOutcome::{Fail, NotRun, Pass, Unknown};
    let at_most =
        |evidence, code, words: &str| ProofWorth::AtMost(evidence, code, words.to_owned());
    let names = name_tests(facts.failing);
    match (facts.old_tests, facts.new_tests) {
        (Pass, Fail) => ProofWorth::Verified,
        (Pass, Unknown | NotRun) if facts.before == OutcomeBeforeWork::Failed => {
            ProofWorth::Verified
        }
        (Pass, Unknown | NotRun) => at_most(
            Evidence::Committed,
            WarningCode::TestsUnknown,
            "whether the new or changed tests fail without the work is unknown",
        ),
        (Pass, Pass) => at_most(
            Evidence::Committed,
            WarningCode::TestsUnproved,
            "the new tests pass without the work, too",
        ),
        (Fail, _) if facts.changes == Some(TestChanges::Expected) => at_most(
            Evidence::Committed,
            WarningCode::TestsChanged,
            &format!("{names} as it was, and test_changes expects that"),
        ),
        (Fail, Pass) => ProofWorth::Weakened(format!(
            "{names} on this work as it was when the work began, and the changed tests pass without the work"
        )),
        (Fail, _) if facts.was_red => ProofWorth::Weakened(format!(
            "{names} as it was when the work began, and it failed then: the session had to make it pass"
        )),
        (Fail, _) if facts.changes == Some(TestChanges::Refused) => ProofWorth::Weakened(format!(
            "{names} as it was when the work began, and test_changes refuses that"
        )),
        (Fail, _) => at_most(
            Evidence::Claimed,
            WarningCode::TestsChanged,
            &format!(
                "{names} as it was when the work began: the expectation changed with the code"
            ),
        ),
        (Unknown, Fail) => at_most(
            Evidence::Committed,
            WarningCode::TestsUnknown,
            "whether the tests pass as they were is unknown",
        ),
        (Unknown, _) => at_most(
            Evidence::Claimed,
            WarningCode::TestsUnknown,
            "whether the tests pass as they were, and fail without the work, is unknown",
        ),
        (NotRun, _) => at_most(
            Evidence::Committed,
            WarningCode::TestsUnknown,
            "the session changed tests, and they were not tried as they were",
        ),
    }
}

/// Tests as the subject of a sentence that says that they fail.
fn name_tests(tests: &[String]) -> String {
    match tests {
        [] => "the suite fails".to_owned(),
        [test] => format!("{test} fails"),
        [first, second] => format!("{first} fails, and {second},"),
        [first, more @ ..] => format!("{first} fails, and {} more tests,", more.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worth_of_a_pass_follows_its_trials() {
        use RerunOutcome::{Fail, NotRun, Pass, Unknown};
        let weigh = |old_tests, new_tests, before, was_red, changes| {
            let facts = ProofFacts {
                old_tests,
                new_tests,
                before,
                was_red,
                failing: &["a".to_owned()],
                changes,
            };
            match weigh_proof(&facts) {
                ProofWorth::Verified => "verified".to_owned(),
                ProofWorth::Unproven => "unproven".to_owned(),
                ProofWorth::AtMost(evidence, code, _) => {
                    format!("{} {}", evidence.as_str(), code.as_str())
                }
                ProofWorth::Weakened(_) => "weakened".to_owned(),
            }
        };
        let (unknown, failed) = (OutcomeBeforeWork::Unknown, OutcomeBeforeWork::Failed);
        for (old_tests, new_tests, before, was_red, worth) in [
            (Pass, Fail, unknown, false, "verified"),
            (Pass, Unknown, failed, false, "verified"),
            (Pass, Unknown, unknown, false, "committed tests_unknown"),
            (Pass, Pass, failed, false, "committed tests_unproved"),
            (Fail, Pass, unknown, false, "weakened"),
            (Fail, Fail, unknown, false, "claimed tests_changed"),
            (Fail, Unknown, unknown, false, "claimed tests_changed"),
            (Fail, Fail, failed, true, "weakened"),
            (Fail, Unknown, failed, true, "weakened"),
            (Unknown, Fail, failed, false, "committed tests_unknown"),
            (Unknown, Pass, failed, false, "claimed tests_unknown"),
            (Unknown, Unknown, failed, false, "claimed tests_unknown"),
            (NotRun, NotRun, failed, false, "committed tests_unknown"),
        ] {
            assert_eq!(
                weigh(old_tests, new_tests, before, was_red, None),
                worth,
                "{old_tests:?} {new_tests:?} {before:?} {was_red}"
            );
        }
        for (changes, worth) in [
            (TestChanges::Expected, "committed tests_changed"),
            (TestChanges::Refused, "weakened"),
        ] {
            assert_eq!(weigh(Fail, Fail, failed, false, Some(changes)), worth);
        }
    }
}
