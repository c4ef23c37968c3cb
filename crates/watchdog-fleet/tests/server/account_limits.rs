//! Usage limits of accounts on a real server: who is held, and for how long.

use std::thread;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use watchdog_fleet::accounts::{ReportedLimit, clear_limits, limits_in_force, tell_limits};

use crate::test_database::TestDatabase;
use crate::{server, with_tables};

#[test]
fn longer_account_limit_wins_until_it_is_cleared() {
    let database = TestDatabase::new();
    with_tables(&database);
    let worker = server(&database.full_address("worker")).unwrap();
    let met = |agent: &str, seconds: i64, age_ms: i64| ReportedLimit {
        agent: agent.into(),
        until: Timestamp::now() + SignedDuration::from_secs(seconds),
        age_ms,
    };
    let tell = |machine: &str, limits: &[ReportedLimit]| {
        tell_limits(&worker, "team", machine, limits).unwrap()
    };
    tell(
        "a",
        &[
            met("claude", 3600, 0),
            met("over", -5, 0),
            met("forged", 900 * 86_400, 0),
        ],
    );
    tell("b", &[met("claude", 600, 0)]);
    let found = limits_in_force(&worker, "team").unwrap();
    let named: Vec<_> = found
        .iter()
        .map(|limit| (limit.agent.as_str(), limit.machine.as_str()))
        .collect();
    assert_eq!(named, [("claude", "a"), ("forged", "a")], "{found:?}");
    assert!(
        found[0].left_ms > 3_000_000 && found[1].left_ms <= 8 * 86_400_000,
        "{found:?}"
    );
    assert!(limits_in_force(&worker, "other").unwrap().is_empty());
    assert_eq!(clear_limits(&worker, "team", Some("claude")).unwrap(), 1);
    tell("c", &[met("claude", 7200, 60_000)]);
    assert!(
        limits_in_force(&worker, "team")
            .unwrap()
            .iter()
            .all(|limit| limit.agent != "claude"),
        "it was met before"
    );
    thread::sleep(Duration::from_millis(5));
    tell("c", &[met("claude", 7200, 0)]);
    assert_eq!(limits_in_force(&worker, "team").unwrap().len(), 2);
    assert_eq!(clear_limits(&worker, "team", None).unwrap(), 2);
}
