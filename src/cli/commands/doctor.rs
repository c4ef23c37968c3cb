//! `watchdog doctor`: what is wrong and how to mend it; with `--rebuild`, records brought back from git.

use super::hook_settings::{choose_hook_program, is_shared};
use crate::cli::args::DoctorArgs;
use crate::cli::failure::{CommandFailure, exit_code};
use crate::cli::terminal::CommandTerminal;
use watchdog_facts::display::{escape_to_one_line, name_first};
use watchdog_judge::clock::now;
use watchdog_judge::hooks::HookDialect;
use watchdog_judge::judge::command_env::CommandEnv;
use watchdog_judge::judge::open_worktree::OpenWorktree;
use watchdog_judge::modes::doctor::{AgentLogin, DoctorFinding, DoctorRequest, fix, run_diagnosis};
use watchdog_judge::wire::doctor_json::{Diagnosis, FindingJson, FoundAgentJson, RebuiltRecords};
use watchdog_store::baseline::{BaselineRecord, BaselineRefs};
use watchdog_store::rebuild::{BaselineFact, RebuildFacts, SnapshotFact, rebuild_rows};
use watchdog_store::{RecordType, anchor::CriteriaAnchor, damaged_databases, rebuilt};

/// The column where the detail of a finding begins.
const HANG: usize = 21;

/// Looks at what watchdog needs and says how to mend it, or rebuilds its records.
pub fn run_doctor_command(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    args: DoctorArgs,
) -> Result<u8, CommandFailure> {
    if args.rebuild {
        return bring_back(command_env, terminal);
    }
    let opened = command_env.open_worktree();
    let request = DoctorRequest {
        search_path: std::env::var_os("PATH"),
        environment: std::env::vars_os().collect(),
        program: choose_hook_program(
            !opened
                .as_ref()
                .is_ok_and(|worktree| is_shared(worktree, HookDialect::Claude)),
        )?,
        commands: opened.map_or_else(
            |_| command_env.commands_here(),
            |worktree| command_env.commands(worktree.root()),
        ),
    };
    let mut report = run_diagnosis(command_env, &request);
    if args.fix {
        let findings = report.findings.iter_mut();
        findings.for_each(|finding| fix(command_env, finding));
    }
    let healthy = report.findings.iter().all(DoctorFinding::is_well);
    if terminal.json {
        let findings = report.findings.iter().map(|finding| FindingJson {
            what: finding.what,
            ok: finding.is_well(),
            state: finding.state.as_str(),
            detail: &finding.detail,
            mend: &finding.mend,
            fixed: &finding.fixed,
        });
        let agents = report.agents.iter().map(|agent| FoundAgentJson {
            name: &agent.name,
            title: &agent.title,
            program: agent.program.display().to_string(),
            version: agent.version_text(),
            login: match &agent.login {
                AgentLogin::Seen(source) => Some(source),
                AgentLogin::Unseen { .. } | AgentLogin::Unknown => None,
            },
            is_preset: report.preset.as_deref() == Some(&agent.name),
        });
        terminal.print_answer(&Diagnosis {
            healthy,
            findings: findings.collect(),
            agents: agents.collect(),
        });
    } else {
        let findings = report.findings.iter();
        findings.for_each(|finding| show_finding(terminal, finding));
    }
    Ok(exit_code(healthy))
}

fn show_finding(terminal: &CommandTerminal, finding: &DoctorFinding) {
    let (state, detail) = (finding.state.as_str(), escape_to_one_line(&finding.detail));
    terminal.hung(&format!("{state:<5}  {:<13} {detail}", finding.what), HANG);
    let below = match (&finding.fixed, &finding.mend) {
        (Some(done), _) => format!("fixed: {done}"),
        (None, Some(mend)) => format!("mend: {mend}"),
        (None, None) => return,
    };
    terminal.hung(&format!("{:HANG$}{}", "", escape_to_one_line(&below)), HANG);
}

fn bring_back(command_env: &CommandEnv, terminal: &CommandTerminal) -> Result<u8, CommandFailure> {
    let open = OpenWorktree::open(command_env)?;
    let at = now();
    let clone_id = open.worktree.clone_id()?;
    let baselines = open
        .worktree
        .kept_baselines()?
        .into_iter()
        .map(|kept_baseline| BaselineFact {
            worktree_id: kept_baseline.worktree_id,
            spec: kept_baseline.spec,
            // The refs of that moment are gone with the database: nothing proves a commit imported by them then.
            baseline: BaselineRecord {
                left_behind: Vec::new(),
                committer: None,
                commit: Some(kept_baseline.commit),
                branch: None,
                refs: BaselineRefs::Here(Default::default()),
                at,
                worktree: open.root().to_owned(),
                // Its refs are here, which no clone copies.
                clone_id: clone_id.clone(),
                blocked: None,
            },
        });
    let snapshots = open
        .worktree
        .snapshots(None)?
        .into_iter()
        .map(|info| SnapshotFact {
            worktree_id: open.worktree_id.clone(),
            spec: Some(info.spec),
            reference: info.name,
            commit: info.commit,
            at: info.at,
        });
    let facts = RebuildFacts {
        baselines: baselines.collect(),
        snapshots: snapshots.collect(),
    };
    let counts = rebuild_rows(open.store.as_ref(), &facts)?;
    let unanchored = find_unanchored_specs(&open, &facts)?;
    let damaged = damaged_databases(&command_env.state).map_err(|error| {
        CommandFailure::store_failure(format!(
            "cannot list {}: {error}",
            command_env.state.root().display()
        ))
    })?;
    if let Some(name) = damaged.last().and_then(|path| path.file_name()) {
        rebuilt::record_rebuilt(
            open.store.as_ref(),
            &open.worktree.repository_id(),
            &name.to_string_lossy(),
        )?;
    }
    if terminal.json {
        terminal.print_answer(&RebuiltRecords {
            counts,
            without_anchor: &unanchored,
        });
        return Ok(0);
    }
    terminal.line(&format!(
        "{} baselines brought back; {} snapshots in the journal",
        counts.baselines, counts.snapshots
    ));
    if !unanchored.is_empty() {
        let escaped = unanchored.iter().map(|spec| escape_to_one_line(spec));
        let named = name_first(&escaped.collect::<Vec<_>>(), 5);
        terminal.line(&format!(
            "not brought back, as nothing but the database had them: the anchors of {named}"
        ));
        terminal.line(
            "  completion.json of each baseline's commit governs now, and guards compare with that commit; look whether these criteria are",
        );
        let accept = open.commands.watchdog("snapshot --accept-criteria");
        terminal.line(&format!(
            "  the ones you meant, then fix them with: {accept}"
        ));
        terminal.line("  breakers, counts of probes, what was uncommitted before a session, and the queue of tasks begin anew, too");
    }
    Ok(0)
}

/// The specs of this worktree that have a baseline and no anchor. A ref keeps an anchor's commit; the text of its file, and what differed
/// already, stood in the database alone, and a session may move the ref: an anchor made of it would let whoever is judged choose the criteria.
fn find_unanchored_specs(
    open: &OpenWorktree,
    facts: &RebuildFacts,
) -> Result<Vec<String>, CommandFailure> {
    let mut specs = Vec::new();
    for fact in facts
        .baselines
        .iter()
        .filter(|fact| fact.worktree_id == open.worktree_id)
    {
        if CriteriaAnchor::read_row(open.store.as_ref(), &fact.worktree_id, &fact.spec)?.is_none() {
            specs.push(fact.spec.clone());
        }
    }
    specs.sort();
    Ok(specs)
}
