//! Looks for the agents of this machine: their programs, versions and logins. All are asked at once, because some take seconds.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{Builder, Scope, ScopedJoinHandle};
use std::time::Duration;

use crate::judge::doctor_finding::Findings;
use watchdog_agent::preset::definition::LoginAdvice;
use watchdog_agent::preset::{AgentPreset, PresetCatalog};
use watchdog_facts::display::cut_text;
use watchdog_process::{ProgramRun, StartError, find_program, is_executable};

/// The longest version that is shown, in bytes.
const LONGEST: usize = 100;
/// How long a program may take to tell it.
const PATIENCE: Duration = Duration::from_secs(10);

/// An agent whose program is on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundAgent {
    /// The name of its preset.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// Its program, as `PATH` leads to it.
    pub program: PathBuf,
    /// The version that it reports.
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
        let known_presets = presets.presets_where(|_| true);
        let surveyed = known_presets.into_iter().filter_map(|agent| {
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
        let agents = self.0.into_iter().map(|(agent, program, login, answer)| {
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
        agents.collect()
    }
}

/// The program of this name that a shell would run.
fn program_in(name: &str, search_path: &OsStr) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|path| path.is_absolute() && is_executable(path));
    }
    find_program(name, search_path)
}

impl FoundAgent {
    /// Returns the version that it reports, short.
    pub fn version_text(&self) -> Option<String> {
        match &self.version {
            ProgramVersion::Known(text) if !text.is_empty() => Some(text.clone()),
            ProgramVersion::Known(_) | ProgramVersion::Failed(_) | ProgramVersion::Missing(_) => {
                None
            }
        }
    }

    /// Adds the same for a person.
    pub(super) fn add_to(&self, findings: &mut Findings, is_preset: bool) {
        let version = match (&self.version, self.version_text()) {
            (_, Some(text)) => text,
            (ProgramVersion::Known(_), None) => "its version is unknown".to_owned(),
            (ProgramVersion::Failed(why) | ProgramVersion::Missing(why), None) => why.clone(),
        };
        let title = &self.title;
        let named = match is_preset {
            true => " (the one that is asked)",
            false => "",
        };
        let detail = format!("{title}{named}: {version}");
        match &self.login {
            _ if !matches!(self.version, ProgramVersion::Known(_)) => findings.note(
                "agents",
                detail,
                format!("look what it says: {} --version", self.program.display()),
            ),
            AgentLogin::Seen(source) => findings.ok("agents", format!("{detail}; {source}")),
            AgentLogin::Unseen { mend } => {
                findings.note("agents", format!("{detail}; no login or key seen"), mend);
            }
            AgentLogin::Unknown => findings.ok("agents", detail),
        }
    }
}

/// What was seen of an agent's login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentLogin {
    /// A key is set in this variable, or this file is there; neither is known to be valid.
    Seen(String),
    /// Neither is there.
    Unseen {
        /// What to do about it.
        mend: String,
    },
    /// It is not known where this agent keeps its login.
    Unknown,
}

/// Looks for the login of an agent. One in the system's own store of secrets is not seen.
pub(super) fn login_of(
    advice: Option<&LoginAdvice>,
    environment: &BTreeMap<OsString, OsString>,
) -> AgentLogin {
    let Some(advice) = advice else {
        return AgentLogin::Unknown;
    };
    let value = |name: &str| {
        environment
            .get(OsStr::new(name))
            .filter(|value| !value.is_empty())
    };
    if let Some(variable) = advice.variables.iter().find(|name| value(name).is_some()) {
        return AgentLogin::Seen(format!("key in {variable}"));
    }
    let home = value("HOME").map(PathBuf::from);
    let file = advice.files.iter().find_map(|login| {
        let moved = login.variable.as_deref().and_then(value).map(PathBuf::from);
        let folder = moved.or_else(|| Some(home.as_ref()?.join(&login.home)))?;
        Some(folder.join(&login.file)).filter(|path| {
            path.metadata()
                .is_ok_and(|about| about.is_file() && about.len() > 0)
        })
    });
    if let Some(file) = file {
        return AgentLogin::Seen(format!("login in {}", from_home(&file, home.as_deref())));
    }
    let variable = advice
        .variables
        .first()
        .map(|name| format!(", or set {name}"))
        .unwrap_or_default();
    AgentLogin::Unseen {
        mend: format!("where it asks for one: {}{variable}", advice.command),
    }
}

fn from_home(path: &Path, home: Option<&Path>) -> String {
    match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(inside) => format!("~/{}", inside.display()),
        None => path.display().to_string(),
    }
}

/// What a program says about its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgramVersion {
    /// The first line of its words, short; empty where it says nothing.
    Known(String),
    /// It runs, and does not tell.
    Failed(String),
    /// It cannot be run.
    Missing(String),
}

/// Asks it, from `folder`: a program may be named by a path from there.
pub(super) fn version_of(program: &OsStr, folder: &Path) -> ProgramVersion {
    let mut command = ProgramRun::new([program, "--version".as_ref()], folder);
    command.deadline = PATIENCE;
    match command.run() {
        Ok(finished) if finished.exit.success() => ProgramVersion::Known(cut_text(
            String::from_utf8_lossy(&finished.stdout.bytes)
                .lines()
                .next()
                .unwrap_or_default()
                .trim(),
            LONGEST,
        )),
        Ok(finished) if finished.timed_out => ProgramVersion::Failed(format!(
            "{} --version did not answer in {} s",
            program.to_string_lossy(),
            PATIENCE.as_secs()
        )),
        Ok(finished) => ProgramVersion::Failed(format!(
            "{} --version ended with {}",
            program.to_string_lossy(),
            finished.exit
        )),
        Err(error @ StartError::NotRunnable { .. }) => ProgramVersion::Missing(error.to_string()),
        Err(error) => ProgramVersion::Failed(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use watchdog_agent::preset::PresetCatalog;

    #[test]
    fn a_login_is_seen_by_its_name_and_never_by_its_value() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let home = scratch.path();
        let seen = |agent: &str, variables: &[(&str, &str)]| {
            let all = variables
                .iter()
                .map(|(name, value)| (OsString::from(name), OsString::from(value)));
            let preset = PresetCatalog::built_in_named(agent);
            login_of(
                preset.as_ref().and_then(|preset| preset.login.as_ref()),
                &all.chain([("HOME".into(), home.into())]).collect(),
            )
        };
        assert_eq!(
            seen("codex", &[("OPENAI_API_KEY", "sk-hush")]),
            AgentLogin::Seen("key in OPENAI_API_KEY".into())
        );
        let unseen = |mend: &str| AgentLogin::Unseen { mend: mend.into() };
        assert_eq!(
            seen("codex", &[("OPENAI_API_KEY", "")]),
            unseen("where it asks for one: codex login, or set OPENAI_API_KEY")
        );
        std::fs::create_dir(home.join(".codex")).expect("a folder");
        std::fs::write(home.join(".codex/auth.json"), "").expect("a file");
        assert!(
            matches!(seen("codex", &[]), AgentLogin::Unseen { .. }),
            "an empty file holds no login"
        );
        std::fs::write(home.join(".codex/auth.json"), "hush").expect("a file");
        assert_eq!(
            seen("codex", &[]),
            AgentLogin::Seen("login in ~/.codex/auth.json".into())
        );
        assert!(
            matches!(
                seen("codex", &[("CODEX_HOME", "/nowhere")]),
                AgentLogin::Unseen { .. }
            ),
            "its folder is elsewhere"
        );
        assert_eq!(seen("my-agent", &[]), AgentLogin::Unknown);
    }
}
