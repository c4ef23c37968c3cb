//! The files that the rules of the layers name one by one, each list with its reason.

/// Files of other rooms that compute alone: what the live view knows, what a key changes, and the cells of a frame.
pub const PURE_FILES: &[&str] = &[
    "src/cli/live/cells.rs",
    "src/cli/live/columns.rs",
    "src/cli/live/deed.rs",
    "src/cli/live/draw.rs",
    "src/cli/live/draw_detail.rs",
    "src/cli/live/draw_list.rs",
    "src/cli/live/draw_overlay.rs",
    "src/cli/live/input.rs",
    "src/cli/live/live_data.rs",
    "src/cli/live/model.rs",
    "src/cli/live/paper.rs",
    "src/cli/live/update.rs",
    "src/cli/live/update_detail.rs",
];

/// Files of which everything runs on the thread of an event loop; of any other, that is the bodies of async functions.
pub const ON_THE_EVENT_LOOP: &[&str] = &[
    "crates/watchdog-judge/src/modes/watching/discovery.rs",
    "crates/watchdog-judge/src/modes/watching/due_scans.rs",
    "crates/watchdog-judge/src/modes/watching/event_loop.rs",
    "crates/watchdog-judge/src/modes/watching/stalled.rs",
    "crates/watchdog-judge/src/modes/watching/suspend_detector.rs",
    "crates/watchdog-judge/src/modes/watching/watch_set.rs",
];

/// Files outside of `wire` that make JSON, each with the reason why its shape is not ours to tell, or not part of a result.
pub const OTHER_SHAPES: &[(&str, &str)] = &[
    (
        "src/cli/commands/demo_stage.rs",
        "a configuration file, as its user would write it",
    ),
    ("src/cli/log_lines.rs", "the format of the log"),
    ("src/cli/terminal.rs", "prints any shape of wire"),
    (
        "crates/watchdog-judge/src/hooks/reply.rs",
        "what Claude Code takes for the answer of a hook",
    ),
];
