//! The stages of a check in progress: the awaited event, and its purpose.

/// The awaited event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum MachineStage {
    Begin,
    Commits(CommitsPurpose),
    Changes(AfterSnapshot),
    Snapshot(AfterSnapshot),
    Checks(CommitsPurpose),
    Probe,
    Rescue(RescueReason),
    Criteria,
    Pause,
    Survivors,
    Activity,
    Done,
}

impl MachineStage {
    /// Whether a signal has been seen already, and the end is under way.
    pub(super) fn is_ending(self) -> bool {
        matches!(
            self,
            MachineStage::Commits(CommitsPurpose::Interrupted)
                | MachineStage::Changes(AfterSnapshot::Interrupted)
                | MachineStage::Snapshot(AfterSnapshot::Interrupted)
        )
    }
}

/// The purpose of reading commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum CommitsPurpose {
    /// A round begins.
    Round,
    /// The last round is over, or no probe will follow.
    Last,
    /// A probe ended; commits may have landed meanwhile.
    Probed,
    /// A rescue made commits: its purpose decides.
    Rescued(RescueReason),
    /// A signal came.
    Interrupted,
}

/// The next step once the changes are known and the work is in a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum AfterSnapshot {
    JudgeChecks(CommitsPurpose),
    Ask,
    /// Commits are there and no checks are: they decide unless some of the session's work is left.
    Commits(CommitsPurpose),
    /// Commits are there and a criterion is not met; only say what is left.
    ChecksUnmet,
    /// An operation of git is half done.
    HalfDone,
    /// No probe.
    NoProbe,
    /// No agent can be asked, or the breaker is open.
    Unasked,
    /// The session met a usage limit.
    RateLimited,
    /// The session's program cannot work.
    Unrunnable,
    /// Work of the session runs on without it.
    LeftWork,
    /// The session was refused tools: if it left nothing, that is why.
    Refused,
    /// A process of the session still runs: no probe before it ends.
    Survivors,
    /// A session lives, or its work moves: no probe.
    Alive,
    /// Rescue, then decide by what called for it.
    Rescue(RescueReason),
    Interrupted,
}

/// The reason of a rescue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum RescueReason {
    /// The agent says complete.
    Claim,
    /// The agent answers that it should not continue.
    AgentStopped,
    /// The session is over, and a criterion is not met.
    Unmet,
    /// The session is over, and its agent says that the work is not done.
    NotDone,
    /// The session is over, and no agent can be asked, or the breaker is open.
    Unasked,
    /// The last round is over.
    Last,
    /// The session was ended by its timeout or for silence.
    SessionCutoff,
    /// A budget or the deadline ended the session.
    OverLimit,
    /// Every criterion passed.
    ChecksPassed,
}

/// Why no probe will follow, before the rounds are spent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ProbeStopReason {
    /// The agent met a usage limit.
    RateLimited {
        why: String,
        retry_at: Option<jiff::Timestamp>,
    },
    /// A limit of another machine, a budget or a cap left the question unasked.
    Withheld {
        why: String,
        retry_at: Option<jiff::Timestamp>,
    },
    /// The agent cannot be run until a person does something.
    Unrunnable { why: String },
    /// Another question would bring nothing else.
    NoAnswer,
}
