//! `watchdog rescue`: salvages now; lists, shows, brings back and drops snapshots.

use serde_json::json;

use crate::agent::{CancelFlag, transcript};
use crate::cli::amounts::grouped;
use crate::cli::args_rescue::{RescueArgs, RescueCommand};
use crate::cli::failure::CommandFailure;
use crate::cli::terminal::CommandTerminal;
use crate::config::settings::{ConfigSettings, RescueMode, RescueSettings};
use crate::decision::display::{escape_to_one_line, plural};
use crate::decision::evidence::RescueOutcome;
use crate::decision::verdict::Reason;
use crate::git::{RestoreTarget, Snapshot, SnapshotRequest};
use crate::rescue;
use crate::session::recorded;
use crate::store::journal::{event, kind};
use crate::store::session as sessions;
use crate::supervisor::{
    CommandEnv, CommitPlanner, EffectiveConfig, LockedWorktree, OpenWorktree, effective, expire, now, remember_rescued,
};

use super::probe::with_interrupt;
use super::snapshots::{LISTED, RestorePlace, SHOWN, drop_one, id_of, left_out_json, list, restore, show, show_left_out, show_more};

/// Salvages, or does what the subcommand says.
pub fn rescue(command_env: &CommandEnv, terminal: &CommandTerminal, args: RescueArgs) -> Result<u8, CommandFailure> {
    let place = OpenWorktree::open(command_env)?;
    match args.command {
        None => rescue_now(command_env, terminal, place, args.spec, args.dry_run),
        Some(RescueCommand::List { spec }) => list(terminal, &place, spec.or(args.spec).as_deref()),
        Some(RescueCommand::Show { id, stat }) => show(terminal, &place, &id, stat),
        Some(RescueCommand::Restore { id, branch, into, linked, .. }) => {
            let target = match (branch, into, linked) {
                (Some(branch), ..) => RestorePlace::Here(RestoreTarget::Branch(branch)),
                (None, Some(folder), _) => RestorePlace::Here(RestoreTarget::Directory(folder)),
                (None, None, Some(folder)) => RestorePlace::LinkedWorktree(folder),
                (None, None, None) => RestorePlace::Here(RestoreTarget::Automatic),
            };
            restore(command_env, terminal, &place, &id, target)
        }
        Some(RescueCommand::Drop { id }) => drop_one(terminal, &place, &id),
    }
}

fn rescue_now(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    place: OpenWorktree,
    spec: Option<String>,
    dry_run: bool,
) -> Result<u8, CommandFailure> {
    let _lock = match place.claim(command_env, "watchdog rescue", false)? {
        LockedWorktree::Ours(lock) => lock,
        LockedWorktree::Taken(verdict) => return Err(CommandFailure::new(verdict.reason, verdict.message)),
    };
    let latest = recorded(&place.store, &place.worktree_id, spec.as_deref())?;
    let spec = spec.or(latest.as_ref().map(|latest| latest.spec.clone())).unwrap_or_else(|| place.worktree.default_spec());
    let EffectiveConfig { settings, notes, .. } = effective(command_env, &place, None, latest.as_ref().map(|latest| &latest.point))?;
    for note in notes {
        terminal.tell(&format!("watchdog: {} ({})", escape_to_one_line(&note.detail), note.code));
    }
    let code = salvage_as(command_env, terminal, &place, &spec, &settings, dry_run);
    if !dry_run && let Err(why) = expire(&place.worktree, place.store.as_ref(), settings.rescue.keep_days) {
        terminal.complain(&format!("watchdog: old snapshots could not be dropped: {}", escape_to_one_line(&why)));
    }
    code
}

fn salvage_as(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    place: &OpenWorktree,
    spec: &str,
    settings: &ConfigSettings,
    dry_run: bool,
) -> Result<u8, CommandFailure> {
    let changes = place.worktree.changes()?;
    if !changes.any() {
        return Ok(nothing(terminal));
    }
    if dry_run {
        return preview(terminal, place, &settings.rescue);
    }
    let request = SnapshotRequest { spec, at: now(), why: "asked for by watchdog rescue" };
    let Some(snapshot) = place.worktree.take_snapshot_with_private(&request, &rescue::private_rule(&settings.rescue))? else {
        return Ok(nothing(terminal));
    };
    let outcome = match settings.rescue.mode {
        RescueMode::Snapshot | RescueMode::Off => RescueOutcome { left_out: snapshot.left_out.clone(), ..RescueOutcome::default() },
        RescueMode::Plan | RescueMode::Single | RescueMode::Command => commit(command_env, place, settings, spec, &snapshot)?,
    };
    let noted = event(
        now(),
        &place.worktree_id,
        Some(spec),
        kind::RESCUE,
        json!({"snapshot": snapshot.name, "commits": outcome.commits, "branch": outcome.fallback_branch, "failed": outcome.failed}),
    );
    if place.store.append(&[noted], None).is_err() {
        terminal.complain("watchdog: the rescue could not be written into the journal");
    }
    report(terminal, &snapshot, &outcome)
}

/// Commits by mode; in `plan` the agent is asked, for as long as nobody presses Ctrl-C.
fn commit(
    command_env: &CommandEnv,
    place: &OpenWorktree,
    settings: &ConfigSettings,
    spec: &str,
    snapshot: &Snapshot,
) -> Result<RescueOutcome, CommandFailure> {
    let session = sessions::of(place.store.as_ref(), &place.worktree_id, spec)?.and_then(|session| session.session_id);
    let planner = CommitPlanner {
        command_env,
        agent: &settings.agent,
        root: place.root(),
        session_id: session.as_deref(),
        expected_session: transcript::latest_session(place.root(), &command_env.claude_home).map(|found| found.session_id),
        timeout: settings.rescue.timeout,
        begun: now(),
        spent: std::sync::Mutex::default(),
    };
    let cancel = CancelFlag::new();
    let ask = |prompt: &str, attempt: u32| {
        with_interrupt(&cancel, || planner.ask(prompt, attempt, &cancel))
            .unwrap_or_else(|failure| Err(rescue::NoPlan::Unavailable { why: failure.message }))
    };
    let request = rescue::RescueRequest { settings: &settings.rescue, spec, snapshot, others: &rescue::NO_OTHERS };
    let mut outcome = rescue::rescue_asking(&place.worktree, &request, Some(&ask))?;
    remember_rescued(place.store.as_ref(), &place.worktree, &mut outcome);
    Ok(outcome)
}

fn nothing(terminal: &CommandTerminal) -> u8 {
    if terminal.json {
        terminal.value(&json!({"schema": 1, "snapshot": null, "commits": 0, "branch": null, "left_out": [], "failed": null, "lost": []}));
    } else {
        terminal.line("nothing to rescue: no uncommitted changes");
    }
    0
}

fn preview(terminal: &CommandTerminal, place: &OpenWorktree, settings: &RescueSettings) -> Result<u8, CommandFailure> {
    let preview = rescue::preview(&place.worktree, settings)?;
    if preview.chosen.is_empty() && preview.left_out.is_empty() {
        return Ok(nothing(terminal));
    }
    if terminal.json {
        terminal.value(&json!({"schema": 1, "dry_run": true, "would_commit": preview.chosen.iter().take(LISTED).collect::<Vec<_>>(),
                               "would_commit_count": preview.chosen.len(), "left_out": left_out_json(&preview.left_out),
                               "left_out_count": preview.left_out.len(), "refused": preview.refused}));
        return Ok(0);
    }
    terminal.line(&format!("would commit {}:", plural(preview.chosen.len() as u64, "file")));
    for path in preview.chosen.iter().take(SHOWN) {
        terminal.line(&format!("  {}", escape_to_one_line(path)));
    }
    show_more(terminal, preview.chosen.len());
    show_left_out(terminal, &preview.left_out);
    if let Some(why) = &preview.refused {
        terminal.line(&format!("but nothing would be committed: {}", escape_to_one_line(why)));
    }
    Ok(0)
}

fn report(terminal: &CommandTerminal, snapshot: &Snapshot, outcome: &RescueOutcome) -> Result<u8, CommandFailure> {
    let restore = format!("watchdog rescue restore {}", id_of(&snapshot.name));
    let ok = outcome.failed.is_none() && outcome.lost.is_empty();
    if terminal.json {
        let warnings = outcome.warnings.iter().map(|warning| json!({"code": warning.code, "detail": warning.detail})).collect::<Vec<_>>();
        terminal.value(&json!({"schema": 1, "snapshot": snapshot.name, "commits": outcome.commits, "branch": outcome.fallback_branch,
                               "failed": outcome.failed,
                               "lost": outcome.lost, "left_out": left_out_json(&outcome.left_out), "left_out_count": outcome.left_out.len(), "warnings": warnings, "restore": restore}));
    } else {
        terminal.line(&format!("{} made; everything is kept in {}", plural(outcome.commits, "commit"), snapshot.name));
        show_left_out(terminal, &outcome.left_out);
        for warning in &outcome.warnings {
            terminal.line(&format!("  note: {}", escape_to_one_line(&warning.detail)));
        }
        if let Some(why) = &outcome.failed {
            terminal.complain(&format!("watchdog: not committed: {}", crate::decision::display::escape_for_display(why)));
        }
        if let Some(branch) = &outcome.fallback_branch {
            terminal.complain(&format!("watchdog: the work is on the branch {} instead", escape_to_one_line(branch)));
        }
        for path in outcome.lost.iter().take(SHOWN) {
            terminal.complain(&format!("watchdog: neither in HEAD nor in the work tree: {}", escape_to_one_line(path)));
        }
        if outcome.lost.len() > SHOWN {
            terminal.complain(&format!("watchdog: and {} more", grouped((outcome.lost.len() - SHOWN) as u64)));
        }
        if !ok {
            terminal.complain(&format!("  bring it back with: {restore}"));
        }
    }
    Ok(if ok { 0 } else { Reason::RescueIncomplete.status().exit_code() })
}
