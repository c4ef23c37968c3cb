//! `limits`: what ends a loop, a session, or the holding of an agent.

use super::super::reader::{ConfigNode, put, small};
use super::super::settings::Limits;

pub(in super::super) const KEYS: &[&str] = &[
    "max_iterations",
    "cooldown_seconds",
    "max_stop_blocks",
    "deadline",
    "max_turns",
    "max_total_tokens",
    "max_cost_usd",
    "max_wall_seconds",
    "session_timeout_seconds",
    "idle_timeout_seconds",
    "background_seconds",
];

pub(in super::super) const MAX_ITERATIONS: u64 = 1_000_000;

pub(in super::super) fn read(node: &ConfigNode<'_>, into: &mut Limits) {
    let Some(section) = node.section(KEYS) else { return };
    put(&mut into.max_iterations, section.get("max_iterations").and_then(|n| n.whole(1..=MAX_ITERATIONS)).map(small));
    put(&mut into.cooldown, section.get("cooldown_seconds").and_then(|n| n.seconds(0)));
    put(&mut into.max_stop_blocks, section.get("max_stop_blocks").and_then(|n| n.whole(0..=1000)).map(small));
    put(&mut into.deadline, section.nullable("deadline", instant));
    put(&mut into.max_turns, section.nullable("max_turns", |n| n.whole(1..=u64::MAX)));
    put(&mut into.max_total_tokens, section.nullable("max_total_tokens", |n| n.whole(1..=u64::MAX)));
    put(&mut into.max_cost_usd, section.nullable("max_cost_usd", |n| n.positive()));
    put(&mut into.max_wall, section.nullable("max_wall_seconds", |n| n.seconds(1)));
    put(&mut into.session_timeout, section.nullable("session_timeout_seconds", |n| n.seconds(1)));
    put(&mut into.idle_timeout, section.nullable("idle_timeout_seconds", |n| n.seconds(0)));
    put(&mut into.background, section.get("background_seconds").and_then(|n| n.seconds(0)));
    if into.max_stop_blocks > 7 {
        section
            .note("max_stop_blocks", "Claude Code itself lets the agent stop after eight blocks in a row; more than 7 never take effect");
    }
}

fn instant(node: &ConfigNode<'_>) -> Option<jiff::Timestamp> {
    let text = node.text()?;
    let read = text.parse().ok();
    if read.is_none() {
        node.expected("an instant as in RFC 3339, such as \"2030-01-31T18:00:00Z\"");
    }
    read
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::super::parse::testing::{fails, notes, reads};

    #[test]
    fn every_key_is_read() {
        let found = reads(
            r#"{"limits": {"max_iterations": 2, "cooldown_seconds": 3, "max_stop_blocks": 4, "deadline": "2030-01-31T18:00:00+01:00",
                "max_turns": 5, "max_total_tokens": 6, "max_cost_usd": 0.5, "max_wall_seconds": 7, "session_timeout_seconds": 8,
                "idle_timeout_seconds": 9, "background_seconds": 10}}"#,
        )
        .limits;
        assert_eq!((found.max_iterations, found.cooldown, found.max_stop_blocks), (2, Duration::from_secs(3), 4));
        assert_eq!(found.deadline.unwrap().to_string(), "2030-01-31T17:00:00Z");
        assert_eq!((found.max_turns, found.max_total_tokens, found.max_cost_usd), (Some(5), Some(6), Some(0.5)));
        assert_eq!((found.max_wall, found.session_timeout), (Some(Duration::from_secs(7)), Some(Duration::from_secs(8))));
        assert_eq!((found.idle_timeout, found.background), (Some(Duration::from_secs(9)), Duration::from_secs(10)));
    }

    #[test]
    fn null_is_no_limit_where_a_limit_is_optional() {
        let found = reads(r#"{"limits": {"deadline": null, "max_turns": null, "max_cost_usd": null}}"#).limits;
        assert_eq!((found.deadline, found.max_turns, found.max_cost_usd), (None, None, None));
        let silence = |text: &str| reads(&format!(r#"{{"limits": {{"idle_timeout_seconds": {text}}}}}"#)).limits.idle_timeout;
        assert_eq!((silence("null"), silence("0")), (None, Some(Duration::ZERO)), "null leaves it to the command, 0 switches it off");
        fails(r#"{"limits": {"max_iterations": null}}"#, "limits.max_iterations: expected a whole number from 1 to 1000000, found null");
    }

    #[test]
    fn a_limit_that_is_spent_before_it_begins_is_a_mistake() {
        fails(r#"{"limits": {"max_iterations": 0}}"#, "limits.max_iterations");
        fails(r#"{"limits": {"max_cost_usd": 0}}"#, "limits.max_cost_usd: expected a number above 0, found the number 0");
        fails(r#"{"limits": {"max_cost_usd": -1.5}}"#, "found the number -1.5");
        fails(r#"{"limits": {"session_timeout_seconds": 0}}"#, "whole seconds from 1");
        fails(r#"{"limits": {"max_wall_seconds": 315360001}}"#, "found the number 315360001");
    }

    #[test]
    fn a_deadline_is_an_instant() {
        fails(r#"{"limits": {"deadline": "tomorrow"}}"#, "limits.deadline: expected an instant as in RFC 3339");
        fails(r#"{"limits": {"deadline": "2030-01-31"}}"#, "limits.deadline");
        fails(r#"{"limits": {"deadline": 5}}"#, "limits.deadline: expected a text");
    }

    #[test]
    fn more_stop_blocks_than_the_host_allows_are_noted() {
        assert!(notes(r#"{"limits": {"max_stop_blocks": 9}}"#)[0].contains("max_stop_blocks"));
        assert!(notes(r#"{"limits": {"max_stop_blocks": 7}}"#).is_empty());
    }
}
