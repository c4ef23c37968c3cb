//! Handles the end of a session. The host does not wait long: the record of the end comes first, then the snapshot of uncommitted files.

use crate::hooks::{HookInput, HookReply};
use watchdog_facts::evidence::UnreadableFact;
use watchdog_store::journal::kind;
use watchdog_store::{RecordType, hook_session, session, uncommitted};

use super::hook_worktree::{HookWorktree, keep_work, note_snapshot};
use crate::clock::now;
use crate::judge::command_env::CommandEnv;
use crate::judge::configuration::load_effective;
use crate::judge::lost_ignored::find_lost_ignored;
use crate::judge::origins::{keep_judged_head, left_commit_words, recorded_evidence};
use crate::judge::settle_anchor;
use crate::judge::siblings::describe_vanished;
use crate::judge::snapshots::snapshot_helpers;
use crate::wire::hook_events::hook_session_ended_data;

/// Records the end, and takes a snapshot of the uncommitted files.
pub fn end_session(
    command_env: &CommandEnv,
    input: &HookInput,
    hooked: HookWorktree,
) -> Result<HookReply, UnreadableFact> {
    let HookWorktree {
        open,
        session: known,
    } = hooked;
    let store = open.store.as_ref();
    let at = now();
    let spec = known.and_then(|hooked_agent| hooked_agent.spec);
    let recorded_session = match &spec {
        Some(spec) => session::SessionRecord::read_row(store, &open.worktree_id, spec)?
            .map(|session| (spec.clone(), session)),
        None => session::read_latest_session(store, &open.worktree_id)?,
    };
    // A session that watchdog runs ends when watchdog sees its process end; another one does not
    // concern this session.
    let ours = recorded_session.filter(|(_, session)| {
        session.log.is_none()
            && session.session_id == input.session_id
            && session.ended_at.is_none()
    });
    if let Some((spec, _)) = &ours {
        session::update_session(store, &open.worktree_id, spec, |session| {
            session.ended_at = Some(at)
        })?;
        if let Some(note) = settle_anchor::session_ended(store, &open.worktree, spec) {
            command_env.tell(&note.detail);
        }
        let (_, end) = open.worktree.uncommitted_contents()?;
        if let Some(recorded) = open.recorded_baseline(Some(spec))? {
            let at_end = (&end, open.worktree.read_gate_hooks());
            uncommitted::record_session_end(store, &open.worktree_id, spec, recorded.at, at_end)?;
        }
    }
    if let Some(id) = &input.session_id {
        hook_session::forget_session(store, id)?;
    }
    let inner = ours.is_none();
    let spec = ours
        .map(|(spec, _)| spec)
        .or(spec)
        .unwrap_or_else(|| open.worktree.default_spec());
    let data = hook_session_ended_data(input.reason.as_deref(), input.session_id.as_deref(), inner);
    open.note_event(at, Some(&spec), kind::SESSION_ENDED, data)?;

    let baseline = open.recorded_baseline(Some(&spec))?;
    let settings = load_effective(
        command_env,
        &open,
        Some(&spec),
        baseline
            .as_ref()
            .map(|recorded_baseline| &recorded_baseline.point),
    )?
    .settings;
    let request = (spec.as_str(), at, "at the end of a session");
    keep_work(command_env, &open, request, &settings.rescue)?;
    // Last, as the host may wait no longer.
    if let Some(recorded_baseline) = &baseline {
        let evidence = recorded_evidence(&open, recorded_baseline);
        let (left_commits, _) = (open.worktree).keep_submodule_commits(Some(&evidence), at);
        // No verdict may come before git collects what the session left on no branch.
        match (open.worktree).session_commits(&recorded_baseline.point, &evidence) {
            Ok(commits) => keep_judged_head(&open.worktree, &spec, Some(&commits)),
            Err(error) => command_env.tell(&format!(
                "cannot keep the commits that the session left on no branch: {error}"
            )),
        }
        let mut sentences: Vec<String> = left_commits.iter().map(left_commit_words).collect();
        let (work, since) = (&recorded_baseline.work, recorded_baseline.at);
        let lost = find_lost_ignored(&open.worktree, &work.ignored, since, &open.commands);
        sentences.extend(lost.map(|(_, note)| note.detail));
        let recorded = (&work.siblings, since, &evidence);
        sentences.extend(describe_vanished(
            &open.worktree,
            store,
            recorded,
            &open.commands,
        ));
        sentences.iter().for_each(|line| command_env.tell(line));
        let rescue = &settings.rescue;
        let helpers = snapshot_helpers(&open.worktree, &evidence, request, rescue, |_, _| true);
        for taken in &helpers.taken {
            note_snapshot(&open, &spec, taken, at)?;
        }
        helpers.failed.iter().for_each(|why| command_env.tell(why));
    }
    Ok(HookReply::quiet())
}
