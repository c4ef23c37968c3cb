//! Arbitrary setups and facts for the properties: any answer may follow any other, consistent or not.

use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;

use crate::config::settings::{CompletionSettings, ConfigSettings, OnNoCriteria, RescueMode};
use crate::decision::machine::{
    ChecksResult, ConfigTrust, CriteriaFilesRole, EarlierRounds, JudgementScope, MachineAction,
    MachineEvent, MachineSetup, SurvivorFacts,
};
use crate::sample_facts;
use watchdog_facts::evidence::StopReason;
use watchdog_facts::evidence::{
    ActivityFacts, Changes, CheckOutcome, Commits, CriteriaChanged, FaultKind, ProbeOutcome,
    ReadFact, Reply, ReplyStatus, RescueOutcome, SessionEnd, UnreadableFact,
};
use watchdog_facts::verdict::{Evidence, ProbeRecord, Reason};

/// What is answered, per kind of question; each list is used in order and over again.
#[derive(Debug, Clone)]
pub(super) struct Facts {
    pub(super) commits: Vec<ReadFact<Commits>>,
    pub(super) changes: Vec<ReadFact<Changes>>,
    pub(super) snapshots: Vec<ReadFact<Option<String>>>,
    pub(super) checks: Vec<ChecksResult>,
    pub(super) probes: Vec<ProbeOutcome>,
    pub(super) rescues: Vec<ReadFact<RescueOutcome>>,
    pub(super) criteria: ReadFact<CriteriaChanged>,
    pub(super) activity: ActivityFacts,
    pub(super) survivors: Vec<SurvivorFacts>,
}

impl Facts {
    /// The answer to an action; `nth` counts the actions of its kind from 0.
    pub(super) fn answer(&self, action: &MachineAction, nth: usize) -> Option<MachineEvent> {
        fn pick<T: Clone>(facts: &[T], nth: usize) -> T {
            facts[nth % facts.len()].clone()
        }
        Some(match action {
            MachineAction::ReadCommits => MachineEvent::Commits(pick(&self.commits, nth)),
            MachineAction::ReadChanges => MachineEvent::Changes(pick(&self.changes, nth)),
            MachineAction::TakeSnapshot => MachineEvent::Snapshot(pick(&self.snapshots, nth)),
            MachineAction::JudgeChecks => MachineEvent::Checks(pick(&self.checks, nth)),
            MachineAction::Ask { .. } => MachineEvent::Probe(record(pick(&self.probes, nth))),
            MachineAction::Rescue => MachineEvent::Rescue(pick(&self.rescues, nth)),
            MachineAction::Wait(_) => MachineEvent::WaitOver,
            MachineAction::ReadSurvivors => MachineEvent::Survivors(pick(&self.survivors, nth)),
            MachineAction::ReadActivity => MachineEvent::Activity(self.activity),
            MachineAction::ReadCriteria => MachineEvent::Criteria(self.criteria.clone()),
            MachineAction::Conclude(_) => return None,
        })
    }
}

/// Why a question is not put.
const A_CAP: &str = "every slot is taken";

fn record(outcome: ProbeOutcome) -> ProbeRecord {
    ProbeRecord {
        withheld: outcome.why() == Some(A_CAP),
        ..sample_facts::probe(outcome, 0)
    }
}

/// One in eight facts cannot be read.
fn fact<T: Clone + std::fmt::Debug + 'static>(
    value: impl Strategy<Value = T> + 'static,
) -> impl Strategy<Value = ReadFact<T>> {
    let kinds = prop_oneof![
        Just(FaultKind::NotARepository),
        Just(FaultKind::Git),
        Just(FaultKind::Store),
        Just(FaultKind::Config)
    ];
    prop_oneof![
        7 => value.prop_map(Ok),
        1 => kinds.prop_map(|kind| Err(UnreadableFact { kind, why: "unreadable".into(), hint: None })),
    ]
}

fn commits() -> impl Strategy<Value = Commits> {
    (0..3u8, 0..2u64, 0..2u64, any::<bool>()).prop_map(|(head, made_here, imported, net_change)| {
        Commits {
            head: Some(head.to_string()),
            new_commits: made_here + imported,
            made_here,
            imported,
            net_change,
            ..Commits::default()
        }
    })
}

fn changes() -> impl Strategy<Value = Changes> {
    (0..2u64, 0..2u64).prop_map(|(unstaged, untracked)| Changes {
        unstaged,
        untracked,
        work: unstaged + untracked,
        ..Changes::default()
    })
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just(" \n".to_string()),
        Just("more is wanted".to_string())
    ]
}

fn checks() -> impl Strategy<Value = ChecksResult> {
    use CheckOutcome::*;
    let outcome = prop_oneof![2 => Just(Pass), 6 => Just(Unmet), 1 => Just(Waiting), 1 => Just(Unrunnable), 1 => Just(Failed), 1 => Just(TimedOut)];
    (outcome, evidence(), text(), any::<bool>()).prop_map(
        |(outcome, evidence, feedback, all_passed_before)| ChecksResult {
            outcome,
            evidence,
            feedback,
            results: Vec::new(),
            all_passed_before: all_passed_before && outcome == Pass,
            notes: Vec::new(),
        },
    )
}

fn evidence() -> impl Strategy<Value = Evidence> {
    prop_oneof![
        Just(Evidence::None),
        Just(Evidence::Claimed),
        Just(Evidence::Counted),
        Just(Evidence::Verified)
    ]
}

fn reply() -> impl Strategy<Value = Reply> {
    let status = prop_oneof![
        Just(ReplyStatus::Complete),
        Just(ReplyStatus::Waiting),
        Just(ReplyStatus::Working)
    ];
    let continues = prop_oneof![3 => Just(None), 3 => Just(Some(true)), 1 => Just(Some(false))];
    let pending = prop_oneof![3 => Just(0), 1 => Just(1)];
    let claimed = prop_oneof![3 => Just(None), 1 => Just(Some(1))];
    (
        status,
        continues,
        any::<Option<bool>>(),
        pending,
        claimed,
        any::<Option<()>>(),
        text(),
    )
        .prop_map(
            |(status, should_continue, agents_active, pending, commits_made, next, text)| Reply {
                should_continue,
                agents_active,
                tasks_pending: vec!["task".into(); pending],
                commits_made,
                next_action: next.map(|()| text.clone()),
                message: text,
                ..Reply::bare(status)
            },
        )
}

fn probe() -> impl Strategy<Value = ProbeOutcome> {
    let why = "why".to_string();
    prop_oneof![
        10 => reply().prop_map(ProbeOutcome::Reply),
        1 => Just(ProbeOutcome::Unreadable { why: why.clone() }),
        1 => Just(ProbeOutcome::Empty),
        1 => Just(ProbeOutcome::TimedOut),
        1 => Just(ProbeOutcome::NoConversation { why: why.clone() }),
        1 => Just(ProbeOutcome::Overloaded { why: why.clone() }),
        1 => Just(ProbeOutcome::Failed { why: why.clone() }),
        1 => Just(ProbeOutcome::NotInstalled { why: why.clone() }),
        1 => Just(ProbeOutcome::NotLoggedIn { why: why.clone() }),
        1 => Just(ProbeOutcome::RateLimited { why, retry_at: None }),
        1 => Just(ProbeOutcome::RateLimited { why: A_CAP.into(), retry_at: None }),
    ]
}

fn rescue() -> impl Strategy<Value = RescueOutcome> {
    let rarely = || prop_oneof![3 => Just(false), 1 => Just(true)];
    (0..2u64, rarely(), rarely(), rarely()).prop_map(|(commits, failed, lost, fallback_branch)| {
        RescueOutcome {
            commits,
            fallback_branch: fallback_branch.then(|| "watchdog/rescue/auth".to_string()),
            failed: failed.then(|| "refused".to_string()),
            lost: if lost {
                vec!["file".into()]
            } else {
                Vec::new()
            },
            ..RescueOutcome::default()
        }
    })
}

fn criteria() -> impl Strategy<Value = CriteriaChanged> {
    (0..3usize, 0..2usize).prop_map(|(guarded, named)| CriteriaChanged {
        guarded: vec!["tests/login.rs".into(); guarded],
        guarded_total: guarded,
        named: vec!["check.sh".into(); named],
        ..CriteriaChanged::default()
    })
}

fn survivors() -> impl Strategy<Value = SurvivorFacts> {
    prop_oneof![
        Just(SurvivorFacts {
            holding: vec!["daemon (process 7)".into()],
            session_over: false,
            released: None
        }),
        any::<bool>().prop_map(|session_over| SurvivorFacts {
            holding: Vec::new(),
            session_over,
            released: None
        }),
    ]
}

pub(super) fn facts() -> impl Strategy<Value = Facts> {
    // In most worlds nothing was committed at first, or nothing else would ever be reached.
    let quiet = vec(
        Just(Ok(Commits {
            head: Some("0".into()),
            ..Commits::default()
        })),
        0..8,
    );
    let snapshot =
        any::<Option<()>>().prop_map(|taken| taken.map(|()| "refs/watchdog/rescue/1".to_string()));
    let seen = any::<(Option<bool>, Option<bool>, Option<bool>)>();
    (
        (quiet, vec(fact(commits()), 1..6)).prop_map(|(quiet, then)| [quiet, then].concat()),
        vec(fact(changes()), 1..6),
        vec(fact(snapshot), 1..4),
        vec(checks(), 1..4),
        vec(probe(), 1..6),
        vec(fact(rescue()), 1..4),
        fact(criteria()),
        seen.prop_map(|(worktree, processes, transcript)| ActivityFacts {
            worktree,
            processes,
            transcript,
        }),
        vec(survivors(), 1..4),
    )
        .prop_map(
            |(
                commits,
                changes,
                snapshots,
                checks,
                probes,
                rescues,
                criteria,
                activity,
                survivors,
            )| Facts {
                commits,
                changes,
                snapshots,
                checks,
                probes,
                rescues,
                criteria,
                activity,
                survivors,
            },
        )
}

fn session() -> impl Strategy<Value = Option<SessionEnd>> {
    let exit = watchdog_facts::evidence::ProcessExit::Code(0);
    prop_oneof![
        6 => Just(None),
        2 => Just(Some(SessionEnd::Ended { exit })),
        1 => Just(Some(SessionEnd::TimedOut { after: Duration::from_secs(1) })),
        1 => Just(Some(SessionEnd::Idle { after: Duration::from_secs(1) })),
        1 => Just(Some(SessionEnd::NotKept { why: "No space left on device".into() })),
        1 => Just(Some(SessionEnd::RateLimited { why: "limit".into(), retry_at: None })),
        1 => Just(Some(SessionEnd::OverLimit { stop: StopReason { reason: Reason::BudgetExhausted, why: "spent".into() } })),
        1 => Just(Some(SessionEnd::Unrunnable { why: "credit".into() })),
        1 => Just(Some(SessionEnd::LeftWork { exit, what: "tests".into() })),
    ]
}

pub(super) fn setup() -> impl Strategy<Value = MachineSetup> {
    let rarely = || prop_oneof![5 => Just(false), 1 => Just(true)];
    let mode = prop_oneof![
        3 => Just(RescueMode::Plan),
        1 => Just(RescueMode::Single),
        1 => Just(RescueMode::Command),
        1 => Just(RescueMode::Snapshot),
        1 => Just(RescueMode::Off)
    ];
    let earlier = (0..3u32, 0..3u32, 0..3u32, 0..3u32).prop_map(
        |(rounds_used, answered, alive, nothing_to_do_streak)| {
            let answered = answered.min(rounds_used);
            EarlierRounds {
                rounds_used,
                answered,
                alive: alive.min(answered),
                nothing_to_do_streak,
                ..EarlierRounds::default()
            }
        },
    );
    let trust = prop_oneof![5 => Just(ConfigTrust::Settled), 1 => Just(ConfigTrust::Untrusted { allow_with: "watchdog trust".into() })];
    let required = prop_oneof![5 => Just(Evidence::Claimed), 1 => evidence()];
    let files = prop_oneof![3 => Just(CriteriaFilesRole::None), 1 => Just(CriteriaFilesRole::Named), 2 => Just(CriteriaFilesRole::Guarded)];
    let flags = (
        rarely(),
        rarely(),
        rarely(),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
    );
    let known = (any::<bool>(), rarely(), rarely());
    (
        0..6u32,
        mode,
        earlier,
        trust,
        required,
        flags,
        (rarely(), files),
        (session(), known),
    )
        .prop_map(
            |(
                max_probes,
                rescue_mode,
                earlier,
                trust,
                require_evidence,
                flags,
                (review, criteria_files),
                (session, known),
            )| {
                let (session_over, survivor, counts_sessions) = known;
                let (
                    no_rescue,
                    no_probe,
                    once,
                    has_checks,
                    checks_run_programs,
                    read_leftovers,
                    final_rescue_attempt,
                ) = flags;
                let interval = Duration::from_secs(30);
                MachineSetup {
                    completion: CompletionSettings {
                        max_probes,
                        probe_interval: interval,
                        probe_timeout: interval,
                        final_rescue_attempt,
                    },
                    rescue_mode,
                    no_rescue,
                    no_probe,
                    unasked: None,
                    once,
                    has_checks,
                    checks_run_programs,
                    criteria_files,
                    on_no_criteria: if review {
                        OnNoCriteria::Review
                    } else {
                        OnNoCriteria::Git
                    },
                    require_evidence,
                    trust,
                    scope: JudgementScope::Session,
                    read_leftovers,
                    session,
                    session_over,
                    survivors: if survivor {
                        vec!["daemon (process 7)".into()]
                    } else {
                        Vec::new()
                    },
                    no_progress_limit: counts_sessions.then_some(3),
                    earlier,
                    notes: Vec::new(),
                    ..MachineSetup::from_settings(&ConfigSettings::default())
                }
            },
        )
}

/// Any event, whether or not anybody asked for it.
pub(super) fn stray() -> impl Strategy<Value = MachineEvent> {
    prop_oneof![
        Just(MachineEvent::Start),
        fact(commits()).prop_map(MachineEvent::Commits),
        fact(changes()).prop_map(MachineEvent::Changes),
        Just(MachineEvent::Snapshot(Ok(None))),
        checks().prop_map(MachineEvent::Checks),
        probe().prop_map(|outcome| MachineEvent::Probe(record(outcome))),
        fact(rescue()).prop_map(MachineEvent::Rescue),
        Just(MachineEvent::WaitOver),
        Just(MachineEvent::Activity(ActivityFacts::default())),
        survivors().prop_map(MachineEvent::Survivors),
        fact(criteria()).prop_map(MachineEvent::Criteria),
    ]
}
