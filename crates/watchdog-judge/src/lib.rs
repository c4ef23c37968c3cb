//! The judge and its uses: sessions, rescue, hooks, tasks, loops and sweeps, without a command line and without a terminal.
//!
//! `docs/ARCHITECTURE.md` has the rooms by height. The crate is public for the program `watchdog` and changes without notice; a program
//! that judges by itself begins at `completion_watchdog::embed`.

pub mod clock;
pub mod hooks;
pub mod judge;
pub mod modes;
pub mod notify;
pub mod rescue;
pub mod session;
pub mod tasks;
pub mod watch;
pub mod wire;
