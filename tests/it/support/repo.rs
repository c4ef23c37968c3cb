//! A real git repository, made and changed by git itself.

use std::fs;
use std::path::{Path, PathBuf};

use super::TestEnv;
use super::command::{CommandOutput, Run, Running};

/// A git repository inside a [`TestEnv`].
pub struct Repo<'env> {
    env: &'env TestEnv,
    path: PathBuf,
}

impl<'env> Repo<'env> {
    /// Names a folder; makes nothing.
    pub fn new(env: &'env TestEnv, path: PathBuf) -> Self {
        Repo { env, path }
    }

    /// The top of its work tree.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Runs git here; a failure fails the test. Returns its stdout without the last line break.
    #[track_caller]
    pub fn git(&self, args: &[&str]) -> String {
        self.try_git(args)
            .expect(0)
            .stdout
            .trim_end_matches('\n')
            .to_string()
    }

    /// The same with a command line in words, as [`fill_line`] has it.
    #[track_caller]
    pub fn git_line(&self, line: &str, values: &[&str]) -> String {
        self.git(&fill_line(line, values))
    }

    /// Runs git here, whatever it returns.
    #[track_caller]
    pub fn try_git(&self, args: &[&str]) -> CommandOutput {
        self.env.command("git", &self.path).args(args).run()
    }

    /// Any program, to be run here.
    pub fn env_command(&self, program: &str, args: &[&str]) -> Run {
        self.env.command(program, &self.path).args(args)
    }

    /// Writes a file of the work tree.
    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path.join(name);
        fs::create_dir_all(path.parent().expect("below the work tree"))
            .expect("the work tree takes folders");
        fs::write(&path, text).expect("the work tree takes files");
    }

    /// Whether a file of the work tree is there.
    pub fn has(&self, name: &str) -> bool {
        self.path.join(name).exists()
    }

    /// Commits everything that is in the work tree; returns the new commit's id.
    #[track_caller]
    pub fn commit_all(&self, message: &str) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", message]);
        self.head()
    }

    /// The id of HEAD's commit.
    #[track_caller]
    pub fn head(&self) -> String {
        self.git(&["rev-parse", "HEAD"])
    }

    /// Subjects of the commits since `baseline`, newest first.
    #[track_caller]
    pub fn subjects_since(&self, baseline: &str) -> Vec<String> {
        self.git(&["log", "--format=%s", &format!("{baseline}..HEAD")])
            .lines()
            .map(str::to_string)
            .collect()
    }

    /// The names that a commit changes, a line each.
    #[track_caller]
    pub fn names_in(&self, commit: &str) -> String {
        self.git(&["show", "--format=", "--name-only", commit])
    }

    /// What `git status --porcelain` prints, with every untracked file.
    #[track_caller]
    pub fn status(&self) -> String {
        self.git(&["status", "--porcelain", "--untracked-files=all"])
    }

    /// The refs under `refs/watchdog/rescue/`.
    #[track_caller]
    pub fn snapshots(&self) -> Vec<String> {
        self.git(&[
            "for-each-ref",
            "--format=%(refname)",
            "refs/watchdog/rescue",
        ])
        .lines()
        .map(str::to_string)
        .collect()
    }

    /// The content of a file in a commit, if it is in there.
    #[track_caller]
    pub fn file_in(&self, commit: &str, name: &str) -> Option<String> {
        let shown = self.try_git(&["show", &format!("{commit}:{name}")]);
        (shown.code == Some(0)).then_some(shown.stdout)
    }

    /// The built `watchdog`, to be run here.
    pub fn watchdog_command(&self, args: &[&str]) -> Run {
        self.env.watchdog_command(&self.path, args)
    }

    /// Runs `watchdog` here to its end.
    #[track_caller]
    pub fn watchdog(&self, args: &[&str]) -> CommandOutput {
        self.env.watchdog(&self.path, args)
    }

    /// The same with a command line in words, as [`fill_line`] has it.
    #[track_caller]
    pub fn watchdog_line(&self, line: &str, values: &[&str]) -> CommandOutput {
        self.watchdog(&fill_line(line, values))
    }

    /// Starts `watchdog` here.
    #[track_caller]
    pub fn watchdog_spawn(&self, args: &[&str]) -> Running {
        self.env.watchdog_spawn(&self.path, args)
    }

    /// The same with a command line in words.
    #[track_caller]
    pub fn spawn_line(&self, line: &str, values: &[&str]) -> Running {
        self.watchdog_spawn(&fill_line(line, values))
    }
}

/// The words of a command line, each `{}` of which stands for the next of the values.
pub fn fill_line<'a>(line: &'a str, values: &[&'a str]) -> Vec<&'a str> {
    let mut values = values.iter();
    line.split(' ')
        .map(|word| match word {
            "{}" => values.next().expect("each {} has its value"),
            _ => word,
        })
        .collect()
}
