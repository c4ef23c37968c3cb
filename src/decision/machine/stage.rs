//! Where a check in progress stands: what the machine waits for, and what it is for.

/// What the machine waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Begin,
    Commits(Look),
    Changes(Then),
    Snapshot(Then),
    Checks(Look),
    Probe,
    Rescue(RescueFor),
    Criteria,
    Pause,
    Activity,
    Done,
}

impl Stage {
    /// Whether a signal has been seen already, and the end is under way.
    pub(super) fn is_ending(self) -> bool {
        matches!(self, Stage::Commits(Look::Interrupted) | Stage::Changes(Then::Interrupted) | Stage::Snapshot(Then::Interrupted))
    }
}

/// Why commits are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// A round begins.
    Round,
    /// The last round is over.
    Last,
    /// A probe ended; commits may have landed meanwhile.
    Probed,
    /// A rescue made commits: what it was for is decided with them.
    Rescued(RescueFor),
    /// A signal came.
    Interrupted,
}

/// What follows once the changes are known and the work is in a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    JudgeChecks(Look),
    Ask,
    /// Commits decided; only say what is left.
    NewCommits,
    /// Commits are there and a criterion is not met; only say what is left.
    ChecksUnmet,
    /// Nobody is asked.
    NoProbe,
    /// The session met a usage limit.
    RateLimited,
    /// The session's program cannot work.
    Unrunnable,
    /// Work of the session runs on without it.
    LeftWork,
    /// Rescue, then decide by what called for it.
    Rescue(RescueFor),
    Interrupted,
}

/// What called for a rescue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RescueFor {
    /// The agent says complete.
    Claim,
    /// The agent says that it should not go on.
    AgentStopped,
    /// The last round is over.
    Last,
    /// The session was cut short by its timeout.
    SessionTimeout,
    /// A budget or the deadline ended the session.
    OverLimit,
    /// Every criterion passed.
    ChecksPassed,
}
