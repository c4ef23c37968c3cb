//! How a session ended, as far as it bears on the judgement.

use jiff::Timestamp;

use crate::agent::usage_limit;
use watchdog_facts::evidence::{ProcessExit, SessionEnd};
use watchdog_process::SessionOutcome;

/// The meaning of a session process's outcome. A usage limit counts only if it is the last message of the session.
pub fn describe_end(outcome: &SessionOutcome, now: Timestamp) -> SessionEnd {
    if outcome.timed_out {
        return SessionEnd::TimedOut { after: outcome.duration };
    }
    let exit = outcome.exit.unwrap_or(ProcessExit::Signal(9));
    match usage_limit::ended_in_limit(&outcome.tail_stdout, exit, now) {
        Some(limit) => SessionEnd::RateLimited { why: limit.why, retry_at: limit.retry_at },
        None => SessionEnd::Ended { exit },
    }
}
