//! `watchdog doctor`: what is missing on this machine; with `--rebuild`, records brought back from git.

use std::path::Path;
use std::time::Duration;

use serde_json::json;

use crate::agent::Program;
use crate::cli::args::DoctorArgs;
use crate::cli::failure::Failure;
use crate::cli::terminal::Terminal;
use crate::config::settings::{Preset, Settings};
use crate::decision::display::escape_to_one_line;
use crate::git::Worktree;
use crate::store::SqliteStore;
use crate::store::baseline::{BaselineRecord, BaselineRefs};
use crate::store::rebuild::{BaselineFact, GitFacts, SnapshotFact, rebuild};
use crate::supervisor::{Place, Surroundings, governing_by_files, now};

/// One thing that was looked at.
struct Finding {
    what: &'static str,
    ok: bool,
    detail: String,
}

/// Looks at what watchdog needs, or rebuilds its records.
pub fn doctor(surroundings: &Surroundings, terminal: &Terminal, args: DoctorArgs) -> Result<u8, Failure> {
    if args.rebuild {
        return bring_back(surroundings, terminal);
    }
    let findings = look(surroundings);
    let healthy = findings.iter().all(|finding| finding.ok);
    if terminal.json {
        let findings = findings.iter().map(|finding| json!({"what": finding.what, "ok": finding.ok, "detail": finding.detail}));
        terminal.value(&json!({"schema": 1, "healthy": healthy, "findings": findings.collect::<Vec<_>>()}));
    } else {
        for finding in &findings {
            let mark = if finding.ok { "ok     " } else { "missing" };
            terminal.line(&format!("{mark}  {:<13} {}", finding.what, escape_to_one_line(&finding.detail)));
        }
    }
    Ok(if healthy { 0 } else { crate::decision::verdict::Reason::StoreError.status().exit_code() })
}

fn look(surroundings: &Surroundings) -> Vec<Finding> {
    let mut findings =
        vec![version("git", "git".as_ref(), "needed for rescue commits and for repositories in the reftable format: install git")];
    let worktree = Worktree::open(&surroundings.worktree);
    findings.push(match &worktree {
        Ok(worktree) => Finding { what: "worktree", ok: true, detail: worktree.root().display().to_string() },
        Err(error) => Finding { what: "worktree", ok: false, detail: error.to_string() },
    });
    let store = surroundings.state.ensure().and_then(|()| SqliteStore::open(&surroundings.state));
    findings.push(match store {
        Ok(_) => Finding { what: "state", ok: true, detail: surroundings.state.root().display().to_string() },
        Err(error) => Finding { what: "state", ok: false, detail: format!("{error} ({})", error.hint()) },
    });
    let settings = worktree.ok().map(|worktree| governing_by_files(surroundings, &worktree));
    let settings = match settings {
        Some(Ok(governing)) => {
            let detail = governing.notes.first().map_or_else(|| "read".to_string(), |note| note.detail.clone());
            findings.push(Finding { what: "configuration", ok: governing.notes.is_empty(), detail });
            governing.settings
        }
        Some(Err(unreadable)) => {
            findings.push(Finding { what: "configuration", ok: false, detail: unreadable.why });
            Settings::default()
        }
        None => Settings::default(),
    };
    let usual = match settings.agent.preset {
        Preset::Claude => "claude",
        Preset::Codex => "codex",
        Preset::Gemini => "gemini",
        Preset::Opencode => "opencode",
    };
    let program = match (&settings.agent.probe, &surroundings.agent_program) {
        (Some(argv), _) => argv[0].clone().into(),
        (None, Some(program)) => program.clone(),
        (None, None) => usual.into(),
    };
    if settings.agent.probe.is_none() {
        findings.push(version("agent", &program, "nobody can be asked: install it, or name one with agent.preset or agent.probe"));
    }
    findings
}

fn version(what: &'static str, program: &std::ffi::OsStr, missing: &str) -> Finding {
    let mut command = Program::new([program, "--version".as_ref()], Path::new("/"));
    command.deadline = Duration::from_secs(20);
    match command.run() {
        Ok(finished) if finished.exit.success() => {
            let text = String::from_utf8_lossy(&finished.stdout.bytes).lines().next().unwrap_or_default().to_string();
            Finding { what, ok: true, detail: text }
        }
        Ok(finished) => {
            Finding { what, ok: false, detail: format!("{} --version ended with {}", program.to_string_lossy(), finished.exit) }
        }
        Err(error) => Finding { what, ok: false, detail: format!("{error}; {missing}") },
    }
}

fn bring_back(surroundings: &Surroundings, terminal: &Terminal) -> Result<u8, Failure> {
    let place = Place::open(surroundings)?;
    let at = now();
    let baselines = place.worktree.kept_baselines()?.into_iter().map(|kept| BaselineFact {
        worktree_id: kept.worktree_id,
        spec: kept.spec,
        // The refs of that moment are gone with the database: nothing proves a commit imported by them then.
        baseline: BaselineRecord {
            commit: Some(kept.commit),
            branch: None,
            refs: BaselineRefs::Here(Vec::new()),
            at,
            worktree: place.root().to_owned(),
        },
    });
    let snapshots = place.worktree.snapshots(None)?.into_iter().map(|info| SnapshotFact {
        worktree_id: place.worktree_id.clone(),
        spec: Some(info.spec),
        reference: info.name,
        commit: info.commit,
        at: info.at,
    });
    let facts = GitFacts { baselines: baselines.collect(), snapshots: snapshots.collect() };
    let rebuilt = rebuild(place.store.as_ref(), &facts)?;
    if terminal.json {
        terminal.value(&json!({"schema": 1, "baselines": rebuilt.baselines, "snapshots": rebuilt.snapshots}));
    } else {
        terminal.line(&format!("{} baselines brought back; {} snapshots in the journal", rebuilt.baselines, rebuilt.snapshots));
    }
    Ok(0)
}
