//! Looks at the configuration, whether it is trusted, and the agent that it names.

use std::ffi::OsStr;
use std::path::Path;

use super::agent_survey::{ProgramVersion, version_of};
use crate::judge::command_env::CommandEnv;
use crate::judge::configuration::{FILE, config_without_anchor};
use crate::judge::doctor_finding::{FindingState, Findings};
use crate::modes::init::is_in_path;
use watchdog_agent::preset::PresetCatalog;
use watchdog_agent::recognition::plain_commands;
use watchdog_core::config::settings::{
    CheckKind, CheckSpec, CommandCriterion, CommandLine, CommandSuccess, ConfigSettings,
    single_checks,
};
use watchdog_core::decision::machine::ConfigTrust;
use watchdog_facts::display::escape_to_one_line;
use watchdog_facts::evidence::WarningCode;
use watchdog_facts::shell_line::WorktreeCommands;
use watchdog_git::Worktree;
use watchdog_process::ProgramRun;

/// The facts about the agent from the configuration.
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
pub(super) fn examine_config(
    findings: &mut Findings,
    command_env: &CommandEnv,
    worktree: &Worktree,
    commands: &WorktreeCommands,
) -> ConfiguredAgent {
    let trust = commands.watchdog("trust");
    let effective = match config_without_anchor(command_env, worktree) {
        Ok(effective) => effective,
        Err(unreadable) => {
            let mend = format!("edit it (`man completion.json` names every key), then: {trust}");
            findings.wrong("configuration", unreadable.why, mend);
            return ConfiguredAgent::usual();
        }
    };
    match (&effective.trust, &effective.file) {
        (ConfigTrust::Untrusted { allow_with }, _) => findings.wrong(
            "trust",
            format!("{FILE} is not trusted and not used"),
            format!("read it, then: {allow_with}"),
        ),
        (ConfigTrust::Settled, Some(_)) => {
            findings.ok("configuration", format!("{FILE} is read and trusted"));
        }
        (ConfigTrust::Settled, None) => {
            let init = commands.watchdog("init");
            findings.ok(
                "configuration",
                format!("none: commits decide; write one with: {init}"),
            );
        }
    }
    let (untrusted, notes): (Vec<_>, Vec<_>) = effective
        .notes
        .iter()
        .partition(|note| note.code == WarningCode::Untrusted);
    for note in notes {
        let mend = format!("edit it, then: {trust}");
        findings.note("configuration", note.detail.clone(), mend);
    }
    let checks = &effective.settings.checks;
    examine_checks(findings, FindingState::Note, checks, &counts_in_output);
    examine_checks(findings, FindingState::Wrong, checks, &|name, command| {
        lacks_program(name, command, worktree.root())
    });
    if effective.file.is_some() {
        examine_checks(findings, FindingState::Note, checks, &searches_itself);
    }
    // That the configuration itself is not trusted is said above; here are the files that it names.
    for note in untrusted {
        if effective.trust == ConfigTrust::Settled {
            findings.wrong(
                "trust",
                note.detail.clone(),
                "read it, then type that command",
            );
        }
    }
    let preset = command_env.find_preset(worktree.root(), &effective.settings.agent.preset);
    ConfiguredAgent {
        named: effective.names_agent,
        program: preset.map_or_else(
            |_| effective.settings.agent.preset.to_string(),
            |found_preset| found_preset.preset.program.clone(),
        ),
        settings: effective.settings,
    }
}

/// Says what a command check by this name should not do, and what to do in its place.
type CheckAdvice<'a> = dyn Fn(&str, &CommandCriterion) -> Option<(String, String)> + 'a;

fn examine_checks(
    findings: &mut Findings,
    state: FindingState,
    checks: &[CheckSpec],
    advice: &CheckAdvice<'_>,
) {
    for (name, criterion) in single_checks(checks) {
        if let CheckKind::Command(command) = criterion
            && let Some((detail, mend)) = advice(name, command)
        {
            findings.add(state, "configuration", detail, mend);
        }
    }
}

/// Warns of a command whose program is not there, as the shell that runs it would look for it.
fn lacks_program(name: &str, command: &CommandCriterion, root: &Path) -> Option<(String, String)> {
    let folder = root.join(command.cwd.as_deref().unwrap_or("."));
    let is_missing = |program: &&String| {
        let ask = ["sh", "-c", "command -v -- \"$1\"", "sh", program.as_str()];
        let answer = ProgramRun::new(ask, &folder).run();
        answer.is_ok_and(|ended| !ended.exit.success())
    };
    let commands = match &command.run {
        CommandLine::Argv(argv) => vec![argv.clone()],
        // Another PATH, an alternative or another folder may come first in any but a plain chain.
        CommandLine::Shell(line)
            if line.contains("PATH=") || line.contains(|c| "|;()`$\n".contains(c)) =>
        {
            return None;
        }
        CommandLine::Shell(line) => plain_commands(line),
    };
    let programs = commands.iter().filter_map(|words| words.first());
    let mut unmoved =
        programs.take_while(|word| !["cd", "export", ".", "source"].contains(&word.as_str()));
    let missing = unmoved.find(is_missing)?;
    let mend = match missing.split_once('/') {
        Some(("vendor", _)) => "type: composer install".to_owned(),
        Some(("node_modules", _)) => "type: npm install".to_owned(),
        _ => format!("install {missing}, or name another in the check's `run`"),
    };
    let (name, program) = (escape_to_one_line(name), escape_to_one_line(missing));
    Some((
        format!("the check '{name}' cannot run: `{program}` is not there"),
        mend,
    ))
}

/// Warns of a command that passes by a number in its output.
fn counts_in_output(name: &str, command: &CommandCriterion) -> Option<(String, String)> {
    let CommandSuccess::Contains(text) = &command.success else {
        return None;
    };
    let is_digit = |c: char| c.is_ascii_digit();
    if !text.starts_with(is_digit) && !text.ends_with(is_digit) {
        return None;
    }
    let (name, text) = (escape_to_one_line(name), escape_to_one_line(text));
    Some((
        format!(
            "'{name}' passes where its output has \"{text}\" anywhere, as a program may print it of something else"
        ),
        "have it exit with another code than 0 where it fails, and leave `success` out".into(),
    ))
}

/// Warns of a command that searches the file that configures it: it has the pattern, so that it matches once it is committed.
fn searches_itself(name: &str, command: &CommandCriterion) -> Option<(String, String)> {
    searches_own_file(command).then(|| {
        (
            format!("the check '{name}' searches {FILE} as well, which has what it searches for"),
            format!("name the paths, such as: -- ':!{FILE}'"),
        )
    })
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
            // An option that leaves files out, or says where to look, makes the search no plain
            // one.
            Some(option)
                if ["-include", "-exclude", "-glob", "g", "-iglob", "t", "-type"]
                    .iter()
                    .any(|prefix| option.starts_with(prefix)) =>
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

/// Looks whether the agent that would be asked can be run; `program` is the one that the command
/// line or the environment names. An agent that was not named may be missing: commits and checks
/// need none.
pub(super) fn examine_agent(
    findings: &mut Findings,
    agent: &ConfiguredAgent,
    program: Option<&OsStr>,
    search_path: Option<&OsStr>,
    root: &Path,
) {
    let in_path = |name: &str| search_path.is_some_and(|path| is_in_path(name, path));
    if let Some(argv) = &agent.settings.agent.probe {
        let probe = argv.first().map(String::as_str).unwrap_or_default();
        let is_there = match probe.contains('/') {
            true => root.join(probe).is_file(),
            false => in_path(probe),
        };
        return match is_there {
            true => findings.ok("agent", format!("{probe} (agent.probe)")),
            false => findings.wrong(
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
            ProgramVersion::Known(text) => findings.ok("agent", format!("{text} ({named})")),
            ProgramVersion::Failed(why) | ProgramVersion::Missing(why) => findings.wrong(
                "agent",
                why,
                "name a program that runs with --agent-program or WATCHDOG_AGENT_PROGRAM, or neither",
            ),
        };
    }
    let usual = agent.program.as_str();
    let install = format!("install {usual}, or name another with agent.preset or agent.probe");
    match version_of(usual.as_ref(), folder) {
        ProgramVersion::Known(text) if text.is_empty() => {
            findings.ok(
                "agent",
                format!("{usual} runs, and does not tell its version"),
            );
        }
        ProgramVersion::Known(text) => findings.ok("agent", text),
        ProgramVersion::Missing(why) if !agent.named => {
            let mut presets = PresetCatalog::built_in();
            match presets.find(|preset| in_path(&preset.program)) {
                None => {
                    let detail =
                        format!("{why}; nobody can be asked, and commits and checks decide");
                    findings.note("agent", detail, install);
                }
                Some(preset) => {
                    let name = &preset.name;
                    findings.note(
                        "agent",
                        format!("{why}, and {name} is there"),
                        format!("write into {FILE}: \"agent\": {{\"preset\": \"{name}\"}}"),
                    );
                }
            }
        }
        ProgramVersion::Failed(why) | ProgramVersion::Missing(why) => {
            findings.wrong("agent", why, install);
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
