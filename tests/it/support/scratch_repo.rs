//! A git repository made by git itself, away from the user's configuration, and views on all of its state.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use watchdog_core::config::settings::RescueSettings;
use watchdog_facts::evidence::RescueOutcome;
use watchdog_git::{PrivacyClassifier, Snapshot, SnapshotRequest, Worktree};
use watchdog_judge::rescue::{NO_OTHERS, RescueRequest, rescue_snapshot};

/// A repository with a work tree in a temporary folder.
pub struct ScratchRepo {
    dir: tempfile::TempDir,
    root: PathBuf,
}

/// Everything in a folder, `.git` aside: kind, executable bit and bytes by path.
pub type Files = BTreeMap<Vec<u8>, (char, Vec<u8>)>;

impl ScratchRepo {
    /// A repository on the unborn branch `main`.
    pub fn unborn() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("repo");
        std::fs::create_dir_all(&root).unwrap();
        std::fs::create_dir_all(dir.path().join("home")).unwrap();
        let repo = ScratchRepo { dir, root };
        repo.git(["init", "-q", "-b", "main"]);
        for (key, value) in [
            ("user.name", "A Person"),
            ("user.email", "person@example.com"),
            ("commit.gpgSign", "false"),
            ("gc.auto", "0"),
        ] {
            repo.git(["config", key, value]);
        }
        repo
    }

    /// A repository like [`ScratchRepo::new`], whose branch `other` has another `tracked` than `main`.
    pub fn beside_a_conflict() -> Self {
        let repo = Self::new();
        repo.git(["switch", "-qc", "other"]);
        repo.write("tracked", "theirs\n");
        repo.git(["commit", "-qam", "theirs"]);
        repo.git(["switch", "-q", "main"]);
        repo.write("tracked", "ours\n");
        repo.git(["commit", "-qam", "ours"]);
        repo
    }

    /// A repository with one commit: `tracked` (content `one`), `dir/inner`, `run.sh` (executable), `link` to `tracked`.
    pub fn new() -> Self {
        let repo = Self::unborn();
        repo.write("tracked", "one\n");
        repo.write("dir/inner", "inner\n");
        repo.write("run.sh", "#!/bin/sh\n");
        repo.chmod("run.sh", 0o755);
        repo.symlink("tracked", "link");
        repo.git(["add", "-A"]);
        repo.git(["commit", "-qm", "start"]);
        repo
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A path beside the repository, in the same temporary folder.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    pub fn path(&self, name: impl AsRef<OsStr>) -> PathBuf {
        self.root.join(name.as_ref())
    }

    pub fn write(&self, name: impl AsRef<OsStr>, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub fn remove(&self, name: &str) {
        std::fs::remove_file(self.path(name)).unwrap();
    }

    pub fn chmod(&self, name: &str, mode: u32) {
        std::fs::set_permissions(self.path(name), std::fs::Permissions::from_mode(mode)).unwrap();
    }

    pub fn symlink(&self, target: &str, name: &str) {
        std::os::unix::fs::symlink(target, self.path(name)).unwrap();
    }

    /// A shell script that runs as a hook.
    pub fn hook(&self, name: &str, script: &str) {
        let path = self.path(".git/hooks").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn command(&self, folder: &Path) -> Command {
        let mut command = Command::new("git");
        for (name, _) in std::env::vars_os() {
            if name.as_bytes().starts_with(b"GIT_") {
                command.env_remove(name);
            }
        }
        command
            .current_dir(folder)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("HOME", self.dir.path().join("home"));
        for who in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{who}_NAME"), "A Person")
                .env(format!("GIT_{who}_EMAIL"), "person@example.com");
        }
        command.args(["-c", "protocol.file.allow=always"]);
        command
    }

    /// Runs git in a folder, whatever comes of it.
    pub fn try_git_in<S: AsRef<OsStr>>(
        &self,
        folder: &Path,
        args: impl IntoIterator<Item = S>,
    ) -> Output {
        self.command(folder).args(args).output().unwrap()
    }

    /// Runs git in a folder; it must succeed.
    pub fn git_in<S: AsRef<OsStr>>(
        &self,
        folder: &Path,
        args: impl IntoIterator<Item = S>,
    ) -> String {
        let out = self.try_git_in(folder, args);
        assert!(
            out.status.success(),
            "git failed: {}{}",
            String::from_utf8_lossy(&out.stdout),
            String::from_utf8_lossy(&out.stderr)
        );
        String::from_utf8_lossy(&out.stdout).trim_end().to_owned()
    }

    /// Runs git in the work tree; it must succeed.
    pub fn git<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> String {
        self.git_in(&self.root, args)
    }

    pub fn open(&self) -> Worktree {
        Worktree::open(&self.root).unwrap()
    }

    /// Takes a snapshot of the spec `auth`.
    pub fn try_snapshot(&self) -> Option<Snapshot> {
        self.open()
            .take_snapshot(&SnapshotRequest {
                spec: "auth",
                at: instant(),
                why: "test",
                max_new_bytes: None,
                even_clean: false,
            })
            .unwrap()
    }

    /// Takes a snapshot of the spec `auth`, with what `rule` names kept apart.
    pub fn snapshot_apart(&self, rule: PrivacyClassifier<'_>) -> Option<Snapshot> {
        self.open()
            .take_snapshot_with_private(
                &SnapshotRequest {
                    spec: "auth",
                    at: instant(),
                    why: "test",
                    max_new_bytes: None,
                    even_clean: false,
                },
                rule,
            )
            .unwrap()
    }

    /// Takes a snapshot where there must be something to keep.
    pub fn snapshot(&self) -> Snapshot {
        self.try_snapshot().expect("there is uncommitted work")
    }

    /// Rescues a snapshot of the spec `auth` without asking for a plan.
    pub fn rescue(&self, snapshot: &Snapshot, settings: &RescueSettings) -> RescueOutcome {
        let request = RescueRequest {
            settings,
            spec: "auth",
            snapshot,
            others: &NO_OTHERS,
        };
        rescue_snapshot(&self.open(), &request, None).unwrap()
    }

    /// The names that a commit changes, a line each.
    pub fn names_in(&self, commit: &str) -> String {
        self.git(["show", "--format=", "--name-only", commit])
    }

    /// The id of a snapshot on the command line.
    pub fn id(snapshot: &Snapshot) -> &str {
        snapshot.name.strip_prefix("refs/watchdog/rescue/").unwrap()
    }

    /// Throws away everything that is in no commit, as an agent might.
    pub fn wipe(&self) {
        self.git(["reset", "-q", "--hard"]);
        self.git(["clean", "-q", "-ffdx"]);
    }

    /// Everything that git would not ignore is in here, and more.
    pub fn files(&self) -> Files {
        files(&self.root)
    }

    /// Length, hash and time of every file of `.git` that a snapshot must not touch.
    pub fn private_state(&self) -> BTreeMap<PathBuf, (usize, u64, i64, i64)> {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let git = self.root.join(".git");
        let mut found = BTreeMap::new();
        let mut folders = vec![git.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let inside = path.strip_prefix(&git).unwrap().to_owned();
                if inside.starts_with("objects")
                    || inside.starts_with("refs/watchdog")
                    || inside.ends_with("COMMIT_EDITMSG")
                {
                    continue;
                }
                let meta = std::fs::symlink_metadata(&path).unwrap();
                if meta.is_dir() {
                    folders.push(path);
                    continue;
                }
                let bytes = std::fs::read(&path).unwrap();
                let mut hasher = DefaultHasher::new();
                bytes.hash(&mut hasher);
                found.insert(
                    inside,
                    (
                        bytes.len(),
                        hasher.finish(),
                        meta.mtime(),
                        meta.mtime_nsec(),
                    ),
                );
            }
        }
        found
    }
}

/// A fixed instant, so that names are known.
pub fn instant() -> jiff::Timestamp {
    "2026-03-04T05:06:07Z".parse().unwrap()
}

/// Kind, executable bit and bytes of everything in a folder, `.git` aside.
pub fn files(root: &Path) -> Files {
    let mut found = Files::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let meta = std::fs::symlink_metadata(&path).unwrap();
            if path.file_name() == Some(OsStr::new(".git")) {
                continue;
            }
            let name = path
                .strip_prefix(root)
                .unwrap()
                .as_os_str()
                .as_bytes()
                .to_vec();
            if meta.is_dir() {
                folders.push(path);
            } else if meta.is_symlink() {
                found.insert(
                    name,
                    (
                        'l',
                        std::fs::read_link(&path)
                            .unwrap()
                            .as_os_str()
                            .as_bytes()
                            .to_vec(),
                    ),
                );
            } else if meta.is_file() {
                let kind = if meta.mode() & 0o100 != 0 { 'x' } else { 'f' };
                found.insert(name, (kind, std::fs::read(&path).unwrap()));
            }
        }
    }
    found
}

/// Runs one test of this binary in a process of its own, started by `prefix` (a program and its arguments) and with
/// other variables. Returns true in the process that is to go on with the test.
pub fn in_own_process(test: &str, prefix: &[&str], variables: &[(&str, &str)]) -> bool {
    const MARK: &str = "WATCHDOG_TEST_IN_OWN_PROCESS";
    if std::env::var_os(MARK).is_some() {
        return true;
    }
    let this = std::env::current_exe().unwrap();
    let this = this.to_str().unwrap();
    let argv: Vec<&str> = prefix
        .iter()
        .copied()
        .chain([this, "--exact", test, "--nocapture"])
        .collect();
    let mut command = Command::new(argv[0]);
    command
        .args(&argv[1..])
        .env(MARK, "1")
        .envs(variables.iter().copied());
    let out = command.output().unwrap();
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&out.stdout),
        String::from_utf8_lossy(&out.stderr)
    );
    assert!(out.status.success() && text.contains("1 passed"), "{text}");
    false
}
