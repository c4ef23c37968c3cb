//! How the end of the session decides: before the first fact, and in place of a question to the agent.

use watchdog_facts::display::plural;
use watchdog_facts::evidence::{FaultKind, HeldRescue, SessionEnd, UnreadableFact, WarningCode};
use watchdog_facts::verdict::{Reason, Verdict};

use crate::decision::judgement_rule::JudgementRule;
use crate::decision::session_life::SessionLife;

use super::facts::{JudgementScope, MachineAction, UnaskedCause};
use super::stage::{AfterSnapshot, RescueReason};
use super::step::CheckMachine;

impl CheckMachine {
    /// The first action.
    pub(super) fn begin(&mut self) -> MachineAction {
        match &self.setup.session {
            _ if self.setup.scope
                == (JudgementScope::Criteria {
                    baseline_known: false,
                }) =>
            {
                self.without_a_baseline()
            }
            // Resources come back, so this is no permanent failure; and there is no background work to wait for.
            Some(SessionEnd::NotStarted {
                why,
                shortage: true,
            }) => {
                let why = why.clone();
                self.by(JudgementRule::SessionNotStarted);
                self.conclude_unreadable(UnreadableFact {
                    kind: FaultKind::Store,
                    why,
                    hint: Some("then start it again".into()),
                })
            }
            Some(SessionEnd::NotStarted {
                why,
                shortage: false,
            }) => {
                let why = why.clone();
                self.by(JudgementRule::SessionNotStarted);
                self.conclude_agent_unrunnable(&why)
            }
            Some(SessionEnd::NotKept { why }) => {
                let hint = "remedy that, or start it all the same with --without-snapshot";
                let why = format!(
                    "the session was not started: what is uncommitted could not be kept in a snapshot first: {why}"
                );
                self.by(JudgementRule::SnapshotFirst);
                self.conclude_unreadable(UnreadableFact {
                    kind: FaultKind::Snapshot,
                    why,
                    hint: Some(hint.into()),
                })
            }
            None if self.is_busy() => {
                self.by(JudgementRule::NothingBeneathLife);
                self.conclude_session_active()
            }
            Some(
                SessionEnd::Ended { .. }
                | SessionEnd::CutShort { .. }
                | SessionEnd::TimedOut { .. }
                | SessionEnd::Idle { .. }
                | SessionEnd::RateLimited { .. }
                | SessionEnd::OverLimit { .. }
                | SessionEnd::Unrunnable { .. }
                | SessionEnd::LeftWork { .. },
            )
            | None => self.next_round(),
        }
    }

    /// Commits did not decide. The findings of `run` about the session come before a question to
    /// the agent.
    pub(super) fn ask_or_use_the_session(&mut self) -> MachineAction {
        let (rule, then) = match &self.setup.session {
            Some(SessionEnd::TimedOut { .. } | SessionEnd::Idle { .. }) => (
                JudgementRule::SessionCutShort,
                AfterSnapshot::Rescue(RescueReason::SessionCutoff),
            ),
            Some(SessionEnd::RateLimited { .. }) => {
                (JudgementRule::SessionMetLimit, AfterSnapshot::RateLimited)
            }
            Some(SessionEnd::Unrunnable { .. }) => {
                (JudgementRule::SessionUnrunnable, AfterSnapshot::Unrunnable)
            }
            Some(SessionEnd::LeftWork { .. }) => {
                (JudgementRule::SessionLeftWork, AfterSnapshot::LeftWork)
            }
            Some(SessionEnd::OverLimit { .. }) => (
                JudgementRule::SessionOverLimit,
                AfterSnapshot::Rescue(RescueReason::OverLimit),
            ),
            Some(SessionEnd::Ended { .. } | SessionEnd::CutShort { .. })
                if self.was_refused_tools() =>
            {
                return self.secure(AfterSnapshot::Refused);
            }
            Some(
                SessionEnd::Ended { .. }
                | SessionEnd::CutShort { .. }
                | SessionEnd::NotStarted { .. }
                | SessionEnd::NotKept { .. },
            )
            | None => return self.ask_unless_over(),
        };
        self.by(rule);
        self.secure(then)
    }

    /// Whether the program refused the session tools, and nothing else kept it from its work.
    pub(super) fn was_refused_tools(&self) -> bool {
        let has = |code| self.setup.notes.iter().any(|note| note.code == code);
        self.setup.survivors.is_empty()
            && has(WarningCode::ToolsRefused)
            && !has(WarningCode::Overloaded)
    }

    /// Whether HEAD and the session's work are as before it.
    pub(super) fn left_nothing(&self) -> bool {
        let as_it_was = self.commits.as_ref().is_some_and(|commits| {
            commits.new_commits == 0
                && commits.beside.is_empty()
                && !commits
                    .degraded
                    .iter()
                    .any(|note| note.code == WarningCode::HistoryRewritten)
        });
        let untouched = self.changes.as_ref().is_some_and(|changes| {
            !changes.work_left()
                && !changes
                    .degraded
                    .iter()
                    .any(|note| note.code == WarningCode::InheritedOverwritten)
        });
        as_it_was && untouched
    }

    /// The session ended by itself, or its end is unknown.
    pub(super) fn ask_unless_over(&mut self) -> MachineAction {
        // An agent that its service or its own limit ended knows no more than git does.
        let ended_early = matches!(self.setup.session, Some(SessionEnd::CutShort { .. }));
        let (rule, then) = if self.setup.no_probe {
            (JudgementRule::NoProbeByOption, AfterSnapshot::NoProbe)
        } else if (self.setup.session_over || ended_early && self.setup.survivors.is_empty())
            && self.checks_unmet()
        {
            // No agent works on the missing part any more, and no answer would change that.
            (
                JudgementRule::NoProbeAfterEnd,
                AfterSnapshot::Rescue(RescueReason::Unmet),
            )
        } else if !self.setup.survivors.is_empty() {
            (JudgementRule::SurvivorsHold, AfterSnapshot::Survivors)
        } else if ended_early {
            (
                JudgementRule::SessionCutShort,
                AfterSnapshot::Rescue(RescueReason::SessionCutoff),
            )
        } else if let Some(cause) = self.setup.unasked {
            // A person who typed the command says that the session is over; without that word or a known end nothing is committed.
            let over = self.setup.session_over || self.setup.session.is_some() || !self.setup.once;
            let rule = match cause {
                UnaskedCause::NoAgent => JudgementRule::NoAgentToAsk,
                UnaskedCause::BreakerOpen => JudgementRule::BreakerHoldsQuestions,
            };
            (
                rule,
                if over {
                    AfterSnapshot::Rescue(RescueReason::Unasked)
                } else {
                    AfterSnapshot::Unasked
                },
            )
        } else {
            (JudgementRule::ProbeAgent, AfterSnapshot::Ask)
        };
        self.by(rule);
        self.secure(then)
    }

    /// Whether a session that watchdog did not just run works here.
    fn is_busy(&self) -> bool {
        self.setup.session.is_none() && matches!(self.setup.life, SessionLife::Busy { .. })
    }

    /// Whether such a session is idle, or its work moves: commits and checks decide, and watchdog sends no probe.
    pub(super) fn is_unasked(&self) -> bool {
        self.setup.session.is_none()
            && matches!(
                self.setup.life,
                SessionLife::Idle { .. } | SessionLife::Moved { .. }
            )
    }

    /// Whether watchdog ended the session, by its timeout or for silence.
    pub(super) fn cut_short(&self) -> bool {
        matches!(
            self.setup.session,
            Some(SessionEnd::TimedOut { .. } | SessionEnd::Idle { .. })
        )
    }

    /// A session lives, or its work moves.
    pub(super) fn conclude_session_active(&mut self) -> MachineAction {
        let words = match &self.setup.life {
            SessionLife::Busy { words }
            | SessionLife::Idle { words }
            | SessionLife::Moved { words } => words.clone(),
            SessionLife::Absent => String::new(),
        };
        let work = self.changes.as_ref().map_or(0, |changes| changes.work);
        let commits = self.commits.as_ref();
        let commits = commits.map(|commits| format!(", {}", plural(commits.made_here, "commit")));
        let uncommitted = if work > 0 {
            format!(", {} not committed", plural(work, "file"))
        } else {
            String::new()
        };
        let commits = commits.unwrap_or_default();
        let message = format!("{words}{commits}{uncommitted}{}", self.kept_in());
        self.conclude_advising(Reason::SessionActive, message, self.unmet())
    }

    /// The agent says complete, and its work may not be committed yet.
    pub(super) fn conclude_held_back(&mut self, rescue: &HeldRescue) -> MachineAction {
        let work = self.changes.as_ref().map_or(0, |changes| changes.work);
        let message = format!(
            "the agent says that everything is done; {} not committed yet: {}{}",
            plural(work, "file"),
            rescue.why,
            self.kept_in()
        );
        self.conclude(Verdict {
            retry_at: rescue.retry_at,
            ..Verdict::new(Reason::SessionActive, message)
        })
    }
}
