//! The setups that are explored: every way to call the judgement, with every kind of criteria, and what else the rules tell apart.

use std::time::Duration;

use crate::config::settings::{ConfigSettings, OnNoCriteria, RescueMode};
use crate::decision::machine::{
    ConfigTrust, CriteriaFilesRole, JudgementScope, MachineSetup, UnaskedCause,
};
use crate::decision::rounds::unmet_checks;
use crate::decision::session_life::SessionLife;
use watchdog_facts::evidence::{
    CheckOutcome, Degradation, ProcessExit, SessionEnd, StopReason, WarningCode,
};
use watchdog_facts::verdict::{Evidence, Reason};

use super::event_space::judged;

/// One setting of a dimension: its name, and what it sets.
pub(super) type SetupPart = (&'static str, fn(&mut MachineSetup));

/// How the judgement is called, and what `run` knows of the session.
pub(super) const CALLS: &[SetupPart] = &[
    ("check", |_| {}),
    ("check after a recorded end", |setup| {
        setup.session_over = true
    }),
    ("check of processes that run on", |setup| {
        setup.survivors = vec!["daemon (process 7)".into()]
    }),
    ("--once", |setup| setup.once = true),
    ("--once after a recorded end", |setup| {
        setup.once = true;
        setup.read_leftovers = true;
        setup.session_over = true;
    }),
    ("a busy session", |setup| {
        setup.life = SessionLife::Busy {
            words: "claude works".into(),
        }
    }),
    ("--once, an idle session", |setup| {
        setup.once = true;
        setup.life = SessionLife::Idle {
            words: "claude is idle".into(),
        };
    }),
    ("--no-probe", |setup| setup.no_probe = true),
    ("sweep --no-probe", |setup| {
        setup.no_probe = true;
        setup.read_leftovers = true;
    }),
    ("run", |setup| {
        ran(
            setup,
            SessionEnd::Ended {
                exit: ProcessExit::Code(0),
            },
        );
        setup.session_over = true;
    }),
    ("run without an agent", |setup| {
        ran(
            setup,
            SessionEnd::Ended {
                exit: ProcessExit::Code(0),
            },
        );
        (setup.session_over, setup.unasked) = (true, Some(UnaskedCause::NoAgent));
    }),
    ("sweep under an open breaker", |setup| {
        (setup.once, setup.read_leftovers, setup.unasked) =
            (true, true, Some(UnaskedCause::BreakerOpen));
    }),
    ("run with survivors", |setup| {
        ran(
            setup,
            SessionEnd::Ended {
                exit: ProcessExit::Code(1),
            },
        );
        setup.survivors = vec!["daemon (process 7)".into()];
    }),
    ("run, refused tools", |setup| {
        ran(
            setup,
            SessionEnd::Ended {
                exit: ProcessExit::Code(0),
            },
        );
        setup.session_over = true;
        setup.notes = vec![Degradation {
            code: WarningCode::ToolsRefused,
            detail: "Bash was refused; allow it".into(),
        }];
    }),
    ("run, cut short", |setup| {
        ran(
            setup,
            SessionEnd::CutShort {
                exit: ProcessExit::Code(1),
                why: "turn limit".into(),
            },
        )
    }),
    ("run, cut short by nobody knows what", |setup| {
        ran(
            setup,
            SessionEnd::CutShort {
                exit: ProcessExit::Code(1),
                why: "no last event".into(),
            },
        );
        setup.notes = vec![Degradation {
            code: WarningCode::EndUnconfirmed,
            detail: "no last event".into(),
        }];
    }),
    ("run, timeout", |setup| {
        ran(
            setup,
            SessionEnd::TimedOut {
                after: Duration::from_secs(60),
            },
        )
    }),
    ("run, idle", |setup| {
        ran(
            setup,
            SessionEnd::Idle {
                after: Duration::from_secs(60),
            },
        )
    }),
    ("run, usage limit", |setup| {
        ran(
            setup,
            SessionEnd::RateLimited {
                why: "limit reached".into(),
                retry_at: None,
            },
        )
    }),
    ("run, budget", |setup| {
        ran(
            setup,
            SessionEnd::OverLimit {
                stop: StopReason {
                    reason: Reason::BudgetExhausted,
                    why: "spent".into(),
                },
            },
        );
    }),
    ("run, no login", |setup| {
        ran(
            setup,
            SessionEnd::Unrunnable {
                why: "log in".into(),
            },
        )
    }),
    ("run, work left running", |setup| {
        ran(
            setup,
            SessionEnd::LeftWork {
                exit: ProcessExit::Code(0),
                what: "a build".into(),
            },
        );
    }),
    ("run, not started", |setup| {
        ran(
            setup,
            SessionEnd::NotStarted {
                why: "no such file".into(),
                shortage: false,
            },
        )
    }),
    ("run, no room to start", |setup| {
        ran(
            setup,
            SessionEnd::NotStarted {
                why: "no memory".into(),
                shortage: true,
            },
        )
    }),
    ("run, not kept", |setup| {
        ran(
            setup,
            SessionEnd::NotKept {
                why: "disk full".into(),
            },
        )
    }),
    ("criteria with a baseline", |setup| {
        setup.scope = JudgementScope::Criteria {
            baseline_known: true,
        }
    }),
    ("criteria alone", |setup| {
        setup.scope = JudgementScope::Criteria {
            baseline_known: false,
        }
    }),
];

fn ran(setup: &mut MachineSetup, end: SessionEnd) {
    setup.session = Some(end);
    setup.read_leftovers = true;
}

pub(super) const CRITERIA: &[SetupPart] = &[
    ("no checks", |_| {}),
    ("checks", |setup| setup.has_checks = true),
    ("checks by programs", |setup| {
        setup.has_checks = true;
        setup.checks_run_programs = true;
    }),
];

pub(super) const RESCUES: &[SetupPart] = &[
    ("rescue", |_| {}),
    ("--no-rescue", |setup| setup.no_rescue = true),
    ("rescue off", |setup| setup.rescue_mode = RescueMode::Off),
    ("no final rescue", |setup| {
        setup.completion.final_rescue_attempt = false
    }),
];

/// What a verdict must stand up to. All of it is looked at when a verdict is there.
pub(super) const DEMANDS: &[SetupPart] = &[
    ("guarded files", |setup| {
        setup.criteria_files = CriteriaFilesRole::Guarded
    }),
    ("named files", |setup| {
        setup.criteria_files = CriteriaFilesRole::Named
    }),
    ("untrusted", |setup| {
        setup.trust = ConfigTrust::Untrusted {
            allow_with: "watchdog trust".into(),
        }
    }),
    ("a person without criteria", |setup| {
        setup.on_no_criteria = OnNoCriteria::Review
    }),
    ("verified evidence", |setup| {
        setup.require_evidence = Evidence::Verified
    }),
];

/// What earlier calls left.
pub(super) const EARLIER: &[SetupPart] = &[
    ("a round that was answered", |setup| {
        (
            setup.earlier.rounds_used,
            setup.earlier.answered,
            setup.earlier.alive,
        ) = (1, 1, 1);
        setup.completion.max_probes += 1;
    }),
    ("a round without an answer", |setup| {
        setup.earlier.rounds_used = 1;
        setup.completion.max_probes += 1;
    }),
    ("nothing to do, twice", |setup| {
        setup.earlier.nothing_to_do_streak = 2
    }),
    ("two sessions without progress", |setup| {
        setup.no_progress_limit = Some(3);
        setup.earlier.fruitless = 2;
        setup.earlier.unmet =
            unmet_checks(&judged(CheckOutcome::Unmet, Evidence::None, false, "").results);
    }),
    (
        "two sessions without progress under other checks",
        |setup| {
            setup.no_progress_limit = Some(3);
            setup.earlier.fruitless = 2;
            setup.earlier.unmet = 4;
        },
    ),
];

/// A setup of these parts, with this many rounds.
pub(super) fn setup_of(rounds: u32, parts: &[&SetupPart]) -> MachineSetup {
    let mut setup = MachineSetup {
        rescue_mode: RescueMode::Plan,
        ..MachineSetup::from_settings(&ConfigSettings::default())
    };
    setup.require_evidence = Evidence::Claimed;
    setup.completion.max_probes = rounds;
    parts.iter().for_each(|(_, set)| set(&mut setup));
    setup
}

/// What the quick form explores, and whether signals come as well.
pub(super) fn quick_setups() -> Vec<(MachineSetup, bool)> {
    let mut setups = Vec::new();
    for call in CALLS {
        setups.extend(
            CRITERIA
                .iter()
                .map(|criteria| (setup_of(1, &[call, criteria]), false)),
        );
        let [no_checks, _, programs] = CRITERIA else {
            panic!("three kinds of criteria")
        };
        setups.extend([0, 2].map(|rounds| (setup_of(rounds, &[call, no_checks]), false)));
        setups.push((setup_of(1, &[call, no_checks]), true));
        let further = RESCUES.iter().chain(DEMANDS).chain(EARLIER);
        setups.extend(further.map(|further| (setup_of(1, &[call, no_checks, further]), false)));
        setups.extend(
            RESCUES
                .iter()
                .map(|rescue| (setup_of(0, &[call, programs, rescue]), false)),
        );
    }
    setups
}

/// What the long form explores of one call over all facts.
pub(super) fn long_setups(call: &SetupPart) -> Vec<(MachineSetup, bool)> {
    let [no_checks, checks, programs] = CRITERIA else {
        panic!("three kinds of criteria")
    };
    let mut setups = vec![(setup_of(1, &[call, checks]), true)];
    for criteria in [no_checks, programs] {
        let further = RESCUES.iter().chain(DEMANDS).chain(EARLIER);
        setups.extend(further.map(|further| (setup_of(1, &[call, criteria, further]), false)));
        setups.extend(
            RESCUES
                .iter()
                .map(|rescue| (setup_of(0, &[call, criteria, rescue]), false)),
        );
    }
    setups
}

/// And over a few of each kind, with two rounds, and a signal at every state.
pub(super) fn deep_setups(call: &SetupPart) -> Vec<(MachineSetup, bool)> {
    CRITERIA
        .iter()
        .map(|criteria| (setup_of(2, &[call, criteria]), true))
        .collect()
}
