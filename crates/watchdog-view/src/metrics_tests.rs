//! What the metrics say of rows and sums.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;

use super::*;
use watchdog_core::decision::breaker::BreakerView;
use watchdog_judge::judge::live_session::SessionLiveness;
use watchdog_judge::wire::last_verdict::LastVerdict;
use watchdog_judge::wire::metrics_text::metrics_text;
use watchdog_store::engine::StoredEvent;
use watchdog_store::session::SessionRecord;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn row() -> StatusRow {
    let breaker = BreakerView {
        state: BreakerState::Open,
        strikes: 3,
        limit: None,
        open_until: None,
        since: None,
        why: None,
    };
    let data = json!({"status": "timeout", "reason": "max_probes", "message": "m"});
    let verdict = StoredEvent {
        id: "e".into(),
        at: at(100),
        worktree: "w".into(),
        spec: None,
        kind: "verdict".into(),
        data,
    };
    StatusRow {
        worktree: PathBuf::from("/a \"b\""),
        spec: "s".into(),
        is_newest: true,
        baseline_at: at(50),
        verdict: Some(LastVerdict::new(&verdict, true)),
        judgement_known: true,
        breaker,
        ..StatusRow::default()
    }
}

fn text(rows: Vec<StatusRow>, sums: &CounterSums) -> String {
    metrics_text(&collect_metrics(
        &StatusOverview {
            rows,
            notes: vec!["damaged".into()],
            fleet: None,
        },
        sums,
        1,
        at(200),
    ))
}

#[test]
fn only_known_values_have_samples() {
    let said = text(vec![row()], &CounterSums::default());
    let of = r#"{worktree="/a \"b\"",spec="s""#;
    for line in [
        r#"watchdog_worktrees{status="timeout"} 1"#.to_owned(),
        r#"watchdog_worktrees{status="complete"} 0"#.to_owned(),
        format!(r#"watchdog_work_status{of},status="timeout",reason="max_probes"}} 1"#),
        format!("watchdog_needs_person{of}}} 1"),
        format!("watchdog_last_judgement_timestamp_seconds{of}}} 100"),
        format!(r#"watchdog_breaker_state{of},state="open"}} 1"#),
        format!(r#"watchdog_breaker_state{of},state="closed"}} 0"#),
        format!("watchdog_breaker_strikes{of}}} 3"),
        "watchdog_unreadable_records 1".to_owned(),
        "watchdog_incomplete_figures 1".to_owned(),
        "watchdog_sessions_started_total 0".to_owned(),
    ] {
        assert!(said.lines().any(|known| known == line), "{line}\n{said}");
    }
    for unknown in [
        "watchdog_session_",
        "watchdog_tokens_total",
        "watchdog_cost_dollars_total",
    ] {
        assert!(!said.contains(unknown), "{unknown} is unknown\n{said}");
    }
    let session = SessionRecord {
        pid: Some(7),
        ..SessionRecord::began(at(150))
    };
    let idle = |idle| {
        Some(SessionLiveness {
            doing: SessionActivity::Running,
            idle,
        })
    };
    let silent = text(
        vec![StatusRow {
            session: Some(session.clone()),
            live: idle(Some(Duration::from_millis(1500))),
            ..row()
        }],
        &CounterSums::default(),
    );
    assert!(
        silent.contains(&format!("watchdog_session_idle_seconds{of}}} 1.5")),
        "{silent}"
    );
    assert!(
        silent.contains(&format!("watchdog_needs_person{of}}} 0")),
        "{silent}"
    );
    let unknown = text(
        vec![StatusRow {
            session: Some(session),
            live: idle(None),
            ..row()
        }],
        &CounterSums::default(),
    );
    assert!(
        unknown.contains("watchdog_session_live")
            && !unknown.contains("watchdog_session_idle_seconds"),
        "{unknown}"
    );
}

#[test]
fn gone_or_outdated_row_has_no_old_status() {
    let mut earlier = row();
    earlier.verdict.as_mut().expect("it has one").since_baseline = false;
    earlier.breaker.state = BreakerState::Closed;
    let said = text(
        vec![
            earlier,
            StatusRow {
                gone: true,
                spec: "t".into(),
                ..row()
            },
        ],
        &CounterSums::default(),
    );
    assert!(
        said.contains(r#"spec="s",status="not_judged",reason=""} 1"#),
        "{said}"
    );
    assert!(
        said.contains(r#"spec="t",status="gone",reason="max_probes"} 1"#)
            && !said.contains(r#"status="timeout",reason"#),
        "{said}"
    );
}
