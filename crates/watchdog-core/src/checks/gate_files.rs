//! Files that configure a well-known runner although no command line names them: the `Makefile` of `make check`, the `scripts` of
//! `npm test`, the `conftest.py` of `pytest`. A session that writes them decides what passes.

use std::path::{Path, PathBuf};

use globset::GlobSet;
use watchdog_facts::evidence::{FaultKind, ReadFact, UnreadableFact};
use watchdog_facts::patterns::path_globs;

use crate::config::settings::{CheckKind, CheckSpec, CommandCriterion, CommandLine};

use super::named_files::{list_program_names, list_work_folders};
use super::runners::{GateFilePart, RUNNER_TABLE, list_runners, list_test_globs};

/// A file that decides what a command runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateFile {
    /// A glob from the root of the worktree.
    pub glob: String,
    /// Its relevant part.
    pub part: &'static GateFilePart,
}

/// The gate files of a command line: at the root, in its working folder, and in the folders that it changes to.
pub fn gate_files(line: &CommandLine, cwd: Option<&str>) -> Vec<GateFile> {
    let programs = list_program_names(line);
    let folders = list_work_folders(line, cwd);
    let is_named = |name: &String| programs.contains(name);
    let groups = RUNNER_TABLE
        .groups
        .iter()
        .filter(|group| group.programs.iter().any(is_named));
    let mut gate_files = Vec::new();
    for group in groups {
        for folder in &folders {
            for (file, part) in group
                .gates
                .iter()
                .flat_map(|row| row.files.iter().map(move |file| (file, &row.part)))
            {
                let glob = if folder.is_empty() {
                    file.clone()
                } else {
                    format!("{}/{file}", globset::escape(folder))
                };
                gate_files.push(GateFile { glob, part });
            }
        }
    }
    gate_files
}

/// Fills in the globs of the test files of each check of a command, and tells its runners and their gate files.
pub fn resolve_judging_files(checks: &mut [CheckSpec]) -> Vec<String> {
    let resolve = |check: &mut CheckSpec| match check {
        CheckSpec::Group { checks, .. } => resolve_judging_files(checks),
        CheckSpec::Single { name, criterion } => {
            let CheckKind::Command(criterion) = criterion else {
                return Vec::new();
            };
            if criterion.tests_are.is_empty() {
                criterion.tests_are = list_test_globs(&criterion.run);
            }
            let join = |words: Vec<String>, none: &str| match words.is_empty() {
                true => none.to_owned(),
                false => words.join(", "),
            };
            let runners = list_runners(&criterion.run).into_iter();
            let gates = gate_files(&criterion.run, criterion.cwd.as_deref()).into_iter();
            vec![format!(
                "check {name}: runner {}; gate files {}",
                join(runners.map(str::to_owned).collect(), "unknown"),
                join(
                    gates
                        .map(|gate| gate.glob + &gate.part.to_string())
                        .collect(),
                    "none"
                ),
            )]
        }
    };
    checks.iter_mut().flat_map(resolve).collect()
}

/// The paths that judge, for a check: its own globs, or the conventions of its runners, below its folder; and what configures them.
pub struct JudgingFiles {
    folder: PathBuf,
    globs: GlobSet,
    gates: Vec<(GlobSet, &'static GateFilePart)>,
}

impl JudgingFiles {
    /// Those of a check that runs in a folder of the worktree. A glob that cannot be read is a fault of the configuration.
    pub fn new(criterion: &CommandCriterion, folder: PathBuf) -> ReadFact<Self> {
        let set_of = |globs: &[String]| {
            path_globs(globs)
                .map_err(|(_, error)| UnreadableFact::new(FaultKind::Config, error.to_string()))
        };
        let gates = gate_files(&criterion.run, criterion.cwd.as_deref()).into_iter();
        let globs = match &criterion.tests_are {
            none if none.is_empty() => &list_test_globs(&criterion.run),
            globs => globs,
        };
        Ok(JudgingFiles {
            folder,
            globs: set_of(globs)?,
            gates: gates
                .map(|gate| Ok((set_of(&[gate.glob])?, gate.part)))
                .collect::<ReadFact<_>>()?,
        })
    }

    /// Whether all of a file judges.
    pub fn judges(&self, path: &str) -> bool {
        let below = Path::new(path).strip_prefix(&self.folder);
        let is_test = below.is_ok_and(|below| self.globs.is_match(below));
        let mut gates = self.gates.iter();
        is_test || gates.any(|(glob, part)| **part == GateFilePart::Whole && glob.is_match(path))
    }

    /// The part of a manifest that judges.
    pub fn part_of(&self, path: &str) -> Option<&'static GateFilePart> {
        let mut gates = self.gates.iter();
        let gate = gates.find(|(glob, part)| **part != GateFilePart::Whole && glob.is_match(path));
        gate.map(|(_, part)| *part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn globs(line: &str, cwd: Option<&str>) -> Vec<String> {
        gate_files(&CommandLine::Shell(line.into()), cwd)
            .into_iter()
            .map(|gate| gate.glob)
            .collect()
    }

    #[test]
    fn runner_is_recognised_anywhere_in_the_line() {
        assert!(globs("make check", None).contains(&"Makefile".to_owned()));
        assert!(
            globs("cd web && CI=1 /usr/bin/npm test", None)
                .contains(&"web/package.json".to_owned())
        );
        assert!(globs("python3 -m pytest -q", None).contains(&"**/conftest.py".to_owned()));
        assert!(globs("make -C sub all", Some("a")).contains(&"a/sub/Makefile".to_owned()));
        assert!(globs("./mvnw verify", None).contains(&"**/pom.xml".to_owned()));
        assert!(globs("vendor/bin/phpunit", None).contains(&"phpunit.xml.dist".to_owned()));
        assert!(globs("sh check.sh", None).is_empty());
    }

    #[test]
    fn only_what_chooses_the_tests_counts() {
        let keys = GateFilePart::Keys(vec!["scripts".into(), "jest".into()]);
        let package = |version: u32, test: &str| {
            format!("{{\"version\": \"{version}\", \"scripts\": {{\"test\": \"{test}\"}}}}")
        };
        assert_eq!(
            keys.extract_part(package(1, "jest").as_bytes()),
            keys.extract_part(package(2, "jest").as_bytes())
        );
        assert_ne!(
            keys.extract_part(package(1, "jest").as_bytes()),
            keys.extract_part(package(1, "true").as_bytes())
        );
        assert_eq!(keys.extract_part(b"{"), None);
        let sections = GateFilePart::Sections("pytest".into());
        assert_eq!(
            sections
                .extract_part(b"[project]\nname = \"a\"\n[tool.pytest.ini_options]\nx = 1\n[z]\n")
                .unwrap(),
            "[tool.pytest.ini_options]\nx = 1\n"
        );
        let lines = GateFilePart::Lines(vec!["harness".into()]);
        assert_eq!(
            lines
                .extract_part(b"[dependencies]\nserde = \"1\"\n")
                .unwrap(),
            lines.extract_part(b"[dependencies]\n").unwrap()
        );
        assert_ne!(lines.extract_part(b"harness = false\n").unwrap(), "");
        let replace = |text: &str| lines.replace_part(text, "a\nharness = false\n");
        assert_eq!(replace("a\n").as_deref(), Some("a\nharness = false\n"));
        assert_eq!(replace("b\n"), None, "the line has no place");
        assert_eq!(
            replace("b\nharness = false\n").as_deref(),
            Some("b\nharness = false\n")
        );
    }
}
