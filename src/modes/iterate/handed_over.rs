//! The work of a loop goes from one agent to another: the prompt of the next one, and the words for people.

use watchdog_core::decision::iteration::agent_order::{AgentChange, ChangeReason, HoldReason};
use watchdog_core::decision::iteration::handover::{HandoverFacts, with_handover};
use watchdog_core::decision::iteration::next::LoopPolicy;
use watchdog_core::decision::iteration::standing::LoopStanding;
use watchdog_facts::evidence::{Degradation, WarningCode};
use watchdog_facts::verdict::Verdict;
use watchdog_git::Worktree;

use super::session::LoopContext;

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
