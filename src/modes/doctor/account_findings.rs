//! Looks at the account of agents that this machine works on: its limits in force. The server is
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
    let Some(name) = &found.account else {
        return Vec::new();
    };
    let mut findings = vec![DoctorFinding::ok("account", format!("'{name}'"))];
    findings.extend(
        found
            .faults()
            .into_iter()
            .map(|AccountFault { detail, mend }| {
                DoctorFinding::note("account", escape_to_one_line(&detail), mend)
            }),
    );
    findings
}
