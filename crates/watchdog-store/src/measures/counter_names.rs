//! The names of the counters of measures, and the bounds that their definitions state.

use std::time::Duration;

/// How long after an abort something may come that says that work went on.
pub const ABORT_WINDOW: Duration = Duration::from_secs(7 * 86_400);

/// The names of the counters of this module. `<class>` is a [`VerdictClass`], `<why>` the reason of an abort.
pub mod measure {
    /// `judged/<class>/<reason>`: verdicts that are judgements.
    pub const JUDGED: &str = "judged/";
    /// Verdicts that judged a session: one for each session at most.
    pub const JUDGED_SESSION: &str = "judged/session/";
    /// Verdicts on a new state that no session is known of.
    pub const JUDGED_CHANGE: &str = "judged/change/";
    /// Verdicts that saw a state again, or waited for a session.
    pub const LOOKS: &str = "looks";
    /// `aborts/<why>`.
    pub const ABORTS: &str = "aborts/";
    /// Those after which work went on within the window; counted on the day of the abort.
    pub const WENT_ON: &str = "aborts_went_on/";
    /// Those of them where a new session began before.
    pub const WENT_ON_ANEW: &str = "aborts_went_on_anew/";
    /// Those after which events of the spec came, and no work within the window; counted on the day of the abort.
    pub const HELD: &str = "aborts_held/";
    /// Rescues that made commits, did not fail and lost nothing.
    pub const RESCUES_KEPT: &str = "rescues_kept";
    /// `questions_of/<class>`: questions by what their verdict was.
    pub const QUESTIONS_OF: &str = "questions_of/";
    /// Verdicts with at least one question.
    pub const QUESTION_VERDICTS: &str = "question_verdicts";
    /// Questions between the beginning and the end of iterations.
    pub const ITERATION_QUESTIONS: &str = "iteration_questions";
    /// Judgements of sessions that were genuine timeouts: the breaker counts them.
    pub const TIMEOUTS: &str = "timeouts";
    /// Verdicts that the breaker counted.
    pub const STRIKES: &str = "strikes";
    /// `no_strike/<because>`: judgements that are not complete and that the breaker did not count.
    pub const NO_STRIKE: &str = "no_strike/";
    /// `unmet/<check>`: judgements in which the check was not met. An empty name stands for all beyond [`super::CHECKS`].
    pub const UNMET: &str = "unmet/";
    /// Specs that became complete.
    pub const COMPLETIONS: &str = "completions";
    /// Whole seconds that sessions took.
    pub const SESSION_SECONDS: &str = "session_seconds";
    /// Ended sessions whose time is known.
    pub const SESSIONS_TIMED: &str = "sessions_timed";
}

/// The most names of checks that one sum tells apart.
pub const CHECKS: usize = 30;

/// The subject of a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerdictClass {
    /// The first verdict on a session that does not wait for it.
    Session,
    /// A new state that no session is known of.
    Change,
    /// A state that was judged before, or a session that still runs.
    Repeated,
}

impl VerdictClass {
    /// The word in names of counters.
    pub fn as_str(self) -> &'static str {
        match self {
            VerdictClass::Session => "session",
            VerdictClass::Change => "change",
            VerdictClass::Repeated => "look",
        }
    }
}
