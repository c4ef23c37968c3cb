//! A test that must fail stands where and as its neighbours do.

use super::canary::{Canary, CanaryTest, write_canary};
use crate::config::settings::CommandLine;

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
    let python = "class T(TestCase):\n    def test_a(self): pass\n";
    for (command, files, path, text) in [
        (
            "make",
            &[("tests/__init__.py", python), ("tests/test_a.py", python)][..],
            "tests/test_added_3fa9.py",
            "('assertEqual'",
        ),
        (
            "pytest",
            &[("tests/test_a.py", "def test_a(): pass\n")],
            "tests/test_added_3fa9.py",
            "\ndef test_3fa9_raised",
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
