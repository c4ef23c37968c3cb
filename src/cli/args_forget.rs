//! The words of `watchdog forget`.

use clap::Args;

const AFTER_HELP: &str = "\
Without --yes it lists what would be removed; in a terminal it then asks. Removed are the hooks that `watchdog hook install` wrote into this \
worktree's settings, records, events, trust, refs below refs/watchdog/, logs and locks. Files of the work tree, such as completion.json and \
tasks, stay. So do snapshots of work, and refs that alone keep commits, without --snapshots.

Examples:
  watchdog forget                    what is left of this worktree
  watchdog forget --yes              remove it
  watchdog forget --all --yes        of every worktree of the repository
  watchdog forget --snapshots --yes  snapshots of work as well, for good";

/// Arguments of `watchdog forget`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct ForgetArgs {
    /// Forget every worktree of this repository, also those whose folder is gone
    #[arg(long)]
    pub all: bool,
    /// Remove snapshots of work, too, and refs that alone keep commits
    #[arg(long)]
    pub snapshots: bool,
    /// Remove without asking
    #[arg(long, short = 'y')]
    pub yes: bool,
    /// List what would be removed, and do nothing
    #[arg(long, conflicts_with = "yes")]
    pub dry_run: bool,
    /// Allow this inside a watched session
    #[arg(long)]
    pub from_session: bool,
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use crate::cli::args::Cli;

    #[test]
    fn listing_and_removing_exclude_each_other() {
        for (line, valid) in [
            ("watchdog forget", true),
            ("watchdog forget --all --snapshots -y", true),
            ("watchdog forget --dry-run --snapshots", true),
            ("watchdog forget --dry-run --yes", false),
            ("watchdog forget folder", false),
        ] {
            assert_eq!(
                Cli::try_parse_from(line.split(' ')).is_ok(),
                valid,
                "{line}"
            );
        }
    }
}
