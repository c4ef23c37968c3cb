//! Starts every process, ends process trees, and keeps bounded output.
//!
//! Every process goes through [`builder`]: it leads its own process group, carries the mark of its tree, and its output is read by `drain`.
//! [`program`] runs one to its end, `session_process` shows and logs one that may last for hours, `wait_pid` waits for one that somebody
//! else started. `process_tree` ends all descendants of one: `tree_members` finds them in the table that `watchdog-system` reads, under the
//! lock of `tree_registry`.
//!
//! The first start makes this process a subreaper. From then on it must start everything through here, except children that stay in its
//! own process group: this crate takes an orphan in another group for a part of a tree.

#![warn(missing_docs, unreachable_pub)]

mod alive;
mod ancestry;
pub mod builder;
mod call_log;
mod calling_program;
mod cancel;
mod command_lines;
mod desktop_session;
mod drain;
pub mod git_program;
pub mod headroom;
mod line_program;
mod log_file;
mod masked_log;
mod mirror;
pub mod output;
pub mod own_stdin;
pub mod plain_text;
mod process_tree;
pub mod program;
mod program_search;
pub mod session_meter;
mod session_process;
mod spared_programs;
mod tree_members;
mod tree_registry;
mod wait_pid;
mod working_process;

pub use alive::still_runs;
pub use ancestry::ProcessAncestry;
pub use builder::{StdinSource, start_detached};
pub use call_log::ProgramPurpose;
pub use calling_program::{CallingProgram, calling_program};
pub use cancel::CancelFlag;
pub use command_lines::{CommandLineReader, ProcessCommandLine};
pub use desktop_session::desktop_session;
pub use line_program::{LineAnswer, LineProgram};
pub use log_file::LOG_HEAD;
pub use mirror::{MirrorTarget, TerminalCover};
pub use process_tree::SurvivingProcess;
pub use program::{BoundedOutput, FinishedProgram, ProgramRun, StartError, SurvivorRule};
pub use program_search::{find_program, is_executable, program_in_path, searches_below};
pub use session_process::{
    OutputReader, SessionLaunch, SessionOutcome, SessionProcess, SessionTerms,
};
pub use spared_programs::SparedPrograms;
pub use tree_registry::{become_subreaper, reap_orphans, started_by_a_watchdog};
pub use wait_pid::{PidWaitOutcome, WaitPidError, wait_for_pid};
pub use working_process::{WorkingProcess, read_with_ancestors};
