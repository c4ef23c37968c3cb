//! A hermetic place for one test: own home, own temporary and state folders, a cleared environment, fixed git settings.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::command::{CommandOutput, Run, Running};
use super::processes::{self, Process};
use super::repo::{Repo, fill_line};
use super::test_database::TestDatabase;
use super::wait_for;

/// Every process that a test starts inherits this variable; it is how leftovers are found.
const MARK: &str = "WATCHDOG_TEST_MARK";

/// A hermetic place for one test. Dropping it ends every process that was started in it.
pub struct TestEnv {
    root: tempfile::TempDir,
    mark: String,
    vars: BTreeMap<OsString, OsString>,
}

impl TestEnv {
    /// Makes the folders and the environment.
    pub fn new() -> Self {
        Self::below(&std::env::temp_dir())
    }

    /// The same below a folder of one's choice.
    pub fn below(folder: &Path) -> Self {
        let root = tempfile::Builder::new()
            .prefix("watchdog-it-")
            .tempdir_in(folder)
            .expect("the system has room for a scratch folder");
        let at = fs::canonicalize(root.path()).expect("was just made");
        for folder in ["home", "tmp", "bin", "output", "state"] {
            fs::create_dir(at.join(folder)).expect("the scratch folder takes folders");
        }
        fs::write(at.join("home/.gitconfig"), GIT_CONFIG).expect("the scratch home takes a file");
        let mark = at
            .file_name()
            .expect("a scratch folder has a name")
            .to_string_lossy()
            .into_owned();
        let mut vars = BTreeMap::new();
        let mut set = |name: &str, value: OsString| vars.insert(OsString::from(name), value);
        set("PATH", search_path(&at.join("bin")));
        set("HOME", at.join("home").into());
        set("TMPDIR", at.join("tmp").into());
        set("WATCHDOG_STATE_DIR", at.join("state").into());
        set("GIT_CONFIG_NOSYSTEM", "1".into());
        set("GIT_CEILING_DIRECTORIES", at.clone().into());
        set("TZ", "UTC".into());
        set("LANG", "C.UTF-8".into());
        set("TERM", "dumb".into());
        set(MARK, mark.clone().into());
        TestEnv { root, mark, vars }
    }

    /// The scratch folder that holds everything of this test.
    pub fn root(&self) -> PathBuf {
        fs::canonicalize(self.root.path()).expect("lives as long as the test")
    }

    /// The home folder that programs see.
    pub fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    /// Where watchdog keeps its state.
    pub fn state(&self) -> PathBuf {
        self.root().join("state")
    }

    /// Sets a variable for everything that is started from now on.
    pub fn set(&mut self, name: &str, value: impl Into<OsString>) {
        self.vars.insert(name.into(), value.into());
    }

    /// Makes `program` callable as `name` in this environment.
    pub fn install(&self, name: &str, program: &Path) {
        symlink(program, self.root().join("bin").join(name)).expect("each name is installed once");
    }

    /// Writes a file below the scratch folder and returns its path.
    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.root().join(name);
        fs::create_dir_all(path.parent().expect("below the scratch folder"))
            .expect("the scratch folder takes folders");
        fs::write(&path, text).expect("the scratch folder takes files");
        path
    }

    /// Makes a script callable as `name` in this environment.
    pub fn install_script(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.write(&format!("programs/{name}"), text);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("the file is ours");
        self.install(name, &path);
    }

    /// A program, to be run in `cwd` in this environment.
    pub fn command(&self, program: impl Into<OsString>, cwd: &Path) -> Run {
        Run::new(program, cwd, &self.root().join("output"), self.vars.clone())
    }

    /// The built `watchdog`, to be run in `cwd`.
    pub fn watchdog_command(&self, cwd: &Path, args: &[&str]) -> Run {
        self.command(env!("CARGO_BIN_EXE_watchdog"), cwd).args(args)
    }

    /// Runs `watchdog` in `cwd` to its end.
    #[track_caller]
    pub fn watchdog(&self, cwd: &Path, args: &[&str]) -> CommandOutput {
        self.watchdog_command(cwd, args).run()
    }

    /// Starts `watchdog` in `cwd`.
    #[track_caller]
    pub fn watchdog_spawn(&self, cwd: &Path, args: &[&str]) -> Running {
        self.watchdog_command(cwd, args).spawn()
    }

    /// A git repository on branch `main` with one commit.
    pub fn repo(&self) -> Repo<'_> {
        self.repo_named("repo")
    }

    /// The same under another folder name.
    pub fn repo_named(&self, name: &str) -> Repo<'_> {
        let repo = self.unborn_repo(name);
        repo.write("README.md", "# a project\n");
        repo.commit_all("start");
        repo
    }

    /// Linked worktrees `names` beside a main one, in the folder `all`, each with a baseline.
    pub fn linked_worktrees(&self, names: &[&str]) -> Vec<Repo<'_>> {
        let repo = self.repo_named("all/repo");
        let make = |name: &&str| {
            repo.git(&["worktree", "add", "-q", &format!("../{name}"), "-b", name]);
            let worktree = Repo::new(self, self.root().join("all").join(name));
            worktree.watchdog(&["snapshot"]).expect(0);
            worktree
        };
        names.iter().map(make).collect()
    }

    /// A git repository on branch `main` without any commit.
    pub fn unborn_repo(&self, name: &str) -> Repo<'_> {
        let path = self.root().join(name);
        fs::create_dir_all(&path).expect("the scratch folder takes folders");
        let repo = Repo::new(self, path);
        repo.git(&["init", "-q", "-b", "main"]);
        repo
    }

    /// A server with a fleet that this machine made.
    pub fn fleet(&self) -> TestDatabase {
        let database = TestDatabase::new();
        let owner = database.full_address("owner");
        let init = fill_line("fleet init {} --worker worker", &[&owner]);
        self.watchdog(&self.root(), &init).expect(0);
        database
    }

    /// The processes that were started in this environment and still live.
    pub fn processes_left(&self) -> Vec<Process> {
        processes::with_variable(MARK, &self.mark)
    }

    /// Fails the test if a process of this environment still lives, after a moment to be reaped.
    #[track_caller]
    pub fn assert_nothing_left(&self) {
        let gone = wait_for(Duration::from_secs(5), || {
            self.processes_left().is_empty().then_some(())
        });
        assert!(gone.is_some(), "left running: {:#?}", self.processes_left());
    }
}

impl Drop for TestEnv {
    fn drop(&mut self) {
        // A process may fork between the look and the kill, hence until none is left.
        let gone = wait_for(Duration::from_secs(60), || {
            let left = self.processes_left();
            left.iter().for_each(Process::kill);
            left.is_empty().then_some(())
        });
        if gone.is_none() && !std::thread::panicking() {
            panic!("cannot end: {:#?}", self.processes_left());
        }
    }
}

/// The only git configuration in force.
const GIT_CONFIG: &str = "\
[user]
\tname = Test Person
\temail = person@example.invalid
[init]
\tdefaultBranch = main
[commit]
\tgpgSign = false
[gc]
\tauto = 0
[maintenance]
\tauto = false
[advice]
\tdetachedHead = false
[protocol \"file\"]
\tallow = always
";

/// Our own folder first, then only the system's, so that an agent installed elsewhere on the machine is not found.
fn search_path(own: &Path) -> OsString {
    let inherited = std::env::var_os("PATH").unwrap_or_default();
    let git = std::env::split_paths(&inherited)
        .map(|folder| folder.join("git"))
        .find(|git| git.is_file());
    symlink(git.expect("git is in PATH"), own.join("git")).expect("the folder was just made");
    std::env::join_paths([own, Path::new("/usr/bin"), Path::new("/bin")])
        .expect("no folder has a colon in it")
}
