//! Opens a judgement: makes its input from the worktree, a baseline and the configuration, and from it the setup of the machine.

use std::sync::{Mutex, OnceLock};

use jiff::Timestamp;

use crate::clock::now;
use crate::session::{
    AnewBy, RecordedBaseline, UncommittedRule, begin_anew, describe_removed_repository,
    record_head_baseline, refuse_other_clone, spec_of_new_session,
};
use watchdog_core::config::settings::single_checks;
use watchdog_core::decision::machine::{EarlierRounds, MachineSetup};
use watchdog_facts::evidence::{Degradation, FaultKind, SessionEnd, UnreadableFact, WarningCode};
use watchdog_facts::shell_line::shell_word;
use watchdog_git::{ContentAtBaseline, HistoryPoint, KeptBaseline};

use super::before_session::keep_beside;
use super::command_env::CommandEnv;
use super::configuration::{EffectiveConfig, load_effective};
use super::judgement_input::{JudgementInput, Overrides};
use super::open_worktree::{OpenWorktree, require_usable_git};
use super::origins::origin_evidence;
use super::{criteria_files, settle_anchor};

/// Where the baseline of a judgement comes from.
pub enum SourceOfBaseline<'a> {
    /// The recorded one, or this revision in its place. Without either no judgement begins.
    Recorded(Option<&'a str>),
    /// The recorded one, or this point in its place. Without either the beginning is unknown.
    RecordedIfAny(Option<HistoryPoint>),
    /// One that was read before.
    Read(Box<RecordedBaseline>),
    /// A new one: a session begins at this time.
    New(Timestamp),
}

/// Opens the judgement of a worktree: its baseline, its anchor and the configuration in force.
pub fn open_judgement(
    command_env: &CommandEnv,
    open: OpenWorktree,
    source: SourceOfBaseline<'_>,
    spec: Option<&str>,
    overrides: Overrides,
) -> Result<JudgementInput, UnreadableFact> {
    let (store, worktree) = (open.store.as_ref(), &open.worktree);
    // A judgement beside a session, such as a hook's, moves no anchor.
    let mut moves_anchor = !overrides.from_inside;
    let (recorded, known) = match source {
        SourceOfBaseline::New(at) => {
            require_usable_git(worktree)?;
            let anew = begin_anew(store, worktree, AnewBy::Command, &open.commands)?;
            // Reads the configuration before it records anything: a mistake in it leaves no record.
            let head = worktree.head()?;
            let spec = spec_of_new_session(store, worktree, spec)?;
            settle_anchor::between_sessions(&open, Some(&spec), at)?;
            let effective = load_effective(command_env, &open, Some(&spec), Some(&head))?;
            let (mut recorded, effective) = begin_session(
                command_env,
                &open,
                (&spec, overrides.uncommitted, at),
                effective,
            )?;
            recorded.notes.extend(anew);
            return Ok(JudgementInput::new(
                open, recorded, true, effective, overrides,
            ));
        }
        SourceOfBaseline::Read(recorded) => (*recorded, true),
        SourceOfBaseline::Recorded(rev) => {
            refuse_other_clone(store, worktree, &open.commands)?;
            let recorded = open.recorded_baseline(spec)?;
            match rev.map(|rev| worktree.resolve(rev)).transpose()? {
                None => (recorded.ok_or_else(|| nothing_recorded(&open, spec))?, true),
                // The recorded refs belong to this judgement only where they were recorded with this very commit.
                Some(point) => match recorded {
                    Some(recorded) if recorded.point == point => (recorded, true),
                    recorded => (baseline_at(recorded, point, spec, &open), false),
                },
            }
        }
        SourceOfBaseline::RecordedIfAny(point) => {
            moves_anchor = false;
            let recorded = open.recorded_baseline(spec)?;
            match (point, recorded) {
                (None, Some(recorded)) => (recorded, true),
                (Some(point), Some(recorded)) if recorded.point == point => (recorded, true),
                (point, recorded) => {
                    let spec = spec
                        .map(str::to_owned)
                        .or(recorded.map(|recorded| recorded.spec));
                    let spec = spec.unwrap_or_else(|| worktree.default_spec());
                    let point = point.unwrap_or_else(HistoryPoint::unknown);
                    (RecordedBaseline::made_up(spec, point, now()), false)
                }
            }
        }
    };
    if moves_anchor {
        settle_anchor::between_sessions(&open, Some(&recorded.spec), now())?;
    }
    let point = Some(&recorded.point).filter(|point| **point != HistoryPoint::unknown());
    let effective = load_effective(command_env, &open, Some(&recorded.spec), point)?;
    Ok(JudgementInput::new(
        open, recorded, known, effective, overrides,
    ))
}

/// Records the baseline of a session that begins, the anchor of its spec, and the conversations that there are.
pub fn begin_session(
    command_env: &CommandEnv,
    open: &OpenWorktree,
    (spec, uncommitted, at): (&str, UncommittedRule, Timestamp),
    effective: EffectiveConfig,
) -> Result<(RecordedBaseline, EffectiveConfig), UnreadableFact> {
    let store = open.store.as_ref();
    let mut recorded = record_head_baseline(store, &open.worktree, Some(spec), uncommitted, at)?;
    let effective = settle_anchor::session_begins(open, &recorded, effective)?;
    keep_beside(command_env, open, &mut recorded, &effective.settings.rescue);
    let folder = command_env.typed_folder(open.root());
    command_env.note_conversations(open, &recorded, &folder)?;
    Ok((recorded, effective))
}

impl JudgementInput {
    /// Joins the parts.
    pub fn new(
        open: OpenWorktree,
        recorded: RecordedBaseline,
        baseline_known: bool,
        effective: EffectiveConfig,
        overrides: Overrides,
    ) -> Self {
        let pins_file = effective.pins_file();
        let mut settings = effective.settings;
        let completion = &mut settings.completion_check;
        completion.max_probes = overrides.max_probes.unwrap_or(completion.max_probes);
        completion.probe_interval = overrides
            .probe_interval
            .unwrap_or(completion.probe_interval);
        completion.probe_timeout = overrides.probe_timeout.unwrap_or(completion.probe_timeout);
        let mut notes: Vec<_> = open.notes.into_iter().collect();
        notes.extend(open.worktree.served_note());
        notes.extend(recorded.notes.iter().cloned());
        notes.extend(effective.notes);
        let content = ContentAtBaseline {
            at: baseline_known.then_some(recorded.at),
            ..recorded.content()
        };
        let known_refs = baseline_known.then_some(recorded.refs);
        let evidence =
            origin_evidence(&open.store, &open.worktree, known_refs.as_ref()).with_content(content);
        JudgementInput {
            evidence,
            origin: (recorded.point.clone(), known_refs.clone()),
            anchor: effective.anchor,
            pins_file,
            by_own_criteria: effective.own,
            governing_file: effective.file,
            root: open.worktree.root().to_owned(),
            session_folder: OnceLock::new(),
            worktree: Mutex::new(open.worktree),
            worktree_id: open.worktree_id,
            spec: recorded.spec,
            baseline: recorded.point,
            work: recorded.work,
            clone_id: recorded.clone_id,
            recorded_at: known_refs.as_ref().map(|_| recorded.at),
            record_at: recorded.record_at,
            known_refs,
            settings,
            names_agent: effective.names_agent,
            sets_rescue_mode: effective.sets_rescue_mode,
            overrides,
            trust: effective.trust,
            notes,
            commands: open.commands,
            open_breaker: None,
        }
    }

    /// The machine's setup before the first fact.
    pub fn setup(
        &self,
        earlier: EarlierRounds,
        session: Option<SessionEnd>,
        read_leftovers: bool,
    ) -> MachineSetup {
        MachineSetup {
            no_rescue: self.overrides.no_rescue,
            no_probe: self.overrides.no_probe,
            once: self.overrides.once,
            has_checks: !self.settings.checks.is_empty(),
            criteria_files: criteria_files::choose_criteria_role(self),
            checks_run_programs: single_checks(&self.settings.checks)
                .iter()
                .any(|(_, criterion)| criterion.runs_programs()),
            trust: self.trust.clone(),
            no_progress_limit: self.overrides.no_progress_limit,
            read_leftovers,
            session,
            earlier,
            notes: self.notes.clone(),
            commands: self.commands.clone(),
            ..MachineSetup::from_settings(&self.settings)
        }
    }
}

/// The baseline at a commit that the command line names. What was uncommitted when the session began stays as it was recorded.
fn baseline_at(
    recorded: Option<RecordedBaseline>,
    point: HistoryPoint,
    spec: Option<&str>,
    open: &OpenWorktree,
) -> RecordedBaseline {
    let no_record = || {
        let detail =
            "no baseline is recorded here, so everything uncommitted counts as the session's work"
                .to_string();
        vec![Degradation::new(WarningCode::NoRecord, detail)]
    };
    match recorded {
        Some(recorded) => RecordedBaseline {
            point,
            refs: Vec::new().into(),
            at: now(),
            ..recorded
        },
        None => {
            let spec = spec.map_or_else(|| open.worktree.default_spec(), str::to_owned);
            RecordedBaseline {
                notes: no_record(),
                ..RecordedBaseline::made_up(spec, point, now())
            }
        }
    }
}

fn nothing_recorded(open: &OpenWorktree, spec: Option<&str>) -> UnreadableFact {
    let commands = &open.commands;
    let record = commands.watchdog(&spec.map_or_else(
        || "snapshot".to_owned(),
        |spec| format!("snapshot --spec {}", shell_word(spec)),
    ));
    let for_spec = spec
        .map(|spec| format!(" for the spec '{spec}'"))
        .unwrap_or_default();
    // A new one would leave what the session committed out of the count.
    let is_meant = |baseline: &KeptBaseline| {
        baseline.worktree_id == open.worktree_id && spec.is_none_or(|spec| spec == baseline.spec)
    };
    if open
        .worktree
        .kept_baselines()
        .is_ok_and(|baselines| baselines.iter().any(is_meant))
    {
        return UnreadableFact {
            kind: FaultKind::NoBaseline,
            why: format!(
                "no baseline is recorded{for_spec} in this worktree, and git has one: the records were lost or are elsewhere"
            ),
            hint: Some(format!(
                "bring it back with: {}",
                commands.watchdog("doctor --rebuild")
            )),
        };
    }
    let (store, id) = (open.store.as_ref(), open.worktree_id.as_str());
    let removed = describe_removed_repository(store, open.root(), Some(id));
    let removed = removed.map_or(String::new(), |removed| format!("{removed}; "));
    UnreadableFact {
        kind: FaultKind::NoBaseline,
        why: format!("{removed}no baseline is recorded{for_spec} in this worktree"),
        hint: Some(format!(
            "name a revision with --baseline REV, or record one before the session with: {record}"
        )),
    }
}
