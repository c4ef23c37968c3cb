//! The slots of an account's cap of parallel questions: a question asks the server for one where this machine keeps none ready, and the copies
//! keep this machine's part ready, so that questions go on for a while without the server.

use std::time::Duration;

use jiff::SignedDuration;
use watchdog_fleet::account_budget::AccountTerms;
use watchdog_fleet::account_slots::{TakenSlots, WantedSlots, give_slots_back, take_slots};
use watchdog_fleet::{CALL_DEADLINE, FleetServer};
use watchdog_store::journal::event_id;
use watchdog_store::question_cap::{self, CapScope, CapTerms};
use watchdog_store::{LocalStore, StateDir, StoreError};

use super::fleet_setting::FleetSetting;
use crate::clock::now;
use crate::judge::slot_server::{ServerSlot, SlotServer};

/// A question waits for no longer than this for each answer of the server.
const FOR_A_QUESTION: Duration = Duration::from_secs(2);
/// How long a slot that is kept ready lasts, and before which end it is renewed.
const KEPT: Duration = Duration::from_secs(15 * 60);
const RENEWED_BEFORE: SignedDuration = SignedDuration::from_mins(10);

struct FleetSlots {
    server: FleetServer,
    account: String,
    machine: String,
}

/// Reaches the server of the fleet that this machine is in, for slots of an account. Connects to nothing yet.
///
/// # Errors
/// Why there is none.
pub fn connect_slots(state: &StateDir, account: &str) -> Result<Box<dyn SlotServer>, String> {
    let setting = FleetSetting::of(state)
        .map_err(|error| error.to_string())?
        .ok_or("this machine is in no fleet")?;
    let server = setting
        .server()
        .map_err(|error| error.to_string())?
        .needing_its_format();
    Ok(Box::new(FleetSlots {
        server,
        account: account.to_owned(),
        machine: setting.name,
    }))
}

impl SlotServer for FleetSlots {
    fn take(&self, slot: &str, lasts: Duration) -> Result<ServerSlot, String> {
        let (account, machine, ids) = (&self.account, &self.machine, &[slot.to_owned()]);
        let wanted = WantedSlots {
            account,
            machine,
            ids,
            lasts,
            to_keep: false,
        };
        Ok(
            match take_slots(&self.server, FOR_A_QUESTION, &wanted)
                .map_err(|error| error.to_string())?
            {
                None => ServerSlot::NoCap,
                Some(TakenSlots { ids, .. }) if ids.is_empty() => ServerSlot::Full,
                Some(_) => ServerSlot::Given,
            },
        )
    }

    fn give_back(&self, slot: &str) {
        // One that does not arrive ends by itself.
        let _ = give_slots_back(
            &self.server,
            FOR_A_QUESTION,
            &self.account,
            &[slot.to_owned()],
        );
    }
}

/// Gives the slots back that this machine keeps ready, where it stops to share their account. Returns how many the server still has for it: those
/// end by themselves.
pub(super) fn give_ready_back(local: &dyn LocalStore, setting: &FleetSetting) -> usize {
    let Ok(Some((account, ids))) = question_cap::give_up_ready(local, now()) else {
        return 0;
    };
    let given = setting.server().and_then(|server| {
        give_slots_back(&server.needing_its_format(), FOR_A_QUESTION, &account, &ids)
    });
    if given.is_ok() { 0 } else { ids.len() }
}

/// Learns the cap of the account, and keeps this machine's part of its slots ready.
pub(super) fn share_slots(
    local: &dyn LocalStore,
    server: &FleetServer,
    machine: &str,
    (account, terms): (&str, &AccountTerms),
) -> Result<(), StoreError> {
    let known = question_cap::of(local, CapScope::Shared)?;
    let share = terms.slots_to_keep;
    let now_is = terms
        .max_parallel_questions
        .map(|most| CapTerms { most, share });
    let was = known.as_ref().and_then(|cap| {
        Some((
            cap.account.as_str(),
            CapTerms {
                most: cap.most?,
                share: cap.share,
            },
        ))
    });
    if was != now_is.map(|terms| (account, terms)) {
        question_cap::set_shared(local, account, now_is)?;
    }
    let Some(cap) = question_cap::of(local, CapScope::Shared)? else {
        return Ok(());
    };
    let at = now();
    let Some(ids) = cap.to_keep(at.saturating_add(RENEWED_BEFORE).unwrap_or(at), at, || {
        event_id(at)
    }) else {
        return Ok(());
    };
    let wanted = WantedSlots {
        account,
        machine,
        ids: &ids,
        lasts: KEPT,
        to_keep: true,
    };
    let Some(TakenSlots { ids, .. }) = take_slots(server, CALL_DEADLINE, &wanted)? else {
        return question_cap::set_shared(local, account, None);
    };
    // From before the server was asked, so that none lasts longer here than there.
    let until = at.saturating_add(KEPT).unwrap_or(at);
    let gone = question_cap::keep_ready(local, &ids, until, at)?;
    if !gone.is_empty() {
        give_slots_back(server, CALL_DEADLINE, account, &gone)?;
    }
    Ok(())
}
