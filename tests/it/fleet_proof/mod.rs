//! The proof of the fleet: several machines work one queue on a real server while watchdogs are killed, the server is stopped, connections
//! are cut and delayed, and machines stand still for longer than their leases. What happened is recorded by parts that watchdog has no
//! hand in, and a checker reads it.
//!
//! A round is one seed: [`own_server`] runs the database, which writes down each version of each task ([`history`]), [`remote`] the
//! repository that work goes to, which writes down each push; [`machine`] is one of those that work, [`rough_way`] its way to the server;
//! [`faults`] draws what goes wrong, [`round`] plays, [`turn`] keeps rounds apart, [`checker`] decides. [`rounds`] is the test.

use std::path::Path;

use crate::support::{Run, TestEnv};

mod checker;
mod checker_tests;
mod faults;
mod history;
mod machine;
mod own_server;
mod remote;
pub mod rough_way;
mod round;
mod rounds;
mod turn;

/// The watchdog of these tests, or an optimised build of it (scripts/nightly fleet).
fn watchdog(env: &TestEnv, folder: &Path, args: &[&str]) -> Run {
    match std::env::var("WATCHDOG_FLEET_PROGRAM") {
        Ok(program) => env.command(&program, folder).args(args),
        Err(_) => env.watchdog_command(folder, args),
    }
}
