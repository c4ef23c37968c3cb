//! `rescue`: how uncommitted work is salvaged.

use super::super::key_kinds::{
    ARGV, FLAG, GLOB, TEXT, ValueForm, list_of, nullable, seconds, whole, word_of,
};
use super::super::key_table::{KeyBlock, keys};
use super::super::reader::{ConfigNode, ConfigSection};
use super::super::settings::{ConfigSettings, RescueMode, RescueSettings};

const MODES: &[(&str, RescueMode)] = &[
    ("plan", RescueMode::Plan),
    ("single", RescueMode::Single),
    ("command", RescueMode::Command),
    ("snapshot", RescueMode::Snapshot),
    ("off", RescueMode::Off),
];

const TRAILER: ValueForm<String> = ValueForm {
    read: read_trailer,
    schema: || serde_json::json!({"type": "string", "pattern": "^[A-Za-z0-9-]+: .*\\S"}),
    words: "trailer",
    ..TEXT
};

pub(in super::super) static BLOCK: KeyBlock<RescueSettings> = KeyBlock {
    name: "rescue",
    defaults: || ConfigSettings::default().rescue,
    keys: keys! { RescueSettings;
        "mode" => mode: word_of(MODES),
            "`plan`: the agent plans the commits, watchdog makes them; `single`: one commit of everything; `command`: yours; \
             `snapshot`: commit nothing; `off`: not even a snapshot. All but `off` begin with a snapshot";
        "command" => command: nullable(ARGV),
            "for the mode `command`, in the worktree, with `WATCHDOG_SPEC` and `WATCHDOG_SNAPSHOT`. Null is `scripts/commit-rescue` of \
             the worktree with the spec's name, if it is as it was accepted";
        "timeout_seconds" => timeout: seconds(1),
            "deadline of the command, of the plan, of the commits, and of a lock of another git, each";
        "exclude" => exclude: list_of(GLOB), "names or globs that are never committed. A list given here replaces the default";
        "max_files" => max_files: whole(1..=u64::MAX), "with more changed files than this, nothing is committed";
        "max_bytes" => max_bytes: whole(1..=u64::MAX), "larger files, in bytes, are not committed, and are kept apart in snapshots";
        "max_snapshot_bytes" => max_snapshot_bytes: nullable(whole(1..=u64::MAX)),
            "bytes of new files together; the largest beyond it are left out of snapshots, and named. Null keeps all";
        "keep_ignored" => keep_ignored: list_of(GLOB),
            "names or globs of ignored files that the snapshot before a session keeps apart, up to `max_snapshot_bytes`";
        "bundle" => bundle: FLAG,
            "write a git bundle of all refs to the state directory before each session that finds new commits";
        "protect" => protect: list_of(GLOB),
            "branches, by name or glob, that rescue never commits to; the work goes to `watchdog/rescue/<spec>`";
        "trailers" => trailers: list_of(TRAILER),
            "the last lines of each message, as `Key: value`. A list given here replaces the default";
        "keep_days" => keep_days: whole(1..=36_500),
            "how long snapshots are kept, in days, but for the newest of a spec";
        "snapshot_seconds" => snapshot_every: seconds(0),
            "shortest time between snapshots during a session; 0 takes none. A snapshot is taken at the beginning where there is \
             something to keep, then once the changed work tree has rested for a third of this time, at most 10 s, or after one more \
             interval";
        "quiet_seconds" => quiet: seconds(0),
            "how long the work must stand still before `check --once`, `sweep` and `watch` commit it without a known end of the session; \
             also the age of a stale lock of git";
    },
    rules: command_fits_mode,
};

/// Without a command the mode `command` runs the worktree's own script; whether there is one is known when a rescue runs, which says so.
fn command_fits_mode(section: &ConfigSection<'_>, settings: &mut RescueSettings, _: bool) {
    if section.get("command").is_some_and(|n| !n.is_null()) && settings.mode != RescueMode::Command
    {
        section.note("command", "is not used, because the mode is not `command`");
    }
}

/// `Key: value`, as git reads the last lines of a message.
fn read_trailer(node: &ConfigNode<'_>) -> Option<String> {
    let text = node.text()?;
    let key =
        |key: &str| !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    match text.split_once(": ") {
        Some((name, value))
            if key(name) && !value.trim().is_empty() && !text.chars().any(char::is_control) =>
        {
            Some(text)
        }
        _ => {
            node.wrong("expected a trailer such as \"Reviewed-by: nobody\"".to_owned());
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::super::parse::testing::{fails, notes, reads};
    use super::*;

    #[test]
    fn every_key_is_read() {
        let rescue = reads(
            r#"{"rescue": {"mode": "command", "command": ["save", "-a"], "timeout_seconds": 9, "exclude": ["*.key"], "max_files": 2,
                "max_bytes": 3, "max_snapshot_bytes": 9, "keep_ignored": ["notes/"], "bundle": true, "protect": ["main", "release/*"],
                "trailers": ["Rescued-From: {snapshot}"], "keep_days": 4, "snapshot_seconds": 0,
                "quiet_seconds": 3}}"#,
        )
        .rescue;
        assert_eq!(
            rescue,
            RescueSettings {
                mode: RescueMode::Command,
                command: Some(vec!["save".into(), "-a".into()]),
                timeout: Duration::from_secs(9),
                exclude: vec!["*.key".into()],
                max_files: 2,
                max_bytes: 3,
                max_snapshot_bytes: Some(9),
                keep_ignored: vec!["notes/".into()],
                bundle: true,
                protect: vec!["main".into(), "release/*".into()],
                trailers: vec!["Rescued-From: {snapshot}".into()],
                keep_days: 4,
                snapshot_every: Duration::ZERO,
                quiet: Duration::from_secs(3),
            }
        );
    }

    #[test]
    fn snapshots_cannot_be_configured_to_vanish_at_once() {
        fails(
            r#"{"rescue": {"keep_days": 0}}"#,
            "rescue.keep_days: expected a whole number from 1 to 36500, found the number 0",
        );
    }

    #[test]
    fn mismatched_rescue_command_and_mode_are_noted() {
        for text in [
            r#"{"rescue": {"mode": "command"}}"#,
            r#"{"rescue": {"mode": "command", "command": null}}"#,
        ] {
            assert!(
                notes(text).is_empty(),
                "scripts/commit-rescue of the worktree is run: {text}"
            );
        }
        assert_eq!(
            notes(r#"{"rescue": {"command": ["x"]}}"#),
            ["rescue.command: is not used, because the mode is not `command`"]
        );
        assert!(notes(r#"{"rescue": {"mode": "command", "command": ["x"]}}"#).is_empty());
    }

    #[test]
    fn a_trailer_is_one_line_with_a_key() {
        for text in ["x", "a b: c", ": x", "A:b", "A: ", "A: b\\nB: c"] {
            fails(
                &format!(r#"{{"rescue": {{"trailers": ["{text}"]}}}}"#),
                "rescue.trailers[0]: expected a",
            );
        }
        assert_eq!(
            reads(r#"{"rescue": {"trailers": []}}"#).rescue.trailers,
            Vec::<String>::new()
        );
    }

    #[test]
    fn bad_globs_and_modes_are_named() {
        fails(
            r#"{"rescue": {"exclude": ["ok", "a["]}}"#,
            "rescue.exclude[1]: not a valid glob",
        );
        fails(
            r#"{"rescue": {"mode": "snapshots"}}"#,
            "did you mean `snapshot`?",
        );
    }
}
