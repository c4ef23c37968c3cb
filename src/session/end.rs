//! How a session ended, as far as it bears on the judgement, and where its output is kept.

use std::fs;
use std::path::{Path, PathBuf};

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

/// Logs of this many sessions of a worktree are kept, the new one included.
const LOGS_KEPT: usize = 20;

/// The log file of a session: below `logs`, by worktree and start, so that names sort by time.
/// Deletes the oldest logs of the worktree first. If that fails, writing the log will fail and report the cause.
pub fn log_path(logs: &Path, worktree_id: &str, started: Timestamp) -> PathBuf {
    let folder = logs.join(worktree_id);
    if fs::create_dir_all(&folder).is_ok() {
        let mut known: Vec<PathBuf> = fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        known.sort();
        for old in known.iter().rev().skip(LOGS_KEPT - 1) {
            // One that cannot be removed is tried again by the next session.
            let _ = fs::remove_file(old);
        }
    }
    folder.join(format!("{}.log", started.strftime("%Y%m%dT%H%M%S%.3fZ")))
}
