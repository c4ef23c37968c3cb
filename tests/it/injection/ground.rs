//! Where the points of one worker are played: a repository and a state folder at the same place each time, laid anew from a copy.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::scene::Scene;
use crate::support::{CommandOutput, TestEnv, wait_for};
use crate::torture::manifest::{Manifest, manifest};

/// How long a command may take before it counts as hung.
const PATIENCE: Duration = Duration::from_secs(40);

/// The place of one worker.
pub struct InjectionGround {
    pub env: TestEnv,
    laid: BTreeMap<Scene, Manifest>,
}

impl InjectionGround {
    pub fn new() -> Self {
        let env = TestEnv::new();
        fs::create_dir(env.root().join("templates")).expect("a new folder");
        env.write("config/completion.json", super::scene::CONFIG);
        env.write("config/plain.json", super::scene::PLAIN_CONFIG);
        InjectionGround {
            env,
            laid: BTreeMap::new(),
        }
    }

    pub fn repo(&self) -> PathBuf {
        self.env.root().join("repo")
    }

    /// Where restores go that make a folder.
    pub fn target(&self) -> PathBuf {
        self.env.root().join("target")
    }

    /// Lays the scene's repository and state, and returns what is in the work tree, or was when the snapshot to restore was taken.
    pub fn lay(&mut self, scene: Scene) -> Manifest {
        self.clear();
        let scene = if matches!(scene, Scene::Read(_)) {
            Scene::Read("read")
        } else {
            scene
        };
        let template = self.env.root().join("templates").join(scene.name());
        if let Some(manifest) = self.laid.get(&scene) {
            self.copy(&template.join("repo"), &self.repo());
            self.copy(&template.join("state"), &self.env.state());
            return manifest.clone();
        }
        fs::create_dir(self.env.state()).expect("was just removed");
        self.make_work();
        let wanted = manifest(&self.repo());
        scene.prepare(self);
        fs::create_dir(&template).expect("a new folder");
        self.copy(&self.repo(), &template.join("repo"));
        self.copy(&self.env.state(), &template.join("state"));
        self.laid.insert(scene, wanted.clone());
        wanted
    }

    fn clear(&self) {
        for folder in [
            self.repo(),
            self.env.state(),
            self.target(),
            self.env.root().join("tmp"),
            self.env.root().join("output"),
        ] {
            // A restore of a folder without its rights must not stop the next point.
            let _ = fs::remove_dir_all(&folder);
        }
        for folder in ["tmp", "output"] {
            fs::create_dir(self.env.root().join(folder)).expect("was just removed");
        }
    }

    /// With times, links and rights, as git trusts them.
    fn copy(&self, from: &std::path::Path, to: &std::path::Path) {
        let copied = Command::new("cp")
            .arg("-a")
            .arg(from)
            .arg(to)
            .status()
            .expect("cp is there");
        assert!(
            copied.success(),
            "cp -a {} {}",
            from.display(),
            to.display()
        );
    }

    /// A repository with work of every kind.
    fn make_work(&self) {
        let repo = self.env.unborn_repo("repo");
        repo.git(&["config", "core.fsync", "none"]);
        for (name, text) in [
            ("tracked", "one\n"),
            ("gone", "two\n"),
            ("dir/inner", "three\n"),
            ("mode", "four\n"),
            (".gitignore", "*.ign\n"),
        ] {
            repo.write(name, text);
        }
        repo.write(
            ".watchdog/tasks/T1.md",
            "---\nid: T1\ntitle: Be done\n---\n\nMake done.txt.\n",
        );
        symlink("tracked", repo.path().join("link")).expect("a new link");
        repo.commit_all("base");
        repo.git(&["pack-refs", "--all"]);
        repo.write("tracked", "changed\n");
        fs::remove_file(repo.path().join("gone")).expect("it is there");
        fs::set_permissions(repo.path().join("mode"), fs::Permissions::from_mode(0o755))
            .expect("ours");
        fs::remove_file(repo.path().join("link")).expect("it is there");
        symlink("dir", repo.path().join("link")).expect("was just removed");
        repo.write("new/file", "new\n");
        repo.write("dir/added", "deep\n");
        repo.write("staged", "staged\n");
        repo.git(&["add", "staged"]);
        repo.write("staged", "edited since\n");
        repo.write(
            "bytes",
            crate::support::random_tree::Dice::new(7).bytes(20_000),
        );
        repo.write(".env", "TOKEN=x\n");
        repo.write("x.ign", "ignored\n");
    }

    /// Any git command in the repository, whatever it returns.
    pub fn git(&self, args: &[&str]) -> CommandOutput {
        self.env.command("git", &self.repo()).args(args).run()
    }

    /// Runs the scene's command to its end, behind another program with its arguments where there is one. `Err` says that it hung.
    pub fn call(&self, scene: Scene, wrapper: &[String]) -> Result<CommandOutput, String> {
        let watchdog = env!("CARGO_BIN_EXE_watchdog").to_owned();
        let args = scene.args(self);
        let run = match wrapper {
            [] => self.env.command(watchdog, &self.repo()).args(args),
            [program, rest @ ..] => self
                .env
                .command(program, &self.repo())
                .args(rest)
                .args([watchdog])
                .args(args),
        };
        let mut running = run.stdin(scene.stdin(self)).timeout(PATIENCE * 2).spawn();
        if scene == Scene::Watch {
            self.accompany_watch(&mut running);
        }
        let waits_for_room = |running: &crate::support::Running| {
            running.stderr_so_far().contains(super::scene::NO_ROOM)
        };
        let ended = wait_for(PATIENCE, || {
            let over = running.ended();
            (over || waits_for_room(&running)).then_some(over)
        });
        if ended != Some(true) {
            let said = format!("{}{}", running.stdout_so_far(), running.stderr_so_far());
            let left: Vec<String> = self
                .env
                .processes_left()
                .iter()
                .map(|process| process.command.clone())
                .collect();
            self.end_what_is_left();
            // It says that it waits for room; nobody waits that long here.
            return if ended == Some(false) {
                Ok(running.wait())
            } else {
                Err(format!("hung; said: {said}; processes: {left:?}"))
            };
        }
        // strace stays until all that it follows has ended.
        Ok(running.wait())
    }

    fn end_what_is_left(&self) {
        let gone = wait_for(Duration::from_secs(60), || {
            let left = self.env.processes_left();
            left.iter().for_each(|process| process.kill());
            left.is_empty().then_some(())
        });
        assert!(gone.is_some(), "cannot end {:?}", self.env.processes_left());
    }

    /// A watch stays: it sees a commit, and is asked to end once it judged that or cannot.
    fn accompany_watch(&self, running: &mut crate::support::Running) {
        let soon = Duration::from_secs(5);
        wait_for(soon, || {
            (running.ended() || running.stderr_so_far().contains("watching ")).then_some(())
        });
        fs::write(self.repo().join("done.txt"), "done\n").expect("the work tree takes files");
        let _ = self.git(&["add", "done.txt"]);
        let _ = self.git(&["commit", "-q", "-m", "feat: done", "--", "done.txt"]);
        wait_for(soon, || {
            (running.ended() || running.stdout_so_far().contains('\n')).then_some(())
        });
        let parent = running.pid();
        let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"))
            .unwrap_or_default();
        // Behind strace it is the child; alone it is the process itself.
        let first = children
            .split_whitespace()
            .next()
            .and_then(|pid| pid.parse().ok());
        if let Some(pid) = first.or(i32::try_from(parent).ok()).and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::INT);
        }
    }
}
