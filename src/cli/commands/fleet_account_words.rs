//! What `watchdog fleet account` does and says: the account of agents that machines share, the usage limits that hold it, and its budget.

use std::time::Duration;

use watchdog_facts::display::{escape_to_one_line, plural, time_span};
use watchdog_facts::verdict::Reason;
use watchdog_fleet::account_budget::set_account_budget;
use watchdog_store::open_store;

use crate::cli::args_fleet::{DayBudget, FleetAccountArgs};
use crate::cli::failure::CommandFailure;
use crate::cli::terminal::CommandTerminal;
use crate::clock::now;
use crate::judge::command_env::CommandEnv;
use crate::modes::fleet::{
    AccountFault, AccountStanding, BudgetStanding, ClearedLimits, FleetSetting,
    account_as_recorded, clear_account_limits, copy_now, use_account,
};
use crate::wire::fleet_account_json::{
    AccountBudgetJson, AccountLimitJson, AccountStandingJson, cleared_limits_json,
    fleet_account_json, with_account_standing,
};

use super::fleet_words::{HOW_TO_JOIN, in_no_fleet, refuse_from_a_session};

/// What a person types to share an account.
const HOW_TO_SHARE: &str = "watchdog fleet account NAME --use";

/// What is said of an account beside the name of this machine.
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
    let changes = args.clear_limit || args.max_cost_usd_per_day.is_some();
    if args.use_it || args.own || changes {
        // With whom limits are shared, whether one is over, and what may be spent is a person's word.
        refuse_from_a_session(command_env, "watchdog fleet account", args.from_session)?;
    }
    let Some(setting) = FleetSetting::of(&command_env.state)? else {
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
        } else if !changes {
            let standing = account_as_recorded(open_store(&command_env.state)?.as_ref())?;
            terminal.value(&standing_json(
                fleet_account_json(true, changed.account.as_deref(), true),
                &standing,
            ));
        }
        if !changes {
            return Ok(0);
        }
    }
    let Some(name) = args.name.as_deref().or(setting.account.as_deref()) else {
        if !changes {
            return show_own(command_env, terminal);
        }
        return Err(CommandFailure::usage(
            "this machine's account is its own: no limit and no budget of it is shared",
        )
        .hint("name the account: watchdog fleet account NAME ..."));
    };
    if let Some(DayBudget(most)) = args.max_cost_usd_per_day {
        set_account_budget(&setting.server()?.needing_its_format(), name, most)?;
        if !terminal.json {
            terminal.sentence(&match most {
                Some(most) => format!("The machines of the account '{name}' spend at most {most:.2} USD together in a day (UTC)."),
                None => format!("The account '{name}' has no budget from now on."),
            });
        }
    }
    let has_terms = args.max_cost_usd_per_day.is_some();
    if has_terms {
        // What holds of the terms before would otherwise be known until the next look.
        let _ = copy_now(command_env);
    }
    if args.clear_limit {
        return clear(command_env, terminal, &setting, name, args.agent.as_deref());
    }
    if has_terms && !terminal.json {
        return Ok(0);
    }
    show(command_env, terminal, &setting, name)
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

fn clear(
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
        terminal.complain(&format!(
            "watchdog: the server was not told: {}",
            escape_to_one_line(&error.to_string())
        ));
        return Ok(Reason::StoreError.status().exit_code());
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

fn show(
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
    standing_lines(&standing, used_here)
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
        standing_lines(standing, true)
            .iter()
            .for_each(|line| terminal.line(line));
    }
    for AccountFault { detail, mend, .. } in standing.faults() {
        terminal.line(&format!(
            "          {}; {mend}",
            escape_to_one_line(&detail)
        ));
    }
}

/// The budget and the limits of an account, a line each, as below `account`.
pub(super) fn standing_lines(standing: &AccountStanding, used_here: bool) -> Vec<String> {
    let mut lines = vec![format!(
        "budget    {}",
        standing
            .budget
            .as_ref()
            .map_or("none".to_owned(), |budget| budget_in_words(
                budget, used_here
            ))
    )];
    if standing.limits.is_empty() {
        lines.push("limits    none is in force".to_owned());
    }
    for (index, limit) in standing.limits.iter().enumerate() {
        let label = if index == 0 { "limits" } else { "" };
        let left =
            time_span(Duration::try_from(limit.until.duration_since(now())).unwrap_or_default());
        let (agent, machine) = (
            escape_to_one_line(&limit.agent),
            escape_to_one_line(&limit.machine),
        );
        lines.push(format!(
            "{label:<9} {agent} for {left}, until {:.0}, met on {machine}",
            limit.until
        ));
    }
    lines
}

fn budget_in_words(budget: &BudgetStanding, used_here: bool) -> String {
    let BudgetStanding {
        most_usd,
        drawn_usd,
        free_usd,
        held_usd,
        spent_usd,
        ..
    } = budget;
    let drawn = drawn_usd
        .map(|drawn| format!("; {drawn:.2} drawn today by its machines"))
        .unwrap_or_default();
    let here = match used_here {
        true => {
            format!("; on this one {free_usd:.2} free, {held_usd:.2} held, {spent_usd:.2} spent")
        }
        false => String::new(),
    };
    format!("{most_usd:.2} USD a day{drawn}{here}")
}

/// Adds to an object how an account stands.
pub(super) fn standing_json(
    account: serde_json::Value,
    standing: &AccountStanding,
) -> serde_json::Value {
    let faults: Vec<AccountFault> = standing.faults();
    let json = AccountStandingJson {
        refreshed_at: standing.refreshed_at,
        budget: standing.budget.as_ref().map(|budget| AccountBudgetJson {
            max_usd_per_day: budget.most_usd,
            drawn_usd: budget.drawn_usd,
            free_here_usd: budget.free_usd,
            held_here_usd: budget.held_usd,
            spent_here_usd: budget.spent_usd,
            ends_at: budget.ends_at,
            unreached: budget.unreached.as_deref(),
        }),
    };
    let limits = standing.limits.iter().map(|limit| AccountLimitJson {
        agent: &limit.agent,
        until: limit.until,
        machine: &limit.machine,
    });
    with_account_standing(
        account,
        &json,
        limits,
        faults.iter().map(|fault| fault.detail.as_str()),
    )
}
