//! What is left after a point: nothing lost, nothing silent, nothing called complete that is not, no lock, and the next run works.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::calls::{CallFault, Injection};
use super::ground::InjectionGround;
use super::scene::{NO_ROOM, Scene};
use crate::support::CommandOutput;
use crate::torture::manifest::{Manifest, manifest, missing};

/// Codes of verdicts and of other ends that a command may have (docs/verdict.md); 2 where what it was to act on cannot be read.
const ENDS: [i32; 10] = [0, 2, 10, 11, 12, 13, 14, 15, 16, 127];

/// What a point left, and what is wrong with it.
pub struct AfterPoint<'a> {
    pub ground: &'a InjectionGround,
    pub scene: Scene,
    pub injection: Injection,
    pub wanted: &'a Manifest,
    pub out: &'a CommandOutput,
}

impl AfterPoint<'_> {
    /// Everything that is wrong; none is as it should be. Removes locks that killed programs left, as a person would.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let mut check = |found: Result<(), String>| faults.extend(found.err());
        check(self.it_ended_properly());
        check(self.no_lock_is_left());
        check(self.git_is_content());
        check(self.what_is_called_well_is_well());
        check(self.nothing_is_lost());
        check(self.the_next_run_works());
        faults
    }

    /// Whether its process died at once, so that it could say nothing: by the kill, or because loader and standard library end a
    /// process that has no memory to begin with, or by us because it waits for room.
    fn was_killed(&self) -> bool {
        let ended_here = self.out.stderr.contains(NO_ROOM);
        self.out.code.is_some_and(|code| code > 128)
            && (self.injection.fault == CallFault::Kill
                || self.injection.takes_room()
                || ended_here)
    }

    /// Whether code of ours panicked. gix panics where it gets no thread; that is caught, and a verdict like any other.
    fn panicked(&self) -> bool {
        let ours = |line: &str| {
            line.contains("panicked at") && !(self.injection.takes_room() && line.contains("/gix"))
        };
        self.out.code == Some(70) || self.out.stderr.lines().any(ours)
    }

    fn it_ended_properly(&self) -> Result<(), String> {
        let code = self.out.code.unwrap_or(-1);
        if !self.was_killed() && self.panicked() {
            return Err("it panicked".to_owned());
        }
        if self.was_killed() || (self.scene == Scene::Watch && code == 130) {
            return Ok(());
        }
        if !ENDS.contains(&code) {
            return Err(format!("exit code {code} is nobody's"));
        }
        // A program that the loader cannot start says so itself.
        let said = format!("{}{}", self.out.stdout, self.out.stderr);
        let is_mute = self.injection.lasting && self.injection.family.name == "write";
        if code != 0 && said.trim().is_empty() && !is_mute {
            return Err(format!("exit code {code} without a word"));
        }
        if self.scene == Scene::HookStop && code != 0 && code != 127 {
            return Err(format!("a hook ended with {code}"));
        }
        let says_so = self
            .out
            .stderr
            .contains("failed to write the result to stdout");
        if self.scene == Scene::HookStop
            && code == 0
            && !says_so
            && !is_mute
            && serde_json::from_str::<Value>(&self.out.stdout).is_err()
        {
            return Err("a hook answered no JSON".to_owned());
        }
        Ok(())
    }

    fn no_lock_is_left(&self) -> Result<(), String> {
        let mut left = Vec::new();
        let mut folders = vec![self.ground.repo().join(".git")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push(path);
                } else if path
                    .extension()
                    .is_some_and(|extension| extension == "lock")
                    && !path.components().any(|part| part.as_os_str() == "watchdog")
                {
                    let _ = fs::remove_file(&path);
                    left.push(path);
                }
            }
        }
        if left.is_empty() || self.injection.may_leave_locks() {
            Ok(())
        } else {
            Err(format!("locks are left: {left:?}"))
        }
    }

    fn git_is_content(&self) -> Result<(), String> {
        if self.scene == Scene::RestoreWorktree && self.injection.may_leave_locks() {
            // What a killed `git worktree add` leaves of it.
            let _ = fs::remove_dir_all(self.ground.repo().join(".git/worktrees"));
        }
        let fsck = self
            .ground
            .git(&["fsck", "--strict", "--no-dangling", "--no-progress"]);
        let status = self.ground.git(&["status", "--porcelain"]);
        match (fsck.code, status.code) {
            (Some(0), Some(0)) => Ok(()),
            _ => Err(format!("git is not content: {fsck}{status}")),
        }
    }

    /// What it says is so: the work in HEAD, the snapshot there, the files brought back.
    fn what_is_called_well_is_well(&self) -> Result<(), String> {
        if !self.scene.says_well(self.out) {
            return Ok(());
        }
        let not = |what: &str| Err(format!("it says that all is well, and {what}"));
        match self.scene {
            Scene::Run
            | Scene::Check
            | Scene::Loop
            | Scene::Task
            | Scene::Sweep
            | Scene::Watch
            | Scene::HookStop => {
                if self.ground.git(&["cat-file", "-e", "HEAD:done.txt"]).code != Some(0) {
                    return not("HEAD does not have the work");
                }
                if self.scene.judges() && self.out.json()["complete"] != Value::Bool(true) {
                    return not("the verdict is not complete");
                }
            }
            Scene::Snapshot => {
                let head = self.ground.git(&["rev-parse", "HEAD"]).stdout;
                if self.out.json()["baseline"].as_str() != Some(head.trim()) {
                    return not("the baseline is not HEAD");
                }
            }
            Scene::Rescue => {
                let named = self.out.json()["left_out"].clone();
                let mut left = missing(self.wanted, &self.in_commit("HEAD")?);
                let is_named = |path: &Path| {
                    named
                        .to_string()
                        .contains(&format!("\"{}\"", path.display()))
                };
                left.retain(|path, _| {
                    !Path::new(&*String::from_utf8_lossy(path))
                        .ancestors()
                        .any(is_named)
                        && !is_named(Path::new("."))
                });
                if !left.is_empty() {
                    return not(&format!("HEAD misses {:?}", names(&left)));
                }
            }
            Scene::RestoreHere | Scene::RestoreFolder | Scene::RestoreWorktree => {
                let at = if self.scene == Scene::RestoreHere {
                    self.ground.repo()
                } else {
                    self.ground.target()
                };
                let said = self.out.json();
                let on_branch = said["to"] == "branch";
                let back = if on_branch {
                    self.in_commit(said["where"].as_str().unwrap_or_default())?
                } else {
                    manifest(&at)
                };
                let mut left = missing(self.wanted, &back);
                // Secrets stay off a branch, which its note says.
                left.retain(|path, _| !(on_branch && path == b".env"));
                if !left.is_empty() {
                    return not(&format!("{:?} is not back", names(&left)));
                }
            }
            Scene::Read(_) => {}
            Scene::Rebuild => {
                let listed = self
                    .ground
                    .env
                    .watchdog(&self.ground.repo(), &["rescue", "list", "--json"]);
                let count = serde_json::from_str::<Value>(&listed.stdout)
                    .ok()
                    .and_then(|list| Some(list["snapshots"].as_array()?.len()));
                if count.unwrap_or(0) == 0 {
                    return not(&format!("no snapshot is listed: {listed}"));
                }
            }
        }
        Ok(())
    }

    /// The files of a commit's tree, through git and tar.
    fn in_commit(&self, commit: &str) -> Result<Manifest, String> {
        let (tar, folder) = (self.scratch("head.tar"), self.scratch("head"));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).map_err(|e| e.to_string())?;
        let made = self
            .ground
            .git(&["archive", "-o", &tar.to_string_lossy(), commit]);
        let unpacked = self
            .ground
            .env
            .command("tar", &folder)
            .args(["-xf", &tar.to_string_lossy()])
            .run();
        if (made.code, unpacked.code) != (Some(0), Some(0)) {
            return Err(format!("{commit} cannot be read: {made}{unpacked}"));
        }
        Ok(manifest(&folder))
    }

    fn scratch(&self, name: &str) -> PathBuf {
        self.ground.env.root().join("tmp").join(name)
    }

    /// Every file that was there is in the work tree, in HEAD, or in a snapshot that can be brought back.
    fn nothing_is_lost(&self) -> Result<(), String> {
        let mut lost = missing(self.wanted, &manifest(&self.ground.repo()));
        if lost.is_empty() {
            return Ok(());
        }
        lost = missing(&lost, &self.in_commit("HEAD")?);
        let listed = self
            .ground
            .env
            .watchdog(&self.ground.repo(), &["rescue", "list", "--json"]);
        let list: Value = serde_json::from_str(&listed.stdout)
            .map_err(|e| format!("snapshots cannot be listed: {e}: {listed}"))?;
        for (n, snapshot) in list["snapshots"]
            .as_array()
            .into_iter()
            .flatten()
            .enumerate()
        {
            if lost.is_empty() {
                break;
            }
            let to = self.scratch(&format!("back-{n}"));
            let id = snapshot["id"].as_str().unwrap_or_default();
            let out = self.ground.env.watchdog(
                &self.ground.repo(),
                &["rescue", "restore", id, "--to", &to.to_string_lossy()],
            );
            if out.code != Some(0) {
                return Err(format!("a snapshot cannot be restored: {out}"));
            }
            lost = missing(&lost, &manifest(Path::new(&to)));
        }
        // What nobody may read nobody can keep; then it must say so before the session begins.
        let denied = self.injection.fault == CallFault::Error("EACCES")
            && self
                .out
                .stderr
                .contains("cannot be read (permission denied)");
        if lost.is_empty() || denied {
            Ok(())
        } else {
            Err(format!("LOST: {:?}", names(&lost)))
        }
    }

    /// The same command again, with nothing in its way, or a look where it needs what it brought back already.
    fn the_next_run_works(&self) -> Result<(), String> {
        let scene = match self.scene {
            // A second restore finds the work there, and a folder that is not empty.
            Scene::RestoreHere | Scene::RestoreFolder | Scene::RestoreWorktree | Scene::Watch => {
                Scene::Snapshot
            }
            Scene::Sweep | Scene::Check => Scene::Check,
            other => other,
        };
        let again = self
            .ground
            .call(scene, &[])
            .map_err(|hung| format!("the next {} {hung}", scene.name()))?;
        // A session that threw away what its predecessor left is complete by its commit; what a person must decide is an answer, too.
        let works = match scene {
            Scene::Check | Scene::Task => again
                .code
                .is_some_and(|code| matches!(code, 0 | 10 | 11 | 12)),
            _ => again.code == Some(0),
        };
        if works {
            Ok(())
        } else {
            Err(format!("the next {} does not work: {again}", scene.name()))
        }
    }
}

fn names(entries: &Manifest) -> Vec<String> {
    entries
        .keys()
        .map(|path| String::from_utf8_lossy(path).into_owned())
        .collect()
}
