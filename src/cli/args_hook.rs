//! The words of `watchdog hook …`.

use std::time::Duration;

use clap::{Args, Subcommand};

use super::time_span::parse_duration;
use watchdog_judge::hooks::{HookDialect, HookEvent};

const AFTER_HELP: &str = "\
Hooks read JSON on stdin, answer in JSON on stdout and always exit 0: whatever goes wrong here, the agent goes on, and the user is told.

  watchdog hook install                   the hooks of this worktree
  watchdog hook install --user --dry-run  what would change for all
  watchdog hook install --agent codex     those of Codex; also gemini, qwen,
                                          copilot and opencode
  echo '{}' | watchdog hook stop          what the agent would hear";

/// Arguments of `watchdog hook`.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct HookArgs {
    /// The event, or what to do with the settings
    #[command(subcommand)]
    pub command: HookCommand,
}

/// The hooks, and the settings that name them.
#[derive(Debug, Subcommand)]
pub enum HookCommand {
    /// May the agent stop? Held while checks are not met, at most limits.max_stop_blocks times in a row
    Stop(StopArgs),
    /// The same for a sub-agent; it may always stop without --hold
    SubagentStop(StopArgs),
    /// May the agent give structured output? Refused while checks are not met
    PreToolUse(EventArgs),
    /// After structured output: tell what is missing, or end the session; after a command: as prompt-submit
    PostToolUse(PostToolUseArgs),
    /// Tell the agent at a prompt what git and its last test show, where that changed
    PromptSubmit(EventArgs),
    /// Record where the session begins, and tell the agent what done means
    SessionStart(EventArgs),
    /// Record the session's end, and keep what is uncommitted
    SessionEnd(EventArgs),
    /// Keep what is uncommitted in a worktree, and its commits, before it is removed
    WorktreeRemove(EventArgs),
    /// Write the hooks into the agent's settings; everything else there stays
    Install(InstallArgs),
    /// Take them out again
    Uninstall(UninstallArgs),
}

/// What every event takes.
#[derive(Debug, Clone, Args)]
pub struct EventArgs {
    /// Answer within this time, and let the agent go if nothing was judged by then [default: 50s; session-start 10s, session-end 1s]
    #[arg(long, value_name = "DUR", value_parser = parse_duration)]
    pub within: Option<Duration>,
    /// A name for the work [default: what the session began with, or the branch]
    #[arg(long, value_name = "NAME", env = "WATCHDOG_SPEC")]
    pub spec: Option<String>,
    /// The agent that asks, whose words are read and answered
    #[arg(long, value_name = "NAME", value_parser = HookDialect::from_name, default_value = "claude")]
    pub agent: HookDialect,
}

/// Arguments of `watchdog hook stop` and `subagent-stop`.
#[derive(Debug, Args)]
pub struct StopArgs {
    #[command(flatten)]
    pub event: EventArgs,
    /// Hold sub-agents too
    #[arg(long)]
    pub hold: bool,
    /// Hold every session, also one with a person in it that changed nothing
    #[arg(long)]
    pub all_sessions: bool,
}

/// Arguments of `watchdog hook post-tool-use`.
#[derive(Debug, Args)]
pub struct PostToolUseArgs {
    #[command(flatten)]
    pub event: EventArgs,
    /// Let the session go on even where nothing is missing
    #[arg(long)]
    pub no_stop: bool,
}

/// Which settings.
#[derive(Debug, Clone, Copy, Args)]
pub struct SettingsArgs {
    /// Whose hooks: claude, codex, gemini, qwen, copilot or opencode
    #[arg(long, value_name = "NAME", value_parser = HookDialect::from_name, default_value = "claude")]
    pub agent: HookDialect,
    /// Those of this worktree, like .claude/settings.json (the default)
    #[arg(long, conflicts_with = "user")]
    pub project: bool,
    /// Those of all your sessions, like ~/.claude/settings.json
    #[arg(long)]
    pub user: bool,
    /// Show the difference, and change nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// Arguments of `watchdog hook install`.
#[derive(Debug, Args)]
pub struct InstallArgs {
    #[command(flatten)]
    pub settings: SettingsArgs,
    /// Hold sub-agents too (Claude Code alone)
    #[arg(long)]
    pub subagents: bool,
    /// Hold every session, also one with a person in it that changed nothing
    #[arg(long)]
    pub all_sessions: bool,
    /// How long the agent may wait for a judgement; the checks' own commands need this long
    #[arg(long, value_name = "DUR", value_parser = parse_duration, default_value = "10m")]
    pub hook_timeout: Duration,
}

/// Arguments of `watchdog hook uninstall`.
#[derive(Debug, Args)]
pub struct UninstallArgs {
    #[command(flatten)]
    pub settings: SettingsArgs,
}

impl HookCommand {
    /// The event; `None` for what concerns the settings.
    pub fn event(&self) -> Option<(HookEvent, &EventArgs)> {
        match self {
            HookCommand::Stop(args) => Some((HookEvent::Stop, &args.event)),
            HookCommand::SubagentStop(args) => Some((HookEvent::SubagentStop, &args.event)),
            HookCommand::PreToolUse(args) => Some((HookEvent::PreToolUse, args)),
            HookCommand::PostToolUse(args) => Some((HookEvent::PostToolUse, &args.event)),
            HookCommand::SessionStart(args) => Some((HookEvent::SessionStart, args)),
            HookCommand::SessionEnd(args) => Some((HookEvent::SessionEnd, args)),
            HookCommand::PromptSubmit(args) => Some((HookEvent::PromptSubmit, args)),
            HookCommand::WorktreeRemove(args) => Some((HookEvent::WorktreeRemove, args)),
            HookCommand::Install(_) | HookCommand::Uninstall(_) => None,
        }
    }
}
