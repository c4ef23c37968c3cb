//! `watchdog snapshot`: records and prints the baseline.

use serde_json::json;

use crate::cli::args::SnapshotArgs;
use crate::cli::failure::CommandFailure;
use crate::cli::terminal::CommandTerminal;

use super::from_session::PrivilegedCommand;
use crate::session::{UncommittedRule, note_conversations, record, spec_of_new_session};
use crate::store::journal::{event, kind};
use crate::supervisor::{CommandEnv, OpenWorktree, accept_criteria, between_sessions, effective, now, session_begins};

/// Records HEAD as the baseline of the spec, and prints it.
pub fn snapshot(command_env: &CommandEnv, terminal: &CommandTerminal, args: SnapshotArgs) -> Result<u8, CommandFailure> {
    let place = OpenWorktree::open(command_env)?;
    let (store, worktree_id) = (place.store.as_ref(), place.worktree_id.as_str());
    let privileged = PrivilegedCommand { command: "watchdog snapshot", store, worktree_id, from_session: args.from_session };
    privileged.allow()?;
    let at = now();
    let spec = spec_of_new_session(place.store.as_ref(), &place.worktree, args.spec.as_deref())?;
    between_sessions(&place, Some(&spec), at)?;
    let head = place.worktree.head()?;
    let effective = effective(command_env, &place, Some(&spec), Some(&head));
    let uncommitted = if args.adopt { UncommittedRule::Adopt } else { UncommittedRule::Inherit };
    let recorded = record(place.store.as_ref(), &place.worktree, Some(&spec), uncommitted, at)?;
    if args.accept_criteria {
        accept_criteria(command_env, &place, &recorded)?;
        privileged.note(json!({"accepted": recorded.point.as_str(), "spec": recorded.spec}))?;
    } else {
        match effective {
            Ok(effective) => drop(session_begins(&place, &recorded, effective)?),
            // Where a session begins is worth a record all the same; whoever judges will say it again.
            Err(unreadable) => terminal.complain(&format!("watchdog: {}", crate::decision::display::escape_to_one_line(&unreadable.why))),
        }
    }
    note_conversations(place.store.as_ref(), (&place.worktree_id, &recorded.spec), (place.root(), &command_env.claude_home), recorded.at)?;
    let noted = event(recorded.at, &place.worktree_id, Some(&recorded.spec), kind::BASELINE, json!({"baseline": recorded.point.as_str()}));
    // Nothing guards this append, so it cannot be fenced.
    let _done = place.store.append(&[noted], None)?;
    for note in place.notes.iter().chain(&recorded.notes).chain(&place.worktree.served_note()) {
        terminal.complain(&format!("watchdog: {} ({})", crate::decision::display::escape_to_one_line(&note.detail), note.code));
    }
    if terminal.json {
        terminal.value(&json!({
            "schema": 1,
            "baseline": recorded.point.as_str(),
            "worktree": place.root().display().to_string(),
            "spec": recorded.spec,
            "branch": place.worktree.branch(),
            "refs": recorded.refs.tips()?.iter().filter(|(name, _)| name.starts_with("refs/")).count(),
            "inherited": recorded.work.inherited.len(),
            "at": recorded.at.to_string(),
        }));
    } else {
        terminal.line(recorded.point.as_str());
    }
    Ok(0)
}
