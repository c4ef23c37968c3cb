//! What is missing on a machine, and what was brought back from git, as JSON: the output of `watchdog doctor`.

use serde_json::{Value, json};

use watchdog_store::rebuild::RestoredRowCounts;

/// One thing that was looked at.
pub struct DoctorFinding {
    /// What it is, in a word.
    pub what: &'static str,
    /// Whether it is as it must be.
    pub ok: bool,
    /// What was found, or what is missing.
    pub detail: String,
}

/// `watchdog doctor --json`.
pub fn findings_json(healthy: bool, findings: &[DoctorFinding]) -> Value {
    let findings = findings.iter().map(|finding| json!({"what": finding.what, "ok": finding.ok, "detail": finding.detail}));
    json!({"schema": 1, "healthy": healthy, "findings": findings.collect::<Vec<_>>()})
}

/// `watchdog doctor --rebuild --json`. `without_anchor` = the specs whose criteria nothing but the lost database had.
pub fn rebuilt_json(rebuilt: &RestoredRowCounts, without_anchor: &[String]) -> Value {
    json!({"schema": 1, "baselines": rebuilt.baselines, "snapshots": rebuilt.snapshots, "without_anchor": without_anchor})
}
