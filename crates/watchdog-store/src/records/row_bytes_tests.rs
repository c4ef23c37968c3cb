//! The rows as versions 1 and 2 wrote them. A change here is a new version of a row, with a reader of the older one.

use super::row::{RecordType, decode_row, encode_row};
use super::{
    anchor, answer, baseline, before, check_cache, conversation, expiry, figures, hook_session,
    left_rows, looped,
};
use super::{
    notice_record, outbox, progress, refs, rescued, session, still_work, sweep_cache, task,
    uncommitted,
};
use serde_json::Value;

use crate::key::RowKey;
use watchdog_core::decision::breaker::Breaker;

/// Reads a stored row and writes it again.
fn rewritten<R: RecordType>(bytes: &str) -> Value {
    let key = RowKey::new(R::KIND, &["w", "s"]);
    let row: R = decode_row(&key, bytes.as_bytes()).expect(bytes);
    parsed(&String::from_utf8(encode_row(&row)).expect("rows are text"))
}

fn parsed(row: &str) -> Value {
    serde_json::from_str(row).expect("rows are JSON")
}

#[track_caller]
fn assert_kept<R: RecordType>(rows: &[&str]) {
    for row in rows {
        assert_eq!(rewritten::<R>(row), parsed(row), "{}", R::KIND);
    }
}

#[test]
fn a_row_that_is_read_is_written_the_same() {
    assert_kept::<anchor::CriteriaAnchor>(&[
        r#"{"v":1,"file":"{}","commit":"c0","differing":{"a":"1","b":null},"at":"2026-03-04T05:06:07Z","end":{"head":null,"remotes":[["refs/remotes/o/m","c1"]]}}"#,
        r#"{"v":1,"file":null,"commit":null,"differing":{},"at":"2026-03-04T05:06:07.5Z","end":null}"#,
    ]);
    assert_kept::<answer::StandingAnswer>(&[
        r#"{"v":1,"state":"s","since":"2026-03-04T05:06:07Z","at":"2026-03-04T05:06:08Z","pauses":2,"outcome":"reply","why":null,"retry_at":null,"reply":{"status":"waiting","message":"m","agents_active":true,"agents_details":["a"],"tasks_completed":[],"tasks_pending":["t"],"commits_made":null,"should_continue":null,"next_action":null,"doubt":"d"},"session_id":"i","reason":"waiting","last_word":false}"#,
    ]);
    assert_kept::<baseline::BaselineRecord>(&[
        r#"{"v":2,"commit":"c0","branch":null,"at":"2026-03-04T05:06:07Z","worktree":"/w%25","refs":"c0 refs/heads/main"}"#,
        r#"{"v":2,"commit":null,"branch":"main","at":"2026-03-04T05:06:07Z","worktree":"/w","kept_refs":"0f","blocked":"why"}"#,
    ]);
    assert_kept::<before::ChecksBeforeRecord>(&[
        r#"{"v":1,"begun":[{"check":"c","tree":"t","passed":true,"tests":{"ran":3,"failed":1,"skipped":0},"at":"2026-03-04T05:06:07Z"}],"seen":[{"check":"c","tree":"t","passed":false,"at":"2026-03-04T05:06:07Z"}]}"#,
    ]);
    assert_kept::<Breaker>(&[
        r#"{"v":1,"state":"closed","strikes":1,"why":"timeout"}"#,
        r#"{"v":1,"state":"closed","strikes":0,"why":null}"#,
        r#"{"v":1,"state":"open","strikes":3,"since":"2026-03-04T05:06:07Z","why":"timeout"}"#,
        r#"{"v":1,"state":"half_open","strikes":3,"since":"2026-03-04T05:06:07Z","why":"timeout","trial_since":null}"#,
        r#"{"v":1,"state":"half_open","strikes":3,"since":"2026-03-04T05:06:07Z","why":"","trial_since":"2026-03-05T05:06:07Z"}"#,
    ]);
    assert_kept::<check_cache::PassRecord>(&[
        r#"{"v":1,"passes":[{"inputs":"i","at":"2026-03-04T05:06:07Z","tests":{"ran":3,"failed":1,"skipped":2}},{"inputs":"j","at":"2026-03-04T05:06:07Z"}]}"#,
    ]);
    assert_kept::<conversation::SpecConversations>(&[
        r#"{"v":1,"baseline_at":"2026-03-04T05:06:07Z","before":[["a",7]],"pinned":["a","env"],"seen":["codex"]}"#,
        r#"{"v":1,"baseline_at":"2026-03-04T05:06:07Z","before":[],"pinned":null}"#,
    ]);
    assert_kept::<expiry::LastExpiry>(&[r#"{"v":1,"at":"2026-03-04T05:06:07Z"}"#]);
    assert_kept::<figures::FoldCursor>(&[r#"{"v":1,"through":42}"#]);
    assert_kept::<figures::DayRecord>(&[
        r#"{"v":2,"through":42,"all":{"looks":2},"works":{"w":{"s":{"looks":2}}},"completed":[{"w":"w","s":"s","n":1,"t":60,"c":null,"q":0}],"measured":true}"#,
        r#"{"v":2,"through":42,"all":{},"measured":false,"incomplete":true}"#,
    ]);
    assert_kept::<crate::measures::WorkState>(&[
        r#"{"v":1,"at":"2026-03-04T05:06:07Z","session":"running","started_at":null,"cut_by":null,"seen":"working c0 c0","complete":false,"baseline":"c0","made":1,"tripped":false,"aborted":true,"aborts":[{"at":"2026-03-04T05:06:07Z","why":"max_probes","anew":false}],"span":{"sessions":1,"timed":1,"seconds":60,"priced":0,"cost_micros":0,"questions":2},"unattributed":0}"#,
    ]);
    assert_kept::<still_work::StillWork>(&[
        r#"{"v":1,"baseline_at":"2026-03-04T05:06:07Z","state":"s","at":"2026-03-04T05:06:08Z","boot":"b","awake_ms":7,"since_boot_ms":9,"moved":true}"#,
    ]);
    assert_kept::<hook_session::HookedAgent>(&[
        r#"{"v":1,"worktree":"/w%FF%25","spec":"s","pid":7,"prompt_id":"p","held":1,"denied":2,"accepted":["p","c"],"heard_at":"2026-03-04T05:06:07Z","turn_over_at":"2026-03-04T05:06:07Z"}"#,
        r#"{"v":1,"worktree":"/w","spec":null,"pid":null,"prompt_id":null,"held":0,"denied":0,"accepted":null,"heard_at":"2026-03-04T05:06:07Z"}"#,
    ]);
    assert_kept::<left_rows::UnfinishedForget>(&[r#"{"v":1,"worktrees":["a","b"]}"#]);
    assert_kept::<looped::LoopRecord>(&[
        r#"{"v":1,"id":"l","begun_at":"2026-03-04T05:06:07Z","origin":"c0","refs":"c0 refs/heads/main","finished":1,"work":"w","unchanged":0,"crashes":0,"waits":0,"spent":{"turns":1,"tokens":2,"cost_usd":0.5,"wall_seconds":3.0,"untold":[]},"records":[],"at_most":5,"under_way":[2,"2026-03-04T05:06:07Z"],"feedback":"f","session_id":null,"over":null,"birth":"b"}"#,
    ]);
    assert_kept::<notice_record::ShownNews>(&[r#"{"v":1,"last":"state\ntimeout"}"#]);
    assert_kept::<outbox::OutboxNotice>(&[
        r#"{"v":1,"event":{"kind":"verdict"},"command":["a"],"url":null,"timeout_seconds":10,"retries":2,"attempts":1,"not_before":"2026-03-04T05:06:07Z"}"#,
        r#"{"v":1,"event":{},"command":null,"url":null,"service":{"url":"http://h","template":"slack"},"timeout_seconds":10,"retries":2,"attempts":0,"not_before":"2026-03-04T05:06:07Z"}"#,
        r#"{"v":1,"event":{},"command":null,"url":null,"desktop":true,"timeout_seconds":10,"retries":2,"attempts":0,"not_before":"2026-03-04T05:06:07Z"}"#,
        r#"{"v":1,"event":{},"command":null,"url":null,"mail":["a@b"],"timeout_seconds":10,"retries":2,"attempts":0,"not_before":"2026-03-04T05:06:07Z"}"#,
    ]);
    assert_kept::<progress::CheckProgress>(&[
        r#"{"v":1,"baseline":"c0","rounds_used":1,"rounds_answered":1,"rounds_alive":1,"nothing_to_do_streak":0,"fruitless":2,"unmet":"00000000000000ff","fingerprint":"ffffffffffffffff","updated_at":"2026-03-04T05:06:07Z"}"#,
        r#"{"v":1,"baseline":null,"rounds_used":0,"rounds_answered":0,"rounds_alive":0,"nothing_to_do_streak":0,"fingerprint":null,"updated_at":"2026-03-04T05:06:07Z"}"#,
    ]);
    assert_kept::<refs::RefsRecord>(&[
        r#"{"v":1,"at":"2026-03-04T05:06:07Z","refs":"c0 refs/heads/main\n"}"#,
    ]);
    assert_kept::<rescued::RescuedCommitList>(&[
        r#"{"v":1,"commits":[{"id":"c0","patch":"p","authored":"a"},{"id":"c1","authored":"b"}]}"#,
    ]);
    assert_kept::<session::SessionRecord>(&[
        r#"{"v":1,"session_id":"i","pid":7,"started_at":"2026-03-04T05:06:07Z","ended_at":"2026-03-04T05:06:08Z","log":"/l","idle_limit_ms":1500,"exit":[3,null,"itself"],"survivors":[[8,"sh"]],"quiet":{"since":"2026-03-04T05:06:08Z","used":20}}"#,
        r#"{"v":1,"session_id":null,"pid":null,"started_at":"2026-03-04T05:06:07Z","ended_at":null,"log":null,"idle_limit_ms":null}"#,
        r#"{"v":1,"session_id":null,"agent":"codex","agent_source":"processes","pid":null,"started_at":"2026-03-04T05:06:07Z","ended_at":null,"log":null,"idle_limit_ms":null}"#,
        r#"{"v":1,"session_id":null,"agent":"codex","pid":null,"started_at":"2026-03-04T05:06:07Z","ended_at":null,"log":null,"idle_limit_ms":null}"#,
    ]);
    assert_kept::<sweep_cache::SweepCacheEntry>(&[
        r#"{"v":1,"asked":"a","traces":"t","stamp":"s","snapshot":"n","at":"2026-03-04T05:06:07Z","verdict":{"status":"complete"}}"#,
    ]);
    assert_kept::<task::TaskRecord>(&[
        r#"{"v":1,"status":"in_progress","agent":"a","fence":3,"reason":"r","message":"m","log":"/l","branch":"b","worktree":"/w","baseline":"c0","pinned":{"path":"t.md","text":"x"},"attempts":1,"since":"2026-03-04T05:06:07Z","changed_at":"2026-03-04T05:06:08Z"}"#,
    ]);
    assert_kept::<uncommitted::UncommittedRecord>(&[
        r#"{"v":1,"baseline_at":"2026-03-04T05:06:07Z","inherited":{"a":"1"},"end":{"b":"2"},"completed":true}"#,
        r#"{"v":1,"baseline_at":"2026-03-04T05:06:07Z","inherited":{},"completed":false}"#,
    ]);
    assert_kept::<uncommitted::WatchdogWrittenFiles>(&[r#"{"v":1,"files":{"a":"1"}}"#]);
}

#[test]
fn first_version_figures_read_as_unmeasured_without_specs() {
    let old = r#"{"v":1,"through":42,"all":{"iterations":2},"worktrees":{"w":{"iterations":2}}}"#;
    let new = r#"{"v":2,"through":42,"all":{"iterations":2},"works":{"w":{"":{"iterations":2}}},"measured":false}"#;
    assert_eq!(rewritten::<figures::DayRecord>(old), parsed(new));
}

#[test]
fn pairs_of_older_rows_are_read() {
    let session = |quiet: &str| {
        rewritten::<session::SessionRecord>(&format!(
            r#"{{"v":1,"session_id":null,"pid":7,"started_at":"2026-03-04T05:06:07Z","ended_at":null,"log":null,"quiet":{quiet}}}"#
        ))
    };
    let since = "2026-03-04T05:06:08Z";
    assert_eq!(
        session(&format!(r#"["{since}",20]"#)),
        session(&format!(r#"{{"since":"{since}","used":20}}"#))
    );
    let looped = |hold: &str| {
        rewritten::<looped::LoopRecord>(&format!(
            r#"{{"v":1,"id":"l","begun_at":"{since}","origin":null,"refs":"","finished":1,"work":null,"unchanged":0,"crashes":0,"waits":0,"spent":{NO_USAGE},"records":[],"under_way":null,"feedback":null,"session_id":null,"over":null,"agents":[{{"name":"a","hold":{hold},"misses":0,"sessions":1,"spent":{NO_USAGE}}}]}}"#
        ))
    };
    assert_eq!(
        looped(&format!(r#"["{since}","overload"]"#)),
        looped(&format!(r#"{{"until":"{since}","why":"overload"}}"#))
    );
}

const NO_USAGE: &str =
    r#"{"turns":0,"tokens":0,"cost_usd":0.0,"wall_seconds":0.0,"untold":["cost"]}"#;

#[test]
fn members_unknown_to_first_versions_are_optional() {
    let at = r#""2026-03-04T05:06:07Z""#;
    let anchor = rewritten::<anchor::CriteriaAnchor>(&format!(
        r#"{{"v":1,"file":null,"commit":null,"at":{at}}}"#
    ));
    assert_eq!(
        anchor,
        parsed(&format!(
            r#"{{"v":1,"file":null,"commit":null,"differing":{{}},"at":{at},"end":null}}"#
        ))
    );
    let conversation = rewritten::<conversation::SpecConversations>(&format!(
        r#"{{"v":1,"baseline_at":{at},"before":[]}}"#
    ));
    assert_eq!(
        conversation,
        parsed(&format!(
            r#"{{"v":1,"baseline_at":{at},"before":[],"pinned":null}}"#
        ))
    );
}
