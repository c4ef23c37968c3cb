//! How checks ended before: when the work began, and when a command passed on the same tree. Runs no check twice for it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::clock::now;
use crate::judge::judgement_input::JudgementInput;
use crate::judge::session_work;
use crate::session::session_lives;
use watchdog_core::checks::{CachedPass, CheckDefinition, CommandRequest, ResultBeforeWork};
use watchdog_core::config::settings::{CommandLine, CommandSuccess};
use watchdog_facts::evidence::{CheckOutcome, OutcomeBeforeWork, TestCounts};
use watchdog_git::{HistoryPoint, Worktree};
use watchdog_store::before::{ChecksBeforeRecord, OutcomeRecord};
use watchdog_store::{LocalStore, RecordType, check_cache};
use watchdog_system::lock_mutex;

/// How a check ended that is judged now.
pub(super) struct CurrentOutcome<'a> {
    pub(super) definition: &'a CheckDefinition,
    pub(super) outcome: CheckOutcome,
    pub(super) tests: Option<TestCounts>,
}

/// The known results. A result that cannot be read or written counts as unknown.
pub(super) fn find(
    input: &JudgementInput,
    store: &dyn LocalStore,
    ended: &CurrentOutcome<'_>,
) -> ResultBeforeWork {
    if ended.definition.fails_without_work {
        return ResultBeforeWork {
            before: OutcomeBeforeWork::Failed,
            tests: None,
        };
    }
    if !ended.definition.of_worktree || input.origin.0 == HistoryPoint::unknown() {
        return ResultBeforeWork::default();
    }
    let (origin_tree, clean_tree, nothing_done, shows_all) = {
        let worktree = input.worktree();
        let Ok(origin_tree) = worktree.tree_at(&input.origin.0) else {
            return ResultBeforeWork::default();
        };
        let clean_tree = clean_tree(&worktree);
        let nothing_done = clean_tree.as_ref() == Some(&origin_tree)
            || has_no_work(input, &worktree, &origin_tree);
        let shows_all = worktree
            .hidden_entries()
            .is_ok_and(|hidden| hidden.is_none());
        (origin_tree, clean_tree, nothing_done, shows_all)
    };
    let Ok(record) = ChecksBeforeRecord::read_or_default(store, &input.worktree_id, &input.spec)
    else {
        return ResultBeforeWork::default();
    };
    let check = check_cache::fingerprint_inputs(&[ended.definition.text.as_bytes()]);
    let now_on = |tree: &str| {
        let before = match ended.outcome {
            CheckOutcome::Pass => OutcomeBeforeWork::Passed,
            CheckOutcome::Unmet => OutcomeBeforeWork::Failed,
            _ => return None,
        };
        Some(OutcomeRecord {
            check: check.clone(),
            tree: tree.to_owned(),
            before,
            tests: ended.tests,
            failing: Vec::new(),
            names_all: false,
            at: now(),
        })
    };
    let begun = record.first_outcome(&check).cloned();
    // A result for this very tree since the session began is a result for this work: a later pass is new.
    let found_here = begun.as_ref().is_some_and(|mark| {
        mark.tree == origin_tree && input.recorded_at.is_some_and(|at| mark.at >= at)
    });
    let identical = now_on(&origin_tree).filter(|_| nothing_done && !found_here);
    let chosen_mark = match (identical, begun.clone()) {
        (Some(mark), None) => Some(mark),
        (Some(mark), Some(_)) if mark.before == OutcomeBeforeWork::Passed => Some(mark),
        (_, Some(mark)) => Some(mark),
        (None, None) => record.outcome_on_tree(&check, &origin_tree).cloned(),
    };
    let seen = clean_tree.as_deref().and_then(now_on).filter(|mark| {
        let before = record.outcome_on_tree(&check, &mark.tree);
        before.is_none_or(|earlier| (earlier.before, earlier.tests) != (mark.before, mark.tests))
    });
    let begins = chosen_mark
        .clone()
        .filter(|mark| begun.as_ref() != Some(mark));
    // A session that runs, or that hid files from git, may have broken the check for this one look.
    let is_sound = || {
        shows_all
            && !input.overrides.from_inside
            && !session_lives(store, &input.worktree_id).unwrap_or(true)
    };
    if (seen.is_some() || begins.is_some()) && is_sound() {
        // An unsaved result is unknown to the next judgement.
        let _ = ChecksBeforeRecord::update_row(store, &input.worktree_id, &input.spec, |record| {
            begins.iter().for_each(|mark| record.begin(mark.clone()));
            seen.iter()
                .for_each(|mark| record.record_outcome(mark.clone()));
        });
    }
    chosen_mark.map_or_else(ResultBeforeWork::default, |mark| ResultBeforeWork {
        before: mark.before,
        tests: mark.tests,
    })
}

/// Whether HEAD's tree is as it was, and everything uncommitted was there before or is not the session's.
fn has_no_work(input: &JudgementInput, worktree: &Worktree, origin_tree: &str) -> bool {
    let same = worktree
        .head()
        .and_then(|head| worktree.tree_at(&head))
        .is_ok_and(|tree| tree == origin_tree);
    same && session_work::read_uncommitted(worktree, &input.work).is_ok_and(|work| {
        let changes = work.changes;
        !changes.work_left() && changes.leaving_links == 0 && changes.operation.is_none()
    })
}

/// HEAD's tree, where nothing of the session is uncommitted.
fn clean_tree(worktree: &Worktree) -> Option<String> {
    worktree.clean_tree().ok().flatten()
}

/// The passes of earlier runs. Where a record cannot be read or written, the command only runs again.
pub struct CheckCache {
    store: Arc<dyn LocalStore>,
    /// The inputs of commands as they were right before they ran.
    pending: Mutex<HashMap<String, String>>,
}

impl CheckCache {
    /// Those that a store remembers.
    pub fn new(store: Arc<dyn LocalStore>) -> Self {
        CheckCache {
            store,
            pending: Mutex::default(),
        }
    }

    pub(super) fn of(
        &self,
        input: &JudgementInput,
        request: &CommandRequest<'_>,
        rule: &CommandSuccess,
    ) -> Option<CachedPass> {
        let command = command(input, request, rule);
        let inputs = self.inputs(input, &command);
        let mut pending = lock_mutex(&self.pending);
        match inputs {
            Some((inputs, tree)) => {
                let cached_tests =
                    check_cache::find_pass(self.store.as_ref(), &input.worktree_id, &inputs, now())
                        .unwrap_or(None);
                pending.insert(command, inputs);
                cached_tests.map(|tests| CachedPass { tests, tree })
            }
            None => {
                pending.remove(&command);
                None
            }
        }
    }

    /// Records a pass, if the inputs after the command are those from before it.
    pub(super) fn remember(
        &self,
        input: &JudgementInput,
        request: &CommandRequest<'_>,
        rule: &CommandSuccess,
        tests: Option<TestCounts>,
    ) {
        let command = command(input, request, rule);
        let before = lock_mutex(&self.pending).remove(&command);
        if let Some((inputs, _)) = self
            .inputs(input, &command)
            .filter(|(now, _)| before.as_ref() == Some(now))
        {
            // Without a cache entry the command runs again.
            let _ = check_cache::remember_pass(
                self.store.as_ref(),
                &input.worktree_id,
                &inputs,
                tests,
                now(),
            );
        }
    }

    /// A fingerprint of all inputs, and HEAD's tree.
    fn inputs(&self, input: &JudgementInput, command: &str) -> Option<(String, String)> {
        let tree = input.worktree().clean_tree();
        let tree = tree.ok().flatten()?;
        // A session that a person started by hand has no record; its own calls are known by their processes.
        let lives = input.overrides.from_inside
            || session_lives(self.store.as_ref(), &input.worktree_id).unwrap_or(true);
        let during: &[u8] = if lives { b"during a session" } else { b"" };
        Some((
            check_cache::fingerprint_inputs(&[
                tree.as_bytes(),
                command.as_bytes(),
                &check_cache::serialize_environment(),
                during,
            ]),
            tree,
        ))
    }
}

/// All that the configuration and the input say about a command, as one unambiguous text.
fn command(input: &JudgementInput, request: &CommandRequest<'_>, rule: &CommandSuccess) -> String {
    let line = match request.line {
        CommandLine::Shell(line) => format!("{line:?}"),
        CommandLine::Argv(argv) => format!("{argv:?}"),
    };
    let stdin = check_cache::fingerprint_inputs(&[request.stdin]);
    format!(
        "{line} {:?} {rule:?} {stdin} {:?} {}",
        request.cwd, input.spec, request.clean
    )
}
