//! How long a loop waits for a usage limit, and for a question that could not be asked yet.

use std::time::Duration;

use jiff::Timestamp;
use watchdog_facts::verdict::Reason;

use super::{
    AfterPause, IterationOutcome, LoopAction, LoopEnd, LoopMachine, MARGIN, PauseLength,
    PauseReason, WAITS, add_wait,
};

/// The first pause after a usage limit of unknown end; doubled each time.
const UNTOLD_LIMIT: Duration = Duration::from_secs(300);
/// A question that may be asked within this is waited for: the session is over, and a new one would cost tokens.
const SOON: Duration = Duration::from_secs(60);

impl LoopMachine {
    /// When a usage limit ends that was met for this time in a row: as it was told, else after a time that grows.
    pub(super) fn limit_ends(
        &self,
        retry_at: Option<Timestamp>,
        time: u32,
        now: Timestamp,
    ) -> Timestamp {
        match retry_at {
            // A limit that just ended is over now; if the next session meets it again, its words are not to be believed.
            Some(reset) if reset > now || time <= 1 => add_wait(reset.max(now), MARGIN),
            // Never sooner than the first of these pauses: a shorter `--max-wait` ends the loop instead of trying again at once.
            _ => add_wait(now, self.double_wait(UNTOLD_LIMIT, time).max(UNTOLD_LIMIT)),
        }
    }

    /// The wait for a question that may be asked soon; `None` where none is.
    pub(super) fn wait_to_ask(
        &mut self,
        outcome: &IterationOutcome,
        now: Timestamp,
    ) -> Option<LoopAction> {
        let is_unasked = outcome.unasked && outcome.reason == Reason::RateLimited;
        let until = outcome
            .retry_at
            .filter(|at| is_unasked && *at > now && *at <= add_wait(now, SOON))?;
        self.standing.waits = self.standing.waits.saturating_add(1);
        if self.standing.waits > WAITS {
            return Some(LoopAction::End(LoopEnd::WaitedInVain { waits: WAITS }));
        }
        Some(self.pause(
            PauseLength::Until(until),
            PauseReason::UsageLimit,
            AfterPause::JudgeAgain,
            now,
        ))
    }
}
