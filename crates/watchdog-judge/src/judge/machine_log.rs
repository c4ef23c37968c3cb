//! Logs a judgement: its inputs, each action that the decision machine asks for, each fact that it gets, and the verdict. The machine
//! itself is pure and logs nothing.

use std::time::Duration;

use tracing::Span;
use tracing::field::Empty;

use watchdog_core::decision::machine::{
    CheckMachine, ConfigTrust, MachineAction, MachineEvent, ProbePause,
};
use watchdog_facts::display::log_millis;
use watchdog_facts::evidence::UnreadableFact;
use watchdog_facts::verdict::Verdict;

use super::judgement_input::JudgementInput;

/// Takes the next step of the machine, and logs the event and the action.
pub fn step_machine(machine: &mut CheckMachine, event: MachineEvent) -> MachineAction {
    log_event(&event);
    let action = machine.step(event);
    log_action(&action);
    action
}

/// The span of all log lines of one judgement.
pub fn judgement_span(input: &JudgementInput) -> Span {
    let span = tracing::info_span!(target: "watchdog::decision", "judgement", worktree = Empty, spec = Empty);
    if !span.is_disabled() {
        span.record("worktree", input.root.display().to_string());
        span.record("spec", input.spec.as_str());
    }
    span
}

/// Logs the inputs of a judgement, before the first fact.
pub fn log_inputs(input: &JudgementInput) {
    tracing::debug!(
        target: "watchdog::session",
        baseline = input.baseline.as_str(),
        recorded = input.recorded_at.is_some(),
        inherited = input.work.inherited.len(),
        ended = input.work.end.is_some(),
        "judges from this baseline"
    );
    tracing::debug!(
        target: "watchdog::checks",
        trusted = input.trust == ConfigTrust::Settled,
        anchor = input.anchor.is_some(),
        checks = input.settings.checks.len(),
        max_probes = input.settings.completion_check.max_probes,
        "judges by this configuration"
    );
}

/// The word for an action.
fn name_action(action: &MachineAction) -> &'static str {
    match action {
        MachineAction::ReadCommits => "read_commits",
        MachineAction::ReadChanges => "read_changes",
        MachineAction::TakeSnapshot => "take_snapshot",
        MachineAction::JudgeChecks => "judge_checks",
        MachineAction::Ask { .. } => "ask",
        MachineAction::Rescue => "rescue",
        MachineAction::Wait(_) => "wait",
        MachineAction::ReadSurvivors => "read_survivors",
        MachineAction::ReadActivity => "read_activity",
        MachineAction::ReadCriteria => "read_criteria",
        MachineAction::Conclude(_) => "conclude",
    }
}

fn log_action(action: &MachineAction) {
    let number = match action {
        MachineAction::Ask { number, .. } => Some(*number),
        _ => None,
    };
    let wait = match action {
        MachineAction::Wait(ProbePause::Interval(length)) => Some(log_millis(*length)),
        MachineAction::Wait(ProbePause::Backoff { at_most, .. }) => Some(log_millis(*at_most)),
        _ => None,
    };
    let (status, reason) = match action {
        MachineAction::Conclude(verdict) => (
            Some(verdict.status().as_str()),
            Some(verdict.reason.as_str()),
        ),
        _ => (None, None),
    };
    tracing::info!(
        target: "watchdog::decision",
        action = name_action(action),
        probe = number,
        wait_ms = wait,
        status = status,
        reason = reason,
        "decided what comes next"
    );
}

/// How long an action took.
pub fn log_performed_action(action: &MachineAction, duration: Duration) {
    tracing::trace!(target: "watchdog::decision", action = name_action(action), duration_ms = log_millis(duration), "performed an action");
}

/// Logs a verdict with its metadata.
pub fn log_verdict(verdict: &Verdict, duration: Duration) {
    let degraded: Vec<&str> = verdict
        .degraded
        .iter()
        .map(|note| note.code.as_str())
        .collect();
    tracing::info!(
        target: "watchdog::decision",
        status = verdict.status().as_str(),
        reason = verdict.reason.as_str(),
        evidence = verdict.evidence.as_str(),
        probes_used = verdict.probes_used,
        strike = verdict.strike,
        not_a_strike_because = verdict.not_a_strike_because,
        degraded = (!degraded.is_empty()).then(|| degraded.join(",")),
        duration_ms = log_millis(duration),
        "gives a verdict"
    );
}

fn log_event(event: &MachineEvent) {
    match event {
        MachineEvent::Start | MachineEvent::WaitOver => {}
        MachineEvent::Interrupt => {
            tracing::info!(target: "watchdog::decision", "a signal interrupts the judgement")
        }
        MachineEvent::Commits(Ok(commits)) => tracing::debug!(
            target: "watchdog::git",
            head = commits.head.as_deref().unwrap_or("unborn"),
            new_commits = commits.new_commits,
            made_here = commits.made_here,
            imported = commits.imported,
            rescued = commits.rescued,
            net_change = commits.net_change,
            operation = commits.operation.is_some(),
            "read the commits"
        ),
        MachineEvent::Changes(Ok(changes)) => tracing::debug!(
            target: "watchdog::git",
            uncommitted = changes.total(),
            staged = changes.staged,
            unstaged = changes.unstaged,
            untracked = changes.untracked,
            conflicted = changes.conflicted,
            work = changes.work,
            inherited = changes.inherited,
            since_end = changes.since_end,
            path = changes.work_paths.first().or(changes.paths.first()),
            "read what is uncommitted"
        ),
        MachineEvent::Snapshot(Ok(name)) => {
            tracing::debug!(target: "watchdog::rescue", snapshot = name.as_deref(), "kept what is uncommitted")
        }
        MachineEvent::Rescue(Ok(outcome)) => tracing::debug!(
            target: "watchdog::rescue",
            commits = outcome.commits,
            failed = outcome.failed.is_some(),
            lost = outcome.lost.len(),
            left_out = outcome.left_out.len(),
            fallback_branch = outcome.fallback_branch.as_deref(),
            "rescued into commits"
        ),
        MachineEvent::Checks(judged) => {
            for check in &judged.results {
                tracing::debug!(
                    target: "watchdog::checks",
                    check = check.name,
                    kind = check.kind,
                    outcome = check.outcome.as_str(),
                    evidence = check.evidence.as_str(),
                    before = check.before.as_str(),
                    cached = check.cached,
                    duration_ms = log_millis(check.duration),
                    "judged a check"
                );
            }
        }
        MachineEvent::Probe(record) => tracing::debug!(
            target: "watchdog::agent",
            outcome = record.outcome.as_str(),
            disputed = record.disputed.is_some(),
            stands = record.stands(),
            withheld = record.withheld,
            session_id = record.session_id.as_deref(),
            duration_ms = log_millis(record.duration),
            "asked the agent"
        ),
        MachineEvent::Survivors(left) => tracing::debug!(
            target: "watchdog::session",
            holding = left.holding.len(),
            session_over = left.session_over,
            "looked for what still runs"
        ),
        MachineEvent::Activity(signs) => tracing::debug!(
            target: "watchdog::session",
            worktree_moved = signs.worktree,
            processes = signs.processes,
            transcript = signs.transcript,
            "looked for signs of life"
        ),
        MachineEvent::Criteria(Ok(changed)) => tracing::debug!(
            target: "watchdog::checks",
            guarded = changed.guarded_total,
            named = changed.named.len(),
            "compared the files of the criteria"
        ),
        MachineEvent::Commits(Err(fact)) | MachineEvent::Changes(Err(fact)) => {
            log_unreadable_fact(fact, "git")
        }
        MachineEvent::Snapshot(Err(fact)) | MachineEvent::Rescue(Err(fact)) => {
            log_unreadable_fact(fact, "rescue")
        }
        MachineEvent::Criteria(Err(fact)) => log_unreadable_fact(fact, "criteria"),
    }
}

fn log_unreadable_fact(fact: &UnreadableFact, of: &'static str) {
    tracing::info!(target: "watchdog::decision", fact = of, why = fact.why, "a fact is unreadable");
}
