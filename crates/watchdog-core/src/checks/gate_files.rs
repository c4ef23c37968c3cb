//! Files that configure a well-known runner although no command line names them: the `Makefile` of `make check`, the `scripts` of
//! `npm test`, the `conftest.py` of `pytest`. A session that writes them decides what passes.

use std::path::{Path, PathBuf};

use globset::GlobSet;
use serde_json::{Map, Value};
use watchdog_facts::evidence::{FaultKind, ReadFact, UnreadableFact};
use watchdog_facts::patterns::path_globs;

use crate::config::settings::{CommandCriterion, CommandLine};

use super::named_files::{list_program_names, list_work_folders};
use super::test_files::is_test_file;

/// The relevant part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateFilePart {
    /// All of it.
    Whole,
    /// The values of these keys of a JSON object.
    Keys(&'static [&'static str]),
    /// The lines that hold one of these words.
    Lines(&'static [&'static str]),
    /// The lines of sections whose headers hold this word.
    Sections(&'static str),
}

impl GateFilePart {
    /// The relevant part of a file's bytes; `None` where it cannot be separated, and then every byte counts.
    pub fn extract_part(self, bytes: &[u8]) -> Option<String> {
        let text = std::str::from_utf8(bytes).ok()?;
        match self {
            GateFilePart::Whole => Some(text.to_owned()),
            GateFilePart::Keys(keys) => {
                let Value::Object(object) = serde_json::from_str(text).ok()? else {
                    return None;
                };
                Some(
                    keys.iter()
                        .map(|key| format!("{:?}\n", object.get(*key)))
                        .collect(),
                )
            }
            GateFilePart::Lines(words) => Some(
                text.lines()
                    .filter(|line| words.iter().any(|word| line.contains(word)))
                    .map(|line| format!("{line}\n"))
                    .collect(),
            ),
            GateFilePart::Sections(word) => Some(split_sections(text, word).0),
        }
    }

    /// A file's text with the relevant part of another; `None` where the part cannot be separated.
    pub fn replace_part(self, text: &str, source: &str) -> Option<String> {
        match self {
            GateFilePart::Whole => Some(source.to_owned()),
            GateFilePart::Keys(keys) => {
                let mut object: Map<String, Value> = serde_json::from_str(text).ok()?;
                let mut from: Map<String, Value> = serde_json::from_str(source).ok()?;
                for key in keys {
                    match from.remove(*key) {
                        Some(value) => drop(object.insert((*key).to_owned(), value)),
                        None => drop(object.remove(*key)),
                    }
                }
                serde_json::to_string_pretty(&object).ok()
            }
            GateFilePart::Lines(_) => {
                let is_same =
                    self.extract_part(text.as_bytes()) == self.extract_part(source.as_bytes());
                is_same.then(|| text.to_owned())
            }
            GateFilePart::Sections(word) => {
                let remainder = split_sections(text, word).1;
                Some(remainder + &split_sections(source, word).0)
            }
        }
    }
}

/// The lines of sections whose headers hold a word, and the others.
fn split_sections(text: &str, word: &str) -> (String, String) {
    let (mut sections, mut remainder) = (String::new(), String::new());
    let mut is_inside = false;
    for line in text.lines() {
        if line.trim_start().starts_with('[') {
            is_inside = line.contains(word);
        }
        let part = if is_inside {
            &mut sections
        } else {
            &mut remainder
        };
        part.push_str(line);
        part.push('\n');
    }
    (sections, remainder)
}

/// A file that decides what a command runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateFile {
    /// A glob from the root of the worktree.
    pub glob: String,
    /// Its relevant part.
    pub part: GateFilePart,
}

/// Keys of `package.json` that select the programs of a script.
const NODE_KEYS: &[&str] = &[
    "scripts", "jest", "mocha", "vitest", "ava", "c8", "nyc", "config",
];
/// Lines of `Cargo.toml` that choose which tests there are.
const CARGO_LINES: &[&str] = &[
    "harness",
    "autotests",
    "doctest",
    "test =",
    "test=",
    "[[test]]",
    "[profile",
];

type GateRow = (
    &'static [&'static str],
    &'static [(&'static str, GateFilePart)],
);

/// Runners with their gate files. The table is in docs/configuration.md.
const TABLE: &[GateRow] = &[
    (
        &["make", "gmake"],
        &[
            ("Makefile", GateFilePart::Whole),
            ("makefile", GateFilePart::Whole),
            ("GNUmakefile", GateFilePart::Whole),
        ],
    ),
    (
        &["just"],
        &[
            ("justfile", GateFilePart::Whole),
            ("Justfile", GateFilePart::Whole),
            (".justfile", GateFilePart::Whole),
        ],
    ),
    (
        &[
            "npm", "npx", "pnpm", "yarn", "bun", "node", "jest", "vitest", "mocha",
        ],
        &[
            ("package.json", GateFilePart::Keys(NODE_KEYS)),
            (".npmrc", GateFilePart::Whole),
            ("jest.config.*", GateFilePart::Whole),
            ("vitest.config.*", GateFilePart::Whole),
            ("vite.config.*", GateFilePart::Whole),
            (".mocharc*", GateFilePart::Whole),
            ("babel.config.*", GateFilePart::Whole),
            (".babelrc*", GateFilePart::Whole),
        ],
    ),
    (
        &["cargo"],
        &[
            (".cargo/config.toml", GateFilePart::Whole),
            (".cargo/config", GateFilePart::Whole),
            (".config/nextest.toml", GateFilePart::Whole),
            ("Cargo.toml", GateFilePart::Lines(CARGO_LINES)),
        ],
    ),
    (
        &[
            "pytest", "py.test", "python", "python3", "tox", "nox", "uv", "poetry",
        ],
        &[
            ("**/conftest.py", GateFilePart::Whole),
            ("pytest.ini", GateFilePart::Whole),
            (".pytest.ini", GateFilePart::Whole),
            ("pytest.toml", GateFilePart::Whole),
            (".pytest.toml", GateFilePart::Whole),
            ("tox.ini", GateFilePart::Whole),
            ("noxfile.py", GateFilePart::Whole),
            ("sitecustomize.py", GateFilePart::Whole),
            ("setup.cfg", GateFilePart::Sections("pytest")),
            ("pyproject.toml", GateFilePart::Sections("pytest")),
        ],
    ),
    (
        &["rspec", "bundle"],
        &[
            (".rspec", GateFilePart::Whole),
            ("spec/spec_helper.rb", GateFilePart::Whole),
        ],
    ),
];

/// The gate files of a command line: at the root, in its working folder, and in the folders that it changes to.
pub fn gate_files(line: &CommandLine, cwd: Option<&str>) -> Vec<GateFile> {
    let programs = list_program_names(line);
    let folders = list_work_folders(line, cwd);
    let mut gate_files = Vec::new();
    for (names, files) in TABLE {
        if !names
            .iter()
            .any(|name| programs.iter().any(|program| program == name))
        {
            continue;
        }
        for folder in &folders {
            for (file, part) in *files {
                let glob = if folder.is_empty() {
                    (*file).to_owned()
                } else {
                    format!("{}/{file}", globset::escape(folder))
                };
                gate_files.push(GateFile { glob, part: *part });
            }
        }
    }
    gate_files
}

/// The paths that judge, for a check: its own globs, or the conventions of all known runners, below its folder; and what configures its
/// runner.
pub struct JudgingFiles {
    folder: PathBuf,
    globs: GlobSet,
    gates: Vec<(GlobSet, GateFilePart)>,
}

impl JudgingFiles {
    /// Those of a check that runs in a folder of the worktree. A glob that cannot be read is a fault of the configuration.
    pub fn new(criterion: &CommandCriterion, folder: PathBuf) -> ReadFact<Self> {
        let set_of = |globs: &[String]| {
            path_globs(globs)
                .map_err(|(_, error)| UnreadableFact::new(FaultKind::Config, error.to_string()))
        };
        let gates = gate_files(&criterion.run, criterion.cwd.as_deref()).into_iter();
        Ok(JudgingFiles {
            folder,
            globs: set_of(&criterion.tests_are)?,
            gates: gates
                .map(|gate| Ok((set_of(&[gate.glob])?, gate.part)))
                .collect::<ReadFact<_>>()?,
        })
    }

    /// Whether all of a file judges.
    pub fn judges(&self, path: &str) -> bool {
        let is_test = Path::new(path)
            .strip_prefix(&self.folder)
            .is_ok_and(|below| {
                if self.globs.is_empty() {
                    below.to_str().is_some_and(is_test_file)
                } else {
                    self.globs.is_match(below)
                }
            });
        let mut gates = self.gates.iter();
        is_test || gates.any(|(glob, part)| *part == GateFilePart::Whole && glob.is_match(path))
    }

    /// The part of a manifest that judges.
    pub fn part_of(&self, path: &str) -> Option<GateFilePart> {
        let mut gates = self.gates.iter();
        let gate = gates.find(|(glob, part)| *part != GateFilePart::Whole && glob.is_match(path));
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
        assert!(globs("sh check.sh", None).is_empty());
    }

    #[test]
    fn only_what_chooses_the_tests_counts() {
        let keys = GateFilePart::Keys(NODE_KEYS);
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
        let sections = GateFilePart::Sections("pytest");
        assert_eq!(
            sections
                .extract_part(b"[project]\nname = \"a\"\n[tool.pytest.ini_options]\nx = 1\n[z]\n")
                .unwrap(),
            "[tool.pytest.ini_options]\nx = 1\n"
        );
        let lines = GateFilePart::Lines(CARGO_LINES);
        assert_eq!(
            lines
                .extract_part(b"[dependencies]\nserde = \"1\"\n")
                .unwrap(),
            lines.extract_part(b"[dependencies]\n").unwrap()
        );
        assert_ne!(lines.extract_part(b"harness = false\n").unwrap(), "");
    }
}
