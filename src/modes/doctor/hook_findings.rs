//! Looks at the hooks that settings name: whether the program is there, and whether they are those of this version.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::finding::{DoctorFinding, SafeMend};
use crate::hooks::HookEntries;
use crate::hooks::settings_file::SettingsFile;
use crate::hooks::settings_text::{edit, installed};
use crate::judge::command_env::CommandEnv;
use crate::modes::init::is_in_path;
use watchdog_facts::shell_line::{WorktreeCommands, shell_word};

/// Claude Code's settings of a project, from its root, and those of a user, from the folder of them.
const PROJECT: [&str; 2] = [".claude/settings.json", ".claude/settings.local.json"];
const USERS: &str = "settings.json";

/// Looks at the settings of the worktree and of the user. `program` is how hooks call this program, as a shell word.
pub(super) fn hook_findings(
    command_env: &CommandEnv,
    root: Option<&Path>,
    program: &str,
    search_path: Option<&OsStr>,
    commands: &WorktreeCommands,
) -> Vec<DoctorFinding> {
    let users = command_env.claude_home.folder().map(|folder| (folder.join(USERS), true));
    let projects = root.into_iter().flat_map(|root| PROJECT.map(|name| (root.join(name), false)));
    let mut seen: Vec<PathBuf> = Vec::new();
    let mut findings = Vec::new();
    for (path, of_user) in projects.chain(users) {
        match SettingsFile::read(&path) {
            // A home folder that is a worktree has one file by two names.
            Ok(file) if seen.contains(&file.path) => {}
            Ok(file) => {
                seen.push(file.path.clone());
                let install = commands.watchdog(if of_user { "hook install --user" } else { "hook install" });
                findings.extend(file_finding(file, program, search_path, &install));
            }
            Err(error) => findings.push(DoctorFinding::note("hooks", error.to_string(), "repair it; which hooks it names is unknown")),
        }
    }
    findings
}

fn file_finding(file: SettingsFile, program: &str, search_path: Option<&OsStr>, install: &str) -> Option<DoctorFinding> {
    let text = file.text.as_deref()?;
    let found = installed(text, program)?;
    let name = file.path.display();
    let missing = found.programs.iter().find(|called| !can_be_called(called, search_path)).cloned();
    // What has options of its own was written by hand, and stays.
    let called = if missing.is_some() { program.to_owned() } else { shell_word(found.programs.iter().next()?) };
    let wanted = HookEntries::usual(&called, found.patience, found.holds);
    let new = edit(text, &wanted, program).ok().map(|edited| edited.text).filter(|new| new != text && !found.by_hand);
    let finding = match (&missing, &new) {
        (Some(called), _) => DoctorFinding::wrong("hooks", format!("{name} calls {called}, which is not there"), install),
        (None, Some(_)) => DoctorFinding::note("hooks", format!("those in {name} are not the ones of this version"), install),
        (None, None) => return Some(DoctorFinding::ok("hooks", format!("in {name}"))),
    };
    Some(match new {
        Some(text) => finding.mended_by(SafeMend::WriteHooks { file, text }),
        None => finding,
    })
}

fn can_be_called(program: &str, search_path: Option<&OsStr>) -> bool {
    if program.contains('/') { Path::new(program).is_file() } else { search_path.is_some_and(|path| is_in_path(program, path)) }
}
