//! What is wrong on a machine, and what was brought back from git, as JSON: the output of `watchdog doctor`.

use serde_json::{Value, json};

use watchdog_store::rebuild::RestoredRowCounts;

/// One thing that was looked at.
#[derive(Debug, Clone, Copy)]
pub struct FindingJson<'a> {
    /// What was looked at.
    pub what: &'a str,
    /// Whether nothing is wrong with it.
    pub ok: bool,
    /// `ok`, `note` or `wrong`.
    pub state: &'a str,
    /// What was found.
    pub detail: &'a str,
    /// How to mend it.
    pub mend: Option<&'a str>,
    /// What `--fix` did about it.
    pub fixed: Option<&'a str>,
}

/// `watchdog doctor --json`.
pub fn findings_json<'a>(healthy: bool, findings: impl Iterator<Item = FindingJson<'a>>) -> Value {
    let one = |found: FindingJson<'_>| {
        let FindingJson { what, ok, state, detail, mend, fixed } = found;
        json!({"what": what, "ok": ok, "state": state, "detail": detail, "mend": mend, "fixed": fixed})
    };
    json!({"schema": 1, "healthy": healthy, "findings": findings.map(one).collect::<Vec<_>>()})
}

/// `watchdog doctor --rebuild --json`. `without_anchor` = the specs whose criteria nothing but the lost database had.
pub fn rebuilt_json(rebuilt: &RestoredRowCounts, without_anchor: &[String]) -> Value {
    json!({"schema": 1, "baselines": rebuilt.baselines, "snapshots": rebuilt.snapshots, "without_anchor": without_anchor})
}
