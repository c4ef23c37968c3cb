//! Facts for tests, which change what they look at.

use std::time::Duration;

use watchdog_facts::evidence::{CheckOutcome, CheckResult, OutcomeBeforeWork, ProbeOutcome};
use watchdog_facts::verdict::{Evidence, ProbeRecord, ProbeUsage};

/// The result of a command that was verified, without feedback.
pub(crate) fn command_result(name: &str, outcome: CheckOutcome) -> CheckResult {
    CheckResult {
        name: name.into(),
        kind: "command".into(),
        outcome,
        evidence: Evidence::Verified,
        feedback: String::new(),
        duration: Duration::ZERO,
        baseline_failures: Vec::new(),
        cached: false,
        before: OutcomeBeforeWork::Unknown,
        proof: None,
        tests: None,
        tests_uncounted: false,
        tree: None,
    }
}

/// A probe at the beginning of time, which took none.
pub(crate) fn probe(outcome: ProbeOutcome, requests: u64) -> ProbeRecord {
    ProbeRecord {
        at: jiff::Timestamp::UNIX_EPOCH,
        duration: Duration::ZERO,
        outcome,
        disputed: None,
        session_id: None,
        usage: ProbeUsage {
            requests,
            ..ProbeUsage::default()
        },
        withheld: false,
    }
}
