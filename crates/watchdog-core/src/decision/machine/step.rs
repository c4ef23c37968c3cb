//! The machine itself, and the decisions by commits and criteria. Replies are in [`super::ask`],
//! snapshots and rescues in [`super::rescue`], verdicts in [`super::conclude`].

use watchdog_facts::evidence::{
    ActivityFacts, Changes, CheckOutcome, Commits, Degradation, LeftOut, ReadFact, SessionEnd,
    WarningCode,
};
use watchdog_facts::gate_hooks::GateOff;
use watchdog_facts::verdict::{ProbeRecord, Reason, Verdict};

use crate::decision::judgement_rule::JudgementRule;

use super::facts::{
    ChecksResult, ConfigTrust, JudgementScope, MachineAction, MachineEvent, MachineSetup,
};
use super::stage::{AfterSnapshot, CommitsPurpose, MachineStage, ProbeStopReason, RescueReason};

/// The check in progress.
#[derive(Debug, Clone)]
pub struct CheckMachine {
    pub(super) setup: MachineSetup,
    pub(super) stage: MachineStage,
    /// The pending request, repeated if an event of another kind arrives.
    pub(super) pending: Option<MachineAction>,
    /// As last read; `None` where that failed.
    pub(super) commits: Option<Commits>,
    /// As last read with these commits; earlier uncommitted changes are outdated.
    pub(super) changes: Option<Changes>,
    pub(super) snapshot: Option<String>,
    pub(super) judged: Option<ChecksResult>,
    pub(super) probes: Vec<ProbeRecord>,
    pub(super) rounds_used: u32,
    pub(super) answered: u32,
    /// Answers of `waiting` or `working`: the agent was alive.
    pub(super) alive: u32,
    pub(super) failures_in_a_row: u32,
    /// How often the processes that the session left running were polled.
    pub(super) polls_held: u32,
    /// Why no probe will follow.
    pub(super) no_more_questions: Option<ProbeStopReason>,
    /// Uncommitted files that are not the session's, as last read: there before it, and changed after its end.
    pub(super) inherited: u64,
    pub(super) since_end: u64,
    /// Whether the changes are those of the commits as last read, and kept in a snapshot.
    pub(super) secured: bool,
    /// The contradiction of the last reply, named in the next question.
    pub(super) disputed: Option<String>,
    /// Whether the session's own commits did their work before the first rescue.
    pub(super) committed_before_rescue: Option<bool>,
    pub(super) rescue_commits: u64,
    pub(super) rescue_failed: Option<String>,
    pub(super) rescue_branch: Option<String>,
    pub(super) left_out: Vec<LeftOut>,
    /// New links that are no work, as the changes were last read.
    pub(super) dropping_links: Vec<String>,
    pub(super) degraded: Vec<Degradation>,
    /// The verdict unless the criteria changed.
    pub(super) held_back: Option<Box<Verdict>>,
    /// The repository's own gates that are off.
    pub(super) gates_off: Vec<GateOff>,
    /// The rules that the last step applied.
    pub(super) applied: Vec<JudgementRule>,
}

impl CheckMachine {
    /// A check that has not begun.
    pub fn new(setup: MachineSetup) -> Self {
        CheckMachine {
            rounds_used: setup.earlier.rounds_used,
            answered: setup.earlier.answered,
            alive: setup.earlier.alive,
            degraded: setup.notes.clone(),
            setup,
            stage: MachineStage::Begin,
            pending: None,
            commits: None,
            changes: None,
            snapshot: None,
            judged: None,
            probes: Vec::new(),
            failures_in_a_row: 0,
            polls_held: 0,
            no_more_questions: None,
            inherited: 0,
            since_end: 0,
            secured: false,
            disputed: None,
            committed_before_rescue: None,
            rescue_commits: 0,
            rescue_failed: None,
            rescue_branch: None,
            left_out: Vec::new(),
            dropping_links: Vec::new(),
            held_back: None,
            gates_off: Vec::new(),
            applied: Vec::new(),
        }
    }

    /// The commits as last read, for whoever words the question to the agent.
    pub fn commits(&self) -> Option<&Commits> {
        self.commits.as_ref()
    }

    /// The setup before the first fact; what the session left running is as last read.
    pub fn setup(&self) -> &MachineSetup {
        &self.setup
    }

    /// The rules that were applied since the last call, in order.
    pub fn take_rules(&mut self) -> Vec<JudgementRule> {
        std::mem::take(&mut self.applied)
    }

    pub(super) fn by(&mut self, rule: JudgementRule) {
        if self.applied.last() != Some(&rule) {
            self.applied.push(rule);
        }
    }

    /// The processes that the session left running, as last read: a pause waits for their end.
    pub fn survivors(&self) -> &[String] {
        &self.setup.survivors
    }

    /// The changes as last read.
    pub fn changes(&self) -> Option<&Changes> {
        self.changes.as_ref()
    }

    /// Takes one event and returns the next action. The first event of any kind starts the machine. Later, an event that
    /// was not requested changes nothing: the machine repeats its request.
    pub fn step(&mut self, event: MachineEvent) -> MachineAction {
        self.applied.clear();
        let action = self.transition(event);
        self.pending = Some(action.clone());
        action
    }

    fn transition(&mut self, event: MachineEvent) -> MachineAction {
        match (self.stage, event) {
            (MachineStage::Done, _) => self.repeat(),
            (stage, MachineEvent::Interrupt) if !stage.is_ending() => {
                self.by(JudgementRule::SignalEnds);
                self.read_commits(CommitsPurpose::Interrupted)
            }
            (MachineStage::Begin, _) => self.begin(),
            (MachineStage::Commits(purpose), MachineEvent::Commits(fact)) => {
                self.on_commits(purpose, fact)
            }
            (MachineStage::Changes(then), MachineEvent::Changes(fact)) => {
                self.on_changes(then, fact)
            }
            (MachineStage::Snapshot(then), MachineEvent::Snapshot(fact)) => {
                self.on_snapshot(then, fact)
            }
            (MachineStage::Checks(purpose), MachineEvent::Checks(judged)) => {
                self.on_checks(purpose, judged)
            }
            (MachineStage::Probe, MachineEvent::Probe(record)) => self.on_probe(record),
            (MachineStage::Rescue(why), MachineEvent::Rescue(fact)) => self.on_rescue(why, fact),
            (MachineStage::Pause, MachineEvent::WaitOver) => self.after_pause(),
            (MachineStage::Survivors, MachineEvent::Survivors(found)) => self.on_survivors(found),
            (MachineStage::Activity, MachineEvent::Activity(activity)) => {
                self.on_activity(activity)
            }
            (MachineStage::Criteria, MachineEvent::Criteria(fact)) => self.on_criteria(fact),
            (_, _) => self.repeat(),
        }
    }

    fn repeat(&mut self) -> MachineAction {
        self.pending
            .clone()
            .expect("only the first stage has nothing pending, and it takes every event")
    }

    pub(super) fn next_round(&mut self) -> MachineAction {
        let purpose = if self.rounds_left() > 0 || self.setup.no_probe {
            CommitsPurpose::Round
        } else {
            CommitsPurpose::Last
        };
        self.read_commits(purpose)
    }

    pub(super) fn rounds_left(&self) -> u32 {
        self.setup
            .completion
            .max_probes
            .saturating_sub(self.rounds_used)
    }

    pub(super) fn read_commits(&mut self, purpose: CommitsPurpose) -> MachineAction {
        self.secured = false;
        self.stage = MachineStage::Commits(purpose);
        MachineAction::ReadCommits
    }

    /// Whether the session's own commits show that it did its work. Commits of this very judgement's rescue never count, even
    /// if they could not be recorded.
    pub(super) fn has_commits(&self) -> bool {
        self.committed_before_rescue
            .unwrap_or_else(|| self.commits.as_ref().is_some_and(Commits::completes))
    }

    fn on_commits(&mut self, purpose: CommitsPurpose, fact: ReadFact<Commits>) -> MachineAction {
        let before = self.commits.take();
        match fact {
            Ok(commits) => self.commits = Some(commits),
            Err(unreadable) if purpose == CommitsPurpose::Interrupted => {
                self.note(WarningCode::CommitsUnreadable, unreadable.why)
            }
            Err(unreadable) => return self.conclude_unreadable(unreadable),
        }
        let moved = self.commits != before;
        if moved {
            self.changes = None;
        }
        match purpose {
            CommitsPurpose::Interrupted => self.secure(AfterSnapshot::Interrupted),
            CommitsPurpose::Rescued(_) if self.rescue_branch.is_some() => {
                self.conclude_on_fallback_branch()
            }
            // Commits were made, and not all of the work is safe in them: a person must look.
            CommitsPurpose::Rescued(
                RescueReason::Claim | RescueReason::ChecksPassed | RescueReason::Last,
            ) if self.rescue_failed.is_some() => self.conclude_not_committed(),
            // A spent limit is never success: the results of the session are kept, and no check runs.
            CommitsPurpose::Rescued(RescueReason::OverLimit) => self.conclude_over_limit(),
            _ if self.over_limit() && !self.only_criteria() => {
                self.by(JudgementRule::SessionOverLimit);
                self.secure(AfterSnapshot::Rescue(RescueReason::OverLimit))
            }
            // No other fact matters before the limit is lifted.
            _ if matches!(self.setup.session, Some(SessionEnd::RateLimited { .. })) => {
                self.by(JudgementRule::SessionMetLimit);
                self.secure(AfterSnapshot::RateLimited)
            }
            _ if self.half_done() => {
                self.by(JudgementRule::OperationHalfDone);
                self.secure(AfterSnapshot::HalfDone)
            }
            CommitsPurpose::Rescued(why) => self.after_rescue(purpose, why),
            // No new commit: commits did not decide when the round began, and the criteria were
            // judged on these.
            CommitsPurpose::Probed if !moved => self.decide_without_criteria(purpose),
            CommitsPurpose::Last if !moved && self.judged.is_some() => {
                self.decide_without_criteria(purpose)
            }
            CommitsPurpose::Round | CommitsPurpose::Last | CommitsPurpose::Probed
                if self.has_checks() =>
            {
                self.secure_and_judge(purpose)
            }
            CommitsPurpose::Round | CommitsPurpose::Last | CommitsPurpose::Probed => {
                self.without_checks(purpose)
            }
        }
    }

    /// A rescue made commits. It saves work and completes nothing: its purpose decides.
    fn after_rescue(&mut self, purpose: CommitsPurpose, why: RescueReason) -> MachineAction {
        self.by(JudgementRule::RescueCompletesNothing);
        match why {
            RescueReason::SessionCutoff => self.conclude_cut_short(),
            // A commit of what was judged does not change what was judged.
            RescueReason::ChecksPassed => self.conclude_checks_passed(),
            RescueReason::Claim if self.has_checks() => self.secure_and_judge(purpose),
            RescueReason::Claim => self.conclude_rescued(),
            RescueReason::AgentStopped => self.conclude_agent_stopped(),
            RescueReason::Unmet => self.conclude_checks_unmet(),
            RescueReason::NotDone => self.conclude_not_done(),
            RescueReason::Unasked => self.conclude_unasked(),
            RescueReason::OverLimit => self.conclude_over_limit(),
            RescueReason::Last => self.out_of_probes(),
        }
    }

    fn half_done(&self) -> bool {
        self.commits.as_ref().is_some_and(Commits::half_done)
    }

    /// Most criteria need no baseline; the others report that it is missing.
    pub(super) fn without_a_baseline(&mut self) -> MachineAction {
        if self.has_checks() {
            return self.secure_and_judge(CommitsPurpose::Round);
        }
        self.by(match self.setup.trust {
            ConfigTrust::Untrusted { .. } => JudgementRule::UntrustedFile,
            ConfigTrust::Settled => JudgementRule::NoCriteriaConfigured,
        });
        match &self.setup.trust {
            ConfigTrust::Untrusted { allow_with } => {
                let message = format!(
                    "completion.json is not trusted, so its criteria were not judged; read it, then type: {allow_with}"
                );
                self.conclude_with(Reason::Untrusted, message)
            }
            ConfigTrust::Settled => {
                let record = self.setup.commands.watchdog("snapshot");
                let message = format!(
                    "no criteria are configured, and without a baseline git cannot decide; record one with: {record}"
                );
                self.conclude_with(Reason::NoCriteria, message)
            }
        }
    }

    fn secure_and_judge(&mut self, purpose: CommitsPurpose) -> MachineAction {
        self.by(JudgementRule::ChecksDecide);
        match self.setup.checks_run_programs {
            true => self.secure(AfterSnapshot::JudgeChecks(purpose)),
            false => self.judge_checks(purpose),
        }
    }

    fn over_limit(&self) -> bool {
        matches!(self.setup.session, Some(SessionEnd::OverLimit { .. }))
    }

    /// The criteria of a file that is not trusted do not count.
    pub(super) fn has_checks(&self) -> bool {
        self.setup.has_checks && self.setup.trust == ConfigTrust::Settled
    }

    fn without_checks(&mut self, purpose: CommitsPurpose) -> MachineAction {
        match self.has_commits() {
            true if self.setup.read_leftovers && !self.only_criteria() => {
                self.secure(AfterSnapshot::Commits(purpose))
            }
            true => self.conclude_new_commits(),
            false if self.only_criteria() => self.conclude_no_probe(),
            false => self.decide_without_criteria(purpose),
        }
    }

    /// Commits are there, and what else is uncommitted is known: bare commits complete nothing while some of the work is left.
    pub(super) fn commits_and_leftovers(&mut self, purpose: CommitsPurpose) -> MachineAction {
        if !self.work_left() {
            return self.conclude_new_commits();
        }
        self.by(JudgementRule::LeftWorkHolds);
        if self.setup.no_probe {
            self.by(JudgementRule::NoProbeByOption);
            self.note_left_uncommitted();
            return self.conclude_new_commits();
        }
        self.decide_without_criteria(purpose)
    }

    /// Decides without commits or criteria.
    fn decide_without_criteria(&mut self, purpose: CommitsPurpose) -> MachineAction {
        if self.is_unasked() {
            self.by(JudgementRule::NothingBeneathLife);
            return self.secure(AfterSnapshot::Alive);
        }
        match purpose {
            CommitsPurpose::Last => self.last_resort(),
            CommitsPurpose::Probed => self.on_outcome(),
            CommitsPurpose::Round | CommitsPurpose::Rescued(_) | CommitsPurpose::Interrupted => {
                self.ask_or_use_the_session()
            }
        }
    }

    pub(super) fn judge_checks(&mut self, purpose: CommitsPurpose) -> MachineAction {
        self.stage = MachineStage::Checks(purpose);
        MachineAction::JudgeChecks
    }

    fn on_checks(&mut self, purpose: CommitsPurpose, judged: ChecksResult) -> MachineAction {
        let outcome = judged.outcome;
        self.judged = Some(judged);
        // A check's program may have written files, and a rescue must not run before they are kept.
        self.secured &= !self.setup.checks_run_programs;
        self.by(match outcome {
            CheckOutcome::Pass if self.pass_proves_nothing() => JudgementRule::PassedBefore,
            CheckOutcome::Pass | CheckOutcome::Unmet | CheckOutcome::Waiting => {
                JudgementRule::ChecksDecide
            }
            CheckOutcome::Unrunnable | CheckOutcome::Failed | CheckOutcome::TimedOut => {
                JudgementRule::NoPassWithoutResult
            }
        });
        match outcome {
            CheckOutcome::Pass if self.pass_proves_nothing() => {
                self.undecided_although_passed(purpose)
            }
            CheckOutcome::Pass if self.rescue_commits > 0 || self.only_criteria() => {
                self.conclude_checks_passed()
            }
            CheckOutcome::Pass => self.secure(AfterSnapshot::Rescue(RescueReason::ChecksPassed)),
            CheckOutcome::Unmet if self.rescue_commits > 0 => self.conclude_checks_unmet(),
            CheckOutcome::Unmet if self.has_commits() && self.cut_short() => {
                self.secure(AfterSnapshot::Rescue(RescueReason::Unmet))
            }
            CheckOutcome::Unmet if self.has_commits() => self.unmet_with_commits(),
            CheckOutcome::Unmet if self.only_criteria() => self.conclude_checks_unmet(),
            CheckOutcome::Unmet => self.decide_without_criteria(purpose),
            CheckOutcome::Waiting => self.conclude_from_checks(Reason::BackgroundWork),
            CheckOutcome::Unrunnable => self.conclude_from_checks(Reason::VerifyUnrunnable),
            CheckOutcome::Failed => self.conclude_from_checks(Reason::VerifyFailed),
            CheckOutcome::TimedOut => self.conclude_from_checks(Reason::VerifyTimeout),
        }
    }

    /// Rule 10 of the contract: a check that passed before the work began is no evidence of it, and no commit made here is either.
    fn pass_proves_nothing(&self) -> bool {
        let all_passed_before = self
            .judged
            .as_ref()
            .is_some_and(|judged| judged.all_passed_before);
        all_passed_before && !self.only_criteria() && !self.has_commits()
    }

    /// No check broke, and no fact shows work: the agent's word decides.
    fn undecided_although_passed(&mut self, purpose: CommitsPurpose) -> MachineAction {
        match purpose {
            CommitsPurpose::Rescued(RescueReason::Claim) => self.conclude_rescued(),
            purpose => self.decide_without_criteria(purpose),
        }
    }

    /// Whether the criteria were judged and are not met.
    pub(super) fn checks_unmet(&self) -> bool {
        self.judged
            .as_ref()
            .is_some_and(|judged| judged.outcome != CheckOutcome::Pass)
    }

    fn only_criteria(&self) -> bool {
        matches!(self.setup.scope, JudgementScope::Criteria { .. })
    }

    fn unmet_with_commits(&mut self) -> MachineAction {
        self.by(JudgementRule::UnmetWithCommits);
        match &self.setup.session {
            // More work is wanted, and no session can do it before a person did something.
            Some(SessionEnd::Unrunnable { .. }) => self.secure(AfterSnapshot::Unrunnable),
            _ if self.setup.read_leftovers => self.secure(AfterSnapshot::ChecksUnmet),
            _ => self.conclude_checks_unmet(),
        }
    }

    /// After the last round: the final rescue.
    pub(super) fn last_resort(&mut self) -> MachineAction {
        self.by(JudgementRule::LastRound);
        match self.setup.session {
            Some(
                SessionEnd::CutShort { .. }
                | SessionEnd::TimedOut { .. }
                | SessionEnd::Idle { .. }
                | SessionEnd::RateLimited { .. }
                | SessionEnd::OverLimit { .. }
                | SessionEnd::Unrunnable { .. }
                | SessionEnd::LeftWork { .. },
            ) => self.ask_or_use_the_session(),
            // No question was asked: what the session was refused still decides.
            Some(SessionEnd::Ended { .. }) if self.rounds_used == 0 && self.was_refused_tools() => {
                self.secure(AfterSnapshot::Refused)
            }
            // Whether work that is claimed complete and pending at once should be committed is for a person.
            _ if self.disputed.is_some() => self.conclude_disputed(),
            _ => self.secure(AfterSnapshot::Rescue(RescueReason::Last)),
        }
    }

    /// No probe will follow, and the work is rescued as far as possible.
    pub(super) fn out_of_probes(&mut self) -> MachineAction {
        let has_probed = self.rounds_used > 0 || self.no_more_questions.is_some();
        let work_left = self.work_left();
        if self.rescue_failed.is_some() {
            self.conclude_not_committed()
        } else if self.checks_unmet() {
            self.conclude_checks_unmet()
        } else if self.has_commits() && self.answered == 0 {
            self.note_left_uncommitted();
            self.conclude_new_commits()
        } else if has_probed && (self.answered == 0 || self.named_end()) {
            self.conclude_without_answer()
        } else if self.rescue_commits > 0 || self.has_commits() && work_left {
            self.conclude_not_done()
        } else {
            self.stage = MachineStage::Activity;
            MachineAction::ReadActivity
        }
    }

    /// Whether the last question ended in something that has a verdict of its own.
    fn named_end(&self) -> bool {
        match self.no_more_questions {
            Some(
                ProbeStopReason::RateLimited { .. }
                | ProbeStopReason::Withheld { .. }
                | ProbeStopReason::Unrunnable { .. },
            ) => true,
            Some(ProbeStopReason::NoAnswer) | None => false,
        }
    }

    /// Rule 4 of the contract: a strike only if the agent was alive and nothing at all moved.
    fn on_activity(&mut self, activity: ActivityFacts) -> MachineAction {
        self.by(JudgementRule::EveryProbeSpent);
        self.by(JudgementRule::StrikeOfTimeout);
        let activity_known = [activity.worktree, activity.processes, activity.transcript]
            .iter()
            .any(Option::is_some);
        let not_a_strike = if self
            .commits
            .as_ref()
            .is_some_and(|commits| commits.new_commits > 0)
        {
            Some("new_commits")
        } else if (self.commits.as_ref()).is_some_and(|commits| !commits.beside.is_empty()) {
            Some("work_beside_head")
        } else if self.alive == 0 {
            Some("no_probe_answered_waiting_or_working")
        } else if self.rounds_left() > 0 {
            Some("probes_left")
        } else if !activity_known {
            Some("activity_unknown")
        } else {
            activity.first_activity()
        };
        self.conclude_timeout(not_a_strike)
    }

    pub(super) fn note(&mut self, code: WarningCode, detail: String) {
        if !self
            .degraded
            .iter()
            .any(|warning| warning.code == code && warning.detail == detail)
        {
            self.degraded.push(Degradation { code, detail });
        }
    }
}
