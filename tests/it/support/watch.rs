//! A `watchdog watch` that runs, and what it said.

use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use super::command::Run;
use super::{CommandOutput, Repo, Running, TestEnv, wait_for, wait_until};

/// Long before it would look for itself.
pub const SOON: Duration = Duration::from_secs(20);

/// A watch that runs.
pub struct Watch(pub Running);

impl Watch {
    /// Starts it, and waits until it watches.
    pub fn start(env: &TestEnv, cwd: &Path, args: &[&str]) -> Self {
        Watch::of(env.watchdog_command(cwd, &[&["watch", "--json"], args].concat()))
    }

    /// The same, of a command line of one's own.
    pub fn of(run: Run) -> Self {
        let running = run.spawn();
        wait_until("it watches", SOON, || {
            running.stderr_so_far().contains("watching ")
        });
        Watch(running)
    }

    /// What it judged so far.
    pub fn verdicts(&self) -> Vec<Value> {
        let text = self.0.stdout_so_far();
        text.split_inclusive('\n')
            .filter(|line| line.ends_with('\n'))
            .map(|line| serde_json::from_str(line).expect("a JSON line"))
            .collect()
    }

    /// Waits for so many judgements, and returns the last as `status/reason of folder`.
    #[track_caller]
    pub fn wait_for(&self, count: usize) -> String {
        let found = wait_for(SOON, || {
            Some(self.verdicts()).filter(|found| found.len() >= count)
        });
        let found = found.unwrap_or_else(|| {
            panic!(
                "{count} judgements\n{}\n{}",
                self.0.stdout_so_far(),
                self.0.stderr_so_far()
            )
        });
        assert_eq!(found.len(), count, "no more than these: {found:#?}");
        gist(&found[count - 1])
    }

    /// Ends it as a service manager does.
    #[track_caller]
    pub fn end(self) -> CommandOutput {
        self.0.signal(Signal::TERM);
        self.0.wait().expect(143)
    }
}

/// A verdict as `status/reason of folder`.
pub fn gist(verdict: &Value) -> String {
    let word = |key: &str| verdict[key].as_str().unwrap_or_default();
    format!(
        "{}/{} of {}",
        word("status"),
        word("reason"),
        word("worktree").rsplit('/').next().unwrap_or_default()
    )
}

/// A linked worktree beside the repository, with a baseline.
pub fn linked<'env>(env: &'env TestEnv, repo: &Repo<'env>, name: &str) -> Repo<'env> {
    repo.git(&["worktree", "add", "-q", "-b", name, &format!("../{name}")]);
    let linked = Repo::new(env, env.root().join(name));
    linked.watchdog(&["snapshot"]).expect(0);
    linked
}

/// Writes a file and commits it.
pub fn commit(repo: &Repo<'_>, text: &str) {
    repo.write("work.txt", text);
    repo.commit_all(text);
}
