//! The words of `watchdog on` and `watchdog off`.

use clap::Args;

/// How `on` and `off` decide, and examples.
pub const AFTER_HELP: &str = "\
The hooks tell what git says at an agent's stop, and keep its uncommitted work at the session's end. They need no completion.json, ask no model and \
cost no token. `off` gives back every byte of the settings; a file that `on` made is gone.

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
