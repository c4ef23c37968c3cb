//! Handles the start or the resumption of a session: records its baseline once, and tells the agent what completion means.

use jiff::Timestamp;

use crate::hooks::{HookAction, HookEvent, HookInput, HookReply};
use crate::rescue::BEFORE_SESSION;
use crate::session::{AnewBy, UncommittedRule, begin_anew, record_head_baseline, record_lives};
use watchdog_core::checks::describe_checks;
use watchdog_core::config::settings::{ConfigSettings, OnNoCriteria, RescueSettings};
use watchdog_core::decision::machine::ConfigTrust;
use watchdog_facts::evidence::{UnreadableFact, WarningCode};
use watchdog_process::{calling_program, still_runs};
use watchdog_store::RecordType;
use watchdog_store::hook_session::{self, HookedAgent};
use watchdog_store::journal::kind;
use watchdog_store::session::{self, SessionRecord};
use watchdog_store::uncommitted;

use super::hook_worktree::{HookRequest, HookWorktree, keep_work};
use super::removal::describe_removed;
use crate::clock::now;
use crate::judge::before_session::keep_beside;
use crate::judge::command_env::CommandEnv;
use crate::judge::configuration::{EffectiveConfig, load_effective};
use crate::judge::open_worktree::{OpenWorktree, require_usable_git, unusable_note};
use crate::judge::settle_anchor;
use crate::judge::snapshots::describe_gaps;
use crate::wire::hook_events::hook_session_started_data;
use crate::wire::judgement_events::baseline_data;

/// Records the beginning, and says what completion means.
pub fn begin_session(
    command_env: &CommandEnv,
    request: &HookRequest,
    input: &HookInput,
    hooked: HookWorktree,
) -> Result<HookReply, UnreadableFact> {
    let HookWorktree {
        open,
        session: earlier,
    } = hooked;
    let store = open.store.as_ref();
    let at = now();
    let pid = request
        .host
        .pid
        .filter(|_| request.host.session_id == input.session_id)
        .or_else(find_caller);
    let active = find_active_session(store, &open.worktree_id, pid)?;
    // Only a new session gets a new baseline. A resumed, cleared or compacted session keeps its baseline, and so does one inside another.
    let fresh = active.is_none() && input.source.as_deref().unwrap_or("startup") == "startup";
    let anew = if fresh {
        begin_anew(store, &open.worktree, AnewBy::Command, &open.commands)?
    } else {
        None
    };
    let named = request
        .spec
        .clone()
        .or_else(|| earlier.and_then(|earlier| earlier.spec));
    let spec = active.as_ref().map(|(spec, _)| spec.clone()).or(named);
    let before = open.recorded_baseline(spec.as_deref())?;
    let mut recorded = match before {
        Some(mut before) if !fresh => {
            if active.is_none() && before.work.end.is_some() {
                let (_, now) = open.worktree.uncommitted_contents()?;
                before.work.resume(&now);
                uncommitted::change_work(
                    store,
                    &open.worktree_id,
                    &before.spec,
                    before.at,
                    |work| work.resume(&now),
                )?;
            }
            before
        }
        _ => {
            settle_anchor::between_sessions(&open, spec.as_deref(), at)?;
            let recorded = record_head_baseline(
                store,
                &open.worktree,
                spec.as_deref(),
                UncommittedRule::Inherit,
                at,
            )?;
            command_env.note_conversations(&open, &recorded, open.root())?;
            open.note_event(
                at,
                Some(&recorded.spec),
                kind::BASELINE,
                baseline_data(&recorded.point),
            )?;
            recorded
        }
    };
    match &active {
        Some((spec, session)) => {
            record_session_id(store, &open.worktree_id, spec, session, input, pid)?
        }
        None => {
            let agent = Some(request.dialect.as_str().to_owned());
            let session = SessionRecord {
                session_id: input.session_id.clone(),
                pid,
                agent,
                ..SessionRecord::began(at)
            };
            session.write_row(store, &open.worktree_id, &recorded.spec)?;
        }
    }
    if let Some(id) = &input.session_id {
        hook_session::expire_sessions(store, at)?;
        let hooked_agent = HookedAgent {
            pid,
            ..HookedAgent::new(open.root().to_owned(), Some(recorded.spec.clone()), at)
        };
        hooked_agent.write_row(store, id, hook_session::MAIN)?;
    }
    let data = hook_session_started_data(
        pid,
        input.session_id.as_deref(),
        input.source.as_deref(),
        active.is_some(),
    );
    open.note_event(at, Some(&recorded.spec), kind::SESSION_STARTED, data)?;
    let effective = load_effective(
        command_env,
        &open,
        Some(&recorded.spec),
        Some(&recorded.point),
    )?;
    let effective = if fresh {
        settle_anchor::session_begins(&open, &recorded, effective)?
    } else {
        effective
    };
    // A resumed session has a snapshot from its start; the outer session takes the snapshots of an inner one.
    let unkept = if active.is_none() {
        snapshot_uncommitted(
            command_env,
            &open,
            &recorded.spec,
            &effective.settings.rescue,
            at,
        )
        .err()
    } else {
        None
    };
    // A host may end a hook that waits for other worktrees.
    if fresh {
        let settings = &effective.settings.rescue;
        keep_beside(command_env, &open, &mut recorded, settings);
    }
    let reply = what_done_means(&effective);
    let unkept = unkept.map(|why| format!("watchdog: what is uncommitted could not be kept in a snapshot before the session: {why}"));
    let anew = anew.map(|note| format!("watchdog: {}", note.detail));
    let unusable = require_usable_git(&open.worktree).err().map(unusable_note);
    let unusable = unusable.map(|note| format!("watchdog: {}", note.detail));
    // What cannot be read is no reason to withhold the rest.
    let removed = describe_removed(&open, at).ok().flatten();
    let removed = removed.map(|sentence| format!("watchdog: {sentence}"));
    let message = [removed, reply.message.clone(), unusable, unkept, anew]
        .into_iter()
        .flatten()
        .reduce(|first, more| format!("{first}; {more}"));
    Ok(HookReply { message, ..reply })
}

/// Takes a snapshot of the uncommitted files before an agent may disturb them. A hook cannot refuse a session, so the user sees a warning
/// where that fails.
fn snapshot_uncommitted(
    command_env: &CommandEnv,
    open: &OpenWorktree,
    spec: &str,
    settings: &RescueSettings,
    at: Timestamp,
) -> Result<(), UnreadableFact> {
    let taken = keep_work(command_env, open, (spec, at, BEFORE_SESSION), settings)?;
    let Some(taken) = taken else { return Ok(()) };
    if let Some(sentence) = describe_gaps(&taken) {
        command_env.tell(&sentence);
    }
    Ok(taken.require_all_read()?)
}

/// The session that already runs in this worktree, where it is not this very process's own: that of `watchdog run` or of another agent.
fn find_active_session(
    store: &dyn watchdog_store::LocalStore,
    worktree_id: &str,
    pid: Option<u32>,
) -> Result<Option<(String, SessionRecord)>, UnreadableFact> {
    let latest = session::read_latest_session(store, worktree_id)?;
    Ok(latest.filter(|(_, session)| {
        // Only watchdog itself keeps a log: then the process is the session that it runs, be it this one.
        record_lives(session) && (session.log.is_some() || session.pid != pid)
    }))
}

/// Records the agent's id with the running session, unless it has one that still runs: probes ask that one, and not an agent inside it.
fn record_session_id(
    store: &dyn watchdog_store::LocalStore,
    worktree_id: &str,
    spec: &str,
    session: &SessionRecord,
    input: &HookInput,
    pid: Option<u32>,
) -> Result<(), UnreadableFact> {
    let other_id = session
        .session_id
        .as_deref()
        .filter(|id| Some(*id) != input.session_id.as_deref());
    let other_runs = match other_id {
        Some(id) => HookedAgent::read_row(store, id, hook_session::MAIN)?.is_some_and(|hooked| {
            hooked.pid != pid
                && hooked
                    .pid
                    .is_some_and(|pid| still_runs(pid, hooked.last_event_at))
        }),
        None => false,
    };
    // A session that only hooks know belongs to its own agent alone.
    if !other_runs && session.log.is_some() {
        session::update_session(store, worktree_id, spec, |session| {
            session.session_id.clone_from(&input.session_id)
        })?;
    }
    Ok(())
}

/// The program that called the hook, past the shell that a host puts between, which ends at once.
fn find_caller() -> Option<u32> {
    let parent = || {
        rustix::process::getppid().and_then(|pid| u32::try_from(pid.as_raw_nonzero().get()).ok())
    };
    calling_program().map(|program| program.pid).or_else(parent)
}

/// The text for the agent, and the one for the user.
fn what_done_means(effective: &EffectiveConfig) -> HookReply {
    let mut notes: Vec<String> = effective
        .notes
        .iter()
        .filter(|note| note.code != WarningCode::Untrusted)
        .map(|note| note.detail.clone())
        .collect();
    if let ConfigTrust::Untrusted { allow_with } = &effective.trust {
        notes.insert(0, format!("completion.json is not trusted, so its checks will not run; read it, then allow it with: {allow_with}"));
    }
    let message = (!notes.is_empty()).then(|| format!("watchdog: {}", notes.join("; ")));
    let act = match &effective.file {
        // Without criteria it would be advice: a user may have said not to commit.
        None => HookAction::Nothing,
        Some(_) => HookAction::Inform {
            event: HookEvent::SessionStart,
            context: describe_completion(&effective.settings),
        },
    };
    HookReply { act, message }
}

fn describe_completion(settings: &ConfigSettings) -> String {
    let done = describe_checks(settings);
    if !done.is_empty() {
        return format!(
            "watchdog judges the work in this worktree when you stop. Done means {done}\n\
             Do not stop, and do not say that the work is done, before this holds. What is missing will be told to you."
        );
    }
    match settings.on_no_criteria {
        OnNoCriteria::Git => {
            "watchdog judges the work in this worktree by its commits: what you changed is done once it is committed.".into()
        }
        OnNoCriteria::Review => "A person will judge the work in this worktree. Commit what you changed.".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::begin::*;
    use watchdog_facts::evidence::Degradation;

    #[test]
    fn agent_hears_completion_terms_and_user_hears_problems() {
        let settled = EffectiveConfig::without_file();
        assert_eq!(what_done_means(&settled), HookReply::quiet());
        let settled = EffectiveConfig {
            file: Some("{}".into()),
            ..settled
        };
        let reply = what_done_means(&settled);
        assert!(
            matches!(&reply.act, HookAction::Inform { context, .. } if context.contains("committed")),
            "{reply:?}"
        );
        assert_eq!(reply.message, None);
        let untrusted = EffectiveConfig {
            trust: ConfigTrust::Untrusted {
                allow_with: "watchdog trust".into(),
            },
            notes: vec![
                Degradation::new(WarningCode::Untrusted, "x"),
                Degradation::new(WarningCode::CriteriaChanged, "changed"),
            ],
            ..settled
        };
        let message = what_done_means(&untrusted)
            .message
            .expect("the user is told");
        assert!(
            message.starts_with("watchdog: completion.json is not trusted")
                && message.ends_with("watchdog trust; changed"),
            "{message}"
        );
    }
}
