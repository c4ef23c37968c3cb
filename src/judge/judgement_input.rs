//! One case to be judged: the worktree, its baseline, what is asked, and what earlier calls left behind.

use std::sync::Mutex;
use std::time::Duration;

use jiff::Timestamp;

use crate::session::anchor::point_of;
use crate::session::{RecordedBaseline, UncommittedRule};
use watchdog_core::config::settings::{CheckSpec, ConfigSettings};
use watchdog_core::decision::breaker::{BreakerAdmission, BreakerInput, BreakerView};
use watchdog_core::decision::machine::{ConfigTrust, EarlierRounds, MachineSetup};
use watchdog_facts::display::plural;
use watchdog_facts::evidence::{Degradation, SessionEnd, UnreadableFact};
use watchdog_facts::session_work::UncommittedByMoment;
use watchdog_facts::verdict::{Reason, Verdict};
use watchdog_git::{BaselinePoint, KnownRefs, OriginEvidence, Worktree};
use watchdog_store::anchor::AnchorRecord;
use watchdog_store::{breaker, progress};

use super::configuration::EffectiveConfig;
use super::criteria_files;
use super::journal::CommandJournal;
use super::open_worktree::OpenWorktree;
use super::origins::origin_evidence;
use crate::clock::now;
use crate::wire::verdict_json::breaker_json;

/// What the command line asks for, over what the configuration says.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    /// `--max-probes`.
    pub max_probes: Option<u32>,
    /// `--probe-interval`.
    pub probe_interval: Option<Duration>,
    /// `--probe-timeout`.
    pub probe_timeout: Option<Duration>,
    /// `--no-probe`.
    pub no_probe: bool,
    /// `--no-rescue`.
    pub no_rescue: bool,
    /// `--once`.
    pub once: bool,
    /// `--all`.
    pub every: bool,
    /// `--no-cache`.
    pub no_cache: bool,
    /// `--adopt`: what is uncommitted when the session begins is its work.
    pub uncommitted: UncommittedRule,
    /// After so many sessions in a row that came to nothing under the same unmet checks a person is asked; `None` where a loop counts.
    pub no_progress_limit: Option<u32>,
    /// Whether the session is known to have ended, because its process was waited for.
    pub session_over: bool,
    /// `--without-snapshot`: a session is started also where what is uncommitted cannot be kept first.
    pub without_snapshot: bool,
}

/// One case to be judged.
pub struct JudgementInput {
    /// The worktree; one look at a time.
    pub worktree: Mutex<Worktree>,
    /// Everything else about the place.
    pub worktree_id: String,
    /// The name of the work.
    pub spec: String,
    /// Where the session began.
    pub baseline: BaselinePoint,
    /// The refs of that moment, where they were recorded with this very baseline.
    pub known: Option<KnownRefs>,
    /// The same refs with all else that was recorded about where commits come from.
    pub evidence: OriginEvidence,
    /// When the baseline was recorded; `None` where one was named that is not.
    pub recorded_at: Option<Timestamp>,
    /// When the spec's own baseline was recorded, also where another commit was named in its place: the session is the same one.
    pub record_at: Option<Timestamp>,
    /// Where the work began, and the refs of that moment: what checks count and compare from. The baseline, but for a loop, each of whose
    /// sessions has a baseline of its own.
    pub origin: (BaselinePoint, Option<KnownRefs>),
    /// The criteria that hold from session to session, where they are recorded.
    pub anchor: Option<AnchorRecord>,
    /// Whether the anchor's file is the one in force, so that it must not vanish.
    pub pins_file: bool,
    /// Whether the worktree's own criteria judge, and not others that the command line names.
    pub by_own_criteria: bool,
    /// The text of the worktree's file in force.
    pub governing_file: Option<String>,
    /// What was uncommitted when the session began, and at its recorded end.
    pub work: UncommittedByMoment,
    /// What is asked, after the command line had its say.
    pub settings: ConfigSettings,
    /// What was asked on the command line.
    pub asked: Overrides,
    /// Whether the configuration counts.
    pub trust: ConfigTrust,
    /// What weakens the facts already.
    pub notes: Vec<Degradation>,
}

impl JudgementInput {
    /// Joins what was found out.
    pub fn new(place: OpenWorktree, recorded: RecordedBaseline, known: bool, effective: EffectiveConfig, asked: Overrides) -> Self {
        let pins_file = effective.pins_file();
        let mut settings = effective.settings;
        let completion = &mut settings.completion_check;
        completion.max_probes = asked.max_probes.unwrap_or(completion.max_probes);
        completion.probe_interval = asked.probe_interval.unwrap_or(completion.probe_interval);
        completion.probe_timeout = asked.probe_timeout.unwrap_or(completion.probe_timeout);
        let mut notes = place.notes;
        notes.extend(place.worktree.served_note());
        notes.extend(recorded.notes);
        notes.extend(effective.notes);
        let known = known.then_some(recorded.refs);
        let evidence = origin_evidence(&place.store, &place.worktree, known.as_ref()).with_time(recorded.at);
        JudgementInput {
            evidence,
            origin: (recorded.point.clone(), known.clone()),
            anchor: effective.anchor,
            pins_file,
            by_own_criteria: effective.own,
            governing_file: effective.file,
            worktree: Mutex::new(place.worktree),
            worktree_id: place.worktree_id,
            spec: recorded.spec,
            baseline: recorded.point,
            work: recorded.work,
            recorded_at: known.as_ref().map(|_| recorded.at),
            record_at: recorded.record_at,
            known,
            settings,
            asked,
            trust: effective.trust,
            notes,
        }
    }

    /// The commit that guarded, named and protected files are compared with.
    pub fn criteria_point(&self) -> BaselinePoint {
        self.anchor.as_ref().map_or_else(|| self.origin.0.clone(), point_of)
    }

    /// The same case without a question to the agent.
    pub fn without_probe(mut self) -> Self {
        self.asked.no_probe = true;
        self
    }

    /// The same case as a part of work that began earlier.
    pub fn begun_at(self, point: BaselinePoint, refs: KnownRefs) -> Self {
        JudgementInput { origin: (point, Some(refs)), ..self }
    }

    /// What the machine needs to know before the first fact.
    pub fn setup(&self, earlier: EarlierRounds, session: Option<SessionEnd>, look_at_leftovers: bool) -> MachineSetup {
        MachineSetup {
            no_rescue: self.asked.no_rescue,
            no_probe: self.asked.no_probe,
            once: self.asked.once,
            has_checks: !self.settings.checks.is_empty(),
            criteria_files: criteria_files::kind(self),
            checks_run_programs: self.settings.checks.iter().any(runs_programs),
            trust: self.trust.clone(),
            no_progress_limit: self.asked.no_progress_limit,
            look_at_leftovers,
            session,
            earlier,
            notes: self.notes.clone(),
            ..MachineSetup::of(&self.settings)
        }
    }

    /// Whose the files are that are uncommitted before the session, for the first line of `run`.
    pub fn whose_work(&self) -> String {
        match (self.work.inherited.len() as u64, self.asked.uncommitted) {
            (_, UncommittedRule::Adopt) => "what is uncommitted now counts as the session's work".to_string(),
            (0, UncommittedRule::Inherit) => "nothing is uncommitted before the session".to_string(),
            (n, UncommittedRule::Inherit) => {
                format!("{} uncommitted before the session: kept, and not its work (--adopt makes it so)", plural(n, "file"))
            }
        }
    }

    /// Asks the breaker whether work may begin; the verdict to give where it may not.
    pub fn admit(&self, store: &dyn watchdog_store::LocalStore) -> Result<Option<Verdict>, UnreadableFact> {
        let settings = &self.settings.breaker;
        let at = now();
        let recorded = breaker::of(store, &self.worktree_id, &self.spec)?;
        let mut changed = recorded.clone();
        let mut admission = changed.admit(at, settings);
        if changed != recorded {
            admission = breaker::update(store, &self.worktree_id, &self.spec, |breaker| breaker.admit(at, settings))?;
        }
        match admission {
            BreakerAdmission::Go | BreakerAdmission::Trial => Ok(None),
            BreakerAdmission::Refused { until, since, why, strikes, trial_under_way } => {
                let message = if trial_under_way {
                    format!("the breaker is half-open since {since:.0} and its one trial is under way")
                } else {
                    format!(
                        "the breaker is open since {since:.0}, after {strikes} strikes: {why}; one trial is let through at {until:.0}, \
                         or close it now with: watchdog breaker reset"
                    )
                };
                Ok(Some(Verdict { retry_at: Some(until), ..Verdict::new(Reason::BreakerOpen, message) }))
            }
        }
    }

    /// The breaker as it is now, for the verdict.
    pub fn breaker(&self, store: &dyn watchdog_store::LocalStore) -> Option<BreakerView> {
        let breaker = breaker::of(store, &self.worktree_id, &self.spec).ok()?;
        Some(breaker.state(now(), &self.settings.breaker))
    }

    /// What earlier calls with the same baseline left behind, and the fingerprint of the work at the first of them.
    pub fn earlier(&self, store: &dyn watchdog_store::LocalStore) -> Result<(EarlierRounds, Option<u64>), UnreadableFact> {
        let Some(progress) = progress::of(store, &self.worktree_id, &self.spec)? else {
            return Ok((EarlierRounds::default(), None));
        };
        let streak = EarlierRounds {
            nothing_to_do_streak: progress.nothing_to_do_streak,
            fruitless: progress.fruitless,
            unmet: progress.unmet,
            ..EarlierRounds::default()
        };
        // Only `--once` carries rounds on; a check that waits begins anew.
        if !self.asked.once || progress.baseline != self.baseline_commit() {
            return Ok((streak, None));
        }
        let rounds =
            EarlierRounds { rounds_used: progress.rounds_used, answered: progress.rounds_answered, alive: progress.rounds_alive, ..streak };
        Ok((rounds, progress.fingerprint))
    }

    /// Writes down what the next call must know. Quiet where nothing changes.
    pub fn leave(
        &self,
        store: &dyn watchdog_store::LocalStore,
        left: EarlierRounds,
        fingerprint: Option<u64>,
    ) -> Result<(), UnreadableFact> {
        let baseline = self.baseline_commit();
        let fingerprint = if left.rounds_used > 0 { fingerprint } else { None };
        let found = progress::of(store, &self.worktree_id, &self.spec)?;
        let unchanged = match &found {
            None => left == EarlierRounds::default(),
            Some(progress) => {
                progress.baseline == baseline
                    && (progress.rounds_used, progress.rounds_answered, progress.rounds_alive, progress.nothing_to_do_streak)
                        == (left.rounds_used, left.answered, left.alive, left.nothing_to_do_streak)
                    && (progress.fruitless, progress.unmet) == (left.fruitless, left.unmet)
            }
        };
        if unchanged {
            return Ok(());
        }
        progress::update(store, &self.worktree_id, &self.spec, baseline.as_deref(), now(), |progress| {
            progress.rounds_used = left.rounds_used;
            progress.rounds_answered = left.answered;
            progress.rounds_alive = left.alive;
            progress.nothing_to_do_streak = left.nothing_to_do_streak;
            progress.fruitless = left.fruitless;
            progress.unmet = left.unmet;
            progress.fingerprint = progress.fingerprint.filter(|_| left.rounds_used > 0).or(fingerprint);
        })
        .map_err(UnreadableFact::from)
    }

    /// Tells the breaker what came of it, quietly where nothing changes, and returns how it stands.
    pub fn feed_breaker(
        &self,
        store: &dyn watchdog_store::LocalStore,
        verdict: &Verdict,
        journal: &CommandJournal,
    ) -> Result<BreakerView, UnreadableFact> {
        let outcome = BreakerInput::of(verdict);
        let at = now();
        let settings = &self.settings.breaker;
        let before = breaker::of(store, &self.worktree_id, &self.spec)?;
        let mut after = before.clone();
        after.record(at, settings, outcome.clone());
        let view = after.state(at, settings);
        if after != before {
            breaker::update(store, &self.worktree_id, &self.spec, |breaker| breaker.record(at, settings, outcome.clone()))?;
            journal.note(watchdog_store::journal::kind::BREAKER, breaker_json(&view));
        }
        Ok(view)
    }

    fn baseline_commit(&self) -> Option<String> {
        match &self.baseline {
            BaselinePoint::Unborn => None,
            BaselinePoint::Commit(commit) => Some(commit.clone()),
        }
    }
}

/// The verdict to give instead of starting a session in the middle of a rebase or a merge, unless the session is to finish it. To be asked
/// before anything is recorded.
pub fn half_done_before(worktree: &Worktree, asked: &Overrides) -> Option<Verdict> {
    let operation = worktree.operation().filter(|_| asked.uncommitted != UncommittedRule::Adopt)?;
    let message = format!(
        "a {} was in progress before the session, which was not started; finish or abort it, or hand it to the agent with --adopt",
        operation.as_str()
    );
    Some(Verdict::new(Reason::Disputed, message))
}

/// Whether judging a check runs a program that could disturb the work.
fn runs_programs(check: &CheckSpec) -> bool {
    match check {
        CheckSpec::Group { checks, .. } => checks.iter().any(runs_programs),
        CheckSpec::Single { criterion, .. } => criterion.runs_programs(),
    }
}
