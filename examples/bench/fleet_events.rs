//! Events: how many a second the server takes, how far a follower is behind, how large they are and how fast old ones go.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use watchdog_fleet::event_pruning::prune_events;
use watchdog_fleet::event_stream::{EventFollower, newest_position};
use watchdog_fleet::{FleetServer, FleetStore};
use watchdog_store::SharedStore;
use watchdog_store::engine::{EventCursor, NewEvent};
use watchdog_store::journal::event_id;

use super::Result;
use super::cluster::BenchCluster;
use super::fleet::{FleetBench, millis, print_row, quantile};

const BATCH: usize = 100;

/// The rate at which a follower is measured.
const RATE: u32 = 5_000;

/// Writes batches from several machines until told to stop, all at once or at a rate; how many events they were.
pub fn write(
    cluster: &BenchCluster,
    writers: usize,
    rate: Option<u32>,
    stop: &AtomicBool,
) -> Result<u64> {
    let stores: Vec<FleetStore> = (0..writers)
        .map(|n| Ok(FleetStore::new(cluster.server()?, &format!("machine-{n}"))))
        .collect::<Result<_>>()?;
    let every =
        rate.map(|rate| Duration::from_secs_f64((writers * BATCH) as f64 / f64::from(rate)));
    let written = AtomicU64::new(0);
    thread::scope(|scope| {
        let threads: Vec<_> = stores
            .iter()
            .enumerate()
            .map(|(number, store)| {
                let written = &written;
                scope.spawn(move || -> std::result::Result<(), String> {
                    let _ = store
                        .append(&[event()], None)
                        .map_err(|error| error.to_string())?;
                    let mut due = Instant::now()
                        + every
                            .unwrap_or_default()
                            .mul_f64(number as f64 / writers as f64);
                    while !stop.load(Ordering::Relaxed) {
                        if let Some(every) = every {
                            thread::sleep(due.saturating_duration_since(Instant::now()));
                            due += every;
                        }
                        let events: Vec<NewEvent> = (0..BATCH).map(|_| event()).collect();
                        let _ = store
                            .append(&events, None)
                            .map_err(|error| error.to_string())?;
                        written.fetch_add(BATCH as u64, Ordering::Relaxed);
                    }
                    Ok(())
                })
            })
            .collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().expect("no panic"))
    })?;
    Ok(written.into_inner())
}

/// A verdict as the journal has it, of usual size.
fn event() -> NewEvent {
    let at = Timestamp::now();
    let data = serde_json::json!({
        "verdict": "not_complete", "reason": "dirty", "message": "3 files are changed and not committed; the session has ended",
        "head": "8f14e45fceea167a5a36dedd4bea2543c1c1a9d0", "baseline": "45c48cce2e2d7fbdea1afc51c7c6ad26d0b1a0f2", "commits": 2, "changed": 3,
        "branch": "agent/be-1/add-the-parser", "agent": "claude", "session": "0b51c1cb-3c5e-4c1f-9c1f-9d3c5d6f7a81", "seconds": 71.25,
        "machine": "build-1", "attempt": 2, "probe": {"asked": false, "why": "the work tree answers"}
    });
    let worktree = "/home/ci/work/agents/be-1/application".to_owned();
    NewEvent {
        id: event_id(at),
        at,
        worktree,
        spec: Some("add-the-parser".into()),
        kind: "verdict".into(),
        data,
    }
}

pub fn measure(cluster: &BenchCluster, bench: &FleetBench) -> Result<()> {
    let time = Duration::from_secs(bench.seconds);
    for writers in [1, 10] {
        let begun = Instant::now();
        let written = for_a_while(time, |stop| write(cluster, writers, None, stop))?;
        let rate = format!("{:.0}", written as f64 / begun.elapsed().as_secs_f64());
        print_row(&[
            format!("events in a second, batches of {BATCH}, {writers} writing"),
            rate,
            String::new(),
            String::new(),
            "5,000".into(),
        ]);
    }
    let pooled = cluster.pooled_server()?;
    for (how, follower, goal) in [
        ("by notification", Some(cluster.server()?), "200 ms"),
        ("behind a pooler", pooled, "a look each second"),
    ] {
        let Some(follower) = follower else {
            println!("no pooler is installed: apt-get install pgbouncer");
            continue;
        };
        let (written, mut lags) = followed(cluster, &follower, time)?;
        let rate = format!("{:.0}", written as f64 / time.as_secs_f64());
        for (name, share) in [("median", 0.5), ("p99", 0.99)] {
            let what = format!("a follower is behind, {how}, {rate} events a second: {name}");
            let goal = if name == "p99" { goal } else { "" };
            print_row(&[
                what,
                millis(quantile(&mut lags, share)),
                String::new(),
                String::new(),
                goal.into(),
            ]);
        }
    }
    growth(cluster)?;
    pruning(cluster, bench.events)
}

/// Lets something run for a while, and tells it then to stop.
pub fn for_a_while<T>(time: Duration, run: impl FnOnce(&AtomicBool) -> T) -> T {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(time);
            stop.store(true, Ordering::Relaxed);
        });
        run(&stop)
    })
}

/// How long after they happened the events came to a follower.
fn followed(
    cluster: &BenchCluster,
    server: &Arc<FleetServer>,
    time: Duration,
) -> Result<(u64, Vec<Duration>)> {
    let begin = newest_position(server)?.unwrap_or(EventCursor::START);
    let mut follower = EventFollower::new(server, begin);
    let mut lags = Vec::new();
    let written = for_a_while(time, |stop| {
        thread::scope(|scope| {
            let writing = scope.spawn(move || {
                write(cluster, 10, Some(RATE), stop).map_err(|error| error.to_string())
            });
            while !writing.is_finished() {
                let events = follower.next_events(1_000)?;
                let now = Timestamp::now();
                lags.extend(events.iter().map(|event| {
                    Duration::try_from(now.duration_since(event.event.at)).unwrap_or_default()
                }));
                if events.is_empty() && !writing.is_finished() {
                    follower.wait()?;
                }
            }
            Ok::<_, Box<dyn std::error::Error>>(writing.join().expect("no panic")?)
        })
    })?;
    Ok((written, lags))
}

/// What an event takes on the server's disk.
fn growth(cluster: &BenchCluster) -> Result<()> {
    cluster.fleet_sql("VACUUM ANALYZE watchdog.event")?;
    let said = cluster.fleet_sql(
        "SELECT pg_total_relation_size('watchdog.event') \
         / (SELECT count(*) FROM watchdog.event), (SELECT avg(octet_length(data::text)) FROM watchdog.event)::bigint",
    )?;
    let (bytes, data) = said.split_once('|').ok_or("two sizes")?;
    let day = bytes.parse::<f64>()? * 1_000.0 / 1e6;
    let cells = [
        format!("an event of {data} bytes of JSON, on disk with its indexes"),
        format!("{bytes} bytes"),
        String::new(),
        String::new(),
        String::new(),
    ];
    print_row(&cells);
    let cells = [
        "growth by 1,000 events a machine and day".into(),
        format!("{day:.2} MB"),
        String::new(),
        String::new(),
        String::new(),
    ];
    print_row(&cells);
    Ok(())
}

/// Deletes so many events of a day 100 days ago.
fn pruning(cluster: &BenchCluster, events: u64) -> Result<()> {
    cluster.fleet_sql(&format!(
        "INSERT INTO watchdog.event (id, at, machine, worktree, spec, kind, data)
             SELECT 'old-' || n, now() - interval '100 days' + n * interval '0.00001 second', e.machine, e.worktree, e.spec,
                 e.kind, e.data
             FROM generate_series(1, {events}) AS n, (SELECT * FROM watchdog.event LIMIT 1) AS e"
    ))?;
    let server = cluster.server()?;
    newest_position(&server)?;
    let begun = Instant::now();
    let pruned = prune_events(&server, 90)?;
    let took = millis(begun.elapsed());
    assert_eq!(pruned, events);
    print_row(&[
        format!("deleting {events} old events"),
        took,
        String::new(),
        String::new(),
        String::new(),
    ]);
    Ok(())
}
