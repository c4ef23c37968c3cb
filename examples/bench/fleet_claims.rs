//! Claim and finish: the fleet's store of tasks beside pgbench with the same two statements.
//!
//! Both sides send the same statements with the same values, each by itself and parsed anew, over TLS by TCP, to the same tables: first the
//! claim, with the ids of all tasks of the queue, then the step that ends the lease. The step puts the task back into the queue, so that
//! there is always one to take, and is written into the history as any other. A worker of ours is one store on one connection in a thread.
//! Times are those of both statements together; in the open loop they begin when the work was due.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use watchdog_core::config::task_file::TaskStatus;
use watchdog_fleet::{CLAIM_STATEMENT, FleetTasks, STEP_STATEMENT};
use watchdog_store::task::TaskRecord;
use watchdog_store::task_store::{TaskClaim, TaskStore};

use super::Result;
use super::cluster::BenchCluster;
use super::fleet::{FleetBench, millis, print_row, quantile};

const REPOSITORY: &str = "host/bench";
const ROUNDS: usize = 3;
const LEASE: Duration = Duration::from_secs(300);

/// How many work, and how often work is due in a second; `None` = as soon as the last is done.
#[derive(Clone, Copy)]
struct Load {
    workers: usize,
    rate: Option<u32>,
}

impl Load {
    /// All that are claimed at one moment, and as many again.
    fn ids(self) -> Vec<String> {
        (0..2 * self.workers + 18)
            .map(|n| format!("task-{n:04}"))
            .collect()
    }

    /// Whether the throughput is what counts.
    fn is_flood(self) -> bool {
        self.workers == 100 && self.rate.is_none()
    }
}

/// How long each pair of statements took.
#[derive(Default)]
struct Taken {
    times: Vec<Duration>,
    elapsed: f64,
}

impl Taken {
    fn add(&mut self, other: Taken) {
        self.times.extend(other.times);
        self.elapsed += other.elapsed;
    }
}

pub fn measure(cluster: &BenchCluster, bench: &FleetBench) -> Result<()> {
    let loads = [(1, None), (10, None), (100, Some(100)), (100, None)]
        .map(|(workers, rate)| Load { workers, rate });
    for load in loads {
        let (mut ours, mut theirs) = (Taken::default(), Taken::default());
        for _ in 0..ROUNDS {
            queue(cluster, load)?;
            ours.add(ours_taken(cluster, load, bench.seconds)?);
            queue(cluster, load)?;
            theirs.add(theirs_taken(cluster, load, bench.seconds)?);
        }
        report(load, ours, theirs);
    }
    Ok(())
}

fn report(load: Load, mut ours: Taken, mut theirs: Taken) {
    let what = match load.rate {
        Some(rate) => format!(
            "claim and finish, {} workers, {rate} a second",
            load.workers
        ),
        None if load.workers == 1 => "claim and finish, 1 worker".to_owned(),
        None => format!("claim and finish, {} workers at once", load.workers),
    };
    for (name, share) in [("median", 0.5), ("p99", 0.99)] {
        let (here, there) = (
            quantile(&mut ours.times, share),
            quantile(&mut theirs.times, share),
        );
        let ratio = format!("{:.2}x", here.as_secs_f64() / there.as_secs_f64());
        let goal = if load.is_flood() { "" } else { "1.5x" };
        print_row(&[
            format!("{what}: {name}"),
            millis(here),
            millis(there),
            ratio,
            goal.into(),
        ]);
    }
    let each_second = |taken: &Taken| taken.times.len() as f64 / taken.elapsed;
    let (here, there) = (each_second(&ours), each_second(&theirs));
    let goal = if load.is_flood() { "0.7x" } else { "" };
    let cells = [
        format!("{what}: in a second"),
        format!("{here:.0}"),
        format!("{there:.0}"),
        format!("{:.2}x", here / there),
        goal.into(),
    ];
    print_row(&cells);
}

/// The queue and an empty history, as at the beginning.
fn queue(cluster: &BenchCluster, load: Load) -> Result<()> {
    let ids = load.ids().join(",");
    cluster.fleet_sql("TRUNCATE watchdog.task, watchdog.task_step")?;
    cluster.fleet_sql(&format!(
        "INSERT INTO watchdog.task (repository, id, status) SELECT '{REPOSITORY}', id, 'pending' FROM unnest('{{{ids}}}'::text[]) AS id"
    ))?;
    cluster.fleet_sql("VACUUM ANALYZE watchdog.task, watchdog.task_step")?;
    cluster.sql("postgres", "CHECKPOINT")?;
    Ok(())
}

/// Times at which work is due, at random, so many a second in the mean.
fn due_times(rate: u32, seconds: u64) -> Vec<Duration> {
    let (mut at, mut seed, mut due) = (0.0_f64, 0x9e37_79b9_7f4a_7c15_u64, Vec::new());
    loop {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        at -= (((seed >> 11) + 1) as f64 / (1_u64 << 53) as f64).ln() / f64::from(rate);
        if at > seconds as f64 {
            return due;
        }
        due.push(Duration::from_secs_f64(at));
    }
}

fn ours_taken(cluster: &BenchCluster, load: Load, seconds: u64) -> Result<Taken> {
    let ids = load.ids();
    let due = load.rate.map(|rate| due_times(rate, seconds));
    let stores: Vec<FleetTasks> = (0..load.workers)
        .map(|n| {
            Ok(FleetTasks::new(
                cluster.server()?,
                &format!("machine-{n}"),
                REPOSITORY,
            ))
        })
        .collect::<Result<_>>()?;
    let (begun, times, names) = (Mutex::new(None), Mutex::new(Vec::new()), AtomicU64::new(0));
    let ready = Barrier::new(load.workers);
    let elapsed = thread::scope(|scope| {
        let mut threads = Vec::new();
        for (number, store) in stores.iter().enumerate() {
            let (ids, due, begun, times, names, ready) =
                (&ids, &due, &begun, &times, &names, &ready);
            threads.push(
                scope.spawn(move || -> std::result::Result<Instant, String> {
                    let connected = store.tasks();
                    ready.wait();
                    connected.map_err(|error| error.to_string())?;
                    let begun = *begun
                        .lock()
                        .expect("no panic")
                        .get_or_insert_with(Instant::now);
                    let mut own = Vec::new();
                    let mut due = due
                        .as_ref()
                        .map(|due| due.iter().skip(number).step_by(load.workers));
                    loop {
                        let mut from = Instant::now();
                        if let Some(due) = &mut due {
                            let Some(at) = due.next() else { break };
                            thread::sleep((begun + *at).saturating_duration_since(from));
                            from = begun + *at;
                        } else if begun.elapsed().as_secs() >= seconds {
                            break;
                        }
                        claim_and_finish(store, ids, names.fetch_add(1, Ordering::Relaxed))?;
                        own.push(from.elapsed());
                    }
                    times.lock().expect("no panic").extend(own);
                    Ok(Instant::now())
                }),
            );
        }
        let mut last = None;
        for thread in threads {
            last = last.max(Some(thread.join().expect("no panic")?));
        }
        let begun = begun.lock().expect("no panic").expect("it began");
        Ok::<_, String>(last.expect("a worker").duration_since(begun).as_secs_f64())
    })?;
    Ok(Taken {
        times: times.into_inner()?,
        elapsed,
    })
}

fn claim_and_finish(
    store: &FleetTasks,
    ids: &[String],
    name: u64,
) -> std::result::Result<(), String> {
    let holder = format!("{} {name:016x}", std::process::id());
    let (from, to) = (&[TaskStatus::Pending], TaskStatus::Assigned);
    let claim = TaskClaim {
        ids,
        from,
        to,
        agent: "be-1",
        holder: &holder,
        ttl: LEASE,
        now: Timestamp::now(),
    };
    let claimed = store
        .claim(&claim)
        .map_err(|error| error.to_string())?
        .ok_or("no task is left")?;
    let put_back = |found: Option<&TaskRecord>| {
        found.map(|found| TaskRecord {
            status: TaskStatus::Pending,
            fence: None,
            ..found.clone()
        })
    };
    let done = store
        .step(&claimed.lease, &put_back)
        .map_err(|error| error.to_string())?;
    done.filter(|done| done.is_written)
        .map(drop)
        .ok_or_else(|| "a lease was lost".to_owned())
}

/// A statement with pgbench's variables, or literals, in the place of its values.
fn script(statement: &str, values: &[&str]) -> String {
    // From the last one on, so that none is the beginning of another.
    (1..=values.len())
        .rev()
        .fold(statement.to_owned(), |text, n| {
            text.replace(&format!("${n}"), values[n - 1])
        })
}

fn theirs_taken(cluster: &BenchCluster, load: Load, seconds: u64) -> Result<Taken> {
    let folder = tempfile::tempdir()?;
    let claim = script(
        CLAIM_STATEMENT,
        &[
            ":repository",
            ":ids",
            ":from",
            ":to",
            ":agent",
            ":machine",
            ":holder",
            ":ttl",
        ],
    );
    // Each column must have a name.
    let claim = claim.replace(
        ", false, t.pinned_text",
        ", false AS is_known, t.pinned_text",
    );
    let none = "NULL";
    let step = script(
        STEP_STATEMENT,
        &[
            ":repository",
            ":id",
            ":fence",
            ":holder",
            ":pending",
            ":agent",
            none,
            none,
            none,
            none,
            none,
            none,
            none,
            ":attempts",
            ":ends",
        ],
    );
    let file = folder.path().join("claim.sql");
    fs::write(
        &file,
        format!("\\set holder random(1, 9000000000000000000)\n{claim} \\gset\n{step};\n"),
    )?;
    let mut command = cluster.pgbench()?;
    let ids = format!("ids={{{}}}", load.ids().join(","));
    let repository = format!("repository={REPOSITORY}");
    let ttl = format!("ttl={}", LEASE.as_millis());
    for value in [
        &ids,
        &repository,
        &ttl,
        "from={pending}",
        "to=assigned",
        "pending=pending",
        "agent=be-1",
        "machine=machine-1",
        "ends=true",
    ] {
        command.args(["-D", value]);
    }
    // Its time begins before it has connected, and its rate does not.
    command.args([
        "-c",
        &load.workers.to_string(),
        "-j",
        &load.workers.min(2).to_string(),
        "-T",
        &(seconds + 2).to_string(),
    ]);
    if let Some(rate) = load.rate {
        command.arg(format!("--rate={rate}"));
    }
    command
        .arg("-f")
        .arg(&file)
        .args(["-l", "--log-prefix=times"])
        .current_dir(folder.path());
    let done = command.output().map_err(|error| {
        format!("pgbench: {error}; install it with: apt-get install postgresql-contrib")
    })?;
    let wrong = String::from_utf8_lossy(&done.stderr).into_owned();
    if !done.status.success() || wrong.contains("aborted") {
        return Err(format!("pgbench: {wrong}").into());
    }
    let said = String::from_utf8_lossy(&done.stdout);
    let rate = said
        .lines()
        .find_map(|line| {
            line.strip_prefix("tps = ")?
                .split(' ')
                .next()?
                .parse::<f64>()
                .ok()
        })
        .ok_or("pgbench tells no rate")?;
    let times = logged(folder.path())?;
    let elapsed = times.len() as f64 / rate;
    Ok(Taken { times, elapsed })
}

/// The times that pgbench wrote down, which in an open loop begin when the work was due.
fn logged(folder: &Path) -> Result<Vec<Duration>> {
    let mut times = Vec::new();
    for file in fs::read_dir(folder)? {
        let file = file?;
        if file.file_name().to_string_lossy().starts_with("times") {
            for line in fs::read_to_string(file.path())?.lines() {
                times.push(Duration::from_micros(
                    line.split(' ')
                        .nth(2)
                        .ok_or("a line without a time")?
                        .parse()?,
                ));
            }
        }
    }
    Ok(times)
}
