//! What a fleet costs on PostgreSQL: a table of figures, written into the page about performance too.

use std::fs;
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

/// Figures in the order in which they were measured, as a table of Markdown.
pub struct FigureTable {
    lines: Vec<String>,
}

impl FigureTable {
    pub fn new(columns: &[&str]) -> Self {
        let mut table = FigureTable { lines: Vec::new() };
        table.row(&columns.iter().map(ToString::to_string).collect::<Vec<_>>());
        table.print(format!("|{}", "---|".repeat(columns.len())));
        table
    }

    /// Adds a row, and prints it at once.
    pub fn row(&mut self, cells: &[String]) {
        self.print(format!("| {} |", cells.join(" | ")));
    }

    fn print(&mut self, line: String) {
        println!("{line}");
        self.lines.push(line);
    }

    /// Writes it into the page about performance, between the markers of its name.
    pub fn write_page(&self, name: &str) -> Result<()> {
        const PAGE: &str = "docs/performance.md";
        let (begin, end) = (
            format!("<!-- {name}: written by scripts/bench {name} -->\n"),
            format!("<!-- end of {name} -->"),
        );
        let page = fs::read_to_string(PAGE)?;
        let (before, rest) = page
            .split_once(&begin)
            .ok_or(format!("{PAGE} has no place for {name}"))?;
        let (_, after) = rest
            .split_once(&end)
            .ok_or(format!("{PAGE} has no end of {name}"))?;
        let commit = std::process::Command::new("git")
            .args(["rev-parse", "--short=10", "HEAD"])
            .output()?;
        let commit = String::from_utf8_lossy(&commit.stdout).trim().to_owned();
        let head = format!(
            "Commit {commit}, {}, {} cores.",
            jiff::Zoned::now().date(),
            std::thread::available_parallelism()?
        );
        // The page has the rows that a goal is set for; all of them were printed.
        let rows: Vec<&str> = self.lines.iter().map(String::as_str).collect();
        let rows = rows.into_iter().filter(|row| !row.ends_with("|  |"));
        let rows = rows.collect::<Vec<_>>().join("\n");
        fs::write(
            PAGE,
            format!("{before}{begin}{head}\n\n{rows}\n{end}{after}"),
        )?;
        Ok(())
    }
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
    let mut table = FigureTable::new(&["what", "watchdog", "pgbench", "ratio", "goal"]);
    fleet_claims::measure(&cluster, bench, &mut table)?;
    fleet_events::measure(&cluster, bench, &mut table)?;
    fleet_machines::measure(&mut cluster, bench, &mut table)?;
    table.write_page("fleet")
}
