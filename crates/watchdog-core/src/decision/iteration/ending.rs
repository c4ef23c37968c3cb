//! The verdict that a loop ends with: the last iteration's, unless the loop itself had to end it.

use watchdog_facts::display::plural;
use watchdog_facts::evidence::WarningCode;
use watchdog_facts::verdict::{Evidence, Reason, Status, Verdict};

use super::next::LoopEnd;

/// Turns the last verdict into that of the loop. `last` is `None` where no session ran at all.
pub fn build_end_verdict(end: &LoopEnd, last: Option<Verdict>) -> Verdict {
    let so_far = last
        .as_ref()
        .map(|last| format!("; the last verdict: {}", last.message))
        .unwrap_or_default();
    let (reason, message) = match end {
        LoopEnd::Verdict => {
            return last.unwrap_or_else(|| {
                Verdict::new(Reason::Interrupted, "interrupted before a session began")
            });
        }
        // The session's verdict already shows it to a person.
        LoopEnd::Stop(stop) if last.as_ref().is_some_and(|last| last.reason == stop.reason) => {
            return last.unwrap_or_else(|| Verdict::new(stop.reason, stop.why.clone()));
        }
        LoopEnd::Stop(stop) | LoopEnd::AgentsSpent(stop) => {
            (stop.reason, format!("{}{so_far}", stop.why))
        }
        LoopEnd::BreakerOpen => (Reason::BreakerOpen, format!("the breaker opened{so_far}")),
        LoopEnd::NoProgress { iterations } => (
            Reason::MaxIterations,
            format!(
                "no progress: {} in a row left the work as it was{so_far}",
                plural((*iterations).into(), "iteration")
            ),
        ),
        LoopEnd::OverloadTooLong => {
            let detail = "pauses for a service without room are together as long as --max-wait; start the loop again later";
            let mut last = last.unwrap_or_else(|| Verdict::new(Reason::RateLimited, String::new()));
            last.add_note(WarningCode::OverloadTooLong, detail);
            // A machine without room stays an error. A service without room cannot be worked with yet, as at a usage limit.
            if last.status() == Status::Error {
                return last;
            }
            let message =
                format!("no room for the session after waiting as long as --max-wait{so_far}");
            return Verdict {
                reason: Reason::RateLimited,
                message,
                evidence: Evidence::None,
                ..last
            };
        }
        LoopEnd::LimitTooLong | LoopEnd::WaitedInVain { .. } => {
            let mut last =
                last.unwrap_or_else(|| Verdict::new(Reason::RateLimited, "a usage limit was met"));
            let (code, detail) = match (end, last.retry_at) {
                (LoopEnd::WaitedInVain { waits }, _) => (
                    WarningCode::WaitedInVain,
                    format!("gave up after {} without progress; rerun the loop to continue", plural((*waits).into(), "wait")),
                ),
                (_, Some(_)) => (
                    WarningCode::LimitTooLong,
                    "the usage limit lasts longer than --max-wait; start the loop again after it".into(),
                ),
                (_, None) => (
                    WarningCode::LimitTooLong,
                    "the end of the usage limit is not known, and the next pause is longer than --max-wait; start the loop again later".into(),
                ),
            };
            last.add_note(code, detail);
            return last;
        }
    };
    let mut ended = last.unwrap_or_else(|| Verdict::new(reason, String::new()));
    if let LoopEnd::NoProgress { .. } = end {
        ended.add_note(WarningCode::NoProgress, &message);
    }
    Verdict {
        reason,
        message,
        evidence: Evidence::None,
        retry_at: None,
        ..ended
    }
}

/// Whether a loop with this end is over: the next start is a new loop. Otherwise the next start resumes it, once the limit allows:
/// a budget that a new start would reset is none.
pub fn is_over(end: &LoopEnd, verdict: &Verdict) -> bool {
    match end {
        LoopEnd::LimitTooLong | LoopEnd::OverloadTooLong | LoopEnd::WaitedInVain { .. } => false,
        LoopEnd::Verdict
        | LoopEnd::Stop(_)
        | LoopEnd::AgentsSpent(_)
        | LoopEnd::BreakerOpen
        | LoopEnd::NoProgress { .. } => {
            match verdict.status() {
                Status::Complete | Status::Review => true,
                // A program can be installed.
                Status::Failed => verdict.reason != Reason::AgentUnrunnable,
                Status::Stopped => verdict.reason == Reason::AgentStopped,
                Status::Incomplete | Status::Waiting | Status::Timeout | Status::Error => false,
            }
        }
    }
}
