//! What the agent of a scripted world answers.

use crate::decision::machine::MachineEvent;
use crate::sample_facts::probe;
use watchdog_facts::evidence::{ProbeOutcome, Reply, ReplyStatus};
use watchdog_facts::verdict::ProbeRecord;

/// A question that was answered so, at a cost of so many requests.
pub(super) fn asked(outcome: ProbeOutcome, requests: u64) -> MachineEvent {
    MachineEvent::Probe(probe(outcome, requests))
}

/// A question that was not put, for a limit of another machine, a budget or a cap.
pub(super) fn withheld(outcome: ProbeOutcome) -> MachineEvent {
    match asked(outcome, 0) {
        MachineEvent::Probe(record) => MachineEvent::Probe(ProbeRecord {
            withheld: true,
            ..record
        }),
        other => other,
    }
}

pub(super) fn says(status: ReplyStatus) -> ProbeOutcome {
    ProbeOutcome::Reply(Reply::bare(status))
}

pub(super) fn complete() -> ProbeOutcome {
    says(ReplyStatus::Complete)
}

pub(super) fn waiting() -> ProbeOutcome {
    says(ReplyStatus::Waiting)
}

pub(super) fn working() -> ProbeOutcome {
    says(ReplyStatus::Working)
}

/// It still works, and does not want to go on.
pub(super) fn gives_up() -> ProbeOutcome {
    ProbeOutcome::Reply(Reply {
        should_continue: Some(false),
        ..Reply::bare(ReplyStatus::Working)
    })
}

/// Complete, and a task is pending.
pub(super) fn contradiction() -> ProbeOutcome {
    ProbeOutcome::Reply(Reply {
        tasks_pending: vec!["tests".into()],
        ..Reply::bare(ReplyStatus::Complete)
    })
}

/// Complete, with a commit that git does not know.
pub(super) fn claims_a_commit() -> ProbeOutcome {
    ProbeOutcome::Reply(Reply {
        commits_made: Some(1),
        ..Reply::bare(ReplyStatus::Complete)
    })
}

pub(super) fn garbage() -> ProbeOutcome {
    ProbeOutcome::Unreadable {
        why: "no JSON in it".into(),
    }
}

pub(super) fn usage_limit() -> ProbeOutcome {
    ProbeOutcome::RateLimited {
        why: "limit reached".into(),
        retry_at: Some(reset()),
    }
}

pub(super) fn reset() -> jiff::Timestamp {
    jiff::Timestamp::constant(1_800_000_000, 0)
}
