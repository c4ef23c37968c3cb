//! The faults of a machine, and the records brought back from git, as JSON: the output of `watchdog
//! doctor`.

use serde::Serialize;

use watchdog_store::rebuild::RestoredRowCounts;

/// A finding about a single subject.
#[derive(Serialize)]
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
    pub mend: &'a Option<String>,
    /// The mend that `--fix` made.
    pub fixed: &'a Option<String>,
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
#[derive(Serialize)]
pub struct Diagnosis<'a> {
    /// Whether nothing is wrong.
    pub healthy: bool,
    /// The findings, in order.
    pub findings: Vec<FindingJson<'a>>,
    /// The agents whose programs are here.
    pub agents: Vec<FoundAgentJson<'a>>,
}

/// `watchdog doctor --rebuild --json`.
#[derive(Serialize)]
pub struct RebuiltRecords<'a> {
    /// The rows that came back.
    #[serde(flatten)]
    pub counts: RestoredRowCounts,
    /// The specs whose criteria nothing but the lost database had.
    pub without_anchor: &'a [String],
}
