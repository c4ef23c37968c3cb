//! All targets: their names, how often every change runs them, and which files of this project are inputs of theirs as well.

use crate::FuzzTarget;
use crate::targets::{
    agent_streams, configuration, evaluate_context, front_matter, hook_input, index, packed_refs,
    reflogs, replies, rescue_plans, settings_edits, transcripts,
};

/// Recorded sessions of agents.
const SESSIONS: Option<(&str, &[&str])> =
    Some(("tests/fixtures/agents", &["-commit.jsonl", "-limit.jsonl"]));

/// All of them.
pub const TARGETS: &[FuzzTarget] = &[
    FuzzTarget {
        name: "agent_streams",
        run: agent_streams::run,
        mutations: 60,
        fixtures: SESSIONS,
    },
    FuzzTarget {
        name: "configuration",
        run: configuration::run,
        mutations: 2000,
        fixtures: Some(("tests/fixtures/config", &[".json"])),
    },
    FuzzTarget {
        name: "evaluate_context",
        run: evaluate_context::run,
        mutations: 2000,
        fixtures: None,
    },
    FuzzTarget {
        name: "front_matter",
        run: front_matter::run,
        mutations: 2000,
        fixtures: None,
    },
    FuzzTarget {
        name: "hook_input",
        run: hook_input::run,
        mutations: 2000,
        fixtures: None,
    },
    FuzzTarget {
        name: "index",
        run: index::run,
        mutations: 40,
        fixtures: None,
    },
    FuzzTarget {
        name: "packed_refs",
        run: packed_refs::run,
        mutations: 40,
        fixtures: None,
    },
    FuzzTarget {
        name: "reflogs",
        run: reflogs::run,
        mutations: 2000,
        fixtures: None,
    },
    FuzzTarget {
        name: "replies",
        run: replies::run,
        mutations: 2000,
        fixtures: None,
    },
    FuzzTarget {
        name: "rescue_plans",
        run: rescue_plans::run,
        mutations: 4000,
        fixtures: None,
    },
    FuzzTarget {
        name: "settings_edits",
        run: settings_edits::run,
        mutations: 1500,
        fixtures: None,
    },
    FuzzTarget {
        name: "transcripts",
        run: transcripts::run,
        mutations: 300,
        fixtures: SESSIONS,
    },
];
