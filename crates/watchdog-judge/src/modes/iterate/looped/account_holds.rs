//! Applies usage limits that other machines of the loop's account met: it reads them before each
//! step, and notices in a pause that they are over.

use std::time::Duration;

use watchdog_store::account::AccountLimit;

use super::super::session::LoopContext;
use super::LoopRun;
use crate::judge::session_agent::in_words;

/// How often a pause looks whether a person cleared the limit.
const POLL: Duration = Duration::from_secs(2);

impl LoopRun {
    /// Takes over what is known of limits that others met, and tells a person of those that are new.
    pub(super) fn refresh_account(&mut self) {
        let holds = self.context.held_by_account();
        for (_, limit) in holds
            .iter()
            .filter(|hold| !self.account_holds.contains(hold))
        {
            self.tell(&in_words(limit));
        }
        self.machine.held_by_account(
            &holds
                .iter()
                .map(|(name, limit)| (name.clone(), limit.until))
                .collect::<Vec<_>>(),
        );
        self.account_holds = holds;
    }
}

impl LoopContext {
    /// Completes once one of these limits is known no longer, or ends at another time; never where there is none.
    pub(super) async fn hold_ends_early(&self, holds: &[(String, AccountLimit)]) {
        loop {
            tokio::time::sleep(POLL).await;
            let holds_now = self.held_by_account();
            if holds.iter().any(|limit| !holds_now.contains(limit)) {
                return;
            }
        }
    }
}
