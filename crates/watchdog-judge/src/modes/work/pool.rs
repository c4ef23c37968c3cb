//! Runs a pool of agents on the queue: an idle one takes the next task of its role, until no task can begin.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use tokio::task::{JoinSet, LocalSet};

use super::task_queue::TaskQueue;
use crate::clock::now;
use crate::judge::command_env::CommandEnv;
use crate::judge::signals::SignalState;
use crate::modes::iterate::LoopAgent;
use crate::tasks::queue::{QueuedTask, is_role_match, list_ready_tasks};
use crate::tasks::task_board::{BoardTask, TaskBoard};
use crate::tasks::task_source::TaskSource;
use crate::wire::task_json::TaskStanding;
use crate::wire::task_work_json::pool_json;
use watchdog_core::config::task_file::TaskStatus;
use watchdog_facts::evidence::{FaultKind, UnreadableFact};
use watchdog_facts::verdict::{Reason, Status, Verdict};
use watchdog_git::HistoryPoint;

use super::boot_clock::BootMoment;
use super::claim::{TaskBeginning, claim_task};
use super::options::{TaskCheckout, TaskRunOptions};
use super::seat::{AgentSeat, isolate_panic, take_seats};
use super::task::{TaskEnd, TaskReport};
use super::view::AgentPoolView;

/// How often to poll the queue while no task ends here: other processes may work on it, and files may be added.
const POLL: Duration = Duration::from_secs(1);

/// The same while every agent works. Somebody has to give back what a machine that died held, within five seconds after its lease: this, a
/// further [`POLL`] and the reading itself are less.
const POLL_BUSY: Duration = Duration::from_secs(3);

/// How long a task that could not be begun is left alone.
const LEFT_ALONE: Duration = Duration::from_secs(5);

/// So many further tasks are named in a claim, in case that other machines are faster.
const OTHERS: usize = 31;

/// After so many errors in a row an agent takes no more tasks.
const ERRORS: u32 = 2;

/// An agent that works on tasks.
#[derive(Debug, Clone)]
pub struct PoolAgent {
    /// Its name.
    pub name: String,
    /// Which tasks it takes; `None` = any.
    pub role: Option<String>,
    /// How it is started, and those that take over at a limit, in their order.
    pub agents: Vec<LoopAgent>,
    /// The folder of its worktree.
    pub home: PathBuf,
}

/// The agents of a pool, and their options.
pub struct AgentPoolOptions {
    /// The agents, each with a name of its own.
    pub agents: Vec<PoolAgent>,
    /// How many of them work at most: the first whose names are free.
    pub at_most: usize,
    /// The common part of every order; its id, agent, checkout and worker are filled in.
    pub each: TaskRunOptions,
    /// Whether to wait for further tasks when nothing is left.
    pub stay: bool,
}

/// The result of a pool.
#[derive(Debug)]
pub struct AgentPoolReport {
    /// Why it ended, for the exit code.
    pub verdict: Verdict,
    /// Every task with its present status.
    pub tasks: Vec<BoardTask>,
    /// The tasks that ended here, in order.
    pub done: Vec<TaskReport>,
}

impl AgentPoolReport {
    /// The object for programs.
    pub fn to_json(&self) -> Value {
        let tasks: Vec<_> = self
            .tasks
            .iter()
            .map(|entry| TaskStanding::new(entry.id(), &entry.record))
            .collect();
        let done: Vec<_> = self.done.iter().map(TaskReport::to_view).collect();
        pool_json(&self.verdict, &tasks, &done)
    }
}

struct AgentPool<'a> {
    command_env: &'a CommandEnv,
    options: &'a AgentPoolOptions,
    view: &'a dyn AgentPoolView,
    seats: Vec<AgentSeat>,
    /// Tasks that are left alone until then.
    later: BTreeMap<String, Timestamp>,
    /// The messages that were shown already.
    shown_messages: BTreeSet<String>,
    done: Vec<TaskReport>,
    /// The tasks as they were seen last.
    seen: Vec<BoardTask>,
    /// When the queue was read last; before that, when the pool began.
    read_at: BootMoment,
    /// The queue could not be read the last time.
    is_away: bool,
}

/// The result of a seat.
enum SeatEvent {
    /// It took a task, or did not.
    Chose(usize, String, Result<TaskBeginning, UnreadableFact>),
    /// Its work on a task ended.
    Ended(usize, String, Box<Result<TaskReport, UnreadableFact>>),
}

/// The queue as it was found.
struct QueueState {
    queue: TaskQueue,
    board: TaskBoard,
}

/// Reads the queue and brings it up to date.
async fn read_queue(command_env: &CommandEnv) -> Result<QueueState, UnreadableFact> {
    let queue = TaskQueue::open(command_env)?;
    let board = queue.settled_beside().await?;
    Ok(QueueState { queue, board })
}

/// Runs the pool until no task can begin, or a signal comes.
///
/// # Errors
/// Fails if the tasks cannot be read at the beginning.
pub async fn run_agent_pool(
    command_env: &CommandEnv,
    options: &AgentPoolOptions,
    view: &dyn AgentPoolView,
    signals: &mut SignalState,
) -> Result<AgentPoolReport, UnreadableFact> {
    let queue = TaskQueue::open(command_env)?;
    if queue.head == HistoryPoint::Unborn {
        return Err(UnreadableFact {
            kind: FaultKind::Git,
            why: "the repository has no commit yet, so that no branch can begin".into(),
            hint: Some("make a first commit".into()),
        });
    }
    let seats = take_seats(&queue, options)?;
    if seats.is_empty() {
        let verdict = Verdict::new(
            Reason::Locked,
            "every agent works already, under another 'watchdog task work'",
        );
        let tasks = queue.settled_beside().await?.entries().cloned().collect();
        return Ok(AgentPoolReport {
            verdict,
            tasks,
            done: Vec::new(),
        });
    }
    let mut pool = AgentPool {
        command_env,
        options,
        view,
        seats,
        later: BTreeMap::new(),
        shown_messages: BTreeSet::new(),
        done: Vec::new(),
        seen: Vec::new(),
        read_at: BootMoment::now(),
        is_away: false,
    };
    drop(queue);
    // Loops are not to be sent between threads; all of them share this one.
    let interrupted = LocalSet::new().run_until(pool.run(signals)).await;
    match read_queue(command_env).await {
        Ok(QueueState { board, .. }) => {
            let verdict = pool.verdict(&board, interrupted);
            Ok(AgentPoolReport {
                verdict,
                tasks: board.entries().cloned().collect(),
                done: pool.done,
            })
        }
        // Finished work is reported even if the queue's server is gone.
        Err(unreadable) if unreadable.kind == FaultKind::Store && pool.is_away => {
            let verdict = Verdict::unreadable(unreadable);
            let verdict = if interrupted {
                Verdict::new(
                    Reason::Interrupted,
                    format!("interrupted; {}", verdict.message),
                )
            } else {
                verdict
            };
            Ok(AgentPoolReport {
                verdict,
                tasks: pool.seen,
                done: pool.done,
            })
        }
        Err(unreadable) => Err(unreadable),
    }
}

impl AgentPool<'_> {
    /// Works; whether a signal ended it.
    async fn run(&mut self, signals: &mut SignalState) -> bool {
        let mut running: JoinSet<SeatEvent> = JoinSet::new();
        loop {
            let interrupted = signals.is_interrupted();
            let waits = if interrupted {
                false
            } else if self.can_wait(&running) {
                true
            } else {
                let queue_state = tokio::select! {
                    found = read_queue(self.command_env) => found,
                    () = signals.wait_for_interrupt() => continue,
                };
                self.give_out(queue_state, &mut running)
            };
            if running.is_empty() && (interrupted || !(waits || self.options.stay)) {
                return interrupted;
            }
            tokio::select! {
                Some(event) = running.join_next(), if !running.is_empty() => match event {
                    Ok(SeatEvent::Chose(n, id, beginning)) => self.chose((n, id, beginning), &mut running, signals),
                    Ok(SeatEvent::Ended(n, id, ended)) => self.take_in((n, id, *ended)),
                    Err(error) => self.say(&format!("a bug of watchdog: {error}")),
                },
                () = signals.wait_for_interrupt(), if !interrupted => {}
                () = tokio::time::sleep(POLL) => {}
            }
        }
    }

    /// Whether no agent could take anything, and the queue was read a moment ago: reading it costs a look at every file and record.
    fn can_wait(&self, running: &JoinSet<SeatEvent>) -> bool {
        let is_idle = |seat: &AgentSeat| seat.busy.is_none() && seat.out.is_none();
        !running.is_empty()
            && !self.seen.is_empty()
            && !self.seats.iter().any(is_idle)
            && !self.read_at.after(POLL_BUSY).is_past()
    }

    fn say(&mut self, text: &str) {
        if self.shown_messages.insert(text.to_owned()) {
            self.command_env.tell(text);
        }
    }

    /// Gives every idle agent its next task. Whether there is something to wait for.
    fn give_out(
        &mut self,
        queue_state: Result<QueueState, UnreadableFact>,
        running: &mut JoinSet<SeatEvent>,
    ) -> bool {
        let QueueState { queue, board } = match queue_state {
            Ok(state) => state,
            Err(unreadable) => return self.without_queue(&unreadable, !running.is_empty()),
        };
        self.read_at = BootMoment::now();
        if std::mem::take(&mut self.is_away) {
            self.command_env.tell("the queue can be read again");
        }
        let is_shared = queue.source != TaskSource::Here;
        let ours = |entry: &BoardTask| {
            self.seats
                .iter()
                .any(|seat| seat.busy.as_deref() == Some(entry.id()))
        };
        // A status that a person set has no lease, and no known end.
        let taken = |entry: &BoardTask| {
            matches!(
                entry.record.status,
                TaskStatus::Assigned | TaskStatus::InProgress
            ) && entry.record.fence.is_some()
                && !ours(entry)
        };
        let (queued, taken_by_others) = (board.list_queued(), board.entries().any(taken));
        // Of a task whose file is not here nothing is known but what was pinned: whoever has its file begins it.
        let is_strange = |id: &str| {
            is_shared
                && board
                    .get(id)
                    .is_some_and(|entry| entry.gone && entry.record.baseline.is_none())
        };
        let ready: Vec<&QueuedTask> = list_ready_tasks(&queued)
            .into_iter()
            .filter(|task| !is_strange(&task.link.id))
            .collect();
        self.seen = board.entries().cloned().collect();
        for problem in &queue.folder.problems {
            self.say(&problem.to_string());
        }
        for n in 0..self.seats.len() {
            if self.seats[n].name.is_lost() && self.seats[n].out.is_none() {
                self.seats[n].out = Some("its name was taken by another watchdog".into());
            }
        }
        let at = now();
        self.later.retain(|_, until| *until > at);
        let mut waits = taken_by_others;
        let mut given = Vec::new();
        for task in &ready {
            let id = &task.link.id;
            if self.seats.iter().any(|seat| seat.busy.as_ref() == Some(id)) {
                continue;
            }
            let role = task.role.as_deref();
            let fits = |seat: &AgentSeat| {
                seat.out.is_none() && is_role_match(seat.agent.role.as_deref(), role)
            };
            if !self.seats.iter().any(fits) {
                continue;
            }
            // A task that was found to be beyond us (its commands are not allowed) is not waited for.
            if self
                .later
                .get(id)
                .is_some_and(|until| *until == Timestamp::MAX)
            {
                continue;
            }
            // An agent here will take it, now or after its present task.
            waits = true;
            if self.later.contains_key(id) {
                continue;
            }
            if let Some(n) = self
                .seats
                .iter()
                .position(|seat| seat.busy.is_none() && fits(seat))
            {
                self.seats[n].busy = Some(id.clone());
                given.push(n);
            }
        }
        for n in given {
            // If machines share a queue, adds the next ones in case that others are faster.
            let role = self.seats[n].agent.role.as_deref();
            let others = ready
                .iter()
                .filter(|task| is_shared && is_role_match(role, task.role.as_deref()));
            let others = others.map(|task| &task.link.id).filter(|id| {
                !self.later.contains_key(*id)
                    && !self
                        .seats
                        .iter()
                        .any(|seat| seat.busy.as_ref() == Some(*id))
            });
            let others = others.take(OTHERS).cloned().collect();
            self.choose(n, others, running);
        }
        waits
    }

    /// Judges the work while the queue cannot be read. Whether there is something to wait for.
    fn without_queue(&mut self, unreadable: &UnreadableFact, is_working: bool) -> bool {
        if unreadable.kind != FaultKind::Store {
            self.say(&format!(
                "the tasks cannot be read, looking again: {}",
                unreadable.why
            ));
            return is_working;
        }
        if !std::mem::replace(&mut self.is_away, true) {
            self.command_env.tell(&format!(
                "the tasks cannot be read, and nothing new is taken until they can: {}",
                unreadable.why
            ));
        }
        // A server that is started again is waited for as long as a lease lasts.
        is_working
            || (!self.seen.is_empty() && !self.read_at.after(self.options.each.lease).is_past())
    }

    /// Has a seat take the task that it was given, or another one.
    fn choose(&mut self, n: usize, others: Vec<String>, running: &mut JoinSet<SeatEvent>) {
        let seat = &self.seats[n];
        let id = seat.busy.clone().unwrap_or_default();
        let agent = seat.agent.clone();
        let options = TaskRunOptions {
            id: id.clone(),
            agent: agent.name.clone(),
            checkout: TaskCheckout::Own(agent.home),
            agents: agent.agents,
            ..self.options.each.clone()
        };
        let (outer, name) = (Arc::clone(&self.command_env.narrate), agent.name);
        let narrate = Arc::new(move |text: &str| outer(&format!("{name}: {text}")));
        let around = CommandEnv {
            narrate,
            ..self.command_env.clone()
        };
        running.spawn_local(async move {
            let beginning =
                isolate_panic(async move { claim_task(&around, &options, &others).await }).await;
            SeatEvent::Chose(n, id, beginning)
        });
    }

    fn chose(
        &mut self,
        (n, id, beginning): (usize, String, Result<TaskBeginning, UnreadableFact>),
        running: &mut JoinSet<SeatEvent>,
        signals: &SignalState,
    ) {
        let work = match beginning {
            Ok(TaskBeginning::Begun(work)) => work,
            Ok(TaskBeginning::NotBegun(report)) => return self.take_in((n, id, Ok(*report))),
            // Of a queue that cannot be read the next look tells.
            Err(unreadable) if unreadable.kind == FaultKind::Store => {
                self.seats[n].busy = None;
                return;
            }
            Err(unreadable) => return self.take_in((n, id, Err(unreadable))),
        };
        let (id, agent) = (work.id().to_owned(), self.seats[n].agent.name.clone());
        self.command_env.tell(&format!("{agent}: takes {id}"));
        self.seats[n].busy = Some(id.clone());
        let signals = signals.clone();
        let view = self.view.task_view(&agent, &id);
        running.spawn_local(async move {
            let ended = isolate_panic(async move { work.perform_now(view, &signals).await }).await;
            SeatEvent::Ended(n, id, Box::new(ended))
        });
    }

    fn take_in(&mut self, (n, id, ended): (usize, String, Result<TaskReport, UnreadableFact>)) {
        self.seats[n].busy = None;
        let name = self.seats[n].agent.name.clone();
        let report = match ended {
            Ok(report) => report,
            Err(unreadable) => {
                self.say(&format!("{name}: {id}: {}", unreadable.why));
                return self.record_failure(n, &id);
            }
        };
        let verdict = &report.judgement.verdict;
        let text = match report.end {
            TaskEnd::Stands(status) => {
                format!("{name}: {id} is {}: {}", status.as_str(), verdict.message)
            }
            TaskEnd::CompleteBefore => verdict.message.clone(),
            TaskEnd::NotBegun => format!("{name}: {id} was not begun: {}", verdict.message),
            TaskEnd::Lost => format!("{name}: {id} was lost"),
        };
        let (reason, end) = (verdict.reason, report.end.clone());
        match end {
            // It stays as it is until a person says a word.
            TaskEnd::NotBegun if matches!(reason, Reason::Untrusted | Reason::ConfigError) => {
                self.later.insert(id, Timestamp::MAX);
                self.say(&text);
            }
            // Another process was faster.
            TaskEnd::NotBegun | TaskEnd::CompleteBefore => self.leave_alone(&id),
            TaskEnd::Lost => self.say(&text),
            TaskEnd::Stands(status) => {
                // Repeated attempts are reported once.
                if status == TaskStatus::Pending {
                    self.say(&text)
                } else {
                    self.command_env.tell(&text)
                }
                match status {
                    TaskStatus::Pending if reason == Reason::AgentUnrunnable => {
                        self.seats[n].out = Some(verdict.message.clone())
                    }
                    TaskStatus::Pending if reason == Reason::DeadlineExceeded => {
                        let why = verdict.message.clone();
                        self.seats
                            .iter_mut()
                            .for_each(|seat| seat.out = Some(why.clone()));
                    }
                    TaskStatus::Pending if reason == Reason::RateLimited => {
                        self.seats[n].out = Some(verdict.message.clone())
                    }
                    TaskStatus::Pending => self.leave_alone(&id),
                    _ if verdict.status() == Status::Error => self.record_failure(n, &id),
                    _ => self.seats[n].errors = 0,
                }
                self.done.push(report);
            }
        }
    }

    fn leave_alone(&mut self, id: &str) {
        let until = now().checked_add(LEFT_ALONE).unwrap_or(Timestamp::MAX);
        self.later.insert(id.to_owned(), until);
    }

    /// A single error may be the task's; two in a row are the agent's, and every further task would
    /// go the same way.
    fn record_failure(&mut self, n: usize, id: &str) {
        self.leave_alone(id);
        let seat = &mut self.seats[n];
        seat.errors += 1;
        if seat.errors >= ERRORS {
            seat.out = Some(format!("{ERRORS} errors in a row"));
            let text = format!(
                "{}: takes no more tasks after {ERRORS} errors in a row",
                seat.agent.name
            );
            self.say(&text);
        }
    }

    /// The verdict on the queue: the worst status of its tasks.
    fn verdict(&self, board: &TaskBoard, interrupted: bool) -> Verdict {
        let count = |status: TaskStatus| {
            board
                .entries()
                .filter(|entry| entry.record.status == status)
                .count()
        };
        let all = board.entries().count();
        let figures = format!(
            "{} of {all} tasks are complete, {} in review, {} failed, {} left",
            count(TaskStatus::Complete),
            count(TaskStatus::Review),
            count(TaskStatus::Failed),
            count(TaskStatus::Pending)
                + count(TaskStatus::Blocked)
                + count(TaskStatus::Assigned)
                + count(TaskStatus::InProgress),
        );
        let out: Vec<String> = self
            .seats
            .iter()
            .filter_map(|seat| Some(format!("{}: {}", seat.agent.name, seat.out.as_ref()?)))
            .collect();
        if interrupted {
            Verdict::new(
                Reason::Interrupted,
                format!("interrupted; {figures}; start it again to go on"),
            )
        } else if all == 0 {
            Verdict::new(Reason::NoCriteria, "there is no task")
        } else if count(TaskStatus::Failed) > 0 {
            Verdict::new(Reason::Halted, figures)
        } else if count(TaskStatus::Complete) == all {
            Verdict::new(
                Reason::ChecksPassed,
                format!("all {all} tasks are complete"),
            )
        } else if !out.is_empty() {
            Verdict::new(
                Reason::AgentStopped,
                format!("{figures}; {}", out.join("; ")),
            )
        } else if self.later.values().any(|until| *until == Timestamp::MAX) {
            Verdict::new(
                Reason::Untrusted,
                format!("{figures}; some name commands that are not trusted"),
            )
        } else if count(TaskStatus::Review) > 0 {
            Verdict::new(Reason::Disputed, figures)
        } else {
            Verdict::new(
                Reason::Dependencies,
                format!("{figures}; no agent here takes them, or they wait for each other"),
            )
        }
    }
}
