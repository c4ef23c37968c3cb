//! Whatever an agent or a program says, and however much there is of it: what is kept is short, and says that it was cut.

use std::time::Duration;

use crate::sample_facts::{command_result, probe};
use jiff::Timestamp;
use watchdog_facts::evidence::{CheckOutcome, LeftOutReason, ReplyStatus};

use super::*;

/// A text of so many characters.
fn said(chars: usize) -> String {
    "ä".repeat(chars)
}

/// What a cut one of so many characters looks like.
fn cut(chars: usize) -> String {
    format!("{}…", "ä".repeat(chars - 1))
}

fn question(outcome: ProbeOutcome, disputed: Option<String>) -> ProbeRecord {
    ProbeRecord {
        duration: Duration::from_secs(7),
        disputed,
        session_id: Some("s".into()),
        ..probe(outcome, 1)
    }
}

#[test]
fn check_name_and_feedback_are_truncated() {
    let check = |name: String, feedback: String| CheckResult {
        feedback,
        ..command_result(&name, CheckOutcome::Unmet)
    };
    assert_eq!(
        bound_check(&check(said(161), said(401))),
        check(cut(160), cut(400))
    );
    assert_eq!(
        bound_check(&check(said(160), said(400))),
        check(said(160), said(400)),
        "nothing is too long"
    );
}

#[test]
fn answer_texts_and_lists_are_truncated() {
    let answer = |text: String, item: String, agents: usize, tasks: usize| {
        let reply = Reply {
            message: text.clone(),
            agents_active: Some(true),
            agents_details: vec![item.clone(); agents],
            tasks_completed: vec![item.clone(); tasks],
            tasks_pending: vec![item; tasks],
            next_action: Some(text.clone()),
            doubt: Some(text.clone()),
            ..Reply::bare(ReplyStatus::Working)
        };
        question(ProbeOutcome::Reply(reply), Some(text))
    };
    assert_eq!(
        bound_probe(&answer(said(401), said(161), 4, 11)),
        answer(cut(400), cut(160), 3, 10)
    );
    assert_eq!(
        bound_probe(&answer(said(400), said(160), 3, 10)),
        answer(said(400), said(160), 3, 10),
        "nothing is too long"
    );
}

#[test]
fn reason_for_missing_answer_is_truncated() {
    let retry_at = Some(Timestamp::UNIX_EPOCH);
    let outcomes: [fn(String) -> ProbeOutcome; 6] = [
        |why| ProbeOutcome::Unreadable { why },
        |why| ProbeOutcome::NoConversation { why },
        |why| ProbeOutcome::NotInstalled { why },
        |why| ProbeOutcome::NotLoggedIn { why },
        |why| ProbeOutcome::Overloaded { why },
        |why| ProbeOutcome::Failed { why },
    ];
    for outcome in outcomes {
        assert_eq!(bound_outcome(&outcome(said(401))), outcome(cut(400)));
    }
    let limited = |why| ProbeOutcome::RateLimited { why, retry_at };
    assert_eq!(
        bound_outcome(&limited(said(401))),
        limited(cut(400)),
        "when it may be asked again stays"
    );
    assert_eq!(
        [ProbeOutcome::Empty, ProbeOutcome::TimedOut].map(|outcome| bound_outcome(&outcome)),
        [ProbeOutcome::Empty, ProbeOutcome::TimedOut]
    );
}

#[test]
fn rescue_lists_keep_their_first_entries() {
    let rescue = |text: String, item: String, listed: usize| RescueOutcome {
        commits: 11,
        made: vec!["1".repeat(40); listed],
        failed: Some(text),
        lost: vec![item; listed],
        left_out: (0..listed)
            .map(|n| LeftOut {
                path: format!("{n}.pem"),
                why: LeftOutReason::Secret,
            })
            .collect(),
        ..RescueOutcome::default()
    };
    assert_eq!(
        bound_rescue(&rescue(said(401), said(161), 11)),
        rescue(cut(400), cut(160), 10)
    );
    assert_eq!(
        bound_rescue(&rescue(said(400), said(160), 10)),
        rescue(said(400), said(160), 10),
        "nothing is too much"
    );
}
