//! Knowledge of the account that this machine shares with others: usage limits that those met, as
//! of the last look at the server, and limits met here that the server has not heard of yet. The
//! row is there only where a person named a shared account.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::row::{self, RecordType};
use crate::engine::LocalStore;
use crate::error::StoreError;
use crate::key::RowKey;

/// No usage limit that is known of an agent lasts longer: one that says so is a mistake, or forged, and is taken for so long at most.
pub const LONGEST_LIMIT: SignedDuration = SignedDuration::from_hours(8 * 24);

/// No more limits wait to be told: an agent that prints ever new ones fills nothing.
const MOST_MET: usize = 32;

/// A usage limit that another machine of the account met.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountLimit {
    /// The agent that it holds: a preset or a program, where one was named with its model.
    pub agent: String,
    /// Its end, by this machine's clock.
    pub until: Timestamp,
    /// The machine that met it.
    pub machine: String,
}

/// A usage limit that was met here and is still to be told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetLimit {
    /// The agent that met it.
    pub agent: String,
    /// Its end, as the agent told it.
    pub until: Timestamp,
    /// When it was met, by this machine's clock.
    pub seen_at: Timestamp,
}

/// The account that this machine shares.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedAccount {
    /// Its name.
    pub name: String,
    /// When the server was last asked; `None` = never yet.
    pub refreshed_at: Option<Timestamp>,
    /// Limits that other machines met.
    pub limits: Vec<AccountLimit>,
    /// Limits that wait to be told.
    pub met: Vec<MetLimit>,
}

impl RecordType for SharedAccount {
    const KIND: &'static str = "account";
}

impl SharedAccount {
    /// The limit that holds an agent now, the one that lasts longest; `None` where it may work. A limit of an agent holds it with every
    /// model, a limit of an agent with a model holds that model alone.
    pub fn holds(&self, agent: &str, now: Timestamp) -> Option<AccountLimit> {
        let of_agent = |limit: &&AccountLimit| {
            agent == limit.agent
                || agent
                    .strip_prefix(&limit.agent)
                    .is_some_and(|m| m.starts_with(' '))
        };
        let longest = now.saturating_add(LONGEST_LIMIT).unwrap_or(Timestamp::MAX);
        let limit = self
            .limits
            .iter()
            .filter(of_agent)
            .filter(|limit| now < limit.until)
            .max_by_key(|limit| limit.until)?;
        // A clock that was set back, or a row that something else wrote, makes no hold longer.
        Some(AccountLimit {
            until: limit.until.min(longest),
            ..limit.clone()
        })
    }
}

fn account_key() -> RowKey {
    RowKey::new(SharedAccount::KIND, &["shared"])
}

/// The shared account; `None` where this machine's account is its own.
///
/// # Errors
/// If it cannot be read.
pub fn read_account(store: &dyn LocalStore) -> Result<Option<SharedAccount>, StoreError> {
    row::load_row(store, &account_key())
}

/// Shares this account from now on, or none. Another account begins without what was known of the one before.
///
/// # Errors
/// If it cannot be written.
pub fn share_account(store: &dyn LocalStore, name: Option<&str>) -> Result<(), StoreError> {
    let Some(name) = name else {
        return row::remove_row::<SharedAccount>(store, &account_key());
    };
    row::update_row(store, &account_key(), |row: Option<SharedAccount>| {
        let same_account = row.filter(|row| row.name == name);
        (
            same_account.unwrap_or_else(|| SharedAccount {
                name: name.to_owned(),
                ..SharedAccount::default()
            }),
            (),
        )
    })
}

/// Changes what is known, where an account is shared.
fn change_account(
    store: &dyn LocalStore,
    how: impl Fn(&mut SharedAccount),
) -> Result<(), StoreError> {
    let Some(before) = read_account(store)? else {
        return Ok(());
    };
    row::update_row(store, &account_key(), |row: Option<SharedAccount>| {
        let mut after = row.unwrap_or_else(|| SharedAccount {
            name: before.name.clone(),
            ..SharedAccount::default()
        });
        how(&mut after);
        (after, ())
    })
}

/// A limit was met here: the others of the account are told when the server is asked next. Does nothing where no account is shared.
///
/// # Errors
/// If it cannot be written.
pub fn limit_met(
    store: &dyn LocalStore,
    agent: &str,
    until: Timestamp,
    now: Timestamp,
) -> Result<(), StoreError> {
    if until <= now {
        return Ok(());
    }
    change_account(store, |account| {
        account.met.retain(|met| met.agent != agent);
        account.met.push(MetLimit {
            agent: agent.to_owned(),
            until,
            seen_at: now,
        });
        let over = account.met.len().saturating_sub(MOST_MET);
        account.met.drain(..over);
    })
}

/// The server was told of `sent` and said which limits others of this account met.
///
/// # Errors
/// If it cannot be written.
pub fn record_refresh(
    store: &dyn LocalStore,
    name: &str,
    sent: &[MetLimit],
    limits: &[AccountLimit],
    now: Timestamp,
) -> Result<(), StoreError> {
    change_account(store, |account| {
        if account.name == name {
            account.met.retain(|met| !sent.contains(met));
            (account.refreshed_at, account.limits) = (Some(now), limits.to_vec());
        }
    })
}

/// A person says that the limit of this agent, or every limit, is over.
///
/// # Errors
/// If it cannot be written.
pub fn clear_limits(store: &dyn LocalStore, agent: Option<&str>) -> Result<(), StoreError> {
    let of_agent = |name: &str| agent.is_none_or(|agent| agent == name);
    change_account(store, |account| {
        account.limits.retain(|limit| !of_agent(&limit.agent));
        account.met.retain(|met| !of_agent(&met.agent));
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SqliteStore;
    use crate::sqlite::tests::Scratch;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn limit(agent: &str, until: i64) -> AccountLimit {
        AccountLimit {
            agent: agent.into(),
            until: at(until),
            machine: "other".into(),
        }
    }

    #[test]
    fn limit_holds_only_its_agent_with_every_model() {
        let account = SharedAccount {
            limits: vec![limit("claude", 100), limit("codex o9", 200)],
            ..SharedAccount::default()
        };
        for (agent, now, until) in [
            ("claude", 99, Some(100)),
            ("claude", 100, None),
            ("claude opus", 99, Some(100)),
            ("claude-notes", 99, None),
            ("codex", 99, None),
            ("codex o9", 99, Some(200)),
            ("codex o", 99, None),
        ] {
            assert_eq!(
                account.holds(agent, at(now)).map(|limit| limit.until),
                until.map(at),
                "{agent} at {now}"
            );
        }
    }

    #[test]
    fn no_limit_is_believed_for_ever() {
        let account = SharedAccount {
            limits: vec![limit("claude", 900 * 86_400)],
            ..SharedAccount::default()
        };
        assert_eq!(
            account.holds("claude", at(0)).map(|limit| limit.until),
            Some(at(8 * 86_400))
        );
    }

    #[test]
    fn limits_need_shared_account_and_restart_with_another() {
        let scratch = Scratch::new();
        let store = SqliteStore::open(&scratch.dir).unwrap();
        limit_met(&store, "claude", at(100), at(1)).unwrap();
        assert_eq!(read_account(&store).unwrap(), None);
        share_account(&store, Some("team")).unwrap();
        limit_met(&store, "claude", at(100), at(1)).unwrap();
        limit_met(&store, "claude", at(1), at(2)).unwrap();
        let account = read_account(&store).unwrap().expect("it is shared");
        assert_eq!(
            account.met,
            [MetLimit {
                agent: "claude".into(),
                until: at(100),
                seen_at: at(1)
            }]
        );
        share_account(&store, Some("team")).unwrap();
        assert_eq!(
            read_account(&store).unwrap(),
            Some(account.clone()),
            "named again, nothing is lost"
        );
        record_refresh(&store, "team", &account.met, &[limit("codex", 300)], at(3)).unwrap();
        let after = read_account(&store).unwrap().expect("it is shared");
        assert_eq!(
            (after.met.len(), after.limits.len(), after.refreshed_at),
            (0, 1, Some(at(3)))
        );
        clear_limits(&store, Some("claude")).unwrap();
        assert_eq!(read_account(&store).unwrap().unwrap().limits.len(), 1);
        clear_limits(&store, None).unwrap();
        assert_eq!(read_account(&store).unwrap().unwrap().limits.len(), 0);
        share_account(&store, Some("mine")).unwrap();
        assert_eq!(read_account(&store).unwrap().unwrap().refreshed_at, None);
        share_account(&store, None).unwrap();
        assert_eq!(read_account(&store).unwrap(), None);
    }

    #[test]
    fn endless_limits_of_agents_stay_bounded() {
        let scratch = Scratch::new();
        let store = SqliteStore::open(&scratch.dir).unwrap();
        share_account(&store, Some("team")).unwrap();
        for n in 0..100 {
            limit_met(&store, &format!("agent {n}"), at(100), at(1)).unwrap();
        }
        assert_eq!(read_account(&store).unwrap().unwrap().met.len(), MOST_MET);
    }
}
