//! Rows for the tests of the view.

use std::path::PathBuf;
use std::time::Duration;

use jiff::{Timestamp, Zoned};
use serde_json::json;

use super::live_data::{LiveRowKey, RowFacts, ShownFact};
use super::model::LiveModel;
use crate::overview::StatusRow;
use watchdog_core::decision::breaker::BreakerState;
use watchdog_core::decision::breaker::BreakerView;
use watchdog_facts::shell_line::WorktreeCommands;
use watchdog_facts::verdict::Reason;
use watchdog_judge::judge::live_session::{SessionActivity, SessionLiveness};
use watchdog_judge::wire::last_verdict::LastVerdict;
use watchdog_store::engine::StoredEvent;
use watchdog_store::lock::LockHolder;
use watchdog_store::looped::LoopRecord;
use watchdog_store::session::SessionRecord;

pub fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// One day after the epoch, on a clock two hours ahead of UTC.
pub fn moment() -> Zoned {
    at(86_400).to_zoned(jiff::tz::TimeZone::fixed(jiff::tz::offset(2)))
}

pub fn row(path: &str, spec: &str) -> StatusRow {
    let breaker = BreakerView {
        state: BreakerState::Closed,
        strikes: 0,
        limit: Some(3),
        open_until: None,
        since: None,
        why: None,
    };
    StatusRow {
        worktree: PathBuf::from(path),
        is_newest: true,
        judgement_known: true,
        spec: spec.into(),
        branch: Some("main".into()),
        baseline: Some("a".repeat(40)),
        baseline_at: at(80_000),
        breaker,
        ..StatusRow::default()
    }
}

pub fn judged(row: StatusRow, reason: Reason, message: &str) -> StatusRow {
    let data =
        json!({"status": reason.status().as_str(), "reason": reason.as_str(), "message": message});
    let event = StoredEvent {
        id: "e".into(),
        at: at(82_800),
        worktree: "w".into(),
        spec: None,
        kind: "verdict".into(),
        data,
    };
    StatusRow {
        verdict: Some(LastVerdict::new(&event, true)),
        ..row
    }
}

pub fn running(row: StatusRow, second: i64, doing: SessionActivity) -> StatusRow {
    let session = SessionRecord {
        log: Some("/state/logs/w/l.log".into()),
        pid: Some(7),
        ..SessionRecord::began(at(second))
    };
    let live = SessionLiveness {
        doing,
        idle: Some(Duration::from_secs(2400)),
    };
    StatusRow {
        session: Some(session),
        live: Some(live),
        ..row
    }
}

pub fn looping(row: StatusRow) -> StatusRow {
    let looped = LoopRecord {
        at_most: Some(10),
        under_way: Some((3, at(80_003))),
        ..LoopRecord::new_begun("l", at(80_000))
    };
    let holder = LockHolder {
        pid: 7,
        command: "watchdog loop".into(),
        since: at(80_000),
        session_active: true,
        spec: None,
    };
    StatusRow {
        looped: Some(looped),
        holder: Some(holder),
        ..row
    }
}

/// One of each kind.
pub fn some_rows() -> Vec<StatusRow> {
    let waits = running(
        row("/home/me/projects/日本 shop", "spec/cart"),
        85_677,
        SessionActivity::Running,
    );
    vec![
        judged(
            row("/home/me/projects/site", "main"),
            Reason::NewCommits,
            "1 new commit",
        ),
        looping(running(
            row("/home/me/projects/auth", "spec/auth"),
            82_400,
            SessionActivity::Running,
        )),
        judged(
            row("/home/me/projects/cart", "spec/cart"),
            Reason::Untrusted,
            "its commands are not trusted",
        ),
        StatusRow {
            gone: true,
            ..row("/home/me/old", "main")
        },
        running(
            row("/home/me/projects/stuck", "main"),
            70_000,
            SessionActivity::Stalled,
        ),
        waits,
        row(
            "/srv/a/rather/long/path/of/a/worktree/that/has/no/room/here/fresh",
            "main",
        ),
        judged(
            row("/home/me/projects/half", "main"),
            Reason::ChecksUnmet,
            "check tests failed",
        ),
    ]
}

/// A view of them at this size.
pub fn model(size: (u16, u16)) -> LiveModel {
    let mut model = LiveModel::new(moment(), size, WorktreeCommands::default());
    model.home = Some("/home/me".into());
    model.no_deeds = None;
    for row in some_rows() {
        if let Some(live) = row.live {
            model.sessions.insert(LiveRowKey::from_row(&row), live);
        }
    }
    model.take_rows(some_rows());
    let key = |path: &str, spec: &str| LiveRowKey {
        worktree: path.into(),
        spec: spec.into(),
    };
    let facts = RowFacts {
        commits: ShownFact::Known(4),
        unsaved: ShownFact::Known(12),
        cost: ShownFact::Known(1.5),
        last_line: "Edit · I fix the \x1b[31mparser 日本語".into(),
        agent_change: None,
    };
    model
        .facts
        .insert(key("/home/me/projects/auth", "spec/auth"), facts);
    let unread = RowFacts {
        commits: ShownFact::Unreadable,
        unsaved: ShownFact::Unreadable,
        ..RowFacts::default()
    };
    model
        .facts
        .insert(key("/home/me/projects/cart", "spec/cart"), unread);
    model.facts.insert(
        key("/home/me/projects/site", "main"),
        RowFacts {
            commits: ShownFact::Known(1),
            unsaved: ShownFact::Known(0),
            ..RowFacts::default()
        },
    );
    model
}
