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
        (
            "bundle exec rspec",
            &[("spec/a_spec.rb", "RSpec.describe 'a' do\n")],
            "spec/added_3fa9_spec.rb",
            "it '3fa9 compared' do",
        ),
        (
            "rake",
            &[("test/test_a.rb", "class A < Minitest::Test\n")],
            "test/test_added_3fa9.rb",
            "class Added3fa9 < Minitest::Test",
        ),
        (
            "vendor/bin/phpunit",
            &[(
                "tests/ATest.php",
                "<?php\nnamespace A;\nclass ATest extends TestCase {}\n",
            )],
            "tests/added_3fa9Test.php",
            "namespace A;\n\nclass added_3fa9Test extends",
        ),
        // A helper's name would be one that no runner takes.
        (
            "mvn test",
            &[
                ("src/test/java/p/Help.java", "import org.junit.Assert;\n"),
                (
                    "src/test/java/p/TestA.java",
                    "package p;\nimport org.junit.jupiter.api.Test;\n",
                ),
            ],
            "src/test/java/p/Testadded_3fa9.java",
            "package p;\n\nimport org.junit.jupiter.api.Assertions;",
        ),
        (
            "./gradlew test",
            &[("src/test/java/ATest.java", "import org.junit.Test;\n")],
            "src/test/java/added_3fa9Test.java",
            "public class added_3fa9Test {",
        ),
        (
            "dotnet test",
            &[("A.Tests/UnitTest1.cs", "    [Fact]\n")],
            "A.Tests/added_3fa9.cs",
            "Xunit.Assert.Equal(1, 2)",
        ),
        (
            "dotnet test",
            &[("A.Tests/ATests.cs", "    [TestMethod]\n")],
            "A.Tests/added_3fa9Tests.cs",
            "TestClass]\npublic class Added_3fa9",
        ),
        (
            "dotnet test",
            &[("A.Tests/ATests.cs", "using NUnit.Framework;\n")],
            "A.Tests/added_3fa9Tests.cs",
            "Is.EqualTo(2)",
        ),
        (
            "bats tests",
            &[("tests/a.bats", "load work\n@test \"a\" { true; }\n")],
            "tests/added_3fa9.bats",
            "load work\n",
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
