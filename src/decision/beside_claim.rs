//! A session's word beside work of its helpers that HEAD lacks.

use super::verdict::{Evidence, Reason, Verdict};

/// The helpers that a message names.
const NAMED: usize = 3;

/// A bare `complete` of the agent does not stand beside work of its helpers that is neither merged nor committed: a person decides.
pub fn dispute_beside_helpers(mut verdict: Verdict, helpers: Vec<String>) -> Verdict {
    let rests_on_the_word = matches!(verdict.reason, Reason::NothingToDo | Reason::Rescued);
    if rests_on_the_word && !helpers.is_empty() {
        let more = helpers.len().saturating_sub(NAMED);
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        let named = format!("{}{more}", helpers[..helpers.len().min(NAMED)].join("; "));
        verdict.reason = Reason::Disputed;
        verdict.evidence = Evidence::None;
        verdict.message = format!("the agent says complete, and helpers of its session hold work that HEAD lacks: {named}");
        verdict.feedback = Some(format!("merge what your helpers made, or remove what is not needed: {named}"));
        verdict.not_a_strike_because = Some(Reason::Disputed.status().as_str());
    }
    verdict.helpers = helpers;
    verdict
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_bare_complete_is_disputed_beside_helpers() {
        let lines = |count: usize| (0..count).map(|n| format!("branch {n}")).collect::<Vec<_>>();
        for (reason, helpers, expected) in [
            (Reason::NothingToDo, 1, Reason::Disputed),
            (Reason::Rescued, 5, Reason::Disputed),
            (Reason::NothingToDo, 0, Reason::NothingToDo),
            (Reason::NewCommits, 1, Reason::NewCommits),
            (Reason::ChecksPassed, 1, Reason::ChecksPassed),
        ] {
            let verdict = dispute_beside_helpers(Verdict::new(reason, "done"), lines(helpers));
            assert_eq!((verdict.reason, verdict.helpers.len()), (expected, helpers));
        }
        let disputed = dispute_beside_helpers(Verdict::new(Reason::NothingToDo, "done"), lines(5));
        assert!(disputed.message.ends_with("branch 0; branch 1; branch 2; and 2 more"), "{}", disputed.message);
    }
}
