//! Decides whether work on an input may begin: queries the breaker, and refuses unfinished git operations. Records the outcome with the
//! the breaker.

use std::sync::Arc;

use jiff::Timestamp;

use crate::session::UncommittedRule;
use watchdog_core::config::settings::ConfigSettings;
use watchdog_core::decision::breaker::{Breaker, BreakerAdmission, BreakerInput, BreakerView};
use watchdog_facts::evidence::UnreadableFact;
use watchdog_facts::shell_line::{WorktreeCommands, shell_word};
use watchdog_facts::verdict::{Reason, Verdict};
use watchdog_git::{HistoryPoint, Worktree};
use watchdog_process::CancelFlag;
use watchdog_store::journal::kind;
use watchdog_store::{LocalStore, RecordType, baseline::BaselineRecord};

use super::command_env::CommandEnv;
use super::configuration::load_effective;
use super::input_assembly::{SourceOfBaseline, open_judgement};
use super::journal::CommandJournal;
use super::judgement_input::{JudgementInput, Overrides};
use super::open_worktree::OpenWorktree;
use super::refusal::{Refusal, about};
use super::signals::SignalState;
use super::spawn_io::spawn_io;
use crate::clock::now;
use crate::wire::verdict_json::Judgement;
use crate::wire::verdict_json::as_json;

/// An input that is complete and not judged yet: a refusal from now on names its spec and baseline.
pub struct PreparedJudgement {
    /// The environment of the command.
    pub command_env: CommandEnv,
    /// The input.
    pub input: JudgementInput,
    /// watchdog's records.
    pub store: Arc<dyn LocalStore>,
    /// The journal for a refusal.
    pub journal: Arc<CommandJournal>,
    /// When the command began.
    pub begun: Timestamp,
}

impl PreparedJudgement {
    /// Opens a judgement with a journal of its own.
    pub fn open(
        command_env: &CommandEnv,
        open: OpenWorktree,
        (source, spec): (SourceOfBaseline<'_>, Option<&str>),
        overrides: &Overrides,
        begun: Timestamp,
    ) -> Result<Self, UnreadableFact> {
        let store = Arc::clone(&open.store);
        let input = open_judgement(command_env, open, source, spec, overrides.clone())?;
        Ok(Self::new(command_env, input, store, begun))
    }

    /// An input with a journal of its own, which also puts notifications into the outbox.
    pub fn new(
        command_env: &CommandEnv,
        input: JudgementInput,
        store: Arc<dyn LocalStore>,
        begun: Timestamp,
    ) -> Self {
        let journal = CommandJournal::telling(
            (&input.worktree_id, &input.spec),
            &input.root,
            &input.settings.notify,
            command_env,
            &store,
        );
        PreparedJudgement {
            command_env: command_env.clone(),
            input,
            store,
            journal,
            begun,
        }
    }

    /// Asks the breaker whether work may begin.
    pub fn admit(&self) -> Result<(), Refusal> {
        self.unless(self.input.admit(self.store.as_ref()))
    }

    /// Notes that the breaker is open: git is read all the same, and the agent is not asked.
    pub fn note_open_breaker(&mut self) -> Result<(), Refusal> {
        self.input.open_breaker = self
            .input
            .admit(self.store.as_ref())
            .map_err(|unreadable| self.unreadable(unreadable))?;
        Ok(())
    }

    /// Goes on unless there is a verdict, or finding one failed.
    pub fn unless(
        &self,
        objection: Result<Option<Verdict>, UnreadableFact>,
    ) -> Result<(), Refusal> {
        match objection {
            Ok(None) => Ok(()),
            Ok(Some(verdict)) => Err(self.refuse(verdict)),
            Err(unreadable) => Err(self.unreadable(unreadable)),
        }
    }

    /// Does this before a session starts, and refuses the session where a signal interrupts it.
    pub async fn before_session<T: Send + 'static>(
        self,
        signals: &mut SignalState,
        work: impl FnOnce(&Self, &CancelFlag) -> T + Send + 'static,
    ) -> Result<(Self, T), Refusal> {
        let cancel = CancelFlag::new();
        let flag = cancel.clone();
        let working = spawn_io(move || {
            let answer = work(&self, &flag);
            (self, answer)
        });
        let (prepared, answer) = signals.cancelling(&cancel, working).await;
        if signals.is_interrupted() {
            return Err(prepared.refuse(Verdict::new(
                Reason::Interrupted,
                "interrupted before the session was started",
            )));
        }
        Ok((prepared, answer))
    }

    /// Refuses with this verdict, and records it in the journal.
    pub fn refuse(&self, verdict: Verdict) -> Refusal {
        let mut judgement = about(&self.command_env, Some(&self.input), verdict, self.begun);
        judgement.breaker = self.input.breaker(self.store.as_ref());
        self.journal
            .write(kind::VERDICT, judgement.to_event_data(None));
        Refusal::Judgement(Box::new(judgement))
    }

    /// Refuses because this could not be read.
    pub fn unreadable(&self, unreadable: UnreadableFact) -> Refusal {
        self.instead(Verdict::unreadable(
            unreadable.with_commands(&self.input.commands),
        ))
    }

    /// Refuses with this verdict, without a record in the journal.
    pub fn instead(&self, verdict: Verdict) -> Refusal {
        Refusal::Judgement(Box::new(about(
            &self.command_env,
            Some(&self.input),
            verdict,
            self.begun,
        )))
    }
}

impl JudgementInput {
    /// Asks the breaker whether work may begin; the verdict to give where it may not.
    pub fn admit(&self, store: &dyn LocalStore) -> Result<Option<Verdict>, UnreadableFact> {
        let settings = &self.settings.breaker;
        let at = now();
        let recorded = Breaker::read_or_default(store, &self.worktree_id, &self.spec)?;
        let mut changed = recorded.clone();
        let mut admission = changed.admit(at, settings);
        if changed != recorded {
            admission = Breaker::update_row(store, &self.worktree_id, &self.spec, |breaker| {
                breaker.admit(at, settings)
            })?;
        }
        Ok(refusal_of(admission, &self.commands, &self.spec))
    }

    /// The breaker at this moment, for the verdict.
    pub fn breaker(&self, store: &dyn LocalStore) -> Option<BreakerView> {
        let breaker = Breaker::read_or_default(store, &self.worktree_id, &self.spec).ok()?;
        Some(breaker.state(now(), &self.settings.breaker))
    }

    /// Records the outcome with the breaker, without an event where nothing changes, and returns its state.
    pub fn feed_breaker(
        &self,
        store: &dyn LocalStore,
        verdict: &Verdict,
        journal: &CommandJournal,
    ) -> Result<BreakerView, UnreadableFact> {
        let outcome = BreakerInput::from_verdict(verdict);
        let at = now();
        let settings = &self.settings.breaker;
        let before = Breaker::read_or_default(store, &self.worktree_id, &self.spec)?;
        let mut after = before.clone();
        after.record(at, settings, outcome.clone());
        let view = after.state(at, settings);
        if after != before {
            Breaker::update_row(store, &self.worktree_id, &self.spec, |breaker| {
                breaker.record(at, settings, outcome.clone())
            })?;
            journal.note(kind::BREAKER, as_json(&view));
        }
        Ok(view)
    }
}

/// The verdict to give where the breaker lets no work begin.
fn refusal_of(
    admission: BreakerAdmission,
    commands: &WorktreeCommands,
    spec: &str,
) -> Option<Verdict> {
    let BreakerAdmission::Refused {
        until,
        since,
        why,
        strikes,
        trial_under_way,
    } = admission
    else {
        return None;
    };
    let message = if trial_under_way {
        format!("the breaker is half-open since {since:.0} and its one trial is under way")
    } else {
        let reset = commands.watchdog(&format!("breaker --spec {} reset", shell_word(spec)));
        format!(
            "the breaker is open since {since:.0}, after {strikes} strikes: {why}; one trial is let through at {until:.0}, \
             or close it now with: {reset}"
        )
    };
    Some(Verdict {
        retry_at: Some(until),
        ..Verdict::new(Reason::BreakerOpen, message)
    })
}

/// Refuses a session under an open breaker. Call it before anything is recorded: the refusal changes the journal alone.
pub fn refuse_open_breaker(
    command_env: &CommandEnv,
    open: &OpenWorktree,
    spec: &str,
    begun: Timestamp,
) -> Result<(), Refusal> {
    let breaker = Breaker::read_or_default(open.store.as_ref(), &open.worktree_id, spec)?;
    if matches!(breaker, Breaker::Closed { .. }) {
        return Ok(());
    }
    let settings =
        load_effective(command_env, open, Some(spec), Some(&open.worktree.head()?))?.settings;
    refuse_while_open(command_env, open, (spec, &settings), breaker, begun)
}

/// The same for this breaker.
pub fn refuse_while_open(
    command_env: &CommandEnv,
    open: &OpenWorktree,
    (spec, settings): (&str, &ConfigSettings),
    mut breaker: Breaker,
    begun: Timestamp,
) -> Result<(), Refusal> {
    let at = now();
    let view = breaker.state(at, &settings.breaker);
    let Some(verdict) = refusal_of(breaker.admit(at, &settings.breaker), &open.commands, spec)
    else {
        return Ok(());
    };
    let recorded = BaselineRecord::read_row(open.store.as_ref(), &open.worktree_id, spec)?;
    let judgement = Judgement {
        worktree: open.root().display().to_string(),
        spec: Some(spec.to_owned()),
        branch: open.worktree.branch(),
        baseline: recorded.map(|record| {
            record
                .commit
                .unwrap_or_else(|| HistoryPoint::Unborn.as_str().to_owned())
        }),
        breaker: Some(view),
        ..about(command_env, None, verdict, begun)
    };
    let journal = CommandJournal::telling(
        (&open.worktree_id, spec),
        open.root(),
        &settings.notify,
        command_env,
        &open.store,
    );
    journal.write(kind::VERDICT, judgement.to_event_data(None));
    Err(Refusal::Judgement(Box::new(judgement)))
}

/// Refuses to start a session in the middle of a rebase or a merge, unless the session is to finish it. Call it before anything is
/// recorded.
pub fn refuse_half_done(worktree: &Worktree, overrides: &Overrides) -> Result<(), Refusal> {
    let operation = worktree
        .operation()?
        .filter(|_| overrides.uncommitted != UncommittedRule::Adopt);
    let Some(operation) = operation else {
        return Ok(());
    };
    let message = format!(
        "a {} was in progress before the session, which was not started; finish or abort it, or hand it to the agent with --adopt",
        operation.as_str()
    );
    Err(Verdict::new(Reason::Disputed, message).into())
}
