//! Which files hold tests, and which lines of a difference take tests away: by the names and marks that the field uses.

use std::sync::LazyLock;

use globset::GlobSet;
use watchdog_facts::patterns::path_globs;

use super::runners::list_all_test_globs;
use watchdog_facts::patterns::FixedPattern;

/// Folders of other people's code, with tests of their own.
const THIRD_PARTY: [&str; 3] = ["vendor", "third_party", "node_modules"];

/// Whether a path is that of a file of tests, by the habits of the runners that are known.
pub fn is_test_file(path: &str) -> bool {
    static GLOBS: LazyLock<GlobSet> =
        LazyLock::new(|| path_globs(&list_all_test_globs()).expect("they are tested"));
    let folders: Vec<&str> = path.split('/').collect();
    let third_party = folders
        .iter()
        .position(|folder| THIRD_PARTY.contains(folder));
    // Below a folder of tests the name is the project's own.
    let is_own = |depth| GLOBS.is_match(folders[..depth].join("/") + "/any");
    third_party.is_none_or(is_own) && GLOBS.is_match(path)
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

static DEFINES: FixedPattern = FixedPattern::new(concat!(
    r"^\s*(?:#\[(?:\w+::)*(?:test|rstest|test_case)\b|(?:async )?def test\w*\(|func Test\w*\(|@(?:Parameterized)?Test\b",
    r"|\[(?:Fact|Theory|Test|TestMethod)\b|(?:x|f)?(?:it|test|specify)(?:\.\w+)*\()"
));

/// Marks that skip a test in every run: one that depends on the machine takes nothing away.
static SKIPS: FixedPattern = FixedPattern::new(concat!(
    r"^\s*(?:#\[ignore\b|@(?:pytest\.mark\.(?:skip\b|skipif\(\s*(?:True|1|not False)\b|xfail)",
    r"|unittest\.(?:skip\b|skipIf\(\s*(?:True|1)\b|skipUnless\(\s*(?:False|0)\b|expectedFailure)|Disabled\b|Ignore\b)",
    r"|(?:x(?:it|test|describe)|(?:it|test|describe|context)\.(?:skip|todo))\(|\[Ignore\b|t\.Skip(?:f|Now)?\(|pytest\.skip\()",
    r"|^\s*\[(?:Fact|Theory)\(Skip\b"
));

/// How many more definitions of tests a difference removes than it adds, and how many more marks that skip an old test it adds than it
/// removes.
pub fn test_lines(diff: &str) -> (u64, u64) {
    let (mut defines, mut skips) = (0_i64, 0_i64);
    // The names of the files, behind `+++` and `---`, begin like no definition and no mark.
    let lines: Vec<(&str, &str)> = (diff.lines())
        .filter_map(|line| line.split_at_checked(1))
        .collect();
    let (mut removed, mut skipped_new) = (0, 0);
    for (n, (sign, text)) in lines.iter().enumerate() {
        let count = match *sign {
            "+" => 1,
            "-" => -1,
            _ => continue,
        };
        if DEFINES.is_match(text) {
            defines += count;
            removed += i64::from(count < 0);
        }
        if SKIPS.is_match(text) {
            let is_new = count > 0 && is_on_new_test(&lines, n);
            *(if is_new { &mut skipped_new } else { &mut skips }) += count;
        }
    }
    // A new name may be that of an old test.
    skips += skipped_new.min(removed);
    (
        u64::try_from(-defines).unwrap_or(0),
        u64::try_from(skips).unwrap_or(0),
    )
}

/// Whether the mark of a line stands on a test whose name no removed line has.
fn is_on_new_test(lines: &[(&str, &str)], mark: usize) -> bool {
    static NAME: FixedPattern =
        FixedPattern::new(r#"\b(?:def|fn|func|void|fun)\s+(\w+)|\(\s*(['"`].+?['"`])"#);
    let is_attribute = |text: &str| text.trim_start().starts_with(['@', '#', '[']);
    let text = lines[mark].1;
    let mut below = lines[mark..].iter().filter(|(sign, _)| *sign != "-");
    // Lines that the difference leaves out may hold another test.
    let mut above = (lines[..=mark].iter().rev())
        .take_while(|(sign, text)| !(*sign == "@" || text.starts_with("++ ")))
        .filter(|(sign, _)| *sign != "-");
    let many = ["describe", "context", "pytest."];
    let is_many = |text: &str| many.iter().any(|word| text.starts_with(word));
    let test = if is_attribute(text) {
        below.find(|(_, text)| !is_attribute(text))
    } else {
        above.find(|(_, text)| DEFINES.is_match(text))
    };
    let named = test.and_then(|(sign, text)| Some((sign, NAME.captures(text)?)));
    !is_many(text.trim_start_matches('x'))
        && named.is_some_and(|(sign, groups)| {
            let name = groups
                .get(1)
                .or(groups.get(2))
                .map_or("", |name| name.as_str());
            let mut removed = lines.iter().filter(|(sign, _)| *sign == "-");
            *sign == "+" && !removed.any(|(_, text)| text.contains(name))
        })
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
            "adds-test.js",
            "pkg/test_helpers.go",
            "spec/models/vendor/order_spec.rb",
            "pkg/testdata/want.txt",
        ] {
            assert!(is_test_file(path), "{path}");
        }
        for path in [
            "src/lib.rs",
            "latest.py",
            "contest/a.rs",
            "src/testament.rs",
            "vendor/github.com/a/b_test.go",
            "web/node_modules/a/test/a.js",
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
            (
                "+@pytest.mark.skipif(sys.platform == 'win32', reason='x')\n def test_a():\n",
                0,
                0,
            ),
            (
                "+@unittest.skipUnless(HAS_DB, 'x')\n+@unittest.skip('x')\n     def test_a(self):\n",
                0,
                1,
            ),
            ("+@pytest.mark.skip\n+def test_new():\n", 0, 0),
            (
                "-def test_a():\n+@pytest.mark.skip\n+def test_a(x):\n",
                0,
                1,
            ),
            ("-def test_a():\n+@pytest.mark.skip\n+def test_b():\n", 0, 1),
            ("+it.skip('new', () => {\n", 0, 0),
            ("+func TestNew(t *testing.T) {\n+\tt.Skip()\n", 0, 0),
            (" func TestA(t *testing.T) {\n+\tt.Skip()\n", 0, 1),
            ("+#[test]\n+#[ignore]\n+fn added() {}\n", 0, 0),
            (
                "+func TestNew(t *testing.T) {\n@@ -9 +9 @@\n+\tt.Skip()\n",
                0,
                1,
            ),
            (
                "+def test_new():\n+++ b/test_b.py\n+pytest.skip('x')\n",
                0,
                1,
            ),
            (
                "+it('new', () => {})\n+describe.skip('old', () => {\n",
                0,
                1,
            ),
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
