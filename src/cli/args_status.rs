//! The words of `watchdog status`.

use std::path::PathBuf;

use clap::Args;

use super::args_sweep::build_only_parser;

const AFTER_HELP: &str = "\
One row for each worktree that has a recorded baseline, and for each further spec of it that goes on, in this order: those that need a \
person (a stalled session; review and worse, an open breaker or a broken .git, and nothing runs), with why and the command to type; \
interrupted loops; those where something runs now; those that wait for their next session; those that were not judged since their \
baseline; those that are complete; those whose folder is gone. Times are local; -v shows every sentence whole.

It tells what is recorded, and how sessions do that run: git is not asked, nobody is judged, no lock is taken. `watchdog sweep` looks anew. \
Exit code: 0, whatever it shows.

  watchdog status             every worktree of this state directory
  watchdog status ~/projects  those at or below a folder
  watchdog status --only needs_person
  watchdog status --only review,failed,error --json
  watchdog status --fleet     every machine of the fleet; 16: server away
  watchdog status --prometheus /var/lib/prometheus/node-exporter/watchdog.prom

--watch stays, and shows the same as it changes, with what git and the sessions' logs say of the rows on the screen. Its keys:

  Enter    open the chosen worktree: timeline, output, verdict, snapshots, tasks
  a        act on it; asks first, and names the command that does the same
  / f s    search; filter by state; sort
  ? q      all keys; quit (as Ctrl-C; Ctrl-Z stops it until fg)

In a pipe, with TERM=dumb or with --plain it writes a line for every worktree and one for every change, and moves no cursor; with --json each \
is an object as `status --json` has it, with one worktree.

  watchdog status --watch
  watchdog status --watch --plain --only review,stalled";

/// The words of `--only` beside the statuses.
const WORDS: &[&str] = &[
    "needs_person",
    "running",
    "stalled",
    "interrupted",
    "not_judged",
    "broken",
    "gone",
    "silent",
];

/// Arguments of `watchdog status`.
#[derive(Debug, Default, Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct StatusArgs {
    /// Only worktrees at or below these paths, or else the one that a path is in [default: every worktree, or those at or below -C]
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Only rows whose last verdict has this status, or that are needs_person, running, stalled, interrupted (a loop), not_judged (since
    /// their baseline), broken, gone or silent (with --fleet: its machine is); may be given several times
    #[arg(long, value_name = "STATUS", value_delimiter = ',', value_parser = build_only_parser(WORDS))]
    pub only: Vec<String>,
    /// A row for each spec with a baseline, also for older ones that are complete or were not judged
    #[arg(long)]
    pub all_specs: bool,
    /// Write metrics for Prometheus into this file in place of the table; '-' is stdout
    #[arg(long, value_name = "FILE", conflicts_with_all = ["only", "watch"], value_hint = clap::ValueHint::FilePath)]
    pub prometheus: Option<PathBuf>,
    /// The worktrees of every machine of the fleet, those that need a person first
    #[arg(long, conflicts_with_all = ["paths", "prometheus"])]
    pub fleet: bool,
    /// With --fleet, only those of this machine; may be given several times
    #[arg(long, value_name = "NAME", value_delimiter = ',', requires = "fleet")]
    pub machine: Vec<String>,
    /// Stay, and show everything as it changes; press ? for the keys
    #[arg(long)]
    pub watch: bool,
    /// Write plain lines instead of drawing, for screen readers
    #[arg(long, requires = "watch")]
    pub plain: bool,
    /// Take clicks and the wheel; the terminal then selects text only with Shift
    #[arg(long, requires = "watch")]
    pub mouse: bool,
}
