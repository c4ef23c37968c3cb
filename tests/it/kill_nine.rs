//! watchdog is killed at random points of `run` with a rescue, again and again: no work is lost, the records stay
//! whole, and the next call goes on.

use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use crate::support::{Repo, Step, TestEnv, wait_until};

/// Rounds in all.
const ROUNDS: u32 = 200;

/// Repositories that are worked in at the same time.
const WORKERS: u32 = 2;

/// The seed of the moments; print it with a failure, and change it to look elsewhere.
const SEED: u64 = 0x5eed_0001;

/// A small generator (xorshift), so that a failing run can be had again.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

#[test]
fn killed_at_two_hundred_random_points_nothing_is_lost() {
    let next = AtomicU32::new(0);
    let tally: Vec<Tally> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS)
            .map(|worker| {
                scope.spawn({
                    let next = &next;
                    move || work(worker, next)
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().expect("a worker found a fault; see above")).collect()
    });
    let sum = |of: fn(&Tally) -> u32| tally.iter().map(of).sum::<u32>();
    let (rounds, killed, before, after) = (sum(|t| t.rounds), sum(|t| t.killed), sum(|t| t.before_snapshot), sum(|t| t.after_commit));
    println!("{rounds} rounds: {killed} killed in time, {before} before the snapshot, {after} after the commit");
    assert_eq!(rounds, ROUNDS);
    assert!(killed * 2 > rounds, "most kills must hit a watchdog that runs: {killed} of {rounds}");
    assert!(before > 0 && after > 0 && before + after < rounds, "the moments must spread over the whole run: {before} {after} {rounds}");
}

/// What the kills hit, to know that they hit everything.
#[derive(Default)]
struct Tally {
    rounds: u32,
    killed: u32,
    before_snapshot: u32,
    after_commit: u32,
}

fn work(worker: u32, next: &AtomicU32) -> Tally {
    let env = TestEnv::new();
    let repo = env.repo_named(&format!("repo-{worker}"));
    let mut random = Random(SEED + u64::from(worker) * 0x9e37_79b9);
    let mut tally = Tally::default();
    // The time that an undisturbed run takes, measured again now and then, as the repository grows.
    let mut whole = Duration::ZERO;
    loop {
        let round = next.fetch_add(1, Ordering::Relaxed);
        if round >= ROUNDS {
            return tally;
        }
        if tally.rounds % 25 == 0 {
            let began = Instant::now();
            one_round(&env, &repo, &format!("{round}-measured"), None);
            whole = began.elapsed();
        }
        let micros = u64::try_from(whole.as_micros()).expect("a run takes less than an age");
        let after = Duration::from_micros(random.below(micros * 11 / 10));
        let outcome = one_round(&env, &repo, &round.to_string(), Some(after));
        tally.rounds += 1;
        tally.killed += u32::from(outcome.killed);
        tally.before_snapshot += u32::from(outcome.killed && !outcome.snapshot);
        tally.after_commit += u32::from(outcome.committed);
    }
}

struct Outcome {
    killed: bool,
    snapshot: bool,
    committed: bool,
}

/// One session that changes four files in four ways and commits nothing; watchdog is killed `after` that time.
fn one_round(env: &TestEnv, repo: &Repo<'_>, round: &str, after: Option<Duration>) -> Outcome {
    let ledger = env.root().join(format!("ledger-{}", repo.path().file_name().expect("has a name").to_string_lossy()));
    let _ = fs::remove_file(&ledger);
    let files = [format!("new-{round}.txt"), "tracked.txt".to_string(), format!("deep/{round}/er.txt"), "staged.txt".to_string()];
    let text = |file: &str| format!("{file} as of {round}\n");
    let mut steps = Vec::new();
    for file in &files {
        // The ledger says what the session has surely written, whoever is killed meanwhile.
        steps.extend([Step::write(file, &text(file)), Step::append(&ledger.to_string_lossy(), &format!("{file}\n"))]);
    }
    steps.push(Step::git(&["add", "staged.txt"]));
    let agent = env.fake_agent(&format!("session-{round}"), &steps);
    let config = env.config_asking(&[Step::print("{\"status\": \"complete\"}")], json!({}));
    let config = config.to_str().expect("a scratch path is UTF-8");
    let baseline = repo.head();
    let snapshots = repo.snapshots().len();

    let running = repo.watchdog_spawn(&["run", "--json", "--config", config, "--", &agent[0], &agent[1]]);
    if let Some(after) = after {
        let kill_at = Instant::now() + after;
        while Instant::now() < kill_at {
            std::thread::sleep(kill_at.saturating_duration_since(Instant::now()));
        }
        running.signal(Signal::KILL);
    }
    let out = running.wait();
    let killed = out.code == Some(137);
    assert!(killed || out.code == Some(0), "round {round}: {out}");
    // The session's process is an orphan now and may still write.
    wait_until("what the killed watchdog had started ends", Duration::from_secs(20), || env.processes_left().is_empty());

    let outcome = Outcome { killed, snapshot: repo.snapshots().len() > snapshots, committed: repo.head() != baseline };
    assert_kept(repo, &ledger, round, &text);
    let next = repo.watchdog(&["check", "--json", "--no-probe", "--no-rescue", "--baseline", &baseline, "--config", config]);
    let expected = if outcome.committed { "complete/new_commits" } else { "incomplete/working" };
    assert_eq!(next.verdict(), expected, "round {round}, killed after {after:?} (seed {SEED:#x}): {next}");
    assert_records_whole(env, round);
    // And the work that the killed one left is brought home by the next.
    if repo.status() != "" {
        let home = repo.watchdog(&["check", "--json", "--baseline", "HEAD", "--config", config]);
        assert_eq!(home.verdict(), "complete/rescued", "round {round}, killed after {after:?}: {home}");
    }
    assert_eq!(repo.status(), "", "round {round}");
    for file in fs::read_to_string(&ledger).unwrap_or_default().lines() {
        assert_eq!(repo.file_in("HEAD", file), Some(text(file)), "round {round}: {file}");
    }
    outcome
}

/// Everything that the session has surely written is in the work tree, in HEAD, or in a snapshot.
fn assert_kept(repo: &Repo<'_>, ledger: &std::path::Path, round: &str, text: &dyn Fn(&str) -> String) {
    for file in fs::read_to_string(ledger).unwrap_or_default().lines() {
        let wanted = text(file);
        let in_tree = fs::read_to_string(repo.path().join(file)).is_ok_and(|found| found == wanted);
        let kept = in_tree
            || repo.file_in("HEAD", file).is_some_and(|found| found == wanted)
            || repo.snapshots().iter().any(|snapshot| repo.file_in(snapshot, file).is_some_and(|found| found == wanted));
        assert!(kept, "round {round}: {file} is lost");
    }
}

/// Every database among the records passes the engine's own check.
fn assert_records_whole(env: &TestEnv, round: &str) {
    let files = fs::read_dir(env.state()).expect("the state folder is there").flatten().map(|entry| entry.path());
    let databases: Vec<_> = files.filter(|path| fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"SQLite format 3\0"))).collect();
    assert!(!databases.is_empty(), "round {round}: no database in {}", env.state().display());
    for path in databases {
        let database = rusqlite::Connection::open(&path).expect("the records open");
        let said: String = database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("the records can be read");
        assert_eq!(said, "ok", "round {round}: {}", path.display());
    }
}
