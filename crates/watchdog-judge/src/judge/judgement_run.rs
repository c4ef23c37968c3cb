//! Drives a judgement to its verdict, and records what follows from it.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use tracing::Span;

use watchdog_core::decision::beside_claim::{dispute_blocked, join_names};
use watchdog_core::decision::breaker::BreakerView;
use watchdog_core::decision::machine::{EarlierRounds, MachineSetup, UnaskedCause};
use watchdog_core::decision::rounds;
use watchdog_facts::agent_source::AgentSource;
use watchdog_facts::context::SessionContext;
use watchdog_facts::evidence::{Degradation, ReadFact, SessionEnd, UnreadableFact, WarningCode};
use watchdog_facts::refused_tool::ToolRefusals;
use watchdog_facts::session_exit::SessionExit;
use watchdog_facts::session_work::ContentIds;
use watchdog_facts::verdict::{Reason, Status, Verdict};
use watchdog_git::Worktree;
use watchdog_process::SurvivingProcess;
use watchdog_store::journal::{kind, tidy_is_due, tidy_journal};
use watchdog_store::{RecordType, baseline::BaselineRecord, before, uncommitted};

use super::admission::PreparedJudgement;
use super::driver::{Pace, drive_to_the_end};
use super::executor::ActionExecutor;
use super::judgement_input::JudgementInput;
use super::lost_ignored::find_lost_ignored;
use super::open_breaker::name_open_breaker;
use super::origins::{keep_judged_head, note_late_commits, settle_beside, settle_clone};
use super::session_agent::{SightedAgent, settings_for};
use super::session_context::load_session_context;
use super::siblings::describe_vanished;
use super::signals::SignalState;
use super::snapshots::expire;
use super::spawn_io::spawn_io;
use super::{machine_log, session_life, settle_anchor};
use crate::clock::now;
use crate::wire::verdict_json::{JudgedSession, Judgement, OutlivedProcess};

/// The facts that `run` gathered about its session.
#[derive(Debug, Default)]
pub struct ObservedSession {
    /// How it ended.
    pub end: Option<SessionEnd>,
    /// How its process ended.
    pub exit: Option<SessionExit>,
    /// The last line that it printed, where it failed.
    pub last_line: Option<String>,
    /// The agent's own name for it.
    pub session_id: Option<String>,
    /// The agent that it was, by the name or path of its preset; `None` where that is unknown.
    pub agent: Option<String>,
    /// How that agent, or the id, is known.
    pub agent_source: Option<AgentSource>,
    /// The processes that outlived it.
    pub survivors: Vec<SurvivingProcess>,
    /// Its output.
    pub log: Option<PathBuf>,
    /// Warnings for a person.
    pub notes: Vec<Degradation>,
    /// The files that were uncommitted after its end, where that is recorded.
    pub uncommitted_at_end: Option<ContentIds>,
    /// The tools that it was refused.
    pub refused: ToolRefusals,
    /// Its context from its output, for checks; its usage is that of this session alone.
    pub context: SessionContext,
}

/// A judgement in progress: drives the machine, and records the consequences of its verdict.
pub struct JudgementRun {
    /// Performs the actions of the machine.
    pub executor: ActionExecutor,
    earlier: EarlierRounds,
    log: Option<PathBuf>,
    /// The session that lives here, where one does.
    live_session: Option<JudgedSession>,
    refused: ToolRefusals,
    exit: Option<SessionExit>,
    last_line: Option<String>,
    begun: Timestamp,
    /// The span of all its log lines.
    pub span: Span,
}

impl JudgementRun {
    /// Sets up the machine before the first fact. In a sweep it reads leftovers beside commits, as it does where watchdog ran the
    /// session itself, and keeps fingerprints of the files.
    pub fn begin(
        prepared: PreparedJudgement,
        session: ObservedSession,
        in_sweep: bool,
    ) -> Result<(Self, MachineSetup), Box<Judgement>> {
        let span = machine_log::judgement_span(&prepared.input);
        let _within = span.clone().entered();
        machine_log::log_inputs(&prepared.input);
        let begun = prepared.begun;
        let ran_a_session = session.end.is_some();
        let exit =
            (session.exit).or_else(|| prepared.input.last_session(prepared.store.as_ref())?.exit);
        let earlier = prepared.input.earlier(prepared.store.as_ref());
        let mut executor = ActionExecutor::about_session(prepared, &session, in_sweep);
        let unreadable = |executor: &ActionExecutor, why: UnreadableFact| {
            let verdict = Verdict::unreadable(why.with_commands(&executor.input.commands));
            Box::new(executor.make_judgement(verdict, begun))
        };
        let (earlier, fingerprint) = earlier.map_err(|why| unreadable(&executor, why))?;
        executor.lock_initial_facts().fingerprint = fingerprint;
        let mut earlier_for_machine = earlier;
        executor
            .stand_by_the_last_answer(ran_a_session, &mut earlier_for_machine)
            .map_err(|why| {
                Box::new(executor.make_judgement(Verdict::unreadable(why.into()), begun))
            })?;
        if let Some(refusal) =
            (executor.input.open_breaker.clone()).filter(|_| executor.is_as_judged())
        {
            let mut judgement = executor.make_judgement(executor.read_beside(refusal), begun);
            judgement.breaker = executor.input.breaker(executor.store.as_ref());
            executor
                .journal
                .write(kind::VERDICT, judgement.to_event_data(None));
            return Err(Box::new(judgement));
        }
        let (halt, unread_sensors) = executor.read_halt(&executor.context);
        let end = halt
            .map(|stop| SessionEnd::OverLimit { stop })
            .or(session.end);
        let mut setup = (executor.input).setup(earlier_for_machine, end, ran_a_session || in_sweep);
        setup.notes.extend(session.notes);
        setup.notes.extend(unread_sensors);
        let survivors =
            session_life::find_survivors(&executor.input, executor.store.as_ref(), now());
        let ended = ran_a_session || survivors.session_over || survivors.released.is_some();
        (setup.survivors, setup.session_over) = (survivors.holding, survivors.session_over);
        setup.notes.extend(survivors.released);
        let life = executor
            .settle_life(ran_a_session, ended)
            .map_err(|why| unreadable(&executor, why))?;
        setup.life = life.life;
        // A look that saw the work move spends no round.
        setup.completion.max_probes =
            (setup.completion.max_probes).saturating_add(u32::from(executor.gate.has_moved));
        setup.unasked = match executor.input.open_breaker {
            Some(_) => Some(UnaskedCause::BreakerOpen),
            None if executor.input.overrides.from_inside => None,
            None => executor.knows_no_agent().then_some(UnaskedCause::NoAgent),
        };
        if setup.unasked.is_some() {
            executor.ask_nobody();
        }
        let judgement_run = JudgementRun {
            executor,
            earlier,
            log: session.log,
            live_session: life.session,
            refused: session.refused,
            exit,
            last_line: session.last_line,
            begun,
            span,
        };
        Ok((judgement_run, setup))
    }

    /// The input that is judged.
    pub fn input(&self) -> &JudgementInput {
        &self.executor.input
    }

    /// The worktree, to share its open repository with the next one; `None` while another thread still reads it.
    pub fn into_worktree(self) -> Option<Worktree> {
        let input = self.executor.input;
        Arc::into_inner(input)?.worktree.into_inner().ok()
    }

    /// Records the verdict with breaker, progress and journal.
    pub fn settle(&self, verdict: Verdict) -> Judgement {
        let _within = self.span.enter();
        if self.input().overrides.from_inside {
            let input = self.input();
            keep_judged_head(&input.worktree(), &input.spec, verdict.commits.as_ref());
            let verdict = self.settle_block(verdict);
            return self.build_unrecorded_judgement(verdict);
        }
        let concluded = verdict.reason;
        let mut verdict = self.note_beside(verdict);
        let breaker = self.record_verdict(&mut verdict);
        let mut judgement = self.describe_verdict(verdict, breaker);
        let facts = (self.executor.recorder).finish(concluded, &judgement.verdict);
        let journal = &self.executor.journal;
        journal.write(kind::VERDICT, judgement.to_event_data(facts.as_ref()));
        if let Some(why) = journal.fault() {
            judgement
                .verdict
                .add_note(WarningCode::JournalUnwritable, why);
        }
        judgement
    }

    /// Adds to a verdict what the machine does not know: the breaker, work beside HEAD, another clone, late commits, refused tools.
    fn note_beside(&self, verdict: Verdict) -> Verdict {
        let (input, store) = (self.input(), self.executor.store.as_ref());
        let verdict = name_open_breaker(input.open_breaker.as_ref(), verdict);
        keep_judged_head(&input.worktree(), &input.spec, verdict.commits.as_ref());
        // A sweep judges many worktrees, and searches for helpers only after a `complete`.
        if !input.overrides.once || verdict.status() == Status::Complete {
            self.executor.snapshot_helpers("at the end of a judgement");
        }
        let verdict = settle_clone(input, store, settle_beside(input, verdict));
        let verdict = self.executor.settle_claims(verdict);
        let verdict = self.settle_block(verdict);
        let verdict = self.note_gone(verdict);
        let mut verdict = note_late_commits(input, store, verdict);
        if let Some(refused) = verdict
            .degraded
            .iter()
            .find(|note| note.code == WarningCode::ToolsRefused)
        {
            verdict.message = format!("{}; {}", verdict.message, refused.detail);
        }
        verdict
    }

    /// Hands the verdict to a person where the session reported meanwhile that it cannot go on.
    fn settle_block(&self, verdict: Verdict) -> Verdict {
        let (input, store) = (self.input(), self.executor.store.as_ref());
        match BaselineRecord::read_row(store, &input.worktree_id, &input.spec) {
            Ok(recorded) => match recorded.and_then(|recorded| recorded.blocked) {
                Some(text) => dispute_blocked(verdict, &text),
                None => verdict,
            },
            Err(unread) => Verdict::unreadable(unread.into()),
        }
    }

    /// Names ignored files and work of other worktrees that are gone. After the end of a session that watchdog ran, later changes of other
    /// worktrees are not its own.
    fn note_gone(&self, mut verdict: Verdict) -> Verdict {
        let (input, store) = (self.input(), self.executor.store.as_ref());
        let Some(since) = input.recorded_at else {
            return verdict;
        };
        let worktree = input.worktree();
        let mut notes = Vec::new();
        let lost = find_lost_ignored(&worktree, &input.work.ignored, since, &input.commands);
        if let Some((files, note)) = lost {
            verdict.ignored_lost = files;
            notes.push(note);
        }
        let is_about_session = self.log.is_some()
            || input.work.end.is_none()
            || (input.last_session(store)).is_none_or(|session| session.log.is_none());
        if is_about_session && !input.overrides.once {
            let unread = input.work.unread_siblings.iter();
            let note = |sentence: &String| Degradation::new(WarningCode::SiblingsUnread, sentence);
            verdict.degraded.extend(unread.map(note));
            let recorded = (&input.work.siblings, since, &input.evidence);
            let sentences = describe_vanished(&worktree, store, recorded, &input.commands);
            let detail = join_names(&sentences);
            let note = (!sentences.is_empty())
                .then(|| Degradation::new(WarningCode::SiblingWorkGone, detail));
            notes.extend(note);
        }
        for note in notes {
            verdict.add_clause(&note.detail);
            verdict.degraded.push(note);
        }
        verdict
    }

    /// Records what follows from a verdict: the anchor, the end of the work, the answer, the rounds and the breaker. A record that cannot
    /// be written is a warning of the verdict.
    fn record_verdict(&self, verdict: &mut Verdict) -> Option<BreakerView> {
        let (input, store) = (self.input(), self.executor.store.as_ref());
        let inside = &self.executor.command_env.inside;
        if let Err(unreadable) = settle_anchor::after_verdict(input, store, verdict, inside) {
            verdict.add_note(WarningCode::AnchorUnmoved, unreadable.why);
        }
        let unwritable =
            |why: &dyn ToString| Degradation::new(WarningCode::StoreUnwritable, why.to_string());
        let is_complete = verdict.status() == Status::Complete;
        if is_complete
            && let Err(error) = before::work_is_complete(store, &input.worktree_id, &input.spec)
        {
            verdict.degraded.push(unwritable(&error));
        }
        let well = || "the session ended with exit code 0".to_owned();
        if let Some(clause) = (self.exit.and_then(SessionExit::clause))
            .or_else(|| self.last_line.as_ref().map(|_| well()))
            .filter(|clause| !verdict.message.contains(clause.as_str()))
        {
            // Where the line is the reason of the verdict, the message has it, cut elsewhere.
            let beginning = |line: &&String| line.chars().take(40).collect::<String>();
            let line = (self.last_line.as_ref())
                .filter(|line| !verdict.message.contains(&beginning(line)))
                .map_or(String::new(), |line| format!(": {line}"));
            verdict.add_clause(&format!("{clause}{line}"));
        }
        let stands = self
            .executor
            .settle_answer(verdict)
            .unwrap_or_else(|error| {
                verdict.degraded.push(unwritable(&error));
                false
            });
        let breaker = self.record_rounds(verdict, stands);
        if is_complete {
            self.record_completion(verdict);
        }
        breaker
            .map_err(|unreadable| verdict.degraded.push(unwritable(&unreadable.why)))
            .ok()
    }

    /// Records the rounds, the state that was judged, and the outcome with the breaker.
    fn record_rounds(&self, verdict: &Verdict, stands: bool) -> ReadFact<BreakerView> {
        let ActionExecutor {
            input,
            store,
            journal,
            ..
        } = &self.executor;
        let rounds = match stands {
            true => self.earlier,
            false if self.executor.gate.has_moved => rounds::after_movement(self.earlier, verdict),
            false => rounds::update_rounds(self.earlier, verdict),
        };
        input.leave(store.as_ref(), rounds, self.executor.fingerprint())?;
        self.executor.record_state(verdict)?;
        let breaker = input.feed_breaker(store.as_ref(), verdict, journal)?;
        self.executor.record_judged_state(&breaker, verdict)?;
        Ok(breaker)
    }

    /// The judgement with everything that a person is shown beside the verdict.
    fn describe_verdict(&self, mut verdict: Verdict, breaker: Option<BreakerView>) -> Judgement {
        let survivors: Vec<OutlivedProcess> = (self.executor.survivors.iter())
            .map(|survivor| OutlivedProcess {
                shown: survivor.to_string(),
                still_runs: survivor.still_runs(),
            })
            .collect();
        // Processes of the session's end may have ended during the wait.
        if let Some(at) = verdict
            .degraded
            .iter()
            .position(|note| note.code == WarningCode::ProcessesLeft)
        {
            let running = survivors.iter().filter(|survivor| survivor.still_runs);
            let notes = session_life::processes_left(running.count());
            verdict.degraded.splice(at..=at, notes);
        }
        let mut judgement = self.executor.make_judgement(verdict, self.begun);
        judgement.breaker = breaker.or_else(|| self.input().breaker(self.executor.store.as_ref()));
        judgement.log = self.log.as_ref().map(|path| path.display().to_string());
        let alive = (self.live_session.clone())
            .filter(|_| judgement.verdict.reason == Reason::SessionActive);
        judgement.session = alive
            .or_else(|| self.executor.session())
            .or_else(|| self.exit.map(|_| JudgedSession::unknown()));
        if let Some(session) = &mut judgement.session {
            session.ended = self.exit;
        }
        judgement.survivors = survivors;
        judgement.refused = self.refused.clone();
        judgement
    }
}

impl JudgementRun {
    /// A judgement that moves no record: a session of the worktree called it, or nothing happened there.
    pub fn build_unrecorded_judgement(&self, verdict: Verdict) -> Judgement {
        let mut judgement = self.executor.make_judgement(verdict, self.begun);
        judgement.breaker = self.input().breaker(self.executor.store.as_ref());
        judgement.session = self.live_session.clone();
        judgement
    }

    /// Records that later changes belong to no session until a new baseline. If that fails, the next judgement only counts more of them as
    /// work.
    fn record_completion(&self, verdict: &Verdict) {
        let input = self.input();
        let Some(recorded_at) = input.recorded_at else {
            return;
        };
        let contents = match self.executor.fingerprint() {
            Some(_) if was_clean_a_moment_ago(verdict) => Some(ContentIds::new()),
            Some(_) => (input.worktree().uncommitted_contents().ok()).map(|(_, ids)| ids),
            None => None,
        };
        let _ = uncommitted::record_completion(
            self.executor.store.as_ref(),
            &input.worktree_id,
            &input.spec,
            recorded_at,
            contents.as_ref(),
        );
    }
}

/// Whether nothing was uncommitted when the facts of this verdict were read, and nothing ran since: no check, question or rescue that could
/// have left a file. Changes after the reading were not judged, and are no work of the session.
fn was_clean_a_moment_ago(verdict: &Verdict) -> bool {
    let clean = verdict.changes.as_ref().is_some_and(|changes| {
        !changes.any() && changes.operation.is_none() && changes.degraded.is_empty()
    });
    clean
        && verdict.degraded.is_empty()
        && verdict.checks.is_empty()
        && verdict.probes.is_empty()
        && verdict.rescue_commits == 0
}

impl PreparedJudgement {
    /// Judges in a thread of its own: [`PreparedJudgement::judge_here`] for the event loop.
    pub async fn judge(self, session: ObservedSession, signals: &SignalState) -> Judgement {
        let (signals, span) = (signals.clone(), Span::current());
        spawn_io(move || span.in_scope(|| self.judge_here(session, &signals))).await
    }

    /// Drives the machine to its verdict, then records it with breaker, progress and journal. Blocks.
    pub fn judge_here(self, session: ObservedSession, signals: &SignalState) -> Judgement {
        let (judgement_run, setup) = match JudgementRun::begin(self, session, false) {
            Ok(begun) => begun,
            Err(judgement) => return *judgement,
        };
        let JudgementRun { executor, span, .. } = &judgement_run;
        let verdict =
            span.in_scope(|| drive_to_the_end(setup, executor, Pace::waiting_for(signals)));
        let judgement = judgement_run.settle(verdict);
        let (command_env, store) = (&executor.command_env, executor.store.as_ref());
        if tidy_is_due(judgement.duration, now())
            && let Err(error) = tidy_journal(store, now(), 1)
        {
            command_env.tell(&format!(
                "old events could not be removed from the journal: {error}"
            ));
        }
        let keep_days = executor.input.settings.rescue.keep_days;
        let worktree = executor.input.worktree();
        if let Err(why) = expire(&worktree, store, &command_env.state.logs(), keep_days) {
            command_env.tell(&format!("old snapshots could not be dropped: {why}"));
        }
        drop(worktree);
        judgement
    }
}

impl ActionExecutor {
    /// The executor of a judgement about a session, which knows whom to ask and the context for checks.
    fn about_session(
        prepared: PreparedJudgement,
        session: &ObservedSession,
        in_sweep: bool,
    ) -> Self {
        let PreparedJudgement {
            command_env,
            mut input,
            store,
            journal,
            ..
        } = prepared;
        let mut ran = SightedAgent {
            agent: session.agent.clone(),
            source: session.agent_source,
        };
        if ran == SightedAgent::default() {
            // Only a judgement that may ask pays for a look at every agent's transcripts.
            let may_ask = !input.overrides.no_probe
                && !input.overrides.from_inside
                && input.open_breaker.is_none();
            let sights =
                may_ask && !command_env.is_agent_named(input.names_agent, &input.settings.agent);
            ran = SightedAgent::find(
                &command_env,
                store.as_ref(),
                (&input.worktree_id, &input.spec),
                &input.root,
                (input.record_at, sights),
            );
        }
        let agent = settings_for(&input.settings.agent, ran.agent.as_deref());
        let seen = (session.context.clone(), &agent);
        let context = load_session_context(&input, store.as_ref(), &command_env, seen);
        if session.uncommitted_at_end.is_some() {
            input.work.end.clone_from(&session.uncommitted_at_end);
        }
        let mut executor = ActionExecutor::new(input, command_env, store, journal);
        executor.session_id.clone_from(&session.session_id);
        executor.survivors.clone_from(&session.survivors);
        (executor.agent, executor.ran, executor.context) = (agent, ran, context);
        executor.over_limit = matches!(session.end, Some(SessionEnd::OverLimit { .. }));
        executor.asks_git = session.end.is_some();
        executor.keeps_fingerprints = in_sweep;
        executor
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use watchdog_facts::evidence::Changes;

    #[test]
    fn worktree_is_clean_only_by_current_reading() {
        let verdict = |change: fn(&mut Verdict)| {
            let mut verdict = Verdict {
                changes: Some(Changes::default()),
                ..Verdict::new(Reason::NewCommits, "")
            };
            change(&mut verdict);
            was_clean_a_moment_ago(&verdict)
        };
        assert!(verdict(|_| {}));
        type Spoil = fn(&mut Verdict);
        let others: [(&str, Spoil); 6] = [
            ("changes were not read", |verdict| verdict.changes = None),
            ("a file is left", |verdict| {
                verdict.changes = Some(Changes {
                    untracked: 1,
                    ..Changes::default()
                })
            }),
            ("a merge is half done", |verdict| {
                let operation = Some(watchdog_facts::evidence::GitOperation::Merge);
                verdict.changes = Some(Changes {
                    operation,
                    ..Changes::default()
                });
            }),
            ("the reading has blind spots", |verdict| {
                let degraded = vec![Degradation::new(WarningCode::UnreadablePath, String::new())];
                verdict.changes = Some(Changes {
                    degraded,
                    ..Changes::default()
                });
            }),
            ("something is weaker than it should be", |verdict| {
                verdict
                    .degraded
                    .push(Degradation::new(WarningCode::ProcessesLeft, String::new()));
            }),
            ("a rescue committed", |verdict| verdict.rescue_commits = 1),
        ];
        for (what, change) in others {
            assert!(!verdict(change), "{what}");
        }
    }
}
