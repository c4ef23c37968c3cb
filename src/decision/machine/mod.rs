//! The smart completion check as a state machine: `step(event) -> action`, a total function of the facts so far.
//!
//! The machine never reads a clock, a file or a process. It asks for one thing at a time ([`Action`]),
//! is told what came of it ([`Event`]), and ends with [`Action::Conclude`]. It ends after at most
//! `max_probes` questions to the agent, whatever the facts are.

mod ask;
mod closing;
mod conclude;
mod criteria;
mod facts;
mod fruitless;
mod salvage;
mod stage;
mod step;

#[cfg(test)]
mod tests;

pub use facts::{Action, ChecksJudged, CriteriaFiles, Earlier, Event, Pause, Scope, Setup, Survivors, Trust};
pub use step::Machine;
