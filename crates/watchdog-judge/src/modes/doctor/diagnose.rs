//! The doctor's round: everything that watchdog needs, one look after the other. Changes nothing but what every command makes: the state
//! directory.

use std::collections::BTreeMap;
use std::ffi::OsString;

use super::agent_survey::{AgentSurvey, FoundAgent};
use super::config_findings::{ConfiguredAgent, examine_agent, examine_config};
use super::cron_findings::examine_crontab;
use super::git_findings::{
    examine_clone, examine_git, examine_git_locks, examine_repository, examine_worktree,
};
use super::hook_findings::examine_hooks;
use super::state_findings::examine_state;
use crate::judge::command_env::CommandEnv;
use crate::judge::doctor_finding::{DoctorFinding, Findings};
use crate::modes::iterate::missing_fallbacks;
use watchdog_core::config::PresetName;
use watchdog_facts::shell_line::WorktreeCommands;
use watchdog_git::Worktree;

/// The doctor's knowledge of the call.
#[derive(Debug, Clone)]
pub struct DoctorRequest {
    /// The value of `PATH`.
    pub search_path: Option<OsString>,
    /// The variables of the environment: which keys are set, and where agents keep their logins.
    pub environment: BTreeMap<OsString, OsString>,
    /// Commands for a person to type about this worktree.
    pub commands: WorktreeCommands,
    /// How hooks call this program, as a shell word.
    pub program: String,
}

/// The doctor's result.
#[derive(Debug, Clone)]
pub struct DoctorReport {
    /// The findings, in order.
    pub findings: Vec<DoctorFinding>,
    /// The agents whose programs are here.
    pub agents: Vec<FoundAgent>,
    /// The name of the preset that is asked; `None` where a program of the user's own is.
    pub preset: Option<String>,
}

/// Looks at everything. The agents are asked for their versions meanwhile.
pub fn run_diagnosis(command_env: &CommandEnv, request: &DoctorRequest) -> DoctorReport {
    std::thread::scope(|scope| {
        let survey = AgentSurvey::begin(
            scope,
            &command_env.presets,
            request.search_path.as_deref(),
            &request.environment,
        );
        let (mut findings, at, agent) = gather_findings(command_env, request);
        let agents = survey.finish();
        let preset = agent.preset().map(str::to_owned);
        let mut about_agents = Findings::default();
        for agent in &agents {
            agent.add_to(&mut about_agents, preset.as_deref() == Some(&agent.name));
        }
        findings.0.splice(at..at, about_agents.0);
        DoctorReport {
            findings: findings.0,
            agents,
            preset,
        }
    })
}

/// Everything but the agents of the machine, where the findings about them stand, and whom the configuration asks.
fn gather_findings(
    command_env: &CommandEnv,
    request: &DoctorRequest,
) -> (Findings, usize, ConfiguredAgent) {
    let commands = &request.commands;
    let search_path = request.search_path.as_deref();
    let opened = command_env.open_worktree();
    let mut findings = Findings::default();
    examine_git(&mut findings);
    examine_worktree(&mut findings, &opened, commands);
    let worktree = opened.ok();
    examine_state(
        &mut findings,
        &command_env.state,
        worktree.as_ref(),
        commands,
    );
    if let Some(fleet) = &command_env.fleet {
        fleet.examine_fleet(&mut findings, &command_env.state);
    }
    let mut agent = ConfiguredAgent::usual();
    if let Some(worktree) = &worktree {
        examine_repository(&mut findings, worktree);
        examine_git_locks(&mut findings, worktree);
        examine_clone(&mut findings, &command_env.state, worktree, commands);
        agent = examine_config(&mut findings, command_env, worktree, commands);
    }
    let root = worktree
        .as_ref()
        .map_or(command_env.worktree.as_path(), Worktree::root);
    let program = command_env.agent_program.as_deref();
    examine_agent(&mut findings, &agent, program, search_path, root);
    let presets = |name: &PresetName| {
        command_env
            .find_preset(root, name)
            .map(|found_preset| found_preset.preset)
    };
    for missing in missing_fallbacks(agent.settings(), &presets, root) {
        findings.note("fallback", missing.why, missing.mend);
    }
    let after_agent = findings.0.len();
    examine_hooks(&mut findings, worktree.as_ref(), request);
    examine_crontab(&mut findings, agent.program(), commands);
    (findings, after_agent, agent)
}
