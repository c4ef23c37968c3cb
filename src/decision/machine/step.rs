//! The steps of the decision tree. What a verdict says is in [`super::conclude`].

use crate::config::settings::RescueMode;
use crate::decision::evidence::{
    Changes, CheckOutcome, Commits, Degraded, Fact, LeftOut, ProbeOutcome, Reply, ReplyStatus, RescueOutcome, SessionEnd,
};
use crate::decision::verdict::{ProbeRecord, Reason};

use super::facts::{Action, ChecksJudged, Event, Pause, Setup};

/// The check in progress.
#[derive(Debug, Clone)]
pub struct Machine {
    pub(super) setup: Setup,
    stage: Stage,
    /// What is being waited for, asked again if an event of another kind comes.
    pending: Option<Action>,
    pub(super) commits: Option<Commits>,
    pub(super) changes: Option<Changes>,
    pub(super) snapshot: Option<String>,
    pub(super) judged: Option<ChecksJudged>,
    pub(super) probes: Vec<ProbeRecord>,
    pub(super) rounds_used: u32,
    pub(super) answered: u32,
    /// Answers of `waiting` or `working`: the agent was alive.
    pub(super) alive: u32,
    failures_in_a_row: u32,
    /// The contradiction of the last reply, named in the next question.
    pub(super) disputed: Option<String>,
    pub(super) rescue_commits: u64,
    pub(super) rescue_failed: Option<String>,
    pub(super) left_out: Vec<LeftOut>,
    pub(super) degraded: Vec<Degraded>,
}

/// What the machine waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Begin,
    Commits(Look),
    Changes(Then),
    Snapshot(Then),
    Checks(Look),
    Probe,
    Rescue(RescueFor),
    Pause,
    Activity,
    Done,
}

/// Why commits are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    /// A round begins.
    Round,
    /// The last round is over.
    Last,
    /// A reply came that calls for a rescue; commits may have landed while the agent answered.
    Reply(RescueFor),
    /// A rescue made commits: what it was for is decided with them.
    Rescued(RescueFor),
    /// A signal came.
    Interrupted,
}

/// What follows once the changes are known and the work is in a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    JudgeChecks(Look),
    Ask,
    /// Commits decided; only say what is left.
    NewCommits,
    /// Nobody is asked.
    NoProbe,
    /// The session met a usage limit.
    RateLimited,
    /// Rescue, then decide by what called for it.
    Rescue(RescueFor),
    Interrupted,
}

/// What called for a rescue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RescueFor {
    /// The agent says complete.
    Claim,
    /// The agent says that it should not go on.
    AgentStopped,
    /// The last round is over.
    Last,
    /// The session was cut short by its timeout.
    SessionTimeout,
    /// Every criterion passed.
    ChecksPassed,
}

impl Machine {
    /// A check that has not begun.
    pub fn new(setup: Setup) -> Self {
        Machine {
            rounds_used: setup.earlier.rounds_used,
            answered: setup.earlier.answered,
            alive: setup.earlier.alive,
            degraded: setup.notes.clone(),
            setup,
            stage: Stage::Begin,
            pending: None,
            commits: None,
            changes: None,
            snapshot: None,
            judged: None,
            probes: Vec::new(),
            failures_in_a_row: 0,
            disputed: None,
            rescue_commits: 0,
            rescue_failed: None,
            left_out: Vec::new(),
        }
    }

    /// The commits as last read, for whoever words the question to the agent.
    pub fn commits(&self) -> Option<&Commits> {
        self.commits.as_ref()
    }

    /// The changes as last read.
    pub fn changes(&self) -> Option<&Changes> {
        self.changes.as_ref()
    }

    /// Takes one event and says what comes next. An event that was not asked for changes nothing:
    /// the machine repeats what it waits for.
    pub fn step(&mut self, event: Event) -> Action {
        let action = self.transition(event);
        self.pending = Some(action.clone());
        action
    }

    fn transition(&mut self, event: Event) -> Action {
        match (self.stage, event) {
            (Stage::Done, _) => self.repeat(),
            (_, Event::Interrupt) => self.read_commits(Look::Interrupted),
            (Stage::Begin, Event::Start) => self.begin(),
            (Stage::Commits(look), Event::Commits(fact)) => self.on_commits(look, fact),
            (Stage::Changes(then), Event::Changes(fact)) => self.on_changes(then, fact),
            (Stage::Snapshot(then), Event::Snapshot(fact)) => self.on_snapshot(then, fact),
            (Stage::Checks(look), Event::Checks(judged)) => self.on_checks(look, judged),
            (Stage::Probe, Event::Probe(record)) => self.on_probe(record),
            (Stage::Rescue(why), Event::Rescue(fact)) => self.on_rescue(why, fact),
            (Stage::Pause, Event::WaitOver) => self.next_round(),
            (Stage::Activity, Event::Activity(activity)) => self.conclude_timeout(activity),
            (_, _) => self.repeat(),
        }
    }

    fn repeat(&mut self) -> Action {
        self.pending.clone().unwrap_or_else(|| self.begin())
    }

    pub(super) fn done(&mut self) {
        self.stage = Stage::Done;
    }

    fn begin(&mut self) -> Action {
        match &self.setup.session {
            Some(SessionEnd::NotStarted { why }) => {
                let why = why.clone();
                self.conclude_with(Reason::AgentUnrunnable, why)
            }
            _ => self.next_round(),
        }
    }

    fn next_round(&mut self) -> Action {
        let look = if self.rounds_left() || self.setup.no_probe { Look::Round } else { Look::Last };
        self.read_commits(look)
    }

    fn rounds_left(&self) -> bool {
        self.rounds_used < self.setup.completion.max_probes
    }

    fn read_commits(&mut self, look: Look) -> Action {
        self.stage = Stage::Commits(look);
        Action::ReadCommits
    }

    /// Reads the changes and secures them in a snapshot, then goes on with `then`.
    fn secure(&mut self, then: Then) -> Action {
        self.stage = Stage::Changes(then);
        Action::ReadChanges
    }

    fn on_commits(&mut self, look: Look, fact: Fact<Commits>) -> Action {
        let before = self.commits.clone();
        match fact {
            Ok(commits) => self.commits = Some(commits),
            Err(unreadable) if look == Look::Interrupted => self.note("commits_unreadable", unreadable.why),
            Err(unreadable) => return self.conclude_unreadable(unreadable),
        }
        let head_moved = self.commits.as_ref().map(|commits| &commits.head) != before.as_ref().map(|commits| &commits.head);
        match look {
            Look::Interrupted => self.secure(Then::Interrupted),
            Look::Rescued(RescueFor::SessionTimeout) => self.conclude_cut_short(),
            // A commit of what was judged does not change what was judged.
            Look::Rescued(RescueFor::ChecksPassed) => self.conclude_checks_passed(),
            Look::Reply(why) if !head_moved => self.secure(Then::Rescue(why)),
            Look::Round | Look::Last | Look::Reply(_) | Look::Rescued(_) => match (self.setup.has_checks, self.setup.checks_run_programs) {
                (true, true) => self.secure(Then::JudgeChecks(look)),
                (true, false) => self.judge_checks(look),
                (false, _) => self.without_checks(look),
            },
        }
    }

    fn without_checks(&mut self, look: Look) -> Action {
        let completes = self.commits.as_ref().is_some_and(Commits::completes);
        match (completes, look) {
            (_, Look::Rescued(_)) => self.conclude_rescued(),
            (true, _) if self.setup.look_at_leftovers => self.secure(Then::NewCommits),
            (true, _) => self.conclude_new_commits(),
            (false, _) => self.undecided(look),
        }
    }

    /// Neither commits nor criteria decided.
    fn undecided(&mut self, look: Look) -> Action {
        match look {
            Look::Last => self.last_resort(),
            Look::Reply(why) => self.secure(Then::Rescue(why)),
            Look::Round | Look::Rescued(_) | Look::Interrupted => self.ask_or_use_the_session(),
        }
    }

    fn judge_checks(&mut self, look: Look) -> Action {
        self.stage = Stage::Checks(look);
        Action::JudgeChecks
    }

    fn on_checks(&mut self, look: Look, judged: ChecksJudged) -> Action {
        let outcome = judged.outcome;
        self.judged = Some(judged);
        let committed = self.rescue_commits > 0 || self.commits.as_ref().is_some_and(Commits::completes);
        match outcome {
            CheckOutcome::Pass if self.rescue_commits > 0 => self.conclude_checks_passed(),
            CheckOutcome::Pass => self.secure(Then::Rescue(RescueFor::ChecksPassed)),
            CheckOutcome::Unmet if committed => self.conclude_checks_unmet(),
            CheckOutcome::Unmet => self.undecided(look),
            CheckOutcome::Waiting => self.conclude_from_checks(Reason::BackgroundWork),
            CheckOutcome::Unrunnable => self.conclude_from_checks(Reason::VerifyUnrunnable),
            CheckOutcome::Failed => self.conclude_from_checks(Reason::VerifyFailed),
            CheckOutcome::TimedOut => self.conclude_from_checks(Reason::VerifyTimeout),
        }
    }

    /// Commits did not decide. What `run` saw of the session comes before a question to the agent.
    fn ask_or_use_the_session(&mut self) -> Action {
        match &self.setup.session {
            Some(SessionEnd::TimedOut { .. }) => self.secure(Then::Rescue(RescueFor::SessionTimeout)),
            Some(SessionEnd::RateLimited { .. }) => self.secure(Then::RateLimited),
            Some(SessionEnd::Ended { .. } | SessionEnd::NotStarted { .. }) | None if self.setup.no_probe => self.secure(Then::NoProbe),
            Some(SessionEnd::Ended { .. } | SessionEnd::NotStarted { .. }) | None => self.secure(Then::Ask),
        }
    }

    fn on_changes(&mut self, then: Then, fact: Fact<Changes>) -> Action {
        match fact {
            Ok(changes) => self.changes = Some(changes),
            Err(unreadable) => match then {
                // Commits have decided, or a person asked for an end: the fact is missing, not the verdict.
                Then::NewCommits | Then::Interrupted => {
                    self.note("changes_unreadable", unreadable.why);
                    return self.after_securing(then);
                }
                _ => return self.conclude_unreadable(unreadable),
            },
        }
        let dirty = self.changes.as_ref().is_some_and(Changes::any);
        if dirty && self.setup.rescue_mode != RescueMode::Off {
            self.stage = Stage::Snapshot(then);
            return Action::TakeSnapshot;
        }
        self.after_securing(then)
    }

    fn on_snapshot(&mut self, then: Then, fact: Fact<Option<String>>) -> Action {
        match fact {
            Ok(Some(name)) => self.snapshot = Some(name),
            Ok(None) => {}
            Err(unreadable) => match then {
                Then::NewCommits | Then::Interrupted | Then::RateLimited => self.note("snapshot_failed", unreadable.why),
                // Nothing that could disturb the work runs while it is in no snapshot.
                _ => return self.conclude_unreadable(unreadable),
            },
        }
        self.after_securing(then)
    }

    fn after_securing(&mut self, then: Then) -> Action {
        let dirty = self.changes.as_ref().is_some_and(Changes::any);
        match then {
            Then::JudgeChecks(look) => self.judge_checks(look),
            Then::Ask => {
                self.stage = Stage::Probe;
                Action::Ask { number: self.rounds_used + 1, contradiction: self.disputed.clone() }
            }
            Then::NewCommits => self.conclude_new_commits(),
            Then::NoProbe => self.conclude_no_probe(),
            Then::RateLimited => self.conclude_session_limit(),
            Then::Interrupted => self.conclude_interrupted(),
            Then::Rescue(why) if dirty && self.may_rescue(why) => {
                self.stage = Stage::Rescue(why);
                Action::Rescue
            }
            Then::Rescue(why) => self.nothing_rescued(why),
        }
    }

    fn may_rescue(&self, why: RescueFor) -> bool {
        !self.setup.no_rescue
            && (why != RescueFor::Last || self.setup.completion.final_rescue_attempt)
            && match self.setup.rescue_mode {
                RescueMode::Plan | RescueMode::Single | RescueMode::Command => true,
                RescueMode::Snapshot | RescueMode::Off => false,
            }
    }

    fn on_probe(&mut self, record: ProbeRecord) -> Action {
        self.rounds_used += 1;
        let outcome = record.outcome.clone();
        self.probes.push(record);
        match outcome {
            ProbeOutcome::Reply(reply) => {
                self.answered += 1;
                self.failures_in_a_row = 0;
                self.on_reply(reply)
            }
            ProbeOutcome::RateLimited { why, retry_at } => self.conclude_probe_limit(why, retry_at),
            ProbeOutcome::NotInstalled { why } => self.conclude_with(Reason::AgentUnrunnable, why),
            ProbeOutcome::NotLoggedIn { why } => self.conclude_with(Reason::ProbeError, why),
            ProbeOutcome::Unreadable { .. }
            | ProbeOutcome::Empty
            | ProbeOutcome::TimedOut
            | ProbeOutcome::NoConversation { .. }
            | ProbeOutcome::Overloaded { .. }
            | ProbeOutcome::Failed { .. } => self.on_failed_probe(),
        }
    }

    fn on_failed_probe(&mut self) -> Action {
        self.failures_in_a_row += 1;
        if !self.rounds_left() {
            return self.read_commits(Look::Last);
        }
        if self.setup.once {
            return self.conclude_probe_error();
        }
        self.stage = Stage::Pause;
        Action::Wait(Pause::Backoff { attempt: self.failures_in_a_row, at_most: self.setup.completion.probe_interval })
    }

    fn on_reply(&mut self, reply: Reply) -> Action {
        let against_git = self.commits.as_ref().and_then(|commits| reply.contradicts(commits));
        if let Some(why) = reply.contradiction().or(against_git) {
            return self.on_dispute(why);
        }
        self.disputed = None;
        match reply.status {
            ReplyStatus::Complete => self.read_commits(Look::Reply(RescueFor::Claim)),
            ReplyStatus::Waiting | ReplyStatus::Working => {
                self.alive += 1;
                if reply.should_continue == Some(false) {
                    return self.read_commits(Look::Reply(RescueFor::AgentStopped));
                }
                self.wait_for_the_agent(reply)
            }
        }
    }

    /// One more question, with the contradiction named; the second one in a row is for a person.
    fn on_dispute(&mut self, why: String) -> Action {
        if let Some(last) = self.probes.last_mut() {
            last.disputed = Some(why.clone());
        }
        let second = self.disputed.replace(why).is_some();
        if second {
            return self.conclude_disputed();
        }
        // Commits are looked at first: they may have landed while the agent answered, and they settle it without a question.
        self.next_round()
    }

    fn wait_for_the_agent(&mut self, reply: Reply) -> Action {
        if self.setup.once {
            return match self.rounds_left() {
                true => self.conclude_alive(reply),
                false => self.read_commits(Look::Last),
            };
        }
        self.stage = Stage::Pause;
        Action::Wait(Pause::Interval(self.setup.completion.probe_interval))
    }

    /// After the last round, with no commits: the final rescue.
    fn last_resort(&mut self) -> Action {
        match self.setup.session {
            Some(SessionEnd::TimedOut { .. } | SessionEnd::RateLimited { .. }) => self.ask_or_use_the_session(),
            _ if self.disputed.is_some() => self.conclude_disputed(),
            _ => self.secure(Then::Rescue(RescueFor::Last)),
        }
    }

    /// A rescue was called for, and there was nothing to rescue or it is not allowed.
    fn nothing_rescued(&mut self, why: RescueFor) -> Action {
        let dirty = self.changes.as_ref().is_some_and(Changes::any);
        match (why, dirty) {
            (RescueFor::Claim, false) if self.judged.is_some() => self.conclude_checks_unmet(),
            (RescueFor::Claim, false) => self.conclude_nothing_to_do(),
            // Asking again cannot commit anything where rescue may not.
            (RescueFor::Claim, true) => self.conclude_not_committed(),
            (RescueFor::AgentStopped, _) => self.conclude_agent_stopped(),
            (RescueFor::Last, _) => self.out_of_probes(),
            (RescueFor::SessionTimeout, false) => self.conclude_session_timeout(),
            (RescueFor::SessionTimeout, true) => self.conclude_cut_short(),
            (RescueFor::ChecksPassed, _) => self.conclude_checks_passed(),
        }
    }

    fn on_rescue(&mut self, why: RescueFor, fact: Fact<RescueOutcome>) -> Action {
        let outcome = match fact {
            Ok(outcome) => outcome,
            Err(unreadable) => RescueOutcome { failed: Some(unreadable.why), ..RescueOutcome::default() },
        };
        self.rescue_commits += outcome.commits;
        self.left_out = outcome.left_out;
        for warning in outcome.warnings {
            self.note(warning.code, warning.detail);
        }
        self.rescue_failed = outcome.failed;
        if !outcome.lost.is_empty() {
            return self.conclude_lost(&outcome.lost);
        }
        if outcome.commits > 0 {
            return self.read_commits(Look::Rescued(why));
        }
        match why {
            RescueFor::ChecksPassed | RescueFor::SessionTimeout if self.rescue_failed.is_some() => self.conclude_not_committed(),
            RescueFor::ChecksPassed => self.conclude_checks_passed(),
            RescueFor::SessionTimeout => self.conclude_cut_short(),
            RescueFor::Claim => self.try_again(),
            RescueFor::AgentStopped => self.conclude_agent_stopped(),
            RescueFor::Last => self.out_of_probes(),
        }
    }

    /// The agent says complete, and its work could not be committed: the next round tries again.
    fn try_again(&mut self) -> Action {
        if !self.rounds_left() {
            return self.read_commits(Look::Last);
        }
        if self.setup.once {
            return self.conclude_not_committed();
        }
        self.stage = Stage::Pause;
        Action::Wait(Pause::Interval(self.setup.completion.probe_interval))
    }

    /// Every probe is spent, and there is still no commit.
    fn out_of_probes(&mut self) -> Action {
        let asked = self.rounds_used > 0;
        if self.rescue_failed.is_some() {
            self.conclude_not_committed()
        } else if asked && self.answered == 0 {
            self.conclude_probe_error()
        } else {
            self.stage = Stage::Activity;
            Action::ReadActivity
        }
    }

    pub(super) fn note(&mut self, code: &'static str, detail: String) {
        if !self.degraded.iter().any(|known| known.code == code && known.detail == detail) {
            self.degraded.push(Degraded { code, detail });
        }
    }
}
