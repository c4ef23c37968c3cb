//! The plan of a loop for `--dry-run`: starts nothing.

use watchdog_agent::ConversationChoice;
use watchdog_core::checks::describe_checks;
use watchdog_core::config::PresetName;
use watchdog_core::config::settings::Limits;
use watchdog_core::decision::iteration::agent_order::{AgentChoice, RankedAgent, choose_agent};
use watchdog_core::decision::iteration::prompt::PromptFacts;
use watchdog_core::decision::iteration::standing::LoopStanding;
use watchdog_core::decision::machine::ConfigTrust;
use watchdog_core::decision::termination::may_begin;
use watchdog_facts::evidence::{FaultKind, UnreadableFact};

use crate::clock::now;
use crate::judge::admission::refuse_half_done;
use crate::judge::command_env::CommandEnv;
use crate::judge::configuration::load_effective;
use crate::judge::open_worktree::OpenWorktree;
use crate::session::spec_of_new_session;
use crate::wire::loop_plan_json::LoopPlan;

use super::loop_agents::LoopAgent;
use super::loop_state::PersistedLoop;
use super::request::LoopRequest;

/// Says what a loop would do. Starts nothing and records nothing.
///
/// # Errors
/// Fails if repository, records or configuration cannot be read.
pub fn plan_loop(
    command_env: &CommandEnv,
    request: &LoopRequest,
) -> Result<LoopPlan, UnreadableFact> {
    let open = OpenWorktree::open(command_env)?;
    let spec = spec_of_new_session(open.store.as_ref(), &open.worktree, request.spec.as_deref())?;
    let memory = PersistedLoop::open(&open.store, &open.worktree, &spec, request, now())?;
    let origin = memory.origin();
    let effective = match &request.effective {
        Some(effective) => effective.clone(),
        None => load_effective(command_env, &open, Some(&spec), Some(&origin))?,
    };
    let limits = request.limits.over(&effective.settings.limits);
    let standing = &memory.record().standing;
    let iteration = standing.finished.saturating_add(1);
    let config_error = |why| UnreadableFact::new(FaultKind::Config, why);
    let presets = |name: &PresetName| command_env.preset_to_start(name);
    let agents = request
        .agents
        .resolve(&effective.settings, &presets)
        .map_err(config_error)?;
    let order: Vec<RankedAgent> = agents.iter().map(LoopAgent::to_ranked).collect();
    let agent = match choose_agent(now(), &order, &standing.agents) {
        AgentChoice::Agent(index) => &agents[index],
        AgentChoice::Wait(_) | AgentChoice::Spent => &agents[0],
    };
    let changed = standing.ran.as_ref().is_some_and(|ran| *ran != agent.name);
    let last = ConversationChoice::Resumed(memory.record().session_id.as_deref());
    let resumed =
        request.same_conversation && iteration > 1 && !changed && agent.worker.takes_up(last);
    let budget = describe_budget(&limits, standing);
    let prompt = request.prompts.compose(&PromptFacts {
        iteration,
        max_iterations: limits.max_iterations,
        resumed,
        criteria: &if effective.trust == ConfigTrust::Settled {
            describe_checks(&effective.settings)
        } else {
            String::new()
        },
        // A plan starts no program.
        handler_task: None,
        last: memory.last_verdict().as_ref(),
        records: &memory.record().records,
        budget: budget.clone(),
        spec: &spec,
        branch: open.worktree.branch().as_deref(),
        worktree: &open.root().display().to_string(),
        baseline: origin.as_str(),
    });
    let conversation = if resumed {
        last
    } else {
        ConversationChoice::Fresh
    };
    let file = command_env.state.prompt_file(&open.worktree_id);
    Ok(LoopPlan {
        dry_run: true,
        command: agent.worker.display_argv(&file, conversation),
        agent: agent.name.clone(),
        agents: agents.iter().map(|agent| agent.name.clone()).collect(),
        refused: match &effective.trust {
            ConfigTrust::Untrusted { allow_with } => Some(format!(
                "completion.json is not trusted; read it, then type: {allow_with}"
            )),
            // As the loop itself: only before its first session.
            ConfigTrust::Settled
                if iteration == 1
                    && let Err(half_done) =
                        refuse_half_done(&open.worktree, &request.overrides) =>
            {
                Some(half_done.into_verdict().message)
            }
            ConfigTrust::Settled => {
                may_begin(&limits, &standing.spent, standing.finished.into(), now())
                    .map(|stop| stop.why)
            }
        },
        notes: effective
            .notes
            .iter()
            .map(|note| note.detail.clone())
            .collect(),
        resumed: memory.resumed,
        idle_timeout: request.idle_timeout(limits.idle_timeout),
        first_baseline: origin.as_str().to_owned(),
        spec,
        iteration,
        prompt,
        budget,
    })
}

/// The remaining budget, in words.
pub fn describe_budget(limits: &Limits, standing: &LoopStanding) -> String {
    let spent = &standing.spent;
    let mut amounts_left = vec![format!(
        "{} of {} iterations",
        limits.max_iterations.saturating_sub(standing.finished),
        limits.max_iterations
    )];
    if let Some(most) = limits.max_turns {
        amounts_left.push(format!(
            "{} of {most} turns",
            most.saturating_sub(spent.turns)
        ));
    }
    if let Some(most) = limits.max_total_tokens {
        amounts_left.push(format!(
            "{} of {most} tokens",
            most.saturating_sub(spent.tokens)
        ));
    }
    if let Some(most) = limits.max_cost_usd {
        amounts_left.push(format!(
            "{:.2} of {most:.2} US dollars",
            (most - spent.cost_usd).max(0.0)
        ));
    }
    if let Some(most) = limits.max_wall {
        amounts_left.push(format!(
            "{:.0} of {} s",
            (most.as_secs_f64() - spent.wall_seconds).max(0.0),
            most.as_secs()
        ));
    }
    if let Some(deadline) = limits.deadline {
        amounts_left.push(format!("until {deadline:.0}"));
    }
    amounts_left.join(", ")
}
