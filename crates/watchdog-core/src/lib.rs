//! The pure core: what was asked, what follows from the facts, and the criteria of completion. No file, process, clock or network.
//!
//! Reading order: [`config`] (`completion.json` as types), [`decision`] (the machine that asks for one fact after the other and concludes
//! with a verdict, the circuit breaker, the course of a loop), [`checks`] (criteria; what they need from outside is a trait).

#![warn(missing_docs, unreachable_pub)]

pub mod checks;
pub mod config;
pub mod decision;
