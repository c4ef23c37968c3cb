//! Implements `watchdog fleet`, in a build that has the fleet.

use crate::cli::args_fleet::{FleetArgs, FleetCommand};
use crate::cli::failure::CommandFailure;
use crate::cli::terminal::CommandTerminal;
use watchdog_facts::display::{escape_to_one_line, plural};
use watchdog_fleet::connection_settings::ConnectionSettings;
use watchdog_fleet::event_pruning::{KeptEvents, prune_events, survey_events};
use watchdog_fleet::member::{
    FleetSetting, FleetSettingError, LeftFleet, copy_handed_over, copy_now, join_fleet, leave_fleet,
};
use watchdog_fleet::migrations::{MigrationOutcome, as_sql, migrate_tables};
use watchdog_fleet::wire::fleet_json::{
    fleet_joined_json, fleet_made_json, fleet_pruned_json, fleet_synced_json, no_fleet_json,
    with_shared_repository,
};
use watchdog_fleet::{FleetError, FleetServer};
use watchdog_judge::judge::command_env::CommandEnv;
use watchdog_judge::session::inside_of;
use watchdog_store::open_store;
use watchdog_view::amounts::format_size;

use super::fleet_account_words::{about_account, fleet_account};
use super::fleet_share::{SharingWish, in_words as shared_in_words, share_repository};
use super::fleet_status_words::show_fleet_status;
use super::from_session::PrivilegedCommand;

const IN_NO_FLEET: &str = "This machine is in no fleet.";
pub(super) const HOW_TO_JOIN: &str =
    "This machine is in no fleet. To join one: watchdog fleet join URL --name NAME";

/// The database that the SQL is printed for where no address names one.
const USUAL_DATABASE: &str = "fleet";

/// Does what the words after `fleet` say.
pub fn run_fleet_command(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    args: FleetArgs,
) -> Result<u8, CommandFailure> {
    match args.command {
        FleetCommand::Init {
            url,
            worker,
            print_sql,
        } => run_fleet_init(terminal, url.as_deref(), &worker, print_sql),
        FleetCommand::Join {
            url,
            name,
            repository,
            remote,
            account,
            from_session,
        } => {
            refuse_from_a_session(command_env, "watchdog fleet join", from_session)?;
            let wish = SharingWish {
                repository: repository.as_ref().map(Option::as_deref),
                remote: &remote,
            };
            let joined = url.as_deref().zip(name.as_deref());
            run_fleet_join(command_env, terminal, joined, account.as_deref(), &wish)
        }
        FleetCommand::Leave { from_session } => {
            refuse_from_a_session(command_env, "watchdog fleet leave", from_session)?;
            run_fleet_leave(command_env, terminal)
        }
        FleetCommand::Account(args) => fleet_account(command_env, terminal, &args),
        FleetCommand::Sync { handed_over: true } => {
            copy_handed_over(command_env)?;
            Ok(0)
        }
        FleetCommand::Sync { handed_over: false } => run_fleet_sync(command_env, terminal),
        FleetCommand::Prune { older_than } => run_fleet_prune(command_env, terminal, older_than),
        FleetCommand::Status => show_fleet_status(command_env, terminal),
    }
}

/// Whom this machine shares its queue with is a person's word.
pub(super) fn refuse_from_a_session(
    command_env: &CommandEnv,
    command: &'static str,
    from_session: bool,
) -> Result<(), CommandFailure> {
    command_env.state.ensure()?;
    let store = open_store(&command_env.state)?;
    let worktree_id = inside_of(store.as_ref())?
        .map(|(worktree_id, _)| worktree_id)
        .unwrap_or_default();
    PrivilegedCommand {
        command,
        store: store.as_ref(),
        worktree_id: &worktree_id,
        from_session,
    }
    .allow()
}

fn parse_connection_settings(url: &str) -> Result<ConnectionSettings, FleetError> {
    ConnectionSettings::from_address(url, &|name| std::env::var(name).ok())
}

fn run_fleet_init(
    terminal: &CommandTerminal,
    url: Option<&str>,
    worker: &str,
    print_sql: bool,
) -> Result<u8, CommandFailure> {
    let named = url.map(parse_connection_settings).transpose()?;
    let settings = match named {
        Some(settings) if !print_sql => settings,
        other => {
            let database =
                other.map_or_else(|| USUAL_DATABASE.to_owned(), |settings| settings.database);
            terminal.line(as_sql(&database, worker).trim_end());
            return Ok(0);
        }
    };
    let MigrationOutcome {
        from,
        to,
        worker: granted,
    } = migrate_tables(&FleetServer::new(settings.clone())?, worker)?;
    if terminal.json {
        terminal.value(&fleet_made_json(
            &settings.server(),
            &settings.database,
            from,
            to,
            granted.as_deref(),
        ));
        return Ok(0);
    }
    let database = format!(
        "database '{}' of {}",
        escape_to_one_line(&settings.database),
        settings.server()
    );
    terminal.sentence(&match from {
        None => format!("A fleet was made in {database} (format {to})."),
        Some(from) if from < to => {
            format!("The fleet in {database} was migrated from format {from} to {to}.")
        }
        Some(_) => format!("The fleet in {database} has format {to} already; nothing was changed."),
    });
    match granted {
        Some(role) => terminal.sentence(&format!("Role '{}' has the rights of a worker.", escape_to_one_line(&role))),
        None => terminal.sentence(&format!(
            "No role '{}' is there, so none was granted the rights of a worker: name one with --worker, or join as '{}'.",
            escape_to_one_line(worker),
            escape_to_one_line(&settings.user)
        )),
    }
    terminal.sentence("On each machine: watchdog fleet join URL --name NAME");
    Ok(0)
}

fn run_fleet_join(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    joining: Option<(&str, &str)>,
    account: Option<&str>,
    wish: &SharingWish<'_>,
) -> Result<u8, CommandFailure> {
    if let Some((url, name)) = joining {
        let settings = parse_connection_settings(url)?;
        let server = settings.server();
        let (setting, found) = join_fleet(&command_env.state, settings, name, account)?;
        if !terminal.json {
            let tls = if found.is_encrypted { "TLS" } else { "no TLS" };
            terminal.sentence(&format!(
                "This machine is '{name}' in the fleet on {server} (PostgreSQL {}, {tls}).",
                escape_to_one_line(&found.version)
            ));
            terminal.sentence(&format!(
                "Its account of agents is {}.",
                about_account(&setting)
            ));
        }
    }
    let shared = share_repository(command_env, terminal, wish)?;
    if terminal.json {
        let Some(setting) = FleetSetting::from_state_dir(&command_env.state)? else {
            return Ok(0);
        };
        let joined = fleet_joined_json(
            (true, setting.account.as_deref()),
            &setting.name,
            &setting.server.server(),
            true,
        );
        terminal.value(&with_shared_repository(joined, shared.as_ref()));
    } else if let Some(shared) = &shared {
        terminal.sentence(&format!(
            "This repository is shared as {}.",
            shared_in_words(shared)
        ));
    }
    Ok(0)
}

/// Says that this machine is in no fleet, and returns the exit code of that.
pub(super) fn in_no_fleet(terminal: &CommandTerminal, sentence: &str) -> u8 {
    if terminal.json {
        terminal.value(&no_fleet_json());
    } else {
        terminal.sentence(sentence);
    }
    0
}

fn run_fleet_leave(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
) -> Result<u8, CommandFailure> {
    let Some(LeftFleet {
        setting,
        still_listed,
    }) = leave_fleet(&command_env.state)?
    else {
        return Ok(in_no_fleet(terminal, IN_NO_FLEET));
    };
    let (name, server) = (setting.name, setting.server.server());
    if terminal.json {
        terminal.value(&fleet_joined_json(
            (false, None),
            &name,
            &server,
            still_listed.is_some(),
        ));
    } else {
        terminal.sentence(&format!("This machine left the fleet on {server}."));
    }
    if let Some(error) = still_listed {
        terminal.complain_of(&format!("the server still lists '{name}': {error}"));
    }
    Ok(0)
}

fn run_fleet_sync(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
) -> Result<u8, CommandFailure> {
    let Some((setting, done)) = copy_now(command_env)? else {
        return Ok(in_no_fleet(terminal, IN_NO_FLEET));
    };
    let server = setting.server.server();
    if terminal.json {
        terminal.value(&fleet_synced_json(
            &setting.name,
            &server,
            done.sent,
            done.missed,
            done.busy,
        ));
        return Ok(0);
    }
    terminal.sentence(&match (done.busy, done.sent) {
        (true, _) => {
            "Another watchdog of this machine copies to the fleet at the moment.".to_owned()
        }
        (false, 0) => format!("Nothing waited: the fleet on {server} has everything."),
        (false, sent) => format!(
            "{} copied to the fleet on {server}.",
            format_count_with_verb(sent, "event")
        ),
    });
    if done.missed > 0 {
        terminal.complain(&format!(
            "watchdog: up to {} deleted for their age before they could be copied; the figures of this machine have them",
            format_count_with_verb(done.missed, "event")
        ));
    }
    Ok(0)
}

fn run_fleet_prune(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    older_than: i32,
) -> Result<u8, CommandFailure> {
    let setting = super::fleet_events::setting_of(command_env)?;
    let server = setting.server()?.needing_its_format();
    let pruned = prune_events(&server, older_than)?;
    let kept_events = survey_events(&server)?;
    if terminal.json {
        terminal.value(&fleet_pruned_json(pruned, kept_events.bytes));
        return Ok(0);
    }
    terminal.sentence(&format!(
        "{} deleted; {}.",
        format_count_with_verb(pruned, "event"),
        describe_events(&kept_events)
    ));
    Ok(0)
}

/// How much the server keeps.
pub(super) fn describe_events(events: &KeptEvents) -> String {
    let size = format_size(events.bytes);
    match events.oldest {
        Some(oldest) => format!("kept since {oldest}, {size}"),
        None => format!("none is kept, {size}"),
    }
}

pub(super) fn format_count_with_verb(count: u64, what: &str) -> String {
    format!(
        "{} {}",
        plural(count, what),
        if count == 1 { "was" } else { "were" }
    )
}

impl From<FleetError> for CommandFailure {
    fn from(error: FleetError) -> Self {
        let failure = match error {
            FleetError::BadAddress { .. }
            | FleetError::BadVariable { .. }
            | FleetError::NameTaken { .. } => CommandFailure::usage(error.to_string()),
            _ => CommandFailure::store_failure(error.to_string()),
        };
        failure.hint(error.hint())
    }
}

impl From<FleetSettingError> for CommandFailure {
    fn from(error: FleetSettingError) -> Self {
        match error {
            FleetSettingError::Server(error) => error.into(),
            FleetSettingError::State(error) => error.into(),
            FleetSettingError::Unusable { .. } => {
                CommandFailure::store_failure(error.to_string()).hint(error.hint())
            }
        }
    }
}
