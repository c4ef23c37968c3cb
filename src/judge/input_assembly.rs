//! Makes the input of a judgement from its parts, and from it the setup of the machine.

use std::sync::Mutex;

use crate::session::RecordedBaseline;
use watchdog_core::config::settings::CheckSpec;
use watchdog_core::decision::machine::{EarlierRounds, MachineSetup};
use watchdog_facts::evidence::SessionEnd;
use watchdog_git::ContentAtBaseline;

use super::configuration::EffectiveConfig;
use super::criteria_files;
use super::judgement_input::{JudgementInput, Overrides};
use super::open_worktree::OpenWorktree;
use super::origins::origin_evidence;

impl JudgementInput {
    /// Joins the parts.
    pub fn new(
        open: OpenWorktree,
        recorded: RecordedBaseline,
        known: bool,
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
        notes.extend(recorded.notes);
        notes.extend(effective.notes);
        let known = known.then_some(recorded.refs);
        let content = ContentAtBaseline {
            at: known.as_ref().map(|_| recorded.at),
            inherited: recorded.work.inherited.clone(),
            left_behind: recorded.left_behind,
        };
        let evidence =
            origin_evidence(&open.store, &open.worktree, known.as_ref()).with_content(content);
        JudgementInput {
            evidence,
            origin: (recorded.point.clone(), known.clone()),
            anchor: effective.anchor,
            pins_file,
            by_own_criteria: effective.own,
            governing_file: effective.file,
            root: open.worktree.root().to_owned(),
            worktree: Mutex::new(open.worktree),
            worktree_id: open.worktree_id,
            spec: recorded.spec,
            baseline: recorded.point,
            work: recorded.work,
            clone_id: recorded.clone_id,
            recorded_at: known.as_ref().map(|_| recorded.at),
            record_at: recorded.record_at,
            known,
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
            criteria_files: criteria_files::kind(self),
            checks_run_programs: self.settings.checks.iter().any(runs_programs),
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

/// Whether judging a check runs a program that could disturb the work.
fn runs_programs(check: &CheckSpec) -> bool {
    match check {
        CheckSpec::Group { checks, .. } => checks.iter().any(runs_programs),
        CheckSpec::Single { criterion, .. } => criterion.runs_programs(),
    }
}
