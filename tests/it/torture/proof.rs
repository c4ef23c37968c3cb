//! After a round: nothing is lost, nothing is broken, and nobody was told otherwise.

use serde_json::Value;

use super::fault::Fault;
use super::ground::Ground;
use super::manifest::{Manifest, entry, manifest, missing};
use super::nested::{NESTED, git_dirs};
use super::round::Action;
use super::scripts::Hook;
use super::start::State;
use super::tally::Tally;
use crate::support::{CommandOutput, fill_line};

/// Every status of the contract, with its exit code.
const STATUSES: &[(&str, i32)] = &[
    ("complete", 0),
    ("incomplete", 10),
    ("waiting", 11),
    ("review", 12),
    ("timeout", 13),
    ("stopped", 14),
    ("failed", 15),
    ("error", 16),
];

/// What was there at the moment before the fault.
pub struct Before {
    manifest: Manifest,
    index: Vec<Vec<u8>>,
    head: Option<String>,
    branch: Vec<u8>,
    refs: Vec<u8>,
    dirty: bool,
}

/// Refs that a rescue has no business with.
fn other_refs(ground: &Ground) -> Vec<u8> {
    let branch = ground.git_text(&["rev-parse", "--symbolic-full-name", "--revs-only", "HEAD"]);
    let all = ground.git_text(&["for-each-ref", "--format=%(refname) %(objectname)"]);
    let own = |line: &&str| {
        !line.starts_with("refs/watchdog/")
            && !line.starts_with("refs/heads/watchdog/")
            && !line.starts_with(&format!("{branch} "))
    };
    all.lines()
        .filter(own)
        .collect::<Vec<_>>()
        .join("\n")
        .into_bytes()
}

fn index(ground: &Ground) -> Vec<Vec<u8>> {
    ground
        .git(&["ls-files", "--stage", "-z"])
        .split(|b| *b == 0)
        .filter(|line| !line.is_empty())
        .map(<[u8]>::to_vec)
        .collect()
}

impl Before {
    /// Looks, without touching anything.
    pub fn look(ground: &Ground) -> Self {
        Before {
            manifest: manifest(&ground.root),
            index: index(ground),
            head: ground.head(),
            branch: std::fs::read(ground.root.join(".git/HEAD")).unwrap(),
            refs: other_refs(ground),
            dirty: !ground
                .git(&["status", "--porcelain", "--untracked-files=all"])
                .is_empty(),
        }
    }
}

/// What is known of the round afterwards.
pub struct After<'a> {
    pub fault: &'a Fault,
    pub action: Action,
    pub state: State,
    pub out: &'a CommandOutput,
    pub story: String,
}

impl After<'_> {
    /// Whether watchdog itself was ended by a signal, so that it could say nothing.
    fn killed(&self) -> bool {
        self.out.code.is_some_and(|code| code > 128) && self.out.stdout.is_empty()
    }

    fn tell(&self) -> String {
        format!(
            "{:?} {:?} {:?} {}\n{}",
            self.action, self.state, self.fault, self.story, self.out
        )
    }
}

/// Proves everything that a user relies on.
pub fn prove(ground: &Ground, before: &Before, after: &After<'_>, tally: &mut Tally) {
    let told = after.tell();
    no_lock_is_left(ground, after, tally);
    // An index that the user's own script removed is the user's; git makes a new one.
    let out = ground.try_git(&["fsck", "--strict", "--no-dangling", "--no-progress"]);
    assert!(
        out.status.success(),
        "git fsck: {}{}\n{told}",
        text(&out.stdout),
        text(&out.stderr)
    );
    let out = ground.try_git(&["status", "--porcelain", "--untracked-files=all"]);
    assert!(
        out.status.success(),
        "git status: {}\n{told}",
        text(&out.stderr)
    );

    let now = manifest(&ground.root);
    let mut lost = missing(&before.manifest, &now);
    tally.many("files", "in the manifests", before.manifest.len() as u64);
    tally.many(
        "bytes",
        "in the manifests",
        before.manifest.values().map(|entry| entry.size).sum(),
    );
    tally.many(
        "files",
        "still in the work tree",
        (before.manifest.len() - lost.len()) as u64,
    );
    if !after.fault.has_foreign_writers() {
        assert!(
            lost.is_empty(),
            "watchdog itself changed the work tree: {:?}\n{told}",
            names(&lost)
        );
        let new = missing(&now, &before.manifest);
        assert!(
            new.is_empty(),
            "watchdog itself left something in the work tree: {:?}\n{told}",
            names(&new)
        );
    }
    let gone_from_disk = lost.len();
    drop_committed(ground, &mut lost);
    tally.many(
        "files",
        "only in HEAD",
        (gone_from_disk - lost.len()) as u64,
    );
    let only_in_snapshots = names(&lost);
    the_verdict_is_true(ground, before, after, &only_in_snapshots, tally);
    the_index_is_whole(ground, before, after);
    bring_back(ground, &mut lost, tally, &told);
    tally.many("files", "lost", lost.len() as u64);
    assert!(lost.is_empty(), "LOST: {:?}\n{told}", names(&lost));
    restoring_harms_nothing(ground, tally, &told);
    the_next_check_answers(ground, after, tally);
}

/// The newest snapshot goes into the work tree or becomes a branch; what is in no commit stays as it is.
fn restoring_harms_nothing(ground: &Ground, tally: &mut Tally, told: &str) {
    let listed = ground
        .env
        .watchdog(&ground.root, &["rescue", "list", "--json"])
        .expect(0)
        .json();
    let Some(id) = listed["snapshots"][0]["id"].as_str() else {
        return;
    };
    let mut unsaved = manifest(&ground.root);
    drop_committed(ground, &mut unsaved);
    let out = ground
        .env
        .watchdog(&ground.root, &["rescue", "restore", id, "--json"]);
    assert_eq!(out.code, Some(0), "{out}\nafter {told}");
    tally.one("restored to", out.json()["to"].as_str().unwrap());
    let overwritten = missing(&unsaved, &manifest(&ground.root));
    assert!(
        overwritten.is_empty(),
        "a restore overwrote {:?}\n{out}\nafter {told}",
        names(&overwritten)
    );
    no_lock_is_there(ground, told);
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn names(entries: &Manifest) -> Vec<String> {
    entries
        .keys()
        .map(|path| String::from_utf8_lossy(path).into_owned())
        .collect()
}

/// Only a git that was killed leaves a lock behind, and that is git's own; it is removed as a person would.
fn no_lock_is_left(ground: &Ground, after: &After<'_>, tally: &mut Tally) {
    let mut folders = vec![ground.root.join(".git")];
    while let Some(folder) = folders.pop() {
        for dir_entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = dir_entry.path();
            if dir_entry.file_type().unwrap().is_dir() {
                folders.push(path);
            } else if path
                .extension()
                .is_some_and(|extension| extension == "lock")
            {
                let ours = path.components().any(|part| part.as_os_str() == "watchdog");
                tally.one(
                    "locks of killed programs",
                    if ours { "watchdog" } else { "git" },
                );
                assert!(
                    after.fault.kills() || after.killed(),
                    "a lock is left: {}\n{}",
                    path.display(),
                    after.tell()
                );
                // The next snapshot must not be stopped by one of our own.
                if !ours {
                    std::fs::remove_file(path).unwrap();
                }
            }
        }
    }
}

fn no_lock_is_there(ground: &Ground, told: &str) {
    let lock = ground.root.join(".git/index.lock");
    assert!(!lock.exists(), "{} is left\n{told}", lock.display());
}

/// Removes what the tree of HEAD holds, that of the repositories inside the work tree included.
fn drop_committed(ground: &Ground, lost: &mut Manifest) {
    if lost.is_empty() {
        return;
    }
    for (prefix, dir) in git_dirs(&ground.root) {
        let dir = dir.to_str().unwrap();
        let out = ground.try_git(&fill_line(
            "--git-dir {} --work-tree . ls-tree -r -z HEAD",
            &[dir],
        ));
        for line in out
            .stdout
            .split(|b| *b == 0)
            .filter(|line| !line.is_empty())
        {
            let tab = line.iter().position(|b| *b == b'\t').unwrap();
            let (meta, path) = (text(&line[..tab]), &line[tab + 1..]);
            let path = if prefix.is_empty() {
                path.to_vec()
            } else {
                [prefix.as_bytes(), b"/", path].concat()
            };
            if !lost.contains_key(&path) {
                continue;
            }
            let words: Vec<&str> = meta.split(' ').collect();
            let kind = match words[0] {
                "120000" => 'l',
                "100755" => 'x',
                _ => 'f',
            };
            let blob = ground.try_git(&fill_line(
                "--git-dir {} --work-tree . cat-file blob {}",
                &[dir, words[2]],
            ));
            if blob.status.success() && lost[&path].comes_back_as(&entry(&path, kind, &blob.stdout))
            {
                lost.remove(&path);
            }
        }
    }
}

/// Restores the snapshots one by one, newest first, until everything is there.
fn bring_back(ground: &Ground, lost: &mut Manifest, tally: &mut Tally, told: &str) {
    let listed = ground
        .env
        .watchdog(&ground.root, &["rescue", "list", "--json"])
        .expect(0)
        .json();
    let snapshots = listed["snapshots"].as_array().unwrap().clone();
    tally.many("snapshots", "listed", snapshots.len() as u64);
    // One of them is restored even where nothing is missing: what is kept must be readable.
    for (n, snapshot) in snapshots.iter().enumerate() {
        if lost.is_empty() && n > 0 {
            break;
        }
        let id = snapshot["id"].as_str().unwrap();
        let to = ground.env.root().join(format!("restored-{n}"));
        let out = ground.env.watchdog(
            &ground.root,
            &["rescue", "restore", id, "--to", to.to_str().unwrap()],
        );
        assert_eq!(out.code, Some(0), "{out}\n{told}");
        let back = manifest(&to);
        let was = lost.len();
        lost.retain(|path, entry| {
            !back
                .get(path)
                .is_some_and(|found| entry.comes_back_as(found))
        });
        tally.many("files", "only in snapshots", (was - lost.len()) as u64);
        tally.one("snapshots", "restored");
    }
}

/// What watchdog said is so.
fn the_verdict_is_true(
    ground: &Ground,
    before: &Before,
    after: &After<'_>,
    only_in_snapshots: &[String],
    tally: &mut Tally,
) {
    let head_moved = ground.head() != before.head;
    if after.killed() {
        let kept = !ground
            .git(&["for-each-ref", "refs/watchdog/rescue"])
            .is_empty();
        let when = match (kept, head_moved) {
            (false, false) => "before the snapshot",
            (true, false) => "between snapshot and commit",
            (_, true) => "after the commit",
        };
        tally.one("watchdog was killed", when);
        return;
    }
    let told = after.tell();
    let json = after.out.json();
    let (good, word) = match after.action {
        Action::Rescue => {
            let good = after.out.code == Some(0);
            let word = if good {
                "rescue: well".to_owned()
            } else {
                format!("rescue: exit {:?}", after.out.code.unwrap_or(-1))
            };
            (good, word)
        }
        Action::Check | Action::Run => {
            let (status, reason) = (
                json["status"].as_str().unwrap(),
                json["reason"].as_str().unwrap(),
            );
            let code = STATUSES
                .iter()
                .find(|(name, _)| *name == status)
                .map(|(_, code)| *code);
            assert_eq!(after.out.code, code, "{told}");
            assert_eq!(
                json["complete"],
                Value::Bool(status == "complete"),
                "{told}"
            );
            if reason == "rescued" {
                assert!(head_moved, "rescued, and HEAD is where it was\n{told}");
            }
            (status == "complete", format!("{status}/{reason}"))
        }
    };
    tally.one("verdict", word);
    if *after.fault == Fault::AgentDestroys {
        // What the agent did to its work is no business of a verdict; that it can be got back is.
        return;
    }
    if good {
        assert!(
            only_in_snapshots.is_empty(),
            "called good with {only_in_snapshots:?} neither in HEAD nor in the work tree\n{told}"
        );
    }
    // Beside another watchdog, HEAD may have moved by its commits, after a rescue that was to make a snapshot alone.
    let committed = if *after.fault == Fault::Twin {
        rescue_of(&json, after)["commits"].as_u64() > Some(0)
    } else {
        head_moved
    };
    if good && committed && !after.fault.has_foreign_writers() {
        everything_is_in_head(ground, before, after, &json);
    }
    if good && before.dirty && after.fault.forbids_keeping() {
        panic!("nothing could be kept, and it was called good\n{told}");
    }
    // A person is told how to get back what is neither committed nor in the work tree.
    if !only_in_snapshots.is_empty() {
        let all = format!("{} {}", after.out.stdout, after.out.stderr);
        assert!(
            all.contains(" rescue restore "),
            "{only_in_snapshots:?}: no word about the way back\n{told}"
        );
    }
}

/// What the output says of its rescue.
fn rescue_of<'j>(json: &'j Value, after: &After<'_>) -> &'j Value {
    if after.action == Action::Rescue {
        json
    } else {
        &json["rescue"]
    }
}

/// A rescue that went well leaves out only what it names.
fn everything_is_in_head(ground: &Ground, before: &Before, after: &After<'_>, json: &Value) {
    let mut uncommitted = before.manifest.clone();
    drop_committed(ground, &mut uncommitted);
    let named: Vec<String> = rescue_of(json, after)["left_out"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|left| left["path"].as_str().unwrap().to_owned())
        .collect();
    let inside = |path: &str| {
        NESTED
            .iter()
            .any(|folder| path.starts_with(&format!("{folder}/")))
    };
    let unnamed: Vec<String> = names(&uncommitted)
        .into_iter()
        .filter(|path| !named.contains(path) && !inside(path))
        .collect();
    assert!(
        unnamed.is_empty(),
        "called good, and {unnamed:?} is neither committed nor named\n{}",
        after.tell()
    );
}

/// HEAD, branches and the index are as they were, but for the commits of a rescue.
fn the_index_is_whole(ground: &Ground, before: &Before, after: &After<'_>) {
    if after.fault.has_foreign_writers() {
        return;
    }
    let told = after.tell();
    assert_eq!(
        std::fs::read(ground.root.join(".git/HEAD")).unwrap(),
        before.branch,
        "HEAD names something else\n{told}"
    );
    assert_eq!(
        text(&other_refs(ground)),
        text(&before.refs),
        "other refs moved\n{told}"
    );
    let now = index(ground);
    let head = ground.head();
    if head == before.head {
        let announced = |line: &&Vec<u8>| line.windows(40).any(|id| id == EMPTY_BLOB.as_bytes());
        let mut left: Vec<&Vec<u8>> = now
            .iter()
            .filter(|line| !before.index.contains(line))
            .collect();
        if after.fault.kills() || after.killed() {
            // At most names that were announced to git, without content.
            left.retain(|line| !announced(line));
        }
        assert!(
            left.is_empty(),
            "the index has {:?}\n{told}",
            left.iter().map(|line| text(line)).collect::<Vec<_>>()
        );
        let gone: Vec<_> = before
            .index
            .iter()
            .filter(|line| !now.contains(line))
            .map(|line| text(line))
            .collect();
        assert!(gone.is_empty(), "the index misses {gone:?}\n{told}");
        return;
    }
    if let Some(old) = &before.head {
        let out = ground.try_git(&["merge-base", "--is-ancestor", old.as_str(), "HEAD"]);
        assert!(
            out.status.success(),
            "HEAD no longer has what it had\n{told}"
        );
    }
    if after.killed() || matches!(after.fault, Fault::Hook(Hook::Hangs)) {
        return;
    }
    // Each entry is what it was, or what was committed.
    let committed = ground.git(&["ls-tree", "-r", "-z", "HEAD"]);
    let committed: Vec<(String, &[u8])> = committed
        .split(|b| *b == 0)
        .filter(|line| !line.is_empty())
        .map(split_tree_line)
        .collect();
    for line in &now {
        let tab = line.iter().position(|b| *b == b'\t').unwrap();
        let (meta, path) = (text(&line[..tab]), &line[tab + 1..]);
        let is_committed = || {
            committed
                .iter()
                .any(|(id, of)| *of == path && meta.contains(id.as_str()))
        };
        assert!(
            before.index.contains(line) || is_committed(),
            "the index has {} from nowhere\n{told}",
            text(line)
        );
    }
}

const EMPTY_BLOB: &str = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";

/// The object and path of a line of `ls-tree`.
fn split_tree_line(line: &[u8]) -> (String, &[u8]) {
    let tab = line.iter().position(|b| *b == b'\t').unwrap();
    (
        text(&line[..tab])
            .split(' ')
            .next_back()
            .unwrap()
            .to_owned(),
        &line[tab + 1..],
    )
}

/// The records open, and the next look at the worktree gives a verdict that is none of a broken place.
fn the_next_check_answers(ground: &Ground, after: &After<'_>, tally: &mut Tally) {
    let out = ground.env.watchdog(
        &ground.root,
        &["check", "--json", "--no-probe", "--no-rescue"],
    );
    let told = || format!("{out}\nafter {}", after.tell());
    let json = out.json();
    let status = json["status"]
        .as_str()
        .unwrap_or_else(|| panic!("{}", told()));
    let code = STATUSES
        .iter()
        .find(|(name, _)| *name == status)
        .map(|(_, code)| *code);
    assert_eq!(out.code, code, "{}", told());
    assert_ne!(status, "error", "{}", told());
    tally.one(
        "next check",
        format!("{status}/{}", json["reason"].as_str().unwrap_or_default()),
    );
}
