//! Small real repositories, made by git itself and cut off from the machine's configuration.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::repo::fill_line;

/// A scratch repository that goes away with the value.
pub struct Repo {
    _home: Option<tempfile::TempDir>,
    root: PathBuf,
}

impl Repo {
    /// An empty repository on the branch `main`.
    pub fn init() -> Self {
        Self::init_with(&[])
    }

    /// Like [`Repo::init`], with more arguments for `git init`.
    pub fn init_with(args: &[&str]) -> Self {
        let home = tempfile::tempdir().expect("a scratch folder");
        let root = home
            .path()
            .canonicalize()
            .expect("the folder exists")
            .join("repo");
        std::fs::create_dir(&root).expect("a fresh folder");
        let repo = Repo {
            _home: Some(home),
            root,
        };
        repo.git(&[&["init", "-q", "-b", "main"], args].concat());
        repo
    }

    /// Another work tree or repository inside the same scratch folder.
    pub fn at(&self, name: &str) -> Repo {
        Repo {
            _home: None,
            root: self
                .root
                .parent()
                .expect("below the scratch folder")
                .join(name),
        }
    }

    /// The top folder of the work tree.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A path inside of the work tree.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// A git command in this repository with nothing of the machine in its environment.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("git");
        command.current_dir(&self.root).args(args);
        hermetic(
            &mut command,
            self.root.parent().expect("below the scratch folder"),
        );
        command
    }

    /// Runs git, which must succeed; returns what it printed, trimmed.
    #[track_caller]
    pub fn git(&self, args: &[&str]) -> String {
        let output = self.try_git(args);
        assert!(
            output.status.success(),
            "git {args:?} failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).trim().to_string()
    }

    /// The same with a command line in words, as [`fill_line`] has it.
    #[track_caller]
    pub fn git_line(&self, line: &str, values: &[&str]) -> String {
        self.git(&fill_line(line, values))
    }

    /// Runs git, which may fail.
    pub fn try_git(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("git is installed")
    }

    /// Writes a file, making its folders.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().expect("below the root"))
            .expect("folders can be made");
        std::fs::write(path, text).expect("the file can be written");
    }

    /// Writes a file of the same name as the message, commits it, and returns the commit.
    pub fn commit(&self, message: &str) -> String {
        self.commit_file(&format!("{message}.txt"), &format!("{message}\n"), message)
    }

    /// Writes one file, commits it, and returns the commit.
    pub fn commit_file(&self, path: &str, text: &str, message: &str) -> String {
        self.write(path, text);
        self.git(&["add", "--", path]);
        self.git(&["commit", "-q", "-m", message]);
        self.head()
    }

    /// The full name of the commit that HEAD names.
    pub fn head(&self) -> String {
        self.git(&["rev-parse", "HEAD"])
    }
}

/// Clears everything of the machine from a command's environment but `PATH`.
pub fn hermetic(command: &mut Command, home: &Path) {
    command.env_clear();
    for (name, value) in [
        ("PATH", std::env::var_os("PATH").unwrap_or_default()),
        ("HOME", home.into()),
        ("GIT_CONFIG_GLOBAL", "/dev/null".into()),
        ("GIT_CONFIG_NOSYSTEM", "1".into()),
        ("GIT_TERMINAL_PROMPT", "0".into()),
        ("GIT_AUTHOR_NAME", "A U Thor".into()),
        ("GIT_AUTHOR_EMAIL", "author@example.com".into()),
        ("GIT_COMMITTER_NAME", "C O Mitter".into()),
        ("GIT_COMMITTER_EMAIL", "committer@example.com".into()),
        ("LC_ALL", "C".into()),
    ] {
        command.env(name, value);
    }
}
