//! WORDS IN, WORDS OUT. Arguments, output, exit codes; one file per command.

mod amounts;
mod args;
mod args_forget;
mod args_global;
mod args_hook;
mod args_judge;
mod args_loop;
mod args_report;
mod args_rescue;
mod args_session;
mod args_silence;
mod args_status;
mod args_sweep;
mod args_task;
mod args_watch;
mod command_line;
mod commands;
mod examples;
mod exit;
mod failure;
mod help;
mod live_view;
mod log_lines;
mod log_writer;
mod logging;
mod news;
mod program;
mod prompts;
mod reader;
mod result_output;
mod scarcity;
mod table;
mod terminal;
mod time_span;
mod version;

pub use program::main;
