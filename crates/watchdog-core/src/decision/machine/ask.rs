//! The consequences of an answer of the agent, and of a missing one.

use std::time::Duration;

use watchdog_facts::evidence::{ProbeOutcome, Reply, ReplyStatus};
use watchdog_facts::verdict::ProbeRecord;

use crate::decision::judgement_rule::JudgementRule;

use super::facts::{MachineAction, ProbePause, SurvivorFacts};
use super::stage::{AfterSnapshot, CommitsPurpose, MachineStage, ProbeStopReason, RescueReason};
use super::step::CheckMachine;

impl CheckMachine {
    pub(super) fn ask(&mut self) -> MachineAction {
        self.stage = MachineStage::Probe;
        MachineAction::Ask {
            number: self.rounds_used + 1,
            contradiction: self.disputed.clone(),
        }
    }

    /// The machine reads commits before it acts on an answer: they may have landed during the probe.
    pub(super) fn on_probe(&mut self, record: ProbeRecord) -> MachineAction {
        self.rounds_used += 1;
        self.probes.push(record);
        self.read_commits(CommitsPurpose::Probed)
    }

    /// No commit landed during the probe: its answer counts.
    pub(super) fn on_outcome(&mut self) -> MachineAction {
        let last = self.probes.last().expect("a probe ended, and was recorded");
        match last.outcome.clone() {
            ProbeOutcome::Reply(reply) => {
                self.answered += 1;
                self.failures_in_a_row = 0;
                self.on_reply(reply)
            }
            ProbeOutcome::RateLimited { why, retry_at } if last.withheld => {
                self.stop_asking(ProbeStopReason::Withheld { why, retry_at })
            }
            ProbeOutcome::RateLimited { why, retry_at } => {
                self.stop_asking(ProbeStopReason::RateLimited { why, retry_at })
            }
            ProbeOutcome::NotInstalled { why } | ProbeOutcome::NotLoggedIn { why } => {
                self.stop_asking(ProbeStopReason::Unrunnable { why })
            }
            // No pause brings a conversation back.
            ProbeOutcome::NoConversation { .. } => self.stop_asking(ProbeStopReason::NoAnswer),
            ProbeOutcome::Unreadable { .. }
            | ProbeOutcome::Empty
            | ProbeOutcome::TimedOut
            | ProbeOutcome::Overloaded { .. }
            | ProbeOutcome::Failed { .. }
                if self.same_as_before() =>
            {
                self.stop_asking(ProbeStopReason::NoAnswer)
            }
            ProbeOutcome::Unreadable { .. }
            | ProbeOutcome::Empty
            | ProbeOutcome::TimedOut
            | ProbeOutcome::Overloaded { .. }
            | ProbeOutcome::Failed { .. } => {
                self.on_failed_probe(self.setup.completion.probe_interval)
            }
        }
    }

    /// Whether the last two answers were unusable in the same way.
    fn same_as_before(&self) -> bool {
        match self.probes.as_slice() {
            [.., before, last] => {
                before.outcome == last.outcome
                    && !matches!(last.outcome, ProbeOutcome::Overloaded { .. })
            }
            _ => false,
        }
    }

    /// Commits that landed during the question showed what is missing, and nobody works on it any more. Before the question it would have
    /// kept the agent from being asked; now only its claim of complete, or its word that it should not go on, still counts.
    fn over_and_unmet(&self) -> bool {
        self.setup.session_over && self.checks_unmet()
    }

    fn rescue_unmet(&mut self) -> MachineAction {
        self.by(JudgementRule::NoProbeAfterEnd);
        self.secure(AfterSnapshot::Rescue(RescueReason::Unmet))
    }

    /// Another probe would be useless: the machine reads and rescues the work, then the verdict names the reason.
    fn stop_asking(&mut self, why: ProbeStopReason) -> MachineAction {
        self.by(JudgementRule::NoUsableReply);
        self.no_more_questions = Some(why);
        if self.over_and_unmet() {
            self.rescue_unmet()
        } else {
            self.read_commits(CommitsPurpose::Last)
        }
    }

    fn on_failed_probe(&mut self, at_most: Duration) -> MachineAction {
        self.by(JudgementRule::NoUsableReply);
        self.failures_in_a_row += 1;
        if self.over_and_unmet() {
            return self.rescue_unmet();
        }
        if self.rounds_left() == 0 {
            return self.last_resort();
        }
        if self.setup.once {
            return self.conclude_without_answer();
        }
        self.pause(ProbePause::Backoff {
            attempt: self.failures_in_a_row,
            at_most,
        })
    }

    fn on_reply(&mut self, reply: Reply) -> MachineAction {
        let against_git = self
            .commits
            .as_ref()
            .and_then(|commits| reply.contradicts(commits));
        if let Some(why) = reply.contradiction().or(against_git) {
            return self.on_dispute(why);
        }
        self.disputed = None;
        self.by(match (reply.status, reply.should_continue) {
            (ReplyStatus::Complete, _) => JudgementRule::CompleteAgainstGit,
            (_, Some(false)) => JudgementRule::AgentStops,
            (ReplyStatus::Working, _) if self.setup.session_over => JudgementRule::NotDoneAfterEnd,
            (ReplyStatus::Waiting | ReplyStatus::Working, _) => JudgementRule::PauseAndRetry,
        });
        match reply.status {
            ReplyStatus::Complete => self.secure(AfterSnapshot::Rescue(RescueReason::Claim)),
            ReplyStatus::Waiting | ReplyStatus::Working
                if self.over_and_unmet() && reply.should_continue != Some(false) =>
            {
                self.rescue_unmet()
            }
            ReplyStatus::Working
                if self.setup.session_over && reply.should_continue != Some(false) =>
            {
                self.secure(AfterSnapshot::Rescue(RescueReason::NotDone))
            }
            ReplyStatus::Waiting | ReplyStatus::Working => {
                self.alive += 1;
                match reply.should_continue {
                    Some(false) => self.secure(AfterSnapshot::Rescue(RescueReason::AgentStopped)),
                    Some(true) | None if self.setup.once && self.rounds_left() > 0 => {
                        self.conclude_alive(reply)
                    }
                    // The last round of `--once` is over with its answer: no time may pass in this call.
                    Some(true) | None if self.setup.once => self.last_resort(),
                    Some(true) | None => {
                        self.pause(ProbePause::Interval(self.setup.completion.probe_interval))
                    }
                }
            }
        }
    }

    /// Another question, with the contradiction named; the second one in a row is for a person.
    fn on_dispute(&mut self, why: String) -> MachineAction {
        self.by(JudgementRule::DisputedReply);
        if let Some(last) = self.probes.last_mut() {
            last.disputed = Some(why.clone());
        }
        let again = self.disputed.replace(why).is_some();
        if self.over_and_unmet() {
            return self.rescue_unmet();
        }
        if again || self.rounds_left() == 0 {
            self.conclude_disputed()
        } else {
            self.secure(AfterSnapshot::Ask)
        }
    }

    /// Background work of the session decides: before it ends, no answer of the agent would.
    pub(super) fn wait_for_survivors(&mut self) -> MachineAction {
        self.polls_held += 1;
        if self.setup.once || self.polls_held >= self.setup.completion.max_probes {
            return self.conclude_survivors();
        }
        self.pause(ProbePause::Interval(self.setup.completion.probe_interval))
    }

    pub(super) fn after_pause(&mut self) -> MachineAction {
        if self.setup.survivors.is_empty() {
            return self.next_round();
        }
        self.stage = MachineStage::Survivors;
        MachineAction::ReadSurvivors
    }

    pub(super) fn on_survivors(&mut self, survivors: SurvivorFacts) -> MachineAction {
        self.setup.survivors = survivors.holding;
        self.setup.session_over = survivors.session_over;
        if let Some(note) = survivors.released {
            self.note(note.code, note.detail);
        }
        self.next_round()
    }

    pub(super) fn pause(&mut self, pause: ProbePause) -> MachineAction {
        self.stage = MachineStage::Pause;
        MachineAction::Wait(pause)
    }
}
