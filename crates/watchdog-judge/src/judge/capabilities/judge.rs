//! Puts a question about the work to a model: by the agent's preset, or by a program of the user's with the prompt on its stdin.

use std::path::Path;

use watchdog_agent::probe::{ProbeRequest, ProbeSubject, ask_to_judge};
use watchdog_core::checks::{
    Capabilities as _, CommandRequest, CommandRun, JudgeAnswer, JudgeRequest,
};
use watchdog_core::config::settings::{AgentSettings, CommandLine};
use watchdog_facts::display::cut_text;
use watchdog_facts::evidence::{ProbeOutcome, ProcessExit};
use watchdog_facts::verdict::ProbeUsage;

use super::SystemCapabilities;
use crate::clock::now;
use crate::judge::agent_preset::preset_of_word;
use crate::judge::session_agent::{agent_of_question, held, in_words, limit_met};

/// The most bytes of an answer that are read: its first line decides.
const ANSWER: usize = 64 << 10;

/// Asks by the agent's preset, without tools and without a session, in a folder where no file of the worktree is read as instructions.
pub(super) fn ask_preset(
    capabilities: &SystemCapabilities<'_>,
    request: &JudgeRequest<'_>,
) -> JudgeAnswer {
    let settings = &capabilities.input.settings.agent;
    let settings = AgentSettings {
        model: request
            .model
            .map(str::to_owned)
            .or_else(|| settings.model.clone()),
        ..settings.clone()
    };
    let recipient = agent_of_question(&settings);
    if let Some(limit) = capabilities
        .store
        .as_ref()
        .and_then(|store| held(store.as_ref(), recipient.as_deref()))
    {
        return JudgeAnswer::Failed {
            why: in_words(&limit),
        };
    }
    let question = ProbeRequest {
        settings: &settings,
        preset: capabilities
            .agent_preset
            .clone()
            .unwrap_or_else(|| preset_of_word(&settings.preset)),
        program: capabilities.agent_program.clone(),
        // Agents read instructions from the folder that they run in, which the one that is judged may have written. A program of the
        // user's own is found from the worktree.
        worktree: if settings.probe.is_some() {
            &capabilities.input.root
        } else {
            Path::new("/")
        },
        session_id: None,
        expected_session: None,
        probed: ProbeSubject::default(),
        number: 1,
        prompt: request.prompt.to_owned(),
        timeout: request.timeout,
        now: now(),
    };
    let mut spent = ProbeUsage::default();
    let answer = ask_to_judge(
        &question,
        &|program| program.run_cancellable(capabilities.cancel),
        &mut spent,
    );
    capabilities.spend(spent);
    if let (Err(outcome), Some(store)) = (&answer, &capabilities.store)
        && let ProbeOutcome::RateLimited { retry_at, .. } = outcome.as_ref()
    {
        limit_met(store.as_ref(), recipient.as_deref(), *retry_at);
    }
    match answer {
        Ok(text) => JudgeAnswer::Text(cut_text(&text, ANSWER)),
        Err(outcome) => match (*outcome, capabilities.cancel.is_cancelled()) {
            (ProbeOutcome::TimedOut, _) | (_, true) => JudgeAnswer::TimedOut,
            (
                outcome @ (ProbeOutcome::NotInstalled { .. } | ProbeOutcome::NotLoggedIn { .. }),
                _,
            ) => JudgeAnswer::Unrunnable {
                why: outcome.failure(),
            },
            (outcome, _) => JudgeAnswer::Failed {
                why: outcome.failure(),
            },
        },
    }
}

/// Asks a program once.
pub(super) fn ask_program(
    capabilities: &SystemCapabilities<'_>,
    line: &CommandLine,
    request: &JudgeRequest<'_>,
) -> JudgeAnswer {
    let mut command = CommandRequest::new(line, request.timeout);
    command.stdin = request.prompt.as_bytes();
    match capabilities.run_command(&command) {
        CommandRun::Unrunnable { why } => JudgeAnswer::Unrunnable { why },
        CommandRun::HeadroomError { why } => JudgeAnswer::Failed { why },
        CommandRun::TimedOut { .. } => JudgeAnswer::TimedOut,
        CommandRun::Finished {
            exit: exit @ ProcessExit::Code(126 | 127),
            output,
        } => JudgeAnswer::Unrunnable {
            why: describe_failure(&format!("it ended with {exit}"), &output.stderr.tail),
        },
        CommandRun::Finished { exit, output } if !exit.success() => JudgeAnswer::Failed {
            why: describe_failure(&format!("it ended with {exit}"), &output.stderr.tail),
        },
        CommandRun::Finished { output, .. } => {
            let mut bytes = output.stdout.head;
            if output.stdout.dropped == 0 {
                bytes.extend(output.stdout.tail);
            }
            bytes.truncate(ANSWER);
            JudgeAnswer::Text(String::from_utf8_lossy(&bytes).into_owned())
        }
    }
}

fn describe_failure(how: &str, stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    match text.trim().lines().last() {
        Some(last) => format!("{how}: {}", cut_text(last, 500)),
        None => how.to_owned(),
    }
}
