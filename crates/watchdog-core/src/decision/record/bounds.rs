//! Bounds of a record's long lists and texts. Totals are kept whole, so that a shortened list is
//! never taken for all there was.

use watchdog_facts::display::shorten_text;
use watchdog_facts::evidence::{
    Changes, CheckResult, Commits, CriteriaChanged, Degradation, LeftOut, ProbeOutcome, ReadFact,
    Reply, RescueOutcome, SessionEnd, StopReason, UnreadableFact,
};
use watchdog_facts::verdict::{ProbeRecord, Verdict};

use super::{JudgementRecord, RecordedStep};
use crate::decision::machine::{ChecksResult, MachineEvent, MachineSetup, SurvivorFacts};
use crate::decision::session_life::SessionLife;

/// How many paths, tasks or notes of one list are kept by name.
pub const LISTED: usize = 10;
/// How many commits are kept by name: the newest ones. git has the others.
pub const COMMITS_LISTED: usize = 5;
/// How many checks are kept.
pub const CHECKS_LISTED: usize = 40;
/// The longest text of one item, in characters.
const ITEM: usize = 160;
/// The longest feedback of one check, and what an agent says, in characters.
const SAID: usize = 400;
/// The longest feedback of a verdict or of all checks together.
const FEEDBACK: usize = 800;

fn shorten_list(texts: &[String], at_most: usize) -> Vec<String> {
    texts
        .iter()
        .take(at_most)
        .map(|text| shorten_text(text, ITEM))
        .collect()
}

/// Commits with a bounded list.
pub fn bound_commits(commits: &Commits) -> Commits {
    let mut commits = Commits {
        listed: commits
            .listed
            .iter()
            .take(COMMITS_LISTED)
            .cloned()
            .collect(),
        ..commits.clone()
    };
    commits
        .listed
        .iter_mut()
        .for_each(|commit| commit.subject = shorten_text(&commit.subject, 72));
    commits.conflicts = shorten_list(&commits.conflicts, LISTED);
    commits.degraded = bound_notes(&commits.degraded);
    commits
}

/// Changes with a bounded list.
pub fn bound_changes(changes: &Changes) -> Changes {
    Changes {
        paths: shorten_list(&changes.paths, LISTED),
        work_paths: shorten_list(&changes.work_paths, LISTED),
        degraded: bound_notes(&changes.degraded),
        ..changes.clone()
    }
}

/// A check with a bounded feedback.
pub fn bound_check(check: &CheckResult) -> CheckResult {
    CheckResult {
        name: shorten_text(&check.name, ITEM),
        feedback: shorten_text(&check.feedback, SAID),
        baseline_failures: (check.baseline_failures.iter().take(LISTED))
            .map(|name| shorten_text(name, ITEM))
            .collect(),
        ..check.clone()
    }
}

/// The feedback of all checks, bounded.
pub(super) fn bound_feedback(text: &str) -> String {
    shorten_text(text, FEEDBACK)
}

/// A question with a bounded answer.
pub fn bound_probe(record: &ProbeRecord) -> ProbeRecord {
    ProbeRecord {
        outcome: bound_outcome(&record.outcome),
        disputed: record
            .disputed
            .as_deref()
            .map(|why| shorten_text(why, SAID)),
        ..record.clone()
    }
}

/// A bounded answer, or a bounded text why there is none.
pub fn bound_outcome(outcome: &ProbeOutcome) -> ProbeOutcome {
    let why = outcome
        .why()
        .map(|why| shorten_text(why, SAID))
        .unwrap_or_default();
    match outcome {
        ProbeOutcome::Reply(reply) => ProbeOutcome::Reply(Reply {
            message: shorten_text(&reply.message, SAID),
            agents_details: shorten_list(&reply.agents_details, 3),
            tasks_completed: shorten_list(&reply.tasks_completed, LISTED),
            tasks_pending: shorten_list(&reply.tasks_pending, LISTED),
            next_action: reply
                .next_action
                .as_deref()
                .map(|next| shorten_text(next, SAID)),
            doubt: reply
                .doubt
                .as_deref()
                .map(|doubt| shorten_text(doubt, SAID)),
            ..reply.clone()
        }),
        ProbeOutcome::Unreadable { .. } => ProbeOutcome::Unreadable { why },
        ProbeOutcome::Empty => ProbeOutcome::Empty,
        ProbeOutcome::TimedOut => ProbeOutcome::TimedOut,
        ProbeOutcome::NoConversation { .. } => ProbeOutcome::NoConversation { why },
        ProbeOutcome::NotInstalled { .. } => ProbeOutcome::NotInstalled { why },
        ProbeOutcome::NotLoggedIn { .. } => ProbeOutcome::NotLoggedIn { why },
        ProbeOutcome::Overloaded { .. } => ProbeOutcome::Overloaded { why },
        ProbeOutcome::RateLimited { retry_at, .. } => ProbeOutcome::RateLimited {
            why,
            retry_at: *retry_at,
        },
        ProbeOutcome::Failed { .. } => ProbeOutcome::Failed { why },
    }
}

/// Paths left out for a person come first: they decide.
fn bound_left_out(left_out: &[LeftOut]) -> Vec<LeftOut> {
    let (on_purpose, others): (Vec<&LeftOut>, Vec<&LeftOut>) = left_out
        .iter()
        .partition(|skipped| skipped.why.is_on_purpose());
    if left_out.len() <= LISTED {
        return left_out.to_vec();
    }
    others
        .into_iter()
        .chain(on_purpose)
        .take(LISTED)
        .cloned()
        .collect()
}

/// A rescue with bounded lists.
pub fn bound_rescue(outcome: &RescueOutcome) -> RescueOutcome {
    RescueOutcome {
        made: outcome.made.iter().take(LISTED).cloned().collect(),
        failed: outcome.failed.as_deref().map(|why| shorten_text(why, SAID)),
        lost: shorten_list(&outcome.lost, LISTED),
        left_out: bound_left_out(&outcome.left_out),
        warnings: bound_notes(&outcome.warnings),
        ..outcome.clone()
    }
}

fn bound_notes(notes: &[Degradation]) -> Vec<Degradation> {
    let bound_note = |note: &Degradation| Degradation {
        detail: shorten_text(&note.detail, SAID),
        ..note.clone()
    };
    notes.iter().take(2 * LISTED).map(bound_note).collect()
}

fn bound_fact<T: Clone>(read: &ReadFact<T>, bound: impl FnOnce(&T) -> T) -> ReadFact<T> {
    match read {
        Ok(fact) => Ok(bound(fact)),
        Err(unreadable) => Err(UnreadableFact {
            why: shorten_text(&unreadable.why, SAID),
            ..unreadable.clone()
        }),
    }
}

fn bound_session_end(mut end: SessionEnd) -> SessionEnd {
    match &mut end {
        SessionEnd::RateLimited { why: words, .. }
        | SessionEnd::OverLimit {
            stop: StopReason { why: words, .. },
        }
        | SessionEnd::LeftWork { what: words, .. }
        | SessionEnd::CutShort { why: words, .. }
        | SessionEnd::Unrunnable { why: words }
        | SessionEnd::NotStarted { why: words, .. }
        | SessionEnd::NotKept { why: words } => *words = shorten_text(words, SAID),
        SessionEnd::Ended { .. } | SessionEnd::TimedOut { .. } | SessionEnd::Idle { .. } => {}
    }
    end
}

fn bound_setup(setup: &MachineSetup) -> MachineSetup {
    let mut setup = MachineSetup {
        survivors: shorten_list(&setup.survivors, LISTED),
        notes: bound_notes(&setup.notes),
        session: setup.session.clone().map(bound_session_end),
        ..setup.clone()
    };
    match &mut setup.life {
        SessionLife::Absent => {}
        SessionLife::Busy { words }
        | SessionLife::Idle { words }
        | SessionLife::Moved { words } => *words = shorten_text(words, SAID),
    }
    setup
}

fn bound_event(event: &MachineEvent) -> MachineEvent {
    match event {
        MachineEvent::Commits(read) => MachineEvent::Commits(bound_fact(read, bound_commits)),
        MachineEvent::Changes(read) => MachineEvent::Changes(bound_fact(read, bound_changes)),
        MachineEvent::Snapshot(read) => MachineEvent::Snapshot(bound_fact(read, Clone::clone)),
        MachineEvent::Checks(judged) => MachineEvent::Checks(ChecksResult {
            feedback: bound_feedback(&judged.feedback),
            results: judged
                .results
                .iter()
                .take(CHECKS_LISTED)
                .map(bound_check)
                .collect(),
            notes: bound_notes(&judged.notes),
            ..judged.clone()
        }),
        MachineEvent::Probe(record) => MachineEvent::Probe(bound_probe(record)),
        MachineEvent::Rescue(read) => MachineEvent::Rescue(bound_fact(read, bound_rescue)),
        MachineEvent::Survivors(facts) => MachineEvent::Survivors(SurvivorFacts {
            holding: shorten_list(&facts.holding, LISTED),
            released: bound_notes(facts.released.as_slice()).pop(),
            ..facts.clone()
        }),
        MachineEvent::Criteria(read) => {
            MachineEvent::Criteria(bound_fact(read, |changed| CriteriaChanged {
                guarded: shorten_list(&changed.guarded, LISTED),
                named: shorten_list(&changed.named, LISTED),
                ..changed.clone()
            }))
        }
        MachineEvent::Start
        | MachineEvent::WaitOver
        | MachineEvent::Activity(_)
        | MachineEvent::Interrupt => event.clone(),
    }
}

/// A record as the row of its verdict keeps it.
pub fn bound_record(record: &JudgementRecord) -> JudgementRecord {
    let bound_step = |step: &RecordedStep| RecordedStep {
        event: step.event.as_ref().map(bound_event),
        ..step.clone()
    };
    JudgementRecord {
        setup: bound_setup(&record.setup),
        steps: record.steps.iter().map(bound_step).collect(),
        beside: shorten_list(&record.beside, LISTED),
        overruled: record.overruled,
    }
}

/// A verdict as its row keeps it.
pub fn bound_verdict(verdict: &Verdict) -> Verdict {
    let mut verdict = verdict.clone();
    verdict.message = shorten_text(&verdict.message, FEEDBACK);
    verdict.feedback = verdict.feedback.as_deref().map(bound_feedback);
    verdict.commits = verdict.commits.as_ref().map(bound_commits);
    verdict.changes = verdict.changes.as_ref().map(bound_changes);
    verdict.left_out = bound_left_out(&verdict.left_out);
    verdict.probes = verdict.probes.iter().map(bound_probe).collect();
    verdict.checks = verdict
        .checks
        .iter()
        .take(CHECKS_LISTED)
        .map(bound_check)
        .collect();
    verdict.helpers = shorten_list(&verdict.helpers, LISTED);
    verdict.ignored_lost.truncate(LISTED);
    verdict
        .degraded
        .iter_mut()
        .for_each(|note| note.detail = shorten_text(&note.detail, SAID));
    verdict
}

#[cfg(test)]
#[path = "bounds_tests.rs"]
mod tests;
