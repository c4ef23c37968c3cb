//! Scans a worktree of a sweep: decides whether it is watched and unlocked, then judges it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::pool::SweepShared;
use super::report::{SweepOutcome, SweepRow, unusable_detail};
use crate::clock::now;
use crate::judge::admission::PreparedJudgement;
use crate::judge::command_env::CommandEnv;
use crate::judge::driver::{JudgementDriver, Pace, drive_to_the_end};
use crate::judge::input_assembly::{SourceOfBaseline, open_judgement};
use crate::judge::judgement_input::{JudgementInput, Overrides};
use crate::judge::judgement_run::{JudgementRun, ObservedSession};
use crate::judge::open_worktree::{OpenWorktree, build_locked_verdict};
use crate::judge::panicked::verdict_of_panic;
use crate::judge::refusal::bare_judgement;
use crate::judge::seen_session::SeenSession;
use crate::judge::session_life::{WorktreeLife, time_of_day};
use crate::session::{
    describe_other_clone, has_conversation_since, is_another_clone, recorded_sharing,
};
use crate::wire::sweep_json::NotJudged;
use crate::wire::verdict_json::{JudgedSession, Judgement};
use watchdog_core::decision::machine::{
    CheckMachine, DriveOutcome, MachineAction, MachineEvent, MachineSetup, drive_machine,
};
use watchdog_core::decision::session_life::SessionLife;
use watchdog_facts::evidence::{
    Changes, Commits, Degradation, FaultKind, UnreadableFact, WarningCode,
};
use watchdog_facts::verdict::{Reason, Status, Verdict};
use watchdog_git::{FoundWorktree, RepoCache, WorktreeState, find_config_fault, is_absent};
use watchdog_store::lock::{LockAttempt, LockHolder, WorktreeLock};
use watchdog_store::{RecordType, StoreError, baseline};

/// The message for a worktree that was removed meanwhile.
const VANISHED: &str = "its folder vanished while it was looked at";

/// The outcome of a judgement without questions.
pub enum SweepScanOutcome {
    /// The end.
    Row(SweepRow),
    /// A question to the agent must come next.
    Wants(Box<JudgementAwaitingProbe>),
}

/// A judgement that waits for its turn to ask. It keeps the lock meanwhile.
pub struct JudgementAwaitingProbe {
    found: FoundWorktree,
    judgement_run: JudgementRun,
    setup: MachineSetup,
    machine: CheckMachine,
    action: MachineAction,
    /// Let go of when the judgement is done.
    _lock: WorktreeLock,
}

impl JudgementAwaitingProbe {
    /// The worktree's top folder.
    pub fn root(&self) -> &Path {
        &self.found.root
    }
}

/// Does one worktree's work, and makes a row of a panic.
pub fn catch_scan_panic(
    root: PathBuf,
    work: impl FnOnce() -> SweepScanOutcome,
) -> SweepScanOutcome {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(outcome) => outcome,
        Err(panic) => {
            SweepScanOutcome::Row(build_unjudged_row(root, verdict_of_panic(panic.as_ref())))
        }
    }
}

impl SweepShared<'_> {
    fn unreadable(&self, root: &Path, why: UnreadableFact) -> Verdict {
        Verdict::unreadable(why.with_commands(&self.around.commands(root)))
    }

    /// Judges one worktree as far as that takes no question.
    pub fn scan(
        &self,
        found_worktree: &FoundWorktree,
        repo_cache: &mut RepoCache,
    ) -> SweepScanOutcome {
        let row = |outcome| {
            SweepScanOutcome::Row(SweepRow {
                worktree: found_worktree.root.clone(),
                outcome,
            })
        };
        let judged = |verdict| {
            SweepScanOutcome::Row(build_unjudged_row(found_worktree.root.clone(), verdict))
        };
        let id = found_worktree.worktree_id();
        let watched = self.watched.contains(&id);
        match &found_worktree.standing {
            WorktreeState::There => {}
            WorktreeState::Gone { why } => {
                self.memory.forget(&id);
                return row(SweepOutcome::NotJudged(NotJudged::Gone, Some(why.clone())));
            }
            WorktreeState::Broken { why }
                if !watched && !self.was_watched(&found_worktree.root) =>
            {
                return row(not_watched(Some(why.clone())));
            }
            WorktreeState::Broken { why } | WorktreeState::Unlisted { why } => {
                return judged(Verdict::unreadable(UnreadableFact::new(
                    FaultKind::Git,
                    why,
                )));
            }
            WorktreeState::Nothing { why } => {
                let fact = UnreadableFact::new(FaultKind::NotARepository, why);
                let judgement = bare_judgement(&found_worktree.root, Verdict::unreadable(fact));
                return row(SweepOutcome::Judged(Box::new(judgement)));
            }
        }
        if !watched {
            let fault = find_config_fault(
                &found_worktree.root,
                &found_worktree.git_dir,
                &found_worktree.common_dir,
            );
            let words = fault.map(|fault| format!("{fault}; {}", fault.hint()));
            let seen = || SeenSession::find_inside(self.around, &found_worktree.root);
            let words = words.or_else(|| Some(seen()?.in_words(&time_of_day)));
            return row(not_watched(words));
        }
        if let Some((verdict, session)) = self.session_active(&id, &found_worktree.root) {
            let judgement = Judgement {
                session: Some(session),
                ..bare_judgement(&found_worktree.root, verdict)
            };
            return SweepScanOutcome::Row(judged_row(found_worktree.root.clone(), judgement));
        }
        let holder = LockHolder::of_this_process("watchdog sweep", now());
        let lock = match WorktreeLock::try_acquire(&self.around.state, &id, holder) {
            Ok(LockAttempt::Held(lock)) => lock,
            Ok(LockAttempt::Busy(holder)) => return judged(build_locked_verdict(holder)),
            Err(error) => return judged(self.unreadable(&found_worktree.root, error.into())),
        };
        match self.memory.recall(found_worktree, &id) {
            Some(verdict) if !verdict.untouched => {
                return row(SweepOutcome::Again {
                    verdict: Box::new(verdict),
                });
            }
            Some(verdict) if !self.has_conversation(&id, &found_worktree.root) => {
                return row(untouched_outcome(&verdict.notes));
            }
            _ => {}
        }
        self.judge(found_worktree, repo_cache, id, lock)
            .unwrap_or_else(|unreadable| match is_absent(&found_worktree.root) {
                false => judged(self.unreadable(&found_worktree.root, unreadable)),
                true => row(vanished()),
            })
    }

    /// Whether a baseline was recorded for the worktree that was at this place. A broken `.git` does not say under which name; where the
    /// records cannot be read, one may have been.
    fn was_watched(&self, root: &Path) -> bool {
        baseline::BaselineRecord::list_rows(self.store.as_ref()).map_or(true, |rows| {
            rows.into_iter()
                .any(|(_, _, row)| row.is_ok_and(|row| row.worktree == root))
        })
    }

    /// A session that works there: one that a hook or `run` recorded, or a known agent's process. Only an idle one is judged.
    fn session_active(&self, id: &str, root: &Path) -> Option<(Verdict, JudgedSession)> {
        if !self.with_sessions.contains(id) && self.around.agents_inside(root).is_empty() {
            return None;
        }
        // An unreadable life hides no worktree: the lock and the judgement come next.
        let worktree_life = WorktreeLife::read_sessions(
            self.around,
            self.store.as_ref(),
            (id, root),
            Duration::ZERO,
        )
        .ok()?;
        let SessionLife::Busy { words } = worktree_life.life else {
            return None;
        };
        Some((
            Verdict::new(Reason::SessionActive, words),
            worktree_life.session?,
        ))
    }

    /// Whether anything was said in a worktree since its latest baseline. Unreadable facts count as
    /// a conversation.
    fn has_conversation(&self, id: &str, root: &Path) -> bool {
        let since_baseline = || -> Result<bool, StoreError> {
            let Some((spec, baseline)) = baseline::read_latest_baseline(self.store.as_ref(), id)?
            else {
                return Ok(true);
            };
            has_conversation_since(
                self.store.as_ref(),
                (id, &spec),
                (root, &self.transcript_sources),
                baseline.at,
            )
        };
        since_baseline().unwrap_or(true)
    }

    /// Whether no agent said anything here since the baseline. Of a program that answers in an agent's place that is unknown.
    fn is_silent(&self, input: &JudgementInput, root: &Path) -> bool {
        input.settings.agent.probe.is_none() && !self.has_conversation(&input.worktree_id, root)
    }

    /// The steps of a check after its lock: input, admit, judge.
    fn judge(
        &self,
        found_worktree: &FoundWorktree,
        repo_cache: &mut RepoCache,
        id: String,
        lock: WorktreeLock,
    ) -> Result<SweepScanOutcome, UnreadableFact> {
        let begun = now();
        let around = CommandEnv {
            worktree: self.around.typed_folder(&found_worktree.root),
            ..self.around.clone()
        };
        let end = |judgement: Judgement| {
            Ok(SweepScanOutcome::Row(judged_row(
                found_worktree.root.clone(),
                judgement,
            )))
        };
        let spent = self.probe_budget.is_spent();
        let input = match self.judgement_input(&around, found_worktree, repo_cache, id, spent)? {
            Ok(input) => input,
            Err(outcome) => {
                return Ok(SweepScanOutcome::Row(SweepRow {
                    worktree: found_worktree.root.clone(),
                    outcome,
                }));
            }
        };
        let mut prepared = PreparedJudgement::new(&around, input, Arc::clone(&self.store), begun);
        prepared.journal.join(&self.batcher);
        if let Err(refusal) = prepared.note_open_breaker() {
            return end(refusal.into_judgement(&around, begun));
        }
        let (judgement_run, setup) =
            match JudgementRun::begin(prepared, ObservedSession::default(), true) {
                Ok(begun) => begun,
                Err(judgement) => return end(*judgement),
            };
        let mut machine = CheckMachine::new(setup.clone());
        let _within = judgement_run.span.clone().entered();
        match drive_machine(
            &mut machine,
            MachineEvent::Start,
            &mut self.driver(&judgement_run, &|_| false),
        ) {
            DriveOutcome::Ended(mut verdict) => {
                // The message says why the agent was not asked, also where the probe budget was spent before this judgement began.
                let asks = self.request.max_probes_total > 0
                    && !self.request.overrides.no_probe
                    && setup.unasked.is_none();
                if spent && asks && verdict.reason == Reason::Unfinished {
                    verdict.degraded.push(self.warn_budget_spent());
                }
                let untouched = is_untouched(&verdict)
                    && self.is_silent(judgement_run.input(), &found_worktree.root);
                let mut judgement = self.settle(&judgement_run, *verdict, untouched);
                if let Err(error) = self.memory.keep(
                    found_worktree,
                    &judgement_run,
                    (&judgement, untouched),
                    begun,
                ) {
                    judgement
                        .verdict
                        .degraded
                        .push(Degradation::new(WarningCode::StoreUnwritable, error));
                }
                if let Some(worktree) = judgement_run.into_worktree() {
                    repo_cache.give_back(worktree);
                }
                if untouched {
                    return Ok(SweepScanOutcome::Row(SweepRow {
                        worktree: found_worktree.root.clone(),
                        outcome: untouched_outcome(&judgement.verdict.degraded),
                    }));
                }
                end(judgement)
            }
            DriveOutcome::Held(action) => {
                let worktree_copy = found_worktree.clone();
                let nothing = has_nothing(machine.commits(), machine.changes())
                    && self.is_silent(judgement_run.input(), &worktree_copy.root);
                let pending = JudgementAwaitingProbe {
                    found: worktree_copy,
                    judgement_run,
                    setup,
                    machine,
                    action,
                    _lock: lock,
                };
                if nothing {
                    // No agent can know of work that is not there.
                    return Ok(SweepScanOutcome::Row(
                        self.judge_without_asking(pending, None),
                    ));
                }
                Ok(SweepScanOutcome::Wants(Box::new(pending)))
            }
        }
    }

    /// The input, read under the lock: another sweep may have judged it a moment ago. `Err` where no baseline is recorded for this clone.
    fn judgement_input(
        &self,
        around: &CommandEnv,
        found_worktree: &FoundWorktree,
        repo_cache: &mut RepoCache,
        id: String,
        probes_spent: bool,
    ) -> Result<Result<JudgementInput, SweepOutcome>, UnreadableFact> {
        let Some(recorded) = recorded_sharing(&self.store, &id, None, &self.recent_refs)? else {
            return Ok(Err(not_watched(None)));
        };
        let worktree = repo_cache.open(found_worktree)?;
        if worktree.worktree_id() != id {
            let why = "another worktree took its place while it was looked at";
            return Err(UnreadableFact::new(FaultKind::Git, why));
        }
        if is_another_clone(self.store.as_ref(), &worktree)? {
            let note = describe_other_clone(self.store.as_ref(), &worktree);
            return Ok(Err(not_watched(Some(note))));
        }
        let open = OpenWorktree::with_store(around, worktree, &self.store);
        let overrides = Overrides {
            no_probe: self.request.overrides.no_probe || probes_spent,
            once: true,
            ..self.request.overrides.clone()
        };
        let source = SourceOfBaseline::Read(Box::new(recorded));
        open_judgement(around, open, source, None, overrides).map(Ok)
    }

    /// Continues a judgement whose turn it is to ask.
    pub fn ask(&self, pending: JudgementAwaitingProbe) -> SweepRow {
        let JudgementAwaitingProbe {
            found,
            judgement_run,
            setup,
            mut machine,
            action,
            _lock,
        } = pending;
        // A plan belongs to the answer that led to it; another question is one more of the ration.
        let may_ask =
            |action: &MachineAction| *action == MachineAction::Rescue || self.probe_budget.take();
        let mut driver = self.driver(&judgement_run, &may_ask);
        let event = if self.cancel.is_cancelled() {
            driver.note_event(&MachineEvent::Interrupt);
            MachineEvent::Interrupt
        } else {
            driver.perform_now(&action, &machine)
        };
        if matches!(&event, MachineEvent::Probe(record) if record.withheld) {
            self.probe_budget.put_back();
        }
        let _within = judgement_run.span.clone().entered();
        match drive_machine(&mut machine, event, &mut driver) {
            DriveOutcome::Ended(verdict) => {
                judged_row(found.root, self.settle(&judgement_run, *verdict, false))
            }
            DriveOutcome::Held(_) => self.without_asking(JudgementAwaitingProbe {
                found,
                judgement_run,
                setup,
                machine,
                action,
                _lock,
            }),
        }
    }

    /// Judges without asking, because the probe budget is spent: the next sweep may ask.
    pub fn without_asking(&self, pending: JudgementAwaitingProbe) -> SweepRow {
        self.judge_without_asking(pending, Some(self.warn_budget_spent()))
    }

    fn judge_without_asking(
        &self,
        pending: JudgementAwaitingProbe,
        note: Option<Degradation>,
    ) -> SweepRow {
        let JudgementAwaitingProbe {
            found,
            judgement_run,
            mut setup,
            _lock,
            ..
        } = pending;
        setup.no_probe = true;
        let nothing = note.is_none();
        setup.notes.extend(note);
        judgement_run.executor.ask_nobody();
        let _within = judgement_run.span.clone().entered();
        let pace = Pace::InSweep {
            cancel: &self.cancel,
            may_ask: &|_| true,
        };
        let verdict = drive_to_the_end(setup, &judgement_run.executor, pace);
        let untouched = nothing && is_untouched(&verdict);
        let judgement = self.settle(&judgement_run, verdict, untouched);
        match untouched {
            true => SweepRow {
                worktree: found.root,
                outcome: untouched_outcome(&judgement.verdict.degraded),
            },
            false => judged_row(found.root, judgement),
        }
    }

    fn driver<'a>(
        &'a self,
        judgement_run: &'a JudgementRun,
        may_ask: &'a dyn Fn(&MachineAction) -> bool,
    ) -> JudgementDriver<'a> {
        JudgementDriver {
            executor: &judgement_run.executor,
            pace: Pace::InSweep {
                cancel: &self.cancel,
                may_ask,
            },
        }
    }

    fn warn_budget_spent(&self) -> Degradation {
        let detail = format!(
            "the agent was not asked, as the {} questions of this sweep are spent",
            self.request.max_probes_total
        );
        Degradation::new(WarningCode::ProbesRationed, detail)
    }

    /// An untouched worktree gets no record: `status` would read it as unfinished work.
    fn settle(&self, judgement_run: &JudgementRun, verdict: Verdict, untouched: bool) -> Judgement {
        let judgement = if untouched {
            judgement_run.build_unrecorded_judgement(verdict)
        } else {
            judgement_run.settle(verdict)
        };
        self.expire(judgement_run);
        judgement
    }
}

/// Whether nothing shows that a session was here: no commit, and no change of its own.
fn has_nothing(commits: Option<&Commits>, changes: Option<&Changes>) -> bool {
    let no_commit = commits.is_some_and(|commits| {
        commits.new_commits == 0 && commits.beside.is_empty() && commits.degraded.is_empty()
    });
    let no_change = |changes: &Changes| {
        let is_old = changes.total() == changes.inherited && changes.conflicted == 0;
        is_old && changes.operation.is_none() && changes.degraded.is_empty()
    };
    no_commit && changes.is_some_and(no_change)
}

/// The same of a verdict that no answer decided.
fn is_untouched(verdict: &Verdict) -> bool {
    matches!(verdict.reason, Reason::Unfinished | Reason::ChecksUnmet)
        && verdict.probes.is_empty()
        && has_nothing(verdict.commits.as_ref(), verdict.changes.as_ref())
}

fn untouched_outcome(notes: &[Degradation]) -> SweepOutcome {
    let note = unusable_detail(notes).map(str::to_owned);
    SweepOutcome::NotJudged(NotJudged::Untouched, note)
}

fn not_watched(note: Option<String>) -> SweepOutcome {
    SweepOutcome::NotJudged(NotJudged::NoBaseline, note)
}

fn vanished() -> SweepOutcome {
    SweepOutcome::NotJudged(NotJudged::Gone, Some(VANISHED.into()))
}

fn judged_row(worktree: PathBuf, judgement: Judgement) -> SweepRow {
    // Removed during the scan: this is no fault of git or the agent.
    if judgement.verdict.status() == Status::Error && is_absent(&worktree) {
        return SweepRow {
            worktree,
            outcome: vanished(),
        };
    }
    SweepRow {
        worktree,
        outcome: SweepOutcome::Judged(Box::new(judgement)),
    }
}

/// A verdict on a worktree that could not be opened, or was not to be.
fn build_unjudged_row(root: PathBuf, verdict: Verdict) -> SweepRow {
    let judgement = bare_judgement(&root, verdict);
    judged_row(root, judgement)
}

#[cfg(test)]
mod tests {
    use super::super::scan::*;

    #[test]
    fn panic_becomes_a_row_naming_the_bug() {
        for work in [
            (|| panic!("{} went wrong", "this")) as fn() -> SweepScanOutcome,
            || panic!("this went wrong"),
        ] {
            let SweepScanOutcome::Row(row) = catch_scan_panic("/".into(), work) else {
                panic!("no row")
            };
            let line = row.line();
            assert_eq!((line.worktree.as_str(), line.reason), ("/", "git_error"));
            assert!(line.message.contains("this went wrong"), "{}", line.message);
        }
    }
}
