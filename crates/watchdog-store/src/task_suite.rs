//! The suite of [`TaskStore`], for every place where tasks are recorded: each function takes one that is empty and panics where a promise is
//! broken. [`on_each_task_test`](crate::on_each_task_test) makes tests of them.

#![allow(clippy::missing_panics_doc, reason = "a test that fails panics")]

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use watchdog_core::config::task_file::TaskStatus;

use crate::task::{PinnedFile, TaskRecord};
use crate::task_store::{ClaimedTask, TaskClaim, TaskStore};

const LONG: Duration = Duration::from_secs(3600);
const SHORT: Duration = Duration::from_millis(300);

/// Makes a test of each function of the suite: `$on` is called with it, and has to hand it an empty store of tasks.
#[macro_export]
macro_rules! on_each_task_test {
    ($on:path) => {
        $crate::on_each_task_test!($on:
            what_is_recorded_comes_back
            a_change_that_leaves_a_task_writes_nothing
            the_first_task_that_nobody_has_is_taken
            many_workers_take_each_task_once_and_fences_grow
            whoever_lost_a_task_changes_nothing_any_more
            a_task_is_given_back_once_its_lease_has_ended_and_not_before
            a_person_changes_nothing_under_a_workers_hands
            a_step_that_ends_the_work_ends_its_lease
            a_step_under_a_lease_that_was_released_changes_nothing
            a_pin_moves_while_a_worker_goes_on
        );
    };
    ($on:path: $($name:ident)+) => {
        $(#[test]
        fn $name() {
            $on($crate::task_suite::$name);
        })+
    };
}

fn put(store: &dyn TaskStore, id: &str, status: TaskStatus) {
    let done = store
        .change(id, &|found| {
            found
                .is_none()
                .then(|| TaskRecord::begin(status, Timestamp::UNIX_EPOCH))
        })
        .unwrap();
    assert!(done.is_written && done.from.is_none(), "{id}");
}

fn record(store: &dyn TaskStore, id: &str) -> TaskRecord {
    store
        .tasks()
        .unwrap()
        .into_iter()
        .find(|task| task.id == id)
        .expect("it is recorded")
        .record
}

fn claim_one(
    store: &dyn TaskStore,
    ids: &[&str],
    holder: &str,
    ttl: Duration,
) -> Option<ClaimedTask> {
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    let (from, to) = (&[TaskStatus::Pending], TaskStatus::Assigned);
    store
        .claim(&TaskClaim {
            ids: &ids,
            from,
            to,
            agent: "be-1",
            holder,
            ttl,
            now: Timestamp::UNIX_EPOCH,
        })
        .unwrap()
}

fn stepped(
    to: TaskStatus,
    fence: Option<i64>,
) -> impl Fn(Option<&TaskRecord>) -> Option<TaskRecord> {
    move |found| {
        found.map(|found| TaskRecord {
            status: to,
            fence,
            ..found.clone()
        })
    }
}

/// Gives a task back as the queue does, as soon as its lease has ended.
fn given_back(store: &dyn TaskStore, id: &str) -> TaskRecord {
    let begun = Instant::now();
    let found = record(store, id);
    loop {
        let back = |found: Option<&TaskRecord>| {
            found.map(|found| TaskRecord {
                status: TaskStatus::Pending,
                fence: None,
                reason: Some("lease_ended".into()),
                ..found.clone()
            })
        };
        if let Some(done) = store.give_back(id, &found, &back).unwrap() {
            return done.record;
        }
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "its lease never ended"
        );
        thread::sleep(Duration::from_millis(10));
    }
}

/// See its name.
pub fn what_is_recorded_comes_back(store: &dyn TaskStore) {
    assert_eq!(store.tasks().unwrap(), []);
    let whole = TaskRecord {
        agent: Some("be-1".into()),
        reason: Some("max_iterations".into()),
        message: Some("the cap was reached".into()),
        log: Some("/state/logs/a b".into()),
        branch: Some("watchdog/T1".into()),
        worktree: Some("/w/\u{fc}".into()),
        head: Some("0123".into()),
        baseline: Some(String::new()),
        pinned: Some(PinnedFile {
            path: "T1.md".into(),
            text: "---\nid: T1\n---\n\u{0}".into(),
        }),
        attempts: 3,
        ..TaskRecord::begin(TaskStatus::Review, Timestamp::UNIX_EPOCH)
    };
    store.change("T1", &|_| Some(whole.clone())).unwrap();
    put(store, "T\u{fc}/2", TaskStatus::Pending);
    let tasks = store.tasks().unwrap();
    assert_eq!(
        tasks
            .iter()
            .map(|task| task.id.as_str())
            .collect::<Vec<_>>(),
        ["T1", "T\u{fc}/2"]
    );
    let found = TaskRecord {
        depends_on: None,
        machine: None,
        since: whole.since,
        changed_at: whole.changed_at,
        ..record(store, "T1")
    };
    assert_eq!(found, whole);
    assert!(!tasks[0].is_held);
}

/// See its name.
pub fn a_change_that_leaves_a_task_writes_nothing(store: &dyn TaskStore) {
    assert!(!store.change("a", &|_| None).unwrap().is_written);
    assert_eq!(store.tasks().unwrap(), []);
    put(store, "a", TaskStatus::Pending);
    let before = record(store, "a");
    assert!(!store.change("a", &|_| None).unwrap().is_written);
    let done = store.change("a", &|found| found.cloned()).unwrap();
    assert_eq!(
        (done.is_written, done.from, record(store, "a")),
        (false, Some(TaskStatus::Pending), before)
    );
}

/// See its name.
pub fn the_first_task_that_nobody_has_is_taken(store: &dyn TaskStore) {
    for (id, status) in [
        ("a", TaskStatus::Complete),
        ("b", TaskStatus::Pending),
        ("c", TaskStatus::Pending),
        ("d", TaskStatus::Review),
    ] {
        put(store, id, status);
    }
    let claimed = claim_one(store, &["none", "a", "c", "b", "d"], "one", LONG).expect("c is there");
    assert_eq!(
        (
            claimed.lease.id.as_str(),
            claimed.from,
            claimed.record.status
        ),
        ("c", TaskStatus::Pending, TaskStatus::Assigned)
    );
    assert_eq!(
        (claimed.record.agent.as_deref(), claimed.record.fence),
        (Some("be-1"), Some(claimed.lease.fence))
    );
    assert_eq!(
        claim_one(store, &["c", "b"], "two", LONG)
            .expect("b is there")
            .lease
            .id,
        "b"
    );
    assert_eq!(claim_one(store, &["a", "b", "c", "d"], "three", LONG), None);
    assert_eq!(claim_one(store, &[], "four", LONG), None);
    let ids = ["d".to_owned()];
    let (from, to) = (
        &[TaskStatus::Review, TaskStatus::Failed],
        TaskStatus::InProgress,
    );
    let again = TaskClaim {
        ids: &ids,
        from,
        to,
        agent: "me",
        holder: "five",
        ttl: LONG,
        now: Timestamp::UNIX_EPOCH,
    };
    let claimed = store
        .claim(&again)
        .unwrap()
        .expect("a person takes it again");
    assert_eq!(
        (claimed.from, claimed.record.status),
        (TaskStatus::Review, TaskStatus::InProgress)
    );
}

/// See its name.
pub fn many_workers_take_each_task_once_and_fences_grow(store: &dyn TaskStore) {
    const TASKS: usize = 12;
    let names: Vec<String> = (0..TASKS).map(|n| format!("t{n:02}")).collect();
    names
        .iter()
        .for_each(|id| put(store, id, TaskStatus::Pending));
    let ids: Vec<&str> = names.iter().map(String::as_str).collect();
    let taken: Vec<ClaimedTask> = thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|worker| {
                let ids = &ids;
                scope.spawn(move || {
                    let one = |n: usize| claim_one(store, ids, &format!("{worker} {n}"), LONG);
                    (0..TASKS).map_while(one).collect::<Vec<_>>()
                })
            })
            .collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().expect("no panic"))
            .collect()
    });
    let distinct: BTreeSet<&str> = taken
        .iter()
        .map(|claimed| claimed.lease.id.as_str())
        .collect();
    assert_eq!((taken.len(), distinct.len()), (TASKS, TASKS));
    let first = taken
        .into_iter()
        .find(|claimed| claimed.lease.id == "t00")
        .expect("all were taken")
        .lease;
    store
        .step(&first, &stepped(TaskStatus::Pending, None))
        .unwrap()
        .expect("ours");
    store.release(&first).unwrap();
    assert!(
        claim_one(store, &["t00"], "next", LONG)
            .expect("it is free")
            .lease
            .fence
            > first.fence
    );
}

/// See its name.
pub fn whoever_lost_a_task_changes_nothing_any_more(store: &dyn TaskStore) {
    put(store, "a", TaskStatus::Pending);
    let lost = claim_one(store, &["a"], "slow", SHORT)
        .expect("it is free")
        .lease;
    assert_eq!(given_back(store, "a").status, TaskStatus::Pending);
    assert!(!store.renew(&lost, LONG).unwrap());
    assert_eq!(
        store
            .step(&lost, &stepped(TaskStatus::InProgress, Some(lost.fence)))
            .unwrap(),
        None,
        "before somebody else has it"
    );
    let next = claim_one(store, &["a"], "next", LONG)
        .expect("it is free")
        .lease;
    let before = record(store, "a");
    assert_eq!(
        store
            .step(&lost, &stepped(TaskStatus::Complete, None))
            .unwrap(),
        None
    );
    store.release(&lost).unwrap();
    assert!(!store.renew(&lost, LONG).unwrap());
    assert_eq!(record(store, "a"), before);
    assert!(
        store.renew(&next, LONG).unwrap(),
        "the late one did not disturb the new one"
    );
}

/// See its name.
pub fn a_task_is_given_back_once_its_lease_has_ended_and_not_before(store: &dyn TaskStore) {
    put(store, "a", TaskStatus::Pending);
    let held = claim_one(store, &["a"], "one", LONG)
        .expect("it is free")
        .lease;
    let found = record(store, "a");
    let back = stepped(TaskStatus::Pending, None);
    assert_eq!(store.give_back("a", &found, &back).unwrap(), None);
    store.release(&held).unwrap();
    let done = store
        .give_back("a", &found, &back)
        .unwrap()
        .expect("it was released");
    assert_eq!(
        (done.from, done.record.status, done.record.fence),
        (Some(TaskStatus::Assigned), TaskStatus::Pending, None)
    );
    let held = claim_one(store, &["a"], "two", LONG)
        .expect("it is free")
        .lease;
    store.release(&held).unwrap();
    assert_eq!(
        store.give_back("a", &found, &back).unwrap(),
        None,
        "that lease is another one"
    );
}

/// See its name.
pub fn a_person_changes_nothing_under_a_workers_hands(store: &dyn TaskStore) {
    put(store, "a", TaskStatus::Pending);
    let set = stepped(TaskStatus::Blocked, None);
    let done = store
        .change_unheld("a", "me", &set)
        .unwrap()
        .expect("nobody has it");
    assert_eq!(
        (done.from, done.record.status, done.is_written),
        (Some(TaskStatus::Pending), TaskStatus::Blocked, true)
    );
    store
        .change_unheld("a", "me", &stepped(TaskStatus::Pending, None))
        .unwrap()
        .expect("nobody has it");
    let held = claim_one(store, &["a"], "one", LONG)
        .expect("it is free")
        .lease;
    assert_eq!(store.change_unheld("a", "me", &set).unwrap(), None);
    assert_eq!(record(store, "a").status, TaskStatus::Assigned);
    store.release(&held).unwrap();
    assert!(
        store
            .change_unheld("a", "me", &set)
            .unwrap()
            .is_some_and(|done| done.is_written)
    );
}

/// See its name.
pub fn a_step_that_ends_the_work_ends_its_lease(store: &dyn TaskStore) {
    put(store, "a", TaskStatus::Pending);
    let held = claim_one(store, &["a"], "one", LONG)
        .expect("it is free")
        .lease;
    let begun = store
        .step(&held, &stepped(TaskStatus::InProgress, Some(held.fence)))
        .unwrap()
        .expect("ours");
    assert_eq!(
        (begun.from, begun.record.status),
        (Some(TaskStatus::Assigned), TaskStatus::InProgress)
    );
    let done = store
        .step(&held, &stepped(TaskStatus::Complete, None))
        .unwrap()
        .expect("ours");
    assert_eq!(
        (done.from, done.record.status, done.record.fence),
        (Some(TaskStatus::InProgress), TaskStatus::Complete, None)
    );
    store.release(&held).unwrap();
    assert!(
        store
            .change_unheld("a", "me", &stepped(TaskStatus::Pending, None))
            .unwrap()
            .is_some()
    );
}

/// See its name.
pub fn a_step_under_a_lease_that_was_released_changes_nothing(store: &dyn TaskStore) {
    put(store, "a", TaskStatus::Pending);
    let held = claim_one(store, &["a"], "one", LONG)
        .expect("it is free")
        .lease;
    store.release(&held).unwrap();
    assert_eq!(
        store
            .step(&held, &stepped(TaskStatus::Complete, None))
            .unwrap(),
        None
    );
    assert_eq!(record(store, "a").status, TaskStatus::Assigned);
}

/// See its name.
pub fn a_pin_moves_while_a_worker_goes_on(store: &dyn TaskStore) {
    put(store, "a", TaskStatus::Pending);
    let held = claim_one(store, &["a"], "one", LONG)
        .expect("it is free")
        .lease;
    let pinned = PinnedFile {
        path: "a.md".into(),
        text: "new".into(),
    };
    let pin = |found: Option<&TaskRecord>| {
        found.map(|found| TaskRecord {
            pinned: Some(pinned.clone()),
            ..found.clone()
        })
    };
    assert!(store.change("a", &pin).unwrap().is_written);
    assert!(store.renew(&held, LONG).unwrap());
    store
        .step(&held, &stepped(TaskStatus::InProgress, Some(held.fence)))
        .unwrap()
        .expect("still ours");
    assert_eq!(record(store, "a").pinned, Some(pinned));
}
