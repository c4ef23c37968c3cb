//! The words of `watchdog status`.

use std::path::PathBuf;

use clap::Args;

use super::args_sweep::only;

const AFTER_HELP: &str = "\
One line for each worktree that has a recorded baseline, in this order: those that need a person (a stalled session; review and worse, \
an open breaker or a broken .git, and nothing runs); those where something runs now; those that wait for their next session; those that were \
not judged since their baseline; those that are complete; those whose folder is gone.

It tells what is recorded, and how sessions do that run: git is not asked, nobody is judged, no lock is taken. `watchdog sweep` looks anew. \
Exit code: 0, whatever it shows.

  watchdog status             every worktree of this state directory
  watchdog status ~/projects  those at or below a folder
  watchdog status --only review,failed,error --json";

/// Arguments of `watchdog status`.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct StatusArgs {
    /// Only worktrees at or below these paths, or else the one that a path is in [default: every worktree, or those at or below -C]
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Only worktrees whose last verdict has this status, or that are running, stalled, not_judged (since their baseline), broken or gone; may be given
    /// several times
    #[arg(long, value_name = "STATUS", value_delimiter = ',', value_parser = only(&["running", "stalled", "not_judged", "broken", "gone"]))]
    pub only: Vec<String>,
}
