//! A test that must fail, written as the other tests of a suite are: a suite that passes with it was put out of action.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::runners::{RUNNER_TABLE, RunnerGroup, TestFile, TestForm};
use super::test_files::is_test_file;
use crate::config::settings::CommandLine;
use watchdog_facts::patterns::FixedPattern;

/// How many files are read at most, until one of them shows how its tests are written.
const MOST_READ: usize = 400;

/// A way to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CanaryTest {
    /// By the assertion that the runner or its library gives, which the work may have replaced.
    Compared,
    /// By what the language itself has.
    Raised,
}

impl CanaryTest {
    /// Both, as they are tried first.
    pub const ALL: [CanaryTest; 2] = [CanaryTest::Compared, CanaryTest::Raised];

    /// The end of the test's name.
    pub fn as_str(self) -> &'static str {
        match self {
            CanaryTest::Compared => "compared",
            CanaryTest::Raised => "raised",
        }
    }
}

/// A file with tests that must fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Canary {
    /// Its path from the root.
    pub path: String,
    /// All of it.
    pub text: String,
}

/// Writes a test that must fail, beside one of these files, which may hold tests. `None` where none of them has a form that is known.
pub fn write_canary(
    files: &[String],
    command: &CommandLine,
    (mark, tests): (&str, &[CanaryTest]),
    read: &dyn Fn(&str) -> Option<String>,
) -> Option<Canary> {
    let mut reads = 0;
    for neighbour in order_neighbours(files, command) {
        reads += 1;
        if reads > MOST_READ {
            return None;
        }
        let Some(text) = read(neighbour) else {
            continue;
        };
        let Some(form) = form_of(neighbour, &text) else {
            continue;
        };
        let own_path = name_like(neighbour, &format!("added_{mark}"));
        let name = own_path.rsplit('/').next().unwrap_or(&own_path);
        let name = name.split('.').next().unwrap_or(name);
        let canary = write_tests(form, tests)
            .replace("{mark}", mark)
            .replace("{name}", name)
            .replace("{package}", find_package(&text));
        let (path, text) = match form.file {
            TestFile::New => (own_path, canary),
            TestFile::Copy => (own_path, text + &canary),
            TestFile::Neighbour => (neighbour.clone(), text + &canary),
        };
        return Some(Canary { path, text });
    }
    None
}

/// The parts of a form, with these of its tests.
fn write_tests(form: &TestForm, tests: &[CanaryTest]) -> String {
    let [head, compared, raised, end] = form.split_text();
    let tests = tests.iter().map(|test| match test {
        CanaryTest::Compared => compared,
        CanaryTest::Raised => raised,
    });
    let parts = std::iter::once(head).chain(tests).chain([end]);
    parts.collect()
}

/// The test files: those of the language that the command names first, then those that it names itself, then those with the most beside them.
fn order_neighbours<'a>(files: &'a [String], command: &CommandLine) -> Vec<&'a String> {
    let line = command.to_string();
    let ends_word = |c: char| !c.is_alphanumeric() && c != '-' && c != '.';
    let programs: Vec<&str> = line.split(ends_word).collect();
    let is_named = |name: &String| programs.contains(&name.as_str());
    let tests: Vec<(&String, &str, &RunnerGroup)> = files
        .iter()
        .filter_map(|path| {
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            Some((path, folder, group_of(path)?))
        })
        .collect();
    let mut beside = BTreeMap::new();
    for (_, folder, group) in &tests {
        *beside
            .entry((*folder, &group.extensions))
            .or_insert(0_usize) += 1;
    }
    let mut ordered: Vec<_> = tests
        .into_iter()
        .map(|(path, folder, group)| {
            let is_in_line =
                line.contains(path.as_str()) || !folder.is_empty() && line.contains(folder);
            let count = beside[&(folder, &group.extensions)];
            // No runner takes a module of fixtures.
            let name = path.rsplit('/').next().unwrap_or(path);
            let is_new = group.forms.iter().any(|form| form.file == TestFile::New);
            let rank = (
                !group.programs.iter().any(is_named),
                is_new && !is_test_file(name),
                !is_in_line,
                usize::MAX - count,
            );
            (rank, path)
        })
        .collect();
    ordered.sort();
    ordered.into_iter().map(|(_, path)| path).collect()
}

fn group_of(path: &str) -> Option<&'static RunnerGroup> {
    let extension = path.rsplit('/').next()?.rsplit_once('.')?.1;
    let mut groups = RUNNER_TABLE.groups.iter();
    groups.find(|group| group.extensions.iter().any(|word| word == extension))
}

fn form_of(path: &str, text: &str) -> Option<&'static TestForm> {
    static SIGNS: LazyLock<Vec<(&str, Regex)>> = LazyLock::new(|| {
        let forms = RUNNER_TABLE.groups.iter().flat_map(|group| &group.forms);
        let compile =
            |form: &TestForm| Regex::new(&format!("(?m){}", form.sign)).expect("it is tested");
        forms
            .map(|form| (form.sign.as_str(), compile(form)))
            .collect()
    });
    let mut forms = group_of(path)?.forms.iter();
    forms.find(|form| {
        let mut signs = SIGNS.iter();
        signs.any(|(sign, pattern)| *sign == form.sign && pattern.is_match(text))
    })
}

/// The line that names the package or the namespace of a file.
fn find_package(text: &str) -> &str {
    let is_such = |line: &&str| line.starts_with("package ") || line.starts_with("namespace ");
    text.lines().find(is_such).unwrap_or_default().trim_end()
}

/// A path in the folder of another, whose name begins and ends alike.
fn name_like(neighbour: &str, stem: &str) -> String {
    static END: FixedPattern =
        FixedPattern::new(r"(?:[._-](?:tests?|spec))?(?:Tests?|Spec|IT)?(?:\.[A-Za-z]+)$");
    let (folder, name) = neighbour
        .rsplit_once('/')
        .map_or(("", neighbour), |(folder, name)| (folder, name));
    let is_dashed =
        name.starts_with("test-") || name.starts_with("test.") && !name.ends_with(".py");
    let begin = match name {
        _ if is_dashed => "test-",
        name if name.starts_with("test") => "test_",
        name if name.starts_with("Test") => "Test",
        _ => "",
    };
    let end = END.find(name).map_or("", |end| end.as_str());
    let slash = if folder.is_empty() { "" } else { "/" };
    format!("{folder}{slash}{begin}{stem}{end}")
}
