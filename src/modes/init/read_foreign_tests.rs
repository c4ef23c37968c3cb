//! Projects with files of other programs, the odd and the hostile ones included.

use std::os::unix::fs::symlink;

use super::*;

/// A project of these files.
fn project(files: &[(&str, &str)]) -> tempfile::TempDir {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    for (path, text) in files {
        let path = scratch.path().join(path);
        fs::create_dir_all(path.parent().expect("inside")).expect("a folder");
        fs::write(path, text).expect("written");
    }
    scratch
}

fn found(project: &tempfile::TempDir) -> (Vec<ForeignFile>, Vec<String>) {
    let mut unusable = Vec::new();
    let found = foreign_files(project.path(), &mut unusable);
    (found, unusable)
}

const AGENT: &str = r#"{"name": "a", "runner": {"verdict": {"type": "count:iteration", "config": {"maxIterations": 5}}}}"#;

#[test]
fn one_agent_is_taken_over_and_several_are_offered() {
    let one = project(&[(".agent/a/agent.json", AGENT)]);
    let (files, unusable) = found(&one);
    assert_eq!(
        (files.len(), files[0].path.as_str(), unusable.len()),
        (1, ".agent/a/agent.json", 0)
    );
    assert!(files[0].criteria[0].chosen);
    assert_eq!(
        files[0].settings,
        [ForeignSetting::new("limits", "max_iterations", 5)]
    );
    let two = project(&[
        (".agent/a/agent.json", AGENT),
        (".agent/b/agent.json", AGENT),
    ]);
    let (files, _) = found(&two);
    assert!(
        files.len() == 2
            && files
                .iter()
                .all(|file| !file.criteria[0].chosen && file.settings.is_empty()),
        "{files:?}"
    );
}

#[test]
fn ralphs_plan_keeps_its_optional_sections_and_its_settings_become_limits() {
    let rc = "CLAUDE_TIMEOUT_MINUTES=15\nCB_NO_PROGRESS_THRESHOLD=4\nCB_COOLDOWN_MINUTES=30\nMAX_CALLS_PER_HOUR=100\nOPTIONAL_SECTIONS=Later\n";
    let ralph = project(&[
        (".ralphrc", rc),
        (
            ".ralph/fix_plan.md",
            "## High\n- [ ] a\n- [x] b\n## Later\n- [ ] c\n",
        ),
    ]);
    let (files, _) = found(&ralph);
    let file = &files[0];
    assert_eq!(
        file.criteria[0].entry.to_string(),
        r#"{"optional_sections":["Later"],"path":".ralph/fix_plan.md","type":"plan"}"#
    );
    assert_eq!(
        file.settings
            .iter()
            .map(ForeignSetting::shown)
            .collect::<Vec<_>>(),
        [
            "limits.session_timeout_seconds 900",
            "breaker.limit 4",
            "limits.cooldown_seconds 36",
            "breaker.cooldown_seconds 1800"
        ]
    );
    assert_eq!(
        file.notes,
        [
            "MAX_CALLS_PER_HOUR=100 becomes a pause of 36 s between sessions, so that no hour has more of them"
        ]
    );
    let issue = project(&[(".ralphrc", "GITHUB_ISSUE=o/n#7\nMAX_LOOPS=9\n")]);
    let (files, _) = found(&issue);
    assert_eq!(
        files[0].settings,
        [ForeignSetting::new("limits", "max_iterations", 9)]
    );
    assert_eq!(
        files[0].criteria[0].entry.to_string(),
        r#"{"number":7,"repo":"o/n","type":"issue"}"#
    );
    assert!(
        !files[0].criteria[0].chosen,
        "the other program closes it itself"
    );
    let done = project(&[(".ralph/fix_plan.md", "- [x] a\n")]);
    assert!(
        !found(&done).0[0].criteria[0].chosen,
        "a plan without open steps shows nothing"
    );
    assert!(
        found(&project(&[(".ralph/fix_plan.md", "no boxes\n")]))
            .0
            .is_empty()
    );
}

#[test]
fn the_file_of_the_spec_runner_and_the_lists_of_its_specs_are_found() {
    let config = r#"{"spec_workflow_dir_name": ".flow", "specs_subdir": "s", "tasks_filename": "todo.md", "no_commit_limit": 5, "repos_root": "~"}"#;
    let runner = project(&[
        ("config.json", config),
        (".flow/s/auth/todo.md", "- [ ] a\n"),
        (".flow/s/none/design.md", ""),
    ]);
    let (files, _) = found(&runner);
    let review = ForeignSetting::new("", "on_no_criteria", "review");
    assert_eq!(
        files[0].settings,
        [ForeignSetting::new("breaker", "limit", 5), review],
        "commits alone complete no spec"
    );
    assert_eq!(runner_spec_lists(runner.path()), [".flow/s/auth/todo.md"]);
    let other = project(&[
        ("config.json", r#"{"port": 80}"#),
        (".spec-workflow/specs/b/tasks.md", "- [ ] a\n"),
    ]);
    assert!(
        found(&other).0.is_empty(),
        "any other config.json is none of ours"
    );
    assert_eq!(
        runner_spec_lists(other.path()),
        [".spec-workflow/specs/b/tasks.md"]
    );
    let up = project(&[("config.json", &config.replace(".flow", ".."))]);
    assert!(runner_spec_lists(up.path()).is_empty());
}

#[test]
fn a_folder_of_tasks_is_found_with_the_folders_of_its_projects() {
    let task = |id: &str| {
        format!(
            "---\nid: {id}\ntitle: t\nworkstream: api\ntags: [a]\ncompletion:\n  verify: make test\n---\nDo it.\n"
        )
    };
    let files = [
        ("tasks/README.md", "# All"),
        ("tasks/auth/README.md", "# Auth"),
        ("tasks/auth/001.md", &task("A1")),
        ("tasks/T1.md", &task("T1")),
    ];
    let (files, _) = found(&project(&files));
    assert_eq!(
        files[0].settings,
        [ForeignSetting::new("tasks", "dir", "tasks")]
    );
    assert!(
        files[0].notes[0].starts_with("2 tasks; `watchdog trust "),
        "{files:?}"
    );
    let named = project(&[
        (
            "tanuki.yaml",
            "version: '1'\ntasks_dir: work/items  # here\n",
        ),
        ("work/items/T1.md", &task("T1")),
    ]);
    assert_eq!(
        found(&named).0[0].settings,
        [ForeignSetting::new("tasks", "dir", "work/items")]
    );
    let known = project(&[
        (".watchdog/tasks/T1.md", &task("T1")),
        ("tasks/T2.md", &task("T2")),
    ]);
    assert!(
        found(&known).0.is_empty(),
        "watchdog has tasks here already"
    );
    assert!(
        found(&project(&[("tasks/notes.md", "no front matter")]))
            .0
            .is_empty()
    );
    assert_eq!(tasks_dir("tasks_dir: ../../x"), None);
}

#[test]
fn what_is_odd_or_hostile_is_named_and_not_read() {
    let outside = project(&[("agent.json", AGENT)]);
    let scene = project(&[
        (".agent/big/agent.json", &" ".repeat(MAX_BYTES + 1)),
        (".agent/bad/agent.json", r#"{"runner": {"verdict": 5}}"#),
    ]);
    let agents = scene.path().join(".agent");
    for name in ["dir/agent.json", "linked", "odd\u{1b}[2J"] {
        fs::create_dir_all(agents.join(name)).expect("a folder");
    }
    symlink(
        outside.path().join("agent.json"),
        agents.join("linked/agent.json"),
    )
    .expect("a link");
    symlink(outside.path(), agents.join("folder")).expect("a link");
    fs::write(agents.join("odd\u{1b}[2J/agent.json"), AGENT).expect("written");
    let (files, unusable) = found(&scene);
    assert!(files.is_empty(), "{files:?}");
    let why = |path: &str| {
        unusable
            .iter()
            .find(|line| line.starts_with(path))
            .unwrap_or_else(|| panic!("{path}: {unusable:?}"))
            .as_str()
    };
    assert!(why(".agent/big").contains("bytes long, and at most"));
    assert!(
        why(".agent/bad").contains("is not taken over")
            && why(".agent/bad").contains("runner.verdict: expected an object")
    );
    assert!(why(".agent/dir").ends_with("it is not a regular file"));
    assert!(why(".agent/linked").ends_with("it is a link"));
    assert_eq!(
        unusable.len(),
        4,
        "a folder that is a link, or has no plain name, is no agent's: {unusable:?}"
    );
    fs::remove_dir_all(&agents).expect("removed");
    symlink(outside.path(), &agents).expect("a link");
    assert_eq!(found(&scene), (Vec::new(), Vec::new()));
}
