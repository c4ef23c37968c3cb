//! The signs of a session's activity beside its files: bytes of output, and CPU time of its processes.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::Pid;
use watchdog_system::ProcessRow;

use super::command_lines::{CommandLineReader, rows_below};
use super::drain::DrainProgress;
use super::process_tree::is_paused;
use super::tree_registry;

/// A session uses its processors where that is more than one part in so many of a core.
const PART_OF_A_CORE: u32 = 100;

/// Measures a running session. Taken from it before a thread waits for its end.
pub struct SessionMeter {
    tree: u64,
    leader: Pid,
    output: [Arc<DrainProgress>; 2],
}

/// A sample of a session's processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessSample {
    /// Processor time of all that live, and of children that they have waited for.
    pub used: Duration,
    /// How long ago the youngest of them began, the first one left out.
    pub youngest: Option<Duration>,
}

impl SessionMeter {
    pub(super) fn new((tree, leader): (u64, Pid), output: [Arc<DrainProgress>; 2]) -> Self {
        SessionMeter {
            tree,
            leader,
            output,
        }
    }

    /// Whether it stands still because it was stopped.
    pub fn is_paused(&self) -> bool {
        is_paused(self.leader)
    }

    /// Bytes that it has written so far, on both streams.
    pub fn output(&self) -> u64 {
        self.output
            .iter()
            .map(|progress| progress.read_bytes())
            .sum()
    }

    /// Reads the command lines of its processes.
    pub fn command_lines(&self) -> CommandLineReader {
        CommandLineReader::of_tree(self.tree)
    }

    /// Its processes; `None` where the system does not show them.
    pub fn processes(&self) -> Option<ProcessSample> {
        let rows = tree_registry::list_living(self.tree)?;
        sample_rows(&rows, rows.first().map(|row| row.pid))
    }
}

/// The processes below `leader`, which another process started; `None` where the system does not show them.
pub fn processes_below(leader: u32) -> Option<ProcessSample> {
    let rows = rows_below(leader)?;
    sample_rows(&rows, Some(leader))
}

fn sample_rows(rows: &[ProcessRow], leader: Option<u32>) -> Option<ProcessSample> {
    if rows.is_empty() {
        return None;
    }
    let youngest = rows
        .iter()
        .filter(|row| Some(row.pid) != leader)
        .map(|row| row.started)
        .max();
    let uptime = watchdog_system::read_uptime();
    Some(ProcessSample {
        used: watchdog_system::of_ticks(rows.iter().map(|row| row.ticks).sum()),
        youngest: youngest
            .and_then(|started| Some(uptime?.saturating_sub(watchdog_system::of_ticks(started)))),
    })
}

/// Whether processes work, told from one look to the next: a hundredth of a core over a stretch of time is work.
#[derive(Debug)]
pub struct CpuUse {
    stretch: Duration,
    /// The CPU time, summed up from sample to sample: the time of an ended process stays in the sum.
    sum: Duration,
    last: Option<Duration>,
    samples: VecDeque<(Instant, Duration)>,
}

impl CpuUse {
    /// Judges over stretches of this length.
    pub fn over(stretch: Duration) -> Self {
        CpuUse {
            stretch,
            sum: Duration::ZERO,
            last: None,
            samples: VecDeque::new(),
        }
    }

    /// Adds the CPU time of a sample; returns whether the processes have worked since the previous one.
    pub fn works(&mut self, at: Instant, used: Duration) -> bool {
        let since = self.last.map_or(used, |last| used.saturating_sub(last));
        self.last = Some(used);
        self.sum += since;
        self.samples.push_back((at, self.sum));
        // The look before the stretch is where it begins.
        while self
            .samples
            .get(1)
            .is_some_and(|(then, _)| at.saturating_duration_since(*then) >= self.stretch)
        {
            self.samples.pop_front();
        }
        let Some((then, before)) = self.samples.front().copied() else {
            return false;
        };
        let stretch = at.saturating_duration_since(then);
        !since.is_zero()
            && (self.samples.len() == 1 || (self.sum - before) * PART_OF_A_CORE >= stretch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hundredth_of_a_core_counts_as_work() {
        let begin = Instant::now();
        let works = |per_look: u64| {
            let mut processor = CpuUse::over(Duration::from_secs(60));
            let look = |n: u64| {
                processor.works(
                    begin + Duration::from_secs(5 * n),
                    Duration::from_millis(per_look * n),
                )
            };
            (1..=40).map(look).collect::<Vec<bool>>()
        };
        assert_eq!(
            works(50),
            [true; 40],
            "one part in a hundred of five seconds"
        );
        assert!(works(40)[1..].iter().all(|works| !works));
        assert!(works(0)[1..].iter().all(|works| !works));
    }

    #[test]
    fn what_ended_processes_used_is_not_taken_back() {
        let begin = Instant::now();
        let mut processor = CpuUse::over(Duration::from_secs(60));
        let mut works = |second: u64, used: u64| {
            processor.works(
                begin + Duration::from_secs(second),
                Duration::from_millis(used),
            )
        };
        assert!(works(0, 10_000));
        assert!(!works(5, 500), "one with much time has ended");
        assert!(works(10, 1_000));
        assert!(!works(15, 1_000), "nothing more was used");
    }

    #[test]
    fn this_process_is_seen_with_its_time() {
        let look = processes_below(std::process::id());
        assert_eq!(look.is_some(), watchdog_system::read_all().is_ok());
        assert!(
            look.as_ref()
                .is_none_or(|look| look.used < Duration::from_secs(3600)),
            "{look:?}"
        );
        assert_eq!(processes_below(u32::MAX), None);
    }
}
