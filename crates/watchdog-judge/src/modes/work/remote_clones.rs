//! A real bare repository and clones of it, for tests of what travels by git.
#![expect(clippy::disallowed_methods, reason = "tests start git by themselves")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::task_remote::{RecalledRefs, TaskRemote};
use watchdog_git::Worktree;

/// A bare repository, and clones of it.
pub(super) struct RemoteClones {
    pub home: tempfile::TempDir,
}

pub(super) fn try_git(at: &Path, args: &[&str]) -> Output {
    let mut command = Command::new("git");
    command
        .current_dir(at)
        .args([
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b",
            "-c",
            "commit.gpgSign=false",
        ])
        .args(args);
    command
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .expect("git")
}

#[track_caller]
pub(super) fn git(at: &Path, args: &[&str]) -> String {
    let output = try_git(at, args);
    assert!(
        output.status.success(),
        "git {args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

impl RemoteClones {
    pub(super) fn new() -> Self {
        let made = RemoteClones {
            home: tempfile::tempdir().expect("a scratch folder"),
        };
        git(
            made.home.path(),
            &["init", "-q", "--bare", "-b", "main", "remote.git"],
        );
        git(made.home.path(), &["clone", "-q", "remote.git", "first"]);
        let first = made.at("first");
        git(&first, &["commit", "-q", "--allow-empty", "-m", "base"]);
        git(&first, &["push", "-q", "origin", "HEAD:main"]);
        made
    }

    pub(super) fn at(&self, name: &str) -> PathBuf {
        self.home
            .path()
            .canonicalize()
            .expect("it is there")
            .join(name)
    }

    pub(super) fn clone(&self, name: &str) -> PathBuf {
        git(self.home.path(), &["clone", "-q", "remote.git", name]);
        self.at(name)
    }

    pub(super) fn remote(&self, fence: i64) -> TaskRemote {
        TaskRemote {
            name: "origin".into(),
            url: self.at("remote.git").display().to_string(),
            task: "T1".into(),
            fence,
            recalled: RecalledRefs::default(),
        }
    }

    pub(super) fn refs(&self) -> String {
        git(
            &self.at("remote.git"),
            &["for-each-ref", "--format=%(refname) %(objectname)"],
        )
    }

    pub(super) fn there(&self, name: &str) -> Option<String> {
        let output = try_git(
            &self.at("remote.git"),
            &["rev-parse", "-q", "--verify", name],
        );
        output
            .status
            .success()
            .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    pub(super) fn hook(&self, script: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.at("remote.git").join("hooks/pre-receive");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a hook");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    }
}

pub(super) fn open(at: &Path) -> Worktree {
    Worktree::open(at).expect("a worktree")
}

pub(super) fn head(at: &Path) -> String {
    git(at, &["rev-parse", "HEAD"])
}

pub(super) fn commit(at: &Path, name: &str) -> String {
    std::fs::write(at.join(name), name).expect("a file");
    git(at, &["add", "-A"]);
    git(at, &["commit", "-q", "-m", name]);
    head(at)
}
