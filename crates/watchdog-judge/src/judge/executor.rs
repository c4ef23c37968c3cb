//! Performs the actions of the decision machine through the adapters, and returns the result of each. Every call blocks; the thread that
//! drives the machine makes them.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::rescue;
use crate::watch::{FolderWatch, GitDirs};
use crate::wire::judgement_events::snapshot_commit_data;
use jiff::Timestamp;
use watchdog_agent::transcript::TranscriptFile;
use watchdog_core::checks::{self, CheckContext, GroupOutcome};
use watchdog_core::config::settings::{AgentSettings, CheckKind, RescueMode, single_checks};
use watchdog_core::decision::machine::{ChecksResult, EarlierRounds, MachineAction, MachineEvent};
use watchdog_facts::context::SessionContext;
use watchdog_facts::display::plural;
use watchdog_facts::evidence::{
    Changes, CheckOutcome, CheckResult, Commits, CriteriaChanged, Degradation, FaultKind, ReadFact,
    RescueOutcome, StopReason, UnreadableFact, WarningCode,
};
use watchdog_facts::verdict::{Evidence, Verdict};
use watchdog_git::{HistoryPoint, Snapshot, StatFingerprints, Worktree};
use watchdog_process::{CancelFlag, SurvivingProcess};
use watchdog_store::LocalStore;
use watchdog_store::journal::kind;

use super::capabilities::SystemCapabilities;
use super::command_env::CommandEnv;
use super::gates::{HookRuns, find_gates_off, relies_on_gates};
use super::journal::{CommandJournal, JudgementRecorder};
use super::judgement_input::JudgementInput;
use super::line_checkers::LineCheckers;
use super::open_worktree::{require_usable_git, unusable_note};
use super::origins::remember_rescued;
use super::planner::PlannerAgent;
use super::refusal::about;
use super::session_agent::{SightedAgent, is_held};
use super::session_work::{self, DividedUncommitted};
use super::sightings::{ProbeHistory, RescueGate, SharedSightings};
use super::snapshots::{describe_gaps, snapshot_helpers};
use super::{criteria_files, machine_log, session_life};
use crate::clock::now;
use crate::wire::verdict_json::Judgement;

/// Performs the machine's actions.
pub struct ActionExecutor {
    /// The judged input.
    pub input: Arc<JudgementInput>,
    pub(super) command_env: CommandEnv,
    /// watchdog's records.
    pub store: Arc<dyn LocalStore>,
    pub(super) journal: Arc<CommandJournal>,
    /// The record of the facts, for the journal.
    pub recorder: JudgementRecorder,
    /// The session to ask, where its id is known.
    pub(super) session_id: Option<String>,
    /// The agent to ask: the one that ran the session.
    pub(super) agent: AgentSettings,
    /// The agent that ran the session, where that is known.
    pub(super) ran: SightedAgent,
    /// The processes that outlived the session.
    pub(super) survivors: Vec<SurvivingProcess>,
    /// The session's context, for checks.
    pub context: SessionContext,
    /// A spent budget is not spent further by questions.
    pub(super) over_limit: bool,
    /// Whether git is asked if it works: the session that just ended may have changed any setting.
    pub(super) asks_git: bool,
    /// Whether to keep fingerprints of the files.
    pub(super) keeps_fingerprints: bool,
    /// Its questions to the agent.
    pub(super) asking: ProbeHistory,
    /// The gate that its rescues pass.
    pub(super) gate: RescueGate,
    pub(super) sightings: SharedSightings,
    /// Programs that judge line by line. They live from round to round, and through a loop.
    line_checkers: Arc<LineCheckers>,
    /// Whether the agent is left alone from now on.
    silent: AtomicBool,
    seen: Mutex<InitialFacts>,
}

/// The first facts, to compare later ones with.
#[derive(Default)]
pub(super) struct InitialFacts {
    head: Option<HistoryPoint>,
    pub(super) fingerprint: Option<u64>,
    pub(super) transcript: Option<TranscriptFile>,
    snapshot: Option<Snapshot>,
    /// From the last reading of uncommitted changes.
    stat_fingerprints: Option<StatFingerprints>,
    /// The uncommitted paths that were not the session's at that reading.
    others: BTreeSet<String>,
    /// Whether the last probe was answered; `None` before the first.
    answered: Option<bool>,
}

impl ActionExecutor {
    /// An executor for the input of a judgement.
    pub fn new(
        input: JudgementInput,
        command_env: CommandEnv,
        store: Arc<dyn LocalStore>,
        journal: Arc<CommandJournal>,
    ) -> Self {
        ActionExecutor {
            agent: input.settings.agent.clone(),
            ran: SightedAgent::default(),
            line_checkers: command_env.line_checkers.clone().unwrap_or_default(),
            input: Arc::new(input),
            command_env,
            store,
            journal,
            recorder: JudgementRecorder::new(),
            session_id: None,
            survivors: Vec::new(),
            context: SessionContext::default(),
            over_limit: false,
            asks_git: false,
            keeps_fingerprints: false,
            asking: ProbeHistory::default(),
            gate: RescueGate::default(),
            sightings: SharedSightings::default(),
            silent: AtomicBool::new(false),
            seen: Mutex::default(),
        }
    }

    /// The file of the program to ask, where the command line names it: it is that of one agent, and not of another that ran the session.
    pub(super) fn program(&self) -> Option<OsString> {
        self.command_env
            .agent_program
            .clone()
            .filter(|_| !self.input.overrides.other_agent)
    }

    /// A judgement with this verdict.
    pub(super) fn make_judgement(&self, mut verdict: Verdict, begun: Timestamp) -> Judgement {
        let fault = match self.asks_git {
            true => require_usable_git(&self.input.worktree()).err(),
            false => self.input.worktree().config_fault(),
        };
        if let Some(note) = fault.map(unusable_note) {
            verdict.add_clause(&note.detail);
            verdict.degraded.push(note);
        }
        about(&self.command_env, Some(&self.input), verdict, begun)
    }

    /// Whether an action puts a question to the agent. A reused answer costs no probe.
    pub(super) fn asks_agent(&self, action: &MachineAction) -> bool {
        match action {
            MachineAction::Ask { .. } => self.asking.standing.is_none(),
            MachineAction::Rescue => {
                self.input.settings.rescue.mode == RescueMode::Plan
                    && !self.input.overrides.no_rescue
                    && self.may_ask_for_a_plan()
            }
            _ => false,
        }
    }

    /// From now on the agent is not asked for a plan of a rescue.
    pub fn ask_nobody(&self) {
        self.silent.store(true, Ordering::Relaxed);
    }

    /// The fingerprint of the work when it was first read.
    pub fn fingerprint(&self) -> Option<u64> {
        self.lock_initial_facts().fingerprint
    }

    /// The files' times behind the last reading of uncommitted work; `None` where they were not wanted or cannot be relied on.
    pub fn stat_fingerprints(&self) -> Option<StatFingerprints> {
        self.lock_initial_facts().stat_fingerprints.clone()
    }

    /// Shows how long the pause is, and what of the session still runs.
    pub fn tell_pause(&self, length: Duration, survivors: &[String]) {
        if !length.is_zero() {
            let runs = match survivors {
                [] => String::new(),
                [one] => format!("{one} still runs: "),
                [one, rest @ ..] => format!("{one} and {} more still run: ", rest.len()),
            };
            self.command_env.tell(&format!(
                "{runs}looking again in {} s, or as soon as a commit lands",
                length.as_secs_f64().ceil()
            ));
        }
    }

    /// Watches for commits; `None`, and a warning, where that is impossible.
    pub fn watch(&self, moved: impl Fn() + Send + 'static) -> Option<FolderWatch> {
        let git_dirs = self.worktree(|worktree| GitDirs {
            git_dir: worktree.git_dir().to_owned(),
            common_dir: worktree.common_dir().to_owned(),
        });
        git_dirs
            .watch(moved)
            .map_err(|error| {
                self.command_env.tell(&format!(
                    "cannot watch for commits, will wait the full interval: {error}"
                ))
            })
            .ok()
    }

    /// Whether HEAD names another commit than when commits were last read.
    pub fn head_moved(&self) -> bool {
        let Ok(head) = self.worktree(|worktree| worktree.head()) else {
            return false;
        };
        self.lock_initial_facts()
            .head
            .as_ref()
            .is_some_and(|seen| *seen != head)
    }

    /// Carries out one action.
    pub fn perform(
        &self,
        action: &MachineAction,
        facts: &(Option<Commits>, Option<Changes>),
        cancel: &CancelFlag,
    ) -> MachineEvent {
        let begun = Instant::now();
        let event = self.perform_action(action, facts, cancel);
        machine_log::log_performed_action(action, begun.elapsed());
        event
    }

    fn perform_action(
        &self,
        action: &MachineAction,
        facts: &(Option<Commits>, Option<Changes>),
        cancel: &CancelFlag,
    ) -> MachineEvent {
        match action {
            MachineAction::ReadCommits => MachineEvent::Commits(self.commits()),
            MachineAction::ReadChanges => MachineEvent::Changes(self.changes()),
            MachineAction::TakeSnapshot => {
                MachineEvent::Snapshot(self.snapshot("before anything that could disturb it"))
            }
            MachineAction::JudgeChecks => MachineEvent::Checks(self.judge_checks(cancel)),
            MachineAction::Ask {
                number,
                contradiction,
            } => MachineEvent::Probe(self.put_question(
                (*number, contradiction.as_deref()),
                facts,
                cancel,
            )),
            MachineAction::Rescue => MachineEvent::Rescue(self.rescue(cancel)),
            MachineAction::ReadSurvivors => MachineEvent::Survivors(session_life::find_survivors(
                &self.input,
                self.store.as_ref(),
                now(),
            )),
            MachineAction::ReadActivity => MachineEvent::Activity(self.activity()),
            MachineAction::ReadCriteria => {
                MachineEvent::Criteria(self.criteria(facts.0.as_ref(), cancel))
            }
            MachineAction::Wait(_) => MachineEvent::WaitOver,
            MachineAction::Conclude(_) => MachineEvent::Start,
        }
    }

    pub(super) fn lock_initial_facts(&self) -> std::sync::MutexGuard<'_, InitialFacts> {
        self.seen.lock().expect("mutex poisoned")
    }

    pub(super) fn worktree<T>(&self, read: impl FnOnce(&Worktree) -> T) -> T {
        read(&self.input.worktree())
    }

    /// Opens a repository of its own where a sweep shares one among worktrees: the shared one must only be read.
    fn own_worktree(&self) -> ReadFact<()> {
        Ok(self.input.worktree().to_owned_repo()?)
    }

    fn commits(&self) -> ReadFact<Commits> {
        let mut commits = self.worktree(|worktree| {
            worktree.session_commits(&self.input.baseline, &self.input.evidence)
        })?;
        (commits.operation, commits.conflicts) = self.worktree(|worktree| worktree.half_done())?;
        self.lock_initial_facts().head = Some(commits.head.clone().into());
        Ok(commits)
    }

    fn criteria(
        &self,
        commits: Option<&Commits>,
        cancel: &CancelFlag,
    ) -> ReadFact<CriteriaChanged> {
        // Unread files hide no gate that is off.
        let mut changed =
            criteria_files::compare_criteria_files(&self.input).unwrap_or_else(|unreadable| {
                CriteriaChanged {
                    files_unread: Some(unreadable),
                    ..CriteriaChanged::default()
                }
            });
        let runs = commits.map(|commits| HookRuns {
            commits,
            scratch: self.command_env.state.scratch(),
            cancel,
        });
        (changed.gates_off, changed.gates_unknown) = find_gates_off(&self.input, runs.as_ref());
        changed.relies_on_gates = relies_on_gates(&self.input.settings);
        Ok(changed)
    }

    fn changes(&self) -> ReadFact<Changes> {
        let DividedUncommitted { mut changes, fingerprints, others } = self.worktree(
            |worktree| if self.keeps_fingerprints { session_work::read_traced } else { session_work::read_uncommitted }(worktree, &self.input.work),
        )?;
        changes.degraded.extend(self.worktree(|worktree| {
            session_work::note_undone_commits(worktree, &self.input.baseline, &changes)
        }));
        let mut seen = self.lock_initial_facts();
        seen.fingerprint.get_or_insert(changes.fingerprint);
        seen.stat_fingerprints = fingerprints;
        seen.others = others;
        Ok(changes)
    }

    pub(super) fn snapshot(&self, why: &str) -> ReadFact<Option<String>> {
        self.own_worktree()?;
        let (settings, request) = (
            &self.input.settings.rescue,
            (self.input.spec.as_str(), now(), why),
        );
        let taken = self.worktree(|worktree| rescue::take_snapshot(worktree, request, settings))?;
        let name = taken.as_ref().map(|snapshot| snapshot.name.clone());
        if let Some(snapshot) = taken.as_ref().filter(|snapshot| !snapshot.reused) {
            self.command_env.tell(&format!(
                "kept {} in {}",
                plural(snapshot.files, "changed file"),
                snapshot.name
            ));
        }
        // Work missing from the snapshot must not meet a program that may destroy it; if its
        // permissions forbid reading, a warning is enough.
        let exposed = taken.as_ref().filter(|_| self.runs_programs());
        if let Some(sentence) = exposed.and_then(describe_gaps) {
            self.command_env.tell(&sentence);
        }
        let gaps = exposed.map_or(Ok(()), Snapshot::require_all_read);
        self.sight_work(taken.as_ref());
        self.lock_initial_facts().snapshot = taken;
        self.snapshot_helpers(why);
        gaps?;
        Ok(name)
    }

    fn runs_programs(&self) -> bool {
        self.input
            .setup(EarlierRounds::default(), None, false)
            .checks_run_programs
    }

    /// Takes snapshots of what helpers of the session have uncommitted in other worktrees. If that
    /// fails, watchdog warns and judges all the same.
    pub(super) fn snapshot_helpers(&self, why: &str) {
        let (settings, request) = (
            &self.input.settings.rescue,
            (self.input.spec.as_str(), now(), why),
        );
        let evidence = &self.input.evidence;
        let snapshots = self.worktree(|worktree| {
            snapshot_helpers(worktree, evidence, request, settings, |_, _| true)
        });
        for snapshot in &snapshots.taken {
            self.journal.note(
                kind::SNAPSHOT,
                snapshot_commit_data(&snapshot.name, &snapshot.commit),
            );
            self.command_env.tell(&format!(
                "kept {} of a helper in {}",
                plural(snapshot.files, "changed file"),
                snapshot.name
            ));
        }
        snapshots
            .failed
            .iter()
            .for_each(|why| self.command_env.tell(why));
    }

    fn judge_checks(&self, cancel: &CancelFlag) -> ChecksResult {
        let agent = &self.input.settings.agent.preset;
        let mut capabilities = SystemCapabilities::new(&self.input, cancel)
            .with_earlier_passes(Arc::clone(&self.store));
        capabilities
            .agent_program
            .clone_from(&self.command_env.agent_program);
        capabilities.agent_preset = Some(self.command_env.agent_preset(&self.input.root, agent));
        capabilities.line_checkers = self.line_checkers.clone();
        capabilities.scratch = Some(self.command_env.state.scratch());
        capabilities.tries_tests = true;
        let session = self.context_here();
        let context = CheckContext::new(&capabilities)
            .with_session(&session)
            .asking_every(self.input.overrides.every)
            .side_by_side(at_once());
        let outcome = checks::evaluate_checks(&self.input.settings, &context);
        self.forget_sighting();
        self.spend_beside(capabilities.get_usage());
        let beside = self.inherited_beside(&outcome);
        let mut notes = outcome.notes;
        let evidence = if beside.is_some() {
            outcome.evidence.min(Evidence::Committed)
        } else {
            outcome.evidence
        };
        notes.extend(beside);
        ChecksResult {
            outcome: outcome.outcome,
            evidence,
            feedback: outcome.feedback,
            results: outcome.results,
            all_passed_before: outcome.all_passed_before,
            notes,
        }
    }

    /// The warning about a check that passes in the worktree beside uncommitted files that are not the session's, because they are older or
    /// changed after its end: the pass may depend on them.
    fn inherited_beside(&self, outcome: &GroupOutcome) -> Option<Degradation> {
        let of_files =
            |kind: &str| ["command", "files", "custom", "feature_list", "plan"].contains(&kind);
        let passed = |result: &CheckResult| {
            result.outcome == CheckOutcome::Pass && result.tree.is_none() && of_files(&result.kind)
        };
        let none = self.input.work.inherited.is_empty() && self.input.work.end.is_none();
        if outcome.outcome != CheckOutcome::Pass || none || !outcome.results.iter().any(passed) {
            return None;
        }
        let changes = self
            .worktree(|worktree| session_work::read_uncommitted(worktree, &self.input.work))
            .ok()?
            .changes;
        let uncommitted_files = changes.inherited + changes.since_end;
        let detail = format!(
            "the checks passed beside {} that the session did not make and no commit has",
            plural(uncommitted_files, "file")
        );
        (uncommitted_files > 0)
            .then_some(Degradation::new(WarningCode::JudgedWithUncommitted, detail))
    }

    /// Asks the sensors before anything else is judged: why the work has to halt, which ends it as a spent limit does, after its rescue;
    /// and the sensors that gave no answer. Uncommitted work is in a snapshot before their programs run.
    pub fn read_halt(&self, session: &SessionContext) -> (Option<StopReason>, Vec<Degradation>) {
        let limits = &self.input.settings.limits;
        if limits.sensors.is_empty() {
            return (None, Vec::new());
        }
        if self.input.settings.rescue.mode != RescueMode::Off
            && !self.input.overrides.no_rescue
            && let Err(unread) = self.snapshot("before the sensors")
        {
            let detail = format!("no sensor was run: {}", unread.why);
            return (
                None,
                vec![Degradation::new(WarningCode::SnapshotFailed, detail)],
            );
        }
        let never = CancelFlag::new();
        checks::read_sensors(
            limits,
            &SystemCapabilities::new(&self.input, &never),
            session,
        )
    }

    /// The context for a program that judges, with the worktree and the baseline: it has no other way to know them.
    fn context_here(&self) -> Cow<'_, SessionContext> {
        let mut checks = single_checks(&self.input.settings.checks).into_iter();
        if !checks.any(|(_, criterion)| matches!(criterion, CheckKind::Custom(_))) {
            return Cow::Borrowed(&self.context);
        }
        let mut context = self.context.clone();
        context.worktree = Some(self.input.root.display().to_string());
        context.spec = Some(self.input.spec.clone());
        context.baseline = Some(self.input.baseline.as_str().to_owned())
            .filter(|_| self.input.baseline != HistoryPoint::unknown());
        context.head = self
            .worktree(|worktree| worktree.head())
            .ok()
            .map(|head| head.as_str().to_owned());
        Cow::Owned(context)
    }

    pub(super) fn last_snapshot(&self) -> Option<Snapshot> {
        self.lock_initial_facts().snapshot.clone()
    }

    fn rescue(&self, cancel: &CancelFlag) -> ReadFact<RescueOutcome> {
        // The machine asks for a rescue only after a snapshot; with nothing in it there is nothing to rescue.
        if self.last_snapshot().is_none() {
            return Ok(RescueOutcome::default());
        }
        if let Some(hold) = self.hold_rescue(cancel)? {
            return Ok(RescueOutcome {
                held_back: Some(hold),
                ..RescueOutcome::default()
            });
        }
        let Some(snapshot) = self.last_snapshot() else {
            return Ok(RescueOutcome::default());
        };
        self.own_worktree()?;
        let others = self.lock_initial_facts().others.clone();
        let (settings, anchor, origin) = (
            &self.input.settings,
            self.input.anchor.as_ref(),
            &self.input.origin.0,
        );
        let refused = self.worktree(|worktree| {
            criteria_files::refused_rescue_script(
                worktree,
                settings,
                (anchor, Some(origin)),
                &self.input.spec,
            )
        })?;
        if let Some(failed) = refused {
            return Ok(RescueOutcome {
                failed: Some(failed),
                ..RescueOutcome::default()
            });
        }
        self.command_env.tell("rescuing uncommitted work");
        let request = rescue::RescueRequest {
            settings: &self.input.settings.rescue,
            spec: &self.input.spec,
            snapshot: &snapshot,
            others: &others,
        };
        let whom = self.whom();
        let timeout = request.settings.timeout;
        let question = self.question(&whom, (0, String::new()), timeout);
        let planner = PlannerAgent::new(&self.command_env, question);
        let ask = |prompt: &str, attempt: u32| planner.ask(prompt, attempt, cancel);
        let ask: Option<rescue::PlanSource<'_>> = if self.may_ask_for_a_plan() {
            Some(&ask)
        } else {
            None
        };
        let rescued = self.worktree(|worktree| {
            let mut outcome = rescue::rescue_snapshot(worktree, &request, ask)?;
            remember_rescued(self.store.as_ref(), worktree, &mut outcome);
            Ok(outcome)
        });
        self.spend_beside(planner.cost_so_far());
        rescued.map_err(|error: watchdog_git::Error| UnreadableFact::new(FaultKind::Git, error))
    }

    pub(super) fn note_answered(&self, answered: bool) {
        self.lock_initial_facts().answered = Some(answered);
    }

    /// Not with `--no-probe`, and not from an agent that has just failed to answer.
    fn may_ask_for_a_plan(&self) -> bool {
        let nobody = self.silent.load(Ordering::Relaxed)
            || self.input.overrides.no_probe
            || self.input.settings.completion_check.max_probes == 0;
        !nobody
            && !self.over_limit
            && self.lock_initial_facts().answered != Some(false)
            && !is_held(self.store.as_ref(), &self.agent)
    }
}

/// How many expensive checks run at a time: as many as there are processors, but at least two, since many of them only wait, and at most
/// eight.
pub fn at_once() -> usize {
    std::thread::available_parallelism()
        .map_or(2, NonZero::get)
        .clamp(2, 8)
}
