//! Drives a judgement to its verdict, and records what follows from it.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use tracing::Span;

use watchdog_core::decision::machine::{EarlierRounds, MachineSetup, UnaskedCause};
use watchdog_core::decision::rounds;
use watchdog_facts::agent_source::AgentSource;
use watchdog_facts::context::SessionContext;
use watchdog_facts::evidence::{Degradation, SessionEnd, WarningCode};
use watchdog_facts::refused_tool::ToolRefusals;
use watchdog_facts::session_exit::SessionExit;
use watchdog_facts::session_work::ContentIds;
use watchdog_facts::verdict::{Reason, Status, Verdict};
use watchdog_git::Worktree;
use watchdog_process::SurvivingProcess;
use watchdog_store::journal::{kind, tidy, tidy_is_due};
use watchdog_store::{LocalStore, before, session, uncommitted};

use super::admission::PreparedJudgement;
use super::command_env::CommandEnv;
use super::executor::ActionExecutor;
use super::expiry::expire;
use super::journal::CommandJournal;
use super::judgement_about::about;
use super::judgement_input::JudgementInput;
use super::machine_log;
use super::open_breaker::name_open_breaker;
use super::origins::{keep_judged_head, note_late_commits, settle_beside, settle_clone};
use super::sensors::read_halt;
use super::session_agent::{SightedAgent, settings_for};
use super::session_context::load_session_context;
use super::session_life as life;
use super::settle_anchor;
use super::signals::SignalState;
use super::spawn_io::spawn_io;
use super::survivors;
use super::waiting_driver::drive_to_the_end;
use crate::clock::now;
use crate::wire::verdict_json::{JudgedSession, Judgement, OutlivedProcess};

/// The facts that `run` gathered about its session.
#[derive(Debug, Default)]
pub struct ObservedSession {
    /// How it ended.
    pub end: Option<SessionEnd>,
    /// How its process ended.
    pub exit: Option<SessionExit>,
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
    /// The judged input.
    pub input: Arc<JudgementInput>,
    /// Performs the actions of the machine.
    pub executor: Arc<ActionExecutor>,
    command_env: CommandEnv,
    store: Arc<dyn LocalStore>,
    journal: Arc<CommandJournal>,
    earlier: EarlierRounds,
    log: Option<PathBuf>,
    survivors: Vec<SurvivingProcess>,
    /// The session that lives here, where one does.
    live_session: Option<JudgedSession>,
    refused: ToolRefusals,
    exit: Option<SessionExit>,
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
        let PreparedJudgement {
            command_env,
            input,
            store,
            journal,
            begun,
        } = prepared;
        let span = machine_log::judgement_span(&input);
        let _within = span.clone().entered();
        machine_log::begun(&input);
        let ran_a_session = session.end.is_some();
        let (earlier, fingerprint) = match input.earlier(store.as_ref()) {
            Ok(earlier) => earlier,
            Err(unreadable) => {
                return Err(Box::new(about(
                    &command_env,
                    Some(&input),
                    Verdict::unreadable(unreadable.with_commands(&input.commands)),
                    begun,
                )));
            }
        };
        let over_limit = matches!(session.end, Some(SessionEnd::OverLimit { .. }));
        let seen = SightedAgent {
            agent: session.agent,
            source: session.agent_source,
        };
        let ran = if seen == SightedAgent::default() {
            // Only a judgement that may ask pays for a look at every agent's transcripts.
            let may_ask = !input.overrides.no_probe
                && !input.overrides.from_inside
                && input.open_breaker.is_none();
            let sights =
                may_ask && !command_env.is_agent_named(input.names_agent, &input.settings.agent);
            let work = (input.worktree_id.as_str(), input.spec.as_str());
            let root = input
                .worktree
                .lock()
                .expect("mutex poisoned")
                .root()
                .to_owned();
            SightedAgent::find(
                &command_env,
                store.as_ref(),
                work,
                &root,
                (input.record_at, sights),
            )
        } else {
            seen
        };
        let agent = settings_for(&input.settings.agent, ran.agent.as_deref());
        let context = load_session_context(
            &input,
            store.as_ref(),
            &command_env,
            (session.context, &agent),
        );
        let exit = session
            .exit
            .or_else(|| recorded_exit(store.as_ref(), &input));
        let mut input = input;
        if session.uncommitted_at_end.is_some() {
            input.work.end = session.uncommitted_at_end;
        }
        let input = Arc::new(input);
        let executor = ActionExecutor::new(
            Arc::clone(&input),
            command_env.clone(),
            Arc::clone(&journal),
            fingerprint,
        )
        .with_session(session.session_id, session.survivors.clone())
        .asking(agent, ran)
        .with_context(context.clone(), over_limit)
        .keeping_fingerprints(in_sweep)
        .with_store(Arc::clone(&store));
        let mut earlier_for_machine = earlier;
        let executor = match executor.stand_by_the_last_answer(
            store.as_ref(),
            ran_a_session,
            &mut earlier_for_machine,
        ) {
            Ok(executor) => executor,
            Err(error) => {
                return Err(Box::new(about(
                    &command_env,
                    Some(&input),
                    Verdict::unreadable(error.into()),
                    begun,
                )));
            }
        };
        if let Some(refusal) = input
            .open_breaker
            .clone()
            .filter(|_| executor.is_as_judged(store.as_ref()))
        {
            let verdict = executor.read_beside(refusal);
            let mut judgement = about(&command_env, Some(&input), verdict, begun);
            judgement.breaker = input.breaker(store.as_ref());
            journal.write(kind::VERDICT, judgement.to_event_data(None));
            return Err(Box::new(judgement));
        }
        let (halt, unread_sensors) = read_halt(&input, &executor, &context);
        let end = halt
            .map(|stop| SessionEnd::OverLimit { stop })
            .or(session.end);
        let mut setup = input.setup(earlier_for_machine, end, ran_a_session || in_sweep);
        setup.notes.extend(session.notes);
        setup.notes.extend(unread_sensors);
        let left = survivors::find(&input, store.as_ref(), now());
        let ended = ran_a_session || left.session_over || left.released.is_some();
        (setup.survivors, setup.session_over) = (left.holding, left.session_over);
        setup.notes.extend(left.released);
        let (executor, life) = match life::settle(
            executor,
            store.as_ref(),
            &command_env,
            (ran_a_session, ended),
        ) {
            Ok(settled) => settled,
            Err(unreadable) => {
                return Err(Box::new(about(
                    &command_env,
                    Some(&input),
                    Verdict::unreadable(unreadable.with_commands(&input.commands)),
                    begun,
                )));
            }
        };
        setup.life = life.life;
        // A look that saw the work move spends no round.
        setup.completion.max_probes = setup
            .completion
            .max_probes
            .saturating_add(u32::from(executor.gate.has_moved));
        setup.unasked = match input.open_breaker {
            Some(_) => Some(UnaskedCause::BreakerOpen),
            None if input.overrides.from_inside => None,
            None => executor.knows_no_agent().then_some(UnaskedCause::NoAgent),
        };
        if setup.unasked.is_some() {
            executor.ask_nobody();
        }
        let judgement_run = JudgementRun {
            command_env,
            input,
            executor: Arc::new(executor),
            store,
            journal,
            earlier,
            log: session.log,
            survivors: session.survivors,
            live_session: life.session,
            refused: session.refused,
            exit,
            begun,
            span,
        };
        Ok((judgement_run, setup))
    }

    /// The worktree, to share its open repository with the next one; `None` while another thread still reads it.
    pub fn into_worktree(self) -> Option<Worktree> {
        drop(self.executor);
        Arc::into_inner(self.input)?.worktree.into_inner().ok()
    }

    /// Records the verdict with breaker, progress and journal.
    pub fn settle(&self, verdict: Verdict) -> Judgement {
        let _within = self.span.enter();
        let concluded = verdict.reason;
        if self.input.overrides.from_inside {
            return self.unrecorded(verdict);
        }
        let verdict = name_open_breaker(self.input.open_breaker.as_ref(), verdict);
        keep_judged_head(&self.input, &verdict);
        // A sweep judges many worktrees, and searches for helpers only after a `complete`.
        if !self.input.overrides.once || verdict.status() == Status::Complete {
            self.executor.snapshot_helpers("at the end of a judgement");
        }
        let mut verdict = settle_clone(&self.input, settle_beside(&self.input, verdict));
        verdict = note_late_commits(&self.input, self.store.as_ref(), verdict);
        if let Some(refused) = verdict
            .degraded
            .iter()
            .find(|note| note.code == WarningCode::ToolsRefused)
        {
            verdict.message = format!("{}; {}", verdict.message, refused.detail);
        }
        if let Err(unreadable) = settle_anchor::after_verdict(
            &self.input,
            self.store.as_ref(),
            &verdict,
            &self.command_env.inside,
        ) {
            verdict.degraded.push(Degradation {
                code: WarningCode::AnchorUnmoved,
                detail: unreadable.why,
            });
        }
        if verdict.status() == Status::Complete
            && let Err(error) = before::work_is_complete(
                self.store.as_ref(),
                &self.input.worktree_id,
                &self.input.spec,
            )
        {
            verdict.degraded.push(Degradation {
                code: WarningCode::StoreUnwritable,
                detail: error.to_string(),
            });
        }
        if let Some(clause) = self
            .exit
            .and_then(SessionExit::clause)
            .filter(|clause| !verdict.message.contains(clause.as_str()))
        {
            verdict.message = format!("{}; {clause}", verdict.message);
        }
        let stands = self
            .executor
            .settle_answer(self.store.as_ref(), &mut verdict)
            .unwrap_or_else(|error| {
                verdict.degraded.push(Degradation {
                    code: WarningCode::StoreUnwritable,
                    detail: error.to_string(),
                });
                false
            });
        let rounds_after = match stands {
            true => self.earlier,
            false if self.executor.gate.has_moved => rounds::after_movement(self.earlier, &verdict),
            false => rounds::after(self.earlier, &verdict),
        };
        let recorded = (self.input.leave(
            self.store.as_ref(),
            rounds_after,
            self.executor.fingerprint(),
        ))
        .and_then(|()| Ok(self.executor.record_state(self.store.as_ref(), &verdict)?))
        .and_then(|()| {
            self.input
                .feed_breaker(self.store.as_ref(), &verdict, &self.journal)
        });
        let recorded = recorded.and_then(|breaker| {
            self.executor
                .record_judged_state(self.store.as_ref(), &breaker, &verdict)?;
            Ok(breaker)
        });
        if verdict.status() == Status::Complete {
            self.completed(&verdict);
        }
        let breaker = recorded.map_err(|unreadable| {
            verdict.degraded.push(Degradation {
                code: WarningCode::StoreUnwritable,
                detail: unreadable.why,
            });
        });
        let survivors: Vec<_> = self
            .survivors
            .iter()
            .map(|survivor| (survivor, survivor.still_runs()))
            .collect();
        // What ran at the session's end may have ended while it was waited for.
        if let Some(at) = verdict
            .degraded
            .iter()
            .position(|note| note.code == WarningCode::ProcessesLeft)
        {
            let left = survivors::processes_left(
                survivors
                    .iter()
                    .filter(|(_, still_runs)| *still_runs)
                    .count(),
            );
            verdict.degraded.splice(at..=at, left);
        }
        let mut judgement = about(&self.command_env, Some(&self.input), verdict, self.begun);
        judgement.breaker = breaker
            .ok()
            .or_else(|| self.input.breaker(self.store.as_ref()));
        judgement.log = self.log.as_ref().map(|path| path.display().to_string());
        judgement.session = self
            .session_of(&judgement.verdict)
            .or_else(|| self.exit.map(|_| JudgedSession::unknown()));
        judgement
            .session
            .iter_mut()
            .for_each(|session| session.ended = self.exit);
        let outlived = |(survivor, still_runs): (&SurvivingProcess, bool)| OutlivedProcess {
            shown: survivor.to_string(),
            still_runs,
        };
        judgement.survivors = survivors.into_iter().map(outlived).collect();
        judgement.refused = self.refused.clone();
        let recorded = self
            .executor
            .recorder()
            .finish(concluded, &judgement.verdict);
        self.journal
            .write(kind::VERDICT, judgement.to_event_data(recorded.as_ref()));
        if let Some(why) = self.journal.fault() {
            judgement.verdict.degraded.push(Degradation {
                code: WarningCode::JournalUnwritable,
                detail: why,
            });
        }
        judgement
    }
}

/// How the process of the last session since the baseline ended, where watchdog ran it.
fn recorded_exit(store: &dyn LocalStore, input: &JudgementInput) -> Option<SessionExit> {
    let at = input.record_at?;
    session::read_session(store, &input.worktree_id, &input.spec)
        .ok()
        .flatten()
        .filter(|session| at <= session.started_at)?
        .exit
}

impl JudgementRun {
    /// A judgement that moves no record: a session of the worktree called it, or nothing happened there.
    pub fn unrecorded(&self, verdict: Verdict) -> Judgement {
        let mut judgement = about(&self.command_env, Some(&self.input), verdict, self.begun);
        judgement.breaker = self.input.breaker(self.store.as_ref());
        judgement.session = self.live_session.clone();
        judgement
    }

    /// The session that a verdict is about.
    fn session_of(&self, verdict: &Verdict) -> Option<JudgedSession> {
        let alive = self
            .live_session
            .clone()
            .filter(|_| verdict.reason == Reason::SessionActive);
        alive.or_else(|| self.executor.session())
    }

    /// Records that later changes belong to no session until a new baseline. If that fails, the next judgement only counts more of them as
    /// work.
    fn completed(&self, verdict: &Verdict) {
        let Some(recorded_at) = self.input.recorded_at else {
            return;
        };
        let left = match self.executor.has_read_changes() {
            true if was_clean_a_moment_ago(verdict) => Some(ContentIds::new()),
            true => self.worktree_uncommitted(),
            false => None,
        };
        let _ = uncommitted::record_completion(
            self.store.as_ref(),
            &self.input.worktree_id,
            &self.input.spec,
            recorded_at,
            left.as_ref(),
        );
    }

    fn worktree_uncommitted(&self) -> Option<ContentIds> {
        Some(
            self.input
                .worktree
                .lock()
                .expect("mutex poisoned")
                .uncommitted_contents()
                .ok()?
                .1,
        )
    }
}

/// Whether nothing was uncommitted when the facts of this verdict were read, and nothing ran since: no check, question or rescue that could
/// have left a file. What changes after the reading was not judged, and is no work of the session.
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
        let (command_env, store) = (self.command_env.clone(), Arc::clone(&self.store));
        let (judgement_run, setup) = match JudgementRun::begin(self, session, false) {
            Ok(begun) => begun,
            Err(judgement) => return *judgement,
        };
        let verdict = judgement_run
            .span
            .in_scope(|| drive_to_the_end(setup, &judgement_run.executor, signals));
        let judgement = judgement_run.settle(verdict);
        if tidy_is_due(judgement.duration, now())
            && let Err(error) = tidy(store.as_ref(), now(), 1)
        {
            command_env.tell(&format!(
                "old events could not be removed from the journal: {error}"
            ));
        }
        let worktree = judgement_run.input.worktree.lock().expect("mutex poisoned");
        if let Err(why) = expire(
            &worktree,
            store.as_ref(),
            &command_env.state.logs(),
            judgement_run.input.settings.rescue.keep_days,
        ) {
            command_env.tell(&format!("old snapshots could not be dropped: {why}"));
        }
        drop(worktree);
        judgement
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use watchdog_facts::evidence::Changes;

    #[test]
    fn a_worktree_counts_as_clean_only_where_its_reading_says_so_and_nothing_ran_since() {
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
                let degraded = vec![Degradation {
                    code: WarningCode::UnreadablePath,
                    detail: String::new(),
                }];
                verdict.changes = Some(Changes {
                    degraded,
                    ..Changes::default()
                });
            }),
            ("something is weaker than it should be", |verdict| {
                verdict.degraded.push(Degradation {
                    code: WarningCode::ProcessesLeft,
                    detail: String::new(),
                });
            }),
            ("a rescue committed", |verdict| verdict.rescue_commits = 1),
        ];
        for (what, change) in others {
            assert!(!verdict(change), "{what}");
        }
    }
}
