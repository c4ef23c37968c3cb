//! The judgement: status, reason and strength of evidence, with the words and exit codes of the contract.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::evidence::{
    Changes, CheckResult, Commits, Degradation, FaultKind, LeftOut, ProbeOutcome, UnreadableFact,
    WarningCode,
};
use super::gate_hooks::GateOff;
use super::ignored_files::LostFile;
use super::work_claim::WeighedClaim;

/// How strong a `complete` is. Ordered from weak to strong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// No evidence.
    None,
    /// The agent's word.
    Claimed,
    /// A count of iterations.
    Counted,
    /// The session's work is in commits, and no check judged it.
    Committed,
    /// A configured check by command, file or git criterion showed it.
    Verified,
}

impl Evidence {
    /// The word used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Evidence::None => "none",
            Evidence::Claimed => "claimed",
            Evidence::Counted => "counted",
            Evidence::Committed => "committed",
            Evidence::Verified => "verified",
        }
    }
}

/// The result of a check. The order is the contract's, not one of severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The work is done.
    Complete,
    /// More work is wanted.
    Incomplete,
    /// Work runs outside of the session, or cannot run yet.
    Waiting,
    /// A person must decide.
    Review,
    /// Every probe was spent and nothing came.
    Timeout,
    /// A limit ended it.
    Stopped,
    /// Trying again cannot help.
    Failed,
    /// The question could not be answered.
    Error,
}

impl Status {
    /// The word used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Complete => "complete",
            Status::Incomplete => "incomplete",
            Status::Waiting => "waiting",
            Status::Review => "review",
            Status::Timeout => "timeout",
            Status::Stopped => "stopped",
            Status::Failed => "failed",
            Status::Error => "error",
        }
    }

    /// The exit code of the process that prints it.
    pub fn exit_code(self) -> u8 {
        match self {
            Status::Complete => 0,
            Status::Incomplete => 10,
            Status::Waiting => 11,
            Status::Review => 12,
            Status::Timeout => 13,
            Status::Stopped => 14,
            Status::Failed => 15,
            Status::Error => 16,
        }
    }
}

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident => $status:ident, $word:literal;)*) => {
        /// The reason of a verdict. Each reason belongs to exactly one status.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum Reason { $($(#[$doc])* #[serde(rename = $word)] $name,)* }

        impl Reason {
            /// Every reason, in the contract's order.
            pub const ALL: &'static [Reason] = &[$(Reason::$name,)*];

            /// The status that this reason belongs to.
            pub fn status(self) -> Status { match self { $(Reason::$name => Status::$status,)* } }

            /// The word used in JSON.
            pub fn as_str(self) -> &'static str { match self { $(Reason::$name => $word,)* } }

            /// The reason of that word, where this version knows it.
            pub fn from_word(word: &str) -> Option<Self> { match word { $($word => Some(Reason::$name),)* _ => None } }
        }
    };
}

reasons! {
    /// Commits were made here, with a net change.
    NewCommits => Complete, "new_commits";
    /// A rescue made the commits.
    Rescued => Complete, "rescued";
    /// The agent says that nothing was to be done, and nothing is uncommitted.
    NothingToDo => Complete, "nothing_to_do";
    /// Every configured check passed.
    ChecksPassed => Complete, "checks_passed";
    /// A configured check is not met.
    ChecksUnmet => Incomplete, "checks_unmet";
    /// The session ended, or was not asked about, without a sign that its work is done.
    Unfinished => Incomplete, "unfinished";
    /// The agent answered that it works, and its session is not known to have ended.
    Working => Incomplete, "working";
    /// A rebase, merge or another operation of git is half done, or paths are in conflict.
    OperationInProgress => Incomplete, "operation_in_progress";
    /// The agent waits for work that runs outside of the session.
    BackgroundWork => Waiting, "background_work";
    /// A session of this worktree still runs.
    SessionActive => Waiting, "session_active";
    /// A usage limit; `retry_at` where it is known.
    RateLimited => Waiting, "rate_limited";
    /// Another watchdog works on this worktree.
    Locked => Waiting, "locked";
    /// Tasks that this one depends on are not done.
    Dependencies => Waiting, "dependencies";
    /// No criteria are configured, and the configuration asks for a person then.
    NoCriteria => Review, "no_criteria";
    /// The cap of iterations is reached.
    MaxIterations => Review, "max_iterations";
    /// A check's own deadline passed.
    VerifyTimeout => Review, "verify_timeout";
    /// A check ran without a result.
    VerifyFailed => Review, "verify_failed";
    /// The third "nothing to do" in a row.
    RepeatedNothingToDo => Review, "repeated_nothing_to_do";
    /// The agent contradicts itself or git, twice; or its evidence is too weak for the configuration.
    Disputed => Review, "disputed";
    /// Guarded criteria changed during the session.
    CriteriaChanged => Review, "criteria_changed";
    /// The session weakened the tests that judge it.
    TestsWeakened => Review, "tests_weakened";
    /// The configuration's commands are not trusted.
    Untrusted => Review, "untrusted";
    /// Work could not be proved to be in HEAD or in the work tree.
    RescueIncomplete => Review, "rescue_incomplete";
    /// Every probe was spent and nothing came.
    MaxProbes => Timeout, "max_probes";
    /// The session's own time ran out with nothing done.
    SessionTimeout => Timeout, "session_timeout";
    /// The session fell silent and was ended, with nothing done.
    SessionIdle => Timeout, "session_idle";
    /// The circuit breaker is open.
    BreakerOpen => Stopped, "breaker_open";
    /// A budget is spent.
    BudgetExhausted => Stopped, "budget_exhausted";
    /// The configured deadline passed.
    DeadlineExceeded => Stopped, "deadline_exceeded";
    /// The agent answered that it should not continue.
    AgentStopped => Stopped, "agent_stopped";
    /// A signal ended it.
    Interrupted => Stopped, "interrupted";
    /// A check's command cannot be run.
    VerifyUnrunnable => Failed, "verify_unrunnable";
    /// The agent's program cannot be run.
    AgentUnrunnable => Failed, "agent_unrunnable";
    /// A halt was requested.
    Halted => Failed, "halted";
    /// No baseline is recorded that the judgement could begin from.
    NoBaseline => Error, "no_baseline";
    /// No probe was answered.
    ProbeError => Error, "probe_error";
    /// git's data could not be read.
    GitError => Error, "git_error";
    /// There is no git work tree.
    NotARepository => Error, "not_a_repository";
    /// The configuration is unusable.
    ConfigError => Error, "config_error";
    /// watchdog's own state could not be read or written.
    StoreError => Error, "store_error";
    /// The work that was there before the session could not be kept in a snapshot, so the session was not started.
    SnapshotFailed => Error, "snapshot_failed";
}

impl From<FaultKind> for Reason {
    fn from(kind: FaultKind) -> Self {
        match kind {
            FaultKind::NotARepository => Reason::NotARepository,
            FaultKind::Git => Reason::GitError,
            FaultKind::NoBaseline => Reason::NoBaseline,
            FaultKind::Store => Reason::StoreError,
            FaultKind::Config => Reason::ConfigError,
            FaultKind::Snapshot => Reason::SnapshotFailed,
        }
    }
}

/// A probe as it went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProbeRecord {
    /// When it was sent.
    pub at: Timestamp,
    /// Wall time that it took.
    #[serde(rename = "duration_ms", with = "super::millis")]
    pub duration: Duration,
    /// How it ended.
    #[serde(flatten)]
    pub outcome: ProbeOutcome,
    /// Why its reply is disputed, if it is.
    pub disputed: Option<String>,
    /// The id of the session that answered, where its output has it.
    pub session_id: Option<String>,
    /// The cost of the probe, where the agent reports it.
    pub usage: ProbeUsage,
    /// Whether a limit of another machine, a budget or a cap left the question unasked: no agent met a limit.
    pub withheld: bool,
}

impl ProbeRecord {
    /// Whether it is an earlier answer that was reused in place of a probe.
    pub fn stands(&self) -> bool {
        let unasked = self.withheld
            || matches!(
                self.outcome,
                ProbeOutcome::NotInstalled { .. } | ProbeOutcome::NoConversation { .. }
            );
        self.usage.requests == 0 && !unasked
    }
}

/// The cost of probes. A figure that the agent does not report is `None`, never zero.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct ProbeUsage {
    /// US dollars, as the agent reckons them.
    pub cost_usd: Option<f64>,
    /// Input tokens, cached ones included.
    pub input_tokens: Option<u64>,
    /// Output tokens.
    pub output_tokens: Option<u64>,
    /// How many questions were sent, rescue plans and judges included.
    pub requests: u64,
}

impl ProbeUsage {
    /// The sum of two. If only one of them has a figure, that is the sum.
    pub fn plus(self, added: ProbeUsage) -> ProbeUsage {
        fn sum<T: std::ops::Add<Output = T>>(a: Option<T>, b: Option<T>) -> Option<T> {
            match (a, b) {
                (Some(a), Some(b)) => Some(a + b),
                (one, other) => one.or(other),
            }
        }
        ProbeUsage {
            requests: self.requests + added.requests,
            input_tokens: sum(self.input_tokens, added.input_tokens),
            output_tokens: sum(self.output_tokens, added.output_tokens),
            cost_usd: sum(self.cost_usd, added.cost_usd),
        }
    }
}

/// The judgement with all its evidence.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// Decides the status as well.
    pub reason: Reason,
    /// Strength of a `complete`; [`Evidence::None`] for everything else.
    pub evidence: Evidence,
    /// A line for a person.
    pub message: String,
    /// The next step for the agent; never `None` when incomplete.
    pub feedback: Option<String>,
    /// When looking again makes sense, where that is known.
    pub retry_at: Option<Timestamp>,
    /// The commits as last read; `None` where that failed or was not needed.
    pub commits: Option<Commits>,
    /// The changes as last read; `None` where they were not needed.
    pub changes: Option<Changes>,
    /// Commits made by rescue.
    pub rescue_commits: u64,
    /// The last snapshot ref.
    pub snapshot: Option<String>,
    /// The branch, without `refs/heads/`, that took a rescue's commits instead of the current one.
    pub rescue_branch: Option<String>,
    /// The paths that rescue left out.
    pub left_out: Vec<LeftOut>,
    /// Rounds spent, those of earlier `--once` calls included.
    pub probes_used: u32,
    /// Rounds that a later `--once` call may still spend.
    pub probes_left: u32,
    /// The probes of this call.
    pub probes: Vec<ProbeRecord>,
    /// The configured checks, as last judged.
    pub checks: Vec<CheckResult>,
    /// Whether the breaker counts it.
    pub strike: bool,
    /// Why it is not a strike; `None` when it is one.
    pub not_a_strike_because: Option<&'static str>,
    /// Warnings about the facts.
    pub degraded: Vec<Degradation>,
    /// How many uncommitted files were there before the session and are still as they were: kept, and not its work.
    pub inherited: u64,
    /// How many files changed after the recorded end of the session: kept, and no session's work.
    pub changed_since_end: u64,
    /// Since when the inputs of a reused answer are unchanged.
    pub unchanged_since: Option<Timestamp>,
    /// The cost of this judgement's probes.
    pub probe_usage: ProbeUsage,
    /// The work of the session's helpers that HEAD lacks, one line each.
    pub helpers: Vec<String>,
    /// The claims of the session's last words about its work.
    pub claims: Vec<WeighedClaim>,
    /// The repository's own gates that are off.
    pub gates_off: Vec<GateOff>,
    /// The ignored files of the session's begin that are gone.
    pub ignored_lost: Vec<LostFile>,
}

impl Verdict {
    /// Adds a warning.
    pub fn add_note(&mut self, code: WarningCode, detail: impl ToString) {
        self.degraded.push(Degradation::new(code, detail));
    }

    /// Adds a clause to the message.
    pub fn add_clause(&mut self, clause: &str) {
        self.message = format!("{}; {clause}", self.message);
    }

    /// A verdict with a reason and a message, and nothing else known.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Verdict {
            reason,
            evidence: Evidence::None,
            message: message.into(),
            feedback: None,
            retry_at: None,
            commits: None,
            changes: None,
            rescue_commits: 0,
            snapshot: None,
            rescue_branch: None,
            left_out: Vec::new(),
            probes_used: 0,
            probes_left: 0,
            probes: Vec::new(),
            checks: Vec::new(),
            strike: false,
            not_a_strike_because: Some(reason.status().as_str()),
            degraded: Vec::new(),
            inherited: 0,
            changed_since_end: 0,
            unchanged_since: None,
            probe_usage: ProbeUsage::default(),
            helpers: Vec::new(),
            claims: Vec::new(),
            gates_off: Vec::new(),
            ignored_lost: Vec::new(),
        }
    }

    /// The verdict that a fact which could not be read leads to.
    pub fn unreadable(unreadable: UnreadableFact) -> Self {
        let hint = unreadable
            .hint
            .map(|hint| format!("; {hint}"))
            .unwrap_or_default();
        Verdict::new(unreadable.kind.into(), format!("{}{hint}", unreadable.why))
    }

    /// The status of the reason.
    pub fn status(&self) -> Status {
        self.reason.status()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_answer_without_question_stands_for_another() {
        let why = || "x".to_owned();
        let record = |outcome: &ProbeOutcome, requests, withheld| ProbeRecord {
            at: Timestamp::UNIX_EPOCH,
            duration: Duration::ZERO,
            outcome: outcome.clone(),
            disputed: None,
            session_id: None,
            usage: ProbeUsage {
                requests,
                ..ProbeUsage::default()
            },
            withheld,
        };
        for (probe, stands) in [
            (record(&ProbeOutcome::Empty, 0, false), true),
            (record(&ProbeOutcome::Empty, 1, false), false),
            (
                record(
                    &ProbeOutcome::RateLimited {
                        why: why(),
                        retry_at: None,
                    },
                    0,
                    true,
                ),
                false,
            ),
            (
                record(&ProbeOutcome::NotInstalled { why: why() }, 0, false),
                false,
            ),
            (
                record(&ProbeOutcome::NoConversation { why: why() }, 0, false),
                false,
            ),
        ] {
            assert_eq!(probe.stands(), stands, "{probe:?}");
        }
    }

    #[test]
    fn cost_sum_has_every_known_figure() {
        let usage = |requests, input_tokens, output_tokens, cost_usd| ProbeUsage {
            requests,
            input_tokens,
            output_tokens,
            cost_usd,
        };
        let (one, other) = (
            usage(1, Some(10), Some(3), None),
            usage(2, Some(5), None, Some(0.25)),
        );
        let sum = usage(3, Some(15), Some(3), Some(0.25));
        assert_eq!((one.plus(other), other.plus(one)), (sum, sum));
        assert_eq!(
            usage(1, None, None, None).plus(usage(1, None, None, None)),
            usage(2, None, None, None),
            "unknown is not zero"
        );
    }
}
