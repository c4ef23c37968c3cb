//! The runners that are known, as data: `table.json`, and the forms of tests that must fail, `canaries.txt`. docs/configuration.md shows
//! the files that configure them.

use std::sync::LazyLock;

use serde::Deserialize;

use super::gate_part::GateFilePart;

/// The whole table.
#[derive(Deserialize)]
pub(in super::super) struct RunnerTable {
    /// Globs of folders of tests, and of the texts that tests compare with, for any runner.
    pub(super) folders: Vec<String>,
    /// Globs of the names that the field uses, for any runner.
    pub(super) names: Vec<String>,
    /// Every runner that is known.
    pub(in super::super) groups: Vec<RunnerGroup>,
}

/// Runners of one language, which share files and forms.
#[derive(Deserialize)]
pub(in super::super) struct RunnerGroup {
    /// The words of a command line that may start one of them.
    pub(in super::super) programs: Vec<String>,
    #[serde(default)]
    pub(super) runners: Vec<Runner>,
    #[serde(default)]
    pub(in super::super) gates: Vec<GateRow>,
    /// The extensions of files of tests in one of the forms.
    #[serde(default)]
    pub(in super::super) extensions: Vec<String>,
    /// The ways to write a test; of a file the first counts whose sign it has.
    #[serde(default)]
    pub(in super::super) forms: Vec<TestForm>,
}

/// A runner.
#[derive(Deserialize)]
pub(super) struct Runner {
    /// Its name, for a person.
    pub(super) name: String,
    /// Its words at the begin of a command, as a regular expression.
    pub(super) starts: String,
    /// Whether it can be told to print nothing.
    #[serde(default)]
    pub(super) is_quiet: bool,
    /// The words with which it runs no example of the documentation, as a regular expression; of a runner of tests inside of code.
    pub(super) no_examples: Option<String>,
    /// The names of its test files, as globs. Empty: it runs programs of any language.
    pub(super) tests: Vec<String>,
}

/// Files that configure a runner, as globs below the folder of the command, and the part of each.
#[derive(Deserialize)]
pub(in super::super) struct GateRow {
    pub(in super::super) files: Vec<String>,
    #[serde(default)]
    pub(in super::super) part: GateFilePart,
}

/// The form of a test that must fail.
#[derive(Deserialize)]
pub(in super::super) struct TestForm {
    name: String,
    /// In the text of each file of this form, as a regular expression.
    pub(in super::super) sign: String,
    /// The file that the tests stand in.
    pub(in super::super) file: TestFile,
}

/// The file of tests that must fail, beside that of their neighbour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in super::super) enum TestFile {
    /// A file of their own.
    New,
    /// The end of a copy: each file runs in a process of its own, which has to load the work.
    Copy,
    /// The end of the neighbour: a new file belongs to no module.
    Neighbour,
}

/// The table.
pub(in super::super) static RUNNER_TABLE: LazyLock<RunnerTable> =
    LazyLock::new(|| serde_json::from_str(include_str!("table.json")).expect("it is tested"));

impl TestForm {
    /// Its text: above the tests, the one by assertions of a library, the one by the language, and below them.
    pub(in super::super) fn split_text(&self) -> [&'static str; 4] {
        let mut forms = include_str!("canaries.txt").split("====== ");
        let text = forms.find_map(|form| form.strip_prefix(&*self.name)?.strip_prefix('\n'));
        let mut parts = text.unwrap_or_default().split("===\n");
        std::array::from_fn(|_| parts.next().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use regex::Regex;
    use watchdog_facts::patterns::path_globs;

    use super::*;

    #[test]
    fn every_row_of_the_table_can_be_used() {
        let table = &*RUNNER_TABLE;
        for globs in [&table.folders, &table.names] {
            assert!(path_globs(globs).is_ok(), "{globs:?}");
        }
        for group in &table.groups {
            for runner in &group.runners {
                assert!(Regex::new(&runner.starts).is_ok(), "{}", runner.name);
                let words = runner.no_examples.iter();
                assert!(
                    words
                        .map(|words| Regex::new(words))
                        .all(|words| words.is_ok())
                );
                assert!(path_globs(&runner.tests).is_ok(), "{}", runner.name);
            }
            for row in &group.gates {
                assert!(path_globs(&row.files).is_ok(), "{:?}", row.files);
            }
            for form in &group.forms {
                assert!(Regex::new(&form.sign).is_ok(), "{}", form.name);
                let [_, compared, raised, _] = form.split_text();
                assert!(
                    compared.contains("compared") && raised.contains("raised"),
                    "{}",
                    form.name
                );
                assert!(
                    form.split_text().concat().contains("{mark}"),
                    "{}",
                    form.name
                );
            }
        }
    }
}
