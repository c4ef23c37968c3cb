//! Decides whether the agent's last answer is still valid: watchdog does not probe twice about the same state.
//!
//! An answer is valid for an hour; each time a probe repeats it without any change, for twice as long, up to a day. A usage limit
//! is valid until it is lifted. This binds judgements, not the rounds within one, and not a plain `check` that a person types if the
//! answer is one that time or a person may change.

use std::time::Duration;

use jiff::Timestamp;

use watchdog_facts::evidence::{ProbeOutcome, ReplyStatus};
use watchdog_facts::verdict::{Reason, Verdict};

/// How long the first answer is valid, and the maximum.
const FIRST: Duration = Duration::from_secs(60 * 60);
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// The trigger of the judgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JudgementTrigger {
    /// A clock or a watch does: `--once`, `sweep`, `watch`.
    Again,
    /// A person typed `check`.
    Typed,
}

/// How long an answer is valid that probes repeated `pauses` times without any change.
pub fn compute_valid_time(pauses: u32) -> Duration {
    FIRST
        .saturating_mul(2_u32.saturating_pow(pauses))
        .min(LONGEST)
}

/// Until when an answer of `at` is valid at `now`, about an unchanged state; `None` where the agent must be probed.
pub fn stands_until(
    outcome: &ProbeOutcome,
    at: Timestamp,
    pauses: u32,
    judged: JudgementTrigger,
    now: Timestamp,
) -> Option<Timestamp> {
    if judged == JudgementTrigger::Typed && !binds_a_person(outcome) {
        return None;
    }
    // That answer came without a probe.
    if matches!(
        outcome,
        ProbeOutcome::NotInstalled { .. } | ProbeOutcome::NoConversation { .. }
    ) {
        return None;
    }
    let until = match outcome {
        ProbeOutcome::RateLimited {
            retry_at: Some(retry_at),
            ..
        } => *retry_at,
        // A time in the future counts as now.
        _ => at
            .min(now)
            .checked_add(compute_valid_time(pauses))
            .unwrap_or(Timestamp::MAX),
    };
    (now < until).then_some(until)
}

/// Whether an answer holds for a person who asks again: not where the agent was at work, or where a hand or a moment mends what failed.
fn binds_a_person(outcome: &ProbeOutcome) -> bool {
    match outcome {
        ProbeOutcome::Reply(reply) => reply.status == ReplyStatus::Complete,
        ProbeOutcome::Unreadable { .. }
        | ProbeOutcome::Empty
        | ProbeOutcome::RateLimited { .. } => true,
        ProbeOutcome::TimedOut
        | ProbeOutcome::NoConversation { .. }
        | ProbeOutcome::NotInstalled { .. }
        | ProbeOutcome::NotLoggedIn { .. }
        | ProbeOutcome::Overloaded { .. }
        | ProbeOutcome::Failed { .. } => false,
    }
}

/// Whether a verdict is the last one about its question, so that no later `--once` continues to count its rounds.
pub fn is_last_word(verdict: &Verdict) -> bool {
    match verdict.reason {
        Reason::Working | Reason::BackgroundWork => false,
        // With rounds left the session is over, so no answer can change; after the last round its rescue changed the state.
        Reason::Unfinished => verdict.probes_left > 0,
        Reason::ProbeError => verdict.probes_left == 0,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use watchdog_facts::evidence::Reply;

    fn at(minutes: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + minutes * 60).expect("an instant")
    }

    fn reply(status: ReplyStatus) -> ProbeOutcome {
        ProbeOutcome::Reply(Reply::bare(status))
    }

    #[test]
    fn pauses_grow_from_an_hour_to_a_day() {
        let hours: Vec<u64> = (0..8)
            .map(|pauses| compute_valid_time(pauses).as_secs() / 3600)
            .collect();
        assert_eq!(hours, [1, 2, 4, 8, 16, 24, 24, 24]);
        assert_eq!(compute_valid_time(u32::MAX), LONGEST);
    }

    #[test]
    fn answer_stands_for_pause_despite_future_time() {
        use JudgementTrigger::{Again, Typed};
        let why = || "why".to_string();
        let limit = |retry_at| ProbeOutcome::RateLimited {
            why: why(),
            retry_at,
        };
        for (outcome, answered, pauses, judged, now, until) in [
            (reply(ReplyStatus::Working), 0, 0, Again, 59, Some(60)),
            (reply(ReplyStatus::Working), 0, 0, Again, 60, None),
            (reply(ReplyStatus::Working), 0, 1, Again, 60, Some(120)),
            (reply(ReplyStatus::Waiting), 0, 0, Typed, 1, None),
            (reply(ReplyStatus::Working), 0, 0, Typed, 1, None),
            (reply(ReplyStatus::Complete), 0, 0, Typed, 1, Some(60)),
            (reply(ReplyStatus::Complete), 900, 0, Again, 1, Some(61)),
            (ProbeOutcome::Empty, 0, 0, Typed, 1, Some(60)),
            (
                ProbeOutcome::Unreadable { why: why() },
                0,
                0,
                Again,
                1,
                Some(60),
            ),
            (ProbeOutcome::TimedOut, 0, 0, Again, 1, Some(60)),
            (ProbeOutcome::TimedOut, 0, 0, Typed, 1, None),
            (
                ProbeOutcome::NotLoggedIn { why: why() },
                0,
                0,
                Again,
                1,
                Some(60),
            ),
            (
                ProbeOutcome::NotLoggedIn { why: why() },
                0,
                0,
                Typed,
                1,
                None,
            ),
            (
                ProbeOutcome::NotInstalled { why: why() },
                0,
                0,
                Again,
                1,
                None,
            ),
            (
                ProbeOutcome::NoConversation { why: why() },
                0,
                0,
                Again,
                1,
                None,
            ),
            (limit(Some(at(600))), 0, 0, Typed, 300, Some(600)),
            (limit(Some(at(10))), 0, 0, Again, 10, None),
            (limit(None), 0, 0, Again, 1, Some(60)),
        ] {
            let standing_until = stands_until(&outcome, at(answered), pauses, judged, at(now));
            assert_eq!(
                standing_until,
                until.map(at),
                "{outcome:?} of {answered}, {pauses} pauses, at {now}"
            );
        }
    }

    #[test]
    fn open_answer_continues_the_rounds() {
        for (reason, left, last) in [
            (Reason::Working, 2, false),
            (Reason::BackgroundWork, 1, false),
            (Reason::Unfinished, 2, true),
            (Reason::Unfinished, 0, false),
            (Reason::ProbeError, 1, false),
            (Reason::ProbeError, 0, true),
            (Reason::MaxProbes, 0, true),
            (Reason::NothingToDo, 3, true),
            (Reason::Disputed, 0, true),
        ] {
            let verdict = Verdict {
                probes_left: left,
                ..Verdict::new(reason, "")
            };
            assert_eq!(is_last_word(&verdict), last, "{reason:?} with {left} left");
        }
    }
}
