//! Repositories whose refs git itself must be asked for, and those with SHA-256 names: judged and rescued like any other.
//! git 2.45 or later is needed to make the first kind.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::support::{CommandOutput, Repo, Step, TestEnv, wait_until};
use crate::sweep::{rows, word};

const REFTABLE: &str = "--ref-format=reftable";
const SHA256: &str = "--object-format=sha256";

/// An empty repository on `main` in a format.
#[track_caller]
fn unborn<'env>(env: &'env TestEnv, name: &str, format: &[&str]) -> Repo<'env> {
    let path = env.root().join(name);
    fs::create_dir_all(&path).unwrap();
    let repo = Repo::new(env, path);
    let made = repo.try_git(&[&["init", "-q", "-b", "main"], format].concat());
    assert_eq!(
        made.code,
        Some(0),
        "git 2.45 or later is needed in PATH, and this is {}\n{made}",
        repo.git(&["--version"])
    );
    repo
}

/// One with one commit and a baseline.
#[track_caller]
fn begun<'env>(env: &'env TestEnv, name: &str) -> Repo<'env> {
    let repo = unborn(env, name, &[REFTABLE]);
    repo.write("README.md", "# a project\n");
    repo.commit_all("start");
    repo.watchdog(&["snapshot"]).expect(0);
    repo
}

/// What a verdict says, without what differs from one repository to another by nature.
#[track_caller]
fn gist(output: &CommandOutput, served: bool) -> String {
    let verdict = output.json();
    let texts = |list: &Value, of: &dyn Fn(&Value) -> String| {
        list.as_array()
            .into_iter()
            .flatten()
            .map(of)
            .collect::<Vec<_>>()
            .join(", ")
    };
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let degraded: Vec<Value> = verdict["degraded"].as_array().unwrap().clone();
    assert_eq!(
        degraded.contains(&json!("served_by_git")),
        served,
        "{output}"
    );
    let degraded = texts(
        &degraded
            .into_iter()
            .filter(|word| word != "served_by_git")
            .collect(),
        &text,
    );
    let commits = texts(&verdict["commits"], &|commit| {
        format!("{} {}", text(&commit["origin"]), text(&commit["subject"]))
    });
    let rescue = format!(
        "{} {}",
        verdict["rescue"]["commits"], verdict["rescue"]["left_out"]
    );
    let counts = [
        "new_commits",
        "imported_commits",
        "net_change",
        "rescued",
        "branch",
        "spec",
        "changes",
    ]
    .map(|key| verdict[key].to_string());
    format!(
        "{} {} [{commits}] [{}] rescue {rescue} [{degraded}]",
        word(&verdict),
        verdict["evidence"],
        counts.join(" ")
    )
}

/// A day in the life of a repository; every judgement of it.
fn day(format: &[&str]) -> Vec<String> {
    let env = TestEnv::new();
    let served = format.contains(&REFTABLE);
    let repo = unborn(&env, "repo", format);
    let mut told = Vec::new();
    let mut judge = |args: &[&str]| {
        let output = repo.watchdog(&[&["--json", "-q"], args].concat());
        told.push(
            format!("{args:?}: {}", gist(&output, served))
                .replace(&*env.root().to_string_lossy(), "."),
        );
        output
    };
    let check = ["check", "--no-probe"];

    repo.watchdog(&["snapshot"]).expect(0);
    repo.write("kept/a", "1");
    judge(&check);
    repo.commit_all("the first commit");
    judge(&check);

    // Pulled from elsewhere, and merged with what was made here.
    let upstream = unborn(&env, "upstream", format);
    upstream.write("theirs", "1");
    upstream.commit_all("theirs");
    repo.watchdog(&["snapshot"]).expect(0);
    repo.git_line(
        "pull -q --no-rebase --no-edit --allow-unrelated-histories ../upstream main",
        &[],
    );
    judge(&check);
    repo.write("kept/a", "2");
    repo.commit_all("mine");
    judge(&check);
    assert_eq!(
        judge(&["check", "--no-probe", "--baseline", "@{1}"]).json()["new_commits"],
        1
    );

    // Made in another worktree, and moved here.
    repo.watchdog(&["snapshot"]).expect(0);
    repo.git(&["worktree", "add", "-q", "-b", "side", "../side"]);
    let side = Repo::new(&env, env.root().join("side"));
    side.write("side", "1");
    side.commit_all("from the side");
    repo.git(&["merge", "-q", "--ff-only", "side"]);
    judge(&check);

    // An operation that is under way keeps a rescue from committing.
    repo.watchdog(&["snapshot"]).expect(0);
    repo.git(&["checkout", "-q", "-b", "conflicting", "HEAD~1"]);
    repo.write("side", "2");
    repo.commit_all("conflicts");
    repo.git(&["checkout", "-q", "main"]);
    assert_ne!(repo.try_git(&["cherry-pick", "conflicting"]).code, Some(0));
    let verdict = judge(&check).json();
    assert_eq!(verdict["changes"]["operation"], "cherry-pick", "{verdict}");
    repo.watchdog(&["rescue"]).expect(12);
    repo.git(&["cherry-pick", "--abort"]);

    // Sessions.
    let done = [Step::print_json(
        &json!({"status": "complete", "message": "done"}),
    )];
    let config = env.config_asking(&done, json!({"rescue": {"mode": "single"}}));
    let config = config.to_str().unwrap();
    let commits = env.fake_agent("commits", &[Step::write("b", "1"), Step::commit("feat: b")]);
    judge(&["--config", config, "run", "--", &commits[0], &commits[1]]);
    let forgets = env.fake_agent(
        "forgets",
        &[
            Step::write("c", "1"),
            Step::write(".env", "TOKEN=1"),
            Step::write("kept/a", "3"),
        ],
    );
    judge(&["--config", config, "run", "--", &forgets[0], &forgets[1]]);
    assert_eq!(repo.file_in("HEAD", "c").as_deref(), Some("1"));
    assert_ne!(
        repo.git(&["for-each-ref", "refs/watchdog/private"]),
        "",
        "secrets are kept apart"
    );

    // Snapshots, brought back in each way.
    repo.git(&["clean", "-fdq"]);
    repo.watchdog(&["snapshot"]).expect(0);
    repo.write("kept/a", "4");
    repo.write("d", "1");
    judge(&check);
    let before = repo.status();
    repo.git(&["stash", "-uq"]);
    repo.watchdog(&["rescue", "restore", "latest"]).expect(0);
    assert_eq!(repo.status(), before);
    repo.watchdog(&["rescue", "restore", "latest", "--branch", "kept"])
        .expect(0);
    assert_eq!(repo.file_in("kept", "d").as_deref(), Some("1"));
    repo.watchdog(&["rescue", "restore", "latest", "--to", "../plain"])
        .expect(0);
    assert_eq!(
        fs::read_to_string(env.root().join("plain/kept/a")).unwrap(),
        "4"
    );
    repo.watchdog(&["rescue", "restore", "latest", "--worktree", "../undo"])
        .expect(0);
    assert_eq!(Repo::new(&env, env.root().join("undo")).status(), before);
    let kept = repo.snapshots();
    repo.watchdog(&["rescue", "drop", "latest"]).expect(0);
    assert_eq!(
        repo.snapshots(),
        kept[..kept.len() - 1],
        "the newest is gone"
    );

    let swept = repo.watchdog(&["sweep", "--json", "-q", "--no-probe"]);
    let words: Vec<_> = rows(&swept)
        .iter()
        .map(|(name, row)| format!("{name} {}", word(row)))
        .collect();
    told.push(words.join(", "));
    told.push(repo.watchdog(&["breaker"]).expect(0).stdout);
    let events = repo.watchdog(&["events", "--json"]).expect(0);
    let kinds = events.stdout.lines().map(|line| {
        serde_json::from_str::<Value>(line).unwrap()["kind"]
            .as_str()
            .unwrap()
            .to_owned()
    });
    told.extend(kinds.collect::<BTreeSet<_>>());
    repo.git(&["fsck", "--strict"]);
    env.assert_nothing_left();
    if served {
        assert_eq!(
            fs::read_dir(env.state().join("served")).unwrap().count(),
            0,
            "every copy of refs is gone"
        );
    }
    told
}

#[test]
fn reftable_repository_is_judged_and_rescued_alike() {
    assert_eq!(day(&[REFTABLE]), day(&[]));
}

#[test]
fn sha256_repository_is_judged_and_rescued_alike() {
    assert_eq!(day(&[SHA256]), day(&[]));
}

#[test]
fn tables_with_sha256_names_are_served_too() {
    let env = TestEnv::new();
    let repo = unborn(&env, "repo", &[REFTABLE, SHA256]);
    repo.watchdog(&["snapshot"]).expect(0);
    repo.write("a", "1");
    let verdict = repo
        .watchdog(&["check", "--no-probe", "--json"])
        .expect(10)
        .json();
    let name = verdict["rescue"]["snapshot"].as_str().unwrap();
    assert_eq!(repo.file_in(name, "a").as_deref(), Some("1"));
    repo.commit_all("a");
    assert_eq!(
        repo.watchdog(&["check", "--json"]).expect(0).verdict(),
        "complete/new_commits"
    );
}

#[test]
fn sweep_skips_only_unchanged_tables() {
    let env = TestEnv::new();
    let repo = begun(&env, "repo");
    repo.write("a", "1");
    let sweep = || {
        rows(
            &repo
                .watchdog(&["sweep", "--json", "-q", "--no-probe"])
                .expect(0),
        )["repo"]
            .clone()
    };
    let spared = |row: &Value| row["unchanged_since"].is_string();
    wait_until("nothing is fresh any more", Duration::from_secs(60), || {
        spared(&sweep())
    });
    assert!(
        sweep()["degraded"]
            .as_array()
            .unwrap()
            .contains(&json!("served_by_git")),
        "also where it was looked at earlier"
    );
    let tree = repo.git(&["write-tree"]);
    let commit = repo.git(&["commit-tree", "-p", "HEAD", "-m", "beside", &tree]);
    repo.git(&["update-ref", "refs/heads/main", &commit]);
    let row = sweep();
    assert_eq!(
        (spared(&row), &row["head"]),
        (false, &json!(commit)),
        "{row}"
    );
    wait_until("nothing is fresh any more", Duration::from_secs(60), || {
        spared(&sweep())
    });
    let kept = repo.snapshots().len();
    repo.watchdog(&["rescue", "drop", "latest"]).expect(0);
    assert!(!spared(&sweep()));
    assert_eq!(
        repo.snapshots().len(),
        kept,
        "what was dropped is taken again"
    );
}

/// Puts a script in front of git, for everybody. `$real` is git itself.
fn in_front_of_git(env: &TestEnv, script: &str) {
    let path = env.root().join("bin/git");
    let real = fs::canonicalize(&path).unwrap();
    fs::remove_file(&path).unwrap();
    fs::write(
        &path,
        format!(
            "#!/bin/sh\nreal={}\n{script}\nexec \"$real\" \"$@\"\n",
            real.display()
        ),
    )
    .unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn snapshot_unseen_by_git_counts_as_missing() {
    for (lie, expected) in [
        ("exit 0", "does not tell of it"),
        ("echo 'fatal: no room' >&2; exit 128", "no room"),
    ] {
        let env = TestEnv::new();
        let repo = begun(&env, "repo");
        repo.write("a", "1");
        in_front_of_git(&env, &format!("case \"$*\" in *update-ref*) {lie};; esac"));
        let asked = env.root().join("asked");
        let config = env.config_asking(&[Step::append(asked.to_str().unwrap(), "x")], json!({}));
        let output = repo
            .watchdog(&["--config", config.to_str().unwrap(), "check", "--json"])
            .expect(16);
        assert!(output.stdout.contains(expected), "{output}");
        assert!(
            !asked.exists(),
            "nobody was asked while the work was not kept"
        );
        repo.watchdog(&["rescue"]).expect(16);
        assert_eq!(
            (repo.subjects_since("HEAD~0"), repo.status()),
            (Vec::new(), "?? a".to_owned())
        );
        assert_eq!(repo.git(&["log", "-1", "--format=%s"]), "start");
    }
}

#[test]
fn refs_unreadable_to_git_are_an_error() {
    type Harm = fn(&Repo<'_>);
    let faults: [(&str, Harm); 4] = [
        ("a table cut short", |repo| {
            for table in fs::read_dir(repo.path().join(".git/reftable"))
                .unwrap()
                .flatten()
            {
                if table
                    .path()
                    .extension()
                    .is_some_and(|extension| extension == "ref")
                {
                    fs::write(table.path(), "REFT").unwrap();
                }
            }
        }),
        ("no list of tables", |repo| {
            fs::remove_file(repo.path().join(".git/reftable/tables.list")).unwrap()
        }),
        ("a table that is gone", |repo| {
            fs::write(
                repo.path().join(".git/reftable/tables.list"),
                "0x000000000001-0x000000000009-00000000.ref\n",
            )
            .unwrap();
        }),
        ("a commit that is gone", |repo| {
            let head = repo.head();
            fs::remove_file(repo.path().join(format!(
                ".git/objects/{}/{}",
                &head[..2],
                &head[2..]
            )))
            .unwrap();
        }),
    ];
    for (what, harm) in faults {
        let env = TestEnv::new();
        let repo = begun(&env, "repo");
        repo.write("a", "1");
        repo.commit_all("a");
        harm(&repo);
        let output = repo.watchdog(&["check", "--no-probe", "--json"]);
        assert_eq!(
            (output.code, output.verdict().as_str()),
            (Some(16), "error/git_error"),
            "{what}\n{output}"
        );
    }
}

#[test]
fn an_older_git_is_named_as_the_reason() {
    let env = TestEnv::new();
    let repo = begun(&env, "repo");
    in_front_of_git(
        &env,
        "printf 'fatal: unknown repository extension found:\\n\\trefstorage\\n' >&2; exit 128",
    );
    let output = repo.watchdog(&["check", "--no-probe", "--json"]).expect(16);
    output.assert_has("message", "git 2.45 or later");
    fs::remove_file(env.root().join("bin/git")).unwrap();
    let output = repo
        .watchdog_command(&["check", "--no-probe", "--json"])
        .env("PATH", env.root().join("bin"))
        .run()
        .expect(16);
    output.assert_has("message", "install it");
}

#[test]
fn asking_git_runs_no_repository_programs() {
    let env = TestEnv::new();
    let repo = begun(&env, "repo");
    let ran = env.root().join("ran");
    let program = env.write(
        "hooks/reference-transaction",
        format!("#!/bin/sh\necho \"$0 $*\" >>'{}'\n", ran.display()),
    );
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let text = program.to_str().unwrap();
    repo.write("a", "1");
    repo.commit_all("a");
    repo.write("b", "1");
    for (key, value) in [
        ("core.hooksPath", env.root().join("hooks").to_str().unwrap()),
        ("core.fsmonitor", text),
        ("core.pager", text),
        ("pager.log", text),
        ("pager.for-each-ref", text),
        ("log.showSignature", "true"),
        ("gpg.program", text),
        ("diff.external", text),
        ("alias.for-each-ref", &format!("!{text}")),
    ] {
        repo.git(&["config", key, value]);
    }
    repo.watchdog(&["check", "--no-probe", "--baseline", "@{1}"])
        .expect(0);
    repo.watchdog(&["snapshot"]).expect(0);
    repo.watchdog(&["check", "--no-probe"]).expect(10);
    assert_eq!(repo.snapshots().len(), 1);
    repo.watchdog(&["rescue", "drop", "latest"]).expect(0);
    assert!(
        !ran.exists(),
        "{}",
        fs::read_to_string(&ran).unwrap_or_default()
    );
    repo.git(&["update-ref", "refs/heads/x", "HEAD"]);
    assert!(ran.exists(), "the hook would have run");
}

#[test]
fn rescue_never_moves_a_branch_checked_out_elsewhere() {
    let env = TestEnv::new();
    let repo = begun(&env, "repo");
    repo.git_line("worktree add -q -b watchdog/rescue/main ../taken", &[]);
    let before = repo.git(&["rev-parse", "watchdog/rescue/main"]);
    repo.write("a", "1");
    let config = env.config_asking(
        &[Step::exit(1)],
        json!({"rescue": {"mode": "single", "protect": ["main"]}}),
    );
    repo.watchdog(&["--config", config.to_str().unwrap(), "rescue"]);
    assert_eq!(repo.git(&["rev-parse", "watchdog/rescue/main"]), before);
    assert_eq!(
        repo.file_in("watchdog/rescue/main-2", "a").as_deref(),
        Some("1")
    );
}

#[test]
fn leftover_ref_copies_are_removed_unless_in_use() {
    let env = TestEnv::new();
    let repo = begun(&env, "repo");
    let served = env.state().join("served");
    let make = |name: &str, age: Duration| {
        fs::create_dir_all(served.join(name)).unwrap();
        let lock = File::create(served.join(name).join("in-use")).unwrap();
        File::open(served.join(name))
            .unwrap()
            .set_modified(SystemTime::now() - age)
            .unwrap();
        lock
    };
    let day = Duration::from_secs(86_400);
    make("left", day);
    make("young", Duration::ZERO);
    let in_use = make("used", day);
    rustix::fs::flock(&in_use, rustix::fs::FlockOperation::LockExclusive).unwrap();
    repo.watchdog(&["check", "--no-probe"]).expect(10);
    let there = |name: &str| Path::exists(&served.join(name));
    assert_eq!(
        (there("left"), there("young"), there("used")),
        (false, true, true)
    );
}
