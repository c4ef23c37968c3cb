//! Decides how a stop without criteria is answered by the claims of the agent's last words. Pure.

use watchdog_agent::work_claims::ReadClaim;
use watchdog_facts::verdict::Reason;
use watchdog_facts::work_claim::{ClaimState, WeighedClaim, WorkClaim};

use super::hold::{HoldCountChange, HoldStreak, HookDecision};
use super::reply::{HookAction, HookReply};

/// How often claims hold one session.
const HOLDS: usize = 3;

/// A claim and its state, of which an agent hears once.
pub type AnsweredClaim = (WorkClaim, ClaimState);

/// Holds the agent for contradicted claims that it has not heard of, and shows the others to the person once; `None` with nothing to
/// say. `answered` are the earlier ones of the session.
pub fn decide_claims(
    weighed: &[(ReadClaim, WeighedClaim)],
    answered: &[AnsweredClaim],
    streak: HoldStreak,
) -> Option<HookDecision> {
    let list = |state: ClaimState| -> Vec<String> {
        let wanted = weighed.iter().filter(|(_, weighed)| {
            weighed.state == state && !answered.contains(&(weighed.claim, weighed.state))
        });
        wanted
            .map(|(read, weighed)| format!("\"{}\": {}", read.quote, weighed.fact))
            .collect()
    };
    let is_contradicted = |(_, state): &&AnsweredClaim| *state == ClaimState::Contradicted;
    let (contradicted, unproved) = (list(ClaimState::Contradicted), list(ClaimState::Unproved));
    let is_spent = answered.iter().filter(is_contradicted).count() >= HOLDS
        || streak.times.is_none_or(|times| times >= streak.most);
    let shown = |word: &str, facts: &[String]| {
        (!facts.is_empty()).then(|| format!("watchdog: {word}: {}", facts.join("; ")))
    };
    let unproved_note = shown("unproved", &unproved);
    if contradicted.is_empty() || is_spent {
        let notes = [shown("contradicted", &contradicted), unproved_note];
        let message = notes.into_iter().flatten().collect::<Vec<_>>().join("\n");
        return (!message.is_empty()).then(|| HookDecision {
            reply: HookReply::tell(message.clone()),
            reason: None,
            message,
            counted: HoldCountChange::Same,
        });
    }
    let reason = format!(
        "You said {}. Do it, or correct what you said.",
        contradicted.join("; ")
    );
    Some(HookDecision {
        message: reason.clone(),
        reply: HookReply {
            act: HookAction::Block { reason },
            message: unproved_note,
        },
        reason: Some(Reason::Disputed),
        counted: HoldCountChange::OneMore,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(claims: &[AnsweredClaim], answered: &[AnsweredClaim], most: u32) -> (bool, String) {
        let weighed: Vec<_> = (claims.iter())
            .map(|(claim, state)| {
                let quote = claim.as_str().to_owned();
                let read = ReadClaim {
                    claim: *claim,
                    quote,
                    path: String::new(),
                };
                (
                    read,
                    WeighedClaim {
                        claim: *claim,
                        state: *state,
                        fact: "so".into(),
                    },
                )
            })
            .collect();
        match decide_claims(
            &weighed,
            answered,
            HoldStreak {
                times: Some(0),
                most,
            },
        ) {
            None => (false, String::new()),
            Some(decision) => match decision.reply.act {
                HookAction::Block { reason } => (true, reason),
                _ => (false, decision.reply.message.unwrap_or_default()),
            },
        }
    }

    #[test]
    fn contradicted_claim_holds_once_and_thrice_at_most() {
        use ClaimState::{Contradicted, Held, Unproved};
        use WorkClaim::{BuildPassed, Committed, LintPassed, Pushed, TestsPassed};
        let committed = (Committed, Contradicted);
        let sentence = "You said \"committed\": so. Do it, or correct what you said.";
        assert_eq!(
            decide(&[committed, (Pushed, Held)], &[], 7),
            (true, sentence.into())
        );
        assert_eq!(
            decide(&[committed], &[committed], 7),
            (false, String::new())
        );
        assert!(
            decide(&[committed], &[(Committed, Unproved)], 7).0,
            "another state"
        );
        let three = [TestsPassed, BuildPassed, LintPassed].map(|claim| (claim, Contradicted));
        let shown = "watchdog: contradicted: \"committed\": so";
        assert_eq!(decide(&[committed], &three, 7), (false, shown.into()));
        assert_eq!(decide(&[committed], &[], 0), (false, shown.into()));
        assert_eq!(decide(&[], &[], 7), (false, String::new()));
    }

    #[test]
    fn unproved_claim_is_shown_once_and_holds_nobody() {
        let pushed = (WorkClaim::Pushed, ClaimState::Unproved);
        assert_eq!(
            decide(&[pushed], &[], 7),
            (false, "watchdog: unproved: \"pushed\": so".into())
        );
        assert_eq!(decide(&[pushed], &[pushed], 7), (false, String::new()));
    }
}
