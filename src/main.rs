//! The `watchdog` binary. Everything is in the library.

use std::process::ExitCode;

/// That of musl gives memory back to the system, and asks for it again, at each turn.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    completion_watchdog::cli::main()
}
