//! How the account of this machine stands: its limits in force, its budget, and what is wrong with them. Read
//! from the records of this machine, and from the server where that can be asked.

use jiff::{SignedDuration, Timestamp};
use watchdog_fleet::account_budget::account_terms;
use watchdog_fleet::accounts::limits_in_force;
use watchdog_fleet::{FleetError, FleetServer};
use watchdog_store::account::{self, AccountLimit};
use watchdog_store::account_share::{self, LEAST_SHARE};
use watchdog_store::{LocalStore, StoreError};

use crate::clock::now;

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
    /// Its budget.
    pub budget: Option<BudgetStanding>,
}

/// A budget and this machine's part of it, in US dollars.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BudgetStanding {
    /// What all machines may spend in a day.
    pub most_usd: f64,
    /// What of today they hold or spent; `None` where the server was not asked.
    pub drawn_usd: Option<f64>,
    /// What this machine may spend without asking.
    pub free_usd: f64,
    /// What sessions and questions of this machine hold.
    pub held_usd: f64,
    /// What this machine spent today.
    pub spent_usd: f64,
    /// The end of the server's day.
    pub ends_at: Option<Timestamp>,
    /// Why the server gave this machine nothing the last time.
    pub unreached: Option<String>,
}

/// Something that is wrong with an account, or holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountFault {
    /// What.
    pub detail: String,
    /// What a person can do.
    pub mend: &'static str,
    /// Whether work stands still for it.
    pub is_wrong: bool,
}

/// What the records of this machine say of its account.
///
/// # Errors
/// Where they cannot be read.
pub fn account_as_recorded(local: &dyn LocalStore) -> Result<AccountStanding, StoreError> {
    let at = now();
    let shared = account::of(local)?.unwrap_or_default();
    let share = account_share::of(local)?;
    let budget = share.map(|share| {
        // What is left of a day that is over is nothing.
        let is_today = share.ends_at.is_some_and(|end| at < end);
        BudgetStanding {
            most_usd: share.most_usd,
            drawn_usd: None,
            free_usd: share.free_usd(at),
            held_usd: if is_today { share.held_usd } else { 0.0 },
            spent_usd: if is_today { share.spent_usd } else { 0.0 },
            ends_at: share.ends_at.filter(|_| is_today),
            unreached: share.unreached,
        }
    });
    Ok(AccountStanding {
        account: Some(shared.name).filter(|name| !name.is_empty()),
        refreshed_at: shared.refreshed_at,
        is_current: false,
        limits: shared
            .limits
            .into_iter()
            .filter(|limit| at < limit.until)
            .collect(),
        budget,
    })
}

impl AccountStanding {
    /// The same account, as the server has it now.
    ///
    /// # Errors
    /// Where the server cannot be asked.
    pub fn refreshed_by(mut self, server: &FleetServer) -> Result<Self, FleetError> {
        let Some(name) = &self.account else {
            return Ok(self);
        };
        let (limits, terms) = (limits_in_force(server, name)?, account_terms(server, name)?);
        let at = now();
        let until = |left_ms: i64| {
            at.saturating_add(SignedDuration::from_millis(left_ms))
                .unwrap_or(Timestamp::MAX)
        };
        self.limits = limits
            .into_iter()
            .map(|limit| AccountLimit {
                agent: limit.agent,
                until: until(limit.left_ms),
                machine: limit.machine,
            })
            .collect();
        self.budget = terms.max_usd_per_day.map(|most_usd| BudgetStanding {
            most_usd,
            drawn_usd: Some(terms.drawn_usd),
            unreached: None,
            ..self.budget.unwrap_or_default()
        });
        (self.refreshed_at, self.is_current) = (Some(at), true);
        Ok(self)
    }

    /// What is wrong with it, or holds agents, at this time.
    pub fn faults(&self) -> Vec<AccountFault> {
        let mut faults = Vec::new();
        let mut fault = |is_wrong: bool, detail: String, mend: &'static str| {
            faults.push(AccountFault {
                detail,
                mend,
                is_wrong,
            })
        };
        let Some(name) = &self.account else {
            return faults;
        };
        if !self.is_current {
            let known = self.refreshed_at.map_or_else(
                || "nothing is known of it".to_owned(),
                |at| format!("what it said at {at:.0} holds"),
            );
            let detail = format!("the server is not asked about the account '{name}': {known}");
            fault(
                false,
                detail,
                "once the server answers: watchdog fleet sync",
            );
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
                false,
                detail,
                "where it is over: watchdog fleet account --clear-limit",
            );
        }
        if let Some(budget) = &self.budget {
            const RAISE: &str = "wait for the next day, or raise it: watchdog fleet account --max-cost-usd-per-day USD";
            let day = budget
                .ends_at
                .map(|end| format!(" until {end:.0}"))
                .unwrap_or_default();
            match (budget.drawn_usd, &budget.unreached) {
                (Some(drawn), _)
                    if budget.free_usd < LEAST_SHARE && budget.most_usd - drawn < LEAST_SHARE =>
                {
                    let detail = format!(
                        "the budget of the account '{name}' ({:.2} USD a day) is spent or held{day}: no session begins",
                        budget.most_usd
                    );
                    fault(true, detail, RAISE);
                }
                (None, Some(why)) if budget.free_usd < LEAST_SHARE => {
                    let detail = format!(
                        "nothing is left of this machine's share of the budget, and its server is gone ({why})"
                    );
                    fault(
                        true,
                        detail,
                        "have the server back, or work on an account of this machine's own: watchdog fleet account --own",
                    );
                }
                _ => {}
            }
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_team(change: impl Fn(&mut AccountStanding)) -> Vec<(bool, String)> {
        let mut standing = AccountStanding {
            account: Some("team".into()),
            is_current: true,
            ..AccountStanding::default()
        };
        change(&mut standing);
        standing
            .faults()
            .into_iter()
            .map(|fault| (fault.is_wrong, fault.detail))
            .collect()
    }

    #[test]
    fn what_holds_an_account_is_said_and_a_sound_one_has_no_fault() {
        assert_eq!(AccountStanding::default().faults(), []);
        assert_eq!(of_team(|_| ()), []);
        let budget = |drawn_usd: Option<f64>, free_usd: f64, unreached: Option<&str>| {
            let unreached = unreached.map(str::to_owned);
            Some(BudgetStanding {
                most_usd: 5.0,
                drawn_usd,
                free_usd,
                unreached,
                ..BudgetStanding::default()
            })
        };
        assert_eq!(
            of_team(|found| found.budget = budget(Some(5.0), 0.3, None)),
            [],
            "this machine has some of it"
        );
        assert_eq!(
            of_team(|found| found.budget = budget(Some(4.0), 0.0, None)),
            []
        );
        let limit = || AccountLimit {
            agent: "claude".into(),
            until: Timestamp::MAX,
            machine: "build-1".into(),
        };
        let known_at = |at: Option<Timestamp>| {
            move |found: &mut AccountStanding| (found.is_current, found.refreshed_at) = (false, at)
        };
        for (is_wrong, word, said) in [
            (
                false,
                "claude met its usage limit on build-1",
                of_team(|found| found.limits = vec![limit()]),
            ),
            (
                true,
                "(5.00 USD a day) is spent",
                of_team(|found| found.budget = budget(Some(5.0), 0.0, None)),
            ),
            (false, "nothing is known of it", of_team(known_at(None))),
            (
                false,
                "what it said at 1970-01-01T00:00:00Z holds",
                of_team(known_at(Some(Timestamp::UNIX_EPOCH))),
            ),
        ] {
            assert!(
                said.len() == 1 && said[0].0 == is_wrong && said[0].1.contains(word),
                "{word}: {said:?}"
            );
        }
        let without_server = |change: &dyn Fn(&mut AccountStanding)| {
            of_team(|found| {
                found.is_current = false;
                change(found);
            })
        };
        for (word, said) in [(
            "its server is gone (no route)",
            without_server(&|found| found.budget = budget(None, 0.0, Some("no route"))),
        )] {
            assert!(
                said.len() == 2 && said[1].0 && said[1].1.contains(word),
                "{word}: {said:?}"
            );
        }
    }
}
