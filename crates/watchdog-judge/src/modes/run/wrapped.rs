//! `watchdog run`: records a baseline, runs one session, waits for it and its children, and judges.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;

use crate::session::{log_path, spec_of_new_session};
use watchdog_agent::recognition::{agents_in_command, known_agents};
use watchdog_agent::{ConversationChoice, SessionCommand};
use watchdog_core::config::PresetName;
use watchdog_core::decision::termination::{SpentUsage, find_stop_reason};
use watchdog_facts::display::time_span;
use watchdog_facts::evidence::{FaultKind, UnreadableFact};
use watchdog_facts::verdict::Verdict;
use watchdog_git::Worktree;
use watchdog_process::{MirrorTarget, SessionLaunch, SessionTerms, StdinSource, TerminalCover};
use watchdog_store::journal::kind;

use super::first_failure::refuse_what_passes;
use super::session_recognition::SessionRecognition;
use super::session_run::{SessionOptions, run_session};
use super::view::{RunPhase, RunView};
use crate::clock::now;
use crate::judge::admission::{PreparedJudgement, refuse_half_done, refuse_open_breaker};
use crate::judge::command_env::CommandEnv;
use crate::judge::configuration::criteria_changed;
use crate::judge::input_assembly::SourceOfBaseline;
use crate::judge::judgement_input::{JudgementInput, Overrides};
use crate::judge::live_session::RunningSession;
use crate::judge::open_worktree::OpenWorktree;
use crate::judge::refusal::Refusal;
use crate::judge::session_agent::agent_of_command;
use crate::judge::signals::SignalState;
use crate::modes::iterate::AgentSelection;
use crate::wire::judgement_events::baseline_data;
use crate::wire::verdict_json::Judgement;

/// The options of a run.
#[derive(Debug, Clone)]
pub struct RunRequest {
    /// The name of the work; by default the branch.
    pub spec: Option<String>,
    /// The session: a program and its arguments.
    pub command: Vec<OsString>,
    /// In place of `command`, the text that an agent is given.
    pub prompt: Option<(String, AgentSelection)>,
    /// When it is ended. An idle timeout of zero is no limit.
    pub terms: SessionTerms,
    /// Whether stdout belongs to the verdict, so that the session's output goes to stderr.
    pub output_to_stderr: bool,
    /// Shows how it stands.
    pub view: Option<Arc<dyn RunView>>,
    /// The overrides of the command line.
    pub overrides: Overrides,
}

/// Runs one session and judges it.
pub async fn run_wrapped_session(
    command_env: &CommandEnv,
    request: RunRequest,
    signals: &mut SignalState,
) -> Judgement {
    let begun = now();
    try_run(command_env, request, signals, begun)
        .await
        .unwrap_or_else(|refusal| refusal.into_judgement(command_env, begun))
}

/// The steps of a check with a session before the last of them: open, lock, input, admit, judge. `Err` says why no session started.
async fn try_run(
    command_env: &CommandEnv,
    request: RunRequest,
    signals: &mut SignalState,
    begun: Timestamp,
) -> Result<Judgement, Refusal> {
    let open = OpenWorktree::open(command_env)?;
    let mut lock = open.lock(command_env, "watchdog run", true)?;
    refuse_half_done(&open.worktree, &request.overrides)?;
    let spec = spec_of_new_session(open.store.as_ref(), &open.worktree, request.spec.as_deref())?;
    // One that a hook reported or a killed watchdog left: its baseline stays.
    if let Some(running) = RunningSession::find_running(command_env, &open, Some(&spec))? {
        return Err(running.not_beside_it().into());
    }
    refuse_open_breaker(command_env, &open, &spec, begun)?;

    let work = (SourceOfBaseline::New(begun), request.spec.as_deref());
    let prepared = PreparedJudgement::open(command_env, open, work, &request.overrides, begun)?;
    prepared.admit()?;
    prepared.unless(Ok(spent_before(&prepared.input, begun)))?;
    let (command, agent) = request.session_command(&prepared)?;
    let recognition = SessionRecognition::of_command(command_env, agent.as_deref(), &command.argv);
    let options = request.options(&prepared, (command, agent), &recognition);
    let clause = recognition.clause(&prepared.input.settings.agent, prepared.input.names_agent);
    command_env.tell(&first_line(&prepared.input, &options, clause));
    let mut prepared = refuse_what_passes(prepared, signals).await?;
    prepared
        .journal
        .note(kind::BASELINE, baseline_data(&prepared.input.baseline));

    let limit = options
        .terms
        .timeout
        .or(prepared.input.settings.limits.session_timeout);
    request.show(RunPhase::Session {
        since: now(),
        limit,
        tap: options.tap.clone(),
    });
    let seen = run_session(&prepared, options, signals).await;
    prepared.input.overrides.other_agent =
        is_of_another(command_env, &prepared.input, seen.agent.as_deref());
    request.show(RunPhase::Judging(now()));
    if lock.set_session_active(false).is_err() {
        command_env.tell("could not update the lock file: it still names a running session");
    }
    note_changed_criteria(&mut prepared);
    Ok(prepared.judge(seen, signals).await)
}

/// The verdict to give where a limit is met before the session.
fn spent_before(input: &JudgementInput, at: Timestamp) -> Option<Verdict> {
    let stop = find_stop_reason(&input.settings.limits, &SpentUsage::default(), at)?;
    Some(Verdict::new(
        stop.reason,
        format!("{}; the session was not started", stop.why),
    ))
}

impl RunRequest {
    fn show(&self, phase: RunPhase) {
        if let Some(view) = &self.view {
            view.show(phase);
        }
    }

    /// The program to start, and the preset of an agent that was chosen for the prompt.
    fn session_command(
        &self,
        prepared: &PreparedJudgement,
    ) -> Result<(SessionCommand, Option<String>), Refusal> {
        let (env, input) = (&prepared.command_env, &prepared.input);
        let Some((prompt, agents)) = &self.prompt else {
            let typed = SessionCommand {
                argv: self.command.clone(),
                stdin: StdinSource::Inherit,
                env: Vec::new(),
            };
            return Ok((typed, None));
        };
        let unusable = |why| Refusal::from(UnreadableFact::new(FaultKind::Config, why));
        let presets = |name: &PresetName| env.preset_to_start(name);
        let agents = agents
            .resolve(&input.settings, &presets)
            .map_err(unusable)?;
        let file = env.state.prompt_file(&input.worktree_id);
        let command = agents[0]
            .prompted_command(prompt, &file, ConversationChoice::Fresh)
            .map_err(unusable)?;
        Ok((command, agents[0].preset_name()))
    }

    /// The options of the session, with the idle timeout and the log file in force.
    fn options(
        &self,
        prepared: &PreparedJudgement,
        (command, agent): (SessionCommand, Option<String>),
        recognition: &SessionRecognition,
    ) -> SessionOptions {
        let PreparedJudgement {
            command_env,
            input,
            begun,
            ..
        } = prepared;
        let (tap, ruled_by) = recognition.reading(command_env, &input.root, &input.settings.agent);
        let log = log_path(&command_env.state.logs(), &input.worktree_id, *begun);
        let account_agent = agent_of_command(command_env, &command.argv);
        SessionOptions {
            launch: SessionLaunch {
                log: Some(log),
                // An agent that watchdog chose prints events for programs; the line below the terminal and the log show them.
                mirror: match (agent.is_some(), self.output_to_stderr) {
                    (true, _) => MirrorTarget::Off,
                    (false, true) => MirrorTarget::ToStderr,
                    (false, false) => MirrorTarget::Through,
                },
                cover: self.view.clone().map(|view| view as Arc<dyn TerminalCover>),
                stdin: command.stdin,
                env: command
                    .env
                    .into_iter()
                    .map(|(name, value)| (name, Some(value)))
                    .collect(),
                ..SessionLaunch::new(command.argv, command_env.typed_folder(&input.root))
            },
            agent,
            ruled_by,
            terms: SessionTerms {
                idle_timeout: (self.terms.idle_timeout)
                    .or(input.settings.limits.idle_timeout)
                    .filter(|limit| !limit.is_zero()),
                ..self.terms
            },
            tap,
            before: SpentUsage::default(),
            agent_budget: None,
            account_agent,
        }
    }
}

/// Whether the program that the command line or the environment names for questions is that of another agent than the session's.
fn is_of_another(command_env: &CommandEnv, input: &JudgementInput, ran: Option<&str>) -> bool {
    let Some((program, ran)) = command_env.agent_program.as_ref().zip(ran) else {
        return false;
    };
    // A program that does not say whose it is was named for the configured agent.
    agents_in_command(
        std::slice::from_ref(program),
        &known_agents(&command_env.presets),
    )
    .one()
    .unwrap_or(input.settings.agent.preset.as_str())
        != ran
}

/// Adds a warning about the session's changes to the file in force.
fn note_changed_criteria(prepared: &mut PreparedJudgement) {
    let PreparedJudgement {
        command_env,
        input,
        store,
        ..
    } = prepared;
    let Ok(worktree) = Worktree::open(&input.root) else {
        return;
    };
    let open = OpenWorktree::with_store(command_env, worktree, store);
    let (spec, point) = (Some(input.spec.as_str()), Some(&input.baseline));
    let new = criteria_changed(command_env, &open, (spec, point), &input.notes);
    input.notes.extend(new);
}

/// Describes the session in a line for a person before it begins: the baseline, the agent where it
/// is known, whose the uncommitted files are, the log, and what ends the session.
fn first_line(input: &JudgementInput, options: &SessionOptions, agent: Option<String>) -> String {
    let baseline: String = input.baseline.as_str().chars().take(10).collect();
    let timeout = (options.terms.timeout).or(input.settings.limits.session_timeout);
    let limits = match (
        timeout.map(time_span),
        options.terms.idle_timeout.map(time_span),
    ) {
        (None, None) => "no limits; set --timeout and --idle-timeout".to_owned(),
        (Some(limit), None) => format!("ended after {limit}, no --idle-timeout"),
        (None, Some(silence)) => format!("ended when silent for {silence}, no --timeout"),
        (Some(limit), Some(silence)) => {
            format!("ended after {limit}, or when silent for {silence}")
        }
    };
    let agent = agent
        .map(|clause| format!("{clause}; "))
        .unwrap_or_default();
    format!(
        "{}, baseline {baseline}; {agent}{}; {limits}; log: {}",
        input.spec,
        input.whose_work(),
        (options.launch.log.as_deref())
            .unwrap_or(Path::new(""))
            .display()
    )
}
