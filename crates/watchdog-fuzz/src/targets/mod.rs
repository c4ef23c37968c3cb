//! The targets, each in a file of its own.

mod agent_streams;
mod configuration;
mod evaluate_context;
mod front_matter;
mod hook_input;
mod index;
mod packed_refs;
mod reflogs;
mod replies;
mod rescue_plans;
mod scratch;
mod settings_edits;
mod transcripts;

use crate::FuzzTarget;

/// Recorded sessions of agents.
const SESSIONS: Option<(&str, &[&str])> =
    Some(("tests/fixtures/agents", &["-commit.jsonl", "-limit.jsonl", "-refused.jsonl", "-login.txt"]));

/// All of them.
pub const TARGETS: &[FuzzTarget] = &[
    FuzzTarget { name: "agent_streams", run: agent_streams::run, mutations: 100, fixtures: SESSIONS },
    FuzzTarget { name: "configuration", run: configuration::run, mutations: 1000, fixtures: Some(("tests/fixtures/config", &[".json"])) },
    FuzzTarget { name: "evaluate_context", run: evaluate_context::run, mutations: 2000, fixtures: None },
    FuzzTarget { name: "front_matter", run: front_matter::run, mutations: 1000, fixtures: None },
    FuzzTarget { name: "hook_input", run: hook_input::run, mutations: 2000, fixtures: None },
    FuzzTarget { name: "index", run: index::run, mutations: 200, fixtures: None },
    FuzzTarget { name: "packed_refs", run: packed_refs::run, mutations: 200, fixtures: None },
    FuzzTarget { name: "reflogs", run: reflogs::run, mutations: 1000, fixtures: None },
    FuzzTarget { name: "replies", run: replies::run, mutations: 1000, fixtures: None },
    FuzzTarget { name: "rescue_plans", run: rescue_plans::run, mutations: 2000, fixtures: None },
    FuzzTarget { name: "settings_edits", run: settings_edits::run, mutations: 500, fixtures: None },
    FuzzTarget { name: "transcripts", run: transcripts::run, mutations: 100, fixtures: SESSIONS },
];
