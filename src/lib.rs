//! The judge that any agent loop can call: decides from git whether a coding agent's session is complete, still running,
//! stalled, or done but never committed.
//!
//! # Theory of operation
//!
//! A check is a conversation. [`CheckMachine`](watchdog_core::decision::machine::CheckMachine) requests one thing at a time: read the
//! commits, take a snapshot, probe the agent, rescue, wait. The room `judge` has the adapters do it and returns the result, until the
//! machine concludes with a [`Verdict`](watchdog_facts::verdict::Verdict). The machine is a total function of its facts. An unreadable
//! fact is a value of its own, so that it is never taken for zero.
//!
//! Git is the source of truth: commits made here since the baseline, with a net change, complete a session. Only where there are none does
//! watchdog probe the agent, rescue uncommitted work and, at the very end, count a strike in the
//! [circuit breaker](watchdog_core::decision::breaker).
//!
//! # The rooms, in reading order
//!
//! A program that judges by itself begins at [`embed`]; its four calls are here at the top, too.
//!
//! The crates below: `watchdog-facts` ← `watchdog-core` (configuration, machine, checks), `watchdog-git`, `watchdog-process` ←
//! `watchdog-store`, `watchdog-agent` ← `watchdog-judge`: `watch` (an adapter) ← `rescue`, `session`, `tasks`, `hooks`, `notify` ←
//! `judge` (drives the machine) ← `modes` (each use of it). All JSON that leaves has its shape in `wire`, which lies below `notify`; the fleet's is in its crate.
//! `watchdog-fleet` (several machines), `watchdog-view` (the records, gathered, and the live view) ← here: `cli` (words in, words out).

#![warn(missing_docs)]

pub mod embed;

// The rooms behind the front door. The hidden ones are public for the binary, the tests and the benchmarks alone, and change without
// notice.

#[doc(hidden)]
pub mod cli;

pub use embed::{
    CheckBuilder, EvaluateBuilder, Judgement, RecordedBaseline, Refusal, RescueBuilder,
    RescueReport, SessionContext, SnapshotBuilder, check, evaluate, rescue, snapshot,
};
