//! Decides whether a rescue may commit now, and why not (rule 11 of the contract). Every command that rescues passes this gate. Pure.

use std::time::Duration;

use super::session_life::{LiveSession, SessionTurn};

/// The least time between the first and the last look of a command at the work.
pub const BETWEEN_LOOKS: Duration = Duration::from_secs(2);

/// The command that rescues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RescueCaller {
    /// `run`, `loop` and `task`, after a session of their own.
    OwnSession,
    /// A plain `check` or `rescue`: its caller's word for an end.
    Typed,
    /// `--once`, `sweep` and `watch`.
    Recurring,
}

/// Everything that bears on whether a rescue may commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitFacts {
    /// The command.
    pub caller: RescueCaller,
    /// Whether a session of this worktree itself called the command.
    pub from_inside: bool,
    /// Whether the session is known to have ended: watchdog ran it, `--pid` waited for it, a hook reported it, or its process is gone.
    pub ended: bool,
    /// The live session that decides, if any lives.
    pub alive: Option<LiveSession>,
    /// The age of the youngest lock file of git; `None` where there is none.
    pub git_lock: Option<Duration>,
    /// `rescue.quiet_seconds`.
    pub quiet: Duration,
    /// The time between the first and the last look of this command.
    pub between_looks: Duration,
    /// Whether both saw the same work.
    pub looks_equal: bool,
    /// The waking time for which the work is known to have stood still.
    pub still_for: Duration,
    /// Whether the agent itself answered `complete`.
    pub says_complete: bool,
    /// Whether the configuration sets `rescue.mode`.
    pub sets_mode: bool,
}

/// Why a rescue may not commit now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitHold {
    /// A session itself called the command.
    FromInside,
    /// A session lives.
    Alive(LiveSession),
    /// A lock file of git is this old.
    GitLock(Duration),
    /// The work changed during this command.
    Moved,
    /// The two looks are too close together to show that.
    LooksTooClose,
    /// The end is unknown, and nothing says that the work is complete.
    UnknownEnd,
    /// The end is unknown, and the work has stood still for this time only.
    NotStill(Duration),
}

/// Decides whether a rescue may commit.
///
/// # Errors
/// Why it may not.
pub fn may_commit(facts: &CommitFacts) -> Result<(), CommitHold> {
    if facts.from_inside {
        return Err(CommitHold::FromInside);
    }
    if let Some(session) = &facts.alive {
        return Err(CommitHold::Alive(session.clone()));
    }
    if let Some(age) = facts.git_lock.filter(|age| *age < facts.quiet) {
        return Err(CommitHold::GitLock(age));
    }
    if !facts.looks_equal {
        return Err(CommitHold::Moved);
    }
    if facts.between_looks < BETWEEN_LOOKS {
        return Err(CommitHold::LooksTooClose);
    }
    if facts.ended || facts.caller != RescueCaller::Recurring {
        return Ok(());
    }
    if !facts.says_complete && !facts.sets_mode {
        return Err(CommitHold::UnknownEnd);
    }
    if facts.still_for < facts.quiet {
        return Err(CommitHold::NotStill(facts.still_for));
    }
    Ok(())
}

impl CommitHold {
    /// The reason for a person.
    pub fn in_words(&self, quiet: Duration) -> String {
        let seconds = quiet.as_secs();
        match self {
            CommitHold::FromInside => "a session called watchdog, and nothing is committed from inside of one".into(),
            CommitHold::Alive(LiveSession { name, turn: SessionTurn::Busy }) => format!("{name} works in this worktree"),
            CommitHold::Alive(LiveSession { name, turn: SessionTurn::Over { .. } }) => format!("{name} is idle in this worktree"),
            CommitHold::GitLock(age) => format!("a lock file of git is {} s old, younger than {seconds} s", age.as_secs()),
            CommitHold::Moved | CommitHold::LooksTooClose => "the work changes while watchdog looks at it".into(),
            CommitHold::UnknownEnd => {
                "the end of the session is unknown, and its agent did not say that the work is complete (set rescue.mode to commit all the \
                 same)"
                    .into()
            }
            CommitHold::NotStill(still) => {
                format!("the end of the session is unknown, and the work has been still for {} s of {seconds} s", still.as_secs())
            }
        }
    }

    /// After how long another look may decide otherwise, where time alone decides.
    pub fn retry_after(&self, quiet: Duration) -> Option<Duration> {
        match self {
            CommitHold::GitLock(passed) | CommitHold::NotStill(passed) => {
                Some(quiet.saturating_sub(*passed))
            }
            CommitHold::Moved | CommitHold::LooksTooClose => Some(quiet),
            CommitHold::FromInside | CommitHold::Alive(_) | CommitHold::UnknownEnd => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    const QUIET: Duration = Duration::from_secs(600);

    /// A recurring look at work that is long still, with the agent's `complete`.
    fn still_work() -> CommitFacts {
        CommitFacts {
            caller: RescueCaller::Recurring,
            from_inside: false,
            ended: false,
            alive: None,
            git_lock: None,
            quiet: QUIET,
            between_looks: BETWEEN_LOOKS,
            looks_equal: true,
            still_for: QUIET,
            says_complete: true,
            sets_mode: false,
        }
    }

    fn live(turn: SessionTurn) -> Option<LiveSession> {
        Some(LiveSession {
            name: "claude (process 7)".into(),
            turn,
        })
    }

    fn hold(change: impl FnOnce(&mut CommitFacts)) -> Option<CommitHold> {
        let mut facts = still_work();
        change(&mut facts);
        may_commit(&facts).err()
    }

    #[test]
    fn nothing_is_committed_beneath_a_live_session() {
        let idle = SessionTurn::Over {
            since: Timestamp::UNIX_EPOCH,
        };
        for caller in [
            RescueCaller::OwnSession,
            RescueCaller::Typed,
            RescueCaller::Recurring,
        ] {
            for ended in [false, true] {
                for turn in [SessionTurn::Busy, idle] {
                    let decided = hold(|facts| {
                        (facts.caller, facts.ended, facts.alive) = (caller, ended, live(turn))
                    });
                    assert_eq!(
                        decided,
                        live(turn).map(CommitHold::Alive),
                        "{caller:?} {ended} {turn:?}"
                    );
                }
                let decided = hold(|facts| {
                    (facts.caller, facts.ended, facts.from_inside) = (caller, ended, true)
                });
                assert_eq!(decided, Some(CommitHold::FromInside), "{caller:?}");
                let young = Duration::from_secs(599);
                let decided = hold(|facts| {
                    (facts.caller, facts.ended, facts.git_lock) = (caller, ended, Some(young))
                });
                assert_eq!(decided, Some(CommitHold::GitLock(young)), "{caller:?}");
                assert_eq!(
                    hold(|facts| (facts.caller, facts.ended, facts.git_lock) =
                        (caller, ended, Some(QUIET))),
                    None,
                    "{caller:?}"
                );
                let decided = hold(|facts| {
                    (facts.caller, facts.ended, facts.looks_equal) = (caller, ended, false)
                });
                assert_eq!(decided, Some(CommitHold::Moved), "{caller:?}");
                let close = BETWEEN_LOOKS - Duration::from_millis(1);
                let decided = hold(|facts| {
                    (facts.caller, facts.ended, facts.between_looks) = (caller, ended, close)
                });
                assert_eq!(decided, Some(CommitHold::LooksTooClose), "{caller:?}");
            }
        }
    }

    #[test]
    fn an_unknown_end_needs_complete_and_stillness() {
        use RescueCaller::{OwnSession, Recurring, Typed};
        let (short, none) = (Duration::from_secs(599), Duration::ZERO);
        for (caller, ended, says_complete, sets_mode, still_for, expected) in [
            (Recurring, false, true, false, QUIET, None),
            (Recurring, false, false, true, QUIET, None),
            (
                Recurring,
                false,
                true,
                false,
                short,
                Some(CommitHold::NotStill(short)),
            ),
            (
                Recurring,
                false,
                false,
                true,
                none,
                Some(CommitHold::NotStill(none)),
            ),
            (
                Recurring,
                false,
                false,
                false,
                QUIET,
                Some(CommitHold::UnknownEnd),
            ),
            (Recurring, true, false, false, none, None),
            (Typed, false, false, false, none, None),
            (OwnSession, true, false, false, none, None),
        ] {
            let decided = hold(|facts| {
                (facts.caller, facts.ended) = (caller, ended);
                (facts.says_complete, facts.sets_mode, facts.still_for) =
                    (says_complete, sets_mode, still_for);
            });
            assert_eq!(
                decided, expected,
                "{caller:?} ended={ended} complete={says_complete} mode={sets_mode} {still_for:?}"
            );
        }
    }

    #[test]
    fn a_hold_tells_when_time_ends_it() {
        let seconds = Duration::from_secs;
        assert_eq!(
            CommitHold::NotStill(seconds(100)).retry_after(QUIET),
            Some(seconds(500))
        );
        assert_eq!(
            CommitHold::GitLock(seconds(1)).retry_after(QUIET),
            Some(seconds(599))
        );
        assert_eq!(CommitHold::UnknownEnd.retry_after(QUIET), None);
        assert!(
            CommitHold::NotStill(seconds(100))
                .in_words(QUIET)
                .contains("still for 100 s of 600 s")
        );
    }
}
