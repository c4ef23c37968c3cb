//! The table of tasks on a real server: the suite of all stores of tasks, the same outcome as on one machine, and answers that are lost.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use watchdog_core::config::task_file::{TASK_STATUSES, TaskStatus};
use watchdog_fleet::FleetTasks;
use watchdog_store::task::TaskRecord;
use watchdog_store::task_store::{LocalTasks, TaskClaim, TaskLease, TaskStore};
use watchdog_store::{SqliteStore, StateDir};

use crate::cutting_proxy::{CutPoint, CuttingProxy};
use crate::test_database::TestDatabase;
use crate::{server, with_tables};

const LONG: Duration = Duration::from_secs(3600);

fn tasks(address: &str, machine: &str) -> FleetTasks {
    FleetTasks::new(
        Arc::new(server(address).unwrap().needing_its_format()),
        machine,
        "host/repo",
    )
}

fn over_tls(test: fn(&dyn TaskStore)) {
    let database = TestDatabase::new();
    with_tables(&database);
    // Another repository's tasks of the same names.
    let other = FleetTasks::new(
        Arc::new(server(&database.full_address("worker")).unwrap()),
        "one",
        "host/other",
    );
    other
        .change("a", &|_| {
            Some(TaskRecord::begin(
                TaskStatus::Complete,
                Timestamp::UNIX_EPOCH,
            ))
        })
        .unwrap();
    test(&tasks(&database.full_address("worker"), "one"));
}

fn through_a_pooler(test: fn(&dyn TaskStore)) {
    let database = TestDatabase::new();
    with_tables(&database);
    let address = database
        .pooler_address("worker")
        .expect("pgbouncer is not installed: apt-get install pgbouncer");
    test(&tasks(&address, "one"));
}

mod direct {
    crate::on_each_task_test!(super::over_tls);
}

mod pooled {
    crate::on_each_task_test!(super::through_a_pooler);
}

fn put(store: &dyn TaskStore, id: &str, depends_on: &[&str]) {
    let depends_on = Some(depends_on.iter().map(ToString::to_string).collect());
    let new = TaskRecord {
        depends_on,
        ..TaskRecord::begin(TaskStatus::Pending, Timestamp::UNIX_EPOCH)
    };
    store
        .change(id, &|found| found.is_none().then(|| new.clone()))
        .unwrap();
}

fn claim(store: &dyn TaskStore, ids: &[&str], holder: &str) -> Option<TaskLease> {
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    let (from, to) = (&[TaskStatus::Pending], TaskStatus::Assigned);
    let claim = TaskClaim {
        ids: &ids,
        from,
        to,
        agent: "be-1",
        holder,
        ttl: LONG,
        now: Timestamp::UNIX_EPOCH,
    };
    store.claim(&claim).unwrap().map(|claimed| claimed.lease)
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

fn steps(database: &TestDatabase) -> String {
    database.sql(
        "SELECT string_agg(concat_ws(' ', task, coalesce(from_status, '-'), to_status, coalesce(machine, '-'), (fence IS NOT NULL)::text), \
         ', ' ORDER BY number) FROM watchdog.task_step",
    )
}

#[test]
fn task_with_open_dependency_is_never_taken() {
    let database = TestDatabase::new();
    with_tables(&database);
    let (one, two) = (
        tasks(&database.full_address("worker"), "one"),
        tasks(&database.full_address("worker"), "two"),
    );
    put(&one, "a", &[]);
    put(&one, "b", &["a"]);
    put(&one, "c", &["nowhere"]);
    assert_eq!(claim(&two, &["b", "c"], "x"), None);
    let held = claim(&two, &["b", "a"], "y").expect("a waits for nothing");
    assert_eq!(held.id, "a");
    two.step(&held, &stepped(TaskStatus::InProgress, Some(held.fence)))
        .unwrap()
        .unwrap();
    assert_eq!(claim(&one, &["b"], "z"), None);
    two.step(&held, &stepped(TaskStatus::Complete, None))
        .unwrap()
        .unwrap();
    assert_eq!(claim(&one, &["b"], "z").expect("a is complete").id, "b");
    let expected = "a - pending one false, b - pending one false, c - pending one false, a pending assigned two true, \
                    a assigned in_progress two true, a in_progress complete two true, b pending assigned one true";
    assert_eq!(steps(&database), expected);
    assert_eq!(
        one.tasks().unwrap()[1].record.machine.as_deref(),
        Some("one")
    );
}

/// A machine behind a way that can be cut, and the same without it.
fn behind_a_proxy() -> (TestDatabase, CuttingProxy, FleetTasks, FleetTasks) {
    let database = TestDatabase::new();
    watchdog_fleet::migrations::migrate_tables(
        &server(&database.full_address("owner")).unwrap(),
        "plain",
    )
    .unwrap();
    let proxy = CuttingProxy::to(database.port());
    let address = |port: u16| {
        format!(
            "postgres://plain:secret%20of%20plain@127.0.0.1:{port}/{}?sslmode=disable",
            database.name
        )
    };
    let (cut, whole) = (
        tasks(&address(proxy.port), "one"),
        tasks(&address(database.port()), "two"),
    );
    cut.tasks().unwrap();
    (database, proxy, cut, whole)
}

#[test]
fn claim_and_finish_with_lost_answers_happen_once() {
    for point in [CutPoint::Request, CutPoint::Answer] {
        let (database, proxy, cut, whole) = behind_a_proxy();
        put(&cut, "a", &[]);
        proxy.cut_next(point);
        let held = match claim(&cut, &["a"], "x") {
            Some(held) => held,
            // The request never arrived, and nothing was taken.
            None => claim(&cut, &["a"], "y").expect("nobody has it"),
        };
        assert_eq!(claim(&whole, &["a"], "z"), None, "it is taken once");
        cut.step(&held, &stepped(TaskStatus::InProgress, Some(held.fence)))
            .unwrap()
            .unwrap();
        proxy.cut_next(point);
        let done = cut
            .step(&held, &stepped(TaskStatus::Complete, None))
            .unwrap()
            .expect("it was ours");
        assert_eq!(done.record.status, TaskStatus::Complete);
        let expected = "a - pending one false, a pending assigned one true, a assigned in_progress one true, a in_progress complete one true";
        assert_eq!(steps(&database), expected);
    }
}

#[test]
fn lost_answer_never_repeats_change_over_newer_writes() {
    let (database, proxy, cut, whole) = behind_a_proxy();
    put(&cut, "a", &[]);
    let blocked = stepped(TaskStatus::Blocked, None);
    proxy.cut_next(CutPoint::Answer);
    let overwritten = std::cell::Cell::new(false);
    let done = cut
        .change("a", &|found| {
            // Whoever asks again after the lost answer finds that somebody wrote over it.
            if found.is_some_and(|found| found.status == TaskStatus::Blocked)
                && !overwritten.replace(true)
            {
                whole
                    .change("a", &stepped(TaskStatus::Pending, None))
                    .unwrap();
            }
            blocked(found)
        })
        .unwrap();
    assert!(done.is_written);
    assert_eq!(
        steps(&database).matches("pending blocked").count(),
        1,
        "{}",
        steps(&database)
    );
}

/// One thing that somebody does with tasks.
#[derive(Debug, Clone)]
enum Deed {
    Put(u8, TaskStatus),
    Claim(Vec<u8>),
    Step(u8, TaskStatus),
    Set(u8, TaskStatus),
    Release(u8),
    GiveBack(u8),
    Renew(u8),
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let id = || 0..4u8;
    let status = || {
        prop::sample::select(
            TASK_STATUSES
                .iter()
                .map(|(_, status)| *status)
                .collect::<Vec<_>>(),
        )
    };
    let deed = prop_oneof![
        (id(), status()).prop_map(|(id, status)| Deed::Put(id, status)),
        prop::collection::vec(id(), 0..4).prop_map(Deed::Claim),
        (id(), status()).prop_map(|(id, status)| Deed::Step(id, status)),
        (id(), status()).prop_map(|(id, status)| Deed::Set(id, status)),
        id().prop_map(Deed::Release),
        id().prop_map(Deed::GiveBack),
        id().prop_map(Deed::Renew),
    ];
    prop::collection::vec(deed, 1..30)
}

/// What came of each deed, and what is recorded in the end. Fences and times differ from store to store.
fn outcomes(store: &dyn TaskStore, prefix: &str, deeds: &[Deed]) -> Vec<String> {
    let name = |id: &u8| format!("{prefix}{id}");
    let mut leases: Vec<Option<TaskLease>> = vec![None; 4];
    let mut said = Vec::new();
    for (n, deed) in deeds.iter().enumerate() {
        let is_taken =
            |status: &TaskStatus| matches!(status, TaskStatus::Assigned | TaskStatus::InProgress);
        said.push(match deed {
            Deed::Put(id, status) => {
                let done = store
                    .change(&name(id), &|found| {
                        found
                            .is_none()
                            .then(|| TaskRecord::begin(*status, Timestamp::UNIX_EPOCH))
                    })
                    .unwrap();
                format!("put {:?}", (done.from, done.is_written))
            }
            Deed::Claim(ids) => {
                let names: Vec<String> = ids.iter().map(name).collect();
                let held = claim(
                    store,
                    &names.iter().map(String::as_str).collect::<Vec<_>>(),
                    &format!("{prefix} {n}"),
                );
                let of = held.as_ref().map(|held| held.id[prefix.len()..].to_owned());
                if let (Some(held), Some(of)) = (held, &of) {
                    leases[of.parse::<usize>().unwrap()] = Some(held);
                }
                format!("claim {of:?}")
            }
            Deed::Step(id, to) => match &leases[usize::from(*id)] {
                None => "no lease".into(),
                Some(lease) => {
                    let done = store
                        .step(lease, &stepped(*to, is_taken(to).then_some(lease.fence)))
                        .unwrap();
                    if !is_taken(to) {
                        store.release(lease).unwrap();
                    }
                    format!(
                        "step {:?}",
                        done.map(|done| (done.from, done.record.status))
                    )
                }
            },
            Deed::Set(id, to) => {
                let done = store
                    .change_unheld(&name(id), &format!("{prefix} {n}"), &stepped(*to, None))
                    .unwrap();
                format!("set {:?}", done.map(|done| (done.from, done.is_written)))
            }
            Deed::Release(id) => {
                leases[usize::from(*id)]
                    .iter()
                    .for_each(|lease| store.release(lease).unwrap());
                "released".into()
            }
            Deed::GiveBack(id) => {
                let found = store
                    .tasks()
                    .unwrap()
                    .into_iter()
                    .find(|task| task.id == name(id))
                    .filter(|task| task.record.fence.is_some());
                let back = found.map(|found| {
                    store
                        .give_back(
                            &found.id,
                            &found.record,
                            &stepped(TaskStatus::Pending, None),
                        )
                        .unwrap()
                });
                format!("given back {:?}", back.map(|back| back.is_some()))
            }
            Deed::Renew(id) => format!(
                "renewed {:?}",
                leases[usize::from(*id)]
                    .as_ref()
                    .map(|lease| store.renew(lease, LONG).unwrap())
            ),
        });
    }
    let stand = store
        .tasks()
        .unwrap()
        .into_iter()
        .filter(|task| task.id.starts_with(prefix));
    said.extend(stand.map(|task| {
        format!(
            "{} {:?} {}",
            task.id,
            task.record.status,
            task.record.fence.is_some()
        )
    }));
    said
}

#[test]
fn fleet_tasks_behave_as_on_a_single_machine() {
    let database = TestDatabase::new();
    with_tables(&database);
    let fleet = tasks(&database.full_address("worker"), "one");
    let scratch = tempfile::tempdir().unwrap();
    let state = StateDir::resolve(Some(scratch.path().join("state")), None, None).unwrap();
    state.ensure().unwrap();
    let local = LocalTasks::new(Arc::new(SqliteStore::open(&state).unwrap()), "repo");
    let config = ProptestConfig {
        cases: 40,
        max_shrink_iters: 100,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let round = std::cell::Cell::new(0);
    let done = TestRunner::new(config).run(&deeds(), |deeds| {
        round.set(round.get() + 1);
        let prefix = format!("r{:04}-", round.get());
        prop_assert_eq!(
            outcomes(&fleet, &prefix, &deeds),
            outcomes(&local, &prefix, &deeds)
        );
        Ok(())
    });
    done.unwrap();
}
