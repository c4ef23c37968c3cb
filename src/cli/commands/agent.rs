//! `watchdog agent`: which agents watchdog knows, and how it starts and asks one.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::agent_test::agent_test;
use crate::cli::args_agent::{AgentArgs, AgentCommand};
use crate::cli::failure::CommandFailure;
use crate::cli::table::shown_path;
use crate::cli::terminal::CommandTerminal;
use watchdog_agent::preset::question::{
    InvocationInputs, QuestionKind, QuestionPlaces, build_invocation,
};
use watchdog_agent::preset::{AgentCapability, AgentPreset, PresetCatalog};
use watchdog_agent::prompt::REPLY_SCHEMA;
use watchdog_agent::{ConversationChoice, SessionAgent};
use watchdog_core::config::PresetName;
use watchdog_core::config::settings::AgentSettings;
use watchdog_facts::display::escape_to_one_line;
use watchdog_facts::shell_line::shell_word;
use watchdog_git::Worktree;
use watchdog_judge::hooks::{HookDialect, HookEntries};
use watchdog_judge::judge::agent_preset::MissingPreset;
use watchdog_judge::judge::command_env::CommandEnv;
use watchdog_judge::wire::agent_json::{AgentList, ListedAgent, ShownAgent};
use watchdog_judge::wire::verdict_json::as_json;

/// Stands for the id of a session in a command line that is shown.
const SAMPLE_ID: &str = "00000000-0000-4000-8000-000000000000";

/// Lists agents, or shows one.
pub fn run_agent_command(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    args: AgentArgs,
) -> Result<u8, CommandFailure> {
    match args.command {
        AgentCommand::List => Ok(list_agents(command_env, terminal)),
        AgentCommand::Show { name } => show_agent(command_env, terminal, &name),
        AgentCommand::Test(args) => agent_test(terminal, args),
    }
}

fn list_agents(command_env: &CommandEnv, terminal: &CommandTerminal) -> u8 {
    let mut presets: Vec<(Arc<AgentPreset>, Option<PathBuf>)> = PresetCatalog::built_in()
        .map(|preset| (Arc::clone(preset), None))
        .collect();
    let own = command_env.presets.own_words();
    let mut problems: Vec<String> = own
        .as_ref()
        .err()
        .map(ToString::to_string)
        .into_iter()
        .collect();
    for word in own.unwrap_or_default() {
        match command_env.presets.of_word(&word) {
            Ok(named_preset) => presets
                .extend(named_preset.map(|preset| (preset, command_env.presets.file_of(&word)))),
            Err(problem) => problems.push(problem.to_string()),
        }
    }
    let agents: Vec<ListedAgent<'_>> = presets
        .iter()
        .map(|(preset, file)| describe_agent(preset, file.as_deref()))
        .collect();
    if terminal.json {
        terminal.print_answer(&AgentList {
            agents: &agents,
            problems: &problems,
        });
        return 0;
    }
    let rows: Vec<[String; 5]> = agents
        .iter()
        .map(|agent| {
            [
                agent.name.to_owned(),
                escape_to_one_line(agent.title),
                agent
                    .tested
                    .map_or_else(|| "untested".to_owned(), escape_to_one_line),
                agent
                    .file
                    .as_deref()
                    .map_or_else(|| "built in".to_owned(), shown_path),
                agent.program_path.as_deref().map_or_else(
                    || format!("{} is not in PATH", escape_to_one_line(agent.program)),
                    shown_path,
                ),
            ]
        })
        .collect();
    terminal.table(["NAME", "AGENT", "TESTED", "PRESET", "PROGRAM"], &[], &rows);
    problems
        .iter()
        .for_each(|problem| terminal.complain_of(problem));
    0
}

fn describe_agent<'a>(preset: &'a AgentPreset, file: Option<&Path>) -> ListedAgent<'a> {
    let program_path = program_in(&preset.program, std::env::var_os("PATH").as_deref());
    ListedAgent {
        name: &preset.name,
        title: &preset.title,
        program: &preset.program,
        program_path: program_path.map(|path| path.display().to_string()),
        tested: preset.tested.as_deref(),
        file: file.map(|file| file.display().to_string()),
        capabilities: AgentCapability::ALL
            .into_iter()
            .map(|capability| (capability.as_str(), preset.can(capability)))
            .collect(),
    }
}

fn program_in(program: &str, search_path: Option<&OsStr>) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| path.is_file());
    }
    std::env::split_paths(search_path?)
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
}

fn show_agent(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    name: &PresetName,
) -> Result<u8, CommandFailure> {
    let root = Worktree::open(&command_env.worktree).map_or_else(
        |_| command_env.worktree.clone(),
        |worktree| worktree.root().to_owned(),
    );
    let preset_with_file = command_env.find_preset(&root, name).map_err(|missing| {
        let failure = CommandFailure::configuration(missing.to_string());
        if !matches!(missing, MissingPreset::Untrusted { .. }) {
            failure.hint("see `watchdog agent list`")
        } else {
            failure
        }
    })?;
    let preset = &preset_with_file.preset;
    let agent = describe_agent(preset, preset_with_file.file.as_deref());
    let lines = shown_agent(preset, name, agent.clone());
    if terminal.json {
        terminal.print_answer(&lines);
        return Ok(0);
    }
    let row =
        |head: &str, text: &str| terminal.line(&format!("{head:13}{}", escape_to_one_line(text)));
    row("name", &preset.name);
    row("agent", &preset.title);
    row(
        "preset",
        &agent
            .file
            .as_deref()
            .map_or_else(|| "built in".to_owned(), shown_path),
    );
    row(
        "program",
        &agent
            .program_path
            .as_deref()
            .map_or_else(|| format!("{} is not in PATH", preset.program), shown_path),
    );
    match &preset.tested {
        Some(version) => row("tested", version),
        None => row("tested", "no: it follows documentation, and was not run"),
    }
    let typed = |words: &Vec<String>| {
        words
            .iter()
            .map(|word| shell_word(word))
            .collect::<Vec<_>>()
            .join(" ")
    };
    row("session", &typed(&lines.session));
    row(
        "resumed",
        &lines
            .resumed
            .as_ref()
            .map_or_else(|| "it cannot go on in an earlier session".to_owned(), typed),
    );
    row(
        "question",
        &lines.question.as_ref().map_or_else(
            || "never: name a program that answers with agent.probe".to_owned(),
            typed,
        ),
    );
    for capability in AgentCapability::ALL {
        let has = preset.can(capability);
        row(
            if has { "can" } else { "cannot" },
            &format!("{}: {}", capability.as_str(), capability.sentence(has)),
        );
    }
    let dialect = HookDialect::from_name(&preset.name).ok();
    let unheard = dialect.and_then(HookDialect::describe_unheard);
    let hooks = lines.hooks.join(", ");
    row(
        "hooks",
        &unheard.map_or(hooks.clone(), |unheard| format!("{hooks}; {unheard}")),
    );
    for input in &preset.repository {
        let off = input
            .off_in_question
            .as_deref()
            .map(|by| format!("; off in a question by {by}"))
            .unwrap_or_default();
        row("repository", &format!("{} {}{off}", input.path, input.does));
    }
    if let Some(advice) = &preset.refusals {
        row(
            "refused",
            &format!(
                "{} allows {}",
                advice.option.replace("{tools}", "TOOL..."),
                advice.allows
            ),
        );
    }
    if let Some(login) = &preset.login {
        let variables = if login.variables.is_empty() {
            String::new()
        } else {
            format!(", or {}", login.variables.join(", "))
        };
        row("login", &format!("{}{variables}", login.command));
    }
    Ok(0)
}

/// Shows the command line to type. A prompt on stdin is not part of it.
fn shown_agent<'a>(
    preset: &'a Arc<AgentPreset>,
    name: &PresetName,
    listed: ListedAgent<'a>,
) -> ShownAgent<'a> {
    let session = SessionAgent::Agent {
        name: name.clone(),
        preset: Arc::clone(preset),
        program: None,
        args: Vec::new(),
    };
    let shown = |conversation| {
        let words = session.display_argv(Path::new("{prompt_file}"), conversation);
        words
            .into_iter()
            .map(|word| word.replace(SAMPLE_ID, "{id}"))
            .collect::<Vec<_>>()
    };
    let can_resume = preset.resume.by_id.is_some() || preset.resume.latest.is_some();
    let settings = AgentSettings {
        preset: name.clone(),
        model: None,
        probe: None,
    };
    let question = build_invocation(&InvocationInputs {
        settings: &settings,
        preset: Some(preset),
        program: None,
        session_id: Some(SAMPLE_ID),
        question: QuestionKind::Probe,
        number: 1,
        prompt: "{prompt}",
        timeout: Duration::from_secs(60),
        places: QuestionPlaces {
            schema_file: Some(Path::new("{schema_file}")),
            own_home: Some(Path::new("{own_home}")),
            transcript: Some(Path::new("{transcript}")),
        },
    });
    let words = |argv: Vec<std::ffi::OsString>| {
        let texts = argv.into_iter().map(|word| {
            word.to_string_lossy()
                .replace(REPLY_SCHEMA, "{schema}")
                .replace(SAMPLE_ID, "{id}")
        });
        texts.collect::<Vec<_>>()
    };
    ShownAgent {
        repository: as_json(&preset.repository),
        refusals: as_json(&preset.refusals),
        login: as_json(&preset.login),
        listed,
        hooks: HookDialect::from_name(&preset.name)
            .map(HookEntries::list_commands)
            .unwrap_or_default(),
        session: shown(ConversationChoice::Fresh),
        resumed: can_resume.then(|| shown(ConversationChoice::Resumed(Some(SAMPLE_ID)))),
        question: question.ok().map(|built| words(built.argv())),
    }
}
