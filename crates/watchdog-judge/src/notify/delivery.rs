//! Delivers the notices of the outbox in a thread of its own, so that no work ever waits for it. Those not delivered when the command ends
//! stay for the next one; a lease keeps two processes from delivering the same one.
//!
//! Notices that wait for the same people become one message. A sweep holds its notices for people
//! back until it has looked at everything; what a
//! sweep that was killed left is delivered by the next process.

use std::collections::HashSet;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};

use super::rules::OfferedNotices;
use super::send::{SendError, describe_recipient, send_events};
use watchdog_core::config::settings::NotifyTarget;
use watchdog_facts::display::log_millis;
use watchdog_facts::shell_line::WorktreeCommands;
use watchdog_process::still_runs;
use watchdog_store::engine::{Lease, NewEvent};
use watchdog_store::journal::{is_ours, kind, new_event, process_of};
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
const FAR: SignedDuration = SignedDuration::from_hours(1);

/// So many notices a sweep holds back at most.
const MOST_HELD: usize = outbox::FULL / 2;

/// How long other processes leave what a sweep holds back alone, at most: its own end, or its death, sets it free.
const HELD: SignedDuration = SignedDuration::from_mins(30);

/// Delivers notices. Clones share one thread, which begins with the first notice.
#[derive(Clone, Default)]
pub struct NotificationWorker(Arc<WorkerShared>);

#[derive(Default)]
struct WorkerShared {
    /// The commands that messages tell a person to type.
    commands: WorktreeCommands,
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
    /// Notices for people are held back until all of them are known.
    gathering: bool,
    /// How many are.
    held_count: usize,
    /// The notices held back so far are sent all the same.
    release: bool,
    /// The notices that a program receives at this moment.
    telling: Vec<RowKey>,
}

/// Holds notices for people back until it is dropped.
#[must_use = "what is gathered is sent when this is dropped"]
pub struct GatheredNotices(NotificationWorker);

impl Drop for GatheredNotices {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.gathering = false;
        state.woken = true;
        self.0.0.changed.notify_all();
    }
}

impl NotificationWorker {
    /// A worker whose messages tell a person to type these commands, which name the records.
    pub fn naming(commands: WorktreeCommands) -> Self {
        NotificationWorker(Arc::new(WorkerShared {
            commands,
            ..WorkerShared::default()
        }))
    }

    /// The commands that messages tell a person to type.
    pub fn commands(&self) -> &WorktreeCommands {
        &self.0.commands
    }

    /// Holds notices for people back from now on, so that they become one message.
    pub fn gather(&self) -> GatheredNotices {
        self.state().gathering = true;
        GatheredNotices(self.clone())
    }

    /// How long other processes shall leave a new notice for people alone.
    pub fn held_for(&self) -> Option<SignedDuration> {
        self.state().gathering.then_some(HELD)
    }

    /// Sends what was put into the outbox, or counts what is held back there: a long sweep sends it before the outbox is full.
    pub fn deliver(&self, store: &Arc<dyn LocalStore>, offered: OfferedNotices) {
        let mut state = self.state();
        state.held_count += offered.held;
        if state.held_count >= MOST_HELD {
            (state.held_count, state.release) = (0, true);
        }
        let due = state.release || offered.at_once > 0;
        drop(state);
        if due {
            self.wake(store);
        }
    }

    /// Wakes the thread, as the outbox may have a notice.
    pub fn wake(&self, store: &Arc<dyn LocalStore>) {
        let mut state = self.state();
        state.woken = true;
        if state.store.is_none() {
            state.store = Some(Arc::clone(store));
            let shared = Arc::clone(&self.0);
            let begun = std::thread::Builder::new()
                .name("notifications".into())
                .spawn({
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
        let Some(store) = state.store.clone() else {
            return 0;
        };
        state.closing = true;
        self.0.changed.notify_all();
        while !state.ended {
            let time_left = deadline.saturating_duration_since(Instant::now());
            if time_left.is_zero() {
                break;
            }
            state = self
                .0
                .changed
                .wait_timeout(state, time_left)
                .expect("mutex poisoned")
                .0;
        }
        let telling = std::mem::take(&mut state.telling);
        drop(state);
        for key in telling {
            // If the store refuses, the notice is delivered once more: better twice than never.
            let _ = outbox::remove_notice(store.as_ref(), &key);
        }
        outbox::list_waiting_notices(store.as_ref()).map_or(0, |waiting| waiting.len())
    }

    fn state(&self) -> MutexGuard<'_, WorkerState> {
        self.0.state.lock().expect("mutex poisoned")
    }
}

impl WorkerShared {
    fn work(&self, store: &dyn LocalStore) {
        loop {
            let (closing, gathering) = {
                let mut state = self.state.lock().expect("mutex poisoned");
                state.woken = false;
                let release = std::mem::take(&mut state.release);
                (state.closing, state.gathering && !release)
            };
            // A store error is retried with the next notice, or by the next command.
            let next = self.round(store, gathering).ok().flatten();
            let mut state = self.state.lock().expect("mutex poisoned");
            if closing {
                state.ended = true;
                self.changed.notify_all();
                return;
            }
            while !state.woken && !state.closing {
                state = match next
                    .map(|at| Duration::try_from(at.duration_since(now())).unwrap_or_default())
                {
                    Some(pause) if pause.is_zero() => break,
                    Some(pause) => {
                        self.changed
                            .wait_timeout(state, pause)
                            .expect("mutex poisoned")
                            .0
                    }
                    None => self.changed.wait(state).expect("mutex poisoned"),
                };
            }
        }
    }

    /// Delivers each notice that is due, once; returns when the next one is.
    fn round(
        &self,
        store: &dyn LocalStore,
        gathering: bool,
    ) -> Result<Option<Timestamp>, StoreError> {
        let mut next: Option<Timestamp> = None;
        let mut later = |then: Timestamp| next = Some(next.map_or(then, |next| next.min(then)));
        // An unreachable target is not tried again in the same round: other targets shall not wait for it, and its notices stay in order.
        let mut unreachable: Vec<NotifyTarget> = Vec::new();
        let mut handled: HashSet<RowKey> = HashSet::new();
        let all = outbox::list_waiting_notices(store)?;
        for (key, waiting) in &all {
            let at = now();
            let due = is_due(waiting, at, gathering);
            if handled.contains(key) {
                continue;
            }
            if !due || unreachable.contains(&waiting.to) {
                later(if due {
                    at + Duration::from_secs(1)
                } else {
                    waiting.not_before.max(at + Duration::from_secs(1))
                });
                continue;
            }
            let mut together = vec![(key, waiting)];
            if waiting.to.is_for_people() {
                let joins = |(other, notice): &&(RowKey, OutboxNotice)| {
                    other != key
                        && !handled.contains(other)
                        && notice.to == waiting.to
                        && is_due(notice, at, gathering)
                };
                together.extend(all.iter().filter(joins).map(|(key, notice)| (key, notice)));
            }
            handled.extend(together.iter().map(|(key, _)| (*key).clone()));
            let taken = lease_notices(store, &together)?;
            if taken.is_empty() {
                continue;
            }
            let begun = Instant::now();
            let delivered = self.tell(&taken);
            tracing::debug!(
                target: "watchdog::notify",
                to = describe_recipient(&waiting.to),
                kind = waiting.event["kind"].as_str(),
                delivered = delivered.is_ok(),
                attempt = waiting.attempts + 1,
                duration_ms = log_millis(begun.elapsed()),
                "sent a notice"
            );
            if delivered.is_err() {
                unreachable.push(waiting.to.clone());
            }
            if let Some(then) = record_attempt(store, taken, delivered)? {
                later(then);
            }
        }
        Ok(next)
    }

    fn tell(&self, taken: &[(Lease, OutboxNotice)]) -> Result<(), SendError> {
        let Some((_, first)) = taken.first() else {
            return Ok(());
        };
        let runs_on = matches!(
            first.to,
            NotifyTarget::Command(_) | NotifyTarget::Desktop | NotifyTarget::Mail(_)
        );
        if runs_on {
            self.state.lock().expect("mutex poisoned").telling =
                taken.iter().map(|(lease, _)| lease.key.clone()).collect();
        }
        let events: Vec<_> = taken.iter().map(|(_, notice)| &notice.event).collect();
        let timeout = taken
            .iter()
            .map(|(_, notice)| notice.timeout)
            .max()
            .unwrap_or_default();
        let delivered = send_events(&first.to, &events, &self.commands, timeout);
        self.state.lock().expect("mutex poisoned").telling.clear();
        delivered
    }
}

/// Whether a notice may be sent now. A notice that a sweep holds back may if that sweep is over:
/// ours at its end, another's at its death.
fn is_due(notice: &OutboxNotice, at: Timestamp, gathering: bool) -> bool {
    let reached = notice.not_before <= at || notice.not_before.duration_since(at) > FAR;
    if notice.attempts > 0 || !notice.to.is_for_people() {
        return reached;
    }
    let id = notice.event["id"].as_str().unwrap_or_default();
    if is_ours(id) {
        return !gathering;
    }
    let written = notice.event["at"]
        .as_str()
        .and_then(|at| at.parse().ok())
        .unwrap_or(at);
    reached || process_of(id).is_some_and(|pid| !still_runs(pid, written))
}

/// Takes the right to deliver these; those that somebody else delivers are left out.
fn lease_notices(
    store: &dyn LocalStore,
    together: &[(&RowKey, &OutboxNotice)],
) -> Result<Vec<(Lease, OutboxNotice)>, StoreError> {
    let holder = format!("notification worker of process {}", std::process::id());
    let longest = together
        .iter()
        .map(|(_, notice)| notice.timeout)
        .max()
        .unwrap_or_default();
    let mut taken = Vec::new();
    for (key, _) in together {
        taken.extend(outbox::take_notice(store, key, &holder, longest + SLACK)?);
    }
    Ok(taken)
}

/// Records the outcome of an attempt for all that it was about; returns when the next one is due.
fn record_attempt(
    store: &dyn LocalStore,
    mut taken: Vec<(Lease, OutboxNotice)>,
    delivered: Result<(), SendError>,
) -> Result<Option<Timestamp>, StoreError> {
    let most = taken.iter_mut().map(|(_, notice)| {
        notice.attempts += 1;
        notice.attempts
    });
    // Notices that failed together are tried again together.
    let again_at = now() + pauses::calculate_pause(most.max().unwrap_or(1), LONGEST_PAUSE);
    let why = delivered.err().map(|error| error.why);
    let (again, over): (Vec<_>, Vec<_>) = taken
        .into_iter()
        .partition(|(_, notice)| why.is_some() && notice.attempts <= notice.retries);
    let noted: Vec<NewEvent> = over
        .iter()
        .map(|(_, notice)| note_of(notice, why.as_deref()))
        .collect();
    if !noted.is_empty() {
        // The notice counts, not the note about it.
        let _ = store.append(&noted, None);
    }
    for (lease, _) in &over {
        outbox::remove_notice(store, &lease.key)?;
    }
    for (lease, _) in &over {
        store.release(lease)?;
    }
    let next = (!again.is_empty()).then_some(again_at);
    for (lease, mut notice) in again {
        notice.not_before = again_at;
        outbox::put_back(store, &lease, &notice)?;
    }
    Ok(next)
}

/// Returns the journal's note on a notice that was delivered, or will not be.
fn note_of(notice: &OutboxNotice, why: Option<&str>) -> NewEvent {
    let data = delivery_data(
        &notice.event,
        notice.attempts,
        why,
        &describe_recipient(&notice.to),
    );
    let worktree = notice.event["worktree"].as_str().unwrap_or_default();
    new_event(
        now(),
        worktree,
        notice.event["spec"].as_str(),
        kind::NOTIFY,
        data,
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use watchdog_store::journal::event_id;

    fn notice(to: NotifyTarget, id: &str, is_held: bool, attempts: u32) -> OutboxNotice {
        let at = now();
        let not_before = if is_held { at + HELD } else { at };
        let event = json!({"id": id, "at": at.to_string()});
        OutboxNotice {
            event,
            to,
            timeout: Duration::from_secs(1),
            retries: 5,
            attempts,
            not_before,
        }
    }

    #[test]
    fn held_notice_waits_for_its_sweep_or_time() {
        let later = now() + SignedDuration::from_secs(1);
        let ours = event_id(now());
        let ids = |pid: &str| format!("00000000000000-0000000000000000-{pid}-0");
        // Process 1 always runs, and that number is above every process's.
        let (alive, dead) = (ids("1"), ids("7fffffff"));
        for (what, id, held, attempts, gathering, due) in [
            ("ours, while the sweep goes on", &ours, true, 0, true, false),
            ("ours, when it is over", &ours, true, 0, false, true),
            ("another's that goes on", &alive, true, 0, false, false),
            ("another's, after its time", &alive, false, 0, true, true),
            ("another's that was killed", &dead, true, 0, true, true),
            ("a pause after a failure", &dead, true, 1, false, false),
        ] {
            assert_eq!(
                is_due(
                    &notice(NotifyTarget::Desktop, id, held, attempts),
                    later,
                    gathering
                ),
                due,
                "{what}"
            );
        }
        let program = NotifyTarget::Command(vec!["x".into()]);
        assert!(
            is_due(&notice(program, &ours, false, 0), later, true),
            "a program is told at once"
        );
        let mut wrong_clock = notice(NotifyTarget::Desktop, &alive, true, 3);
        wrong_clock.not_before = later + SignedDuration::from_hours(2);
        assert!(is_due(&wrong_clock, later, false));
    }
}
