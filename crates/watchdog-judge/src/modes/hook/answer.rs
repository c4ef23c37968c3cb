//! Answers one hook, in time in every case. On a deadline, a signal, a failure or a panic it lets the agent continue and shows the user
//! why.

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinError;
use tokio::time::{sleep, timeout};

use crate::hooks::{HookAction, HookEvent, HookInput, HookReply};
use watchdog_facts::evidence::{FaultKind, UnreadableFact};
use watchdog_process::CancelFlag;
use watchdog_store::hook_session;

use super::hook_worktree::{HookRequest, HookWorktree};
use super::{begin, finish, judged, removal, turns};
use crate::clock::now;
use crate::judge::command_env::CommandEnv;
use crate::judge::signals::SignalState;

/// How long programs of checks get to end after the deadline.
const WIND_UP: Duration = Duration::from_secs(2);

/// The tool through which an agent gives structured output.
const OUTPUT_TOOL: &str = "StructuredOutput";

/// Answers a hook. `input` is its stdin from the host.
pub async fn answer_hook(
    command_env: &CommandEnv,
    request: HookRequest,
    input: impl Read + Send + 'static,
    signals: &mut SignalState,
) -> HookReply {
    let cancel = CancelFlag::new();
    let deadline = request.deadline;
    let mut work = {
        let (command_env, cancel) = (command_env.clone(), cancel.clone());
        tokio::task::spawn_blocking(move || {
            respond_to_event(&command_env, &request, input, &cancel)
        })
    };
    let why = tokio::select! {
        done = &mut work => return unwrap_reply(done),
        () = sleep(deadline) => format!("it took longer than {} s", deadline.as_secs_f64()),
        () = signals.wait_for_interrupt() => "a signal ended it".to_owned(),
    };
    // The program of a check must not outlive the answer. Its result comes too late to count.
    cancel.cancel_now();
    let _ = timeout(WIND_UP, work).await;
    reply_with_failure(&why)
}

fn unwrap_reply(done: Result<HookReply, JoinError>) -> HookReply {
    done.unwrap_or_else(|_| reply_with_failure("this is a bug in watchdog; please report it"))
}

/// Lets the agent continue as if watchdog were not installed, and tells the user why.
pub fn reply_with_failure(why: &str) -> HookReply {
    HookReply::tell(format!(
        "watchdog: could not judge, so the agent was not held: {why}"
    ))
}

/// The reply to an event.
fn respond_to_event(
    command_env: &CommandEnv,
    request: &HookRequest,
    input: impl Read,
    cancel: &CancelFlag,
) -> HookReply {
    let mut input = match HookInput::read_from(request.dialect, input) {
        Ok(input) => input,
        Err(why) => return reply_with_failure(&why),
    };
    if let (Some(id), None) = (&input.session_id, &input.transcript_path) {
        let variable = |name: &str| command_env.claude_home.variable(name);
        input.transcript_path = request.dialect.find_transcript(id, variable);
    }
    let event = match (request.event, input.event) {
        // Settings may send the ends of sub-agents to the same command.
        (HookEvent::Stop, Some(HookEvent::SubagentStop)) => HookEvent::SubagentStop,
        (event, _) => event,
    };
    let answer_unread = |unreadable: UnreadableFact| match unreadable.kind {
        // A user's settings apply in every folder, also in those without a repository.
        FaultKind::NotARepository if command_env.config.is_none() => {
            command_env.tell(&format!("{}; there is nothing to judge", unreadable.why));
            HookReply::quiet()
        }
        _ => reply_with_failure(&with_hint(&unreadable)),
    };
    let is_turn = turns::may_speak(event, &input);
    match event {
        HookEvent::SubagentStop if !request.hold_subagents => return HookReply::quiet(),
        HookEvent::WorktreeRemove => {
            let answered = removal::keep_before_removal(command_env, request, &input);
            return answered.unwrap_or_else(answer_unread);
        }
        HookEvent::PromptSubmit | HookEvent::PreToolUse | HookEvent::PostToolUse
            if !is_turn && input.tool_name.as_deref() != Some(OUTPUT_TOOL) =>
        {
            return HookReply::quiet();
        }
        _ => {}
    }
    let hooked = match HookWorktree::open(command_env, request, &input) {
        Ok(hooked) => hooked,
        Err(unreadable) => return answer_unread(unreadable),
    };
    let store = Arc::clone(&hooked.open.store);
    let answered = match event {
        HookEvent::SessionStart => begin::begin_session(command_env, request, &input, hooked),
        HookEvent::SessionEnd => finish::end_session(command_env, &input, hooked),
        _ if is_turn => turns::describe_turn(request.dialect, event, &input, hooked),
        _ => judged::judge_stop(command_env, request, event, &input, hooked, cancel),
    };
    let reply = answered.unwrap_or_else(|unreadable| reply_with_failure(&with_hint(&unreadable)));
    let is_held = matches!(reply.act, HookAction::Block { .. });
    if let (HookEvent::Stop, Some(id), false) = (event, &input.session_id, is_held)
        && input.running_tasks().is_empty()
    {
        // Without this record the session counts as busy.
        let _ = hook_session::end_turn(store.as_ref(), id, now());
    }
    reply
}

fn with_hint(unreadable: &UnreadableFact) -> String {
    match &unreadable.hint {
        Some(hint) => format!("{}; {hint}", unreadable.why),
        None => unreadable.why.clone(),
    }
}
