//! `watchdog hook install` and `uninstall`: the settings that name the hooks.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::cli::args_hook::{InstallArgs, SettingsArgs};
use crate::cli::failure::CommandFailure;
use crate::cli::terminal::CommandTerminal;
use watchdog_facts::display::{escape_for_display, escape_to_one_line, plural};
use watchdog_facts::shell_line::shell_word;
use watchdog_git::{Worktree, worktrees_of};
use watchdog_judge::hooks::hook_text::InstalledHooks;
use watchdog_judge::hooks::settings_file::{SettingsFile, SettingsFileError};
use watchdog_judge::hooks::{
    HeldAgents, HookDialect, HookEntries, find_hook_switch, hook_text, line_diff,
};
use watchdog_judge::judge::command_env::CommandEnv;
use watchdog_judge::wire::setup_json::EditedSettings;
use watchdog_store::OriginalSettings;

/// Writes the hooks of an agent into its settings, and says where they hold.
pub(super) fn install_hooks(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    install: &InstallArgs,
) -> Result<u8, CommandFailure> {
    let dialect = install.settings.agent;
    if install.subagents && !dialect.holds_subagents() {
        return Err(CommandFailure::usage(format!(
            "{}'s sub-agents cannot be held",
            dialect.title()
        ))
        .hint("leave --subagents out: the agent itself is held"));
    }
    let worktree = command_env.open_worktree().ok();
    let is_shared = worktree
        .as_ref()
        .is_some_and(|worktree| is_shared(worktree, dialect));
    let program = choose_hook_program(install.settings.user || !is_shared)?;
    let holds = HeldAgents {
        subagents: install.subagents,
        all_sessions: install.all_sessions,
    };
    let wanted = HookEntries::usual(dialect, &program, check_hook_timeout(install)?, holds);
    let change = edit_settings(command_env, terminal, install.settings, &wanted, &program)?;
    if !terminal.json {
        tell_where_hooks_hold(terminal, install.settings, worktree.as_ref(), is_shared);
        change.tell_obstacles(terminal, worktree.as_ref());
    }
    Ok(0)
}

/// Takes the hooks of an agent out again.
pub(super) fn uninstall_hooks(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    which: SettingsArgs,
) -> Result<u8, CommandFailure> {
    let wanted = HookEntries::none(which.agent);
    edit_settings(
        command_env,
        terminal,
        which,
        &wanted,
        &choose_hook_program(true)?,
    )?;
    Ok(0)
}

fn check_hook_timeout(install: &InstallArgs) -> Result<Duration, CommandFailure> {
    let seconds = install.hook_timeout.as_secs();
    if (5..=86_400).contains(&seconds) {
        Ok(Duration::from_secs(seconds))
    } else {
        Err(CommandFailure::usage(
            "--hook-timeout must be from 5 s to one day",
        ))
    }
}

/// Whether the settings of the project are in its commits, for other worktrees and machines.
pub(super) fn is_shared(worktree: &Worktree, dialect: HookDialect) -> bool {
    worktree.head_has(dialect.project_file()).unwrap_or(false)
}

/// Says which worktrees the hooks are for.
fn tell_where_hooks_hold(
    terminal: &CommandTerminal,
    which: SettingsArgs,
    worktree: Option<&Worktree>,
    is_shared: bool,
) {
    let listed = worktree.map(|worktree| worktrees_of(worktree.common_dir()).len());
    let others = listed.unwrap_or(1).saturating_sub(1) as u64;
    terminal.line(&match (which.user, is_shared) {
        (true, _) => "they hold in every project of this user".to_owned(),
        (_, true) => {
            "they hold in each worktree that has this commit, where the agent finds watchdog"
                .to_owned()
        }
        _ if others == 0 => "they hold in this worktree; --user holds everywhere".to_owned(),
        _ => format!(
            "they hold in this worktree alone, not in {}; --user holds everywhere",
            plural(others, "other worktree")
        ),
    });
}

/// Names other settings of the agent that have hooks of watchdog, so that each event can be answered twice.
fn tell_second_hooks(
    terminal: &CommandTerminal,
    which: SettingsArgs,
    worktree: Option<&Worktree>,
    program: &str,
) {
    let agent = which.agent;
    let projects = worktree.into_iter().flat_map(|worktree| {
        let names = agent.project_files().into_iter();
        names.map(|name| worktree.root().join(name))
    });
    let own = find_settings_file(which, worktree);
    let others = projects.chain(agent.user_file(|name| std::env::var_os(name)));
    for file in others.filter(|file| Some(file) != own.as_ref()) {
        let text = SettingsFile::from_path(&file)
            .ok()
            .and_then(|file| file.text);
        if text.is_some_and(|text| hook_text::has_own_hooks(agent, &text, program)) {
            terminal.complain_of(&format!(
                "{} has hooks of watchdog, too, and the agent may run both; keep them in one file",
                file.display()
            ));
        }
    }
}

/// The file that the hooks stand in.
fn find_settings_file(which: SettingsArgs, worktree: Option<&Worktree>) -> Option<PathBuf> {
    match which.user {
        true => which.agent.user_file(|name| std::env::var_os(name)),
        false => worktree.map(|worktree| worktree.root().join(which.agent.project_file())),
    }
}

/// The words for what keeps the agent from these hooks here.
fn find_switch(which: SettingsArgs, worktree: Option<&Worktree>) -> Option<String> {
    let (agent, root) = (which.agent, worktree.map(Worktree::root));
    let user_file = agent.user_file(|name| std::env::var_os(name));
    let text = find_settings_file(which, worktree)
        .and_then(|file| SettingsFile::from_path(&file).ok()?.text);
    if let Some(fault) = text.and_then(|text| hook_text::find_reading_fault(agent, &text)) {
        return Some(format!("no hook of that file runs: {fault}"));
    }
    let switch = find_hook_switch(agent, root, user_file.as_deref(), which.user)?;
    let (setting, file) = (&switch.setting, switch.file.display());
    let words = format!(
        "{} here: {setting} in {file}; {}",
        switch.effect, switch.mend
    );
    Some(escape_to_one_line(&words))
}

/// How the hooks call this program. Settings in commits are for other machines too, so there its plain name is used where that leads
/// here; others name this very file, which an agent finds by any `PATH`.
pub(super) fn choose_hook_program(whole_path: bool) -> Result<String, CommandFailure> {
    let own = std::env::current_exe().map_err(|error| {
        CommandFailure::usage(format!("failed to find this program's own file: {error}"))
    })?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let named = std::env::split_paths(&path)
        .map(|folder| folder.join("watchdog"))
        .find(|file| file.is_file());
    let same = |file: &Path| file.canonicalize().ok() == own.canonicalize().ok();
    if !whole_path && named.as_deref().is_some_and(same) {
        return Ok("watchdog".into());
    }
    // A link in PATH outlives an upgrade; what it leads to may not.
    let file: PathBuf = named
        .filter(|file| same(file) && file.is_absolute())
        .unwrap_or(own);
    let text = file.to_str().ok_or_else(|| {
        CommandFailure::usage(format!(
            "{} is not UTF-8, which settings cannot hold",
            file.display()
        ))
    })?;
    Ok(shell_word(text))
}

/// A change of a settings file, planned or done.
pub(super) struct SettingsChange {
    which: SettingsArgs,
    pub(super) file: SettingsFile,
    after: Option<String>,
    /// The text without hooks of watchdog.
    bare: Option<String>,
    others: Vec<String>,
    /// What the hooks call, as a shell word.
    program: String,
    takes_out: bool,
}

impl SettingsChange {
    /// Plans the change after which exactly the wanted hooks stand in the settings.
    pub(super) fn plan(
        command_env: &CommandEnv,
        which: SettingsArgs,
        wanted: &HookEntries,
        program: &str,
    ) -> Result<Self, CommandFailure> {
        let path = settings_path(command_env, which)?;
        let file = SettingsFile::from_path(&path).map_err(refuse_settings_file)?;
        let text = file.text.as_deref().unwrap_or_default();
        let edit = |wanted: &HookEntries| {
            let edited = hook_text::edit_hooks(text, wanted, program).map_err(|error| {
                let name = file.path.display();
                CommandFailure::configuration(format!("{name} was not changed: {error}"))
                    .hint("repair it, then try again; nothing was written")
            })?;
            let after = match edited.text == text {
                true => file.text.clone(),
                false => file.text_after(&edited),
            };
            Ok::<_, CommandFailure>((after, edited.others))
        };
        let (after, others) = edit(wanted)?;
        let has_hooks = |text: &Option<String>| {
            let text = text.as_deref().unwrap_or_default();
            hook_text::own_entries(which.agent, text, program) > 0
        };
        let originals = OriginalSettings::from_state(&command_env.state);
        let original = originals.original_text(&file.path, file.text.as_deref());
        let bare = match original.filter(|text| !has_hooks(text)) {
            Some(original) => original.clone(),
            None => edit(&HookEntries::none(which.agent))?.0,
        };
        let takes_out = wanted.is_empty();
        Ok(SettingsChange {
            which,
            after: if takes_out { bare.clone() } else { after },
            bare,
            others,
            program: program.to_owned(),
            takes_out,
            file,
        })
    }

    /// Whether there is anything to change.
    pub(super) fn is_needed(&self) -> bool {
        self.after != self.file.text
    }

    /// The file's name for a person.
    fn name(&self) -> String {
        escape_to_one_line(&self.file.path.display().to_string())
    }

    /// The lines that change.
    pub(super) fn format_diff(&self) -> String {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let name = self.file.path.display().to_string();
        line_diff::format_unified_diff(&text(&self.file.text), &text(&self.after), &name)
    }

    /// Writes it, and notes how to give back every byte. Without the note the hooks are taken out by an edit.
    pub(super) fn write(&self, command_env: &CommandEnv) -> Result<(), CommandFailure> {
        (self.file.replace(self.after.as_deref())).map_err(refuse_settings_file)?;
        let mut originals = OriginalSettings::from_state(&command_env.state);
        if let Err(error) = originals.note_change(&self.file.path, &self.bare, &self.after) {
            command_env.tell(&format!("cannot note the settings as they were: {error}"));
        }
        if !self.which.user
            && let Ok(worktree) = command_env.open_worktree()
        {
            command_env.note_own_file(&worktree, self.which.agent.project_file());
        }
        Ok(())
    }

    /// A person's further steps so that the agent runs the hooks.
    fn needs(&self) -> Option<&'static str> {
        let needs = self.which.agent.what_it_needs(!self.which.user);
        needs.filter(|_| !self.takes_out)
    }

    /// The change for programs.
    pub(super) fn report(&self, command_env: &CommandEnv) -> EditedSettings {
        let worktree = Worktree::open(&command_env.worktree).ok();
        EditedSettings {
            agent: self.which.agent.as_str(),
            file: self.file.path.display().to_string(),
            changed: self.is_needed(),
            dry_run: self.which.dry_run,
            others: self.others.clone(),
            needs: self.needs(),
            switched_off: find_switch(self.which, worktree.as_ref()),
            diff: self.format_diff(),
        }
    }

    /// Names the setting with which no hook runs, and other hooks of watchdog for the same events.
    pub(super) fn tell_obstacles(&self, terminal: &CommandTerminal, worktree: Option<&Worktree>) {
        if let Some(switch) = find_switch(self.which, worktree) {
            terminal.complain_of(&switch);
        }
        tell_second_hooks(terminal, self.which, worktree, &self.program);
    }

    /// Says what was changed, or would be.
    pub(super) fn tell(&self, terminal: &CommandTerminal) {
        let name = self.name();
        match (self.is_needed(), self.which.dry_run) {
            (false, _) => terminal.line(&format!("nothing to change in {name}")),
            (true, true) => terminal.line(escape_for_display(&self.format_diff()).trim_end()),
            (true, false) if self.after.is_none() => terminal.line(&format!("removed {name}")),
            (true, false) => terminal.line(&format!(
                "changed {name}; sessions that start from now on use it"
            )),
        }
        if let Some(needs) = self.needs() {
            terminal.line(needs);
        }
        let unheard = self.which.agent.describe_unheard();
        if let Some(unheard) = unheard.filter(|_| !self.takes_out) {
            terminal.line(&unheard);
        }
        let beside = match self.takes_out {
            true => "",
            false => ", and runs beside the new ones",
        };
        for handwritten in &self.others {
            terminal.complain_of(&format!(
                "left as it is, because it was written by hand{beside}: {handwritten}"
            ));
        }
    }
}

/// The hooks of watchdog that stand in the settings.
pub(super) fn read_installed(
    command_env: &CommandEnv,
    which: SettingsArgs,
    program: &str,
) -> Option<InstalledHooks> {
    let path = settings_path(command_env, which).ok()?;
    let text = SettingsFile::from_path(&path).ok()?.text?;
    hook_text::read_installed_hooks(which.agent, &text, program)
}

fn edit_settings(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    which: SettingsArgs,
    wanted: &HookEntries,
    program: &str,
) -> Result<SettingsChange, CommandFailure> {
    let change = SettingsChange::plan(command_env, which, wanted, program)?;
    if change.is_needed() && !which.dry_run {
        change.write(command_env)?;
    }
    match terminal.json {
        true => terminal.print_answer(&change.report(command_env)),
        false => change.tell(terminal),
    }
    Ok(change)
}

fn settings_path(command_env: &CommandEnv, which: SettingsArgs) -> Result<PathBuf, CommandFailure> {
    let worktree = match which.user {
        true => None,
        false => Some(command_env.open_worktree().map_err(|error| {
            CommandFailure::from(error)
                .hint("go to the project, name it with -C, or choose your own settings with --user")
        })?),
    };
    find_settings_file(which, worktree.as_ref()).ok_or_else(|| {
        CommandFailure::usage("there is no home folder, so there are no settings of a user")
            .hint("set HOME")
    })
}

fn refuse_settings_file(error: SettingsFileError) -> CommandFailure {
    CommandFailure::configuration(error.to_string()).hint("nothing was written")
}
