//! `watchdog rescue`: takes a snapshot of everything uncommitted, then commits it as the configuration says.

use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use watchdog_agent::probe::ProbeRequest;

use crate::rescue::{self, PlanError, RescuePreview};
use watchdog_core::config::settings::{ConfigSettings, RescueMode};
use watchdog_facts::evidence::{Degradation, HeldRescue, RescueOutcome, WarningCode};
use watchdog_git::Snapshot;
use watchdog_process::CancelFlag;
use watchdog_store::RecordType;
use watchdog_store::journal::kind;
use watchdog_store::session as sessions;

use crate::clock::now;
use crate::judge::command_env::CommandEnv;
use crate::judge::configuration::{EffectiveConfig, load_effective};
use crate::judge::criteria_files::refused_rescue_script;
use crate::judge::open_worktree::{OpenWorktree, unusable_note};
use crate::judge::origins::remember_rescued;
use crate::judge::planner::PlannerAgent;
use crate::judge::refusal::Refusal;
use crate::judge::rescue_gate::{GatedWorktree, RescueFacts, work_mark};
use crate::judge::session_agent::settings_for;
use crate::judge::session_life::WorktreeLife;
use crate::judge::sightings::RescueGate;
use crate::judge::snapshots::expire;
use crate::wire::judgement_events::manual_rescue_data;

/// The result of a rescue.
#[derive(Debug)]
pub enum RescueReport {
    /// The worktree had no uncommitted work.
    Nothing,
    /// A preview of the commits; nothing was changed.
    Preview(RescuePreview),
    /// Everything is in the snapshot, and what could be is committed.
    Rescued {
        /// The snapshot.
        snapshot: Box<Snapshot>,
        /// The commits, and the paths that were left out.
        outcome: Box<RescueOutcome>,
    },
}

/// The options of a rescue.
#[derive(Debug, Clone, Default)]
pub struct RescueOptions {
    /// The name of the work; by default that of the recorded baseline, or the branch.
    pub spec: Option<String>,
    /// Say what would be committed, and change nothing.
    pub dry_run: bool,
}

/// How to ask the agent for a plan of the commits, and how to cancel that: only the caller knows of signals.
pub type CommitPlanSource<'a> =
    &'a dyn Fn(&PlannerAgent<'_>, &str, u32) -> Result<Map<String, Value>, PlanError>;

/// Rescues the uncommitted files. Returns warnings for a person as well.
///
/// # Errors
/// Fails if the worktree could not be read, or another process works on it.
pub fn rescue_now(
    command_env: &CommandEnv,
    open: &OpenWorktree,
    options: &RescueOptions,
    ask: CommitPlanSource<'_>,
) -> Result<(RescueReport, Vec<Degradation>), Refusal> {
    let _lock = open.lock(command_env, "watchdog rescue", false)?;
    let latest = open.recorded_baseline(options.spec.as_deref())?;
    let spec = options
        .spec
        .clone()
        .unwrap_or_else(|| open.spec_or_default(latest.as_ref()));
    let config = load_effective(
        command_env,
        open,
        None,
        latest.as_ref().map(|latest| &latest.point),
    )?;
    let EffectiveConfig {
        settings,
        mut notes,
        anchor,
        sets_rescue_mode,
        ..
    } = config;
    notes.extend(open.worktree.config_fault().map(unusable_note));
    let recorded_points = (anchor.as_ref(), latest.as_ref().map(|latest| &latest.point));
    let refused = refused_rescue_script(&open.worktree, &settings, recorded_points, &spec)?;
    let rescued = rescue_uncommitted(
        command_env,
        open,
        (&spec, &settings, sets_rescue_mode),
        options.dry_run,
        refused,
        ask,
    );
    if !options.dry_run {
        if let Err(why) = expire(
            &open.worktree,
            open.store.as_ref(),
            &command_env.state.logs(),
            settings.rescue.keep_days,
        ) {
            notes.push(Degradation::new(
                WarningCode::SnapshotsNotDropped,
                format!("old snapshots could not be dropped: {why}"),
            ));
        }
        if let Ok(RescueReport::Rescued { snapshot, outcome }) = &rescued {
            let data = manual_rescue_data(&snapshot.name, outcome);
            if open
                .note_event(now(), Some(&spec), kind::RESCUE, data)
                .is_err()
            {
                let detail = "the rescue could not be written into the journal".to_owned();
                notes.push(Degradation::new(WarningCode::JournalUnwritable, detail));
            }
        }
    }
    Ok((rescued?, notes))
}

fn rescue_uncommitted(
    command_env: &CommandEnv,
    open: &OpenWorktree,
    (spec, settings, sets_mode): (&str, &ConfigSettings, bool),
    dry_run: bool,
    refused: Option<String>,
    ask: CommitPlanSource<'_>,
) -> Result<RescueReport, Refusal> {
    if !open.worktree.changes()?.any() {
        return Ok(RescueReport::Nothing);
    }
    if dry_run {
        return Ok(RescueReport::Preview(rescue::preview_rescue(
            &open.worktree,
            &settings.rescue,
        )?));
    }
    let request = (spec, now(), "asked for by watchdog rescue");
    let take = || rescue::take_snapshot(&open.worktree, request, &settings.rescue);
    let Some(mut snapshot) = take()? else {
        return Ok(RescueReport::Nothing);
    };
    let commits = !matches!(settings.rescue.mode, RescueMode::Snapshot | RescueMode::Off);
    let hold = if commits {
        hold_rescue(
            command_env,
            open,
            (settings, sets_mode),
            &mut snapshot,
            &take,
        )?
    } else {
        None
    };
    let outcome = match settings.rescue.mode {
        _ if hold.is_some() => RescueOutcome {
            held_back: hold,
            ..RescueOutcome::default()
        },
        RescueMode::Snapshot | RescueMode::Off => RescueOutcome {
            left_out: snapshot.left_out.clone(),
            ..RescueOutcome::default()
        },
        _ if refused.is_some() => RescueOutcome {
            failed: refused,
            ..RescueOutcome::default()
        },
        RescueMode::Plan | RescueMode::Single | RescueMode::Command => {
            commit_by_mode(command_env, open, settings, spec, &snapshot, ask)?
        }
    };
    Ok(RescueReport::Rescued {
        snapshot: Box::new(snapshot),
        outcome: Box::new(outcome),
    })
}

/// Decides whether the rescue may commit now; `Some` holds why not. The newest snapshot takes the place of the first.
fn hold_rescue(
    command_env: &CommandEnv,
    open: &OpenWorktree,
    (settings, sets_mode): (&ConfigSettings, bool),
    snapshot: &mut Snapshot,
    take: &dyn Fn() -> Result<Option<Snapshot>, watchdog_git::Error>,
) -> Result<Option<HeldRescue>, Refusal> {
    let (id, root) = (open.worktree_id.as_str(), open.root());
    let life = WorktreeLife::read_sessions(
        command_env,
        open.store.as_ref(),
        (id, root),
        settings.rescue.quiet,
    )?;
    let gate = RescueGate {
        from_inside: life.from_inside,
        ..RescueGate::default()
    };
    let gated = GatedWorktree {
        command_env,
        store: open.store.as_ref(),
        worktree_id: id,
        root,
        quiet: settings.rescue.quiet,
        timeout: settings.rescue.timeout,
        sets_mode,
    };
    let first = (Instant::now(), work_mark(&open.worktree, Some(snapshot))?);
    let facts = RescueFacts {
        gate: &gate,
        first,
        says_complete: false,
    };
    let mut again = || {
        let newest = take()?;
        let mark = work_mark(&open.worktree, newest.as_ref())?;
        if let Some(newest) = newest {
            *snapshot = newest;
        }
        Ok(mark)
    };
    Ok(gated.hold_rescue(
        facts,
        &CancelFlag::new(),
        &|| open.worktree.youngest_lock(),
        &mut again,
        &|| Ok(Duration::ZERO),
    )?)
}

/// Commits by mode; `plan` asks the agent for a plan.
fn commit_by_mode(
    command_env: &CommandEnv,
    open: &OpenWorktree,
    settings: &ConfigSettings,
    spec: &str,
    snapshot: &Snapshot,
    ask: CommitPlanSource<'_>,
) -> Result<RescueOutcome, Refusal> {
    let session = sessions::SessionRecord::read_row(open.store.as_ref(), &open.worktree_id, spec)?;
    let agent = settings_for(
        &settings.agent,
        session
            .as_ref()
            .and_then(|session| session.agent.as_deref()),
    );
    let session = session.and_then(|session| session.session_id);
    let source = command_env.transcripts_of(open.root(), agent.preset.as_str());
    let latest = source
        .filter(|source| source.asks_latest)
        .and_then(|source| source.latest(open.root()))
        .map(|transcript| transcript.session_id);
    let question = ProbeRequest {
        settings: &agent,
        preset: command_env.agent_preset(open.root(), &agent.preset),
        program: command_env.agent_program.clone(),
        worktree: open.root(),
        session_id: session.as_deref(),
        probed: command_env.probed_session(
            Some(open.store.as_ref()),
            &open.worktree_id,
            (open.root(), &agent),
            session.as_deref().or(latest.as_deref()),
        ),
        expected_session: latest,
        number: 0,
        prompt: String::new(),
        timeout: settings.rescue.timeout,
        now: now(),
    };
    let planner = PlannerAgent::new(command_env, question);
    let ask = |prompt: &str, attempt: u32| ask(&planner, prompt, attempt);
    let request = rescue::RescueRequest {
        settings: &settings.rescue,
        spec,
        snapshot,
        others: &rescue::NO_OTHERS,
    };
    let mut outcome = rescue::rescue_snapshot(&open.worktree, &request, Some(&ask))?;
    remember_rescued(open.store.as_ref(), &open.worktree, &mut outcome);
    Ok(outcome)
}
