//! Only duct. Starts every process, ends process trees, keeps bounded output; asks agents about themselves and reads their replies.
//!
//! Every process goes through [`builder`]: it leads its own process group, carries the mark of its tree, and its output is read by `drain`.
//! [`program`] runs one to its end, [`session_process`] shows and logs one that may last for hours, [`wait_pid`] waits for one that somebody else
//! started. [`process_tree`] ends all that descends from one; who that is is judged in `process_lineage`, from the table that `process_table` reads, under the
//! lock of [`tree_registry`].
//!
//! The first start makes this process a subreaper. It must then start everything through here, but for children that stay in its own
//! process group: an orphan in another group is taken for a part of a tree.

mod alive;
mod ancestry;
pub mod builder;
mod call_log;
pub mod cancel;
mod drain;
pub mod envelope;
mod failure;
pub mod git_program;
pub mod headroom;
mod line_program;
mod log_file;
mod mirror;
mod output;
pub mod overload;
pub mod own_stdin;
mod plain_text;
pub mod plan_prompt;
pub mod presets;
pub mod probe;
mod process_lineage;
mod process_table;
pub mod process_tree;
pub mod program;
pub mod prompt;
pub mod reply;
pub mod reply_claims;
mod reply_doubt;
mod reply_fields;
mod reply_json;
mod reply_scan;
mod reset_time;
pub mod session_command;
pub mod session_meter;
pub mod session_process;
pub mod stream;
pub mod transcript;
pub mod transcript_read;
mod tree_mark;
pub mod tree_registry;
pub mod unrunnable;
pub mod usage_limit;
pub mod wait_pid;

pub use alive::still_runs;
pub use ancestry::ProcessAncestry;
pub use builder::StdinSource;
pub use call_log::ProgramPurpose;
pub use cancel::CancelFlag;
pub use line_program::{LineAnswer, LineProgram};
pub use mirror::OutputMirror;
pub use process_tree::SurvivingProcess;
pub use program::{BoundedOutput, FinishedProgram, LeftoverRule, ProgramRun, StartError};
pub use session_command::{ConversationChoice, SessionCommand, SessionWorker};
pub use session_process::{SessionOutcome, SessionProcess, SessionSpec};
pub use tree_registry::{become_subreaper, reap_orphans, started_by_a_watchdog};
pub use wait_pid::{PidEnd, WaitPidError, wait_for_pid};
