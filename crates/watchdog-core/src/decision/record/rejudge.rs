//! A record with the setup of another configuration: what its owner would have been told with that one.

use watchdog_facts::evidence::{CheckOutcome, CheckResult, OutcomeBeforeWork};
use watchdog_facts::verdict::Evidence;

use super::bounds::bound_name;
use super::{JudgementRecord, RecordedStep};
use crate::config::settings::{CheckSpec, ConfigSettings, Mode};
use crate::decision::machine::{ChecksResult, ConfigTrust, CriteriaFilesRole, MachineEvent};

/// A check as it stands in results: its name and type.
type CheckName = (String, String);

/// The checks of a list, and whether all of them must pass.
fn leaves(checks: &[CheckSpec], all: &mut bool, runs_programs: &mut bool) -> Vec<CheckName> {
    let mut found = Vec::new();
    for check in checks {
        match check {
            CheckSpec::Group { mode, checks } => {
                *all &= *mode == Mode::All;
                found.extend(leaves(checks, all, runs_programs));
            }
            CheckSpec::Single { name, criterion } => {
                *runs_programs |= criterion.runs_programs();
                found.push((name.clone(), criterion.kind().to_owned()));
            }
        }
    }
    found
}

/// The record as this configuration would have set it up. What the command line said, how the session ended and earlier rounds stay as
/// they were. The configuration counts as trusted.
///
/// # Errors
/// Names the first fact that the configuration wants and that was not recorded.
pub fn with_settings(record: &JudgementRecord, settings: &ConfigSettings) -> Result<JudgementRecord, String> {
    let mut record = record.clone();
    let (mut all, mut runs_programs) = (settings.mode == Mode::All, false);
    let wanted = leaves(&settings.checks, &mut all, &mut runs_programs);
    let setup = &mut record.setup;
    setup.completion = settings.completion_check.clone();
    setup.rescue_mode = settings.rescue.mode;
    setup.on_no_criteria = settings.on_no_criteria;
    setup.require_evidence = settings.require_evidence;
    setup.trust = ConfigTrust::Settled;
    setup.has_checks = !wanted.is_empty();
    setup.checks_run_programs = runs_programs;
    if !settings.guards.is_empty() && setup.criteria_files != CriteriaFilesRole::Guarded {
        setup.criteria_files = CriteriaFilesRole::Guarded;
        // Files that criteria name were compared, at most: nobody compared guarded ones.
        let compared = |step: &&mut RecordedStep| matches!(step.event, Some(MachineEvent::Criteria(_)));
        record.steps.iter_mut().filter(compared).for_each(|step| step.event = None);
    }
    if setup.has_checks {
        for step in &mut record.steps {
            if let Some(MachineEvent::Checks(judged)) = &mut step.event {
                *judged = rejudged(judged, settings, &wanted, all)?;
            }
        }
    }
    Ok(record)
}

/// Whether checks that ended so make a pass, in the order of the configuration. One that was never run does not pass.
fn passes<'r>(mode: Mode, checks: &[CheckSpec], results: &mut impl Iterator<Item = &'r Option<CheckResult>>) -> bool {
    let each: Vec<bool> = checks
        .iter()
        .map(|check| match check {
            CheckSpec::Group { mode, checks } => passes(*mode, checks, &mut *results),
            CheckSpec::Single { .. } => results.next().is_some_and(|result| result.as_ref().is_some_and(passed)),
        })
        .collect();
    match mode {
        Mode::All => !each.contains(&false),
        Mode::Any | Mode::First => each.contains(&true),
    }
}

/// The outcome of these checks, taken from those that were judged. A check that was never run is unknown, never a pass; where one that was
/// run is not met, and all must be, the unknown one is not needed.
fn rejudged(judged: &ChecksResult, settings: &ConfigSettings, wanted: &[CheckName], all: bool) -> Result<ChecksResult, String> {
    // Checks may share a name: each has a result of its own.
    let mut left: Vec<&CheckResult> = judged.results.iter().collect();
    let mut take = |(name, kind): &CheckName| {
        let name = bound_name(name);
        let at = left.iter().position(|result| result.name == name && result.kind == *kind)?;
        Some(left.remove(at).clone())
    };
    let found: Vec<Option<CheckResult>> = wanted.iter().map(&mut take).collect();
    let unknown = wanted.iter().zip(&found).find_map(|(name, result)| result.is_none().then_some(name));
    let was_passed = judged.outcome == CheckOutcome::Pass;
    // Those of the same name may have been put together in another way. What passes does so whatever an unknown one would say.
    let same = passes(settings.mode, &settings.checks, &mut found.iter()) == was_passed && (was_passed || unknown.is_none());
    if left.is_empty() && (same || all && !was_passed) {
        return Ok(judged.clone());
    }
    let results: Vec<CheckResult> = found.into_iter().flatten().collect();
    let unmet = results.iter().find(|result| !passed(result));
    match (unknown, unmet) {
        _ if !all => Err("how groups of checks decide together that are not the recorded ones".into()),
        (Some(name), None) => Err(format!("check '{}'", name.0)),
        (_, unmet) => {
            let outcome = unmet.map_or(CheckOutcome::Pass, |result| result.outcome);
            let weakest = results.iter().map(|result| result.evidence).min().unwrap_or(Evidence::None);
            let weakest = weakest.min(most_by_before(&results));
            Ok(ChecksResult {
                outcome,
                evidence: if outcome == CheckOutcome::Pass { weakest } else { Evidence::None },
                feedback: unmet.map(|result| result.feedback.clone()).unwrap_or_default(),
                all_passed_before: results.iter().all(passed_before),
                results,
                notes: judged.notes.clone(),
            })
        }
    }
}

fn passed(result: &CheckResult) -> bool {
    result.outcome == CheckOutcome::Pass
}

/// The strongest evidence of a pass of these checks, by their outcomes before the work (rule 10 of the contract).
pub(super) fn most_by_before(results: &[CheckResult]) -> Evidence {
    let others: Vec<&CheckResult> = results.iter().filter(|result| result.kind != "git").collect();
    let failed_before = |result: &&CheckResult| result.before == OutcomeBeforeWork::Failed;
    let is_new = if others.is_empty() { results.iter().any(|result| failed_before(&result)) } else { others.iter().any(failed_before) };
    if is_new { Evidence::Verified } else { Evidence::Committed }
}

fn passed_before(result: &CheckResult) -> bool {
    passed(result) && result.before == OutcomeBeforeWork::Passed
}

#[cfg(test)]
#[path = "rejudge_tests.rs"]
mod tests;
