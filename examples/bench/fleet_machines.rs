//! Many machines that send heartbeats, each on a connection of its own, while events are written.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use watchdog_fleet::FleetServer;
use watchdog_fleet::machines::{add_machine, send_heartbeat};

use super::Result;
use super::cluster::BenchCluster;
use super::fleet::{FleetBench, millis, print_row, quantile};
use super::fleet_events::{for_a_while, write};

/// How often each says that it is there.
const EVERY: Duration = Duration::from_secs(30);

/// What is written meanwhile: some forty times what 1,000 machines write with 1,000 events a day each.
const EVENTS_A_SECOND: u32 = 500;

pub fn measure(cluster: &mut BenchCluster, bench: &FleetBench) -> Result<()> {
    let files = getrlimit(Resource::Nofile);
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: files.maximum,
            ..files
        },
    )?;
    cluster.restart_with(&format!("max_connections = {}", bench.machines + 100))?;
    let cluster = &*cluster;
    let servers: Vec<Arc<FleetServer>> = (0..bench.machines)
        .map(|_| cluster.server())
        .collect::<Result<_>>()?;
    in_threads(16, bench.machines, |n| {
        add_machine(&servers[n], &format!("machine-{n}"), &format!("id-{n}"))
            .map_err(|error| error.to_string())
    })?;
    let (before, begun) = (cluster.cpu_seconds()?, Instant::now());
    let times = Mutex::new(Vec::new());
    let written = for_a_while(EVERY, |stop| {
        thread::scope(|scope| {
            let beating = scope.spawn(|| {
                // One after the other all through the time, as machines that were started at any moment.
                in_threads(32, servers.len(), |n| {
                    let due = begun + EVERY.mul_f64(n as f64 / servers.len() as f64);
                    thread::sleep(due.saturating_duration_since(Instant::now()));
                    send_heartbeat(&servers[n], &format!("machine-{n}"), &format!("id-{n}"))
                        .map_err(|error| error.to_string())?;
                    times.lock().expect("no panic").push(due.elapsed());
                    Ok(())
                })
            });
            let written = write(cluster, 10, Some(EVENTS_A_SECOND), stop)?;
            beating.join().expect("no panic")?;
            Ok::<_, Box<dyn std::error::Error>>(written)
        })
    })?;
    let (cpu, elapsed) = (
        cluster.cpu_seconds()? - before,
        begun.elapsed().as_secs_f64(),
    );
    let mut times = times.into_inner()?;
    let what = format!(
        "{} machines, a heartbeat each 30 s, {:.0} events a second",
        bench.machines,
        written as f64 / elapsed
    );
    let none = String::new;
    for (name, share) in [("median", 0.5), ("p99", 0.99)] {
        print_row(&[
            format!("{what}: {name} of a heartbeat"),
            millis(quantile(&mut times, share)),
            none(),
            none(),
            none(),
        ]);
    }
    print_row(&[
        format!("{what}: the server's CPU"),
        format!("{:.1} % of a core", cpu / elapsed * 100.0),
        none(),
        none(),
        none(),
    ]);
    Ok(())
}

/// Does something for each number up to `count`, by so many threads, in order.
fn in_threads(
    threads: usize,
    count: usize,
    act: impl Fn(usize) -> std::result::Result<(), String> + Sync,
) -> std::result::Result<(), String> {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    loop {
                        let n = next.fetch_add(1, Ordering::Relaxed);
                        if n >= count {
                            return Ok(());
                        }
                        act(n)?;
                    }
                })
            })
            .collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().expect("no panic"))
    })
}
