//! Takes a task for an agent: what may be started here is known before, and its lease is renewed from then on.

use crate::clock::now;
use crate::judge::command_env::CommandEnv;
use crate::judge::refusal::about;
use crate::judge::spawn_io::spawn_io;
use crate::session::{AnewBy, begin_anew};
use crate::tasks::task_board::{BoardTask, TaskBoard, TaskClaimant};
use crate::tasks::task_board_error::TaskBoardError;
use crate::wire::verdict_json::Judgement;
use watchdog_core::config::task_file::TaskStatus;
use watchdog_core::decision::iteration::prompt::PromptSet;
use watchdog_facts::evidence::{FaultKind, UnreadableFact};
use watchdog_facts::verdict::{Reason, Status, Verdict};

use super::boot_clock::BootMoment;
use super::lease::RenewedLease;
use super::options::TaskRunOptions;
use super::task::{ClaimedWork, TaskEnd, TaskReport, prompt_of};
use super::task_queue::{EffectiveTask, TaskQueue};

/// The outcome of trying to take a task.
pub enum TaskBeginning {
    /// The attempt took no task.
    NotBegun(Box<TaskReport>),
    /// It is ours.
    Begun(Box<ClaimedWork>),
}

/// Takes a task, or where others were faster one of `others`, in their order; a lease is renewed from then on.
///
/// # Errors
/// As [`run_task`].
pub async fn claim_task(
    command_env: &CommandEnv,
    options: &TaskRunOptions,
    others: &[String],
) -> Result<TaskBeginning, UnreadableFact> {
    let begun = now();
    let mut queue = TaskQueue::open(command_env)?;
    let (store, open) = (queue.store(), &queue.open);
    if let Some(anew) = begin_anew(
        store.as_ref(),
        &open.worktree,
        AnewBy::Command,
        &open.commands,
    )? {
        command_env.tell(&anew.detail);
        queue = TaskQueue::open(command_env)?;
    }
    let mut board = queue.settled_beside().await?;
    let entry = board
        .get(&options.id)
        .cloned()
        .ok_or_else(|| UnreadableFact {
            kind: FaultKind::Config,
            why: format!(
                "failed to get task '{}': there is none with this id",
                options.id
            ),
            hint: Some(format!(
                "see those that are there with: {}",
                queue.open.commands.watchdog("task list")
            )),
        })?;
    let report = |end: TaskEnd, verdict: Verdict| TaskReport {
        id: options.id.clone(),
        agent: options.agent.clone(),
        end,
        judgement: Judgement {
            spec: Some(options.id.clone()),
            ..about(command_env, None, verdict, begun)
        },
        worktree: None,
    };
    let not_begun = |verdict: Verdict| {
        Ok(TaskBeginning::NotBegun(Box::new(report(
            TaskEnd::NotBegun,
            verdict,
        ))))
    };
    if entry.record.status == TaskStatus::Complete {
        return Ok(TaskBeginning::NotBegun(Box::new(report(
            TaskEnd::CompleteBefore,
            complete_before(&queue, &entry),
        ))));
    }
    let mut startable = match prepare_startable(&queue, &board, entry, options)? {
        Ok(startable) => vec![startable],
        Err(verdict) => return not_begun(*verdict),
    };
    // A task that cannot be started here is reported when it is the first.
    let others = others.iter().filter_map(|id| board.get(id).cloned());
    startable.extend(
        others.filter_map(|entry| prepare_startable(&queue, &board, entry, options).ok()?.ok()),
    );
    let ids: Vec<String> = startable
        .iter()
        .map(|task| task.entry.id().to_owned())
        .collect();
    let (agent, ttl) = (options.agent.clone(), options.lease);
    let requested_at = BootMoment::now();
    let taken = spawn_io(move || {
        let holder = format!(
            "{} {}",
            std::process::id(),
            watchdog_store::journal::event_id(begun)
        );
        let taker = TaskClaimant {
            agent: &agent,
            holder: &holder,
            ttl,
        };
        let taken = match ids.as_slice() {
            [id] => board.claim(id, &taker, begun)?,
            ids => board.claim_first(ids, &taker, begun)?,
        };
        Ok::<_, TaskBoardError>(taken.and_then(|(held, changes)| {
            let record = board.get(held.id())?.record.clone();
            Some((held, changes, record))
        }))
    })
    .await;
    let (held, changes, record) = match taken {
        Ok(Some(taken)) => taken,
        Ok(None) => {
            return not_begun(Verdict::new(
                Reason::Locked,
                format!("somebody else has taken {}", options.id),
            ));
        }
        Err(TaskBoardError::Store(error)) => return Err(error.into()),
        Err(error) => return not_begun(Verdict::new(Reason::Locked, error.to_string())),
    };
    queue.note(&changes);
    let renewed_lease = {
        let leased_task = held.clone();
        RenewedLease::start(requested_at, options.lease, move |ttl| {
            leased_task.renew(ttl)
        })
    };
    let Some(StartableTask {
        mut entry,
        governed,
        prompts,
    }) = startable
        .into_iter()
        .find(|task| task.entry.id() == held.id())
    else {
        return not_begun(Verdict::new(
            Reason::Locked,
            format!("somebody else has taken {}", options.id),
        ));
    };
    let (was, was_because) = (entry.record.status, entry.record.reason.clone());
    let is_unchanged =
        (&record.baseline, &record.pinned) == (&entry.record.baseline, &entry.record.pinned);
    entry.record = record;
    let options = TaskRunOptions {
        id: held.id().to_owned(),
        ..options.clone()
    };
    tracing::info!(target: "watchdog::task", task = options.id, agent = options.agent, "takes a task");
    let work = ClaimedWork {
        command_env: command_env.clone(),
        options,
        queue,
        entry,
        was,
        was_because,
        governed,
        prompts,
        held,
        renewed_lease,
        begun,
    };
    if !is_unchanged {
        // Another machine worked on it in between: whoever takes it next looks at what it is now.
        return work
            .put_back()
            .await
            .map(|report| TaskBeginning::NotBegun(Box::new(report)));
    }
    Ok(TaskBeginning::Begun(Box::new(work)))
}

/// A task that nothing keeps from being started here.
struct StartableTask {
    entry: BoardTask,
    governed: EffectiveTask,
    prompts: PromptSet,
}

/// Returns the startable work of a task, or the verdict that says why it may not start.
fn prepare_startable(
    queue: &TaskQueue,
    board: &TaskBoard,
    entry: BoardTask,
    options: &TaskRunOptions,
) -> Result<Result<StartableTask, Box<Verdict>>, UnreadableFact> {
    let governed = queue.load_effective_task(&entry)?;
    tracing::debug!(
        target: "watchdog::task",
        task = entry.id(),
        status = entry.record.status.as_str(),
        trusted = governed.allow_with.is_none(),
        attempts = entry.record.attempts,
        "read a task"
    );
    if let Some(verdict) = why_not(&entry, &governed, &board.blockers(entry.id())) {
        return Ok(Err(Box::new(verdict)));
    }
    Ok(
        match PromptSet::of_task((entry.id(), &prompt_of(&governed.task)), &options.vars) {
            Ok(prompts) => Ok(StartableTask {
                entry,
                governed,
                prompts,
            }),
            Err(error) => {
                let why = format!("the text of {error}; give each value with --var NAME=VALUE");
                Err(Box::new(Verdict::new(Reason::ConfigError, why)))
            }
        },
    )
}

/// The verdict on a task that is complete already. Its source is the record alone, so it is no evidence of its own.
fn complete_before(queue: &TaskQueue, entry: &BoardTask) -> Verdict {
    let (id, record) = (entry.id(), &entry.record);
    let recorded = record.reason.as_deref().and_then(Reason::from_word);
    let reason = recorded
        .filter(|reason| reason.status() == Status::Complete)
        .unwrap_or(Reason::NothingToDo);
    let why = record
        .message
        .as_deref()
        .map(|message| format!(" ({message})"))
        .unwrap_or_default();
    let reopen = queue.reopen_with(id);
    let since = record.changed_at.strftime("%F %R UTC");
    Verdict::new(
        reason,
        format!(
            "{id} is complete since {since}{why}; nothing was started; reopen it with: {reopen}"
        ),
    )
}

/// Why a task is not begun, before anything is spent on it.
fn why_not(
    entry: &BoardTask,
    governed: &EffectiveTask,
    blockers: &[crate::tasks::dependencies::BlockedBy],
) -> Option<Verdict> {
    let id = entry.id();
    if let Some(with) = &governed.allow_with {
        let why = format!(
            "{id} names commands that are not trusted; read its file, then allow them with: {with}"
        );
        return Some(Verdict::new(Reason::Untrusted, why));
    }
    if !blockers.is_empty() {
        let waits = blockers
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(", ");
        return Some(Verdict::new(
            Reason::Dependencies,
            format!("{id} waits for {waits}"),
        ));
    }
    None
}
