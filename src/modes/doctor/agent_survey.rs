//! Looks for the agents of this machine: their programs, versions and logins. All are asked at once, because some take seconds.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{Builder, Scope, ScopedJoinHandle};

use super::agent_login::{AgentLogin, login_of};
use super::finding::DoctorFinding;
use super::program_version::{ProgramVersion, version_of};
use watchdog_agent::preset::{AgentPreset, PresetCatalog};

/// An agent whose program is on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundAgent {
    /// The name of its preset.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// Its program, as `PATH` leads to it.
    pub program: PathBuf,
    /// What it says about its version.
    pub version: ProgramVersion,
    /// Whether its login seems to be here.
    pub login: AgentLogin,
}

/// The agents that are being asked.
pub(super) struct AgentSurvey<'scope>(
    Vec<(Arc<AgentPreset>, PathBuf, AgentLogin, VersionAnswer<'scope>)>,
);

/// A version, or the thread that asks for it.
enum VersionAnswer<'scope> {
    Here(ProgramVersion),
    Coming(ScopedJoinHandle<'scope, ProgramVersion>),
}

impl<'scope> AgentSurvey<'scope> {
    /// Begins to ask every agent that is there.
    pub(super) fn begin(
        scope: &'scope Scope<'scope, '_>,
        presets: &PresetCatalog,
        search_path: Option<&OsStr>,
        environment: &BTreeMap<OsString, OsString>,
    ) -> Self {
        // One of the user's own whose file is wrong is named where it is used.
        let known = presets
            .words()
            .into_iter()
            .filter_map(|word| presets.of_word(&word).ok()?);
        let surveyed = known.filter_map(|agent| {
            let program = program_in(&agent.program, search_path?)?;
            let login = login_of(agent.login.as_ref(), environment);
            // From a folder without a project: what a repository configures must not run here.
            let ask = {
                let program = program.clone();
                move || version_of(program.as_os_str(), Path::new("/"))
            };
            let answer = match Builder::new()
                .name("version".into())
                .spawn_scoped(scope, ask.clone())
            {
                Ok(thread) => VersionAnswer::Coming(thread),
                // No room for a thread: one after the other.
                Err(_) => VersionAnswer::Here(ask()),
            };
            Some((agent, program, login, answer))
        });
        AgentSurvey(surveyed.collect())
    }

    /// Waits for the answers.
    pub(super) fn finish(self) -> Vec<FoundAgent> {
        let found = self.0.into_iter().map(|(agent, program, login, answer)| {
            let version = match answer {
                VersionAnswer::Here(version) => version,
                VersionAnswer::Coming(thread) => match thread.join() {
                    Ok(version) => version,
                    Err(panic) => std::panic::resume_unwind(panic),
                },
            };
            FoundAgent {
                name: agent.name.clone(),
                title: agent.title.clone(),
                program,
                version,
                login,
            }
        });
        found.collect()
    }
}

/// The program of this name that a shell would run.
fn program_in(name: &str, search_path: &OsStr) -> Option<PathBuf> {
    let runs = |file: &PathBuf| {
        fs::metadata(file)
            .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|path| path.is_absolute() && runs(path));
    }
    std::env::split_paths(search_path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(runs)
}

impl FoundAgent {
    /// What it says about its version, short.
    pub fn version_text(&self) -> Option<String> {
        match &self.version {
            ProgramVersion::Known(text) if !text.is_empty() => Some(text.clone()),
            ProgramVersion::Known(_) | ProgramVersion::Failed(_) | ProgramVersion::Missing(_) => {
                None
            }
        }
    }

    /// The same for a person.
    pub(super) fn finding(&self, is_preset: bool) -> DoctorFinding {
        let version = match (&self.version, self.version_text()) {
            (_, Some(text)) => text,
            (ProgramVersion::Known(_), None) => "its version is unknown".to_owned(),
            (ProgramVersion::Failed(why) | ProgramVersion::Missing(why), None) => why.clone(),
        };
        let works = matches!(self.version, ProgramVersion::Known(_));
        let named = if is_preset {
            " (the one that is asked)"
        } else {
            ""
        };
        let detail = |login: &str| format!("{}{named}: {version}{login}", self.title);
        match &self.login {
            _ if !works => DoctorFinding::note(
                "agents",
                detail(""),
                format!("look what it says: {} --version", self.program.display()),
            ),
            AgentLogin::Seen(source) => DoctorFinding::ok("agents", detail(&format!("; {source}"))),
            AgentLogin::Unseen { mend } => {
                DoctorFinding::note("agents", detail("; no login or key seen"), mend)
            }
            AgentLogin::Unknown => DoctorFinding::ok("agents", detail("")),
        }
    }
}
