//! What a sequence of events shows, kept beside the machine and without a look into it: the rules are judged by this.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use crate::decision::machine::{MachineEvent, MachineSetup};
use watchdog_facts::evidence::{
    Changes, CheckOutcome, Commits, ProbeOutcome, Reply, ReplyStatus, RescueOutcome, WarningCode,
};
use watchdog_facts::verdict::{Evidence, Reason};

/// The commits as last read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct CommitsSeen {
    pub(super) own: bool,
    pub(super) any_new: bool,
    pub(super) half_done: bool,
    pub(super) rewritten: bool,
    /// Tells these from others.
    pub(super) name: u64,
}

/// The uncommitted changes as last read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ChangesSeen {
    pub(super) any: bool,
    pub(super) work: bool,
    pub(super) overwritten: bool,
}

/// The criteria as last judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct JudgedSeen {
    pub(super) outcome: &'static str,
    pub(super) evidence: Evidence,
    pub(super) passed_before: bool,
    pub(super) in_worktree: bool,
    pub(super) weakened: bool,
}

/// The last answer of the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum AnswerSeen {
    Complete,
    /// It contradicts itself.
    Contradiction,
    /// Complete, and it says that it made commits.
    NamesCommits,
    Waiting,
    Working,
    Stops,
    Limit,
    CannotRun,
    NoConversation,
    Unusable(&'static str),
}

/// The last rescue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum RescueSeen {
    Committed,
    CommittedThenFailed,
    Nothing,
    HeldBack,
    LeftOutOnPurpose,
    Failed,
    Elsewhere,
    Lost,
}

/// What happened so far.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct EventLedger {
    pub(super) commits: Option<CommitsSeen>,
    pub(super) changes: Option<ChangesSeen>,
    /// The last event was a fact that could not be read: the reason that it leads to.
    pub(super) unreadable: Option<Reason>,
    /// Nothing that writes ran since the changes were read.
    pub(super) fresh: bool,
    /// The changes were read since the last look at commits; one after a rescue is part of it.
    pub(super) looked: bool,
    /// Something is uncommitted, and in no snapshot.
    pub(super) unsecured: bool,
    /// The last event was a snapshot that failed.
    pub(super) just_failed: bool,
    /// The last snapshot failed.
    pub(super) snapshot_failed: bool,
    pub(super) judged: Option<JudgedSeen>,
    /// They were judged on the commits as last read; those of a rescue aside, which commits what was judged.
    pub(super) judged_here: bool,
    /// A pause ended since the last question.
    pub(super) paused: bool,
    pub(super) asked: u32,
    pub(super) answered: u32,
    pub(super) alive: u32,
    /// Some answer said complete, disputed or not.
    pub(super) claimed: bool,
    pub(super) answer: Option<AnswerSeen>,
    /// Whether the last answer is disputed, by the commits that were read after it.
    pub(super) disputed: bool,
    /// Disputed answers without an undisputed one between them.
    pub(super) disputes: u32,
    /// The last probe's answer was not yet set against git.
    pub(super) unweighed: bool,
    /// No other question can bring anything else.
    pub(super) asking_ended: bool,
    pub(super) rescue: Option<RescueSeen>,
    pub(super) rescue_commits: u64,
    /// Whether the session's own commits were there before the first rescue commit.
    pub(super) own_before_rescue: Option<bool>,
    pub(super) left_out: bool,
    pub(super) just_rescued: bool,
    /// `None` = not read; `Some(None)` = unreadable; else how many guarded files changed.
    pub(super) guarded: Option<Option<usize>>,
    /// Whether anything moved; `None` = not looked, `Some(None)` = no sign could be read.
    pub(super) activity: Option<Option<bool>>,
    pub(super) holding: bool,
    pub(super) session_over: bool,
    pub(super) waits: u32,
    pub(super) interrupted: bool,
}

impl EventLedger {
    pub(super) fn new(setup: &MachineSetup) -> EventLedger {
        EventLedger {
            commits: None,
            changes: None,
            unreadable: None,
            fresh: false,
            looked: false,
            unsecured: false,
            just_failed: false,
            snapshot_failed: false,
            judged: None,
            judged_here: false,
            paused: false,
            asked: 0,
            answered: setup.earlier.answered,
            alive: setup.earlier.alive,
            claimed: false,
            answer: None,
            disputed: false,
            disputes: 0,
            unweighed: false,
            asking_ended: false,
            rescue: None,
            rescue_commits: 0,
            own_before_rescue: None,
            left_out: false,
            just_rescued: false,
            guarded: None,
            activity: None,
            holding: !setup.survivors.is_empty(),
            session_over: setup.session_over,
            waits: 0,
            interrupted: false,
        }
    }

    /// The same after one more event.
    pub(super) fn after(&self, setup: &MachineSetup, event: &MachineEvent) -> EventLedger {
        let mut next = EventLedger {
            unreadable: None,
            just_failed: false,
            just_rescued: false,
            ..self.clone()
        };
        match event {
            MachineEvent::Start => {}
            MachineEvent::Commits(fact) => {
                next.unreadable = fact.as_ref().err().map(|unreadable| unreadable.kind.into());
                next.commits = fact.as_ref().ok().map(seen_commits);
                next.looked &= self.just_rescued;
                next.judged_here &= self.just_rescued || next.commits == self.commits;
                next.weigh_answer();
            }
            MachineEvent::Changes(fact) => {
                next.unreadable = fact.as_ref().err().map(|unreadable| unreadable.kind.into());
                next.changes = fact.as_ref().ok().map(seen_changes);
                next.fresh = fact.is_ok();
                next.looked = fact.is_ok();
                next.unsecured = next.changes.is_some_and(|changes| changes.any);
                next.snapshot_failed = false;
            }
            MachineEvent::Snapshot(fact) => {
                next.just_failed = fact.is_err();
                next.snapshot_failed = fact.is_err();
                next.unsecured = fact.is_err();
            }
            MachineEvent::Checks(judged) => {
                next.fresh &= !setup.checks_run_programs;
                let in_worktree = judged
                    .results
                    .iter()
                    .any(|one| one.outcome == CheckOutcome::Pass && one.tree.is_none());
                next.judged_here = true;
                next.judged = Some(JudgedSeen {
                    outcome: judged.outcome.as_str(),
                    evidence: judged.evidence,
                    passed_before: judged.all_passed_before,
                    in_worktree,
                    weakened: (judged.results.iter())
                        .filter_map(|one| one.proof.as_ref())
                        .any(|proof| !proof.weakened.is_empty()),
                });
            }
            MachineEvent::Probe(record) => next.answered(&record.outcome),
            MachineEvent::Rescue(fact) => {
                next.fresh = false;
                next.just_rescued = true;
                let failed = RescueOutcome {
                    failed: Some("unreadable".into()),
                    ..RescueOutcome::default()
                };
                next.rescued(fact.as_ref().unwrap_or(&failed));
            }
            MachineEvent::WaitOver => {
                next.fresh = false;
                next.paused = true;
                next.waits += 1;
            }
            MachineEvent::Survivors(found) => {
                next.holding = !found.holding.is_empty();
                next.session_over = found.session_over;
            }
            MachineEvent::Activity(activity) => {
                let signs = [activity.worktree, activity.processes, activity.transcript];
                let known = signs.iter().any(Option::is_some);
                next.activity = Some(known.then(|| signs.contains(&Some(true))));
            }
            MachineEvent::Criteria(fact) => {
                next.guarded = Some(fact.as_ref().ok().map(|changed| changed.guarded_total))
            }
            MachineEvent::Interrupt => next.interrupted = true,
        }
        next
    }

    /// The session's own commits, those of a rescue aside.
    pub(super) fn own(&self) -> bool {
        self.own_before_rescue
            .unwrap_or_else(|| self.commits.is_some_and(|commits| commits.own))
    }

    pub(super) fn work_left(&self) -> bool {
        self.changes.is_some_and(|changes| changes.work)
    }

    pub(super) fn judged_as(&self, outcome: CheckOutcome) -> bool {
        self.judged
            .is_some_and(|judged| judged.outcome == outcome.as_str())
    }

    /// The agent says that everything is done, and nothing speaks against it.
    pub(super) fn claims(&self) -> bool {
        matches!(
            self.answer,
            Some(AnswerSeen::Complete | AnswerSeen::NamesCommits)
        ) && !self.disputed
    }

    fn answered(&mut self, outcome: &ProbeOutcome) {
        self.fresh = false;
        self.paused = false;
        self.asked += 1;
        let answer = seen_answer(outcome);
        if let ProbeOutcome::Reply(reply) = outcome {
            self.answered += 1;
            self.alive += u32::from(reply.status != ReplyStatus::Complete);
            self.claimed |= reply.status == ReplyStatus::Complete;
            self.unweighed = true;
        }
        let same = self.answer == Some(answer)
            && matches!(answer, AnswerSeen::Unusable(kind) if kind != "overloaded");
        self.asking_ended |= same
            || matches!(
                answer,
                AnswerSeen::Limit | AnswerSeen::CannotRun | AnswerSeen::NoConversation
            );
        self.answer = Some(answer);
    }

    /// Sets an answer against the commits that were read after it.
    fn weigh_answer(&mut self) {
        if !std::mem::take(&mut self.unweighed) {
            return;
        }
        self.disputed = match self.answer {
            Some(AnswerSeen::Contradiction) => true,
            Some(AnswerSeen::NamesCommits) => self.commits.is_some_and(|commits| !commits.any_new),
            _ => false,
        };
        self.disputes = if self.disputed { self.disputes + 1 } else { 0 };
    }

    fn rescued(&mut self, outcome: &RescueOutcome) {
        if outcome.commits > 0 && self.own_before_rescue.is_none() {
            self.own_before_rescue = Some(self.own());
        }
        self.rescue_commits += outcome.commits;
        self.left_out = !outcome.left_out.is_empty();
        let on_purpose =
            self.left_out && outcome.left_out.iter().all(|left| left.why.is_on_purpose());
        self.rescue = Some(match (outcome.commits, outcome.failed.is_some()) {
            _ if !outcome.lost.is_empty() => RescueSeen::Lost,
            _ if outcome.fallback_branch.is_some() => RescueSeen::Elsewhere,
            _ if outcome.held_back.is_some() => RescueSeen::HeldBack,
            (0, true) => RescueSeen::Failed,
            (_, true) => RescueSeen::CommittedThenFailed,
            (0, false) if on_purpose => RescueSeen::LeftOutOnPurpose,
            (0, false) => RescueSeen::Nothing,
            (_, false) => RescueSeen::Committed,
        });
    }
}

fn seen_commits(commits: &Commits) -> CommitsSeen {
    let mut hasher = DefaultHasher::new();
    (&commits.head, commits.half_done()).hash(&mut hasher);
    CommitsSeen {
        own: commits.made_here > 0 && commits.net_change,
        any_new: commits.new_commits > 0,
        half_done: commits.operation.is_some() || !commits.conflicts.is_empty(),
        rewritten: commits
            .degraded
            .iter()
            .any(|note| note.code == WarningCode::HistoryRewritten),
        name: hasher.finish(),
    }
}

fn seen_changes(changes: &Changes) -> ChangesSeen {
    ChangesSeen {
        any: changes.total() > 0,
        work: changes.work > 0,
        overwritten: changes
            .degraded
            .iter()
            .any(|note| note.code == WarningCode::InheritedOverwritten),
    }
}

fn seen_answer(outcome: &ProbeOutcome) -> AnswerSeen {
    match outcome {
        ProbeOutcome::Reply(Reply { doubt: Some(_), .. }) => AnswerSeen::Contradiction,
        ProbeOutcome::Reply(reply)
            if reply.status == ReplyStatus::Complete && !reply.tasks_pending.is_empty() =>
        {
            AnswerSeen::Contradiction
        }
        ProbeOutcome::Reply(reply)
            if reply.status == ReplyStatus::Complete && reply.commits_made > Some(0) =>
        {
            AnswerSeen::NamesCommits
        }
        ProbeOutcome::Reply(reply) if reply.status == ReplyStatus::Complete => AnswerSeen::Complete,
        ProbeOutcome::Reply(reply) if reply.should_continue == Some(false) => AnswerSeen::Stops,
        ProbeOutcome::Reply(reply) if reply.status == ReplyStatus::Waiting => AnswerSeen::Waiting,
        ProbeOutcome::Reply(_) => AnswerSeen::Working,
        ProbeOutcome::RateLimited { .. } => AnswerSeen::Limit,
        ProbeOutcome::NotInstalled { .. } | ProbeOutcome::NotLoggedIn { .. } => {
            AnswerSeen::CannotRun
        }
        ProbeOutcome::NoConversation { .. } => AnswerSeen::NoConversation,
        ProbeOutcome::Unreadable { .. }
        | ProbeOutcome::Empty
        | ProbeOutcome::TimedOut
        | ProbeOutcome::Overloaded { .. }
        | ProbeOutcome::Failed { .. } => AnswerSeen::Unusable(outcome.as_str()),
    }
}
