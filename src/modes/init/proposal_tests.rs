//! Tables of projects and of what is proposed for them.

use std::collections::BTreeMap;

use watchdog_core::config::settings::PresetName;

use super::super::facts::{
    CargoProject, FolderBuild, NodeProject, NoxFile, PythonProject, ScriptRunner, TestPresence,
};
use super::super::file_text::file_text;
use super::super::foreign_file::{ForeignCriterion, ForeignFile, ForeignSetting};
use super::*;

fn at_root(build: FolderBuild) -> ProjectFacts {
    ProjectFacts {
        builds: vec![build],
        ..ProjectFacts::default()
    }
}

/// The commands that are written, by name.
fn commands(facts: &ProjectFacts) -> Vec<(String, String)> {
    let written = proposal(facts).preselected();
    file_text(&written).expect("what is proposed is read without a warning");
    let command = |criterion: ProposedCriterion| match criterion {
        ProposedCriterion::Command { name, run, .. } => Some((name, run)),
        ProposedCriterion::FeatureList { .. }
        | ProposedCriterion::Plan { .. }
        | ProposedCriterion::Foreign { .. } => None,
    };
    written.checks.into_iter().filter_map(command).collect()
}

#[track_caller]
fn writes(facts: &ProjectFacts, expected: &[(&str, &str)]) {
    let found = commands(facts);
    let found: Vec<(&str, &str)> = found
        .iter()
        .map(|(name, run)| (name.as_str(), run.as_str()))
        .collect();
    assert_eq!(found, expected, "{facts:?}");
}

fn node(scripts: &[(&str, &str)], manager: ScriptRunner) -> ProjectFacts {
    let scripts: BTreeMap<String, String> = scripts
        .iter()
        .map(|(name, run)| ((*name).to_owned(), (*run).to_owned()))
        .collect();
    at_root(FolderBuild {
        node: Some(NodeProject {
            scripts,
            manager,
            members: Vec::new(),
        }),
        ..FolderBuild::default()
    })
}

fn targets(names: &[&str]) -> std::collections::BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

const FOUND: TestPresence = TestPresence::Found;
const NONE: TestPresence = TestPresence::NoneFound;

#[test]
fn cargo_runs_tests_where_there_are_some_and_else_a_build() {
    for (workspace, tests, expected) in [
        (false, FOUND, ("tests", "cargo test")),
        (true, FOUND, ("tests", "cargo test --workspace")),
        (false, NONE, ("build", "cargo build")),
        (true, NONE, ("build", "cargo build --workspace")),
    ] {
        let cargo = CargoProject {
            workspace,
            tests,
            excluded: Vec::new(),
        };
        let facts = at_root(FolderBuild {
            cargo: Some(cargo),
            ..FolderBuild::default()
        });
        writes(&facts, &[expected]);
        assert_eq!(
            proposal(&facts)
                .notes
                .iter()
                .any(|note| note.contains("a run of no test is no pass")),
            tests == NONE
        );
    }
}

#[test]
fn a_test_script_is_run_by_the_package_manager_of_the_lock_file() {
    for (manager, run) in [
        (ScriptRunner::Npm, "npm test"),
        (ScriptRunner::Pnpm, "pnpm test"),
        (ScriptRunner::Yarn, "yarn test"),
        (ScriptRunner::YarnClassic, "yarn test"),
        (ScriptRunner::Bun, "bun run test"),
    ] {
        writes(
            &node(&[("test", "vitest run"), ("build", "tsc")], manager),
            &[("tests", run)],
        );
    }
}

#[test]
fn a_placeholder_is_no_test_and_a_watcher_is_offered_only() {
    writes(
        &node(
            &[("test", "echo \"Error: no test specified\" && exit 1")],
            ScriptRunner::Npm,
        ),
        &[],
    );
    writes(&node(&[("test", " ")], ScriptRunner::Npm), &[]);
    writes(
        &node(
            &[
                ("test", "echo \"Error: no test specified\" && exit 1"),
                ("build", "tsc"),
            ],
            ScriptRunner::Yarn,
        ),
        &[("build", "yarn run build")],
    );
    let watching = node(&[("test", "jest --watch")], ScriptRunner::Npm);
    writes(&watching, &[]);
    assert!(proposal(&watching).checks[0].why.contains("may never end"));
    let more = proposal(&node(
        &[("test", "jest"), ("lint", "eslint ."), ("typecheck", "tsc")],
        ScriptRunner::Pnpm,
    ));
    let offered: Vec<(String, bool)> = more
        .checks
        .iter()
        .map(|check| (check.criterion.shown(), check.chosen))
        .collect();
    let expected = [
        ("check tests: pnpm test", true),
        ("check types: pnpm run typecheck", false),
        ("check lint: pnpm run lint", false),
    ];
    assert_eq!(
        offered,
        expected.map(|(shown, chosen)| (shown.to_owned(), chosen))
    );
}

#[test]
fn pytest_is_run_as_the_project_runs_it_and_only_where_there_is_a_reason() {
    let python = |pytest, tests, launcher, own_pytest| {
        let python = PythonProject {
            pytest,
            tests,
            launcher,
            own_pytest,
            tox: false,
            nox: None,
        };
        at_root(FolderBuild {
            python: Some(python),
            ..FolderBuild::default()
        })
    };
    writes(&python(true, FOUND, "", None), &[("tests", "pytest")]);
    writes(
        &python(false, FOUND, "uv run", None),
        &[("tests", "uv run pytest")],
    );
    writes(
        &python(true, FOUND, "poetry run", Some(".venv/bin/pytest")),
        &[("tests", "poetry run pytest")],
    );
    writes(
        &python(false, FOUND, "", Some(".venv/bin/pytest")),
        &[("tests", ".venv/bin/pytest")],
    );
    writes(&python(false, NONE, "uv run", None), &[]);
    let configured = python(true, NONE, "", None);
    writes(&configured, &[("tests", "pytest")]);
    assert!(
        proposal(&configured)
            .notes
            .iter()
            .any(|note| note.contains("fails until there is one"))
    );
}

#[test]
fn go_make_and_just() {
    let with = |go, make: &[&str], just: &[&str]| {
        at_root(FolderBuild {
            go,
            make: targets(make),
            just: targets(just),
            ..FolderBuild::default()
        })
    };
    writes(
        &with(Some(FOUND), &["test"], &["test"]),
        &[("tests", "go test ./...")],
    );
    writes(&with(Some(NONE), &[], &[]), &[("build", "go build ./...")]);
    writes(
        &with(Some(NONE), &["test"], &[]),
        &[("build", "go build ./..."), ("tests", "make test")],
    );
    writes(
        &with(None, &["all", "check", "lint"], &[]),
        &[("tests", "make check")],
    );
    writes(&with(None, &["all"], &["test"]), &[("tests", "just test")]);
    writes(&with(None, &["all", "install"], &["deploy"]), &[]);
    let beside = proposal(&with(Some(FOUND), &["test"], &[]));
    let offered = ProposedCriterion::Command {
        name: "make test".into(),
        run: "make test".into(),
        folder: String::new(),
    };
    assert_eq!(beside.checks[1].criterion, offered);
}

#[test]
fn two_languages_in_one_folder_have_checks_of_two_names() {
    let mut facts = node(&[("test", "jest")], ScriptRunner::Npm);
    facts.builds[0].cargo = Some(CargoProject {
        tests: FOUND,
        ..CargoProject::default()
    });
    writes(
        &facts,
        &[
            ("tests (cargo test)", "cargo test"),
            ("tests (npm test)", "npm test"),
        ],
    );
}

#[test]
fn lists_of_work_are_criteria_frozen_only_where_a_commit_has_them() {
    let list = |path: &str, open, committed| FoundList {
        path: path.into(),
        entries: 3,
        open,
        committed,
        done: Vec::new(),
    };
    let facts = ProjectFacts {
        feature_lists: vec![
            list("feature_list.json", 3, true),
            list("prd.json", 1, false),
        ],
        plans: vec![FoundList {
            done: vec!["completed".into()],
            ..list("plan.json", 2, true)
        }],
        checklists: vec![
            list("tasks.md", 1, true),
            list("TODO.md", 3, true),
            list("fix_plan.md", 0, true),
        ],
        ..ProjectFacts::default()
    };
    let found = proposal(&facts);
    assert_eq!(
        found.preselected().checks,
        [
            ProposedCriterion::FeatureList {
                path: "feature_list.json".into(),
                freeze: true
            },
            ProposedCriterion::FeatureList {
                path: "prd.json".into(),
                freeze: false
            },
            ProposedCriterion::Plan {
                path: "plan.json".into(),
                done: vec!["completed".into()]
            },
            ProposedCriterion::Plan {
                path: "tasks.md".into(),
                done: Vec::new()
            },
        ]
    );
    assert_eq!(found.checks.len(), 6, "the others are offered");
    assert!(
        found
            .notes
            .iter()
            .any(|note| note.starts_with("prd.json is in no commit"))
    );
    file_text(&found.preselected()).expect("it is read without a warning");
}

#[test]
fn guards_of_integration_and_tests_are_offered_and_not_written_unasked() {
    let facts = ProjectFacts {
        ci: vec![".github/workflows/**".into()],
        test_folders: vec!["tests".into()],
        ..ProjectFacts::default()
    };
    let found = proposal(&facts);
    assert!(found.preselected().guards.is_empty());
    let offered: Vec<&str> = found
        .guards
        .iter()
        .map(|guard| guard.glob.as_str())
        .collect();
    assert_eq!(offered, [".github/workflows/**", "tests/**"]);
}

#[test]
fn the_first_agent_is_asked_and_what_is_missing_is_said() {
    let facts = ProjectFacts {
        agents: vec![PresetName::CODEX, PresetName::GEMINI],
        ..at_root(FolderBuild {
            go: Some(FOUND),
            ..FolderBuild::default()
        })
    };
    let found = proposal(&facts);
    assert_eq!(found.preselected().agent, Some(PresetName::CODEX));
    assert_eq!(
        found.notes,
        ["`go` is not in PATH here, and `go test ./...` needs it"]
    );
    let nothing = proposal(&ProjectFacts::default());
    assert_eq!(nothing.preselected().agent, None);
    assert_eq!(nothing.notes.len(), 2, "{:?}", nothing.notes);
}

#[test]
fn tox_and_nox_run_the_tests_where_no_environment_is_prepared() {
    let nox = |session: Option<&str>| {
        Some(NoxFile {
            tests: session.map(str::to_owned),
        })
    };
    let none = PythonProject::default;
    for (python, written) in [
        (
            PythonProject {
                tox: true,
                ..none()
            },
            &["tox"][..],
        ),
        (
            PythonProject {
                tox: true,
                tests: FOUND,
                ..none()
            },
            &["tox"],
        ),
        (
            PythonProject {
                tox: true,
                tests: FOUND,
                own_pytest: Some(".venv/bin/pytest"),
                ..none()
            },
            &[".venv/bin/pytest"],
        ),
        (
            PythonProject {
                tox: true,
                pytest: true,
                launcher: "uv run",
                tests: FOUND,
                ..none()
            },
            &["uv run pytest"],
        ),
        (
            PythonProject {
                tox: true,
                launcher: "uv run",
                ..none()
            },
            &["tox"],
        ),
        (
            PythonProject {
                nox: nox(Some("tests")),
                pytest: true,
                tests: FOUND,
                ..none()
            },
            &["nox -s tests"],
        ),
        (
            PythonProject {
                nox: nox(Some("unit")),
                tox: true,
                ..none()
            },
            &["tox"],
        ),
        (
            PythonProject {
                nox: nox(None),
                tests: FOUND,
                ..none()
            },
            &["pytest"],
        ),
        (
            PythonProject {
                nox: nox(None),
                ..none()
            },
            &[],
        ),
    ] {
        let facts = at_root(FolderBuild {
            python: Some(python.clone()),
            ..FolderBuild::default()
        });
        let runs: Vec<String> = commands(&facts).into_iter().map(|(_, run)| run).collect();
        assert_eq!(runs, written, "{python:?}");
    }
    let both = at_root(FolderBuild {
        python: Some(PythonProject {
            tox: true,
            pytest: true,
            tests: FOUND,
            ..none()
        }),
        ..FolderBuild::default()
    });
    let offered: Vec<String> = proposal(&both)
        .checks
        .iter()
        .map(|check| check.criterion.shown())
        .collect();
    assert_eq!(offered, ["check tests: tox", "check pytest: pytest"]);
}

#[test]
fn of_several_specs_the_one_of_the_branch_is_a_criterion_and_else_nobody_guesses() {
    let list = |name: &str, open| FoundList {
        path: format!("specs/{name}/tasks.md"),
        entries: 3,
        open,
        ..FoundList::default()
    };
    let two = vec![list("001-login", 1), list("002-logout", 2)];
    for (spec_lists, branch, written) in [
        (
            vec![list("001-login", 2)],
            Some("main"),
            &["specs/001-login/tasks.md"][..],
        ),
        (vec![list("001-login", 0)], Some("001-login"), &[]),
        (
            vec![list("001-login", 0), list("002-logout", 1)],
            None,
            &["specs/002-logout/tasks.md"],
        ),
        (
            two.clone(),
            Some("001-login"),
            &["specs/001-login/tasks.md"],
        ),
        (two.clone(), Some("main"), &[]),
    ] {
        let facts = ProjectFacts {
            spec_lists,
            branch: branch.map(str::to_owned),
            ..ProjectFacts::default()
        };
        let found = proposal(&facts);
        let paths = found
            .preselected()
            .checks
            .iter()
            .map(ProposedCriterion::shown)
            .collect::<Vec<_>>();
        let expected: Vec<String> = written
            .iter()
            .map(|path| format!("plan {path}: every step done"))
            .collect();
        assert_eq!(paths, expected, "{facts:?}");
    }
    let open = proposal(&ProjectFacts {
        spec_lists: two,
        branch: Some("main".into()),
        ..ProjectFacts::default()
    });
    assert_eq!(open.checks.len(), 2, "both are offered");
    assert!(
        open.notes
            .iter()
            .any(|note| note.starts_with("2 specs have open steps")),
        "{:?}",
        open.notes
    );
}

#[test]
fn what_other_programs_files_say_is_written_in_the_plain_form_with_its_source() {
    let entry = serde_json::from_str(r#"{"type": "signal", "text": "DONE", "match": "contains"}"#)
        .expect("JSON");
    let file = ForeignFile {
        path: ".agent/a/agent.json".into(),
        criteria: vec![ForeignCriterion {
            entry,
            meaning: "say DONE".into(),
            chosen: true,
        }],
        settings: vec![
            ForeignSetting::new("limits", "max_iterations", 40),
            ForeignSetting::new("breaker", "limit", 4),
            ForeignSetting::new("tasks", "dir", "tasks"),
            ForeignSetting::new("", "on_no_criteria", "review"),
        ],
        notes: vec!["not read: `x`".into()],
    };
    let found = proposal(&ProjectFacts {
        foreign: vec![file],
        ..ProjectFacts::default()
    });
    assert!(
        found
            .notes
            .contains(&".agent/a/agent.json: not read: `x`".to_owned()),
        "{:?}",
        found.notes
    );
    assert_eq!(found.checks[0].why, "from .agent/a/agent.json");
    assert_eq!(
        found.takeovers[0].shown(),
        "settings of .agent/a/agent.json: limits.max_iterations 40, breaker.limit 4, tasks.dir \"tasks\", on_no_criteria \"review\""
    );
    let text = file_text(&found.preselected()).expect("it is read without a warning");
    let settings = watchdog_core::config::parse(&text, "completion.json".as_ref())
        .expect("it is right")
        .settings;
    assert_eq!(
        (
            settings.limits.max_iterations,
            settings.breaker.limit,
            settings.tasks.dir.as_str()
        ),
        (40, 4, "tasks")
    );
    assert_eq!(
        settings.limits.session_timeout,
        Some(std::time::Duration::from_secs(7200)),
        "what the file does not say is as always"
    );
    assert_eq!(
        (settings.checks.len(), settings.on_no_criteria),
        (1, watchdog_core::config::settings::OnNoCriteria::Review)
    );
}
