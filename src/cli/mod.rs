//! WORDS IN, WORDS OUT. Arguments, output, exit codes; one file per command.

mod args;
mod failure;
mod terminal;

/// x
pub fn main() -> std::process::ExitCode { std::process::ExitCode::SUCCESS }
