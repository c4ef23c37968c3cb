//! The end of a loop: its verdict, its last event and its record.

use watchdog_core::decision::iteration::agent_order::{AgentChoice, choose_agent};
use watchdog_core::decision::iteration::ending::{build_end_verdict as verdict_of, is_over};
use watchdog_core::decision::iteration::next::LoopEnd;
use watchdog_core::decision::termination::describe_unmeasured;
use watchdog_facts::display::escape_to_one_line;
use watchdog_facts::evidence::WarningCode;
use watchdog_facts::verdict::{Reason, Status, Verdict};
use watchdog_git::Worktree;
use watchdog_store::journal::kind;

use super::super::next_prompt::unknown_agent_budget;
use super::{LoopRun, add_missing};
use crate::clock::{measure_since, now};
use crate::judge::refusal::about;
use crate::wire::loop_json::loop_ended_data;
use crate::wire::verdict_json::{EndedLoop, Judgement};

impl LoopRun {
    /// Ends that a session met are in the journal already.
    fn write_the_end(&self, end: &LoopEnd, verdict: &Verdict) {
        let kind = match verdict.status() {
            Status::Complete => kind::COMPLETE,
            Status::Failed => kind::FAILED,
            Status::Review => kind::REVIEW,
            Status::Stopped if matches!(end, LoopEnd::Stop(_) | LoopEnd::AgentsSpent(_)) => {
                kind::LIMIT
            }
            Status::Stopped
            | Status::Waiting
            | Status::Incomplete
            | Status::Timeout
            | Status::Error => return self.journal.flush(),
        };
        let (id, iterations) = (&self.memory.record().id, self.machine.standing().finished);
        let message = escape_to_one_line(&verdict.message);
        self.journal.write(
            kind,
            loop_ended_data(id, verdict.reason, &message, iterations),
        );
    }

    pub(super) fn end_interrupted(&mut self) -> Judgement {
        self.ended_between("interrupted between two iterations")
    }

    pub(super) fn end_paused(&mut self) -> Judgement {
        self.ended_between("paused between two iterations, as was asked for")
    }

    fn ended_between(&mut self, why: &str) -> Judgement {
        let so_far = self
            .last
            .as_ref()
            .map(|last| format!("; the last verdict: {}", last.verdict.message))
            .unwrap_or_default();
        let verdict = Verdict::new(Reason::Interrupted, format!("{why}{so_far}"));
        self.finish_with(verdict)
    }

    pub(super) fn finish_with(&mut self, verdict: Verdict) -> Judgement {
        match &mut self.last {
            Some(last) => {
                let facts = std::mem::replace(&mut last.verdict, verdict);
                let verdict = &mut last.verdict;
                (verdict.commits, verdict.changes, verdict.feedback) =
                    (facts.commits, facts.changes, facts.feedback);
            }
            None => self.last = Some(about(&self.context.command_env, None, verdict, self.begun)),
        }
        self.finish(&LoopEnd::Verdict)
    }

    pub(super) fn finish(&mut self, end: &LoopEnd) -> Judgement {
        let last = self.last.take();
        let mut verdict = verdict_of(end, last.as_ref().map(|last| last.verdict.clone()));
        let mut judgement = last
            .unwrap_or_else(|| about(&self.context.command_env, None, verdict.clone(), self.begun));
        if *end == LoopEnd::BreakerOpen {
            verdict.retry_at = judgement
                .breaker
                .as_ref()
                .and_then(|breaker| breaker.open_until);
        }
        let context = describe_unmeasured(
            &self.context.settings().limits,
            &self.machine.standing().spent,
        );
        verdict.degraded.extend(
            context.filter(|note| verdict.degraded.iter().all(|noted| noted.code != note.code)),
        );
        let over = is_over(end, &verdict);
        if verdict.reason == Reason::Interrupted {
            verdict
                .message
                .push_str("; to go on, type the same loop command again");
        }
        verdict.degraded.extend(unknown_agent_budget(
            self.machine.policy(),
            self.machine.standing(),
        ));
        if *end == LoopEnd::LimitTooLong
            && (self.machine.policy().has_choice() || verdict.retry_at.is_none())
        {
            // The first of them that may work again, and not the last that met its limit.
            let next = choose_agent(
                now(),
                &self.machine.policy().agents,
                &self.machine.known_agents(),
            );
            if let AgentChoice::Wait(hold) = next {
                verdict.retry_at = Some(hold.until);
            }
        }
        let record = self.memory.record();
        add_missing(
            &mut verdict.ignored_lost,
            record.ignored_lost.iter().cloned(),
        );
        for loss in &record.losses {
            if !verdict.degraded.contains(loss) {
                verdict.add_clause(&loss.detail);
                verdict.degraded.push(loss.clone());
            }
        }
        let (reason, standing) = (verdict.reason, self.machine.standing().clone());
        let saved = self.memory.keep(|record| {
            record.standing = standing;
            record.over = over.then_some(reason);
        });
        if let Err(unreadable) = saved {
            verdict.add_note(WarningCode::StoreUnwritable, unreadable.why);
        }
        self.write_the_end(end, &verdict);
        judgement.verdict = verdict;
        judgement.spec = Some(self.context.spec.clone());
        judgement.worktree = self.context.root.display().to_string();
        judgement.branch = judgement
            .branch
            .or_else(|| Worktree::open(&self.context.root).ok()?.branch());
        judgement.duration = measure_since(self.begun);
        let (standing, origin) = (self.machine.standing(), self.context.origin.as_str());
        judgement.looped = Some(EndedLoop {
            iterations: standing.finished,
            id: self.memory.record().id.clone(),
            begun_at: self.memory.record().begun_at,
            history: self.memory.record().records.clone(),
            spent: standing.spent,
            agents: standing.agents.clone(),
            first_baseline: origin.to_owned(),
            resumed: self.memory.resumed,
            over,
        });
        judgement
    }
}
