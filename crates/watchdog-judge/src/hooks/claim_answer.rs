//! Decides how a stop without criteria is answered by the claims of the agent's last words. Pure.

use watchdog_facts::verdict::Reason;
use watchdog_facts::work_claim::{ClaimState, WeighedClaim};

use super::hold::{HoldCountChange, HoldStreak, HookDecision};
use super::reply::{HookAction, HookReply};

/// How often claims hold one session.
const HOLDS: u32 = 3;

/// Holds the agent for contradicted claims, and shows the others to the person; `None` with nothing to say. The session
/// was held `holds` times for some.
pub fn decide_claims(
    claims: &[WeighedClaim],
    holds: u32,
    streak: HoldStreak,
) -> Option<HookDecision> {
    let list = |wanted: ClaimState| -> Option<String> {
        let claims = claims.iter().filter(|claim| claim.state == wanted);
        let quoted: Vec<String> = claims
            .map(|claim| format!("\"{}\": {}", claim.quote, claim.fact))
            .collect();
        (!quoted.is_empty()).then(|| quoted.join("; "))
    };
    let unproved = list(ClaimState::Unproved).map(|facts| format!("watchdog: unproved: {facts}"));
    let contradicted = list(ClaimState::Contradicted);
    let is_spent = holds >= HOLDS || streak.times.is_none_or(|times| times >= streak.most);
    let Some(facts) = contradicted.as_ref().filter(|_| !is_spent) else {
        let shown = contradicted.map(|facts| format!("watchdog: contradicted: {facts}"));
        let message = shown
            .into_iter()
            .chain(unproved)
            .collect::<Vec<_>>()
            .join("\n");
        return (!message.is_empty()).then(|| HookDecision {
            reply: HookReply::tell(message.clone()),
            reason: None,
            message,
            counted: HoldCountChange::Same,
        });
    };
    let reason = format!("You said {facts}. Do it, or correct what you said.");
    Some(HookDecision {
        message: reason.clone(),
        reply: HookReply {
            act: HookAction::Block { reason },
            message: unproved,
        },
        reason: Some(Reason::Disputed),
        counted: HoldCountChange::OneMore,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ClaimState::{Contradicted, Held, Unproved};

    fn decide(fact: &str, state: ClaimState, holds: u32, most: u32) -> (bool, String) {
        let claims = [WeighedClaim {
            claim: "committed".to_owned(),
            state,
            fact: fact.to_owned(),
            quote: "All done".to_owned(),
        }];
        let streak = HoldStreak {
            times: Some(0),
            most,
        };
        match decide_claims(&claims, holds, streak) {
            None => (false, String::new()),
            Some(decision) => match decision.reply.act {
                HookAction::Block { reason } => (true, reason),
                _ => (false, decision.reply.message.unwrap_or_default()),
            },
        }
    }

    #[test]
    fn contradicted_claim_holds_thrice_at_most() {
        let sentence = "You said \"All done\": a is dirty. Do it, or correct what you said.";
        let shown = "watchdog: contradicted: \"All done\": a is dirty";
        for (holds, most, answer) in [
            (0, 7, (true, sentence)),
            (2, 7, (true, sentence)),
            (3, 7, (false, shown)),
            (0, 0, (false, shown)),
        ] {
            let answered = decide("a is dirty", Contradicted, holds, most);
            assert_eq!((answered.0, answered.1.as_str()), answer, "{holds} {most}");
        }
    }

    #[test]
    fn unproved_claim_is_only_shown() {
        let shown = "watchdog: unproved: \"All done\": no remote";
        assert_eq!(decide("no remote", Unproved, 0, 7), (false, shown.into()));
        assert_eq!(decide("", Held, 0, 7), (false, String::new()));
    }
}
