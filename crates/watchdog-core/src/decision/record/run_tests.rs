//! Which recorded fact answers the machine, and that it never takes one from before something was done.

use crate::sample_facts::probe;
use watchdog_facts::evidence::{
    ActivityFacts, Changes, CheckOutcome, Commits, ProbeOutcome, Reply, ReplyStatus, RescueOutcome,
};
use watchdog_facts::verdict::{Evidence, Reason};

use super::*;
use crate::config::settings::ConfigSettings;
use crate::decision::machine::{ChecksResult, MachineSetup};

fn record(setup: MachineSetup, events: impl IntoIterator<Item = MachineEvent>) -> JudgementRecord {
    let mut record = JudgementRecord::new(setup);
    events.into_iter().for_each(|event| record.add(0, event));
    record
}

fn setup() -> MachineSetup {
    MachineSetup::from_settings(&ConfigSettings::default())
}

fn none() -> MachineEvent {
    MachineEvent::Commits(Ok(Commits::default()))
}

fn clean() -> MachineEvent {
    MachineEvent::Changes(Ok(Changes::default()))
}

fn dirty() -> MachineEvent {
    MachineEvent::Changes(Ok(Changes {
        unstaged: 1,
        work: 1,
        ..Changes::default()
    }))
}

fn kept() -> MachineEvent {
    MachineEvent::Snapshot(Ok(Some("refs/watchdog/rescue/1".into())))
}

fn answered(status: ReplyStatus) -> MachineEvent {
    MachineEvent::Probe(probe(ProbeOutcome::Reply(Reply::bare(status)), 0))
}

/// The steps that answered, and the reason at the end or the fact that is missing.
fn ran(run: RecordedRun) -> (Vec<usize>, Result<Reason, &'static str>) {
    let end = match run.end {
        RunEnd::Concluded(verdict) => Ok(verdict.reason),
        RunEnd::NotRecorded { fact } => Err(fact),
    };
    (
        run.decisions
            .iter()
            .filter_map(|decision| decision.step)
            .collect(),
        end,
    )
}

#[test]
fn fact_answers_again_until_something_changes() {
    let judged = MachineEvent::Checks(ChecksResult {
        outcome: CheckOutcome::Pass,
        evidence: Evidence::Verified,
        feedback: String::new(),
        results: Vec::new(),
        all_passed_before: false,
        notes: Vec::new(),
    });
    let rescued = MachineEvent::Rescue(Ok(RescueOutcome {
        commits: 1,
        ..RescueOutcome::default()
    }));
    let checked = MachineSetup {
        has_checks: true,
        checks_run_programs: true,
        ..setup()
    };
    // The checks may have written files, so that the machine reads and keeps them again before it rescues.
    let steps = [none(), dirty(), kept(), judged, rescued];
    assert_eq!(
        ran(run_record(&record(checked, steps))),
        (vec![0, 1, 2, 3, 1, 2, 4], Err("commits"))
    );
    assert_eq!(
        ran(run_record(&record(
            setup(),
            [none(), clean(), answered(ReplyStatus::Working)]
        ))),
        (vec![0, 1, 2], Err("commits"))
    );
}

#[test]
fn changed_run_reuses_a_reading_in_all_rounds() {
    let mut patient = setup();
    patient.completion.max_probes = 60;
    let rounds = (0..60).flat_map(|_| [answered(ReplyStatus::Working), MachineEvent::WaitOver]);
    let quiet = MachineEvent::Activity(ActivityFacts {
        worktree: Some(false),
        processes: Some(false),
        transcript: Some(false),
    });
    let record = record(
        patient,
        [none(), clean()].into_iter().chain(rounds).chain([quiet]),
    );
    let (steps, end) = ran(run_changed(&record));
    assert_eq!((end, steps.last()), (Ok(Reason::MaxProbes), Some(&122)));
    assert_eq!(
        ran(run_record(&record)).1,
        Err("commits"),
        "as it was read, it tells nothing of what was after the first answer"
    );
}
