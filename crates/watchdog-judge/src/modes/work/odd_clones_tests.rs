//! Clones that lack a part of the history or of the files, against a real bare repository.

use std::fs;
use std::path::Path;

use super::remote_clones::{RemoteClones, commit, git, head, open, try_git};
use super::task_remote::TaskRemoteError;

/// Writes a file that compresses badly and changes a little, and commits it.
fn revise(clone: &Path, text: &str) -> String {
    let lines: String = (0..2000_u64)
        .map(|n| format!("{}\n", n.wrapping_mul(0x9E37_79B9_7F4A_7C15)))
        .collect();
    fs::write(clone.join("large"), format!("{text}\n{lines}")).expect("a file");
    commit(clone, text)
}

/// A remote whose `main` has three versions of a file.
fn with_history() -> RemoteClones {
    let scene = RemoteClones::new();
    let first = scene.at("first");
    for text in ["one", "two", "three"] {
        revise(&first, text);
    }
    git(&first, &["push", "-q", "origin", "HEAD:main"]);
    scene
}

fn clone_with(scene: &RemoteClones, options: &[&str]) -> std::path::PathBuf {
    let url = format!("file://{}", scene.at("remote.git").display());
    git(
        scene.home.path(),
        &[&["clone", "-q"], options, &[&url, "second"]].concat(),
    );
    scene.at("second")
}

#[test]
fn partial_clone_exchanges_work_with_full_clone() {
    let scene = with_history();
    git(
        &scene.at("remote.git"),
        &["config", "uploadpack.allowFilter", "true"],
    );
    let (first, second) = (
        scene.at("first"),
        clone_with(&scene, &["--filter=blob:none", "--no-checkout"]),
    );
    let old = scene.remote(3);
    old.take_over(&open(&first), &Ok(head(&first)))
        .expect("taken over");
    // The remote believes that the clone has every version of `main`: it does not send the first again, and the fourth as a difference only.
    git(&first, &["checkout", "-q", "HEAD~2", "--", "large"]);
    git(&first, &["commit", "-q", "-m", "back to one"]);
    let back = head(&first);
    let work = revise(&first, "four");
    old.push(&open(&first), &work).expect("pushed");
    git(&scene.at("remote.git"), &["repack", "-a", "-d", "-b", "-q"]);
    let listed = git(
        &second,
        &["rev-list", "--objects", "--all", "--missing=print"],
    );
    for lacked in [&format!("{back}:large"), "origin/main:large"] {
        let lacked = git(&first, &["rev-parse", lacked]);
        assert!(
            listed.contains(&format!("?{lacked}")),
            "the clone lacks files"
        );
    }

    let new = scene.remote(7);
    let taken = new
        .take_over(&open(&second), &Ok(head(&second)))
        .expect("taken over");
    assert_eq!(taken.head, work);
    git(&second, &["checkout", "-q", "-b", "watchdog/T1", &work]);
    assert!(
        fs::read_to_string(second.join("large"))
            .expect("a file")
            .starts_with("four")
    );
    git(&second, &["checkout", "-q", &back, "--", "large"]);
    let further = commit(&second, "further");
    new.push(&open(&second), &further).expect("pushed");
    git(&second, &["fsck", "--connectivity-only"]);
    git(&scene.at("remote.git"), &["fsck", "--full"]);
    let taken = scene
        .remote(9)
        .take_over(&open(&first), &Ok(back))
        .expect("taken over");
    assert_eq!(taken.head, further);
    git(&first, &["fsck", "--full"]);
}

#[test]
fn interrupted_fetch_does_not_count_as_complete() {
    let scene = with_history();
    let (first, second) = (scene.at("first"), scene.clone("second"));
    let old = scene.remote(3);
    old.take_over(&open(&first), &Ok(head(&first)))
        .expect("taken over");
    let work = revise(&first, "four");
    old.push(&open(&first), &work).expect("pushed");
    let raw = git(&first, &["cat-file", "commit", &work]) + "\n";
    fs::write(second.join("raw"), raw).expect("a file");
    assert_eq!(
        git(&second, &["hash-object", "-w", "-t", "commit", "raw"]),
        work,
        "the commit came, and its files did not"
    );
    scene
        .remote(7)
        .take_over(&open(&second), &Ok(head(&second)))
        .expect("taken over");
    git(&second, &["checkout", "-q", "-b", "watchdog/T1", &work]);
    git(&second, &["fsck", "--full"]);
}

#[test]
fn shallow_clone_takes_over_and_stays_shallow() {
    let scene = with_history();
    let (first, second) = (scene.at("first"), clone_with(&scene, &["--depth", "1"]));
    let cut = fs::read(second.join(".git/shallow")).expect("it is shallow");
    let new = scene.remote(3);
    new.take_over(&open(&second), &Ok(head(&second)))
        .expect("taken over");
    let work = revise(&second, "four");
    new.push(&open(&second), &work).expect("pushed");
    git(&scene.at("remote.git"), &["fsck", "--full"]);
    scene
        .remote(7)
        .take_over(&open(&first), &Ok(head(&first)))
        .expect("taken over");
    git(&first, &["checkout", "-q", "--detach", &work]);
    let further = revise(&first, "five");
    scene
        .remote(7)
        .push(&open(&first), &further)
        .expect("pushed");
    let taken = scene
        .remote(9)
        .take_over(&open(&second), &Ok(head(&second)))
        .expect("taken over");
    assert_eq!(taken.head, further);
    assert_eq!(
        scene.remote(9).leads_to(&open(&second), &work, &further),
        Ok(true)
    );
    assert_eq!(
        fs::read(second.join(".git/shallow")).expect("it is shallow"),
        cut
    );
    git(&second, &["fsck", "--full"]);
}

#[test]
fn shallow_clone_without_ancestry_explains_and_refuses_push() {
    let scene = with_history();
    let (first, second) = (scene.at("first"), clone_with(&scene, &["--depth", "1"]));
    let old = scene.remote(3);
    git(&first, &["checkout", "-q", "--detach", "HEAD~1"]);
    // The branch began before the commit at which the clone is cut.
    let begun = head(&first);
    old.take_over(&open(&first), &Ok(begun.clone()))
        .expect("taken over");
    let cut = fs::read(second.join(".git/shallow")).expect("it is shallow");
    let new = scene.remote(7);
    let taken = new
        .take_over(&open(&second), &Ok(head(&second)))
        .expect("taken over");
    assert_eq!(taken.head, begun);
    let further = revise(&second, "four");
    let before = scene.refs();
    let refused = new
        .push(&open(&second), &further)
        .expect_err("it follows, and that cannot be seen here");
    assert!(
        matches!(&refused, TaskRemoteError::Uncompared { why, .. } if why.contains("git fetch --unshallow")),
        "{refused}"
    );
    assert_eq!(scene.refs(), before);
    assert_eq!(
        fs::read(second.join(".git/shallow")).expect("it is shallow"),
        cut
    );
    git(&second, &["fetch", "-q", "--unshallow"]);
    new.push(&open(&second), &further).expect("pushed");
}

#[test]
fn unreadable_repository_does_not_prove_differing_commits() {
    let scene = with_history();
    let first = scene.at("first");
    let remote = scene.remote(3);
    remote
        .take_over(&open(&first), &Ok(head(&first)))
        .expect("taken over");
    let begun = head(&first);
    let between = revise(&first, "four");
    let work = revise(&first, "five");
    let before = scene.refs();
    let lost = first
        .join(".git/objects")
        .join(&between[..2])
        .join(&between[2..]);
    fs::rename(&lost, first.join("lost")).expect("a loose commit");
    let refused = remote
        .push(&open(&first), &work)
        .expect_err("a commit between them is gone");
    let TaskRemoteError::Uncompared { old, new, .. } = &refused else {
        panic!("{refused}")
    };
    assert_eq!((old, new), (&begun, &work));
    assert_eq!(scene.refs(), before);
    fs::rename(first.join("lost"), &lost).expect("it is back");
    remote.push(&open(&first), &work).expect("pushed");
    assert!(
        try_git(
            &scene.at("remote.git"),
            &["merge-base", "--is-ancestor", &begun, &work]
        )
        .status
        .success()
    );
}
