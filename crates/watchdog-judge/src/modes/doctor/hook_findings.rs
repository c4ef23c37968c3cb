//! Looks at the hooks that settings name: whether the program is there, and whether they are those of this version.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::diagnose::DoctorRequest;
use crate::hooks::hook_text::{
    edit_hooks, find_reading_fault, has_own_hooks, list_by_hand, read_installed_hooks,
};
use crate::hooks::settings_file::SettingsFile;
use crate::hooks::{HookDialect, HookEntries, find_hook_switch, split_commands};
use crate::judge::doctor_finding::{Findings, SafeMend};
use crate::modes::init::is_in_path;
use watchdog_facts::shell_line::{WorktreeCommands, shell_word};
use watchdog_git::{Worktree, WorktreeState, worktrees_of};

/// Looks at the settings of the worktree and of the user, of every agent.
pub(super) fn examine_hooks(
    findings: &mut Findings,
    worktree: Option<&Worktree>,
    request: &DoctorRequest,
) {
    let root = worktree.map(Worktree::root);
    let (mut seen, mut switches) = (Vec::<PathBuf>::new(), BTreeSet::new());
    let (mut plugin, mut uninstall) = (None, String::new());
    for dialect in HookDialect::ALL {
        let projects = root.into_iter().flat_map(|root| {
            let names = dialect.project_files().into_iter();
            names.map(|name| (root.join(name), ""))
        });
        let users = dialect
            .user_file(|name| request.environment.get(OsStr::new(name)).cloned())
            .map(|file| (file, " --user"));
        for (path, user) in projects.chain(users) {
            match SettingsFile::from_path(&path) {
                // A home folder that is a worktree has one file by two names.
                Ok(file) if seen.contains(&file.path) => {}
                Ok(file) => {
                    seen.push(file.path.clone());
                    let agent = match dialect {
                        HookDialect::Claude => String::new(),
                        other => format!(" --agent {}", other.as_str()),
                    };
                    let install = request
                        .commands
                        .watchdog(&format!("hook install{agent}{user}"));
                    let text = file.text.as_deref().unwrap_or_default();
                    let has_ours = has_own_hooks(dialect, text, &request.program);
                    if dialect == HookDialect::Claude {
                        plugin = plugin.or_else(|| find_enabled_plugin(text));
                        if has_ours {
                            uninstall = install.replace(" install", " uninstall");
                        }
                    }
                    // Those of Claude Code are looked for in each worktree.
                    if let Some(root) = root.filter(|_| has_ours && dialect != HookDialect::Claude)
                    {
                        let of_user = dialect
                            .user_file(|name| request.environment.get(OsStr::new(name)).cloned());
                        note_hook_switch(
                            findings,
                            (dialect, root),
                            (of_user.as_deref(), !user.is_empty()),
                            &mut switches,
                        );
                    }
                    examine_by_hand(findings, dialect, (&file, root), request, &install);
                    examine_file(findings, dialect, (file, root), request, &install);
                }
                Err(error) => findings.note(
                    "hooks",
                    error.to_string(),
                    "repair it; which hooks it names is unknown",
                ),
            }
        }
    }
    if let Some(plugin) = plugin.filter(|_| !uninstall.is_empty()) {
        let why = format!("each hook of Claude Code runs twice: its plugin {plugin} has them, too");
        let disable = format!("claude plugin disable {}", shell_word(&plugin));
        findings.note("hooks", why, format!("{uninstall}, or {disable}"));
    }
    examine_reach(findings, worktree, request);
}

/// The plugin with our hooks that settings of Claude Code enable: `watchdog@MARKETPLACE`.
fn find_enabled_plugin(text: &str) -> Option<String> {
    let settings: Value = serde_json::from_str(text).ok()?;
    let mut plugins = settings["enabledPlugins"].as_object()?.iter();
    let ours =
        |(name, enabled): &(&String, &Value)| name.starts_with("watchdog@") && **enabled == true;
    plugins.find(ours).map(|(name, _)| name.clone())
}

/// Names the setting with which an agent runs none of its hooks in a worktree, each file once.
fn note_hook_switch(
    findings: &mut Findings,
    (dialect, root): (HookDialect, &Path),
    (user_file, of_user): (Option<&Path>, bool),
    named_files: &mut BTreeSet<PathBuf>,
) {
    let switch = find_hook_switch(dialect, Some(root), user_file, of_user);
    let Some(switch) = switch.filter(|switch| named_files.insert(switch.file.clone())) else {
        return;
    };
    let (file, root) = (switch.file.display(), root.display());
    let (setting, effect) = (switch.setting, switch.effect);
    let why = format!("{setting} in {file}: {effect} in {root}");
    match switch.is_passable {
        true => findings.note("hooks", why, switch.mend),
        false => findings.wrong("hooks", why, switch.mend),
    }
}

/// Tells of each program that hooks written by hand call whether it is there, or why that is unknown.
fn examine_by_hand(
    findings: &mut Findings,
    dialect: HookDialect,
    (file, root): (&SettingsFile, Option<&Path>),
    request: &DoctorRequest,
    install: &str,
) {
    let variable = |name: &str| {
        let project = root.filter(|_| dialect.project_variable() == Some(name));
        let value = request.environment.get(OsStr::new(name));
        let value = project
            .map(Path::as_os_str)
            .or(value.map(|value| value.as_os_str()));
        value?.to_str().map(str::to_owned)
    };
    let text = file.text.as_deref().unwrap_or_default();
    let name = file.path.display();
    let mut calls = BTreeSet::new();
    for command in list_by_hand(dialect, text, &request.program) {
        match find_called_program(&command, &variable) {
            Ok(CalledProgram {
                name: called,
                folder,
            }) if calls.insert(called.clone()) => {
                let root = root.unwrap_or(Path::new("/"));
                let folder = folder.map_or(root.to_owned(), |folder| root.join(folder));
                match can_be_called(&called, &folder, request) {
                    true => findings.ok("hooks", format!("in {name}, by hand: {called} is there")),
                    false => findings.wrong(
                        "hooks",
                        format!("{name} calls {called}, which is not there, by hand: {command}"),
                        format!("take it out, then {install}"),
                    ),
                }
            }
            Ok(_) => {}
            Err(word) => findings.note(
                "hooks",
                format!("{name}, by hand, unknown whether it runs, because of '{word}': {command}"),
                format!("try it in a shell, or take it out, then {install}"),
            ),
        }
    }
}

/// A program that a command line written by hand calls, in words.
#[derive(Debug, PartialEq, Eq)]
struct CalledProgram {
    name: String,
    /// It is called from there.
    folder: Option<String>,
}

/// Programs that run another one as it would run by itself.
const WRAPPERS: [&str; 7] = ["env", "nice", "nohup", "exec", "command", "time", "setsid"];

/// The watchdog that a command line written by hand calls. `variable` has the variables of a shell.
///
/// # Errors
/// With the word that only a shell can make sense of.
fn find_called_program(
    line: &str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<CalledProgram, String> {
    let mut folder = None;
    let mut unknown = None;
    for words in split_commands(line, variable)? {
        let base = |word: &str| word.rsplit('/').next().unwrap_or_default().to_owned();
        let is_setting = |word: &String| {
            word.split_once('=')
                .is_some_and(|(name, _)| !name.contains('/'))
        };
        let is_before = |word: &&String| is_setting(word) || WRAPPERS.contains(&&*base(word));
        let path = words.iter().find(|word| word.starts_with("PATH="));
        unknown = unknown.or_else(|| path.cloned());
        let mut words = words.iter().skip_while(is_before);
        let Some(first) = words.next() else { continue };
        match (first.as_str(), words.next()) {
            ("cd", Some(into)) => folder = Some(into.clone()),
            (_, second) if second.into_iter().chain(words).any(|word| word == "hook") => {
                let name = first.clone();
                let is_sure = base(first) == "watchdog";
                return match unknown.filter(|_| !name.contains('/')) {
                    None if is_sure => Ok(CalledProgram { name, folder }),
                    unknown => Err(unknown.unwrap_or(name)),
                };
            }
            _ => unknown = Some(first.clone()),
        }
    }
    Err(unknown.unwrap_or_else(|| line.to_owned()))
}

/// Whether a hook that starts in `folder` reaches this program.
fn can_be_called(called: &str, folder: &Path, request: &DoctorRequest) -> bool {
    let home = request.environment.get(OsStr::new("HOME"));
    match (called.strip_prefix("~/"), home) {
        (Some(inside), Some(home)) => Path::new(home).join(inside).is_file(),
        _ if called.contains('/') => folder.join(called).is_file(),
        _ => {
            let path = request.search_path.as_ref();
            path.is_some_and(|path| is_in_path(called, path))
        }
    }
}

/// Looks in each worktree of the repository for sessions of Claude Code that no hook of ours sees.
fn examine_reach(findings: &mut Findings, worktree: Option<&Worktree>, request: &DoctorRequest) {
    let dialect = HookDialect::Claude;
    let has_ours = |path: &Path| {
        let text = SettingsFile::from_path(path)
            .ok()
            .and_then(|file| file.text);
        text.is_some_and(|text| has_own_hooks(dialect, &text, &request.program))
    };
    let user_file = dialect.user_file(|name| request.environment.get(OsStr::new(name)).cloned());
    let everywhere = user_file.as_deref().is_some_and(has_ours);
    let worktrees = worktree.map_or_else(Vec::new, |worktree| worktrees_of(worktree.common_dir()));
    let (with, without): (Vec<_>, Vec<_>) = (worktrees.iter())
        .filter(|listed| listed.standing == WorktreeState::There)
        .partition(|listed| {
            let mut files = dialect.project_files().into_iter();
            everywhere || files.any(|name| has_ours(&listed.root.join(name)))
        });
    let mut switches = BTreeSet::new();
    for root in with.iter().map(|listed| listed.root.as_path()) {
        note_hook_switch(
            findings,
            (dialect, root),
            (user_file.as_deref(), everywhere),
            &mut switches,
        );
    }
    for listed in without.iter().filter(|_| !with.is_empty()) {
        let why = format!(
            "{} has none, and another worktree has",
            listed.root.display()
        );
        let install = WorktreeCommands::at(&listed.root).watchdog("hook install");
        findings.note("hooks", why, format!("{install}, or once with --user"));
    }
}

fn examine_file(
    findings: &mut Findings,
    dialect: HookDialect,
    (file, root): (SettingsFile, Option<&Path>),
    request: &DoctorRequest,
    install: &str,
) {
    let program = &request.program;
    let text = file.text.as_deref().unwrap_or_default();
    let Some(hooks) = read_installed_hooks(dialect, text, program).filter(|_| file.text.is_some())
    else {
        return;
    };
    let name = file.path.display();
    let folder = root.unwrap_or(Path::new("/"));
    let mut programs = hooks.programs.iter();
    let missing = programs.find(|called| !can_be_called(called, folder, request));
    // A hook with options of its own was written by hand, and stays.
    let called = match (missing, hooks.programs.iter().next()) {
        (None, Some(called)) => shell_word(called),
        _ => program.clone(),
    };
    let wanted = HookEntries::usual(dialect, &called, hooks.patience, hooks.holds);
    let new = edit_hooks(text, &wanted, program)
        .ok()
        .map(|edited| edited.text);
    let new = new.filter(|new| new != text && !hooks.by_hand);
    if let Some(fault) = find_reading_fault(dialect, text) {
        let why = format!("no hook of {name} runs: {fault}");
        return findings.wrong("hooks", why, "take that out of it");
    }
    match (missing, &new) {
        (Some(called), _) => findings.wrong(
            "hooks",
            format!("{name} calls {called}, which is not there"),
            install,
        ),
        (None, Some(_)) => findings.note(
            "hooks",
            format!("those in {name} are not the ones of this version"),
            install,
        ),
        (None, None) => {
            let unheard = dialect.describe_unheard();
            let unheard = unheard.map_or(String::new(), |unheard| format!("; {unheard}"));
            return findings.ok("hooks", format!("in {name}{unheard}"));
        }
    }
    if let Some(text) = new {
        findings.mended_by(SafeMend::WriteHooks { file, text });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hand_written_call_names_its_program_or_doubt() {
        let variable = |name: &str| match name {
            "HOME" => Some("/h".to_owned()),
            "CLAUDE_PROJECT_DIR" => Some("/a b".to_owned()),
            _ => None,
        };
        for (line, expected) in [
            ("A=/x watchdog hook stop", Ok(("watchdog", None))),
            (
                "/usr/bin/env A=1 watchdog -q hook stop",
                Ok(("watchdog", None)),
            ),
            (
                "$HOME/bin/watchdog hook stop || true",
                Ok(("/h/bin/watchdog", None)),
            ),
            (
                "~/bin/watchdog hook stop 2>&1",
                Ok(("/h/bin/watchdog", None)),
            ),
            (
                "cd \"${CLAUDE_PROJECT_DIR}\" && ./watchdog hook stop",
                Ok(("./watchdog", Some("/a b"))),
            ),
            (
                "\"$CLAUDE_PROJECT_DIR\"/t/watchdog hook stop",
                Ok(("/a b/t/watchdog", None)),
            ),
            ("$TOOLS/watchdog hook stop", Err("$TOOLS")),
            ("${HOME:-x}/watchdog hook stop", Err("$HOME")),
            ("$(which watchdog) hook stop", Err("$")),
            (". ~/.profile; watchdog hook stop", Err(".")),
            (
                ". ~/.profile; /x/watchdog hook stop",
                Ok(("/x/watchdog", None)),
            ),
            ("PATH=/x watchdog hook stop", Err("PATH=/x")),
            ("npx watchdog hook stop", Err("npx")),
            ("bash -lc 'watchdog hook stop'", Err("bash")),
        ] {
            let called = find_called_program(line, &variable);
            let called = called
                .as_ref()
                .map(|called| (&*called.name, called.folder.as_deref()));
            assert_eq!(called.map_err(|word| &**word), expected, "{line}");
        }
    }
}
