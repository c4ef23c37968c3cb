//! The words of `watchdog task`.

use clap::builder::FalseyValueParser;
use clap::{Args, Subcommand, ValueEnum};

use crate::config::task_file::{TASK_STATUSES, TaskStatus};

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
  watchdog task list                   what is there, where it stands, what waits for what
  watchdog task run T2                 one task, here, until it is complete
  watchdog task work --agents 2        all of them, each agent in a worktree of its own";

/// Arguments of `watchdog task`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct TaskArgs {
    /// What to do
    #[command(subcommand)]
    pub command: TaskCommand,
    /// Say what would be done, and do nothing
    #[arg(long, env = "WATCHDOG_DRY_RUN", value_parser = FalseyValueParser::new(), global = true)]
    pub dry_run: bool,
    /// Also keep `status:` in the tasks' files; every other byte of them stays
    #[arg(long, env = "WATCHDOG_WRITE_BACK", value_parser = FalseyValueParser::new(), global = true)]
    pub write_back: bool,
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
        #[arg(long, value_name = "ROLE", env = "WATCHDOG_ROLE")]
        role: Option<String>,
    },
    /// Set where a task stands; only steps that are allowed are taken
    Set {
        /// The task
        id: String,
        /// Where it stands from now on
        #[arg(value_parser = status)]
        status: TaskStatus,
        /// Why, for those who ask later
        #[arg(long, value_name = "TEXT", env = "WATCHDOG_REASON")]
        reason: Option<String>,
    },
}

/// Arguments of `watchdog task list`.
#[derive(Debug, Args)]
pub struct TaskListArgs {
    /// Only those that stand there; may be given several times
    #[arg(long, value_name = "STATUS", env = "WATCHDOG_STATUS", value_delimiter = ',', value_parser = status)]
    pub status: Vec<TaskStatus>,
    /// Only those that an agent of this role takes
    #[arg(long, value_name = "ROLE", env = "WATCHDOG_ROLE")]
    pub role: Option<String>,
    /// A table, or the dependencies as a picture
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = TaskFormat::Table, env = "WATCHDOG_FORMAT")]
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

fn status(word: &str) -> Result<TaskStatus, String> {
    TaskStatus::from_word(word).ok_or_else(|| {
        let known: Vec<&str> = TASK_STATUSES.iter().map(|(word, _)| *word).collect();
        format!("no task stands at '{word}'; it is one of {}", known.join(", "))
    })
}
