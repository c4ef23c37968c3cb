//! The prompt of the next session: the texts of an agent's handler, and what an agent must know that takes over the work.

use super::session::LoopContext;
use crate::judge::admission::PreparedJudgement;
use crate::judge::capabilities::SystemCapabilities;
use crate::judge::refusal::Refusal;
use crate::judge::signals::SignalState;
use watchdog_core::checks::{CheckContext, DescribedPrompt, ask_for_prompt, describe_checks};
use watchdog_core::config::settings::ConfigSettings;
use watchdog_core::decision::iteration::agent_order::{AgentChange, ChangeReason, HoldReason};
use watchdog_core::decision::iteration::handover::{HandoverFacts, with_handover};
use watchdog_core::decision::iteration::next::LoopPolicy;
use watchdog_core::decision::iteration::record::IterationRecord;
use watchdog_core::decision::iteration::standing::LoopStanding;
use watchdog_core::decision::machine::ConfigTrust;
use watchdog_facts::context::SessionContext;
use watchdog_facts::evidence::{Degradation, WarningCode};
use watchdog_facts::verdict::{Reason, Verdict};
use watchdog_git::Worktree;
use watchdog_process::CancelFlag;

/// The texts of the handler for the session of this iteration, where the criteria have one. A handler that fails starts no session.
pub async fn read_described_prompt(
    prepared: PreparedJudgement,
    (number, records): (u32, &[IterationRecord]),
    context: &LoopContext,
    signals: &mut SignalState,
) -> Result<(PreparedJudgement, Option<DescribedPrompt>), Refusal> {
    if prepared.input.trust != ConfigTrust::Settled {
        return Ok((prepared, None));
    }
    let session = SessionContext {
        iteration: Some(number.into()),
        spec: Some(context.spec.clone()),
        worktree: Some(context.root.display().to_string()),
        summaries: records.iter().map(IterationRecord::summary).collect(),
        ..SessionContext::default()
    };
    let args = context.request.prompts.vars().clone();
    let line_checkers = context
        .command_env
        .line_checkers
        .clone()
        .unwrap_or_default();
    let asking = move |prepared: &PreparedJudgement, cancel: &CancelFlag| {
        let mut capabilities = SystemCapabilities::new(&prepared.input, cancel);
        capabilities.line_checkers = line_checkers;
        ask_for_prompt(
            &prepared.input.settings,
            &args,
            &CheckContext::new(&capabilities).with_session(&session),
        )
    };
    let (prepared, texts) = prepared.before_session(signals, asking).await?;
    match texts.transpose() {
        Ok(texts) => Ok((prepared, texts)),
        Err(why) => Err(prepared.refuse(Verdict::new(
            Reason::VerifyUnrunnable,
            format!("no session was started: {why}"),
        ))),
    }
}

/// The checks, one line each, with the handler's own words for its check.
pub fn criteria_words(settings: &ConfigSettings, texts: Option<&DescribedPrompt>) -> String {
    let described = describe_checks(settings);
    match texts.and_then(|texts| Some((&texts.replaces, texts.criteria.as_ref()?))) {
        Some((general, own)) => described.replacen(general.as_str(), own.trim(), 1),
        None => described,
    }
}

/// The prompt with what the next agent must know above it: git says what is done, the last verdict what is missing.
pub fn handed_over(
    context: &LoopContext,
    change: &AgentChange,
    last: Option<&Verdict>,
    prompt: &str,
) -> String {
    let worktree = Worktree::open(&context.root).ok();
    let commits = worktree.as_ref().and_then(|worktree| {
        worktree
            .commits_since(&context.origin, Some(&context.refs))
            .ok()
    });
    let changes = worktree
        .as_ref()
        .and_then(|worktree| worktree.changes().ok());
    let baseline = context.origin.as_str();
    let facts = HandoverFacts {
        change,
        baseline,
        commits: commits.as_ref(),
        changes: changes.as_ref(),
        last,
    };
    with_handover(&facts, prompt)
}

/// Who takes over, and why, in one line.
pub fn change_in_words(change: &AgentChange) -> String {
    let AgentChange { from, to, .. } = change;
    let until = change
        .until
        .map(|until| format!(" until {until:.0}"))
        .unwrap_or_default();
    match change.why {
        ChangeReason::Held(HoldReason::UsageLimit) => {
            format!("{from} met a usage limit; {to} takes over{until}")
        }
        ChangeReason::Held(HoldReason::Overload) => {
            format!("the service of {from} has no room; {to} takes over{until}")
        }
        ChangeReason::Budget => format!("the budget of {from} is spent; {to} takes over"),
        ChangeReason::Reset => format!("{to} is available again and takes over from {from}"),
        ChangeReason::Configured => format!(
            "{to} takes over from {from}, which is not among the agents of this loop any more"
        ),
    }
}

/// The budgets of agents that could not be held against anything, because not all of their sessions told what they cost.
pub fn unknown_agent_budget(policy: &LoopPolicy, standing: &LoopStanding) -> Option<Degradation> {
    let untold = |name: &str| {
        standing
            .agents
            .iter()
            .any(|agent| agent.name == name && agent.spent.untold.cost)
    };
    let budgeted = policy
        .agents
        .iter()
        .filter(|agent| agent.max_cost_usd.is_some() && untold(&agent.name));
    let names: Vec<&str> = budgeted.map(|agent| agent.name.as_str()).collect();
    (!names.is_empty()).then(|| Degradation::new(WarningCode::BudgetUnknown, format!("not all sessions of {} told what they cost, so agents[].max_cost_usd counts only a part", names.join(" and "))))
}
