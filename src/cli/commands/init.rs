//! `watchdog init`: a first completion.json, trusted because its author asked for it.

use std::io::Write as _;

use super::from_session::PrivilegedCommand;
use crate::cli::args::InitArgs;
use crate::cli::failure::CommandFailure;
use crate::cli::terminal::CommandTerminal;
use crate::judge::command_env::CommandEnv;
use crate::judge::configuration::FILE as CONFIGURATION_FILE;
use crate::wire::setup_json::written_json;
use crate::wire::trust_json::PersonDeed;
use watchdog_facts::verdict::Reason;
use watchdog_git::Worktree;
use watchdog_store::trust::TrustStore;
use watchdog_store::{open_store, uncommitted};

/// Everything in it is the default, so that it changes nothing until it is edited.
const FIRST: &str = r#"{
  "version": 1,
  "completion_check": {"max_probes": 5, "probe_interval_seconds": 30, "probe_timeout_seconds": 60, "final_rescue_attempt": true},
  "agent": {"preset": "claude", "model": "sonnet"},
  "rescue": {"mode": "plan", "exclude": [".env"]},
  "breaker": {"limit": 3, "cooldown_seconds": 1800},
  "checks": []
}
"#;

/// Writes the file and trusts it; with `--cron`, prints instead what has the system sweep.
pub fn init(command_env: &CommandEnv, terminal: &CommandTerminal, args: InitArgs) -> Result<u8, CommandFailure> {
    if args.cron {
        return super::cron::cron(command_env, terminal, &args.paths);
    }
    let worktree = Worktree::open(&command_env.worktree)?;
    command_env.state.ensure()?;
    let records = open_store(&command_env.state)?;
    let worktree_id = worktree.worktree_id();
    let privileged =
        PrivilegedCommand { command: "watchdog init", store: records.as_ref(), worktree_id: &worktree_id, from_session: args.from_session };
    privileged.allow()?;
    let path = worktree.root().join(CONFIGURATION_FILE);
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(args.force).create_new(!args.force);
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => CommandFailure::usage(format!("{} is there already", path.display()))
            .hint("allow it as it is with 'watchdog trust', or replace it with --force"),
        _ => CommandFailure::new(Reason::ConfigError, format!("failed to write {}: {error}", path.display())),
    };
    options.open(&path).and_then(|mut file| file.write_all(FIRST.as_bytes())).map_err(failed)?;
    note_own_file(command_env, &worktree, CONFIGURATION_FILE);
    let store = TrustStore::new(&command_env.state);
    let grant = super::trust::allow(&worktree, &store, &path, CONFIGURATION_FILE.as_ref(), FIRST.as_bytes())?;
    super::trust::move_anchors(command_env, &worktree, CONFIGURATION_FILE.as_ref(), Some(FIRST.as_bytes()))?;
    privileged.note(&PersonDeed::Trusted { path: CONFIGURATION_FILE.as_ref(), hash: &grant.hash })?;
    if terminal.json {
        terminal.value(&written_json(&path, &grant.hash));
    } else {
        terminal.line(&format!("wrote {}; it holds the defaults and is trusted", path.display()));
        terminal.line("edit it, allow the new bytes with 'watchdog trust', and commit it");
    }
    Ok(0)
}

/// Notes that watchdog wrote this file itself, so that it is nobody's work. Where that cannot be noted, it counts like any other file.
pub(super) fn note_own_file(command_env: &CommandEnv, worktree: &Worktree, path: &str) {
    let Ok(store) = open_store(&command_env.state) else { return };
    let _ = uncommitted::wrote(store.as_ref(), &worktree.worktree_id(), path, &worktree.content_id(path));
}
