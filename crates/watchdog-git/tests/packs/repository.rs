//! A repository made by git itself, and what a snapshot leaves in its database.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use watchdog_git::{RestoreTarget, Snapshot, SnapshotRequest, Worktree};

/// A repository in a temporary folder, away from the user's configuration.
pub struct ScratchRepo {
    _folder: tempfile::TempDir,
    pub root: PathBuf,
}

impl ScratchRepo {
    /// A repository with one commit of one file.
    pub fn new(init: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("the system has room");
        let root = folder
            .path()
            .canonicalize()
            .expect("it is there")
            .join("repo");
        fs::create_dir(&root).expect("it is new");
        let repo = ScratchRepo {
            _folder: folder,
            root,
        };
        repo.git(&[&["init", "-q", "-b", "main"], init].concat());
        for (key, value) in [
            ("user.name", "A Person"),
            ("user.email", "person@example.com"),
            ("gc.auto", "0"),
        ] {
            repo.git(&["config", key, value]);
        }
        repo.write("tracked", b"one\n");
        repo.git(&["add", "-A"]);
        repo.git(&["commit", "-qm", "start"]);
        repo
    }

    pub fn try_git(&self, args: &[&str]) -> Output {
        let home = self.root.parent().expect("it has a folder");
        let mut git = Command::new("git");
        git.current_dir(&self.root)
            .args(args)
            .env("HOME", home)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env_remove("GIT_DIR");
        git.output().expect("git is installed")
    }

    #[track_caller]
    pub fn git(&self, args: &[&str]) -> String {
        let out = self.try_git(args);
        assert!(
            out.status.success(),
            "git {args:?}: {}",
            String::from_utf8_lossy(&out.stderr)
        );
        String::from_utf8_lossy(&out.stdout).trim_end().to_owned()
    }

    pub fn write(&self, path: &str, content: &[u8]) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().expect("it has a folder")).expect("the folder is ours");
        fs::write(path, content).expect("the folder is ours");
    }

    /// Writes so many small files, whose content this number tells from others.
    pub fn write_many(&self, count: usize, number: u64) {
        for n in 0..count {
            self.write(
                &format!("many/{}/{n}", n % 7),
                format!("{number} {n}\n").repeat(n % 9 + 1).as_bytes(),
            );
        }
    }

    pub fn try_snapshot(&self) -> Result<Option<Snapshot>, watchdog_git::Error> {
        let at = "2026-01-02T03:04:05Z".parse().expect("a time");
        Worktree::open(&self.root)?.take_snapshot(&SnapshotRequest {
            spec: "auth",
            at,
            why: "test",
            max_new_bytes: None,
            even_clean: false,
        })
    }

    #[track_caller]
    pub fn snapshot(&self) -> Snapshot {
        self.try_snapshot()
            .expect("the repository is whole")
            .expect("something is uncommitted")
    }

    /// All files of a snapshot, restored into a folder, by their paths.
    pub fn restored(&self, snapshot: &Snapshot) -> BTreeMap<PathBuf, Vec<u8>> {
        let folder = tempfile::tempdir().expect("the system has room");
        let target = RestoreTarget::Directory(folder.path().join("restored"));
        Worktree::open(&self.root)
            .expect("it is a repository")
            .restore(&snapshot.name, target)
            .expect("it is whole");
        files_below(&folder.path().join("restored"))
    }

    /// All files of the work tree, by their paths.
    pub fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        files_below(&self.root)
    }

    /// The names in the folder of packs with this ending.
    pub fn packs(&self, ending: &str) -> Vec<PathBuf> {
        let entries =
            fs::read_dir(self.root.join(".git/objects/pack")).expect("the folder is there");
        let mut found: Vec<PathBuf> = entries
            .map(|entry| entry.expect("it can be listed").path())
            .collect();
        found.retain(|path| {
            path.extension() == Some(OsStr::new(ending))
                || (ending == "tmp" && path.to_string_lossy().contains("/tmp_"))
        });
        found.sort();
        found
    }

    /// What git counts as loose objects.
    pub fn loose(&self) -> u64 {
        let counted = self.git(&["count-objects", "-v"]);
        counted
            .lines()
            .find_map(|line| line.strip_prefix("count: ")?.parse().ok())
            .expect("git counts them")
    }

    /// git finds nothing to complain of.
    #[track_caller]
    pub fn assert_sound(&self) {
        self.git(&["fsck", "--full", "--strict", "--no-dangling"]);
        for pack in self.packs("pack") {
            self.git(&["index-pack", "--verify", pack.to_str().expect("UTF-8")]);
        }
    }
}

fn files_below(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("it can be listed") {
            let path = entry.expect("it can be listed").path();
            if path.file_name() == Some(OsStr::new(".git")) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else {
                found.insert(
                    path.strip_prefix(root).expect("it is below").to_owned(),
                    fs::read(&path).expect("it can be read"),
                );
            }
        }
    }
    found
}

/// Bytes that look random, and are the same each time.
pub fn noise(count: usize, mut seed: u64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(count + 8);
    while bytes.len() < count {
        seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bytes.extend_from_slice(&(z ^ (z >> 31)).to_le_bytes());
    }
    bytes.truncate(count);
    bytes
}
