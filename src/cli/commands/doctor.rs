//! `watchdog doctor`: what is wrong and how to mend it; with `--rebuild`, records brought back from git.

use super::hook::program;
use crate::cli::args::DoctorArgs;
use crate::cli::failure::CommandFailure;
use crate::cli::terminal::CommandTerminal;
use crate::clock::now;
use crate::judge::command_env::CommandEnv;
use crate::judge::open_worktree::OpenWorktree;
use crate::modes::doctor::{
    AgentLogin, DoctorFinding, DoctorRequest, FindingState, diagnose, mend,
};
use crate::wire::doctor_json::{FindingJson, FoundAgentJson, findings_json, rebuilt_json};
use watchdog_facts::display::escape_to_one_line;
use watchdog_facts::verdict::Reason;
use watchdog_git::Worktree;
use watchdog_store::baseline::{BaselineRecord, BaselineRefs};
use watchdog_store::rebuild::{BaselineFact, RebuildFacts, SnapshotFact, rebuild};
use watchdog_store::{anchor, damaged_databases, rebuilt};

/// Where what was found begins.
const HANG: usize = 21;

/// Looks at what watchdog needs and says how to mend it, or rebuilds its records.
pub fn doctor(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    args: DoctorArgs,
) -> Result<u8, CommandFailure> {
    if args.rebuild {
        return bring_back(command_env, terminal);
    }
    let opened = Worktree::open(&command_env.worktree);
    let request = DoctorRequest {
        search_path: std::env::var_os("PATH"),
        environment: std::env::vars_os().collect(),
        commands: opened.map_or_else(
            |_| command_env.commands_here(),
            |worktree| command_env.commands(worktree.root()),
        ),
        program: program(false)?,
    };
    let report = diagnose(command_env, &request);
    let found = report.findings.into_iter();
    let findings: Vec<(DoctorFinding, Option<String>)> = found
        .map(|finding| fixed(command_env, finding, args.fix))
        .collect();
    let healthy = findings
        .iter()
        .all(|(finding, fixed)| is_well(finding, fixed.as_deref()));
    if terminal.json {
        let findings = findings.iter().map(|(finding, fixed)| FindingJson {
            what: finding.what,
            ok: is_well(finding, fixed.as_deref()),
            state: finding.state.as_str(),
            detail: &finding.detail,
            mend: finding.mend.as_deref(),
            fixed: fixed.as_deref(),
        });
        let versions: Vec<Option<String>> = report
            .agents
            .iter()
            .map(|agent| agent.version_text())
            .collect();
        let agents = report
            .agents
            .iter()
            .zip(&versions)
            .map(|(agent, version)| FoundAgentJson {
                name: &agent.name,
                title: &agent.title,
                program: &agent.program,
                version: version.as_deref(),
                login: match &agent.login {
                    AgentLogin::Seen(source) => Some(source),
                    AgentLogin::Unseen { .. } | AgentLogin::Unknown => None,
                },
                is_preset: report.preset.as_deref() == Some(&agent.name),
            });
        terminal.value(&findings_json(healthy, findings, agents));
    } else {
        findings
            .iter()
            .for_each(|(finding, fixed)| show(terminal, finding, fixed.as_deref()));
    }
    Ok(if healthy {
        0
    } else {
        Reason::StoreError.status().exit_code()
    })
}

fn is_well(finding: &DoctorFinding, fixed: Option<&str>) -> bool {
    finding.state != FindingState::Wrong || fixed.is_some()
}

/// The finding, and what was mended of it. What cannot be mended is wrong, with the reason.
fn fixed(
    command_env: &CommandEnv,
    finding: DoctorFinding,
    fix: bool,
) -> (DoctorFinding, Option<String>) {
    match finding
        .safe
        .as_ref()
        .filter(|_| fix)
        .map(|safe| mend(command_env, safe))
    {
        None => (finding, None),
        Some(Ok(done)) => (finding, Some(done)),
        Some(Err(why)) => {
            let detail = format!("{}; {why}", finding.detail);
            (
                DoctorFinding {
                    state: FindingState::Wrong,
                    detail,
                    ..finding
                },
                None,
            )
        }
    }
}

fn show(terminal: &CommandTerminal, finding: &DoctorFinding, fixed: Option<&str>) {
    terminal.hung(
        &format!(
            "{:<5}  {:<13} {}",
            finding.state.as_str(),
            finding.what,
            escape_to_one_line(&finding.detail)
        ),
        HANG,
    );
    let below = match (fixed, &finding.mend) {
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
        .map(|kept| BaselineFact {
            worktree_id: kept.worktree_id,
            spec: kept.spec,
            // The refs of that moment are gone with the database: nothing proves a commit imported by them then.
            baseline: BaselineRecord {
                left_behind: Vec::new(),
                commit: Some(kept.commit),
                branch: None,
                refs: BaselineRefs::Here(Vec::new()),
                at,
                worktree: open.root().to_owned(),
                // Its refs are here, which no clone copies.
                clone_id: clone_id.clone(),
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
    let counts = rebuild(open.store.as_ref(), &facts)?;
    let unanchored = unanchored(&open, &facts)?;
    let damaged = damaged_databases(&command_env.state).map_err(|error| {
        CommandFailure::new(
            Reason::StoreError,
            format!(
                "cannot list {}: {error}",
                command_env.state.root().display()
            ),
        )
    })?;
    if let Some(name) = damaged.last().and_then(|path| path.file_name()) {
        rebuilt::record(
            open.store.as_ref(),
            &open.worktree.repository_id(),
            &name.to_string_lossy(),
        )?;
    }
    if terminal.json {
        terminal.value(&rebuilt_json(&counts, &unanchored));
        return Ok(0);
    }
    terminal.line(&format!(
        "{} baselines brought back; {} snapshots in the journal",
        counts.baselines, counts.snapshots
    ));
    if !unanchored.is_empty() {
        let named = unanchored
            .iter()
            .take(5)
            .map(|spec| escape_to_one_line(spec))
            .collect::<Vec<_>>()
            .join(", ");
        let more = if unanchored.len() > 5 {
            format!(" and {} more", unanchored.len() - 5)
        } else {
            String::new()
        };
        terminal.line(&format!(
            "not brought back, as nothing but the database had them: the anchors of {named}{more}"
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
fn unanchored(open: &OpenWorktree, facts: &RebuildFacts) -> Result<Vec<String>, CommandFailure> {
    let mut specs = Vec::new();
    for fact in facts
        .baselines
        .iter()
        .filter(|fact| fact.worktree_id == open.worktree_id)
    {
        if anchor::read_anchor(open.store.as_ref(), &fact.worktree_id, &fact.spec)?.is_none() {
            specs.push(fact.spec.clone());
        }
    }
    specs.sort();
    Ok(specs)
}
