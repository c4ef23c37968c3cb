//! `watchdog evaluate`: judges the configured checks against a context of a session that the caller gives. It takes no lock, asks no agent
//! and commits nothing, so a session may call it about itself, as often as it likes.

use std::sync::Arc;

use jiff::Timestamp;

use watchdog_core::config::settings::Limits;
use watchdog_core::decision::machine::{EarlierRounds, JudgementScope};
use watchdog_core::decision::termination::{
    LoopDecision, SpentUsage, decide_course, describe_unmeasured,
};
use watchdog_facts::context::{SessionContext, running_tasks};
use watchdog_facts::display::plural;
use watchdog_facts::evidence::{StopReason, UnreadableFact, WarningCode};
use watchdog_facts::verdict::{Reason, Status, Verdict};
use watchdog_git::{HistoryPoint, Worktree};
use watchdog_store::journal::kind;

use crate::clock::now;
use crate::judge::command_env::CommandEnv;
use crate::judge::driver::{Pace, drive_to_the_end};
use crate::judge::executor::ActionExecutor;
use crate::judge::input_assembly::{SourceOfBaseline, open_judgement};
use crate::judge::journal::CommandJournal;
use crate::judge::judgement_input::Overrides;
use crate::judge::machine_log;
use crate::judge::open_worktree::OpenWorktree;
use crate::judge::refusal::{Refusal, about};
use crate::judge::signals::SignalState;
use crate::judge::spawn_io::spawn_io;
use crate::wire::verdict_json::Judgement;

/// Judges the configured checks against the given context.
pub async fn evaluate_context(
    command_env: &CommandEnv,
    context: SessionContext,
    overrides: Overrides,
    signals: &SignalState,
) -> Judgement {
    let begun = now();
    try_evaluate(command_env, context, overrides, signals, begun)
        .await
        .unwrap_or_else(|refusal| refusal.into_judgement(command_env, begun))
}

/// The same; `Err` says why nothing was judged.
pub async fn try_evaluate(
    command_env: &CommandEnv,
    context: SessionContext,
    overrides: Overrides,
    signals: &SignalState,
    begun: Timestamp,
) -> Result<Judgement, Refusal> {
    let (command_env, signals) = (command_env.clone(), signals.clone());
    spawn_io(move || evaluate_here(&command_env, context, overrides, &signals, begun)).await
}

fn evaluate_here(
    command_env: &CommandEnv,
    context: SessionContext,
    overrides: Overrides,
    signals: &SignalState,
    begun: Timestamp,
) -> Result<Judgement, Refusal> {
    let open = OpenWorktree::open(command_env)?;
    let store = Arc::clone(&open.store);
    let rev = context.baseline.as_deref();
    let point = rev
        .map(|rev| resolve_baseline(&open.worktree, rev))
        .transpose()?;
    let source = SourceOfBaseline::RecordedIfAny(point);
    let input = open_judgement(
        command_env,
        open,
        source,
        context.spec.as_deref(),
        overrides,
    )?;
    let baseline_known = input.baseline != HistoryPoint::unknown();
    let journal = Arc::new(CommandJournal::new(
        Arc::clone(&store),
        &input.worktree_id,
        &input.spec,
    ));
    let span = machine_log::judgement_span(&input);
    span.in_scope(|| machine_log::log_inputs(&input));
    let mut executor = ActionExecutor::new(
        input,
        command_env.clone(),
        Arc::clone(&store),
        Arc::clone(&journal),
    );
    executor.context = SessionContext {
        from_host: true,
        ..context.clone()
    };
    let input = &executor.input;
    let (halt, unread_sensors) = executor.read_halt(&context);
    let (verdict, recorded) = match without_checks(&input.settings.limits, &context, halt, begun) {
        Some(verdict) => (verdict, None),
        None => {
            let limits = input.settings.limits.clone();
            let mut setup = input.setup(EarlierRounds::default(), None, false);
            setup.scope = JudgementScope::Criteria { baseline_known };
            setup.notes.extend(unread_sensors);
            setup.notes.extend(describe_unmeasured(
                &limits,
                &SpentUsage::from_usage(&context.usage),
            ));
            let iteration = context.iteration;
            let verdict =
                span.in_scope(|| drive_to_the_end(setup, &executor, Pace::waiting_for(signals)));
            let concluded = verdict.reason;
            let verdict = cap_iterations(&limits, iteration, verdict);
            let recorded = executor.recorder.finish(concluded, &verdict);
            (verdict, recorded)
        }
    };
    let mut judgement = span.in_scope(|| about(command_env, Some(input), verdict, begun));
    if !baseline_known {
        judgement.baseline = None;
    }
    judgement.breaker = input.breaker(store.as_ref());
    journal.write(kind::VERDICT, judgement.to_event_data(recorded.as_ref()));
    if let Some(why) = journal.fault() {
        judgement
            .verdict
            .add_note(WarningCode::JournalUnwritable, why);
    }
    Ok(judgement)
}

fn resolve_baseline(worktree: &Worktree, rev: &str) -> Result<HistoryPoint, UnreadableFact> {
    if rev == "unborn" {
        Ok(HistoryPoint::Unborn)
    } else {
        Ok(worktree.resolve(rev)?)
    }
}

/// The verdict that needs no check: limits first, then what still runs, then the agent's own word.
fn without_checks(
    limits: &Limits,
    context: &SessionContext,
    halt: Option<StopReason>,
    at: Timestamp,
) -> Option<Verdict> {
    let next = decide_course(
        limits,
        &SpentUsage::from_usage(&context.usage),
        at,
        halt,
        context.claims_done,
    );
    if let LoopDecision::Stop(stop) = next {
        return Some(Verdict::new(stop.reason, stop.why));
    }
    let running = running_tasks(&context.background_tasks, None);
    if !running.is_empty() {
        let count = plural(running.len() as u64, "background task");
        let verb = if running.len() == 1 { "runs" } else { "run" };
        return Some(Verdict::new(
            Reason::BackgroundWork,
            format!("{count} still {verb}: {}", running.join(", ")),
        ));
    }
    if next == LoopDecision::GoOn {
        let feedback =
            "You said that the work is not done. Go on, and say so when it is.".to_string();
        return Some(Verdict {
            feedback: Some(feedback),
            ..Verdict::new(Reason::Unfinished, "the agent says that it is not done")
        });
    }
    None
}

/// The last iteration that is allowed was not enough.
fn cap_iterations(limits: &Limits, iteration: Option<u64>, verdict: Verdict) -> Verdict {
    let cap = u64::from(limits.max_iterations);
    if verdict.status() != Status::Incomplete || iteration.is_none_or(|iteration| iteration < cap) {
        return verdict;
    }
    let message = format!(
        "the cap of {} is reached without completion; {}",
        plural(cap, "iteration"),
        verdict.message
    );
    Verdict {
        reason: Reason::MaxIterations,
        message,
        not_a_strike_because: Some(Reason::MaxIterations.status().as_str()),
        ..verdict
    }
}
