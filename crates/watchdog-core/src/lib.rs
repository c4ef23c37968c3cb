//! The pure core: the configuration, the decision, and the criteria of completion. No file, process, clock or network.
//!
//! Reading order: [`config`] (`completion.json` as types), [`decision`] (the machine that requests one fact after the other and concludes
//! with a verdict, the circuit breaker, the state machine of a loop), [`checks`] (criteria; their system access is a trait).

#![warn(missing_docs, unreachable_pub)]

pub mod checks;
pub mod config;
pub mod decision;

#[cfg(test)]
mod sample_facts;
