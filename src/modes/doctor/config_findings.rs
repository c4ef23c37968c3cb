//! Looks at the configuration, whether it is trusted, and the agent that it names.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use super::finding::DoctorFinding;
use super::program_version::{ProgramVersion, version_of};
use crate::judge::command_env::CommandEnv;
use crate::judge::configuration::{FILE, config_without_anchor};
use crate::modes::init::is_in_path;
use watchdog_agent::preset::{AgentPreset, PresetCatalog};
use watchdog_agent::recognition::plain_commands;
use watchdog_core::config::settings::{
    CheckKind, CheckSpec, CommandCriterion, CommandLine, CommandSuccess, ConfigSettings,
};
use watchdog_core::decision::machine::ConfigTrust;
use watchdog_facts::display::escape_to_one_line;
use watchdog_facts::evidence::WarningCode;
use watchdog_facts::shell_line::WorktreeCommands;
use watchdog_git::Worktree;

/// What is known of the agent from the configuration.
pub(super) struct ConfiguredAgent {
    settings: ConfigSettings,
    /// Whether the file names it.
    named: bool,
    /// The program of its preset.
    program: String,
}

impl ConfiguredAgent {
    /// Without a configuration.
    pub(super) fn usual() -> Self {
        let settings = ConfigSettings::default();
        ConfiguredAgent {
            program: settings.agent.preset.to_string(),
            settings,
            named: false,
        }
    }

    /// The preset that is asked; `None` where a program of the user's own is.
    pub(super) fn preset(&self) -> Option<&str> {
        self.settings
            .agent
            .probe
            .is_none()
            .then(|| self.settings.agent.preset.as_str())
    }

    /// The settings in force.
    pub(super) fn settings(&self) -> &ConfigSettings {
        &self.settings
    }

    /// The program that is asked.
    pub(super) fn program(&self) -> &str {
        let own = self
            .settings
            .agent
            .probe
            .as_ref()
            .and_then(|argv| argv.first());
        own.unwrap_or(&self.program)
    }
}

/// Looks at the file in force and whether it is trusted; returns what it says of the agent.
pub(super) fn config_findings(
    command_env: &CommandEnv,
    worktree: &Worktree,
    commands: &WorktreeCommands,
) -> (Vec<DoctorFinding>, ConfiguredAgent) {
    let effective = match config_without_anchor(command_env, worktree) {
        Ok(effective) => effective,
        Err(unreadable) => {
            let mend = format!(
                "edit it (`man completion.json` names every key), then: {}",
                commands.watchdog("trust")
            );
            return (
                vec![DoctorFinding::wrong("configuration", unreadable.why, mend)],
                ConfiguredAgent::usual(),
            );
        }
    };
    let mut findings = Vec::new();
    match (&effective.trust, &effective.file) {
        (ConfigTrust::Untrusted { allow_with }, _) => {
            let allow = format!("read it, then: {allow_with}");
            findings.push(DoctorFinding::wrong(
                "trust",
                format!("{FILE} is not trusted and not used"),
                allow,
            ));
        }
        (ConfigTrust::Settled, Some(_)) => findings.push(DoctorFinding::ok(
            "configuration",
            format!("{FILE} is read and trusted"),
        )),
        (ConfigTrust::Settled, None) => {
            findings.push(DoctorFinding::ok(
                "configuration",
                format!(
                    "none: commits decide; write one with: {}",
                    commands.watchdog("init")
                ),
            ));
        }
    }
    for note in effective
        .notes
        .iter()
        .filter(|note| note.code != WarningCode::Untrusted)
    {
        findings.push(DoctorFinding::note(
            "configuration",
            note.detail.clone(),
            format!("edit it, then: {}", commands.watchdog("trust")),
        ));
    }
    findings.extend(counts_in_output(&effective.settings.checks).into_iter().map(|(name, text)| {
        let detail = format!("'{name}' passes where its output has \"{text}\" anywhere, as a program may print it of something else");
        DoctorFinding::note("configuration", detail, "have it exit with another code than 0 where it fails, and leave `success` out")
    }));
    if effective.file.is_some() {
        findings.extend(self_search_findings(&effective.settings.checks));
    }
    let named = effective.names_agent;
    // That the configuration itself is not trusted is said above; here are the files that it names.
    for note in effective.notes.iter().filter(|note| {
        note.code == WarningCode::Untrusted && effective.trust == ConfigTrust::Settled
    }) {
        findings.push(DoctorFinding::wrong(
            "trust",
            note.detail.clone(),
            "read it, then type that command",
        ));
    }
    let found = command_env.find_preset(worktree.root(), &effective.settings.agent.preset);
    let program = found.map_or_else(
        |_| effective.settings.agent.preset.to_string(),
        |found| found.preset.program.clone(),
    );
    (
        findings,
        ConfiguredAgent {
            settings: effective.settings,
            named,
            program,
        },
    )
}

/// The commands that pass by a number in their output, and the text with it.
fn counts_in_output(checks: &[CheckSpec]) -> Vec<(String, String)> {
    let of = |check: &CheckSpec| match check {
        CheckSpec::Group { checks, .. } => counts_in_output(checks),
        CheckSpec::Single {
            name,
            criterion:
                CheckKind::Command(CommandCriterion {
                    success: CommandSuccess::Contains(text),
                    ..
                }),
        } if text.starts_with(|c: char| c.is_ascii_digit())
            || text.ends_with(|c: char| c.is_ascii_digit()) =>
        {
            vec![(escape_to_one_line(name), escape_to_one_line(text))]
        }
        CheckSpec::Single { .. } => Vec::new(),
    };
    checks.iter().flat_map(of).collect()
}

/// Warns of command checks that search the file that configures them: it has the pattern, so that they match once it is committed.
fn self_search_findings(checks: &[CheckSpec]) -> Vec<DoctorFinding> {
    let mut findings = Vec::new();
    for check in checks {
        match check {
            CheckSpec::Group { checks, .. } => findings.extend(self_search_findings(checks)),
            CheckSpec::Single {
                name,
                criterion: CheckKind::Command(command),
            } if searches_own_file(command) => {
                let detail = format!(
                    "the check '{name}' searches {FILE} as well, which has what it searches for"
                );
                findings.push(DoctorFinding::note(
                    "configuration",
                    detail,
                    format!("name the paths, such as: -- ':!{FILE}'"),
                ));
            }
            CheckSpec::Single { .. } => {}
        }
    }
    findings
}

fn searches_own_file(command: &CommandCriterion) -> bool {
    // Below a folder, or in a checkout, other files are there; the file itself stands at the root.
    if command.cwd.as_deref().is_some_and(|folder| folder != ".") {
        return false;
    }
    let commands = match &command.run {
        CommandLine::Argv(argv) => vec![argv.clone()],
        CommandLine::Shell(line) => plain_commands(line),
    };
    commands.iter().any(|words| is_search_of_all(words))
}

/// Whether a command searches every file for a plain word, which therefore stands in the file that has the command.
fn is_search_of_all(words: &[String]) -> bool {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (recursive, arguments) = match words.as_slice() {
        ["git", "grep", arguments @ ..] | ["rg", arguments @ ..] => (true, arguments),
        ["grep", arguments @ ..] => (false, arguments),
        _ => return false,
    };
    let (mut recursive, mut pattern, mut paths, mut after_dashes) =
        (recursive, None, Vec::new(), false);
    let mut arguments = arguments.iter();
    while let Some(word) = arguments.next() {
        match word
            .strip_prefix('-')
            .filter(|option| !after_dashes && !option.is_empty())
        {
            Some("-") => after_dashes = true,
            Some("e" | "-regexp") => pattern = arguments.next(),
            // What it leaves out, or where it looks, is not plain any more.
            Some(option)
                if ["-include", "-exclude", "-glob", "g", "-iglob", "t", "-type"]
                    .iter()
                    .any(|known| option.starts_with(known)) =>
            {
                return false;
            }
            Some(option) => {
                recursive |= !option.starts_with('-') && option.contains(['r', 'R'])
                    || option == "-recursive"
            }
            None if pattern.is_none() => pattern = Some(word),
            None => paths.push(*word),
        }
    }
    let plain = |pattern: &&str| {
        !pattern.is_empty()
            && pattern
                .chars()
                .all(|c| c.is_alphanumeric() || " _-:|".contains(c))
    };
    recursive
        && pattern.is_some_and(plain)
        && paths.iter().all(|path| matches!(*path, "." | "./" | FILE))
}

/// Looks whether the agent that would be asked can be run; `program` is the one that the command line or the environment names. One
/// that nobody named may be missing: commits and checks need none.
pub(super) fn agent_finding(
    agent: &ConfiguredAgent,
    program: Option<&OsStr>,
    search_path: Option<&OsStr>,
    root: &Path,
) -> DoctorFinding {
    let usual = agent.program.as_str();
    if let Some(argv) = &agent.settings.agent.probe {
        let probe = argv.first().map(String::as_str).unwrap_or_default();
        let there = if probe.contains('/') {
            root.join(probe).is_file()
        } else {
            search_path.is_some_and(|path| is_in_path(probe, path))
        };
        return match there {
            true => DoctorFinding::ok("agent", format!("{probe} (agent.probe)")),
            false => DoctorFinding::wrong(
                "agent",
                format!("agent.probe names {probe}, which is not there"),
                format!("install {probe}, or correct agent.probe"),
            ),
        };
    }
    // The folder that -C names may be missing.
    let folder = if root.is_dir() { root } else { Path::new("/") };
    if let Some(program) = program {
        let named = program.to_string_lossy();
        return match version_of(program, folder) {
            ProgramVersion::Known(text) => DoctorFinding::ok("agent", format!("{text} ({named})")),
            ProgramVersion::Failed(why) | ProgramVersion::Missing(why) => {
                let mend = "name a program that runs with --agent-program or WATCHDOG_AGENT_PROGRAM, or neither";
                DoctorFinding::wrong("agent", why, mend)
            }
        };
    }
    let install = format!("install {usual}, or name another with agent.preset or agent.probe");
    match version_of(usual.as_ref(), folder) {
        ProgramVersion::Known(text) if text.is_empty() => DoctorFinding::ok(
            "agent",
            format!("{usual} runs, and does not tell its version"),
        ),
        ProgramVersion::Known(text) => DoctorFinding::ok("agent", text),
        ProgramVersion::Failed(why) | ProgramVersion::Missing(why) if agent.named => {
            DoctorFinding::wrong("agent", why, install)
        }
        ProgramVersion::Failed(why) => DoctorFinding::wrong("agent", why, install),
        ProgramVersion::Missing(why) => {
            let there = |preset: &&Arc<AgentPreset>| {
                search_path.is_some_and(|path| is_in_path(&preset.program, path))
            };
            let others = PresetCatalog::built_in()
                .iter()
                .filter(there)
                .map(|preset| &preset.name);
            match others.collect::<Vec<_>>().as_slice() {
                [] => DoctorFinding::note(
                    "agent",
                    format!("{why}; nobody can be asked, and commits and checks decide"),
                    install,
                ),
                [other, ..] => {
                    let detail = format!("{why}, and {other} is there");
                    DoctorFinding::note(
                        "agent",
                        detail,
                        format!("write into {FILE}: \"agent\": {{\"preset\": \"{other}\"}}"),
                    )
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn search_of_every_file_finds_its_own() {
        for (line, warns) in [
            ("git grep -q TODO && exit 1 || exit 0", true),
            ("! git grep -q TODO", true),
            ("! git grep -nE 'TODO|FIXME' .", true),
            ("! git grep -q -e TODO --", true),
            ("! grep -rn TODO .", true),
            ("! rg -q TODO", true),
            ("! git grep -q TODO -- ':!completion.json'", false),
            ("! git grep -q TODO -- src tests", false),
            ("! git grep -q TODO src", false),
            ("! git grep -q 'TOD[O]'", false),
            ("! grep -q TODO notes.md", false),
            ("! grep -q TODO", false),
            ("! grep -rn --include=*.rs TODO .", false),
            ("! rg -q TODO -g '*.rs'", false),
            ("cargo test", false),
        ] {
            let command = CommandCriterion::new(CommandLine::Shell(line.into()));
            assert_eq!(searches_own_file(&command), warns, "{line}");
        }
        let argv = ["git", "grep", "-q", "TODO"].map(String::from).to_vec();
        let below = CommandCriterion {
            cwd: Some("web".into()),
            ..CommandCriterion::new(CommandLine::Argv(argv.clone()))
        };
        assert!(
            !searches_own_file(&below)
                && searches_own_file(&CommandCriterion::new(CommandLine::Argv(argv)))
        );
    }
}
