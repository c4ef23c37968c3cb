//! Decides which commits are made of the chosen files: those of the agent's plan, or one of everything.

use serde_json::{Map, Value};

use super::checkboxes::{self, TaskList};
use super::plan::{self, PlannedCommit};
use super::request::RescueRequest;
use super::single::CommitGroup;
use super::{message, plan_diff};
use watchdog_agent::plan_prompt::{CommitPlanFacts, plan_prompt};
use watchdog_facts::evidence::{Degradation, WarningCode};
use watchdog_facts::secret_shapes::mask_secrets;
use watchdog_git::{Error, SnapshotPath, SnapshotPathKind, Worktree};

/// Asks for a plan, with the number of the attempt from 1. The answer is an object with `commits`.
pub type PlanSource<'a> = &'a dyn Fn(&str, u32) -> Result<Map<String, Value>, PlanError>;

/// Why there is no answer to judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanError {
    /// There was one, without a plan in it: asking once more may help.
    Unusable {
        /// The defect of the answer, for a person.
        why: String,
    },
    /// Asking again cannot help now: a limit, a deadline, a program that is not there or answers something else.
    Unavailable {
        /// The obstacle, for a person.
        why: String,
    },
    /// A person asked for an end: nothing is to be committed any more.
    Interrupted,
}

/// The commits to make.
pub(super) struct CommitGrouping<'p> {
    /// In the order in which they are made.
    pub groups: Vec<CommitGroup<'p>>,
    /// The list of tasks, and the texts of those that are fulfilled.
    pub fulfilled: Option<(String, Vec<String>)>,
    /// Why it is one commit, where a plan was wanted.
    pub note: Option<Degradation>,
}

/// How often the agent is asked.
const ATTEMPTS: u32 = 2;
/// Longer questions than this, in bytes, are not asked: some agents take them as an argument.
const LONGEST: usize = 100 << 10;

/// Plans a single commit of everything.
pub(super) fn group_as_one<'p>(
    request: &RescueRequest<'_>,
    chosen: Vec<&'p SnapshotPath>,
) -> CommitGrouping<'p> {
    let message = message::build_single_message(request, &chosen);
    CommitGrouping {
        groups: vec![CommitGroup {
            message,
            paths: chosen,
        }],
        fulfilled: None,
        note: None,
    }
}

/// The commits that the agent plans; one of everything where there is no usable plan. `None`: a person asked for an end.
///
/// # Errors
/// When git's data cannot be read.
pub(super) fn group_by_plan<'p>(
    worktree: &Worktree,
    request: &RescueRequest<'_>,
    chosen: Vec<&'p SnapshotPath>,
    ask: PlanSource<'_>,
) -> Result<Option<CommitGrouping<'p>>, Error> {
    let list = checkboxes::find_task_list(worktree.root(), request.spec);
    match ask_plan(worktree, request, &chosen, list.as_ref(), ask)? {
        Ok(plan) => Ok(Some(from_plan(request, &chosen, plan, list))),
        Err(PlanError::Interrupted) => Ok(None),
        Err(PlanError::Unusable { why } | PlanError::Unavailable { why }) => {
            let detail = format!("one commit of everything instead of a plan: {why}");
            Ok(Some(CommitGrouping {
                note: Some(Degradation::new(WarningCode::PlanFallback, detail)),
                ..group_as_one(request, chosen)
            }))
        }
    }
}

fn ask_plan(
    worktree: &Worktree,
    request: &RescueRequest<'_>,
    chosen: &[&SnapshotPath],
    list: Option<&TaskList>,
    ask: PlanSource<'_>,
) -> Result<Result<Vec<PlannedCommit>, PlanError>, Error> {
    let diff =
        plan_diff::build_plan_diff(worktree, request.snapshot, chosen, request.settings.timeout)?;
    let names: Vec<&str> = chosen.iter().map(|path| path.text.as_str()).collect();
    let files: Vec<(&str, &str)> = chosen
        .iter()
        .map(|path| (path.text.as_str(), name_change(path)))
        .collect();
    let masked: Vec<String> = list
        .iter()
        .flat_map(|list| &list.tasks)
        .map(|task| mask_secrets(&task.text).into_owned())
        .collect();
    let tasks: Vec<&str> = masked.iter().map(String::as_str).collect();
    let facts = CommitPlanFacts {
        spec: request.spec,
        files: &files,
        diff: &diff,
        task_file: list.map(|list| list.path.as_str()),
        tasks: &tasks,
    };
    let open = list.map(|list| list.tasks.as_slice()).unwrap_or_default();
    let mut fault = None;
    for attempt in 1..=ATTEMPTS {
        let mut prompt = plan_prompt(&facts, fault.as_deref());
        if prompt.len() > LONGEST {
            prompt = plan_prompt(&CommitPlanFacts { diff: "", ..facts }, fault.as_deref());
        }
        if prompt.len() > LONGEST {
            return Ok(Err(PlanError::Unavailable {
                why: format!(
                    "the names of {} files are too long for one question",
                    files.len()
                ),
            }));
        }
        match ask(&prompt, attempt) {
            Ok(answer) => match plan::check_plan(&answer, &names, open) {
                Ok(plan) => return Ok(Ok(plan)),
                Err(why) => fault = Some(why),
            },
            Err(PlanError::Unusable { why }) => fault = Some(why),
            Err(error) => return Ok(Err(error)),
        }
    }
    Ok(Err(PlanError::Unusable {
        why: fault.unwrap_or_default(),
    }))
}

fn name_change(path: &SnapshotPath) -> &'static str {
    match path.kind {
        SnapshotPathKind::Deleted => "deleted",
        SnapshotPathKind::Submodule => "submodule",
        SnapshotPathKind::File if path.untracked => "new",
        SnapshotPathKind::File => "changed",
    }
}

fn from_plan<'p>(
    request: &RescueRequest<'_>,
    chosen: &[&'p SnapshotPath],
    plan: Vec<PlannedCommit>,
    list: Option<TaskList>,
) -> CommitGrouping<'p> {
    let fulfilled: Vec<usize> = plan
        .iter()
        .flat_map(|commit| commit.tasks.iter().copied())
        .collect();
    let fulfilled = list.filter(|_| !fulfilled.is_empty()).map(|list| {
        let texts = fulfilled
            .iter()
            .filter_map(|at| Some(list.tasks.get(*at)?.text.clone()))
            .collect();
        (list.path, texts)
    });
    let groups = plan
        .into_iter()
        .map(|commit| CommitGroup {
            message: message::build_planned_message(request, &commit.subject, &commit.body),
            paths: commit
                .files
                .iter()
                .filter_map(|at| chosen.get(*at).copied())
                .collect(),
        })
        .collect();
    CommitGrouping {
        groups,
        fulfilled,
        note: None,
    }
}
