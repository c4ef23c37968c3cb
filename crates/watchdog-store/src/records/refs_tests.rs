//! Refs of baselines: stored once, shared by baselines, and deleted once no baseline names them.

use jiff::{SignedDuration, Timestamp};

use super::*;
use crate::SqliteStore;
use crate::engine::ExpectedRevision;
use crate::engine::SharedStore as _;
use crate::sqlite::tests::Scratch;

fn tips(count: usize, object: char) -> RefList {
    (0..count)
        .map(|n| {
            (
                format!("refs/heads/task/{n}"),
                object.to_string().repeat(40),
            )
        })
        .collect()
}

fn day(day: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_hours(24 * day)
}

fn recorded(
    store: &dyn LocalStore,
    worktree: &str,
    tips: RefList,
    at: Timestamp,
) -> BaselineRecord {
    let refs = keep_refs(store, tips, at).unwrap();
    let record = BaselineRecord {
        commit: None,
        branch: None,
        refs,
        left_behind: Vec::new(),
        committer: None,
        at,
        worktree: "/repo".into(),
        clone_id: None,
        blocked: None,
    };
    record.write_row(store, worktree, "auth").unwrap();
    record
}

fn rows(store: &dyn LocalStore) -> usize {
    store
        .revisions(&RowKey::prefix(RefsRecord::KIND, &[]))
        .unwrap()
        .len()
}

#[test]
fn shared_refs_of_baselines_are_stored_once() {
    let scratch = Scratch::new();
    let store = SqliteStore::open(&scratch.dir).unwrap();
    for n in 0..5 {
        recorded(&store, &format!("wt{n}"), tips(1000, 'a'), day(1));
    }
    recorded(&store, "other", tips(1000, 'b'), day(1));
    recorded(&store, "few", tips(3, 'a'), day(1));
    recorded(&store, "none", RefList::default(), day(1));
    assert_eq!(rows(&store), 2);
    for (worktree, expected) in [
        ("wt0", tips(1000, 'a')),
        ("wt4", tips(1000, 'a')),
        ("other", tips(1000, 'b')),
        ("few", tips(3, 'a')),
        ("none", RefList::default()),
    ] {
        let baseline = BaselineRecord::read_row(&store, worktree, "auth")
            .unwrap()
            .unwrap();
        assert_eq!(
            read_refs(&store, &baseline.refs).unwrap(),
            expected,
            "{worktree}"
        );
    }
}

#[test]
fn refs_are_removed_after_their_last_baseline() {
    let scratch = Scratch::new();
    let store = SqliteStore::open(&scratch.dir).unwrap();
    let first = recorded(&store, "wt", tips(1000, 'a'), day(1));
    recorded(&store, "wt", tips(1000, 'b'), day(2));
    assert_eq!(forget_unused(&store, day(2)).unwrap(), 0, "too young");
    assert_eq!(read_refs(&store, &first.refs).unwrap(), tips(1000, 'a'));
    // Somebody is about to record a baseline with them: they are as good as new.
    assert_eq!(
        keep_refs(&store, tips(1000, 'a'), day(9)).unwrap(),
        first.refs
    );
    assert_eq!(
        forget_unused(&store, day(10)).unwrap(),
        0,
        "written again a day ago"
    );
    assert_eq!(forget_unused(&store, day(12)).unwrap(), 1);
    let gone = read_refs(&store, &first.refs).unwrap_err().to_string();
    assert!(gone.contains("gone"), "{gone}");
    let baseline = BaselineRecord::read_row(&store, "wt", "auth")
        .unwrap()
        .unwrap();
    assert_eq!(
        read_refs(&store, &baseline.refs).unwrap(),
        tips(1000, 'b'),
        "however old, as a baseline names them"
    );
}

#[test]
fn unreadable_baseline_prevents_forgetting() {
    let scratch = Scratch::new();
    let store = SqliteStore::open(&scratch.dir).unwrap();
    recorded(&store, "wt", tips(1000, 'a'), day(1));
    let key = RowKey::new(BaselineRecord::KIND, &["broken", "auth"]);
    assert!(matches!(
        store.cas(&key, ExpectedRevision::Absent, b"{}").unwrap(),
        SwapOutcome::Ok(_)
    ));
    forget_unused(&store, day(100)).unwrap_err();
    assert_eq!(rows(&store), 1);
}

#[test]
fn first_version_baseline_contains_its_own_refs() {
    let scratch = Scratch::new();
    let store = SqliteStore::open(&scratch.dir).unwrap();
    let text = tips(1000, 'c');
    let old = serde_json::json!({ "v": 1, "commit": null, "branch": "main", "at": day(1), "worktree": "/repo", "refs": text });
    let key = RowKey::new(BaselineRecord::KIND, &["wt", "auth"]);
    assert!(matches!(
        store
            .cas(&key, ExpectedRevision::Absent, old.to_string().as_bytes())
            .unwrap(),
        SwapOutcome::Ok(_)
    ));
    let baseline = BaselineRecord::read_row(&store, "wt", "auth")
        .unwrap()
        .unwrap();
    assert_eq!(baseline.branch.as_deref(), Some("main"));
    assert_eq!(read_refs(&store, &baseline.refs).unwrap(), tips(1000, 'c'));
}
