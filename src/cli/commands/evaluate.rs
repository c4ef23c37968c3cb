//! `watchdog evaluate`: the way in for any language. Context in, verdict out.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read};
use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::failure::CommandFailure;
use crate::cli::terminal::CommandTerminal;
use watchdog_core::checks::{MAX_CONTEXT_BYTES, context_from_json};
use watchdog_facts::context::SessionContext;
use watchdog_facts::page_address;
use watchdog_judge::judge::command_env::CommandEnv;
use watchdog_judge::judge::judgement_input::Overrides;
use watchdog_judge::modes::evaluate::evaluate_context as judge;

use super::runtime::in_runtime;

/// The text that `--help` shows beside the arguments.
pub const AFTER_HELP: &str = concat!(
    "\
Only the checks are judged: nobody is asked, nothing is committed, no lock is taken, so that it may be called from inside of a \
session as often as one likes. Without checks, commits since the baseline decide. The verdict is JSON unless stdout is a terminal.

  echo '{\"schema\": 1, \"output\": \"All done.\"}' | watchdog evaluate

The JSON Schemas: watchdog schema context, watchdog schema verdict. Examples in Python, TypeScript and Go:
",
    page_address!("evaluate.md")
);

/// Arguments of `watchdog evaluate`.
#[derive(Debug, Args)]
pub struct EvaluateArgs {
    /// The context as JSON: a file, or '-' for stdin
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub context: PathBuf,
    /// A name for the work [default: the context's, that of the recorded baseline, or the branch]
    #[arg(long, value_name = "NAME", env = "WATCHDOG_SPEC")]
    pub spec: Option<String>,
    /// Run all checks and report every failure
    #[arg(long)]
    pub all: bool,
    /// Run commands again that passed before on the same tree
    #[arg(long)]
    pub no_cache: bool,
}

/// Judges the checks against a context. `named` says whether the user named a worktree, which then counts more than the context's.
pub fn run_evaluate_command(
    around: impl FnOnce() -> Result<CommandEnv, CommandFailure>,
    named: bool,
    terminal: &CommandTerminal,
    args: EvaluateArgs,
) -> Result<u8, CommandFailure> {
    let mut context = read_context(&args.context)?;
    let mut command_env = around()?;
    if let Some(worktree) = context.worktree.as_ref().filter(|_| !named) {
        command_env.worktree = PathBuf::from(worktree);
    }
    context.spec = args.spec.or(context.spec);
    let overrides = Overrides {
        every: args.all,
        no_cache: args.no_cache,
        ..Overrides::default()
    };
    let judgement =
        in_runtime(async |signals| judge(&command_env, context, overrides, signals).await)?;
    let for_people = !terminal.json && io::stdout().is_terminal();
    if for_people {
        terminal.verdict(&judgement, false);
    } else {
        terminal.print_object(judgement.to_view().to_line());
    }
    Ok(judgement.exit_code())
}

fn read_context(path: &Path) -> Result<SessionContext, CommandFailure> {
    let hint = "see: watchdog schema context, and watchdog evaluate --help";
    let stdin = path == Path::new("-");
    if stdin && io::stdin().is_terminal() {
        return Err(CommandFailure::usage(
            "the context is read from stdin, and stdin is a terminal",
        )
        .hint(hint));
    }
    let shown = if stdin {
        "stdin".to_string()
    } else {
        path.display().to_string()
    };
    let failed = |error: io::Error| {
        CommandFailure::usage(format!("failed to read the context from {shown}: {error}"))
            .hint(hint)
    };
    let mut bytes = Vec::new();
    let limit = MAX_CONTEXT_BYTES as u64 + 1;
    let taken = if stdin {
        io::stdin().take(limit).read_to_end(&mut bytes)
    } else {
        File::open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes))
    };
    taken.map_err(failed)?;
    let text = String::from_utf8_lossy(&bytes);
    context_from_json(&text).map_err(|error| {
        CommandFailure::usage(format!("the context from {shown} cannot be read: {error}"))
            .hint(hint)
    })
}
