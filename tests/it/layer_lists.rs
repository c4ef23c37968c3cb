//! The files that the rules of the layers name one by one, each list with its reason.

/// Files of other rooms that compute alone: what the live view knows, what a key changes, and the cells of a frame.
pub const PURE_FILES: &[&str] = &[
    "crates/watchdog-view/src/live/cells.rs",
    "crates/watchdog-view/src/live/deed.rs",
    "crates/watchdog-view/src/live/draw.rs",
    "crates/watchdog-view/src/live/draw_detail.rs",
    "crates/watchdog-view/src/live/draw_list.rs",
    "crates/watchdog-view/src/live/draw_overlay.rs",
    "crates/watchdog-view/src/live/input.rs",
    "crates/watchdog-view/src/live/live_data.rs",
    "crates/watchdog-view/src/live/model.rs",
    "crates/watchdog-view/src/live/paper.rs",
    "crates/watchdog-view/src/live/update.rs",
    "crates/watchdog-view/src/live/update_detail.rs",
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
