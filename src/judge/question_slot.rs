//! A slot of the cap of parallel questions: taken before a question is sent, given back after its answer. Without one a question waits for a
//! bounded time and is then not asked; nothing else waits. Where no cap is set, only this machine's records are read.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::SignedDuration;
use watchdog_facts::display::plural;
use watchdog_process::CancelFlag;
use watchdog_store::journal::event_id;
use watchdog_store::question_cap::{self, CapScope, QuestionCap, SlotOutcome};
use watchdog_store::{LocalStore, StateDir, StoreError};

use super::command_env::CommandEnv;
use super::shared_account::QuestionRefusal;
use super::slot_server::{ConnectSlots, ServerSlot, SlotServer};
use crate::clock::now;

/// How much longer than its question a slot lasts: an agent at its deadline is given time to end.
const MARGIN: Duration = Duration::from_secs(30);
/// A question is worth another try after this long: others end at any time.
const RETRY: SignedDuration = SignedDuration::from_secs(30);
/// How often a question that waits polls, here and on a server.
const POLL: Duration = Duration::from_millis(200);
const SERVER_POLL: Duration = Duration::from_secs(1);
/// A signal ends the wait within this.
const CANCELLED_WITHIN: Duration = Duration::from_millis(50);

/// Where slots come from.
#[derive(Debug, Clone)]
pub struct SlotSource {
    /// Where watchdog keeps its own state.
    pub state: StateDir,
    /// Reaches the server of a fleet; `None` in a build without one.
    pub connect: Option<ConnectSlots>,
}

/// How long a question may run, and wait before.
#[derive(Debug, Clone, Copy)]
pub struct SlotRequest<'a> {
    /// Its deadline.
    pub timeout: Duration,
    /// How long it waits for a slot at most.
    pub patience: Duration,
    /// Ends the wait.
    pub cancel: &'a CancelFlag,
}

/// A slot that a question has until this is dropped.
#[must_use = "dropping it gives the slot back"]
pub struct QuestionSlot {
    source: SlotSource,
    store: Arc<dyn LocalStore>,
    scope: CapScope,
    account: String,
    question: String,
    server: Option<Box<dyn SlotServer>>,
}

impl SlotSource {
    /// Takes a slot for a question; `None` where there is no cap. `tell` gets one line where it waits.
    ///
    /// # Errors
    /// Why the question may not be asked now.
    pub fn take(
        &self,
        store: &Arc<dyn LocalStore>,
        request: SlotRequest<'_>,
        tell: &dyn Fn(&str),
    ) -> Result<Option<QuestionSlot>, QuestionRefusal> {
        let unreadable = |error: StoreError| QuestionRefusal {
            why: format!("the cap of parallel questions cannot be read: {error}"),
            retry_at: None,
        };
        let (question, begun, lasts) = (event_id(now()), Instant::now(), request.timeout + MARGIN);
        let mut server = None;
        let mut is_announced = false;
        loop {
            let Some((scope, _)) = question_cap::in_force(store.as_ref()).map_err(unreadable)?
            else {
                return Ok(None);
            };
            let cap = match question_cap::take(store.as_ref(), scope, &question, lasts, now())
                .map_err(unreadable)?
            {
                SlotOutcome::NoCap => return Ok(None),
                SlotOutcome::Taken { .. } => {
                    return Ok(Some(self.slot(store, scope, "", &question, None)));
                }
                SlotOutcome::Full(cap) => cap,
            };
            if scope == CapScope::Shared {
                let begun = now();
                match self.ask_server(&mut server, &cap.account, &question, lasts) {
                    Ok(ServerSlot::Given) => {
                        // What is not written down holds nobody here, and the slot is given back all the same.
                        let _ = question_cap::given(store.as_ref(), &question, lasts, begun);
                        return Ok(Some(self.slot(
                            store,
                            scope,
                            &cap.account,
                            &question,
                            server,
                        )));
                    }
                    Ok(ServerSlot::NoCap) => return Ok(None),
                    Ok(ServerSlot::Full) => {}
                    Err(why) => return Err(refused(gone(&cap, &why))),
                }
            }
            if begun.elapsed() >= request.patience || request.cancel.is_cancelled() {
                return Err(refused(full(&cap)));
            }
            if !std::mem::replace(&mut is_announced, true) {
                tell(&format!("waiting to ask: {}", full(&cap)));
            }
            wait(
                if scope == CapScope::Own {
                    POLL
                } else {
                    SERVER_POLL
                },
                request.cancel,
            );
        }
    }

    fn slot(
        &self,
        store: &Arc<dyn LocalStore>,
        scope: CapScope,
        account: &str,
        question: &str,
        server: Option<Box<dyn SlotServer>>,
    ) -> QuestionSlot {
        let (account, question) = (account.to_owned(), question.to_owned());
        QuestionSlot {
            source: self.clone(),
            store: Arc::clone(store),
            scope,
            account,
            question,
            server,
        }
    }

    fn ask_server(
        &self,
        server: &mut Option<Box<dyn SlotServer>>,
        account: &str,
        question: &str,
        lasts: Duration,
    ) -> Result<ServerSlot, String> {
        let server = match server {
            Some(server) => server,
            none => none.insert(self.server(account)?),
        };
        server.take(question, lasts)
    }

    fn server(&self, account: &str) -> Result<Box<dyn SlotServer>, String> {
        let connect = self
            .connect
            .ok_or("this watchdog was built without the fleet")?;
        connect(&self.state, account)
    }
}

impl Drop for QuestionSlot {
    fn drop(&mut self) {
        // What is not written down, or does not arrive, ends by itself.
        let Ok(Some(slot)) =
            question_cap::give_back(self.store.as_ref(), self.scope, &self.question, now())
        else {
            return;
        };
        if self.scope == CapScope::Shared
            && let Some(server) = self
                .server
                .take()
                .or_else(|| self.source.server(&self.account).ok())
        {
            server.give_back(&slot);
        }
    }
}

fn refused(why: String) -> QuestionRefusal {
    QuestionRefusal {
        why,
        retry_at: now().checked_add(RETRY).ok(),
    }
}

fn full(cap: &QuestionCap) -> String {
    let most = plural(cap.most.unwrap_or(0).into(), "question");
    match cap.account.as_str() {
        "" => format!(
            "this machine puts at most {most} to agents at a time, and as many are under way (watchdog fleet account)"
        ),
        account => format!(
            "the machines of the account '{account}' put at most {most} to agents at a time, and every slot is taken (watchdog fleet account)"
        ),
    }
}

fn gone(cap: &QuestionCap, why: &str) -> String {
    format!(
        "this machine has no slot left of those that the machines of the account '{}' share, and the fleet's server is gone ({why}); see: \
         watchdog fleet account",
        cap.account
    )
}

fn wait(length: Duration, cancel: &CancelFlag) {
    let end = Instant::now() + length;
    while !cancel.is_cancelled() {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        std::thread::sleep(left.min(CANCELLED_WITHIN));
    }
}

impl CommandEnv {
    /// Where slots for questions come from.
    pub fn slot_source(&self) -> SlotSource {
        SlotSource {
            state: self.state.clone(),
            connect: self.connect_slots,
        }
    }
}
