//! Runs one session: starts it, shows and logs its output, takes snapshots, waits for it and its children, and records its end. Judges
//! nothing.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use tracing::Instrument as _;

use crate::session::EndedSession;
use watchdog_agent::envelope::session_id_in;
use watchdog_agent::preset::refusal::RefusalAdvice;
use watchdog_agent::preset::verdict_basis::unheld_limits;
use watchdog_agent::preset::{AgentPreset, PresetCatalog};
use watchdog_agent::stream::{SessionSummary, StreamDialect, StreamFormat, StreamTap};
use watchdog_core::config::PresetName;
use watchdog_core::decision::termination::SpentUsage;
use watchdog_facts::agent_source::AgentSource;
use watchdog_facts::context::{SessionContext, SessionUsage};
use watchdog_facts::display::log_millis;
use watchdog_facts::evidence::StopReason;
use watchdog_facts::evidence::{Degradation, ProcessExit, SessionEnd, WarningCode};
use watchdog_facts::session_exit::{EndedBy, SessionExit};
use watchdog_facts::session_work::ContentIds;
use watchdog_process::own_stdin::stdin_may_bring_more;
use watchdog_process::{
    MirrorTarget, SessionLaunch, SessionOutcome, SessionProcess, SessionTerms, StartError,
    StdinSource, SurvivingProcess, TerminalCover,
};
use watchdog_store::LocalStore;
use watchdog_store::journal::kind;
use watchdog_store::session::{self, SessionRecord};
use watchdog_store::uncommitted;

use super::budget::{AgentBudget, SessionBudget};
use super::periodic::{PeriodicSnapshots, SnapshotSubject};
use super::session_recognition::SessionRecognition;
use super::session_wait::{SessionWaiter, WaitedSession};
use super::sighted_agent::OutputDialect;
use super::silence_watch::{SilenceCause, WatchedSession};
use crate::clock::now;
use crate::judge::admission::PreparedJudgement;
use crate::judge::command_env::CommandEnv;
use crate::judge::journal::CommandJournal;
use crate::judge::judgement_input::JudgementInput;
use crate::judge::judgement_run::ObservedSession;
use crate::judge::session_cost::{earlier_tokens, own_cost};
use crate::judge::settle_anchor;
use crate::judge::shared_account::limit_met;
use crate::judge::signals::SignalState;
use crate::judge::spawn_io::spawn_io;
use crate::judge::survivors::processes_left;
use crate::modes::person::person_can_answer;
use crate::wire::session_events::{
    SeenSessionEnd, end_word, session_ended_data, session_limit_data, session_started_data,
};

/// A session to run.
#[derive(Debug, Clone)]
pub struct SessionOptions {
    /// A program and its arguments.
    pub command: Vec<OsString>,
    /// The agent that it starts, by the name or path of its preset; `None` where that is unknown.
    pub agent: Option<String>,
    /// The preset whose rules the output is read by as well, where no command line names the agent.
    pub ruled_by: Option<String>,
    /// Variables to set (`Some`) or to remove (`None`).
    pub env: BTreeMap<OsString, Option<OsString>>,
    /// The file for its output.
    pub log: PathBuf,
    /// The source of its stdin.
    pub stdin: StdinSource,
    /// When it is ended; by default after the configured time. Without an idle timeout it may be silent.
    pub terms: SessionTerms,
    /// Where its output is shown.
    pub mirror: MirrorTarget,
    /// Lines of our own on the terminal that it is shown on.
    pub cover: Option<Arc<dyn TerminalCover>>,
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
    let PreparedJudgement {
        command_env,
        input,
        store,
        journal,
        ..
    } = prepared;
    let worktree = input.root.display().to_string();
    let span = tracing::info_span!(target: "watchdog::session", "session", worktree = worktree, spec = input.spec);
    let seen = run_in_span(command_env, input, store, journal, options, signals)
        .instrument(span.clone())
        .await;
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

async fn run_in_span(
    command_env: &CommandEnv,
    input: &JudgementInput,
    store: &Arc<dyn LocalStore>,
    journal: &CommandJournal,
    options: SessionOptions,
    signals: &mut SignalState,
) -> ObservedSession {
    let begun = now();
    let (root, git_dir) = {
        let worktree = input.worktree();
        (worktree.root().to_owned(), worktree.git_dir().to_owned())
    };
    let log = options.log.clone();
    let mut recognition =
        SessionRecognition::of_command(command_env, options.agent.as_deref(), &options.command);
    let named_agent = recognition.named().map(str::to_owned);
    let may_get_input = options.stdin == StdinSource::Inherit && stdin_may_bring_more();
    let spec = SessionLaunch {
        env: options.env,
        stdin: options.stdin,
        log: Some(log.clone()),
        mirror: options.mirror,
        cover: options.cover,
        tap: Some(Arc::new(options.tap.clone())),
        ..SessionLaunch::new(options.command.clone(), root.clone())
    };
    tracing::info!(
        target: "watchdog::session",
        program = %options.command.first().map(|name| name.to_string_lossy()).unwrap_or_default(),
        timeout_ms = options.terms.timeout.map(log_millis),
        idle_timeout_ms = options.terms.idle_timeout.map(log_millis),
        "starts a session"
    );
    let subject = SnapshotSubject {
        root: root.clone(),
        worktree_id: input.worktree_id.clone(),
        spec: input.spec.clone(),
        settings: input.settings.rescue.clone(),
        evidence: input.evidence.clone(),
        store: Arc::clone(store),
        narrate: Arc::clone(&command_env.narrate),
        helpers: RefCell::default(),
    };
    let without_snapshot = input.overrides.without_snapshot;
    let span = tracing::Span::current();
    let (snapshots, unkept) =
        spawn_io(move || span.in_scope(|| PeriodicSnapshots::start(subject))).await;
    match unkept {
        Some(why) if without_snapshot => {
            command_env.tell(&format!("no snapshot before the session: {why}"));
        }
        Some(why) => {
            stop(snapshots);
            return ObservedSession {
                end: Some(SessionEnd::NotKept { why }),
                ..ObservedSession::default()
            };
        }
        None => {}
    }
    // First of all: the successor of a killed watchdog must find the session, and its first processes must count as its own.
    // This process's pid takes its place until its own is known.
    let announced = SessionRecord {
        agent: named_agent.clone(),
        agent_source: named_agent.is_some().then_some(AgentSource::Named),
        read_as: options.ruled_by.clone(),
        pid: Some(std::process::id()),
        log: Some(log),
        idle_limit: options.terms.idle_timeout,
        ..SessionRecord::began(begun)
    };
    let former = session::read_session(store.as_ref(), &input.worktree_id, &input.spec);
    let mut notes = Vec::new();
    if let Err(error) = session::record(store.as_ref(), &input.worktree_id, &input.spec, &announced)
    {
        notes.push(Degradation::new(WarningCode::StoreUnwritable, error));
    }
    // Its threads before it: one that cannot be had must not cost a session that has begun to work.
    let began = SessionWaiter::prepare()
        .map_err(StartError::no_thread)
        .and_then(|waiter| Ok((waiter, SessionProcess::start(&spec)?)));
    let (waiter, session) = match began {
        Ok(began) => began,
        Err(error) => {
            stop(snapshots);
            // It never ran. If the record stays, it describes a session that is gone, which is correct, too.
            let _ = former.and_then(|former| {
                session::put_back(
                    store.as_ref(),
                    (&input.worktree_id, &input.spec),
                    former.as_ref(),
                )
            });
            return ObservedSession {
                end: Some(not_started(error)),
                ..ObservedSession::default()
            };
        }
    };
    let started = SessionRecord {
        pid: Some(session.pid()),
        ..announced
    };
    // Not in its place: a hook may have told its name by now.
    if let Err(error) = session::update(store.as_ref(), &input.worktree_id, &input.spec, |record| {
        record.pid = started.pid
    }) && notes.is_empty()
    {
        notes.push(Degradation::new(WarningCode::StoreUnwritable, error));
    }
    tracing::debug!(target: "watchdog::session", pid = session.pid(), "the session runs");
    journal.write(
        kind::SESSION_STARTED,
        session_started_data(
            session.pid(),
            &shown(&options.command),
            named_agent.as_deref(),
        ),
    );
    recognition.watch(session.meter().command_lines(), command_env);
    let known = named_agent
        .as_deref()
        .and_then(PresetName::parse)
        .and_then(|name| command_env.agent_preset(&root, &name).ok());
    if let Some(unheld) = known.and_then(|preset| {
        unheld_limits(
            &preset,
            &input.settings.limits,
            options.agent_budget.is_some(),
        )
    }) {
        command_env.tell(&unheld);
    }
    let watched = WatchedSession {
        meter: session.meter(),
        tap: options.tap.clone(),
        limit: options.terms.idle_timeout,
        can_answer: person_can_answer(&root, &command_env.claude_home, &options.command),
        root,
        git_dir,
        except: vec![command_env.state.root().to_owned()],
        home: command_env.claude_home.clone(),
        may_get_input,
    };
    options
        .tap
        .continues(earlier_tokens(store.as_ref(), &input.worktree_id));
    let budget = SessionBudget {
        limits: &input.settings.limits,
        before: options.before,
        of_agent: options.agent_budget.as_ref(),
        tap: &options.tap,
    };
    let (timeout, at_timeout) = budget.timeout(
        (options.terms.timeout).or(input.settings.limits.session_timeout),
        now(),
    );
    let terms = SessionTerms {
        timeout,
        ..options.terms
    };
    let WaitedSession {
        outcome,
        silent,
        over_budget,
    } = waiter.wait(session, watched, terms, &budget, signals).await;
    stop(snapshots);
    if !outcome.ended_survivors.is_empty() {
        command_env.tell(&format!(
            "ended what outlived the session: {}",
            named(&outcome.ended_survivors)
        ));
    }
    let mut summary = options.tap.finish();
    summary.usage.cost_usd = own_cost(store.as_ref(), &input.worktree_id, &summary);
    let stop = at_timeout.filter(|_| outcome.timed_out);
    let root = input.root.clone();
    let ruled_by = options.ruled_by.as_deref().filter(|_| summary.ruled);
    let preset = speaking_preset(
        (command_env, &root),
        named_agent.as_deref().or(ruled_by),
        &summary,
    );
    let advice = preset.as_ref().and_then(|preset| preset.refusals.as_ref());
    let mut seen = see(
        outcome,
        (&summary, advice),
        notes,
        &budget,
        SessionCutoff {
            stop,
            silent,
            over_budget,
        },
        now(),
    );
    let dialect = summary
        .dialect
        .filter(|_| summary.structured)
        .map(StreamDialect::as_str);
    let output_dialect = match (ruled_by, dialect) {
        (Some(preset), _) => OutputDialect::RulesOf(preset),
        (None, Some(dialect)) => OutputDialect::Dialect(dialect),
        (None, None) => OutputDialect::None,
    };
    let sighted = recognition.finish(output_dialect, seen.session_id.is_some());
    (seen.agent, seen.agent_source) = (sighted.agent, sighted.source);
    if seen.session_id.is_none() {
        // An agent that prints nothing about itself may have told its name by a hook.
        let recorded = session::read_session(store.as_ref(), &input.worktree_id, &input.spec)
            .ok()
            .flatten();
        seen.session_id = recorded
            .filter(|recorded| recorded.started_at == started.started_at)
            .and_then(|recorded| recorded.session_id);
    }
    journal.write(
        kind::SESSION_ENDED,
        session_ended_data(&SeenSessionEnd {
            end: seen.end.as_ref(),
            session_id: seen.session_id.as_deref(),
            agent: seen.agent.as_deref(),
            survivors: seen.survivors.len(),
            usage: &seen.context.usage,
            session_cost_usd: summary.session_cost_usd,
            ended: summary.ended.as_deref(),
            session_tokens: summary
                .session_tokens
                .map(|tokens| (tokens.input, tokens.output)),
            retries: summary.known_retries(),
        }),
    );
    if let Some(met) = session_limit_data(seen.end.as_ref()) {
        journal.write(kind::LIMIT, met);
    }
    if let Some(SessionEnd::RateLimited { retry_at, .. }) = &seen.end {
        limit_met(store.as_ref(), options.account_agent.as_deref(), *retry_at);
    }
    let survivors = seen
        .survivors
        .iter()
        .map(|survivor| (survivor.pid, survivor.name.clone()))
        .collect();
    let (agent, agent_source) = (seen.agent.clone(), seen.agent_source);
    let ended = SessionRecord {
        agent,
        agent_source,
        session_id: seen.session_id.clone(),
        ended_at: Some(now()),
        exit: seen.exit,
        survivors,
        ..started
    };
    if session::record(store.as_ref(), &input.worktree_id, &input.spec, &ended).is_err() {
        command_env.tell("the session's end could not be recorded");
    }
    let worktree = input.worktree();
    seen.notes.extend(settle_anchor::session_ended(
        store.as_ref(),
        &worktree,
        &input.spec,
    ));
    drop(worktree);
    if seen.survivors.is_empty() {
        seen.uncommitted_at_end = uncommitted_at_end(input, store);
    }
    seen
}

/// Records the session's uncommitted files: later changes are not its work. `None` where that could not be read or recorded; then all
/// that is found counts as its work.
fn uncommitted_at_end(input: &JudgementInput, store: &Arc<dyn LocalStore>) -> Option<ContentIds> {
    let end = input.worktree().uncommitted_contents().ok()?.1;
    let recorded = uncommitted::record_session_end(
        store.as_ref(),
        &input.worktree_id,
        &input.spec,
        input.recorded_at?,
        &end,
    );
    recorded.ok().map(|()| end)
}

/// Waits for a snapshot in progress: the judgement would only begin the same one.
fn stop(snapshots: Option<PeriodicSnapshots>) {
    if let Some(snapshots) = snapshots {
        snapshots.stop();
    }
}

/// The reason that cut a session short.
struct SessionCutoff {
    /// The budget that set its timeout.
    stop: Option<StopReason>,
    /// Its silence.
    silent: Option<SilenceCause>,
    /// Whether it was ended because a budget was spent.
    over_budget: bool,
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
    let found = named
        .and_then(PresetName::parse)
        .and_then(|name| command_env.find_preset(root, &name).ok());
    found
        .map(|found| found.preset)
        .filter(speaks)
        .or_else(|| PresetCatalog::built_in_named(summary.dialect?.as_str()))
}

fn see(
    outcome: SessionOutcome,
    (summary, advice): (&SessionSummary, Option<&RefusalAdvice>),
    mut notes: Vec<Degradation>,
    budget: &SessionBudget<'_>,
    cut: SessionCutoff,
    at: Timestamp,
) -> ObservedSession {
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
    let refused = ended.refusals();
    notes.extend(ended.notes());
    let session_id = summary
        .session_id
        .clone()
        .or_else(|| ended.session_id())
        .or_else(|| session_id_in(&outcome.tail_stdout));
    if let Some(SilenceCause::Finished(after)) = cut.silent.filter(|_| outcome.cancelled) {
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
            .filter(|_| cut.over_budget && outcome.cancelled)
    };
    let end = match (
        cut.stop
            .or_else(|| budget.stop(spent, at))
            .or_else(of_agent),
        cut.silent.filter(|_| outcome.cancelled),
    ) {
        (Some(stop), _) => SessionEnd::OverLimit { stop },
        (None, Some(SilenceCause::Idle(after))) => SessionEnd::Idle { after },
        // How it was ended says nothing about it: its result does.
        (None, Some(SilenceCause::Finished(_))) => ended
            .with_exit(ProcessExit::Code(i32::from(summary.error.is_some())))
            .end(),
        (None, None) => ended.end(),
    };
    let by = match (cut.silent, outcome.cancelled) {
        _ if outcome.timed_out => EndedBy::Timeout,
        (Some(_), true) => EndedBy::Silence,
        (None, true) if cut.over_budget => EndedBy::Limit,
        (None, true) => EndedBy::Interrupt,
        (_, false) => EndedBy::Itself,
    };
    ObservedSession {
        end: Some(end),
        exit: outcome.exit.map(|exit| SessionExit { exit, by }),
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
fn named(survivors: &[SurvivingProcess]) -> String {
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
fn shown(command: &[OsString]) -> Vec<String> {
    command
        .iter()
        .take(20)
        .map(|word| word.to_string_lossy().chars().take(200).collect())
        .collect()
}
