//! `limits`: the limits of a loop, a session, and the holding of an agent.

use super::super::key_kinds::{
    GLOB, POSITIVE, ValueForm, as_json, list_of, nullable, seconds, whole,
};
use super::super::key_table::{KeyBlock, keys};
use super::super::reader::{ConfigNode, ConfigSection};
use super::super::settings::{ConfigSettings, Limits};

pub(in super::super) const MAX_ITERATIONS: u64 = 1_000_000;

const INSTANT: ValueForm<jiff::Timestamp> = ValueForm {
    read: read_instant,
    write: |instant| instant.to_string().into(),
    schema: || serde_json::json!({"type": "string", "format": "date-time"}),
    words: "instant as in RFC 3339",
};

const SENSORS: ValueForm<Vec<Vec<String>>> = ValueForm {
    read: |node| node.list(|program| program.argv()),
    write: as_json,
    schema: || serde_json::json!({"type": "array", "items": {"$ref": "#/$defs/argv"}}),
    words: "list of commands, each a list",
};

pub(in super::super) static BLOCK: KeyBlock<Limits> = KeyBlock {
    name: "limits",
    defaults: || ConfigSettings::default().limits,
    keys: keys! { Limits;
        "max_iterations" => max_iterations: whole(1..=MAX_ITERATIONS), "iterations of `watchdog loop`";
        "cooldown_seconds" => cooldown: seconds(0), "pause between iterations";
        "max_stop_blocks" => max_stop_blocks: whole(0..=1000),
            "how often in a row a [stop hook](hooks.md) may hold the agent; Claude Code itself gives up after eight";
        "deadline" => deadline: nullable(INSTANT), "after this instant nothing is started, such as `\"2030-01-31T18:00:00Z\"`";
        "max_turns" => max_turns: nullable(whole(1..=u64::MAX)), "turns of the agent";
        "max_total_tokens" => max_total_tokens: nullable(whole(1..=u64::MAX)), "input and output tokens together";
        "max_cost_usd" => max_cost_usd: nullable(POSITIVE), "US dollars";
        "max_wall_seconds" => max_wall: nullable(seconds(1)), "wall time of a loop, or of the one session of `run`";
        "session_timeout_seconds" => session_timeout: nullable(seconds(1)), "wall time of one session";
        "idle_timeout_seconds" => idle_timeout: nullable(seconds(0)),
            "how long a session may be [silent](loop.md#silence) before it is ended; 0 never ends one; null is 1,800 for `loop` and \
             `task`, none for `run`";
        "background_seconds" => background: seconds(0),
            "for how long processes that [outlive a session](loop.md#what-outlives-a-session) hold its verdict";
        "ignore_processes" => ignore_processes: list_of(GLOB),
            "programs, by name or glob, that hold no verdict when they [outlive a session](loop.md#what-outlives-a-session)";
        "sensors" => sensors: SENSORS,
            "programs that may ask for a halt: at each judgement one reads the [context](evaluate.md) on stdin and answers `{\"halt\": \
             bool, \"reason\": \"…\"}` within 60 seconds; a halt is `failed`/`halted`, after a rescue";
    },
    rules: blocks_take_effect,
};

fn blocks_take_effect(section: &ConfigSection<'_>, limits: &mut Limits, _: bool) {
    if limits.max_stop_blocks > 7 {
        section
            .note("max_stop_blocks", "Claude Code itself lets the agent stop after eight blocks in a row; more than 7 never take effect");
    }
}

fn read_instant(node: &ConfigNode<'_>) -> Option<jiff::Timestamp> {
    let text = node.text()?;
    let read = text.parse().ok();
    if read.is_none() {
        node.report_expected("an instant as in RFC 3339, such as \"2030-01-31T18:00:00Z\"");
    }
    read
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::super::parse::testing::{fails, notes, reads};

    #[test]
    fn every_key_is_read() {
        let limits = reads(
            r#"{"limits": {"max_iterations": 2, "cooldown_seconds": 3, "max_stop_blocks": 4, "deadline": "2030-01-31T18:00:00+01:00",
                "max_turns": 5, "max_total_tokens": 6, "max_cost_usd": 0.5, "max_wall_seconds": 7, "session_timeout_seconds": 8,
                "idle_timeout_seconds": 9, "background_seconds": 10, "ignore_processes": ["serve*"], "sensors": [["sh", "watch.sh"]]}}"#,
        )
        .limits;
        assert_eq!(
            (
                limits.max_iterations,
                limits.cooldown,
                limits.max_stop_blocks
            ),
            (2, Duration::from_secs(3), 4)
        );
        assert_eq!(limits.deadline.unwrap().to_string(), "2030-01-31T17:00:00Z");
        assert_eq!(
            (
                limits.max_turns,
                limits.max_total_tokens,
                limits.max_cost_usd
            ),
            (Some(5), Some(6), Some(0.5))
        );
        assert_eq!(
            (limits.max_wall, limits.session_timeout),
            (Some(Duration::from_secs(7)), Some(Duration::from_secs(8)))
        );
        assert_eq!(
            (limits.idle_timeout, limits.background),
            (Some(Duration::from_secs(9)), Duration::from_secs(10))
        );
        assert_eq!(limits.ignore_processes, ["serve*"]);
        assert_eq!(limits.sensors, [["sh", "watch.sh"]]);
    }

    #[test]
    fn null_removes_an_optional_limit() {
        let limits =
            reads(r#"{"limits": {"deadline": null, "max_turns": null, "max_cost_usd": null}}"#)
                .limits;
        assert_eq!(
            (limits.deadline, limits.max_turns, limits.max_cost_usd),
            (None, None, None)
        );
        let silence = |text: &str| {
            reads(&format!(
                r#"{{"limits": {{"idle_timeout_seconds": {text}}}}}"#
            ))
            .limits
            .idle_timeout
        };
        assert_eq!(
            (silence("null"), silence("0")),
            (None, Some(Duration::ZERO)),
            "null leaves it to the command, 0 switches it off"
        );
        fails(
            r#"{"limits": {"max_iterations": null}}"#,
            "limits.max_iterations: expected a whole number from 1 to 1000000, found null",
        );
    }

    #[test]
    fn already_spent_limit_is_a_mistake() {
        fails(
            r#"{"limits": {"max_iterations": 0}}"#,
            "limits.max_iterations",
        );
        fails(
            r#"{"limits": {"max_cost_usd": 0}}"#,
            "limits.max_cost_usd: expected a number above 0, found the number 0",
        );
        fails(
            r#"{"limits": {"max_cost_usd": -1.5}}"#,
            "found the number -1.5",
        );
        fails(
            r#"{"limits": {"session_timeout_seconds": 0}}"#,
            "whole seconds from 1",
        );
        fails(
            r#"{"limits": {"max_wall_seconds": 315360001}}"#,
            "found the number 315360001",
        );
    }

    #[test]
    fn a_deadline_is_an_instant() {
        fails(
            r#"{"limits": {"deadline": "tomorrow"}}"#,
            "limits.deadline: expected an instant as in RFC 3339",
        );
        fails(
            r#"{"limits": {"deadline": "2030-01-31"}}"#,
            "limits.deadline",
        );
        fails(
            r#"{"limits": {"deadline": 5}}"#,
            "limits.deadline: expected a text",
        );
    }

    #[test]
    fn stop_blocks_above_host_limit_are_noted() {
        assert!(notes(r#"{"limits": {"max_stop_blocks": 9}}"#)[0].contains("max_stop_blocks"));
        assert!(notes(r#"{"limits": {"max_stop_blocks": 7}}"#).is_empty());
    }
}
