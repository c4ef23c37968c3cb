//! Failures that were there when the work began, where the owner of a check lets them stand: each is found by its name.

use watchdog_facts::display::plural;
use watchdog_facts::evidence::TestCounts;

use super::feedback::first_three;
use super::inner_tests::TestIdentity;
use super::runners::runs_examples;
use super::suite_runs::{RerunTree, SuiteRunner};
use crate::config::settings::CommandCriterion;

/// How a refusal ends.
const WAY_ON: &str = "mend that, or let a person type `watchdog snapshot --accept-criteria`";

/// Whether all failures of a run were there when the work began.
///
/// # Errors
/// Why not, or why that is unknown.
pub(super) fn excuse_failures(
    criterion: &CommandCriterion,
    (names, tests): (&[String], Option<TestCounts>),
    runner: &dyn SuiteRunner,
) -> Result<(), String> {
    // Names say nothing where they may have moved to other tests.
    let inner = || runner.changed_inner_tests(criterion, TestIdentity::NamedSource);
    let is_rust = runs_examples(&criterion.run).is_some();
    let inner = is_rust.then(inner).transpose();
    let inner = inner
        .map_err(|unreadable| unreadable.why)?
        .unwrap_or_default();
    if let Some(test) = inner.changed.first() {
        return Err(format!(
            "the test {} of {} is another now; {WAY_ON}",
            test.name, test.file
        ));
    }
    let begin = runner.find_begin_failures(criterion)?;
    let new: Vec<&str> = (names.iter().map(String::as_str))
        .filter(|name| !begin.failing.iter().any(|test| test == name))
        .collect();
    if !new.is_empty() {
        let names = first_three(&new);
        return Err(format!(
            "{names} did not fail when the work began; {WAY_ON}"
        ));
    }
    // A run that ended early, or a test that was taken away, hides a new failure.
    let ran = |tests: Option<TestCounts>| tests.map_or(0, |tests| tests.ran);
    if ran(tests) < ran(begin.tests) || begin.tests.is_none() {
        return Err(format!(
            "{} ran, and {} when the work began; {WAY_ON}",
            plural(ran(tests), "test"),
            ran(begin.tests)
        ));
    }
    // The begin was tried in a place of its own: what fails there must be what fails here.
    let here = runner.run_suite(criterion, RerunTree::Judged, false);
    if !here.names_all || here.failing != names {
        let why = here.why.unwrap_or_else(|| {
            first_three(&here.failing.iter().map(String::as_str).collect::<Vec<_>>())
        });
        return Err(format!(
            "in a scratch checkout the suite fails in another way: {why}"
        ));
    }
    Ok(())
}
