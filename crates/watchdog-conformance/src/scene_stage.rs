//! The scratch folder in which one scene plays: a home of its own for the agent, a repository, the scripted API, and the processes.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use serde_json::Value;

use super::api_script::ApiScript;
use super::api_server::ScriptedApi;
use super::left_running::{LeftProcess, MARK_VARIABLE, left_running, signal_all};
use super::scene_agent::SceneAgent;
use watchdog_agent::local_api::LocalApiValues;
use watchdog_facts::evidence::ProcessExit;
use watchdog_process::{
    CancelFlag, MirrorTarget, SessionLaunch, SessionProcess, SessionTerms, StdinSource,
};

/// What one command may take, from its start to its end.
const DEADLINE: Duration = Duration::from_secs(300);
/// How long something is waited for that must happen in a session.
const PATIENCE: Duration = Duration::from_secs(90);
/// Bytes of a file that is looked at for a conversation.
const LARGEST_TRANSCRIPT: u64 = 32 << 20;

/// The folder of a scene; removed when dropped, unless it is to be kept.
pub struct SceneStage {
    folder: PathBuf,
    mark: String,
    env: BTreeMap<OsString, Option<OsString>>,
    watchdog: PathBuf,
    keep: bool,
    cancel: CancelFlag,
    /// The API that the agent talks to.
    pub api: ScriptedApi,
}

/// What a command did.
#[derive(Debug, Clone, PartialEq)]
pub struct SceneCommand {
    /// Its exit code, 128+n after signal n; `None` where nothing could end it.
    pub code: Option<i32>,
    /// The JSON on its stdout; null where it is none.
    pub json: Value,
    /// The end of all that it printed.
    pub output: String,
}

/// When a command is ended from outside, and by whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SceneSignal {
    /// TERM to watchdog, once a file is there.
    Watchdog(&'static str),
    /// TERM to everything that the agent started and to itself, once a file is there; watchdog gets none.
    Agent(&'static str),
}

impl SceneStage {
    /// Makes the folder, the repository and the agent's home, and starts the API.
    ///
    /// # Errors
    /// Where a file, a process or a port cannot be had.
    pub fn set(
        agent: &SceneAgent,
        script: ApiScript,
        keep: bool,
        cancel: CancelFlag,
    ) -> io::Result<Self> {
        let api = ScriptedApi::start(script, agent.local_api.shell_tool.clone())?;
        let watchdog = std::env::current_exe()?;
        let folder = new_folder()?;
        let mark = folder
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        let mut stage = SceneStage {
            folder,
            mark,
            env: BTreeMap::new(),
            watchdog,
            keep,
            cancel,
            api,
        };
        for name in ["home", "tmp", "bin", "repository"] {
            fs::create_dir(stage.folder.join(name))?;
        }
        stage.env = stage.environment(agent);
        stage.install(agent)?;
        stage.write_home(agent)?;
        stage.make_repository()?;
        Ok(stage)
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The repository.
    pub fn repository(&self) -> PathBuf {
        self.folder.join("repository")
    }

    fn home(&self) -> PathBuf {
        self.folder.join("home")
    }

    /// Nothing of the caller's environment but its search path, language and time zone: no key of theirs may be spent here.
    fn environment(&self, agent: &SceneAgent) -> BTreeMap<OsString, Option<OsString>> {
        let kept = |name: &OsString| ["LANG", "TZ", "TERM"].iter().any(|kept| name == kept);
        let mut env: BTreeMap<OsString, Option<OsString>> = std::env::vars_os()
            .filter(|(name, _)| !kept(name))
            .map(|(name, _)| (name, None))
            .collect();
        let home = self.home();
        let inherited = std::env::var_os("PATH").unwrap_or_default();
        let folders =
            std::iter::once(self.folder.join("bin")).chain(std::env::split_paths(&inherited));
        let path = std::env::join_paths(folders).unwrap_or(inherited.clone());
        for (name, value) in [
            ("PATH", path),
            ("HOME", home.clone().into()),
            ("TMPDIR", self.folder.join("tmp").into()),
            ("GIT_CONFIG_NOSYSTEM", "1".into()),
            ("GIT_CEILING_DIRECTORIES", self.folder.clone().into()),
            (MARK_VARIABLE, self.mark.clone().into()),
        ] {
            env.insert(name.into(), Some(value));
        }
        let (url, home) = (self.api.url(), home.to_string_lossy().into_owned());
        let variables = agent.local_api.variables(LocalApiValues {
            url: &url,
            home: &home,
        });
        env.extend(
            variables
                .into_iter()
                .map(|(name, value)| (name.into(), Some(value.into()))),
        );
        env
    }

    /// Makes the agent's program callable by its usual name, and by no other.
    fn install(&self, agent: &SceneAgent) -> io::Result<()> {
        let link = self.folder.join("bin").join(&agent.preset.program);
        match agent.command.as_slice() {
            [program] => symlink(program, link),
            words => {
                let quoted: Vec<String> = words.iter().map(|word| quoted(word)).collect();
                fs::write(
                    &link,
                    format!("#!/bin/sh\nexec {} \"$@\"\n", quoted.join(" ")),
                )?;
                fs::set_permissions(&link, fs::Permissions::from_mode(0o755))
            }
        }
    }

    fn write_home(&self, agent: &SceneAgent) -> io::Result<()> {
        let (url, home) = (self.api.url(), self.home().to_string_lossy().into_owned());
        let git = "[user]\n\tname = Scene\n\temail = scene@example.org\n[init]\n\tdefaultBranch = main\n[commit]\n\tgpgSign = false\n\
                   [maintenance]\n\tauto = false\n[gc]\n\tauto = 0\n";
        let mut files = vec![(format!("{home}/.gitconfig"), git.to_owned())];
        files.extend(agent.local_api.contents(LocalApiValues {
            url: &url,
            home: &home,
        }));
        for (path, content) in files {
            let path = Path::new(&path);
            if !path.starts_with(&self.folder) {
                return Err(io::Error::other(format!(
                    "local_api.files names {}, which is not below {{home}}",
                    path.display()
                )));
            }
            fs::create_dir_all(path.parent().unwrap_or(&self.folder))?;
            fs::write(path, content)?;
        }
        Ok(())
    }

    fn make_repository(&self) -> io::Result<()> {
        fs::write(self.repository().join("README.md"), "# a project\n")?;
        for args in [
            vec!["init", "-q"],
            // Not in the home alone: the shell tool of Gemini CLI reads no configuration there.
            vec!["config", "user.name", "Scene"],
            vec!["config", "user.email", "scene@example.org"],
            vec!["add", "-A"],
            vec!["commit", "-q", "-m", "start"],
        ] {
            let made = self.git(&args)?;
            if made.code != Some(0) {
                return Err(io::Error::other(format!(
                    "git {} failed: {}",
                    args.join(" "),
                    made.output.trim()
                )));
            }
        }
        Ok(())
    }

    /// Writes a file below the folder, and returns its path.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn write(&self, name: &str, text: &str) -> io::Result<PathBuf> {
        let path = self.folder.join(name);
        fs::write(&path, text)?;
        Ok(path)
    }

    /// Runs git in the repository.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub fn git(&self, args: &[&str]) -> io::Result<SceneCommand> {
        let argv = std::iter::once("git")
            .chain(args.iter().copied())
            .map(OsString::from)
            .collect();
        self.run(argv, StdinSource::Null, &BTreeMap::new(), None)
    }

    /// Runs watchdog in the repository, as its users do, with `--json`.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub fn watchdog(
        &self,
        args: Vec<OsString>,
        stdin: StdinSource,
        env: &BTreeMap<String, Option<String>>,
        signal: Option<SceneSignal>,
    ) -> io::Result<SceneCommand> {
        let state = self.folder.join("state");
        let head = [
            self.watchdog.clone().into_os_string(),
            "--json".into(),
            "--state-dir".into(),
            state.into(),
        ];
        self.run(head.into_iter().chain(args).collect(), stdin, env, signal)
    }

    fn run(
        &self,
        argv: Vec<OsString>,
        stdin: StdinSource,
        env: &BTreeMap<String, Option<String>>,
        signal: Option<SceneSignal>,
    ) -> io::Result<SceneCommand> {
        let mut launch = SessionLaunch::new(argv, self.repository());
        launch.env = self.env.clone();
        launch.env.extend(
            env.iter()
                .map(|(name, value)| (name.into(), value.as_ref().map(Into::into))),
        );
        (launch.stdin, launch.mirror, launch.keep_tail) = (stdin, MirrorTarget::Off, 1 << 20);
        let session =
            SessionProcess::start(&launch).map_err(|error| io::Error::other(error.to_string()))?;
        if let Some(signal) = signal {
            self.send(signal, session.pid());
        }
        let terms = SessionTerms {
            timeout: Some(DEADLINE),
            child_wait: Duration::ZERO,
            ..SessionTerms::default()
        };
        let outcome = session.wait(&terms, &self.cancel);
        let code = match outcome.exit {
            Some(ProcessExit::Code(code)) => Some(code),
            Some(ProcessExit::Signal(signal)) => Some(128 + signal),
            _ => None,
        };
        let json = serde_json::from_slice(&outcome.tail_stdout).unwrap_or(Value::Null);
        Ok(SceneCommand {
            code,
            json,
            output: String::from_utf8_lossy(&outcome.tail).into_owned(),
        })
    }

    /// Waits until the session is where the signal is meant for it, and sends it. Without that moment none is sent, and the scene says so.
    fn send(&self, signal: SceneSignal, watchdog: u32) {
        let (SceneSignal::Watchdog(file) | SceneSignal::Agent(file)) = signal;
        let file = self.repository().join(file);
        let watchdog = i32::try_from(watchdog).ok();
        // A program that ends at once never comes there.
        let ended = || watchdog.and_then(Pid::from_raw).is_none_or(has_ended);
        if !self.wait_until(|| file.exists() || ended()) || !file.exists() {
            return;
        }
        match signal {
            SceneSignal::Watchdog(_) => {
                if let Some(pid) = watchdog.and_then(Pid::from_raw) {
                    let _ = kill_process(pid, Signal::TERM);
                }
            }
            SceneSignal::Agent(_) => {
                let mut agents = left_running(&self.mark);
                agents.retain(|process| Some(process.pid) != watchdog);
                signal_all(&agents, Signal::TERM);
            }
        }
    }

    fn wait_until(&self, mut holds: impl FnMut() -> bool) -> bool {
        let begin = Instant::now();
        while !holds() {
            if begin.elapsed() > PATIENCE || self.cancel.is_cancelled() {
                return false;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        true
    }

    /// What of this scene still runs, after a moment to end.
    pub fn left_running(&self) -> Vec<LeftProcess> {
        let begin = Instant::now();
        loop {
            let left = left_running(&self.mark);
            if left.is_empty() || begin.elapsed() > Duration::from_secs(3) {
                return left;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The files of the agent's home that have this text, with a fingerprint of each: its conversations.
    pub fn conversations(&self, text: &str) -> BTreeMap<PathBuf, u64> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.home()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                let Ok(about) = entry.metadata() else {
                    continue;
                };
                if about.is_dir() {
                    folders.push(path);
                } else if path
                    .extension()
                    .is_some_and(|extension| extension == "jsonl")
                    && about.len() < LARGEST_TRANSCRIPT
                {
                    let bytes = fs::read(&path).unwrap_or_default();
                    if String::from_utf8_lossy(&bytes).contains(text) {
                        let mut hasher = DefaultHasher::new();
                        bytes.hash(&mut hasher);
                        found.insert(
                            path.strip_prefix(&self.folder).unwrap_or(&path).to_owned(),
                            hasher.finish(),
                        );
                    }
                }
            }
        }
        found
    }
}

impl Drop for SceneStage {
    fn drop(&mut self) {
        let begin = Instant::now();
        // A process may fork between the look and the kill, hence until none is left.
        loop {
            let left = left_running(&self.mark);
            if left.is_empty() || begin.elapsed() > Duration::from_secs(5) {
                break;
            }
            signal_all(&left, Signal::KILL);
            std::thread::sleep(Duration::from_millis(20));
        }
        if !self.keep {
            // What is left in the folder for temporary files harms nobody.
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

/// Whether a child has ended. It stays to be waited for.
fn has_ended(pid: Pid) -> bool {
    let now = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::Pid(pid), now), Ok(None))
}

/// A new folder of the system's folder for temporary files, readable by its owner alone.
fn new_folder() -> io::Result<PathBuf> {
    use std::os::unix::fs::DirBuilderExt;
    let base = std::env::temp_dir().canonicalize()?;
    for number in 0..1000 {
        let folder = base.join(format!("watchdog-scene-{}-{number}", std::process::id()));
        match fs::DirBuilder::new().mode(0o700).create(&folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map(|()| folder),
        }
    }
    Err(io::Error::other("no name is free for a scratch folder"))
}

/// A word as `sh` takes it whole.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}
