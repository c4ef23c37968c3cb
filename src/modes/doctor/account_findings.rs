//! Looks at the account of agents that this machine works on: its limits in force and its budget. The server is
//! asked where it can be, and the records of this machine say the rest.

use super::finding::DoctorFinding;
use crate::modes::fleet::{AccountFault, AccountStanding, FleetSetting, account_as_recorded};
use watchdog_facts::display::escape_to_one_line;
use watchdog_fleet::FleetServer;
use watchdog_store::{StateDir, open_store};

/// What there is to say of the account; nothing of one that is the machine's own.
pub(super) fn account_findings(
    state: &StateDir,
    setting: Option<&FleetSetting>,
    server: Option<&FleetServer>,
) -> Vec<DoctorFinding> {
    // A state that is not there or cannot be used is said where the state is looked at.
    if !state.root().is_dir() {
        return Vec::new();
    }
    let recorded = open_store(state).and_then(|local| account_as_recorded(local.as_ref()));
    let Ok(recorded) = recorded else {
        return Vec::new();
    };
    let account = setting.and_then(|setting| setting.account.clone());
    let recorded = AccountStanding {
        account,
        ..recorded
    };
    let found = match server {
        None => Ok(recorded),
        Some(server) => recorded.refreshed_by(server),
    };
    match found {
        Ok(found) => of_standing(&found),
        Err(error) => vec![DoctorFinding::wrong(
            "account",
            escape_to_one_line(&error.to_string()),
            error.hint(),
        )],
    }
}

fn of_standing(found: &AccountStanding) -> Vec<DoctorFinding> {
    let mut words = Vec::new();
    if let Some(budget) = &found.budget {
        let drawn = budget
            .drawn_usd
            .map(|drawn| format!(", {drawn:.2} drawn today"))
            .unwrap_or_default();
        words.push(format!(
            "{:.2} USD a day{drawn}, {:.2} free, {:.2} held and {:.2} spent here",
            budget.most_usd, budget.free_usd, budget.held_usd, budget.spent_usd
        ));
    }
    let Some(name) = &found.account else {
        return Vec::new();
    };
    let name = format!("'{name}'");
    let detail = if words.is_empty() {
        name
    } else {
        format!("{name}: {}", words.join("; "))
    };
    let mut findings = vec![DoctorFinding::ok("account", detail)];
    findings.extend(found.faults().into_iter().map(
        |AccountFault {
             detail,
             mend,
             is_wrong,
         }| {
            let detail = escape_to_one_line(&detail);
            if is_wrong {
                DoctorFinding::wrong("account", detail, mend)
            } else {
                DoctorFinding::note("account", detail, mend)
            }
        },
    ));
    findings
}
