//! Real clones of a real bare repository: which snapshots go, who writes them, and what never leaves.

use std::fs;
use std::path::Path;

use super::super::remote_clones::{RemoteClones, commit, git, head, open};
use super::*;
use watchdog_git::{RestoreTarget, SharingObstacle, SnapshotRequest};

const REMOTE: &str = "refs/watchdog/snapshot";

fn sharing() -> SnapshotSharing {
    let mut settings = ConfigSettings::default();
    settings.fleet.push_snapshots = true;
    SnapshotSharing::of(&settings).expect("a person said so")
}

fn at(text: &str) -> Timestamp {
    text.parse().expect("a time")
}

fn now() -> Timestamp {
    at("2026-11-24T12:00:00Z")
}

/// Takes a snapshot of T1, as a session does; its id.
fn snapshot(clone: &Path, time: &str) -> String {
    let request = SnapshotRequest {
        spec: "T1",
        at: at(time),
        why: "test",
        max_new_bytes: None,
    };
    let taken = open(clone)
        .take_snapshot_with_private(&request, &private_rule(&sharing().rescue))
        .expect("taken");
    taken.expect("something is uncommitted").name
}

/// The snapshots on the remote.
fn on_remote(scene: &RemoteClones) -> Vec<String> {
    git(
        &scene.at("remote.git"),
        &["for-each-ref", "--format=%(refname)", REMOTE],
    )
    .lines()
    .map(str::to_owned)
    .collect()
}

/// A machine that has T1 under fence 3, with a commit that is pushed.
fn first_machine(scene: &RemoteClones) -> TaskRemote {
    let first = scene.at("first");
    let remote = scene.remote(3);
    remote
        .take_over(&open(&first), &Ok(head(&first)))
        .expect("taken over");
    let work = commit(&first, "a");
    remote.push(&open(&first), &work).expect("pushed");
    remote
}

/// Work with secrets in every place that a snapshot has.
fn leave_work(clone: &Path) {
    for (path, text) in [
        ("draft", "half a thought"),
        (".env", "TOKEN=staged-hunter2"),
        ("known.pem", "key hunter2"),
    ] {
        fs::write(clone.join(path), text).expect("a file");
    }
    git(clone, &["add", ".env", "draft"]);
    fs::write(clone.join(".env"), "TOKEN=hunter2").expect("a file");
}

#[test]
fn the_machine_that_takes_over_finds_the_snapshots_and_nothing_private_left_the_first_one() {
    let scene = RemoteClones::new();
    let (first, second) = (scene.at("first"), scene.clone("second"));
    let remote = first_machine(&scene);
    leave_work(&first);
    let taken = snapshot(&first, "2026-11-24T10:00:00Z");
    let done = remote
        .push_snapshots(&open(&first), &head(&first), &sharing(), now())
        .expect("pushed");
    assert_eq!(
        done,
        PushedSnapshots {
            pushed: 1,
            kept: Vec::new()
        }
    );
    assert_eq!(
        on_remote(&scene),
        [format!("{REMOTE}/T1/fence-3/20261124T100000Z-0")]
    );
    assert!(scene.remote_holds("half a thought") && !scene.remote_holds("hunter2"));
    let private = git(
        &first,
        &["rev-parse", &taken.replace("/rescue/", "/private/")],
    );
    assert_eq!(scene.there(&format!("{private}^{{commit}}")), None);
    let again = remote
        .push_snapshots(&open(&first), &head(&first), &sharing(), now())
        .expect("nothing to do");
    assert_eq!(again.pushed, 0);

    scene
        .remote(7)
        .take_over(&open(&second), &Ok(head(&second)))
        .expect("taken over");
    assert_eq!(
        scene.remote(7).fetch_snapshots(&open(&second), now()),
        Ok(1)
    );
    assert_eq!(
        scene.remote(7).fetch_snapshots(&open(&second), now()),
        Ok(0),
        "once"
    );
    let listed = open(&second).snapshots(Some("T1")).expect("listed");
    let expected = ("T1/fence-3/20261124T100000Z-0", 2);
    assert_eq!(
        listed
            .iter()
            .map(|info| (info.id.as_str(), info.private_files))
            .collect::<Vec<_>>(),
        [expected]
    );
    let back = scene.at("back");
    open(&second)
        .restore(&listed[0].id, RestoreTarget::Directory(back.clone()))
        .expect("restored");
    assert_eq!(
        fs::read_to_string(back.join("draft")).expect("a file"),
        "half a thought"
    );
    assert!(!back.join(".env").exists());
    git(&second, &["fsck", "--strict", "--connectivity-only"]);
    let theirs = scene.remote(7).push_snapshots(
        &open(&second),
        &listed[0].base.clone().expect("a base"),
        &sharing(),
        now(),
    );
    assert_eq!(
        theirs.map(|pushed| pushed.pushed),
        Ok(0),
        "each machine pushes its own"
    );
}

#[test]
fn a_ref_that_a_session_made_takes_nothing_private_along() {
    let scene = RemoteClones::new();
    let first = scene.at("first");
    let remote = first_machine(&scene);
    leave_work(&first);
    let taken = snapshot(&first, "2026-11-24T10:00:00Z");
    let private = git(
        &first,
        &["rev-parse", &taken.replace("/rescue/", "/private/")],
    );
    let blob = git(&first, &["rev-parse", &format!("{private}:work/.env")]);
    let message = git(&first, &["log", "-1", "--format=%B", &taken]);
    let parents = git(&first, &["log", "-1", "--format=%P", &taken]);
    let parents: Vec<&str> = parents.split(' ').collect();
    let forge = |n: u32, tree: &str, parents: &[&str]| {
        let args: Vec<&str> = parents
            .iter()
            .flat_map(|parent| ["-p", parent])
            .chain(["-m", &message])
            .collect();
        let made = git(&first, &[&["commit-tree", tree], &args[..]].concat());
        git(
            &first,
            &[
                "update-ref",
                &format!("refs/watchdog/rescue/T1/20261124T100000Z-{n}"),
                &made,
            ],
        );
    };
    let tree = format!("{taken}^{{tree}}");
    forge(1, &tree, &[&parents[..], &[&private]].concat());
    // The same content under another name, and a secret that is in no private part.
    git(&first, &["read-tree", &tree]);
    git(
        &first,
        &[
            "update-index",
            "--add",
            "--cacheinfo",
            &format!("100644,{blob},notes"),
        ],
    );
    forge(2, &git(&first, &["write-tree"]), &parents);
    git(&first, &["read-tree", &tree]);
    fs::write(first.join("other"), "PASSWORD=hunter2").expect("a file");
    let other = git(&first, &["hash-object", "-w", "other"]);
    git(
        &first,
        &[
            "update-index",
            "--add",
            "--cacheinfo",
            &format!("100644,{other},.env.production"),
        ],
    );
    forge(3, &git(&first, &["write-tree"]), &parents);
    git(
        &first,
        &[
            "update-ref",
            "refs/watchdog/rescue/T1/20261124T100000Z-4",
            &private,
        ],
    );
    git(
        &first,
        &["update-ref", "-d", &taken.replace("/rescue/", "/private/")],
    );
    git(
        &first,
        &["update-ref", "refs/watchdog/private/kept", &private],
    );

    let done = remote
        .push_snapshots(&open(&first), &head(&first), &sharing(), now())
        .expect("pushed");
    let stays = |n: u32, why: SharingObstacle| format!("T1/20261124T100000Z-{n}: {why}");
    let private_file = |path: &str| SharingObstacle::PrivateFile { path: path.into() };
    assert_eq!(
        done.kept,
        [
            stays(3, private_file(".env.production")),
            stays(2, private_file("notes")),
            stays(1, SharingObstacle::ForeignCommit)
        ]
    );
    assert_eq!(
        (done.pushed, on_remote(&scene)),
        (1, vec![format!("{REMOTE}/T1/fence-3/20261124T100000Z-0")])
    );
    assert!(!scene.remote_holds("hunter2"));
}

#[test]
fn whoever_comes_late_writes_no_snapshot() {
    let scene = RemoteClones::new();
    let (first, second) = (scene.at("first"), scene.clone("second"));
    let remote = first_machine(&scene);
    leave_work(&first);
    snapshot(&first, "2026-11-24T10:00:00Z");
    scene
        .remote(7)
        .take_over(&open(&second), &Ok(head(&second)))
        .expect("taken over");
    let before = scene.refs();
    let late = remote.push_snapshots(&open(&first), &head(&first), &sharing(), now());
    assert!(
        matches!(
            late,
            Err(TaskRemoteError::Late {
                found: 7,
                ours: 3,
                ..
            })
        ),
        "{late:?}"
    );
    assert_eq!(scene.refs(), before);
    assert!(
        !scene.remote_holds("half a thought"),
        "not even the objects"
    );
}

#[test]
fn a_remote_that_takes_refs_one_by_one_has_each_snapshot_under_its_fence() {
    let scene = RemoteClones::new();
    git(
        &scene.at("remote.git"),
        &["config", "receive.advertiseAtomic", "false"],
    );
    let first = scene.at("first");
    let remote = first_machine(&scene);
    leave_work(&first);
    snapshot(&first, "2026-11-24T10:00:00Z");
    let done = remote.push_snapshots(&open(&first), &head(&first), &sharing(), now());
    assert_eq!(done.map(|done| done.pushed), Ok(1));
    assert_eq!(
        on_remote(&scene),
        [format!("{REMOTE}/T1/fence-3/20261124T100000Z-0")]
    );
}

#[test]
fn a_snapshot_of_commits_that_are_not_on_the_remote_stays() {
    let scene = RemoteClones::new();
    let first = scene.at("first");
    let remote = first_machine(&scene);
    let pushed = head(&first);
    commit(&first, "not pushed");
    leave_work(&first);
    snapshot(&first, "2026-11-24T10:00:00Z");
    assert_eq!(
        remote.push_snapshots(&open(&first), &pushed, &sharing(), now()),
        Ok(PushedSnapshots::default())
    );
    assert_eq!(
        (on_remote(&scene), scene.remote_holds("not pushed")),
        (Vec::new(), false)
    );
}

#[test]
fn old_snapshots_of_other_tasks_are_removed_from_the_remote_and_nothing_else_is() {
    let scene = RemoteClones::new();
    let (bare, first) = (scene.at("remote.git"), scene.at("first"));
    let remote = first_machine(&scene);
    let kept = [
        "T1/fence-1/20250101T000000Z-0",
        "T2/fence-1/20261101T000000Z-0",
        "T2/fence-1/not-ours",
        "T2/other/20250101T000000Z-0",
    ];
    let gone = [
        "T2/fence-1/20250101T000000Z-0",
        "T3/fence-12/20261001T000000Z-12",
    ];
    for name in kept.iter().chain(&gone) {
        git(&bare, &["update-ref", &format!("{REMOTE}/{name}"), "main"]);
    }
    remote
        .push_snapshots(&open(&first), &head(&first), &sharing(), now())
        .expect("pushed");
    assert_eq!(
        on_remote(&scene),
        kept.map(|name| format!("{REMOTE}/{name}"))
    );
}

#[test]
fn what_is_no_snapshot_of_the_task_or_comes_from_the_future_is_not_listed() {
    let scene = RemoteClones::new();
    let (bare, first, second) = (
        scene.at("remote.git"),
        scene.at("first"),
        scene.clone("second"),
    );
    let remote = first_machine(&scene);
    leave_work(&first);
    let taken = snapshot(&first, "2026-11-24T10:00:00Z");
    remote
        .push_snapshots(&open(&first), &head(&first), &sharing(), now())
        .expect("pushed");
    let own = format!("{REMOTE}/T1/fence-3/20261124T100000Z-0");
    for (name, commit) in [
        ("20261124T110000Z-0", own.as_str()),
        ("20261124T100000Z-1", "main"),
        ("20261124T100000Z-x", own.as_str()),
    ] {
        git(
            &bare,
            &["update-ref", &format!("{REMOTE}/T1/fence-3/{name}"), commit],
        );
    }
    git(&bare, &["update-ref", "-d", &own]);
    let remote = scene.remote(7);
    remote
        .take_over(&open(&second), &Ok(head(&second)))
        .expect("taken over");
    assert_eq!(remote.fetch_snapshots(&open(&second), now()), Ok(0));
    git(
        &first,
        &[
            "push",
            "-q",
            &bare.display().to_string(),
            &format!("{taken}:{own}"),
        ],
    );
    assert_eq!(
        remote.fetch_snapshots(&open(&second), at("2026-11-23T09:00:00Z")),
        Ok(0),
        "more than a day ahead of this clock"
    );
    assert_eq!(
        remote.fetch_snapshots(&open(&second), at("2026-11-23T11:00:00Z")),
        Ok(1)
    );
    assert_eq!(open(&second).snapshots(None).expect("listed").len(), 1);
}
