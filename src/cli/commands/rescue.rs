//! `watchdog rescue`: salvages now; lists, shows, brings back and drops snapshots.

use serde_json::{Value, json};

use crate::agent::{Cancel, transcript};
use crate::cli::args::{RescueArgs, RescueCommand};
use crate::cli::failure::Failure;
use crate::cli::terminal::Terminal;
use crate::config::settings::{RescueMode, RescueSettings, Settings};
use crate::decision::display::{escape_to_one_line, plural};
use crate::decision::evidence::{LeftOut, RescueOutcome};
use crate::decision::verdict::Reason;
use crate::git::{RestoreError, RestoreTarget, RestoredTo, Snapshot, SnapshotInfo, SnapshotKind, SnapshotPath, SnapshotRequest};
use crate::rescue;
use crate::session::recorded;
use crate::store::journal::{event, kind};
use crate::store::session as sessions;
use crate::supervisor::{Claim, Governing, Place, Planner, Surroundings, governing, now};

use super::probe::with_interrupt;

/// Salvages, or does what the subcommand says.
pub fn rescue(surroundings: &Surroundings, terminal: &Terminal, args: RescueArgs) -> Result<u8, Failure> {
    let place = Place::open(surroundings)?;
    match args.command {
        None => salvage(surroundings, terminal, place, args.spec, args.dry_run),
        Some(RescueCommand::List) => list(terminal, &place, args.spec.as_deref()),
        Some(RescueCommand::Show { id }) => show(terminal, &place, &id),
        Some(RescueCommand::Restore { id, branch, into }) => {
            let target = match (branch, into) {
                (Some(branch), _) => RestoreTarget::Branch(branch),
                (None, Some(folder)) => RestoreTarget::Directory(folder),
                (None, None) => RestoreTarget::Automatic,
            };
            restore(surroundings, terminal, &place, &id, target)
        }
        Some(RescueCommand::Drop { id }) => drop_one(terminal, &place, &id),
    }
}

fn salvage(surroundings: &Surroundings, terminal: &Terminal, place: Place, spec: Option<String>, dry_run: bool) -> Result<u8, Failure> {
    let _lock = match place.claim(surroundings, "watchdog rescue", false)? {
        Claim::Ours(lock) => lock,
        Claim::Taken(verdict) => return Err(Failure::new(verdict.reason, verdict.message)),
    };
    let latest = recorded(place.store.as_ref(), &place.worktree_id, spec.as_deref())?;
    let spec = spec.or(latest.as_ref().map(|latest| latest.spec.clone())).unwrap_or_else(|| place.worktree.default_spec());
    let Governing { settings, notes, .. } = governing(surroundings, &place.worktree, latest.as_ref().map(|latest| &latest.point))?;
    for note in notes {
        terminal.tell(&format!("watchdog: {} ({})", escape_to_one_line(&note.detail), note.code));
    }
    let changes = place.worktree.changes()?;
    if !changes.any() {
        return Ok(nothing(terminal));
    }
    let request = SnapshotRequest { spec: &spec, at: now(), why: "asked for by watchdog rescue" };
    let Some(snapshot) = place.worktree.take_snapshot(&request)? else { return Ok(nothing(terminal)) };
    if dry_run {
        return preview(terminal, &place, &settings.rescue, &snapshot);
    }
    let outcome = match settings.rescue.mode {
        RescueMode::Snapshot | RescueMode::Off => RescueOutcome { left_out: snapshot.left_out.clone(), ..RescueOutcome::default() },
        RescueMode::Plan | RescueMode::Single | RescueMode::Command => commit(surroundings, &place, &settings, &spec, &snapshot)?,
    };
    let noted = event(
        now(),
        &place.worktree_id,
        Some(&spec),
        kind::RESCUE,
        json!({"snapshot": snapshot.name, "commits": outcome.commits, "branch": outcome.elsewhere, "failed": outcome.failed}),
    );
    if place.store.append(&[noted], None).is_err() {
        terminal.complain("watchdog: the rescue could not be written into the journal");
    }
    report(terminal, &snapshot, &outcome)
}

/// Commits by mode; in `plan` the agent is asked, for as long as nobody presses Ctrl-C.
fn commit(
    surroundings: &Surroundings,
    place: &Place,
    settings: &Settings,
    spec: &str,
    snapshot: &Snapshot,
) -> Result<RescueOutcome, Failure> {
    let session = sessions::of(place.store.as_ref(), &place.worktree_id, spec)?.and_then(|session| session.session_id);
    let planner = Planner {
        surroundings,
        agent: &settings.agent,
        root: place.root(),
        session_id: session.as_deref(),
        expected_session: transcript::latest_session(place.root(), &surroundings.claude_home).map(|found| found.session_id),
        timeout: settings.rescue.timeout,
        begun: now(),
    };
    let cancel = Cancel::new();
    let ask = |prompt: &str, attempt: u32| {
        with_interrupt(&cancel, || planner.ask(prompt, attempt, &cancel))
            .unwrap_or_else(|failure| Err(rescue::NoPlan::Unavailable { why: failure.message }))
    };
    let request = rescue::Request { settings: &settings.rescue, spec, snapshot };
    Ok(rescue::rescue_asking(&place.worktree, &request, Some(&ask))?)
}

fn nothing(terminal: &Terminal) -> u8 {
    if terminal.json {
        terminal.value(&json!({"schema": 1, "snapshot": null, "commits": 0, "branch": null, "left_out": [], "failed": null, "lost": []}));
    } else {
        terminal.line("nothing to rescue: no uncommitted changes");
    }
    0
}

fn preview(terminal: &Terminal, place: &Place, settings: &RescueSettings, snapshot: &Snapshot) -> Result<u8, Failure> {
    let preview = rescue::preview(&place.worktree, settings, snapshot)?;
    // What is previewed is read from a snapshot; one that was taken only for that leaves no trace.
    if !snapshot.reused {
        place.worktree.drop_snapshot(id_of(&snapshot.name)).map_err(refused)?;
    }
    if terminal.json {
        terminal.value(&json!({"schema": 1, "dry_run": true, "would_commit": preview.chosen, "left_out": left_out_json(&preview.left_out),
                               "refused": preview.refused}));
        return Ok(0);
    }
    terminal.line(&format!("would commit {}:", plural(preview.chosen.len() as u64, "file")));
    for path in &preview.chosen {
        terminal.line(&format!("  {}", escape_to_one_line(path)));
    }
    show_left_out(terminal, &preview.left_out);
    if let Some(why) = &preview.refused {
        terminal.line(&format!("but nothing would be committed: {}", escape_to_one_line(why)));
    }
    Ok(0)
}

fn report(terminal: &Terminal, snapshot: &Snapshot, outcome: &RescueOutcome) -> Result<u8, Failure> {
    let restore = format!("watchdog rescue restore {}", id_of(&snapshot.name));
    let ok = outcome.failed.is_none() && outcome.lost.is_empty();
    if terminal.json {
        let warnings = outcome.warnings.iter().map(|warning| json!({"code": warning.code, "detail": warning.detail})).collect::<Vec<_>>();
        terminal.value(&json!({"schema": 1, "snapshot": snapshot.name, "commits": outcome.commits, "branch": outcome.elsewhere,
                               "failed": outcome.failed,
                               "lost": outcome.lost, "left_out": left_out_json(&outcome.left_out), "warnings": warnings, "restore": restore}));
    } else {
        terminal.line(&format!("{} made; everything is kept in {}", plural(outcome.commits, "commit"), snapshot.name));
        show_left_out(terminal, &outcome.left_out);
        for warning in &outcome.warnings {
            terminal.line(&format!("  note: {}", escape_to_one_line(&warning.detail)));
        }
        if let Some(why) = &outcome.failed {
            terminal.complain(&format!("watchdog: not committed: {}", crate::decision::display::escape_for_display(why)));
        }
        if let Some(branch) = &outcome.elsewhere {
            terminal.complain(&format!("watchdog: the work is on the branch {} instead", escape_to_one_line(branch)));
        }
        for path in &outcome.lost {
            terminal.complain(&format!("watchdog: neither in HEAD nor in the work tree: {}", escape_to_one_line(path)));
        }
        if !ok {
            terminal.complain(&format!("  bring it back with: {restore}"));
        }
    }
    Ok(if ok { 0 } else { Reason::RescueIncomplete.status().exit_code() })
}

fn list(terminal: &Terminal, place: &Place, spec: Option<&str>) -> Result<u8, Failure> {
    let snapshots = place.worktree.snapshots(spec)?;
    if terminal.json {
        terminal.value(&json!({"schema": 1, "snapshots": snapshots.iter().map(info_json).collect::<Vec<_>>()}));
        return Ok(0);
    }
    if snapshots.is_empty() {
        terminal.line("no snapshots");
    }
    for info in &snapshots {
        terminal.line(&format!(
            "{}  {:.0}  {} files, {} bytes  {}",
            escape_to_one_line(&info.id),
            info.at,
            info.files,
            info.bytes,
            escape_to_one_line(&info.why)
        ));
    }
    Ok(0)
}

fn show(terminal: &Terminal, place: &Place, id: &str) -> Result<u8, Failure> {
    let Some(info) = place.worktree.snapshots(None)?.into_iter().find(|info| info.id == id || info.name == id) else {
        return Err(refused(RestoreError::Unknown { id: id.into() }));
    };
    let paths = place.worktree.snapshot_paths(&info.commit)?;
    if terminal.json {
        let mut value = info_json(&info);
        value["schema"] = json!(1);
        value["paths"] = json!(
            paths.iter().map(|path| json!({"path": path.text, "change": change_word(path), "bytes": path.bytes})).collect::<Vec<_>>()
        );
        terminal.value(&value);
        return Ok(0);
    }
    let branch = info.branch.as_deref().unwrap_or("(detached)");
    terminal.line(&format!(
        "{} of spec '{}', taken {:.0} on {}: {}",
        info.name,
        escape_to_one_line(&info.spec),
        info.at,
        branch,
        escape_to_one_line(&info.why)
    ));
    for path in &paths {
        terminal.line(&format!("  {:<8} {}", change_word(path), escape_to_one_line(&path.text)));
    }
    terminal.line(&format!("see the contents with: git diff {0}^ {0}", &info.commit[..12]));
    Ok(0)
}

fn restore(surroundings: &Surroundings, terminal: &Terminal, place: &Place, id: &str, target: RestoreTarget) -> Result<u8, Failure> {
    let _lock = match place.claim(surroundings, "watchdog rescue restore", false)? {
        Claim::Ours(lock) => lock,
        Claim::Taken(verdict) => return Err(Failure::new(verdict.reason, verdict.message)),
    };
    let restored = place.worktree.restore(id, target).map_err(refused)?;
    let noted = event(now(), &place.worktree_id, None, kind::RESTORE, json!({"snapshot": id}));
    if place.store.append(&[noted], None).is_err() {
        terminal.complain("watchdog: the restore could not be written into the journal");
    }
    let (word, to) = match &restored.to {
        RestoredTo::WorkTree { .. } => ("work_tree", place.root().display().to_string()),
        RestoredTo::Branch(name) => ("branch", name.clone()),
        RestoredTo::Directory(path) => ("directory", path.display().to_string()),
    };
    if terminal.json {
        terminal.value(&json!({"schema": 1, "restored": id, "to": word, "where": to, "files": restored.files,
                               "left_out": left_out_json(&restored.left_out), "note": restored.note}));
        return Ok(0);
    }
    terminal.line(&match &restored.to {
        RestoredTo::WorkTree { index: true } => format!("{} files are back in the work tree, the index as it was", restored.files),
        RestoredTo::WorkTree { index: false } => format!("{} files are back in the work tree", restored.files),
        RestoredTo::Branch(name) => format!("everything is on the new branch {name}; look at it with: git switch {name}"),
        RestoredTo::Directory(path) => format!("{} files are in {}", restored.files, path.display()),
    });
    if let Some(note) = &restored.note {
        terminal.line(&format!("  note: {}", escape_to_one_line(note)));
    }
    show_left_out(terminal, &restored.left_out);
    Ok(0)
}

fn drop_one(terminal: &Terminal, place: &Place, id: &str) -> Result<u8, Failure> {
    let dropped = place.worktree.drop_snapshot(id).map_err(refused)?;
    if terminal.json {
        terminal.value(&json!({"schema": 1, "dropped": dropped.id, "commit": dropped.commit}));
    } else {
        terminal.line(&format!("dropped {}; until git collects garbage it is still there as {}", dropped.id, dropped.commit));
    }
    Ok(0)
}

fn change_word(path: &SnapshotPath) -> &'static str {
    match path.kind {
        SnapshotKind::Deleted => "deleted",
        SnapshotKind::Submodule => "submodule",
        SnapshotKind::File if path.untracked => "new",
        SnapshotKind::File => "changed",
    }
}

fn refused(error: RestoreError) -> Failure {
    match error {
        RestoreError::Git(error) => error.into(),
        RestoreError::Unknown { .. } => Failure::usage(error.to_string()),
        other => Failure::new(Reason::RescueIncomplete, other.to_string()).hint("name another place with --branch NAME or --to DIR"),
    }
}

fn id_of(name: &str) -> &str {
    name.strip_prefix("refs/watchdog/rescue/").unwrap_or(name)
}

fn info_json(info: &SnapshotInfo) -> Value {
    json!({"id": info.id, "ref": info.name, "commit": info.commit, "spec": info.spec, "at": info.at.to_string(), "why": info.why,
           "branch": info.branch, "worktree": info.worktree, "files": info.files, "bytes": info.bytes})
}

fn left_out_json(left_out: &[LeftOut]) -> Vec<Value> {
    left_out.iter().map(|left| json!({"path": left.path, "why": left.why})).collect()
}

fn show_left_out(terminal: &Terminal, left_out: &[LeftOut]) {
    for left in left_out {
        terminal.line(&format!("  left out: {} ({})", escape_to_one_line(&left.path), left.why));
    }
}
