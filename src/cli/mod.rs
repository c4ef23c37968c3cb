//! WORDS IN, WORDS OUT. Arguments, output, exit codes; one file per command.

mod amounts;
mod args;
mod args_task;
mod commands;
mod failure;
mod program;
mod terminal;

pub use program::main;
