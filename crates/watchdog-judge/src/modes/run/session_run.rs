//! Runs one session: starts it, shows and logs its output, takes snapshots, waits for it and its children, and records its end. Judges
//! nothing.

use std::cell::RefCell;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use tracing::Instrument as _;

use crate::session::EndedSession;
use watchdog_agent::envelope::session_id_in;
use watchdog_agent::preset::refusal::RefusalAdvice;
use watchdog_agent::preset::verdict_basis::unheld_limits;
use watchdog_agent::preset::{AgentPreset, PresetCatalog};
use watchdog_agent::stream::{SessionSummary, StreamDialect, StreamFormat, StreamTap};
use watchdog_agent::transcript_read::TranscriptTail;
use watchdog_agent::transcript_source::TranscriptSource;
use watchdog_core::config::PresetName;
use watchdog_core::decision::termination::SpentUsage;
use watchdog_facts::agent_source::AgentSource;
use watchdog_facts::context::{SessionContext, SessionUsage};
use watchdog_facts::display::log_millis;
use watchdog_facts::evidence::{Degradation, ProcessExit, SessionEnd, StopReason, WarningCode};
use watchdog_facts::session_exit::{EndedBy, SessionExit};
use watchdog_facts::session_work::ContentIds;
use watchdog_process::own_stdin::stdin_may_bring_more;
use watchdog_process::{
    SessionLaunch, SessionProcess, SessionTerms, SparedPrograms, StartError, StdinSource,
    SurvivingProcess,
};
use watchdog_store::journal::kind;
use watchdog_store::session::{self, SessionRecord};
use watchdog_store::{LocalStore, RecordType, uncommitted};

use super::periodic::{PeriodicSnapshots, SnapshotSubject};
use super::session_recognition::SessionRecognition;
use super::session_wait::{AgentBudget, SessionBudget, SessionWaiter, WaitedSession};
use super::sighted_agent::OutputDialect;
use super::silence_watch::{SilenceCause, WatchedSession};
use crate::clock::now;
use crate::judge::admission::PreparedJudgement;
use crate::judge::command_env::CommandEnv;
use crate::judge::judgement_input::JudgementInput;
use crate::judge::judgement_run::ObservedSession;
use crate::judge::session_agent::{earlier_tokens, limit_met, own_cost};
use crate::judge::session_life::processes_left;
use crate::judge::settle_anchor;
use crate::judge::signals::SignalState;
use crate::judge::spawn_io::spawn_io;
use crate::modes::person::person_can_answer;
use crate::wire::session_events::{
    SeenSessionEnd, SeenUsage, end_word, session_limit_data, session_started_data,
};
use crate::wire::verdict_json::as_json;

/// A session to run.
#[derive(Debug, Clone)]
pub struct SessionOptions {
    /// Its program, with its log.
    pub launch: SessionLaunch,
    /// The agent that it starts, by the name or path of its preset; `None` where that is unknown.
    pub agent: Option<String>,
    /// The preset whose rules the output is read by as well, where no command line names the agent.
    pub ruled_by: Option<String>,
    /// When it is ended; by default after the configured time. Without an idle timeout it may be silent.
    pub terms: SessionTerms,
    /// Reads its output while it runs, for a live view.
    pub tap: StreamTap,
    /// The usage of earlier sessions of the same loop or task.
    pub before: SpentUsage,
    /// The budget of its agent, if that has one.
    pub agent_budget: Option<AgentBudget>,
    /// Whom a usage limit that it meets belongs to, among the machines of an account.
    pub account_agent: Option<String>,
}

/// Runs one session in the worktree of an input to its end, after a snapshot of the uncommitted files.
pub async fn run_session(
    prepared: &PreparedJudgement,
    options: SessionOptions,
    signals: &mut SignalState,
) -> ObservedSession {
    let worktree = prepared.input.root.display().to_string();
    let span = tracing::info_span!(target: "watchdog::session", "session", worktree = worktree, spec = prepared.input.spec);
    let run = async {
        let begun = now();
        tracing::info!(
            target: "watchdog::session",
            program = %options.launch.argv.first().map(|name| name.to_string_lossy()).unwrap_or_default(),
            timeout_ms = options.terms.timeout.map(log_millis),
            idle_timeout_ms = options.terms.idle_timeout.map(log_millis),
            "starts a session"
        );
        let snapshots = take_first_snapshot(prepared).await?;
        let (mut session, process, waiter) =
            match StartedSession::start_session(prepared, options, begun) {
                Ok(started) => started,
                Err(end) => {
                    stop_snapshots(snapshots);
                    return Err(end);
                }
            };
        let waited = session.wait_for_end(process, waiter, signals).await;
        stop_snapshots(snapshots);
        let seen = session.observe_end(waited);
        Ok(session.record_end(seen))
    };
    let seen = run
        .instrument(span.clone())
        .await
        .unwrap_or_else(|end| ObservedSession {
            end: Some(end),
            ..ObservedSession::default()
        });
    span.in_scope(|| {
        tracing::debug!(
            target: "watchdog::session",
            end = end_word(seen.end.as_ref()),
            session_id = seen.session_id,
            survivors = seen.survivors.len(),
            wall_seconds = seen.context.usage.wall_seconds,
            "the session ended"
        );
    });
    seen
}

/// Takes a snapshot before the session, and begins with those that are taken while it runs.
async fn take_first_snapshot(
    prepared: &PreparedJudgement,
) -> Result<Option<PeriodicSnapshots>, SessionEnd> {
    let (command_env, input) = (&prepared.command_env, &prepared.input);
    let subject = SnapshotSubject {
        root: input.root.clone(),
        worktree_id: input.worktree_id.clone(),
        spec: input.spec.clone(),
        settings: input.settings.rescue.clone(),
        evidence: input.evidence.clone(),
        store: Arc::clone(&prepared.store),
        narrate: Arc::clone(&command_env.narrate),
        helpers: RefCell::default(),
    };
    let span = tracing::Span::current();
    let (snapshots, unkept) =
        spawn_io(move || span.in_scope(|| PeriodicSnapshots::start(subject))).await;
    match unkept {
        Some(why) if input.overrides.without_snapshot => {
            command_env.tell(&format!("no snapshot before the session: {why}"));
            Ok(snapshots)
        }
        Some(why) => {
            stop_snapshots(snapshots);
            Err(SessionEnd::NotKept { why })
        }
        None => Ok(snapshots),
    }
}

/// A session that runs, with what is known of it.
struct StartedSession<'a> {
    prepared: &'a PreparedJudgement,
    options: SessionOptions,
    recognition: Option<SessionRecognition>,
    /// The agent that a person named.
    named_agent: Option<String>,
    may_get_input: bool,
    record: SessionRecord,
    notes: Vec<Degradation>,
}

impl<'a> StartedSession<'a> {
    /// Announces the session, starts it, and records its process.
    fn start_session(
        prepared: &'a PreparedJudgement,
        mut options: SessionOptions,
        begun: Timestamp,
    ) -> Result<(Self, SessionProcess, SessionWaiter), SessionEnd> {
        let PreparedJudgement {
            command_env,
            input,
            store,
            journal,
            ..
        } = prepared;
        let work = (store.as_ref(), &input.worktree_id, &input.spec);
        let mut recognition = SessionRecognition::of_command(
            command_env,
            options.agent.as_deref(),
            &options.launch.argv,
        );
        let named_agent = recognition.get_named_agent().map(str::to_owned);
        let may_get_input = options.launch.stdin == StdinSource::Inherit && stdin_may_bring_more();
        options.launch.spared = SparedPrograms::with_known(&input.settings.limits.ignore_processes);
        options.launch.tap = Some(Arc::new(options.tap.clone()));
        // First of all: the successor of a killed watchdog must find the session, and its first processes must count as its own.
        // This process's pid takes its place until its own is known.
        let mut record = SessionRecord {
            agent: named_agent.clone(),
            agent_source: named_agent.is_some().then_some(AgentSource::Named),
            read_as: options.ruled_by.clone(),
            pid: Some(std::process::id()),
            log: options.launch.log.clone(),
            folder: Some(options.launch.cwd.clone()).filter(|folder| *folder != input.root),
            idle_limit: options.terms.idle_timeout,
            ..SessionRecord::began(begun)
        };
        let former = SessionRecord::read_row(work.0, work.1, work.2);
        let mut written = record.write_row(work.0, work.1, work.2);
        // Its threads before it: one that cannot be had must not cost a session that has begun to work.
        let started = SessionWaiter::prepare()
            .map_err(StartError::no_thread)
            .and_then(|waiter| Ok((waiter, SessionProcess::start(&options.launch)?)));
        let (waiter, process) = started.map_err(|error| {
            // It never ran. If the record stays, it describes a session that is gone, which is correct, too.
            let _ = former
                .and_then(|former| session::put_back(work.0, (work.1, work.2), former.as_ref()));
            not_started(error)
        })?;
        record.pid = Some(process.pid());
        // Not in its place: a hook may have told its name by now.
        let updated =
            session::update_session(work.0, work.1, work.2, |stored| stored.pid = record.pid);
        written = written.and(updated.map(drop));
        tracing::debug!(target: "watchdog::session", pid = process.pid(), "the session runs");
        journal.write(
            kind::SESSION_STARTED,
            session_started_data(
                process.pid(),
                &shorten_command(&options.launch.argv),
                named_agent.as_deref(),
            ),
        );
        recognition.watch(process.meter().command_lines(), command_env);
        let preset = (named_agent.as_deref().and_then(PresetName::parse))
            .and_then(|name| command_env.agent_preset(&input.root, &name).ok());
        let has_budget = options.agent_budget.is_some();
        if let Some(unheld) =
            preset.and_then(|preset| unheld_limits(&preset, &input.settings.limits, has_budget))
        {
            command_env.tell(&unheld);
        }
        let session = StartedSession {
            prepared,
            options,
            recognition: Some(recognition),
            named_agent,
            may_get_input,
            record,
            notes: (written.err())
                .map(|error| Degradation::new(WarningCode::StoreUnwritable, error))
                .into_iter()
                .collect(),
        };
        Ok((session, process, waiter))
    }

    fn session_budget(&self) -> SessionBudget<'_> {
        SessionBudget {
            limits: &self.prepared.input.settings.limits,
            before: self.options.before,
            of_agent: self.options.agent_budget.as_ref(),
            tap: &self.options.tap,
        }
    }

    /// Waits for its end, which a limit, a budget, silence or a signal may bring.
    async fn wait_for_end(
        &self,
        process: SessionProcess,
        waiter: SessionWaiter,
        signals: &mut SignalState,
    ) -> (WaitedSession, Option<StopReason>) {
        let PreparedJudgement {
            command_env,
            input,
            store,
            ..
        } = self.prepared;
        let options = &self.options;
        let git_dir = input.worktree().git_dir().to_owned();
        let home = &command_env.claude_home;
        // A script may start the configured agent.
        let agent = (self.named_agent.as_deref()).unwrap_or(input.settings.agent.preset.as_str());
        // The agent's folder may be made by this session.
        let preset = PresetName::parse(agent)
            .and_then(|name| command_env.agent_preset(&input.root, &name).ok());
        let source = preset.and_then(|preset| TranscriptSource::from_preset(&preset, home));
        let watched = WatchedSession {
            meter: process.meter(),
            tap: options.tap.clone(),
            tail: source.map(|source| {
                TranscriptTail::new(source, &options.launch.cwd, self.record.started_at)
            }),
            limit: options.terms.idle_timeout,
            can_answer: person_can_answer(&input.root, home, &options.launch.argv),
            root: input.root.clone(),
            git_dir,
            except: vec![command_env.state.root().to_owned()],
            home: home.clone(),
            may_get_input: self.may_get_input,
        };
        options
            .tap
            .continues(earlier_tokens(store.as_ref(), &input.worktree_id));
        let budget = self.session_budget();
        let own = (options.terms.timeout).or(input.settings.limits.session_timeout);
        let (timeout, at_timeout) = budget.timeout(own, now());
        let terms = SessionTerms {
            timeout,
            ..options.terms
        };
        let waited = waiter.wait(process, watched, terms, &budget, signals).await;
        if !waited.outcome.ended_survivors.is_empty() {
            command_env.tell(&format!(
                "ended what outlived the session: {}",
                describe_survivors(&waited.outcome.ended_survivors)
            ));
        }
        let stop = at_timeout.filter(|_| waited.outcome.timed_out);
        (waited, stop)
    }

    /// The facts about its end, from its process, its output and the records. The journal gets them.
    fn observe_end(
        &mut self,
        (waited, stop): (WaitedSession, Option<StopReason>),
    ) -> ObservedSession {
        let PreparedJudgement {
            command_env,
            input,
            store,
            journal,
            ..
        } = self.prepared;
        let mut summary = self.options.tap.finish();
        summary.usage.cost_usd = own_cost(store.as_ref(), &input.worktree_id, &summary);
        let ruled_by = (self.options.ruled_by.as_deref()).filter(|_| summary.ruled);
        let preset = speaking_preset(
            (command_env, &input.root),
            self.named_agent.as_deref().or(ruled_by),
            &summary,
        );
        let advice = preset.as_ref().and_then(|preset| preset.refusals.as_ref());
        let notes = std::mem::take(&mut self.notes);
        let mut seen = observe_session(
            waited,
            (&summary, advice),
            notes,
            &self.session_budget(),
            stop,
            now(),
        );
        let dialect = (summary.dialect.filter(|_| summary.structured)).map(StreamDialect::as_str);
        let output_dialect = match (ruled_by, dialect) {
            (Some(preset), _) => OutputDialect::RulesOf(preset),
            (None, Some(dialect)) => OutputDialect::Dialect(dialect),
            (None, None) => OutputDialect::None,
        };
        if let Some(recognition) = self.recognition.take() {
            let sighted = recognition.finish(output_dialect, seen.session_id.is_some());
            (seen.agent, seen.agent_source) = (sighted.agent, sighted.source);
        }
        if seen.session_id.is_none() {
            // An agent that prints nothing about itself may have told its name by a hook.
            let recorded = SessionRecord::read_row(store.as_ref(), &input.worktree_id, &input.spec);
            seen.session_id = (recorded.ok().flatten())
                .filter(|recorded| recorded.started_at == self.record.started_at)
                .and_then(|recorded| recorded.session_id);
        }
        journal.write(
            kind::SESSION_ENDED,
            as_json(SeenSessionEnd {
                end: end_word(seen.end.as_ref()),
                session_id: seen.session_id.as_deref(),
                agent: seen.agent.as_deref(),
                survivors: seen.survivors.len(),
                usage: SeenUsage {
                    of_run: &seen.context.usage,
                    session_cost_usd: summary.session_cost_usd,
                    session_input_tokens: summary.session_tokens.map(|tokens| tokens.input),
                    session_output_tokens: summary.session_tokens.map(|tokens| tokens.output),
                },
                ended: summary.ended.as_deref(),
                retries: summary.known_retries(),
            }),
        );
        if let Some(met) = session_limit_data(seen.end.as_ref()) {
            journal.write(kind::LIMIT, met);
        }
        seen
    }

    /// Records its end, and what it left: a limit of its agent, processes, the anchor, uncommitted files.
    fn record_end(self, mut seen: ObservedSession) -> ObservedSession {
        let PreparedJudgement {
            command_env,
            input,
            store,
            ..
        } = self.prepared;
        let store = store.as_ref();
        if let Some(SessionEnd::RateLimited { retry_at, .. }) = &seen.end {
            limit_met(store, self.options.account_agent.as_deref(), *retry_at);
        }
        let survivors = (seen.survivors.iter())
            .map(|survivor| (survivor.pid, survivor.name.clone()))
            .collect();
        let ended = SessionRecord {
            agent: seen.agent.clone(),
            agent_source: seen.agent_source,
            session_id: seen.session_id.clone(),
            ended_at: Some(now()),
            exit: seen.exit,
            survivors,
            ..self.record
        };
        if ended
            .write_row(store, &input.worktree_id, &input.spec)
            .is_err()
        {
            command_env.tell("the session's end could not be recorded");
        }
        let notes = settle_anchor::session_ended(store, &input.worktree(), &input.spec);
        seen.notes.extend(notes);
        if seen.survivors.is_empty() {
            seen.uncommitted_at_end = uncommitted_at_end(input, store);
        }
        seen
    }
}

/// Records the session's uncommitted files: later changes are not its work. Returns `None` if that
/// could not be read or recorded; then all that is found counts as its work.
fn uncommitted_at_end(input: &JudgementInput, store: &dyn LocalStore) -> Option<ContentIds> {
    let end = input.worktree().uncommitted_contents().ok()?.1;
    let recorded = uncommitted::record_session_end(
        store,
        &input.worktree_id,
        &input.spec,
        input.recorded_at?,
        (&end, input.worktree().read_gate_hooks()),
    );
    recorded.ok().map(|()| end)
}

/// Waits for a snapshot in progress: the judgement would only begin the same one.
fn stop_snapshots(snapshots: Option<PeriodicSnapshots>) {
    if let Some(snapshots) = snapshots {
        snapshots.stop();
    }
}

/// The preset of the program that printed the output: the named agent's where that speaks so, or else the one that is built in for the
/// dialect of the output.
fn speaking_preset(
    (command_env, root): (&CommandEnv, &Path),
    named: Option<&str>,
    summary: &SessionSummary,
) -> Option<Arc<AgentPreset>> {
    let speaks = |preset: &Arc<AgentPreset>| match (&preset.stream, summary.dialect) {
        (Some(StreamFormat::Dialect(dialect)), Some(printed)) => *dialect == printed,
        _ => true,
    };
    let named_preset = named
        .and_then(PresetName::parse)
        .and_then(|name| command_env.find_preset(root, &name).ok());
    named_preset
        .map(|found_preset| found_preset.preset)
        .filter(speaks)
        .or_else(|| PresetCatalog::built_in_named(summary.dialect?.as_str()))
}

fn observe_session(
    waited: WaitedSession,
    (summary, advice): (&SessionSummary, Option<&RefusalAdvice>),
    mut notes: Vec<Degradation>,
    budget: &SessionBudget<'_>,
    stop: Option<StopReason>,
    at: Timestamp,
) -> ObservedSession {
    let WaitedSession {
        outcome,
        silent,
        over_budget,
    } = waited;
    if let Some(why) = &outcome.log_note {
        notes.push(Degradation::new(WarningCode::LogIncomplete, why));
    }
    notes.extend(processes_left(outcome.survivors.len()));
    let usage = SessionUsage {
        wall_seconds: Some(outcome.duration.as_secs_f64()),
        ..summary.usage
    };
    let spent = SpentUsage::from_usage(&usage);
    notes.extend(budget.unknown(spent));
    let ended = EndedSession::new(&outcome, summary, advice, at);
    let (refused, last_line) = (ended.refusals(), ended.last_line());
    notes.extend(ended.notes());
    let session_id = summary
        .session_id
        .clone()
        .or_else(|| ended.session_id())
        .or_else(|| session_id_in(&outcome.tail_stdout));
    if let Some(SilenceCause::Finished(after)) = silent.filter(|_| outcome.cancelled) {
        let detail = format!(
            "it told its final result, was silent for {} s and did not end; watchdog ended it",
            after.as_secs()
        );
        notes.push(Degradation::new(WarningCode::EndedAfterResult, detail));
    }
    // A session that ended by itself is judged by its work, whatever its agent may still spend.
    let of_agent = || {
        budget
            .agent_stop(spent)
            .filter(|_| over_budget && outcome.cancelled)
    };
    let end = match (
        stop.or_else(|| budget.stop(spent, at)).or_else(of_agent),
        silent.filter(|_| outcome.cancelled),
    ) {
        (Some(stop), _) => SessionEnd::OverLimit { stop },
        (None, Some(SilenceCause::Idle(after))) => SessionEnd::Idle { after },
        // How it was ended says nothing about it: its result does.
        (None, Some(SilenceCause::Finished(_))) => ended
            .with_exit(ProcessExit::Code(i32::from(summary.error.is_some())))
            .end(),
        (None, None) => ended.end(),
    };
    let by = match (silent, outcome.cancelled) {
        _ if outcome.timed_out => EndedBy::Timeout,
        (Some(_), true) => EndedBy::Silence,
        (None, true) if over_budget => EndedBy::Limit,
        (None, true) => EndedBy::Interrupt,
        (_, false) => EndedBy::Itself,
    };
    ObservedSession {
        end: Some(end),
        exit: outcome.exit.map(|exit| SessionExit { exit, by }),
        last_line,
        session_id,
        agent: None,
        agent_source: None,
        survivors: outcome.survivors,
        log: outcome.log,
        uncommitted_at_end: None,
        notes,
        refused,
        context: SessionContext {
            usage,
            ..summary.context()
        },
    }
}

fn not_started(error: StartError) -> SessionEnd {
    let shortage = matches!(error, StartError::Shortage { .. });
    SessionEnd::NotStarted {
        why: format!("the session could not be started: {error}"),
        shortage,
    }
}

/// The first few processes, in words.
fn describe_survivors(survivors: &[SurvivingProcess]) -> String {
    const NAMED: usize = 5;
    let mut words: Vec<String> = survivors
        .iter()
        .take(NAMED)
        .map(ToString::to_string)
        .collect();
    if survivors.len() > NAMED {
        words.push(format!("{} more", survivors.len() - NAMED));
    }
    words.join(", ")
}

/// The command line for the journal, each word cut short: prompts are long, and do not belong there.
fn shorten_command(command: &[OsString]) -> Vec<String> {
    command
        .iter()
        .take(20)
        .map(|word| word.to_string_lossy().chars().take(200).collect())
        .collect()
}
