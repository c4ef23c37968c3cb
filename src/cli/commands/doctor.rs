//! `watchdog doctor`: what is missing on this machine; with `--rebuild`, records brought back from git.

use std::path::Path;
use std::time::Duration;

use crate::cli::args::DoctorArgs;
use crate::cli::failure::CommandFailure;
use crate::cli::terminal::CommandTerminal;
use crate::clock::now;
use crate::judge::command_env::CommandEnv;
use crate::judge::configuration::config_without_anchor;
use crate::judge::open_worktree::OpenWorktree;
use crate::wire::doctor_json::{DoctorFinding, findings_json, rebuilt_json};
use watchdog_core::config::settings::{ConfigSettings, Preset};
use watchdog_facts::display::escape_to_one_line;
use watchdog_git::Worktree;
use watchdog_process::ProgramRun;
use watchdog_store::baseline::{BaselineRecord, BaselineRefs};
use watchdog_store::rebuild::{BaselineFact, RebuildFacts, SnapshotFact, rebuild};
use watchdog_store::{anchor, open_store};

/// Looks at what watchdog needs, or rebuilds its records.
pub fn doctor(command_env: &CommandEnv, terminal: &CommandTerminal, args: DoctorArgs) -> Result<u8, CommandFailure> {
    if args.rebuild {
        return bring_back(command_env, terminal);
    }
    let findings = diagnose(command_env);
    let healthy = findings.iter().all(|finding| finding.ok);
    if terminal.json {
        terminal.value(&findings_json(healthy, &findings));
    } else {
        for finding in &findings {
            let mark = if finding.ok { "ok     " } else { "missing" };
            terminal.line(&format!("{mark}  {:<13} {}", finding.what, escape_to_one_line(&finding.detail)));
        }
    }
    Ok(if healthy { 0 } else { watchdog_facts::verdict::Reason::StoreError.status().exit_code() })
}

fn diagnose(command_env: &CommandEnv) -> Vec<DoctorFinding> {
    let mut findings =
        vec![version("git", "git".as_ref(), "needed for rescue commits and for repositories in the reftable format: install git")];
    let worktree = Worktree::open(&command_env.worktree);
    findings.push(match &worktree {
        Ok(worktree) => DoctorFinding { what: "worktree", ok: true, detail: worktree.root().display().to_string() },
        Err(error) => DoctorFinding { what: "worktree", ok: false, detail: error.to_string() },
    });
    let store = command_env.state.ensure().and_then(|()| open_store(&command_env.state));
    findings.push(match store {
        Ok(_) => DoctorFinding { what: "state", ok: true, detail: command_env.state.root().display().to_string() },
        Err(error) => DoctorFinding { what: "state", ok: false, detail: format!("{error} ({})", error.hint()) },
    });
    let settings = worktree.ok().map(|worktree| config_without_anchor(command_env, &worktree));
    let settings = match settings {
        Some(Ok(effective)) => {
            let detail = effective.notes.first().map_or_else(|| "read".to_string(), |note| note.detail.clone());
            findings.push(DoctorFinding { what: "configuration", ok: effective.notes.is_empty(), detail });
            effective.settings
        }
        Some(Err(unreadable)) => {
            findings.push(DoctorFinding { what: "configuration", ok: false, detail: unreadable.why });
            ConfigSettings::default()
        }
        None => ConfigSettings::default(),
    };
    let usual = match settings.agent.preset {
        Preset::Claude => "claude",
        Preset::Codex => "codex",
        Preset::Gemini => "gemini",
        Preset::Opencode => "opencode",
    };
    let program = match (&settings.agent.probe, &command_env.agent_program) {
        (Some(argv), _) => argv[0].clone().into(),
        (None, Some(program)) => program.clone(),
        (None, None) => usual.into(),
    };
    if settings.agent.probe.is_none() {
        findings.push(version("agent", &program, "nobody can be asked: install it, or name one with agent.preset or agent.probe"));
    }
    findings
}

fn version(what: &'static str, program: &std::ffi::OsStr, missing: &str) -> DoctorFinding {
    let mut command = ProgramRun::new([program, "--version".as_ref()], Path::new("/"));
    command.deadline = Duration::from_secs(20);
    match command.run() {
        Ok(finished) if finished.exit.success() => {
            let text = String::from_utf8_lossy(&finished.stdout.bytes).lines().next().unwrap_or_default().to_string();
            DoctorFinding { what, ok: true, detail: text }
        }
        Ok(finished) => {
            DoctorFinding { what, ok: false, detail: format!("{} --version ended with {}", program.to_string_lossy(), finished.exit) }
        }
        Err(error) => DoctorFinding { what, ok: false, detail: format!("{error}; {missing}") },
    }
}

fn bring_back(command_env: &CommandEnv, terminal: &CommandTerminal) -> Result<u8, CommandFailure> {
    let open = OpenWorktree::open(command_env)?;
    let at = now();
    let baselines = open.worktree.kept_baselines()?.into_iter().map(|kept| BaselineFact {
        worktree_id: kept.worktree_id,
        spec: kept.spec,
        // The refs of that moment are gone with the database: nothing proves a commit imported by them then.
        baseline: BaselineRecord {
            commit: Some(kept.commit),
            branch: None,
            refs: BaselineRefs::Here(Vec::new()),
            at,
            worktree: open.root().to_owned(),
        },
    });
    let snapshots = open.worktree.snapshots(None)?.into_iter().map(|info| SnapshotFact {
        worktree_id: open.worktree_id.clone(),
        spec: Some(info.spec),
        reference: info.name,
        commit: info.commit,
        at: info.at,
    });
    let facts = RebuildFacts { baselines: baselines.collect(), snapshots: snapshots.collect() };
    let rebuilt = rebuild(open.store.as_ref(), &facts)?;
    let unanchored = unanchored(&open, &facts)?;
    if terminal.json {
        terminal.value(&rebuilt_json(&rebuilt, &unanchored));
        return Ok(0);
    }
    terminal.line(&format!("{} baselines brought back; {} snapshots in the journal", rebuilt.baselines, rebuilt.snapshots));
    if !unanchored.is_empty() {
        let named = unanchored.iter().take(5).map(|spec| escape_to_one_line(spec)).collect::<Vec<_>>().join(", ");
        let more = if unanchored.len() > 5 { format!(" and {} more", unanchored.len() - 5) } else { String::new() };
        terminal.line(&format!("not brought back, as nothing but the database had them: the anchors of {named}{more}"));
        terminal.line(
            "  completion.json of each baseline's commit governs now, and guards compare with that commit; look whether these criteria are",
        );
        terminal.line("  the ones you meant, then fix them with: watchdog snapshot --accept-criteria");
        terminal.line("  breakers, counts of probes, what was uncommitted before a session, and the queue of tasks begin anew, too");
    }
    Ok(0)
}

/// The specs of this worktree that have a baseline and no anchor. A ref keeps an anchor's commit; the text of its file, and what differed
/// already, stood in the database alone, and a session may move the ref: an anchor made of it would let whoever is judged choose the criteria.
fn unanchored(open: &OpenWorktree, facts: &RebuildFacts) -> Result<Vec<String>, CommandFailure> {
    let mut specs = Vec::new();
    for fact in facts.baselines.iter().filter(|fact| fact.worktree_id == open.worktree_id) {
        if anchor::of(open.store.as_ref(), &fact.worktree_id, &fact.spec)?.is_none() {
            specs.push(fact.spec.clone());
        }
    }
    specs.sort();
    Ok(specs)
}
