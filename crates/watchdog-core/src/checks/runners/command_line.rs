//! The test runner that a command line starts itself, rather than by a script or a file of targets.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::counts::pattern;
use super::table::{RUNNER_TABLE, Runner};
use crate::config::settings::CommandLine;

/// The begin of a command, before the words of its runner.
const BEGIN: &str = concat!(
    r"(?:^|[;&|(]\s*)(?:\w+=\S*\s+)*(?:(?:uv|poetry|pipenv|hatch|rye)\s+run\s+(?:-\S+\s+)*|(?:npx|bunx|pnpm|yarn)\s+(?:exec\s+)?|bundle\s+exec\s+)?",
    r"(?:\S*/)?(?:python[\d.]*\s+(?:-\S+\s+)*?-m\s+)?",
);

fn all_runners() -> impl Iterator<Item = &'static Runner> {
    let groups = RUNNER_TABLE.groups.iter();
    groups.flat_map(|group| &group.runners)
}

/// The runners that a line starts, with its words for each.
fn list_started(line: &str) -> Vec<(&'static Runner, &str)> {
    static STARTS: LazyLock<Regex> = LazyLock::new(|| {
        let groups: Vec<String> = all_runners()
            .map(|runner| format!("({})", runner.starts))
            .collect();
        let starts = format!(r"{BEGIN}(?:{})(?:[\s;&|)]|$)", groups.join("|"));
        Regex::new(&starts).expect("it is tested")
    });
    let commands = STARTS.captures_iter(line);
    let runner_of = |groups: regex::Captures<'_>| {
        let mut runners = all_runners().zip(groups.iter().skip(1).collect::<Vec<_>>());
        let (runner, words) = runners.find(|(_, words)| words.is_some())?;
        Some((runner, &line[words?.range()]))
    };
    commands.filter_map(runner_of).collect()
}

/// The runner that a line starts and that prints a closing line; `None` where it starts none, or only asks it for something else than a
/// run.
pub fn named_runner(line: &str) -> Option<&str> {
    let asks_for_else = pattern!(
        r"\s--(?:no-run|collect-only|co|listTests|list|show-only|dry-run|count|version|help)\b|\s-(?:list|N)\b|vitest\s+(?:list|bench)\b"
    );
    let mut started = list_started(line).into_iter();
    let named = started.find(|(runner, _)| !runner.is_quiet)?;
    (!asks_for_else.is_match(line)).then_some(named.1)
}

/// The runners of a line that starts nothing else; empty where a part of it is not known.
pub(in super::super) fn list_runners(line: &CommandLine) -> Vec<&'static str> {
    read_runners(line)
        .iter()
        .map(|runner| runner.name.as_str())
        .collect()
}

fn read_runners(line: &CommandLine) -> Vec<&'static Runner> {
    let line = line.to_string();
    let mut runners: Vec<&Runner> = list_commands(&line)
        .into_iter()
        .map(|(runner, _)| runner)
        .collect();
    runners.dedup_by_key(|runner| &runner.name);
    runners
}

/// The runners of a line that starts nothing else, each with its command.
fn list_commands(line: &str) -> Vec<(&'static Runner, &str)> {
    let mut commands = Vec::new();
    for command in line.split([';', '&', '|', '(', ')', '\n']) {
        let command = command.trim();
        let only_prepares = command.is_empty()
            || ["cd ", "export ", "set "]
                .iter()
                .any(|word| command.starts_with(word));
        match list_started(command).first() {
            Some((runner, _)) => commands.push((*runner, command)),
            None if only_prepares => {}
            None => return Vec::new(),
        }
    }
    commands
}

/// Whether a line runs the examples of the documentation, too; `None` where it starts anything but runners of tests inside of code.
pub(in super::super) fn runs_examples(line: &CommandLine) -> Option<bool> {
    let line = line.to_string();
    let commands = list_commands(&line).into_iter().map(|(runner, command)| {
        let words = Regex::new(runner.no_examples.as_ref()?).expect("it is tested");
        let own = command.split(" -- ").next().unwrap_or(command);
        Some(!words.is_match(own))
    });
    let examples: Vec<bool> = commands.collect::<Option<_>>()?;
    (!examples.is_empty()).then(|| examples.contains(&true))
}

/// The globs of the test files of a line: those of its runners and the names that the field uses, for helpers of tests have those, too; those
/// of all where it starts something that is not known.
pub(in super::super) fn list_test_globs(line: &CommandLine) -> Vec<String> {
    let runners = read_runners(line);
    if runners.is_empty() || runners.iter().any(|runner| runner.tests.is_empty()) {
        return list_all_test_globs();
    }
    collect_globs(runners.iter().map(|runner| &runner.tests))
}

/// The globs of the test files of all runners, and the names that the field uses.
pub(in super::super) fn list_all_test_globs() -> Vec<String> {
    collect_globs(all_runners().map(|runner| &runner.tests))
}

fn collect_globs(tests: impl Iterator<Item = &'static Vec<String>>) -> Vec<String> {
    let always = RUNNER_TABLE.folders.iter().chain(&RUNNER_TABLE.names);
    let globs: BTreeSet<&String> = tests.flatten().chain(always).collect();
    globs.into_iter().cloned().collect()
}

/// Whether a line that names tests ran none: a package manager that may lack the script printed nothing, or make only looked.
pub(in super::super) fn runs_no_test(line: &str, is_silent: bool) -> bool {
    let only_looks = pattern!(
        r"(?:^|[;&|(]\s*)g?make\s+(?:[^\s;&|]+\s+)*?(?:-[bBeikrsSRwd]*[nqt][bBeikrsSRwdnqt]*|--(?:question|dry-run|just-print|recon|touch))(?:[\s;&|)]|$)"
    );
    line.contains("test")
        && (is_silent && line.contains("--if-present") || only_looks.is_match(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_files_are_those_of_the_runners() {
        let all = list_all_test_globs();
        for (line, runners, has, lacks) in [
            (
                "cd a && CI=1 pytest -q",
                &["pytest"][..],
                "test_*.py",
                ".go",
            ),
            (
                "go test ./... && npx jest",
                &["go test", "jest"],
                "test.go",
                ".py",
            ),
            ("mvn -q test", &["maven"], "Test*.{java", "_spec"),
            ("bundle exec rspec | tee log", &[], "_test.go", "none"),
            ("ctest", &["ctest"], "_test.go", "none"),
            ("make test", &[], "_test.go", "none"),
        ] {
            let line = CommandLine::Shell(line.into());
            assert_eq!(list_runners(&line), runners, "{line}");
            let globs = list_test_globs(&line);
            let holds = |part: &str| globs.iter().any(|glob| glob.contains(part));
            assert!(holds(has) && !holds(lacks), "{line}: {globs:?}");
            assert!(globs.iter().all(|glob| all.contains(glob)), "{line}");
        }
    }

    #[test]
    fn examples_run_without_a_chosen_target() {
        for (line, expected) in [
            ("cargo test", Some(true)),
            (
                "cargo test --workspace -- --test-threads 1 --test",
                Some(true),
            ),
            ("cd a && cargo +nightly test --test-threads", Some(true)),
            ("cargo test --lib", Some(false)),
            ("cargo test --lib && cargo test --doc", Some(true)),
            ("A=1 /usr/bin/cargo test -q --test=it", Some(false)),
            ("cargo test --all-targets", Some(false)),
            ("cargo nextest run; cargo test --bins", Some(false)),
            ("cargo clippy", None),
            ("cargo fmt --check && cargo test", None),
            ("pytest && cargo test", None),
            ("cd a", None),
        ] {
            let line = CommandLine::Shell(line.into());
            assert_eq!(runs_examples(&line), expected, "{line}");
        }
    }

    #[test]
    fn make_that_only_looks_runs_no_test() {
        for line in [
            "make -n test",
            "make -kn test",
            "cd a && make --dry-run test",
        ] {
            assert!(runs_no_test(line, false), "{line}");
        }
        for line in [
            "make build && pytest -n auto tests",
            "make deps; go test -timeout 30s ./...",
            "make install && npm test -- -t a",
            "make -Otarget test",
            "make -Ctests test",
            "make -j4 -Oline test",
        ] {
            assert!(!runs_no_test(line, false), "{line}");
        }
    }

    #[test]
    fn runner_is_one_that_the_line_starts() {
        for (line, runner) in [
            ("pytest -q", Some("pytest")),
            ("cd a && CI=1 uv run --frozen pytest", Some("pytest")),
            ("python3 -B -m unittest -q", Some("unittest")),
            (".venv/bin/python -m pytest tests", Some("pytest")),
            ("go test ./...", Some("go test")),
            ("cargo +nightly test --all", Some("cargo +nightly test")),
            ("cargo nextest run", Some("cargo nextest run")),
            (
                "node --no-warnings --test",
                Some("node --no-warnings --test"),
            ),
            ("npx vitest run", Some("vitest")),
            ("node_modules/.bin/jest", Some("jest")),
            ("npx playwright test --ui", Some("playwright test")),
            ("deno test -A", Some("deno test")),
            ("bats --count test", None),
            ("bun run test", None),
            ("pip install pytest", None),
            ("cargo test --no-run", None),
            ("npm test", None),
            ("./pytest-all", None),
            ("sh pytest.sh", None),
        ] {
            assert_eq!(named_runner(line), runner, "{line}");
        }
    }
}
