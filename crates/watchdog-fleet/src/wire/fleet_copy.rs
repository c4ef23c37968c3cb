//! The copy of an event that a fleet shares: words and figures of ours. See `docs/fleet.md`.
//!
//! This module lists the shared fields by kind and member; every other stays. So a member that is
//! added to an event some day is shared
//! only once somebody has thought about it.

use serde_json::{Map, Value, json};

use watchdog_facts::secret_members::mask_value;
use watchdog_store::engine::{NewEvent, StoredEvent};
use watchdog_store::journal::kind;

/// The origin of a copied event.
#[derive(Debug, Clone, Copy)]
pub struct CopyOrigin<'a> {
    /// The machine's name in the fleet.
    pub machine: &'a str,
    /// The worktree's folder on that machine, where it is known.
    pub folder: Option<&'a str>,
}

/// The members of a loop's or a task's step.
const STEP: &[&str] = &[
    "task",
    "from",
    "to",
    "agent",
    "reason",
    "message",
    "iterations",
    "max_iterations",
    "resumed",
    "loop",
];

/// The members that leave, by kind. A kind that is missing is not copied: what was only read, what names private parts of a snapshot, and what
/// other people were told.
const SHARED: &[(&str, &[&str])] = &[
    (kind::BASELINE, &["baseline"]),
    (kind::SESSION_STARTED, &["agent", "by", "inner"]),
    (
        kind::SESSION_ENDED,
        &[
            "end",
            "agent",
            "by",
            "inner",
            "survivors",
            "usage",
            "ended",
            "retries",
        ],
    ),
    (
        kind::PROBE,
        &["at", "duration_ms", "outcome", "retry_at", "usage"],
    ),
    (kind::RESCUE, &["commits", "branch"]),
    (
        kind::VERDICT,
        &[
            "status",
            "reason",
            "complete",
            "evidence",
            "message",
            "retry_at",
            "branch",
            "baseline",
            "head",
            "new_commits",
            "iteration",
            "duration_ms",
            "probe_usage",
            "breaker",
            "unchanged_since",
            "strike",
            "not_a_strike_because",
        ],
    ),
    (
        kind::BREAKER,
        &["state", "strikes", "limit", "open_until", "since"],
    ),
    (kind::INTERRUPTED, &[]),
    (kind::CRITERIA_CHANGED, &["guarded_total"]),
    (kind::ASSIGNED, STEP),
    (kind::STARTED, STEP),
    (
        kind::ITERATION,
        &[
            "iteration",
            "status",
            "reason",
            "message",
            "commits",
            "duration_ms",
            "agent",
        ],
    ),
    (kind::AGENT_CHANGED, &["from", "to", "why", "until"]),
    (kind::COMPLETE, STEP),
    (kind::REVIEW, STEP),
    (kind::FAILED, STEP),
    (kind::BLOCKED, STEP),
    (kind::PENDING, STEP),
    (
        kind::LIMIT,
        &[
            "reason",
            "why",
            "retry_at",
            "pause",
            "until",
            "loop",
            "message",
            "iterations",
        ],
    ),
    (
        kind::HOOK,
        &[
            "event",
            "answer",
            "status",
            "reason",
            "stop_reason",
            "held",
            "most",
        ],
    ),
];

/// The members of each check of a verdict that leave: its feedback may hold what its program printed.
const OF_CHECK: &[&str] = &["name", "type", "outcome", "evidence", "duration_ms"];

/// Lists of paths of a rescue, of which only the length leaves: as many nulls.
const COUNTED: &[&str] = &["lost", "left_out"];

/// The copy of an event; `None` where its kind stays on this machine. Its id is the event's own, so that a second copy is none.
pub fn fleet_copy(event: &StoredEvent, origin: CopyOrigin<'_>) -> Option<NewEvent> {
    let (_, members) = SHARED.iter().find(|(kind, _)| *kind == event.kind)?;
    let mut data = pick_members(&event.data, members);
    if event.kind == kind::VERDICT {
        let checks = event.data["checks"].as_array().into_iter().flatten();
        data.insert(
            "checks".into(),
            checks
                .map(|check| Value::Object(pick_members(check, OF_CHECK)))
                .collect(),
        );
    }
    if event.kind == kind::RESCUE {
        // Why it failed may name paths; that it did is no secret, and must not look like a success.
        data.insert(
            "failed".into(),
            if event.data["failed"].is_null() {
                Value::Null
            } else {
                json!(true)
            },
        );
        for (name, paths) in COUNTED
            .iter()
            .filter_map(|name| Some((*name, event.data[*name].as_array()?)))
        {
            data.insert(name.into(), vec![Value::Null; paths.len()].into());
        }
    }
    data.insert("machine".into(), json!(origin.machine));
    data.insert("folder".into(), json!(origin.folder));
    let mut data = Value::Object(data);
    mask_value(&mut data);
    Some(NewEvent {
        data,
        ..event.clone()
    })
}

/// Whether events of this kind leave their machine.
pub fn is_shared(kind: &str) -> bool {
    SHARED.iter().any(|(shared, _)| *shared == kind)
}

/// An event of the fleet, with the machine that the server has it from: whatever the copy itself says of it.
pub fn of_machine(mut event: StoredEvent, machine: &str) -> StoredEvent {
    match &mut event.data {
        Value::Object(members) => drop(members.insert("machine".into(), json!(machine))),
        other => *other = json!({"machine": machine, "data": other.take()}),
    }
    event
}

/// These members alone.
fn pick_members(data: &Value, members: &[&str]) -> Map<String, Value> {
    members
        .iter()
        .filter_map(|member| Some(((*member).to_owned(), data.get(member)?.clone())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
    use watchdog_store::event_kinds::ALL;

    const HERE: CopyOrigin<'_> = CopyOrigin {
        machine: "builder",
        folder: Some("/work/project"),
    };

    fn happened(kind: &str, data: Value) -> StoredEvent {
        watchdog_store::journal::new_event(Timestamp::UNIX_EPOCH, "wt", Some("auth"), kind, data)
    }

    #[test]
    fn output_diffs_and_command_lines_are_never_copied() {
        let private = json!("only here");
        for kind in ALL {
            let names = [
                "feedback",
                "argv",
                "log",
                "why",
                "paths",
                "changes",
                "commits_listed",
                "record",
                "reply",
                "failed",
                "lost",
                "left_out",
            ];
            let mut data = Map::new();
            names
                .iter()
                .for_each(|name| drop(data.insert((*name).to_owned(), private.clone())));
            data.insert(
                "checks".into(),
                json!([{"name": "tests", "outcome": "fail", "feedback": "only here"}]),
            );
            let copied = fleet_copy(&happened(kind, Value::Object(data)), HERE);
            let text = copied
                .map(|copied| copied.data.to_string())
                .unwrap_or_default();
            // Why a limit was met, or another agent took over, is told in words of ours.
            assert!(
                [kind::LIMIT, kind::AGENT_CHANGED].contains(kind) || !text.contains("only here"),
                "{kind}: {text}"
            );
        }
    }

    #[test]
    fn copied_event_keeps_its_place_and_id() {
        let event = happened(
            kind::VERDICT,
            json!({"status": "review", "reason": "untrusted", "checks": [{"name": "tests", "outcome": "fail"}]}),
        );
        let copied = fleet_copy(&event, HERE).expect("verdicts are shared");
        assert_eq!(
            (&copied.id, copied.at, &copied.worktree, &copied.spec),
            (&event.id, event.at, &event.worktree, &event.spec)
        );
        let expected = json!({
            "status": "review", "reason": "untrusted", "checks": [{"name": "tests", "outcome": "fail"}],
            "machine": "builder", "folder": "/work/project",
        });
        assert_eq!(copied.data, expected);
    }

    #[test]
    fn a_secret_in_a_sentence_is_masked() {
        let token = ["ghp_", "0123456789abcdefghijABCDEFGHIJ456789"].concat();
        let mut event = happened(kind::VERDICT, json!({}));
        event.data = json!({"message": format!("the check printed {token}")});
        let copied = fleet_copy(&event, HERE).expect("verdicts are shared");
        assert!(!copied.data.to_string().contains(&token), "{}", copied.data);
    }

    #[test]
    fn copied_rescue_failure_omits_its_paths() {
        let rescued = |data| {
            fleet_copy(&happened(kind::RESCUE, data), HERE)
                .expect("rescues are shared")
                .data
        };
        let failed = rescued(
            json!({"commits": 0, "failed": "cannot read src/secret.rs", "lost": ["src/secret.rs"], "left_out": []}),
        );
        assert_eq!(
            (&failed["failed"], &failed["lost"], &failed["left_out"]),
            (&json!(true), &json!([null]), &json!([]))
        );
        assert_eq!(
            rescued(json!({"commits": 1, "failed": null}))["failed"],
            Value::Null
        );
    }

    #[test]
    fn fleet_event_belongs_to_the_sending_machine() {
        let event = happened(
            kind::VERDICT,
            json!({"machine": "another", "status": "review"}),
        );
        assert_eq!(
            of_machine(event, "builder").data,
            json!({"machine": "builder", "status": "review"})
        );
        assert_eq!(
            of_machine(happened("of tomorrow", json!([1])), "builder").data,
            json!({"machine": "builder", "data": [1]})
        );
    }

    #[test]
    fn observations_and_private_names_are_never_copied() {
        for kind in [
            kind::SNAPSHOT,
            kind::COMMITS,
            kind::CHANGES,
            kind::CHECK,
            kind::NOTIFY,
            kind::TRUST,
            "of tomorrow",
        ] {
            assert_eq!(
                fleet_copy(&happened(kind, json!({"ref": "x"})), HERE),
                None,
                "{kind}"
            );
        }
    }
}
