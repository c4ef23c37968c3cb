//! Checks beside a git that packs refs and objects without pause: what moves from one place to another is never missing.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use jiff::Timestamp;
use watchdog_git::{HistoryPoint, Worktree};

use crate::support::scratch_repo::{ScratchRepo, instant};
use crate::support::{TestEnv, wait_until};

/// Writes every ref as a loose file and packs them, and from time to time the objects, until dropped.
struct Packing {
    stop: Arc<AtomicBool>,
    rounds: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Packing {
    fn of(repo: &Arc<ScratchRepo>) -> Self {
        let (stop, rounds) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicU64::new(0)),
        );
        let thread = {
            let (repo, stop, rounds) = (Arc::clone(repo), Arc::clone(&stop), Arc::clone(&rounds));
            std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    for line in repo
                        .git(["for-each-ref", "--format=%(objectname) %(refname)"])
                        .lines()
                    {
                        let (id, name) = line.split_once(' ').expect("two fields");
                        loosen(&repo.path(".git"), name, id);
                    }
                    let round = rounds.fetch_add(1, Ordering::Relaxed);
                    // Another git may hold a lock for a moment.
                    repo.try_git_in(repo.root(), ["pack-refs", "--all"]);
                    if round % 8 == 0 {
                        repo.try_git_in(
                            repo.root(),
                            ["-c", "gc.pruneExpire=never", "repack", "-q", "-a", "-d"],
                        );
                    }
                }
            })
        };
        let packing = Packing {
            stop,
            rounds,
            thread: Some(thread),
        };
        wait_until("refs are packed", Duration::from_secs(60), || {
            packing.rounds.load(Ordering::Relaxed) > 1
        });
        packing
    }
}

impl Drop for Packing {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            assert!(thread.join().is_ok(), "the one who packs must not fail");
        }
    }
}

/// Writes a ref as a loose file, whole at once.
fn loosen(git_dir: &Path, name: &str, id: &str) {
    let path: PathBuf = git_dir.join(name);
    let aside = git_dir.join("loosening");
    fs::write(&aside, format!("{id}\n")).expect("a file");
    loop {
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        // git removes empty folders as it packs.
        if fs::rename(&aside, &path).is_ok() {
            return;
        }
    }
}

fn busy_repo() -> Arc<ScratchRepo> {
    let repo = ScratchRepo::new();
    for n in 0..30 {
        repo.git(["branch", &format!("b{n}")]);
    }
    for n in 0..8 {
        repo.write("work", n.to_string());
        repo.snapshot();
    }
    Arc::new(repo)
}

#[test]
fn refs_that_are_packed_meanwhile_are_all_seen() {
    let repo = busy_repo();
    let packing = Packing::of(&repo);
    for _ in 0..200 {
        let worktree = Worktree::open(repo.root()).unwrap();
        assert_eq!(worktree.snapshots(None).unwrap().len(), 8);
        let tips = worktree.ref_tips().unwrap();
        assert_eq!(
            tips.iter()
                .filter(|(name, _)| name.starts_with("refs/heads/"))
                .count(),
            31,
            "{tips:?}"
        );
        assert!(worktree.head_commit().unwrap().is_some());
    }
    drop(packing);
}

#[test]
fn facts_are_read_beside_a_git_that_packs() {
    let repo = busy_repo();
    let start = HistoryPoint::Commit(repo.git(["rev-parse", "HEAD"]));
    repo.git(["add", "work"]);
    repo.git(["commit", "-q", "-m", "work"]);
    repo.write("work", "left");
    let packing = Packing::of(&repo);
    for _ in 0..100 {
        let worktree = Worktree::open(repo.root()).unwrap();
        assert_eq!(worktree.commits_since(&start, None).unwrap().new_commits, 1);
        assert_eq!(worktree.changes().unwrap().unstaged, 1);
        assert_eq!(worktree.resolve("b7").unwrap(), start);
        assert!(
            worktree
                .expire_snapshots(Timestamp::UNIX_EPOCH)
                .unwrap()
                .is_empty()
        );
    }
    drop(packing);
}

#[test]
fn snapshots_survive_a_packing_git_beside_them() {
    let repo = busy_repo();
    let packing = Packing::of(&repo);
    for n in 0..20 {
        repo.write("work", format!("left {n}"));
        let snapshot = repo.snapshot();
        assert!(!snapshot.reused);
        let worktree = Worktree::open(repo.root()).unwrap();
        assert_eq!(
            worktree.snapshot_info(&snapshot.name).unwrap().at,
            instant()
        );
        assert!(worktree.missing_from(&snapshot).unwrap().is_empty());
    }
    drop(packing);
    assert_eq!(repo.open().snapshots(None).unwrap().len(), 28);
    repo.git(["fsck", "--strict"]);
}

#[test]
fn many_refs_of_ours_are_packed() {
    let env = TestEnv::new();
    let repo = env.repo();
    let snapshot = |specs: std::ops::Range<u32>| {
        for spec in specs {
            let spec = format!("spec-{spec}");
            repo.watchdog(&["snapshot", "--spec", &spec]).expect(0);
        }
    };
    // A baseline for each; an anchor and the ignore rules for the worktree.
    let names = || repo.git(&["for-each-ref", "refs/watchdog"]).lines().count();
    let loose = || count_files(&repo.path().join(".git/refs/watchdog"));
    snapshot(0..16);
    assert_eq!(names(), 18);
    assert!(loose() < 16, "{} stay files", loose());
    let lock = repo.path().join(".git/packed-refs.lock");
    fs::write(&lock, "").expect("it is ours");
    snapshot(16..33);
    assert_eq!((names(), loose() >= 16), (35, true), "another git packs");
    fs::remove_file(&lock).expect("it is ours");
    snapshot(33..34);
    assert_eq!((names(), loose()), (36, 0));
}

fn count_files(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.path().is_dir() {
            true => count_files(&entry.path()),
            false => 1,
        })
        .sum()
}
