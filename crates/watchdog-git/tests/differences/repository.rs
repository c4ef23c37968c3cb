//! A scratch repository, away from the user's configuration, and git in it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub struct ScratchRepository {
    _folder: tempfile::TempDir,
    pub root: PathBuf,
}

impl ScratchRepository {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("the system has room");
        let root = folder
            .path()
            .canonicalize()
            .expect("it is there")
            .join("repository");
        fs::create_dir(&root).expect("it is new");
        let repository = ScratchRepository {
            _folder: folder,
            root,
        };
        repository.git(&["init", "-q", "-b", "main"]);
        for (key, value) in [
            ("user.name", "A"),
            ("user.email", "a@example.com"),
            ("gc.auto", "0"),
            ("maintenance.auto", "false"),
        ] {
            repository.git(&["config", key, value]);
        }
        repository
    }

    /// So many commits one after the other on `main`; the ids, oldest first.
    pub fn commits(&self, count: usize) -> Vec<String> {
        let mut stream = String::new();
        for n in 0..count {
            stream.push_str(&format!(
                "commit refs/heads/main\ncommitter A <a@example.com> {} +0000\ndata 1\n{n}\n",
                1_700_000_000 + n
            ));
        }
        self.git_with(&["fast-import", "--quiet"], stream.as_bytes());
        let listed = self.git(&["rev-list", "--reverse", "main"]);
        listed.lines().map(str::to_owned).collect()
    }

    #[track_caller]
    pub fn git(&self, args: &[&str]) -> String {
        self.git_with(args, b"")
    }

    /// What git prints that is given this as its input.
    #[track_caller]
    pub fn git_with(&self, args: &[&str], input: &[u8]) -> String {
        let home = self.root.parent().expect("it has a folder");
        let mut git = Command::new("git");
        git.current_dir(&self.root)
            .args(args)
            .env("HOME", home)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env_remove("GIT_DIR");
        git.stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut running = git.spawn().expect("git is installed");
        running
            .stdin
            .take()
            .expect("it is piped")
            .write_all(input)
            .expect("git reads all of it");
        let out = running.wait_with_output().expect("git ends");
        assert!(
            out.status.success(),
            "git {args:?}: {}",
            String::from_utf8_lossy(&out.stderr)
        );
        String::from_utf8(out.stdout).expect("the names are text")
    }

    /// Writes a file, and the folders above it.
    pub fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().expect("it has a folder")).expect("the folder is ours");
        fs::write(path, content).expect("the folder is ours");
    }
}
