//! `watchdog task list`, `show`, `next` and `set`: the queue as it stands, and a person's word about it.

use anstyle::Style;

use crate::cli::args_task::{TaskArgs, TaskCommand, TaskFormat, TaskListArgs};
use crate::cli::failure::CommandFailure;
use crate::cli::table::table_lines;
use crate::cli::terminal::CommandTerminal;

use super::from_session::PrivilegedCommand;
use watchdog_core::config::task_file::TaskStatus;
use watchdog_facts::display::{escape_for_display, escape_to_one_line, shorten_text};
use watchdog_facts::shell_line::shell_word;
use watchdog_facts::verdict::{Reason, Status};
use watchdog_judge::clock::now;
use watchdog_judge::judge::command_env::CommandEnv;
use watchdog_judge::modes::work::task_queue::{EffectiveTask, TaskQueue};
use watchdog_judge::tasks::graph;
use watchdog_judge::tasks::queue::{is_role_match, next};
use watchdog_judge::tasks::task_board::{BoardTask, TaskBoard};
use watchdog_judge::tasks::task_board_error::TaskBoardError;
use watchdog_judge::wire::task_json::{
    ListedTasks, QueueTask, SetTask, ShownTask, TaskStanding, TaskTransition, no_next_task_json,
    path_text, task_list_json,
};
use watchdog_view::task_lines::{in_order, why_waiting};

use super::task_work;

/// Does one of the things that can be done with tasks.
pub fn run_task_command(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    args: TaskArgs,
) -> Result<u8, CommandFailure> {
    let shared = TaskOptions {
        dry_run: args.dry_run,
        write_back: args.write_back,
    };
    let command = match args.command {
        TaskCommand::Run(args) => {
            return task_work::run_one_task(command_env, terminal, &shared, args);
        }
        TaskCommand::Work(args) => {
            return task_work::work_on_tasks(command_env, terminal, &shared, args);
        }
        command => command,
    };
    let queue = TaskQueue::open(command_env)?;
    report_unreadable_tasks(terminal, &queue);
    match command {
        TaskCommand::List(list_args) => list_tasks(terminal, &queue, &shared, &list_args),
        TaskCommand::Show { id } => show_task(terminal, &queue, &shared, &id),
        TaskCommand::Next { role } => next_of(terminal, &queue, &shared, role.as_deref()),
        TaskCommand::Set {
            id,
            status,
            reason,
            from_session,
        } => {
            let (store, worktree_id) = (queue.open.store.as_ref(), queue.open.worktree_id.as_str());
            PrivilegedCommand {
                command: "watchdog task set",
                store,
                worktree_id,
                from_session,
            }
            .allow()?;
            set_status(terminal, &queue, &shared, &id, status, reason.as_deref())
        }
        TaskCommand::Run(_) | TaskCommand::Work(_) => unreachable!("taken above"),
    }
}

/// Options of every task command.
pub struct TaskOptions {
    /// The command writes no file and starts no process.
    pub dry_run: bool,
    /// The status is kept in the files, too.
    pub write_back: bool,
}

/// The tasks as they stand; with `--dry-run` nothing is written on the way.
fn load_board(queue: &TaskQueue, shared: &TaskOptions) -> Result<TaskBoard, CommandFailure> {
    Ok(if shared.dry_run {
        queue.board()?
    } else {
        queue.settle_board()?
    })
}

/// Reports unreadable tasks, which stop no other task.
pub fn report_unreadable_tasks(terminal: &CommandTerminal, queue: &TaskQueue) {
    for note in &queue.effective.notes {
        terminal.complain_of_note(note);
    }
    for problem in &queue.folder.problems {
        terminal.complain(&format!(
            "watchdog: {}",
            escape_for_display(&problem.to_string())
        ));
    }
}

fn list_tasks(
    terminal: &CommandTerminal,
    queue: &TaskQueue,
    shared: &TaskOptions,
    args: &TaskListArgs,
) -> Result<u8, CommandFailure> {
    let board = load_board(queue, shared)?;
    if shared.write_back && !shared.dry_run {
        for entry in board.entries() {
            write_back(terminal, &board, entry.id());
        }
    }
    let cycles = board.dependencies().cycles();
    let shown: Vec<&BoardTask> = in_order(&board)
        .into_iter()
        .filter(|entry| args.status.is_empty() || args.status.contains(&entry.record.status))
        .filter(|entry| {
            args.role
                .as_deref()
                .is_none_or(|role| is_role_match(Some(role), entry.loaded.task.role.as_deref()))
        })
        .collect();
    if terminal.json {
        terminal.value(&task_list_json(&ListedTasks {
            tasks: shown
                .iter()
                .map(|entry| build_queue_task(queue, &board, entry))
                .collect(),
            statuses: board.entries().map(|entry| entry.record.status).collect(),
            cycles: &cycles,
            problems: queue.folder.problems.iter().map(|bad| &bad.0).collect(),
        }));
        return Ok(0);
    }
    let nodes: Vec<graph::TaskGraphNode> = shown.iter().map(|entry| entry.node()).collect();
    match args.format {
        TaskFormat::Dot => terminal.line(escape_for_display(&graph::render_dot(&nodes)).trim_end()),
        TaskFormat::Mermaid => {
            terminal.line(escape_for_display(&graph::render_mermaid(&nodes)).trim_end())
        }
        TaskFormat::Table => print_table(terminal, queue, &board, &shown, &cycles),
    }
    Ok(0)
}

fn print_table(
    terminal: &CommandTerminal,
    queue: &TaskQueue,
    board: &TaskBoard,
    shown: &[&BoardTask],
    cycles: &[Vec<String>],
) {
    if board.entries().next().is_none() {
        let dir = &queue.effective.settings.tasks.dir;
        terminal.line(&format!(
            "no tasks in {}; see what one looks like with `watchdog task --help`",
            escape_to_one_line(dir)
        ));
        return;
    }
    let rows: Vec<[String; 6]> = (shown.iter())
        .map(|entry| {
            let (task, record) = (&entry.loaded.task, &entry.record);
            let role = task.role.as_deref().unwrap_or("-");
            let agent = record
                .agent
                .as_deref()
                .filter(|_| record.status != TaskStatus::Pending)
                .unwrap_or("-");
            let cell = |text: &str| shorten_text(&escape_to_one_line(text), 48);
            [
                entry.id(),
                &task.title,
                role,
                task.priority.as_str(),
                record.status.as_str(),
                agent,
            ]
            .map(cell)
        })
        .collect();
    let heads = ["ID", "TITLE", "ROLE", "PRIORITY", "STATUS", "ASSIGNED"];
    let lines = table_lines(heads, &[], &rows, None, |_| Style::new());
    terminal.line(&lines[0]);
    for (entry, line) in shown.iter().zip(&lines[1..]) {
        let why = why_waiting(board, entry)
            .map(|why| format!("  {why}"))
            .unwrap_or_default();
        terminal.line(&format!("{line}{why}"));
    }
    for circle in cycles {
        terminal.line(&format!(
            "these wait for each other and never begin: {} -> {}",
            circle.join(" -> "),
            circle[0]
        ));
    }
    terminal.line(&summarize_board(board));
}

fn count_by_status(board: &TaskBoard, statuses: &[TaskStatus]) -> usize {
    board
        .entries()
        .filter(|entry| statuses.contains(&entry.record.status))
        .count()
}

fn summarize_board(board: &TaskBoard) -> String {
    use TaskStatus::{Assigned, Blocked, Complete, Failed, InProgress, Pending, Review};
    let of = |statuses: &[TaskStatus]| count_by_status(board, statuses);
    let mut text = format!(
        "Tasks: {} total ({} pending, {} in progress, {} complete)",
        board.entries().count(),
        of(&[Pending, Blocked]),
        of(&[Assigned, InProgress]),
        of(&[Complete])
    );
    for (statuses, words) in [([Review], "in review"), ([Failed], "failed")] {
        if of(&statuses) > 0 {
            text.push_str(&format!(", {} {words}", of(&statuses)));
        }
    }
    text
}

/// A task with what its file and its record do not say.
fn build_queue_task<'a>(
    queue: &TaskQueue,
    board: &TaskBoard,
    entry: &'a BoardTask,
) -> QueueTask<'a> {
    let (task, record) = (&entry.loaded.task, &entry.record);
    // A copy that cannot be read stops its own task only.
    let governed = queue.load_effective_task(entry);
    let trusted = governed
        .as_ref()
        .is_ok_and(|governed| governed.allow_with.is_none());
    let commands = governed
        .as_ref()
        .map_or_else(|_| task.commands(), |governed| governed.task.commands());
    QueueTask {
        standing: TaskStanding::new(&task.id, record),
        title: &task.title,
        priority: task.priority.as_str(),
        role: task.role.as_deref(),
        depends_on: &task.depends_on,
        attempts: record.attempts,
        file: entry.loaded.relative.display().to_string(),
        since: record.since,
        changed_at: record.changed_at,
        waits_for: board
            .blockers(&task.id)
            .iter()
            .map(ToString::to_string)
            .collect(),
        commands,
        trusted,
        file_gone: entry.gone,
        unreadable: governed.err().map(|unreadable| unreadable.why),
    }
}

pub fn require_task<'l>(board: &'l TaskBoard, id: &str) -> Result<&'l BoardTask, CommandFailure> {
    board.get(id).ok_or_else(|| {
        let named = escape_to_one_line(id);
        CommandFailure::usage(format!(
            "failed to get task '{named}': there is none with this id"
        ))
        .hint("see those that are there with `watchdog task list`")
    })
}

fn show_task(
    terminal: &CommandTerminal,
    queue: &TaskQueue,
    shared: &TaskOptions,
    id: &str,
) -> Result<u8, CommandFailure> {
    let board = load_board(queue, shared)?;
    let entry = require_task(&board, id)?;
    let governed = queue.load_effective_task(entry)?;
    if terminal.json {
        terminal.print_answer(&ShownTask {
            task: build_queue_task(queue, &board, entry),
            body: &governed.task.body,
            max_iterations: governed.task.max_iterations,
            signals: governed.task.signals(),
            degraded: &governed.notes,
        });
        return Ok(0);
    }
    for line in shown_lines(&board, entry, &governed) {
        terminal.line(&line);
    }
    Ok(0)
}

fn shown_lines(board: &TaskBoard, entry: &BoardTask, governed: &EffectiveTask) -> Vec<String> {
    let (task, record) = (&entry.loaded.task, &entry.record);
    let line = |name: &str, text: &str| format!("{name:<10} {}", escape_to_one_line(text));
    let mut lines = vec![
        line("task", &format!("{}: {}", task.id, task.title)),
        line("status", record.status.as_str()),
        line("priority", task.priority.as_str()),
        line("role", task.role.as_deref().unwrap_or("any")),
        line("file", &entry.loaded.relative.display().to_string()),
    ];
    let waits = board
        .blockers(&task.id)
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ");
    for (name, text) in [
        ("waits for", Some(waits).filter(|waits| !waits.is_empty())),
        ("agent", record.agent.clone()),
        (
            "because",
            record.message.clone().or_else(|| record.reason.clone()),
        ),
        ("branch", record.branch.clone()),
        ("worktree", path_text(record.worktree.as_deref())),
        ("log", path_text(record.log.as_deref())),
    ] {
        lines.extend(text.map(|text| line(name, &text)));
    }
    lines.extend(
        governed
            .task
            .signals()
            .iter()
            .map(|signal| line("signal", signal)),
    );
    lines.extend(
        governed
            .task
            .commands()
            .iter()
            .map(|command| line("runs", command)),
    );
    lines.extend(governed.allow_with.iter().map(|with| {
        line(
            "untrusted",
            &format!("read it, then allow its commands with: {with}"),
        )
    }));
    lines.extend(governed.notes.iter().map(|note| line("note", &note.detail)));
    lines.push(String::new());
    lines.extend(governed.task.body.lines().map(escape_for_display));
    lines
}

fn next_of(
    terminal: &CommandTerminal,
    queue: &TaskQueue,
    shared: &TaskOptions,
    role: Option<&str>,
) -> Result<u8, CommandFailure> {
    let board = load_board(queue, shared)?;
    let queued = board.list_queued();
    if let Some(task) = next(&queued, role) {
        let entry = require_task(&board, &task.link.id)?;
        if terminal.json {
            terminal.print_answer(&build_queue_task(queue, &board, entry));
        } else {
            terminal.line(entry.id());
        }
        return Ok(0);
    }
    let (status, reason, message) = nothing_next(&board, role);
    if terminal.json {
        terminal.value(&no_next_task_json(status, reason, &message));
    } else {
        terminal.tell(&message);
    }
    Ok(status.exit_code())
}

/// Why nothing comes next: all is done, something that runs must end first, or a person must decide.
fn nothing_next(board: &TaskBoard, role: Option<&str>) -> (Status, &'static str, String) {
    let wanted: Vec<&BoardTask> = board
        .entries()
        .filter(|entry| {
            role.is_none_or(|role| is_role_match(Some(role), entry.loaded.task.role.as_deref()))
        })
        .collect();
    let all = |status| wanted.iter().all(|entry| entry.record.status == status);
    if wanted.is_empty() {
        let of = role
            .map(|role| format!(" for the role '{}'", escape_to_one_line(role)))
            .unwrap_or_default();
        return (
            Status::Review,
            Reason::NoCriteria.as_str(),
            format!("there is no task{of}"),
        );
    }
    if all(TaskStatus::Complete) {
        return (
            Status::Complete,
            "checks_passed",
            "every task is complete".into(),
        );
    }
    if count_by_status(board, &[TaskStatus::Assigned, TaskStatus::InProgress]) > 0 {
        return (
            Status::Waiting,
            Reason::Dependencies.as_str(),
            "no task is ready; some are in progress".into(),
        );
    }
    (
        Status::Review,
        "dependencies",
        format!("no task is ready; {}", summarize_board(board)),
    )
}

fn set_status(
    terminal: &CommandTerminal,
    queue: &TaskQueue,
    shared: &TaskOptions,
    id: &str,
    status: TaskStatus,
    reason: Option<&str>,
) -> Result<u8, CommandFailure> {
    let mut board = load_board(queue, shared)?;
    let before = require_task(&board, id)?.record.status;
    let change = if shared.dry_run {
        watchdog_judge::tasks::status::step_by_person(before, status, reason).map_err(|step| {
            explain_board_error(TaskBoardError::Illegal {
                id: id.to_owned(),
                step,
            })
        })?;
        TaskTransition {
            id: id.to_owned(),
            from: Some(before),
            to: status,
            ..TaskTransition::default()
        }
    } else {
        let change = board
            .set_status(id, status, reason, now())
            .map_err(explain_board_error)?;
        let changes: Vec<TaskTransition> = change.into_iter().chain(board.settle(now())?).collect();
        queue.note(&changes);
        if shared.write_back {
            changes
                .iter()
                .for_each(|change| write_back(terminal, &board, &change.id));
        }
        changes.into_iter().next().unwrap_or(TaskTransition {
            id: id.to_owned(),
            from: Some(before),
            to: before,
            ..TaskTransition::default()
        })
    };
    if terminal.json {
        terminal.print_answer(&SetTask {
            transition: &change,
            dry_run: shared.dry_run,
        });
    } else {
        let would = if shared.dry_run {
            " (nothing was written)"
        } else {
            ""
        };
        terminal.line(&format!(
            "{}: {} -> {}{would}",
            change.id,
            before.as_str(),
            change.to.as_str()
        ));
    }
    Ok(0)
}

fn explain_board_error(error: TaskBoardError) -> CommandFailure {
    match error {
        TaskBoardError::Store(error) => error.into(),
        TaskBoardError::Illegal { ref id, step }
            if (step.from, step.to) == (TaskStatus::Complete, TaskStatus::Pending) =>
        {
            CommandFailure::usage(error.to_string()).hint(format!(
                "reopen it with `watchdog task set {} pending --reason WHY`",
                shell_word(id)
            ))
        }
        TaskBoardError::Illegal { .. } => CommandFailure::usage(error.to_string()),
        TaskBoardError::Held { .. } | TaskBoardError::Lost { .. } => {
            CommandFailure::new(Reason::Locked, error.to_string())
        }
    }
}

fn write_back(terminal: &CommandTerminal, board: &TaskBoard, id: &str) {
    if let Err(error) = board.write_back(id) {
        terminal.complain_of(&format!(
            "failed to write the status of {id} into its file: {error}"
        ));
    }
}
