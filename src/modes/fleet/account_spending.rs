//! The budget of an account that several machines share: this machine draws a share of it before it spends, and gives back what is left.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use watchdog_fleet::FleetServer;
use watchdog_fleet::account_budget::{draw_share, take_share_back};
use watchdog_store::account_share::{self, DrawnShare};
use watchdog_store::draw_lock::DrawLock;
use watchdog_store::{LocalStore, StateDir, StoreError};

use super::fleet_setting::{FleetSetting, FleetSettingError};
use crate::clock::now;

/// A session waits for no longer than this for its share.
const BEFORE_A_SESSION: Duration = Duration::from_secs(2);

/// What is kept for questions while nothing runs, as a part of the day's budget.
const FOR_QUESTIONS: f64 = 0.01;

/// Learns the budget of the account, and keeps a little of it here for questions, which wait for no server.
pub(super) fn share_budget(
    (state, local): (&StateDir, &dyn LocalStore),
    server: &FleetServer,
    account: &str,
    max_usd_per_day: Option<f64>,
) -> Result<(), StoreError> {
    let known = account_share::of(local)?;
    if known
        .as_ref()
        .map(|share| (share.account.as_str(), share.most_usd))
        != max_usd_per_day.map(|most| (account, most))
    {
        account_share::terms(local, account, max_usd_per_day)?;
    }
    let Some(most) = max_usd_per_day else {
        return Ok(());
    };
    let share = account_share::of(local)?.unwrap_or_default();
    if share.owed_usd() > 0.0 || share.free_usd(now()) < most * FOR_QUESTIONS / 2.0 {
        draw(
            state,
            local,
            server,
            watchdog_fleet::CALL_DEADLINE,
            most * FOR_QUESTIONS,
        )?;
    }
    Ok(())
}

fn draw(
    state: &StateDir,
    local: &dyn LocalStore,
    server: &FleetServer,
    deadline: Duration,
    wanted: f64,
) -> Result<(), StoreError> {
    let _drawing = DrawLock::wait(state, deadline)?;
    let Some(share) = account_share::of(local)? else {
        return Ok(());
    };
    let owed = share.owed_usd();
    let Some(given) = draw_share(server, deadline, &share.account, wanted, (owed, &share.day))?
    else {
        return account_share::terms(local, &share.account, None);
    };
    let ends_at = now()
        .checked_add(SignedDuration::from_millis(given.left_ms.max(0)))
        .unwrap_or(Timestamp::MAX);
    let given = DrawnShare {
        most_usd: given.most_usd,
        day: given.day,
        ends_at,
        usd: given.usd,
    };
    account_share::drawn(local, &given, owed)
}

fn server(state: &StateDir) -> Result<Option<FleetServer>, FleetSettingError> {
    let Some(setting) = FleetSetting::of(state)? else {
        return Ok(None);
    };
    Ok(Some(setting.server()?.needing_its_format()))
}

/// Draws a share for a session that begins or goes on. A server that does not answer is noted with the share; what was drawn before may be
/// spent.
pub fn draw_for_session(state: &StateDir, local: &dyn LocalStore, wanted: f64) {
    let drawn = server(state)
        .map_err(|error| error.to_string())
        .and_then(|server| match server {
            Some(server) => draw(state, local, &server, BEFORE_A_SESSION, wanted)
                .map_err(|error| error.to_string()),
            None => Ok(()),
        });
    if let Err(why) = drawn {
        let _ = account_share::unreached(local, &why);
    }
}

/// Gives back what of the share is free, when a command ends. What does not arrive counts as spent until the day ends.
pub fn give_share_back(state: &StateDir, local: &dyn LocalStore) {
    let Ok(Some(share)) = account_share::of(local) else {
        return;
    };
    // It would be given up for nothing, while the machine may spend it.
    if share.unreached.is_some() {
        return;
    }
    let Ok(Some(server)) = server(state) else {
        return;
    };
    // Reached first, so that a server that is gone costs no share.
    if share.free_usd(now()) < account_share::LEAST_SHARE
        || draw(state, local, &server, BEFORE_A_SESSION, 0.0).is_err()
    {
        return;
    }
    if let Ok(Some(given)) = account_share::give_up(local, now()) {
        let _ = take_share_back(
            &server,
            BEFORE_A_SESSION,
            &share.account,
            given.usd,
            &given.day,
        );
    }
}
