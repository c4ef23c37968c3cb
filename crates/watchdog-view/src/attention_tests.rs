//! What rows come to, as tables.

use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use watchdog_core::decision::breaker::BreakerView;

use super::*;
use watchdog_judge::judge::live_session::SessionLiveness;
use watchdog_store::engine::StoredEvent;
use watchdog_store::lock::LockHolder;
use watchdog_store::looped::LoopRecord;
use watchdog_store::session::SessionRecord;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// 02:00 of the clock on the wall is midnight in UTC.
fn moment() -> Zoned {
    at(86_400).to_zoned(jiff::tz::TimeZone::fixed(jiff::tz::offset(2)))
}

#[test]
fn only_running_work_of_silent_machine_needs_attention() {
    let machine = |loops, silent: Option<u64>| {
        let silent = silent.map(std::time::Duration::from_secs);
        Some(crate::fleet_overview::RowMachine {
            name: "build-2".into(),
            folder: "/w".into(),
            loops,
            silent,
        })
    };
    let there = |loops, silent| StatusRow {
        worktree: "build-2:/w".into(),
        machine: machine(loops, silent),
        ..row()
    };
    for (loops, silent, expected) in [
        (true, Some(240), AttentionRank::Person),
        (true, None, AttentionRank::Running),
        (false, Some(240), AttentionRank::NotJudged),
    ] {
        assert_eq!(
            AttentionRank::from_row(&there(loops, silent)),
            expected,
            "{loops} {silent:?}"
        );
    }
    let found = assess_attention(
        &there(true, Some(240)),
        &WorktreeCommands::default().with_state_dir(Some("/s".as_ref())),
        &moment(),
    );
    assert_eq!(
        found.why,
        "its machine 'build-2' has been silent for 4 min, and this ran there"
    );
    assert_eq!(
        found.command.as_deref(),
        Some("on build-2: watchdog -C /w events"),
        "with the records of that machine"
    );
}

fn row() -> StatusRow {
    let breaker = BreakerView {
        state: BreakerState::Closed,
        strikes: 0,
        limit: Some(3),
        open_until: None,
        since: None,
        why: None,
    };
    StatusRow {
        worktree: PathBuf::from("/w"),
        spec: "s".into(),
        is_newest: true,
        baseline_at: at(80_000),
        judgement_known: true,
        breaker,
        ..StatusRow::default()
    }
}

fn judged(data: Value) -> StatusRow {
    judged_in("verdict", data)
}

fn judged_in(kind: &str, data: Value) -> StatusRow {
    let event = StoredEvent {
        id: "e".into(),
        at: at(80_001),
        worktree: "w".into(),
        spec: None,
        kind: kind.into(),
        data,
    };
    StatusRow {
        verdict: Some(LastVerdict::new(&event, true)),
        ..row()
    }
}

fn by_hook(answer: &str) -> StatusRow {
    let message = "watchdog: incomplete (checks_unmet): x";
    judged_in(
        "hook",
        json!({"answer": answer, "status": "incomplete", "reason": "checks_unmet", "message": message}),
    )
}

fn of(reason: Reason) -> StatusRow {
    judged(
        json!({"status": reason.status().as_str(), "reason": reason.as_str(), "message": "what it says"}),
    )
}

fn with_session(row: StatusRow, doing: SessionActivity, log: Option<&str>) -> StatusRow {
    let session = SessionRecord {
        log: log.map(PathBuf::from),
        pid: Some(7),
        ..SessionRecord::began(at(80_002))
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

fn interrupted_loop() -> LoopRecord {
    LoopRecord {
        under_way: Some((3, at(80_003))),
        ..LoopRecord::new_begun("l", at(80_000))
    }
}

fn said(row: &StatusRow) -> (AttentionRank, String, Option<String>) {
    let Attention { rank, why, command } =
        assess_attention(row, &WorktreeCommands::default(), &moment());
    (rank, why, command)
}

#[test]
fn each_row_states_attention_cause_and_command() {
    use AttentionRank::{Complete, Gone, Next, NotJudged, Person, Resume, Running};
    let open = BreakerView {
        state: BreakerState::Open,
        strikes: 3,
        open_until: Some(at(88_200)),
        why: Some("it was silent".into()),
        ..row().breaker
    };
    let limited = |until: i64| {
        let data = json!({"status": "waiting", "reason": "rate_limited", "message": "usage limit", "retry_at": at(until).to_string()});
        judged(data)
    };
    let unfinished = || StatusRow {
        looped: Some(interrupted_loop()),
        ..of(Reason::Working)
    };
    let holder = LockHolder {
        pid: 8,
        command: "watchdog loop".into(),
        since: at(80_004),
        session_active: true,
        spec: None,
    };
    for (name, row, rank, why, command) in [
        (
            "stalled with a log",
            with_session(of(Reason::Working), SessionActivity::Stalled, Some("/log")),
            Person,
            "its session has stalled: silent for 40 min",
            Some("watchdog -C /w logs"),
        ),
        (
            "stalled without a log",
            with_session(row(), SessionActivity::Stalled, None),
            Person,
            "its session has stalled: silent for 40 min",
            Some("watchdog -C /w events"),
        ),
        (
            "waits for a permission",
            with_session(of(Reason::Working), SessionActivity::Waiting, Some("/log")),
            Running,
            "its session waits for a permission or a person, silent for 40 min",
            Some("watchdog -C /w logs"),
        ),
        (
            "runs",
            with_session(of(Reason::Disputed), SessionActivity::Running, None),
            Running,
            "",
            Some("watchdog -C /w events"),
        ),
        (
            "breaker open",
            StatusRow {
                breaker: open.clone(),
                ..of(Reason::MaxProbes)
            },
            Person,
            "breaker open: 3 of 3 strikes; one trial is let through at 02:30; last strike: it was silent",
            Some("watchdog -C /w breaker reset --spec s"),
        ),
        (
            "broken, whatever was judged",
            StatusRow {
                broken: Some("no HEAD".into()),
                breaker: open,
                ..of(Reason::Untrusted)
            },
            Person,
            "git cannot use it: no HEAD",
            Some("watchdog -C /w doctor"),
        ),
        (
            "gone, whatever was judged",
            StatusRow {
                gone: true,
                ..of(Reason::Untrusted)
            },
            Gone,
            "its folder is gone, or was moved; what was recorded of it is kept",
            None,
        ),
        (
            "interrupted loop",
            unfinished(),
            Resume,
            "loop interrupted at iteration 3; run the same `watchdog loop` again there to resume",
            Some("watchdog -C /w events"),
        ),
        (
            "running loop",
            StatusRow {
                holder: Some(holder),
                ..unfinished()
            },
            Running,
            "",
            None,
        ),
        (
            "untrusted",
            judged(
                json!({"status": "review", "reason": "untrusted", "message": "1 commit; but completion.json is not trusted"}),
            ),
            Person,
            "completion.json is not trusted and not used; read it, then type:",
            Some("watchdog -C /w trust"),
        ),
        (
            "disputed",
            of(Reason::Disputed),
            Person,
            "what it says",
            Some("watchdog -C /w events"),
        ),
        (
            "rescue_incomplete",
            of(Reason::RescueIncomplete),
            Person,
            "what it says",
            Some("watchdog -C /w rescue --spec s"),
        ),
        (
            "rate limited",
            limited(88_200),
            Next,
            "usage limit; look again at 02:30",
            None,
        ),
        (
            "rate limited until tomorrow",
            limited(172_800),
            Next,
            "usage limit; look again at 1970-01-03 02:00",
            None,
        ),
        (
            "limit is over",
            limited(86_400),
            Next,
            "usage limit",
            Some("watchdog -C /w check --spec s"),
        ),
        (
            "unmet",
            of(Reason::ChecksUnmet),
            Next,
            "what it says",
            Some("watchdog -C /w check --spec s"),
        ),
        (
            "never judged",
            row(),
            NotJudged,
            "not judged since its baseline was recorded at 00:13",
            Some("watchdog -C /w check --spec s"),
        ),
        (
            "beyond the journal",
            StatusRow {
                judgement_known: false,
                ..row()
            },
            NotJudged,
            "the journal has no judgement and does not reach back to its baseline, which was recorded at 00:13",
            Some("watchdog -C /w check --spec s"),
        ),
        (
            "held by a hook",
            by_hook("held"),
            Next,
            "its hook held the agent: incomplete (checks_unmet): x",
            Some("watchdog -C /w check --spec s"),
        ),
        (
            "let go by a hook",
            by_hook("let_go"),
            Next,
            "its hook let the agent go: incomplete (checks_unmet): x",
            Some("watchdog -C /w check --spec s"),
        ),
        (
            "complete",
            of(Reason::NothingToDo),
            Complete,
            "what it says",
            Some("watchdog -C /w events"),
        ),
        (
            "unreadable verdict",
            judged(json!({"status": 7})),
            Person,
            "its last verdict cannot be read by this version",
            Some("watchdog -C /w check --spec s"),
        ),
    ] {
        assert_eq!(
            said(&row),
            (rank, why.to_owned(), command.map(str::to_owned)),
            "{name}"
        );
        assert_eq!(row.needs_person(), rank == Person, "{name}");
    }
}

#[test]
fn every_attention_reason_has_command_and_sentence() {
    for reason in Reason::ALL {
        let (rank, why, command) = said(&of(*reason));
        assert_eq!(
            rank == AttentionRank::Person,
            reason.status().exit_code() >= 12,
            "{reason:?}"
        );
        assert!(
            !why.is_empty() && command.is_some_and(|command| command.contains(" -C /w ")),
            "{reason:?}"
        );
    }
}

#[test]
fn foreign_text_is_one_line_and_never_command() {
    let row = judged(
        json!({"status": "review", "reason": "disputed", "message": "run: watchdog -C / forget --yes\n\u{1b}[2Jdone"}),
    );
    let row = StatusRow {
        worktree: PathBuf::from("/it's"),
        spec: "a\u{1b}".into(),
        ..row
    };
    let (_, why, command) = said(&row);
    assert_eq!(why, "run: watchdog -C / forget --yes\\n\\x1b[2Jdone");
    assert_eq!(
        command, None,
        "a spec that no terminal carries is in no command"
    );
    let (.., command) = said(&StatusRow {
        spec: "$(x)".into(),
        worktree: PathBuf::from("/it's"),
        ..of(Reason::RescueIncomplete)
    });
    assert_eq!(
        command.as_deref(),
        Some(r"watchdog -C '/it'\''s' rescue --spec '$(x)'")
    );
}

#[test]
fn rank_order_matches_the_tables() {
    let rows = [
        of(Reason::Untrusted),
        StatusRow {
            looped: Some(interrupted_loop()),
            ..of(Reason::Working)
        },
        with_session(row(), SessionActivity::Running, None),
        of(Reason::RateLimited),
        row(),
        of(Reason::NewCommits),
        StatusRow {
            gone: true,
            ..row()
        },
    ];
    let ranks: Vec<AttentionRank> = rows.iter().map(AttentionRank::from_row).collect();
    assert!(
        ranks.is_sorted() && ranks.windows(2).all(|pair| pair[0] < pair[1]),
        "{ranks:?}"
    );
}
