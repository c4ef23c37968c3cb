//! `watchdog rescue list|show|restore|drop`, and how old snapshots go.

use std::fs;

use serde_json::{Value, json};
use watchdog_core::config::settings::ConfigSettings;
use watchdog_git::{SnapshotRequest, Worktree};
use watchdog_judge::rescue::private_rule;

use crate::support::scratch_repo::files;
use crate::support::{Repo, TestEnv, assert_parts, fill_line};

/// Takes a snapshot as it would have been taken some days ago; returns its id.
fn snapshot(repo: &Repo<'_>, spec: &str, days_ago: i64) -> String {
    let at = jiff::Timestamp::now() - jiff::SignedDuration::from_hours(24 * days_ago);
    let worktree = Worktree::open(repo.path()).expect("a repository");
    let rule = private_rule(&ConfigSettings::default().rescue);
    let taken = worktree.take_snapshot_with_private(
        &SnapshotRequest {
            spec,
            at,
            why: "before the storm",
            max_new_bytes: None,
            even_clean: false,
        },
        &rule,
    );
    let name = taken.expect("it can be kept").expect("there is work").name;
    name.strip_prefix("refs/watchdog/rescue/")
        .expect("a snapshot's name")
        .to_owned()
}

fn refs(repo: &Repo<'_>) -> Vec<String> {
    repo.git_line(
        "for-each-ref --format=%(refname) refs/watchdog/rescue refs/watchdog/private",
        &[],
    )
    .lines()
    .map(ToOwned::to_owned)
    .collect()
}

fn leave_work(repo: &Repo<'_>) {
    repo.write("README.md", "# a project\nwith a second line\n");
    repo.write("src/new.rs", "fn main() {}\n");
    repo.write("staged.txt", "s\n");
    repo.git(&["add", "staged.txt"]);
    repo.write(".env", "TOKEN=hunter2\n");
}

fn wipe(repo: &Repo<'_>) {
    repo.git(&["reset", "-q", "--hard"]);
    repo.git(&["clean", "-qffdx"]);
}

#[test]
fn rescue_list_shows_the_details_people_need() {
    let env = TestEnv::new();
    let repo = env.repo();
    assert_eq!(
        repo.watchdog(&["rescue", "list"]).expect(0).stdout,
        "no snapshots\n"
    );
    leave_work(&repo);
    let old = snapshot(&repo, "auth", 3);
    repo.write("big", "x".repeat(2048));
    let new = snapshot(&repo, "odd\u{1b}[31m name", 0);
    let out = repo.watchdog(&["rescue", "list"]).expect(0);
    let lines: Vec<Vec<&str>> = out
        .stdout
        .lines()
        .map(|line| {
            line.split("  ")
                .filter(|s| !s.is_empty())
                .map(str::trim)
                .collect()
        })
        .collect();
    assert_eq!(lines[0], ["ID", "AGE", "SPEC", "FILES", "SIZE", "WHY"]);
    assert_eq!(
        lines[1],
        [
            &new,
            "just now",
            "odd [31m name",
            "5 files (1 private)",
            "2.1 KiB",
            "before the storm"
        ]
    );
    assert_eq!(
        lines[2],
        [
            &old,
            "3 days ago",
            "auth",
            "4 files (1 private)",
            "60 B",
            "before the storm"
        ]
    );
    assert!(!out.stdout.contains('\u{1b}'));
    let json = repo
        .watchdog(&["rescue", "list", "--spec", "auth", "--json"])
        .expect(0)
        .json();
    let all = json["snapshots"].as_array().expect("a list");
    assert_eq!(
        (
            all.len(),
            &all[0]["id"],
            &all[0]["private_files"],
            &all[0]["base"]
        ),
        (1, &json!(old), &json!(1), &json!(repo.head()))
    );
}

#[test]
fn rescue_show_diffs_against_head_without_secrets() {
    let env = TestEnv::new();
    let repo = env.repo();
    leave_work(&repo);
    repo.write("evil\u{1b}[2J.txt", "a\u{1b}]0;title\u{7}b\u{202e}c\n");
    repo.write("binary", b"\0\x01\x02");
    let id = snapshot(&repo, "main", 0);
    let out = repo.watchdog(&["rescue", "show", &id]).expect(0);
    for line in [
        "  changed  +1 -0               README.md",
        "  new      kept apart: secret  .env",
        "  6 files changed, 4 lines added, 0 removed",
        "diff --git a/README.md b/README.md",
        "--- /dev/null",
        "@@ -1,1 +1,2 @@",
        "+with a second line",
        "+a\\x1b]0;title\\x07b\\u{202e}c",
    ] {
        assert!(
            out.stdout.lines().any(|found| found == line),
            "\"{line}\" is missing\n{out}"
        );
    }
    assert!(
        !out.stdout.contains("hunter2") && !out.stdout.contains('\u{1b}'),
        "{out}"
    );
    let stat = repo
        .watchdog(&["rescue", "show", "--stat", "latest"])
        .expect(0);
    assert!(
        stat.stdout.contains("README.md") && !stat.stdout.contains("diff --git"),
        "{stat}"
    );
    let json = repo
        .watchdog(&["rescue", "show", &id, "--json"])
        .expect(0)
        .json();
    let env_file = json["paths"]
        .as_array()
        .and_then(|all| all.iter().find(|path| path["path"] == ".env"))
        .expect("it is listed");
    assert_eq!(
        (&env_file["private"], &env_file["added"]),
        (&json!("secret"), &Value::Null)
    );
    assert!(
        json["patch"]
            .as_str()
            .is_some_and(|patch| patch.contains("+fn main() {}") && !patch.contains("hunter2"))
    );
    // What git would show is what is shown.
    let ours = json["patch"]
        .as_str()
        .expect("text")
        .split("diff --git ")
        .find(|part| part.starts_with("a/README.md"))
        .expect("it differs");
    let theirs = repo.git_line(
        "diff {} -- README.md",
        &[&format!(
            "{0}^..{0}",
            json["commit"].as_str().expect("a commit")
        )],
    );
    let body = |text: &str| {
        text.lines()
            .skip_while(|line| !line.starts_with("--- "))
            .filter(|line| !line.starts_with("@@"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(body(ours), body(&theirs));
}

#[test]
fn large_diff_is_cut_naming_the_rest() {
    let env = TestEnv::new();
    let repo = env.repo();
    for n in 0..30 {
        repo.write(&format!("many/{n}"), format!("{n}\n").repeat(5000));
    }
    let id = snapshot(&repo, "main", 0);
    let out = repo.watchdog(&["rescue", "show", &id]).expect(0);
    assert!(
        out.stdout.len() < 400 << 10
            && out.stdout.contains(&format!(
                "see the rest with: git -C {} diff ",
                repo.path().display()
            )),
        "{} bytes",
        out.stdout.len()
    );
    assert!(out.stdout.contains("30 files changed"));
}

#[test]
fn snapshot_id_may_be_any_unique_prefix() {
    let env = TestEnv::new();
    let repo = env.repo();
    leave_work(&repo);
    let auth = snapshot(&repo, "auth", 1);
    let time = auth.strip_prefix("auth/").expect("its spec");
    repo.write("more", "m");
    let main = snapshot(&repo, "main", 0);
    let shown = |id: &str| {
        repo.watchdog(&["rescue", "show", "--json", "--stat", id])
            .expect(0)
            .json()["id"]
            .clone()
    };
    let commit = repo.git(&["rev-parse", &format!("refs/watchdog/rescue/{auth}")]);
    for short in [
        "au",
        "auth",
        time,
        &time[..10],
        &commit[..10],
        &format!("refs/watchdog/rescue/{auth}"),
    ] {
        assert_eq!(shown(short), json!(auth), "{short}");
    }
    assert_eq!(
        shown("latest"),
        json!(main),
        "of this worktree's spec, which is the branch"
    );
    for (id, word) in [
        ("20", "several snapshots begin with '20'"),
        ("nothing", "no snapshot 'nothing'"),
        ("", "no snapshot ''"),
        ("a..b", "no snapshot"),
    ] {
        let out = repo.watchdog(&["rescue", "show", id]).expect(2);
        assert!(out.stderr.contains(word), "{out}");
    }
    // The spec of the recorded baseline goes before the branch.
    repo.watchdog(&["snapshot", "--spec", "auth"]).expect(0);
    assert_eq!(shown("latest"), json!(auth));
    repo.watchdog(&["snapshot", "--spec", "nobody"]).expect(0);
    repo.watchdog(&["rescue", "show", "latest"])
        .expect(2)
        .assert_told(&["no snapshot of the spec 'nobody'"]);
}

#[test]
fn a_snapshot_comes_back_into_every_place() {
    let env = TestEnv::new();
    let repo = env.repo();
    leave_work(&repo);
    let (before, status, staged) = (
        files(repo.path()),
        repo.status(),
        repo.git(&["ls-files", "--stage"]),
    );
    let id = snapshot(&repo, "main", 0);

    // The work tree is not clean: nothing in it is touched.
    repo.write("README.md", "unsaved\n");
    let out = repo
        .watchdog(&["rescue", "restore", &id, "--json"])
        .expect(0)
        .json();
    assert_eq!(
        (&out["to"], &out["where"]),
        (&json!("branch"), &json!(format!("watchdog/restored/{id}")))
    );
    assert_parts(
        out["note"].as_str().unwrap(),
        &["README.md", "1 private file"],
    );
    assert_eq!(
        fs::read_to_string(repo.path().join("README.md")).expect("it is there"),
        "unsaved\n"
    );

    // A linked worktree is exact, index and secrets included.
    let linked = env.root().join("linked");
    let out = repo
        .watchdog_line(
            "rescue restore {} --worktree {}",
            &[&id, linked.to_str().expect("UTF-8")],
        )
        .expect(0);
    assert!(
        out.stdout.contains("4 files in the new worktree")
            || out.stdout.contains("5 files in the new worktree"),
        "{out}"
    );
    assert_eq!(files(&linked), before);
    let git = |args: &[&str]| {
        env.command("git", &linked)
            .args(args)
            .run()
            .expect(0)
            .stdout
            .trim_end_matches('\n')
            .to_owned()
    };
    assert_eq!(
        (
            git(&["status", "--porcelain", "--untracked-files=all"]),
            git(&["ls-files", "--stage"])
        ),
        (status.clone(), staged.clone())
    );
    assert_eq!(git(&["rev-parse", "HEAD"]), repo.head());
    let again = repo
        .watchdog_line(
            "rescue restore {} --worktree {}",
            &[&id, linked.to_str().expect("UTF-8")],
        )
        .expect(12);
    assert!(again.stderr.contains("already exists"), "{again}");

    // A plain folder, under both names of the flag.
    for flag in ["--to", "--into"] {
        let folder = env.root().join(format!("plain{flag}"));
        repo.watchdog_line(
            "rescue restore {} {} {}",
            &[&id, flag, folder.to_str().expect("UTF-8")],
        )
        .expect(0);
        assert_eq!(files(&folder), before);
        assert!(!folder.join(".git").exists());
    }

    wipe(&repo);
    // -C still says where to act.
    let out = env
        .watchdog(
            &env.root(),
            &fill_line(
                "rescue restore -C {} {}",
                &[repo.path().to_str().expect("UTF-8"), &id],
            ),
        )
        .expect(0);
    out.assert_printed(&["back in the work tree, the index as it was"]);
    assert_eq!(
        (
            files(repo.path()),
            repo.status(),
            repo.git(&["ls-files", "--stage"])
        ),
        (before, status, staged)
    );
}

#[test]
fn restored_folder_is_named_by_its_plain_path() {
    let env = TestEnv::new();
    let repo = env.repo();
    leave_work(&repo);
    let id = snapshot(&repo, "main", 0);
    let place = |args: &[&str]| {
        repo.watchdog(&[&["rescue", "restore", &id], args].concat())
            .expect(0)
    };
    assert!(place(&["--worktree", "../u"]).stdout.contains(&format!(
        "in the new worktree {}",
        env.root().join("u").display()
    )));
    assert_eq!(
        place(&["--to", "../p", "--json"]).json()["where"],
        json!(env.root().join("p").to_str())
    );
}

#[test]
fn empty_rescue_reports_every_key() {
    let env = TestEnv::new();
    let repo = env.repo();
    let keys = |out: &serde_json::Value| {
        out.as_object()
            .expect("an object")
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    let nothing = repo.watchdog(&["rescue", "--json"]).expect(0).json();
    assert_eq!(
        (
            &nothing["restore"],
            &nothing["warnings"],
            &nothing["left_out_count"]
        ),
        (&json!(null), &json!([]), &json!(0))
    );
    repo.write("work.txt", "1");
    assert_eq!(
        keys(&nothing),
        keys(&repo.watchdog(&["rescue", "--json"]).expect(0).json())
    );
}

#[test]
fn unborn_restore_makes_a_plain_folder() {
    let env = TestEnv::new();
    let repo = env.unborn_repo("repo");
    repo.write("first", "1");
    let id = snapshot(&repo, "main", 0);
    let folder = env.root().join("out");
    let out = repo
        .watchdog_line(
            "rescue restore {} --worktree {} --json",
            &[&id, folder.to_str().expect("UTF-8")],
        )
        .expect(0)
        .json();
    assert_eq!(
        (
            &out["to"],
            out["note"]
                .as_str()
                .is_some_and(|note| note.contains("before the first commit"))
        ),
        (&json!("directory"), true)
    );
    assert_eq!(
        fs::read_to_string(folder.join("first")).expect("it is there"),
        "1"
    );
}

#[test]
fn drop_takes_both_parts_and_is_written_down() {
    let env = TestEnv::new();
    let repo = env.repo();
    leave_work(&repo);
    let id = snapshot(&repo, "main", 0);
    assert_eq!(refs(&repo).len(), 2);
    repo.watchdog(&["rescue", "drop", "latest"]).expect(0);
    assert_eq!(refs(&repo), Vec::<String>::new());
    let events = repo.watchdog(&["events", "--json"]).expect(0).stdout;
    assert!(
        events.contains("\"dropped\"") && events.contains(&id),
        "{events}"
    );
}

#[test]
fn old_snapshots_expire_daily_except_the_newest() {
    let env = TestEnv::new();
    let repo = env.repo();
    leave_work(&repo);
    let mut ids = Vec::new();
    for (spec, days) in [
        ("auth", 90),
        ("auth", 60),
        ("auth", 45),
        ("other", 200),
        ("main", 31),
        ("main", 29),
    ] {
        repo.write("counter", format!("{spec} {days}"));
        ids.push(snapshot(&repo, spec, days));
    }
    // A private part without its snapshot, as a crash may leave it.
    let orphan = repo.git(&["rev-parse", &format!("refs/watchdog/private/{}", ids[0])]);
    repo.git_line(
        "update-ref refs/watchdog/private/auth/20200101T000000Z-0 {}",
        &[&orphan],
    );
    let kept = |ids: &[&String]| {
        let mut names: Vec<String> = ["rescue", "private"]
            .iter()
            .flat_map(|kind| {
                ids.iter()
                    .map(move |id| format!("refs/watchdog/{kind}/{id}"))
            })
            .collect();
        names.sort();
        names
    };
    let sorted = || {
        let mut found = refs(&repo);
        found.sort();
        found
    };
    repo.watchdog_line(
        "check --no-probe --no-rescue --baseline HEAD --max-probes 0",
        &[],
    );
    let mut all = kept(&[&ids[2], &ids[3], &ids[5]]);
    let found: Vec<String> = sorted()
        .into_iter()
        .filter(|name| !name.contains(&today()))
        .collect();
    all.sort();
    assert_eq!(found, all);
    let events = repo
        .watchdog(&["events", "--json", "-n", "100"])
        .expect(0)
        .stdout;
    assert!(
        events.contains("\"expired\"") && events.contains(&ids[0]) && events.contains(&ids[4]),
        "{events}"
    );

    // The day is not over: what is old by now stays for the next look.
    repo.write("counter", "again");
    let late = snapshot(&repo, "auth", 44);
    repo.watchdog(&["rescue"]);
    assert!(refs(&repo).contains(&format!("refs/watchdog/rescue/{}", ids[2])));
    assert!(refs(&repo).contains(&format!("refs/watchdog/rescue/{late}")));
}

/// The day in the names of snapshots that watchdog itself took meanwhile.
fn today() -> String {
    jiff::Timestamp::now().strftime("%Y%m%dT").to_string()
}

#[test]
fn standalone_rescue_expires_snapshots_by_its_own_days() {
    let env = TestEnv::new();
    let repo = env.repo();
    leave_work(&repo);
    let old = snapshot(&repo, "main", 3);
    repo.write("more", "m");
    let newer = snapshot(&repo, "main", 1);
    let config = env.write(
        "c.json",
        json!({"version": 1, "rescue": {"mode": "single", "keep_days": 2}}).to_string(),
    );
    repo.watchdog(&["rescue", "--config", config.to_str().expect("UTF-8")])
        .expect(0);
    let left = refs(&repo);
    assert!(
        !left.iter().any(|name| name.contains(&old))
            && left.iter().any(|name| name.contains(&newer)),
        "{left:?}"
    );
}

#[test]
fn rescue_dry_run_changes_no_state() {
    let env = TestEnv::new();
    let repo = env.repo();
    for n in 0..150 {
        repo.write(&format!("many/f{n:03}.txt"), format!("content {n}"));
    }
    repo.write("staged.txt", "staged");
    repo.git(&["add", "staged.txt"]);
    repo.write("staged.txt", "changed again");
    repo.write(".env", "TOKEN=1");
    fs::remove_file(repo.path().join("README.md")).expect("it is there");
    let state = || {
        (
            repo.git(&["count-objects", "-v"]),
            repo.git(&["for-each-ref"]),
            repo.status(),
        )
    };
    let before = state();
    let out = repo.watchdog(&["rescue", "--dry-run"]).expect(0);
    assert_eq!(state(), before, "{out}");
    out.assert_printed(&["would commit 152 files:", "\n  and 132 more\n"]);
    assert!(out.stdout.contains("left out: .env (secret)"), "{out}");
    assert!(out.stdout.lines().count() < 30, "{out}");
    let json = repo
        .watchdog(&["rescue", "--dry-run", "--json"])
        .expect(0)
        .json();
    assert_eq!(
        (
            &json["would_commit_count"],
            &json["left_out_count"],
            &json["refused"]
        ),
        (&json!(152), &json!(1), &json!(null))
    );
    let would: Vec<&str> = json["would_commit"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|path| path.as_str())
        .collect();
    assert_eq!(state(), before);
    // What it said is what a rescue does.
    repo.watchdog(&["rescue", "--json", "--config", &single(&env)])
        .expect(0);
    let done = repo.git(&["show", "--format=", "--name-only", "--no-renames", "HEAD"]);
    assert_eq!(done.lines().collect::<Vec<_>>(), would);
}

#[test]
fn missing_rescue_command_is_a_failure() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write("new.txt", "n");
    let config = json!({"version": 1, "rescue": {"mode": "command", "command": ["no-such-program-anywhere"]}}).to_string();
    let config = env.write("command.json", config);
    let out = repo
        .watchdog(&["rescue", "--config", config.to_str().expect("UTF-8")])
        .expect(12);
    out.assert_told(&[
        "not committed: the rescue command 'no-such-program-anywhere' cannot be run",
    ]);
    assert!(out.stderr.contains(" rescue restore main/"), "{out}");
    assert_eq!(repo.status(), "?? new.txt");
}

fn single(env: &TestEnv) -> String {
    let path = env.write(
        "single.json",
        json!({"version": 1, "rescue": {"mode": "single"}}).to_string(),
    );
    path.to_str().expect("UTF-8").to_owned()
}

/// A repository with a snapshot of its work; returns its id and the files of that moment.
fn with_snapshot(repo: &Repo<'_>) -> (String, crate::support::scratch_repo::Files) {
    repo.write("new.txt", "n");
    repo.write("deep/er.txt", "d");
    repo.write(".env", "TOKEN=1");
    let id = snapshot(repo, "auth", 0);
    (id, files(repo.path()))
}

#[test]
fn killed_restore_into_a_worktree_is_resumed() {
    let env = TestEnv::new();
    let repo = env.repo();
    let (id, before) = with_snapshot(&repo);
    let folder = env.root().join("linked");
    let restore = |id: &str| {
        repo.watchdog_line(
            "rescue restore {} --worktree {}",
            &[id, folder.to_str().expect("UTF-8")],
        )
    };
    restore(&id).expect(0);
    // As a kill leaves it: some files, one that is not in its place yet, no index, and the mark.
    let admin = repo.path().join(".git/worktrees/linked");
    fs::remove_file(admin.join("index")).expect("it is there");
    fs::remove_file(folder.join("deep/er.txt")).expect("it is there");
    fs::write(folder.join("deep/.watchdog-restore-1-1"), "half").expect("a file");
    fs::write(admin.join("watchdog-restore"), &id).expect("a file");
    restore(&id).expect(0);
    assert_eq!(files(&folder), before);
    assert!(!admin.join("watchdog-restore").exists());
    // What somebody else put there is no remainder of ours, and stays.
    fs::remove_file(admin.join("index")).expect("it is there");
    fs::write(admin.join("watchdog-restore"), &id).expect("a file");
    fs::write(folder.join("mine.txt"), "mine").expect("a file");
    let out = restore(&id).expect(12);
    assert!(out.stderr.contains("not an empty folder"), "{out}");
    assert_eq!(
        fs::read_to_string(folder.join("mine.txt")).expect("it is there"),
        "mine"
    );
}

#[test]
fn halfmade_worktree_never_blocks_a_restore() {
    let env = TestEnv::new();
    let repo = env.repo();
    let (id, before) = with_snapshot(&repo);
    let folder = env.root().join("linked");
    let text = folder.to_str().expect("UTF-8");
    repo.git(&["worktree", "add", "-q", "--detach", "--no-checkout", text]);
    let lock = repo.path().join(".git/worktrees/linked/locked");
    fs::write(&lock, "initializing").expect("a file");
    // A git that has only just begun may be at work.
    let out = repo
        .watchdog(&["rescue", "restore", &id, "--worktree", text])
        .expect(12);
    assert!(out.stderr.contains("try again"), "{out}");
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    fs::File::options()
        .write(true)
        .open(&lock)
        .expect("our own file")
        .set_modified(old)
        .expect("our own file");
    repo.watchdog(&["rescue", "restore", &id, "--worktree", text])
        .expect(0);
    assert_eq!(files(&folder), before);
    repo.git(&["worktree", "remove", "--force", text]);
    // A lock that a person put there is theirs.
    repo.git_line("worktree add -q --detach --no-checkout --lock {}", &[text]);
    repo.watchdog(&["rescue", "restore", &id, "--worktree", text])
        .expect(12);
    assert!(lock.exists());
}

#[test]
fn restore_beside_an_unreadable_head_names_head() {
    for damage in ["garbage\n", ""] {
        let env = TestEnv::new();
        let repo = env.repo();
        let (id, before) = with_snapshot(&repo);
        fs::write(repo.path().join(".git/refs/heads/main"), damage).expect("a file");
        let out = repo.watchdog(&["rescue", "restore", &id]).expect(16);
        assert!(
            out.stderr.contains("HEAD") && !out.stderr.contains("uncommitted changes"),
            "{out}"
        );
        // A folder needs no HEAD.
        let folder = env.root().join("back");
        repo.watchdog_line(
            "rescue restore {} --to {}",
            &[&id, folder.to_str().expect("UTF-8")],
        )
        .expect(0);
        assert_eq!(files(&folder), before);
    }
    let env = TestEnv::new();
    let repo = env.repo();
    let (id, _) = with_snapshot(&repo);
    let head = repo.head();
    fs::remove_file(
        repo.path()
            .join(format!(".git/objects/{}/{}", &head[..2], &head[2..])),
    )
    .expect("a loose object");
    let out = repo.watchdog(&["rescue", "restore", &id]).expect(16);
    assert!(!out.stderr.contains("uncommitted changes"), "{out}");
}
