//! The output of `watchdog agent test --json`.

use serde_json::{Value, json};

/// What came of one scene.
#[derive(Debug, Clone)]
pub struct TestedScene {
    /// Its name.
    pub scene: &'static str,
    /// What it shows.
    pub shows: &'static str,
    /// `ok`, `cannot`, `failed` or `interrupted`.
    pub outcome: &'static str,
    /// The capability that the agent lacks, where it cannot.
    pub capability: Option<&'static str>,
    /// What was expected, and what was seen.
    pub faults: Vec<(String, String)>,
    /// Milliseconds.
    pub duration_ms: u128,
    /// The scratch folder, where it was kept.
    pub folder: Option<String>,
}

/// All scenes that were played.
pub fn agent_test_json(agent: &str, program: &str, scenes: &[TestedScene]) -> Value {
    let count = |outcome: &str| {
        scenes
            .iter()
            .filter(|scene| scene.outcome == outcome)
            .count()
    };
    let rows = scenes.iter().map(|scene| {
        let faults: Vec<Value> = scene.faults.iter().map(|(expected, seen)| json!({"expected": expected, "seen": seen})).collect();
        json!({
            "scene": scene.scene, "shows": scene.shows, "outcome": scene.outcome, "capability": scene.capability, "faults": faults,
            "duration_ms": scene.duration_ms, "folder": scene.folder,
        })
    });
    json!({
        "schema": 1, "agent": agent, "program": program, "ok": count("ok"), "cannot": count("cannot"), "failed": count("failed"),
        "scenes": rows.collect::<Vec<_>>(),
    })
}
