//! The words of `watchdog rescue`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

const AFTER_HELP: &str = "\
Everything that is uncommitted is kept in a snapshot first, a ref of this repository, and then committed: in the commits that the agent \
plans, or as rescue.mode says. Secrets and what rescue.exclude names are not committed; ignored files are not kept, but for small secrets \
and configuration such as .env.

Examples:
  watchdog rescue --dry-run                what would be committed
  watchdog rescue list                     the snapshots, newest first
  watchdog rescue show latest --stat       what the newest one changes
  watchdog rescue restore latest           back into a clean work tree
  watchdog rescue restore ID --to ../look  as plain files, into a new folder";

/// Arguments of `watchdog rescue`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, after_long_help = AFTER_HELP)]
pub struct RescueArgs {
    /// What to do with snapshots; without it, salvage now
    #[command(subcommand)]
    pub command: Option<RescueCommand>,
    /// Say what would be committed and what left alone, and do nothing
    #[arg(long)]
    pub dry_run: bool,
    /// A name for the work [default: the branch]
    #[arg(long, value_name = "NAME", env = "WATCHDOG_SPEC")]
    pub spec: Option<String>,
}

/// What to do with snapshots.
#[derive(Debug, Subcommand)]
pub enum RescueCommand {
    /// List the snapshots of this repository, newest first
    List {
        /// Only those of this work
        #[arg(long = "spec", id = "of", value_name = "NAME")]
        spec: Option<String>,
        /// Measure the room that each one alone needs
        #[arg(long)]
        size: bool,
    },
    /// Show what a snapshot changes: a summary, then the difference line by line
    Show {
        /// As `rescue list` prints it, or an unambiguous beginning of it, or `latest`
        id: String,
        /// Only the summary
        #[arg(long)]
        stat: bool,
    },
    /// Bring a snapshot back: into the work tree if it is clean, else into a new branch
    Restore {
        /// As `rescue list` prints it, or an unambiguous beginning of it, or `latest`
        id: String,
        /// Into a new branch of this name; secrets and over-size files stay off it
        #[arg(long, value_name = "NAME", group = "target")]
        branch: Option<String>,
        /// Into this new or empty folder, as plain files
        #[arg(
            long = "to",
            visible_alias = "into",
            id = "into",
            value_name = "DIR",
            group = "target"
        )]
        into: Option<PathBuf>,
        /// Into a new linked worktree at DIR, exact with its index
        #[arg(long = "worktree", id = "linked", value_name = "DIR", group = "target")]
        linked: Option<PathBuf>,
        /// Act on the worktree at PATH instead of the current folder, as git -C does
        // The same id as the global flag keeps that from being added here, where its long form means something else.
        #[arg(short = 'C', id = "worktree", value_name = "PATH")]
        at: Option<PathBuf>,
    },
    /// Delete a snapshot permanently
    Drop {
        /// As `rescue list` prints it, or an unambiguous beginning of it, or `latest`
        id: String,
    },
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::args::{Cli, Command};

    #[test]
    fn restore_target_is_not_the_acting_worktree() {
        for (line, at, linked) in [
            (
                "watchdog rescue restore ID --worktree new",
                None,
                Some("new"),
            ),
            (
                "watchdog --worktree here rescue restore ID --worktree new",
                Some("here"),
                Some("new"),
            ),
            ("watchdog -C here rescue restore ID", Some("here"), None),
            (
                "watchdog rescue restore -C here ID --worktree new",
                Some("here"),
                Some("new"),
            ),
        ] {
            let cli = Cli::try_parse_from(line.split(' '))
                .unwrap_or_else(|error| panic!("{line}: {error}"));
            assert_eq!(cli.global.worktree, at.map(PathBuf::from), "{line}");
            let Some(Command::Rescue(RescueArgs {
                command: Some(RescueCommand::Restore { linked: found, .. }),
                ..
            })) = cli.command
            else {
                panic!("{line}")
            };
            assert_eq!(found, linked.map(PathBuf::from), "{line}");
        }
        let both = "watchdog rescue restore ID --worktree new --to folder";
        assert!(Cli::try_parse_from(both.split(' ')).is_err());
    }
}
