//! Real clones of a real bare repository: who may push what, and who comes late.

use std::thread;
use std::time::{Duration, Instant};

use super::super::remote_clones::{RemoteClones, commit, git, head, open, try_git};
use super::*;

const BRANCH: &str = "refs/heads/watchdog/T1";
const FENCE: &str = "refs/watchdog/fence/T1";

#[test]
fn next_machine_continues_and_late_one_cannot_write() {
    let scene = RemoteClones::new();
    let (first, second) = (scene.at("first"), scene.clone("second"));
    let old = scene.remote(3);
    let taken = old
        .take_over(&open(&first), &Ok(head(&first)))
        .expect("taken over");
    assert_eq!(
        (taken.branch.as_str(), taken.is_fenced, taken.head),
        ("watchdog/T1", true, head(&first))
    );
    let fence = scene.there(FENCE);
    let work = commit(&first, "a");
    old.push(&open(&first), &work).expect("pushed");
    assert_eq!(scene.there(BRANCH), Some(work.clone()));
    assert_ne!(scene.there(FENCE), fence, "every push moves the fence");
    let fence = scene.there(FENCE);
    old.push(&open(&first), &work).expect("pushed again");
    assert_ne!(
        scene.there(FENCE),
        fence,
        "even one that leaves the branch as it is"
    );
    let new = scene.remote(7);
    let taken = new
        .take_over(&open(&second), &Ok(head(&second)))
        .expect("taken over");
    assert_eq!(taken.head, work);
    git(&second, &["cat-file", "-e", &work]);
    let before = scene.refs();
    let late = commit(&first, "late");
    let refused = TaskRemoteError::Late {
        task: "T1".into(),
        remote: "origin".into(),
        remote_fence: 7,
        ours: 3,
    };
    assert_eq!(old.push(&open(&first), &late), Err(refused.clone()));
    assert_eq!(
        old.take_over(&open(&first), &Ok(late.clone())),
        Err(refused)
    );
    assert_eq!(scene.refs(), before);
    assert_eq!(
        scene.there(&format!("{late}^{{commit}}")),
        None,
        "not even the objects"
    );
}

#[test]
fn push_during_takeover_is_refused_entirely() {
    let scene = RemoteClones::new();
    let (first, second) = (scene.at("first"), scene.clone("second"));
    let old = scene.remote(3);
    old.take_over(&open(&first), &Ok(head(&first)))
        .expect("taken over");
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
            assert!(
                since.elapsed() < Duration::from_secs(60) && !pushing.is_finished(),
                "the push reaches the remote"
            );
            thread::sleep(Duration::from_millis(20));
        }
        scene
            .remote(7)
            .take_over(&open(&second), &Ok(head(&second)))
            .expect("taken over meanwhile");
        let before = scene.refs();
        std::fs::remove_file(&blocked).expect("it goes on");
        let ended = pushing.join().expect("no panic");
        assert!(
            matches!(
                ended,
                Err(TaskRemoteError::Late {
                    remote_fence: 7,
                    ours: 3,
                    ..
                })
            ),
            "{ended:?}"
        );
        assert_eq!(scene.refs(), before);
    });
}

#[test]
fn non_atomic_remote_gets_a_branch_per_fence() {
    let scene = RemoteClones::new();
    git(
        &scene.at("remote.git"),
        &["config", "receive.advertiseAtomic", "false"],
    );
    let (first, second) = (scene.at("first"), scene.clone("second"));
    let old = scene.remote(3);
    let taken = old
        .take_over(&open(&first), &Ok(head(&first)))
        .expect("taken over");
    assert_eq!(
        (taken.branch.as_str(), taken.is_fenced),
        ("watchdog/T1-3", false)
    );
    let work = commit(&first, "a");
    old.push(&open(&first), &work).expect("pushed");
    let new = scene.remote(12);
    let taken = new
        .take_over(&open(&second), &Ok(head(&second)))
        .expect("taken over");
    assert_eq!(
        (taken.branch.as_str(), &taken.head),
        ("watchdog/T1-12", &work)
    );
    let late = commit(&first, "late");
    assert!(matches!(
        old.push(&open(&first), &late),
        Err(TaskRemoteError::Late {
            remote_fence: 12,
            ..
        })
    ));
    assert_eq!(
        (
            scene.there("refs/heads/watchdog/T1-3"),
            scene.there(BRANCH),
            scene.there(FENCE)
        ),
        (Some(work), None, None)
    );
}

#[test]
fn repository_settings_cannot_redirect_or_answer_a_push() {
    let scene = RemoteClones::new();
    let first = scene.at("first");
    git(
        scene.home.path(),
        &["init", "-q", "--bare", "elsewhere.git"],
    );
    let (there, elsewhere) = (
        scene.at("remote.git").display().to_string(),
        scene.at("elsewhere.git").display().to_string(),
    );
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
    remote
        .take_over(&open(&first), &Ok(work.clone()))
        .expect("taken over");
    remote.push(&open(&first), &work).expect("pushed");
    assert_eq!(scene.there(BRANCH), Some(work));
    assert_eq!(git(&scene.at("elsewhere.git"), &["for-each-ref"]), "");
}

#[test]
fn foreign_commits_and_fences_are_never_overwritten() {
    let scene = RemoteClones::new();
    let (first, second) = (scene.at("first"), scene.clone("second"));
    let remote = scene.remote(3);
    remote
        .take_over(&open(&first), &Ok(head(&first)))
        .expect("taken over");
    let theirs = commit(&second, "theirs");
    git(
        &second,
        &["push", "-q", "origin", &format!("HEAD:{BRANCH}")],
    );
    let ours = commit(&first, "ours");
    let before = scene.refs();
    assert!(
        matches!(remote.push(&open(&first), &ours), Err(TaskRemoteError::Diverged { remote_commit, .. }) if remote_commit == theirs)
    );
    assert_eq!(scene.refs(), before);
    git(
        &second,
        &["push", "-q", "--force", "origin", &format!("HEAD:{FENCE}")],
    );
    let before = scene.refs();
    assert!(matches!(
        remote.push(&open(&first), &ours),
        Err(TaskRemoteError::ForeignFence { .. })
    ));
    assert_eq!(scene.refs(), before);
}

#[test]
fn unavailable_or_refusing_remote_states_the_cause() {
    let scene = RemoteClones::new();
    let first = scene.at("first");
    scene.hook("echo 'no space left on device' >&2; exit 1");
    let refused = scene
        .remote(3)
        .take_over(&open(&first), &Ok(head(&first)))
        .expect_err("it refuses")
        .to_string();
    assert!(
        refused.contains("no space left") && refused.contains("origin"),
        "{refused}"
    );
    assert_eq!(scene.there(BRANCH), None);
    let url = "http://me:hush-hush@127.0.0.1:9/team/app.git".to_owned();
    let away = TaskRemote {
        url,
        ..scene.remote(3)
    }
    .push(&open(&first), &head(&first))
    .expect_err("nobody answers")
    .to_string();
    assert!(!away.contains("hush"), "{away}");
}

#[test]
fn diverged_local_branch_is_kept_under_another_name() {
    use super::super::own_worktree::keep_beside;
    let scene = RemoteClones::new();
    let first = scene.at("first");
    let (base, name) = (head(&first), "watchdog/T1");
    let theirs = commit(&first, "theirs");
    git(&first, &["branch", name, &base]);
    assert_eq!(keep_beside(&open(&first), name, &theirs), Ok(None));
    assert_eq!(git(&first, &["rev-parse", name]), theirs, "it was behind");
    let later = commit(&first, "later");
    git(&first, &["branch", "-f", name, &later]);
    assert_eq!(keep_beside(&open(&first), name, &theirs), Ok(None));
    assert_eq!(
        git(&first, &["rev-parse", name]),
        later,
        "its commits are pushed with the next ones"
    );
    git(&first, &["checkout", "-q", "-b", "side", &base]);
    let ours = commit(&first, "ours");
    git(&first, &["branch", "-f", name, &ours]);
    let said = keep_beside(&open(&first), name, &theirs)
        .expect("kept")
        .expect("said");
    let kept = format!("{name}-kept-{}", &ours[..8]);
    assert!(said.contains(&kept), "{said}");
    assert_eq!(git(&first, &["rev-parse", &kept]), ours);
    assert_eq!(scene.there(BRANCH), None);
    assert!(
        !try_git(&first, &["rev-parse", "-q", "--verify", name])
            .status
            .success()
    );
    git(
        &first,
        &["worktree", "add", "-q", "../beside", "-b", name, &base],
    );
    let beside = scene.at("beside");
    std::fs::write(beside.join("unsaved"), "x").expect("a file");
    let said = keep_beside(&open(&first), name, &theirs)
        .expect("kept")
        .expect("said");
    assert!(said.contains("is kept on"), "{said}");
    assert_eq!(
        std::fs::read_to_string(beside.join("unsaved")).expect("it stays"),
        "x"
    );
}
