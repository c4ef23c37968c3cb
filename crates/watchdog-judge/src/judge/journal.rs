//! Writes facts and decisions into the journal, and records what a judgement rests on for its row there. A journal that cannot be written
//! never changes a verdict; the verdict carries a warning.

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use super::command_env::CommandEnv;
use super::machine_log;
use crate::clock::now;
use crate::notify::delivery::NotificationWorker;
use crate::notify::rules::NotificationRules;
use crate::wire::judgement_events::{probe_row, read_data, rescue_row, snapshot_data};
use watchdog_core::config::settings::NotifyRule;
use watchdog_core::decision::machine::{CheckMachine, MachineAction, MachineEvent};
use watchdog_core::decision::record::JudgementRecord;
use watchdog_facts::verdict::{Reason, Verdict};
use watchdog_store::engine::NewEvent;
use watchdog_store::journal::{kind, new_event};
use watchdog_store::{LocalStore, StoreError};

/// How many events of several judgements are written in one transaction, and the longest time that one waits for it.
const TOGETHER: usize = 256;
const AT_LATEST: Duration = Duration::from_secs(1);

/// Collects the events of many judgements, to write them in one transaction.
pub struct JournalBatcher {
    store: Arc<dyn LocalStore>,
    waiting: Mutex<(Vec<NewEvent>, Instant)>,
}

impl JournalBatcher {
    /// An empty one.
    pub fn new(store: Arc<dyn LocalStore>) -> Self {
        JournalBatcher {
            store,
            waiting: Mutex::new((Vec::new(), Instant::now())),
        }
    }

    fn add(&self, events: Vec<NewEvent>) -> Result<(), StoreError> {
        let mut waiting = self.waiting.lock().expect("mutex poisoned");
        waiting.0.extend(events);
        if waiting.0.len() < TOGETHER && waiting.1.elapsed() < AT_LATEST {
            return Ok(());
        }
        let due = std::mem::take(&mut waiting.0);
        waiting.1 = Instant::now();
        drop(waiting);
        self.store.append(&due, None).map(drop)
    }

    /// Writes what still waits.
    pub fn finish(&self) -> Result<(), StoreError> {
        let due = std::mem::take(&mut self.waiting.lock().expect("mutex poisoned").0);
        if due.is_empty() {
            Ok(())
        } else {
            self.store.append(&due, None).map(drop)
        }
    }
}

/// An event that is told to whoever is notified, and written unless another row of the journal holds it.
struct NoticedEvent {
    event: NewEvent,
    is_written: bool,
}

/// The journal of one command. The journal reports plain readings with the next event that reports
/// a deed, as a part of the verdict's row, so that a quick check costs one write.
pub struct CommandJournal {
    store: Arc<dyn LocalStore>,
    worktree_id: String,
    spec: String,
    notifier: Option<(NotificationRules, NotificationWorker)>,
    batcher: OnceLock<Arc<JournalBatcher>>,
    waiting: Mutex<Vec<NoticedEvent>>,
    /// The last snapshot of this command.
    last_snapshot: Mutex<Option<String>>,
    fault: Mutex<Option<String>>,
}

impl CommandJournal {
    /// A journal for a worktree and spec.
    pub fn new(store: Arc<dyn LocalStore>, worktree_id: &str, spec: &str) -> Self {
        CommandJournal {
            store,
            worktree_id: worktree_id.into(),
            spec: spec.into(),
            notifier: None,
            batcher: OnceLock::new(),
            waiting: Mutex::default(),
            last_snapshot: Mutex::default(),
            fault: Mutex::default(),
        }
    }

    /// The same, which also puts notifications into the outbox and wakes the worker for undelivered ones.
    pub fn telling(
        (worktree_id, spec): (&str, &str),
        root: &Path,
        notify: &[NotifyRule],
        command_env: &CommandEnv,
        store: &Arc<dyn LocalStore>,
    ) -> Arc<Self> {
        let mut journal = CommandJournal::new(Arc::clone(store), worktree_id, spec);
        let notices = NotificationRules::new(notify.to_vec(), root);
        if !notices.is_empty() {
            command_env.notifications.wake(store);
            journal.notifier = Some((notices, command_env.notifications.clone()));
        }
        Arc::new(journal)
    }

    /// Has its events written together with those of other judgements.
    pub fn join(&self, batcher: &Arc<JournalBatcher>) {
        // The first one counts.
        let _ = self.batcher.set(Arc::clone(batcher));
    }

    /// Notes something, to be written with the next [`CommandJournal::write`]. Returns the id of its event.
    pub fn note(&self, kind: &str, data: Value) -> String {
        self.add(kind, data, true)
    }

    /// Notes something that the row of the verdict holds: it is told, and readers of the journal get it from there.
    pub fn tell(&self, kind: &str, data: Value) {
        self.add(kind, data, false);
    }

    /// Writes that a snapshot was made; not again where it is the last one, which still holds everything.
    fn snapshot(&self, name: &str) {
        let mut last_snapshot = self.last_snapshot.lock().expect("mutex poisoned");
        if last_snapshot.as_deref() != Some(name) {
            self.write(kind::SNAPSHOT, snapshot_data(name));
            *last_snapshot = Some(name.to_owned());
        }
    }

    fn add(&self, kind: &str, data: Value, is_written: bool) -> String {
        let event = new_event(now(), &self.worktree_id, Some(&self.spec), kind, data);
        let id = event.id.clone();
        self.waiting
            .lock()
            .expect("mutex poisoned")
            .push(NoticedEvent { event, is_written });
        id
    }

    /// Writes the collected events, and this one. Returns the id of its event.
    pub fn write(&self, kind: &str, data: Value) -> String {
        let id = self.note(kind, data);
        self.flush();
        id
    }

    /// Writes the collected events.
    pub fn flush(&self) {
        let events = std::mem::take(&mut *self.waiting.lock().expect("mutex poisoned"));
        if events.is_empty() {
            return;
        }
        let (events, is_written): (Vec<NewEvent>, Vec<bool>) = events
            .into_iter()
            .map(|noticed| (noticed.event, noticed.is_written))
            .unzip();
        // First the outbox, so that a kill before the journal is written loses no notification.
        if let Some((notices, notifications)) = &self.notifier {
            match notices.offer(self.store.as_ref(), &events, notifications.held_for()) {
                Ok(offered) => notifications.deliver(&self.store, offered),
                Err(error) => self.faulty(&error),
            }
        }
        let mut is_written = is_written.into_iter();
        let events: Vec<NewEvent> = events
            .into_iter()
            .filter(|_| is_written.next() == Some(true))
            .collect();
        if events.is_empty() {
            return;
        }
        // This append has no guarding lease, so it cannot be fenced.
        let written = match self.batcher.get() {
            Some(batcher) => batcher.add(events),
            None => self.store.append(&events, None).map(drop),
        };
        if let Err(error) = written {
            self.faulty(&error);
        }
    }

    fn faulty(&self, error: &StoreError) {
        self.fault
            .lock()
            .expect("mutex poisoned")
            .get_or_insert(error.to_string());
    }

    /// Why something could not be written, if anything could not.
    pub fn fault(&self) -> Option<String> {
        self.fault.lock().expect("mutex poisoned").clone()
    }
}

/// Adds the event for an event of the decision machine. What was only read is told, and written with the verdict; what was done is a row of
/// its own at once.
pub fn record_machine_event(journal: &CommandJournal, event: &MachineEvent) {
    match event {
        // A reused answer is no probe; the journal has it already. Nor is a question that was not asked.
        MachineEvent::Probe(record) if record.stands() || record.withheld => {}
        MachineEvent::Probe(record) => drop(journal.write(kind::PROBE, probe_row(record))),
        MachineEvent::Rescue(Ok(outcome)) => drop(journal.write(kind::RESCUE, rescue_row(outcome))),
        MachineEvent::Snapshot(Ok(Some(name))) => journal.snapshot(name),
        MachineEvent::Interrupt => {
            drop(journal.write(kind::INTERRUPTED, Value::Object(Map::new())))
        }
        event => read_data(event)
            .into_iter()
            .for_each(|(kind, data)| journal.tell(kind, data)),
    }
}

/// Records one judgement at a time.
pub struct JudgementRecorder {
    begun: Instant,
    recorded: Mutex<Option<JudgementRecord>>,
}

impl JudgementRecorder {
    /// Has recorded nothing yet.
    pub fn new() -> Self {
        JudgementRecorder {
            begun: Instant::now(),
            recorded: Mutex::default(),
        }
    }

    /// Takes the next step of the machine; records and logs it. A start begins the record anew.
    pub fn step(&self, machine: &mut CheckMachine, event: MachineEvent) -> MachineAction {
        let mut recorded = self.recorded.lock().expect("mutex poisoned");
        if event == MachineEvent::Start {
            *recorded = Some(JudgementRecord::new(machine.setup().clone()));
        } else if let Some(recorded) = recorded.as_mut() {
            let after = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
            recorded.add(after, event.clone());
        }
        drop(recorded);
        machine_log::step_machine(machine, event)
    }

    /// What was recorded, with what became known after the machine's end: why replies are disputed, and the work beside a claim.
    pub fn finish(&self, concluded: Reason, verdict: &Verdict) -> Option<JudgementRecord> {
        let mut recorded = self.recorded.lock().expect("mutex poisoned").clone()?;
        let mut disputes = verdict.probes.iter().map(|probe| &probe.disputed);
        for step in &mut recorded.steps {
            if let Some(MachineEvent::Probe(probe)) = &mut step.event {
                probe.disputed = disputes.next().cloned().flatten();
            }
        }
        match verdict.reason {
            reason if reason == concluded => {}
            Reason::Disputed if matches!(concluded, Reason::NothingToDo | Reason::Rescued) => {
                recorded.beside = match verdict.helpers.as_slice() {
                    [] => vec!["work inside of a submodule".to_owned()],
                    helpers => helpers.to_vec(),
                };
            }
            _ => recorded.overruled = true,
        }
        Some(recorded)
    }
}
