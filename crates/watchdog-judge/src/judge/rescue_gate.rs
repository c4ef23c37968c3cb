//! Gathers the facts for the gate of rescue commits (rule 11 of the contract): who lives, whether the work moves, and git's locks.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::command_env::CommandEnv;
use super::executor::ActionExecutor;
use super::session_life::{WorktreeLife, time_of_day};
use super::sightings::{GateSightings, RescueGate};
use crate::clock::now;
use watchdog_core::config::settings::RescueMode;
use watchdog_core::decision::commit_gate::{
    BETWEEN_LOOKS, CommitFacts, CommitHold, RescueCaller, may_commit,
};
use watchdog_core::decision::session_life::{ClockReading, RecordedState, SessionLife, still_for};
use watchdog_facts::evidence::{HeldRescue, ReadFact, UnreadableFact};
use watchdog_facts::verdict::{Reason, Status, Verdict};
use watchdog_git::{Snapshot, Worktree};
use watchdog_process::CancelFlag;
use watchdog_store::still_work::{self, StillWork};
use watchdog_store::{LocalStore, RecordType, StoreError, short_hash};

/// How long each pause is while a lock of git is waited for, or the time between two looks.
const TICK: Duration = Duration::from_millis(50);

/// The worktree that a gate is about.
pub struct GatedWorktree<'a> {
    /// The environment of the command.
    pub command_env: &'a CommandEnv,
    /// The records.
    pub store: &'a dyn LocalStore,
    /// Its name in the records.
    pub worktree_id: &'a str,
    /// Its top folder.
    pub root: &'a Path,
    /// `rescue.quiet_seconds`.
    pub quiet: Duration,
    /// `rescue.timeout_seconds`, for which a lock of git is waited for.
    pub timeout: Duration,
    /// Whether the configuration sets `rescue.mode`.
    pub sets_mode: bool,
}

/// The facts of one command about its rescue.
pub struct RescueFacts<'a> {
    /// The facts settled before.
    pub gate: &'a RescueGate,
    /// The first time that the command saw the work, and its mark then.
    pub first: (Instant, String),
    /// Whether the agent says that the work is complete.
    pub says_complete: bool,
}

impl GatedWorktree<'_> {
    /// Decides whether a rescue may commit now; `Some` holds why not. `snapshot` takes another snapshot, and returns the mark of the work;
    /// `still` reads for how long it stands still. Waits until two looks lie far enough apart, and for young locks of git.
    ///
    /// # Errors
    /// Fails if a fact cannot be read.
    pub fn hold_rescue(
        &self,
        facts: RescueFacts<'_>,
        cancel: &CancelFlag,
        youngest_lock: &dyn Fn() -> Option<(std::path::PathBuf, Duration)>,
        snapshot: &mut dyn FnMut() -> ReadFact<String>,
        still: &dyn Fn() -> ReadFact<Duration>,
    ) -> ReadFact<Option<HeldRescue>> {
        let RescueFacts {
            gate,
            first: (seen_at, first_mark),
            says_complete,
        } = facts;
        let known_hold = self.alive(gate)?;
        if let Some(hold) = known_hold {
            return Ok(Some(self.build_held_rescue(&hold)));
        }
        let git_lock = self.wait_for_lock(cancel, youngest_lock);
        while seen_at.elapsed() < BETWEEN_LOOKS && !cancel.is_cancelled() {
            std::thread::sleep(TICK.min(BETWEEN_LOOKS.saturating_sub(seen_at.elapsed())));
        }
        let looks_equal = snapshot()? == first_mark;
        let WorktreeLife { alive, .. } = self.read_life()?;
        let needs_stillness = !gate.ended && gate.caller == RescueCaller::Recurring;
        let facts = CommitFacts {
            caller: gate.caller,
            from_inside: gate.from_inside,
            ended: gate.ended,
            alive,
            git_lock,
            quiet: self.quiet,
            between_looks: seen_at.elapsed(),
            looks_equal,
            still_for: if needs_stillness {
                still()?
            } else {
                Duration::ZERO
            },
            says_complete,
            sets_mode: self.sets_mode,
        };
        Ok(may_commit(&facts)
            .err()
            .map(|hold| self.build_held_rescue(&hold)))
    }

    /// Reads the hold on a rescue that applies whatever the work does.
    fn alive(&self, gate: &RescueGate) -> ReadFact<Option<CommitHold>> {
        if gate.from_inside {
            return Ok(Some(CommitHold::FromInside));
        }
        Ok(self.read_life()?.alive.map(CommitHold::Alive))
    }

    fn read_life(&self) -> Result<WorktreeLife, UnreadableFact> {
        self.command_env.agents.refresh();
        Ok(WorktreeLife::read_sessions(
            self.command_env,
            self.store,
            (self.worktree_id, self.root),
            self.quiet,
        )?)
    }

    /// Waits for a git that works; returns the age of the lock that stays, if any is young.
    fn wait_for_lock(
        &self,
        cancel: &CancelFlag,
        youngest_lock: &dyn Fn() -> Option<(std::path::PathBuf, Duration)>,
    ) -> Option<Duration> {
        let until = Instant::now() + self.timeout;
        let mut is_said = false;
        loop {
            let (path, age) = youngest_lock().filter(|(_, age)| *age < self.quiet)?;
            if Instant::now() >= until || cancel.is_cancelled() {
                return Some(age);
            }
            if !std::mem::replace(&mut is_said, true) {
                self.command_env.tell(&format!(
                    "waiting for git to finish with {}",
                    path.display()
                ));
            }
            std::thread::sleep(TICK);
        }
    }

    fn build_held_rescue(&self, hold: &CommitHold) -> HeldRescue {
        let retry_at = hold
            .retry_after(self.quiet)
            .and_then(|after| now().checked_add(after).ok());
        HeldRescue {
            why: hold.in_words(self.quiet),
            retry_at,
        }
    }
}

/// A mark of the work: the tree of its snapshot, the index, HEAD and its branch.
///
/// # Errors
/// When the index cannot be read.
pub fn work_mark(
    worktree: &Worktree,
    snapshot: Option<&Snapshot>,
) -> Result<String, watchdog_git::Error> {
    let tree = snapshot.map_or("", |snapshot| snapshot.tree.as_str());
    Ok(format!("{tree} {}", worktree.index_state()?))
}

/// The clocks now.
fn read_clocks() -> ClockReading {
    ClockReading {
        wall: now(),
        boot: watchdog_system::boot_reading().map(|reading| reading.boot),
        awake: watchdog_system::time_awake(),
        since_boot: watchdog_system::time_since_boot(),
    }
}

impl ActionExecutor {
    fn sightings(&self) -> std::sync::MutexGuard<'_, GateSightings> {
        self.sightings.lock().expect("mutex poisoned")
    }

    /// Settles what a judgement knows of life: a session that watchdog ran has ended, and any other may live. Where no sign shows one, work
    /// that moved since the last look shows it.
    ///
    /// # Errors
    /// Where a fact cannot be read.
    pub(super) fn settle_life(
        &mut self,
        ran_a_session: bool,
        ended: bool,
    ) -> ReadFact<WorktreeLife> {
        let input = Arc::clone(&self.input);
        let caller = match input.overrides.once {
            _ if ran_a_session => RescueCaller::OwnSession,
            true => RescueCaller::Recurring,
            false => RescueCaller::Typed,
        };
        let from_inside = input.overrides.from_inside;
        let may_move = caller == RescueCaller::Recurring && !ended && !input.overrides.no_probe;
        let (id, store) = (&input.worktree_id, Arc::clone(&self.store));
        let recorded = match input.recorded_at.filter(|_| may_move) {
            Some(baseline_at) => {
                still_work::read_state_since(store.as_ref(), id, &input.spec, baseline_at)?
            }
            None => None,
        };
        self.gate = RescueGate {
            caller,
            ended,
            from_inside,
            recorded,
            has_moved: false,
        };
        if ran_a_session || from_inside {
            return Ok(WorktreeLife::default());
        }
        let mut life = WorktreeLife::read_sessions(
            &self.command_env,
            store.as_ref(),
            (id, &input.root),
            input.settings.rescue.quiet,
        )?;
        let (SessionLife::Absent, Some(recorded)) = (&life.life, &self.gate.recorded) else {
            return Ok(life);
        };
        let has_moved = self.read_state()? != recorded.state;
        // The first movement leads to a question, which spends no round. What moves on is waited for.
        if has_moved && recorded.moved {
            let words = format!(
                "the work changes from look to look, last since {}",
                time_of_day(recorded.seen.wall)
            );
            life.life = SessionLife::Moved { words };
        }
        self.gate.has_moved = has_moved;
        Ok(life)
    }

    /// Remembers the first look at the work.
    pub(super) fn sight_work(&self, snapshot: Option<&Snapshot>) {
        if self.sightings().first.is_none()
            && let Ok(mark) = self.worktree(|worktree| work_mark(worktree, snapshot))
        {
            self.sightings().first = Some((Instant::now(), mark));
        }
    }

    /// Forgets it, because a program of watchdog's own may change the work: a check, or an ended session that answers.
    pub(super) fn forget_sighting(&self) {
        self.sightings().first = None;
    }

    /// Notes whether the agent's last answer is `complete`.
    pub(super) fn note_answer(&self, says_complete: bool) {
        self.sightings().says_complete = says_complete;
    }

    /// Decides whether the rescue may commit now; `Some` holds why not.
    pub(super) fn hold_rescue(&self, cancel: &CancelFlag) -> ReadFact<Option<HeldRescue>> {
        let settings = &self.input.settings.rescue;
        let gated = GatedWorktree {
            command_env: &self.command_env,
            store: self.store.as_ref(),
            worktree_id: &self.input.worktree_id,
            root: &self.input.root,
            quiet: settings.quiet,
            timeout: settings.timeout,
            sets_mode: self.input.sets_rescue_mode,
        };
        let (first, says_complete) = {
            let sightings = self.sightings();
            (sightings.first.clone(), sightings.says_complete)
        };
        let mut snapshot = || {
            self.snapshot("before a rescue")?;
            self.mark_of_snapshot()
        };
        let first = match first {
            Some(first) => first,
            None => (Instant::now(), snapshot()?),
        };
        let still = || {
            let (state, changed) = (
                self.work_state(&self.mark_of_snapshot()?),
                self.newest_change(),
            );
            Ok(still_for(
                &read_clocks(),
                &state,
                self.gate.recorded.as_ref(),
                changed,
            ))
        };
        let facts = RescueFacts {
            gate: &self.gate,
            first,
            says_complete,
        };
        gated.hold_rescue(
            facts,
            cancel,
            &|| self.worktree(Worktree::youngest_lock),
            &mut snapshot,
            &still,
        )
    }

    /// The mark of the work in the last snapshot.
    fn mark_of_snapshot(&self) -> ReadFact<String> {
        let snapshot = self.last_snapshot();
        Ok(self.worktree(|worktree| work_mark(worktree, snapshot.as_ref()))?)
    }

    /// The state of the work, to compare with that of an earlier command. Takes a snapshot.
    fn read_state(&self) -> ReadFact<String> {
        if self.input.settings.rescue.mode == RescueMode::Off {
            let changes = self.worktree(Worktree::changes)?;
            return Ok(self.work_state(&format!(
                "{:016x} {}",
                changes.fingerprint,
                self.worktree(Worktree::index_state)?
            )));
        }
        self.snapshot("before the work is compared with an earlier look")?;
        Ok(self.work_state(&self.mark_of_snapshot()?))
    }

    /// The state of the work with the agent's transcripts.
    fn work_state(&self, mark: &str) -> String {
        let mut files: Vec<_> = self
            .transcript_files()
            .iter()
            .map(|file| (file.session_id.clone(), file.size, file.modified))
            .collect();
        files.sort();
        short_hash(&format!("{mark} {files:?}"))
    }

    /// The newest change of everything that the state is made of; `None` where it cannot be read.
    fn newest_change(&self) -> Option<Timestamp> {
        let (_, paths) = self.worktree(Worktree::changes_with_paths).ok()?;
        let written = self
            .transcript_files()
            .into_iter()
            .map(|file| file.modified);
        let newest = self
            .worktree(|worktree| worktree.newest_change(&paths))
            .into_iter()
            .chain(written)
            .max()?;
        Timestamp::try_from(newest).ok()
    }

    /// Records the state of work whose session may still live, for the next look; forgets it once the work is complete.
    pub fn record_state(&self, verdict: &Verdict) -> Result<(), StoreError> {
        let store = self.store.as_ref();
        let (worktree, spec) = (&self.input.worktree_id, &self.input.spec);
        let Some(baseline_at) = self.input.recorded_at else {
            return Ok(());
        };
        if self.gate.caller != RescueCaller::Recurring
            || self.gate.ended
            || self.input.overrides.no_probe
        {
            return Ok(());
        }
        if verdict.status() == Status::Complete {
            return if self.gate.recorded.is_some() {
                StillWork::forget_row(store, worktree, spec)
            } else {
                Ok(())
            };
        }
        let was_judged = self.fingerprint().is_some()
            && verdict.status() != Status::Error
            && verdict.reason != Reason::Interrupted;
        // An unreadable state makes this a first look again.
        let Some(state) = was_judged.then(|| self.read_state().ok()).flatten() else {
            return Ok(());
        };
        let recorded = match &self.gate.recorded {
            Some(recorded) if recorded.state == state && !recorded.moved => return Ok(()),
            Some(recorded) if recorded.state == state => RecordedState {
                moved: self.gate.has_moved,
                ..recorded.clone()
            },
            _ => RecordedState {
                state,
                seen: read_clocks(),
                moved: self.gate.has_moved,
            },
        };
        StillWork {
            baseline_at,
            recorded,
        }
        .write_row(store, worktree, spec)
    }
}
