//! The state directory under real conditions: many processes at once, kill -9 at any moment, damage, full and read-only disks.
//!
//! Workers are this very test binary, started again with a role in the environment ([`worker`]).

use std::collections::HashSet;
use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{FileExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use watchdog_core::config::settings::BreakerSettings;
use watchdog_core::decision::breaker::{Breaker, BreakerAdmission, BreakerInput, BreakerState};
use watchdog_store::engine::{AppendOutcome, EventCursor};
use watchdog_store::journal::{kind, new_event};
use watchdog_store::lock::{LockAttempt, LockHolder, WorktreeLock};
use watchdog_store::trust::{TrustGrant, TrustStore};
use watchdog_store::{LocalStore, RecordType, StateDir, StoreError, open_store};

use crate::support::fill_line;

const ROLE: &str = "STORE_WORKER_ROLE";
const STATE: &str = "STORE_WORKER_STATE";
const SETTINGS: BreakerSettings = BreakerSettings {
    limit: 3,
    cooldown: Duration::from_secs(1800),
};

fn state(root: &Path) -> StateDir {
    let dir = StateDir::resolve(Some(root.join("state")), None, None).unwrap();
    dir.ensure().unwrap();
    dir
}

fn now() -> Timestamp {
    Timestamp::now()
}

fn me() -> LockHolder {
    LockHolder {
        pid: std::process::id(),
        command: "watchdog run".into(),
        since: now(),
        session_active: true,
        spec: Some("auth".into()),
    }
}

fn spawn(role: &str, dir: &StateDir) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(fill_line(
            "store::worker --exact --ignored --nocapture --test-threads=1",
            &[],
        ))
        .env(ROLE, role)
        .env(STATE, dir.root())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Ends by force when dropped, so that a failing test leaves nobody behind.
struct Victim(Child);

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The words after `word` on the lines that begin with it. libtest writes its own lines in between.
fn said(output: &str, word: &str) -> Vec<String> {
    output
        .lines()
        .filter_map(|line| {
            line.split_once(&format!("{word} "))
                .map(|(_, rest)| rest.to_string())
        })
        .collect()
}

/// Waits for workers to end well and gives back what they said.
fn finished(workers: Vec<Child>) -> String {
    let mut all = String::new();
    for worker in workers {
        let output = worker.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{}: {text}", output.status);
        all.push_str(&text);
    }
    all
}

#[test]
#[ignore = "no test of its own: the other tests start it as a process, with a role in the environment"]
fn worker() {
    let (Ok(role), Some(root)) = (std::env::var(ROLE), std::env::var_os(STATE)) else {
        return;
    };
    let dir = StateDir::resolve(Some(PathBuf::from(root)), None, None).unwrap();
    dir.ensure().unwrap();
    match role.as_str() {
        "writer" => write_until_killed(&dir),
        "some-events" => write_some(&dir),
        "striker" => strike(&dir),
        "contender" => contend(&dir),
        "holder" => hold(&dir),
        other => panic!("unknown role {other}"),
    }
}

fn append_acked(store: &dyn LocalStore) {
    let data = serde_json::json!({ "pad": "x".repeat(300) });
    let new = new_event(now(), "wt", None, kind::PROBE, data);
    let appended = store.append(std::slice::from_ref(&new), None);
    assert_eq!(appended.unwrap(), AppendOutcome::Done);
    println!("\nacked {}", new.id);
}

fn write_until_killed(dir: &StateDir) {
    let store = open_store(dir).unwrap();
    loop {
        append_acked(store.as_ref());
        Breaker::update_row(store.as_ref(), "wt", "auth", |b| {
            b.record(
                now(),
                &SETTINGS,
                BreakerInput::Strike {
                    why: "stalled".into(),
                },
            )
        })
        .unwrap();
        println!("\nstruck once");
    }
}

fn write_some(dir: &StateDir) {
    let store = open_store(dir).unwrap();
    for _ in 0..40 {
        append_acked(store.as_ref());
    }
    for note in store.notes() {
        println!("\nnote {}", note.code);
    }
}

fn strike(dir: &StateDir) {
    let store = open_store(dir).unwrap();
    for _ in 0..20 {
        Breaker::update_row(store.as_ref(), "wt", "auth", |b| {
            b.record(
                now(),
                &SETTINGS,
                BreakerInput::Strike {
                    why: "stalled".into(),
                },
            )
        })
        .unwrap();
    }
    let admission =
        Breaker::update_row(store.as_ref(), "wt", "trial", |b| b.admit(now(), &SETTINGS)).unwrap();
    println!(
        "\nadmission {}",
        if admission == BreakerAdmission::Trial {
            "trial"
        } else {
            "refused"
        }
    );
}

fn contend(dir: &StateDir) {
    let inside = dir.root().join("inside");
    let mut entered = 0;
    while entered < 2 {
        let asked = Instant::now();
        let acquired = WorktreeLock::try_acquire(dir, "wt", me()).unwrap();
        assert!(
            asked.elapsed() < Duration::from_secs(5),
            "asking for a lock must not wait for its holder"
        );
        match acquired {
            LockAttempt::Held(_lock) => {
                OpenOptions::new()
                    .write(true)
                    .create_new(true)
                    .open(&inside)
                    .expect("somebody else is inside");
                std::thread::yield_now();
                fs::remove_file(&inside).unwrap();
                entered += 1;
                println!("\nentered {entered}");
            }
            LockAttempt::Busy(_) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

fn hold(dir: &StateDir) {
    let LockAttempt::Held(_lock) = WorktreeLock::try_acquire(dir, "wt", me()).unwrap() else {
        panic!("busy")
    };
    let mut child = Command::new("sleep")
        .arg("600")
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    println!("\nholding {}", child.id());
    child.wait().unwrap();
}

#[test]
fn killed_writers_never_lose_acknowledged_records() {
    let tmp = tempfile::tempdir().unwrap();
    let dir = state(tmp.path());
    let (mut acked, mut struck) = (Vec::new(), 0);
    for round in 0..40u64 {
        let mut writers: Vec<_> = (0..3).map(|_| Victim(spawn("writer", &dir))).collect();
        let mut streams: Vec<_> = writers
            .iter_mut()
            .map(|w| BufReader::new(w.0.stdout.take().unwrap()))
            .collect();
        // Each round kills at another moment: after so many lines of the first writer, wherever the others are then.
        let mut text = String::new();
        while said(&text, "acked").len() as u64 <= round % 13 {
            assert!(
                streams[0].read_line(&mut text).unwrap() > 0,
                "the writer ended by itself: {text}"
            );
        }
        for writer in &mut writers {
            writer.0.kill().unwrap();
        }
        for mut stream in streams {
            // A line that the kill cut in half was not acknowledged.
            let mut rest = String::new();
            stream.read_to_string(&mut rest).unwrap();
            text.push_str(rest.rsplit_once('\n').map_or("", |(whole, _)| whole));
        }
        acked.extend(said(&text, "acked"));
        struck += said(&text, "struck").len();
        drop(writers);

        let store = open_store(&dir).unwrap();
        assert!(
            store.notes().is_empty(),
            "round {round}: {:?}",
            store.notes()
        );
    }
    let store = open_store(&dir).unwrap();
    let there: HashSet<_> = store
        .read_events(EventCursor::START, usize::MAX)
        .unwrap()
        .0
        .into_iter()
        .map(|e| e.id)
        .collect();
    let lost: Vec<_> = acked.iter().filter(|id| !there.contains(*id)).collect();
    assert!(lost.is_empty(), "{} of {} lost", lost.len(), acked.len());
    assert!(
        acked.len() >= 200,
        "too few to mean anything: {}",
        acked.len()
    );
    let strikes = Breaker::read_or_default(store.as_ref(), "wt", "auth")
        .unwrap()
        .strikes() as usize;
    // Each kill may have fallen between a write and the line that tells of it.
    assert!(
        (struck..=struck + 120).contains(&strikes),
        "{strikes} strikes, {struck} told"
    );
}

#[test]
fn simultaneous_first_processes_share_one_sound_store() {
    let tmp = tempfile::tempdir().unwrap();
    let dir = state(tmp.path());
    let output = finished((0..12).map(|_| spawn("some-events", &dir)).collect());
    assert_eq!(said(&output, "note"), [""; 0]);
    let store = open_store(&dir).unwrap();
    let there: Vec<_> = store
        .read_events(EventCursor::START, usize::MAX)
        .unwrap()
        .0
        .into_iter()
        .map(|e| e.id)
        .collect();
    let (told, there) = (
        said(&output, "acked").into_iter().collect::<HashSet<_>>(),
        there.into_iter().collect::<HashSet<_>>(),
    );
    assert_eq!(told.len(), 12 * 40);
    assert_eq!(told, there);
}

#[test]
fn damaged_store_is_put_aside_exactly_once() {
    let tmp = tempfile::tempdir().unwrap();
    let dir = state(tmp.path());
    finished(vec![spawn("some-events", &dir)]);
    let pages = fs::metadata(dir.database()).unwrap().len() / 4096;
    let file = OpenOptions::new().write(true).open(dir.database()).unwrap();
    for page in 1..pages {
        file.write_all_at(&[0; 4096], page * 4096).unwrap();
    }
    drop(file);
    let output = finished((0..8).map(|_| spawn("some-events", &dir)).collect());
    assert!(
        said(&output, "note").contains(&"store_damaged".to_string()),
        "{output}"
    );
    let aside = fs::read_dir(dir.root()).unwrap().filter(|e| {
        let name = e.as_ref().unwrap().file_name().into_string().unwrap();
        name.contains(".corrupt-") && !name.ends_with("-wal") && !name.ends_with("-shm")
    });
    assert_eq!(aside.count(), 1);
    let store = open_store(&dir).unwrap();
    let there: HashSet<_> = store
        .read_events(EventCursor::START, usize::MAX)
        .unwrap()
        .0
        .into_iter()
        .map(|e| e.id)
        .collect();
    let lost = said(&output, "acked")
        .into_iter()
        .filter(|id| !there.contains(id))
        .count();
    assert_eq!(
        lost, 0,
        "what was acknowledged after the damage was found is in the fresh store"
    );
}

#[test]
fn breaker_counts_every_strike_and_admits_one_trial() {
    let tmp = tempfile::tempdir().unwrap();
    let dir = state(tmp.path());
    let store = open_store(&dir).unwrap();
    let long_ago = now() - Duration::from_secs(7200);
    for _ in 0..3 {
        Breaker::update_row(store.as_ref(), "wt", "trial", |b| {
            b.record(
                long_ago,
                &SETTINGS,
                BreakerInput::Strike {
                    why: "stalled".into(),
                },
            )
        })
        .unwrap();
    }
    let output = finished((0..8).map(|_| spawn("striker", &dir)).collect());
    let breaker = Breaker::read_or_default(store.as_ref(), "wt", "auth").unwrap();
    assert_eq!(
        (breaker.strikes(), breaker.state(now(), &SETTINGS).state),
        (160, BreakerState::Open)
    );
    let admissions = said(&output, "admission");
    assert_eq!(admissions.len(), 8);
    assert_eq!(
        admissions.iter().filter(|a| *a == "trial").count(),
        1,
        "{admissions:?}"
    );
}

#[test]
fn one_process_at_a_time_holds_a_worktree() {
    let tmp = tempfile::tempdir().unwrap();
    let dir = state(tmp.path());
    let output = finished((0..50).map(|_| spawn("contender", &dir)).collect());
    assert_eq!(said(&output, "entered").len(), 100);
}

#[test]
fn killed_holder_frees_the_worktree_despite_its_child() {
    let tmp = tempfile::tempdir().unwrap();
    let dir = state(tmp.path());
    let mut holder = Victim(spawn("holder", &dir));
    let mut lines = BufReader::new(holder.0.stdout.take().unwrap());
    let mut text = String::new();
    while said(&text, "holding").is_empty() {
        assert!(lines.read_line(&mut text).unwrap() > 0, "{text}");
    }
    let child =
        rustix::process::Pid::from_raw(said(&text, "holding")[0].trim().parse().unwrap()).unwrap();
    let LockAttempt::Busy(Some(told)) = WorktreeLock::try_acquire(&dir, "wt", me()).unwrap() else {
        panic!("not busy, or nobody said who")
    };
    assert_eq!(
        (told.pid, told.session_active, told.spec.as_deref()),
        (holder.0.id(), true, Some("auth"))
    );

    holder.0.kill().unwrap();
    holder.0.wait().unwrap();
    let taken = WorktreeLock::try_acquire(&dir, "wt", me()).unwrap();
    let child_lives = rustix::process::test_kill_process(child).is_ok();
    rustix::process::kill_process(child, rustix::process::Signal::KILL).unwrap();
    assert!(
        child_lives,
        "the child must outlive its parent for this to mean anything"
    );
    let LockAttempt::Held(lock) = taken else {
        panic!("the child kept the lock")
    };
    assert_eq!(
        lock.left_behind().map(|h| h.pid),
        Some(told.pid),
        "the successor learns who died in the middle of it"
    );
}

/// A small disk of its own; needs root, as the tests of this project have everywhere.
struct Disk(PathBuf);

impl Disk {
    fn mount(at: &Path, size: &str) -> Self {
        fs::create_dir_all(at).unwrap();
        let done = mounted(&fill_line(
            "-t tmpfs -o {} tmpfs {}",
            &[&format!("size={size}"), at.to_str().unwrap()],
        ));
        assert!(
            done,
            "cannot mount a scratch disk: this test needs root and the right to mount"
        );
        Disk(at.to_owned())
    }

    fn make_read_only(&self) {
        // Busy for as long as a process that another test just forked still has copies of our descriptors.
        let started = Instant::now();
        while !mounted(&["-o", "remount,ro", self.0.to_str().unwrap()]) {
            assert!(
                started.elapsed() < Duration::from_secs(60),
                "cannot make the scratch disk read-only"
            );
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

fn mounted(args: &[&str]) -> bool {
    Command::new("mount")
        .args(args)
        .stderr(Stdio::null())
        .status()
        .expect("mount is installed")
        .success()
}

#[test]
fn full_disk_is_named_with_its_remedy() {
    let tmp = tempfile::tempdir().unwrap();
    let disk = Disk::mount(&tmp.path().join("disk"), "1m");
    let dir = state(&disk.0);
    let filler = disk.0.join("filler");
    let fill = || {
        let mut sink = fs::File::create(&filler).unwrap();
        assert!(std::io::copy(&mut std::io::repeat(7), &mut sink).is_err());
    };
    let full = |error: StoreError| {
        assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
        assert!(error.hint().contains("free some space"), "{}", error.hint());
    };
    fill();
    full(
        open_store(&dir)
            .err()
            .expect("there is no room for a database"),
    );
    fs::remove_file(&filler).unwrap();

    let store = open_store(&dir).unwrap();
    let new = |n: usize| {
        new_event(
            now(),
            "wt",
            None,
            kind::PROBE,
            serde_json::json!({ "pad": "x".repeat(n) }),
        )
    };
    let first = new(10);
    assert_eq!(
        store.append(std::slice::from_ref(&first), None).unwrap(),
        AppendOutcome::Done
    );
    fill();
    full(store.append(&[new(100_000)], None).unwrap_err());
    let grant = TrustGrant {
        hash: "a".repeat(64),
        repository: "/r".into(),
        path: "c".into(),
        at: now(),
        commands: vec!["x".repeat(9000)],
    };
    full(TrustStore::new(&dir).allow(&grant).unwrap_err());
    assert!(
        !TrustStore::new(&dir).is_trusted(&grant.hash, None).unwrap(),
        "half a grant grants nothing"
    );
    assert!(
        matches!(
            WorktreeLock::try_acquire(&dir, "wt", me()).unwrap(),
            LockAttempt::Held(_)
        ),
        "a lock needs no space"
    );
    fs::remove_file(&filler).unwrap();
    assert_eq!(
        store.append(&[new(100)], None).unwrap(),
        AppendOutcome::Done,
        "it goes on once there is space"
    );
    assert_eq!(
        store.read_events(EventCursor::START, 1).unwrap().0[0].id,
        first.id
    );
    assert!(store.notes().is_empty());
}

#[test]
fn readonly_disk_is_named_with_its_remedy() {
    let tmp = tempfile::tempdir().unwrap();
    let disk = Disk::mount(&tmp.path().join("disk"), "1m");
    let dir = state(&disk.0);
    drop(open_store(&dir).unwrap());
    disk.make_read_only();
    dir.ensure().expect("what is there need not be created");
    let elsewhere = StateDir::resolve(Some(disk.0.join("other")), None, None).unwrap();
    let grant = TrustGrant {
        hash: "a".repeat(64),
        repository: "/r".into(),
        path: "c".into(),
        at: now(),
        commands: Vec::new(),
    };
    for error in [
        elsewhere.ensure().unwrap_err(),
        open_store(&dir).err().expect("nothing can be recorded"),
        WorktreeLock::try_acquire(&dir, "wt", me()).unwrap_err(),
        TrustStore::new(&dir).allow(&grant).unwrap_err(),
    ] {
        assert!(matches!(error, StoreError::ReadOnly { .. }), "{error:?}");
        assert!(
            error.to_string().contains("disk/") && error.hint().contains("WATCHDOG_STATE_DIR"),
            "{error}: {}",
            error.hint()
        );
    }
}

#[test]
fn state_owned_by_another_user_is_refused() {
    let tmp = tempfile::tempdir().unwrap();
    let dir = state(tmp.path());
    chown(dir.root(), Some(65534), None).expect("this test needs root");
    let error = dir.ensure().unwrap_err();
    assert!(
        matches!(error, StoreError::ForeignOwner { owner: 65534, .. }),
        "{error}"
    );

    fs::create_dir(tmp.path().join("mine")).unwrap();
    let link = tmp.path().join("link");
    std::os::unix::fs::symlink(tmp.path().join("mine"), &link).unwrap();
    std::os::unix::fs::lchown(&link, Some(65534), None).unwrap();
    let error = StateDir::resolve(Some(link), None, None)
        .unwrap()
        .ensure()
        .unwrap_err();
    assert!(
        matches!(error, StoreError::ForeignOwner { owner: 65534, .. }),
        "{error}"
    );
}
