//! Records what a judgement rests on while it is judged, for its row in the journal: the setup of the machine, and each event that it gets.

use std::sync::Mutex;
use std::time::Instant;

use watchdog_core::decision::machine::{CheckMachine, MachineAction, MachineEvent};
use watchdog_core::decision::record::JudgementRecord;
use watchdog_facts::verdict::{Reason, Verdict};

use super::machine_log;

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
        machine_log::step(machine, event)
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
            Reason::Disputed => {
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
