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
use crate::decision::machine::{ConfigTrust, MachineEvent, SurvivorFacts};

/// A thing that could have been otherwise.
#[derive(Debug, Clone, Copy)]
pub struct SingleChange {
    /// A stable word.
    pub word: &'static str,
    /// The same for a person: "had …".
    pub sentence: &'static str,
    change: fn(&mut JudgementRecord) -> bool,
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

/// Every change that is tried.
pub const CHANGES: &[SingleChange] = &[
    SingleChange {
        word: "commit_made",
        sentence: "a commit with a net change had been made here",
        change: commit_made,
    },
    SingleChange {
        word: "nothing_uncommitted",
        sentence: "nothing of the session's work had been uncommitted",
        change: clear_own_changes,
    },
    SingleChange {
        word: "everything_committed",
        sentence: "all of the work had been committed, and nothing left uncommitted",
        change: everything_committed,
    },
    SingleChange {
        word: "no_commit",
        sentence: "no commit had been made",
        change: no_commit,
    },
    SingleChange {
        word: "checks_pass",
        sentence: "every check had passed",
        change: checks_pass,
    },
    SingleChange {
        word: "checks_unmet",
        sentence: "a check had not been met",
        change: checks_unmet,
    },
    SingleChange {
        word: "reply_complete",
        sentence: "the agent had answered complete",
        change: reply_complete,
    },
    SingleChange {
        word: "reply_working",
        sentence: "the agent had answered working",
        change: reply_working,
    },
    SingleChange {
        word: "rescue_commits",
        sentence: "the rescue had committed the work",
        change: rescue_commits,
    },
    SingleChange {
        word: "rescue_allowed",
        sentence: "rescue had been allowed to commit",
        change: rescue_allowed,
    },
    SingleChange {
        word: "operation_finished",
        sentence: "the operation of git had been finished",
        change: operation_finished,
    },
    SingleChange {
        word: "nothing_runs",
        sentence: "nothing of the session had been running any more",
        change: nothing_runs,
    },
    SingleChange {
        word: "session_ended_itself",
        sentence: "the session had ended by itself",
        change: session_ended_itself,
    },
    SingleChange {
        word: "guards_unchanged",
        sentence: "the guarded files had been as they were",
        change: guards_unchanged,
    },
    SingleChange {
        word: "trusted",
        sentence: "completion.json had been trusted",
        change: trust_config,
    },
    SingleChange {
        word: "weaker_evidence",
        sentence: "require_evidence had accepted weaker evidence",
        change: weaker_evidence,
    },
    SingleChange {
        word: "no_criteria_by_git",
        sentence: "on_no_criteria had been git",
        change: no_criteria_by_git,
    },
    SingleChange {
        word: "first_nothing_to_do",
        sentence: "it had been the first 'nothing to do'",
        change: first_nothing_to_do,
    },
    SingleChange {
        word: "probing_allowed",
        sentence: "the agent had been asked",
        change: probing_allowed,
    },
];

/// The changes that lead to something else than the record does, each with what it leads to.
pub fn what_if(record: &JudgementRecord) -> Vec<(SingleChange, ChangedEnd)> {
    let as_recorded = to_changed_end(&run_record(record).end);
    let mut ends: Vec<(SingleChange, ChangedEnd)> = Vec::new();
    for change in CHANGES {
        let mut changed = record.clone();
        if !(change.change)(&mut changed) {
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

/// Changes each event in place; tells whether any is another one now.
fn change_each_event(
    record: &mut JudgementRecord,
    mut change: impl FnMut(&mut MachineEvent),
) -> bool {
    let before = record.steps.clone();
    record
        .steps
        .iter_mut()
        .filter_map(|step| step.event.as_mut())
        .for_each(&mut change);
    record.steps != before
}

fn commit_made(record: &mut JudgementRecord) -> bool {
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

fn clear_own_changes(record: &mut JudgementRecord) -> bool {
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

fn everything_committed(record: &mut JudgementRecord) -> bool {
    let (committed, cleaned) = (commit_made(record), clear_own_changes(record));
    committed && cleaned
}

fn no_commit(record: &mut JudgementRecord) -> bool {
    change_each_event(record, |event| {
        if let MachineEvent::Commits(Ok(commits)) = event
            && commits.completes()
        {
            (commits.new_commits, commits.made_here, commits.net_change) =
                (commits.imported + commits.rescued, 0, commits.rescued > 0);
        }
    })
}

fn checks_pass(record: &mut JudgementRecord) -> bool {
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

fn checks_unmet(record: &mut JudgementRecord) -> bool {
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

fn replace_reply(record: &mut JudgementRecord, status: ReplyStatus) -> bool {
    change_each_event(record, |event| {
        if let MachineEvent::Probe(probe) = event
            && !matches!(&probe.outcome, ProbeOutcome::Reply(reply) if reply.status == status && reply.contradiction().is_none())
        {
            probe.outcome = ProbeOutcome::Reply(Reply::bare(status));
        }
    })
}

fn reply_complete(record: &mut JudgementRecord) -> bool {
    replace_reply(record, ReplyStatus::Complete)
}

fn reply_working(record: &mut JudgementRecord) -> bool {
    replace_reply(record, ReplyStatus::Working)
}

fn rescue_commits(record: &mut JudgementRecord) -> bool {
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

fn rescue_allowed(record: &mut JudgementRecord) -> bool {
    let setup = &mut record.setup;
    let allowed =
        !setup.no_rescue && !matches!(setup.rescue_mode, RescueMode::Snapshot | RescueMode::Off);
    setup.no_rescue = false;
    if matches!(setup.rescue_mode, RescueMode::Snapshot | RescueMode::Off) {
        setup.rescue_mode = RescueMode::Single;
    }
    !allowed
}

fn operation_finished(record: &mut JudgementRecord) -> bool {
    change_each_event(record, |event| match event {
        MachineEvent::Commits(Ok(commits)) => {
            commits.operation = None;
            commits.conflicts.clear();
        }
        MachineEvent::Changes(Ok(changes)) => changes.operation = None,
        _ => {}
    })
}

fn nothing_runs(record: &mut JudgementRecord) -> bool {
    let had_survivors = !record.setup.survivors.is_empty();
    record.setup.survivors.clear();
    change_each_event(record, |event| {
        if let MachineEvent::Survivors(found) = event {
            *found = SurvivorFacts {
                holding: Vec::new(),
                ..found.clone()
            };
        }
    }) || had_survivors
}

fn session_ended_itself(record: &mut JudgementRecord) -> bool {
    let by_itself = Some(SessionEnd::Ended {
        exit: ProcessExit::Code(0),
    });
    match &record.setup.session {
        None | Some(SessionEnd::Ended { .. }) => false,
        Some(_) => {
            record.setup.session = by_itself;
            true
        }
    }
}

fn guards_unchanged(record: &mut JudgementRecord) -> bool {
    change_each_event(record, |event| {
        if let MachineEvent::Criteria(read) = event {
            *read = Ok(CriteriaChanged::default());
        }
    })
}

fn trust_config(record: &mut JudgementRecord) -> bool {
    let untrusted = record.setup.trust != ConfigTrust::Settled;
    record.setup.trust = ConfigTrust::Settled;
    untrusted
}

fn weaker_evidence(record: &mut JudgementRecord) -> bool {
    let wanted = std::mem::replace(&mut record.setup.require_evidence, Evidence::None);
    wanted != Evidence::None
}

fn no_criteria_by_git(record: &mut JudgementRecord) -> bool {
    let before = std::mem::replace(&mut record.setup.on_no_criteria, OnNoCriteria::Git);
    before != OnNoCriteria::Git
}

fn first_nothing_to_do(record: &mut JudgementRecord) -> bool {
    std::mem::take(&mut record.setup.earlier.nothing_to_do_streak) > 0
}

fn probing_allowed(record: &mut JudgementRecord) -> bool {
    std::mem::take(&mut record.setup.no_probe)
}

#[cfg(test)]
#[path = "what_if_tests.rs"]
mod tests;
