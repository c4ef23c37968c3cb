//! Several machines: what they share on a PostgreSQL server, behind the trait that the machine's own database implements too, and what a
//! machine of a fleet does.
//!
//! - [`connection_settings`]: where the server is and how to reach it, from an address and libpq's environment variables.
//! - [`FleetServer`]: one connection, made again after a break, with a deadline for every call.
//! - [`migrations`]: makes and migrates the tables; refuses those of a newer program.
//! - [`machines`]: who joined, and what a look at the server tells.
//! - [`accounts`]: usage limits that the machines of one account share.
//! - [`FleetStore`]: rows, leases and events.
//! - [`FleetTasks`]: the tasks of a repository that several machines work on.
//! - [`event_pruning`]: how much is kept, and how old events go.
//! - [`event_stream`]: the events of all machines, read back and followed.
//! - [`member`]: joining and leaving, copies to the server and back, and the fleet as the judge asks for it.
//! - [`wire`]: the JSON shapes.
//! - [`FleetError`]: what went wrong, why, and what to do; never with a password.
//!
//! Everything blocks, for at most [`CALL_DEADLINE`]; nothing may be called on the thread of an event loop.

#![warn(missing_docs, unreachable_pub)]

pub mod accounts;
mod call_deadlines;
pub mod connection_settings;
mod end_point;
pub mod event_pruning;
pub mod event_stream;
mod fleet_error;
pub mod machines;
pub mod member;
pub mod migrations;
mod pass_file;
mod server;
mod shared_store;
mod shown_events;
mod table_format;
mod task_sql;
mod task_table;
mod tls;
pub mod wire;

pub use call_deadlines::CALL_DEADLINE;
pub use fleet_error::FleetError;
pub use server::FleetServer;
pub use shared_store::FleetStore;
/// The SQL of a claim and a step, for measuring the same without this program.
#[doc(hidden)]
pub use task_sql::{CLAIM as CLAIM_STATEMENT, STEP as STEP_STATEMENT};
pub use task_table::FleetTasks;
