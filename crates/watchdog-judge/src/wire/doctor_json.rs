//! The faults of a machine, and the records brought back from git, as JSON: the output of `watchdog
//! doctor`.

use serde::Serialize;
use serde_json::{Value, json};

use watchdog_store::rebuild::RestoredRowCounts;

/// A finding about a single subject.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct FindingJson<'a> {
    /// The subject.
    pub what: &'a str,
    /// Whether nothing is wrong with it.
    pub ok: bool,
    /// `ok`, `note` or `wrong`.
    pub state: &'a str,
    /// The finding.
    pub detail: &'a str,
    /// How to mend it.
    pub mend: Option<&'a str>,
    /// The mend that `--fix` made.
    pub fixed: Option<&'a str>,
}

/// An agent whose program is on this machine.
#[derive(Debug, Clone, Serialize)]
pub struct FoundAgentJson<'a> {
    /// The name of its preset.
    pub name: &'a str,
    /// Its name for people.
    pub title: &'a str,
    /// Its program.
    pub program: String,
    /// The version that it reports; without it, the program reports none.
    pub version: Option<String>,
    /// The place where a login or key was seen, never the key itself; without it, none was seen.
    pub login: Option<&'a str>,
    /// Whether it is the one that is asked.
    #[serde(rename = "asked")]
    pub is_preset: bool,
}

/// `watchdog doctor --json`.
pub fn findings_json(
    healthy: bool,
    findings: Vec<FindingJson<'_>>,
    agents: Vec<FoundAgentJson<'_>>,
) -> Value {
    json!({"schema": 1, "healthy": healthy, "findings": findings, "agents": agents})
}

/// `watchdog doctor --rebuild --json`. `without_anchor` = the specs whose criteria nothing but the lost database had.
pub fn rebuilt_json(rebuilt: &RestoredRowCounts, without_anchor: &[String]) -> Value {
    json!({"schema": 1, "baselines": rebuilt.baselines, "snapshots": rebuilt.snapshots, "without_anchor": without_anchor})
}
