//! The words of `watchdog fleet`.

use clap::{Args, Subcommand};

const AFTER_HELP: &str = "\
A fleet is several machines that share a PostgreSQL server (15 or later). Judging, rescue, locks and trust never need it: they stay with each \
machine. URL is postgres://USER@HOST:PORT/DATABASE; what it leaves out comes from PGHOST, PGPORT, PGUSER, PGPASSWORD, PGDATABASE, PGSSLMODE, \
PGSSLROOTCERT and PGPASSFILE. Beyond this machine TLS is used and the server's certificate is checked, unless sslmode says otherwise.

Examples:
  watchdog fleet init postgres://watchdog_owner@db.example/fleet
  watchdog fleet join postgres://watchdog_worker@db.example/fleet --name build-1
  watchdog fleet status";

const AFTER_INIT: &str = "\
The tables are made in the schema watchdog of the database, in one transaction; those of an earlier version are migrated forward, those of a \
newer one are refused. No superuser and no extension is needed: the role must be allowed to CREATE in the database.

Examples:
  watchdog fleet init postgres://watchdog_owner@db.example/fleet
  watchdog fleet init --print-sql  both roles and the tables, for a DBA";

/// What the server keeps in any case.
const LEAST_DAYS: i32 = 30;

const AFTER_PRUNE: &str = "\
Old events of all machines go; the events of the last 30 days cannot be removed so. Each machine keeps its own journal and figures.

Examples:
  watchdog fleet prune --older-than 90d
  watchdog fleet status            how far back events go, and their size";

const AFTER_JOIN: &str = "\
The server is tried first; then the address is kept in the state directory, in a file that only you can read (0600), with the password where \
URL or PGPASSWORD has one. A password of PGPASSFILE or ~/.pgpass stays in that file. Joining again under the same name renews the setting. \
Inside of a repository it proposes the id, host and path of its remote, under which all machines share its tasks; nothing is shared without \
your word. The address of the remote is kept with it: pushes go there, whatever the repository's configuration says later.

Examples:
  watchdog fleet join --repository                shares this repository
  watchdog fleet join --repository team/app --remote upstream
  watchdog fleet join postgres://watchdog_worker@db.example/fleet --name build-1
  PGPASSWORD=... watchdog fleet join postgres://w@db.example/fleet --name b2";

const AFTER_SYNC: &str = "\
`loop`, `watch` and `task work` copy by themselves, beside the work; every other command leaves its events in the journal of this machine, and \
this sends them. Each arrives once and in order, however often the server was away. Verdicts, limits and steps are copied, with secrets masked: \
no output, no diff, no command line. What happened before this machine joined stays here.

Examples:
  watchdog fleet sync
  watchdog init --cron             prints a timer that calls it";

const AFTER_ACCOUNT: &str = "\
Machines share an account only where their persons name the same one. A usage limit that an agent meets on one of them then holds that agent on \
the others until its reset: no session of it is started and no question is asked of it. NAME defaults to the account of this machine; without \
an option it is shown.

Examples:
  watchdog fleet account team --use
  watchdog fleet account --clear-limit --agent claude
  watchdog fleet account --own";

/// Arguments of `watchdog fleet account`.
#[derive(Debug, Args)]
pub struct FleetAccountArgs {
    /// The account
    #[arg(value_name = "NAME", value_parser = machine_name)]
    pub name: Option<String>,
    /// Let this machine work on the account NAME from now on
    #[arg(long = "use", requires = "name")]
    pub use_it: bool,
    /// Let this machine's account be its own again
    #[arg(long, conflicts_with_all = ["name", "use_it", "clear_limit"])]
    pub own: bool,
    /// End the usage limits that are known of the account: they are over, or were none
    #[arg(long)]
    pub clear_limit: bool,
    /// With --clear-limit, only that of this agent
    #[arg(long, value_name = "AGENT", requires = "clear_limit")]
    pub agent: Option<String>,
    /// Allow this inside a watched session
    #[arg(long)]
    pub from_session: bool,
}

/// Arguments of `watchdog fleet`.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct FleetArgs {
    /// What to do
    #[command(subcommand)]
    pub command: FleetCommand,
}

/// What to do with a fleet.
#[derive(Debug, Subcommand)]
pub enum FleetCommand {
    /// Make the tables of a fleet on a server, or migrate them
    #[command(after_long_help = AFTER_INIT)]
    Init {
        /// The server, as a role that may make tables
        #[arg(value_name = "URL", required_unless_present = "print_sql")]
        url: Option<String>,
        /// The role that gets the rights of a worker, where there is such a role
        #[arg(long, value_name = "ROLE", default_value = "watchdog_worker")]
        worker: String,
        /// Print the SQL that a database administrator would run instead, and connect to nothing
        #[arg(long)]
        print_sql: bool,
    },
    /// Let this machine join a fleet
    #[command(after_long_help = AFTER_JOIN)]
    Join {
        /// The server, as the role that works
        #[arg(
            value_name = "URL",
            required_unless_present = "repository",
            requires = "name"
        )]
        url: Option<String>,
        /// The name of this machine in the fleet
        #[arg(long, value_name = "NAME", value_parser = machine_name, requires = "url")]
        name: Option<String>,
        /// Share this repository with the fleet, under the id of its remote or this one
        #[arg(long, value_name = "ID", num_args = 0..=1, value_parser = repository_id)]
        repository: Option<Option<String>>,
        /// The remote over which work on its tasks travels
        #[arg(long, value_name = "NAME", default_value = "origin")]
        remote: String,
        /// The account of agents that this machine shares with others; without it, its account is its own
        #[arg(long, value_name = "NAME", value_parser = machine_name, requires = "url")]
        account: Option<String>,
        /// Allow this inside a watched session
        #[arg(long)]
        from_session: bool,
    },
    /// Take this machine out of its fleet, and forget the server
    #[command(after_long_help = AFTER_HELP)]
    Leave {
        /// Allow this inside a watched session
        #[arg(long)]
        from_session: bool,
    },
    /// Show or change the account of agents that machines share
    #[command(after_long_help = AFTER_ACCOUNT)]
    Account(FleetAccountArgs),
    /// Copy to the fleet what happened on this machine and waits
    #[command(after_long_help = AFTER_SYNC)]
    Sync {
        /// Send what a command left at its end, for a bounded time
        #[arg(long, hide = true)]
        handed_over: bool,
    },
    /// Remove old events from the server
    #[command(after_long_help = AFTER_PRUNE)]
    Prune {
        /// Remove events that are older than this; at least 30d
        #[arg(long, value_name = "DAYS", value_parser = parse_days)]
        older_than: i32,
    },
    /// Show the server and the machines of the fleet
    #[command(after_long_help = AFTER_HELP)]
    Status,
}

/// A number of days, as `90d`.
fn parse_days(text: &str) -> Result<i32, String> {
    let days = text
        .strip_suffix('d')
        .and_then(|days| days.parse().ok())
        .filter(|days| *days >= LEAST_DAYS);
    days.ok_or_else(|| {
        format!("'{text}' is no number of days such as 90d; the last {LEAST_DAYS} days are kept")
    })
}

/// A name that reads the same in a table, a file name and a ref.
fn machine_name(text: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if text.is_empty() || text.len() > 63 || text.starts_with(['-', '.']) || !text.chars().all(fits)
    {
        return Err("a name has 1 to 63 letters, digits, '-', '_' and '.', and begins with a letter, a digit or '_'".into());
    }
    Ok(text.to_owned())
}

/// A name of a repository that is the same on every machine.
fn repository_id(text: &str) -> Result<String, String> {
    match watchdog_git::why_no_repository_id(text) {
        None => Ok(text.to_owned()),
        Some(why) => Err(why.into()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use crate::cli::args::Cli;

    #[test]
    fn machine_needs_plain_name_and_fleet_a_server() {
        for (line, valid) in [
            ("watchdog fleet init postgres://h/x", true),
            ("watchdog fleet init --print-sql", true),
            ("watchdog fleet init", false),
            (
                "watchdog fleet join postgres://h/x --name build-1.example",
                true,
            ),
            ("watchdog fleet join postgres://h/x", false),
            ("watchdog fleet join postgres://h/x --name a/b", false),
            ("watchdog fleet join postgres://h/x --name .a", false),
            ("watchdog fleet join postgres://h/x --name é", false),
            (
                "watchdog fleet join postgres://h/x --name a --account team",
                true,
            ),
            ("watchdog fleet join --repository", true),
            (
                "watchdog fleet join --repository example.com/team/app --remote upstream",
                true,
            ),
            (
                "watchdog fleet join postgres://h/x --name a --repository",
                true,
            ),
            ("watchdog fleet join --repository https://u:p@h/x", false),
            ("watchdog fleet join --name a", false),
            ("watchdog fleet join --repository --name a", false),
            ("watchdog fleet leave", true),
            ("watchdog fleet account", true),
            ("watchdog fleet account team --use", true),
            ("watchdog fleet account --use", false),
            ("watchdog fleet account team --own", false),
            (
                "watchdog fleet account team --clear-limit --agent claude",
                true,
            ),
            ("watchdog fleet account --agent claude", false),
            ("watchdog fleet status --json", true),
            ("watchdog fleet sync", true),
            ("watchdog fleet prune --older-than 90d", true),
            ("watchdog fleet prune --older-than 29d", false),
            ("watchdog fleet prune --older-than 90", false),
            ("watchdog fleet prune", false),
            ("watchdog fleet", false),
        ] {
            assert_eq!(
                Cli::try_parse_from(line.split(' ')).is_ok(),
                valid,
                "{line}"
            );
        }
    }
}
