//! Which files hold tests, and which lines of a difference take tests away: by the names and marks that the field uses.

use std::sync::LazyLock;

use globset::GlobSet;
use regex::Regex;
use watchdog_facts::patterns::path_globs;

use super::runners::list_all_test_globs;

/// Whether a path is that of a file of tests, by the habits of the runners that are known.
pub fn is_test_file(path: &str) -> bool {
    static GLOBS: LazyLock<GlobSet> =
        LazyLock::new(|| path_globs(&list_all_test_globs()).expect("they are tested"));
    GLOBS.is_match(path)
}

/// The number of the first line that names a test, as its runner calls it: by the last word of its path.
pub fn find_test_line(text: &str, test: &str) -> Option<usize> {
    let test = test.split(" (").next().unwrap_or(test);
    let last = [" > ", " › ", "::", "/"]
        .iter()
        .fold(test, |name, sign| name.rsplit(sign).next().unwrap_or(name));
    let name = last.split(['[', '<']).next().unwrap_or(last).trim();
    let names = |line: &str| {
        line.match_indices(name).any(|(at, _)| {
            let is_edge = |c: Option<char>| !c.is_some_and(|c| c.is_alphanumeric() || c == '_');
            is_edge(line[..at].chars().next_back())
                && is_edge(line[at + name.len()..].chars().next())
        })
    };
    let mut lines = text.lines();
    (!name.is_empty())
        .then(|| lines.position(names))
        .flatten()
        .map(|n| n + 1)
}

/// How many more definitions of tests a difference removes than it adds, and how many more marks that skip a test it adds than it
/// removes.
pub fn test_lines(diff: &str) -> (u64, u64) {
    static DEFINES: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(concat!(
            r"^\s*(?:#\[(?:\w+::)*(?:test|rstest|test_case)\b|(?:async )?def test\w*\(|func Test\w*\(|@(?:Parameterized)?Test\b",
            r"|\[(?:Fact|Theory|Test|TestMethod)\b|(?:x|f)?(?:it|test|specify)(?:\.\w+)*\()"
        ))
        .expect("it is tested")
    });
    static SKIPS: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(concat!(
            r"^\s*(?:#\[ignore\b|@(?:pytest\.mark\.(?:skip|xfail)|unittest\.(?:skip|expectedFailure)|Disabled\b|Ignore\b)",
            r"|(?:x(?:it|test|describe)|(?:it|test|describe|context)\.(?:skip|todo))\(|\[Ignore\b|t\.Skip(?:f|Now)?\(|pytest\.skip\()",
            r"|^\s*\[(?:Fact|Theory)\(Skip\b"
        ))
        .expect("it is tested")
    });
    let (mut defines, mut skips) = (0_i64, 0_i64);
    for line in diff.lines() {
        let (sign, text) = match line.split_at_checked(1) {
            // The names of the files, behind `+++` and `---`, begin like no definition and no mark.
            Some(("+", text)) => (1, text),
            Some(("-", text)) => (-1, text),
            _ => continue,
        };
        defines += if DEFINES.is_match(text) { sign } else { 0 };
        skips += if SKIPS.is_match(text) { sign } else { 0 };
    }
    (
        u64::try_from(-defines).unwrap_or(0),
        u64::try_from(skips).unwrap_or(0),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_tests_are_known_by_their_names() {
        for path in [
            "tests/a.rs",
            "pkg/a_test.go",
            "test_a.py",
            "web/src/__tests__/a.js",
            "a.spec.ts",
            "src/a.test.tsx",
            "spec/models/user_spec.rb",
            "src/test/java/FooTest.java",
            "ApiTests.cs",
            "src/parser_tests.rs",
            "lib/user_spec.rb",
            "src/FooIT.java",
            "specs/a.js",
            "testing/a.py",
            "app/tests.py",
            "test.js",
            "test-adds.js",
            "pkg/testdata/want.txt",
        ] {
            assert!(is_test_file(path), "{path}");
        }
        for path in [
            "src/lib.rs",
            "latest.py",
            "contest/a.rs",
            "src/testament.rs",
            "Test.md",
            "attest.go",
            "UNIT",
        ] {
            assert!(!is_test_file(path), "{path}");
        }
    }

    #[test]
    fn line_of_a_test_is_that_of_its_name() {
        let text = "import x\ndef test_added():\ndef test_add():\nit('adds two', () => {\n";
        for (test, line) in [
            ("test_add (tests.test_calc.T.test_add)", Some(3)),
            ("tests/test_a.py::T::test_add[1-2]", Some(3)),
            ("calc > adds two", Some(4)),
            ("calc::tests::gone", None),
        ] {
            assert_eq!(find_test_line(text, test), line, "{test}");
        }
    }

    #[test]
    fn lines_that_take_tests_away_are_counted() {
        for (diff, removed, skipped) in [
            (
                "--- a/x.rs\n+++ b/x.rs\n-    #[test]\n-    fn a() {}\n",
                1,
                0,
            ),
            ("-#[tokio::test]\n+#[test]\n", 0, 0),
            ("+#[test]\n+#[test]\n-#[test]\n", 0, 0),
            (
                "-def test_a():\n-async def test_b(x):\n+def helper():\n",
                2,
                0,
            ),
            ("-func TestA(t *testing.T) {\n+\tt.Skip(\"later\")\n", 1, 1),
            ("+    #[ignore = \"slow\"]\n", 0, 1),
            ("-it('adds', () => {\n+it.skip('adds', () => {\n", 0, 1),
            ("-  test('a', f)\n+  xtest('a', f)\n", 0, 1),
            ("+@pytest.mark.skipif(True, reason='x')\n", 0, 1),
            ("-@Test\n", 1, 0),
            ("+    @Disabled\n", 0, 1),
            ("-    [Fact]\n+    [Fact(Skip = \"x\")]\n", 0, 1),
            ("--- a/it(1).js\n+++ b/#[ignore].rs\n", 0, 0),
            (" #[test]\n-let submit(1);\n+// it(\n", 0, 0),
        ] {
            assert_eq!(test_lines(diff), (removed, skipped), "{diff}");
        }
    }
}
