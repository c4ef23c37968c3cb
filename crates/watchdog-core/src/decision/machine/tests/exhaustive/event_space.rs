//! The events that an action may be answered with: one representative of each kind of fact that a rule tells from the others.

use crate::decision::machine::{ChecksResult, MachineAction, MachineEvent, SurvivorFacts};
use crate::sample_facts::command_result;
use watchdog_facts::evidence::{
    ActivityFacts, Changes, CheckOutcome, CheckResult, Commits, CriteriaChanged, Degradation,
    FaultKind, GitOperation, HeldRescue, LeftOut, LeftOutReason, OutcomeBeforeWork, ProbeOutcome,
    ReadFact, Reply, ReplyStatus, RescueOutcome, UnreadableFact, WarningCode,
};
use watchdog_facts::proof::CheckProof;
use watchdog_facts::verdict::Evidence;

use super::super::world::{
    asked, claims_a_commit, complete, contradiction, gives_up, usage_limit, waiting, withheld,
    working,
};

/// The answers to each action. Any may follow any other, consistent or not.
pub(super) struct EventSpace {
    commits: Vec<MachineEvent>,
    changes: Vec<MachineEvent>,
    snapshots: Vec<MachineEvent>,
    checks: Vec<MachineEvent>,
    probes: Vec<MachineEvent>,
    rescues: Vec<MachineEvent>,
    survivors: Vec<MachineEvent>,
    activity: Vec<MachineEvent>,
    criteria: Vec<MachineEvent>,
    wait: [MachineEvent; 1],
    interrupt: [MachineEvent; 1],
}

/// The places in the lists below of the facts that the quick form takes.
const FEW_COMMITS: &[usize] = &[0, 1, 3, 4, 6, 9];
const FEW_CHANGES: &[usize] = &[0, 1, 2, 4];
const FEW_SNAPSHOTS: &[usize] = &[0, 2];
const FEW_CHECKS: &[usize] = &[0, 3, 4, 9];
const FEW_PROBES: &[usize] = &[0, 1, 4, 5, 7, 8, 16];
const FEW_RESCUES: &[usize] = &[0, 4, 6, 9];
const FEW_SURVIVORS: &[usize] = &[0, 1];
const FEW_ACTIVITY: &[usize] = &[1, 2];
const FEW_CRITERIA: &[usize] = &[0, 2, 3];

fn few(of: &[usize], events: &mut Vec<MachineEvent>) {
    *events = of.iter().map(|&at| events[at].clone()).collect();
}

impl EventSpace {
    /// Some of each kind, for the quick form.
    pub(super) fn few() -> EventSpace {
        let mut space = EventSpace::whole();
        few(FEW_COMMITS, &mut space.commits);
        few(FEW_CHANGES, &mut space.changes);
        few(FEW_SNAPSHOTS, &mut space.snapshots);
        few(FEW_CHECKS, &mut space.checks);
        few(FEW_PROBES, &mut space.probes);
        few(FEW_RESCUES, &mut space.rescues);
        few(FEW_SURVIVORS, &mut space.survivors);
        few(FEW_ACTIVITY, &mut space.activity);
        few(FEW_CRITERIA, &mut space.criteria);
        space
    }

    pub(super) fn whole() -> EventSpace {
        EventSpace {
            commits: all_commits()
                .into_iter()
                .map(MachineEvent::Commits)
                .collect(),
            changes: all_changes()
                .into_iter()
                .map(MachineEvent::Changes)
                .collect(),
            snapshots: vec![
                taken(),
                MachineEvent::Snapshot(Ok(None)),
                MachineEvent::Snapshot(unreadable(FaultKind::Snapshot)),
            ],
            checks: all_checks().into_iter().map(MachineEvent::Checks).collect(),
            probes: all_probes()
                .into_iter()
                .map(probe)
                .chain([withheld(usage_limit())])
                .collect(),
            rescues: all_rescues()
                .into_iter()
                .map(MachineEvent::Rescue)
                .collect(),
            survivors: all_survivors()
                .into_iter()
                .map(MachineEvent::Survivors)
                .collect(),
            activity: all_activity()
                .into_iter()
                .map(MachineEvent::Activity)
                .collect(),
            criteria: all_criteria()
                .into_iter()
                .map(MachineEvent::Criteria)
                .collect(),
            wait: [MachineEvent::WaitOver],
            interrupt: [MachineEvent::Interrupt],
        }
    }

    /// What may answer this action; nothing answers a conclusion.
    pub(super) fn answers(&self, action: &MachineAction) -> &[MachineEvent] {
        match action {
            MachineAction::ReadCommits => &self.commits,
            MachineAction::ReadChanges => &self.changes,
            MachineAction::TakeSnapshot => &self.snapshots,
            MachineAction::JudgeChecks => &self.checks,
            MachineAction::Ask { .. } => &self.probes,
            MachineAction::Rescue => &self.rescues,
            MachineAction::Wait(_) => &self.wait,
            MachineAction::ReadSurvivors => &self.survivors,
            MachineAction::ReadActivity => &self.activity,
            MachineAction::ReadCriteria => &self.criteria,
            MachineAction::Conclude(_) => &[],
        }
    }

    pub(super) fn interrupt(&self) -> &[MachineEvent] {
        &self.interrupt
    }

    /// Which of the commits these are: a short name of a long fact.
    pub(super) fn commits_at(&self, commits: &Commits) -> Option<usize> {
        self.commits
            .iter()
            .position(|event| matches!(event, MachineEvent::Commits(Ok(one)) if one == commits))
    }

    pub(super) fn changes_at(&self, changes: &Changes) -> Option<usize> {
        self.changes
            .iter()
            .position(|event| matches!(event, MachineEvent::Changes(Ok(one)) if one == changes))
    }

    pub(super) fn checks_at(&self, judged: &ChecksResult) -> Option<usize> {
        self.checks
            .iter()
            .position(|event| matches!(event, MachineEvent::Checks(one) if one == judged))
    }

    pub(super) fn probe_at(&self, outcome: &ProbeOutcome) -> Option<usize> {
        self.probes
            .iter()
            .position(|event| matches!(event, MachineEvent::Probe(one) if one.outcome == *outcome))
    }
}

pub(super) fn unreadable<T>(kind: FaultKind) -> ReadFact<T> {
    Err(UnreadableFact {
        kind,
        why: "it cannot be read".into(),
        hint: Some("look".into()),
    })
}

fn at(head: &str) -> Commits {
    Commits {
        head: Some(head.into()),
        ..Commits::default()
    }
}

pub(super) fn quiet() -> Commits {
    at("0")
}

/// One commit of the session's own.
pub(super) fn own() -> Commits {
    Commits {
        new_commits: 1,
        made_here: 1,
        net_change: true,
        ..at("1")
    }
}

pub(super) fn rebasing() -> Commits {
    Commits {
        operation: Some(GitOperation::Rebase),
        ..quiet()
    }
}

fn all_commits() -> Vec<ReadFact<Commits>> {
    let rewritten = Degradation {
        code: WarningCode::HistoryRewritten,
        detail: "the baseline is gone".into(),
    };
    vec![
        Ok(quiet()),
        Ok(own()),
        Ok(Commits {
            new_commits: 2,
            made_here: 2,
            net_change: true,
            ..at("2")
        }),
        // Pulled: somebody else's.
        Ok(Commits {
            new_commits: 1,
            imported: 1,
            net_change: true,
            ..at("3")
        }),
        Ok(Commits {
            new_commits: 1,
            rescued: 1,
            net_change: true,
            ..at("4")
        }),
        // Made here, and nothing is changed by it.
        Ok(Commits {
            new_commits: 1,
            made_here: 1,
            ..at("5")
        }),
        Ok(rebasing()),
        Ok(Commits {
            conflicts: vec!["lib.rs".into()],
            ..own()
        }),
        Ok(Commits {
            degraded: vec![rewritten],
            ..at("6")
        }),
        unreadable(FaultKind::Git),
    ]
}

pub(super) fn work() -> Changes {
    Changes {
        unstaged: 1,
        work: 1,
        work_paths: vec!["lib.rs".into()],
        ..Changes::default()
    }
}

fn all_changes() -> Vec<ReadFact<Changes>> {
    let overwritten = Degradation {
        code: WarningCode::InheritedOverwritten,
        detail: "notes.txt was overwritten".into(),
    };
    vec![
        Ok(Changes::default()),
        Ok(work()),
        Ok(Changes {
            unstaged: 2,
            inherited: 1,
            since_end: 1,
            ..Changes::default()
        }),
        Ok(Changes {
            unstaged: 1,
            inherited: 1,
            degraded: vec![overwritten],
            ..Changes::default()
        }),
        unreadable(FaultKind::Git),
    ]
}

pub(super) fn taken() -> MachineEvent {
    MachineEvent::Snapshot(Ok(Some("refs/watchdog/rescue/auth/1".into())))
}

/// The criteria, judged as one check of this outcome.
pub(super) fn judged(
    outcome: CheckOutcome,
    evidence: Evidence,
    passed_before: bool,
    feedback: &str,
) -> ChecksResult {
    let before = if passed_before {
        OutcomeBeforeWork::Passed
    } else {
        OutcomeBeforeWork::Unknown
    };
    let result = CheckResult {
        evidence,
        feedback: feedback.into(),
        before,
        ..command_result("tests", outcome)
    };
    ChecksResult {
        outcome,
        evidence,
        feedback: feedback.into(),
        results: vec![result],
        all_passed_before: passed_before,
        notes: Vec::new(),
    }
}

fn all_checks() -> Vec<ChecksResult> {
    let mut in_scratch = judged(CheckOutcome::Pass, Evidence::Verified, false, "");
    in_scratch.results[0].tree = Some("7".into());
    let mut weakened = judged(CheckOutcome::Pass, Evidence::None, false, "`a` fails");
    weakened.results[0].proof = Some(CheckProof {
        weakened: vec!["a".into()],
        ..CheckProof::default()
    });
    vec![
        judged(CheckOutcome::Pass, Evidence::Verified, false, ""),
        in_scratch,
        weakened,
        judged(
            CheckOutcome::Pass,
            Evidence::Claimed,
            false,
            "the judge agrees",
        ),
        judged(CheckOutcome::Pass, Evidence::Verified, true, ""),
        judged(CheckOutcome::Unmet, Evidence::None, false, "tests fail"),
        judged(CheckOutcome::Unmet, Evidence::None, false, " \n"),
        judged(CheckOutcome::Waiting, Evidence::None, false, "CI runs"),
        judged(
            CheckOutcome::Unrunnable,
            Evidence::None,
            false,
            "no such program",
        ),
        judged(
            CheckOutcome::Failed,
            Evidence::None,
            false,
            "no sense in it",
        ),
        judged(CheckOutcome::TimedOut, Evidence::None, false, "after 300 s"),
    ]
}

pub(super) fn probe(outcome: ProbeOutcome) -> MachineEvent {
    asked(outcome, 1)
}

fn all_probes() -> Vec<ProbeOutcome> {
    let why = || "why".to_string();
    let doubtful = Reply {
        doubt: Some("its word stands in an example".into()),
        ..Reply::bare(ReplyStatus::Working)
    };
    let pending = Reply {
        tasks_pending: vec!["tests".into()],
        next_action: Some("none".into()),
        ..Reply::bare(ReplyStatus::Working)
    };
    vec![
        complete(),
        contradiction(),
        claims_a_commit(),
        ProbeOutcome::Reply(doubtful),
        waiting(),
        working(),
        ProbeOutcome::Reply(pending),
        gives_up(),
        ProbeOutcome::Unreadable { why: why() },
        ProbeOutcome::Empty,
        ProbeOutcome::TimedOut,
        ProbeOutcome::Overloaded { why: why() },
        ProbeOutcome::Failed { why: why() },
        ProbeOutcome::NoConversation { why: why() },
        ProbeOutcome::NotInstalled { why: why() },
        ProbeOutcome::NotLoggedIn { why: why() },
        usage_limit(),
    ]
}

fn all_rescues() -> Vec<ReadFact<RescueOutcome>> {
    let none = RescueOutcome::default;
    let refused = || Some("exit code 1".to_string());
    let elsewhere = || Some("watchdog/rescue/auth".to_string());
    let left_out = |why| {
        vec![LeftOut {
            path: ".env".into(),
            why,
        }]
    };
    vec![
        Ok(RescueOutcome {
            commits: 1,
            ..none()
        }),
        Ok(RescueOutcome {
            commits: 1,
            left_out: left_out(LeftOutReason::Secret),
            ..none()
        }),
        Ok(RescueOutcome {
            commits: 1,
            failed: refused(),
            ..none()
        }),
        Ok(none()),
        Ok(RescueOutcome {
            left_out: left_out(LeftOutReason::Secret),
            ..none()
        }),
        Ok(RescueOutcome {
            left_out: left_out(LeftOutReason::TooLarge),
            ..none()
        }),
        Ok(RescueOutcome {
            failed: refused(),
            ..none()
        }),
        Ok(RescueOutcome {
            failed: refused(),
            fallback_branch: elsewhere(),
            ..none()
        }),
        Ok(RescueOutcome {
            commits: 1,
            failed: refused(),
            fallback_branch: elsewhere(),
            ..none()
        }),
        Ok(RescueOutcome {
            held_back: Some(HeldRescue {
                why: "claude works".into(),
                retry_at: None,
            }),
            ..none()
        }),
        Ok(RescueOutcome {
            commits: 1,
            lost: vec!["lib.rs".into()],
            ..none()
        }),
        unreadable(FaultKind::Git),
    ]
}

fn all_survivors() -> Vec<SurvivorFacts> {
    let released = Degradation {
        code: WarningCode::Survivors,
        detail: "a server runs on".into(),
    };
    vec![
        SurvivorFacts {
            holding: vec!["daemon (process 7)".into()],
            session_over: false,
            released: None,
        },
        SurvivorFacts {
            holding: Vec::new(),
            session_over: true,
            released: None,
        },
        SurvivorFacts {
            holding: Vec::new(),
            session_over: false,
            released: Some(released),
        },
    ]
}

fn all_activity() -> Vec<ActivityFacts> {
    let still = ActivityFacts {
        worktree: Some(false),
        processes: None,
        transcript: Some(false),
    };
    vec![
        ActivityFacts::default(),
        still,
        ActivityFacts {
            worktree: Some(true),
            ..still
        },
        ActivityFacts {
            processes: Some(true),
            ..still
        },
    ]
}

fn all_criteria() -> Vec<ReadFact<CriteriaChanged>> {
    let guarded = CriteriaChanged {
        guarded: vec!["tests/login.rs".into()],
        guarded_total: 1,
        ..CriteriaChanged::default()
    };
    vec![
        Ok(CriteriaChanged::default()),
        Ok(CriteriaChanged {
            named: vec!["check.sh".into()],
            ..CriteriaChanged::default()
        }),
        Ok(guarded),
        unreadable(FaultKind::Store),
    ]
}
