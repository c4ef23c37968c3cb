//! The setup of a judgement as a record keeps it.

use std::path::Path;

use serde_json::json;
use watchdog_facts::evidence::{Degradation, WarningCode};

use super::*;

fn written_and_read(own: &MachineSetup) -> Option<MachineSetup> {
    read_setup(&setup(own))
}

#[test]
fn only_what_differs_from_the_usual_setup_is_written() {
    assert_eq!(setup(&usual()), json!({}));
    let completion = CompletionSettings {
        max_probes: 2,
        probe_interval: Duration::from_secs(45),
        probe_timeout: Duration::from_millis(1500),
        final_rescue_attempt: false,
    };
    let own = MachineSetup {
        completion,
        rescue_mode: RescueMode::Off,
        no_rescue: true,
        no_probe: true,
        unasked: Some(UnaskedCause::NoAgent),
        once: true,
        has_checks: true,
        checks_run_programs: true,
        criteria_files: CriteriaFilesRole::Named,
        on_no_criteria: OnNoCriteria::Review,
        require_evidence: Evidence::Verified,
        trust: ConfigTrust::Untrusted {
            allow_with: "watchdog trust".into(),
        },
        scope: JudgementScope::Criteria {
            baseline_known: false,
        },
        read_leftovers: true,
        session: Some(SessionEnd::Ended {
            exit: ProcessExit::Code(1),
        }),
        session_over: true,
        life: SessionLife::Idle {
            words: "idle".into(),
        },
        survivors: vec!["cargo (process 7)".into()],
        no_progress_limit: Some(3),
        earlier: EarlierRounds {
            rounds_used: 1,
            answered: 2,
            alive: 3,
            nothing_to_do_streak: 4,
            fruitless: 5,
            unmet: 6,
        },
        notes: vec![Degradation {
            code: WarningCode::NoReflog,
            detail: "none".into(),
        }],
        commands: WorktreeCommands::at(Path::new("/w")).with_state_dir(Some(Path::new("/s"))),
    };
    let written = json!({
        "p": 2, "i": 45, "t": 1.5, "f": false, "m": "off", "nr": true, "np": true, "ua": "no_agent", "o": true, "c": true, "cp": true, "g": "named",
        "ng": true, "re": "verified", "u": "watchdog trust", "s": false, "l": true, "se": ["ended", 1], "so": true, "li": ["idle", "idle"],
        "sv": ["cargo (process 7)"], "nl": 3, "e": [1, 2, 3, 4, 5, 6], "n": [["no_reflog", "none"]], "w": " -C /w", "d": " --state-dir /s",
    });
    assert_eq!(setup(&own), written);
    assert_eq!(written_and_read(&own), Some(own));
}

/// Records of earlier versions say nothing of what was usual then.
#[test]
fn what_a_record_does_not_say_of_its_setup_is_as_it_was_when_records_began() {
    let read = read_setup(&json!({})).expect("it is read");
    let completion = CompletionSettings {
        max_probes: 5,
        probe_interval: Duration::from_secs(30),
        probe_timeout: Duration::from_secs(60),
        final_rescue_attempt: true,
    };
    assert_eq!(
        (read.completion, read.rescue_mode),
        (completion, RescueMode::Plan)
    );
    assert_eq!(
        (read.on_no_criteria, read.require_evidence),
        (OnNoCriteria::Git, Evidence::None)
    );
}

#[test]
fn each_end_of_a_session_comes_back() {
    let why = || "no space".to_owned();
    let exit = ProcessExit::Signal(9);
    for end in [
        SessionEnd::Ended {
            exit: ProcessExit::Code(0),
        },
        SessionEnd::Ended { exit },
        SessionEnd::TimedOut {
            after: Duration::from_millis(1500),
        },
        SessionEnd::Idle {
            after: Duration::from_secs(60),
        },
        SessionEnd::RateLimited {
            why: why(),
            retry_at: None,
        },
        SessionEnd::RateLimited {
            why: why(),
            retry_at: Some(jiff::Timestamp::UNIX_EPOCH),
        },
        SessionEnd::OverLimit {
            stop: StopReason {
                reason: Reason::BudgetExhausted,
                why: why(),
            },
        },
        SessionEnd::LeftWork { exit, what: why() },
        SessionEnd::CutShort { exit, why: why() },
        SessionEnd::Unrunnable { why: why() },
        SessionEnd::NotStarted {
            why: why(),
            shortage: true,
        },
        SessionEnd::NotStarted {
            why: why(),
            shortage: false,
        },
        SessionEnd::NotKept { why: why() },
    ] {
        let own = MachineSetup {
            session: Some(end),
            ..usual()
        };
        assert_eq!(written_and_read(&own), Some(own));
    }
    assert_eq!(
        read_setup(&json!({"se": ["a word of a later version"]})),
        None
    );
}
