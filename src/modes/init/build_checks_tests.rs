//! Tables of projects in several folders, and of the commands that are proposed for them.

use std::collections::BTreeMap;

use super::super::facts::CargoProject;
use super::*;

const FOUND: TestPresence = TestPresence::Found;
const NONE: TestPresence = TestPresence::NoneFound;

/// A folder with this build file in it.
fn folder(path: &str) -> FolderBuild {
    FolderBuild {
        folder: path.into(),
        ..FolderBuild::default()
    }
}

fn cargo(path: &str, workspace: bool, tests: TestPresence) -> FolderBuild {
    FolderBuild {
        cargo: Some(CargoProject {
            workspace,
            tests,
            excluded: vec!["outside".into()],
        }),
        ..folder(path)
    }
}

fn node(path: &str, test: Option<&str>, manager: ScriptRunner, members: &[&str]) -> FolderBuild {
    let scripts: BTreeMap<String, String> = test
        .iter()
        .map(|test| ("test".to_owned(), (*test).to_owned()))
        .collect();
    let members = members
        .iter()
        .map(|pattern| (*pattern).to_owned())
        .collect();
    FolderBuild {
        node: Some(NodeProject {
            scripts,
            manager,
            members,
        }),
        ..folder(path)
    }
}

fn python(path: &str, pytest: bool, tests: TestPresence, launcher: &'static str) -> FolderBuild {
    FolderBuild {
        python: Some(PythonProject {
            pytest,
            tests,
            launcher,
            ..PythonProject::default()
        }),
        ..folder(path)
    }
}

fn make(path: &str, target: &str) -> FolderBuild {
    FolderBuild {
        make: [target.to_owned()].into(),
        ..folder(path)
    }
}

/// Each check as `folder: command`, with a question mark where it is only offered.
fn shown(builds: &[FolderBuild]) -> Vec<String> {
    let line = |check: ProposedCheck| match check.criterion {
        ProposedCriterion::Command { name, run, folder } => {
            assert!(
                folder.is_empty() || name.ends_with(&folder),
                "{name} names {folder}"
            );
            format!("{}{folder}: {run}", if check.chosen { "" } else { "?" })
        }
        other => panic!("no command: {other:?}"),
    };
    build_checks(builds).checks.into_iter().map(line).collect()
}

#[test]
fn each_project_below_a_root_without_build_files_has_a_check_in_its_folder() {
    let go = FolderBuild {
        go: Some(FOUND),
        ..folder("svc")
    };
    let builds = [
        folder(""),
        cargo("backend", false, FOUND),
        make("firmware", "test"),
        go,
        python("tools", false, FOUND, ""),
        node("web", Some("vitest run"), ScriptRunner::Pnpm, &[]),
        cargo("web/wasm", false, NONE),
    ];
    let expected = [
        "backend: cargo test",
        "firmware: make test",
        "svc: go test ./...",
        "tools: pytest",
        "web: pnpm test",
        "web/wasm: cargo build",
    ];
    assert_eq!(shown(&builds), expected);
    let notes = build_checks(&builds).notes;
    assert_eq!(
        notes,
        [
            "no test was found for `cargo test` in web/wasm, and a run of no test is no pass: add it once there are tests"
        ]
    );
}

#[test]
fn members_of_a_workspace_of_cargo_have_no_check_of_their_own() {
    for (builds, expected) in [
        (
            vec![
                cargo("", true, NONE),
                cargo("crates/a", false, FOUND),
                cargo("crates/b", false, NONE),
            ],
            &[": cargo test --workspace"][..],
        ),
        (
            vec![cargo("", true, NONE), cargo("crates/a", false, NONE)],
            &[": cargo build --workspace"],
        ),
        // A workspace of its own, and an excluded folder.
        (
            vec![cargo("", true, FOUND), cargo("fuzz", true, FOUND)],
            &[": cargo test --workspace", "?fuzz: cargo test --workspace"],
        ),
        (
            vec![cargo("", true, NONE), cargo("outside/x", false, FOUND)],
            &[": cargo build --workspace", "outside/x: cargo test"],
        ),
        (
            vec![
                folder(""),
                cargo("rs", true, NONE),
                cargo("rs/a", false, FOUND),
            ],
            &["rs: cargo test --workspace"],
        ),
        // A package without members, and one inside of it.
        (
            vec![cargo("", false, FOUND), cargo("sub", false, FOUND)],
            &[": cargo test", "?sub: cargo test"],
        ),
    ] {
        assert_eq!(shown(&builds), expected, "{builds:?}");
    }
}

#[test]
fn members_of_a_workspace_of_node_have_one_check_together() {
    use ScriptRunner::{Bun, Npm, Pnpm, Yarn, YarnClassic};
    let project = |root_test, manager, second: Option<&str>| {
        vec![
            node(
                "",
                root_test,
                manager,
                &["packages/*", "./apps/web/", "!packages/old"],
            ),
            node("apps/web", None, manager, &[]),
            node("packages/a", Some("jest"), manager, &[]),
            node("packages/old", second, manager, &[]),
        ]
    };
    for (builds, expected) in [
        (project(Some("turbo test"), Npm, None), &[": npm test"][..]),
        (
            project(None, Npm, None),
            &[": npm test --workspaces --if-present"],
        ),
        (project(None, Pnpm, None), &[": pnpm -r test"]),
        (
            project(None, Yarn, None),
            &[": yarn workspaces foreach --all run test"],
        ),
        (
            project(None, YarnClassic, None),
            &["?: yarn workspaces run test"],
        ),
        (project(None, Bun, None), &[": bun run --filter '*' test"]),
        // What is taken out of the workspace stands for itself.
        (
            project(None, Npm, Some("jest")),
            &[
                ": npm test --workspaces --if-present",
                "packages/old: npm test",
            ],
        ),
        (
            project(Some("jest"), Npm, Some("jest")),
            &[": npm test", "?packages/old: npm test"],
        ),
    ] {
        assert_eq!(shown(&builds), expected, "{builds:?}");
    }
}

#[test]
fn pytest_looks_below_itself_and_members_of_uv_share_its_environment() {
    let tox = FolderBuild {
        python: Some(PythonProject {
            tox: true,
            ..PythonProject::default()
        }),
        ..folder("lib")
    };
    for (builds, expected) in [
        (
            vec![python("", true, NONE, ""), python("a", false, FOUND, "")],
            &[": pytest"][..],
        ),
        (
            vec![
                python("", false, NONE, "uv run"),
                python("a", false, FOUND, ""),
                python("b", true, FOUND, "poetry run"),
            ],
            &["a: uv run pytest", "b: poetry run pytest"],
        ),
        (
            vec![folder(""), tox, python("lib/x", false, FOUND, "")],
            &["lib: tox"],
        ),
    ] {
        assert_eq!(shown(&builds), expected, "{builds:?}");
    }
}

#[test]
fn a_target_of_the_root_may_run_what_lies_below_and_one_below_stands_in_where_nothing_tests() {
    for (builds, expected) in [
        (
            vec![make("", "test"), cargo("api", false, FOUND)],
            &[": make test", "?api: cargo test"][..],
        ),
        (
            vec![make("", "build"), cargo("api", false, FOUND)],
            &["api: cargo test"],
        ),
        (
            vec![cargo("", false, FOUND), make("docs-site", "test")],
            &[": cargo test", "?docs-site: make test"],
        ),
        (
            vec![
                folder(""),
                FolderBuild {
                    make: ["check".to_owned()].into(),
                    ..cargo("api", false, FOUND)
                },
            ],
            &["api: cargo test", "?api: make check"],
        ),
        // Another language than that of the root is not what the root tests.
        (
            vec![
                node("", Some("jest"), ScriptRunner::Npm, &[]),
                cargo("src-tauri", false, FOUND),
            ],
            &[": npm test", "src-tauri: cargo test"],
        ),
    ] {
        assert_eq!(shown(&builds), expected, "{builds:?}");
    }
}

#[test]
fn a_great_many_projects_are_cut_off_and_said_those_that_would_be_written_first() {
    let mut builds = vec![cargo("", false, FOUND)];
    builds.extend((10..20).map(|at| cargo(&format!("c{at}"), false, FOUND)));
    builds.extend((10..20).map(|at| node(&format!("n{at}"), Some("jest"), ScriptRunner::Npm, &[])));
    let found = shown(&builds);
    assert_eq!(found.len(), 1 + MOST_BELOW);
    assert!(
        found[1..11].iter().all(|line| line.starts_with('n')) && found[11].starts_with("?c10"),
        "{found:?}"
    );
    assert_eq!(
        build_checks(&builds).notes,
        ["8 more checks of folders below could be written by hand"]
    );
}
