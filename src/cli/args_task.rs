//! The words of `watchdog task`.

use std::ffi::OsString;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use super::args_loop::prompt_variable;
use super::args_session::SessionArgs;
use super::preset_value::PresetValueParser;
use super::time_span::parse_duration;
use watchdog_core::config::PresetName;
use watchdog_core::config::task_file::{TASK_STATUSES, TaskStatus};

const AFTER_HELP: &str = "\
A task is a markdown file in .watchdog/tasks/ (or .tanuki/tasks/, or tasks.dir of completion.json):

  ---
  id: T2
  title: Log in with a password
  priority: high                # critical, high, medium (default), low
  role: backend                 # which agents take it; none = any
  depends_on: [T1]
  completion:
    verify: npm test            # needs: watchdog trust .watchdog/tasks/T2.md
    max_iterations: 10
  ---
  What is to be done. This text is the agent's prompt.

Start here:
  watchdog task list             where each stands
  watchdog task run T2           one task, here, until it is complete
  watchdog task work --agents 2  all, each agent in a worktree";

/// Arguments of `watchdog task`.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct TaskArgs {
    /// What to do
    #[command(subcommand)]
    pub command: TaskCommand,
    /// Say what would be done, and do nothing
    #[arg(long, global = true)]
    pub dry_run: bool,
    /// Also keep `status:` in the tasks' files; every other byte of them stays
    #[arg(long, global = true)]
    pub write_back: bool,
}

impl TaskArgs {
    /// `--agent-program`, where the command has it.
    pub fn agent_program(&self) -> Option<OsString> {
        match &self.command {
            TaskCommand::Run(args) => args.work.agent_program.clone(),
            TaskCommand::Work(args) => args.work.agent_program.clone(),
            _ => None,
        }
    }
}

/// What to do with tasks.
#[derive(Debug, Subcommand)]
pub enum TaskCommand {
    /// List the tasks: where each stands, who has it, what it waits for
    List(TaskListArgs),
    /// Show one task: its text, its checks, and what came of it
    Show {
        /// The task
        id: String,
    },
    /// Print the id of the task that comes next
    Next {
        /// For an agent of this role
        #[arg(long, value_name = "ROLE")]
        role: Option<String>,
    },
    /// Run one task, here, until it is complete or something ends it
    Run(TaskRunArgs),
    // No doc comment: rustdoc takes `<task>` for HTML.
    #[command(
        about = "Work on all tasks: each agent in a worktree of its own, on the branch watchdog/<task>"
    )]
    Work(AgentPoolArgs),
    /// Set the status of a task; a complete one becomes pending again with --reason
    Set {
        /// The task
        id: String,
        /// Where it stands from now on
        #[arg(value_parser = parse_status)]
        status: TaskStatus,
        /// Why; required to reopen a complete task
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        /// Allow this inside a watched session
        #[arg(long)]
        from_session: bool,
    },
}

/// What `task run` and `task work` have in common.
#[derive(Debug, Args)]
#[command(mut_arg("timeout", |arg| arg.help("End a session, and everything that it started, after this time")))]
pub struct TaskWorkArgs {
    /// A known agent, started by its own words; CMD is then further arguments for it
    #[arg(long, value_name = "AGENT", value_parser = PresetValueParser)]
    pub agent: Option<PresetName>,
    /// Put VALUE in for {{NAME}} in the text of a task; may be given several times
    #[arg(long = "var", value_name = "NAME=VALUE", value_parser = prompt_variable)]
    pub vars: Vec<(String, String)>,
    /// How long a task stays taken when nobody renews that: after a crash it is pending again so soon
    #[arg(long, value_name = "DUR", value_parser = parse_lease, default_value = "60s")]
    pub lease: Duration,
    /// Where a fleet shares the repository: how long a push of finished work is tried again while the remote is away
    #[arg(long, value_name = "DUR", value_parser = parse_duration, default_value = "60s")]
    pub push_retry: Duration,
    /// Ask a person after N sessions in a row that left the work as it was; 0 never does
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub no_progress: u32,
    /// Wait for a usage limit only if it ends within this time; for an overloaded service, at most so long
    #[arg(long, value_name = "DUR", value_parser = parse_duration, default_value = "6h")]
    pub max_wait: Duration,
    #[command(flatten)]
    pub session: SessionArgs,
    /// Show the sessions' output (on stderr); it is in their logs in any case
    #[arg(long)]
    pub show_output: bool,
    /// Never probe the agent; decide from git and checks alone
    #[arg(long)]
    pub no_probe: bool,
    /// The agent's program, where it is not in PATH under its usual name
    #[arg(long, value_name = "PROGRAM", env = "WATCHDOG_AGENT_PROGRAM")]
    pub agent_program: Option<OsString>,
    /// The session: a program and its arguments, the prompt on its stdin or as {prompt}; with --agent, further arguments
    // After `--` only: a task's id or another flag must not be taken for the program.
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

/// Arguments of `watchdog task run`.
#[derive(Debug, Args)]
pub struct TaskRunArgs {
    /// The task
    pub id: String,
    /// Under this name; that of an agent in completion.json also says how it is started
    #[arg(long = "as", value_name = "NAME")]
    pub name: Option<String>,
    #[command(flatten)]
    pub work: TaskWorkArgs,
}

/// Arguments of `watchdog task work`.
#[derive(Debug, Args)]
pub struct AgentPoolArgs {
    /// So many agents at a time [default: those of completion.json, else 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub agents: Option<u16>,
    /// Wait for further tasks when nothing is left, until Ctrl-C
    #[arg(long)]
    pub stay: bool,
    #[command(flatten)]
    pub work: TaskWorkArgs,
}

/// Shorter leases would end while a busy machine does something else.
fn parse_lease(text: &str) -> Result<Duration, String> {
    let lease = parse_duration(text)?;
    let fits = (Duration::from_secs(1)..=Duration::from_secs(86_400)).contains(&lease);
    if fits {
        Ok(lease)
    } else {
        Err("a lease takes from 1s to 24h".into())
    }
}

/// Arguments of `watchdog task list`.
#[derive(Debug, Args)]
pub struct TaskListArgs {
    /// Only those that stand there; may be given several times
    #[arg(long, value_name = "STATUS", value_delimiter = ',', value_parser = parse_status)]
    pub status: Vec<TaskStatus>,
    /// Only those that an agent of this role takes
    #[arg(long, value_name = "ROLE")]
    pub role: Option<String>,
    /// A table, or the dependencies as a picture
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = TaskFormat::Table)]
    pub format: TaskFormat,
}

/// How tasks are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TaskFormat {
    /// A table
    Table,
    /// A graph for Graphviz
    Dot,
    /// A graph for Mermaid
    Mermaid,
}

fn parse_status(word: &str) -> Result<TaskStatus, String> {
    TaskStatus::from_word(word).ok_or_else(|| {
        let status_words: Vec<&str> = TASK_STATUSES.iter().map(|(word, _)| *word).collect();
        format!(
            "unknown status '{word}'; expected one of {} (todo, doing and done are read as well)",
            status_words.join(", ")
        )
    })
}
