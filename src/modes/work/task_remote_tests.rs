//! Real clones of a real bare repository: who may push what, and who comes late.
#![expect(clippy::disallowed_methods, reason = "tests start git by themselves")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use super::*;

/// A bare repository, and clones of it.
struct Scene {
    home: tempfile::TempDir,
}

fn try_git(at: &Path, args: &[&str]) -> Output {
    let mut command = Command::new("git");
    command.current_dir(at).args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgSign=false"]).args(args);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").output().expect("git")
}

#[track_caller]
fn git(at: &Path, args: &[&str]) -> String {
    let output = try_git(at, args);
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

impl Scene {
    fn new() -> Self {
        let scene = Scene { home: tempfile::tempdir().expect("a scratch folder") };
        git(scene.home.path(), &["init", "-q", "--bare", "-b", "main", "remote.git"]);
        git(scene.home.path(), &["clone", "-q", "remote.git", "first"]);
        let first = scene.at("first");
        git(&first, &["commit", "-q", "--allow-empty", "-m", "base"]);
        git(&first, &["push", "-q", "origin", "HEAD:main"]);
        scene
    }

    fn at(&self, name: &str) -> PathBuf {
        self.home.path().canonicalize().expect("it is there").join(name)
    }

    fn clone(&self, name: &str) -> PathBuf {
        git(self.home.path(), &["clone", "-q", "remote.git", name]);
        self.at(name)
    }

    fn remote(&self, fence: i64) -> TaskRemote {
        TaskRemote { name: "origin".into(), url: self.at("remote.git").display().to_string(), task: "T1".into(), fence }
    }

    fn refs(&self) -> String {
        git(&self.at("remote.git"), &["for-each-ref", "--format=%(refname) %(objectname)"])
    }

    fn there(&self, name: &str) -> Option<String> {
        let output = try_git(&self.at("remote.git"), &["rev-parse", "-q", "--verify", name]);
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    fn hook(&self, script: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.at("remote.git").join("hooks/pre-receive");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a hook");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    }
}

fn open(at: &Path) -> Worktree {
    Worktree::open(at).expect("a worktree")
}

fn head(at: &Path) -> String {
    git(at, &["rev-parse", "HEAD"])
}

fn commit(at: &Path, name: &str) -> String {
    std::fs::write(at.join(name), name).expect("a file");
    git(at, &["add", "-A"]);
    git(at, &["commit", "-q", "-m", name]);
    head(at)
}

const BRANCH: &str = "refs/heads/watchdog/T1";
const FENCE: &str = "refs/watchdog/fence/T1";

#[test]
fn the_next_machine_goes_on_where_the_last_one_pushed_and_the_late_one_writes_nothing() {
    let scene = Scene::new();
    let (first, second) = (scene.at("first"), scene.clone("second"));
    let old = scene.remote(3);
    let taken = old.take_over(&open(&first), &head(&first)).expect("taken over");
    assert_eq!((taken.branch.as_str(), taken.is_fenced, taken.head), ("watchdog/T1", true, head(&first)));
    let fence = scene.there(FENCE);
    let work = commit(&first, "a");
    old.push(&open(&first), &work).expect("pushed");
    assert_eq!(scene.there(BRANCH), Some(work.clone()));
    assert_ne!(scene.there(FENCE), fence, "every push moves the fence");
    let fence = scene.there(FENCE);
    old.push(&open(&first), &work).expect("pushed again");
    assert_ne!(scene.there(FENCE), fence, "even one that leaves the branch as it is");
    let new = scene.remote(7);
    let taken = new.take_over(&open(&second), &head(&second)).expect("taken over");
    assert_eq!(taken.head, work);
    git(&second, &["cat-file", "-e", &work]);
    let before = scene.refs();
    let late = commit(&first, "late");
    let refused = TaskRemoteError::Late { task: "T1".into(), remote: "origin".into(), found: 7, ours: 3 };
    assert_eq!(old.push(&open(&first), &late), Err(refused.clone()));
    assert_eq!(old.take_over(&open(&first), &late), Err(refused));
    assert_eq!(scene.refs(), before);
    assert_eq!(scene.there(&format!("{late}^{{commit}}")), None, "not even the objects");
}

#[test]
fn a_push_that_is_under_way_while_another_machine_takes_over_is_refused_as_a_whole() {
    let scene = Scene::new();
    let (first, second) = (scene.at("first"), scene.clone("second"));
    let old = scene.remote(3);
    old.take_over(&open(&first), &head(&first)).expect("taken over");
    let late = commit(&first, "late");
    let (block, blocked) = (scene.at("block"), scene.at("blocked"));
    scene.hook(&format!(
        "if mv '{}' '{}' 2>/dev/null; then while [ -e '{1}' ]; do sleep 0.05; done; fi",
        block.display(),
        blocked.display()
    ));
    std::fs::write(&block, "").expect("a file");
    thread::scope(|scope| {
        let pushing = scope.spawn(|| old.push(&open(&first), &late));
        let since = Instant::now();
        while !blocked.exists() {
            assert!(since.elapsed() < Duration::from_secs(60) && !pushing.is_finished(), "the push reaches the remote");
            thread::sleep(Duration::from_millis(20));
        }
        scene.remote(7).take_over(&open(&second), &head(&second)).expect("taken over meanwhile");
        let before = scene.refs();
        std::fs::remove_file(&blocked).expect("it goes on");
        let ended = pushing.join().expect("no panic");
        assert!(matches!(ended, Err(TaskRemoteError::Late { found: 7, ours: 3, .. })), "{ended:?}");
        assert_eq!(scene.refs(), before);
    });
}

#[test]
fn where_the_remote_is_not_atomic_each_fence_has_a_branch_of_its_own() {
    let scene = Scene::new();
    git(&scene.at("remote.git"), &["config", "receive.advertiseAtomic", "false"]);
    let (first, second) = (scene.at("first"), scene.clone("second"));
    let old = scene.remote(3);
    let taken = old.take_over(&open(&first), &head(&first)).expect("taken over");
    assert_eq!((taken.branch.as_str(), taken.is_fenced), ("watchdog/T1-3", false));
    let work = commit(&first, "a");
    old.push(&open(&first), &work).expect("pushed");
    let new = scene.remote(12);
    let taken = new.take_over(&open(&second), &head(&second)).expect("taken over");
    assert_eq!((taken.branch.as_str(), &taken.head), ("watchdog/T1-12", &work));
    let late = commit(&first, "late");
    assert!(matches!(old.push(&open(&first), &late), Err(TaskRemoteError::Late { found: 12, .. })));
    assert_eq!((scene.there("refs/heads/watchdog/T1-3"), scene.there(BRANCH), scene.there(FENCE)), (Some(work), None, None));
}

#[test]
fn nothing_in_the_repository_says_where_a_push_goes_or_what_the_remote_answers() {
    let scene = Scene::new();
    let first = scene.at("first");
    git(scene.home.path(), &["init", "-q", "--bare", "elsewhere.git"]);
    let (there, elsewhere) = (scene.at("remote.git").display().to_string(), scene.at("elsewhere.git").display().to_string());
    for (key, value) in [
        (format!("url.{elsewhere}.insteadOf"), there.as_str()),
        (format!("url.{elsewhere}.pushInsteadOf"), there.as_str()),
        ("remote.origin.pushurl".into(), elsewhere.as_str()),
        ("core.hooksPath".into(), "hooks"),
        ("core.sshCommand".into(), "false"),
        ("push.pushOption".into(), "x"),
    ] {
        git(&first, &["config", "--add", &key, value]);
    }
    std::fs::create_dir(first.join("hooks")).expect("a folder");
    std::fs::write(first.join("hooks/pre-push"), "#!/bin/sh\nexit 1\n").expect("a hook");
    let work = commit(&first, "a");
    let remote = scene.remote(3);
    remote.take_over(&open(&first), &work).expect("taken over");
    remote.push(&open(&first), &work).expect("pushed");
    assert_eq!(scene.there(BRANCH), Some(work));
    assert_eq!(git(&scene.at("elsewhere.git"), &["for-each-ref"]), "");
}

#[test]
fn commits_of_others_are_never_overwritten_and_a_fence_of_others_is_left() {
    let scene = Scene::new();
    let (first, second) = (scene.at("first"), scene.clone("second"));
    let remote = scene.remote(3);
    remote.take_over(&open(&first), &head(&first)).expect("taken over");
    let theirs = commit(&second, "theirs");
    git(&second, &["push", "-q", "origin", &format!("HEAD:{BRANCH}")]);
    let ours = commit(&first, "ours");
    let before = scene.refs();
    assert!(matches!(remote.push(&open(&first), &ours), Err(TaskRemoteError::Diverged { found, .. }) if found == theirs));
    assert_eq!(scene.refs(), before);
    git(&second, &["push", "-q", "--force", "origin", &format!("HEAD:{FENCE}")]);
    let before = scene.refs();
    assert!(matches!(remote.push(&open(&first), &ours), Err(TaskRemoteError::ForeignFence { .. })));
    assert_eq!(scene.refs(), before);
}

#[test]
fn a_remote_that_is_away_or_refuses_says_why() {
    let scene = Scene::new();
    let first = scene.at("first");
    scene.hook("echo 'no space left on device' >&2; exit 1");
    let refused = scene.remote(3).take_over(&open(&first), &head(&first)).expect_err("it refuses").to_string();
    assert!(refused.contains("no space left") && refused.contains("origin"), "{refused}");
    assert_eq!(scene.there(BRANCH), None);
    let url = "http://me:hush-hush@127.0.0.1:9/team/app.git".to_owned();
    let away = TaskRemote { url, ..scene.remote(3) }.push(&open(&first), &head(&first)).expect_err("nobody answers").to_string();
    assert!(!away.contains("hush"), "{away}");
}

#[test]
fn a_local_branch_with_other_commits_is_kept_under_another_name_and_one_without_goes_on() {
    use super::super::own_worktree::keep_beside;
    let scene = Scene::new();
    let first = scene.at("first");
    let (base, name) = (head(&first), "watchdog/T1");
    let theirs = commit(&first, "theirs");
    git(&first, &["branch", name, &base]);
    assert_eq!(keep_beside(&open(&first), name, &theirs), Ok(None));
    assert_eq!(git(&first, &["rev-parse", name]), theirs, "it was behind");
    let later = commit(&first, "later");
    git(&first, &["branch", "-f", name, &later]);
    assert_eq!(keep_beside(&open(&first), name, &theirs), Ok(None));
    assert_eq!(git(&first, &["rev-parse", name]), later, "its commits are pushed with the next ones");
    git(&first, &["checkout", "-q", "-b", "side", &base]);
    let ours = commit(&first, "ours");
    git(&first, &["branch", "-f", name, &ours]);
    let said = keep_beside(&open(&first), name, &theirs).expect("kept").expect("said");
    let kept = format!("{name}-kept-{}", &ours[..8]);
    assert!(said.contains(&kept), "{said}");
    assert_eq!(git(&first, &["rev-parse", &kept]), ours);
    assert_eq!(scene.there(BRANCH), None);
    assert!(!try_git(&first, &["rev-parse", "-q", "--verify", name]).status.success());
    git(&first, &["worktree", "add", "-q", "../beside", "-b", name, &base]);
    let beside = scene.at("beside");
    std::fs::write(beside.join("unsaved"), "x").expect("a file");
    let said = keep_beside(&open(&first), name, &theirs).expect("kept").expect("said");
    assert!(said.contains("is kept on"), "{said}");
    assert_eq!(std::fs::read_to_string(beside.join("unsaved")).expect("it stays"), "x");
}
