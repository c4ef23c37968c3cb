//! Drives the state machine of a loop: runs iterations, waits, stores the state, and ends with one verdict.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use watchdog_core::config::PresetName;
use watchdog_core::decision::breaker::{BreakerInput, BreakerView};

use crate::session::{AnewBy, begin_anew, spec_of_new_session};
use watchdog_agent::ConversationChoice;
use watchdog_core::checks::DescribedPrompt;
use watchdog_core::decision::iteration::agent_order::AgentChange;
use watchdog_core::decision::iteration::next::{
    IterationOutcome, LoopAction, LoopEnd, LoopEvent, LoopMachine, LoopPolicy, PauseLength,
    PauseReason,
};
use watchdog_core::decision::iteration::prompt::PromptFacts;
use watchdog_core::decision::iteration::record::IterationRecord;
use watchdog_core::decision::machine::ConfigTrust;
use watchdog_core::decision::termination::SpentUsage;
use watchdog_facts::evidence::{SessionEnd, UnreadableFact};
use watchdog_facts::verdict::{Reason, Verdict};
use watchdog_store::account::AccountLimit;
use watchdog_store::journal::kind;
use watchdog_store::lock::WorktreeLock;

use crate::clock::{measure_since, now};
use crate::judge::admission::{PreparedJudgement, refuse_while_open};
use crate::judge::command_env::CommandEnv;
use crate::judge::configuration::load_effective;
use crate::judge::journal::CommandJournal;
use crate::judge::judgement_input::JudgementInput;
use crate::judge::judgement_run::ObservedSession;
use crate::judge::live_session::RunningSession;
use crate::judge::open_worktree::{OpenWorktree, require_usable_git};
use crate::judge::refusal::Refusal;
use crate::judge::settle_anchor;
use crate::judge::signals::SignalState;
use crate::modes::run::first_failure::refuse_what_passes;
use crate::modes::run::session_run::{SessionOptions, run_session};
use crate::wire::judgement_events::baseline_data;
use crate::wire::loop_json::{agent_changed_data, loop_pause_data, loop_started_data, record_json};
use crate::wire::verdict_json::Judgement;

use super::loop_agents::LoopAgent;
use super::loop_state::PersistedLoop;
use super::missing_agents::warnings_before_the_first_session;
use super::next_prompt::{change_in_words, criteria_words, handed_over, read_described_prompt};
use super::pause;
use super::request::LoopRequest;
use super::session::{LoopContext, build_outcome, crash_of};
use super::view::{LoopPhase, LoopStatus, LoopView, about_silence, in_words, why_in_words};

mod account_holds;
mod loop_end;

/// Adds what a list lacks.
fn add_missing<T: PartialEq>(list: &mut Vec<T>, items: impl IntoIterator<Item = T>) {
    for item in items {
        if !list.contains(&item) {
            list.push(item);
        }
    }
}

/// Repeats sessions until one is judged complete, or something ends the loop.
pub async fn run_loop(
    command_env: &CommandEnv,
    request: LoopRequest,
    view: Arc<dyn LoopView>,
    signals: &mut SignalState,
) -> Judgement {
    let begun = now();
    match LoopRun::open(command_env, request, view, begun).await {
        Ok(mut looped) => looped.drive(signals).await,
        Err(refusal) => refusal.into_judgement(command_env, begun),
    }
}

struct LoopRun {
    context: LoopContext,
    memory: PersistedLoop,
    machine: LoopMachine,
    journal: Arc<CommandJournal>,
    lock: WorktreeLock,
    view: Arc<dyn LoopView>,
    status: LoopStatus,
    begun: Timestamp,
    /// The time that earlier processes of the same loop took.
    wall_before: Duration,
    /// The judgement of the last iteration.
    last: Option<Judgement>,
    /// The agents that another machine's limit holds.
    account_holds: Vec<(String, AccountLimit)>,
}

/// The input of the next step.
enum LoopStepInput {
    Begin,
    Played(Box<FinishedIteration>),
    PauseOver,
}

/// A finished iteration.
struct FinishedIteration {
    judgement: Judgement,
    outcome: IterationOutcome,
    record: IterationRecord,
}

impl LoopRun {
    async fn open(
        command_env: &CommandEnv,
        request: LoopRequest,
        view: Arc<dyn LoopView>,
        begun: Timestamp,
    ) -> Result<Self, Refusal> {
        let open = OpenWorktree::open(command_env)?;
        let mut lock = open.lock(command_env, "watchdog loop", true)?;
        require_usable_git(&open.worktree)?;
        if let Some(anew) = begin_anew(
            open.store.as_ref(),
            &open.worktree,
            AnewBy::Command,
            &open.commands,
        )? {
            command_env.tell(&anew.detail);
        }
        let spec =
            spec_of_new_session(open.store.as_ref(), &open.worktree, request.spec.as_deref())?;
        // Saying so is a courtesy to others.
        let _ = lock.set_spec(&spec);
        let mut memory = PersistedLoop::open(&open.store, &open.worktree, &spec, &request, begun)?;
        if !memory.resumed {
            let folder = command_env.typed_folder(open.root());
            memory.record.folder = Some(folder).filter(|folder| folder != open.root());
        }
        // A session that was cut off is this loop's own, and the loop waits for it.
        if memory.record().under_way.is_none()
            && let Some(running) = RunningSession::find_running(command_env, &open, Some(&spec))?
        {
            return Err(running.not_beside_it().into());
        }
        let origin = memory.origin();
        settle_anchor::between_sessions(&open, Some(&spec), begun)?;
        let mut effective = match &request.effective {
            Some(effective) => effective.clone(),
            None => load_effective(command_env, &open, Some(&spec), Some(&origin))?,
        };
        if let ConfigTrust::Untrusted { allow_with } = &effective.trust {
            // A session would be useless: its criteria would not be read, and no verdict could be `complete`.
            let why = format!(
                "completion.json is not trusted, so nothing was started; read it, then type: {allow_with}"
            );
            return Err(Verdict::new(Reason::Untrusted, why).into());
        }
        effective.settings.limits = request.limits.over(&effective.settings.limits);
        refuse_while_open(
            command_env,
            &open,
            (&spec, &effective.settings),
            memory.record().breaker.clone(),
            begun,
        )?;
        let presets = |name: &PresetName| command_env.preset_to_start(name);
        let agents = request
            .agents
            .resolve(&effective.settings, &presets)
            .map_err(|why| Verdict::new(Reason::ConfigError, why))?;
        let context = LoopContext {
            command_env: CommandEnv {
                line_checkers: Some(Arc::default()),
                ..command_env.clone()
            },
            store: Arc::clone(&open.store),
            root: open.root().to_owned(),
            worktree_id: open.worktree_id.clone(),
            folder: (memory.record().folder.clone()).unwrap_or_else(|| open.root().to_owned()),
            prompt_file: command_env.state.prompt_file(&open.worktree_id),
            spec: spec.clone(),
            origin,
            refs: memory.record().refs.clone().into(),
            effective,
            request,
            agents,
        };
        let limits = context.settings().limits.clone();
        let mut standing = memory.record().standing.clone();
        if !memory.resumed {
            standing.work = context.work().await;
        }
        let wall_before =
            Duration::try_from_secs_f64(standing.spent.wall_seconds.max(0.0)).unwrap_or_default();
        let status = LoopStatus {
            spec: spec.clone(),
            iteration: standing.finished,
            max_iterations: limits.max_iterations,
            since: begun,
            phase: LoopPhase::Judging,
            spent: standing.spent,
            breaker: None,
            tap: None,
        };
        let (no_progress, max_wait) = (context.request.no_progress, context.request.max_wait);
        let policy = LoopPolicy {
            limits,
            no_progress,
            max_wait,
            agents: context.agents.iter().map(LoopAgent::to_ranked).collect(),
        };
        let notify = &context.settings().notify;
        let journal = CommandJournal::telling(
            (&open.worktree_id, &spec),
            &context.root,
            notify,
            command_env,
            &open.store,
        );
        let mut looped = LoopRun {
            machine: LoopMachine::new(policy, standing.clone()),
            context,
            memory,
            journal,
            lock,
            view,
            status,
            begun,
            wall_before,
            last: None,
            account_holds: Vec::new(),
        };
        looped.memory.keep(|record| record.standing = standing)?;
        looped.tell_the_beginning();
        Ok(looped)
    }

    fn tell(&self, text: &str) {
        self.context.command_env.tell(text);
    }

    fn tell_the_beginning(&self) {
        let record = self.memory.record();
        let at_most = self.context.settings().limits.max_iterations;
        if self.memory.resumed {
            let next = record
                .under_way
                .map_or(record.standing.finished.saturating_add(1), |(number, _)| {
                    number
                });
            self.tell(&format!("resuming the loop of {:.0} at iteration {next}/{at_most} (--restart to start over)", record.begun_at));
        }
        for agent in &self.context.agents {
            if let Some(clause) = self.context.describe_recognition(agent) {
                self.tell(&clause);
            }
        }
        warnings_before_the_first_session(&self.context.agents, &self.context.root)
            .iter()
            .for_each(|warning| self.tell(warning));
        self.tell(&about_silence(
            self.context
                .request
                .idle_timeout(self.context.settings().limits.idle_timeout),
        ));
        self.journal.write(
            kind::STARTED,
            loop_started_data(
                &record.id,
                self.memory.resumed,
                at_most,
                &self.context.origin,
            ),
        );
    }

    fn wall(&self) -> Duration {
        self.wall_before + measure_since(self.begun)
    }

    fn show(&mut self, phase: LoopPhase) {
        self.status.phase = phase;
        self.status.spent = self.machine.standing().spent;
        self.view.show(&self.status);
    }

    async fn drive(&mut self, signals: &mut SignalState) -> Judgement {
        let mut came = match self.take_up_what_was_cut_off(signals).await {
            Ok(came) => came,
            Err(verdict) => return self.finish_with(*verdict),
        };
        loop {
            came = match self.next(came) {
                LoopAction::Iterate { .. } if signals.is_interrupted() => {
                    return self.end_interrupted();
                }
                LoopAction::Iterate { .. } if self.context.request.pause.came() => {
                    return self.end_paused();
                }
                LoopAction::Iterate { number } => match self.iterate(number, signals).await {
                    Ok(played) => LoopStepInput::Played(Box::new(played)),
                    Err(refusal) => {
                        self.last =
                            Some(refusal.into_judgement(&self.context.command_env, self.begun));
                        return self.finish(&LoopEnd::Verdict);
                    }
                },
                LoopAction::JudgeAgain => match self.judge_again(signals).await {
                    Ok(played) => LoopStepInput::Played(Box::new(played)),
                    Err(unreadable) => {
                        return self.finish_with(self.context.unreadable(unreadable));
                    }
                },
                LoopAction::Pause { length, why } => match self.pause(length, why, signals).await {
                    true => LoopStepInput::PauseOver,
                    false if signals.is_interrupted() => {
                        return self.end_interrupted();
                    }
                    false => return self.end_paused(),
                },
                LoopAction::End(end) => return self.finish(&end),
            };
        }
    }

    /// The session that was under way when an earlier process of this loop died is judged first: its commits count.
    async fn take_up_what_was_cut_off(
        &mut self,
        signals: &mut SignalState,
    ) -> Result<LoopStepInput, Box<Verdict>> {
        let Some((number, at)) = self.memory.record().under_way else {
            return Ok(LoopStepInput::Begin);
        };
        let timeout = self.context.request.terms.timeout.or(self
            .context
            .settings()
            .limits
            .session_timeout);
        let LoopContext {
            command_env,
            store,
            worktree_id,
            spec,
            ..
        } = &self.context;
        pause::wait_for_its_end(command_env, store, worktree_id, spec, timeout, signals).await?;
        self.status.iteration = number;
        self.show(LoopPhase::Judging);
        let input = self
            .context
            .input_of_last_session(true)
            .map_err(|unreadable| Box::new(self.context.unreadable(unreadable)))?;
        let crash = Some(("it was cut off, and so was watchdog".to_string(), false));
        let prepared = self.prepare_judgement(input, at);
        Ok(LoopStepInput::Played(Box::new(
            self.judge_iteration(prepared, number, ObservedSession::default(), crash, signals)
                .await,
        )))
    }

    /// Runs one iteration, by the steps of `run`: the loop has opened and locked the worktree already. `Err` holds the verdict of one
    /// that could not begin.
    async fn iterate(
        &mut self,
        number: u32,
        signals: &mut SignalState,
    ) -> Result<FinishedIteration, Refusal> {
        let begun = now();
        // Other processes see a session here; a failure to record that is no reason to end.
        let _ = self.lock.set_session_active(true);
        if number == 1 {
            self.context.refuse_half_done()?;
        }

        let prepared = self.prepare_judgement(self.context.input_of_new_session(number)?, begun);
        let prepared = refuse_what_passes(prepared, signals).await?;
        let records = &self.memory.record().records;
        let (mut prepared, texts) =
            read_described_prompt(prepared, (number, records), &self.context, signals).await?;
        self.journal
            .note(kind::BASELINE, baseline_data(&prepared.input.baseline));

        let change = self.machine.agent_change(now());
        let takes_up = self.takes_up(number, change.is_some());
        let prompt = self.prompt(
            number,
            &prepared.input,
            (change.as_ref(), takes_up),
            texts.as_ref(),
        );
        if let Some(change) = &change {
            self.tell(&change_in_words(change));
            self.journal
                .write(kind::AGENT_CHANGED, agent_changed_data(change));
            // The conversation of another agent is never taken up.
            let saved = self.memory.keep(|record| record.session_id = None);
            saved.map_err(|unreadable| prepared.unreadable(unreadable))?;
        }
        let options = self.begin_session(number, (&prompt, takes_up), &prepared)?;
        let mut seen = run_session(&prepared, options, signals).await;
        self.end_session(&seen);
        seen.context.prompt.get_or_insert(prompt);

        let crash = crash_of(&seen);
        // The next session continues after a crash in any case, so the agent that crashed is not probed.
        prepared.input.overrides.no_probe |= crash.is_some();
        self.show(LoopPhase::Judging);
        Ok(self
            .judge_iteration(prepared, number, seen, crash, signals)
            .await)
    }

    /// Records that a session is starting, shows it, and returns its order.
    fn begin_session(
        &mut self,
        number: u32,
        (prompt, takes_up): (&str, bool),
        prepared: &PreparedJudgement,
    ) -> Result<SessionOptions, Refusal> {
        let chosen = self.machine.standing().chosen.clone();
        let agent = self.context.agent(chosen.as_deref());
        let conversation = if takes_up {
            ConversationChoice::Resumed(self.memory.record().session_id.as_deref())
        } else {
            ConversationChoice::Fresh
        };
        let options = self.context.options(
            (number, agent),
            prompt,
            self.machine.standing(),
            conversation,
        );
        let options =
            options.map_err(|why| prepared.instead(Verdict::new(Reason::AgentUnrunnable, why)))?;
        self.machine.session_begins();
        let (begun, at_most) = (prepared.begun, self.status.max_iterations);
        let standing = self.machine.standing().clone();
        let saved = self.memory.keep(|record| {
            (record.under_way, record.at_most, record.standing) =
                (Some((number, begun)), Some(at_most), standing);
        });
        saved.map_err(|unreadable| prepared.unreadable(unreadable))?;
        tracing::info!(target: "watchdog::session", iteration = number, max_iterations = at_most, "begins an iteration");
        let with = chosen
            .filter(|_| self.context.agents.len() > 1)
            .map(|name| format!(" with {name}"))
            .unwrap_or_default();
        self.tell(&format!(
            "iteration {number} of at most {at_most} begins{with}"
        ));
        let breaker = self
            .memory
            .record()
            .breaker
            .state(begun, &self.context.settings().breaker);
        (self.status.iteration, self.status.breaker) = (number, Some(breaker));
        self.status.tap = Some(options.tap.clone());
        let limit = (options.terms.timeout).or(prepared.input.settings.limits.session_timeout);
        self.show(LoopPhase::Session {
            since: begun,
            limit,
        });
        Ok(options)
    }

    /// Records that the session ended, and its conversation for the next one.
    fn end_session(&mut self, seen: &ObservedSession) {
        let _ = self.lock.set_session_active(false);
        self.status.tap = None;
        if let Some(id) = seen.session_id.clone() {
            // Without the id the next session continues the agent's last conversation.
            let _ = self.memory.keep(|record| record.session_id = Some(id));
        }
    }

    async fn judge_again(
        &mut self,
        signals: &mut SignalState,
    ) -> Result<FinishedIteration, UnreadableFact> {
        let number = self.machine.standing().finished.saturating_add(1);
        self.show(LoopPhase::Judging);
        let prepared = self.prepare_judgement(self.context.input_of_last_session(false)?, now());
        Ok(self
            .judge_iteration(prepared, number, ObservedSession::default(), None, signals)
            .await)
    }

    /// An input of this loop, whose sessions share one journal.
    fn prepare_judgement(&self, input: JudgementInput, begun: Timestamp) -> PreparedJudgement {
        let LoopContext {
            command_env, store, ..
        } = &self.context;
        PreparedJudgement {
            command_env: command_env.clone(),
            input,
            store: Arc::clone(store),
            journal: Arc::clone(&self.journal),
            begun,
        }
    }

    async fn judge_iteration(
        &mut self,
        mut prepared: PreparedJudgement,
        number: u32,
        mut seen: ObservedSession,
        crash: Option<(String, bool)>,
        signals: &mut SignalState,
    ) -> FinishedIteration {
        let ran = self.machine.standing().ran.clone();
        prepared.input.overrides.other_agent = self.context.is_another(ran.as_deref());
        // A program that is asked in the agent's place has limits of its own.
        let own_limit = matches!(seen.end, Some(SessionEnd::RateLimited { .. }));
        let of_agent = own_limit || self.context.settings().agent.probe.is_none();
        let (words, spent) = (
            seen.context.output.clone(),
            SpentUsage::from_usage(&seen.context.usage),
        );
        seen.context.iteration = Some(number.into());
        seen.context.summaries = self
            .memory
            .record()
            .records
            .iter()
            .map(IterationRecord::summary)
            .collect();
        let begun = prepared.begun;
        let mut judgement = prepared.judge(seen, signals).await;
        judgement.breaker = Some(self.feed_own_breaker(&judgement.verdict));
        let settings = self.context.settings();
        let phases: Vec<&str> = self
            .context
            .request
            .prompts
            .phases()
            .chain(settings.last_phases())
            .collect();
        let record = IterationRecord::new(number, begun, judgement.duration, &judgement.verdict)
            .with_words(words.as_deref(), &phases)
            .with_crash(crash.as_ref().map(|(why, _)| why.as_str()));
        let record = IterationRecord {
            log: judgement.log.clone(),
            agent: ran,
            ..record
        };
        let work = self.context.work().await;
        let outcome = build_outcome(&judgement, crash, of_agent, work, spent);
        FinishedIteration {
            judgement,
            outcome,
            record,
        }
    }

    /// Counts a strike of this loop, which no strike of another command adds to.
    fn feed_own_breaker(&mut self, verdict: &Verdict) -> BreakerView {
        let (at, settings, outcome) = (
            now(),
            self.context.settings().breaker.clone(),
            BreakerInput::from_verdict(verdict),
        );
        // The record of the standing, which follows, says where it cannot be written.
        let _ = self
            .memory
            .keep(|record| record.breaker.record(at, &settings, outcome));
        self.memory.record().breaker.state(at, &settings)
    }

    /// Takes an event, and returns the next step.
    fn next(&mut self, came: LoopStepInput) -> LoopAction {
        self.refresh_account();
        let played = match came {
            LoopStepInput::Begin => return self.machine.step(now(), self.wall(), LoopEvent::Begin),
            LoopStepInput::PauseOver => {
                return self.machine.step(now(), self.wall(), LoopEvent::PauseOver);
            }
            LoopStepInput::Played(played) => *played,
        };
        let FinishedIteration {
            judgement,
            outcome,
            record,
        } = played;
        let line = in_words(&record, &judgement.verdict.message);
        self.journal.write(kind::ITERATION, record_json(&record));
        self.status.breaker = judgement.breaker.clone();
        let (before, interrupted) = (
            self.machine.standing().finished,
            outcome.reason == Reason::Interrupted,
        );
        let action = self
            .machine
            .step(now(), self.wall(), LoopEvent::Judged(Box::new(outcome)));
        // The verdict of the loop says how its last iteration ended.
        if !matches!(action, LoopAction::End(_)) {
            self.tell(&line);
        }
        let standing = self.machine.standing().clone();
        let saved = match (interrupted, standing.finished == before) {
            // The process that resumes this loop judges it again: its commits count then.
            (true, _) => self
                .memory
                .keep(|loop_record| loop_record.standing = standing),
            (false, true) => self.memory.keep(|loop_record| {
                (loop_record.standing, loop_record.under_way) = (standing, None)
            }),
            (false, false) => self
                .memory
                .add_iteration(&standing, record, &judgement.verdict),
        };
        if let Err(unreadable) = saved {
            self.tell(&format!(
                "how the loop stands could not be written down, so it cannot be gone on with: {}",
                unreadable.why
            ));
        }
        let verdict = &judgement.verdict;
        let losses = (verdict.degraded.iter()).filter(|note| note.code.is_loss());
        // The next record of the loop has them, too.
        let _ = self.memory.keep(|record| {
            add_missing(&mut record.losses, losses.cloned());
            add_missing(
                &mut record.ignored_lost,
                verdict.ignored_lost.iter().cloned(),
            );
        });
        self.last = Some(judgement);
        action
    }

    /// Waits; false if a signal came.
    async fn pause(
        &mut self,
        length: PauseLength,
        why: PauseReason,
        signals: &mut SignalState,
    ) -> bool {
        let from = now();
        let until = pause::end_of(length, from);
        let seconds = Duration::try_from(until.duration_since(from))
            .unwrap_or_default()
            .as_secs_f64()
            .ceil();
        if why == PauseReason::Overload {
            self.journal.write(kind::LIMIT, loop_pause_data(why, until));
        }
        if why != PauseReason::Cooldown {
            self.tell(&format!(
                "{}: going on at {until:.0}, in {seconds} s",
                why_in_words(why)
            ));
        }
        self.show(LoopPhase::Pause { until, why });
        let command_env = &self.context.command_env;
        let tell = |time_left: Duration| {
            command_env.tell(&format!(
                "{}: going on in {} min",
                why_in_words(why),
                time_left.as_secs().div_ceil(60)
            ));
        };
        let mut request = self.context.request.pause.clone();
        tokio::select! {
            whole = pause::wait_until(until, signals, tell) => whole,
            () = self.context.hold_ends_early(&self.account_holds), if why == PauseReason::UsageLimit => true,
            () = request.wait() => false,
        }
    }

    /// Whether the next session goes on in the conversation of the last one. If that was wanted and
    /// cannot be, the loop tells a person.
    fn takes_up(&self, number: u32, changed: bool) -> bool {
        if !self.context.request.same_conversation || number == 1 || changed {
            return false;
        }
        let agent = self
            .context
            .agent(self.machine.standing().chosen.as_deref());
        let takes_up = agent.worker.takes_up(ConversationChoice::Resumed(
            self.memory.record().session_id.as_deref(),
        ));
        if !takes_up {
            let name = &agent.name;
            self.tell(&format!("iteration {number} begins a new conversation despite --continue: {name} cannot take up the last one"));
        }
        takes_up
    }

    fn prompt(
        &self,
        number: u32,
        input: &JudgementInput,
        (change, takes_up): (Option<&AgentChange>, bool),
        texts: Option<&DescribedPrompt>,
    ) -> String {
        let settings = self.context.settings();
        let branch = input.worktree().branch();
        let last = self
            .last
            .as_ref()
            .map(|last| last.verdict.clone())
            .or_else(|| self.memory.last_verdict());
        let prompt = self.context.request.prompts.compose(&PromptFacts {
            iteration: number,
            max_iterations: settings.limits.max_iterations,
            resumed: takes_up,
            criteria: &match self.context.effective.trust {
                ConfigTrust::Settled => criteria_words(settings, texts),
                ConfigTrust::Untrusted { .. } => String::new(),
            },
            handler_task: texts.and_then(|texts| texts.prompt.as_deref()),
            last: last.as_ref(),
            records: &self.memory.record().records,
            budget: super::plan::describe_budget(&settings.limits, self.machine.standing()),
            spec: &self.context.spec,
            branch: branch.as_deref(),
            worktree: &self.context.root.display().to_string(),
            baseline: self.context.origin.as_str(),
        });
        change.map_or(prompt.clone(), |change| {
            handed_over(&self.context, change, last.as_ref(), &prompt)
        })
    }
}
