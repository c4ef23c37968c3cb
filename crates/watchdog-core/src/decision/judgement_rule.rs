//! The rules of the contract by name, each with the sentence that a person reads in an explanation.

use serde::ser::{Serialize, SerializeStruct as _, Serializer};

macro_rules! rules {
    ($($(#[doc = $doc:expr])* $name:ident = $word:literal, $section:literal, $sentence:literal;)*) => {
        /// A rule that a judgement applied. The word of a rule never changes; its sentence may be worded anew.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum JudgementRule { $($(#[doc = $doc])* $name,)* }

        impl JudgementRule {
            /// Every rule, in the order of the decision tree.
            pub const ALL: &[JudgementRule] = &[$(JudgementRule::$name,)*];

            /// The stable word, used in JSON.
            pub const fn as_str(self) -> &'static str { match self { $(JudgementRule::$name => $word,)* } }

            /// Its section: a step of "How it is decided" in docs/verdict.md, or a rule that holds
            /// everywhere.
            pub const fn section(self) -> &'static str { match self { $(JudgementRule::$name => $section,)* } }

            /// The rule in one sentence.
            pub const fn sentence(self) -> &'static str { match self { $(JudgementRule::$name => $sentence,)* } }
        }
    };
}

impl Serialize for JudgementRule {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut object = to.serialize_struct("JudgementRule", 3)?;
        object.serialize_field("rule", self.as_str())?;
        object.serialize_field("section", self.section())?;
        object.serialize_field("sentence", self.sentence())?;
        object.end()
    }
}

rules! {
    /// Step 0.
    OperationHalfDone = "operation_half_done", "0", "A half-done operation of git, or a path in conflict, never completes.";
    /// Step 1 without checks.
    CommitsDecide = "commits_decide", "1", "Without checks, commits made here with a net change complete the work.";
    /// Step 1 without checks, with uncommitted work.
    LeftWorkHolds = "left_work_holds", "1", "Bare commits complete nothing while some of the session's work is uncommitted.";
    /// Step 1 with checks.
    ChecksDecide = "checks_decide", "1", "Where checks are configured, they decide in place of commits.";
    /// Step 1 with unmet checks.
    UnmetWithCommits = "unmet_with_commits", "1", "Commits beside an unmet check are incomplete work.";
    /// A check without a result.
    NoPassWithoutResult = "no_pass_without_result", "rule 2", "A check that could not run, or gave no result, is never a pass.";
    /// A check that passed before.
    PassedBefore = "passed_before", "rule 10", "A check that passed before the work began is no evidence of the work.";
    /// Step 2 after the session.
    NoProbeAfterEnd = "no_probe_after_end", "2", "With unmet checks and a session that is over, nobody is asked: its work is rescued.";
    /// Step 2, background work.
    SurvivorsHold = "survivors_hold", "2", "A process of the session that still runs holds the verdict.";
    /// Step 2.
    ProbeAgent = "probe_agent", "2", "Where commits and checks do not decide, the agent is asked.";
    /// Step 2, `--no-probe`.
    NoProbeByOption = "no_probe_by_option", "2", "With --no-probe nobody is asked.";
    /// Rule 13.
    NoAgentToAsk = "no_agent_to_ask", "rule 13", "Only a known agent is asked: a session without one is judged by git and checks, after its rescue.";
    /// Rule 12.
    BreakerHoldsQuestions = "breaker_holds_questions", "rule 12", "An open breaker stops starting and asking, and never reading: git and the checks decide, after a rescue.";
    /// Step 2, a claim.
    CompleteAgainstGit = "complete_against_git", "2", "A claim of complete counts beside what git shows: uncommitted work is rescued first.";
    /// Step 2, the third in a row.
    ThirdNothingToDo = "third_nothing_to_do", "2", "The third 'nothing to do' in a row is for a person.";
    /// Step 2, a dispute.
    DisputedReply = "disputed_reply", "2", "A reply that contradicts itself or git never completes by itself.";
    /// Step 2, `working` after the end.
    NotDoneAfterEnd = "not_done_after_end", "2", "'working' of a session that is over can not change: its work is rescued.";
    /// Step 2, `waiting` and `working`.
    PauseAndRetry = "pause_and_retry", "2", "'waiting' and 'working' mean a pause, and the next round.";
    /// Step 2, `should_continue: false`.
    AgentStops = "agent_stops", "2", "An agent that says it should not go on ends the work: what is there is rescued.";
    /// Step 2, no usable reply.
    NoUsableReply = "no_usable_reply", "2", "A question without a usable reply spends its probe; the same unusable reply twice ends the asking.";
    /// Step 3.
    LastRound = "last_round", "3", "After the last round commits are read once more, and work is rescued.";
    /// Step 3, in the end nothing.
    EveryProbeSpent = "every_probe_spent", "3", "Every probe was spent, and nothing came.";
    /// Rule 6.
    RescueCompletesNothing = "rescue_completes_nothing", "rule 6", "A rescue saves work and completes nothing.";
    /// A rescue that failed.
    RescueMustSave = "rescue_must_save", "2", "Work that should be committed and could not be is for a person.";
    /// Rule 11.
    NothingBeneathLife = "nothing_beneath_life", "rule 11", "Nothing is committed beneath a session that may live, and a live one is not asked.";
    /// Rule 1.
    UnknownIsNoZero = "unknown_is_no_zero", "rule 1", "A fact that could not be read is unknown, never zero: the verdict is an error.";
    /// Rule 5.
    SnapshotFirst = "snapshot_first", "rule 5", "Uncommitted work is in a snapshot before anything that could disturb it runs.";
    /// Rule 4, first half.
    StrikeOfTimeout = "strike_of_timeout", "rule 4", "A timeout is a strike only if an agent answered and nothing at all moved.";
    /// Rule 4, second half.
    StrikeOfSession = "strike_of_session", "rule 4", "A session that watchdog ran and that left everything as it was is a strike.";
    /// Rule 4, the third in a row.
    ThreeSessionsWithout = "three_sessions_without", "rule 4", "The third session in a row without progress under the same unmet checks is for a person.";
    /// `run`: a usage limit.
    SessionMetLimit = "session_met_limit", "run", "A session that ended in a usage limit is not asked: look again when the limit ends.";
    /// `run`: ended by time or silence, or cut short.
    SessionCutShort = "session_cut_short", "run", "A session that was cut short is not asked: its work is rescued, and more is wanted.";
    /// `run`: a budget or the deadline.
    SessionOverLimit = "session_over_limit", "run", "A spent limit is never success, whatever came of the work.";
    /// `run`: a login or credit.
    SessionUnrunnable = "session_unrunnable", "run", "A session whose program cannot work needs a person.";
    /// `run`: refused tools.
    ToolsRefused = "tools_refused", "run", "A session that was refused tools and left nothing is not asked: a person allows them, or not.";
    /// `run`: background work.
    SessionLeftWork = "session_left_work", "run", "A session whose background work still runs is waited for.";
    /// `run`: nothing was started.
    SessionNotStarted = "session_not_started", "run", "A session that was not started is judged by why it was not.";
    /// Trust.
    UntrustedFile = "untrusted_file", "trust", "A completion.json that is not trusted does not count, and no complete is given beside it.";
    /// `on_no_criteria`.
    NoCriteriaConfigured = "no_criteria_configured", "config", "Without criteria and a baseline, or with on_no_criteria: review, a person decides.";
    /// `require_evidence`.
    EvidenceTooWeak = "evidence_too_weak", "rule 3", "A complete with weaker evidence than require_evidence is for a person.";
    /// Guards.
    GuardedFilesChanged = "guarded_files_changed", "guards", "Nothing is complete where guarded files changed.";
    /// A signal.
    SignalEnds = "signal_ends", "signal", "A signal ends the judgement: what is uncommitted is kept first.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explain_page_names_every_rule() {
        let page = include_str!("../../../../docs/explain.md");
        for rule in JudgementRule::ALL {
            assert!(page.contains(&format!("`{}`", rule.as_str())), "{rule:?}");
        }
    }
}
