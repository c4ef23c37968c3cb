//! The thread beside the work: nothing waits for it, and a server that comes back gets everything.

use std::sync::atomic::Ordering;

use jiff::Timestamp;
use watchdog_store::engine::NewEvent;
use watchdog_store::journal::{kind, new_event};
use watchdog_store::{SqliteStore, StateDir};

use super::super::copying::count_waiting_events;
use super::*;

fn verdict_at(second: i64) -> NewEvent {
    let at = Timestamp::from_second(second).expect("a second of this era");
    new_event(at, "wt", None, kind::VERDICT, serde_json::Value::Null)
}

fn identity() -> CopyIdentity {
    CopyIdentity {
        fleet: "f".into(),
        machine: "builder".into(),
    }
}

/// Opens this store, again and again.
fn opens(local: &Arc<dyn LocalStore>) -> OpenRecords {
    let local = Arc::clone(local);
    Arc::new(move || Some(Arc::clone(&local)))
}

/// Waits for what must come true, at most thirty seconds.
fn eventually(what: &str, mut find: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !find() {
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "{what}: it never came true"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A fleet on a store of this machine.
struct NearFleet(SqliteStore);

impl FleetLink for NearFleet {
    fn store(&self) -> &dyn SharedStore {
        &self.0
    }

    fn heartbeat(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn share_account(&self, _: &dyn LocalStore) -> Result<(), StoreError> {
        Ok(())
    }
}

fn store(folder: &tempfile::TempDir, name: &str) -> SqliteStore {
    let state = StateDir::resolve(Some(folder.path().join(name)), None, None).unwrap();
    state.ensure().unwrap();
    SqliteStore::open(&state).unwrap()
}

#[test]
fn server_outage_is_reported_once_and_caught_up() {
    let folder = tempfile::tempdir().unwrap();
    let local: Arc<dyn LocalStore> = Arc::new(store(&folder, "here"));
    let _ = local.append(&[verdict_at(1)], None).unwrap();
    let server = folder.path().join("server");
    let tries = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let connect: ConnectFleet = Box::new({
        let (server, tries) = (server.clone(), Arc::clone(&tries));
        move || {
            tries.fetch_add(1, Ordering::SeqCst);
            if !server.is_dir() {
                return Err(StoreError::BadRecord {
                    what: "the fleet".into(),
                    why: "its server is away".into(),
                });
            }
            let state =
                StateDir::resolve(Some(server.clone()), None, None).expect("a folder of this test");
            state.ensure()?;
            Ok(Box::new(NearFleet(SqliteStore::open(&state)?)))
        }
    });
    let told = Arc::new(Mutex::new(Vec::<String>::new()));
    let tell: ProgressCallback = Arc::new({
        let told = Arc::clone(&told);
        move |line: &str| told.lock().unwrap().push(line.to_owned())
    });
    let nobody = Box::new(|| panic!("nothing was left"));
    let worker = CopyWorker::begin(opens(&local), identity(), connect, tell, nobody);
    eventually("tried twice", || tries.load(Ordering::SeqCst) >= 2);
    std::fs::create_dir(&server).unwrap();
    eventually("copied", || {
        count_waiting_events(local.as_ref(), "f", 9).unwrap() == 0
    });
    let _ = local.append(&[verdict_at(2)], None).unwrap();
    eventually("the next one, too", || {
        count_waiting_events(local.as_ref(), "f", 9).unwrap() == 0
    });
    eventually("it is said", || told.lock().unwrap().len() == 2);
    drop(worker);
    let arrived = store(&folder, "server")
        .read_events(watchdog_store::engine::EventCursor::START, 9)
        .unwrap()
        .0;
    assert_eq!(
        arrived
            .iter()
            .map(|event| event.at.as_second())
            .collect::<Vec<_>>(),
        [1, 2]
    );
    let told = told.lock().unwrap();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told[0].contains("the work goes on") && told[1].contains("answers again"),
        "{told:?}"
    );
}

/// Connects to a server that accepts and never answers, until the sender is dropped.
fn silent_server() -> (std::sync::mpsc::Sender<()>, ConnectFleet) {
    let (hold, held) = std::sync::mpsc::channel::<()>();
    let held = Mutex::new(held);
    let connect: ConnectFleet = Box::new(move || {
        let _ = held.lock().unwrap().recv();
        Err(StoreError::BadRecord {
            what: "the fleet".into(),
            why: "no answer".into(),
        })
    });
    (hold, connect)
}

/// Begins a command's copies and ends them at once. Returns how often they were handed over.
fn begin_and_end(
    local: &Arc<dyn LocalStore>,
    connect: ConnectFleet,
    tell: ProgressCallback,
) -> usize {
    let calls = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let hand_over = Box::new(move || {
        count.fetch_add(1, Ordering::SeqCst);
    });
    drop(CopyWorker::begin(
        opens(local),
        identity(),
        connect,
        tell,
        hand_over,
    ));
    calls.load(Ordering::SeqCst)
}

#[test]
fn command_end_hands_over_copies_without_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let local: Arc<dyn LocalStore> = Arc::new(store(&folder, "here"));
    let silent = || Arc::new(|line: &str| panic!("nobody is to be told: {line}"));
    let (hold_first, connect) = silent_server();
    let calls = begin_and_end(&local, connect, silent());
    assert_eq!(calls, 0, "nothing is left");
    let _ = local.append(&[verdict_at(1)], None).unwrap();
    let (hold, connect) = silent_server();
    let calls = begin_and_end(&local, connect, silent());
    assert_eq!(calls, 1, "the server never answered, and this returned");
    drop((hold_first, hold));
}

#[test]
fn idle_thread_keeps_no_records_open() {
    let folder = tempfile::tempdir().unwrap();
    let local: Arc<dyn LocalStore> = Arc::new(store(&folder, "here"));
    let _ = local.append(&[verdict_at(1)], None).unwrap();
    let (opened, opens) = (Arc::downgrade(&local), Mutex::new(Some(local)));
    let open: OpenRecords = Arc::new(move || opens.lock().unwrap().take());
    let state = StateDir::resolve(Some(folder.path().join("server")), None, None).unwrap();
    state.ensure().unwrap();
    let connect: ConnectFleet =
        Box::new(move || Ok(Box::new(NearFleet(SqliteStore::open(&state)?))));
    let worker = CopyWorker::begin(
        open,
        identity(),
        connect,
        Arc::new(|_: &str| ()),
        Box::new(|| panic!("all is sent")),
    );
    let seen =
        |local: &Arc<dyn LocalStore>| count_waiting_events(local.as_ref(), "f", 9).unwrap() == 0;
    // While it waits for the next event the thread has nothing open.
    eventually("it was sent, and the thread rests", || {
        opened
            .upgrade()
            .is_some_and(|local| seen(&local) && Arc::strong_count(&local) == 2)
    });
    drop(worker);
    eventually("it is closed", || opened.upgrade().is_none());
}

#[test]
fn next_command_reports_unattended_failure_without_handing_over() {
    let folder = tempfile::tempdir().unwrap();
    let local: Arc<dyn LocalStore> = Arc::new(store(&folder, "here"));
    let _ = local.append(&[verdict_at(1)], None).unwrap();
    copied::failed_unseen(local.as_ref(), "f", "no answer", now()).unwrap();
    let told = Arc::new(Mutex::new(Vec::<String>::new()));
    let mut holds = Vec::new();
    for _ in 0..2 {
        let (hold, connect) = silent_server();
        let tell: ProgressCallback = Arc::new({
            let told = Arc::clone(&told);
            move |line: &str| told.lock().unwrap().push(line.to_owned())
        });
        let calls = begin_and_end(&local, connect, tell);
        assert_eq!(calls, 0, "the server is known to be away");
        holds.push(hold);
        eventually("it is said", || !told.lock().unwrap().is_empty());
    }
    let told = told.lock().unwrap();
    assert!(
        told.len() == 1 && told[0].starts_with("no answer; the work goes on"),
        "{told:?}"
    );
}
