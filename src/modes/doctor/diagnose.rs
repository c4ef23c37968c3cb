//! The doctor's round: everything that watchdog needs, one look after the other. Changes nothing but what every command makes: the state
//! directory.

use std::collections::BTreeMap;
use std::ffi::OsString;

use super::agent_survey::{AgentSurvey, FoundAgent};
use super::config_findings::{ConfiguredAgent, agent_finding, config_findings};
use super::cron_findings::crontab_finding;
use super::finding::DoctorFinding;
use super::git_findings::{
    clone_finding, git_finding, lock_findings, repository_findings, worktree_finding,
};
use super::hook_findings::hook_findings;
use super::state_findings::state_findings;
use crate::judge::command_env::CommandEnv;
use crate::modes::iterate::missing_fallbacks;
use watchdog_core::config::PresetName;
use watchdog_facts::shell_line::WorktreeCommands;
use watchdog_git::Worktree;

/// What the doctor knows of the call.
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

/// What the doctor found.
#[derive(Debug, Clone)]
pub struct DoctorReport {
    /// One thing after the other.
    pub findings: Vec<DoctorFinding>,
    /// The agents whose programs are here.
    pub agents: Vec<FoundAgent>,
    /// The name of the preset that is asked; `None` where a program of the user's own is.
    pub preset: Option<String>,
}

/// Looks at everything. The agents are asked for their versions meanwhile.
pub fn diagnose(command_env: &CommandEnv, request: &DoctorRequest) -> DoctorReport {
    std::thread::scope(|scope| {
        let survey = AgentSurvey::begin(
            scope,
            &command_env.presets,
            request.search_path.as_deref(),
            &request.environment,
        );
        let (mut findings, agent, at) = gather(command_env, request);
        let agents = survey.finish();
        let preset = agent.preset().map(str::to_owned);
        let found = agents
            .iter()
            .map(|agent| agent.finding(preset.as_deref() == Some(&agent.name)));
        findings.splice(at..at, found);
        DoctorReport {
            findings,
            agents,
            preset,
        }
    })
}

/// Everything but the agents of the machine, whom the configuration asks, and where the findings about agents stand.
fn gather(
    command_env: &CommandEnv,
    request: &DoctorRequest,
) -> (Vec<DoctorFinding>, ConfiguredAgent, usize) {
    let DoctorRequest {
        search_path,
        environment,
        commands,
        program,
    } = request;
    let search_path = search_path.as_deref();
    let opened = Worktree::open(&command_env.worktree);
    let mut findings = vec![git_finding(), worktree_finding(&opened, commands)];
    findings.extend(state_findings(
        &command_env.state,
        opened.as_ref().ok(),
        commands,
    ));
    #[cfg(feature = "fleet")]
    findings.extend(super::fleet_findings::fleet_findings(&command_env.state));
    let worktree = opened.ok();
    let mut agent = ConfiguredAgent::usual();
    if let Some(worktree) = &worktree {
        findings.extend(repository_findings(worktree));
        findings.extend(lock_findings(worktree));
        findings.extend(clone_finding(&command_env.state, worktree, commands));
        let (found, named) = config_findings(command_env, worktree, commands);
        findings.extend(found);
        agent = named;
    }
    let root = worktree
        .as_ref()
        .map_or(command_env.worktree.as_path(), Worktree::root);
    findings.push(agent_finding(
        &agent,
        command_env.agent_program.as_deref(),
        search_path,
        root,
    ));
    let presets = |name: &PresetName| {
        command_env
            .find_preset(root, name)
            .map(|found| found.preset)
    };
    let missing = missing_fallbacks(agent.settings(), &presets, root);
    findings.extend(
        missing
            .into_iter()
            .map(|missing| DoctorFinding::note("fallback", missing.why, missing.mend)),
    );
    let after_agent = findings.len();
    findings.extend(hook_findings(
        worktree.as_ref().map(Worktree::root),
        environment,
        program,
        search_path,
        commands,
    ));
    findings.extend(crontab_finding(agent.program(), commands));
    (findings, agent, after_agent)
}
