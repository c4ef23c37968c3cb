//! A session's word beside work that HEAD lacks: of its helpers, or inside of submodules.

use watchdog_facts::verdict::{Evidence, Reason, Status, Verdict};

/// How many of them a message names.
const NAMED: usize = 3;

/// A bare `complete` of the agent is disputed if helpers have unmerged or uncommitted work, or submodules have changes of the
/// session: a person decides. A verdict that is not complete names the submodules in its feedback.
pub fn dispute_beside(
    mut verdict: Verdict,
    helpers: Vec<String>,
    submodules: &[String],
) -> Verdict {
    let all: Vec<&String> = helpers.iter().chain(submodules).collect();
    let rests_on_the_word = matches!(verdict.reason, Reason::NothingToDo | Reason::Rescued);
    if rests_on_the_word && !all.is_empty() {
        let named = join_names(&all);
        verdict.reason = Reason::Disputed;
        verdict.evidence = Evidence::None;
        verdict.message = format!("the agent says complete, beside work that HEAD lacks: {named}");
        verdict.feedback = Some(format!(
            "commit and merge it, or remove what is not needed: {named}"
        ));
        verdict.not_a_strike_because = Some(Reason::Disputed.status().as_str());
    } else if verdict.status() != Status::Complete && !submodules.is_empty() {
        let listed = join_names(submodules);
        verdict.feedback = Some(verdict.feedback.map_or_else(
            || listed.clone(),
            |feedback| format!("{feedback}\n{listed}"),
        ));
    }
    verdict.helpers = helpers;
    verdict
}

/// The first of these, and how many more there are.
pub fn join_names(all: &[impl AsRef<str>]) -> String {
    let more = match all.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let named: Vec<&str> = all.iter().take(NAMED).map(AsRef::as_ref).collect();
    format!("{}{more}", named.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bare_complete_beside_unmerged_work_is_disputed() {
        let lines = |count: usize| {
            (0..count)
                .map(|n| format!("branch {n}"))
                .collect::<Vec<_>>()
        };
        for (reason, helpers, submodules, expected) in [
            (Reason::NothingToDo, 1, 0, Reason::Disputed),
            (Reason::Rescued, 5, 0, Reason::Disputed),
            (Reason::NothingToDo, 0, 1, Reason::Disputed),
            (Reason::NothingToDo, 0, 0, Reason::NothingToDo),
            (Reason::NewCommits, 1, 1, Reason::NewCommits),
            (Reason::ChecksPassed, 1, 1, Reason::ChecksPassed),
            (Reason::Unfinished, 0, 1, Reason::Unfinished),
        ] {
            let verdict = dispute_beside(
                Verdict::new(reason, "done"),
                lines(helpers),
                &lines(submodules),
            );
            assert_eq!((verdict.reason, verdict.helpers.len()), (expected, helpers));
            assert_eq!(
                verdict.feedback.is_some(),
                matches!(expected, Reason::Disputed | Reason::Unfinished)
            );
        }
        let disputed = dispute_beside(Verdict::new(Reason::NothingToDo, "done"), lines(5), &[]);
        assert!(
            disputed
                .message
                .ends_with("branch 0; branch 1; branch 2; and 2 more"),
            "{}",
            disputed.message
        );
    }
}
