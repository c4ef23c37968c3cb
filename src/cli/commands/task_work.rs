//! `watchdog task run` and `watchdog task work`: who works, where, and what came of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::cli::args_loop::variables_by_name;
use crate::cli::args_task::{AgentPoolArgs, TaskRunArgs, TaskWorkArgs};
use crate::cli::failure::CommandFailure;
use crate::cli::live_view::LiveView;
use crate::cli::terminal::CommandTerminal;
use watchdog_core::config::settings::{AgentEntry, ConfigSettings};
use watchdog_core::config::task_file::why_no_id;
use watchdog_core::config::{CriteriaNumbers, PresetName};
use watchdog_facts::display::escape_to_one_line;
use watchdog_facts::shell_line::WorktreeCommands;
use watchdog_facts::verdict::Status;
use watchdog_judge::judge::command_env::CommandEnv;
use watchdog_judge::judge::judgement_input::Overrides;
use watchdog_judge::modes::iterate::{LoopAgent, LoopView};
use watchdog_judge::modes::work::task_queue::TaskQueue;
use watchdog_judge::modes::work::{
    AgentPoolOptions, AgentPoolReport, AgentPoolView, PoolAgent, TaskCheckout, TaskRunOptions,
    run_agent_pool, run_task,
};
use watchdog_judge::tasks::queue::{is_role_match, list_ready_tasks};
use watchdog_judge::tasks::task_source::TaskSource;
use watchdog_judge::wire::task_work_json::{PlannedAgent, TaskPlan, pool_plan_json};
use watchdog_process::MirrorTarget;

use super::fleet::start_fleet_copies;
use super::runtime::in_runtime;
use super::task::{TaskOptions, report_unreadable_tasks, require_task};

/// The name of whoever runs a task by hand.
const BY_HAND: &str = "by-hand";

/// Agents made on the fly are named `agent-1`, `agent-2`, …; so many names are tried for one that nobody works under.
const NAMES: usize = 200;

/// Runs one task in this worktree.
pub fn run_one_task(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    shared: &TaskOptions,
    args: TaskRunArgs,
) -> Result<u8, CommandFailure> {
    let command_env = &with_numbers(command_env, &args.work)?;
    let queue = TaskQueue::open(command_env)?;
    report_unreadable_tasks(terminal, &queue);
    let settings = &queue.effective.settings;
    let entry = args
        .name
        .as_ref()
        .and_then(|name| settings.agents.iter().find(|entry| entry.name == *name));
    let name = args.name.clone().unwrap_or_else(|| BY_HAND.to_owned());
    let agents = working_agents(command_env, &args.work, settings, entry)?;
    let options = TaskRunOptions {
        id: args.id.clone(),
        agent: name,
        agents,
        ..build_run_options(&args.work, shared)?
    };
    if shared.dry_run {
        return plan_of_one(terminal, &queue, &options);
    }
    let board = queue.board()?;
    require_task(&board, &args.id)?;
    drop(board);
    drop(queue);
    let (live, around) = start_live_view(command_env, terminal, &args.work);
    let _copies = start_fleet_copies(&around);
    let view: Arc<dyn LoopView> = live.as_ref().map_or_else(
        || Arc::new(()) as Arc<dyn LoopView>,
        |live| live.new_loop_view(String::new()),
    );
    let report = in_runtime(async |signals| run_task(&around, &options, view, signals).await);
    if let Some(live) = live {
        live.end();
    }
    let report = report??;
    if terminal.json {
        terminal.print_object(serde_json::to_string(&report.to_view()).unwrap_or_default());
    } else {
        terminal.verdict(&report.judgement, false);
    }
    Ok(report.judgement.exit_code())
}

/// The live view, unless the output is shown instead, with the environment that narrates into it.
fn start_live_view(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    args: &TaskWorkArgs,
) -> (Option<LiveView>, CommandEnv) {
    let live = (!args.show_output).then(|| LiveView::start(terminal));
    let live = live.flatten();
    let mut around = command_env.clone();
    if let Some(live) = &live {
        around.narrate = live.narrator();
    }
    (live, around)
}

/// Has agents work on all tasks.
pub fn work_on_tasks(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    shared: &TaskOptions,
    args: AgentPoolArgs,
) -> Result<u8, CommandFailure> {
    let command_env = &with_numbers(command_env, &args.work)?;
    let queue = TaskQueue::open(command_env)?;
    report_unreadable_tasks(terminal, &queue);
    let options = build_pool_options(command_env, &queue, shared, &args)?;
    if shared.dry_run {
        return plan_of_all(terminal, &queue, &options);
    }
    let commands = queue.open.commands.clone();
    let source = queue.source.clone();
    drop(queue);
    let (live, around) = start_live_view(command_env, terminal, &args.work);
    // With a single queue there is no choice to make.
    if source != TaskSource::Here || command_env.state.fleet_setting().exists() {
        let share = if source == TaskSource::Here {
            "; this repository is not shared with the fleet"
        } else {
            ""
        };
        around.tell(&format!("works on {source}{share}"));
    }
    let _copies = start_fleet_copies(&around);
    let view: &dyn AgentPoolView = match &live {
        Some(live) => live,
        None => &(),
    };
    let report = in_runtime(async |signals| run_agent_pool(&around, &options, view, signals).await);
    if let Some(live) = &live {
        live.end();
    }
    let report = report??;
    show_pool_report(terminal, &commands, &report);
    Ok(report.verdict.status().exit_code())
}

/// The environment with the numbers that values for prompts have for criteria, too.
fn with_numbers(
    command_env: &CommandEnv,
    args: &TaskWorkArgs,
) -> Result<CommandEnv, CommandFailure> {
    let vars = variables_by_name(&args.vars).map_err(CommandFailure::usage)?;
    Ok(CommandEnv {
        numbers: CriteriaNumbers::of_values(&vars),
        ..command_env.clone()
    })
}

fn build_run_options(
    args: &TaskWorkArgs,
    shared: &TaskOptions,
) -> Result<TaskRunOptions, CommandFailure> {
    let vars = variables_by_name(&args.vars).map_err(CommandFailure::usage)?;
    Ok(TaskRunOptions {
        id: String::new(),
        agent: String::new(),
        checkout: TaskCheckout::Here,
        agents: Vec::new(),
        lease: args.lease,
        push_retry: args.push_retry,
        write_back: shared.write_back,
        no_progress: args.no_progress,
        max_wait: args.max_wait,
        terms: args.session.session_terms(true),
        vars,
        mirror: if args.show_output {
            MirrorTarget::ToStderr
        } else {
            MirrorTarget::Off
        },
        overrides: Overrides {
            no_probe: args.no_probe,
            ..Overrides::default()
        },
    })
}

/// How an agent is started: as the command line says, else as its entry, else as the agent that is asked. Only an entry brings others that
/// take over at a limit.
fn working_agents(
    command_env: &CommandEnv,
    args: &TaskWorkArgs,
    settings: &ConfigSettings,
    entry: Option<&AgentEntry>,
) -> Result<Vec<LoopAgent>, CommandFailure> {
    let program = command_env.agent_program.clone();
    let presets = |name: &PresetName| command_env.preset_to_start(name);
    let agents = match (&args.agent, entry) {
        (Some(agent), _) => LoopAgent::preset(agent, &presets, args.command.clone(), program)
            .map(|agent| vec![agent]),
        (None, _) if !args.command.is_empty() => Ok(vec![LoopAgent::program(args.command.clone())]),
        (None, Some(entry)) => {
            LoopAgent::entry_with_fallback(entry, (settings, &presets), &[], program.as_ref())
        }
        (None, None) => LoopAgent::preset(
            &settings.agent.preset,
            &presets,
            args.command.clone(),
            program,
        )
        .map(|agent| vec![agent]),
    };
    agents.map_err(CommandFailure::configuration)
}

fn build_pool_options(
    command_env: &CommandEnv,
    queue: &TaskQueue,
    shared: &TaskOptions,
    args: &AgentPoolArgs,
) -> Result<AgentPoolOptions, CommandFailure> {
    let settings = &queue.effective.settings;
    let homes = find_pool_folder(command_env, queue);
    let agent = |entry: &AgentEntry| {
        let home = match &entry.worktree {
            Some(folder) => queue.open.root().join(folder),
            None if why_no_id(&entry.name).is_none() => homes.join(&entry.name),
            None => {
                let name = escape_to_one_line(&entry.name);
                return Err(CommandFailure::configuration(format!(
                    "the agent's name '{name}' cannot be that of a folder"
                ))
                .hint("name a folder for it with agents[].worktree, or give it a plainer name"));
            }
        };
        let agents = working_agents(command_env, &args.work, settings, Some(entry))?;
        Ok(PoolAgent {
            name: entry.name.clone(),
            role: entry.role.clone(),
            agents,
            home,
        })
    };
    let agents: Vec<PoolAgent> = if settings.agents.is_empty() {
        let agents = working_agents(command_env, &args.work, settings, None)?;
        let on_the_fly = |n: usize| {
            let name = format!("agent-{n}");
            PoolAgent {
                home: homes.join(&name),
                name,
                role: None,
                agents: agents.clone(),
            }
        };
        (1..=NAMES).map(on_the_fly).collect()
    } else {
        settings
            .agents
            .iter()
            .map(agent)
            .collect::<Result<_, _>>()?
    };
    let at_most = args
        .agents
        .map_or(settings.agents.len().max(1), usize::from);
    Ok(AgentPoolOptions {
        agents,
        at_most,
        each: build_run_options(&args.work, shared)?,
        stay: args.stay,
    })
}

/// The folder of the worktrees that are ours: outside of the repository, as nothing is written into anybody's work tree.
fn find_pool_folder(command_env: &CommandEnv, queue: &TaskQueue) -> PathBuf {
    let name = queue
        .open
        .root()
        .file_name()
        .map(Path::new)
        .unwrap_or(Path::new("repository"))
        .display()
        .to_string();
    let plain: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '-' {
                c
            } else {
                '_'
            }
        })
        .collect();
    let id: String = queue.repository_id.chars().take(8).collect();
    command_env
        .state
        .task_worktrees()
        .join(format!("{plain}-{id}"))
}

fn plan_of_one(
    terminal: &CommandTerminal,
    queue: &TaskQueue,
    options: &TaskRunOptions,
) -> Result<u8, CommandFailure> {
    let board = queue.board()?;
    let entry = require_task(&board, &options.id)?;
    let governed = queue.load_effective_task(entry)?;
    let shown = |agent: &LoopAgent| {
        agent.worker.display_argv(
            Path::new("{prompt_file}"),
            watchdog_agent::ConversationChoice::Fresh,
        )
    };
    let command = options.agents.first().map(shown).unwrap_or_default();
    let waits: Vec<String> = board
        .blockers(&options.id)
        .iter()
        .map(ToString::to_string)
        .collect();
    if terminal.json {
        terminal.print_answer(&TaskPlan {
            dry_run: true,
            task: &options.id,
            agent: &options.agent,
            status: entry.record.status.as_str(),
            command: &command,
            waits_for: &waits,
            allow_with: governed.allow_with.as_deref(),
            prompt: &governed.task.body,
        });
        return Ok(0);
    }
    terminal.line(&format!(
        "{}: {} ({})",
        options.id,
        escape_to_one_line(&governed.task.title),
        entry.record.status.as_str()
    ));
    terminal.line(&format!(
        "starts: {}",
        escape_to_one_line(&command.join(" "))
    ));
    if let Some(with) = &governed.allow_with {
        terminal.line(&format!(
            "but nothing would be started: its commands are not trusted; allow them with: {with}"
        ));
    }
    if !waits.is_empty() {
        terminal.line(&format!(
            "but nothing would be started: it waits for {}",
            escape_to_one_line(&waits.join(", "))
        ));
    }
    Ok(0)
}

fn plan_of_all(
    terminal: &CommandTerminal,
    queue: &TaskQueue,
    options: &AgentPoolOptions,
) -> Result<u8, CommandFailure> {
    let board = queue.board()?;
    let queued = board.list_queued();
    let agents: Vec<&PoolAgent> = options.agents.iter().take(options.at_most).collect();
    let first: Vec<_> = list_ready_tasks(&queued)
        .into_iter()
        .map(|task| {
            let who: Vec<&str> = agents
                .iter()
                .filter(|agent| is_role_match(agent.role.as_deref(), task.role.as_deref()))
                .map(|agent| agent.name.as_str())
                .collect();
            (task.link.id.clone(), who)
        })
        .collect();
    if terminal.json {
        let agents = agents.iter().map(|agent| PlannedAgent {
            name: &agent.name,
            role: agent.role.as_deref(),
            worktree: agent.home.display().to_string(),
        });
        terminal.value(&pool_plan_json(agents, &first));
        return Ok(0);
    }
    for agent in agents {
        let role = agent.role.as_deref().unwrap_or("any role");
        terminal.line(&format!(
            "agent {} ({}) in {}",
            escape_to_one_line(&agent.name),
            escape_to_one_line(role),
            agent.home.display()
        ));
    }
    for (id, who) in first {
        let who = if who.is_empty() {
            "nobody".to_owned()
        } else {
            who.join(" or ")
        };
        terminal.line(&format!("ready: {id}, for {}", escape_to_one_line(&who)));
    }
    Ok(0)
}

fn show_pool_report(
    terminal: &CommandTerminal,
    commands: &WorktreeCommands,
    report: &AgentPoolReport,
) {
    if terminal.json {
        return terminal.value(&report.to_json());
    }
    for entry in &report.tasks {
        let record = &entry.record;
        let why = record
            .message
            .as_deref()
            .map(|message| format!(": {}", escape_to_one_line(message)))
            .unwrap_or_default();
        let branch = record
            .branch
            .as_deref()
            .map(|branch| format!(" on {}", escape_to_one_line(branch)))
            .unwrap_or_default();
        terminal.line(&format!(
            "{} {}{branch}{why}",
            entry.id(),
            record.status.as_str()
        ));
    }
    let (status, message) = (report.verdict.status(), &report.verdict.message);
    terminal.line(&format!(
        "{} ({}): {}",
        status.as_str(),
        report.verdict.reason.as_str(),
        escape_to_one_line(message)
    ));
    if status == Status::Complete {
        let merge = commands.git("merge BRANCH");
        terminal.line(&format!(
            "merge the branches that you want, such as with: {merge}"
        ));
    }
}
