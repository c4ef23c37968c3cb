//! The machine's setup, its actions, and its events.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::config::settings::{CompletionSettings, ConfigSettings, OnNoCriteria, RescueMode};
use crate::decision::session_life::SessionLife;
use watchdog_facts::evidence::{
    ActivityFacts, Changes, CheckOutcome, CheckResult, Commits, CriteriaChanged, Degradation,
    ReadFact, RescueOutcome, SessionEnd, read_if_known, read_known_notes,
};
use watchdog_facts::shell_line::WorktreeCommands;
use watchdog_facts::verdict::{Evidence, ProbeRecord, Verdict};

/// Everything that is settled before the first fact is read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MachineSetup {
    /// Limits of the probing.
    pub completion: CompletionSettings,
    /// The scope of a rescue.
    pub rescue_mode: RescueMode,
    /// `--no-rescue`: snapshots are taken, nothing is committed.
    pub no_rescue: bool,
    /// `--no-probe`: never probe the agent.
    pub no_probe: bool,
    /// Why the agent is not asked although the options allow it.
    pub unasked: Option<UnaskedCause>,
    /// `--once`: one round, no waiting.
    pub once: bool,
    /// Whether criteria are configured.
    pub has_checks: bool,
    /// Whether judging them runs programs, so that work must be secured first.
    pub checks_run_programs: bool,
    /// Which files say what done means, so that it matters whether they changed.
    pub criteria_files: CriteriaFilesRole,
    /// The rule where no criteria are configured.
    pub on_no_criteria: OnNoCriteria,
    /// The weakest evidence that is accepted.
    pub require_evidence: Evidence,
    /// Whether the configuration file counts.
    pub trust: ConfigTrust,
    /// How much is judged.
    pub scope: JudgementScope,
    /// Whether uncommitted work is read even when commits decided (`run`, `loop`, `sweep`).
    pub read_leftovers: bool,
    /// How the session ended, where watchdog itself ran it.
    pub session: Option<SessionEnd>,
    /// Whether the session is known to have ended, with nothing of it running: no answer of its agent can change then.
    pub session_over: bool,
    /// Whether a session that watchdog did not just run still works here. A session that watchdog
    /// ran has ended.
    pub life: SessionLife,
    /// Processes of the session that still run: the machine sends no probe before they end.
    pub survivors: Vec<String>,
    /// After this many fruitless sessions in a row under the same unmet checks the verdict is a review; `None` where a loop counts.
    pub no_progress_limit: Option<u32>,
    /// The rounds of earlier calls with the same baseline.
    pub earlier: EarlierRounds,
    /// Warnings about the facts, such as changed criteria.
    #[serde(deserialize_with = "read_known_notes")]
    pub notes: Vec<Degradation>,
    /// Commands for a person to type about the worktree.
    pub commands: WorktreeCommands,
}

impl MachineSetup {
    /// The setup of a session by the settings alone: no flags, no criteria, no earlier calls.
    pub fn from_settings(settings: &ConfigSettings) -> Self {
        MachineSetup {
            completion: settings.completion_check.clone(),
            rescue_mode: settings.rescue.mode,
            no_rescue: false,
            no_probe: false,
            unasked: None,
            once: false,
            has_checks: false,
            checks_run_programs: false,
            criteria_files: CriteriaFilesRole::None,
            on_no_criteria: settings.on_no_criteria,
            require_evidence: settings.require_evidence,
            trust: ConfigTrust::Settled,
            scope: JudgementScope::Session,
            read_leftovers: false,
            session: None,
            session_over: false,
            life: SessionLife::Absent,
            survivors: Vec::new(),
            no_progress_limit: None,
            earlier: EarlierRounds::default(),
            notes: Vec::new(),
            commands: WorktreeCommands::default(),
        }
    }
}

/// Why the agent is not asked although the options allow it. Git and the checks decide, after a rescue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnaskedCause {
    /// The session ran no agent that can be asked, and none is configured.
    NoAgent,
    /// The breaker is open.
    BreakerOpen,
}

impl UnaskedCause {
    /// The clause for a person.
    pub fn clause(self) -> &'static str {
        match self {
            UnaskedCause::NoAgent => "this session ran no agent that can be asked",
            UnaskedCause::BreakerOpen => "the breaker is open, so the agent was not asked",
        }
    }
}

/// How much is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JudgementScope {
    /// The session: commits, criteria, the agent's word, and what is left uncommitted.
    Session,
    /// The criteria alone, or the commits where there are none: sends no probe, commits nothing.
    Criteria {
        /// Without one, commits are not read, and cannot decide.
        baseline_known: bool,
    },
}

/// Which files of the worktree say what done means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CriteriaFilesRole {
    /// No evidence.
    None,
    /// Criteria name some, or the repository has gates of its own: the verdict reports whether they changed.
    Named,
    /// The configuration guards some: nothing is complete where they changed.
    Guarded,
}

/// Whether a configuration file that was found counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConfigTrust {
    /// It counts, or there is none.
    #[default]
    Settled,
    /// It is not used; holds what a person must type to allow it.
    Untrusted {
        /// A whole `watchdog trust` command line.
        allow_with: String,
    },
}

/// The rounds of earlier calls with the same baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct EarlierRounds {
    /// Rounds that `--once` calls have spent.
    pub rounds_used: u32,
    /// How many of them were answered at all.
    pub answered: u32,
    /// How many of them were answered with `waiting` or `working`.
    pub alive: u32,
    /// How often in a row the verdict of this spec was `nothing_to_do`.
    pub nothing_to_do_streak: u32,
    /// How many sessions in a row changed nothing under the same unmet checks.
    pub fruitless: u32,
    /// A hash of those checks.
    pub unmet: u64,
}

/// The configured criteria, judged together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChecksResult {
    /// Their common outcome.
    pub outcome: CheckOutcome,
    /// How strong a pass is.
    pub evidence: Evidence,
    /// The missing work, for the agent.
    pub feedback: String,
    /// Each one.
    pub results: Vec<CheckResult>,
    /// Whether all that a pass rests on passed already when the work began: it shows that nothing broke, and nothing else.
    pub all_passed_before: bool,
    /// Warnings that weaken a pass, such as lost tests.
    #[serde(deserialize_with = "read_known_notes")]
    pub notes: Vec<Degradation>,
}

/// The processes that the session left running, and whether they still hold its verdict.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SurvivorFacts {
    /// The holding processes, for a person.
    pub holding: Vec<String>,
    /// Whether the session is known to have ended with nothing of it running.
    pub session_over: bool,
    /// The processes that run without holding it any longer.
    #[serde(deserialize_with = "read_if_known")]
    pub released: Option<Degradation>,
}

/// The machine's events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MachineEvent {
    /// Begin.
    Start,
    /// Commits were read.
    Commits(ReadFact<Commits>),
    /// Uncommitted changes were read.
    Changes(ReadFact<Changes>),
    /// A snapshot was taken: its ref, or `None` where nothing was uncommitted any more.
    Snapshot(ReadFact<Option<String>>),
    /// The configured criteria were judged.
    Checks(ChecksResult),
    /// A question to the agent ended.
    Probe(ProbeRecord),
    /// A rescue ended.
    Rescue(ReadFact<RescueOutcome>),
    /// The pause is over, or was cut short because something moved.
    WaitOver,
    /// The processes that the session left running were read again.
    Survivors(SurvivorFacts),
    /// Signs of life were looked for.
    Activity(ActivityFacts),
    /// The files that say what done means were compared with the anchor's.
    Criteria(ReadFact<CriteriaChanged>),
    /// A signal asks for an end.
    Interrupt,
}

/// The machine's next request.
#[must_use = "the machine waits until the action was carried out and its event was handed back"]
#[derive(Debug, Clone, PartialEq)]
pub enum MachineAction {
    /// Answer with [`MachineEvent::Commits`].
    ReadCommits,
    /// Answer with [`MachineEvent::Changes`].
    ReadChanges,
    /// Answer with [`MachineEvent::Snapshot`].
    TakeSnapshot,
    /// Answer with [`MachineEvent::Checks`].
    JudgeChecks,
    /// Answer with [`MachineEvent::Probe`].
    Ask {
        /// Counts from 1 over all calls with this baseline.
        number: u32,
        /// The contradiction of the last answer, for the prompt.
        contradiction: Option<String>,
    },
    /// Answer with [`MachineEvent::Rescue`].
    Rescue,
    /// Answer with [`MachineEvent::WaitOver`].
    Wait(ProbePause),
    /// Answer with [`MachineEvent::Survivors`].
    ReadSurvivors,
    /// Answer with [`MachineEvent::Activity`].
    ReadActivity,
    /// Answer with [`MachineEvent::Criteria`].
    ReadCriteria,
    /// The end.
    Conclude(Box<Verdict>),
}

/// How long to pause, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProbePause {
    /// The configured pause between rounds: the agent said that it needs time.
    Interval(Duration),
    /// A backoff after a question that failed; `attempt` counts failures in a row from 1, `at_most` bounds it.
    Backoff {
        /// How many questions in a row failed.
        attempt: u32,
        /// The longest this pause may become.
        at_most: Duration,
    },
}
