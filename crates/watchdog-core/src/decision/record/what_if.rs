//! Finds changes that would have changed a verdict: the machine runs again on the record with one
//! thing changed at a time, and everything else as it was recorded.

use watchdog_facts::evidence::{
    Changes, CheckOutcome, CheckResult, CriteriaChanged, OutcomeBeforeWork, ProbeOutcome,
    ProcessExit, Reply, ReplyStatus, RescueOutcome, SessionEnd,
};
use watchdog_facts::verdict::{Evidence, Reason};

use super::JudgementRecord;
use super::run::{RunEnd, run_changed, run_record};
use crate::config::settings::{OnNoCriteria, RescueMode};
use crate::decision::machine::{ConfigTrust, MachineEvent};

/// A thing that could have been otherwise.
#[derive(Debug, Clone, Copy)]
pub struct SingleChange {
    /// A stable word.
    pub word: &'static str,
    /// The same for a person: "had …".
    pub sentence: &'static str,
    change: fn(&mut JudgementRecord),
}

/// Its end.
#[derive(Debug, Clone, PartialEq)]
pub enum ChangedEnd {
    /// Another verdict.
    Verdict {
        /// Its reason.
        reason: Reason,
        /// The strength of its evidence.
        evidence: Evidence,
    },
    /// watchdog would have gone on to a fact that was not recorded.
    NotRecorded {
        /// The word for that fact.
        fact: &'static str,
    },
}

const fn single_change(
    word: &'static str,
    sentence: &'static str,
    change: fn(&mut JudgementRecord),
) -> SingleChange {
    SingleChange {
        word,
        sentence,
        change,
    }
}

/// Every change that is tried.
pub const CHANGES: &[SingleChange] = &[
    single_change(
        "commit_made",
        "a commit with a net change had been made here",
        commit_made,
    ),
    single_change(
        "nothing_uncommitted",
        "nothing of the session's work had been uncommitted",
        clear_own_changes,
    ),
    single_change(
        "everything_committed",
        "all of the work had been committed, and nothing left uncommitted",
        everything_committed,
    ),
    single_change("no_commit", "no commit had been made", no_commit),
    single_change("checks_pass", "every check had passed", checks_pass),
    single_change("checks_unmet", "a check had not been met", checks_unmet),
    single_change(
        "reply_complete",
        "the agent had answered complete",
        |record| replace_reply(record, ReplyStatus::Complete),
    ),
    single_change(
        "reply_working",
        "the agent had answered working",
        |record| replace_reply(record, ReplyStatus::Working),
    ),
    single_change(
        "rescue_commits",
        "the rescue had committed the work",
        rescue_commits,
    ),
    single_change(
        "rescue_allowed",
        "rescue had been allowed to commit",
        rescue_allowed,
    ),
    single_change(
        "operation_finished",
        "the operation of git had been finished",
        operation_finished,
    ),
    single_change(
        "nothing_runs",
        "nothing of the session had been running any more",
        nothing_runs,
    ),
    single_change(
        "session_ended_itself",
        "the session had ended by itself",
        session_ended_itself,
    ),
    single_change(
        "guards_unchanged",
        "the guarded files had been as they were",
        guards_unchanged,
    ),
    single_change("trusted", "completion.json had been trusted", |record| {
        record.setup.trust = ConfigTrust::Settled
    }),
    single_change(
        "weaker_evidence",
        "require_evidence had accepted weaker evidence",
        |record| record.setup.require_evidence = Evidence::None,
    ),
    single_change(
        "no_criteria_by_git",
        "on_no_criteria had been git",
        |record| record.setup.on_no_criteria = OnNoCriteria::Git,
    ),
    single_change(
        "first_nothing_to_do",
        "it had been the first 'nothing to do'",
        |record| record.setup.earlier.nothing_to_do_streak = 0,
    ),
    single_change("probing_allowed", "the agent had been asked", |record| {
        record.setup.no_probe = false
    }),
];

/// The changes that lead to something else than the record does, each with what it leads to.
pub fn what_if(record: &JudgementRecord) -> Vec<(SingleChange, ChangedEnd)> {
    let as_recorded = to_changed_end(&run_record(record).end);
    let mut ends: Vec<(SingleChange, ChangedEnd)> = Vec::new();
    for change in CHANGES {
        let mut changed = record.clone();
        (change.change)(&mut changed);
        if changed == *record {
            continue;
        }
        let end = match change.word {
            // Its criteria are not in the record, as they did not count.
            "trusted" => ChangedEnd::NotRecorded { fact: "checks" },
            _ => to_changed_end(&run_changed(&changed).end),
        };
        if end != as_recorded {
            ends.push((*change, end));
        }
    }
    ends
}

fn to_changed_end(end: &RunEnd) -> ChangedEnd {
    match end {
        RunEnd::Concluded(verdict) => ChangedEnd::Verdict {
            reason: verdict.reason,
            evidence: verdict.evidence,
        },
        RunEnd::NotRecorded { fact } => ChangedEnd::NotRecorded { fact },
    }
}

fn change_each_event(record: &mut JudgementRecord, change: impl FnMut(&mut MachineEvent)) {
    record
        .steps
        .iter_mut()
        .filter_map(|step| step.event.as_mut())
        .for_each(change);
}

fn commit_made(record: &mut JudgementRecord) {
    change_each_event(record, |event| {
        if let MachineEvent::Commits(Ok(commits)) = event
            && !commits.completes()
        {
            commits.made_here += 1;
            commits.new_commits = commits
                .new_commits
                .max(commits.made_here + commits.imported + commits.rescued);
            (commits.net_change, commits.brought) = (true, 0);
        }
    })
}

fn clear_own_changes(record: &mut JudgementRecord) {
    change_each_event(record, |event| {
        if let MachineEvent::Changes(Ok(changes)) = event
            && changes.work > 0
        {
            // Files of others stay as they are.
            *changes = Changes {
                untracked: changes.inherited + changes.since_end,
                inherited: changes.inherited,
                since_end: changes.since_end,
                leaving_links: changes.leaving_links,
                dropping_links: std::mem::take(&mut changes.dropping_links),
                ..Changes::default()
            };
        }
    })
}

fn everything_committed(record: &mut JudgementRecord) {
    let before = record.clone();
    commit_made(record);
    let committed = record.clone();
    clear_own_changes(record);
    // Either of the two alone is a change of its own.
    if committed == before || *record == committed {
        *record = before;
    }
}

fn no_commit(record: &mut JudgementRecord) {
    change_each_event(record, |event| {
        if let MachineEvent::Commits(Ok(commits)) = event
            && commits.completes()
        {
            (commits.new_commits, commits.made_here, commits.net_change) =
                (commits.imported + commits.rescued, 0, commits.rescued > 0);
        }
    })
}

fn checks_pass(record: &mut JudgementRecord) {
    change_each_event(record, |event| {
        if let MachineEvent::Checks(judged) = event
            && judged.outcome != CheckOutcome::Pass
        {
            let evidence = most_by_before(&judged.results);
            (judged.outcome, judged.evidence, judged.all_passed_before) =
                (CheckOutcome::Pass, evidence, false);
            judged.feedback.clear();
            judged
                .results
                .iter_mut()
                .for_each(|result| result.outcome = CheckOutcome::Pass);
        }
    })
}

/// The strongest evidence of a pass of these checks, by their outcomes before the work (rule 10 of the contract).
fn most_by_before(results: &[CheckResult]) -> Evidence {
    let without_git: Vec<&CheckResult> = results
        .iter()
        .filter(|result| result.kind != "git")
        .collect();
    let failed_before = |result: &&CheckResult| result.before == OutcomeBeforeWork::Failed;
    let is_new = match without_git.is_empty() {
        true => results.iter().any(|result| failed_before(&result)),
        false => without_git.iter().any(failed_before),
    };
    if is_new {
        Evidence::Verified
    } else {
        Evidence::Committed
    }
}

fn checks_unmet(record: &mut JudgementRecord) {
    change_each_event(record, |event| {
        if let MachineEvent::Checks(judged) = event
            && judged.outcome != CheckOutcome::Unmet
        {
            (judged.outcome, judged.evidence) = (CheckOutcome::Unmet, Evidence::None);
            judged.feedback = "a check is not met".into();
            judged
                .results
                .iter_mut()
                .for_each(|result| result.outcome = CheckOutcome::Unmet);
        }
    })
}

fn replace_reply(record: &mut JudgementRecord, status: ReplyStatus) {
    change_each_event(record, |event| {
        if let MachineEvent::Probe(probe) = event
            && !matches!(&probe.outcome, ProbeOutcome::Reply(reply) if reply.status == status && reply.contradiction().is_none())
        {
            probe.outcome = ProbeOutcome::Reply(Reply::bare(status));
        }
    })
}

fn rescue_commits(record: &mut JudgementRecord) {
    change_each_event(record, |event| {
        if let MachineEvent::Rescue(read) = event
            && !matches!(read, Ok(outcome) if outcome.commits > 0 && outcome.failed.is_none())
        {
            *read = Ok(RescueOutcome {
                commits: 1,
                ..RescueOutcome::default()
            });
        }
    })
}

fn rescue_allowed(record: &mut JudgementRecord) {
    let setup = &mut record.setup;
    setup.no_rescue = false;
    if matches!(setup.rescue_mode, RescueMode::Snapshot | RescueMode::Off) {
        setup.rescue_mode = RescueMode::Single;
    }
}

fn operation_finished(record: &mut JudgementRecord) {
    change_each_event(record, |event| match event {
        MachineEvent::Commits(Ok(commits)) => {
            commits.operation = None;
            commits.conflicts.clear();
        }
        MachineEvent::Changes(Ok(changes)) => changes.operation = None,
        _ => {}
    })
}

fn nothing_runs(record: &mut JudgementRecord) {
    record.setup.survivors.clear();
    change_each_event(record, |event| {
        if let MachineEvent::Survivors(found) = event {
            found.holding.clear();
        }
    });
}

fn session_ended_itself(record: &mut JudgementRecord) {
    if let Some(session) = &mut record.setup.session
        && !matches!(session, SessionEnd::Ended { .. })
    {
        *session = SessionEnd::Ended {
            exit: ProcessExit::Code(0),
        };
    }
}

fn guards_unchanged(record: &mut JudgementRecord) {
    change_each_event(record, |event| {
        if let MachineEvent::Criteria(read) = event {
            *read = Ok(CriteriaChanged::default());
        }
    })
}

#[cfg(test)]
#[path = "what_if_tests.rs"]
mod tests;
