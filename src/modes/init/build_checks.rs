//! From build files to the commands that test what they build: one for each project, and none for the members of a workspace. A total
//! function.

use watchdog_facts::patterns::path_globs;

use super::facts::{
    FolderBuild, NodeProject, PythonProject, ScriptRunner, TestPresence, is_inside,
};
use super::proposed::{ProposedCheck, ProposedCriterion};

/// Checks of folders below the root that are proposed.
const MOST_BELOW: usize = 12;
/// What runs programs in the environment of uv.
const UV: &str = "uv run";

/// What a project's build files are worth.
#[derive(Debug, Default)]
pub struct BuildChecks {
    /// Commands, those of the root first.
    pub checks: Vec<ProposedCheck>,
    /// What a person should know of them.
    pub notes: Vec<String>,
}

/// The commands for these folders, the root first.
pub fn build_checks(builds: &[FolderBuild]) -> BuildChecks {
    let mut found = BuildProposer {
        builds,
        checks: Vec::new(),
        notes: Vec::new(),
        tested: Vec::new(),
        root_runs: None,
    };
    for build in builds {
        found.cargo(build);
        found.node(build);
        found.python(build);
        found.go(build);
        found.task_runners(build);
    }
    let (mut checks, mut below): (Vec<_>, Vec<_>) =
        found.checks.into_iter().partition(|(at_root, _)| *at_root);
    below.sort_by_key(|(_, check)| !check.chosen);
    if below.len() > MOST_BELOW {
        found.notes.push(format!(
            "{} more checks of folders below could be written by hand",
            below.len() - MOST_BELOW
        ));
        below.truncate(MOST_BELOW);
    }
    checks.append(&mut below);
    BuildChecks {
        checks: checks.into_iter().map(|(_, check)| check).collect(),
        notes: found.notes,
    }
}

struct BuildProposer<'a> {
    builds: &'a [FolderBuild],
    /// Each with whether it is of the root.
    checks: Vec<(bool, ProposedCheck)>,
    notes: Vec<String>,
    /// Folders in which a command runs tests.
    tested: Vec<&'a str>,
    /// The target of the root that runs the tests, where no language of the root does.
    root_runs: Option<String>,
}

impl<'a> BuildProposer<'a> {
    /// Adds a command of a folder.
    fn command(&mut self, build: &FolderBuild, name: &str, run: &str, why: String, chosen: bool) {
        let at_root = build.folder.is_empty();
        let name = if at_root {
            name.to_owned()
        } else {
            format!("{name} in {}", build.folder)
        };
        let criterion = ProposedCriterion::Command {
            name,
            run: run.to_owned(),
            folder: build.folder.clone(),
        };
        self.checks.push((
            at_root,
            ProposedCheck {
                criterion,
                why,
                chosen,
            },
        ));
    }

    /// Adds one that is written, unless `above_tests` (a folder above runs tests of the same language) or the root may run it.
    fn chosen_unless(
        &mut self,
        build: &FolderBuild,
        name: &str,
        run: &str,
        why: &str,
        above_tests: bool,
    ) -> bool {
        let against = match &self.root_runs {
            _ if above_tests => Some("a folder above runs tests already".to_owned()),
            Some(root) => Some(format!("`{root}` at the root may run it")),
            None => None,
        };
        let chosen = against.is_none();
        let why = against.map_or_else(|| why.to_owned(), |against| format!("{why}; {against}"));
        self.command(build, name, run, why, chosen);
        chosen
    }

    /// A command that runs tests.
    fn tests(&mut self, build: &'a FolderBuild, run: &str, why: &str, above_tests: bool) -> bool {
        self.tested.push(&build.folder);
        self.chosen_unless(build, "tests", run, why, above_tests)
    }

    /// Where no test was found, a build is all that can pass: a run of no test is no pass.
    fn build(
        &mut self,
        build: &FolderBuild,
        (run, tests): (&str, &str),
        why: &str,
        above_tests: bool,
    ) {
        if self.chosen_unless(build, "build", run, why, above_tests) {
            let inside = if build.folder.is_empty() {
                String::new()
            } else {
                format!(" in {}", build.folder)
            };
            self.notes
                .push(format!("no test was found for `{tests}`{inside}, and a run of no test is no pass: add it once there are tests"));
        }
    }

    fn cargo(&mut self, build: &'a FolderBuild) {
        let Some(cargo) = &build.cargo else { return };
        if above(self.builds, build).any(|other| is_cargo_member(build, other)) {
            return;
        }
        let above_tests = above(self.builds, build)
            .any(|other| cargo_tests(self.builds, other) == TestPresence::Found);
        let all = if cargo.workspace { " --workspace" } else { "" };
        let (test, compile) = (format!("cargo test{all}"), format!("cargo build{all}"));
        let why = in_folder(build, "Cargo.toml");
        match cargo_tests(self.builds, build) {
            TestPresence::Found => _ = self.tests(build, &test, &why, above_tests),
            TestPresence::NoneFound => self.build(build, (&compile, &test), &why, above_tests),
        }
    }

    fn node(&mut self, build: &'a FolderBuild) {
        let Some(node) = &build.node else { return };
        if above(self.builds, build).any(|other| is_node_member(build, other)) {
            return;
        }
        let above_tests = above(self.builds, build).any(|other| {
            other
                .node
                .as_ref()
                .is_some_and(|node| test_script(node).is_some())
        });
        let file = in_folder(build, "package.json");
        let (program, runs) = match node.manager {
            ScriptRunner::Npm => ("npm", "npm run "),
            ScriptRunner::Pnpm => ("pnpm", "pnpm run "),
            ScriptRunner::Yarn | ScriptRunner::YarnClassic => ("yarn", "yarn run "),
            ScriptRunner::Bun => ("bun", "bun run "),
        };
        if let Some(script) = test_script(node) {
            // `bun test` is another command than the script.
            let run = if node.manager == ScriptRunner::Bun {
                "bun run test".to_owned()
            } else {
                format!("{program} test")
            };
            if watches(script) {
                self.command(
                    build,
                    "tests",
                    &run,
                    format!("scripts.test of {file} watches files, so it may never end"),
                    false,
                );
            } else {
                self.tests(build, &run, &format!("scripts.test of {file}"), above_tests);
            }
        } else if let Some((run, passes_over)) = members_run(self.builds, build, node) {
            let why = format!("the workspace of {file}, whose members have tests");
            if passes_over {
                self.tests(build, run, &why, above_tests);
            } else {
                self.command(
                    build,
                    "tests",
                    run,
                    format!("{why}; it fails where a member has none"),
                    false,
                );
            }
        } else if node.scripts.contains_key("build") {
            let why = format!("scripts.build of {file}; it has no tests");
            self.chosen_unless(build, "build", &format!("{runs}build"), &why, above_tests);
        }
        for (name, scripts) in [
            ("types", &["typecheck", "type-check", "check-types"][..]),
            ("lint", &["lint"]),
        ] {
            if let Some(script) = scripts
                .iter()
                .find(|script| build.folder.is_empty() && node.scripts.contains_key(**script))
            {
                self.command(
                    build,
                    name,
                    &format!("{runs}{script}"),
                    format!("scripts.{script} of {file}"),
                    false,
                );
            }
        }
    }

    fn python(&mut self, build: &'a FolderBuild) {
        let Some(python) = &build.python else { return };
        let mut others = above(self.builds, build).filter_map(|other| other.python.as_ref());
        // pytest looks into every folder below the one that it begins in.
        if others.clone().any(runs_python_tests) {
            return;
        }
        let has_pytest = python.pytest || python.tests == TestPresence::Found;
        // The members of a workspace of uv have its lock file.
        let by_uv = others.any(|other| other.launcher == UV);
        let pytest = match (python.launcher, python.own_pytest) {
            ("", Some(own)) => own.to_owned(),
            ("", None) if by_uv => format!("{UV} pytest"),
            ("", None) => "pytest".to_owned(),
            (launcher, _) => format!("{launcher} pytest"),
        };
        let why_pytest = if python.pytest {
            "pytest is configured"
        } else {
            "files of tests"
        };
        let session = python.nox.as_ref().and_then(|nox| nox.tests.as_ref());
        let environments = match session {
            _ if python.tox => Some(("tox".to_owned(), "tox is configured")),
            Some(session) => Some((format!("nox -s {session}"), "a session of noxfile.py")),
            None => None,
        };
        let pytest = has_pytest.then_some((pytest, why_pytest));
        // Where nothing has prepared an environment with pytest, tox and nox make their own.
        let (first, second) = if pytest.as_ref().is_some_and(|(run, _)| run != "pytest") {
            (pytest, environments)
        } else {
            (environments, pytest)
        };
        let (first, second) = if first.is_some() {
            (first, second)
        } else {
            (second, None)
        };
        let Some((run, why)) = first else {
            if python.nox.is_some() {
                self.command(
                    build,
                    "nox",
                    "nox",
                    "noxfile.py; no session of it is called tests".into(),
                    false,
                );
            }
            return;
        };
        if self.tests(build, &run, why, false) && python.tests == TestPresence::NoneFound {
            let inside = if build.folder.is_empty() {
                String::new()
            } else {
                format!(" in {}", build.folder)
            };
            self.notes.push(format!(
                "{why}, and no test was found{inside}: `{run}` fails until there is one"
            ));
        }
        if let Some((run, why)) = second {
            self.command(
                build,
                "tests",
                &run,
                format!("{why}; the tests run already"),
                false,
            );
        }
    }

    fn go(&mut self, build: &'a FolderBuild) {
        let above_tests =
            above(self.builds, build).any(|other| other.go == Some(TestPresence::Found));
        let why = in_folder(build, "go.mod");
        match build.go {
            Some(TestPresence::Found) => _ = self.tests(build, "go test ./...", &why, above_tests),
            Some(TestPresence::NoneFound) => self.build(
                build,
                ("go build ./...", "go test ./..."),
                &why,
                above_tests,
            ),
            None => {}
        }
    }

    /// Make and just stand in where no language's own tool runs tests; beside one they can be chosen.
    fn task_runners(&mut self, build: &'a FolderBuild) {
        let at_root = build.folder.is_empty();
        for (program, file, targets) in [
            ("make", "Makefile", &build.make),
            ("just", "justfile", &build.just),
        ] {
            let why = format!("target of the {}", in_folder(build, file));
            for target in ["test", "check"]
                .into_iter()
                .filter(|target| targets.contains(*target))
            {
                let run = format!("{program} {target}");
                let is_tested = self
                    .tested
                    .iter()
                    .any(|tested| is_inside(&build.folder, tested));
                let more = if is_tested {
                    "; the tests run already"
                } else {
                    ""
                };
                self.command(build, "tests", &run, format!("{why}{more}"), !is_tested);
                self.tested.push(&build.folder);
                self.root_runs = self
                    .root_runs
                    .take()
                    .or(Some(run).filter(|_| at_root && !is_tested));
            }
            if at_root && targets.contains("lint") {
                self.command(build, "lint", &format!("{program} lint"), why, false);
            }
        }
    }
}

/// The folders that a folder lies in.
fn above<'a>(
    builds: &'a [FolderBuild],
    build: &'a FolderBuild,
) -> impl Iterator<Item = &'a FolderBuild> + Clone {
    builds
        .iter()
        .filter(|other| other.folder != build.folder && is_inside(&build.folder, &other.folder))
}

/// The folders that lie in a folder.
fn below<'a>(
    builds: &'a [FolderBuild],
    build: &'a FolderBuild,
) -> impl Iterator<Item = &'a FolderBuild> {
    builds
        .iter()
        .filter(|other| other.folder != build.folder && is_inside(&other.folder, &build.folder))
}

/// Whether a project of Cargo has tests, those of its members included.
fn cargo_tests(builds: &[FolderBuild], build: &FolderBuild) -> TestPresence {
    let has_tests = |build: &FolderBuild| {
        build
            .cargo
            .as_ref()
            .is_some_and(|cargo| cargo.tests == TestPresence::Found)
    };
    let any = has_tests(build)
        || below(builds, build).any(|inner| is_cargo_member(inner, build) && has_tests(inner));
    if any {
        TestPresence::Found
    } else {
        TestPresence::NoneFound
    }
}

/// What runs the tests of the members of a workspace, where some have tests; and whether it passes over those that have none.
fn members_run(
    builds: &[FolderBuild],
    build: &FolderBuild,
    node: &NodeProject,
) -> Option<(&'static str, bool)> {
    let members = below(builds, build)
        .filter(|inner| is_node_member(inner, build))
        .filter_map(|inner| inner.node.as_ref());
    let (tested, untested): (Vec<_>, Vec<_>) =
        members.partition(|member| test_script(member).is_some());
    if tested.is_empty() {
        return None;
    }
    Some(match node.manager {
        ScriptRunner::Npm => ("npm test --workspaces --if-present", true),
        ScriptRunner::Pnpm => ("pnpm -r test", true),
        ScriptRunner::Yarn => ("yarn workspaces foreach --all run test", true),
        ScriptRunner::YarnClassic => ("yarn workspaces run test", untested.is_empty()),
        ScriptRunner::Bun => ("bun run --filter '*' test", true),
    })
}

/// The name of a file, with the folder that it is in.
fn in_folder(build: &FolderBuild, file: &str) -> String {
    if build.folder.is_empty() {
        file.to_owned()
    } else {
        format!("{}/{file}", build.folder)
    }
}

/// The path of a folder from another one that it lies in.
fn relative<'a>(inner: &'a FolderBuild, outer: &FolderBuild) -> &'a str {
    inner.folder[outer.folder.len()..].trim_start_matches('/')
}

fn is_cargo_member(inner: &FolderBuild, outer: &FolderBuild) -> bool {
    let (Some(own), Some(workspace)) = (&inner.cargo, &outer.cargo) else {
        return false;
    };
    let path = relative(inner, outer);
    workspace.workspace
        && !own.workspace
        && !workspace
            .excluded
            .iter()
            .any(|excluded| is_inside(path, plain_path(excluded)))
}

fn is_node_member(inner: &FolderBuild, outer: &FolderBuild) -> bool {
    let (Some(_), Some(workspace)) = (&inner.node, &outer.node) else {
        return false;
    };
    let path = relative(inner, outer);
    let fits = |pattern: &str| {
        path_globs(&[plain_path(pattern).to_owned()]).is_ok_and(|globs| globs.is_match(path))
    };
    let (without, with): (Vec<&String>, Vec<&String>) = workspace
        .members
        .iter()
        .partition(|pattern| pattern.starts_with('!'));
    with.into_iter().any(|pattern| fits(pattern))
        && !without.into_iter().any(|pattern| fits(&pattern[1..]))
}

fn plain_path(path: &str) -> &str {
    path.trim_start_matches("./").trim_end_matches('/')
}

fn runs_python_tests(python: &PythonProject) -> bool {
    python.pytest || python.tests == TestPresence::Found || python.tox
}

/// The script of a package that tests. What `npm init` writes where nobody has tests is none.
fn test_script(node: &NodeProject) -> Option<&String> {
    node.scripts
        .get("test")
        .filter(|script| !script.trim().is_empty() && !script.contains("no test specified"))
}

fn watches(script: &str) -> bool {
    script
        .split_whitespace()
        .any(|word| matches!(word, "--watch" | "--watchAll" | "-w" | "watch"))
}

#[cfg(test)]
#[path = "build_checks_tests.rs"]
mod tests;
