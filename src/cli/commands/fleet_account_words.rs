//! What `watchdog fleet account` does and says: the account of agents that machines share, and the usage limits that hold it.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use watchdog_facts::display::{escape_to_one_line, plural, time_span};
use watchdog_facts::verdict::Reason;
use watchdog_fleet::account_budget::{AccountTerms, account_terms, set_account_budget};
use watchdog_fleet::accounts::{FleetLimit, limits_in_force};
use watchdog_store::{account_share, open_store};

use crate::cli::args_fleet::{DayBudget, FleetAccountArgs};
use crate::cli::failure::CommandFailure;
use crate::cli::terminal::CommandTerminal;
use crate::clock::now;
use crate::judge::command_env::CommandEnv;
use crate::modes::fleet::{ClearedLimits, FleetSetting, clear_account_limits, copy_now, use_account};
use crate::wire::fleet_account_json::{AccountBudgetJson, AccountLimitJson, cleared_limits_json, fleet_account_json, shared_account_json};

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
pub(super) fn fleet_account(command_env: &CommandEnv, terminal: &CommandTerminal, args: &FleetAccountArgs) -> Result<u8, CommandFailure> {
    let Some(setting) = FleetSetting::of(&command_env.state)? else {
        return Ok(in_no_fleet(terminal, HOW_TO_JOIN));
    };
    if args.use_it || args.own || args.clear_limit || args.max_cost_usd_per_day.is_some() {
        // With whom limits are shared, whether one is over, and what may be spent is a person's word.
        refuse_from_a_session(command_env, "watchdog fleet account", args.from_session)?;
    }
    let goes_on = args.clear_limit || args.max_cost_usd_per_day.is_some();
    if args.use_it || args.own {
        let changed = use_account(&command_env.state, args.name.as_deref())?.unwrap_or(setting.clone());
        if !terminal.json {
            terminal.sentence(&match &changed.account {
                Some(name) => format!("This machine works on the account '{name}' from now on: its usage limits are shared."),
                None => "This machine's account is its own from now on: no usage limit is shared.".to_owned(),
            });
        } else if !goes_on {
            let none = std::iter::empty::<AccountLimitJson<'_>>();
            terminal.value(&fleet_account_json(changed.account.as_deref(), true, none));
        }
        if !goes_on {
            return Ok(0);
        }
    }
    let Some(name) = args.name.as_deref().or(setting.account.as_deref()) else {
        if goes_on {
            return Err(CommandFailure::usage("this machine's account is its own: no limit and no budget of it is shared")
                .hint("name the account: watchdog fleet account NAME ..."));
        }
        if terminal.json {
            terminal.value(&fleet_account_json(None, true, std::iter::empty()));
        } else {
            terminal.sentence(&format!("This machine's account is its own. To share usage limits with others: {HOW_TO_SHARE}"));
        }
        return Ok(0);
    };
    if let Some(DayBudget(most)) = args.max_cost_usd_per_day {
        set_account_budget(&setting.server()?.needing_its_format(), name, most)?;
        if !terminal.json {
            terminal.sentence(&match most {
                Some(most) => format!("The machines of the account '{name}' spend at most {most:.2} USD together in a day (UTC)."),
                None => format!("The account '{name}' has no budget from now on."),
            });
        }
        // What is held of the budget before would otherwise be known until the next look.
        let _ = copy_now(command_env);
    }
    if args.clear_limit {
        return clear(command_env, terminal, &setting, name, args.agent.as_deref());
    }
    if args.max_cost_usd_per_day.is_some() && !terminal.json {
        return Ok(0);
    }
    show(command_env, terminal, &setting, name)
}

fn clear(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    setting: &FleetSetting,
    name: &str,
    agent: Option<&str>,
) -> Result<u8, CommandFailure> {
    let ClearedLimits { there, unsent } = clear_account_limits(&command_env.state, setting, name, agent)?;
    if terminal.json {
        terminal.value(&cleared_limits_json(name, there, unsent.is_none()));
    }
    if let Some(error) = unsent {
        terminal.complain(&format!("watchdog: the server was not told: {}", escape_to_one_line(&error.to_string())));
        return Ok(Reason::StoreError.status().exit_code());
    }
    if !terminal.json {
        terminal.sentence(&match there {
            0 => format!("No usage limit of the account '{name}' was in force."),
            there => format!("{} of the account '{name}' cleared; its machines go on within seconds.", plural(there, "usage limit")),
        });
    }
    Ok(0)
}

fn show(command_env: &CommandEnv, terminal: &CommandTerminal, setting: &FleetSetting, name: &str) -> Result<u8, CommandFailure> {
    let server = setting.server()?.needing_its_format();
    let (limits, budget) = (limits_in_force(&server, name)?, account_terms(&server, name)?);
    let share = account_share::of(open_store(&command_env.state)?.as_ref())?.filter(|share| share.account == name);
    let free_here_usd = share.map(|share| share.free_usd(now()));
    let used_here = setting.account.as_deref() == Some(name);
    let ends = |limit: &FleetLimit| now().saturating_add(SignedDuration::from_millis(limit.left_ms)).unwrap_or(Timestamp::MAX);
    if terminal.json {
        let limits = limits.iter().map(|limit| AccountLimitJson { agent: &limit.agent, until: ends(limit), machine: &limit.machine });
        let AccountTerms { max_usd_per_day, drawn_usd, .. } = budget;
        let budget = AccountBudgetJson { max_usd_per_day, drawn_usd, free_here_usd };
        terminal.value(&shared_account_json(name, used_here, budget, limits));
        return Ok(0);
    }
    let here = if used_here { ", on which this machine works" } else { "" };
    terminal.line(&format!("account   {name}{here}"));
    terminal.line(&match (budget.max_usd_per_day, free_here_usd) {
        (None, _) => "budget    none".to_owned(),
        (Some(most), None) => format!("budget    {most:.2} USD a day; {:.2} drawn today", budget.drawn_usd),
        (Some(most), Some(free)) => {
            format!(
                "budget    {most:.2} USD a day; {:.2} drawn today by its machines, of which {free:.2} are free on this one",
                budget.drawn_usd
            )
        }
    });
    if limits.is_empty() {
        terminal.line("limits    none is in force");
    }
    for (index, limit) in limits.iter().enumerate() {
        let label = if index == 0 { "limits" } else { "" };
        let left = time_span(Duration::from_millis(limit.left_ms.unsigned_abs()));
        let (agent, machine) = (escape_to_one_line(&limit.agent), escape_to_one_line(&limit.machine));
        terminal.line(&format!("{label:<9} {agent} for {left}, until {:.0}, met on {machine}", ends(limit)));
    }
    Ok(0)
}
