//! The judge that any agent loop can call: tells from git whether a coding agent's session is complete, still running,
//! stalled, or done but never committed.
//!
//! # Theory of operation
//!
//! A check is a conversation. [`CheckMachine`](watchdog_core::decision::machine::CheckMachine) asks for one thing at a time (read the commits, take a
//! snapshot, ask the agent, rescue, wait), the [`judge`] has it done by the adapters and hands the outcome back,
//! until the machine concludes with a [`Verdict`](watchdog_facts::verdict::Verdict). The machine is a total function of the facts it was
//! given; a fact that could not be read is a value of its own, so nothing unreadable is ever taken for zero.
//!
//! Git is the source of truth: commits made here since the baseline, with a net change, complete a session. Only when
//! there are none is the agent asked, uncommitted work rescued, and, at the very end, a strike counted by the
//! [circuit breaker](watchdog_core::decision::breaker).
//!
//! # The rooms, in reading order
//!
//! A program that judges by itself begins at [`embed`]; its four calls are here at the top, too.
//!
//! The crates below, each embeddable by itself: `watchdog-facts` ← `watchdog-core` (configuration, machine, checks), `watchdog-git`,
//! `watchdog-process` ← `watchdog-store`. Here: [`agent`], [`watch`] (adapters) ← [`mod@rescue`], [`session`], [`tasks`], [`hooks`],
//! [`notify`] ← [`judge`] (drives the machine) ← [`modes`] (each use of it) ← [`report`] (what the records tell) ← [`cli`] (words in, words out).

pub mod agent;
pub mod watch;

pub mod hooks;
pub mod rescue;
pub mod session;
pub mod tasks;

pub mod clock;
pub mod judge;
pub mod modes;
pub mod notify;
pub mod wire;

pub mod report;

pub mod embed;

pub mod cli;

pub use embed::{
    CheckBuilder, EvaluateBuilder, Judgement, RecordedBaseline, Refusal, RescueBuilder, RescueReport, SessionContext, SnapshotBuilder,
    check, evaluate, rescue, snapshot,
};
