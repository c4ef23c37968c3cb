//! `watchdog probe`: asks the agent once and prints the answer, or reads an answer from a file.

use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use crate::cli::args::ProbeArgs;
use crate::cli::failure::CommandFailure;
use crate::cli::terminal::CommandTerminal;
use watchdog_agent::probe::{ProbeAnswer, ProbeRequest, ask_with, read_output};
use watchdog_agent::prompt::{QuestionFacts, probe_prompt};
use watchdog_facts::display::{escape_for_display, escape_to_one_line};
use watchdog_facts::evidence::{ProbeOutcome, Reply, ReplyStatus};
use watchdog_facts::shortage::shortage_in;
use watchdog_facts::verdict::{ProbeUsage, Reason};
use watchdog_judge::clock::now;
use watchdog_judge::judge::command_env::CommandEnv;
use watchdog_judge::judge::configuration::load_effective;
use watchdog_judge::judge::open_worktree::OpenWorktree;
use watchdog_judge::judge::session_agent::{SightedAgent, settings_for};
use watchdog_judge::session::ProbeTarget;
use watchdog_judge::wire::probe_json::{ProbedSession, probe_answer_json};
use watchdog_judge::wire::verdict_json::reply_of;
use watchdog_process::CancelFlag;

/// More of a file than this is not read: an answer is at its end.
const LONGEST: u64 = 256 << 20;

/// Asks once, or reads an answer.
pub fn run_probe_command(
    around: impl FnOnce() -> Result<CommandEnv, CommandFailure>,
    terminal: &CommandTerminal,
    args: ProbeArgs,
) -> Result<u8, CommandFailure> {
    let (answer, whom, against_git) = match &args.parse {
        Some(path) => {
            let outcome = read_output(&read_answer(path)?, now());
            (ProbeAnswer::without_probe(outcome), None, None)
        }
        None => ask_probe(&around()?, &args)?,
    };
    let outcome = answer.outcome;
    let disputed = reply_of(&outcome)
        .and_then(Reply::contradiction)
        .or(against_git);
    if terminal.json {
        let session = whom.as_ref().map(|whom| ProbedSession {
            id: answer
                .session_id
                .as_deref()
                .or(whom.resume.as_deref())
                .or(whom.expected.as_deref()),
            known_by: whom.known_by.as_str(),
        });
        terminal.value(&probe_answer_json(
            &outcome,
            disputed.as_deref(),
            session,
            &answer.usage,
        ));
    } else {
        show_outcome(terminal, &outcome, disputed.as_deref());
        if let Some(answering) = whom.as_ref().and_then(|whom| {
            answer
                .session_id
                .as_ref()
                .or(whom.resume.as_ref())
                .map(|id| (id, whom))
        }) {
            terminal.line(&format!(
                "  session: {} (known by {})",
                escape_to_one_line(answering.0),
                answering.1.known_by.as_str()
            ));
        }
        if let Some(cost) = describe_cost(&answer.usage) {
            terminal.line(&format!("  cost: {cost}"));
        }
    }
    Ok(match outcome {
        ProbeOutcome::Reply(_) => 0,
        ProbeOutcome::RateLimited { .. } => Reason::RateLimited.status().exit_code(),
        ProbeOutcome::NotInstalled { .. } => Reason::AgentUnrunnable.status().exit_code(),
        ProbeOutcome::Unreadable { .. }
        | ProbeOutcome::Empty
        | ProbeOutcome::TimedOut
        | ProbeOutcome::NoConversation { .. }
        | ProbeOutcome::NotLoggedIn { .. }
        | ProbeOutcome::Overloaded { .. }
        | ProbeOutcome::Failed { .. } => Reason::ProbeError.status().exit_code(),
    })
}

/// Describes the cost of a question; `None` if the agent does not tell.
fn describe_cost(usage: &ProbeUsage) -> Option<String> {
    let tokens = usage
        .input_tokens
        .zip(usage.output_tokens)
        .map(|(read, written)| format!("{read} tokens in, {written} out"));
    let money = usage.cost_usd.map(|cost| format!("${cost:.4}"));
    let parts: Vec<String> = tokens.into_iter().chain(money).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

type ProbeWithTarget = (ProbeAnswer, Option<ProbeTarget>, Option<String>);

fn ask_probe(
    command_env: &CommandEnv,
    args: &ProbeArgs,
) -> Result<ProbeWithTarget, CommandFailure> {
    let open = OpenWorktree::open(command_env)?;
    let store = open.store.as_ref();
    let recorded = open.recorded_baseline(args.spec.as_deref())?;
    let effective = load_effective(
        command_env,
        &open,
        None,
        recorded.as_ref().map(|baseline| &baseline.point),
    )?;
    let (names_agent, settings) = (effective.names_agent, effective.settings);
    let commits = match &recorded {
        Some(baseline) => Some(
            open.worktree
                .commits_since(&baseline.point, Some(&baseline.refs))?,
        ),
        None => None,
    };
    let changes = open.worktree.changes()?;
    let spec = open.spec_or_default(recorded.as_ref());
    let baseline_at = recorded.as_ref().map(|baseline| baseline.at);
    let sights = !command_env.is_agent_named(names_agent, &settings.agent);
    let ran = SightedAgent::find(
        command_env,
        store,
        (&open.worktree_id, &spec),
        open.root(),
        (baseline_at, sights),
    );
    let agent = settings_for(&settings.agent, ran.agent.as_deref());
    let source = command_env
        .transcripts_of(open.root(), agent.preset.as_str())
        .filter(|_| agent.probe.is_none());
    let whom = ProbeTarget::find_for_spec(
        store,
        (&open.worktree_id, &spec),
        (open.root(), source.as_ref()),
        None,
        baseline_at,
    )?;
    let facts = QuestionFacts {
        commits: commits.as_ref(),
        changes: Some(&changes),
    };
    let request = ProbeRequest {
        settings: &agent,
        preset: command_env.agent_preset(open.root(), &agent.preset),
        program: command_env.agent_program.clone(),
        worktree: open.root(),
        session_id: whom.resume.as_deref(),
        expected_session: whom.expected.clone(),
        probed: command_env.probed_session(
            Some(store),
            &open.worktree_id,
            (open.root(), &agent),
            whom.resume.as_deref().or(whom.expected.as_deref()),
        ),
        number: 1,
        prompt: probe_prompt(&facts, None),
        timeout: args
            .probe_timeout
            .unwrap_or(settings.completion_check.probe_timeout),
        now: now(),
    };
    let cancel = CancelFlag::new();
    let answer = with_interrupt(&cancel, || {
        ask_with(&request, &|program| program.run_cancellable(&cancel))
    })?;
    if reply_of(&answer.outcome).is_some() {
        whom.pin(
            store,
            &open.worktree_id,
            &spec,
            answer.session_id.as_deref(),
        )?;
    }
    let against_git = reply_of(&answer.outcome)
        .zip(commits.as_ref())
        .and_then(|(reply, commits)| reply.contradicts(commits));
    let against_git = against_git.or_else(|| {
        whom.proves_nothing()
            .filter(|_| says_complete(&answer.outcome))
    });
    Ok((answer, Some(whom), against_git))
}

fn says_complete(outcome: &ProbeOutcome) -> bool {
    reply_of(outcome).is_some_and(|reply| reply.status == ReplyStatus::Complete)
}

/// Runs something that blocks while Ctrl-C, TERM and HUP raise `cancel`, so that no agent is left behind.
pub(super) fn with_interrupt<T: Send>(
    cancel: &CancelFlag,
    work: impl FnOnce() -> T + Send,
) -> Result<T, CommandFailure> {
    let failed = |error: std::io::Error| {
        CommandFailure::new(
            Reason::StoreError,
            format!("failed to start the event loop: {error}"),
        )
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(failed)?;
    let no_thread = |error: std::io::Error| {
        let failure = CommandFailure::new(Reason::StoreError, format!("nothing is begun: {error}"));
        CommandFailure {
            hint: shortage_in(&error.to_string()).map(|shortage| shortage.helps.to_owned()),
            ..failure
        }
    };
    std::thread::scope(|scope| {
        let working = std::thread::Builder::new()
            .spawn_scoped(scope, work)
            .map_err(no_thread)?;
        runtime.block_on(async {
            let mut signals =
                watchdog_judge::judge::signals::SignalState::listen().map_err(failed)?;
            while !working.is_finished() {
                tokio::select! {
                    () = signals.wait_for_interrupt() => {
                        cancel.cancel();
                        break;
                    }
                    () = tokio::time::sleep(Duration::from_millis(20)) => {}
                }
            }
            Ok::<(), CommandFailure>(())
        })?;
        working
            .join()
            .map_err(|panicked| std::panic::resume_unwind(panicked))
    })
}

fn read_answer(path: &Path) -> Result<Vec<u8>, CommandFailure> {
    let failed = |error: std::io::Error| {
        CommandFailure::usage(format!("failed to read {}: {error}", path.display()))
    };
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        std::io::stdin()
            .take(LONGEST)
            .read_to_end(&mut bytes)
            .map_err(failed)?;
    } else {
        std::fs::File::open(path)
            .map_err(failed)?
            .take(LONGEST)
            .read_to_end(&mut bytes)
            .map_err(failed)?;
    }
    Ok(bytes)
}

fn show_outcome(terminal: &CommandTerminal, outcome: &ProbeOutcome, disputed: Option<&str>) {
    let line = |text: String| terminal.line(&text);
    match outcome {
        ProbeOutcome::Reply(reply) => {
            line(format!(
                "{}: {}",
                reply.status.as_str(),
                escape_to_one_line(&reply.message)
            ));
            for (name, tasks) in [
                ("completed", &reply.tasks_completed),
                ("pending", &reply.tasks_pending),
                ("active", &reply.agents_details),
            ] {
                for task in tasks {
                    line(format!("  {name}: {}", escape_to_one_line(task)));
                }
            }
            if let Some(next) = &reply.next_action {
                line(format!("  next: {}", escape_to_one_line(next)));
            }
        }
        other => {
            let why = other
                .why()
                .map(|why| format!(": {}", escape_for_display(why)))
                .unwrap_or_default();
            line(format!("{}{why}", other.as_str()));
        }
    }
    if let Some(why) = disputed {
        line(format!("  disputed: {}", escape_to_one_line(why)));
    }
}
