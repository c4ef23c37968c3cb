//! The smart completion check as a state machine: `step(event) -> action`, a total function of the facts so far.
//!
//! The machine never reads a clock, a file or a process. It requests one thing at a time ([`MachineAction`]),
//! gets its result ([`MachineEvent`]), and ends with [`MachineAction::Conclude`]. It ends after at most
//! `max_probes` probes, whatever the facts are.

mod ask;
mod closing;
mod conclude;
mod criteria;
mod drive;
mod facts;
mod fruitless;
mod rescue;
mod session_end;
mod stage;
mod step;

#[cfg(test)]
mod tests;

pub use drive::{DriveOutcome, MachineDriver, drive_machine};
pub use facts::{
    ChecksResult, ConfigTrust, CriteriaFilesRole, EarlierRounds, JudgementScope, MachineAction,
    MachineEvent, MachineSetup, ProbePause, SurvivorFacts, UnaskedCause,
};
pub use step::CheckMachine;
