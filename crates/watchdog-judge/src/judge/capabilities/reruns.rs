//! The runner of a proof: runs a check in scratch checkouts of trees that mix the session's files with those of where its work began.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use super::check_run::{JudgeRun, judge_exit, judge_suite, work_tree_id};
use super::copied_dependencies::{RerunSupplies, SessionTrees, list_changed, plain_folder};
use super::{SystemCapabilities, own_path};
use crate::clock::now;
use crate::judge::criteria_files::changed_scripts;
use watchdog_core::checks::{
    CanaryRun, CanaryTest, CheckDefinition, InnerTests, JudgingFiles, RerunTree, SuiteRun,
    SuiteRunner, TestIdentity, changed_inner_tests, find_test_line, write_canary,
};
use watchdog_core::config::settings::{CheckKind, CommandCriterion, CommandLine};
use watchdog_facts::evidence::{FaultKind, OutcomeBeforeWork, ReadFact, UnreadableFact};
use watchdog_facts::proof::RerunOutcome;
use watchdog_git::HistoryPoint;
use watchdog_store::before::{ChecksBeforeRecord, OutcomeRecord};
use watchdog_store::{LocalStore, RecordType, check_cache};

/// How many times `proof_seconds` all reruns of a judgement may take.
const LONGEST_PROOF: u32 = 4;

impl SuiteRunner for SystemCapabilities<'_> {
    fn may_try(&self) -> bool {
        self.tries_tests && self.store.is_some() && !self.input.overrides.from_inside
    }

    fn changed_judging_files(&self, criterion: &CommandCriterion) -> ReadFact<Vec<String>> {
        let judging = judging_files(criterion)?;
        let (begin, refs) = self.input.tests_point();
        if begin == HistoryPoint::unknown() {
            return Ok(Vec::new());
        }
        if !self.may_differ(&|path| judging.judges(path) || judging.part_of(path).is_some())? {
            return Ok(Vec::new());
        }
        let unknown = |why| UnreadableFact::new(FaultKind::Git, why);
        let trees = self.session_trees().map_err(unknown)?;
        let differing = trees.differing.iter().filter(|path| {
            judging.judges(path) || self.changes_part(trees, path, judging.part_of(path))
        });
        let (own, excused): (Vec<String>, Vec<String>) = differing
            .cloned()
            .partition(|path| trees.changed.contains(path));
        // HEAD's log, which the session can write, takes nothing off the session.
        let are_recorded = excused.is_empty()
            || match refs {
                Some(refs) => {
                    (self.input.worktree()).stand_on_recorded(refs, &trees.judged, &excused)?
                }
                None => false,
            };
        if !are_recorded {
            let first = &excused[0];
            return Err(unknown(format!(
                "this repository's log alone says that {first} came from elsewhere"
            )));
        }
        Ok(own)
    }

    fn reverts_scripts(&self, criterion: &CommandCriterion) -> bool {
        let (Ok(judging), Ok(trees)) = (judging_files(criterion), self.session_trees()) else {
            return false;
        };
        let scripts = changed_scripts(self.input, &criterion.run, criterion.cwd.as_deref());
        let is_reverted = |path: &String| {
            trees.changed.contains(path)
                && (judging.judges(path) || judging.part_of(path).is_some())
        };
        scripts.is_ok_and(|scripts| scripts.iter().all(is_reverted))
    }

    fn changed_inner_tests(
        &self,
        criterion: &CommandCriterion,
        identity: TestIdentity,
    ) -> ReadFact<InnerTests> {
        let files = self.read_inner_files(criterion)?;
        changed_inner_tests(&files, &criterion.run, identity).map_err(|path| {
            let why = format!("the tests of {path} cannot be told from its code");
            UnreadableFact::new(FaultKind::Git, why)
        })
    }

    fn find_places(
        &self,
        criterion: &CommandCriterion,
        name: &str,
        in_tests: bool,
    ) -> (Option<String>, Option<String>) {
        let (Ok(trees), Ok(judging)) = (self.session_trees(), judging_files(criterion)) else {
            return (None, None);
        };
        let worktree = self.input.worktree();
        let find = |tree: &str| {
            let is_such = |path: &&String| judging.judges(path) == in_tests;
            let mut texts = trees.changed.iter().filter(is_such).filter_map(|path| {
                let text = worktree.text_in_tree(tree, path).ok().flatten()?;
                Some((path, find_test_line(&text, name)?))
            });
            texts.next().map(|(path, line)| format!("{path}:{line}"))
        };
        (find(&trees.begin), find(&trees.judged))
    }

    fn run_suite(&self, criterion: &CommandCriterion, tree: RerunTree, again: bool) -> SuiteRun {
        match self.mix_tree(criterion, tree) {
            Ok(tree) => self.run_on_tree(clean_criterion(criterion), tree, again),
            Err(why) => SuiteRun::unknown(why),
        }
    }

    fn run_hidden(&self, criterion: &CommandCriterion, line: &CommandLine) -> SuiteRun {
        let folder = criterion.cwd.as_deref();
        let find_tree = || {
            own_path::refuse_own_files(&self.input.root, folder, line)?;
            let changed = changed_scripts(self.input, line, folder);
            match changed.map_err(|unreadable| unreadable.why)?.first() {
                Some(path) => Err(format!("{path} changed")),
                None => self.mix_tree(criterion, RerunTree::Judged),
            }
        };
        let hidden = CommandCriterion {
            run: line.clone(),
            ..clean_criterion(criterion)
        };
        // No outcome is kept, as the command may change outside; nor does it share the time of the reruns before it.
        match find_tree() {
            Ok(tree) => self.judge_at(hidden, tree, &self.supplies, judge_exit),
            Err(why) => SuiteRun::unknown(why),
        }
    }

    fn find_begin_failures(&self, criterion: &CommandCriterion) -> Result<SuiteRun, String> {
        let begin = self.input.tests_point().0;
        let tree = self
            .input
            .worktree()
            .tree_at(&begin)
            .map_err(|error| error.to_string())?;
        let clean = clean_criterion(criterion);
        let definition = CheckDefinition::from_criterion(&CheckKind::Command(clean.clone()));
        let check = check_cache::fingerprint_inputs(&[b"begin", definition.text.as_bytes()]);
        if let Some(run) = self.read_outcome(|record| record.first_outcome(&check), &tree) {
            return Ok(run);
        }
        if !self.may_try() {
            return Err(
                "no hook finds out what failed when the work began; `watchdog check` does"
                    .to_owned(),
            );
        }
        let since = self
            .input
            .anchor
            .as_ref()
            .map(|anchor| anchor.at)
            .or(self.input.recorded_at);
        let since = since.ok_or("when the work began is unknown; type `watchdog snapshot`")?;
        // A build begins anew; what else the session could have written is no part of the begin.
        let left_out = list_changed(&self.input.root, criterion.cwd.as_deref(), since);
        if let Some(path) = left_out.iter().find(|path| !path.ends_with("target")) {
            return Err(format!(
                "{} changed since the work began; type `watchdog snapshot --accept-criteria`",
                path.display()
            ));
        }
        let supplies = Arc::new(RerunSupplies::without(left_out));
        let run = || self.judge_at(clean.clone(), tree.clone(), &supplies, judge_suite);
        let mut first = run();
        if first.outcome == RerunOutcome::Unknown {
            return Err(first.why.unwrap_or_default());
        }
        if !first.failing.is_empty() {
            let again = run();
            first.failing.retain(|name| again.failing.contains(name));
        }
        self.record_outcome(check, tree, &first, ChecksBeforeRecord::begin);
        Ok(first)
    }

    fn run_canary(
        &self,
        criterion: &CommandCriterion,
        tree: RerunTree,
        tests: &[CanaryTest],
    ) -> Result<CanaryRun, String> {
        let base = self.mix_tree(criterion, tree)?;
        let trees = self.session_trees()?;
        let judging = judging_files(criterion).map_err(|unreadable| unreadable.why)?;
        let folder = plain_folder(criterion.cwd.as_deref());
        // The same on both trees.
        let mark = trees.begin.get(..8).unwrap_or_default();
        let add_canary = || {
            let worktree = self.input.worktree();
            let empty = worktree.tree_at(&HistoryPoint::Unborn)?;
            let judged = worktree.differing_paths(&empty, &trees.judged)?;
            // Files that the session did not make; those that it left come first.
            let (changed, left): (Vec<String>, Vec<String>) = (worktree
                .differing_paths(&empty, &trees.begin)?)
            .into_iter()
            .filter(|path| judged.contains(path))
            .filter(|path| judging.judges(path) || path.ends_with(".rs"))
            .filter(|path| Path::new(path).starts_with(&folder))
            .partition(|path| trees.differing.contains(path));
            let read = |path: &str| worktree.text_in_tree(&base, path).ok().flatten();
            let write =
                |files: &[String]| write_canary(files, &criterion.run, (mark, tests), &read);
            let Some(canary) = write(&left).or_else(|| write(&changed)) else {
                return Ok(None);
            };
            let bytes = canary.text.as_bytes();
            let tree = worktree.put_in_tree(&base, &canary.path, bytes)?;
            Ok(Some((tree, canary.path)))
        };
        let added = add_canary().map_err(|error: watchdog_git::Error| error.to_string())?;
        let (tree, path) =
            added.ok_or("no test file from before the work shows how its tests are written")?;
        Ok(CanaryRun {
            run: self.run_on_tree(clean_criterion(criterion), tree, false),
            path,
            mark: mark.to_owned(),
        })
    }
}

impl SystemCapabilities<'_> {
    /// Whether the session can have changed such a file, without a snapshot of the worktree.
    pub(super) fn may_differ(&self, is_such: &dyn Fn(&str) -> bool) -> ReadFact<bool> {
        let (begin, refs) = self.input.tests_point();
        let worktree = self.input.worktree();
        let head = worktree.head().and_then(|head| worktree.tree_at(&head))?;
        let committed = worktree.differing_paths(&worktree.tree_at(&begin)?, &head)?;
        let is_committed = committed.iter().any(|path| is_such(path));
        Ok(is_committed || !(worktree.touched_since(&begin, refs, is_such)?).is_empty())
    }

    /// Runs the suite in a scratch checkout of a tree.
    fn run_on_tree(&self, clean: CommandCriterion, tree: String, again: bool) -> SuiteRun {
        let patience = LONGEST_PROOF * clean.proof_limit;
        let deadline = self
            .supplies
            .deadline
            .get_or_init(|| Instant::now() + patience);
        if self.cancel.is_cancelled() || Instant::now() > *deadline {
            return SuiteRun::unknown("no time was left to run the suite again");
        }
        let check = rerun_id(&clean);
        let seen = || self.read_outcome(|record| record.outcome_on_tree(&check, &tree), &tree);
        if !again && let Some(run) = seen() {
            return run;
        }
        let run = self.judge_at(clean, tree.clone(), &self.supplies, judge_suite);
        if run.missing_name.is_none() {
            self.record_outcome(check, tree, &run, ChecksBeforeRecord::record_outcome);
        }
        run
    }

    fn judge_at(
        &self,
        clean: CommandCriterion,
        tree: String,
        supplies: &Arc<RerunSupplies>,
        judge: JudgeRun,
    ) -> SuiteRun {
        let mut capabilities = SystemCapabilities::new(self.input, self.cancel);
        capabilities.scratch.clone_from(&self.scratch);
        capabilities.at_tree = Some(tree);
        capabilities.shared_copies = Some(Arc::clone(supplies));
        judge(&capabilities, clean)
    }

    /// The trees of what is judged and of where the spec's work began, with the session's changes: an earlier session's count until they are
    /// accepted.
    pub(super) fn session_trees(&self) -> Result<&SessionTrees, String> {
        let trees = self.supplies.trees.get_or_init(|| {
            let judged = work_tree_id(self)?;
            let (begin, refs) = self.input.tests_point();
            let worktree = self.input.worktree();
            let read = || {
                let begin_tree = worktree.tree_at(&begin)?;
                let differing = worktree.differing_paths(&begin_tree, &judged)?;
                let changed =
                    worktree.touched_since(&begin, refs, &|path| differing.contains(path))?;
                Ok((begin_tree, differing, changed))
            };
            let (begin, differing, changed) =
                read().map_err(|error: watchdog_git::Error| error.to_string())?;
            Ok(SessionTrees {
                judged,
                begin,
                differing,
                changed,
            })
        });
        trees.as_ref().map_err(String::clone)
    }

    fn read_outcome(
        &self,
        find: impl FnOnce(&ChecksBeforeRecord) -> Option<&OutcomeRecord>,
        tree: &str,
    ) -> Option<SuiteRun> {
        let (worktree_id, spec) = (&self.input.worktree_id, &self.input.spec);
        let record =
            ChecksBeforeRecord::read_or_default(self.store.as_deref()?, worktree_id, spec).ok()?;
        let mark = find(&record).filter(|mark| mark.tree == tree)?;
        Some(SuiteRun {
            outcome: match mark.before {
                OutcomeBeforeWork::Passed => RerunOutcome::Pass,
                OutcomeBeforeWork::Failed => RerunOutcome::Fail,
                OutcomeBeforeWork::Unknown => return None,
            },
            failing: mark.failing.clone(),
            names_all: mark.names_all,
            tests: mark.tests,
            ..SuiteRun::default()
        })
    }

    /// Keeps an outcome, so that the next judgement of the same trees runs nothing. An unsaved one is found again.
    fn record_outcome(
        &self,
        check: String,
        tree: String,
        run: &SuiteRun,
        add: impl Fn(&mut ChecksBeforeRecord, OutcomeRecord),
    ) {
        let outcome = match run.outcome {
            RerunOutcome::Pass => OutcomeBeforeWork::Passed,
            RerunOutcome::Fail => OutcomeBeforeWork::Failed,
            RerunOutcome::Unknown | RerunOutcome::NotRun => return,
        };
        let mark = OutcomeRecord {
            check,
            tree,
            before: outcome,
            tests: run.tests,
            failing: run.failing.clone(),
            names_all: run.names_all,
            at: now(),
        };
        let store: Option<&dyn LocalStore> = self.store.as_deref();
        let (worktree_id, spec) = (&self.input.worktree_id, &self.input.spec);
        if let Some(store) = store {
            let _ = ChecksBeforeRecord::update_row(store, worktree_id, spec, |record| {
                add(record, mark.clone());
            });
        }
    }
}

/// A check as it runs in a scratch checkout.
fn clean_criterion(criterion: &CommandCriterion) -> CommandCriterion {
    CommandCriterion {
        clean: true,
        must_fail_first: false,
        timeout: criterion.timeout.min(criterion.proof_limit),
        ..criterion.clone()
    }
}

/// The name of a check in the records of reruns: a scratch checkout lacks files of a worktree.
fn rerun_id(clean: &CommandCriterion) -> String {
    let definition = CheckDefinition::from_criterion(&CheckKind::Command(clean.clone()));
    check_cache::fingerprint_inputs(&[b"rerun", definition.text.as_bytes()])
}

pub(super) fn judging_files(criterion: &CommandCriterion) -> ReadFact<JudgingFiles> {
    JudgingFiles::new(criterion, plain_folder(criterion.cwd.as_deref()))
}
