//! One worktree of a sweep: whether it is anybody's, whether it is free, and what it comes to.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::crew::Sweep;
use super::drive::{Pace, drive, perform};
use super::report::{Outcome, SweepRow};
use crate::decision::evidence::{Degraded, FaultKind, Unreadable};
use crate::decision::machine::{Action, Event, Machine, Setup};
use crate::decision::verdict::{Reason, Status, Verdict};
use crate::git::{Family, FoundWorktree, Standing};
use crate::session::recorded;
use crate::store::baseline;
use crate::store::lock::{Acquired, Holder, WorktreeLock};
use crate::supervisor::case::{Asked, Case};
use crate::supervisor::configuration::governing;
use crate::supervisor::journal::{Journal, observed};
use crate::supervisor::judge::{SessionSeen, Trial, early, refused};
use crate::supervisor::live_session::RunningSession;
use crate::supervisor::panicked::verdict_of_panic;
use crate::supervisor::place::{Place, taken};
use crate::supervisor::settle_anchor;
use crate::supervisor::surroundings::{Surroundings, now};
use crate::supervisor::verdict_json::{Judgement, SessionJson};

/// What is said of a worktree that was removed meanwhile.
const VANISHED: &str = "its folder vanished while it was looked at";

/// What a first look came to.
pub enum Looked {
    /// The end.
    Row(SweepRow),
    /// Only the agent can tell more.
    Wants(Box<Wanting>),
}

/// A judgement that waits for its turn to ask. The worktree stays ours meanwhile.
pub struct Wanting {
    found: FoundWorktree,
    around: Surroundings,
    trial: Trial,
    setup: Setup,
    machine: Machine,
    action: Action,
    /// Let go of when the judgement is done.
    _lock: WorktreeLock,
}

impl Wanting {
    /// The worktree's top folder.
    pub fn root(&self) -> &Path {
        &self.found.root
    }
}

/// Does one worktree's work, so that a bug that it meets is a row like any other.
pub fn isolated(root: PathBuf, work: impl FnOnce() -> Looked) -> Looked {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(looked) => looked,
        Err(panic) => Looked::Row(unjudged(root, verdict_of_panic(panic.as_ref()))),
    }
}

impl Sweep<'_> {
    /// Looks at one worktree as far as that costs nobody anything.
    pub fn look(&self, found: &FoundWorktree, family: &mut Family) -> Looked {
        let row = |outcome| Looked::Row(SweepRow { worktree: found.root.clone(), outcome });
        let judged = |verdict| Looked::Row(unjudged(found.root.clone(), verdict));
        let id = found.worktree_id();
        let watched = self.watched.contains(&id);
        match &found.standing {
            Standing::There => {}
            Standing::Gone { why } => {
                self.memory.forget(&id);
                return row(Outcome::Gone { why: why.clone() });
            }
            Standing::Broken { why } if !watched && !self.was_watched(&found.root) => {
                return row(Outcome::Unwatched { note: Some(why.clone()) });
            }
            Standing::Broken { why } => return judged(Verdict::unreadable(unreadable(FaultKind::Git, why))),
            Standing::Nothing { why } => {
                let why = format!("{}: {why}", found.root.display());
                let verdict = Verdict::unreadable(unreadable(FaultKind::NotARepository, &why));
                return row(Outcome::Judged(Box::new(bare_judgement(&found.root, verdict))));
            }
        }
        if !watched {
            return row(Outcome::Unwatched { note: None });
        }
        if let Some((verdict, session)) = self.session_active(&id, &found.root) {
            let judgement = Judgement { session: Some(session), ..bare_judgement(&found.root, verdict) };
            return Looked::Row(judged_row(found.root.clone(), judgement));
        }
        let holder = Holder { pid: std::process::id(), command: "watchdog sweep".into(), since: now(), session_active: false, spec: None };
        let lock = match WorktreeLock::try_acquire(&self.around.state, &id, holder) {
            Ok(Acquired::Held(lock)) => lock,
            Ok(Acquired::Busy(holder)) => return judged(taken(holder)),
            Err(error) => return judged(Verdict::unreadable(error.into())),
        };
        if let Some(verdict) = self.memory.recall(found, &id) {
            return row(Outcome::Again { verdict: Box::new(verdict) });
        }
        self.judge(found, family, id, lock).unwrap_or_else(|unreadable| match found.root.exists() {
            true => judged(Verdict::unreadable(unreadable)),
            false => row(Outcome::Gone { why: VANISHED.into() }),
        })
    }

    /// Whether a baseline was recorded for what stood at this place. A broken `.git` does not tell under which name; where the
    /// records cannot be read, it may have been.
    fn was_watched(&self, root: &Path) -> bool {
        baseline::everywhere(self.store.as_ref())
            .map_or(true, |rows| rows.into_iter().any(|(_, _, row)| row.is_ok_and(|row| row.worktree == root)))
    }

    /// A session that a hook or `run` wrote down, and whose process still lives.
    fn session_active(&self, id: &str, root: &Path) -> Option<(Verdict, SessionJson)> {
        if !self.with_sessions.contains(id) {
            return None;
        }
        // One that cannot be read hides nothing: the lock and the judgement come next.
        let running = RunningSession::of(self.around, self.store.as_ref(), (id, root), None).ok()??;
        Some((Verdict::new(Reason::SessionActive, running.in_words()), running.to_session()))
    }

    fn judge(&self, found: &FoundWorktree, family: &mut Family, id: String, lock: WorktreeLock) -> Result<Looked, Unreadable> {
        let begun = now();
        let around = Surroundings { worktree: found.root.clone(), ..self.around.clone() };
        let end = |judgement: Judgement| Ok(Looked::Row(judged_row(found.root.clone(), judgement)));
        // Read under the lock: another sweep may have judged it a moment ago.
        let Some(recorded) = recorded(&self.store, &id, None)? else {
            return Ok(Looked::Row(SweepRow { worktree: found.root.clone(), outcome: Outcome::Unwatched { note: None } }));
        };
        let worktree = family.open(found)?;
        if worktree.worktree_id() != id {
            return Err(unreadable(FaultKind::Git, "another worktree took its place while it was looked at"));
        }
        let place = Place { worktree_id: id, worktree, store: Arc::clone(&self.store), notes: Vec::new() };
        settle_anchor::between_sessions(&place, Some(&recorded.spec), begun)?;
        let governing = governing(&around, &place, Some(&recorded.spec), Some(&recorded.point))?;
        let spent = self.ration.is_spent();
        let asked = Asked { no_probe: self.request.asked.no_probe || spent, once: true, ..self.request.asked.clone() };
        let case = Case::new(place, recorded, true, governing, asked);
        let journal = Journal::of(&case, &around, &self.store);
        journal.join(&self.ledger);
        match case.admit(self.store.as_ref()) {
            Err(unreadable) => return end(early(&around, Some(&case), Verdict::unreadable(unreadable), begun)),
            Ok(Some(verdict)) => return end(refused(&around, &case, self.store.as_ref(), &journal, verdict, begun)),
            Ok(None) => {}
        }
        let store = Arc::clone(&self.store);
        let (trial, setup) = match Trial::begin(case, store, journal, SessionSeen::default(), true, &around, begun) {
            Ok(begun) => begun,
            Err(judgement) => return end(*judgement),
        };
        let mut machine = Machine::new(setup.clone());
        match drive(&mut machine, &trial.executor, Event::Start, &self.cancel, &mut |_| false) {
            Pace::Ended(mut verdict) => {
                // Who would have been asked is told why not, also where the ration was spent before this look began.
                if spent && self.request.max_probes_total > 0 && !self.request.asked.no_probe && verdict.reason == Reason::Working {
                    verdict.degraded.push(self.rationed());
                }
                let mut judgement = self.settle(&trial, &around, *verdict);
                if let Err(error) = self.memory.keep(found, &trial, &judgement, begun) {
                    judgement.verdict.degraded.push(Degraded { code: "store_unwritable", detail: error.to_string() });
                }
                if let Some(worktree) = trial.into_worktree() {
                    family.give_back(worktree);
                }
                end(judgement)
            }
            Pace::Asks(action) => {
                let found = found.clone();
                Ok(Looked::Wants(Box::new(Wanting { found, around, trial, setup, machine, action, _lock: lock })))
            }
        }
    }

    /// Goes on with a judgement whose turn it is to ask.
    pub fn ask(&self, wanting: Wanting) -> SweepRow {
        let Wanting { found, around, trial, setup, mut machine, action, _lock } = wanting;
        let event = match self.cancel.is_cancelled() {
            true => Event::Interrupt,
            false => perform(&action, &machine, &trial.executor, &self.cancel),
        };
        observed(trial.executor.journal(), &event);
        // A plan belongs to the answer that led to it; another question is one more of the ration.
        let mut may_ask = |action: &Action| *action == Action::Rescue || self.ration.take();
        match drive(&mut machine, &trial.executor, event, &self.cancel, &mut may_ask) {
            Pace::Ended(verdict) => judged_row(found.root, self.settle(&trial, &around, *verdict)),
            Pace::Asks(_) => self.without_asking(Wanting { found, around, trial, setup, machine, action, _lock }),
        }
    }

    /// Judges without asking, because the ration is spent: the next sweep may.
    pub fn without_asking(&self, wanting: Wanting) -> SweepRow {
        let Wanting { found, around, trial, mut setup, _lock, .. } = wanting;
        setup.no_probe = true;
        setup.notes.push(self.rationed());
        trial.executor.ask_nobody();
        let mut machine = Machine::new(setup);
        match drive(&mut machine, &trial.executor, Event::Start, &self.cancel, &mut |_| true) {
            Pace::Ended(verdict) => judged_row(found.root, self.settle(&trial, &around, *verdict)),
            Pace::Asks(_) => unreachable!("everything may be done"),
        }
    }

    fn rationed(&self) -> Degraded {
        let detail = format!("the agent was not asked, as the {} questions of this sweep are spent", self.request.max_probes_total);
        Degraded { code: "probes_rationed", detail }
    }

    fn settle(&self, trial: &Trial, around: &Surroundings, verdict: Verdict) -> Judgement {
        let judgement = trial.settle(around, verdict);
        self.expire(trial);
        judgement
    }
}

fn unreadable(kind: FaultKind, why: &str) -> Unreadable {
    Unreadable { kind, why: why.to_owned(), hint: None }
}

fn judged_row(worktree: PathBuf, judgement: Judgement) -> SweepRow {
    // Removed while it was looked at: nothing is wrong with git, or with the agent.
    if judgement.verdict.status() == Status::Error && !worktree.exists() {
        return SweepRow { worktree, outcome: Outcome::Gone { why: VANISHED.into() } };
    }
    SweepRow { worktree, outcome: Outcome::Judged(Box::new(judgement)) }
}

/// A verdict on a worktree that could not be opened, or was not to be.
fn unjudged(root: PathBuf, verdict: Verdict) -> SweepRow {
    let judgement = bare_judgement(&root, verdict);
    judged_row(root, judgement)
}

fn bare_judgement(root: &Path, verdict: Verdict) -> Judgement {
    Judgement {
        verdict,
        worktree: root.display().to_string(),
        spec: None,
        branch: None,
        baseline: None,
        breaker: None,
        log: None,
        session: None,
        survivors: Vec::new(),
        looped: None,
        duration: std::time::Duration::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_row_that_names_the_bug() {
        for work in [(|| panic!("{} went wrong", "this")) as fn() -> Looked, || panic!("this went wrong")] {
            let Looked::Row(row) = isolated("/".into(), work) else { panic!("no row") };
            let line = row.line();
            assert_eq!((line.worktree.as_str(), line.reason), ("/", "git_error"));
            assert!(line.message.contains("this went wrong"), "{}", line.message);
        }
    }
}
