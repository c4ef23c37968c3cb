//! Files that configure a well-known runner although no command line names them: the `Makefile` of `make check`, the `scripts` of
//! `npm test`, the `conftest.py` of `pytest`. A session that writes them decides what passes.

use serde_json::Value;

use crate::config::settings::CommandLine;

use super::named_files::{list_program_names, list_work_folders};

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
            GateFilePart::Sections(word) => {
                let mut inside = false;
                let mut sections = String::new();
                for line in text.lines() {
                    if line.trim_start().starts_with('[') {
                        inside = line.contains(word);
                    }
                    if inside {
                        sections.push_str(line);
                        sections.push('\n');
                    }
                }
                Some(sections)
            }
        }
    }
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
