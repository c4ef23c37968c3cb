//! Helpers of a session: their work that HEAD lacks is named, and their worktrees inside of this one are no changes of it.

use std::collections::HashSet;

use serde_json::json;
use watchdog_git::{
    KnownRefs, OriginEvidence, SnapshotRequest, UnmergedWork, Worktree, worktrees_of,
};

use crate::support::lone_repo::Repo;
use crate::support::{self, Step, TestEnv, assert_parts, fill_line};

fn refs(repo: &Repo) -> KnownRefs {
    Worktree::open(repo.root())
        .unwrap()
        .ref_tips()
        .unwrap()
        .into()
}

fn helpers(repo: &Repo, evidence: &OriginEvidence) -> Vec<(String, bool, u64, u64)> {
    let found = Worktree::open(repo.root())
        .unwrap()
        .unmerged_work(evidence)
        .unwrap();
    let brief = |work: UnmergedWork| (work.name, work.has_worktree, work.commits, work.uncommitted);
    let mut found: Vec<_> = found.into_iter().map(brief).collect();
    found.sort();
    found
}

#[test]
fn helper_work_is_named_until_head_has_it() {
    let repo = Repo::init();
    repo.commit("seed");
    repo.git(&["branch", "older"]);
    repo.git(&["worktree", "add", "-q", "-b", "neighbour", "../neighbour"]);
    let evidence = OriginEvidence::from(Some(&refs(&repo)));
    // What was there before is nobody's helper, whatever happens in it.
    repo.at("neighbour").commit("theirs");
    repo.at("neighbour").write("more", "theirs");
    repo.git(&["branch", "backup", "neighbour"]);
    assert_eq!(helpers(&repo, &evidence), []);
    repo.git_line("worktree add -q -b sub .claude/worktrees/sub", &[]);
    let sub = repo.at("repo/.claude/worktrees/sub");
    assert_eq!(helpers(&repo, &evidence), []);
    sub.commit("one");
    sub.write("left", "over");
    repo.git(&["checkout", "-q", "-b", "try"]);
    repo.commit("tried");
    repo.git(&["checkout", "-q", "main"]);
    let both = [
        ("sub".to_owned(), true, 1, 1),
        ("try".to_owned(), false, 1, 0),
    ];
    assert_eq!(helpers(&repo, &evidence), both);
    repo.git(&["pack-refs", "--all"]);
    assert_eq!(
        helpers(&repo, &evidence),
        both,
        "a branch that is packed is one, too"
    );
    repo.git(&["merge", "-q", "--no-edit", "sub"]);
    repo.git(&["branch", "-q", "-D", "try"]);
    assert_eq!(helpers(&repo, &evidence), [("sub".to_owned(), true, 0, 1)]);
    let common = Worktree::open(repo.root()).unwrap().common_dir().to_owned();
    let ids: HashSet<String> = worktrees_of(&common)
        .iter()
        .map(|found| found.worktree_id())
        .collect();
    assert_eq!(
        helpers(
            &repo,
            &evidence.with_recorded_worktrees(move || Ok(ids.clone()))
        ),
        [],
        "it has a record of its own"
    );
    assert_eq!(
        helpers(&repo, &OriginEvidence::default()),
        [],
        "nobody knows who is one"
    );
}

#[test]
fn new_branch_belongs_to_a_helper_however_nested() {
    let repo = Repo::init();
    repo.commit("seed");
    repo.git(&["branch", "task/older"]);
    let evidence = OriginEvidence::from(Some(&refs(&repo)));
    repo.git(&["checkout", "-q", "-b", "task/a/b"]);
    repo.commit("deep");
    repo.git(&["checkout", "-q", "main"]);
    // Neither the lock of a ref nor what is no ref is a branch.
    std::fs::write(repo.path(".git/refs/heads/task/c.lock"), "").unwrap();
    std::fs::write(repo.path(".git/refs/heads/note"), "no ref").unwrap();
    let deep = [("task/a/b".to_owned(), false, 1, 0)];
    assert_eq!(helpers(&repo, &evidence), deep);
    std::fs::remove_file(repo.path(".git/refs/heads/note")).unwrap();
    std::fs::remove_file(repo.path(".git/refs/heads/task/c.lock")).unwrap();
    repo.git(&["pack-refs", "--all"]);
    assert_eq!(helpers(&repo, &evidence), deep);
    repo.git(&["branch", "-q", "-D", "task/a/b"]);
    assert_eq!(helpers(&repo, &evidence), []);
}

#[test]
fn registered_inner_worktree_is_no_change() {
    for folder in [".claude/worktrees/a", ".worktrees/a", "a"] {
        let repo = Repo::init();
        repo.commit("seed");
        repo.git(&["worktree", "add", "-q", "-b", "a", folder]);
        let inside = repo.at(&format!("repo/{folder}"));
        inside.commit("theirs");
        inside.write("seed.txt", "changed there\n");
        inside.write("new.txt", "new there\n");
        let open = || Worktree::open(repo.root()).unwrap();
        assert_eq!(
            open().changes().unwrap().paths,
            Vec::<String>::new(),
            "{folder}"
        );
        assert!(inside.try_git(&["status", "--porcelain"]).stdout.len() > 10);
        // Beside a change of this one a rescue has nothing to do with it.
        repo.write("own.txt", "own\n");
        let request = SnapshotRequest {
            spec: "main",
            at: jiff::Timestamp::UNIX_EPOCH,
            why: "test",
            max_new_bytes: None,
            even_clean: false,
        };
        let snapshot = open().take_snapshot(&request).unwrap().unwrap();
        let paths: Vec<String> = open()
            .snapshot_paths(&snapshot.commit)
            .unwrap()
            .into_iter()
            .map(|path| path.text)
            .collect();
        assert_eq!(paths, ["own.txt"], "{folder}");
        inside.write("new.txt", "goes on there\n");
        assert_eq!(
            open().missing_from(&snapshot).unwrap(),
            Vec::<String>::new(),
            "{folder}"
        );
    }
}

#[test]
fn unregistered_inner_repository_stays_a_change() {
    let repo = Repo::init();
    repo.commit("seed");
    repo.git(&["init", "-q", "vendored"]);
    repo.git(&["worktree", "add", "-q", "-b", "a", "a"]);
    // A copy of the pointer makes no worktree.
    std::fs::create_dir(repo.path("copy")).unwrap();
    std::fs::copy(repo.path("a/.git"), repo.path("copy/.git")).unwrap();
    std::fs::write(repo.path("copy/work"), "work").unwrap();
    assert_eq!(
        Worktree::open(repo.root())
            .unwrap()
            .changes()
            .unwrap()
            .paths,
        ["copy", "vendored"]
    );
}

#[test]
fn bare_complete_beside_unmerged_helper_work_is_disputed() {
    let env = TestEnv::new();
    let repo = env.repo();
    let says = [Step::print_json(
        &json!({"status": "complete", "message": "done"}),
    )];
    let config = env.config_asking(&says, json!({"rescue": {"mode": "single"}}));
    let script = "git checkout -q -b try && echo 1 > f && git add f && git commit -q -m try && git checkout -q main";
    let args = fill_line(
        "--config {} run --json -- sh -c {}",
        &[config.to_str().unwrap(), script],
    );
    let verdict = repo.watchdog(&args).expect(12).json();
    assert_eq!(
        (&verdict["reason"], &verdict["helpers"]),
        (
            &json!("disputed"),
            &json!(["branch try: 1 unmerged commit"])
        ),
        "{verdict:#}"
    );
    assert_parts(verdict["message"].as_str().unwrap(), &["branch try"]);
}

#[test]
fn complete_message_names_unmerged_helper_work() {
    let env = TestEnv::new();
    let repo = env.repo();
    let commit =
        |name: &str| format!("echo 1 > {name} && git add {name} && git commit -q -m {name}");
    let script = format!(
        "git checkout -q -b try && {} && git checkout -q main && {}",
        commit("helper"),
        commit("own")
    );
    let out = repo
        .watchdog(&["run", "--no-probe", "--", "sh", "-c", &script])
        .expect(0);
    out.assert_told(&["complete (new_commits): 1 commit made"]);
    assert!(
        out.stderr
            .lines()
            .any(|line| line == "  not in HEAD: branch try: 1 unmerged commit"),
        "{out}"
    );
}

/// A repository with a submodule, and an agent that always says complete.
fn with_submodule(env: &TestEnv) -> (crate::support::Repo<'_>, String) {
    let (repo, inner) = (env.repo(), env.repo_named("inner"));
    repo.git_line(
        "-c protocol.file.allow=always submodule add -q {} sub",
        &[inner.path().to_str().unwrap()],
    );
    repo.commit_all("with a submodule");
    let says = [Step::print_json(
        &json!({"status": "complete", "message": "done"}),
    )];
    let config = env.config_asking(&says, json!({"rescue": {"mode": "single"}}));
    let config = config.to_str().unwrap().to_owned();
    (repo, config)
}

#[test]
fn claim_beside_submodule_changes_needs_a_person() {
    let env = TestEnv::new();
    let (repo, config) = with_submodule(&env);
    let run =
        |script: &str| repo.watchdog_line("--config {} run --json -- sh -c {}", &[&config, script]);
    assert_eq!(run("true").expect(0).json()["reason"], "nothing_to_do");
    let out = run("echo changed > sub/README.md").expect(12);
    // The tree: session's work that a rescue may not commit.
    out.assert_verdict("review/rescue_incomplete", json!({"probes_used": 1}));
    out.assert_has("feedback", "submodule sub has uncommitted changes");
    assert_eq!(
        repo.git(&["-C", "sub", "status", "--porcelain"]).trim(),
        "M README.md",
        "nothing of it was rescued"
    );
    // Beside work that a rescue could commit, the claim is the agent's word still.
    let out = run("echo changed more > sub/README.md; echo work > work").expect(12);
    out.assert_verdict("review/disputed", json!({"rescued": true}));
    out.assert_has("message", "submodule sub has uncommitted changes");
    assert_eq!(
        repo.git(&["-C", "sub", "status", "--porcelain"]).trim(),
        "M README.md"
    );
}

#[test]
fn rescue_commits_only_gitlinks_to_referenced_commits() {
    let env = TestEnv::new();
    let (repo, config) = with_submodule(&env);
    let gitlink = || repo.git(&["rev-parse", "HEAD:sub"]).trim().to_owned();
    let inner = || {
        repo.git(&["-C", "sub", "rev-parse", "HEAD"])
            .trim()
            .to_owned()
    };
    let run =
        |script: &str| repo.watchdog_line("--config {} run --json -- sh -c {}", &[&config, script]);
    let before = gitlink();
    // As `git submodule update` leaves it: detached, so that the commit is on no branch.
    let out = run("git -C sub switch -q --detach && git -C sub commit -q --allow-empty -m inner")
        .expect(12);
    out.assert_verdict(
        "review/rescue_incomplete",
        json!({
            "probes_used": 1, "/rescue/left_out": [{"path": "sub", "why": "nested_repository"}],
        }),
    );
    let keep = format!(
        "git -C {} switch -c NAME",
        repo.path().join("sub").display()
    );
    out.assert_has("feedback", &keep);
    assert_eq!(gitlink(), before, "no commit here names it");
    assert_ne!(inner(), before);

    let out =
        run("git -C sub switch -q -c kept && git -C sub commit -q --allow-empty -m more").expect(0);
    assert_eq!(out.verdict(), "complete/rescued", "{out}");
    assert_eq!(gitlink(), inner(), "the gitlink is work like any other");
}

#[test]
fn forget_takes_refs_inside_of_submodules() {
    let env = TestEnv::new();
    let (repo, config) = with_submodule(&env);
    let script =
        "cd sub && echo x > x && git add x && git commit -q -m x && git reset -q --hard HEAD~1";
    repo.watchdog_line("--config {} run -- sh -c {}", &[&config, script]);
    let list = "-C .git/modules/sub --work-tree=. for-each-ref --format=%(refname) refs/watchdog";
    let listed = || repo.git_line(list, &[]);
    let refs = listed();
    assert!(refs.contains("refs/watchdog/judged"), "{refs}");
    // Nothing else keeps the commit.
    repo.watchdog(&["forget", "--yes"]).expect(0);
    assert!(!listed().is_empty());
    let shown = repo.watchdog(&["forget", "--snapshots"]).expect(0);
    assert!(!listed().is_empty(), "{shown}");
    // Packed ones are git's to remove, and it finds no work tree.
    repo.git_line("-C sub pack-refs --all", &[]);
    std::fs::remove_dir_all(repo.path().join("sub")).unwrap();
    repo.watchdog(&["forget", "--yes", "--snapshots"]).expect(0);
    assert_eq!(listed(), "");
}

#[test]
fn commits_left_in_submodules_are_kept_and_told() {
    let env = TestEnv::new();
    let (repo, config) = with_submodule(&env);
    repo.git(&["config", "protocol.file.allow", "always"]);
    let begun = repo.head();
    let id = env.root().join("id");
    let commit = format!(
        "git switch -q --detach && echo $$ > new && git add new && git commit -q -m new && git rev-parse HEAD > {}",
        id.display()
    );
    let run = |before: &str, script: &str| {
        let script = script.replace("COMMIT", &commit);
        let inside = ["-c", &before.replace("COMMIT", &commit)];
        repo.env_command("sh", &inside).run().expect(0);
        repo.watchdog_line("--config {} run --json -- sh -c {}", &[&config, &script])
            .json()
    };
    let scenes = [
        ("", "cd sub && COMMIT && cd .. && git submodule -q update"),
        ("", "cd sub && COMMIT && git reset -q --hard HEAD~1"),
        (
            "",
            "cd sub && COMMIT && cd .. && git submodule -q deinit -f sub",
        ),
        (
            "git submodule -q update --init; cd sub && COMMIT",
            "git -C sub checkout -q --detach origin/HEAD",
        ),
        (
            "cd sub && git switch -q -c wip && COMMIT && git branch -f wip && git switch -q --detach HEAD~1",
            "git -C sub branch -D -q wip",
        ),
        ("", "cd sub && COMMIT && cd .. && rm -rf sub"),
    ];
    for (before, script) in scenes {
        let verdict = run(before, script);
        let commit = std::fs::read_to_string(&id).unwrap();
        let message = verdict["message"].as_str().unwrap();
        assert!(
            message.contains("submodule sub") && message.contains(commit.trim()),
            "{script}: {verdict:#}"
        );
        assert_ne!(
            verdict["status"], "complete",
            "{script}: the agent's word beside it"
        );
        assert!(
            verdict["degraded"]
                .as_array()
                .unwrap()
                .contains(&json!("submodule_commits_left"))
        );
        let inner = |words: &str| {
            let script = format!("git --git-dir=.git/modules/sub --work-tree=. {words}");
            repo.env_command("sh", &["-c", &script]).run().expect(0)
        };
        inner(
            "reflog expire --expire=now --all && git --git-dir=.git/modules/sub --work-tree=. gc -q --prune=now",
        );
        inner(&format!("cat-file -e {}", commit.trim()));
        let (_, command) = message.split_once("bring it back with: ").unwrap();
        let command = command.split(')').next().unwrap();
        repo.env_command("sh", &["-c", command]).run().expect(0);
        inner(&format!("branch -D watchdog-{}", &commit[..12]));
        // A rescue may have committed that the submodule is gone.
        repo.git(&["reset", "-q", "--hard", &begun]);
        repo.git(&["submodule", "-q", "update", "--init", "--force"]);
    }
    // Whoever watches the submodule itself keeps its own refs for a time of its own.
    let inner = watchdog_git::Worktree::open(&repo.path().join("sub")).unwrap();
    let head = repo.git(&["-C", "sub", "rev-parse", "HEAD"]);
    let epoch = jiff::Timestamp::UNIX_EPOCH;
    inner.keep_beside("own", head.trim(), epoch).unwrap();
    let whole = watchdog_git::Worktree::open(repo.path()).unwrap();
    let state = watchdog_store::StateDir::resolve(Some(env.root().join("served")), None, None);
    watchdog_judge::judge::serving_git::serve_refs(&state.unwrap());
    assert!(whole.expire_judged(jiff::Timestamp::MAX).unwrap() > 0);
    let list = "-C sub for-each-ref --format=%(refname) refs/watchdog/judged";
    let refs = repo.git_line(list, &[]);
    assert!(
        refs.contains("/own/") && refs.lines().count() == 1,
        "{refs}"
    );
    let rebased = "cd sub && git switch -q -c side && echo 1 > one && git add one && git commit -q -m one && git commit -q --amend -m two && \
                   echo 2 > two && git add two && git commit -q -m three && git rebase -q --force-rebase HEAD~2 && git reset -q --soft HEAD~2 && git commit -q -m both";
    let verdict = run("", rebased);
    assert!(
        !verdict["message"].as_str().unwrap().contains("keeps it"),
        "{verdict:#}"
    );
}

#[test]
fn work_in_submodules_is_told_and_no_strike() {
    let env = TestEnv::new();
    let (repo, config) = with_submodule(&env);
    let sh = |script: &str| {
        repo.env_command("sh", &["-e", "-c", script])
            .run()
            .expect(0);
    };
    sh(
        "git config protocol.file.allow always; cd sub; echo u > stashed; git add stashed; git stash -q",
    );
    let commit =
        "cd sub; git switch -q -c NAME; echo NAME > new; git add new; git commit -q -m NAME;";
    for (after, state, on) in [
        (
            "git switch -q --detach; git branch -q -D NAME; cd ..; git submodule -q update",
            "deleted",
            "submodule sub",
        ),
        (
            "cd ..; git submodule -q deinit -f sub",
            "unpushed",
            "NAME of submodule sub",
        ),
        (
            "cd ..; git submodule -q update",
            "unpushed",
            "NAME of submodule sub",
        ),
        (
            "git push -q origin NAME; cd ..; git submodule -q update",
            "pushed",
            "origin/NAME of submodule sub",
        ),
    ] {
        for asks in [false, true] {
            let name = format!("b{asks}{}", after.len());
            let script = format!("{commit} {after}").replace("NAME", &name);
            let asked = fill_line("--config {} run --json -- sh -c {}", &[&config, &script]);
            let out = repo.watchdog(if asks { &asked } else { &asked[2..] });
            let json = out.json();
            assert_eq!(json["strike"], false, "{out}");
            // Those of the same second may be told again.
            let on = on.replace("NAME", &name);
            let is_told = |work: &serde_json::Value| work["state"] == state && work["on"] == on;
            assert!(
                json["elsewhere"].as_array().unwrap().iter().any(is_told),
                "{out}"
            );
            let has_other = json["elsewhere"][1].is_object();
            if asks && !has_other {
                assert_eq!(
                    out.verdict() == "complete/new_commits",
                    state == "pushed",
                    "{out}"
                );
            }
            assert!(
                !asks || state == "pushed" || out.verdict() == "review/disputed",
                "{out}"
            );
            sh("git submodule -q update --init");
        }
    }
    let out = repo.watchdog(&["run", "--json", "--", "git", "-C", "sub", "stash", "clear"]);
    let notes = out.json()["notes"].to_string();
    sh("cd sub; git reflog expire --expire=now --all; git gc -q --prune=now");
    let (_, command) = notes.split_once("bring back with: ").expect(&notes);
    sh(command.split('"').next().unwrap());
    sh("cd sub; git stash pop -q; grep u stashed");
}

#[test]
fn files_of_a_removed_submodule_come_back_as_told() {
    for script in [
        "git submodule -q deinit -f sub",
        "git rm -q -f sub",
        "rm -rf sub",
        "git -C sub checkout -q .; git -C sub clean -q -f",
    ] {
        let env = TestEnv::new();
        let (repo, _) = with_submodule(&env);
        repo.write("sub/README.md", "dirty");
        repo.write("sub/u", "u");
        let run = ["run", "--json", "--no-rescue", "--", "sh", "-c", script];
        let message = repo.watchdog(&run).json()["message"].to_string();
        let (_, command) = message
            .split_once("bring it back with: watchdog ")
            .expect(&message);
        let words: Vec<_> = command.split(')').next().unwrap().split(' ').collect();
        repo.watchdog(&words).expect(0);
        let folder = match script.ends_with("-f") {
            true => repo.path().to_owned(),
            false => env.root().join("repo-restored"),
        };
        for (path, text) in [("sub/README.md", "dirty"), ("sub/u", "u")] {
            assert_eq!(
                std::fs::read_to_string(folder.join(path)).unwrap(),
                text,
                "{script}"
            );
        }
    }
}

/// The snapshots of a spec, newest first.
fn snapshots_of(repo: &crate::support::Repo<'_>, spec: &str) -> Vec<String> {
    let listed = repo
        .watchdog(&["rescue", "list", "--spec", spec, "--json"])
        .expect(0)
        .json();
    listed["snapshots"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| one["id"].as_str().expect("text").to_owned())
        .collect()
}

#[test]
fn removed_helper_worktree_leaves_restorable_work() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.git(&["worktree", "add", "-q", "-b", "older", "../older"]);
    std::fs::write(env.root().join("older/theirs"), "theirs").expect("ours");
    let script = "git worktree add -q -b sub ../helper && mkdir ../helper/deep && echo precious > ../helper/deep/file && rm ../helper/README.md; \
                  git worktree add -q -b idle ../idle";
    repo.watchdog_line("run --json --max-probes 0 -- sh -c {}", &[script])
        .expect(13);
    let kept = snapshots_of(&repo, "main/helper");
    assert_eq!(kept.len(), 1);
    assert_eq!(
        (
            snapshots_of(&repo, "main/older").len(),
            snapshots_of(&repo, "main/idle").len()
        ),
        (0, 0),
        "nobody's helper; nothing to keep"
    );
    repo.watchdog(&["check", "--json", "--max-probes", "0"])
        .expect(13);
    assert_eq!(
        snapshots_of(&repo, "main/helper"),
        kept,
        "the same state is kept once"
    );
    repo.git(&["worktree", "remove", "--force", "../helper"]);
    repo.git(&["branch", "-q", "-D", "sub"]);
    repo.watchdog(&["rescue", "restore", &kept[0], "--worktree", "../back"])
        .expect(0);
    let back = env.root().join("back");
    assert_eq!(
        std::fs::read_to_string(back.join("deep/file")).expect("it is back"),
        "precious\n"
    );
    assert!(
        !back.join("README.md").exists(),
        "what it removed is removed"
    );
}

/// The helper's file comes back from this snapshot.
#[track_caller]
fn assert_restored(repo: &support::Repo<'_>, snapshot: &str) {
    repo.watchdog(&["rescue", "restore", snapshot, "--to", "../back"])
        .expect(0);
    let file = repo.path().join("../back/file");
    let restored = std::fs::read_to_string(file).expect("it is back");
    assert_eq!(restored, "precious\n");
}

#[test]
fn helper_inside_a_clean_worktree_is_snapshotted_too() {
    let env = TestEnv::new();
    let repo = env.repo();
    let script = "git worktree add -q -b sub .claude/worktrees/sub; echo precious > .claude/worktrees/sub/file";
    repo.watchdog_line("run --json --max-probes 0 -- sh -c {}", &[script])
        .expect(13);
    repo.git(&["worktree", "remove", "--force", ".claude/worktrees/sub"]);
    let kept = snapshots_of(&repo, "main/sub");
    assert_eq!(kept.len(), 1, "{}", repo.git(&["for-each-ref"]));
    assert_restored(&repo, &kept[0]);
}

#[test]
fn helper_worktree_removed_in_session_is_snapshotted() {
    let env = TestEnv::new();
    let repo = env.repo();
    let config = env.write(
        "c.json",
        r#"{"version": 1, "rescue": {"snapshot_seconds": 1}}"#,
    );
    let script = "git worktree add -q -b sub ../helper && echo precious > ../helper/file; \
                  until git for-each-ref refs/watchdog/rescue/main/helper | grep -q .; do sleep 0.05; done; \
                  git worktree remove --force ../helper";
    repo.watchdog_line(
        "--config {} run --json --max-probes 0 -- sh -c {}",
        &[config.to_str().unwrap(), script],
    )
    .expect(13);
    let kept = snapshots_of(&repo, "main/helper");
    assert!(!kept.is_empty(), "{}", repo.git(&["for-each-ref"]));
    assert_restored(&repo, &kept[0]);
}

#[test]
fn submodule_at_the_system_root_is_told_unread() {
    let env = TestEnv::new();
    let (repo, _) = with_submodule(&env);
    repo.write("sub/.git", "gitdir: /\n");
    let out = repo.watchdog(&["run", "--json", "--no-probe", "--", "true"]);
    let told = out.json()["degraded"].to_string();
    assert!(told.contains("submodules_unread"), "{out}");
}
