//! Answers stops and structured outputs: gathers the facts, has the machine judge and `hooks` answer, and records the answer.

use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;

use crate::agent::transcript_read;
use crate::hooks::{HoldMode, HoldStreak, HookDecision, HookEvent, HookInput, HookReply, StopFacts, context, decide, judge_criteria};
use crate::rescue::private_rule;
use crate::session::{RecordedBaseline, recorded};
use watchdog_core::checks::{self, CheckContext, GroupOutcome};
use watchdog_core::config::settings::{CheckSpec, Limits, RescueMode};
use watchdog_core::decision::machine::{ChecksResult, ConfigTrust, CriteriaFiles, EarlierRounds, MachineSetup};
use watchdog_core::decision::termination::{SpentUsage, termination};
use watchdog_facts::context::SessionContext;
use watchdog_facts::evidence::{CheckOutcome, CheckResult, UnreadableFact, WarningCode};
use watchdog_facts::verdict::Reason;
use watchdog_git::{BaselinePoint, SnapshotRequest};
use watchdog_process::CancelFlag;
use watchdog_process::still_runs;
use watchdog_store::LocalStore;
use watchdog_store::hook_session::HookSession;
use watchdog_store::journal::kind;
use watchdog_store::session;

use super::hold_tally::HoldTally;
use super::hook_worktree::{HookRequest, HookWorktree};
use crate::clock::now;
use crate::judge::capabilities::SystemCapabilities;
use crate::judge::command_env::CommandEnv;
use crate::judge::configuration::effective;
use crate::judge::criteria_files;
use crate::judge::executor::at_once;
use crate::judge::journal::CommandJournal;
use crate::judge::judgement_input::{JudgementInput, Overrides};
use crate::judge::machine_log;
use crate::judge::session_work;

/// Judges whether the agent may stop, or give its output.
pub fn judge(
    command_env: &CommandEnv,
    request: &HookRequest,
    event: HookEvent,
    hook_input: &HookInput,
    hooked: HookWorktree,
    cancel: &CancelFlag,
) -> Result<HookReply, UnreadableFact> {
    let HookWorktree { open, session } = hooked;
    let store = Arc::clone(&open.store);
    let at = now();
    let spec = request.spec.clone().or_else(|| session.as_ref().and_then(|session| session.spec.clone()));
    let found = recorded(&store, &open.worktree_id, spec.as_deref())?;
    let known = found.is_some();
    let effective = effective(command_env, &open, spec.as_deref(), found.as_ref().map(|found| &found.point))?;
    let recorded = found.unwrap_or_else(|| {
        let spec = spec.unwrap_or_else(|| open.worktree.default_spec());
        RecordedBaseline::made_up(spec, BaselinePoint::unknown(), at)
    });
    let root = open.root().to_owned();
    let began = session_began(store.as_ref(), &open.worktree_id, &recorded.spec, hook_input);
    let input = JudgementInput::new(open, recorded, known, effective, Overrides::default());
    let fresh = HookSession {
        worktree: root.clone(),
        spec: request.spec.clone(),
        pid: None,
        prompt_id: None,
        held: 0,
        denied: 0,
        accepted: None,
        last_event_at: at,
    };
    let stops = matches!(event, HookEvent::Stop | HookEvent::SubagentStop);
    if stops && !request.all_sessions && request.host.is_interactive() && !is_watched(store.as_ref(), &input) && !changed_something(&input)
    {
        return Ok(HookReply::quiet());
    }
    let tally = HoldTally::read(store.as_ref(), event, hook_input, &input.worktree_id, fresh)?;
    let holding = match event {
        HookEvent::PreToolUse => HoldMode::Output,
        HookEvent::PostToolUse => HoldMode::OutputTaken { finish: request.finish },
        _ => HoldMode::Stop,
    };
    let held = tally.held(most(&input.settings.limits, request, holding));
    if tally.accepted(event, hook_input) {
        return Ok(decide(holding, &StopFacts::Nothing, held).reply);
    }
    let context = session_context(&input, event, hook_input, began, at);
    let _within = machine_log::judgement_span(&input).entered();
    machine_log::begun(&input);
    let (facts, results) = stop_facts(command_env, &store, &input, &root, event, hook_input, &context, known, cancel);
    let mut decision = decide(holding, &facts, held);
    if let Err(unreadable) = tally.count(decision.counted, holding, hook_input, at) {
        // A count that is not kept could hold the agent for ever.
        decision = decide(holding, &facts, HoldStreak { times: None, most: held.most });
        command_env.tell(&unreadable.why);
    }
    tracing::info!(
        target: "watchdog::decision",
        hook = event.command(),
        status = decision.reason.map(|reason| reason.status().as_str()),
        reason = decision.reason.map(Reason::as_str),
        held = held.times,
        "answers a hook"
    );
    write_down(&CommandJournal::new(store, &input.worktree_id, &input.spec), event, hook_input, &context, &decision, held, &results);
    if decision.reply.message.is_none() && !decision.message.is_empty() {
        command_env.tell(&decision.message);
    }
    Ok(with_notes(decision.reply, &input))
}

/// Whether watchdog runs the session of this worktree.
fn is_watched(store: &dyn watchdog_store::LocalStore, input: &JudgementInput) -> bool {
    let latest = session::latest(store, &input.worktree_id).ok().flatten();
    latest.is_some_and(|(_, session)| {
        let runs = session.ended_at.is_none() && session.pid.is_some_and(|pid| still_runs(pid, session.started_at));
        // Only watchdog itself keeps a log.
        runs && session.log.is_some()
    })
}

/// Whether there is anything to judge: HEAD moved, or work was done since the session began. What cannot be read is judged.
fn changed_something(input: &JudgementInput) -> bool {
    let worktree = input.worktree.lock().expect("mutex poisoned");
    let moved = worktree.head().map_or(true, |head| head != input.baseline);
    moved || session_work::read(&worktree, &input.work).map_or(true, |found| found.changes.work_left())
}

/// How often the agent may be held: as the configuration says, but less often than the host allows.
fn most(limits: &Limits, request: &HookRequest, holding: HoldMode) -> u32 {
    let host = if holding == HoldMode::Stop { request.host.stop_blocks } else { request.host.output_retries };
    limits.max_stop_blocks.min(host.saturating_sub(1))
}

/// When the session began, as its own start hook recorded it.
fn session_began(store: &dyn watchdog_store::LocalStore, worktree_id: &str, spec: &str, hook_input: &HookInput) -> Option<Timestamp> {
    // It only serves the time budget: what cannot be read is unknown, and counts neither as spent nor as zero.
    let found = session::of(store, worktree_id, spec).ok().flatten()?;
    (found.session_id.is_some() && found.session_id == hook_input.session_id).then_some(found.started_at)
}

/// What is known of the session. Its transcript is read only where something asks for what stands there.
fn session_context(
    input: &JudgementInput,
    event: HookEvent,
    hook_input: &HookInput,
    began: Option<Timestamp>,
    at: Timestamp,
) -> SessionContext {
    let path = if event == HookEvent::SubagentStop { &hook_input.agent_transcript_path } else { &hook_input.transcript_path };
    let path = path.as_ref().filter(|path| path.is_file() && asks_the_transcript(input));
    // One that cannot be read tells nothing: what was spent is unknown then, and checks say that they were told nothing.
    let read = path.and_then(|path| transcript_read::read(path, transcript_read::WINDOW).ok());
    let mut session = context(event, hook_input, read.map(|summary| summary.context()).unwrap_or_default());
    session.usage.wall_seconds = began.map(|began| at.duration_since(began).as_secs_f64().max(0.0));
    session.spec = Some(input.spec.clone());
    session.baseline = input.known.is_some().then(|| input.baseline.as_str().to_owned());
    session
}

fn asks_the_transcript(input: &JudgementInput) -> bool {
    let limits = &input.settings.limits;
    let budget = limits.max_turns.is_some() || limits.max_total_tokens.is_some() || limits.max_cost_usd.is_some();
    budget || input.settings.checks.iter().any(asks_what_was_said)
}

/// Whether a check reads what was said and done. One of an unknown type counts as one that does.
fn asks_what_was_said(check: &CheckSpec) -> bool {
    match check {
        CheckSpec::Group { checks, .. } => checks.iter().any(asks_what_was_said),
        CheckSpec::Single { criterion, .. } => !["always", "command", "feature_list", "files", "git", "issue"].contains(&criterion.kind()),
    }
}

/// The facts behind the answer. Limits come first, whatever else is true.
#[expect(clippy::too_many_arguments, reason = "each is a fact of its own, and none goes with another")]
fn stop_facts(
    command_env: &CommandEnv,
    store: &Arc<dyn LocalStore>,
    input: &JudgementInput,
    root: &Path,
    event: HookEvent,
    hook_input: &HookInput,
    context: &SessionContext,
    known: bool,
    cancel: &CancelFlag,
) -> (StopFacts, Vec<CheckResult>) {
    let none = Vec::new();
    let settings = &input.settings;
    let counts = input.trust == ConfigTrust::Settled;
    if let Some(stop) = termination(&settings.limits, &SpentUsage::of(&context.usage), now()).filter(|_| counts) {
        return (StopFacts::Limit(stop), none);
    }
    if counts && !settings.checks.is_empty() {
        let tasks = hook_input.running_tasks();
        if matches!(event, HookEvent::Stop | HookEvent::SubagentStop) && !tasks.is_empty() {
            return (StopFacts::Background { tasks }, none);
        }
        if let Err(why) = keep_work(command_env, input) {
            return (StopFacts::Failed { why }, none);
        }
    }
    // What criteria merely name is told where the session is judged.
    let criteria_files = if settings.guards.is_empty() { CriteriaFiles::None } else { CriteriaFiles::Guarded };
    let setup = MachineSetup { criteria_files, ..input.setup(EarlierRounds::default(), None, false) };
    let judge = || {
        let capabilities =
            SystemCapabilities::new(input, root, cancel).with_earlier_passes(Arc::clone(store)).with_scratch(command_env.state.scratch());
        judged(checks::evaluate(settings, &CheckContext::new(&capabilities).with_session(context).side_by_side(at_once())), known)
    };
    judge_criteria(setup, judge, || criteria_files::changed(input))
}

/// What the checks come to, for a stop.
fn judged(outcome: GroupOutcome, known: bool) -> ChecksResult {
    let mut feedback = outcome.feedback;
    if !known && outcome.outcome == CheckOutcome::Failed {
        feedback = format!(
            "no baseline is recorded in this worktree: record one with 'watchdog snapshot', or by the hook 'session-start'; {feedback}"
        );
    }
    ChecksResult {
        outcome: outcome.outcome,
        evidence: outcome.evidence,
        feedback,
        results: outcome.results,
        // Whether anything was done is judged at the end of the session. A stop is held for what is missing.
        all_passed_before: false,
        notes: outcome.notes,
    }
}

/// Takes a snapshot of what is uncommitted before the programs of checks run.
fn keep_work(command_env: &CommandEnv, input: &JudgementInput) -> Result<(), String> {
    let runs_programs = input.setup(EarlierRounds::default(), None, false).checks_run_programs;
    if !runs_programs || input.settings.rescue.mode == RescueMode::Off {
        return Ok(());
    }
    let request = SnapshotRequest { spec: &input.spec, at: now(), why: "before the checks of a stop" };
    let rule = private_rule(&input.settings.rescue);
    let worktree = input.worktree.lock().expect("mutex poisoned");
    match worktree.take_snapshot_with_private(&request, &rule) {
        Ok(Some(taken)) if !taken.reused => command_env.tell(&format!("kept the uncommitted work in {}", taken.name)),
        Ok(_) => {}
        Err(error) => return Err(format!("the uncommitted work could not be kept before checks run: {error}")),
    }
    Ok(())
}

/// Records the answer in the journal; nothing where nothing was judged.
fn write_down(
    journal: &CommandJournal,
    event: HookEvent,
    hook_input: &HookInput,
    context: &SessionContext,
    decision: &HookDecision,
    held: HoldStreak,
    results: &[CheckResult],
) {
    if decision.message.is_empty() {
        return;
    }
    for check in results {
        journal.note(kind::CHECK, json!({"name": check.name, "type": check.kind, "outcome": check.outcome.as_str()}));
    }
    journal.write(
        kind::HOOK,
        json!({
            "event": event.command(),
            "session_id": hook_input.session_id,
            "agent_id": hook_input.agent_id,
            "stop_reason": context.stop_reason,
            "answer": match decision.counted {
                crate::hooks::HoldCountChange::OneMore => "held",
                _ => "let_go",
            },
            "status": decision.reason.map(|reason| reason.status().as_str()),
            "reason": decision.reason.map(Reason::as_str),
            "message": decision.message,
            "held": held.times,
            "most": held.most,
        }),
    );
}

/// Adds warnings about weak criteria to any answer.
fn with_notes(reply: HookReply, input: &JudgementInput) -> HookReply {
    let notes: Vec<&str> =
        input.notes.iter().filter(|note| note.code == WarningCode::CriteriaChanged).map(|note| note.detail.as_str()).collect();
    if notes.is_empty() {
        return reply;
    }
    let notes = format!("watchdog: {}", notes.join("; "));
    HookReply { message: Some(reply.message.map_or(notes.clone(), |message| format!("{message}\n{notes}"))), ..reply }
}
