//! Stores what calls with the same baseline leave behind for the next one.

use watchdog_core::decision::machine::EarlierRounds;
use watchdog_facts::evidence::UnreadableFact;
use watchdog_store::progress;

use super::judgement_input::JudgementInput;
use crate::clock::now;

impl JudgementInput {
    /// The rounds of earlier calls with the same baseline, and the fingerprint of the work at the first of them.
    pub fn earlier(
        &self,
        store: &dyn watchdog_store::LocalStore,
    ) -> Result<(EarlierRounds, Option<u64>), UnreadableFact> {
        let Some(progress) = progress::read_progress(store, &self.worktree_id, &self.spec)? else {
            return Ok((EarlierRounds::default(), None));
        };
        let streak = EarlierRounds {
            nothing_to_do_streak: progress.nothing_to_do_streak,
            fruitless: progress.fruitless,
            unmet: progress.unmet,
            ..EarlierRounds::default()
        };
        // Only `--once` continues the count; a check that waits starts at zero.
        if !self.overrides.once || progress.baseline != self.baseline_commit() {
            return Ok((streak, None));
        }
        let rounds = EarlierRounds {
            rounds_used: progress.rounds_used,
            answered: progress.rounds_answered,
            alive: progress.rounds_alive,
            ..streak
        };
        Ok((rounds, progress.fingerprint))
    }

    /// Stores the state for the next call. Writes nothing where nothing changes.
    pub fn leave(
        &self,
        store: &dyn watchdog_store::LocalStore,
        left: EarlierRounds,
        fingerprint: Option<u64>,
    ) -> Result<(), UnreadableFact> {
        let baseline = self.baseline_commit();
        let fingerprint = if left.rounds_used > 0 {
            fingerprint
        } else {
            None
        };
        let found = progress::read_progress(store, &self.worktree_id, &self.spec)?;
        let unchanged = match &found {
            None => left == EarlierRounds::default(),
            Some(progress) => {
                progress.baseline == baseline
                    && (
                        progress.rounds_used,
                        progress.rounds_answered,
                        progress.rounds_alive,
                        progress.nothing_to_do_streak,
                    ) == (
                        left.rounds_used,
                        left.answered,
                        left.alive,
                        left.nothing_to_do_streak,
                    )
                    && (progress.fruitless, progress.unmet) == (left.fruitless, left.unmet)
            }
        };
        if unchanged {
            return Ok(());
        }
        progress::update(
            store,
            &self.worktree_id,
            &self.spec,
            baseline.as_deref(),
            now(),
            |progress| {
                progress.rounds_used = left.rounds_used;
                progress.rounds_answered = left.answered;
                progress.rounds_alive = left.alive;
                progress.nothing_to_do_streak = left.nothing_to_do_streak;
                progress.fruitless = left.fruitless;
                progress.unmet = left.unmet;
                progress.fingerprint = progress
                    .fingerprint
                    .filter(|_| left.rounds_used > 0)
                    .or(fingerprint);
            },
        )
        .map_err(UnreadableFact::from)
    }
}
