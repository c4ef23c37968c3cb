//! The part of an account's budget that a session holds: taken before it begins, more of it while it runs, settled at its end. In a fleet
//! several machines spend of the same budget.

use std::sync::{Arc, Mutex};

use watchdog_facts::evidence::StopReason;
use watchdog_facts::verdict::Reason;
use watchdog_store::account_share::{self, AccountShare, HeldShare, LEAST_SHARE};
use watchdog_store::{LocalStore, StateDir, StoreError};

use crate::clock::now;
use crate::judge::command_env::CommandEnv;
use crate::judge::spawn_io::spawn_io;

/// What a session takes at a time, as a part of the day's budget.
const PART: f64 = 0.1;
/// From this part of what it holds on a session takes more.
const NEARLY: f64 = 0.75;

/// What a session holds of the budget of its account. One that is dropped without being settled has spent all of it.
pub struct SessionShare {
    store: Arc<dyn LocalStore>,
    state: StateDir,
    account: String,
    most_usd: f64,
    held: Mutex<Vec<HeldShare>>,
}

impl std::fmt::Debug for SessionShare {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionShare")
            .field("account", &self.account)
            .field("usd", &self.usd())
            .finish_non_exhaustive()
    }
}

impl SessionShare {
    /// Takes a part before a session begins; `None` where its account has no budget. Waits for a server only where this machine holds too
    /// little of it.
    ///
    /// # Errors
    /// Why no session may begin.
    pub async fn take(
        command_env: &CommandEnv,
        store: &Arc<dyn LocalStore>,
    ) -> Result<Option<Arc<Self>>, StopReason> {
        let (state, store) = (command_env.state.clone(), Arc::clone(store));
        spawn_io(move || Self::take_now(state, store)).await
    }

    fn take_now(
        state: StateDir,
        store: Arc<dyn LocalStore>,
    ) -> Result<Option<Arc<Self>>, StopReason> {
        let unreadable = |error: StoreError| StopReason {
            reason: Reason::BudgetExhausted,
            why: format!("what is left of the account's budget cannot be read: {error}"),
        };
        let Some(known) = account_share::of(store.as_ref()).map_err(unreadable)? else {
            return Ok(None);
        };
        let share = SessionShare {
            store,
            state,
            account: known.account,
            most_usd: known.most_usd,
            held: Mutex::default(),
        };
        share.take_more(share.most_usd * PART).map_err(unreadable)?;
        if share.usd() >= LEAST_SHARE {
            return Ok(Some(Arc::new(share)));
        }
        match account_share::of(share.store.as_ref()).map_err(unreadable)? {
            Some(left) => Err(spent(&left)),
            // The budget was taken away meanwhile.
            None => Ok(None),
        }
    }

    /// US dollars that it holds.
    pub fn usd(&self) -> f64 {
        self.held
            .lock()
            .expect("mutex poisoned")
            .iter()
            .map(|held| held.usd)
            .sum()
    }

    /// Whether a session that cost so much comes near to what it holds.
    pub fn is_nearly_spent(&self, cost_usd: f64) -> bool {
        cost_usd >= self.usd() * NEARLY
    }

    /// Takes more for a session that cost so much, where there is more.
    pub async fn extend(self: &Arc<Self>, cost_usd: f64) {
        let share = Arc::clone(self);
        let part = (cost_usd / NEARLY - share.usd()).max(0.0) + share.most_usd * PART;
        // Without it the session ends where what it holds does.
        let _ = spawn_io(move || share.take_more(part)).await;
    }

    fn take_more(&self, part: f64) -> Result<(), StoreError> {
        let free =
            account_share::of(self.store.as_ref())?.map_or(0.0, |share| share.free_usd(now()));
        if free < part / 2.0 {
            draw(&self.state, self.store.as_ref(), part);
        }
        if let Some(held) = account_share::hold(self.store.as_ref(), part, now())? {
            self.held.lock().expect("mutex poisoned").push(held);
        }
        Ok(())
    }

    /// Its session ended and cost so much; an agent that tells no cost cost nothing that is known.
    pub fn settle(&self, cost_usd: Option<f64>) {
        let mut cost = cost_usd
            .filter(|cost| cost.is_finite())
            .unwrap_or(0.0)
            .max(0.0);
        let mut held = self.held.lock().expect("mutex poisoned");
        for part in held.drain(..) {
            // What is not written down counts as spent.
            if account_share::settle(self.store.as_ref(), &part, cost).is_ok() {
                cost = 0.0;
            }
        }
    }

    /// Why a session that spent all that it could get is ended.
    pub fn stop(&self) -> StopReason {
        match account_share::of(self.store.as_ref()) {
            Ok(Some(left)) => spent(&left),
            _ => StopReason {
                reason: Reason::BudgetExhausted,
                why: format!("the budget of the account '{}' is spent", self.account),
            },
        }
    }
}

/// Gives back what a command did not spend, at its end.
pub async fn give_back(command_env: &CommandEnv, store: &Arc<dyn LocalStore>) {
    let (state, store) = (command_env.state.clone(), Arc::clone(store));
    spawn_io(move || give_back_now(&state, store.as_ref())).await;
}

fn spent(share: &AccountShare) -> StopReason {
    let AccountShare {
        account, most_usd, ..
    } = share;
    let why = match (&share.unreached, share.ends_at) {
        (Some(why), _) => format!(
            "this machine's share of the budget of the account '{account}' is spent, and the fleet's server is gone ({why}); go on once it \
             answers, or on an account of this machine's own: watchdog fleet account --own"
        ),
        (None, Some(end)) => format!(
            "the budget of the account '{account}' is spent for today ({most_usd:.2} USD for all of its machines); it begins anew at {end:.0}; \
             to see or raise it: watchdog fleet account"
        ),
        (None, None) => {
            format!(
                "the budget of the account '{account}' leaves nothing ({most_usd:.2} USD a day); see: watchdog fleet account"
            )
        }
    };
    StopReason {
        reason: Reason::BudgetExhausted,
        why,
    }
}

#[cfg(feature = "fleet")]
fn draw(state: &StateDir, store: &dyn LocalStore, usd: f64) {
    crate::modes::fleet::draw_for_session(state, store, usd);
}

#[cfg(not(feature = "fleet"))]
fn draw(_: &StateDir, _: &dyn LocalStore, _: f64) {}

#[cfg(feature = "fleet")]
fn give_back_now(state: &StateDir, store: &dyn LocalStore) {
    crate::modes::fleet::give_share_back(state, store);
}

#[cfg(not(feature = "fleet"))]
fn give_back_now(_: &StateDir, _: &dyn LocalStore) {}
