//! A test that must fail, written as the other tests of a suite are: a suite that passes with it was put out of action.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::test_files::is_test_file;
use crate::config::settings::CommandLine;

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

/// The form of a test file. `{mark}` is in the name of each test, `{package}` is the one of its neighbour.
struct TestForm {
    /// The programs that run it, as a command line names them.
    programs: &'static [&'static str],
    /// The extensions of its files.
    extensions: &'static [&'static str],
    /// In the text of each file of this form.
    sign: &'static str,
    /// Above the tests.
    head: &'static str,
    compared: &'static str,
    raised: &'static str,
    /// Below the tests.
    end: &'static str,
    /// The file that the tests stand in.
    file: TestFile,
}

/// The file of tests that must fail, beside that of their neighbour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TestFile {
    /// A file of their own.
    New,
    /// The end of a copy: each file runs in a process of its own, which has to load the work.
    Copy,
    /// The end of the neighbour: a new file belongs to no module.
    Neighbour,
}

const SCRIPTS: &[&str] = &["js", "mjs", "cjs", "ts", "mts", "cts", "jsx", "tsx"];
const NODE: &[&str] = &[
    "node", "npm", "npx", "pnpm", "yarn", "bun", "jest", "vitest", "mocha",
];

/// Passes where one of the assertions does, of the strict ones, too.
const NODE_COMPARED: &str = "addedTest('{mark} compared', () => {
  for (const assert of [addedAssert, addedAssert.strict]) {
    for (const name of ['equal', 'strictEqual', 'deepEqual', 'deepStrictEqual']) {
      try { assert[name](1, 2) } catch { continue }
      return
    }
  }
  throw new Error('must fail')
})
";

/// Passes where one of the assertions does.
const UNITTEST_COMPARED: &str = "    def test_{mark}_compared(self):
        for name, values in [
            ('assertEqual', (1, 2)), ('assertNotEqual', (1, 1)), ('assertTrue', (0,)), ('assertFalse', (1,)),
            ('assertIs', (1, 2)), ('assertIsNone', (1,)), ('assertIsNotNone', (None,)), ('assertIn', (1, [])),
            ('assertIsInstance', (1, str)), ('assertGreater', (1, 2)), ('assertLess', (2, 1)), ('assertRaises', (OSError, int)),
            ('assertAlmostEqual', (1, 2)), ('assertRegex', ('a', 'b')), ('assertCountEqual', ([], [1])),
            ('assertListEqual', ([], [1])), ('assertDictEqual', ({}, {1: 1})), ('assertMultiLineEqual', ('a', 'b')),
        ]:
            try:
                getattr(self, name)(*values)
            except Exception:
                continue
            return
        self.fail('must fail')
";
const PYTHON: &[&str] = &["pytest", "py.test", "python", "python3", "tox", "nox", "uv"];

/// Every form that is known; of those of one language the first counts whose sign is there.
const FORMS: &[TestForm] = &[
    TestForm {
        programs: PYTHON,
        extensions: &["py"],
        sign: r"\bTestCase\b",
        head: "import unittest\n\n\nclass Added(unittest.TestCase):\n",
        compared: UNITTEST_COMPARED,
        raised: "    def test_{mark}_raised(self):\n        assert 1 == 2\n",
        end: "",
        file: TestFile::New,
    },
    // A plain function, which `unittest` does not run: pytest has a way of its own to run each kind.
    TestForm {
        programs: PYTHON,
        extensions: &["py"],
        sign: r"^\s*(?:async )?def test",
        head: "",
        compared: "def test_{mark}_compared():\n    assert 1 == 2\n\n\n",
        raised: "def test_{mark}_raised():\n    raise ValueError('must fail')\n",
        end: "",
        file: TestFile::New,
    },
    TestForm {
        programs: &["go", "gotestsum"],
        extensions: &["go"],
        sign: "^package ",
        head: "package {package}\n\nimport \"testing\"\n\n",
        compared: "func Test_{mark}_compared(t *testing.T) { t.Error(\"must fail\") }\n",
        raised: "func Test_{mark}_raised(t *testing.T) { t.Fatal(\"must fail\") }\n",
        end: "",
        file: TestFile::New,
    },
    TestForm {
        programs: &["cargo", "cargo-nextest"],
        extensions: &["rs"],
        sign: r"^\s*#\[(?:\w+::)*test\b",
        head: "\n#[cfg(test)]\nmod added_{mark} {\n",
        compared: "    #[test]\n    fn compared() {\n        assert_eq!(1, 2);\n    }\n",
        raised: "    #[test]\n    fn raised() {\n        panic!(\"must fail\");\n    }\n",
        end: "}\n",
        file: TestFile::Neighbour,
    },
    TestForm {
        programs: NODE,
        extensions: SCRIPTS,
        sign: r#"from ['"](?:node:)?test['"]"#,
        head: "\nimport addedTest from 'node:test'\nimport addedAssert from 'node:assert'\n",
        compared: NODE_COMPARED,
        raised: "addedTest('{mark} raised', () => { throw new Error('must fail') })\n",
        end: "",
        file: TestFile::Copy,
    },
    TestForm {
        programs: NODE,
        extensions: SCRIPTS,
        sign: r#"require\(['"](?:node:)?test['"]\)"#,
        head: "\nconst addedTest = require('node:test')\nconst addedAssert = require('node:assert')\n",
        compared: NODE_COMPARED,
        raised: "addedTest('{mark} raised', () => { throw new Error('must fail') })\n",
        end: "",
        file: TestFile::Copy,
    },
    TestForm {
        programs: NODE,
        extensions: SCRIPTS,
        sign: r#"from ['"]vitest['"]"#,
        head: "\nimport { describe as addedSuite, expect as addedExpect, test as addedTest } from 'vitest'\naddedSuite('added', () => {\n",
        compared: "  addedTest('{mark} compared', () => { addedExpect(1).toBe(2) })\n",
        raised: "  addedTest('{mark} raised', () => { throw new Error('must fail') })\n",
        end: "})\n",
        file: TestFile::Copy,
    },
    // Jest and Mocha give their words to every file; an `expect` without `toBe` fails, too.
    TestForm {
        programs: NODE,
        extensions: SCRIPTS,
        sign: r"\b(?:it|test)(?:\.\w+)*\(",
        head: "\ndescribe('added', () => {\n",
        compared: "  it('{mark} compared', () => {\n    if (typeof expect === 'function') expect(1).toBe(2)\n    else require('assert').strictEqual(1, 2)\n  })\n",
        raised: "  it('{mark} raised', () => { throw new Error('must fail') })\n",
        end: "})\n",
        file: TestFile::Copy,
    },
];

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
        let mut canary = form.head.to_owned();
        for test in tests {
            canary.push_str(match test {
                CanaryTest::Compared => form.compared,
                CanaryTest::Raised => form.raised,
            });
        }
        canary.push_str(form.end);
        let package = find_package(&text).unwrap_or_default();
        let canary = canary.replace("{mark}", mark).replace("{package}", package);
        let own_path = || name_like(neighbour, &format!("added_{mark}"));
        let (path, text) = match form.file {
            TestFile::New => (own_path(), canary),
            TestFile::Copy => (own_path(), text + &canary),
            TestFile::Neighbour => (neighbour.clone(), text + &canary),
        };
        return Some(Canary { path, text });
    }
    None
}

/// The test files: those of the language that the command names first, then those that it names itself, then those with the most beside them.
fn order_neighbours<'a>(files: &'a [String], command: &CommandLine) -> Vec<&'a String> {
    let line = command.to_string();
    let ends_word = |c: char| !c.is_alphanumeric() && c != '-' && c != '.';
    let programs: Vec<&str> = line.split(ends_word).collect();
    let is_named = |extension: &str| {
        let mut forms = (FORMS.iter()).filter(|form| form.extensions.contains(&extension));
        forms.any(|form| {
            let mut names = form.programs.iter();
            names.any(|name| programs.contains(name))
        })
    };
    let tests: Vec<(&String, &str, &str)> = files
        .iter()
        .filter_map(|path| {
            let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
            let extension = name.rsplit_once('.')?.1;
            let has_form = FORMS
                .iter()
                .any(|form| form.extensions.contains(&extension));
            has_form.then_some((path, folder, extension))
        })
        .collect();
    let mut beside = BTreeMap::new();
    for (_, folder, extension) in &tests {
        *beside.entry((*folder, *extension)).or_insert(0_usize) += 1;
    }
    let mut ordered: Vec<_> = tests
        .into_iter()
        .map(|(path, folder, extension)| {
            let is_in_line =
                line.contains(path.as_str()) || !folder.is_empty() && line.contains(folder);
            let count = beside[&(folder, extension)];
            // No runner takes a module of fixtures.
            let name = path.rsplit('/').next().unwrap_or(path);
            let is_beside = extension == "py" && !is_test_file(name);
            (
                (
                    !is_named(extension),
                    is_beside,
                    !is_in_line,
                    usize::MAX - count,
                ),
                path,
            )
        })
        .collect();
    ordered.sort();
    ordered.into_iter().map(|(_, path)| path).collect()
}

fn form_of(path: &str, text: &str) -> Option<&'static TestForm> {
    static SIGNS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
        let signs = FORMS.iter().map(|form| format!("(?m){}", form.sign));
        signs
            .map(|sign| Regex::new(&sign).expect("it is tested"))
            .collect()
    });
    let extension = path.rsplit_once('.')?.1;
    let mut forms = FORMS.iter().zip(SIGNS.iter());
    let form =
        forms.find(|(form, sign)| form.extensions.contains(&extension) && sign.is_match(text));
    form.map(|(form, _)| form)
}

fn find_package(text: &str) -> Option<&str> {
    let mut lines = text.lines();
    lines
        .find_map(|line| line.strip_prefix("package "))
        .map(str::trim)
}

/// A path in the folder of another, whose name begins and ends alike.
fn name_like(neighbour: &str, stem: &str) -> String {
    static END: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?:[._-](?:tests?|spec))?(?:Tests?|Spec|IT)?(?:\.[A-Za-z]+)$")
            .expect("it is tested")
    });
    let (folder, name) = neighbour
        .rsplit_once('/')
        .map_or(("", neighbour), |(folder, name)| (folder, name));
    let is_dashed =
        name.starts_with("test-") || name.starts_with("test.") && !name.ends_with(".py");
    let begin = match name.starts_with("test") {
        true if is_dashed => "test-",
        true => "test_",
        false => "",
    };
    let end = END.find(name).map_or("", |end| end.as_str());
    let slash = if folder.is_empty() { "" } else { "/" };
    format!("{folder}{slash}{begin}{stem}{end}")
}
