//! Delivers the notices of the outbox in a thread of its own, so that no work ever waits for it. Those not delivered when the command ends
//! stay for the next one; a lease keeps two processes from delivering the same one.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::Value;

use super::webhook::{WebhookPost, post};
use watchdog_core::config::settings::NotifyTarget;
use watchdog_facts::display::log_millis;
use watchdog_facts::evidence::ProcessExit;
use watchdog_process::{ProgramPurpose, ProgramRun};
use watchdog_store::engine::Lease;
use watchdog_store::journal::{event, kind};
use watchdog_store::outbox::{self, OutboxNotice};
use watchdog_store::{LocalStore, RowKey, StoreError};

use crate::clock::now;
use crate::clock::pauses;
use crate::wire::notice_json::delivery_data;

/// The longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// How much longer than the deadline of an attempt its lease lasts.
const SLACK: Duration = Duration::from_secs(15);

/// A next attempt that is further away than this was stored by a wrong clock.
const FAR: jiff::SignedDuration = jiff::SignedDuration::from_hours(1);

/// Delivers notices. Clones share one thread, which begins with the first notice.
#[derive(Clone, Default)]
pub struct NotificationWorker(Arc<WorkerShared>);

#[derive(Default)]
struct WorkerShared {
    state: Mutex<WorkerState>,
    changed: Condvar,
}

#[derive(Default)]
struct WorkerState {
    /// The store of the outbox; `None` until the first notice.
    store: Option<Arc<dyn LocalStore>>,
    /// The outbox has a new notice.
    woken: bool,
    /// The command ends: one last round, and no more waiting.
    closing: bool,
    /// The thread ended.
    ended: bool,
    /// The program that receives a notice at this moment.
    telling: Option<RowKey>,
}

impl NotificationWorker {
    /// Wakes the thread, as the outbox may have a notice.
    pub fn wake(&self, store: &Arc<dyn LocalStore>) {
        let mut state = self.state();
        state.woken = true;
        if state.store.is_none() {
            state.store = Some(Arc::clone(store));
            let shared = Arc::clone(&self.0);
            let begun = std::thread::Builder::new().name("notifications".into()).spawn({
                let store = Arc::clone(store);
                move || shared.work(store.as_ref())
            });
            // Without a thread the outbox waits for the next command.
            state.ended = begun.is_err();
        }
        self.0.changed.notify_all();
    }

    /// Delivers what it can within `bound`; returns how many notices still wait. A program that is receiving one then runs on by itself,
    /// and its notice counts as delivered.
    pub fn finish(&self, bound: Duration) -> usize {
        let deadline = Instant::now() + bound;
        let mut state = self.state();
        let Some(store) = state.store.clone() else { return 0 };
        state.closing = true;
        self.0.changed.notify_all();
        while !state.ended {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = self.0.changed.wait_timeout(state, left).expect("mutex poisoned").0;
        }
        let telling = state.telling.take();
        drop(state);
        if let Some(key) = telling {
            // If the store refuses, the notice is delivered once more: better twice than never.
            let _ = outbox::remove(store.as_ref(), &key);
        }
        outbox::waiting(store.as_ref()).map_or(0, |waiting| waiting.len())
    }

    fn state(&self) -> MutexGuard<'_, WorkerState> {
        self.0.state.lock().expect("mutex poisoned")
    }
}

impl WorkerShared {
    fn work(&self, store: &dyn LocalStore) {
        loop {
            let closing = {
                let mut state = self.state.lock().expect("mutex poisoned");
                state.woken = false;
                state.closing
            };
            // A store error is retried with the next notice, or by the next command.
            let next = self.round(store).ok().flatten();
            let mut state = self.state.lock().expect("mutex poisoned");
            if closing {
                state.ended = true;
                self.changed.notify_all();
                return;
            }
            while !state.woken && !state.closing {
                state = match next.map(|at| Duration::try_from(at.duration_since(now())).unwrap_or_default()) {
                    Some(pause) if pause.is_zero() => break,
                    Some(pause) => self.changed.wait_timeout(state, pause).expect("mutex poisoned").0,
                    None => self.changed.wait(state).expect("mutex poisoned"),
                };
            }
        }
    }

    /// Delivers each notice that is due, once; returns when the next one is.
    fn round(&self, store: &dyn LocalStore) -> Result<Option<Timestamp>, StoreError> {
        let mut next: Option<Timestamp> = None;
        // An unreachable target is not tried again in the same round: other targets shall not wait for it, and its notices stay in order.
        let mut unreachable: Vec<NotifyTarget> = Vec::new();
        for (key, waiting) in outbox::waiting(store)? {
            let at = now();
            let due = waiting.not_before <= at || waiting.not_before.duration_since(at) > FAR;
            if !due || unreachable.contains(&waiting.to) {
                let then = if due { at + Duration::from_secs(1) } else { waiting.not_before };
                next = Some(next.map_or(then, |next| next.min(then)));
                continue;
            }
            let holder = format!("notification worker of process {}", std::process::id());
            let Some((lease, notice)) = outbox::take(store, &key, &holder, waiting.timeout + SLACK)? else { continue };
            let begun = Instant::now();
            let delivered = self.tell(&lease, &notice);
            tracing::debug!(
                target: "watchdog::notify",
                to = recipient(&notice.to),
                kind = notice.event["kind"].as_str(),
                delivered = delivered.is_ok(),
                attempt = notice.attempts + 1,
                duration_ms = log_millis(begun.elapsed()),
                "sent a notice"
            );
            if let Some(then) = settle(store, &lease, notice, delivered, &mut unreachable)? {
                next = Some(next.map_or(then, |next| next.min(then)));
            }
        }
        Ok(next)
    }

    fn tell(&self, lease: &Lease, notice: &OutboxNotice) -> Result<(), String> {
        let body = notice.event.to_string();
        match &notice.to {
            NotifyTarget::Url(url) => {
                let word = |key: &str| notice.event[key].as_str().unwrap_or_default().to_owned();
                let (id, kind) = (word("id"), word("kind"));
                let headers = [("x-watchdog-event", kind.as_str()), ("x-watchdog-delivery", id.as_str())];
                let post_it = WebhookPost { url, body: body.as_bytes(), headers: &headers, timeout: notice.timeout };
                post(&post_it).map_err(|error| error.to_string())
            }
            NotifyTarget::Command(argv) => {
                self.state.lock().expect("mutex poisoned").telling = Some(lease.key.clone());
                let delivered = run(argv, notice, body);
                self.state.lock().expect("mutex poisoned").telling = None;
                delivered
            }
        }
    }
}

/// Records the outcome of an attempt; returns when the next one is due.
fn settle(
    store: &dyn LocalStore,
    lease: &Lease,
    mut notice: OutboxNotice,
    delivered: Result<(), String>,
    unreachable: &mut Vec<NotifyTarget>,
) -> Result<Option<Timestamp>, StoreError> {
    notice.attempts += 1;
    let again = delivered.is_err() && notice.attempts <= notice.retries;
    if delivered.is_err() {
        unreachable.push(notice.to.clone());
    }
    if again {
        let pause = pauses::pause(notice.attempts, LONGEST_PAUSE);
        notice.not_before = now() + pause;
        outbox::put_back(store, lease, &notice)?;
        return Ok(Some(notice.not_before));
    }
    note(store, &notice, delivered.err());
    outbox::remove(store, &lease.key)?;
    store.release(lease)?;
    Ok(None)
}

/// Records in the journal that a notice was delivered, or will not be.
fn note(store: &dyn LocalStore, notice: &OutboxNotice, why: Option<String>) {
    let data = delivery_data(&notice.event, notice.attempts, why.as_deref(), recipient(&notice.to));
    let worktree = notice.event["worktree"].as_str().unwrap_or_default();
    let noted = event(now(), worktree, notice.event["spec"].as_str(), kind::NOTIFY, data);
    // The notice counts, not the note about it.
    let _ = store.append(&[noted], None);
}

/// The receiver without possible secrets: the arguments of a program, and all that follows the host of an address, are left out.
fn recipient(to: &NotifyTarget) -> &str {
    match to {
        NotifyTarget::Command(argv) => argv.first().map_or("", String::as_str),
        NotifyTarget::Url(url) => origin(url),
    }
}

/// Scheme and host of an address, without credentials before an `@`.
fn origin(url: &str) -> &str {
    let host = url.find("://").map_or(0, |at| at + 3);
    let end = url[host..].find(['/', '?', '#']).map_or(url.len(), |at| host + at);
    match url[host..end].rfind('@') {
        Some(at) => &url[host + at + 1..end],
        None => &url[..end],
    }
}

fn run(argv: &[String], notice: &OutboxNotice, body: String) -> Result<(), String> {
    let path = notice.event["path"].as_str().unwrap_or_default();
    let cwd = if Path::new(path).is_dir() { path } else { "/" };
    let program = ProgramRun {
        stdin: body.into_bytes(),
        deadline: notice.timeout,
        grace: Duration::from_secs(1),
        keep: 4096,
        purpose: ProgramPurpose::Notification,
        env: variables(&notice.event),
        ..ProgramRun::new(argv, cwd)
    };
    let finished = program.run().map_err(|error| error.to_string())?;
    if finished.timed_out {
        return Err(format!("it still ran after {} s", notice.timeout.as_secs()));
    }
    match finished.exit {
        ProcessExit::Code(0) => Ok(()),
        exit => {
            let said = String::from_utf8_lossy(&finished.stderr.bytes).lines().next().unwrap_or_default().to_owned();
            Err(if said.is_empty() { format!("it ended with {exit}") } else { format!("it ended with {exit}: {said}") })
        }
    }
}

/// The environment variables for a program, beside the event on its stdin.
fn variables(event: &Value) -> BTreeMap<OsString, Option<OsString>> {
    let text = |value: &Value| value.as_str().map(OsString::from);
    [
        ("WATCHDOG_EVENT", text(&event["kind"])),
        ("WATCHDOG_STATUS", text(&event["data"]["status"])),
        ("WATCHDOG_REASON", text(&event["data"]["reason"])),
        ("WATCHDOG_WORKTREE", text(&event["path"])),
        ("WATCHDOG_SPEC", text(&event["spec"])),
    ]
    .into_iter()
    .map(|(name, value)| (name.into(), value))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::super::delivery::*;

    #[test]
    fn secrets_of_an_address_stay_out_of_the_journal() {
        for (url, expected) in [
            ("https://hooks.example.invalid/services/T0/SECRET", "https://hooks.example.invalid"),
            ("http://user:SECRET@host:8080/x", "host:8080"),
            ("http://host?token=SECRET", "http://host"),
            ("http://host", "http://host"),
        ] {
            assert_eq!(origin(url), expected);
        }
    }
}
