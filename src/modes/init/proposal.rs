//! From what a project has to the configuration that fits it: checks, guards and limits, each with its reason. A total function.

use super::build_checks::{BuildChecks, build_checks};
use super::facts::{FoundList, ProjectFacts};
use super::proposed::{
    ConfigProposal, ProposedCheck, ProposedCriterion, ProposedGuard, ProposedLimits,
    ProposedTakeover,
};

/// Iterations of a loop.
const ITERATIONS: u32 = 10;
/// Wall time of one session.
const SESSION_SECONDS: u64 = 2 * 60 * 60;
/// How long a session may be silent.
const IDLE_SECONDS: u64 = 30 * 60;

/// Proposes a configuration for a project.
pub fn proposal(facts: &ProjectFacts) -> ConfigProposal {
    let BuildChecks {
        mut checks,
        notes: of_builds,
    } = build_checks(&facts.builds);
    let mut notes = facts.unusable.clone();
    notes.extend(of_builds);
    list_checks(facts, &mut checks, &mut notes);
    foreign_checks(facts, &mut checks, &mut notes);
    make_names_unique(&mut checks);
    notes.extend(missing_programs(facts, &checks));
    if facts.agents.is_empty() {
        notes.push(
            "no agent was found in PATH: install one, or name one with agent.preset or agent.probe"
                .into(),
        );
    }
    if !checks.iter().any(|check| check.chosen) {
        notes.push("no check is written: commits decide, and nothing judges what they do".into());
    }
    ConfigProposal {
        checks,
        guards: guards(facts),
        limits: ProposedLimits {
            max_iterations: ITERATIONS,
            session_timeout_seconds: SESSION_SECONDS,
            idle_timeout_seconds: IDLE_SECONDS,
        },
        takeovers: takeovers(facts),
        agents: facts.agents.clone(),
        notes,
    }
}

/// Lists of features, plans and checklists.
fn list_checks(facts: &ProjectFacts, checks: &mut Vec<ProposedCheck>, notes: &mut Vec<String>) {
    for list in &facts.feature_lists {
        let criterion = ProposedCriterion::FeatureList {
            path: list.path.clone(),
            freeze: list.committed,
        };
        checks.push(ProposedCheck {
            criterion,
            why: counted(list, "feature"),
            chosen: true,
        });
        if !list.committed {
            notes.push(format!(
                "{} is in no commit, so it is not frozen: commit it, then add \"freeze\": true, and only passes may change",
                list.path
            ));
        }
    }
    let plan = |list: &FoundList, chosen| ProposedCheck {
        criterion: ProposedCriterion::Plan {
            path: list.path.clone(),
            done: list.done.clone(),
        },
        why: counted(list, "step"),
        chosen,
    };
    for list in facts.plans.iter().chain(&facts.checklists) {
        // A list of wishes is never done, and one without open entries shows nothing.
        let wishes = list.path.to_ascii_lowercase().ends_with("todo.md");
        checks.push(plan(list, list.open > 0 && !wishes));
    }
    let open: Vec<&FoundList> = facts
        .spec_lists
        .iter()
        .filter(|list| list.open > 0)
        .collect();
    let of_branch = |list: &&&FoundList| list.path.rsplit('/').nth(1) == facts.branch.as_deref();
    let worked_on = open
        .iter()
        .find(of_branch)
        .or(open.first().filter(|_| open.len() == 1))
        .map(|list| list.path.as_str());
    checks.extend(
        open.iter()
            .map(|list| plan(list, worked_on == Some(list.path.as_str()))),
    );
    if worked_on.is_none() && !open.is_empty() {
        notes.push(format!("{} specs have open steps, and none has the name of this branch: choose whose are judged", open.len()));
    }
}

/// The criteria of other programs' files.
fn foreign_checks(facts: &ProjectFacts, checks: &mut Vec<ProposedCheck>, notes: &mut Vec<String>) {
    for file in &facts.foreign {
        checks.extend(file.criteria.iter().map(|found| ProposedCheck {
            criterion: ProposedCriterion::Foreign {
                entry: found.entry.clone(),
                meaning: found.meaning.clone(),
            },
            why: format!("from {}", file.path),
            chosen: found.chosen,
        }));
        notes.extend(
            file.notes
                .iter()
                .map(|note| format!("{}: {note}", file.path)),
        );
    }
}

fn takeovers(facts: &ProjectFacts) -> Vec<ProposedTakeover> {
    let with_any = facts
        .foreign
        .iter()
        .filter(|file| !file.settings.is_empty());
    with_any
        .map(|file| ProposedTakeover {
            path: file.path.clone(),
            settings: file.settings.clone(),
            chosen: true,
        })
        .collect()
}

fn counted(list: &FoundList, what: &str) -> String {
    let many = if list.entries == 1 { "" } else { "s" };
    format!(
        "{} {what}{many}, {} open; its marks are the agent's word",
        list.entries, list.open
    )
}

/// Two checks with one name are told apart by what they run: both where both are written, else the one that is only offered.
fn make_names_unique(checks: &mut [ProposedCheck]) {
    let named = |check: &ProposedCheck| match &check.criterion {
        ProposedCriterion::Command { name, .. } => Some((name.clone(), check.chosen)),
        ProposedCriterion::FeatureList { .. }
        | ProposedCriterion::Plan { .. }
        | ProposedCriterion::Foreign { .. } => None,
    };
    let names: Vec<(String, bool)> = checks.iter().filter_map(named).collect();
    for check in checks {
        let ProposedCriterion::Command { name, run, folder } = &mut check.criterion else {
            continue;
        };
        let alike = |chosen: Option<bool>| {
            names
                .iter()
                .filter(|other| other.0 == *name && chosen.is_none_or(|chosen| other.1 == chosen))
                .count()
        };
        if check.chosen && alike(Some(true)) > 1 {
            *name = format!("{name} ({run})");
        } else if !check.chosen && alike(None) > 1 {
            *name = if folder.is_empty() {
                run.clone()
            } else {
                format!("{run} in {folder}")
            };
        }
    }
}

fn missing_programs(facts: &ProjectFacts, checks: &[ProposedCheck]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for check in checks.iter().filter(|check| check.chosen) {
        let ProposedCriterion::Command { run, .. } = &check.criterion else {
            continue;
        };
        let program = run.split(' ').next().unwrap_or_default();
        if !program.contains('/') && !facts.programs.contains(program) {
            let note = format!("`{program}` is not in PATH here, and `{run}` needs it");
            notes.extend(Some(note).filter(|note| !notes.contains(note)));
        }
    }
    notes
}

fn guards(facts: &ProjectFacts) -> Vec<ProposedGuard> {
    let ci = facts.ci.iter().map(|glob| ProposedGuard {
        glob: glob.clone(),
        why: "continuous integration: a session that changes it ends in review",
        // What guards compare with is a baseline, and `evaluate` without one would be an error.
        chosen: false,
    });
    let tests = facts.test_folders.iter().map(|folder| ProposedGuard {
        glob: format!("{folder}/**"),
        why: "for tests that are given: a session that adds or changes one there ends in review",
        chosen: false,
    });
    ci.chain(tests).collect()
}

#[cfg(test)]
#[path = "proposal_tests.rs"]
mod tests;
