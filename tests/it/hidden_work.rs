//! Work that git does not list: behind flags of the index, and behind ignore rules that the session wrote.

use serde_json::Value;

use crate::secrets::rescue_commits;
use crate::support::{Repo, TestEnv};

/// The words of the warnings of a verdict, with their details.
fn warnings(verdict: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    verdict["notes"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|note| (text(&note["code"]), text(&note["detail"])))
        .collect()
}

/// A verdict on the work without a question or a rescue.
fn judge(repo: &Repo) -> Value {
    repo.watchdog(&["check", "--once", "--no-probe", "--no-rescue", "--json"])
        .json()
}

/// The detail of the warning about hidden entries.
fn hidden_in(verdict: &Value) -> Option<String> {
    let hidden = |(code, _): &(String, String)| code == "hidden_entries";
    Some(warnings(verdict).into_iter().find(hidden)?.1)
}

/// The files of all private parts of snapshots.
fn private_files(repo: &Repo) -> String {
    let refs = repo.git_line(
        "for-each-ref --format=%(refname) refs/watchdog/private/",
        &[],
    );
    refs.lines()
        .map(|name| repo.git(&["ls-tree", "-r", "--name-only", name]))
        .collect()
}

#[test]
fn new_ignore_rules_hide_no_code() {
    for (rules, text) in [
        (".gitignore", "lib/\nbuild/\n"),
        (".gitignore", "*\n"),
        (".git/info/exclude", "*\n"),
        ("lib/.gitignore", "*\n"),
    ] {
        let env = TestEnv::new();
        let repo = env.repo();
        repo.watchdog(&["snapshot"]).expect(0);
        repo.write(rules, text);
        repo.write("lib/parser.rs", "fn parse() {}\n");
        repo.write("build/out.o", "made");
        let verdict = judge(&repo);
        let hidden = hidden_in(&verdict).unwrap_or_default();
        assert!(hidden.contains("'lib/parser.rs'"), "{rules}: {verdict}");
        rescue_commits(&env, &repo).json();
        assert!(
            private_files(&repo).contains("work/lib/parser.rs")
                && !private_files(&repo).contains("out.o"),
            "{rules}"
        );
        assert!(
            !repo
                .git(&["ls-tree", "-r", "--name-only", "HEAD"])
                .contains("parser.rs"),
            "an ignored file is not forced into a commit"
        );
        std::fs::remove_dir_all(repo.path().join("lib")).expect("the work is gone");
        let id = repo.git_line(
            "for-each-ref --format=%(refname:lstrip=3) refs/watchdog/rescue/",
            &[],
        );
        let id = id.lines().last().expect("a snapshot").trim();
        let folder = env.root().join("restored");
        repo.watchdog_line(
            "rescue restore {} --to {}",
            &[id, folder.to_str().expect("UTF-8")],
        )
        .expect(0);
        assert_eq!(
            std::fs::read_to_string(folder.join("lib/parser.rs")).expect("it is back"),
            "fn parse() {}\n",
            "{rules}"
        );
    }
}

#[test]
fn rule_for_everything_hides_no_file() {
    let rows = [
        (".gitignore", "*\n", true),
        (".git/info/exclude", "[a-z]*\n", true),
        (".gitignore", "*.*\n", true),
        (".gitignore", "[!q]*\n", true),
        (".gitignore", "*.bin\nLICENCE\n", false),
        ("data/.gitignore", "*\n", false),
    ];
    for (rules, text, is_said) in rows {
        let env = TestEnv::new();
        let repo = env.repo();
        repo.watchdog(&["snapshot"]).expect(0);
        repo.write(rules, text);
        repo.write("data/model.bin", "weights");
        repo.write("nohup.out", "left by a program");
        repo.write("build/out.o", "made");
        let verdict = judge(&repo);
        let is_named = |(_, detail): &(String, String)| detail.contains("'data/model.bin' is");
        let warnings = warnings(&verdict);
        assert_eq!(warnings.iter().any(is_named), is_said, "{text}: {verdict}");
        rescue_commits(&env, &repo).json();
        let private = private_files(&repo);
        let is_private = private.contains("work/data/model.bin");
        assert_eq!(is_private, is_said, "{text}: {private}");
        assert!(!private.contains("nohup") && !private.contains("out.o"));
    }
}

#[test]
fn installed_packages_are_no_hidden_work() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.watchdog(&["snapshot"]).expect(0);
    repo.write(
        ".gitignore",
        "node_modules/\n__pycache__/\n*.log\n.env\ncoverage/\n",
    );
    for n in 0..300 {
        repo.write(
            &format!("node_modules/p{n}/index.js"),
            "module.exports = 1\n",
        );
    }
    repo.write("myenv/pyvenv.cfg", "home = /usr\n");
    repo.write("myenv/.gitignore", "*\n");
    repo.write("myenv/lib/site.py", "pass\n");
    repo.write("pkg/__pycache__/a.py", "made\n");
    repo.write("coverage/prettify.js", "made\n");
    repo.write("debug.log", "noise\n");
    repo.write(".env", "A=b\n");
    let verdict = judge(&repo);
    assert_eq!(hidden_in(&verdict), None, "{verdict}");
    rescue_commits(&env, &repo).json();
    assert_eq!(repo.names_in("HEAD"), ".gitignore");
    assert_eq!(
        private_files(&repo)
            .lines()
            .filter(|line| *line != "why")
            .collect::<Vec<_>>(),
        ["work/.env"]
    );
}

#[test]
fn rules_of_the_baseline_stay_in_force() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write(".git/info/exclude", "scratch/\n");
    repo.write(".gitignore", "drafts/\n");
    repo.write("scratch/mine.py", "pass\n");
    repo.watchdog(&["snapshot"]).expect(0);
    repo.write("drafts/more.md", "draft\n");
    repo.write("scratch/more.py", "pass\n");
    let verdict = judge(&repo);
    assert_eq!(hidden_in(&verdict), None, "{verdict}");
    // A rule that is gone hides no more, one that is new hides nothing.
    repo.write(".git/info/exclude", "src/\n");
    repo.write("src/new.rs", "fn new() {}\n");
    let verdict = judge(&repo);
    let hidden = hidden_in(&verdict).expect("it is said");
    assert!(hidden.starts_with("'src/new.rs' is ignored"), "{verdict}");
}

#[test]
fn edits_behind_index_flags_are_in_snapshots() {
    for flag in ["--assume-unchanged", "--skip-worktree"] {
        let env = TestEnv::new();
        let repo = env.repo();
        repo.write("work.rs", "one\n");
        repo.commit_all("work");
        repo.watchdog(&["snapshot"]).expect(0);
        repo.git(&["update-index", flag, "work.rs"]);
        repo.write("work.rs", "two\n");
        let out = rescue_commits(&env, &repo).json();
        let snapshot = repo.git_line(
            "for-each-ref --format=%(refname) refs/watchdog/rescue/",
            &[],
        );
        assert_eq!(
            repo.git(&["show", &format!("{}:work.rs", snapshot.trim())]),
            "two",
            "{flag}: {out}"
        );
        assert_eq!(
            repo.git(&["show", "HEAD:work.rs"]),
            "one",
            "the flag keeps it out of commits: {out}"
        );
    }
}

#[test]
fn files_outside_a_sparse_checkout_are_not_deleted() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write("in/a.rs", "a\n");
    repo.write("out/b.rs", "b\n");
    repo.commit_all("both");
    repo.git(&["sparse-checkout", "set", "--cone", "in"]);
    repo.watchdog(&["snapshot"]).expect(0);
    repo.write("in/new.rs", "new\n");
    rescue_commits(&env, &repo).json();
    assert_eq!(
        repo.git(&["show", "--format=", "--name-status", "HEAD"])
            .trim(),
        "A\tin/new.rs"
    );
    let snapshot = repo.git_line(
        "for-each-ref --format=%(refname) refs/watchdog/rescue/",
        &[],
    );
    assert_eq!(
        repo.git(&["show", &format!("{}:out/b.rs", snapshot.trim())]),
        "b"
    );
}
