//! A scratch repository with uncommitted work, for tests beside the code.
#![expect(clippy::disallowed_methods, reason = "tests start git by themselves")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use watchdog_core::config::settings::{ConfigSettings, RescueSettings};
use watchdog_git::{Snapshot, SnapshotPath, SnapshotRequest, Worktree};

use super::request::{NO_OTHERS, RescueRequest};

/// A repository with one commit of the file `tracked`, its settings, and the folder that it is in.
pub(super) struct ScratchWork {
    home: tempfile::TempDir,
    pub settings: RescueSettings,
}

impl ScratchWork {
    pub fn new() -> Self {
        let made = ScratchWork {
            home: tempfile::tempdir().expect("a scratch folder"),
            settings: ConfigSettings::default().rescue,
        };
        fs::create_dir(made.root()).expect("a folder");
        made.git(&["init", "-q", "-b", "main"]);
        for (key, value) in [
            ("user.name", "a"),
            ("user.email", "a@b"),
            ("commit.gpgSign", "false"),
        ] {
            made.git(&["config", key, value]);
        }
        made.write("tracked", "one\n");
        made.git(&["add", "tracked"]);
        made.git(&["commit", "-q", "-m", "base"]);
        made
    }

    pub fn root(&self) -> PathBuf {
        self.beside("repo")
    }

    /// A path outside of the repository.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.home
            .path()
            .canonicalize()
            .expect("it is there")
            .join(name)
    }

    pub fn write(&self, path: &str, text: &str) {
        fs::write(self.root().join(path), text).expect("a file");
    }

    #[track_caller]
    pub fn git(&self, args: &[&str]) -> String {
        let mut command = Command::new("git");
        command
            .current_dir(self.root())
            .args(args)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1");
        let output = command.output().expect("git");
        assert!(
            output.status.success(),
            "git {args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    pub fn open(&self) -> Worktree {
        Worktree::open(&self.root()).expect("a worktree")
    }

    pub fn snapshot(&self) -> Snapshot {
        let request = SnapshotRequest {
            spec: "auth",
            at: jiff::Timestamp::UNIX_EPOCH,
            why: "a test",
            max_new_bytes: None,
            even_clean: false,
        };
        self.open()
            .take_snapshot(&request)
            .expect("it is readable")
            .expect("there is work")
    }

    pub fn paths(&self, snapshot: &Snapshot) -> Vec<SnapshotPath> {
        self.open()
            .snapshot_paths(&snapshot.commit)
            .expect("it was just taken")
    }

    pub fn request<'a>(&'a self, snapshot: &'a Snapshot) -> RescueRequest<'a> {
        RescueRequest {
            settings: &self.settings,
            spec: "auth",
            snapshot,
            others: &NO_OTHERS,
        }
    }

    /// Commits everything as a rescue of this snapshot whose git died before the index followed. Returns the commit.
    pub fn commit_without_index(&self, snapshot: &Snapshot) -> String {
        let index = self.root().join(".git/index");
        let before = fs::read(&index).expect("an index");
        self.git(&["add", "--all"]);
        self.git(&[
            "commit",
            "-q",
            "-m",
            &format!("fix: x\n\nWatchdog-Snapshot: {}", snapshot.name),
        ]);
        fs::write(&index, before).expect("our own index");
        self.git(&["rev-parse", "HEAD"])
    }
}

/// Makes a file older than any git that could still be at work.
pub(super) fn make_old(path: &Path) {
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(86_400);
    fs::File::options()
        .write(true)
        .open(path)
        .and_then(|file| file.set_modified(old))
        .expect("our own file");
}
