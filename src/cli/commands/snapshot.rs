//! `watchdog snapshot`: records and prints the baseline.

use crate::cli::args::SnapshotArgs;
use crate::cli::failure::CommandFailure;
use crate::cli::terminal::CommandTerminal;
use watchdog_judge::judge::command_env::CommandEnv;
use watchdog_judge::judge::open_worktree::{OpenWorktree, require_usable_git, unusable_note};
use watchdog_judge::modes::record_baseline::BaselineOptions;
use watchdog_judge::modes::record_baseline::record_baseline;
use watchdog_judge::wire::baseline_json::NewBaseline;
use watchdog_judge::wire::trust_json::PersonDeed;

use super::from_session::PrivilegedCommand;

/// Records HEAD as the baseline of the spec, and prints it.
pub fn run_snapshot_command(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    args: SnapshotArgs,
) -> Result<u8, CommandFailure> {
    let open = OpenWorktree::open(command_env)?;
    let (store, worktree_id) = (open.store.as_ref(), open.worktree_id.as_str());
    let privileged = PrivilegedCommand {
        command: "watchdog snapshot",
        store,
        worktree_id,
        from_session: args.from_session,
    };
    privileged.allow()?;
    let options = BaselineOptions {
        spec: args.spec,
        adopt: args.adopt,
        accept_criteria: args.accept_criteria,
    };
    // If HEAD cannot be read, the record fails as well: a missing branch then does not mean a
    // detached HEAD.
    let branch = open.worktree.branch();
    let (recorded, unread) = record_baseline(command_env, &open, &options)?;
    if args.accept_criteria {
        privileged.note(&PersonDeed::Accepted {
            baseline: recorded.point.as_str(),
            spec: &recorded.spec,
        })?;
    }
    if let Some(unreadable) = unread {
        terminal.complain_of(&unreadable.why);
    }
    let fault = require_usable_git(&open.worktree).err().map(unusable_note);
    let notes = recorded.notes.iter().chain(&fault);
    for note in notes.chain(&open.worktree.served_note()) {
        terminal.complain_of_note(note);
    }
    if terminal.json {
        terminal.print_answer(&NewBaseline {
            baseline: recorded.point.as_str(),
            worktree: open.root().display().to_string(),
            spec: &recorded.spec,
            branch: branch.as_deref(),
            refs: recorded
                .refs
                .tips()?
                .iter()
                .filter(|(name, _)| name.starts_with("refs/"))
                .count(),
            inherited: recorded.work.inherited.len(),
            at: recorded.at,
        });
    } else {
        terminal.line(recorded.point.as_str());
    }
    Ok(0)
}
