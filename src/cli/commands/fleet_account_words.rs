//! Implements `watchdog fleet account`: the account of agents that machines share, and the usage
//! limits that hold it.

use std::time::Duration;

use watchdog_facts::display::{escape_to_one_line, plural, time_span};
use watchdog_store::open_store;

use crate::cli::args_fleet::FleetAccountArgs;
use crate::cli::failure::{CommandFailure, exit_code};
use crate::cli::terminal::CommandTerminal;
use watchdog_fleet::member::{
    AccountFault, AccountStanding, ClearedLimits, FleetSetting, account_as_recorded,
    clear_account_limits, use_account,
};
use watchdog_fleet::wire::fleet_json::{
    cleared_limits_json, fleet_account_json, with_account_standing,
};
use watchdog_judge::clock::now;
use watchdog_judge::judge::command_env::CommandEnv;

use super::fleet_words::{HOW_TO_JOIN, in_no_fleet, refuse_from_a_session};

/// The command that shares an account.
const HOW_TO_SHARE: &str = "watchdog fleet account NAME --use";

/// Describes an account beside the name of this machine.
pub(super) fn about_account(setting: &FleetSetting) -> String {
    match &setting.account {
        Some(name) => format!("'{name}': usage limits hold every machine of it"),
        None => format!("this machine's own; to share usage limits: {HOW_TO_SHARE}"),
    }
}

/// Shows the account, or changes it as the options say.
pub(super) fn fleet_account(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    args: &FleetAccountArgs,
) -> Result<u8, CommandFailure> {
    if args.use_it || args.own || args.clear_limit {
        // With whom limits are shared, and whether one is over, is a person's word.
        refuse_from_a_session(command_env, "watchdog fleet account", args.from_session)?;
    }
    let Some(setting) = FleetSetting::from_state_dir(&command_env.state)? else {
        return Ok(in_no_fleet(terminal, HOW_TO_JOIN));
    };
    if args.use_it || args.own {
        let changed =
            use_account(&command_env.state, args.name.as_deref())?.unwrap_or(setting.clone());
        if !terminal.json {
            terminal.sentence(&match &changed.account {
                Some(name) => format!("This machine works on the account '{name}' from now on: its usage limits are shared."),
                None => "This machine's account is its own from now on: no usage limit is shared.".to_owned(),
            });
        } else if !args.clear_limit {
            let standing = account_as_recorded(open_store(&command_env.state)?.as_ref())?;
            terminal.value(&standing_json(
                fleet_account_json(true, changed.account.as_deref(), true),
                &standing,
            ));
        }
        if !args.clear_limit {
            return Ok(0);
        }
    }
    let Some(name) = args.name.as_deref().or(setting.account.as_deref()) else {
        if !args.clear_limit {
            return show_own(command_env, terminal);
        }
        return Err(CommandFailure::usage(
            "this machine's account is its own: no limit of it is shared",
        )
        .hint("name the account: watchdog fleet account NAME ..."));
    };
    if args.clear_limit {
        return clear_limits(command_env, terminal, &setting, name, args.agent.as_deref());
    }
    show_limits(command_env, terminal, &setting, name)
}

/// The account of a machine that shares none.
fn show_own(command_env: &CommandEnv, terminal: &CommandTerminal) -> Result<u8, CommandFailure> {
    command_env.state.ensure()?;
    let standing = account_as_recorded(open_store(&command_env.state)?.as_ref())?;
    if terminal.json {
        terminal.value(&standing_json(
            fleet_account_json(true, None, true),
            &standing,
        ));
        return Ok(0);
    }
    terminal.sentence(&format!(
        "This machine's account is its own. To share usage limits with others: {HOW_TO_SHARE}"
    ));
    Ok(0)
}

fn clear_limits(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    setting: &FleetSetting,
    name: &str,
    agent: Option<&str>,
) -> Result<u8, CommandFailure> {
    let ClearedLimits { there, unsent } =
        clear_account_limits(&command_env.state, setting, name, agent)?;
    if terminal.json {
        terminal.value(&cleared_limits_json(name, there, unsent.is_none()));
    }
    if let Some(error) = unsent {
        terminal.complain_of(&format!("the server was not told: {error}"));
        return Ok(exit_code(false));
    }
    if !terminal.json {
        terminal.sentence(&match there {
            0 => format!("No usage limit of the account '{name}' was in force."),
            there => format!(
                "{} of the account '{name}' cleared; its machines go on within seconds.",
                plural(there, "usage limit")
            ),
        });
    }
    Ok(0)
}

/// How an account stands, by the server.
pub(super) fn standing_by_server(
    command_env: &CommandEnv,
    setting: &FleetSetting,
    name: &str,
) -> Result<AccountStanding, CommandFailure> {
    let recorded = if setting.account.as_deref() == Some(name) {
        account_as_recorded(open_store(&command_env.state)?.as_ref())?
    } else {
        AccountStanding::default()
    };
    let standing = AccountStanding {
        account: Some(name.to_owned()),
        ..recorded
    };
    Ok(standing.refreshed_by(&setting.server()?.needing_its_format())?)
}

fn show_limits(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    setting: &FleetSetting,
    name: &str,
) -> Result<u8, CommandFailure> {
    let standing = standing_by_server(command_env, setting, name)?;
    let used_here = setting.account.as_deref() == Some(name);
    if terminal.json {
        terminal.value(&standing_json(
            fleet_account_json(true, Some(name), used_here),
            &standing,
        ));
        return Ok(0);
    }
    let here = if used_here {
        ", on which this machine works"
    } else {
        ""
    };
    terminal.line(&format!("account   {name}{here}"));
    standing_lines(&standing)
        .iter()
        .for_each(|line| terminal.line(line));
    Ok(0)
}

/// The account of this machine, and what is wrong with it, in `fleet status`.
pub(super) fn show_account(
    terminal: &CommandTerminal,
    setting: &FleetSetting,
    standing: &AccountStanding,
) {
    terminal.line(&format!("account   {}", about_account(setting)));
    if setting.account.is_some() {
        standing_lines(standing)
            .iter()
            .for_each(|line| terminal.line(line));
    }
    for AccountFault { detail, mend } in standing.faults() {
        terminal.line(&format!(
            "          {}; {mend}",
            escape_to_one_line(&detail)
        ));
    }
}

/// The limits of an account, a line each, as below `account`.
fn standing_lines(standing: &AccountStanding) -> Vec<String> {
    let mut lines = Vec::new();
    if standing.limits.is_empty() {
        lines.push("limits    none is in force".to_owned());
    }
    for (index, limit) in standing.limits.iter().enumerate() {
        let label = if index == 0 { "limits" } else { "" };
        let time_left =
            time_span(Duration::try_from(limit.until.duration_since(now())).unwrap_or_default());
        let (agent, machine) = (
            escape_to_one_line(&limit.agent),
            escape_to_one_line(&limit.machine),
        );
        lines.push(format!(
            "{label:<9} {agent} for {time_left}, until {:.0}, met on {machine}",
            limit.until
        ));
    }
    lines
}

/// Adds to an object how an account stands.
pub(super) fn standing_json(
    account: serde_json::Value,
    standing: &AccountStanding,
) -> serde_json::Value {
    let faults: Vec<AccountFault> = standing.faults();
    with_account_standing(
        account,
        standing.refreshed_at,
        &standing.limits,
        faults.iter().map(|fault| fault.detail.as_str()),
    )
}
