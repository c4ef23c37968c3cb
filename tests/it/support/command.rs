//! Runs a program with a cleared environment and a deadline, and keeps all that it said.
//!
//! Output goes to files rather than pipes: a daemon that keeps the pipe open would otherwise hang the test.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::{AtTerminal, wait_for};

/// A program about to be run. Made by [`super::TestEnv::command`] and the shorthands around it.
#[must_use = "nothing runs before `run` or `spawn`"]
pub struct Run {
    argv: Vec<OsString>,
    cwd: PathBuf,
    vars: BTreeMap<OsString, OsString>,
    stdin: Vec<u8>,
    timeout: Duration,
    keep: PathBuf,
    discard_stdout: bool,
    stdout_to: Option<PathBuf>,
}

/// Variables of the instruments that look into a program: which lines it ran, and which change of it plays.
const INSTRUMENTS: [&str; 3] = [
    "LLVM_PROFILE_FILE",
    "WATCHDOG_MUTANT",
    "WATCHDOG_MUTANT_REACHED",
];

/// Numbers the files that hold outputs, so that runs in one environment do not share them.
static RUNS: AtomicU64 = AtomicU64::new(0);

impl Run {
    /// `keep` is the folder for output files.
    pub fn new(
        program: impl Into<OsString>,
        cwd: &Path,
        keep: &Path,
        vars: BTreeMap<OsString, OsString>,
    ) -> Self {
        Run {
            argv: vec![program.into()],
            cwd: cwd.to_owned(),
            vars,
            stdin: Vec::new(),
            timeout: Duration::from_secs(120),
            keep: keep.to_owned(),
            discard_stdout: false,
            stdout_to: None,
        }
    }

    /// Adds arguments.
    pub fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.argv
            .extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets a variable.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.vars.insert(name.into(), value.as_ref().to_owned());
        self
    }

    /// What it reads on stdin; end of file without.
    pub fn stdin(mut self, text: impl AsRef<[u8]>) -> Self {
        self.stdin = text.as_ref().to_owned();
        self
    }

    /// When it counts as hung. Two minutes without.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Throws its stdout away, for programs that print more than a disk should hold.
    pub fn discard_stdout(mut self) -> Self {
        self.discard_stdout = true;
        self
    }

    /// Sends its stdout to a file or device that is there, instead of keeping it.
    pub fn stdout_to(mut self, path: impl Into<PathBuf>) -> Self {
        self.stdout_to = Some(path.into());
        self
    }

    /// Runs it to its end. A hang fails the test.
    #[must_use = "an exit code that nobody looks at proves nothing"]
    #[track_caller]
    pub fn run(self) -> CommandOutput {
        self.spawn().wait()
    }

    /// Starts it at a terminal of its own, where a person could answer.
    pub fn at_terminal(self) -> AtTerminal {
        self.at_terminal_of(120, "xterm-256color")
    }

    /// Starts it at a terminal of so many columns, of a kind that `TERM` names.
    pub fn at_terminal_of(self, columns: u16, term: &str) -> AtTerminal {
        let stdout = self.stdout_to.as_ref().map(|path| {
            File::options()
                .write(true)
                .open(path)
                .expect("it takes what is written")
        });
        let mut command = Command::new(&self.argv[0]);
        command
            .args(&self.argv[1..])
            .current_dir(&self.cwd)
            .env_clear()
            .envs(instruments())
            .envs(&self.vars)
            .process_group(0);
        AtTerminal::spawn(command, columns, term, stdout)
    }

    /// Starts it, as the leader of its own process group.
    #[track_caller]
    pub fn spawn(self) -> Running {
        let number = RUNS.fetch_add(1, Ordering::Relaxed);
        let stdout = self.keep.join(format!("{number}.stdout"));
        let stderr = self.keep.join(format!("{number}.stderr"));
        let stdin = self.keep.join(format!("{number}.stdin"));
        let create = |path: &Path| {
            File::create(path).unwrap_or_else(|e| panic!("cannot create {}: {e}", path.display()))
        };
        create(&stdin)
            .write_all(&self.stdin)
            .expect("the scratch folder takes a file");
        let child = Command::new(self.program())
            .arg0(&self.argv[0])
            .args(&self.argv[1..])
            .current_dir(&self.cwd)
            .env_clear()
            .envs(instruments())
            .envs(&self.vars)
            .stdin(File::open(&stdin).expect("was just written"))
            .stdout(match &self.stdout_to {
                Some(path) => File::options()
                    .write(true)
                    .open(path)
                    .expect("it takes what is written")
                    .into(),
                None if self.discard_stdout => Stdio::null(),
                None => create(&stdout).into(),
            })
            .stderr(create(&stderr))
            .process_group(0)
            .spawn()
            .unwrap_or_else(|e| panic!("cannot run {:?}: {e}", self.argv[0]));
        Running {
            child,
            argv: self.argv,
            stdout,
            stderr,
            deadline: Instant::now() + self.timeout,
            timeout: self.timeout,
        }
    }
}

impl Run {
    /// Git by its path: tests start it tens of thousands of times, and by its name each costs a copy of this process's memory map.
    fn program(&self) -> PathBuf {
        let name = Path::new(&self.argv[0]);
        let folders = self
            .vars
            .get(OsStr::new("PATH"))
            .filter(|_| name == Path::new("git"));
        let found = folders.and_then(|path| {
            std::env::split_paths(path)
                .map(|folder| folder.join(name))
                .find(|file| file.is_file())
        });
        found.unwrap_or_else(|| name.to_owned())
    }
}

/// What instruments ask of a program that a test starts, where these tests run under one.
fn instruments() -> impl Iterator<Item = (&'static str, OsString)> {
    INSTRUMENTS
        .into_iter()
        .filter_map(|name| Some((name, std::env::var_os(name)?)))
}

/// A program that runs. Its group is killed if the test drops it.
#[must_use = "a dropped program is killed"]
pub struct Running {
    child: Child,
    argv: Vec<OsString>,
    stdout: PathBuf,
    stderr: PathBuf,
    deadline: Instant,
    timeout: Duration,
}

impl Running {
    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it wrote to stdout so far.
    pub fn stdout_so_far(&self) -> String {
        read(&self.stdout)
    }

    /// What it wrote to stderr so far.
    pub fn stderr_so_far(&self) -> String {
        read(&self.stderr)
    }

    /// Whether it has ended.
    pub fn ended(&mut self) -> bool {
        self.child
            .try_wait()
            .expect("our own child can be waited for")
            .is_some()
    }

    /// Sends a signal to it alone.
    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        // It may have ended on its own; the test then looks at how.
        let _ = rustix::process::kill_process(pid, signal);
    }

    /// Waits for its end. A hang fails the test.
    #[must_use = "an exit code that nobody looks at proves nothing"]
    #[track_caller]
    pub fn wait(mut self) -> CommandOutput {
        let left = self.deadline.saturating_duration_since(Instant::now());
        let child = &mut self.child;
        let status = wait_for(left, || {
            child.try_wait().expect("our own child can be waited for")
        });
        let Some(status) = status else {
            let hung = CommandOutput::new(&self.argv, &self.stdout, &self.stderr, None);
            panic!("{:?} still ran after {:?}\n{hung}", self.argv, self.timeout);
        };
        CommandOutput::new(&self.argv, &self.stdout, &self.stderr, Some(status))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let _ = rustix::process::kill_process_group(
                rustix::process::Pid::from_child(&self.child),
                rustix::process::Signal::KILL,
            );
            let _ = self.child.wait();
        }
    }
}

/// What a program said and how it ended. Displayed, it is one snapshot of all three.
#[derive(Debug, Clone)]
pub struct CommandOutput {
    /// Standard output, lossy.
    pub stdout: String,
    /// Standard error, lossy.
    pub stderr: String,
    /// Exit code; 128+n when signal n ended it, as a shell has it; `None` while it runs.
    pub code: Option<i32>,
    argv: Vec<OsString>,
}

impl CommandOutput {
    fn new(argv: &[OsString], stdout: &Path, stderr: &Path, status: Option<ExitStatus>) -> Self {
        let code = status.and_then(|status| {
            status
                .code()
                .or_else(|| status.signal().map(|signal| 128 + signal))
        });
        CommandOutput {
            stdout: read(stdout),
            stderr: read(stderr),
            code,
            argv: argv.to_vec(),
        }
    }

    /// Fails the test unless it ended with `code`.
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(
            self.code,
            Some(code),
            "{:?} ended otherwise than with {code}\n{self}",
            self.argv
        );
        self
    }

    /// The one JSON object on its stdout.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|e| panic!("{:?}: stdout is no JSON: {e}\n{self}", self.argv))
    }

    /// The verdict's status and reason, as `status/reason`.
    #[track_caller]
    pub fn verdict(&self) -> String {
        let json = self.json();
        let word = |key: &str| {
            json[key]
                .as_str()
                .unwrap_or_else(|| panic!("no \"{key}\" in the verdict\n{self}"))
                .to_string()
        };
        format!("{}/{}", word("status"), word("reason"))
    }

    /// Fails the test unless the verdict is this one, with these values of its object.
    #[track_caller]
    pub fn assert_verdict(&self, verdict: &str, values: serde_json::Value) {
        assert_eq!(self.verdict(), verdict, "{self}");
        self.assert_values(values);
    }

    /// Fails the test unless its object has these values, each by its key or by a JSON pointer.
    #[track_caller]
    pub fn assert_values(&self, values: serde_json::Value) {
        let json = self.json();
        for (key, value) in values.as_object().expect("an object of its keys") {
            let pointed = key.starts_with('/').then(|| json.pointer(key));
            let own = pointed.unwrap_or_else(|| json.get(key));
            assert_eq!(
                own.unwrap_or(&serde_json::Value::Null),
                value,
                "{key}\n{self}"
            );
        }
    }

    /// Fails the test unless a value of its object has this part, as a text or as JSON.
    #[track_caller]
    pub fn assert_has(&self, key: &str, part: &str) {
        let value = &self.json()[key];
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        assert!(text.contains(part), "no {part:?} in {key}\n{self}");
    }

    /// Fails the test unless it told a person each of these.
    #[track_caller]
    pub fn assert_told(&self, parts: &[&str]) {
        for part in parts {
            assert!(self.stderr.contains(part), "{part:?} is not told\n{self}");
        }
    }

    /// Fails the test unless it printed each of these.
    #[track_caller]
    pub fn assert_printed(&self, parts: &[&str]) {
        for part in parts {
            assert!(
                self.stdout.contains(part),
                "{part:?} is not printed\n{self}"
            );
        }
    }
}

/// Fails the test unless a text has each of these.
#[track_caller]
pub fn assert_parts(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is missing in\n{text}");
    }
}

impl fmt::Display for CommandOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = self
            .code
            .map_or("still running".to_string(), |code| format!("exit {code}"));
        write!(
            f,
            "{code}\n--- stdout\n{}\n--- stderr\n{}\n---",
            self.stdout.trim_end(),
            self.stderr.trim_end()
        )
    }
}

fn read(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}
