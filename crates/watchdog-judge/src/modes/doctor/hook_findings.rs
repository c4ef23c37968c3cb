//! Looks at the hooks that settings name: whether the program is there, and whether they are those of this version.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::diagnose::DoctorRequest;
use super::finding::{Findings, SafeMend};
use crate::hooks::hook_text::{edit_hooks, read_installed_hooks};
use crate::hooks::settings_file::SettingsFile;
use crate::hooks::{HookDialect, HookEntries, HookSwitch, find_hook_switch};
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
                    let has_ours = read_installed_hooks(dialect, text, &request.program).is_some();
                    // Those of Claude Code are looked for in each worktree.
                    if let Some(root) = root.filter(|_| has_ours && dialect != HookDialect::Claude)
                    {
                        let of_user = dialect
                            .user_file(|name| request.environment.get(OsStr::new(name)).cloned());
                        note_hook_switch(
                            findings,
                            (dialect, root),
                            of_user.as_deref(),
                            &mut switches,
                        );
                    }
                    examine_file(findings, dialect, file, request, &install);
                }
                Err(error) => findings.note(
                    "hooks",
                    error.to_string(),
                    "repair it; which hooks it names is unknown",
                ),
            }
        }
    }
    examine_reach(findings, worktree, request);
}

/// Names the setting with which an agent runs none of its hooks in a worktree, each file once.
fn note_hook_switch(
    findings: &mut Findings,
    (dialect, root): (HookDialect, &Path),
    user_file: Option<&Path>,
    named_files: &mut BTreeSet<PathBuf>,
) {
    let Some(HookSwitch { key, value, file }) = find_hook_switch(dialect, Some(root), user_file)
    else {
        return;
    };
    if named_files.insert(file.clone()) {
        let (file, root) = (file.display(), root.display());
        let why = format!("{key} is {value} in {file}: no hook runs in {root}");
        findings.wrong("hooks", why, format!("take {key} out of {file}"));
    }
}

/// Looks in each worktree of the repository for sessions of Claude Code that no hook of ours sees.
fn examine_reach(findings: &mut Findings, worktree: Option<&Worktree>, request: &DoctorRequest) {
    let dialect = HookDialect::Claude;
    let has_ours = |path: &Path| {
        let text = SettingsFile::from_path(path)
            .ok()
            .and_then(|file| file.text);
        text.is_some_and(|text| read_installed_hooks(dialect, &text, &request.program).is_some())
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
            user_file.as_deref(),
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
    file: SettingsFile,
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
    let can_be_called = |called: &&String| match called.contains('/') {
        true => Path::new(called).is_file(),
        false => request
            .search_path
            .as_ref()
            .is_some_and(|path| is_in_path(called, path)),
    };
    let missing = hooks.programs.iter().find(|called| !can_be_called(called));
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
        (None, None) => return findings.ok("hooks", format!("in {name}")),
    }
    if let Some(text) = new {
        findings.mended_by(SafeMend::WriteHooks { file, text });
    }
}
