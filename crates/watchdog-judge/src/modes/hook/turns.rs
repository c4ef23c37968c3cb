//! Says what git and the transcript show, from turn to turn: one line of facts, never advice, and only where they are others than before.

use std::path::Path;

use serde_json::Value;

use crate::hooks::{HookAction, HookDialect, HookEvent, HookInput, HookReply};
use crate::judge::origins::recorded_evidence;
use crate::judge::session_work::read_uncommitted;
use watchdog_agent::session_history::{CommandEnd, SessionHistory, settles_work};
use watchdog_facts::display::{cut_text, plural};
use watchdog_facts::evidence::UnreadableFact;
use watchdog_store::hook_session::{self, HookedAgent};
use watchdog_store::{RecordType, baseline};

use super::hook_worktree::HookWorktree;
use crate::clock::now;

/// Lines that one session hears.
const MOST_LINES: u32 = 20;

/// Bytes that are read of a transcript; what was skipped is not known.
const MOST_NEW: u64 = 4 << 20;

/// Whether the agent itself may hear a line: at a prompt, and after a commit, a push or a test command.
pub fn may_speak(event: HookEvent, input: &HookInput) -> bool {
    let is_turn = match event {
        // Qwen Code has this event for the results of tools, too, without a prompt.
        HookEvent::PromptSubmit => input.fields.get("prompt").is_none_or(|text| text != ""),
        HookEvent::PostToolUse => input.tool_text("command").is_some_and(settles_work),
        _ => false,
    };
    is_turn && input.agent_id.is_none()
}

/// Whether no person typed the prompt: the agent's host tells of background work by one.
fn is_notification(input: &HookInput) -> bool {
    let prompt = input.fields.get("prompt").and_then(Value::as_str);
    prompt.is_none_or(|prompt| prompt.trim_start().starts_with("<task-notification"))
}

/// The line, where the facts are others than those of the last one, not counting files.
pub fn describe_turn(
    dialect: HookDialect,
    event: HookEvent,
    input: &HookInput,
    HookWorktree { open, session }: HookWorktree,
) -> Result<HookReply, UnreadableFact> {
    let mut reply = HookReply::quiet();
    let (Some(id), Some(session)) = (&input.session_id, session) else {
        return Ok(reply);
    };
    let (store, row) = (open.store.as_ref(), hook_session::CLAIMS);
    let baseline = open.recorded_baseline(session.spec.as_deref())?;
    if let Some(answered) = &baseline
        && event == HookEvent::PromptSubmit
        && !is_notification(input)
    {
        baseline::set_blocked(store, &open.worktree_id, &answered.spec, None)?;
    }
    let record = HookedAgent::read_row(store, id, row)?;
    let mut record =
        record.unwrap_or_else(|| HookedAgent::new(session.worktree, session.spec, now()));
    let earlier = record.turns.take().unwrap_or_default();
    let Some(baseline) = baseline.filter(|_| earlier.lines < MOST_LINES) else {
        return Ok(reply);
    };
    let evidence = recorded_evidence(&open, &baseline);
    let commits = (open.worktree).session_commits(&baseline.point, &evidence)?;
    let made = commits.made_here + commits.rescued;
    let mut facts = vec![format!("{} since the baseline", plural(made, "commit"))];
    if open.worktree.has_upstream() {
        let ahead = open.worktree.read_remote_state()?.count_ahead();
        facts.extend(ahead.map(|ahead| format!("{} not pushed", plural(ahead, "commit"))));
    }
    let folder = input.cwd.as_deref().unwrap_or(open.root());
    let (mut history, read_to) = read_calls(input, folder, earlier.read_to, MOST_NEW);
    if let Some(line) = input.tool_text("command")
        && let Some(end) = read_command_end(dialect, input)
    {
        history.push_ended(line, folder, end);
    }
    let test = history.describe_test(earlier.test.clone(), open.root());
    facts.extend(test.clone());
    let lasting = facts.join("; ");
    // A test command that is not known any more is no news.
    let is_old = lasting == earlier.facts || test.is_none() && earlier.facts.starts_with(&lasting);
    let mut turns = earlier.clone();
    // Behind a tool the result of a call may still be to come.
    if event == HookEvent::PromptSubmit {
        (turns.read_to, turns.test) = (read_to, test);
    }
    if !is_old {
        let work = read_uncommitted(&open.worktree, &baseline.work)?
            .changes
            .work;
        if made + work + u64::from(earlier.lines) > 0 {
            facts.insert(1, format!("{} not committed", plural(work, "file")));
            let context = cut_text(&format!("watchdog: {}", facts.join("; ")), 200);
            reply.act = HookAction::Inform { event, context };
            turns.facts = lasting;
            turns.lines += 1;
        }
    }
    if turns != earlier {
        record.turns = Some(turns);
        record.last_event_at = now();
        record.write_row(store, id, row)?;
    }
    Ok(reply)
}

/// The calls of the session, as the input has them or the transcript behind a place, and how far its whole lines go.
pub fn read_calls(
    input: &HookInput,
    folder: &Path,
    place: u64,
    most: u64,
) -> (SessionHistory, u64) {
    match input.fields.get("transcript") {
        Some(event) => {
            let mut history = SessionHistory::default();
            history.push_event(event);
            (history, place)
        }
        None => {
            let path = input.transcript_path.as_deref();
            SessionHistory::read_behind((path, folder), place, most)
        }
    }
}

/// How the command of a tool ended; `None` where it goes on.
fn read_command_end(dialect: HookDialect, input: &HookInput) -> Option<CommandEnd> {
    let fields = &input.fields;
    let response = fields.get("tool_response").or(fields.get("tool_result"))?;
    let goes_on = |tool: &Value| tool.get("is_background").is_some_and(|is| *is == true);
    if response.get("backgroundTaskId").is_some() || input.tool_input.as_ref().is_some_and(goes_on)
    {
        return None;
    }
    let behind = |key: &str, mark: &str| {
        let (_, code) = response.get(key)?.as_str()?.rsplit_once(mark)?;
        let digits = code.split(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse::<u32>().ok()
    };
    let code = behind("llmContent", "\nExit Code: ")
        .or_else(|| behind("text_result_for_llm", " with exit code "));
    Some(match (dialect, code) {
        (HookDialect::Copilot, None) => return None,
        (HookDialect::Codex, _) => CommandEnd::Unclear("the hook tells no exit code"),
        // Claude Code and Qwen Code call this hook after a success alone.
        (_, None | Some(0)) => CommandEnd::Passed,
        (_, Some(code)) => CommandEnd::Failed(code),
    })
}
