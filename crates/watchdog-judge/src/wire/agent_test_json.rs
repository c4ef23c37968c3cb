//! The output of `watchdog agent test --json`.

use serde::Serialize;
use serde_json::{Value, json};

/// The outcome of a scene.
#[derive(Debug, Clone, Serialize)]
pub struct TestedScene {
    /// Its name.
    pub scene: &'static str,
    /// The behaviour that it shows.
    pub shows: &'static str,
    /// `ok`, `cannot`, `failed` or `interrupted`.
    pub outcome: &'static str,
    /// The capability that the agent lacks, where it cannot.
    pub capability: Option<&'static str>,
    /// The expected and the observed, as pairs.
    pub faults: Vec<SceneFault>,
    /// Milliseconds.
    pub duration_ms: u128,
    /// The scratch folder, where it was kept.
    pub folder: Option<String>,
}

/// A fault of a scene.
#[derive(Debug, Clone, Serialize)]
pub struct SceneFault {
    /// What was expected.
    pub expected: String,
    /// What was seen.
    pub seen: String,
}

/// All scenes that were played.
pub fn agent_test_json(agent: &str, program: &str, scenes: &[TestedScene]) -> Value {
    let count = |outcome: &str| {
        scenes
            .iter()
            .filter(|scene| scene.outcome == outcome)
            .count()
    };
    json!({
        "schema": 1, "agent": agent, "program": program, "ok": count("ok"), "cannot": count("cannot"), "failed": count("failed"),
        "scenes": scenes,
    })
}
