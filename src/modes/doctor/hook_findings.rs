//! Looks at the hooks that settings name: whether the program is there, and whether they are those of this version.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::finding::{DoctorFinding, SafeMend};
use crate::hooks::hook_text::{edit, installed};
use crate::hooks::settings_file::SettingsFile;
use crate::hooks::{HookDialect, HookEntries};
use crate::modes::init::is_in_path;
use watchdog_facts::shell_line::{WorktreeCommands, shell_word};

/// Looks at the settings of the worktree and of the user, of every agent. `program` is how hooks call this program, as a shell word.
pub(super) fn hook_findings(
    root: Option<&Path>,
    environment: &BTreeMap<OsString, OsString>,
    program: &str,
    search_path: Option<&OsStr>,
    commands: &WorktreeCommands,
) -> Vec<DoctorFinding> {
    let mut seen: Vec<PathBuf> = Vec::new();
    let mut findings = Vec::new();
    for dialect in HookDialect::ALL {
        let projects = root.into_iter().flat_map(|root| {
            dialect
                .project_files()
                .into_iter()
                .map(|name| (root.join(name), false))
        });
        let users = dialect
            .user_file(|name| environment.get(OsStr::new(name)).cloned())
            .map(|file| (file, true));
        for (path, of_user) in projects.chain(users) {
            match SettingsFile::read(&path) {
                // A home folder that is a worktree has one file by two names.
                Ok(file) if seen.contains(&file.path) => {}
                Ok(file) => {
                    seen.push(file.path.clone());
                    let agent = if dialect == HookDialect::Claude {
                        String::new()
                    } else {
                        format!(" --agent {}", dialect.as_str())
                    };
                    let install = commands.watchdog(&format!(
                        "hook install{agent}{}",
                        if of_user { " --user" } else { "" }
                    ));
                    findings.extend(file_finding(dialect, file, program, search_path, &install));
                }
                Err(error) => findings.push(DoctorFinding::note(
                    "hooks",
                    error.to_string(),
                    "repair it; which hooks it names is unknown",
                )),
            }
        }
    }
    findings
}

fn file_finding(
    dialect: HookDialect,
    file: SettingsFile,
    program: &str,
    search_path: Option<&OsStr>,
    install: &str,
) -> Option<DoctorFinding> {
    let text = file.text.as_deref()?;
    let found = installed(dialect, text, program)?;
    let name = file.path.display();
    let missing = found
        .programs
        .iter()
        .find(|called| !can_be_called(called, search_path))
        .cloned();
    // What has options of its own was written by hand, and stays.
    let called = if missing.is_some() {
        program.to_owned()
    } else {
        found
            .programs
            .iter()
            .next()
            .map_or(program.to_owned(), |called| shell_word(called))
    };
    let wanted = HookEntries::usual(dialect, &called, found.patience, found.holds);
    let new = edit(text, &wanted, program)
        .ok()
        .map(|edited| edited.text)
        .filter(|new| new != text && !found.by_hand);
    let finding = match (&missing, &new) {
        (Some(called), _) => DoctorFinding::wrong(
            "hooks",
            format!("{name} calls {called}, which is not there"),
            install,
        ),
        (None, Some(_)) => DoctorFinding::note(
            "hooks",
            format!("those in {name} are not the ones of this version"),
            install,
        ),
        (None, None) => return Some(DoctorFinding::ok("hooks", format!("in {name}"))),
    };
    Some(match new {
        Some(text) => finding.mended_by(SafeMend::WriteHooks { file, text }),
        None => finding,
    })
}

fn can_be_called(program: &str, search_path: Option<&OsStr>) -> bool {
    if program.contains('/') {
        Path::new(program).is_file()
    } else {
        search_path.is_some_and(|path| is_in_path(program, path))
    }
}
