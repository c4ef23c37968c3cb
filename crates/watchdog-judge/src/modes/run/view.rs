//! The status of a run for a live view, sent whenever it changes.

use std::time::Duration;

use jiff::Timestamp;
use watchdog_process::TerminalCover;

use watchdog_agent::stream::StreamTap;

/// The phase of a run.
#[derive(Debug, Clone)]
pub enum RunPhase {
    /// The session runs.
    Session {
        /// Since then.
        since: Timestamp,
        /// How long it may run at most.
        limit: Option<Duration>,
        /// Reads its output.
        tap: StreamTap,
    },
    /// It has ended, and is being judged since then.
    Judging(Timestamp),
}

/// Shows the state of a run, on the terminal that the session's output is shown on too.
pub trait RunView: TerminalCover {
    /// Something changed.
    fn show(&self, phase: RunPhase);
}
