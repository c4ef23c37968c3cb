//! Secrets and over-size files: kept in every snapshot, and kept apart from what can be merged or pushed.

use crate::support::{assert_parts, fill_line};
use watchdog_core::config::settings::{ConfigSettings, RescueMode, RescueSettings};
use watchdog_git::{RestoreTarget, RestoredTo, Snapshot, SnapshotCandidate};
use watchdog_judge::rescue::private_rule;

use crate::support::scratch_repo::{ScratchRepo, files};

const LIMIT: u64 = 1000;

fn settings() -> RescueSettings {
    RescueSettings {
        mode: RescueMode::Single,
        max_bytes: LIMIT,
        ..ConfigSettings::default().rescue
    }
}

fn snapshot(repo: &ScratchRepo) -> Snapshot {
    repo.snapshot_apart(&private_rule(&settings()))
        .expect("there is uncommitted work")
}

fn private(snapshot: &Snapshot) -> String {
    snapshot.name.replace("/rescue/", "/private/")
}

fn paths(repo: &ScratchRepo, object: &str) -> Vec<String> {
    repo.git(["ls-tree", "-r", "--name-only", object])
        .lines()
        .map(ToOwned::to_owned)
        .collect()
}

/// Whether any object that a clone of the snapshot would get holds this text.
fn leaks(repo: &ScratchRepo, snapshot: &Snapshot, text: &str) -> bool {
    let clone = repo.beside("pushed.git");
    std::fs::remove_dir_all(&clone).ok();
    repo.git(["init", "-q", "--bare", clone.to_str().unwrap()]);
    repo.git([
        "push",
        "-q",
        clone.to_str().unwrap(),
        &format!("{}:refs/heads/pushed", snapshot.commit),
    ]);
    let objects = repo.git_in(
        &clone,
        [
            "cat-file",
            "--batch-all-objects",
            "--batch-check=%(objectname) %(objecttype)",
        ],
    );
    objects
        .lines()
        .filter_map(|line| line.strip_suffix(" blob"))
        .any(|id| repo.git_in(&clone, ["cat-file", "blob", id]).contains(text))
}

/// Staged, changed, new and deleted files, with a secret or a big file among each.
fn scene() -> ScratchRepo {
    let repo = ScratchRepo::new();
    repo.write("known.pem", "committed key\n");
    repo.write("gone.pem", "committed key, too\n");
    repo.write("grows", "small\n");
    repo.git(["add", "-A"]);
    repo.git(["commit", "-qm", "more"]);
    repo.write("tracked", "two\n");
    repo.write("new", "n\n");
    repo.write(".env", "TOKEN=staged hunter2\n");
    repo.write("staged.key", "only staged hunter2\n");
    repo.write("ordinary", "o\n");
    repo.git(["add", ".env", "staged.key", "ordinary"]);
    repo.write(".env", "TOKEN=hunter2\n");
    repo.remove("staged.key");
    repo.write("known.pem", "new key hunter2\n");
    repo.remove("gone.pem");
    repo.write("grows", format!("hunter2{}", "x".repeat(5000)));
    repo.symlink("hunter2", "id_rsa");
    repo
}

#[test]
fn private_files_stay_out_of_the_snapshot_objects() {
    let repo = scene();
    let before = repo.files();
    let snapshot = snapshot(&repo);
    assert_eq!(repo.files(), before);
    assert!(!leaks(&repo, &snapshot, "hunter2"));
    let shared = fill_line(
        "dir/inner grows known.pem link new ordinary run.sh tracked",
        &[],
    );
    assert_eq!(
        paths(&repo, &snapshot.commit),
        shared,
        "a deletion carries no content, and is shared"
    );
    assert_eq!(
        repo.git(["show", &format!("{}:known.pem", snapshot.commit)]),
        "committed key",
        "as HEAD has it"
    );
    assert!(
        !paths(&repo, &format!("{}^2", snapshot.commit)).contains(&".env".to_owned()),
        "not in the index's commit either"
    );
    assert_eq!(
        paths(&repo, &private(&snapshot)),
        [
            "index/.env",
            "index/staged.key",
            "why",
            "work/.env",
            "work/grows",
            "work/id_rsa",
            "work/known.pem"
        ]
    );
    let why = repo.git(["show", &format!("{}:why", private(&snapshot))]);
    let why: Vec<&str> = why.split('\0').filter(|line| !line.is_empty()).collect();
    assert_eq!(
        why,
        [
            "secret .env",
            "too_large grows",
            "secret id_rsa",
            "secret known.pem",
            "secret staged.key"
        ]
    );
    assert_eq!(
        repo.git(["rev-list", "--count", &private(&snapshot)]),
        "1",
        "it leads nowhere itself"
    );
    let info = repo.open().snapshots(None).unwrap().remove(0);
    assert_eq!(
        (info.files, info.private_files),
        (8, 5),
        "staged.key differs in the index alone"
    );
    repo.git(["fsck", "--strict"]);
}

#[test]
fn both_snapshot_parts_restore_with_the_index() {
    let repo = scene();
    let (before, status) = (repo.files(), repo.git(["status", "--porcelain"]));
    let staged = repo.git(["ls-files", "--stage"]);
    let snapshot = snapshot(&repo);
    repo.wipe();
    repo.git(["reflog", "expire", "--expire=now", "--all"]);
    repo.git(["gc", "-q", "--prune=now"]);
    let restored = repo
        .open()
        .restore(ScratchRepo::id(&snapshot), RestoreTarget::InPlace)
        .unwrap();
    assert_eq!(
        (restored.to, restored.note),
        (RestoredTo::WorkTree { index: true }, None)
    );
    assert_eq!(repo.files(), before);
    assert_eq!(repo.git(["status", "--porcelain"]), status);
    assert_eq!(repo.git(["ls-files", "--stage"]), staged);
    assert!(
        self::snapshot(&repo).reused,
        "the restored state is the state that was kept"
    );

    let out = repo.beside("out");
    repo.open()
        .restore(
            ScratchRepo::id(&snapshot),
            RestoreTarget::Directory(out.clone()),
        )
        .unwrap();
    assert_eq!(files(&out), before);
}

#[test]
fn restored_branch_has_only_the_shared_part() {
    let repo = scene();
    let snapshot = snapshot(&repo);
    let id = ScratchRepo::id(&snapshot);
    let restored = repo.open().restore(id, RestoreTarget::Automatic).unwrap();
    assert_eq!(
        restored.to,
        RestoredTo::Branch(format!("watchdog/restored/{id}"))
    );
    let note = restored.note.unwrap();
    assert_parts(
        &note,
        &["5 private files", &format!(" rescue restore {id} --to DIR")],
    );
    assert!(!paths(&repo, &format!("watchdog/restored/{id}")).contains(&".env".to_owned()));
}

#[test]
fn the_proof_covers_what_is_private() {
    let repo = scene();
    let snapshot = snapshot(&repo);
    assert_eq!(
        repo.open().missing_from(&snapshot).unwrap(),
        Vec::<String>::new()
    );
    let outcome = repo.rescue(&snapshot, &settings());
    assert_eq!(
        (outcome.commits, &outcome.failed, &outcome.lost),
        (1, &None, &vec![])
    );
    let left: Vec<(&str, &str)> = outcome
        .left_out
        .iter()
        .map(|l| (l.path.as_str(), l.why.as_str()))
        .collect();
    assert_eq!(
        left,
        [
            (".env", "secret"),
            ("grows", "too_large"),
            ("id_rsa", "secret"),
            ("known.pem", "secret")
        ]
    );
    repo.remove(".env");
    repo.write("grows", "small\n");
    assert_eq!(
        repo.open().missing_from(&snapshot).unwrap(),
        [".env", "grows"]
    );
    // A proof that cannot look is no proof.
    repo.git(["update-ref", "-d", &private(&snapshot)]);
    repo.git(["gc", "-q", "--prune=now"]);
    assert_parts(
        &repo.open().missing_from(&snapshot).unwrap_err().to_string(),
        &["private files is gone"],
    );
}

#[test]
fn only_secrets_uncommitted_is_a_snapshot_too() {
    let repo = ScratchRepo::new();
    repo.write("sub/.env.local", "x");
    let snapshot = snapshot(&repo);
    assert_eq!(snapshot.tree, repo.git(["rev-parse", "HEAD^{tree}"]));
    repo.wipe();
    repo.open()
        .restore(ScratchRepo::id(&snapshot), RestoreTarget::InPlace)
        .unwrap();
    assert_eq!(repo.read("sub/.env.local"), "x");
    repo.write("sub/.env.local", "y");
    let second = self::snapshot(&repo);
    assert!(!second.reused, "a change of a secret alone is a new state");
    repo.git(["update-ref", "-d", &private(&second)]);
    assert!(
        !self::snapshot(&repo).reused,
        "a snapshot that lost its private part is not relied on"
    );
}

#[test]
fn dropping_drops_both_parts() {
    let repo = scene();
    let snapshot = snapshot(&repo);
    repo.open()
        .drop_snapshot(ScratchRepo::id(&snapshot))
        .unwrap();
    assert_eq!(repo.git(["for-each-ref", "refs/watchdog"]), "");
}

#[test]
fn secrets_in_conflicts_and_submodules_are_kept_apart() {
    let repo = ScratchRepo::new();
    repo.write("server.pem", "base\n");
    repo.write("config", "a file\n");
    repo.git(["add", "-A"]);
    repo.git(["commit", "-qm", "base"]);
    let library = repo.beside("library");
    std::fs::create_dir(&library).unwrap();
    repo.git_in(&library, ["init", "-q", "-b", "main"]);
    std::fs::write(library.join("own"), "own\n").unwrap();
    repo.git_in(&library, ["add", "-A"]);
    repo.git_in(&library, ["commit", "-qm", "own"]);
    repo.git(fill_line(
        "submodule --quiet add {} sub",
        &[library.to_str().unwrap()],
    ));
    repo.git(["commit", "-qm", "sub"]);
    repo.git(["switch", "-qc", "other"]);
    repo.write("server.pem", "theirs hunter2\n");
    repo.git(["commit", "-qam", "theirs"]);
    repo.git(["switch", "-q", "main"]);
    repo.write("server.pem", "ours\n");
    repo.git(["commit", "-qam", "ours"]);
    assert!(
        !repo
            .try_git_in(repo.root(), ["merge", "other"])
            .status
            .success()
    );
    repo.write("sub/.env", "hunter2\n");
    repo.write("sub/plain", "p\n");
    repo.remove("config");
    repo.write("config/.env", "hunter2\n");
    let (before, unmerged) = (repo.files(), repo.git(["ls-files", "-u"]));
    let snapshot = snapshot(&repo);
    assert!(!leaks(&repo, &snapshot, "hunter2"));
    let private_paths = paths(&repo, &private(&snapshot));
    for path in [
        "conflicts/3/server.pem",
        "nested/sub/.env",
        "work/config/.env",
        "work/server.pem",
    ] {
        assert!(
            private_paths.contains(&path.to_owned()),
            "{path}: {private_paths:?}"
        );
    }
    assert_eq!(
        repo.open().missing_from(&snapshot).unwrap(),
        Vec::<String>::new()
    );
    repo.git(["merge", "--abort"]);
    repo.git(["reset", "-q", "--hard"]);
    std::fs::remove_dir_all(repo.path("config")).ok();
    repo.git(["reset", "-q", "--hard"]);
    for file in ["sub/.env", "sub/plain"] {
        repo.remove(file);
    }
    repo.open()
        .restore(ScratchRepo::id(&snapshot), RestoreTarget::InPlace)
        .unwrap();
    assert_eq!(repo.files(), before);
    assert_eq!(repo.git(["ls-files", "-u"]), unmerged);
}

#[test]
fn unborn_branch_and_odd_names_keep_secrets_apart() {
    use std::os::unix::ffi::OsStrExt;
    let repo = ScratchRepo::unborn();
    repo.write("first", "1");
    repo.write(std::ffi::OsStr::from_bytes(b"new\nline\xff.pem"), "hunter2");
    repo.write(".env", "hunter2");
    repo.git(["add", ".env"]);
    let before = repo.files();
    let snapshot = snapshot(&repo);
    assert_eq!(paths(&repo, &snapshot.commit), ["first"]);
    repo.git(["rm", "-qrf", "--cached", "."]);
    repo.git(["clean", "-qffdx"]);
    repo.open()
        .restore(ScratchRepo::id(&snapshot), RestoreTarget::InPlace)
        .unwrap();
    assert_eq!(repo.files(), before);
    assert_eq!(repo.git(["diff", "--cached", "--name-only"]), ".env");
}

#[test]
fn secret_in_ordinary_files_is_never_committed() {
    let repo = ScratchRepo::new();
    // Put together here, so that this file holds none.
    let token = ["ghp_", "q7Zt4KbX9mN2vR8sL1cW5yH3dJ6fP0aGeUoT"].concat();
    let known = ["ghp_", "A8kP3xV6nB1mQ9wE5rT2yU7iO4sD0fGhJlZc"].concat();
    repo.write("settings.py", format!("OLD = '{known}'\n"));
    repo.git(["add", "-A"]);
    repo.git(["commit", "-qm", "somebody committed one long ago"]);
    repo.write("settings.py", format!("OLD = '{known}'\nfine = True\n"));
    repo.write("deploy.sh", format!("TOKEN={token}\n"));
    repo.write("staged.py", format!("TOKEN = '{token}'\n"));
    repo.git(["add", "staged.py"]);
    repo.write("staged.py", "TOKEN = read()\n");
    let before = repo.files();
    let snapshot = snapshot(&repo);
    assert!(!leaks(&repo, &snapshot, &token));
    assert_eq!(
        paths(&repo, &private(&snapshot)),
        ["index/staged.py", "why", "work/deploy.sh"],
        "what HEAD has already is no news"
    );
    let outcome = repo.rescue(&snapshot, &settings());
    let left: Vec<(&str, &str)> = outcome
        .left_out
        .iter()
        .map(|l| (l.path.as_str(), l.why.as_str()))
        .collect();
    assert_eq!(
        (outcome.commits, left, &outcome.lost),
        (1, vec![("deploy.sh", "secret")], &vec![])
    );
    assert!(
        !repo
            .git(fill_line(
                "log -p --all --not --glob=refs/watchdog/private/*",
                &[]
            ))
            .contains(&token)
    );
    repo.git(["reset", "-q", "--hard", "HEAD~1"]);
    repo.git(["clean", "-qffdx"]);
    repo.open()
        .restore(ScratchRepo::id(&snapshot), RestoreTarget::InPlace)
        .unwrap();
    assert_eq!(repo.files(), before);
    assert!(
        repo.git(["show", ":staged.py"]).contains(&token),
        "the index as it was"
    );
}

/// A repository that ignores what developers ignore, with settings of this machine in it.
fn with_ignored_settings() -> ScratchRepo {
    let repo = ScratchRepo::new();
    repo.write(
        ".gitignore",
        ".env*\n*.log\nnode_modules/\n*.local.json\nbig.tfvars\n",
    );
    repo.git(["add", ".gitignore"]);
    repo.git(["commit", "-qm", "ignore"]);
    repo.write(".env", "TOKEN=of this machine\n");
    repo.write("api/.env.local", "PORT=1\n");
    repo.write("settings.local.json", "{}\n");
    repo.write("debug.log", "noise");
    repo.write("node_modules/x/.env", "theirs");
    repo.write("big.tfvars", vec![b'x'; 70 << 10]);
    repo
}

fn of_settings(candidate: &SnapshotCandidate<'_>) -> Option<&'static str> {
    private_rule(&ConfigSettings::default().rescue)(candidate)
}

#[test]
fn small_ignored_settings_survive_a_clean_of_everything() {
    let repo = with_ignored_settings();
    repo.write("tracked", "two\n");
    let snapshot = repo.snapshot_apart(&of_settings).unwrap();
    let worktree = repo.open();
    assert_eq!(
        worktree
            .snapshot_info(&snapshot.name)
            .unwrap()
            .private_files,
        3
    );
    // They are no work, and not in what may be merged or pushed.
    let work: Vec<String> = worktree
        .snapshot_paths(&snapshot.commit)
        .unwrap()
        .into_iter()
        .map(|path| path.text)
        .collect();
    assert_eq!(work, ["tracked"]);
    assert_eq!(
        repo.git(["diff", "--name-only", "HEAD", &snapshot.commit]),
        "tracked"
    );
    let reachable = repo.git(["rev-list", "--objects", &snapshot.commit]);
    assert!(!reachable.contains(".env"), "{reachable}");
    repo.wipe();
    assert!(!repo.path(".env").exists());
    worktree
        .restore(&snapshot.name, RestoreTarget::InPlace)
        .unwrap();
    assert_eq!(
        (repo.read(".env"), repo.read("api/.env.local")),
        ("TOKEN=of this machine\n".into(), "PORT=1\n".into())
    );
    assert_eq!(
        (repo.read("settings.local.json"), repo.read("tracked")),
        ("{}\n".into(), "two\n".into())
    );
    for gone in ["debug.log", "node_modules/x/.env", "big.tfvars"] {
        assert!(
            !repo.path(gone).exists(),
            "{gone} was not kept, as the README says"
        );
    }
}

#[test]
fn ignored_settings_are_kept_in_a_clean_worktree() {
    let repo = with_ignored_settings();
    let snapshot = repo.snapshot_apart(&of_settings).unwrap();
    assert!(
        repo.snapshot_apart(&of_settings).unwrap().reused,
        "the same state is kept once"
    );
    assert!(
        repo.try_snapshot().is_none(),
        "without a rule nothing ignored is kept"
    );
    assert!(repo.open().missing_from(&snapshot).unwrap().is_empty());
    repo.git(["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn restore_spares_newer_ignored_settings() {
    let repo = with_ignored_settings();
    repo.write("tracked", "two\n");
    let snapshot = repo.snapshot_apart(&of_settings).unwrap();
    repo.git(["checkout", "-q", "tracked"]);
    repo.write(".env", "TOKEN=newer\n");
    repo.remove("settings.local.json");
    let restored = repo
        .open()
        .restore(&snapshot.name, RestoreTarget::InPlace)
        .unwrap();
    assert!(
        restored
            .note
            .as_ref()
            .is_some_and(|note| note.contains("left as they are (.env)")),
        "{restored:?}"
    );
    assert_eq!(
        (repo.read(".env"), repo.read("tracked")),
        ("TOKEN=newer\n".into(), "two\n".into())
    );
    assert_eq!(repo.read("settings.local.json"), "{}\n");
}

#[test]
fn ignored_settings_are_never_listed_as_left_out() {
    let repo = with_ignored_settings();
    repo.write("new", "n");
    let snapshot = repo.snapshot_apart(&of_settings).unwrap();
    let settings = RescueSettings {
        mode: RescueMode::Single,
        ..ConfigSettings::default().rescue
    };
    let outcome = repo.rescue(&snapshot, &settings);
    assert_eq!(
        (
            outcome.commits,
            &outcome.failed,
            &outcome.left_out,
            &outcome.lost
        ),
        (1, &None, &vec![], &vec![]),
        "{outcome:?}"
    );
    assert_eq!(repo.names_in("HEAD"), "new");
    assert_eq!(repo.read(".env"), "TOKEN=of this machine\n");
}
