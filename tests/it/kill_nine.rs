//! watchdog is killed at random points of `run` with a rescue, again and again: no work is lost, the records stay
//! whole, and the next call goes on.

use std::fs;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use crate::support::random_tree::Dice;
use crate::support::{Repo, Step, TestEnv, wait_for, wait_until};

/// Kills that hit a watchdog that runs. On a busy machine more of them come too late; it takes more rounds then.
const HITS: u32 = 100;

/// Repositories that are worked in at the same time.
const WORKERS: u32 = 6;

/// The seed of the moments; print it with a failure, and change it to look elsewhere.
const SEED: u64 = 0x5eed_0001;

/// A random part of a time.
fn part_of(time: Duration, dice: &mut Dice) -> Duration {
    let micros = usize::try_from(time.as_micros()).expect("a run takes less than an age");
    Duration::from_micros(dice.roll(micros.max(1)) as u64)
}

#[test]
fn random_kills_never_lose_any_work() {
    let tally = Mutex::default();
    std::thread::scope(|scope| {
        let tally = &tally;
        (0..WORKERS).for_each(|worker| drop(scope.spawn(move || work(worker, tally))));
    });
    println!("{tally:?}");
}

#[test]
fn locks_of_killed_processes_never_block() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.watchdog(&["snapshot"]).expect(0);
    let baseline_ref = repo.git_line(
        "for-each-ref --format=%(refname) refs/watchdog/baseline",
        &[],
    );
    let old = std::time::SystemTime::now() - Duration::from_secs(60);
    let lock = |name: &str| {
        let path = repo.path().join(".git").join(format!("{name}.lock"));
        fs::create_dir_all(path.parent().expect("below .git")).expect("a folder in .git");
        fs::File::create(path)
            .and_then(|file| file.set_modified(old))
            .expect("a lock");
    };
    lock(&baseline_ref);
    // Whichever second it is when the snapshot is taken, its first name is locked.
    for seconds in 0..120 {
        let second = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(seconds);
        lock(&format!(
            "refs/watchdog/rescue/main/{}-0",
            second.strftime("%Y%m%dT%H%M%SZ")
        ));
    }
    repo.write("a.txt", "a");
    let head = repo.commit_all("a");
    repo.write("left.txt", "left");
    repo.watchdog(&["snapshot"]).expect(0);
    assert_eq!(
        repo.git(&["rev-parse", &baseline_ref]),
        head,
        "the baseline is kept in its ref"
    );
    let out = repo.watchdog(&["check", "--json", "--no-probe"]).expect(10);
    assert_eq!(out.verdict(), "incomplete/unfinished");
    let snapshots = repo.snapshots();
    assert!(
        snapshots.len() == 1 && repo.file_in(&snapshots[0], "left.txt").as_deref() == Some("left"),
        "{snapshots:?}\n{out}"
    );
}

/// What the kills hit, to know that they hit everything.
#[derive(Debug, Default)]
struct Tally {
    rounds: u32,
    /// Too late: it had ended.
    late: u32,
    /// Before the snapshot of this round was there.
    before: u32,
    /// With a snapshot, and no commit yet.
    between: u32,
    /// After the rescue's commit, and before the end.
    after: u32,
}

impl Tally {
    /// Whether enough kills hit, among them each part of a run.
    fn is_complete(&self) -> bool {
        let hits = [self.before, self.between, self.after];
        hits.iter().sum::<u32>() >= HITS && !hits.contains(&0)
    }
}

fn work(worker: u32, tally: &Mutex<Tally>) {
    let lock = || tally.lock().unwrap_or_else(PoisonError::into_inner);
    let env = TestEnv::new();
    let repo = env.repo_named(&format!("repo-{worker}"));
    let mut dice = Dice::new(SEED + u64::from(worker));
    // How long an undisturbed run takes, measured again now and then, as the repository grows, and by each kill that comes too late.
    let mut took = Took::default();
    for own_round in 0.. {
        let round = {
            let mut tally = lock();
            if tally.is_complete() {
                return;
            }
            assert!(tally.rounds < 5 * HITS, "kills miss a part: {tally:?}");
            tally.rounds += 1;
            tally.rounds
        };
        if own_round % 25 == 0 {
            took = one_round(&env, &repo, &format!("{round}-measured"), None).took;
        }
        // Most of a run is the pause before the commit: so the parts before and after it have kills of their own.
        let kill = match dice.roll(4) {
            0 => Kill::Anywhere(part_of(took.whole, &mut dice)),
            1 => Kill::Anywhere(part_of(took.whole.saturating_sub(took.judging), &mut dice)),
            2 => Kill::Judging(part_of(took.judging, &mut dice)),
            _ => Kill::Recording(part_of(took.recording, &mut dice)),
        };
        let outcome = one_round(&env, &repo, &round.to_string(), Some(kill));
        if !outcome.killed {
            took = took.as_of_late(outcome.took);
        }
        let mut tally = lock();
        *match (outcome.killed, outcome.snapshot, outcome.committed) {
            (false, _, _) => &mut tally.late,
            (true, false, _) => &mut tally.before,
            (true, true, false) => &mut tally.between,
            (true, true, true) => &mut tally.after,
        } += 1;
    }
}

/// When watchdog is killed.
#[derive(Debug, Clone, Copy)]
enum Kill {
    /// So long after its start.
    Anywhere(Duration),
    /// So long after the session's last step.
    Judging(Duration),
    /// So long after the rescue's commit.
    Recording(Duration),
}

/// Wall times of a run.
#[derive(Debug, Clone, Copy, Default)]
struct Took {
    whole: Duration,
    /// From the session's last step to the end.
    judging: Duration,
    /// From the rescue's commit to the end.
    recording: Duration,
}

impl Took {
    /// A kill that came too late disturbed nothing: it tells how long a run takes just now, as far as its moments were seen.
    fn as_of_late(self, late: Took) -> Took {
        let newer = |old: Duration, new: Duration| {
            if new.is_zero() {
                old.min(late.whole)
            } else {
                new
            }
        };
        Took {
            whole: late.whole,
            judging: newer(self.judging, late.judging),
            recording: newer(self.recording, late.recording),
        }
    }
}

struct Outcome {
    took: Took,
    killed: bool,
    snapshot: bool,
    committed: bool,
}

/// One session that changes four files in four ways and commits nothing; watchdog is killed meanwhile.
fn one_round(env: &TestEnv, repo: &Repo<'_>, round: &str, kill: Option<Kill>) -> Outcome {
    let ledger = env.root().join(format!(
        "ledger-{}",
        repo.path()
            .file_name()
            .expect("has a name")
            .to_string_lossy()
    ));
    let _ = fs::remove_file(&ledger);
    let files = [
        format!("new-{round}.txt"),
        "tracked.txt".to_string(),
        format!("deep/{round}/er.txt"),
        "staged.txt".to_string(),
    ];
    let text = |file: &str| format!("{file} as of {round}\n");
    let mut steps = Vec::new();
    for file in &files {
        // The ledger says what the session has surely written, whoever is killed meanwhile.
        steps.extend([
            Step::write(file, &text(file)),
            Step::append(&ledger.to_string_lossy(), &format!("{file}\n")),
        ]);
    }
    let over = env.root().join(format!("over-{round}"));
    steps.extend([
        Step::git(&["add", "staged.txt"]),
        Step::write(&over.to_string_lossy(), ""),
    ]);
    let agent = env.fake_agent(&format!("session-{round}"), &steps);
    let config = env.config_asking(&[Step::print("{\"status\": \"complete\"}")], json!({}));
    let config = config.to_str().expect("a scratch path is UTF-8");
    let baseline = repo.head();
    let snapshots = repo.snapshots().len();

    let began = Instant::now();
    let running = repo.spawn_line(
        "run --json --config {} -- {} {}",
        &[config, &agent[0], &agent[1]],
    );
    let over = || over.exists().then(Instant::now);
    let branch = repo.path().join(".git/refs/heads/main");
    let committed = || {
        let tip = fs::read_to_string(&branch).unwrap_or_default();
        (tip.len() > 40 && tip.trim() != baseline).then(Instant::now)
    };
    let patience = Duration::from_secs(60);
    let (mut session_over, mut committed_at) = (None, None);
    match kill {
        None => {
            session_over = wait_for(patience, over);
            committed_at = wait_for(patience, committed);
        }
        Some(Kill::Anywhere(after)) => sleep_until(began + after),
        Some(Kill::Judging(after)) => {
            session_over = wait_for(patience, over);
            sleep_until(Instant::now() + after);
        }
        Some(Kill::Recording(after)) => {
            committed_at = wait_for(patience, committed);
            sleep_until(Instant::now() + after);
        }
    }
    if kill.is_some() {
        running.signal(Signal::KILL);
    }
    let out = running.wait();
    let took = Took {
        whole: began.elapsed(),
        judging: session_over.map_or(Duration::ZERO, |at| at.elapsed()),
        recording: committed_at.map_or(Duration::ZERO, |at| at.elapsed()),
    };
    let killed = out.code == Some(137);
    assert!(killed || out.code == Some(0), "round {round}: {out}");
    // The session's process is an orphan now and may still write.
    wait_until(
        "what the killed watchdog had started ends",
        Duration::from_secs(60),
        || env.processes_left().is_empty(),
    );

    let outcome = Outcome {
        took,
        killed,
        snapshot: repo.snapshots().len() > snapshots,
        committed: repo.head() != baseline,
    };
    assert_kept(repo, &ledger, round, &text);
    let next = repo.watchdog_line(
        "check --json --no-probe --no-rescue --baseline {} --config {}",
        &[&baseline, config],
    );
    // What a rescue committed is safe, and nobody said that it is done.
    assert_eq!(
        next.verdict(),
        "incomplete/unfinished",
        "round {round}, {kill:?} (seed {SEED:#x}): {next}"
    );
    assert_records_whole(env, round);
    // And the work that the killed one left is brought home by the next.
    if repo.status() != "" {
        let home = repo.watchdog(&["check", "--json", "--baseline", "HEAD", "--config", config]);
        assert_eq!(
            home.verdict(),
            "complete/rescued",
            "round {round}, {kill:?}: {home}"
        );
    }
    assert_eq!(repo.status(), "", "round {round}");
    for file in fs::read_to_string(&ledger).unwrap_or_default().lines() {
        let committed = repo.file_in("HEAD", file);
        assert_eq!(committed, Some(text(file)), "round {round}: {file}");
    }
    outcome
}

/// The moment is what this test is about; nothing is waited for.
fn sleep_until(moment: Instant) {
    while let Some(left) = moment
        .checked_duration_since(Instant::now())
        .filter(|left| !left.is_zero())
    {
        std::thread::sleep(left);
    }
}

/// Everything that the session has surely written is in the work tree, in HEAD, or in a snapshot.
fn assert_kept(
    repo: &Repo<'_>,
    ledger: &std::path::Path,
    round: &str,
    text: &dyn Fn(&str) -> String,
) {
    for file in fs::read_to_string(ledger).unwrap_or_default().lines() {
        let wanted = text(file);
        let in_tree = fs::read_to_string(repo.path().join(file)).is_ok_and(|found| found == wanted);
        let is_kept = in_tree
            || repo
                .file_in("HEAD", file)
                .is_some_and(|found| found == wanted)
            || repo.snapshots().iter().any(|snapshot| {
                repo.file_in(snapshot, file)
                    .is_some_and(|found| found == wanted)
            });
        assert!(is_kept, "round {round}: {file} is lost");
    }
}

/// Every database among the records passes the engine's own check.
fn assert_records_whole(env: &TestEnv, round: &str) {
    let files = fs::read_dir(env.state())
        .expect("the state folder is there")
        .flatten()
        .map(|entry| entry.path());
    let databases: Vec<_> = files
        .filter(|path| fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"SQLite format 3\0")))
        .collect();
    assert!(
        !databases.is_empty(),
        "round {round}: no database in {}",
        env.state().display()
    );
    for path in databases {
        let database = rusqlite::Connection::open(&path).expect("the records open");
        let said: String = database
            .query_row("PRAGMA integrity_check", [], |row| row.get(0))
            .expect("the records can be read");
        assert_eq!(said, "ok", "round {round}: {}", path.display());
    }
}
