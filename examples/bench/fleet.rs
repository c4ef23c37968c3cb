//! What a fleet costs on PostgreSQL: a table of figures.

use std::time::Duration;

use super::Result;
use super::cluster::BenchCluster;
use super::{fleet_claims, fleet_events, fleet_machines};

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub struct FleetBench {
    /// How long each side of a round is measured.
    pub seconds: u64,
    /// How many machines send heartbeats.
    pub machines: usize,
    /// How many events the day has that is dropped.
    pub events: u64,
}

impl Default for FleetBench {
    fn default() -> Self {
        FleetBench {
            seconds: 6,
            machines: 1_000,
            events: 1_000_000,
        }
    }
}

/// Prints figures as a row of Markdown's tables.
pub fn print_row(cells: &[String]) {
    println!("| {} |", cells.join(" | "));
}

/// The value below which this share of all lies. Sorts them.
pub fn quantile(times: &mut [Duration], share: f64) -> Duration {
    times.sort_unstable();
    let place = (times.len() as f64 * share) as usize;
    times
        .get(place.min(times.len().saturating_sub(1)))
        .copied()
        .unwrap_or_default()
}

pub fn millis(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1000.0)
}

/// Measures everything; some minutes.
pub fn measure(bench: &FleetBench) -> Result<()> {
    let mut cluster = BenchCluster::start()?;
    println!("| what | watchdog | pgbench | ratio | goal |\n|---|---|---|---|---|");
    fleet_claims::measure(&cluster, bench)?;
    fleet_events::measure(&cluster, bench)?;
    fleet_machines::measure(&mut cluster, bench)
}
