//! What this machine may spend of the budget of a shared account: what it drew of it, what sessions hold and what was spent. A session takes
//! its part before it begins, so that one that is killed has spent all of it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::row::{self, SingleVersionRecord};
use crate::engine::LocalStore;
use crate::error::StoreError;
use crate::key::RowKey;

/// Less than this many US dollars let nothing begin.
pub const LEAST_SHARE: f64 = 0.001;

/// The share of a day.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AccountShare {
    /// The account.
    pub account: String,
    /// US dollars that the whole account may spend in a day.
    pub most_usd: f64,
    /// The server's day that it is of; empty where nothing was drawn yet.
    pub day: String,
    /// The end of that day, by this machine's clock; nothing of it may be spent later.
    pub ends_at: Option<Timestamp>,
    /// US dollars that the server gave.
    pub drawn_usd: f64,
    /// US dollars that sessions and questions hold, or held when they were killed.
    pub held_usd: f64,
    /// US dollars that were spent.
    pub spent_usd: f64,
    /// Why the server gave nothing the last time, where it could not be asked.
    pub unreached: Option<String>,
}

impl SingleVersionRecord for AccountShare {
    const NAME: &'static str = "account_share";
}

/// What the server gave.
#[derive(Debug, Clone, PartialEq)]
pub struct DrawnShare {
    /// US dollars that the whole account may spend in a day.
    pub most_usd: f64,
    /// The server's day.
    pub day: String,
    /// Its end, by this machine's clock.
    pub ends_at: Timestamp,
    /// US dollars; 0 where nothing is left.
    pub usd: f64,
}

impl AccountShare {
    /// US dollars that nobody holds and that were not spent.
    pub fn free_usd(&self, now: Timestamp) -> f64 {
        if self.ends_at.is_none_or(|end| now >= end) {
            return 0.0;
        }
        (self.drawn_usd - self.held_usd - self.spent_usd).max(0.0)
    }

    /// US dollars that were spent beyond the share: a session may cost more than it took, and tells so at its end.
    pub fn owed_usd(&self) -> f64 {
        (self.held_usd + self.spent_usd - self.drawn_usd).max(0.0)
    }

    /// Adds what the server gave, which took `owed` into account. A new day begins without what was of the day before.
    fn draw(&mut self, drawn: &DrawnShare, owed: f64) {
        if self.day != drawn.day {
            (self.drawn_usd, self.held_usd, self.spent_usd) = (0.0, 0.0, 0.0);
            self.drawn_usd = drawn.usd;
        } else {
            self.drawn_usd += drawn.usd + owed;
        }
        (self.day, self.ends_at, self.most_usd) =
            (drawn.day.clone(), Some(drawn.ends_at), drawn.most_usd);
        self.unreached = None;
    }

    /// Takes up to `most` for something that begins.
    fn hold(&mut self, most: f64, now: Timestamp) -> f64 {
        let taken = self.free_usd(now).min(most);
        let taken = if taken < LEAST_SHARE { 0.0 } else { taken };
        self.held_usd += taken;
        taken
    }

    /// Something that held so much of that day ended, and cost so much.
    fn settle(&mut self, day: &str, held: f64, cost: f64) {
        if self.day == day {
            self.held_usd = (self.held_usd - held).max(0.0);
        }
        // What is known late was spent today.
        self.spent_usd += cost.max(0.0);
    }

    /// Gives up what is free, and returns it.
    fn give_up(&mut self, now: Timestamp) -> f64 {
        let free = self.free_usd(now);
        self.drawn_usd -= free;
        free
    }
}

fn key() -> RowKey {
    RowKey::new(AccountShare::NAME, &["shared"])
}

/// The share of this machine; `None` where no budget is known.
///
/// # Errors
/// Where it cannot be read.
pub fn of(store: &dyn LocalStore) -> Result<Option<AccountShare>, StoreError> {
    row::load(store, &key())
}

/// The account has this budget, or none.
///
/// # Errors
/// Where it cannot be written.
pub fn terms(
    store: &dyn LocalStore,
    account: &str,
    most_usd: Option<f64>,
) -> Result<(), StoreError> {
    let Some(most_usd) = most_usd else {
        return row::remove::<AccountShare>(store, &key());
    };
    row::update(store, &key(), |found: Option<AccountShare>| {
        let kept = found
            .filter(|found| found.account == account)
            .unwrap_or_default();
        (
            AccountShare {
                account: account.to_owned(),
                most_usd,
                ..kept
            },
            (),
        )
    })
}

fn change<T>(
    store: &dyn LocalStore,
    how: impl Fn(&mut AccountShare) -> T,
) -> Result<Option<T>, StoreError> {
    if of(store)?.is_none() {
        return Ok(None);
    }
    row::update(store, &key(), |found: Option<AccountShare>| {
        let mut share = found.unwrap_or_default();
        let done = how(&mut share);
        (share, Some(done))
    })
}

/// The server gave this, after it was told of `owed`.
///
/// # Errors
/// Where it cannot be written; what was given then counts as spent.
pub fn drawn(store: &dyn LocalStore, given: &DrawnShare, owed: f64) -> Result<(), StoreError> {
    change(store, |share| share.draw(given, owed)).map(drop)
}

/// The server could not be asked.
///
/// # Errors
/// Where it cannot be written.
pub fn unreached(store: &dyn LocalStore, why: &str) -> Result<(), StoreError> {
    change(store, |share| share.unreached = Some(why.to_owned())).map(drop)
}

/// A part of the share that something holds.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldShare {
    /// The day that it is of.
    pub day: String,
    /// US dollars; 0 where nothing was free.
    pub usd: f64,
}

/// Takes up to `most` US dollars; `None` where no budget is known.
///
/// # Errors
/// Where it cannot be written.
pub fn hold(
    store: &dyn LocalStore,
    most: f64,
    now: Timestamp,
) -> Result<Option<HeldShare>, StoreError> {
    change(store, |share| HeldShare {
        usd: share.hold(most, now),
        day: share.day.clone(),
    })
}

/// What held this ended, and cost so much.
///
/// # Errors
/// Where it cannot be written; it then counts as spent.
pub fn settle(store: &dyn LocalStore, held: &HeldShare, cost: f64) -> Result<(), StoreError> {
    change(store, |share| share.settle(&held.day, held.usd, cost)).map(drop)
}

/// Gives up what is free: it is the server's again once that is told. Returns it with its day.
///
/// # Errors
/// Where it cannot be written.
pub fn give_up(store: &dyn LocalStore, now: Timestamp) -> Result<Option<HeldShare>, StoreError> {
    let given = change(store, |share| HeldShare {
        usd: share.give_up(now),
        day: share.day.clone(),
    })?;
    Ok(given.filter(|given| given.usd >= LEAST_SHARE))
}

#[cfg(test)]
#[path = "account_share_tests.rs"]
mod tests;
