//! Records what a judgement rests on while it is judged, for its row in the journal: the setup of the machine, and each event that it gets.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Instant;

use watchdog_core::decision::machine::{CheckMachine, MachineAction, MachineEvent};
use watchdog_core::decision::record::JudgementRecord;
use watchdog_facts::verdict::{Reason, Verdict};

use super::machine_log;

/// What was recorded of one judgement.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedFacts {
    /// The setup and the facts.
    pub record: JudgementRecord,
    /// The steps that are rows of their own in the journal, each with its event's id.
    pub rows: BTreeMap<usize, String>,
}

/// Records one judgement at a time.
pub struct JudgementRecorder {
    begun: Instant,
    recorded: Mutex<Option<RecordedFacts>>,
    /// The id of the row that was just written for the event which the machine gets next.
    written: Mutex<Option<String>>,
}

impl JudgementRecorder {
    /// Has recorded nothing yet.
    pub fn new() -> Self {
        JudgementRecorder {
            begun: Instant::now(),
            recorded: Mutex::default(),
            written: Mutex::default(),
        }
    }

    /// The event which the machine gets next is a row of its own in the journal.
    pub fn written(&self, id: Option<String>) {
        *self.written.lock().expect("mutex poisoned") = id;
    }

    /// Takes the next step of the machine; records and logs it. A start begins the record anew.
    pub fn step(&self, machine: &mut CheckMachine, event: MachineEvent) -> MachineAction {
        let row = self.written.lock().expect("mutex poisoned").take();
        let mut recorded = self.recorded.lock().expect("mutex poisoned");
        if event == MachineEvent::Start {
            *recorded = Some(RecordedFacts {
                record: JudgementRecord::new(machine.setup().clone()),
                rows: BTreeMap::new(),
            });
        } else if let Some(recorded) = recorded.as_mut() {
            let after = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
            row.into_iter()
                .for_each(|id| drop(recorded.rows.insert(recorded.record.steps.len(), id)));
            recorded.record.add(after, event.clone());
        }
        drop(recorded);
        machine_log::step(machine, event)
    }

    /// What was recorded, with what became known after the machine's end: why replies are disputed, and the work beside a claim.
    pub fn finish(&self, concluded: Reason, verdict: &Verdict) -> Option<RecordedFacts> {
        let mut recorded = self.recorded.lock().expect("mutex poisoned").clone()?;
        let mut disputes = verdict.probes.iter().map(|probe| &probe.disputed);
        for step in &mut recorded.record.steps {
            if let Some(MachineEvent::Probe(probe)) = &mut step.event {
                probe.disputed = disputes.next().cloned().flatten();
            }
        }
        match verdict.reason {
            reason if reason == concluded => {}
            Reason::Disputed => {
                recorded.record.beside = match verdict.helpers.as_slice() {
                    [] => vec!["work inside of a submodule".to_owned()],
                    helpers => helpers.to_vec(),
                };
            }
            _ => recorded.record.overruled = true,
        }
        Some(recorded)
    }
}
