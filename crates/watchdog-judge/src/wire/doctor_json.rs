//! What is wrong on a machine, and what was brought back from git, as JSON: the output of `watchdog doctor`.

use serde::Serialize;
use serde_json::{Value, json};

use watchdog_store::rebuild::RestoredRowCounts;

/// One thing that was looked at.
#[derive(Debug, Clone, Copy, Serialize)]
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

/// An agent whose program is on this machine.
#[derive(Debug, Clone, Serialize)]
pub struct FoundAgentJson<'a> {
    /// The name of its preset.
    pub name: &'a str,
    /// Its name for people.
    pub title: &'a str,
    /// Its program.
    pub program: String,
    /// What it says about its version; `None` where it says nothing.
    pub version: Option<String>,
    /// Where a login or key was seen, never the key itself; `None` where none was.
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
