//! Limits and budgets of accounts on a real server: who is held, and that no two machines are given the same part.

use std::thread;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use watchdog_fleet::account_budget::{
    account_terms, draw_share, set_account_budget, take_share_back,
};
use watchdog_fleet::accounts::{ReportedLimit, clear_limits, limits_in_force, tell_limits};

use crate::test_database::TestDatabase;
use crate::{server, with_tables};

const DEADLINE: Duration = Duration::from_secs(30);

#[test]
fn machines_that_draw_at_once_are_never_given_more_than_the_budget() {
    let database = TestDatabase::new();
    with_tables(&database);
    let worker = server(&database.full_address("worker")).unwrap();
    assert_eq!(
        draw_share(&worker, DEADLINE, "team", 1.0, (0.0, "")).unwrap(),
        None,
        "no budget"
    );
    set_account_budget(&worker, "team", Some(10.0)).unwrap();
    let draws: Vec<_> = (0..6)
        .map(|n| {
            let address = if n % 2 == 0 {
                database.full_address("worker")
            } else {
                database.pooler_address("worker").unwrap()
            };
            thread::spawn(move || {
                let server = server(&address).unwrap();
                let draw = |_| {
                    draw_share(&server, DEADLINE, "team", 0.7, (0.0, ""))
                        .unwrap()
                        .expect("a budget")
                        .usd
                };
                (0..5).map(draw).sum::<f64>()
            })
        })
        .collect();
    let given: f64 = draws.into_iter().map(|one| one.join().unwrap()).sum();
    assert!((given - 10.0).abs() < 1e-6, "{given}");
    let last = draw_share(&worker, DEADLINE, "team", 1.0, (0.5, ""))
        .unwrap()
        .expect("a budget");
    assert_eq!((last.usd, last.most_usd), (0.0, 10.0));
    assert!(last.left_ms > 0 && last.left_ms <= 86_400_000, "{last:?}");
    take_share_back(&worker, DEADLINE, "team", 2.0, "2001-01-01").unwrap();
    take_share_back(&worker, DEADLINE, "team", 2.0, &last.day).unwrap();
    let again = draw_share(&worker, DEADLINE, "team", 9.0, (0.5, &last.day))
        .unwrap()
        .expect("a budget");
    assert!(
        (again.usd - 1.5).abs() < 1e-6,
        "what was spent beyond a share of today counts first: {again:?}"
    );
    database.sql("UPDATE watchdog.account SET day = day - 1");
    assert_eq!(account_terms(&worker, "team").unwrap().drawn_usd, 0.0);
    assert!(
        draw_share(&worker, DEADLINE, "team", 9.0, (5.0, "2001-01-01"))
            .unwrap()
            .is_some_and(|new| new.usd == 9.0),
        "a new day"
    );
    database.sql("UPDATE watchdog.account SET day = day + 1");
    let tomorrow = draw_share(&worker, DEADLINE, "team", 9.0, (0.0, ""))
        .unwrap()
        .expect("a budget");
    assert!(
        (tomorrow.usd - 1.0).abs() < 1e-6,
        "a server whose clock went back gives no day twice: {tomorrow:?}"
    );
}

#[test]
fn the_longer_of_two_limits_holds_whatever_arrives_first_and_a_cleared_one_does_not_come_back() {
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
