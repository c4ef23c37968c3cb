//! The words of `watchdog on` and `watchdog off`.

use clap::Args;

/// How `on` and `off` decide, and examples.
pub const AFTER_HELP: &str = "\
The hooks need no completion.json and ask no model: Claude Code hears at its stop where git contradicts its words, and what a session left uncommitted \
is kept in a snapshot at its end. `off` gives back every byte where nothing else changed the settings; a file that `on` made is gone.

Examples:
  watchdog on            every agent here, in all your projects
  watchdog on --repo     this repository alone
  watchdog on --dry-run  show the difference, and change nothing
  watchdog off           take all of it back";

/// Arguments of `watchdog on` and `watchdog off`.
#[derive(Debug, Clone, Copy, Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct SwitchArgs {
    /// In the settings of this repository instead of your own
    #[arg(long)]
    pub repo: bool,
    /// Show the difference, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    pub yes: bool,
}
