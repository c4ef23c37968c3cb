//! Finds out before a session how checks end without its work. Checks that must fail first run once in a scratch checkout of the commit
//! where the work begins; where one passes, it would prove nothing, so that no session starts. So do checks that may fail as they did.
//! Checks that read files and git alone are judged where they are.

use std::sync::Arc;

use watchdog_core::checks::{
    CheckContext, CheckDefinition, CommandCheck, CompletionCheck as _, SuiteRunner as _,
    evaluate_checks,
};
use watchdog_core::config::settings::{
    CheckKind, CheckSpec, CommandCriterion, ConfigSettings, Mode, single_checks,
};
use watchdog_core::decision::machine::ConfigTrust;
use watchdog_facts::display::cut_text;
use watchdog_facts::evidence::{CheckOutcome, OutcomeBeforeWork, UnreadableFact};
use watchdog_facts::verdict::{Reason, Verdict};
use watchdog_process::CancelFlag;
use watchdog_store::before::{ChecksBeforeRecord, OutcomeRecord};
use watchdog_store::{LocalStore, RecordType, check_cache};

use crate::clock::now;
use crate::judge::admission::PreparedJudgement;
use crate::judge::capabilities::SystemCapabilities;
use crate::judge::command_env::CommandEnv;
use crate::judge::judgement_input::JudgementInput;
use crate::judge::refusal::Refusal;
use crate::judge::signals::SignalState;

/// Refuses the session where a check passes that must fail first.
pub async fn refuse_what_passes(
    prepared: PreparedJudgement,
    signals: &mut SignalState,
) -> Result<PreparedJudgement, Refusal> {
    let wanted = list_wanted_checks(&prepared.input);
    let cheap = cheap_checks(&prepared.input, prepared.store.as_ref());
    if wanted.is_empty() && cheap.is_empty() {
        return Ok(prepared);
    }
    let running = move |prepared: &PreparedJudgement, cancel: &CancelFlag| {
        record_outcomes(&prepared.input, &prepared.store, cheap, cancel);
        first_pass(
            &prepared.input,
            &wanted,
            &prepared.command_env,
            &prepared.store,
            cancel,
        )
    };
    let (prepared, found) = prepared.before_session(signals, running).await?;
    prepared.unless(found)?;
    Ok(prepared)
}

/// The checks that run before the work, of trusted criteria.
fn list_wanted_checks(input: &JudgementInput) -> Vec<(String, CommandCriterion)> {
    if input.trust != ConfigTrust::Settled {
        return Vec::new();
    }
    let checks = single_checks(&input.settings.checks).into_iter();
    checks
        .filter_map(|(name, criterion)| match criterion {
            CheckKind::Command(command)
                if command.must_fail_first || command.allows_begin_failures =>
            {
                Some((name.to_owned(), command.clone()))
            }
            _ => None,
        })
        .collect()
}

/// The checks of files and git alone, of trusted criteria, whose outcome before the work is unknown.
pub fn cheap_checks(input: &JudgementInput, store: &dyn LocalStore) -> Vec<CheckSpec> {
    let mut checks = Vec::new();
    // Without the record a later pass is no more than `committed`.
    if let (ConfigTrust::Settled, Ok(record)) = (
        &input.trust,
        ChecksBeforeRecord::read_or_default(store, &input.worktree_id, &input.spec),
    ) {
        let is_known = |criterion: &CheckKind| record.first_outcome(&check_id(criterion)).is_some();
        let is_wanted = |criterion: &CheckKind| {
            criterion.of_worktree()
                && !criterion.runs_programs()
                && !CheckDefinition::from_criterion(criterion).fails_without_work
                && !is_known(criterion)
        };
        for (name, criterion) in single_checks(&input.settings.checks) {
            if is_wanted(criterion) {
                checks.push(CheckSpec::Single {
                    name: name.to_owned(),
                    criterion: criterion.clone(),
                });
            }
        }
    }
    checks
}

/// The name of a check in the record of its outcome before the work.
fn check_id(criterion: &CheckKind) -> String {
    check_cache::fingerprint_inputs(&[CheckDefinition::from_criterion(criterion).text.as_bytes()])
}

/// Judges these checks, which records how each ends without any work.
pub fn record_outcomes(
    input: &JudgementInput,
    store: &Arc<dyn LocalStore>,
    checks: Vec<CheckSpec>,
    cancel: &CancelFlag,
) {
    if checks.is_empty() {
        return;
    }
    let capabilities =
        SystemCapabilities::new(input, cancel).with_earlier_passes(Arc::clone(store));
    let settings = ConfigSettings {
        checks,
        mode: Mode::All,
        ..ConfigSettings::default()
    };
    // The record is what counts, and not whether they pass.
    let _ = evaluate_checks(
        &settings,
        &CheckContext::new(&capabilities).asking_every(true),
    );
}

fn first_pass(
    input: &JudgementInput,
    wanted: &[(String, CommandCriterion)],
    command_env: &CommandEnv,
    shared: &Arc<dyn LocalStore>,
    cancel: &CancelFlag,
) -> Result<Option<Verdict>, UnreadableFact> {
    let store = shared.as_ref();
    let tree = input.worktree().tree_at(&input.origin.0)?;
    for (name, command) in wanted {
        if command.allows_begin_failures {
            command_env.tell(&format!(
                "a scratch checkout shows what fails in '{name}' before the work begins"
            ));
            let mut capabilities =
                SystemCapabilities::new(input, cancel).with_earlier_passes(Arc::clone(shared));
            capabilities.scratch = Some(command_env.state.scratch());
            capabilities.tries_tests = true;
            // A pass needs no names, and a later failure says why there are none.
            let _ = capabilities.find_begin_failures(command);
        }
        if !command.must_fail_first {
            continue;
        }
        let check = check_id(&CheckKind::Command(command.clone()));
        if ChecksBeforeRecord::read_or_default(store, &input.worktree_id, &input.spec)?
            .first_outcome(&check)
            .is_some_and(|mark| mark.before == OutcomeBeforeWork::Failed)
        {
            continue;
        }
        command_env.tell(&format!(
            "'{name}' must fail before the work begins: it runs in a scratch checkout first"
        ));
        let mut capabilities = SystemCapabilities::new(input, cancel);
        capabilities.scratch = Some(command_env.state.scratch());
        capabilities.at_tree = Some(tree.clone());
        let clean = CommandCheck::new(CommandCriterion {
            clean: true,
            ..command.clone()
        });
        let judged = clean.judge(&CheckContext::new(&capabilities));
        match judged.judgement.outcome() {
            CheckOutcome::Pass => {
                let baseline: String = input.origin.0.as_str().chars().take(12).collect();
                let message = format!(
                    "the check '{}' passes at the baseline {baseline} already, so that it would prove nothing, and no session was started; \
                     name a check that fails until the work is done, or take must_fail_first from it",
                    cut_text(name, 100)
                );
                return Ok(Some(Verdict::new(Reason::NoCriteria, message)));
            }
            CheckOutcome::Unmet | CheckOutcome::Unrunnable => {
                let mark = OutcomeRecord {
                    check,
                    tree: tree.clone(),
                    before: OutcomeBeforeWork::Failed,
                    tests: judged.tests,
                    failing: judged.failing,
                    names_all: judged.names_all,
                    at: now(),
                };
                ChecksBeforeRecord::update_row(store, &input.worktree_id, &input.spec, |record| {
                    record.begin(mark.clone())
                })?;
            }
            // It gave no result: a later pass is not known to be new.
            CheckOutcome::Waiting | CheckOutcome::Failed | CheckOutcome::TimedOut => {}
        }
    }
    Ok(None)
}
