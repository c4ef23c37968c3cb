//! A scratch folder for scripts, looks at `/proc` that do not trust what is tested, and tests in a process of their own.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use watchdog_process::{FinishedProgram, ProgramRun};

/// A folder in which scripts leave words for the test.
pub struct Scene {
    dir: tempfile::TempDir,
}

impl Scene {
    pub fn new() -> Self {
        Scene {
            dir: tempfile::tempdir().expect("a scratch folder"),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A shell script as a program. What it starts carries `SCENE`, by which [`left`](Self::left) finds it.
    pub fn sh(&self, script: &str) -> ProgramRun {
        let mut program = ProgramRun::new(["sh", "-c", script], self.dir.path());
        program
            .env
            .insert("SCENE".into(), Some(self.dir.path().into()));
        // Both longer than any machine takes for what does not wait for them.
        (program.deadline, program.grace) = (Duration::from_secs(120), Duration::from_secs(60));
        program
    }

    /// The number that a script has written to a file, once it is there.
    pub fn number(&self, name: &str) -> u32 {
        let read = || {
            std::fs::read_to_string(self.path(name))
                .ok()?
                .strip_suffix('\n')?
                .trim()
                .parse()
                .ok()
        };
        wait_for(&format!("a number in {name}"), read)
    }

    /// The living processes that this scene's scripts started, whatever became of them.
    pub fn left(&self) -> Vec<u32> {
        let wanted = [b"SCENE=", self.dir.path().as_os_str().as_encoded_bytes()].concat();
        let carries = |pid: &u32| {
            std::fs::read(format!("/proc/{pid}/environ"))
                .is_ok_and(|env| env.split(|b| *b == 0).any(|one| one == wanted))
        };
        let names = std::fs::read_dir("/proc")
            .expect("/proc")
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        names
            .filter(|pid| *pid != std::process::id())
            .filter(carries)
            .filter(|pid| alive(*pid))
            .collect()
    }

    /// Ends what a test left running on purpose.
    pub fn clear(&self) {
        until("the scene is empty", || {
            self.left().into_iter().for_each(kill);
            self.left().is_empty()
        });
    }
}

/// Whether a process runs; a zombie does not.
pub fn alive(pid: u32) -> bool {
    state(pid).is_some_and(|state| state != 'Z' && state != 'X')
}

/// The letter of its state; none if there is no such process.
pub fn state(pid: u32) -> Option<char> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    String::from_utf8_lossy(&stat)
        .rsplit_once(')')?
        .1
        .trim_start()
        .chars()
        .next()
}

pub fn kill(pid: u32) {
    let pid = i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw)
        .expect("a pid");
    let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
}

/// Looks until there is something to see; fails the test after a minute.
#[track_caller]
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(Instant::now() < end, "never came: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[track_caller]
pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    wait_for(what, || condition().then_some(()));
}

/// Runs one ignored test of this binary in a process of its own, through `shell`, in which `"$@"` stands for it. For what belongs to a whole
/// process: its memory, its own streams, its children.
pub fn in_own_process(
    test: &str,
    shell: &str,
    cwd: &Path,
    env: &[(&str, &str)],
) -> FinishedProgram {
    let this = std::env::current_exe()
        .expect("a path of this binary")
        .into_os_string();
    let mut argv = vec!["sh".into(), "-c".into(), shell.into(), "sh".into(), this];
    argv.extend(["--exact", test, "--ignored", "--nocapture"].map(Into::into));
    let mut program = ProgramRun::new(argv, cwd);
    program.deadline = Duration::from_secs(120);
    program.env.extend(
        env.iter()
            .map(|(name, value)| (name.into(), Some(value.into()))),
    );
    program.run().expect("this binary runs")
}

/// As above, and it must pass.
#[track_caller]
pub fn passes_in_own_process(test: &str, cwd: &Path, env: &[(&str, &str)]) -> String {
    let finished = in_own_process(test, r#"exec "$@""#, cwd, env);
    let text = String::from_utf8_lossy(&finished.stdout.bytes).into_owned()
        + &String::from_utf8_lossy(&finished.stderr.bytes);
    assert!(
        finished.exit.success() && text.contains("1 passed"),
        "{:?}\n{text}",
        finished.exit
    );
    text
}
