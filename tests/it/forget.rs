//! `watchdog forget`: shows what watchdog left, removes it, and loses no work by it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use watchdog_git::Worktree;
use watchdog_store::lock::{LockHolder, WorktreeLock};
use watchdog_store::{LocalStore, RecordType, StateDir, open_store};

use crate::support::{CommandOutput, Repo, TestEnv, assert_parts, wait_until};

/// Names of the refs below `refs/watchdog`.
fn own_refs(repo: &Repo<'_>) -> Vec<String> {
    repo.git(&["for-each-ref", "--format=%(refname)", "refs/watchdog"])
        .lines()
        .map(str::to_owned)
        .collect()
}

fn store(env: &TestEnv) -> std::sync::Arc<dyn LocalStore> {
    open_store(&StateDir::resolve(Some(env.state()), None, None).unwrap()).unwrap()
}

/// What of the state directory names a worktree or a repository: rows, events and files.
fn traces(env: &TestEnv, names: &[String]) -> Vec<String> {
    let store = store(env);
    let mut found: Vec<String> = store
        .revisions("")
        .unwrap()
        .into_iter()
        .map(|(key, _)| key.as_str().to_owned())
        .collect();
    found.extend(
        store
            .newest(10_000)
            .unwrap()
            .into_iter()
            .map(|event| format!("event {} {}", event.kind, event.worktree)),
    );
    for folder in ["locks", "logs", "prompts"] {
        let entries = fs::read_dir(env.state().join(folder))
            .into_iter()
            .flatten()
            .flatten();
        found.extend(
            entries.map(|entry| format!("{folder}/{}", entry.file_name().to_string_lossy())),
        );
    }
    found.retain(|text| names.iter().any(|name| text.contains(name)));
    found
}

fn names_of(path: &Path) -> Vec<String> {
    let worktree = Worktree::open(path).unwrap();
    vec![worktree.worktree_id(), worktree.repository_id()]
}

/// A repository with a session's work committed, some left uncommitted, hooks, trust and a queue of tasks.
fn used(env: &TestEnv) -> Repo<'_> {
    let repo = env.repo();
    repo.write(
        "completion.json",
        json!({"checks": [{"type": "command", "run": "test -e work"}], "rescue": {"mode": "snapshot"}}).to_string(),
    );
    repo.write(
        ".watchdog/tasks/T1.md",
        "---\nid: T1\ntitle: t\n---\n\nDo.\n",
    );
    repo.write(".claude/settings.json", "{\n  \"model\": \"x\"\n}\n");
    repo.commit_all("criteria");
    repo.watchdog(&["trust"]).expect(0);
    repo.watchdog(&["task", "list"]).expect(0);
    repo.watchdog(&["hook", "install"]).expect(0);
    work_in(&repo);
    repo
}

fn work_in(repo: &Repo<'_>) {
    let session = "echo 1 >> work; git add work; git commit -q -m work; echo left >> left";
    let out = repo.watchdog(&["run", "--no-probe", "--", "sh", "-c", session]);
    assert!(matches!(out.code, Some(0 | 10 | 12)), "{out}");
}

fn linked<'env>(env: &'env TestEnv, repo: &Repo<'env>, name: &str) -> Repo<'env> {
    let path = env.root().join(name);
    repo.git(&["worktree", "add", "-q", "-b", name, path.to_str().unwrap()]);
    Repo::new(env, path)
}

fn count(out: &CommandOutput, list: &str, kind: &str) -> u64 {
    let json = out.json();
    let found = json[list]
        .as_array()
        .unwrap()
        .iter()
        .find(|entry| entry["kind"] == kind)
        .map(|entry| entry["count"].clone());
    found.and_then(|count| count.as_u64()).unwrap_or(0)
}

#[test]
fn forget_removes_leftovers_only_when_confirmed() {
    let env = TestEnv::new();
    let repo = used(&env);
    let (refs, settings) = (
        own_refs(&repo),
        fs::read_to_string(repo.path().join(".claude/settings.json")).unwrap(),
    );
    for args in [
        &["forget"][..],
        &["forget", "--dry-run", "--all", "--snapshots"],
        &["forget", "--json"],
    ] {
        let _shown = repo.watchdog(args).expect(0);
        assert_eq!(own_refs(&repo), refs, "{args:?}");
    }
    assert_eq!(
        fs::read_to_string(repo.path().join(".claude/settings.json")).unwrap(),
        settings
    );
    let shown = repo.watchdog(&["forget"]).expect(0);
    for words in [
        "hooks", "records", "events", "trust", "refs", "files", "KiB",
    ] {
        assert!(shown.stdout.contains(words), "{words}: {shown}");
    }
    shown.assert_printed(&[
        "of work; remove them with --snapshots, look at them with: watchdog -C ",
    ]);
    assert!(
        shown.stdout.trim_end().ends_with(&format!(
            "To remove these: watchdog -C {} forget --yes",
            repo.path().display()
        )),
        "{shown}"
    );
    let more = repo.watchdog(&["forget", "--all", "--snapshots"]).expect(0);
    assert!(more.stdout.contains("cannot be brought back"), "{more}");
    assert!(
        more.stdout
            .trim_end()
            .ends_with(" forget --all --snapshots --yes"),
        "{more}"
    );
}

#[test]
fn forget_leaves_only_work_and_user_files() {
    let env = TestEnv::new();
    let repo = used(&env);
    let names = names_of(repo.path());
    let head = repo.head();
    let snapshots = repo.snapshots();
    assert!(!snapshots.is_empty() && !traces(&env, &names).is_empty());
    let removed = repo.watchdog(&["forget", "--yes"]).expect(0);
    assert!(removed.stdout.trim_end().ends_with("Removed."), "{removed}");
    assert_eq!(traces(&env, &names), Vec::<String>::new());
    assert_eq!(own_refs(&repo), snapshots);
    assert_eq!(
        fs::read_to_string(repo.path().join(".claude/settings.json")).unwrap(),
        "{\n  \"model\": \"x\"\n}\n"
    );
    assert!(repo.has("completion.json") && repo.has(".watchdog/tasks/T1.md") && repo.has("left"));
    assert_eq!(repo.head(), head);
    assert_eq!(repo.git(&["fsck", "--strict", "--no-dangling"]), "");
    assert_eq!(
        repo.watchdog(&["trust", "--list"]).expect(0).stdout,
        "nothing is trusted\n"
    );
    assert_eq!(
        repo.watchdog(&["status", "--json"]).expect(0).json()["worktrees"],
        json!([])
    );
    let again = repo.watchdog(&["forget", "--yes"]).expect(0);
    assert!(again.stdout.contains("left nothing here"), "{again}");
    let check = repo.watchdog(&["check", "--json"]).expect(16);
    assert_eq!(check.json()["reason"], "no_baseline", "{check}");
    repo.watchdog(&["rescue", "list"])
        .expect(0)
        .assert_printed(&["main"]);
    // It can be watched again.
    work_in(&repo);
    repo.watchdog(&["forget", "--yes", "--snapshots"]).expect(0);
    assert_eq!(own_refs(&repo), Vec::<String>::new());
    assert!(
        !repo.path().join(".git/refs/watchdog").exists()
            && !repo.path().join(".git/watchdog").exists()
    );
}

#[test]
fn snapshots_option_forgets_packed_and_private_snapshots() {
    let env = TestEnv::new();
    let repo = used(&env);
    repo.write(".env", "TOKEN=ghp_0123456789abcdefghijklmnopqrstuvwxyz\n");
    repo.watchdog(&["rescue"]).expect(0);
    repo.git(&["config", "core.logAllRefUpdates", "always"]);
    repo.git(&["pack-refs", "--all"]);
    repo.write("more", "more");
    repo.watchdog(&["rescue"]).expect(0);
    assert!(
        own_refs(&repo)
            .iter()
            .any(|name| name.starts_with("refs/watchdog/private/")),
        "{:?}",
        own_refs(&repo)
    );
    let kept = repo.watchdog(&["forget", "--yes", "--json"]).expect(0);
    assert_eq!(
        count(&kept, "kept", "snapshots"),
        repo.snapshots().len() as u64,
        "{kept}"
    );
    assert!(
        own_refs(&repo)
            .iter()
            .any(|name| name.starts_with("refs/watchdog/private/"))
    );
    assert!(
        own_refs(&repo)
            .iter()
            .all(|name| name.contains("/private/") || name.contains("/rescue/"))
    );
    repo.watchdog(&["rescue", "show", "latest", "--stat"])
        .expect(0);
    let removed = repo
        .watchdog(&["forget", "--yes", "--snapshots", "--json"])
        .expect(0);
    assert!(count(&removed, "entries", "snapshots") > 1, "{removed}");
    assert_eq!(own_refs(&repo), Vec::<String>::new());
    assert!(!repo.path().join(".git/logs/refs/watchdog").exists());
    assert_eq!(repo.git(&["fsck", "--strict", "--no-dangling"]), "");
}

#[test]
fn only_ref_of_commits_survives_without_snapshots_flag() {
    let env = TestEnv::new();
    let repo = used(&env);
    let work = repo.head();
    repo.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let kept = repo.watchdog(&["forget", "--yes", "--json"]).expect(0);
    assert_eq!(count(&kept, "kept", "sole_refs"), 1, "{kept}");
    let judged: Vec<String> = own_refs(&repo)
        .into_iter()
        .filter(|name| !name.contains("/rescue/"))
        .collect();
    assert!(
        judged.len() == 1 && judged[0].starts_with("refs/watchdog/judged/"),
        "{judged:?}"
    );
    repo.git(&["reflog", "expire", "--expire=now", "--all"]);
    repo.git(&["gc", "-q", "--prune=now"]);
    assert_eq!(repo.git(&["cat-file", "-t", &work]), "commit");
    let told = repo.watchdog(&["forget"]).expect(0);
    told.assert_printed(&["no branch, tag or remote has"]);
    // An annotated tag has it as well.
    repo.git(&["tag", "-a", "-m", "keep", "keep", &work]);
    let removed = repo.watchdog(&["forget", "--yes", "--json"]).expect(0);
    assert_eq!(
        (
            count(&removed, "kept", "sole_refs"),
            count(&removed, "entries", "refs")
        ),
        (0, 1),
        "{removed}"
    );
}

#[test]
fn forget_removes_one_worktree_unless_all_is_given() {
    let env = TestEnv::new();
    let repo = used(&env);
    let (side, gone) = (linked(&env, &repo, "side"), linked(&env, &repo, "gone"));
    work_in(&side);
    work_in(&gone);
    let (main_names, side_names, gone_names) = (
        names_of(repo.path()),
        names_of(side.path()),
        names_of(gone.path()),
    );
    let removed = side.watchdog(&["forget", "--yes", "--json"]).expect(0);
    assert_eq!(traces(&env, &side_names[..1]), Vec::<String>::new());
    assert!(count(&removed, "kept", "other_worktrees") > 2, "{removed}");
    let listed = repo.watchdog(&["status", "--json"]).expect(0).json()["worktrees"]
        .as_array()
        .unwrap()
        .len();
    assert_eq!(listed, 2);
    assert_parts(
        &fs::read_to_string(repo.path().join(".claude/settings.json")).unwrap(),
        &["watchdog hook"],
    );
    // git knows nothing of it any more; records and refs do.
    fs::remove_dir_all(gone.path()).unwrap();
    repo.git(&["worktree", "prune"]);
    let shown = side.watchdog(&["forget", "--all"]).expect(0);
    shown.assert_printed(&[&format!("{} (gone)", gone.path().display())]);
    let all = side
        .watchdog(&["forget", "--all", "--yes", "--json"])
        .expect(0);
    all.assert_values(json!({"removed": true, "all": true}));
    assert_eq!(
        all.json()["worktrees"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|one| one["gone"] == true)
            .count(),
        1,
        "{all}"
    );
    assert_eq!(count(&all, "entries", "trust"), 1, "{all}");
    let names = [main_names, side_names, gone_names].concat();
    assert_eq!(traces(&env, &names), Vec::<String>::new());
    assert!(
        own_refs(&repo)
            .iter()
            .all(|name| name.starts_with("refs/watchdog/rescue/")),
        "{:?}",
        own_refs(&repo)
    );
    repo.watchdog(&["forget", "--all", "--yes", "--snapshots"])
        .expect(0);
    assert_eq!(own_refs(&repo), Vec::<String>::new());
}

#[test]
fn refs_of_commits_on_a_branch_are_forgotten() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.watchdog(&["snapshot"]).expect(0);
    let id = names_of(repo.path()).swap_remove(0);
    let tree = repo.git(&["write-tree"]);
    let mut head = repo.head();
    for number in 0..12 {
        let commit = repo.env_command(
            "git",
            &["commit-tree", "-m", "same second", "-p", &head, &tree],
        );
        head = commit
            .env("GIT_COMMITTER_DATE", "2026-03-04T05:06:07Z")
            .run()
            .expect(0)
            .stdout
            .trim()
            .to_owned();
        repo.git_line(
            "update-ref {} {}",
            &[&format!("refs/watchdog/judged/{id}/{number}"), &head],
        );
    }
    repo.git(&["reset", "-q", "--hard", &head]);
    let all_refs = own_refs(&repo).len() as u64;
    let removed = repo.watchdog(&["forget", "--yes", "--json"]).expect(0);
    assert_eq!(
        (
            count(&removed, "entries", "refs"),
            count(&removed, "kept", "sole_refs")
        ),
        (all_refs, 0),
        "{removed}"
    );
    assert_eq!(own_refs(&repo), Vec::<String>::new());
}

#[test]
fn removed_unborn_worktree_is_known_by_recorded_name() {
    let env = TestEnv::new();
    let repo = env.repo();
    let side = linked(&env, &repo, "side");
    side.git(&["checkout", "-q", "--orphan", "void"]);
    side.watchdog(&["snapshot"]).expect(0);
    let names = names_of(side.path());
    for name in own_refs(&repo) {
        assert!(name.contains("/%branches/"), "{name}");
        repo.git(&["update-ref", "-d", &name]);
    }
    fs::remove_dir_all(side.path()).unwrap();
    repo.git(&["worktree", "prune"]);
    assert!(!traces(&env, &names[..1]).is_empty());
    repo.watchdog(&["forget", "--all", "--yes"]).expect(0);
    assert_eq!(traces(&env, &names), Vec::<String>::new());
}

#[test]
fn another_repository_and_the_sums_of_all_stay() {
    let env = TestEnv::new();
    let repo = used(&env);
    let other = env.root().join("other");
    repo.git(&["clone", "-q", ".", other.to_str().unwrap()]);
    let other = Repo::new(&env, other);
    work_in(&other);
    let before = repo.watchdog(&["report", "--json"]).expect(0).json();
    let of_other = traces(&env, &names_of(other.path()));
    repo.watchdog(&["forget", "--all", "--snapshots", "--yes"])
        .expect(0);
    assert_eq!(traces(&env, &names_of(other.path())), of_other);
    let after = repo.watchdog(&["report", "--json"]).expect(0).json();
    assert_eq!(after["total"], before["total"]);
    assert_eq!(
        (&before["worktrees_total"], &after["worktrees_total"]),
        (&json!(2), &json!(1))
    );
    assert_eq!(
        repo.watchdog(&["status", "--json"]).expect(0).json()["worktrees"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn a_session_or_another_watchdog_is_not_disturbed() {
    let env = TestEnv::new();
    let repo = used(&env);
    let side = linked(&env, &repo, "side");
    let refs = own_refs(&repo);
    let mut running = repo.spawn_line(
        "run --no-probe -- sh -c {}",
        &["touch runs; exec sleep 1000"],
    );
    wait_until("the session runs", Duration::from_secs(60), || {
        repo.has("runs")
    });
    for (at, args) in [
        (&repo, &["forget", "--yes", "--json"][..]),
        (&side, &["forget", "--all", "--yes", "--json"]),
    ] {
        let refused = at.watchdog(args).expect(11);
        assert_eq!(refused.json()["reason"], "session_active", "{refused}");
    }
    assert!(refs.iter().all(|name| own_refs(&repo).contains(name)));
    let dir = StateDir::resolve(Some(env.state()), None, None).unwrap();
    let id = Worktree::open(side.path()).unwrap().worktree_id();
    let holder = LockHolder {
        pid: std::process::id(),
        command: "watchdog check".into(),
        since: jiff::Timestamp::now(),
        session_active: false,
        spec: None,
    };
    let held = WorktreeLock::try_acquire(&dir, &id, holder).unwrap();
    let refused = side.watchdog(&["forget", "--yes", "--json"]).expect(11);
    assert_eq!(refused.json()["reason"], "locked", "{refused}");
    drop(held);
    // Of the other worktree there is nothing that a session here could miss.
    side.watchdog(&["forget", "--yes"]).expect(0);
    running.signal(Signal::TERM);
    wait_until("it ends", Duration::from_secs(60), || running.ended());
    repo.watchdog(&["forget", "--yes"]).expect(0);
}

#[test]
fn forget_refuses_during_a_hooked_session() {
    let env = TestEnv::new();
    let repo = used(&env);
    let store = store(&env);
    let id = Worktree::open(repo.path()).unwrap().worktree_id();
    let session = repo.env_command("sleep", &["1000"]).spawn();
    let mut record = watchdog_store::session::SessionRecord::began(jiff::Timestamp::now());
    record.pid = Some(session.pid());
    record.write_row(store.as_ref(), &id, "by hand").unwrap();
    let refused = repo.watchdog(&["forget", "--yes"]).expect(11);
    refused.assert_told(&["'by hand'", "nothing was removed"]);
    record.ended_at = Some(jiff::Timestamp::now());
    record.write_row(store.as_ref(), &id, "by hand").unwrap();
    repo.watchdog(&["forget", "--yes"]).expect(0);
}

#[test]
fn forget_inside_a_session_is_explicit_and_recorded() {
    let mut env = TestEnv::new();
    env.set("WATCHDOG", env!("CARGO_BIN_EXE_watchdog"));
    let other = env.root().join("other");
    env.set("OTHER", &other);
    let repo = env.repo();
    repo.git(&["clone", "-q", ".", other.to_str().unwrap()]);
    let other = Repo::new(&env, other);
    work_in(&other);
    let script = "for words in '' '--from-session' \"-C $OTHER\" \"--from-session -C $OTHER\"; do $WATCHDOG forget --yes $words; \
        echo $? >> codes; done";
    let _judged = repo.watchdog(&["run", "--no-probe", "--", "sh", "-c", script]);
    assert_eq!(
        fs::read_to_string(repo.path().join("codes")).unwrap(),
        "2\n11\n2\n0\n"
    );
    assert!(traces(&env, &names_of(other.path())).is_empty());
    let events = repo
        .watchdog(&["events", "--kind", "trust", "--json"])
        .expect(0)
        .stdout;
    let refused = |line: &str| {
        let event: Value = serde_json::from_str(line).unwrap();
        assert_eq!(event["data"]["command"], "watchdog forget");
        event["data"]["refused"].as_bool().unwrap()
    };
    assert_eq!(
        events.lines().map(refused).collect::<Vec<_>>(),
        [true, false, true, false]
    );
}

#[test]
fn forget_keeps_foreign_hooks_and_tells_unreadable_settings() {
    let env = TestEnv::new();
    let repo = used(&env);
    let theirs = "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"theirs\"}]}]}}";
    repo.write(
        ".claude/settings.local.json",
        theirs.replace(
            "}]}]",
            "}, {\"type\": \"command\", \"command\": \"watchdog hook stop\"}]}]",
        ),
    );
    repo.watchdog(&["hook", "install", "--user"]).expect(0);
    let removed = repo.watchdog(&["forget", "--yes", "--json"]).expect(0);
    assert!(
        count(&removed, "entries", "hooks") > 1 && count(&removed, "kept", "user_hooks") > 0,
        "{removed}"
    );
    let local: Value =
        serde_json::from_slice(&fs::read(repo.path().join(".claude/settings.local.json")).unwrap())
            .unwrap();
    assert_eq!(local, serde_json::from_str::<Value>(theirs).unwrap());
    let told = repo.watchdog(&["forget"]).expect(0);
    told.assert_printed(&["watchdog hook uninstall --user"]);
    repo.write(".claude/settings.local.json", [0xff, 0xfe]);
    let told = repo.watchdog(&["forget", "--yes"]).expect(0);
    told.assert_told(&["settings.local.json is not UTF-8"]);
}

#[test]
fn forget_outside_a_repository_tells_the_way() {
    let env = TestEnv::new();
    let folder = env.root().join("plain");
    fs::create_dir(&folder).unwrap();
    let out = env.watchdog(&folder, &["forget", "--yes"]).expect(16);
    out.assert_told(&["-C", "--all"]);
}

#[test]
fn one_that_was_killed_is_made_again() {
    let env = TestEnv::new();
    let repo = env.repo();
    let (side, path) = (linked(&env, &repo, "side"), env.root().join("gone"));
    let mut stages = BTreeSet::new();
    for round in 0..100_u32 {
        // On a busy machine the first moments all come before it begins.
        if round >= 20 && stages.len() > 1 {
            break;
        }
        repo.git_line("worktree add -q -B gone {}", &[path.to_str().unwrap()]);
        let gone = Repo::new(&env, path.clone());
        for at in [&repo, &side, &gone] {
            at.watchdog(&["snapshot"]).expect(0);
        }
        repo.git(&["pack-refs", "--all"]);
        repo.watchdog(&["snapshot", "--spec", "loose"]).expect(0);
        let names = [
            names_of(repo.path()),
            names_of(side.path()),
            names_of(gone.path()),
        ]
        .concat();
        fs::remove_dir_all(&path).unwrap();
        repo.git(&["worktree", "prune"]);
        let (refs, rows) = (own_refs(&repo).len(), traces(&env, &names).len());
        let mut running = side.watchdog_spawn(&["forget", "--all", "--yes"]);
        std::thread::sleep(Duration::from_micros(u64::from(round) * 5_000));
        running.signal(Signal::KILL);
        wait_until("it ends", Duration::from_secs(60), || running.ended());
        stages.insert((
            traces(&env, &names).len() < rows,
            own_refs(&repo).len() < refs,
        ));
        side.watchdog(&["forget", "--all", "--yes"]).expect(0);
        assert_eq!(traces(&env, &names), Vec::<String>::new(), "round {round}");
        assert_eq!(own_refs(&repo), Vec::<String>::new(), "round {round}");
        assert_eq!(repo.git(&["fsck", "--strict", "--no-dangling"]), "");
    }
    assert!(stages.len() > 1, "too early or too late: {stages:?}");
}
