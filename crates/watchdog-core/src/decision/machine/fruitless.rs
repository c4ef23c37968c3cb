//! Fruitless sessions: each is a strike, and the third in a row under the same unmet checks is a review.

use crate::decision::judgement_rule::JudgementRule;
use crate::decision::rounds::unmet_checks;
use watchdog_facts::evidence::{ProbeOutcome, ReplyStatus, SessionEnd, WarningCode};
use watchdog_facts::verdict::{Reason, Status, Verdict};

use super::facts::JudgementScope;
use super::step::CheckMachine;

/// Causes that kept a session from its work, so that it is not to blame.
const NO_STRIKE: [WarningCode; 4] = [
    WarningCode::SessionCutShort,
    WarningCode::SessionPaused,
    WarningCode::ToolsRefused,
    WarningCode::Overloaded,
];

impl CheckMachine {
    /// Counts a fruitless session that watchdog ran as a strike (rule 4 of the contract).
    pub(super) fn count_session(&mut self, verdict: Verdict) -> Verdict {
        if !self.came_to_nothing(&verdict) {
            return verdict;
        }
        self.by(JudgementRule::StrikeOfSession);
        let verdict = Verdict {
            strike: true,
            not_a_strike_because: None,
            ..verdict
        };
        let in_a_row = if self.setup.earlier.unmet == self.unmet_checks() {
            self.setup.earlier.fruitless + 1
        } else {
            1
        };
        match self.setup.no_progress_limit {
            Some(limit) if verdict.reason == Reason::ChecksUnmet && in_a_row >= limit => {
                let detail = format!("{in_a_row} sessions in a row left the work as it was");
                self.by(JudgementRule::ThreeSessionsWithout);
                self.note(WarningCode::NoProgress, detail.clone());
                Verdict {
                    reason: Reason::MaxIterations,
                    message: format!("{detail}, and {}", verdict.message),
                    ..verdict
                }
            }
            _ => verdict,
        }
    }

    /// Whether the session changed nothing: HEAD and its work are as before, and no answer claims that it is complete.
    fn came_to_nothing(&self, verdict: &Verdict) -> bool {
        let ended = match self.setup.session {
            Some(
                SessionEnd::Ended { .. } | SessionEnd::TimedOut { .. } | SessionEnd::Idle { .. },
            ) => true,
            // The cause is unknown: neither its service nor a limit of its own stopped it.
            Some(SessionEnd::CutShort { .. }) => self
                .degraded
                .iter()
                .any(|note| note.code == WarningCode::EndUnconfirmed),
            _ => false,
        };
        let judged = matches!(verdict.status(), Status::Incomplete | Status::Timeout)
            && verdict.reason != Reason::OperationInProgress;
        let claims = |outcome: &ProbeOutcome| matches!(outcome, ProbeOutcome::Reply(reply) if reply.status == ReplyStatus::Complete);
        ended
            && judged
            && self.left_nothing()
            && self.setup.scope == JudgementScope::Session
            && self.rescue_commits == 0
            && self.setup.survivors.is_empty()
            && self.no_more_questions.is_none()
            && !self.probes.iter().any(|probe| claims(&probe.outcome))
            && !self
                .degraded
                .iter()
                .any(|note| NO_STRIKE.contains(&note.code))
    }

    fn unmet_checks(&self) -> u64 {
        self.judged
            .as_ref()
            .map_or(0, |judged| unmet_checks(&judged.results))
    }
}
