//! How the account of this machine stands: its limits in force, and whether the server was asked. Read
//! from the records of this machine, and from the server where that can be asked.

use crate::accounts::limits_in_force;
use crate::{FleetError, FleetServer};
use jiff::{SignedDuration, Timestamp};
use watchdog_store::account::{self, AccountLimit};
use watchdog_store::{LocalStore, StoreError};

use watchdog_judge::clock::now;

/// The account of a machine.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AccountStanding {
    /// Its name; `None` where the machine's account is its own.
    pub account: Option<String>,
    /// When the server was asked last.
    pub refreshed_at: Option<Timestamp>,
    /// Whether the server said all of it just now.
    pub is_current: bool,
    /// Usage limits in force; without the server those that other machines met.
    pub limits: Vec<AccountLimit>,
}

/// Something that is wrong with an account, or holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountFault {
    /// The fault in words.
    pub detail: String,
    /// The step that mends it.
    pub mend: &'static str,
}

/// Reads the state of this machine's account from its records.
///
/// # Errors
/// Fails if they cannot be read.
pub fn account_as_recorded(local: &dyn LocalStore) -> Result<AccountStanding, StoreError> {
    let at = now();
    let shared = account::read_account(local)?.unwrap_or_default();
    Ok(AccountStanding {
        account: Some(shared.name).filter(|name| !name.is_empty()),
        refreshed_at: shared.refreshed_at,
        is_current: false,
        limits: shared
            .limits
            .into_iter()
            .filter(|limit| at < limit.until)
            .collect(),
    })
}

/// The usage limits of an account that are in force. The server says how long each lasts: this machine's clock may be another one.
///
/// # Errors
/// Fails if the server cannot be asked.
pub(super) fn list_limits(
    server: &FleetServer,
    account: &str,
) -> Result<Vec<AccountLimit>, FleetError> {
    let in_force = limits_in_force(server, account)?;
    let at = now();
    let in_force = in_force.into_iter().filter_map(|limit| {
        Some(AccountLimit {
            until: at
                .checked_add(SignedDuration::from_millis(limit.left_ms))
                .ok()?,
            agent: limit.agent,
            machine: limit.machine,
        })
    });
    Ok(in_force.collect())
}

impl AccountStanding {
    /// The same account, as the server has it now.
    ///
    /// # Errors
    /// Fails if the server cannot be asked.
    pub fn refreshed_by(mut self, server: &FleetServer) -> Result<Self, FleetError> {
        let Some(name) = &self.account else {
            return Ok(self);
        };
        self.limits = list_limits(server, name)?;
        (self.refreshed_at, self.is_current) = (Some(now()), true);
        Ok(self)
    }

    /// Lists its faults and the limits that hold agents, at this time.
    pub fn faults(&self) -> Vec<AccountFault> {
        let mut faults = Vec::new();
        let mut fault =
            |detail: String, mend: &'static str| faults.push(AccountFault { detail, mend });
        let Some(name) = &self.account else {
            return faults;
        };
        if !self.is_current {
            let what_is_known = self.refreshed_at.map_or_else(
                || "nothing is known of it".to_owned(),
                |at| format!("what it said at {at:.0} holds"),
            );
            let detail =
                format!("the server is not asked about the account '{name}': {what_is_known}");
            fault(detail, "once the server answers: watchdog fleet sync");
        }
        for AccountLimit {
            agent,
            until,
            machine,
        } in &self.limits
        {
            let detail =
                format!("{agent} met its usage limit on {machine} and is held until {until:.0}");
            fault(
                detail,
                "where it is over: watchdog fleet account --clear-limit",
            );
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults_of(change: impl Fn(&mut AccountStanding)) -> Vec<String> {
        let mut standing = AccountStanding {
            account: Some("team".into()),
            is_current: true,
            ..AccountStanding::default()
        };
        change(&mut standing);
        let faults = standing.faults().into_iter();
        faults.map(|fault| fault.detail).collect()
    }

    #[test]
    fn limits_in_force_and_unasked_servers_are_faults() {
        assert_eq!(AccountStanding::default().faults(), []);
        assert!(faults_of(|_| ()).is_empty());
        let limit = AccountLimit {
            agent: "claude".into(),
            until: Timestamp::MAX,
            machine: "build-1".into(),
        };
        let asked_at = |at: Option<Timestamp>| {
            faults_of(|standing| (standing.is_current, standing.refreshed_at) = (false, at))
        };
        for (word, faults) in [
            (
                "claude met its usage limit on build-1",
                faults_of(|standing| standing.limits = vec![limit.clone()]),
            ),
            ("nothing is known of it", asked_at(None)),
            (
                "what it said at 1970-01-01T00:00:00Z holds",
                asked_at(Some(Timestamp::UNIX_EPOCH)),
            ),
        ] {
            assert!(
                faults.len() == 1 && faults[0].contains(word),
                "{word}: {faults:?}"
            );
        }
    }
}
