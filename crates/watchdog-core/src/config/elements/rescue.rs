//! `rescue`: how uncommitted work is salvaged.

use super::super::reader::{ConfigNode, put, small};
use super::super::settings::{RescueMode, RescueSettings};

pub(in super::super) const KEYS: &[&str] =
    &["mode", "command", "timeout_seconds", "exclude", "max_files", "max_bytes", "protect", "trailers", "keep_days", "snapshot_seconds"];

const MODES: &[(&str, RescueMode)] = &[
    ("plan", RescueMode::Plan),
    ("single", RescueMode::Single),
    ("command", RescueMode::Command),
    ("snapshot", RescueMode::Snapshot),
    ("off", RescueMode::Off),
];

pub(in super::super) fn read(node: &ConfigNode<'_>, into: &mut RescueSettings) {
    let Some(section) = node.section(KEYS) else { return };
    put(&mut into.mode, section.get("mode").and_then(|n| n.word(MODES)));
    let command = section.nullable("command", |n| n.argv());
    let command_given = section.get("command").is_some_and(|n| !n.is_null());
    put(&mut into.command, command);
    put(&mut into.timeout, section.get("timeout_seconds").and_then(|n| n.seconds(1)));
    put(&mut into.exclude, section.get("exclude").and_then(|n| n.list(ConfigNode::glob)));
    put(&mut into.max_files, section.get("max_files").and_then(|n| n.whole(1..=u64::MAX)));
    put(&mut into.max_bytes, section.get("max_bytes").and_then(|n| n.whole(1..=u64::MAX)));
    put(&mut into.protect, section.get("protect").and_then(|n| n.list(ConfigNode::glob)));
    put(&mut into.trailers, section.get("trailers").and_then(|n| n.list(trailer)));
    put(&mut into.keep_days, section.get("keep_days").and_then(|n| n.whole(1..=36_500)).map(small));
    put(&mut into.snapshot_every, section.get("snapshot_seconds").and_then(|n| n.seconds(0)));
    // Without one the mode `command` runs the worktree's own script; whether there is one is known when a rescue runs, which says so.
    if command_given && into.mode != RescueMode::Command {
        section.note("command", "is not used, because the mode is not `command`");
    }
}

/// `Key: value`, as git reads the last lines of a message.
fn trailer(node: &ConfigNode<'_>) -> Option<String> {
    let text = node.text()?;
    let key = |key: &str| !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    match text.split_once(": ") {
        Some((name, value)) if key(name) && !value.trim().is_empty() && !text.chars().any(char::is_control) => Some(text),
        _ => {
            node.wrong("expected a trailer such as \"Reviewed-by: nobody\"".to_owned());
            None
        }
    }
}

/// The word of a mode.
pub(in super::super) fn mode_word(mode: RescueMode) -> &'static str {
    MODES.iter().find(|(_, m)| *m == mode).map_or("plan", |(word, _)| word)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::super::parse::testing::{fails, notes, reads};
    use super::*;

    #[test]
    fn every_key_is_read() {
        let found = reads(
            r#"{"rescue": {"mode": "command", "command": ["save", "-a"], "timeout_seconds": 9, "exclude": ["*.key"], "max_files": 2,
                "max_bytes": 3, "protect": ["main", "release/*"],
                "trailers": ["Rescued-From: {snapshot}"], "keep_days": 4, "snapshot_seconds": 0}}"#,
        )
        .rescue;
        assert_eq!(
            found,
            RescueSettings {
                mode: RescueMode::Command,
                command: Some(vec!["save".into(), "-a".into()]),
                timeout: Duration::from_secs(9),
                exclude: vec!["*.key".into()],
                max_files: 2,
                max_bytes: 3,
                protect: vec!["main".into(), "release/*".into()],
                trailers: vec!["Rescued-From: {snapshot}".into()],
                keep_days: 4,
                snapshot_every: Duration::ZERO,
            }
        );
    }

    #[test]
    fn snapshots_cannot_be_configured_to_vanish_at_once() {
        fails(r#"{"rescue": {"keep_days": 0}}"#, "rescue.keep_days: expected a whole number from 1 to 36500, found the number 0");
    }

    #[test]
    fn a_command_and_a_mode_that_do_not_go_together_are_noted() {
        for text in [r#"{"rescue": {"mode": "command"}}"#, r#"{"rescue": {"mode": "command", "command": null}}"#] {
            assert!(notes(text).is_empty(), "scripts/commit-rescue of the worktree is run: {text}");
        }
        assert_eq!(notes(r#"{"rescue": {"command": ["x"]}}"#), ["rescue.command: is not used, because the mode is not `command`"]);
        assert!(notes(r#"{"rescue": {"mode": "command", "command": ["x"]}}"#).is_empty());
    }

    #[test]
    fn a_trailer_is_one_line_with_a_key() {
        for text in ["x", "a b: c", ": x", "A:b", "A: ", "A: b\\nB: c"] {
            fails(&format!(r#"{{"rescue": {{"trailers": ["{text}"]}}}}"#), "rescue.trailers[0]: expected a");
        }
        assert_eq!(reads(r#"{"rescue": {"trailers": []}}"#).rescue.trailers, Vec::<String>::new());
    }

    #[test]
    fn bad_globs_and_modes_are_named() {
        fails(r#"{"rescue": {"exclude": ["ok", "a["]}}"#, "rescue.exclude[1]: not a valid glob");
        fails(r#"{"rescue": {"mode": "snapshots"}}"#, "did you mean `snapshot`?");
    }
}
