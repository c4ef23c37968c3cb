//! The `watchdog` binary. Everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    completion_watchdog::cli::main()
}
