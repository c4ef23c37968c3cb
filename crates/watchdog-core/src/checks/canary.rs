//! A test that must fail, written as the other tests of a suite are: a suite that passes with it was put out of action.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

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

/// Passes where one of the assertions does.
const NODE_COMPARED: &str = "addedTest('{mark} compared', () => {
  for (const name of ['equal', 'strictEqual', 'deepEqual', 'deepStrictEqual']) {
    try { addedAssert[name](1, 2) } catch { continue }
    return
  }
  throw new Error('must fail')
})
";

/// Every form that is known; of those of one language the first counts whose sign is there.
const FORMS: &[TestForm] = &[
    TestForm {
        programs: &["pytest", "py.test", "python", "python3", "tox", "nox", "uv"],
        extensions: &["py"],
        sign: r"^\s*(?:async )?def test",
        head: "import unittest\n\n\nclass Added(unittest.TestCase):\n",
        compared: "    def test_{mark}_compared(self):\n        self.assertEqual(1, 2)\n",
        raised: "    def test_{mark}_raised(self):\n        assert 1 == 2\n",
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
            (
                (!is_named(extension), !is_in_line, usize::MAX - count),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn canary(command: &str, files: &[(&str, &str)]) -> Option<Canary> {
        let paths: Vec<String> = files.iter().map(|(path, _)| (*path).to_owned()).collect();
        let read = |path: &str| {
            let file = files.iter().find(|(name, _)| *name == path);
            file.map(|(_, text)| (*text).to_owned())
        };
        let command = CommandLine::Shell(command.into());
        write_canary(&paths, &command, ("3fa9", &CanaryTest::ALL), &read)
    }

    #[test]
    fn canary_is_named_and_written_as_its_neighbour() {
        let node = "import test from 'node:test'";
        let python = "class T:\n    def test_a(self): pass\n";
        for (command, files, path, text) in [
            (
                "make",
                &[("tests/__init__.py", ""), ("tests/test_a.py", python)][..],
                "tests/test_added_3fa9.py",
                "self.assertEqual",
            ),
            (
                "make",
                &[("a/b_test.py", python)],
                "a/added_3fa9_test.py",
                "test_3fa9_raised",
            ),
            (
                "go test",
                &[("p/a_test.go", "// x\npackage p_test\n")],
                "p/added_3fa9_test.go",
                "package p_test",
            ),
            (
                "npm test",
                &[("a.test.mjs", node)],
                "added_3fa9.test.mjs",
                "import test",
            ),
            (
                "npm test",
                &[("test/a.js", "it('x', f)")],
                "test/added_3fa9.js",
                "describe(",
            ),
            (
                "cargo test",
                &[("src/lib.rs", "fn a() {}\n#[test]\nfn b() {}\n")],
                "src/lib.rs",
                "mod added_3fa9",
            ),
            (
                "node --test",
                &[("test.mjs", node)],
                "test-added_3fa9.mjs",
                "addedTest(",
            ),
            (
                "make",
                &[("app/tests.py", python)],
                "app/test_added_3fa9.py",
                "Added",
            ),
            // The language of the command, then its words, then the fuller folder.
            (
                "node --test",
                &[("a_test.py", python), ("b_test.js", node)],
                "added_3fa9_test.js",
                "import test",
            ),
            (
                "pytest b",
                &[("a/test_x.py", python), ("b/test_x.py", python)],
                "b/test_added_3fa9.py",
                "Added",
            ),
            (
                "pytest",
                &[
                    ("a/test_x.py", python),
                    ("b/test_x.py", python),
                    ("b/test_y.py", python),
                ],
                "b/test_added_3fa9.py",
                "",
            ),
        ] {
            let canary = canary(command, files).expect(command);
            assert_eq!(canary.path, path, "{command}");
            assert!(canary.text.contains(text), "{command}: {}", canary.text);
        }
        for files in [
            &[("src/lib.rs", "fn a() {}")][..],
            &[("a.py", "x = 1")],
            &[("spec/a.rb", "")],
        ] {
            assert_eq!(canary("make", files), None, "{files:?}");
        }
    }
}
