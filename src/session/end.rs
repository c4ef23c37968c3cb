//! How a session ended, as far as it bears on the judgement, and where its output is kept.

use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::agent::SessionOutcome;
use crate::agent::usage_limit;
use crate::decision::evidence::{Exit, SessionEnd};

/// What the outcome of a session's process means. A usage limit counts only if it was the last that the session said.
pub fn describe_end(outcome: &SessionOutcome, now: Timestamp) -> SessionEnd {
    if outcome.timed_out {
        return SessionEnd::TimedOut { after: outcome.duration };
    }
    let exit = outcome.exit.unwrap_or(Exit::Signal(9));
    match usage_limit::ended_in_limit(&outcome.tail_stdout, exit, now) {
        Some(limit) => SessionEnd::RateLimited { why: limit.why, retry_at: limit.retry_at },
        None => SessionEnd::Ended { exit },
    }
}

/// The log file of a session: below `logs`, by worktree and start, so that names sort by time.
pub fn log_path(logs: &Path, worktree_id: &str, started: Timestamp) -> PathBuf {
    logs.join(worktree_id).join(format!("{}.log", started.strftime("%Y%m%dT%H%M%S%.3fZ")))
}
