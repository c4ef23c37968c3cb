//! The doctor's round: everything that watchdog needs, one look after the other. Changes nothing but what every command makes: the state
//! directory.

use std::ffi::OsString;

use super::config_findings::{ConfiguredAgent, agent_finding, config_findings};
use super::cron_findings::crontab_finding;
use super::finding::DoctorFinding;
use super::git_findings::{git_finding, lock_findings, worktree_finding};
use super::hook_findings::hook_findings;
use super::state_findings::state_findings;
use crate::judge::command_env::CommandEnv;
use watchdog_facts::shell_line::WorktreeCommands;
use watchdog_git::Worktree;

/// What the doctor knows of the call.
#[derive(Debug, Clone)]
pub struct DoctorRequest {
    /// The value of `PATH`.
    pub search_path: Option<OsString>,
    /// Commands for a person to type about this worktree.
    pub commands: WorktreeCommands,
    /// How hooks call this program, as a shell word.
    pub program: String,
}

/// Looks at everything.
pub fn diagnose(command_env: &CommandEnv, request: &DoctorRequest) -> Vec<DoctorFinding> {
    let DoctorRequest { search_path, commands, program } = request;
    let search_path = search_path.as_deref();
    let opened = Worktree::open(&command_env.worktree);
    let mut findings = vec![git_finding(), worktree_finding(&opened, commands)];
    findings.extend(state_findings(&command_env.state, commands));
    let worktree = opened.ok();
    let mut agent = ConfiguredAgent::usual();
    if let Some(worktree) = &worktree {
        findings.extend(lock_findings(worktree));
        let (found, named) = config_findings(command_env, worktree, commands);
        findings.extend(found);
        agent = named;
    }
    let root = worktree.as_ref().map_or(command_env.worktree.as_path(), Worktree::root);
    findings.push(agent_finding(&agent, command_env.agent_program.as_deref(), search_path, root));
    findings.extend(hook_findings(command_env, worktree.as_ref().map(Worktree::root), program, search_path, commands));
    findings.extend(crontab_finding(agent.program(), commands));
    findings
}
