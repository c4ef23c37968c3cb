//! Works on one task, from its lease to its outcome.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::task_queue::{EffectiveTask, TaskQueue};
use crate::clock::now;
use crate::judge::command_env::CommandEnv;
use crate::judge::configuration::{EffectiveConfig, load_effective};
use crate::judge::refusal::about;
use crate::judge::signals::SignalState;
use crate::judge::spawn_io::spawn_io;
use crate::modes::iterate::{
    AgentSelection, LoopLimitOverrides, LoopRequest, LoopView, PauseRequest, run_loop,
};
use crate::tasks::leased_task::LeasedTask;
use crate::tasks::task_board::BoardTask;
use crate::tasks::task_board_error::TaskBoardError;
use crate::wire::task_json::TaskTransition;
use crate::wire::task_json::path_text;
use crate::wire::task_work_json::{WorkedTask, WorkedTaskView};
use crate::wire::verdict_json::Judgement;
use watchdog_core::config::settings::ConfigSettings;
use watchdog_core::config::task_file::{TaskFile, TaskStatus};
use watchdog_core::decision::iteration::prompt::PromptSet;
use watchdog_core::decision::machine::ConfigTrust;
use watchdog_facts::evidence::UnreadableFact;
use watchdog_facts::verdict::{Reason, Status, Verdict};
use watchdog_git::{HistoryPoint, Worktree};
use watchdog_store::task::TaskRecord;
use watchdog_store::{LocalStore, RecordType, StoreError, session::SessionRecord};

use super::claim::{TaskBeginning, claim_task};
use super::lease::RenewedLease;
use super::options::TaskRunOptions;
use super::task_remote::RemoteBranch;

/// How long a server that is away is left alone before it is asked again.
pub(super) const AGAIN: Duration = Duration::from_secs(1);

/// The report of a task.
#[derive(Debug)]
pub struct TaskReport {
    /// The task.
    pub id: String,
    /// The agent.
    pub agent: String,
    /// How it ended.
    pub end: TaskEnd,
    /// The last verdict, or why there was nothing to judge.
    pub judgement: Judgement,
    /// The worktree that it was worked on in.
    pub worktree: Option<PathBuf>,
}

/// How work on a task ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskEnd {
    /// It has this status now.
    Stands(TaskStatus),
    /// It was complete before; nothing was started.
    CompleteBefore,
    /// It was not started: another agent has it, it waits, or its commands are not trusted.
    NotBegun,
    /// Its lease expired meanwhile; the new holder sets its status.
    Lost,
}

impl TaskReport {
    /// The verdict for programs, with the task beside it.
    pub fn to_view(&self) -> WorkedTaskView<'_> {
        let status = match self.end {
            TaskEnd::Stands(status) => Some(status),
            TaskEnd::CompleteBefore => Some(TaskStatus::Complete),
            TaskEnd::NotBegun | TaskEnd::Lost => None,
        };
        let begun = !matches!(self.end, TaskEnd::NotBegun | TaskEnd::CompleteBefore);
        let task = WorkedTask {
            id: &self.id,
            status: status.map(TaskStatus::as_str),
            agent: &self.agent,
            begun,
            worktree: path_text(self.worktree.as_deref()),
        };
        WorkedTaskView {
            verdict: self.judgement.to_view(),
            task,
        }
    }
}

/// The status of a task after a verdict. A decision for a person is review; a fault outside of the task leaves it to the next agent.
pub fn status_after(verdict: &Verdict) -> TaskStatus {
    match (verdict.status(), verdict.reason) {
        (Status::Complete, _) => TaskStatus::Complete,
        // The agent cannot continue, through no fault of the task.
        (_, Reason::AgentUnrunnable | Reason::Interrupted | Reason::DeadlineExceeded)
        | (Status::Waiting, _) => TaskStatus::Pending,
        (Status::Failed, _) => TaskStatus::Failed,
        (
            Status::Incomplete | Status::Review | Status::Timeout | Status::Stopped | Status::Error,
            _,
        ) => TaskStatus::Review,
    }
}

/// Takes a task, works on it until a loop of sessions ends, and records its status.
///
/// # Errors
/// Fails if the tasks cannot be read, or there is no such task.
pub async fn run_task(
    command_env: &CommandEnv,
    options: &TaskRunOptions,
    view: Arc<dyn LoopView>,
    signals: &SignalState,
) -> Result<TaskReport, UnreadableFact> {
    match claim_task(command_env, options, &[]).await? {
        TaskBeginning::NotBegun(report) => Ok(*report),
        TaskBeginning::Begun(work) => work.perform_now(view, signals).await,
    }
}

/// A task that was taken, and what is needed to work on it.
pub struct ClaimedWork {
    pub(super) command_env: CommandEnv,
    pub(super) options: TaskRunOptions,
    pub(super) queue: TaskQueue,
    pub(super) entry: BoardTask,
    /// Its status before it was taken.
    pub(super) was: TaskStatus,
    /// The reason that was recorded with it.
    pub(super) was_because: Option<String>,
    pub(super) governed: EffectiveTask,
    pub(super) prompts: PromptSet,
    pub(super) held: LeasedTask,
    pub(super) renewed_lease: RenewedLease,
    pub(super) begun: jiff::Timestamp,
}

/// Something that is written under the lease of a task.
pub(super) type HeldWrite =
    Arc<dyn Fn(&LeasedTask) -> Result<TaskTransition, TaskBoardError> + Send + Sync>;

impl ClaimedWork {
    /// The task.
    pub fn id(&self) -> &str {
        &self.options.id
    }

    /// Works on it until a loop of sessions ends, and records its status.
    ///
    /// # Errors
    /// Fails if its status cannot be recorded.
    pub async fn perform_now(
        self,
        view: Arc<dyn LoopView>,
        signals: &SignalState,
    ) -> Result<TaskReport, UnreadableFact> {
        let store = self.queue.store();
        let travel = self.travel();
        let prepared = match &travel {
            Ok(travel) => self.prepare(travel.as_ref()).await,
            Err(verdict) => Err(verdict.clone()),
        };
        let (mut judgement, root) = match prepared {
            Ok(ready) => {
                ready
                    .notes
                    .iter()
                    .for_each(|note| self.command_env.tell(note));
                let mut signals = signals.also(self.renewed_lease.wait_until_lost());
                // Sessions stand in the same folder as who typed the command, where the task has it.
                let around = CommandEnv {
                    worktree: self.command_env.typed_folder(&ready.root),
                    ..self.command_env.clone()
                };
                match self.request() {
                    Ok(request) => {
                        let again = match &request.effective {
                            Some(effective) => {
                                self.judged_again(
                                    &around,
                                    effective,
                                    matches!(travel, Ok(Some(_))),
                                    &signals,
                                )
                                .await
                            }
                            None => None,
                        };
                        let judgement = match again {
                            Some(judgement) => judgement,
                            None => run_loop(&around, request, view, &mut signals).await,
                        };
                        (judgement, Some(ready.root))
                    }
                    Err(unreadable) => (
                        self.about(self.build_ungoverned_verdict(unreadable)),
                        Some(ready.root),
                    ),
                }
            }
            Err(verdict) => (self.about(*verdict), None),
        };
        tracing::info!(
            target: "watchdog::task",
            task = self.options.id,
            agent = self.options.agent,
            status = judgement.verdict.status().as_str(),
            reason = judgement.verdict.reason.as_str(),
            "ends work on a task"
        );
        let log = root
            .as_deref()
            .and_then(|root| log_of(store.as_ref(), root, &self.options.id));
        let pushed = match (travel, &root) {
            (Ok(Some(travel)), Some(root)) => self.push(&travel, &mut judgement, root).await,
            _ => None,
        };
        let end = self.write_down(&judgement, log, pushed).await;
        self.release().await;
        // Starts waiting tasks now rather than at the next poll of the queue.
        let end = end?;
        if let Ok(board) = self.queue.settled_beside().await
            && self.options.write_back
        {
            for entry in board.entries() {
                if let Err(error) = board.write_back(entry.id()) {
                    self.command_env.tell(&format!(
                        "the status of {} could not be written into its file: {error}",
                        entry.id()
                    ));
                }
            }
        }
        Ok(TaskReport {
            id: self.options.id.clone(),
            agent: self.options.agent.clone(),
            end,
            judgement,
            worktree: root,
        })
    }

    fn about(&self, verdict: Verdict) -> Judgement {
        about(&self.command_env, None, verdict, self.begun)
    }

    /// The verdict where the configuration that governs cannot be read.
    fn build_ungoverned_verdict(&self, unreadable: UnreadableFact) -> Verdict {
        let open = &self.queue.open;
        match self.baseline() {
            HistoryPoint::Commit(commit) if !open.worktree.has_commit(&commit) => {
                let (id, fetch) = (&self.options.id, open.commands.git("fetch --all"));
                let why = format!(
                    "{id} began at {commit:.12}, which is not in this clone, and its completion.json governs; push that commit from where it \
                     is, then get it with: {fetch}"
                );
                Verdict::new(Reason::GitError, why)
            }
            _ => Verdict::unreadable(unreadable.with_commands(&open.commands)),
        }
    }

    async fn release(&self) {
        let leased_task = self.held.clone();
        spawn_io(move || leased_task.release()).await;
    }

    /// Gives it back before anything was begun.
    pub(super) async fn put_back(self) -> Result<TaskReport, UnreadableFact> {
        let to = if self.was == TaskStatus::Pending {
            TaskStatus::Pending
        } else {
            TaskStatus::Review
        };
        let step = self
            .write_under_lease(Arc::new(move |leased_task| {
                leased_task.step(to, now(), |record| record.fence = None)
            }))
            .await;
        self.queue
            .note(step.as_ref().map(std::slice::from_ref).unwrap_or_default());
        self.release().await;
        let verdict = Verdict::new(
            Reason::Locked,
            format!("somebody else worked on {} in between", self.options.id),
        );
        let judgement = Judgement {
            spec: Some(self.options.id.clone()),
            ..self.about(verdict)
        };
        let (id, agent) = (self.options.id.clone(), self.options.agent.clone());
        Ok(TaskReport {
            id,
            agent,
            end: TaskEnd::NotBegun,
            judgement,
            worktree: None,
        })
    }

    /// Writes under the lease, in a thread of its own. A server that is away is asked again while the lease surely stands.
    pub(super) async fn write_under_lease(
        &self,
        write: HeldWrite,
    ) -> Result<TaskTransition, TaskBoardError> {
        let mut is_reported = false;
        loop {
            let (held, write) = (self.held.clone(), Arc::clone(&write));
            match spawn_io(move || write(&held)).await {
                Err(TaskBoardError::Store(StoreError::Shared { why, .. }))
                    if !self.renewed_lease.is_lost() =>
                {
                    if !std::mem::replace(&mut is_reported, true) {
                        self.command_env.tell(&format!(
                            "{why}; what became of {} is written while its lease stands",
                            self.options.id
                        ));
                    }
                    tokio::time::sleep(AGAIN).await;
                }
                done => return done,
            }
        }
    }

    /// The commit whose criteria govern: HEAD of the tasks' worktree when this task was first begun.
    pub(super) fn baseline(&self) -> HistoryPoint {
        self.entry.begun_at(&self.queue.head)
    }

    fn request(&self) -> Result<LoopRequest, UnreadableFact> {
        let mut effective = load_effective(
            &self.command_env,
            &self.queue.open,
            Some(&self.options.id),
            Some(&self.baseline()),
        )?;
        lay_over(&mut effective, &self.governed);
        let task = &self.governed.task;
        let options = &self.options;
        Ok(LoopRequest {
            spec: Some(options.id.clone()),
            agents: AgentSelection::Given(options.agents.clone()),
            same_conversation: false,
            prompts: self.prompts.clone(),
            limits: LoopLimitOverrides {
                max_iterations: task.max_iterations,
                ..LoopLimitOverrides::default()
            },
            no_progress: options.no_progress,
            max_wait: options.max_wait,
            // An interrupted loop is resumed; a task that a person reopened gets a new one.
            restart: matches!(self.was, TaskStatus::Review | TaskStatus::Failed),
            terms: options.terms,
            mirror: options.mirror,
            overrides: options.overrides.clone(),
            effective: Some(effective),
            pause: PauseRequest::none(),
        })
    }

    async fn write_down(
        &self,
        judgement: &Judgement,
        log: Option<PathBuf>,
        pushed: Option<RemoteBranch>,
    ) -> Result<TaskEnd, UnreadableFact> {
        let lost = || {
            self.command_env.tell(&format!(
                "the lease of {} has ended; somebody else may work on it",
                self.options.id
            ));
            Ok(TaskEnd::Lost)
        };
        if self.renewed_lease.is_lost() {
            return lost();
        }
        let verdict = &judgement.verdict;
        let status = status_after(verdict);
        let (reason, message, head) = (
            verdict.reason.as_str().to_owned(),
            verdict.message.clone(),
            // Others go on from the head that the remote has.
            pushed
                .as_ref()
                .map(|pushed| pushed.head.clone())
                .or_else(|| {
                    verdict
                        .commits
                        .as_ref()
                        .and_then(|commits| commits.head.clone())
                }),
        );
        let branch = pushed.map(|pushed| pushed.branch);
        let write: HeldWrite = Arc::new(move |leased_task| {
            let end = |record: &mut TaskRecord| {
                record.fence = None;
                record.reason = Some(reason.clone());
                record.message = Some(message.clone());
                record.log = log.clone().or_else(|| record.log.clone());
                record.head = head.clone().or_else(|| record.head.clone());
                record.branch = branch.clone().or_else(|| record.branch.clone());
            };
            match leased_task.step(status, now(), end) {
                // It ended before anything was begun.
                Err(TaskBoardError::Illegal { .. })
                    if leased_task
                        .step(TaskStatus::InProgress, now(), |_| {})
                        .is_ok() =>
                {
                    leased_task.step(status, now(), end)
                }
                done => done,
            }
        });
        match self.write_under_lease(write).await {
            Ok(change) => {
                self.queue.note(&[change]);
                Ok(TaskEnd::Stands(status))
            }
            Err(TaskBoardError::Store(_)) if self.renewed_lease.is_lost() => lost(),
            Err(TaskBoardError::Store(error)) => Err(error.into()),
            Err(error) => {
                self.command_env.tell(&error.to_string());
                Ok(TaskEnd::Lost)
            }
        }
    }
}

/// The task's own criteria take the place of the configuration's; a task without any leaves those.
fn lay_over(effective: &mut EffectiveConfig, governed: &EffectiveTask) {
    let task = &governed.task;
    effective.notes.extend(governed.notes.iter().cloned());
    // An untrusted configuration does not count at all, and no work can be complete beside it.
    if matches!(effective.trust, ConfigTrust::Untrusted { .. }) || task.checks.is_empty() {
        return;
    }
    let ConfigSettings { mode, checks, .. } = &mut effective.settings;
    (*mode, *checks) = (task.mode, task.checks.clone());
}

/// The title leads, unless the text begins with it as its own heading.
pub(super) fn prompt_of(task: &TaskFile) -> String {
    let (title, body) = (task.title.trim(), task.body.as_str());
    let heading = body
        .lines()
        .next()
        .unwrap_or_default()
        .trim_start_matches('#')
        .trim();
    match () {
        () if body.is_empty() => title.to_owned(),
        () if heading == title => body.to_owned(),
        () => format!("{title}\n\n{body}"),
    }
}

fn log_of(store: &dyn LocalStore, root: &Path, id: &str) -> Option<PathBuf> {
    let worktree = Worktree::open(root).ok()?;
    SessionRecord::read_row(store, &worktree.worktree_id(), id)
        .ok()
        .flatten()?
        .log
}

#[cfg(test)]
mod tests {
    use super::super::task::*;

    #[test]
    fn title_leads_the_prompt_exactly_once() {
        let prompt = |body: &str| {
            let text = format!("---\nid: T1\ntitle: Log in\n---\n{body}");
            prompt_of(
                &watchdog_core::config::task_file::parse_task(text.as_bytes(), Path::new("t.md"))
                    .expect("a task"),
            )
        };
        assert_eq!(prompt(""), "Log in");
        assert_eq!(prompt("With a password."), "Log in\n\nWith a password.");
        assert_eq!(
            prompt("# Log in\n\nWith a password."),
            "# Log in\n\nWith a password."
        );
    }

    #[test]
    fn a_verdict_leaves_a_task_where_it_belongs() {
        use TaskStatus::{Complete, Failed, Pending, Review};
        for (reason, status) in [
            (Reason::NewCommits, Complete),
            (Reason::ChecksPassed, Complete),
            (Reason::NothingToDo, Complete),
            (Reason::MaxIterations, Review),
            (Reason::Untrusted, Review),
            (Reason::VerifyTimeout, Review),
            (Reason::MaxProbes, Review),
            (Reason::BudgetExhausted, Review),
            (Reason::BreakerOpen, Review),
            (Reason::AgentStopped, Review),
            (Reason::GitError, Review),
            (Reason::VerifyUnrunnable, Failed),
            (Reason::Halted, Failed),
            (Reason::AgentUnrunnable, Pending),
            (Reason::Interrupted, Pending),
            (Reason::DeadlineExceeded, Pending),
            (Reason::RateLimited, Pending),
            (Reason::Locked, Pending),
        ] {
            assert_eq!(
                status_after(&Verdict::new(reason, "x")),
                status,
                "{reason:?}"
            );
        }
    }
}
